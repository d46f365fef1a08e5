#!/usr/bin/env python3
"""Checks the width of prose, and lists the longest sentences that users read.

  scripts/prose.py

Fails, with file and line, for a line of prose over 100 columns: in Markdown outside tables, fences
and headings, and in the comments of Swift, shell, Lua and C. An entry of CHANGELOG has 120. Prints
the twenty longest sentences of README, the guide and the manual; these never fail.
"""

import os
import pathlib
import re
import subprocess
import sys

WIDTH = 100
ENTRY_WIDTH = 122
COMMENTS = {".swift": "//", ".h": "//", ".c": "//", ".lua": "--", ".sh": "#"}


def sources():
    """Yields the files of the tree, without what is built."""
    for folder, folders, names in os.walk("."):
        folders[:] = sorted(name for name in folders if name[0] != "." and name != "dist")
        yield from (pathlib.Path(folder, name) for name in sorted(names))


def prose_of_markdown(text):
    """Yields number and text of the lines of prose."""
    is_fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
        elif not is_fenced and line and not re.match(r"\s*(\||#|!\[|<)", line):
            yield number, line


def too_wide(path, text):
    if path.suffix == ".md":
        lines = prose_of_markdown(text)
    else:
        mark = COMMENTS[path.suffix]
        lines = (
            (number, line) for number, line in enumerate(text.split("\n"), 1)
            if line.lstrip().startswith(mark))
    width = ENTRY_WIDTH if path.name == "CHANGELOG.md" else WIDTH
    # A line without a blank, such as an address, cannot be broken.
    return [number for number, line in lines if len(line) > width and " " in line.strip()[5:]]


def sentences(text):
    text = re.sub(r"`[^`]*`", lambda span: span.group().replace(".", "\0"), text)
    for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z`])", text):
        yield sentence.replace("\0", ".").strip()


def paragraphs(lines):
    """Joins lines to paragraphs and list items."""
    paragraph = []
    for line in [*lines, ""]:
        if paragraph and (not line.strip() or re.match(r"\s*([-*]|\d+\.)\s", line)):
            yield " ".join(part.strip() for part in paragraph)
            paragraph = []
        if line.strip():
            paragraph.append(line)


def read_by_users():
    """Yields a name and the paragraphs of what users read."""
    for name in ["README.md", "docs/guide.md"]:
        text = pathlib.Path(name).read_text()
        last, lines = 0, []
        for number, line in prose_of_markdown(text):
            lines += [""] * (number > last + 1) + [line]
            last = number
        yield name, paragraphs(lines)
    manual = subprocess.run(
        ["mandoc", "-T", "utf8", "-O", "width=1000", "man/pusher-cli.1"], capture_output=True,
        check=True)
    text = re.sub(r".\x08", "", manual.stdout.decode())
    yield "manual", paragraphs(line for line in text.split("\n") if "   " not in line.strip())


def main():
    findings = 0
    for path in sources():
        if path.suffix not in {*COMMENTS, ".md"}:
            continue
        for number in too_wide(path, path.read_text()):
            print(f"{path}:{number}: this line of prose is too wide")
            findings += 1
    longest = sorted(
        ((len(sentence.split()), name, sentence)
         for name, texts in read_by_users() for text in texts for sentence in sentences(text)),
        reverse=True)
    for words, name, sentence in longest[:20]:
        print(f"{words:4} words, {name}: {sentence[:120]}")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
