"""What the runs of `scripts/check.sh recipes` share: the blocks of the page, processes that end with us, events, and a count."""

import atexit
import collections
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADING = "## The engines that events go to\n"

# What a sender may put into an event, one text each. An empty one, and one of 60 KB, are among them.
HOSTILE = [
    "it's",
    'he said "no"',
    "back\\slash \\n \\.",
    "two\nlines\r\n\tand a tabulator",
    "é 日本 🎉",
    # An empty text: the server played here refuses an event without data.
    '""',
    "\u0000 is NUL",
    "x" * 60_000,
    "$(touch pwned) `touch pwned`",
    "'); DROP TABLE events; --",
    "\u0001\u0002",
    "%s %c %j $1 ${HOME}",
]


class Failure(Exception):
    """A recipe that does not do what its page says."""


def wait(what, condition, limit=40, pause=0.03):
    """What `condition` answers, once it is true; `pause` is long where asking costs much."""
    end = time.monotonic() + limit
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise Failure(f"not within {limit} s: {what}")
        time.sleep(pause)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def answers(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", int(port))) == 0


class Page:
    """The blocks of the part about engines, each taken by a text that no other has."""

    def __init__(self):
        text = (ROOT / "docs/recipes.md").read_text()
        part = text.split(HEADING)[1].split("\n## ")[0]
        pieces = part.split("\n```")[1::2]
        self.blocks = [piece.split("\n", 1)[1] + "\n" for piece in pieces]
        self.used = set()

    def take(self, text):
        """The script with this text, which is typed and not a file."""
        found = [one for one in self.blocks if text in one and not self.name(one)]
        if len(found) != 1:
            raise Failure(f"{len(found)} blocks of the page have: {text}")
        self.used.add(found[0])
        return found[0]

    @staticmethod
    def name(block):
        """What the first or second line calls a file, `# NAME: what it does`."""
        for line in block.split("\n")[:2]:
            words = line.split(" ", 2)
            if words[0] in ("#", "--") and len(words) > 1 and words[1].endswith(":"):
                return words[1][:-1]
        return None

    def install(self, folder, *names):
        """Puts files of the page into a folder."""
        files = {self.name(block): block for block in self.blocks}
        for name in names:
            self.used.add(files[name])
            place = folder / name
            place.write_text(files[name])
            place.chmod(0o755)

    def unused(self):
        return [block for block in self.blocks if block not in self.used]


class Process:
    """A program and what it starts, in a process group of its own; what it says on standard error is kept."""

    def __init__(self, words, folder, environment, ending=signal.SIGTERM, **rest):
        self.folder = pathlib.Path(folder)
        self.said = pathlib.Path(tempfile.mkstemp(dir=Stage.base, suffix=".err")[1])
        self.ending = ending
        with open(self.said, "wb") as error:
            rest.setdefault("stdin", subprocess.DEVNULL)
            rest.setdefault("stdout", subprocess.DEVNULL)
            rest.setdefault("stderr", error)
            self.popen = subprocess.Popen(
                words, cwd=folder, env=environment, start_new_session=True, **rest)
        Stage.running.append(self)

    @property
    def pid(self):
        return self.popen.pid

    def told(self):
        """What was said so far, line by line."""
        return [line for line in self.said.read_text(errors="replace").split("\n") if line]

    def is_over(self):
        return self.popen.poll() is not None

    def signal(self, number, group=False):
        try:
            os.killpg(self.pid, number) if group else os.kill(self.pid, number)
        except ProcessLookupError:
            pass

    def kill(self):
        self.signal(signal.SIGKILL)
        self.popen.wait()

    def end(self):
        """Ends the whole group; what does not go is killed."""
        if not self.is_over():
            self.signal(self.ending, group=True)
            self.signal(signal.SIGCONT, group=True)
            try:
                self.popen.wait(5)
            except subprocess.TimeoutExpired:
                pass
        self.signal(signal.SIGKILL, group=True)
        self.popen.wait()
        if self in Stage.running:
            Stage.running.remove(self)


class Stage:
    """A folder with a server of ours, in which blocks of the page run."""

    base = pathlib.Path(tempfile.mkdtemp(prefix="engines-"))
    running = []
    mounts = []
    program = None
    python = None

    def __init__(self, page, environment=None):
        self.page = page
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.base))
        self.ours = []
        self.environment = {
            "PATH": f"{self.base}/bin:{self.python.parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.base), "LANG": "C.UTF-8", "TMPDIR": str(self.base), **(environment or {})}
        self.sent = 0
        self.serve()
        self.reference = self.folder / "reference.jsonl"
        self.start(["pusher-cli", "subscribe", "orders", "--output-file", str(self.reference)])
        self.await_subscribers(1)

    @classmethod
    def set_up(cls, program, python):
        cls.program, cls.python = pathlib.Path(program).resolve(), pathlib.Path(python)
        (cls.base / "bin").mkdir()
        (cls.base / "bin/pusher-cli").symlink_to(cls.program)
        cls.base.chmod(0o755)
        atexit.register(cls.tear_down)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: sys.exit(128 + number))

    @classmethod
    def tear_down(cls):
        for one in reversed(list(cls.running)):
            one.end()
        for place in cls.mounts:
            subprocess.run(["umount", place], check=False)
        shutil.rmtree(cls.base, ignore_errors=True)

    def serve(self):
        place = self.folder / "port"
        self.start(["pusher-cli", "serve", "--dialect", "soketi", "--listen", "127.0.0.1:0",
                    "--port-file", str(place), "--key", "local", "--app-id", "1"])
        wait("the server listens", lambda: place.exists() and place.read_text().strip())
        self.environment |= {
            "PUSHER_HOST": "127.0.0.1", "PUSHER_PORT": place.read_text().strip(), "PUSHER_SCHEME": "http",
            "PUSHER_APP_KEY": "local", "PUSHER_APP_ID": "1", "PUSHER_APP_SECRET": "local"}

    def start(self, words, **rest):
        if isinstance(words, str):
            words = ["sh", "-c", words]
        environment = dict(self.environment)
        environment.setdefault("PUSHER_APP_SECRET", "local")
        words = rest.pop("inside", []) + words
        one = Process(words, self.folder, environment, **rest)
        self.ours.append(one)
        return one

    def run(self, words, **rest):
        return subprocess.run(words, cwd=self.folder, env=self.environment, timeout=30,
                              capture_output=True, check=False, **rest)

    def subscribers(self):
        answer = self.run(["pusher-cli", "channels", "orders", "--info", "subscription_count"])
        found = json.loads(answer.stdout or b"{}")
        return found.get("subscription_count", 0)

    def await_subscribers(self, count):
        wait(f"{count} are subscribed", lambda: self.subscribers() >= count)

    def publish(self, count, rate, hostile=True):
        """Begins to send so many events; the first ones have the texts of HOSTILE."""
        lines = []
        for number in range(self.sent, self.sent + count):
            data = {"id": number, "text": f"it's \"{number}\" \\"}
            if hostile and number < len(HOSTILE):
                data = HOSTILE[number]
            lines.append(json.dumps({"event": f"n-{number}", "channel": "orders", "data": data}))
        self.sent += count
        source = self.folder / f"publish-{self.sent}.jsonl"
        source.write_text("\n".join(lines) + "\n")
        with open(source, "rb") as text:
            return self.start(
                ["pusher-cli", "trigger", "--batch", "1", "--rate", str(rate), "-"], stdin=text)

    def heard(self):
        """The lines that a subscriber without a fault has, whole ones alone."""
        text = self.reference.read_bytes() if self.reference.exists() else b""
        return text.split(b"\n")[:-1]

    def await_published(self, publisher, limit=60):
        wait("all are published", publisher.is_over, limit)
        if publisher.popen.returncode != 0:
            raise Failure(f"publishing: {publisher.told()}")
        wait("all are heard", lambda: len(self.heard()) >= self.sent)

    def count(self, stored):
        """Compares what an engine holds with what was sent, byte for byte."""
        return Count(self.heard(), stored)

    def close(self):
        for one in reversed(self.ours):
            one.end()
        self.ours = []
        if (self.folder / "pwned").exists():
            raise Failure("a sender's text was run as a command")


class Count:
    """What became of the events: how many were sent, stored, lost, doubled, and lines that nobody sent."""

    def __init__(self, sent, stored):
        times = collections.Counter(stored)
        self.sent = len(sent)
        self.missing = [index for index, line in enumerate(sent) if line not in times]
        self.lost = len(self.missing)
        self.stored = self.sent - self.lost
        self.doubled = sum(times[line] - 1 for line in set(sent) if line in times)
        self.other = [line for line in times if line not in set(sent)]
        self.in_order = [line for line in dict.fromkeys(stored) if line not in set(self.other)] == [
            line for line in sent if line in times]

    def __str__(self):
        return f"sent {self.sent}, stored {self.stored}, lost {self.lost}, doubled {self.doubled}"

    def expect(self, **wanted):
        """Fails unless each figure is the one, or in the range, that the page tells."""
        if self.other:
            raise Failure(f"{self}, and a line that nobody sent: {self.other[0][:200]!r}")
        for name, value in wanted.items():
            is_right = getattr(self, name) in value if isinstance(value, range) else getattr(self, name) == value
            if not is_right:
                raise Failure(f"{self}; {name} should be {value}")


def unprivileged(name):
    """The words before a command of this user, and a folder of its own."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=Stage.base))
    if os.geteuid() != 0:
        return [], folder
    user = pwd.getpwnam(name)
    os.chown(folder, user.pw_uid, user.pw_gid)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"], folder
