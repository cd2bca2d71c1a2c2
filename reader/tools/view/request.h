/*
 * Requests: a path and its parameters, decoded and checked.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_REQUEST_H
#define TRACEBED_VIEW_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_NBYTES_MAX     8192
#define REQUEST_PARAMETERS_MAX 64
#define REQUEST_PROBLEM_NBYTES 256

struct request_parameter {
    const char *name, *value; /* terminated, without zeros inside */
};

struct request {
    char text[REQUEST_NBYTES_MAX + 2]; /* what the following point to */
    const char *path;
    struct request_parameter parameters[REQUEST_PARAMETERS_MAX];
    size_t parameter_count;
    char problem[REQUEST_PROBLEM_NBYTES]; /* what is wrong, as a sentence */
};

/* Takes 'target' apart: "window?f=0&b=10". False: see 'problem'. */
bool request_parse(struct request *request, const char *target);

/* Whether all parameters are in the list "f b e n*", and those without '*' not repeated. False: see 'problem'. */
bool request_allows(struct request *request, const char *names);

/* The value of a parameter, or NULL; the next one of a parameter that may be repeated, from '*at' on, which is 0 at first. */
const char *request_text(const struct request *request, const char *name);
const char *request_next(const struct request *request, const char *name, size_t *at);

/*
 * A parameter that is a number from 'least' to 'most'. '*value_ret' keeps its value if the parameter was not given. False: see
 * 'problem'.
 */
bool request_number(struct request *request, const char *name, uint64_t least, uint64_t most,
                    uint64_t *value_ret);

/* The same for a parameter that must be given. */
bool request_need_number(struct request *request, const char *name, uint64_t most, uint64_t *value_ret);

/* One of 'words', which are separated by spaces; '*index_ret' keeps its value if the parameter was not given. */
bool request_word(struct request *request, const char *name, const char *words, size_t *index_ret);

/* The parameter 'page', a text that a page chooses, as a number: its hash. 0: it was not given. */
uint64_t request_page(const struct request *request);

/* Says what is wrong with a parameter, and returns false. */
bool request_refuse(struct request *request, const char *name, const char *what);

#endif
