/*
 * Plans: which functions of a module are recorded, and how.
 *
 * 'tracebed record' makes them, because it has the demangler and reads debug information; a recorded process asks for the
 * plan of a module when it first calls one of the module's functions. It sends one datagram to a socket and gets one back,
 * with the descriptor of a sealed memory file that it maps. Every process of the program asks for itself; the answers come
 * from a cache.
 *
 * Layout of the file: the header, the functions sorted by their start, and bytes that functions refer to by their offset
 * from the file's start. What no function contains is treated as the environment says.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LAUNCH_PLAN_H
#define TRACEBED_LAUNCH_PLAN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The environment: "NAME,FLAGS", the abstract name of the socket, and the flags of functions that are in no plan. */
#define LAUNCH_ENV_PLANS "TRACEBED_FUNCTIONS_PLANS"

/* The environment: set if plans have descriptions of arguments. */
#define LAUNCH_ENV_ARGUMENTS "TRACEBED_FUNCTIONS_ARGS"

#define LAUNCH_PLAN_NAME_NBYTES 64 /* of the socket's name with its terminator */
#define LAUNCH_PLAN_WAIT_MS     30000

/* ---- The file ---- */

#define LAUNCH_PLAN_MAGIC 0x314E414C50444254u /* "TBDPLAN1" */

enum launch_plan_flag {
    LAUNCH_PLAN_RECORDED = 1u << 0, /* its calls are spans */
    /* Triggers: what its call changes, the first two until something else does, the others until it ends. */
    LAUNCH_PLAN_TRACE_ON = 1u << 1,
    LAUNCH_PLAN_TRACE_OFF = 1u << 2,    /* in the environment: recording begins with a TRACE_ON */
    LAUNCH_PLAN_DEPTH = 1u << 3,        /* 'depth' spans of it and what it calls are nested at most */
    LAUNCH_PLAN_MINIMUM = 1u << 4,      /* shorter calls than 'minimum_ns' are left out */
    LAUNCH_PLAN_FILTER = 1u << 5,       /* in the environment: only it and what it calls is recorded */
    LAUNCH_PLAN_NOTRACE = 1u << 6,      /* neither it nor what it calls is recorded */
    LAUNCH_PLAN_HAS_TRIGGERS = 1u << 7, /* only in the environment: some plan may have them */
};
#define LAUNCH_PLAN_TRIGGERS 0x7Eu

struct launch_plan_function {
    uint64_t start; /* as the ELF file has it */
    uint32_t nbytes;
    uint32_t flags;     /* enum launch_plan_flag */
    uint32_t arguments; /* offset of a description (launch_arguments.h); 0: none */
    uint32_t depth;
    uint64_t minimum_ns;
};

struct launch_plan {
    uint64_t magic;
    uint32_t function_count;
    uint32_t more_nbytes; /* behind the functions */
    struct launch_plan_function functions[];
};

/* Whether 'nbytes' bytes are a plan that the functions below can use. */
bool launch_plan_check(const struct launch_plan *plan, size_t nbytes);

/* The function that contains 'pc', an address as the ELF file has it; NULL: none is listed. */
const struct launch_plan_function *launch_plan_find(const struct launch_plan *plan, uint64_t pc);

/* ---- The conversation: one struct each way ---- */

#define LAUNCH_PLAN_BUILD_ID_NBYTES 64

struct launch_plan_request {
    uint64_t magic;
    uint32_t build_id_nbytes; /* 0: unknown */
    uint32_t path_nbytes;     /* without a terminator; only so much of 'path' is sent */
    uint8_t build_id[LAUNCH_PLAN_BUILD_ID_NBYTES];
    char path[PATH_MAX];
};
#define LAUNCH_PLAN_REQUEST_NBYTES offsetof(struct launch_plan_request, path)

enum launch_plan_status {
    LAUNCH_PLAN_MADE,        /* the answer has a descriptor */
    LAUNCH_PLAN_NOT_ASKED,   /* the socket did not answer; never sent */
    LAUNCH_PLAN_NO_FILE,     /* the module's file cannot be read */
    LAUNCH_PLAN_OTHER_BUILD, /* another file has taken its place */
    LAUNCH_PLAN_NO_SYMBOLS,
    LAUNCH_PLAN_STATUS_COUNT,
};

struct launch_plan_reply {
    uint64_t magic;
    uint32_t status;
    uint32_t reserved;
};

#endif
