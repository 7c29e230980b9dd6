"use strict";

// Builds an element; text always enters as text, so that nothing a model wrote becomes markup.
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== ""));
  return node;
}

const root = document.body.dataset.root;
const short = (hash) => el("code", { title: hash }, hash.slice(0, 12));
// Made and used once while the page loads: the first use is slow, and a first click must not wait.
const thousands = new Intl.NumberFormat("en", { maximumFractionDigits: 12 });
thousands.format(0);
const plain = (value, digits = 4) => thousands.format(Number(value.toPrecision(digits)));

// Sorting: the exact value behind a printed one, or the text

function sortKey(cell) {
  const number = cell.querySelector("[data-v]");
  return number ? Number(number.dataset.v) : cell.textContent.trim();
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b, "en", { numeric: true });
}

function sortable(table, onSort) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = el("button", { type: "button" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      onSort(column, up ? 1 : -1);
    });
  });
}

function sortRows(table) {
  sortable(table, (column, sign) => {
    const rows = [...table.tBodies[0].rows].map((row) => [sortKey(row.cells[column]), row]);
    rows.sort((a, b) => sign * compare(a[0], b[0]));
    table.tBodies[0].append(...rows.map((pair) => pair[1]));
  });
}

// The drawer

const addressOf = (id) => `#n-${encodeURIComponent(id).replace(/%(2F|40|3A|3D|2B)/g, decodeURIComponent)}`;

function drawerOf(data) {
  const word = (place) => (place ? data.words[place - 1] : "");
  const link = (file) => el("a", { href: root + file }, file.split("/").slice(-1)[0]);
  const file = ([place, row], rows) => {
    const [path, hash, rule] = data.files[place];
    const made = rule === null ? null : data.rules[rule];
    return [
      link(path), " ", el("small", {}, rows ?? row), " ", short(hash),
      made && el("div", { class: "soft" }, "rule ", el("b", {}, made[0]), ` (${made[1]}:${made[2]})`),
    ];
  };
  const item = (name, ...content) => el("li", {}, el("b", {}, name), " ", ...content);

  function chain(number) {
    const places = (number.places ?? []).map(([template, line]) => `${template}:${line}`);
    const source = number.kind === "setting" ? "plan" : number.cells ? "claim" : "source";
    const sessions = (number.sessions ?? []).map((place) => data.sessions[place]);
    return el("ol", { class: "chain" },
      item("printed", "by ", places.slice(0, 2).join(", "),
        places.length > 2 ? ` and ${places.length - 2} other lines` : ""),
      item(source, file(number.source)),
      (number.tables ?? []).map(([place, count]) =>
        item("table", file([place], `${count} ${count === 1 ? "row" : "rows"}`))),
      (number.raw ?? []).map(([place, rows]) => item("raw", file([place], `rows ${rows}`))),
      number.more_raw ? item("raw", `and ${number.more_raw} other files`) : null,
      sessions.slice(0, 1).map((session) => item("session", sessionFacts(session, sessions.length))),
    );
  }

  function sessionFacts(session, count) {
    const pins = [session.target && `target ${session.target}`, session.drafter && `drafter ${session.drafter}`];
    return el("span", {},
      `${session.engine}, which says ${session.version ?? "no version"}`,
      count > 1 ? `; ${count} starts, the first of them here` : "",
      session.lock ? el("div", { class: "soft" }, "lock ", short(session.lock)) : null,
      pins.filter(Boolean).map((pin) => el("div", { class: "soft" }, pin)),
      session.gpu ? el("div", { class: "soft" }, "card ", word(session.gpu)) : null,
      session.host ? el("div", { class: "soft" }, "host ", word(session.host)) : null,
      session.commit ? el("div", { class: "soft" }, "measured at commit ", short(session.commit),
        session.dirty ? " with uncommitted changes" : "") : null,
    );
  }

  function evidence(number) {
    const session = (number.sessions ?? []).map((place) => data.sessions[place])[0];
    if (!session) return [];
    return [
      el("h3", {}, "Command"),
      el("pre", {}, word(session.command) || "not recorded"),
      session.evidence.length ? el("h3", {}, "In the log") : null,
      session.evidence.map(([fact, line, text]) => [
        el("small", {}, `${fact.replaceAll("_", " ")}, `, link(session.log), `:${line}`),
        el("pre", {}, word(text)),
      ]),
    ].flat(2);
  }

  function answers(number) {
    const told = [...(number.cells ?? []), ...(number.against ?? [])]
      .map(([place]) => data.cells[place]).filter((cell) => cell.text);
    if (!told.length) return [];
    return [
      el("h3", {}, "What the model wrote"),
      told.slice(0, 2).map((cell) => el("details", {},
        el("summary", {}, `${cell.arm}, ${cell.prompt}, seed ${cell.seed}`),
        el("pre", {}, cell.text))),
    ].flat();
  }

  function strips(number) {
    const groups = [number.cells, number.against].filter((group) => group && group.length);
    const starts = groups.map((group) => group
      .filter(([, value]) => typeof value === "number")
      .map(([place, value]) => ({ value, seed: data.cells[place].seed })));
    const name = (group) => data.cells[group[0][0]].arm;
    const lines = groups.map((group, index) => ({ name: name(group), marks: starts[index] }));
    const requests = groups.map((group) => ({
      name: name(group),
      marks: group.flatMap(([place]) => (data.cells[place].values[number.strip] ?? [])
        .map((value) => ({ value }))),
    }));
    const interval = number.kind === "estimate" ? [number.low, number.high] : [];
    const drawn = [];
    if (starts.some((marks) => marks.length)) {
      drawn.push(el("h3", {}, "Every engine start"), strip(lines, 4.5, interval));
    }
    if (requests.some((row) => row.marks.length)) {
      drawn.push(el("h3", {}, "Some requests"), el("small", {}, data.strips[number.strip]), strip(requests, 2, []));
    }
    return drawn;
  }

  // The value alone, with its unit; the interval has a line of its own.
  function headline(number) {
    const value = number.printed.replace(/ \([^()]* to [^()]*\)$/, "");
    const bare = number.kind === "estimate" && /\d$/.test(value) && number.unit;
    return bare ? `${value} ${number.unit}` : value;
  }

  function facts(number) {
    const level = number.level ? `${Math.round(100 * number.level)} % interval ` : "interval ";
    const ends = number.low !== undefined && number.high !== undefined
      ? `${level}${plain(number.low)} to ${plain(number.high)}${number.unit ? ` ${number.unit}` : ""}` : "";
    const counts = [
      number.seeds !== undefined && `starts: ${number.seeds}`,
      number.requests !== undefined && `requests: ${thousands.format(number.requests)}`,
    ];
    return [
      ends && el("p", {}, ends),
      el("p", { class: "soft" }, [...counts, word(number.method), word(number.definition)]
        .filter(Boolean).join(" · ")),
      number.value !== undefined && el("p", { class: "soft" }, `exact value ${number.value}`),
      number.reason && el("p", {}, word(number.reason)),
      number.quotation && el("blockquote", {}, number.quotation),
      number.cited && el("p", { class: "soft" }, number.cited),
      number.synthetic && el("p", {}, el("span", { class: "badge" }, "synthetic")),
    ].filter(Boolean);
  }

  return function fill(drawer, id, close) {
    const number = data.numbers[id];
    const button = el("button", { type: "button", class: "close", "aria-label": "Close" }, "\u2715");
    button.addEventListener("click", close);
    const source = data.files[number.source[0]][0];
    drawer.setAttribute("aria-label", number.title);
    drawer.replaceChildren(
      el("header", {}, el("p", {}, number.title), button),
      el("p", { class: "value" }, headline(number)),
      ...facts(number),
      ...strips(number),
      el("h3", {}, "Where it comes from"),
      chain(number),
      ...evidence(number),
      ...answers(number),
      el("h3", {}, "Build it again"),
      el("pre", {}, `snakemake --cores 1 ${source}`),
      el("p", {}, el("a", { href: addressOf(id) }, "Link to this number")),
    );
    drawer.scrollTop = 0;
    button.focus({ preventScroll: true });
  };
}

// A strip of marks on one scale: rows are arms, the band is the interval.
function strip(rows, radius, interval) {
  const values = rows.flatMap((row) => row.marks.map((mark) => mark.value));
  const ends = interval.filter((end) => typeof end === "number");
  const low = Math.min(...values, ...ends), high = Math.max(...values, ...ends);
  const width = 420, pad = 8, line = 22, bottom = rows.length * line + 4;
  const x = (value) => (high === low ? width / 2 : pad + ((value - low) / (high - low)) * (width - 2 * pad));
  const draw = (tag, attributes, text = "") => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.textContent = text;
    return node;
  };
  const svg = draw("svg", { class: "strip", viewBox: `0 0 ${width} ${bottom + 16}`, role: "img",
    "aria-label": `${values.length} values from ${plain(low)} to ${plain(high)}` });
  if (ends.length === 2) {
    svg.append(draw("rect", { x: x(ends[0]), y: 2, width: Math.max(1, x(ends[1]) - x(ends[0])),
      height: rows.length * line, fill: "var(--tint)" }));
  }
  rows.forEach((row, index) => {
    const y = (index + 0.5) * line + 2;
    svg.append(draw("line", { x1: pad, x2: width - pad, y1: y, y2: y, stroke: "var(--faint)" }));
    for (const mark of row.marks) {
      const dot = draw("circle", { cx: x(mark.value), cy: y, r: radius, fill: "var(--accent)",
        "fill-opacity": radius > 3 ? 0.9 : 0.45 });
      dot.append(draw("title", {}, `${row.name}${mark.seed === undefined ? "" : `, seed ${mark.seed}`}: ${plain(mark.value)}`));
      svg.append(dot);
    }
    if (rows.length > 1) svg.append(draw("text", { x: pad, y: y - 6 }, row.name));
  });
  svg.append(draw("text", { x: pad, y: bottom + 11 }, plain(low)));
  if (high !== low) svg.append(draw("text", { x: width - pad, y: bottom + 11, "text-anchor": "end" }, plain(high)));
  return svg;
}

function startDrawer(block) {
  const data = JSON.parse(block.textContent);
  const fill = drawerOf(data);
  const drawer = el("dialog", { class: "drawer" });
  document.body.append(drawer);
  let opener = null;

  const anchorsOf = (id) => [...document.querySelectorAll(`[data-n="${CSS.escape(id)}"]`)];
  function idOf(fragment) {
    return fragment && fragment.startsWith("#n-") ? decodeURIComponent(fragment.slice(3)) : null;
  }
  function unmark() {
    document.querySelectorAll(".n.open").forEach((anchor) => anchor.classList.remove("open"));
  }
  function close() {
    if (!drawer.open) return;
    drawer.close();
    unmark();
    history.replaceState(null, "", location.pathname + location.search);
    opener?.focus({ preventScroll: true });
  }
  function open(id, from) {
    if (!(id in data.numbers)) return;
    const anchors = anchorsOf(id);
    opener = from ?? anchors.find((anchor) => anchor.getClientRects().length) ?? null;
    unmark();
    anchors.forEach((anchor) => anchor.classList.add("open"));
    if (!drawer.open) drawer.show();
    fill(drawer, id, close);
  }

  document.addEventListener("click", (event) => {
    const anchor = event.target.closest("a");
    const id = anchor && !drawer.contains(anchor) ? idOf(anchor.getAttribute("href")) : null;
    if (id === null || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    open(id, anchor);
    // The address follows once the drawer is painted: changing it costs as much as filling it.
    requestAnimationFrame(() => setTimeout(() => {
      if (drawer.open) history.replaceState(null, "", addressOf(id));
    }));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  function arrive() {
    const id = idOf(location.hash);
    if (id === null) return;
    open(id);
    opener?.scrollIntoView({ block: "center" });
  }
  addEventListener("hashchange", arrive);
  arrive();
}

// The audit page: rows from the data block, a page of them at a time

const STEP = 300;

function startAudit(block) {
  const tables = Object.entries(JSON.parse(block.textContent)).map(([id, rows]) => auditTable(id, rows));
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const total = tables.reduce((sum, table) => sum + table.filter(words), 0);
    found.textContent = `${thousands.format(total)} rows`;
  }
  search.addEventListener("input", filter);
  addEventListener("beforeprint", () => tables.forEach((table) => table.all()));
  filter();
}

function auditTable(id, rows) {
  const table = document.querySelector(`[data-audit="${id}"]`);
  const kinds = [...table.tHead.rows[0].cells].map((head) => head.dataset.kind);
  const empty = table.closest("section").querySelector(".empty");
  const more = el("button", { type: "button", class: "more" });
  table.closest(".wide").after(more);
  const texts = rows.map((row) => row.flat().join(" ").toLowerCase());
  let shown = rows.map((_, index) => index);
  let count = 0;

  const cellOf = (value, kind) => {
    if (value === null) return el("td");
    if (kind === "link") return el("td", {}, el("a", { href: value[1] }, value[0]));
    if (kind === "hash") return el("td", {}, short(value));
    if (kind === "number") return el("td", { title: String(value) }, plain(value, 6));
    return el("td", {}, String(value));
  };
  function grow(by) {
    const next = shown.slice(count, count + by);
    table.tBodies[0].append(...next.map((index) =>
      el("tr", {}, rows[index].map((value, column) => cellOf(value, kinds[column])))));
    count += next.length;
    more.hidden = count >= shown.length;
    more.textContent = `Show others: ${thousands.format(shown.length - count)}`;
    empty.hidden = shown.length > 0;
    table.closest(".wide").hidden = shown.length === 0;
  }
  function redraw() {
    table.tBodies[0].replaceChildren();
    count = 0;
    grow(STEP);
  }
  more.addEventListener("click", () => grow(STEP));
  sortable(table, (column, sign) => {
    const key = (index) => {
      const value = rows[index][column];
      return value === null ? "" : kinds[column] === "link" ? value[2] ?? value[0] : value;
    };
    shown.sort((a, b) => sign * compare(key(a), key(b)));
    redraw();
  });
  return {
    all: () => grow(shown.length),
    filter(words) {
      shown = rows.map((_, index) => index).filter((index) => words.every((word) => texts[index].includes(word)));
      redraw();
      return shown.length;
    },
  };
}

document.querySelectorAll("main .wide > table:not([data-audit])").forEach(sortRows);
const dataBlock = document.getElementById("data");
if (dataBlock) startDrawer(dataBlock);
const auditBlock = document.getElementById("audit");
if (auditBlock) startAudit(auditBlock);
