/*
 * The module Tracebed: starts and stops recording, and finds where an object was allocated.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "ruby_tracebed.h"

#include <errno.h>
#include <string.h>

struct ruby_session ruby_session = {.call_patterns = Qnil};

static bool is_exact; /* the result of ruby_frames_test() */
static VALUE error_class;
static VALUE check_path = Qnil;

/* ---- What the garbage collector calls ---- */

/* If we cannot ask what was marked, everything of ours must stay alive. */
static void mark(void *data)
{
    (void)data;
    rb_gc_mark(check_path);
    rb_gc_mark(ruby_session.call_patterns);
    if (ruby_session.writer == NULL || ruby_is_marked != NULL)
        return;
    ruby_units_mark();
    ruby_classes_mark();
    ruby_tracks_mark();
}

static void follow(void *data)
{
    (void)data;
    if (ruby_session.writer == NULL)
        return;
    ruby_units_follow();
    ruby_classes_follow();
    ruby_tracks_follow();
    ruby_objects_follow();
    if (ruby_session.by_marks)
        ruby_heap_follow(ruby_track()->recorder);
}

static const rb_data_type_t watcher_type = {
    .wrap_struct_name = "Tracebed",
    .function = {.dmark = mark, .dcompact = follow},
};

/* ---- Starting ---- */

static VALUE option(VALUE options, const char *name)
{
    return rb_hash_aref(options, ID2SYM(rb_intern(name)));
}

static bool is_set(VALUE options, const char *name)
{
    return RTEST(option(options, name));
}

static bool is_symbol(VALUE value, const char *name)
{
    return value == ID2SYM(rb_intern(name));
}

/* Ruby 3.1 has slots of one size; later ones, slots of at least this size. */
static uint64_t slot_nbytes(void)
{
    VALUE constants = rb_const_get(rb_mGC, rb_intern("INTERNAL_CONSTANTS"));
    VALUE nbytes = option(constants, "RVALUE_SIZE");
    if (NIL_P(nbytes))
        nbytes = option(constants, "BASE_SLOT_SIZE");
    return NIL_P(nbytes) ? 40 : NUM2ULL(nbytes);
}

static enum tbed_clock clock_of(VALUE options)
{
    VALUE clock = option(options, "clock");
    if (NIL_P(clock))
        return TBED_CLOCK_AUTO;
    return is_symbol(clock, "tsc") ? TBED_CLOCK_X86_TSC : TBED_CLOCK_MONOTONIC;
}

static void open_writer(const char *path, VALUE options)
{
    VALUE ring = option(options, "ring_nbytes");
    VALUE most = option(options, "max_nbytes"), size = option(options, "rotate_nbytes");
    VALUE seconds = option(options, "rotate_seconds"), keep = option(options, "rotate_keep");
    struct tbed_error error = {.status = TBED_OK};
    struct tbed_writer_options writer_options = {
        .size = sizeof writer_options,
        .join = is_set(options, "join"),
        .overwrite = is_set(options, "overwrite"),
        .ring_nbytes = NIL_P(ring) ? 0 : NUM2ULL(ring),
        .max_file_nbytes = NIL_P(most) ? 0 : NUM2ULL(most),
        .release_pages = NIL_P(ring),
        .rotate_nbytes = NIL_P(size) ? 0 : NUM2ULL(size),
        .rotate_interval_ns = NIL_P(seconds) ? 0 : (uint64_t)(NUM2DBL(seconds) * 1e9),
        .rotate_keep = NIL_P(keep) ? 0 : NUM2UINT(keep),
        .clock = clock_of(options),
        .instants_are_allocations = ruby_session.light,
    };
    if (tbed_writer_open(path, &writer_options, &ruby_session.writer, &error) == TBED_OK)
        return;
    ruby_session.writer = NULL;
    if (error.system_errno != 0)
        rb_raise(error_class, "%s: %s: %s", path, tbed_status_text(error.status),
                 strerror(error.system_errno));
    rb_raise(error_class, "%s: %s%s", path, tbed_status_text(error.status),
             error.status == TBED_ERR_EXISTS ? "; overwrite: true replaces a trace, join: true appends to it"
                                             : "");
}

/* Tracebed.open_trace(path, options); lib/tracebed.rb has checked the options. */
static VALUE tracebed_open(VALUE self, VALUE path, VALUE options)
{
    (void)self;
    if (ruby_session.writer != NULL)
        rb_raise(error_class, "a recording is under way: Tracebed.stop ends it");
    VALUE allocations = option(options, "allocations");
    struct ruby_session session = {
        .number = ruby_session.number + 1,
        .slot_nbytes = slot_nbytes(),
        .light = is_symbol(allocations, "light"),
        .full = is_symbol(allocations, "full"),
        .stack_depth = NIL_P(option(options, "stacks")) ? 0 : NUM2UINT(option(options, "stacks")),
        .call_depth = NIL_P(option(options, "call_depth")) ? 0 : NUM2UINT(option(options, "call_depth")),
        .call_patterns = option(options, "call_patterns"),
        .calls = is_set(options, "calls"),
        .objects = is_set(options, "objects"),
        .check = is_set(options, "check"),
        .exact = is_exact && is_set(options, "exact"),
    };
    if (session.stack_depth != 0 && !session.exact)
        rb_raise(error_class,
                 "stacks need a Ruby whose frames are known: this is not 3.1, or exact is false");
    session.by_marks = session.full && session.exact && ruby_heap_test();
    check_path = option(options, "check");
    ruby_session = session;
    open_writer(StringValueCStr(path), options);
    if (!NIL_P(option(options, "call_minimum")))
        ruby_session.call_ticks = tbed_writer_ns_to_ticks(
            ruby_session.writer, (uint64_t)(NUM2DBL(option(options, "call_minimum")) * 1e9));
    VALUE notes = option(options, "notes");
    ruby_notes_begin(NIL_P(notes) ? NULL : StringValueCStr(notes));
    if (session.by_marks)
        ruby_heap_begin();
    ruby_hooks_add();
    return Qnil;
}

/* ---- Stopping ---- */

/* True: a recording was stopped. */
static VALUE tracebed_close(VALUE self)
{
    (void)self;
    if (ruby_session.writer == NULL)
        return Qfalse;
    struct tbed_writer *writer = ruby_session.writer;
    if (ruby_session.by_marks)
        ruby_heap_record_sizes(ruby_track()->recorder);
    ruby_classes_name();
    ruby_hooks_remove();
    ruby_tracks_close();
    ruby_notes_end();
    ruby_session.writer = NULL;
    ruby_units_clear();
    ruby_classes_clear();
    ruby_objects_clear();
    ruby_heap_clear();
    tbed_writer_free(writer);
    if (ruby_session.check && !ruby_check_write(StringValueCStr(check_path)))
        rb_raise(error_class, "%" PRIsVALUE ": %s", check_path, strerror(errno));
    return Qtrue;
}

/* Reports show a message that is a name. */
static void warn(const char *text)
{
    uint32_t id = tbed_string_intern(ruby_session.writer, text, strlen(text));
    tbed_message_record_args(ruby_track()->recorder, TBED_SEVERITY_WARNING, id, NULL, 0);
}

/*
 * A Ractor is about to begin. Ruby 3.0 and 3.1 crash in its first allocation if there is any hook on allocations: they
 * look for the frame of a thread that has none yet. So our hooks are removed, and the trace records that. Ruby keeps hooks
 * of calls by Ractor, and ours are in this one.
 */
static VALUE tracebed_give_way(VALUE self)
{
    (void)self;
    if (ruby_session.writer == NULL)
        return Qfalse;
    if (ruby_session.calls)
        warn("a Ractor begins: its calls are not recorded");
    if (!(ruby_session.light || ruby_session.full || ruby_session.objects))
        return Qfalse;
    ruby_hooks_remove_allocations();
    ruby_session.light = ruby_session.full = ruby_session.objects = ruby_session.by_marks = false;
    ruby_objects_clear();
    ruby_heap_clear();
    warn("a Ractor begins: allocations are recorded no more");
    return Qtrue;
}

/* Tracebed.name_process(name); also called when the program changes its title. */
static VALUE tracebed_name_process(VALUE self, VALUE name)
{
    (void)self;
    if (ruby_session.writer != NULL && RB_TYPE_P(name, T_STRING))
        ruby_process_name_set(RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
    return Qnil;
}

static void at_exit(VALUE data)
{
    (void)data;
    tracebed_close(Qnil);
}

/* ---- Questions ---- */

static VALUE tracebed_is_recording(VALUE self)
{
    (void)self;
    return ruby_session.writer != NULL ? Qtrue : Qfalse;
}

static VALUE tracebed_is_exact(VALUE self)
{
    (void)self;
    return is_exact ? Qtrue : Qfalse;
}

static bool find(VALUE object, const char **path_ret, uint32_t *line_ret)
{
    uint32_t location = ruby_session.writer != NULL ? ruby_objects_find(object) : TBED_ID_INVALID;
    return location != TBED_ID_INVALID && ruby_location_resolve(location, path_ret, line_ret);
}

static VALUE tracebed_sourcefile(VALUE self, VALUE object)
{
    const char *path;
    uint32_t line;
    (void)self;
    return find(object, &path, &line) ? rb_utf8_str_new_cstr(path) : Qnil;
}

static VALUE tracebed_sourceline(VALUE self, VALUE object)
{
    const char *path;
    uint32_t line;
    (void)self;
    return find(object, &path, &line) ? UINT2NUM(line) : Qnil;
}

/* ---- The module ---- */

__attribute__((visibility("default"))) void Init_tracebed(void);

void Init_tracebed(void)
{
    VALUE module = rb_define_module("Tracebed");
    error_class = rb_define_class_under(module, "Error", rb_eStandardError);
    rb_define_const(module, "VERSION", rb_obj_freeze(rb_utf8_str_new_cstr(TBED_VERSION_STRING)));
    rb_define_private_method(rb_singleton_class(module), "open_trace", tracebed_open, 2);
    rb_define_private_method(rb_singleton_class(module), "close_trace", tracebed_close, 0);
    rb_define_private_method(rb_singleton_class(module), "name_process", tracebed_name_process, 1);
    rb_define_singleton_method(module, "give_way", tracebed_give_way, 0);
    rb_define_singleton_method(module, "recording?", tracebed_is_recording, 0);
    rb_define_singleton_method(module, "exact?", tracebed_is_exact, 0);
    rb_define_singleton_method(module, "allocation_sourcefile", tracebed_sourcefile, 1);
    rb_define_singleton_method(module, "allocation_sourceline", tracebed_sourceline, 1);
    rb_gc_register_mark_object(rb_data_typed_object_wrap(rb_cObject, (void *)&ruby_session, &watcher_type));
    rb_set_end_proc(at_exit, Qnil);
    ruby_process_watch();
    is_exact = ruby_frames_test();
}
