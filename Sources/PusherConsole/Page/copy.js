// What an entry becomes on the clipboard. None of it may run as a command when it is pasted.

/** A word for a POSIX shell. */
const shellWord = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** JSON without characters that a terminal would obey or that cannot be seen. */
const plainJSON = (value) => JSON.stringify(value).replace(EACH_HIDDEN, (character) =>
  character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""));

/** The argument of `printf %b` that prints the text: pasted control characters would reach the terminal, escapes do not. */
function printable(text) {
  const octal = (character) => Array.from(new TextEncoder().encode(character), (byte) => `\\0${byte.toString(8).padStart(3, "0")}`);
  return shellWord(text.replaceAll("\\", "\\\\").replace(EACH_HIDDEN, (character) => octal(character).join("")));
}

/** The value of an option, such as `-c news`. */
function shellOption(letter, name, text) {
  if (HIDDEN.test(text)) return `--${name}="$(printf %b ${printable(text)})"`;
  return text.startsWith("-") ? `--${name}=${shellWord(text)}` : `-${letter} ${shellWord(text)}`;
}

function curlLine({ app, channel, event, data }) {
  return "# Set PUSHER_CONSOLE_TOKEN first: the token in the address of this page\n"
    + "curl -H \"Authorization: Bearer $PUSHER_CONSOLE_TOKEN\" -H 'Content-Type: application/json' "
    + `--data-raw ${shellWord(plainJSON({ app, channel, event, data }))} `
    + shellWord(`${location.origin}${location.pathname.replace(/\/+$/, "")}/trigger`);
}

/** The options that lead to this server; with --local, only those that it does not imply. */
function placeOptions(isLocal) {
  const host = location.hostname.replace(/[[\]]/g, "");
  const scheme = location.protocol.slice(0, -1);
  return [
    ...(isLocal ? ["--local"] : []), `--port ${location.port || (scheme === "https" ? 443 : 80)}`,
    ...(isLocal && host === "127.0.0.1" ? [] : [`--host ${shellWord(host)}`]),
    ...(isLocal && scheme === "http" ? [] : [`--scheme ${scheme}`]),
  ].join(" ");
}

/** The line of `pusher-cli trigger`; data that the command or the terminal would take for something else goes by a pipe. */
function triggerLine({ app, channel, event, data }, apps) {
  const key = apps.find(({ id }) => id === app)?.key ?? "";
  // The app of `serve` without options, whose secret --local knows.
  const isLocal = app === "1" && key === "local";
  const command = [
    `pusher-cli trigger ${placeOptions(isLocal)}`, ...(isLocal ? [] : [`--key=${shellWord(key)} --app-id=${shellWord(app)}`]),
    shellOption("c", "channel", channel), shellOption("e", "event", event),
  ].join(" ");
  const isPiped = data.startsWith("@") || HIDDEN.test(data);
  const option = data === "" || data.startsWith("-") ? "--data=" : "";
  return (isLocal ? "" : "# Set PUSHER_APP_SECRET first\n")
    + (isPiped ? `printf '%b\\n' ${printable(data)} | ${command} --data=@-` : `${command} ${option}${shellWord(data)}`);
}

/** The line of `pusher-cli subscribe` for a public channel, which needs no secret, as text for the page. */
function subscribeLine({ key } = { key: "local" }) {
  return `pusher-cli subscribe ${placeOptions(true)} ${key === "local" ? "" : `--key=${shellWord(visible(key))} `}news`;
}

/** Puts text on the clipboard, also where the browser has none for pages without TLS. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const before = document.activeElement;
    const field = make("textarea", { class: "quiet" }, text);
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    before.focus();
    if (!isCopied) throw new Error("Cannot copy: the browser denies access to the clipboard.");
  }
  return "Copied.";
}
