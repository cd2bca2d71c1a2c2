/*
 * tracebed/recorder.h: record a trace by calls, as a language's virtual machine does. The macros are in trace.h;
 * <tracebed/writer.h> includes both.
 *
 * A writer connects a process to a trace file. A recorder is one thread's handle for appending events. Events are
 * stored directly in mapped pages, so everything recorded survives SIGKILL. Only tbed_sync() makes it survive a power
 * cut.
 *
 * Recording never harms the traced program. No failure needs handling, a full disk raises no signal, and as long as a
 * page has room, recording an event takes no lock and makes no system call. Events that cannot be stored are dropped
 * and counted by cause (enum tbed_drop_cause) in the file's header.
 *
 * Caveats: a forked child records into pages of its own without further calls. Truncating the file while it is being
 * written kills the program with SIGBUS, unless the writer has 'guard' in its options. Network file systems are not
 * supported.
 *
 * Threads: any thread may use a writer. A recorder belongs to one thread at a time. A signal handler may use the
 * recorder of the thread that it interrupted: if that thread was recording an event, the handler's event goes to a stream
 * of its own, "NAME: signal handlers", for up to eight handlers that interrupt one another. It is dropped and counted
 * only if it needs a page or a lock that the interrupted thread is about to get. If the thread was storing a string, a
 * new string gets TBED_ID_INVALID and is counted.
 *
 * Recording leaves errno, the signal mask and the floating point state alone, and takes at most 4 KiB of stack, also in a
 * forked child's first event and in a rotation. A thread may be cancelled (with deferred cancellation) in any call. A
 * signal handler that leaves by siglongjmp() must not have interrupted a call of its thread, as with malloc(): the
 * thread's later events would go to the stream of its handlers, and a lock could stay taken.
 *
 * The helper thread, "tracebed", starts with the writer and sleeps until the process has claimed 16 pages. A forked
 * child starts its own at that point, from a thread that blocks no signals. The helper blocks all signals, keeps as many
 * pages ready as the program fills in 50 ms (at least 2 MiB, at most 64 MiB), and seals full pages. One to two seconds
 * after the last page was claimed it releases the pages that it prepared, and then sleeps without a timeout.
 *
 * Source: spec/format.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RECORDER_H
#define TRACEBED_RECORDER_H

#if defined __cplusplus && __cplusplus < 201703L
#pragma GCC system_header /* it is written for C++17 */
#endif

#include <tracebed/format.h>

TBED_HEADER_BEGIN

#ifdef __cplusplus
extern "C" {
#endif

struct tbed_writer;
struct tbed_recorder;

/* ---- The writer ---- */

#define TBED_PID_UNKNOWN 0xFFFFFFFFu

struct tbed_writer_options {
    size_t size;    /* sizeof(struct tbed_writer_options) */
    bool overwrite; /* replace an existing file; otherwise that is ERR_EXISTS */
    bool join;      /* append to an existing trace, or create it */
    /* Start no helper thread. The recording threads then prepare and seal pages themselves, and an event takes the time
       of 1.4 clock reads instead of 1.02. Required for recording inside malloc: starting a thread calls calloc. */
    bool no_helper;
    enum tbed_clock clock;        /* for a new file */
    uint64_t (*user_clock)(void); /* for TBED_CLOCK_USER; async-signal-safe if signal handlers record */
    const char *user_clock_unit;  /* at most 16 ASCII bytes */
    uint32_t page_nbytes;         /* for a new file; 0: 65536 */
    uint64_t max_file_nbytes;     /* 0: 64 GiB, less under ulimit -v. Later records: drops, "size limit" */
    const char *process_name;     /* NULL: the kernel's name of the process */
    uint32_t first_reserved_id;   /* for a new file: lower ids belong to the application */
    /* Events carry given ticks; see tbed_event_record_given(). Excludes 'join', 'clock' and 'user_clock'. */
    bool given_ticks;
    uint64_t given_ticks_per_second; /* 1,000 to 10^12; 0: ticks are counts, in 'user_clock_unit' */
    int64_t given_realtime_ns;       /* CLOCK_REALTIME at tick 0 */
    /* 0: this process; TBED_PID_UNKNOWN: the trace stores 0. For any other value no parent is stored. */
    uint32_t process_pid;
    uint64_t ring_nbytes; /* for a new file: make it a flight recorder, see below; 0: keep everything */
    /* A series of files, see below. Excludes 'join', 'given_ticks' and 'ring_nbytes', and requires a path. */
    bool rotate;                 /* rotate when tbed_rotate() is called; implied by the next two */
    uint64_t rotate_nbytes;      /* rotate at about this size; 0: at any size */
    uint64_t rotate_interval_ns; /* rotate at this age; 0: at any age */
    uint32_t rotate_keep;        /* how many closed files to keep, at most 1,000,000; 0: all */
    /* Add strings and records to an existing trace, and no events but those of tbed_recorder_open_off_cpu(); requires
     * 'join'. The trace gets no new process, no clock is read, and the trace may have been recorded with any clock on any machine. */
    bool annotate;
    bool release_pages; /* drop sealed pages from resident memory, at one system call per page */
    /* For 'given_ticks' that are times: their precision, at most 10^9; 0: one tick. */
    uint32_t given_resolution_ns;
    bool guard; /* survive the loss of the file, see below; installs a handler of SIGBUS */
    /* The helper does what tbed_sync() does, this often: at least 1,000,000; 0: never. Excludes 'no_helper' and
       'annotate'. */
    uint64_t sync_interval_ns;
    /* This process's instants at locations and stacks are allocations there: a cheap way to count them, as 'tracebed
       record --light' does. */
    bool instants_are_allocations;
};

/*
 * The loss of the file. If somebody truncates the trace, or a file system breaks the promise of space that it has made,
 * a store into the map raises SIGBUS. With 'guard' a handler replaces the page by private memory: the program goes on,
 * all further events are dropped with the cause "I/O error", and the file is not touched again. It concerns only the
 * pages of guarded writers; any other SIGBUS goes to the action that was set when the first guarded writer was opened,
 * as the kernel would have done. Under 'tracebed record' and with TRACEBED= the guard is on.
 *
 * A program that sets its own handler of SIGBUS while a guarded writer is open must pass on what does not concern it
 * ('tracebed record' does this for it). The kernel kills a process for a fault whose signal is blocked, so SIGBUS is
 * unblocked in each thread at its first event; a thread that blocks it after that is not protected. The handler is
 * removed with the last guarded writer, unless the program has set another one meanwhile; a library that contains the
 * writer must then stay loaded.
 */

/*
 * Series of files. 'rotate', 'rotate_nbytes' or 'rotate_interval_ns' splits a long trace into files. Each is a complete
 * trace, closed cleanly when the next one begins. The running file always has the given path; closed files are named
 * "path.000001", "path.000002" and so on, skipping names that are taken. When there are more than 'rotate_keep' closed
 * files, the oldest of this series is removed; no other file ever is. Every event is in exactly one file. Each file
 * repeats the strings, bindings and units, and what is known of the processes and of the threads that have not ended,
 * so ids, stream numbers and open spans stay valid from file to file. Drops are counted in the file in which they
 * happened. A SERIES record links each file to its predecessor.
 *
 * The helper rotates; without a helper, the next thread that needs a page does, and 'rotate_interval_ns' is checked only
 * then. Rotation starts within one page per thread of 'rotate_nbytes', and not before the file is twice as large as the
 * data that has to be repeated. Threads that record meanwhile wait for the next file, usually for a few milliseconds,
 * longer if many megabytes of strings are repeated. If a signal handler interrupts its own thread during that wait, its
 * events are dropped with the cause "interrupted".
 *
 * If a rotation fails, the running file goes on and counts the failure ('tracebed info' shows it); rotation by size or
 * age is retried after a second. Call tbed_rotate() to learn the cause. Rotation stops the recording threads with
 * membarrier(2), so it fails wherever the kernel or a sandbox refuses that call. It also fails if a thread stays inside
 * one record for a tenth of a second, for example because a debugger stopped it.
 *
 * A forked child starts a series of its own at "path.PID" with its first event. A process that joins the running file
 * stays in that file. The file system must support RENAME_EXCHANGE (ext4, xfs, btrfs and tmpfs do).
 */

/*
 * Flight recorders. With 'ring_nbytes' a trace keeps only its newest events: that many bytes of pages, rounded up, are
 * allocated when the file is created (ERR_DISK_FULL if there is no room) and then reused. Strings, names and records are
 * never overwritten; they are stored after the ring, and grow as in any trace. A thread keeps the page that it records
 * into, however long it is idle, and its previous page as long as other pages are available. Choose a ring that holds
 * several pages (64 KiB each by default) per thread. When all pages are held by threads, a thread with a page reuses it,
 * and events of threads without one are dropped with the cause "size limit". Apart from that, events of a process are
 * kept until half as many pages as the ring holds have been handed out after them. The helper prepares up to a sixteenth
 * of the ring ahead of use.
 */

/*
 * tbed_writer_open() creates or joins a trace file with mode 0600. It never follows a symbolic link.
 *
 * Ownership: '*writer_ret' is the caller's; free it with tbed_writer_close(). On failure it is NULL, and every function
 *            below accepts a NULL writer and does nothing, so the program can go on.
 * Errors:    ERR_OPEN, ERR_EXISTS, ERR_WRITE, ERR_DISK_FULL, ERR_MAP, ERR_MEMORY, ERR_ARGUMENT; when joining, the file
 *            checks of section 12 and ERR_CLOCK_DIFFERS.
 * Threads:   any.
 */
enum tbed_status tbed_writer_open(const char *path, const struct tbed_writer_options *options,
                                  struct tbed_writer **writer_ret, struct tbed_error *error_ret);

/*
 * tbed_writer_close() stops all recorders, including those of other threads (whose later events are dropped with the
 * cause "closed"), seals their pages and leaves the file. The last writer to leave marks the file as cleanly closed.
 * Calling the recorders stays valid for the life of the process. NULL is allowed.
 */
void tbed_writer_close(struct tbed_writer *writer);

/*
 * Like tbed_writer_close(), and also frees the little memory that is otherwise kept for threads that still record. For
 * programs that write many traces, when no thread uses a recorder of this one any more.
 */
void tbed_writer_free(struct tbed_writer *writer);

/*
 * Sandboxes: call tbed_sandbox_enter() before a filter of system calls (seccomp) takes hold of this process. From then on
 * the library makes no system call here, except futex() where two threads want a lock at once. Before, it stops the
 * helper and prepares 'nbytes' of pages, or as many as it can get, and recorders for 64 more threads; what no longer
 * fits is dropped with the cause "sandbox". Pages are shared with the other processes that record into the file.
 * tbed_sandbox_leave() goes back, if the filter could not be installed; the helper is not started again.
 *
 * In a sandbox, closing the writer leaves the file open, as if the process had been killed: nothing is lost, and another
 * process can call tbed_trace_seal(). Forked children drop everything. No writer can be opened, and no file rotates.
 * Where the clock is not the processor's (tbed_writer_options.clock), the filter must allow clock_gettime(). Where even
 * that one is refused, as in seccomp's strict mode or after PR_SET_TSC, close the writer beforehand.
 *
 * Returns how many bytes of pages are ready; 0 without a writer. Both concern all writers of the process, but only the
 * pages of 'writer' are prepared. Threads: any, but not from a signal handler.
 */
uint64_t tbed_sandbox_enter(struct tbed_writer *writer, uint64_t nbytes);
void tbed_sandbox_leave(void);

/*
 * Like tbed_writer_open(), for a new file that is already open: 'fd' must be readable, writable and empty; the file may
 * have no name. The caller keeps 'fd' and may close it at once; until then its flock belongs to the writer. A forked
 * child needs /proc to go on recording into the file.
 *
 * Errors: as above; ERR_EXISTS if the file is not empty, ERR_NOT_REGULAR, ERR_BUSY if another process has locked it,
 *         ERR_ARGUMENT with 'join' of struct tbed_writer_options. After a failure the file is empty again.
 */
enum tbed_status tbed_writer_open_fd(int fd, const struct tbed_writer_options *options,
                                     struct tbed_writer **writer_ret, struct tbed_error *error_ret);

/*
 * tbed_rotate() starts the next file of a series now.
 *
 * Errors:  ERR_ARGUMENT if the writer is NULL, closed, or has no series; ERR_BUSY if a thread stayed inside a record
 *          for a tenth of a second, or membarrier(2) is not available; ERR_EXISTS if the path now names another file;
 *          ERR_OPEN, ERR_DISK_FULL, ERR_WRITE, ERR_MAP, ERR_MEMORY. After a failure the running file goes on.
 * Threads: any, but not from a signal handler: let the handler ask a thread to do it.
 */
enum tbed_status tbed_rotate(struct tbed_writer *writer, struct tbed_error *error_ret);

/*
 * tbed_sync() makes what this process has recorded survive a power cut, or a crash of the system. Once it has returned
 * OK, every event whose call had returned before, in any thread, every string and every record can be read from what
 * the disk has, whatever happens to events that come later, and in whichever order the system writes them. That holds
 * as far as the file system and the disk keep the promise of msync(MS_SYNC): not on tmpfs, and not if a disk lies about
 * its cache. A flight recorder keeps its own promise, no more: old events are overwritten, on the disk too.
 * Readers may report damage after a power cut, in what came later.
 *
 * The caller waits for the disk, no other thread does: each recorder goes on in a new block at its next event, because a
 * block that changes could later be lost as a whole, with what it had on the disk. So a call takes up to a page of the
 * file for each thread that has recorded since the last one, and 1 KiB for those that record little. In a series, files
 * that are closed after the first call are synced as well, by the thread that rotates; so is the file's name. What other
 * processes have recorded into the file is written too, but the promise is for this process.
 *
 * With an interval in the options (or TRACEBED_SYNC) the helper does this by itself: after a power cut, what is
 * older than the interval and the time that the disk took is there. No other thread ever waits, except that closing waits
 * for a sync under way. Closing itself does not sync: call tbed_sync() before, if the end matters.
 *
 * Errors:  ERR_WRITE with errno: the disk failed, and what was recorded since the last success may be lost. The kernel may
 *          forget what it could not write, so all later calls fail in the same way, and the interval ends; a failure of
 *          the helper is found out by a call. EIO if the file was lost, EPERM in a sandbox, where nothing
 *          is called. ERR_BUSY, with nothing promised: a thread stayed inside a record for a tenth of a second, or
 *          membarrier(2) is not available. ERR_ARGUMENT if the writer is NULL or closed.
 * Threads: any, but not from a signal handler.
 */
enum tbed_status tbed_sync(struct tbed_writer *writer, struct tbed_error *error_ret);

/* How many records all writers of this file have dropped so far. */
uint64_t tbed_writer_drop_count(const struct tbed_writer *writer, enum tbed_drop_cause cause);

/*
 * tbed_trace_seal() closes a trace cleanly whose writers ended without closing it (killed, exec, _exit), as section 11
 * describes. No committed event is lost.
 *
 * Errors: ERR_BUSY while a writer is alive; ERR_OPEN, ERR_WRITE, ERR_MAP; the file checks.
 */
enum tbed_status tbed_trace_seal(const char *path, struct tbed_error *error_ret);

/* ---- Snapshots ---- */

/*
 * tbed_snapshot() writes the current contents of the trace, of all its threads and processes, to a new file: a complete
 * trace in append mode, closed cleanly. Recording goes on without waiting. From a flight recorder it takes the newest
 * events, and from each stream only those without a gap before them. An event that is being stored at that moment may
 * be missing.
 *
 * Errors:  ERR_ARGUMENT if the writer is NULL or closed; ERR_EXISTS, ERR_OPEN, ERR_DISK_FULL, ERR_WRITE, ERR_MAP,
 *          ERR_MEMORY. After a failure, or if the process is killed, there is no new file.
 * Threads: any, several at once, but not from a signal handler.
 */
enum tbed_status tbed_snapshot(struct tbed_writer *writer, const char *path, struct tbed_error *error_ret);

/*
 * Like tbed_snapshot(), from outside: for a trace that other processes may be writing, or that was not closed. Damaged
 * blocks, and those that the directory has and that are gone, are left out and counted, and the new file has LOST records
 * of them; stray bytes behind the header of a page of cells, whose cells are kept, are only counted. If the ticks do not come from a clock of this machine, the streams end at slightly different times.
 *
 * Ownership: both descriptors stay the caller's. 'trace_fd' is open for reading; 'fd' is a new file, open for reading and
 *            writing, whose content is replaced, and is incomplete after a failure.
 * Errors:    also the file checks of section 12 that stop reading.
 */
enum tbed_status tbed_trace_snapshot(int trace_fd, int fd, uint64_t *left_out_ret,
                                     struct tbed_error *error_ret);

/* ---- Damaged traces ---- */

enum tbed_recovered_header { /* where the fields that never change come from */
                             TBED_RECOVERED_HEADER_INTACT = 0, /* the header page */
                             TBED_RECOVERED_HEADER_COPY = 1,   /* one of its copies */
                             TBED_RECOVERED_HEADER_MADE_UP = 2,
};

struct tbed_recovery { /* what tbed_trace_recover() did */
    enum tbed_recovered_header header;
    bool counters_are_lost;    /* among them, how many events were dropped: they are 0 in the new file */
    uint64_t block_count;      /* blocks in the new file, not counting those of LOST records */
    uint64_t moved_count;      /* how many of them were not where they belong */
    uint64_t loss_count;       /* LOST records that were added */
    uint64_t lost_block_count; /* how many blocks they stand for */
};

/*
 * tbed_trace_recover() writes everything that is intact in a damaged trace to a new file: a trace in append mode, closed
 * cleanly. Blocks are found by scanning, wherever they are, so neither the header page nor the directory needs to be
 * there. Blocks that are not sealed are kept up to their first zero word, or their first damage. What is missing is
 * described by LOST records in the new file, which tbed_lost_get() of the reading library lists.
 *
 * The file id stays the same. If the header page and all its copies are lost, the clock is unknown: ticks are then
 * counts of the unit "ticks", and do not measure time. The trace of a trace that was recovered is the same, byte for
 * byte, and adds no loss.
 *
 * Ownership: both descriptors stay the caller's. 'trace_fd' is open for reading; 'fd' is a new file, open for reading and
 *            writing, whose content is replaced, and is incomplete after a failure.
 * Errors:    ERR_NOT_A_TRACE if nothing can be recovered; ERR_BUSY while a writer is alive; ERR_OPEN, ERR_IS_DIRECTORY,
 *            ERR_NOT_REGULAR, ERR_EMPTY; ERR_DISK_FULL, ERR_WRITE, ERR_MAP, ERR_MEMORY.
 * Threads:   any. Allocates with malloc().
 */
TBED_INLINE enum tbed_status tbed_trace_recover(int trace_fd, int fd, struct tbed_recovery *recovery_ret,
                                                struct tbed_error *error_ret);

/*
 * tbed_process_name_set() gives this process a name in the trace; the last one counts. For programs that change their title,
 * and for forked children, whose name is the kernel's otherwise. In a child that has not recorded anything yet, it joins the
 * trace. 'writer' may be NULL.
 *
 * Threads: any, but not from a signal handler.
 */
void tbed_process_name_set(struct tbed_writer *writer, const char *name);

/* ---- Strings and ids ---- */

/*
 * tbed_string_intern() returns the id of a text, the same id each time within this process. The text may have any
 * length; bytes that are not UTF-8 are stored as "\xHH". Looking up a known text costs a hash and a comparison, and
 * takes no lock. The writer keeps a copy of each text of up to 64 KiB.
 *
 * Errors:  TBED_ID_INVALID if the text cannot be stored; the drop is counted.
 * Threads: any, but not from a signal handler.
 */
uint32_t tbed_string_intern(struct tbed_writer *writer, const char *text, size_t nbytes);

struct tbed_component {
    const char *text; /* NULL: a reference */
    size_t nbytes;
    uint32_t id; /* for a reference: a regular id of this trace, or a reserved id */
};

/* Stores a new string made of these components, without interning it. Otherwise like tbed_string_intern(). */
uint32_t tbed_string_alloc(struct tbed_writer *writer, const struct tbed_component *components,
                           size_t component_count);

/* Stores a string and binds the reserved id to it. Returns false if it was dropped (counted). */
bool tbed_string_alloc_reserved(struct tbed_writer *writer, uint32_t reserved_id,
                                const struct tbed_component *components, size_t component_count);

/*
 * Stores an event id: a label and arguments in one string, "label" U+001E "argument" U+001E "argument". Analyses group
 * events by the label. The string is made of references, so repeated parts are stored once. It is not interned.
 */
uint32_t tbed_event_id_alloc(struct tbed_writer *writer, uint32_t label_id, const uint32_t *argument_ids,
                             size_t argument_count);

/*
 * Reserves 'count' consecutive ids, unique in the file. Returns the first, or TBED_ID_INVALID if exhausted (counted).
 *
 * An application may also choose fixed ids. They should be low and below first_reserved_id of struct
 * tbed_writer_options, so that they are its own from the start. An id that is not, and is bound before it was handed out,
 * belongs to the application from then on, and so do all ids below it: no process that records into the file gets them.
 */
uint32_t tbed_id_reserve(struct tbed_writer *writer, uint32_t count);

/*
 * Binds all ids of [first_id, first_id + count) to 'string_id'. TBED_ID_METADATA can be bound too, with a count of 1. Ids
 * that cannot be bound (not reserved, or more than 30 bits) are dropped with the cause "too large". All other functions
 * use the low 30 bits of an id.
 */
void tbed_id_bind(struct tbed_writer *writer, uint32_t first_id, uint32_t count, uint32_t string_id);

/* Binds each ids[i] to string_ids[i]. */
void tbed_id_bind_list(struct tbed_writer *writer, const uint32_t *ids, const uint32_t *string_ids,
                       size_t count);

/* Sets the trace's metadata, JSON by convention. The last call counts. */
void tbed_metadata_set(struct tbed_writer *writer, const char *text, size_t nbytes);

/* Sets the unit of a counter, for example "bytes". */
void tbed_counter_describe(struct tbed_writer *writer, uint32_t counter_id, const char *unit);

/* ---- Code units ---- */

struct tbed_unit_options {
    size_t size;   /* sizeof(struct tbed_unit_options) */
    uint32_t kind; /* enum tbed_unit_kind */
    uint32_t pc_shift;
    uint64_t base;     /* pc of the first id */
    uint64_t pc_count; /* the unit gets pc_count >> pc_shift ids, rounded up */
    const char *name, *file;
    uint32_t first_line;
    const uint8_t *build_id;
    uint32_t build_id_nbytes;
    /* Reuse the unit that another process registered for the same file, base, count and build-id. */
    bool share;
    const uint32_t *lines; /* line_count pairs (pc, line) in ascending order of pc */
    size_t line_count;
};

/* Registers a unit. Returns its first id, or TBED_ID_INVALID (counted). The location of a pc has the id
 * first id + ((pc - base) >> pc_shift). */
uint32_t tbed_unit_register(struct tbed_writer *writer, const struct tbed_unit_options *options);

/* A registered unit, for programs that turn program counters into ids themselves; see tbed_unit_location(). */
struct tbed_unit {
    uint32_t first_id, id_count, pc_shift;
    uint64_t base;
};

/* The location of 'pc' in the unit; TBED_ID_INVALID outside its range, and if the unit has no ids. */
TBED_INLINE uint32_t tbed_unit_location(const struct tbed_unit *unit, uint64_t pc)
{
    uint64_t index = (pc - unit->base) >> unit->pc_shift;
    bool is_inside = pc >= unit->base && index < unit->id_count && unit->first_id != TBED_ID_INVALID;
    return is_inside ? unit->first_id + (uint32_t)index : TBED_ID_INVALID;
}

/* A function at a location, by string ids. TBED_ID_INVALID and line 0 mean unknown. */
struct tbed_frame_names {
    uint32_t function_id, file_id, line;
};

/*
 * Describes a location by its functions, starting with the innermost (inlined) one. For a string id, it stores where in
 * the program that string is used. The last call for a location counts; descriptions cannot be removed. More than
 * TBED_FRAMES_MAX frames, or an id of more than 30 bits, are dropped with the cause "too large".
 */
#define TBED_FRAMES_MAX 128u
void tbed_location_describe(struct tbed_writer *writer, uint32_t location,
                            const struct tbed_frame_names *frames, size_t frame_count);

/* Records that this process has mapped the unit at 'address', or unmapped it. */
void tbed_unit_load_record(struct tbed_writer *writer, uint32_t first_id, uint64_t address, uint64_t nbytes);
void tbed_unit_unload_record(struct tbed_writer *writer, uint32_t first_id);

/* ---- Call stacks ---- */

/*
 * tbed_stack_intern() returns the id of a call stack: 'location', called from the stack 'parent'. The parent of the
 * outermost frame is TBED_ID_INVALID. The id is the same each time within this process, and in forked children for
 * stacks that the parent process knew. An event may use the id of a stack wherever it may use that of a location. A
 * returned id can be resolved even if the process dies at once.
 *
 * Errors:  TBED_ID_INVALID if ids or memory are exhausted; the drop is counted.
 * Threads: any, but not from a signal handler. Looking up a known stack takes no lock and makes no system call.
 * Source:  spec/format.md, section 8.5.
 */
uint32_t tbed_stack_intern(struct tbed_writer *writer, uint32_t parent, uint32_t location);

/*
 * Interns a chain of frames, outermost first: ids_ret[i] is the stack that ends with locations[i]. New frames are stored
 * at once, 8 bytes each. Returns false if an id could not be had; that id and all after it are TBED_ID_INVALID.
 */
bool tbed_stack_intern_frames(struct tbed_writer *writer, uint32_t parent, const uint32_t *locations,
                              size_t count, uint32_t *ids_ret);

/* ---- Types ---- */

/*
 * tbed_typed_intern() returns an id that means "an object of this type, allocated at this location": 'location' is a
 * location or a call stack, or TBED_ID_INVALID where it is not known, and 'type' the id of the name of the type or class,
 * as from tbed_string_intern(). Use it as the location of tbed_alloc_record() or tbed_realloc_record(): reports by site, stack, function,
 * file and module show the location, and 'tracebed report --by=class' the type. The id is the same each time, as with
 * tbed_stack_intern().
 *
 * Errors:  'location' itself if ids or memory are exhausted, which is counted: the event then has no type.
 * Threads: any, but not from a signal handler. Looking up a known pair takes no lock and makes no system call.
 * Source:  spec/format.md, section 8.8.
 */
uint32_t tbed_typed_intern(struct tbed_writer *writer, uint32_t location, uint32_t type);

/* ---- Recorders ---- */

/*
 * tbed_recorder_open() gives the calling thread a stream of its own; tbed_track_open() does the same for a track, such
 * as a fiber, a queue or a request. 'name' may be NULL. The first event claims a page; opening does not.
 *
 * Ownership: the writer's. Close a recorder when its thread ends; tbed_writer_close() closes the rest.
 * Errors:    never NULL. Without a writer or memory, the recorder drops everything and counts it.
 */
struct tbed_recorder *tbed_recorder_open(struct tbed_writer *writer, const char *name);
struct tbed_recorder *tbed_track_open(struct tbed_writer *writer, const char *name);
void tbed_recorder_close(struct tbed_recorder *recorder);
void tbed_recorder_name_set(struct tbed_recorder *recorder, const char *name);
/* The number of the stream in the file; 0 before the first event. */
uint32_t tbed_recorder_stream(const struct tbed_recorder *recorder);

/* Reads the clock that records are stamped with. */
TBED_INLINE uint64_t tbed_recorder_now(const struct tbed_recorder *recorder);

/* Spans on the recorder's stream nest. These calls are inline: each reads the clock and stores one word. */
TBED_INLINE void tbed_span_begin(struct tbed_recorder *recorder, uint32_t id);
TBED_INLINE void tbed_span_end(struct tbed_recorder *recorder);
TBED_INLINE void tbed_instant_record(struct tbed_recorder *recorder, uint32_t id);

/*
 * For spans that are recorded only if they last long enough: begins one at an earlier 'tick', from tbed_recorder_now(). The
 * recorder must not have recorded anything after that tick. tbed_writer_ns_to_ticks() converts durations; it may wait for some
 * milliseconds if a trace is new and its clock is a counter.
 */
void tbed_span_begin_since(struct tbed_recorder *recorder, uint32_t id, uint64_t tick);
uint64_t tbed_writer_ns_to_ticks(const struct tbed_writer *writer, uint64_t ns);

/*
 * For machines that unwind, and after a longjmp(): how many spans of the recorder are open, and ending those above that
 * depth, the innermost first, at the time of the call. The depth from before a span began ends that one, too; where no
 * more spans are open, nothing happens. In a signal handler that interrupted a record, both concern the handler's spans.
 */
uint32_t tbed_span_depth(const struct tbed_recorder *recorder);
void tbed_span_end_to(struct tbed_recorder *recorder, uint32_t depth);

/*
 * Ends the open span 'id' that began at 'begin_tick', wherever it is on the stack; those inside it stay open. Nothing happens if
 * there is none.
 */
void tbed_span_end_of(struct tbed_recorder *recorder, uint32_t id, uint64_t begin_tick);
/* The innermost one with that id. False: there is none. */
bool tbed_span_end_named(struct tbed_recorder *recorder, uint32_t id);
/*
 * The same from another thread than the recorder's, at 'end_tick'. The owner must not close the recorder meanwhile. It stores
 * the end in tbed_span_take_notes(), which is for the owner alone; what it has not taken is lost when the recorder closes.
 */
void tbed_span_end_later(struct tbed_recorder *recorder, uint32_t id, uint64_t begin_tick, uint64_t end_tick);
void tbed_span_take_notes(struct tbed_recorder *recorder);

/* Begins, ends and instants with arguments. */
void tbed_span_begin_args(struct tbed_recorder *recorder, uint32_t id, const struct tbed_argument *arguments,
                          size_t argument_count);
void tbed_span_end_args(struct tbed_recorder *recorder, const struct tbed_argument *arguments,
                        size_t argument_count);
void tbed_instant_record_args(struct tbed_recorder *recorder, uint32_t id,
                              const struct tbed_argument *arguments, size_t argument_count);

/* The same with a category, a string id; TBED_ID_INVALID for none. 'value' is U64, I64 or F64. */
void tbed_span_begin_category(struct tbed_recorder *recorder, uint32_t id, uint32_t category,
                              const struct tbed_argument *arguments, size_t argument_count);
void tbed_instant_record_category(struct tbed_recorder *recorder, uint32_t id, uint32_t category,
                                  const struct tbed_argument *arguments, size_t argument_count);
void tbed_counter_record_category(struct tbed_recorder *recorder, uint32_t id, uint32_t category,
                                  const struct tbed_argument *value);

void tbed_counter_record_i64(struct tbed_recorder *recorder, uint32_t id, int64_t value);
void tbed_counter_record_f64(struct tbed_recorder *recorder, uint32_t id, double value);

/* A one-off message: its text is stored in the event. */
void tbed_message_record(struct tbed_recorder *recorder, enum tbed_severity severity, const char *text,
                         size_t nbytes);
/* A message whose format string is in the string table; the reader formats it. */
void tbed_message_record_args(struct tbed_recorder *recorder, enum tbed_severity severity, uint32_t format_id,
                              const struct tbed_argument *arguments, size_t argument_count);

/* A span that may begin and end on different streams. Begin and end are matched by id and key. */
void tbed_async_begin(struct tbed_recorder *recorder, uint32_t id, uint64_t key);
void tbed_async_end(struct tbed_recorder *recorder, uint32_t id, uint64_t key);

/* Flows connect spans: 'type' is TBED_EXT_FLOW_BEGIN, _STEP or _END. */
void tbed_flow_record(struct tbed_recorder *recorder, enum tbed_extended type, uint32_t id, uint64_t key);

/*
 * Memory. 'location' is the id of a location, a stack or a string. Record an allocation after it was made, and a free
 * before it is made, so that the events of two threads that reuse an address stay in order.
 */
void tbed_alloc_record(struct tbed_recorder *recorder, uint32_t location, enum tbed_alloc_function function,
                       uint64_t address, uint64_t size);
void tbed_free_record(struct tbed_recorder *recorder, uint32_t location, enum tbed_alloc_function function,
                      uint64_t address);
/*
 * Records that many blocks were freed at once, as a garbage collector does in a page of slots of one size: for each bit i
 * that is set in 'bits' (the lowest bit of the first word is bit 0), the block at 'address' + i * 'slot_nbytes'. Takes 48
 * bytes and 8 bytes per 64 slots. Dropped with the cause "too large" above about 8,000 words with the default page size.
 */
void tbed_free_slots_record(struct tbed_recorder *recorder, uint32_t location, uint64_t address,
                            uint64_t slot_nbytes, const uint64_t *bits, size_t word_count);
/* Records that a range of mappings (TBED_FUNCTION_MMAP) was unmapped: a part of one, or several. */
void tbed_unmap_record(struct tbed_recorder *recorder, uint32_t location, uint64_t address, uint64_t nbytes);
/* Records that a range of mappings was moved or resized. 'begin_tick' as for tbed_realloc_record(). */
void tbed_remap_record(struct tbed_recorder *recorder, uint32_t location, uint64_t old_address,
                       uint64_t old_nbytes, uint64_t address, uint64_t nbytes, uint64_t begin_tick);
/* 'begin_tick' must be read with tbed_recorder_now() before realloc is called. */
void tbed_realloc_record(struct tbed_recorder *recorder, uint32_t location, uint64_t old_address,
                         uint64_t address, uint64_t size, uint64_t begin_tick);

/*
 * Records that the block at 'address' has 'size' bytes now, also of memory that it owns elsewhere. No new allocation is
 * counted. 'location' says where it changed; TBED_ID_INVALID if that is not known.
 */
void tbed_resize_record(struct tbed_recorder *recorder, uint32_t location, uint64_t address, uint64_t size);

/* ---- Events with given ticks ---- */

/*
 * A writer with 'given_ticks' takes events that were recorded elsewhere: in another format, on another machine, by a
 * device. It reads no clock; events recorded through the other functions get the latest tick given to that recorder.
 */
enum tbed_given_type {
    TBED_GIVEN_BEGIN,
    TBED_GIVEN_END,
    TBED_GIVEN_INSTANT,
    TBED_GIVEN_SPAN, /* begin and end in one event; 'tick' is the end */
    TBED_GIVEN_COUNTER,
    TBED_GIVEN_MESSAGE, /* 'id' is the format string; TBED_ID_INVALID: the first argument is the text */
    TBED_GIVEN_LEAVE,   /* a span leaves the stack, as with END, but ends at 'end_tick'; see 'inside' */
    /* These have a key instead of a category. */
    TBED_GIVEN_ASYNC_BEGIN,
    TBED_GIVEN_ASYNC_END,
    TBED_GIVEN_FLOW_BEGIN,
    TBED_GIVEN_FLOW_STEP,
    TBED_GIVEN_FLOW_END,
};

struct tbed_given_event {
    enum tbed_given_type type;
    uint32_t id;         /* ignored for END and LEAVE, which apply to the innermost span */
    uint32_t category;   /* a string id, not 0; TBED_ID_INVALID: none. Ignored for END and LEAVE */
    uint64_t tick;       /* may be below the previous one: stored unchanged, and reported by readers */
    uint64_t begin_tick; /* for SPAN */
    const struct tbed_argument *arguments; /* for COUNTER, the first is the value */
    size_t argument_count;
    uint32_t severity; /* for MESSAGE: enum tbed_severity, and TBED_MESSAGE_CONTEXT */
    uint64_t end_tick; /* for LEAVE: before or after 'tick'; 0: the span never ends */
    uint64_t key;      /* for ASYNC and FLOW: with the id, what begin and end are matched by */
    uint32_t inside;   /* for LEAVE: open spans inside it, which stay open; 0: it is the innermost */
};

/*
 * Records an event that carries its own tick. Dropped with the cause "too large" if the writer does not have
 * 'given_ticks' (struct tbed_writer_options), the type is unknown, or a COUNTER has no value of type U64, I64 or F64.
 */
TBED_INLINE void tbed_event_record_given(struct tbed_recorder *recorder,
                                         const struct tbed_given_event *event);

/* Like tbed_recorder_open(), for the thread with number 'tid', which may belong to another process. */
struct tbed_recorder *tbed_recorder_open_given(struct tbed_writer *writer, const char *name, uint32_t tid);

/*
 * Describes another process of a trace with given ticks, besides the one in the writer's options. 'forked_from' is the number of
 * the process that it was forked from; 0: unknown. A pid of 0 is unknown. Returns the number of the process; 0 if the
 * writer has no given ticks or the record could not be stored (counted).
 *
 * Threads: any.
 */
uint32_t tbed_process_record_given(struct tbed_writer *writer, const char *name, uint32_t pid,
                                   uint32_t parent_pid, uint32_t forked_from);

/* Like tbed_recorder_open_given(), for a thread of that process; 0: the writer's own. */
struct tbed_recorder *tbed_recorder_open_process(struct tbed_writer *writer, uint32_t process,
                                                 const char *name, uint32_t tid);

/*
 * For events that say when a thread was off its processor: 'stream' is the thread's in this trace, 'process' its process's,
 * 'tid' its number. They are BEGINs and ENDs. Also for a writer that annotates. Threads: any.
 */
struct tbed_recorder *tbed_recorder_open_off_cpu(struct tbed_writer *writer, uint32_t process,
                                                 uint32_t stream, const char *name, uint32_t tid);

/* What has become known of that process meanwhile; 0: the writer's own. A pid of 0 is unknown. */
void tbed_process_describe_given(struct tbed_writer *writer, uint32_t process, const char *name,
                                 uint32_t pid);

#include <tracebed/recorder_inline.h>

/* ---- Structs that may grow: these calls pass the caller's size on, see "ABI" in format.h ---- */

void tbed_event_record_given_sized(struct tbed_recorder *recorder, const struct tbed_given_event *event,
                                   size_t event_nbytes);
TBED_INLINE void tbed_event_record_given(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    tbed_event_record_given_sized(recorder, event, sizeof *event);
}

enum tbed_status tbed_trace_recover_sized(int trace_fd, int fd, struct tbed_recovery *recovery_ret,
                                          size_t recovery_nbytes, struct tbed_error *error_ret);
TBED_INLINE enum tbed_status tbed_trace_recover(int trace_fd, int fd, struct tbed_recovery *recovery_ret,
                                                struct tbed_error *error_ret)
{
    return tbed_trace_recover_sized(trace_fd, fd, recovery_ret, sizeof *recovery_ret, error_ret);
}

#ifdef __cplusplus
}
#endif

TBED_HEADER_END

#endif
