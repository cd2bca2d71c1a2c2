/*
 * Lists the functions of a module, as its reader's process sends them.
 *
 * The answer is not trusted. If that process dies while it reads debug information, the functions are requested without.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/symbol_list.h"

#include "reader/symbols/symbols_internal.h"

#include <stdlib.h>
#include <string.h>

/* The next text, which the sender has terminated; NULL: it is not there. */
static const char *text_next(const char **at, const char *end)
{
    const char *text = *at, *zero = memchr(text, 0, (size_t)(end - text));
    *at = zero != NULL ? zero + 1 : end;
    return zero != NULL ? text : NULL;
}

/* False: there is no more, or what follows is invalid. */
static bool function_next(const char **at, const char *end, struct listed_function *function_ret)
{
    struct symbol_reply_function head;
    if ((size_t)(end - *at) < sizeof head)
        return false;
    memcpy(&head, *at, sizeof head);
    *at += sizeof head;
    *function_ret = (struct listed_function){.start = head.start, .nbytes = head.nbytes, .line = head.line};
    function_ret->symbol = text_next(at, end);
    function_ret->plain = text_next(at, end);
    function_ret->full = text_next(at, end);
    function_ret->file = text_next(at, end);
    if (function_ret->file == NULL) /* then one of the others may be missing as well */
        return false;
    if (function_ret->file[0] == '\0')
        function_ret->file = NULL;
    if (head.arguments_nbytes > (size_t)(end - *at))
        return false;
    function_ret->arguments = head.arguments_nbytes > 0 ? *at : NULL;
    function_ret->arguments_nbytes = head.arguments_nbytes;
    *at += head.arguments_nbytes;
    return true;
}

enum tbed_symbols_state tbed_symbols_list(struct tbed_symbols *symbols,
                                          const struct tbed_symbols_module *module, unsigned details,
                                          void (*take)(void *context, const struct listed_function *function),
                                          void *context)
{
    char trouble[SYMBOL_TROUBLE_NBYTES];
    struct symbol_answer answer = {0};
    struct symbol_question question = {.wants = SYMBOL_WANT_LIST | (details != 0 ? SYMBOL_WANT_FRAMES : 0) |
                                                (details & LIST_ARGUMENTS ? SYMBOL_WANT_ARGUMENTS : 0),
                                       .path = module->path,
                                       .build_id = module->build_id,
                                       .build_id_nbytes = module->build_id_nbytes};
    bool is_answered = tbed_symbol_process_ask(&symbols->process, &question, &answer, trouble);
    enum tbed_symbols_state state = TBED_SYMBOLS_UNREADABLE;
    if (is_answered && answer.state < TBED_SYMBOLS_UNREADABLE)
        state = (enum tbed_symbols_state)answer.state;
    if (state == TBED_SYMBOLS_FOUND) {
        struct listed_function function;
        const char *at = answer.bytes, *end = at + answer.nbytes;
        while (function_next(&at, end, &function))
            take(context, &function);
    }
    free(answer.debug_path);
    free(answer.bytes);
    return !is_answered && details != 0 ? tbed_symbols_list(symbols, module, 0, take, context) : state;
}
