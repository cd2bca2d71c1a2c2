/*
 * Allocations of an entire trace: one heap per process, whose streams are read in order of time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/blocks/allocation_streams.h"
#include "reader/analysis/leaks/leaks.h"
#include "reader/analysis/leaks/suppressions.h"
#include "reader/analysis/memory/heap.h"
#include "reader/analysis/memory/stack_sites.h"
#include "reader/analysis/shared/named.h"
#include "reader/core/base/workers.h"
#include "reader/core/names/id_info.h"
#include "reader/core/records/metadata.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tbed_allocations {
    struct named_texts texts;
    struct tbed_allocation_process *processes;
    struct tbed_allocation_site *sites;
    struct tbed_allocation_moment *moments;
    struct tbed_allocation_suppression *suppressions;
    struct lifetimes lifetimes; /* of the sites */
    size_t process_count, site_count, moment_count, suppression_count;
};

/* A process's place in the order of work: its number of forks from a process that was not forked. */
struct turn {
    uint32_t generation;
    uint32_t heap;
};

/* The state shared by the workers: item i is the process of turns[i]. Heaps are indexed by process number. */
struct allocation_work {
    struct tbed_work work;
    struct tbed_reader *reader;
    const struct tbed_analysis_options *options;
    const struct tbed_filter *filter;
    uint32_t *streams;    /* of all processes, one after the other */
    size_t *first_stream; /* of each heap; one more at the end */
    struct heap *heaps;
    size_t heap_count;
    struct turn *turns;
    struct collections collections; /* with 'survived_min' */
    enum tbed_status status;        /* the first that is not OK; atomic */
};

/* ---- One process: its streams in order of time, by a heap of sources ---- */

/* The source that comes after the first one, or NULL. */
static struct allocation_source *second_source(struct allocation_source **sources, size_t count)
{
    if (count < 3)
        return count == 2 ? sources[1] : NULL;
    return tbed_allocation_comes_first(sources[1], sources[2]) ? sources[1] : sources[2];
}

/* Takes events of the first source while they precede all others. '*more_ret': it has more. False: no memory. */
static bool follow_first(struct heap *heap, struct allocation_source *source,
                         const struct allocation_source *second, bool *more_ret)
{
    do {
        tbed_heap_prefetch(heap, tbed_allocation_source_ahead(source));
        if (!tbed_heap_take(heap, &source->event, &source->newest_address))
            return false;
        *more_ret = tbed_allocation_source_next(source);
    } while (*more_ret && (second == NULL || tbed_allocation_comes_first(source, second)));
    return true;
}

static bool follow_sources(struct heap *heap, struct allocation_source **sources, size_t count)
{
    for (size_t at = count / 2; at-- > 0;)
        tbed_allocation_sift_down(sources, count, at);
    while (count > 0) {
        bool more;
        if (!follow_first(heap, sources[0], second_source(sources, count), &more))
            return false;
        if (!more)
            sources[0] = sources[--count];
        if (count > 0)
            tbed_allocation_sift_down(sources, count, 0);
    }
    return true;
}

/* False: no memory. */
static bool follow_streams(const struct allocation_work *shared, struct heap *heap, const uint32_t *streams,
                           size_t count)
{
    struct allocation_source *all = calloc(count, sizeof *all);
    struct allocation_source **sources = calloc(count, sizeof *sources);
    size_t used = 0;
    bool fine = all != NULL && sources != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        tbed_allocation_source_open(&all[i], shared->reader, streams[i], shared->filter);
        if (tbed_allocation_source_next(&all[i]))
            sources[used++] = &all[i];
    }
    fine = fine && follow_sources(heap, sources, used);
    for (size_t i = 0; all != NULL && i < count; i++) {
        if (all[i].peak_resident_nbytes > heap->process.peak_resident_nbytes)
            heap->process.peak_resident_nbytes = all[i].peak_resident_nbytes;
        tbed_allocation_source_close(&all[i]);
    }
    free(all);
    free(sources);
    return fine;
}

static void follow_processes(struct tbed_work *work, unsigned worker)
{
    (void)worker;
    struct allocation_work *shared = work->context;
    size_t item;
    while (tbed_work_take(work, &item)) {
        size_t index = shared->turns[item].heap, first = shared->first_stream[index];
        struct heap *heap = &shared->heaps[index];
        if (!follow_streams(shared, heap, &shared->streams[first], shared->first_stream[index + 1] - first))
            __atomic_store_n(&shared->status, TBED_ERR_MEMORY, __ATOMIC_RELAXED);
        tbed_heap_finish(heap);
    }
}

/* Sorts parents before their children, one generation after the other. */
static void follow_generations(struct allocation_work *shared, unsigned thread_count)
{
    struct tbed_work *work = &shared->work;
    for (size_t first = 0, end; first < shared->heap_count; first = end) {
        for (end = first + 1; end < shared->heap_count; end++)
            if (shared->turns[end].generation != shared->turns[first].generation)
                break;
        work->next_item = first;
        work->item_count = end;
        tbed_work_run(work, tbed_worker_count(thread_count, end - first));
    }
}

/* ---- Streams by process ---- */

/* Creates a heap for each process among the streams. False: no memory. */
static bool make_heaps(struct allocation_work *shared, const struct allocation_stream *streams, size_t count)
{
    shared->streams = calloc(count + 1, sizeof *shared->streams);
    shared->first_stream = calloc(count + 1, sizeof *shared->first_stream);
    shared->heaps = calloc(count + 1, sizeof *shared->heaps);
    shared->turns = calloc(count + 1, sizeof *shared->turns);
    if (shared->streams == NULL || shared->first_stream == NULL || shared->heaps == NULL ||
        shared->turns == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        shared->streams[i] = streams[i].stream;
        if (i > 0 && streams[i].process == streams[i - 1].process)
            continue;
        struct heap *heap = &shared->heaps[shared->heap_count];
        tbed_heap_open(heap);
        heap->process.process = streams[i].process;
        heap->by_size = shared->options->by_size;
        heap->lifetimes.is_kept = shared->options->keep_lifetimes;
        heap->survived_min = shared->options->survived_min;
        heap->collections = tbed_collections_of(&shared->collections, streams[i].process);
        shared->first_stream[shared->heap_count++] = i;
    }
    shared->first_stream[shared->heap_count] = count;
    return true;
}

/* ---- Over time ---- */

#define MOMENTS_MAX 65536u

/* Where a moment begins. A trace may have fewer ticks than moments and end with the last possible tick. */
static uint64_t moment_tick(uint64_t first_tick, uint64_t ticks_each, size_t index)
{
    uint64_t tick;
    bool is_possible =
        !__builtin_mul_overflow(ticks_each, index, &tick) && !__builtin_add_overflow(first_tick, tick, &tick);
    return is_possible ? tick : UINT64_MAX;
}

/* Gives each heap intervals of its own. False: no memory. */
static bool make_moments(struct tbed_allocations *allocations, struct allocation_work *shared, size_t count)
{
    struct tbed_trace_info info;
    tbed_reader_info(shared->reader, &info);
    tbed_filter_times(shared->filter, &info);
    uint64_t ticks_each = count > 1 ? (info.last_tick - info.first_tick) / count + 1 : UINT64_MAX;
    allocations->moments = calloc(count + 1, sizeof *allocations->moments);
    for (size_t i = 0; count > 0 && i < shared->heap_count; i++) {
        struct heap_moments *moments = &shared->heaps[i].moments;
        *moments =
            (struct heap_moments){.count = count, .first_tick = info.first_tick, .ticks_each = ticks_each};
        moments->at = calloc(count, sizeof *moments->at);
        moments->stays = calloc(count, sizeof *moments->stays);
        if (moments->at == NULL || moments->stays == NULL)
            return false;
    }
    for (size_t i = 0; allocations->moments != NULL && i < count; i++)
        allocations->moments[i].tick = moment_tick(info.first_tick, ticks_each, i);
    allocations->moment_count = count;
    return allocations->moments != NULL;
}

/* Rounded, and never beyond the limits. */
static uint64_t mean_of(const struct tbed_allocation_moment *moment, const struct heap_stay *stay)
{
    if (stay->ticks == 0)
        return moment->live_nbytes;
    double mean = stay->area / (double)stay->ticks;
    if (mean <= (double)moment->least_nbytes)
        return moment->least_nbytes;
    return mean >= (double)moment->peak_nbytes ? moment->peak_nbytes : (uint64_t)(mean + 0.5);
}

static void add_moments(struct tbed_allocations *allocations, const struct allocation_work *shared)
{
    for (size_t i = 0; i < shared->heap_count; i++)
        for (size_t j = 0; j < allocations->moment_count; j++) {
            const struct tbed_allocation_moment *from = &shared->heaps[i].moments.at[j];
            struct tbed_allocation_moment *into = &allocations->moments[j];
            into->live_nbytes += from->live_nbytes;
            into->peak_nbytes += from->peak_nbytes;
            into->least_nbytes += from->least_nbytes;
            into->mean_nbytes += mean_of(from, &shared->heaps[i].moments.stays[j]);
            into->count += from->count;
        }
}

/* ---- Forks ---- */

/* False: no process has this number. */
static bool find_process(const struct tbed_reader *reader, uint32_t number,
                         struct tbed_process_info *info_ret)
{
    const struct tbed_keyed_process *process =
        tbed_keyed_find(&reader->metadata->processes, sizeof *process, number);
    if (process != NULL)
        *info_ret = process->info;
    return process != NULL;
}

/* NULL: the process has no events. */
static struct heap *find_heap(const struct allocation_work *shared, uint32_t process)
{
    size_t low = 0, high = shared->heap_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shared->heaps[middle].process.process == process)
            return &shared->heaps[middle];
        if (shared->heaps[middle].process.process < process)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/*
 * The nearest ancestor of this process that has events, or NULL. The processes between them have allocated
 * nothing. A parent's number is below its child's, so there are no cycles. '*tick_ret' is when this process's
 * line split from the ancestor, as far as is known.
 */
static struct heap *find_parent(const struct allocation_work *shared, struct tbed_process_info info,
                                uint64_t *tick_ret)
{
    for (int i = 0; i < HEAP_GENERATIONS_MAX; i++) {
        uint32_t parent = info.forked_from;
        if (parent == 0 || parent >= info.stream)
            return NULL;
        *tick_ret = info.tick;
        struct heap *heap = find_heap(shared, parent);
        if (heap != NULL || !find_process(shared->reader, parent, &info))
            return heap;
    }
    return NULL;
}

static void link_heap(const struct allocation_work *shared, size_t index)
{
    struct heap *heap = &shared->heaps[index], *parent = NULL;
    struct tbed_process_info info;
    uint64_t fork_tick;
    heap->process.name_id = TBED_ID_INVALID;
    if (find_process(shared->reader, heap->process.process, &info)) {
        heap->process.pid = info.pid;
        heap->process.name_id = info.name_id;
        heap->process.forked_from = info.forked_from;
        parent = find_parent(shared, info, &fork_tick);
    }
    shared->turns[index].heap = (uint32_t)index;
    if (parent == NULL)
        return;
    tbed_heap_fork(parent, heap, fork_tick);
    shared->turns[index].generation = shared->turns[parent - shared->heaps].generation + 1;
}

static int compare_turns(const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    if (a->generation != b->generation)
        return a->generation < b->generation ? -1 : 1;
    return a->heap < b->heap ? -1 : a->heap > b->heap;
}

static void link_heaps(struct allocation_work *shared)
{
    for (size_t i = 0; i < shared->heap_count; i++)
        link_heap(shared, i);
    if (shared->heap_count > 1)
        qsort(shared->turns, shared->heap_count, sizeof *shared->turns, compare_turns);
}

/* ---- Results ---- */

static void add_sums(struct tbed_allocation_sums *into, const struct tbed_allocation_sums *from)
{
    into->count += from->count;
    into->nbytes += from->nbytes;
    into->freed_count += from->freed_count;
    into->replaced_count += from->replaced_count;
    into->temporary_count += from->temporary_count;
    into->failed_count += from->failed_count;
    into->live_count += from->live_count;
    into->live_nbytes += from->live_nbytes;
    into->peak_nbytes += from->peak_nbytes;
}

static bool make_processes(struct tbed_allocations *allocations, const struct allocation_work *shared)
{
    allocations->processes = calloc(shared->heap_count + 1, sizeof *allocations->processes);
    if (allocations->processes == NULL)
        return false;
    for (size_t i = 0; i < shared->heap_count; i++)
        if (shared->heaps[i].process.event_count > 0)
            allocations->processes[allocations->process_count++] = shared->heaps[i].process;
    return true;
}

static void add_retained(struct tbed_allocation_site *into, const struct heap_site *from)
{
    if (from->retained_count > 0 &&
        (into->retained_count == 0 || from->retained_generation < into->retained_generation))
        into->retained_generation = from->retained_generation;
    into->retained_count += from->retained_count;
    into->retained_nbytes += from->retained_nbytes;
}

/* Adds site 'index' of a heap to its row. */
static void add_site(struct tbed_allocations *allocations, struct heap *heap, size_t index)
{
    const struct heap_site *from = &heap->sites[index];
    struct tbed_allocation_site *into = &allocations->sites[from->row];
    add_sums(&into->sums, &from->sums);
    tbed_lifetimes_move(&allocations->lifetimes, from->row, &heap->lifetimes, index);
    add_retained(into, from);
    if (from->suppression != 0)
        return;
    into->leak_count += from->sums.live_count;
    into->leak_nbytes += from->sums.live_nbytes;
}

/* Adds the sites of all heaps to their rows. False: no memory. */
static bool add_sites(struct tbed_allocations *allocations, const struct allocation_work *shared)
{
    struct lifetimes *lifetimes = &allocations->lifetimes;
    lifetimes->is_kept = shared->options->keep_lifetimes;
    if (!tbed_lifetimes_grow(lifetimes, allocations->site_count + 1, 0))
        return false;
    for (size_t i = 0; i < shared->heap_count; i++) {
        struct heap *heap = &shared->heaps[i];
        tbed_histograms_take(&lifetimes->histograms, &heap->lifetimes.histograms);
        for (size_t j = 0; j < heap->site_count; j++)
            add_site(allocations, heap, j);
    }
    for (size_t i = 0; lifetimes->is_kept && i < allocations->site_count; i++)
        tbed_lifetimes_fill(&lifetimes->items[i], &allocations->sites[i]);
    return !lifetimes->is_out_of_memory;
}

/* The name of a type. INVALID: blocks without one. */
static size_t name_type(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    if (id == TBED_ID_INVALID)
        return (size_t)snprintf(buffer, buffer_nbytes, "(unknown)");
    return tbed_id_spell(context, id, TBED_NAME_ALL, buffer, buffer_nbytes);
}

static uint32_t type_of(const struct tbed_reader *reader, uint32_t id)
{
    uint32_t location, type;
    return tbed_typed_get(reader, id, &location, &type) ? type : TBED_ID_INVALID;
}

/* The sites of all heaps with their names, sorted. NULL: no memory. */
static struct named *name_sites(struct tbed_allocations *allocations, struct heap_site *const *sites,
                                size_t count, const struct allocation_work *shared)
{
    struct named *names = calloc(count + 1, sizeof *names);
    struct tbed_analysis_options by_class = {.name = name_type, .name_context = shared->reader};
    bool has_types = shared->options->by_class;
    for (size_t i = 0; names != NULL && i < count; i++)
        names[i] = (struct named){.thing = sites[i],
                                  .id = has_types ? type_of(shared->reader, sites[i]->id) : sites[i]->id};
    if (names != NULL &&
        tbed_named_resolve(&allocations->texts, shared->reader, has_types ? &by_class : shared->options,
                           names, count) != TBED_OK) {
        free(names);
        return NULL;
    }
    return names;
}

/* Makes a row for each name. False: no memory. */
static bool make_rows(struct tbed_allocations *allocations, struct heap_site *const *sites, size_t total,
                      const struct allocation_work *shared)
{
    struct named *names = name_sites(allocations, sites, total, shared);
    allocations->sites = calloc(names == NULL ? 1 : total + 1, sizeof *allocations->sites);
    if (names == NULL || allocations->sites == NULL) {
        free(names);
        return false;
    }
    for (size_t i = 0, count; i < total; i += count) {
        count = tbed_named_group(names, total, i);
        for (size_t j = i; j < i + count; j++)
            ((struct heap_site *)names[j].thing)->row = allocations->site_count;
        allocations->sites[allocations->site_count++] = (struct tbed_allocation_site){
            .name = names[i].text, .name_nbytes = names[i].nbytes, .id = names[i].id};
    }
    free(names);
    return true;
}

/* The same for stacks, which stay without a name. */
static bool make_stack_rows(struct tbed_allocations *allocations, struct heap_site *const *sites,
                            size_t total, const struct allocation_work *shared)
{
    uint32_t *ids = calloc(total + 1, sizeof *ids), *ranks = NULL;
    for (size_t i = 0; ids != NULL && i < total; i++)
        ids[i] = sites[i]->id;
    if (ids != NULL && tbed_stack_sites_rank(shared->reader, shared->options, ids, total, &ranks,
                                             &allocations->site_count) == TBED_OK)
        allocations->sites = calloc(allocations->site_count + 1, sizeof *allocations->sites);
    for (size_t i = 0; allocations->sites != NULL && i < allocations->site_count; i++)
        allocations->sites[i].id = UINT32_MAX;
    for (size_t i = 0; allocations->sites != NULL && i < total; i++) {
        struct tbed_allocation_site *row = &allocations->sites[ranks[i]];
        row->id = ids[i] < row->id ? ids[i] : row->id;
        sites[i]->row = ranks[i];
    }
    free(ids);
    free(ranks);
    return allocations->sites != NULL;
}

/* A row of blocks of one class of sizes. False: no memory. */
static bool make_size_row(struct tbed_allocations *allocations, uint32_t size_class)
{
    struct tbed_allocation_site *row = &allocations->sites[allocations->site_count++];
    char *name = tbed_named_texts_take(&allocations->texts, 64);
    if (name == NULL)
        return false;
    row->id = TBED_ID_INVALID;
    row->name = name;
    if (size_class > 0)
        row->least_nbytes = size_class == 1 ? 1 : ((uint64_t)4 << (size_class - 1)) + 1;
    if (size_class > 0)
        row->most_nbytes = size_class == HEAP_SIZE_CLASSES - 1 ? UINT64_MAX : (uint64_t)4 << size_class;
    row->name_nbytes = (size_t)(size_class == 0 ? snprintf(name, 64, "0")
                                                : snprintf(name, 64, "%" PRIu64 " to %" PRIu64,
                                                           row->least_nbytes, row->most_nbytes));
    return true;
}

/* The same for sizes. */
static bool make_size_rows(struct tbed_allocations *allocations, struct heap_site *const *sites, size_t total)
{
    bool is_used[HEAP_SIZE_CLASSES] = {false};
    uint64_t row_of[HEAP_SIZE_CLASSES];
    allocations->sites = calloc(HEAP_SIZE_CLASSES, sizeof *allocations->sites);
    for (size_t i = 0; i < total; i++)
        is_used[sites[i]->id] = true;
    for (uint32_t i = 0; allocations->sites != NULL && i < HEAP_SIZE_CLASSES; i++) {
        row_of[i] = allocations->site_count;
        if (is_used[i] && !make_size_row(allocations, i))
            return false;
    }
    for (size_t i = 0; allocations->sites != NULL && i < total; i++)
        sites[i]->row = row_of[sites[i]->id];
    return allocations->sites != NULL;
}

/* The sites of all heaps. NULL: no memory. */
static struct heap_site **list_sites(const struct allocation_work *shared, size_t *count_ret)
{
    size_t total = 0, count = 0;
    for (size_t i = 0; i < shared->heap_count; i++)
        total += shared->heaps[i].site_count;
    struct heap_site **sites = malloc((total + 1) * sizeof *sites);
    for (size_t i = 0; sites != NULL && i < shared->heap_count; i++)
        for (size_t j = 0; j < shared->heaps[i].site_count; j++)
            sites[count++] = &shared->heaps[i].sites[j];
    *count_ret = count;
    return sites;
}

/* ---- Suppressions ---- */

static bool make_suppressions(struct tbed_allocations *allocations,
                              const struct tbed_suppressions *suppressions)
{
    size_t count = tbed_suppressions_count(suppressions);
    allocations->suppressions = calloc(count + 1, sizeof *allocations->suppressions);
    if (allocations->suppressions == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        allocations->suppressions[i].pattern =
            tbed_suppressions_text(suppressions, i, &allocations->suppressions[i].is_built_in);
    allocations->suppression_count = count;
    return true;
}

/* False: no memory. */
static bool suppress(struct tbed_allocations *allocations, struct heap_site *const *sites, size_t count,
                     const struct allocation_work *shared)
{
    const struct tbed_suppressions *suppressions = shared->options->suppressions;
    if (suppressions == NULL)
        return true;
    if (!make_suppressions(allocations, suppressions) ||
        tbed_leaks_judge(shared->reader, shared->options, sites, count) != TBED_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        if (sites[i]->suppression != 0) {
            struct tbed_allocation_suppression *by = &allocations->suppressions[sites[i]->suppression - 1];
            by->site_count++;
            by->count += sites[i]->sums.live_count;
            by->nbytes += sites[i]->sums.live_nbytes;
        }
    return true;
}

/* Makes the results of all heaps. False: no memory. */
static bool make_sites(struct tbed_allocations *allocations, const struct allocation_work *shared)
{
    size_t count;
    struct heap_site **sites = list_sites(shared, &count);
    bool fine = sites != NULL && suppress(allocations, sites, count, shared);
    if (fine && shared->options->by_size)
        fine = make_size_rows(allocations, sites, count);
    else if (fine && shared->options->by_stack)
        fine = make_stack_rows(allocations, sites, count, shared);
    else if (fine)
        fine = make_rows(allocations, sites, count, shared);
    free(sites);
    return fine && add_sites(allocations, shared);
}

static enum tbed_status follow_all(struct tbed_allocations *allocations, struct allocation_work *shared,
                                   const struct tbed_analysis_options *options)
{
    size_t stream_count;
    if (options->survived_min > 0 &&
        tbed_collections_load(shared->reader, options->filter, &shared->collections) != TBED_OK)
        return TBED_ERR_MEMORY;
    struct allocation_stream *streams = tbed_allocation_streams(shared->reader, &stream_count);
    size_t moment_count = options->moment_count < MOMENTS_MAX ? options->moment_count : MOMENTS_MAX;
    bool fine = streams != NULL && make_heaps(shared, streams, stream_count) &&
                make_moments(allocations, shared, moment_count);
    free(streams);
    if (!fine)
        return TBED_ERR_MEMORY;
    shared->work.run = follow_processes;
    shared->work.context = shared;
    link_heaps(shared);
    follow_generations(shared, options->thread_count);
    if (shared->status != TBED_OK)
        return shared->status;
    add_moments(allocations, shared);
    fine = make_processes(allocations, shared) && make_sites(allocations, shared);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}

enum tbed_status tbed_allocations_make(struct tbed_reader *reader, const struct tbed_analysis_options *given,
                                       struct tbed_allocations **allocations_ret)
{
    struct tbed_analysis_options options;
    struct allocation_work shared = {.reader = reader};
    enum tbed_status status = tbed_analysis_options_load(given, &options);
    if (status == TBED_OK && (tbed_filter_has_labels(options.filter) ||
                              (options.by_size && (options.by_stack || options.suppressions != NULL)) ||
                              (options.by_class && (options.by_stack || options.by_size))))
        status = TBED_ERR_ARGUMENT;
    if (status != TBED_OK)
        return status;
    shared.options = &options;
    shared.filter = options.filter;
    struct tbed_allocations *allocations = calloc(1, sizeof *allocations);
    status = allocations == NULL ? TBED_ERR_MEMORY : follow_all(allocations, &shared, &options);
    for (size_t i = 0; i < shared.heap_count; i++) {
        free(shared.heaps[i].moments.at);
        free(shared.heaps[i].moments.stays);
        tbed_heap_close(&shared.heaps[i]);
    }
    tbed_collections_free(&shared.collections);
    free(shared.heaps);
    free(shared.turns);
    free(shared.streams);
    free(shared.first_stream);
    if (status == TBED_OK)
        *allocations_ret = allocations;
    else
        tbed_allocations_close(allocations);
    return status;
}

void tbed_allocations_close(struct tbed_allocations *allocations)
{
    if (allocations == NULL)
        return;
    tbed_named_texts_free(&allocations->texts);
    free(allocations->processes);
    free(allocations->sites);
    free(allocations->moments);
    free(allocations->suppressions);
    tbed_lifetimes_close(&allocations->lifetimes, allocations->site_count);
    free(allocations);
}

void tbed_allocations_totals(const struct tbed_allocations *allocations,
                             struct tbed_allocation_sums *sums_ret)
{
    memset(sums_ret, 0, sizeof *sums_ret);
    for (size_t i = 0; i < allocations->process_count; i++)
        add_sums(sums_ret, &allocations->processes[i].sums);
}

const struct tbed_allocation_process *tbed_allocations_process(const struct tbed_allocations *allocations,
                                                               size_t index)
{
    return index < allocations->process_count ? &allocations->processes[index] : NULL;
}

const struct tbed_allocation_site *tbed_allocations_site(const struct tbed_allocations *allocations,
                                                         size_t index)
{
    return index < allocations->site_count ? &allocations->sites[index] : NULL;
}

const struct tbed_allocation_suppression *
tbed_allocations_suppression(const struct tbed_allocations *allocations, size_t index)
{
    return index < allocations->suppression_count ? &allocations->suppressions[index] : NULL;
}

const struct tbed_allocation_moment *tbed_allocations_moment(const struct tbed_allocations *allocations,
                                                             size_t index)
{
    return index < allocations->moment_count ? &allocations->moments[index] : NULL;
}
