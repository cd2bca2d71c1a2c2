// The panel of allocations: where memory was allocated that was in use at the peak, at the end, or never freed.
// SPDX-License-Identifier: MIT
import { ask } from "./api.js";
import { drawFlame, treeOf } from "./flame.js";
import { fileChoice, showError, sortableTable } from "./range.js";
import { state } from "./state.js";
import { bytes, count, element, nameElement, swatch } from "./text.js";

const VIEWS = { by: [["site", "by site"], ["stack", "by stack"], ["function", "by function"], ["flame", "as flame graph"]],
    of: [["peak", "at the peak"], ["live", "in use at the end"], ["leaks", "leaked"]] };

function choice(key, pane) {
    const made = element("select", { "aria-label": key === "by" ? "Grouping" : "Which memory", onchange: event => {
        state.table[key] = event.target.value;
        showMemory(pane);
    } }, ...VIEWS[key].map(([value, text]) => element("option", { value }, text)));
    made.value = state.table[key] ?? VIEWS[key][0][0];
    return made;
}

function memoryTable(answer) {
    const total = answer.rows.reduce((all, row) => all + row.bytes, 0) || 1;
    const has = key => answer.rows.some(row => row[key] !== undefined);
    return sortableTable([
        { title: "Allocated by", value: row => row.name, show: row => [swatch(row.name), nameElement(row.name, 300)] },
        { title: "Bytes", value: row => row.bytes, show: row => bytes(row.bytes), total },
        { title: "Blocks", value: row => row.count, show: row => count(row.count) },
        ...has("file") ? [{ title: "Code", value: row => row.file ?? "", show: row => row.file ? nameElement(row.file + (row.line ? ":" + row.line : ""), 120) : "" }] : []],
    answer.rows, { sort: 1, label: "Allocations" });
}

export async function showMemory(pane) {
    const f = state.table.memory ?? state.files.findIndex(file => file.has.allocations);
    const by = state.table.by ?? "site", of = state.table.of ?? "peak", place = element("div", {}, element("p", { class: "note" }, "Counting …"));
    pane.replaceChildren(element("div", { class: "actions" }, fileChoice("memory", () => showMemory(pane)) ?? "", choice("of", pane), choice("by", pane)), place);
    try {
        if (by === "flame") {
            drawFlame(place, treeOf(await ask("memory_flame", { f, of }), bytes));
        } else {
            const answer = await ask("memory", { f, by, of });
            place.replaceChildren(memoryTable(answer), answer.left_out ? element("p", { class: "note" }, `${count(answer.left_out)} more with less memory`) : "");
        }
    } catch (error) {
        showError(place, error);
    }
}
