/*
 * tracebed/analysis.h: where the time and the memory of a program went.
 *
 * Statistics process all event blocks in parallel. Since every block can be decoded alone, even the trace of one thread
 * uses all cores. Allocations are followed in order of time, process by process. Results do not depend on the number of
 * threads that compute them.
 *
 * Memory grows with the number of names, and with the number of spans and blocks of memory that are open or live at one
 * time; not with the number of events.
 *
 * Rows are merged by text: if several ids have the same text, as they do in several processes, they share a row. Rows are
 * sorted by the bytes of their texts. The caller may supply the names (struct tbed_analysis_options).
 *
 * Units:     fields ending in "_ticks" count ticks, which tbed_tick_span_to_ns() converts; "_nbytes" are bytes.
 * Ownership: rows and their names are valid until the result is closed. A result does not need its reader any more.
 * Threads:   any number of threads may share a result; nothing changes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ANALYSIS_H
#define TRACEBED_ANALYSIS_H

#include <tracebed/filter.h>
#include <tracebed/reader.h>
#include <tracebed/suppressions.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Replaces a name by the one under which it is counted. 'name' has 'nbytes' bytes, and room for 'room', which is more.
 * Returns the new length. */
typedef size_t (*tbed_group_function)(void *context, char *name, size_t nbytes, size_t room);

/*
 * Announces the ids that are about to be named, so that work can be done for many at once, such as finding symbols
 * (tbed_names_prepare()). There may be several calls; ids come in any order, and may be repeated. It is called by the
 * same thread as the name function, and with the same context.
 */
typedef void (*tbed_prepare_function)(void *context, const uint32_t *ids, size_t count);

/*
 * What rows of spans and instants stand for. Asynchronous spans, counters, messages and artifacts always stand for labels.
 * Whatever the key, a row has the figures of its spans, self times included: added up over all rows, counts, totals and self
 * times are the same for each key, unless a row's self time would be negative.
 *
 * Cache hits are counted by label and by arguments. With another key than the label, 'unnamed_count' is 0.
 */
enum tbed_row_key {
    TBED_BY_LABEL,
    /* The name with the arguments behind its U+001E, and those of the event: label arg0="…" name=value. An event of a
     * live flight recorder that began in an earlier block is without the latter. */
    TBED_BY_ARGUMENTS,
    TBED_BY_LOCATION, /* the place in code; for a string, the place that uses it as a name; "<no location>" */
    TBED_BY_FILE,     /* the file of that place, or "<no file>" */
    TBED_BY_THREAD,   /* name and id */
    TBED_BY_PROCESS,  /* name and id, or "<no process>" */
    TBED_BY_CATEGORY, /* or "<no category>" */
    TBED_BY_TIME,     /* the part of the trace's time, 'by_ticks' long, in which it begins */
};

struct tbed_analysis_options {
    size_t size;             /* sizeof(struct tbed_analysis_options) */
    unsigned thread_count;   /* 0: one per processor */
    tbed_name_function name; /* NULL: tbed_id_text() */
    void *name_context;
    uint32_t moment_count; /* for allocations and timelines: the number of moments; 0: none */
    bool by_stack;         /* for allocations: sites are call stacks; only their frames are named */
    /* For statistics: */
    tbed_group_function group; /* for all labels; NULL: labels count as they are */
    void *group_context;
    tbed_prepare_function prepare; /* called before 'name'; may be NULL */
    bool skip_percentiles;         /* rows have none, which saves time and memory */
    /* For all of them: what counts; NULL: everything. Not for foreign files read in place. */
    const struct tbed_filter *filter;
    bool keep_durations;  /* for statistics: tbed_statistics_durations(); not with 'skip_percentiles' */
    enum tbed_row_key by; /* for statistics of traces */
    uint64_t by_ticks;    /* for TBED_BY_TIME: at least a millionth of the trace's time */
    /* For allocations: live blocks that one of these matches are not leaks; NULL: none. */
    const struct tbed_suppressions *suppressions;
    bool by_size; /* for allocations: sites are classes of sizes; not with 'by_stack' or 'suppressions' */
    bool keep_lifetimes; /* for allocations: sites have the lifetimes of their blocks */
    /* For statistics of traces: if this becomes true, the call returns with ERR_CANCELLED soon; atomic; NULL: never. */
    const bool *is_cancelled;
    /*
     * For statistics of traces that know when threads were off their processors ('tracebed record --off-cpu'): rows have
     * 'off_cpu_ticks', and with the second one all durations are without this time. Takes 24 bytes for each switch.
     */
    bool count_off_cpu, without_off_cpu;
    /* For statistics of foreign files read in place: there are only artifacts; all other events are just counted. */
    bool only_artifacts;
    /* For allocations: sites are types of objects; not with 'by_stack' or 'by_size'. */
    bool by_class;
    /*
     * For allocations: sites have the live blocks that survived at least so many garbage collections. Collections are known
     * from the spans of a track "garbage collector" of their process, whose names end in "GC: sweeping" where one has marked
     * what is alive. 0: not asked for.
     */
    uint32_t survived_min;
};

/*
 * Streams that say when threads were off their processors (TBED_STREAM_OFF_CPU) are left out of statistics, stacks, calls,
 * activity, timelines and positions: their spans are not the program's, and the same time is in those of its threads. They
 * count if a filter asks for such streams and no others. The assembler and windows have them as they are.
 */

/* ---- The assembler: the spans of a trace one by one ---- */

/*
 * Every analysis and every export takes its spans from this assembler, or from an instance of it, so that all of them
 * agree. The rules:
 *
 * Ends:    an END ends the innermost open span of its stream; a LEAVE says when it ends, or that it never does. A SPAN
 *          event is a whole span, which need not nest.
 * Open:    a span that never ended lasts until the last tick of its stream. One that was open where events of its stream
 *          are missing, and that the next block could list as open but does not, lasts until the last tick before the
 *          gap. It counts like any other span, and as open besides.
 * Gaps:    a block lists only the innermost of its open spans. Nothing is known of the others if events are missing
 *          before it: until a later block lists them or they end, which gives their begins but not their categories and
 *          arguments. If neither happens, they are only counted ('unnamed_open_count').
 * Forked:  a span that is open when a process forks goes on in the child as a span of the child's stream, which begins with
 *          that stream. So no time counts twice. If nothing ends it, the child ended inside it (exit, exec): it ends with the
 *          last event of its stream, and is not open.
 * Unknown: a span whose begin is not known has no time. It is a step of its own, and counted by every analysis.
 * Order:   spans come in the order of the events that end them; those that never ended come last, the innermost first. Nesting is
 *          defined backwards in this order: see "Nesting" below.
 *
 * Times are as recorded: a span that ends before it begins is reported so. It counts with no time, at its end.
 *
 * Memory grows with the spans that are open at one time.
 */
struct tbed_assembler;

/* What is known about a span. */
struct tbed_assembled {
    uint64_t begin_tick;
    uint64_t end_tick; /* for END and OPEN; otherwise 0 */
    uint32_t stream;
    uint32_t id;       /* may be INVALID for UNKNOWN */
    uint32_t category; /* INVALID: none, or unknown */
    /* Its BEGIN or SPAN is in the trace; otherwise only later blocks or its END give its begin. */
    bool was_begun;
    bool is_inherited;       /* a parent process began it before the fork */
    uint32_t argument_count; /* of its BEGIN or SPAN */
    struct tbed_arguments arguments;
    bool is_whole; /* a SPAN event, which need not nest */
};

enum tbed_step_kind {
    TBED_STEP_BEGIN,   /* a span has begun */
    TBED_STEP_END,     /* a span has ended, or a whole span was recorded */
    TBED_STEP_OPEN,    /* a span will never end */
    TBED_STEP_UNKNOWN, /* a span whose begin is not known has ended, or never will: no time */
    TBED_STEP_EVENT,   /* an event that is neither begin nor end of a span */
};

struct tbed_step {
    enum tbed_step_kind kind;
    const struct tbed_assembled *span; /* NULL: EVENT */
    const struct tbed_event *event;    /* NULL: no event ended the span */
    size_t depth;                      /* open spans of the stream around this one, or around the event */
};

/*
 * tbed_assembler_open() starts at the first event of 'streams' (NULL: all of them).
 *
 * Ownership: '*assembler_ret' is the caller's; free it with tbed_assembler_close().
 * Errors:    ERR_MEMORY.
 * Threads:   an assembler belongs to one thread; a reader may be shared.
 */
enum tbed_status tbed_assembler_open(struct tbed_reader *reader, const uint32_t *streams, size_t stream_count,
                                     struct tbed_assembler **assembler_ret);
/*
 * The same for what a filter takes. A span that began before the window has no BEGIN, and its END says that it begins with the
 * window; one that goes on beyond the window ends with it, after all events, and no event ends it. Depths are those of
 * the whole trace.
 *
 * A BEGIN is held back, with all that follows it, until it is known whether its span counts: that takes as long as the least
 * duration that the filter asks for. In a flight recorder that is being written, events that were held back have no arguments.
 */
enum tbed_status tbed_assembler_open_filtered(struct tbed_reader *reader, const uint32_t *streams,
                                              size_t stream_count, const struct tbed_filter *filter,
                                              struct tbed_assembler **assembler_ret);
void tbed_assembler_close(struct tbed_assembler *assembler); /* NULL is allowed */

/*
 * tbed_assembler_next() returns the next step, in order of time over all streams, as tbed_merge_next() returns events.
 * Its pointers are valid until the next call.
 *
 * Errors: END after the last step; ERR_MEMORY. '*step_ret' is untouched then.
 */
static inline enum tbed_status tbed_assembler_next(struct tbed_assembler *assembler,
                                                   struct tbed_step *step_ret);

/* ---- Statistics of spans, instants, counters and messages ---- */

/*
 * There is one kind of result for all sources: traces, and foreign profiles read directly from their pages. Spans are
 * those of the assembler (see above): a span that never ended counts like any other, up to the last tick of its stream,
 * and also in 'open_count'.
 *
 * Labels. A row stands for a label, the part of a name before its first U+001E, over all threads and arguments. A name
 * without text is called "<unknown>", or "<id 42>" in a trace that binds no ids. A label that is empty or contains control
 * characters is called "<parse error>"; one that contains itself or exceeds a limit is called "<cycle>", "<too deep>" (64
 * strings), "<too many components>" (4,096) or "<too long>" (65,535 bytes). The 'name' function of struct
 * tbed_analysis_options is called only for ids of locations. If all different labels together exceed 1 GiB, the analysis
 * fails with ERR_MEMORY: a small hostile file can contain more labels than fit into any memory.
 *
 * Nesting. Each stream is walked from its last span to its first, with a stack. The parent of a span is the innermost span
 * on the stack that contains it; the bounds may be equal, and of two equal spans the later one is the parent. Spans that
 * do not contain it are removed from the stack. The time of a span is subtracted from the self time of its parent only.
 * Spans that overlap without nesting are therefore siblings, and time that two children share is subtracted twice. If the
 * 'self_ticks' of a row would be negative, they are 0, and the row counts in 'negative_count'. A span that ends before it
 * begins counts without time, at its end.
 *
 * Times. In a recursion the time of the outer call includes that of the inner ones, so 'total_ticks' may exceed the time
 * that passed. If the trace's times have a resolution (struct tbed_trace_info), durations are computed from times rounded
 * down to it.
 *
 * Categories. The text of an event's category has a meaning:
 *   QueryBlocked                    its time is blocked time
 *   IncrementalLoadResult           its time is load time
 *   IncrementalResultHashing        its time is hashing time, and not in 'time_ticks'
 *   Query, GenericActivity          each is a cache miss
 *   QueryCacheHit (instant)         a cache hit, if no QueryCacheHitCount of its label follows
 *   QueryCacheHitCount (counter)    that many cache hits
 *   ArtifactSize (counter)          its value is summed up by label, in rows of their own
 * Load and hashing times do not include those of children. Negative values of counters count as 0. In a foreign file, "to
 * follow" refers to the order in the file. In a trace, an event follows another if it is later in the same stream, or in
 * another stream at a later tick, or at the same tick in a stream of a higher number.
 *
 * Source: spec/measureme.md, section "Profiles", which states the exact rules.
 */
struct tbed_statistics;

/*
 * The spans of one label, or its asynchronous spans, which have no self time. Percentiles are those of the durations,
 * accurate to 1 %, and within [min_ticks, max_ticks].
 */
struct tbed_span_row {
    const char *name; /* terminated */
    size_t name_nbytes;
    uint32_t id;            /* an id with this label; INVALID for a foreign file, and with other keys */
    uint64_t count;         /* spans with a known begin */
    uint64_t unknown_count; /* spans without a known begin; counted only here */
    uint64_t open_count;    /* among 'count': spans that never ended */
    uint64_t total_ticks, self_ticks;
    uint64_t min_ticks, max_ticks; /* 0 if 'count' is 0 */
    uint64_t p50_ticks, p90_ticks, p99_ticks, p999_ticks;

    /* By category. */
    uint64_t time_ticks;       /* 'total_ticks' without hashing time */
    uint64_t invocation_count; /* 'count' without spans of blocked, load and hashing time */
    uint64_t cache_misses, cache_hits;
    uint64_t blocked_ticks, load_ticks, hashing_ticks;

    uint64_t part;          /* with TBED_BY_TIME: the number of the part of time, from 0 */
    uint64_t off_cpu_ticks; /* of the time between begins and ends: the thread was off its processor */
};

struct tbed_instant_row {
    const char *name;
    size_t name_nbytes;
    uint32_t id;
    uint64_t count;
    uint64_t part; /* as above */
};

/* 'last' is the value with the highest tick. Values are doubles: integers above 2^53 are rounded. */
struct tbed_counter_row {
    const char *name;
    size_t name_nbytes;
    uint32_t id;
    uint64_t count;
    double last, min, max;
};

/* The name is the complete format string, or "<inline text>" for messages without one. */
struct tbed_message_row {
    const char *name;
    size_t name_nbytes;
    uint32_t id;
    uint64_t count;
    uint64_t severity_counts[5]; /* by enum tbed_severity; unknown severities count as NONE */
};

/* Counters of the category ArtifactSize. */
struct tbed_artifact_row {
    const char *name;
    size_t name_nbytes;
    uint64_t count;
    uint64_t value; /* the sum; for rustc in bytes */
};

struct tbed_statistics_totals {
    uint64_t block_count; /* event blocks that were read */
    /* Event blocks that the gateway rejected, or that were reused while being read. */
    uint64_t bad_block_count;
    uint64_t event_count;
    uint64_t begin_count, end_count, instant_count, counter_count, message_count;
    uint64_t allocation_event_count; /* ALLOC, FREE, REALLOC */
    uint64_t async_event_count, flow_event_count;
    uint64_t unknown_count;                    /* events of types that this version does not know */
    uint64_t decrease_count;                   /* events with a tick below that of the previous one */
    uint64_t gap_count;                        /* GAP events */
    uint64_t gap_drops[TBED_DROP_CAUSE_COUNT]; /* dropped records that they report, by cause */
    uint64_t unnamed_open_count;               /* open spans known only from the depths of blocks */
    uint64_t damaged_block_count;              /* blocks that could be read only in part */
    uint64_t whole_span_count;                 /* SPAN events, or intervals of a foreign file */

    uint64_t span_count;          /* spans in the rows, which have a known begin */
    uint64_t open_span_count;     /* among them, those that never ended */
    uint64_t unknown_begin_count; /* spans without a known begin, which have no time */
    uint64_t inherited_count;     /* spans in the rows that go on in a forked child what its parent began */
    uint64_t span_ticks;     /* summed over streams: the latest end of their spans minus the earliest begin */
    uint64_t stream_count;   /* streams with spans */
    uint64_t inverted_count; /* spans that end before they begin */
    uint64_t overlap_count;  /* spans that overlap a preceding one, neither containing the other */
    uint64_t negative_count; /* rows whose self time would be negative */
    uint64_t unnamed_count;  /* spans, instants and counters whose label has no text */

    uint64_t foreign_version; /* of the foreign format; 0 for a trace */
    uint64_t foreign_nbytes;  /* the size of the foreign file */
    /* See tbed_statistics_damage_get(); the damage of a trace is listed by its reader. */
    uint64_t foreign_damage_count;
    uint64_t foreign_texts_left_out; /* long labels, limited as by tbed_reader_limit_text(reader, 0) */
};

/*
 * tbed_statistics_make() reads all event blocks.
 *
 * Asynchronous spans are matched by id and key over all streams in order of time; an end belongs to the newest open
 * begin. This takes a second, sequential pass over the streams that contain any. If a stream that seemed to contain only
 * begins and ends turns out to contain other events, all blocks are read a second time.
 *
 * Ownership: '*statistics_ret' is the caller's; free it with tbed_statistics_close(). It is untouched on failure.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT, ERR_CANCELLED. Damage is not an error: everything readable is read, and the rest is added to the
 *            damage list.
 * Threads:   starts threads of its own, or makes do with fewer if the system refuses them.
 */
enum tbed_status tbed_statistics_make(struct tbed_reader *reader, const struct tbed_analysis_options *options,
                                      struct tbed_statistics **statistics_ret);

/*
 * Makes the statistics of a foreign profile (see <tracebed/exchange.h>) directly from its pages, without importing it.
 * Ticks are nanoseconds unless tbed_statistics_unit() returns a unit. The result is the same as that of
 * tbed_statistics_make() for the imported file.
 *
 * Errors: those of opening a file; ERR_NOT_A_TRACE if it is not a profile; ERR_PROFILE_VERSION, ERR_MEMORY, ERR_ARGUMENT
 *            (also for another key than the label).
 *         Damage is not an error; see tbed_statistics_damage_get().
 */
enum tbed_status tbed_statistics_make_foreign(const char *path, const struct tbed_analysis_options *options,
                                              struct tbed_statistics **statistics_ret,
                                              struct tbed_error *error_ret);
/* Like tbed_statistics_make_foreign(), for an open file in the paged format. The caller keeps 'fd'. */
enum tbed_status tbed_statistics_make_foreign_fd(int fd, const struct tbed_analysis_options *options,
                                                 struct tbed_statistics **statistics_ret,
                                                 struct tbed_error *error_ret);

/*
 * Several files as one, for example all crates of a workspace: tbed_statistics_sum_open() makes empty statistics,
 * tbed_statistics_sum_add() adds those of a file, and tbed_statistics_sum_end() adds up the rows of the same name. Between
 * the last two calls the sum has no meaning. Its ticks are nanoseconds, or count what all files count.
 *
 * 'reader' is that of the trace; NULL for a foreign file read in place. Rows of the sum have no ids, and percentiles if all
 * parts were made to keep their durations. The last value of a counter is the highest last one of a file.
 *
 * Ownership: '*sum_ret' is the caller's; free it with tbed_statistics_close(). 'part' is used up: it may only be closed.
 * Errors:    ERR_MEMORY, after which the sum can only be closed; ERR_ARGUMENT if the parts do not count the same: nothing was
 *            added.
 */
enum tbed_status tbed_statistics_sum_open(struct tbed_statistics **sum_ret);
enum tbed_status tbed_statistics_sum_add(struct tbed_statistics *sum, struct tbed_statistics *part,
                                         const struct tbed_reader *reader);
enum tbed_status tbed_statistics_sum_end(struct tbed_statistics *sum);

void tbed_statistics_close(struct tbed_statistics *statistics); /* NULL is allowed */

static inline void tbed_statistics_totals(const struct tbed_statistics *statistics,
                                          struct tbed_statistics_totals *totals_ret);

/* The rows, sorted by the bytes of their names; NULL past the last. */
const struct tbed_span_row *tbed_statistics_span(const struct tbed_statistics *statistics, size_t index);
const struct tbed_span_row *tbed_statistics_async(const struct tbed_statistics *statistics, size_t index);
const struct tbed_instant_row *tbed_statistics_instant(const struct tbed_statistics *statistics,
                                                       size_t index);
const struct tbed_counter_row *tbed_statistics_counter(const struct tbed_statistics *statistics,
                                                       size_t index);
const struct tbed_message_row *tbed_statistics_message(const struct tbed_statistics *statistics,
                                                       size_t index);
const struct tbed_artifact_row *tbed_statistics_artifact(const struct tbed_statistics *statistics,
                                                         size_t index);

/* How many spans take how long. */
struct tbed_duration_count {
    uint64_t ticks; /* the middle of a range, accurate to 1 % */
    uint64_t count;
};
struct tbed_durations {
    const struct tbed_duration_count *counts; /* in ascending order of 'ticks' */
    size_t count;
};

/* The durations of the spans of a row. Empty past the last row, and if the options did not ask for them. */
struct tbed_durations tbed_statistics_durations(const struct tbed_statistics *statistics, size_t index);

/* What ticks count if they do not measure time, for example "instructions"; NULL if they do. */
const char *tbed_statistics_unit(const struct tbed_statistics *statistics);

/* The first places of damage in a foreign file, except in strings that no event uses. Returns false past the last. */
struct tbed_foreign_damage {
    enum tbed_status status;
    uint32_t file; /* for a format in several files: which one; otherwise 0 */
    uint64_t offset, detail;
};
static inline bool tbed_statistics_damage_get(const struct tbed_statistics *statistics, size_t index,
                                              struct tbed_foreign_damage *damage_ret);

/* ---- Stacks: time by the path of labels that leads to it ---- */

/*
 * A stack is a path of labels from a root through nested spans to an innermost one. Spans, nesting and labels are those of
 * the statistics above: summed by label, the stacks have the same counts, totals and self times, unless
 * TBED_STACK_DEPTH_MAX is exceeded. A span whose begin is unknown is in no stack.
 *
 * Roots stand for processes or, with 'per_thread', for threads below processes. Processes of the same name share a root,
 * and so do threads of the same name in one process. The time of a root is that of its streams, each from the begin of its
 * first span to the latest end; its self time is the part that no span covers. A root has the name of its process, or
 * "rustc" in an imported profile, as in measureme's tools, or "<no process>" for streams without one. A thread has its
 * own name, or "thread TID".
 *
 * The self time of a path is its time minus that of the paths that are one label longer. If spans overlap without
 * nesting, that may be negative; it is then set to 0 and counted in 'negative_count'. Self times therefore add up to the
 * 'total_ticks' of the root, which may exceed the time that passed.
 *
 * Spans deeper than TBED_STACK_DEPTH_MAX are combined under "<deeper>", so that a hostile file cannot make the result
 * huge.
 */
#define TBED_STACK_DEPTH_MAX   1024u
#define TBED_STACK_PATHS_USUAL (UINT64_C(1) << 19)

struct tbed_stacks;

struct tbed_stacks_options {
    size_t size;             /* sizeof(struct tbed_stacks_options) */
    unsigned thread_count;   /* 0: one per processor */
    const uint32_t *streams; /* NULL: all */
    size_t stream_count;
    bool per_thread;
    const char *root;        /* a name for every process; NULL: as described above */
    tbed_name_function name; /* for places in code, called once for each; NULL: tbed_id_text() */
    void *name_context;
    tbed_prepare_function prepare;    /* called before 'name'; may be NULL */
    const struct tbed_filter *filter; /* what counts; NULL: everything */
    uint64_t path_count_max;          /* about as many paths are kept; 0: TBED_STACK_PATHS_USUAL */
    /* If this becomes true, the call returns with ERR_CANCELLED soon; atomic; NULL: never. */
    const bool *is_cancelled;
};

struct tbed_stack_row {
    const char *label; /* terminated; with stand-ins as in statistics */
    size_t label_nbytes;
    size_t parent;        /* the index of its row; SIZE_MAX: none */
    uint32_t depth;       /* 0: a root */
    uint64_t count;       /* of spans; for a root, of streams */
    uint64_t open_count;  /* of them, those that never ended */
    uint64_t self_ticks;  /* without deeper stacks */
    uint64_t total_ticks; /* with all deeper stacks */
    uint32_t id;          /* the lowest id with this label; INVALID for a root without one */
    uint64_t span_ticks;  /* of its own spans; for a root, of its streams */
    /* 'span_ticks' minus that of the stacks that are one label longer; negative if spans overlap without nesting. */
    int64_t signed_self_ticks;
};

struct tbed_stacks_totals {
    uint64_t span_count;      /* in the stacks */
    uint64_t stream_count;    /* streams with such spans */
    uint64_t inverted_count;  /* spans that end before they begin; they count without time, at their end */
    uint64_t overlap_count;   /* spans that overlap the span they were compared with, without nesting */
    uint64_t negative_count;  /* stacks whose self time was negative */
    uint64_t deep_count;      /* spans deeper than TBED_STACK_DEPTH_MAX */
    uint64_t unknown_count;   /* spans without a known begin; in no stack */
    uint64_t open_count;      /* among 'span_count': spans that never ended */
    uint64_t bad_block_count; /* event blocks that could not be read, or only in part */
    uint64_t other_count;     /* events that are not spans */
    uint64_t folded_count;    /* among 'span_count': spans that are in a row "<other>" */
};

/*
 * tbed_stacks_make() reads all event blocks, each stream from its end to its start, several streams at once. Memory grows
 * with the number of different paths and names, and of spans that are open at one time. When a stream has more paths than its
 * share of 'path_count_max', and than eight times as many as spans are open, those with the least time become one path "<other>"
 * within the path around them: counts and times still add up, and the paths that take most of the time are still there.
 *
 * Ownership: '*stacks_ret' is the caller's; free it with tbed_stacks_close(). It is untouched on failure. 'options' may be
 *            NULL, and need not outlive the call.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT, ERR_CANCELLED. Damage is not an error: everything readable is read, and the rest is added to the
 *            damage list.
 */
enum tbed_status tbed_stacks_make(struct tbed_reader *reader, const struct tbed_stacks_options *options,
                                  struct tbed_stacks **stacks_ret);
void tbed_stacks_close(struct tbed_stacks *stacks); /* NULL is allowed */
static inline void tbed_stacks_totals(const struct tbed_stacks *stacks,
                                      struct tbed_stacks_totals *totals_ret);

/* The rows; NULL past the last. Each is followed by its children, which are sorted by the bytes of their labels. */
const struct tbed_stack_row *tbed_stacks_row(const struct tbed_stacks *stacks, size_t index);

/* ---- Allocations ---- */

/* The location or stack of an id with a type (section 8.8), and the id of the type's name. False: it has no type. */
bool tbed_typed_get(const struct tbed_reader *reader, uint32_t id, uint32_t *location_ret,
                    uint32_t *type_ret);

struct tbed_allocations;

/*
 * The allocations of one process or of one site. A site's blocks are those allocated there, wherever they were freed.
 *
 * A REALLOC counts as an allocation of the new size and, if there was an old block, as a free. If an allocation returns
 * an address that is still in use, the free of the old block was not recorded; it ends, and counts in 'replaced_count'.
 * Blocks never freed in the trace are live.
 */
struct tbed_allocation_sums {
    uint64_t count, nbytes;  /* allocations that succeeded */
    uint64_t freed_count;    /* blocks freed by FREE or REALLOC */
    uint64_t replaced_count; /* blocks whose address was allocated again without a recorded free */
    /* Blocks freed by the thread that allocated them, before it allocated or freed anything else. In a chain of REALLOC
     * each block but the last is freed by the next call. */
    uint64_t temporary_count;
    uint64_t failed_count;            /* allocations that failed */
    uint64_t live_count, live_nbytes; /* at the end of the trace */
    uint64_t peak_nbytes; /* for a process: the most bytes live at one time. For a site: its bytes live
                             when its process had its peak */
};

/*
 * A forked process starts with the blocks of its parent, which remain the parent's in all figures: 'sums' covers only what
 * the process itself allocated. When it frees a block of its parent, that is counted and changes nothing else. The trace
 * has the time of the child's first event, not that of the fork; so a block counts as inherited if the parent, or one of
 * its ancestors, had allocated it at any time before.
 */
struct tbed_allocation_process {
    uint32_t process; /* the number of the process; 0: streams without one */
    uint32_t pid;     /* 0: unknown */
    uint32_t name_id;
    uint32_t forked_from; /* the number of a process; 0: none */
    struct tbed_allocation_sums sums;
    uint64_t peak_tick;
    uint64_t inherited_free_count; /* frees of blocks of its ancestors */
    /* Frees of other addresses that this process did not allocate in the trace. */
    uint64_t unknown_free_count;
    uint64_t null_free_count; /* frees of address 0, which do nothing */
    uint64_t event_count;     /* ALLOC, FREE and REALLOC events */
    /* The highest value of its counter "resident anonymous memory"; 0: it has none. */
    uint64_t peak_resident_nbytes;
    uint64_t collection_count; /* with 'survived_min': garbage collections */
};

/*
 * One of 'moment_count' equal parts of the trace's time. A process counts from its first to its last allocation event.
 * Figures are summed over all processes, so 'peak_nbytes' is an upper bound of what was live at one time, and
 * 'least_nbytes' a lower one.
 */
struct tbed_allocation_moment {
    uint64_t tick;         /* its start */
    uint64_t live_nbytes;  /* at its end */
    uint64_t peak_nbytes;  /* the most at one time during it */
    uint64_t count;        /* allocations that succeeded during it */
    uint64_t least_nbytes; /* the least at one time during it, while the process counts */
    uint64_t mean_nbytes;  /* the average over that time */
};

struct tbed_allocation_site {
    const char *name; /* terminated; NULL with 'by_stack': tbed_stack_locations() has the frames of 'id' */
    size_t name_nbytes;
    uint32_t
        id; /* the lowest id with this name, or whose frames have these names; 'by_class': of the type's name */
    struct tbed_allocation_sums sums; /* over all processes */
    uint64_t leak_count, leak_nbytes; /* live, and not suppressed */
    /* With 'by_size': of its blocks. The name is "33 to 64"; 'id' is INVALID. */
    uint64_t least_nbytes, most_nbytes;
    /* With 'keep_lifetimes', of the blocks that 'freed_count' counts: the sum, percentiles accurate to 1 %, the longest. */
    uint64_t lifetime_ticks, lifetime_p50_ticks, lifetime_p99_ticks, lifetime_max_ticks;
    /* With 'survived_min': of these blocks; and how many collections its process had before the oldest of them. */
    uint64_t retained_count, retained_nbytes, retained_generation;
};

/* A suppression and the live blocks that it matched. */
struct tbed_allocation_suppression {
    const char *pattern; /* terminated; valid until the suppressions are closed */
    bool is_built_in;
    uint64_t site_count; /* as recorded: call stacks or places in code */
    uint64_t count, nbytes;
};

/*
 * tbed_allocations_make() follows all blocks of memory in order of time, each process by itself and several processes in
 * parallel. For processes with forked children, it remembers every address ever allocated.
 *
 * Ownership, errors and threads as for tbed_statistics_make(); ERR_ARGUMENT also for a filter with conditions on labels,
 * categories or durations, and for options that exclude each other.
 */
enum tbed_status tbed_allocations_make(struct tbed_reader *reader,
                                       const struct tbed_analysis_options *options,
                                       struct tbed_allocations **allocations_ret);
void tbed_allocations_close(struct tbed_allocations *allocations);

/* The sums over all processes. The peak is the sum of their peaks, which may be at different times. */
void tbed_allocations_totals(const struct tbed_allocations *allocations,
                             struct tbed_allocation_sums *sums_ret);

/* Processes with allocation events, in order of their numbers; sites, sorted by text, or, if they are stacks, by that of
 * their frames, the innermost first, or by size. NULL past the last. */
const struct tbed_allocation_process *tbed_allocations_process(const struct tbed_allocations *allocations,
                                                               size_t index);
const struct tbed_allocation_site *tbed_allocations_site(const struct tbed_allocations *allocations,
                                                         size_t index);
/* All suppressions of the options, those that are built in last; NULL past the last. */
const struct tbed_allocation_suppression *
tbed_allocations_suppression(const struct tbed_allocations *allocations, size_t index);
/* The moments in order of time; NULL past the last. */
const struct tbed_allocation_moment *tbed_allocations_moment(const struct tbed_allocations *allocations,
                                                             size_t index);

/* ---- The clock ---- */

/*
 * How many ticks the clock moves at a time: its resolution if the trace states one, else as estimated from the distances of
 * the first events; 1 if it moves by single ticks, or if they do not show it. A duration below it was not measured: both
 * events have the same time.
 *
 * Threads: any number.
 */
uint64_t tbed_clock_step(struct tbed_reader *reader);

/* ---- Structs that may grow: these calls pass the caller's size on, see "ABI" in format.h ---- */

void tbed_statistics_totals_sized(const struct tbed_statistics *statistics,
                                  struct tbed_statistics_totals *totals_ret, size_t totals_nbytes);
static inline void tbed_statistics_totals(const struct tbed_statistics *statistics,
                                          struct tbed_statistics_totals *totals_ret)
{
    tbed_statistics_totals_sized(statistics, totals_ret, sizeof *totals_ret);
}

bool tbed_statistics_damage_get_sized(const struct tbed_statistics *statistics, size_t index,
                                      struct tbed_foreign_damage *damage_ret, size_t damage_nbytes);
static inline bool tbed_statistics_damage_get(const struct tbed_statistics *statistics, size_t index,
                                              struct tbed_foreign_damage *damage_ret)
{
    return tbed_statistics_damage_get_sized(statistics, index, damage_ret, sizeof *damage_ret);
}

void tbed_stacks_totals_sized(const struct tbed_stacks *stacks, struct tbed_stacks_totals *totals_ret,
                              size_t totals_nbytes);
static inline void tbed_stacks_totals(const struct tbed_stacks *stacks, struct tbed_stacks_totals *totals_ret)
{
    tbed_stacks_totals_sized(stacks, totals_ret, sizeof *totals_ret);
}

enum tbed_status tbed_assembler_next_sized(struct tbed_assembler *assembler, struct tbed_step *step_ret,
                                           size_t step_nbytes);
static inline enum tbed_status tbed_assembler_next(struct tbed_assembler *assembler,
                                                   struct tbed_step *step_ret)
{
    return tbed_assembler_next_sized(assembler, step_ret, sizeof *step_ret);
}

#ifdef __cplusplus
}
#endif
#endif
