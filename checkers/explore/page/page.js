// The page of `urteil explore`: the address is the state of the page; every click changes it.

import { address, ask, readAddress } from "./api.js";
import { Lines } from "./lines.js";
import { byId, changes, element, options } from "./parts.js";
import { Picture } from "./picture.js";

const MOST_STEPS = 200; // last steps of a path that are listed
const picture = new Picture(byId("picture"));
const lines = new Lines(byId("lines"), (list, line) => go({ path: pathOf(list), line: String(line) }));
let where = null; // spec, variant, constants, scope, path, compare, line
let opened = null;
let view = null;
let ahead = []; // calls that `back` took off the path
let shownSpec = "";
let job = null;
let turn = 0;

const calls = (path) => path.split(";").map((call) => call.trim()).filter(Boolean);
const pathOf = (list) => list.join("; ");

// ---- the address

function go(change, keepsAhead = false) {
  if (!keepsAhead) ahead = [];
  const next = address({ ...where, line: "", ...change });
  if (next === location.hash) load();
  else location.hash = next;
}

async function load() {
  const mine = ++turn;
  if (view === null) byId("count").textContent = "loading"; // the server reads the spec
  where = { ...opened, ...readAddress(location.hash) };
  where.spec ??= opened.spec;
  try {
    const key = JSON.stringify([where.spec, where.variant, where.constants, where.scope]);
    if (key !== shownSpec) {
      const found = await ask("spec", where);
      if (mine !== turn) return;
      where.variant = found.variant;
      where.constants = found.constants;
      showSpec(found);
      shownSpec = JSON.stringify([where.spec, where.variant, where.constants, where.scope]);
    }
    const found = await ask("walk", { ...where, as_far: true });
    if (mine !== turn) return;
    view = found;
    where.path = view.path;
    show();
    complain(view.stopped ? view.stopped.error : "");
  } catch (mistake) {
    complain(mistake.message);
  }
  document.body.dataset.turn = String(mine); // for tests: the page shows this turn
}

function complain(text) {
  byId("error").textContent = text;
  byId("error").hidden = !text;
}

// ---- the header

function showSpec(found) {
  options(byId("spec"), [...new Set([...opened.specs, found.spec])].map((name) => [name, name]), found.spec);
  const names = found.variants.map((one) => [one.name, one.breaks ? `${one.name} (breaks ${one.breaks})` : one.name]);
  options(byId("variant"), names, found.variant);
  options(byId("compare"), [["", "nothing"], ...found.variants.map((one) => [one.name, one.name])], where.compare ?? "");
  byId("summary").textContent = [found.summary, found.in_force].filter(Boolean).join(" In force: ")
    + (where.scope ? `. Scope: ${where.scope.replaceAll(",", ", ")}, in place of the constants.` : "");
  const variant = found.variants.find((one) => one.name === found.variant);
  byId("constants").replaceChildren(...Object.entries(found.constants).map(([name, value]) =>
    element("label", {}, `${name} `, typeof value === "boolean"
      ? element("input", { type: "checkbox", name, checked: value })
      : element("input", { type: "number", name, value }))));
  const at = Object.entries(variant?.at ?? {}).filter(([name, value]) => found.constants[name] !== value);
  if (at.length) {
    byId("constants").append(element("button", {
      type: "button", textContent: `set ${at.map(([name, value]) => `${name}=${value}`).join(", ")}`,
      title: `the constants at which ${variant.breaks} is violated`,
      onclick: () => go({ constants: { ...found.constants, ...variant.at } }),
    }));
  }
}

byId("spec").onchange = (event) => go({ spec: event.target.value, variant: "", constants: {}, scope: "", path: "", compare: "" });
byId("variant").onchange = (event) => go({ variant: event.target.value });
byId("compare").onchange = (event) => go({ compare: event.target.value });
byId("constants").onsubmit = (event) => event.preventDefault();
byId("constants").onchange = () => {
  const read = [...byId("constants").querySelectorAll("input")].map((one) =>
    [one.name, one.type === "checkbox" ? one.checked : Number(one.value)]);
  go({ constants: Object.fromEntries(read) });
};

// ---- what the view has

function show() {
  const list = calls(view.path);
  const first = view.start === view.starts[0] ? 0 : 1;
  byId("count").textContent = view.steps.length ? `${view.steps.length} steps` : "";
  const broken = new Map();
  for (const one of view.properties) {
    if (one.broken_at !== null) broken.set(one.broken_at, [...(broken.get(one.broken_at) ?? []), one.name]);
  }
  const rows = [{ call: view.start, changes: null }, ...view.steps];
  const from = Math.max(rows.length - MOST_STEPS, 0); // earlier steps are not listed
  byId("path").start = from;
  byId("path").replaceChildren(...rows.slice(from).map((step, n) => [step, n + from]).map(([step, k]) =>
    element("li", { class: k === rows.length - 1 ? "here" : "" },
      element("button", { class: "call", textContent: step.call, onclick: () => cut(list, k + first) }),
      broken.has(k) ? element("span", { class: "broken", textContent: ` ✗ ${broken.get(k).join(", ")}` }) : null,
      step.changes ? changes(step.changes) : null)));
  if (view.starts.length > 1 && !view.steps.length) {
    byId("path").append(...view.starts.filter((one) => one !== view.start).map((one) =>
      element("li", { class: "other" }, element("button", { class: "call", textContent: one, onclick: () => go({ path: one }) }))));
  }
  byId("path").lastElementChild.scrollIntoView({ block: "nearest" });
  picture.show(view.picture);
  byId("state").replaceChildren(...view.state.map((item) => element("tr", { class: item.changed ? "changed" : "" },
    element("th", { textContent: item.place }), element("td", { textContent: item.value }))));
  showLine(list.slice(first));
  showActions(list);
  showProperties();
  showComparison();
  byId("back").disabled = list.length === 0;
  byId("forward").disabled = ahead.length === 0;
}

function showLine(list) {
  const line = lines.show(list, where.line === "" ? -1 : Number(where.line));
  const refused = line?.why !== undefined;
  byId("needs").hidden = !refused;
  if (!refused) return;
  byId("needs").replaceChildren(
    element("b", { textContent: "No step of the spec explains this line: " }), line.text,
    element("p", { class: "why", textContent: line.why }),
    ...(line.needs ? [element("p", {}, "It needs ", element("span", { class: "call", textContent: line.needs.call }), ": ",
      element("span", { class: "why", textContent: line.needs.why }),
      line.needs.line ? `, line ${line.needs.line}` : "")] : []),
    element("p", { class: "quiet", textContent: line.place }));
}

function showActions(list) {
  byId("wide").textContent = view.wide.length
    ? `Of ${view.wide.join(", ")}, only arguments near the values of this state are tried.` : "";
  byId("enabled-count").textContent = view.enabled.length;
  byId("enabled").replaceChildren(...view.enabled.map((one) => element("li", {},
    element("button", { class: "call", textContent: one.call, title: one.summary, onclick: () => go({ path: pathOf([...list, one.call]) }) }),
    changes(one.changes))));
  if (!view.enabled.length) byId("enabled").append(element("li", { class: "quiet", textContent: "none: this is a deadlock" }));
  const total = view.disabled.reduce((sum, one) => sum + 1 + one.others.length + one.more, 0);
  byId("disabled-count").textContent = total;
  byId("disabled").replaceChildren(
    ...view.undefined.map((one) => element("li", {}, element("b", { textContent: one.call }), ` undefined: ${one.why}`)),
    ...view.disabled.map((one) => element("li", {},
      element("span", { class: "call", textContent: one.call }), " ",
      element("span", { class: "why", textContent: one.why, title: `conjunct ${one.conjunct} of ${one.of}: ${one.guard}` }),
      element("span", { class: "quiet", textContent: ` is false, line ${one.line}` }),
      one.others.length ? element("details", {}, element("summary", { textContent: `${one.others.length + one.more} more calls` }),
        [...one.others, ...(one.more ? [`and ${one.more} more`] : [])].join(", ")) : null)));
}

function showProperties() {
  byId("judged").textContent = view.judged_from ? `judged since step ${view.judged_from}` : "";
  byId("properties").replaceChildren(...view.properties.map((one) => {
    const [mark, kind] = one.about === "behaviours" ? ["·", "quiet"] : one.broken_at !== null ? ["✗", "violated"] : one.holds === null ? ["?", "quiet"] : ["✓", "holds"];
    const after = one.broken_at === null ? "" : ` after step ${one.broken_at}`;
    return element("li", { class: kind, title: one.summary }, `${mark} `, element("span", { class: "property", textContent: one.name }), after,
      element("button", { class: "small", textContent: "counterexample", onclick: () => counterexample(one.name) }),
      one.why.length ? element("p", { class: "why", textContent: `false because ${one.why.join(" ")}` }) : null);
  }));
}

function showComparison() {
  const found = view.compare;
  byId("comparison").hidden = !found;
  if (!found) return;
  const only = (where, list) => list.map((one) => element("li", {}, element("b", { textContent: `only in ${where}: ` }),
    element("span", { class: "call", textContent: one.call }), element("span", { class: "quiet", textContent: ` elsewhere ${one.why}` })));
  byId("comparison").replaceChildren(
    element("h2", { textContent: `${view.variant} and ${found.variant} after step ${found.step}` }),
    found.stopped ? element("p", { class: "stopped", textContent: found.stopped }) : null,
    element("p", { textContent: found.differs?.length ? `The states differ since step ${found.differs_from}.` : "The states are equal." }),
    element("table", { class: "changes" }, ...(found.differs ?? []).map((one) => element("tr", {}, element("th", { textContent: one.place }),
      element("td", { textContent: `${one.here ?? "no such variable"}` }), element("td", { textContent: `there ${one.there ?? "no such variable"}` })))),
    element("ul", {}, ...only(view.variant, found.only_here ?? []), ...only(found.variant, found.only_there ?? [])));
}

// ---- steps

function cut(list, length) {
  ahead = [...list.slice(length), ...ahead];
  go({ path: pathOf(list.slice(0, length)) }, true);
}
byId("back").onclick = () => { const list = calls(view.path); if (list.length) cut(list, list.length - 1); };
byId("forward").onclick = () => { if (ahead.length) go({ path: pathOf([...calls(view.path), ahead.shift()]) }, true); };
byId("restart").onclick = () => cut(calls(view.path), 0);
addEventListener("keydown", (event) => {
  if (["INPUT", "TEXTAREA", "SELECT"].includes(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowLeft") byId("back").click();
  else if (event.key === "ArrowRight") byId("forward").click();
  else if (event.key === "[") lines.go(lines.current - 1);
  else if (event.key === "]") lines.go(lines.current + 1);
  else if (/^[1-9]$/.test(event.key)) byId("enabled").querySelectorAll("button")[event.key - 1]?.click();
});

async function copy(button, text) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    complain(text); // no clipboard: the text can be copied by hand
  }
  setTimeout(() => { button.textContent = label; }, 1200);
}
byId("copy-link").onclick = (event) => copy(event.target, new URL(address(where), location.href).href);
byId("copy-command").onclick = (event) => copy(event.target, view.command);

// ---- searches

byId("search").onsubmit = (event) => {
  event.preventDefault();
  begin("search", { formula: byId("formula").value, from_here: byId("from-here").checked });
};
const counterexample = (name) => begin("counterexample", { property: name });
byId("stop").onclick = () => ask("stop", { job });

async function begin(name, request) {
  byId("place").hidden = true;
  byId("progress").textContent = "searching";
  try {
    let found = await ask(name, { ...where, ...request, states: Number(byId("states").value) });
    job = found.job ?? null;
    const mine = job;
    byId("stop").hidden = false;
    while (found.status === "running" && mine === job) {
      byId("progress").textContent = `${(found.states ?? 0).toLocaleString()} states, depth ${found.depth ?? 0}, ${(found.seconds ?? 0).toFixed(1)} s`;
      await new Promise((resolve) => setTimeout(resolve, 120));
      found = await ask("job", { job: mine });
    }
    if (mine === job) ended(found);
  } catch (mistake) {
    byId("progress").textContent = mistake.message;
    const { start, end } = mistake.answer ?? {};
    if (start !== undefined) {
      const text = byId("formula").value.split(/\s+/).filter(Boolean).join(" ");
      byId("place").textContent = `${text}\n${" ".repeat(start)}${"^".repeat(Math.max(end - start, 1))}`;
      byId("place").hidden = false;
    }
  }
  byId("stop").hidden = true;
}

function ended(found) {
  const spent = found.states ? `, ${found.states.toLocaleString()} states` : "";
  if (found.status === "found") {
    const loop = found.loop === null ? "" : found.loop === found.steps ? "; then nothing more happens" : `; the steps after step ${found.loop} repeat forever`;
    byId("progress").textContent = `found: ${found.steps} steps (${found.why}${spent})${loop}`;
    go({ path: found.path });
  } else {
    byId("progress").textContent = `${found.status === "failed" ? found.error : `not found: ${found.why}`}${spent}`;
  }
}

// ---- recorded traces

function showTraces() {
  byId("recorded").hidden = opened.traces.length < 2;
  options(byId("traces"), opened.traces.map((name) => [name, name]), opened.title);
  byId("traces").onchange = async (event) => {
    try {
      const found = await ask("trace", { file: event.target.value });
      const { spec, variant, constants, scope, path, line } = found;
      lines.load(found.lines, calls(found.path));
      go({ spec, variant, constants, scope, path, line });
    } catch (mistake) {
      complain(mistake.message);
    }
  };
}

opened = await ask("opened");
showTraces();
lines.load(opened.lines, calls(opened.path));
delete opened.lines; // not a part of a request
if (!location.hash) history.replaceState(null, "", address({ ...opened, compare: opened.compare ?? "" }));
addEventListener("hashchange", load);
await load();
