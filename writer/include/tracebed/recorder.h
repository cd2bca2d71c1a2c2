/*
 * tracebed/recorder.h: writers and recorders, for programs that record through calls, such as a language's virtual
 * machine. The macros are in trace.h; <tracebed/writer.h> includes both.
 *
 * A writer is a process's hold on a trace file; a recorder is a thread's pen in it. An event is stored
 * straight into a mapped page: what has been recorded survives SIGKILL. It is not safe against a power cut.
 *
 * The traced program is never harmed: no call fails in a way that the caller has to handle, no signal is
 * raised by a full disk, no lock is taken and no system call made while a page has room. What cannot be
 * stored is dropped and counted by cause (enum tbed_drop_cause) in the file's header.
 *
 * Caveats. After fork() the child goes on by itself with pages of its own; there is nothing to call. Do not
 * cut the file while it is written. Network file systems are not supported.
 *
 * Threads: a writer may be used by any thread. A recorder belongs to one thread at a time. A signal handler
 * may use its thread's recorder: when it comes in the middle of a record its own is dropped and counted; a new name,
 * when its thread is just storing one, is INVALID and counted.
 *
 * The helper thread, "tracebed", starts with the writer and sleeps until the process has claimed 16 pages; in a forked
 * child it starts then, with a thread that blocks no signals. It blocks all signals, keeps as many pages ready as the
 * program takes in 50 ms or more (2 to 64 MiB), and seals those that are full. A second or two after the last claim it
 * gives what is faulted in back, and then sleeps without a timeout.
 *
 * Source: spec/format.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RECORDER_H
#define TRACEBED_RECORDER_H

#include <tracebed/format.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tbed_writer;
struct tbed_recorder;

/* ---- The writer ---- */

#define TBED_PID_UNKNOWN UINT32_MAX

struct tbed_writer_options {
    size_t size;    /* sizeof(struct tbed_writer_options); lets the struct grow */
    bool overwrite; /* replace an existing file; else that is ERR_EXISTS */
    bool join;      /* append to an existing trace, or create it */
    /* No helper thread: pages are faulted in and sealed by the recording threads, one by one; an event then takes 1.4
       clock reads instead of 1.02. A must where a recorder is used inside malloc: starting a thread calls calloc. */
    bool no_helper;
    enum tbed_clock clock;        /* of a new file */
    uint64_t (*user_clock)(void); /* of TBED_CLOCK_USER; async-signal-safe if handlers record */
    const char *user_clock_unit;  /* at most 16 ASCII bytes */
    uint32_t page_nbytes;         /* of a new file; 0: 65536 */
    uint64_t max_file_nbytes;     /* 0: 64 GiB. Beyond it records are dropped with cause "size limit" */
    const char *process_name;     /* NULL: the kernel's name of the process */
    uint32_t first_reserved_id;   /* of a new file: ids below are the application's own */
    /* Events happened before: see tbed_event_record_given(). Not with 'join', 'clock', 'user_clock'. */
    bool given_ticks;
    uint64_t given_ticks_per_second; /* 1,000 to 10^12; 0: ticks are counts, in 'user_clock_unit' */
    int64_t given_realtime_ns;       /* CLOCK_REALTIME at tick 0 */
    /* 0: this process's; TBED_PID_UNKNOWN: the trace has 0. Given, its parent is not told. */
    uint32_t process_pid;
    uint64_t ring_nbytes; /* of a new file: a flight recorder, see below; 0: everything is kept */
    /* A series of files, see below. Not with 'join', 'given_ticks', 'ring_nbytes', and not without a path. */
    bool rotate;                 /* by tbed_rotate() only; the next two ask for it as well */
    uint64_t rotate_nbytes;      /* when the file is about as large; 0: however large it is */
    uint64_t rotate_interval_ns; /* when it is as old; 0: however old it is */
    uint32_t rotate_keep;        /* how many closed files are kept, at most 1,000,000; 0: all */
    /* With 'join': strings and records are added, no events. There is no process of its own in the trace, no clock is
     * read, and a trace of any clock can be joined, on any machine. */
    bool annotate;
    bool release_pages; /* what is sealed leaves the resident memory, not the file: a system call a page */
    /* With 'given_ticks' that are time: how precisely times are known, 0 to 10^9; 0: to a tick. */
    uint32_t given_resolution_ns;
};

/*
 * Series. With one of 'rotate', 'rotate_nbytes', 'rotate_interval_ns' a long trace is cut into files, each a trace of
 * its own that is closed cleanly when the next one is begun. The running file always has the given path; closed ones
 * are "path.000001", "path.000002", and so on, numbers whose name is taken being left out. Nothing but the series' own
 * closed files is ever removed, the oldest first, when there are more than 'rotate_keep'. An event is in one file,
 * exactly; strings, bindings, units and all that is said of processes and of threads that have not ended is in each, so
 * that ids, stream numbers and open spans go on. Drops are counted in the file that they happened in. A SERIES record
 * says which file follows which.
 *
 * A rotation is made by the helper; without one, by a thread that needs a page, and then 'rotate_interval_ns' is looked
 * at only there. It begins within a page of each thread of 'rotate_nbytes', and not before a file is twice as large as
 * what it carries on. What threads record meanwhile waits until the next file stands: some milliseconds, more where
 * there are many megabytes of strings. A signal handler that comes in the middle of that in its own thread has its
 * events dropped with cause "interrupted". A rotation that fails changes nothing: the file goes on and says how often
 * that happened ('tracebed info'), and a rotation by size or time is tried again after a second; why it fails
 * tbed_rotate() tells. Threads are stopped by membarrier(2): where the kernel or a sandbox refuses that, each
 * rotation fails. So does one during which a thread stays in a single record for a tenth of a second (stopped by a
 * debugger, say).
 *
 * A forked child begins a series of its own with its first event, at "path.PID"; so nobody shares a file. Another process
 * that joins the running file all the same stays in that one. The file system must be able to exchange two names
 * (RENAME_EXCHANGE: ext4, xfs, btrfs, tmpfs).
 */

/*
 * Flight recorders. With 'ring_nbytes' a trace keeps the newest events: that many bytes of pages, rounded up, allocated
 * when the file is made (ERR_DISK_FULL if there is no room), used over and over. Strings, names and records are never
 * given up; they lie behind the ring and grow as in other traces. A thread keeps the page that it records into however
 * long it is quiet, and the one before while there are others, so a ring wants several pages for each thread (64 KiB
 * each by default). Where threads hold all pages, one that has a page starts it again, and the events of one that has
 * none are dropped with cause "size limit".
 * Otherwise what a process records stays until half as many pages as the ring has were given out after it.
 * The helper makes up to a sixteenth of the pages ready ahead of use.
 */

/*
 * tbed_writer_open() creates or joins a trace file, mode 0600, never through a symbolic link.
 *
 * Ownership: '*writer_ret' is the caller's, freed by tbed_writer_close(). NULL on failure: every function
 * below takes a NULL writer and does nothing, so that a program can go on. Errors:    ERR_OPEN, ERR_EXISTS,
 * ERR_WRITE, ERR_DISK_FULL, ERR_MAP, ERR_MEMORY, ERR_ARGUMENT; when joining, the file checks of section 12
 * and ERR_CLOCK_DIFFERS. Threads:   any.
 */
enum tbed_status tbed_writer_open(const char *path, const struct tbed_writer_options *options,
                                  struct tbed_writer **writer_ret, struct tbed_error *error_ret);

/*
 * tbed_writer_close() stops all recorders, also those of other threads (what they record later is dropped
 * with cause "closed"), seals their pages, and leaves the file; the last writer to leave marks it as cleanly
 * closed. Recorders stay valid to call, for ever. NULL is fine.
 */
void tbed_writer_close(struct tbed_writer *writer);

/*
 * The same, and frees the little that closing leaves for whoever still records: for a program that writes many traces
 * and knows that no thread has a recorder of this one in its hands any more.
 */
void tbed_writer_free(struct tbed_writer *writer);

/*
 * tbed_writer_open() for a new file that is open already: 'fd', readable and writable, empty, perhaps without a name. It stays
 * the caller's, who may close it at once; its flock is the writer's until that is closed. A forked child needs /proc
 * to go on with it.
 *
 * Errors: as above. ERR_EXISTS if it is not empty, ERR_NOT_REGULAR, ERR_BUSY if another process has it locked;
 *         ERR_ARGUMENT with 'join'. A file that could not be begun is empty again.
 */
enum tbed_status tbed_writer_open_fd(int fd, const struct tbed_writer_options *options,
                                     struct tbed_writer **writer_ret, struct tbed_error *error_ret);

/*
 * tbed_rotate() begins the next file of a series now. From a signal handler: ask a thread to do it.
 *
 * Errors: ERR_ARGUMENT where the writer is NULL, closed, or without a series; ERR_BUSY where a thread did not
 *         come out of a record for a tenth of a second, or there is no membarrier(2); ERR_EXISTS where the path names
 *         another file by now; ERR_OPEN, ERR_DISK_FULL, ERR_WRITE, ERR_MAP, ERR_MEMORY. The running file goes on then.
 * Threads: any; not from a signal handler.
 */
enum tbed_status tbed_rotate(struct tbed_writer *writer, struct tbed_error *error_ret);

/* What has been dropped in this file so far, over all its writers. */
uint64_t tbed_writer_drop_count(const struct tbed_writer *writer, enum tbed_drop_cause cause);

/*
 * tbed_trace_seal() makes the trace of writers that ended without closing (killed, exec, _exit) clean, as
 * section 11 tells. Loses nothing that was committed.
 *
 * Errors: ERR_BUSY while a writer is alive; ERR_OPEN, ERR_WRITE, ERR_MAP; the file checks.
 */
enum tbed_status tbed_trace_seal(const char *path, struct tbed_error *error_ret);

/* ---- Snapshots ---- */

/*
 * tbed_snapshot() writes what the trace holds at this moment, of all its threads and processes, into a new file: a
 * trace of its own, in append mode, closed cleanly. Recording goes on, nobody waits for it. Of a flight recorder these
 * are the newest events, of a stream only those without a gap before them. An event that a thread is storing at that
 * moment may be missing.
 *
 * Errors: ERR_ARGUMENT where the writer is NULL or closed; ERR_EXISTS, ERR_OPEN, ERR_DISK_FULL, ERR_WRITE, ERR_MAP,
 *         ERR_MEMORY: there is no new file then.
 * Threads: any, several at once; not from a signal handler.
 */
enum tbed_status tbed_snapshot(struct tbed_writer *writer, const char *path, struct tbed_error *error_ret);

/*
 * The same from outside, of a trace that other processes may be writing, or that was left open. Blocks that are damaged
 * are left out, and counted; so is what stands behind a cells page's header, whose cells stay. Where the ticks are no
 * clock of this machine the threads are cut at slightly different moments.
 *
 * Errors: the file checks of section 12 that stop the reading, too.
 */
enum tbed_status tbed_trace_snapshot(const char *trace_path, const char *path, uint64_t *left_out_ret,
                                     struct tbed_error *error_ret);

/* ---- Strings and ids ---- */

/*
 * tbed_string_intern() gives the id of a text, the same one each time within this process. Bytes that are not
 * UTF-8 are stored as "\xHH". Any length. A text that has its id already costs a hash and a comparison, and no lock;
 * the writer keeps a copy of each text of up to 64 KiB.
 *
 * Errors: TBED_ID_INVALID when it cannot be stored; the drop is counted.
 * Threads: any; not from a signal handler.
 */
uint32_t tbed_string_intern(struct tbed_writer *writer, const char *text, size_t nbytes);

struct tbed_component {
    const char *text; /* NULL: a reference */
    size_t nbytes;
    uint32_t id; /* of a reference: a regular id from this trace, or a reserved one */
};

/* A new entry of these components; not interned. As tbed_string_intern() otherwise. */
uint32_t tbed_string_alloc(struct tbed_writer *writer, const struct tbed_component *components,
                           size_t component_count);

/* The same under a reserved id: alloc, then bind. False: dropped, counted. */
bool tbed_string_alloc_reserved(struct tbed_writer *writer, uint32_t reserved_id,
                                const struct tbed_component *components, size_t component_count);

/*
 * An event id: a label and arguments, as one string, "label" U+001E "argument" U+001E "argument"; analyses group by
 * the label. Made of references, so that what repeats is stored once. Not interned.
 */
uint32_t tbed_event_id_alloc(struct tbed_writer *writer, uint32_t label_id, const uint32_t *argument_ids,
                             size_t argument_count);

/* 'count' reserved ids in a row, unique in the file; the first, or TBED_ID_INVALID when exhausted (counted). */
uint32_t tbed_id_reserve(struct tbed_writer *writer, uint32_t count);

/*
 * All of [first_id, first_id + count) mean 'string_id'. Also binds TBED_ID_METADATA, with count 1. What cannot be
 * bound (not reserved, or more than 30 bits) is dropped with cause "too large". Other functions take the low 30
 * bits of an id.
 */
void tbed_id_bind(struct tbed_writer *writer, uint32_t first_id, uint32_t count, uint32_t string_id);

/* ids[i] means string_ids[i]. */
void tbed_id_bind_list(struct tbed_writer *writer, const uint32_t *ids, const uint32_t *string_ids,
                       size_t count);

/* The trace's metadata, JSON by custom. The last call counts. */
void tbed_metadata_set(struct tbed_writer *writer, const char *text, size_t nbytes);

/* The unit in which a counter counts, "bytes". */
void tbed_counter_describe(struct tbed_writer *writer, uint32_t counter_id, const char *unit);

/* ---- Code units ---- */

struct tbed_unit_options {
    size_t size;   /* sizeof(struct tbed_unit_options); lets the struct grow */
    uint32_t kind; /* enum tbed_unit_kind */
    uint32_t pc_shift;
    uint64_t base;     /* pc of the first id */
    uint64_t pc_count; /* ids needed: pc_count >> pc_shift, rounded up */
    const char *name, *file;
    uint32_t first_line;
    const uint8_t *build_id;
    uint32_t build_id_nbytes;
    bool share; /* use the unit that another process registered for the same file, base, count and build-id */
    const uint32_t *lines; /* line_count pairs (pc, line) by rising pc */
    size_t line_count;
};

/* Registers a unit; gives its first id, or TBED_ID_INVALID (counted). Location id = first id + ((pc - base)
 * >> pc_shift). */
uint32_t tbed_unit_register(struct tbed_writer *writer, const struct tbed_unit_options *options);

/* A registered unit, for whoever turns program counters into ids itself; see tbed_unit_location(). */
struct tbed_unit {
    uint32_t first_id, id_count, pc_shift;
    uint64_t base;
};

/* The location of 'pc' in the unit; TBED_ID_INVALID outside of its range, and where the unit has no ids. */
static inline uint32_t tbed_unit_location(const struct tbed_unit *unit, uint64_t pc)
{
    uint64_t index = (pc - unit->base) >> unit->pc_shift;
    bool is_inside = pc >= unit->base && index < unit->id_count && unit->first_id != TBED_ID_INVALID;
    return is_inside ? unit->first_id + (uint32_t)index : TBED_ID_INVALID;
}

/* A function at a location, by the ids of strings; TBED_ID_INVALID and line 0: not known. */
struct tbed_frame_names {
    uint32_t function_id, file_id, line;
};

/*
 * What a location means: functions, the innermost (inlined) one first; of a string's id, where in the program it stands.
 * The last call for a location counts; none takes it back. More than TBED_FRAMES_MAX, or an id of more than 30 bits, is
 * dropped with cause "too large".
 */
#define TBED_FRAMES_MAX 128u
void tbed_location_describe(struct tbed_writer *writer, uint32_t location,
                            const struct tbed_frame_names *frames, size_t frame_count);

/* Where this process has the unit, and that it no longer has it. */
void tbed_unit_load_record(struct tbed_writer *writer, uint32_t first_id, uint64_t address, uint64_t nbytes);
void tbed_unit_unload_record(struct tbed_writer *writer, uint32_t first_id);

/* ---- Call stacks ---- */

/*
 * tbed_stack_intern() gives the id of a call stack: 'location', called from the stack 'parent'; TBED_ID_INVALID is the
 * parent of the outermost frame. The same id each time within this process, and in forked children for what the parent
 * knew. An event may have a stack's id wherever it may have a location's. What this returns resolves, whatever happens
 * to the process then.
 *
 * Errors: TBED_ID_INVALID when ids are exhausted or there is no memory; the drop is counted.
 * Threads: any. One that is known takes no lock and makes no system call. Not from a signal handler.
 * Source: spec/format.md, section 8.5.
 */
uint32_t tbed_stack_intern(struct tbed_writer *writer, uint32_t parent, uint32_t location);

/* The same for frames below one another, outermost first: ids_ret[i] is the stack that ends with locations[i]. What is
 * new is stored at once, 8 bytes a frame. False: an id could not be had, and all from there on are TBED_ID_INVALID. */
bool tbed_stack_intern_frames(struct tbed_writer *writer, uint32_t parent, const uint32_t *locations,
                              size_t count, uint32_t *ids_ret);

/* ---- Recorders ---- */

/*
 * tbed_recorder_open() gives the calling thread (or a track: a fiber, a queue, a request) a stream of its
 * own.
 *
 * 'name' may be NULL. A page is claimed with the first event, not before.
 * Ownership: the writer's. Close it when the thread ends; tbed_writer_close() closes the rest.
 * Never NULL: a recorder that drops everything, and counts it, where there is no memory or no writer.
 */
struct tbed_recorder *tbed_recorder_open(struct tbed_writer *writer, const char *name);
struct tbed_recorder *tbed_track_open(struct tbed_writer *writer, const char *name);
void tbed_recorder_close(struct tbed_recorder *recorder);
void tbed_recorder_name_set(struct tbed_recorder *recorder, const char *name);
/* The stream's number in the file; 0 before the first event. */
uint32_t tbed_recorder_stream(const struct tbed_recorder *recorder);

/* A record's tick is read inside the call; this is the same clock. */
static inline uint64_t tbed_recorder_now(const struct tbed_recorder *recorder);

/* A span on this recorder's stream; spans nest. Inline: a clock read and a store. */
static inline void tbed_span_begin(struct tbed_recorder *recorder, uint32_t id);
static inline void tbed_span_end(struct tbed_recorder *recorder);
static inline void tbed_instant_record(struct tbed_recorder *recorder, uint32_t id);

/* The same with arguments. */
void tbed_span_begin_args(struct tbed_recorder *recorder, uint32_t id, const struct tbed_argument *arguments,
                          size_t argument_count);
void tbed_span_end_args(struct tbed_recorder *recorder, const struct tbed_argument *arguments,
                        size_t argument_count);
void tbed_instant_record_args(struct tbed_recorder *recorder, uint32_t id,
                              const struct tbed_argument *arguments, size_t argument_count);

/* The same with a category, the id of a string; TBED_ID_INVALID: none. 'value' is U64, I64 or F64. */
void tbed_span_begin_category(struct tbed_recorder *recorder, uint32_t id, uint32_t category,
                              const struct tbed_argument *arguments, size_t argument_count);
void tbed_instant_record_category(struct tbed_recorder *recorder, uint32_t id, uint32_t category,
                                  const struct tbed_argument *arguments, size_t argument_count);
void tbed_counter_record_category(struct tbed_recorder *recorder, uint32_t id, uint32_t category,
                                  const struct tbed_argument *value);

void tbed_counter_record_i64(struct tbed_recorder *recorder, uint32_t id, int64_t value);
void tbed_counter_record_f64(struct tbed_recorder *recorder, uint32_t id, double value);

/* A message said once: its text is stored in the event. */
void tbed_message_record(struct tbed_recorder *recorder, enum tbed_severity severity, const char *text,
                         size_t nbytes);
/* A message whose format string is in the table; the reader formats it. */
void tbed_message_record_args(struct tbed_recorder *recorder, enum tbed_severity severity, uint32_t format_id,
                              const struct tbed_argument *arguments, size_t argument_count);

/* A span that begins on one stream and may end on another; matched by (id, key). */
void tbed_async_begin(struct tbed_recorder *recorder, uint32_t id, uint64_t key);
void tbed_async_end(struct tbed_recorder *recorder, uint32_t id, uint64_t key);

/* Flows tie spans together: 'type' is TBED_EXT_FLOW_BEGIN, _STEP or _END. */
void tbed_flow_record(struct tbed_recorder *recorder, enum tbed_extended type, uint32_t id, uint64_t key);

/* Memory. 'location' is a location id or a string id. Record a free before it, an allocation after it. */
void tbed_alloc_record(struct tbed_recorder *recorder, uint32_t location, enum tbed_alloc_function function,
                       uint64_t address, uint64_t size);
void tbed_free_record(struct tbed_recorder *recorder, uint32_t location, enum tbed_alloc_function function,
                      uint64_t address);
/*
 * Many blocks at once, as a garbage collector finds them in a page of slots of one size: for each bit i of 'bits' (the
 * lowest of the first word is 0) the block at 'address' + i * 'slot_nbytes'. 8 bytes for 64 slots, and 48 for the event.
 * Dropped with cause "too large" above some 8,000 words with the usual page size.
 */
void tbed_free_slots_record(struct tbed_recorder *recorder, uint32_t location, uint64_t address,
                            uint64_t slot_nbytes, const uint64_t *bits, size_t word_count);
/* Of mappings (function mmap): a range was given back, which may be a part of one or reach over several. */
void tbed_unmap_record(struct tbed_recorder *recorder, uint32_t location, uint64_t address, uint64_t nbytes);
/* The same, and it is elsewhere now, or of another size. 'begin_tick' as below. */
void tbed_remap_record(struct tbed_recorder *recorder, uint32_t location, uint64_t old_address,
                       uint64_t old_nbytes, uint64_t address, uint64_t nbytes, uint64_t begin_tick);
/* 'begin_tick' was read (tbed_recorder_now) before the call of realloc. */
void tbed_realloc_record(struct tbed_recorder *recorder, uint32_t location, uint64_t old_address,
                         uint64_t address, uint64_t size, uint64_t begin_tick);

/* ---- Events that happened before ---- */

/*
 * Writers with 'given_ticks' take events from elsewhere: another format, another machine, a device. They read no
 * clock; what other functions record on such a writer gets the latest tick given to that recorder.
 */
enum tbed_given_type {
    TBED_GIVEN_BEGIN,
    TBED_GIVEN_END,
    TBED_GIVEN_INSTANT,
    TBED_GIVEN_SPAN, /* whole; 'tick' is its end */
    TBED_GIVEN_COUNTER,
    TBED_GIVEN_MESSAGE, /* 'id' is its format string; TBED_ID_INVALID: the first argument is its text */
    TBED_GIVEN_LEAVE,   /* the innermost span leaves the stack, as at END, but ends at 'end_tick' */
};

struct tbed_given_event {
    enum tbed_given_type type;
    uint32_t id;         /* not of END and LEAVE: the innermost span's */
    uint32_t category;   /* id of a string, not 0; TBED_ID_INVALID: none. Not of END and LEAVE */
    uint64_t tick;       /* may be below the one before: kept, and told by readers */
    uint64_t begin_tick; /* of SPAN */
    const struct tbed_argument *arguments; /* of COUNTER the first is its value */
    size_t argument_count;
    uint32_t severity; /* of MESSAGE: enum tbed_severity, and TBED_MESSAGE_CONTEXT */
    uint64_t end_tick; /* of LEAVE: before 'tick' or after it; 0: the span never ends */
};

/*
 * Drops and counts as every record does. Cause "too large" where the writer is without 'given_ticks' (struct tbed_writer_options), the type is
 * none of these, or a COUNTER has no value of type U64, I64 or F64.
 */
static inline void tbed_event_record_given(struct tbed_recorder *recorder,
                                           const struct tbed_given_event *event);

/* As tbed_recorder_open() for a thread of that number, which need not be this process's. */
struct tbed_recorder *tbed_recorder_open_given(struct tbed_writer *writer, const char *name, uint32_t tid);

#include <tracebed/recorder_inline.h>

/* ---- Structs that may grow: the size that the caller knows goes along, see "ABI" in format.h ---- */

void tbed_event_record_given_sized(struct tbed_recorder *recorder, const struct tbed_given_event *event,
                                   size_t event_nbytes);
static inline void tbed_event_record_given(struct tbed_recorder *recorder,
                                           const struct tbed_given_event *event)
{
    tbed_event_record_given_sized(recorder, event, sizeof *event);
}

#ifdef __cplusplus
}
#endif
#endif
