// The lines of a recorded trace of a broker: a click opens the state after the line.

import { element } from "./parts.js";

export class Lines {
  constructor(section, open) {
    this.section = section;
    this.open = open; // called with the calls up to a line, and the number of the line
    this.list = section.querySelector("ol");
    this.found = null;
    this.current = -1;
    section.querySelector(".before").onclick = () => this.go(this.current - 1);
    section.querySelector(".after").onclick = () => this.go(this.current + 1);
  }

  // `found` has the lines, `calls` the steps of the whole trace.
  load(found, calls) {
    this.found = found;
    const isInitial = (call) => /^init\b/.test(call); // the state in which the trace begins
    this.start = calls.filter(isInitial);
    this.calls = calls.filter((call) => !isInitial(call));
    this.section.hidden = !found;
    if (!found) return;
    this.section.querySelector(".subject").textContent = `of ${found.subject}: ${found.lines.length.toLocaleString()}`;
    const names = Object.values(found.elements).flatMap((sort) => Object.entries(sort));
    this.section.querySelector(".elements").textContent = names.map(([k, name]) => `${k} is ${name}`).join(", ");
    this.rows = found.lines.map((line, k) => element("li", { class: line.why === undefined ? "" : "refused", title: line.place },
      element("button", { class: "call", textContent: `${line.at_ms.toFixed(1)} ms  ${line.text}`, onclick: () => this.go(k) }),
      element("span", { class: "quiet", textContent: ` ${count(line)}` })));
    this.list.replaceChildren(...this.rows);
  }

  go(k) {
    if (this.found && k >= 0 && k < this.rows.length) this.open([...this.start, ...this.calls.slice(0, this.found.lines[k].end)], k);
  }

  // Marks the line after which the path ends; `wanted` decides between lines with the same end.
  show(calls, wanted) {
    if (!this.found) return null;
    const { lines } = this.found;
    for (const row of this.list.querySelectorAll(".here")) row.classList.remove("here");
    const off = calls.findIndex((call, k) => call !== this.calls[k]);
    this.section.querySelector(".off").textContent = off < 0 ? "" : `The path leaves the trace at step ${off + 1}.`;
    if (off >= 0) return null;
    const ends = (k) => lines[k]?.end === calls.length;
    this.current = ends(wanted) ? wanted : lines.findIndex((line) => line.end >= calls.length);
    const row = this.rows[this.current];
    if (!row) return null;
    row.classList.add("here");
    this.reveal(row);
    // Rows outside the view have an estimated height, until they are drawn.
    requestAnimationFrame(() => requestAnimationFrame(() => this.reveal(row)));
    return ends(this.current) ? lines[this.current] : null;
  }

  reveal(row) {
    this.list.scrollTop = row.offsetTop - this.list.offsetTop - this.list.clientHeight / 2;
  }
}

function count(line) {
  if (line.why !== undefined) return "✗ no step of the spec";
  const steps = line.steps === 0 ? "no step" : line.steps === 1 ? "1 step" : `${line.steps} steps`;
  return line.early ? `${steps}, before its time` : steps;
}
