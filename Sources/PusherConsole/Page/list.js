// The list of entries: only the lines that are seen stand in the document.

/** Lines that are made beyond what is seen, so that scrolling finds them there. */
const MARGIN = 6;

class EntryList {
  isFollowing = true;
  /** The page's number of the selected entry. */
  selected = -1;
  /** True if the column "Time" shows the time since the row before. */
  showsDistance = false;
  #pool = [];
  #seen = 0;
  /** Where the list was scrolled to, and how high it was, when it was last drawn. */
  #top = 0;
  #height = 0;
  #scroller = $("list");

  /** @param actions `select(entry, opens)`, and `draw()`, which has `render` called in the next frame */
  constructor(shown, actions) {
    this.shown = shown;
    this.actions = actions;
    on("list", "scroll", () => this.#scrolled());
    // What moves up ends following at once; otherwise the next line would pull the list down again.
    this.#scroller.addEventListener("wheel", ({ deltaY }) => deltaY < 0 && this.#leaveEnd(), { passive: true });
    this.#scroller.addEventListener("touchmove", () => this.#leaveEnd(), { passive: true });
    on("new-below", "click", () => this.follow());
    on("rows", "click", ({ target }) => {
      const row = target.closest("[data-index]");
      if (!row) return;
      if (target.closest(".times")) this.unfold(Number(row.dataset.index));
      else this.select(Number(row.dataset.index), true);
    });
    new ResizeObserver(() => actions.draw()).observe(this.#scroller);
  }

  get rowHeight() {
    return matchMedia("(max-width: 640px)").matches ? 44 : 24;
  }

  get pageLength() {
    return Math.max(1, Math.floor(this.#height / this.rowHeight) - 2);
  }

  /** What the list itself or a change of its size moved is no wish of the reader. */
  #scrolled() {
    const { scrollTop, clientHeight, scrollHeight } = this.#scroller;
    if (scrollTop !== this.#top && clientHeight === this.#height) {
      this.#top = scrollTop;
      if (scrollTop + clientHeight >= scrollHeight - 2) this.isFollowing = true;
      else this.#leaveEnd();
    }
    this.actions.draw();
  }

  #leaveEnd() {
    if (this.isFollowing) this.#seen = this.shown.appended;
    this.isFollowing = false;
  }

  follow() {
    this.isFollowing = true;
    this.actions.draw();
  }

  /** Selects a line and brings it into view. */
  select(index, opens) {
    const { rows } = this.shown;
    if (this.shown.count === 0) return;
    const place = Math.max(0, Math.min(index, rows.count - 1));
    const { number, entry } = this.shown.row(place);
    this.selected = number;
    if (place < rows.count - 1) this.#leaveEnd();
    // Opening first: it can make the list lower.
    this.actions.select(entry, opens);
    const top = place * this.rowHeight;
    const lowest = top + this.rowHeight + $("rows").offsetTop - this.#scroller.clientHeight;
    this.#scroller.scrollTop = Math.max(lowest, Math.min(top, this.#scroller.scrollTop));
    this.#top = this.#scroller.scrollTop;
    this.actions.draw();
  }

  /** Opens the selected line, if there is one. */
  open() {
    if (this.selected < 0) return;
    this.select(this.shown.rows.index(this.selected), true);
    $("detail").focus();
  }

  move(step) {
    this.select(this.selected < 0 ? Infinity : this.shown.rows.index(this.selected) + step, false);
  }

  /** Gives each entry of a burst a line of its own. */
  unfold(index = this.shown.rowOf(this.selected)) {
    if (index < 0) return;
    this.shown.unfold(index);
    this.#leaveEnd();
    this.actions.draw();
  }

  /** Makes the burst around the selected line one line again. */
  fold() {
    const index = this.shown.rowOf(this.selected);
    if (index < 0) return;
    this.shown.fold(index);
    this.select(this.shown.rowOf(this.selected), false);
  }

  /** Puts the lines that are to be seen into the document. */
  render() {
    const { shown, rowHeight: height } = this;
    const { count } = shown.rows;
    $("rows").style.height = `${count * height}px`;
    if (this.isFollowing) this.#scroller.scrollTop = count * height;
    else if (shown.trimmed > 0) this.#scroller.scrollTop -= shown.trimmed * height;
    shown.trimmed = 0;
    this.#top = this.#scroller.scrollTop;
    this.#height = this.#scroller.clientHeight;
    const first = Math.max(0, Math.floor(this.#top / height) - MARGIN);
    const last = Math.min(count, Math.ceil((this.#top + this.#height) / height) + MARGIN);
    while (this.#pool.length < last - first) {
      const row = new Row();
      this.#pool.push(row);
      $("rows").append(row.element);
    }
    const selected = shown.rowOf(this.selected);
    for (let index = first; index < last; index += 1) {
      const row = this.#pool[index % this.#pool.length];
      const { entry, total } = shown.row(index);
      row.place(index, index * height, index === selected);
      row.fill(entry, total, this.#time(entry, index));
    }
    for (const row of this.#pool) row.element.hidden = !(row.index >= first && row.index < last);
    this.#tell(selected >= first && selected < last ? selected : -1);
  }

  #time({ time }, index) {
    if (!this.showsDistance) return String(time).slice(11, 23);
    return index === 0 ? "" : distance(time, this.shown.row(index - 1).entry.time);
  }

  /** @param selected the selected line, if it is in the document */
  #tell(selected) {
    const { shown } = this;
    this.#scroller.ariaRowCount = shown.rows.count + 1;
    this.#scroller.setAttribute("aria-activedescendant", selected < 0 ? "" : `row-${selected}`);
    const below = shown.appended - this.#seen;
    $("new-below").hidden = this.isFollowing || below === 0;
    setText($("new-below"), `Show ${grouped(below)} new ↓`);
  }
}
