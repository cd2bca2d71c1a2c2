// What the page shows: the traces, the view of time and its history, what is selected. Times are ticks of the first
// file; local() and shared() convert to those of another, which has a clock and an offset of its own.
// SPDX-License-Identifier: MIT

export const state = {
    files: [], // as the server describes them
    view: { b: 0, e: 1 }, // where the view is going
    shown: { b: 0, e: 1 }, // what is drawn now, on the way there
    past: [], future: [],
    selected: null, // {kind, f, s, b} in ticks of its file, and {e, depth, count, id, name} as far as known
    range: null, // {b, e}
    hits: [], hit: -1, nearHits: [], current: null, // those of the search; if there are too many, also all in the view
    query: { q: "", regex: false },
    only: "", trackFilter: "", depth: 32,
    collapsed: new Set(), order: [],
    bookmarks: [], // {b, e, note}
    shifts: [0, 0], anchor: null, // offset of each file; the span that the next one is aligned with
    theme: "auto", tab: "span", firstTab: "span", table: {},
};

// ---- Listeners ----

const listeners = new Map();

export function on(what, listener) {
    for (const name of what.split(" "))
        listeners.set(name, [...listeners.get(name) ?? [], listener]);
}

/** Says that something has changed: files, view, shown, selected, range, hits, tracks, bookmarks, theme, only, tab, data. */
export function changed(...what) {
    for (const name of what)
        for (const listener of listeners.get(name) ?? [])
            listener(name);
}

// ---- Clocks ----

export function perTick(f = 0) {
    return state.files[f]?.ns_per_tick ?? null;
}

function ratio(f) {
    return f !== 0 && perTick(0) !== null && perTick(f) !== null ? perTick(f) / perTick(0) : 1;
}

export function shared(f, ticks) {
    return f === 0 ? ticks : ticks * ratio(f) + (state.shifts[f] ?? 0);
}

export function local(f, ticks) {
    return f === 0 ? ticks : (ticks - (state.shifts[f] ?? 0)) / ratio(f);
}

/** A part of time in whole ticks of a file, cut to what the file has; null if it has nothing of it. */
export function localRange(f, range) {
    const end = state.files[f].ticks;
    const b = Math.max(0, Math.floor(local(f, range.b))), e = Math.min(end, Math.ceil(local(f, range.e)));
    return b < e ? { b, e } : null;
}

/** From the first begin to the last end of all files. */
export function bounds() {
    let b = Infinity, e = -Infinity;
    state.files.forEach((file, f) => {
        b = Math.min(b, shared(f, 0));
        e = Math.max(e, shared(f, Math.max(file.ticks, 1)));
    });
    return b < e ? { b, e } : { b: 0, e: 1 };
}

// ---- The view ----

const NARROWEST = 2; // ticks
let lastMove = 0;

function bounded(b, e) {
    const all = bounds();
    const width = Math.max(NARROWEST, Math.min(e - b, (all.e - all.b) * 1.1));
    const middle = (b + e) / 2;
    b = Math.max(all.b - width * 0.5, Math.min(middle - width / 2, all.e - width * 0.5));
    return { b, e: b + width };
}

let motion = null;

function step() {
    if (!motion)
        return;
    const share = Math.min(1, (performance.now() - motion.start) / 130);
    const eased = 1 - (1 - share) ** 3;
    state.shown = { b: motion.from.b + (state.view.b - motion.from.b) * eased,
        e: motion.from.e + (state.view.e - motion.from.e) * eased };
    if (share === 1) {
        state.shown = { ...state.view };
        motion = null;
    } else {
        requestAnimationFrame(step);
    }
    changed("shown");
}

const isCalm = matchMedia("(prefers-reduced-motion: reduce)");

/** Shows [b, e). Moves that follow each other quickly are one step of the history; 'isJump' begins a new one. */
export function setView(b, e, { isSmooth = true, isJump = true } = {}) {
    const next = bounded(b, e);
    if (next.b === state.view.b && next.e === state.view.e)
        return;
    const now = performance.now();
    if (isJump || now - lastMove > 700) {
        state.past.push({ ...state.view });
        state.past.splice(0, state.past.length - 200);
        state.future = [];
    }
    lastMove = isJump ? 0 : now;
    go(next, isSmooth);
}

function go(next, isSmooth) {
    state.view = next;
    if (isSmooth && !isCalm.matches && document.visibilityState === "visible") {
        const isUnderWay = motion !== null;
        motion = { from: { ...state.shown }, start: performance.now() };
        if (!isUnderWay)
            requestAnimationFrame(step);
    } else {
        motion = null;
        state.shown = { ...next };
        changed("shown");
    }
    changed("view");
}

export function firstView(view) {
    state.view = view ? bounded(view.b, view.e) : bounds();
    state.shown = { ...state.view };
    changed("view", "shown");
}

export function zoom(factor, at = (state.view.b + state.view.e) / 2, isSmooth = true) {
    const { b, e } = state.view;
    setView(at - (at - b) * factor, at + (e - at) * factor, { isSmooth, isJump: false });
}

export function pan(share, isSmooth = true) {
    const { b, e } = state.view;
    setView(b + (e - b) * share, e + (e - b) * share, { isSmooth, isJump: false });
}

export function wholeView() {
    const all = bounds();
    setView(all.b, all.e);
}

/** Shows [b, e) with some air around. */
export function zoomTo(b, e) {
    const air = Math.max((e - b) * 0.1, 1);
    setView(b - air, e + air);
}

/** Moves the view, without zooming, so that [b, e) is seen; zooms out if it is wider. */
export function reveal(b, e) {
    const view = state.view, width = view.e - view.b;
    if (b >= view.b && e <= view.e)
        return;
    if (e - b > width)
        zoomTo(b, e);
    else
        setView((b + e) / 2 - width / 2, (b + e) / 2 + width / 2);
}

export function undoView() {
    const view = state.past.pop();
    if (view) {
        state.future.push({ ...state.view });
        lastMove = 0;
        go(view, true);
    }
}

export function redoView() {
    const view = state.future.pop();
    if (view) {
        state.past.push({ ...state.view });
        lastMove = 0;
        go(view, true);
    }
}

// ---- Selection ----

export function select(span) {
    state.selected = span;
    changed("selected");
}

export function selectRange(range) {
    state.range = range && range.e > range.b ? range : null;
    changed("range");
}
