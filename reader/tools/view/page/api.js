// The server's answers: single ones by ask(), and those of the view, which are kept until better ones are there. At
// most one request for a window is under way, and one waits; newer ones replace it.
// SPDX-License-Identifier: MIT
import { bounds, changed, localRange, state } from "./state.js";
import { labelOf } from "./text.js";

const page = Math.random().toString(36).slice(2, 12);
let sequence = 0, longSequence = 0;
/**
 * What may take long: of each of these, the server answers only the newest request about a file, and one at a time. Those with
 * 'page: null' are apart.
 */
const LONG = new Set(["table", "histogram", "flame", "span", "search", "critical", "memory", "memory_flame", "flows"]);
const lastAsked = new Map();

/** An answer that nobody waits for any more. */
export class Cancelled extends Error {}

/** Gives up the request that has this key, and returns the signal of the new one. */
function newest(key, signal) {
    const abort = new AbortController();
    signal?.addEventListener("abort", () => abort.abort());
    if (signal?.aborted)
        abort.abort();
    lastAsked.get(key)?.abort();
    lastAsked.set(key, abort);
    return abort.signal;
}

let answer = askServer;

/** Lets something else than the server answer: a function of a path, an object of parameters and a signal. */
export function answerWith(other) {
    answer = other;
}

async function askServer(path, parameters, signal) {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(parameters))
        if (value !== undefined && value !== null && value !== "")
            query.set(key, value);
    if (LONG.has(path) && parameters.quick === undefined && parameters.page !== null) {
        const file = parameters.f ?? 0;
        query.set("page", page + "f" + file);
        query.set("seq", ++longSequence);
        signal = newest(path + file, signal);
    }
    let response;
    try {
        response = await fetch(path + (query.size === 0 ? "" : "?" + query.toString().replaceAll("%2C", ",")), { signal, cache: "no-store" });
    } catch (error) {
        throw signal?.aborted ? new Cancelled() : new Error("The server does not answer. Is 'tracebed view' still running?", { cause: error });
    }
    if (response.status === 409)
        throw new Cancelled();
    const given = await response.json().catch(() => null);
    if (signal?.aborted)
        throw new Cancelled();
    if (!response.ok || given === null)
        throw new Error(given?.error ?? `${path}: the server answered with status ${response.status}`);
    return given;
}

export async function ask(path, parameters = {}, signal = undefined) {
    const given = await answer(path, parameters, signal);
    if (signal?.aborted)
        throw new Cancelled();
    for (const [id, name] of Object.entries(given.names ?? {}))
        given.names[id] = labelOf(name);
    return given;
}

/** The filters that the user has set, as parameters. */
export function filters() {
    return { n: state.only };
}

// ---- What is known of the view ----

/** By stream of a file: {now, before, whole}, each {b, e, column, isExact, parts, names}, in ticks of the file. */
export const pictures = new Map();
/** By file: marks by stream, gaps, plots, arrows, async spans. */
export const extras = [];
/** By file: the sum of the answer. */
export const sums = [];

export function pictureKey(f, s) {
    return f + ":" + s;
}

function keep(f, streams, answer) {
    const found = new Map(answer.streams.map(stream => [stream.s, stream.parts]));
    for (const s of streams) {
        const old = pictures.get(pictureKey(f, s)) ?? {};
        const picture = { b: answer.b, e: answer.e, column: answer.column, isExact: answer.exact,
            parts: found.get(s) ?? [], names: answer.names };
        const isWhole = answer.b <= 0 && answer.e >= state.files[f].ticks;
        const before = old.now && (old.now.b !== picture.b || old.now.e !== picture.e) ? old.now : old.before;
        pictures.set(pictureKey(f, s), { now: picture, before, whole: isWhole ? picture : old.whole });
    }
    sums[f] = { spans: answer.span_count, deeper: answer.deeper_count, unknown: answer.unknown_count,
        blocks: answer.blocks, bad: answer.bad_blocks, isExact: answer.exact, isFinal: answer.final ?? answer.exact, b: answer.b, e: answer.e };
}

export function forgetPictures() {
    pictures.clear();
    extras.length = 0;
}

// ---- The loader ----

let running = null; // {abort, isSketch}
let wanted = null;

/**
 * Asks for what is to be drawn: 'makeOrder' gives {view, columns, streams: a list for each file} when its turn has come.
 * While the exact answer is under way it is given up; a sketch, which is fast, is waited for.
 */
export function load(makeOrder) {
    wanted = makeOrder;
    if (running === null)
        turn();
    else if (!running.isSketch)
        running.abort.abort();
}

async function turn() {
    while (wanted !== null) {
        const order = wanted();
        wanted = null;
        running = { abort: new AbortController(), isSketch: true };
        try {
            await pass(order, running);
        } catch (error) {
            if (!(error instanceof Cancelled))
                setLoading("failed");
            showUnlessCancelled(error);
        }
        running = null;
    }
}

let trouble = () => {};
export function onTrouble(listener) {
    trouble = listener;
}

function showUnlessCancelled(error) {
    if (!(error instanceof Cancelled))
        trouble(error);
}

function setLoading(what) {
    document.body.dataset.state = what;
    changed("loading");
}

/** The view and a little around it, so that moving shows no emptiness. */
function wider(view) {
    const all = bounds(), margin = (view.e - view.b) / 8;
    return { b: Math.max(all.b, view.b - margin), e: Math.min(all.e, view.e + margin) };
}

async function pass(order, run) {
    const around = wider(order.view);
    const share = (around.e - around.b) / (order.view.e - order.view.b);
    const jobs = [];
    setLoading("loading");
    for (const [f, streams] of order.streams.entries()) {
        const range = localRange(f, around);
        if (range && streams.length)
            jobs.push({ f, streams, range, columns: Math.max(1, Math.min(8192, Math.ceil(order.columns * share))) });
    }
    for (const job of jobs)
        await windowOf(job, 1, run);
    const isExact = jobs.every(job => sums[job.f].isExact);
    run.isSketch = false;
    setLoading(isExact ? "exact" : "sketch");
    changed("data");
    if (wanted !== null)
        return;
    const others = Promise.all(jobs.map(job => extrasOf(job, run).catch(showUnlessCancelled)));
    for (const job of jobs)
        if (!sums[job.f].isFinal)
            await windowOf(job, 0, run);
    setLoading(jobs.every(job => sums[job.f].isExact) ? "exact" : "coarse"); // of the server, all are exact now
    changed("data");
    await others;
    document.body.dataset.seq = String(sequence);
    changed("data", "complete");
}

function streamsOf(job) {
    const all = state.files[job.f].tracks.length;
    return job.streams.length === all || job.streams.length > 1000 ? undefined : job.streams.join(",");
}

async function windowOf(job, sketch, run) {
    const answer = await ask("window", { f: job.f, b: job.range.b, e: job.range.e, w: job.columns, depth: state.depth,
        max: 20000, streams: streamsOf(job), sketch, seq: ++sequence, page, ...filters() }, run.abort.signal);
    keep(job.f, job.streams, answer);
}

/** Flows are followed event by event: not while one still moves. Who moves on does not wait either. */
function stillness(signal) {
    return new Promise((resolve, reject) => {
        const giveUp = () => reject(new Cancelled());
        setTimeout(resolve, 150);
        signal.addEventListener("abort", giveUp);
        if (signal.aborted)
            giveUp();
    });
}

async function extrasOf(job, run) {
    const { f, range, columns } = job, has = state.files[f].has, signal = run.abort.signal;
    const time = { f, b: range.b, e: range.e };
    const made = { ...range, gaps: [], marks: new Map(), marksNames: {}, plots: [], arrows: [], async: [], names: {} };
    const asked = [ask("gaps", time, signal).then(answer => { made.gaps = answer.gaps; })];
    if (has.messages || has.instants)
        asked.push(ask("marks", { ...time, w: columns, streams: streamsOf(job) }, signal).then(answer => {
            made.marks = new Map(answer.streams.map(stream => [stream.s, stream.marks]));
            made.marksNames = answer.names;
        }));
    if (state.files[f].counters.length || has.allocations)
        asked.push(ask("plots", { ...time, w: columns }, signal).then(answer => { made.plots = answer.plots; }));
    if (has.flows || has.async)
        asked.push(stillness(signal).then(() => ask("flows", { ...time, max: 500 }, signal)).then(answer => {
            Object.assign(made, { arrows: answer.arrows, async: answer.async, names: answer.names ?? {}, flowsLeftOut: answer.complete ? answer.left_out : Infinity });
        }));
    await Promise.all(asked);
    extras[f] = made;
    changed("extras");
}

// ---- The overview: how much goes on, over all of the time ----

export const overview = [];

let isOverviewDue = false;

/** Asks for it anew, unless that is under way. */
export async function loadOverview(columns) {
    if (isOverviewDue)
        return;
    isOverviewDue = true;
    try {
        await askOverview(columns);
    } finally {
        isOverviewDue = false;
    }
}

async function askOverview(columns) {
    for (const [f, file] of state.files.entries()) {
        const answer = await ask("window", { f, b: 0, e: file.ticks, w: columns, depth: 1, max: 20000, sketch: 1,
            seq: ++sequence, page: page + "o" });
        const busy = new Float64Array(Math.ceil(file.ticks / answer.column) + 1);
        for (const { parts } of answer.streams)
            for (let at = 0; at < parts.length; at += 8)
                addBusy(busy, parts[at + 1] / answer.column, parts[at + 2] / answer.column, parts[at + 4] / answer.column);
        overview[f] = { busy, column: answer.column };
    }
    changed("overview");
}

/** Spreads 'ticks' (in columns) evenly over the columns from 'begin' on. */
function addBusy(busy, begin, length, ticks) {
    if (length <= 0) {
        busy[Math.min(busy.length - 1, Math.floor(begin))] += ticks;
        return;
    }
    const end = Math.min(begin + length, busy.length);
    for (let column = Math.floor(begin); column < end; column++)
        busy[column] += ticks / length * (Math.min(end, column + 1) - Math.max(begin, column));
}

// ---- Live traces ----

/** Asks each half second whether a live trace has grown, until none is live. */
export function watch(generation, grown) {
    const poll = async () => {
        try {
            const answer = await ask("trace", { since: generation });
            generation = answer.generation;
            if (answer.files.length)
                grown(state.files.map(file => answer.files.find(other => other.f === file.f) ?? file));
            again(500);
        } catch (error) {
            trouble(error);
            again(5000);
        }
    };
    const again = wait => {
        if (state.files.some(file => file.is_live))
            setTimeout(poll, wait);
    };
    again(500);
}
