/*
 * tracebed/logfile.h: the scopes and messages of OpenOffice's RTL_LOGFILE macros, recorded into a trace.
 *
 *     #include <tracebed/logfile.h>
 *
 *     static void init(const char *locale, int splash)
 *     {
 *         TBED_LOGFILE_CONTEXT_AUTHOR(log, "desktop", "cd100003", "::Desktop::Init");
 *         TBED_LOGFILE_CONTEXT_TRACE(log, "{ services");
 *         TBED_LOGFILE_CONTEXT_TRACE(log, "locale is %s, splash %d", locale, splash);
 *         TBED_LOGFILE_CONTEXT_TRACE(log, "} services");
 *         TBED_LOGFILE_TRACE_AUTHOR("desktop", "cd100003", "::Desktop::Init : done");
 *     }
 *
 *     int main(void)
 *     {
 *         tbed_start("run.tbed", NULL);
 *         init("de_AT", 1);
 *         tbed_stop();
 *     }
 *
 * The macros record while a trace is running, which tbed_start(), TRACEBED=run.tbed or, as with the originals,
 * RTL_LOGFILE=PREFIX in the environment starts (see trace.h). 'tracebed export --to=rtl-log' writes the original kind of
 * log; all other commands read the trace directly. While no trace is running, a macro costs a load and a branch, and its
 * arguments are not evaluated. <tracebed/rtl_logfile.h> has the macros under their original names.
 *
 * Texts and names may be any strings. Literals and __func__ are looked up once per trace. If a module, author, name or
 * format is made at run time, the whole is put together each time; do not do that in signal handlers, because a scope
 * keeps a copy of its name (malloc). A text, and what %s prints, is copied into the event; NULL prints as "(null)".
 *
 * Each macro is one statement and records one event, so the events of other threads cannot split it. (A scope is a
 * declaration.)
 *
 * Threads: any. Requires C11 or C++98, with gcc or clang. Source: spec/format.md, sections 6.2 and 8.2.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LOGFILE_H
#define TRACEBED_LOGFILE_H

#if defined __cplusplus && __cplusplus < 201703L
#pragma GCC system_header /* it is written for C++17 */
#endif

#include <tracebed/writer.h>

TBED_HEADER_BEGIN

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What the macros are made of; do not use it yourself ---- */

enum tbed_logfile_kind {
    TBED_LOGFILE_SCOPE,
    TBED_LOGFILE_TEXT, /* a message that is not formatted */
    TBED_LOGFILE_FORMAT,
};

/* A place in the program. */
struct tbed_logfile_site {
    struct tbed_site site; /* 'text' is the scope's name, or the message */
    enum tbed_logfile_kind kind;
    uint32_t line;
    const char *file, *function; /* NULL: put together at run time, for this event only */
    const char *module, *author; /* NULL: none */
    /* For a message: the place of the first scope that it was recorded in, which its id is for; set once, atomically. */
    const struct tbed_logfile_site *scope;
};

struct tbed_logfile_scope {
    const struct tbed_logfile_site *site; /* NULL: unknown, or named at run time */
    char *name;                           /* for a name made at run time; NULL if no trace was running */
    struct tbed_scope scope;
};

bool tbed_logfile_macros_enter(void); /* like tbed_macros_enter(); its constructor obeys RTL_LOGFILE too */
uint32_t tbed_logfile_resolve(struct tbed_logfile_site *site, const struct tbed_logfile_scope *scope);
char *tbed_logfile_name_make(const char *module, const char *author, const char *name);
void tbed_logfile_name_free(char *name);
bool tbed_logfile_fill(struct tbed_logfile_site *site, enum tbed_logfile_kind kind, const char *module,
                       const char *author, const char *text, const char *function, const char *file,
                       uint32_t line);
const char *tbed_logfile_scope_name(struct tbed_logfile_scope *scope);

/* tbed_enter() for the default category. */
TBED_ALWAYS_INLINE bool tbed_logfile_enter(void)
{
    uint32_t generation = tbed_category_generation(&tbed_category_default);
    if (generation == 0)
        return false;
    return !TBED_UNLIKELY(tbed_thread_self.generation != generation) || tbed_logfile_macros_enter();
}

/* The thread must have its recorder: tbed_logfile_enter(). */
TBED_ALWAYS_INLINE uint32_t tbed_logfile_id(struct tbed_logfile_site *site,
                                            const struct tbed_logfile_scope *scope)
{
    uint64_t state = __atomic_load_n(&site->site.state, __ATOMIC_RELAXED);
    if (TBED_UNLIKELY((uint32_t)(state >> 32) != tbed_thread_self.generation))
        return tbed_logfile_resolve(site, scope);
    if (scope != NULL && TBED_UNLIKELY(scope->site != __atomic_load_n(&site->scope, __ATOMIC_RELAXED)))
        return tbed_logfile_resolve(site, scope);
    return (uint32_t)state;
}

/* With 'site', or with a 'name' made at run time, which the scope takes over; with neither, no trace is running. */
TBED_ALWAYS_INLINE struct tbed_logfile_scope tbed_logfile_open(struct tbed_logfile_site *site, char *name)
{
    struct tbed_logfile_scope scope;
    scope.site = site;
    scope.name = name;
    if ((site != NULL || name != NULL) && tbed_logfile_enter())
        scope.scope = tbed_scope_begin(site != NULL ? tbed_logfile_id(site, NULL) : tbed_dynamic_id(name));
    else
        scope.scope = tbed_scope_none();
    return scope;
}

/* With any name. Not inline: what is unusual must not keep the scope of a fixed name from being kept in registers. */
TBED_OUTLINE struct tbed_logfile_scope tbed_logfile_open_dynamic(const char *module, const char *author,
                                                                 const char *name)
{
    bool is_on = tbed_category_generation(&tbed_category_default) != 0;
    return tbed_logfile_open(NULL, is_on ? tbed_logfile_name_make(module, author, name) : NULL);
}

TBED_ALWAYS_INLINE void tbed_logfile_close(struct tbed_logfile_scope *scope)
{
    tbed_scope_end(&scope->scope);
    if (scope->name != NULL)
        tbed_logfile_name_free(scope->name);
    scope->name = NULL;
}

TBED_ALWAYS_INLINE struct tbed_logfile_site *tbed_logfile_make(struct tbed_logfile_site *site,
                                                               enum tbed_logfile_kind kind,
                                                               const char *module, const char *author,
                                                               const char *text)
{
    __builtin_memset(site, 0, sizeof *site);
    site->site.text = text != NULL ? text : "(null)";
    site->kind = kind;
    site->module = module;
    site->author = author;
    return site;
}

/* None, and what precedes U+001E in the format is the context. */
#define TBED_LOGFILE_SEVERITY_ TBED_MESSAGE_CONTEXT

TBED_ALWAYS_INLINE void tbed_do_logfile(struct tbed_logfile_site *site,
                                        const struct tbed_logfile_scope *scope, size_t count,
                                        struct tbed_argument a, struct tbed_argument b,
                                        struct tbed_argument c, struct tbed_argument d,
                                        struct tbed_argument e, struct tbed_argument f,
                                        struct tbed_argument g)
{
    tbed_do_message_id(TBED_LOGFILE_SEVERITY_, tbed_logfile_id(site, scope), &site->site, count, a, b, c, d,
                       e, f, g);
}

TBED_ALWAYS_INLINE void tbed_do_logfile_list(struct tbed_logfile_site *site,
                                             const struct tbed_logfile_scope *scope,
                                             struct tbed_argument *values, size_t count)
{
    tbed_message_values(TBED_LOGFILE_SEVERITY_, tbed_logfile_id(site, scope), &site->site, values, count);
}

#ifdef __cplusplus
}

#if __cplusplus >= 201103L
#define TBED_LOGFILE_NOEXCEPT_ noexcept
#define TBED_LOGFILE_DELETED_  = delete
#else
#define TBED_LOGFILE_NOEXCEPT_ throw()
#define TBED_LOGFILE_DELETED_
#endif

struct tbed_logfile_context : tbed_logfile_scope {
    TBED_UNTRACED explicit tbed_logfile_context(const tbed_logfile_scope &begun) TBED_LOGFILE_NOEXCEPT_
        : tbed_logfile_scope(begun)
    {
    }
    TBED_UNTRACED __attribute__((always_inline)) ~tbed_logfile_context()
    {
        tbed_logfile_close(this);
    }

  private:
    tbed_logfile_context(const tbed_logfile_context &) TBED_LOGFILE_DELETED_;
    tbed_logfile_context &operator=(const tbed_logfile_context &) TBED_LOGFILE_DELETED_;
};

/*
 * A scope may be declared where no statement can be, at namespace scope. So its descriptor is one of these, filled in when it is
 * first used.
 */
namespace
{
template <int NUMBER> struct tbed_logfile_place {
    static struct tbed_logfile_site site;
};
template <int NUMBER> struct tbed_logfile_site tbed_logfile_place<NUMBER>::site;
} // namespace

/* A part is made at run time. */
template <bool IS_FIXED> struct tbed_logfile_opener {
    TBED_ALWAYS_INLINE struct tbed_logfile_scope open(struct tbed_logfile_site *, const char *module,
                                                      const char *author, const char *name, const char *,
                                                      const char *, uint32_t)
    {
        return tbed_logfile_open(NULL, tbed_logfile_name_make(module, author, name));
    }
};
template <> struct tbed_logfile_opener<true> {
    TBED_ALWAYS_INLINE struct tbed_logfile_scope open(struct tbed_logfile_site *site, const char *module,
                                                      const char *author, const char *name,
                                                      const char *function, const char *file, uint32_t line)
    {
        /* A template's instances share a place, and may have different names. */
        if (!TBED_UNLIKELY(__atomic_load_n(&site->site.text, __ATOMIC_ACQUIRE) != name ||
                           site->module != module || site->author != author))
            return tbed_logfile_open(site, NULL);
        if (tbed_logfile_fill(site, TBED_LOGFILE_SCOPE, module, author, name, function, file, line))
            return tbed_logfile_open(site, NULL);
        return tbed_logfile_open_dynamic(module, author, name);
    }
};

#define TBED_LOGFILE_OPEN_(module, author, name)                                                             \
    (TBED_LOGFILE_HASLOGFILE()                                                                               \
         ? tbed_logfile_opener<(TBED_LOGFILE_IS_FIXED_(module) && TBED_LOGFILE_IS_FIXED_(author) &&          \
                                TBED_LOGFILE_IS_FIXED_(name))>::open(&tbed_logfile_place<__COUNTER__>::site, \
                                                                     module, author, name,                   \
                                                                     __builtin_FUNCTION(), __FILE__,         \
                                                                     __LINE__)                               \
         : tbed_logfile_open(NULL, NULL))
#define TBED_LOGFILE_CONTEXT_(instance, begun) struct tbed_logfile_context instance(begun)
/* In a function: otherwise clang assumes that the pointer is kept, and warns about temporaries. */
#if __cplusplus >= 201103L
#define TBED_LOGFILE_DECIDE_(name, value) constexpr bool name = value
constexpr
#else
#define TBED_LOGFILE_DECIDE_(name, value) enum { name = value }
TBED_INLINE __attribute__((unused))
#endif
    const char *
    tbed_logfile_same(const char *text)
{
    return text;
}
#define TBED_LOGFILE_PICK_(is, one, other) ((is) ? tbed_logfile_same(one) : (other))
/* Rejects bool ? "load" : "save", which is an array too. */
#if __cplusplus < 201103L
/* Whether it is a literal, or an array that looks like one: C++98 has no constants that may be used in a template. */
template <size_t NBYTES> char (&tbed_logfile_kind(const char (&)[NBYTES]))[2];
template <size_t NBYTES> char (&tbed_logfile_kind(char (&)[NBYTES]))[1];
template <typename TYPE> char (&tbed_logfile_kind(TYPE *const &))[1];
char (&tbed_logfile_kind(int))[2]; /* TBED_LOGFILE_NONE_ */
#define TBED_LOGFILE_IS_FIXED_(text) (sizeof(tbed_logfile_kind(text)) == 2)
#else
#define TBED_LOGFILE_IS_FIXED_(text) (__builtin_constant_p(text) || __builtin_constant_p((text)[0]))
#endif
#else
#define TBED_LOGFILE_CONTEXT_(instance, begun)                                                               \
    struct tbed_logfile_scope instance __attribute__((cleanup(tbed_logfile_close), unused)) = begun
#define TBED_LOGFILE_PICK_(is, one, other) __builtin_choose_expr(is, one, other)
#define TBED_LOGFILE_DECIDE_(name, value)  enum { name = value }
/* A literal or an array of const char. The compiler rejects one without static storage. */
#define TBED_LOGFILE_IS_FIXED_(text)                                                                         \
    (__builtin_constant_p(text) ||                                                                           \
     __builtin_types_compatible_p(__typeof__(text) *, const char(*)[sizeof(text)]))
#endif

#if defined __cplusplus && __cplusplus < 201103L
#define TBED_LOGFILE_NONE_ 0
#else
#define TBED_LOGFILE_NONE_ ((const char *)0)
#endif

/* Decided once, by the front end: the optimiser might find out more later. */
#define TBED_LOGFILE_DECIDE_FIXED_(module, author, text)                                                     \
    TBED_LOGFILE_DECIDE_(tbed_fixed_, TBED_LOGFILE_IS_FIXED_(module) && TBED_LOGFILE_IS_FIXED_(author) &&    \
                                          TBED_LOGFILE_IS_FIXED_(text))

#define TBED_LOGFILE_ARE_FIXED_(module, author, text)                                                        \
    __extension__({                                                                                          \
        TBED_LOGFILE_DECIDE_FIXED_(module, author, text);                                                    \
        (bool)tbed_fixed_;                                                                                   \
    })

/* The static descriptor; NULL if a part of it is made at run time. */
#define TBED_LOGFILE_SITE_(kind, module, author, text)                                                       \
    __extension__({                                                                                          \
        TBED_LOGFILE_DECIDE_FIXED_(module, author, text);                                                    \
        static struct tbed_logfile_site tbed_site_ = {                                                       \
            {0, TBED_LOGFILE_PICK_(tbed_fixed_, text, TBED_LOGFILE_NONE_), 0, 0, NULL, NULL},                \
            kind,                                                                                            \
            __LINE__,                                                                                        \
            __FILE__,                                                                                        \
            __func__,                                                                                        \
            TBED_LOGFILE_PICK_(tbed_fixed_, module, TBED_LOGFILE_NONE_),                                     \
            TBED_LOGFILE_PICK_(tbed_fixed_, author, TBED_LOGFILE_NONE_),                                     \
            NULL};                                                                                           \
        tbed_fixed_ ? &tbed_site_ : (struct tbed_logfile_site *)NULL;                                        \
    })

#ifndef __cplusplus
#define TBED_LOGFILE_OPEN_(module, author, name)                                                             \
    tbed_logfile_open(TBED_LOGFILE_SITE_(TBED_LOGFILE_SCOPE, module, author, name),                          \
                      TBED_LOGFILE_ARE_FIXED_(module, author, name) || !TBED_LOGFILE_HASLOGFILE()            \
                          ? (char *)NULL                                                                     \
                          : tbed_logfile_name_make(module, author, name))
#endif

/* A message without values is a text, which is not formatted; with values it is a format. */
#define TBED_LOGFILE_SEND_(scope, module, author, ...)                                                       \
    TBED_CAT_(TBED_LOGFILE_SEND_, TBED_LOGFILE_KIND_(__VA_ARGS__))(scope, module, author, __VA_ARGS__)
/* clang-format off */
#define TBED_LOGFILE_KIND_(...) TBED_LOGFILE_KIND_AGAIN_(__VA_ARGS__, FORMAT_, FORMAT_, FORMAT_, FORMAT_, FORMAT_, FORMAT_, FORMAT_, FORMAT_, FORMAT_, FORMAT_, FORMAT_, FORMAT_, FORMAT_, FORMAT_, FORMAT_, FORMAT_, TEXT_, 0)
#define TBED_LOGFILE_KIND_AGAIN_(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, kind, ...) kind
/* clang-format on */

/* Run-time strings are evaluated in the expression that records them: they may belong to a temporary. */
#define TBED_LOGFILE_HERE_(kind, module, author, text)                                                       \
    (tbed_at_ != NULL ? tbed_at_ : tbed_logfile_make(&tbed_made_, kind, module, author, text))

#define TBED_LOGFILE_SEND_FORMAT_(scope, module, author, ...)                                                \
    do {                                                                                                     \
        TBED_FORMAT_CHECK_(__VA_ARGS__);                                                                     \
        TBED_LOGFILE_SEND_UNCHECKED_(scope, module, author, __VA_ARGS__);                                    \
    } while (0)

#if !defined __cplusplus || __cplusplus >= 201103L
#define TBED_LOGFILE_SEND_UNCHECKED_(scope, module, author, ...)                                             \
    do {                                                                                                     \
        struct tbed_logfile_site *const tbed_at_ =                                                           \
            TBED_LOGFILE_SITE_(TBED_LOGFILE_FORMAT, module, author, TBED_FIRST_(__VA_ARGS__));               \
        struct tbed_logfile_site tbed_made_;                                                                 \
        TBED_FORMAT_REFUSE_(TBED_FIRST_(__VA_ARGS__));                                                       \
        if (tbed_logfile_enter())                                                                            \
            TBED_MESSAGE_(tbed_do_logfile,                                                                   \
                          TBED_LOGFILE_HERE_(TBED_LOGFILE_FORMAT, module, author, TBED_FIRST_(__VA_ARGS__)), \
                          scope, __VA_ARGS__);                                                               \
    } while (0)

/* A text made at run time becomes the argument of a "%s". */
#define TBED_LOGFILE_SEND_TEXT_(scope, module, author, text)                                                 \
    do {                                                                                                     \
        TBED_LOGFILE_DECIDE_(tbed_is_text_, TBED_LOGFILE_IS_FIXED_(text));                                   \
        struct tbed_logfile_site *const tbed_at_ =                                                           \
            TBED_LOGFILE_SITE_(tbed_is_text_ ? TBED_LOGFILE_TEXT : TBED_LOGFILE_FORMAT, module, author,      \
                               TBED_LOGFILE_PICK_(tbed_is_text_, text, "%s"));                               \
        struct tbed_logfile_site tbed_made_;                                                                 \
        if (tbed_logfile_enter())                                                                            \
            tbed_do_logfile(TBED_LOGFILE_HERE_(tbed_is_text_ ? TBED_LOGFILE_TEXT : TBED_LOGFILE_FORMAT,      \
                                               module, author,                                               \
                                               TBED_LOGFILE_PICK_(tbed_is_text_, text, "%s")),               \
                            scope, tbed_is_text_ ? 0 : 1,                                                    \
                            tbed_is_text_ ? tbed_value_none() : tbed_value_text(text), TBED_NONE_6_);        \
    } while (0)

#else
/* The place's descriptor, or 'made' if it is of another text or a part is made at run time. */
TBED_ALWAYS_INLINE struct tbed_logfile_site *
tbed_logfile_find(struct tbed_logfile_site *site, struct tbed_logfile_site *made, bool is_fixed,
                  enum tbed_logfile_kind kind, const char *module, const char *author, const char *text,
                  const char *function, const char *file, uint32_t line)
{
    if (is_fixed && !TBED_UNLIKELY(__atomic_load_n(&site->site.text, __ATOMIC_ACQUIRE) != text))
        return site;
    if (is_fixed && tbed_logfile_fill(site, kind, module, author, text, function, file, line))
        return site;
    return made != NULL ? tbed_logfile_make(made, kind, module, author, text) : NULL;
}

TBED_ALWAYS_INLINE void tbed_logfile_send_text(struct tbed_logfile_site *site,
                                               const struct tbed_logfile_scope *scope, const char *module,
                                               const char *author, const char *text)
{
    struct tbed_logfile_site made;
    if (site != NULL)
        tbed_do_logfile(site, scope, 0, tbed_value_none(), TBED_NONE_6_);
    else
        tbed_do_logfile(tbed_logfile_make(&made, TBED_LOGFILE_FORMAT, module, author, "%s"), scope, 1,
                        tbed_value_text(text), TBED_NONE_6_);
}

#define TBED_LOGFILE_FIND_(made, kind, module, author, text)                                                 \
    tbed_logfile_find(&tbed_logfile_place<__COUNTER__>::site, made,                                          \
                      TBED_LOGFILE_IS_FIXED_(module) && TBED_LOGFILE_IS_FIXED_(author) &&                    \
                          TBED_LOGFILE_IS_FIXED_(text),                                                      \
                      kind, module, author, text, __builtin_FUNCTION(), __FILE__, __LINE__)

#define TBED_LOGFILE_SEND_UNCHECKED_(scope, module, author, ...)                                             \
    do {                                                                                                     \
        struct tbed_logfile_site tbed_made_;                                                                 \
        TBED_FORMAT_REFUSE_(TBED_FIRST_(__VA_ARGS__));                                                       \
        if (tbed_logfile_enter())                                                                            \
            TBED_MESSAGE_(tbed_do_logfile,                                                                   \
                          TBED_LOGFILE_FIND_(&tbed_made_, TBED_LOGFILE_FORMAT, module, author,               \
                                             TBED_FIRST_(__VA_ARGS__)),                                      \
                          scope, __VA_ARGS__);                                                               \
    } while (0)

#define TBED_LOGFILE_SEND_TEXT_(scope, module, author, text)                                                 \
    do {                                                                                                     \
        if (tbed_logfile_enter())                                                                            \
            tbed_logfile_send_text(TBED_LOGFILE_FIND_((struct tbed_logfile_site *)NULL, TBED_LOGFILE_TEXT,   \
                                                      module, author, text),                                 \
                                   scope, module, author, text);                                             \
    } while (0)
#endif

/* ---- Scopes ---- */

/*
 * A scope from here to the end of the block, in C too. It is "{ NAME" and "} NAME" in the log, where NAME is 'name' or
 * "MODULE (AUTHOR) FUNCTION". 'instance' names the scope for TBED_LOGFILE_CONTEXT_TRACE() and TBED_LOGFILE_END(). If
 * TBED_NO_LOGFILE is defined before this header is included, only the macros with PRODUCT in their names remain.
 */
#define TBED_LOGFILE_PRODUCT_CONTEXT(instance, name)                                                         \
    TBED_LOGFILE_CONTEXT_(instance, TBED_LOGFILE_OPEN_(TBED_LOGFILE_NONE_, TBED_LOGFILE_NONE_, name))
#define TBED_LOGFILE_PRODUCT_CONTEXT_AUTHOR(instance, module, author, function)                              \
    TBED_LOGFILE_CONTEXT_(instance, TBED_LOGFILE_OPEN_(module, author, function))

/*
 * Scopes that are not blocks: static struct tbed_logfile_scope log; then TBED_LOGFILE_BEGIN(log, "load"); in one
 * function and TBED_LOGFILE_END(log); in another. The struct must be zero before its first use. An end does nothing if the
 * scope was not begun, or was begun in a trace that has been stopped since. It ends this scope and no other, in any order and
 * on any thread. If that is not the thread where it began, the log shows the end in the thread that ends it, and the span
 * ends when the other thread begins its next scope, ends, or stops the trace.
 */
#define TBED_LOGFILE_BEGIN(instance, name)                                                                   \
    TBED_LOGFILE_BEGIN_AUTHOR(instance, TBED_LOGFILE_NONE_, TBED_LOGFILE_NONE_, name)
#define TBED_LOGFILE_BEGIN_AUTHOR(instance, module, author, function)                                        \
    do {                                                                                                     \
        tbed_logfile_close(&(instance));                                                                     \
        (instance) = TBED_LOGFILE_OPEN_(module, author, function);                                           \
    } while (0)
#define TBED_LOGFILE_END(instance) tbed_logfile_close(&(instance))

/* ---- Messages ---- */

/*
 * In the log: "| NAME : message" with the name of a scope, "| : message", and "| MODULE (AUTHOR) : message". The message
 * is a text, which is not formatted, or a format and up to 16 values, which the compiler checks as for TBED_LOG.
 */
#define TBED_LOGFILE_PRODUCT_CONTEXT_TRACE(instance, ...)                                                    \
    TBED_LOGFILE_SEND_(&(instance), TBED_LOGFILE_NONE_, TBED_LOGFILE_NONE_, __VA_ARGS__)
#define TBED_LOGFILE_PRODUCT_TRACE(...)                                                                      \
    TBED_LOGFILE_PRODUCT_TRACE_AUTHOR(TBED_LOGFILE_NONE_, TBED_LOGFILE_NONE_, __VA_ARGS__)
#define TBED_LOGFILE_PRODUCT_TRACE_AUTHOR(module, author, ...)                                               \
    TBED_LOGFILE_SEND_((const struct tbed_logfile_scope *)NULL, module, author, __VA_ARGS__)

/*
 * For code that formats lines of the log itself: up to 4,095 bytes, of which a newline at the end is not recorded. "{ NAME"
 * begins a scope, "} NAME" ends the thread's innermost scope of that name, "| NAME : message" and "| : message" are
 * messages, and so is anything else. The first function expects a time and the number of a thread in front, which it leaves out.
 */
#ifdef __cplusplus
extern "C" {
#endif
void tbed_logfile_write(const char *format, ...);
void tbed_logfile_write_long(const char *format, ...);
#ifdef __cplusplus
}
#endif

/* Whether a trace is running. */
#define TBED_LOGFILE_HASLOGFILE() TBED_IS_ON(default)

#ifndef TBED_NO_LOGFILE
#define TBED_LOGFILE_CONTEXT(instance, name) TBED_LOGFILE_PRODUCT_CONTEXT(instance, name)
#define TBED_LOGFILE_CONTEXT_AUTHOR(instance, module, author, function)                                      \
    TBED_LOGFILE_PRODUCT_CONTEXT_AUTHOR(instance, module, author, function)
#define TBED_LOGFILE_CONTEXT_TRACE(instance, ...) TBED_LOGFILE_PRODUCT_CONTEXT_TRACE(instance, __VA_ARGS__)
#define TBED_LOGFILE_TRACE(...)                   TBED_LOGFILE_PRODUCT_TRACE(__VA_ARGS__)
#define TBED_LOGFILE_TRACE_AUTHOR(module, author, ...)                                                       \
    TBED_LOGFILE_PRODUCT_TRACE_AUTHOR(module, author, __VA_ARGS__)
#else
#define TBED_LOGFILE_CONTEXT(instance, name)                            ((void)0)
#define TBED_LOGFILE_CONTEXT_AUTHOR(instance, module, author, function) ((void)0)
#define TBED_LOGFILE_CONTEXT_TRACE(instance, ...)                       ((void)0)
#define TBED_LOGFILE_TRACE(...)                                         ((void)0)
#define TBED_LOGFILE_TRACE_AUTHOR(module, author, ...)                  ((void)0)
#endif

TBED_HEADER_END

#endif
