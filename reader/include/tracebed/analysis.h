/*
 * tracebed/analysis.h: where the time went, and the memory.
 *
 * Two analyses over an open trace. Statistics take all event blocks in parallel: each block decodes alone, so
 * one thread's trace is spread over all cores too. Allocations are followed in order of time, process by
 * process. The results do not depend on how many threads computed them.
 *
 * Memory grows with the number of names, and of things that are open at one time (spans, blocks of memory);
 * not with the number of events.
 *
 * Rows are merged by text: ids that mean the same text, as several processes have them, are one row. Rows
 * stand in the order of their texts' bytes. What a name is can be told by the caller (struct
 * tbed_analysis_options).
 *
 * Units:     "_ticks" count the trace's clock; tbed_tick_span_to_ns() converts. "_nbytes" are bytes.
 * Ownership: rows and their names are valid until the result is closed. The reader must outlive the result's
 *            making only: a result stands by itself.
 * Threads:   a result may be shared by any number of threads; nothing changes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ANALYSIS_H
#define TRACEBED_ANALYSIS_H

#include <tracebed/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Gives the text of an id as snprintf() would: writes at most 'buffer_nbytes' bytes, terminated, and returns
 * the whole length. Called for each id, again when the text is longer than the buffer was or when several
 * processes use the id, by the thread that asked for the analysis, after the events have been read.
 */
typedef size_t (*tbed_name_function)(void *context, uint32_t id, char *buffer, size_t buffer_nbytes);

/* Puts what a name counts as in its place: 'name' has 'nbytes' bytes and room for 'room', more than that. Gives the new
 * length. */
typedef size_t (*tbed_group_function)(void *context, char *name, size_t nbytes, size_t room);

/*
 * Tells which ids are about to be named, perhaps in several parts: what takes less time for many at once, as looking for
 * symbols does, can be done here (tbed_names_prepare()). In no order, and some perhaps twice. Called by the same
 * thread, with the same context.
 */
typedef void (*tbed_prepare_function)(void *context, const uint32_t *ids, size_t count);

struct tbed_analysis_options {
    size_t size;             /* sizeof(struct tbed_analysis_options); lets the struct grow */
    unsigned thread_count;   /* 0: as many as there are processors */
    tbed_name_function name; /* NULL: tbed_id_text() */
    void *name_context;
    uint32_t moment_count; /* of allocations: how many parts of the time are told apart; 0: none */
    /* Of statistics: */
    tbed_group_function group; /* of all names, that of a pair being context U+001E text; NULL: none */
    void *group_context;
    tbed_prepare_function prepare; /* before 'name'; NULL: nobody is told */
    bool skip_percentiles;         /* rows have none, which saves time and memory */
};

/* ---- The assembler: the spans of a trace one by one ---- */

/*
 * Every analysis and every export takes its spans from this assembler, or from an instance of it, so that all of them
 * agree. Its rules:
 *
 * Ends:    an END ends the innermost open span of its stream; a LEAVE says when it ends, or that it never does. A SPAN
 *          event is a whole span, which need not nest.
 * Open:    a span that never ended lasts until the last tick of its stream. One that was open where blocks of its stream
 *          are missing, and that the next block does not list as open, lasts until the last tick before the gap. It
 *          counts like any other span, and as open besides.
 * Unknown: a span whose begin is not known has no time. It is a step of its own, and counted by every analysis.
 * Order:   spans come in the order of the events that end them; those that never ended come last, the innermost first. Nesting is
 *          defined backwards in this order: see "Nesting" below.
 *
 * Times are as recorded: a span that ends before it begins is reported so. It counts with no time, at its end.
 *
 * Memory grows with the spans that are open at one time.
 */
struct tbed_assembler;

/* A span as far as it is known. */
struct tbed_assembled {
    uint64_t begin_tick;
    uint64_t end_tick; /* of END, OPEN; else 0 */
    uint32_t stream;
    uint32_t id;       /* of UNKNOWN maybe INVALID */
    uint32_t category; /* INVALID: none, or not known */
    bool
        was_begun; /* its BEGIN or SPAN is in the trace; else only later blocks or its END report its begin */
    uint32_t argument_count; /* of its BEGIN or SPAN */
    struct tbed_arguments arguments;
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
    const struct tbed_event *event;    /* NULL: the span never ended */
    size_t depth;                      /* open spans of the stream around this one, or around the event */
};

/*
 * tbed_assembler_open() starts at the first event of 'streams' (NULL: all of them).
 *
 * Ownership: '*assembler_ret' is the caller's, freed by tbed_assembler_close().
 * Errors:    ERR_MEMORY.
 * Threads:   an assembler is one thread's; a reader may be shared.
 */
enum tbed_status tbed_assembler_open(struct tbed_reader *reader, const uint32_t *streams, size_t stream_count,
                                     struct tbed_assembler **assembler_ret);
void tbed_assembler_close(struct tbed_assembler *assembler); /* NULL is fine */

/*
 * tbed_assembler_next() gives the next step, ordered by time over all streams as tbed_merge_next() gives events.
 * What it points to is valid until the next call.
 *
 * Errors: END after the last step; ERR_MEMORY. '*step_ret' is untouched then.
 */
static inline enum tbed_status tbed_assembler_next(struct tbed_assembler *assembler,
                                                   struct tbed_step *step_ret);

/* ---- Scopes: the spans of a stream one by one, pairs of messages among them ---- */

/*
 * A pair is a message "{ text" and a later one "} text" of the same stream and context: a scope that a program tells of
 * in words, as logs of RTL_LOGFILE have them. What closes ends the newest open one of the same text, else the newest
 * one whose text it is the start of (of the 4,096 newest), else it is an orphan. Such a message's format starts with
 * the brace, or with "%s" and a text that does; spaces behind the brace are no part of the text.
 *
 * A scope stands on the stack where it began. A span ends in the order of the stack; a pair whenever it is closed. A
 * pair whose span has ended leaves the stack, but may still be closed. A LEAVE takes
 * its span off the stack; the span ends when the event says, or never.
 *
 * Memory grows with the scopes that are open at one time, and the names of pairs.
 */
struct tbed_scopes;

struct tbed_scope {
    uint64_t begin_tick;
    uint64_t tag; /* the caller's: 0, until it sets it when the scope begins */
    bool is_pair; /* of messages; else a span */
    uint32_t
        id; /* of a span: its name; of a pair: the number of its name, from 0 in the order they were met */
    const char
        *name; /* of a pair: context U+001E text, or text; terminated, valid until tbed_scopes_close() */
    size_t name_nbytes;
    /* Of a span, as its BEGIN has them. */
    uint32_t category, argument_count;
    struct tbed_arguments arguments;
};

enum tbed_scope_change {
    TBED_SCOPE_BEGIN,
    TBED_SCOPE_LEFT, /* off the stack, for the span around it ended (or its own end is missing); END or OPEN follows */
    TBED_SCOPE_END,
    TBED_SCOPE_OPEN,    /* the stream has ended, and the scope has not */
    TBED_SCOPE_ORPHAN,  /* a closing message that closes nothing */
    TBED_SCOPE_UNKNOWN, /* a span that ended with no known begin; its id may be INVALID */
};

struct tbed_scope_step {
    enum tbed_scope_change change;
    struct tbed_scope *scope;        /* valid until the step function returns */
    const struct tbed_scope *parent; /* BEGIN, ORPHAN: the innermost one on the stack; NULL: none */
    size_t depth;                    /* BEGIN, ORPHAN: how many are on the stack around it */
    uint64_t end_tick;               /* LEFT, END; OPEN: the stream's last event */
    bool was_begun; /* there was a BEGIN of it; else its begin is before what there is of the trace */
    bool
        is_nested; /* END: it was on the stack, and nothing stood in it any more. OPEN: it is a span on the stack */
    const struct tbed_event *event; /* NULL: OPEN */
};
typedef void (*tbed_scope_function)(void *context, const struct tbed_scope_step *step);

struct tbed_scopes_options {
    size_t size; /* sizeof(struct tbed_scopes_options); lets the struct grow */
    tbed_scope_function step;
    void *step_context;
};

/* Ownership: '*scopes_ret' is the caller's, freed by tbed_scopes_close(). Errors: ERR_MEMORY, ERR_ARGUMENT. */
enum tbed_status tbed_scopes_open(struct tbed_reader *reader, const struct tbed_scopes_options *options,
                                  struct tbed_scopes **scopes_ret);
void tbed_scopes_close(struct tbed_scopes *scopes); /* NULL is fine */

/*
 * tbed_scopes_take() takes the next event of the stream, 'depth' being what tbed_cursor_depth() says then, and calls
 * the step function for whatever begins or ends by it. Errors: ERR_MEMORY.
 */
enum tbed_status tbed_scopes_take(struct tbed_scopes *scopes, const struct tbed_event *event, uint32_t depth);

/* The stream has ended: tells of all that is open, and begins with another stream. */
void tbed_scopes_finish(struct tbed_scopes *scopes);

/* The innermost scope on the stack; NULL: none. Valid until the next event. */
const struct tbed_scope *tbed_scopes_innermost(const struct tbed_scopes *scopes);

/* ---- Statistics of spans, instants, counters, messages ---- */

/*
 * One result for every source: a trace, or a foreign profile straight from its pages. The spans are the assembler's
 * (above): a span that never ended counts like any other up to the last tick of its stream, and in 'open_count' besides.
 *
 * Labels. A row is a label, the part of a name before its first U+001E, over all threads and arguments. A name without
 * a text is "<unknown>", in a trace that binds no ids "<id 42>". A label that is empty or has control characters is
 * "<parse error>"; one that contains itself or goes past a budget is "<cycle>", "<too deep>" (64 strings), "<too many
 * components>" (4,096) or "<too long>" (65,535 bytes). The 'name' of struct tbed_analysis_options is asked for ids that
 * are locations, and for no others. Different labels of more than 1 GiB in all are ERR_MEMORY: a small hostile file
 * may have more of them than any memory.
 *
 * Nesting. Each stream is walked from its last span to its first with a stack: a span's parent is the innermost span on
 * the stack that contains it, bounds included, so that of equal spans the later one is the parent; what does not contain
 * it is taken off. A span's time is taken from its parent's self time, and from no other. So spans that overlap without
 * nesting are siblings, and time that two children share is taken twice: a row whose 'self_ticks' would be below 0 has 0,
 * and 'negative_count' counts it. A span that ends before it begins has no time, at its end.
 *
 * Times. In a recursion the outer call's time contains the inner ones', so that 'total_ticks' may be more than the time
 * that passed. Where the trace's times have a resolution (struct tbed_trace_info), durations are of times cut to that.
 *
 * Categories. By the text of an event's category:
 *   QueryBlocked                    its time is blocked time
 *   IncrementalLoadResult           its time is load time
 *   IncrementalResultHashing        its time is hashing time, and not in 'time_ticks'
 *   Query, GenericActivity          each is a cache miss
 *   QueryCacheHit (instant)         a cache hit, if no QueryCacheHitCount of its label follows
 *   QueryCacheHitCount (counter)    that many cache hits
 *   ArtifactSize (counter)          its value is summed up by label, in rows of their own
 * Load and hashing time is without that of children. Values of counters below 0 count as 0.
 * Follows: in the order of a foreign file. In a trace: later in the same stream; or in another stream at a later tick,
 * at a tie in the stream of the higher number.
 *
 * Source: spec/measureme.md, section "Profiles", which has the rules exactly.
 */
struct tbed_statistics;

/*
 * Spans of one label; also asynchronous ones, which have no self time.
 *
 * Percentiles are of the durations, off by at most 1 %, and never outside [min_ticks, max_ticks].
 */
struct tbed_span_row {
    const char *name; /* terminated */
    size_t name_nbytes;
    uint32_t id;            /* one with this label; of a foreign file INVALID */
    uint64_t count;         /* with a known begin */
    uint64_t unknown_count; /* with no known begin: counted here only */
    uint64_t open_count;    /* of 'count': never ended */
    uint64_t total_ticks, self_ticks;
    uint64_t min_ticks, max_ticks; /* 0 when count is 0 */
    uint64_t p50_ticks, p90_ticks, p99_ticks, p999_ticks;

    /* By category. */
    uint64_t time_ticks;       /* 'total_ticks' without hashing */
    uint64_t invocation_count; /* 'count' without blocked time, load and hashing */
    uint64_t cache_misses, cache_hits;
    uint64_t blocked_ticks, load_ticks, hashing_ticks;
};

struct tbed_instant_row {
    const char *name;
    size_t name_nbytes;
    uint32_t id;
    uint64_t count;
};

/* 'last' is the value with the highest tick. Values are kept as doubles: beyond 2^53 they are rounded. */
struct tbed_counter_row {
    const char *name;
    size_t name_nbytes;
    uint32_t id;
    uint64_t count;
    double last, min, max;
};

/* The name is the whole format string, or "<inline text>" for messages that have none. */
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
    uint64_t value; /* the sum; bytes, for rustc */
};

struct tbed_statistics_totals {
    uint64_t block_count;     /* event blocks that were read */
    uint64_t bad_block_count; /* event blocks that the gateway refused, or that were reused meanwhile */
    uint64_t event_count;
    uint64_t begin_count, end_count, instant_count, counter_count, message_count;
    uint64_t allocation_event_count; /* ALLOC, FREE, REALLOC */
    uint64_t async_event_count, flow_event_count;
    uint64_t unknown_count;                    /* events of types this version does not know */
    uint64_t decrease_count;                   /* events with a tick below the one before */
    uint64_t gap_count;                        /* GAP events */
    uint64_t gap_drops[TBED_DROP_CAUSE_COUNT]; /* dropped records that they report, by cause */
    uint64_t unnamed_open_count;  /* open spans, counted by the blocks' depths, that no block names */
    uint64_t damaged_block_count; /* blocks whose events were read only in part */
    uint64_t whole_span_count;    /* SPAN events; intervals of a foreign file */

    uint64_t span_count;          /* in the rows: with a known begin */
    uint64_t open_span_count;     /* of them: never ended */
    uint64_t unknown_begin_count; /* spans with no known begin: they have no time */
    uint64_t span_ticks;          /* over streams: the latest end less the earliest begin of their spans */
    uint64_t stream_count;        /* that have spans */
    uint64_t inverted_count;      /* spans that end before they begin */
    uint64_t overlap_count;       /* spans that overlap one in front of them, neither containing the other */
    uint64_t negative_count;      /* rows whose self time came out below 0 */
    uint64_t unnamed_count;       /* spans, instants and counters whose label has no text */

    uint64_t foreign_version;      /* of a foreign file's format; 0: a trace's */
    uint64_t foreign_nbytes;       /* its size */
    uint64_t foreign_damage_count; /* tbed_statistics_damage_get(); the damage of a trace is its reader's */
};

/*
 * tbed_statistics_make() reads all event blocks.
 *
 * Asynchronous spans are paired by (id, key) over all streams in order of time, an end with the newest open
 * begin; this takes a second, sequential pass over the streams that have any. A stream that seems to have nothing but
 * begins and ends, and has more, makes everything be read a second time.
 *
 * Ownership: '*statistics_ret' is the caller's, freed by tbed_statistics_close(). Untouched on failure.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT. Damage is no error: what can be read is, the rest joins the damage
 *            list.
 * Threads:   starts threads of its own; goes on with fewer where they cannot be had.
 */
enum tbed_status tbed_statistics_make(struct tbed_reader *reader, const struct tbed_analysis_options *options,
                                      struct tbed_statistics **statistics_ret);

/*
 * The same for a foreign profile (see <tracebed/exchange.h>), straight from its pages, without importing it. Its
 * ticks are nanoseconds unless tbed_statistics_unit() says otherwise. The result is that of tbed_statistics_make() of
 * its import.
 *
 * Errors: those of opening, ERR_NOT_A_TRACE if it is none; ERR_PROFILE_VERSION, ERR_MEMORY, ERR_ARGUMENT. Damage is no
 *         error: tbed_statistics_damage_get().
 */
enum tbed_status tbed_statistics_make_foreign(const char *path, const struct tbed_analysis_options *options,
                                              struct tbed_statistics **statistics_ret,
                                              struct tbed_error *error_ret);
/* The same for an open paged file. 'fd' stays the caller's. */
enum tbed_status tbed_statistics_make_foreign_fd(int fd, const struct tbed_analysis_options *options,
                                                 struct tbed_statistics **statistics_ret,
                                                 struct tbed_error *error_ret);

void tbed_statistics_close(struct tbed_statistics *statistics); /* NULL is fine */

static inline void tbed_statistics_totals(const struct tbed_statistics *statistics,
                                          struct tbed_statistics_totals *totals_ret);

/* The rows, in the order of their names' bytes. NULL past the last. */
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

/* What ticks count where they are no time, "instructions"; NULL where they are time. */
const char *tbed_statistics_unit(const struct tbed_statistics *statistics);

/* The damage of a foreign file, except in strings that no event needed; the first few. False past the last. */
struct tbed_foreign_damage {
    enum tbed_status status;
    uint32_t file; /* of a format in several files: which; else 0 */
    uint64_t offset, detail;
};
static inline bool tbed_statistics_damage_get(const struct tbed_statistics *statistics, size_t index,
                                              struct tbed_foreign_damage *damage_ret);

/* ---- Stacks: time by the path of labels that leads to it ---- */

/*
 * A stack is a path of labels, from a root through spans to the span that nothing more is nested in. Spans are the
 * assembler's, nest and have labels as in the statistics (above): summed up by label, the stacks have the same counts,
 * totals and self times, unless TBED_STACK_DEPTH_MAX is exceeded. A span whose begin is not known is in no stack.
 *
 * Roots stand for processes, or for threads below them ('per_thread'); processes, and threads of one process, that
 * share a name share a root. A root's time is that of its streams, each from the begin of its first span to the
 * latest end; its self time is what no span covers. A root is called after its process; "rustc" in an imported
 * profile, which is what measureme's own tools call it; "<no process>" for streams that do not tell theirs. Threads
 * are called by their names, else "thread TID".
 *
 * A path's self time is its time less that of the paths one longer. Where spans overlap without nesting that may come
 * out below 0: it is 0 then, and 'negative_count' tells. So self times add up to what 'total_ticks' of a root says,
 * which may be more than the time that passed.
 *
 * What lies deeper than TBED_STACK_DEPTH_MAX spans is put together as "<deeper>": that keeps a hostile file from making
 * a large result.
 */
#define TBED_STACK_DEPTH_MAX 1024u

struct tbed_stacks;

struct tbed_stacks_options {
    size_t size;             /* sizeof(struct tbed_stacks_options); lets the struct grow */
    unsigned thread_count;   /* 0: as many as there are processors */
    const uint32_t *streams; /* only these; NULL: all */
    size_t stream_count;
    bool per_thread;
    const char *root;        /* what every process is called; NULL: as said above */
    tbed_name_function name; /* of places in code, each asked for once; NULL: tbed_id_text() */
    void *name_context;
    tbed_prepare_function prepare; /* before 'name'; NULL: nobody is told */
};

struct tbed_stack_row {
    const char *label; /* terminated; stand-ins as in profiles */
    size_t label_nbytes;
    size_t parent;        /* its row; SIZE_MAX: none */
    uint32_t depth;       /* 0: a root */
    uint64_t count;       /* spans; of a root: streams */
    uint64_t open_count;  /* of them: that never ended, and count up to the last event */
    uint64_t self_ticks;  /* in no deeper stack */
    uint64_t total_ticks; /* with all deeper ones */
    uint32_t id;          /* the lowest with this label; INVALID: of a root without one */
    uint64_t span_ticks;  /* of its own spans; of a root, of its streams */
    int64_t
        signed_self_ticks; /* 'span_ticks' less those one deeper: below 0 where spans overlap without nesting */
};

struct tbed_stacks_totals {
    uint64_t span_count;      /* in the stacks */
    uint64_t stream_count;    /* that have such spans */
    uint64_t inverted_count;  /* spans that end before they begin: they count with no time, at their end */
    uint64_t overlap_count;   /* spans found to overlap the span they were compared with, without nesting */
    uint64_t negative_count;  /* stacks whose self time came out below 0 */
    uint64_t deep_count;      /* spans deeper than TBED_STACK_DEPTH_MAX */
    uint64_t unknown_count;   /* with no known begin: in no stack */
    uint64_t open_count;      /* of 'span_count': never ended */
    uint64_t bad_block_count; /* event blocks that could not be read, or only in part */
    uint64_t other_count;     /* events that are no spans */
};

/*
 * tbed_stacks_make() reads all event blocks, each stream from its end to its start, several streams at once.
 * Memory grows with the number of different paths and names, and of spans open at one time.
 *
 * Ownership: '*stacks_ret' is the caller's, freed by tbed_stacks_close(). Untouched on failure. 'options' may be
 *            NULL; nothing of them is kept.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT. Damage is no error: what can be read is, the rest joins the damage list.
 */
enum tbed_status tbed_stacks_make(struct tbed_reader *reader, const struct tbed_stacks_options *options,
                                  struct tbed_stacks **stacks_ret);
void tbed_stacks_close(struct tbed_stacks *stacks); /* NULL is fine */
static inline void tbed_stacks_totals(const struct tbed_stacks *stacks,
                                      struct tbed_stacks_totals *totals_ret);

/* Each row directly before its children, which stand in the order of their labels' bytes. NULL past the last. */
const struct tbed_stack_row *tbed_stacks_row(const struct tbed_stacks *stacks, size_t index);

/* ---- Allocations ---- */

struct tbed_allocations;

/*
 * What happened to memory, of one process, or of one site (then its blocks are those allocated at the site,
 * wherever they were freed).
 *
 * A REALLOC is one allocation of its size and, if it took an old block away, one free. An allocation that
 * finds its address still in use ends the block that was there ('replaced_count'): its free was not seen.
 * Live is what was never freed in the trace.
 */
struct tbed_allocation_sums {
    uint64_t count, nbytes;   /* allocations that succeeded */
    uint64_t freed_count;     /* blocks given back, by FREE or REALLOC */
    uint64_t replaced_count;  /* blocks whose address was given out again with no free seen */
    uint64_t temporary_count; /* freed by the very next allocation event of the thread that allocated */
    uint64_t failed_count;    /* allocations that failed */
    uint64_t live_count, live_nbytes; /* at the end of the trace */
    uint64_t peak_nbytes; /* process: the most bytes live at one time. Site: its bytes live at that time of
                             its process */
};

/*
 * A forked process begins with the blocks that its parent had. They stay the parent's in all figures: 'sums'
 * are what the process allocated itself. What it frees of its parent's is counted and changes nothing else.
 * The moment of the fork is not in the trace, only that of the child's first event: so a block counts as its
 * parent's if the parent, or one that this was forked from in turn, had allocated it at any time before.
 */
struct tbed_allocation_process {
    uint32_t process; /* stream number of the process; 0: of streams that do not tell theirs */
    uint32_t pid;     /* 0: not told */
    uint32_t name_id;
    uint32_t forked_from; /* stream number of a process, 0: none */
    struct tbed_allocation_sums sums;
    uint64_t peak_tick;
    uint64_t inherited_free_count; /* frees of blocks of the process that this one was forked from */
    uint64_t unknown_free_count;   /* frees of any other address that this process was not seen to allocate */
    uint64_t null_free_count;      /* frees of address 0, which do nothing */
    uint64_t event_count;          /* ALLOC, FREE and REALLOC events */
};

/*
 * One of 'moment_count' equal parts of the trace's time. A process counts from its first to its last allocation event.
 * What is told is the sum over all processes: 'peak_nbytes' is then at least what was live at any one time.
 */
struct tbed_allocation_moment {
    uint64_t tick;        /* where it begins */
    uint64_t live_nbytes; /* at its end */
    uint64_t peak_nbytes; /* the most at one time in it */
    uint64_t count;       /* allocations that succeeded in it */
};

struct tbed_allocation_site {
    const char *name; /* terminated */
    size_t name_nbytes;
    uint32_t id;                      /* the lowest of those with this name */
    struct tbed_allocation_sums sums; /* over all processes */
};

/*
 * tbed_allocations_make() follows all blocks of memory in order of time, each process for itself, several
 * processes in parallel. For processes that were forked from, every address that they ever gave out is kept.
 *
 * Ownership, errors, threads: as tbed_statistics_make().
 */
enum tbed_status tbed_allocations_make(struct tbed_reader *reader,
                                       const struct tbed_analysis_options *options,
                                       struct tbed_allocations **allocations_ret);
void tbed_allocations_close(struct tbed_allocations *allocations);

/* The sums over all processes. Its peak is the sum of their peaks, each at its own time. */
void tbed_allocations_totals(const struct tbed_allocations *allocations,
                             struct tbed_allocation_sums *sums_ret);

/* Processes that have allocation events, by rising number; sites by text. NULL past the last. */
const struct tbed_allocation_process *tbed_allocations_process(const struct tbed_allocations *allocations,
                                                               size_t index);
const struct tbed_allocation_site *tbed_allocations_site(const struct tbed_allocations *allocations,
                                                         size_t index);
/* In order of time. */
const struct tbed_allocation_moment *tbed_allocations_moment(const struct tbed_allocations *allocations,
                                                             size_t index);

/* ---- Structs that may grow: the size that the caller knows goes along, see "ABI" in format.h ---- */

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
