// Tables, flame graphs and histograms of a page that is a file. Of all of the time they are stored; those of a range are
// made from the spans that are stored, and say so where spans are joined.
// SPDX-License-Identifier: MIT
import { perTick, state } from "../state.js";
import { count, duration } from "../text.js";
import { firstAfter, isIn, rowsOf, selectionOf, stored } from "./inside_data.js";

const ROWS_MAX = 500, NODES_MAX = 5000, BUCKETS_MAX = 64;

function isAll({ f = 0, b, e, n, streams }) {
    const { facts } = stored[f];
    return b <= facts.b && e >= facts.e && !n && !streams;
}

function joinedName(f) {
    return `<joined, shorter than ${duration(stored[f].column, perTick(f))}>`;
}

function noteOf(joined) {
    return joined ? `${count(joined)} of these spans are joined in this file, so their names are not known.` : undefined;
}

// ---- The walk ----

/**
 * Visits the parts of a stream in [b, e), those around others first. 'visit' gets a part, its time in the window, and what it
 * gave for the part around it; null at the top.
 */
function walk(data, list, b, e, selected, visit) {
    const next = list.map(row => firstAfter(data, row, b));
    const descend = (depth, limit, around) => {
        if (depth >= list.length)
            return;
        for (const row = list[depth]; next[depth] < row.to && data.begin[next[depth]] < limit;) {
            const i = next[depth]++;
            if (!isIn(data, i, b, e))
                continue;
            descend(depth + 1, data.begin[i], around);
            const whole = data.end[i] - data.begin[i], cut = Math.min(e, data.end[i]) - Math.max(b, data.begin[i]);
            const isTaken = !selected || (selected[data.place[i]] && data.count[i] === 1);
            const made = isTaken ? visit(i, whole > 0 ? data.busy[i] * cut / whole : data.busy[i], around) : around;
            descend(depth + 1, Math.min(limit, data.end[i]), made);
        }
        descend(depth + 1, limit, around);
    };
    descend(0, e, null);
}

// ---- The table ----

function percentileOf(sorted, share) {
    return sorted.length ? sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] : 0;
}

function rowOfLabel(name, sums) {
    const sorted = Float64Array.from(sums.times).sort();
    return { name, count: sums.count, open: sums.open, unknown: 0, total: Math.round(sums.total), self: Math.max(0, Math.round(sums.self)),
        min: sums.least ?? sorted[0] ?? 0, p50: percentileOf(sorted, 0.5), p90: percentileOf(sorted, 0.9), p99: percentileOf(sorted, 0.99),
        max: sums.most ?? sorted[sorted.length - 1] ?? 0 };
}

export function insideTable(given) {
    const { f = 0, b, e, n, streams } = given, data = stored[f];
    if (isAll(given))
        return data.facts.table;
    const selected = selectionOf(data, n), labels = new Map(), threads = [], joined = joinedName(f);
    let joinedCount = 0;
    const sumsOf = (i) => {
        const name = data.count[i] > 1 ? joined : data.labels[data.place[i]];
        if (!labels.has(name))
            labels.set(name, { count: 0, open: 0, total: 0, self: 0, times: [] });
        return labels.get(name);
    };
    for (const list of rowsOf(data, streams)) {
        const thread = { s: list[0].s, busy: 0, spans: 0 };
        walk(data, list, b, e, selected, (i, busy, around) => {
            const sums = sumsOf(i);
            sums.count += data.count[i];
            sums.open += data.end[i] > e ? 0 : data.open[i];
            sums.total += busy;
            sums.self += busy;
            if (data.count[i] > 1) {
                joinedCount += data.count[i];
                sums.least = 0;
                sums.most = Math.max(sums.most ?? 0, data.longest[i]);
            } else {
                sums.times.push(busy);
            }
            if (around)
                around.self -= busy;
            else
                thread.busy += busy;
            thread.spans += data.count[i];
            return sums;
        });
        thread.busy = Math.round(thread.busy);
        threads.push({ ...thread, idle: Math.max(0, e - b - thread.busy) });
    }
    const rows = [...labels].map(([name, sums]) => rowOfLabel(name, sums)).sort((one, other) => other.self - one.self);
    return { rows: rows.slice(0, ROWS_MAX), left_out: Math.max(0, rows.length - ROWS_MAX), threads, note: noteOf(joinedCount), exact: !joinedCount };
}

// ---- The flame graph ----

/** What a stream's root is called: as its process; if there is one root, that of the whole trace. */
function rootName(f, s) {
    const roots = (stored[f].facts.flame?.nodes ?? []).filter(([parent]) => parent < 0);
    if (roots.length === 1)
        return roots[0][1];
    const file = state.files[f], number = file.tracks.find(track => track.s === s)?.p, process = file.processes.find(({ p }) => p === number);
    return process ? process.name || (process.pid ? `process ${process.pid}` : "<unnamed process>") : "<no process>";
}

/** The nodes of a tree that is being made; the time of a child is not its parent's own. */
class Nodes {
    constructor() {
        this.list = [];
        this.byKey = new Map();
    }

    add(around, name, busy, calls) {
        const key = `${around?.index ?? -1} ${name}`;
        let node = this.byKey.get(key);
        if (!node) {
            node = { index: this.list.length, parent: around?.index ?? -1, name, total: 0, self: 0, count: 0 };
            this.list.push(node);
            this.byKey.set(key, node);
        }
        node.total += busy;
        node.self += busy;
        node.count += calls;
        if (around)
            around.self -= busy;
        return node;
    }
}

function treeOfRange(given) {
    const { f = 0, b, e, n, streams } = given, data = stored[f];
    if (isAll(given))
        return { nodes: (data.facts.flame?.nodes ?? []).map(([parent, name, total, self, calls]) => ({ parent, name, total, self, count: calls })), joined: 0 };
    const nodes = new Nodes(), selected = selectionOf(data, n), name = joinedName(f);
    let joined = 0;
    for (const list of rowsOf(data, streams)) {
        const root = rootName(f, list[0].s);
        let first = null, last = 0;
        walk(data, list, b, e, selected, (i, busy, around) => {
            const label = data.count[i] > 1 ? name : data.labels[data.place[i]];
            first ??= Math.max(b, data.begin[i]);
            last = Math.max(last, Math.min(e, data.end[i]));
            joined += data.count[i] > 1 ? data.count[i] : 0;
            return nodes.add(around ?? nodes.add(null, root, 0, 0), label, busy, data.count[i]);
        });
        if (first !== null)
            nodes.add(null, root, last - first, 1); // from its first span to the end of the last
    }
    return { nodes: nodes.list, joined };
}

/** At most NODES_MAX, those with the most time; the others below a node become one. */
function fewest(nodes) {
    const weight = node => Math.max(node.total, node.old ?? 0);
    const least = nodes.length > NODES_MAX ? nodes.map(weight).sort((one, other) => other - one)[NODES_MAX / 2] : -1;
    const places = [], kept = [], others = new Map();
    nodes.forEach((node, index) => {
        const isBelow = node.parent >= 0 && places[node.parent] === undefined;
        if (!isBelow && (node.parent < 0 || weight(node) > least)) {
            places[index] = kept.length;
            kept.push({ ...node, parent: node.parent < 0 ? -1 : places[node.parent] });
        } else if (!isBelow) {
            const other = others.get(node.parent) ?? { parent: places[node.parent], name: "<other>", total: 0, self: 0, count: 0, old: 0 };
            others.set(node.parent, { ...other, total: other.total + node.total, self: other.self + node.total, count: other.count + node.count, old: other.old + (node.old ?? 0) });
        }
    });
    return [...kept, ...others.values()];
}

/** The nodes of both trees, by the names on the way to them. */
function compared(fresh, old) {
    const made = [], byKey = new Map();
    const add = (nodes, scale, isOld) => {
        const places = [];
        for (const node of nodes) {
            const parent = node.parent < 0 ? -1 : places[node.parent], key = `${parent} ${node.name}`;
            let place = byKey.get(key);
            if (place === undefined) {
                place = made.length;
                made.push({ parent, name: node.name, total: 0, self: 0, count: 0, old: 0 });
                byKey.set(key, place);
            }
            places.push(place);
            const into = made[place];
            if (isOld) {
                into.old += node.total * scale;
            } else {
                into.total += node.total * scale;
                into.self += node.self * scale;
                into.count += node.count;
            }
        }
    };
    add(fresh.nodes, fresh.scale, false);
    add(old.nodes, old.scale, true);
    return made;
}

export function insideFlame(given) {
    const { f = 0, against, ab, ae } = given, tree = treeOfRange(given);
    let { nodes, joined } = tree, unit = "ticks";
    if (against !== undefined && against !== "") {
        const old = treeOfRange({ ...given, f: against, b: ab, e: ae }), isTime = perTick(f) !== null;
        if (isTime !== (perTick(against) !== null))
            throw new Error("The clocks of the files count different things.");
        unit = isTime ? "ns" : "ticks";
        joined += old.joined;
        nodes = compared({ nodes, scale: perTick(f) ?? 1 }, { nodes: old.nodes, scale: perTick(against) ?? 1 });
    }
    const list = fewest(nodes), hasOld = unit === "ns" || against !== undefined && against !== "";
    const sum = key => Math.round(list.reduce((all, node) => all + (node.parent < 0 ? node[key] ?? 0 : 0), 0));
    return { unit, total: sum("total"), ...hasOld ? { old_total: sum("old") } : {}, note: noteOf(joined),
        nodes: list.map(node => [node.parent, node.name, Math.round(node.total), Math.max(0, Math.round(node.self)), node.count, ...hasOld ? [Math.round(node.old ?? 0)] : []]) };
}

// ---- Histograms ----

/** Ranges of durations: 8 for each power of 2, or fewer where there would be too many. */
function bucketsOf(sorted) {
    for (let steps = 8; ; steps /= 2) {
        const buckets = [];
        let last = null;
        for (const ticks of sorted) {
            const number = Math.floor(Math.log2(Math.max(1, ticks)) * steps);
            if (number === last) {
                buckets[buckets.length - 1][1] = ticks;
                buckets[buckets.length - 1][2]++;
            } else {
                buckets.push([ticks, ticks, 1]);
            }
            last = number;
        }
        if (buckets.length <= BUCKETS_MAX)
            return buckets;
    }
}

export function insideHistogram(given) {
    const { f = 0, b, e, streams, label } = given, data = stored[f];
    const known = isAll(given) && data.facts.histograms?.labels.find(({ name }) => name === label);
    if (known)
        return known;
    const times = [];
    let joined = 0;
    for (const list of rowsOf(data, streams))
        for (const row of list)
            for (let i = firstAfter(data, row, b); i < row.to && (row.overlaps || data.begin[i] < e); i++) {
                if (!isIn(data, i, b, e))
                    continue;
                if (data.count[i] > 1)
                    joined += data.count[i];
                else if (data.labels[data.place[i]] === label)
                    times.push(Math.min(e, data.end[i]) - Math.max(b, data.begin[i]));
            }
    const sorted = Float64Array.from(times).sort();
    return { count: times.length, buckets: bucketsOf(sorted), note: joined ? `Only those of at least ${duration(data.column, perTick(f))} are certainly in this file one by one.` : undefined };
}
