/*
 * Random string tables, and a model of a few lines that expands an id by calling itself: every question about every id
 * must have the model's answer, under every budget that is just enough or just too small.
 *
 * The tables are small, so that ids are shared, contain themselves, have no meaning and end in the middle of others.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tests/strings/string_table.h"

enum { TABLES = 100, RESERVED = 6, IDS = 16, DANGLING = 0x2FFFFFFF, TEXT_NBYTES = 4096 };

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % bound;
}

/* ---- The model ---- */

/* What an id contains: of a bound one, the reference to what it is bound to. */
struct content {
    uint32_t id;
    enum tbed_status status; /* not OK: it has no meaning */
    bool is_bound;
    size_t count;
    struct part {
        uint32_t id; /* 0xFFFFFFFF: a text */
        char text[8];
    } parts[4];
};

static struct content contents[IDS];

struct expansion {
    char text[TEXT_NBYTES]; /* terminated */
    size_t nbytes, component_count;
    uint32_t depth, depth_most;       /* of ids that are not bound */
    enum tbed_status status, refusal; /* the first part without text; why there is no text at all */
};

static const struct content *content_of(uint32_t id)
{
    for (size_t i = 0; i < IDS; i++)
        if (contents[i].id == id)
            return &contents[i];
    return NULL;
}

static void put(struct expansion *expansion, const char *text)
{
    assert_true(expansion->nbytes + strlen(text) < sizeof expansion->text);
    strcpy(expansion->text + expansion->nbytes, text);
    expansion->nbytes += strlen(text);
}

static void stand_in(struct expansion *expansion, uint32_t id, enum tbed_status status)
{
    char text[40];
    const char *kind = status == TBED_ERR_STRING_UNBOUND ? ""
                       : status == TBED_ERR_STRING_ID    ? "dangling "
                                                         : "damaged ";
    snprintf(text, sizeof text, "<%sid %u>", kind, id);
    put(expansion, text);
    expansion->status = expansion->status != TBED_OK ? expansion->status : status;
}

static void expand(struct expansion *expansion, uint32_t id, uint32_t depth_max, bool is_open[IDS])
{
    const struct content *content = content_of(id);
    bool is_bound = content->is_bound;
    if (is_open[content - contents])
        expansion->refusal = TBED_ERR_STRING_CYCLE;
    else if (!is_bound && expansion->depth == depth_max)
        expansion->refusal = TBED_ERR_STRING_DEPTH;
    if (expansion->refusal != TBED_OK)
        return;
    expansion->depth += !is_bound;
    expansion->depth_most =
        expansion->depth > expansion->depth_most ? expansion->depth : expansion->depth_most;
    is_open[content - contents] = true;
    if (content->status != TBED_OK)
        stand_in(expansion, id, content->status);
    for (size_t i = 0; i < content->count && expansion->refusal == TBED_OK; i++) {
        const struct part *part = &content->parts[i];
        expansion->component_count += !is_bound;
        if (part->id == UINT32_MAX)
            put(expansion, part->text);
        else
            expand(expansion, part->id, depth_max, is_open);
    }
    is_open[content - contents] = false;
    expansion->depth -= !is_bound;
}

static struct expansion expansion_of(uint32_t id, uint32_t depth_max)
{
    struct expansion expansion = {.status = TBED_OK};
    bool is_open[IDS] = {false};
    expand(&expansion, id, depth_max, is_open);
    if (expansion.refusal != TBED_OK) {
        expansion.nbytes = 0;
        expansion.status = expansion.refusal;
        put(&expansion, expansion.refusal == TBED_ERR_STRING_CYCLE ? "<cycle>" : "<too deep>");
    }
    return expansion;
}

/* ---- The table ---- */

/* Reserved ids, entries, one that is damaged, and one outside of all blocks. */
static void make_entry(struct table *table, struct content *content, size_t known)
{
    uint8_t bytes[64];
    uint32_t nbytes = 0;
    content->count = random_below(5);
    for (size_t i = 0; i < content->count; i++) {
        struct part *part = &content->parts[i];
        bool is_after_text = i > 0 && content->parts[i - 1].id == UINT32_MAX;
        if (!is_after_text && random_below(2) == 0) {
            *part = (struct part){UINT32_MAX, ""};
            for (uint32_t letters = 1 + random_below(3); letters > 0; letters--)
                part->text[letters - 1] = "ab\x1E"[random_below(6) / 3 + (random_below(6) == 0)];
            memcpy(bytes + nbytes, part->text, strlen(part->text));
            nbytes += (uint32_t)strlen(part->text);
            continue;
        }
        part->id = random_below(12) == 0 ? DANGLING : contents[random_below((uint32_t)known)].id;
        for (int shift = 24; shift >= 0; shift -= 8)
            bytes[nbytes++] = (uint8_t)((part->id | 0x80000000u) >> shift);
    }
    bytes[nbytes++] = 0xFF;
    content->id = trace_content(&table->strings, bytes, nbytes);
}

static void make_table(struct table *table)
{
    memset(contents, 0, sizeof contents);
    table_make(table);
    for (uint32_t id = 0; id < RESERVED; id++)
        contents[id] = (struct content){.id = id, .status = TBED_ERR_STRING_UNBOUND};
    contents[IDS - 1] = (struct content){.id = DANGLING, .status = TBED_ERR_STRING_ID};
    for (size_t i = RESERVED; i < IDS - 1; i++)
        make_entry(table, &contents[i], i);
    struct content *damaged = &contents[IDS - 2];
    /* The content then no longer matches its hash. */
    table->strings.bytes[table->strings.at - 8] ^= damaged->count > 0;
    if (damaged->count > 0)
        *damaged = (struct content){.id = damaged->id, .status = TBED_ERR_STRING_HASH};
    for (uint32_t id = 0; id < RESERVED; id++)
        if (random_below(3) > 0) {
            uint32_t to = contents[random_below(IDS)].id;
            trace_bind(&table->records, id, 1, to);
            contents[id] = (struct content){.id = id, .is_bound = true, .count = 1, .parts = {{.id = to}}};
        }
    table_open(table);
}

/* ---- The questions ---- */

static void expect_status(enum tbed_status found, enum tbed_status wanted)
{
    assert_string_equal(tbed_status_name(found), tbed_status_name(wanted));
}

static void ask_text(const struct tbed_reader *reader, uint32_t id, const struct expansion *model)
{
    static char buffer[TEXT_NBYTES];
    size_t nbytes;
    expect_status(tbed_string_resolve(reader, id, NULL, 0, &nbytes), model->status);
    assert_int_equal(nbytes, model->nbytes);
    for (size_t room = 1; room < model->nbytes + 3; room += 1 + model->nbytes / 50) {
        size_t fits = room - 1 < model->nbytes ? room - 1 : model->nbytes;
        memset(buffer, '#', model->nbytes + 4);
        expect_status(tbed_string_resolve(reader, id, buffer, room, &nbytes), model->status);
        assert_int_equal(nbytes, model->nbytes);
        assert_memory_equal(buffer, model->text, fits);
        assert_int_equal(buffer[fits], '\0');
        assert_int_equal(buffer[room], '#');
    }
}

struct received {
    char text[TEXT_NBYTES];
    size_t nbytes, pieces, pieces_max;
};

static bool receive(void *context, const char *text, size_t nbytes)
{
    struct received *received = context;
    assert_true(nbytes > 0 && nbytes < sizeof received->text - received->nbytes);
    memcpy(received->text + received->nbytes, text, nbytes);
    received->nbytes += nbytes;
    return ++received->pieces < received->pieces_max;
}

static enum tbed_status stream(const struct tbed_reader *reader, uint32_t id,
                               struct tbed_string_budget budget, struct received *received, size_t pieces_max)
{
    budget.size = sizeof budget;
    received->nbytes = received->pieces = 0;
    received->pieces_max = pieces_max;
    return tbed_string_stream(reader, id, &budget, receive, received);
}

/* Each budget: what is just enough, and one less. 0 would be the default. */
static void ask_budgets(const struct tbed_reader *reader, uint32_t id, const struct expansion *model)
{
    static struct received received;
    struct tbed_string_budget just = {0};
    if (model->refusal == TBED_OK) {
        just.component_count = model->component_count;
        just.nbytes = model->nbytes;
    }
    expect_status(stream(reader, id, just, &received, SIZE_MAX), model->status);
    assert_int_equal(received.nbytes, model->nbytes);
    assert_memory_equal(received.text, model->text, model->nbytes);
    if (received.pieces > 1)
        for (size_t pieces = 1; pieces < received.pieces; pieces++) {
            struct received cut;
            expect_status(stream(reader, id, just, &cut, pieces), TBED_END);
            assert_int_equal(cut.pieces, pieces);
        }
    if (model->refusal != TBED_OK)
        return;
    if (model->component_count > 1) {
        just.component_count--;
        expect_status(stream(reader, id, just, &received, SIZE_MAX), TBED_ERR_STRING_COMPONENTS);
        assert_memory_equal(received.text, "<too many components>", received.nbytes);
        just.component_count++;
    }
    if (model->nbytes > 1) {
        just.nbytes--;
        expect_status(stream(reader, id, just, &received, SIZE_MAX), TBED_ERR_STRING_BYTES);
        assert_memory_equal(received.text, "<too long>", received.nbytes);
    }
}

static void ask_depths(const struct tbed_reader *reader, uint32_t id)
{
    static struct received received;
    for (uint32_t depth = 1; depth <= IDS; depth++) {
        struct expansion model = expansion_of(id, depth);
        struct tbed_string_budget budget = {.size = sizeof budget, .depth = depth};
        uint64_t nbytes;
        expect_status(stream(reader, id, budget, &received, SIZE_MAX), model.status);
        assert_int_equal(received.nbytes, model.nbytes);
        assert_memory_equal(received.text, model.text, model.nbytes);
        expect_status(tbed_string_length(reader, id, &budget, &nbytes), model.status);
        assert_int_equal(nbytes, model.nbytes);
    }
}

/* The nodes of a walk are nested, and their texts are the text. Cycles are in it where they are. */
static void ask_walk(const struct tbed_reader *reader, uint32_t id, const struct expansion *model)
{
    static struct received received;
    struct tbed_string_walk *walk;
    struct tbed_string_node node;
    uint32_t depth = 0;
    received.nbytes = 0;
    assert_int_equal(tbed_string_walk_open(reader, id, NULL, &walk), TBED_OK);
    while (tbed_string_walk_next(walk, &node) == TBED_OK) {
        depth -= node.step == TBED_STRING_LEAVE;
        assert_int_equal(node.depth, depth);
        depth += node.step == TBED_STRING_ENTER;
        if (node.text != NULL && node.nbytes > 0)
            receive(&received, node.text, node.nbytes);
    }
    assert_int_equal(depth, 0);
    if (model->refusal == TBED_OK) {
        assert_int_equal(received.nbytes, model->nbytes);
        assert_memory_equal(received.text, model->text, model->nbytes);
    }
    tbed_string_walk_close(walk);
}

/* The parts of an event id are what is between the dividers; the first one is its label. */
static void ask_parts(const struct tbed_reader *reader, uint32_t id, const struct expansion *model)
{
    struct tbed_event_parts *parts;
    struct tbed_name part;
    const char *at = model->text;
    assert_int_equal(tbed_event_parts_open(reader, id, NULL, &parts), TBED_OK);
    enum tbed_status status, first_trouble = TBED_OK;
    while ((status = tbed_event_parts_next(parts, &part)) != TBED_END && model->refusal == TBED_OK) {
        const char *end = strchrnul(at, 0x1E);
        assert_int_equal(part.nbytes, end - at);
        assert_memory_equal(part.text, at, part.nbytes);
        first_trouble = first_trouble != TBED_OK ? first_trouble : status;
        at = *end != 0 ? end + 1 : NULL;
    }
    assert_true(model->refusal != TBED_OK || (at == NULL && first_trouble == model->status));
    tbed_event_parts_close(parts);
    if (model->status != TBED_OK)
        return;
    for (int again = 0; again < 2; again++) {
        const char *divider = strchrnul(model->text, 0x1E);
        assert_int_equal(tbed_event_label(reader, id, &part), TBED_OK);
        assert_int_equal(part.nbytes, divider - model->text);
        assert_memory_equal(part.text, model->text, part.nbytes);
        if (part.id != TBED_ID_INVALID) {
            struct expansion same = expansion_of(part.id, TBED_STRING_DEPTH_MAX);
            assert_int_equal(same.nbytes, part.nbytes);
            assert_memory_equal(same.text, part.text, part.nbytes);
        }
    }
}

static void ask_name(const struct tbed_reader *reader, uint32_t id, const struct expansion *model)
{
    struct tbed_name name;
    for (int again = 0; again < 2; again++) {
        expect_status(tbed_name_get(reader, id, &name), model->status);
        assert_int_equal(name.nbytes, model->nbytes);
        assert_string_equal(name.text, model->text);
    }
}

static void ask_equals_text(const struct tbed_reader *reader, uint32_t id, const struct expansion *model)
{
    static char other[TEXT_NBYTES + 2];
    enum tbed_status status = model->status;
    bool equal = status != TBED_OK;
    expect_status(tbed_string_equals_text(reader, id, model->text, model->nbytes, NULL, &equal), status);
    assert_int_equal(equal, status == TBED_OK);
    memcpy(other, model->text, model->nbytes + 1);
    strcat(other, "a");
    tbed_string_equals_text(reader, id, other, model->nbytes + 1, NULL, &equal);
    assert_false(equal);
    for (size_t i = 0; i < model->nbytes; i += 1 + model->nbytes / 20) {
        equal = true;
        tbed_string_equals_text(reader, id, other, i, NULL, &equal);
        assert_false(equal);
        other[i] ^= 3; /* a is b, and b is a */
        equal = true;
        tbed_string_equals_text(reader, id, other, model->nbytes, NULL, &equal);
        assert_false(equal);
        other[i] ^= 3;
    }
}

static void ask_equals(const struct tbed_reader *reader, uint32_t id, const struct expansion *model)
{
    for (size_t i = 0; i < IDS; i++) {
        struct expansion other = expansion_of(contents[i].id, TBED_STRING_DEPTH_MAX);
        enum tbed_status status = model->status != TBED_OK ? model->status : other.status;
        bool wanted = status == TBED_OK && strcmp(model->text, other.text) == 0, equal = !wanted;
        expect_status(tbed_string_equals(reader, id, contents[i].id, NULL, &equal), status);
        assert_int_equal(equal, wanted);
    }
}

static void every_question_has_the_models_answer(void **state)
{
    size_t refused = 0, equal = 0;
    (void)state;
    for (int round = 0; round < TABLES; round++) {
        struct table table;
        make_table(&table);
        for (size_t i = 0; i < IDS; i++) {
            uint32_t id = contents[i].id;
            struct expansion model = expansion_of(id, TBED_STRING_DEPTH_MAX);
            ask_text(table.reader, id, &model);
            ask_budgets(table.reader, id, &model);
            ask_depths(table.reader, id);
            ask_walk(table.reader, id, &model);
            ask_parts(table.reader, id, &model);
            ask_name(table.reader, id, &model);
            ask_equals_text(table.reader, id, &model);
            ask_equals(table.reader, id, &model);
            refused += model.refusal != TBED_OK;
            equal += model.status == TBED_OK;
        }
        table_close(&table);
    }
    assert_true(refused > TABLES && equal > TABLES); /* the tables are of all kinds */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_question_has_the_models_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
