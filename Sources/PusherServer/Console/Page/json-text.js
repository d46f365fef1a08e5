"use strict";
// Reads JSON where it stands, so that numbers stay as they were sent and deep or huge texts cost only what is looked at.

class JSONText {
  /** Where and why the text is not JSON: `{ offset, reason }`; `null` for JSON. Nesting takes no stack. */
  static problem(text) {
    const reader = new JSONText(text);
    try {
      reader.#blank();
      reader.#skipValue();
      reader.#blank();
      if (reader.position < text.length) reader.#fail("something follows the end of the value");
      return null;
    } catch (failure) {
      if (failure instanceof JSONFailure) return failure;
      throw failure;
    }
  }

  /** Where an offset is, for people. */
  static place(text, offset) {
    const before = text.slice(0, offset).split("\n");
    return `line ${before.length}, column ${before.at(-1).length + 1}`;
  }

  /** The members of the object or array that begins at `start`: `{ key?, start, end }`, at most `most` after `skip`. */
  static children(text, start, skip, most) {
    const reader = new JSONText(text, start);
    const isObject = text[start] === "{";
    const found = [];
    let number = 0;
    reader.position += 1;
    for (reader.#blank(); !"]}".includes(text[reader.position]); number += 1) {
      let key = number;
      if (isObject) {
        key = reader.#key();
      }
      const from = reader.position;
      reader.#skipValue();
      if (number >= skip && found.length < most) found.push({ key, start: from, end: reader.position });
      reader.#blank();
      if (text[reader.position] === ",") reader.position += 1;
      reader.#blank();
    }
    return { found, total: number };
  }

  constructor(text, position = 0) {
    this.text = text;
    this.position = position;
  }

  #fail(reason) {
    throw new JSONFailure(this.position, reason);
  }

  #blank() {
    const text = this.text;
    for (;;) {
      const code = text.charCodeAt(this.position);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.position += 1;
    }
  }

  #key() {
    const start = this.position;
    if (this.text[start] !== '"') this.#fail("a name in double quotes is missing");
    this.#string();
    const name = this.text.slice(start, this.position);
    this.#blank();
    if (this.text[this.position] !== ":") this.#fail("a colon is missing after the name");
    this.position += 1;
    this.#blank();
    return name;
  }

  /** Looks for the next special character only: an expression for the whole string would need memory for each of its characters. */
  #string() {
    const special = /["\\\u0000-\u001f]/g;
    const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
    special.lastIndex = this.position + 1;
    for (;;) {
      const found = special.exec(this.text);
      this.position = found?.index ?? this.text.length;
      if (found === null) this.#fail("the text ends inside a string");
      if (found[0] === '"') break;
      escape.lastIndex = this.position;
      if (found[0] !== "\\") this.#fail("a string needs \\n, \\t or \\u for a control character");
      if (!escape.test(this.text)) this.#fail("this escape is not one of JSON");
      special.lastIndex = escape.lastIndex;
    }
    this.position += 1;
  }

  #scalar() {
    if (this.text[this.position] === '"') return this.#string();
    const pattern = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
    pattern.lastIndex = this.position;
    if (!pattern.test(this.text)) this.#fail(this.position < this.text.length ? "a value is missing here" : "the text ends too early");
    this.position = pattern.lastIndex;
    if (/[\w.+-]/.test(this.text[this.position] ?? "")) this.#fail("this is neither a number nor true, false or null");
  }

  /** Goes over one value; `open` holds the brackets that are still open, so that depth takes no stack. */
  #skipValue() {
    const text = this.text;
    const open = [];
    for (;;) {
      const start = text[this.position];
      if (start === "{" || start === "[") {
        this.position += 1;
        this.#blank();
        open.push(start === "{" ? "}" : "]");
        if (text[this.position] !== open.at(-1)) {
          if (start === "{") this.#key();
          continue;
        }
      } else {
        this.#scalar();
        if (open.length === 0) return;
        this.#blank();
      }
      if (!this.#goOn(open)) return;
    }
  }

  /** After a value: closes what ends here; false when the outermost value is over. */
  #goOn(open) {
    const text = this.text;
    while (text[this.position] === open.at(-1)) {
      this.position += 1;
      open.pop();
      if (open.length === 0) return false;
      this.#blank();
    }
    if (text[this.position] !== ",") this.#fail(this.position < text.length ? `a comma or ${open.at(-1)} is missing` : "the text ends too early");
    this.position += 1;
    this.#blank();
    if (open.at(-1) === "}") this.#key();
    return true;
  }
}

class JSONFailure extends Error {
  constructor(offset, reason) {
    super(reason);
    this.offset = offset;
    this.reason = reason;
  }
}
