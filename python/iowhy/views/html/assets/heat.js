"use strict";
// Columns: at_s, span_s, group, low_ns, high_ns, and a count. Time to the right, latency upwards on a log scale, counts as lightness.
iowhy.kinds.heat = (chart, host, page) => {
  const rows = iowhy.rows(chart), count = rows.names[rows.names.length - 1];
  const groups = rows.distinct("group").filter((one) => one !== null).sort();
  let group = "all", cells = [], most = 1, current = -1;
  const gather = () => {
    const found = new Map();
    for (let row = 0; row < rows.length; row++) {
      if (group !== "all" && rows.get("group", row) !== group) continue;
      const key = rows.get("at_s", row) + " " + rows.get("low_ns", row);
      const cell = found.get(key) || { at: rows.get("at_s", row), span: rows.get("span_s", row), low: rows.get("low_ns", row), high: rows.get("high_ns", row), n: 0, rows: [] };
      cell.n += rows.get(count, row);
      cell.rows.push(row);
      found.set(key, cell);
    }
    cells = [...found.values()].sort((a, b) => a.at - b.at || a.low - b.low);
    most = Math.max(...cells.map((cell) => cell.n), 1);
    current = -1;
  };
  gather();
  // Of two runs side by side both have one scale.
  const base = chart.name.replace(/^(before|after|side-\d+)-/, "");
  let low = Infinity, high = 1;
  for (const other of page.data.charts.filter((one) => one.name.replace(/^(before|after|side-\d+)-/, "") === base)) {
    const all = iowhy.rows(other);
    for (let row = 0; row < all.length; row++) {
      low = Math.min(low, all.get("low_ns", row));
      high = Math.max(high, all.get("high_ns", row));
    }
  }
  const log = (ns) => Math.log2(Math.max(ns, 1));
  const y = (area, ns) => area.bottom - ((log(ns) - log(low)) / (log(high) - log(low) || 1)) * (area.bottom - area.top);
  const told = (cell) => cell && {
    text: `${iowhy.format.seconds(cell.at, cell.span)} to ${iowhy.format.seconds(cell.at + cell.span, cell.span)}, ` +
      `${iowhy.format.duration(cell.low)} to ${iowhy.format.duration(cell.high)}: ${iowhy.format.count(cell.n)} ${count}` +
      (group === "all" && groups.length > 1 ? ` (${[...new Set(cell.rows.map((row) => rows.get("group", row)))].join("; ")})` : ""),
    rows: cell.rows,
  };
  const controls = iowhy.make("div", { class: "controls" });
  host.append(controls);
  const drawn = iowhy.canvas(host, page, {
    label: chart.title + ", a heat map on a logarithmic scale. Arrow keys move from cell to cell.",
    height: 260,
    timed: true,
    draw: (area, ctx) => {
      ctx.fillStyle = iowhy.colours.of("--panel");
      ctx.fillRect(area.left, area.top, area.right - area.left, area.bottom - area.top);
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
      ctx.clip();
      for (const cell of cells) {
        const x = area.x(cell.at), top = y(area, cell.high);
        ctx.fillStyle = iowhy.colours.heat(most > 1 ? Math.log(cell.n) / Math.log(most) : 1);
        ctx.fillRect(x, top, Math.max(area.x(cell.at + cell.span) - x, 2), Math.max(y(area, cell.low) - top, 2));
      }
      ctx.restore();
      const marks = [];
      for (let ns = 1; ns <= high; ns *= 10) if (ns >= low) marks.push([y(area, ns), iowhy.format.duration(ns)]);
      iowhy.axis(area, ctx, marks);
    },
    at: (px, py, area) => {
      const s = area.seconds(px);
      current = cells.findIndex((cell) => s >= cell.at && s < cell.at + cell.span && py <= y(area, cell.low) && py > y(area, cell.high));
      return told(cells[current]);
    },
    step: (dx, dy, area) => {
      current = Math.min(Math.max(current + dx + dy, 0), cells.length - 1);
      const cell = cells[current];
      return { ...told(cell), x: area.x(cell.at + cell.span / 2) };
    },
  });
  if (groups.length > 1) controls.append(iowhy.choice("Show", ["all", ...groups], (chosen) => { group = chosen; gather(); drawn.draw(); }));
  // As the lightness goes: by the logarithm of the count.
  const steps = [...new Set([0, 0.33, 0.66, 1].map((part) => Math.round(most ** part)))];
  host.append(iowhy.legend(steps.map((n, nth) => [`${iowhy.format.count(n)}${nth ? "" : " " + (n === 1 ? count.replace(/s$/, "") : count) + " in a cell"}`, iowhy.colours.heat(most > 1 ? Math.log(n) / Math.log(most) : 1)])));
};
