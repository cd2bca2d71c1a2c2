/*
 * The classes of new objects: an allocation refers to its location, or stack, together with the class. What has no class
 * is named after its type, as in ObjectSpace.count_objects: "(internal T_IMEMO)".
 *
 * A class without a name gets a number of its own, which is bound to a name when the class has one: at the next
 * collection or at the end.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "ruby_tracebed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS_NAMELESS ((uint64_t)1 << 32)

static struct ruby_table classes; /* class -> id of its name, perhaps with the flag */
static size_t nameless_count;

struct ruby_pair ruby_pairs[1 << RUBY_PAIRS_BITS];

/* ---- Names ---- */

static uint32_t intern(VALUE name)
{
    return tbed_string_intern(ruby_session.writer, RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
}

static uint32_t nameless_id(VALUE class)
{
    VALUE super = rb_class_real(rb_class_get_superclass(class));
    VALUE name = RTEST(super) ? rb_mod_name(super) : Qnil;
    bool has_name = RB_TYPE_P(name, T_STRING);
    char *text;
    int nbytes = asprintf(&text, "(nameless subclass of %.*s)", has_name ? (int)RSTRING_LEN(name) : 1,
                          has_name ? RSTRING_PTR(name) : "?");
    if (nbytes < 0)
        return TBED_ID_INVALID;
    uint32_t string = tbed_string_intern(ruby_session.writer, text, (size_t)nbytes);
    uint32_t id = tbed_id_reserve(ruby_session.writer, 1);
    if (id != TBED_ID_INVALID)
        tbed_id_bind(ruby_session.writer, id, 1, string);
    free(text);
    return id;
}

/* 'class' may be a singleton class. */
static uint32_t class_id(VALUE class)
{
    struct ruby_entry *entry = ruby_table_find(&classes, class, 0);
    if (entry != NULL)
        return (uint32_t)entry->value;
    VALUE real = rb_class_real(class), name = rb_mod_name(real);
    bool has_name = RB_TYPE_P(name, T_STRING);
    uint32_t id = has_name ? intern(name) : nameless_id(real);
    nameless_count += !has_name;
    ruby_table_add(&classes, (struct ruby_entry){class, 0, class, id | (has_name ? 0 : IS_NAMELESS)});
    return id;
}

static uint32_t type_id(unsigned type)
{
    static const char *const names[32] = {
        [T_OBJECT] = "T_OBJECT",     [T_CLASS] = "T_CLASS",   [T_MODULE] = "T_MODULE",
        [T_FLOAT] = "T_FLOAT",       [T_STRING] = "T_STRING", [T_REGEXP] = "T_REGEXP",
        [T_ARRAY] = "T_ARRAY",       [T_HASH] = "T_HASH",     [T_STRUCT] = "T_STRUCT",
        [T_BIGNUM] = "T_BIGNUM",     [T_FILE] = "T_FILE",     [T_DATA] = "T_DATA",
        [T_MATCH] = "T_MATCH",       [T_SYMBOL] = "T_SYMBOL", [T_IMEMO] = "T_IMEMO",
        [T_NODE] = "T_NODE",         [T_ICLASS] = "T_ICLASS", [T_COMPLEX] = "T_COMPLEX",
        [T_RATIONAL] = "T_RATIONAL",
    };
    char text[32];
    int nbytes = snprintf(text, sizeof text, "(internal %s)", names[type] != NULL ? names[type] : "object");
    return tbed_string_intern(ruby_session.writer, text, (size_t)nbytes);
}

/* ---- Pairs ---- */

uint32_t ruby_pair_make(struct ruby_pair *pair, VALUE class, uint32_t location)
{
    uint32_t name = class <= RUBY_T_MASK ? type_id((unsigned)class) : class_id(class);
    *pair = (struct ruby_pair){class, location, tbed_typed_intern(ruby_session.writer, location, name)};
    return pair->id;
}

/* ---- The collector, and the end ---- */

static void pairs_forget(void)
{
    memset(ruby_pairs, 0, sizeof ruby_pairs);
}

void ruby_classes_name(void)
{
    for (size_t i = 0; i < classes.capacity && nameless_count > 0; i++) {
        struct ruby_entry *entry = &classes.entries[i];
        if (entry->key == 0 || (entry->value & IS_NAMELESS) == 0)
            continue;
        VALUE name = rb_mod_name(rb_class_real(entry->keeper));
        if (!RB_TYPE_P(name, T_STRING))
            continue;
        entry->value = (uint32_t)entry->value;
        nameless_count--;
        tbed_id_bind(ruby_session.writer, (uint32_t)entry->value, 1, intern(name));
    }
}

void ruby_classes_drop_dead(void)
{
    size_t count = classes.count;
    ruby_table_drop_dead(&classes);
    if (classes.count != count) {
        pairs_forget();
        nameless_count = 0;
        for (size_t i = 0; i < classes.capacity; i++)
            nameless_count += classes.entries[i].key != 0 && (classes.entries[i].value & IS_NAMELESS) != 0;
    }
    ruby_classes_name();
}

void ruby_classes_follow(void)
{
    ruby_table_follow(&classes);
    pairs_forget();
}

void ruby_classes_mark(void)
{
    ruby_table_mark(&classes);
}

void ruby_classes_clear(void)
{
    ruby_table_clear(&classes);
    pairs_forget();
    nameless_count = 0;
}
