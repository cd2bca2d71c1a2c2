"""
Runs one test program or check and writes its result to a file.

    run_test.py [--timeout SECONDS] [--plain-addresses] RESULT -- COMMAND...

On success this writes RESULT, JSON with the counts. On failure it writes RESULT.failed instead, so that the build sees
no stamp, and prints all output of the command. Cases are counted from what cmocka and unittest print, or from a last
line 'N passed, N failed'; any other command counts as one case. A crash, a timeout and a program that runs no case
count as failures.

If TBED_TEST_CASES is set, the command runs only the cases that match this pattern. As that is not the whole test, the
result is then written to RESULT.cases, and the next build runs the test again.

SPDX-License-Identifier: MIT
"""

import argparse
import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

ADDR_NO_RANDOMIZE = 0x0040000

SANITIZER_OPTIONS = {
    # cmocka catches these signals, which would hide the sanitizer's report.
    # The stacks of allocations are short, and what was freed is forgotten sooner than usual: both take most of the time of tests
    # that allocate much.
    "ASAN_OPTIONS": "handle_segv=2:handle_sigfpe=2:handle_sigill=2:detect_stack_use_after_return=1:"
                    "malloc_context_size=12:quarantine_size_mb=32",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "die_after_fork=0:handle_segv=2",
}


def environment():
    result = dict(os.environ, LC_ALL="C.UTF-8", TRACEBED_OPTIONS="--no-defaults")
    for name, options in SANITIZER_OPTIONS.items():
        given = result.get(name)
        result[name] = options + (":" + given if given else "")
    result.pop("CMOCKA_MESSAGE_OUTPUT", None)
    return result


def plain_addresses():
    """Sanitizers of older compilers fail at random if the kernel randomizes many bits of an address."""
    try:
        libc = ctypes.CDLL(None)
        libc.personality(libc.personality(0xFFFFFFFF) | ADDR_NO_RANDOMIZE)
    except (OSError, AttributeError):
        pass


def run(command, timeout, without_randomisation):
    """Gives (exit status or None after a timeout, output), and kills what the command left running."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment(),
            start_new_session=True,
            preexec_fn=plain_addresses if without_randomisation else None,
        )
        try:
            status = child.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        child.wait()
        out.seek(0)
        return status, out.read().decode(errors="replace")


def total(pattern, text):
    return sum(int(number) for number in re.findall(pattern, text, re.M))


def count(status, text):
    """Gives (passed, failed, skipped, what else went wrong or None)."""
    if re.search(r"^\[==========\] ", text, re.M):
        passed = total(r"^\[  PASSED  \] (\d+) test", text)
        failed = total(r"^\[  FAILED  \] (\d+) test", text)
        skipped = total(r"^\[  SKIPPED \] (\d+) test", text)
        announced = total(r"^\[==========\] Running (\d+) test", text)
    elif (match := re.search(r"^Ran (\d+) tests? in ", text, re.M)) is not None:
        announced = int(match.group(1))
        failed = total(r"^FAILED \(.*?failures=(\d+)", text) + total(r"^FAILED \(.*?errors=(\d+)", text)
        skipped = total(r"^(?:OK|FAILED) \(.*?skipped=(\d+)", text)
        passed = max(announced - failed - skipped, 0)
    elif (match := re.search(r"^(\d+) passed, (\d+) failed\s*\Z", text, re.M)) is not None:
        passed, failed, skipped = int(match.group(1)), int(match.group(2)), 0
        announced = passed + failed
    elif os.environ.get("TBED_TEST_CASES"):
        return 0, 1, 0, "has no cases to select"
    else:
        announced, passed = 1, int(status == 0)
        failed, skipped = 1 - passed, 0
    if status is None:
        return passed, max(failed, 1), skipped, "timed out"
    if status < 0:
        return passed, max(failed, 1), skipped, "killed by " + signal.Signals(-status).name
    if status != 0 and failed == 0:  # all reported cases passed, but the program did not end well
        return passed, 1, skipped, f"exit status {status}"
    if announced == 0 and os.environ.get("TBED_TEST_CASES"):
        return 0, 0, 0, "no case matches"
    if announced == 0 or passed + failed + skipped < announced:
        return passed, max(failed, 1), skipped, f"{passed + failed + skipped} of {announced} cases reported a result"
    return passed, failed, skipped, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--timeout", type=float, default=240)
    parser.add_argument("--plain-addresses", action="store_true")
    parser.add_argument("result")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()

    passed_path = options.result + (".cases" if os.environ.get("TBED_TEST_CASES") else "")
    failed_path = options.result + ".failed"
    for path in (options.result, passed_path, failed_path):
        if os.path.exists(path):
            os.remove(path)
    begin = time.monotonic()
    try:
        timeout = options.timeout * (10 if os.environ.get("TBED_LONG") else 1)
        status, text = run(options.command, timeout, options.plain_addresses)
    except OSError as error:
        status, text = 127, f"{options.command[0]}: {error.strerror}\n"
    passed, failed, skipped, note = count(status, text)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = {
        "passed": passed,
        "failed": failed,
        "skipped": skipped,
        "note": note,
        "seconds": round(time.monotonic() - begin, 2),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
    }
    is_good = status == 0 and not failed
    with open(passed_path if is_good else failed_path, "w", encoding="utf-8") as out:
        json.dump(result, out)
        out.write("\n")
    if not is_good:
        sys.stdout.write(text)
        print(f"{' '.join(options.command)}: {failed} failed" + (f", {note}" if note else ""))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
