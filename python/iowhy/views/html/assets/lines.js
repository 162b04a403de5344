"use strict";
// Columns: at_s, span_s, perhaps device, and amounts: those of one unit share a panel, drawn by uPlot in steps.
iowhy.kinds.lines = (chart, host, page) => {
  const rows = iowhy.rows(chart), parts = rows.names.includes("device") ? rows.distinct("device") : [null];
  const amounts = rows.names.filter((name) => !["at_s", "span_s", "device"].includes(name));
  const units = [...new Set(amounts.map(rows.unit))];
  const times = rows.distinct("at_s").sort((a, b) => a - b);
  const byTime = new Map(times.map((at) => [at, []]));
  for (let row = 0; row < rows.length; row++) byTime.get(rows.get("at_s", row)).push(row);
  const readout = iowhy.make("p", { class: "readout", "aria-live": "polite" });
  const words = (name) => name.startsWith("most_") && rows.unit(name) === "number" ? "most in flight (dashed)" : name === "mean_queue" ? "mean in flight" : name.replace(/_(per_s|bytes|pages)/g, "").replace(/_/g, " ");
  const show = (at) => {
    const found = byTime.get(times[at]) || [];
    readout.dataset.rows = JSON.stringify(found);
    readout.textContent = found.length === 0 ? "" : iowhy.format.seconds(times[at]) + ": " + found.map((row) => {
      const texts = amounts.filter((name) => rows.get(name, row) !== null).map((name) => `${words(name)} ${iowhy.format.value(rows.get(name, row), rows.unit(name))}`);
      return (rows.get("device", row) ? rows.get("device", row) + ": " : "") + texts.join(", ");
    }).join("; ");
  };
  const titles = { "bytes/s": "bytes a second", "1/s": "operations a second", number: "requests in flight", share: "busy share", pages: "pages", bytes: "memory of the machine", count: "count" };
  const step = uPlot.paths.stepped({ align: 1 });
  // A step goes on to the next point: an interval that none of its device follows ends in a point of its own, else it would not be drawn.
  const rowsOf = (part) => times.flatMap((at) => byTime.get(at).filter((row) => rows.get("device", row) === part));
  const until = (row, part) => rows.get("at_s", row) + rows.get("span_s", row) * part;
  const byPart = new Map(parts.map((part) => [part, rowsOf(part)]));
  const ends = parts.flatMap((part) => byPart.get(part).filter((row, nth, all) => nth + 1 === all.length || rows.get("at_s", all[nth + 1]) > until(row, 1.001)).map((row) => until(row, 1 - 1e-6)));
  const points = [...new Set([...times, ...ends])].sort((a, b) => a - b);
  const boxes = iowhy.make("div", { class: "beside" });
  host.append(boxes);
  const made = units.map((unit) => {
    const series = [], data = [points];
    for (const part of parts) for (const name of amounts.filter((one) => rows.unit(one) === unit)) {
      const values = points.map((at) => { const row = byPart.get(part).findLast((one) => rows.get("at_s", one) <= at); return row === undefined || at >= until(row, 1) ? null : rows.get(name, row); });
      if (values.every((v) => v === null)) continue;
      if (parts.length > 1 && values.every((v) => !v)) continue;
      series.push([(part ? part + " " : "") + words(name), name.startsWith("most_") && unit === "number"]);
      data.push(values);
    }
    if (series.length === 0) return null;
    const panel = iowhy.make("div", { class: "panel", tabindex: "0", role: "img", "aria-label": `${chart.title}: ${titles[unit] || unit}. Arrow keys move through time.` });
    const legend = iowhy.legend(series.map(([text], nth) => [text, iowhy.colours.nth(nth)]));
    const box = iowhy.make("div", {}, iowhy.make("p", { class: "hint" }, titles[unit] || unit), panel, legend);
    boxes.append(box);
    let drawn = null, current = -1;
    const high = (u) => u.scales.y.max;
    const build = () => {
      if (drawn) drawn.destroy();
      const axis = { stroke: iowhy.colours.of("--soft"), grid: { stroke: iowhy.colours.of("--line"), width: 1 }, ticks: { stroke: iowhy.colours.of("--line") }, font: "12px system-ui, sans-serif" };
      drawn = new uPlot({
        width: Math.max(box.clientWidth, 200), height: 150, legend: { show: false }, padding: [8, 8, 0, 0],
        cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
        scales: { x: { time: false, range: () => page.range() }, y: { range: (u, low, high) => [0, unit === "share" ? 1 : high || 1] } },
        axes: [{ ...axis, values: (u, ticks) => ticks.map((v) => v + " s"), size: 24, gap: 2 }, { ...axis, size: 86, ...(unit === "bytes" && { incrs: iowhy.format.steps(unit) }), values: (u, ticks) => ticks.map((v) => (unit === "bytes/s" && high(u) < 1e5 ? iowhy.format.three(v / 1e3) + " kB/s" : iowhy.format.value(v, unit))) }],
        series: [{}, ...series.map(([text, thin], nth) => ({ label: text, stroke: iowhy.colours.nth(nth), width: thin ? 1 : 1.5, dash: thin ? [5, 3] : undefined, paths: step, points: { show: false } }))],
        hooks: {
          draw: [(u) => iowhy.marks(u.ctx, page.marks().map((at) => u.valToPos(at, "x", true)), u.bbox.top, u.bbox.top + u.bbox.height)],
          setCursor: [(u) => { if (u.cursor.left >= 0) show((current = times.findLastIndex((at) => at <= u.posToVal(u.cursor.left, "x")))); }],
          setSelect: [(u) => { if (u.select.width > 4) page.choose([u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")]); u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false); }],
        },
      }, data, panel);
    };
    panel.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return page.choose(null);
      const dx = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!dx) return undefined;
      event.preventDefault();
      current = Math.min(Math.max(current + dx, 0), times.length - 1);
      return show(current);
    });
    panel.addEventListener("dblclick", () => page.choose(null));
    return build;
  });
  host.append(readout);
  page.each(() => made.forEach((build) => build && build()));
};
