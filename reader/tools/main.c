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
    bool has_pager = true, has_defaults = true;
    for (; argc > 1; argc--, argv++)
        if (strcmp(argv[1], "--no-pager") == 0)
            has_pager = false;
        else if (strcmp(argv[1], "--no-defaults") == 0)
            has_defaults = false;
        else
            break;
    if (has_pager && argc > 1)
        tool_pager_begin(argv[1]);
    return tool_main(argc, argv, has_defaults);
}
