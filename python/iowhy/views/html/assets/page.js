"use strict";
// Draws every chart of the page, and holds the stretch of time that all of them show.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("time");
  let end = data.elapsed_s || 0, chosen = null;
  for (const chart of data.charts) {
    if (!chart.columns.at_s || !chart.columns.span_s) continue;
    const rows = iowhy.rows(chart);
    if (chart.draws === "waterfall") continue;
    for (let row = 0; row < rows.length; row++) end = Math.max(end, Math.min(rows.get("at_s", row) + rows.get("span_s", row), data.elapsed_s || Infinity));
  }
  const watching = [];
  const page = {
    data,
    range: () => chosen || [0, end || 1],
    // Where one phase ends and the next begins.
    marks: () => (data.phases || []).slice(1).map((one) => one[0]).filter((at) => at > page.range()[0] && at < page.range()[1]),
    chosen: () => chosen,
    each: (act) => { watching.push(act); act(); },
    choose: (range) => {
      if (range !== null) {
        const [from, to] = [Math.max(0, range[0]), Math.min(end, range[1])];
        range = to > from ? [from, to] : null;
      }
      chosen = range;
      show();
      watching.forEach((act) => act());
    },
  };
  const inputs = form ? [form.querySelector("#from"), form.querySelector("#to")] : [];
  const show = () => {
    document.body.classList.toggle("stretch", Boolean(chosen));
    if (!form) return;
    const digits = end < 1 ? 5 : 3;
    inputs[0].value = page.range()[0].toFixed(digits);
    inputs[1].value = page.range()[1].toFixed(digits);
    form.querySelector("#chosen").textContent = !chosen ? "The whole run. Drag over a chart to choose a stretch."
      : document.querySelector(".whole") ? "Charts and tables show this stretch; what cannot says so next to it."
      : "Charts and tables show this stretch.";
  };
  if (form && end > 0 && data.charts.length > 0) {
    form.hidden = false;
    for (const input of inputs) input.addEventListener("change", () => page.choose([Number(inputs[0].value), Number(inputs[1].value)]));
    form.querySelector("#whole").addEventListener("click", () => page.choose(null));
    const phases = data.phases || [];
    if (phases.length > 0) form.append(iowhy.choice("Phase", ["all", ...phases.map((one) => one[2])], (text) => {
      const found = phases.find((one) => one[2] === text);
      page.choose(found ? found.slice(0, 2) : null);
    }));
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  const failed = [];
  for (const chart of data.charts) {
    const host = document.querySelector(`[data-chart="${CSS.escape(chart.name)}"]`);
    if (!host) continue;
    try {
      iowhy.kinds[chart.draws](chart, host, page);
    } catch (error) {
      failed.push(error);
      host.append(iowhy.make("p", { class: "missing" }, "This chart could not be drawn: " + error.message));
    }
  }
  for (const host of document.querySelectorAll("[data-rows]")) {
    const chart = data.charts.find((one) => one.name === host.dataset.rows);
    if (chart) iowhy.narrowed(chart, host, page);
  }
  show();
  const again = () => watching.forEach((act) => act());
  let waiting = 0;
  addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(again); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  addEventListener("beforeprint", again);
  addEventListener("afterprint", again);
  document.documentElement.dataset.drawn = String(data.charts.length);
  if (failed.length) throw failed[0];
})();
