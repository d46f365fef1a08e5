// Puts the page together.

class Console {
  apps = [];
  recording = null;
  store = new EntryStore();
  rates = new Rates();
  #known = { channels: new Set(), events: new Set() };
  #left = 0;
  #restarted = "";
  #frame = 0;
  #isWorking = false;

  constructor() {
    for (const field of document.querySelectorAll("input, textarea")) {
      field.autocomplete = "off";
      field.spellcheck = false;
    }
    const draw = () => this.draw();
    this.bar = new FilterBar({ filtered: () => this.#refilter(), redrawn: draw, cleared: () => this.chart.choose(null) });
    this.shown = new ShownEntries(this.store, this.bar.filter, this.bar.view.folds);
    this.chart = new Chart(this.rates, (span) => {
      this.bar.span = span;
      this.#refilter();
    });
    this.detail = new Detail({
      apps: () => this.apps, closed: () => $("list").focus(),
      sendAgain: (entry) => {
        this.keyboard.choose("do");
        this.send.fill(entry);
      },
    });
    this.list = new EntryList(this.shown, {
      draw, select: (entry, opens) => (opens || this.detail.entry) && this.detail.show(entry),
    });
    this.where = new WhereView(this.rates, () => this.apps);
    this.send = new SendForm({ channels: () => [...this.#known.channels], events: () => [...this.#known.events] });
    this.connect = new ConnectForm();
    this.webhooks = new WebhookForm(() => this.apps);
    this.replay = new ReplayForm();
    this.faults = new FaultForm();
    this.sign = new SignForm();
    this.check = new CheckForm();
    this.#bind();
    this.keyboard = new Keyboard(this.#actions());
    this.stream = new EventStream({
      hello: (hello) => this.#greet(hello), entry: (entry, size) => this.#take(entry, size),
      dropped: ({ count: number, reason }) => this.#miss(
        number, reason === "expired" ? "the server no longer has them" : "the page was too slow"),
      state: (name, seconds) => this.#tell(name, seconds), batch: () => this.#work(),
    });
  }

  #bind() {
    on("pause", "click", () => this.pause());
    on("clear", "click", () => this.clear());
    setInterval(() => document.hidden || this.#everySecond(), 1000);
  }

  #actions() {
    const { list } = this;
    const down = () => list.move(1);
    const up = () => list.move(-1);
    return {
      viewed: (view) => {
        if (view === "live") this.draw();
        this.#refresh(view);
      },
      pause: () => this.pause(),
      filter: (view) => $(view === "where" ? "where-filter" : "filter-text").focus(),
      escape: (view) => (view === "live" ? this.detail : this.where.channel).close(),
      list: {
        j: down, ArrowDown: down, k: up, ArrowUp: up, c: () => this.clear(),
        ArrowRight: () => list.unfold(), ArrowLeft: () => list.fold(),
        PageDown: () => list.move(list.pageLength), PageUp: () => list.move(-list.pageLength),
        Home: () => list.select(0, false), End: () => list.select(Infinity, false),
        Enter: () => list.open(),
      },
    };
  }

  // What comes.

  #greet({ apps, service, version, shared, recording, instance, started, time, keeps_token: keepsToken }) {
    this.apps = apps;
    this.recording = recording;
    this.keepsToken = keepsToken;
    if (this.instance !== undefined && this.instance !== instance) this.#restart(started);
    this.instance = instance;
    show($("service"), cut(`${version} · dialect: ${service.toLowerCase()}`, 80));
    $("stat-connections").title = shared ? "This server only; other servers share the channels" : "";
    document.body.classList.toggle("recorded", recording !== null);
    if (recording !== null) show($("state-text"), cut(`recording ${recording}`, 80));
    fillApps(apps);
    this.bar.appsCame();
    this.connect.renew();
    this.rates.begin(recording !== null, time);
    this.chart.render();
    offer("known-keys", apps.map(({ key }) => key));
    this.#refresh(this.keyboard.view);
  }

  #take(entry, size) {
    tame(entry);
    this.store.add(entry, size);
    const { channels, events } = this.#known;
    if (entry.channel && channels.size < 500) channels.add(entry.channel);
    if (entry.kind === "webhook" && entry.body) this.webhooks.take(entry);
    if (entry.kind !== "event") return;
    this.rates.count(entry);
    if (events.size < 500) events.add(entry.event);
  }

  #miss(number, reason) {
    if (!(number > 0)) return;
    this.#left += number;
    this.store.add({ kind: "dropped", time: new Date().toISOString(), count: number, reason }, 100);
  }

  /** Another run of the server: its entries begin anew, and are added to the ones of the run before. */
  #restart(started) {
    // The run's recording begins again, too.
    if (this.recording !== null) this.clear();
    const reason = `server restarted at ${String(started).slice(11, 16)}`;
    this.store.add({ kind: "server", time: started, action: "restarted", reason }, 100);
    this.#restarted = `, ${reason}`;
    this.#tell("connected");
    setText($("announce"), `The ${reason}`);
  }

  #tell(name, seconds) {
    const words = {
      connected: `connected${this.#restarted}`, lost: `disconnected, retrying in ${seconds} s`, ended: "recording loaded",
      refused: "access denied: open the address that the server printed",
    };
    $("state").dataset.state = name;
    setText($("state-text"), words[name]);
    // The server may be gone, and this page's address with it.
    $("hint").hidden = this.keepsToken !== false || name !== "lost" && name !== "refused";
    // Each further try is not read out, only that the state is another one.
    if (name !== this.state) setText($("announce"), `Connection: ${words[name]}`);
    this.state = name;
  }

  // What is seen.

  #refilter() {
    this.shown.apply(this.bar.filter, this.bar.view.folds);
    this.#work();
  }

  pause() {
    this.shown.toggle();
    $("pause").ariaPressed = this.shown.isPaused;
    this.#work();
  }

  clear() {
    this.store.clear();
    this.shown.clear();
    this.list.selected = -1;
    this.#left = 0;
    this.list.follow();
  }

  /** A slice of filtering now, the rest after the page has had its turn. */
  #work() {
    this.shown.advance(performance.now() + SLICE);
    this.draw();
    if (this.shown.isDone || this.#isWorking) return;
    this.#isWorking = true;
    nextTurn().then(() => {
      this.#isWorking = false;
      this.#work();
    });
  }

  /** At most once a frame. */
  draw() {
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#frame = 0;
    const { store, shown } = this;
    const { isPaused, source } = shown;
    const waits = isPaused ? grouped(store.next - source.next - store.joined + source.joined) : 0;
    $("dropped").hidden = this.#left === 0;
    setText($("stat-dropped"), grouped(this.#left));
    setText($("pause"), isPaused ? `Resume (${waits})` : "Pause");
    if (this.keyboard.view !== "live") return;
    this.list.showsDistance = this.bar.view.showsDistance;
    this.list.render();
    this.detail.refresh();
    for (const { dataset, lastChild } of $("kinds").children) setText(lastChild, grouped(store.counts[dataset.kind]));
    const total = source.next - source.first - source.joined + source.joinedGone;
    setText($("matches"), `${shown.isDone ? "" : "… "}${grouped(shown.count)} of ${grouped(total)}`);
    setText($("list-status"), `${count(store.size, "entry", "entries")} kept (${bytes(store.text)}).`
      + (store.gone > 0 ? ` ${count(store.gone, "older entry", "older entries")} removed.` : "")
      + (isPaused ? ` Paused: ${waits} waiting.` : ""));
    $("empty").hidden = shown.count > 0;
    if (shown.count === 0) this.#showEmpty(total > 0);
  }

  /** Says what to do next, where nothing is to be seen. */
  #showEmpty(isFiltered) {
    if (isFiltered) return sayEmpty("empty", "No match. Change or clear the filters.", this.bar.clearing);
    if (this.recording !== null) return sayEmpty("empty", "The recording has no entries.");
    const [app] = this.apps;
    sayEmpty("empty", app ? "No entries yet. Subscribe to a channel:" : "No entries yet.", app && subscribeLine(app));
  }

  // What is asked for.

  #everySecond() {
    setText($("stat-rate"), grouped(Math.round(this.rates.average * 10) / 10));
    if (this.keyboard.view === "live") this.chart.render();
    this.#refresh(this.keyboard.view);
    this.#countAll();
  }

  #refresh(view) {
    if (this.recording !== null || this.apps.length === 0) return;
    if (view === "where") this.where.refresh();
    if (view !== "do") return;
    this.faults.refresh().catch(() => {});
    this.webhooks.refresh();
    this.connect.refresh();
  }

  /** One call after another, so that many apps do not become many calls at once. */
  async #countAll() {
    if (this.recording !== null || this.isCounting || this.state !== "connected") return;
    this.isCounting = true;
    try {
      for (const what of ["connections", "channels"]) {
        let sum = 0;
        for (const { id } of this.apps) sum += (await call(query(what, { app: id, limit: 1 }))).total;
        setText($(`stat-${what}`), grouped(sum));
      }
    } catch {
      // The state of the stream says what is wrong.
    }
    this.isCounting = false;
  }
}

/** Fills the choices of an app, and hides them where there is only one. */
function fillApps(apps) {
  for (const select of document.querySelectorAll("[data-apps]")) {
    const options = apps.map(({ id, key }) => new Option(visible(cut(`${id} (${key})`, 80)), id));
    if (select.dataset.apps === "all") options.unshift(new Option("All apps", ""));
    const before = select.value;
    select.replaceChildren(...options);
    if (options.some(({ value }) => value === before)) select.value = before;
    select.parentElement.hidden = apps.length < 2;
  }
}

/** The theme: that of the system, light or dark; remembered where the browser lets us. */
function startTheme() {
  const themes = ["auto", "light", "dark"];
  const { dataset } = document.documentElement;
  const apply = (theme) => {
    dataset.theme = themes.includes(theme) ? theme : "auto";
    setText($("theme"), `Theme: ${dataset.theme}`);
  };
  const stored = (action) => {
    try {
      return action();
    } catch {
      // A browser without a store begins with the system's theme.
    }
  };
  apply(stored(() => localStorage.getItem("theme")));
  on("theme", "click", () => {
    apply(themes[(themes.indexOf(dataset.theme) + 1) % 3]);
    stored(() => localStorage.setItem("theme", dataset.theme));
  });
}

startTheme();
const page = new Console();
page.stream.run();
