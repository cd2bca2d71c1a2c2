# SPDX-License-Identifier: MIT
"""
DuckDB and ClickHouse for checks: look() says which of them can be used here, ask() runs statements. Both are packages of npm
in build/npm, where './run' installs them; without them, or without node, a check does without.
"""

import json
import os
import shutil
import subprocess

import cases

FOLDER = os.path.dirname(os.path.abspath(__file__))
MODULES = os.path.join(FOLDER, *[os.pardir] * 4, "build", "npm", "node_modules")
PACKAGES = {"duckdb": "@duckdb/node-api", "clickhouse": "chdb"}


class Missing(Exception):
    """Says what is not there."""


def look(engine):
    if shutil.which("node") is None:
        raise Missing(f"{engine}: node is not installed")
    if not os.path.isdir(os.path.join(MODULES, PACKAGES[engine])):
        raise Missing(f"{engine}: the npm package {PACKAGES[engine]} is not in build/npm")


def there():
    """Those that can be used, and for the others why not."""
    found, missing = [], []
    for engine in PACKAGES:
        try:
            look(engine)
            found.append(engine)
        except Missing as problem:
            missing.append(str(problem))
    return found, missing


def ask(engine, statements, folder):
    """For each statement (columns, rows, milliseconds); relative paths are in 'folder'. All values are text or None."""
    look(engine)
    run = subprocess.run(["node", os.path.join(FOLDER, "engines.js"), engine], cwd=folder, input=json.dumps(statements),
                         capture_output=True, text=True)
    if run.returncode != 0 or not run.stdout:
        raise cases.Failure(f"{engine}: {run.stderr[-2000:]}")
    answers = json.loads(run.stdout)
    for statement, answer in zip(statements, answers):
        if "error" in answer:
            raise cases.Failure(f"{engine}: {answer['error'][:2000]}\n{statement}")
    return [(answer["columns"], answer["rows"], answer["ms"]) for answer in answers]
