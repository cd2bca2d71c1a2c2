/*
 * tracebed: the program.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/shared/tool.h"

#include <string.h>

int main(int argc, char **argv)
{
    tool_start();
    if (argc > 1 && strcmp(argv[1], "--complete") == 0)
        return tool_complete(argc - 2, argv + 2);
    return tool_main(argc, argv);
}
