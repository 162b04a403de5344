"use strict";
var iowhy = { kinds: {} };
// Numbers as iowhy writes them everywhere (iowhy/units.py).
iowhy.format = (() => {
  const three = (v) => {
    const digits = Math.abs(v) < 9.995 ? 2 : Math.abs(v) < 99.95 ? 1 : 0;
    const text = v.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
  };
  const scaled = (v, scales, least) => {
    for (const [scale, unit] of scales) if (Math.abs(v) >= scale) return three(v / scale) + " " + unit;
    return least;
  };
  const duration = (v) => {
    if (Math.abs(v) >= 120e9) {
      const all = Math.round(v / 1e9);
      return Math.floor(all / 60) + " min " + (all % 60) + " s";
    }
    return scaled(v, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]], v === 0 ? "0 s" : v.toFixed(2) + " ns");
  };
  const size = (v) => scaled(v, [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]], v.toFixed(0) + " B");
  // Between ticks of an axis: 512 KiB, 1 MiB, 1.5 MiB, where steps of ten would be 977 KiB and 1.91 MiB.
  const steps = (unit) => (unit === "bytes" ? Array.from({ length: 50 }, (_, power) => 2 ** power) : undefined);
  const count = (v) => Math.round(v).toLocaleString("en-US");
  const percent = (v) => {
    const p = v * 100;
    return p && Math.abs(p) < 9.95 ? p.toFixed(1) + " %" : p.toFixed(0) + " %";
  };
  const seconds = (v, span) => v.toFixed(span === undefined || span >= 0.1 ? 2 : span >= 0.001 ? 4 : 6) + " s";
  const value = (v, unit) => {
    if (v === null || v === undefined) return "–";
    switch (unit) {
      case "ns": return duration(v);
      case "bytes": return size(v);
      case "bytes/s": return three(v / 1e6) + " MB/s";
      case "share": return percent(v);
      case "s": return seconds(v);
      case "1/s": return three(v) + "/s";
      case "count": case "pages": return count(v);
      case "id": return String(v);
      case "number": return Number.isInteger(v) ? count(v) : three(v);
      default: return String(v);
    }
  };
  // A path may have 4,096 characters: its begin and its end tell it.
  const short = (text, most = 160) => (text.length <= most ? text : text.slice(0, most / 2 - 1) + "…" + text.slice(-most / 2));
  return { duration, size, steps, count, percent, seconds, value, three, short };
})();
