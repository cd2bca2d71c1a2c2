/*
 * Reads every golden file and compares the result with spec/golden/expected.txt: the exact name and place of each
 * check of section 12, and that everything else is read.
 *
 * Damage in one place must be reported once, at that place: a reader that reports more hides the cause, and one that
 * reads less loses valid data.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/golden/golden_file.h"

struct expected {
    char name[128], damages[256], asks[64];
    struct golden_counts counts;
};

#define EXPECTED_MAX 300
static struct expected all_expected[EXPECTED_MAX];
static struct CMUnitTest tests[EXPECTED_MAX + 1];

/* ---- What is found, in the words of expected.txt ---- */

static void append(char *to, size_t nbytes, enum tbed_status status, uint64_t offset)
{
    size_t used = strlen(to);
    snprintf(to + used, nbytes - used, "%s%s@%llu", used > 0 ? "," : "", tbed_status_name(status),
             (unsigned long long)offset);
}

/* What an id does not resolve to is the status of a question. */
static bool is_of_question(enum tbed_status status)
{
    return status == TBED_ERR_STRING_ID ||
           (status >= TBED_ERR_STRING_UNBOUND && status <= TBED_ERR_STRING_BYTES);
}

/* Valid files have no damage of any kind. In the others, verifying may report ids that refer to the damage. */
static void list_damages(const struct tbed_reader *reader, const struct expected *expected, char *to,
                         size_t nbytes)
{
    bool is_valid = strncmp(expected->name, "valid/", 6) == 0;
    struct tbed_damage damage;
    to[0] = 0;
    for (size_t i = 0; tbed_damage_get(reader, i, &damage); i++)
        if (is_valid || !is_of_question(damage.status))
            append(to, nbytes, damage.status, damage.offset);
    if (to[0] == 0)
        strcpy(to, "-");
}

static void check_asked(const struct tbed_reader *reader, const char *asks)
{
    char text[8], *name;
    size_t nbytes;
    if (asks[0] == 0)
        return;
    uint32_t id = (uint32_t)strtoul(asks, &name, 10);
    enum tbed_status status = tbed_string_resolve(reader, id, text, sizeof text, &nbytes);
    assert_string_equal(tbed_status_name(status), name + 1);
    assert_non_null(memchr(text, 0, sizeof text));
}

static void check_reader(struct tbed_reader *reader, const struct expected *expected)
{
    char found[1024];
    struct tbed_damage first;
    check_asked(reader, expected->asks); /* before anything else was looked at, and again afterwards */
    enum tbed_status status = tbed_reader_verify(reader);
    list_damages(reader, expected, found, sizeof found);
    assert_string_equal(found, expected->damages);
    assert_int_equal(status, tbed_damage_get(reader, 0, &first) ? first.status : TBED_OK);
    struct golden_counts counts = golden_count(reader);
    assert_int_equal(counts.strings, expected->counts.strings);
    assert_int_equal(counts.bindings, expected->counts.bindings);
    assert_int_equal(counts.events, expected->counts.events);
    check_asked(reader, expected->asks);
    list_damages(reader, expected, found,
                 sizeof found); /* walking reports nothing that verifying has not reported */
    assert_string_equal(found, expected->damages);
}

static void read_one(const struct expected *expected, const struct golden_bytes *golden)
{
    char found[256] = "";
    struct tbed_reader *reader = NULL;
    struct tbed_error error = {.status = TBED_OK};
    if (tbed_reader_open_memory(golden->bytes, golden->nbytes, NULL, &reader, &error) == TBED_OK) {
        check_reader(reader, expected);
        tbed_reader_close(reader);
        return;
    }
    assert_null(reader);
    append(found, sizeof found, error.status, error.offset);
    assert_string_equal(found, expected->damages);
    assert_int_equal(expected->counts.events, 0);
}

static void golden_file_is_read_as_expected(void **state)
{
    const struct expected *expected = *state;
    struct golden_bytes golden = golden_load(expected->name);
    read_one(expected, &golden);
    golden_free(&golden);
}

/* ---- The list ---- */

static size_t load_expected(void)
{
    char line[512];
    size_t count = 0;
    FILE *in = fopen(GOLDEN_FOLDER "/expected.txt", "r");
    while (in != NULL && fgets(line, sizeof line, in) != NULL && count < EXPECTED_MAX) {
        struct expected *expected = &all_expected[count];
        if (line[0] == '#')
            continue;
        int fields = sscanf(line, "%127s %255s %zu %zu %zu %63s", expected->name, expected->damages,
                            &expected->counts.strings, &expected->counts.bindings, &expected->counts.events,
                            expected->asks);
        count += fields >= 5;
    }
    if (in != NULL)
        fclose(in);
    return count;
}

/* Is there a golden file for the check, alone or with a word after it? */
static bool has_golden_file(const char *check, size_t count)
{
    size_t nbytes = strlen(check);
    for (size_t i = 0; i < count; i++) {
        const char *name = all_expected[i].name;
        if (strncmp(name, "invalid/", 8) == 0 && strncmp(name + 8, check, nbytes) == 0 &&
            name[8 + nbytes] == 0)
            return true;
    }
    return false;
}

/* A directory and what is no regular file cannot be kept as golden files. */
static void every_check_has_a_golden_file(void **state)
{
    const size_t *count = *state;
    static const enum tbed_status checks[] = {
#define X(name, value, text) TBED_##name,
        TBED_STATUS_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        bool is_no_file = checks[i] == TBED_ERR_IS_DIRECTORY || checks[i] == TBED_ERR_NOT_REGULAR;
        bool is_check = checks[i] >= TBED_ERR_NOT_A_TRACE && checks[i] < TBED_ERR_PROFILE_VERSION;
        if (is_check && !is_no_file && !has_golden_file(tbed_status_name(checks[i]), *count))
            fail_msg("spec/golden/invalid/%s.tbed is missing", tbed_status_name(checks[i]));
    }
}

/* Files in which one change breaks two checks: the second one. */
static const struct {
    const char *name, *also;
} with_two_checks[] = {
    {"invalid/BLOCK_CUT-shut", "FILE_SIZE"},
    {"invalid/BLOCK_TWICE-stack", "EVENT_STACK"},
    {"invalid/NOT_A_TRACE-copy", "STATE"},
};

static const char *also_broken(const char *name)
{
    for (size_t i = 0; i < sizeof with_two_checks / sizeof with_two_checks[0]; i++)
        if (strcmp(with_two_checks[i].name, name) == 0)
            return with_two_checks[i].also;
    return "";
}

static bool is_word(const char *text, size_t nbytes, const char *word)
{
    return strlen(word) == nbytes && memcmp(text, word, nbytes) == 0;
}

/* A file that is refused for another reason, or for several, would pass for a test of a check that no longer works. */
static void each_invalid_file_is_refused_for_the_reason_in_its_name(void **state)
{
    const size_t *count = *state;
    for (size_t i = 0; i < *count; i++) {
        const struct expected *expected = &all_expected[i];
        char reason[64];
        if (sscanf(expected->name, "invalid/%63[A-Z0-9_]", reason) != 1)
            continue;
        bool is_limit = strstr(expected->name, "-not_yet") != NULL; /* just inside of what is allowed */
        const char *asked = strchr(expected->asks, '=');
        bool is_met = asked != NULL ? strcmp(asked + 1, is_limit ? "OK" : reason) == 0
                                    : is_limit && strcmp(expected->damages, "-") == 0;
        for (const char *at = expected->damages; *at != 0 && *at != '-';) {
            size_t nbytes = strcspn(at, "@");
            bool is_reason = is_word(at, nbytes, reason);
            if (!is_reason && !is_word(at, nbytes, also_broken(expected->name)))
                fail_msg("%s is also refused for %.*s", expected->name, (int)nbytes, at);
            is_met |= is_reason;
            at += strcspn(at, ",");
            at += *at == ',';
        }
        if (!is_met)
            fail_msg("%s is not refused for %s", expected->name, reason);
    }
}

static void expect_open_error(const char *path, enum tbed_status expected)
{
    struct tbed_reader *reader = NULL;
    struct tbed_error error = {.status = TBED_OK};
    assert_int_equal(tbed_reader_open(path, NULL, &reader, &error), expected);
    assert_int_equal(error.status, expected);
    assert_null(reader);
}

static void what_is_no_regular_file_is_rejected(void **state)
{
    (void)state;
    expect_open_error("spec/golden", TBED_ERR_IS_DIRECTORY);
    expect_open_error("/dev/null", TBED_ERR_NOT_REGULAR);
    expect_open_error("spec/golden/there is no such file", TBED_ERR_OPEN);
}

int main(void)
{
    size_t count = load_expected();
    size_t test_count = 0;
    for (size_t i = 0; i < count; i++)
        tests[test_count++] = (struct CMUnitTest){all_expected[i].name, golden_file_is_read_as_expected, NULL,
                                                  NULL, &all_expected[i]};
    const struct CMUnitTest others[] = {
        cmocka_unit_test_prestate(every_check_has_a_golden_file, &count),
        cmocka_unit_test_prestate(each_invalid_file_is_refused_for_the_reason_in_its_name, &count),
        cmocka_unit_test(what_is_no_regular_file_is_rejected),
    };
    int failed = cmocka_run_group_tests_name("golden files", others, NULL, NULL);
    return failed + _cmocka_run_group_tests("golden files, each", tests, test_count, NULL, NULL);
}
