/*
 * What the tests of the writer share: a folder of their own, a trace opened and verified, all events of a
 * stream.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_TEST_SUPPORT_H
#define TRACEBED_WRITER_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <tracebed/reader.h>
#include <tracebed/writer.h>

/* A path in a folder that lives as long as the test program; the file is not there. */
const char *test_path(const char *name);

/* A new trace with these options (NULL: defaults), any old file replaced. Fails the test if it cannot be. */
struct tbed_writer *test_writer_open(const char *path, const struct tbed_writer_options *options);

/* Opens the trace, checks everything, and fails the test unless the trace is intact, and shut if 'shut' is true. */
struct tbed_reader *test_reader_open(const char *path, bool shut);

/* All events of a stream, the caller's to free(). */
struct tbed_event *test_events(struct tbed_reader *reader, uint32_t stream, size_t *count_ret);

/* The number of the only stream that has events, or that is named so; not of signal handlers. */
uint32_t test_stream_named(struct tbed_reader *reader, const char *name);

/* The first stream of signal handlers with a higher number than 'before'; 0: there is none. */
uint32_t test_next_stream_of_handlers(struct tbed_reader *reader, uint32_t before);

/* Fails the test unless 'id' resolves to 'text'. */
void assert_text(struct tbed_reader *reader, uint32_t id, const char *text);

/* All drops of the trace. */
uint64_t test_drop_count(const struct tbed_reader *reader);

#endif
