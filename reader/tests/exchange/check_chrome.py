"""
Checks Chrome trace events written by `tracebed export --to=chrome`.

    check_chrome.py spans OURS REFERENCE    spans, processes and their order match measureme's crox
    check_chrome.py events OURS             prints each event on a line, its fields sorted
    check_chrome.py rows OURS               no two threads of one row overlap; prints how many rows there are

SPDX-License-Identifier: MIT
"""

import json
import sys


def load(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.startswith("rc="):  # how the reference ended
        text = text.split("\n", 1)[1]
    document = json.loads(text, parse_constant=lambda name: sys.exit(f"{path}: {name} is no JSON"))
    return document["traceEvents"] if isinstance(document, dict) else document


def compared(events):
    """What crox writes too. It has the crate's name only where the command line tells one."""
    kept = []
    for event in events:
        if event["ph"] == "X":
            event = {"args": None, **event}
        elif event["ph"] != "M" or event["name"] == "thread_name" or event["args"].get("name") == "rustc":
            continue
        duration = event.pop("dur", None)
        kept.append((json.dumps(event, sort_keys=True), duration))
    return sorted(kept)


def is_same(ours, reference):
    """The reference cuts begins and durations to microseconds, so that its spans may overlap; we cut begins and ends."""
    return ours[0] == reference[0] and (ours[1] or 0) - (reference[1] or 0) in (0, 1)


def spans(ours, reference):
    found, wanted = compared(load(ours)), compared(load(reference))
    differ = [pair for pair in zip(found, wanted) if not is_same(*pair)]
    for event, other in differ[:5]:
        print(f"differs: {event} from {other}")
    if len(wanted) == 0 or len(found) != len(wanted) or differ:
        sys.exit(f"{ours}: {len(found)} instead of {len(wanted)}")


def events(ours):
    for event in load(ours):
        print(json.dumps(event, sort_keys=True))


def rows(ours):
    last = {}
    extents = {}
    for event in load(ours):
        if event["ph"] == "X":
            extents.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    for row, found in extents.items():
        # Spans of the test never nest, so that an overlap is one of threads.
        for begin, end in sorted(found):
            if begin < last.get(row, -1):
                sys.exit(f"{row}: overlaps at {begin}")
            last[row] = end
    print(len(extents), "rows")


if __name__ == "__main__":
    {"spans": spans, "events": events, "rows": rows}[sys.argv[1]](*sys.argv[2:])
