"""The courtroom of D3: advocates argue, a judge scores, jurors vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from d3stats._check import choice, integer, number, probability
from d3stats.worlds.base import World

__all__ = ["Category", "Courtroom"]


class Category(NamedTuple):
    """A kind of question, by how far apart its two answers are.

    A debate's gap has the size abs(gap + spread Z), with a standard normal Z.

    Attributes
    ----------
    name : str
    share : float
        Weight among the categories; the weights need not add up to 1.
    gap : float
        Size of the quality gap, raw points of the judge's total of 6 to 120.
    spread : float
        How much debates differ in it, raw points.
    """

    name: str
    share: float
    gap: float
    spread: float


CATEGORIES = (
    Category("coding", 1, 19.0, 5.0),
    Category("reasoning", 1, 11.0, 4.0),
    Category("ethics", 1, 9.0, 4.0),
    Category("writing", 1, 5.0, 3.0),
    Category("roleplay", 1, 4.0, 3.0),
    Category("math", 1, 4.0, 3.0),
)
"""Six categories of equal weight, their gaps in the order of D3, appendix G.4."""

_AT_LEAST_ZERO = (
    "upside",
    "improvement",
    "advocate_sd",
    "temperature",
    "noise",
    "length_sd",
    "juror_shared",
    "juror_persona",
    "juror_noise",
    "label_noise",
    "question_words",
    "answer_words",
    "instruction_words",
    "defence_words",
    "aggregate_words",
    "feedback_words",
    "reasons_words",
    "rationale_words",
)
_ANY_SIGN = ("skill", "position_bias", "verbosity_bias", "self_preference")
_SHARES = ("hidden", "decay", "advocate_correlation", "halo", "own_family", "slack")


@dataclass(frozen=True, kw_only=True)
class Courtroom(World):
    """Advocates of two answers, a judge who scores six criteria, and jurors who decide.

    Points are raw points of the judge's total, six criteria of 1 to 20 each, so 6 to 120; only `base`,
    `ceiling` and `noise` are per criterion. Round r counts from 1, s is the answer (A or B), Z a fresh
    standard normal variable each time it is written.

    * Item: the quality gap q = +-abs(gap + spread Z) of its category, A the better one in half of the
      debates. The label is A when q + label_noise Z > 0. Log length ratio L = log(words A / words B)
      = length_sd Z. In a share `own_family` of the debates, answer A is of the family of the judge's LLM.
    * Argument: what is left to find shrinks with feedback, so round r shows the gap
      g(r) = q (1 - hidden decay^(r-1)), and both sides gain improvement (1 - decay^(r-1)) / (1 - decay) by
      it (each round's gain is `decay` times the last one's). Advocate j of answer s has the strength
      skill + u(s) advocate_sd (sqrt(c) Z(s) + sqrt(1 - c) Z(s, j, r)), with c = advocate_correlation and
      u = upside for the better answer, 1 for the other: the k advocates of an answer are correlated, and so
      are its rounds. The k strengths become one by A_tau = sum of p(j) x(j) with p the softmax of x / tau,
      tau = temperature; 0 takes the strongest (max). X(s, r) is that plus the gain.
    * Reading bias, toward A, of judge and jurors alike: b = position_bias (with the opposite sign when B is
      shown first) + verbosity_bias L + self_preference (when A is of the judge's family).
    * Judge: criterion c of answer s in round r is
      clip(round(base + (X(s, r) +- (g(r) + b) / 2) / 6 + noise (sqrt(halo) Z(s, r) + sqrt(1 - halo) Z)), 1,
      ceiling), + for A. A score of the log is the sum of the six.
    * Jurors: juror j, who has read everything up to round r, votes A when the mean over these rounds of
      g + X(A) - X(B), plus b + juror_shared Z + juror_persona Z(j) + juror_noise Z(j, r), is above 0.
      The first error is one draw for all jurors of a debate, so their errors correlate; the second is how
      the persona sees this question. Jurors are exchangeable.
    * Runs: Z(s) and the first two errors of the jurors belong to the item, as one LLM misreads one question
      alike each time; every other error is drawn anew in another run.

    Votes are drawn after each round, as if the jury were asked then, so that a debate stopped in any round
    has its verdict: the majority of the jurors, and on a tie the answer with the higher sum of the judge's
    scores so far (D3 section 2.3; a comment in its algorithm 2 says the last score). A jury of odd size
    cannot tie. One of even size has one more seat, "tie-break", empty unless the jurors are tied: it then
    holds the judge's answer, and stays empty when the judge's sums are equal too, where D3 says nothing and a
    plurality falls back on the lowest seat. Do not count its missing votes as wrong, and take no share of the
    panel: ``supermajority:1.0`` asks for a vote of this seat too and never fires (a replay's notes say so).

    Tokens are words x 4/3 and count every call's prompt, which repeats the question, both answers and the
    transcript so far, and its answer. With ``memory="latest"`` only jurors read the whole transcript:
    advocates read their own side's defences, the other's last one and the last feedback, the judge the two
    defences of the round, as the prompts of appendix F have it. With ``poll="end"`` the jury is asked
    once, after the last round: round r carries what a jury after r costs beyond a jury after r - 1, so that
    the sum of rounds 1 to r is the cost of a debate that stops at r. A rule that looks at votes needs
    ``poll="every_round"``.

    Parameters
    ----------
    panel : int
        Jurors.
    protocol : {"samre", "more"}
        Rounds of feedback and rebuttal, or one round.
    categories : sequence of Category
        Also given as (name, share, gap, spread) or as a mapping with these keys.
    first : {"A", "B"}
        The answer that judge and jurors read first. The same seed gives the same debates either way.
    run : int
        Number of a repeat: the same seed gives the same items, and every call is made anew.
    advocates : int
        Advocates per answer, k.
    skill, improvement, advocate_sd, upside : float
        Level, gain of the first feedback and standard deviation of an argument, in points; `upside` >= 0.
    hidden : float
        Share of the gap that round 1 does not show, between 0 and 1.
    decay, advocate_correlation : float
        Between 0 and 1; decay below 1.
    temperature : float
        Of the softmax, in points.
    base, ceiling, noise, halo : float
        The judge's level, top mark (at most 20) and error per criterion; share of the error's variance that
        the six criteria of an answer have in common.
    position_bias, verbosity_bias, self_preference : float
        Points; points per unit of L; points.
    length_sd, own_family, label_noise : float
        As above; `label_noise` in points.
    juror_shared, juror_persona, juror_noise : float
        Points.
    poll : {"end", "every_round"}
        When the jury is paid for.
    memory : {"transcript", "latest"}
        What a prompt repeats: all that was said (D3, algorithm 2) or what its role needs (appendix F).
    question_words, answer_words, instruction_words : float
        Words of the question, of an average answer, of a role's prompt.
    defence_words, aggregate_words, feedback_words, reasons_words, rationale_words : float
        Longest defence (80), aggregated defence (150) and feedback to one side (50), as D3 appendix F sets
        them; the judge's reasons for the scores; a juror's rationale.
    slack : float
        A message has between (1 - slack) and 1 times its longest length, uniformly.

    Notes
    -----
    The defaults are near D3's aggregates without being fitted to them. Stopping when the signed gap moved by
    less than 3 points since the round before, at most 5 rounds (D3 states no tolerance), in 20,000 debates:

    ===========================================  =========  =====
    quantity                                     default    D3
    ===========================================  =========  =====
    stopped by round 2                           .56        .58
    mean rounds                                  2.69       2.71
    tokens saved (with ``memory="latest"``)      .50 (.43)  .40
    accuracy when stopped                        .864       .863
    verdicts changed by going on to round 5      .043       .06
    accuracy of MORE with 3 advocates            .850       .851
    pairs of jurors that agree                   .895       .895
    verdicts kept in a run with the other order  .935       .948
    accuracy of one juror, last round            .858       .748
    tokens of a stopped debate                   14,700     4,650
    ===========================================  =========  =====

    The last two rows of D3 fit no such world. Where pairs of jurors agree in 89.5 % of the cases (G.3), at
    most 7 % of the votes of a jury of five are in the minority, so its majority beats the average juror by at
    most .07, not by the .103 of Table 3. And five jurors who each read what the paper's single judge reads
    (850 tokens) take 4,250 of the 4,650, which leaves no room for the transcript and the calls that made it.

    Examples
    --------
    >>> Courtroom(panel=5, position_bias=2.0).protocol
    'samre'
    >>> Courtroom(protocol="more", advocates=3, categories=[("math", 1, 3, 2)]).categories[0].gap
    3.0
    """

    panel: int = 5
    protocol: Literal["samre", "more"] = "samre"
    categories: Sequence[Category] = CATEGORIES
    first: Literal["A", "B"] = "A"
    run: int = 0

    advocates: int = 1
    skill: float = 0.0
    improvement: float = 3.0
    hidden: float = 0.2
    decay: float = 0.3
    advocate_sd: float = 2.8
    upside: float = 1.0
    advocate_correlation: float = 0.9
    temperature: float = 0.0

    base: float = 14.0
    ceiling: int = 20
    noise: float = 0.35
    halo: float = 0.0
    position_bias: float = 0.6
    verbosity_bias: float = 1.5
    self_preference: float = 1.0
    length_sd: float = 0.4
    own_family: float = 0.25
    label_noise: float = 1.5

    juror_shared: float = 1.5
    juror_persona: float = 2.2
    juror_noise: float = 1.5

    poll: Literal["end", "every_round"] = "end"
    memory: Literal["transcript", "latest"] = "transcript"
    question_words: float = 40.0
    answer_words: float = 120.0
    instruction_words: float = 80.0
    defence_words: float = 80.0
    aggregate_words: float = 150.0
    feedback_words: float = 50.0
    reasons_words: float = 120.0
    rationale_words: float = 60.0
    slack: float = 0.3

    name: ClassVar[str] = "courtroom"
    citation: ClassVar[str] = "D3: Debate, Deliberate, Decide, sections 2.1 to 2.3, appendices B, D, F and G"

    def __post_init__(self) -> None:
        object.__setattr__(self, "panel", integer("panel", self.panel, minimum=1))
        choice("protocol", self.protocol, ("samre", "more"))
        choice("first", self.first, ("A", "B"))
        choice("poll", self.poll, ("end", "every_round"))
        choice("memory", self.memory, ("transcript", "latest"))
        object.__setattr__(self, "run", integer("run", self.run, minimum=0))
        object.__setattr__(self, "advocates", integer("advocates", self.advocates, minimum=1))
        object.__setattr__(self, "ceiling", integer("ceiling", self.ceiling, minimum=2))
        if self.ceiling > 20:
            raise ValueError(f"ceiling must be <= 20; got ceiling={self.ceiling}")
        for name in _AT_LEAST_ZERO:
            number(name, getattr(self, name), minimum=0)
        for name in _ANY_SIGN:
            number(name, getattr(self, name))
        for name in _SHARES:
            probability(name, getattr(self, name))
        if self.decay == 1:
            raise ValueError("decay must be < 1; got decay=1")
        if not 1 <= number("base", self.base) <= 20:
            raise ValueError(f"base must lie between 1 and 20; got base={self.base!r}")
        object.__setattr__(self, "categories", _checked(self.categories))


def _checked(rows: Sequence[Any]) -> tuple[Category, ...]:
    if not len(rows):
        raise ValueError("categories must have at least one row; got none")
    checked = tuple(_category(row, i) for i, row in enumerate(rows))
    if sum(row.share for row in checked) <= 0:
        raise ValueError("share must be above 0 in some category; got 0 in all")
    if len({row.name for row in checked}) < len(checked):
        raise ValueError(f"categories must have distinct names; got {[row.name for row in checked]}")
    return checked


def _category(row: Any, i: int) -> Category:
    try:
        name, *numbers = Category(**row) if isinstance(row, Mapping) else Category(*row)
    except TypeError:
        wanted = ", ".join(Category._fields)
        raise ValueError(f"categories must be rows of ({wanted}); got {row!r} at row {i}") from None
    checked = (number(n, x, minimum=0) for n, x in zip(Category._fields[1:], numbers, strict=True))
    return Category(str(name), *checked)
