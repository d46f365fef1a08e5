// Lists that are asked for each second and keep focus, selection and scroll.

/** Rows by key: those that stay are the same elements in the same place, so that only what differs changes. */
class KeyedRows {
  #rows = new Map();

  /** @param build makes the element of an item; `fill(element, item)` brings it up to date */
  constructor(id, build, fill = () => {}) {
    Object.assign(this, { body: $(id), build, fill });
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
      const row = this.#rows.get(keyOf(item)) ?? this.build(item);
      this.#rows.set(keyOf(item), row);
      this.fill(row, item);
      if (row === place) place = place.nextElementSibling;
      else this.body.insertBefore(row, place);
    }
  }
}

/** A button that asks in a dialog before it acts. */
function askingButton(label, question, name, value, action) {
  const button = makeButton(label, () => ask(question, label, () => action(value)));
  button.dataset[name] = value;
  return button;
}

/** Asks before something is done that cannot be undone. */
function ask(question, label, act) {
  const dialog = $("ask");
  show($("ask-question"), cut(question, 500));
  setText($("ask-yes"), label);
  dialog.returnValue = "";
  dialog.onclose = () => dialog.returnValue === "yes" && act();
  dialog.showModal();
  $("ask-no").focus();
}

for (const answer of ["yes", "no"]) on(`ask-${answer}`, "click", () => $("ask").close(answer));

/** A line of the last minute's events a second; its most is told in words too. */
function sparkline() {
  const make = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
  const svg = make("svg");
  svg.setAttribute("viewBox", "0 0 118 20");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.role = "img";
  svg.append(make("polyline"));
  return svg;
}

function drawSparkline(svg, seconds) {
  const most = Math.max(...seconds);
  const points = seconds.map((number, index) => `${index * 2},${(19 - 18 * number / (most || 1)).toFixed(1)}`);
  svg.firstElementChild.setAttribute("points", points.join(" "));
  svg.ariaLabel = `Peak: ${count(most, "event")} per second`;
}
