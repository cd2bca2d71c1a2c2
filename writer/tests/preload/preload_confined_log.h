/*
 * The sizes by which preload_confined_helper.c and its test know the calls.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PRELOAD_CONFINED_LOG_H
#define TRACEBED_PRELOAD_CONFINED_LOG_H

#define CONFINED_BEFORE 35000u
#define CONFINED_INSIDE 35001u
#define CONFINED_THREAD 35002u /* by a thread that begins inside */
#define CONFINED_AFTER  35003u

#endif
