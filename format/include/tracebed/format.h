/*
 * tracebed/format.h: the definitions that the writing and the reading library share: versions, and the ids, limits,
 * kinds, drop causes and statuses of file format 1. No function here touches a file. spec/format.md is the contract;
 * section numbers refer to it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FORMAT_H
#define TRACEBED_FORMAT_H

#if defined __cplusplus && __cplusplus < 201703L
#pragma GCC system_header /* it is written for C++17 */
#endif

#include <tracebed/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ABI. A compiled program keeps working with every later library of the same soname (libtracebed.so.0,
 * libtracebed-reader.so.0). Functions and constants are not removed. Enums may get new values, so be prepared for
 * unknown ones. There are four kinds of structs:
 *
 *   Options begin with 'size', which the caller sets: struct tbed_reader_options options = {.size = sizeof options}.
 *       New fields are added at the end. Fields that an older program lacks are 0, which is the default. Fields that an
 *       older library does not know must be 0; otherwise the call fails with ERR_ARGUMENT.
 *   Structs that a call fills or reads, such as struct tbed_event, also grow at the end. The call is an inline function
 *       that passes sizeof to NAME_sized(). An older program gets the fields that it knows; a newer program gets 0 in
 *       fields that the library does not know. Other languages call NAME_sized() themselves.
 *   Structs that the library only hands out as pointers to const, such as the rows of a report, also grow at the end. Do
 *       not copy them or make arrays of them.
 *   All other structs never change. That includes everything that macros and inline functions use.
 *
 * ninja/checks/check_abi.py lists them, and runs programs that were compiled with older and with newer headers.
 */

/*
 * The version of these headers, as in #if TBED_VERSION_NUMBER >= 1002003 for 1.2.3. tbed_version() returns the version
 * of the library that the program runs with. The file format has a version of its own.
 */
#define TBED_VERSION_MAJOR  0
#define TBED_VERSION_MINOR  2
#define TBED_VERSION_PATCH  0
#define TBED_VERSION_NUMBER (TBED_VERSION_MAJOR * 1000000 + TBED_VERSION_MINOR * 1000 + TBED_VERSION_PATCH)
#define TBED_VERSION_STRING "0.2.0"

#define TBED_FORMAT_VERSION 1u

/* Ids, section 5. */
#define TBED_ID_BITS         30
#define TBED_ID_MAX_RESERVED 0x1FFFFFFFu
#define TBED_ID_METADATA     0x20000000u
#define TBED_ID_INVALID      0x20000001u
#define TBED_ID_MAX          0x3FFFFFFFu

/* Limits, section 2. */
#define TBED_PAGE_NBYTES_MIN     4096u
#define TBED_PAGE_NBYTES_MAX     1048576u
#define TBED_PAGE_NBYTES_DEFAULT 65536u

enum tbed_clock {                      /* section 3.1 */
                  TBED_CLOCK_AUTO = 0, /* the machine's counter if it is invariant and the kernel offers
                                          it as a clock, else MONOTONIC */
                  TBED_CLOCK_X86_TSC = 1,
                  TBED_CLOCK_ARM64_VIRTUAL = 2,
                  TBED_CLOCK_MONOTONIC = 3,
                  TBED_CLOCK_USER = 4,
};

enum tbed_clock_reason {                        /* section 3.1: why a trace has its clock */
                         TBED_CLOCK_UNTOLD = 0, /* ticks are given, or the clock is the program's own */
                         TBED_CLOCK_BY_DEFAULT = 1,
                         TBED_CLOCK_ASKED_FOR = 2,
                         TBED_CLOCK_NOT_OFFERED = 3, /* the kernel does not offer the machine's counter */
                         TBED_CLOCK_NOT_STEADY = 4,  /* the machine has no counter that is steady */
};

enum tbed_block_kind { /* section 4 */
                       TBED_BLOCK_NONE = 0,
                       TBED_BLOCK_EVENTS = 1,
                       TBED_BLOCK_STRINGS = 2,
                       TBED_BLOCK_RECORDS = 3,
                       TBED_BLOCK_CELLS = 4,
                       TBED_BLOCK_DIRECTORY = 5, /* section 4.3 */
};

enum tbed_tag { /* section 6 */
                TBED_TAG_BEGIN = 1,
                TBED_TAG_END = 2,
                TBED_TAG_INSTANT = 3,
                TBED_TAG_TIME = 4,
                TBED_TAG_PAIR = 5,
                TBED_TAG_EXTENDED = 6,
};

enum tbed_pair { /* section 6.1 */
                 TBED_PAIR_ALLOC = 1,
                 TBED_PAIR_FREE = 2,
                 TBED_PAIR_COUNTER = 3,
};

enum tbed_extended { /* section 6.2 */
                     TBED_EXT_BEGIN = 1,
                     TBED_EXT_END = 2,
                     TBED_EXT_INSTANT = 3,
                     TBED_EXT_COUNTER = 4,
                     TBED_EXT_MESSAGE = 5,
                     TBED_EXT_ALLOC = 6,
                     TBED_EXT_FREE = 7,
                     TBED_EXT_REALLOC = 8,
                     TBED_EXT_ASYNC_BEGIN = 9,
                     TBED_EXT_ASYNC_END = 10,
                     TBED_EXT_FLOW_BEGIN = 11,
                     TBED_EXT_FLOW_STEP = 12,
                     TBED_EXT_FLOW_END = 13,
                     TBED_EXT_GAP = 14,
                     TBED_EXT_SPAN = 15,
                     TBED_EXT_PACKED_MESSAGE = 16,
                     TBED_EXT_LEAVE = 17,
                     TBED_EXT_PACKED_BEGIN = 18,
                     TBED_EXT_PACKED_INSTANT = 19,
                     TBED_EXT_RESIZE = 20,
                     TBED_EXT_APPLICATION = 128,
};

enum tbed_severity { /* section 6.2, MESSAGE */
                     TBED_SEVERITY_NONE = 0,
                     TBED_SEVERITY_ERROR = 1,
                     TBED_SEVERITY_WARNING = 2,
                     TBED_SEVERITY_INFORMATION = 3,
                     TBED_SEVERITY_DEBUG = 4,
};

/* Beside the severity of a MESSAGE: its format is "context U+001E format". */
#define TBED_MESSAGE_CONTEXT 8u

enum tbed_alloc_function { /* section 6.2, ALLOC and FREE */
                           TBED_FUNCTION_UNKNOWN = 0,
                           TBED_FUNCTION_MALLOC = 1, /* or free */
                           TBED_FUNCTION_CALLOC = 2,
                           TBED_FUNCTION_REALLOC = 3,
                           TBED_FUNCTION_ALIGNED = 4,
                           TBED_FUNCTION_NEW = 5,  /* or delete */
                           TBED_FUNCTION_MMAP = 6, /* or munmap */
};

enum tbed_argument_type { /* section 6.3 */
                          TBED_ARG_U64 = 1,
                          TBED_ARG_I64 = 2,
                          TBED_ARG_F64 = 3,
                          TBED_ARG_POINTER = 4,
                          TBED_ARG_BOOL = 5,
                          TBED_ARG_ID = 6,
                          TBED_ARG_TEXT = 7,
                          TBED_ARG_BYTES = 8,
};

/* Packed values, section 6.4: the types up to TEXT, and U64 and I64 in 4 bytes. */
#define TBED_PACKED_NARROW       8 /* added to the type */
#define TBED_PACKED_U32          (TBED_PACKED_NARROW + TBED_ARG_U64)
#define TBED_PACKED_I32          (TBED_PACKED_NARROW + TBED_ARG_I64)
#define TBED_PACKED_COUNT_MAX    7
#define TBED_PACKED_SEVERITY_MAX 15

/*
 * An argument of an event, for writing and for reading.
 *
 * Units:     'nbytes' counts the bytes of 'text' (TEXT, BYTES). For all other types it is 8 when read and ignored when
 *            written.
 * Ownership: when writing, 'text' is the caller's; when reading, it points into the map.
 * Source:    spec/format.md, section 6.3.
 */
struct tbed_argument {
    uint32_t type;    /* enum tbed_argument_type; unknown types are read as bytes */
    uint32_t name_id; /* TBED_ID_INVALID: no name */
    uint32_t nbytes;
    union {
        uint64_t u64; /* U64, POINTER, BOOL */
        int64_t i64;
        double f64;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        uint32_t id; /* ID; when read, 'u64' holds all 64 bits */
#else
        __extension__ struct {
            uint32_t id_upper, id;
        };
#endif
        const char *text; /* TEXT, BYTES; not terminated */
    } value;
};

enum tbed_unit_kind { /* section 8, UNIT */
                      TBED_UNIT_NATIVE = 1,
                      TBED_UNIT_BYTECODE = 2,
};

enum tbed_stream_kind { /* section 8, STREAM; 0: unknown */
                        TBED_STREAM_THREAD = 1,
                        TBED_STREAM_TRACK = 2,
                        TBED_STREAM_HANDLERS = 3, /* of a thread or track: its signal handlers */
                        TBED_STREAM_OFF_CPU = 4,  /* of a thread: when it was off its processor */
};

/* Causes of drops, section 9, with the text that the tools print. */
#define TBED_DROP_LIST(X)                                                                                    \
    X(DISK_FULL, 0, "disk full")                                                                             \
    X(SIZE_LIMIT, 1, "size limit")                                                                           \
    X(NO_MEMORY, 2, "no memory")                                                                             \
    X(INTERRUPTED, 3, "interrupted")                                                                         \
    X(IDS_EXHAUSTED, 4, "ids exhausted")                                                                     \
    X(TOO_LARGE, 5, "too large")                                                                             \
    X(CLOSED, 6, "recorder closed")                                                                          \
    X(IO_ERROR, 7, "I/O error")                                                                              \
    X(SANDBOX, 8, "sandbox")

enum tbed_drop_cause {
#define X(name, value, text) TBED_DROP_##name = value,
    TBED_DROP_LIST(X)
#undef X
};
#define TBED_DROP_CAUSE_COUNT 16

/*
 * Every status, with a fixed value. From 64 on they are the checks of section 12, by the same names; each has a golden
 * file in spec/golden/invalid. From 224 on they are those of spec/measureme.md, from 240 on those of other foreign
 * formats, from 256 on those of spec/packed.md.
 */
#define TBED_STATUS_LIST(X)                                                                                  \
    X(OK, 0, "fine")                                                                                         \
    X(END, 1, "no more")                                                                                     \
    X(ERR_ARGUMENT, 2, "invalid argument")                                                                   \
    X(ERR_OPEN, 3, "cannot be opened")                                                                       \
    X(ERR_READ, 4, "cannot be read")                                                                         \
    X(ERR_WRITE, 5, "cannot be written")                                                                     \
    X(ERR_MAP, 6, "cannot be mapped into memory")                                                            \
    X(ERR_MEMORY, 7, "out of memory")                                                                        \
    X(ERR_EXISTS, 8, "exists already")                                                                       \
    X(ERR_DISK_FULL, 9, "the disk is full")                                                                  \
    X(ERR_BUSY, 10, "a writer is still alive")                                                               \
    X(ERR_CLOCK_DIFFERS, 11, "its clock is not this machine's")                                              \
    X(ERR_NO_TIME, 12, "its clock does not count time")                                                      \
    X(ERR_CHANGED, 13, "the page was reused while it was read")                                              \
    X(ERR_NO_THREAD, 14, "no helper thread could be started")                                                \
    X(ERR_CACHE_FULL, 15, "the reader's cache of names is full, or the name is too long for it")             \
    X(ERR_CANCELLED, 16, "cancelled")                                                                        \
    X(ERR_NO_LIBRARY, 17, "a library that this needs is not installed")                                      \
    X(ERR_NOT_A_TRACE, 64, "not a tracebed file: the magic is missing")                                      \
    X(ERR_EMPTY, 65, "the file is empty")                                                                    \
    X(ERR_IS_DIRECTORY, 66, "it is a directory")                                                             \
    X(ERR_NOT_REGULAR, 67, "it is not a regular file")                                                       \
    X(ERR_HEADER_CUT, 68, "the file ends inside the header page")                                            \
    X(ERR_VERSION, 69, "unknown format version")                                                             \
    X(ERR_FLAGS, 70, "unknown incompatible flags")                                                           \
    X(ERR_HEADER_CHECKSUM, 71, "the header's checksum does not match")                                       \
    X(ERR_PAGE_SIZE, 72, "the page size is not a power of two from 4096 to 1048576")                         \
    X(ERR_ID_SPACE, 73, "the id ranges are not those of version 1")                                          \
    X(ERR_CLOCK, 74, "invalid clock kind, rate or unit")                                                     \
    X(ERR_FILE_ID, 75, "the file id is 0")                                                                   \
    X(ERR_HEADER_ZERO, 76, "a reserved byte of the header is not zero")                                      \
    X(ERR_STATE, 77, "the state is neither open nor shut")                                                   \
    X(ERR_CLOSING_CHECKSUM, 78, "the closing checksum does not match")                                       \
    X(ERR_SHARED_ZERO, 79, "a reserved byte of the shared region is not zero")                               \
    X(ERR_FILE_SIZE, 80, "the file's size differs from when it was closed")                                  \
    X(ERR_PAGE_COUNT, 81, "impossible page count")                                                           \
    X(ERR_HEADER_SIZE, 82, "impossible header size")                                                         \
    X(ERR_BLOCK_CUT, 96, "the file ends before this page does")                                              \
    X(ERR_BLOCK_KIND, 97, "unknown block kind")                                                              \
    X(ERR_BLOCK_SHIFT, 98, "invalid block size")                                                             \
    X(ERR_BLOCK_CELL, 99, "wrong cell number")                                                               \
    X(ERR_BLOCK_PAGE, 100, "wrong page number")                                                              \
    X(ERR_BLOCK_FILE, 101, "the file id belongs to another file")                                            \
    X(ERR_BLOCK_STREAM, 102, "the stream was never handed out")                                              \
    X(ERR_BLOCK_DEPTH, 103, "a block of this kind cannot have open spans")                                   \
    X(ERR_BLOCK_USED, 104, "impossible used size")                                                           \
    X(ERR_BLOCK_TICKS, 105, "the last tick is before the first")                                             \
    X(ERR_BLOCK_CHECKSUM, 106, "the checksum does not match")                                                \
    X(ERR_BLOCK_TAIL, 107, "bytes past the used part are not zero")                                          \
    X(ERR_BLOCK_UNSEALED, 108, "a block of a cleanly closed file is not sealed")                             \
    X(ERR_BLOCK_NOT_ZERO, 109, "a page without a block is not zero")                                         \
    X(ERR_BLOCK_TWICE, 110, "duplicate block of the stream")                                                 \
    X(ERR_BLOCK_MISSING, 111, "a block of the stream is missing")                                            \
    X(ERR_BLOCK_ORDINAL, 112, "the string page ordinal is impossible or a duplicate")                        \
    X(ERR_BLOCK_LOST, 113, "the block that the directory has for this page is gone")                         \
    X(ERR_DIRECTORY_PAGE, 114, "a page of the directory is damaged")                                         \
    X(ERR_DIRECTORY_ENTRY, 115, "the directory's entry for this page is wrong")                              \
    X(ERR_EVENT_TAG, 128, "an event word with tag 0")                                                        \
    X(ERR_EVENT_TIME, 129, "invalid time advance")                                                           \
    X(ERR_EVENT_LENGTH, 130, "a record extends beyond the end of its block")                                 \
    X(ERR_EVENT_ARGUMENT, 131, "the arguments do not fill their record exactly")                             \
    X(ERR_EVENT_ZERO, 132, "a zero word before the end of the block's events")                               \
    X(ERR_EVENT_STACK, 133, "invalid stack of open spans")                                                   \
    X(ERR_EVENT_TICK, 134, "the event is later than the last tick of its block")                             \
    X(ERR_STRING_ID, 160, "the id refers to a string page that does not exist")                              \
    X(ERR_STRING_LENGTH, 161, "impossible string length")                                                    \
    X(ERR_STRING_HASH, 162, "no string starts there, or it is damaged")                                      \
    X(ERR_STRING_END, 163, "the string's components do not end where it ends")                               \
    X(ERR_STRING_UTF8, 164, "the string is not UTF-8")                                                       \
    X(ERR_STRING_UNBOUND, 165, "the id was never given a meaning")                                           \
    X(ERR_STRING_CYCLE, 166, "the string contains itself")                                                   \
    X(ERR_STRING_DEPTH, 167, "the string nests too deep")                                                    \
    X(ERR_STRING_COMPONENTS, 168, "the string has too many components")                                      \
    X(ERR_STRING_BYTES, 169, "the string is too long")                                                       \
    X(ERR_RECORD_LENGTH, 192, "impossible record length")                                                    \
    X(ERR_RECORD_FIELD, 193, "impossible value in a record's field")                                         \
    X(ERR_RECORD_RANGE, 194, "invalid range of ids in a record")                                             \
    X(ERR_PROFILE_VERSION, 224, "unknown profile version")                                                   \
    X(ERR_PROFILE_STREAM, 225, "a stream of the profile is missing, or its header is wrong")                 \
    X(ERR_PROFILE_PAGE, 226, "unknown kind of page in the profile")                                          \
    X(ERR_PROFILE_CUT, 227, "the profile ends inside a page, a header, an event or an index record")         \
    X(ERR_PROFILE_STRING, 228, "a string of the profile is not terminated, or not UTF-8")                    \
    X(ERR_PROFILE_INDEX, 229, "an index record of the profile leads nowhere")                                \
    X(ERR_PROFILE_EVENT, 230, "impossible event in the profile")                                             \
    X(ERR_FOREIGN_CUT, 240, "the file ends inside a record")                                                 \
    X(ERR_FOREIGN_RECORD, 241, "impossible record")                                                          \
    X(ERR_FOREIGN_VERSION, 242, "unknown version of the format")                                             \
    X(ERR_FOREIGN_FILE, 243, "a file of the folder is missing or cannot be read")                            \
    X(ERR_FOREIGN_LIBRARY, 244, "the library that reads the format failed")                                  \
    X(ERR_FOREIGN_TIME, 245, "the time is impossible or does not fit")                                       \
    X(ERR_FOREIGN_PACKED, 248, "the compressed data is damaged, or ends early")                              \
    X(ERR_PACKED_UNIT, 256, "a unit of the packed trace is damaged")                                         \
    X(ERR_PACKED_HEADER, 257, "the header of the packed trace is damaged")                                   \
    X(ERR_PACKED_INDEX, 258, "the packed trace was cut, or its index is damaged")                            \
    X(ERR_PACKED, 259, "the trace is packed; 'tracebed unpack' restores it")                                 \
    X(ERR_NOT_PACKED, 260, "not packed")

enum tbed_status {
#define X(name, value, text) TBED_##name = value,
    TBED_STATUS_LIST(X)
#undef X
};

/*
 * What went wrong, and where. Functions fill it only if they fail.
 *
 * Units:     'offset' counts bytes from the start of the file; UINT64_MAX: not a place in the file.
 * Ownership: plain data without pointers.
 */
struct tbed_error {
    enum tbed_status status;
    int system_errno; /* 0: none */
    uint64_t offset;
    uint64_t detail; /* the value found, if there is one */
};

/* The version of the library, as TBED_VERSION_NUMBER. Any thread. */
uint32_t tbed_version(void);

/* The status in words, without a full stop: "the checksum does not match". Never NULL. Any thread. */
const char *tbed_status_text(enum tbed_status status);

/* The name of the status in spec/format.md: "BLOCK_CHECKSUM", "OK". Never NULL. Any thread. */
const char *tbed_status_name(enum tbed_status status);

/* The cause of a drop in words: "disk full", or "unknown cause". Any thread. */
const char *tbed_drop_cause_text(unsigned cause);

#ifdef __cplusplus
}
#endif
#endif
