"""Draws which fault is next."""

import faults


class Deck:
    """Kinds in a random order, each as often as the others, so that a short run has many of them."""

    def __init__(self, random, kinds):
        self.random, self.kinds, self.cards = random, kinds, []

    def draw(self):
        if not self.cards:
            self.cards = list(self.kinds)
            self.random.shuffle(self.cards)
        return self.cards.pop()


def pair(random, stage, cards):
    """Two faults that can be on at once: not on the same server."""
    first = cards.draw()(random, stage)
    others = [kind for kind in faults.KINDS if kind not in (faults.Nothing, faults.Drops, type(first))]
    second = random.choice(others)(random, stage)
    while second.server is first.server:
        second.server = random.choice(stage.servers)
    return [first, second]
