/*
 * A model of how a ring's page changes hands, run through all interleavings, with a kill between any two steps.
 *
 * What is modelled, what is not, and what it shows: README.md beside this file. It models section 10 of spec/format.md
 * and writer/pages/ring.c; it does not run their code.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <stdlib.h>
#include <string.h>

/* ---- The protocol's variants ---- */

struct protocol {
    const char *name;
    bool
        mark_is_in_block; /* as it was: a generation that is odd while the page is taken, in the block's header */
    bool give_back_resets;    /* the mark of a page that is given back becomes 0 */
    bool reader_looks_once;   /* and not again after it has read */
    bool clears_before_taken; /* zeroes the block before the mark shows that */
};

/* ---- The state: one page, its mark and entry, and the step each thread is at ---- */

enum { NEW, TAKEN, HELD, RELEASED }; /* states of a mark */
enum { FREE, CLAIMED, BEGUN, SEALED };
enum { TAKERS = 3, PROCESSES = 2, READER = TAKERS, ACTORS = TAKERS + 1, WORDS = 2 };

/* Two threads of process 1, which has recorded into the page before, and one of process 2. */
static const uint8_t process_of[TAKERS] = {1, 1, 2};

struct
    mark { /* of the variant with the mark in the block: 'count' is the generation, and there is no state */
    uint8_t count, state, process;
};

struct actor {
    uint8_t at;      /* the step that comes next */
    struct mark saw; /* the mark that it loaded */
    uint8_t tag;     /* the reader: of the block that it found */
    uint8_t words[WORDS];
};

/* Every block has a tag of its own, which its header, its entry and its events carry. */
struct state {
    struct mark mark;
    uint8_t entry_state, entry_tag;
    uint8_t kind, tag, generation, used;
    uint8_t words[WORDS];
    bool is_dead[PROCESSES + 1];
    struct actor actors[ACTORS];
};

enum step {
    LOOK,
    JUDGE,
    TAKE,
    CLEAR_ENTRY,
    CLEAR_KIND,
    CLEAR_HEADER,
    CLEAR_WORDS,
    CHOOSE = CLEAR_WORDS + WORDS,
    STORE_HEADER,
    STORE_KIND,
    BEGIN_ENTRY,
    SHOW,
    RECORD,
    SEAL = RECORD + WORDS,
    SEAL_ENTRY,
    RELEASE,
    OVER,
    /* the reader */
    READ_MARK = 0,
    READ_HEADER,
    READ_WORDS,
    COMPARE = READ_WORDS + WORDS,
    READ_ALL,
};

static bool is_same(struct mark a, struct mark b)
{
    return a.count == b.count && a.state == b.state && a.process == b.process;
}

static bool has_block(const struct protocol *protocol, struct mark mark)
{
    return protocol->mark_is_in_block ? mark.count % 2 == 0 : mark.state == HELD || mark.state == RELEASED;
}

static bool is_free(const struct protocol *protocol, const struct state *state, const struct actor *self,
                    uint8_t process)
{
    struct mark mark = self->saw;
    bool is_unheld = mark.state == NEW || mark.state == RELEASED;
    if (protocol->mark_is_in_block)
        is_unheld = mark.count % 2 == 0 && (state->kind == 0 || state->used != 0);
    return is_unheld || (mark.process != process && state->is_dead[mark.process]);
}

static struct mark taken_mark(const struct protocol *protocol, struct mark saw, uint8_t process)
{
    if (protocol->mark_is_in_block)
        return (struct mark){(uint8_t)(saw.count + (saw.count % 2 == 0 ? 1 : 2)), 0, process};
    return (struct mark){(uint8_t)(saw.count + 1), TAKEN, process};
}

static uint8_t tag_of(int number)
{
    return (uint8_t)(2 + number); /* the block that is there at the start has 1 */
}

/* ---- What may never happen; NULL: it has not ---- */

static bool owns(const struct state *state, int number)
{
    const struct actor *actor = &state->actors[number];
    return !state->is_dead[process_of[number]] && actor->at > TAKE && actor->at <= RELEASE;
}

static const char *broken_rule(const struct protocol *protocol, const struct state *before,
                               const struct state *now)
{
    int owner_count = 0;
    for (int i = 0; i < TAKERS; i++)
        owner_count += owns(now, i);
    if (owner_count > 1)
        return "two threads have the page";
    const struct actor *reader = &now->actors[READER];
    for (int i = 0; reader->at == READ_ALL && i < WORDS; i++)
        if (reader->words[i] != 0 && reader->words[i] != reader->tag)
            return "a block was read with events of another";
    if (protocol->mark_is_in_block)
        return NULL;
    bool is_later = now->mark.count > before->mark.count ||
                    (now->mark.count == before->mark.count && now->mark.state > before->mark.state);
    if (!is_same(now->mark, before->mark) && !is_later)
        return "the mark went back";
    bool is_empty = now->kind == 0 && now->entry_state == FREE;
    bool is_complete = now->kind != 0 && now->entry_state >= BEGUN && now->tag == now->entry_tag &&
                       now->generation == now->mark.count;
    if (has_block(protocol, now->mark) && !is_empty && !is_complete)
        return "the mark shows a block that is not complete";
    return NULL;
}

/* ---- Steps: each is one load or store of shared memory ---- */

static void give_back(const struct protocol *protocol, struct state *state, struct actor *self)
{
    state->mark.state = RELEASED;
    if (protocol->mark_is_in_block || protocol->give_back_resets)
        state->mark = (struct mark){0};
    self->at = OVER;
}

static void take(const struct protocol *protocol, struct state *state, struct actor *self, uint8_t process)
{
    bool is_mine = is_same(state->mark, self->saw);
    if (is_mine)
        state->mark = taken_mark(protocol, self->saw, process);
    self->at = is_mine ? CLEAR_ENTRY : LOOK;
    self->saw = (struct mark){0};
}

static void show(const struct protocol *protocol, struct state *state)
{
    if (protocol->mark_is_in_block)
        state->mark.count++;
    else
        state->mark.state = HELD;
}

static void store_header(const struct protocol *protocol, struct state *state, uint8_t tag)
{
    state->tag = tag;
    state->generation = protocol->mark_is_in_block ? 0 : state->mark.count;
}

/* A step of a thread; where it has a choice, 'choice' is 0 or 1. */
static void taker_step(const struct protocol *protocol, struct state *state, int number, int choice)
{
    struct actor *self = &state->actors[number];
    uint8_t tag = tag_of(number), step = self->at++;
    if (step == LOOK)
        self->saw = state->mark;
    else if (step == JUDGE && !is_free(protocol, state, self, process_of[number]))
        self->at = LOOK;
    else if (step == JUDGE && protocol->clears_before_taken)
        state->kind = 0;
    else if (step == TAKE)
        take(protocol, state, self, process_of[number]);
    else if (step == CLEAR_ENTRY)
        state->entry_state = FREE;
    else if (step == CLEAR_KIND)
        state->kind = 0;
    else if (step == CLEAR_HEADER)
        state->tag = state->generation = state->used = 0;
    else if (step >= CLEAR_WORDS && step < CLEAR_WORDS + WORDS)
        state->words[step - CLEAR_WORDS] = 0;
    else if (step == CHOOSE && choice == 1)
        give_back(protocol, state, self);
    else if (step == CHOOSE)
        state->entry_state = CLAIMED, state->entry_tag = tag;
    else if (step == STORE_HEADER)
        store_header(protocol, state, tag);
    else if (step == STORE_KIND)
        state->kind = 1;
    else if (step == BEGIN_ENTRY)
        state->entry_state = BEGUN;
    else if (step == SHOW)
        show(protocol, state);
    else if (step >= RECORD && step < RECORD + WORDS)
        state->words[step - RECORD] = tag;
    else if (step == SEAL)
        state->used = 1;
    else if (step == SEAL_ENTRY)
        state->entry_state = SEALED;
    else if (step == RELEASE)
        state->mark.state = protocol->mark_is_in_block ? 0 : RELEASED;
}

/* The reader looks at the page once; it starts over only by ending here and being another reader. */
static void reader_step(const struct protocol *protocol, struct state *state)
{
    struct actor *self = &state->actors[READER];
    uint8_t step = self->at++;
    bool is_gone = false;
    if (step == READ_MARK) {
        self->saw = state->mark;
        is_gone = !has_block(protocol, self->saw);
    } else if (step == READ_HEADER) {
        self->tag = state->tag;
        is_gone = state->kind == 0;
    } else if (step < COMPARE) {
        self->words[step - READ_WORDS] = state->words[step - READ_WORDS];
    } else if (!protocol->reader_looks_once) {
        is_gone = !has_block(protocol, state->mark) || state->mark.count != self->saw.count ||
                  (protocol->mark_is_in_block && state->kind == 0);
    }
    if (is_gone)
        *self = (struct actor){.at = READ_ALL};
}

/* ---- All interleavings: breadth first, so what is found is as short as it can be ---- */

#define STATES_MAX ((size_t)1 << 20)

struct search {
    struct state *states;
    uint32_t *from;  /* the state before */
    uint32_t *slots; /* a hash table of positions + 1 */
    size_t count, slot_count;
    const char *wanted; /* the rule that is looked at; NULL: all are */
    const char *broken; /* what was found, and where */
    size_t broken_at;
};

static uint64_t hash_of(const struct state *state)
{
    const uint8_t *bytes = (const uint8_t *)state;
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < sizeof *state; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001B3);
    return hash ^ hash >> 29;
}

static void add(struct search *search, const struct protocol *protocol, const struct state *state,
                size_t from)
{
    size_t slot = hash_of(state) & (search->slot_count - 1);
    for (; search->slots[slot] != 0; slot = (slot + 1) & (search->slot_count - 1))
        if (memcmp(&search->states[search->slots[slot] - 1], state, sizeof *state) == 0)
            return;
    assert_true(search->count < STATES_MAX);
    search->states[search->count] = *state;
    search->from[search->count] = (uint32_t)from;
    search->slots[slot] = (uint32_t)++search->count;
    const char *rule = broken_rule(protocol, &search->states[from], state);
    bool is_wanted = rule != NULL && (search->wanted == NULL || strcmp(rule, search->wanted) == 0);
    if (is_wanted && search->broken == NULL) {
        search->broken = rule;
        search->broken_at = search->count - 1;
    }
}

static void expand(struct search *search, const struct protocol *protocol, size_t at)
{
    for (int i = 0; i < TAKERS; i++) {
        struct state next = search->states[at];
        if (next.is_dead[process_of[i]] || next.actors[i].at == OVER)
            continue;
        int choice_count = next.actors[i].at == CHOOSE ? 2 : 1;
        for (int choice = 0; choice < choice_count; choice++) {
            next = search->states[at];
            taker_step(protocol, &next, i, choice);
            add(search, protocol, &next, at);
        }
    }
    if (search->states[at].actors[READER].at != READ_ALL) {
        struct state next = search->states[at];
        reader_step(protocol, &next);
        add(search, protocol, &next, at);
    }
    for (int process = 1; process <= PROCESSES; process++) {
        struct state next = search->states[at];
        next.is_dead[process] = true;
        for (int i = 0; i < TAKERS; i++)
            if (process_of[i] == process) /* what the dead knew is of no importance */
                next.actors[i] = (struct actor){.at = OVER};
        add(search, protocol, &next, at);
    }
}

/* A sealed block of process 1. */
static struct state state_first(const struct protocol *protocol)
{
    struct state state;
    memset(&state, 0, sizeof state);
    state.mark = protocol->mark_is_in_block ? (struct mark){2, 0, 1} : (struct mark){1, RELEASED, 1};
    state.entry_state = SEALED;
    state.kind = state.tag = state.entry_tag = state.used = 1;
    state.generation = protocol->mark_is_in_block ? 0 : 1;
    memset(state.words, 1, sizeof state.words);
    return state;
}

static size_t length_of(const struct search *search, size_t at)
{
    size_t length = 0;
    for (; at != 0; at = search->from[at])
        length++;
    return length;
}

/* Returns the rule that is broken, or NULL. */
static const char *search_all(const struct protocol *protocol, const char *wanted)
{
    struct search search = {.slot_count = 2 * STATES_MAX, .wanted = wanted};
    search.states = malloc(STATES_MAX * sizeof *search.states);
    search.from = malloc(STATES_MAX * sizeof *search.from);
    search.slots = calloc(search.slot_count, sizeof *search.slots);
    assert_true(search.states != NULL && search.from != NULL && search.slots != NULL);
    struct state first = state_first(protocol);
    add(&search, protocol, &first, 0);
    for (size_t at = 0; at < search.count && search.broken == NULL; at++)
        expand(&search, protocol, at);
    print_message("%s: %zu states", protocol->name, search.count);
    if (search.broken != NULL)
        print_message("; after %zu steps, %s", length_of(&search, search.broken_at), search.broken);
    print_message("\n");
    free(search.states);
    free(search.from);
    free(search.slots);
    return search.broken;
}

/* ---- Tests ---- */

static void mark_in_the_block_lets_a_page_be_taken_twice(void **state)
{
    static const struct protocol before = {.name = "the mark in the block", .mark_is_in_block = true};
    (void)state;
    const char *rule = search_all(&before, "two threads have the page");
    assert_non_null(rule);
    assert_string_equal(rule, "two threads have the page");
}

static void mark_in_the_block_lets_blocks_be_mixed(void **state)
{
    static const struct protocol before = {.name = "the mark in the block, read", .mark_is_in_block = true};
    (void)state;
    const char *rule = search_all(&before, "a block was read with events of another");
    assert_non_null(rule);
    assert_string_equal(rule, "a block was read with events of another");
}

static void mark_in_the_entry_breaks_no_rule(void **state)
{
    static const struct protocol now = {.name = "the mark in the entry"};
    (void)state;
    assert_null(search_all(&now, NULL));
}

/* The model is no better than what it finds: each of these is one step away from the protocol. */
static void each_rule_is_needed(void **state)
{
    static const struct protocol resets = {.name = "a page given back gets mark 0", .give_back_resets = true};
    static const struct protocol once = {.name = "the reader does not look again", .reader_looks_once = true};
    static const struct protocol early = {.name = "zeroed before it is taken", .clears_before_taken = true};
    (void)state;
    assert_string_equal(search_all(&resets, NULL), "the mark went back");
    assert_string_equal(search_all(&resets, "a block was read with events of another"),
                        "a block was read with events of another");
    assert_string_equal(search_all(&once, NULL), "a block was read with events of another");
    assert_string_equal(search_all(&early, NULL), "the mark shows a block that is not complete");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mark_in_the_block_lets_a_page_be_taken_twice),
        cmocka_unit_test(mark_in_the_block_lets_blocks_be_mixed),
        cmocka_unit_test(mark_in_the_entry_breaks_no_rule),
        cmocka_unit_test(each_rule_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
