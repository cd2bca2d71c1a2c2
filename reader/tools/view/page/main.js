// The start of the page: asks what there is, and connects the parts.
// SPDX-License-Identifier: MIT
import { ask, extras, forgetPictures, load, loadOverview, onTrouble, sums, watch } from "./api.js";
import { showDetails, startDetails } from "./details.js";
import { drawPicture, fitPicture, pictureWidth, startDrawing } from "./draw.js";
import { showFlame, showTree, startFlame } from "./flame.js";
import { listen } from "./input.js";
import { addBookmark, address, keepAddress, readAddress, showBookmarks } from "./links.js";
import { showMemory } from "./memory.js";
import { showRange, startRange } from "./range.js";
import { drawRuler, listenToRuler, readRulerLooks, viewText } from "./ruler.js";
import { showSearch, startSearch } from "./search.js";
import { bounds, changed, firstView, on, setView, shared, state } from "./state.js";
import { byId, count, element, plural, setColors, visible } from "./text.js";
import { layOut, streamsInSight, toggleAll } from "./tracks.js";

const TABS = [["span", "Span", showDetails], ["range", "Table", showRange], ["flame", "Flame graph", showFlame], ["tree", "Call tree", showTree],
    ["memory", "Memory", showMemory], ["search", "Search", showSearch], ["notes", "Bookmarks", showBookmarks]];

// ---- Drawing ----

let isDue = false;

function redraw() {
    if (isDue)
        return;
    isDue = true;
    requestAnimationFrame(() => {
        isDue = false;
        drawPicture(drawRuler());
    });
}

function resize() {
    fitPicture();
    if (layOut())
        reload();
    redraw();
}

let isAsked = false;

/** Asks for the picture of the view, once for all that happens until the next frame. */
function reload() {
    if (isAsked)
        return;
    isAsked = true;
    queueMicrotask(() => {
        isAsked = false;
        load(() => ({ view: { ...state.view }, columns: pictureWidth(), streams: streamsInSight() }));
    });
}

// ---- Panels ----

function showTab() {
    const [id, title, show] = TABS.find(([name]) => name === state.tab) ?? TABS[0];
    for (const tab of byId("tabs").querySelectorAll("[role=tab]")) {
        tab.setAttribute("aria-selected", String(tab.dataset.tab === id));
        tab.tabIndex = tab.dataset.tab === id ? 0 : -1;
    }
    byId("pane").setAttribute("aria-label", title);
    byId("pane").dataset.tab = id;
    show(byId("pane"));
}

function openTab(id) {
    if (byId("panel").clientHeight < 60)
        setPanelHeight(17 * 16);
    state.tab = id;
    changed("tab");
}

function makeTabs() {
    const has = state.files.some(file => file.has.allocations);
    byId("tabs").replaceChildren(...TABS.map(([id, title]) => element("button", { role: "tab", "data-tab": id, "aria-controls": "pane",
        disabled: id === "memory" && !has, title: id === "memory" && !has ? "This trace has no allocations" : undefined,
        onclick: () => openTab(id) }, title)), element("span", { class: "spring" }),
    element("button", { id: "large", "aria-label": "Make the panel large or small", title: "Large or small (z)", onclick: () => toggleLarge() }, "⤢"));
    byId("tabs").addEventListener("keydown", event => {
        const tabs = [...byId("tabs").querySelectorAll("[role=tab]:not(:disabled)")];
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (step && tabs.includes(event.target)) {
            const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
            next.focus();
            next.click();
        }
    });
}

let smallHeight = 0;

function setPanelHeight(height) {
    byId("panel").style.height = Math.max(30, Math.min(height, innerHeight - 190)) + "px";
    resize();
    changed("panel");
}

function toggleLarge() {
    const now = byId("panel").clientHeight;
    if (smallHeight) {
        setPanelHeight(smallHeight);
        smallHeight = 0;
    } else {
        smallHeight = now;
        setPanelHeight(innerHeight);
    }
}

function listenToSplitter() {
    const splitter = byId("splitter");
    splitter.addEventListener("pointerdown", event => splitter.setPointerCapture(event.pointerId));
    splitter.addEventListener("pointermove", event => {
        if (splitter.hasPointerCapture(event.pointerId))
            setPanelHeight(innerHeight - event.clientY - 6);
    });
    splitter.addEventListener("keydown", event => {
        const step = { ArrowUp: 24, ArrowDown: -24 }[event.key];
        if (step) {
            event.preventDefault();
            setPanelHeight(byId("panel").clientHeight + step);
        }
    });
    splitter.addEventListener("dblclick", () => toggleLarge());
}

// ---- Theme ----

const isDark = matchMedia("(prefers-color-scheme: dark)");

function applyTheme() {
    const theme = state.theme === "auto" ? (isDark.matches ? "dark" : "light") : state.theme;
    document.documentElement.dataset.theme = theme;
    byId("theme").title = `Colors: ${state.theme === "auto" ? "as the system" : state.theme} (t)`;
    setColors(theme);
    readRulerLooks();
}

function nextTheme() {
    state.theme = { auto: "dark", dark: "light", light: "auto" }[state.theme] ?? "dark";
    applyTheme();
    changed("theme");
}

// ---- The state, in words ----

function showQuality() {
    const known = sums.filter(sum => sum), total = key => known.reduce((all, sum) => all + (sum[key] ?? 0), 0);
    const loading = document.body.dataset.state;
    const text = [plural(total("spans"), "span") + (known.every(sum => sum.isExact || sum.isFinal) ? "" : " sampled")];
    if (total("deeper"))
        text.push(`${count(total("deeper"))} deeper`);
    if (total("bad"))
        text.push(`${plural(total("bad"), "damaged block")}`);
    if (known.some(sum => sum.isFinal && !sum.isExact))
        text.push("the file has no more detail here");
    else
        text.push(...state.files.map(file => file.left_out).filter(left => left));
    const flowsLeftOut = extras.reduce((all, extra) => all + (extra?.flowsLeftOut ?? 0), 0);
    if (flowsLeftOut)
        text.push(flowsLeftOut < Infinity ? `${plural(flowsLeftOut, "flow or asynchronous span", "flows or asynchronous spans")} not drawn`
            : "flows and asynchronous spans appear in smaller parts");
    byId("quality").textContent = loading === "failed" ? "no answer" : text.join(" · ");
    const lost = state.files.reduce((all, file) => all + file.dropped_count, 0);
    byId("quality").title = `${plural(total("unknown"), "span")} without a begin; ${plural(lost, "dropped event")} in all; ${plural(total("blocks"), "block")} read`;
    byId("picture").setAttribute("aria-label", `Timeline, ${viewText()}. Press question mark for the keys.`);
}

function showTitle() {
    const names = state.files.map(file => visible(file.name)).join(" · ");
    byId("title").querySelector("bdi").textContent = names;
    byId("title").title = state.files.map(file => visible(file.path)).join("\n");
    document.title = names + " – tracebed";
    const [file] = state.files;
    byId("title").dataset.live = String(file.is_live);
}

export function showTrouble(error) {
    byId("notice").textContent = error.message;
    byId("notice").hidden = false;
    clearTimeout(showTrouble.timer);
    showTrouble.timer = setTimeout(() => { byId("notice").hidden = true; }, 8000);
}

// ---- Growth ----

/** A live trace has grown: if its end was in sight, it stays there. */
function grow(files) {
    const before = bounds(), { b, e } = state.view;
    const isAtEnd = e >= before.e - (before.e - before.b) * 0.001, isWhole = isAtEnd && b <= before.b;
    state.files = files;
    const after = bounds();
    changed("files");
    layOut();
    if (isWhole)
        setView(after.b, after.e, { isSmooth: false, isJump: false });
    else if (isAtEnd)
        setView(b + after.e - before.e, after.e, { isSmooth: false, isJump: false });
    else
        reload();
    document.body.dataset.generation = files.map(file => file.generation).join();
    loadOverview(pictureWidth()).catch(showTrouble);
}

// ---- The start ----

function connect() {
    on("view", () => reload());
    on("view", () => { byId("undo").disabled = !state.past.length; byId("redo").disabled = !state.future.length; });
    on("shown overview range selected hits bookmarks loading extras shifts", redraw);
    on("loading view extras", showQuality);
    on("data extras tracks theme files", () => { layOut(); redraw(); });
    on("tracks only shifts", reload);
    on("tab", showTab);
    on("selected", () => { if (state.selected) openTab("span"); else if (state.tab === "span") showTab(); });
    on("range-chosen", () => { if (!["range", "flame", "tree"].includes(state.tab)) openTab("range"); });
    on("theme", () => showTab());
    on("go:large", toggleLarge);
    on("go:tabnotes", () => openTab("notes"));
    TABS.forEach(([id], index) => on("go:tab" + (index + 1), () => openTab(id)));
    onTrouble(showTrouble);
    isDark.addEventListener("change", () => { applyTheme(); changed("theme"); });
    byId("theme").addEventListener("click", nextTheme);
    byId("tracks-fold").addEventListener("click", toggleAll);
    byId("bookmark").addEventListener("click", addBookmark);
    byId("scroll").addEventListener("scroll", () => { redraw(); reload(); });
    new ResizeObserver(resize).observe(byId("scroll"));
    new ResizeObserver(resize).observe(byId("picture"));
}

function connectFields() {
    const field = (id, key, what) => byId(id).addEventListener("input", event => {
        state[key] = event.target.value;
        layOut();
        changed(...what);
    });
    field("tracks-filter", "trackFilter", ["tracks"]);
    byId("depths").addEventListener("change", event => {
        state.depth = Number(event.target.value);
        layOut();
        changed("tracks");
    });
    byId("only").addEventListener("change", event => {
        state.only = event.target.value;
        forgetPictures();
        changed("only");
    });
}

function fillFields() {
    byId("tracks-filter").value = state.trackFilter;
    byId("only").value = state.only;
    byId("depths").value = String(state.depth);
}

/** What the command line asked for, of all files. */
function initialView() {
    const asked = state.files.map((file, f) => file.initial && { b: shared(f, file.initial.b), e: shared(f, file.initial.e) }).filter(range => range);
    return asked.length ? { b: Math.min(...asked.map(range => range.b)), e: Math.max(...asked.map(range => range.e)) } : null;
}

/** Of the recording of a program as it is, which has allocations and no spans, the timeline alone shows little. */
function firstTab() {
    const has = what => state.files.some(file => file.has[what]);
    return has("allocations") && !has("spans") ? "memory" : "span";
}

async function start() {
    startDrawing();
    const { files, generation } = await ask("trace");
    state.files = files;
    state.firstTab = firstTab();
    const view = readAddress(location.hash) ?? initialView();
    applyTheme();
    fillFields();
    showTitle();
    makeTabs();
    connect();
    connectFields();
    listen();
    listenToRuler();
    listenToSplitter();
    startDetails();
    startRange();
    startSearch();
    startFlame();
    fitPicture();
    layOut();
    firstView(view);
    showTab();
    keepAddress();
    await new Promise(resolve => on("complete", resolve));
    document.body.dataset.ready = "1";
    loadOverview(pictureWidth()).catch(showTrouble);
    watch(generation, grow);
}

// The address that was asked for: keepAddress() may have written its own over it meanwhile.
addEventListener("hashchange", event => {
    const { hash } = new URL(event.newURL);
    if (hash === "#" + address())
        return;
    history.replaceState(null, "", hash);
    location.reload();
});
start().catch(showTrouble);
