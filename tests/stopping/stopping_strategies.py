"""Random logs and random rules for the property tests of this folder.

A rule is in all of them as soon as it can be written as text; only settings worth a case of their own are listed.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import fields
from typing import Annotated, Any, Literal

import numpy as np
from hypothesis import strategies as st

from d3stats.stopping import (
    SPRT,
    AdaptiveConsistency,
    AgreementRouting,
    BatchRule,
    BettingConfidence,
    BudgetedStopping,
    ChatEvalTurns,
    CommitWalls,
    Declaration,
    EProcess,
    ESCWindow,
    ExchangeOfThought,
    FixedRounds,
    FullDepth,
    GapPosterior,
    JudgeSPRT,
    KSStability,
    Ladder,
    LookAhead,
    NoiseAwareKS,
    Rule,
    ScoreDeclaration,
    SignAgreement,
    StatedConfidence,
    StoppingRule,
    Supermajority,
    TokenBudget,
    Unanimity,
    WideGap,
    from_text,
)
from d3stats.stopping.text import rule_names
from d3stats.trajectories import MISSING, Trajectories

PICKED: tuple[Rule, ...] = (
    FixedRounds(1),
    FixedRounds(2),
    FixedRounds(3),
    FullDepth(),
    Unanimity(),
    Unanimity(missing="block"),
    Unanimity(min_votes=1),
    Unanimity(min_votes=3),
    Supermajority(0.6),
    Ladder("3"),
    Ladder("4-3-2-1"),
    Supermajority(0.75, patience=2),
    BudgetedStopping.d3_paper(),
    BudgetedStopping.d3_code(budget=120),
    BudgetedStopping(2.5, window=2, min_rounds=3, refuse_trend=True, budget=99.5, max_rounds=4),
    SignAgreement(),
    AgreementRouting(),
    AgreementRouting(1.0, within=2),
    CommitWalls(2),
    CommitWalls(2, cost=0.2, weight=1.0, max_rounds=4),
    CommitWalls(3, cost=0.33, max_rounds=3),
    JudgeSPRT(4, 2, 2, 3, alpha=0.3, beta=0.3, low=9, high=17),
    JudgeSPRT(6, 2, 2, 6, max_rounds=2, side=1, low=9, high=17),
    WideGap(6.5),
    WideGap(3.0, within=3),
    StatedConfidence(0.6),
    StatedConfidence(0.9),
    StatedConfidence(0.5, of="mean"),
    SignAgreement(patience=3),
    ExchangeOfThought(),
    ExchangeOfThought(1.0, max_rounds=5, first=1, second=0),
    ExchangeOfThought(0.3, 0.3, max_rounds=4, first=1, second=2),
    Declaration(),
    Declaration(-2),
    Declaration(1, undecided="b"),
    ScoreDeclaration(1, at_least=14),
    ChatEvalTurns(3),
    SPRT(0.8, alpha=0.2, beta=0.2),
    SPRT(0.6, alpha=0.3, evidence="latest"),
    EProcess(0.4),
    EProcess(0.5, a=2.0, b=0.5, evidence="latest"),
    BettingConfidence(0.4, bets=5),
    BettingConfidence(0.45, evidence="latest"),
    AdaptiveConsistency(0.9),
    AdaptiveConsistency(0.8, evidence="latest"),
    ESCWindow(1),
    ESCWindow(3),
    GapPosterior(0.8, width=0.3),
    GapPosterior(0.6, width=0.2, a=0.5, b=2.0),
    LookAhead(2, p=0.6, cost=0.02),
    LookAhead(1, p=0.8, cost=0.1, evidence="latest"),
    TokenBudget(150),
    TokenBudget(200, growth=30.0),
    TokenBudget(200, next_round_max=99.0),
)
"""Settings with which per-debate rules fire in small logs, or that are at an edge."""

PICKED_FOR_BATCHES: tuple[BatchRule, ...] = (
    KSStability(0.3, patience=1),
    KSStability(0.5, patience=2),
    KSStability(0.4, patience=1, window=2, missing="wrong"),
    KSStability(0.4, patience=1, carry=Unanimity()),
    KSStability(0.4, patience=1, camp="first"),
    KSStability(0.4, patience=1, camp="largest", missing="wrong"),
    KSStability(0.6, patience=2, carry=FixedRounds(2) & Unanimity()),
    NoiseAwareKS(0.9, level=0.6, window=1),
    NoiseAwareKS(0.9, level=0.6, window=1, camp="largest"),
    NoiseAwareKS(0.95, level=0.5, window=2, carry=Unanimity(), missing="wrong"),
)
"""The same of batch rules, with an empirical distance."""


def _in_short(name: str) -> StoppingRule:
    """Return a rule with its defaults, or with 2 for what must be given."""
    try:
        return from_text(name)
    except ValueError:
        return from_text(f"{name}:2")


_CLASSES = {name: make for name, make in rule_names().items() if isinstance(make, type)}
_OTHERS = [
    _in_short(name)
    for name, make in _CLASSES.items()
    if not any(type(rule) is make for rule in PICKED + PICKED_FOR_BATCHES)
]
RULES = PICKED + tuple(rule for rule in _OTHERS if isinstance(rule, Rule))
"""At least one of every per-debate rule that can be written as text."""
BATCH_RULES = PICKED_FOR_BATCHES + tuple(rule for rule in _OTHERS if isinstance(rule, BatchRule))
"""At least one of every batch rule that can be written as text."""


def _values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a parameter's type; some may be outside of what the rule takes."""
    kind, inner = typing.get_origin(hint), typing.get_args(hint)
    if kind is Annotated:
        return _values(inner[0])
    if kind is Literal:
        return st.sampled_from(inner)
    if inner:
        return st.one_of(*map(_values, inner))
    if isinstance(hint, type) and issubclass(hint, Rule):
        return st.sampled_from(PICKED[:5])
    known: dict[Any, st.SearchStrategy[Any]] = {
        int: st.integers(0, 4),
        float: st.sampled_from([0.0, 0.2, 0.5, 0.6, 0.9, 1.0, 2.5, 30.0, 150.0]),
        bool: st.booleans(),
        str: st.sampled_from(["", "b", "2", "4-3-1"]),
        type(None): st.none(),
    }
    return known[hint]


@st.composite
def _settings(draw: st.DrawFn, make: Callable[..., Rule]) -> Rule | None:
    hints = typing.get_type_hints(make, include_extras=True)
    given = {}
    for parameter in fields(make):  # type: ignore[arg-type]  # every rule is a dataclass
        if parameter.default is NO_DEFAULT or draw(st.booleans()):
            given[parameter.name] = draw(_values(hints[parameter.name]))
    try:
        return make(**given)
    except (TypeError, ValueError):
        return None


drawn_rules: st.SearchStrategy[Rule] = (
    st.sampled_from([make for make in _CLASSES.values() if issubclass(make, Rule)])
    .flatmap(_settings)
    .filter(lambda rule: rule is not None)
)
"""Per-debate rules with any parameters that they take, made from the types of their parameters."""


def _combined(parts: st.SearchStrategy[StoppingRule]) -> st.SearchStrategy[StoppingRule]:
    return st.one_of(
        st.builds(lambda a, b: a | b, parts, parts),
        st.builds(lambda a, b: a & b, parts, parts),
        st.builds(lambda a, k: a.after(k), parts, st.integers(1, 4)),
    )


debate_rules = st.recursive(st.sampled_from(RULES), _combined, max_leaves=5)
any_rules = st.recursive(st.sampled_from(RULES + BATCH_RULES), _combined, max_leaves=5)


@st.composite
def logs(draw: st.DrawFn, min_debates: int = 1, min_rounds: int = 0) -> Trajectories:
    """Small logs: missing votes, ties, mixed panels and depths, unlabelled debates, shared questions.

    Every rule can read them: the rounds have tokens, scores and confidences, and the votes are answers in words. What
    a rule does without is tested where the rule is.
    """
    n = draw(st.integers(min_debates, 7))
    n_rounds = draw(st.integers(min_rounds, 5))
    seats = draw(st.integers(1, 4))
    correctness = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_answers = 2 if correctness else draw(st.integers(1, 3))
    votes = rng.integers(0, n_answers, size=(n, n_rounds, seats))
    # Debates that copy a seat or the round before reach agreement and stability often enough to matter.
    for r in range(n_rounds):
        copied = rng.random((n, seats)) < draw(st.sampled_from([0.0, 0.5, 0.9]))
        votes[:, r][copied] = np.broadcast_to(votes[:, r, :1], (n, seats))[copied]
        if r:
            kept = rng.random(n) < 0.4
            votes[kept, r] = votes[kept, r - 1]
    votes[rng.random(votes.shape) < draw(st.sampled_from([0.0, 0.1, 0.5]))] = MISSING
    depth = rng.integers(0, n_rounds + 1, n) if draw(st.booleans()) else np.full(n, n_rounds)
    panel = rng.integers(1, seats + 1, n) if draw(st.booleans()) else np.full(n, seats)
    votes[np.arange(n_rounds)[None, :] >= depth[:, None]] = MISSING
    votes = np.where(np.arange(seats) >= panel[:, None, None], MISSING, votes)
    label = np.ones(n, dtype=int) if correctness else rng.integers(0, n_answers, n)
    if not correctness:
        label[1:][rng.random(n - 1) < 0.2] = MISSING
    tokens = rng.integers(1, 100, size=(n, n_rounds)).astype(float)
    scores = rng.integers(10, 16, size=(n, n_rounds, 2)).astype(float)
    confidence = rng.integers(0, 11, size=votes.shape) / 10
    confidence[rng.random(votes.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    scores[rng.random(scores.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    return Trajectories.from_arrays(
        votes,
        label,
        answers=["wrong", "right"] if correctness else ["a", "b", "c"][:n_answers],
        depth=depth,
        panel=panel,
        cluster=rng.integers(0, draw(st.integers(1, n)), n),
        tokens=tokens,
        scores=scores,
        sides=("A", "B"),
        confidence=confidence,
    )
