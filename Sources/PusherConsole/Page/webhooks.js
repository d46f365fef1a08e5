// Tools: sends webhooks of the last minutes again.

const WEBHOOK_LIMIT = 20;

/** The last webhooks, the newest first, each with its last result. */
class RecentWebhooks {
  list = [];

  /** @return the key of the entry's webhook */
  take(entry) {
    const key = RecentWebhooks.key(entry);
    const rest = this.list.filter((other) => RecentWebhooks.key(other) !== key);
    this.list = [entry, ...rest].slice(0, WEBHOOK_LIMIT);
    return key;
  }

  static key({ app, body }) {
    return JSON.stringify([app, body]);
  }
}

/** The result of a webhook, such as "sent, status 200". */
const webhookResult = ({ action, status, reason, retry_in: retry }) =>
  [action, status && `status ${status}`, reason, retry && `retry in ${retry} s`].filter(Boolean).join(", ");

class WebhookForm {
  #recent = new RecentWebhooks();
  #awaited = null;
  #rows = new KeyedRows("webhook-list", (entry) => make("li", { class: "item" },
    makeButton("Send again", () => this.#send(entry)), foreign("span", ""), make("span", { class: "note" })),
  ({ children }, entry) => {
    show(children[1], cut(words(entry.event, this.#channel(entry)), 200));
    show(children[2], cut(webhookResult(entry), 200));
  });

  /** @param apps gives the server's apps */
  constructor(apps) {
    this.apps = apps;
    on("webhooks", "submit", (event) => event.preventDefault());
  }

  /** Takes an entry of the stream. */
  take(entry) {
    if (this.#recent.take(entry) !== this.#awaited) return;
    if (entry.action !== "failed") this.#awaited = null;
    report("webhook-result", `${words(entry.event, webhookResult(entry))}.`, entry.action !== "sent");
  }

  async #send({ app, body, event }) {
    this.#awaited = RecentWebhooks.key({ app, body });
    // Before the call, because its result may come in the stream before its answer.
    report("webhook-result", `${event}: signed again and queued.`);
    try {
      await call("webhook", { app, body });
    } catch (error) {
      this.#awaited = null;
      report("webhook-result", error.message, true);
    }
  }

  #channel({ body }) {
    return problemOfJSON(body) ? "" : String(JSON.parse(body)?.events?.[0]?.channel ?? "");
  }

  refresh() {
    this.#rows.update(this.#recent.list, RecentWebhooks.key);
    const isEmpty = this.#recent.list.length === 0;
    $("webhook-empty").hidden = !isEmpty;
    if (!isEmpty) return;
    const app = this.apps().find(({ webhooks }) => webhooks.length > 0);
    if (app) sayEmpty("webhook-empty", "No webhooks yet. Subscribe to a channel:", subscribeLine(app));
    else sayEmpty("webhook-empty", "This server has no receivers. Start one that has:", "pusher-cli serve --webhook http://127.0.0.1:8000/hook");
  }
}
