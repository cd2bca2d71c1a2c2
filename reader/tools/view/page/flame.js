// Flame graphs and call trees: of a range, of the difference of two traces, of allocations. Both show the same nodes.
// SPDX-License-Identifier: MIT
import { fitCanvas, fitText, readLooks } from "./draw.js";
import { hideTip, placeTip } from "./input.js";
import { askOfRange, barCell, fileChoice, noteElement, scope, scopeElement, showError } from "./range.js";
import { localRange, on, perTick, state } from "./state.js";
import { byId, colorOf, colorOfChange, count, duration, element, isolated, nameElement, percent, plural, say, swatch, visible } from "./text.js";

// ---- Nodes ----

/** The nodes of an answer as a tree below a root that is all of it. */
export function treeOf(answer, format) {
    const root = { name: "all", total: answer.total, self: 0, count: 0, old: 0, parent: null, children: [], depth: 0 };
    const made = answer.nodes.map(([, name, total, self, calls, old]) => ({ name, total, self, count: calls, old, parent: null, children: [], depth: 0 }));
    let deepest = 0;
    answer.nodes.forEach(([parent], index) => {
        const above = parent >= 0 && parent < index ? made[parent] : root;
        made[index].parent = above;
        made[index].depth = above.depth + 1;
        deepest = Math.max(deepest, above.depth + 1);
        above.children.push(made[index]);
    });
    root.old = answer.old_total ?? root.children.reduce((all, node) => all + (node.old ?? 0), 0);
    root.total = Math.max(root.total ?? 0, root.children.reduce((all, node) => all + node.total, 0));
    for (const node of [root, ...made])
        node.children.sort((one, other) => other.total - one.total);
    return { root, nodes: made, deepest, format, isDifference: answer.nodes.some(node => node[5] !== undefined) };
}

function change(node, root) {
    return (node.total - node.old) / Math.max(1, root.total) * 8;
}

function describe(tree, node) {
    const text = [`${tree.format(node.total)}, ${percent(node.total / Math.max(1, tree.root.total))}`, `self ${tree.format(node.self)}`];
    if (node.count)
        text.push(plural(node.count, "call"));
    if (tree.isDifference)
        text.push(`before ${tree.format(node.old)} (${node.total >= node.old ? "+" : "−"}${tree.format(Math.abs(node.total - node.old))})`);
    return text.join(" · ");
}

// ---- The flame graph ----

class Flame {
    constructor(place, tree) {
        this.tree = tree;
        this.focus = tree.root;
        this.chosen = tree.root;
        this.boxes = [];
        this.line = 19;
        this.crumbs = element("p", { class: "note", "aria-live": "polite" });
        this.canvas = element("canvas", { id: "flame", tabindex: 0, role: "application", "aria-roledescription": "flame graph", "aria-label": "Flame graph. Arrows move, Enter zooms, Escape shows all." });
        place.replaceChildren(this.crumbs, this.canvas);
        this.canvas.addEventListener("click", event => this.zoom(this.at(event)));
        this.canvas.addEventListener("pointermove", event => this.point(event));
        this.canvas.addEventListener("pointerleave", hideTip);
        this.canvas.addEventListener("keydown", event => this.key(event));
        this.draw();
    }

    at(event) {
        return this.boxes.find(box => event.offsetX >= box.x && event.offsetX < box.x + box.width && event.offsetY >= box.y && event.offsetY < box.y + this.line)?.node;
    }

    point(event) {
        const node = this.at(event);
        if (!node) {
            hideTip();
            return;
        }
        byId("tip").replaceChildren(element("b", {}, nameElement(node.name)), element("div", {}, describe(this.tree, node)));
        placeTip(event.clientX, event.clientY);
    }

    zoom(node) {
        if (!node)
            return;
        this.focus = node;
        this.choose(node);
    }

    choose(node) {
        this.chosen = node;
        say(`${visible(node.name)}: ${describe(this.tree, node)}`);
        this.draw();
    }

    key(event) {
        const node = this.chosen, siblings = node.parent?.children ?? [node], index = siblings.indexOf(node);
        const next = { ArrowUp: node.parent, ArrowDown: node.children[0], ArrowLeft: siblings[index - 1], ArrowRight: siblings[index + 1] }[event.key];
        if (next)
            this.choose(next);
        else if (event.key === "Enter")
            this.zoom(node);
        else if (event.key === "Escape")
            this.zoom(this.tree.root);
        else
            return;
        event.preventDefault();
        event.stopPropagation();
    }

    /** The focused node has the whole width, and so have those above it. */
    layOut(width) {
        this.boxes = [];
        const above = [];
        for (let node = this.focus; node; node = node.parent)
            above.unshift(node);
        above.forEach((node, depth) => this.boxes.push({ node, x: 0, y: depth * this.line, width, isAbove: node !== this.focus }));
        const wait = [{ node: this.focus, x: 0, width }];
        while (wait.length) {
            const { node, x, width: room } = wait.pop();
            let left = x;
            for (const child of node.children) {
                const wide = node.total ? child.total / node.total * room : 0;
                if (wide >= 0.4) {
                    this.boxes.push({ node: child, x: left, y: child.depth * this.line, width: wide });
                    wait.push({ node: child, x: left, width: wide });
                }
                left += wide;
            }
        }
    }

    draw() {
        const looks = readLooks(), width = Math.max(1, this.canvas.parentElement.clientWidth);
        this.line = Math.round(parseFloat(looks.font) * 1.65);
        this.layOut(width);
        const high = this.boxes.reduce((most, box) => Math.max(most, box.y), 0) + this.line;
        this.canvas.style.height = high + "px";
        const context = fitCanvas(this.canvas, width, high);
        context.fillStyle = looks.back;
        context.fillRect(0, 0, width, high);
        context.font = looks.font;
        context.textBaseline = "middle";
        const wanted = state.query.q.toLowerCase();
        for (const box of this.boxes)
            this.drawBox(context, looks, box, wanted);
        this.crumbs.replaceChildren(nameElement(this.chosen.name), " ", describe(this.tree, this.chosen));
    }

    drawBox(context, looks, { node, x, y, width, isAbove }, wanted) {
        const isRoot = node === this.tree.root, color = colorOf(node.name), isHit = wanted !== "" && node.name.toLowerCase().includes(wanted);
        context.globalAlpha = isAbove ? 0.55 : 1;
        context.fillStyle = isRoot ? looks.line : this.tree.isDifference ? colorOfChange(change(node, this.tree.root)) : color.fill;
        context.fillRect(x, y, Math.max(0.5, width - 0.75), this.line - 1);
        context.globalAlpha = 1;
        if (isHit || node === this.chosen) {
            context.strokeStyle = isHit ? looks.hit : looks.text;
            context.lineWidth = 2;
            context.strokeRect(x + 1, y + 1, Math.max(0, width - 2.75), this.line - 3);
        }
        if (width < 26)
            return;
        context.save();
        context.beginPath();
        context.rect(x, y, width, this.line);
        context.clip();
        context.fillStyle = isRoot ? looks.text : color.text;
        context.fillText(isolated(fitText(context, visible(node.name), width - 8)), x + 4, y + this.line / 2);
        context.restore();
    }
}

let shown = null;

export function drawFlame(place, tree) {
    shown = new Flame(place, tree);
}

// ---- The call tree ----

function treeRow(tree, node, body) {
    const isOpen = { value: false }, rows = [];
    const sign = node.children.length ? element("button", { "aria-expanded": "false", "aria-label": `Calls of ${visible(node.name)}` }, "▸") : element("i", { class: "leaf" });
    const first = element("td", {}, sign, swatch(node.name), nameElement(node.name, 160));
    first.style.paddingInlineStart = Math.min(node.depth - 1, 40) * 0.9 + 0.5 + "rem";
    const row = element("tr", { "aria-level": node.depth }, first, barCell(tree.format(node.total), node.total / Math.max(1, tree.root.total)),
        element("td", {}, percent(node.total / Math.max(1, tree.root.total))), element("td", {}, tree.format(node.self)), element("td", {}, count(node.count ?? 0)),
        tree.isDifference ? element("td", {}, (node.total >= node.old ? "+" : "−") + tree.format(Math.abs(node.total - node.old))) : null);
    const toggle = () => {
        isOpen.value = !isOpen.value;
        sign.setAttribute("aria-expanded", String(isOpen.value));
        sign.textContent = isOpen.value ? "▾" : "▸";
        if (isOpen.value) {
            const made = node.children.slice(0, 300).map(child => treeRow(tree, child, body));
            rows.push(...made);
            row.after(...made.map(one => one.row));
            openMost(made, node.depth + 1);
        } else {
            rows.splice(0).forEach(one => one.remove());
        }
    };
    const remove = () => {
        rows.splice(0).forEach(one => one.remove());
        row.remove();
    };
    sign.addEventListener("click", toggle);
    row.addEventListener("dblclick", () => node.children.length && toggle());
    return { row, remove, toggle, node };
}

export function drawTree(place, tree) {
    const body = element("tbody"), titles = ["Name", "Total", "Share", "Self", "Calls", ...tree.isDifference ? ["Change"] : []];
    const top = tree.root.children.slice(0, 300).map(node => treeRow(tree, node, body));
    body.append(...top.map(one => one.row));
    place.replaceChildren(element("table", { class: "tree", role: "treegrid", "aria-label": "Call tree" },
        element("thead", {}, element("tr", {}, ...titles.map(title => element("th", { scope: "col" }, title)))), body));
    openMost(top, 1);
}

/** Opens the first of some rows if it has most of the time, so that what matters is in sight at once. */
function openMost(made, depth) {
    const all = made.reduce((sum, one) => sum + one.node.total, 0);
    if (depth < 8 && made.length && made[0].node.children.length && made[0].node.total >= 0.6 * all)
        made[0].toggle();
}

// ---- The panels ----

function againstChoice(changedTo) {
    if (state.files.length < 2)
        return null;
    const made = element("select", { "aria-label": "Compare with", onchange: event => { state.table.against = event.target.value; changedTo(); } },
        element("option", { value: "" }, "not compared"), ...state.files.map((file, f) => element("option", { value: f }, "against " + visible(file.name))));
    made.value = state.table.against ?? "";
    return made;
}

/** The same part of time of the trace to compare with, which has ticks of its own. */
function against() {
    const old = state.table.against ?? "", range = old === "" ? null : localRange(Number(old), scope());
    if (old !== "" && !range)
        throw new Error("The trace to compare with has nothing in this part of time.");
    return range ? { against: old, ab: range.b, ae: range.e } : {};
}

async function showNodes(pane, draw) {
    const f = state.table.flame ?? 0, place = element("div", {}, element("p", { class: "note" }, "Counting …")), again = () => showNodes(pane, draw);
    shown = null;
    pane.replaceChildren(element("div", { class: "actions" }, fileChoice("flame", again) ?? "", againstChoice(again) ?? "", scopeElement()), place);
    try {
        const answer = await askOfRange("flame", f, against());
        if (place.isConnected)
            draw(place, treeOf(answer, ticks => duration(ticks, perTick(f))));
        if (answer.note)
            place.append(noteElement(answer));
        document.body.dataset.nodes = String(answer.nodes.length);
    } catch (error) {
        showError(place, error);
    }
}

export function showFlame(pane) {
    return showNodes(pane, drawFlame);
}

export function showTree(pane) {
    return showNodes(pane, drawTree);
}

export function startFlame() {
    on("range-chosen only", () => {
        if (state.tab === "flame")
            showFlame(byId("pane"));
        else if (state.tab === "tree")
            showTree(byId("pane"));
    });
    on("panel hits", () => {
        if (shown?.canvas.isConnected)
            shown.draw();
    });
}
