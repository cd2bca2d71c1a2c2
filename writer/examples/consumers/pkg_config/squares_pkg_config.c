/*
 * A program in C that records a span and a message with each of its two squares.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/trace.h>

static int square(int number)
{
    TBED_SPAN();
    TBED_LOG("number %d", number);
    return number * number;
}

int main(void)
{
    return square(2) + square(3) == 13 ? 0 : 1;
}
