"""From a pilot to a plan: which rule to run, what it will cost and how often it will be right.

The baseline is unanimity. A plan picks the cheapest *ladder* (votes that the largest camp needs, falling with
the rounds) that loses at most `max_loss` against unanimity with probability `confidence`. That difference is
too small to count in a few dozen debates, so it comes from a fitted chain
(:mod:`d3stats.models.chains.panel_chain`), over draws of its parameters, with an allowance for what the chain
misses (``d3stats.planning.misfit``). The cost and accuracy of a rule are counted on the pilot itself, with
skewness-adjusted cluster t intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, integer, probability
from d3stats._check import loss as allowed_loss
from d3stats._words import Advised, counted, counted_points, likely, percent, points, verb
from d3stats.models.chains import panel_chain as chain
from d3stats.models.chains.optimum import cheapest, solve
from d3stats.models.chains.panel_chain import ChainLaws, PanelChainFit, chain_laws, fit_panel_chains
from d3stats.models.chains.process import CountProcess, agreement_loss
from d3stats.note import Note, severity_of, warning, worst_first
from d3stats.planning.cells import Write, amount, cells, change_cell, limits_of, rule_cell, share_cell
from d3stats.planning.costs import (
    MEASURES,
    SHARES,
    Measured,
    Outcomes,
    Target,
    as_rules,
    bill,
    bill_of,
    early_notes,
    log_ratio,
    outcomes,
    paired_change,
    ratio,
    refuse_votes_at_the_end,
    share,
    spent_by_round,
    tokens_by_round,
    tokens_missing,
    undecided,
    with_turns,
)
from d3stats.planning.exact import evaluate
from d3stats.planning.frontier import Candidate, best_by_cost, earlier_stop, frontier_table, most_accurate
from d3stats.planning.ladders import (
    Coded,
    Evaluated,
    code_votes,
    evaluate_ladders,
    evaluate_thresholds,
    in_words,
    rule_of,
    thresholds_of,
)
from d3stats.planning.misfit import ChainLoss, PilotLosses
from d3stats.planning.prices import Price, RoundDollars, dollars_by_round
from d3stats.polling import reads_votes
from d3stats.resampling.degrees import too_unequal, unequal_clusters
from d3stats.result import Result
from d3stats.sources import LogSource, Opened, Reading, open
from d3stats.sources.strata import kinds_of_debates
from d3stats.stopping import (
    FixedRounds,
    FullDepth,
    KSStability,
    NoiseAwareKS,
    Rule,
    StoppingRule,
    Unanimity,
)
from d3stats.stopping.text import short_name
from d3stats.trajectories import MISSING, Trajectories

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Limit",
    "Pilot",
    "Plan",
    "check_chain",
    "draw_counts",
    "exact_limit",
    "plan",
    "plan_reason",
    "untold",
]


INTERVALS = (
    "skewness-adjusted cluster t; accuracy: cluster Wilson; change: paired t; loss: equal-tailed over draws "
    "and misfit"
)

UNLIKE = "chain unlike the pilot"
LOST = "lost on the pilot"
CLOSE = "too close to tell"

_DRAWS = 0
"""The seed of the parameter draws: plans use the same, so that a recommendation does not depend on the seed."""

_KEPT = {"accuracy": "accuracy", "agreement": "agreement with full depth"}


def plan_reason(
    rule: Rule,
    probability: float,
    confidence: float,
    max_loss: float,
    count: int,
    target: Target,
    at_most: int | None,
) -> str:
    """Say why this rule; `at_most` is how many rounds the chain is followed where the pilot was cut off there."""
    within = "" if at_most is None else f" in debates of at most {counted(at_most, 'round')}"
    if isinstance(rule, Unanimity):
        return (
            f"none of {count} ladders is cheaper than unanimity and has an {_KEPT[target]} at most {max_loss:g} below "
            f"unanimity's{within} with probability {confidence:g}"
        )
    return (
        f"the cheapest of {count} ladders whose {_KEPT[target]} is at most {max_loss:g} below unanimity's{within} "
        f"with probability {confidence:g} or more; here {likely(probability)}"
    )


def draw_counts(laws: ChainLaws, n_debates: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw counts of ones from every parameter draw, shape (draws, debates, rounds)."""
    draws, nodes, size = laws.initial.shape
    n_rounds = laws.steps.shape[1] + 1
    edges = np.cumsum(laws.weight, axis=1)[:, None, :]
    node = np.minimum((edges < rng.random((draws, n_debates, 1))).sum(axis=2), nodes - 1)
    row = np.arange(draws)[:, None]
    counts = np.empty((draws, n_debates, n_rounds), dtype=np.int64)
    law = laws.initial[row, node]
    for t in range(n_rounds):
        u = rng.random((draws, n_debates, 1))
        counts[:, :, t] = np.minimum((np.cumsum(law, axis=2) < u).sum(axis=2), size - 1)
        if t + 1 < n_rounds:
            law = laws.steps[row, t, node, counts[:, :, t]]
    return counts


def _statistics(counts: NDArray[np.int64], n: int) -> dict[tuple[str, int], Floats]:
    """Return what is compared, by name and round; counts of shape (..., debates, rounds)."""
    found: dict[tuple[str, int], Floats] = {}
    n_rounds = counts.shape[-1]
    for t in sorted({0, min(1, n_rounds - 1), n_rounds // 2, n_rounds - 1}):
        found["mean share", t + 1] = counts[..., t].mean(axis=-1) / n
        found["unanimous", t + 1] = ((counts[..., t] == 0) | (counts[..., t] == n)).mean(axis=-1)
        found["majority", t + 1] = (2 * counts[..., t] > n).mean(axis=-1)
    if n_rounds == 1:
        return found
    moved = (2 * counts[..., 0] > n) != (2 * counts[..., -1] > n)
    found["majority changed since round 1", n_rounds] = moved.mean(axis=-1)
    step = np.abs(np.diff(counts, axis=-1)).mean(axis=(-1, -2)) / n
    found["mean change in a round", n_rounds] = step
    return found


def check_chain(laws: ChainLaws, votes: NDArray[np.int8], rng: np.random.Generator) -> pd.DataFrame:
    """Compare the pilot with pilots of the same size drawn from the fitted chain.

    Only debates in which every seat voted in every round are compared, so that counts mean the same. `votes`
    may hold only the first rounds, which every debate played, because debates that continued differ from the
    others.

    Returns
    -------
    DataFrame
        ``statistic, round, pilot, predicted, low, high, p_value``: limits hold 90 % of the replicates, and the
        p-value is the two-sided share of replicates at least as far out.
    """
    whole = votes[(votes != -1).all(axis=(1, 2))]
    columns = ["statistic", "round", "pilot", "predicted", "low", "high", "p_value"]
    if len(whole) < 2:
        return pd.DataFrame(columns=columns)
    n = whole.shape[2]
    seen = _statistics((whole == 1).sum(axis=2)[None], n)
    drawn = _statistics(draw_counts(laws, len(whole), rng)[:, :, : whole.shape[1]], n)
    rows = []
    for key, value in seen.items():
        replicate, here = drawn[key], float(value[0])
        above, below = np.mean(replicate >= here - 1e-12), np.mean(replicate <= here + 1e-12)
        low, high = np.quantile(replicate, [0.05, 0.95])
        rows.append((*key, here, float(replicate.mean()), low, high, min(1.0, 2 * min(above, below))))
    return pd.DataFrame(rows, columns=columns)


def untold(
    fit: PanelChainFit,
    checks: pd.DataFrame,
    max_loss: float,
    confidence: float,
    n_questions: int,
) -> list[str]:
    """Return the limits of the pilot as sentences."""
    notes = []
    if max_loss > 0:
        needed = int(np.ceil(np.log(1 - confidence) / np.log1p(-max_loss)))
        notes.append(
            f"without the chain, {needed} questions without a single lost verdict would be needed to show a loss "
            f"of at most {max_loss:g} with confidence {confidence:g}; the pilot has {n_questions}, so the "
            "probability depends on the chain"
        )
    prior = chain.PRIOR_SD[: len(fit.params)]
    blind = [name for name, se, sd in zip(fit.params.index, fit.bse, prior, strict=True) if se > 0.8 * sd]
    if blind:
        notes.append(
            f"the pilot says little about the chain's {', '.join(blind)}, so "
            f"{'its value comes' if len(blind) == 1 else 'their values come'} mostly from the prior"
        )
    if fit.boundary:
        notes.append(f"{', '.join(fit.boundary)} ended at a bound, so their errors are not reliable")
    off = checks[checks["p_value"] < 0.02]
    if len(off) > 0:
        worst = ", ".join(f"{s} in round {r}" for s, r in zip(off["statistic"], off["round"], strict=True))
        notes.append(
            warning(f"the chain does not reproduce the pilot's {worst}, so its loss is uncertain", UNLIKE)
        )
    if fit.design_effect > 1.05:
        notes.append(
            f"the questions differ more than the chain expects, so what the pilot says of its parameters is divided "
            f"by {fit.design_effect:z.2f}"
        )
    return notes


_FAN_LEVELS = (0.5, 0.8, 0.95)
_DOLLARS = 1e-6
"""Costs are kept in millionths of a dollar, so that they are numbers of the size of tokens."""


@dataclass(frozen=True, eq=False)
class Pilot:
    """The pilot with what was spent by the end of each round: tokens and micro-dollars, or None.

    Rules are chosen and compared by `cost`: dollars where rounds have prices, else tokens, else rounds. ``spent_once``
    and ``paid_once`` are those of rules that read no votes, see :func:`~d3stats.planning.costs.bill`.
    """

    log: Trajectories
    target: Target
    spent: Floats | None
    paid: Floats | None
    spent_once: Floats | None
    paid_once: Floats | None
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, log: Trajectories, target: Target, dollars: Floats | None, polls: Floats | None = None
    ) -> Pilot:
        """Read the tokens, and say what is missing.

        `dollars` is what each round of each debate cost, `polls` the part of it that was paid for votes alone.
        """
        spent = tokens_by_round(log)
        paid = None if dollars is None else spent_by_round(log, dollars / _DOLLARS)
        once = None
        if paid is not None and dollars is not None:
            once = bill_of(log, FullDepth(), dollars / _DOLLARS, None if polls is None else polls / _DOLLARS)
            once = np.full_like(paid, np.nan) if once is None else once
        notes = []
        if spent is None:
            notes.append(
                "no debate of the pilot has tokens in every round, so cost is measured in rounds, although "
                "later rounds cost more"
            )
        elif (unknown := int(np.isnan(spent[:, -1]).sum())) > 0:
            text = (
                f"{counted(unknown, 'debate')} {verb(unknown, 'has', 'have')} a round without tokens: left out of "
                "tokens and dollars"
            )
            notes.append(tokens_missing(text, unknown, len(spent)))
        if paid is not None and spent is not None:
            unpriced = int((np.isnan(paid[:, -1]) & ~np.isnan(spent[:, -1])).sum())
            if unpriced:
                notes.append(
                    f"{counted(unpriced, 'more debate')} {verb(unpriced, 'has', 'have')} a round whose prompt and "
                    "completion tokens are not recorded apart: left out of dollars"
                )
        questions = len(np.unique(log.cluster))
        notes += unequal_clusters(
            np.asarray(log.cluster_names, dtype=object)[log.cluster], "question", "debate"
        )
        if questions < 20:
            notes.append(
                f"only {counted(questions, 'question')}, so no interval is reliable and the prior has much influence"
            )
        labelled = int((log.label != MISSING).sum())
        if 0 < labelled < 20:
            notes.append(
                f"only {counted(labelled, 'debate')} {verb(labelled, 'has', 'have')} a label: their accuracy says next "
                "to nothing"
            )
        return cls(log, target, spent, paid, bill(log, FullDepth()), once, tuple(notes))

    @property
    def n_questions(self) -> int:
        """Questions in the pilot."""
        return len(np.unique(self.log.cluster))

    @property
    def unit(self) -> str:
        """Unit of the comparison of rules: "dollars", "tokens" or "rounds"; prices of 0 compare nothing."""
        if self.paid is not None and np.nansum(self.paid) > 0:
            return "dollars"
        return "rounds" if self.spent is None else "tokens"

    @property
    def factor(self) -> float:
        """One unit of `cost`, in `unit`."""
        return _DOLLARS if self.unit == "dollars" else 1.0

    @property
    def cost(self) -> Floats:
        """Cost of a rule that reads votes by the end of each round, shape (debates, rounds + 1)."""
        return self._cost(self.paid, self.spent)

    def bills(self, rule: StoppingRule) -> dict[str, Floats | None]:
        """Return what a run with a rule costs that stops after each round, in tokens, dollars and `unit`."""
        asks = reads_votes(rule)
        spent, paid = (self.spent, self.paid) if asks else (self.spent_once, self.paid_once)
        return {"tokens": spent, "dollars": paid, "cost": self._cost(paid, spent)}

    def _cost(self, paid: Floats | None, spent: Floats | None) -> Floats:
        found = {"dollars": paid, "tokens": spent, "rounds": None}[self.unit]
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
    found = outcomes(pilot.log, stops.rounds, "exclude", **pilot.bills(rule))
    return found, int(undecided(pilot.log, stops).sum())


def plan_table(
    pilot: Pilot,
    rules: Sequence[StoppingRule],
    losses: Mapping[str, ChainLoss],
    *,
    level: float,
    max_loss: float,
    debates: int,
    capped: bool,
) -> pd.DataFrame:
    """Return the rows of a plan; the first rule is the recommended one.

    Parameters
    ----------
    losses : mapping of str to ChainLoss
        Loss against unanimity under the chain, for the rules that it can tell of.
    capped : bool
        Whether the chain ends where a stopping rule cut debates off, see :func:`is_capped`: the chain then
        has no information about a rule that would continue.
    """
    incumbent, beyond = _played(pilot, Unanimity())
    rows = []
    for i, rule in enumerate(rules):
        played, ended = (incumbent, beyond) if isinstance(rule, Unanimity) else _played(pilot, rule)
        role = "recommended" if i == 0 else "incumbent" if isinstance(rule, Unanimity) else "compared"
        row: dict[str, Any] = {"rule": str(rule), "role": role, "undecided": ended}
        row |= _levels(pilot, None if ended else played, None if beyond else incumbent, level, debates)
        if str(rule) in losses and not (capped and ended):
            lost = losses[str(rule)]
            row |= _spread("loss", float(lost.mean.mean()), *lost.limits(level))
            row |= {"p_within": lost.within(max_loss), "loss_from": "chain"}
        else:
            compared = None if ended or beyond else (played, incumbent)
            row |= _paired(pilot, compared, level, max_loss) | {"loss_from": "pilot"}
        row |= _change(pilot, None if ended or beyond else (played, incumbent), level)
        rows.append(row | {"level": level})
    return pd.DataFrame(rows)


def _change(pilot: Pilot, compared: tuple[Outcomes, Outcomes] | None, level: float) -> dict[str, float]:
    """Return the change against unanimity that is counted on the pilot."""
    if compared is None:
        return _row("change", Measured())
    return _row("change", paired_change(*compared, pilot.log.cluster, level, pilot.target))


def is_capped(log: Trajectories) -> bool:
    """Whether a stopping rule ended debates in the log's last round in which unanimity would continue."""
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
    saved = (
        nothing
        if incumbent is None or not known.any()
        else log_ratio(amount, incumbent.column("cost"), cluster, level)
    )
    cost, amounts = ratio(amount, known, cluster, level), amount[known > 0]
    spread = float(amounts.std(ddof=1)) if len(amounts) > 1 else 0.0
    # New debates bring their own spread, beside the pilot's error of their mean.
    error = np.hypot(debates * cost.se, np.sqrt(debates) * spread)
    times = error / cost.se if cost.se > 0 else cost.se
    total = debates * cost.value
    ends = (total - (cost.value - cost.low) * times, total + (cost.high - cost.value) * times)
    row |= _row("saved", saved) | _row("total", Measured(total, *ends), pilot.factor, 0.0)
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
    found = ratio((theirs - mine) * both, both, pilot.log.cluster, level, symmetric=True)
    if not found.se > 0:
        # No debate differs: the pilot cannot put an error on the difference, only a bound of 3 / n.
        return _row("loss", Measured(found.value)) | unknown
    within = float(stdtr(found.df, (max_loss - found.value) / found.se))
    return _row("loss", found, 1.0, -1.0, 1.0) | {"p_within": within}


def pilot_loss_note(pilot: Pilot, rule: StoppingRule, max_loss: float, level: float) -> list[str]:
    """Warn when the recommended rule already lost more than it may on the pilot itself."""
    (played, ended), (incumbent, beyond) = _played(pilot, rule), _played(pilot, Unanimity())
    found = _change(pilot, None if ended or beyond else (played, incumbent), level)
    if not -found["change"] > max_loss:
        return []
    lost = points(-found["change"], -found["change_high"], -found["change_low"])
    text = f"on the pilot {rule} lost {lost} against unanimity, more than allowed, which the chain takes as chance"
    return [warning(text, LOST, about=str(rule))]


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
_BELIEFS = 1_000


class Limit:
    """The cheapest optimal policy within a loss of unanimity, and what it spends.

    Attributes
    ----------
    rounds, tokens, kept : float
        Expected, per debate.
    most_kept, most_kept_tokens : float
        What the most accurate policy keeps, and what it spends.
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
        best = solve(process, 0.0, loss=loss, max_beliefs=max_beliefs)
        self.most_kept = 1.0 - float(best.expected_loss)
        self.most_kept_tokens = float((best.stop_rounds_law() * np.cumsum(tokens)).sum())
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


def limit_rows(
    fit: PanelChainFit, panel: int, pilot: Pilot, max_loss: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the exact optima of the fitted chain, no interval around them: the cheapest, and the most accurate.

    The first is the last row of a plan's table, the second that of its frontier.
    """
    cost, tokens, target = pilot.cost_by_round(), pilot.tokens_by_round(), pilot.target
    process = fit.process(panel, len(cost), labelled=target == "accuracy", nodes=_NODES)
    limit = exact_limit(process, cost, max_loss, target, _BELIEFS)
    cheap = {
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
    best = {
        "rule": "most accurate policy",
        "cost": limit.most_kept_tokens * pilot.factor,
        "gain": limit.most_kept - limit.unanimity_kept,
    }
    return cheap, best


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(Result):
    """A recommended stopping rule, what it may lose under the chain, and the rules that it was compared with.

    Attributes
    ----------
    rule : Rule
        The recommendation.
    target : {"accuracy", "agreement"}
        Whether a kept verdict is a right one or full depth's.
    max_loss, confidence : float
        The rule keeps at most `max_loss` fewer verdicts than unanimity, with this probability.
    probability : float
        That probability under the fitted chains, with the allowance for what they miss.
    level : float
        Level of all intervals.
    reason : str
        Why this rule.
    notes : tuple of str
        Limits of the plan and of the pilot.
    fit : PanelChainFit
        The more probable of the chains with and without flicker.
    flicker_probability : float
        Posterior probability of the chain with flicker; the losses average both chains.
    checks : DataFrame
        Posterior predictive checks of the chain: ``statistic, round, pilot, predicted, low, high, p_value``.
    debates : int
        Planned number of debates, for totals.
    n_candidates : int
        Ladders that were compared.
    earlier_stop : str
        A sentence where unanimity or full depth is less accurate than the most accurate ladder, which stops earlier,
        with probability `confidence` and by more than `max_loss`; else empty.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> pilot = simulate_debates(Voter(panel=5, accuracy=0.7), n_debates=50, n_rounds=6, rng=3)
    >>> made = plan(pilot, limit=False, n_draws=50, rng=1)
    >>> str(made.rule), made.target, made.probability >= 0.9
    ('ladder:5-5-5-5-4-1', 'accuracy', True)
    >>> made.to_frame()["rule"].tolist()[1:3]
    ['unanimity', 'fixed:1']
    >>> made.fan(points=2)[["rule", "debates", "unit"]].head(2).values.tolist()
    [['ladder:5-5-5-5-4-1', 1, 'tokens'], ['ladder:5-5-5-5-4-1', 1000, 'tokens']]
    >>> made.plot().get_xlabel()
    'tokens saved, % of those of unanimity'
    >>> "unanimity" in made.summary()
    True
    """

    rule: Rule
    target: Target
    max_loss: float
    confidence: float
    probability: float
    level: float
    reason: str
    notes: tuple[str, ...]
    fit: PanelChainFit
    flicker_probability: float
    checks: pd.DataFrame
    debates: int
    n_candidates: int
    earlier_stop: str
    _table: pd.DataFrame = field(repr=False)
    _frontier: pd.DataFrame = field(repr=False)
    _words: str = field(repr=False)

    @property
    def headline(self) -> str:
        """The answer, which rule to run, what it saves, and what it may lose."""
        first = f"{self.earlier_stop} " if self.earlier_stop else ""
        return f"{first}Run {short_name(self.rule)}: it {self._saves()} and {self._loses()}."

    def _answer(self) -> Sequence[str]:
        first = self._table.to_dict("records")[0]
        lines = [self.earlier_stop] if self.earlier_stop else []
        lines.append(f"Run {short_name(self.rule)}: {self._words}.")
        if first["undecided"]:
            ended = counted(int(first["undecided"]), "debate")
            lines.append(
                f"{counted(self.debates, 'debate')}: cost unknown, because {ended} of the pilot ended before this rule "
                "would stop."
            )
        else:
            less = self._less()
            lines.append(
                f"{counted(self.debates, 'debate')}: {self._total(first)}{f', {less}' if less else ''}."
            )
        loses = self._loses()
        lines.append(f"{loses[0].upper()}{loses[1:]} (fitted model).")
        return lines

    def _less(self) -> str:
        first = self._table.iloc[0]
        if isinstance(self.rule, Unanimity) or first["saved"] != first["saved"]:
            return ""
        return f"{percent(first['saved'], first['saved_low'], first['saved_high'])} less than unanimity"

    def _saves(self) -> str:
        first = self._table.iloc[0]
        if isinstance(self.rule, Unanimity):
            return "saves nothing, because it is the baseline"
        if first["saved"] != first["saved"]:
            return "saves an unknown share, because debates of the pilot ended early"
        saved = percent(first["saved"], first["saved_low"], first["saved_high"])
        return f"saves {saved} of unanimity's {first['total_unit']}"

    def _loses(self) -> str:
        return (
            f"loses at most {counted_points(self.max_loss)} of {_KEPT[self.target]} with probability "
            f"{'1.00' if isinstance(self.rule, Unanimity) else likely(self.probability)}"
        )

    def _total(self, row: Mapping[Any, Any]) -> str:
        sign, digits = ("$", 2) if row["total_unit"] == "dollars" else ("", 0)
        value, low, high = limits_of(row, "total")
        limits = f" [{sign}{low:z,.{digits}f}, {sign}{high:z,.{digits}f}]" if low < high else ""
        return f"{sign}{value:z,.{digits}f}{limits}{'' if sign else ' ' + str(row['total_unit'])}"

    def _title(self) -> str:
        tested = ""
        if (self._table["loss_from"] != "chain").any():
            tested = "; *: 1 - p of a t test"
        return (
            f"{100 * self.level:.6g} % intervals over questions. Saved and change are against unanimity; change: "
            f"{_KEPT[self.target]} on the same debates, points. P: fitted model{tested}."
        )

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"rules": self._table.copy(), "frontier": self._frontier.copy(), "checks": self.checks}

    def _document(self) -> dict[str, Any]:
        names = (
            "target",
            "max_loss",
            "confidence",
            "probability",
            "level",
            "debates",
            "reason",
            "earlier_stop",
        )
        return {
            "rule": str(self.rule),
            **{name: getattr(self, name) for name in names},
            "interval": INTERVALS,
            **self._listed(),
            "notes": self.notes,
        }

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        unit = str(self._table["total_unit"].iloc[0])
        cost = {"rounds": amount("rounds", 2, limits=False)}
        if unit != "rounds":
            cost = {unit: amount(unit, 4 if unit == "dollars" else 0, limits=False)}

        def within(row: Mapping[Any, Any]) -> str:
            p = row["p_within"]
            if p != p:
                return "-"
            if row["loss_from"] == "chain" and row["rule"] == str(Unanimity()):
                return "1.00"
            return likely(p) if row["loss_from"] == "chain" else f"{p:z.2f} *"

        main = {
            "rule": rule_cell,
            **cost,
            "saved": share_cell("saved", None),
            "change": change_cell("change"),
        }
        main[f"P(loss<={100 * self.max_loss:g})"] = within
        measures = [("rounds", 2), ("tokens", 0), ("dollars", 4)]
        known = [(m, d) for m, d in measures if self._table[m].notna().any()]
        each: dict[str, Write] = {m: amount(m, d) for m, d in known}
        each |= {m: share_cell(m) for m in ("kept", "accuracy") if self._table[m].notna().any()}
        if self.target == "accuracy":
            del each["kept"]
        lost: dict[str, Write] = {"loss": change_cell("loss"), "from": lambda row: str(row["loss_from"])}
        digits = {"tokens": 0, "rounds": 2, "dollars": 4}[unit]
        best: dict[str, Write] = {
            "rule": rule_cell,
            unit: amount("cost", digits, limits=False),
            "kept" if self.target == "agreement" else "accuracy": share_cell("kept", None),
            "gain": change_cell("gain"),
            "P(gain>0)": lambda row: "-" if row["p_gain"] != row["p_gain"] else likely(row["p_gain"]),
        }
        checks = {
            "statistic": lambda row: str(row["statistic"]),
            "round": lambda row: str(row["round"]),
            "pilot": amount("pilot", 3),
            "predicted": lambda row: f"{row['predicted']:z.3f} [{row['low']:z.3f}, {row['high']:z.3f}]",
            "p": lambda row: f"{row['p_value']:z.2f}",
        }
        return {
            "Rules": cells(self._table, main),
            "Each rule on the pilot": cells(self._table, {"rule": rule_cell, **each}),
            "Loss against unanimity, in points": cells(self._table, {"rule": rule_cell, **lost}),
            "Cost and verdicts kept under the fitted model; gain: against unanimity, points": cells(
                self._frontier, best
            ),
            "The pilot against pilots drawn from the fitted chain": cells(self.checks, checks),
        }

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return one row per rule, the recommendation first, or the table "frontier" or "checks".

        Parameters
        ----------
        table : str, optional
            Title of a table.

        Returns
        -------
        DataFrame
            ``rule, role``; ``undecided``, the debates of the pilot that ended before the rule would have stopped
            (what is counted on the pilot is then missing); for each of ``rounds, tokens, dollars, kept, accuracy,
            saved`` the estimate and its limits ``_low, _high`` (per debate; ``kept`` is the share of verdicts kept
            by the target, ``saved`` one minus the ratio of its cost to unanimity's); ``loss`` against unanimity
            with limits, ``loss_from`` ("chain" or "pilot"); ``p_within``, the probability under the chain that it is at
            most ``max_loss``; from the pilot 1 minus the p-value of a one-sided t test whose null is a loss above it;
            ``change`` with limits: how many more verdicts it keeps than unanimity, counted on the debates
            of the pilot that count under both; ``total`` with limits: the cost of all planned debates; ``total_unit``:
            what cost is counted in, dollars where there are prices, else tokens where they are recorded, else rounds;
            ``level``. The row with the role "limit" is the exact optimum of the fitted chain. The table "frontier"
            has the ladders that lose less than every cheaper one, with unanimity and full depth, all under the fitted
            chains. Its columns are ``rule, cost, kept, gain`` (against unanimity) with limits, and ``p_gain``, the
            probability of a gain.
        """
        return super().to_frame(table)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what each rule of the table saves and how its accuracy changes; a ring marks the recommended rule.

        Where the pilot has no change to count, because its debates ended early, draw the cost of the planned debates.
        """
        from d3stats.plotting import plot_plan_fan, plot_savings

        counted = self._table[self._table[["saved", "change"]].notna().all(axis=1)]
        if counted.empty:
            return plot_plan_fan(self.fan(), ax=ax)
        unit = str(counted["total_unit"].iloc[0])
        named = counted.assign(rule=counted["rule"].map(short_name))
        return plot_savings(named, max_loss=self.max_loss, unit=unit, kept=self.target, ax=ax)

    def fan(self, points: int = 40) -> pd.DataFrame:
        """Return how cost grows with the number of debates: ``rule, debates, level, unit, cost, low, high``.

        Limits are for the total of that many new debates and include the pilot's error and the debates' own
        variation. Levels are 50 %, 80 % and 95 %.
        """
        return fan_table(self._table, self.debates, points)


def cheapest_kept(ladders: Sequence[Candidate], confidence: float, usual: float) -> Candidate | None:
    """Return the cheapest ladder that keeps to the loss with this confidence and costs less than unanimity."""
    good = [one for one in ladders if one.kept >= confidence and one.cost < usual]
    return min(good, key=lambda one: one.cost, default=None)


def close_calls(
    ladders: Sequence[Candidate], confidence: float, usual: float, n_draws: int
) -> list[Candidate | None]:
    """Return what would be chosen instead if shares of draws were two standard errors off; None is unanimity."""
    error = 2 * float(np.sqrt(confidence * (1 - confidence) / n_draws))
    chosen = cheapest_kept(ladders, confidence, usual)
    others = [cheapest_kept(ladders, min(confidence + shift, 1.0), usual) for shift in (-error, error)]
    return [one for one in dict.fromkeys(others) if one != chosen]


def _close_note(rule: Rule, rivals: Sequence[Rule], confidence: float) -> list[str]:
    """Say that the probabilities of two rules are too near the confidence that was asked for."""
    if not rivals:
        return []
    names = ", ".join(map(short_name, (rule, *rivals)))
    text = (
        f"{names} are too close to tell: whether they lose no more than allowed with probability {confidence:g} "
        "depends on the random draws; more debates decide it"
    )
    return [Note(text, kind=CLOSE, about=str(rule), examples=map(str, rivals))]


def plan(
    pilot: LogSource,
    *,
    max_loss: float = 0.01,
    confidence: float = 0.9,
    level: float = 0.95,
    debates: int = 1000,
    target: Literal["auto"] | Target = "auto",
    price: Price | None = None,
    dollars: ArrayLike | RoundDollars | None = None,
    rules: Sequence[StoppingRule | str] = (),
    limit: bool = True,
    n_draws: int = 1000,
    rng: RngLike = None,
    **reading: Unpack[Reading],
) -> Plan:
    """Plan the next debates from a pilot that was played to full depth.

    Parameters
    ----------
    pilot : Trajectories, or what :func:`d3stats.as_trajectories` takes
        At least two questions and two rounds, with the panel that will be used. Debates without turns are left
        out. If debates ended early, the cost and decision of a rule that would continue are missing. Where a
        stopping rule ended them in the last round of the log before unanimity, losses are against unanimity in debates
        of at most so many rounds, which `reason` and `notes` say.
    max_loss : float
        Largest acceptable share of verdicts lost against unanimity. (The limit of ``risk_controlled`` is against full
        depth.)
    confidence : float
        Probability that the rule loses no more than that, under the fitted chains with an allowance for what they
        miss. That is a normal error of .3 times the share of verdicts that differ from unanimity's, and of .01 of all
        verdicts. With more than two answers only gains that the pilot shows count.
    level : float
        Level of the intervals in the table.
    debates : int
        Number of debates that you plan to run.
    target : {"auto", "accuracy", "agreement"}
        Meaning of a loss: fewer right verdicts, or less agreement with the full-depth verdict; "auto" takes accuracy
        if every debate has a label.
    price : float or (float, float), optional
        Dollars per million tokens: one price for all, or those of prompt and of completion tokens. Completions are
        a larger share of early rounds than of late ones, so one blended price makes a rule that stops early look
        cheaper than it is.
    dollars : array, shape (debates, rounds), optional
        What each round cost, in place of `price`, where roles have different prices: an array, or the result of
        ``d3stats.planning.prices.price_turns``, which also knows what was paid for votes alone.
    rules : sequence of rules or texts
        Further rules for the table, those of the literature for example.
    limit : bool
        Compute the exact optimum of the fitted chain. With more than two answers there is none, because
        a policy could then use more than the count of right votes.
    n_draws : int
        Number of parameters drawn from the fitted chain; the probability is over them. All plans take the same ones, so
        that the recommendation does not depend on a seed; where other draws could change it, a note says so.
    rng : Generator, int or None
        Source of the pilots that are drawn from the chain for `checks`; one seed gives one result.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        When the pilot has one question, one round, a panel of one, or prices without tokens.

    Examples
    --------
    >>> from d3stats.worlds import simulate_debates
    >>> from d3stats.worlds import Voter
    >>> pilot = simulate_debates(Voter(panel=5, accuracy=0.7), n_debates=50, n_rounds=6, rng=3)
    >>> made = plan(pilot, limit=False, rng=1)
    >>> made.target, made.probability >= 0.9
    ('accuracy', True)
    """
    opened = open(pilot, **reading)
    pilot = opened.trajectories()
    loss = allowed_loss("max_loss", max_loss)
    sure = probability("confidence", confidence, open_interval=True)
    at = probability("level", level, open_interval=True)
    planned = integer("debates", debates, minimum=1)
    generator = as_rng(rng)
    given, played = pilot, pilot.depth > 0
    pilot, absent = with_turns(pilot)
    panel = _refuse_what_cannot_be_planned(pilot)
    priced = _dollars(given, price, dollars)
    paid, polls = (None if each is None else each[played] for each in priced)

    coded = code_votes(pilot, target)
    if coded.target == "accuracy":
        _refuse_labels_that_no_vote_has(pilot)
    chains = fit_panel_chains(coded.votes[coded.used], pilot.cluster[coded.used])
    fit = chains.likelier
    laws = chain_laws(chains.draws(n_draws, _DRAWS), panel, pilot.n_rounds)
    told = Pilot.of(pilot, coded.target, paid, polls)
    cost = told.cost_by_round()
    incumbent = evaluate_thresholds(laws, {"": (panel,)}, cost, coded.target, coded.others)[""]

    capped = is_capped(pilot)
    whole = not capped and bool((pilot.depth == pilot.n_rounds).all())
    # A debate that ended at unanimity has the verdicts that the loss against unanimity is counted from.
    ended = not undecided(pilot, Unanimity().stop_rounds(pilot)).any()
    counts = PilotLosses(pilot, coded.target) if whole or (ended and coded.target == "accuracy") else None
    answers = len(pilot.answers)

    def lost_by(found: Evaluated, thresholds: tuple[int, ...]) -> ChainLoss:
        counted = None if counts is None else counts.of(thresholds)
        return ChainLoss.allowing(incumbent.kept - found.kept, found.differ, counted, answers)

    gaps = bool(((pilot.votes == MISSING) & pilot.reached()[:, :, None]).any())
    ladders = []
    for thresholds, found in evaluate_ladders(laws, cost, coded.target, coded.others):
        lost = lost_by(found, thresholds)
        ladders.append(
            Candidate(float(found.cost.mean()), lost.within(loss), thresholds, float(lost.mean.mean()))
        )
    usual = float(incumbent.cost.mean())
    refused = _no_promise(told, coded, incumbent, capped, at)
    count, chosen = len(ladders), None if refused else cheapest_kept(ladders, sure, usual)
    rule = Unanimity() if chosen is None else rule_of(chosen.thresholds, gaps)
    rivals = [
        Unanimity() if one is None else rule_of(one.thresholds, gaps)
        for one in ([] if refused else close_calls(ladders, sure, usual, n_draws))
    ]

    tried = _beside(rule, rules, int(pilot.panel.max()))
    known = {str(r): t for r in tried if (t := thresholds_of(r, panel)) is not None}
    chain = evaluate_thresholds(laws, known, cost, coded.target, coded.others)
    losses = {name: lost_by(found, known[name]) for name, found in chain.items()}
    drawn = {str(rule_of(one.thresholds, gaps)): one.thresholds for one in best_by_cost(ladders)}
    drawn |= {str(Unanimity()): (panel,), str(FullDepth()): (panel + 1,)}
    each = evaluate_thresholds(laws, drawn, cost, coded.target, coded.others)
    costs = frontier_table(each, lambda name: lost_by(each[name], drawn[name]), incumbent, at, told.factor)
    first = ""
    if coded.target == "accuracy" and not refused:
        top = most_accurate(ladders, loss)
        steps = {"top": top.thresholds, "full": (panel + 1,)}
        near = evaluate_thresholds(laws, steps, cost, coded.target, coded.others)
        far = evaluate_thresholds(laws, steps, cost, coded.target, coded.others, against="full depth")
        seen = counts.of(top.thresholds, against="full depth") if whole and counts is not None else None
        later = {
            "unanimity": lost_by(near["top"], top.thresholds),
            "full depth": ChainLoss.allowing(
                far["full"].kept - far["top"].kept, far["top"].differ, seen, answers
            ),
        }
        earlier = earlier_stop(top, later, loss, sure)
        first = "" if earlier is None else earlier.sentence(gaps, _KEPT[coded.target], at)
    table = plan_table(
        told, tried, {} if refused else losses, level=at, max_loss=loss, debates=planned, capped=capped
    )
    if limit and len(pilot.answers) <= 2:
        cheap, accurate = limit_rows(fit, panel, told, loss)
        cheap |= {"saved": np.nan} if capped else {}
        table = pd.concat([table, pd.DataFrame([cheap])], ignore_index=True)
        costs = pd.concat([costs, pd.DataFrame([accurate])], ignore_index=True)
    every_debate = int(pilot.depth[coded.used].min())
    checks = check_chain(laws, coded.votes[coded.used, :every_debate], generator)
    went_on = {name: int(n) for name, n in zip(table["rule"], table["undecided"], strict=True) if n > 0}
    own = [*pilot_loss_note(told, rule, loss, at), *untold(fit, checks, loss, sure, told.n_questions)]
    kept_probability = losses[str(rule)].within(loss)
    return Plan(
        rule=rule,
        target=coded.target,
        max_loss=loss,
        confidence=sure,
        probability=kept_probability,
        level=at,
        reason=f"no other rule is recommended: {refused}"
        if refused
        else plan_reason(
            rule, kept_probability, sure, loss, count, coded.target, pilot.n_rounds if capped else None
        ),
        notes=tuple(
            worst_first(
                (
                    *(note for note in own if severity_of(note) == "warning"),
                    *pilot.remarks(),
                    *early_notes(pilot, absent, tried, went_on, str(Unanimity())),
                    *_capped_note(capped, pilot.n_rounds),
                    *_close_note(rule, rivals, sure),
                    *(note for note in own if severity_of(note) != "warning"),
                    *coded.notes,
                    *told.notes,
                    *_blind_spots(tried),
                    *_campaign_note(opened, told),
                )
            )
        ),
        fit=fit,
        flicker_probability=chains.flicker_probability,
        checks=checks,
        debates=planned,
        n_candidates=count,
        earlier_stop=first,
        _table=table,
        _frontier=costs,
        _words=in_words(rule, panel),
    )


def _no_promise(told: Pilot, coded: Coded, incumbent: Evaluated, capped: bool, level: float) -> str:
    """Say why no loss can be promised from this pilot, or nothing.

    Where one question has most of the debates, nothing says how questions differ. Where the chain's unanimity keeps
    another share of verdicts than the pilot's, the chain is not one of these debates.
    """
    unequal = too_unequal(np.bincount(told.log.cluster[coded.used]), what="debates")
    if unequal:
        return unequal
    played, ended = _played(told, Unanimity())
    if ended or capped:
        return ""
    counted = share(*played.of(coded.target), told.log.cluster, level)
    chance = float(incumbent.kept.mean())
    if not (chance < counted.low or chance > counted.high):
        return ""
    return (
        f"the chain gives unanimity an {_KEPT[coded.target]} of {percent(chance)}, and the pilot has "
        f"{percent(counted.value, counted.low, counted.high)}, so the chain does not describe these debates"
    )


def _campaign_note(source: Opened, told: Pilot) -> list[str]:
    """Say in what the debates to come should be like the pilot's, where the source has columns of it."""
    columns = kinds_of_debates(source)
    if not columns:
        return []
    names = [*columns, *([] if told.spent is None else ["tokens per round"])]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return [f"the plan holds for debates like the pilot's: compare {listed} with the campaign's"]


def _dollars(
    pilot: Trajectories, price: Price | None, dollars: ArrayLike | RoundDollars | None
) -> tuple[Floats | None, Floats | None]:
    """Return what each round of each debate cost, and what was paid for votes alone; None where not known."""
    if price is not None and dollars is not None:
        raise ValueError("price must not be given together with dollars; got both: give one")
    polls: Floats | None = None
    if isinstance(dollars, RoundDollars):
        polls, dollars = dollars.polls, dollars.dollars
    if price is not None:
        found = dollars_by_round(pilot, price)
        if pilot.polled is not None:
            of = {kind: getattr(pilot, f"poll_{kind}") for kind in ("tokens", "tokens_in", "tokens_out")}
            polls = dollars_by_round(replace(pilot, **of, polled=None), price)
    elif dollars is not None:
        found = np.asarray(dollars, dtype=np.float64)
        if found.shape != pilot.votes.shape[:2]:
            raise ValueError(
                f"dollars must have shape (debates, rounds), here {pilot.votes.shape[:2]}; got {found.shape}"
            )
        if (found < 0).any() or np.isinf(found).any():
            raise ValueError(
                "dollars must be finite and >= 0, or NaN where unknown; got another value among them"
            )
    else:
        return None, None
    if spent_by_round(pilot, found) is None:
        name = "price" if dollars is None else "dollars"
        raise ValueError(
            f"{name} must come with tokens in the pilot; got no debate with tokens in every round"
        )
    return found, polls


def _refuse_labels_that_no_vote_has(pilot: Trajectories) -> None:
    for found in pilot.findings():
        if found.kind == "no vote is a label":
            needs = "a plan for accuracy needs votes that can equal their labels"
            step = "or plan for agreement with full depth with target='agreement' (--target agreement)"
            raise ValueError(Advised(needs, step, ", ", got=found.message))


def _refuse_what_cannot_be_planned(pilot: Trajectories) -> int:
    """Return the panel's size, or say in one line why there is nothing to plan from."""
    if pilot.n_debates < 2:
        raise ValueError(f"pilot must hold at least 2 debates; got {pilot.n_debates}")
    questions = len(np.unique(pilot.cluster))
    if questions < 2:
        raise ValueError(f"pilot must hold at least 2 questions; got {questions}")
    if pilot.n_rounds < 2:
        raise ValueError(
            f"pilot must be played for at least 2 rounds, or there is nothing to stop; got {pilot.n_rounds}"
        )
    refuse_votes_at_the_end(pilot)
    sizes: NDArray[np.int64] = np.unique(pilot.panel)
    if len(sizes) != 1:
        raise ValueError(f"pilot must have one size of panel; got panels of {', '.join(map(str, sizes))}")
    if sizes[0] < 2:
        raise ValueError("pilot must have a panel of at least 2 seats; got a panel of 1")
    return int(sizes[0])


def _capped_note(capped: bool, n_rounds: int) -> list[str]:
    """Say that the chain ends where a stopping rule cut the pilot off."""
    if not capped:
        return []
    return [
        f"losses from the chain are against unanimity in debates of at most {counted(n_rounds, 'round')}, "
        "because the pilot does not show later rounds; for a comparison with unlimited unanimity, play a "
        "pilot without a stopping rule"
    ]


def _blind_spots(rules: Sequence[StoppingRule]) -> list[str]:
    """Say aloud what KS rules without labels cannot see."""
    camps = {
        part.camp for rule in rules for part in rule.parts() if isinstance(part, KSStability | NoiseAwareKS)
    }
    notes = []
    if "largest" in camps:
        notes.append(
            "a KS rule on the largest camp cannot see verdicts change: a panel that goes from 6 of 7 for A to 6 "
            "of 7 for B has not moved"
        )
    if "first" in camps:
        notes.append(
            "a KS rule on the votes for the first answer cannot see verdicts that change both ways equally often"
        )
    return notes


def _beside(rule: Rule, rules: Sequence[StoppingRule | str], panel: int) -> Sequence[StoppingRule]:
    """Return the recommendation, the baselines and the rules asked for, each once."""
    given = [rule, Unanimity(), FixedRounds(1), FixedRounds(2), FullDepth(), *rules]
    return as_rules(given, panel=panel)[0]
