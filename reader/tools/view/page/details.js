// The panel of the selected span: what it is, its place among all calls of its name, its callers, its source.
// SPDX-License-Identifier: MIT
import { ask, Cancelled } from "./api.js";
import { changed, on, perTick, reveal, select, selectRange, shared, state, zoomTo } from "./state.js";
import { byId, bytes, count, duration, element, labelOf, moment, nameElement, percent, plural, say, swatch, visible } from "./text.js";
import { showStream } from "./tracks.js";

let knownSpan = null; // {key, answer}: what the server said of the selected span
let pendingSpan = null;

function keyOf(span) {
    return `${span.f}:${span.s}:${span.b}:${span.depth ?? "id" + span.id}`;
}

/** Selects a span of an answer, and shows it. */
export function goTo(f, span) {
    if (!span)
        return;
    select({ kind: "span", f, s: span.s, b: span.b, e: span.e, depth: span.depth ?? undefined, count: 1, id: span.id, name: labelOf(span.name ?? "") });
    reveal(shared(f, span.b), shared(f, span.e));
    showStream(f, span.s, span.depth ?? 0);
}

// ---- Small parts ----

function factList(pairs) {
    return element("dl", {}, ...pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
        .flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, ...[value].flat())]));
}

function threadName(f, s) {
    const track = state.files[f].tracks.find(one => one.s === s);
    return track ? nameElement(track.name || `${track.kind} ${track.tid ?? track.s}`) : String(s);
}

function placeInCode(answer) {
    if (!answer.file && !answer.function)
        return null;
    return [answer.function ? nameElement(answer.function) : null, answer.function && answer.file ? " at " : null,
        answer.file ? nameElement(answer.file + (answer.line ? ":" + answer.line : "")) : null].filter(part => part);
}

async function showWholeName(span, head) {
    const answer = await ask("name", { f: span.f, id: span.id });
    const text = visible(answer.name), limit = 4000;
    const shown = element("bdi", { class: "name" }, text.slice(0, limit));
    head.replaceChildren(swatch(span.name), shown);
    if (text.length > limit)
        head.append(element("button", { class: "link", onclick: event => {
            shown.textContent = text;
            event.target.remove();
        } }, ` … all ${count(text.length)} characters`));
}

function heading(span, text) {
    const head = element("h2", {}, swatch(text), nameElement(text));
    if (text.endsWith("…") && span.id !== undefined)
        head.append(" ", element("button", { class: "link", onclick: () => showWholeName(span, head).catch(() => {}) }, "Show all of the name"));
    return head;
}

// ---- A filling, a mark ----

function showFilling(pane, span) {
    const scale = perTick(span.f);
    pane.replaceChildren(element("h2", {}, (span.count ? plural(span.count, "span") : "Spans") + " in less than a pixel each"),
        element("div", { class: "actions" },
            element("button", { onclick: () => zoomTo(shared(span.f, span.b), shared(span.f, span.e)) }, "Zoom to them (f)"),
            element("button", { onclick: () => { selectRange({ b: shared(span.f, span.b), e: shared(span.f, span.e) }); changed("range-chosen"); } }, "Table of this time")),
        factList([["Time", [moment(span.b, scale), " to ", moment(span.e, scale), ", ", duration(span.e - span.b, scale)]],
            ["Busy", [duration(span.busy, scale), ", ", percent(Math.min(1, span.busy / Math.max(1, span.e - span.b)))]],
            ["Longest", [duration(span.longest, scale), ": ", nameElement(span.name)]], ["Thread", threadName(span.f, span.s)],
            ["Known from", span.isExact ? "all of them" : state.files[span.f].inside ? "all of them, but this file does not have them one by one" : "samples; the exact picture follows"]]));
}

const MARK_LEVELS = ["Instant", "Message", "Warning", "Error"];

/** What a message says: its name is only the format, if it has one. */
async function showMessage(span, place) {
    const { hits } = await ask("search", { f: span.f, q: ".", regex: 1, in: "messages", b: span.b, e: span.b + 1, max: 20, page: null });
    const texts = hits.filter(hit => hit.s === span.s && hit.text).map(hit => hit.text);
    place.replaceChildren(...texts.map(text => element("p", {}, nameElement(text, 4000))));
}

function showMark(pane, span) {
    const place = element("div", {});
    if (span.level > 0)
        showMessage(span, place).catch(() => {});
    pane.replaceChildren(heading(span, span.name || MARK_LEVELS[span.level]), place, factList([["Kind", MARK_LEVELS[span.level]], ["At", moment(span.b, perTick(span.f))],
        ["Here", span.count > 1 ? `${count(span.count)} of them; zoom in to see each` : null], ["Thread", threadName(span.f, span.s)]]));
}

// ---- A span ----

function titleOf(answer) {
    return answer.label || labelOf(answer.name);
}

function jump(f, answer, what, text) {
    return element("button", { disabled: !answer[what], onclick: () => goTo(f, answer[what]), "data-go": what }, text);
}

function spanActions(span, answer) {
    const made = element("div", { class: "actions" }, jump(span.f, answer, "previous", "‹ Previous (,)"), jump(span.f, answer, "next", "Next (.) ›"),
        jump(span.f, answer, "slowest", "Slowest (l)"),
        element("button", { onclick: () => zoomTo(shared(span.f, answer.b), shared(span.f, answer.e)) }, "Zoom (f)"),
        element("button", { onclick: () => { selectRange({ b: shared(span.f, answer.b), e: shared(span.f, answer.e) }); changed("range-chosen"); } }, "Table of this time (r)"));
    if (state.files.length > 1)
        made.append(element("button", { onclick: () => align() }, state.anchor === null ? "Align… (x)" : "Align here (x)"));
    return made;
}

function rank(answer) {
    if (!answer.calls)
        return null;
    if (answer.calls === 1)
        return "the only call";
    const place = answer.rank_slowest ? `, ${answer.rank_slowest === 1 ? "the slowest" : `number ${count(answer.rank_slowest)} from the slowest`}` : "";
    return `slower than ${+answer.percentile.toFixed(2)}\u00a0% of ${plural(answer.calls, "call")}${place}`;
}

function family(span, title, list, depthOf) {
    if (!list?.length)
        return null;
    const scale = perTick(span.f);
    const show = (one, index) => (one.count ?? 1) === 1 ? goTo(span.f, { ...one, s: span.s, depth: depthOf(index) }) : zoomTo(shared(span.f, one.b), shared(span.f, one.e));
    return element("div", {}, element("h3", {}, title), element("table", {}, element("tbody", {}, ...list.map((one, index) => element("tr", {},
        element("td", {}, swatch(labelOf(one.name)), element("button", { class: "link", onclick: () => show(one, index) }, nameElement(labelOf(one.name), 120)),
            (one.count ?? 1) > 1 ? ` and others, ${plural(one.count, "span")} in all` : null),
        element("td", {}, duration(one.total ?? one.e - one.b, scale)))))));
}

async function showSource(span, place) {
    let answer;
    try {
        answer = await ask("source", { f: span.f, id: span.id });
    } catch {
        return;
    }
    if (!answer.lines.length)
        return;
    const lines = answer.lines.map((line, index) => element("div", { class: answer.first + index === answer.line ? "here" : "" },
        element("span", {}, String(answer.first + index)), element("bdi", {}, visible(line.replaceAll("\t", "    ")))));
    const box = element("div", { class: "source", role: "region", tabindex: 0, "aria-label": "Source" }, ...lines);
    place.replaceChildren(element("h3", {}, "Source, ", nameElement(`${answer.file}:${answer.line}`)), box);
    place.hidden = false;
    const here = box.querySelector(".here");
    if (here)
        box.scrollTop = here.offsetTop - box.offsetTop - box.clientHeight / 2;
}

function showSpan(pane, span, answer) {
    const scale = perTick(span.f), source = element("div", { class: "wide", hidden: true });
    const facts = factList([["Duration", [duration(answer.e - answer.b, scale), answer.open ? " (did not end)" : ""]], ["Self", answer.self === null ? null : duration(answer.self, scale)],
        ["Begin", moment(answer.b, scale)], ["Place", answer.calls === undefined ? "counting all calls …" : rank(answer)], ["Thread", threadName(span.f, span.s)],
        ["Category", answer.category ? nameElement(answer.category) : null], ["Code", placeInCode(answer)],
        ["Module", answer.module ? nameElement(answer.module) : null]]);
    const details = answer.args?.length ? element("div", {}, element("h3", {}, "Arguments"),
        factList(answer.args.map(([key, value]) => [nameElement(key), nameElement(value, 4000)]))) : null;
    const parents = family(span, "Called by", answer.parents, index => span.depth - answer.parents.length + index);
    const children = family(span, "Calls, longest first", answer.children, () => span.depth + 1);
    pane.replaceChildren(heading({ ...span, id: answer.id }, titleOf(answer)), spanActions(span, answer),
        element("div", { class: "columns" }, element("div", {}, facts), ...[details, parents].filter(part => part), source, children ?? ""));
    if (answer.file)
        showSource({ f: span.f, id: answer.id }, source);
}

function askSpan(span, quick) {
    return ask("span", { f: span.f, s: span.s, b: span.b, depth: span.depth, id: span.depth === undefined ? span.id : undefined, quick }, pendingSpan.signal);
}

async function fetchSpan(span) {
    pendingSpan?.abort();
    pendingSpan = new AbortController();
    const answer = await askSpan(span);
    if (span.depth === undefined) {
        span.depth = answer.parents.length;
        if (state.selected === span)
            showStream(span.f, span.s, span.depth);
    }
    knownSpan = { key: keyOf(span), answer };
    return answer;
}

// ---- Nothing selected: the traces ----

function wallTime(file) {
    return file.first_wall_ns ? new Date(Number(BigInt(file.first_wall_ns) / 1000000n)).toISOString().replace("T", " ").replace("Z", " UTC") : null;
}

function traceFacts(file) {
    const condition = [file.is_live ? "still being written" : null, file.is_killed ? "its program was killed" : null].filter(text => text).join(", ");
    return element("div", {}, element("h2", {}, nameElement(file.name)), factList([["File", nameElement(file.path, 1000)], ["Kind", [file.kind, file.format ? ` (${file.format})` : "", file.is_ring ? ", the last part of it (a flight recorder)" : ""].join("")],
        ["Time", duration(file.ticks, file.ns_per_tick)], ["Began", wallTime(file)], ["Resolution", file.ns_per_tick ? `${+file.ns_per_tick.toPrecision(4)}\u00a0ns` : "its clock does not measure time"],
        ["Size", [file.nbytes === undefined ? "" : bytes(file.nbytes) + ", ", plural(file.block_count, "block"), " of events"]],
        ["Threads", `${plural(file.tracks.length, "track")} of ${plural(file.processes.length, "process", "processes")}`],
        ["Dropped", file.dropped_count ? plural(file.dropped_count, "event") : "nothing"], ["Damage", file.damage_count ? plural(file.damage_count, "place") : "none"], ["State", condition],
        ["This file has", file.inside?.join("; ")]]));
}

export async function showDetails(pane) {
    const span = state.selected;
    if (!span) {
        pane.replaceChildren(element("div", { class: "columns" }, ...state.files.map(traceFacts),
            element("p", { class: "note" }, "Click a span, or press Shift and an arrow, to see what it is. Press ? for all keys.")));
        return;
    }
    if (span.kind === "filling" && span.count !== 1)
        showFilling(pane, span);
    else if (span.kind === "mark" || (span.kind !== "span" && span.depth === undefined))
        showMark(pane, { name: "", level: 0, count: 1, ...span });
    else
        await showOneSpan(pane, span);
}

/** What is known of it at once, until all calls of its name have been counted. */
async function showQuickly(pane, span) {
    const isWanted = () => state.selected === span && state.tab === "span" && knownSpan?.key !== keyOf(span);
    if (span.e !== undefined)
        pane.replaceChildren(heading(span, span.name || "…"), factList([["Duration", duration(span.e - span.b, perTick(span.f))],
            ["Begin", moment(span.b, perTick(span.f))], ["Thread", threadName(span.f, span.s)]]));
    await new Promise(resolve => setTimeout(resolve, 150));
    if (!isWanted())
        return;
    const answer = await askSpan(span, 1);
    if (isWanted())
        showSpan(pane, { depth: answer.parents.length, ...span }, answer);
}

async function showOneSpan(pane, span) {
    if (knownSpan?.key !== keyOf(span))
        showQuickly(pane, span).catch(() => {});
    try {
        const answer = knownSpan?.key === keyOf(span) ? knownSpan.answer : await fetchSpan(span);
        if (state.selected !== span || state.tab !== "span")
            return;
        span.e = answer.e;
        span.name = titleOf(answer);
        showSpan(pane, span, answer);
        changed("shown");
        document.body.dataset.span = visible(span.name);
    } catch (error) {
        if (!(error instanceof Cancelled))
            pane.replaceChildren(element("p", { class: "error" }, error.message));
    }
}

// ---- Keys ----

function goToOther(what) {
    const span = state.selected;
    if (span && knownSpan?.key === keyOf(span))
        goTo(span.f, knownSpan.answer[what]);
}

/** Moves the later traces so that the span selected first and the one selected now begin together. */
function align() {
    const span = state.selected;
    if (!span || state.files.length < 2)
        return;
    if (state.anchor === null || state.anchor.f === span.f) {
        state.anchor = { f: span.f, b: span.b };
        say("Now press x on a span of the other trace");
        changed("selected");
        return;
    }
    const one = state.anchor, moved = one.f === 0 ? span : one, fixed = one.f === 0 ? one : span;
    state.shifts[moved.f] = (state.shifts[moved.f] ?? 0) + shared(fixed.f, fixed.b) - shared(moved.f, moved.b);
    state.anchor = null;
    say("Aligned");
    changed("shifts", "shown", "selected");
}

/** An address names a span by its begin; its end is in no picture if it is joined with others. */
async function learnSelected() {
    const span = state.selected;
    if (span && span.depth !== undefined && state.tab !== "span")
        span.e = (await fetchSpan(span)).e;
    changed("shown");
}

export function startDetails() {
    learnSelected().catch(() => {});
    for (const what of ["previous", "next", "slowest"])
        on("go:" + what, () => goToOther(what));
    on("go:align", align);
    on("only", () => { knownSpan = null; });
    on("selected", () => { delete document.body.dataset.span; });
    byId("pane").addEventListener("keydown", event => {
        if (event.key === "Escape")
            byId("picture").focus();
    });
}
