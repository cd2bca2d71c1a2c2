/*
 * The options for recording allocations, and how they are passed to the preloaded library.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/record/record_verb.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_DEFAULT 64
#define FRAMES_MAX     128 /* the library's */

/* "N", "fp" or "N,fp". */
bool record_stacks_parse(const char *text, struct record_allocations *allocations)
{
    uint64_t count = FRAMES_DEFAULT;
    char number[8] = "";
    size_t nbytes = text != NULL ? strcspn(text, ",") : 0;
    allocations->by_frame_pointer = false;
    if (text != NULL && strcmp(text, "fp") == 0) {
        allocations->by_frame_pointer = true;
    } else if (text != NULL) {
        if (nbytes >= sizeof number || (text[nbytes] == ',' && strcmp(text + nbytes, ",fp") != 0))
            return false;
        memcpy(number, text, nbytes);
        if (!tool_parse_u64(number, FRAMES_MAX, &count) || count == 0)
            return false;
        allocations->by_frame_pointer = text[nbytes] == ',';
    }
    allocations->frame_count = (unsigned)count;
    return true;
}

void record_allocations_set(const struct record_allocations *allocations)
{
    char mode[64];
    snprintf(mode, sizeof mode, "%s%sstacks=%u%s", allocations->light ? "light," : "",
             allocations->mappings ? "mmap," : "", allocations->frame_count,
             allocations->by_frame_pointer ? ",fp" : "");
    setenv("TRACEBED_PRELOAD_MODE", mode, 1);
}
