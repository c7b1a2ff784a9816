"use strict";
(() => {
  const html = document.documentElement;
  const make = (parent, tag, cls) => {
    const node = document.createElement(tag);
    node.className = cls;
    parent.append(node);
    return node;
  };

  // Theme: the reader's system decides until the button is pressed.
  const button = document.getElementById("theme");
  const dark = () => html.dataset.theme
    ? html.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => { html.dataset.theme = dark() ? "light" : "dark"; name(); });
  name();

  // Closed sections are part of the printed report.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));

  const nearest = (list, x) => {
    let best = 0;
    for (let i = 1; i < list.length; i++) if (Math.abs(list[i] - x) < Math.abs(list[best] - x)) best = i;
    return best;
  };

  // Text reaches the page through textContent only: names and messages are not ours.
  const readout = (plot) => {
    const cross = make(plot, "div", "cross");
    const box = make(plot, "div", "readout");
    const hide = () => { cross.hidden = box.hidden = true; };
    const draw = plot.querySelector("svg.draw");
    hide();
    plot.addEventListener("pointerleave", hide);
    return {
      at(event) {
        const r = draw.getBoundingClientRect();
        return { x: (event.clientX - r.left) / r.width, y: event.clientY - r.top, width: r.width, height: r.height };
      },
      show(share, title, lines, y) {
        const outer = plot.getBoundingClientRect();
        const r = draw.getBoundingClientRect();
        const left = r.left - outer.left + share * r.width;
        cross.hidden = box.hidden = false;
        cross.style.left = `${left}px`;
        cross.style.top = `${r.top - outer.top}px`;
        cross.style.height = `${r.height}px`;
        box.replaceChildren();
        make(box, "b", "").textContent = title;
        for (const [label, cls, value] of lines) {
          const row = make(box, "div", "row");
          make(row, "span", `chip ${cls}`);
          make(row, "span", "label").textContent = label;
          make(row, "span", "value").textContent = value;
        }
        const room = outer.width - box.offsetWidth - 4;
        const beside = left > outer.width / 2 ? left - box.offsetWidth - 10 : left + 10;
        box.style.left = `${Math.max(4, Math.min(beside, room))}px`;
        box.style.top = `${Math.max(0, y === undefined ? 4 : y)}px`;
      },
      hide,
    };
  };

  for (const plot of document.querySelectorAll(".plot[data-read]")) {
    const data = JSON.parse(plot.dataset.read);
    const box = readout(plot);
    plot.addEventListener("pointermove", (event) => {
      const i = nearest(data.x, box.at(event).x);
      const lines = data.s.filter((s) => s.v[i] !== "").map((s) => [s.n, s.c, s.v[i]]);
      if (lines.length) box.show(data.x[i], data.t[i], lines); else box.hide();
    });
  }

  for (const holder of document.querySelectorAll("[data-hits]")) {
    const hits = JSON.parse(holder.dataset.hits);
    const plot = holder.querySelector(".plot");
    const box = readout(plot);
    plot.addEventListener("pointermove", (event) => {
      const p = box.at(event);
      let best = null;
      let distance = 900;
      for (const hit of hits) {
        const dx = hit[0] / 1000 * p.width - p.x * p.width;
        const dy = hit[1] - p.y;
        const d = dx * dx + dy * dy;
        if (d < distance) { distance = d; best = hit; }
      }
      if (best) box.show(best[0] / 1000, best[2], [["at", "none", best[3]], ["task", "none", String(best[4])]]);
      else box.hide();
    });
  }
})();
