// What is drawn of a page that is a file: windows, marks, plots, gaps, flows. As the server does it, from what is stored.
// SPDX-License-Identifier: MIT
import { state } from "../state.js";
import { firstAfter, isIn, rowsOf, selectionOf, stored } from "./inside_data.js";

const FIELDS = 8; // of a part: depth, begin, duration, count, busy, longest, id, open

// ---- Windows ----

/** Joins what is shorter than a column, as tbed_window_make() does. 'parts' are of one row. */
class Joiner {
    constructor(b, column) {
        this.b = b;
        this.column = column;
        this.parts = [];
        this.at = -1; // the one that more can be joined to
    }

    add(depth, begin, end, count, busy, longest, id, open) {
        const { parts, at } = this;
        const isLong = count === 1 && end - begin >= this.column;
        if (!isLong && at >= 0 && Math.floor((parts[at + 1] - this.b) / this.column) === Math.floor((begin - this.b) / this.column)) {
            parts[at + 2] = Math.max(parts[at + 1] + parts[at + 2], end) - parts[at + 1];
            parts[at + 3] += count;
            parts[at + 4] += busy;
            parts[at + 7] += open;
            if (longest >= parts[at + 5]) {
                parts[at + 5] = longest;
                parts[at + 6] = id;
            }
            return;
        }
        this.at = isLong ? -1 : parts.length;
        parts.push(depth, begin, end - begin, count, busy, longest, id, open);
    }
}

function joinRow(data, row, b, e, column, selected) {
    const joiner = new Joiner(b, column);
    let widest = 0, coarse = false;
    for (let i = firstAfter(data, row, b); i < row.to && (row.overlaps || data.begin[i] < e); i++) {
        if (!isIn(data, i, b, e) || (selected && !selected[data.place[i]]))
            continue;
        const begin = Math.max(b, data.begin[i]), end = Math.min(e, data.end[i]), whole = data.end[i] - data.begin[i];
        const share = whole > 0 ? (end - begin) / whole : 1, isJoined = data.count[i] > 1;
        if (isJoined) {
            widest = Math.max(widest, data.longest[i]);
            coarse ||= share < 1 || selected !== null;
        }
        joiner.add(row.depth, begin, end, data.count[i], data.busy[i] * share, Math.min(data.longest[i], end - begin),
            data.ids[data.place[i]], data.count[i] === 1 && data.end[i] > e ? 0 : data.open[i]);
    }
    return { s: row.s, parts: joiner.parts, widest, coarse };
}

function joinAgain(row, b, column) {
    const joiner = new Joiner(b, column), { parts } = row;
    for (let at = 0; at < parts.length; at += FIELDS)
        joiner.add(parts[at], parts[at + 1], parts[at + 1] + parts[at + 2], parts[at + 3], parts[at + 4], parts[at + 5], parts[at + 6], parts[at + 7]);
    return { ...row, parts: joiner.parts };
}

function sizeOf(rows) {
    return rows.reduce((sum, row) => sum + row.parts.length, 0) / FIELDS;
}

function countSpans(data, row, b, e) {
    let sum = 0;
    for (let i = firstAfter(data, row, b); i < row.to && (row.overlaps || data.begin[i] < e); i++)
        sum += isIn(data, i, b, e) ? data.count[i] : 0;
    return sum;
}

export function namesOf(data, ids) {
    return Object.fromEntries([...ids].filter(id => id >= 0).map(id => [id, data.names.get(id)?.name ?? `<id ${id}>`]));
}

function streamsAnswer(data, rows) {
    const streams = new Map(), ids = new Set();
    for (const { s, parts } of rows) {
        if (!streams.has(s))
            streams.set(s, { s, parts: [] });
        const into = streams.get(s).parts;
        for (let at = 0; at < parts.length; at++)
            into.push(at % FIELDS < 6 ? Math.round(parts[at]) : parts[at]);
        for (let at = 6; at < parts.length; at += FIELDS)
            ids.add(parts[at]);
    }
    return { streams: [...streams.values()], names: namesOf(data, ids) };
}

/** 'exact' is false where joined spans would be wide enough to be seen one by one: the file has no more detail there. */
export function insideWindow({ f = 0, b, e, w = 1600, depth = 4096, max = 20000, streams, n, seq = 0 }) {
    const data = stored[f], selected = selectionOf(data, n);
    let column = Math.max(1, Math.ceil((e - b) / w)), rows = [], deeper = 0;
    for (const list of rowsOf(data, streams))
        for (const row of list) {
            if (row.depth < depth)
                rows.push(joinRow(data, row, b, e, column, selected));
            else
                deeper += countSpans(data, row, b, e);
        }
    while (sizeOf(rows) > max && column < e - b) {
        column *= 2;
        rows = rows.map(row => joinAgain(row, b, column));
    }
    const isExact = rows.every(row => row.widest < column && !row.coarse);
    const spans = rows.reduce((sum, row) => { for (let at = 3; at < row.parts.length; at += FIELDS) sum += row.parts[at]; return sum; }, 0);
    return { b, e, column, exact: isExact, final: true, seq, span_count: spans, deeper_count: deeper, unknown_count: data.unknownCount, blocks: 0,
        bad_blocks: 0, ...streamsAnswer(data, rows) };
}

// ---- Marks ----

function isWanted(streams) {
    const wanted = streams ? new Set(String(streams).split(",").map(Number)) : null;
    return s => !wanted || wanted.has(s);
}

function addMark(marks, last, b, column, time, id, kind) {
    const key = Math.floor((time - b) / column) * 4 + kind, at = last.get(key);
    if (at !== undefined) {
        marks[at + 1]++;
        return;
    }
    last.set(key, marks.length);
    marks.push(time, 1, id, kind);
}

export function insideMarks({ f = 0, b, e, w = 1600, streams }) {
    const data = stored[f], items = data.facts.marks?.items, takes = isWanted(streams), column = Math.max(1, Math.ceil((e - b) / w));
    const found = new Map(), ids = new Set();
    if (!items)
        return joinedMarks(data, takes, b, e);
    for (let at = 0; at < items.length; at += 5) {
        const [s, time, id, kind] = items.slice(at, at + 4);
        if (time < b || time >= e || !takes(s))
            continue;
        if (!found.has(s))
            found.set(s, { s, marks: [], last: new Map() });
        addMark(found.get(s).marks, found.get(s).last, b, column, time, id, kind);
        ids.add(id);
    }
    return { b, e, exact: true, column, streams: [...found.values()].map(({ s, marks }) => ({ s, marks })), names: namesOf(data, ids) };
}

function joinedMarks(data, takes, b, e) {
    const joined = data.facts["joined marks"] ?? { streams: [], names: {} };
    const inWindow = marks => marks.filter((_, index) => marks[index - index % 4] >= b && marks[index - index % 4] < e);
    return { b, e, exact: false, column: joined.column, names: { ...joined.names },
        streams: joined.streams.filter(({ s }) => takes(s)).map(({ s, marks }) => ({ s, marks: inWindow(marks) })) };
}

// ---- Plots ----

function numberOf(value) {
    return typeof value === "number" ? value : Number(value); // "NaN", "Infinity"
}

/** Of a counter of one process; 'processes' are those of the streams. */
function pointsOf(items, { id, p }, processes, b, e, column) {
    const columns = new Map();
    for (let at = 0; at < items.length; at += 4) {
        const time = items[at + 1], value = numberOf(items[at + 3]);
        if (items[at + 2] !== id || time < b || time >= e || (processes.get(items[at]) ?? 0) !== p)
            continue;
        const index = Math.floor((time - b) / column), sum = columns.get(index) ?? [Infinity, 0, -Infinity, 0];
        columns.set(index, [Math.min(sum[0], value), sum[1] + value, Math.max(sum[2], value), sum[3] + 1]);
    }
    return [...columns].sort(([one], [other]) => one - other).flatMap(([index, [min, sum, most, count]]) => [index, min, sum / count, most]);
}

export function insidePlots({ f = 0, b, e, w = 1600 }) {
    const { facts } = stored[f], items = facts.counters?.items, column = Math.max(1, Math.ceil((e - b) / w));
    const processes = new Map(state.files[f].tracks.map(track => [track.s, track.p]));
    return { b, e, exact: items !== null, plots: (facts["joined plots"]?.plots ?? []).map(plot => items && plot.id !== "memory"
        ? { ...plot, column, points: pointsOf(items, plot, processes, b, e, column) } : { ...plot, b: facts.b }) };
}

// ---- Gaps and flows ----

export function insideGaps({ f = 0, b, e }, ticks) {
    const { facts } = stored[f], gaps = [...facts.gaps?.gaps ?? []];
    for (const part of [{ b: 0, e: facts.b }, { b: facts.e, e: ticks }])
        if (part.b < part.e)
            gaps.push({ s: null, ...part, what: "overwritten", count: 0, text: "This part of the trace is not in the file." });
    return { gaps: gaps.filter(gap => gap.b < e && gap.e >= b), left_out: facts.gaps?.left_out ?? 0 };
}

export function insideFlows({ f = 0, b, e, max = 500 }) {
    const { arrows = [], async = [], names = {}, left_out = 0, complete = true } = stored[f].facts.flows ?? {};
    return { arrows: arrows.filter(({ from, to }) => Math.min(from.t, to.t) < e && Math.max(from.t, to.t) >= b).slice(0, max),
        async: async.filter(one => one.b < e && one.e >= b).slice(0, max), names: { ...names }, left_out, complete };
}
