/*
 * The sizes by which preload_frames_helper.c and its test know the calls: the first of each group.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PRELOAD_FRAMES_LOG_H
#define TRACEBED_PRELOAD_FRAMES_LOG_H

#define FRAMES_GOING_ON        31000u /* the stack goes on behind the function */
#define FRAMES_ENDING          32000u /* it ends there */
#define FRAMES_WITHOUT_POINTER 33000u /* goes on, but not by frame pointers */
#define FRAMES_WITH_POINTER    34000u /* goes on in each way */

#define FRAMES_DAMAGED 35000u

#endif
