"use strict";
// What an entry becomes on the clipboard. None of it may run as a command when it is pasted.

/** A word for a POSIX shell. */
function shellWord(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** JSON without characters that a terminal would obey or that cannot be seen. */
function plainJSON(value) {
  return JSON.stringify(value).replace(HIDDEN_EACH, (character) => Array.from(
    { length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`).join(""));
}

/** The argument of `printf %b` that prints the text: pasted control characters would reach the terminal, escapes do not. */
function printable(text) {
  const octal = (character) => Array.from(
    new TextEncoder().encode(character), (byte) => `\\0${byte.toString(8).padStart(3, "0")}`).join("");
  return shellWord(text.replaceAll("\\", "\\\\").replace(HIDDEN_EACH, octal));
}

/** The value of an option, such as `-c news`. */
function shellOption(letter, name, text) {
  if (HIDDEN.test(text)) return `--${name}="$(printf %b ${printable(text)})"`;
  return text.startsWith("-") ? `--${name}=${shellWord(text)}` : `-${letter} ${shellWord(text)}`;
}

function curlLine(entry) {
  const body = { app: entry.app, channel: entry.channel, event: entry.event, data: entry.data };
  const url = `${location.origin}${location.pathname.replace(/\/+$/, "")}/trigger`;
  return "curl -H \"Authorization: Bearer $PUSHER_CONSOLE_TOKEN\" -H 'Content-Type: application/json' "
    + `--data-raw ${shellWord(plainJSON(body))} ${shellWord(url)}`;
}

/** The line of `pusher-cli trigger`; data that the command or the terminal would take for something else goes by a pipe. */
function triggerLine(entry, apps) {
  const app = apps.find((candidate) => candidate.id === entry.app) ?? { key: "", id: entry.app ?? "" };
  const secure = location.protocol === "https:";
  const place = [
    `--host ${shellWord(location.hostname.replace(/^\[|\]$/g, ""))}`, `--port ${location.port || (secure ? 443 : 80)}`,
    `--scheme ${secure ? "https" : "http"}`, `--key=${shellWord(app.key)}`, `--app-id=${shellWord(app.id)}`,
    shellOption("c", "channel", entry.channel), shellOption("e", "event", entry.event),
  ].join(" ");
  const command = `pusher-cli trigger ${place}`;
  const note = "# PUSHER_APP_SECRET must be set";
  const data = entry.data;
  if (data.startsWith("@") || HIDDEN.test(data)) {
    return `${note}\nprintf '%b\\n' ${printable(data)} | ${command} --data=@-`;
  }
  return `${note}\n${command} ${data === "" || data.startsWith("-") ? "--data=" : ""}${data === "" ? "" : shellWord(data)}`;
}

/** Puts text on the clipboard, also where the browser has no clipboard for pages without TLS. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = make("textarea", { class: "quiet", "aria-hidden": "true" });
    const before = document.activeElement;
    document.body.append(field);
    field.value = text;
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    before?.focus();
    return isCopied;
  }
}
