// The mouse, the touchpad and the keyboard, and the page that explains the keys.
// SPDX-License-Identifier: MIT
import { pictureKey, pictures } from "./api.js";
import { describePart, plotValue, thingAt, timeAt } from "./draw.js";
import { addBookmark } from "./links.js";
import { changed, pan, perTick, redoView, select, selectRange, setView, shared, state, undoView, wholeView, zoom, zoomTo } from "./state.js";
import { byId, count, duration, element, moment, nameElement, percent, plural, say, visible } from "./text.js";
import { rows, showStream } from "./tracks.js";

// ---- Selecting ----

/** Selects what is drawn somewhere. */
export function choose(thing) {
    if (!thing || thing.kind === "value")
        select(null);
    else if (thing.kind === "span" || thing.kind === "filling" || thing.kind === "mark")
        select({ ...thing });
}

function zoomToSelected() {
    const span = state.selected;
    if (span)
        zoomTo(shared(span.f, span.b), shared(span.f, span.e ?? span.b));
    else if (state.range)
        zoomTo(state.range.b, state.range.e);
}

/** The drawn parts of a track at a depth, by time. */
function partsOf(f, s, depth) {
    const picture = pictures.get(pictureKey(f, s))?.now, found = [];
    if (picture)
        for (let at = 0; at < picture.parts.length; at += 8)
            if (picture.parts[at] === depth)
                found.push(describePart({ f, s }, picture, at));
    return found.sort((one, other) => one.b - other.b);
}

function inSight(part) {
    return shared(part.f, part.e) >= state.view.b && shared(part.f, part.b) <= state.view.e;
}

function firstPart() {
    for (const row of rows)
        if (row.kind === "thread") {
            const part = partsOf(row.f, row.s, 0).find(inSight);
            if (part)
                return part;
        }
    return null;
}

/** Another part near the selected one: before and after it, or above and below. */
function neighbor(direction) {
    const span = state.selected;
    if (!span || span.depth === undefined)
        return firstPart();
    if (direction === "left")
        return partsOf(span.f, span.s, span.depth).findLast(part => part.b < span.b);
    if (direction === "right")
        return partsOf(span.f, span.s, span.depth).find(part => part.b > span.b);
    const step = direction === "up" ? -1 : 1, depth = span.depth + step;
    const near = partsOf(span.f, span.s, depth).filter(part => part.e >= span.b && part.b <= (span.e ?? span.b));
    return near.find(inSight) ?? near[0] ?? (depth < 0 || step === 1 ? otherTrack(span, step) : null);
}

function otherTrack(span, step) {
    const threads = rows.filter(row => row.kind === "thread");
    const index = threads.findIndex(row => row.f === span.f && row.s === span.s);
    for (let at = index + step; at >= 0 && at < threads.length; at += step) {
        const part = partsOf(threads[at].f, threads[at].s, 0).find(inSight);
        if (part)
            return part;
    }
    return null;
}

function moveSelection(direction) {
    const part = neighbor(direction);
    if (!part)
        return;
    choose(part);
    showStream(part.f, part.s, part.depth);
    const width = state.view.e - state.view.b, b = shared(part.f, part.b);
    if (!inSight(part))
        setView(b - width / 3, b + width * 2 / 3);
    say(`${visible(part.name)}, ${part.count === 1 ? "" : (part.count ? plural(part.count, "span") : "spans, sampled") + ", "}${duration(part.e - part.b, perTick(part.f))}`);
}

// ---- Keys ----

const KEYS = [
    ["w, +", "Zoom in at the pointer", () => zoom(0.6, pointerTime())],
    ["s, -", "Zoom out", () => zoom(1 / 0.6, pointerTime())],
    ["a, ArrowLeft", "Move left", () => pan(-0.25)],
    ["d, ArrowRight", "Move right", () => pan(0.25)],
    ["ArrowUp", "Scroll up", () => byId("scroll").scrollBy(0, -60)],
    ["ArrowDown", "Scroll down", () => byId("scroll").scrollBy(0, 60)],
    ["0, Home", "Show everything", () => wholeView()],
    ["f, Enter", "Zoom to the selected span or range", () => zoomToSelected()],
    ["u, Backspace", "Back to the previous view", () => undoView()],
    ["U", "Forward again", () => redoView()],
    ["Shift+ArrowLeft", "Select the span before", () => moveSelection("left")],
    ["Shift+ArrowRight", "Select the span after", () => moveSelection("right")],
    ["Shift+ArrowUp", "Select the caller, or the track above", () => moveSelection("up")],
    ["Shift+ArrowDown", "Select a callee, or the track below", () => moveSelection("down")],
    [",", "Previous call of the same name", () => changed("go:previous")],
    [".", "Next call of the same name", () => changed("go:next")],
    ["l", "Slowest call of the same name", () => changed("go:slowest")],
    ["r", "Select the time of the span, or of the view, as range", () => rangeOfSelected()],
    ["Escape", "Select nothing", () => escape()],
    ["/", "Search", () => focusSearch()],
    ["n", "Next hit", () => changed("go:hit+1")],
    ["N", "Previous hit", () => changed("go:hit-1")],
    ["b", "Bookmark this place", () => addBookmark()],
    ["x", "Align another trace: press it on a span of each", () => changed("go:align")],
    ["c", "Collapse or expand all tracks", () => byId("tracks-fold").click()],
    ["1, 2, 3, 4, 5, 6, 7", "Panels below", key => changed("go:tab" + key)],
    ["z", "Make the panel large or small", () => changed("go:large")],
    ["t", "Dark, light, as the system", () => byId("theme").click()],
    ["?", "This page", () => openHelp()],
];
const actions = new Map(KEYS.flatMap(([keys, , action]) => keys.split(", ").map(key => [key, action])));
actions.set("=", actions.get("+"));
for (const key of ["w", "s", "a", "d"])
    actions.set(key.toUpperCase(), actions.get(key));

function rangeOfSelected() {
    const span = state.selected;
    selectRange(span ? { b: shared(span.f, span.b), e: shared(span.f, span.e ?? span.b) } : { ...state.view });
    changed("range-chosen");
}

function escape() {
    select(null);
    selectRange(null);
    hideTip();
}

function focusSearch() {
    byId("search").focus();
    byId("search").select();
}

function onKey(event) {
    const target = event.target, isText = target.matches("input, textarea, select");
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || byId("help").open)
        return;
    if (isText) {
        if (event.key === "Escape")
            byId("picture").focus();
        return;
    }
    if ((event.key === "Enter" || event.key === " ") && target.matches("button, summary, a"))
        return;
    if (event.key.startsWith("Arrow") && target.closest("#pane, #tabs, #splitter"))
        return;
    const action = actions.get((event.shiftKey && event.key.startsWith("Arrow") ? "Shift+" : "") + event.key);
    if (action) {
        event.preventDefault();
        action(event.key);
    }
}

const KEY_SIGNS = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", Backspace: "⌫", Home: "Home" };

function openHelp() {
    const sign = key => element("kbd", {}, key.split("+").map(part => KEY_SIGNS[part] ?? part).filter(part => part).join(" + ") || "+");
    const list = KEYS.map(([keys, text]) => element("div", {}, element("span", {}, ...keys.split(", ").flatMap(key => [sign(key), " "])),
        element("span", {}, text)));
    const mouse = [["Wheel", "Scroll the tracks"], ["Ctrl + wheel, pinch", "Zoom"], ["Shift + wheel, swipe", "Move"], ["Drag", "Move"],
        ["Shift + drag, or on the ruler", "Select a range"], ["Double click", "Zoom to the span"], ["Alt + ↑ ↓ on a heading, or drag it", "Move a track"]]
        .map(([keys, text]) => element("div", {}, element("span", {}, keys), element("span", {}, text)));
    const reading = ["A solid block is one span. A weaker one stands for several: the stronger, the more of it is busy; its color is that of the longest.",
        "Hatched blocks are sampled, and become exact by themselves.", "Red hatched bands are events that were dropped or damaged."]
        .map(text => element("p", { class: "note" }, text));
    byId("help").replaceChildren(element("h2", {}, "Keys and mouse"), element("div", { class: "keys" }, ...list, ...mouse), ...reading,
        element("button", { onclick: () => byId("help").close(), autofocus: true }, "Close"));
    byId("help").showModal();
}

// ---- The mouse ----

let pointer = null; // {x, y} on the canvas

function pointerTime() {
    return pointer ? timeAt(pointer.x) : undefined;
}

function onWheel(event) {
    const line = event.deltaMode === 1 ? 30 : 1;
    if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * line / 300))), timeAt(event.offsetX), Math.abs(event.deltaY) > 60);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        pan((event.deltaX || event.deltaY) * line / byId("picture").clientWidth, false);
    }
}

function listenToDrags(canvas) {
    let drag = null;
    canvas.addEventListener("pointerdown", event => {
        if (event.button !== 0 && event.button !== 1)
            return;
        canvas.setPointerCapture(event.pointerId);
        drag = { x: event.offsetX, y: event.clientY, time: timeAt(event.offsetX), view: { ...state.shown }, scroll: byId("scroll").scrollTop,
            isRange: event.shiftKey, isMoved: false };
        hideTip();
    });
    canvas.addEventListener("pointermove", event => {
        pointer = { x: event.offsetX, y: event.offsetY };
        if (!drag)
            showTip(event);
        else if (drag.isMoved || Math.abs(event.offsetX - drag.x) > 3 || Math.abs(event.clientY - drag.y) > 3)
            dragTo(event, drag);
    });
    canvas.addEventListener("pointerup", event => {
        if (drag && !drag.isMoved)
            choose(thingAt(event.offsetX, event.offsetY));
        else if (drag?.isRange)
            changed("range-chosen");
        drag = null;
        canvas.style.cursor = "";
    });
    canvas.addEventListener("pointercancel", () => { drag = null; });
    canvas.addEventListener("pointerleave", () => {
        pointer = null;
        hideTip();
    });
    canvas.addEventListener("dblclick", event => {
        const thing = thingAt(event.offsetX, event.offsetY);
        if (thing && thing.b !== undefined)
            zoomTo(shared(thing.f, thing.b), shared(thing.f, thing.e ?? thing.b));
    });
}

function dragTo(event, drag) {
    drag.isMoved = true;
    if (drag.isRange) {
        const to = timeAt(event.offsetX);
        selectRange({ b: Math.round(Math.min(drag.time, to)), e: Math.round(Math.max(drag.time, to)) });
        return;
    }
    event.target.style.cursor = "grabbing";
    const move = (event.offsetX - drag.x) * (drag.view.e - drag.view.b) / Math.max(1, event.target.clientWidth);
    setView(drag.view.b - move, drag.view.e - move, { isSmooth: false, isJump: false });
    byId("scroll").scrollTop = drag.scroll - (event.clientY - drag.y);
}

// ---- What is under the pointer ----

const LEVELS = ["Instant", "Message", "Warning", "Error"];

function tipLines(thing) {
    const scale = perTick(thing.f);
    if (thing.kind === "gap")
        return [element("b", {}, visible(thing.what)), element("div", {}, nameElement(thing.text))];
    if (thing.kind === "value")
        return [element("b", {}, nameElement(thing.row.title)), ...thing.values.map(value => element("div", {}, value.low === value.high
            ? plotValue(thing.row, value.mean) : `${plotValue(thing.row, value.low)} … ${plotValue(thing.row, value.high)}, mean ${plotValue(thing.row, value.mean)}`))];
    if (thing.kind === "mark")
        return [element("b", {}, nameElement(thing.name || LEVELS[thing.level])), element("div", {}, thing.count > 1 ? `${count(thing.count)} here` : LEVELS[thing.level],
            ` at ${moment(thing.b, scale)}`)];
    const head = element("b", {}, nameElement(thing.name));
    if (thing.count === 1)
        return [head, element("div", {}, duration(thing.e - thing.b, scale), thing.open ? ", did not end" : "", ` at ${moment(thing.b, scale)}`)];
    return [element("b", {}, thing.count ? plural(thing.count, "span") : "Spans"), element("div", {}, `busy ${thing.isExact ? "" : "at least "}${percent(Math.min(1, thing.busy / Math.max(1, thing.e - thing.b)))} of ${duration(thing.e - thing.b, scale)}`),
        element("div", {}, `${thing.isExact ? "longest" : "one of"} ${duration(thing.longest, scale)}: `, nameElement(thing.name, 120)),
        thing.isExact ? null : element("div", {}, "sampled; the exact picture follows")].filter(line => line);
}

function showTip(event) {
    const thing = thingAt(event.offsetX, event.offsetY), tip = byId("tip");
    event.target.style.cursor = thing && thing.kind !== "value" ? "pointer" : "";
    if (!thing) {
        hideTip();
        return;
    }
    tip.replaceChildren(...tipLines(thing));
    placeTip(event.clientX, event.clientY);
}

export function placeTip(x, y) {
    const tip = byId("tip");
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - width - 8)) + "px";
    tip.style.top = (y + 18 + height > innerHeight ? y - height - 10 : y + 18) + "px";
}

export function hideTip() {
    byId("tip").hidden = true;
}

export function listen() {
    const canvas = byId("picture");
    document.addEventListener("keydown", onKey);
    byId("timeline").addEventListener("wheel", event => {
        if (event.target === canvas || event.ctrlKey)
            onWheel(event);
    }, { passive: false });
    listenToDrags(canvas);
    byId("help-open").addEventListener("click", openHelp);
    byId("zoom-in").addEventListener("click", () => zoom(0.5));
    byId("zoom-out").addEventListener("click", () => zoom(2));
    byId("whole").addEventListener("click", wholeView);
    byId("undo").addEventListener("click", undoView);
    byId("redo").addEventListener("click", redoView);
}

