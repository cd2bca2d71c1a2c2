/*
 * A small virtual machine that traces itself: what a language does to be seen by function and line of its own source.
 *
 *     cc toy_vm.c -ltracebed && ./a.out toy.tbed && tracebed report toy.tbed
 *
 * Each function is a code unit: a range of ids, one for each of its instructions, with its name, file and lines. An
 * event names the instruction by its id, which is one addition; a reader turns it into file and line. The clock counts
 * instructions, so that every run leaves the same trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <tracebed/writer.h>

/* ---- The program, as its compiler left it ---- */

/*
 *   1  fn leaf(n)
 *   2    let block = new n
 *   3    free block
 *   4  end
 *   5
 *   6  fn loop(n)
 *   7    while n
 *   8      leaf(n)
 *   9      new 100
 *  10      n = n - 1
 *  11    end
 *  12  end
 *  13
 *  14  loop(3)
 *  15  leaf(8)
 */
enum operation { PUSH, LOAD, STORE, SUBTRACT, UNLESS, JUMP, NEW, FREE, DROP, CALL, RETURN };

struct instruction {
    enum operation operation;
    int operand;
    uint32_t line;
};

static const struct instruction leaf[] = {
    {LOAD, 0, 2}, {NEW, 0, 2}, {STORE, 1, 2}, {LOAD, 1, 3}, {FREE, 0, 3}, {RETURN, 0, 4},
};
static const struct instruction loop[] = {
    {LOAD, 0, 7}, {UNLESS, 11, 7}, {LOAD, 0, 8},      {CALL, 0, 8},   {PUSH, 100, 9}, {NEW, 0, 9},
    {DROP, 0, 9}, {LOAD, 0, 10},   {SUBTRACT, 1, 10}, {STORE, 0, 10}, {JUMP, 0, 7},   {RETURN, 0, 12},
};
static const struct instruction top[] = {
    {PUSH, 3, 14}, {CALL, 1, 14}, {PUSH, 8, 15}, {CALL, 0, 15}, {RETURN, 0, 15},
};

struct function {
    const char *name;
    uint32_t first_line, count;
    const struct instruction *code;
    uint32_t first_id; /* of its unit; TBED_ID_INVALID: it has none yet */
};

static struct function functions[] = {
    {"leaf", 1, sizeof leaf / sizeof *leaf, leaf, TBED_ID_INVALID},
    {"loop", 6, sizeof loop / sizeof *loop, loop, TBED_ID_INVALID},
    {"<top>", 14, sizeof top / sizeof *top, top, TBED_ID_INVALID},
};
#define CODE_COUNT_MAX 16

/* ---- What is traced ---- */

static struct tbed_writer *writer;
static struct tbed_recorder *recorder; /* one a thread: a larger machine keeps it in its thread's struct */
static uint64_t executed;

static uint64_t clock_now(void)
{
    return executed;
}

/* When a function is first called, so that there are units only for what runs. */
static void unit_begin(struct function *function)
{
    uint32_t lines[2 * CODE_COUNT_MAX];
    for (uint32_t pc = 0; pc < function->count; pc++) {
        lines[2 * pc] = pc;
        lines[2 * pc + 1] = function->code[pc].line;
    }
    struct tbed_unit_options unit = {.size = sizeof unit,
                                     .kind = TBED_UNIT_BYTECODE,
                                     .pc_count = function->count,
                                     .name = function->name,
                                     .file = "toy.src",
                                     .first_line = function->first_line,
                                     .lines = lines,
                                     .line_count = function->count};
    function->first_id = tbed_unit_register(writer, &unit);
    tbed_unit_load_record(writer, function->first_id, (uintptr_t)function->code,
                          sizeof *function->code * function->count);
}

static uint32_t location(const struct function *function, uint32_t pc)
{
    return function->first_id == TBED_ID_INVALID ? TBED_ID_INVALID : function->first_id + pc;
}

/* ---- The machine ---- */

static void *blocks[64]; /* what the program has allocated; values are indexes into it */
static intptr_t block_count;

static intptr_t allocate(size_t nbytes, uint32_t from)
{
    if (block_count == (intptr_t)(sizeof blocks / sizeof *blocks))
        abort();
    blocks[block_count] = malloc(nbytes);
    tbed_alloc_record(recorder, from, TBED_FUNCTION_NEW, (uintptr_t)blocks[block_count], nbytes);
    return block_count++;
}

static void release(intptr_t block, uint32_t from)
{
    tbed_free_record(recorder, from, TBED_FUNCTION_NEW,
                     (uintptr_t)blocks[block]); /* before it: the address is ours still */
    free(blocks[block]);
    blocks[block] = NULL;
}

static void execute(struct function *function, intptr_t argument)
{
    intptr_t stack[8], locals[2] = {argument, 0}, *sp = stack;
    if (function->first_id == TBED_ID_INVALID)
        unit_begin(function);
    tbed_span_begin(recorder, location(function, 0));
    for (uint32_t pc = 0;;) {
        const struct instruction *at = &function->code[pc++];
        uint32_t here = location(function, pc - 1);
        executed++;
        switch (at->operation) {
        case PUSH:
            *sp++ = at->operand;
            break;
        case LOAD:
            *sp++ = locals[at->operand];
            break;
        case STORE:
            locals[at->operand] = *--sp;
            break;
        case SUBTRACT:
            sp[-1] -= at->operand;
            break;
        case UNLESS:
            pc = *--sp == 0 ? (uint32_t)at->operand : pc;
            break;
        case JUMP:
            pc = (uint32_t)at->operand;
            break;
        case NEW:
            sp[-1] = allocate((size_t)sp[-1], here);
            break;
        case FREE:
            release(*--sp, here);
            break;
        case DROP:
            sp--;
            break;
        case CALL:
            execute(&functions[at->operand], *--sp);
            break;
        case RETURN:
            tbed_span_end(recorder);
            return;
        }
    }
}

int main(int argc, char **argv)
{
    struct tbed_writer_options options = {
        .size = sizeof options,
        .overwrite = true,
        .clock = TBED_CLOCK_USER,
        .user_clock = clock_now,
        .user_clock_unit = "instructions",
        .process_name = "toy",
    };
    struct tbed_error error;
    if (tbed_writer_open(argc > 1 ? argv[1] : "toy.tbed", &options, &writer, &error) != TBED_OK)
        fprintf(stderr, "toy: %s; it runs on untraced\n", tbed_status_text(error.status));
    recorder = tbed_recorder_open(writer, "main");
    execute(&functions[2], 0);
    /* The code of 'loop' goes away, as that of an eval does; its ids are never used again. */
    tbed_unit_unload_record(writer, functions[1].first_id);
    functions[1].first_id = TBED_ID_INVALID;
    while (block_count > 0)
        free(blocks[--block_count]);
    tbed_writer_close(writer);
    return 0;
}
