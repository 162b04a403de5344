"use strict";
// Columns: at_s, span_s, class, and one amount in ns. Cells of time, each a stack of classes; findings are marked above, where
// the classes that they explain make up most of a cell.
iowhy.kinds.stacked = (chart, host, page) => {
  const rows = iowhy.rows(chart), amount = rows.names.find((name) => rows.unit(name) === "ns");
  const classes = page.data.classes.map(([name]) => name);
  const cells = new Map();
  for (let row = 0; row < rows.length; row++) {
    const at = rows.get("at_s", row);
    if (!cells.has(at)) cells.set(at, { at, span: rows.get("span_s", row), parts: [] });
    cells.get(at).parts.push([rows.get("class", row), rows.get(amount, row), row]);
  }
  const ordered = [...cells.values()].sort((a, b) => a.at - b.at);
  for (const cell of ordered) cell.parts.sort((a, b) => classes.indexOf(a[0]) - classes.indexOf(b[0]));
  const whole = (cell) => cell.parts.reduce((sum, [, ns]) => sum + ns, 0);
  const findings = page.data.findings.slice(0, 4), strip = 15, band = findings.length * strip + (findings.length ? 8 : 0);
  const used = classes.filter((name) => ordered.some((cell) => cell.parts.some((part) => part[0] === name)));
  const colour = (name) => iowhy.colours.of("--class-" + classes.indexOf(name));
  const told = (cell) => ({
    text: `${iowhy.format.seconds(cell.at, cell.span)} to ${iowhy.format.seconds(cell.at + cell.span, cell.span)}: ` +
      cell.parts.slice().sort((a, b) => b[1] - a[1]).map(([name, ns]) => `${name} ${iowhy.format.duration(ns)}`).join(", "),
    rows: cell.parts.map((part) => part[2]),
  });
  let current = -1;
  iowhy.canvas(host, page, {
    label: chart.title + ". Arrow keys move from cell to cell.",
    height: 220 + band,
    timed: true,
    draw: (area, ctx) => {
      const top = area.top + band, high = area.bottom - top;
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, 0, area.right - area.left, area.bottom);
      ctx.clip();
      for (const cell of ordered) {
        const x = area.x(cell.at), wide = Math.max(area.x(cell.at + cell.span) - x, 1), all = whole(cell) || 1;
        let y = area.bottom;
        for (const [name, ns] of cell.parts) {
          const tall = (ns / all) * high;
          ctx.fillStyle = colour(name);
          ctx.fillRect(x, y - tall, wide + 0.5, tall);
          y -= tall;
        }
        findings.forEach((finding, nth) => {
          const share = cell.parts.reduce((sum, [name, ns]) => sum + (finding.classes.includes(name) ? ns : 0), 0) / all;
          if (share < 0.5) return;
          ctx.fillStyle = area.text;
          ctx.fillRect(x, area.top + nth * strip + 3, wide + 0.5, strip - 7);
        });
      }
      ctx.restore();
      iowhy.axis(area, ctx, [0, 0.5, 1].map((share) => [area.bottom - share * high, iowhy.format.percent(share)]));
      iowhy.axis(area, ctx, findings.map((_, nth) => [area.top + nth * strip + strip / 2, "finding " + (nth + 1)]));
    },
    at: (x, y, area) => {
      if (x < area.left || x > area.right) return null;
      const s = area.seconds(x);
      current = ordered.findIndex((cell) => s >= cell.at && s < cell.at + cell.span);
      return current < 0 ? null : told(ordered[current]);
    },
    step: (dx, dy, area) => {
      current = Math.min(Math.max(current + dx, 0), ordered.length - 1);
      const cell = ordered[current];
      return { ...told(cell), x: area.x(cell.at + cell.span / 2) };
    },
  });
  host.append(iowhy.legend(used.map((name) => [name, colour(name), page.data.classes[classes.indexOf(name)][1]])));
  if (findings.length) {
    const words = findings.map((one, nth) => `${nth + 1} ${one.cause}`).join(", ");
    host.append(iowhy.make("p", { class: "hint" }, `Lines above: the time that a finding speaks of is most of the cell (${words}).`));
  }
};
