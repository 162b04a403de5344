"use strict";
// Colours of classes come from the styles; those of files and devices are Okabe and Ito's, which the colour-blind tell apart.
iowhy.colours = (() => {
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const named = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#b8a800", "#7d4f9e", "#8b939c", "#a05a2c", "#5a8f7b"];
  // Cividis (Nuñez, Anderton, Renslow 2018), some points of it: lightness alone orders it.
  const ramp = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];
  // On a dark page the dark end would not be seen.
  const least = () => (matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches ? 0.3 : 0);
  const heat = (share) => {
    const from = least(), at = (from + (1 - from) * Math.min(Math.max(share, 0), 1)) * (ramp.length - 1), low = Math.min(Math.floor(at), ramp.length - 2);
    const mix = ramp[low].map((c, i) => Math.round(c + (ramp[low + 1][i] - c) * (at - low)));
    return `rgb(${mix.join()})`;
  };
  return { of: style, nth: (n) => named[n % named.length], heat };
})();
