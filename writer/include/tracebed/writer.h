/*
 * tracebed/writer.h: record a trace, by calls (recorder.h) and by macros (trace.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_H
#define TRACEBED_WRITER_H

#include <tracebed/recorder.h>
#include <tracebed/trace.h>

#endif
