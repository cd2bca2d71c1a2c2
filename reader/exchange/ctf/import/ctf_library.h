/*
 * The functions of babeltrace2's library, which is loaded when a trace of CTF is read.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CTF_LIBRARY_H
#define TRACEBED_EXCHANGE_CTF_LIBRARY_H

#include <babeltrace2/babeltrace.h>

#define CTF_CALLS(X)                                                                                         \
    X(plugin_find)                                                                                           \
    X(plugin_borrow_source_component_class_by_name_const)                                                    \
    X(plugin_borrow_filter_component_class_by_name_const)                                                    \
    X(graph_create)                                                                                          \
    X(graph_add_source_component)                                                                            \
    X(graph_add_filter_component)                                                                            \
    X(graph_add_simple_sink_component)                                                                       \
    X(graph_connect_ports)                                                                                   \
    X(graph_run)                                                                                             \
    X(component_source_get_output_port_count)                                                                \
    X(component_source_borrow_output_port_by_index_const)                                                    \
    X(component_filter_borrow_output_port_by_index_const)                                                    \
    X(component_filter_get_input_port_count)                                                                 \
    X(component_filter_borrow_input_port_by_index_const)                                                     \
    X(component_sink_borrow_input_port_by_index_const)                                                       \
    X(value_map_create)                                                                                      \
    X(value_array_create)                                                                                    \
    X(value_map_insert_entry)                                                                                \
    X(value_array_append_string_element)                                                                     \
    X(value_get_type)                                                                                        \
    X(value_string_get)                                                                                      \
    X(value_integer_signed_get)                                                                              \
    X(message_iterator_next)                                                                                 \
    X(message_get_type)                                                                                      \
    X(message_put_ref)                                                                                       \
    X(message_event_borrow_event_const)                                                                      \
    X(message_event_borrow_default_clock_snapshot_const)                                                     \
    X(message_stream_beginning_borrow_stream_const)                                                          \
    X(message_discarded_events_get_count)                                                                    \
    X(message_discarded_packets_get_count)                                                                   \
    X(clock_snapshot_get_ns_from_origin)                                                                     \
    X(clock_snapshot_borrow_clock_class_const)                                                               \
    X(clock_class_origin_is_unix_epoch)                                                                      \
    X(event_borrow_class_const)                                                                              \
    X(event_borrow_stream_const)                                                                             \
    X(event_borrow_packet_const)                                                                             \
    X(event_borrow_payload_field_const)                                                                      \
    X(event_borrow_common_context_field_const)                                                               \
    X(event_borrow_specific_context_field_const)                                                             \
    X(event_class_get_name)                                                                                  \
    X(event_class_get_log_level)                                                                             \
    X(event_class_borrow_stream_class_const)                                                                 \
    X(stream_borrow_class_const)                                                                             \
    X(stream_borrow_trace_const)                                                                             \
    X(stream_class_get_event_class_count)                                                                    \
    X(stream_class_borrow_event_class_by_index_const)                                                        \
    X(stream_class_borrow_default_clock_class_const)                                                         \
    X(stream_class_borrow_trace_class_const)                                                                 \
    X(trace_class_get_stream_class_count)                                                                    \
    X(trace_class_borrow_stream_class_by_index_const)                                                        \
    X(trace_borrow_class_const)                                                                              \
    X(trace_get_environment_entry_count)                                                                     \
    X(trace_borrow_environment_entry_by_index_const)                                                         \
    X(stream_class_supports_packets)                                                                         \
    X(packet_borrow_context_field_const)                                                                     \
    X(field_get_class_type)                                                                                  \
    X(field_borrow_class_const)                                                                              \
    X(field_class_array_borrow_element_field_class_const)                                                    \
    X(field_class_get_type)                                                                                  \
    X(field_class_structure_borrow_member_by_index_const)                                                    \
    X(field_class_structure_get_member_count)                                                                \
    X(field_class_structure_member_get_name)                                                                 \
    X(field_class_integer_get_preferred_display_base)                                                        \
    X(field_structure_borrow_member_field_by_index_const)                                                    \
    X(field_structure_borrow_member_field_by_name_const)                                                     \
    X(field_integer_signed_get_value)                                                                        \
    X(field_integer_unsigned_get_value)                                                                      \
    X(field_bool_get_value)                                                                                  \
    X(field_bit_array_get_value_as_integer)                                                                  \
    X(field_real_single_precision_get_value)                                                                 \
    X(field_real_double_precision_get_value)                                                                 \
    X(field_string_get_value)                                                                                \
    X(field_string_get_length)                                                                               \
    X(field_array_get_length)                                                                                \
    X(field_array_borrow_element_field_by_index_const)                                                       \
    X(field_variant_borrow_selected_option_field_const)                                                      \
    X(field_option_borrow_field_const)                                                                       \
    X(current_thread_take_error)                                                                             \
    X(error_get_cause_count)                                                                                 \
    X(error_borrow_cause_by_index)                                                                           \
    X(error_cause_get_message)

#endif
