/*
 * The search of the model checker: all orders of all steps, breadth first, so that the sequence of steps that it finds
 * is as short as possible.
 *
 * A known state is remembered as a hash of 64 bits; among a million states, two have the same hash with a probability
 * of 1 in 10^7. The states themselves are kept only until their successors have been computed. The steps to a state are
 * found by running them again.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/checksum.h"
#include "writer/tests/models/model_state.h"
#include "writer/tests/support.h"

#include <stdlib.h>
#include <string.h>

#define STATES_MAX ((size_t)1 << 22)

enum action { STEPS, PUBLISHES, DIES };

/* How a state was first reached. */
struct origin {
    uint32_t from;
    uint8_t action, who;
    uint16_t outcome; /* which of the step's possible outcomes */
};

struct queue { /* packed states, each preceded by its size */
    uint8_t *bytes;
    size_t nbytes, capacity;
};

struct search {
    const struct model *model;
    const char *wanted, *broken;
    size_t broken_at;
    size_t count;
    struct origin *origins;
    uint64_t *keys; /* a hash table; 0: free */
    size_t origin_capacity, key_capacity;
    struct queue now, next;
    uint64_t key;   /* of the state being examined */
    bool has_moved; /* a step has led from it to another state */
};

/* ---- Packed states ---- */

static size_t fixed_nbytes(void)
{
    return offsetof(struct model_state, histories);
}

static uint8_t *put(uint8_t *at, const void *from, size_t nbytes)
{
    memcpy(at, from, nbytes);
    return at + nbytes;
}

static size_t pack(const struct model_state *state, int location_count, uint8_t *to)
{
    uint8_t *at = put(to, state, fixed_nbytes());
    for (int i = 0; i < location_count; i++) {
        const struct history *history = &state->histories[i];
        *at++ = history->count;
        at = put(at, history->messages, history->count * sizeof *history->messages);
    }
    return (size_t)(at - to);
}

static void unpack(const uint8_t *at, int location_count, struct model_state *state)
{
    memcpy(state, at, fixed_nbytes());
    at += fixed_nbytes();
    for (int i = 0; i < location_count; i++) {
        struct history *history = &state->histories[i];
        history->count = *at++;
        size_t nbytes = history->count * sizeof *history->messages;
        memcpy(history->messages, at, nbytes);
        at += nbytes;
    }
}

/* Copies only the histories that the model uses. */
static void copy(struct model_state *to, const struct model_state *from, int location_count)
{
    memcpy(to, from, fixed_nbytes() + (size_t)location_count * sizeof *from->histories);
}

static uint64_t key_of(const uint8_t *packed, size_t nbytes)
{
    return tbed_hash64(packed, nbytes) | 1;
}

static void queue_put(struct queue *queue, const uint8_t *packed, size_t nbytes)
{
    if (queue->capacity - queue->nbytes < nbytes + sizeof nbytes) {
        queue->capacity = 2 * queue->capacity + sizeof(struct model_state) + sizeof nbytes;
        queue->bytes = realloc(queue->bytes, queue->capacity);
        assert_non_null(queue->bytes);
    }
    put(put(queue->bytes + queue->nbytes, &nbytes, sizeof nbytes), packed, nbytes);
    queue->nbytes += nbytes + sizeof nbytes;
}

/* ---- Known states ---- */

static bool key_put(uint64_t *keys, size_t capacity, uint64_t key)
{
    size_t slot = key & (capacity - 1);
    for (; keys[slot] != 0; slot = (slot + 1) & (capacity - 1))
        if (keys[slot] == key)
            return false;
    keys[slot] = key;
    return true;
}

static void keys_grow(struct search *search)
{
    size_t capacity = search->key_capacity != 0 ? 4 * search->key_capacity : 4096;
    uint64_t *keys = calloc(capacity, sizeof *keys);
    assert_non_null(keys);
    for (size_t i = 0; i < search->key_capacity; i++)
        if (search->keys[i] != 0)
            key_put(keys, capacity, search->keys[i]);
    free(search->keys);
    search->keys = keys;
    search->key_capacity = capacity;
    search->origins = realloc(search->origins, capacity / 2 * sizeof *search->origins);
    assert_non_null(search->origins);
}

/* ---- One step ---- */

int model_choose(struct model_run *run, int count)
{
    int number = run->choice_count++;
    assert_in_range(count, 1, UINT8_MAX);
    assert_true(number < CHOICES_MAX);
    run->counts[number] = (uint8_t)count;
    return run->choices[number];
}

/* Moves on to the next combination of choices; returns false if there is none. */
static bool choices_next(struct model_run *run)
{
    for (int i = run->choice_count; i-- > 0;) {
        if (++run->choices[i] < run->counts[i])
            return true;
        run->choices[i] = 0;
    }
    return false;
}

void model_wait(struct model_run *run)
{
    run->is_waiting = true;
}

void model_fail(struct model_run *run, const char *rule)
{
    run->broken = rule;
}

static void act(struct model_run *run, enum action action, int who)
{
    run->thread = who;
    run->access_count = run->choice_count = 0;
    run->is_waiting = false;
    run->broken = NULL;
    if (action == PUBLISHES)
        model_publish(run, who);
    else if (action == DIES)
        model_kill(run, who);
    else if (run->model->step(run, who))
        run->state.threads[who].has_ended = true;
    run->is_waiting |= !model_is_possible(run);
    if (run->is_waiting)
        return;
    model_forget(run);
    if (run->broken == NULL && run->model->broken_rule != NULL)
        run->broken = run->model->broken_rule(run);
}

static void run_start(struct model_run *run)
{
    model_state_init(&run->state, run->model);
    if (run->model->start != NULL)
        run->model->start(run);
}

/* ---- All steps ---- */

static bool is_wanted(const struct search *search, const char *rule)
{
    return rule != NULL && search->broken == NULL &&
           (search->wanted == NULL || strcmp(rule, search->wanted) == 0);
}

static void note_broken(struct search *search, const char *rule, size_t at)
{
    if (!is_wanted(search, rule))
        return;
    search->broken = rule;
    search->broken_at = at;
}

static void add(struct search *search, const struct model_run *run, size_t from, enum action action, int who,
                unsigned outcome)
{
    static uint8_t packed[sizeof(struct model_state) + MODEL_LOCATIONS];
    size_t nbytes = pack(&run->state, search->model->location_count, packed);
    uint64_t key = key_of(packed, nbytes);
    search->has_moved |= key != search->key;
    if (search->count + 1 >= search->key_capacity / 2)
        keys_grow(search);
    bool is_known = !key_put(search->keys, search->key_capacity, key);
    /* A step may break a rule although it leads to a known state that breaks none. */
    if (is_known && !is_wanted(search, run->broken))
        return;
    assert_true(search->count < STATES_MAX);
    search->origins[search->count] =
        (struct origin){(uint32_t)from, (uint8_t)action, (uint8_t)who, (uint16_t)outcome};
    note_broken(search, run->broken, search->count++);
    queue_put(&search->next, packed, nbytes);
}

static void try_action(struct search *search, struct model_run *run, const struct model_state *state,
                       size_t from, enum action action, int who)
{
    unsigned outcome = 0;
    memset(run->choices, 0, sizeof run->choices);
    do {
        copy(&run->state, state, search->model->location_count);
        act(run, action, who);
        if (!run->is_waiting)
            add(search, run, from, action, who, outcome);
        outcome++;
    } while (choices_next(run));
}

static void expand(struct search *search, struct model_run *run, const struct model_state *state, size_t from)
{
    bool has_ended = true;
    search->has_moved = false;
    for (int i = 0; i < search->model->thread_count; i++) {
        const struct thread *thread = &state->threads[i];
        has_ended &= thread->has_ended;
        if (!thread->has_ended)
            try_action(search, run, state, from, STEPS, i);
        if (thread->pending != 0)
            try_action(search, run, state, from, PUBLISHES, i);
    }
    if (!has_ended && !search->has_moved)
        note_broken(search, "no thread can continue", from);
    for (int i = 0; i < MODEL_PROCESSES && !has_ended; i++)
        if ((search->model->can_be_killed >> i & 1) != 0 && (state->is_dead >> i & 1) == 0)
            try_action(search, run, state, from, DIES, i);
}

/* ---- Results ---- */

static size_t path_to(const struct search *search, size_t at, uint32_t *path)
{
    size_t count = 0;
    for (; at != 0; at = search->origins[at].from)
        path[count++] = (uint32_t)at;
    return count;
}

static void print_step(struct search *search, struct model_run *run, const struct origin *origin)
{
    static const char *const what[] = {
        [STEPS] = ":", [PUBLISHES] = ": its store is seen by all", [DIES] = " is killed"};
    const char *name = search->model->thread_names[origin->who];
    if (origin->action == DIES)
        print_message("    process %d%s", origin->who, what[DIES]);
    else
        print_message("    %s%s", name != NULL ? name : "thread", what[origin->action]);
    struct model_state before = run->state;
    memset(run->choices, 0, sizeof run->choices);
    run->is_printed = false;
    for (unsigned i = 0;; i++) {
        run->state = before;
        run->is_printed = i == origin->outcome;
        act(run, (enum action)origin->action, origin->who);
        if (i == origin->outcome)
            break;
        choices_next(run);
    }
    print_message("\n");
}

static void print_path(struct search *search, struct model_run *run, const uint32_t *path, size_t count)
{
    memset(run, 0, sizeof *run);
    run->model = search->model;
    run_start(run);
    for (size_t i = count; i-- > 0;)
        print_step(search, run, &search->origins[path[i]]);
}

static void run_levels(struct search *search, struct model_run *run)
{
    static struct model_state state;
    size_t from = 0;
    while (search->broken == NULL && search->next.nbytes > 0) {
        struct queue done = search->now;
        search->now = search->next;
        search->next = done;
        search->next.nbytes = 0;
        for (size_t at = 0, nbytes; at < search->now.nbytes && search->broken == NULL; at += nbytes) {
            memcpy(&nbytes, search->now.bytes + at, sizeof nbytes);
            at += sizeof nbytes;
            search->key = key_of(search->now.bytes + at, nbytes);
            unpack(search->now.bytes + at, search->model->location_count, &state);
            expand(search, run, &state, from++);
        }
    }
}

struct model_result model_search(const struct model *model, const char *wanted)
{
    struct search search = {.model = model, .wanted = wanted};
    struct model_run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    run->model = model;
    run_start(run);
    add(&search, run, 0, STEPS, 0, 0);
    run_levels(&search, run);
    uint32_t *path = calloc(search.count, sizeof *path);
    assert_non_null(path);
    size_t step_count = search.broken != NULL ? path_to(&search, search.broken_at, path) : 0;
    print_message("%s: %zu states", model->name, search.count);
    if (search.broken != NULL)
        print_message("; after %zu steps, %s", step_count, search.broken);
    print_message("\n");
    if (search.broken != NULL && (wanted == NULL || getenv("TBED_MODEL_STEPS") != NULL))
        print_path(&search, run, path, step_count);
    free(path);
    free(search.now.bytes);
    free(search.next.bytes);
    free(search.origins);
    free(search.keys);
    free(run);
    return (struct model_result){search.broken, search.count, step_count};
}

/* ---- A model's variables ---- */

const void *model_variant(const struct model_run *run)
{
    return run->model->variant;
}

void *model_local(struct model_run *run, int thread)
{
    return run->state.locals[thread];
}

void *model_shared(struct model_run *run)
{
    return run->state.shared;
}

uint16_t *model_at(struct model_run *run, int depth)
{
    return &run->state.threads[run->thread].depths[depth];
}

int model_thread(const struct model_run *run)
{
    return run->thread;
}
