// Texts and elements: names that cannot do harm, times, numbers, colors. The only place that makes elements, and it
// knows no way to make them from markup.
// SPDX-License-Identifier: MIT

// ---- Names ----

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const ESCAPES = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\x1b": "\\e" };

function escapeOf(character) {
    const code = character.charCodeAt(0);
    return ESCAPES[character] ??
        (code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u{" + code.toString(16) + "}");
}

/** The text with everything that cannot be seen, or that moves other text, as an escape. */
export function visible(text) {
    return String(text).replace(HIDDEN, escapeOf).replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

/** The same for a canvas, where only characters can keep one direction of writing away from another. */
export function isolated(text) {
    return "\u2068" + text + "\u2069";
}

export function shorten(text, length) {
    if (text.length <= length)
        return text;
    const end = text.charCodeAt(length - 1) >= 0xd800 && text.charCodeAt(length - 1) < 0xdc00 ? length - 1 : length;
    return text.slice(0, end) + "…";
}

/** The name of an event without its arguments, which are behind U+001E. */
export function labelOf(name) {
    return String(name).split("\x1e", 1)[0];
}

// ---- Elements ----

/** An element; strings among its children become text. Keys that begin with "on" are listeners. */
export function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
        if (key.startsWith("on"))
            made.addEventListener(key.slice(2), value);
        else if (value !== undefined && value !== null && value !== false)
            made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.flat().filter(child => child !== null && child !== undefined).map(child =>
        child instanceof Node ? child : String(child)));
    return made;
}

/** A name from a trace. */
export function nameElement(text, length = 400) {
    return element("bdi", { class: "name" }, shorten(visible(text), length));
}

export function swatch(label) {
    const made = element("i", { class: "swatch", "aria-hidden": "true" });
    made.style.background = colorOf(label).fill;
    return made;
}

export function byId(id) {
    return document.getElementById(id);
}

/** Says it to a screen reader. */
export function say(text) {
    byId("spoken").textContent = text;
}

// ---- Numbers and times ----

const GROUPED = new Intl.NumberFormat("en-US");

export function count(number) {
    return GROUPED.format(number).replaceAll(",", "\u202f");
}

export function plural(number, one, several = one + "s") {
    return `${count(number)} ${number === 1 ? one : several}`;
}

export function bytes(number) {
    for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
        if (Math.abs(number) >= size)
            return (number / size).toFixed(number / size < 10 ? 2 : 1) + "\u00a0" + unit;
    return count(number) + "\u00a0B";
}

export function percent(share) {
    return (100 * share).toFixed(share !== 0 && Math.abs(share) < 0.1 ? 2 : 1) + "\u00a0%";
}

const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

function unitOf(ns) {
    return UNITS.find(([, size]) => Math.abs(ns) >= size) ?? UNITS[3];
}

/** A duration with four digits; 'perTick' is null where the clock does not measure time. */
export function duration(ticks, perTick) {
    if (perTick === null || perTick === undefined)
        return count(Math.round(ticks));
    const ns = ticks * perTick;
    if (ns === 0)
        return "0\u00a0ns";
    const [unit, size] = unitOf(ns);
    const value = ns / size;
    if (unit === "s" && value >= 10000)
        return count(Math.round(value)) + "\u00a0s";
    const digits = unit === "ns" ? (perTick >= 1 ? 0 : 1) : Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value) || 1)));
    return value.toFixed(digits) + "\u00a0" + unit;
}

/** A time since the start with the digits that a step of 'stepTicks' needs. */
export function moment(ticks, perTick, stepTicks = 1) {
    if (perTick === null || perTick === undefined)
        return count(Math.round(ticks));
    const stepNs = Math.max(stepTicks * perTick, 1e-3);
    const ns = ticks * perTick;
    const [unit, size] = Math.abs(ns) < 1e-6 ? unitOf(stepNs) : unitOf(Math.max(Math.abs(ns), stepNs));
    const digits = Math.max(0, Math.min(12, Math.ceil(Math.log10(size / stepNs) - 1e-9)));
    const [whole, part = ""] = (ns / size).toFixed(digits).split(".");
    const grouped = part.replace(/(\d{3})(?=\d)/g, "$1\u202f");
    return count(Number(whole)).replace(/^0$/, whole) + (part ? "." + grouped : "") + "\u00a0" + unit;
}

/** The distance between two marks of a ruler: at least 'atLeast' ticks, round in the unit that is shown. */
export function rulerStep(atLeast, perTick) {
    const scale = perTick ?? 1;
    const wanted = Math.max(atLeast * scale, perTick === null ? 1 : 1e-3);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const factor = [1, 2, 5, 10].find(candidate => power * candidate >= wanted * (1 - 1e-9));
    return power * factor / scale;
}

/** The label of a mark: all of the time, or where that would be long, what is added to 'anchor'. */
export function rulerLabel(ticks, anchor, perTick, step) {
    return anchor === null ? moment(ticks, perTick, step) : "+" + moment(ticks - anchor, perTick, step);
}

/** Where marks would have more than nine digits they are counted from a round time before 'begin'; null: they are not. */
export function rulerAnchor(begin, perTick, step) {
    const scale = perTick ?? 1;
    if (perTick === null || begin * scale / (step * scale) < 1e6)
        return null;
    const round = 1000 ** Math.ceil(Math.log10(step * scale * 100) / 3) / scale;
    return Math.floor(begin / round) * round;
}

// ---- Colors ----

function hash(text) {
    let value = 0x811c9dc5;
    for (let index = 0; index < text.length; index++)
        value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
    value ^= value >>> 16;
    return Math.imul(value, 0x45d9f3b) >>> 0;
}

/** A color of OKLCH as bytes of sRGB (Björn Ottosson's matrices), less colorful where sRGB has none of that kind. */
function rgb(lightness, chroma, hue) {
    const a = chroma * Math.cos(hue), b = chroma * Math.sin(hue);
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const linear = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s];
    if (chroma > 0.01 && linear.some(value => value < -0.001 || value > 1.001))
        return rgb(lightness, chroma - 0.01, hue);
    return linear.map(value => Math.max(0, Math.min(1, value))).map(value =>
        Math.round(255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055)));
}

const SHADES = { light: [[0.79, 0.1], [0.85, 0.08], [0.74, 0.11]], dark: [[0.46, 0.1], [0.52, 0.09], [0.4, 0.09]] };
let colors = new Map();
let theme = "light";

export function setColors(name) {
    theme = name;
    colors = new Map();
}

/** The color of a label, the same in every trace: 'fill', a weaker 'joined' for several spans together, and 'text'. */
export function colorOf(label) {
    const value = hash(label);
    const key = value % 108; // 36 hues, three shades
    let found = colors.get(key);
    if (!found) {
        const [lightness, chroma] = SHADES[theme][key % 3];
        const hue = Math.floor(key / 3) * Math.PI / 18;
        found = { fill: `rgb(${rgb(lightness, chroma, hue)})`, joined: `rgb(${rgb(lightness, chroma * 0.55, hue)})`,
            text: theme === "dark" ? "#fff" : "#10141b" };
        colors.set(key, found);
    }
    return found;
}

/** Warm for more, cold for less, by a share between -1 and 1. */
export function colorOfChange(share) {
    const [lightness] = SHADES[theme][0];
    const strength = Math.min(1, Math.abs(share)) ** 0.5;
    return `rgb(${rgb(lightness, 0.02 + 0.12 * strength, share > 0 ? 0.5 : 4.4)})`;
}
