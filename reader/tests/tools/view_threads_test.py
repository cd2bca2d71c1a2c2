#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The server of 'tracebed view' under ThreadSanitizer: answers at the same time, requests that overtake others, a trace that grows, and
a profile that is being imported. A race ends the server with a status of its own, which fails the case.

    python3 reader/tests/tools/view_threads_test.py

Check: view-threads
Needs: build/tsan/tracebed build/tsan/reader/tests/tools/view_program build/tsan/reader/tests/tools/view_page_program
Needs: build/tsan/reader/tests/agreement/agreement_program
Slow: starts servers that are several times slower than usual
"""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja"))
import run_test

os.environ.update(TBED_BUILD="build/tsan", TSAN_OPTIONS="die_after_fork=0")  # before the next import
run_test.plain_addresses()

from view_test import (  # noqa: F401
    main, test_a_live_trace_grows, test_a_profile_is_imported_while_the_page_loads,
    test_of_long_answers_a_page_gets_the_newest_one, test_slow_answers_do_not_delay_others_and_two_files_are_apart)

if __name__ == "__main__":
    sys.exit(main(globals()))
