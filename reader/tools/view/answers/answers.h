/*
 * All answers. Each gets a request whose parameters are known and whose trace is open, and writes an object.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_ANSWERS_H
#define TRACEBED_VIEW_ANSWERS_H

#include "reader/tools/view/answers/answer.h"

enum answer_status answer_trace(struct answer *answer);
enum answer_status answer_window(struct answer *answer);

#endif
