/*
 * tracebed/trace.h: macros that record a trace. <tracebed/writer.h> includes it.
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
 * All macros record through the process's writer, which is opened by tbed_start() or by the environment
 * (TRACEBED=run.tbed), and through a recorder of the calling thread, which its first event opens and its end closes.
 * Before the start, after the stop, and in a disabled category, a macro costs a load and a branch, and its arguments are
 * not evaluated.
 *
 * A name or format is a string literal, __func__ or another array that stays unchanged for the life of the program: its
 * id is looked up once per trace and kept beside the macro. For names made at run time, use the macros ending in
 * _DYNAMIC.
 *
 * Threads: any. Signal handlers may use the macros. If a handler interrupts its thread while an event is being recorded,
 * its own event goes to a stream named "THREAD: signal handlers"; if it interrupts the lookup of a name, its event may
 * lack its name. longjmp() past a TBED_SPAN leaves the span open; see TBED_END_TO. A fiber or coroutine that is suspended
 * inside a TBED_SPAN needs a stream of its own; see tbed_fiber_enter().
 *
 * Shared libraries: any number of plugins may each carry a writer. In a library compiled with -fPIC an event takes about
 * 4 ns longer than in an executable, because the address of the thread's recorder is looked up by a call. To avoid that,
 * compile a library that programs link to with -ftls-model=initial-exec. A plugin, loaded by dlopen(), should not: after
 * some fifteen of those the loader refuses the next. The first event of a thread in a plugin may allocate memory, so it
 * must not be a signal handler's.
 *
 * Where a macro is (function, file, line) is stored once per trace with its name; of two macros with one name, the last one
 * counts. In C++, values may be enums and strings (whatever has data() and size()); see also trace.hpp.
 *
 * Requires C11 or C++17, with gcc or clang, for x86-64, 32-bit x86 or arm64, with glibc or musl. Source: spec/format.md, section 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_H
#define TRACEBED_TRACE_H

#if defined __cplusplus && __cplusplus < 201703L
#pragma GCC system_header /* it is written for C++17 */
#endif

#include <tracebed/recorder.h>

TBED_HEADER_BEGIN

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The process's writer ---- */

/*
 * tbed_start() starts recording into a new file; tbed_stop() stops and closes the file. Both may be called repeatedly.
 *
 * Without options, an existing trace at 'path' is replaced; if another process is recording into it, that trace is joined
 * instead; a file that is not a trace is left alone. With 'options', those decide. A program may end without tbed_stop():
 * exit() stops too. A TBED_SPAN that is open at tbed_stop() has no end in the trace.
 *
 * Errors:  those of tbed_writer_open(); ERR_NOT_A_TRACE; ERR_BUSY if a trace is already running, perhaps started by the
 *          environment; it goes on, but that of 'tracebed record' makes way. The status may be ignored: after a failure the
 *          macros do nothing.
 * Memory:  a stop frees everything if no other thread that has recorded is alive. Otherwise about 52 KiB are kept, as
 *          those threads may still look at their recorders.
 * Threads: any, but not from a signal handler.
 *
 * Environment: read once, when the first program or library is loaded that uses a macro, tbed_default_writer() or
 * tbed_default_recorder(); only those contain the constructor that reads it. A program that only reads traces, or
 * records by calls alone, ignores these variables, and so does a setuid program.
 *   TRACEBED=run.tbed             like tbed_start("run.tbed", NULL); a failure prints one line to standard error
 *   TRACEBED=run.%p.tbed          one file per process: %p is the process id, %% a percent sign
 *   TRACEBED=+run.tbed            append to an existing trace
 *   TRACEBED_RING=64M             a flight recorder that keeps the newest 64 MiB of events (K, M or G)
 *   TRACEBED_ROTATE=64M           a series of files of about 64 MiB: run.tbed is running, run.tbed.000001 is closed
 *   TRACEBED_ROTATE=60s,10        a new file every minute (s, m or h), keeping the newest 10 closed ones
 *   TRACEBED_SYNC=10s             what is recorded survives a power cut after 10 s (s, m or h); see tbed_sync()
 *   TRACEBED_CATEGORIES=net,-gui  see tbed_category_list()
 *   RTL_LOGFILE=run               if TRACEBED is not set, and only in programs that use the macros of
 *                                 <tracebed/logfile.h>: each process records into run_PID.tbed. A value that ends in
 *                                 ".nopid" is used as the file name. An existing file is left alone
 * Without TRACEBED and RTL_LOGFILE, a program that 'tracebed record' runs records into its trace, until a tbed_start().
 * Child processes find TRACEBED with a '+' and an absolute path, and so record into the same trace; with TRACEBED_ROTATE,
 * each records into run.tbed.PID. A value that cannot be parsed prints one line to standard error, and the program runs
 * without a trace.
 */
enum tbed_status tbed_start(const char *path, const struct tbed_writer_options *options);
void tbed_stop(void);

/* The writer of the running trace; NULL if none is running. Valid until tbed_stop(). */
TBED_INLINE struct tbed_writer *tbed_default_writer(void);
/* The calling thread's recorder; one that drops everything if no trace is running. Valid until tbed_stop() or the
 * thread's end. */
TBED_INLINE struct tbed_recorder *tbed_default_recorder(void);

/*
 * Names the calling thread, in this trace and in later ones; cut to 63 bytes. By default a thread has the name that
 * pthread_setname_np() gave it before its first event, and the first thread is "main".
 */
void tbed_thread_name_set(const char *name);

/* ---- Categories ---- */

struct tbed_site {
    tbed_word state; /* generation << 32 | id */
    const char *text;
    uint32_t flags; /* for a format */
    /* Where the macro is, stored with its first event in a trace; NULL: not the name of an event. */
    uint32_t line;
    const char *file, *function;
};

struct tbed_category {
    uint32_t generation; /* of the running trace; 0: disabled, or no trace is running */
    /* Events carry the category. Otherwise it is only a switch, and does not make events longer. */
    uint32_t is_stored;
    struct tbed_site site;
    struct tbed_category *next;
    uint32_t is_added;
};

/*
 * A category is a group of events that can be disabled on its own. Define it once at file level with
 * TBED_CATEGORY(net);, declare it elsewhere with TBED_CATEGORY_DECLARE(net);, and use it as in
 * TBED_SPAN_IN(net, "send"). Spans, instants and counters store the category's name, at 8 bytes per event; those of a
 * TBED_CATEGORY_SWITCH(net) do not.
 */
#define TBED_CATEGORY(name)                                                                                  \
    TBED_CATEGORY_(#name, 1, tbed_category_##name, tbed_category_add_##name, tbed_category_remove_##name)
#define TBED_CATEGORY_SWITCH(name)                                                                           \
    TBED_CATEGORY_(#name, 0, tbed_category_##name, tbed_category_add_##name, tbed_category_remove_##name)
#define TBED_CATEGORY_DECLARE(name) extern struct tbed_category tbed_category_##name

/*
 * Enables or disables all categories whose name matches the pattern ("*" matches any text, "?" any byte), including those
 * of libraries that are loaded later. The latest call that matches counts. Initially all are enabled. Returns false if
 * the pattern is longer than 63 bytes, or is the 65th. Threads: any, but not from a signal handler.
 */
bool tbed_category_enable(const char *pattern, bool on);
/* Replaces all previous patterns by a list: "net,-gui" enables only net, "-gui,-net*" all except these. */
bool tbed_category_list(const char *patterns);

#define TBED_IS_ON(category) (tbed_category_generation(&tbed_category_##category) != 0)

/* ---- Tracks: streams that are not threads ---- */

/*
 * A track gives a fiber, a queue or a request a stream of its own: static struct tbed_track gpu =
 * TBED_TRACK("GPU queue"); TBED_TRACK_BEGIN(&gpu, "draw"); TBED_TRACK_END(&gpu); The caller makes sure that only one
 * thread uses a track at a time. The name must live as long as the track. tbed_track_close() ends the track in the
 * running trace; a later event begins it again.
 */
struct tbed_track {
    struct tbed_recorder *recorder;
    const char *name;
    uint32_t generation;
};
void tbed_track_close(struct tbed_track *track);

/*
 * Fibers: from now on, whatever the calling thread records by macros goes to the fiber's track; NULL: to the thread's own
 * stream again. Each fiber has its own open spans, so a TBED_SPAN may stay open across switches. Call it where a fiber
 * begins to run, also for the first time, and before it ends:
 *
 *     static void resume(struct fiber *fiber)
 *     {
 *         tbed_fiber_enter(&fiber->track);
 *         swapcontext(&scheduler, &fiber->context);
 *         tbed_fiber_enter(NULL);
 *     }
 *
 * A fiber may go on in another thread. What tbed_start() finds open is gone: after it, each thread is back in its own
 * stream until the next call. Threads: any, but not from a signal handler.
 */
void tbed_fiber_enter(struct tbed_track *fiber);

/* ---- What the macros are made of; do not use it yourself ---- */

#define TBED_LISTED_NOT    0
#define TBED_LISTED        1
#define TBED_LISTED_LEAVES 2 /* its destructors have begun */

struct tbed_thread {
    struct tbed_recorder *recorder;
    struct tbed_writer *writer;
    uint32_t generation; /* of the trace that both belong to; 0: none */
    uint32_t listed;     /* TBED_LISTED_...: whether the session counts the thread */
};

struct tbed_span {
    uint32_t generation; /* 0: not begun */
};

/* A span that ends by identity: wherever it is among the open spans of its thread, and on any thread. */
struct tbed_scope {
    struct tbed_recorder *recorder; /* that recorded its begin; NULL: none, or it has ended */
    uint64_t begin_tick;            /* with 'id' identifies the span; 0: the innermost one is meant */
    uint32_t generation;            /* of the trace of its begin */
    uint32_t id;
};

/* The category of an instant where a thread ended another's span; exported to logs of RTL_LOGFILE as an end. */
#define TBED_SCOPE_ENDED "scope that ended in this thread"

/* These take and return single values, so that a scope can be kept in registers. */
uint64_t tbed_scope_begin_slow(struct tbed_recorder *recorder, uint32_t id);
void tbed_scope_end_slow(struct tbed_recorder *recorder, uint64_t begin_tick, uint32_t generation,
                         uint32_t id);

extern __thread struct tbed_thread tbed_thread_self;
extern struct tbed_category tbed_category_default;

void tbed_category_add(struct tbed_category *category);
void tbed_category_remove(struct tbed_category *category);
/*
 * Gives the thread a recorder of the running trace, or returns false. This function is linked into every program and
 * library that uses a macro, together with the constructor that obeys the environment; nothing else gets that
 * constructor.
 */
bool tbed_macros_enter(void);
/* Begins a span in the default category, in unusual cases; linked in the same way, so that files share one. */
uint32_t tbed_begin_slow(struct tbed_site *site);
bool tbed_thread_enter(void);
/* Starts a trace if the environment asks for one, once per process. With 'takes_rtl_logfile', RTL_LOGFILE counts too. */
void tbed_environment_obey(bool takes_rtl_logfile);
uint32_t tbed_site_resolve(struct tbed_site *site);
uint32_t tbed_dynamic_id(const char *text);
/* Stores where in the program the name or format with that id is used. */
void tbed_place_describe(uint32_t id, const char *function, const char *file, uint32_t line);
/* The same for names made at run time: only once for each of them, and for some hundreds in a trace. */
void tbed_place_note(uint32_t id, const char *function, const char *file, uint32_t line);
struct tbed_recorder *tbed_track_enter(struct tbed_track *track);
/* The same for a site with the names of 'count' arguments behind it. */
uint32_t tbed_sites_resolve(struct tbed_site *sites, size_t count);
void tbed_slots_record(uint32_t id, uint64_t head, uint64_t fixed, bool is_begin, uint64_t kinds,
                       const uint64_t *slots);
void tbed_message_slots(uint32_t severity, uint32_t id, struct tbed_site *format, uint64_t kinds,
                        const uint64_t *slots);
void tbed_message_values(uint32_t severity, uint32_t id, struct tbed_site *format,
                         struct tbed_argument *values, size_t count);
void tbed_counter_unit_describe(uint32_t id, const char *unit);

#include <tracebed/trace_inline.h>

#ifdef __cplusplus
}
#endif

#include <tracebed/trace_values_inline.h>

/* ---- Spans, instants, counters ---- */

/*
 * A span from here to the end of the scope; TBED_SPAN() has the name of the function, in C++ with its classes and
 * namespaces. It expands to two declarations, so put it in braces after an if.
 */
#define TBED_SPAN(...)                                                                                       \
    TBED_ONE_CHECK_(__VA_ARGS__);                                                                            \
    TBED_SPAN_(&tbed_category_default, TBED_NAME_(__VA_ARGS__), __COUNTER__)
#define TBED_SPAN_IN(category, name) TBED_SPAN_(&tbed_category_##category, name, __COUNTER__)
/* With up to 8 arguments, each a name and a value: TBED_SPAN_ARGS("load", "bytes", n, "path", path). */
#define TBED_SPAN_ARGS(...)              TBED_SPAN_ARGS_(&tbed_category_default, __COUNTER__, __VA_ARGS__)
#define TBED_SPAN_ARGS_IN(category, ...) TBED_SPAN_ARGS_(&tbed_category_##category, __COUNTER__, __VA_ARGS__)
/* With any text as its name, which is looked up in a hash table each time. */
#define TBED_SPAN_DYNAMIC(text)              TBED_SPAN_DYNAMIC_(&tbed_category_default, text, __COUNTER__)
#define TBED_SPAN_DYNAMIC_IN(category, text) TBED_SPAN_DYNAMIC_(&tbed_category_##category, text, __COUNTER__)

/* Spans that do not follow scopes. They must nest, on one thread. An end without a begin does nothing. */
#define TBED_BEGIN(name)              TBED_SITE_(name, tbed_do_begin(&tbed_category_default, &tbed_site_))
#define TBED_BEGIN_IN(category, name) TBED_SITE_(name, tbed_do_begin(&tbed_category_##category, &tbed_site_))
#define TBED_BEGIN_ARGS(...)          TBED_ARGS_(tbed_do_begin_args, &tbed_category_default, __VA_ARGS__)
#define TBED_BEGIN_ARGS_IN(category, ...)                                                                    \
    TBED_ARGS_(tbed_do_begin_args, &tbed_category_##category, __VA_ARGS__)
#define TBED_END()            tbed_do_end(&tbed_category_default)
#define TBED_END_IN(category) tbed_do_end(&tbed_category_##category)

/*
 * For jumps out of spans. TBED_DEPTH() is how many spans of the thread are open, in all categories; TBED_END_TO(depth)
 * ends those above, now:
 *
 *     volatile uint32_t depth = TBED_DEPTH();
 *     if (setjmp(target) != 0)
 *         TBED_END_TO(depth);
 *
 * A C++ exception ends a TBED_SPAN by itself, and so does a C function that returns early.
 */
#define TBED_DEPTH()       tbed_do_depth()
#define TBED_END_TO(depth) tbed_do_end_to(depth)

#define TBED_INSTANT(name) TBED_SITE_(name, tbed_do_instant(&tbed_category_default, &tbed_site_))
#define TBED_INSTANT_IN(category, name)                                                                      \
    TBED_SITE_(name, tbed_do_instant(&tbed_category_##category, &tbed_site_))
#define TBED_INSTANT_ARGS(...) TBED_ARGS_(tbed_do_instant_args, &tbed_category_default, __VA_ARGS__)
#define TBED_INSTANT_ARGS_IN(category, ...)                                                                  \
    TBED_ARGS_(tbed_do_instant_args, &tbed_category_##category, __VA_ARGS__)
#define TBED_INSTANT_DYNAMIC(text) TBED_INSTANT_DYNAMIC_(&tbed_category_default, text)

/* 'value' is any number. Set the unit once with TBED_COUNTER_UNIT("heap", "bytes"). */
#define TBED_COUNTER(name, value)              TBED_COUNTER_(&tbed_category_default, name, value)
#define TBED_COUNTER_IN(category, name, value) TBED_COUNTER_(&tbed_category_##category, name, value)
#define TBED_COUNTER_UNIT(name, unit)                                                                        \
    TBED_WHEN_ON_(&tbed_category_default, name, tbed_counter_unit_describe(tbed_site_id(&tbed_site_), unit))

/* Passes an id as an argument's value: of a string (tbed_string_intern()), a location or a stack. */
#define TBED_ID(id) tbed_id_make(id)

/* ---- Messages ---- */

/*
 * Like printf, but the arguments are stored unformatted; the reader formats them as printf would have. Takes up to 16
 * arguments, which the compiler checks against the format. %s copies its text into the event; NULL prints as "(null)".
 * %n does not compile. Not supported: %m, wide characters, positions (%1$d), and the precision of a long double beyond
 * that of a double. TBED_LOG has the severity INFORMATION.
 */
#define TBED_LOG(...) TBED_LOG_(&tbed_category_default, TBED_SEVERITY_INFORMATION, __VA_ARGS__)
#define TBED_LOG_IN(category, ...)                                                                           \
    TBED_LOG_(&tbed_category_##category, TBED_SEVERITY_INFORMATION, __VA_ARGS__)
#define TBED_LOG_AT(severity, ...)              TBED_LOG_(&tbed_category_default, severity, __VA_ARGS__)
#define TBED_LOG_AT_IN(category, severity, ...) TBED_LOG_(&tbed_category_##category, severity, __VA_ARGS__)

/* ---- Spans over several threads, flows, tracks ---- */

/* Begin and end may be on different threads. They are matched by name and key, which is a number or an address. */
#define TBED_ASYNC_BEGIN(name, key)                                                                          \
    TBED_WHEN_ON_(&tbed_category_default, name,                                                              \
                  tbed_async_begin(tbed_thread_self.recorder, tbed_site_id(&tbed_site_), (uint64_t)(key)))
#define TBED_ASYNC_END(name, key)                                                                            \
    TBED_WHEN_ON_(&tbed_category_default, name,                                                              \
                  tbed_async_end(tbed_thread_self.recorder, tbed_site_id(&tbed_site_), (uint64_t)(key)))

/* Arrows between the spans that are open where these macros are used. */
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

TBED_HEADER_END

#endif
