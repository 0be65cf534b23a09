"""The public estimators of the calibration table: how each is called on a data set of a cell, and what is true there.

``covers`` names what a row measures, as in ``tests/public_names.txt``; ``EXCEPTIONS`` names the public estimators
without a row, each with the reason. A test compares both with the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from cells import Cell, Data, draw
from numpy.typing import NDArray
from scipy.special import betaincinv

import d3stats
from d3stats import planning
from d3stats.inference import (
    Pairwise,
    Ratings,
    agreement,
    aspect_correlations,
    cohen_kappa,
    compare,
    compare_rationales,
    correct_counts,
    correct_rate,
    correct_shares,
    dawid_skene,
    equivalence,
    fleiss_kappa,
    gwet_ac,
    jury_curve,
    kendall,
    krippendorff_alpha,
    length_bias,
    noninferiority,
    paired_difference,
    percent_agreement,
    persona_effect,
    plan_comparison,
    position_bias,
    prediction_powered_difference,
    prediction_powered_mean,
    proportion_interval,
    rank,
    rationales,
    sample_size,
    self_preference,
    share,
    spearman,
    stratify,
)
from d3stats.inference.bias import subset_accuracy
from d3stats.inference.judges.calibration_error import bins_of, calibration_error
from d3stats.inference.judges.confidence import FEWEST, FOLDS, gains_of, means_of, verdicts_of
from d3stats.inference.judges.recalibration import fit_beta, fit_isotonic
from d3stats.inputs.confidences import Confidences
from d3stats.resampling import bootstrap, cluster_t, cluster_totals, contrast_of_shares, ratios
from d3stats.stopping import NoiseAwareKS, from_text

__all__ = ["ESTIMATORS", "EXCEPTIONS", "Estimator", "Outcome"]

NAN = math.nan
N_BOOT = 400
INDEPENDENT = ("Wilson", "Clopper-Pearson", "Jeffreys", "Agresti-Coull", "Bayes uniform", "Wald")
CLUSTERED = ("cluster Wilson", "cluster t", "percentile", "basic", "bca", "studentised")
Generator = np.random.Generator


class Outcome(NamedTuple):
    """One interval, one test or both: the truth, the limits, the p-value, and the value that it tests."""

    truth: float
    low: float = NAN
    high: float = NAN
    p: float = NAN
    null: float = NAN
    level: float = 0.95
    kind: str = ""
    note: str = ""


Outcomes = dict[str, Outcome]


@dataclass(frozen=True)
class Estimator:
    """A name, the family of its cells, what it covers of the package, and how it is called."""

    name: str
    family: str
    covers: tuple[str, ...]
    measure: Callable[[Data, Generator], Outcomes]
    replicates: int = 1000
    fits: Callable[[Cell], bool] = lambda cell: True


def of(estimate: Any, truth: float, null: float = NAN) -> Outcome:
    """Return the outcome of an :class:`~d3stats.inference.Estimate`."""
    if estimate is None:
        return Outcome(truth, null=null)
    number = [NAN if x is None else float(x) for x in (estimate.low, estimate.high, estimate.p_value)]
    return Outcome(truth, *number, null, estimate.level, estimate.kind, estimate.note)


def columns(row: Mapping[str, Any], name: str, truth: float, level: float = 0.95) -> Outcome:
    """Return the outcome of the columns name_low and name_high of a row of a table."""
    found = (row[f"{name}_{end}"] for end in ("low", "high"))
    low, high = (NAN if pd.isna(end) else float(end) for end in found)
    return Outcome(truth, low, high, level=level)


def named(estimates: Iterable[Any], truths: Mapping[str, tuple[float, float] | float]) -> Outcomes:
    """Return the outcomes of the estimates that have a truth, by name; one that is absent has no interval."""
    found = {e.name: e for e in estimates}
    out = {}
    for name, truth in truths.items():
        true, null = truth if isinstance(truth, tuple) else (truth, NAN)
        out[name] = of(found.get(name), true, null)
    return out


def _alone(cell: Cell) -> bool:
    return max(cell.setting.get("sizes", [1])) == 1 and not cell.setting.get("missing")


# Shares


def _share_independent(d: Data, rng: Generator) -> Outcomes:
    right, n = int(d.right.sum()), len(d.right)
    return {kind: of(share(right, n, kind=kind), d.truth["share"]) for kind in INDEPENDENT}  # type: ignore[arg-type]


def _proportion_interval(d: Data, rng: Generator) -> Outcomes:
    low, high = proportion_interval(int(d.right.sum()), len(d.right))
    return {"Wilson": Outcome(d.truth["share"], float(low), float(high))}


def _share_clustered(d: Data, rng: Generator) -> Outcomes:
    ones = np.ones_like(d.right)
    return {
        kind: of(
            share(d.right, ones, cluster=d.question, kind=kind, n_boot=N_BOOT, rng=rng),  # type: ignore[arg-type]
            d.truth["share"],
        )
        for kind in CLUSTERED
    }


# Means and resampling


def _cluster_t(d: Data, rng: Generator) -> Outcomes:
    totals = cluster_totals(np.column_stack([d.value, np.ones(len(d.value))]), d.question)
    out = {}
    if d.equal:
        for error in ("linearised", "jackknife"):
            found = cluster_t(totals, ratios((0, 1)), null=0.3, error=error)  # type: ignore[arg-type]
            low, high = (NAN if end is None else end for end in found.interval())
            p = float(found.p_value[0])
            out[error] = Outcome(0.3, low, high, p, 0.3, kind="cluster t", note=found.reasons[0])
    return out


def _bootstrap(d: Data, rng: Generator) -> Outcomes:
    totals = cluster_totals(np.column_stack([d.value, np.ones(len(d.value))]), d.question)
    draws = bootstrap(totals, ratios((0, 1)), n_boot=N_BOOT, rng=rng, errors=True)
    out = {}
    for kind in ("percentile", "basic", "bca", "studentised"):
        for expand in (False, True) if kind in ("percentile", "bca") else (False,):
            found = draws.limits(kind, expand=expand)  # type: ignore[arg-type]
            low, high = (NAN if end is None else end for end in found.interval())
            name = f"{kind}, expanded" if expand else kind
            out[name] = Outcome(0.3, low, high, kind=kind, note=found.reasons[0])
    return out


def _stratify(d: Data, rng: Generator) -> Outcomes:
    found = stratify(d.value, d.stratum, cluster=d.question, null=0.3)
    out: Outcomes = {"overall": of(found.overall, d.truth["overall"])}
    if found.mean is not None:
        out["mean of strata"] = of(found.mean, 0.3, 0.3)
    at = int(rng.integers(len(found.raw)))
    effect = float(d.effect[at])
    out["stratum"] = of(found.raw[at], effect, 0.3 if d.equal else NAN)
    out["stratum, shrunken"] = of(found.shrunken[at], effect)
    between = [NAN if x is None else float(x) for x in (found.between_low, found.between_high)]
    if found.between is not None:
        out["between strata"] = Outcome(d.truth["between"], *between)
    p = found.equality.p_value
    out["equality"] = Outcome(0.0 if d.equal else 1.0, p=NAN if p is None else p, null=0.0)
    return out


def _scores_log(d: Data) -> d3stats.Trajectories:
    # The gap of the two sides is log-normal with mean exp(1/8), and correlates within a question as the values do.
    scores = np.stack([d.value, d.value - np.exp((d.value - 0.3) / 2)], axis=-1)[:, None, :]
    n = len(d.value)
    return d3stats.Trajectories.from_arrays(
        np.zeros((n, 1, 1), int),
        label=np.zeros(n, int),
        answers=["A", "B"],
        cluster=d.question.tolist(),
        scores=scores,
        sides=["A", "B"],
    )


def _describe_scores(d: Data, rng: Generator) -> Outcomes:
    log, gap = _scores_log(d), math.exp(0.125)
    means = planning.scores(log, rng=rng).means.set_index("side").loc["A"]
    gaps = planning.score_gaps(log, dict.fromkeys(log.debates, "x")).iloc[0]
    return {
        "mean of a side": Outcome(0.3, means["low"], means["high"]),
        "gap": Outcome(gap, gaps["low"], gaps["high"]),
    }


def _signed_gap(d: Data, rng: Generator) -> Outcomes:
    found = d3stats.signed_gap_posterior(d.value[None, :], scale=10)
    low, high = (float(np.asarray(end)[0, -1]) for end in found.interval(0.95))
    return {"mean gap": Outcome(0.03, low, high, kind="equal-tailed posterior")}


def _gap_grows(d: Data, rng: Generator) -> Outcomes:
    gap = np.exp(np.concatenate([[0.0], np.where(d.right == 1, 0.01, -0.01).cumsum()]))
    found = d3stats.gap_posterior(np.stack([gap, np.zeros(len(gap))], axis=-1)[None])
    low, high = (float(np.asarray(end)[0, -1]) for end in found.interval(0.95))
    return {"chance that the gap grows": Outcome(d.truth["share"], low, high, kind="equal-tailed posterior")}


# Two runs


def _tests(found: Any, truth: float) -> Outcomes:
    return {
        f"test: {t.name}": Outcome(truth, p=NAN if t.p_value is None else t.p_value, null=0.0, note=t.note)
        for t in found.tests
        if t.p_value is not None
    }


def _paired(d: Data, rng: Generator) -> Outcomes:
    found = paired_difference(d.a, d.b, d.question, n_boot=N_BOOT, rng=rng)
    out = {"difference": of(found.difference, d.truth["difference"], 0.0)} | _tests(
        found, d.truth["difference"]
    )
    if d.binary:
        out |= {"first run": of(found.first, d.truth["a"]), "second run": of(found.second, d.truth["b"])}
    for row in found.intervals().to_dict("records"):
        if row["kind"] != found.difference.kind:
            out[row["kind"]] = Outcome(d.truth["difference"], row["low"], row["high"], note=row["note"])
    return out


def _margins(d: Data, rng: Generator) -> Outcomes:
    # A second run that is exactly the margin worse than what it is compared with: rejecting is the error of the test.
    gap, margin = d.truth["difference"], 0.1
    shifted = paired_difference(d.a, d.b - (gap + margin), d.question) if not d.binary else None
    found = shifted if shifted is not None else paired_difference(d.a, d.b, d.question)
    at = margin if shifted is not None else abs(gap)
    if at == 0:
        return {}
    one = noninferiority(found, at, better="higher" if gap < 0 or shifted is not None else "lower")
    two = equivalence(found, at)
    truth = -margin if shifted is not None else gap
    return {
        "noninferiority": Outcome(truth, p=NAN if one.p_value is None else one.p_value, null=truth),
        "equivalence": Outcome(truth, p=NAN if two.p_value is None else two.p_value, null=truth),
        "equivalence, 90 % interval": of(two.difference, truth),
    }


def _frame(values: NDArray[Any], d: Data) -> pd.DataFrame:
    columns = {"item": np.arange(len(values)), "question": d.question, "category": d.stratum}
    return pd.DataFrame(columns | ({"correct": values.astype(int)} if d.binary else {"score": values}))


def _compare(d: Data, rng: Generator) -> Outcomes:
    found = compare(
        _frame(d.a, d), _frame(d.b, d), names=["a", "b"], n_boot=N_BOOT, rng=rng, strata="category"
    )
    out = {"difference": of(found.difference, d.truth["difference"], 0.0)}
    if d.binary:
        out |= {f"run {e.name}": of(e, d.truth[e.name]) for e in found.runs}
    for part in found.strata[:1]:
        out["stratum"] = of(part.raw[0], d.truth["difference"], 0.0)
        out["stratum, shrunken"] = of(part.shrunken[0], d.truth["difference"])
        p = part.equality.p_value
        out["strata are equal"] = Outcome(0.0, p=NAN if p is None else p, null=0.0)
    return out


def _compare_three(d: Data, rng: Generator) -> Outcomes:
    # Three runs of which none is better: the family's error is any rejection among the three pairs.
    shuffled = [np.where(rng.random(len(d.a)) < 0.5, x, y) for x, y in ((d.a, d.b), (d.b, d.a), (d.a, d.b))]
    found = compare(*(_frame(x, d) for x in shuffled), names=["a", "b", "c"], n_boot=N_BOOT, rng=rng)
    known = [p for p in found.adjusted if p is not None]
    return {"any pair, Holm": Outcome(d.truth["difference"], p=min(known) if known else NAN, null=0.0)}


def _plan_comparison(d: Data, rng: Generator) -> Outcomes:
    found = plan_comparison(d.b - d.a, 0.1, cluster=d.question)
    return {"found": of(found.found, d.truth["difference"])}


def _power(d: Data, rng: Generator) -> Outcomes:
    """A comparison with as many questions as planned for a power of .8: how often does it show its effect?"""
    plan = _planned(len(d.a) // len(np.unique(d.question)), d.truth["a"], d.truth["b"], d.icc)
    size = len(d.a) // len(np.unique(d.question))
    setting = {"sizes": [size] * plan.n_questions, "a": d.truth["a"], "b": d.truth["b"], "icc": d.icc}
    fresh = draw(Cell("paired", "", setting), rng)
    p = paired_difference(fresh.a, fresh.b, fresh.question).p_value
    # An effect that is shown counts as covered, so that the level is the planned power.
    shown = p is not None and p < 0.05
    return {"planned power": Outcome(1.0 if shown else -1.0, 0.0, 2.0, level=round(plan.power, 3))}


@cache
def _planned(size: int, a: float, b: float, icc: float) -> Any:
    setting = {"sizes": [size] * (200_000 // size), "a": a, "b": b, "icc": icc}
    many = draw(Cell("paired", "", setting), np.random.default_rng(4))
    gap = many.b - many.a
    design: dict[str, Any] = {"discordance": float(np.abs(gap).mean())}
    if size > 1:
        by_question = gap.reshape(-1, size)
        within = by_question.var(axis=1, ddof=1).mean()
        between = by_question.mean(axis=1).var(ddof=1) - within / size
        design |= {"cluster_size": size, "icc": max(float(between / (between + within)), 0.0)}
    return sample_size(b - a, **design)


def _bayes_paired(d: Data, rng: Generator) -> Outcomes:
    from d3stats.models.bayes import fit_paired

    found = fit_paired(d.a, d.b, rng=rng)
    return {"difference": of(found.difference, d.truth["difference"])}


# Audits of a judge


def _position(d: Data, rng: Generator) -> Outcomes:
    q1, q2 = min(1 - d.error + d.effect / 2, 0.995), 1 - d.error - d.effect / 2
    right = np.column_stack(
        [d.u[:, 0] < np.where(d.right_a, q1, q2), d.u[:, 1] < np.where(d.right_a, q2, q1)]
    )
    vote = np.where(right == d.right_a[:, None], "A", "B").astype(object)
    vote[d.tie] = "tie"
    n = len(d.question)
    table = pd.DataFrame(
        {
            "item": np.repeat(np.arange(n), 2),
            "order": ["AB", "BA"] * n,
            "vote": vote.ravel(),
            "label": np.repeat(np.where(d.right_a, "A", "B"), 2),
            "cluster": np.repeat(d.question, 2),
        }
    )[d.kept[:, :2].ravel()]
    t = d.tied
    first, second = q1 * (1 - q2), (1 - q1) * q2
    truths: dict[str, tuple[float, float] | float] = {
        "first-slot excess": ((1 - t) * (q1 - q2) / 2, 0.0),
        "swap consistency": (1 - t) ** 2 * (q1 * q2 + (1 - q1) * (1 - q2)) + t**2,
        "inconsistent pairs that favour the first slot": first / (first + second),
        "log-odds of first against second": (math.log(first / second), 0.0),
    }
    if not t:
        truths |= {
            "accuracy, right answer shown first": q1,
            "accuracy, right answer shown second": q2,
            "accuracy, first minus second": (q1 - q2, 0.0),
        }
    out = named(position_bias(table, rng=rng).estimates, truths)
    one = table[table["order"] == np.where(table["item"] % 2 == 0, "AB", "BA")]
    if not t:
        found = position_bias(one, rng=rng).estimates
        out |= named(found, {"first-slot excess against the label": ((q1 - q2) / 2, 0.0)})
    return out


@cache
def _length_truth(share_a: float, d: float, strength: float) -> dict[str, float]:
    x, w = np.polynomial.hermite_e.hermegauss(120)
    w = w / w.sum()
    chance = {side: 1 / (1 + np.exp(-(side * strength + d * x))) for side in (1, -1)}
    mean = lambda f: share_a * float(w @ f(chance[1])) + (1 - share_a) * float(w @ f(chance[-1]))  # noqa: E731
    won = mean(lambda p: p)
    level = {side: 1 / (1 + math.exp(-side * strength)) for side in (1, -1)}
    equal = share_a * level[1] + (1 - share_a) * level[-1]
    # quadrature of a step at 0 is poor, so that the halves are on a fine grid
    grid = np.linspace(0, 8, 16_001)
    law = np.exp(-(grid**2) / 2)
    law /= law.sum()
    at = {
        (s, z): float(law @ (1 / (1 + np.exp(-(s * strength + z * d * grid)))))
        for s in (1, -1)
        for z in (1, -1)
    }
    longer = share_a * (at[1, 1] + 1 - at[1, -1]) / 2 + (1 - share_a) * (at[-1, 1] + 1 - at[-1, -1]) / 2
    # of items whose shorter answer is right, the longer is chosen; of those whose longer is right, the shorter
    wrong_longer = share_a * (1 - at[1, -1]) + (1 - share_a) * at[-1, 1]
    wrong_shorter = share_a * (1 - at[1, 1]) + (1 - share_a) * at[-1, -1]
    return {
        "marginal": mean(lambda p: d * p * (1 - p)),
        "won": won,
        "equal": equal,
        "longer": longer,
        "pull": (wrong_longer - wrong_shorter) / 2,
    }


def _length(d: Data, rng: Generator) -> Outcomes:
    effect, strength = 3 * d.effect, math.log((1 - d.error) / d.error)
    side = np.where(d.right_a, 1, -1)
    chance = 1 / (1 + np.exp(-(side * strength + effect * d.spread)))
    table = pd.DataFrame(
        {
            "item": np.arange(len(side)),
            "vote": np.where(d.u[:, 0] < chance, "A", "B"),
            "label": np.where(d.right_a, "A", "B"),
            "length_a": np.round(20_000 * 2 ** (d.spread / 2)).astype(int),
            "length_b": np.round(20_000 * 2 ** (-d.spread / 2)).astype(int),
            "cluster": d.question,
        }
    )[d.kept[:, 0]]
    true = _length_truth(d.share_a, effect, strength)
    return named(
        length_bias(table).estimates,
        {
            "log-odds per doubling of the length ratio": (effect, 0.0),
            "probability per doubling of the length ratio": (true["marginal"], 0.0),
            "win rate of A": true["won"],
            "win rate of A at equal length": true["equal"],
            "verdicts for the longer answer": true["longer"],
            "preference for the longer answer against the label": (true["pull"], 0.0),
        },
    )


def _self(d: Data, rng: Generator) -> Outcomes:
    own = d.right_a
    wrong = np.column_stack(
        [d.u[:, 0] < np.where(own, d.error, d.error + d.effect), d.u[:, 1] < d.error, d.u[:, 2] < d.error]
    )
    n = len(own)
    parts = [
        pd.DataFrame(
            {
                "item": np.arange(n),
                "judge": judge,
                "judge_family": family,
                "family_a": "x",
                "family_b": "y",
                "vote": np.where(own ^ wrong[:, k], "A", "B"),
                "label": np.where(own, "A", "B"),
                "cluster": d.question,
            }
        )[d.kept[:, k]]
        for k, (judge, family) in enumerate((("J", "x"), ("K", "z"), ("L", "w")))
    ]
    found = self_preference(pd.concat(parts), judge="J")
    return named(
        found.estimates,
        {
            "own preferred wrongly minus other preferred wrongly": (d.effect, 0.0),
            "the same, minus the value of the other judges": (d.effect, 0.0),
            "own preferred although the label says other": d.error + d.effect,
            "other preferred although the label says own": d.error,
            "self-enhancement rate (of all pairs with an own answer)": (1 - d.share_a) * (d.error + d.effect),
        },
    )


def _contrast(d: Data, rng: Generator) -> Outcomes:
    """Errors on two sides: of the items of every question, and with a share of whole questions on either side."""
    names, question = np.unique(d.question, return_inverse=True)
    other = np.arange(len(names)) < max(round(d.share_a * len(names)), 1)
    out = {}
    for name, first in (("sides within questions", d.right_a), ("sides of other questions", other[question])):
        wrong = d.u[:, 0] < np.where(first, d.error + d.effect, d.error)
        rows = np.column_stack([wrong & first, first, wrong & ~first, ~first]).astype(float)[d.kept[:, 0]]
        totals = cluster_totals(rows, question[d.kept[:, 0]])
        out[name] = of(contrast_of_shares("difference", totals, (1, -1)), d.effect, 0.0)
    return out


def _persona(d: Data, rng: Generator) -> Outcomes:
    p, gain = 1 - d.error - 0.1, d.effect / 2
    right = d.u < p + gain * np.array([0, 1, 1, 1])
    n = len(d.right_a)
    names = ["none", "ethics", "business", "law"]
    table = pd.concat(
        pd.DataFrame(
            {
                "item": np.arange(n),
                "persona": name,
                "vote": np.where(right[:, k] == d.right_a, "A", "B"),
                "label": np.where(d.right_a, "A", "B"),
                "cluster": d.question,
            }
        )[d.kept[:, k]]
        for k, name in enumerate(names)
    )
    found = persona_effect(table)
    with_gain = p + gain
    agree = with_gain**2 + (1 - with_gain) ** 2
    says_a = d.share_a * with_gain + (1 - d.share_a) * (1 - with_gain)
    chance = says_a**2 + (1 - says_a) ** 2
    out = named(
        found.estimates,
        {
            "accuracy with personas minus accuracy without": (gain, 0.0),
            "accuracy with personas minus accuracy without, ethics": (gain, 0.0),
            "mean pairwise agreement of personas": agree,
            "agreement of personas beyond chance": (agree - chance) / (1 - chance),
        },
    )
    p_value = found.heterogeneity.p_value
    out["do personas differ"] = Outcome(0.0, p=NAN if p_value is None else p_value, null=0.0)
    return out


# Ratings and juries


def _as_ratings(
    codes: NDArray[Any], question: NDArray[Any], kinds: int, label: NDArray[Any] | None = None
) -> Ratings:
    names = np.unique(question)
    return Ratings(
        items=tuple(map(str, range(len(codes)))),
        raters=tuple(f"r{k}" for k in range(codes.shape[1])),
        categories=tuple(map(str, range(kinds))),
        codes=codes,
        label=label,
        cluster=np.searchsorted(names, question),
        cluster_names=tuple(map(str, names)),
        notes=(),
    )


def _coefficients(d: Data, rng: Generator) -> Outcomes:
    codes = np.where(np.isnan(d.ratings), -1, d.ratings).astype(np.int32)
    seen = np.unique(codes[codes >= 0])
    if len(seen) < 2:
        return {}
    given = _as_ratings(
        np.where(codes >= 0, np.searchsorted(seen, codes), -1).astype(np.int32), d.question, len(seen)
    )
    null = 0.0
    out = {}
    for name, function, truth in (
        ("Fleiss' kappa", fleiss_kappa, d.truth["kappa"]),
        ("Krippendorff's alpha", krippendorff_alpha, d.truth["kappa"]),
        ("Gwet's AC1", gwet_ac, d.truth["ac1"]),
        ("share of agreement", percent_agreement, d.truth["percent"]),
    ):
        found = function(given)
        out[name] = of(found.estimates[0], truth, null if name != "share of agreement" else NAN)
    pair = codes[:, :2]
    known = (pair >= 0).all(axis=1)
    a, b = pair[known].T
    if len(np.unique(pair[known])) > 1 and known.sum() > 2:
        cluster = d.question[known].tolist()
        out["Cohen's kappa"] = of(cohen_kappa(a, b, cluster=cluster).estimates[0], d.truth["kappa"], null)
        if len(seen) > 2:
            found = cohen_kappa(a, b, cluster=cluster, weights="quadratic")
            out["Cohen's kappa, quadratic"] = of(found.estimates[0], d.truth["kappa quadratic"], null)
    return out


def _coefficients_bootstrap(d: Data, rng: Generator) -> Outcomes:
    codes = np.where(np.isnan(d.ratings), -1, d.ratings).astype(np.int32)
    seen = np.unique(codes[codes >= 0])
    if len(seen) < 2:
        return {}
    given = _as_ratings(
        np.where(codes >= 0, np.searchsorted(seen, codes), -1).astype(np.int32), d.question, len(seen)
    )
    out = {}
    for kind in ("percentile", "bca", "studentised"):
        found = fleiss_kappa(given, kind=kind, n_boot=N_BOOT, rng=rng)  # type: ignore[arg-type]
        out[f"Fleiss' kappa, {kind}"] = of(found.estimates[0], d.truth["kappa"])
    return out


def _agreement(d: Data, rng: Generator) -> Outcomes:
    words = np.where(
        np.isnan(d.ratings), "", np.char.add("k", np.nan_to_num(d.ratings).astype(int).astype(str))
    )
    table = pd.DataFrame(words, columns=[f"r{k}" for k in range(words.shape[1])]).replace("", np.nan)
    table.insert(0, "item", np.arange(len(table)))
    table["question"] = d.question
    if len(np.unique(words[words != ""])) < 2:
        return {}
    found = agreement(table)
    return named(
        (coefficient.estimates[0] for coefficient in found.coefficients),
        {
            "Fleiss' kappa": (d.truth["kappa"], 0.0),
            "Krippendorff's alpha": (d.truth["kappa"], 0.0),
            "Cohen's kappa, r0 and r1": (d.truth["kappa"], 0.0),
        },
    )


def _jury(d: Data, rng: Generator) -> Outcomes:
    codes = np.where(d.seen, np.where(d.right, 0, 1), -1).astype(np.int32)
    given = _as_ratings(codes, d.question, 2, np.zeros(len(codes), np.int32))
    found = jury_curve(given, n_permutations=99, rng=rng)
    true = d.truth
    out = {
        "accuracy": of(found.accuracy, true["accuracy"]),
        "one juror": of(found.single, true["single"]),
        "all jurors - one": of(found.gain, true["gain"]),
        "limit of a large panel": of(found.limit, true["limit"]),
        "best juror": of(found.best, true["best"]),
        "all jurors - best": of(found.over_best, true["over best"]),
    }
    worth = found.effective
    # A juror who is right on every item counts for nothing there, so that the truth would be another.
    if worth is not None and worth.size == d.right.shape[1]:
        out |= {
            "error correlation": of(worth.correlation, true["phi"]),
            "effective jurors, Kish": of(worth.kish, min(true["kish"], worth.size)),
            "effective jurors, eigenvalue": of(worth.eigen, true["eigenvalue"]),
        }
    return out


def _without_labels(d: Data, rng: Generator) -> Outcomes:
    truth = rng.integers(0, 2, int(d.question.max()) + 1)[d.question][:, None]
    codes = np.where(d.seen, np.where(d.right, truth, 1 - truth), -1)
    found = dawid_skene(_as_ratings(codes, d.question, 2))
    row = found.judges.iloc[0]
    names = np.array([int(verdict) for verdict in found.verdicts["verdict"]])
    realised = float((names == truth[:, 0]).mean())
    return {
        "accuracy of a judge": columns(row.rename({"low": "x_low", "high": "x_high"}), "x", d.truth["first"]),
        "right verdicts": of(found.expected, realised),
    }


def _ranked(d: Data, rng: Generator) -> Outcomes:
    names, zeros = tuple("abcd"), np.zeros(len(d.first), dtype=np.int64)
    questions = tuple(map(str, range(int(d.question.max()) + 1)))
    judgments = Pairwise(
        d.first,
        d.second,
        d.outcome,
        zeros,
        d.question,
        zeros == 0,
        names,
        ("judge",),
        questions,
        np.arange(len(d.first)),
    )
    found = rank(judgments)
    true = dict(zip(names, d.truth["ratings"], strict=True))
    one = found.ratings.set_index("contestant").loc["a"]
    pairs = found.pairs
    away = (pairs["difference"] - (pairs["first"].map(true) - pairs["second"].map(true))).abs()
    # All intervals hold at once where the farthest difference is within its own half-width.
    farthest = float((away / ((pairs["high"] - pairs["low"]) / 2)).max(skipna=False))
    first, ties = (found.effects[found.effects["effect"].str.startswith(word)] for word in ("first", "ties"))
    out = {
        "rating against the mean": Outcome(true["a"], float(one["low"]), float(one["high"])),
        "all differences at once": Outcome(farthest, *((NAN, NAN) if math.isnan(farthest) else (0.0, 1.0))),
        "first wins": Outcome(d.truth["first"], *map(float, first[["low", "high"]].iloc[0])),
        "ties": Outcome(d.truth["ties"], *map(float, ties[["low", "high"]].iloc[0])),
    }
    p = pairs["p_value"].min()
    if d.fits and not math.isnan(p):
        out["pairs off the model"] = Outcome(0.0, p=float(p), null=0.0)
    return out


def _independent_panel(cell: Cell) -> bool:
    accuracies = cell.setting["accuracies"]
    return not cell.setting["shared"] and len(accuracies) > 2


def _subset(d: Data, rng: Generator) -> Outcomes:
    n = d.right.shape[1]
    if n < 3 or not d.seen.all():
        return {}
    found = subset_accuracy(d.right, 3, cluster=d.question, rng=rng)
    return {"majority of 3": of(found.accuracy, d.truth["subset"])}


def _confidence(d: Data, rng: Generator) -> Outcomes:
    n = len(d.stated)
    one, last = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.bool_)
    data = Confidences(
        d.stated, d.right.astype(float), d.right.astype(np.int64), d.question, d.question, one, one + 1,
        last, ("judges",),
    )  # fmt: skip
    # The parts of the function without its recalibration, which takes most of the time.
    true, error = (
        d.truth,
        calibration_error(d.stated, data.right, d.question, bins_of(d.stated, 10, "equal_count"))[0],
    )
    stated, accuracy, over, brier = means_of(data, 0.95)
    calibrated = 0.0 if true["calibrated"] else NAN
    out = {
        "mean confidence": of(stated, true["stated"]),
        "accuracy": of(accuracy, true["accuracy"]),
        "overconfidence": of(over, true["over"]),
        "Brier score": of(brier, true["brier"]),
        "calibration error": of(error, 0.0 if true["calibrated"] else true["error"], calibrated),
    }
    if "weighted" in true and np.bincount(d.question).max() > 1:
        out["weighted - plurality"] = of(verdicts_of(data, d.stated, 0.95, [])[1][0], true["weighted"])
    return out


def _recalibration(d: Data, rng: Generator) -> Outcomes:
    """The truth is what the maps of this data set save on new votes, so it is another number in each data set."""
    n, clusters = len(d.stated), int(d.question.max()) + 1
    one = np.zeros(n, dtype=np.int64)
    y = d.right.astype(float)
    data = Confidences(
        d.stated, y, d.right.astype(np.int64), d.question, d.question, one, one + 1, one == 0, ("judges",)
    )
    if clusters < FEWEST:
        return {}
    fold = rng.permutation(np.arange(clusters) % FOLDS)[d.question]
    c = betaincinv(5, 2, (np.arange(500) + 0.5) / 500)
    p = np.clip(0.7 + d.truth["slope"] * (c - 0.7) - d.truth["shift"], 0.0, 1.0)
    found = {}
    for name, fit, gain in zip(
        ("isotonic", "Beta"), (fit_isotonic, fit_beta), gains_of(data, fold, 0.95)[0], strict=True
    ):
        saved = 0.0
        for k in range(FOLDS):
            after = fit(d.stated[fold != k], y[fold != k])(c)
            saved += (fold == k).mean() * float(
                (p * ((1 - c) ** 2 - (1 - after) ** 2) + (1 - p) * (c**2 - after**2)).mean()
            )
        found[f"Brier score saved, {name}"] = of(gain, saved)
    return found


# Correlations


def _correlation(d: Data, rng: Generator) -> Outcomes:
    out = {}
    if np.ptp(d.x) == 0 or np.ptp(d.y) == 0:
        return {}
    for name, function in (("spearman", spearman), ("kendall", kendall)):
        cluster = None if d.alone else d.question.tolist()
        found = function(d.x, d.y, cluster=cluster)
        out[name] = of(found.estimate, d.truth[name], 0.0)
        for kind in ("percentile", "bca"):
            boot = function(d.x, d.y, cluster=cluster, kind=kind, n_boot=N_BOOT, rng=rng)
            out[f"{name}, {kind}"] = of(boot.estimate, d.truth[name])
    return out


def _aspects(d: Data, rng: Generator) -> Outcomes:
    if np.ptp(d.x) == 0 or np.ptp(d.y) == 0:
        return {}
    question = [f"q{k}" for k in range(len(d.x))]
    scores, human = (pd.DataFrame({"question": question, "depth": 5 + v}) for v in (d.x, d.y))
    found = aspect_correlations(scores, human).correlations
    return {f"{method}": of(e, d.truth[method], 0.0) for (_, method), e in found.items()}


# Few labels


def _powered_mean(d: Data, rng: Generator) -> Outcomes:
    cluster = None if d.alone else d.question
    found = prediction_powered_mean(d.judge, d.label, cluster=cluster)
    boot = prediction_powered_mean(
        d.judge, d.label, cluster=cluster, kind="percentile", n_boot=N_BOOT, rng=rng
    )
    return {
        "mean": of(found.mean, d.truth["mean"]),
        "labels alone": of(found.labels_only, d.truth["mean"]),
        "judge alone": of(found.naive, d.truth["judge"]),
        "judge - label": of(found.bias, d.truth["judge"] - d.truth["mean"]),
        "mean, percentile": of(boot.mean, d.truth["mean"]),
    }


def _powered_difference(d: Data, rng: Generator) -> Outcomes:
    cluster = None if d.alone else d.question
    # Two systems whose answers are right equally often, judged by the same judge.
    second = (rng.random(len(d.judge)) < d.truth["mean"]).astype(float)
    says = rng.random(len(second)) < np.where(second == 1, d.truth["sensitivity"], 1 - d.truth["specificity"])
    label_b = np.where(d.known, second, NAN)
    found = prediction_powered_difference(d.judge, d.label, says.astype(float), label_b, cluster=cluster)
    return {"difference": of(found.mean, 0.0, 0.0), "labels alone": of(found.labels_only, 0.0, 0.0)}


def _correct_rate(d: Data, rng: Generator) -> Outcomes:
    known = d.known
    clusters = {} if d.alone else {"cluster": d.question[~known], "calibration_cluster": d.question[known]}
    if len(np.unique(d.label[known])) < 2:
        return {}
    try:
        found = correct_rate(
            d.judge[~known], d.judge[known], d.label[known], n_boot=N_BOOT, rng=rng, **clusters
        )
    except ValueError as error:
        return {"rate": Outcome(d.truth["mean"], note=str(error)[:60])}
    return {
        "rate": of(found.rate, d.truth["mean"]),
        "judge alone": of(found.naive, d.truth["judge"]),
        "sensitivity": of(found.sensitivity, d.truth["sensitivity"]),
        "specificity": of(found.specificity, d.truth["specificity"]),
    }


def _correct_counts(d: Data, rng: Generator) -> Outcomes:
    known, judge, label = d.known, d.judge, d.label
    sums = [int(x) for x in (judge[~known].sum(), (~known).sum())]
    yes, no = known & (label == 1), known & (label == 0)
    counts = [int(x) for x in (judge[yes].sum(), yes.sum(), (1 - judge[no]).sum(), no.sum())]
    if 0 in (counts[1], counts[3]):
        return {}
    out = {}
    for kind in (None, "MOVER"):
        name = "rate" if kind is None else f"rate, {kind}"
        try:
            found = correct_counts(*sums, *counts, kind=kind)  # type: ignore[arg-type]
            out[name] = of(found.rate, d.truth["mean"])
        except ValueError as error:
            out[name] = Outcome(d.truth["mean"], note=str(error)[:60])
    return out


def _weighted_mean(d: Data, rng: Generator) -> Outcomes:
    # Of the labels, those of items that the judge calls negative are kept with chance one half.
    chance = np.where(d.judge == 1, 1.0, 0.5)
    label = np.where(rng.random(len(chance)) < chance, d.label, NAN)
    cluster = None if d.alone else d.question
    found = prediction_powered_mean(d.judge, label, cluster=cluster, chance=chance)
    return {"mean": of(found.mean, d.truth["mean"])}


def _correct_shares(d: Data, rng: Generator) -> Outcomes:
    known, judge, label = d.known, d.judge.astype(int), d.label
    judged = np.bincount(judge[~known], minlength=2)
    confusion = [[int(((label == a) & (judge == b))[known].sum()) for b in (0, 1)] for a in (0, 1)]
    try:
        found = correct_shares(judged, confusion)
    except ValueError as error:
        return {"share": Outcome(d.truth["mean"], note=str(error)[:60])}
    return {"share": of(found.shares[1], d.truth["mean"])}


# Debates


def _trajectories(d: Data) -> d3stats.Trajectories:
    shape = d.votes.shape
    tokens = np.full(shape[:2], 100.0) * np.arange(1, shape[1] + 1)
    return d3stats.Trajectories.from_arrays(
        d.votes,
        label=np.zeros(shape[0], int),
        answers=["right", "wrong"],
        cluster=d.question.tolist(),
        tokens=tokens,
    )


def _replay(d: Data, rng: Generator) -> Outcomes:
    found = planning.replay(_trajectories(d), ["unanimity", "fixed:1"])
    true = d.truth
    out = {}
    rows = {row["rule"]: row for row in found.to_frame().to_dict("records")}
    for rule, measures in {
        "unanimity": {
            "accuracy": "accuracy",
            "rounds": "rounds",
            "agreement": "agreement",
            "lost": "lost",
            "saved_rounds_vs_full": "saved",
        },
        "fixed:1": {"accuracy": "first", "agreement": "first agreement"},
    }.items():
        for measure, name in measures.items():
            out[f"{rule}: {measure}"] = columns(rows[rule], measure, true[name])
    for row in found.paired().to_dict("records"):
        if row["measure"] == "accuracy" and row["against"] == "full":
            name = {"fixed:1": "change", "unanimity": "change unanimity"}.get(row["rule"])
            if name:
                out[f"{row['rule']}: change in accuracy"] = Outcome(true[name], row["low"], row["high"])
    return out


def _rounds(d: Data, rng: Generator) -> Outcomes:
    table = planning.fit(_trajectories(d), n_boot=100, rng=rng).to_frame()
    first, last = table.iloc[0], table.iloc[-1]
    true = d.truth
    return {
        "accuracy, first round": columns(first, "accuracy", true["first"]),
        "accuracy, last round": columns(last, "accuracy", true["full"]),
        "mean": columns(first, "mean", true["mean"]),
        "spread": columns(first, "spread", true["spread of chances"]),
        "prob_majority": columns(first, "prob_majority", true["majority"]),
        "KS distance of two rounds": columns(table.iloc[1], "ks_pmf", true["ks"]),
    }


def _martingale(d: Data, rng: Generator) -> Outcomes:
    found = d3stats.martingale_test(_trajectories(d))
    drift = found.drift.set_index("transition").loc["pooled"]
    out = {"drift": Outcome(d.truth["drift"], drift["low"], drift["high"], drift["p_value"], 0.0)}
    if d.truth["martingale"]:
        joint = found.joint.set_index("transition").loc["pooled"]
        slope = found.slope.set_index("transition").loc["pooled"]
        out["cells"] = Outcome(0.0, p=joint["p_value"], null=0.0)
        out["slope"] = Outcome(0.0, slope["low"], slope["high"], slope["p_value"], 0.0)
    return out


def _ks_bound(d: Data, rng: Generator) -> Outcomes:
    # The rule stops where its upper bound is below epsilon. Where epsilon is the true distance, a stop is a miss.
    log, out = _trajectories(d), {}
    for name, distance in (("one look", "ks"), ("every round", "least ks")):
        true = d.truth[distance]
        if true > 0:
            stops = NoiseAwareKS(epsilon=true, window=1).stop_rounds(log)
            # In the last round a debate ends without the rule.
            stopped = stops.reasons.astype(str) != "exhausted"
            early = (stopped & (stops.rounds == 2)).any() if name == "one look" else stopped.any()
            out[f"upper bound, {name}"] = Outcome(true, 0.0, true * (0.99 if early else 1.01))
    return out


def _risk(d: Data, rng: Generator) -> Outcomes:
    limit = 0.1
    found = planning.risk_controlled(
        _trajectories(d), ["fixed:3", "fixed:2", "unanimity", "fixed:1"], max_loss_vs_full=limit, rng=rng
    )
    loss = {"unanimity": 1 - d.truth["agreement"]} | {
        f"fixed:{k}": d.truth[f"loss fixed:{k}"] for k in (1, 2, 3)
    }
    if not found.certified:
        return {"loss of the chosen rule": Outcome(0.0, -1.0, limit, level=0.9, kind="none certified")}
    return {"loss of the chosen rule": Outcome(loss.get(str(found.rule), 0.0), -1.0, limit, level=0.9)}


def _abstention(d: Data, rng: Generator) -> Outcomes:
    panel = d.votes.shape[2]
    truth = _kept_truth(_key(d), panel)
    # A limit just below the error of the strictest threshold, so that each certificate of it is wrong.
    limit = min(max(0.98 * truth[panel][1], 0.01), 0.95)
    found = planning.abstain(_trajectories(d), max_error=limit)
    votes = None if found.threshold is None else round(found.threshold * panel)
    error = 0.0 if votes is None else truth[votes][1]
    row = found.to_frame().iloc[0]
    strictest = round(row["share"] * panel)
    return {
        "error of the chosen threshold": Outcome(error, -1.0, limit, level=0.9),
        "verdicts kept": columns(row, "kept", truth[strictest][0]),
        "error": columns(row, "error", truth[strictest][1]),
    }


def _key(d: Data) -> tuple[tuple[str, Any], ...]:
    setting = {k: tuple(v) if isinstance(v, list) else v for k, v in d.setting.items() if k != "sizes"}
    return tuple(sorted(setting.items()))


@cache
def _kept_truth(key: tuple[tuple[str, Any], ...], panel: int) -> dict[int, tuple[float, float]]:
    """Return the share of verdicts kept and their error at each number of votes of the last round."""
    many = draw(Cell("rounds", "", dict(key) | {"sizes": [1] * 100_000}), np.random.default_rng(5))
    log = _trajectories(many)
    last, verdict = log.votes[:, -1], log.verdicts()[:, -1]
    of_it = ((last == verdict[:, None]) & (verdict != -1)[:, None]).sum(axis=1)
    kept = {k: of_it >= k for k in range(1, panel + 1)}
    wrong = verdict != 0
    return {k: (float(at.mean()), float(wrong[at].mean()) if at.any() else 0.0) for k, at in kept.items()}


def _escalation(d: Data, rng: Generator) -> Outcomes:
    limit, n = 0.1, len(d.votes)
    right = (d.votes == 0).sum(axis=2)
    shape: dict[str, Any] = {
        "answers": ["right", "wrong"],
        "cluster": d.question.tolist(),
        "label": np.zeros(n, int),
    }
    scores = 10.0 * np.stack([right[:, 0], (d.votes[:, 0] == 1).sum(axis=1)], axis=-1)[:, None, :]
    first, second = (
        d3stats.Trajectories.from_arrays(d.votes[:, at], tokens=np.full((n, 1), cost), **more, **shape)
        for at, cost, more in (
            (slice(0, 1), 100.0, {"scores": scores, "sides": ["right", "wrong"]}),
            (slice(-1, None), 1000.0, {}),
        )
    )
    found = planning.escalate(first, second, max_loss_vs_second=limit, thresholds=[20 * k for k in range(4)])
    loss = 0.0 if found.threshold is None else d.truth[f"loss below {found.threshold:g}"]
    row = found.to_frame().set_index("threshold").loc[20.0]
    return {
        "loss of the chosen threshold": Outcome(loss, -1.0, limit, level=0.9),
        "loss": columns(row, "loss", d.truth["loss below 20"]),
        "accuracy": columns(row, "accuracy", d.truth["full"] - d.truth["loss below 20"]),
    }


def _plan(d: Data, rng: Generator) -> Outcomes:
    limit = 0.05
    found = planning.plan(_trajectories(d), max_loss=limit, level=0.9, n_draws=100, rng=rng, limit=False)
    rule = str(found.rule)
    truth = _rule_truth(_key(d), rule)
    row = found.to_frame().set_index("role").loc["recommended"]
    loss = truth["loss"]
    out = {
        "loss of the chosen rule": Outcome(loss, -1.0, limit, level=0.9),
        "loss": columns(row, "loss", loss, level=0.9),
        "accuracy": columns(row, "accuracy", truth["accuracy"], level=0.9),
    }
    if not rule.startswith("fixed"):
        out["rounds"] = columns(row, "rounds", truth["rounds"], level=0.9)
    return out


@cache
def _rule_truth(key: tuple[tuple[str, Any], ...], rule: str) -> dict[str, float]:
    setting = dict(key) | {"sizes": [1] * 40_000}
    many = draw(Cell("rounds", "", setting), np.random.default_rng(5))
    log = _trajectories(many)
    stops = from_text(rule).stop_rounds(log)
    at = np.asarray(stops.rounds) - 1
    verdict = log.verdicts() == 0
    stopped = verdict[np.arange(len(at)), at]
    unanimous = from_text("unanimity").stop_rounds(log)
    base = verdict[np.arange(len(at)), np.asarray(unanimous.rounds) - 1]
    return {
        "loss": float(base.mean() - stopped.mean()),
        "accuracy": float(stopped.mean()),
        "rounds": float(at.mean() + 1),
    }


# Counts


def _mixture(d: Data, rng: Generator) -> Outcomes:
    try:
        fit = d3stats.fit_beta_binomial_mixture(d.right, d.seats, n_components=d.kinds, rng=rng, n_starts=8)
        table = fit.conf_int()
    except ValueError as error:
        return {name: Outcome(truth, note=str(error)[:60]) for name, truth in d.truth.items()}
    return {
        name.split("_")[0]: Outcome(
            d.truth[name], float(row["low"]), float(row["high"]), kind=str(row["kind"]).split(",")[0]
        )
        for name, row in table.iterrows()
        if name in d.truth
    }


def _calibrate(d: Data, rng: Generator) -> Outcomes:
    accuracy, rho = d.truth["mean_1"], d.truth["rho_1"]
    world = d3stats.worlds.Voter(panel=d.seats, accuracy=accuracy, precision=1 / rho - 1)
    pilot = d3stats.worlds.simulate_debates(world, len(d.right), 4, rng=rng)
    table = planning.calibrate(d3stats.worlds.Voter, pilot, n_rep=20, rng=rng).conf_int()
    truth = {"accuracy": accuracy, "precision": 1 / rho - 1}
    return {
        name: Outcome(truth[name], *table.loc[name, ["low", "high"]]) for name in truth if name in table.index
    }


def _likelihood_ratio(d: Data, rng: Generator) -> Outcomes:
    counts = d3stats.Counts.from_columns(d.right, np.full(len(d.right), d.seats))
    found = d3stats.likelihood_ratio_test(counts, n_boot=99, rng=rng)
    return {"one component": Outcome(0.0, p=found.p_value, null=0.0)}


# Rationales


def _texts(d: Data, cites: NDArray[np.bool_]) -> pd.DataFrame:
    words = np.where(cites, "Advocate A argued with more depth.", "It has more depth.")
    return pd.DataFrame(
        {
            "debate": d.debate,
            "question": d.question,
            "round": 1,
            "agent": [f"j{k}" for k in d.juror],
            "vote": d.vote,
            "text": words,
        }
    )


def _rationales(d: Data, rng: Generator) -> Outcomes:
    found = rationales(_texts(d, d.cites), repeated_words=None, rng=rng)
    return named(found.estimates, {"rationales that cite the debate": d.truth["cites"]})


def _compare_rationales(d: Data, rng: Generator) -> Outcomes:
    found = compare_rationales(_texts(d, d.cites), _texts(d, d.other), repeated_words=None, rng=rng)
    estimates = [e for e in found.differences if e.name.startswith("rationales that cite")]
    return {"difference in citing": of(estimates[0] if estimates else None, d.truth["difference"], 0.0)}


EVEN = ("20 x 1", "30 x 1", "60 x 1", "200 x 1", "40 x 5", "10 x 3")


def _even(cell: Cell) -> bool:
    sizes = cell.setting["sizes"]
    return max(sizes) == min(sizes) and not cell.setting.get("missing")


def _grouped(cell: Cell) -> bool:
    return max(cell.setting["sizes"]) > 1


def _binary(cell: Cell) -> bool:
    return not cell.setting.get("scores")


def _plain_normal(cell: Cell) -> bool:
    return cell.setting["law"] == "normal" and not cell.setting.get("between")


def _gap(cell: Cell) -> bool:
    return bool(cell.setting["b"] != cell.setting["a"])


def _some(*words: str) -> Callable[[Cell], bool]:
    """Return a choice of the cells whose name starts with one of the words, and of every random cell."""
    return lambda cell: cell.name.startswith((*words, "random"))


HEALTHY = ("20 x 1", "60 x 1", "200 x 1", "40 x 5", "2 x 50")
INFERENCE = "d3stats.inference."
RESAMPLING = "d3stats.resampling."
PLANNING = "d3stats.planning."

ESTIMATORS: tuple[Estimator, ...] = (
    Estimator(
        "share, independent",
        "share",
        (INFERENCE + "share", INFERENCE + "proportion_interval"),
        _share_independent,
        2000,
        _alone,
    ),
    Estimator(
        "share, clustered",
        "share",
        (INFERENCE + "share", RESAMPLING + "bootstrap_limits"),
        _share_clustered,
        1000,
    ),
    Estimator(
        "cluster t",
        "mean",
        (RESAMPLING + "cluster_t", RESAMPLING + "ClusterT", RESAMPLING + "student_limits"),
        _cluster_t,
        2000,
        lambda c: not c.setting.get("between"),
    ),
    Estimator(
        "bootstrap",
        "mean",
        (RESAMPLING + "bootstrap", RESAMPLING + "Bootstrap", RESAMPLING + "bootstrap_limits"),
        _bootstrap,
        1000,
        lambda c: not c.setting.get("between"),
    ),
    Estimator("stratify", "mean", (INFERENCE + "stratify",), _stratify, 1000),
    Estimator(
        "scores",
        "mean",
        (PLANNING + "scores", PLANNING + "score_gaps"),
        _describe_scores,
        400,
        _plain_normal,
    ),
    Estimator("gap posterior", "share", ("d3stats.gap_posterior",), _gap_grows, 1000, _alone),
    Estimator(
        "signed gap posterior",
        "mean",
        ("d3stats.signed_gap_posterior",),
        _signed_gap,
        1000,
        lambda c: _plain_normal(c) and _alone(c),
    ),
    Estimator(
        "paired difference",
        "paired",
        (
            INFERENCE + "paired_difference",
            INFERENCE + "PairedDifference",
            INFERENCE + "McNemar",
            RESAMPLING + "sign_flip_p",
        ),
        _paired,
        1000,
    ),
    Estimator(
        "margins",
        "paired",
        (
            INFERENCE + "noninferiority",
            INFERENCE + "equivalence",
            INFERENCE + "MarginTest",
            INFERENCE + "MarginTests",
        ),
        _margins,
        1000,
        lambda c: bool(c.setting.get("scores")) or _gap(c),
    ),
    Estimator("compare", "paired", (INFERENCE + "compare", INFERENCE + "Comparison"), _compare, 200),
    Estimator(
        "compare, three runs",
        "paired",
        (INFERENCE + "compare", INFERENCE + "adjust"),
        _compare_three,
        200,
        _binary,
    ),
    Estimator("plan comparison", "paired", (INFERENCE + "plan_comparison",), _plan_comparison, 1000, _even),
    Estimator(
        "planned power",
        "paired",
        (INFERENCE + "sample_size", INFERENCE + "minimum_detectable_effect"),
        _power,
        1000,
        lambda c: _even(c) and _gap(c) and _binary(c),
    ),
    Estimator(
        "Bayes, paired",
        "paired",
        ("d3stats.models.bayes.fit_paired", "d3stats.models.bayes.PairedFit"),
        _bayes_paired,
        300,
        lambda c: _alone(c) and _binary(c),
    ),
    Estimator("position bias", "sides", (INFERENCE + "position_bias", "d3stats.bias"), _position, 400),
    Estimator("length bias", "sides", (INFERENCE + "length_bias",), _length, 400),
    Estimator("self-preference", "sides", (INFERENCE + "self_preference",), _self, 400),
    # What the audits, and the shares of two groups of rationales, are made of.
    Estimator(
        "difference of two shares", "sides", (INFERENCE + "self_preference",), _contrast, 300, _grouped
    ),
    Estimator("persona effect", "sides", (INFERENCE + "persona_effect",), _persona, 400),
    Estimator(
        "agreement coefficients",
        "ratings",
        tuple(
            INFERENCE + name
            for name in ("cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "gwet_ac", "percent_agreement")
        ),
        _coefficients,
        400,
    ),
    Estimator("agreement, bootstrap", "ratings", (INFERENCE + "fleiss_kappa",), _coefficients_bootstrap, 400),
    Estimator("agreement", "ratings", (INFERENCE + "agreement",), _agreement, 200),
    Estimator("jury curve", "jury", (INFERENCE + "jury_curve", INFERENCE + "effective_jurors"), _jury, 200),
    Estimator(
        "judges without labels",
        "jury",
        (INFERENCE + "dawid_skene",),
        _without_labels,
        100,
        _independent_panel,
    ),
    Estimator("stated confidence", "stated", (INFERENCE + "confidence",), _confidence, 300),
    Estimator("recalibration", "stated", (INFERENCE + "confidence",), _recalibration, 100),
    Estimator("ranking", "pairs", (INFERENCE + "rank",), _ranked, 200),
    Estimator("majority of personas", "jury", (INFERENCE + "bias.subset_accuracy",), _subset, 400),
    Estimator(
        "correlation",
        "scores",
        (INFERENCE + "correlation", INFERENCE + "spearman", INFERENCE + "kendall"),
        _correlation,
        400,
    ),
    Estimator("aspect correlations", "scores", (INFERENCE + "aspect_correlations",), _aspects, 400, _alone),
    Estimator(
        "prediction-powered mean", "labelled", (INFERENCE + "prediction_powered_mean",), _powered_mean, 400
    ),
    Estimator(
        "prediction-powered mean, known chances",
        "labelled",
        (INFERENCE + "prediction_powered_mean",),
        _weighted_mean,
        400,
    ),
    Estimator(
        "prediction-powered difference",
        "labelled",
        (INFERENCE + "prediction_powered_difference",),
        _powered_difference,
        400,
    ),
    Estimator("corrected rate", "labelled", (INFERENCE + "correct_rate",), _correct_rate, 400),
    Estimator(
        "corrected rate, counts", "labelled", (INFERENCE + "correct_counts",), _correct_counts, 400, _alone
    ),
    Estimator("corrected shares", "labelled", (INFERENCE + "correct_shares",), _correct_shares, 400, _alone),
    Estimator("replay", "rounds", (PLANNING + "replay",), _replay, 200),
    Estimator("rounds", "rounds", (PLANNING + "fit", "d3stats.rounds_drift"), _rounds, 60),
    Estimator("martingale test", "rounds", ("d3stats.martingale_test",), _martingale, 400),
    Estimator("bound of the KS distance", "rounds", ("d3stats.NoiseAwareKS",), _ks_bound, 200),
    Estimator("risk control", "rounds", (PLANNING + "risk_controlled",), _risk, 300),
    Estimator("abstention", "rounds", (PLANNING + "abstain",), _abstention, 300),
    Estimator(
        "escalation",
        "rounds",
        (PLANNING + "escalate",),
        _escalation,
        200,
        lambda c: c.setting["seats"] == 5 and not c.setting.get("missing"),
    ),
    Estimator("plan", "rounds", (PLANNING + "plan",), _plan, 60, _some(*HEALTHY)),
    Estimator(
        "mixture", "counts", ("d3stats.fit_beta_binomial", "d3stats.fit_beta_binomial_mixture"), _mixture, 300
    ),
    Estimator(
        "calibrated world",
        "counts",
        (PLANNING + "calibrate", PLANNING + "Calibration"),
        _calibrate,
        60,
        lambda c: len(c.setting["weights"]) == 1,
    ),
    Estimator(
        "likelihood ratio test",
        "counts",
        ("d3stats.likelihood_ratio_test",),
        _likelihood_ratio,
        200,
        lambda c: len(c.setting["weights"]) == 1,
    ),
    Estimator("rationales", "reasons", (INFERENCE + "rationales",), _rationales, 150),
    Estimator("compare rationales", "reasons", (INFERENCE + "compare_rationales",), _compare_rationales, 150),
)

_SAMPLER = "a sampler that takes up to minutes for a data set, too long for a thousand data sets"
_BAYES = "d3stats.models.bayes."

EXCEPTIONS: dict[str, str] = {
    "d3stats.panel": "its intervals are those of shares, of the cluster t and of effective jurors, which have rows",
    INFERENCE + "conditional_independence": "a bootstrap of 199 panels per data set; tests/inference/judges/"
    "test_conditional_independence.py measures its size",
    "d3stats.paper": "arranges the intervals of other functions, and those of tokens per point are a replay's",
    "d3stats.report": "a page of the results of other functions; it computes nothing",
    INFERENCE
    + "glad": "limits as of dawid_skene; tests/inference/judges/test_glad.py measures them in three cells",
    INFERENCE + "agreement_by_log": "calls agreement for each log, and the row of agreement measures that",
    INFERENCE + "correct": "calls functions of single shares and means, which have rows, for each category",
    INFERENCE + "Estimate": "holds a number with its interval; it computes none",
    INFERENCE + "exact_coverage": "gives the coverage of an interval exactly; it makes no interval",
    PLANNING
    + "conformal_risk_control": "its bound is a mean over a bag of questions; its tests go through whole bags",
    PLANNING
    + "needed_debates": "the least number of debates for risk control, whose row measures the guarantee",
    PLANNING + "audit_shares": "audit shares of a ledger, whose limit simulations/ledger measures",
    PLANNING + "net_design": "audit share of a ledger of net losses, a bound that holds for any debates",
    PLANNING + "label_value": "half-widths by a formula, checked against 50,000 debates in its tests",
    PLANNING
    + "pilot_sizes": "what pilots of other sizes would save by the chain; simulations/pilot_bills measures it",
    PLANNING + "Simulation.recommend": "Monte Carlo error of as many simulated debates as are asked for",
    **{
        _BAYES + name: _SAMPLER
        for name in ("fit_accuracy", "fit_mixture", "fit_rounds", "AccuracyFit", "MixturePosterior")
    },
    **{_BAYES + name: _SAMPLER for name in ("RoundsPosterior", "BayesFit")},
}
"""Public estimators without a row, with the reason; a class stands for its methods."""
