/*
 * The linker names of the functions called mm_… here: in the archive every name starts with the library's prefix.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MEASUREME_NAMES_H
#define TRACEBED_MEASUREME_NAMES_H

#define mm_open                 tbed_mm_open
#define mm_open_fd              tbed_mm_open_fd
#define mm_open_memory          tbed_mm_open_memory
#define mm_close                tbed_mm_close
#define mm_is_profile           tbed_mm_is_profile
#define mm_is_profile_path      tbed_mm_is_profile_path
#define mm_info                 tbed_mm_info
#define mm_event_count          tbed_mm_event_count
#define mm_damage_get           tbed_mm_damage_get
#define mm_chunk_count          tbed_mm_chunk_count
#define mm_chunk_get            tbed_mm_chunk_get
#define mm_release              tbed_mm_release
#define mm_event_shape          tbed_mm_event_shape
#define mm_metadata_is_unlisted tbed_mm_metadata_is_unlisted
#define mm_string_address       tbed_mm_string_address
#define mm_string_walk_start    tbed_mm_string_walk_start
#define mm_component_next       tbed_mm_component_next
#define mm_string_damage_next   tbed_mm_string_damage_next
#define mm_string_first         tbed_mm_string_first
#define mm_file_offset          tbed_mm_file_offset
#define mm_index_get            tbed_mm_index_get
#define mm_index_is_valid       tbed_mm_index_is_valid

#endif
