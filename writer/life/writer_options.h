/*
 * The options of a writer.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_OPTIONS_H
#define TRACEBED_WRITER_OPTIONS_H

#include "tracebed/writer.h"

bool tbed_options_want_rotation(const struct tbed_writer_options *options);
/* 'path': NULL if the file is a descriptor. */
bool tbed_options_are_allowed(const struct tbed_writer_options *options, const char *path);

#endif
