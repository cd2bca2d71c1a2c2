# SPDX-License-Identifier: MIT
"""Decodes Zstandard frames, written from RFC 8878 alone. It serves the independent decoder of packed traces.

decompress() takes frames and skippable frames in a row, as the program zstd does. Dictionaries are not supported. Whatever
the input is, the result is the content or a ValueError, and memory is bounded by the size that the caller allows.

A bit stream is a string of '0' and '1' in the order in which its bits are read. That is slow, but short and plain.
"""
from xxh3 import P64_1, P64_2, P64_3, P64_4, P64_5, M64, avalanche_xxh64, read32, read64, rotl

MAGIC, SKIPPABLE = 0xFD2FB528, 0x184D2A5
BLOCK_MAX = 128 << 10
HUFFMAN_BITS_MAX, WEIGHT_LOG_MAX = 11, 6
RAW, RLE, COMPRESSED = 0, 1, 2  # blocks, and literals; literals also:
TREELESS = 3
PREDEFINED, ONE_SYMBOL, FSE, REPEAT = range(4)  # how a table of the sequences is given

# The value of a code, and the number of bits that are added to it (section 3.1.1.3.2.1.1).
LENGTHS = [(value, 0) for value in range(16)] + [(16, 1), (18, 1), (20, 1), (22, 1), (24, 2), (28, 2), (32, 3), (40, 3),
                                                 (48, 4)] + [(1 << bits, bits) for bits in range(6, 17)]
MATCHES = [(value + 3, 0) for value in range(32)] + [(35, 1), (37, 1), (39, 1), (41, 1), (43, 2), (47, 2), (51, 3), (59, 3),
                                                     (67, 4), (83, 4), (99, 5)] + [((1 << bits) + 3, bits) for bits in range(7, 17)]
OFFSETS = [(1 << bits, bits) for bits in range(32)]
# What a code means, the highest accuracy of its table, and the accuracy and distribution of the predefined table.
LENGTH_CODE = (LENGTHS, 9, 6, [4, 3] + [2] * 11 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4)
OFFSET_CODE = (OFFSETS, 8, 5, [1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5)
MATCH_CODE = (MATCHES, 9, 6, [1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7)


def need(holds, what):
    if not holds:
        raise ValueError(what)


def xxh64(data):
    """XXH64 with the seed 0."""
    def step(acc, word):
        return rotl(acc + word * P64_2 & M64, 31) * P64_1 & M64

    n, at = len(data), 0
    h = P64_5
    if n >= 32:
        acc = [(P64_1 + P64_2) & M64, P64_2, 0, -P64_1 & M64]
        for at in range(0, n - 31, 32):
            acc = [step(acc[i], read64(data, at + 8 * i)) for i in range(4)]
        at += 32
        h = sum(map(rotl, acc, (1, 7, 12, 18))) & M64
        for each in acc:
            h = ((h ^ step(0, each)) * P64_1 + P64_4) & M64
    h = h + n & M64
    while n - at >= 8:
        h = (rotl(h ^ step(0, read64(data, at)), 27) * P64_1 + P64_4) & M64
        at += 8
    if n - at >= 4:
        h = (rotl(h ^ read32(data, at) * P64_1 & M64, 23) * P64_2 + P64_3) & M64
        at += 4
    for byte in data[at:]:
        h = rotl(h ^ byte * P64_5 & M64, 11) * P64_1 & M64
    return avalanche_xxh64(h)


# ---- Reading ----

class Bytes:
    """Bytes to be taken from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, nbytes):
        need(nbytes <= self.left(), "the data ends too early")
        self.at += nbytes
        return self.data[self.at - nbytes:self.at]

    def number(self, nbytes):
        return int.from_bytes(self.take(nbytes), "little")


def backward_bits(data):
    """Returns the bits of a stream that is read from its end: after the highest 1 of its last byte."""
    need(data and data[-1], "a bit stream has no end")
    return bin(int.from_bytes(data, "little"))[3:]


class Bits:
    """The bits of a stream that is read from its end, and the next of them."""

    def __init__(self, data):
        self.bits, self.at = backward_bits(data), 0

    def take(self, count):
        """Returns a number; bits after the last are 0."""
        self.at += count
        taken = self.bits[self.at - count:self.at]
        return int(taken, 2) << (count - len(taken)) if taken else 0

    def are_over(self):
        return self.at > len(self.bits)

    def need_all_taken(self):
        need(self.at == len(self.bits), "a bit stream has another size than its content")


# ---- FSE (section 4.1) ----

def read_distribution(source, log_max, symbols_max):
    """Returns (accuracy log, [probability of a symbol; -1 is less than 1])."""
    start = source.data[source.at:source.at + 512]  # the longest has fewer bits
    value, at = int.from_bytes(start, "little"), 4
    log = (value & 15) + 5
    need(log <= log_max, "an FSE table is too large")
    left, odds = 1 << log, []
    while left > 0:
        need(len(odds) < symbols_max, "an FSE table has too many symbols")
        count = (left + 1).bit_length()
        small, bits = (1 << count) - 2 - left, value >> at & (1 << count) - 1
        half = 1 << (count - 1)
        if bits & (half - 1) < small:
            bits, count = bits & (half - 1), count - 1
        elif bits >= half:
            bits -= small
        at += count
        odds.append(bits - 1)
        left -= abs(bits - 1)
        zeros = 3 if bits == 1 else 0
        while zeros == 3:
            zeros = value >> at & 3
            at += 2
            odds += [0] * zeros
            need(len(odds) <= symbols_max, "an FSE table has too many symbols")
    need(left == 0, "the probabilities of an FSE table have a wrong sum")
    source.take((at + 7) // 8)
    return log, odds


def make_table(log, odds):
    """Returns [(symbol, number of bits, base)]: the next state is base + the bits."""
    size = 1 << log
    rare = [symbol for symbol, odd in enumerate(odds) if odd < 0]
    symbols = [0] * (size - len(rare)) + rare[::-1]
    step, at = (size >> 1) + (size >> 3) + 3, 0
    for symbol, odd in enumerate(odds):
        for _ in range(odd):
            symbols[at] = symbol
            at = at + step & size - 1
            while at >= size - len(rare):
                at = at + step & size - 1
    following, table = [abs(odd) for odd in odds], []
    for symbol in symbols:
        state = following[symbol]
        following[symbol] += 1
        count = log + 1 - state.bit_length()
        table.append((symbol, count, (state << count) - size))
    return table


# ---- Huffman (section 4.2) ----

def read_weights(data):
    """Decodes weights with two states that take turns, until the bits are used up."""
    source = Bytes(data)
    log, odds = read_distribution(source, WEIGHT_LOG_MAX, 256)
    table, bits, weights = make_table(log, odds), Bits(source.take(source.left())), []
    state, other = bits.take(log), bits.take(log)
    need(not bits.are_over(), "the Huffman weights are cut")
    while True:
        symbol, count, base = table[state]
        weights.append(symbol)
        need(len(weights) < 255, "there are too many Huffman weights")
        state, other = other, base + bits.take(count)
        if bits.are_over():
            return weights + [table[state][0]]


def read_tree(source):
    """Returns (the longest code's size, {bits: (symbol, the size of its code)}) for all bits of that size."""
    head = source.number(1)
    if head < 128:
        weights = read_weights(source.take(head))
    else:
        pairs = source.take((head - 126) // 2)
        weights = [nibble for byte in pairs for nibble in (byte >> 4, byte & 15)][:head - 127]
    total = sum(1 << weight >> 1 for weight in weights)
    need(total, "a Huffman tree has no symbols")
    longest = total.bit_length()
    rest = (1 << longest) - total
    need(longest <= HUFFMAN_BITS_MAX and not rest & rest - 1, "the Huffman weights have a wrong sum")
    weights.append(rest.bit_length())
    need(1 in weights, "no symbol of a Huffman tree has the longest code")
    codes = [(symbol, longest + 1 - weight) for weight in range(1, longest + 1)
             for symbol, its in enumerate(weights) if its == weight for _ in range(1 << weight >> 1)]
    return longest, {format(i, "0%db" % longest): code for i, code in enumerate(codes)}


def huffman_stream(tree, data, size):
    longest, codes = tree
    bits = backward_bits(data)
    content, end, at = bytearray(), len(bits), 0
    bits += "0" * longest
    while at < end:
        symbol, count = codes[bits[at:at + longest]]
        content.append(symbol)
        at += count
    need(at == end and len(content) == size, "a Huffman stream has another size than its content")
    return content


def huffman_streams(tree, data, size, count):
    if count == 1:
        return huffman_stream(tree, data, size)
    source, each = Bytes(data), (size + 3) // 4
    need(size >= 6, "literals are too short for four streams")
    sizes = [source.number(2) for _ in range(3)]
    content = bytearray()
    for nbytes in sizes:
        content += huffman_stream(tree, source.take(nbytes), each)
    return content + huffman_stream(tree, source.take(source.left()), size - 3 * each)


# ---- Blocks (section 3.1.1.3) ----

class Frame:
    """What one block leaves to the next, and the content so far."""

    def __init__(self, size_max, block_max):
        self.content, self.size_max, self.block_max = bytearray(), size_max, block_max
        self.tree, self.tables, self.offsets = None, [None] * 3, [1, 4, 8]

    def add(self, data):
        self.content += data
        need(len(self.content) <= self.size_max, "the content is larger than expected")


def read_literals(frame, source):
    head = source.number(1)
    kind, form = head & 3, head >> 2 & 3
    if kind in (RAW, RLE):
        size = head >> 3
        if form & 1:
            size = head >> 4 | source.number(form // 2 + 1) << 4
        need(size <= frame.block_max, "there are too many literals")
        return source.take(size) if kind == RAW else source.take(1) * size
    width = (10, 10, 14, 18)[form]
    sizes = head >> 4 | source.number((2, 2, 3, 4)[form]) << 4
    size, nbytes = sizes & (1 << width) - 1, sizes >> width
    need(size <= frame.block_max, "there are too many literals")
    source = Bytes(source.take(nbytes))
    if kind == COMPRESSED:
        frame.tree = read_tree(source)
    need(frame.tree, "there is no Huffman tree to use again")
    return bytes(huffman_streams(frame.tree, source.take(source.left()), size, 4 if form else 1))


def read_table(source, mode, last, code):
    meanings, log_max, log, odds = code
    if mode == PREDEFINED:
        return make_table(log, odds)
    if mode == ONE_SYMBOL:
        symbol = source.number(1)
        need(symbol < len(meanings), "a code has no meaning")
        return [(symbol, 0, 0)]
    if mode == FSE:
        return make_table(*read_distribution(source, log_max, len(meanings)))
    need(last, "there is no table to use again")
    return last


def read_sequence_count(source):
    count = source.number(1)
    if count < 128:
        return count
    return source.number(2) + 0x7F00 if count == 255 else (count - 128 << 8) + source.number(1)


def take_offset(recent, value, length):
    """Returns the offset that a value means, and moves it to the front of the recent ones."""
    if value > 3:
        recent.insert(0, value - 3)
    else:
        index = value - (length != 0)
        recent.insert(0, recent[0] - 1 if index == 3 else recent[index])
        need(recent[0] > 0, "an offset is 0")
        if index < 3:
            del recent[index + 1]
    del recent[3:]
    return recent[0]


def copy_match(content, offset, length):
    need(offset <= len(content), "an offset points before the content")
    start = len(content) - offset
    if offset >= length:
        content += content[start:start + length]
    else:
        content += (content[start:] * (length // offset + 1))[:length]


def read_sequences(frame, source, count):
    """Yields (number of literals, offset, length of the match)."""
    modes = source.number(1)
    need(modes & 3 == 0, "a reserved bit is set")
    for i, code in enumerate((LENGTH_CODE, OFFSET_CODE, MATCH_CODE)):
        frame.tables[i] = read_table(source, modes >> (6 - 2 * i) & 3, frame.tables[i], code)
    lengths, offsets, matches = frame.tables
    bits = Bits(source.take(source.left()))
    length_state, offset_state, match_state = (bits.take(len(table).bit_length() - 1) for table in frame.tables)
    for left in range(count - 1, -1, -1):
        length_step, offset_step, match_step = lengths[length_state], offsets[offset_state], matches[match_state]
        offset, match, length = OFFSETS[offset_step[0]], MATCHES[match_step[0]], LENGTHS[length_step[0]]
        value, match_length = offset[0] + bits.take(offset[1]), match[0] + bits.take(match[1])
        literal_count = length[0] + bits.take(length[1])
        need(not bits.are_over(), "the sequences are cut")
        yield literal_count, take_offset(frame.offsets, value, literal_count), match_length
        if left:
            length_state = length_step[2] + bits.take(length_step[1])
            match_state = match_step[2] + bits.take(match_step[1])
            offset_state = offset_step[2] + bits.take(offset_step[1])
    bits.need_all_taken()


def read_compressed(frame, data):
    source = Bytes(data)
    literals, at = read_literals(frame, source), 0
    count, end = read_sequence_count(source), len(frame.content) + frame.block_max
    for literal_count, offset, length in read_sequences(frame, source, count) if count else ():
        need(at + literal_count <= len(literals), "a sequence needs more literals than there are")
        need(len(frame.content) + literal_count + length <= end, "a block is too large")
        frame.content += literals[at:at + literal_count]
        at += literal_count
        copy_match(frame.content, offset, length)
    need(count or not source.left(), "a block has bytes after its end")
    need(len(frame.content) + len(literals) - at <= end, "a block is too large")
    frame.add(literals[at:])


def read_block(frame, source):
    """Returns whether it was the last one."""
    head = source.number(3)
    kind, size = head >> 1 & 3, head >> 3
    need(kind <= COMPRESSED, "a block has an unknown type")
    need(size <= frame.block_max, "a block is too large")
    if kind == RLE:
        frame.add(source.take(1) * size)
    elif kind == RAW:
        frame.add(source.take(size))
    else:
        read_compressed(frame, source.take(size))
    return head & 1


# ---- Frames (section 3.1.1) ----

def read_frame(source, size_max):
    head = source.number(1)
    need(not head & 8, "a reserved bit is set")
    is_single, has_checksum = head & 32, head & 4
    window = 0 if is_single else source.number(1)
    need(not source.number((0, 1, 2, 4)[head & 3]), "a dictionary is needed")
    width = (1 if is_single else 0, 2, 4, 8)[head >> 6]
    size = source.number(width) + (256 if width == 2 else 0)
    need(size <= size_max, "the content is larger than expected")
    need(window >> 3 <= 21, "the window is too large")
    window = size if is_single else (8 + (window & 7)) << (7 + (window >> 3))
    frame = Frame(size if width else size_max, min(window, BLOCK_MAX))
    while not read_block(frame, source):
        pass
    need(not width or len(frame.content) == size, "the content is smaller than expected")
    if has_checksum:
        need(source.number(4) == xxh64(frame.content) & 0xFFFFFFFF, "the checksum does not match")
    return frame.content


def decompress_frame(data, size):
    """Returns the content of the only frame in 'data', which must have 'size' bytes, or raises ValueError."""
    source = Bytes(bytes(data))
    need(source.number(4) == MAGIC, "this is no Zstandard frame")
    content = bytes(read_frame(source, size))
    need(len(content) == size, "the content is smaller than expected")
    need(not source.left(), "there are bytes after the frame")
    return content


def decompress(data, size_max):
    """Returns the content of all frames in 'data', or raises ValueError if it is invalid or larger than 'size_max'."""
    source, content = Bytes(bytes(data)), bytearray()
    while source.left():
        magic = source.number(4)
        if magic >> 4 == SKIPPABLE:
            source.take(source.number(4))
            continue
        need(magic == MAGIC, "this is no Zstandard frame")
        content += read_frame(source, size_max - len(content))
    return bytes(content)
