/*
 * The hooks that Ruby calls for each allocation, free, call and return.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ruby_tracebed.h"

/* ---- Allocations ---- */

static void on_new_light(VALUE data, rb_trace_arg_t *arg)
{
    (void)data;
    struct ruby_track *track = ruby_track();
    if (TBED_UNLIKELY(ruby_apart))
        return;
    tbed_instant_record(track->recorder, ruby_location(arg));
}

/* Records addresses and frees as well, if the collector's marks are known. */
static void on_new_full(VALUE data, rb_trace_arg_t *arg)
{
    (void)data;
    struct ruby_track *track = ruby_track();
    if (TBED_UNLIKELY(ruby_apart))
        return;
    VALUE object = ruby_word(arg, RUBY_LAYOUT_ARG_OBJECT);
    ruby_heap_before(track->recorder);
    tbed_alloc_record(track->recorder, ruby_typed_find(ruby_location(arg), object), TBED_FUNCTION_UNKNOWN,
                      object, ruby_session.slot_nbytes);
    ruby_heap_add(track->recorder, object);
}

/* Records everything else that was asked for. */
static void on_new(VALUE data, rb_trace_arg_t *arg)
{
    (void)data;
    struct ruby_track *track = ruby_track();
    if (TBED_UNLIKELY(ruby_apart))
        return;
    uint32_t location = ruby_location(arg);
    VALUE object = rb_tracearg_object(arg);
    if (ruby_session.by_marks)
        ruby_heap_before(track->recorder);
    if (ruby_session.full)
        tbed_alloc_record(track->recorder, ruby_typed_find(location, object), TBED_FUNCTION_UNKNOWN, object,
                          ruby_new_size(object));
    if (ruby_session.by_marks)
        ruby_heap_add(track->recorder, object);
    else if (ruby_session.light)
        tbed_instant_record(track->recorder, location);
    if (ruby_session.objects)
        ruby_objects_add(object, location);
    if (ruby_session.check)
        ruby_check_count(arg, location);
}

/* While Ruby sweeps, what other objects refer to may be gone. */
static bool owns_only_plain_memory(VALUE object)
{
    int type = RB_BUILTIN_TYPE(object);
    return (type == RUBY_T_STRING || type == RUBY_T_ARRAY || type == RUBY_T_HASH || type == RUBY_T_OBJECT) &&
           ruby_owns_memory(object);
}

/* Also called for objects from before the recording; readers ignore those. */
static void on_free(VALUE data, rb_trace_arg_t *arg)
{
    (void)data;
    VALUE object = rb_tracearg_object(arg);
    if (ruby_session.full && !ruby_session.by_marks) {
        struct tbed_recorder *recorder = ruby_track()->recorder;
        if (owns_only_plain_memory(object))
            tbed_resize_record(recorder, TBED_ID_INVALID, object, ruby_size(object));
        tbed_free_record(recorder, TBED_ID_INVALID, TBED_FUNCTION_UNKNOWN, object);
    }
    if (ruby_session.objects)
        ruby_objects_drop(object);
}

/* ---- Calls ---- */

static void end_below(struct ruby_track *track, uintptr_t key)
{
    while (track->depth > 0 && track->calls[track->depth - 1].key < key)
        ruby_track_end(track);
}

static uintptr_t frame_key(const rb_trace_arg_t *arg)
{
    return (uintptr_t)ruby_pointer(arg, RUBY_LAYOUT_ARG_FRAME);
}

/* Without known frames, only Ruby's own balance is available: each event is one step. */
static void on_call(VALUE data, rb_trace_arg_t *arg)
{
    (void)data;
    struct ruby_track *track = ruby_track();
    if (ruby_apart)
        return;
    bool is_c = rb_tracearg_event_flag(arg) == RUBY_EVENT_C_CALL;
    uintptr_t key = 0;
    if (ruby_session.exact) {
        key = frame_key(arg) - is_c; /* a C function has no frame yet; it will be below its caller's */
        end_below(track, key + 1);
    }
    struct ruby_callee callee = {.is_wanted = false};
    ruby_apart = true; /* naming a method may allocate */
    bool has_room = ruby_track_has_room(track);
    if (has_room || ruby_seeks_matches)
        callee = is_c ? ruby_method_of_c(arg) : ruby_method_public(arg);
    callee.is_wanted &= has_room;
    ruby_apart = false;
    ruby_track_begin(track, callee, key);
}

/*
 * A C function that returns has no frame any more, so the event has its caller's. One that an exception leaves still
 * has its own, just below its caller's.
 */
static uintptr_t returned_key(const struct ruby_track *track, const rb_trace_arg_t *arg, bool is_c)
{
    uintptr_t frame = frame_key(arg);
    if (!is_c)
        return frame;
    uintptr_t thrown = frame + RUBY_LAYOUT_FRAME_NBYTES - 1;
    return track->depth > 0 && track->calls[track->depth - 1].key == thrown ? thrown : frame - 1;
}

static void on_return(VALUE data, rb_trace_arg_t *arg)
{
    (void)data;
    struct ruby_track *track = ruby_track();
    if (ruby_apart)
        return;
    if (ruby_session.exact) {
        bool is_c = rb_tracearg_event_flag(arg) == RUBY_EVENT_C_RETURN;
        uintptr_t key = returned_key(track, arg, is_c);
        end_below(track, key);
        if (track->depth == 0 || track->calls[track->depth - 1].key != key)
            return; /* the call began before the recording */
    }
    if (track->depth > 0)
        ruby_track_end(track);
}

/* ---- The garbage collector ---- */

static void marking_end(void)
{
    if (ruby_session.by_marks)
        ruby_heap_record_dead(ruby_track()->recorder);
    ruby_classes_drop_dead();
    ruby_units_drop_dead();
    ruby_tracks_drop_dead();
}

static void on_collector(VALUE data, rb_trace_arg_t *arg)
{
    (void)data;
    rb_event_flag_t event = rb_tracearg_event_flag(arg);
    ruby_collector_take(event);
    if (event == RUBY_INTERNAL_EVENT_GC_END_MARK && ruby_is_marked != NULL)
        marking_end();
}

/* ---- Hooks ---- */

#define HOOK(function) ((rb_event_hook_func_t)(void (*)(void))(function))

static void add(rb_event_hook_func_t hook, rb_event_flag_t events)
{
    rb_add_event_hook2(hook, events, Qnil, RUBY_EVENT_HOOK_FLAG_SAFE | RUBY_EVENT_HOOK_FLAG_RAW_ARG);
}

void ruby_hooks_add(void)
{
    bool is_plain = !ruby_session.objects && !ruby_session.check;
    ruby_collector_begin();
    add(HOOK(on_collector), RUBY_INTERNAL_EVENT_GC_ENTER | RUBY_INTERNAL_EVENT_GC_START |
                                RUBY_INTERNAL_EVENT_GC_END_MARK | RUBY_INTERNAL_EVENT_GC_END_SWEEP |
                                RUBY_INTERNAL_EVENT_GC_EXIT);
    ruby_tracks_hook();
    if (is_plain && ruby_session.light)
        add(HOOK(on_new_light), RUBY_INTERNAL_EVENT_NEWOBJ);
    else if (is_plain && ruby_session.by_marks)
        add(HOOK(on_new_full), RUBY_INTERNAL_EVENT_NEWOBJ);
    else if (ruby_session.light || ruby_session.full || ruby_session.objects)
        add(HOOK(on_new), RUBY_INTERNAL_EVENT_NEWOBJ);
    if ((ruby_session.full && !ruby_session.by_marks) || ruby_session.objects)
        add(HOOK(on_free), RUBY_INTERNAL_EVENT_FREEOBJ);
    if (ruby_session.calls) {
        add(HOOK(on_call), RUBY_EVENT_CALL | RUBY_EVENT_C_CALL);
        add(HOOK(on_return), RUBY_EVENT_RETURN | RUBY_EVENT_C_RETURN);
    }
}

void ruby_hooks_remove_allocations(void)
{
    rb_remove_event_hook(HOOK(on_free));
    rb_remove_event_hook(HOOK(on_new));
    rb_remove_event_hook(HOOK(on_new_full));
    rb_remove_event_hook(HOOK(on_new_light));
}

void ruby_hooks_remove(void)
{
    rb_remove_event_hook(HOOK(on_return));
    rb_remove_event_hook(HOOK(on_call));
    ruby_hooks_remove_allocations();
    ruby_tracks_unhook();
    rb_remove_event_hook(HOOK(on_collector));
}
