// Answers from the data in a page that is a file, in the place of the server. 'tracebed view --html' joins this and the modules of
// the page into one script; the server's page does not load it.
// SPDX-License-Identifier: MIT
import { answerWith } from "../api.js";
import { count, duration, moment, plural } from "../text.js";
import { readAll, stored } from "./inside_data.js";
import { insideName, insideSearch, insideSpan } from "./inside_spans.js";
import { insideFlame, insideHistogram, insideTable } from "./inside_sums.js";
import { insideFlows, insideGaps, insideMarks, insidePlots, insideWindow } from "./inside_window.js";

let reading = null; // a promise of the list of files

function storedAnswer(f, key) {
    const found = stored[f ?? 0]?.facts[key];
    if (!found)
        throw new Error("This is not in the file; it takes the trace itself.");
    return found;
}

const ANSWERS = {
    window: insideWindow, marks: insideMarks, plots: insidePlots, flows: insideFlows, table: insideTable, flame: insideFlame,
    histogram: insideHistogram, span: insideSpan, name: insideName, search: insideSearch,
    gaps: (given, trace) => insideGaps(given, trace.files[given.f ?? 0].ticks),
    critical: ({ f, id }) => storedAnswer(f, `critical of ${id}`),
    memory: ({ f, by, of }) => storedAnswer(f, `memory by ${by} of ${of}`),
    memory_flame: ({ f, of }) => storedAnswer(f, `memory_flame of ${of}`),
    source: () => ({ lines: [] }),
    trace: (_, trace) => trace,
};

// ---- What is in the file ----

function spansText(data, scale) {
    if (data.spanCount === 0)
        return "no spans";
    if (data.isComplete)
        return `all ${plural(data.spanCount, "span")}, one by one`;
    return `${count(data.singleCount)} of ${plural(data.spanCount, "span")} one by one, among them all of at least ${duration(data.column, scale)}; the others are joined`;
}

function listText(list, what, otherwise) {
    if (list?.count === 0)
        return null;
    return list?.items ? `all ${count(list.count)} ${what}` : `${list ? count(list.count) + " " : ""}${what} ${otherwise}`;
}

/** Sentences: what the file has, and what was left out. */
function contents(file, data) {
    const { facts } = data, scale = file.ns_per_tick, has = file.has;
    const lists = [has.messages || has.instants || facts.marks?.count ? listText(facts.marks, "messages and instants", "without their texts, joined") : null,
        has.counters || facts.counters?.count ? listText(facts.counters, "values of counters", "joined") : null,
        listText(facts.arguments, "spans with arguments", "without these arguments")];
    const isPart = facts.b > 0 || facts.e < file.ticks;
    return [spansText(data, scale), ...lists, isPart ? `only from ${moment(facts.b, scale)} to ${moment(facts.e, scale)}` : null,
        facts.filtered ? "only what the options of the command took" : null, "no lines of source code"].filter(text => text);
}

function shortly(file, data) {
    const parts = [data.isComplete ? null : `spans under ${duration(data.column, file.ns_per_tick)} joined in this file`,
        data.facts.marks?.items === null || data.facts.arguments?.items === null || !data.facts.marks ? "some texts left out" : null,
        data.facts.b > 0 || data.facts.e < file.ticks ? "a part of the trace" : null, data.facts.filtered ? "filtered" : null];
    return parts.filter(text => text).join(", ");
}

async function read() {
    const trace = await readAll();
    trace.files.forEach((file, f) => Object.assign(file, { is_live: false, inside: contents(file, stored[f]), left_out: shortly(file, stored[f]) }));
    return trace;
}

// ---- Answers ----

function numbersIn(parameters) {
    return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "")
        .map(([key, value]) => [key, ["f", "b", "e", "w", "depth", "max", "s", "id", "against", "ab", "ae"].includes(key) ? Number(value) : value]));
}

export async function answerInside(path, parameters = {}) {
    reading ??= read();
    const trace = await reading;
    if (!Object.hasOwn(ANSWERS, path))
        throw new Error(`${path}: this is not in the file.`);
    return ANSWERS[path](numbersIn(parameters), trace);
}

answerWith(answerInside);
globalThis.tracebed = { ask: answerInside }; // for the console: await tracebed.ask("table", { b: 0, e: 1000 })
