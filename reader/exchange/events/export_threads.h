/*
 * Process and thread numbers for viewers. Two traces may have processes with the same number, which a viewer would merge.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_EXPORT_THREADS_H
#define TRACEBED_EXCHANGE_EXPORT_THREADS_H

#include <tracebed/filter.h>

/* How a stream is shown. */
struct export_thread {
    uint32_t stream;
    size_t process; /* the index of its process; SIZE_MAX: none */
    uint64_t pid, tid;
    uint64_t system_tid; /* of the thread, also for its handlers and times off the processor; 0: none */
    uint64_t first_tick, last_tick; /* of its events; only if threads are collapsed */
    bool has_events, is_guest;      /* a guest has the row of another thread */
    uint32_t name_id;
    uint32_t kind;   /* enum tbed_stream_kind */
    uint32_t parent; /* of signal handlers and times off the processor: the stream of the thread; else 0 */
};

/* The numbers for one trace. */
struct export_threads {
    struct export_thread *items; /* in the order of streams */
    struct export_thread **rows; /* as they are shown: what belongs to a thread comes behind it */
    size_t count;
    bool has_parents; /* some belong to others */
    uint64_t *pids;   /* of its processes, in their order */
    size_t process_count;
};

/* The pids used by earlier traces. Zeroed at first. */
struct export_pids {
    uint64_t *items;
    size_t count, room;
};

/*
 * The threads that the filter takes. The caller frees with tbed_export_threads_free(), also after a failure. Errors:
 * ERR_MEMORY.
 */
enum tbed_status tbed_export_threads_make(struct tbed_reader *reader, const struct tbed_filter *filter,
                                          bool collapse, struct export_pids *taken,
                                          uint64_t *renumbered_count, struct export_threads *threads_ret);
void tbed_export_threads_free(struct export_threads *threads);

/* NULL: the stream is not written. */
const struct export_thread *tbed_export_threads_find(const struct export_threads *threads, uint32_t stream);

/*
 * The name of the crate that a measureme profile was made from, taken from rustc's command line in its metadata.
 * Writes at most 'room' bytes and returns their count; 0 if there is none; TBED_NO_MEMORY.
 */
size_t tbed_export_crate(const struct tbed_reader *reader, char *name, size_t room);

#endif
