"use strict";
// Lists that are asked for each second and keep focus, selection and scroll.

/** Rows by key: those that stay are the same elements in the same place, so that only what differs changes. */
class KeyedRows {
  #rows = new Map();

  /** @param build makes the element of a key; `fill(element, item)` brings it up to date */
  constructor(body, build, fill) {
    this.body = body;
    this.build = build;
    this.fill = fill;
  }

  update(items, keyOf) {
    const keys = new Set(items.map(keyOf));
    for (const [key, row] of this.#rows) {
      if (keys.has(key)) continue;
      row.remove();
      this.#rows.delete(key);
    }
    let place = this.body.firstElementChild;
    for (const item of items) {
      const key = keyOf(item);
      const row = this.#rows.get(key) ?? this.build(item);
      this.#rows.set(key, row);
      this.fill(row, item);
      if (row === place) place = place.nextElementSibling;
      else this.body.insertBefore(row, place);
    }
  }
}

/** A button that asks once more, in its own place, before it acts. */
function askingButton(label, question, action, attributes) {
  const box = make("span", { class: "asking" });
  const back = (takesFocus) => {
    box.replaceChildren(first);
    if (takesFocus) first.focus();
  };
  const first = makeButton(label, () => {
    const yes = makeButton(label, () => {
      back(true);
      action();
    }, { "data-confirm": "yes", class: "danger" });
    const no = makeButton("Keep", () => back(true), { "data-confirm": "no" });
    box.replaceChildren(foreign("span", question), " ", yes, " ", no);
    no.focus();
  }, attributes);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || box.contains(first)) return;
    event.stopPropagation();
    back(true);
  });
  box.append(first);
  return box;
}

const SVG = "http://www.w3.org/2000/svg";

/** A line of the last minute's events a second; its numbers stand in words too. */
function sparkline() {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 118 20");
  svg.setAttribute("class", "spark");
  svg.setAttribute("role", "img");
  svg.append(document.createElementNS(SVG, "polyline"));
  return svg;
}

function drawSparkline(svg, seconds) {
  const most = Math.max(1, ...seconds);
  const points = seconds.map((number, index) => `${index * 2},${(19 - 18 * number / most).toFixed(1)}`).join(" ");
  if (svg.dataset.points === points) return;
  svg.dataset.points = points;
  svg.firstElementChild.setAttribute("points", points);
  svg.setAttribute("aria-label", `at most ${count(Math.max(...seconds), "event")} a second`);
}
