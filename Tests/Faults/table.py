"""What the faults of a run came to, as a table in Markdown."""

import statistics


class Row:
    """All faults of one kind."""

    def __init__(self):
        self.count = 0
        self.right_after = []
        self.gone_after = []
        self.taken = self.lost = self.missing = self.deliveries = 0
        self.doubled = self.twice = self.webhooks_over = self.webhooks_under = self.late = 0

    def add(self, outcome):
        self.count += 1
        self.right_after.append(outcome.right_after)
        if outcome.gone_after is not None:
            self.gone_after.append(outcome.gone_after)
        for name in ("taken", "lost", "missing", "deliveries"):
            setattr(self, name, getattr(self, name) + getattr(outcome.events, name))
        self.doubled += len(outcome.doubled)
        self.twice += len(outcome.twice)
        self.late += outcome.is_late
        self.webhooks_over += sum(one for one in outcome.webhooks.values() if one > 0)
        self.webhooks_under -= sum(one for one in outcome.webhooks.values() if one < 0)

    def cells(self, name):
        known = [one for one in self.right_after if one is not None]
        worst = "never" if None in self.right_after else seconds(max(known))
        return [name, str(self.count), seconds(statistics.median(known)) if known else "-", worst, str(self.late),
                seconds(max(self.gone_after)) if self.gone_after else "-", f"{self.lost} of {self.taken}",
                f"{self.missing} of {self.deliveries}", str(self.doubled), str(self.twice),
                f"{self.webhooks_under} / {self.webhooks_over}"]


HEAD = ["what fails", "times", "all right after, median", "worst", "not within 10 s",
        "members of the lost server gone, worst", "events lost", "deliveries lost", "doubled", "told twice",
        "webhooks: arrivals too few / too many"]


def seconds(amount):
    return f"{amount:.1f} s"


class Table:
    def __init__(self):
        self.rows = {}

    def add(self, name, outcome):
        self.rows.setdefault(name, Row()).add(outcome)

    def text(self, order):
        names = sorted(self.rows, key=lambda name: order.index(name) if name in order else len(order))
        lines = [HEAD, ["---"] + ["---:"] * (len(HEAD) - 1)] + [self.rows[name].cells(name) for name in names]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
