"""The ladder mechanism: noise that follows the local sensitivity, and is still purely private.

An integer f(G) is surrounded by rungs. Rung 0 is {f}; rung t >= 1 holds the integers x with
C(t-1) < |x - f| <= C(t), where C(t) = I(0) + … + I(t-1) and I(t) = I(0) + t * step. An integer on
rung t is drawn with probability ~ exp(-epsilon t / 2). This is epsilon-private if, for all
neighbours G and G',

    (a)  |f(G) - f(G')| <= I(0) of G, and
    (b)  |I(0) of G - I(0) of G'| <= step.

docs/explanation/differential-privacy.md has the proof. After Zhang, Cormode, Procopiuc,
Srivastava and Xiao, "Private Release of Graph Statistics using Ladder Functions" (2015).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from fractions import Fraction

from coterie.anonymize.private.noise import Below, geometric, keep_with_probability_exp


@dataclass(frozen=True)
class Ladder:
    """An exact value, and the widths of its rungs: private, never to be published."""

    value: int
    width: int  # I(0)
    step: int  # public: from the number of nodes

    def width_of(self, rung: int) -> int:
        """Return I(rung - 1), half the number of integers on a rung >= 1."""
        return self.width + (rung - 1) * self.step

    def inner(self, rung: int) -> int:
        """Return C(rung - 1): the largest distance of the rungs below a rung >= 1."""
        t = rung - 1
        return t * self.width + self.step * (t * (t - 1) // 2)

    def rung(self, x: int) -> int:
        """Return the rung of an integer."""
        distance, t = abs(x - self.value), 0
        if distance == 0:
            return 0
        high = 1
        while self.inner(high + 1) < distance:
            t, high = high, 2 * high
        while high - t > 1:
            middle = (t + high) // 2
            t, high = (middle, high) if self.inner(middle + 1) < distance else (t, middle)
        return high


def draw(ladder: Ladder, epsilon: Fraction, *, below: Below = secrets.randbelow) -> int:
    """Draw one epsilon-private answer.

    With q = exp(-epsilon / 2), rung 0 has weight 1 and rung t + 1 has weight
    2 I(t) q^(t+1) = 2 width q q^t + 2 step q t q^t. Their sums over t, times (1 - q)^2, are
    (1 - q)^2, 2 width q (1 - q) and 2 step q^2: one of three parts is proposed by its integer
    weight 1, 2 width or 2 step, and accepted by two coins of probability q. Within the second
    part t is geometric; within the third, t - 1 is the sum of two geometrics.
    """
    if ladder.width < 0 or ladder.step < 0 or ladder.width + ladder.step == 0:
        raise ValueError("a ladder needs a width or a step")
    half = epsilon / 2
    while True:
        part = below(1 + 2 * ladder.width + 2 * ladder.step)
        coins = [keep_with_probability_exp(half, below) for _ in range(2)]
        if part == 0:
            if coins == [False, False]:
                return ladder.value
        elif part <= 2 * ladder.width:
            if coins == [True, False]:
                t = geometric(half, below)
                break
        elif coins == [True, True]:
            t = 1 + geometric(half, below) + geometric(half, below)
            break
    distance = ladder.inner(t + 1) + 1 + below(ladder.width_of(t + 1))
    return ladder.value + (distance if below(2) else -distance)
