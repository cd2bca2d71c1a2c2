/*
 * The registry of foreign formats, and detection of a file's format. Not for users of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_REGISTRY_H
#define TRACEBED_EXCHANGE_REGISTRY_H

#include "reader/exchange/shared/exchange_format.h"

/*
 * The format of an open file, or of the file at 'path'. NULL: none that can be imported. The file's offset does not
 * change.
 */
const struct exchange_format *tbed_registry_of_fd(int fd);
const struct exchange_format *tbed_registry_of_path(const char *path);

/* The format that tbed_format_get() describes. */
const struct exchange_format *tbed_registry_of(const struct tbed_format *about);

#endif
