"""SAMRE of D3: one advocate a side, rounds of rebuttal and feedback, a budget, and a jury at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from d3stats._check import choice
from d3stats.agents.request import Case
from d3stats.protocols._court import Rounds, summed
from d3stats.protocols.play import Play
from d3stats.stopping import BudgetedStopping, StoppingRule

__all__ = ["Samre"]


@dataclass(frozen=True, kw_only=True)
class Samre(Rounds):
    """Two advocates answer each other, a judge marks both and remarks on them, jurors decide on the whole record.

    Parameters
    ----------
    epsilon : float
        Points, above 0: the debate is over when the gap between the totals moved by less since the round before.
    budget : float, optional
        Tokens after which the debate is over; may be overspent by a round.
    jurors : int
        0: the judge decides, by what would break a tie.
    poll : {"end", "every_round"}
        When the jury is asked. A rule that looks at votes needs ``"every_round"``; the last poll then decides.
    memory : {"algorithm", "transcript", "latest"}
        What a prompt repeats. ``"algorithm"``, the default: advocates read all that was said, the judge the round's
        two defences (2.3 and Algorithm 2, to the letter). ``"transcript"``: the judge reads all, too. ``"latest"``:
        advocates read their own defences, the other's last one and the last feedback, the judge the round's two
        defences (appendix F). The last two are those of :class:`~d3stats.worlds.Courtroom`. Jurors always read all.
    tie_break : {"cumulative", "final"}
        A tied vote goes to the higher sum of the judge's totals (2.3), or the last round's (a comment in
        Algorithm 2).
    personas : {"curated", "pool", "none"}
        The jurors' roles; see :func:`~d3stats.protocols.personas.jury`.
    persona_seed : int
        Of the draw from the pool.
    defence_words, feedback_words, rationale_words : int
        The longest defence, feedback to one side and juror's rationale. The first two are D3's.

    Notes
    -----
    D3, 2.2, 2.3 and Algorithm 2. A judge that fails gives neither scores nor feedback in that round, and the sum is
    taken over the other rounds.

    Examples
    --------
    >>> Samre().rule().run([])
    (0, 'exhausted')
    >>> str(Samre(jurors=3, poll="every_round"))
    'samre:jurors=3,poll=every_round'
    """

    max_rounds: int = 5
    epsilon: float = 3.0
    budget: float | None = None
    tie_break: Literal["cumulative", "final"] = "cumulative"

    name: ClassVar[str] = "samre"
    citation: ClassVar[str] = "D3: Debate, Deliberate, Decide, 2.2, 2.3 and Algorithm 2"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("tie_break", self.tie_break, ("cumulative", "final"))
        self.rule()

    def rule(self) -> StoppingRule:
        """Return D3's budgeted stopping."""
        return BudgetedStopping.d3_paper(self.epsilon, self.budget, self.max_rounds)

    def play(self, case: Case) -> Play:
        """Play one debate."""
        debate = yield from self.hear(case)
        points = summed(debate, case) if self.tie_break == "cumulative" else debate.scores[-1]
        return (yield from self.decide(case, debate, debate.record, points))
