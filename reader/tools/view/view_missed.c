/*
 * Categories and names that the command line asks for and that no trace can have. What has them is not counted here: a page
 * shows other parts of the trace, too, and is there at once. So this looks for the texts alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/filter/filter_missed.h"
#include "reader/tools/view/view.h"

#include <string.h>

static bool is_text(const struct tbed_name *label, const char *text)
{
    return label->nbytes == strlen(text) && memcmp(label->text, text, label->nbytes) == 0;
}

/* Is it the label of any string? */
static bool has_label(const struct tbed_reader *reader, const char *text)
{
    struct tbed_name label;
    for (uint32_t id = 0; tbed_string_next(reader, &id);)
        if (tbed_event_label(reader, id, &label) == TBED_OK && is_text(&label, text))
            return true;
    return false;
}

static void tell_missed(const struct view_trace *trace, const struct tool_filter_list *list, bool is_category)
{
    for (size_t i = 0; i < list->count; i++)
        if (!has_label(trace->reader, list->items[i]))
            tool_filter_tell_one(trace->path,
                                 &(struct filter_missed){.is_category = is_category, .text = list->items[i]});
}

void view_tell_missed(struct view *view)
{
    for (size_t i = 0; i < view->trace_count; i++) {
        struct view_trace *trace = &view->traces[i];
        pthread_rwlock_rdlock(&trace->lock);
        tell_missed(trace, &view->filter.categories, true);
        if (trace->seen.unit_count == 0) /* functions are named by their symbols */
            tell_missed(trace, &view->filter.inside, false);
        pthread_rwlock_unlock(&trace->lock);
    }
}
