# SPDX-License-Identifier: MIT
"""XXH3-64, written from the public description of xxHash: any length, any seed, the default secret.

It serves the independent decoder, and is not fast. Products are summed as big integers and truncated to 64 bits once
per block, which is faster in Python than truncating each of them.
"""
import struct

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MX1, MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def read32(data, at):
    return int.from_bytes(data[at:at + 4], "little")


def read64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def swap(value, nbytes):
    return int.from_bytes(value.to_bytes(nbytes, "little"), "big")


def rotl(value, count):
    return (value << count | value >> (64 - count)) & M64


def fold(a, b):
    product = a * b
    return product & M64 ^ product >> 64


def avalanche(h):
    h = (h ^ h >> 37) * MX1 & M64
    return h ^ h >> 32


def avalanche_xxh64(h):
    h = (h ^ h >> 33) * P64_2 & M64
    h = (h ^ h >> 29) * P64_3 & M64
    return h ^ h >> 32


def mix16(data, at, secret_at, seed):
    return fold(read64(data, at) ^ (read64(SECRET, secret_at) + seed) & M64,
                read64(data, at + 8) ^ (read64(SECRET, secret_at + 8) - seed) & M64)


def hash_0_to_16(data, n, seed):
    if n == 0:
        return avalanche_xxh64(seed ^ read64(SECRET, 56) ^ read64(SECRET, 64))
    if n <= 3:
        combined = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        return avalanche_xxh64(combined ^ ((read32(SECRET, 0) ^ read32(SECRET, 4)) + seed) & M64)
    if n <= 8:
        seed ^= swap(seed & M32, 4) << 32
        flip = ((read64(SECRET, 8) ^ read64(SECRET, 16)) - seed) & M64
        h = (read32(data, n - 4) + (read32(data, 0) << 32)) ^ flip
        h = (h ^ rotl(h, 49) ^ rotl(h, 24)) * MX2 & M64
        h = (h ^ (h >> 35) + n) * MX2 & M64
        return h ^ h >> 28
    low = read64(data, 0) ^ ((read64(SECRET, 24) ^ read64(SECRET, 32)) + seed) & M64
    high = read64(data, n - 8) ^ ((read64(SECRET, 40) ^ read64(SECRET, 48)) - seed) & M64
    return avalanche((n + swap(low, 8) + high + fold(low, high)) & M64)


def hash_17_to_128(data, n, seed):
    acc = n * P64_1
    for i in range((n - 1) // 32 + 1):  # from both ends inward, overlapping in the middle
        acc += mix16(data, 16 * i, 32 * i, seed) + mix16(data, n - 16 * i - 16, 32 * i + 16, seed)
    return avalanche(acc & M64)


def hash_129_to_240(data, n, seed):
    acc = n * P64_1
    for i in range(8):
        acc += mix16(data, 16 * i, 16 * i, seed)
    acc = avalanche(acc & M64)
    for i in range(8, n // 16):
        acc += mix16(data, 16 * i, 16 * (i - 8) + 3, seed)
    return avalanche((acc + mix16(data, n - 16, 136 - 17, seed)) & M64)


def accumulate(acc, words, keys):
    """Adds complete stripes of 8 words; stripe s uses the keys from s on."""
    stripes = len(words) // 8
    for lane in range(8):
        total = acc[lane] + sum(words[lane ^ 1::8])
        for word, key in zip(words[lane::8], keys[lane:lane + stripes]):
            word ^= key
            total += (word & M32) * (word >> 32)
        acc[lane] = total & M64


def hash_long(data, n, seed):
    keys = struct.unpack("<24Q", SECRET)
    keys = [(key - seed if i & 1 else key + seed) & M64 for i, key in enumerate(keys)]
    secret = struct.pack("<24Q", *keys)
    acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    at = 0
    while n - at > 1024:
        accumulate(acc, struct.unpack_from("<128Q", data, at), keys)
        acc = [(h ^ h >> 47 ^ key) * P32_1 & M64 for h, key in zip(acc, keys[16:])]
        at += 1024
    stripes = (n - 1 - at) // 64
    accumulate(acc, struct.unpack_from("<%dQ" % (8 * stripes), data, at), keys)
    accumulate(acc, struct.unpack_from("<8Q", data, n - 64), struct.unpack_from("<8Q", secret, 121))
    merge = struct.unpack_from("<8Q", secret, 11)
    h = n * P64_1
    for i in range(0, 8, 2):
        h += fold(acc[i] ^ merge[i], acc[i + 1] ^ merge[i + 1])
    return avalanche(h & M64)


def xxh3_64(data, seed=0):
    n = len(data)
    if n <= 16:
        return hash_0_to_16(data, n, seed)
    if n <= 128:
        return hash_17_to_128(data, n, seed)
    if n <= 240:
        return hash_129_to_240(data, n, seed)
    return hash_long(data, n, seed)
