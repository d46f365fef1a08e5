// The bar above the list: the filters, and how rows look.

/** A browser refuses more than 200 changes of the address in 10 seconds. */
const ADDRESS_PAUSE = 200;

class FilterBar {
  view = viewOf(location.hash);
  /** The part of the chart that is chosen, as a function of the entry. */
  span = null;
  #timer = 0;

  /** @param actions `filtered()` when other entries are to be seen, `redrawn()` when they look different, `cleared()` */
  constructor(actions) {
    this.actions = actions;
    for (const name of FIELDS) on(`filter-${name}`, "input", () => this.#typed());
    $("kinds").append(...KINDS.map((kind) => {
      const button = makeButton(`${kind} `, () => {
        if (!this.view.kinds.delete(kind)) this.view.kinds.add(kind);
        this.#changed();
      }, { "data-kind": kind });
      button.append(make("span", { class: "number" }));
      return button;
    }));
    on("fold", "click", () => {
      this.view.folds = !this.view.folds;
      this.#changed();
    });
    on("clock", "click", () => {
      this.view.showsDistance = !this.view.showsDistance;
      this.#changed(actions.redrawn);
    });
    addEventListener("hashchange", () => {
      this.view = viewOf(location.hash);
      this.#fill();
      this.#changed();
    });
    this.clearing = {
      label: "Clear filters", act: () => {
        this.clear();
        $("list").focus();
      },
    };
    this.#fill();
    this.#press();
  }

  get filter() {
    return makeFilter({ ...this.view, span: this.span });
  }

  /** The choices of apps have come: that of the address can be made now. */
  appsCame() {
    const { app } = this.view;
    $("filter-app").value = app;
    if ($("filter-app").value === app) return;
    $("filter-app").value = "";
    this.#typed();
  }

  clear() {
    for (const name of FIELDS) $(`filter-${name}`).value = "";
    this.view.kinds.clear();
    this.actions.cleared();
    this.#typed();
  }

  #typed() {
    // Before the apps come there is no choice that could be read.
    const isRead = (name) => name !== "app" || $("filter-app").options.length > 0;
    for (const name of FIELDS.filter(isRead)) this.view[name] = $(`filter-${name}`).value;
    this.#changed();
  }

  #changed(action = this.actions.filtered) {
    this.#press();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#store(), ADDRESS_PAUSE);
    action();
  }

  #store() {
    const text = addressOf(this.view);
    history.replaceState(null, "", `${location.pathname}${location.search}${text && `#${text}`}`);
  }

  #fill() {
    for (const name of FIELDS) $(`filter-${name}`).value = this.view[name];
  }

  #press() {
    for (const button of $("kinds").children) button.ariaPressed = this.view.kinds.has(button.dataset.kind);
    $("fold").ariaPressed = this.view.folds;
    setText($("clock"), `Time: ${this.view.showsDistance ? "distance" : "clock"}`);
  }
}
