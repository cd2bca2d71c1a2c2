/*
 * Where everything stands in a file: the structs of spec/format.md, each pinned to its section.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LAYOUT_H
#define TRACEBED_LAYOUT_H

#include "format/base/bytes.h"
#include "tracebed/format.h"

#define TBED_MAGIC        "tracebed"
#define TBED_PACKED_MAGIC "tbedpack"  /* spec/packed.md; such a file is not one of this format */
#define TBED_STATE_OPEN   0x6E65706Fu /* "open" */
#define TBED_STATE_SHUT   0x74756873u /* "shut" */

#define TBED_CELL_SHIFT_DEFAULT  10
#define TBED_CELL_SHIFT_MIN      9
#define TBED_HEADER_FIXED_NBYTES 256 /* the fields that never change, in this version */
#define TBED_HEADER_FIXED_MAX    448 /* in any version */
#define TBED_HEADER_FIXED_STEP   64
#define TBED_HEADER_COPY_NBYTES  448 /* what copies of the header have of it */
#define TBED_SHARED_NBYTES       256 /* the shared counters, [512, 768) */
#define TBED_BLOCK_HEADER_NBYTES 64
#define TBED_COPY_USED_NBYTES    512  /* of blocks that consist of a copy of the header */
#define TBED_ENTRIES_OFFSET      1024 /* in the header page */
#define TBED_ENTRY_NBYTES        64
#define TBED_STACK_ENTRY_NBYTES  16
#define TBED_BUILD_ID_MAX_NBYTES 64
#define TBED_UNIT_SLOT_NBYTES    16
#define TBED_RESOLUTION_NS_MAX   1000000000u

/* Section 3. The directory's first entries start at 1,024, the unit table at page size / 2. */
struct tbed_disk_header {
    uint8_t magic[8];
    tbed_le32 version;
    tbed_le32 page_nbytes;
    tbed_le64 compatible_flags;
    tbed_le64 incompatible_flags;
    tbed_le64 file_id;
    tbed_le32 max_reserved_id;
    tbed_le32 metadata_id;
    tbed_le32 max_id;
    tbed_le32 ring_page_count;
    tbed_le32 clock;
    tbed_le32 header_nbytes;
    tbed_le64 ticks_per_second;
    tbed_le64 anchor_ticks;
    tbed_le64 anchor_realtime_ns;
    tbed_le64 anchor_monotonic_ns;
    uint8_t clock_unit[16];
    tbed_le32 resolution_ns;
    uint8_t clock_reason;
    uint8_t zero_117[131];
    tbed_le64 checksum; /* in the last 8 of 'header_nbytes' */
    uint8_t zero_256[256];

    /* shared, changed atomically */
    tbed_le64 page_count;
    tbed_le64 free_cells; /* page, next cell << 32, log2 of the cell size << 48; 0: none */
    uint8_t zero_528[48];
    tbed_le64 next_stream;
    tbed_le64 next_string_page;
    tbed_le64 next_reserved_id;
    tbed_le64 writer_count;
    tbed_le32 state;
    tbed_le32 zero_612;
    tbed_le64 ring_pages_given;
    uint8_t zero_624[16];
    tbed_le64 drops[TBED_DROP_CAUSE_COUNT];
    tbed_le64 closing_checksum;
};
_Static_assert(offsetof(struct tbed_disk_header, clock) == 56, "section 3.1");
_Static_assert(offsetof(struct tbed_disk_header, header_nbytes) == 60, "section 3.1");
_Static_assert(offsetof(struct tbed_disk_header, clock_unit) == 96, "section 3.1");
_Static_assert(offsetof(struct tbed_disk_header, resolution_ns) == 112, "section 3.1");
_Static_assert(offsetof(struct tbed_disk_header, clock_reason) == 116, "section 3.1");
_Static_assert(offsetof(struct tbed_disk_header, checksum) == 248, "section 3.1");
_Static_assert(offsetof(struct tbed_disk_header, page_count) == 512, "section 3.2");
_Static_assert(offsetof(struct tbed_disk_header, free_cells) == 520, "section 3.2");
_Static_assert(offsetof(struct tbed_disk_header, next_stream) == 576, "section 3.2");
_Static_assert(offsetof(struct tbed_disk_header, state) == 608, "section 3.2");
_Static_assert(offsetof(struct tbed_disk_header, drops) == 640, "section 3.2");
_Static_assert(offsetof(struct tbed_disk_header, closing_checksum) == 768, "section 3.2");
_Static_assert(sizeof(struct tbed_disk_header) == 776, "section 3.2");

/* Section 3.3: what the directory says about a page. The first eight bytes are one word, stored last. */
struct tbed_disk_entry {
    uint8_t state; /* enum tbed_entry_state */
    uint8_t kind;
    tbed_le16 flags; /* for a cells page: how many of its cells were begun; for events, TBED_ENTRY_LAST */
    tbed_le32 sequence;
    tbed_le32 generation;
    tbed_le32 process;
    tbed_le32 stream;
    tbed_le32 used_nbytes;
    tbed_le64 first_tick;
    tbed_le64 last_tick;
    tbed_le64 least_begin_tick;
    tbed_le32 depth; /* for strings and cells pages: the string page ordinal */
    tbed_le32 age;
    tbed_le32 checksum; /* the low half of the block's */
    tbed_le32 check;
};
_Static_assert(offsetof(struct tbed_disk_entry, generation) == 8, "section 3.3");
_Static_assert(offsetof(struct tbed_disk_entry, first_tick) == 24, "section 3.3");
_Static_assert(offsetof(struct tbed_disk_entry, age) == 52, "section 3.3");
_Static_assert(offsetof(struct tbed_disk_entry, check) == 60, "section 3.3");
_Static_assert(sizeof(struct tbed_disk_entry) == TBED_ENTRY_NBYTES, "section 3.3");

/* Section 3.4. */
struct tbed_disk_unit_slot {
    tbed_le64 key;
    tbed_le32 first_id;
    tbed_le32 id_count;
};
_Static_assert(sizeof(struct tbed_disk_unit_slot) == TBED_UNIT_SLOT_NBYTES, "section 3.4");

/* Section 4. The first eight bytes are one word, stored last. */
struct tbed_disk_block {
    uint8_t kind;
    uint8_t shift;
    tbed_le16 cell;
    tbed_le32 page;
    tbed_le64 file_id;
    tbed_le32 stream;
    tbed_le32 sequence;
    tbed_le32 generation;
    tbed_le32 string_page;
    tbed_le64 first_tick;
    tbed_le32 depth;
    tbed_le32 used_nbytes;
    tbed_le64 last_tick;
    tbed_le64 checksum;
};
_Static_assert(offsetof(struct tbed_disk_block, file_id) == 8, "section 4");
_Static_assert(offsetof(struct tbed_disk_block, first_tick) == 32, "section 4");
_Static_assert(offsetof(struct tbed_disk_block, used_nbytes) == 44, "section 4");
_Static_assert(offsetof(struct tbed_disk_block, checksum) == 56, "section 4");
_Static_assert(sizeof(struct tbed_disk_block) == TBED_BLOCK_HEADER_NBYTES, "section 4");

/* Section 4.2. */
struct tbed_disk_open_span {
    tbed_le64 begin_tick;
    tbed_le32 id;
    tbed_le32 flags;
};
#define TBED_OPEN_SPAN_INHERITED 1u
_Static_assert(sizeof(struct tbed_disk_open_span) == TBED_STACK_ENTRY_NBYTES, "section 4.2");

/* Section 7. The first eight bytes are one word, stored last. */
struct tbed_disk_string {
    tbed_le32 nbytes;
    tbed_le32 hash;
    uint8_t content[];
};
_Static_assert(sizeof(struct tbed_disk_string) == 8, "section 7");

/* Section 8: types and layouts of records; 'head' is the word stored last. */
enum tbed_record_type {
    TBED_RECORD_PROCESS = 1,
    TBED_RECORD_STREAM = 2,
    TBED_RECORD_NAME = 3,
    TBED_RECORD_UNIT = 4,
    TBED_RECORD_LOAD = 5,
    TBED_RECORD_UNLOAD = 6,
    TBED_RECORD_LINES = 7,
    TBED_RECORD_BIND = 8,
    TBED_RECORD_BIND_LIST = 9,
    TBED_RECORD_ANCHOR = 10,
    TBED_RECORD_COUNTER = 11,
    TBED_RECORD_END = 12,
    TBED_RECORD_STACKS = 13,
    TBED_RECORD_FRAMES = 14,
    TBED_RECORD_SERIES = 15,
    TBED_RECORD_LOST = 16,
    TBED_RECORD_TYPES = 17,
};

enum tbed_process_instants {
    TBED_INSTANTS_ANY = 0,
    TBED_INSTANTS_ALLOCATIONS = 1, /* those at locations and stacks */
};

struct tbed_disk_process {
    tbed_le64 head;
    tbed_le32 stream;
    tbed_le32 pid;
    tbed_le32 parent_pid;
    tbed_le32 name_id;
    tbed_le64 tick;
    tbed_le32 forked_from;
    tbed_le32 instants; /* enum tbed_process_instants */
};
_Static_assert(sizeof(struct tbed_disk_process) == 40, "section 8");

struct tbed_disk_stream {
    tbed_le64 head;
    tbed_le32 stream;
    tbed_le32 process;
    tbed_le32 kind;
    tbed_le32 tid;
    tbed_le32 name_id;
    tbed_le32 parent; /* the stream it was forked from, or whose records its signal handlers interrupted */
    tbed_le64 tick;
};
_Static_assert(sizeof(struct tbed_disk_stream) == 40, "section 8");

struct tbed_disk_name {
    tbed_le64 head;
    tbed_le32 stream;
    tbed_le32 name_id;
    tbed_le64 tick;
};
_Static_assert(sizeof(struct tbed_disk_name) == 24, "section 8");

struct tbed_disk_unit {
    tbed_le64 head;
    tbed_le32 first_id;
    tbed_le32 id_count;
    tbed_le32 kind;
    tbed_le32 pc_shift;
    tbed_le32 name_id;
    tbed_le32 file_id;
    tbed_le32 first_line;
    tbed_le32 build_id_nbytes;
    tbed_le64 base;
    uint8_t build_id[];
};
_Static_assert(sizeof(struct tbed_disk_unit) == 48, "section 8");

struct tbed_disk_load {
    tbed_le64 head;
    tbed_le32 process;
    tbed_le32 first_id;
    tbed_le64 address;
    tbed_le64 nbytes;
    tbed_le64 tick;
};
_Static_assert(sizeof(struct tbed_disk_load) == 40, "section 8");

struct tbed_disk_unload {
    tbed_le64 head;
    tbed_le32 process;
    tbed_le32 first_id;
    tbed_le64 tick;
};
_Static_assert(sizeof(struct tbed_disk_unload) == 24, "section 8");

struct
    tbed_disk_id_pair { /* (pc, line) in LINES, (id, string) in BIND_LIST, (location, parent) in STACKS, … */
    tbed_le32 first;
    tbed_le32 second;
};

struct tbed_disk_lines {
    tbed_le64 head;
    tbed_le32 first_id;
    tbed_le32 count;
    struct tbed_disk_id_pair pairs[];
};
_Static_assert(sizeof(struct tbed_disk_lines) == 16, "section 8");

struct tbed_disk_bind {
    tbed_le64 head;
    tbed_le32 first_id;
    tbed_le32 id_count;
    tbed_le32 string_id;
    tbed_le32 zero;
};
_Static_assert(sizeof(struct tbed_disk_bind) == 24, "section 8");

struct tbed_disk_bind_list {
    tbed_le64 head;
    tbed_le32 count;
    tbed_le32 zero;
    struct tbed_disk_id_pair pairs[];
};
_Static_assert(sizeof(struct tbed_disk_bind_list) == 16, "section 8");

struct tbed_disk_anchor {
    tbed_le64 head;
    tbed_le64 ticks;
    tbed_le64 realtime_ns;
    tbed_le64 monotonic_ns;
};
_Static_assert(sizeof(struct tbed_disk_anchor) == 32, "section 8");

struct tbed_disk_counter {
    tbed_le64 head;
    tbed_le32 id;
    tbed_le32 unit_id;
    tbed_le64 flags;
};
_Static_assert(sizeof(struct tbed_disk_counter) == 24, "section 8");

struct tbed_disk_end {
    tbed_le64 head;
    tbed_le32 stream;
    tbed_le32 zero;
    tbed_le64 tick;
};
_Static_assert(sizeof(struct tbed_disk_end) == 24, "section 8");

struct tbed_disk_stacks {
    tbed_le64 head;
    tbed_le32 first_id;
    tbed_le32 count;
    struct tbed_disk_id_pair pairs[];
};
_Static_assert(sizeof(struct tbed_disk_stacks) == 16, "section 8");

struct tbed_disk_types {
    tbed_le64 head;
    tbed_le32 first_id;
    tbed_le32 count;
    struct tbed_disk_id_pair pairs[]; /* (location or stack, type's name) */
};
_Static_assert(sizeof(struct tbed_disk_types) == 16, "section 8");

struct tbed_disk_frame {
    tbed_le32 function_id;
    tbed_le32 file_id;
    tbed_le32 line;
    tbed_le32 zero;
};
_Static_assert(sizeof(struct tbed_disk_frame) == 16, "section 8");

struct tbed_disk_frames {
    tbed_le64 head;
    tbed_le32 location_id;
    tbed_le32 count;
    struct tbed_disk_frame frames[];
};
_Static_assert(sizeof(struct tbed_disk_frames) == 16, "section 8");
struct tbed_disk_series {
    tbed_le64 head;
    tbed_le64 series_id;
    tbed_le64 previous_file_id;
    tbed_le32 number;
    tbed_le32 failed_count;
};
_Static_assert(sizeof(struct tbed_disk_series) == 32, "section 8");

struct tbed_disk_lost {
    tbed_le64 head;
    tbed_le32 stream;
    tbed_le32 kind;
    tbed_le32 first_sequence;
    tbed_le32 count;
    tbed_le64 first_tick;
    tbed_le64 last_tick;
    tbed_le64 nbytes;
};
_Static_assert(sizeof(struct tbed_disk_lost) == 48, "section 8");

#endif
