// The scaling plot: result over accelerators, or what is left of the smallest size's rate.
const scalingPlot = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const HEIGHT = 330;
  const holder = document.getElementById("plot");
  const { per, figure, chains } = explorer;

  const el = (parent, name, attributes, text) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  };
  const pct = (share) => `${(100 * share).toFixed(2)}%`;
  const nice = (top) => {
    const step = 10 ** Math.floor(Math.log10(top / 4));
    return [1, 2, 2.5, 5, 10].map((f) => f * step).find((s) => top / s <= 5) || step * 10;
  };
  const short = (value) => {
    if (value >= 1e6) return `${figure(Number((value / 1e6).toPrecision(3)))} M`;
    if (value >= 1e4) return `${figure(Number((value / 1e3).toPrecision(3)))} k`;
    return figure(Number(value.toPrecision(3)));
  };

  // Accelerators on a logarithmic axis; sizes that are there are its ticks, as far as they have room.
  const acrossOf = (sizes) => {
    const low = Math.log(Math.min(...sizes));
    const span = Math.log(Math.max(...sizes)) - low;
    const at = (size) => (span ? 0.03 + 0.94 * (Math.log(size) - low) / span : 0.5);
    const gap = 34 / Math.max(200, holder.clientWidth - 90);
    const ticks = [];
    for (const size of [...new Set(sizes)].sort((a, b) => a - b)) {
      if (!ticks.length || at(size) - at(ticks[ticks.length - 1]) >= gap) ticks.push(size);
    }
    return { at, ticks };
  };

  const upOf = (values, log, share) => {
    if (log) {
      const low = Math.floor(Math.log10(Math.min(...values)));
      const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
      const ticks = [];
      for (let p = low; p <= high; p += 1) ticks.push(10 ** p);
      return { at: (v) => (Math.log10(v) - low) / (high - low), ticks };
    }
    // Shares lie close to 1: their axis starts a little below the lowest, amounts start at zero.
    const low = share && Math.min(...values) > 0.5 ? Math.floor(10 * Math.min(...values) - 0.5) / 10 : 0;
    const step = nice(Math.max(...values) * 1.02 - low);
    const last = Math.ceil((Math.max(...values) * 1.02 - low) / step);
    const ticks = [];
    for (let i = 0; i <= last; i += 1) ticks.push(low + i * step);
    return { at: (v) => (v - low) / (last * step), ticks };
  };

  const draw = (list, what, share, colour) => {
    holder.replaceChildren();
    const lines = chains(list, what).map((chain) => chain.map((row) => {
      const value = per(row, what);
      const base = per(chain[0], "accelerator");
      return { row, value: share ? per(row, "accelerator") / base : value };
    })).filter((line) => !share || line.length > 1);
    const points = lines.flat();
    const svg = el(holder, "svg", { width: "100%", height: HEIGHT, class: "draw", role: "img", "aria-label": `Scaling of ${points.length} rows` });
    if (!points.length) {
      el(svg, "text", { x: "50%", y: HEIGHT / 2, class: "empty" }, share ? "No submitter has two sizes of this." : "Nothing to draw: no row has a rate and a count.");
      return [];
    }
    const across = acrossOf(points.map((p) => p.row.count));
    const up = upOf(points.map((p) => p.value), what === "system" && !share, share);
    const y = (value) => HEIGHT * (1 - up.at(value));
    for (const tick of up.ticks) {
      el(svg, "line", { x1: 0, x2: "100%", y1: y(tick), y2: y(tick), class: tick === up.ticks[0] ? "base" : "grid" });
      el(svg, "text", { x: -8, y: y(tick) + 4, class: "ty" }, share ? `${Number((100 * tick).toFixed(1))} %` : short(tick));
    }
    for (const size of across.ticks) {
      el(svg, "line", { x1: pct(across.at(size)), x2: pct(across.at(size)), y1: 0, y2: HEIGHT, class: "grid" });
      el(svg, "text", { x: pct(across.at(size)), y: HEIGHT + 18, class: "tx" }, size);
    }
    if (share) el(svg, "line", { x1: 0, x2: "100%", y1: y(1), y2: y(1), class: "ideal" });
    for (const line of lines) {
      for (let i = 1; i < line.length; i += 1) {
        const [a, b] = [line[i - 1], line[i]];
        el(svg, "line", { x1: pct(across.at(a.row.count)), y1: y(a.value), x2: pct(across.at(b.row.count)), y2: y(b.value), class: `line ${colour(a.row.family)}` });
      }
    }
    const marks = points.map((p) => {
      el(svg, "circle", { cx: pct(across.at(p.row.count)), cy: y(p.value), r: 4.5, class: `dot ${colour(p.row.family)}` });
      return { x: across.at(p.row.count), y: y(p.value), ...p };
    });
    hover(svg, marks, share, what);
    return [...new Set(points.map((p) => p.row.family))];
  };

  const hover = (svg, marks, share, what) => {
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    holder.append(tip);
    const say = (tag, text) => { const node = document.createElement(tag); node.textContent = text; tip.append(node); };
    holder.onpointerleave = () => { tip.hidden = true; };
    holder.onpointermove = (event) => {
      const box = svg.getBoundingClientRect();
      let best = null;
      let distance = 900;
      for (const mark of marks) {
        const d = (mark.x * box.width - (event.clientX - box.left)) ** 2 + (mark.y - (event.clientY - box.top)) ** 2;
        if (d < distance) { distance = d; best = mark; }
      }
      tip.hidden = !best;
      if (!best) return;
      tip.replaceChildren();
      const { row } = best;
      const each = what === "system" ? "" : ` a${what === "accelerator" ? "n" : ""} ${what}`;
      say("b", share ? `${(100 * best.value).toFixed(1)} % of the smallest size` : `${figure(best.value)} ${row.unit}${each}`);
      say("span", `${row.organization} ${row.platform}`);
      say("span", `${row.scale}, ${row.precision || "precision not told"}, ${row.availability}`);
      say("span", `${row.benchmark} ${row.scenario}, ${row.round}, ${row.id}`);
      const outer = holder.getBoundingClientRect();
      const left = box.left - outer.left + best.x * box.width;
      const beside = left > outer.width / 2 ? left - tip.offsetWidth - 12 : left + 12;
      tip.style.left = `${Math.max(2, Math.min(beside, outer.width - tip.offsetWidth - 2))}px`;
      tip.style.top = `${Math.max(0, Math.min(best.y - 10, HEIGHT - tip.offsetHeight))}px`;
    };
  };

  return { draw };
})();
