/*
 * The ids of callers' stacks.
 *
 * Each thread keeps its last stack, and a table of frames that it has seen: (the caller's stack, a return address) and
 * the id. From one allocation to the next most outer frames are the same; those are compared with the last stack and
 * the others looked up. Only frames in no table go to the writer, which stores each stack once for all threads.
 *
 * A stack with more frames than are wanted gets an outermost frame that says so, or its last frame would look like a root
 * of the program. That frame has a text instead of an address.
 *
 * A return address means something else once a module has been unloaded and another loaded in its place, so the tables
 * are emptied when what is loaded has changed.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "writer/base/memory.h"
#include "writer/capture/shared/preload_unwind.h"

#define NODES_LEAST 256u
#define NODES_MOST  32768u

struct node {
    uintptr_t pc; /* 0: none */
    uint32_t parent, id;
};

struct preload_stacks {
    uint64_t version; /* of the modules */
    uint32_t known;   /* frames of the last stack that have ids, from the outermost on */
    uint32_t ids[PRELOAD_DEPTH_MAX];
    struct preload_cache_use use;
    struct node nodes[NODES_MOST];
    struct preload_unwinder unwinder;
};

static struct preload_stacks *stacks_make(void)
{
    struct preload_stacks *stacks = tbed_pages_alloc(sizeof *stacks);
    if (stacks == NULL)
        return NULL;
    stacks->unwinder.by_frame_pointer = preload_mode.by_frame_pointer;
    return stacks;
}

void preload_stack_end(struct preload_thread *thread)
{
    tbed_pages_free(thread->stacks, sizeof *thread->stacks);
    thread->stacks = NULL;
}

static void forget(struct preload_stacks *stacks, uint64_t version)
{
    stacks->version = version;
    stacks->known = 0;
    memset(stacks->nodes, 0, preload_cache_size(&stacks->use, NODES_LEAST) * sizeof *stacks->nodes);
    stacks->use = (struct preload_cache_use){0};
    preload_unwinder_forget(&stacks->unwinder);
}

static struct node *node_of(struct preload_stacks *stacks, uint32_t parent, uintptr_t pc)
{
    uint64_t hash = (pc ^ (uint64_t)parent << 32) * 0x9E3779B97F4A7C15u;
    return &stacks->nodes[preload_cache_index(&stacks->use, NODES_LEAST, hash)];
}

/* The id of the frame above those of a stack that was cut. */
static uint32_t cut_location(struct preload_thread *thread)
{
    char text[48];
    int nbytes = snprintf(text, sizeof text, "[stack cut at %u frames]", preload_mode.frame_count);
    preload_guard_set(thread, PRELOAD_APART);
    uint32_t id = tbed_string_intern(preload_writer, text, (size_t)nbytes);
    preload_guard_set(thread, PRELOAD_RECORDING);
    return id;
}

static uint32_t frame_location(struct preload_thread *thread, uintptr_t pc)
{
    return pc == PRELOAD_CUT_PC ? cut_location(thread) : preload_location(thread, pc);
}

/* Asks the writer for the ids of the frames from 'at' on. False: one could not be had. */
static bool intern(struct preload_thread *thread, uint32_t parent, uint32_t at, uint32_t depth)
{
    struct preload_stacks *stacks = thread->stacks;
    const struct preload_frame *frames = stacks->unwinder.frames;
    uint32_t locations[PRELOAD_DEPTH_MAX];
    for (uint32_t i = at; i < depth; i++)
        locations[i] = frame_location(thread, frames[i].pc);
    preload_guard_set(thread, PRELOAD_APART);
    bool has_all =
        tbed_stack_intern_frames(preload_writer, parent, locations + at, depth - at, stacks->ids + at);
    preload_guard_set(thread, PRELOAD_RECORDING);
    for (uint32_t i = at; has_all && i < depth; i++) {
        *node_of(stacks, parent, frames[i].pc) = (struct node){frames[i].pc, parent, stacks->ids[i]};
        preload_cache_stored(&stacks->use, NODES_LEAST, NODES_MOST);
        parent = stacks->ids[i];
    }
    return has_all;
}

/* The id of the last stack. */
static uint32_t find_id(struct preload_thread *thread)
{
    struct preload_stacks *stacks = thread->stacks;
    const struct preload_unwinder *unwinder = &stacks->unwinder;
    uint32_t depth = unwinder->depth;
    uint32_t at = unwinder->same_count < stacks->known ? unwinder->same_count : stacks->known;
    uint32_t parent = at > 0 ? stacks->ids[at - 1] : TBED_ID_INVALID;
    for (; at < depth; at++) {
        const struct node *node = node_of(stacks, parent, unwinder->frames[at].pc);
        if (node->pc != unwinder->frames[at].pc || node->parent != parent)
            break;
        stacks->ids[at] = parent = node->id;
    }
    stacks->known = at;
    if (at < depth && !intern(thread, parent, at, depth))
        return preload_location(thread, unwinder->frames[depth - 1].pc);
    stacks->known = depth;
    return stacks->ids[depth - 1];
}

uint32_t preload_stack(struct preload_thread *thread, const uintptr_t *frame)
{
    if (thread->has_ended || (thread->stacks == NULL && (thread->stacks = stacks_make()) == NULL))
        return preload_location(thread, frame[1]);
    if (preload_is_linker(frame[1]))
        preload_location(thread, frame[1]);
    struct preload_stacks *stacks = thread->stacks;
    uint64_t version = __atomic_load_n(&preload_modules_version, __ATOMIC_ACQUIRE);
    if (stacks->version != version)
        forget(stacks, version);
    preload_guard_set(thread, PRELOAD_APART); /* finding a rule may check what is loaded */
    preload_unwind(&stacks->unwinder, frame, preload_mode.frame_count + 1);
    preload_guard_set(thread, PRELOAD_RECORDING);
    return find_id(thread);
}
