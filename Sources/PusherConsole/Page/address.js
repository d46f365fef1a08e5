// Keeps the filters in the address, after "#", so that a view can be a bookmark.

const FIELDS = ["app", "channel", "event", "text"];

/** The part after "#"; what is as at the beginning is left out. */
function addressOf({ kinds, folds, showsDistance, ...fields }) {
  const values = { ...fields, kind: [...kinds].join(","), fold: folds ? "" : "off", time: showsDistance ? "distance" : "" };
  return new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
}

/** The view that an address asks for; what it cannot mean is left out. */
function viewOf(address) {
  const values = new URLSearchParams(address.replace(/^#/, ""));
  const fields = FIELDS.map((name) => [name, values.get(name) ?? ""]);
  const kinds = (values.get("kind") ?? "").split(",").filter((kind) => KINDS.includes(kind));
  return {
    ...Object.fromEntries(fields), kinds: new Set(kinds), folds: values.get("fold") !== "off",
    showsDistance: values.get("time") === "distance",
  };
}
