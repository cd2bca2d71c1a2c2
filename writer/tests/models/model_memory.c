/*
 * The memory of the model checker: messages and views.
 *
 * Each location has a history of stores, in modification order. A thread has a view of it: it may read any store that
 * is not older than that. Acquiring a store that was released joins the views. README.md also compares this with arm64.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/models/model_state.h"
#include "writer/tests/support.h"

#include <string.h>

/* ---- Views ---- */

static void join(struct view *to, const struct view *from)
{
    for (int i = 0; i < MODEL_LOCATIONS; i++)
        to->at[i] = from->at[i] > to->at[i] ? from->at[i] : to->at[i];
}

static void raise(struct view *view, int location, unsigned at)
{
    if (view->at[location] < at)
        view->at[location] = (uint8_t)at;
}

static bool acquires(enum model_order order)
{
    return order == ACQUIRE || order == ACQ_REL || order == SEQ_CST;
}

static bool releases(enum model_order order)
{
    return order == RELEASE || order == ACQ_REL || order == SEQ_CST;
}

/* Calls 'change' for every view of one location in the state. */
static void each_view(struct model_state *state, int location, int thread_count,
                      void (*change)(struct view *view, int location, unsigned by), unsigned by)
{
    for (int i = 0; i < thread_count; i++) {
        struct thread *thread = &state->threads[i];
        change(&thread->now, location, by);
        change(&thread->acquired, location, by);
        change(&thread->released, location, by);
        change(&thread->bound, location, by);
    }
    change(&state->fenced, location, by);
    change(&state->consistent, location, by);
    for (int i = 0; i < MODEL_LOCKS; i++)
        change(&state->locks[i].view, location, by);
    for (int i = 0; i < MODEL_PROCESSES; i++)
        change(&state->died[i], location, by);
}

static void each_message_view(struct model_state *state, int location, int location_count,
                              void (*change)(struct view *view, int location, unsigned by), unsigned by)
{
    for (int i = 0; i < location_count; i++)
        for (int k = 0; k < state->histories[i].count; k++)
            change(&state->histories[i].messages[k].view, location, by);
}

/* ---- Printing the steps to a broken rule ---- */

static void say(const struct model_run *run, const char *what, int location, uint16_t value)
{
    static const char nameless[] = "?";
    if (!run->is_printed)
        return;
    const char *name = run->model->location_names[location];
    print_message(" %s %s = 0x%x", what, name != NULL ? name : nameless, value);
}

/* ---- Histories ---- */

static void shift_up(struct view *view, int location, unsigned from)
{
    view->at[location] = (uint8_t)(view->at[location] + (view->at[location] >= from));
}

/* Puts a message at position 'at' of the location's history. */
static struct message *insert(struct model_run *run, int location, unsigned at)
{
    struct model_state *state = &run->state;
    struct history *history = &state->histories[location];
    assert_true(history->count < MODEL_MESSAGES);
    if (at < history->count) {
        memmove(&history->messages[at + 1], &history->messages[at],
                (history->count - at) * sizeof *history->messages);
        each_view(state, location, run->model->thread_count, shift_up, at);
        history->messages[at] = (struct message){0};
        history->count++;
        each_message_view(state, location, run->model->location_count, shift_up, at);
        for (int i = 0; i < run->model->thread_count; i++)
            if (state->threads[i].pending == location + 1 && state->threads[i].pending_at >= at)
                state->threads[i].pending_at++;
    } else {
        history->messages[history->count++] = (struct message){0};
    }
    return &history->messages[at];
}

static void count_access(struct model_run *run)
{
    run->access_count++;
    assert_true(run->access_count == 1); /* otherwise the model needs another STEP() in between */
}

/* Returns the position of the message that is read. */
static unsigned choose_message(struct model_run *run, int location, enum model_order order)
{
    struct thread *thread = &run->state.threads[run->thread];
    const struct history *history = &run->state.histories[location];
    unsigned oldest = thread->now.at[location];
    if (order == SEQ_CST) {
        model_publish(run, run->thread);
        if (thread->bound.at[location] > oldest)
            oldest = thread->bound.at[location];
    }
    return history->count - 1u - (unsigned)model_choose(run, (int)(history->count - oldest));
}

static void see(struct model_run *run, int location, unsigned at, enum model_order order)
{
    struct thread *thread = &run->state.threads[run->thread];
    const struct message *message = &run->state.histories[location].messages[at];
    raise(&thread->now, location, at);
    join(&thread->acquired, &message->view);
    if (acquires(order))
        join(&thread->now, &message->view);
    join(&thread->acquired, &thread->now);
    if (order == RELAXED)
        thread->is_loose = true;
}

static void store_at(struct model_run *run, int location, unsigned at, uint16_t value, enum model_order order)
{
    struct thread *thread = &run->state.threads[run->thread];
    struct message *message = insert(run, location, at);
    raise(&thread->now, location, at);
    raise(&thread->acquired, location, at);
    message->value = value;
    message->view = releases(order) ? thread->now : thread->released;
    raise(&message->view, location, at);
    if (order == SEQ_CST) {
        thread->pending = (uint8_t)(location + 1);
        thread->pending_at = (uint8_t)at;
    }
}

/* ---- Accesses ---- */

uint16_t model_load(struct model_run *run, int location, enum model_order order)
{
    count_access(run);
    unsigned at = choose_message(run, location, order);
    see(run, location, at, order);
    uint16_t value = run->state.histories[location].messages[at].value;
    say(run, "loads", location, value);
    return value;
}

/* Inserts the store after any that the thread has seen, but not between a read-modify-write and what it read. */
void model_store(struct model_run *run, int location, uint16_t value, enum model_order order)
{
    struct thread *thread = &run->state.threads[run->thread];
    const struct history *history = &run->state.histories[location];
    unsigned places[MODEL_MESSAGES + 1], count = 0;
    count_access(run);
    if (thread->is_loose && !releases(order))
        model_fail(run, "a store may overtake a load before it, which the checker does not cover");
    if (order == SEQ_CST)
        model_publish(run, run->thread);
    for (unsigned at = history->count; at > thread->now.at[location]; at--)
        if (at == history->count || !history->messages[at].is_attached)
            places[count++] = at;
    store_at(run, location, places[model_choose(run, (int)count)], value, order);
    say(run, "stores", location, value);
}

static void exchange_at(struct model_run *run, int location, unsigned at, uint16_t value,
                        enum model_order order)
{
    struct view before = run->state.histories[location].messages[at].view;
    store_at(run, location, at + 1, value, order);
    struct message *message = &run->state.histories[location].messages[at + 1];
    message->is_attached = true;
    join(&message->view, &before); /* continues the release sequence */
    say(run, "exchanges", location, value);
}

/* Two read-modify-writes cannot read the same message. */
static bool can_exchange(const struct model_run *run, int location, unsigned at)
{
    const struct history *history = &run->state.histories[location];
    return at + 1 == history->count || !history->messages[at + 1].is_attached;
}

bool model_swap(struct model_run *run, int location, uint16_t *expected, uint16_t value,
                enum model_order order, enum model_order failure)
{
    count_access(run);
    unsigned at = choose_message(run, location, order);
    uint16_t found = run->state.histories[location].messages[at].value;
    if (found != *expected) {
        see(run, location, at, failure == RELAXED ? CONTROL : failure);
        say(run, "finds", location, found);
        *expected = found;
        return false;
    }
    if (!can_exchange(run, location, at)) {
        model_wait(run);
        return false;
    }
    see(run, location, at, order == RELAXED ? CONTROL : order);
    exchange_at(run, location, at, value, order);
    return true;
}

uint16_t model_add(struct model_run *run, int location, uint16_t value, enum model_order order)
{
    count_access(run);
    unsigned at = choose_message(run, location, order);
    uint16_t found = run->state.histories[location].messages[at].value;
    if (!can_exchange(run, location, at)) {
        model_wait(run);
        return found;
    }
    see(run, location, at, order == RELAXED ? CONTROL : order);
    exchange_at(run, location, at, (uint16_t)(found + value), order);
    return found;
}

/* ---- Fences ---- */

void model_publish(struct model_run *run, int number)
{
    struct thread *thread = &run->state.threads[number];
    if (thread->pending == 0)
        return;
    raise(&run->state.consistent, thread->pending - 1, thread->pending_at);
    thread->pending = thread->pending_at = 0;
    thread->bound = run->state.consistent;
}

static void fence(struct model_run *run, int number)
{
    struct thread *thread = &run->state.threads[number];
    model_publish(run, number);
    join(&thread->acquired, &run->state.fenced);
    join(&thread->acquired, &run->state.consistent);
    thread->now = thread->released = run->state.fenced = thread->acquired;
    join(&run->state.consistent, &thread->now);
    thread->bound = run->state.consistent;
    thread->is_loose = false;
}

void model_fence(struct model_run *run, enum model_order order)
{
    struct thread *thread = &run->state.threads[run->thread];
    if (order == SEQ_CST) {
        count_access(run);
        fence(run, run->thread);
        return;
    }
    if (acquires(order)) {
        thread->now = thread->acquired;
        thread->is_loose = false;
    }
    if (releases(order))
        thread->released = thread->now;
}

void model_fence_other(struct model_run *run, int thread)
{
    count_access(run);
    if (!run->state.threads[thread].has_ended || run->state.threads[thread].pending != 0)
        fence(run, thread);
    else
        join(&run->state.fenced, &run->state.died[run->model->process_of[thread]]);
}

/* Stores take effect in the modification order of their location, so a later one waits for an earlier one. */
bool model_is_possible(const struct model_run *run)
{
    for (int i = 0; i < run->model->thread_count; i++) {
        const struct thread *thread = &run->state.threads[i];
        if (thread->pending != 0 && thread->pending_at < run->state.consistent.at[thread->pending - 1])
            return false;
    }
    return true;
}

/* ---- Locks and processes ---- */

static void acquire(struct model_run *run, const struct view *view)
{
    join(&run->state.threads[run->thread].acquired, view);
    join(&run->state.threads[run->thread].now, view);
    run->state.threads[run->thread].is_loose = false;
}

bool model_try_lock(struct model_run *run, int number)
{
    struct lock *lock = &run->state.locks[number];
    count_access(run);
    if (lock->holder != 0)
        return false;
    lock->holder = (uint8_t)(run->thread + 1);
    acquire(run, &lock->view);
    return true;
}

void model_lock(struct model_run *run, int number)
{
    if (!model_try_lock(run, number))
        model_wait(run);
}

void model_unlock(struct model_run *run, int number)
{
    struct lock *lock = &run->state.locks[number];
    count_access(run);
    assert_int_equal(lock->holder, run->thread + 1);
    lock->holder = 0;
    join(&lock->view, &run->state.threads[run->thread].now);
}

void model_call_kernel(struct model_run *run, int number)
{
    struct lock *lock = &run->state.locks[number];
    count_access(run);
    acquire(run, &lock->view);
    join(&lock->view, &run->state.threads[run->thread].now);
}

bool model_sees_death(struct model_run *run, int process)
{
    count_access(run);
    if (!model_is_dead(run, process))
        return false;
    acquire(run, &run->state.died[process]);
    return true;
}

/* Everything that the process has executed reaches memory; nothing else is executed. */
void model_kill(struct model_run *run, int process)
{
    run->state.is_dead |= (uint8_t)(1u << process);
    for (int i = 0; i < run->model->thread_count; i++) {
        struct thread *thread = &run->state.threads[i];
        if (run->model->process_of[i] != process)
            continue;
        model_publish(run, i);
        join(&run->state.died[process], &thread->now);
        for (int k = 0; k < MODEL_LOCKS; k++)
            if (run->state.locks[k].holder == i + 1)
                run->state.locks[k].holder = 0;
        memset(thread, 0, sizeof *thread);
        thread->has_ended = true;
        memset(run->state.locals[i], 0, sizeof run->state.locals[i]);
    }
    for (int k = 0; k < MODEL_LOCKS; k++) /* the kernel releases the locks of the process */
        join(&run->state.locks[k].view, &run->state.died[process]);
    if (run->model->killed != NULL)
        run->model->killed(run, process);
}

/* ---- States ---- */

void model_state_init(struct model_state *state, const struct model *model)
{
    memset(state, 0, sizeof *state);
    assert_in_range(model->thread_count, 1, MODEL_THREADS);
    assert_in_range(model->location_count, 1, MODEL_LOCATIONS);
    for (int i = 0; i < model->location_count; i++) {
        state->histories[i].count = 1;
        state->histories[i].messages[0].value = model->initial[i];
    }
}

static void shift_down(struct view *view, int location, unsigned by)
{
    view->at[location] = (uint8_t)(view->at[location] > by ? view->at[location] - by : 0);
}

static void forget_location(struct model_run *run, int location)
{
    struct model_state *state = &run->state;
    struct history *history = &state->histories[location];
    unsigned oldest = history->count - 1u;
    for (int i = 0; i < run->model->thread_count; i++)
        if (!state->threads[i].has_ended && state->threads[i].now.at[location] < oldest)
            oldest = state->threads[i].now.at[location];
    if (oldest == 0)
        return;
    history->count = (uint8_t)(history->count - oldest);
    memmove(history->messages, &history->messages[oldest], history->count * sizeof *history->messages);
    history->messages[0].is_attached = false; /* no store can be inserted before it any more */
    each_view(state, location, run->model->thread_count, shift_down, oldest);
    each_message_view(state, location, run->model->location_count, shift_down, oldest);
    for (int i = 0; i < run->model->thread_count; i++)
        if (state->threads[i].pending == location + 1)
            state->threads[i].pending_at =
                (uint8_t)(state->threads[i].pending_at > oldest ? state->threads[i].pending_at - oldest : 0);
}

void model_forget(struct model_run *run)
{
    struct model_state *state = &run->state;
    for (int i = 0; i < run->model->thread_count; i++) {
        struct thread *thread = &state->threads[i];
        if (!thread->has_ended || thread->pending != 0)
            continue;
        int process = run->model->process_of[i];
        if (run->model->can_be_killed == 0 || (run->model->can_be_killed >> process & 1) != 0)
            join(&state->died[process], &thread->now);
        memset(thread, 0, sizeof *thread);
        memset(state->locals[i], 0, sizeof state->locals[i]);
        thread->has_ended = true;
    }
    for (int i = 0; i < run->model->location_count; i++)
        forget_location(run, i);
}

/* ---- For rules ---- */

uint16_t model_latest(const struct model_run *run, int location)
{
    const struct history *history = &run->state.histories[location];
    return history->messages[history->count - 1].value;
}

bool model_is_dead(const struct model_run *run, int process)
{
    return (run->state.is_dead >> process & 1) != 0;
}

bool model_has_ended(const struct model_run *run, int thread)
{
    return run->state.threads[thread].has_ended;
}

bool model_is_over(const struct model_run *run)
{
    for (int i = 0; i < run->model->thread_count; i++)
        if (!run->state.threads[i].has_ended)
            return false;
    return true;
}
