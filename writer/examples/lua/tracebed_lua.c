/*
 * A Lua module that records what a Lua program does: calls by function, and memory by line and type of object.
 *
 *     cc -shared -fPIC tracebed_lua.c -o tracebed_lua.so -I/usr/include/lua5.4 -ltracebed
 *
 *     local tracebed = require "tracebed_lua"
 *     tracebed.start("run.tbed")          -- or start("run.tbed", "calls"), or "allocations"
 *     work()
 *     tracebed.stop()
 *
 * It does what docs/vm.md says, for a machine that cannot be changed: calls come from the hook of lua_sethook(), memory from
 * the allocator of lua_setallocf(). Each coroutine has a track of its own, because its calls stay open while it waits.
 * Lua calls no hook where an error unwinds the stack, so each event first ends the calls that are gone.
 *
 * Coroutines that were created before start() are not recorded. The module uses lua_getextraspace() of every thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/writer.h>

#define LINES_EACH 128 /* of a unit: nobody knows how long a main chunk is */
#define TYPES      16

struct unit { /* some lines of a function */
    const char *source;
    char file[LUA_IDSIZE];
    int line_defined, first_line;
    uint32_t first_id; /* of the first line */
};

struct coroutine {
    struct coroutine *next;
    struct tracer *tracer;
    lua_State *L; /* NULL: it has ended, and another may take its place */
    struct tbed_recorder *recorder;
    const void **calls; /* those that are open, by what Lua knows them by */
    uint32_t count, room;
};

struct tracer {
    struct tbed_writer *writer; /* NULL: stopped */
    struct coroutine main, *current;
    struct unit *units; /* a hash table; 'file' empty: free */
    size_t unit_count, unit_room;
    uint32_t types[TYPES], begins; /* the latter marks where a track goes to another coroutine */
    size_t thread_nbytes;          /* of the block that a thread is in; 0: none was allocated yet */
    bool has_calls, has_allocations;
    lua_Alloc allocate;
    void *allocate_context;
};

/* ---- Functions as units: an id for each line ---- */

static struct unit *unit_place(struct unit *units, size_t room, const struct unit *unit)
{
    uint64_t hash =
        (uintptr_t)unit->source ^ (uint64_t)unit->line_defined << 40 ^ (uint64_t)unit->first_line << 20;
    size_t at = (size_t)((hash * 0x9E3779B97F4A7C15u) >> 32) & (room - 1);
    for (;; at = (at + 1) & (room - 1)) {
        struct unit *place = &units[at];
        if (place->file[0] == '\0' ||
            (place->source == unit->source && place->line_defined == unit->line_defined &&
             place->first_line == unit->first_line && strcmp(place->file, unit->file) == 0))
            return place;
    }
}

static bool units_grow(struct tracer *tracer)
{
    size_t room = tracer->unit_room > 0 ? 2 * tracer->unit_room : 256;
    struct unit *units = calloc(room, sizeof *units);
    if (units == NULL)
        return false;
    for (size_t i = 0; i < tracer->unit_room; i++)
        if (tracer->units[i].file[0] != '\0')
            *unit_place(units, room, &tracer->units[i]) = tracer->units[i];
    free(tracer->units);
    tracer->units = units;
    tracer->unit_room = room;
    return true;
}

/* Registers 'count' lines. 'pc' is the line itself, so that the parts of a long function go on where one ends. */
static uint32_t unit_register(struct tracer *tracer, const struct unit *unit, uint32_t count,
                              const char *name)
{
    uint32_t lines[2 * LINES_EACH];
    for (uint32_t i = 0; i < count; i++)
        lines[2 * i] = lines[2 * i + 1] = (uint32_t)unit->first_line + i;
    struct tbed_unit_options options = {.size = sizeof options,
                                        .kind = TBED_UNIT_BYTECODE,
                                        .base = (uint64_t)unit->first_line,
                                        .pc_count = count,
                                        .name = name,
                                        .file = unit->file,
                                        .first_line = (uint32_t)unit->first_line,
                                        .lines = lines,
                                        .line_count = count};
    return tbed_unit_register(tracer->writer, &options);
}

/* The location of a line of a Lua function; 'ar' has "S". */
static uint32_t line_location(struct tracer *tracer, lua_State *L, lua_Debug *ar, int line)
{
    int first = ar->linedefined > 0 ? ar->linedefined : 1, last = ar->lastlinedefined;
    if (line < first)
        line = first;
    struct unit unit = {.source = ar->source,
                        .line_defined = ar->linedefined,
                        .first_line = first + (line - first) / LINES_EACH * LINES_EACH};
    memcpy(unit.file, ar->short_src, sizeof unit.file);
    if (2 * tracer->unit_count >= tracer->unit_room && !units_grow(tracer))
        return TBED_ID_INVALID;
    struct unit *place = unit_place(tracer->units, tracer->unit_room, &unit);
    if (place->file[0] == '\0') {
        bool is_last = last >= unit.first_line && last < unit.first_line + LINES_EACH;
        uint32_t count = is_last ? (uint32_t)(last - unit.first_line) + 1 : LINES_EACH;
        lua_getinfo(L, "n", ar);
        const char *name = ar->what[0] == 'm' ? "main chunk" : ar->name != NULL ? ar->name : "anonymous";
        unit.first_id = unit_register(tracer, &unit, count, name);
        *place = unit;
        tracer->unit_count++;
    }
    return place->first_id != TBED_ID_INVALID ? place->first_id + (uint32_t)(line - unit.first_line)
                                              : TBED_ID_INVALID;
}

/* What a call is shown as: a Lua function by where it is defined, one in C by the name it is called by. */
static uint32_t function_location(struct tracer *tracer, lua_State *L, lua_Debug *ar)
{
    if (ar->what[0] != 'C')
        return line_location(tracer, L, ar, ar->linedefined);
    lua_getinfo(L, "n", ar);
    const char *name = ar->name != NULL ? ar->name : "?";
    return tbed_string_intern(tracer->writer, name, strlen(name));
}

/* The line that runs; that of the caller in a function in C. Allocates nothing in Lua, so an allocator may call it. */
static uint32_t current_location(struct tracer *tracer, lua_State *L)
{
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline >= 0)
            return line_location(tracer, L, &ar, ar.currentline);
    }
    return TBED_ID_INVALID;
}

/* ---- Coroutines ---- */

static void unwind_all(struct coroutine *coroutine)
{
    tbed_span_end_to(coroutine->recorder, 0);
    coroutine->count = 0;
}

/* Its track goes to the next one, so that there are as many as coroutines at one time. */
static void coroutine_end(struct coroutine *coroutine)
{
    unwind_all(coroutine);
    coroutine->L = NULL;
}

/* NULL: no memory. */
static struct coroutine *coroutine_begin(struct tracer *tracer, lua_State *L)
{
    struct coroutine *coroutine = tracer->main.next;
    while (coroutine != NULL && coroutine->L != NULL)
        coroutine = coroutine->next;
    if (coroutine == NULL && (coroutine = calloc(1, sizeof *coroutine)) != NULL) {
        coroutine->tracer = tracer;
        coroutine->recorder = tbed_track_open(tracer->writer, "coroutine");
        coroutine->next = tracer->main.next;
        tracer->main.next = coroutine;
    }
    if (coroutine == NULL)
        return NULL;
    coroutine->L = L;
    tbed_instant_record(coroutine->recorder, tracer->begins);
    return coroutine;
}

/* A new thread has a copy of the extra space of the main one. */
static struct coroutine *coroutine_of(lua_State *L)
{
    struct coroutine *known = *(struct coroutine **)lua_getextraspace(L);
    if (known->L == L || known->tracer->writer == NULL)
        return known;
    struct coroutine *coroutine = coroutine_begin(known->tracer, L);
    if (coroutine != NULL)
        *(struct coroutine **)lua_getextraspace(L) = coroutine;
    return coroutine;
}

/* An error leaves its status; coroutine.close() and coroutine.wrap() clear that, with all calls. */
static bool is_dead(lua_State *L)
{
    lua_Debug ar;
    return lua_status(L) > LUA_YIELD || (lua_status(L) == LUA_OK && !lua_getstack(L, 0, &ar));
}

/* Where another one ran before, an error may have ended it. */
static void switch_to(struct tracer *tracer, struct coroutine *coroutine)
{
    struct coroutine *before = tracer->current;
    tracer->current = coroutine;
    if (before != coroutine && before != &tracer->main && before->L != NULL && is_dead(before->L))
        coroutine_end(before);
}

/* Before the memory of a thread goes. What has the size of a thread's block mostly is one, so the search is rare. */
static void forget_thread(struct tracer *tracer, const void *block)
{
    for (struct coroutine *coroutine = tracer->main.next; coroutine != NULL; coroutine = coroutine->next)
        if (coroutine->L != NULL && lua_getextraspace(coroutine->L) == block) {
            coroutine_end(coroutine);
            if (tracer->current == coroutine)
                tracer->current = &tracer->main;
        }
}

/* ---- Calls ---- */

/* Ends the calls inside 'call', which errors have unwound; all of them if it was not recorded. */
static void unwind(struct coroutine *coroutine, const void *call)
{
    uint32_t count = coroutine->count;
    while (count > 0 && coroutine->calls[count - 1] != call)
        count--;
    if (count < coroutine->count)
        tbed_span_end_to(coroutine->recorder, count);
    coroutine->count = count;
}

static bool calls_grow(struct coroutine *coroutine)
{
    uint32_t room = coroutine->room > 0 ? 2 * coroutine->room : 64;
    const void **calls = realloc(coroutine->calls, room * sizeof *calls);
    if (calls == NULL)
        return false;
    coroutine->calls = calls;
    coroutine->room = room;
    return true;
}

/* 'i_ci' is the call, as Lua knows it: it is only compared. A tail call has that of the function that it replaces. */
static void begin_call(struct coroutine *coroutine, lua_State *L, lua_Debug *ar)
{
    lua_Debug caller;
    unwind(coroutine, lua_getstack(L, 1, &caller) ? caller.i_ci : NULL);
    lua_getinfo(L, "S", ar);
    coroutine->calls[coroutine->count++] = ar->i_ci;
    tbed_span_begin(coroutine->recorder, function_location(coroutine->tracer, L, ar));
}

static void end_call(struct coroutine *coroutine, const lua_Debug *ar)
{
    unwind(coroutine, ar->i_ci);
    if (coroutine->count == 0)
        return;
    coroutine->count--;
    tbed_span_end(coroutine->recorder);
    if (coroutine->count == 0 && coroutine != &coroutine->tracer->main)
        coroutine_end(coroutine);
}

static void on_event(lua_State *L, lua_Debug *ar)
{
    struct coroutine *coroutine = coroutine_of(L);
    if (coroutine == NULL || coroutine->tracer->writer == NULL ||
        (coroutine->count == coroutine->room && !calls_grow(coroutine))) {
        lua_sethook(L, NULL, 0, 0); /* stopped, or out of memory */
        return;
    }
    switch_to(coroutine->tracer, coroutine);
    if (ar->event == LUA_HOOKRET)
        end_call(coroutine, ar);
    else if (ar->event != LUA_HOOKCOUNT)
        begin_call(coroutine, L, ar);
}

/* ---- Memory ---- */

/* Lua says what a new block is for; other blocks are parts of objects. */
static uint32_t typed_location(struct tracer *tracer, bool is_new, size_t type)
{
    uint32_t name = tracer->types[is_new && type < TYPES ? type : 0];
    return tbed_typed_intern(tracer->writer, current_location(tracer, tracer->current->L), name);
}

static void *free_block(struct tracer *tracer, void *block, size_t nbytes)
{
    if (block != NULL && nbytes == tracer->thread_nbytes)
        forget_thread(tracer, block);
    if (block != NULL && tracer->has_allocations)
        tbed_free_record(tracer->current->recorder, current_location(tracer, tracer->current->L),
                         TBED_FUNCTION_NEW, (uintptr_t)block);
    return tracer->allocate(tracer->allocate_context, block, nbytes, 0);
}

static void *on_memory(void *context, void *block, size_t old_nbytes, size_t new_nbytes)
{
    struct tracer *tracer = context;
    if (new_nbytes == 0)
        return free_block(tracer, block, old_nbytes);
    struct tbed_recorder *recorder = tracer->current->recorder;
    uint64_t begin = tracer->has_allocations && block != NULL ? tbed_recorder_now(recorder) : 0;
    void *result = tracer->allocate(tracer->allocate_context, block, old_nbytes, new_nbytes);
    if (block == NULL && old_nbytes == LUA_TTHREAD)
        tracer->thread_nbytes = new_nbytes;
    if (!tracer->has_allocations || result == NULL)
        return result;
    uint32_t location = typed_location(tracer, block == NULL, old_nbytes);
    if (block == NULL)
        tbed_alloc_record(recorder, location, TBED_FUNCTION_NEW, (uintptr_t)result, new_nbytes);
    else
        tbed_realloc_record(recorder, location, (uintptr_t)block, (uintptr_t)result, new_nbytes, begin);
    return result;
}

/* ---- The module ---- */

static const char tracer_key;

static uint32_t intern(struct tracer *tracer, const char *text)
{
    return tbed_string_intern(tracer->writer, text, strlen(text));
}

static void intern_names(struct tracer *tracer)
{
    static const char *const names[TYPES] = {
        [LUA_TSTRING] = "string",         [LUA_TTABLE] = "table",   [LUA_TFUNCTION] = "function",
        [LUA_TUSERDATA] = "userdata",     [LUA_TTHREAD] = "thread", [LUA_NUMTYPES] = "upvalue",
        [LUA_NUMTYPES + 1] = "prototype",
    };
    for (size_t i = 0; i < TYPES; i++)
        tracer->types[i] = intern(tracer, names[i] != NULL ? names[i] : "part of an object");
    tracer->begins = intern(tracer, "a coroutine begins");
}

static int stop(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &tracer_key);
    struct tracer *tracer = lua_touserdata(L, -1);
    if (tracer == NULL || tracer->writer == NULL)
        return 0;
    lua_setallocf(L, tracer->allocate, tracer->allocate_context);
    unwind_all(&tracer->main);
    tbed_writer_close(tracer->writer);
    tracer->writer = NULL; /* the hooks of all coroutines see this */
    free(tracer->units);
    tracer->units = NULL;
    return 0;
}

static void free_tracer(struct tracer *tracer)
{
    while (tracer->main.next != NULL) {
        struct coroutine *coroutine = tracer->main.next;
        tracer->main.next = coroutine->next;
        free(coroutine->calls);
        free(coroutine);
    }
    free(tracer->main.calls);
}

static int on_close(lua_State *L)
{
    stop(L);
    free_tracer(lua_touserdata(L, 1));
    return 0;
}

/* It lives as long as the state: hooks of waiting coroutines look at it after stop(). */
static struct tracer *tracer_make(lua_State *L)
{
    struct tracer *tracer = lua_newuserdatauv(L, sizeof *tracer, 0);
    memset(tracer, 0, sizeof *tracer);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, on_close);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &tracer_key);
    return tracer;
}

static int start(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1), *what = luaL_optstring(L, 2, "calls and allocations");
    luaL_argcheck(L, lua_rawgetp(L, LUA_REGISTRYINDEX, &tracer_key) == LUA_TNIL, 1,
                  "start() was called before");
    struct tracer *tracer = tracer_make(L);
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true, .process_name = "lua"};
    struct tbed_error error;
    if (tbed_writer_open(path, &options, &tracer->writer, &error) != TBED_OK)
        return luaL_error(L, "%s: %s", path, tbed_status_text(error.status));
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    lua_State *main = lua_tothread(L, -1);
    tracer->has_calls = strstr(what, "calls") != NULL;
    tracer->has_allocations = strstr(what, "allocations") != NULL;
    tracer->main.tracer = tracer;
    tracer->main.L = main;
    tracer->main.recorder = tbed_recorder_open(tracer->writer, "main");
    tracer->current = &tracer->main;
    intern_names(tracer);
    *(struct coroutine **)lua_getextraspace(main) = &tracer->main;
    /* New coroutines have it, too. Lua forgets which line it is at unless a hook counts instructions, however many. */
    lua_sethook(main, on_event,
                (tracer->has_calls ? LUA_MASKCALL | LUA_MASKRET : 0) |
                    (tracer->has_allocations ? LUA_MASKCOUNT : 0),
                INT_MAX);
    tracer->allocate = lua_getallocf(L, &tracer->allocate_context);
    lua_setallocf(L, on_memory, tracer);
    return 0;
}

int luaopen_tracebed_lua(lua_State *L);

int luaopen_tracebed_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {{"start", start}, {"stop", stop}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
