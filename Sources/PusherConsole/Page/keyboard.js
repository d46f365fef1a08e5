// Tabs and keys.

const VIEWS = ["live", "where", "do", "check"];
const KEYS = {
  "1 2 3 4": "Live, Connections, Tools, Auth check", "/": "go to the filter", "p or space": "pause or resume",
  "j k ↓ ↑": "next or previous entry", "Home End": "first or last entry", "Enter": "open the entry",
  "Escape": "close the details", "→ ←": "unfold or fold a burst or JSON", "c": "clear the list", "?": "show these shortcuts",
};

class Keyboard {
  view = "live";

  /** @param actions what keys do: by name for all views, by key in `list` */
  constructor(actions) {
    this.actions = actions;
    for (const view of VIEWS) on(`tab-${view}`, "click", () => this.choose(view));
    document.querySelector("[role=tablist]").addEventListener("keydown", ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: 3 }[key];
      if (!step) return;
      this.choose(VIEWS[(VIEWS.indexOf(this.view) + step) % 4]);
      $(`tab-${this.view}`).focus();
    });
    document.addEventListener("keydown", (event) => this.#key(event));
    $("keys-list").append(...Object.entries(KEYS).map(([key, what]) => make("div", {}, make("dt", {}, key), make("dd", {}, what))));
    on("keys-open", "click", () => $("keys").showModal());
    on("keys-close", "click", () => $("keys").close());
    this.choose("live");
  }

  choose(view) {
    this.view = view;
    for (const other of VIEWS) {
      $(other).hidden = other !== view;
      $(`tab-${other}`).ariaSelected = other === view;
      $(`tab-${other}`).tabIndex = other === view ? 0 : -1;
    }
    this.actions.viewed(view);
  }

  #key(event) {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const isField = target.matches("input, textarea, select");
    if (key === "Escape") return isField ? target.blur() : this.actions.escape(this.view);
    // Space and Enter press the button that has the focus.
    if (isField || target.matches("button") && " Enter".includes(key)) return;
    if (this.#act(key, target)) event.preventDefault();
  }

  #act(key, target) {
    if (VIEWS[key - 1]) this.choose(VIEWS[key - 1]);
    else if (key === "?") $("keys").showModal();
    else if (key === "p" || key === " ") this.actions.pause();
    else if (key === "/") this.actions.filter(this.view);
    // Arrows move in the list when it or nothing has the focus: elsewhere they scroll.
    else if (this.view !== "live" || !"jkc".includes(key) && target !== document.body && target.id !== "list") return false;
    else if (this.actions.list[key]) this.actions.list[key]();
    else return false;
    return true;
  }
}
