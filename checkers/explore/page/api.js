// Sends requests to the server of this page; `checkers/explore/requests.py` documents them.

export class Mistake extends Error {
  constructor(answer) {
    super(answer.error);
    this.answer = answer;
  }
}

export async function ask(name, request = {}) {
  const response = await fetch(`/api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request),
  });
  const answer = await response.json();
  if (!response.ok) throw new Mistake(answer);
  return answer;
}

// The address contains the spec, its constants and the path: `#spec=...&set=replicas=2&path=...`.

export function readAddress(hash) {
  const words = new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B"));
  const constants = {};
  for (const pair of (words.get("set") ?? "").split(",").filter(Boolean)) {
    const [name, value] = pair.split("=");
    constants[name] = value === "true" ? true : value === "false" ? false : Number(value);
  }
  return {
    spec: words.get("spec"),
    variant: words.get("variant") ?? "",
    constants,
    path: words.get("path") ?? "",
    compare: words.get("compare") ?? "",
    scope: words.get("scope") ?? "",
    line: words.get("line") ?? "",
  };
}

export function address(where) {
  const set = Object.entries(where.constants).map(([name, value]) => `${name}=${value}`).join(",");
  const words = { spec: where.spec, variant: where.variant, set, scope: where.scope, path: where.path, compare: where.compare, line: where.line };
  const pairs = Object.entries(words).filter(([, value]) => value);
  return `#${pairs.map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll("%2C", ",").replaceAll("%3D", "=")}`).join("&")}`;
}
