// The text of an empty list: what to do next, with a line to copy or a button.

/** @param next a line for a shell, or a button's label and action; nothing for neither */
function sayEmpty(id, text, next) {
  const box = $(id);
  const said = JSON.stringify([text, next]);
  if (box.dataset.said === said) return;
  box.dataset.said = said;
  const parts = [make("p", {}, text)];
  if (typeof next === "string") {
    const button = makeButton("Copy", () => copyText(next).then((word) => setText(button, word), (error) => setText(button, error.message)));
    parts.push(make("pre", { tabindex: "0" }, next), button);
  } else if (next) parts.push(makeButton(next.label, next.act));
  box.replaceChildren(...parts);
}
