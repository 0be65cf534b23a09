"""Length bias of a judge: the effect of the ratio of lengths on its verdicts in a logistic model, quality held fixed.

    logit P(vote for A) = a + b * label + c * order + d * log2(length of A / length of B)

with label and order 1/2 for A, -1/2 for B (a tied label 0); ties count half. The *length effect* d is in log-odds per
doubling of the ratio of lengths; its average marginal effect is the same as a change of the probability. The
*length-controlled win rate* of A is the mean prediction at equal length (the idea of Dubois et al., 2024). Errors come
from leaving out each cluster in turn, by one Newton step (CR3; Bell and McCaffrey, 2002, MacKinnon, Nielsen and Webb,
2023), with Student's t of at most clusters - 1 degrees. The log-odds have no interval where fewer than five clusters
hold a verdict against the label: with three, 95 % limits cover .85; from four on .93 and more.

A label is a coarse measure of quality: where, within a label, the longer answers are better, the effect is an upper
bound of the bias.

References
----------
Dubois et al. (2024), arXiv 2404.04475. Zheng et al. (2023), arXiv 2306.05685. Papke and Wooldridge (1996), Journal of
Applied Econometrics 11, 619 (shares as outcomes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import scipy

from d3stats._arrays import Floats, Ints
from d3stats._check import probability
from d3stats._words import counted
from d3stats.estimate import Estimate
from d3stats.inference.bias.audit import Audit, Audits, audited, clustered_rate, contrast_of_rates
from d3stats.inputs.labels import StrataOf
from d3stats.inputs.verdicts import TIE, Judgments, Votes, one_judge
from d3stats.resampling import degrees_of_freedom, student_limits, too_unequal
from d3stats.resampling.cluster_t import ALIKE
from d3stats.sources import Reading
from d3stats.sources.verdicts import judgments_with_strata
from d3stats.trajectories import MISSING

__all__ = [
    "LENGTH",
    "LONGER",
    "MARGINAL",
    "PULL",
    "LengthBias",
    "LogitFit",
    "fit_logit",
    "length_bias",
    "separated",
]

FEWEST_SURPRISES = 5
"""With fewer clusters that hold a verdict of the rarer kind, against the label or with it, there are no limits."""
_STEPS = 60
_SMALL = 1e-10
_EXTREME = 18.0
"""A linear predictor beyond this is looked at as a sign of separation."""


LENGTH, MARGINAL = "log-odds per doubling of the length ratio", "probability per doubling of the length ratio"
WON, CONTROLLED = "win rate of A", "win rate of A at equal length"
LONGER, PULL = "verdicts for the longer answer", "preference for the longer answer against the label"


@dataclass(frozen=True, eq=False, kw_only=True)
class LengthBias(Audit):
    """Effect of answer length on a judge's verdicts by logistic regression; it is the first estimate, if there is one.

    Attributes
    ----------
    terms : tuple of str
        Terms of the model.
    coefficients : tuple of float
        In log-odds, one per term; empty where votes are separated.
    separation : str
        "" or what is separated, in words.
    judge : str
        Whose verdicts were audited.

    Examples
    --------
    >>> import pandas as pd
    >>> from d3stats.inference import length_bias
    >>> rng = np.random.default_rng(1)
    >>> long, label = rng.integers(50, 400, (2, 300)), rng.choice(["A", "B"], 300)
    >>> chance = 1 / (1 + np.exp(-(np.log2(long[0] / long[1]) + np.where(label == "A", 1, -1))))
    >>> columns = {"item": range(300), "vote": np.where(rng.random(300) < chance, "A", "B"), "label": label}
    >>> found = length_bias(pd.DataFrame(columns | {"length_a": long[0], "length_b": long[1]}))
    >>> found.terms, [round(each, 2) for each in found.coefficients]
    (('intercept', 'label', 'length'), [-0.31, 2.13, 0.92])
    >>> print(found.effect)
    log-odds per doubling of the length ratio: 0.924 [0.622, 1.226] (95 % jackknife t, n = 300 in 300 clusters)
    """

    terms: tuple[str, ...]
    coefficients: tuple[float, ...]
    separation: str

    def _document(self) -> dict[str, Any]:
        """Return estimates, the model and notes as JSON can hold them."""
        model = dict(zip(self.terms, self.coefficients, strict=False)) if self.coefficients else None
        return super()._document() | {"model": model, "separation": self.separation}


def length_bias(
    source: Any,
    *,
    judge: str | None = None,
    votes: Votes | None = None,
    use_label: bool = True,
    level: float = 0.95,
    strata: StrataOf = None,
    **reading: Unpack[Reading],
) -> LengthBias | Audits[LengthBias]:
    """Estimate the effect of answer length on a judge's verdicts by logistic regression, quality held fixed by labels.

    Parameters
    ----------
    source : Judgments, DataFrame, str or Path
        Verdicts with ``length_a`` and ``length_b`` (tokens, words or characters, above 0), ``label`` where it is
        known, ``order`` where it varies (:func:`as_judgments`).
    judge : str, optional
        Which judge; by default each of them.
    votes : {"answer", "slot"}, optional
        Whether a vote names the answer, or the place where it was shown (A the first).
    use_label : bool
        Hold quality fixed by the label. Without the label, the effect also holds that of
        everything correlated with length.
    level : float
        Level of the intervals, in (0, 1).
    strata : str, mapping or Series, optional
        The column that says an item's kind (category, task), or the kind of each item by its name: every estimate is
        then also made by stratum, raw and shrunken; see :mod:`d3stats.inference.comparison.strata`.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    LengthBias
        For several judges an :class:`Audits` with one result each. Where a combination of terms predicts
        votes without error, the model has no maximum and the result no log-odds. `separation` is then set, and
        the model-free estimates remain.

    Raises
    ------
    ValueError
        When a column is absent, no verdict can be used, all lengths are equal, labels are wanted and there are
        none, or there are too few clusters for the terms.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> long, label = rng.integers(50, 400, (2, 300)), rng.choice(["A", "B"], 300)
    >>> chance = 1 / (1 + np.exp(-(np.log2(long[0] / long[1]) + np.where(label == "A", 1, -1))))
    >>> vote = np.where(rng.random(300) < chance, "A", "B")
    >>> columns = {"item": range(300), "vote": vote, "label": label, "length_a": long[0], "length_b": long[1]}
    >>> print(length_bias(pd.DataFrame(columns)).effect)
    log-odds per doubling of the length ratio: 0.924 [0.622, 1.226] (95 % jackknife t, n = 300 in 300 clusters)
    """
    level = probability("level", level, open_interval=True)
    found: LengthBias | Audits[LengthBias] = audited(
        _of_judge,
        *judgments_with_strata(source, strata, votes=votes, needs=("length_a", "length_b"), **reading),
        judge,
        use_label=use_label,
        level=level,
    )
    return found


def _of_judge(data: Judgments, *, judge: str | None, use_label: bool, level: float) -> LengthBias:
    """Audit the verdicts of one judge."""
    name, data = one_judge(data, judge)
    lengths = [data.numbers("length_a"), data.numbers("length_b")]
    usable = (data.vote != MISSING) & ~np.isnan(lengths[0]) & ~np.isnan(lengths[1])
    if use_label and not (data.label != MISSING).any():
        raise ValueError(
            "labels are needed to hold quality fixed; got none. use_label=False (--no-use-label) estimates the "
            "effect of length without labels, mixed with everything that correlates with length"
        )
    if use_label:
        usable &= data.label != MISSING
    if not usable.any():
        raise ValueError(f"a length audit needs verdicts with both lengths; got none of {name!r}")
    notes = [*data.doubts(), *data.notes]
    if not usable.all():
        what = "vote, a length or a label" if use_label else "vote or a length"
        notes.append(f"{int((~usable).sum())} of {len(data)} verdicts lack a {what} and were left out")
    if not use_label:
        notes.append("without labels the effect mixes length with the quality that correlates with length")
    doubling = np.log2(lengths[0] / lengths[1])[usable]
    data = data.rows(usable)
    if not (doubling != 0).any():
        raise ValueError("lengths must differ in some pair; got equal lengths in all pairs")
    design, terms = _design(data, doubling, use_label)
    outcome = data.toward(np.zeros(len(data), dtype=np.int64))
    least, got = len(terms) + 1, len(np.unique(data.cluster))
    if got <= least:
        raise ValueError(f"clusters must be more than the terms of the model plus one ({least}); got {got}")
    estimates, said = _model_free(data, doubling, level), ""
    coefficients: tuple[float, ...] = ()
    fit = fit_logit(design, outcome, data.cluster)
    if fit is not None:
        few = _few_surprises(data, use_label)
        if few:
            notes.append(f"no interval of the {LENGTH}: {few}")
        estimates = (*_estimates(fit, design, outcome, level, few), *estimates)
        coefficients = tuple(map(float, fit.coefficients))
    elif separated(design, outcome):
        said = _said(data, doubling)
        notes.append(said)
    else:
        raise ValueError("the model's likelihood has no maximum; check the lengths for extreme values")
    return LengthBias(judge=name, estimates=estimates, notes=tuple(notes), terms=terms, coefficients=coefficients,
                      separation=said)  # fmt: skip


def _design(data: Judgments, doubling: Floats, use_label: bool) -> tuple[Floats, tuple[str, ...]]:
    columns, terms = [np.ones(len(data))], ["intercept"]
    sides = {"label": data.label, "order": data.order} if use_label else {"order": data.order}
    for term, codes in sides.items():
        signed = np.select([codes == 0, codes == 1], [0.5, -0.5], 0.0)
        if len(np.unique(signed)) > 1:
            columns.append(signed)
            terms.append(term)
    return np.stack([*columns, doubling], axis=1), (*terms, "length")


def _few_surprises(data: Judgments, use_label: bool) -> str:
    """Say that too few verdicts of the rarer kind carry the log-odds, "" where there are enough."""
    known = (data.vote != MISSING) & (data.vote != TIE)
    kinds = ("for A", "for B")
    held = data.vote == 0
    if use_label:
        known &= (data.label == 0) | (data.label == 1)
        held, kinds = data.vote == data.label, ("with the label", "against the label")
    clusters = [len(np.unique(data.cluster[known & of])) for of in (held, ~held)]
    rarer = int(np.argmin(clusters))
    if clusters[rarer] >= FEWEST_SURPRISES:
        return ""
    return (
        f"{counted(clusters[rarer], 'cluster')} with a verdict {kinds[rarer]}, fewer than {FEWEST_SURPRISES}, do not "
        "show how it varies"
    )


def _estimates(fit: LogitFit, design: Floats, outcome: Floats, level: float, few: str = "") -> list[Estimate]:
    beta, p = fit.coefficients, fit.fitted
    steep = p * (1 - p)
    curve = (beta[-1] * steep * (1 - 2 * p)) @ design / len(p)
    curve[-1] += steep.mean()
    level_design = design.copy()
    level_design[:, -1] = 0.0
    equal = scipy.special.expit(level_design @ beta)
    equal_slope = (equal * (1 - equal)) @ level_design / len(p)
    controlled = fit.mean_changes(equal, equal_slope)
    won = fit.mean_changes(outcome, np.zeros(design.shape[1]))
    sizes = np.bincount(fit.cluster, minlength=fit.n_clusters).astype(np.float64)
    unequal = too_unequal(sizes)
    marginal = fit.mean_changes(beta[-1] * steep, curve)
    anywhere = (-np.inf, np.inf)
    quantities = (
        (LENGTH, float(beta[-1]), fit.left_out[:, -1], anywhere),
        (MARGINAL, float(beta[-1] * steep.mean()), marginal, anywhere),
        (WON, float(outcome.mean()), won, (0.0, 1.0)),
        (CONTROLLED, float(equal.mean()), controlled, (0.0, 1.0)),
    )
    rows = []
    for name, value, changes, (least, most) in quantities:
        if name == WON:
            rows.append(clustered_rate(WON, outcome, fit.cluster, level))
            continue
        se = fit.jackknife_se(changes)
        low = high = p_value = None
        why = unequal or (few if name == LENGTH else "")
        if se > 0 and not why:
            low, high, p_value = student_limits(value, se, _degrees(changes, sizes), level)
            low, high = max(low, least), min(high, most)
        p_value = p_value if name in (LENGTH, MARGINAL) else None
        rows.append(Estimate(name=name, value=value, se=se, low=low, high=high, kind="jackknife t", n=len(outcome),
                             n_clusters=fit.n_clusters, level=level, p_value=p_value,
                             note=(why if se > 0 else ALIKE)))  # fmt: skip
    return rows


def _degrees(changes: Floats, sizes: Floats) -> float:
    """Return the degrees of freedom of a jackknife: Kish's, and fewer where few clusters make up most of the error.

    Then Satterthwaite's 2 / CV^2 of the squared changes, at least 2, as for a share over clusters.
    """
    square = changes**2
    variation = float(square @ square) / float(square.sum()) ** 2 - 1 / len(changes)
    most = degrees_of_freedom(sizes)
    return min(most, max(2.0, 2 / variation)) if variation > 0 else most


def _model_free(data: Judgments, doubling: Floats, level: float) -> tuple[Estimate, ...]:
    """Return the share of verdicts for the longer answer, and the pull to it where labels say otherwise."""
    longer = np.select([doubling > 0, doubling < 0], [0, 1], MISSING).astype(np.int64)
    share = data.toward(longer)
    known = ~np.isnan(share)
    found = [clustered_rate(LONGER, share[known], data.cluster[known], level)]
    decided = known & ((data.label == 0) | (data.label == 1))
    by_label = [decided & (longer == data.label), decided & (longer != data.label)]
    if all(mask.any() for mask in by_label):
        right = (1 - share[by_label[0]], data.cluster[by_label[0]])
        wrong = (share[by_label[1]], data.cluster[by_label[1]])
        found.append(contrast_of_rates(PULL, (wrong, right), (0.5, -0.5), level))
    return tuple(found)


def _said(data: Judgments, doubling: Floats) -> str:
    decided = (data.vote != TIE) & (doubling != 0)
    longer = (doubling > 0) == (data.vote == 0)
    n, hits = int(decided.sum()), int(longer[decided].sum())
    return (
        f"votes are separated: some combination of the terms predicts votes without error ({hits} of {n} go to the "
        "longer answer), so the length effect in log-odds has no finite estimate"
    )


@dataclass(frozen=True, eq=False)
class LogitFit:
    """Coefficients of a logistic model, fitted shares, and what each cluster changes."""

    coefficients: Floats
    fitted: Floats
    left_out: (
        Floats  # coefficients without each cluster less `coefficients`, by one Newton step: (clusters, p)
    )
    cluster: Ints  # 0 .. clusters - 1

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.left_out)

    def jackknife_se(self, changes: Floats) -> float:
        """Return the standard error of a quantity from its changes when each cluster is left out (CR3)."""
        return float(np.sqrt((self.n_clusters - 1) / self.n_clusters * (changes**2).sum()))

    def mean_changes(self, values: Floats, slope: Floats) -> Floats:
        """Return what leaving out a cluster does to the mean of `values`, whose derivative is `slope`."""
        n, mean = len(values), values.mean()
        size = np.bincount(self.cluster, minlength=self.n_clusters)
        total = np.bincount(self.cluster, weights=values, minlength=self.n_clusters)
        return np.asarray(self.left_out @ slope - (total - size * mean) / (n - size))


def fit_logit(design: Floats, outcome: Floats, cluster: Ints) -> LogitFit | None:
    """Fit a logistic model by maximum (quasi-)likelihood; None where there is no maximum (outcomes are separated).

    Outcomes lie in [0, 1]. A ValueError is raised when columns of the design, shape (n, p), depend on each other, with
    all clusters or without one. (The code is our own, because statsmodels has no cluster jackknife of a GLM and misses
    quasi-complete separation.)
    """
    rank = int(np.linalg.matrix_rank(design))
    if rank < design.shape[1]:
        raise ValueError(
            f"the terms of the model must not be collinear; got {design.shape[1]} of rank {rank}"
        )
    beta = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        p = scipy.special.expit(design @ beta)
        score = design.T @ (outcome - p)
        information = (design * (p * (1 - p))[:, None]).T @ design
        if np.linalg.cond(information) > 1e13:
            return None
        step = np.linalg.solve(information, score)
        # A Newton step of more than a few units runs past the maximum.
        step *= min(1.0, 4.0 / max(float(np.abs(design @ step).max()), 1e-300))
        beta = beta + step
        if float(np.abs(step).max()) < _SMALL * (1 + float(np.abs(beta).max())):
            break
    else:
        return None
    if float(np.abs(design @ beta).max()) > _EXTREME and separated(design, outcome):
        return None
    p = scipy.special.expit(design @ beta)
    codes = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
    return LogitFit(beta, p, _left_out(design, outcome - p, p * (1 - p), codes), codes)


def _left_out(design: Floats, residual: Floats, weight: Floats, codes: Ints) -> Floats:
    n_clusters, n_terms = int(codes.max()) + 1, design.shape[1]
    scores = np.empty((n_clusters, n_terms))
    parts = np.empty((n_clusters, n_terms, n_terms))
    for a in range(n_terms):
        scores[:, a] = np.bincount(codes, weights=design[:, a] * residual, minlength=n_clusters)
        for b in range(a + 1):
            product = np.bincount(codes, weights=design[:, a] * design[:, b] * weight, minlength=n_clusters)
            parts[:, a, b] = parts[:, b, a] = product
    rest = parts.sum(axis=0) - parts
    scale = np.trace(parts.sum(axis=0)) / n_terms
    weak = np.linalg.eigvalsh(rest)[:, 0] < 1e-9 * scale
    if weak.any():
        raise ValueError(
            "every term of the model must vary in more than one cluster; "
            f"without cluster {int(np.argmax(weak))} alone a term cannot be estimated"
        )
    return np.asarray(-np.linalg.solve(rest, scores[:, :, None])[:, :, 0])


def separated(design: Floats, outcome: Floats) -> bool:
    """Say whether some combination of terms predicts every outcome without error (Albert and Anderson, 1984).

    By linear programming (Konis, 2007): is there b with ``x b >= 0`` at 1, ``<= 0`` at 0, ``= 0`` in between, and
    not 0 throughout?
    """
    from scipy.optimize import linprog

    sign = np.where(outcome == 1, 1.0, np.where(outcome == 0, -1.0, 0.0))
    between = sign == 0
    signed = design * sign[:, None]
    found = linprog(
        -signed.sum(axis=0),
        A_ub=-signed[~between],
        b_ub=np.zeros(int((~between).sum())),
        A_eq=design[between] if between.any() else None,
        b_eq=np.zeros(int(between.sum())) if between.any() else None,
        bounds=[(-1, 1)] * design.shape[1],
    )
    return found.status == 0 and found.fun is not None and bool(found.fun < -1e-7)
