"use strict";
// Columns: call, at_s, span_s, layer, what, path, begin_ns, dur_ns, bytes. One call at a time: what was under way below it.
iowhy.kinds.waterfall = (chart, host, page) => {
  const rows = iowhy.rows(chart), tall = 20;
  const colours = { call: "#8b939c", wait: "#d55e00", request: "#0072b2", flush: "#cc79a7", journal: "#e69f00" };
  const heads = [];
  for (let row = 0; row < rows.length; row++) if (rows.get("layer", row) === "call") heads.push(row);
  const label = (row) => `${rows.get("call", row)}. ${rows.get("what", row)} at ${iowhy.format.seconds(rows.get("at_s", row))}, ${iowhy.format.duration(rows.get("dur_ns", row))}` + (rows.get("path", row) ? `, ${rows.get("path", row)}` : "");
  let chosen = rows.get("call", heads[0]), current = -1;
  const parts = () => { const found = []; for (let row = 0; row < rows.length; row++) if (rows.get("call", row) === chosen) found.push(row); return found; };
  const span = (found) => [Math.min(...found.map((row) => rows.get("begin_ns", row))), Math.max(...found.map((row) => rows.get("begin_ns", row) + (rows.get("dur_ns", row) || 0)))];
  const told = (row) => row === undefined ? null : {
    text: `${rows.get("layer", row)}: ${rows.get("what", row)}, from ${iowhy.format.duration(rows.get("begin_ns", row))} on, ${iowhy.format.value(rows.get("dur_ns", row), "ns")}` +
      (rows.get("bytes", row) !== null ? `, ${iowhy.format.size(rows.get("bytes", row))}` : "") + (rows.get("path", row) ? `, ${rows.get("path", row)}` : ""),
    rows: [row],
  };
  const controls = iowhy.make("div", { class: "controls" });
  host.append(controls);
  const drawn = iowhy.canvas(host, page, {
    label: chart.title + ". Arrow keys move from bar to bar.",
    left: 4,
    height: () => parts().length * tall + 34,
    draw: (area, ctx) => {
      const found = parts(), [low, high] = span(found), x = (ns) => area.left + ((ns - low) / (high - low || 1)) * (area.right - area.left);
      const end = rows.get("dur_ns", found[0]);
      ctx.fillStyle = iowhy.colours.of("--panel");
      ctx.fillRect(x(0), area.top, x(end) - x(0), found.length * tall);
      found.forEach((row, nth) => {
        const from = x(rows.get("begin_ns", row)), wide = Math.max(x(rows.get("begin_ns", row) + (rows.get("dur_ns", row) || 0)) - from, 2), y = area.top + nth * tall;
        ctx.fillStyle = colours[rows.get("layer", row)];
        ctx.fillRect(from, y + 2, wide, tall - 5);
        if (nth === current) { ctx.strokeStyle = area.text; ctx.strokeRect(from, y + 1.5, wide, tall - 4); }
        // A reason is a phrase; a call keeps the name that it has.
        const what = rows.get("layer", row) === "wait" ? rows.get("what", row).replace(/_/g, " ") : rows.get("what", row);
        const text = `${what} ${iowhy.format.value(rows.get("dur_ns", row), "ns")}`, need = ctx.measureText(text).width + 10;
        ctx.textBaseline = "middle";
        // Behind the bar, else before it, else in it: where there is room.
        const [at, align, colour] = area.right - from - wide > need ? [from + wide + 5, "left", area.text]
          : from - area.left > need ? [from - 5, "right", area.text] : [from + 5, "left", rows.get("layer", row) === "request" ? "#fff" : "#000"];
        ctx.textAlign = align;
        ctx.fillStyle = colour;
        ctx.fillText(text, at, y + tall / 2);
      });
      ctx.fillStyle = area.soft;
      ctx.textBaseline = "top";
      for (const ns of iowhy.ticks(low, high, (area.right - area.left) / 130)) { ctx.textAlign = x(ns) > area.right - 40 ? "right" : x(ns) < area.left + 20 ? "left" : "center"; ctx.fillText(iowhy.format.duration(ns), x(ns), area.top + found.length * tall + 6); }
    },
    at: (px, py, area) => { const found = parts(); current = Math.floor((py - area.top) / tall); return told(found[current]); },
    step: (dx, dy) => { const found = parts(); current = Math.min(Math.max(current + dx - dy, 0), found.length - 1); return told(found[current]); },
  });
  const choice = iowhy.choice("Call", heads.map(label), () => { chosen = rows.get("call", heads[select.selectedIndex]); current = -1; drawn.draw(); });
  const select = choice.querySelector("select");
  controls.append(choice);
  // Of a stretch of time the calls in it; without any, all of them.
  page.each(() => {
    const [from, to] = page.range();
    heads.forEach((row, nth) => { select.options[nth].hidden = select.options[nth].disabled = rows.get("at_s", row) + rows.get("span_s", row) < from || rows.get("at_s", row) >= to; });
    const first = [...select.options].findIndex((one) => !one.disabled);
    if (first >= 0 && select.options[select.selectedIndex].disabled) { select.selectedIndex = first; chosen = rows.get("call", heads[first]); drawn.draw(); }
  });
  host.append(iowhy.legend(Object.entries(colours).map(([name, colour]) => [name, colour])));
};
