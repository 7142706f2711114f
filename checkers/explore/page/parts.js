// Makes elements of the page; text is always set as text, never as HTML.

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("data-") || key.startsWith("aria-")) made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const byId = (id) => document.getElementById(id);

export function changes(found) {
  const table = element("table", { class: "changes" });
  for (const { place, fields } of found) {
    table.append(element("tr", {}, element("th", { textContent: place }), element("td", { textContent: fields.join(", ") })));
  }
  if (!found.length) table.append(element("tr", {}, element("td", { class: "quiet", textContent: "changes nothing" })));
  return table;
}

export function options(select, names, chosen) {
  select.replaceChildren(...names.map(([value, text, title]) =>
    element("option", { value, textContent: text, title: title ?? "", selected: value === chosen })));
}
