/*
 * Fields of events of CTF, in the child that reads them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CTF_FIELDS_H
#define TRACEBED_EXCHANGE_CTF_FIELDS_H

#include "reader/exchange/ctf/import/ctf_library.h"
#include "reader/exchange/ctf/import/ctf_put.h"

/* The functions by their names without "bt_". */
struct ctf_library {
#define MEMBER(name) __typeof__(bt_##name) *name;
    CTF_CALLS(MEMBER)
#undef MEMBER
};

/* Appends the members of a structure as arguments; NULL: none. */
void tbed_ctf_put_fields(const struct ctf_library *library, struct ctf_put *put, const bt_field *fields,
                         bool is_context);

/* A member that is an integer, or a text. False, NULL: there is none. 'fields' may be NULL. */
bool tbed_ctf_number(const struct ctf_library *library, const bt_field *fields, const char *name,
                     uint32_t *number_ret);
const char *tbed_ctf_text(const struct ctf_library *library, const bt_field *fields, const char *name);

#endif
