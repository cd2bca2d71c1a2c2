// The search: over names, messages and arguments of all traces; hits are marked in the picture.
// SPDX-License-Identifier: MIT
import { ask, Cancelled } from "./api.js";
import { goTo } from "./details.js";
import { changed, localRange, on, perTick, reveal, select, shared, state } from "./state.js";
import { byId, count, duration, element, moment, nameElement, plural, say, swatch, visible } from "./text.js";
import { showStream } from "./tracks.js";

let pending = null;
let problem = "";
let total = 0;

async function searchFile(f, signal, range = {}) {
    const answer = await ask("search", { f, q: state.query.q, regex: state.query.regex ? 1 : 0, in: "names,messages,arguments", max: 2000, ...range }, signal);
    return { total: answer.total, hits: answer.hits.map(hit => ({ ...hit, f, name: answer.names?.[hit.id] ?? "" })) };
}

/** Searches all traces for the query; an empty one forgets the hits. */
export async function search() {
    pending?.abort();
    pending = new AbortController();
    const { signal } = pending;
    problem = "";
    total = 0;
    state.hits = [];
    state.nearHits = [];
    state.hit = -1;
    state.current = null;
    try {
        if (state.query.q !== "") {
            byId("search-place").textContent = "…";
            const found = await Promise.all(state.files.map((_, f) => searchFile(f, signal)));
            total = found.reduce((all, one) => all + one.total, 0);
            state.hits = found.flatMap(one => one.hits).sort((one, other) => shared(one.f, one.b) - shared(other.f, other.b));
        }
    } catch (error) {
        if (error instanceof Cancelled)
            return;
        problem = error.message;
    }
    showPlace();
    changed("hits");
    searchNear();
    if (state.tab === "search")
        showSearch(byId("pane"));
    document.body.dataset.hits = String(state.hits.length);
}

/** Where there are more hits than are known, those in the view are asked for by themselves, so that all are marked. */
async function searchNear() {
    if (total <= state.hits.length || problem)
        return;
    const { signal } = pending, found = [];
    try {
        for (const f of state.files.keys()) {
            const range = localRange(f, state.view);
            if (range)
                found.push(...(await searchFile(f, signal, range)).hits);
        }
    } catch {
        return; // a newer search, or what the first one has already shown
    }
    if (!signal.aborted) {
        state.nearHits = found;
        changed("hits");
    }
}

function showPlace() {
    const { hits, hit, query } = state;
    byId("search-place").textContent = problem ? "error" : query.q === "" ? "" : hits.length === 0 ? "none" : `${hit < 0 ? "" : count(hit + 1) + "/"}${count(Math.max(total, hits.length))}`;
    byId("search-place").title = problem;
    for (const id of ["search-previous", "search-place", "search-next"])
        byId(id).hidden = query.q === "";
    byId("search").setAttribute("aria-invalid", String(problem !== ""));
}

/** Goes to a hit: selects it and brings it into sight. */
function goToHit(hit) {
    state.current = hit;
    state.hit = state.hits.indexOf(hit);
    if (hit.kind === "span") {
        goTo(hit.f, hit);
    } else {
        select({ kind: "mark", f: hit.f, s: hit.s, b: hit.b, e: hit.e, count: 1, id: hit.id, name: hit.name, level: hit.kind === "message" ? 1 : 0 });
        reveal(shared(hit.f, hit.b), shared(hit.f, hit.e));
        showStream(hit.f, hit.s);
    }
    showPlace();
    changed("hits");
    say(`Hit ${state.hit < 0 ? "" : count(state.hit + 1)} of ${count(total)}: ${visible(hit.text || hit.name)}`);
}

function order(one, other) {
    return shared(one.f, one.b) - shared(other.f, other.b) || one.f - other.f || one.s - other.s || other.e - one.e || one.id - other.id;
}

/** The hits that are known, in order of time; those of the view may be among the first ones too. */
function knownHits() {
    const all = [...state.hits, ...state.nearHits].sort(order);
    return all.filter((hit, index) => index === 0 || order(all[index - 1], hit) !== 0);
}

/** After the known ones there may be more, where they are too many to be known. */
async function hitAfter(ticks) {
    const found = [];
    for (const f of state.files.keys()) {
        const range = localRange(f, { b: ticks, e: Infinity });
        if (range)
            found.push(...(await searchFile(f, pending.signal, range)).hits);
    }
    state.nearHits = found;
    return found.sort(order)[0];
}

/** The next hit is that after the current one, or the first in the view. */
async function stepHit(by) {
    const known = knownHits(), from = state.current, isMore = total > state.hits.length;
    if (!known.length)
        return;
    const isAfter = hit => from ? order(hit, from) > 0 : shared(hit.f, hit.b) >= state.view.b;
    const next = known.findIndex(isAfter);
    let hit = by > 0 ? known[next] : known.findLast(one => from ? order(one, from) < 0 : shared(one.f, one.b) < state.view.b);
    const last = known[next < 0 ? known.length - 1 : next];
    if (by > 0 && isMore && (next < 0 || !(shared(last.f, last.b) <= state.view.e)))
        hit = await hitAfter(from ? shared(from.f, from.b) + 1 : state.view.b).catch(() => hit);
    goToHit(hit ?? (by > 0 ? known[0] : known.at(-1)));
}

// ---- The panel ----

const HIT_ROWS_MAX = 500;

export function showSearch(pane) {
    if (state.query.q === "" || problem) {
        pane.replaceChildren(element("p", { class: problem ? "error" : "note" }, problem || "Type into the field above, or press /."));
        return;
    }
    const summary = total > state.hits.length ? `The first ${count(state.hits.length)} of ${plural(total, "hit")}` : plural(state.hits.length, "hit");
    pane.replaceChildren(element("p", { class: "note" }, summary + (state.hits.length > HIT_ROWS_MAX ? `; the first ${HIT_ROWS_MAX} are listed, all are marked` : "")),
        element("table", { "aria-label": "Hits" }, element("thead", {}, element("tr", {}, ...["Text", "At", "Duration", "Thread"].map(title => element("th", { scope: "col" }, title)))),
            element("tbody", {}, ...state.hits.slice(0, HIT_ROWS_MAX).map(hitRow))));
}

function hitRow(hit, index) {
    const track = state.files[hit.f].tracks.find(one => one.s === hit.s);
    return element("tr", { "aria-selected": index === state.hit ? "true" : undefined },
        element("td", {}, swatch(hit.name), element("button", { class: "link", onclick: () => goToHit(hit) }, nameElement((hit.text || hit.name).replaceAll("\x1e", "  "), 200))),
        element("td", {}, moment(hit.b, perTick(hit.f))), element("td", {}, hit.e > hit.b ? duration(hit.e - hit.b, perTick(hit.f)) : ""),
        element("td", {}, nameElement(track?.name || String(track?.tid ?? hit.s), 60)));
}

export function startSearch() {
    let timer = 0;
    const field = byId("search"), regex = byId("search-regex");
    field.value = state.query.q;
    regex.setAttribute("aria-pressed", String(state.query.regex));
    field.addEventListener("input", () => {
        clearTimeout(timer);
        state.query.q = field.value;
        timer = setTimeout(search, 200);
    });
    regex.addEventListener("click", () => {
        state.query.regex = !state.query.regex;
        regex.setAttribute("aria-pressed", String(state.query.regex));
        search();
    });
    byId("search-form").addEventListener("submit", event => {
        event.preventDefault();
        stepHit(1);
    });
    field.addEventListener("keydown", event => {
        if (event.key === "Enter" && event.shiftKey) {
            event.preventDefault();
            stepHit(-1);
        }
    });
    byId("search-next").addEventListener("click", () => stepHit(1));
    byId("search-previous").addEventListener("click", () => stepHit(-1));
    on("complete", searchNear);
    on("go:hit+1", () => stepHit(1));
    on("go:hit-1", () => stepHit(-1));
    showPlace();
    if (state.query.q)
        search();
}
