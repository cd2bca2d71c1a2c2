// Draws the tracks, and finds what is at a place of the picture.
// SPDX-License-Identifier: MIT
import { extras, pictureKey, pictures } from "./api.js";
import { shared, state } from "./state.js";
import { byId, bytes, colorOf, count, isolated, visible } from "./text.js";
import { rowAt, rowOf, rows, size, threadsBelow } from "./tracks.js";

let canvas, context, looks = {};
let width = 0, height = 0;
let hatches = new Map();

export function startDrawing() {
    canvas = byId("picture");
    context = canvas.getContext("2d", { alpha: false });
}

/** The colors of the theme, which the style sheet has. */
export function readLooks() {
    const style = getComputedStyle(document.documentElement);
    const get = name => style.getPropertyValue("--" + name).trim();
    looks = Object.fromEntries(["back", "raised", "sunken", "line", "line-strong", "text", "faint", "accent", "range", "hit", "bad", "warn",
        "good", "plot", "busy"].map(name => [name, get(name)]));
    const scale = parseFloat(style.fontSize) / 16;
    looks.font = `${11.5 * scale}px ${style.fontFamily}`;
    looks.small = `${10.5 * scale}px ${style.fontFamily}`;
    hatches = new Map();
    widths = new Map();
    return looks;
}

export function pictureWidth() {
    return width;
}

export function timeAt(x) {
    const { b, e } = state.shown;
    return b + x * (e - b) / Math.max(1, width);
}

export function placeOf(ticks) {
    const { b, e } = state.shown;
    return (ticks - b) * width / (e - b);
}

/** Gives a canvas as many pixels as the screen has for it. */
export function fitCanvas(target, wide, high) {
    const ratio = devicePixelRatio || 1;
    const w = Math.max(1, Math.round(wide * ratio)), h = Math.max(1, Math.round(high * ratio));
    if (target.width !== w || target.height !== h) {
        target.width = w;
        target.height = h;
    }
    const made = target.getContext("2d");
    made.setTransform(w / wide, 0, 0, h / high, 0, 0);
    return made;
}

export function fitPicture() {
    width = Math.max(1, canvas.clientWidth);
    height = Math.max(1, byId("scroll").clientHeight);
    canvas.style.height = height + "px";
}

// ---- Fillings: several spans in one part ----

function hatch(color) {
    let pattern = hatches.get(color);
    if (!pattern) {
        const tile = element2d(6);
        tile.strokeStyle = color;
        tile.lineWidth = 1.6;
        for (const offset of [-6, 0, 6]) {
            tile.beginPath();
            tile.moveTo(offset - 1, 7);
            tile.lineTo(offset + 7, -1);
            tile.stroke();
        }
        pattern = context.createPattern(tile.canvas, "repeat");
        hatches.set(color, pattern);
    }
    return pattern;
}

function element2d(side) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = side;
    return tile.getContext("2d");
}

// ---- Texts ----

let widths = new Map();

/** As much of the text as fits. */
export function fitText(target, text, room) {
    let wide = widths.get(text);
    if (wide === undefined) {
        wide = target.measureText(text).width;
        if (widths.size > 5000)
            widths.clear();
        widths.set(text, wide);
    }
    if (wide <= room)
        return text;
    const characters = Array.from(text.slice(0, 400));
    let length = Math.min(characters.length, Math.floor(room / wide * text.length));
    while (length > 0) {
        const cut = characters.slice(0, length).join("") + "…";
        if (target.measureText(cut).width <= room)
            return length < 2 ? "" : cut;
        length--;
    }
    return "";
}

/** The texts of one depth, none of which leaves its line, whatever marks its characters have. */
function drawTexts(texts, top, high) {
    if (!texts.length)
        return;
    context.save();
    context.beginPath();
    context.rect(0, top, width, high);
    context.clip();
    context.textBaseline = "middle";
    for (const { x, room, text, color } of texts) {
        const cut = fitText(context, text, room);
        if (cut !== "") {
            context.fillStyle = color;
            context.fillText(isolated(cut), x, top + high / 2 + 0.5);
        }
    }
    context.restore();
}

// ---- Spans ----

/**
 * Draws the parts of one picture between the pixels 'left' and 'right'. A span is one solid piece; a filling is weaker
 * the less of it is busy, and hatched if it was only sampled, so that its number of spans is not known: 0.
 */
function drawParts(picture, f, top, high, depthMax, left, right, wantsText) {
    const { parts, names, isExact } = picture;
    const from = shared(f, 0), scale = (shared(f, 1e6) - from) / 1e6 * width / (state.shown.e - state.shown.b);
    const origin = placeOf(from), texts = new Map();
    const thin = high > 6 ? 1 : 0;
    for (let at = 0; at < parts.length; at += 8) {
        const depth = parts[at];
        let x0 = origin + parts[at + 1] * scale, x1 = x0 + parts[at + 2] * scale;
        if (depth >= depthMax || x1 < left || x0 > right)
            continue;
        const begin = Math.max(x0, left);
        x1 = Math.min(Math.max(x1, x0 + 1), right);
        const wide = Math.max(x1 - begin, Math.min(1, right - begin));
        const y = top + depth * high, label = names[parts[at + 6]] ?? "", color = colorOf(label);
        if (parts[at + 3] === 1) {
            context.fillStyle = color.fill;
            context.fillRect(begin, y, wide > 3 ? wide - 0.75 : wide, high - thin);
            if (wantsText && wide > 28) {
                if (!texts.has(depth))
                    texts.set(depth, []);
                texts.get(depth).push({ x: Math.max(begin, 0) + 4, room: Math.min(x1, width) - Math.max(begin, 0) - 8, text: visible(label), color: color.text });
            }
        } else {
            drawFilling(begin, y, wide, high - thin, parts[at + 4] / Math.max(1, parts[at + 2]), color, isExact || parts[at + 3] > 0);
        }
    }
    if (texts.size) {
        context.font = looks.font;
        for (const [depth, list] of texts)
            drawTexts(list, top + depth * high, high - thin);
    }
}

function drawFilling(x, y, wide, high, share, color, isExact) {
    const density = Math.min(1, share);
    context.globalAlpha = (isExact ? 0.35 : 0.2) + (isExact ? 0.65 : 0.4) * density;
    context.fillStyle = color.joined;
    context.fillRect(x, y, wide, high);
    if (!isExact) {
        context.globalAlpha = 0.55;
        context.fillStyle = hatch(looks.faint);
        context.fillRect(x, y, wide, high);
    }
    context.globalAlpha = 1;
}

/** The newest picture, and beside it what older ones have. */
function drawStream(key, f, top, high, depthMax, wantsText) {
    const picture = pictures.get(key);
    if (!picture)
        return;
    const { now, before, whole } = picture;
    let left = placeOf(shared(f, now.b)), right = placeOf(shared(f, now.e));
    drawParts(now, f, top, high, depthMax, Math.max(0, left), Math.min(width, right), wantsText);
    for (const older of [before, whole]) {
        if (!older || (left <= 0 && right >= width))
            continue;
        const oldLeft = Math.max(0, placeOf(shared(f, older.b))), oldRight = Math.min(width, placeOf(shared(f, older.e)));
        if (oldLeft < left)
            drawParts(older, f, top, high, depthMax, oldLeft, Math.min(left, oldRight), false);
        if (oldRight > right)
            drawParts(older, f, top, high, depthMax, Math.max(right, oldLeft), oldRight, false);
        left = Math.min(left, oldLeft);
        right = Math.max(right, oldRight);
    }
}

function drawGroup(row, top) {
    context.fillStyle = row.kind === "file" ? looks.raised : looks.sunken;
    context.fillRect(0, top, width, row.height);
    if (!row.isCollapsed)
        return;
    const threads = threadsBelow(row), high = (row.height - 4) / Math.max(1, threads.length);
    threads.forEach((thread, index) =>
        drawStream(pictureKey(thread.f, thread.s), row.f, top + 2 + index * high, Math.max(high, 0.5), 1, false));
}

function drawAsync(row, top) {
    const spans = extras[row.f]?.async ?? [], names = extras[row.f]?.names ?? {};
    const parts = spans.flatMap(span => [span.depth, span.b, span.e - span.b, 1, span.e - span.b, span.e - span.b, span.id, 0]);
    drawParts({ parts, names, isExact: true }, row.f, top + row.strip, row.spanHeight, row.depths, 0, width, !row.isCollapsed);
}

// ---- Plots ----

function drawPlot(row, top) {
    const plots = (extras[row.f]?.plots ?? []).filter(plot => plot.id === row.plot && plot.p === row.p);
    let low = 0, high = 0;
    for (const { points } of plots)
        for (let at = 0; at < points.length; at += 4) {
            low = Math.min(low, points[at + 1]);
            high = Math.max(high, points[at + 3]);
        }
    if (high === low)
        high = low + 1;
    const room = row.height - 6, yOf = value => top + 3 + room - (value - low) / (high - low) * room;
    for (const plot of plots)
        drawPlotLine(plot, row.f, yOf);
    context.font = looks.small;
    context.fillStyle = looks.faint;
    context.textBaseline = "top";
    if (plots.some(plot => plot.points.length) && !row.isCollapsed) {
        context.fillText(plotValue(row, high), 4, top + 3);
        context.textBaseline = "bottom";
        context.fillText(plotValue(row, low), 4, top + row.height - 2);
    }
}

export function plotValue(row, value) {
    if (row.unit === "bytes")
        return bytes(Math.round(value));
    const text = Math.abs(value) >= 1e6 ? count(Math.round(value)) : String(+value.toPrecision(6));
    return row.unit ? `${text} ${visible(row.unit)}` : text;
}

/** The band between lowest and highest, and the mean as a line: a value holds until the next. */
function drawPlotLine(plot, f, yOf) {
    const { points, column } = plot, begin = plot.b ?? extras[f].b, end = placeOf(shared(f, extras[f].e));
    const xOf = index => placeOf(shared(f, begin + index * column));
    context.fillStyle = looks.plot;
    context.beginPath();
    for (let at = 0; at < points.length; at += 4) {
        const x = xOf(points[at]), next = at + 4 < points.length ? xOf(points[at + 4]) : end;
        if (next < 0 || x > width)
            continue;
        context.globalAlpha = 0.22;
        context.fillRect(x, yOf(points[at + 3]), Math.max(1, next - x), yOf(0) - yOf(points[at + 3]));
        context.globalAlpha = 0.45;
        context.fillRect(x, yOf(points[at + 3]), Math.max(1, Math.min(next, xOf(points[at] + 1)) - x), Math.max(0, yOf(points[at + 1]) - yOf(points[at + 3])));
        context.lineTo(x, yOf(points[at + 2]));
        context.lineTo(next, yOf(points[at + 2]));
    }
    context.globalAlpha = 1;
    context.strokeStyle = looks.plot;
    context.lineWidth = 1.25;
    context.stroke();
}

// ---- Marks, gaps, arrows, hits ----

const MARK_LOOKS = ["faint", "accent", "warn", "bad"];

function drawMarks(row, top) {
    const marks = extras[row.f]?.marks.get(row.s) ?? [];
    for (let at = 0; at < marks.length; at += 4) {
        const x = placeOf(shared(row.f, marks[at]));
        if (x < -6 || x > width + 6)
            continue;
        context.fillStyle = looks[MARK_LOOKS[marks[at + 3]] ?? "faint"];
        context.beginPath();
        const half = marks[at + 3] === 0 ? 3 : 4;
        context.moveTo(x - half, top + 1);
        context.lineTo(x + half, top + 1);
        context.lineTo(x, top + row.strip);
        context.fill();
        if (marks[at + 1] > 1)
            context.fillRect(x - half, top + 1, 2 * half, 2);
    }
}

function drawGaps(row, top) {
    for (const gap of extras[row.f]?.gaps ?? []) {
        if (gap.s !== null && gap.s !== row.s)
            continue;
        const x0 = placeOf(shared(row.f, gap.b)), x1 = Math.max(placeOf(shared(row.f, gap.e)), x0 + 2);
        if (x1 < 0 || x0 > width)
            continue;
        const color = gap.what === "overwritten" ? looks.faint : looks.bad;
        const left = Math.max(x0, 0), wide = Math.min(x1, width) - left;
        context.globalAlpha = 0.16;
        context.fillStyle = color;
        context.fillRect(left, top, wide, row.height - 1);
        context.globalAlpha = 0.8;
        context.fillStyle = hatch(color);
        context.fillRect(left, top, wide, Math.min(5, row.height));
        context.fillRect(left, top + row.height - 5, wide, 4);
        context.globalAlpha = 1;
    }
}

function drawArrows(offset) {
    context.lineWidth = 1.25;
    context.strokeStyle = context.fillStyle = looks.accent;
    state.files.forEach((_, f) => {
        for (const { from, to } of extras[f]?.arrows ?? [])
            drawArrow(rowOf(f, from.s), placeOf(shared(f, from.t)), rowOf(f, to.s), placeOf(shared(f, to.t)), offset);
    });
}

function drawArrow(fromRow, x0, toRow, x1, offset) {
    if (!fromRow || !toRow || Math.max(x0, x1) < 0 || Math.min(x0, x1) > width)
        return;
    const middle = row => row.y + row.strip + row.spanHeight / 2 - offset;
    const y0 = middle(fromRow), y1 = middle(toRow), bend = Math.max(14, Math.min(90, Math.abs(x1 - x0) / 2));
    context.globalAlpha = 0.75;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 6, y1 - 3.5);
    context.lineTo(x1 - 6, y1 + 3.5);
    context.fill();
    context.globalAlpha = 1;
}

/** The depth at which a span is drawn as a part of its own; undefined: at none. */
function depthOf(hit) {
    const picture = pictures.get(pictureKey(hit.f, hit.s))?.now;
    if (!picture || hit.kind !== "span")
        return undefined;
    if (!picture.depths) {
        picture.depths = new Map();
        for (let at = 0; at < picture.parts.length; at += 8)
            if (picture.parts[at + 3] === 1)
                picture.depths.set(picture.parts[at + 1] + ":" + picture.parts[at + 6], picture.parts[at]);
    }
    return picture.depths.get(hit.b + ":" + hit.id);
}

/** A hit that is drawn is framed; one that is too short for that has a line across its track. */
function drawHit(hit, isCurrent, row, top) {
    const x0 = placeOf(shared(hit.f, hit.b)), x1 = placeOf(shared(hit.f, hit.e)), depth = depthOf(hit);
    context.lineWidth = isCurrent ? 2.5 : 1.25;
    if (depth !== undefined && depth < row.depths && x1 - x0 > 4) {
        context.strokeRect(x0 + 0.5, top + row.strip + depth * row.spanHeight + 0.5, x1 - x0 - 1, row.spanHeight - 2);
        return;
    }
    const wide = isCurrent ? 3 : 1.5;
    context.fillRect(x0 - wide / 2, top, wide, Math.min(row.height, 9));
    context.globalAlpha = isCurrent ? 0.8 : 0.3;
    context.fillRect(x0 - wide / 2, top, wide, row.height - 1);
    context.globalAlpha = 1;
}

function drawHits(offset) {
    context.fillStyle = context.strokeStyle = looks.hit;
    const rowsOf = new Map(rows.filter(row => row.kind === "thread").map(row => [pictureKey(row.f, row.s), row]));
    [...state.hits, ...state.nearHits].forEach((hit, index) => {
        const row = rowsOf.get(pictureKey(hit.f, hit.s));
        if (row && row.y - offset <= height && row.y + row.height >= offset && shared(hit.f, hit.e) >= state.shown.b && shared(hit.f, hit.b) <= state.shown.e)
            drawHit(hit, index === state.hit, row, row.y - offset);
    });
}

// ---- The selection ----

function outline(x0, x1, y, high, color) {
    context.strokeStyle = color;
    context.lineWidth = 2;
    const left = Math.max(x0, -4), right = Math.min(Math.max(x1, x0 + 2), width + 4);
    context.strokeRect(left, y, right - left - 0.75, high - 1);
}

function drawSelected(offset) {
    const span = state.selected, row = span && rowOf(span.f, span.s);
    if (!row || !(span.depth < row.depths))
        return;
    const y = row.y - offset + row.strip + span.depth * row.spanHeight;
    outline(placeOf(shared(span.f, span.b)), placeOf(shared(span.f, span.e ?? span.b)), y, row.spanHeight, looks.text);
}

function drawRange() {
    if (!state.range)
        return;
    const x0 = placeOf(state.range.b), x1 = placeOf(state.range.e);
    context.fillStyle = looks.range;
    context.globalAlpha = 0.1;
    context.fillRect(x0, 0, x1 - x0, height);
    context.globalAlpha = 1;
    context.fillRect(x0 - 0.5, 0, 1, height);
    context.fillRect(x1 - 0.5, 0, 1, height);
}

function drawBookmarks() {
    context.fillStyle = looks.accent;
    context.globalAlpha = 0.5;
    for (const mark of state.bookmarks)
        if (mark.at !== undefined)
            context.fillRect(placeOf(mark.at) - 0.5, 0, 1, height);
    context.globalAlpha = 1;
}

// ---- All of it ----

function drawRow(row, top) {
    if (row.kind === "file" || row.kind === "process")
        drawGroup(row, top);
    else if (row.kind === "thread")
        drawStream(pictureKey(row.f, row.s), row.f, top + row.strip, row.spanHeight, row.depths, !row.isCollapsed);
    else if (row.kind === "async")
        drawAsync(row, top);
    else
        drawPlot(row, top);
    if (row.kind === "thread") {
        drawGaps(row, top);
        if (!row.isCollapsed)
            drawMarks(row, top);
    }
    context.fillStyle = looks.line;
    context.fillRect(0, top + row.height - 1, width, 1);
}

export function drawPicture(gridTicks) {
    context = fitCanvas(canvas, width, height);
    const offset = byId("scroll").scrollTop;
    context.fillStyle = looks.back;
    context.fillRect(0, 0, width, height);
    context.fillStyle = looks.line;
    context.globalAlpha = 0.6;
    for (const ticks of gridTicks)
        context.fillRect(Math.round(placeOf(ticks)), 0, 1, height);
    context.globalAlpha = 1;
    for (const row of rows)
        if (row.y + row.height > offset && row.y < offset + height)
            drawRow(row, row.y - offset);
    drawArrows(offset);
    drawHits(offset);
    drawSelected(offset);
    drawRange();
    drawBookmarks();
}

// ---- What is there ----

/** The part of a row's picture at x: the shortest that is there, or the nearest within two pixels. */
function partAt(row, depth, x) {
    const picture = pictures.get(pictureKey(row.f, row.s))?.now;
    if (!picture)
        return null;
    let best = null, bestRank = 3;
    const { parts } = picture;
    for (let at = 0; at < parts.length; at += 8) {
        if (parts[at] !== depth)
            continue;
        const x0 = placeOf(shared(row.f, parts[at + 1])), x1 = placeOf(shared(row.f, parts[at + 1] + parts[at + 2]));
        const distance = x < x0 ? x0 - x : x > x1 ? x - x1 : 0;
        const rank = distance + Math.min(0.5, (x1 - x0) / 1e7);
        if (rank < bestRank) {
            best = at;
            bestRank = rank;
        }
    }
    return best === null ? null : describePart(row, picture, best);
}

export function describePart(row, picture, at) {
    const { parts, names } = picture;
    return { kind: parts[at + 3] === 1 ? "span" : "filling", f: row.f, s: row.s, depth: parts[at], b: parts[at + 1],
        e: parts[at + 1] + parts[at + 2], count: parts[at + 3], busy: parts[at + 4], longest: parts[at + 5], id: parts[at + 6],
        name: names[parts[at + 6]] ?? "", open: parts[at + 7],
        isExact: picture.isExact || parts[at + 3] > 0 };
}

function markAt(row, x) {
    const found = extras[row.f], marks = found?.marks.get(row.s) ?? [];
    let best = null;
    for (let at = 0; at < marks.length; at += 4) {
        const distance = Math.abs(placeOf(shared(row.f, marks[at])) - x);
        if (distance < 6 && (best === null || distance < best.distance))
            best = { distance, kind: "mark", f: row.f, s: row.s, b: marks[at], count: marks[at + 1], id: marks[at + 2],
                level: marks[at + 3], name: found.marksNames[marks[at + 2]] ?? "" };
    }
    return best;
}

function gapAt(row, x) {
    const gap = (extras[row.f]?.gaps ?? []).find(one => (one.s === null || one.s === row.s) &&
        x >= placeOf(shared(row.f, one.b)) - 2 && x <= placeOf(shared(row.f, one.e)) + 2);
    return gap ? { ...gap, kind: "gap", f: row.f } : null;
}

function valueAt(row, x) {
    const values = [];
    for (const plot of extras[row.f]?.plots ?? []) {
        if (plot.id !== row.plot || plot.p !== row.p)
            continue;
        const index = Math.floor((timeAtLocal(row.f, x) - (plot.b ?? extras[row.f].b)) / plot.column);
        let at = -1;
        for (let next = 0; next < plot.points.length && plot.points[next] <= index; next += 4)
            at = next;
        if (at >= 0)
            values.push({ s: plot.s, low: plot.points[at + 1], mean: plot.points[at + 2], high: plot.points[at + 3] });
    }
    return values.length ? { kind: "value", f: row.f, row, values } : null;
}

function timeAtLocal(f, x) {
    const from = shared(f, 0);
    return (timeAt(x) - from) / ((shared(f, 1e6) - from) / 1e6);
}

function asyncAt(row, x, depth) {
    const t = timeAtLocal(row.f, x), extra = extras[row.f];
    const span = extra?.async.find(one => one.depth === depth && one.b <= t && one.e >= t);
    return span ? { kind: "async", f: row.f, ...span, count: 1, name: extra.names[span.id] ?? "" } : null;
}

/** What is at a place of the canvas; null: nothing. */
export function thingAt(x, y) {
    const row = rowAt(y + byId("scroll").scrollTop);
    if (!row)
        return null;
    const inside = y + byId("scroll").scrollTop - row.y;
    const depth = Math.floor((inside - row.strip) / row.spanHeight);
    if (row.kind === "plot")
        return valueAt(row, x);
    if (row.kind === "async")
        return asyncAt(row, x, depth);
    if (row.kind !== "thread")
        return null;
    return (inside < row.strip ? markAt(row, x) : partAt(row, depth, x)) ?? gapAt(row, x);
}

