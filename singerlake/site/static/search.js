// Search across taps, streams and properties. The index is a script that is loaded when the search
// is first used: pages opened from a folder may fetch nothing. All text is set as text.
"use strict";
(() => {
  const SHOWN = 40;
  const root = document.body.dataset.root;
  const input = document.getElementById("search");
  const list = document.getElementById("results");
  const status = document.getElementById("found");
  let index = null;
  let loading = null;
  let active = -1;

  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${root}search-index.js`;
      script.onload = () => resolve(prepare(window.singerlakeIndex));
      script.onerror = reject;
      document.head.append(script);
    });
    return loading;
  }

  // Everything is lowered once, so that a keystroke only compares.
  function prepare({ taps, streams, properties }) {
    index = {
      names: properties,
      lowered: properties.map((name) => name.toLowerCase()),
      taps: taps.map(([tap, page, about]) => ({
        tap, page, about, name: tap.toLowerCase(), text: `${tap} ${about}`.toLowerCase(),
      })),
      streams: streams.map(([tap, stream, page, about, has]) => ({
        tap, stream, page, about, has,
        name: stream.toLowerCase(), text: `${tap} ${stream} ${about}`.toLowerCase(),
      })),
    };
    return index;
  }

  // Lower is better; a whole name, its beginning, the beginning of a word, anything.
  function rank(name, term) {
    const at = name.indexOf(term);
    if (at < 0) return 4;
    if (name.length === term.length) return 0;
    if (at === 0) return 1;
    return /[^a-z0-9]/.test(name[at - 1]) ? 2 : 3;
  }

  function find(query) {
    const terms = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (!terms.length) return null;
    const has = (text) => terms.every((term) => text.includes(term));
    const best = (name) => Math.min(...terms.map((term) => rank(name, term)));
    const found = [];
    for (const one of index.taps) {
      if (has(one.text)) found.push({ kind: "tap", score: best(one.name), one });
    }
    // A property is compared once, however many streams have it.
    const hits = terms.map((term) => index.lowered.map((name) => name.includes(term)));
    const scores = new Map();
    for (const one of index.streams) {
      if (has(one.text)) found.push({ kind: "stream", score: best(one.name), one });
      const inStream = terms.map((term) => one.text.includes(term));
      one.has.forEach((number, place) => {
        let own = false;
        for (let t = 0; t < terms.length; t++) {
          if (hits[t][number]) own = true;
          else if (!inStream[t]) return;
        }
        if (!own) return;
        if (!scores.has(number)) scores.set(number, best(index.lowered[number]) + 0.5);
        found.push({ kind: "property", score: scores.get(number), one, number, place });
      });
    }
    found.sort((a, b) => a.score - b.score);
    return found;
  }

  function row({ kind, one, number, place }, position) {
    const link = document.createElement("a");
    link.id = `result-${position}`;
    link.setAttribute("role", "option");
    link.setAttribute("aria-selected", "false");
    link.tabIndex = -1;
    link.href = root + one.page + (kind === "property" ? `#p${place}` : "");
    const name = document.createElement("bdi");
    name.className = "name";
    name.textContent = kind === "property" ? index.names[number] : kind === "tap" ? one.tap : one.stream;
    const where = document.createElement("bdi");
    where.className = "where";
    where.textContent = kind === "property" ? `${one.tap} / ${one.stream}` : kind === "stream" ? one.tap : one.about;
    const what = document.createElement("span");
    what.className = `what ${kind}`;
    what.textContent = kind;
    link.append(what, name, where);
    return link;
  }

  function show(found) {
    active = -1;
    input.removeAttribute("aria-activedescendant");
    const open = found !== null;
    list.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    if (!open) {
      list.replaceChildren();
      status.textContent = "";
      return;
    }
    const rows = found.slice(0, SHOWN).map(row);
    if (found.length !== rows.length || !rows.length) {
      const more = document.createElement("p");
      more.className = "more";
      more.textContent = rows.length
        ? `and ${(found.length - rows.length).toLocaleString("en")} more: another word narrows it down`
        : "Nothing has that name.";
      rows.push(more);
    }
    list.replaceChildren(...rows);
    list.scrollTop = 0;
    status.textContent = `${found.length.toLocaleString("en")} found`;
  }

  function move(step) {
    const options = list.querySelectorAll("[role=option]");
    if (!options.length) return;
    options[active]?.setAttribute("aria-selected", "false");
    active = (active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length;
    options[active].setAttribute("aria-selected", "true");
    options[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[active].id);
  }

  async function search() {
    const asked = input.value;
    try {
      await load();
    } catch {
      status.textContent = "The search index could not be read.";
      return;
    }
    if (asked === input.value) show(find(asked));
  }

  input.addEventListener("focus", () => { load().catch(() => {}); if (input.value) search(); });
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      const options = list.querySelectorAll("[role=option]");
      (options[active] ?? options[0])?.click();
    } else if (event.key === "Escape") {
      if (list.hidden) input.blur();
      input.value = "";
      show(null);
    }
  });
  // A link within the page is followed without leaving it: the list has done its work.
  list.addEventListener("click", () => setTimeout(() => show(null)));
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) show(null);
  });
  input.parentElement.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !event.relatedTarget.closest(".search")) show(null);
  });
  document.addEventListener("keydown", (event) => {
    const writing = event.target.closest?.("input:not([type=radio]):not([type=checkbox]), textarea, [contenteditable]");
    if (event.key === "/" && !writing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
      input.select();
    }
  });
  // A quick hand has typed before this script was there.
  if (document.activeElement === input && input.value) search();
})();
