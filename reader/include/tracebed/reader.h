/*
 * tracebed/reader.h: read a trace in place.
 *
 * A reader maps the file and decodes it without copying. The texts, payloads and stacks that it hands out are pointers into
 * the map, valid until tbed_reader_close(); in a packed trace, what cursors and merges return is not: see there.
 *
 * Caveats: if another program truncates the file while it is mapped, reading the missing part raises SIGBUS. If a hostile
 * program rewrites the file while it is read, the same byte may be seen with two values. Opening with 'copy' reads the
 * file into memory first, which avoids both. On network file systems, read traces after their writers have ended.
 *
 * Threads: any number of threads may share a reader once it is open, except that nothing else may use it during
 * tbed_reader_refresh(). A cursor, a merge or a string walk belongs to one thread at a time.
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
    size_t size;      /* sizeof(struct tbed_reader_options) */
    bool copy;        /* read the file into private memory; later changes of the file are not seen */
    bool skip_hashes; /* do not compute the checksums of sealed blocks; all other checks are made */
};

/*
 * tbed_reader_open() opens a trace and checks its header page, or a copy, and its directory. Blocks are checked when read.
 *
 * Ownership: '*reader_ret' is the caller's; free it with tbed_reader_close(). It is untouched on failure.
 *            'error_ret' may be NULL, here and below.
 * Errors:    ERR_OPEN, ERR_READ, ERR_MAP, ERR_MEMORY with the errno in struct tbed_error; the file checks of section 12
 *            that stop reading. All other damage does not fail the call: see tbed_damage_get().
 * Threads:   any.
 */
enum tbed_status tbed_reader_open(const char *path, const struct tbed_reader_options *options,
                                  struct tbed_reader **reader_ret, struct tbed_error *error_ret);

/* Like tbed_reader_open(), for an open file. The caller keeps 'fd' and may close it after the call. */
enum tbed_status tbed_reader_open_fd(int fd, const struct tbed_reader_options *options,
                                     struct tbed_reader **reader_ret, struct tbed_error *error_ret);

/* Like tbed_reader_open(), for bytes in memory, aligned to 8, which the caller keeps until it has closed the reader. */
enum tbed_status tbed_reader_open_memory(const void *bytes, size_t nbytes,
                                         const struct tbed_reader_options *options,
                                         struct tbed_reader **reader_ret, struct tbed_error *error_ret);

/* Frees the reader and everything that it handed out. Close cursors and merges first. NULL is allowed. */
void tbed_reader_close(struct tbed_reader *reader);

/*
 * tbed_reader_refresh() picks up what has been written since the file was opened or refreshed: new pages, sealed blocks
 * and records. Pointers handed out before stay valid, and open cursors go on to the new blocks of their streams.
 *
 * Errors: ERR_READ, ERR_MAP, ERR_MEMORY. The reader is unchanged then.
 */
enum tbed_status tbed_reader_refresh(struct tbed_reader *reader, struct tbed_error *error_ret);

/* ---- Facts about the trace ---- */

struct tbed_trace_info {
    uint64_t file_nbytes;
    uint32_t page_nbytes;
    uint64_t page_count; /* claimed pages, including the header page */
    uint64_t file_id;
    uint32_t ring_page_count; /* 0: append mode */
    bool shut;                /* closed cleanly */
    uint64_t writer_count;    /* writers that have not left the file */
    enum tbed_clock clock;
    uint64_t ticks_per_second;                                          /* 0: ticks do not measure time */
    char clock_unit[17];                                                /* for TBED_CLOCK_USER; terminated */
    uint64_t event_block_count, string_block_count, record_block_count; /* intact ones, including cells */
    uint64_t unsealed_block_count;
    uint64_t unwritten_page_count;     /* claimed but never used */
    uint64_t interrupted_record_count; /* by writers that were killed; counted by tbed_reader_verify() */
    uint32_t stream_count;             /* streams with blocks or a STREAM record */
    /* Over all event blocks; unsealed ones are walked. Given ticks start at the header's anchor, those of a profile at 0. */
    uint64_t first_tick, last_tick;
    uint64_t drops[TBED_DROP_CAUSE_COUNT];
    /* Counted by tbed_reader_verify(): events of later versions, and events with a tick below that of the previous one. */
    uint64_t unknown_event_count, tick_decrease_count;
    uint64_t unit_count, stack_count, described_count; /* call stacks; ids with frames in the file */
    /* For a file of a series: its number from 1 (0: no series), and the ids of the first and of the previous file. */
    uint32_t series_number;
    uint64_t series_id, previous_file_id; /* the latter is 0 in the first file */
    uint32_t series_failed_count; /* rotations that failed while this file was running; a lower bound */
    uint64_t resolution_ticks;    /* smaller differences only give the order; 1: exact to the tick */
    /* Counted by tbed_reader_verify(): all events, and the application's own. Of a packed file, its size; 0: it is plain. */
    uint64_t event_count, application_event_count, packed_nbytes;
    enum tbed_clock_reason clock_reason;
};
static inline void tbed_reader_info(const struct tbed_reader *reader, struct tbed_trace_info *info_ret);

struct tbed_process_info {
    uint32_t stream; /* the process's number */
    uint32_t pid, parent_pid;
    uint32_t name_id;              /* from the newest NAME record, else from the PROCESS record */
    uint32_t forked_from;          /* the number of a process; 0: none */
    uint64_t tick, end_tick;       /* the latter is 0 without an END record */
    bool instants_are_allocations; /* those at locations and stacks */
};
/* The processes in order of their numbers. Returns false past the last. */
static inline bool tbed_process_get(const struct tbed_reader *reader, size_t index,
                                    struct tbed_process_info *info_ret);

struct tbed_stream_info {
    uint32_t stream;
    uint32_t process; /* the number of its process; 0: no STREAM record */
    uint32_t kind;    /* enum tbed_stream_kind; 0: no STREAM record */
    uint32_t tid;
    uint32_t name_id; /* TBED_ID_INVALID: none */
    uint32_t forked_from;
    uint64_t tick, end_tick; /* the latter is 0 without an END record */
    uint32_t block_count;    /* event blocks */
    uint32_t of_thread;      /* of HANDLERS and OFF_CPU: the stream that they belong to; else 0 */
};
/* The streams with events or a STREAM record, in order of their numbers. Returns false past the last. */
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
/* The code units in order of their first ids. Returns false past the last. */
bool tbed_unit_get(const struct tbed_reader *reader, size_t index, struct tbed_unit_info *info_ret);

struct tbed_load_info {
    uint32_t process, first_id;
    uint64_t address, nbytes, tick;
};
/* The LOAD records in file order. Returns false past the last. */
static inline bool tbed_load_get(const struct tbed_reader *reader, size_t index,
                                 struct tbed_load_info *info_ret);

struct tbed_lost_info { /* blocks that were lost when this file was made from a damaged one */
    uint32_t stream;    /* 0: unknown, as are kind and sequence */
    enum tbed_block_kind kind;
    uint32_t first_sequence;
    uint32_t count;                 /* of blocks, or of pages if the stream is unknown; 0: part of a block */
    uint64_t first_tick, last_tick; /* nothing lost is outside; 0 and UINT64_MAX where that is unknown */
    uint64_t nbytes;                /* 0: unknown */
};
/* The LOST records in file order. Returns false past the last. */
static inline bool tbed_lost_get(const struct tbed_reader *reader, size_t index,
                                 struct tbed_lost_info *info_ret);

/* The unit of a location and its pc (an ELF address, or the index of an instruction). False: 'id' is not a location. */
bool tbed_location_find(const struct tbed_reader *reader, uint32_t id, struct tbed_unit_info *unit_ret,
                        uint64_t *pc_ret);

/* The line of 'pc' according to the unit's LINES records; 0: unknown. */
uint32_t tbed_location_line(const struct tbed_reader *reader, const struct tbed_unit_info *unit, uint64_t pc);

/*
 * A call stack (section 8.5): the location of its innermost frame, and the stack of its caller, which is TBED_ID_INVALID
 * for the outermost frame. A parent's id is lower than that of its stack, so following parents always ends. Returns false
 * if 'id' is not a stack. An id with a type reads as its stack; if it has a location instead, as that one frame.
 */
bool tbed_stack_get(const struct tbed_reader *reader, uint32_t id, uint32_t *location_ret,
                    uint32_t *parent_ret);

/* Writes the locations of a stack, innermost first, at most 'capacity' of them. Returns how many; 0: not a stack. */
size_t tbed_stack_locations(const struct tbed_reader *reader, uint32_t id, uint32_t *locations,
                            size_t capacity);

enum tbed_frames_source {
    TBED_FRAMES_NONE,     /* not in the file: native code, which tbed_id_frames() can look up */
    TBED_FRAMES_GIVEN,    /* from a FRAMES record, for example by "tracebed symbolize" */
    TBED_FRAMES_OF_LINES, /* from the name, file and lines of a bytecode unit */
};

/* One function at a location. There are several if code was inlined. */
struct tbed_frame_info {
    uint32_t function_id, file_id; /* string ids; TBED_ID_INVALID: unknown */
    uint32_t line;                 /* 0: unknown */
};

struct tbed_location {
    uint32_t id;   /* of the location that the given id, perhaps a stack or a bound id, leads to */
    bool has_unit; /* whether 'unit' and 'pc' are set */
    struct tbed_unit_info unit;
    uint64_t pc; /* an ELF address, or the index of an instruction */
    enum tbed_frames_source source;
    size_t frame_count;           /* read them with tbed_location_frame() */
    const void *frames;           /* into the map */
    struct tbed_frame_info frame; /* for TBED_FRAMES_OF_LINES */
};

/*
 * tbed_location_resolve() returns what the file itself knows about a location: its unit, pc and frames. A bound id or a
 * stack leads to its location. For a string id, the single frame says where in the program the string is used, if that
 * was recorded. Returns false if 'id' has none of these. It is a binary search, and nothing is cached.
 */
static inline bool tbed_location_resolve(const struct tbed_reader *reader, uint32_t id,
                                         struct tbed_location *location_ret);

/* The frames of a location, starting with the innermost (inlined) one. Returns false past the last. */
bool tbed_location_frame(const struct tbed_location *location, size_t index,
                         struct tbed_frame_info *frame_ret);

struct tbed_binding_info {
    uint32_t first_id, id_count, string_id;
};
/* The bindings in file order; each pair of a BIND_LIST is a binding of one id. Returns false past the last. */
bool tbed_binding_get(const struct tbed_reader *reader, size_t index, struct tbed_binding_info *info_ret);

/* What an id is bound to, a string or another reserved id; the last binding counts. Returns false if it is not bound. */
bool tbed_id_binding(const struct tbed_reader *reader, uint32_t id, uint32_t *string_id_ret);

/* The unit of a counter as a string id; TBED_ID_INVALID: unknown. */
uint32_t tbed_counter_unit(const struct tbed_reader *reader, uint32_t counter_id);

/* ---- Damage ---- */

struct tbed_damage {
    enum tbed_status status;
    uint64_t offset; /* in the plain file; of PACKED_… that has no page, in the packed one */
    uint64_t page;   /* its number; UINT64_MAX: not a page */
    uint32_t cell;
    uint64_t detail; /* the value found, if there is one */
    /* The block that is or was there, as far as its header, or the directory, still says. */
    enum tbed_block_kind kind;      /* NONE: unknown */
    uint32_t stream;                /* 0: unknown; for strings, records and cells, the process */
    uint32_t sequence;              /* its number among the stream's blocks of this kind */
    uint64_t first_tick, last_tick; /* both 0: unknown; they are equal where only the first is known */
    uint64_t page_count;            /* pages concerned, from 'page' on; 0: not a page */
};

/*
 * The damage found so far: in the directory and in records when the file was opened, and wherever cursors and string
 * walks have been since. Each place is listed once, in the order found. Returns false past the last. At most
 * TBED_DAMAGE_KEPT_MAX places are kept; tbed_damage_count() counts all.
 */
#define TBED_DAMAGE_KEPT_MAX 10000u
static inline bool tbed_damage_get(const struct tbed_reader *reader, size_t index,
                                   struct tbed_damage *damage_ret);
uint64_t tbed_damage_count(const struct tbed_reader *reader);

/*
 * tbed_reader_verify() checks everything that section 12 lists: every checksum, word, entry and record. Damage is added
 * to the list above. It does not check that ids can be resolved: a reserved id need not be bound, and a lost page is
 * damage itself. Returns OK or the status of the first damage. <tracebed/verify.h> does the same on several threads.
 */
enum tbed_status tbed_reader_verify(struct tbed_reader *reader);

/* ---- Blocks: for analyses that decode pages themselves ---- */

struct tbed_block {
    const uint8_t *bytes; /* the block, including its header; into the map */
    uint32_t nbytes;
    uint32_t used_nbytes; /* if sealed, from the header; otherwise nbytes: stop at the first zero word */
    bool sealed;
    enum tbed_block_kind kind;
    uint32_t page, cell, stream, sequence, generation;
    uint32_t string_page;
    uint64_t first_tick;
    uint64_t last_tick; /* no event of the block is later, but its latest may be earlier; 0 if not sealed */
    uint32_t depth;
    uint32_t stored_count; /* open spans that the block stores */
    const uint64_t *words; /* the first event word; into the map */
    const uint64_t *words_end;
    uint64_t offset; /* in the file */
};

/* The number of event blocks, ordered by stream, then by sequence. Each is checked when it is read. */
size_t tbed_event_block_count(const struct tbed_reader *reader);

/*
 * The gateway through which all access to event blocks goes. The first access to a block checks it, including the
 * checksum if it is sealed. Of a packed trace, up to 1 MiB around it stays unpacked until the reader is closed.
 * Errors: the block's ERR_BLOCK_…, which is also added to the damage list; ERR_ARGUMENT past the last.
 */
static inline enum tbed_status tbed_event_block_get(const struct tbed_reader *reader, size_t index,
                                                    struct tbed_block *block_ret);

/* The index of a stream's first event block, and the number of its blocks. Both are 0 if it has none. */
void tbed_stream_blocks(const struct tbed_reader *reader, uint32_t stream, size_t *first_ret,
                        size_t *count_ret);

/* Event blocks of a stream that are missing between two others. In a ring this is not damage. */
struct tbed_ring_gap {
    uint32_t stream, first_sequence, block_count;
    uint64_t first_tick, last_tick; /* they were recorded between these */
};
/* The next gap of a flight recorder, in order of the streams; '*position' is 0 at first. False: there is none. */
static inline bool tbed_ring_gap_next(const struct tbed_reader *reader, size_t *position,
                                      struct tbed_ring_gap *gap_ret);

/* One of the open spans that the block stores, 0 being the outermost. 'index' must be below 'stored_count'. */
void tbed_block_open_span(const struct tbed_block *block, uint32_t index, uint64_t *begin_tick_ret,
                          uint32_t *id_ret);
/* True if a parent process began it before the fork; its begin tick is that of the child's stream. */
bool tbed_block_span_is_inherited(const struct tbed_block *block, uint32_t index);

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
    TBED_EVENT_SPAN,    /* a complete span, recorded when it ended: 'tick' is its end */
    TBED_EVENT_RESIZE,  /* the block at an address now has another size */
    TBED_EVENT_UNKNOWN, /* from a later version or an application; see 'unknown' */
};

/* The name of a type in commands and tables: "begin", "flow_step"; "unknown" for a number that is no type. */
const char *tbed_event_type_name(enum tbed_event_type type);

/* Where and how the arguments of an event are stored, for tbed_argument_next(). */
struct tbed_arguments {
    const void *at;
    uint32_t packed_types, packed_names; /* 4 bits a type, 0: each has a header; the id of the next name */
};

/*
 * An event.
 * Units:     ticks of the trace's clock, which tbed_ticks_to_ns() converts. Sizes are in bytes.
 * Ownership: 'arguments' and their texts point into the map. For a live flight recorder they point into the cursor or
 *            merge, and are valid until its next call; likewise for a packed trace.
 */
struct tbed_event {
    enum tbed_event_type type;
    uint32_t stream;
    uint32_t id;
    uint32_t category; /* for BEGIN, INSTANT, COUNTER, SPAN: a string id; TBED_ID_INVALID: none */
    uint64_t tick;
    bool extended; /* an EXTENDED record, not a single word or a pair */
    union {
        struct {
            uint64_t begin_tick; /* 0: not in this event */
            uint64_t end_tick;   /* the event's tick, unless it 'leaves' the stack of open spans; 0: never */
            bool leaves;
            uint32_t inside; /* with 'leaves': spans inside it that stay open */
        } end;
        struct {
            uint64_t begin_tick; /* may be above 'tick'; 0 is a valid tick */
        } span;
        struct {
            uint64_t address, size;
            uint32_t function;
        } alloc; /* FREE: size 0; RESIZE: function 0 */
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
            bool has_context; /* the format, if it contains a U+001E, is "context U+001E format" */
        } message;
        struct {
            uint32_t tag, nwords;
        } unknown; /* tag as in spec/format.md, section 14 */
    } of;
    struct tbed_argument counter_value; /* COUNTER: I64, U64 or F64 */
    struct tbed_arguments arguments;    /* without the value of a COUNTER */
    uint32_t argument_count;
    uint64_t offset; /* of the event's word in the file; UINT64_MAX if the block is not in a file */
};

/*
 * Reads the arguments of an event one after another: start with a copy of event->arguments, and call this
 * event->argument_count times. The arguments were checked when the event was decoded.
 */
void tbed_argument_next(struct tbed_arguments *at, struct tbed_argument *argument_ret);

/*
 * A cursor reads the events of one stream in order.
 *
 * Errors: tbed_cursor_next() returns END at the end; after tbed_reader_refresh() there may be more. ERR_MEMORY, in a flight
 *         recorder. Damage is not an error: it is skipped and added to the damage list.
 */
enum tbed_status tbed_cursor_open(struct tbed_reader *reader, uint32_t stream,
                                  struct tbed_cursor **cursor_ret);
static inline enum tbed_status tbed_cursor_next(struct tbed_cursor *cursor, struct tbed_event *event_ret);
/* The number of open spans after the latest event, as far as the cursor knows. */
uint32_t tbed_cursor_depth(const struct tbed_cursor *cursor);
/* Skips to the first block that may contain events at or after 'tick'. */
void tbed_cursor_seek(struct tbed_cursor *cursor, uint64_t tick);
/*
 * Skips blocks that contain no event from 'first_tick' to 'last_tick' (inclusive) according to their headers, without
 * checking them. No event in the window is lost, but events outside it are returned as well, so check each one. In traces
 * with given ticks, which may decrease within a block, only blocks that end before the window are skipped.
 */
void tbed_cursor_limit(struct tbed_cursor *cursor, uint64_t first_tick, uint64_t last_tick);
void tbed_cursor_close(struct tbed_cursor *cursor);

/*
 * A merge reads the events of several streams in order of time; of equal ticks, the lower stream number comes first.
 * 'streams' and 'stream_count' select the streams; NULL selects all.
 */
enum tbed_status tbed_merge_open(struct tbed_reader *reader, const uint32_t *streams, size_t stream_count,
                                 struct tbed_merge **merge_ret);
static inline enum tbed_status tbed_merge_next(struct tbed_merge *merge, struct tbed_event *event_ret);
void tbed_merge_seek(struct tbed_merge *merge, uint64_t tick);
/* Like tbed_cursor_limit(), for all streams of the merge, which start over. */
void tbed_merge_limit(struct tbed_merge *merge, uint64_t first_tick, uint64_t last_tick);
void tbed_merge_close(struct tbed_merge *merge);

/* ---- Strings ---- */

/*
 * How much a string may cost to read. A file of a few hundred bytes can contain a string of 2^40 components, so every
 * call below is bounded. NULL, and 0 in a field, stand for the defaults given here. Limits are inclusive.
 *
 * Errors: ERR_STRING_DEPTH, ERR_STRING_COMPONENTS and ERR_STRING_BYTES, by the limit that is exceeded.
 */
struct tbed_string_budget {
    size_t size; /* sizeof(struct tbed_string_budget) */
    /* Ids open at once, not counting bound ones, of which there may be as many; 64, the maximum. */
    uint32_t depth;
    uint64_t component_count; /* texts and references; 2^20 */
    uint64_t nbytes;          /* of text; 2^24 */
};

struct tbed_string_component {
    bool is_reference;
    uint32_t id;      /* of a reference */
    const char *text; /* otherwise; into the map, valid UTF-8, not terminated */
    uint32_t nbytes;
};

/*
 * Reads the components of a string without expanding references; a bound id leads to its string. Set '*at' to 0 for the
 * first call and do not change it afterwards. Returns TBED_END after the last.
 */
enum tbed_status tbed_string_component_next(const struct tbed_reader *reader, uint32_t id, uint32_t *at,
                                            struct tbed_string_component *component_ret);

/*
 * tbed_string_resolve() writes the expanded text of 'id' to 'buffer' like snprintf(): at most 'buffer_nbytes' bytes,
 * terminated if there is room for anything at all. '*nbytes_ret' is set to the full length without the terminator. The
 * text of a location is the name of its unit, "+0x" and the pc. The default budget applies.
 *
 * Errors: ERR_STRING_…, ERR_MEMORY. A part without text is replaced by a stand-in, and the first such problem is the
 *         status: "opening <id 42>" (unbound), "<no id>" (TBED_ID_INVALID), "<dangling id 42>" (STRING_ID),
 *         "<damaged id 42>" (STRING_LENGTH, STRING_HASH), "<unterminated id 42>" (STRING_END), "<not UTF-8: id 42>".
 *         If the string contains itself or exceeds the budget, the whole text is a stand-in: "<cycle>", "<too deep>",
 *         "<too many components>" or "<too long>".
 */
enum tbed_status tbed_string_resolve(const struct tbed_reader *reader, uint32_t id, char *buffer,
                                     size_t buffer_nbytes, size_t *nbytes_ret);

/*
 * Receives a piece of text: valid UTF-8, not empty, not terminated. It points into the map, or (stand-ins, the pc of a
 * location) into memory that is valid only during the call. Return false to stop.
 */
typedef bool (*tbed_string_function)(void *context, const char *text, size_t nbytes);

/*
 * tbed_string_stream() passes the text of 'id' to 'function' piece by piece, without copying, limited only by the budget.
 * The budget is checked first: a string that exceeds it, or contains itself, arrives as one piece, its stand-in.
 *
 * Errors: those of tbed_string_resolve(); TBED_END if the function stopped.
 */
enum tbed_status tbed_string_stream(const struct tbed_reader *reader, uint32_t id,
                                    const struct tbed_string_budget *budget, tbed_string_function function,
                                    void *context);

/*
 * The length of the text in bytes, including stand-ins, without expanding it: each id is measured once. The budget's
 * component count limits the components that are read; its byte limit is ignored.
 * Errors: ERR_STRING_…, ERR_MEMORY. A length of 2^64 bytes or more is UINT64_MAX and ERR_STRING_BYTES. '*nbytes_ret' is
 *         the length of the text if the status is OK or parts were replaced by stand-ins; otherwise it is the length of
 *         the single stand-in, or UINT64_MAX.
 */
enum tbed_status tbed_string_length(const struct tbed_reader *reader, uint32_t id,
                                    const struct tbed_string_budget *budget, uint64_t *nbytes_ret);

/*
 * Whether two ids have the same text. Nothing is expanded: lengths are compared first, and equal ids at the same offset,
 * or pairs of ids already found equal, are skipped. Of the budget, only the count of components that are read applies.
 *
 * Errors: ERR_STRING_…, ERR_MEMORY if one of them has no complete text, or the budget is exceeded. '*equal_ret' is false
 *         then, and meaningless.
 */
enum tbed_status tbed_string_equals(const struct tbed_reader *reader, uint32_t id, uint32_t other_id,
                                    const struct tbed_string_budget *budget, bool *equal_ret);

/* Whether an id has the given text. Texts of another length are not read; a comparison reads at most 'nbytes' bytes. */
enum tbed_status tbed_string_equals_text(const struct tbed_reader *reader, uint32_t id, const char *text,
                                         size_t nbytes, const struct tbed_string_budget *budget,
                                         bool *equal_ret);

/* The text of a string of at most one text component, as a pointer into the map. Otherwise ERR_ARGUMENT or ERR_STRING_…. */
enum tbed_status tbed_string_text(const struct tbed_reader *reader, uint32_t id, const char **text_ret,
                                  size_t *nbytes_ret);

/*
 * A depth-first walk over everything that an id refers to. The id itself is entered first and left last.
 *
 *   ENTER    'id' begins; 'meaning' says what it is: a string, bound to another id (which is entered next), or a location
 *   TEXT     a piece of text
 *   TROUBLE  'id' has no text; 'status' says why, and 'text' is its stand-in. A cycle, or an id nested too deeply, is
 *            reported here, and the walk goes on
 *   LEAVE    'id' ends
 *
 * Ownership: 'text' points into the map, or (stand-ins, the pc of a location) into the walk, until the next call.
 * Errors:    tbed_string_walk_open() returns ERR_ARGUMENT (for the budget) or ERR_MEMORY. tbed_string_walk_next() returns
 *            TBED_END after the last LEAVE; ERR_STRING_COMPONENTS and ERR_STRING_BYTES end the walk and are returned by
 *            all further calls.
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
    enum tbed_string_meaning meaning; /* for ENTER and LEAVE */
    enum tbed_status status;          /* for TROUBLE */
    uint32_t depth;                   /* the number of open ids around it: 0 for the id of the walk */
    uint32_t id;                      /* for TEXT: the innermost open id */
    const char *text;                 /* for TEXT and TROUBLE; not terminated */
    size_t nbytes;
};
struct tbed_string_walk;
enum tbed_status tbed_string_walk_open(const struct tbed_reader *reader, uint32_t id,
                                       const struct tbed_string_budget *budget,
                                       struct tbed_string_walk **walk_ret);
enum tbed_status tbed_string_walk_next(struct tbed_string_walk *walk, struct tbed_string_node *node_ret);
/* Skips the rest of the innermost open id: its LEAVE is next. */
void tbed_string_walk_skip(struct tbed_string_walk *walk);
void tbed_string_walk_close(struct tbed_string_walk *walk);

/* ---- Names: what an id means, for people and for programs ---- */

/*
 * A resolver looks up native code that the file does not describe. tbed_symbols_attach() installs one.
 *
 * Threads:   a reader calls its resolver from any thread, but only from one at a time. A resolver must not call the reader.
 * Ownership: the texts of frames must stay valid as long as the resolver is set. The path is valid during the call.
 */
struct tbed_frame;
struct tbed_resolver {
    size_t size; /* sizeof(struct tbed_resolver) */
    void *context;
    /* Like tbed_id_frames(), for the address 'pc' of the unit's ELF file, which was at 'path' when it was recorded. */
    size_t (*frames)(void *context, const struct tbed_unit_info *unit, const char *path, uint64_t pc,
                     struct tbed_frame *frames, size_t capacity);
    /* Announces addresses, in ascending order, that will be looked up, so that it can be done together. May be NULL. */
    void (*prepare)(void *context, const struct tbed_unit_info *unit, const char *path, const uint64_t *pcs,
                    size_t count);
};

/*
 * Sets the resolver for all functions below, or removes it (NULL), before other threads use the reader, which it outlives.
 *
 * Errors: ERR_ARGUMENT, ERR_MEMORY.
 */
enum tbed_status tbed_reader_set_resolver(struct tbed_reader *reader, const struct tbed_resolver *resolver);

/*
 * Looks up all native code among 'ids' at once, including what bindings and call stacks lead to: all frames of a stack with
 * 'whole_stacks', otherwise the innermost. Naming ids one by one gives the same names, but takes much longer. Does nothing
 * without a resolver.
 */
void tbed_names_prepare(const struct tbed_reader *reader, const uint32_t *ids, size_t count,
                        bool whole_stacks);

/*
 * tbed_native_code_find() reads all events and returns the ids of the native code used by them, their arguments and their
 * call stacks that the file does not describe, in ascending order, for tbed_names_prepare().
 *
 * Ownership: '*ids_ret' is the caller's; release it with free(). NULL if there are none.
 * Errors:    ERR_MEMORY.
 */
enum tbed_status tbed_native_code_find(struct tbed_reader *reader, uint32_t **ids_ret, size_t *count_ret);

enum tbed_id_kind {
    TBED_ID_KIND_UNKNOWN, /* an id that was never bound or stored */
    TBED_ID_KIND_STRING,  /* a string, or bound to one */
    TBED_ID_KIND_CODE, /* a place in a code unit of a language implementation, or one that only FRAMES describe */
    TBED_ID_KIND_NATIVE, /* an address in a module */
};

/* What an id means, in parts. A call stack stands for its innermost frame. */
struct tbed_id_info {
    enum tbed_id_kind kind;
    uint32_t id; /* the id that a binding or a stack leads to */
    /*
     * The innermost (inlined) function at a place in code, with its file and line. For a string: the place in the program
     * that uses it as a name, if that was recorded.
     */
    const char *function;
    const char *file;
    uint32_t line;      /* 0: unknown */
    const char *module; /* NATIVE: the last part of its path */
    uint64_t pc;        /* NATIVE: an address of the ELF file; CODE: the index of an instruction */
    size_t frame_count; /* functions at that place, including those that others were inlined into */
};

/*
 * tbed_id_resolve() says what an id means. The file is asked first, then the reader's resolver.
 *
 * Ownership: texts are terminated; NULL means unknown, or that there is no memory to keep the text. They are valid until
 *            tbed_reader_close(); texts from a resolver are valid while it is set.
 * Errors:    returns false if the id has no meaning; '*info_ret' is filled nevertheless.
 * Threads:   any number.
 */
static inline bool tbed_id_resolve(const struct tbed_reader *reader, uint32_t id,
                                   struct tbed_id_info *info_ret);

/* One function at a place in code. */
struct tbed_frame {
    const char *function; /* NULL: unknown */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
    bool is_inlined;      /* into the next one */
};

/*
 * The functions at a place in code, starting with the innermost (inlined) one.
 *
 * Shape:     writes at most 'capacity' frames and returns how many there are; 0 if nothing is known.
 * Ownership: as for tbed_id_resolve().
 */
size_t tbed_id_frames(const struct tbed_reader *reader, uint32_t id, struct tbed_frame *frames,
                      size_t capacity);

/*
 * tbed_reader_limit_text() limits all long text that a reader makes: names, labels and resolved strings, in analyses and
 * exports too. There is no limit otherwise, and a hostile file of 256 KiB may expand to gigabytes of it.
 *
 * Shape:  the first 2 KiB of each text are free, and 'nbytes' are for all above that; a component counts as 16 bytes more.
 *         0: four times the size of the file, but at least 64 MiB and at most 1 GiB. When that is used up, longer texts
 *         are refused with ERR_STRING_BYTES and read "<too long>". An id that has been refused stays refused.
 *         tbed_reader_texts_left_out() returns the number of these ids.
 * Threads: to be called before other threads use the reader. If several do, chance decides which texts are left out.
 */
void tbed_reader_limit_text(struct tbed_reader *reader, uint64_t nbytes);
uint64_t tbed_reader_texts_left_out(const struct tbed_reader *reader);

struct tbed_name {
    const char *text;
    size_t nbytes; /* the text may hold zeros */
    /* For a label: the string with exactly this text, INVALID if there is none. For a name: the id. */
    uint32_t id;
};

/* A reader keeps names of up to TBED_NAME_NBYTES_MAX bytes each, and TBED_NAMES_NBYTES_MAX in all, with its tables. */
#define TBED_NAME_NBYTES_MAX  ((size_t)64 << 10)
#define TBED_NAMES_NBYTES_MAX ((size_t)256 << 20)

/*
 * tbed_name_get() returns the one-line name of an id that all tools show. The name of a string is its text
 * (tbed_string_resolve()). The name of a place in code is
 *
 *   "copy_node /src/tree.c:120"  function, file and line
 *   "libc.so.6!malloc"           without a known line: module and function
 *   "libc.so.6+0x9d1e0"          without a known function: module and address
 *   "fib+0x5"                    in a code unit without lines: its name and the index of the instruction
 *
 * If functions were inlined, the innermost is named. The name of a call stack is that of its innermost frame.
 *
 * Names are cached, so asking for the same id again costs a lookup. After tbed_reader_refresh(), names that had a
 * stand-in, went through a bound id or belong to places in code are made again on demand. Pointers handed out before stay
 * valid and keep the old text.
 *
 * Ownership: 'text' is terminated, belongs to the reader, and is valid until tbed_reader_close().
 * Errors:    those of tbed_string_resolve(); the text is then the stand-in. ERR_CACHE_FULL if the name is longer than
 *            TBED_NAME_NBYTES_MAX or exceeds TBED_NAMES_NBYTES_MAX; use tbed_id_text() then. After that and ERR_MEMORY,
 *            '*name_ret' is untouched.
 * Threads:   any number. A hit takes no lock.
 */
enum tbed_status tbed_name_get(const struct tbed_reader *reader, uint32_t id, struct tbed_name *name_ret);

/* Which part of the name of a place in code to write. The names of strings are always complete. */
enum tbed_name_part {
    TBED_NAME_ALL, /* as above */
    TBED_NAME_FUNCTION, /* the outermost function that others were inlined into, without the line: "copy_node /src/tree.c",
                         * "libc.so.6!malloc"; "libc.so.6" if it is unknown */
    TBED_NAME_MODULE, /* "libc.so.6"; for a code unit, its file */
};

/* Writes the name of an id like snprintf(): at most 'buffer_nbytes' bytes, terminated; returns the full length. */
size_t tbed_id_text(const struct tbed_reader *reader, uint32_t id, enum tbed_name_part part, char *buffer,
                    size_t buffer_nbytes);

/*
 * The label of an event id: its text before the first U+001E, or all of it; the rest is not read. The label of a place in
 * code is its name. If the label is a single component of the string or of its first reference, it is returned without a
 * copy. Otherwise it is put together once, and cached like a name.
 *
 * Ownership: the text is not terminated, belongs to the reader, and is valid until tbed_reader_close().
 * Errors:    ERR_STRING_… for a part without text, which is replaced by "<unknown>", or "<id 42>" in a trace that binds no
 *            ids. The complete label is replaced by "<cycle>", "<too deep>", "<too many components>" (more than 4,096)
 *            or "<too long>" (more than 65,535 bytes). After ERR_CACHE_FULL and ERR_MEMORY, '*label_ret' is untouched.
 *            tbed_event_parts_open() has neither limit, and uses the stand-ins of tbed_string_resolve().
 * Source:    spec/measureme.md, "Profiles", rule 1, except that empty labels and control characters are kept.
 * Threads:   any number.
 */
enum tbed_status tbed_event_label(const struct tbed_reader *reader, uint32_t id, struct tbed_name *label_ret);

/*
 * The parts of an event id, separated by U+001E: first its label, then its arguments. There is at least one.
 *
 * Ownership: the text is not terminated. It points into the map if the part is one piece of text, otherwise into the walk,
 *            and is valid until the next call.
 * Errors:    tbed_event_parts_next() returns TBED_END after the last part. ERR_STRING_COMPONENTS, ERR_STRING_BYTES and
 *            ERR_MEMORY end the walk; any other ERR_STRING_… concerns this part, whose text contains stand-ins.
 */
struct tbed_event_parts;
enum tbed_status tbed_event_parts_open(const struct tbed_reader *reader, uint32_t id,
                                       const struct tbed_string_budget *budget,
                                       struct tbed_event_parts **parts_ret);
enum tbed_status tbed_event_parts_next(struct tbed_event_parts *parts, struct tbed_name *part_ret);
void tbed_event_parts_close(struct tbed_event_parts *parts);

/* ---- Events as text ---- */

/*
 * Messages are stored as a format and its arguments, and formatted here. Directives are those of printf(), without %n and
 * positions ("%2$d"). An argument is always formatted by its own type: nothing in a file can make it be read as something
 * else. Widths and precisions are limited to 1,000. A directive without an argument is shown verbatim; arguments without
 * a directive follow the text as " name=value". A message without a format is its first argument.
 */
enum tbed_message_part {
    TBED_MESSAGE_ALL,  /* "context : text", if the format has a context */
    TBED_MESSAGE_BODY, /* the text alone */
};

/*
 * tbed_message_text() writes the text of a MESSAGE like snprintf(): at most 'buffer_nbytes' bytes, terminated; returns the
 * full length. The text may contain zeros, control characters and bytes that are not UTF-8, as its arguments may.
 *
 * Ownership: 'buffer' is the caller's. Memory is allocated only temporarily, if the reader does not cache the format
 *            (ERR_CACHE_FULL of tbed_name_get()); if there is none, the text is "<no memory>".
 * Limits:    those of strings, whose stand-ins appear in the text.
 * Threads:   any number.
 */
size_t tbed_message_text(const struct tbed_reader *reader, const struct tbed_event *event,
                         enum tbed_message_part part, char *buffer, size_t buffer_nbytes);

/* Writes the value of an argument in the same way; texts are quoted, with a backslash before each " and \ inside. */
size_t tbed_argument_text(const struct tbed_reader *reader, const struct tbed_argument *argument,
                          char *buffer, size_t buffer_nbytes);

/* Writes 'count' arguments, " name=value name=value", in the same way. */
size_t tbed_arguments_text(const struct tbed_reader *reader, const struct tbed_arguments *arguments,
                           uint32_t count, char *buffer, size_t buffer_nbytes);

/* The ids of all strings in ascending order; start with '*id' = 0. Returns false after the last. */
bool tbed_string_next(const struct tbed_reader *reader, uint32_t *id);

/* ---- Time ---- */

/* Nanoseconds since the trace's first tick, negative before it. With TBED_CLOCK_USER: the ticks themselves. */
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
