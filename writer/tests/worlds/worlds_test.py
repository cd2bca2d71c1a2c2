"""
The table of worlds: whatever happens to a traced program or to its trace, the program ends as it does untraced, with
the same output and exit status, and what could not be recorded is counted.

    python3 writer/tests/worlds/worlds_test.py [WORLD | GROUP ...]

A world that cannot be made on this machine (no loop device, not root) is listed as skipped, with the reason.

Check: worlds files disks programs sanitizers sandboxes
Check: worlds-faults faults
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

GROUPS = {"files": file_worlds, "disks": disk_worlds, "faults": fault_worlds, "programs": program_worlds,
          "sanitizers": sanitizer_worlds, "sandboxes": sandbox_worlds}


def main():
    every = {world.name: world for module in GROUPS.values() for world in module.WORLDS}
    sys.argv[1:] = [name for word in sys.argv[1:] for name in ([world.name for world in GROUPS[word].WORLDS] if word in GROUPS else [word])]
    return worlds.run_table([every[name] for name in select(list(every))])


if __name__ == "__main__":
    sys.exit(main())
