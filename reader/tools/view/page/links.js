// The address: everything that is needed to come back to this place, and to bring somebody else to it.
// SPDX-License-Identifier: MIT
import { changed, on, perTick, setView, state } from "./state.js";
import { byId, duration, element, moment, say } from "./text.js";

const SIMPLE = ["only", "trackFilter", "tab", "theme"];

function numbers(text, least) {
    const found = (text ?? "").split(",").map(Number);
    return found.length >= least && found.every(Number.isFinite) ? found : null;
}

function rounded(value) {
    return +value.toFixed(3);
}

/** The text after '#'. */
export function address() {
    const made = new URLSearchParams();
    made.set("v", [state.view.b, state.view.e].map(rounded).join());
    const span = state.selected;
    if (span)
        made.set("s", [span.f, span.s, span.b, span.depth ?? -1].join());
    if (state.range)
        made.set("r", [state.range.b, state.range.e].map(rounded).join());
    if (state.query.q)
        made.set("q", (state.query.regex ? "r" : "t") + state.query.q);
    for (const key of SIMPLE)
        if (state[key] && !(key === "theme" && state[key] === "auto") && !(key === "tab" && state[key] === state.firstTab))
            made.set(key, state[key]);
    if (state.depth !== 32)
        made.set("depth", state.depth);
    if (state.shifts.some(shift => shift))
        made.set("shifts", state.shifts.join());
    if (state.collapsed.size)
        made.set("closed", [...state.collapsed].join());
    if (state.order.length)
        made.set("order", state.order.join());
    for (const { b, e, note } of state.bookmarks)
        made.append("m", `${rounded(b)},${rounded(e)},${note}`);
    return made.toString().replaceAll("%2C", ",");
}

/** Takes over what an address says; what is wrong in it counts as missing. Gives the view of it, or null. */
export function readAddress(text) {
    const found = new URLSearchParams(text.replace(/^#/, ""));
    const view = numbers(found.get("v"), 2), span = numbers(found.get("s"), 4), range = numbers(found.get("r"), 2);
    state.selected = span && state.files[span[0]] ? { f: span[0], s: span[1], b: span[2], depth: span[3] < 0 ? undefined : span[3] } : null;
    state.range = range && range[0] < range[1] ? { b: range[0], e: range[1] } : null;
    const query = found.get("q") ?? "";
    state.query = { q: query.slice(1), regex: query.startsWith("r") };
    for (const key of SIMPLE)
        state[key] = found.get(key) ?? { tab: state.firstTab, theme: "auto" }[key] ?? "";
    state.depth = [8, 16, 32, 64, 256].find(depth => depth === Number(found.get("depth"))) ?? 32;
    state.shifts = numbers(found.get("shifts"), 1) ?? [0, 0];
    state.collapsed = new Set(found.get("closed")?.split(",").filter(key => /^f\d+\w*$/.test(key)));
    state.order = found.get("order")?.split(",").filter(key => /^f\d+\w*$/.test(key)) ?? [];
    state.bookmarks = found.getAll("m").map(mark => mark.match(/^(-?[\d.]+),(-?[\d.]+),([^]*)$/)).filter(match => match)
        .map(match => ({ b: Number(match[1]), e: Number(match[2]), note: match[3] }));
    return view && view[0] < view[1] ? { b: view[0], e: view[1] } : null;
}

let timer = 0;

function write() {
    clearTimeout(timer);
    timer = setTimeout(() => history.replaceState(null, "", "#" + address()), 150);
}

/** Keeps the address up to date, once it has been read. */
export function keepAddress() {
    on("view selected range hits tracks bookmarks theme only tab shifts", write);
    write();
}

// ---- Bookmarks ----

export function addBookmark() {
    const { b, e } = state.range ?? state.view;
    state.bookmarks.push({ b, e, note: "" });
    changed("bookmarks", "go:tabnotes");
    byId("pane").querySelector(".bookmarks li:last-child input")?.focus();
    say("Bookmark added");
}

function bookmarkItem(mark, index) {
    const scale = perTick(), time = `${moment(mark.b, scale, (mark.e - mark.b) / 100)}, ${duration(mark.e - mark.b, scale)}`;
    const input = element("input", { placeholder: "Note", "aria-label": `Note of the bookmark at ${time}`, maxlength: 500,
        oninput: event => {
            mark.note = event.target.value;
            changed("bookmarks");
        } });
    input.value = mark.note;
    const remove = () => {
        state.bookmarks.splice(index, 1);
        changed("bookmarks");
        showBookmarks(byId("pane"));
    };
    return element("li", {}, element("button", { class: "link", onclick: () => setView(mark.b, mark.e) }, time), input,
        element("button", { onclick: remove, "aria-label": `Remove the bookmark at ${time}` }, "Remove"));
}

async function copyLink(event) {
    history.replaceState(null, "", "#" + address());
    try {
        await navigator.clipboard.writeText(location.href);
        event.target.textContent = "Copied";
    } catch {
        event.target.textContent = "Copy it from the address bar";
    }
}

export function showBookmarks(pane) {
    pane.replaceChildren(element("div", { class: "actions" }, element("button", { onclick: () => addBookmark() }, "Bookmark this place"),
        element("button", { onclick: copyLink }, "Copy the address")),
    element("p", { class: "note" }, "Bookmarks, notes and everything selected are kept in the address, after the #. Whoever opens the same trace can append that part to the address of their own page."),
    state.bookmarks.length ? element("ul", { class: "bookmarks" }, ...state.bookmarks.map(bookmarkItem)) : element("p", { class: "note" }, "There are none yet."));
}
