# SPDX-License-Identifier: MIT
"""Traces of tracebed, and foreign ones, in Python.

    import tracebed

    with tracebed.open("run.tbed") as trace:
        for span in trace.rows("spans", ["label", "dur"], where={"label": "load"}):
            print(span.label, span.dur)
        columns = trace.columns("spans", ["ts", "dur"])     # numpy.asarray(columns["dur"]) copies nothing
        for label, total in trace.sql("SELECT label, sum(dur) FROM spans GROUP BY 1 ORDER BY 2 DESC LIMIT 10"):
            print(label, total)

The tables, their columns and units are those of docs/tables.md; tracebed.tables() lists them.
"""
import os
import sqlite3

from . import _native
from ._native import Column, Rows, tables

__all__ = ["Column", "Rows", "Trace", "open", "tables"]

# Where the extension for SQLite may be: beside this package in a build, and where it is installed.
_EXTENSION = "libtracebed-sqlite.so"


def _extension_path():
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in (here, os.path.join(here, "..", ".."), os.path.join(here, "..", "..", "..")):
        path = os.path.join(folder, _EXTENSION)
        if os.path.exists(path):
            return os.path.normpath(path)
    raise FileNotFoundError(f"{_EXTENSION} is missing: tracebed was built without SQLite (libsqlite3-dev)")


class Trace(_native.Trace):
    """An open trace, or a foreign file that tracebed can read. Close it, or use it in a 'with' statement."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._database = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        """Closes the trace. Scans that are open can be read to their ends."""
        if self._database is not None:
            self._database.close()
            self._database = None
        super().close()

    def __getattr__(self, name):
        # trace.spans is trace.rows("spans")
        if not name.startswith("_") and name in _TABLES:
            return self.rows(name)
        raise AttributeError(f"'Trace' has no attribute '{name}', and there is no table of this name")

    def dataframe(self, table, columns=None, where=None):
        """The columns of a table as a DataFrame of pandas: numbers without a copy, texts as categories."""
        import pandas

        data = {}
        for name, column in self.columns(table, columns, where).items():
            if column.names is None:
                values = pandas.Series(memoryview(column), copy=False)
            elif len(set(column.names)) == len(column.names):
                values = pandas.Series(pandas.Categorical.from_codes(memoryview(column), column.names))
            else:  # a text for each row, of which some are equal
                values = pandas.Series([column[i] for i in range(len(column))], dtype=object)
            data[name] = values if column.null is None else values.mask([byte != 0 for byte in column.null])
        return pandas.DataFrame(data, copy=False)

    def sql(self, statement, parameters=()):
        """Runs a statement over the trace's tables and returns a cursor of sqlite3, which can be iterated."""
        if self._database is None:
            self._database = self._connect()
        return self._database.execute(statement, parameters)

    def _connect(self):
        database = sqlite3.connect(":memory:")
        if not hasattr(database, "enable_load_extension"):
            raise RuntimeError("this Python's sqlite3 cannot load extensions; Debian's can")
        database.enable_load_extension(True)
        database.load_extension(_extension_path())
        database.enable_load_extension(False)
        database.execute("SELECT tracebed_open(?)", (self.path,))
        return database


_TABLES = tables()


def open(path):  # pylint: disable=redefined-builtin
    """Opens a trace, or a foreign file that tracebed can read. Raises OSError or ValueError."""
    return Trace(path)
