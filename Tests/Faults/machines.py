"""The programs of a run: one Redis, and the servers, which are killed, stopped and started again."""

import asyncio
import os
import pathlib
import re
import signal
import subprocess
import time


class Journal:
    """What each program says, a file for each, each line with the second of the run."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.begun = time.monotonic()
        self.files = {}

    def second(self):
        return time.monotonic() - self.begun

    def write(self, name, text):
        if name not in self.files:
            self.files[name] = open(self.folder / f"{name}.log", "a", encoding="utf-8", buffering=1)
        self.files[name].write(f"{self.second():9.3f} {text}\n")

    async def copy(self, name, stream):
        while line := await stream.readline():
            self.write(name, line.decode(errors="replace").rstrip())


class Program:
    """A program that can be started again, and that says what it does into the journal."""

    def __init__(self, name, journal):
        self.name, self.journal = name, journal
        self.process = None
        self.reader = None

    def words(self):
        raise NotImplementedError

    def environment(self):
        return dict(os.environ)

    async def start(self):
        self.journal.write(self.name, "--- starts")
        self.process = await asyncio.create_subprocess_exec(
            *self.words(), env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)
        self.reader = asyncio.create_task(self.journal.copy(self.name, self.process.stdout))
        await self.await_ready()

    async def await_ready(self, limit=15.0):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                return writer.close()
            except OSError:
                await asyncio.sleep(0.05)
        raise RuntimeError(f"{self.name} does not listen")

    @property
    def is_running(self):
        return self.process is not None and self.process.returncode is None

    def send(self, number):
        if self.is_running:
            self.journal.write(self.name, f"--- gets {signal.Signals(number).name}")
            self.process.send_signal(number)

    async def end(self, number=signal.SIGKILL, limit=15.0):
        """Ends it with a signal, and kills it where that does not do; answers whether it went by itself."""
        if not self.is_running:
            return True
        self.send(number)
        try:
            await asyncio.wait_for(self.process.wait(), limit)
        except asyncio.TimeoutError:
            self.send(signal.SIGKILL)
            await self.process.wait()
            return False
        self.journal.write(self.name, f"--- has ended with {self.process.returncode}")
        return True


class Redis(Program):
    def __init__(self, port, journal):
        super().__init__("redis", journal)
        self.port = port
        version = re.search(r"v=(\d+)", subprocess.run(
            ["redis-server", "--version"], capture_output=True, text=True, check=True).stdout)
        # Before 7 there was no such setting, and DEBUG was allowed.
        self.extra = ["--enable-debug-command", "yes"] if int(version[1]) >= 7 else []

    def words(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                "--dir", str(self.journal.folder), *self.extra]

    async def command(self, *words, quietly=False):
        if not quietly:
            self.journal.write(self.name, f"--- is told {' '.join(words)}")
        process = await asyncio.create_subprocess_exec(
            "redis-cli", "-p", str(self.port), *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        answer, _ = await process.communicate()
        return answer.decode().strip()


class Server(Program):
    """One `pusher-cli serve`, which meets the others through a proxy of its own."""

    def __init__(self, number, program, port, proxy, apps, journal, database=0):
        super().__init__(f"server-{number}", journal)
        self.number, self.program, self.port, self.proxy = number, program, port, proxy
        self.apps, self.database = apps, database

    def words(self):
        return [str(self.program), "serve", "--config", "/dev/null", "--listen", f"127.0.0.1:{self.port}",
                "--apps", str(self.apps), "--webhook-delay", "1ms", "--drain", "2s", "--verbose"]

    def environment(self):
        foreign = ("PUSHER_", "REVERB_", "SOKETI_")
        mine = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return mine | {"PUSHER_CLI_REDIS_URL": f"redis://127.0.0.1:{self.proxy.port}/{self.database}"}
