"""
The table of worlds: whatever happens to a traced program or to its trace, the program ends as it does untraced, with
the same output and exit status, and what could not be recorded is counted.

    python3 writer/tests/worlds/worlds_test.py [WORLD ...]

A world that cannot be made on this machine (no loop device, not root) is listed as skipped, with the reason.

Check: worlds
Needs: release
Slow: runs many programs, plain and traced, and fills file systems

SPDX-License-Identifier: MIT
"""

import sys

import disk_worlds
import fault_worlds
import file_worlds
import program_worlds
import sandbox_worlds
import sanitizer_worlds
import worlds
from cases import select

MODULES = [file_worlds, disk_worlds, fault_worlds, program_worlds, sanitizer_worlds, sandbox_worlds]


def main():
    every = {world.name: world for module in MODULES for world in module.WORLDS}
    return worlds.run_table([every[name] for name in select(list(every))])


if __name__ == "__main__":
    sys.exit(main())
