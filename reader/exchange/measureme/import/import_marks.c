/*
 * Marks addresses in the string data: where entries start, and which others are used. The latter point into the
 * middle of an entry and are rare. An event costs one bit lookup.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/measureme/import/import.h"

#include <stdlib.h>

#define ID_NONE (UINT64_C(1) << 63) /* the old versions have no id this high */

bool tbed_import_marks_open(struct import_marks *marks, const struct mm_file *file,
                            const struct mm_info *info)
{
    uint64_t nbytes = info->stream_nbytes[MM_STRING_DATA];
    *marks = (struct import_marks){
        .first = mm_string_first(file), .nbytes = nbytes, .word_count = nbytes / 64 + 1};
    marks->first_regular_id = info->version >= 4 ? info->first_regular_id : ID_NONE;
    marks->starts = calloc(marks->word_count, sizeof *marks->starts);
    marks->wanted = calloc(marks->word_count, sizeof *marks->wanted);
    marks->used = calloc(marks->word_count, sizeof *marks->used);
    return marks->starts != NULL && marks->wanted != NULL && marks->used != NULL;
}

void tbed_import_marks_close(struct import_marks *marks)
{
    free(marks->starts);
    free(marks->wanted);
    free(marks->used);
}

void tbed_import_marks_unite(struct import_marks *marks)
{
    for (uint64_t i = 0; i < marks->word_count; i++)
        marks->wanted[i] |= marks->used[i];
}
