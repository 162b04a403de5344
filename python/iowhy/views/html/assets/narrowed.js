"use strict";
// Columns: at_s, span_s, one text, and amounts that add up (max_… : the largest). In place of a report's table while a stretch
// of time is chosen; only there, so that the table of the whole run stays what it was written as.
iowhy.kinds.narrowed = (chart, host, page) => {
  const rows = iowhy.rows(chart), label = rows.names[2], amounts = rows.names.slice(3);
  const section = host.closest(".report"), whole = [...section.querySelectorAll(".scroll, .hint")].filter((one) => !host.contains(one));
  page.each(() => {
    const chosen = page.chosen();
    whole.forEach((one) => { one.hidden = chosen !== null; });
    host.replaceChildren();
    if (chosen === null) return;
    const found = new Map();
    for (const row of rows.within(page.range())) {
      const key = rows.get(label, row), sums = found.get(key) || amounts.map(() => null);
      amounts.forEach((name, nth) => {
        const v = rows.get(name, row);
        if (v !== null) sums[nth] = sums[nth] === null ? v : name.startsWith("max_") ? Math.max(sums[nth], v) : sums[nth] + v;
      });
      found.set(key, sums);
    }
    const by = Math.max(amounts.findIndex((name) => /^(total|time|cpu_user)_ns$/.test(name)), 0);
    const ordered = [...found].sort((a, b) => (b[1][by] || 0) - (a[1][by] || 0)).slice(0, 20);
    const heads = [label, ...amounts].map((name, nth) => iowhy.make("th", { scope: "col", class: nth ? "number" : "" }, name.replace(/_(ns|bytes)$/, "").replace(/_/g, " ")));
    const body = ordered.map(([key, sums]) => iowhy.make("tr", {}, iowhy.make("td", {}, key), ...sums.map((v, nth) => iowhy.make("td", { class: "number" }, iowhy.format.value(v, rows.unit(amounts[nth]))))));
    const table = iowhy.make("table", {}, iowhy.make("caption", {}, "In the chosen time only."), iowhy.make("thead", {}, iowhy.make("tr", {}, ...heads)), iowhy.make("tbody", {}, ...body));
    host.append(ordered.length ? iowhy.make("div", { class: "scroll", tabindex: "0" }, table) : iowhy.make("p", { class: "missing" }, "Nothing in the chosen time."));
  });
};
