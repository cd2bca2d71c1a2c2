"""
The page of 'tracebed view', as a user has it: the real server, and a headless Chromium that is driven over its debugging
protocol. It draws, zooms to single ticks, finds, selects, counts, remembers and links; it is safe from names and from
other pages.

    python3 reader/tests/tools/view_page_test.py

Skipped where Chromium is missing (Debian: chromium).

Check: view-page
Needs: $b/programs $b/reader/tests/tools/view_page_program

SPDX-License-Identifier: MIT
"""

import http.client
import http.server
import json
import re
import subprocess
import sys
import threading

from view_case import (
    CHROMIUM, MS, PROGRAM, View, cases, choose, healthy, look_at, main, module, open_page, pane, record, settle, spot, state, viewed,
    wait_for_state, work)

LARGE_SPANS = 3 * 600 * 1001

# ---- Drawing and moving ----

def test_all_tracks_are_drawn(folder):
    with viewed(folder, work(folder)) as page:
        titles = page.run("[...document.querySelectorAll('.head')].map(head => head.innerText.replace(/\\s+/g, ' '))")
        for wanted in ("demo pid 4711", "main 4711", "worker 1 4712", "worker 2 4713"):
            cases.need(wanted in titles, f"no '{wanted}' among {titles}")
        # 3 compile, 299 times 103 of units, 3 of the haystack
        cases.need(page.run(module("api", "api.sums[0].spans")) == 3 + 299 * 103 + 3, "wrong number of spans")
        colors = page.run("""(() => { const picture = document.getElementById('picture');
            const bytes = picture.getContext('2d').getImageData(0, 0, picture.width, picture.height).data;
            return new Set(new Uint32Array(bytes.buffer)).size; })()""")
        cases.need(colors > 20, f"the picture has only {colors} colors")


def test_a_span_of_one_tick_is_reached_by_keys(folder):
    with View(folder, work(folder)) as view:
        page = open_page(view.address)
        look_at(page, 71 * MS, 72 * MS)
        page.run("document.getElementById('picture').focus()")
        choose(page, "worker 2", 71 * MS + 500000, 1)  # the haystack
        page.wait("document.body.dataset.span === 'haystack'")
        page.key("ArrowDown", shift=True)
        page.wait("document.body.dataset.span === 'needle'")
        page.key("f")
        settle(page)
        page.key("ArrowDown", shift=True)
        page.wait("document.body.dataset.span === 'pin'")
        page.key("f")
        settle(page)
        width = state(page, "view.e - state.state.view.b")
        cases.need(width <= 4, f"zooming to one tick shows {width}")
        page.key("u")
        page.key("u")
        settle(page)
        cases.need(state(page, "view.e - state.state.view.b") == MS, "two steps back are not the view before")
        healthy(page)


def test_keys_move_and_zoom(folder):
    with View(folder, work(folder)) as view:
        page = open_page(view.address)
        page.run("document.getElementById('picture').focus()")
        whole = state(page, "view")
        for key, moved in (("w", lambda a, b: b["e"] - b["b"] < a["e"] - a["b"]), ("d", lambda a, b: b["b"] > a["b"]),
                           ("a", lambda a, b: b["b"] < a["b"]), ("ArrowRight", lambda a, b: b["b"] > a["b"]),
                           ("ArrowLeft", lambda a, b: b["b"] < a["b"]), ("+", lambda a, b: b["e"] - b["b"] < a["e"] - a["b"]),
                           ("-", lambda a, b: b["e"] - b["b"] > a["e"] - a["b"]), ("s", lambda a, b: b["e"] - b["b"] > a["e"] - a["b"])):
            before = state(page, "view")
            page.key(key)
            after = state(page, "view")
            cases.need(moved(before, after), f"key {key}: {before} to {after}")
        page.key("0")
        cases.need(state(page, "view") == whole, "0 does not show everything")
        page.key("?")
        page.wait("document.getElementById('help').open")
        page.key("Escape")
        page.wait("!document.getElementById('help').open")
        settle(page)
        healthy(page)


def test_mouse_and_wheel_move_and_zoom(folder):
    with View(folder, work(folder)) as view:
        page = open_page(view.address)
        x, y = spot(page, "main", 50 * MS, 0)
        page.wheel(x, y, delta_y=-300, control=True)
        wait_for_state(page, "it.view.e - it.view.b < 60e6")
        settle(page)
        near = page.run(module("draw", f"draw.timeAt({x} - document.getElementById('picture').getBoundingClientRect().left)"))
        cases.need(abs(near - 50 * MS) < MS, f"what was under the pointer went away: {near}")
        begin = state(page, "view.b")
        page.drag(x, y, x - 100, y)
        cases.need(state(page, "view.b") > begin, "dragging to the left does not move to the right")
        page.click(*spot(page, "main", 50 * MS + 600000, 2), clicks=2)
        wait_for_state(page, "it.view.e - it.view.b < 1e6")
        settle(page)
        healthy(page)


def test_tracks_collapse_move_and_are_filtered(folder):
    titles = "[...document.querySelectorAll('.head.leaf bdi')].map(head => head.textContent).filter(title => /main|worker/.test(title)).join()"
    with viewed(folder, work(folder)) as page:
        cases.need(page.run(titles) == "main,worker 1,worker 2", page.run(titles))
        page.run("document.querySelector('.head.leaf button').focus()")
        page.key("ArrowDown", alt=True)
        page.wait(f"{titles} === 'worker 1,main,worker 2'")
        page.run("document.querySelector('.head.process button').click()")
        page.wait("document.querySelectorAll('.head.leaf').length === 0 || !document.querySelector('.head.leaf bdi').textContent.includes('worker')")
        page.run("document.querySelector('.head.process button').click()")
        page.run("document.getElementById('tracks-filter').focus()")
        page.type("worker 2")
        page.wait(f"{titles} === 'worker 2'")
        settle(page)


# ---- Selecting, searching, counting ----

def test_a_span_shows_what_it_is(folder):
    with View(folder, work(folder)) as view:
        page = open_page(view.address)
        look_at(page, 71 * MS, 72 * MS)
        choose(page, "worker 1", 71 * MS + 990000 - 200000, 2)  # generate
        page.wait("document.body.dataset.span === 'generate'")
        text = pane(page)
        for wanted in ("generate", "387.0 µs", "worker 1", "unit", "compile", "299 calls"):
            cases.need(wanted in text, f"no '{wanted}' in: {text}")
        page.key("Escape")
        choose(page, "worker 1", 71 * MS + 990000 - 20000, 1)  # unit, beside what is in it
        page.wait("document.body.dataset.span === 'unit'")
        cases.need(re.search(r"number\s+70", pane(page)), f"no argument in: {pane(page)}")
        page.key(".")
        wait_for_state(page, "it.selected?.b > 71.5e6")
        page.key("l")
        page.key(",")
        settle(page)
        healthy(page)


def test_search_finds_marks_and_steps(folder):
    with View(folder, work(folder)) as view:
        page = open_page(view.address)
        page.run("document.getElementById('picture').focus()")
        page.key("/")
        page.type("needle")
        page.wait("document.body.dataset.hits === '1'")
        page.key("Enter")
        page.wait("document.body.dataset.span === 'needle'")
        cases.need(state(page, "selected.b") == 71 * MS + 100000, "the hit is elsewhere")
        page.run("document.getElementById('search').select(); document.getElementById('search-regex').click()")
        page.run("document.getElementById('search').focus()")
        page.type("^(hay|pi)")
        page.wait("document.body.dataset.hits === '2'")
        page.run("document.getElementById('picture').focus()")
        page.key("n")
        page.wait("document.body.dataset.span === 'haystack'")
        page.key("n")
        page.wait("document.body.dataset.span === 'pin'")
        page.key("N", shift=True)
        page.wait("document.body.dataset.span === 'haystack'")
        page.run("document.getElementById('search-regex').click(); document.getElementById('search').select()")
        page.run("document.getElementById('search').focus()")
        page.type("unused")
        page.wait("document.body.dataset.hits === '12'")  # messages
        healthy(page)


def test_a_range_has_a_table_a_histogram_and_a_flame_graph(folder):
    with View(folder, work(folder)) as view:
        page = open_page(view.address)
        look_at(page, 10 * MS, 20 * MS)
        x0, y = spot(page, "main", 12 * MS, 0)
        x1, _ = spot(page, "main", 14 * MS, 0)
        page.drag(x0, y, x1, y, shift=True)
        page.wait("document.querySelector('#pane tbody tr')")
        length = state(page, "range.e - state.state.range.b")
        cases.need(abs(length - 2 * MS) < MS / 20, f"the range has {length}")
        rows = page.run("[...document.querySelectorAll('#pane .wide tbody tr')].map(row => row.innerText.split('\\t')[0].trim())")
        cases.need({"unit", "parse", "token", "generate", "compile"} <= set(rows), f"the table has {rows}")
        page.run("[...document.querySelectorAll('#pane th button')].find(head => head.textContent === 'Count').click()")
        first = page.run("document.querySelector('#pane .wide tbody td').textContent.trim()")
        cases.need(first == "token", f"by count, {first} is first")
        page.run("document.querySelector('#pane .wide tbody button').click()")
        page.wait("document.querySelector('#histogram canvas')")
        for key, wanted in (("3", "#flame"), ("4", ".tree tbody tr")):
            page.run("document.getElementById('picture').focus()")
            page.key(key)
            page.wait(f"document.querySelector('#pane {wanted}')")
        tree = pane(page)
        cases.need("compile" in tree and "unit" in tree, f"the call tree has: {tree}")
        healthy(page)


def large(folder):
    source = folder / "source.c"
    source.write_text("one\ntwo\n<b>three</b>\nfour\n")
    record(folder, "large", "large.tbed", source)
    return "large.tbed"


def spot_of_joined(page, is_sampled):
    """Where several spans that are drawn as one are, the widest of them; sampled are those whose number is not known."""
    return page.run(f"""Promise.all(['api', 'draw', 'state', 'tracks'].map(name => import(new URL(name + '.js', location)))).then(([api, draw, state, tracks]) => {{
        let best = null;
        for (const row of tracks.rows.filter(row => row.kind === 'thread')) {{
            const {{ parts }} = api.pictures.get(api.pictureKey(0, row.s)).now;
            for (let at = 0; at < parts.length; at += 8)
                if ({'parts[at + 3] === 0' if is_sampled else 'parts[at + 3] > 1'} && parts[at + 2] > (best?.wide ?? 0))
                    best = {{ row, depth: parts[at], middle: parts[at + 1] + parts[at + 2] / 2, wide: parts[at + 2] }};
        }}
        if (best === null)
            return null;
        const box = document.getElementById('picture').getBoundingClientRect();
        return [box.left + draw.placeOf(state.shared(0, best.middle)),
            box.top + best.row.y - document.getElementById('scroll').scrollTop + best.row.strip + (best.depth + 0.5) * best.row.spanHeight];
    }})""")


def tip_at(page, x, y):
    page.move(x, y)
    return page.wait("!document.getElementById('tip').hidden && document.getElementById('tip').innerText")


HOLD_EXACT = """(() => { const ask = window.fetch; window.fetch = async (address, ...others) => {
    if (String(address).includes('sketch=0'))
        await new Promise(resolve => { window.release = resolve; });
    return ask(address, ...others);
}; })()"""


def test_a_large_window_is_sampled_first_and_then_exact(folder):
    with viewed(folder, large(folder)) as page:
        cases.need(state(page, "files[0].block_count") > 300, "there are too few blocks")
        whole = page.run(module("api", "api.sums[0].spans"))
        cases.need(whole == LARGE_SPANS, f"{whole} spans")
        page.run(HOLD_EXACT)
        page.run(module("state", "state.setView(state.state.view.b, state.state.view.e - 10, { isSmooth: false })"))
        page.wait("window.release !== undefined && document.body.dataset.state === 'sketch'")
        place = spot_of_joined(page, True)
        cases.need(place, "nothing is sampled")
        text = tip_at(page, *place)
        cases.need(text.startswith("Spans") and "at least" in text and "sampled" in text, f"not said to be sampled: {text}")
        page.click(*place)
        page.wait("document.getElementById('pane').innerText.includes('samples; the exact picture follows')")
        page.run("window.release()")
        page.wait("document.body.dataset.state === 'exact'")
        cases.need(spot_of_joined(page, True) is None, "something is still sampled")
        text = tip_at(page, *spot_of_joined(page, False))
        cases.need(re.match(r"[\d,. \u202f]+ spans", text) and "sampled" not in text, f"it is not exact: {text}")
        cases.need(page.run(module("api", "api.sums[0].isExact")), "the answer is not exact")


def test_who_moves_on_does_not_wait_for_flows(folder):
    """Before flows are asked for, some time passes; here it never does."""
    with viewed(folder, work(folder)) as page:
        cases.need(state(page, "files[0].has.flows"), "there are no flows")
        page.run("(start => { window.setTimeout = (call, ms, ...rest) => ms >= 100 ? 0 : start(call, ms, ...rest); })(window.setTimeout)")
        ticks = state(page, "files[0].ticks")
        for part in (2, 3, 4):
            look_at(page, ticks // 10 * part, ticks // 10 * (10 - part))
            page.wait(module("api", f"api.sums[0].e < {ticks // 10 * (11 - part)} && api.sums[0].isExact"))


def test_only_names_that_match_are_shown(folder):
    with viewed(folder, work(folder)) as page:
        page.run("document.getElementById('only').focus()")
        page.type("^(unit|parse)$")
        page.key("Enter")
        page.wait(module("api", "api.sums[0]?.spans === 2 * 299"))
        settle(page)
        page.run("document.getElementById('picture').focus()")
        page.key("2")
        page.wait("document.querySelectorAll('#pane .wide tbody tr').length === 2")
        page.run("(() => { const only = document.getElementById('only'); only.value = ''; only.dispatchEvent(new Event('change')); })()")
        page.wait(module("api", "api.sums[0]?.spans > 2 * 299"))
        settle(page)


def test_memory_has_a_table_and_a_flame_graph(folder):
    with viewed(folder, large(folder)) as page:
        page.run("document.getElementById('picture').focus()")
        page.key("5")
        for of in ("peak", "live", "leaks"):
            for by in ("site", "stack", "function", "flame"):
                page.run(f"""for (const [label, value] of [['Which memory', '{of}'], ['Grouping', '{by}']]) {{
                    const choice = document.querySelector(`#pane select[aria-label="${{label}}"]`); choice.value = value; choice.dispatchEvent(new Event('change')); }}""")
                page.wait("document.querySelector('#pane #flame')" if by == "flame" else "document.querySelector('#pane tbody tr')")
                text = pane(page)
                cases.need(re.search("1[.]72 MiB|1[.]717 MiB|1,?800", text), f"{of} by {by}: {text}")
                cases.need(by == "flame" or "grow" in text, f"{of} by {by}: {text}")


def test_allocations_without_spans_begin_with_the_memory(folder):
    cases.output_of(folder, cases.TRACEBED, "record", "-o", "memory.tbed", sys.executable, "-S", "-c", "a = [bytes(1000) for i in range(2000)]")
    with View(folder, "memory.tbed") as view:
        page = open_page(view.address)
        page.wait("document.querySelector('#pane tbody tr')")
        cases.need("Allocated by" in pane(page), pane(page))
        cases.need("tab=" not in page.run("location.hash"), "the address has the tab that is shown anyway")
        page.key("1")
        wait_for_state(page, "it.tab === 'span'")
        page.wait("location.hash.includes('tab=span')")
        address = page.run("location.href")
        page.close()
        page = open_page(address)
        wait_for_state(page, "it.tab === 'span'")
        healthy(page)


def test_the_source_of_a_span_is_shown(folder):
    with viewed(folder, large(folder)) as page:
        page.run("document.getElementById('search').focus()")
        page.type("found")
        page.wait("Number(document.body.dataset.hits) === 1800")
        page.key("Enter")
        page.wait("document.querySelector('#pane .source .here')")
        here = page.run("document.querySelector('#pane .source .here').innerText")
        cases.need(re.fullmatch(r"3\s*<b>three</b>", here), f"the line is {here!r}")
        cases.need("source.c:3" in pane(page), pane(page))
        (folder / "source.c").unlink()
        page.run("document.getElementById('search').blur()")  # there, 'n' is a letter
        begin = re.search(r"Begin\s+(.*)", pane(page)).group(1)
        page.key("n")
        page.wait(f"document.body.dataset.span === 'found' && !document.querySelector('#pane').innerText.includes({json.dumps(begin)})"
                  " && document.querySelector('#pane .source') === null")
        cases.need("source.c:3" in pane(page), pane(page))


def test_bookmarks_and_links_restore_everything(folder):
    with View(folder, work(folder)) as view:
        page = open_page(view.address)
        look_at(page, 71 * MS, 72 * MS)
        choose(page, "worker 2", 71 * MS + 500000, 1)
        page.wait("document.body.dataset.span === 'haystack'")
        page.key("b")
        page.type("look, here: <b>&=#")
        page.run("document.getElementById('theme').click(); document.querySelector('.head.leaf button').click()")
        page.wait("location.hash.includes('closed') && location.hash.includes('look')")
        there = page.run("location.hash")
        other = open_page(view.address + there)
        settle(other)
        for what in ("view", "selected.b", "bookmarks", "theme", "tab"):
            cases.need(state(page, what) == state(other, what), f"{what}: {state(page, what)}, then {state(other, what)}")
        cases.need(state(other, "collapsed.size") == 1, "the collapsed track is open")
        cases.need(other.run("document.documentElement.dataset.theme") == "dark", "it is not dark")
        cases.need(state(other, "bookmarks[0].note") == "look, here: <b>&=#", "the note has changed")
        healthy(page)
        healthy(other)


# ---- Several, growing ----

def test_two_traces_are_aligned_at_chosen_spans(folder):
    with View(folder, work(folder), work(folder, "later.tbed", 5000)) as view:
        page = open_page(view.address, height=1400)
        settle(page)
        files = page.run("[...document.querySelectorAll('.head.file bdi')].map(head => head.textContent)")
        cases.need(files == ["work.tbed", "later.tbed"], f"files {files}")
        look_at(page, 10 * MS, 12 * MS)
        choose(page, "main", 10 * MS + 990000 - 20000, 1, 0)
        page.wait("document.body.dataset.span === 'unit'")
        page.key("x")
        choose(page, "main", 11 * MS + 990000 - 20000, 1, 1)
        page.wait(module("state", "state.state.selected?.f === 1"))
        page.wait("document.body.dataset.span === 'unit'")
        page.key("x")
        page.wait(module("state", "state.state.shifts[1] !== 0"))
        one, other = 10 * MS + 1000, page.run(module("state", "state.shared(1, state.state.selected.b)"))
        cases.need(abs(one - other) < 1, f"{one} and {other} are not aligned")
        settle(page)
        page.run("document.activeElement.blur()")
        page.key("3")
        page.wait("document.querySelector('#pane select[aria-label=\"Compare with\"]')")
        page.run("(() => { const choice = document.querySelector('#pane select[aria-label=\"Compare with\"]'); choice.value = '1'; choice.dispatchEvent(new Event('change')); })()")
        page.wait("document.querySelector('#flame')")
        healthy(page)


def test_differences_have_a_call_tree(folder):
    with viewed(folder, work(folder), work(folder, "later.tbed", 5000)) as page:
        page.run("document.getElementById('picture').focus()")
        page.key("4")
        page.wait("document.querySelector('#pane select[aria-label=\"Compare with\"]')")
        page.run("(() => { const choice = document.querySelector('#pane select[aria-label=\"Compare with\"]'); choice.value = '1'; choice.dispatchEvent(new Event('change')); })()")
        page.wait("[...document.querySelectorAll('#pane th')].some(head => head.textContent === 'Change')")
        page.wait("[...document.querySelectorAll('#pane .tree tbody tr')].some(row => row.innerText.includes('unit') && /[+−]/.test(row.innerText))")


# ---- Damaged, killed, overwritten ----

def gap_tip(page, what):
    """What the page says where the first gap of this kind is, after going there."""
    gap = page.run(module("api", f"api.extras[0].gaps.find(gap => gap.what === '{what}')"))
    cases.need(gap, f"no gap of this kind: {what}")
    x, y = page.run(f"""Promise.all(['draw', 'state', 'tracks'].map(name => import(new URL(name + '.js', location)))).then(([draw, state, tracks]) => {{
        const row = tracks.rows.find(row => row.kind === 'thread' && ({gap['s'] if gap['s'] is not None else 'row.s'} === row.s));
        const box = document.getElementById('picture').getBoundingClientRect();
        const places = [{gap['b']}, {gap['e']}].map(tick => Math.min(box.width - 1, Math.max(0, draw.placeOf(state.shared(0, tick)))));
        return [box.left + (places[0] + places[1]) / 2, box.top + row.y - document.getElementById('scroll').scrollTop + row.height - 2]; }})""")
    page.move(x, y)
    return page.wait("!document.getElementById('tip').hidden && document.getElementById('tip').innerText")


def test_gaps_are_shown_with_what_is_missing(folder):
    for name, what in (("valid/lost", "lost"), ("valid/ring", "overwritten"), ("invalid/BLOCK_CUT-killed", "damaged")):
        with View(folder, cases.ROOT / f"spec/golden/{name}.tbed") as view:
            page = open_page(view.address)
            settle(page)
            text = gap_tip(page, what)
            cases.need(what in text and len(text) > len(what) + 10, f"{name}: {text}")
            facts = pane(page)
            cases.need(("its program was killed" in facts) == ("killed" in name), f"{name}: {facts}")
            cases.need(re.search(r"Damage\s+(none|\d+ places?)", facts), f"{name}: {facts}")
            healthy(page)


def test_a_killed_and_damaged_trace_is_shown(folder):
    with subprocess.Popen([PROGRAM, "live", "killed.tbed"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as program:
        program.stdout.readline()
        program.kill()
    path = folder / large(folder)
    data = bytearray(path.read_bytes())
    at = len(data) // 2 // 8192 * 8192 + 2000
    data[at:at + 100] = b"\xff" * 100
    path.write_bytes(data)
    with viewed(folder, "killed.tbed", "large.tbed") as page:
        facts = pane(page)
        cases.need("its program was killed" in facts, facts)
        spans = page.run(module("api", "api.sums.map(sum => sum.spans)"))
        cases.need(spans[0] == 500 and 0 < spans[1] < LARGE_SPANS, f"{spans} spans")
        cases.need(page.run(module("api", "api.sums[1].bad")) == 1, "no damaged block")
        page.wait("document.getElementById('quality').textContent.includes('1 damaged block')")


def test_a_live_trace_grows_as_one_watches(folder):
    with subprocess.Popen([PROGRAM, "live", "live.tbed"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as program:
        program.stdout.readline()
        with View(folder, "live.tbed") as view:
            page = open_page(view.address)
            before = state(page, "files[0].ticks")
            spans = page.run(module("api", "api.sums[0].spans"))
            program.stdin.write(b"more")
            page.wait(module("state", f"state.state.files[0].ticks > {before}"))
            page.wait(module("api", f"api.sums[0].spans >= {spans} + 2000"))
            settle(page)
            program.stdin.close()
            page.wait(module("state", "state.state.files[0].is_live === false"))
            healthy(page)


# ---- Looks ----

def brightness(page):
    return page.run("""(() => { const picture = document.getElementById('picture');
        return picture.getContext('2d').getImageData(picture.width - 3, picture.height - 3, 1, 1).data[0]; })()""")


def test_dark_and_light_follow_the_system_and_the_switch(folder):
    with View(folder, work(folder)) as view:
        page = open_page(view.address, dark=True)
        settle(page)
        page.wait("document.documentElement.dataset.theme === 'dark'")
        cases.need(brightness(page) < 80, "the picture is not dark")
        page.dark(False)
        page.wait("document.documentElement.dataset.theme === 'light'")
        page.run("document.getElementById('picture').focus()")
        page.key("t")
        page.wait("document.documentElement.dataset.theme === 'dark'")
        page.key("t")
        page.wait("document.documentElement.dataset.theme === 'light'")
        healthy(page)


def test_colors_have_contrast_in_both_themes(folder):
    script = """import(new URL('text.js', location)).then(text => ['light', 'dark'].map(theme => {
        text.setColors(theme);
        const channel = value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        const luminance = color => color.map(value => channel(value / 255)).reduce((all, value, index) => all + value * [0.2126, 0.7152, 0.0722][index], 0);
        const least = [];
        for (let number = 0; number < 2000; number++) {
            const { fill, text: ink } = text.colorOf('name ' + number);
            const back = luminance(fill.match(/\\d+/g).map(Number)), front = ink === '#fff' ? 1 : luminance([16, 20, 27]);
            least.push((Math.max(back, front) + 0.05) / (Math.min(back, front) + 0.05));
        }
        return Math.min(...least);
    }))"""
    with View(folder, work(folder)) as view:
        page = open_page(view.address)
        least = page.run(script)
        cases.need(min(least) >= 4.5, f"text on spans has a contrast of only {least}")
        healthy(page)
    return f"at least {min(least):.1f}"


def test_it_is_usable_at_200_percent(folder):
    with View(folder, work(folder)) as view:
        page = open_page(view.address, width=640, height=480, scale=2)
        settle(page)
        boxes = page.run("""['picture', 'ruler', 'search', 'help-open', 'pane'].map(id => { const box = document.getElementById(id).getBoundingClientRect();
            return [id, box.left >= 0 && box.right <= innerWidth + 1 && box.top >= 0 && box.top < innerHeight && box.height > 20]; })""")
        cases.need(all(fits for _, fits in boxes), f"out of sight: {boxes}")
        cases.need(page.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window")
        healthy(page)


def test_everything_has_a_name_for_screen_readers(folder):
    script = """[...document.querySelectorAll('button, input, select, canvas, [role=tabpanel], [tabindex]')].filter(one =>
        !(one.getAttribute('aria-label') || one.innerText?.trim() || one.labels?.length)).map(one => one.outerHTML)"""
    with viewed(folder, work(folder)) as page:
        unnamed = page.run(script)
        cases.need(not unnamed, f"without a name: {unnamed}")
        seen = set()
        for _ in range(60):
            page.key("Tab")
            seen.add(page.run("document.activeElement.id || document.activeElement.dataset.tab || document.activeElement.className"))
        for wanted in ("search", "only", "depths", "picture", "splitter", "span", "pane", "theme", "tracks-filter"):
            cases.need(wanted in seen, f"Tab does not reach {wanted}; it reaches {sorted(seen)}")


# ---- Safety ----

HOSTILE = ["<img src=x onerror=window.hacked=1>", "<script>window.hacked=1</script>", "</title><script>window.hacked=1</script>",
           "\"><svg onload=window.hacked=1>", "' onmouseover='window.hacked=1", "javascript:window.hacked=1", "${window.hacked=1}", "{{constructor}}",
           "__proto__", "constructor", "toString", "\u202eright to left\u202c", "\u2067isolated", "مرحبا بالعالم", "שלום עולם", "👩‍👩‍👧‍👦 family",
           "\U0001f469\u200d\U0001f680", "a\nb\tc\rd", "\x1b[31mred\x1b[0m", "\x01\x02\x03\x7f", "\u200b\ufeff\u00ad", "e" + "\u0301" * 200, "%s%n%p", "../../etc/passwd",
           "&lt;b&gt;&amp;", "<!--", "]]>", "\\u003cscript\\u003e", "\u2028\u2029", "'; DROP TABLE spans; --", "x" * 1000000, " ", "#v=1,2&s=0"]


def test_names_are_harmless(folder):
    run = subprocess.run([PROGRAM, "names", "names.tbed"], cwd=folder, input="\0".join(HOSTILE).encode() + b"\0", check=False)
    cases.need(run.returncode == 0 and len(HOSTILE) >= 30, "no trace of names")
    with viewed(folder, "names.tbed") as page:
        elements = "document.querySelectorAll('script, img, svg, iframe, object, a').length"
        before = page.run(elements)
        streams = page.run(module("state", "state.state.files[0].tracks.map(track => track.s)"))
        for number, stream in enumerate(streams):
            page.run("Promise.all(['details'].map(name => import(new URL(name + '.js', location)))).then(([details]) => "
                     f"details.goTo(0, {{ s: {stream}, b: {(number + 1) * MS}, e: {(number + 2) * MS - 10}, depth: 0 }}))")
            page.wait("document.body.dataset.span !== undefined")
            page.move(*spot_of_stream(page, stream))
        for key in "2346":
            page.run("document.getElementById('picture').focus()")
            page.key(key)
            settle(page)
        page.wait("!document.getElementById('pane').innerText.includes('Counting')")
        cases.need(page.run(elements) == before, "a name became markup")
        cases.need(page.run("window.hacked") is None, "a name was run")
        shown = page.run("document.body.innerText")
        for character in "\x1b\x01\u202e\u2067\u200b\ufeff":
            cases.need(character not in shown, f"U+{ord(character):04X} is in the page as it is")
        page.run("document.getElementById('search').focus()")
        page.type("<script>")
        page.wait("Number(document.body.dataset.hits) >= 2")


def spot_of_stream(page, stream):
    return page.run(f"""import(new URL('tracks.js', location)).then(tracks => {{ const row = tracks.rows.find(row => row.s === {stream});
        const box = document.getElementById('picture').getBoundingClientRect();
        return [box.left + box.width / 2, box.top + row.y - document.getElementById('scroll').scrollTop + row.strip + row.spanHeight / 2]; }})""")


class OtherOrigin(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>another page</title>")

    def log_message(self, *_):
        pass


def test_another_page_cannot_read_anything(folder):
    script = """(async () => { const read = [];
        for (const path of ['', 'trace', 'main.js', 'window?f=0&b=0&e=1000&w=10&depth=1&max=10&sketch=0&seq=1']) {
            for (const mode of ['cors', 'no-cors'])
                try { read.push((await (await fetch(ADDRESS + path, { mode })).text()).slice(0, 40)); } catch {}
            try { await new Promise((resolve, reject) => { const one = document.createElement('script'); one.src = ADDRESS + path; one.type = 'module';
                one.onload = resolve; one.onerror = reject; document.head.append(one); }); read.push('script ' + path); } catch {}
        }
        const frame = document.createElement('iframe'); frame.src = ADDRESS; document.body.append(frame);
        await new Promise(resolve => { frame.onload = resolve; });
        try { read.push(frame.contentDocument.title ?? ''); } catch {}
        return read.filter(text => text); })()"""
    with View(folder, work(folder)) as view:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherOrigin)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            page = CHROMIUM.page()
            for host in ("127.0.0.1", "localhost"):
                page.open(f"http://{host}:{server.server_port}/")
                page.wait(f"document.title === 'another page' && location.hostname === '{host}'")
                read = page.run(script.replace("ADDRESS", f"'{view.address}'"))
                cases.need(not read, f"a page of {host} could read {read}")
            page.close()
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def test_a_wrong_token_host_or_origin_is_refused(folder):
    with View(folder, work(folder)) as view:
        good = f"/{view.token}/trace"
        cases.need(view.status(good)[0] == 200, "the right token is refused")
        wrong = ("0" if view.token[-1] != "0" else "1").join([view.token[:-1], ""])
        for path in ("/", "/trace", f"/{wrong}/", f"/{wrong}/trace", f"/{view.token[:-1]}/trace", f"/{view.token.upper()}x/trace", "//"):
            status, text = view.status(path)
            cases.need(status == 403 and len(text) < 200, f"{path}: {status} {text!r}")
        for headers in ({"Host": "example.org"}, {"Host": f"example.org:{view.port}"}, {"Origin": "http://example.org"}, {"Origin": "null"},
                        {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}):
            status, text = view.status(good, **headers)
            cases.need(status == 403 and len(text) < 200, f"{headers}: {status} {text!r}")
        page = CHROMIUM.page()
        page.open(view.address.replace(view.token, wrong))
        page.wait("document.body && document.body.innerText.length > 0")
        cases.need(page.run("document.querySelector('#picture') === null"), "the page is there with a wrong token")
        page.close()


if __name__ == "__main__":
    sys.exit(main(globals()))
