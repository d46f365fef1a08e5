// Keeps the filters in the address, after "#", so that a view can be a bookmark.

const FIELDS = ["app", "channel", "event", "text"];
/** Maximum length of a filter, as `maxlength` of the inputs; a browser refuses far longer patterns. */
const LONGEST_FILTER = 1024;

/** The part after "#"; what is as at the beginning is left out. */
function addressOf({ kinds, folds, showsDistance, ...fields }) {
  const values = { ...fields, kind: [...kinds].join(","), fold: folds ? "" : "off", time: showsDistance ? "distance" : "" };
  return new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
}

/** The view that an address asks for; what it cannot mean is left out. */
function viewOf(address) {
  const values = new URLSearchParams(address.replace(/^#/, ""));
  const short = (text) => text.length <= LONGEST_FILTER ? text : "";
  const fields = FIELDS.map((name) => [name, short(values.get(name) ?? "")]);
  const kinds = (values.get("kind") ?? "").split(",").filter((kind) => KINDS.includes(kind));
  return {
    ...Object.fromEntries(fields), kinds: new Set(kinds), folds: values.get("fold") !== "off",
    showsDistance: values.get("time") === "distance",
  };
}
