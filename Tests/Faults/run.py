"""Runs several servers with clients through random faults, and says whether members, counts and events were right.

    run.py PROGRAM MINUTES SEED FOLDER

Prints a line for each fault and a table at the end. The status is 0 only if all rules held, which docs/endurance.md
names. BREAK=NAME breaks something on purpose, to see that it is found: sabotage.py has the names.
"""

import asyncio
import collections
import os
import pathlib
import random
import signal
import sys
import time

import deck
import faults
import rounds
import sabotage
import stage
import table


class Run:
    def __init__(self, program, minutes, seed, folder):
        self.minutes, self.random = minutes, random.Random(seed)
        self.broken = os.environ.get("BREAK", "")
        if self.broken not in ("", *sabotage.NAMES):
            raise SystemExit(f"faults: BREAK is one of {', '.join(sabotage.NAMES)}")
        # The clients draw from a source of their own, so that the faults are the same for the same seed.
        self.stage = stage.Stage(program, folder, random.Random(seed + 1), int(os.environ.get("CLIENTS", "48")))
        wanted = os.environ.get("KINDS", "")
        self.kinds = [kind for kind in faults.KINDS if not wanted or kind.__name__ in wanted.split()]
        if not self.kinds:
            raise SystemExit(f"faults: KINDS are among {' '.join(kind.__name__ for kind in faults.KINDS)}")
        self.table = table.Table()
        self.failures = collections.Counter()

    async def play(self):
        begun = time.monotonic()
        try:
            await self.stage.start(self.broken)
            await self.warm_up()
            cards = deck.Deck(self.random, self.kinds)
            while time.monotonic() - begun < self.minutes * 60:
                await self.round(cards)
            left = await self.stage.comparison.kept.left()
            print(f"\nfaults: {len(left)} keys of nodes that are gone are left in Redis")
        finally:
            # Also where it is ended early.
            print(f"\n{self.table.text([kind.name for kind in faults.KINDS])}\n", flush=True)
            await self.stage.close()
        return self.failures

    async def warm_up(self):
        """All are there, before the first fault."""
        first = rounds.Round(self.stage, [faults.Nothing(self.random, self.stage)], 1, 0, 0)
        seconds, wrong = await first.await_right(self.stage.servers, True, time.monotonic(), 20)
        if seconds is None:
            raise SystemExit("faults: not right before any fault:\n  " + "\n  ".join(wrong[:12]))
        await first.check_webhooks()

    async def round(self, cards):
        if self.kinds == faults.KINDS and self.random.random() < 0.15:
            chosen = deck.pair(self.random, self.stage, cards)
        else:
            chosen = [cards.draw()(self.random, self.stage)]
        # Now and then it is watched until the servers have compared what they know, eight seconds later.
        calm = self.random.choice([1.5, 3, 6, 12])
        # In half of the rounds clients come and go while the servers find back, which takes part of their ten seconds.
        unrest = self.random.choice([0, self.random.uniform(0.5, 2.5)])
        one = rounds.Round(self.stage, chosen, calm, self.random.uniform(0, 4), unrest)
        self.stage.crowd.moves.set()
        self.stage.crowd.publishes.set()
        second = self.stage.journal.second()
        outcome = await one.run()
        self.table.add(one.name, outcome)
        self.failures.update(text.partition(":")[0] for text in outcome.failures if not text.startswith(" "))
        self.tell(second, one, outcome)

    def tell(self, second, one, outcome):
        right = "never right" if outcome.right_after is None else f"right after {outcome.right_after:.1f} s"
        right += ", and not any more in calm time" if outcome.is_spoiled else ""
        gone = "" if outcome.gone_after is None else f", gone on the others after {outcome.gone_after:.1f} s"
        events = outcome.events
        print(f"{second:7.1f}  {one.words()}, {one.lasted:.1f} s: {right}{gone}; "
              f"events {events.taken} of {events.published} taken, {events.lost} lost, "
              f"{len(outcome.doubled)} doubled, {len(outcome.twice)} told twice, "
              f"{sum(map(abs, outcome.webhooks.values()))} webhooks wrong", flush=True)
        for text in outcome.failures:
            print(f"         FAILED {text}", flush=True)


def main(program, minutes, seed, folder):
    # What is started here ends with it, whatever ends it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"faults: {minutes:g} minutes, seed {seed}, logs in {folder}", flush=True)
    failures = asyncio.run(Run(pathlib.Path(program).resolve(), minutes, seed, folder).play())
    for kind, count in failures.most_common():
        print(f"faults: {count} times {kind}")
    print(f"faults: seed {seed}: {'rules were broken' if failures else 'all rules held'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
