#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the pictures of 'view --png' against an oracle that shares no code with them.

    pictures_test.py [CASE...]

A picture is decoded by hand. Each track of a random trace is drawn alone, with random options of a filter: a span that is wide
enough has the color of its label in the middle of its line, every pixel that a span reaches is drawn, and every other pixel is
background. The colors are computed here once more.

Check: pictures
Needs: $b/tracebed $b/reader/tests/agreement/agreement_program $b/reader/tests/agreement/hostile_names_program
Needs: $b/reader/tests/tools/view_page_program
"""
import functools
import json
import math
import os
import pathlib
import random
import stat
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import agreement_test as views
import cases
import filters_test
import oracle
from cases import need

SEED_COUNT = 160 if views.IS_LONG else 14
PROGRAMS = cases.BUILD / "reader/tests/agreement"
LINE_HEIGHT, PAD_BELOW, RIGHT = 18, 5, 16
GAPPED_WIDTH = 4  # a span as wide as this leaves its last pixel free
THEMES = {
    False: {"back": 0xffffff, "line": 0xd9dde3, "raised": 0xf5f6f8, "shades": ((0.79, 0.1), (0.85, 0.08), (0.74, 0.11))},
    True: {"back": 0x14171c, "line": 0x2b313b, "raised": 0x1b1f26, "shades": ((0.46, 0.1), (0.52, 0.09), (0.4, 0.09))},
}


# ---- Pictures ----

def nearest(left, up, corner):
    guess = left + up - corner
    to_left, to_up, to_corner = abs(guess - left), abs(guess - up), abs(guess - corner)
    return left if to_left <= to_up and to_left <= to_corner else up if to_up <= to_corner else corner


def unfilter(kind, line, above):
    """A line of a PNG with 3 bytes a pixel."""
    out = bytearray(line)
    if kind == 2:
        return bytes((byte + up) & 255 for byte, up in zip(out, above))
    for i, up in enumerate(above):
        left, corner = (out[i - 3], above[i - 3]) if i >= 3 else (0, 0)
        added = left if kind == 1 else (left + up) // 2 if kind == 3 else nearest(left, up, corner)
        out[i] = out[i] + added & 255
    return bytes(out)


class Picture:
    def __init__(self, data):
        need(data[:8] == b"\x89PNG\r\n\x1a\n", "not a PNG")
        at, packed, kinds = 8, b"", []
        while at < len(data):
            nbytes, kind = struct.unpack_from(">I4s", data, at)
            body = data[at + 8:at + 8 + nbytes]
            crc, = struct.unpack_from(">I", data, at + 8 + nbytes)
            need(crc == zlib.crc32(kind + body), f"chunk {kind} has a wrong checksum")
            kinds.append(kind)
            if kind == b"IHDR":
                self.width, self.height, *form = struct.unpack(">IIBBBBB", body)
                need(form == [8, 2, 0, 0, 0], f"not 8 bits of red, green and blue: {form}")
            packed += body if kind == b"IDAT" else b""
            at += 12 + nbytes
        need(kinds[0] == b"IHDR" and kinds[-1] == b"IEND", f"chunks {kinds}")
        raw, above, self.lines = zlib.decompress(packed), bytes(3 * self.width), []
        need(len(raw) == self.height * (3 * self.width + 1), "not as many pixels as it says")
        for y in range(self.height):
            start = y * (3 * self.width + 1)
            line = raw[start + 1:start + 1 + 3 * self.width]
            above = line if raw[start] == 0 else unfilter(raw[start], line, above)
            self.lines.append(above)

    def at(self, x, y):
        return int.from_bytes(self.lines[y][3 * x:3 * x + 3], "big")


# ---- Colors ----

def hash_of(text):
    value = 0x811c9dc5
    units = text.encode("utf-16-le")
    for unit, in struct.iter_unpack("<H", units):
        value = (value ^ unit) * 0x01000193 & 0xffffffff
    value ^= value >> 16
    return value * 0x45d9f3b & 0xffffffff


def rgb_of(lightness, chroma, hue):
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
    linear = (4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
              -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s)
    if chroma > 0.01 and any(part < -0.001 or part > 1.001 for part in linear):
        return rgb_of(lightness, chroma - 0.01, hue)
    bright = [12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055
              for part in (max(0, min(1, part)) for part in linear)]
    return sum(math.floor(255 * part + 0.5) << shift for part, shift in zip(bright, (16, 8, 0)))


def color_of(label, is_dark):
    key = hash_of(label) % 108
    return rgb_of(*THEMES[is_dark]["shades"][key % 3], key // 3 * math.pi / 18)


def is_near(one, other):
    """Rounding may differ by one."""
    return all(abs((one >> shift & 255) - (other >> shift & 255)) <= 1 for shift in (0, 8, 16))


# ---- What has to be there ----

class Track:
    """The picture of one stream."""

    def __init__(self, picture, is_dark, first, last, begin, end):
        self.picture, self.theme, self.is_dark = picture, THEMES[is_dark], is_dark
        self.left = math.floor(max(110, min(240, 0.16 * picture.width)))
        self.width = picture.width - self.left - RIGHT
        self.begin = min(max(begin, first), last)
        self.end = min(end if end is not None else last, last)
        self.end = max(self.end, self.begin + 1)
        heads = [picture.at(3, y) for y in range(picture.height)]  # beside their texts
        need(self.theme["raised"] in heads, "there is no track")
        self.top = heads.index(self.theme["raised"])
        self.bottom = heads.index(self.theme["line"], self.top) + 1
        self.grid = self.mixed(self.theme["back"], self.theme["line"], 0.6)

    def is_free(self, pixel):
        return pixel == self.theme["back"] or is_near(pixel, self.grid)

    @staticmethod
    def mixed(below, above, weight):
        parts = ((below >> shift & 255, above >> shift & 255, shift) for shift in (0, 8, 16))
        return sum(round(one + (other - one) * weight) << shift for one, other, shift in parts)

    def x(self, tick):
        share = 0 if tick <= self.begin else 1 if tick >= self.end else (tick - self.begin) / (self.end - self.begin)
        return self.left + share * self.width

    def pixels(self, span):
        """The first pixel of a span, that behind its last, and that behind the last that it touches."""
        begin = min(span.begin, span.end)
        most = self.left + self.width
        first = min(math.floor(self.x(begin) + 1e-6), most - 1)
        behind = max(min(math.floor(self.x(span.end) + 1e-6), most), first + 1)
        return first, behind, max(min(math.ceil(self.x(span.end) - 1e-6), most), behind)

    def depths_of(self, spans, depth_max):
        """A list of spans for each depth."""
        depths, found = {}, []
        for span, parent in oracle.nest(spans):
            depths[id(span)] = depth = depths[id(parent)] + 1 if parent is not None else 0
            if depth < depth_max:
                found += [[] for _ in range(depth + 1 - len(found))]
                found[depth].append(span)
        return found

    def check_line(self, spans, y, what):
        state = ["free"] * (self.width + 1)
        wide = 0
        for span in spans:
            first, behind, touched = self.pixels(span)
            for x in range(first, touched):
                at = x - self.left
                is_sure = x < behind - (behind - first >= GAPPED_WIDTH) and behind - first >= GAPPED_WIDTH
                state[at] = "drawn" if is_sure or state[at] == "drawn" else "perhaps"
        for x in range(self.left, self.left + self.width):
            pixel = self.picture.at(x, y)
            if state[x - self.left] == "free":
                need(self.is_free(pixel), f"{what}: pixel {x} is {pixel:06x}, but no span is there")
            elif state[x - self.left] == "drawn":
                need(not self.is_free(pixel), f"{what}: pixel {x} is {pixel:06x}, but a span is there")
        for span in spans:
            first, behind, _ = self.pixels(span)
            middle = (first + behind) // 2
            if behind - first < GAPPED_WIDTH or span.label is None or self.others_at(spans, span, middle):
                continue
            pixel, wanted = self.picture.at(middle, y), color_of(span.label, self.is_dark)
            need(is_near(pixel, wanted), f"{what}: {span.label!r} at {middle} is {pixel:06x}, not {wanted:06x}")
            wide += 1
        return wide

    def others_at(self, spans, span, x):
        """Spans of one depth overlap if they do not nest."""
        return any(first <= x < touched for other in spans if other is not span
                   for first, _, touched in [self.pixels(other)])

    def check(self, spans, depth_max, what):
        lines, wide = self.depths_of(spans, depth_max), 0
        strip = self.bottom - self.top - PAD_BELOW - LINE_HEIGHT * max(len(lines), 1)
        need(strip in (4, 9), f"{what}: {len(lines)} depths take the lines {self.top} to {self.bottom}")
        for depth, line in enumerate(lines):
            wide += self.check_line(line, self.top + strip + LINE_HEIGHT * depth + 1, f"{what}, depth {depth}")
        return wide


# ---- Running ----

def run(*words, **more):
    return subprocess.run([str(cases.TRACEBED), "view", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                          check=False, **more)


def why_not():
    """What is missing to draw; None if nothing is."""
    golden = sorted((cases.ROOT / "spec/golden/valid").iterdir())[0]
    done = run("--png", "-", golden)
    text = done.stderr.decode()
    is_missing = done.returncode == 2 and ("libcairo" in text or "libfontconfig" in text or "finds no font" in text)
    return text.splitlines()[0] if is_missing else None


MISSING = why_not()


def draws(test):
    """A case that needs cairo."""
    @functools.wraps(test)
    def case(folder):
        return f"skipped: {MISSING}" if MISSING is not None else test(folder)
    return case


def draw(*words, told=b""):
    """The bytes of a picture of an intact trace. 'told': what is said besides."""
    done = run("--png", "-", *words)
    need(done.returncode == 0 and done.stderr == told, f"{words}: exit status {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


def told_by_report(*words):
    """Which categories and names nothing has."""
    return subprocess.run([cases.TRACEBED, "report", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True).stderr


def info_of(path):
    return json.loads(subprocess.run([cases.TRACEBED, "info", "--json", path], capture_output=True, check=True).stdout)


def record(folder, seed, words):
    path = str(folder / f"{seed}.tbed")
    subprocess.run([PROGRAMS / "agreement_program", str(seed), path, *words.split()], check=True)
    return path


# ---- Cases ----

def whole_part(chance, facts):
    """Ticks that the program makes up begin late, which would leave no room for spans."""
    part = filters_test.Part(chance, facts)
    part.end = part.streams = part.regex = part.exclude = part.categories = part.inside = None
    part.begin, part.minimum = min(min(span.begin, span.end) for spans in facts.streams.values() for span in spans), 0
    part.words = [f"--begin={part.begin}{part.unit}"]
    return part


def check_part(chance, path, part):
    """The number of spans that are wide enough to have a color."""
    info, facts, wide = info_of(path), oracle.read(path), 0
    options = [word for word in part.words if not word.startswith("--stream")]
    part.streams = None
    part.apply(facts)
    depth, is_dark, width = chance.choice((1, 3, 32, 64)), chance.random() < 0.5, chance.randrange(400, 900)
    for number, spans in facts.streams.items():
        words = [f"--stream={number}", f"--width={width}", "--height=8192", f"--depth={depth}",
                 *(["--dark"] if is_dark else []), *options, path]
        picture = Picture(draw(*words, told=told_by_report(f"--stream={number}", *options, path)))
        need(picture.width == width, f"{words}: {picture.width} pixels wide")
        if spans:
            track = Track(picture, is_dark, info["first_tick"], info["last_tick"], part.begin, part.end)
            wide += track.check(spans, depth, " ".join(words))
    return wide


@draws
def test_every_span_of_random_traces_is_where_the_oracle_has_it(folder):
    wide = 0
    for seed in range(SEED_COUNT):
        chance = random.Random(seed)
        path = record(folder, seed, filters_test.PROGRAMS[seed % len(filters_test.PROGRAMS)])
        for choose in (whole_part, filters_test.Part):
            wide += check_part(chance, path, choose(chance, oracle.read(path)))
        os.remove(path)
    need(wide > 40 * SEED_COUNT, f"only {wide} spans were wide enough to have a color")
    return f"{wide} spans wide enough"


@draws
def test_asynchronous_spans_and_flows_are_drawn(folder):
    path = folder / "work.tbed"
    subprocess.run([cases.BUILD / "reader/tests/tools/view_page_program", "work", path, "0"], check=True)
    info, picture = info_of(path), Picture(draw(path))
    done = subprocess.run([cases.TRACEBED, "flows", "--slowest", "--json", "-l", "20", path], capture_output=True, check=True)
    flows = json.loads(done.stdout)["slowest"]
    track = Track(picture, False, info["first_tick"], info["last_tick"], info["first_tick"], None)
    spans = [(track.x(flow["begin_ns"]), track.x(flow["begin_ns"] + flow["duration_ns"])) for flow in flows if flow["kind"] == "async"]
    need(len(spans) == 12, f"{len(spans)} asynchronous spans")
    for begin, end in spans:
        right = math.floor(end) - 3  # of its name
        lines = sum(is_near(picture.at(right, y), color_of("download", False)) for y in range(track.top, picture.height))
        wanted = sum(one <= begin and end <= other for one, other in spans)
        need(lines // (LINE_HEIGHT - 1) == wanted, f"at {right}, {wanted} spans have {lines} lines")
    job = next(flow for flow in flows if flow["kind"] == "flow")
    ends = track.x(job["begin_ns"]), track.x(job["begin_ns"] + job["duration_ns"])
    blue = [x for x in range(track.left, track.left + track.width)
            if any(is_near(picture.at(x, y), 0x1f5fd6) for y in range(track.top, picture.height))]
    need(blue and ends[0] - 16 < min(blue) and max(blue) < ends[1] + 16, f"the arrows take {blue}, not {ends}")


@draws
def test_one_thread_draws_the_same_bytes_as_two(folder):
    path = record(folder, 3, "given others")
    need(draw("-j1", path) == draw("-j2", path), "pictures differ")


@draws
def test_a_picture_is_a_file_that_is_not_replaced_without_force(folder):
    path, out = record(folder, 5, "given"), folder / "out.png"
    os.chmod(path, 0o640)
    need(run("--png", out, path).returncode == 0, "no picture")
    need(out.read_bytes() == draw(path), "standard output has another picture")
    need(stat.S_IMODE(out.stat().st_mode) & 0o007 == 0, "others may read the picture, but not the trace")
    out.write_bytes(b"old")
    done = run("--png", out, path)
    need(done.returncode == 2 and b"--force" in done.stderr and out.read_bytes() == b"old", f"replaced: {done}")
    need(run("-f", "--png", out, path).returncode == 0 and out.read_bytes() == draw(path), "not replaced with --force")


@draws
def test_what_fails_leaves_no_file(folder):
    path, out = record(folder, 5, "given"), folder / "out.png"
    for words in (["--thread=nobody", path], [folder / "none.tbed"], ["-b", "5", "-e", "4", path], ["-n", "(", path]):
        done = run("--png", out, *words)
        need(done.returncode == 2 and done.stderr != b"", f"{words}: exit status {done.returncode}")
    need(sorted(each.name for each in folder.iterdir()) == ["5.tbed"], "something is left")
    need(run("--png", path, path, "-f").returncode == 2 and info_of(path)["damage"] == 0, "the trace was overwritten")


def test_options_that_do_not_apply_are_refused(folder):
    path = record(folder, 5, "given")
    for words in (["--width=800"], ["--height=800"], ["--depth=3"], ["--dark"], ["-f"], ["--png", "-", "--port=8000"],
                  ["--png", "-", "--no-browser"], ["--png", "-", "--width=399"], ["--png", "-", "--width=8193"],
                  ["--png", "-", "--height=0"], ["--png", "-", "--depth=0"], ["--png", "-", "--depth=x"], ["--png", ""]):
        done = run(*words, path, timeout=60)
        need(done.returncode == 2 and b"tracebed view -h" in done.stderr and done.stdout == b"", f"{words}: {done}")


@draws
def test_without_a_font_there_is_a_message_instead_of_boxes(folder):
    path, config = record(folder, 5, "given"), folder / "fonts.conf"
    config.write_text("<?xml version='1.0'?><!DOCTYPE fontconfig SYSTEM 'fonts.dtd'><fontconfig></fontconfig>")
    done = run("--png", folder / "out.png", path, env={**os.environ, "FONTCONFIG_FILE": str(config)})
    need(done.returncode == 2 and b"fonts-dejavu-core" in done.stderr, f"{done}")
    need(not (folder / "out.png").exists(), "there is a picture")


@draws
def test_damage_is_drawn_and_gives_exit_status_1(folder):
    path = pathlib.Path(record(folder, 7, "given"))
    clean, data = Picture(draw("--width=800", path)), bytearray(path.read_bytes())
    offset = next(at for at in range(4096, len(data), 4096) if data[at:at + 4] != bytes(4) and at > 2 * 4096)
    data[offset + 200] ^= 0x55
    path.write_bytes(data)
    done = run("--png", "-", "--width=800", path)
    need(done.returncode == 1 and b"damaged" in done.stderr, f"{done.returncode} {done.stderr}")
    need(Picture(done.stdout).lines != clean.lines, "damage does not show")


@draws
def test_golden_files_are_drawn_or_refused(folder):
    del folder
    golden = cases.ROOT / "spec/golden"
    for path in sorted([*(golden / "valid").iterdir(), *(golden / "invalid").iterdir()]):
        if not path.is_file():
            continue
        done = run("--png", "-", "--width=500", "--height=300", "--no-symbols", path)
        need(done.returncode in (0, 1, 2), f"{path}: exit status {done.returncode}\n{done.stderr.decode()}")
        is_drawn = done.stdout[:8] == b"\x89PNG\r\n\x1a\n" and done.stdout[-8:-4] == b"IEND"
        need(is_drawn if done.returncode < 2 else done.stderr != b"" and done.stdout == b"",
             f"{path}: exit status {done.returncode}, {len(done.stdout)} bytes of a picture")


NAMES = ("plain", "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627", "\u202eabc\u202c", "\u2066\u2067", "\x1b[31mred\x07", "tab\tline\nreturn\r",
         "emoji \U0001f600\U0001f468\u200d\U0001f469", "Z" + "\u0301\u0323" * 90, "\ufffe\uffff\U0010ffff\ufdd0", "<b>&amp;</b>", "%s%n%1000000d",
         "x" * 2 ** 20, "\U0001f600" * 50, "\u20ac" * 67, "y" * 199 + "\u20ac", "label\x1eargument", "\x1e", " ", "\u3000wide\u3000", "\xad\u200b")


@draws
def test_hostile_names_stay_in_their_spans(folder):
    path = folder / "names.tbed"
    lines = "".join(name.encode().hex() + "\n" for name in NAMES) + "ff80\nc3\n"
    subprocess.run([PROGRAMS / "hostile_names_program", path], input=lines.encode(), check=True)
    whole = Picture(draw("--height=4000", path))
    need(whole.height > 22 * len(NAMES), "tracks are missing")
    for number, stream in enumerate(info_of(path)["streams"]):
        picture = Picture(draw(f"--stream={stream['stream']}", "--width=500", "-e", "9us", path))
        track = Track(picture, False, 0, 5000, 0, None)
        name = NAMES[number] if number < len(NAMES) else None
        label = name.split("\x1e")[0] if name is not None else None
        if label is not None and len(label.encode()) > 65535:
            label = "<too long>"
        elif label is not None and len(label.encode()) > 200:
            label = label.encode()[:200].decode(errors="ignore") + "\u2026"
        span = oracle.Span(label, 1000, 5000)
        track.check([span], 9, f"name {number}")
        first, _, _ = track.pixels(span)
        for y in range(track.top + 10, track.bottom - 1):
            need(all(track.is_free(picture.at(x, y)) for x in range(track.left, first)), f"name {number}: line {y} has text")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
