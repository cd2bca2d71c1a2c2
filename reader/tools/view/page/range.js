// The panel of a range of time: a table of the labels, the distribution of one, the share of each thread, and the
// critical path of a flow. Without a range it is about all of the time.
// SPDX-License-Identifier: MIT
import { ask, Cancelled, filters } from "./api.js";
import { fitCanvas, readLooks } from "./draw.js";
import { bounds, changed, localRange, on, perTick, reveal, select, selectRange, shared, state } from "./state.js";
import { byId, count, duration, element, moment, nameElement, percent, plural, swatch, visible } from "./text.js";
import { showStream } from "./tracks.js";

/** The part of time that panels are about. */
export function scope() {
    return state.range ?? bounds();
}

export function scopeElement() {
    const { b, e } = scope(), scale = perTick();
    return element("span", { class: "note" }, state.range ? `${moment(b, scale, (e - b) / 1000)} to ${moment(e, scale, (e - b) / 1000)}, ${duration(e - b, scale)}. ` : `All of the time, ${duration(e - b, scale)}. Drag on the ruler to select a part. `,
        state.range ? element("button", { class: "link", onclick: () => { selectRange(null); changed("range-chosen"); } }, "All of the time") : null);
}

/** A choice among the files, where there are several. */
export function fileChoice(key, changedTo) {
    if (state.files.length < 2)
        return null;
    const made = element("select", { "aria-label": "Trace", onchange: event => { state.table[key] = Number(event.target.value); changedTo(); } },
        ...state.files.map((file, f) => element("option", { value: f }, visible(file.name))));
    made.value = String(state.table[key] ?? 0);
    return made;
}

/** Asks for something about the range; the answer is dropped if another has been asked for in the meantime. */
const asked = new Map();
export async function askOfRange(what, f, more = {}) {
    asked.get(what)?.abort();
    const abort = new AbortController();
    asked.set(what, abort);
    const range = localRange(f, scope());
    if (!range)
        throw new Error("This trace has nothing in this part of time.");
    return ask(what, { f, ...range, ...filters(), ...more }, abort.signal);
}

export function showError(place, error) {
    if (!(error instanceof Cancelled))
        place.replaceChildren(element("p", { class: "error" }, error.message));
}

// ---- Sortable tables ----

/**
 * A table whose headings sort it. 'columns' are {title, value: row => number or text, show: row => node or text}; the
 * first is what a row is called, and others have bars for their share of 'total' if they have 'total'.
 */
export function sortableTable(columns, list, { sort, isUp = false, choose = null, label }) {
    const body = element("tbody"), heads = [];
    const order = { by: sort, isUp };
    const fill = () => {
        const { value } = columns[order.by];
        const sorted = [...list].sort((one, other) => {
            const a = value(one), b = value(other);
            return (typeof a === "string" ? a.localeCompare(b) : a - b) * (order.isUp ? 1 : -1);
        });
        body.replaceChildren(...sorted.map(row => rowElement(columns, row, choose)));
        heads.forEach((head, index) => {
            if (index === order.by)
                head.setAttribute("aria-sort", order.isUp ? "ascending" : "descending");
            else
                head.removeAttribute("aria-sort");
        });
    };
    columns.forEach((column, index) => heads.push(element("th", { scope: "col" }, element("button", { onclick: () => {
        order.isUp = order.by === index ? !order.isUp : index === 0;
        order.by = index;
        fill();
    } }, column.title))));
    fill();
    return element("table", { "aria-label": label }, element("thead", {}, element("tr", {}, ...heads)), body);
}

function rowElement(columns, row, choose) {
    return element("tr", {}, ...columns.map((column, index) => {
        const shown = column.show(row);
        if (column.total)
            return barCell(shown, column.value(row) / column.total);
        return element("td", {}, index === 0 && choose ? element("button", { class: "link", onclick: () => choose(row) }, ...[shown].flat()) : shown);
    }));
}

export function barCell(shown, share) {
    const bar = element("i", { "aria-hidden": "true" });
    bar.style.width = Math.max(0, Math.min(100, 100 * share)) + "%";
    return element("td", { class: "bar" }, bar, element("span", {}, shown));
}

/** What an answer says about itself. */
export function noteElement(answer) {
    return answer.note ? element("p", { class: "note" }, answer.note) : "";
}

// ---- The table ----

function labelTable(f, answer) {
    const scale = perTick(f), time = key => ({ value: row => row[key], show: row => duration(row[key], scale) });
    const total = answer.rows.reduce((all, row) => all + row.self, 0) || 1;
    return sortableTable([
        { title: "Name", value: row => row.name, show: row => [swatch(row.name), nameElement(row.name, 160)] },
        { title: "Count", value: row => row.count, show: row => count(row.count) },
        { title: "Total", ...time("total") }, { title: "Self", ...time("self"), total }, { title: "Self share", value: row => row.self, show: row => percent(row.self / total) },
        { title: "Min", ...time("min") }, { title: "p50", ...time("p50") }, { title: "p99", ...time("p99") }, { title: "Max", ...time("max") }],
    answer.rows, { sort: 3, choose: row => showHistogram(f, row.name), label: "Labels by time" });
}

function threadTable(f, answer) {
    const range = localRange(f, scope()), length = Math.max(1, range.e - range.b), tracks = new Map(state.files[f].tracks.map(track => [track.s, track]));
    const name = row => tracks.get(row.s)?.name || `${tracks.get(row.s)?.kind ?? "stream"} ${tracks.get(row.s)?.tid ?? row.s}`;
    return sortableTable([
        { title: "Thread", value: name, show: row => nameElement(name(row)) },
        { title: "Busy", value: row => row.busy, show: row => `${duration(row.busy, perTick(f))}, ${percent(row.busy / length)}`, total: length },
        { title: "Spans", value: row => row.spans, show: row => count(row.spans) }],
    answer.threads, { sort: 1, choose: row => showStream(f, row.s), label: "Threads" });
}

export async function showRange(pane) {
    const f = state.table.range ?? 0, table = element("div", { class: "wide", "aria-busy": "true" }, element("p", { class: "note" }, "Counting …")), beside = element("div", {});
    pane.replaceChildren(element("div", { class: "actions" }, fileChoice("range", () => showRange(pane)) ?? "", scopeElement()),
        element("div", { class: "columns" }, table, beside));
    try {
        const answer = await askOfRange("table", f);
        table.replaceChildren(noteElement(answer), labelTable(f, answer), answer.left_out ? element("p", { class: "note" }, `${plural(answer.left_out, "more label")} with less time`) : "");
        table.removeAttribute("aria-busy");
        beside.replaceChildren(element("div", { id: "histogram" }), element("h3", {}, "Threads"), threadTable(f, answer), criticalChoice(f));
    } catch (error) {
        showError(table, error);
    }
}

// ---- The distribution of a label ----

async function showHistogram(f, label) {
    const place = byId("histogram");
    try {
        const answer = await askOfRange("histogram", f, { label, n: undefined });
        const chart = element("canvas", { class: "chart", role: "img", "aria-label": describeHistogram(f, label, answer) });
        place.replaceChildren(element("h3", {}, "Durations of ", nameElement(label, 80), `, ${plural(answer.count, "call")}`), chart, element("p", { class: "note" }, "Click a bar to see its bounds."), noteElement(answer));
        drawHistogram(chart, f, answer.buckets);
        chart.addEventListener("click", event => {
            const bucket = answer.buckets[Math.floor(event.offsetX / chart.clientWidth * answer.buckets.length)];
            if (bucket)
                place.querySelector("p").textContent = `${duration(bucket[0], perTick(f))} to ${duration(bucket[1], perTick(f))}: ${plural(bucket[2], "call")}`;
        });
    } catch (error) {
        showError(place, error);
    }
}

function describeHistogram(f, label, answer) {
    const most = answer.buckets.reduce((best, bucket) => bucket[2] > (best?.[2] ?? 0) ? bucket : best, null);
    return `Histogram of ${visible(label)}: ${plural(answer.count, "call")}` +
        (most ? `; most take ${duration(most[0], perTick(f))} to ${duration(most[1], perTick(f))}` : "");
}

function drawHistogram(chart, f, buckets) {
    const looks = readLooks(), width = chart.clientWidth, high = chart.clientHeight, foot = 18;
    const context = fitCanvas(chart, width, high), most = buckets.reduce((best, bucket) => Math.max(best, bucket[2]), 1);
    const wide = width / Math.max(1, buckets.length);
    context.fillStyle = looks.busy;
    buckets.forEach((bucket, index) => {
        const y = bucket[2] === 0 ? 0 : Math.max(1.5, bucket[2] / most * (high - foot - 4));
        context.fillRect(index * wide, high - foot - y, Math.max(1, wide - 1), y);
    });
    context.fillStyle = looks.line;
    context.fillRect(0, high - foot, width, 1);
    context.fillStyle = looks.faint;
    context.font = looks.small;
    context.textBaseline = "bottom";
    const every = Math.max(1, Math.ceil(buckets.length / Math.max(1, Math.floor(width / 80))));
    for (let index = 0; index < buckets.length; index += every)
        context.fillText(duration(buckets[index][0], perTick(f)), index * wide + 1, high - 1);
}

// ---- The critical path ----

function criticalChoice(f) {
    if (!state.files[f].has.flows && !state.files[f].has.async)
        return "";
    const place = element("div", {}), button = element("button", { onclick: () => showFlowNames(f, place) }, "Critical path of a flow …");
    place.append(button);
    return place;
}

async function showFlowNames(f, place) {
    try {
        const answer = await askOfRange("flows", f, { max: 10000, n: undefined }), steps = element("div", {});
        const ids = [...new Set([...answer.arrows, ...answer.async].map(one => one.id))].slice(0, 30);
        place.replaceChildren(element("h3", {}, ids.length ? "Critical path of the slowest" : "No flow begins in this part of time"), element("div", { class: "actions" },
            ...ids.map(id => element("button", { onclick: () => showCritical(f, id, steps) }, nameElement(answer.names[id] ?? String(id), 60)))), steps);
    } catch (error) {
        showError(place, error);
    }
}

async function showCritical(f, id, place) {
    try {
        const { steps } = await ask("critical", { f, id });
        const tracks = new Map(state.files[f].tracks.map(track => [track.s, track.name || track.tid || track.s]));
        place.replaceChildren(element("table", {}, element("tbody", {}, ...steps.map(step => element("tr", {},
            element("td", {}, element("button", { class: "link", onclick: () => showStep(f, step) }, nameElement(step.name || step.what, 100))),
            element("td", {}, step.what), element("td", {}, nameElement(tracks.get(step.s) ?? "")), element("td", {}, duration(step.e - step.b, perTick(f))))))));
    } catch (error) {
        showError(place, error);
    }
}

function showStep(f, step) {
    select(null);
    reveal(shared(f, step.b), shared(f, step.e));
    showStream(f, step.s);
}

export function startRange() {
    on("range-chosen only", () => {
        if (state.tab === "range")
            showRange(byId("pane"));
    });
}
