// Tracks: which there are, in what order and how high, and their headings, which collapse and move them.
// SPDX-License-Identifier: MIT
import { extras, pictureKey, pictures } from "./api.js";
import { changed, on, state } from "./state.js";
import { byId, element, nameElement, say, visible } from "./text.js";

/** The drawn tracks, from top to bottom: {key, kind, f, y, height, …}. */
export let rows = [];
export let size = { span: 18, group: 24, plot: 52, strip: 9, pad: 4 };
let contentHeight = 0;

const deepest = new Map(); // by picture: how many depths were ever seen, so that tracks do not jump
const messagesSeen = new Set();

function measure() {
    const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    size = Object.fromEntries(Object.entries({ span: 18, group: 24, plot: 52, strip: 9, pad: 4 })
        .map(([key, value]) => [key, Math.round(value * scale)]));
}

// ---- The tree ----

function processName(process) {
    return process.name || (process.pid ? "process" : "");
}

// Counters of several processes may have one name.
function ownerOf(process) {
    return process && `${processName(process)} ${process.pid || ""}`.trim();
}

function fileNode(f) {
    const file = state.files[f];
    const leaf = (kind, key, title, more) => ({ kind, key: `f${f}${key}`, f, title, children: [], ...more });
    const node = { kind: "file", key: `f${f}`, f, title: file.name, detail: file.path, children: [] };
    const byProcess = new Map(file.processes.map(process => [process.p, leaf("process", "p" + process.p,
        processName(process), { detail: process.pid ? `pid ${process.pid}` : "" })]));
    for (const track of file.tracks) {
        const thread = leaf("thread", "s" + track.s, track.name || track.kind, { s: track.s, track,
            detail: track.kind === "thread" ? (track.tid ? String(track.tid) : "") : track.kind });
        (byProcess.get(track.p) ?? node).children.push(thread);
    }
    node.children.unshift(...byProcess.values());
    node.children = node.children.filter(child => child.kind !== "process" || child.children.length);
    if (file.has.async)
        node.children.push(leaf("async", "a", "Asynchronous spans", { detail: "" }));
    const processes = new Map(file.processes.length > 1 ? file.processes.map(process => [process.p, process]) : []);
    for (const counter of file.counters)
        node.children.push(leaf("plot", `c${counter.id}p${counter.p}`, counter.name, { plot: counter.id, p: counter.p, unit: counter.unit,
            detail: [ownerOf(processes.get(counter.p)), counter.unit].filter(Boolean).join(", ") }));
    if (file.has.allocations)
        node.children.push(leaf("plot", "m", "Memory in use", { plot: "memory", unit: "bytes", detail: "bytes" }));
    return node;
}

function inOrder(nodes) {
    const place = new Map(state.order.map((key, index) => [key, index]));
    return nodes.map((node, index) => ({ node, index })).sort((one, two) => {
        const a = place.get(one.node.key), b = place.get(two.node.key);
        return a !== undefined && b !== undefined ? a - b : one.index - two.index;
    }).map(({ node }) => node);
}

function matcher() {
    if (state.trackFilter === "")
        return () => true;
    try {
        const pattern = new RegExp(state.trackFilter, "iu");
        return node => pattern.test(node.title) || pattern.test(node.detail ?? "");
    } catch {
        const text = state.trackFilter.toLowerCase();
        return node => (node.title + " " + node.detail).toLowerCase().includes(text);
    }
}

/** A group that matches is there with all it has, another with what matches in it. */
function filtered(node, matches) {
    if (matches(node))
        return node;
    const children = node.children.map(child => filtered(child, matches)).filter(child => child !== null);
    return children.length ? { ...node, children } : null;
}

function isGroup(node) {
    return node.kind === "file" || node.kind === "process";
}

// ---- The layout ----

function depthsOf(node) {
    const key = pictureKey(node.f, node.s ?? "a");
    let depths = deepest.get(key) ?? 1;
    const parts = pictures.get(key)?.now.parts ?? [];
    for (let at = 0; at < parts.length; at += 8)
        depths = Math.max(depths, parts[at] + 1);
    if (node.kind === "async")
        for (const span of extras[node.f]?.async ?? [])
            depths = Math.max(depths, span.depth + 1);
    deepest.set(key, depths);
    return Math.min(depths, state.depth);
}

function measureRow(node, isCollapsed) {
    if (isGroup(node))
        return { height: size.group, spanHeight: 0, strip: 0 };
    if (node.kind === "plot")
        return { height: isCollapsed ? size.group : size.plot, spanHeight: 0, strip: 0 };
    const depths = depthsOf(node);
    if (extras[node.f]?.marks.get(node.s)?.length)
        messagesSeen.add(node.key);
    const strip = messagesSeen.has(node.key) ? size.strip : 2;
    if (isCollapsed)
        return { height: size.group, depths, strip: 2, spanHeight: Math.max(2, (size.group - 4) / depths) };
    return { height: Math.max(size.group, strip + depths * size.span + size.pad), depths, strip, spanHeight: size.span };
}

function place(node, level, made) {
    const isCollapsed = state.collapsed.has(node.key);
    const last = made.at(-1);
    made.push({ ...node, level, isCollapsed, y: last ? last.y + last.height : 0, ...measureRow(node, isCollapsed) });
    if (isGroup(node) && !isCollapsed)
        for (const child of inOrder(node.children))
            place(child, level + 1, made);
}

/** Lays all tracks out anew; true if that moved something. */
export function layOut() {
    measure();
    const matches = matcher(), made = [];
    const files = inOrder(state.files.map((_, f) => fileNode(f)));
    for (const file of files) {
        const node = filtered(file, matches);
        if (node && files.length > 1)
            place(node, 0, made);
        else if (node)
            inOrder(node.children).forEach(child => place(child, 0, made));
    }
    const signature = list => list.map(row => `${row.key}:${row.y}:${row.height}:${row.isCollapsed}:${row.title}`).join("|");
    const isMoved = signature(made) !== signature(rows);
    rows = made;
    if (isMoved)
        showHeads();
    return isMoved;
}

export function rowAt(y) {
    let low = 0, high = rows.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (rows[middle].y + rows[middle].height <= y)
            low = middle + 1;
        else
            high = middle;
    }
    return rows[low] ?? null;
}

export function rowOf(f, s) {
    return rows.find(row => row.f === f && row.s === s) ?? null;
}

/** All threads below a row that is a group. */
export function threadsBelow(row) {
    return row.children.flatMap(child => child.kind === "thread" ? [child] : threadsBelow(child));
}

/** The streams to ask for, by file: those that are on the screen or less than a screen away. */
export function streamsInSight() {
    const scroll = byId("scroll"), top = scroll.scrollTop - scroll.clientHeight, bottom = scroll.scrollTop + 2 * scroll.clientHeight;
    const found = state.files.map(() => new Set());
    for (const row of rows) {
        if (row.y + row.height < top || row.y > bottom)
            continue;
        if (row.kind === "thread")
            found[row.f].add(row.s);
        else if (isGroup(row) && row.isCollapsed)
            threadsBelow(row).forEach(thread => found[row.f].add(thread.s));
    }
    return found.map(set => [...set].sort((a, b) => a - b));
}

/** Opens what hides a stream, and scrolls to it. */
export function showStream(f, s, depth = 0) {
    const process = state.files[f]?.tracks.find(track => track.s === s)?.p;
    for (const key of [`f${f}`, `f${f}p${process}`, `f${f}s${s}`])
        state.collapsed.delete(key);
    if (!rowOf(f, s))
        state.trackFilter = byId("tracks-filter").value = "";
    layOut();
    const row = rowOf(f, s), scroll = byId("scroll");
    if (!row)
        return;
    const top = row.y + row.strip + depth * size.span;
    if (top < scroll.scrollTop || top + size.span > scroll.scrollTop + scroll.clientHeight)
        scroll.scrollTop = Math.max(0, Math.min(row.y, top - scroll.clientHeight / 3));
    changed("tracks");
}

// ---- Headings ----

function toggle(key) {
    if (!state.collapsed.delete(key))
        state.collapsed.add(key);
    layOut();
    changed("tracks");
    byId("heads").querySelector(`[data-key="${key}"] button`)?.focus();
}

export function toggleAll() {
    const groups = rows.map(row => row.key);
    if (groups.some(key => state.collapsed.has(key)))
        state.collapsed.clear();
    else
        rows.filter(row => row.kind !== "file").forEach(row => state.collapsed.add(row.key));
    layOut();
    changed("tracks");
}

function siblings(row) {
    const prefix = row.kind === "file" ? "" : "f" + row.f;
    const index = rows.findIndex(other => other.key === row.key);
    let first = index;
    while (first > 0 && rows[first - 1].level >= row.level)
        first--;
    const found = [];
    for (let at = first; at < rows.length && rows[at].level >= row.level; at++)
        if (rows[at].level === row.level && rows[at].key.startsWith(prefix))
            found.push(rows[at].key);
    return found;
}

/** Moves a track before or after another of the same group. */
function move(row, targetKey, isAfter) {
    const keys = siblings(row);
    if (!keys.includes(targetKey) || targetKey === row.key)
        return;
    keys.splice(keys.indexOf(row.key), 1);
    keys.splice(keys.indexOf(targetKey) + (isAfter ? 1 : 0), 0, row.key);
    state.order = [...state.order.filter(key => !keys.includes(key)), ...keys];
    layOut();
    changed("tracks");
}

function moveBy(row, step) {
    const keys = siblings(row), target = keys[keys.indexOf(row.key) + step];
    if (target === undefined)
        return;
    move(row, target, step > 0);
    byId("heads").querySelector(`[data-key="${row.key}"] button`)?.focus();
    say(`${visible(row.title)} moved ${step > 0 ? "down" : "up"}`);
}

function onHeadKey(event, row) {
    if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown"))
        moveBy(row, event.key === "ArrowUp" ? -1 : 1);
    else if ((event.key === "ArrowUp" || event.key === "ArrowDown") && !event.shiftKey)
        (event.key === "ArrowUp" ? event.currentTarget.previousElementSibling : event.currentTarget.nextElementSibling)
            ?.querySelector("button").focus();
    else if ((event.key === "ArrowLeft" && !row.isCollapsed) || (event.key === "ArrowRight" && row.isCollapsed))
        toggle(row.key);
    else
        return;
    event.preventDefault();
    event.stopPropagation();
}

let lifted = null;

function onDrag(event, row) {
    const target = event.currentTarget;
    if (event.type === "dragstart") {
        lifted = row;
        event.dataTransfer.setData("text/plain", row.key);
        target.classList.add("lifted");
    } else if (event.type === "dragover" && lifted && siblings(lifted).includes(row.key)) {
        event.preventDefault();
        target.classList.add("target");
    } else if (event.type === "dragleave") {
        target.classList.remove("target");
    } else if (event.type === "drop" && lifted) {
        event.preventDefault();
        move(lifted, row.key, rows.findIndex(other => other.key === lifted.key) < rows.findIndex(other => other.key === row.key));
    } else if (event.type === "dragend") {
        target.classList.remove("lifted");
        lifted = null;
    }
}

function headOf(row) {
    const label = `${visible(row.title)} ${row.detail ?? ""}`;
    const button = element("button", { "aria-expanded": String(!row.isCollapsed), title: label, "aria-label": label,
        onclick: () => toggle(row.key) }, nameElement(row.title, 100));
    const head = element("div", { class: `head ${isGroup(row) ? row.kind : "leaf"}`, role: "listitem", draggable: "true",
        "data-key": row.key, onkeydown: event => onHeadKey(event, row) }, button,
        row.detail && row.kind !== "file" ? element("small", {}, nameElement(row.detail, 60)) : null);
    for (const type of ["dragstart", "dragover", "dragleave", "drop", "dragend"])
        head.addEventListener(type, event => onDrag(event, row));
    head.style.top = row.y + "px";
    head.style.height = row.height + "px";
    return head;
}

function showHeads() {
    const focused = document.activeElement?.closest(".head")?.dataset.key;
    byId("heads").replaceChildren(...rows.map(headOf));
    if (focused)
        byId("heads").querySelector(`[data-key="${focused}"] button`)?.focus({ preventScroll: true });
    const last = rows.at(-1);
    contentHeight = last ? last.y + last.height : 0;
    byId("content").style.height = contentHeight + "px";
}

on("only", () => deepest.clear());
