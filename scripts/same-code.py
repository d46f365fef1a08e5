#!/usr/bin/env python3
"""Shows that a change touches comments only: compares the code of two revisions without comments and blank lines.

  scripts/same-code.py BASE [REVISION]     without REVISION, the files as they stand

Prints each file whose code differs; the status is then 1. Files of Swift, C, Lua, shell, Python and Makefiles are compared,
all others are ignored.
"""

import io
import pathlib
import re
import subprocess
import sys
import tokenize

SLASHES = {".swift", ".c", ".h", ".modulemap"}
HASHES = {".sh", ".yml", ".toml", ".service", ".socket", ""}


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True).stdout


def quoted(text, at):
    """Returns the end of the Swift or C string that begins at `at`, with the strings inside its interpolations."""
    hashes = len(re.match("#*", text[at:]).group())
    start = at + hashes
    quotes = '"""' if text.startswith('"""', start) else text[start]
    escape, end = "\\" + "#" * hashes, quotes + "#" * hashes
    at = start + len(quotes)
    while at < len(text) and not text.startswith(end, at):
        if text.startswith(escape + "(", at):
            at = interpolated(text, at + len(escape) + 1)
        elif text.startswith(escape, at):
            at += len(escape) + 1
        else:
            at += 1
    return at + len(end)


def interpolated(text, at):
    """Returns the end of an interpolation, whose opening parenthesis ends at `at`."""
    depth = 1
    while at < len(text) and depth:
        if re.match('#*"', text[at:at + 8]):
            at = quoted(text, at)
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def without_slashes(text, characters):
    """Returns the text without the comments that begin with two slashes or stand between /* and */."""
    code, at = [], 0
    while at < len(text):
        if text.startswith("//", at):
            at = (text.find("\n", at) + len(text) + 1) % (len(text) + 1)
        elif text.startswith("/*", at):
            at = text.index("*/", at) + 2
        elif re.match('#*"' if not characters else '["\']', text[at:at + 8]):
            end = quoted(text, at)
            code.append(text[at:end])
            at = end
        else:
            code.append(text[at])
            at += 1
    return "".join(code)


def without_python_comments(text):
    """Returns the tokens of a program in Python, without comments, documentation and line ends."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    skipped = {tokenize.COMMENT, tokenize.NL}
    kept = [token for token in tokens if token.type not in skipped]
    starts = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    code = []
    for before, token in zip([None, *kept], kept):
        if token.type == tokenize.STRING and (before is None or before.type in starts):
            continue
        code.append(token.string if token.type not in starts else tokenize.tok_name[token.type])
    return "\n".join(code)


def lines(text, comment=None):
    """Returns the lines that hold more than blanks or a comment."""
    kept = (line.rstrip() for line in text.split("\n"))
    return [line for line in kept if line and not (comment and re.match(comment, line))]


def code(path, text):
    """Returns the lines of code of one file, or nothing for a file whose comments are not known."""
    ending = pathlib.PurePath(path).suffix
    if ending in SLASHES:
        return lines(without_slashes(text, ending in {".c", ".h"}))
    if ending == ".lua":
        return lines(text, r"\s*--")
    if ending == ".py":
        return lines(without_python_comments(text))
    if ending in HASHES:
        return lines(text, r"\s*#(?!!)")
    return []


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    base, revision = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None
    names = git("diff", "--name-only", "--no-renames", base, *([revision] if revision else []))
    differing = 0
    for path in names.decode().split():
        def read(at):
            try:
                return git("show", f"{at}:{path}").decode() if at else pathlib.Path(path).read_text()
            except (subprocess.CalledProcessError, FileNotFoundError):
                return ""
        if code(path, read(base)) != code(path, read(revision)):
            print(path)
            differing += 1
    print(f"{len(names.split())} files changed, the code of {differing} differs", file=sys.stderr)
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
