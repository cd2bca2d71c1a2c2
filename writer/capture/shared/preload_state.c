/*
 * The state of a preloaded library. It lies below all files that use it: preload_thread.c sets it, at the top.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/capture/shared/preload.h"

__thread struct preload_thread preload_thread __attribute__((tls_model("initial-exec")));
struct tbed_writer *preload_writer;
struct preload_mode preload_mode;
bool preload_clock_is_off;
