/*
 * A program in C++20 that records a span with its source location and a formatted message with each of its two squares.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/trace.hpp>

static int square(int number)
{
    tracebed::span span;
    TBED_LOG("number %d", number);
    return number * number;
}

int main()
{
    return square(2) + square(3) == 13 ? 0 : 1;
}
