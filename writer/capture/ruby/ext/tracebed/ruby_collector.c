/*
 * The garbage collector's work as spans of a track of its own: each pause of the program, and in it what the collector
 * did. A collection has several pauses if it marks in steps or sweeps when memory is needed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ruby_tracebed.h"

#include <string.h>
#include <unistd.h>

/* LAZY: sweeping goes on in a later pause. */
enum work { NOTHING, MARKING, SWEEPING, LAZY };

static struct {
    struct tbed_recorder *recorder; /* NULL: none yet */
    pid_t pid;                      /* a forked child gets a track of its own */
    enum work work;                 /* of the collection that is under way */
    bool is_major, is_paused;
    uint32_t pause_id, work_ids[2][4]; /* [is it major][work] */
} collector;

static VALUE major_by; /* a symbol; it is made before a collection needs it */

bool ruby_collector_is_major(void)
{
    return rb_gc_latest_gc_info(major_by) != Qnil;
}

static uint32_t intern(const char *text)
{
    return tbed_string_intern(ruby_session.writer, text, strlen(text));
}

void ruby_collector_begin(void)
{
    memset(&collector, 0, sizeof collector);
    major_by = ID2SYM(rb_intern("major_by"));
    ruby_collector_is_major(); /* makes Ruby's own symbols */
    VALUE state = rb_gc_latest_gc_info(ID2SYM(rb_intern("state")));
    collector.work = state == ID2SYM(rb_intern("marking"))    ? MARKING
                     : state == ID2SYM(rb_intern("sweeping")) ? LAZY
                                                              : NOTHING;
    collector.is_major = ruby_collector_is_major();
    collector.pause_id = intern("GC pause");
    collector.work_ids[0][MARKING] = intern("minor GC: marking");
    collector.work_ids[0][SWEEPING] = intern("minor GC: sweeping");
    collector.work_ids[0][LAZY] = intern("minor GC: lazy sweeping");
    collector.work_ids[1][MARKING] = intern("major GC: marking");
    collector.work_ids[1][SWEEPING] = intern("major GC: sweeping");
    collector.work_ids[1][LAZY] = intern("major GC: lazy sweeping");
}

static void work_begin(void)
{
    if (collector.is_paused && collector.work != NOTHING)
        tbed_span_begin(collector.recorder, collector.work_ids[collector.is_major][collector.work]);
}

/* Ends what was under way in this pause. */
static void work_end(void)
{
    if (collector.is_paused && collector.work != NOTHING)
        tbed_span_end(collector.recorder);
}

static void work_turn(enum work work)
{
    work_end();
    collector.work = work;
    work_begin();
}

static void pause_begin(void)
{
    if (collector.recorder == NULL || collector.pid != getpid())
        collector.recorder = tbed_track_open(ruby_session.writer, "garbage collector");
    collector.pid = getpid();
    tbed_span_begin(collector.recorder, collector.pause_id);
    collector.is_paused = true;
    work_begin();
}

static void pause_end(void)
{
    if (!collector.is_paused)
        return;
    work_end();
    tbed_span_end(collector.recorder);
    collector.is_paused = false;
    if (collector.work == SWEEPING)
        collector.work = LAZY;
}

void ruby_collector_take(rb_event_flag_t event)
{
    if (event == RUBY_INTERNAL_EVENT_GC_ENTER) {
        pause_begin();
    } else if (event == RUBY_INTERNAL_EVENT_GC_START) {
        work_end();
        collector.work = NOTHING;
        collector.is_major = ruby_collector_is_major();
        work_turn(MARKING);
    } else if (event == RUBY_INTERNAL_EVENT_GC_END_MARK) {
        work_turn(SWEEPING);
    } else if (event == RUBY_INTERNAL_EVENT_GC_END_SWEEP) {
        work_turn(NOTHING);
    } else {
        pause_end();
    }
}
