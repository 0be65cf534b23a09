"""What each rule did on the pilot, as a table: Student intervals over questions, of shares the cluster Wilson."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._words import counted, verb
from d3stats.models.chains.optimum import cheapest
from d3stats.models.chains.panel_chain import PanelChainFit
from d3stats.models.chains.process import CountProcess, agreement_loss
from d3stats.planning.costs import (
    MEASURES,
    SHARES,
    Measured,
    Outcomes,
    Target,
    log_ratio,
    outcomes,
    ratio,
    share,
    spent_by_round,
    tokens_by_round,
    undecided,
)
from d3stats.planning.exact import evaluate
from d3stats.stopping import StoppingRule, Unanimity
from d3stats.trajectories import MISSING, Trajectories

__all__ = [
    "Limit",
    "Pilot",
    "exact_limit",
    "fan_table",
    "is_capped",
    "limit_row",
    "pilot_loss_note",
    "plan_table",
]


Floats = NDArray[np.float64]
_FAN_LEVELS = (0.5, 0.8, 0.95)
_DOLLARS = 1e-6
"""Costs are kept in millionths of a dollar, so that they are numbers of the size of tokens."""


@dataclass(frozen=True, eq=False)
class Pilot:
    """The pilot with what was spent by the end of each round: tokens and micro-dollars, or None.

    Rules are chosen and compared by `cost`: dollars where rounds have prices, else tokens, else rounds.
    """

    log: Trajectories
    target: Target
    spent: Floats | None
    paid: Floats | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, log: Trajectories, target: Target, dollars: Floats | None) -> Pilot:
        """Read the tokens, and say what is missing; `dollars` is what each round of each debate cost."""
        spent = tokens_by_round(log)
        paid = None if dollars is None else spent_by_round(log, dollars / _DOLLARS)
        notes = []
        if spent is None:
            notes.append(
                "no debate of the pilot has tokens in every round: rounds stand for cost, and later rounds cost more"
            )
        elif (unknown := int(np.isnan(spent[:, -1]).sum())) > 0:
            notes.append(
                f"{counted(unknown, 'debate')} {verb(unknown, 'has', 'have')} a round without tokens: left out of "
                "tokens and dollars"
            )
        if paid is not None and spent is not None:
            unpriced = int((np.isnan(paid[:, -1]) & ~np.isnan(spent[:, -1])).sum())
            if unpriced:
                notes.append(
                    f"{counted(unpriced, 'more debate')} {verb(unpriced, 'has', 'have')} a round whose prompt and "
                    "completion tokens are not recorded apart: left out of dollars"
                )
        questions = len(np.unique(log.cluster))
        if questions < 20:
            notes.append(
                f"only {questions} questions: no interval here is to be trusted, and the prior decides much"
            )
        labelled = int((log.label != MISSING).sum())
        if 0 < labelled < 20:
            notes.append(f"only {labelled} debates have a label: their accuracy says next to nothing")
        return cls(log, target, spent, paid, tuple(notes))

    @property
    def n_questions(self) -> int:
        """Questions in the pilot."""
        return len(np.unique(self.log.cluster))

    @property
    def unit(self) -> str:
        """What rules are compared by: "dollars", "tokens" or "rounds"; prices of 0 compare nothing."""
        if self.paid is not None and np.nansum(self.paid) > 0:
            return "dollars"
        return "rounds" if self.spent is None else "tokens"

    @property
    def factor(self) -> float:
        """One unit of `cost`, in `unit`."""
        return _DOLLARS if self.unit == "dollars" else 1.0

    @property
    def cost(self) -> Floats:
        """What was spent by the end of each round, shape (debates, rounds + 1)."""
        found = {"dollars": self.paid, "tokens": self.spent, "rounds": None}[self.unit]
        if found is not None:
            return found
        return np.broadcast_to(
            np.arange(self.log.n_rounds + 1.0), (self.log.n_debates, self.log.n_rounds + 1)
        )

    def cost_by_round(self) -> Floats:
        """Return the mean cost of each round, shape (rounds,)."""
        return self._mean_by_round(self.cost)

    def tokens_by_round(self) -> Floats | None:
        """Return the mean tokens of each round, shape (rounds,), or None."""
        return None if self.spent is None else self._mean_by_round(self.spent)

    def _mean_by_round(self, spent: Floats) -> Floats:
        each = np.diff(spent, axis=1)
        played = self.log.reached() & ~np.isnan(each)
        total = np.where(played, np.nan_to_num(each), 0.0).sum(axis=0)
        return np.asarray(total / np.maximum(played.sum(axis=0), 1))


def _played(pilot: Pilot, rule: StoppingRule) -> tuple[Outcomes, int]:
    """Return what a rule's stops gave, and in how many debates it is undecided."""
    stops = rule.stop_rounds(pilot.log)
    found = outcomes(pilot.log, stops.rounds, tokens=pilot.spent, dollars=pilot.paid, cost=pilot.cost)
    return found, int(undecided(pilot.log, stops).sum())


def plan_table(
    pilot: Pilot,
    rules: Sequence[StoppingRule],
    differences: Mapping[str, Floats],
    *,
    level: float,
    max_loss: float,
    debates: int,
    capped: bool,
) -> pd.DataFrame:
    """Return the rows of a plan; the first rule is the recommended one.

    Parameters
    ----------
    differences : mapping of str to ndarray, shape (draws,)
        Loss against unanimity under the chain, for the rules that it can tell of.
    capped : bool
        Whether the chain ends where a stopping rule cut debates off, see :func:`is_capped`: it then tells nothing of a
        rule that would have gone on.
    """
    incumbent, beyond = _played(pilot, Unanimity())
    rows = []
    for i, rule in enumerate(rules):
        played, ended = (incumbent, beyond) if isinstance(rule, Unanimity) else _played(pilot, rule)
        role = "recommended" if i == 0 else "incumbent" if isinstance(rule, Unanimity) else "compared"
        row: dict[str, Any] = {"rule": str(rule), "role": role, "undecided": ended}
        row |= _levels(pilot, None if ended else played, None if beyond else incumbent, level, debates)
        if str(rule) in differences and not (capped and ended):
            draws = differences[str(rule)]
            limits = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
            row |= _spread("loss", float(draws.mean()), *map(float, limits))
            row |= {"p_within": float(np.mean(draws <= max_loss)), "loss_from": "chain"}
        else:
            compared = None if ended or beyond else (played, incumbent)
            row |= _paired(pilot, compared, level, max_loss) | {"loss_from": "pilot"}
        rows.append(row | {"level": level})
    return pd.DataFrame(rows)


def is_capped(log: Trajectories) -> bool:
    """Whether a stopping rule ended debates in the log's last round in which unanimity would have gone on."""
    went_on = undecided(log, Unanimity().stop_rounds(log))
    return bool((went_on & (log.depth == log.n_rounds)).any())


def _spread(name: str, value: float, low: float, high: float) -> dict[str, float]:
    """Return an estimate and its limits; an interval without width is none."""
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        low = high = np.nan
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _row(
    name: str, found: Measured, factor: float = 1.0, least: float = -np.inf, most: float = np.inf
) -> dict[str, float]:
    """Return an estimate and its limits, cut where no value can lie."""
    low, high = float(np.fmax(found.low, least)), float(np.fmin(found.high, most))
    if np.isnan(found.low):
        low = high = np.nan
    return _spread(name, found.value * factor, low * factor, high * factor)


def _levels(
    pilot: Pilot, played: Outcomes | None, incumbent: Outcomes | None, level: float, debates: int
) -> dict[str, Any]:
    """Return what a rule cost and kept; None is a rule that would have gone on after the end of a debate."""
    cluster, nothing = pilot.log.cluster, Measured()

    def told(measure: str) -> Measured:
        above, _ = MEASURES[measure]
        if played is None or (above in ("tokens", "dollars") and above not in played.spent):
            return nothing
        if measure == "accuracy" and not (pilot.log.label != MISSING).any():
            return nothing
        return (share if measure in SHARES else ratio)(*played.of(measure), cluster, level)

    row: dict[str, Any] = _row("rounds", told("rounds"), 1.0, 1.0, float(pilot.log.n_rounds))
    row |= _row("tokens", told("tokens"), 1.0, 0.0) | _row("dollars", told("dollars"), _DOLLARS, 0.0)
    row |= _row("kept", told(pilot.target)) | _row("accuracy", told("accuracy"))
    if played is None:
        row |= _row("saved", nothing) | _row("total", nothing)
        return row | {"total_unit": pilot.unit, "cost_se": np.nan, "cost_sd": np.nan}
    # A debate's cost is known at every stop or at none.
    amount, known = played.column("cost"), played.column("known_cost")
    saved = nothing if incumbent is None else log_ratio(amount, incumbent.column("cost"), cluster, level)
    cost, amounts = ratio(amount, known, cluster, level), amount[known > 0]
    spread = float(amounts.std(ddof=1)) if len(amounts) > 1 else 0.0
    # New debates bring their own spread, beside the pilot's error of their mean.
    error = np.hypot(debates * cost.se, np.sqrt(debates) * spread)
    half = (cost.high - cost.value) / cost.se * error if cost.se > 0 else 0.0
    total = debates * cost.value
    row |= _row("saved", saved) | _row(
        "total", Measured(total, total - half, total + half), pilot.factor, 0.0
    )
    return row | {
        "total_unit": pilot.unit,
        "cost_se": cost.se * pilot.factor,
        "cost_sd": spread * pilot.factor,
    }


def _paired(
    pilot: Pilot, compared: tuple[Outcomes, Outcomes] | None, level: float, max_loss: float
) -> dict[str, float]:
    """Return the loss counted on the pilot itself, debates kept by one rule and lost by the other."""
    from scipy.special import stdtr

    unknown = {"p_within": np.nan}
    if compared is None:
        return _row("loss", Measured()) | unknown
    (mine, counted), (theirs, also) = (one.of(pilot.target) for one in compared)
    both = counted * also
    found = ratio((theirs - mine) * both, both, pilot.log.cluster, level)
    if not found.se > 0:
        # No debate differs: the pilot cannot put an error on the difference, only a bound of 3 / n.
        return _row("loss", Measured(found.value)) | unknown
    within = float(stdtr(max(pilot.n_questions - 1, 1), (max_loss - found.value) / found.se))
    return _row("loss", found, 1.0, -1.0, 1.0) | {"p_within": within}


def pilot_loss_note(pilot: Pilot, rule: StoppingRule, max_loss: float) -> list[str]:
    """Warn when the recommended rule already lost more than it may on the pilot itself."""
    (played, ended), (incumbent, beyond) = _played(pilot, rule), _played(pilot, Unanimity())
    found = _paired(pilot, None if ended or beyond else (played, incumbent), 0.9, max_loss)
    if not found["loss"] > max_loss:
        return []
    return [
        f"on the pilot itself {rule} lost {found['loss']:.3f} [{found['loss_low']:.3f}, {found['loss_high']:.3f}] "
        f"against unanimity, more than it may: the chain takes that for chance; if late rounds are known to "
        f"mend verdicts, do not cut them"
    ]


def fan_table(table: pd.DataFrame, debates: int, points: int) -> pd.DataFrame:
    """Return cost against debates for the recommended rule and unanimity; see ``Plan.fan``."""
    from scipy.special import ndtri

    rows = []
    at = np.unique(np.round(np.linspace(1, debates, points)).astype(int))
    for row in table.to_dict("records"):
        if row["role"] not in ("recommended", "incumbent") or row["undecided"] > 0:
            continue
        mean = row["total"] / debates
        for level in _FAN_LEVELS:
            half = ndtri((1 + level) / 2) * np.hypot(at * row["cost_se"], np.sqrt(at) * row["cost_sd"])
            rows.append(
                pd.DataFrame(
                    {
                        "rule": row["rule"],
                        "role": row["role"],
                        "debates": at,
                        "level": level,
                        "unit": row["total_unit"],
                        "cost": mean * at,
                        "low": np.maximum(mean * at - half, 0.0),
                        "high": mean * at + half,
                    }
                )
            )
    if not rows:
        raise ValueError(
            "pilot must be played as long as the recommended rule or unanimity would, for a cost to draw; got debates "
            "that ended before either would have stopped"
        )
    return pd.concat(rows, ignore_index=True)


_NODES = 2
"""Classes of easiness within a kind, in the limit: beliefs over more take minutes."""


class Limit:
    """The cheapest optimal policy within a loss of unanimity, and what it spends.

    Attributes
    ----------
    rounds, tokens, kept : float
        Expected, per debate.
    law : ndarray of float
        Probability of stopping after each round.
    unanimity_tokens, unanimity_kept : float
    """

    def __init__(
        self, process: CountProcess, tokens: Floats, max_loss: float, target: Target, max_beliefs: int = 2_000
    ) -> None:
        unanimity = evaluate(process, Unanimity(), tokens)
        self.unanimity_tokens = float(unanimity.tokens or np.nan)
        self.unanimity_kept = float(unanimity.accuracy if target == "accuracy" else unanimity.agreement)
        loss = None if target == "accuracy" else agreement_loss(process)
        allowed = min(1.0, 1.0 - self.unanimity_kept + max_loss)
        policy = cheapest(process, allowed, tokens=tokens, loss=loss, max_beliefs=max_beliefs)
        self.law: Floats = policy.stop_rounds_law().astype(np.float64)
        self.rounds = self.spent(np.ones(len(self.law)))
        self.tokens = self.spent(tokens)
        self.kept = 1.0 - float(policy.expected_loss)

    def spent(self, cost: Floats) -> float:
        """Return what it spends when each round costs so much."""
        return float((self.law * np.cumsum(cost)).sum())

    @property
    def saved(self) -> float:
        """One minus the ratio of its tokens to unanimity's."""
        return 1.0 - self.tokens / self.unanimity_tokens


def exact_limit(
    process: CountProcess, tokens: Floats, max_loss: float, target: Target, max_beliefs: int = 2_000
) -> Limit:
    """Return the best that a known process allows: no rule on counts is cheaper and loses no more."""
    return Limit(process, tokens, max_loss, target, max_beliefs)


def limit_row(fit: PanelChainFit, panel: int, pilot: Pilot, max_loss: float) -> dict[str, Any]:
    """Return the last row of a plan's table: the exact optimum of the fitted chain, no interval around it."""
    cost, tokens, target = pilot.cost_by_round(), pilot.tokens_by_round(), pilot.target
    process = fit.process(panel, len(cost), labelled=target == "accuracy", nodes=_NODES)
    limit = exact_limit(process, cost, max_loss, target)
    return {
        "rule": "optimum of the fitted chain",
        "role": "limit",
        "undecided": 0,
        "rounds": limit.rounds,
        "tokens": np.nan if tokens is None else limit.spent(tokens),
        "dollars": np.nan if pilot.unit != "dollars" else limit.tokens * pilot.factor,
        "kept": limit.kept,
        "accuracy": limit.kept if target == "accuracy" else np.nan,
        "saved": limit.saved,
        "loss": limit.unanimity_kept - limit.kept,
        "loss_from": "chain",
    }
