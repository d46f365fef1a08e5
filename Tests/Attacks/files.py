"""Puts files of every kind in the place of every file that an option names, at the start and while the program runs.

The program must answer or end within seconds, in plain lines, with little memory, and SIGTERM must end it at once.
"""

import argparse
import concurrent.futures
import http.server
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

PATIENCE = 12.0
END = 5.0
LARGEST = 400 << 20
STATUSES = {0, 1, 2, 3, 4, 5, 6, 7, 124, -signal.SIGTERM}
NOBODY = 65534
KINDS = ["good", "pipe", "slow pipe", "zero", "full", "null", "directory", "sparse", "unreadable", "growing",
         "missing", "dangling", "socket", "loop"]


class Wrong(Exception):
    pass


class Place:
    """A path where a file of any kind can be put."""

    def __init__(self, folder, number, text, rng):
        self.path = str(folder / f"f{number}")
        self.text, self.rng = text, rng
        self.stopped = threading.Event()
        self.held = None

    def put(self, kind):
        self.clear()
        path = self.path
        match kind:
            case "good" | "unreadable": self.write(path)
            case "pipe": os.mkfifo(path, 0o666)
            case "slow pipe":
                os.mkfifo(path, 0o666)
                threading.Thread(target=self.drip, daemon=True).start()
            case "zero" | "full" | "null": os.symlink("/dev/" + kind, path)
            case "directory": os.mkdir(path)
            case "sparse":
                self.write(path)
                os.truncate(path, 8 << 30)
            case "growing":
                self.write(path)
                threading.Thread(target=self.grow, daemon=True).start()
            case "dangling": os.symlink(path + "-none", path)
            case "loop": os.symlink(path, path)
            case "socket":
                self.held = socket.socket(socket.AF_UNIX)
                self.held.bind(path)
        if kind == "unreadable":
            os.chmod(path, 0o000)

    def write(self, path):
        with open(path, "w") as file:
            file.write(self.text)
        os.chmod(path, 0o600)

    def drip(self):
        """Writes the text in three pieces to whoever reads, within a second and a half."""
        while not self.stopped.is_set():
            try:
                pipe = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
                break
            except OSError:
                time.sleep(0.02)
        else:
            return
        data = self.text.encode()
        cuts = sorted(self.rng.randrange(len(data) + 1) for _ in range(2))
        try:
            for begin, end in zip([0] + cuts, cuts + [len(data)]):
                time.sleep(0.4)
                os.write(pipe, data[begin:end])
        except OSError:
            pass
        os.close(pipe)

    def grow(self):
        try:
            with open(self.path, "a") as file:
                while not self.stopped.is_set() and file.tell() < 64 << 20:
                    file.write("# more and more\n" * 4096)
                    time.sleep(0.005)
        except OSError:
            pass

    def clear(self):
        self.stopped.set()
        self.stopped = threading.Event()
        if self.held:
            self.held.close()
            self.held = None
        if os.path.isdir(self.path) and not os.path.islink(self.path):
            shutil.rmtree(self.path)
        elif os.path.lexists(self.path):
            os.unlink(self.path)


class Run:
    """One run of the program: what it says, its memory, its end."""

    def __init__(self, stage, words, environment, as_nobody=False):
        self.words = words
        self.errors = tempfile.TemporaryFile(dir=stage.folder)
        self.output = tempfile.TemporaryFile(dir=stage.folder)
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if as_nobody else {}
        self.process = subprocess.Popen(
            [stage.program] + words, stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.errors,
            cwd=stage.folder, env={"PATH": os.environ["PATH"], "HOME": str(stage.folder)} | environment, **user)
        self.status, self.memory = None, 0

    def lines(self, file=None):
        file = file or self.errors
        return os.pread(file.fileno(), 1 << 20, 0).decode(errors="replace").splitlines()

    def poll(self):
        if self.status is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.status, self.memory = os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10
                self.process.returncode = self.status
        return self.status

    def until(self, what, condition, patience=PATIENCE):
        deadline = time.monotonic() + patience
        while not condition():
            if time.monotonic() > deadline:
                raise Wrong(f"{what} did not come within {patience:.0f} s")
            time.sleep(0.01)

    def terminate(self):
        """Ends the run, and judges all that it did."""
        if self.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.until("the end after SIGTERM", lambda: self.poll() is not None, END)
        if self.status not in STATUSES:
            raise Wrong(f"it ended with {self.status}")
        if self.memory > LARGEST:
            raise Wrong(f"it took {self.memory >> 20} MiB")
        lines = self.lines()
        for line in lines:
            if not line.startswith(("pusher-cli: ", "Try '")):
                raise Wrong(f"it said {line[:200]!r}")
        if self.status > 0 and not lines:
            raise Wrong(f"it ended with {self.status} without a word")

    def kill(self):
        if self.poll() is None:
            self.process.kill()
            self.until("the end", lambda: self.poll() is not None)


class Stream(http.server.BaseHTTPRequestHandler):
    """An event stream that ends after each event, and a receiver of events."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            self.wfile.write(b"retry: 20\nid: 1\ndata: 1\n\n")
        except OSError:
            pass

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def log_message(self, *_):
        pass


class Stage:
    """What the runs need: a server of the program, an event stream, certificates."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.app = {"PUSHER_APP_KEY": "k", "PUSHER_APP_ID": "17", "PUSHER_APP_SECRET": "s"}
        self.stream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stream)
        threading.Thread(target=self.stream.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.stream.server_port}/"
        ports = folder / "port"
        self.server = Run(self, ["serve", "--listen", "127.0.0.1:0", "--port-file", str(ports)], self.app)
        self.server.until("the server", ports.exists)
        self.port = ports.read_text().strip()
        self.address = ["--host", "127.0.0.1", "--port", self.port, "--scheme", "http", "--key", "k"]
        self.endpoint = ["--auth-endpoint", f"http://127.0.0.1:{self.port}/pusher/auth"]
        self.environment_file = (
            f"PUSHER_APP_KEY=k\nPUSHER_APP_ID=17\nPUSHER_APP_SECRET=s\nPUSHER_HOST=127.0.0.1\n"
            f"PUSHER_PORT={self.port}\nPUSHER_SCHEME=http\n")
        self.certificate, self.key = self.certificates()

    def certificates(self):
        if not shutil.which("openssl"):
            return None, None
        names = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
             "2", "-subj", "/CN=localhost", "-out", names[0], "-keyout", names[1]],
            check=True, capture_output=True)
        for name in names:
            name.chmod(0o644)
        return names

    def uses(self):
        """The uses of each option that names a file: words with FILE in them, and what a good file holds."""
        subscribe = ["subscribe", *self.address, "-W", "3s"]
        sse = ["sse", self.url, "-n", "1", "-W", "3s"]
        serve = ["serve", "--listen", "127.0.0.1:0"]
        field, event = "X-Token: 1\n", '{"a":1}'
        uses = [
            ("--secret-file", [*subscribe, "private-a", "--secret-file", "FILE"], "s\n"),
            ("--secret-file", [*serve, "--secret-file", "FILE"], "s\n"),
            ("--env-file", ["subscribe", "a", "-W", "3s", "--env-file", "FILE"], self.environment_file),
            ("--config", [*subscribe, "a", "--config", "FILE"], "[subscribe]\nstats = 1h\n"),
            ("--header", [*subscribe, "a", "--header", "@FILE"], field),
            ("--header", [*sse, "--header", "@FILE"], field),
            ("--header", ["channels", *self.address, "--header", "@FILE"], field),
            ("--auth-header", [*subscribe, "private-a", *self.endpoint, "--auth-header", "@FILE"], field),
            ("--user-info", [*subscribe, "presence-a", "--user-id", "1", "--user-info", "@FILE"], event),
            ("--encryption-key-file", [*subscribe, "private-encrypted-a", "--encryption-key-file", "FILE"],
             "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n"),
            ("--data", ["trigger", *self.address, "-c", "a", "-e", "b", "--data", "@FILE"], event),
            ("--data", [*sse, "--data", "@FILE"], event),
            ("--data", ["sign", "webhook", "--key", "k", "--data", "@FILE"], event),
            ("--forward", [*sse, "--forward", "@FILE"], self.url + "\n"),
            ("--forward-header", [*sse, "--forward", self.url, "--forward-header", "@FILE"], field),
            ("--forward-dead", [*sse, "--forward", self.url, "--forward-timeout", "1s", "--forward-dead", "FILE"], ""),
            ("the URL", ["sse", "@FILE", "-n", "1", "-W", "3s"], self.url + "\n"),
            ("--state-file", [*sse, "--state-file", "FILE"], ""),
            ("--output-file", [*sse, "--output-file", "FILE"], ""),
            ("--record", [*sse, "--record", "FILE"], ""),
            ("--trace", [*subscribe, "a", "--trace", "FILE"], ""),
            ("--port-file", [*serve, "--port-file", "FILE"], ""),
            ("--apps", [*serve, "--apps", "FILE"], '[{"id":"1","key":"k","secret":"s"}]'),
            ("--record", [*serve, "--record", "FILE"], ""),
            ("--console-token-file", [*serve, "--console", "--console-token-file", "FILE"], "0123456789abcdef" * 2 + "\n"),
            ("--open-recording", [*serve, "--console", "--open-recording", "FILE"], ""),
        ]
        if self.certificate:
            cert, key = self.certificate.read_text(), self.key.read_text()
            secure = [*subscribe, "a", "--scheme", "https"]
            uses += [
                ("--cacert", [*secure, "--cacert", "FILE"], cert),
                ("--tls-cert", [*secure, "--tls-cert", "FILE", "--tls-key", str(self.key)], cert),
                ("--tls-key", [*secure, "--tls-cert", str(self.certificate), "--tls-key", "FILE"], key),
                ("--tls-cert", [*serve, "--tls-cert", "FILE", "--tls-key", str(self.key)], cert),
                ("--tls-key", [*serve, "--tls-cert", str(self.certificate), "--tls-key", "FILE"], key),
            ]
        return uses

    def renewals(self):
        """The files that a run reads again, or that are looked at then; each run goes on whatever stands there."""
        subscribe = ["subscribe", *self.address, "private-a", "-L"]
        renewals = [
            ("--output-file", [*subscribe, "--output-file", "FILE"], ""),
            ("--apps", ["serve", "--listen", "127.0.0.1:0", "--apps", "FILE"],
             '[{"id":"1","key":"k","secret":"s"}]'),
        ]
        if self.certificate:
            serve = ["serve", "--listen", "127.0.0.1:0"]
            cert, key = self.certificate.read_text(), self.key.read_text()
            renewals += [
                ("--tls-cert", [*serve, "--tls-cert", "FILE", "--tls-key", str(self.key)], cert),
                ("--tls-key", [*serve, "--tls-cert", str(self.certificate), "--tls-key", "FILE"], key),
            ]
        return renewals


def options_with_files(program):
    """The options whose help names a file."""
    found = set()
    for command in ["subscribe", "sse", "serve", "trigger", "channels", "users", "terminate", "auth", "sign",
                    "verify", "webhook", "check"]:
        text = subprocess.run([program, command, "--help-all"], capture_output=True, text=True).stdout
        for entry in re.split(r"\n(?=  +-)", text):
            name = re.search(r"--[a-z0-9-]+", entry)
            if name and re.search(r"\bFILE\b", entry):
                found.add(name.group())
    return found


def words(template, path):
    return [word.replace("FILE", path) for word in template]


def environment(stage, template):
    """The variables of a run, without those that its file has to bring."""
    if "--secret-file" in template:
        return {"PUSHER_APP_ID": "17", "PUSHER_APP_KEY": "k"}
    return {} if "--env-file" in template else stage.app


def at_start(stage, place, template, kind):
    place.put(kind)
    as_nobody = kind == "unreadable" and os.geteuid() == 0
    run = Run(stage, words(template, place.path), environment(stage, template), as_nobody)
    try:
        # A run without a limit of its own has begun with its first word.
        stays = template[0] in ("serve", "webhook") or kind == "pipe"
        run.until("a word or the end", lambda: run.poll() is not None or stays and run.lines())
        run.terminate()
        if kind == "good" and run.status not in (0, 4, 124, -signal.SIGTERM):
            raise Wrong(f"a good file ended it with {run.status}: {run.lines()}")
    except Wrong as wrong:
        raise Wrong(f"{wrong}; it said {run.lines()[:3]}") from None
    finally:
        run.kill()
        place.clear()


def at_hangup(stage, place, template, kind):
    place.put("good")
    run = Run(stage, words(template, place.path), environment(stage, template))
    output = place.path if "--output-file" in template else None
    is_server = template[0] == "serve"
    try:
        if is_server:
            run.until("the server", lambda: any("listening" in line for line in run.lines()))
        else:
            def is_joined():
                text = pathlib.Path(output).read_text() if output else "\n".join(run.lines(run.output))
                return "subscription_succeeded" in text
            run.until("the subscription", is_joined)
        count = len(run.lines())
        place.put(kind)
        run.process.send_signal(signal.SIGHUP)
        run.until("a word after SIGHUP", lambda: len(run.lines()) > count or run.poll() is not None or output)
        if not output and run.poll() is not None:
            raise Wrong(f"SIGHUP ended it with {run.status}")
        run.terminate()
    except Wrong as wrong:
        raise Wrong(f"{wrong}; it said {run.lines()[:4]}") from None
    finally:
        run.kill()
        place.clear()


def between_connections(stage, place, template, kind):
    """The fields of a stream whose file changes while it is asked for again and again."""
    place.put("good")
    run = Run(stage, words(template, place.path), {})
    try:
        run.until("an event", lambda: run.lines(run.output))
        place.put(kind)
        count, said = len(run.lines(run.output)), len(run.lines())
        run.until("a word or more events", lambda: len(run.lines()) > said or len(run.lines(run.output)) > count + 3)
        run.terminate()
    except Wrong as wrong:
        raise Wrong(f"{wrong}; it said {run.lines()[:4]}") from None
    finally:
        run.kill()
        place.clear()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        stage = Stage(program, folder)
        try:
            wrong, count = attack(stage, rng, program)
        finally:
            stage.server.kill()
            stage.stream.shutdown()
    print(f"files: {count} cases, {wrong} wrong")
    raise SystemExit(1 if wrong else 0)


def attack(stage, rng, program):
    cases = [("start", at_start, use, kind) for use in stage.uses() for kind in KINDS]
    again = [kind for kind in KINDS if kind != "unreadable" or os.geteuid() != 0]
    cases += [("SIGHUP", at_hangup, use, kind) for use in stage.renewals() for kind in again]
    stream = ("--header", ["sse", stage.url, "-L", "--header", "@FILE"], "X-Token: 1\n")
    cases += [("reconnect", between_connections, stream, kind) for kind in again]
    rng.shuffle(cases)
    wrong = 0
    unknown = options_with_files(program) - {option for option, *_ in stage.uses()}
    for option in sorted(unknown):
        if stage.certificate or option not in ("--cacert", "--tls-cert", "--tls-key"):
            print(f"wrong: {option} names a file, and no case has it")
            wrong += 1

    def judge(number, case):
        moment, body, (option, template, text), kind = case
        place = Place(stage.folder, number, text, random.Random(f"{option} {number}"))
        try:
            body(stage, place, template, kind)
            return f"ok: {moment}, {template[0]} {option}, {kind}", 0
        except Wrong as error:
            return f"wrong: {moment}, {template[0]} {option}, {kind}: {error}", 1

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for line, is_wrong in pool.map(judge, range(len(cases)), cases):
            print(line, flush=True)
            wrong += is_wrong
    return wrong, len(cases)


if __name__ == "__main__":
    main()
