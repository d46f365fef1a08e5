// Describes each fault in a sentence.

const ENDING = ({ after = 0, channel }) => (after > 0 || channel ? ` after ${count(Math.max(after, 1), "event")}` : "");
const LATER = ({ after = 0 }) => (after > 0 ? `, except the first ${grouped(after)} of a connection,` : "");

/** The beginning of each sentence, from the settings of the fault. */
const FAULT_WORDS = {
  "drop": (given) => `Ends each connection without a close frame${ENDING(given)}`,
  "close": (given) => `Closes each connection with code ${given.code ?? 4200}${ENDING(given)}`,
  "storm": () => "Closes each connection with code 4200 as soon as it opens",
  "blackhole": (given) => `Sends nothing more on each connection, not even pongs, and keeps it open${ENDING(given)}`,
  "late-pong": (given) => `Delays each answer to a ping${LATER(given)} by ${given.delay ?? "5s"}`,
  "split-utf8": (given) => `Sends each event${LATER(given)} in two fragments, cut inside a character`,
  "huge-frame": (given) => `Pads each event${LATER(given)} to ${bytes(Number(given.size ?? 16777217))}`,
  "bad-json": (given) => `Sends each event${LATER(given)} without its last byte`,
  "duplicate": (given) => `Sends each event${LATER(given)} twice`,
  "reorder": (given) => `Sends each event${LATER(given)} after the next event`,
  "expire-window": () => "At a resume of protocol V2, drops the kept events",
  "reset-stream": () => "At a resume of protocol V2, begins new streams",
  "auth-fail": (given) => `Refuses each signature; endpoints answer with status ${given.status ?? 500}`,
};

/** The settings of a fault such as `drop:after=3,channel=news-*`. */
function faultSettings(text) {
  const at = text.indexOf(":");
  const kind = at < 0 ? text : text.slice(0, at);
  const given = {};
  for (const pair of at < 0 ? [] : text.slice(at + 1).split(",")) {
    const [name, value = ""] = pair.split(/=(.*)/s);
    // While it is typed, a number may be none.
    if (!["after", "connections"].includes(name)) given[name] = value;
    else if (/^\d+$/.test(value)) given[name] = Number(value);
  }
  return [kind, given];
}

/** Describes the fault, or says that its kind is unknown; the server checks the values. */
function faultWords(text) {
  const [kind, given] = faultSettings(text);
  if (!Object.hasOwn(FAULT_WORDS, kind)) return "Unknown kind of fault.";
  const channel = given.channel ? ` on channels that match ${given.channel}` : "";
  const connections = given.connections ? `, on ${count(given.connections, "connection")} at most` : "";
  return `${FAULT_WORDS[kind](given)}${channel}${connections}.`;
}

/** Says when a staged fault ends. @param left what the server says is left of it: `times` and `connections`, where they are limited */
function faultEnd({ times, connections }) {
  if (times === 0) return "Has ended.";
  if (times > 0) return `Ends by itself: ${count(times, "time")} left.`;
  if (connections === 0) return "Meets no further connection.";
  if (connections > 0) return `${count(connections, "further connection")} left. Stays until you remove it.`;
  return "Stays until you remove it.";
}
