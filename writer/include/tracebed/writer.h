/*
 * tracebed/writer.h: record a trace, by calls (recorder.h) and by macros (trace.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_H
#define TRACEBED_WRITER_H

#ifdef __cplusplus /* C++ programs may forbid what inline functions in C need */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuseless-cast"
#endif
#endif

#include <tracebed/recorder.h>
#include <tracebed/trace.h>

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif
