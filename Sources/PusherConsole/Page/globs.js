// The program's globs: `*` is any text, `?` one character, `[a-z]` and `[!a-z]` a set. A backslash stands for itself.

class Glob {
  /** Null for any text, else what says whether one character is meant. */
  #elements = [];

  constructor(text) {
    const signs = [...text];
    // After one bracket without an end, no later bracket has an end either.
    let mayClose = true;
    for (let index = 0; index < signs.length; index += 1) {
      const sign = signs[index];
      const set = sign === "[" && mayClose ? globSet(signs, index) : null;
      if (set) {
        this.#elements.push(set.has);
        index = set.end;
        continue;
      }
      if (sign === "[") mayClose = false;
      if (sign === "\\" && signs[index + 1] === "\\") index += 1;
      if (sign !== "*") this.#elements.push(sign === "?" ? () => true : (other) => other === sign);
      else if (this.#elements.at(-1) !== null) this.#elements.push(null);
    }
  }

  /** Returns true if the pattern matches the whole name; case matters. */
  matches(name) {
    const elements = this.#elements;
    const signs = [...name];
    let [position, element] = [0, 0];
    // The place to continue after the last `*`, if the rest does not match.
    let retry = null;
    while (position < signs.length) {
      if (elements[element] === null) retry = { element: element += 1, position };
      else if (elements[element]?.(signs[position])) {
        element += 1;
        position += 1;
      } else if (retry === null) return false;
      else {
        position = retry.position += 1;
        element = retry.element;
      }
    }
    return elements.slice(element).every((one) => one === null);
  }
}

/** The set that begins at a bracket, and where it ends; null where no bracket closes it. */
function globSet(signs, start) {
  const isNegated = signs[start + 1] === "!" || signs[start + 1] === "^";
  const first = start + (isNegated ? 2 : 1);
  const ranges = [];
  let index = first;
  const code = (place) => signs[place].codePointAt(0);
  while (index < signs.length && (signs[index] !== "]" || index === first)) {
    const isRange = index + 2 < signs.length && signs[index + 1] === "-" && signs[index + 2] !== "]";
    const ends = [code(index), code(isRange ? index + 2 : index)];
    ranges.push([Math.min(...ends), Math.max(...ends)]);
    index += isRange ? 3 : 1;
  }
  if (index >= signs.length) return null;
  const isIn = (other) => ranges.some(([low, high]) => other >= low && other <= high);
  return { end: index, has: (sign) => isIn(sign.codePointAt(0)) !== isNegated };
}
