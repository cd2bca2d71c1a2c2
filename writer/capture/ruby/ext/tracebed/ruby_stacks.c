/*
 * Call stacks: the innermost frames of Ruby code, interned by the writer. Frames of C functions are left out, as in
 * locations.
 *
 * Most allocations come from a stack that was seen before, so the program counters of its frames are hashed, and the
 * hash finds the id. Code that is freed can leave its addresses to other code: the hash begins with a number that each
 * collection raises.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ruby_tracebed.h"

#include <stdio.h>
#include <string.h>

#define CACHE_BITS 14

static struct known_stack {
    uint64_t hash; /* 0: none */
    uint32_t id;
} cache[1 << CACHE_BITS];
static uint64_t generation;

struct frames { /* innermost first */
    const char *at[RUBY_STACK_DEPTH_MAX];
    size_t count;
    uint64_t hash;
    bool is_cut;
};

static uint64_t stir(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9FB21C651E98DF25u;
    return hash ^ hash >> 29;
}

/* The outermost frame is Ruby's own; its backtraces leave it out too. */
static void frames_read(const rb_trace_arg_t *arg, struct frames *frames)
{
    const char *frame = ruby_pointer(arg, RUBY_LAYOUT_ARG_FRAME),
               *end = ruby_frames_end(arg) - RUBY_LAYOUT_FRAME_NBYTES;
    frames->count = 0;
    frames->hash = stir(generation, 1);
    frames->is_cut = false;
    for (; frame < end && !frames->is_cut; frame += RUBY_LAYOUT_FRAME_NBYTES) {
        uint64_t pc = ruby_word(frame, RUBY_LAYOUT_FRAME_PC);
        if (pc == 0)
            continue; /* C code */
        frames->is_cut = frames->count == ruby_session.stack_depth;
        if (!frames->is_cut)
            frames->at[frames->count++] = frame;
        frames->hash = stir(frames->hash, frames->is_cut ? 1 : pc);
    }
}

/* The frame above those of a stack that was cut. */
static uint32_t cut_stack(void)
{
    char text[48];
    int nbytes = snprintf(text, sizeof text, "[stack cut at %u frames]", ruby_session.stack_depth);
    uint32_t id = tbed_string_intern(ruby_session.writer, text, (size_t)nbytes);
    return tbed_stack_intern(ruby_session.writer, TBED_ID_INVALID, id);
}

static uint32_t frames_intern(const struct frames *frames)
{
    uint32_t stack = frames->is_cut ? cut_stack() : TBED_ID_INVALID;
    for (size_t i = frames->count; i-- > 0;)
        stack = tbed_stack_intern(ruby_session.writer, stack, ruby_location_of(frames->at[i]));
    return stack;
}

uint32_t ruby_stack(const rb_trace_arg_t *arg)
{
    struct frames frames;
    frames_read(arg, &frames);
    struct known_stack *known = &cache[frames.hash >> (64 - CACHE_BITS)];
    if (known->hash == frames.hash)
        return known->id;
    *known = (struct known_stack){frames.hash, frames_intern(&frames)};
    return known->id;
}

void ruby_stacks_forget(void)
{
    generation++;
}

void ruby_stacks_clear(void)
{
    memset(cache, 0, sizeof cache);
}
