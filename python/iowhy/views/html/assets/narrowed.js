"use strict";
// The rows of a report of the chosen stretch of time, in place of its table while one is chosen; the table of the whole run stays
// as it was written. Columns: at_s, span_s, the key of a row (texts, ids, low_ and high_ ends of buckets), and amounts that add
// up (max_… and min_… : the largest, the least). Charts that are drawn serve as well. `listed` and `lines`: rows as they are.
iowhy.narrowed = (chart, host, page) => {
  const MOST = 20, rows = iowhy.rows(chart), make = iowhy.make;
  const listed = chart.draws === "listed" || chart.draws === "lines";
  const names = rows.names.filter((name) => !["at_s", "span_s", "row", "rows", "address_bytes", "height_bytes", "skipped_bytes"].includes(name));
  const isKey = (name) => ["text", "id", "bool"].includes(rows.unit(name)) || /^(low|high)_/.test(name);
  const keys = names.filter(isKey), amounts = names.filter((name) => !isKey(name));
  const buckets = keys.some((name) => name.startsWith("low_"));
  const by = Math.max(amounts.findIndex((name) => /^(total|time|waited|elapsed|paused|stalled|cpu_user|request)_ns$/.test(name)), 0);
  const means = amounts.includes("total_ns") && rows.unit(amounts[0]) === "count" && amounts[0];
  const joined = (name, a, b) => (a === null ? b : b === null ? a : name.startsWith("max_") ? Math.max(a, b) : name.startsWith("min_") ? Math.min(a, b) : a + b);
  const less = (a, b) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1);
  const gather = (chosen) => {
    const found = new Map();
    for (const row of chosen) {
      const key = keys.map((name) => rows.get(name, row)), word = JSON.stringify(key), known = found.get(word);
      const values = amounts.map((name) => rows.get(name, row));
      found.set(word, { key, sums: known ? amounts.map((name, nth) => joined(name, known.sums[nth], values[nth])) : values });
    }
    const all = [...found.values()];
    return buckets ? all.sort((a, b) => keys.reduce((order, name, nth) => order || less(a.key[nth], b.key[nth]), 0)) : all.sort((a, b) => (b.sums[by] || 0) - (a.sums[by] || 0));
  };
  const summed = (chosen) => {
    const all = gather(chosen), whole = all.reduce((sum, one) => sum + (one.sums[by] || 0), 0);
    const heads = [...keys, ...amounts], units = heads.map(rows.unit);
    const cells = all.map((one) => [...one.key, ...one.sums]);
    if (chart.draws === "stacked") { heads.push("share"); units.push("share"); all.forEach((one, nth) => cells[nth].push(whole ? one.sums[by] / whole : null)); }
    if (means) { heads.push("mean_ns"); units.push("ns"); all.forEach((one, nth) => { const n = one.sums[amounts.indexOf(means)], sum = one.sums[amounts.indexOf("total_ns")]; cells[nth].push(n && sum !== null ? sum / n : null); }); }
    return [heads, units, cells];
  };
  const asTheyAre = (chosen) => {
    const order = chosen.sort((a, b) => rows.get("at_s", a) - rows.get("at_s", b));
    const heads = ["at_s", ...names].filter((name) => order.some((row) => rows.get(name, row) !== null));
    return [heads, heads.map(rows.unit), order.map((row) => heads.map((name) => rows.get(name, row)))];
  };
  const short = (name) => name.replace(/_(ns|s|bytes|pages)$/, "");
  const words = (name, all) => (all.filter((one) => short(one) === short(name)).length > 1 ? name.replace(/_ns$/, " time") : short(name)).replace(/_/g, " ");
  const section = host.closest("section"), stays = (one) => one === host || one.matches("h2, h3, .question, .whole");
  page.each(() => {
    const range = page.chosen();
    for (const one of section.children) if (!stays(one)) one.hidden = range !== null;
    host.replaceChildren();
    if (range === null) return;
    const [heads, units, cells] = (listed ? asTheyAre : summed)(rows.within(range));
    if (cells.length === 0) return host.append(make("p", { class: "missing" }, "Nothing in the chosen time."));
    const number = (nth) => (["text", "bool"].includes(units[nth]) ? "" : "number");
    const head = heads.map((name, nth) => make("th", { scope: "col", class: number(nth) }, words(name, heads)));
    const body = cells.slice(0, MOST).map((row) => make("tr", {}, ...row.map((v, nth) => make("td", { class: number(nth) || (String(v).length > 20 ? "long" : "") }, iowhy.format.value(v, units[nth])))));
    const caption = `In the chosen time only, ${iowhy.format.seconds(range[0], range[1] - range[0])} to ${iowhy.format.seconds(range[1], range[1] - range[0])}.`;
    const table = make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
    host.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table));
    if (cells.length > MOST) host.append(make("p", { class: "hint" }, `${MOST} rows of ${iowhy.format.count(cells.length)}.`));
    return undefined;
  });
};
