"use strict";
// Levels in place of columns: lever, level, factor (what is left of the resource), value, low and high (times slower). One curve for
// each lever: from what is left of its resource, or from level to level where that has no amount; upwards slower, on a log scale.
iowhy.kinds.response = (chart, host, page) => {
  const levers = [...new Set(chart.levels.map((one) => one.lever))];
  const amounts = chart.levels.some((one) => one.factor !== null);
  const points = levers.flatMap((lever, nth) => {
    const mine = chart.levels.filter((one) => one.lever === lever).sort((a, b) => (b.factor || 0) - (a.factor || 0));
    return mine.map((one, at) => ({ ...one, nth, share: one.factor !== null ? 1 - one.factor : (at + 1) / (mine.length + 1) }));
  });
  const ends = points.flatMap((one) => [one.value, Math.max(one.low || one.value, one.value / 4), Math.min(one.high || one.value, one.value * 4)]);
  const low = Math.min(0.95, ...ends) / 1.03, high = Math.max(1.05, ...ends) * 1.03;
  const x = (area, one) => area.left + 12 + one.share * (area.right - area.left - 24) + (one.nth - levers.length / 2) * 3;
  const y = (area, v) => area.bottom - 20 - (Math.log(Math.min(Math.max(v, low), high) / low) / Math.log(high / low)) * (area.bottom - 20 - area.top);
  const three = iowhy.format.three;
  const told = (one) => one && { text: `${one.lever} ${one.level}: ${three(one.value)} times` + (one.low !== null && one.high !== null ? ` (${three(one.low)} to ${three(one.high)})` : "") + (one.factor !== null ? `, ${iowhy.format.percent(one.factor)} of the resource left` : ""), rows: [points.indexOf(one)] };
  let current = -1;
  iowhy.canvas(host, page, {
    label: "Response curves: times slower by what is left of each resource. Arrow keys move from point to point.",
    height: 280,
    draw: (area, ctx) => {
      const marks = [];
      for (const v of [0.1, 0.2, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100]) if (v >= low && v <= high) marks.push(v);
      const shown = marks.filter((v, at) => v === 1 || at === 0 || Math.abs(y(area, v) - y(area, 1)) > 14);
      ctx.strokeStyle = area.line;
      for (const v of shown) { ctx.lineWidth = v === 1 ? 2 : 1; ctx.beginPath(); ctx.moveTo(area.left, y(area, v)); ctx.lineTo(area.right, y(area, v)); ctx.stroke(); }
      iowhy.axis(area, ctx, shown.map((v) => [y(area, v), three(v) + " times"]));
      for (const [nth, lever] of levers.entries()) {
        const mine = points.filter((one) => one.lever === lever), colour = iowhy.colours.nth(nth);
        ctx.strokeStyle = ctx.fillStyle = colour;
        ctx.lineWidth = 2;
        if (mine.some((one) => one.factor !== null)) {
          ctx.beginPath();
          ctx.moveTo(area.left + 12, y(area, 1));
          for (const one of mine) ctx.lineTo(x(area, one), y(area, one.value));
          ctx.stroke();
        }
        for (const one of mine) {
          const px = x(area, one);
          if (one.low !== null && one.high !== null) { ctx.beginPath(); ctx.moveTo(px, y(area, one.low)); ctx.lineTo(px, y(area, one.high)); ctx.stroke(); }
          ctx.beginPath();
          ctx.arc(px, y(area, one.value), points.indexOf(one) === current ? 8 : 5, 0, 7);
          ctx.fill();
        }
      }
      ctx.fillStyle = area.soft;
      ctx.textBaseline = "bottom";
      ctx.textAlign = "left";
      ctx.fillText(amounts ? "all of the resource" : "", area.left + 4, area.bottom);
      ctx.textAlign = "right";
      ctx.fillText(amounts ? "nothing left" : "", area.right - 4, area.bottom);
    },
    at: (px, py, area) => { current = points.findIndex((one) => Math.abs(px - x(area, one)) < 9 && Math.abs(py - y(area, one.value)) < 12); return told(points[current]); },
    step: (dx, dy) => { current = Math.min(Math.max(current + dx + dy, 0), points.length - 1); return told(points[current]); },
  });
  host.append(iowhy.legend(levers.map((lever, nth) => [lever, iowhy.colours.nth(nth)])));
};
