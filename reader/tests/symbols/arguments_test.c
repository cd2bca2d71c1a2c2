/*
 * Where the arguments and results of this program's own functions are, by its debug information: the registers that the
 * calling convention of x86-64 and arm64 gives them.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/symbols/debug/debug_arguments.h"
#include "reader/tests/analysis/analysis_fixture.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum color { RED = 1, GREEN = 2, BLUE = -7 };
struct point {
    int x, y;
};
struct mixed {
    double weight;
    int count;
};
struct large {
    long words[4];
};
struct bits {
    unsigned low : 3, high : 5;
};
struct vector {
    float x, y, z;
};
typedef const char *name_type;
typedef int (*callback_type)(int);

#define SHOWN __attribute__((noinline, used))

SHOWN int of_scalars(signed char a, unsigned short b, int c, unsigned long d, _Bool e, char f, long g);
SHOWN int of_scalars(signed char a, unsigned short b, int c, unsigned long d, _Bool e, char f, long g)
{
    return a + b + c + (int)d + e + f + (int)g;
}

SHOWN double of_floats(float a, double b, int c);
SHOWN double of_floats(float a, double b, int c)
{
    return (double)a + b + c;
}

SHOWN long double of_long_double(long double a, int b);
SHOWN long double of_long_double(long double a, int b)
{
    return a + b;
}

SHOWN name_type of_pointers(name_type a, const void *b, callback_type c, enum color d);
SHOWN name_type of_pointers(name_type a, const void *b, callback_type c, enum color d)
{
    return b != NULL && c != NULL && d == RED ? a : NULL;
}

SHOWN struct mixed of_structs(struct point a, struct mixed b, struct large c, struct bits d);
SHOWN struct mixed of_structs(struct point a, struct mixed b, struct large c, struct bits d)
{
    return (struct mixed){b.weight + a.x, a.y + (int)c.words[3] + d.low};
}

SHOWN struct large of_memory(int a);
SHOWN struct large of_memory(int a)
{
    return (struct large){{a, 2, 3, 4}};
}

SHOWN struct vector of_vector(struct vector a);
SHOWN struct vector of_vector(struct vector a)
{
    return (struct vector){a.y, a.z, a.x};
}

SHOWN void of_nothing(void);
SHOWN void of_nothing(void)
{
    __asm__ volatile("");
}

/* ---- Descriptions ---- */

struct self {
    struct debug_info info;
    Elf *elf;
    uint64_t base;
    int fd;
};

static int take_base(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    memcpy(base, &info->dlpi_addr, sizeof info->dlpi_addr);
    return 1;
}

static int open_self(void **state)
{
    static struct self self;
    elf_version(EV_CURRENT);
    self.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    self.elf = elf_begin(self.fd, ELF_C_READ_MMAP, NULL);
    dl_iterate_phdr(take_base, &self.base);
    *state = &self;
    return self.elf != NULL && tbed_debug_info_open(&self.info, self.elf) ? 0 : -1;
}

static int close_self(void **state)
{
    struct self *self = *state;
    tbed_debug_info_close(&self->info);
    elf_end(self->elf);
    close(self->fd);
    return 0;
}

static const char *const kinds[] = {"?",     "signed",  "unsigned", "bool", "char",   "enum",
                                    "float", "pointer", "code",     "text", "string", "bytes"};
static const char *const bases[] = {"integers", "vectors", "stack", "x87"};

/* "a:signed1@integers+0 ... = return:signed4@integers+0" */
static const char *description(struct self *self, uintptr_t function)
{
    static char text[4096];
    static struct debug_signature signature;
    size_t at = 0;
    text[0] = '\0';
    if (!tbed_debug_info_signature(&self->info, function - self->base, NULL, &signature))
        return "unknown";
    for (size_t i = 0; i < signature.argument_count + signature.result_count; i++) {
        const struct debug_value *value = &signature.values[i];
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s%s:%s%u@%s+%u", at > 0 ? " " : "",
                               i == signature.argument_count ? "= " : "", value->name, kinds[value->kind],
                               value->nbytes, bases[value->base], value->offset);
        if (value->is_indirect)
            at += (size_t)snprintf(text + at, sizeof text - at, ">%u", value->inner);
    }
    return text;
}

/* The sanitizers' variants are compiled with lines only. */
static void need_types(void **state)
{
    if (strcmp(description(*state, (uintptr_t)of_floats), "unknown") == 0)
        skip();
}

#define ASSERT_SHOWN(function, text) assert_string_equal(description(*state, (uintptr_t)(function)), text)

static void scalars_are_in_integer_registers_and_then_on_the_stack(void **state)
{
    need_types(state);
#ifdef __x86_64__
    ASSERT_SHOWN(of_scalars, "a:signed1@integers+0 b:unsigned2@integers+8 c:signed4@integers+16 "
                             "d:unsigned8@integers+24 e:bool1@integers+32 f:char1@integers+40 "
                             "g:signed8@stack+0 = return:signed4@integers+0");
#else
    ASSERT_SHOWN(of_scalars, "a:signed1@integers+0 b:unsigned2@integers+8 c:signed4@integers+16 "
                             "d:unsigned8@integers+24 e:bool1@integers+32 f:char1@integers+40 "
                             "g:signed8@integers+48 = return:signed4@integers+0");
#endif
    ASSERT_SHOWN(of_nothing, "");
}

static void floats_are_in_vector_registers(void **state)
{
    need_types(state);
    ASSERT_SHOWN(of_floats, "a:float4@vectors+0 b:float8@vectors+16 c:signed4@integers+0 "
                            "= return:float8@vectors+0");
#ifdef __x86_64__
    ASSERT_SHOWN(of_long_double, "a:float16@stack+0 b:signed4@integers+0 = return:float16@x87+0");
#endif
}

static void pointers_to_text_and_to_functions_are_told_from_others(void **state)
{
    need_types(state);
    ASSERT_SHOWN(of_pointers, "a:text8@integers+0 b:pointer8@integers+8 c:code8@integers+16 "
                              "d:enum4@integers+24 = return:text8@integers+0");
}

static void structs_are_shown_by_their_fields_where_the_convention_puts_them(void **state)
{
    need_types(state);
#ifdef __x86_64__
    ASSERT_SHOWN(of_structs, "a.x:signed4@integers+0 a.y:signed4@integers+4 b.weight:float8@vectors+0 "
                             "b.count:signed4@integers+8 c.words[0]:signed8@stack+0 "
                             "c.words[1]:signed8@stack+8 c.words[2]:signed8@stack+16 "
                             "c.words[3]:signed8@stack+24 d:bytes4@integers+16 "
                             "= return.weight:float8@vectors+0 return.count:signed4@integers+0");
    ASSERT_SHOWN(of_memory, "a:signed4@integers+8 = return.words[0]:signed8@integers+0>0 "
                            "return.words[1]:signed8@integers+0>8 return.words[2]:signed8@integers+0>16 "
                            "return.words[3]:signed8@integers+0>24");
    ASSERT_SHOWN(of_vector,
                 "a.x:float4@vectors+0 a.y:float4@vectors+4 a.z:float4@vectors+16 "
                 "= return.x:float4@vectors+0 return.y:float4@vectors+4 return.z:float4@vectors+16");
#endif
}

static void functions_that_the_compiler_has_changed_are_left_alone(void **state)
{
    need_types(state);
    static struct debug_signature signature;
    struct self *self = *state;
    uint64_t pc = (uintptr_t)of_floats - self->base;
    assert_true(tbed_debug_info_signature(&self->info, pc, "of_floats", &signature));
    assert_false(tbed_debug_info_signature(&self->info, pc, "of_floats.isra.0", &signature));
    assert_false(tbed_debug_info_signature(&self->info, pc + 1, NULL, &signature));
}

struct found {
    char text[128];
};

static bool take_enumerator(void *state, const char *name, int64_t value)
{
    struct found *found = state;
    size_t at = strlen(found->text);
    snprintf(found->text + at, sizeof found->text - at, "%s=%lld ", name, (long long)value);
    return true;
}

static void enumerators_have_names(void **state)
{
    need_types(state);
    static struct debug_signature signature;
    struct self *self = *state;
    struct found found = {""};
    assert_true(
        tbed_debug_info_signature(&self->info, (uintptr_t)of_pointers - self->base, NULL, &signature));
    tbed_debug_enumerators(&signature.values[3].type, take_enumerator, &found);
    assert_string_equal(found.text, "RED=1 GREEN=2 BLUE=-7 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_are_in_integer_registers_and_then_on_the_stack),
        cmocka_unit_test(floats_are_in_vector_registers),
        cmocka_unit_test(pointers_to_text_and_to_functions_are_told_from_others),
        cmocka_unit_test(structs_are_shown_by_their_fields_where_the_convention_puts_them),
        cmocka_unit_test(functions_that_the_compiler_has_changed_are_left_alone),
        cmocka_unit_test(enumerators_have_names),
    };
    return cmocka_run_group_tests(tests, open_self, close_self);
}
