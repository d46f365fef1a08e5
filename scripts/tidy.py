#!/usr/bin/env python3
"""Checks the rooms of Sources, and what may not stand in them; CONTRIBUTING.md has the reasons."""

import collections
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "Sources"
# Targets, each before those that import it, and their rooms: a group uses only the groups before it.
ROOMS = {
    "PusherCore": "Time|Bytes|JSON|Crypto Compression TLS|HTTP|WebSocket EventStream|Channels|Transport|Feed|Signing|Face|API",
    "PusherLines": "",
    "PusherServer": "Hub|Wire|Dialects|API|Webhooks|Monitoring|Faults|Server",
    "PusherConsole": "", "PusherCluster": "Redis|Member|Driver", "PusherTesting": "Faults|Server",
    "pusher-cli": "Settings|Metrics|Lines|Run|Bench|Commands|Main.swift",
}
# Imports of a target, then of single rooms. Foundation stands nowhere.
IMPORTS = {
    "PusherPlatform": "Glibc Musl Darwin", "PusherLines": "PusherCore", "PusherServer": "PusherCore Synchronization", "PusherConsole": "CConsolePage PusherCore PusherServer",
    "PusherCluster": "PusherCore PusherServer", "PusherTesting": "PusherCore PusherServer", "PusherCluster/Redis": "CSystemHiredis",
    "pusher-cli": "PusherCluster PusherConsole PusherCore PusherLines PusherPlatform PusherServer Synchronization", "pusher-cli/Main.swift": "CProgram",
    "PusherCore/Bytes": "CSystemVectors PusherPlatform", "PusherCore/JSON": "CSystemVectors", "PusherCore/EventStream": "CSystemVectors",
    "PusherCore/Crypto": "CSystemOpenSSL CSystemSodium Synchronization",
    "PusherCore/TLS": "CSystemOpenSSL PusherPlatform", "PusherCore/Compression": "CSystemZlib",
    "PusherCore/Transport": "CSystemEpoll PusherPlatform Synchronization", "PusherCore/Feed": "Synchronization",
    "PusherCore/Face": "Synchronization", "PusherCore/API": "Synchronization",
}
# Each rule: the files that it applies to, what it refuses there, and what to do instead.
TIME = r"^(?!PusherCore/(Transport/|Crypto/|Face/PusherWaiting\.swift))"
NAMES = (r"^(PusherServer/|PusherCore/(Channels|Feed|Signing|Face|API)/)"
         r"(?!.*(EventSource|PusherConnection|PusherAPI|PusherClientOptions|StagedFault)\.swift)")
RULES = [(re.compile(place), re.compile(refused), instead) for place, refused, instead in [
    (TIME, r"SystemRandomNumberGenerator|\.(random|randomElement|shuffled?)\(|ContinuousClock|SuspendingClock|clock_gettime|\b(u|nano)?sleep\("
     r"|(?<!SystemClock)\.now\(", "clocks and random numbers come from Transport and Crypto, as arguments"),
    ("", r"\btry!|\bas!|fatalError\(\)", "handle the error"),
    (NAMES, r"\[String:|Set<String>|Dictionary<String|\bhas(Pre|Suf)fix\(", "names are bytes: NameTable, NameSet, begins(with:)"),
]]
# Searches for texts, which stand in strings.
TEXTS = re.compile(r'\.contains\("(?:[^"\\]|\\.){2,}"\)|\.split\(separator: "(?:[^"\\]|\\.){2,}|\.replacing\("(?:[^"\\]|\\.){2,}'
                   r'|\.ranges\(of:|(?<!utf8)\.lastRange\(|(?<!utf8)\.lastIndex(?!\(of: (UInt8|quote))[ (]')
DECLARED = re.compile(r"^(?!.*\b(?:file)?private\b)[^\n]*?\b(?:struct|class|enum|protocol|actor|typealias)\s+([A-Z]\w*)", re.M)
LONG_TEXT = re.compile(r'"""(?:[^"]|"(?!""))*"""')
COMMENT = re.compile(r"//.*")
STRING = re.compile(r'"(?:\\\((?:[^()]|\([^()]*\))*\)|\\.|[^"\\\n])*"')
# Names that the standard library has too.
COMMON = set("AsyncIterator Element Error Failure ID Index Iterator Output RawValue Result Success".split())

found = []
files = {}
for path in sorted(SOURCES.rglob("*.swift")):
    target, room = path.relative_to(SOURCES).parts[:2]
    texts = LONG_TEXT.sub(lambda match: "\n" * match.group().count("\n"), path.read_text(encoding="utf-8"))
    texts = COMMENT.sub("", texts)
    code = STRING.sub(lambda match: " ".join(re.findall(r"\\\((.*?)\)", match.group())), texts)
    files[path] = (target, room, texts, code)

levels = {target: {room: level for level, group in enumerate(rooms.split("|")) for room in group.split()} for target, rooms in ROOMS.items()}
homes = collections.defaultdict(lambda: collections.defaultdict(set))
for target, room, _, code in files.values():
    for name in DECLARED.findall(code):
        homes[target][name].add(room)

# A name that a lower target also declares may mean that target's type.
below = {target: set().union(*(homes[lower] for lower in list(ROOMS)[:index])) for index, target in enumerate(ROOMS)}

for path, (target, room, texts, code) in files.items():
    place = str(path.relative_to(SOURCES))
    known, own = levels.get(target) or {}, None
    if known:
        own = known.get(room)
        if own is None:
            found.append(f"{place}: '{room}' is no room of {target}: {', '.join(known)}")
    allowed = set(f"{IMPORTS.get(target, '')} {IMPORTS.get(f'{target}/{room}', '')}".split())
    for number, (line, text) in enumerate(zip(code.split("\n"), texts.split("\n")), 1):
        problems = [instead for where, refused, instead in RULES if where.search(place) and refused.search(line)]
        if TEXTS.search(text):
            problems.append("this search walks grapheme clusters: search bytes (ByteSearch.swift, utf8)")
        module = re.match(r"\s*(?:@\w+ |public |package |internal )*import (?:struct |enum |class |func )?(\w+)", line)
        if module and module[1] not in allowed:
            problems.append(f"{module[1]} may not be imported here")
        for name in re.findall(r"\b[A-Z]\w*", line) if own is not None else []:
            rooms = homes[target].get(name, set())
            if name in COMMON or name in below[target] or not rooms or room in rooms:
                continue
            if all(known.get(other, -1) >= own for other in rooms):
                problems.append(f"'{name}' belongs to {' or '.join(sorted(rooms))}, which {room} may not use")
        found += [f"{place}:{number}: {problem}" for problem in problems]

print("\n".join(found), end="\n" if found else "")
sys.exit(bool(found))
