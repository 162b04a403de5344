"use strict";
// Columns: at_s, span_s, thread, class, call, reason, thread_ns. Icicles: thread, then call (or the class on a CPU), then reason;
// where there is a `path` of functions (parted by \x1f, the outermost first), thread, then those, then the call, or the class. A row
// whose at_s is null has no moment: it is in the whole run alone.
// A press on a frame makes it as wide as the chart; one on the top frame shows all again.
iowhy.kinds.flame = (chart, host, page) => {
  const rows = iowhy.rows(chart), names = page.data.classes.map(([name]) => name), of_functions = "path" in chart.columns;
  const tall = of_functions ? 19 : 24;
  let idle = false, root = null, focus = [], frames = [], current = -1, deepest = 3;
  const levels = (row) => {
    const cls = rows.get("class", row), call = rows.get("call", row), reason = rows.get("reason", row);
    const path = [rows.get("thread", row)];
    if (of_functions) return [...path, ...rows.get("path", row).split("\x1f"), call ? `${call} (${cls})` : cls];
    if (call) path.push(call); else if (reason) path.push("outside calls");
    path.push(reason ? reason.replace(/_/g, " ") : cls);
    return path;
  };
  const gather = () => {
    root = { name: "all threads", ns: 0, rows: [], inner: new Map(), classes: {} };
    const [from, to] = page.range(), whole = from <= 0 && to >= page.data.elapsed_s;
    deepest = 3;
    for (const row of rows.within([from, to])) {
      const cls = rows.get("class", row), ns = rows.get("thread_ns", row);
      if ((cls === "idle" && !idle) || (rows.get("at_s", row) === null && !whole)) continue;
      let node = root;
      const path = levels(row);
      deepest = Math.max(deepest, path.length);
      for (const name of [null, ...path]) {
        if (name !== null) {
          if (!node.inner.has(name)) node.inner.set(name, { name, ns: 0, rows: [], inner: new Map(), classes: {} });
          node = node.inner.get(name);
        }
        node.ns += ns;
        node.rows.push(row);
        node.classes[cls] = (node.classes[cls] || 0) + ns;
      }
    }
  };
  const most = (node) => Object.entries(node.classes).sort((a, b) => b[1] - a[1])[0];
  const told = (frame) => frame && {
    text: `${frame.path.join(" → ") || "all threads"}: ${iowhy.format.duration(frame.node.ns)}, ${iowhy.format.percent(root.ns ? frame.node.ns / root.ns : 0)} of the time of threads shown; ` +
      Object.entries(frame.node.classes).sort((a, b) => b[1] - a[1]).slice(0, 4).map(([name, ns]) => `${name} ${iowhy.format.duration(ns)}`).join(", "),
    rows: frame.node.rows,
  };
  const layout = (area) => {
    frames = [];
    const put = (node, path, x, wide) => {
      frames.push({ node, path, x, wide, y: area.top + path.length * tall });
      const onWay = focus[path.length];
      let at = x;
      for (const inner of [...node.inner.values()].sort((a, b) => b.ns - a.ns)) {
        if (onWay !== undefined && inner.name !== onWay) continue;
        const share = onWay !== undefined ? wide : (inner.ns / (node.ns || 1)) * wide;
        if (share >= 0.5) put(inner, [...path, inner.name], at, share);
        at += share;
      }
    };
    put(root, [], area.left, area.right - area.left);
  };
  const controls = iowhy.make("div", { class: "controls" });
  const box = iowhy.make("input", { type: "checkbox" });
  controls.append(iowhy.make("label", {}, box, " with idle time"));
  host.append(controls);
  const drawn = iowhy.canvas(host, page, {
    label: chart.title + `, a flame graph: thread, ${of_functions ? "functions, call" : "call, reason"}. Arrow keys move from frame to frame.`,
    left: 4,
    height: () => {
      gather();
      return tall * (deepest + 1) + 14;
    },
    draw: (area, ctx) => {
      layout(area);
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      frames.forEach((frame, nth) => {
        const found = most(frame.node);
        ctx.fillStyle = frame.path.length === 0 || !found ? iowhy.colours.of("--line") : iowhy.colours.of("--class-" + names.indexOf(found[0]));
        ctx.fillRect(frame.x, frame.y, Math.max(frame.wide - 1, 0.5), tall - 1);
        if (nth === current) { ctx.strokeStyle = area.text; ctx.lineWidth = 2; ctx.strokeRect(frame.x + 1, frame.y + 1, Math.max(frame.wide - 3, 1), tall - 3); ctx.lineWidth = 1; }
        if (frame.wide < 34) return;
        ctx.save();
        ctx.beginPath();
        ctx.rect(frame.x, frame.y, frame.wide - 4, tall);
        ctx.clip();
        ctx.fillStyle = frame.path.length === 0 || (found && (found[0] === "idle")) ? area.text : "#000";
        if (found && ["waiting to read", "waiting for sync", "waiting for memory"].includes(found[0]) && frame.path.length) ctx.fillStyle = "#fff";
        ctx.fillText(`${frame.path[frame.path.length - 1] || "all threads"} ${iowhy.format.duration(frame.node.ns)}`, frame.x + 5, frame.y + tall / 2);
        ctx.restore();
      });
    },
    at: (x, y) => { current = frames.findIndex((f) => x >= f.x && x < f.x + f.wide && y >= f.y && y < f.y + tall); return told(frames[current]); },
    press: () => { if (frames[current]) { focus = frames[current].path; current = -1; } },
    step: (dx, dy) => { current = Math.min(Math.max(current + dx - dy, 0), frames.length - 1); return told(frames[current]); },
  });
  box.addEventListener("change", () => { idle = box.checked; focus = []; drawn.draw(); });
  const used = names.filter((name) => name !== "idle" && rows.distinct("class").includes(name));
  host.append(iowhy.legend(used.map((name) => [name, iowhy.colours.of("--class-" + names.indexOf(name)), page.data.classes[names.indexOf(name)][1]])));
};
