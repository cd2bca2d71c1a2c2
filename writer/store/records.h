/*
 * Records, and ids. The caller holds 'state_lock'. Where something cannot be stored the drop has been counted, except in
 * tbed_stream_append().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_RECORDS_H
#define TRACEBED_WRITER_RECORDS_H

#include "format/record.h"
#include "writer/store/store.h"

/* ---- record_write.c ---- */
/* Appends a record whose fields after 'head' are in place. */
bool tbed_record_append(struct tbed_store *store, void *record, enum tbed_record_type type, uint32_t nbytes);
/* The same for a record that ends with 'rest_nbytes' more. */
bool tbed_record_append_parts(struct tbed_store *store, enum tbed_record_type type, const void *fixed,
                              uint32_t fixed_nbytes, const void *rest, uint32_t rest_nbytes);
bool tbed_stream_append(struct tbed_store *store, struct tbed_disk_stream *record,
                        enum tbed_drop_cause *cause_ret);
void tbed_process_record(struct tbed_store *store, uint32_t name_id, uint32_t forked_from);
/* Of a process that is not the writer's. Returns its number; 0: it could not be stored. */
uint32_t tbed_other_process_record(struct tbed_store *store, uint32_t name_id, uint32_t pid,
                                   uint32_t parent_pid, uint32_t forked_from);
/* Another record of a process: the last one counts. */
void tbed_process_describe(struct tbed_store *store, uint32_t number, uint32_t name_id, uint32_t pid);
/* Nothing where the trace's clock is not the system's. */
void tbed_anchor_append(struct tbed_store *store);

/* ---- unit_write.c; for units that are shared ---- */
/* The first id of a unit that is known by these options; TBED_ID_INVALID: none is. */
uint32_t tbed_unit_look(struct tbed_writer *writer, const struct tbed_unit_options *options);
/* Makes a unit known by other options than it was registered with. */
void tbed_unit_add_key(struct tbed_writer *writer, const struct tbed_unit_options *options,
                       uint32_t first_id);

/* ---- id_write.c ---- */
/* The first of 'count' ids; TBED_ID_INVALID: there are none left. */
uint32_t tbed_reserve_ids(struct tbed_store *store, uint32_t count);
bool tbed_can_be_bound(uint32_t first_id, uint32_t count, uint32_t string_id);
bool tbed_bind_locked(struct tbed_store *store, uint32_t first_id, uint32_t count, uint32_t string_id);

#endif
