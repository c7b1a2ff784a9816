"use strict";
// The rows, what is chosen of them, and the arithmetic: no page in this part.
const explorer = (() => {
  const raw = JSON.parse(document.getElementById("data").textContent);
  const rows = raw.rows.map((cells) => {
    const row = {};
    raw.fields.forEach((name, i) => { row[name] = Array.isArray(cells[i]) ? raw.texts[cells[i][0]] : cells[i]; });
    return row;
  });

  // A result is divided only where that means something, as in `relaymark published`.
  const per = (row, what) => {
    if (row.value === null || what === "system") return row.value;
    if (!row.higher) return null;
    const count = what === "accelerator" ? row.used : row.nodes;
    return count ? row.value / count : null;
  };

  const figure = (value) => {
    if (value === null || value === undefined) return "–";
    if (Math.abs(value) >= 1e5) return Math.round(value).toLocaleString("en-US");
    const places = value === 0 ? 0 : Math.max(0, 5 - Math.floor(Math.log10(Math.abs(value))));
    return value.toLocaleString("en-US", { maximumFractionDigits: Math.min(places, 12) });
  };

  // Only rows of one benchmark, scenario, division and unit can stand in one ranking.
  const rankable = (list) => ["benchmark", "scenario", "division", "unit"].filter((name) => new Set(list.map((r) => r[name])).size > 1);

  const unlike = (list) => {
    const read = {
      scale: (r) => (r.count === null ? "not told" : r.count === 0 ? "no accelerator" : `${r.count}`),
      accelerator: (r) => r.family,
      availability: (r) => r.availability,
      precision: (r) => r.precision,
      date: (r) => r.round,
      framework: (r) => r.framework,
      category: (r) => r.category,
    };
    return Object.entries(read).map(([what, of]) => [what, [...new Set(list.map((r) => of(r) || "not told"))]])
      .filter(([, values]) => values.length > 1);
  };

  // Lines of the scaling plot: one submitter's sizes of one family, the best row of each size.
  const chains = (list, what) => {
    const groups = new Map();
    for (const row of list) {
      if (!row.single || !row.count || !row.higher || per(row, what) === null) continue;
      const key = JSON.stringify([row.family, row.organization, row.round, row.division, row.benchmark, row.scenario, row.unit]);
      if (!groups.has(key)) groups.set(key, new Map());
      const sizes = groups.get(key);
      const had = sizes.get(row.count);
      if (!had || row.value > had.value) sizes.set(row.count, row);
    }
    return [...groups.values()].map((sizes) => [...sizes.values()].sort((a, b) => a.count - b.count));
  };

  return { rows, flags: raw.flags, per, figure, rankable, unlike, chains };
})();
