// Single spans, and the search, of a page that is a file.
// SPDX-License-Identifier: MIT
import { labelOf } from "../text.js";
import { firstAfter, isIn, matcherOf, rowsOf, stored } from "./inside_data.js";
import { namesOf } from "./inside_window.js";

const CHILDREN_MAX = 100;

function placeOfId(data, id) {
    const { function: called = null, file = null, line = 0, module = null } = data.names.get(id) ?? {};
    return { function: called, file, line, module };
}

function nameOf(data, id) {
    return data.names.get(id)?.name ?? `<id ${id}>`;
}

function wholeName(data, id) {
    const known = data.names.get(id);
    return known?.whole ?? known?.name ?? `<id ${id}>`;
}

function callOf(data, row, i) {
    const id = data.ids[data.place[i]];
    return { s: row.s, b: data.begin[i], e: data.end[i], id, name: nameOf(data, id), depth: row.depth };
}

// ---- Arguments ----

function argumentsOf(data) {
    if (!data.byBegin) {
        data.byBegin = new Map();
        const items = data.facts.arguments?.items ?? [];
        for (let at = 0; at < items.length; at += 4)
            data.byBegin.set(`${items[at]} ${items[at + 1]} ${items[at + 2]}`, items[at + 3]);
    }
    return data.byBegin;
}

function argumentList(data, call) {
    const ofName = wholeName(data, call.id).split("\x1e").slice(1).map((text, index) => [`arg${index}`, text]);
    const cut = data.facts.arguments?.items ? [] : [["…", "The arguments of this trace are not in this file."]];
    return [...ofName, ...argumentsOf(data).get(`${call.s} ${call.b} ${call.id}`) ?? [], ...data.facts.arguments?.count === 0 ? [] : cut];
}

// ---- A span ----

function findSpan(data, { s, b, depth, id }) {
    for (const row of data.rows.get(Number(s)) ?? []) {
        if (depth !== undefined && row.depth !== Number(depth))
            continue;
        let isJoined = false;
        for (let i = firstAfter(data, row, b); i < row.to && (row.overlaps || data.begin[i] <= b); i++) {
            isJoined ||= data.count[i] > 1 && isIn(data, i, b, b + 1);
            if (data.begin[i] === Number(b) && data.count[i] === 1 && (id === undefined || data.ids[data.place[i]] === Number(id)))
                return { row, i };
        }
        if (isJoined && depth !== undefined)
            throw new Error("Here spans are joined: the file has no more detail.");
    }
    throw new Error("No span of this file begins there.");
}

function parentsOf(data, row, i) {
    const found = [];
    for (const around of data.rows.get(row.s).slice(0, row.depth))
        for (let k = firstAfter(data, around, data.begin[i]); k < around.to && (around.overlaps || data.begin[k] <= data.begin[i]); k++)
            if (data.count[k] === 1 && data.begin[k] <= data.begin[i] && data.end[k] >= data.end[i]) {
                found.push(callOf(data, around, k));
                break;
            }
    return found;
}

function childrenOf(data, row, i) {
    const below = data.rows.get(row.s)[row.depth + 1], found = [];
    let inside = 0;
    if (below)
        for (let k = firstAfter(data, below, data.begin[i]); k < below.to && (below.overlaps || data.begin[k] < data.end[i]); k++)
            if (data.begin[k] >= data.begin[i] && data.end[k] <= data.end[i]) {
                inside += data.busy[k];
                found.push({ ...callOf(data, below, k), count: data.count[k], total: data.busy[k], longest: data.longest[k] });
            }
    found.sort((one, other) => other.longest - one.longest);
    return { children: found.slice(0, CHILDREN_MAX), inside };
}

/** Its place among all calls of its label: only the slowest is known if some are joined. */
function othersOf(data, row, i) {
    const label = data.labels[data.place[i]], ticks = data.busy[i], begin = data.begin[i];
    let shorter = 0, equal = 0, longer = 0, slowest = null, previous = null, next = null;
    for (const list of data.rows.values())
        for (const other of list)
            for (let k = other.from; k < other.to; k++) {
                if (data.count[k] > 1 || data.labels[data.place[k]] !== label)
                    continue;
                shorter += data.busy[k] < ticks ? 1 : 0;
                equal += data.busy[k] === ticks ? 1 : 0;
                longer += data.busy[k] > ticks ? 1 : 0;
                if (!slowest || data.busy[k] > data.busy[slowest.k] || (data.busy[k] === data.busy[slowest.k] && data.begin[k] < data.begin[slowest.k]))
                    slowest = { other, k };
                if (data.begin[k] < begin && (!previous || data.begin[k] > data.begin[previous.k]))
                    previous = { other, k };
                if (data.begin[k] > begin && (!next || data.begin[k] < data.begin[next.k]))
                    next = { other, k };
            }
    const call = found => found && callOf(data, found.other, found.k);
    const calls = shorter + equal + longer;
    return data.isComplete ? { calls, rank_slowest: longer + 1, percentile: 100 * (shorter + equal) / calls, previous: call(previous), next: call(next), slowest: call(slowest) }
        : { calls: 0, previous: null, next: null, slowest: call(slowest) };
}

export function insideSpan(given) {
    const data = stored[given.f ?? 0], { row, i } = findSpan(data, given), call = callOf(data, row, i);
    const { children, inside } = childrenOf(data, row, i);
    return { ...call, duration: data.busy[i], self: Math.max(0, data.busy[i] - inside), label: labelOf(call.name), category: data.names.get(call.id)?.category ?? null, open: data.open[i] > 0,
        ...placeOfId(data, call.id), args: argumentList(data, call), parents: parentsOf(data, row, i), children, ...given.quick ? {} : othersOf(data, row, i) };
}

export function insideName({ f = 0, id }) {
    const data = stored[f], known = data.names.get(Number(id));
    return { name: wholeName(data, Number(id)) + (known?.nbytes ? ` … (the rest of ${known.nbytes} bytes is not in this file)` : ""), ...placeOfId(data, Number(id)) };
}

// ---- The search ----

function spanHits(data, matches, b, e) {
    const wanted = data.labels.map(label => matches(label)), hits = [];
    for (const list of rowsOf(data))
        for (const row of list)
            for (let i = firstAfter(data, row, b); i < row.to && (row.overlaps || data.begin[i] < e); i++)
                if (data.count[i] === 1 && wanted[data.place[i]] && isIn(data, i, b, e))
                    hits.push({ kind: "span", ...callOf(data, row, i), text: "" });
    return hits;
}

// Nobody types the backslashes before the quotation marks and backslashes of a text in quotation marks.
function withoutBackslashes(text) {
    return text.replace(/\\(["\\])/g, "$1");
}

function markHits(data, matches, places, b, e) {
    const items = data.facts.marks?.items ?? [], hits = [];
    for (let at = 0; at < items.length; at += 5) {
        const [s, time, id, kind, text] = items.slice(at, at + 5), name = id >= 0 ? nameOf(data, id) : "";
        if (time < b || time >= e)
            continue;
        if (kind > 0 ? places.has("messages") && matches(text || "") : places.has("names") && matches(name))
            hits.push({ kind: kind > 0 ? "message" : "instant", s, b: time, e: time, depth: null, id, text: kind > 0 ? text || "" : name });
        else if (kind === 0 && places.has("arguments") && text && matches(withoutBackslashes(text)))
            hits.push({ kind: "event", s, b: time, e: time, depth: null, id, text });
    }
    return hits;
}

function argumentHits(data, matches, b, e) {
    const items = data.facts.arguments?.items ?? [], hits = [];
    for (let at = 0; at < items.length; at += 4) {
        const [s, time, id, pairs] = items.slice(at, at + 4), text = pairs.map(([name, value]) => ` ${name}=${value}`).join("");
        if (time >= b && time < e && matches(withoutBackslashes(text)))
            hits.push({ kind: "span", s, b: time, e: time, depth: null, id, text });
    }
    return hits;
}

export function insideSearch({ f = 0, q, regex, in: where = "names,messages", max = 2000, b = 0, e = Infinity }) {
    const data = stored[f], matches = matcherOf(q, Number(regex) === 1), places = new Set(where.split(","));
    if (!matches)
        return { hits: [], total: 0, complete: true, names: {} };
    const hits = [...places.has("names") ? spanHits(data, matches, b, e) : [], ...markHits(data, matches, places, b, e),
        ...places.has("arguments") ? argumentHits(data, matches, b, e) : []];
    hits.sort((one, other) => one.b - other.b || one.s - other.s || other.e - one.e);
    const shown = hits.slice(0, max).map(({ name: _, ...hit }) => ({ ...hit, text: hit.text.slice(0, 160) }));
    return { hits: shown, total: hits.length, complete: data.isComplete && data.facts.marks?.items !== null && data.facts.arguments?.items !== null,
        names: namesOf(data, new Set(shown.map(hit => hit.id))) };
}
