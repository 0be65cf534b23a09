"""What does a small KS distance between two rounds of the same debates say of the debates?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from d3stats.models.mixtures.ks import empirical_ks
from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.sources import HERE, STABILITY

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["CLAIMS", "TwoRounds"]


@dataclass(frozen=True)
class TwoRounds:
    """The counts of correct votes of the same debates in two rounds.

    Attributes
    ----------
    panel : int
        Votes in each debate and round.
    before, after : tuple of int
        A count per debate, 0 to `panel`, the debates in one order.

    Examples
    --------
    >>> rounds = TwoRounds(3, (0, 3), (3, 0))
    >>> print(rounds)
    panel of 3, counts (0, 3) then (3, 0)
    >>> rounds.distance, rounds.changed, rounds.flipped
    (0.0, 1.0, 1.0)
    """

    panel: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    def __str__(self) -> str:
        return f"panel of {self.panel}, counts {self.before} then {self.after}"

    @property
    def distance(self) -> float:
        """The KS distance D between the two rounds' counts."""
        votes = [self.panel] * len(self.before)
        return empirical_ks(list(self.before), votes, list(self.after), votes)

    @property
    def changed(self) -> float:
        """Share of debates whose count changed."""
        return self._share([i != j for i, j in zip(self.before, self.after, strict=True)])

    @property
    def flipped(self) -> float:
        """Share of debates whose majority changed sides; a tie is a side of its own."""
        lead = [(2 * i > self.panel) - (2 * i < self.panel) for i in self.before + self.after]
        return self._share(
            [a != b for a, b in zip(lead[: len(self.before)], lead[len(self.before) :], strict=True)]
        )

    def _share(self, which: list[bool]) -> float:
        return sum(which) / len(self.before)


def _is_valid(rounds: TwoRounds) -> bool:
    counts = rounds.before + rounds.after
    return len(rounds.before) == len(rounds.after) >= 1 and all(0 <= s <= rounds.panel for s in counts)


def two_rounds() -> SearchStrategy[TwoRounds]:
    """Return any two rounds of up to twelve debates."""
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> TwoRounds:
        panel = draw(st.integers(1, 7))
        counts = st.integers(0, panel)
        pairs = draw(st.lists(st.tuples(counts, counts), min_size=1, max_size=12))
        return TwoRounds(panel, tuple(a for a, _ in pairs), tuple(b for _, b in pairs))

    return one()


def still_rounds() -> SearchStrategy[TwoRounds]:
    """Return two rounds with the same counts in another order: all with D = 0."""
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> TwoRounds:
        panel = draw(st.integers(1, 7))
        keyed = draw(st.lists(st.tuples(st.integers(0, panel), st.integers(0, 99)), min_size=1, max_size=12))
        after = sorted(keyed, key=lambda pair: pair[1])
        return TwoRounds(panel, tuple(s for s, _ in keyed), tuple(s for s, _ in after))

    return one()


def _quantities(rounds: TwoRounds) -> dict[str, float]:
    return {
        "D": rounds.distance,
        "share of debates whose count changed": rounds.changed,
        "share of debates whose majority flipped": rounds.flipped,
    }


_SAME = Assumption("The same debates in both rounds, every seat votes, counts from 0 to the panel", _is_valid)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="ks-stability-means-stable",
        title="A KS distance of 0 means that the debates are stable",
        source=Source(STABILITY, "adaptive stability detection: stop when D_t < .05 in two rounds running"),
        statement=(
            "When the distribution of correct counts does not move from one round to the next (D = 0), the "
            "debates have settled: no debate's majority changes."
        ),
        latex=r"D = 0 \;\Rightarrow\; \frac{1}{N}\,\#\{i : \mathrm{maj}(S_{i,t+1}) \ne \mathrm{maj}(S_{i,t})\} = 0",
        assumptions=(_SAME, Assumption("D = 0", lambda rounds: rounds.distance == 0)),
        status="refuted",
        quantities=_quantities,
        margin=lambda rounds: 0 - rounds.flipped,
        instances=still_rounds,
        counterexample=TwoRounds(3, (0, 3), (3, 0)),
        corrected=(
            "D bounds what changed from below, not from above: at least a share D of the debates changed. To know "
            "that debates are stable, look at the debates: the share whose count or majority changed, with a "
            "bootstrap upper bound."
        ),
        correction=("ks-lemma",),
        proof=(
            "D compares two distributions over debates and forgets which debate is which. Swap half the debates "
            "at 0 with half at n: both distributions stay as they were, D = 0, and every majority flips."
        ),
    ),
    Claim(
        name="ks-lemma",
        title="D is at most the share of debates whose count changed",
        source=Source(HERE, "lemma on KS stopping"),
        statement="On the same debates, D <= the share of debates whose count of correct votes changed.",
        latex=r"D \le \frac{1}{N}\,\#\{i : S_{i,t+1} \ne S_{i,t}\}",
        assumptions=(_SAME,),
        status="holds",
        quantities=_quantities,
        margin=lambda rounds: rounds.changed - rounds.distance,
        instances=two_rounds,
        proof=(
            "For every x, F_t(x) - F_(t+1)(x) = (1/N) sum_i (1{S_i,t <= x} - 1{S_i,t+1 <= x}). A debate whose "
            "count stayed adds 0, any other at most 1 in absolute value. So debates that have stopped and are "
            "carried forward make D fall by themselves, whatever the others do."
        ),
    ),
)
