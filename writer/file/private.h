/*
 * What the files of the writing library share. Nothing here is public.
 *
 * Memory comes from mmap only: the library may run inside somebody's malloc. Locks live in memory that a
 * forked child finds zeroed, so that a child never waits for a thread that it does not have.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_PRIVATE_H
#define TRACEBED_WRITER_PRIVATE_H

#include <pthread.h>
#include <sys/types.h>

#include "format/block.h"
#include "format/header.h"
#include "format/layout.h"
#include "tracebed/writer.h"

#define TBED_DEFAULT_MAX_FILE_NBYTES ((uint64_t)64 << 30)
#define TBED_GROW_NBYTES_MIN         ((uint64_t)256 << 10) /* after the first time */
#define TBED_GROW_NBYTES_MAX         ((uint64_t)64 << 20)
#define TBED_HELPER_AHEAD_NBYTES_MIN ((uint64_t)2 << 20)
#define TBED_HELPER_AHEAD_NBYTES_NEW ((uint64_t)16 << 20) /* before the rate is known */
#define TBED_HELPER_AHEAD_NBYTES_MAX ((uint64_t)64 << 20)
#define TBED_HELPER_CHUNK_NBYTES     ((uint64_t)2 << 20)
#define TBED_HELPER_BUSY_PAGES       16 /* claimed by this process before the helper has anything to do */
#define TBED_SEAL_RING_COUNT         2048
#define TBED_RESIDENT_NBYTES         ((uint64_t)64 << 20) /* given ticks: claimed before all is released */
#define TBED_RETRY_NS                50000000u            /* after a full disk, not before this long */
#define TBED_RING_READY_COUNT        64
#define TBED_RING_SHARE              16 /* of a ring: at most this part is ready ahead, or waits for its seal */
#define TBED_EXTENDED_NWORDS_MAX     65536 /* nwords has 16 bits; the word in front is not counted in it */
#define TBED_NWORDS_TOO_LARGE        (SIZE_MAX / 16) /* for any block, and counted as that */
#define TBED_STACK_INLINE_COUNT      24
#define TBED_NAME_GROWTH_NBYTES      40 /* ".4294967295-99.4294967295" */
#define TBED_STACK_MAX_COUNT         (1u << 20)
#define TBED_SLAB_NBYTES             65536
#define TBED_SLAB_RECORDER_COUNT     64

struct tbed_lock {  /* zero: free */
    uint32_t state; /* 0 free, 1 taken, 2 taken and waited for */
};

/*
 * False: the calling thread is at this lock, or at the same one of another writer, already (a signal handler came
 * in between).
 */
bool tbed_lock_take(struct tbed_lock *lock);
void tbed_lock_give(struct tbed_lock *lock);
/* False also where another thread has it. */
bool tbed_lock_try(struct tbed_lock *lock);
/* The calling thread has it, or is at it. */
bool tbed_lock_is_mine(const struct tbed_lock *lock);

/* The thread may be cancelled in none of our system calls: it would take a lock with it. */
int tbed_cancel_disable(void);
void tbed_cancel_restore(int state);

/* Zeroed pages, private; NULL if there are none. tbed_pages_free() takes NULL. */
void *tbed_pages_alloc(size_t nbytes);
void tbed_pages_free(void *pages, size_t nbytes);

/* A string or record block that is being filled; 'at' is the next free byte from its start. */
struct tbed_block_writer {
    uint8_t *block;
    uint32_t nbytes;
    uint32_t at;
    uint32_t sequence; /* of the next block */
    enum tbed_block_kind kind;
    uint32_t string_page;
};

struct tbed_intern {
    struct tbed_intern_table *table;  /* atomic; NULL: none yet, or closed */
    struct tbed_intern_table *closed; /* the same after closing */
    struct tbed_intern_texts *texts;
    size_t count;
};

struct tbed_stack_table; /* stack_write.c */

/* What a forked child finds zeroed. */
struct tbed_writer_live {
    uint32_t alive;
    struct tbed_lock lock;        /* strings, records, cells, recorders */
    struct tbed_lock grow_lock;   /* the file's size */
    struct tbed_lock fork_lock;   /* becoming a process of one's own */
    struct tbed_lock rotate_lock; /* rotations, and closing */
    struct tbed_lock pause_lock;  /* held while recorders wait for a rotation */
    bool is_rotating;             /* atomic: recorders wait */
};

struct tbed_helper {
    pthread_t thread;
    bool is_running;
    bool cannot_start;
    bool is_asleep;
    bool must_stop;
    uint32_t wake;            /* futex */
    uint64_t populated_pages; /* faulted in below this; 0: none is, or all were given back */
    uint64_t ahead_nbytes;
    uint64_t lead_ns;             /* the program's time in which it takes that much */
    uint64_t rate_ns, rate_pages; /* when, and at which claim, the rate was measured last */
    uint32_t quiet_claims;        /* the process's claims when the helper went to sleep */
    bool has_memory;              /* there is something to give back */
    uint64_t last_anchor_ns;
    uint64_t seal_head, seal_tail;
    uint64_t seal_ring[TBED_SEAL_RING_COUNT]; /* page << 32 | used; 0: not there yet */
};

struct tbed_ring {                         /* of a flight recorder, this process's */
    uint64_t ready_head, ready_tail;       /* atomic */
    uint32_t ready[TBED_RING_READY_COUNT]; /* pages taken and zeroed ahead */
    uint64_t retry_ns;                     /* atomic: all pages were held */
};

struct tbed_closed_file {
    uint32_t name_number;
    ino_t inode;
    uint64_t file_id; /* the number of a removed file's inode is given to others */
};

struct tbed_rotation { /* what a series of files needs; all but 'next_ns' and 'retry_ns': rotate_lock */
    bool is_wanted;
    uint64_t page_limit;    /* of a file; UINT64_MAX: none */
    uint64_t carried_pages; /* that the file began with; atomic */
    uint64_t interval_ns;   /* 0: none */
    uint64_t next_ns;       /* atomic: CLOCK_MONOTONIC */
    uint64_t retry_ns;      /* atomic: a rotation failed; not before this */
    uint64_t series_id;     /* the id of its first file */
    uint64_t previous_id;   /* of the file before; 0: none */
    uint32_t failed_count;  /* rotations, since the file was begun */
    uint32_t number;        /* of the file in the series, from 1 */
    uint32_t name_number;   /* of the newest closed file's name */
    uint32_t keep;          /* 0: all */
    uint64_t closed_count;
    struct tbed_closed_file *closed; /* the newest 'keep' of them */
    bool by_helper;                  /* the rotation that is under way */
    char name[4096];                 /* of the file that is being made; then of one that goes */
};

struct tbed_ring_page { /* whose block this process ended; atomic */
    uint32_t ended_at;  /* ring pages given out */
    uint32_t last_of;   /* the stream that has ended no block since; 0: none */
};

struct tbed_slab {
    struct tbed_slab *next;
    uint32_t used_count;
};

/* What the lower rooms ask of the top one. */
struct tbed_hooks {
    /* In a forked child that uses the writer for the first time: it gets pages of its own, or is closed. */
    void (*begin_child)(struct tbed_writer *writer);
    void (*start_helper)(struct tbed_writer *writer);
    /* By a recorder that is about to take a page, or the helper (NULL). */
    void (*rotate_if_due)(struct tbed_writer *writer, struct tbed_recorder *recorder);
};

struct tbed_writer {
    const struct tbed_hooks *hooks;
    struct tbed_writer_live *live; /* a page of its own */
    struct tbed_header_fields fields;
    uint8_t *map;
    uint64_t map_nbytes; /* the limit of the file as well */
    uint32_t page_nbytes;
    uint32_t page_shift;
    int fd;
    dev_t device;
    ino_t inode;
    char path[4096]; /* absolute, to open again after a fork or when the program closed our descriptor */

    uint64_t backed_pages; /* below this the disk is allocated; atomic, grow_lock */
    uint64_t grow_nbytes;
    uint64_t retry_ns; /* atomic: no page before this time of CLOCK_MONOTONIC; 0: now */
    uint32_t retry_cause;

    uint32_t epoch; /* +1 in each forked child */
    uint32_t process_stream;
    uint32_t claimed_pages;     /* by this process; atomic */
    bool is_closed, is_closing; /* atomic */
    bool has_lost_recorder;     /* one could not be stopped */
    bool wants_helper;
    uint32_t drop_users; /* atomic */
    uint64_t drops_after_close;
    uint64_t (*user_clock)(void);
    bool has_given_ticks; /* no clock is read */
    bool annotates;       /* the trace has no process of this writer */
    bool releases_pages;  /* what is sealed leaves the resident memory */
    uint64_t given_tick;  /* the latest that a stream began or ended with; atomic */
    uint32_t process_pid; /* as in the options */

    struct tbed_block_writer strings, records;
    uint8_t *cells; /* the page whose cells are handed out */
    uint32_t cells_next, cells_sequence;
    uint32_t spare_stream; /* a number whose STREAM record could not be stored; 0: none */

    struct tbed_intern intern;

    struct tbed_stack_table *stacks; /* NULL: none yet; atomic */

    struct tbed_slab *slabs;
    struct tbed_recorder *free_recorders;
    struct tbed_helper helper;
    struct tbed_ring ring;
    struct tbed_rotation rotation;
    struct tbed_ring_page *ring_pages; /* of each page; or NULL */
};

/* The part of a recorder that no hot path touches. */
struct tbed_recorder_cold {
    struct tbed_writer *writer;
    struct tbed_recorder *recorder;
    struct tbed_recorder *next_free;
    uint8_t *block;
    uint8_t *ended_block; /* the last one that was handed over; NULL: none */
    uint32_t block_nbytes;
    uint32_t epoch;  /* of the writer, when the stream was opened */
    uint32_t stream; /* 0: none yet */
    uint32_t next_sequence;
    uint32_t name_id;
    uint32_t kind;
    uint32_t tid;
    bool is_open;
    bool has_given_tid;
    uint64_t gap_count; /* drops not told in the stream yet; atomic */
    uint32_t gap_cause;
    size_t stack_nbytes; /* 0: the inline stack */
    struct tbed_open_span inline_stack[TBED_STACK_INLINE_COUNT];
};
_Static_assert(2 * 4096 + sizeof(struct tbed_slab) +
                       TBED_SLAB_RECORDER_COUNT * sizeof(struct tbed_recorder_cold) <=
                   TBED_SLAB_NBYTES,
               "a slab holds its recorders");

/* ---- clock.c ---- */
struct tbed_clock_reading {
    uint64_t ticks, realtime_ns, monotonic_ns;
};
/* Ticks and both clocks, read as close together as can be. */
struct tbed_clock_reading tbed_clock_read(const struct tbed_writer *writer);
enum tbed_clock tbed_clock_pick(enum tbed_clock wanted);
uint64_t tbed_clock_now(const struct tbed_writer *writer);
uint64_t tbed_monotonic_ns(void);
/*
 * The clock of a new file and its anchor: ticks and both clocks, read as close together as can be. Where ticks are
 * given no clock is read, and nobody may join.
 */
void tbed_clock_start(struct tbed_writer *writer, const struct tbed_writer_options *options);
/* How much it has ticked since then gives its rate; waits until that is long enough. */
void tbed_clock_rate(struct tbed_writer *writer);
/* The latest tick that the writer knows is not below 'tick'. */
void tbed_clock_reach(struct tbed_writer *writer, uint64_t tick);
bool tbed_clock_agrees(const struct tbed_writer *writer);
void tbed_anchor_append(struct tbed_writer *writer);

/* ---- file.c ---- */
enum tbed_status tbed_file_open(struct tbed_writer *writer, const char *path,
                                const struct tbed_writer_options *options, struct tbed_error *error);
enum tbed_status tbed_file_open_fd(struct tbed_writer *writer, int fd,
                                   const struct tbed_writer_options *options, struct tbed_error *error);
/* A descriptor and a shared lock of this process's own. */
bool tbed_descriptor_reopen(struct tbed_writer *writer);
bool tbed_file_remap(struct tbed_writer *writer);
void tbed_file_attach(struct tbed_writer *writer);
/* Leaves; shuts the file if nobody else is left. */
void tbed_file_detach(struct tbed_writer *writer);
/* The same for a file that is not mapped any more, and where this process is counted out. */
void tbed_file_leave(int fd, uint32_t page_nbytes);
/* Goes on with 'fd', with nothing of the old file's; the map stays where it is. False: the old map still stands. */
bool tbed_file_switch(struct tbed_writer *writer, int fd, uint64_t backed_pages);
bool tbed_descriptor_is_ours(const struct tbed_writer *writer);
/* A new file, mode 0600, that this process holds as writers do; -1 with errno. */
int tbed_file_create(const char *path);
/* The same in the folder of 'path', without a name until it gets one; not all file systems can do that. */
int tbed_file_create_unnamed(const char *path);
bool tbed_file_name(int fd, const char *path);
/* For the names of the other files of a series, longer by a process's number and theirs. */
bool tbed_path_can_grow(const struct tbed_writer *writer);
/* Makes sure that 'page' is backed by the disk; else the cause of the drop. */
bool tbed_file_back(struct tbed_writer *writer, uint64_t page, enum tbed_drop_cause *cause_ret);
/* Cuts the file to the pages claimed and marks it as cleanly closed. The caller holds it exclusively. */
bool tbed_file_shut(uint8_t *map, uint32_t page_nbytes, int fd);
/* Allocates the disk of [start, end); an errno. */
int tbed_file_extend(int fd, uint64_t start, uint64_t end);
uint64_t tbed_file_id_make(void);
/* A descriptor of the file for the caller to close; -1 with errno. */
int tbed_descriptor_duplicate(struct tbed_writer *writer);
/* In a flight recorder: shows that this process is alive, and asks that of another one. */
void tbed_file_announce(struct tbed_writer *writer);
bool tbed_file_process_lives(const struct tbed_writer *writer, uint32_t process);
static inline struct tbed_disk_header *tbed_shared(const struct tbed_writer *writer)
{
    return (struct tbed_disk_header *)writer->map;
}
int tbed_descriptor_lock(int fd, int operation);
int tbed_descriptor_raise(int fd);
int tbed_descriptor_copy(int fd);
enum tbed_status tbed_descriptor_remember(struct tbed_writer *writer, struct tbed_error *error);
enum tbed_status tbed_file_map(struct tbed_writer *writer, uint64_t max_nbytes, struct tbed_error *error);
void tbed_file_advise_many(const struct tbed_writer *writer);
static inline enum tbed_status tbed_fail(struct tbed_error *error, enum tbed_status status, int system_errno)
{
    *error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = UINT64_MAX};
    return status;
}
void tbed_process_begin(struct tbed_writer *writer, const char *name, uint32_t forked_from);
void tbed_process_begin_child(struct tbed_writer *writer);
bool tbed_options_want_rotation(const struct tbed_writer_options *options);
bool tbed_options_are_allowed(const struct tbed_writer_options *options, const char *path);
void tbed_helper_wake(struct tbed_helper *helper);

/* Counters in shared memory. */
static inline uint64_t tbed_shared_load(const tbed_le64 *at)
{
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}
static inline uint64_t tbed_shared_add(tbed_le64 *at, uint64_t value)
{
    return __atomic_fetch_add((uint64_t *)(void *)at, value, __ATOMIC_ACQ_REL);
}
static inline bool tbed_shared_swap(tbed_le64 *at, uint64_t *expected, uint64_t value)
{
    return __atomic_compare_exchange_n((uint64_t *)(void *)at, expected, value, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

/* ---- page.c ---- */
struct tbed_block_start { /* what a block's header says from the start */
    enum tbed_block_kind kind;
    uint32_t stream, sequence, string_page, depth;
    uint64_t tick;
};
/* A claimed page, zero, not begun; NULL with the cause. */
uint8_t *tbed_page_claim(struct tbed_writer *writer, enum tbed_drop_cause *cause_ret);
/* A cell of this process, its header not begun; NULL with the cause. The caller holds 'lock'. */
uint8_t *tbed_cell_claim(struct tbed_writer *writer, uint64_t tick, uint32_t *string_page_ret,
                         enum tbed_drop_cause *cause_ret);
uint32_t tbed_cell_nbytes(const struct tbed_writer *writer);
void tbed_block_begin(struct tbed_writer *writer, uint8_t *block, uint32_t nbytes,
                      const struct tbed_block_start *start);
/* A sealed page that is not needed soon; a cell's is left alone until its turn comes with all others. */
void tbed_page_release(struct tbed_writer *writer, uint8_t *block);
void tbed_block_seal(uint8_t *block, uint32_t used_nbytes, uint64_t last_tick);
/*
 * Room for an entry of 'nbytes' (a multiple of 8) in a string or record block. The caller holds 'lock'. NULL:
 * dropped and counted; or not counted, with the cause.
 */
uint8_t *tbed_block_room(struct tbed_writer *writer, struct tbed_block_writer *blocks, uint32_t nbytes);
uint8_t *tbed_block_room_or_cause(struct tbed_writer *writer, struct tbed_block_writer *blocks,
                                  uint32_t nbytes, enum tbed_drop_cause *cause_ret);
void tbed_block_writer_finish(struct tbed_writer *writer, struct tbed_block_writer *blocks);
uint32_t tbed_entry_max_nbytes(const struct tbed_writer *writer);

/* ---- ring.c: only in a flight recorder, but for the first three ---- */
void tbed_ring_open(struct tbed_writer *writer);
void tbed_ring_free(struct tbed_writer *writer);
bool tbed_ring_has(const struct tbed_writer *writer, const uint8_t *block);
/* A page of the ring, zero but for its mark, for tbed_block_begin(); NULL with the cause: all are held. */
uint8_t *tbed_ring_claim(struct tbed_writer *writer, enum tbed_drop_cause *cause_ret);
/* The same for a page that the caller has just sealed. */
uint8_t *tbed_ring_retake(struct tbed_writer *writer, uint8_t *block, enum tbed_drop_cause *cause_ret);
/* The block gets no more events: its age begins. 'before' is what its recorder ended last, or NULL. 'stream': 0 closes. */
void tbed_ring_note_end(struct tbed_writer *writer, const uint8_t *block, uint32_t stream,
                        const uint8_t *before);
/* The block stands: readers may look. */
void tbed_ring_commit(uint8_t *block);
/* The helper's: takes and zeroes a page ahead. False: enough are, or all are held. */
bool tbed_ring_make_ready(struct tbed_writer *writer);
void tbed_ring_give_back(struct tbed_writer *writer);

/* ---- record_write.c ---- */
/* Appends a record whose fields after 'head' are in place. The caller holds 'lock'. False: dropped, counted. */
bool tbed_record_append(struct tbed_writer *writer, void *record, enum tbed_record_type type,
                        uint32_t nbytes);
/* The same for STREAM, but the drop is the caller's to count. */
bool tbed_stream_append(struct tbed_writer *writer, struct tbed_disk_stream *record,
                        enum tbed_drop_cause *cause_ret);
/* The same for a record that ends with 'rest_nbytes' more. */
bool tbed_record_append_parts(struct tbed_writer *writer, enum tbed_record_type type, const void *fixed,
                              uint32_t fixed_nbytes, const void *rest, uint32_t rest_nbytes);
void tbed_process_record(struct tbed_writer *writer, uint32_t name_id, uint32_t forked_from);

/* ---- intern.c ---- */
/* The id of a text, an entry of its own if it is new. The caller holds 'lock'. */
uint32_t tbed_intern_locked(struct tbed_writer *writer, const char *text, size_t nbytes);
/* Nothing is found any more; the memory goes, the addresses stay valid until tbed_intern_free(). */
void tbed_intern_close(struct tbed_writer *writer);
void tbed_intern_free(struct tbed_writer *writer);

/* ---- string_write.c ---- */
/* The caller holds 'lock'. */
uint32_t tbed_text_alloc(struct tbed_writer *writer, const char *text, size_t nbytes);
uint32_t tbed_reserve_ids(struct tbed_writer *writer, uint32_t count);
bool tbed_can_be_bound(uint32_t first_id, uint32_t count, uint32_t string_id);
bool tbed_bind_locked(struct tbed_writer *writer, uint32_t first_id, uint32_t count, uint32_t string_id);

/* ---- carry.c ---- */
struct tbed_carried { /* what went into a new file, and where it is now; begins as zeros */
    uint8_t *room;    /* the new file while it is being filled */
    uint64_t room_nbytes;
    uint64_t page_count, backed_pages;
    uint32_t *moved; /* by page of the old file; moved_nbytes of memory */
    size_t moved_nbytes;
    struct tbed_block_writer strings, records; /* as the writer's will be */
    uint64_t cells_offset;                     /* 0: none */
    uint32_t cells_next, cells_sequence;
};
/* Makes most of the room that will be needed in the new file 'fd', while threads are recording. */
enum tbed_status tbed_carry_prepare(const struct tbed_writer *writer, int fd, struct tbed_carried *carried,
                                    struct tbed_error *error);
/* What was prepared and not used; nothing is fine. */
void tbed_carry_release(struct tbed_carried *carried);
/*
 * Fills the new file 'fd' with all strings of the writer's file and those records that later events can need. Where
 * 'goes_on' the blocks that this process is filling are left unsealed, and in '*carried'. 'moved' is the caller's
 * to free. Between writers of one file: the caller holds 'lock'.
 */
enum tbed_status tbed_carry(const struct tbed_writer *writer, int fd, uint64_t file_id,
                            const struct tbed_disk_series *series, bool goes_on, struct tbed_carried *carried,
                            struct tbed_error *error);

/* ---- series.c ---- */
struct tbed_disk_series tbed_series_make(uint64_t series_id, uint64_t previous_file_id, uint32_t number);
/* In the file that goes on; not each time, there may be one a second for days. */
void tbed_series_note_failure(struct tbed_writer *writer);
bool tbed_series_is_due(const struct tbed_writer *writer);
typedef void tbed_series_name(const struct tbed_writer *writer, uint32_t number, char *name);
tbed_series_name tbed_series_closed_name, tbed_series_child_name;
uint32_t tbed_series_name_next(struct tbed_writer *writer, tbed_series_name *make, uint32_t number, int *fd);
enum tbed_status tbed_series_exchange(struct tbed_writer *writer, bool *is_named_ret,
                                      struct tbed_error *error);
void tbed_series_exchange_back(const struct tbed_writer *writer, bool is_named);
void tbed_series_keep_newest(struct tbed_writer *writer, ino_t inode);
/* ---- rotate.c ---- */
/* False: no memory. */
bool tbed_rotation_init(struct tbed_writer *writer, const struct tbed_writer_options *options);
void tbed_rotation_free(struct tbed_writer *writer);
/* The first file of a series says so. The caller holds 'lock'. */
void tbed_series_record(struct tbed_writer *writer);
/* Until the file is too old; UINT64_MAX: it never is. */
uint64_t tbed_rotation_left_ns(const struct tbed_writer *writer);
/* By a recorder that is about to take a page, or the helper (NULL): rotates if it is time. */
void tbed_rotate_if_due(struct tbed_writer *writer, struct tbed_recorder *recorder);
/* A forked child of a writer that rotates gets a file of its own. */
bool tbed_rotation_fork(struct tbed_writer *writer);
/* ---- stack_write.c ---- */
/* The memory of what is known goes; who still looks finds nothing. */
void tbed_stacks_forget(struct tbed_writer *writer);
void tbed_stacks_free(struct tbed_writer *writer);

/* ---- recorder.c ---- */
static inline struct tbed_recorder_cold *tbed_cold_of(struct tbed_recorder *recorder)
{
    return tbed_kept_of(recorder)->cold;
}
/* The fast path reads the machine's own counter. */
static inline uint8_t tbed_idle_mark(const struct tbed_writer *writer)
{
    bool is_counter =
        writer->fields.clock == TBED_CLOCK_X86_TSC || writer->fields.clock == TBED_CLOCK_ARM64_VIRTUAL;
    return is_counter ? TBED_MARK_READY : TBED_MARK_SLOW;
}
size_t tbed_recorders_each(struct tbed_writer *writer, bool (*act)(struct tbed_recorder *));
struct tbed_recorder *tbed_recorder_take(struct tbed_writer *writer);
void tbed_block_hand_over(struct tbed_recorder *recorder, struct tbed_recorder_cold *cold, bool inline_seal);
void tbed_recorder_finish(struct tbed_recorder *recorder);
/* Clears the way for a rotation: no recorder stores without asking again. False: there is no way to tell all threads. */
bool tbed_recorders_pause(struct tbed_writer *writer);
/* The caller holds 'lock', for the next two. */
bool tbed_recorders_are_busy(struct tbed_writer *writer);
/* Seals the blocks of all recorders; they begin new ones, numbered from 0. */
void tbed_recorders_hand_over(struct tbed_writer *writer);
/* What closing needs of the kernel, once a process; cheap before there are threads. False: it has no such thing. */
bool tbed_barrier_register(void);
void tbed_recorders_stop(struct tbed_writer *writer);
void tbed_recorders_free(struct tbed_writer *writer);
void tbed_recorder_drop(struct tbed_recorder *recorder, enum tbed_drop_cause cause);

/* ---- span_write.c ---- */
/* Of a recorder that begins, or has closed: no span is open. */
void tbed_stack_reset(struct tbed_recorder_kept *kept);
uint32_t tbed_stack_depth(const struct tbed_recorder_kept *kept);
/* Writes the innermost 'stored' open spans; the block then knows them all from 'floor' up, whatever was dropped before. */
uint8_t *tbed_stack_store(struct tbed_recorder_kept *kept, uint8_t *at, uint32_t stored);
/*
 * From inside an entered recorder: words, and the stack of open spans. tbed_span_end_at() is for a span that the block
 * knows.
 */
void tbed_span_begin_at(struct tbed_recorder *recorder, uint32_t id, uint64_t tick);
bool tbed_span_is_known(struct tbed_recorder *recorder);
void tbed_span_end_at(struct tbed_recorder *recorder, uint64_t tick);
void tbed_instant_at(struct tbed_recorder *recorder, uint32_t id, uint64_t tick);
void tbed_span_push(struct tbed_recorder *recorder, uint32_t id, uint64_t tick);
void tbed_span_push_dropped(struct tbed_recorder *recorder, uint32_t id, uint64_t tick);
/* The innermost open span, INVALID where there is none; its end must be dropped if its begin was. */
struct tbed_open_span tbed_span_top(struct tbed_recorder *recorder);
/* Takes it off; the end of one that was dropped is counted. */
void tbed_span_pop(struct tbed_recorder *recorder);

/* ---- event_write.c ---- */
/* An end that carries its begin tick; the recorder has been entered. */
void tbed_span_end_entered(struct tbed_recorder *recorder, const struct tbed_argument *arguments,
                           size_t argument_count);

/* ---- helper.c ---- */
/* Starts it where it is wanted and is not running. */
void tbed_helper_start(struct tbed_writer *writer);
/* Seals what waits for that: by the helper, or when there is none any more. */
void tbed_helper_seal_all(struct tbed_writer *writer);
/* 'is_low': the helper's lead is. */
void tbed_helper_page_taken(struct tbed_writer *writer, uint64_t page, bool is_low);
/* It runs, and has anything to do; until then the recorders do it themselves. */
bool tbed_helper_is_busy(const struct tbed_writer *writer);
/* Takes over the sealing of a whole page. False: the caller seals. */
bool tbed_helper_seal(struct tbed_writer *writer, uint8_t *block, uint32_t used_nbytes);
void tbed_helper_stop(struct tbed_writer *writer);

/* ---- writer.c ---- */
/* The writer of this process, also in a forked child. False: closed, or it could not be made. */
bool tbed_writer_is_usable(struct tbed_writer *writer);
/* Takes 'lock' in a process that is its own; false: closed, or the lock is held by the calling thread. */
bool tbed_writer_lock(struct tbed_writer *writer);
/* The same; false: what was to be stored has been counted. */
bool tbed_writer_lock_or_drop(struct tbed_writer *writer);
void tbed_writer_unlock(struct tbed_writer *writer);
void tbed_drop(struct tbed_writer *writer, enum tbed_drop_cause cause, uint64_t count);

#endif
