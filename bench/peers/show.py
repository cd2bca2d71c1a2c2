"""
The table and the plot of bench/peers_bench.py.

SPDX-License-Identifier: MIT
"""

import math
import statistics
from xml.sax.saxutils import escape

TABLE = "build/peers/peers.md"
PLOT = "build/peers/peers.svg"
PUBLISHED_PLOT = "bench/peers.svg"
README = "bench/README.md"
MARKS = ("<!-- peers: begin -->\n", "<!-- peers: end -->\n")

HEAD = ["What", "ns/event", "beyond the clock", "Ratio", "Min", "Max", "Elapsed", "All processes", "Bytes/event"]


def median(result, key):
    return statistics.median(found[key] for found in result["rounds"])


def ratios(result):
    return sorted(found["thread"] / found["clock"] for found in result["rounds"])


def beyond(result):
    return statistics.median(found["thread"] - found["clock"] for found in result["rounds"])


def short(count):
    return f"{count / 1e6:.1f} M" if count >= 1e6 else f"{count / 1e3:.0f} k" if count >= 10_000 else f"{count:,}"


def killed(result):
    """Returns the worst loss. A reader may find an event or two whose recording call had not returned."""
    if not result["records"]:
        return "–"
    if not result["kills"]:
        return "not measured"
    done, found = max(result["kills"], key=lambda kill: kill[0] - kill[1])
    if found >= done:
        return "lost nothing"
    spared = sum(1 for kill in result["kills"] if kill[1] >= kill[0])
    lost = f"lost {'**all** of' if found == 0 else f'{done - found:,} of'} {short(done)}"
    return lost + (f", nothing {spared} times" if spared else "")


def sorted_results(results):
    return sorted(results, key=lambda result: (not result["is_limit"], median(result, "thread")))


# ---- The table ----


def row(result):
    each = ratios(result)
    cells = [result["label"], f"{median(result, 'thread'):.2f}", f"{beyond(result):.2f}"]
    cells += [f"{ratio:.3f}" for ratio in (statistics.median(each), each[0], each[-1])]
    cells += [f"{median(result, 'elapsed'):.2f}", f"{median(result, 'total'):.2f}"]
    cells += [f"{median(result, 'nbytes'):.2f}" if result["records"] else "–", killed(result)]
    return cells


def line(cells):
    return "| " + " | ".join(cells) + " |\n"


def table(found):
    low, middle, high = found["load"]
    text = f"{found['events'] / 1e6:g} million events a run, {found['rounds']} rounds; {found['processor']}, "
    text += f"{found['system']}; load average {low:.1f} to {high:.1f}, median {middle:.1f}.\n\n"
    kills = max((len(result["kills"]) for result in found["peers"]), default=0)
    text += line([*HEAD, f"SIGKILL, the worst of {kills}"]) + "|---" * (len(HEAD) + 1) + "|\n"
    measured = [result for result in found["peers"] if result["rounds"]]
    text += "".join(line(row(result)) for result in sorted_results(measured))
    for result in found["peers"]:
        if not result["rounds"]:
            why = result.get("problem") or "; ".join(sorted(set(result.get("problems", ["not measured"]))))
            text += line([result["label"], why] + ["–"] * (len(HEAD) - 1))
    text += "\nHow each was configured:\n\n"
    for result in found["peers"]:
        if result["told"]:
            version = f" ({result['version']})" if result.get("version") else ""
            text += f"- {result['label']}{version}: {result['told']}.\n"
    troubled = [result for result in found["peers"] if result["rounds"] and result.get("problems")]
    for result in troubled:
        text += f"- {result['label']}, runs that do not count: {len(result['problems'])}; {result['problems'][0]}.\n"
    return text


# ---- The plot ----

WIDTH, LEFT, RIGHT, TOP, STEP, BAR = 1000, 280, 330, 64, 34, 20
OURS, OTHERS, PALE, INK, GREY = "#0b7a75", "#7a8699", "#c9d0da", "#1d2733", "#5d6878"


class Scale:
    """Converts nanoseconds to x, logarithmically."""

    def __init__(self, largest):
        self.low, self.high = 5, largest * 1.25

    def x(self, value):
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def ticks(self):
        steps = (base * 10**power for power in range(6) for base in (1, 2, 5))
        return [step for step in steps if self.low <= step <= self.high]


def text_at(x, y, what, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(what)}</text>\n'


def axis(scale, bottom):
    out = ""
    for tick in scale.ticks():
        x = scale.x(tick)
        out += f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom}" stroke="#e6e9ee"/>\n'
        out += text_at(x, bottom + 16, str(tick), f'text-anchor="middle" fill="{GREY}"')
    more = f'text-anchor="middle" fill="{GREY}"'
    return out + text_at((LEFT + WIDTH - RIGHT) / 2, bottom + 34, "CPU nanoseconds per event, logarithmic", more)


def bar(scale, result, y):
    thread, total = median(result, "thread"), median(result, "total")
    is_ours = result["key"].startswith("tracebed")
    out = ""
    for value, color, height in ((total, PALE, BAR), (thread, OURS if is_ours else OTHERS, BAR - 8)):
        width = max(scale.x(value) - LEFT, 1)
        top = y + (BAR - height) / 2
        out += f'<rect x="{LEFT}" y="{top:.1f}" width="{width:.1f}" height="{height}" fill="{color}"/>\n'
    weight = ' font-weight="600"' if is_ours else ""
    label = result["label"].replace("`", "")
    out += text_at(LEFT - 10, y + 15, label, f'text-anchor="end" fill="{INK}"{weight}')
    told = [f"{thread:.1f} ns", f"{statistics.median(ratios(result)):.2f} x"]
    if result["records"]:
        told += [f"{median(result, 'nbytes'):.1f} B", killed(result).replace("*", "").partition(", nothing")[0]]
    return out + text_at(max(scale.x(max(thread, total)), LEFT) + 8, y + 15, " · ".join(told), f'fill="{INK}"{weight}')


def plot(found):
    results = sorted_results([result for result in found["peers"] if result["rounds"]])
    limit = next((result for result in results if result["is_limit"]), None)
    shown = [result for result in results if not result["is_limit"]]
    if not shown:
        return ""
    scale = Scale(max(max(median(result, "thread"), median(result, "total")) for result in shown))
    bottom = TOP + STEP * len(shown)
    out = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 46}" '
    out += 'font-family="system-ui, sans-serif" font-size="12">\n'
    out += "<!-- SPDX-License-Identifier: MIT; made by ./run bench peers -->\n"
    out += f'<rect width="{WIDTH}" height="{bottom + 46}" fill="white"/>\n' + axis(scale, bottom)
    out += text_at(16, 22, "What recording an event costs", f'font-size="15" font-weight="600" fill="{INK}"')
    legend = "dark: the recording thread; pale: all threads and processes; then bytes on disk; after SIGKILL"
    out += text_at(16, 40, legend, f'fill="{GREY}"')
    out += "".join(bar(scale, result, TOP + STEP * index + 6) for index, result in enumerate(shown))
    if limit is not None:
        value = median(limit, "clock")
        x = scale.x(value)
        out += f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom}" '
        out += 'stroke="#c2410c" stroke-dasharray="4 3"/>\n'
        out += text_at(x, TOP - 10, f"the limit: the clock, {value:.1f} ns", 'text-anchor="middle" fill="#c2410c"')
    return out + "</svg>\n"


# ---- Writing them ----


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def publish(text, drawing):
    with open(README, encoding="utf-8") as file:
        before, _, rest = file.read().partition(MARKS[0])
        _, mark, after = rest.partition(MARKS[1])
    if not mark:
        raise SystemExit(f"peers_bench: the marks are missing in {README}")
    write(README, before + MARKS[0] + text + MARKS[1] + after)
    write(PUBLISHED_PLOT, drawing)


def show(found, is_published):
    text, drawing = table(found), plot(found)
    write(TABLE, text)
    write(PLOT, drawing)
    if is_published:
        publish(text, drawing)
    print(f"\n{text}\nThe plot: {PUBLISHED_PLOT if is_published else PLOT}")
