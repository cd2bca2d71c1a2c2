/*
 * A line on standard error, the only output of the writer.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_SAY_H
#define TRACEBED_WRITER_SAY_H

/*
 * Standard error may be a pipe that nobody reads, or a file that may not grow: the program gets no signal for what it did
 * not write.
 */
void tbed_say(const char *line, int nbytes);

#endif
