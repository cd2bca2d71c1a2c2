/*
 * Analyses the allocations of any trace. Every block must be live or freed, the sums by process and by site must equal
 * the totals, and one thread must compute the same as three.
 *
 * A byte of options follows the last complete page, another one chooses suppressions, and a third one how many collections
 * objects must have survived, and whether they are counted by class.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/analysis.h>

#include "fuzz/support/choices.h"
#include "fuzz/support/fuzz.h"

static void check_sums(const struct tbed_allocation_sums *sums)
{
    REQUIRE(sums->freed_count + sums->replaced_count + sums->live_count == sums->count);
    REQUIRE(sums->temporary_count <= sums->freed_count); /* sums of bytes may wrap */
}

static void add(struct tbed_allocation_sums *total, const struct tbed_allocation_sums *sums)
{
    total->count += sums->count;
    total->nbytes += sums->nbytes;
    total->freed_count += sums->freed_count;
    total->replaced_count += sums->replaced_count;
    total->temporary_count += sums->temporary_count;
    total->failed_count += sums->failed_count;
    total->live_count += sums->live_count;
    total->live_nbytes += sums->live_nbytes;
    total->peak_nbytes += sums->peak_nbytes;
}

static struct tbed_allocation_sums add_processes(const struct tbed_allocations *allocations)
{
    struct tbed_allocation_sums total = {0};
    const struct tbed_allocation_process *process;
    for (size_t i = 0; (process = tbed_allocations_process(allocations, i)) != NULL; i++) {
        check_sums(&process->sums);
        REQUIRE(process->sums.live_nbytes <= process->sums.peak_nbytes);
        add(&total, &process->sums);
    }
    return total;
}

static struct tbed_allocation_sums add_sites(const struct tbed_allocations *allocations)
{
    struct tbed_allocation_sums total = {0};
    const struct tbed_allocation_site *site;
    for (size_t i = 0; (site = tbed_allocations_site(allocations, i)) != NULL; i++) {
        check_sums(&site->sums);
        REQUIRE(site->name == NULL || site->name[site->name_nbytes] == 0);
        add(&total, &site->sums);
    }
    return total;
}

static void check_moments(const struct tbed_allocations *allocations, uint64_t count)
{
    const struct tbed_allocation_moment *moment;
    uint64_t sum = 0, tick = 0;
    size_t moments = 0;
    for (; (moment = tbed_allocations_moment(allocations, moments)) != NULL; moments++) {
        REQUIRE(moment->live_nbytes <= moment->peak_nbytes && moment->tick >= tick);
        if (tbed_allocations_process(allocations, 1) == NULL) { /* sums of several may wrap */
            REQUIRE(moment->least_nbytes <= moment->live_nbytes);
            REQUIRE(moment->least_nbytes <= moment->mean_nbytes);
            REQUIRE(moment->mean_nbytes <= moment->peak_nbytes);
        }
        tick = moment->tick;
        sum += moment->count;
    }
    REQUIRE(moments == 0 || sum == count);
}

static void compare_threads(const struct tbed_allocations *one, const struct tbed_allocations *three)
{
    for (size_t i = 0; tbed_allocations_process(one, i) != NULL; i++) {
        const struct tbed_allocation_process *a = tbed_allocations_process(one, i),
                                             *b = tbed_allocations_process(three, i);
        REQUIRE(b != NULL && a->process == b->process && a->peak_tick == b->peak_tick);
        REQUIRE(memcmp(&a->sums, &b->sums, sizeof a->sums) == 0);
        REQUIRE(a->inherited_free_count == b->inherited_free_count);
        REQUIRE(a->unknown_free_count == b->unknown_free_count && a->null_free_count == b->null_free_count);
    }
    for (size_t i = 0; tbed_allocations_site(one, i) != NULL; i++) {
        const struct tbed_allocation_site *a = tbed_allocations_site(one, i),
                                          *b = tbed_allocations_site(three, i);
        REQUIRE(b != NULL && (a->name == NULL) == (b->name == NULL) && a->id == b->id);
        REQUIRE(a->name == NULL || strcmp(a->name, b->name) == 0);
        REQUIRE(memcmp(&a->sums, &b->sums, sizeof a->sums) == 0);
        REQUIRE(a->leak_count == b->leak_count && a->leak_nbytes == b->leak_nbytes);
        REQUIRE(a->retained_count == b->retained_count && a->retained_nbytes == b->retained_nbytes);
        REQUIRE(a->lifetime_ticks == b->lifetime_ticks && a->lifetime_p50_ticks == b->lifetime_p50_ticks);
    }
    for (size_t i = 0; tbed_allocations_moment(one, i) != NULL; i++)
        REQUIRE(memcmp(tbed_allocations_moment(one, i), tbed_allocations_moment(three, i),
                       sizeof(struct tbed_allocation_moment)) == 0);
}

/* Every live block is a leak, or suppressed by one pattern. */
static void check_leaks(const struct tbed_allocations *allocations, const struct tbed_allocation_sums *totals)
{
    const struct tbed_allocation_site *site;
    const struct tbed_allocation_suppression *suppression;
    uint64_t count = 0, nbytes = 0;
    for (size_t i = 0; (site = tbed_allocations_site(allocations, i)) != NULL; i++) {
        REQUIRE(site->leak_count <= site->sums.live_count && site->leak_nbytes <= site->sums.live_nbytes);
        count += site->leak_count;
        nbytes += site->leak_nbytes;
    }
    for (size_t i = 0; (suppression = tbed_allocations_suppression(allocations, i)) != NULL; i++) {
        REQUIRE(suppression->site_count <= suppression->count && suppression->pattern != NULL);
        count += suppression->count;
        nbytes += suppression->nbytes;
    }
    REQUIRE(count == totals->live_count && nbytes == totals->live_nbytes);
}

static void check_lifetimes(const struct tbed_allocations *allocations)
{
    const struct tbed_allocation_site *site;
    for (size_t i = 0; (site = tbed_allocations_site(allocations, i)) != NULL; i++) {
        REQUIRE(site->lifetime_p50_ticks <= site->lifetime_p99_ticks);
        REQUIRE(site->lifetime_p99_ticks <= site->lifetime_max_ticks);
        REQUIRE(site->lifetime_max_ticks <= site->lifetime_ticks);
        REQUIRE(site->sums.freed_count > 0 || site->lifetime_ticks == 0);
        REQUIRE(site->least_nbytes <= site->most_nbytes);
    }
}

/* ---- Options ---- */

enum { MOMENTS = 15, OWN_NAMES = 16, LONG_NAMES = 32, PREPARED = 64, BY_STACK = 128 };

/*
 * Returns a name that depends only on the id. A long name does not fit into the first buffer, and is longer still in
 * the second call.
 */
static size_t own_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    static const char letters[] = "abcd";
    size_t nbytes = *(const unsigned *)context & LONG_NAMES ? 65536 + (buffer_nbytes > 65536) : 1;
    size_t written = nbytes < buffer_nbytes ? nbytes : buffer_nbytes - 1;
    memset(buffer, letters[id % 4], written);
    buffer[written] = '\0';
    return nbytes;
}

static void prepare(void *context, const uint32_t *ids, size_t count)
{
    REQUIRE(context != NULL && ids != NULL && count > 0);
}

/* Patterns of the bytes that were chosen, and those that are built in. */
static struct tbed_suppressions *suppressions_of(unsigned choice)
{
    static const char *const lines[] = {"  leak:a*\t",       "leak:^*$", "leak:*!*",
                                        "# no\nleak:main\n", "leak:",    "leak:!$"};
    struct tbed_suppressions *suppressions;
    size_t line;
    if (choice == 0)
        return NULL;
    REQUIRE(tbed_suppressions_open(choice % 2 == 1, &suppressions) == TBED_OK);
    for (unsigned i = 0; i < 6; i++)
        if ((choice >> (i + 1)) % 2 == 1) {
            enum tbed_status status = tbed_suppressions_add(suppressions, lines[i], strlen(lines[i]), &line);
            REQUIRE(status == (i == 4 ? TBED_ERR_ARGUMENT : TBED_OK));
        }
    return suppressions;
}

static struct tbed_allocations *make(struct tbed_reader *reader, unsigned choices, unsigned survival,
                                     const struct tbed_suppressions *suppressions, unsigned thread_count)
{
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = thread_count,
                                            .moment_count = choices & MOMENTS,
                                            .by_stack = (choices & BY_STACK) != 0,
                                            .name = choices & OWN_NAMES ? own_name : NULL,
                                            .name_context = &choices,
                                            .prepare = choices & PREPARED ? prepare : NULL,
                                            .suppressions = suppressions,
                                            .by_size = suppressions == NULL && (choices & 0x9F) == 0x1F,
                                            .survived_min = survival % 4,
                                            .keep_lifetimes = (choices & OWN_NAMES) != 0};
    options.by_class = survival / 4 % 2 == 1 && !options.by_size && !options.by_stack;
    struct tbed_allocations *allocations;
    REQUIRE(tbed_allocations_make(reader, &options, &allocations) == TBED_OK);
    return allocations;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_allocation_sums totals;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    unsigned choices = choice_at(data, nbytes, 0);
    struct tbed_suppressions *suppressions = suppressions_of(choice_at(data, nbytes, 1));
    unsigned survival = choice_at(data, nbytes, 2);
    struct tbed_allocations *one = make(reader, choices, survival, suppressions, 1);
    struct tbed_allocations *three = make(reader, choices, survival, suppressions, 3);
    tbed_allocations_totals(one, &totals);
    struct tbed_allocation_sums processes = add_processes(one), sites = add_sites(one);
    REQUIRE(memcmp(&totals, &processes, sizeof totals) == 0);
    REQUIRE(memcmp(&totals, &sites, sizeof totals) == 0);
    check_moments(one, totals.count);
    check_leaks(one, &totals);
    check_lifetimes(one);
    compare_threads(one, three);
    struct tbed_analysis_options none = {.size = 0};
    struct tbed_allocations *refused = NULL;
    REQUIRE(tbed_allocations_make(reader, &none, &refused) == TBED_ERR_ARGUMENT && refused == NULL);
    struct tbed_analysis_options both = {.size = sizeof both, .by_size = true, .by_stack = true};
    REQUIRE(tbed_allocations_make(reader, &both, &refused) == TBED_ERR_ARGUMENT && refused == NULL);
    tbed_allocations_close(NULL);
    tbed_allocations_close(three);
    tbed_allocations_close(one);
    tbed_suppressions_close(suppressions);
    tbed_reader_close(reader);
    return 0;
}
