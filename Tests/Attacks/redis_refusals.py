#!/usr/bin/env python3
"""Attacks `serve --redis` with a Redis that refuses: rights, memory, a replica, keys of the wrong type, numbers at their limits.

    redis_refusals.py --program PATH [--seed N] [--only WORD]

A server must tell on standard error, answer 503, fail /healthz, ask again, and be well within some seconds after Redis is.
Prints a line for each case. The status is 1 if any was wrong.
"""

import argparse
import concurrent.futures
import random
import sys
import time

from redis_stage import PASSWORD, Client, Redis, Server, wait

# Each command that the nodes and their scripts use.
COMMANDS = """eval publish hset hget hincrby hexists hlen hvals hgetall hdel del set get incr mget exists pttl pexpire
sadd smembers sunion srem zadd zrangebyscore zrem zcard time scard sismember subscribe unsubscribe evalsha""".split()
RIGHTS = ["~pusher-cli:*", "&pusher-cli:*", "+@all"]
NUMBERS = """0 -1 2147483648 4294967296 9007199254740992 9223372036854775807 -9223372036854775808 9223372036854775808
18446744073709551616 1e400 -1e400 nan inf 0x7fffffffffffffff 1.5""".split() + ["", "9" * 400]
LIMITS = {"events_per_second": 1000000, "bytes_per_second": 1000000000}
# How long a server may take to tell, and to be well again; the machine may be busy.
PATIENCE = 15


class Case:
    def __init__(self, name):
        self.name, self.wrong = name, []

    def need(self, what, holds):
        if not holds:
            self.wrong.append(what)

    def is_refused(self, server, *words, since=0):
        """The server tells, fails /healthz and answers 503."""
        self.need("API 503", wait(lambda: server.publish() == 503, PATIENCE))
        self.need("told", wait(lambda: server.told("redis", *words, since=since), PATIENCE))
        self.need("healthz 503", wait(lambda: server.health()[0] == 503, PATIENCE))

    def is_well(self, server):
        self.need("well again", wait(server.is_well, PATIENCE))
        if self.wrong:
            print(*server.lines, sep="\n", file=sys.stderr)


# MARK: At the start

def lacking(program, redis, number, rights, *words):
    """A server whose user lacks rights from the start, until it gets them."""
    case = Case(f"start without {' '.join(rights)}")
    user = f"user{number}"
    others = [right for right in RIGHTS if not any(right[0] == one[1] for one in rights)]
    removed = [one for one in rights if one.startswith("-") and one[1] not in "~&"]
    redis("ACL", "SETUSER", user, "reset", "on", ">" + PASSWORD, *(others + ["+@all"]), *removed)
    server = Server(program, redis, number, user, LIMITS)
    try:
        case.need("port file", server.port() is not None)
        case.is_refused(server, *words)
        redis("ACL", "SETUSER", user, *RIGHTS)
        case.is_well(server)
        case.need("told no password", not server.told(PASSWORD))
    finally:
        server.close()
    return case


def refused_at_start(program, redis, number, name, spoil, mend, *words):
    case = Case(f"start with {name}")
    spoil(f"pusher-cli:{number}:17:", number)
    server = Server(program, redis, number, limits=LIMITS)
    try:
        case.need("port file", server.port() is not None)
        case.is_refused(server, *words)
        mend(f"pusher-cli:{number}:17:", number)
        case.is_well(server)
    finally:
        server.close()
    return case


# MARK: Later

def refused_later(program, redis, number, name, spoil, mend, *words, touch=None, pause=0):
    """A server with a member whom it must still have afterwards, and a subscription made meanwhile."""
    case = Case(f"later {name}")
    server = Server(program, redis, number, "late" if "without" in name else "", LIMITS)
    try:
        case.need("well before", wait(server.is_well, PATIENCE))
        ann = Client(server)
        ann.subscribe("presence-room", "ann")
        ann.sign_in("ann")
        case.need("joined", wait(lambda: ann.has("subscription_succeeded"), PATIENCE))
        since = len(server.lines)
        spoil(server.prefix, number)
        ben = Client(server)
        if touch:
            touch(ben)
        case.is_refused(server, *words, since=since)
        time.sleep(pause)
        ben.subscribe("presence-room", "ben")
        mend(server.prefix, number)
        case.is_well(server)
        case.need("late subscription", wait(lambda: ben.has('"presence-room"') and ben.has("subscription_succeeded"), PATIENCE))
        case.need("both members", wait(lambda: sorted(members(redis, server, number)) == ["ann", "ben"], PATIENCE))
        ann.close()
        case.need("a departure", wait(lambda: ben.has("member_removed"), PATIENCE))
        ben.close()
    finally:
        server.close()
    return case


def members(redis, server, number):
    found = redis("HKEYS", server.prefix + "{presence-room}:members", database=number)
    return found if isinstance(found, list) else []


# MARK: Numbers

def number_at_limit(program, redis, database, place, number, server):
    """One number in one place of Redis, and a look whether the server is there afterwards."""
    case = Case(f"{number[:30] or 'nothing'} as {place}")
    prefix = server.prefix
    key = {
        "lease": "node:evil", "subscribers": "{news}:nodes", "users": "{presence-n}:users",
        "connections": "{presence-n}:connections", "order": "{presence-n}:order", "member": "{presence-n}:members",
        "departure": "departed", "quota": "quota:events", "sign-ins": "users", "node's users": "node:evil:users"}[place]
    if place in ("lease", "order"):
        redis("SET", prefix + key, number, database=database)
    elif place == "departure":
        redis("ZADD", prefix + key, number, b"4:news1:v0:", database=database)
    elif place == "quota":
        redis("HSET", prefix + key, "s", int(time.time()), "n", number, database=database)
    elif place == "member":
        value = f"{len(number)}:{number}2:{{}}0:"
        redis("HSET", prefix + key, "eve", value, database=database)
    else:
        field = {"subscribers": "evil", "connections": "evil|eve"}.get(place, "eve")
        redis("HSET", prefix + key, field, number, database=database)
    redis("SADD", prefix + "nodes", "evil", database=database)
    # A node that registers has the others look who is there.
    redis("PUBLISH", prefix + "users:bus", b"1:n4:evil", database=database)
    client = Client(server)
    client.subscribe("news")
    client.subscribe("presence-n", "ann")
    client.sign_in("ann")
    for path in ("/channels", "/channels/news", "/channels/presence-n/users"):
        server.call("GET", path + "?info=subscription_count" if path.endswith("news") else path)
    server.publish()
    client.close()
    case.need("alive", server.is_alive)
    redis("DEL", prefix + key, database=database)
    redis("SREM", prefix + "nodes", "evil", database=database)
    return case


def messages_at_limits(redis, database, server, rng):
    """Messages between servers, with numbers at their limits where a length or a count stands."""
    case = Case("numbers in messages")
    client = Client(server)
    client.subscribe("presence-m", "ann")
    wait(lambda: client.has("subscription_succeeded"), PATIENCE)
    nodes = redis("SMEMBERS", server.prefix + "nodes", database=database)
    buses = [server.prefix + "users:bus", server.prefix + "{presence-m}:bus"]
    buses += [f"{server.prefix}node:{node}:answers" for node in nodes]
    for _ in range(400):
        fields = [rng.choice("arwntjsm") or "j"] + [
            rng.choice(NUMBERS + ["presence-m", "ok", "full", "ann"]) for _ in range(rng.randrange(9))]
        text = "".join(f"{rng.choice([len(one)] * 9 + NUMBERS)}:{one}" for one in fields)
        redis("PUBLISH", rng.choice(buses), text, database=database)
    client.close()
    case.need("alive", server.is_alive)
    case.need("well again", wait(server.is_well, PATIENCE))
    return case


def numbers(program, redis, database, rng):
    """All numbers in all places, on one server; a new one where that has ended."""
    places = ["lease", "subscribers", "users", "connections", "order", "member", "departure", "quota", "sign-ins", "node's users"]
    server = None
    for place in places:
        for number in NUMBERS:
            if not (server and server.is_alive):
                server = Server(program, redis, database, limits=LIMITS)
                wait(server.is_well, PATIENCE)
            yield number_at_limit(program, redis, database, place, number, server)
        case = Case(f"well after numbers as {place}")
        case.need("well", wait(server.is_well, PATIENCE))
        yield case
    yield messages_at_limits(redis, database, server, rng)
    server.close()


# MARK: The whole

def cases(program, redis):
    """Functions, each of which gives one case; those of a list run beside each other."""
    def wrong_type(key):
        # All keys of a channel belong together: they go together, as docs/cluster.md has it.
        parts = ("nodes", "users", "members", "connections", "order", "event")
        whole = [f"{key.split(':')[0]}:{part}" for part in parts] if key.startswith("{") else [key]
        return (lambda prefix, database: (redis("DEL", prefix + key, database=database),
                                          redis("GEOADD", prefix + key, 1, 1, "x", database=database)),
                lambda prefix, database: redis("DEL", *(prefix + one for one in whole), database=database))

    beside, number = [], 1
    words = {"eval": ["eval"], "subscribe": ["SUBSCRIBE"], "unsubscribe": ["UNSUBSCRIBE"], "evalsha": ["evalsha"]}
    for command in COMMANDS:
        expected = words.get(command, ["+" + command])
        beside.append((lacking, number, ["-" + command], *expected))
        number += 1
    beside.append((lacking, number, ["-~"], "~pusher-cli:*"))
    beside.append((lacking, number + 1, ["-&"], "&pusher-cli:*"))
    number += 2
    for key in ("nodes", "nodes:enrolled", "users", "quota:events", "quota:bytes"):
        beside.append((refused_at_start, number, f"{key} of the wrong type", *wrong_type(key), "WRONGTYPE"))
        number += 1
    late = [
        ("{presence-room}:nodes", lambda client: client.subscribe("presence-room", "ben")),
        ("{presence-room}:users", lambda client: client.subscribe("presence-room", "ben")),
        ("{presence-room}:members", lambda client: client.subscribe("presence-room", "ben")),
        ("{presence-room}:connections", lambda client: client.subscribe("presence-room", "ben")),
        ("{presence-room}:order", lambda client: client.subscribe("presence-room", "ben")),
        ("{cache-x}:event", lambda client: client.subscribe("cache-x")),
        ("nodes", None), ("quota:events", None), ("users", lambda client: client.sign_in("ben"))]
    for key, touch in late:
        beside.append((refused_later, number, f"{key} of the wrong type", *wrong_type(key), "WRONGTYPE", touch))
        number += 1
    redis("ACL", "SETUSER", "late", "reset", "on", ">" + PASSWORD, *RIGHTS)
    take = lambda *rights: (lambda *_: redis("ACL", "SETUSER", "late", *rights), lambda *_: redis("ACL", "SETUSER", "late", *RIGHTS))
    alone = [
        ("without hincrby", *take("-hincrby"), "+hincrby"),
        ("without publish", *take("-publish"), "publish"),
        ("without set", *take("-set"), "+set"),
        ("without keys", *take("resetkeys", "~other"), "~pusher-cli:*"),
        ("without memory, longer than the lease", lambda *_: redis("CONFIG", "SET", "maxmemory", "1"),
         lambda *_: redis("CONFIG", "SET", "maxmemory", "0"), "OOM"),
        ("as a replica, longer than the lease", lambda *_: redis("REPLICAOF", "127.0.0.1", "1"),
         lambda *_: redis("REPLICAOF", "NO", "ONE"), "replica"),
    ]
    start = [
        ("without memory", lambda *_: redis("CONFIG", "SET", "maxmemory", "1"),
         lambda *_: redis("CONFIG", "SET", "maxmemory", "0"), "OOM"),
        ("a replica", lambda *_: redis("REPLICAOF", "127.0.0.1", "1"), lambda *_: redis("REPLICAOF", "NO", "ONE"), "replica")]
    return beside, alone, start


def run(program, redis, rng, only):
    beside, alone, start = cases(program, redis)
    rng.shuffle(beside)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        tasks = []
        for function, number, *rest in beside:
            if only in str(rest):
                if function is refused_later:
                    name, spoil, mend, word, touch = rest
                    tasks.append(pool.submit(function, program, redis, number, name, spoil, mend, word, touch=touch))
                else:
                    tasks.append(pool.submit(function, program, redis, number, *rest))
        for task in concurrent.futures.as_completed(tasks):
            yield task.result()
    for name, spoil, mend, *words in start:
        if only in name:
            yield refused_at_start(program, redis, 60, name, spoil, mend, *words)
    for name, spoil, mend, *words in alone:
        if only in name:
            yield refused_later(program, redis, 61, name, spoil, mend, *words, pause=8 if "longer" in name else 0)
    if only in "numbers":
        yield from numbers(program, redis, 62, rng)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    redis = Redis()
    count = wrong = 0
    try:
        for case in run(options.program, redis, random.Random(options.seed), options.only):
            count += 1
            wrong += bool(case.wrong)
            print("WRONG" if case.wrong else "ok   ", case.name, *(f"[no {what}]" for what in case.wrong), flush=True)
    finally:
        redis.close()
    print(f"redis-refusals: {count} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
