"""
A program in Python that reads what another program has recorded, and prints the label of each span.

SPDX-License-Identifier: MIT
"""

import sys

import tracebed

with tracebed.open(sys.argv[1]) as trace:
    for span in trace.spans:
        print(span.label)
