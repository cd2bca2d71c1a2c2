/*
 * Samples as spans; see sample_import.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/foreign/sample_import.h"

enum tbed_status tbed_sample_import_open(struct sample_import *import, int fd,
                                         const struct import_start *start, const char *thread_name,
                                         struct tbed_import_report *report, struct tbed_error *error_ret)
{
    *import = (struct sample_import){.tick = IMPORT_FIRST_TICK};
    enum tbed_status status = tbed_import_trace_open(&import->trace, fd, start, report, error_ret);
    if (status == TBED_OK)
        import->thread = tbed_import_thread(&import->trace, start->pid, 0, thread_name);
    return status;
}

/* Ends open spans until 'count' are left. */
static void end_spans(struct sample_import *import, size_t count)
{
    const struct tbed_given_event end = {.type = TBED_GIVEN_END, .tick = import->tick};
    for (; import->open.count > count; import->open.count--)
        tbed_import_event(&import->trace, import->thread, &end);
}

enum tbed_status tbed_sample_import_close(struct sample_import *import, enum tbed_status status,
                                          struct tbed_error *error_ret)
{
    if (import->thread != NULL)
        end_spans(import, 0);
    status = tbed_import_trace_close(&import->trace, status, error_ret);
    tbed_vector_free(&import->open.vector);
    tbed_vector_free(&import->frames.vector);
    return status;
}

void tbed_sample_frame(struct sample_import *import, uint32_t id)
{
    if (import->frames.count >= SAMPLE_DEPTH_MAX) {
        import->trace.report->notes[TBED_IMPORT_NOTE_FRAMES]++;
        return;
    }
    uint32_t *frame = TBED_VECTOR_PUSH(&import->frames);
    if (frame == NULL)
        import->trace.is_out_of_memory = true;
    else
        *frame = id;
}

void tbed_sample_argument(struct sample_import *import, struct tbed_argument argument)
{
    if (import->argument_count < SAMPLE_ARGUMENTS_MAX)
        import->arguments[import->argument_count++] = argument;
    else
        import->trace.report->notes[TBED_IMPORT_NOTE_ARGUMENTS]++;
}

/* How many open spans go on: not the one at the place of the sample's innermost frame. */
static size_t shared_count(const struct sample_import *import)
{
    size_t count = 0;
    while (count + 1 < import->frames.count && count < import->open.count &&
           import->frames.items[count] == import->open.items[count])
        count++;
    return count;
}

static void begin_spans(struct sample_import *import)
{
    for (size_t i = import->open.count; i < import->frames.count; i++) {
        bool is_innermost = i + 1 == import->frames.count;
        struct tbed_given_event begin = {.type = TBED_GIVEN_BEGIN,
                                         .id = import->frames.items[i],
                                         .category = TBED_ID_INVALID,
                                         .tick = import->tick,
                                         .arguments = import->arguments,
                                         .argument_count = is_innermost ? import->argument_count : 0};
        tbed_import_event(&import->trace, import->thread, &begin);
        import->open.items[i] = import->frames.items[i];
        import->open.count = i + 1;
    }
}

void tbed_sample_put(struct sample_import *import, uint64_t value)
{
    if (value > SAMPLE_TICKS_MAX - import->tick) {
        import->trace.report->notes[TBED_IMPORT_NOTE_RANGE]++;
    } else if (import->trace.is_out_of_memory || !TBED_VECTOR_RESERVE(&import->open, import->frames.count)) {
        import->trace.is_out_of_memory = true;
    } else {
        end_spans(import, shared_count(import));
        begin_spans(import);
        import->tick += value;
    }
    import->frames.count = import->argument_count = 0;
}
