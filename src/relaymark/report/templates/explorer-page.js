// The page: filters, the table, what is not equal in it. Text from the rows reaches it through textContent only.
(() => {
  const { rows, flags, per, figure, rankable, unlike } = explorer;
  const html = document.documentElement;
  const id = (name) => document.getElementById(name);
  const make = (parent, tag, cls, text) => {
    const node = document.createElement(tag);
    if (cls) node.className = cls;
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  };
  const PAGE = 100;
  const ALL = "";
  const FILTERS = [["benchmark", "Benchmark"], ["scenario", "Scenario"], ["round", "Round"], ["division", "Division"],
    ["availability", "Availability"], ["family", "Accelerator"], ["count", "How many"], ["organization", "Submitter"],
    ["precision", "Precision"]];
  const SERIOUS = new Set(["scale", "accelerator", "availability", "precision"]);
  const TELLING = new Set(["model-other", "model-untold", "accelerators-unused", "accelerator-mix-untold", "duplicate", "result-unreadable"]);

  // Start with what can be ranked: the closed rows of the benchmark and scenario that most rows have.
  const mostOf = (list, name) => {
    const counts = new Map();
    for (const row of list) counts.set(row[name], (counts.get(row[name]) || 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1])[0][0];
  };
  const first = () => {
    const latest = rows[rows.length - 1].round;
    const closed = rows.filter((r) => r.division === "closed" && r.round === latest && r.higher);
    const pool = closed.length ? closed : rows;
    const benchmark = mostOf(pool, "benchmark");
    const scenario = mostOf(pool.filter((r) => r.benchmark === benchmark), "scenario");
    return { benchmark, scenario, division: closed.length ? "closed" : ALL, per: "accelerator", axis: "result", sort: "figure", down: true, search: "" };
  };
  let state = {};
  let shown = PAGE;
  let open = null;

  const passes = (row, except) => FILTERS.every(([name]) => {
    const wanted = state[name];
    return name === except || !wanted || String(row[name]) === wanted;
  });
  const found = (row) => {
    const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    const text = `${row.id} ${row.organization} ${row.platform} ${row.system} ${row.framework} ${row.scale} ${row.processor}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };

  // Eight colours go to the families that are left; the next eight have them hollow and dashed.
  let families = [];
  const colour = (family) => `c${families.indexOf(family) % 8} s${Math.floor(families.indexOf(family) / 8) % 2}`;

  const COLUMNS = [
    ["figure", "Result", "", (r) => per(r, state.per)],
    ["system", "System total", "", (r) => r.value],
    ["who", "Submitter, platform", "l", (r) => `${r.organization} ${r.platform}`],
    ["count", "Accelerators", "l", (r) => r.count],
    ["availability", "Availability", "l", (r) => r.availability],
    ["precision", "Precision", "l", (r) => r.precision],
    ["accuracy", "Accuracy", "l", (r) => r.quality],
    ["id", "Row", "l", (r) => r.id],
  ];

  const filterBar = () => {
    const bar = id("filters");
    for (const [name, label] of FILTERS) {
      const holder = make(bar, "label", "", label);
      const select = make(holder, "select");
      select.dataset.name = name;
      select.addEventListener("change", () => { state[name] = select.value; shown = PAGE; render(); });
    }
    segments("per", [["system", "Per system"], ["accelerator", "Per accelerator"], ["node", "Per node"]], "per");
    segments("axis", [["result", "Result"], ["share", "Share of the smallest size's rate"]], "axis");
    id("search").addEventListener("input", (event) => { state.search = event.target.value; shown = PAGE; render(); });
    id("reset").addEventListener("click", () => { state = first(); shown = PAGE; open = null; render(); });
    id("more").addEventListener("click", () => { shown = Infinity; render(); });
  };

  const segments = (holder, choices, name) => {
    for (const [value, label] of choices) {
      const button = make(id(holder), "button", "", label);
      button.type = "button";
      button.dataset.value = value;
      button.addEventListener("click", () => { state[name] = value; render(); });
    }
  };

  const options = () => {
    for (const select of id("filters").querySelectorAll("select")) {
      const { name } = select.dataset;
      const left = rows.filter((r) => passes(r, name) && found(r));
      const counts = new Map();
      for (const row of left) {
        const value = row[name] === null ? "" : String(row[name]);
        if (value !== "") counts.set(value, (counts.get(value) || 0) + 1);
      }
      const values = [...counts.keys()].sort((a, b) => (name === "count" ? a - b : a.localeCompare(b)));
      if (state[name] && !counts.has(state[name])) values.unshift(state[name]);
      select.replaceChildren();
      make(select, "option", "", `all (${left.length})`).value = ALL;
      for (const value of values) make(select, "option", "", `${value} (${counts.get(value) || 0})`).value = value;
      select.value = state[name] || ALL;
      select.className = state[name] ? "set" : "";
    }
  };

  const head = (list, mixed) => {
    const box = id("unlike");
    box.replaceChildren();
    id("head").textContent = "No row is left";
    if (!list.length) return;
    const what = mixed.length ? "Results" : `${list[0].benchmark} ${list[0].scenario}`;
    id("head").textContent = `${what}: ${list.length} row${list.length === 1 ? "" : "s"}`;
    if (mixed.length) make(box, "p", "refused", `No ranking: rows of different ${mixed.join(", ")} cannot be compared. Choose one of each.`);
    const found = unlike(list);
    if (!found.length) return;
    const line = make(box, "p");
    make(line, "b", "", "Not equal in these rows ");
    for (const [what, values] of found) {
      const tag = make(line, "span", SERIOUS.has(what) ? "tag warn" : "tag", `${what} `);
      make(tag, "i", "", values.length > 3 ? `${values.length} kinds` : values.map((v) => (v.length > 28 ? `${v.slice(0, 27)}…` : v)).join(" / "));
      tag.title = values.join("\n");
    }
  };

  const order = (list) => {
    const [, , , read] = COLUMNS.find(([name]) => name === state.sort) || COLUMNS[0];
    const sign = state.down ? -1 : 1;
    return [...list].sort((a, b) => {
      const [x, y] = [read(a), read(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (typeof x === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true }));
    });
  };

  const heads = (list) => {
    const bar = id("heads");
    bar.replaceChildren();
    make(bar, "th");
    const unit = new Set(list.map((r) => r.unit)).size === 1 ? list[0].unit : "";
    for (const [name, label, cls] of COLUMNS) {
      if (name === "system" && state.per === "system") continue;
      const th = make(bar, "th", cls);
      th.scope = "col";
      th.dataset.column = name;
      if (state.sort === name) th.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      const each = state.per === "system" ? "" : ` per ${state.per}`;
      const button = make(th, "button", "", name === "figure" ? `${unit || label}${each}` : label);
      button.type = "button";
      button.addEventListener("click", () => {
        const better = name === "figure" || name === "system" || name === "count";
        [state.down, state.sort] = [state.sort === name ? !state.down : better && !(list[0] && !list[0].higher && name !== "count"), name];
        render();
      });
    }
  };

  const detail = (body, row, width) => {
    const line = make(body, "tr", "detail");
    const cell = make(line, "td");
    cell.colSpan = width;
    const dl = make(cell, "dl");
    const say = (name, value, cls) => { if (value) { make(dl, "dt", "", name); make(dl, "dd", cls, value); } };
    say("as published", row.raw);
    say("system", row.system);
    say("benchmark", `${row.benchmark} ${row.scenario}, ${row.division}, ${row.category}`);
    say("model", row.model === row.benchmark ? "" : row.model);
    say("framework", row.framework);
    say("processor", row.processor);
    say("accuracy", row.accuracy);
    for (const flag of row.flags.split(" ").filter(Boolean)) say("note well", flags[flag] || flag, "warn");
    say("notes", row.notes);
  };

  const table = (list, mixed) => {
    const body = id("rows");
    body.replaceChildren();
    const ranked = !mixed.length && (state.sort === "figure" || state.sort === "system");
    const ordered = order(list);
    ordered.slice(0, shown).forEach((row, place) => {
      const line = make(body, "tr", "row");
      line.dataset.id = row.id;
      line.tabIndex = 0;
      const value = per(row, state.per);
      const rank = state.down === row.higher ? place + 1 : ordered.length - place;
      make(line, "td", "mark", ranked && value !== null ? `${rank}` : "");
      const fig = make(line, "td", "fig", figure(value));
      if (mixed.includes("unit")) make(fig, "small", "", row.unit);
      if (state.per !== "system") make(line, "td", "", figure(row.value));
      const who = make(line, "td", "l who", row.organization);
      make(who, "small", "", row.platform);
      if (mixed.includes("benchmark") || mixed.includes("scenario")) make(who, "small", "", `${row.benchmark} ${row.scenario}`);
      const many = make(line, "td", "l acc", row.scale);
      make(many, "small", "", row.nodes === null ? "nodes not told" : `${row.nodes} node${row.nodes === 1 ? "" : "s"}`);
      make(line, "td", row.availability === "available" ? "l" : "l warn", row.availability);
      make(line, "td", "l wrap", row.precision || "not told");
      make(line, "td", "l", row.quality || "not told");
      const serious = row.flags.split(" ").filter((flag) => TELLING.has(flag));
      const last = make(line, "td", "l", row.id);
      if (serious.length) {
        const mark = make(last, "small", "warn", serious.join(" "));
        mark.title = serious.map((flag) => flags[flag]).join("\n");
      }
      const toggle = () => { open = open === row.id ? null : row.id; render(); };
      line.addEventListener("click", toggle);
      line.addEventListener("keydown", (event) => { if (event.key === "Enter") toggle(); });
      if (open === row.id) detail(body, row, line.children.length);
    });
    id("more").hidden = list.length <= shown;
    id("more").textContent = `Show all ${list.length} rows`;
  };

  const plot = (list, mixed) => {
    const share = state.axis === "share";
    families = [...new Set(list.filter((r) => r.single && r.count).map((r) => r.family))].sort();
    const drawn = scalingPlot.draw(mixed.includes("unit") ? [] : list, share ? "accelerator" : state.per, share, colour);
    const each = state.per === "system" ? "" : ` per ${state.per}`;
    id("yname").textContent = share ? "rate per accelerator over that of the smallest size" : `${list.length ? list[0].unit : ""}${each}`;
    const key = id("key");
    key.replaceChildren();
    for (const family of drawn.sort()) {
      const item = make(key, "li");
      make(item, "span", `dotkey ${colour(family)}`);
      make(item, "span", "", family);
    }
  };

  // The choice stands in the address, so that a view can be kept or passed on.
  const remember = () => {
    const start = first();
    const told = new URLSearchParams();
    for (const [name, value] of Object.entries(state)) if (String(value) !== String(start[name] ?? "")) told.set(name, value);
    try { history.replaceState(null, "", `#${told}`); } catch { /* some browsers forbid it in files */ }
  };
  const recall = () => {
    state = first();
    const known = new Set([...FILTERS.map(([name]) => name), "per", "axis", "sort", "down", "search"]);
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      if (known.has(name)) state[name] = name === "down" ? value === "true" : value;
    }
    if (!["system", "accelerator", "node"].includes(state.per)) state.per = "accelerator";
  };

  const render = () => {
    const list = rows.filter((r) => passes(r) && found(r));
    const mixed = rankable(list);
    options();
    if (id("search").value !== state.search) id("search").value = state.search;
    for (const [holder, name] of [["per", "per"], ["axis", "axis"]]) {
      for (const button of id(holder).children) button.setAttribute("aria-pressed", button.dataset.value === state[name]);
    }
    head(list, mixed);
    heads(list.length ? list : rows);
    table(list, mixed);
    plot(list, mixed);
    remember();
  };

  const button = id("theme");
  const dark = () => (html.dataset.theme ? html.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => { html.dataset.theme = dark() ? "light" : "dark"; name(); });
  name();

  for (const link of document.querySelectorAll("[data-row]")) {
    link.addEventListener("click", () => {
      const row = rows.find((r) => r.id === link.dataset.row);
      if (!row) return;
      state = { ...first(), benchmark: row.benchmark, scenario: row.scenario, division: row.division, round: row.round, per: "system", down: row.higher };
      open = row.id;
      shown = Infinity;
      render();
      const line = [...id("rows").children].find((tr) => tr.dataset.id === row.id);
      if (line) line.scrollIntoView({ block: "center" });
    });
  }
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
  addEventListener("resize", () => { const list = rows.filter((r) => passes(r) && found(r)); plot(list, rankable(list)); });
  recall();
  filterBar();
  render();
})();
