// Runs before the page is drawn, so that a chosen theme never flashes in the other.
"use strict";
(() => {
  const KEY = "singerlake-theme";
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // A browser that keeps nothing for files or private windows still has a working button.
  const kept = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }
  };
  const keep = (theme) => {
    try { localStorage.setItem(KEY, theme); } catch { /* for this page only, then */ }
  };

  const now = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const chosen = kept();
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const tell = () => button.setAttribute("aria-label", `Switch to ${now() === "dark" ? "light" : "dark"} colours`);
    button.hidden = false;
    tell();
    dark.addEventListener("change", tell);
    button.addEventListener("click", () => {
      root.dataset.theme = now() === "dark" ? "light" : "dark";
      keep(root.dataset.theme);
      tell();
    });
  });
})();
