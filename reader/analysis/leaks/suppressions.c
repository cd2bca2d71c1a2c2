/*
 * Suppressions of leaks; see tracebed/suppressions.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/leaks/suppressions.h"
#include "reader/core/base/vector.h"

#include <string.h>

#define POOL "the emergency pool of libstdc++"

/*
 * What the libraries keep until the process ends. Only functions are listed all of whose memory belongs to the library, so
 * that no memory of their callers is suppressed: opening a file or a library is not among them. Names without symbols and
 * calls in tail position are why some have several.
 */
static const char *const built_in[] = {
    /* Memory to throw exceptions with when there is none. */
    "eh_alloc.cc",
    /* Buffers of streams: those of stdout and stdin live as long as the process, others are freed by fclose(). */
    "^libc*!_IO_file_doallocate$",
    "^libc*!_IO_wfile_doallocate$",
    /* The current locale, time zone and catalogue of messages. */
    "^libc*!setlocale$",
    "^libc*!*gettext$",
    "^libc*!*textdomain*",
    "^libc*!__wcsmbs_*",
    "^libc*!__gconv_load_*",
    "^libc*!__gconv_read_conf$",
    "^libc*!tzset*",
    "^libc*!__tz*",
    "^libc*!localtime*",
    "^libc*!mktime$",
    "^libc*!strftime*",
    /* Texts of errors, one for each thread. */
    "^lib*!dlerror$",
    "^lib*!_dlerror_run$",
    "^libc*!strerror*",
    "^libc*!strsignal$",
    /* Lists of functions to call at exit, and the environment. */
    "^libc*!__new_exitfn$",
    "^libc*!__cxa_atexit$",
    "^libc*!on_exit$",
    "^libc*!setenv$",
    "^libc*!putenv$",
    "^libc*!__add_to_environ$",
    /* Thread-local storage: of threads that run, of stacks kept for the next thread, of the main thread. */
    "^ld-*!_dl_allocate_tls*",
    "^ld-*!*tls_get_addr*",
    /* The databases of names, and what their functions return. */
    "^libc*!getpw*",
    "^libc*!getgr*",
    "^libc*!gethostby*",
    "^libc*!getserv*",
    "^libc*!getproto*",
    "^libc*!__nss_*",
    "^libc*!__resolv_conf_*",
    "^libc*!__check_pf$",
};

struct pattern {
    char *text; /* owned */
    const char *body;
    size_t nbytes; /* of the body, which has no '^' and '$' */
    bool is_at_start, is_at_end;
};

struct tbed_suppressions {
    TBED_VECTOR(struct pattern) given;
    TBED_VECTOR(struct pattern) built_in;
    struct valgrind_blocks valgrind;
};

/* ---- Patterns ---- */

/* '*_text' is where the last '*' begins to match; without '^', there is one before the pattern. */
static bool matches(const struct pattern *pattern, const char *text)
{
    const char *body = pattern->body, *end = body + pattern->nbytes;
    const char *star = pattern->is_at_start ? NULL : body, *star_text = text;
    if (text == NULL || *text == '\0')
        return false;
    while (body < end || (pattern->is_at_end && *text != '\0')) {
        if (body < end && *body == '*') {
            star = ++body;
            star_text = text;
        } else if (body < end && *text != '\0' && *body == *text) {
            body++;
            text++;
        } else if (star != NULL && *star_text != '\0') {
            body = star;
            text = ++star_text;
        } else {
            return false;
        }
    }
    return true;
}

/* False: no memory. */
static bool pattern_make(struct pattern *pattern, const char *text, size_t nbytes)
{
    *pattern = (struct pattern){.text = malloc(nbytes + 1)};
    if (pattern->text == NULL)
        return false;
    memcpy(pattern->text, text, nbytes);
    pattern->text[nbytes] = '\0';
    pattern->is_at_start = nbytes > 0 && text[0] == '^';
    pattern->body = pattern->text + pattern->is_at_start;
    pattern->nbytes = nbytes - pattern->is_at_start;
    pattern->is_at_end = pattern->nbytes > 0 && text[nbytes - 1] == '$';
    pattern->nbytes -= pattern->is_at_end;
    return true;
}

static void drop_given(struct tbed_suppressions *suppressions, size_t count)
{
    while (suppressions->given.count > count)
        free(suppressions->given.items[--suppressions->given.count].text);
}

/* ---- Lists ---- */

enum tbed_status tbed_suppressions_open(bool with_built_in, struct tbed_suppressions **suppressions_ret)
{
    struct tbed_suppressions *suppressions = calloc(1, sizeof *suppressions);
    size_t count = with_built_in ? sizeof built_in / sizeof built_in[0] : 0;
    bool fine = suppressions != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        struct pattern *pattern = TBED_VECTOR_PUSH(&suppressions->built_in);
        fine = pattern != NULL && pattern_make(pattern, built_in[i], strlen(built_in[i]));
    }
    if (!fine) {
        tbed_suppressions_close(suppressions);
        return TBED_ERR_MEMORY;
    }
    *suppressions_ret = suppressions;
    return TBED_OK;
}

void tbed_suppressions_close(struct tbed_suppressions *suppressions)
{
    if (suppressions == NULL)
        return;
    drop_given(suppressions, 0);
    tbed_valgrind_free(&suppressions->valgrind);
    for (size_t i = 0; i < suppressions->built_in.count; i++)
        free(suppressions->built_in.items[i].text);
    tbed_vector_free(&suppressions->given.vector);
    tbed_vector_free(&suppressions->built_in.vector);
    free(suppressions);
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static enum tbed_status add_line(struct tbed_suppressions *suppressions, const char *line, size_t nbytes)
{
    static const char head[] = "leak:";
    while (nbytes > 0 && is_space(line[nbytes - 1]))
        nbytes--;
    for (; nbytes > 0 && is_space(*line); nbytes--)
        line++;
    if (nbytes == 0 || *line == '#')
        return TBED_OK;
    if (suppressions->valgrind.part != VALGRIND_NONE || *line == '{')
        return memchr(line, '\0', nbytes) == NULL ? tbed_valgrind_take(&suppressions->valgrind, line, nbytes)
                                                  : TBED_ERR_ARGUMENT;
    if (nbytes <= sizeof head - 1 || memcmp(line, head, sizeof head - 1) != 0 ||
        memchr(line, '\0', nbytes) != NULL)
        return TBED_ERR_ARGUMENT;
    struct pattern *pattern = TBED_VECTOR_PUSH(&suppressions->given);
    if (pattern != NULL && pattern_make(pattern, line + sizeof head - 1, nbytes - (sizeof head - 1)))
        return TBED_OK;
    suppressions->given.count -= pattern != NULL;
    return TBED_ERR_MEMORY;
}

enum tbed_status tbed_suppressions_add(struct tbed_suppressions *suppressions, const char *text,
                                       size_t nbytes, size_t *line_ret)
{
    size_t before = suppressions->given.count, blocks_before = suppressions->valgrind.blocks.count;
    size_t skipped_before = suppressions->valgrind.skipped_count;
    enum tbed_status status = TBED_OK;
    const char *end = text + nbytes, *next;
    for (*line_ret = 1; text < end; text = next) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline != NULL ? newline : end;
        next = newline != NULL ? newline + 1 : end;
        status = add_line(suppressions, text, (size_t)(stop - text));
        if (status != TBED_OK)
            break;
        *line_ret += next < end;
    }
    if (status == TBED_OK && suppressions->valgrind.part != VALGRIND_NONE) /* its '}' is missing */
        status = TBED_ERR_ARGUMENT;
    if (status != TBED_OK) {
        drop_given(suppressions, before);
        tbed_valgrind_drop(&suppressions->valgrind, blocks_before, skipped_before);
    }
    return status;
}

size_t tbed_suppressions_skipped_count(const struct tbed_suppressions *suppressions)
{
    return suppressions->valgrind.skipped_count;
}

const struct valgrind_blocks *tbed_suppressions_valgrind(const struct tbed_suppressions *suppressions,
                                                         size_t *first_ret)
{
    *first_ret = suppressions->given.count;
    return &suppressions->valgrind;
}

/* The pool comes last. */
size_t tbed_suppressions_count(const struct tbed_suppressions *suppressions)
{
    size_t built_in_count = suppressions->built_in.count;
    return suppressions->given.count + suppressions->valgrind.blocks.count + built_in_count +
           (built_in_count > 0);
}

const char *tbed_suppressions_text(const struct tbed_suppressions *suppressions, size_t index,
                                   bool *is_built_in_ret)
{
    size_t given = suppressions->given.count, blocks = suppressions->valgrind.blocks.count;
    *is_built_in_ret = index >= given + blocks;
    if (index < given)
        return suppressions->given.items[index].text;
    if (index < given + blocks)
        return suppressions->valgrind.blocks.items[index - given].name;
    index -= given + blocks;
    return index < suppressions->built_in.count ? suppressions->built_in.items[index].text : POOL;
}

/* ---- Frames ---- */

static bool matches_frame(const struct pattern *pattern, const struct suppression_frame *frame)
{
    return matches(pattern, frame->function) || matches(pattern, frame->file) ||
           matches(pattern, frame->module) || matches(pattern, frame->together);
}

size_t tbed_suppressions_match(const struct tbed_suppressions *suppressions,
                               const struct suppression_frame *frame)
{
    size_t given = suppressions->given.count;
    for (size_t i = 0; i < given; i++)
        if (matches_frame(&suppressions->given.items[i], frame))
            return i;
    for (size_t i = 0; i < suppressions->built_in.count; i++)
        if (matches_frame(&suppressions->built_in.items[i], frame))
            return given + suppressions->valgrind.blocks.count + i;
    return SIZE_MAX;
}

size_t tbed_suppressions_pool(const struct tbed_suppressions *suppressions, uint64_t nbytes)
{
    bool is_pool = nbytes == 72704 || nbytes == 73728; /* of GCC 5 to 12, and since */
    return is_pool && suppressions->built_in.count > 0 ? tbed_suppressions_count(suppressions) - 1 : SIZE_MAX;
}

bool tbed_suppressions_is_pool_place(const struct suppression_frame *frame)
{
    static const char name[] = "libstdc++";
    return frame->function == NULL && frame->together != NULL &&
           strncmp(frame->together, name, sizeof name - 1) == 0;
}
