"""The courtroom of D3: advocates argue, a judge scores, jurors vote."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import (
    Finite,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    Probability,
    RngLike,
    integer,
    number,
    within,
)
from d3stats.agent import Message, Refused, Reply, Request, Rubric
from d3stats.polling import OF_PROTOCOL, Polling
from d3stats.worlds.base import Group, World, scalar
from d3stats.worlds.draw import BLOCK, Drawn, block_seed, blocks_of, sample, seed_of, simulate_debates
from d3stats.worlds.streams import (
    TOKENS_PER_WORD,
    Stream,
    Streams,
    SyntheticAgent,
    SyntheticItem,
    item_range,
    statement,
    synthetic_agent,
    synthetic_items,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "SILENCE",
    "Category",
    "CourtAgent",
    "CourtItem",
    "Courtroom",
    "Heard",
    "JurorPersona",
    "court_item",
    "courtroom_items",
    "courtroom_tokens",
    "heard_by_round",
    "joined",
]


CRITERIA = 6


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

    Examples
    --------
    >>> Courtroom(categories=[Category("easy", 1.0, 12.0, 4.0), Category("hard", 2.0, 2.0, 4.0)]).categories[1].name
    'hard'
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


def _checked(name: str, rows: Sequence[Any]) -> tuple[Category, ...]:
    if not len(rows):
        raise ValueError(f"{name} must have at least one row; got none")
    checked = tuple(_category(row, i) for i, row in enumerate(rows))
    if sum(row.share for row in checked) <= 0:
        raise ValueError("share must be above 0 in some category; got 0 in all")
    if len({row.name for row in checked}) < len(checked):
        raise ValueError(f"{name} must have distinct names; got {[row.name for row in checked]}")
    return checked


def _category(row: Any, i: int) -> Category:
    try:
        name, *numbers = Category(**row) if isinstance(row, Mapping) else Category(*row)
    except TypeError:
        wanted = ", ".join(Category._fields)
        raise ValueError(f"categories must be rows of ({wanted}); got {row!r} at row {i}") from None
    checked = (number(n, x, minimum=0) for n, x in zip(Category._fields[1:], numbers, strict=True))
    return Category(str(name), *checked)


class JurorPersona(NamedTuple):
    """A role of a juror, with the points by which the better answer looks better to a juror in this role.

    Attributes
    ----------
    name : str
        The role, as a protocol names it: ``"professor of ethics"``.
    skill : float
        Main effect, in points toward the better answer; below 0 the role misleads.
    by_category : tuple of float
        Points that are added to `skill` in each category, in the order of the world's categories; empty for none.

    Examples
    --------
    >>> JurorPersona("professor of ethics", skill=2.0).by_category
    ()
    """

    name: str
    skill: float = 0.0
    by_category: tuple[float, ...] = ()


def _checked_personas(name: str, rows: Sequence[Any]) -> tuple[JurorPersona, ...]:
    if isinstance(rows, str):
        raise ValueError(f"{name} must be rows of ({', '.join(JurorPersona._fields)}); got {rows!r}")
    checked = tuple(_persona(row, i) for i, row in enumerate(rows))
    if len({row.name for row in checked}) < len(checked):
        raise ValueError(f"{name} must have distinct names; got {[row.name for row in checked]}")
    return checked


def _persona(row: Any, i: int) -> JurorPersona:
    try:
        if isinstance(row, str):
            raise TypeError
        given = JurorPersona(**row) if isinstance(row, Mapping) else JurorPersona(*row)
        by_category = tuple(number("by_category", x) for x in given.by_category)
    except TypeError:
        wanted = ", ".join(JurorPersona._fields)
        raise ValueError(f"personas must be rows of ({wanted}); got {row!r} at row {i}") from None
    return JurorPersona(str(given.name), number("skill", given.skill), by_category)


@dataclass(frozen=True, kw_only=True)
class Courtroom(World):
    """Advocates of two answers, a judge who scores six criteria, and jurors who decide.

    Points are raw points of the judge's total, six criteria of 1 to 20 each, so 6 to 120; only `base`,
    `ceiling` and `noise` are per criterion. Round r counts from 1, and s is the answer (A or B). Each written Z is a
    new standard normal variable.

    * Item: the quality gap is ``q = +-abs(gap + spread Z)`` with the numbers of its category; A is the better answer in
      half of the debates. The label is A when ``q + label_noise Z > 0``. The log length ratio is
      ``L = log(words A / words B) = length_sd Z``. In a share `own_family` of the debates, answer A is of the family of
      the judge's LLM.
    * Argument: feedback shows more of the gap in each round, so that round r shows the gap
      ``g(r) = q (1 - hidden decay^(r-1))``. Both sides gain ``improvement (1 - decay^(r-1)) / (1 - decay)`` by it (each
      round's gain is `decay` times the last one's). Advocate j of answer s has the strength
      ``skill + u(s) advocate_sd (sqrt(c) Z(s) + sqrt(1 - c) Z(s, j, r))``, with c = advocate_correlation and
      u = upside for the better answer, 1 for the other. The k advocates of an answer are therefore correlated, and so
      are its rounds. A wording of the prompts may suit one answer better than the other. In all rounds and runs it adds
      ``prompt_sd (sqrt(a) Z(s, w) + sqrt(1 - a) Z(s, j, w))`` to the strength, with w = wording and a = prompt_alike.
      The k strengths x(j) become one, ``A_tau = sum of p(j) x(j)``, with p the softmax of x / tau and
      tau = temperature; 0 takes the strongest (max). X(s, r) is that strength plus the gain.
    * Reading bias, toward A, of judge and jurors alike: b = position_bias (with the opposite sign when B is
      shown first) + verbosity_bias L + self_preference (when A is of the judge's family).
    * Judge: a criterion of answer s in round r has the mark ``clip(round(x), 1, ceiling)`` with (+ for A)
      ``x = base + (X(s, r) +- (g(r) + b) / 2) / 6 + noise (sqrt(halo) Z(s, r) + sqrt(1 - halo) Z)``.
      A score of the log is the sum of the six.
    * Jurors: juror j has read all messages up to round r. Let m be the mean of ``g + X(A) - X(B)`` over these rounds.
      The juror votes A when
      ``m + b + juror_shared Z + juror_persona (sqrt(1 - d) Z' + sqrt(d) Z(j)) + juror_noise Z(j, r)``, plus e(j) toward
      the better answer, is above 0. The errors Z and Z' are one draw for all jurors of a debate, so the jurors' errors
      correlate; Z(j) is how this juror sees this question. The share d is persona_diversity for a juror with a persona
      and plain_diversity for one without; it changes no juror's own accuracy. The effect of a persona is
      ``e(j) = skill + by_category[category of the item]``, and 0 without one. Jurors without personas are exchangeable.
    * Runs: Z(s), the effect of a wording and the jurors' errors Z, Z' and Z(j) belong to the item, as one LLM misreads
      one question alike each time. All other errors are drawn again in another run.

    Votes are drawn after each round, as if the jury were asked then, so that a debate has a verdict in any round in
    which it is stopped. The verdict is the majority of the jurors. On a tie it is the answer with the higher sum of the
    judge's scores so far (D3 section 2.3; a comment in its algorithm 2 says the last score). When these sums are equal
    too, which D3 does not cover, there is no verdict. A jury of odd size cannot tie.

    Tokens are words x 4/3. They count every call's answer and its prompt, which repeats the question, both answers and
    the transcript so far. With ``memory="algorithm"``, the default of the protocol ``samre``, the judge reads the two
    defences of the round only. With ``memory="latest"`` advocates also read less: their own side's defences, the
    other's last one and the last feedback, which is to both sides (the prompts of appendix F). Jurors always read
    everything. With ``poll="end"`` the jury is asked only when the debate is over. A rule that reads
    votes can then not be run. With ``poll="every_round"`` it can be asked after every round: such a rule pays for
    that, any other rule for one jury at its stop (``d3stats.polling``).

    Parameters
    ----------
    panel : int
        Jurors.
    protocol : {"samre", "more", "d3"}
        Rounds of feedback and rebuttal (SAMRE), one round (MORE), or MORE's round and then SAMRE's (the protocol
        ``d3``). In the last, no agent of SAMRE reads MORE's round, and `advocates` are those of MORE.
    categories : sequence of Category
        Also given as (name, share, gap, spread) or as a mapping with these keys.
    first : {"A", "B"}
        The answer that judge and jurors read first. The same seed gives the same debates either way.
    run : int
        Number of a repeat: the same seed gives the same items, and every call is drawn again.
    wording : int
        Number of a paraphrase of the advocates' prompts; it matters where `prompt_sd` is above 0.
    advocates : int
        Advocates per answer, k.
    skill, improvement, advocate_sd, upside : float
        Level, gain of the first feedback and standard deviation of an argument, in points; `upside` >= 0.
    hidden : float
        Share of the gap that round 1 does not show, between 0 and 1.
    decay, advocate_correlation : float
        Between 0 and 1; decay below 1.
    temperature : float
        Temperature of the softmax, in points.
    prompt_sd, prompt_alike : float
        Points that an argument gains or loses by the wording of its prompt: prompt sensitivity. Share of its variance
        that all advocates of an answer have in common, as one paraphrase for all has it; 0 is a paraphrase each.
    base, ceiling, noise, halo : float
        The judge's level, top mark (at most 20) and error per criterion; share of the error's variance that
        the six criteria of an answer have in common.
    position_bias, verbosity_bias, self_preference : float
        Points; points per unit of L; points.
    length_sd, own_family, label_noise : float
        As above; `label_noise` in points.
    juror_shared, juror_persona, juror_noise : float
        Points.
    personas : sequence of JurorPersona
        One per juror, or none; also given as (name, skill, by_category) or as a mapping with these keys. Agents go by
        the name of the persona that a protocol gives a juror.
    persona_diversity, plain_diversity : float
        Share of the variance of `juror_persona` that is a juror's own, between 0 and 1, for jurors with a persona and
        without one.
    poll : {"end", "every_round"}
        When the jury can be asked.
    memory : {"transcript", "algorithm", "latest"}
        What a prompt repeats: all that was said, all but for the judge (D3, algorithm 2), or what its role needs
        (appendix F). The same as the setting of :class:`~d3stats.protocols.d3.Samre`, whose default is "algorithm".
    question_words, answer_words, instruction_words : float
        Words of the question, of an average answer, of a role's prompt.
    defence_words, aggregate_words, feedback_words, reasons_words, rationale_words : float
        Longest defence (80), aggregated defence (150) and feedback to one side (50), as D3 appendix F sets
        them; the judge's reasons for the scores; a juror's rationale.
    slack : float
        A message has between (1 - slack) and 1 times its longest length, uniformly.

    Notes
    -----
    The defaults are near D3's aggregates without being fitted to them. The table is for 20,000 debates that stop when
    the signed gap moved by less than 3 points since the round before, after at most 5 rounds (D3 states no tolerance).

    ===========================================  =========  =====
    quantity                                     default    D3
    ===========================================  =========  =====
    stopped by round 2                           .56        .58
    mean rounds                                  2.69       2.71
    tokens saved (with ``memory="latest"``)      .50 (.43)  .40
    accuracy when stopped                        .864       .863
    verdicts changed by playing to round 5       .043       .06
    accuracy of MORE with 3 advocates            .850       .851
    pairs of jurors that agree                   .895       .895
    verdicts kept in a run with the other order  .935       .948
    accuracy of one juror, last round            .858       .748
    tokens of a stopped debate                   14,700     4,650
    ===========================================  =========  =====

    The last two rows of D3 fit no such world. Where pairs of jurors agree in 89.5 % of the cases (G.3), at most 7 % of
    the votes of a jury of five are in the minority. The majority is then better than the average juror by at most .07,
    not by the .103 of Table 3. Five jurors who each read what the paper's single judge reads (850 tokens) take 4,250 of
    the 4,650 tokens. The rest is too small for the transcript and the calls that made it.

    Examples
    --------
    >>> Courtroom(panel=5, position_bias=2.0).protocol
    'samre'
    >>> Courtroom(protocol="more", advocates=3, categories=[("math", 1, 3, 2)]).categories[0].gap
    3.0
    """

    panel: PositiveInt = 5
    protocol: Literal["samre", "more", "d3"] = "samre"
    categories: Annotated[Sequence[Category], _checked] = CATEGORIES
    first: Literal["A", "B"] = "A"
    run: NonNegativeInt = 0
    wording: NonNegativeInt = 0

    advocates: PositiveInt = 1
    skill: Finite = 0.0
    improvement: NonNegativeFloat = 3.0
    hidden: Probability = 0.2
    decay: Probability = 0.3
    advocate_sd: NonNegativeFloat = 2.8
    upside: NonNegativeFloat = 1.0
    advocate_correlation: Probability = 0.9
    temperature: NonNegativeFloat = 0.0
    prompt_sd: NonNegativeFloat = 0.0
    prompt_alike: Probability = 1.0

    base: Annotated[float, partial(within, low=1, high=20)] = 14.0
    ceiling: Annotated[int, partial(integer, minimum=2, maximum=20)] = 20
    noise: NonNegativeFloat = 0.35
    halo: Probability = 0.0
    position_bias: Finite = 0.6
    verbosity_bias: Finite = 1.5
    self_preference: Finite = 1.0
    length_sd: NonNegativeFloat = 0.4
    own_family: Probability = 0.25
    label_noise: NonNegativeFloat = 1.5

    juror_shared: NonNegativeFloat = 1.5
    juror_persona: NonNegativeFloat = 2.2
    juror_noise: NonNegativeFloat = 1.5
    personas: Annotated[Sequence[JurorPersona], _checked_personas] = ()
    persona_diversity: Probability = 1.0
    plain_diversity: Probability = 1.0

    poll: Literal["end", "every_round"] = "end"
    memory: Literal["transcript", "algorithm", "latest"] = "transcript"
    question_words: NonNegativeFloat = 40.0
    answer_words: NonNegativeFloat = 120.0
    instruction_words: NonNegativeFloat = 80.0
    defence_words: NonNegativeFloat = 80.0
    aggregate_words: NonNegativeFloat = 150.0
    feedback_words: NonNegativeFloat = 50.0
    reasons_words: NonNegativeFloat = 120.0
    rationale_words: NonNegativeFloat = 60.0
    slack: Probability = 0.3

    name: ClassVar[str] = "courtroom"
    citation: ClassVar[str] = "D3: Debate, Deliberate, Decide, sections 2.1 to 2.3, appendices B, D, F and G"
    free: ClassVar[tuple[str, ...]] = (
        *("mean_gap", "improvement", "advocate_sd", "base", "noise", "position_bias", "juror_noise"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.decay == 1:
            raise ValueError("decay must be < 1; got decay=1")
        if self.personas and len(self.personas) != self.panel:
            raise ValueError(
                f"personas must be none or one per juror ({self.panel}); got {len(self.personas)}; give "
                f"the world panel={len(self.personas)}"
            )
        for persona in self.personas:
            if len(persona.by_category) not in (0, len(self.categories)):
                raise ValueError(
                    f"by_category must have one number per category ({len(self.categories)}) or none; got "
                    f"{len(persona.by_category)} for {persona.name!r}"
                )

    def persona_effects(self) -> Floats:
        """Return each juror's points toward the better answer, shape (jurors, categories); 0 without personas.

        Examples
        --------
        >>> two = [("law", 1, 5, 2), ("math", 1, 3, 2)]
        >>> Courtroom(panel=1, categories=two, personas=[("judge", 1, [2, 0])]).persona_effects().tolist()
        [[3.0, 1.0]]
        """
        effects = np.zeros((self.panel, len(self.categories)))
        for row, persona in zip(effects, self.personas, strict=False):
            row += persona.skill
            if persona.by_category:
                row += persona.by_category
        return effects

    @property
    def polling(self) -> Polling:
        """The jury of SAMRE can be left out of a round, unless the rule reads votes; that of MORE cannot."""
        polling = OF_PROTOCOL[self.protocol]
        return replace(polling, at_end=bool(polling.voters) and self.poll == "end")

    @property
    def points(self) -> tuple[int, int]:
        return (CRITERIA, CRITERIA * self.ceiling)

    def groups(self) -> dict[str, Group]:
        groups = self.scalars(
            *("improvement", "advocate_sd", "upside", "noise", "label_noise", "hidden", "decay", "halo"),
            *("juror_shared", "juror_persona", "juror_noise", "advocate_correlation"),
        )
        groups |= self.scalars("skill", "position_bias", width=4.0)
        groups["base"] = scalar("base", 1, 20)
        if _mean_gap(self) > 0:
            groups["mean_gap"] = Group(lambda world: (_mean_gap(world),), _stretched, 0)
        return groups

    def untold(self, free: tuple[str, ...], labelled: bool) -> list[str]:
        return [
            "verbosity_bias, self_preference, length_sd and own_family need lengths and families of "
            "answers, which the log does not have; here they act like position_bias and noise",
            "skill and base enter the scores as a sum",
        ]


def _mean_gap(world: Courtroom) -> float:
    share = np.array([c.share for c in world.categories])
    return float(share @ np.array([c.gap for c in world.categories]) / share.sum())


def _stretched(world: Courtroom, values: tuple[float, ...]) -> Courtroom:
    """Return the world with another mean size of the categories' gaps; spreads go along."""
    factor = values[0] / _mean_gap(world)
    rows = [c._replace(gap=c.gap * factor, spread=c.spread * factor) for c in world.categories]
    return replace(world, categories=rows)


def case_words(world: Courtroom, log_length_ratio: Floats) -> Floats:
    """Return the words of a prompt that holds the role, the question and both answers."""
    # Both answers together: their mean length is kept, their ratio is the item's.
    answers = 2 * world.answer_words * np.cosh(log_length_ratio / 2)
    words: Floats = world.instruction_words + world.question_words + answers
    return words


def court_tokens(
    world: Courtroom, n_rounds: int, log_length_ratio: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the tokens sent and written in each round without the jury, and those of a jury asked after it.

    All are of shape (debates, rounds).
    """
    n, k, m = len(log_length_ratio), world.advocates, world.panel

    def written(longest: float, *shape: int) -> Floats:
        return longest * (1 - world.slack * rng.random((n, n_rounds, *shape)))

    case = case_words(world, log_length_ratio)[:, None]
    own = written(world.defence_words, 2, k).sum(axis=(2, 3))
    defence = written(world.aggregate_words, 2).sum(axis=2) if k > 1 else own
    feedback = written(world.feedback_words, 2).sum(axis=2)
    if world.protocol == "more":
        feedback = np.zeros_like(feedback)
    reasons = written(world.reasons_words)
    rationales = written(world.rationale_words, m).sum(axis=2)

    after = np.cumsum(defence + feedback, axis=1)
    # Two sides, each of which reads all that both have said.
    to_advocates, to_judge = 2 * (after - defence - feedback), defence
    if world.memory == "transcript":
        to_judge = after - feedback
    elif world.memory == "latest":
        # Both sides together: all own defences so far, the other's last one, and the last feedback to both sides.
        last = np.pad((defence + 2 * feedback)[:, :-1], ((0, 0), (1, 0)))
        to_advocates = np.cumsum(defence, axis=1) - defence + last
    sent = k * (2 * case + to_advocates) + case + to_judge
    said = own + feedback + reasons
    if k > 1:
        # Each side's aggregator reads its own k defences.
        sent, said = sent + 2 * case + own, said + defence
    to_jury = m * (case + after)
    words = (sent, said, to_jury, rationales)
    talk_in, talk_out, poll_in, poll_out = (TOKENS_PER_WORD * count for count in words)
    return talk_in, talk_out, poll_in, poll_out


class Items(NamedTuple):
    """The properties of items before the first message, as arrays of one value per debate."""

    category: NDArray[np.int64]
    quality_gap: Floats
    label: NDArray[np.int32]
    log_length_ratio: Floats
    own_family: NDArray[np.bool_]
    seed: int


@sample.register
def sample_courtroom(world: Courtroom, n_debates: int, n_rounds: int, rng: np.random.Generator) -> Drawn:
    """Draw debates of advocates before a judge and jurors.

    Raises
    ------
    ValueError
        When a world of one-round debates is asked for more rounds.

    Examples
    --------
    >>> from d3stats.worlds import simulate_debates
    >>> from d3stats.worlds import Courtroom
    >>> debates = simulate_debates(Courtroom(), n_debates=100, n_rounds=5, rng=1)
    >>> debates.scores.shape, float(debates.scores.min()) >= 6
    ((100, 5, 2), True)
    """
    if world.protocol == "more" and n_rounds != 1:
        raise ValueError(
            f"n_rounds must be 1 for protocol='more', whose debates have one round; got n_rounds={n_rounds}; "
            "simulate it by itself, apart from protocols of several rounds"
        )
    if world.protocol == "d3" and n_rounds < 2:
        raise ValueError(f"n_rounds must be at least 2 for protocol='d3'; got n_rounds={n_rounds}")
    items = draw_items(world, n_debates, rng)
    standing, arguing, judging, voting, writing = _streams(world, items)
    bias = reading_bias(world, items.log_length_ratio, items.own_family, world.first)
    side = standing.standard_normal((n_debates, 2))
    # Of two equal answers the sign of zero says which one the item was drawn to favour.
    a_is_better = ~np.signbit(items.quality_gap)
    lift = world.persona_effects().T[items.category] * np.where(a_is_better, 1.0, -1.0)[:, None]
    error = _standing_errors(world, n_debates, standing)
    parts = [(world, n_rounds)]
    if world.protocol == "d3":
        more, samre = replace(world, protocol="more"), replace(world, protocol="samre", advocates=1)
        parts = [(more, 1), (samre, n_rounds - 1)]
    votes, scores, tokens = [], [], []
    for part, rounds in parts:
        shown = items.quality_gap[:, None] * shown_share(part, np.arange(rounds))
        strength = _arguments(part, side, a_is_better, rounds, arguing, _wordings(part, items))
        scores.append(_judge(part, shown + bias[:, None], strength, judging))
        seen = shown + strength[:, :, 0] - strength[:, :, 1]
        votes.append(_jury(part, seen, bias, error, voting, lift))
        tokens.append(court_tokens(part, rounds, items.log_length_ratio, writing))
    seats = tuple(f"juror {j + 1}" for j in range(world.panel))
    drawn = Drawn(
        _rounds(votes), items.label, ("A", "B"), scores=_rounds(scores), sides=("A", "B"), seats=seats
    )
    sent, written, to_jury, by_jury = map(_rounds, zip(*tokens, strict=True))
    return drawn.with_tokens(sent, written, to_jury, by_jury, world.polling)


def _rounds(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put the rounds of one protocol after those of another."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def courtroom_items(world: Courtroom, n_debates: int, rng: RngLike = None, *, first: int = 0) -> pd.DataFrame:
    """Return the items that the debates of :func:`~d3stats.worlds.simulate_debates` with the same seed are about.

    Parameters
    ----------
    world : Courtroom
        The synthetic world with its parameters.
    n_debates, rng, first
        As given to :func:`~d3stats.worlds.simulate_debates`.

    Returns
    -------
    DataFrame
        One row per debate: ``debate`` (its name), ``category``, ``quality_gap`` (raw points, above 0 when A
        is better), ``label``, ``log_length_ratio`` (log of the words of A over those of B), ``own_family``
        (A is of the family of the judge's LLM).

    Examples
    --------
    >>> from d3stats.worlds import Courtroom
    >>> items = courtroom_items(Courtroom(categories=[("math", 1, 3, 0)]), n_debates=2, rng=1)
    >>> items[["debate", "category"]].to_numpy().tolist()
    [['1', 'math'], ['2', 'math']]
    """
    import pandas as pd

    integer("n_debates", n_debates, minimum=1)
    integer("first", first, minimum=0)
    seed, parts = seed_of(rng), []
    for block, cut in blocks_of(first, n_debates):
        items = draw_items(world, BLOCK, np.random.default_rng(block_seed(seed, block)))
        columns = {
            "debate": np.arange(block * BLOCK + 1, (block + 1) * BLOCK + 1).astype(str),
            "category": np.array([c.name for c in world.categories], dtype=object)[items.category],
            "quality_gap": items.quality_gap,
            "label": np.array(["A", "B"], dtype=object)[items.label],
            "log_length_ratio": items.log_length_ratio,
            "own_family": items.own_family,
        }
        parts.append(pd.DataFrame(columns).iloc[cut])
    return pd.concat(parts, ignore_index=True)


def courtroom_tokens(
    world: Courtroom, n_debates: int, n_rounds: int, rng: RngLike = None, *, first: int = 0
) -> tuple[Floats, Floats]:
    """Return the tokens of the debates of :func:`~d3stats.worlds.simulate_debates`, prompts and messages separately.

    Parameters
    ----------
    world : Courtroom
        The synthetic world with its parameters.
    n_debates, n_rounds, rng, first
        As given to :func:`~d3stats.worlds.simulate_debates`, whose tokens are the sum of both.

    Returns
    -------
    input, output : ndarray of float, shape (n_debates, n_rounds)

    Examples
    --------
    >>> sent, written = courtroom_tokens(Courtroom(), n_debates=2, n_rounds=3, rng=1)
    >>> sent.shape, bool((sent > written).all())
    ((2, 3), True)
    """
    drawn = simulate_debates(world, n_debates, n_rounds, rng, first=first)
    return np.asarray(drawn.tokens_in), np.asarray(drawn.tokens_out)


def _streams(world: Courtroom, items: Items) -> list[np.random.Generator]:
    # What comes back in every run of an item has one stream; each kind of call has its own, so that a world
    # that differs in one kind keeps the others.
    calls = np.random.default_rng([items.seed, 1 + world.run])
    return [np.random.default_rng([items.seed, 0]), *calls.spawn(4)]


def _wordings(world: Courtroom, items: Items) -> Floats | float:
    """Return what the wording of its prompt adds to each advocate's argument, shape (debates, 1, 2, advocates)."""
    if world.prompt_sd == 0:
        return 0.0
    rng = np.random.default_rng([items.seed, 0, 1 + world.wording])
    alike = rng.standard_normal((len(items.category), 1, 2, 1))
    own = rng.standard_normal((len(items.category), 1, 2, world.advocates))
    found: Floats = worded(world, alike, own)
    return found


def draw_items(world: Courtroom, n: int, rng: np.random.Generator) -> Items:
    """Draw the items of one block of debates, and the seed of everything said about them."""
    share = np.array([c.share for c in world.categories])
    category = np.searchsorted(np.cumsum(share / share.sum())[:-1], rng.random(n), side="right")
    gap = np.array([c.gap for c in world.categories])[category]
    spread = np.array([c.spread for c in world.categories])[category]
    sign = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    quality_gap = sign * np.abs(gap + spread * rng.standard_normal(n))
    preferred = quality_gap + world.label_noise * rng.standard_normal(n)
    # Equal answers have no better one: the label is the sign's.
    label = np.where(np.where(preferred == 0, sign, preferred) > 0, 0, 1).astype(np.int32)
    ratio = world.length_sd * rng.standard_normal(n)
    own_family = rng.random(n) < world.own_family
    return Items(category, quality_gap, label, ratio, own_family, int(rng.integers(2**63)))


def reading_bias(world: Courtroom, log_length_ratio: Any, own_family: Any, first: str | None) -> Any:
    """Return how far the reading is tilted toward A, in points of the total, by what is read first."""
    position = world.position_bias if first == "A" else -world.position_bias
    return position + world.verbosity_bias * log_length_ratio + world.self_preference * own_family


def shown_share(world: Courtroom, heard: Any) -> Any:
    """Return the share of the quality gap that shows after so many rounds of feedback."""
    return 1 - world.hidden * world.decay**heard


def gain(world: Courtroom, heard: Any) -> Any:
    """Return what so many rounds of feedback add to an argument, in points of the total."""
    return world.improvement * (1 - world.decay**heard) / (1 - world.decay)


def argued(world: Courtroom, scale: Any, side: Any, own: Any) -> Any:
    """Return the strength of an advocate's argument without that gain, from its two errors.

    `scale` is `upside` for the better answer and 1 for the other.
    """
    common = world.advocate_correlation
    error = math.sqrt(common) * side + math.sqrt(1 - common) * own
    return world.skill + scale * world.advocate_sd * error


def worded(world: Courtroom, alike: Any, own: Any) -> Any:
    """Return what the wording of a prompt adds to an argument, in points, from its two effects."""
    return world.prompt_sd * (math.sqrt(world.prompt_alike) * alike + math.sqrt(1 - world.prompt_alike) * own)


def _arguments(
    world: Courtroom,
    side: Floats,
    a_is_better: NDArray[np.bool_],
    n_rounds: int,
    rng: np.random.Generator,
    wording: Floats | float = 0.0,
) -> Floats:
    """Return the strength of each side's defence, shape (debates, rounds, 2), in points of the total."""
    better = np.stack([a_is_better, ~a_is_better], axis=1)[:, None, :, None]
    own = rng.standard_normal((len(a_is_better), n_rounds, 2, world.advocates))
    error_scale = np.where(better, world.upside, 1.0)
    strength = argued(world, error_scale, side[:, None, :, None], own) + wording
    strength = aggregate(strength, world.temperature)
    total: Floats = strength + gain(world, np.arange(n_rounds))[:, None]
    return total


def aggregate(strength: Floats, temperature: float) -> Floats:
    """Turn the strengths of parallel advocates, along the last axis, into that of their joint defence.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(aggregate(np.array([.9, .85, .4]), .1)), 12)
    0.879113517523
    >>> float(aggregate(np.array([.9, .85, .4]), 0))
    0.9
    """
    top: Floats = strength.max(axis=-1)
    if temperature == 0 or strength.shape[-1] == 1:
        return top
    # Next to no temperature: a quotient that overflows has the weight 0.
    with np.errstate(over="ignore"):
        weight = np.exp((strength - top[..., None]) / temperature)
    joint: Floats = (weight * strength).sum(axis=-1) / weight.sum(axis=-1)
    return joint


def _judge(world: Courtroom, gap: Floats, strength: Floats, rng: np.random.Generator) -> Floats:
    """Return the judge's totals, shape (debates, rounds, 2): whole raw points."""
    n, n_rounds = gap.shape
    strength = strength + np.stack([gap, -gap], axis=2) / 2
    halo = rng.standard_normal((n, n_rounds, 2, 1))
    own = rng.standard_normal((n, n_rounds, 2, CRITERIA))
    totals: Floats = marks(world, strength[..., None], halo, own).sum(axis=3)
    return totals


def marks(world: Courtroom, merit: Any, halo: Any, own: Any) -> Floats:
    """Return the marks of the criteria of an answer, from its merit in points and the judge's two errors."""
    error = world.noise * (math.sqrt(world.halo) * halo + math.sqrt(1 - world.halo) * own)
    given: Floats = np.rint(world.base + merit / CRITERIA + error)
    return np.minimum(np.maximum(given, 1), world.ceiling)


def _jury(
    world: Courtroom,
    seen: Floats,
    bias: Floats,
    standing: tuple[Floats, Floats],
    rng: np.random.Generator,
    lift: Floats | None = None,
) -> NDArray[np.int32]:
    """Return the jurors' votes, shape (debates, rounds, jurors): 0 for A, 1 for B.

    `lift` is what each juror's persona adds toward A, shape (debates, jurors).
    """
    n, n_rounds = seen.shape
    read = np.cumsum(seen, axis=1) / np.arange(1, n_rounds + 1) + bias[:, None]
    error = juror_error(world, *standing, rng.standard_normal((n, n_rounds, world.panel)))
    toward_a = read[:, :, None] + error
    if lift is not None:
        toward_a = toward_a + lift[:, None, :]
    return np.where(toward_a > 0, 0, 1).astype(np.int32)


def _standing_errors(world: Courtroom, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the errors of the jurors that belong to the item: of all alike, and of each."""
    shared, own = rng.standard_normal((n, 1, 1)), rng.standard_normal((n, 1, world.panel))
    diversity = world.persona_diversity if world.personas else world.plain_diversity
    if diversity < 1:
        own = standing_error(diversity, rng.standard_normal((n, 1, 1)), own)
    return shared, own


def standing_error(diversity: float, alike: Any, own: Any) -> Any:
    """Return a juror's error on a question; `diversity` is the share of its variance that is not common to all."""
    return math.sqrt(1 - diversity) * alike + math.sqrt(diversity) * own


def juror_error(world: Courtroom, shared: Any, persona: Any, noise: Any) -> Any:
    """Return how far a juror misreads the debate toward A, in points, from its three errors."""
    return world.juror_shared * shared + world.juror_persona * persona + world.juror_noise * noise


class Heard(NamedTuple):
    """The joint effect of a round's defences: strength and rounds of feedback used, for A and for B."""

    strength: tuple[float, float]
    feedback: tuple[float, float]


SILENCE = Heard((0.0, 0.0), (0.0, 0.0))
"""No advocate argued, so that only the answers count, and the gap shows as much as before any feedback."""


def heard_by_round(seen: Sequence[Message], sides: Sequence[str], temperature: float) -> dict[int, Heard]:
    """Return what the defences in these messages come to, by round.

    Where a side's defences were aggregated, the joint one counts; otherwise several become one by the softmax of
    the world. A side that said nothing has strength 0; it builds on as much feedback as the other.
    """
    single: dict[int, dict[str, list[tuple[float, float]]]] = {}
    joint: dict[int, dict[str, tuple[float, float]]] = {}
    for message in seen:
        if message.side is None:
            continue
        facts = statement(message.text).facts
        if "joint" in facts:
            joint.setdefault(message.round, {})[message.side] = facts["joint"], facts.get("heard", 0.0)
        elif "strength" in facts:
            defence = facts["strength"], facts.get("heard", 0.0)
            single.setdefault(message.round, {}).setdefault(message.side, []).append(defence)
    for round_number, by_side in single.items():
        of_round = joint.setdefault(round_number, {})
        for side, defences in by_side.items():
            of_round.setdefault(side, joined(defences, temperature))
    return {r: _both(by_side.get(sides[0]), by_side.get(sides[1])) for r, by_side in joint.items()}


def joined(defences: Sequence[tuple[float, float]], temperature: float) -> tuple[float, float]:
    """Return the strength of several defences of a side by the softmax, and the most feedback that one builds on."""
    if len(defences) == 1:
        return defences[0]
    strength = float(aggregate(np.array([x for x, _ in defences]), temperature))
    return strength, max(heard for _, heard in defences)


def _both(a: tuple[float, float] | None, b: tuple[float, float] | None) -> Heard:
    if a is None:
        a = (0.0, b[1] if b else 0.0)
    if b is None:
        b = (0.0, a[1])
    return Heard((a[0], b[0]), (a[1], b[1]))


class CourtItem(NamedTuple):
    """The hidden state of an item.

    Attributes
    ----------
    category : str
    gap : float
        Quality gap in points, above 0 when A is better.
    better : tuple of bool
        Which answer is the better one.
    ratio : float
        Log of the words of A over those of B.
    own_family : bool
    label : str
    words : float
        Number of words of a prompt that holds the role, the question and both answers.
    """

    category: str
    gap: float
    better: tuple[bool, bool]
    ratio: float
    own_family: bool
    label: str
    words: float


def court_item(world: Courtroom, streams: Streams, question: str) -> CourtItem:
    """Draw the state of an item; the same for every debate about the question."""
    drawn = draw_items(world, 1, streams.generator("item", question))
    gap, ratio = float(drawn.quality_gap[0]), float(drawn.log_length_ratio[0])
    # Of two equal answers the sign of zero says which one the item was drawn to favour.
    a_is_better = not np.signbit(gap)
    return CourtItem(
        category=world.categories[int(drawn.category[0])].name,
        gap=gap,
        better=(a_is_better, not a_is_better),
        ratio=ratio,
        own_family=bool(drawn.own_family[0]),
        label="AB"[int(drawn.label[0])],
        words=float(case_words(world, drawn.log_length_ratio)[0]),
    )


W = TypeVar("W", bound=World)


class BenchAgent(SyntheticAgent[W]):
    """Advocates, aggregators, and what all who read their arguments share; the numbers are those of `court`."""

    def __init__(self, world: W, seed: int = 0) -> None:
        super().__init__(world, seed)
        self._argued: tuple[tuple[Message, ...], dict[int, Heard]] = ((), {})

    @property
    def court(self) -> Courtroom:
        """The world of items and advocates."""
        found: Any = self.world
        return found if isinstance(found, Courtroom) else found.court

    @property
    def slack(self) -> float:
        return self.court.slack

    def _item(self, question: str) -> CourtItem:
        return court_item(self.court, self.streams, question)

    def bias(self, request: Request) -> float:
        """Return the reading bias toward A, in points, with what this agent reads first."""
        item = self.item(request.case.question)
        # Names are fixed, so "A" stands for the first of them.
        first = "A" if request.shown_first == request.case.sides[0] else "B"
        return float(reading_bias(self.court, item.ratio, item.own_family, first))

    def _argue(self, request: Request, stream: Stream) -> Reply:
        if request.side is None:
            raise ValueError(f"side must be given to an advocate; got side=None for {request.agent!r}")
        court, item = self.court, self.item(request.case.question)
        feedback = [m.round for m in request.seen if "reasons" in statement(m.text).facts]
        # Counted from the first round that the advocate knows: its own debate may begin after another protocol's.
        heard = max(feedback) - min(m.round for m in request.seen) + 1 if feedback else 0
        at = request.case.sides.index(request.side)
        side = self.standing("side", request.case.question, str(at))
        scale = court.upside if item.better[at] else 1.0
        strength = argued(court, scale, side, stream.normal()) + gain(court, heard)
        if court.prompt_sd:
            names = ("prompt", request.case.question, str(at), str(court.wording))
            strength += worded(court, self.standing(*names), self.standing(*names, request.agent))
        return self.say(request, stream, {"strength": strength, "heard": heard})

    def _aggregate(self, request: Request, stream: Stream) -> Reply:
        told_here = [statement(m.text).facts for m in request.seen]
        own = [(facts["strength"], facts["heard"]) for facts in told_here if "strength" in facts]
        strength, heard = joined(own, self.court.temperature) if own else (0.0, 0.0)
        return self.say(request, stream, {"joint": strength, "heard": heard})

    def heard(self, request: Request) -> dict[int, Heard]:
        """Return the defences that this agent sees, by round; those who are asked at once see the same tuple."""
        if request.seen is not self._argued[0]:
            heard = heard_by_round(request.seen, request.case.sides, self.court.temperature)
            self._argued = request.seen, heard
        return self._argued[1]

    def marks(self, rubric: Rubric, merit: Sequence[float], stream: Stream) -> list[list[float]]:
        """Return the marks of both sides on a judge's rubric, from their merits in points."""
        n = len(rubric.criteria)
        errors = np.array(stream.normals(2 + 2 * n))
        given = marks(self.court, np.array(merit)[:, None], errors[:2, None], errors[2:].reshape(2, n))
        return np.clip(given, rubric.low, rubric.high).tolist()  # type: ignore[no-any-return]  # a list of rows

    def _lengths(self, request: Request) -> tuple[float, ...]:
        court = self.court
        # Feedback to two sides, where another round may come.
        feedback = court.feedback_words if request.rounds > 1 else 0.0
        return {
            "argue": (court.defence_words,),
            "aggregate": (court.aggregate_words,),
            "judge": (feedback, feedback, court.reasons_words),
        }.get(request.act, (court.rationale_words,))

    def _prompt(self, request: Request) -> float:
        words: float = self.item(request.case.question).words
        return self.tokens_per_word * (words + self.read(request.seen))


class CourtAgent(BenchAgent[Courtroom]):
    """An agent that plays all roles of a courtroom.

    - argue: the strength is skill + u advocate_sd (sqrt(c) Z(s) + sqrt(1 - c) Z) plus the gain of as many rounds of
      feedback as the last one that the advocate sees.
    - aggregate: the softmax of the strengths that the aggregator sees.
    - judge: marks by the defences of this round that the judge sees.
    - vote: the mean reading over all rounds that the juror sees, with the effect of the persona that the protocol gives
      the juror. ``answer``, of a judge who only votes, is the same.

    Parameters
    ----------
    world : Courtroom
        ``protocol``, ``first``, ``poll``, ``memory``, ``panel`` and ``advocates`` say what the simulator draws; here
        the protocol that is played decides about these.
    seed : int
    """

    acts: ClassVar[tuple[str, ...]] = ("argue", "aggregate", "judge", "vote", "answer")

    def __init__(self, world: Courtroom, seed: int = 0) -> None:
        super().__init__(world, seed)
        effects = world.persona_effects()
        self._effects = {p.name: (p, row) for p, row in zip(world.personas, effects, strict=False)}

    def _answer(self, request: Request, stream: Stream) -> Reply:
        if request.act in ("vote", "answer"):
            return self._vote(request, stream)
        answer: Reply = getattr(self, f"_{request.act}")(request, stream)
        return answer

    def reading(self, request: Request, heard: Sequence[Heard]) -> float:
        """Return how much better A looks to a reader of these rounds, in points, before the reader's errors."""
        item = self.item(request.case.question)
        rounds = heard or (SILENCE,)
        argued_for = sum(_gap(self.world, item, at) + at.strength[0] - at.strength[1] for at in rounds)
        return float(argued_for / len(rounds)) + self.bias(request)

    def _judge(self, request: Request, stream: Stream) -> Reply:
        item, rubric, scores = self.item(request.case.question), request.slot.rubric, None
        heard = self.heard(request).get(request.round, SILENCE)
        if rubric is not None:
            lean = (_gap(self.world, item, heard) + self.bias(request)) / 2
            given = self.marks(rubric, (heard.strength[0] + lean, heard.strength[1] - lean), stream)
            scores = {
                side: dict(zip(rubric.criteria, row, strict=True))
                for side, row in zip(request.case.sides, given, strict=True)
            }
        return self.say(request, stream, scores=scores)

    def _vote(self, request: Request, stream: Stream) -> Reply:
        question, persona = request.case.question, self._persona(request)
        own = self.standing("juror", question, request.agent if persona is None else persona.name)
        diversity = self.world.plain_diversity if persona is None else self.world.persona_diversity
        if diversity < 1:
            own = standing_error(diversity, self.standing("jurors alike", question), own)
        error = juror_error(self.world, self.standing("jury", question), own, stream.normal())
        a, b = request.case.sides
        lean = self.reading(request, list(self.heard(request).values())) + error
        if persona is not None:
            lean += self._lift(request, persona)
        return self.say(request, stream, vote=a if lean > 0 else b)

    def _persona(self, request: Request) -> JurorPersona | None:
        """Return the world's persona of this juror, None where the world has none or the juror is a plain one."""
        if not self.world.personas or request.persona is None:
            return None
        if request.persona not in self._effects:
            known = ", ".join(map(repr, list(self._effects)[:8]))
            raise Refused(
                f"persona must be one of the world's ({known}{', ...' if len(self._effects) > 8 else ''}); "
                f"got persona={request.persona!r} for {request.agent!r}"
            )
        return self._effects[request.persona][0]

    def _lift(self, request: Request, persona: JurorPersona) -> float:
        """Return what the persona adds toward A, in points."""
        item = self.item(request.case.question)
        at = next(i for i, c in enumerate(self.world.categories) if c.name == item.category)
        points = float(self._effects[persona.name][1][at])
        return points if item.better[0] else -points


def _gap(world: Courtroom, item: CourtItem, heard: Heard) -> float:
    shown = sum(shown_share(world, feedback) for feedback in heard.feedback) / 2
    return float(item.gap * shown)


synthetic_agent.register(Courtroom, CourtAgent)


@synthetic_items.register
def court_items(world: Courtroom, n: int, seed: int = 0, *, first: int = 0) -> list[SyntheticItem]:
    """Return pairs of answers to compare."""
    streams = Streams(seed)

    def state(question: str) -> tuple[str, str]:
        item = court_item(world, streams, question)
        return item.label, item.category

    return item_range(n, first, state, ("A", "B"), pairs=True)
