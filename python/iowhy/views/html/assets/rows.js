"use strict";
// A chart's columns as they lie in the page: {same}, {list, at} or {values}.
iowhy.rows = (chart) => {
  const columns = chart.columns;
  const get = (name, row) => {
    const c = columns[name];
    if (c === undefined) return null;
    if ("same" in c) return c.same;
    if (c.list) return c.at[row] === null ? null : c.list[c.at[row]];
    return c.values[row];
  };
  const unit = (name) => columns[name].unit;
  // Rows whose middle lies in the stretch of time: a cell is either in or out.
  const within = ([from, to]) => {
    const found = [];
    for (let row = 0; row < chart.rows; row++) {
      const middle = get("at_s", row) + get("span_s", row) / 2;
      if (middle >= from && middle < to) found.push(row);
    }
    return found;
  };
  const distinct = (name) => {
    const seen = new Set();
    for (let row = 0; row < chart.rows; row++) seen.add(get(name, row));
    return [...seen];
  };
  return { get, unit, within, distinct, length: chart.rows, names: Object.keys(columns) };
};
// What a figure is made of: controls, a canvas or a place for one, the readout, which is read aloud.
iowhy.make = (name, words = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(words)) key === "class" ? (made.className = value) : made.setAttribute(key, value);
  made.append(...children);
  return made;
};
iowhy.legend = (entries) => {
  const list = iowhy.make("ul", { class: "legend" });
  for (const [text, colour, letter] of entries) {
    const key = iowhy.make("span", { class: "key", "aria-hidden": "true" }, letter || " ");
    key.style.background = colour;
    list.append(iowhy.make("li", iowhy.format.short(text) === text ? {} : { title: text }, key, " " + iowhy.format.short(text)));
  }
  return list;
};
iowhy.choice = (label, options, onChange) => {
  const select = iowhy.make("select");
  for (const text of options) select.append(iowhy.make("option", { value: text }, iowhy.format.short(text)));
  select.addEventListener("change", () => onChange(select.value));
  return iowhy.make("label", {}, label + " ", select);
};
// Dashed lines across a chart, where phases begin.
iowhy.marks = (ctx, places, top, bottom) => {
  ctx.save();
  ctx.strokeStyle = iowhy.colours.of("--text");
  ctx.lineWidth = 1;
  ctx.setLineDash([4, 4]);
  ctx.beginPath();
  for (const x of places) {
    ctx.moveTo(x, top);
    ctx.lineTo(x, bottom);
  }
  ctx.stroke();
  ctx.restore();
};
// A canvas with margins and a time axis. `spec`: height, draw(area, ctx), at(x, y, area) → {text, rows} or null, and for the
// keyboard step(dx, dy) → the same. `timed`: the horizontal axis is time, and a stretch of it can be chosen.
iowhy.canvas = (host, page, spec) => {
  const canvas = iowhy.make("canvas", { tabindex: "0", role: "img", "aria-label": spec.label });
  const readout = iowhy.make("p", { class: "readout", "aria-live": "polite" });
  host.append(canvas, readout);
  const ctx = canvas.getContext("2d");
  const area = { left: 86, top: 8, right: 0, bottom: 0, cursor: null, drag: null };
  const draw = () => {
    const width = host.clientWidth || 800, height = typeof spec.height === "function" ? spec.height(width) : spec.height;
    const scale = window.devicePixelRatio || 1;
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, width, height);
    area.left = spec.left === undefined ? 86 : spec.left;
    area.right = width - 8;
    area.bottom = height - (spec.timed ? 24 : 4);
    area.time = page.range();
    area.x = (s) => area.left + ((s - area.time[0]) / (area.time[1] - area.time[0])) * (area.right - area.left);
    area.seconds = (x) => area.time[0] + ((x - area.left) / (area.right - area.left)) * (area.time[1] - area.time[0]);
    area.text = iowhy.colours.of("--text");
    area.soft = iowhy.colours.of("--soft");
    area.line = iowhy.colours.of("--line");
    ctx.font = "12px system-ui, sans-serif";
    ctx.save();
    spec.draw(area, ctx);
    ctx.restore();
    if (spec.timed) {
      iowhy.timeAxis(area, ctx);
      iowhy.marks(ctx, page.marks().map(area.x), area.top, area.bottom);
    }
    if (area.cursor !== null && spec.timed) {
      ctx.strokeStyle = area.text;
      ctx.beginPath();
      ctx.moveTo(area.cursor, area.top);
      ctx.lineTo(area.cursor, area.bottom);
      ctx.stroke();
    }
    if (area.drag) {
      ctx.fillStyle = "rgba(80,140,220,.3)";
      ctx.fillRect(Math.min(...area.drag), area.top, Math.abs(area.drag[1] - area.drag[0]), area.bottom - area.top);
    }
  };
  const show = (found) => {
    readout.textContent = found ? found.text : "";
    readout.dataset.rows = JSON.stringify(found ? found.rows : []);
  };
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const inside = (x) => Math.min(Math.max(x, area.left), area.right);
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    area.cursor = x >= area.left && x <= area.right ? x : null;
    if (area.drag) area.drag[1] = inside(x);
    show(spec.at(x, y, area));
    draw();
  });
  canvas.addEventListener("pointerleave", () => { area.cursor = null; if (!area.drag) draw(); });
  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = place(event);
    if (spec.press) spec.press(x, y, area);
    if (!spec.timed) return draw();
    canvas.setPointerCapture(event.pointerId);
    area.drag = [inside(x), inside(x)];
  });
  canvas.addEventListener("pointerup", () => {
    if (!area.drag) return;
    const [a, z] = area.drag.slice().sort((p, q) => p - q);
    area.drag = null;
    z - a > 4 ? page.choose([area.seconds(a), area.seconds(z)]) : draw();
  });
  canvas.addEventListener("dblclick", () => spec.timed && page.choose(null));
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (event.key === "Escape") return page.choose(null);
    if (!(event.key in steps) || !spec.step) return undefined;
    event.preventDefault();
    const found = spec.step(...steps[event.key], area);
    if (found && found.x !== undefined) area.cursor = found.x;
    show(found);
    return draw();
  });
  page.each(draw);
  return { draw, canvas, area };
};
iowhy.ticks = (low, high, most) => {
  const rough = (high - low) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough) || power * 10;
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) found.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return found;
};
iowhy.timeAxis = (area, ctx) => {
  ctx.fillStyle = area.soft;
  ctx.strokeStyle = area.line;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  const [from, to] = area.time;
  const ticks = iowhy.ticks(from, to, (area.right - area.left) / 90);
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1, digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  for (const s of ticks) {
    const x = area.x(s);
    ctx.beginPath();
    ctx.moveTo(x, area.bottom);
    ctx.lineTo(x, area.bottom + 4);
    ctx.stroke();
    ctx.fillText(s.toFixed(digits) + " s", Math.min(x, area.right - 14), area.bottom + 6);
  }
  ctx.strokeRect(area.left + 0.5, area.top + 0.5, area.right - area.left - 1, area.bottom - area.top - 1);
};
iowhy.axis = (area, ctx, marks) => {
  ctx.fillStyle = area.soft;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const [y, text] of marks) ctx.fillText(text, area.left - 6, y);
};
