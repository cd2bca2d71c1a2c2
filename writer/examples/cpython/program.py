"""
What the example is tried on: every way in which calls begin and end, and memory comes and goes, in Python.

SPDX-License-Identifier: MIT
"""

import contextlib
import threading


def leaf(count):
    return "x" * count + str(count)


def deep(count):
    if count == 0:
        raise ValueError(count)
    try:
        deep(count - 1)
    finally:
        leaf(1)


def errors():
    for count in range(4):
        try:
            deep(count)
        except ValueError as error:
            leaf(len(error.args))
    try:
        int("no number")
    except ValueError:
        pass
    with contextlib.suppress(ZeroDivisionError):
        sorted([1, 2, 3], key=lambda number: number / 0)


def numbers(count):
    for number in range(count):
        yield leaf(number)


def both(count):
    yield from numbers(count)
    try:
        yield 1
    except KeyError:
        yield leaf(3)


def generators():
    for text in numbers(3):
        leaf(len(text))
    pair = both(2)
    next(pair), next(pair), next(pair)
    pair.throw(KeyError("in a generator"))
    pair.close()
    first, second = numbers(3), numbers(3)
    for texts in zip(first, second):
        leaf(len(texts))
    waiting = numbers(2)
    next(waiting)
    return waiting, {text: leaf(2) for text in numbers(2)}


async def answer(count):
    if count == 0:
        raise LookupError
    try:
        await answer(count - 1)
    except LookupError:
        leaf(count)
        raise


def coroutines():
    try:
        answer(3).send(None)
    except LookupError:
        pass


def in_thread(number, kept):
    for count in range(5):
        try:
            deep(count)
        except ValueError:
            kept.append(leaf(number * 1000 + count))


def threads():
    kept = []
    for number in range(3):
        thread = threading.Thread(target=in_thread, args=(number, kept), name=f"worker {number}")
        thread.start()
        thread.join()
    return kept


def memory():
    kept = [[number, "a text that is new " + str(number)] for number in range(50)]
    table = {}
    for number in range(200):
        table[f"key {number}"] = bytes(number)
    buffer = bytearray()
    for number in range(100):
        buffer += b"some bytes"
    kept.extend(item for item in [object() for _ in range(10)])
    large = "x" * 1_000_000
    del large
    return kept, table, buffer, [leaf(number) for number in range(300)]


def main():
    errors()
    coroutines()
    return generators(), threads(), memory()
