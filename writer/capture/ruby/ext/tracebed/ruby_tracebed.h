/*
 * What the files of the Ruby extension share.
 *
 * All of it runs under Ruby's global lock, in hooks that Ruby calls, mostly in the middle of an allocation or a
 * garbage collection: nothing here allocates Ruby objects then. Only the Ractor that started the recording is
 * recorded, because Ruby keeps hooks by Ractor.
 *
 * Not here: the trace itself (tracebed/writer.h); arguments and the block form (lib/tracebed.rb).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RUBY_H
#define TRACEBED_RUBY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <ruby/debug.h>
#include <ruby/ruby.h>
#include <ruby/version.h>

#ifdef TRACEBED_AMALGAMATED
#include <tracebed.h>
#else
#include <tracebed/writer.h>
#endif

#include "ruby_layout.h"

/* ---- ruby_table.c: a hash table whose entries go with the objects that they are about ---- */

struct ruby_entry {
    uint64_t key, more; /* key 0: free */
    VALUE keeper;       /* the entry is dropped when this object is; 0: it stays */
    uint64_t value;
};

struct ruby_table {
    struct ruby_entry *entries;
    size_t capacity, count; /* the capacity is a power of two, or 0 */
};

static inline size_t ruby_table_slot(const struct ruby_table *table, uint64_t key, uint64_t more)
{
    return (size_t)(((key ^ more * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u) >> 20) & (table->capacity - 1);
}

/* NULL: not found. */
static inline struct ruby_entry *ruby_table_find(const struct ruby_table *table, uint64_t key, uint64_t more)
{
    if (table->capacity == 0)
        return NULL;
    for (size_t at = ruby_table_slot(table, key, more);; at = (at + 1) & (table->capacity - 1)) {
        struct ruby_entry *entry = &table->entries[at];
        if (entry->key == key && entry->more == more)
            return entry;
        if (entry->key == 0)
            return NULL;
    }
}

/* Adds an entry that is not there yet. False: no memory, and it is not kept. */
bool ruby_table_add(struct ruby_table *table, struct ruby_entry entry);
void ruby_table_drop(struct ruby_table *table, struct ruby_entry *entry);
/* Drops the entries whose keepers were not marked. */
void ruby_table_drop_dead(struct ruby_table *table);
/* The garbage collector has moved objects: keepers, and the keys that are their keepers. */
void ruby_table_follow(struct ruby_table *table);
void ruby_table_mark(const struct ruby_table *table);
void ruby_table_clear(struct ruby_table *table);

/* ---- ruby_extension.c: the recording ---- */

struct ruby_session {
    struct tbed_writer *writer; /* NULL: nothing is recorded */
    uint64_t number;            /* +1 with each start */
    uint64_t slot_nbytes;       /* of an object */
    unsigned int stack_depth;   /* 0: locations instead of stacks */
    unsigned int call_depth;    /* of recorded calls; 0: any */
    uint64_t call_ticks;        /* shorter calls are left out; 0: none is */
    VALUE call_patterns;        /* an array of frozen strings; Qnil: all calls */
    bool light, full, calls, objects, check;
    bool exact;    /* locations by program counter, else by Ruby's public functions */
    bool by_marks; /* frees are known from the collector's mark bits, otherwise from its hook */
};
extern struct ruby_session ruby_session;

/* rb_objspace_marked_object_p(), which no header declares; NULL: this Ruby does not export it. */
extern int (*ruby_is_marked)(VALUE object);

/* ---- ruby_frames.c: where a hook was called from ---- */

/* Tests, once, whether ruby_layout.h is right about this Ruby. */
bool ruby_frames_test(void);

/* The functions that exact locations need; no header declares them. */
struct ruby_sequence_functions {
    unsigned int (*line)(const void *sequence, size_t pc);
    VALUE (*path)(const void *sequence);
    VALUE (*label)(const void *sequence);
    VALUE (*base_label)(const void *sequence);
    VALUE (*first_line)(const void *sequence);
    VALUE (*real_path)(const void *sequence);
};
extern struct ruby_sequence_functions ruby_sequence;

/* ---- ruby_units.c: what location ids mean ---- */

struct ruby_unit { /* the instruction sequence of the last location */
    const void *body;
    const char *code;
    bool is_wanted;              /* its calls are recorded */
    uint32_t first_id, pc_count; /* one more id, after the others, stands for the sequence as a whole */
};
extern struct ruby_unit ruby_unit;

/* Sets 'ruby_unit' to that of a sequence, which runs in 'frame'. */
void ruby_unit_find(const void *sequence, const void *frame);
/* A location by Ruby's public functions. */
uint32_t ruby_location_public(rb_trace_arg_t *arg);
/* The id of the method that a call event enters. */
struct ruby_callee {
    uint32_t id;
    bool is_wanted;
};
struct ruby_callee ruby_method_of_c(rb_trace_arg_t *arg);
struct ruby_callee ruby_method_public(rb_trace_arg_t *arg);

/* Resolves a location within this process; false: unknown. 'path' is valid until the end of the recording. */
bool ruby_location_resolve(uint32_t location, const char **path_ret, uint32_t *line_ret);

void ruby_units_drop_dead(void);
void ruby_units_follow(void);
void ruby_units_mark(void);
void ruby_units_clear(void);

static inline uint64_t ruby_word(const void *from, size_t offset)
{
    uint64_t word;
    __builtin_memcpy(&word, (const char *)from + offset, sizeof word);
    return word;
}

static inline const void *ruby_pointer(const void *from, size_t offset)
{
    return (const void *)(uintptr_t)ruby_word(from, offset);
}

static inline const char *ruby_frames_end(const rb_trace_arg_t *arg)
{
    const void *context = ruby_pointer(arg, RUBY_LAYOUT_ARG_CONTEXT);
    return (const char *)ruby_pointer(context, RUBY_LAYOUT_STACK) +
           8 * ruby_word(context, RUBY_LAYOUT_STACK_NWORDS);
}

/* The innermost frame of Ruby code; NULL: there is none, or its code is unknown. */
static inline const void *ruby_frame(const rb_trace_arg_t *arg)
{
    const char *frame = ruby_pointer(arg, RUBY_LAYOUT_ARG_FRAME), *end = ruby_frames_end(arg);
    for (; frame < end; frame += RUBY_LAYOUT_FRAME_NBYTES)
        if ((ruby_word(ruby_pointer(frame, RUBY_LAYOUT_FRAME_EP), 0) & RUBY_LAYOUT_IS_C) == 0)
            return ruby_pointer(frame, RUBY_LAYOUT_FRAME_SEQUENCE) != NULL ? frame : NULL;
    return NULL;
}

static inline void ruby_unit_of(const void *frame)
{
    const void *sequence = ruby_pointer(frame, RUBY_LAYOUT_FRAME_SEQUENCE);
    if (TBED_UNLIKELY(ruby_pointer(sequence, RUBY_LAYOUT_SEQUENCE_BODY) != ruby_unit.body))
        ruby_unit_find(sequence, frame);
}

/* The frame's pc is that of the next instruction; one less is in this one. */
static inline uint32_t ruby_location_of(const void *frame)
{
    ruby_unit_of(frame);
    const char *pc = ruby_pointer(frame, RUBY_LAYOUT_FRAME_PC);
    uint64_t index = (uint64_t)(pc - ruby_unit.code) / 8;
    if (TBED_UNLIKELY(ruby_unit.first_id == TBED_ID_INVALID))
        return TBED_ID_INVALID;
    if (TBED_UNLIKELY(index > ruby_unit.pc_count)) /* none yet */
        return ruby_unit.first_id + ruby_unit.pc_count;
    return ruby_unit.first_id + (uint32_t)(index - (index > 0));
}

static inline uint32_t ruby_location_exact(const rb_trace_arg_t *arg)
{
    const char *frame = ruby_frame(arg);
    return frame != NULL ? ruby_location_of(frame) : TBED_ID_INVALID;
}

/* ---- ruby_stacks.c ---- */

#define RUBY_STACK_DEPTH_MAX 1024

/* The id of a call stack, for recordings that have stacks. INVALID: no Ruby code runs. */
uint32_t ruby_stack(const rb_trace_arg_t *arg);
/* Code may be freed or moved. */
void ruby_stacks_forget(void);
void ruby_stacks_clear(void);

static inline uint32_t ruby_location(rb_trace_arg_t *arg)
{
    if (ruby_session.stack_depth != 0)
        return ruby_stack(arg);
    return ruby_session.exact ? ruby_location_exact(arg) : ruby_location_public(arg);
}

/* ---- ruby_classes.c: the classes of new objects ---- */

/* A class, or the number of a type, which no class has as address; see ruby_class_of(). */
struct ruby_pair {
    VALUE class; /* 0: none */
    uint32_t location, id;
};
#define RUBY_PAIRS_BITS 13
extern struct ruby_pair ruby_pairs[1 << RUBY_PAIRS_BITS]; /* those that were looked for last, by hash */
uint32_t ruby_pair_make(struct ruby_pair *pair, VALUE class, uint32_t location);

static inline VALUE ruby_class_of(VALUE object)
{
    VALUE type = RBASIC(object)->flags & RUBY_T_MASK, class = RBASIC(object)->klass;
    const uint32_t classless = 1u << RUBY_T_IMEMO | 1u << RUBY_T_ICLASS | 1u << RUBY_T_NODE;
    if (TBED_UNLIKELY(class == 0))
        return type == RUBY_T_CLASS ? rb_cClass : type; /* a singleton class */
    return (classless >> type & 1) == 0 ? class : type;
}

/* What an allocation refers to: the location or stack together with the object's class. */
static inline uint32_t ruby_typed_find(uint32_t location, VALUE object)
{
    VALUE class = ruby_class_of(object);
    uint64_t hash = (class ^ (uint64_t)location << 24) * 0x9E3779B97F4A7C15u;
    struct ruby_pair *pair = &ruby_pairs[hash >> (64 - RUBY_PAIRS_BITS)];
    if (TBED_UNLIKELY(pair->class != class || pair->location != location))
        return ruby_pair_make(pair, class, location);
    return pair->id;
}
/* Gives classes that had no name the one that they have now. */
void ruby_classes_name(void);
void ruby_classes_drop_dead(void);
void ruby_classes_follow(void);
void ruby_classes_mark(void);
void ruby_classes_clear(void);

/* ---- ruby_names.c: methods and their classes ---- */

/* The class or module whose method a frame belongs to; 0: it is in no method. */
VALUE ruby_owner_of(const void *frame);
/* The name of a sequence, with its method's class if 'frame', which runs it, is not NULL. The caller frees it. */
char *ruby_label(const void *sequence, const void *frame);
/* The id of its name as a string. */
struct ruby_callee ruby_method_name(VALUE owner, VALUE method);
/* Whether calls of a method are to be recorded. 'path' is NULL for methods in C. */
bool ruby_is_wanted(const char *name, const char *path);

/*
 * Notes for 'tracebed record', which prints what they say: lines in a file that it keeps open. 'path': NULL: nobody asks.
 * The file is opened for each note, because the program may close descriptors that it does not know.
 */
void ruby_notes_begin(const char *path);
extern bool ruby_seeks_matches; /* some pattern has matched nothing yet, and somebody asks */
void ruby_notes_end(void);
void ruby_note(const char *kind, uint64_t number);

/* ---- ruby_collector.c: the garbage collector's work ---- */

void ruby_collector_begin(void);
/* The collection that is under way looks at old objects too. */
bool ruby_collector_is_major(void);
/* Takes one of Ruby's events about it. */
void ruby_collector_take(rb_event_flag_t event);

/* ---- ruby_tracks.c: a recorder for each thread, or fiber ---- */

struct ruby_track {
    struct tbed_recorder *recorder;
    VALUE owner;  /* a fiber, or a thread whose fiber is not known yet; 0: the track is free */
    VALUE thread; /* whose own track it is; 0: it is a fiber's, or the thread has ended */
    struct ruby_call {
        uintptr_t key; /* of its frame */
        bool is_recorded;
        bool is_pending; /* its begin is stored when it has lasted long enough */
        uint32_t id;
        uint64_t tick;
    } * calls; /* the open ones, outermost first; their keys decrease */
    size_t depth, capacity, recorded_depth;
    size_t pending_first; /* no call before this one is pending */
    pid_t pid;
    bool is_fiber, is_dead; /* dead: never used again */
};

struct ruby_thread {
    uint64_t session; /* the owner of 'track' */
    struct ruby_track *track;
};
extern __thread struct ruby_thread ruby_thread __attribute__((tls_model("initial-exec")));
/*
 * We are calling Ruby ourselves: this thread's allocations and calls are not recorded. Another thread may run before the
 * call returns.
 */
extern __thread bool ruby_apart __attribute__((tls_model("initial-exec")));

struct ruby_track *ruby_track_find(void);

static inline struct ruby_track *ruby_track(void)
{
    bool is_known = ruby_thread.session == ruby_session.number && ruby_thread.track->owner != 0;
    return TBED_UNLIKELY(!is_known) ? ruby_track_find() : ruby_thread.track;
}

/* False: calls in this depth are not recorded. */
static inline bool ruby_track_has_room(const struct ruby_track *track)
{
    return ruby_session.call_depth == 0 || track->recorded_depth < ruby_session.call_depth;
}
void ruby_track_begin(struct ruby_track *track, struct ruby_callee callee, uintptr_t key);
void ruby_track_end(struct ruby_track *track);
/* Once for each process. */
void ruby_process_watch(void);
/* The name that this process has in the trace, and its children until they have another. */
void ruby_process_name_set(const char *name, size_t nbytes);
/* Installs the hooks of threads and fibers. */
void ruby_tracks_hook(void);
void ruby_tracks_unhook(void);
void ruby_tracks_drop_dead(void);
void ruby_tracks_follow(void);
void ruby_tracks_mark(void);
/* Ends all spans, and closes all recorders. */
void ruby_tracks_close(void);

/* ---- How many bytes objects have, with what they own outside of their slots ---- */

/* rb_obj_memsize_of(), which no header declares; NULL: this Ruby does not export it. */
extern size_t (*ruby_memsize)(VALUE object);

/* By type of object: which flags say whether its slot is all that it has, and how they are then. */
struct ruby_plain_flags {
    uint32_t mask, plain;
};
extern const struct ruby_plain_flags ruby_plain_flags[RUBY_T_MASK + 1];

/* False: the object's slot is all that it has. */
static inline bool ruby_owns_memory(VALUE object)
{
    VALUE flags = RBASIC(object)->flags;
    const struct ruby_plain_flags *known = &ruby_plain_flags[flags & RUBY_T_MASK];
    return ((uint32_t)flags & known->mask) != known->plain;
}

/* Of an object that may have been allocated a moment ago. Extensions need not expect that of theirs. */
static inline bool ruby_is_complete(VALUE object)
{
    return (RBASIC(object)->flags & RUBY_T_MASK) != RUBY_T_DATA;
}

/* The object's slot included. */
static inline uint64_t ruby_size(VALUE object)
{
    return ruby_owns_memory(object) && ruby_memsize != NULL ? ruby_memsize(object) : ruby_session.slot_nbytes;
}

/* From Ruby 3.2 on, slots have several sizes, and only Ruby's function knows them. */
#define RUBY_HAS_SLOT_SIZES (RUBY_API_VERSION_CODE >= 30200)

/* Of an object whose allocation is under way: its slot. Objects of other types are not complete enough to be asked about. */
static inline uint64_t ruby_new_size(VALUE object)
{
    VALUE type = RBASIC(object)->flags & RUBY_T_MASK;
    bool is_plain = type == RUBY_T_STRING || type == RUBY_T_ARRAY || type == RUBY_T_OBJECT;
    if (RUBY_HAS_SLOT_SIZES && is_plain && ruby_memsize != NULL && !ruby_owns_memory(object))
        return ruby_memsize(object);
    return ruby_session.slot_nbytes;
}

/* ---- ruby_heap.c: what is freed, by Ruby's mark bits, and what grows ---- */

struct ruby_page { /* a page of Ruby's heap */
    uintptr_t address;
    /* Slots with objects whose allocation was recorded: those that a collection has seen, and new ones. */
    uint64_t ours[RUBY_LAYOUT_MARKS_NWORDS], fresh[RUBY_LAYOUT_MARKS_NWORDS];
    uint64_t sized[RUBY_LAYOUT_MARKS_NWORDS];      /* those of them whose recorded size is not a slot's */
    uint32_t sizes[64 * RUBY_LAYOUT_MARKS_NWORDS]; /* what it is then */
};
extern struct ruby_page *ruby_page; /* the page of the last allocation */

struct ruby_newest { /* the object that was allocated last; its size is known when the next one is */
    VALUE object;    /* 0: none */
    size_t gc_count;
    const uint64_t *behind; /* where its recorder's cursor was after its allocation */
};
extern struct ruby_newest ruby_newest;

/* Tests whether the marks of this Ruby are where ruby_layout.h says. May collect garbage. */
bool ruby_heap_test(void);
void ruby_heap_begin(void);
/* Sets 'ruby_page' to that page. False: no memory. */
bool ruby_page_find(uintptr_t address);
/*
 * Called when marking is complete: records the sizes of what has died, was allocated since the last collection or, in a
 * major collection, is alive; and what has died.
 */
void ruby_heap_record_dead(struct tbed_recorder *recorder);
/* Records the sizes of all that is alive. */
void ruby_heap_record_sizes(struct tbed_recorder *recorder);
void ruby_newest_measure(struct tbed_recorder *recorder);
void ruby_heap_follow(struct tbed_recorder *recorder);
void ruby_heap_clear(void);

/* Records the size of the newest object, before the allocation of another one is recorded. */
static inline void ruby_heap_before(struct tbed_recorder *recorder)
{
    if (ruby_newest.object != 0 && ruby_newest.gc_count == rb_gc_count() &&
        ruby_owns_memory(ruby_newest.object))
        ruby_newest_measure(recorder);
}

/* The allocation of the object has been recorded. */
static inline void ruby_heap_add(const struct tbed_recorder *recorder, VALUE object)
{
    ruby_newest = (struct ruby_newest){object, rb_gc_count(), recorder->cursor};
    uintptr_t address = object & ~(uintptr_t)(RUBY_LAYOUT_HEAP_PAGE_NBYTES - 1);
    if (TBED_UNLIKELY(ruby_page->address != address) && !ruby_page_find(address))
        return;
    uint32_t slot = (uint32_t)(object - address) / RUBY_LAYOUT_SLOT_NBYTES;
    ruby_page->fresh[slot / 64] |= (uint64_t)1 << slot % 64;
}

/* ---- ruby_hooks.c ---- */

void ruby_hooks_add(void);
void ruby_hooks_remove_allocations(void);
void ruby_hooks_remove(void);

/* ---- ruby_objects.c: which object was allocated where, where that is asked for ---- */

void ruby_objects_add(VALUE object, uint32_t location);
void ruby_objects_drop(VALUE object);
/* TBED_ID_INVALID: unknown. */
uint32_t ruby_objects_find(VALUE object);
void ruby_objects_follow(void);
void ruby_objects_clear(void);

/* ---- ruby_check.c: locations compared with what Ruby's public functions say ---- */

void ruby_check_count(rb_trace_arg_t *arg, uint32_t location);
/* Writes the counts and resets them. False: see errno. */
bool ruby_check_write(const char *path);

#endif
