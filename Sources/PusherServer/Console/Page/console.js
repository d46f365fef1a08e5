"use strict";
// Puts the page together.

class Console {
  apps = [];
  store = new EntryStore();
  rates = new Rates();
  kinds = new Set();
  #known = { channels: new Set(), events: new Set() };
  #left = 0;
  #lastNumber = 0;
  #isResuming = false;
  #frame = 0;

  constructor() {
    this.shown = new ShownEntries(this.store, this.#filter());
    this.detail = new Detail({
      apps: () => this.apps, closed: () => byId("list").focus(), sendAgain: (entry) => this.#sendAgain(entry),
    });
    this.list = new EntryList(this.shown, (entry, opens) => {
      if (opens || this.detail.isOpen) this.detail.show(entry);
    });
    this.list.onChange = () => this.draw();
    this.where = new WhereView(this.rates, byId("where-note"));
    this.send = new SendForm({ channels: () => [...this.#known.channels], events: () => [...this.#known.events] });
    this.replay = new ReplayForm();
    this.faults = new FaultForm();
    this.sign = new SignForm();
    this.check = new CheckForm();
    this.#bind();
    this.keyboard = new Keyboard(this.#actions());
    this.stream = new EventStream({
      hello: (hello) => this.#greet(hello), entry: (entry, size) => this.#take(entry, size),
      dropped: ({ count: number }) => this.#miss(number, "this page was too slow"), end: () => {},
      state: (name, seconds) => this.#tell(name, seconds), batch: () => this.#work(),
    });
  }

  #bind() {
    for (const name of ["app", "channel", "event", "text"]) byId(`filter-${name}`).addEventListener("input", () => this.#refilter());
    byId("kinds").append(...KINDS.map((kind) => makeButton(kind, (event) => this.#toggleKind(kind, event.currentTarget), {
      "data-kind": kind, "aria-pressed": "false",
    })));
    for (const button of byId("kinds").children) button.append(" ", make("span", { class: "number" }, "0"));
    byId("pause").addEventListener("click", () => this.pause());
    byId("clear").addEventListener("click", () => this.clear());
    for (const field of document.querySelectorAll("input, textarea")) {
      field.autocomplete = "off";
      field.spellcheck = false;
    }
    const narrow = matchMedia("(max-width: 640px)");
    const measure = () => {
      byId("rows").dataset.tall = narrow.matches;
      this.draw();
    };
    narrow.addEventListener("change", measure);
    measure();
    setInterval(() => this.#everySecond(), 1000);
    document.addEventListener("visibilitychange", () => this.draw());
  }

  #actions() {
    const { list } = this;
    const step = (number) => () => list.move(number);
    return {
      viewed: (view) => {
        if (view === "live") this.draw();
        this.#refreshView();
      },
      pause: () => this.pause(),
      filter: (view) => byId(view === "where" ? "where-filter" : "filter-text").focus(),
      escape: () => {
        if (this.keyboard.view === "live") this.detail.close();
        else if (this.where.channel.isOpen) this.where.channel.close();
      },
      list: {
        j: step(1), ArrowDown: step(1), k: step(-1), ArrowUp: step(-1), c: () => this.clear(),
        PageDown: () => list.move(list.pageLength), PageUp: () => list.move(-list.pageLength),
        Home: () => list.select(0, false), End: () => list.select(Infinity, false), Enter: () => this.#openSelected(),
      },
    };
  }

  #openSelected() {
    const place = this.shown.index(this.list.selected);
    if (this.list.selected < 0 || this.shown.count === 0) return;
    this.list.select(place, true);
    this.detail.panel.focus();
  }

  // The stream.

  #greet(hello) {
    this.apps = Array.isArray(hello.apps) ? hello.apps : [];
    show(byId("service"), cut(`${hello.service ?? ""} ${hello.version ?? ""}`, 80));
    this.recording = hello.recording ?? null;
    document.body.classList.toggle("recorded", this.recording !== null);
    byId("stat-connections").title = hello.shared ? "of this server alone: others share the channels" : "";
    this.#isResuming = hello.started === this.started;
    this.started = hello.started;
    fillApps(this.apps);
    fillNames("known-keys", this.apps.map(({ key }) => key));
    this.#showEmpty();
    this.#refreshView();
  }

  #take(entry, size) {
    const number = Number(entry.n);
    if (this.#isResuming) {
      if (number <= this.#lastNumber) return;
      this.#isResuming = false;
      if (number > this.#lastNumber + 1) this.#miss(number - this.#lastNumber - 1, "they came while the connection was lost");
    }
    this.#lastNumber = number;
    this.store.add(entry, size);
    if (entry.kind === "event") {
      this.rates.count(entry.app, entry.channel, entry.time);
      this.#know("events", entry.event);
    }
    if (entry.channel !== undefined) this.#know("channels", entry.channel);
  }

  #know(what, name) {
    const names = this.#known[what];
    if (names.size < 500) names.add(name);
  }

  #miss(number, reason) {
    if (!(number > 0)) return;
    this.#left += number;
    this.store.add({ kind: "dropped", time: new Date().toISOString(), count: number, reason }, 100);
  }

  #tell(name, seconds) {
    const words = {
      connected: "connected", lost: `lost, trying again in ${seconds} s`, ended: "the recording is over",
      refused: "the token is not accepted: open the address that the server printed",
    };
    byId("state").dataset.state = name;
    setText(byId("state-text"), this.recording && name === "connected" ? "recording" : words[name]);
    // Each further try is not read out, only that the state is another one.
    if (name !== this.state) setText(byId("announce"), name === "lost" ? "The connection is lost." : `The state is: ${words[name]}.`);
    this.state = name;
  }

  // What is seen.

  #filter() {
    const value = (name) => byId(`filter-${name}`).value;
    return new Filter({
      app: value("app"), kinds: this.kinds, channel: value("channel"), event: value("event"), text: value("text"),
    });
  }

  #refilter() {
    this.shown.apply(this.#filter());
    this.#work();
  }

  #toggleKind(kind, button) {
    if (!this.kinds.delete(kind)) this.kinds.add(kind);
    button.setAttribute("aria-pressed", this.kinds.has(kind));
    this.#refilter();
  }

  pause() {
    if (this.shown.isPaused) this.shown.resume();
    else this.shown.pause();
    byId("pause").setAttribute("aria-pressed", this.shown.isPaused);
    this.#work();
  }

  clear() {
    this.store.clear();
    this.shown.clear();
    this.list.selected = -1;
    this.list.isFollowing = true;
    this.#left = 0;
    this.draw();
  }

  /** A slice of filtering now, the rest after the page has had its turn. */
  #work() {
    this.shown.advance(performance.now() + SLICE);
    this.draw();
    if (this.shown.isDone || this.isWorking) return;
    this.isWorking = true;
    nextTurn().then(() => {
      this.isWorking = false;
      this.#work();
    });
  }

  /** At most once for each frame. */
  draw() {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#frame = 0;
    byId("dropped").hidden = this.#left === 0;
    setText(byId("stat-dropped"), numbers.format(this.#left));
    const waiting = this.shown.isPaused ? this.store.next - this.shown.end : 0;
    setText(byId("pause"), this.shown.isPaused ? `Go on (${numbers.format(waiting)})` : "Pause");
    if (this.keyboard?.view !== "live") return;
    this.list.render();
    for (const button of byId("kinds").children) setText(button.lastElementChild, numbers.format(this.store.counts.get(button.dataset.kind)));
    const { count: matching, total, isDone } = this.shown;
    setText(byId("matches"), `${isDone ? "" : "… "}${numbers.format(matching)} of ${numbers.format(total)}`);
    const gone = this.store.gone > 0 ? `${numbers.format(this.store.gone)} older ones are gone. ` : "";
    setText(byId("list-status"), `${numbers.format(this.store.size)} kept, ${bytes(this.store.text)}. ${gone}`
      + (this.shown.isPaused ? `Paused: ${numbers.format(waiting)} wait.` : ""));
    byId("empty").hidden = matching > 0;
    if (matching === 0) this.#showEmpty();
  }

  #showEmpty() {
    const isFiltered = this.shown.total > 0;
    if (this.emptyFor === isFiltered && this.emptyApps === this.apps) return;
    this.emptyFor = isFiltered;
    this.emptyApps = this.apps;
    if (isFiltered) return byId("empty").replaceChildren("Nothing matches the filters.");
    const app = this.apps[0];
    const line = app && triggerLine({ app: app.id, channel: "news", event: "hello", data: '{"to":"all"}' }, this.apps);
    byId("empty").replaceChildren(make("p", {}, line && this.recording === null ? "No events yet. Send one:" : "No events yet."),
      ...(line && this.recording === null ? [show(make("pre", { tabindex: "0" }), line, true)] : []));
  }

  #sendAgain(entry) {
    this.keyboard.choose("do");
    this.send.fill(entry);
  }

  // What is asked for.

  #everySecond() {
    if (document.hidden) return;
    setText(byId("stat-rate"), numbers.format(this.rates.now));
    this.#refreshView();
    this.#countAll();
  }

  #refreshView() {
    if (this.recording !== null || this.apps.length === 0) return;
    if (this.keyboard?.view === "where") this.where.refresh();
    if (this.keyboard?.view === "do") this.faults.refresh().catch(() => {});
  }

  /** One call after another, so that many apps do not become many calls at once. */
  async #countAll() {
    if (this.recording !== null || this.isCounting || this.state !== "connected") return;
    this.isCounting = true;
    try {
      for (const what of ["connections", "channels"]) {
        let sum = 0;
        for (const { id } of this.apps) sum += (await call(query(what, { app: id, limit: 1 }))).total;
        setText(byId(`stat-${what}`), numbers.format(sum));
      }
    } catch {
      // The state of the stream says what is wrong.
    } finally {
      this.isCounting = false;
    }
  }
}

/** Fills the choices of an app, and hides them where there is only one. */
function fillApps(apps) {
  for (const select of document.querySelectorAll("select[data-apps]")) {
    const before = select.value;
    const options = apps.map(({ id, key }) => {
      const option = show(document.createElement("option"), cut(`${id} (${key})`, 80));
      option.value = id;
      return option;
    });
    if (select.dataset.apps === "all") options.unshift(make("option", { value: "" }, "all"));
    select.replaceChildren(...options);
    if (options.some(({ value }) => value === before)) select.value = before;
    select.parentElement.hidden = apps.length < 2;
  }
}

/** The theme: that of the system, light or dark, remembered where the browser lets us. */
function startTheme() {
  const themes = ["auto", "light", "dark"];
  const button = byId("theme");
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    setText(button, `Theme: ${theme}`);
  };
  let theme = "auto";
  try {
    theme = localStorage.getItem("theme") ?? theme;
  } catch {
    // Without a store the theme is that of the system at each start.
  }
  apply(themes.includes(theme) ? theme : "auto");
  button.addEventListener("click", () => {
    apply(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length]);
    try {
      localStorage.setItem("theme", document.documentElement.dataset.theme);
    } catch {
      // It counts for this page alone.
    }
  });
}

startTheme();
const page = new Console();
page.stream.run();
