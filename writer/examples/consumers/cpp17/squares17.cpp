/*
 * A program in C++17 that records a span and a message with each of its two squares.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/trace.hpp>

#include <string_view>

static int square(int number)
{
    std::string_view word = "argument";
    TBED_SPAN_ARGS("square", "word", word);
    TBED_LOG("number %d", number);
    return number * number;
}

int main()
{
    return square(2) + square(3) == 13 ? 0 : 1;
}
