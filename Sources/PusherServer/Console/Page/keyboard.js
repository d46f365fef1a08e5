"use strict";
// Tabs and keys.

const VIEWS = ["live", "where", "do", "check"];

const KEYS = [
  ["1 2 3 4", "Live, Who is where, Do, Check my app"], ["/", "to the filter"], ["p or space", "pause and go on"],
  ["j k ↓ ↑", "next and previous entry"], ["Home End", "first and last entry"], ["Enter", "open the entry"],
  ["Escape", "close what is open"], ["→ ←", "unfold and fold JSON"], ["c", "clear the list"], ["?", "these keys"],
];

class Keyboard {
  /** @param actions by name: what keys and tabs do */
  constructor(actions) {
    this.actions = actions;
    for (const view of VIEWS) byId(`tab-${view}`).addEventListener("click", () => this.choose(view));
    document.querySelector("[role=tablist]").addEventListener("keydown", (event) => this.#tabKey(event));
    document.addEventListener("keydown", (event) => this.#key(event));
    byId("keys-list").append(...KEYS.map(([key, what]) => make("div", {}, make("dt", {}, make("kbd", {}, key)), make("dd", {}, what))));
    byId("keys-open").addEventListener("click", () => byId("keys").showModal());
    byId("keys-close").addEventListener("click", () => byId("keys").close());
    this.choose("live");
  }

  choose(view) {
    this.view = view;
    for (const other of VIEWS) {
      const isChosen = other === view;
      byId(other).hidden = !isChosen;
      byId(`tab-${other}`).setAttribute("aria-selected", isChosen);
      byId(`tab-${other}`).tabIndex = isChosen ? 0 : -1;
    }
    this.actions.viewed(view);
  }

  #tabKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: VIEWS.length - 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    this.choose(VIEWS[(VIEWS.indexOf(this.view) + step) % VIEWS.length]);
    byId(`tab-${this.view}`).focus();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || byId("keys").open) return;
    const target = event.target;
    if (event.key === "Escape") return this.#escape(target);
    if (target.matches("input, textarea, select")) return;
    // Space and Enter press the button that has the focus.
    if (target.matches("button, a, summary") && (event.key === " " || event.key === "Enter")) return;
    if (this.#act(event.key, target)) event.preventDefault();
  }

  #escape(target) {
    if (target.matches("input, textarea, select")) target.blur();
    else this.actions.escape();
  }

  #act(key, target) {
    const view = VIEWS[Number(key) - 1];
    if (view !== undefined) this.choose(view);
    else if (key === "?") byId("keys").showModal();
    else if (key === "p" || key === " ") this.actions.pause();
    else if (key === "/") this.actions.filter(this.view);
    else return this.view === "live" && this.#actInList(key, target);
    return true;
  }

  /** Arrows move in the list when it or nothing has the focus: elsewhere they scroll. */
  #actInList(key, target) {
    const isLetter = "jkc".includes(key);
    if (!isLetter && target !== document.body && target.id !== "list") return false;
    const action = this.actions.list[key];
    action?.();
    return action !== undefined;
  }
}
