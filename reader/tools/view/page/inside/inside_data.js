// The data of a page that is a file: what html_spans.c and html_facts.c have put into its blocks.
// SPDX-License-Identifier: MIT
import { labelOf } from "../text.js";

/** By number of the file: {facts, names, labels, rows by stream, and the arrays that rows are parts of}. */
export const stored = [];

const JOINED = 1, OPEN = 2, HAS_BUSY = 4;

async function inflate(block) {
    const text = atob(block.textContent), length = text.length, bytes = new Uint8Array(length);
    for (let at = 0; at < length; at++)
        bytes[at] = text.charCodeAt(at);
    block.remove();
    const stream = new DecompressionStream("deflate-raw"), writer = stream.writable.getWriter();
    const written = writer.write(bytes).then(() => writer.close());
    const inflated = await new Response(stream.readable).arrayBuffer();
    await written;
    return new Uint8Array(inflated);
}

async function blockOf(name, number) {
    return inflate(document.getElementById(`data-${name}-${number}`));
}

async function objectOf(name, number) {
    return JSON.parse(new TextDecoder().decode(await blockOf(name, number)));
}

// ---- Spans ----

/** Integers of 7 bits a byte, the lowest first. */
class Numbers {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
    }

    next() {
        const bytes = this.bytes;
        let byte = bytes[this.at++], value = byte & 127;
        for (let scale = 128; byte > 127; scale *= 128) {
            byte = bytes[this.at++];
            value += (byte & 127) * scale;
        }
        return value;
    }

    /** A column; most of its numbers have up to four bytes. */
    column(count, Kind = Float64Array) {
        const bytes = this.bytes, made = new Kind(count);
        const nbytes = this.next();
        let at = this.at;
        for (let i = 0; i < count; i++) {
            let byte = bytes[at++], value = byte & 127;
            if (byte > 127) {
                value |= ((byte = bytes[at++]) & 127) << 7;
                if (byte > 127)
                    value |= ((byte = bytes[at++]) & 127) << 14;
                if (byte > 127)
                    value |= ((byte = bytes[at++]) & 127) << 21;
                for (let scale = 2 ** 28; byte > 127; scale *= 128)
                    value += ((byte = bytes[at++]) & 127) * scale;
            }
            made[i] = value;
        }
        this.at += nbytes;
        return made;
    }
}

function readRows(numbers) {
    const rows = new Map();
    let from = 0;
    for (let left = numbers.next(); left > 0; left--) {
        const s = numbers.next(), depth = numbers.next(), to = from + numbers.next();
        if (!rows.has(s))
            rows.set(s, []);
        rows.get(s)[depth] = { s, depth, from, to, overlaps: false };
        from = to;
    }
    for (const list of rows.values())
        for (let depth = 0; depth < list.length; depth++)
            list[depth] ??= { s: list[list.length - 1].s, depth, from: 0, to: 0, overlaps: false };
    return { rows, count: from };
}

/** Begins are stored as what lies between them and the ends before. */
function placeParts(begin, duration, end, row, first) {
    let before = first;
    for (let i = row.from; i < row.to; i++) {
        const stored = begin[i], difference = stored % 2 === 0 ? stored / 2 : -(stored + 1) / 2;
        row.overlaps ||= difference < 0 && i > row.from;
        begin[i] = before + difference;
        end[i] = before = begin[i] + duration[i];
    }
}

function countKinds(kinds, bit) {
    let sum = 0;
    for (let i = 0; i < kinds.length; i++)
        sum += kinds[i] & bit ? 1 : 0;
    return sum;
}

/** What only some of the parts have; most arrays are as small as they can be, because there may be millions of parts. */
function readOthers(data, numbers, kinds, duration) {
    const joined = countKinds(kinds, JOINED), busy = countKinds(kinds, HAS_BUSY), counts = numbers.column(joined), longests = numbers.column(joined), opens = numbers.column(joined);
    const busies = numbers.column(busy);
    Object.assign(data, { place: kinds, count: new Uint32Array(kinds.length).fill(1), open: joined ? new Uint32Array(kinds.length) : new Uint8Array(kinds.length),
        longest: joined ? duration.slice() : duration, busy: busy ? duration.slice() : duration });
    let atJoined = 0, atBusy = 0;
    for (let i = 0; i < kinds.length; i++) {
        const kind = kinds[i];
        kinds[i] = kind >>> 3;
        if ((kind & (JOINED | OPEN | HAS_BUSY)) === 0)
            continue;
        if (kind & HAS_BUSY)
            data.busy[i] = busies[atBusy++];
        data.open[i] = kind & OPEN ? 1 : 0;
        if (kind & JOINED) {
            data.count[i] = counts[atJoined];
            data.longest[i] = longests[atJoined];
            data.open[i] = opens[atJoined++];
        }
    }
}

function readSpans(bytes, data) {
    const numbers = new Numbers(bytes);
    for (let left = numbers.next(); left > 0; left--)
        data.ids.push(numbers.next());
    const { rows, count } = readRows(numbers), begin = numbers.column(count), duration = numbers.column(count), end = new Float64Array(count);
    const kinds = numbers.column(count, Uint32Array);
    Object.assign(data, { rows, begin, end });
    for (const list of rows.values())
        for (const row of list)
            placeParts(begin, duration, end, row, data.facts.b);
    readOthers(data, numbers, kinds, duration);
}

// ---- All of it ----

async function readTrace(number) {
    const [facts, known, spans] = await Promise.all([objectOf("facts", number), objectOf("names", number), blockOf("spans", number)]);
    const data = { facts, ids: [], names: new Map(Object.entries(known.names).map(([id, name]) => [Number(id), name])),
        column: known.column, spanCount: known.span_count, singleCount: known.single_count, unknownCount: known.unknown_count };
    data.isComplete = data.spanCount === data.singleCount;
    readSpans(spans, data);
    data.labels = data.ids.map(id => labelOf(data.names.get(id)?.name ?? `<id ${id}>`));
    stored[number] = data;
}

export async function readAll() {
    const trace = await objectOf("trace", 0);
    await Promise.all(trace.files.map((_, number) => readTrace(number)));
    return trace;
}

/** The rows of the streams that are asked for, "1,2,3" or all. */
export function rowsOf(data, streams) {
    if (!streams)
        return [...data.rows.values()];
    return String(streams).split(",").map(s => data.rows.get(Number(s))).filter(list => list);
}

/** The first part of a row that ends after 'tick', or is at it. */
export function firstAfter(data, row, tick) {
    if (row.overlaps)
        return row.from;
    let low = row.from, high = row.to;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (data.begin[middle] < tick)
            low = middle + 1;
        else
            high = middle;
    }
    return low > row.from && data.end[low - 1] > tick ? low - 1 : low;
}

/** Whether a part has anything in [b, e). */
export function isIn(data, i, b, e) {
    return data.begin[i] < e && (data.end[i] > b || data.begin[i] >= b);
}

const CLASSES = { alnum: "\\p{L}\\p{N}", alpha: "\\p{L}", blank: " \\t", cntrl: "\\p{Cc}", digit: "0-9", graph: "\\p{L}\\p{N}\\p{P}\\p{S}",
    lower: "\\p{Ll}", print: "\\p{L}\\p{N}\\p{P}\\p{S} ", punct: "\\p{P}\\p{S}", space: "\\s", upper: "\\p{Lu}", xdigit: "0-9A-Fa-f" };

/** A function that says whether a text matches a regular expression, as far as possible a POSIX one; null for an empty one. */
export function matcherOf(text, isRegex = true) {
    if (!text)
        return null;
    if (!isRegex)
        return subject => subject.includes(text);
    try {
        const pattern = new RegExp(text.replace(/\[:(\w+):\]/g, (all, name) => CLASSES[name] ?? all), text.includes("[:") ? "u" : "");
        return subject => pattern.test(subject);
    } catch (error) {
        throw new Error(`Invalid regular expression: ${error.message}`, { cause: error });
    }
}

/** By place of a name: whether it matches; null: all do. */
export function selectionOf(data, text) {
    const matches = matcherOf(text);
    return matches && Uint8Array.from(data.labels, label => matches(label) ? 1 : 0);
}
