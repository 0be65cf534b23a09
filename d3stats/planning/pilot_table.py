"""What each rule did on the pilot, as a table: Student intervals over questions, of shares the cluster Wilson."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._words import counted, verb
from d3stats.models.chains.optimum import cheapest
from d3stats.models.chains.panel_chain import PanelChainFit
from d3stats.models.chains.process import CountProcess, agreement_loss
from d3stats.planning.costs import Outcomes, outcomes, spent_by_round, tokens_by_round, undecided
from d3stats.planning.exact import evaluate
from d3stats.planning.ladders import Target
from d3stats.resampling.clusters import cluster_totals
from d3stats.resampling.proportions import share_limits
from d3stats.stopping import StoppingRule, Unanimity
from d3stats.trajectories import MISSING, Trajectories

__all__ = [
    "Estimate",
    "Limit",
    "Pilot",
    "exact_limit",
    "fan_table",
    "is_capped",
    "limit_row",
    "log_ratio",
    "pilot_loss_note",
    "plan_table",
    "ratio",
    "share",
]


class Estimate(NamedTuple):
    """A value with its limits and standard error; all NaN where nothing could be measured."""

    value: float
    low: float
    high: float
    se: float


_NOTHING = Estimate(np.nan, np.nan, np.nan, np.nan)


def _linearised(
    above: NDArray[np.float64], below: NDArray[np.float64], cluster: NDArray[np.int64]
) -> tuple[float, float, int]:
    """Return the ratio of sums, its cluster-robust standard error and the number of clusters that count."""
    totals = cluster_totals(np.column_stack([above, below]), cluster)
    totals = totals[totals[:, 1] > 0]
    n = len(totals)
    if n == 0:
        return np.nan, np.nan, 0
    value = float(totals[:, 0].sum() / totals[:, 1].sum())
    if n == 1:
        return value, np.nan, 1
    residual = (totals[:, 0] - value * totals[:, 1]) / totals[:, 1].mean()
    return value, float(np.sqrt((residual**2).sum() / (n - 1) / n)), n


def _quantile(level: float, n: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(max(n - 1, 1), (1 + level) / 2))


def ratio(above: ArrayLike, below: ArrayLike, cluster: NDArray[np.int64], level: float) -> Estimate:
    """Return the ratio of two sums over debates with a Student interval over questions."""
    value, se, n = _linearised(np.asarray(above, np.float64), np.asarray(below, np.float64), cluster)
    if n < 2:
        return _NOTHING._replace(value=value)
    half = _quantile(level, n) * se
    return Estimate(value, value - half, value + half, se)


def share(hits: ArrayLike, counted: ArrayLike, cluster: NDArray[np.int64], level: float) -> Estimate:
    """Return a share with its cluster Wilson interval over questions, see :func:`share_limits`."""
    columns = np.column_stack([np.asarray(hits, np.float64), np.asarray(counted, np.float64)])
    above, below = cluster_totals(columns, cluster).T
    value = float(above.sum() / below.sum()) if below.any() else np.nan
    found = share_limits(above, below, level)
    return Estimate(value, *(np.nan if x is None else x for x in (found.low, found.high, found.se)))


def log_ratio(above: ArrayLike, below: ArrayLike, cluster: NDArray[np.int64], level: float) -> Estimate:
    """Return one minus the ratio of two sums, its interval made on the log scale of the ratio."""
    value, se, n = _linearised(np.asarray(above, np.float64), np.asarray(below, np.float64), cluster)
    if n < 2 or value <= 0:
        return _NOTHING if n == 0 else _NOTHING._replace(value=1 - value)
    factor = np.exp(_quantile(level, n) * se / value)
    return Estimate(1 - value, float(1 - value * factor), float(1 - value / factor), se)


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


@dataclass(frozen=True, eq=False)
class _Spent:
    """What each debate cost, 0 where that is not known, and where it is known."""

    amount: Floats
    known: NDArray[np.bool_]

    @classmethod
    def at(cls, spent: Floats, rounds: NDArray[np.int64]) -> _Spent:
        amount = spent[np.arange(len(rounds)), rounds]
        known = ~np.isnan(amount)
        return cls(np.where(known, amount, 0.0), known)


@dataclass(frozen=True, eq=False)
class _Played:
    """One rule's stops on the pilot."""

    stops: NDArray[np.int64]
    cost: _Spent
    results: Outcomes
    undecided: int

    def kept(self, target: Target) -> tuple[Floats, Floats]:
        """Return which debates keep their verdict, and which are counted."""
        r = self.results
        hits, counted = (r.correct & r.scored, r.scored) if target == "accuracy" else (r.agrees, r.compared)
        return hits.astype(np.float64), counted.astype(np.float64)


def _played(pilot: Pilot, rule: StoppingRule) -> _Played:
    stops = rule.stop_rounds(pilot.log)
    return _Played(
        stops.rounds,
        _Spent.at(pilot.cost, stops.rounds),
        outcomes(pilot.log, stops, "exclude", None),
        int(undecided(pilot.log, stops).sum()),
    )


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
    incumbent = _played(pilot, Unanimity())
    rows = []
    for i, rule in enumerate(rules):
        played = incumbent if isinstance(rule, Unanimity) else _played(pilot, rule)
        role = "recommended" if i == 0 else "incumbent" if isinstance(rule, Unanimity) else "compared"
        row: dict[str, Any] = {"rule": str(rule), "role": role, "undecided": played.undecided}
        row |= _levels(pilot, played, incumbent, level, debates)
        if str(rule) in differences and not (capped and played.undecided):
            loss, limits, within = _from_draws(differences[str(rule)], level, max_loss)
            row |= _spread("loss", loss, *limits) | {"p_within": within, "loss_from": "chain"}
        else:
            row |= _paired(pilot, played, incumbent, level, max_loss) | {"loss_from": "pilot"}
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


def _row(name: str, found: Estimate, factor: float = 1.0) -> dict[str, float]:
    return _spread(name, found.value * factor, found.low * factor, found.high * factor)


def _within(found: Estimate, least: float, most: float) -> Estimate:
    """Cut an interval where no value can lie."""
    return found._replace(low=float(np.fmax(found.low, least)), high=float(np.fmin(found.high, most)))


def _levels(pilot: Pilot, played: _Played, incumbent: _Played, level: float, debates: int) -> dict[str, Any]:
    log, cluster = pilot.log, pilot.log.cluster
    if played.undecided:
        return _unknown_levels(pilot)
    nothing = Estimate(np.nan, np.nan, np.nan, np.nan)

    def mean(spent: _Spent) -> Estimate:
        return _within(ratio(spent.amount, spent.known, cluster, level), 0.0, np.inf)

    def mean_of(spent: Floats | None) -> Estimate:
        return nothing if spent is None else mean(_Spent.at(spent, played.stops))

    rounds = ratio(played.stops.astype(np.float64), np.ones(len(cluster)), cluster, level)
    row: dict[str, Any] = _row("rounds", _within(rounds, 1.0, float(log.n_rounds)))
    row |= _row("tokens", mean_of(pilot.spent))
    row |= _row("dollars", mean_of(pilot.paid), _DOLLARS)
    row |= _row("kept", share(*played.kept(pilot.target), cluster, level))
    if (log.label != MISSING).any():
        row |= _row("accuracy", share(*played.kept("accuracy"), cluster, level))
    else:
        row |= _row("accuracy", nothing)
    # A debate's cost is known at every stop or at none.
    saved = log_ratio(played.cost.amount, incumbent.cost.amount, cluster, level)
    row |= _row("saved", nothing if incumbent.undecided else saved)
    cost, amounts = mean(played.cost), played.cost.amount[played.cost.known]
    spread = float(amounts.std(ddof=1)) if len(amounts) > 1 else 0.0
    # New debates bring their own spread, beside the pilot's error of their mean.
    error = np.hypot(debates * cost.se, np.sqrt(debates) * spread)
    half = (cost.high - cost.value) / cost.se * error if cost.se > 0 else 0.0
    total = debates * cost.value
    row |= _row("total", Estimate(total, max(total - half, 0.0), total + half, error), pilot.factor)
    return row | {
        "total_unit": pilot.unit,
        "cost_se": cost.se * pilot.factor,
        "cost_sd": spread * pilot.factor,
    }


def _unknown_levels(pilot: Pilot) -> dict[str, Any]:
    """Return the levels of a rule that would have gone on after the end of a debate: none is known."""
    row: dict[str, Any] = {}
    for name in ("rounds", "tokens", "dollars", "kept", "accuracy", "saved", "total"):
        row |= _spread(name, np.nan, np.nan, np.nan)
    return row | {"total_unit": pilot.unit, "cost_se": np.nan, "cost_sd": np.nan}


def _from_draws(draws: Floats, level: float, max_loss: float) -> tuple[float, tuple[float, float], float]:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(draws.mean()), (float(low), float(high)), float(np.mean(draws <= max_loss))


def _paired(
    pilot: Pilot, played: _Played, incumbent: _Played, level: float, max_loss: float
) -> dict[str, float]:
    """Return the loss counted on the pilot itself, debates kept by one rule and lost by the other."""
    from scipy.special import stdtr

    if played.undecided or incumbent.undecided:
        return _spread("loss", np.nan, np.nan, np.nan) | {"p_within": np.nan}
    mine, counted = played.kept(pilot.target)
    theirs, also = incumbent.kept(pilot.target)
    both = counted * also
    found = _within(ratio((theirs - mine) * both, both, pilot.log.cluster, level), -1.0, 1.0)
    n = pilot.n_questions
    if not found.se > 0:
        # No debate differs: the pilot cannot put an error on the difference, only a bound of 3 / n.
        return _spread("loss", found.value, np.nan, np.nan) | {"p_within": np.nan}
    within = float(stdtr(max(n - 1, 1), (max_loss - found.value) / found.se))
    return _row("loss", found) | {"p_within": within}


def pilot_loss_note(pilot: Pilot, rule: StoppingRule, max_loss: float) -> list[str]:
    """Warn when the recommended rule already lost more than it may on the pilot itself."""
    found = _paired(pilot, _played(pilot, rule), _played(pilot, Unanimity()), 0.9, max_loss)
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
