# SPDX-License-Identifier: MIT
"""
A strict reader of the Parquet files that 'tracebed export' writes, with nothing but Python and libzstd. It is written from
Apache's specifications and shares nothing with the writer: whatever the format leaves open and these files do not use is an
error, and so is a byte that belongs to nothing.

    columns = parquet_file.read(path)       name -> [value or None]
"""

import ctypes
import gzip
import struct
import zlib

I64, DOUBLE, BYTES = 2, 5, 6
PLAIN, RLE, DELTA, DICTIONARY = 0, 3, 5, 8
CODECS = {0: lambda data, nbytes: data, 2: lambda data, nbytes: gzip.decompress(data), 6: lambda data, nbytes: unzstd(data, nbytes)}
SIGNED = ((1 << 64) - 1, 1 << 63)


class Wrong(Exception):
    pass


def require(is_right, *what):
    if not is_right:
        raise Wrong(*what)


def unzstd(data, nbytes):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    room = ctypes.create_string_buffer(nbytes + 1)
    found = library.ZSTD_decompress(room, nbytes + 1, bytes(data), len(data))
    require(found <= nbytes, "zstd", found)
    return room.raw[:found]


class Bytes:
    """Bytes that are read from front to back."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, nbytes):
        require(0 <= nbytes <= len(self.data) - self.at, "past the end")
        self.at += nbytes
        return self.data[self.at - nbytes:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            require(shift <= 70, "varint")
            if byte < 0x80:
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def le32(self):
        return struct.unpack("<I", self.take(4))[0]

    def rest(self):
        return self.take(len(self.data) - self.at)


# ---- Thrift ----

def thrift_value(data, kind):
    if kind in (1, 2):
        return kind == 1
    if kind == 3:
        return data.byte()
    if kind in (4, 5, 6):
        return data.zigzag()
    if kind == 8:
        return bytes(data.take(data.varint()))
    if kind == 9:
        head = data.byte()
        count = head >> 4 if head >> 4 < 15 else data.varint()
        return [thrift_value(data, head & 15) for _ in range(count)]
    require(kind == 12, "thrift type", kind)
    return thrift_struct(data)


def thrift_struct(data):
    fields, last = {}, 0
    while (head := data.byte()) != 0:
        number = last + (head >> 4) if head >> 4 else data.zigzag()
        require(number > last, "fields in order", number, last)
        fields[number] = thrift_value(data, head & 15)
        last = number
    return fields


def only(fields, needed, allowed=()):
    require(set(needed) <= set(fields) <= set(needed) | set(allowed), "fields", fields, needed, allowed)


# ---- Encodings ----

def signed(value):
    return ((value & SIGNED[0]) ^ SIGNED[1]) - SIGNED[1]


def unpack(data, count, width):
    number = int.from_bytes(data, "little")
    mask = (1 << width) - 1
    return [number >> i * width & mask for i in range(count)]


def hybrid(data, count, width):
    values = []
    while len(values) < count:
        head = data.varint()
        require(head > 1, "an empty run")
        if head & 1:
            groups = head >> 1
            values += unpack(data.take(groups * width), groups * 8, width)
        else:
            value = int.from_bytes(data.take((width + 7) // 8), "little")
            require(value < 1 << width, "a run's value", value, width)
            values += [value] * (head >> 1)
            require(len(values) <= count, "a run is too long")
    require(len(values) - count < 8 and not any(values[count:]), "padding")
    return values[:count]


def delta(data, count):
    block, per_block, total, value = data.varint(), data.varint(), data.varint(), data.zigzag()
    require(total == count and block % 128 == 0 and block // per_block % 32 == 0, "delta's header")
    values = [signed(value)] if count else []
    while len(values) < count:
        least, widths = data.zigzag(), data.take(per_block)
        size = block // per_block
        for width in widths:
            if len(values) == count:
                require(width == 0, "a width of an unneeded miniblock")
                continue
            for step in unpack(data.take(size * width // 8), size, width):
                if len(values) < count:
                    values.append(signed(values[-1] + least + step))
                else:
                    require(step == 0, "padding")
    return values


def plain(data, count, kind):
    if kind == BYTES:
        return [bytes(data.take(data.le32())) for _ in range(count)]
    return list(struct.unpack(f"<{count}{'d' if kind == DOUBLE else 'q'}", data.take(count * 8)))


# ---- Pages and chunks ----

def page_of(file, codec):
    head = thrift_struct(file)
    only(head, (1, 2, 3, 4), (5, 7))
    packed = file.take(head[3])
    require(zlib.crc32(packed) == head[4] & 0xFFFFFFFF, "crc of a page")
    data = CODECS[codec](packed, head[2])
    require(len(data) == head[2], "size of a page")
    return head, Bytes(data)


def data_page(data, row_count, kind, encoding, dictionary):
    levels = Bytes(data.take(data.le32()))
    has = hybrid(levels, row_count, 1)
    require(levels.rest() == b"", "bytes behind levels")
    count = sum(has)
    if encoding == PLAIN:
        values = plain(data, count, kind)
    elif encoding == DELTA:
        values = delta(data, count)
    else:
        require(encoding == DICTIONARY and dictionary is not None, "encoding", encoding)
        indexes = hybrid(data, count, data.byte())
        require(set(indexes) == set(range(len(dictionary))), "each entry of a dictionary is used")
        values = [dictionary[index] for index in indexes]
    require(data.rest() == b"", "bytes behind values")
    following = iter(values)
    return [next(following) if bit else None for bit in has]


def check_statistics(statistics, values, kind, is_unsigned):
    only(statistics, (3,), (5, 6))
    require(statistics[3] == values.count(None), "null_count")
    values = [value for value in values if value is not None]
    if kind == DOUBLE and any(value != value for value in values) or not values:
        require(5 not in statistics, "a range of nothing, or with NaN")
        return
    if kind == BYTES:
        if max(map(len, values)) <= 64:
            require(statistics[5] == max(values) and statistics[6] == min(values), "range of texts")
        else:
            require(5 not in statistics, "a range of long texts")
        return
    if is_unsigned:
        values = [value & SIGNED[0] for value in values]
    form = "<d" if kind == DOUBLE else "<Q" if is_unsigned else "<q"
    least, greatest = struct.unpack(form, statistics[6])[0], struct.unpack(form, statistics[5])[0]
    require(least == min(values) and greatest == max(values), "range", least, greatest)


def chunk_values(file, chunk, column, row_count):
    only(chunk, (2, 3))
    about = chunk[3]
    only(about, (1, 2, 3, 4, 5, 6, 7, 9, 12), (11,))
    require(about[1] == column[1] and about[3] == [column[4]] and about[5] == row_count, "a chunk's column")
    require(chunk[2] == file.at == about.get(11, about[9]), "chunks follow one another")
    start, dictionary = file.at, None
    if 11 in about:
        head, data = page_of(file, about[4])
        require(head[1] == 2 and head[7][2] == PLAIN, "a dictionary")
        dictionary = plain(data, head[7][1], about[1])
        require(data.rest() == b"" and len(set(map(repr, dictionary))) == len(dictionary), "a dictionary's values")
    require(file.at == about[9], "data_page_offset")
    head, data = page_of(file, about[4])
    only(head[5], (1, 2, 3, 4))
    require(head[1] == 0 and head[5][1] == row_count and head[5][3] == head[5][4] == RLE, "a data page")
    require(set(about[2]) == {RLE, head[5][2]} | ({PLAIN} if dictionary is not None else set()), "encodings")
    values = data_page(data, row_count, about[1], head[5][2], dictionary)
    require(file.at - start == about[7], "total_compressed_size")
    check_statistics(about[12], values, about[1], column.get(6) == 14)
    return values


# ---- The file ----

def python_value(value, column):
    if value is None or column[1] == DOUBLE:
        return value
    if column[1] == BYTES:
        return value.decode()  # must be UTF-8
    return value & SIGNED[0] if column.get(6) == 14 else value


def check_schema(schema):
    root, *columns = schema
    require(root[5] == len(columns), "number of columns")
    for column in columns:
        only(column, (1, 3, 4), (6, 10))
        require(column[3] == 1 and column[1] in (I64, DOUBLE, BYTES), "a column", column)
        logical = {DOUBLE: None, BYTES: {1: {}}}.get(column[1], 0)
        if logical == 0:
            require(column[10] in ({10: {1: 64, 2: True}}, {10: {1: 64, 2: False}}, {8: {1: True, 2: {3: {}}}}), column)
            require((column.get(6) == 14) == (column[10] == {10: {1: 64, 2: False}}), column)
        else:
            require(column.get(10) == logical, column)
    return columns


def read(path, about=None, wanted=None):
    """The columns of a file, or only those that are wanted; 'about', a dictionary, gets what the metadata say."""
    with open(path, "rb") as handle:
        data = memoryview(handle.read())
    require(bytes(data[:4]) == bytes(data[-4:]) == b"PAR1", "magic")
    footer_nbytes = struct.unpack("<I", data[-8:-4])[0]
    start = len(data) - 8 - footer_nbytes
    footer = Bytes(data[start:-8])
    metadata = thrift_struct(footer)
    require(footer.rest() == b"", "bytes behind the metadata")
    only(metadata, (1, 2, 3, 4, 5, 6, 7))
    columns = check_schema(metadata[2])
    require(metadata[7] == [{1: {}}] * len(columns), "column orders")
    file, found = Bytes(data[:start], 4), {column[4].decode(): [] for column in columns}
    for group in metadata[4]:
        only(group, (1, 2, 3, 5, 6))
        begin = file.at
        require(group[5] == begin and len(group[1]) == len(columns) and group[3] > 0, "a row group")
        for chunk, column in zip(group[1], columns):
            if wanted is not None and column[4].decode() not in wanted:
                file.take(chunk[3][7])
                continue
            values = chunk_values(file, chunk, column, group[3])
            found[column[4].decode()] += [python_value(value, column) for value in values]
        require(file.at - begin == group[6], "a row group's size")
    require(file.rest() == b"", "bytes behind the row groups")
    found = {name: values for name, values in found.items() if wanted is None or name in wanted}
    require(all(len(values) == metadata[3] for values in found.values()), "num_rows")
    if about is not None:
        about.update({pair[1].decode(): pair[2].decode() for pair in metadata[5]})
        about["groups"] = [group[3] for group in metadata[4]]
    return found
