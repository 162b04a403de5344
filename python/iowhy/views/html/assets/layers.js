"use strict";
// Columns: at_s, span_s, layer, what, operations, bytes. One bar for each thing that a layer did, in bytes or operations.
iowhy.kinds.layers = (chart, host, page) => {
  const rows = iowhy.rows(chart), tall = 22;
  const shades = { asked: "#009e73", "page cache": "#e69f00", requests: "#0072b2" };
  let what = "bytes", bars = [], current = -1;
  const gather = () => {
    const found = new Map();
    for (const row of rows.within(page.range())) {
      const key = rows.get("layer", row) + ": " + rows.get("what", row);
      const bar = found.get(key) || { key, layer: rows.get("layer", row), bytes: 0, operations: 0, rows: [] };
      bar.bytes += rows.get("bytes", row) || 0;
      bar.operations += rows.get("operations", row) || 0;
      bar.rows.push(row);
      found.set(key, bar);
    }
    bars = [...found.values()].filter((bar) => bar[what] > 0);
  };
  const told = (bar) => bar && { text: `${bar.key}: ${iowhy.format.count(bar.operations)} operations, ${iowhy.format.size(bar.bytes)}`, rows: bar.rows };
  const controls = iowhy.make("div", { class: "controls" });
  host.append(controls);
  const drawn = iowhy.canvas(host, page, {
    label: chart.title + ". Arrow keys move from bar to bar.",
    left: 190,
    height: () => { gather(); return Math.max(bars.length, 1) * tall + 14; },
    draw: (area, ctx) => {
      // What everybody did to a device may dwarf the command: its bar is then cut, and says so.
      const own = Math.max(...bars.filter((bar) => !bar.layer.startsWith("device")).map((bar) => bar[what]), 0);
      const all = Math.max(...bars.map((bar) => bar[what]), 1), most = own > 0 ? Math.min(all, own * 1.25) : all;
      bars.forEach((bar, nth) => {
        const y = area.top + nth * tall, wide = Math.min(bar[what] / most, 1) * (area.right - area.left - 120);
        ctx.fillStyle = shades[bar.layer] || "#cc79a7";
        ctx.fillRect(area.left, y + 2, Math.max(wide, bar[what] ? 1 : 0), tall - 5);
        if (nth === current) { ctx.strokeStyle = area.text; ctx.strokeRect(area.left, y + 1.5, Math.max(wide, 1), tall - 4); }
        ctx.textBaseline = "middle";
        ctx.fillStyle = area.text;
        ctx.textAlign = "right";
        ctx.fillText(bar.key, area.left - 6, y + tall / 2);
        ctx.textAlign = "left";
        ctx.fillText((what === "bytes" ? iowhy.format.size(bar.bytes) : iowhy.format.count(bar.operations)) + (bar[what] > most ? ", bar cut" : ""), area.left + wide + 6, y + tall / 2);
      });
    },
    at: (x, y, area) => { current = Math.floor((y - area.top) / tall); return told(bars[current]); },
    step: (dx, dy) => { current = Math.min(Math.max(current + dx - dy, 0), bars.length - 1); return told(bars[current]); },
  });
  controls.append(iowhy.choice("Show", ["bytes", "operations"], (chosen) => { what = chosen; drawn.draw(); }));
};
