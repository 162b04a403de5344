"use strict";
// Columns: at_s, span_s, device, row, rows, address_bytes, height_bytes, skipped_bytes, file, requests, jumps, bytes. Address upwards, colour by
// file; a cell with jumps is a full mark, one that goes on in order a slim one; a line stands for addresses that nothing used.
iowhy.kinds.places = (chart, host, page) => {
  const rows = iowhy.rows(chart), devices = rows.distinct("device").sort();
  const sums = new Map();
  for (let row = 0; row < rows.length; row++) sums.set(rows.get("file", row), (sums.get(rows.get("file", row)) || 0) + rows.get("requests", row));
  const files = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a));
  const grey = (file) => file === "other files" || file === "of others" || file === "file not known";
  const coloured = files.filter((file) => !grey(file));
  const colour = (file) => (grey(file) ? "#8b939c" : iowhy.colours.nth(coloured.indexOf(file)));
  const busy = (device) => { let n = 0; for (let row = 0; row < rows.length; row++) if (rows.get("device", row) === device && rows.get("file", row) !== "of others") n += rows.get("requests", row); return n; };
  let device = devices.slice().sort((a, b) => busy(b) - busy(a))[0], mine = [], holes = [], low = 0, high = 1, current = -1;
  const gather = () => {
    mine = [];
    for (let row = 0; row < rows.length; row++) if (rows.get("device", row) === device) mine.push(row);
    mine.sort((a, b) => rows.get("at_s", a) - rows.get("at_s", b) || rows.get("address_bytes", a) - rows.get("address_bytes", b));
    low = Math.min(...mine.map((row) => rows.get("row", row)));
    high = Math.max(...mine.map((row) => rows.get("row", row) + rows.get("rows", row)));
    holes = between();
    current = -1;
  };
  // The rows below which addresses are left out.
  const between = () => {
    const skipped = new Map();
    for (const row of mine) skipped.set(rows.get("row", row), Math.max(skipped.get(rows.get("row", row)) || 0, rows.get("skipped_bytes", row)));
    const order = [...skipped].sort((a, b) => a[0] - b[0]);
    return order.slice(1).filter(([, bytes], nth) => bytes > order[nth][1]).map(([row]) => row);
  };
  gather();
  const y = (area, row) => area.bottom - ((row - low) / (high - low || 1)) * (area.bottom - area.top);
  // The address at a row: of the mark that is nearest.
  const address = (wanted, end) => {
    const nearest = mine.reduce((best, row) => (Math.abs(rows.get("row", row) - wanted) < Math.abs(rows.get("row", best) - wanted) ? row : best), mine[0]);
    return rows.get("address_bytes", nearest) + (end ? rows.get("height_bytes", nearest) : 0);
  };
  const box = (area, row) => {
    const x = area.x(rows.get("at_s", row)), top = y(area, rows.get("row", row) + rows.get("rows", row));
    return [x, top, Math.max(area.x(rows.get("at_s", row) + rows.get("span_s", row)) - x, 3), Math.max(y(area, rows.get("row", row)) - top, 3)];
  };
  const told = (found) => found.length ? {
    text: found.slice(0, 4).map((row) => `${iowhy.format.seconds(rows.get("at_s", row), rows.get("span_s", row))}, ${iowhy.format.size(rows.get("address_bytes", row))}: ` +
      `${iowhy.format.count(rows.get("requests", row))} requests, ${iowhy.format.count(rows.get("jumps", row))} jumps, ${iowhy.format.size(rows.get("bytes", row))}, ${rows.get("file", row)}`).join("; "),
    rows: found,
  } : null;
  const controls = iowhy.make("div", { class: "controls" });
  host.append(controls);
  const drawn = iowhy.canvas(host, page, {
    label: chart.title + ". Arrow keys move from mark to mark.",
    height: 300,
    timed: true,
    draw: (area, ctx) => {
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
      ctx.clip();
      for (const row of mine) {
        const [x, top, wide, tall] = box(area, row);
        ctx.fillStyle = colour(rows.get("file", row));
        rows.get("jumps", row) > 0 ? ctx.fillRect(x, top, wide, tall) : ctx.fillRect(x, top + tall / 2 - 1, wide, 2);
      }
      ctx.fillStyle = "#8b939c";
      for (const row of holes) ctx.fillRect(area.left, y(area, row), area.right - area.left, 0.5);
      ctx.restore();
      iowhy.axis(area, ctx, [0, 0.5, 1].map((share) => [low + share * (high - low), share === 1]).map(([v, end]) => [Math.min(Math.max(y(area, v), area.top + 6), area.bottom - 6), iowhy.format.size(address(v, end))]));
    },
    at: (px, py, area) => told(mine.filter((row) => {
      const [x, top, wide, tall] = box(area, row);
      return px >= x && px < x + wide && py >= top && py < top + tall;
    })),
    step: (dx, dy, area) => {
      current = Math.min(Math.max(current + dx + dy, 0), mine.length - 1);
      return { ...told([mine[current]]), x: area.x(rows.get("at_s", mine[current])) };
    },
  });
  if (devices.length > 1) {
    const choice = iowhy.choice("Device", devices, (chosen) => { device = chosen; gather(); drawn.draw(); name(); });
    choice.querySelector("select").value = device;
    controls.append(choice);
  }
  // Files of the device that is shown, with their requests there; colours are the same on each.
  const legend = iowhy.make("div");
  const name = () => {
    const here = new Map();
    for (const row of mine) here.set(rows.get("file", row), (here.get(rows.get("file", row)) || 0) + rows.get("requests", row));
    const listed = [...here].sort((a, b) => b[1] - a[1]).slice(0, 11);
    legend.replaceChildren(iowhy.legend(listed.map(([file, requests]) => [`${file} (${iowhy.format.count(requests)})`, colour(file)])));
  };
  name();
  host.append(legend);
  host.append(iowhy.make("p", { class: "hint" }, "Full marks: requests that jumped; slim ones went on where the device's request before ended. A line across: addresses that nothing used, drawn short."));
};
