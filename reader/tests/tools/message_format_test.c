/*
 * TBED_LOG and tracebed dump against snprintf: for formats from a table and random values, the output must be equal.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

/* An int for %hd, an unsigned for %d: what is printed then is what matters here. */
#pragma GCC diagnostic ignored "-Wformat"

#define LINE_NBYTES 4096 /* six doubles of 310 digits */
#define ROUNDS      400

static char (*expected)[LINE_NBYTES];
static size_t expected_count, expected_capacity;

static char *expect_line(void)
{
    if (expected_count == expected_capacity) {
        expected_capacity = expected_capacity == 0 ? 4096 : expected_capacity * 2;
        expected = realloc(expected, expected_capacity * LINE_NBYTES);
        assert_non_null(expected);
    }
    return expected[expected_count++];
}

/* The same call for both; a number in front, so that a difference is found. */
#define SAY(format, ...)                                                                                     \
    do {                                                                                                     \
        char *line = expect_line();                                                                          \
        snprintf(line, LINE_NBYTES, "%zu:" format "$", expected_count, __VA_ARGS__);                         \
        TBED_LOG_AT(TBED_SEVERITY_NONE, "%zu:" format "$", expected_count, __VA_ARGS__);                     \
    } while (0)

static uint64_t random_state = 88172645463325252;

static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Of all sizes, the ends of the ranges among them. */
static uint64_t random_number(void)
{
    static const uint64_t ends[] = {0,          1,         (uint64_t)-1, INT32_MAX, (uint64_t)INT32_MIN,
                                    UINT32_MAX, INT64_MAX, INT64_MIN,    127,       (uint64_t)-128,
                                    255,        65535,     32768,        256,       0x80000000u,
                                    42};
    uint64_t number = random_u64();
    if (number % 4 == 0)
        return ends[number / 4 % (sizeof ends / sizeof *ends)];
    return random_u64() >> number / 4 % 64;
}

static double random_double(void)
{
    static const double ends[] = {0.0,     -0.0,        1.0,      -1.5,      0.1, DBL_MAX,
                                  DBL_MIN, DBL_EPSILON, INFINITY, -INFINITY, NAN, 123456789.0,
                                  1e-320,  0.5,         9.995,    1e21};
    uint64_t bits = random_u64();
    double value;
    if (bits % 3 == 0)
        return ends[bits / 3 % (sizeof ends / sizeof *ends)];
    if (bits % 3 == 1)
        return (double)(int64_t)random_u64() / (double)(1 + random_u64() % 1000000007);
    bits = random_u64();
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void say_ints(int number)
{
    SAY("%d|%i|%5d|%-5d|%05d", number, number, number, number, number);
    SAY("%+d|% d|%.3d|%8.3d|%-8.3d", number, number, number, number, number);
    SAY("%+08d|%.0d|%-+8d|%hd|%hhd", number, number, number, (short)number, (signed char)number);
    SAY("%hd|%hhd|%hu|%hhu|%hx|%hhx", number, number, number, number, number, number);
    SAY("%*d|%-*d|%.*d|%*.*d", number % 20, number, 12, number, number % 7, number, -9, number % 5, number);
}

static void say_unsigneds(unsigned number)
{
    SAY("%u|%x|%X|%o|%#x|%#o|%#X", number, number, number, number, number, number, number);
    SAY("%10u|%-10x|%010X|%.12u|%12.8x", number, number, number, number, number);
    SAY("%08x|%#010x|%hx|%hhx|%hu|%hhu|%ho", number, number, number, number, number, number, number);
    SAY("%d|%i|%x", number, number, (int)number); /* the other sign: what is printed is what C says */
}

static void say_longs(uint64_t number)
{
    SAY("%ld|%lu|%lx|%lX|%lo", (long)number, (unsigned long)number, (unsigned long)number,
        (unsigned long)number, (unsigned long)number);
    SAY("%lld|%llu|%llx|%+lld|% lld", (long long)number, (unsigned long long)number,
        (unsigned long long)number, (long long)number, (long long)number);
    SAY("%zu|%zx|%zd|%jd|%ju|%td", (size_t)number, (size_t)number, (ssize_t)number, (intmax_t)number,
        (uintmax_t)number, (ptrdiff_t)number);
    SAY("%" PRId64 "|%" PRIu64 "|%" PRIx64 "|%24" PRId64 "|%-24" PRIu64 "|%024" PRIx64, (int64_t)number,
        number, number, (int64_t)number, number, number);
    SAY("%" PRId8 "|%" PRIu8 "|%" PRId16 "|%" PRIu16 "|%" PRId32 "|%" PRIu32, (int8_t)number, (uint8_t)number,
        (int16_t)number, (uint16_t)number, (int32_t)number, (uint32_t)number);
    SAY("%.30lld|%#llx|%#llo|%-#24llx", (long long)number, (unsigned long long)number,
        (unsigned long long)number, (unsigned long long)number);
}

static void say_doubles(double number)
{
    int precision = (int)(random_u64() % 17) - 1;
    SAY("%f|%.0f|%.3f|%12.3f|%-12.3f|%012.3f", number, number, number, number, number, number);
    SAY("%e|%E|%.2e|%20.10e|%+e|% e", number, number, number, number, number, number);
    SAY("%g|%G|%.3g|%#g|%+.12g|%-14g", number, number, number, number, number, number);
    SAY("%a|%A|%.3a|%F|%#.0f|%lf", number, number, number, number, number, number);
    SAY("%*.*f|%-*.*e|%.*g", 14, 2, number, 18, 3, number, precision, number);
    SAY("%g and %g", (float)number, (double)(float)number);
}

static void say_texts(const char *text, int number)
{
    char letter = (char)('!' + (unsigned)number % 94);
    SAY("%s|%20s|%-20s|%.3s|%10.4s|%-10.2s", text, text, text, text, text, text);
    SAY("%*s|%.*s|%-*.*s", number % 30, text, number % 12, text, 12, number % 6, text);
    SAY("%c|%3c|%-3c|%c%c", letter, letter, letter, 'o', 'k');
    SAY("%s=%d %s=%u %%", text, number, text + strlen(text) / 2, (unsigned)number);
    SAY("%p|%20p|%-20p", (const void *)text, (const void *)text, (void *)(uintptr_t)number);
    SAY("%p %s", text, text); /* the same pointer, once an address and once a text */
    SAY("%d%%|%s%%", number, text);
}

static void say_odd(void)
{
    const char bytes[4] = {'a', 'b', 'c', 'd'}; /* no terminator */
    const char *volatile none = NULL;
    bool truth = true;
    enum { FIRST, SECOND } choice = SECOND;
    SAY("%.4s|%.*s|%.2s", bytes, 3, bytes, bytes);
#ifdef __GLIBC__ /* as dump does; others print null pointers otherwise */
    SAY("%s|%.3s|%.6s|%10s", none, none, none, none);
    SAY("%p|%10p|%-10p", (void *)NULL, (void *)NULL, (void *)NULL);
#endif
    SAY("%s|%10s", none, none);
    SAY("%d %d %d %d", truth, choice, 'x', (short)-1);
    SAY("%.*s|%.*d", -1, "all of it", -5, 7);
    SAY("%Lf|%.3Le", 2.5L, -0.125L);
    SAY("%s%s%s%s%s%s%s%s", "a", "b", "c", "d", "e", "f", "g", "h");
    SAY("%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    SAY("%s", "");
}

static void random_text(char text[24])
{
    size_t nbytes = random_u64() % 23;
    for (size_t i = 0; i < nbytes; i++)
        text[i] = (char)('!' + random_u64() % 59); /* no backslash: dump writes it as two */
    text[nbytes] = '\0';
}

static void say_everything(void)
{
    char text[24];
    say_odd();
    for (int i = 0; i < ROUNDS; i++) {
        say_ints((int)random_number());
        say_unsigneds((unsigned)random_number());
        say_longs(random_number());
        say_doubles(random_double());
        random_text(text);
        say_texts(text, (int)(random_number() & INT32_MAX));
    }
}

#define PLACE "  at " __FILE__ ":"

static const char *next_line(char **at)
{
    char *line = strstr(*at, "message      ");
    assert_non_null(line);
    line += strlen("message      ");
    char *end = strchr(line, '\n');
    assert_non_null(end);
    *end = '\0';
    *at = end + 1;
    return line;
}

static void what_dump_prints_is_what_printf_prints(void **state)
{
    (void)state;
    const char *path = in_folder("messages.tbed");
    assert_int_equal(tbed_start(path, NULL), TBED_OK);
    say_everything();
    tbed_stop();
    struct run run = RUN("dump", path);
    assert_int_equal(run.exit, 0);
    assert_true(expected_count > 20 * ROUNDS);
    char *at = run.out;
    for (size_t i = 0; i < expected_count; i++) {
        const char *line = next_line(&at);
        size_t nbytes = strlen(expected[i]);
        if (strncmp(line, expected[i], nbytes) != 0 || strncmp(line + nbytes, PLACE, strlen(PLACE)) != 0)
            fail_msg("dump prints  %s\nprintf prints %s", line, expected[i]);
    }
    assert_null(strstr(at, "message"));
    end_run(&run);
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_dump_prints_is_what_printf_prints),
    };
    return cmocka_run_group_tests_name("message_format", tests, make_folder, remove_folder);
}
