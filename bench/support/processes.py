"""
Runs a command and measures what it takes.

SPDX-License-Identifier: MIT
"""

import dataclasses
import os
import subprocess
import time


@dataclasses.dataclass
class Taken:
    elapsed: float  # seconds
    cpu: float  # seconds of the process and its children
    own: float  # MiB; the peak of what is not a page of a mapped file
    total: float  # MiB; the peak of all memory, with pages of mapped files
    status: int


def own_memory(pid):
    """In KiB; 0 once the process has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("RssAnon")), 0)
    except OSError:
        return 0


def measure(command):
    """Runs a command without its output."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    own = 0
    while True:
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid != 0:
            break
        own = max(own, own_memory(child.pid))
        time.sleep(0.002)
    child.returncode = os.waitstatus_to_exitcode(status)
    return Taken(elapsed=time.monotonic() - begin, cpu=used.ru_utime + used.ru_stime, own=own / 1024,
                 total=used.ru_maxrss / 1024, status=child.returncode)  # fmt: skip
