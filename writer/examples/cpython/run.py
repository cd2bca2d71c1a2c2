"""
Runs program.py, traced by the example or watched by the interpreter: run.py trace|watch calls|allocations OUT. What it prints
is what the trace must have.

SPDX-License-Identifier: MIT
"""

import json
import sys
import threading
import tracemalloc

import program

how, what, out = sys.argv[1:]
events = []


def watch(frame, event, argument):
    step = 1 if event in ("call", "c_call") else -1
    name = argument.__name__ if event.startswith("c_") else f"{frame.f_code.co_filename}:{frame.f_code.co_firstlineno}"
    events.append((threading.current_thread().name if threading._active.get(threading.get_ident()) else "?", step, name))


def watch_calls():
    threading.setprofile(watch)
    sys.setprofile(watch)
    kept = program.main()
    sys.setprofile(None)
    del kept
    print(json.dumps(events))


def trace():
    import tracebed_cpython

    if what == "allocations":
        # The example makes the interpreter allocate 16 bytes for each code object that it meets.
        tracebed_cpython.start(out + ".first", what)
        program.main()
        tracebed_cpython.stop()
        tracemalloc.start(1)
    tracebed_cpython.start(out, what)
    threading.setprofile(tracebed_cpython.on_thread if what == "calls" else None)
    kept = program.main()
    tracebed_cpython.stop()
    if what == "allocations":
        lines = tracemalloc.take_snapshot().statistics("lineno")
        print(json.dumps({f"{line.traceback[0].filename}:{line.traceback[0].lineno}": line.size for line in lines}))
    del kept


watch_calls() if how == "watch" else trace()
