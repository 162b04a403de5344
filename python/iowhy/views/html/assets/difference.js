"use strict";
// Columns: side, thread, class, call, reason, thread_ns. As the flame graph, of two runs: a frame is as wide as the longer of both;
// orange is more than before, blue is less, grey the same.
iowhy.kinds.difference = (chart, host, page) => {
  const rows = iowhy.rows(chart), tall = 24;
  const root = { name: "all threads", sums: [0, 0], rows: [], inner: new Map() };
  for (let row = 0; row < rows.length; row++) {
    const cls = rows.get("class", row), call = rows.get("call", row), reason = rows.get("reason", row);
    if (cls === "idle") continue;
    const side = rows.get("side", row) === "before" ? 0 : 1, path = [rows.get("thread", row)];
    if (call) path.push(call); else if (reason) path.push("outside calls");
    path.push(reason ? reason.replace(/_/g, " ") : cls);
    let node = root;
    for (const name of [null, ...path]) {
      if (name !== null) {
        if (!node.inner.has(name)) node.inner.set(name, { name, sums: [0, 0], rows: [], inner: new Map() });
        node = node.inner.get(name);
      }
      node.sums[side] += rows.get("thread_ns", row);
      node.rows.push(row);
    }
  }
  let frames = [], current = -1;
  const weight = (node) => node.inner.size ? Math.max(...node.sums, [...node.inner.values()].reduce((sum, one) => sum + weight(one), 0)) : Math.max(...node.sums);
  const colour = (node) => {
    const change = (node.sums[1] - node.sums[0]) / Math.max(...node.sums, 1);
    if (Math.abs(change) < 0.1) return "#b8bec6";
    return change > 0 ? (change > 0.5 ? "#e08214" : "#fdb863") : (change < -0.5 ? "#4393c3" : "#92c5de");
  };
  const told = (frame) => frame && {
    text: `${frame.path.join(" → ") || "all threads"}: before ${iowhy.format.duration(frame.node.sums[0])}, after ${iowhy.format.duration(frame.node.sums[1])}`,
    rows: frame.node.rows,
  };
  iowhy.canvas(host, page, {
    label: chart.title + ", a differential flame graph: thread, call, reason. Arrow keys move from frame to frame.",
    left: 4,
    height: tall * 4 + 14,
    draw: (area, ctx) => {
      frames = [];
      const put = (node, path, x, wide, scale) => {
        frames.push({ node, path, x, wide, y: area.top + path.length * tall });
        let at = x;
        for (const inner of [...node.inner.values()].sort((a, b) => weight(b) - weight(a))) {
          const share = weight(inner) * scale;
          if (share >= 0.5) put(inner, [...path, inner.name], at, share, scale);
          at += share;
        }
      };
      put(root, [], area.left, area.right - area.left, (area.right - area.left) / (weight(root) || 1));
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      frames.forEach((frame, nth) => {
        ctx.fillStyle = colour(frame.node);
        ctx.fillRect(frame.x, frame.y, Math.max(frame.wide - 1, 0.5), tall - 1);
        if (nth === current) { ctx.strokeStyle = area.text; ctx.strokeRect(frame.x + 1, frame.y + 1, Math.max(frame.wide - 3, 1), tall - 3); }
        if (frame.wide < 34) return;
        ctx.save();
        ctx.beginPath();
        ctx.rect(frame.x, frame.y, frame.wide - 4, tall);
        ctx.clip();
        ctx.fillStyle = "#000";
        ctx.fillText(`${frame.path[frame.path.length - 1] || "all threads"} ${iowhy.format.duration(frame.node.sums[0])} → ${iowhy.format.duration(frame.node.sums[1])}`, frame.x + 5, frame.y + tall / 2);
        ctx.restore();
      });
    },
    at: (x, y) => { current = frames.findIndex((f) => x >= f.x && x < f.x + f.wide && y >= f.y && y < f.y + tall); return told(frames[current]); },
    step: (dx, dy) => { current = Math.min(Math.max(current + dx - dy, 0), frames.length - 1); return told(frames[current]); },
  });
  host.append(iowhy.legend([["much more than before", "#e08214"], ["more", "#fdb863"], ["the same (within a tenth)", "#b8bec6"], ["less", "#92c5de"], ["much less", "#4393c3"]]));
};
