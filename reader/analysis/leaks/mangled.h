/*
 * Names of functions as suppressions for valgrind have them: with wildcards, and those of C++ as compilers mangle them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MANGLED_H
#define TRACEBED_MANGLED_H

#include <stdbool.h>

/* '*' stands for any text and '?' for any character; all of the text must match. */
bool tbed_glob_matches(const char *pattern, const char *text);

/*
 * Does the mangled name mean this function of C++, whose name is demangled? Only the scopes and the name are compared, as
 * far as the pattern has no wildcard; parameters are not. So "_ZN3foo3barEi" matches "foo::bar(int)" and "foo::bar(char)",
 * and "_ZN3foo*" matches "foo::bar(int)".
 */
bool tbed_mangled_matches(const char *pattern, const char *name);

#endif
