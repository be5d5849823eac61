// Ages, charts, copying and sorting. Without any of it the pages still tell everything.
"use strict";
(() => {
  const MINUTE = 60e3, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
  const UNITS = [[365 * DAY, "year"], [30 * DAY, "month"], [7 * DAY, "week"], [DAY, "day"], [HOUR, "hour"], [MINUTE, "minute"]];
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "always" });

  function ages() {
    for (const time of document.querySelectorAll("time.age")) {
      const passed = Date.now() - Date.parse(time.dateTime);
      const [unit, name] = UNITS.find(([length]) => Math.abs(passed) >= length) ?? [0, ""];
      time.title ||= time.textContent;
      time.textContent = unit ? relative.format(-Math.floor(passed / unit), name) : "just now";
      time.dataset.fresh = passed < DAY ? "day" : passed < 7 * DAY ? "week" : "old";
    }
  }
  ages();
  setInterval(ages, MINUTE);

  for (const chart of document.querySelectorAll("[data-chart]")) {
    const reading = chart.querySelector(".reading");
    const hint = reading.textContent;
    for (const bars of chart.querySelectorAll(".bars")) {
      const steps = [...bars.querySelectorAll(".step")];
      let active = -1;
      const choose = (number) => {
        steps[active]?.classList.remove("active");
        active = number;
        steps[active]?.classList.add("active");
        reading.textContent = steps[active]?.dataset.reading ?? hint;
        reading.classList.toggle("on", active >= 0);
      };
      bars.addEventListener("pointermove", (event) => choose(steps.indexOf(event.target.closest(".step"))));
      bars.addEventListener("pointerleave", () => choose(-1));
      bars.addEventListener("blur", () => choose(-1));
      bars.addEventListener("keydown", (event) => {
        const last = steps.length - 1;
        const to = {
          ArrowRight: Math.min(last, active + 1),
          ArrowLeft: active < 0 ? last : Math.max(0, active - 1),
          Home: 0,
          End: last,
          Escape: -1,
        }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        choose(to);
      });
    }
  }

  for (const button of document.querySelectorAll("button.copy")) {
    const code = button.parentElement.querySelector("code");
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        // Pages from a folder may not have the clipboard: the text is marked, Ctrl+C does the rest.
        getSelection().selectAllChildren(code);
        button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  // Rows that have all words which were typed, or which a link gave behind its #.
  const filter = document.getElementById("filter");
  if (filter) {
    const rows = [...document.querySelectorAll("table[data-filtered] tbody tr")];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const status = document.getElementById("filtered");
    const show = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = texts.map((text) => words.every((word) => text.includes(word)));
      rows.forEach((row, number) => { row.hidden = !found[number]; });
      const count = found.filter(Boolean).length;
      status.textContent = words.length ? `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows` : "";
    };
    const take = () => {
      try {
        filter.value = decodeURIComponent(location.hash.slice(1));
      } catch {
        filter.value = "";  // somebody wrote the address by hand
      }
      show();
    };
    filter.parentElement.hidden = false;
    filter.addEventListener("input", show);
    addEventListener("hashchange", take);
    take();
  }

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const number = head.classList.contains("number");
        const sorted = head.getAttribute("aria-sort");
        const rising = sorted ? sorted !== "ascending" : column === 0;
        const value = (row) => row.cells[column].dataset.value;
        const compare = number ? (a, b) => value(a) - value(b) : (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
        const rows = [...table.tBodies[0].rows].sort((a, b) => (rising ? compare(a, b) : compare(b, a)));
        table.tBodies[0].append(...rows);
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      });
    });
  }
})();
