/*
 * tracebed/reader.h: read a trace in place.
 *
 * A reader maps the file and walks its bytes where they are. Text, payloads and stacks that it hands out are
 * pointers into the map, valid until tbed_reader_close().
 *
 * Caveats. A file that another program cuts short while it is mapped raises SIGBUS in whoever reads the missing
 * part; one that a hostile program rewrites while it is read can show two values for one byte. Opening with
 * 'copy' reads the file into memory first and is safe against both. Traces on network file systems are read best
 * after their writers have ended.
 *
 * Threads: a 'struct tbed_reader' may be shared by any number of threads once it is open, but for
 * tbed_reader_refresh(), which nothing else may run beside. A cursor, a merge or a string walk belongs to one
 * thread at a time.
 *
 * Source: spec/format.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_READER_H
#define TRACEBED_READER_H

#include <tracebed/format.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tbed_reader;
struct tbed_cursor;
struct tbed_merge;

/* ---- Opening ---- */

struct tbed_reader_options {
    size_t size;      /* sizeof(struct tbed_reader_options); lets the struct grow */
    bool copy;        /* read the file into private memory; no later change of the file is seen */
    bool skip_hashes; /* trust sealed blocks without computing their checksums; all other checks stand */
};

/*
 * tbed_reader_open() opens a trace, checks its header page and the header of every block.
 *
 * Ownership: '*reader_ret' is the caller's, freed by tbed_reader_close(). Untouched on failure.
 *            'error_ret' may be NULL, here and below.
 * Errors:    ERR_OPEN, ERR_READ, ERR_MAP, ERR_MEMORY with 'system_errno'; the file checks of section 12 that
 *            stop the reading. Whatever else is wrong does not fail the call: see tbed_damage_get().
 * Threads:   any.
 */
enum tbed_status tbed_reader_open(const char *path, const struct tbed_reader_options *options,
                                  struct tbed_reader **reader_ret, struct tbed_error *error_ret);

/* The same for an open file; 'fd' stays the caller's and may be closed after the call. */
enum tbed_status tbed_reader_open_fd(int fd, const struct tbed_reader_options *options,
                                     struct tbed_reader **reader_ret, struct tbed_error *error_ret);

/*
 * The same for bytes in memory, which stay the caller's and must outlive the reader.
 * 'bytes' must be aligned to 8.
 */
enum tbed_status tbed_reader_open_memory(const void *bytes, size_t nbytes,
                                         const struct tbed_reader_options *options,
                                         struct tbed_reader **reader_ret, struct tbed_error *error_ret);

/* Frees the reader, and with it all that it handed out. NULL is fine. Close cursors and merges first. */
void tbed_reader_close(struct tbed_reader *reader);

/*
 * tbed_reader_refresh() looks again at a file that is being written: pages claimed since, blocks sealed since,
 * new records. Pointers handed out before stay valid; open cursors see the new blocks of their streams.
 *
 * Errors: ERR_READ, ERR_MAP, ERR_MEMORY; the reader stays as it was.
 */
enum tbed_status tbed_reader_refresh(struct tbed_reader *reader, struct tbed_error *error_ret);

/* ---- What the file says of itself ---- */

struct tbed_trace_info {
    uint64_t file_nbytes;
    uint32_t page_nbytes;
    uint64_t page_count; /* claimed, the header page included */
    uint64_t file_id;
    uint32_t ring_page_count; /* 0: append mode */
    bool shut;                /* closed cleanly */
    uint64_t writer_count;    /* attached and not detached */
    enum tbed_clock clock;
    uint64_t ticks_per_second;                                          /* 0: ticks are no time */
    char clock_unit[17];                                                /* of TBED_CLOCK_USER, terminated */
    uint64_t event_block_count, string_block_count, record_block_count; /* good ones, cells included */
    uint64_t unsealed_block_count;
    uint64_t unwritten_page_count;     /* claimed, never begun */
    uint64_t interrupted_record_count; /* left behind by killed writers; counted by tbed_reader_verify() */
    uint32_t stream_count;             /* streams that have blocks or a STREAM record */
    /* Over all event blocks; an unsealed block's end is found by walking it. Given ticks start with the header's anchor:
     * an import's first tick is 0, where the profile starts. */
    uint64_t first_tick, last_tick;
    uint64_t drops[TBED_DROP_CAUSE_COUNT];
    /* Counted by tbed_reader_verify(): events of later versions, events with a tick below the one before. */
    uint64_t unknown_event_count;
    uint64_t tick_decrease_count;
    uint64_t unit_count, stack_count; /* call stacks */
    uint64_t described_count;         /* ids that have frames in the file */
    /* Of a file that is one of a series: which, from 1 (0: it is none), the id of the first file and of the one before. */
    uint32_t series_number;
    uint64_t series_id, previous_file_id; /* the latter 0 in the first */
    uint32_t series_failed_count; /* rotations that failed while this file was the running one; at least */
    uint64_t
        resolution_ticks; /* times are known to this; below it ticks tell the order only. 1: to the tick */
};
static inline void tbed_reader_info(const struct tbed_reader *reader, struct tbed_trace_info *info_ret);

struct tbed_process_info {
    uint32_t stream; /* its number */
    uint32_t pid, parent_pid;
    uint32_t name_id;     /* the newest NAME, else the PROCESS record's */
    uint32_t forked_from; /* stream number of a process, 0: none */
    uint64_t tick;
    uint64_t end_tick; /* 0: no END record */
};
/* The processes, in order of their numbers. False past the last. */
static inline bool tbed_process_get(const struct tbed_reader *reader, size_t index,
                                    struct tbed_process_info *info_ret);

struct tbed_stream_info {
    uint32_t stream;
    uint32_t process; /* stream number of its process; 0: no STREAM record */
    uint32_t kind;    /* enum tbed_stream_kind; 0: no STREAM record */
    uint32_t tid;
    uint32_t name_id; /* TBED_ID_INVALID: none */
    uint32_t forked_from;
    uint64_t tick;
    uint64_t end_tick;    /* 0: no END record */
    uint32_t block_count; /* event blocks */
};
/* The streams that have events or a STREAM record, in order of their numbers. False past the last. */
static inline bool tbed_stream_get(const struct tbed_reader *reader, size_t index,
                                   struct tbed_stream_info *info_ret);

struct tbed_unit_info {
    uint32_t first_id, id_count;
    uint32_t kind; /* enum tbed_unit_kind */
    uint32_t pc_shift;
    uint32_t name_id, file_id, first_line;
    uint64_t base;
    const uint8_t *build_id; /* into the map */
    uint32_t build_id_nbytes;
};
/* The code units, by rising first id. False past the last. */
bool tbed_unit_get(const struct tbed_reader *reader, size_t index, struct tbed_unit_info *info_ret);

struct tbed_load_info {
    uint32_t process, first_id;
    uint64_t address, nbytes, tick;
};
/* The LOAD records in file order. False past the last. */
static inline bool tbed_load_get(const struct tbed_reader *reader, size_t index,
                                 struct tbed_load_info *info_ret);

/* The unit that 'id' lies in, and its pc (an ELF address, or an index of instructions). False: no location. */
bool tbed_location_find(const struct tbed_reader *reader, uint32_t id, struct tbed_unit_info *unit_ret,
                        uint64_t *pc_ret);

/* The line of 'pc' by the unit's LINES records; 0: not told. */
uint32_t tbed_location_line(const struct tbed_reader *reader, const struct tbed_unit_info *unit, uint64_t pc);

/*
 * A call stack (section 8.5): the location of its innermost frame, and the stack of the caller, TBED_ID_INVALID for the
 * outermost. A parent's id is lower than its stack's, so following parents ends. False: 'id' is no stack.
 */
bool tbed_stack_get(const struct tbed_reader *reader, uint32_t id, uint32_t *location_ret,
                    uint32_t *parent_ret);

/* The locations of a stack, innermost first: at most 'capacity' of them, and how many there are of these. 0: no stack. */
size_t tbed_stack_locations(const struct tbed_reader *reader, uint32_t id, uint32_t *locations,
                            size_t capacity);

enum tbed_frames_source {
    TBED_FRAMES_NONE,     /* the file does not tell: native code. libtracebed-symbols looks further */
    TBED_FRAMES_GIVEN,    /* by a FRAMES record, of "tracebed symbolize" perhaps */
    TBED_FRAMES_OF_LINES, /* a bytecode unit's name, file and lines */
};

/* One function at a location: where code was inlined there are several. */
struct tbed_frame_info {
    uint32_t function_id, file_id; /* of strings; TBED_ID_INVALID: not known */
    uint32_t line;                 /* 0: not known */
};

struct tbed_location {
    uint32_t id;   /* of the location: what a stack or a bound id led to */
    bool has_unit; /* what is in a unit's range */
    struct tbed_unit_info unit;
    uint64_t pc; /* an ELF address, or an index of instructions */
    enum tbed_frames_source source;
    size_t frame_count;           /* tbed_location_frame() gives them */
    const void *frames;           /* into the map */
    struct tbed_frame_info frame; /* if there is no record of them */
};

/*
 * tbed_location_resolve() tells what the file itself knows of a location: its unit, its pc, and its frames. A bound id
 * and a stack lead to the location that they mean. Of a string's id: the one frame that says where in the program it
 * stands, if that is known. False: 'id' is none. A binary search; nothing is kept.
 */
static inline bool tbed_location_resolve(const struct tbed_reader *reader, uint32_t id,
                                         struct tbed_location *location_ret);

/* The frames of a location, the innermost (inlined) one first. False past the last. */
bool tbed_location_frame(const struct tbed_location *location, size_t index,
                         struct tbed_frame_info *frame_ret);

struct tbed_binding_info {
    uint32_t first_id, id_count, string_id;
};
/* The bindings in file order; a pair of a BIND_LIST is one with 'id_count' 1. False past the last. */
bool tbed_binding_get(const struct tbed_reader *reader, size_t index, struct tbed_binding_info *info_ret);

/* What the id is bound to, a string or another reserved id; the last binding counts. False: it is not bound. */
bool tbed_id_binding(const struct tbed_reader *reader, uint32_t id, uint32_t *string_id_ret);

/* The counter's unit as a string id; TBED_ID_INVALID: not told. */
uint32_t tbed_counter_unit(const struct tbed_reader *reader, uint32_t counter_id);

/* ---- Damage ---- */

struct tbed_damage {
    enum tbed_status status;
    uint64_t offset; /* in the file */
    uint64_t page;   /* its number; UINT64_MAX: the whole file */
    uint32_t cell;
    uint64_t detail; /* the value found, where there is one */
};

/*
 * What is wrong with the file, as far as it has been looked at: at open, headers and records; later, whatever a
 * cursor or a string walk came across. Each place once, in the order found. False past the last. At most
 * TBED_DAMAGE_KEPT_MAX are kept; tbed_damage_count() counts all.
 */
#define TBED_DAMAGE_KEPT_MAX 10000u
static inline bool tbed_damage_get(const struct tbed_reader *reader, size_t index,
                                   struct tbed_damage *damage_ret);
uint64_t tbed_damage_count(const struct tbed_reader *reader);

/*
 * tbed_reader_verify() checks everything that section 12 lists: every checksum, word, entry and record. That an id
 * resolves is no part of it: a reserved id need never be bound, and of a lost page its damage tells. Its findings join the list above. Returns OK if there are none, else the first one's status.
 */
enum tbed_status tbed_reader_verify(struct tbed_reader *reader);

/* ---- Blocks: for analyses that take pages apart themselves ---- */

struct tbed_block {
    const uint8_t *bytes; /* the block, header included; into the map */
    uint32_t nbytes;
    uint32_t used_nbytes; /* sealed: the header's; else nbytes: stop at the first zero word */
    bool sealed;
    enum tbed_block_kind kind;
    uint32_t page, cell, stream, sequence, generation;
    uint32_t string_page;
    uint64_t first_tick;
    uint64_t last_tick; /* 0 when not sealed */
    uint32_t depth;
    uint32_t stored_count; /* open spans that it stores */
    const uint64_t *words; /* first event word; into the map */
    const uint64_t *words_end;
    uint64_t offset; /* in the file */
};

/* How many good event blocks there are. They are numbered by stream, then sequence. */
size_t tbed_event_block_count(const struct tbed_reader *reader);

/*
 * The gateway: all access to event blocks goes through it. Checks the block, its checksum included when sealed,
 * the first time it is asked for.
 *
 * Errors: the block's own ERR_BLOCK_…, which is in the damage list too; ERR_ARGUMENT past the last.
 */
static inline enum tbed_status tbed_event_block_get(const struct tbed_reader *reader, size_t index,
                                                    struct tbed_block *block_ret);

/* The number of the stream's first event block, and how many it has. {0, 0} if none. */
void tbed_stream_blocks(const struct tbed_reader *reader, uint32_t stream, size_t *first_ret,
                        size_t *count_ret);

/* The open span 'index' (0: outermost) of those that the block stores. 'index' < stored_count. */
void tbed_block_open_span(const struct tbed_block *block, uint32_t index, uint64_t *begin_tick_ret,
                          uint32_t *id_ret);

/* ---- Events ---- */

enum tbed_event_type {
    TBED_EVENT_BEGIN,
    TBED_EVENT_END,
    TBED_EVENT_INSTANT,
    TBED_EVENT_COUNTER,
    TBED_EVENT_MESSAGE,
    TBED_EVENT_ALLOC,
    TBED_EVENT_FREE,
    TBED_EVENT_REALLOC,
    TBED_EVENT_ASYNC_BEGIN,
    TBED_EVENT_ASYNC_END,
    TBED_EVENT_FLOW_BEGIN,
    TBED_EVENT_FLOW_STEP,
    TBED_EVENT_FLOW_END,
    TBED_EVENT_GAP,
    TBED_EVENT_SPAN,    /* a whole span, told when it ended: 'tick' is its end */
    TBED_EVENT_UNKNOWN, /* of a later version or an application; 'unknown' says which */
};

/* Where the arguments of an event stand, and how: for tbed_argument_next(). */
struct tbed_arguments {
    const void *at;
    uint32_t packed_types; /* 4 bits each; 0: each argument has a header */
};

/*
 * An event.
 *
 * Units:     ticks are the trace's clock; tbed_ticks_to_ns() converts. Sizes are in bytes.
 * Ownership: 'arguments' and their texts point into the map; those of a live flight recorder into the cursor or the
 *            merge, until its next call.
 */
struct tbed_event {
    enum tbed_event_type type;
    uint32_t stream;
    uint32_t id;
    uint32_t category; /* of BEGIN, INSTANT, COUNTER, SPAN: id of a string; TBED_ID_INVALID: none */
    uint64_t tick;
    bool extended; /* an EXTENDED record, not a single word or a pair */
    union {
        struct {
            uint64_t begin_tick; /* 0: not in this event */
            uint64_t end_tick;   /* the event's own; where 'leaves' is set any other, and 0: it never ends */
            bool leaves; /* the span only leaves the stack of open spans here: it ends at 'end_tick' */
        } end;
        struct {
            uint64_t begin_tick; /* may be above 'tick', and 0 is a tick like any other */
        } span;
        struct {
            uint64_t address, size;
            uint32_t function;
        } alloc; /* FREE: size 0 */
        struct {
            uint64_t old_address, address, size, begin_tick;
        } realloc;
        struct {
            uint64_t key;
        } async; /* and flows */
        struct {
            uint64_t count;
            uint32_t cause;
        } gap;
        struct {
            uint32_t severity;
            bool has_context; /* the format is "context U+001E format", if there is a U+001E in it */
        } message;
        struct {
            uint32_t tag, nwords;
        } unknown; /* tag as in spec/format.md, section 14 */
    } of;
    struct tbed_argument counter_value; /* COUNTER: I64, U64 or F64 */
    struct tbed_arguments arguments;    /* a COUNTER's value not among them */
    uint32_t argument_count;
    uint64_t offset; /* of the event's word in the file; UINT64_MAX from a block that is no file's */
};

/*
 * The arguments of an event, one after another: start with a copy of event->arguments; each call takes one, up to
 * event->argument_count of them. They were checked when the event was decoded.
 */
void tbed_argument_next(struct tbed_arguments *at, struct tbed_argument *argument_ret);

/*
 * A cursor walks one stream, from its first block to its last.
 *
 * Errors of tbed_cursor_next(): TBED_END at the end, which may have moved after tbed_reader_refresh(); damage is
 * skipped, joins the damage list, and is no error here.
 */
enum tbed_status tbed_cursor_open(struct tbed_reader *reader, uint32_t stream,
                                  struct tbed_cursor **cursor_ret);
static inline enum tbed_status tbed_cursor_next(struct tbed_cursor *cursor, struct tbed_event *event_ret);
/* Open spans after the last event, as the cursor has seen them. */
uint32_t tbed_cursor_depth(const struct tbed_cursor *cursor);
/* Skip to the first block that may hold events at or after 'tick'. */
void tbed_cursor_seek(struct tbed_cursor *cursor, uint64_t tick);
/*
 * Passes over blocks that have no event from 'first_tick' to 'last_tick' (inclusive) by what their headers say; they are
 * not checked either. Exact: no event in the window is lost, and some outside are given, so each is to be looked at.
 * Ticks that are given may go back in a block: of those only blocks that end below the window are passed over.
 */
void tbed_cursor_limit(struct tbed_cursor *cursor, uint64_t first_tick, uint64_t last_tick);
void tbed_cursor_close(struct tbed_cursor *cursor);

/*
 * A merge walks all streams in order of time; at a tie the lower stream number comes first.
 * 'streams' with 'stream_count' limits it to some; NULL: all.
 */
enum tbed_status tbed_merge_open(struct tbed_reader *reader, const uint32_t *streams, size_t stream_count,
                                 struct tbed_merge **merge_ret);
static inline enum tbed_status tbed_merge_next(struct tbed_merge *merge, struct tbed_event *event_ret);
void tbed_merge_seek(struct tbed_merge *merge, uint64_t tick);
/* As tbed_cursor_limit(), for all its streams, from their starts on. */
void tbed_merge_limit(struct tbed_merge *merge, uint64_t first_tick, uint64_t last_tick);
void tbed_merge_close(struct tbed_merge *merge);

/* ---- Strings ---- */

/*
 * What a string may cost. A file of a few hundred bytes can hold one of 2^40 leaves: every call below is bounded.
 *
 * Where a call takes one, NULL means all defaults, as does 0 in a field. Budgets are inclusive.
 * Errors: ERR_STRING_DEPTH, ERR_STRING_COMPONENTS, ERR_STRING_BYTES, each for its own budget.
 */
struct tbed_string_budget {
    size_t size;    /* sizeof(struct tbed_string_budget); lets the struct grow */
    uint32_t depth; /* ids open at once; 64, which is also the most, and as many bound ones beside them */
    uint64_t component_count; /* texts and references; 2^20 */
    uint64_t nbytes;          /* of text; 2^24 */
};

struct tbed_string_component {
    bool is_reference;
    uint32_t id;      /* of a reference */
    const char *text; /* else; into the map, not terminated, valid UTF-8 */
    uint32_t nbytes;
};

/*
 * The components of one entry, not expanded; a bound id leads to its string first. 'at' starts as 0 and is the walk's
 * own; TBED_END after the last.
 */
enum tbed_status tbed_string_component_next(const struct tbed_reader *reader, uint32_t id, uint32_t *at,
                                            struct tbed_string_component *component_ret);

/*
 * tbed_string_resolve() writes the text of 'id', components expanded, into 'buffer', at most 'buffer_nbytes'
 * bytes, always terminated if there is room for that, and sets '*nbytes_ret' to the whole length without the
 * terminator (as snprintf does). A location's text is its unit's name, "+0x" and the pc. Default budgets.
 *
 * Errors: ERR_STRING_…, ERR_MEMORY. What has no text shows as a stand-in in its place, and the first such trouble is
 *         the status: "opening <id 42>" (never given a meaning), "<no id>" (INVALID), "<dangling id 42>" (STRING_ID),
 *         "<damaged id 42>" (STRING_LENGTH, STRING_HASH), "<unterminated id 42>" (STRING_END), "<not UTF-8: id 42>".
 *         Of a cycle, or where a budget ends the walk, a stand-in is all there is: "<cycle>", "<too deep>",
 *         "<too many components>", "<too long>".
 */
enum tbed_status tbed_string_resolve(const struct tbed_reader *reader, uint32_t id, char *buffer,
                                     size_t buffer_nbytes, size_t *nbytes_ret);

/*
 * Takes a piece of text, valid UTF-8, not terminated and never empty. It points into the map, or into memory of the
 * call (stand-ins, the pc of a location), which is gone when the function returns. False: enough.
 */
typedef bool (*tbed_string_function)(void *context, const char *text, size_t nbytes);

/*
 * tbed_string_stream() gives the text of 'id' to 'function' piece by piece: no copy, and no limit but the budget.
 * That is checked first: a string that exceeds it, or a cycle, is one piece, its stand-in.
 *
 * Errors: as tbed_string_resolve(); TBED_END when the function had enough.
 */
enum tbed_status tbed_string_stream(const struct tbed_reader *reader, uint32_t id,
                                    const struct tbed_string_budget *budget, tbed_string_function function,
                                    void *context);

/*
 * The length of the text in bytes, stand-ins included, without expanding it: each id is measured once. Here the
 * budget of components counts those that are looked at, and that of bytes does not matter.
 *
 * Errors: ERR_STRING_…, ERR_MEMORY. 2^64 bytes or more are UINT64_MAX and ERR_STRING_BYTES. '*nbytes_ret' is set with
 *         OK, and with troubles that have a stand-in in their place; else it is that of the only stand-in, or UINT64_MAX.
 */
enum tbed_status tbed_string_length(const struct tbed_reader *reader, uint32_t id,
                                    const struct tbed_string_budget *budget, uint64_t *nbytes_ret);

/*
 * Do two ids mean the same text? Nothing is expanded: lengths are compared first, the same id at the same offset is
 * passed over, so is a pair of ids that was found equal before. The budget of components counts those looked at;
 * that of bytes does not matter.
 *
 * Errors: ERR_STRING_…, ERR_MEMORY when one of them has no whole text, or the budget is used up; '*equal_ret' is
 *         then false, which says nothing.
 */
enum tbed_status tbed_string_equals(const struct tbed_reader *reader, uint32_t id, uint32_t other_id,
                                    const struct tbed_string_budget *budget, bool *equal_ret);

/* The same with a text of the caller's. Texts of another length are not looked at; those compared cost at most
 * 'nbytes'. */
enum tbed_status tbed_string_equals_text(const struct tbed_reader *reader, uint32_t id, const char *text,
                                         size_t nbytes, const struct tbed_string_budget *budget,
                                         bool *equal_ret);

/*
 * The id's string when it is one text component, or none: a pointer into the map, no copy. Else ERR_ARGUMENT or
 * ERR_STRING_….
 */
enum tbed_status tbed_string_text(const struct tbed_reader *reader, uint32_t id, const char **text_ret,
                                  size_t *nbytes_ret);

/*
 * A nested walk over all that an id means, depth first: the id itself is entered first and left last.
 *
 *   ENTER  'id' begins; 'meaning' says what it is: a string, bound to another id (which is entered next), a location
 *   TEXT   a piece of text
 *   TROUBLE 'id' has no text here, 'status' says why and 'text' is its stand-in. A cycle and what is too deep are
 *          troubles in their place here, and the walk goes on
 *   LEAVE  'id' ends
 *
 * Ownership: 'text' points into the map, or into the walk (stand-ins, the pc of a location) until the next call.
 * Errors:    of next: TBED_END after the last LEAVE; ERR_STRING_COMPONENTS and ERR_STRING_BYTES end the walk, and
 *            stay. Of open: ERR_ARGUMENT (the budget), ERR_MEMORY.
 */
enum tbed_string_step {
    TBED_STRING_ENTER,
    TBED_STRING_TEXT,
    TBED_STRING_TROUBLE,
    TBED_STRING_LEAVE,
};
enum tbed_string_meaning {
    TBED_STRING_IS_ENTRY,
    TBED_STRING_IS_BOUND,
    TBED_STRING_IS_LOCATION,
};
struct tbed_string_node {
    enum tbed_string_step step;
    enum tbed_string_meaning meaning; /* of ENTER and LEAVE */
    enum tbed_status status;          /* of TROUBLE */
    uint32_t depth;                   /* ids that are open around it: 0 for the id asked for */
    uint32_t id;                      /* of TEXT: the innermost that is open */
    const char *text;                 /* of TEXT and TROUBLE; not terminated */
    size_t nbytes;
};
struct tbed_string_walk;
enum tbed_status tbed_string_walk_open(const struct tbed_reader *reader, uint32_t id,
                                       const struct tbed_string_budget *budget,
                                       struct tbed_string_walk **walk_ret);
enum tbed_status tbed_string_walk_next(struct tbed_string_walk *walk, struct tbed_string_node *node_ret);
/* Passes over the rest of the innermost id that is open: its LEAVE is next. */
void tbed_string_walk_skip(struct tbed_string_walk *walk);
void tbed_string_walk_close(struct tbed_string_walk *walk);

/* ---- Names: what an id means, for people and for programs ---- */

/*
 * Looks up native code that the file does not describe. libtracebed-symbols has one: tbed_symbols_attach().
 *
 * Threads:   a reader calls its resolver from any thread, but from one at a time. A resolver does not call the reader.
 * Ownership: the texts of frames stay valid as long as the resolver is set; 'path' until it returns.
 */
struct tbed_frame;
struct tbed_resolver {
    size_t size; /* sizeof(struct tbed_resolver); lets the struct grow */
    void *context;
    /* The functions at 'pc', an address as the unit's ELF file has it, which was at 'path': as tbed_id_frames(). */
    size_t (*frames)(void *context, const struct tbed_unit_info *unit, const char *path, uint64_t pc,
                     struct tbed_frame *frames, size_t capacity);
    /* All of these will be asked for: the time to look them up together. They rise. May be NULL. */
    void (*prepare)(void *context, const struct tbed_unit_info *unit, const char *path, const uint64_t *pcs,
                    size_t count);
};

/*
 * Gives the reader a resolver, or (NULL) takes it away. Everything below then uses it. Call this before other threads
 * use the reader; 'context' must outlive the reader.
 *
 * Errors: ERR_ARGUMENT, ERR_MEMORY.
 */
enum tbed_status tbed_reader_set_resolver(struct tbed_reader *reader, const struct tbed_resolver *resolver);

/*
 * Looks up all native code among 'ids' in one go, also what bindings and call stacks among them lead to: with
 * 'whole_stacks' all of their frames, else the innermost. Naming ids one by one gives the same names, but takes much
 * longer. Does nothing without a resolver.
 */
void tbed_names_prepare(const struct tbed_reader *reader, const uint32_t *ids, size_t count,
                        bool whole_stacks);

/*
 * tbed_native_code_find() reads all events and gives the ids of the native code that they, their arguments and their
 * call stacks use, as far as the file does not describe it: rising, each once. It is what tbed_names_prepare() is to be
 * given before events are named one after another.
 *
 * Ownership: '*ids_ret' is the caller's, freed by free(); NULL if there is none.
 * Errors:    ERR_MEMORY.
 */
enum tbed_status tbed_native_code_find(struct tbed_reader *reader, uint32_t **ids_ret, size_t *count_ret);

enum tbed_id_kind {
    TBED_ID_KIND_UNKNOWN, /* it was never given a meaning */
    TBED_ID_KIND_STRING,  /* a string, or bound to one */
    TBED_ID_KIND_CODE, /* a place in a code unit of a language implementation, or one that only FRAMES describe */
    TBED_ID_KIND_NATIVE, /* an address in a module */
};

/* What an id means, in parts. A call stack means its innermost frame. */
struct tbed_id_info {
    enum tbed_id_kind kind;
    uint32_t id; /* what bindings and stacks lead to */
    /*
     * The innermost (inlined) function at a place in code, its file and line. Of a string: the place in the program
     * that uses it as a name, where that was recorded.
     */
    const char *function;
    const char *file;
    uint32_t line;      /* 0: not known */
    const char *module; /* NATIVE: the last part of its path */
    uint64_t pc;        /* NATIVE: an address as the ELF file has it; CODE: an index of instructions */
    size_t frame_count; /* functions at that place, those that others were inlined into included */
};

/*
 * tbed_id_resolve() says what an id means. The file is asked first, then the reader's resolver.
 *
 * Ownership: texts are terminated; NULL is not known. They stay valid until tbed_reader_close(), those that a resolver
 *            gave as long as it is set.
 * Errors:    false: the id has no meaning; '*info_ret' is filled all the same.
 * Threads:   any number.
 */
static inline bool tbed_id_resolve(const struct tbed_reader *reader, uint32_t id,
                                   struct tbed_id_info *info_ret);

/* One function at a place in code. */
struct tbed_frame {
    const char *function; /* NULL: not known */
    const char *file;     /* NULL: not known */
    uint32_t line;        /* 0: not known */
    bool is_inlined;      /* into the next one */
};

/*
 * All functions at a place in code, the innermost (inlined) one first.
 *
 * Shape:     at most 'capacity' are written; returns how many there are. 0: nothing is known.
 * Ownership: as tbed_id_resolve().
 */
size_t tbed_id_frames(const struct tbed_reader *reader, uint32_t id, struct tbed_frame *frames,
                      size_t capacity);

struct tbed_name {
    const char *text;
    size_t nbytes; /* the text may hold zeros */
    uint32_t id;   /* of a label: the string that is just this text; INVALID: none. Of a name: the id */
};

/* A reader keeps names of up to TBED_NAME_NBYTES_MAX bytes each, and TBED_NAMES_NBYTES_MAX in all, tables and all. */
#define TBED_NAME_NBYTES_MAX  ((size_t)64 << 10)
#define TBED_NAMES_NBYTES_MAX ((size_t)256 << 20)

/*
 * tbed_name_get() spells an id for people, in one line; every listing of the tools spells it so. A string is its text
 * (tbed_string_resolve()). A place in code is
 *
 *   "copy_node /src/tree.c:120"  function, file and line
 *   "libc.so.6!malloc"           where no line is known: module and function
 *   "libc.so.6+0x9d1e0"          where no function is known: module and address
 *   "fib+0x5"                    in a code unit without lines: its name and the index of the instruction
 *
 * Of inlined functions the innermost is named; a call stack is its innermost frame.
 *
 * Names are kept: the second time an id is asked for costs a lookup. After tbed_reader_refresh() what had a stand-in,
 * what went through an id that is bound, and places in code are named again when they are asked for. Pointers handed
 * out before stay valid, and keep the old text.
 *
 * Ownership: 'text' is terminated, the reader's, valid until tbed_reader_close().
 * Errors:    as tbed_string_resolve(); the text is then the stand-in. ERR_CACHE_FULL: not kept, longer than
 *            TBED_NAME_NBYTES_MAX or beyond TBED_NAMES_NBYTES_MAX; tbed_id_text() gives it. '*name_ret' is then
 *            untouched, as it is with ERR_MEMORY.
 * Threads:   any number. A hit takes no lock.
 */
enum tbed_status tbed_name_get(const struct tbed_reader *reader, uint32_t id, struct tbed_name *name_ret);

/* How much of a place in code to spell. Strings are spelled whole. */
enum tbed_name_part {
    TBED_NAME_ALL, /* as above */
    TBED_NAME_FUNCTION, /* without the line, and of the function that others were inlined into: "copy_node /src/tree.c",
                         * "libc.so.6!malloc"; "libc.so.6" where none is known */
    TBED_NAME_MODULE, /* "libc.so.6"; of a code unit the file */
};

/* Spells an id as snprintf() would: at most 'buffer_nbytes' bytes, terminated; returns the whole length. Not kept. */
size_t tbed_id_text(const struct tbed_reader *reader, uint32_t id, enum tbed_name_part part, char *buffer,
                    size_t buffer_nbytes);

/*
 * The label of an event id: the text before the first U+001E, all of it if there is none; of a place in code its name.
 * What comes after is not looked at. It is cheap, and no copy, where the label is one text of the string's own or of the one that it refers to
 * first; else it is put together once, and kept as names are.
 *
 * Ownership: the text is not terminated, the reader's, valid until tbed_reader_close().
 * Errors:    ERR_STRING_… of what has no text: "<unknown>" stands in its place, in a trace that binds no ids
 *            "<id 42>". For all of the label stand "<cycle>", "<too deep>", "<too many components>" (above 4,096) and
 *            "<too long>" (above 65,535 bytes). ERR_CACHE_FULL, ERR_MEMORY: '*label_ret' is untouched.
 *            tbed_event_parts_open() has neither limit, and the stand-ins of tbed_string_resolve().
 * Source:    spec/measureme.md, "Profiles", rule 1; but a label that is empty or has control characters is as it is.
 * Threads:   any number.
 */
enum tbed_status tbed_event_label(const struct tbed_reader *reader, uint32_t id, struct tbed_name *label_ret);

/*
 * The parts of an event id, divided by U+001E: its label first, then its arguments. There is at least one.
 *
 * Ownership: the text is not terminated; it points into the map where the part is one piece of text, else into the
 *            walk. Valid until the next call.
 * Errors:    of next: TBED_END after the last; ERR_STRING_COMPONENTS, ERR_STRING_BYTES, ERR_MEMORY end the walk; other
 *            ERR_STRING_… are of this part, whose text has stand-ins: the walk goes on.
 */
struct tbed_event_parts;
enum tbed_status tbed_event_parts_open(const struct tbed_reader *reader, uint32_t id,
                                       const struct tbed_string_budget *budget,
                                       struct tbed_event_parts **parts_ret);
enum tbed_status tbed_event_parts_next(struct tbed_event_parts *parts, struct tbed_name *part_ret);
void tbed_event_parts_close(struct tbed_event_parts *parts);

/* ---- What an event says, in words ---- */

/*
 * A message's format is stored with its arguments, and formatted here. Directives are those of printf(), %n and
 * positions ("%2$d") excepted, but an argument's own type decides how it is shown: nothing in a file can make it be read
 * as something else. Widths and precisions are cut to 1,000. A directive without an argument is shown verbatim;
 * arguments without a directive follow the text as " name=value". A message without a format is its first argument.
 */
enum tbed_message_part {
    TBED_MESSAGE_ALL,  /* "context : text", where the format has a context */
    TBED_MESSAGE_BODY, /* the text alone */
};

/*
 * tbed_message_text() writes the text of a MESSAGE as snprintf() would: at most 'buffer_nbytes' bytes, terminated;
 * returns the whole length. It may hold zeros and control bytes, and bytes that are not UTF-8, as its arguments may.
 *
 * Ownership: 'buffer' is the caller's. Nothing is allocated, except for a moment where the reader does not keep the
 *            format (ERR_CACHE_FULL of tbed_name_get()); if there is no memory for that, it reads "<no memory>".
 * Limits:    none but those of strings, whose stand-ins appear in their places.
 * Threads:   any number.
 */
size_t tbed_message_text(const struct tbed_reader *reader, const struct tbed_event *event,
                         enum tbed_message_part part, char *buffer, size_t buffer_nbytes);

/* An argument's value in the same way; texts are quoted. */
size_t tbed_argument_text(const struct tbed_reader *reader, const struct tbed_argument *argument,
                          char *buffer, size_t buffer_nbytes);

/* 'count' arguments, " name=value name=value", in the same way. */
size_t tbed_arguments_text(const struct tbed_reader *reader, const struct tbed_arguments *arguments,
                           uint32_t count, char *buffer, size_t buffer_nbytes);

/* All string entries by rising id; start with '*id' = 0. False after the last. */
bool tbed_string_next(const struct tbed_reader *reader, uint32_t *id);

/* ---- Time ---- */

/* Nanoseconds since the trace's first tick (may be negative before it). With TBED_CLOCK_USER: the ticks themselves. */
int64_t tbed_ticks_to_ns(const struct tbed_reader *reader, uint64_t tick);
/* A number of ticks in nanoseconds. With TBED_CLOCK_USER: the ticks themselves. */
double tbed_tick_span_to_ns(const struct tbed_reader *reader, uint64_t ticks);
/* Nanoseconds of CLOCK_REALTIME. Errors: ERR_NO_TIME with TBED_CLOCK_USER. */
enum tbed_status tbed_ticks_to_realtime_ns(const struct tbed_reader *reader, uint64_t tick, int64_t *ns_ret);

#include <tracebed/reader_inline.h>

#ifdef __cplusplus
}
#endif
#endif
