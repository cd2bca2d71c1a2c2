/*
 * A recorder for each thread and each fiber, since the spans of fibers do not nest in one another.
 *
 * A thread's recorder is closed when the thread ends or, if it was killed, of which Ruby notifies no hook, when its
 * object is freed. A fiber's recorder is passed on to the next fiber, so there are as many streams as there were
 * fibers at once.
 *
 * Spans stay balanced however a method is left: each remembers its frame. Frames of one stack have lower addresses the
 * deeper they are, so every span open below the frame of an event has ended without an event of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "ruby_tracebed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMM_NBYTES 16 /* the size of a thread's name in the kernel */

__thread struct ruby_thread ruby_thread __attribute__((tls_model("initial-exec")));
__thread bool ruby_apart __attribute__((tls_model("initial-exec")));

static struct ruby_track **tracks; /* the tracks of this recording; they never move */
static size_t track_count, track_capacity;
/* Shared by threads and fibers for which there is no memory. */
static struct ruby_track lost = {.owner = Qtrue};
static struct ruby_table fibers; /* fiber -> track */
static size_t fiber_count;       /* that have had a recorder of their own */

/* ---- Tracks ---- */

static struct ruby_track *track_new(VALUE owner, bool is_fiber)
{
    struct ruby_track *track = NULL;
    for (size_t i = 0; i < track_count && track == NULL; i++)
        if (tracks[i]->owner == 0 && !tracks[i]->is_dead && tracks[i]->is_fiber == is_fiber)
            track = tracks[i];
    if (track == NULL && track_count == track_capacity) {
        size_t capacity = track_capacity > 0 ? 2 * track_capacity : 16;
        struct ruby_track **more = realloc(tracks, capacity * sizeof *more);
        if (more == NULL)
            return &lost;
        tracks = more;
        track_capacity = capacity;
    }
    if (track == NULL) {
        track = calloc(1, sizeof *track);
        if (track == NULL)
            return &lost;
        tracks[track_count++] = track;
    }
    track->owner = owner;
    track->pid = getpid();
    track->is_fiber = is_fiber;
    return track;
}

/* The thread's name in the kernel, if it is not the process's. */
static const char *thread_name(char comm[COMM_NBYTES])
{
    if (getpid() == gettid() || pthread_getname_np(pthread_self(), comm, COMM_NBYTES) != 0)
        return NULL;
    return comm;
}

static struct ruby_track *thread_track_open(void)
{
    char comm[COMM_NBYTES];
    struct ruby_track *track = track_new(rb_thread_current(), false);
    track->thread = track->owner;
    track->recorder = tbed_recorder_open(ruby_session.writer, thread_name(comm));
    return track;
}

static void spans_end(struct ruby_track *track)
{
    while (track->depth > 0)
        ruby_track_end(track);
}

/* Frees the track. A fiber's recorder is kept for the next fiber. */
static void track_finish(struct ruby_track *track)
{
    spans_end(track);
    track->owner = track->thread = 0;
    if (track->is_fiber)
        return;
    tbed_recorder_close(track->recorder);
    track->recorder = NULL;
}

/* ---- Spans ---- */

static uint64_t left_out_count;

/*
 * Stores the begins that wait among the first 'end' calls, up to the first one after 'tick_max'. Nothing else is recorded
 * in these tracks, so the ticks of a stream do not decrease.
 */
static void pending_store(struct ruby_track *track, size_t end, uint64_t tick_max)
{
    for (; track->pending_first < end; track->pending_first++) {
        struct ruby_call *call = &track->calls[track->pending_first];
        if (!call->is_pending)
            continue;
        if (call->tick > tick_max)
            return;
        tbed_span_begin_since(track->recorder, call->id, call->tick);
        call->is_pending = false;
    }
}

void ruby_track_begin(struct ruby_track *track, struct ruby_callee callee, uintptr_t key)
{
    if (track->depth == track->capacity) {
        size_t capacity = track->capacity > 0 ? 2 * track->capacity : 64;
        struct ruby_call *calls = realloc(track->calls, capacity * sizeof *calls);
        if (calls == NULL)
            return;
        track->calls = calls;
        track->capacity = capacity;
    }
    bool is_pending = callee.is_wanted && ruby_session.call_ticks != 0;
    struct ruby_call call = {
        .key = key, .is_recorded = callee.is_wanted, .is_pending = is_pending, .id = callee.id};
    if (track->pending_first > track->depth)
        track->pending_first = track->depth;
    if (is_pending) {
        call.tick = tbed_recorder_now(track->recorder);
        if (call.tick > ruby_session.call_ticks)
            pending_store(track, track->depth, call.tick - ruby_session.call_ticks);
    }
    track->calls[track->depth++] = call;
    if (!callee.is_wanted)
        return;
    track->recorded_depth++;
    if (!is_pending)
        tbed_span_begin(track->recorder, callee.id);
}

/* True: the call was too short. Otherwise its begin and those of its callers are stored. */
static bool leaves_out(struct ruby_track *track, const struct ruby_call *call)
{
    if (tbed_recorder_now(track->recorder) - call->tick < ruby_session.call_ticks) {
        left_out_count++;
        return true;
    }
    pending_store(track, track->depth + 1, UINT64_MAX);
    return false;
}

void ruby_track_end(struct ruby_track *track)
{
    struct ruby_call *call = &track->calls[--track->depth];
    if (!call->is_recorded)
        return;
    track->recorded_depth--;
    if (!call->is_pending || !leaves_out(track, call))
        tbed_span_end(track->recorder);
}

/* ---- Forked children ---- */

static struct ruby_track *track_at_fork; /* of the thread that has forked; NULL: no fork is new */
static char *process_name;               /* as it was given last; NULL: none */

void ruby_process_name_set(const char *name, size_t nbytes)
{
    char *copy = strndup(name, nbytes);
    if (copy == NULL)
        return;
    free(process_name);
    process_name = copy;
    tbed_process_name_set(ruby_session.writer, copy);
}

/* What waits is stored, so that in the child it is a span that its parent began. */
static void before_fork(void)
{
    for (size_t i = 0; i < track_count && ruby_session.call_ticks != 0; i++)
        if (tracks[i]->owner != 0 && tracks[i]->pid == getpid())
            pending_store(tracks[i], tracks[i]->depth, UINT64_MAX);
}

/*
 * Runs in every forked child, also in one that only calls exec and should not join the trace. So the child's first event
 * is sent to ruby_track_find().
 */
static void in_child(void)
{
    if (ruby_session.writer == NULL || ruby_thread.session != ruby_session.number)
        return;
    left_out_count = 0;
    track_at_fork = ruby_thread.track;
    ruby_thread.session = 0;
}

void ruby_process_watch(void)
{
    pthread_atfork(before_fork, NULL, in_child);
}

static struct ruby_track *track_of_child(void)
{
    ruby_thread = (struct ruby_thread){ruby_session.number, track_at_fork};
    track_at_fork = NULL;
    if (process_name != NULL)
        tbed_process_name_set(ruby_session.writer, process_name);
    return ruby_thread.track;
}

struct ruby_track *ruby_track_find(void)
{
    if (track_at_fork != NULL)
        return track_of_child();
    ruby_thread = (struct ruby_thread){ruby_session.number, thread_track_open()};
    return ruby_thread.track;
}

/* ---- Threads and fibers ---- */

static void fibers_leave(const struct ruby_track *track)
{
    struct ruby_entry *entry = track->owner != 0 ? ruby_table_find(&fibers, track->owner, 0) : NULL;
    if (entry != NULL)
        ruby_table_drop(&fibers, entry);
}

/* The name that the program has given to a thread; the kernel's is cut to 15 bytes, and not there at the beginning. */
static void thread_rename(struct ruby_track *track, VALUE thread)
{
    ruby_apart = true;
    VALUE name = rb_funcall(thread, rb_intern("name"), 0);
    ruby_apart = false;
    if (RB_TYPE_P(name, T_STRING) && thread != rb_thread_main() && track->recorder != NULL)
        tbed_recorder_name_set(track->recorder, StringValueCStr(name));
}

static void thread_forget(void)
{
    if (ruby_thread.session != ruby_session.number)
        return;
    fibers_leave(ruby_thread.track);
    if (ruby_thread.track->owner != 0 && !ruby_thread.track->is_fiber)
        track_finish(ruby_thread.track);
    ruby_thread.session = 0;
}

static struct ruby_track *fiber_track(VALUE fiber)
{
    struct ruby_entry *entry = ruby_table_find(&fibers, fiber, 0);
    if (entry != NULL)
        return (struct ruby_track *)(uintptr_t)entry->value;
    struct ruby_track *track = track_new(fiber, true);
    if (track->recorder == NULL) {
        char name[32];
        snprintf(name, sizeof name, "fiber %zu", ++fiber_count);
        track->recorder = tbed_track_open(ruby_session.writer, name);
    }
    ruby_table_add(&fibers, (struct ruby_entry){fiber, 0, fiber, (uint64_t)(uintptr_t)track});
    return track;
}

/* Handles the switch to another fiber, which may be in the middle of calls. */
static void on_fiber_switch(VALUE data, rb_trace_arg_t *arg)
{
    (void)data;
    (void)arg;
    struct ruby_track *left = ruby_track();
    ruby_apart = true;
    if (left->is_fiber && left->owner != 0 && !RTEST(rb_fiber_alive_p(left->owner))) {
        fibers_leave(left);
        track_finish(left);
    }
    ruby_thread.track = fiber_track(rb_fiber_current());
    ruby_apart = false;
}

/* A thread's own track is that of the fiber in which it begins. */
static void fiber_begin(void)
{
    ruby_apart = true;
    VALUE fiber = rb_fiber_current();
    struct ruby_track *track = ruby_track();
    track->owner = fiber;
    ruby_table_add(&fibers, (struct ruby_entry){fiber, 0, fiber, (uint64_t)(uintptr_t)track});
    ruby_apart = false;
}

/*
 * Ruby reuses native threads, so the state found here may be the previous thread's. What was allocated for this
 * thread's name came before.
 */
static void thread_begin(void)
{
    char comm[COMM_NBYTES];
    if (ruby_track()->owner != rb_thread_current())
        thread_forget();
    tbed_recorder_name_set(ruby_track()->recorder, thread_name(comm));
    fiber_begin();
}

static void on_thread(VALUE data, rb_trace_arg_t *arg)
{
    (void)data;
    if (rb_tracearg_event_flag(arg) == RUBY_EVENT_THREAD_BEGIN) {
        thread_begin();
        return;
    }
    if (ruby_thread.session == ruby_session.number && !ruby_thread.track->is_fiber &&
        ruby_thread.track->owner != 0)
        thread_rename(ruby_thread.track, rb_thread_current());
    thread_forget();
}

static const rb_event_hook_flag_t raw = RUBY_EVENT_HOOK_FLAG_SAFE | RUBY_EVENT_HOOK_FLAG_RAW_ARG;
#define HOOK(function) ((rb_event_hook_func_t)(void (*)(void))(function))

void ruby_tracks_hook(void)
{
    fiber_begin();
    rb_add_event_hook2(HOOK(on_thread), RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END, Qnil, raw);
    rb_add_event_hook2(HOOK(on_fiber_switch), RUBY_EVENT_FIBER_SWITCH, Qnil, raw);
}

void ruby_tracks_unhook(void)
{
    rb_remove_event_hook(HOOK(on_thread));
    rb_remove_event_hook(HOOK(on_fiber_switch));
}

/* ---- The garbage collector ---- */

/* A native thread may still refer to a thread's track; tracks left behind by a fork have nothing to end. */
static void track_drop(struct ruby_track *track)
{
    bool is_left_behind = track->pid != getpid();
    track->is_dead = is_left_behind || !track->is_fiber;
    if (is_left_behind)
        track->owner = track->thread = 0;
    else
        track_finish(track);
}

void ruby_tracks_drop_dead(void)
{
    ruby_table_drop_dead(&fibers);
    for (size_t i = 0; i < track_count; i++)
        if (tracks[i]->owner != 0 && !ruby_is_marked(tracks[i]->owner))
            track_drop(tracks[i]);
}

void ruby_tracks_follow(void)
{
    ruby_table_follow(&fibers);
    for (size_t i = 0; i < track_count; i++) {
        struct ruby_track *track = tracks[i];
        if (track->owner != 0)
            track->owner = rb_gc_location(track->owner);
        if (track->owner != 0 && track->thread != 0)
            track->thread = rb_gc_location(track->thread);
    }
}

void ruby_tracks_mark(void)
{
    for (size_t i = 0; i < track_count; i++) {
        if (tracks[i]->owner != 0)
            rb_gc_mark(tracks[i]->owner);
        if (tracks[i]->owner != 0 && tracks[i]->thread != 0)
            rb_gc_mark(tracks[i]->thread);
    }
}

void ruby_tracks_close(void)
{
    pid_t pid = getpid();
    struct ruby_track *own = ruby_track();
    for (size_t i = 0; i < track_count; i++) {
        struct ruby_track *track = tracks[i];
        if (track->pid == pid || track == own) {
            if (track->owner != 0 && !track->is_dead && track->thread != 0)
                thread_rename(track, track->thread);
            spans_end(track);
            tbed_recorder_close(track->recorder);
        }
        free(track->calls);
        free(track);
    }
    free(tracks);
    tracks = NULL;
    track_count = track_capacity = fiber_count = 0;
    if (left_out_count > 0)
        ruby_note("left_out", left_out_count);
    left_out_count = 0;
    track_at_fork = NULL;
    ruby_table_clear(&fibers);
    ruby_thread.session = 0;
}
