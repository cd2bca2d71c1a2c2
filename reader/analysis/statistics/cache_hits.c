/*
 * Which cache hits count; see cache_hits.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/statistics/cache_hits.h"

#include <stdlib.h>

static uint64_t mark_hash(uint32_t row, uint64_t stream)
{
    return row * 0x9E3779B97F4A7C15u ^ stream;
}

static struct stat_mark *find_mark(const struct stat_marks *marks, uint32_t row, uint64_t stream,
                                   uint32_t *last_ret)
{
    uint32_t at = tbed_number_map_find(&marks->by_row_and_stream, mark_hash(row, stream));
    *last_ret = NUMBER_MAP_NONE;
    for (; at != NUMBER_MAP_NONE; at = marks->list[at].next) {
        if (marks->list[at].row == row && marks->list[at].place.stream == stream)
            return &marks->list[at];
        *last_ret = at;
    }
    return NULL;
}

static bool add_mark(struct stat_marks *marks, uint32_t row, struct stat_place place, uint32_t last)
{
    if (marks->count == marks->room) {
        size_t room = marks->room == 0 ? 64 : marks->room * 2;
        struct stat_mark *list = room < NUMBER_MAP_NONE ? realloc(marks->list, room * sizeof *list) : NULL;
        if (list == NULL)
            return false;
        marks->list = list;
        marks->room = room;
    }
    uint32_t index = (uint32_t)marks->count;
    if (last != NUMBER_MAP_NONE)
        marks->list[last].next = index;
    else if (!tbed_number_map_add(&marks->by_row_and_stream, mark_hash(row, place.stream), index))
        return false;
    marks->list[marks->count++] = (struct stat_mark){place, row, NUMBER_MAP_NONE};
    return true;
}

bool tbed_stat_mark(struct stat_marks *marks, uint32_t row, struct stat_place place, uint64_t *hint)
{
    uint32_t last;
    struct stat_mark *mark = *hint != 0 ? &marks->list[*hint - 1] : NULL;
    if (mark == NULL || mark->place.stream != place.stream)
        mark = find_mark(marks, row, place.stream, &last);
    if (mark == NULL) {
        bool is_added = add_mark(marks, row, place, last);
        *hint = is_added ? marks->count : 0;
        return is_added;
    }
    *hint = (uint64_t)(mark - marks->list) + 1;
    mark->place.order = place.order > mark->place.order ? place.order : mark->place.order;
    mark->place.tick = place.tick > mark->place.tick ? place.tick : mark->place.tick;
    return true;
}

bool tbed_stat_marks_add(struct stat_marks *marks, const struct stat_marks *from)
{
    for (size_t i = 0; i < from->count; i++) {
        uint64_t hint = 0;
        if (!tbed_stat_mark(marks, from->list[i].row, from->list[i].place, &hint))
            return false;
    }
    return true;
}

void tbed_stat_marks_free(struct stat_marks *marks)
{
    free(marks->list);
    tbed_number_map_free(&marks->by_row_and_stream);
}

/* Sorts by time across streams. */
static bool is_later(const struct stat_place *left, const struct stat_place *right)
{
    return left->tick != right->tick ? left->tick > right->tick : left->stream > right->stream;
}

static void follow(struct stat_follower *follower, const struct stat_place *place)
{
    if (follower->count == 0 || is_later(place, &follower->latest)) {
        follower->second = follower->latest;
        follower->latest = *place;
    } else if (follower->count == 1 || is_later(place, &follower->second)) {
        follower->second = *place;
    }
    follower->count += follower->count < 2;
}

bool tbed_stat_followers_make(struct stat_followers *followers, uint32_t row_count)
{
    followers->by_row = calloc(row_count, sizeof *followers->by_row);
    if (followers->by_row == NULL)
        return false;
    followers->row_count = row_count;
    followers->first_order = UINT64_MAX;
    for (size_t i = 0; i < followers->marks.count; i++) {
        const struct stat_mark *mark = &followers->marks.list[i];
        follow(&followers->by_row[mark->row], &mark->place);
        if (mark->place.order < followers->first_order)
            followers->first_order = mark->place.order;
    }
    return true;
}

bool tbed_stat_is_followed(const struct stat_followers *followers, uint32_t row, struct stat_place place)
{
    const struct stat_follower *follower = &followers->by_row[row];
    if (follower->count == 0)
        return false;
    const struct stat_place *other =
        follower->latest.stream != place.stream ? &follower->latest : &follower->second;
    if ((other != &follower->second || follower->count == 2) && is_later(other, &place))
        return true;
    uint32_t last;
    const struct stat_mark *own = find_mark(&followers->marks, row, place.stream, &last);
    return own != NULL && own->place.order > place.order;
}

void tbed_stat_followers_free(struct stat_followers *followers)
{
    tbed_stat_marks_free(&followers->marks);
    free(followers->by_row);
}
