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

// Gives the host these children. An element that is there already is changed only where it differs,
// so the browser lays out only what changed.
export function patch(host, children) {
  const old = [...host.childNodes];
  children.forEach((made, k) => {
    if (k >= old.length) host.append(made);
    else if (!isAlike(old[k], made)) old[k].replaceWith(made);
    else if (made.nodeType === Node.TEXT_NODE) {
      if (old[k].data !== made.data) old[k].data = made.data;
    } else {
      for (const { name, value } of made.attributes) if (old[k].getAttribute(name) !== value) old[k].setAttribute(name, value);
      for (const { name } of [...old[k].attributes]) if (!made.hasAttribute(name)) old[k].removeAttribute(name);
      patch(old[k], [...made.childNodes]);
    }
  });
  for (const left of old.slice(children.length)) left.remove();
}

const isAlike = (one, other) => one.nodeType === other.nodeType && one.nodeName === other.nodeName;
