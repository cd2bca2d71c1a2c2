/*
 * Tests whether the frames of this Ruby are where ruby_layout.h says, on known code and against the public functions.
 * The result holds for the process.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <dlfcn.h>

#include "ruby_tracebed.h"

struct ruby_sequence_functions ruby_sequence;
int (*ruby_is_marked)(VALUE object);
size_t (*ruby_memsize)(VALUE object);

/* Blocks, C functions that call back, eval, an exception, several lines of one statement. */
static const char known_code[] = "proc {\n"
                                 "  list = [1, 2].map { |each|\n"
                                 "    [each,\n"
                                 "     each.to_s * 2] }\n"
                                 "  begin\n"
                                 "    raise ArgumentError, 'x' + list.to_s\n"
                                 "  rescue ArgumentError => error\n"
                                 "    eval \"\\n[error.message]\\n\", nil, 'inner', 7\n"
                                 "  end\n"
                                 "  Class.new { def a(b = {}) = [b, Object.new] }.new.a\n"
                                 "}.call\n";
#define COMPARED_MIN 10

static unsigned int compared, equal;

static uint32_t exact_line(const void *frame, const void *sequence)
{
    const void *body = ruby_pointer(sequence, RUBY_LAYOUT_SEQUENCE_BODY);
    const char *code = ruby_pointer(body, RUBY_LAYOUT_BODY_CODE);
    size_t index = (size_t)((const char *)ruby_pointer(frame, RUBY_LAYOUT_FRAME_PC) - code) / 8;
    if (index > (uint32_t)ruby_word(body, RUBY_LAYOUT_BODY_PC_COUNT))
        return 0;
    uint32_t line = ruby_sequence.line(sequence, index - (index > 0));
    return line != 0 ? line : (uint32_t)FIX2INT(ruby_sequence.first_line(sequence));
}

/* Ruby's function tells it of the innermost frame, which may be a C function's. */
static bool has_owner(rb_trace_arg_t *arg, const void *frame)
{
    if (frame != ruby_pointer(arg, RUBY_LAYOUT_ARG_FRAME))
        return true;
    VALUE owner = rb_tracearg_defined_class(arg);
    return ruby_owner_of(frame) == (NIL_P(owner) ? 0 : owner);
}

static void compare(VALUE data, rb_trace_arg_t *arg)
{
    (void)data;
    VALUE path = rb_tracearg_path(arg);
    uint32_t line = (uint32_t)FIX2INT(rb_tracearg_lineno(arg));
    const void *frame = ruby_frame(arg);
    bool is_object = ruby_word(arg, RUBY_LAYOUT_ARG_OBJECT) == rb_tracearg_object(arg);
    compared++;
    if (frame == NULL) {
        equal += NIL_P(path) && is_object;
        return;
    }
    const void *sequence = ruby_pointer(frame, RUBY_LAYOUT_FRAME_SEQUENCE);
    equal += ruby_sequence.path(sequence) == path && exact_line(frame, sequence) == line && is_object &&
             has_owner(arg, frame);
}

static bool has_functions(void)
{
    *(void **)&ruby_sequence.line = dlsym(RTLD_DEFAULT, "rb_iseq_line_no");
    *(void **)&ruby_sequence.path = dlsym(RTLD_DEFAULT, "rb_iseq_path");
    *(void **)&ruby_sequence.label = dlsym(RTLD_DEFAULT, "rb_iseq_label");
    *(void **)&ruby_sequence.base_label = dlsym(RTLD_DEFAULT, "rb_iseq_base_label");
    *(void **)&ruby_sequence.real_path = dlsym(RTLD_DEFAULT, "rb_iseq_realpath");
    *(void **)&ruby_sequence.first_line = dlsym(RTLD_DEFAULT, "rb_iseq_first_lineno");
    *(void **)&ruby_memsize = dlsym(RTLD_DEFAULT, "rb_obj_memsize_of");
    *(void **)&ruby_is_marked = dlsym(RTLD_DEFAULT, "rb_objspace_marked_object_p");
    return ruby_sequence.line != NULL && ruby_sequence.path != NULL && ruby_sequence.label != NULL &&
           ruby_sequence.base_label != NULL && ruby_sequence.first_line != NULL &&
           ruby_sequence.real_path != NULL && ruby_is_marked != NULL;
}

/* The version that is running, which may not be the one that we were compiled for. */
static bool is_version_of_layout(void)
{
    return RUBY_LAYOUT_IS_KNOWN && ruby_api_version[0] == RUBY_API_VERSION_MAJOR &&
           ruby_api_version[1] == RUBY_API_VERSION_MINOR;
}

bool ruby_frames_test(void)
{
    int state = 0;
    if (!has_functions() || !is_version_of_layout())
        return false;
    rb_event_hook_func_t hook = (rb_event_hook_func_t)(void (*)(void))compare;
    rb_add_event_hook2(hook, RUBY_INTERNAL_EVENT_NEWOBJ, Qnil,
                       RUBY_EVENT_HOOK_FLAG_SAFE | RUBY_EVENT_HOOK_FLAG_RAW_ARG);
    rb_eval_string_protect(known_code, &state);
    rb_remove_event_hook(hook);
    if (state != 0)
        rb_set_errinfo(Qnil);
    return state == 0 && compared >= COMPARED_MIN && equal == compared;
}
