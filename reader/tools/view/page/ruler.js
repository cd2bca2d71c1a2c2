// Above the tracks: how much goes on over all of the time, with a frame around the view, and the ruler of the view.
// SPDX-License-Identifier: MIT
import { overview } from "./api.js";
import { fitCanvas, placeOf, readLooks, timeAt } from "./draw.js";
import { bounds, changed, perTick, selectRange, setView, shared, state } from "./state.js";
import { byId, duration, moment, rulerAnchor, rulerLabel, rulerStep } from "./text.js";

let rulerLooks = {};

export function readRulerLooks() {
    rulerLooks = readLooks();
}

/** The marks of the ruler: {step, anchor, ticks: […]}. */
export function rulerMarks() {
    const { b, e } = state.shown, width = byId("picture").clientWidth || 1;
    const step = rulerStep((e - b) / width * 110, perTick());
    const ticks = [];
    for (let index = Math.floor(b / step); index * step <= e && ticks.length < 1000; index++)
        ticks.push(index * step);
    return { step, anchor: rulerAnchor(b, perTick(), step), ticks };
}

function drawOverview(context, width, high) {
    const all = bounds(), scale = width / (all.e - all.b);
    context.fillStyle = rulerLooks.raised;
    context.fillRect(0, 0, width, high);
    state.files.forEach((file, f) => {
        const known = overview[f];
        if (!known)
            return;
        const top = Math.max(1, known.busy.reduce((one, other) => Math.max(one, other), 0));
        const share = high / state.files.length, floor = share * (f + 1);
        const xOf = index => (shared(f, Math.min(index * known.column, file.ticks)) - all.b) * scale;
        context.fillStyle = rulerLooks.busy;
        context.beginPath();
        context.moveTo(xOf(0), floor);
        known.busy.forEach((busy, index) => {
            const y = floor - busy / top * (share - 4);
            context.lineTo(xOf(index), y);
            context.lineTo(xOf(index + 1), y);
        });
        context.lineTo(xOf(known.busy.length), floor);
        context.fill();
    });
    context.fillStyle = rulerLooks.hit;
    for (const hit of state.hits)
        context.fillRect((shared(hit.f, hit.b) - all.b) * scale - 0.5, 0, 1, 5);
    drawFrame(context, (state.shown.b - all.b) * scale, (state.shown.e - all.b) * scale, width, high);
    for (const mark of state.bookmarks) {
        context.fillStyle = rulerLooks.accent;
        context.fillRect((mark.b + mark.e) / 2 * scale - all.b * scale - 1, high - 6, 3, 6);
    }
}

function drawFrame(context, left, right, width, high) {
    const x0 = Math.max(0, Math.min(left, width - 2)), x1 = Math.max(x0 + 2, Math.min(right, width));
    context.fillStyle = rulerLooks.sunken;
    context.globalAlpha = 0.72;
    context.fillRect(0, 0, x0, high);
    context.fillRect(x1, 0, width - x1, high);
    context.globalAlpha = 1;
    context.strokeStyle = rulerLooks.accent;
    context.lineWidth = 1.5;
    context.strokeRect(x0 + 0.75, 0.75, x1 - x0 - 1.5, high - 1.5);
}

function drawScale(context, width, top, high) {
    const { step, anchor, ticks } = rulerMarks();
    context.fillStyle = rulerLooks.back;
    context.fillRect(0, top, width, high);
    context.font = rulerLooks.small;
    context.textBaseline = "alphabetic";
    for (const at of ticks) {
        const x = placeOf(at);
        context.fillStyle = rulerLooks["line-strong"];
        context.fillRect(Math.round(x), top + high - 9, 1, 9);
        for (let part = 1; part < 5; part++)
            context.fillRect(Math.round(placeOf(at + step * part / 5)), top + high - 4, 1, 4);
        const label = rulerLabel(at, anchor, perTick(), step);
        context.fillStyle = rulerLooks.faint;
        if (x + 4 + context.measureText(label).width < width)
            context.fillText(label, x + 4, top + high - 10);
    }
    if (anchor !== null && ticks.length)
        drawAnchor(context, anchor, step, top, high);
    drawRangeOnScale(context, top, high);
}

function drawAnchor(context, anchor, step, top, high) {
    const text = moment(anchor, perTick(), Math.max(step, 1000 * step));
    context.fillStyle = rulerLooks["accent"];
    context.fillText(text, 4, top + high - 23);
}

function drawRangeOnScale(context, top, high) {
    if (!state.range)
        return;
    const x0 = placeOf(state.range.b), x1 = placeOf(state.range.e);
    context.fillStyle = rulerLooks.range;
    context.globalAlpha = 0.2;
    context.fillRect(x0, top, x1 - x0, high);
    context.globalAlpha = 1;
    const text = duration(state.range.e - state.range.b, perTick()), wide = context.measureText(text).width;
    const x = Math.max(4, Math.min((x0 + x1) / 2 - wide / 2, context.canvas.clientWidth - wide - 4));
    context.fillStyle = rulerLooks.back;
    context.fillRect(x - 3, top + 1, wide + 6, 13);
    context.fillStyle = rulerLooks.range;
    context.fillText(text, x, top + 11);
}

function overviewHeight() {
    return Math.round(byId("ruler").clientHeight * 0.44);
}

/** Draws both, and gives the times at which the tracks have lines. */
export function drawRuler() {
    const ruler = byId("ruler"), width = byId("picture").clientWidth, high = ruler.clientHeight, split = overviewHeight();
    ruler.style.width = width + "px";
    const context = fitCanvas(ruler, width, high);
    drawScale(context, width, split, high - split);
    drawOverview(context, width, split);
    return rulerMarks().ticks;
}

// ---- The mouse ----

/** Dragging in the overview moves the view, on the scale it selects a range. */
export function listenToRuler() {
    const ruler = byId("ruler");
    let drag = null;
    ruler.addEventListener("pointerdown", event => {
        if (event.button !== 0)
            return;
        ruler.setPointerCapture(event.pointerId);
        drag = event.offsetY < overviewHeight() ? { kind: "view" } : { kind: "range", from: timeAt(event.offsetX) };
        onDragTo(event, drag);
    });
    ruler.addEventListener("pointermove", event => {
        ruler.style.cursor = event.offsetY < overviewHeight() ? "grab" : "col-resize";
        if (drag)
            onDragTo(event, drag);
    });
    ruler.addEventListener("pointerup", () => {
        if (drag?.kind === "range")
            changed("range-chosen");
        drag = null;
    });
    ruler.addEventListener("pointercancel", () => { drag = null; });
}

function onDragTo(event, drag) {
    if (drag.kind === "range") {
        const to = timeAt(event.offsetX);
        selectRange({ b: Math.round(Math.min(drag.from, to)), e: Math.round(Math.max(drag.from, to)) });
        return;
    }
    const all = bounds(), width = state.view.e - state.view.b;
    const middle = all.b + event.offsetX / byId("ruler").clientWidth * (all.e - all.b);
    setView(middle - width / 2, middle + width / 2, { isSmooth: false, isJump: false });
}

/** What the view is, for a reader who does not see it. */
export function viewText() {
    const { b, e } = state.view;
    return `${moment(b, perTick(), (e - b) / 100)} to ${moment(e, perTick(), (e - b) / 100)}, ${duration(e - b, perTick())}`;
}

