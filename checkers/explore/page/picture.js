// Draws a state: a row for each lane with its logs and variables, messages that move to their lane,
// and cards. `checkers/explore/pictures.py` documents the data.
//
// A message at rest is an element, so that it can be read and pointed at. Messages that move are
// drawn on a canvas: see `motion.js`.

import { between, Motion } from "./motion.js";
import { element, patch } from "./parts.js";

const MOVE_MS = 320;
const WIDE = 12; // messages of one lane that have room for their fields

export class Picture {
  constructor(host) {
    this.rows = element("div", { class: "rows" });
    this.layer = element("div", { class: "layer" });
    this.cards = element("div", { class: "cards" });
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.board = element("div", { class: "board" }, this.rows, this.layer, this.canvas);
    host.replaceChildren(this.board, this.cards);
    this.chips = new Map(); // id of a message -> its chip, and where it moves from and to
    this.part = 1; // of their way that the messages have moved
    this.frame = null;
    addEventListener("resize", () => this.last && this.place(this.last.messages, false));
  }

  show(picture) {
    this.last = picture;
    const boxes = picture.lanes.map((lane, k) => this.lane(lane, k, picture.messages));
    const others = picture.messages.filter((one) => one.to === null);
    if (others.length) boxes.push(this.row("in flight", [], [], [], others.length, "none"));
    this.rows.className = picture.has_messages === false ? "rows no-messages" : "rows";
    patch(this.rows, boxes);
    for (const log of this.rows.querySelectorAll(".log.cut")) log.parentElement.scrollLeft = log.scrollWidth; // its end
    patch(this.cards, [
      ...picture.logs.map((log) => element("section", { class: "card" }, this.log(log))),
      ...picture.cards.map((card) => element("section", { class: "card" },
        element("h3", { textContent: card.name }), fields(card.fields, card.name)))]);
    this.place(picture.messages, true);
  }

  lane(lane, k, messages) {
    const count = messages.filter((one) => one.to === k).length;
    return this.row(lane.name, lane.badges, lane.logs, lane.fields, count, String(k));
  }

  row(name, badges, logs, held, count, key) {
    const title = element("div", { class: "name" }, element("strong", { textContent: name }),
      ...badges.map((badge) => element("span", { class: "badge", textContent: badge })));
    const inbox = element("div", { class: "inbox", "data-lane": key });
    inbox.style.height = `${inboxHeight(count)}px`;
    return element("div", { class: "lane", "data-name": name }, title,
      element("div", { class: "logs" }, ...logs.map((log) => this.log(log))), fields(shortened(held)), inbox);
  }

  log(log) {
    const first = log.cells.length ? log.cells[0].offset : 0;
    const cells = log.cells.map((cell) => {
      const text = cell.empty ? "" : cell.fields.map((one) => one.value).join(" · ");
      const made = element("div", {
        class: `cell${cell.empty ? " empty" : ""}${cell.changed ? " changed" : ""}`,
        title: `offset ${cell.offset}${cell.empty ? ", empty" : `: ${cell.fields.map((one) => `${one.name} ${one.value}`).join(", ")}`}`,
      }, element("span", { class: "offset", textContent: cell.offset }), element("span", { class: "record", textContent: text || "\u00a0" }));
      if (!cell.empty && typeof cell.epoch === "number" && cell.epoch >= 0) made.dataset.epoch = cell.epoch % 6;
      return made;
    });
    const marks = [{ name: log.end_name, at: log.end, end: true }, ...log.marks].map((mark) =>
      element("div", { class: mark.end ? "mark end" : "mark", textContent: `${short(mark.name)} ${mark.at}`, title: mark.name,
        style: `--at: ${Math.max(mark.at - first, 0)}` }));
    const name = log.left_out ? `${log.name}, ${log.left_out} before` : log.name;
    return element("div", { class: log.left_out ? "log cut" : "log" }, element("h3", { textContent: name }),
      element("div", { class: "cells" }, ...cells), element("div", { class: "marks" }, ...marks));
  }

  // ---- messages: a chip moves from its former place to its lane

  place(messages, moves) {
    const board = this.board.getBoundingClientRect();
    const inboxes = new Map();
    for (const box of this.rows.querySelectorAll(".inbox")) {
      const at = box.getBoundingClientRect();
      inboxes.set(box.dataset.lane, { x: at.left - board.left, y: at.top - board.top, width: at.width, next: 0 });
    }
    const counts = new Map();
    for (const one of messages) counts.set(lane(one), (counts.get(lane(one)) ?? 0) + 1);
    const kept = new Map();
    for (const one of messages) {
      const box = inboxes.get(lane(one)) ?? { x: 0, y: 0, width: 240, next: 0 };
      const small = counts.get(lane(one)) > WIDE;
      const [wide, high] = small ? [58, 18] : [box.width, 38];
      const columns = Math.max(Math.floor(box.width / wide), 1);
      const to = { x: box.x + (box.next % columns) * wide, y: box.y + Math.floor(box.next / columns) * high };
      box.next += 1;
      const was = this.chips.get(one.id);
      const chip = was?.chip ?? element("div", { class: "message" });
      const from = was ? between(was, this.part) : { x: to.x + 120, y: to.y };
      kept.set(one.id, { chip, message: one, small, size: { x: wide - 4, y: high - 4 }, from, to });
    }
    for (const [id, { chip }] of this.chips) if (!kept.has(id)) chip.remove();
    this.layer.append(...[...kept].filter(([id]) => !this.chips.has(id)).map(([, { chip }]) => chip));
    this.chips = kept;
    cancelAnimationFrame(this.frame);
    const isMoved = ({ from, to }) => from.x !== to.x || from.y !== to.y;
    const isStill = !moves || matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (isStill || ![...kept.values()].some(isMoved)) return this.rest();
    this.layer.classList.add("moving");
    this.motion = new Motion(this.canvas, [...kept.values()]);
    const begun = performance.now();
    const draw = (now) => {
      const part = Math.min(Math.max(now - begun, 0) / MOVE_MS, 1);
      if (part >= 1) return this.rest();
      this.draw(1 - (1 - part) ** 3);
      this.frame = requestAnimationFrame(draw);
    };
    draw(begun);
  }

  draw(part) {
    this.part = part;
    this.motion.draw(part);
  }

  rest() {
    this.part = 1;
    this.canvas.width = 0;
    for (const one of this.chips.values()) write(one);
    this.layer.classList.remove("moving");
  }
}

// Changes only what differs: each change of an element costs time.
function write({ chip, message, small, size, to }) {
  const held = message.fields.map((one) => `${one.name} ${one.value}`);
  const style = `width: ${size.x}px; transform: translate(${to.x.toFixed(1)}px, ${to.y.toFixed(1)}px)`;
  set(chip, "textContent", small ? message.id : `${message.id}  ${held.join(", ")}`);
  set(chip, "title", [message.id, ...held].join("\n"));
  set(chip, "className", `message${small ? " small" : ""}${message.changed ? " changed" : ""}`);
  if (chip.getAttribute("style") !== style) chip.setAttribute("style", style);
}

function set(node, name, value) {
  if (node[name] !== value) node[name] = value;
}

const lane = (message) => (message.to === null ? "none" : String(message.to));
const short = (name) => name.slice(name.lastIndexOf(".") + 1).replaceAll("_", " ");
const inboxHeight = (count) => (count > WIDE ? Math.ceil(count / 4) * 18 : count * 38);

// `replica.leader` is `leader` on a lane, unless two variables of the lane would have this name.
function shortened(held) {
  const tails = held.map((one) => one.name.slice(one.name.indexOf(".") + 1));
  return held.map((one, k) => (tails.filter((tail) => tail === tails[k]).length > 1 ? one : { ...one, name: tails[k] }));
}

function fields(held, owner = "") {
  return element("dl", { class: "fields" }, ...held.flatMap((one) => [
    element("dt", { textContent: owner ? one.name.replace(`${owner}.`, "") : one.name }),
    element("dd", { textContent: one.value, class: one.changed ? "changed" : "" })]));
}
