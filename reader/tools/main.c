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
    bool is_unpaged = argc > 1 && strcmp(argv[1], "--no-pager") == 0;
    if (!is_unpaged && argc > 1)
        tool_pager_begin(argv[1]);
    argv[is_unpaged] = argv[0];
    return tool_main(argc - is_unpaged, argv + is_unpaged);
}
