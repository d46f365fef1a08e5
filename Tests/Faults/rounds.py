"""One round of a run: a fault, the wait until all is right, a calm time, and what became of the events."""

import asyncio
import time

import model

LIMIT = 10.0
# How long it is watched further, so that the table can say how late it was.
PATIENCE = 20.0
PAUSE = 0.15


class Outcome:
    def __init__(self):
        self.right_after = None
        self.gone_after = None
        self.is_late = False
        # Whether it was right, and is no more.
        self.is_spoiled = False
        self.events = None
        self.doubled, self.twice = [], []
        self.webhooks = {}
        self.failures = []


class Round:
    def __init__(self, stage, faults, calm, shift, unrest):
        """`calm`, `shift`, `unrest`: the seconds of the calm time, from one fault's begin to the other's, and for which
        the clients move on after the end of the last one."""
        self.stage, self.faults, self.calm, self.shift, self.unrest = stage, faults, calm, shift, unrest
        self.outcome = Outcome()

    @property
    def name(self):
        return self.faults[0].name if len(self.faults) == 1 else "two of these at once"

    def words(self):
        return " + ".join(f"{one.name}, on {one.on()}" for one in self.faults)

    async def run(self):
        """Plays it; answers the outcome."""
        crowd, outcome = self.stage.crowd, self.outcome
        self.begun = time.monotonic()
        self.stage.journal.write("runner", f"fault: {self.words()}")
        if len(self.faults) == 1 and self.faults[0].isolates:
            await self.isolate(self.faults[0])
        else:
            await asyncio.gather(*(self.delayed(one, index * self.shift) for index, one in enumerate(self.faults)))
        self.lasted = time.monotonic() - self.begun
        lifted = time.monotonic()
        self.stage.journal.write("runner", "lifted")
        await asyncio.sleep(self.unrest)
        crowd.moves.clear()
        outcome.right_after, wrong = await self.await_right(self.stage.servers, True, lifted, PATIENCE)
        right_at = time.monotonic()
        self.judge("all right", outcome.right_after, wrong)
        outcome.webhooks = await self.check_webhooks()
        if not any(one.may_miscount for one in self.faults):
            outcome.failures += [f"webhooks: {key} {amount:+d}" for key, amount in outcome.webhooks.items()]
        if outcome.right_after is None:
            await crowd.finish_calls()
        else:
            await self.calm_down()
        outcome.events, calm = self.stage.book.settle(crowd.clients, right_at)
        self.judge_events(outcome.events, calm)
        if outcome.right_after is None or outcome.is_spoiled:
            await self.begin_anew()
        return outcome

    async def delayed(self, fault, seconds):
        await asyncio.sleep(seconds)
        await fault.run()

    async def isolate(self, fault):
        """Plays a fault that takes one server away, and sees how soon the others go without it."""
        await fault.begin()
        begun = time.monotonic()
        others = [one for one in self.stage.servers if one is not fault.isolated]
        if fault.seconds > LIMIT:
            await asyncio.sleep(2)
            self.stage.crowd.moves.clear()
            self.outcome.gone_after, wrong = await self.await_right(others, False, begun, fault.seconds)
            self.judge("without the lost server", self.outcome.gone_after, wrong)
            self.stage.crowd.moves.set()
        await asyncio.sleep(max(0, fault.seconds - (time.monotonic() - begun)))
        await fault.end()

    async def await_right(self, servers, everyone, since, patience):
        """After how many seconds everything was right, or `None`; and what was wrong at the limit."""
        wrong = []
        while True:
            asked = time.monotonic()
            found = await self.stage.comparison.differences(servers, everyone)
            if not found:
                return asked - since, wrong
            if asked - since <= LIMIT or not wrong:
                wrong = found
            if asked - since > patience:
                return None, wrong
            await asyncio.sleep(PAUSE)

    def judge(self, what, seconds, wrong):
        if seconds is not None and seconds <= LIMIT:
            return
        self.outcome.is_late = True
        late = "never" if seconds is None else f"after {seconds:.1f} s only"
        self.outcome.failures.append(f"{what}: {late}; at the limit:")
        self.outcome.failures += [f"  {text}" for text in list(dict.fromkeys(wrong))[:12]]
        for text in wrong:
            self.stage.journal.write("runner", f"not right: {text}")

    async def check_webhooks(self, seconds=2.0):
        """How the webhooks differ from what is true, once they had time to come."""
        receiver, crowd = self.stage.receiver, self.stage.crowd
        end = time.monotonic() + seconds
        while True:
            found = receiver.differences(model.Picture(crowd.clients, self.stage.servers))
            if not found or time.monotonic() > end:
                break
            await asyncio.sleep(PAUSE)
        for key, amount in found.items():
            self.stage.journal.write("runner", f"webhooks: {key} {amount:+d}")
        receiver.take_over(found)
        return found

    async def calm_down(self):
        """A time without a fault, in which everything has to be right at each look."""
        crowd = self.stage.crowd
        crowd.moves.set()
        await asyncio.sleep(self.calm)
        crowd.moves.clear()
        seconds, wrong = await self.await_right(self.stage.servers, True, time.monotonic(), PATIENCE)
        self.judge("calm time", seconds, wrong)
        self.outcome.is_spoiled = seconds is None
        await crowd.finish_calls()
        found = await self.check_webhooks()
        self.outcome.failures += [f"webhooks in calm time: {key} {amount:+d}" for key, amount in found.items()]

    async def begin_anew(self):
        """Brings everything to a right state; what is told meanwhile does not count."""
        stage = self.stage
        await stage.begin_anew()
        seconds, wrong = await self.await_right(stage.servers, True, time.monotonic(), PATIENCE)
        if seconds is None:
            raise SystemExit("faults: not right after a start from nothing:\n  " + "\n  ".join(wrong[:12]))
        await self.check_webhooks()
        for name in ("doubled", "twice", "problems"):
            stage.book.take(name)

    def judge_events(self, fault, calm):
        outcome, book = self.outcome, self.stage.book
        outcome.doubled, outcome.twice = book.take("doubled"), book.take("twice")
        outcome.failures += book.take("problems")
        may_lose = any(one.may_lose for one in self.faults)
        if fault.lost and not may_lose:
            outcome.failures += [f"lost in a fault that must lose none: {text}" for text in fault.examples[:5]]
        outcome.failures += [f"lost in calm time: {text}" for text in calm.examples[:5]]
        if calm.taken < calm.published:
            outcome.failures.append(
                f"refused in calm time: {calm.published - calm.taken} of {calm.published} events")
        outcome.failures += [f"doubled: {text}" for text in outcome.doubled[:5]]
        outcome.failures += [f"told twice: {text}" for text in outcome.twice[:5]]
