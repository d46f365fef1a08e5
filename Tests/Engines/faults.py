"""What goes wrong beside an engine that is down: the table of faults, two forwarders, and kills at random moments."""

import http.server
import itertools
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

from stage import Failure, Process, Stage, answers, free_port, wait

# An engine of our own: refuses while the file `refuse` is there.
STORE = """#!/bin/sh
while IFS= read -r line; do
  [ ! -e refuse ] || { echo 'store: refused' >&2; exit 1; }
  printf '%s\\n' "$line" >>"$STORE" || exit
done
"""

# As a service manager does it: what ends is started again.
FOREVER = "while :; do\n{}\nsleep 0.2\ndone"

MODES = {
    "pipe": "pusher-cli subscribe orders | ./store.sh",
    "--exec": "pusher-cli subscribe orders --exec ./store.sh",
    "--exec-fail stop": "pusher-cli subscribe orders --exec ./store.sh --exec-fail stop",
    "--forward": 'pusher-cli subscribe orders --forward "$WEBHOOK_URL"',
    "--output-file": "pusher-cli subscribe orders --output-file $EVENTS",
}


class Receiver:
    """The receiver of --forward, a process of its own."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=Stage.base))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/events"
        self.answer = self.folder / "answer"
        self.start()

    def start(self):
        script = pathlib.Path(__file__).with_name("receiver.py")
        self.process = Process([sys.executable, str(script), str(self.port), "store", "answer"], self.folder,
                               {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
        wait("the receiver listens", lambda: answers(self.port))

    def received(self):
        place = self.folder / "store"
        text = place.read_text() if place.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1]]


class SmallDisk:
    """A file system of 2 MB that can be full."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=Stage.base))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(self.folder)],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            raise NotImplementedError(mounted.stderr.decode().strip())
        Stage.mounts.append(str(self.folder))

    def fill(self):
        with open(self.folder / "filler", "wb", buffering=0) as file:
            try:
                # Page by page, since what is left of a page belongs to other files.
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def clear(self):
        (self.folder / "filler").unlink()


class Scene:
    """One mode on a stage, with everything that can go wrong."""

    def __init__(self, page, mode, disk=None):
        self.mode, self.disk = mode, disk
        self.receiver = Receiver()
        self.stage = Stage(page, {"WEBHOOK_URL": self.receiver.url})
        self.store = self.stage.folder / "store"
        self.events = (disk.folder if disk else self.stage.folder) / "events.jsonl"
        if disk and mode in ("pipe", "--exec"):
            self.store = disk.folder / "store"
        self.stage.environment |= {"STORE": str(self.store), "EVENTS": str(self.events)}
        script = self.stage.folder / "store.sh"
        script.write_text(STORE)
        script.chmod(0o755)
        words = MODES[mode]
        if disk and mode == "--forward":
            words += f" --forward-timeout 500ms --forward-dead {disk.folder}/dead.jsonl"
        self.subject = self.stage.start(FOREVER.format(words))
        self.reader = None
        if mode == "--output-file":
            page.install(self.stage.folder, "hand-over.sh")
            self.reader = self.stage.start(f"./hand-over.sh {self.events} ./store.sh")
        self.stage.await_subscribers(2)

    def stored(self):
        if self.mode == "--forward":
            return [one["body"].encode() for one in self.receiver.received()]
        return self.store.read_bytes().split(b"\n")[:-1] if self.store.exists() else []

    def dead(self):
        place = self.disk.folder / "dead.jsonl"
        return place.read_bytes().split(b"\n")[:-1] if place.exists() else []

    def program(self):
        """The process id of the program."""
        def find():
            for place in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    group = os.getpgid(int(place.name))
                    if group == self.subject.pid and (place / "comm").read_text() == "pusher-cli\n":
                        return int(place.name)
                except (ProcessLookupError, FileNotFoundError):
                    continue
            return None
        return wait("the program runs", find)

    def is_ours(self):
        """Whether the file is one that the program writes itself, and not the store of a command."""
        return self.mode in ("--forward", "--output-file")

    def told(self):
        return self.subject.told() + (self.reader.told() if self.reader else [])

    def publish(self, count):
        return self.stage.publish(count, 100, hostile=False)

    def run(self, fault, repair):
        """Sends events, has the fault happen among them, sends more, repairs it, and sends the last ones."""
        stage = self.stage
        first = self.publish(40)
        wait("the first events are stored", lambda: len(self.stored()) >= 10)
        fault(self)
        stage.await_published(first)
        stage.await_published(self.publish(40))
        repair(self)
        stage.await_subscribers(2)
        stage.await_published(self.publish(20))
        last = stage.heard()[-1]

        def is_settled():
            return last in self.stored() or (self.disk and self.mode == "--forward" and last in self.dead())

        wait("the last event has had its turn", is_settled)
        count = stage.count(self.stored())
        return count

    def close(self):
        self.stage.close()
        self.receiver.process.end()


def touch_refuse(scene):
    scene.receiver.answer.write_text("500")
    (scene.stage.folder / "refuse").touch()


def remove_refuse(scene):
    wait("the refusal is told", scene.told)
    scene.receiver.answer.unlink()
    (scene.stage.folder / "refuse").unlink()


def kill_program(scene):
    os.kill(scene.program(), signal.SIGKILL)


def rotate(scene):
    if scene.mode == "--output-file":
        scene.events.rename(f"{scene.events}.1")
    os.kill(scene.program(), signal.SIGHUP)


def nothing(_):
    pass


def fill(scene):
    if scene.mode == "--forward":
        scene.receiver.answer.write_text("500")
    scene.disk.fill()


def clear(scene):
    if scene.mode == "--forward":
        wait("that the disk is full is told", lambda: any("no space left" in line for line in scene.told()))
        scene.disk.clear()
        wait("the file has what was given up", scene.dead)
        scene.receiver.answer.unlink()
    else:
        scene.disk.clear()


FAULTS = {
    "engine down": (lambda scene: scene.receiver.process.kill(), lambda scene: scene.receiver.start()),
    "answers 500, or fails": (touch_refuse, remove_refuse),
    "disk full": (fill, clear),
    "kill -9 of the program": (kill_program, nothing),
    "SIGHUP": (rotate, nothing),
}

# What is never so: the modes that may lose, and those that may double, of each fault.
MAY_LOSE = {
    "engine down": [], "answers 500, or fails": ["pipe", "--exec", "--exec-fail stop"], "disk full": ["pipe", "--exec", "--output-file"],
    "kill -9 of the program": ["pipe", "--exec", "--forward", "--output-file"], "SIGHUP": ["pipe", "--exec", "--forward"],
}
MAY_DOUBLE = {("answers 500, or fails", "--output-file"), ("engine down", "--forward")}


def table(page):
    for fault, (happen, repair) in FAULTS.items():
        for mode in MODES:
            # An engine that is down is what the recipes of the engines show; here it is the receiver.
            if fault == "engine down" and mode != "--forward":
                continue
            # This way differs where the command fails.
            if mode == "--exec-fail stop" and fault != "answers 500, or fails":
                continue
            try:
                disk = SmallDisk() if fault == "disk full" else None
            except NotImplementedError as reason:
                print(f"recipes: {fault}, {mode}: not run, since nothing can be mounted here: {reason}")
                continue
            scene = Scene(page, mode, disk)
            count = scene.run(happen, repair)
            dead = scene.dead() if disk and mode == "--forward" else []
            told = scene.told()
            extra = f", {len(dead)} of them in the file of the given up" if dead else ""
            extra += f", {len(count.other)} torn" if count.other else ""
            print(f"recipes: fault: {fault}, {mode}: {count}{extra}, told {len(told)} lines", flush=True)
            if os.environ.get("RECIPES_VERBOSE"):
                for line in list(dict.fromkeys(told))[:6]:
                    print(f"recipes:     {line[:160]}")
            scene.close()
            heard = set(scene.stage.heard())
            missing = count.lost - len(set(dead) & heard - set(scene.stored()))
            if missing and mode not in MAY_LOSE[fault]:
                raise Failure(f"{fault}, {mode}: lost {missing}")
            if count.doubled and (fault, mode) not in MAY_DOUBLE:
                raise Failure(f"{fault}, {mode}: doubled {count.doubled}")
            if len(count.other) > sum("ends in the middle of a line" in line for line in told) and scene.is_ours():
                raise Failure(f"{fault}, {mode}: torn, and not told: {count.other[0][:200]!r}")


def kept_by(received, value):
    """How many a receiver keeps that drops what it has had, told by this value."""
    return len({value(one) for one in received})


class Stream(http.server.BaseHTTPRequestHandler):
    """A stream whose events have ids."""

    readers = 0
    gate = threading.Event()

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        Stream.readers += 1
        Stream.gate.wait(60)
        try:
            for number in range(100):
                self.wfile.write(f"id: {number}\ndata: {{\"id\":{number}}}\n\n".encode())
                time.sleep(0.01)
            # The connection stays, as that of a stream does.
            self.connection.recv(1)
        except OSError:
            pass

    def log_message(self, *arguments):
        pass


def forwarders(page):
    """Two of them side by side, of which one is killed."""
    receiver = Receiver()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stream)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stage = Stage(page, {"WEBHOOK_URL": receiver.url, "STREAM_URL": f"http://127.0.0.1:{server.server_address[1]}/"})
    block = page.take("pusher-cli sse \"$STREAM_URL\"")
    first, _ = stage.start(f"exec {block}"), stage.start(block)
    wait("both read", lambda: Stream.readers >= 2)
    Stream.gate.set()
    wait("events come", lambda: len(receiver.received()) >= 50)
    first.kill()
    wait("all are delivered", lambda: kept_by(receiver.received(), lambda one: one["body"]) == 100)
    received = receiver.received()
    keys = kept_by(received, lambda one: one["key"])
    print(f"recipes: two forwarders of sse, one killed: sent 100, received {len(received)}, lost 0, kept {keys} by Idempotency-Key",
          flush=True)
    stage.close()
    receiver.process.end()
    server.shutdown()
    if keys != 100:
        raise Failure("two forwarders of sse: other keys than the page tells")


def kills(page):
    """The program is killed at random moments while it adds a flood to a file."""
    count = int(os.environ.get("KILLS", "20"))
    seed = int(os.environ.get("SEED", "20261122"))
    chance = random.Random(seed)
    stage = Stage(page)
    flood = stage.start(["pusher-cli", "trigger", "-"], stdin=subprocess.PIPE)

    def pour():
        """Numbered by their names, of a seeded size each, until the end."""
        sizes = random.Random(seed)
        try:
            for number in itertools.count():
                data = "x" * sizes.randrange(1, 4000)
                line = json.dumps({"event": f"n-{number}", "channel": "orders", "data": data})
                flood.popen.stdin.write(line.encode() + b"\n")
        except OSError:
            pass

    threading.Thread(target=pour, daemon=True).start()
    place = stage.folder / "events.jsonl"
    warned, began = 0, time.monotonic()
    for _ in range(count):
        before = place.stat().st_size if place.exists() else 0
        program = stage.start(["pusher-cli", "subscribe", "orders", "--output-file", str(place)])
        wait("events are written", lambda: place.exists() and place.stat().st_size > before + 1)
        time.sleep(chance.uniform(0, 0.1))
        program.kill()
        warned += sum("ends in the middle of a line" in line for line in program.told())
        program.end()
        if flood.is_over():
            raise Failure(f"the flood has ended: {flood.told()}")
    flood.end()
    # The next start ends a line that the last kill has torn.
    last = stage.start(["pusher-cli", "subscribe", "orders", "--output-file", str(place), "--timeout", "200ms"])
    wait("the last start has ended", last.is_over)
    warned += sum("ends in the middle of a line" in line for line in last.told())
    whole, torn = [], 0
    with open(place, "rb") as file:
        for line in file:
            try:
                whole.append(int(json.loads(line)["event"][2:]))
            except ValueError:
                torn += 1
    twice = len(whole) - len(set(whole))
    jumps = sum(after != one + 1 for one, after in zip(whole, whole[1:]))
    print(f"recipes: kill -9 at {count} random moments, seed {seed}: {len(whole)} lines, twice {twice}, torn {torn}, "
          f"torn lines told {warned}, breaks in the numbers {jumps}, in {time.monotonic() - began:.0f} s", flush=True)
    stage.close()
    if twice or torn != warned or whole != sorted(whole) or jumps > count:
        raise Failure("a kill left more than it should")
