/*
 * The import of CTF, as struct exchange_format takes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CTF_IMPORT_H
#define TRACEBED_EXCHANGE_CTF_IMPORT_H

#include <tracebed/exchange.h>

/* Whether the path is a folder with a trace of CTF, or of a session of LTTng. */
bool tbed_ctf_folder_is(const char *path);

enum tbed_status tbed_ctf_source_open(const char *path, int fd, void **source_ret,
                                      struct tbed_error *error_ret);
void tbed_ctf_source_close(void *source);

/* Errors: ERR_NO_LIBRARY, ERR_READ, ERR_MEMORY, those of writing. */
enum tbed_status tbed_ctf_source_import(const void *source, int fd, struct tbed_import_report *report,
                                        struct tbed_error *error_ret);

#endif
