/*
 * tracebed/trace.h: record with a line here and there. Included by writer.h.
 *
 *     #include <tracebed/writer.h>
 *
 *     static void load(const char *path, int tries)
 *     {
 *         TBED_SPAN("load");
 *         TBED_LOG("opening %s, try %d", path, tries);
 *     }
 *
 *     int main(void)
 *     {
 *         tbed_start("run.tbed", NULL);
 *         load("a.txt", 1);
 *         tbed_stop();
 *     }
 *
 * All macros record with the process's writer, which tbed_start() or the environment (TRACEBED=run.tbed) opens, and
 * with a recorder of the calling thread, which its first event makes and its end closes. Before a start and after a
 * stop, and in a category that is off, a macro is a load and a branch, and its arguments are not evaluated.
 *
 * A name or a format is a string literal, __func__, or another array that lives and stays for ever: its id is looked up
 * once a trace and kept beside the macro. Names that are made while the program runs: the macros ..._DYNAMIC.
 *
 * Threads: any. Signal handlers may use the macros; where one comes in the middle of a record of its own thread, its
 * event is dropped and counted; in the middle of the look-up of a name, its event may be without one. Do not keep a TBED_SPAN open over the suspension of a coroutine that may go on in
 * another thread: that is what TBED_ASYNC_BEGIN is for. longjmp() over a TBED_SPAN leaves the span open.
 *
 * C11 or C++17, with gcc or clang. Source: spec/format.md, section 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_H
#define TRACEBED_TRACE_H

#include <tracebed/recorder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The process's writer ---- */

/*
 * tbed_start() begins to record into a new file; tbed_stop() ends that and closes the file. As often as you like.
 *
 * Without options a trace at 'path' is replaced, but one that another process is recording into is joined, and what
 * is no trace is left alone. With options they say what happens. A program that ends without tbed_stop() needs none:
 * exit() does it. What a TBED_SPAN began before a stop ends nowhere after it.
 *
 * Errors:  those of tbed_writer_open(); ERR_NOT_A_TRACE; ERR_BUSY when a trace has been started already, perhaps by the
 *          environment, which then goes on. The program may ignore them: nothing is recorded, then.
 * Memory:  a stop gives everything back when no other thread that recorded is alive; else about 52 KiB stay
 *          for those that may still look at their recorders.
 * Threads: any; not from a signal handler.
 *
 * Environment. Read when the first program or library starts that uses a macro, tbed_default_writer() or
 * tbed_default_recorder(): the constructor that reads it is linked into those. A program that only reads traces, or
 * records by calls alone, ignores these variables; so does a setuid program.
 *   TRACEBED=run.tbed             as tbed_start("run.tbed", NULL); a failure is one line on standard error
 *   TRACEBED=run.%p.tbed          a file for each process: %p is its number, %% a percent sign
 *   TRACEBED=+run.tbed            appends to a trace that is there already
 *   TRACEBED_RING=64M             a flight recorder: the newest 64 MiB of events (K, M, G)
 *   TRACEBED_ROTATE=64M           a series of files of about 64 MiB, run.tbed.000001 and so on, run.tbed the running one
 *   TRACEBED_ROTATE=60s,10        a file a minute (s, m, h); the newest 10 closed ones are kept
 *   TRACEBED_CATEGORIES=net,-gui  see tbed_category_list()
 *   RTL_LOGFILE=run               run_PID.tbed, each process its own, where TRACEBED says nothing, only in programs that
 *                                 use the macros of <tracebed/logfile.h>; RTL_LOGFILE=run.nopid is taken literally. An
 *                                 existing file is left alone
 * What the process starts finds TRACEBED with a '+' and an absolute path, and so records into the same trace; where
 * TRACEBED_ROTATE is set, into one of its own, run.tbed.%p. A value that cannot be read is one line on standard error,
 * and the program runs without a trace.
 */
enum tbed_status tbed_start(const char *path, const struct tbed_writer_options *options);
void tbed_stop(void);

/* What tbed_start() opened, NULL when nothing is recorded. Yours until tbed_stop(). */
static inline struct tbed_writer *tbed_default_writer(void);
/* The calling thread's; one that drops everything when nothing is recorded. Yours until the stop or the thread's end. */
static inline struct tbed_recorder *tbed_default_recorder(void);

/*
 * The calling thread's name, in this trace and later ones; cut to 63 bytes. Without it a thread is called what
 * pthread_setname_np() said before its first event, the first thread "main".
 */
void tbed_thread_name_set(const char *name);

/* ---- Categories ---- */

struct tbed_site {
    uint64_t state; /* generation << 32 | id */
    const char *text;
    uint32_t flags; /* of a format */
};

struct tbed_category {
    uint32_t generation; /* of the running trace; 0: off, or nothing is recorded */
    uint32_t is_stored;  /* events carry it; else it is a switch only, and they stay as short as without */
    struct tbed_site site;
    struct tbed_category *next;
    uint32_t is_added;
};

/*
 * A category of events that can be switched off by itself: TBED_CATEGORY(net); once at file level,
 * TBED_CATEGORY_DECLARE(net); wherever else it is used, then TBED_SPAN_IN(net, "send"). Spans, instants and counters
 * carry its name, which costs them 8 bytes more; those of a TBED_CATEGORY_SWITCH(net) do not.
 */
#define TBED_CATEGORY(name)                                                                                  \
    TBED_CATEGORY_(#name, 1, tbed_category_##name, tbed_category_add_##name, tbed_category_remove_##name)
#define TBED_CATEGORY_SWITCH(name)                                                                           \
    TBED_CATEGORY_(#name, 0, tbed_category_##name, tbed_category_add_##name, tbed_category_remove_##name)
#define TBED_CATEGORY_DECLARE(name) extern struct tbed_category tbed_category_##name

/*
 * Switches all categories whose name fits the pattern ('*' any text, '?' any byte), those of libraries loaded later
 * too; the latest call that fits counts. At first all are on. False: the pattern is longer than 63 bytes, or it is the
 * 65th. Threads: any; not from a signal handler.
 */
bool tbed_category_enable(const char *pattern, bool on);
/* A list: "net,-gui" is nothing but net, "-gui,-net*" is all but these. Replaces what was said before. */
bool tbed_category_list(const char *patterns);

#define TBED_IS_ON(category) (tbed_category_generation(&tbed_category_##category) != 0)

/* ---- Tracks: streams that are no threads ---- */

/*
 * A stream of its own for a fiber, a queue, a request: static struct tbed_track gpu = TBED_TRACK("GPU queue");
 * TBED_TRACK_BEGIN(&gpu, "draw"); TBED_TRACK_END(&gpu); It belongs to one thread at a time; the caller sees to that.
 * The name must live as long as the track. tbed_track_close() ends it in the running trace; events begin it again.
 */
struct tbed_track {
    struct tbed_recorder *recorder;
    const char *name;
    uint32_t generation;
};
void tbed_track_close(struct tbed_track *track);

/* ---- What the macros are made of; not for callers ---- */

struct tbed_thread {
    struct tbed_recorder *recorder;
    struct tbed_writer *writer;
    uint32_t generation; /* of the trace that they belong to; 0: none */
    uint32_t is_listed;
};

struct tbed_span {
    uint32_t generation; /* 0: not begun */
};

#define TBED_INITIAL_EXEC __attribute__((tls_model("initial-exec")))
extern TBED_INITIAL_EXEC __thread struct tbed_thread tbed_thread_self;
extern struct tbed_category tbed_category_default;

void tbed_category_add(struct tbed_category *category);
void tbed_category_remove(struct tbed_category *category);
/*
 * Gives the thread its recorder, or says that nothing is recorded. It is linked into every program and library that
 * uses a macro, and brings along the constructor that obeys the environment; so nothing else has that constructor.
 */
bool tbed_macros_enter(void);
bool tbed_thread_enter(void);
/* Starts a trace as the environment asks, once a process. 'takes_rtl_logfile': RTL_LOGFILE counts too. */
void tbed_environment_obey(bool takes_rtl_logfile);
uint32_t tbed_site_resolve(struct tbed_site *site);
uint32_t tbed_dynamic_id(const char *text);
struct tbed_recorder *tbed_track_enter(struct tbed_track *track);
void tbed_values_name(struct tbed_site *names, struct tbed_argument *values, size_t count);
void tbed_message_values(uint32_t severity, uint32_t id, struct tbed_site *format,
                         struct tbed_argument *values, size_t count);
void tbed_counter_unit_describe(uint32_t id, const char *unit);

#include <tracebed/trace_inline.h>

#ifdef __cplusplus
}
#endif

#include <tracebed/trace_values_inline.h>

/* ---- Spans, instants, counters ---- */

/* A span from here to the end of the scope. Two declarations: in braces, not alone behind an if. */
#define TBED_SPAN(name)              TBED_SPAN_(&tbed_category_default, name, __COUNTER__)
#define TBED_SPAN_IN(category, name) TBED_SPAN_(&tbed_category_##category, name, __COUNTER__)
/* The same with up to 8 arguments, each a name and a value: TBED_SPAN_ARGS("load", "bytes", n, "path", path). */
#define TBED_SPAN_ARGS(...)              TBED_SPAN_ARGS_(&tbed_category_default, __COUNTER__, __VA_ARGS__)
#define TBED_SPAN_ARGS_IN(category, ...) TBED_SPAN_ARGS_(&tbed_category_##category, __COUNTER__, __VA_ARGS__)
/* The name is any text, looked up in a hash table each time. */
#define TBED_SPAN_DYNAMIC(text)              TBED_SPAN_DYNAMIC_(&tbed_category_default, text, __COUNTER__)
#define TBED_SPAN_DYNAMIC_IN(category, text) TBED_SPAN_DYNAMIC_(&tbed_category_##category, text, __COUNTER__)

/* Spans that do not follow scopes; on one thread, and well nested. Ends without a begin do nothing. */
#define TBED_BEGIN(name)              TBED_SITE_(name, tbed_do_begin(&tbed_category_default, &tbed_site_))
#define TBED_BEGIN_IN(category, name) TBED_SITE_(name, tbed_do_begin(&tbed_category_##category, &tbed_site_))
#define TBED_BEGIN_ARGS(...)          TBED_ARGS_(tbed_do_begin_args, &tbed_category_default, __VA_ARGS__)
#define TBED_BEGIN_ARGS_IN(category, ...)                                                                    \
    TBED_ARGS_(tbed_do_begin_args, &tbed_category_##category, __VA_ARGS__)
#define TBED_END()            tbed_do_end(&tbed_category_default)
#define TBED_END_IN(category) tbed_do_end(&tbed_category_##category)

#define TBED_INSTANT(name) TBED_SITE_(name, tbed_do_instant(&tbed_category_default, &tbed_site_))
#define TBED_INSTANT_IN(category, name)                                                                      \
    TBED_SITE_(name, tbed_do_instant(&tbed_category_##category, &tbed_site_))
#define TBED_INSTANT_ARGS(...) TBED_ARGS_(tbed_do_instant_args, &tbed_category_default, __VA_ARGS__)
#define TBED_INSTANT_ARGS_IN(category, ...)                                                                  \
    TBED_ARGS_(tbed_do_instant_args, &tbed_category_##category, __VA_ARGS__)
#define TBED_INSTANT_DYNAMIC(text) TBED_INSTANT_DYNAMIC_(&tbed_category_default, text)

/* 'value' is any number. TBED_COUNTER_UNIT says once in what it counts: TBED_COUNTER_UNIT("heap", "bytes"). */
#define TBED_COUNTER(name, value)              TBED_COUNTER_(&tbed_category_default, name, value)
#define TBED_COUNTER_IN(category, name, value) TBED_COUNTER_(&tbed_category_##category, name, value)
#define TBED_COUNTER_UNIT(name, unit)                                                                        \
    TBED_WHEN_ON_(&tbed_category_default, name, tbed_counter_unit_describe(tbed_site_id(&tbed_site_), unit))

/* The value of an argument that is an id, from tbed_string_intern() or of a location. */
#define TBED_ID(id) tbed_id_make(id)

/* ---- Messages ---- */

/*
 * As printf, but what is stored are the arguments, raw; the reader formats them, and prints what printf would have.
 * Up to 16 arguments; the compiler checks them against the format. %s copies its text into the event; NULL is
 * "(null)". %n is refused. Not for: %m, wide characters, positions (%1$d), and what a long double has beyond a double.
 * TBED_LOG is information.
 */
#define TBED_LOG(...) TBED_LOG_(&tbed_category_default, TBED_SEVERITY_INFORMATION, __VA_ARGS__)
#define TBED_LOG_IN(category, ...)                                                                           \
    TBED_LOG_(&tbed_category_##category, TBED_SEVERITY_INFORMATION, __VA_ARGS__)
#define TBED_LOG_AT(severity, ...)              TBED_LOG_(&tbed_category_default, severity, __VA_ARGS__)
#define TBED_LOG_AT_IN(category, severity, ...) TBED_LOG_(&tbed_category_##category, severity, __VA_ARGS__)

/* ---- Spans over several threads, flows, tracks ---- */

/* A begin and an end match by name and key, a number or an address; they may be on different threads. */
#define TBED_ASYNC_BEGIN(name, key)                                                                          \
    TBED_WHEN_ON_(&tbed_category_default, name,                                                              \
                  tbed_async_begin(tbed_thread_self.recorder, tbed_site_id(&tbed_site_), (uint64_t)(key)))
#define TBED_ASYNC_END(name, key)                                                                            \
    TBED_WHEN_ON_(&tbed_category_default, name,                                                              \
                  tbed_async_end(tbed_thread_self.recorder, tbed_site_id(&tbed_site_), (uint64_t)(key)))

/* An arrow from span to span, of the spans that are open where these stand. */
#define TBED_FLOW_BEGIN(name, key) TBED_FLOW_(TBED_EXT_FLOW_BEGIN, name, key)
#define TBED_FLOW_STEP(name, key)  TBED_FLOW_(TBED_EXT_FLOW_STEP, name, key)
#define TBED_FLOW_END(name, key)   TBED_FLOW_(TBED_EXT_FLOW_END, name, key)

/* clang-format off */
#define TBED_TRACK(name) {NULL, name, 0}
/* clang-format on */
#define TBED_TRACK_BEGIN(track, name)                                                                        \
    TBED_WHEN_ON_(&tbed_category_default, name,                                                              \
                  tbed_span_begin(tbed_track_recorder(track), tbed_site_id(&tbed_site_)))
#define TBED_TRACK_END(track) tbed_do_track_end(track)
#define TBED_TRACK_INSTANT(track, name)                                                                      \
    TBED_WHEN_ON_(&tbed_category_default, name,                                                              \
                  tbed_instant_record(tbed_track_recorder(track), tbed_site_id(&tbed_site_)))

#define TBED_THREAD_NAME(name) tbed_thread_name_set(name)

#endif
