// Reads JSON where it stands, so that numbers stay as they were sent and deep or huge texts cost only what is looked at.

class JSONFailure extends Error {
  constructor(text, offset, reason) {
    const lines = text.slice(0, offset).split("\n");
    super(`line ${lines.length}, column ${lines.at(-1).length + 1}: ${reason}`);
  }
}

/** Where a text is read; it goes over one token after another. */
class JSONReader {
  constructor(text, position) {
    this.text = text;
    this.position = position;
    this.blank();
  }

  get next() {
    return this.text[this.position];
  }

  fail(reason) {
    throw new JSONFailure(this.text, this.position, this.position < this.text.length ? reason : "unexpected end");
  }

  blank() {
    while (/[ \t\r\n]/.test(this.next ?? "")) this.position += 1;
  }

  take(character, reason) {
    if (this.next !== character) this.fail(reason);
    this.position += 1;
    this.blank();
  }

  /** Looks for the next special character only: an expression for all of them would need memory for each. */
  string() {
    const special = /["\\\u0000-\u001f]/g;
    const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
    special.lastIndex = this.position + 1;
    for (;;) {
      const found = special.exec(this.text);
      this.position = found?.index ?? this.text.length;
      if (this.next === '"') break;
      escape.lastIndex = this.position;
      if (this.next !== "\\") this.fail("control character in a string; write \\n, \\t or \\u");
      if (!escape.test(this.text)) this.fail("unknown escape");
      special.lastIndex = escape.lastIndex;
    }
    this.position += 1;
  }

  scalar() {
    if (this.next === '"') return this.string();
    const pattern = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
    pattern.lastIndex = this.position;
    if (!pattern.test(this.text)) this.fail("expected a value, such as a number, true, false or null");
    this.position = pattern.lastIndex;
  }

  name() {
    const start = this.position;
    if (this.next !== '"') this.fail("expected a name in double quotes");
    this.string();
    const name = this.text.slice(start, this.position);
    this.blank();
    this.take(":", "expected a colon after the name");
    return name;
  }
}

/** Goes over the value at `start`, tells its own members (name, start, end), gives its end; depth takes no stack. */
function scanJSON(text, start, member = () => {}) {
  const reader = new JSONReader(text, start);
  const open = [];
  let name, from;
  const key = () => {
    const found = reader.name();
    if (open.length === 1) name = found;
  };
  for (;;) {
    if (open.length === 1) from = reader.position;
    const isObject = reader.next === "{";
    let isOver = !isObject && reader.next !== "[";
    if (isOver) reader.scalar();
    else {
      open.push(isObject ? "}" : "]");
      reader.take(reader.next);
      if (reader.next !== open.at(-1)) {
        if (isObject) key();
        continue;
      }
    }
    for (;;) {
      if (isOver && open.length === 0) return reader.position;
      if (isOver && open.length === 1) member(name, from, reader.position);
      reader.blank();
      if (reader.next !== open.at(-1)) break;
      reader.position += 1;
      open.pop();
      isOver = true;
    }
    reader.take(",", `expected a comma or ${open.at(-1)}`);
    if (open.at(-1) === "}") key();
  }
}

/** Where and why the text is not JSON; nothing for JSON. */
function problemOfJSON(text) {
  try {
    const rest = text.slice(scanJSON(text, 0));
    const offset = text.length - rest.trimStart().length;
    if (/[^ \t\r\n]/.test(rest)) throw new JSONFailure(text, offset, "unexpected text after the value");
  } catch (failure) {
    if (failure instanceof JSONFailure) return failure.message;
    throw failure;
  }
}

/** The members of the object or array at `start`, at most `most` after `skip`, and how many there are. */
function membersOfJSON(text, start, skip, most) {
  const found = [];
  let total = 0;
  scanJSON(text, start, (name, from, end) => {
    if (total >= skip && found.length < most) found.push({ name: name ?? total, start: from, end });
    total += 1;
  });
  return { found, total };
}
