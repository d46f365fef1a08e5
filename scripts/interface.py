#!/usr/bin/env python3
"""Compares the libraries' public interface with the promised one in Tests/interface.

  scripts/interface.py MODULES [PROMISED] [--write]

MODULES is the folder of the built modules, such as .build/debug/Modules. PROMISED is
Tests/interface or another folder. --write renews its files. Each line is a public symbol with its
declaration, or a conformance.
"""

import difflib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROMISED = ROOT / "Tests" / "interface"
LIBRARIES = ["PusherCore", "PusherTesting"]


def graphs(module, modules):
    """Extracts the symbol graphs of a module: its own, and those of its extensions."""
    swift = shutil.which("swift")
    if swift is None:
        sys.exit("interface: no 'swift' found: install Swift 6.2 or newer from swift.org")
    folder = pathlib.Path(swift).resolve().parent
    info = subprocess.run([folder / "swiftc", "-print-target-info"], capture_output=True, check=True)
    command = [
        folder / "swift-symbolgraph-extract", "-module-name", module, "-minimum-access-level", "public",
        "-target", json.loads(info.stdout)["target"]["triple"], "-skip-synthesized-members", "-I", modules,
    ]
    for path in ROOT.glob("Sources/CSystem*/module.modulemap"):
        command += ["-I", path.parent]
    with tempfile.TemporaryDirectory() as output:
        subprocess.run([*command, "-output-dir", output], check=True)
        return [json.loads(path.read_text()) for path in sorted(pathlib.Path(output).iterdir())]


def lines(graph):
    """Yields a line for each symbol and each conformance."""
    names = {symbol["identifier"]["precise"]: path(symbol) for symbol in graph["symbols"]}
    for symbol in graph["symbols"]:
        words = "".join(part["spelling"] for part in symbol["declarationFragments"])
        yield f"{path(symbol)}: {' '.join(words.split())}"
    for relation in graph["relationships"]:
        source = names.get(relation["source"])
        if relation["kind"] == "conformsTo" and source is not None:
            kept = names.get(relation["target"], relation.get("targetFallback", "?"))
            yield f"{source}: conforms to {kept}"


def path(symbol):
    return ".".join(symbol["pathComponents"])


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    if len(words) not in (1, 2):
        sys.exit("interface: name the folder of the built modules, such as .build/debug/Modules")
    promises = pathlib.Path(words[1]) if len(words) == 2 else PROMISED
    changed = False
    for module in LIBRARIES:
        found = graphs(module, pathlib.Path(words[0]).resolve())
        built = sorted({line for graph in found for line in lines(graph)})
        file = promises / f"{module}.txt"
        if "--write" in sys.argv:
            file.write_text("\n".join(built) + "\n")
            continue
        promised = file.read_text().splitlines()
        for line in difflib.unified_diff(promised, built, file.name, "built", n=0, lineterm=""):
            changed = True
            print(line)
    if changed:
        sys.exit(
            "interface: the public interface changed. An addition needs a minor version, a removal"
            " or a change a major one (docs/stability.md): add it to CHANGELOG.md, set the version"
            " in Sources/pusher-cli/Settings/Version.swift, and run this with --write"
        )


main()
