#!/usr/bin/env python3
"""Sends numbered events to a subscriber of Protocol V2 through random cuts and kills, and judges its lines.

    recovery.py PROGRAM [EVENTS [CUTS [KILLS [SEED [SERVERS REDIS_PORT]]]]]

`serve` has the events, a proxy cuts the connections, and `subscribe --state-file` is killed with SIGKILL.
Several servers share the Redis at this port. The subscriber then comes back on any of them, and each fifth
cut kills one.
Every number must be printed, or lie in a gap that is told. Only the first lines of a run after a kill may
repeat lines, and only lines of the last moment. The status is 1 if a rule breaks.
"""

import asyncio
import json
import os
import random
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy import Proxy

CHANNEL = "numbers"
# Saved within a second; a busy machine adds to it.
LAST_MOMENT = 1.5


async def until(is_so, what, limit=60.0):
    end = time.monotonic() + limit
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit(f"recovery: {what} did not happen in {limit} s")
        await asyncio.sleep(0.02)


class Stage:
    def __init__(self, program, folder, events, seed, servers, redis_port):
        self.program, self.folder, self.events = program, folder, events
        self.redis = ["--redis", f"redis://127.0.0.1:{redis_port}/0"] if servers > 1 else []
        self.random = random.Random(seed)
        self.lines = os.path.join(folder, "lines")
        self.errors = open(os.path.join(folder, "errors"), "ab")
        self.sent = 0
        self.kills = []
        self.servers, self.ports = [None] * servers, [0] * servers

    def path(self, name):
        return os.path.join(self.folder, name)

    async def start(self):
        for number in range(len(self.servers)):
            await self.serve(number)
        self.proxy = Proxy(self.ports[0])
        await self.proxy.start()
        self.sender = await asyncio.create_subprocess_exec(
            self.program, "trigger", "-q", "--local", "--port", str(self.ports[0]), "-",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=self.errors)

    async def serve(self, number):
        """Starts a server, again on its port if it had one."""
        name = self.path(f"port-{number}")
        if os.path.exists(name):
            os.unlink(name)
        self.servers[number] = await asyncio.create_subprocess_exec(
            self.program, "serve", "-q", "--listen", f"127.0.0.1:{self.ports[number]}", "--port-file", name,
            "--recovery-window", "10m", "--recovery-limit", "10000", *self.redis, stderr=self.errors)
        await until(lambda: os.path.exists(name) and open(name).read().strip(), "the start of serve")
        self.ports[number] = int(open(name).read())

    async def kill_server(self):
        """The first server stays, since it takes the events."""
        number = self.random.randrange(1, len(self.servers))
        self.servers[number].kill()
        await self.servers[number].wait()
        await asyncio.sleep(self.random.random() * 0.2)
        await self.serve(number)

    async def subscribe(self):
        with open(self.lines, "ab") as lines:
            self.client = await asyncio.create_subprocess_exec(
                self.program, "subscribe", "--local", "--service", "sockudo", "--port", str(self.proxy.port),
                "--state-file", self.path("state"), "--reconnect", "always", "--retry-delay", "10ms",
                "--retry-max-delay", "100ms", "-L", "-t", CHANNEL, stdout=lines, stderr=self.errors)

    async def kill(self):
        self.client.kill()
        await self.client.wait()
        self.kills.append(time.time())

    async def send(self, pause):
        while self.sent < self.events:
            for _ in range(self.random.randint(1, 20)):
                if self.sent < self.events:
                    self.sent += 1
                    event = {"event": "numbered", "channel": CHANNEL, "data": {"n": self.sent}}
                    self.sender.stdin.write(json.dumps(event).encode() + b"\n")
            await self.sender.stdin.drain()
            await asyncio.sleep(self.random.random() * pause)
        self.sender.stdin.close()

    async def disturb(self, acts, duration):
        for act in acts:
            await asyncio.sleep(self.random.random() * 2 * duration / len(acts))
            self.proxy.target = self.random.choice(self.ports)
            if act == "server":
                await self.kill_server()
            elif act == "cut":
                self.proxy.break_all()
            elif act == "away":
                self.proxy.cut()
                await asyncio.sleep(self.random.random() * 0.2)
                self.proxy.mend()
            else:
                await self.kill()
                await asyncio.sleep(self.random.random() * 0.1)
                await self.subscribe()

    def has_last(self):
        with open(self.lines, "rb") as lines:
            return b'{"n":%d}' % self.events in lines.read()


def judge(text, events, kills):
    """What is wrong with the lines, and their figures."""
    wrong, seen, gaps, doubled = [], {}, 0, 0
    last, since_kill, is_gap = 0, 0, False
    for line in text.splitlines():
        try:
            line = json.loads(line)
        except ValueError:
            # A kill may tear a line; the next run completes and repeats it.
            continue
        at = line["received_at"]
        if line["event"] == "pusher-cli:gap":
            gaps, is_gap = gaps + 1, True
        if line["event"] != "numbered":
            continue
        number = line["data"]["n"]
        if line["serial"] < 1 or not line["id"]:
            wrong.append(f"{number} has no serial or id")
        if number in seen:
            doubled += 1
            before = [kill for kill in kills if seen[number] <= kill]
            if not before or before[0] - seen[number] > LAST_MOMENT:
                wrong.append(f"{number} came twice, not in the last moment before a kill")
        elif number > last + 1 and not is_gap:
            wrong.append(f"{number} came after {last}, and no gap was told")
        seen[number] = moment(at)
        if number > last:
            last, is_gap = number, False
    missing = [number for number in range(1, events + 1) if number not in seen]
    if missing and not gaps:
        wrong.append(f"{len(missing)} numbers are missing, the first is {missing[0]}")
    return wrong, f"{len(seen)} numbers, {len(missing)} in {gaps} gaps, {doubled} twice after a kill"


def moment(text):
    """Seconds since 1970 of a time such as 2026-01-02T03:04:05.678Z."""
    from datetime import datetime, timezone
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc).timestamp()


async def run(program, events, cuts, kills, seed, servers, redis_port):
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(program, folder, events, seed, servers, redis_port)
        await stage.start()
        try:
            await stage.subscribe()
            await until(lambda: os.path.exists(stage.path("state")) and "position" in open(stage.path("state")).read(),
                        "the first position")
            deaths = cuts // 5 if servers > 1 else 0
            acts = [stage.random.choice(["cut", "away"]) for _ in range(cuts - deaths)]
            acts += ["server"] * deaths + ["kill"] * kills
            stage.random.shuffle(acts)
            duration = len(acts) * 0.15
            await asyncio.gather(stage.send(duration * 20 / events), stage.disturb(acts, duration))
            await until(stage.has_last, "the last number")
            stage.client.terminate()
            await stage.client.wait()
        finally:
            for process in (stage.client, stage.sender, *stage.servers):
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        wrong, figures = judge(open(stage.lines, errors="replace").read(), events, stage.kills)
        print(f"recovery: seed {seed}, {servers} servers, {events} events, {cuts} cuts, {kills} kills: {figures}")
        for problem in wrong[:20]:
            print(f"recovery: {problem}")
        if wrong:
            errors = open(stage.path("errors"), errors="replace").read().splitlines()
            print("\n".join(errors[-20:]))
        return 1 if wrong else 0


def main():
    words = sys.argv[1:]
    if not words:
        raise SystemExit(__doc__)
    numbers = words[1:] + ["10000", "200", "50", "55", "1", "0"][len(words) - 1:]
    raise SystemExit(asyncio.run(run(words[0], *[int(number) for number in numbers])))


if __name__ == "__main__":
    main()
