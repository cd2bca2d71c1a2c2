/*
 * tracebed: the program.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/shared/tool.h"

int main(int argc, char **argv)
{
    tool_start();
    return tool_main(argc, argv);
}
