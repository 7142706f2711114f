"use strict";
// Filters, expands, copies, and highlights an operation in text and pictures. Optional: the page works without it.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const root = document.documentElement;
  root.classList.add("scripted");

  // ---- filter by verdict and by words: the tables, and the evidence below them
  let state = "all";
  const rest = document.getElementById("rest");
  const search = document.getElementById("search");
  const filter = () => {
    const words = search.value.trim().toLowerCase().split(/\s+/);
    const fits = (one, text) =>
      (state === "all" || one.dataset.state === state) && words.every((word) => text.includes(word));
    let left = 0;
    for (const group of all("tbody.group")) {
      const heading = group.querySelector(".heading").textContent.toLowerCase();
      let some = false;
      for (const row of all("tr.verdict", group)) {
        row.hidden = !fits(row, `${heading} ${row.textContent.toLowerCase()}`);
        some ||= !row.hidden;
        left += row.hidden ? 0 : 1;
      }
      group.hidden = !some;
    }
    for (const finding of all("details.finding")) {
      const head = finding.querySelector("summary").textContent + (finding.querySelector(".lead")?.textContent ?? "");
      finding.hidden = !fits(finding, head.toLowerCase());
    }
    if (rest && (state !== "all" || search.value.trim())) rest.open = true;
    document.getElementById("none-left").textContent = left ? "" : "no verdict matches";
  };
  for (const button of all("[data-show]")) {
    button.addEventListener("click", () => {
      state = button.dataset.show;
      for (const other of all("[data-show]")) other.setAttribute("aria-pressed", String(other === button));
      filter();
    });
  }
  search.addEventListener("input", filter);

  // ---- expand
  const setAll = (open) => () => all("#shown details").forEach((one) => (one.open = open));
  document.getElementById("expand")?.addEventListener("click", setAll(true));
  document.getElementById("collapse")?.addEventListener("click", setAll(false));
  const reveal = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    if (target.hidden) document.querySelector('[data-show="all"]').click();
    if (target.tagName === "DETAILS") target.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", reveal);
  for (const link of all('a[href^="#"]')) link.addEventListener("click", () => setTimeout(reveal));
  window.addEventListener("beforeprint", setAll(true));
  reveal();

  // ---- copy
  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  for (const button of all("[data-copy]")) {
    button.addEventListener("click", async () => {
      button.textContent = (await copied(button.dataset.copy)) ? "copied" : "select it by hand";
      setTimeout(() => (button.textContent = "copy"), 1500);
    });
  }

  // ---- point at an operation: it is highlighted in its row, in text and in pictures
  for (const row of all("details.row")) {
    const light = (event) => {
      const op = event.target.closest("[data-op]")?.dataset.op;
      for (const one of all("[data-op]", row)) one.classList.toggle("lit", one.dataset.op === op);
    };
    for (const kind of ["pointerover", "pointerleave", "focusin", "focusout"]) row.addEventListener(kind, light);
  }

  // ---- light or dark
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
