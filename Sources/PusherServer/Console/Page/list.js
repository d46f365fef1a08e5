"use strict";
// The list of entries: only the lines that are seen stand in the document.

/** Lines that are made beyond what is seen, so that scrolling finds them there. */
const MARGIN = 6;

class EntryList {
  isFollowing = true;
  /** The page's number of the selected entry. */
  selected = -1;
  #pool = [];
  #seen = 0;
  /** Where the list was scrolled to, and how high it was, when it was last drawn. */
  #top = 0;
  #height = 0;

  /** @param onSelect is told the entry that is selected, and whether it is to be opened */
  constructor(shown, onSelect) {
    this.shown = shown;
    this.onSelect = onSelect;
    this.scroller = byId("list");
    this.rows = byId("rows");
    this.button = byId("new-below");
    this.#listen();
  }

  #listen() {
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    // A wheel or finger that moves up ends following at once; otherwise the next line would pull the list down again.
    this.scroller.addEventListener("wheel", (event) => {
      if (event.deltaY < 0) this.#leaveEnd();
    }, { passive: true });
    this.scroller.addEventListener("touchmove", () => this.#leaveEnd(), { passive: true });
    this.button.addEventListener("click", () => this.follow());
    this.rows.addEventListener("click", (event) => {
      const row = event.target.closest("[data-index]");
      if (row !== null) this.select(Number(row.dataset.index), true);
    });
    new ResizeObserver(() => this.onChange?.()).observe(this.scroller);
  }

  get #rowHeight() {
    return this.rows.dataset.tall === "true" ? 44 : 24;
  }

  get #isAtEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.scroller;
    return scrollTop + clientHeight >= scrollHeight - 2;
  }

  /** What the list itself or a change of its size moved is no wish of the reader. */
  #scrolled() {
    const { scrollTop, clientHeight } = this.scroller;
    if (scrollTop !== this.#top && clientHeight === this.#height) {
      this.#top = scrollTop;
      if (this.#isAtEnd) this.isFollowing = true;
      else this.#leaveEnd();
    }
    this.onChange?.();
  }

  #leaveEnd() {
    if (!this.isFollowing || this.scroller.scrollHeight <= this.scroller.clientHeight) return;
    this.isFollowing = false;
    this.#seen = this.shown.appended;
  }

  follow() {
    this.isFollowing = true;
    this.onChange?.();
  }

  /** Selects a line and brings it into view. */
  select(index, opens) {
    if (this.shown.count === 0) return;
    const place = Math.max(0, Math.min(index, this.shown.count - 1));
    this.selected = this.shown.number(place);
    this.#reveal(place);
    this.onSelect(this.shown.entry(place), opens);
    this.onChange?.();
  }

  move(step) {
    const place = this.shown.index(this.selected);
    if (this.selected < 0) this.select(this.shown.count - 1, false);
    else this.select(place + step, false);
  }

  get pageLength() {
    return Math.max(1, Math.floor(this.scroller.clientHeight / this.#rowHeight) - 2);
  }

  #reveal(place) {
    const height = this.#rowHeight;
    const head = this.rows.offsetTop;
    const top = place * height;
    const { scrollTop, clientHeight } = this.scroller;
    if (place < this.shown.count - 1) this.#leaveEnd();
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (top + height + head > scrollTop + clientHeight) this.scroller.scrollTop = top + height + head - clientHeight;
    this.#top = this.scroller.scrollTop;
  }

  /** Puts the lines that are to be seen into the document. */
  render() {
    const height = this.#rowHeight;
    const count = this.shown.count;
    this.rows.style.height = `${count * height}px`;
    const trimmed = this.shown.trimmed;
    this.shown.trimmed = 0;
    if (this.isFollowing) this.scroller.scrollTop = count * height;
    else if (trimmed > 0) this.scroller.scrollTop -= trimmed * height;
    const top = this.#top = this.scroller.scrollTop;
    this.#height = this.scroller.clientHeight;
    const first = Math.max(0, Math.floor(top / height) - MARGIN);
    const last = Math.min(count, Math.ceil((top + this.#height) / height) + MARGIN);
    this.#fillPool(last - first);
    for (let index = first; index < last; index += 1) {
      const row = this.#pool[index % this.#pool.length];
      row.place(index, index * height, this.shown.number(index) === this.selected);
      row.fill(this.shown.entry(index));
      row.element.hidden = false;
    }
    for (const row of this.#pool) if (row.index < first || row.index >= last) row.element.hidden = true;
    this.#tell(first, last, count);
  }

  /** The pool is as large as the most lines that were ever seen at once, so that each index has a row of its own. */
  #fillPool(needed) {
    if (needed <= this.#pool.length) return;
    while (this.#pool.length < needed) {
      const row = new Row();
      this.#pool.push(row);
      this.rows.append(row.element);
    }
  }

  #tell(first, last, count) {
    this.scroller.setAttribute("aria-rowcount", count + 1);
    const place = this.selected < 0 ? -1 : this.shown.index(this.selected);
    const isThere = place >= first && place < last && this.shown.number(place) === this.selected;
    if (isThere) this.scroller.setAttribute("aria-activedescendant", `row-${place}`);
    else this.scroller.removeAttribute("aria-activedescendant");
    const below = this.shown.appended - this.#seen;
    this.button.hidden = this.isFollowing || below === 0;
    if (!this.button.hidden) setText(this.button, `${numbers.format(below)} new below ↓`);
  }
}
