/*
 * Names of methods, with their classes: "String#+", "File.open", "block in Foo#run". They are found without a call that
 * allocates objects, as they are needed in the middle of an allocation.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "ruby_tracebed.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The method of a frame ---- */

/* What Ruby keeps in an environment beside the variables: a method, a scope, or a box with either. NULL: no method. */
static const void *method_of_entry(const void *entry, bool may_be_boxed)
{
    if (entry == NULL)
        return NULL;
    uint64_t type = ruby_word(entry, 0) >> RUBY_LAYOUT_IMEMO_SHIFT & 15;
    if (type == RUBY_LAYOUT_IMEMO_METHOD)
        return entry;
    if (type == RUBY_LAYOUT_IMEMO_BOX && may_be_boxed)
        return method_of_entry(ruby_pointer(entry, RUBY_LAYOUT_BOX_ENTRY), false);
    return NULL;
}

/* Blocks are in the environments of their methods. */
static const void *method_of(const void *frame)
{
    const char *ep = ruby_pointer(frame, RUBY_LAYOUT_FRAME_EP);
    for (int depth = 0; depth < 1000; depth++) {
        bool is_local = (ruby_word(ep, 0) & RUBY_LAYOUT_IS_LOCAL) != 0;
        const void *method = method_of_entry(ruby_pointer(ep - 16, 0), is_local);
        if (method != NULL || is_local)
            return method;
        ep = (const char *)(uintptr_t)(ruby_word(ep - 8, 0) & ~(uint64_t)3);
    }
    return NULL;
}

VALUE ruby_owner_of(const void *frame)
{
    const void *method = method_of(frame);
    return method != NULL ? (VALUE)ruby_word(method, RUBY_LAYOUT_METHOD_OWNER) : 0;
}

/* A method that was defined by a block is named after the place of that block. */
static bool is_defined_by_code(const void *method)
{
    const void *definition = ruby_pointer(method, RUBY_LAYOUT_METHOD_DEFINITION);
    return definition != NULL && (ruby_word(definition, 0) & 15) == 0;
}

/* ---- Classes ---- */

static bool is_class(VALUE value)
{
    return !SPECIAL_CONST_P(value) && (RB_TYPE_P(value, T_CLASS) || RB_TYPE_P(value, T_MODULE));
}

/* Whose methods these are, and '.' or '#' behind it. Qnil: it has no name. */
static VALUE owner_name(VALUE owner, char *separator_ret)
{
    if (!is_class(owner))
        return Qnil;
    *separator_ret = '#';
    if (!FL_TEST(owner, FL_SINGLETON))
        return rb_mod_name(owner);
    VALUE attached = rb_attr_get(owner, rb_intern("__attached__"));
    if (is_class(attached))
        *separator_ret = '.';
    return rb_mod_name(is_class(attached) ? attached : rb_class_real(owner));
}

/* ---- Labels ---- */

static char *text_of(VALUE string)
{
    return RB_TYPE_P(string, T_STRING) ? strndup(RSTRING_PTR(string), (size_t)RSTRING_LEN(string))
                                       : strdup("");
}

/* "block in run" becomes "block in Foo#run". */
static char *qualified(const char *label, const char *base, VALUE owner)
{
    char separator, *text;
    VALUE name = owner_name(owner, &separator);
    size_t label_nbytes = strlen(label), base_nbytes = strlen(base);
    if (!RB_TYPE_P(name, T_STRING) || base_nbytes == 0 || base_nbytes > label_nbytes ||
        strcmp(label + label_nbytes - base_nbytes, base) != 0)
        return strdup(label);
    int nbytes = asprintf(&text, "%.*s%.*s%c%s", (int)(label_nbytes - base_nbytes), label,
                          (int)RSTRING_LEN(name), RSTRING_PTR(name), separator, base);
    RB_GC_GUARD(name);
    return nbytes >= 0 ? text : NULL;
}

char *ruby_label(const void *sequence, const void *frame)
{
    const void *method = frame != NULL ? method_of(frame) : NULL;
    char *label = text_of(ruby_sequence.label(sequence));
    if (label == NULL || method == NULL || !is_defined_by_code(method))
        return label;
    char *base = text_of(ruby_sequence.base_label(sequence));
    char *text =
        base != NULL ? qualified(label, base, (VALUE)ruby_word(method, RUBY_LAYOUT_METHOD_OWNER)) : NULL;
    free(base);
    free(label);
    return text;
}

/* ---- Notes for 'tracebed record' ---- */

/* Names of methods and their files that were compared with the patterns, for those that match none. */
#define NAMES_NBYTES     ((size_t)32 << 10)
#define NAMES_MAX_NBYTES ((size_t)1 << 20) /* of a process */

static char *notes_path;
static char *names; /* NULL: nobody asks for them */
static size_t names_nbytes, names_total;
static uint64_t matched; /* a bit for each of the first patterns */
bool ruby_seeks_matches;

static void append(const char *bytes, size_t nbytes)
{
    int fd = notes_path != NULL ? open(notes_path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    (void)!write(fd, bytes, nbytes);
    close(fd);
}

void ruby_notes_begin(const char *path)
{
    matched = 0;
    names_nbytes = names_total = 0;
    notes_path = path != NULL ? strdup(path) : NULL;
    if (notes_path != NULL && !NIL_P(ruby_session.call_patterns))
        names = malloc(NAMES_NBYTES);
    ruby_seeks_matches = names != NULL;
}

static void names_flush(void)
{
    if (names_nbytes > 0)
        append(names, names_nbytes);
    names_nbytes = 0;
}

void ruby_notes_end(void)
{
    if (ruby_seeks_matches)
        names_flush();
    free(names);
    free(notes_path);
    names = notes_path = NULL;
    ruby_seeks_matches = false;
}

void ruby_note(const char *kind, uint64_t number)
{
    char line[64];
    append(line, (size_t)snprintf(line, sizeof line, "%s\t%" PRIu64 "\n", kind, number));
}

static void note_name(const char *name, const char *path)
{
    size_t nbytes = strlen(name) + (path != NULL ? strlen(path) : 0) + 8;
    if (names == NULL || nbytes > NAMES_NBYTES || names_total + nbytes > NAMES_MAX_NBYTES ||
        strchr(name, '\n') != NULL || strncmp(name, "block ", 6) == 0)
        return;
    if (names_nbytes + nbytes > NAMES_NBYTES)
        names_flush();
    int added = snprintf(names + names_nbytes, NAMES_NBYTES - names_nbytes, "name\t%s\t%s\n", name,
                         path != NULL ? path : "");
    names_nbytes += (size_t)added;
    names_total += (size_t)added;
}

/* At once, since the process may be killed. */
static void note_match(long pattern)
{
    if (pattern >= 64 || (matched >> pattern & 1) != 0)
        return;
    matched |= (uint64_t)1 << pattern;
    ruby_note("matched", (uint64_t)pattern);
    if (__builtin_popcountll(matched) == RARRAY_LEN(ruby_session.call_patterns))
        ruby_seeks_matches = false;
}

/* ---- Which calls are recorded ---- */

/* The whole path, or its last parts: as many as the pattern has. */
static bool path_fits(const char *pattern, const char *path)
{
    while (path != NULL && fnmatch(pattern, path, FNM_NOESCAPE) != 0) {
        const char *slash = strchr(path, '/');
        path = slash != NULL ? slash + 1 : NULL;
    }
    return path != NULL;
}

/* A pattern with "file:" in front, or with a slash, is one of paths. */
static bool pattern_fits(const char *pattern, const char *name, const char *path)
{
    if (strncmp(pattern, "file:", 5) == 0)
        return path_fits(pattern + 5, path);
    return strchr(pattern, '/') != NULL ? path_fits(pattern, path)
                                        : fnmatch(pattern, name, FNM_NOESCAPE) == 0;
}

/* The last pattern that fits decides; if none does, the opposite of the first. "!" in front leaves out. */
bool ruby_is_wanted(const char *name, const char *path)
{
    if (NIL_P(ruby_session.call_patterns))
        return true;
    long count = RARRAY_LEN(ruby_session.call_patterns), last = -1;
    note_name(name, path);
    for (long i = 0; i < count; i++) {
        const char *pattern = RSTRING_PTR(RARRAY_AREF(ruby_session.call_patterns, i));
        if (!pattern_fits(pattern + (pattern[0] == '!'), name, path))
            continue;
        note_match(i);
        last = i;
    }
    bool leaves_out = RSTRING_PTR(RARRAY_AREF(ruby_session.call_patterns, last >= 0 ? last : 0))[0] == '!';
    return last >= 0 ? !leaves_out : leaves_out;
}

/* ---- Methods in C ---- */

struct ruby_callee ruby_method_name(VALUE owner, VALUE method)
{
    char separator = '#', *text;
    VALUE name = owner_name(owner, &separator);
    bool has_name = RB_TYPE_P(name, T_STRING);
    int nbytes = asprintf(&text, "%.*s%c%s", has_name ? (int)RSTRING_LEN(name) : 0,
                          has_name ? RSTRING_PTR(name) : "", separator, rb_id2name(SYM2ID(method)));
    RB_GC_GUARD(name);
    if (nbytes < 0)
        return (struct ruby_callee){TBED_ID_INVALID, true};
    uint32_t id = tbed_string_intern(ruby_session.writer, text, (size_t)nbytes);
    struct ruby_callee callee = {id, ruby_is_wanted(text, NULL)};
    free(text);
    return callee;
}
