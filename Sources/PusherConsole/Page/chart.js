// The chart above the list: the events a second of the last five minutes. What is dragged over is shown alone.

const CHART_SECONDS = 300;
const CHART_HEIGHT = 32;
/** Seconds that the arrow keys choose, and move by. */
const CHART_STEP = 10;

/** The seconds between two places of a chart, whatever their order; the second of the last place is among them. */
function spanBetween(one, other, now) {
  const [from, to] = [one, other].map((place) => Math.max(0, Math.min(CHART_SECONDS - 1, Math.floor(place))))
    .sort((a, b) => a - b);
  const start = now - CHART_SECONDS + 1;
  return { from: start + from, to: start + to + 1 };
}

/** The points of a line whose peak has the full height. */
function chartPoints(seconds) {
  const most = Math.max(1, ...seconds);
  return seconds.map((number, index) => `${index},${(CHART_HEIGHT - 1 - (CHART_HEIGHT - 2) * number / most).toFixed(1)}`).join(" ");
}

class Chart {
  /** The seconds that are chosen, from one to before another; null for all. */
  span = null;
  /** The begin of a drag: the box of the chart, its last second, and the place. */
  #drag = null;

  /** @param chosen takes what says whether an entry is in the span, or null */
  constructor(rates, chosen) {
    this.rates = rates;
    this.chosen = chosen;
    const box = $("chart");
    box.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      box.setPointerCapture(event.pointerId);
      this.#drag = { box: box.getBoundingClientRect(), now: rates.now };
      this.#drag.place = this.#place(event);
    });
    box.addEventListener("pointermove", (event) => this.#drag && this.#dragged(event));
    box.addEventListener("pointerup", (event) => this.#drag && this.#dropped(event));
    box.addEventListener("pointercancel", () => {
      this.#drag = null;
    });
    box.addEventListener("keydown", (event) => this.#key(event));
    on("chart-clear", "click", () => {
      this.choose(null);
      box.focus();
    });
  }

  #place({ clientX }) {
    const { left, width } = this.#drag.box;
    return (clientX - left) / width * CHART_SECONDS;
  }

  #dragged(event) {
    this.span = spanBetween(this.#drag.place, this.#place(event), this.#drag.now);
    this.render();
  }

  /** A click without a drag shows all again. */
  #dropped(event) {
    const { place, now } = this.#drag;
    const end = this.#place(event);
    this.#drag = null;
    this.choose(Math.abs(end - place) < 1 ? null : spanBetween(place, end, now));
  }

  #key(event) {
    const step = { ArrowLeft: -CHART_STEP, ArrowRight: CHART_STEP }[event.key];
    if (event.key === "Escape" && this.span) this.choose(null);
    else if (step) this.choose(this.#moved(step));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The span after a step of the keys; they begin with the last seconds. */
  #moved(step) {
    const end = this.rates.now + 1;
    if (this.span === null) return { from: end - CHART_STEP, to: end };
    const { from, to } = this.span;
    const allowed = Math.max(end - CHART_SECONDS - from, Math.min(end - to, step));
    return { from: from + allowed, to: to + allowed };
  }

  choose(span) {
    this.span = span;
    this.render();
    if (span === null) return this.chosen(null);
    const { from, to } = span;
    this.chosen(({ time }) => {
      const second = this.rates.second(time);
      return second >= from && second < to;
    });
  }

  render() {
    const { rates, span } = this;
    const { all, now } = rates;
    const peak = Math.max(...all);
    $("chart-line").setAttribute("points", chartPoints(all));
    setText($("chart-peak"), `peak ${grouped(peak)}/s`);
    const words = span ? `${rates.clock(span.from)} to ${rates.clock(span.to)}` : "all";
    $("chart").ariaValueNow = span ? Math.max(-CHART_SECONDS, span.to - now - 1) : 0;
    $("chart").ariaValueText = `${words}; peak ${count(peak, "event")} per second`;
    // It needs room, so it comes when the drag is over.
    $("chart-clear").hidden = span === null || this.#drag !== null;
    setText($("chart-clear"), span ? `${words} ✕` : "");
    const start = now - CHART_SECONDS + 1;
    const from = span ? Math.max(0, span.from - start) : 0;
    $("chart-span").setAttribute("x", from);
    $("chart-span").setAttribute("width", span ? Math.max(0, span.to - start - from) : 0);
  }
}
