"""Do judges depend on each other beyond the right answer? The residual agreement of each pair, by parametric bootstrap.

Judges who copy each other, or fail on the same items, agree more often than two independent judges of their accuracies
would. The test can only see what the latent class model does not explain: where those who copy are so many that the
model takes their votes for the truth, the excess shows between the others.

References
----------
Qu, Tan and Kutner (1996), Biometrics 52, 797 (residual correlation of pairs given the latent class). Westfall and Young
(1993), Resampling-Based Multiple Testing (largest statistic).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, integer, number
from d3stats._words import counted, points, said_p
from d3stats.inference.judges.dawid_skene import fitted, shared_answers
from d3stats.inputs.ratings import Ratings
from d3stats.models.panels.latent_class import LatentClasses, VotePatterns, climb, posterior_of
from d3stats.note import warning
from d3stats.result import Result
from d3stats.sources.ratings import as_ratings
from d3stats.trajectories import MISSING

__all__ = ["ConditionalIndependence", "conditional_independence", "independence_of"]


ALPHA = 0.05
"""At p-values up to this there is a warning."""
FEWEST_BOOT = 19
_GAIN = 1e-6
"""Refits end when a step gains less per item."""
_ROUNDING = 1e-9
DEPEND = "judges depend on each other"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ConditionalIndependence(Result):
    """Residual agreement of judges given the right answer: the result of :func:`conditional_independence`.

    Attributes
    ----------
    p_value : float
        The p-value of independence given the right answer, by the largest excess of a pair or of all pairs together.
    excess : float
        Residual agreement of the worst pair: its share of equal votes minus what the model expects.
    worst : tuple of str
        The two judges.
    mean_excess : float
        Mean residual agreement over the pairs.
    pairs : DataFrame
        One row per pair, largest excess in errors first: ``first, second, n`` (items where both voted), ``agreement,
        expected, excess, p_value`` (corrected for all pairs).
    n_items : int
        Items with votes.
    n_boot : int
        Panels drawn from the fitted model.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.random(200) < 0.5
    >>> votes = np.where(rng.random((200, 5)) < 0.8, truth[:, None], ~truth[:, None])
    >>> table = pd.DataFrame(np.where(votes, "A", "B"), columns=list("vwxyz"))
    >>> found = conditional_independence(table.assign(z=table["y"]), n_boot=99, rng=1)
    >>> found.p_value, len(found.pairs)
    (0.01, 10)
    """

    p_value: float
    excess: float
    worst: tuple[str, str]
    mean_excess: float
    pairs: pd.DataFrame
    notes: tuple[str, ...]
    n_items: int
    n_boot: int
    _json = ("p_value", "excess", "worst", "mean_excess", "pairs", "notes", "n_items", "n_boot")

    @property
    def headline(self) -> str:
        """Whether the judges depend on each other given the right answer, and the worst pair."""
        pair = (
            f"{self.worst[0]} and {self.worst[1]} agree {points(self.excess)} more often than if independent"
        )
        if self.p_value <= ALPHA:
            return f"The judges depend on each other: {pair} ({said_p(self.p_value)})."
        return f"No dependence of the judges is shown; at most, {pair} ({said_p(self.p_value)})."

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"pairs": self.pairs}


def conditional_independence(
    ratings: Any,
    *,
    prior: float = 0.2,
    n_boot: int = 199,
    rng: RngLike = None,
    **reading: Any,
) -> ConditionalIndependence:
    """Test whether judges vote independently given the hidden right answer, by parametric bootstrap of equal votes.

    Parameters
    ----------
    ratings : Ratings, or any source that :func:`~d3stats.inference.as_ratings` reads
        Votes of four or more judges on items that have the same set of answers; labels are not used. With three
        judges and two answers the model explains any agreement of pairs.
    prior : float
        As in :func:`~d3stats.inference.dawid_skene`.
    n_boot : int
        Panels drawn from the fitted model, with the same missing votes; at least 19.
    rng : Generator, int or None
        Source of these draws; one seed gives one result.
    **reading
        Passed on to ``as_ratings`` (``round_number``, ``repeats``, ...).

    Returns
    -------
    ConditionalIndependence

    Raises
    ------
    ValueError
        When there are fewer than four judges or two answers, or answers that differ from item to item.

    Notes
    -----
    The excess of a pair is its number of equal votes, on the items where both voted, less what the model expects. It
    is divided by its standard deviation in panels drawn from the model and fitted again. The p-value compares the
    largest excess, of a pair or of all pairs together, with the largest of each drawn panel. So it is corrected for
    the choice among them.

    The fit takes judges who copy each other as accurate. So the excess is smaller than the dependence, and it can
    appear in other pairs.

    Examples
    --------
    >>> votes = pd.DataFrame({"w": list("AABABB"), "x": list("AABABA"), "y": list("ABBABB"), "z": list("AABBBB")})
    >>> found = conditional_independence(votes, n_boot=19, rng=1)
    >>> len(found.pairs), found.p_value > 0.05
    (6, True)
    """
    prior = number("prior", prior, minimum=0.0)
    if prior <= 0:
        raise ValueError(f"prior must be above 0; got {prior:g}")
    table = as_ratings(ratings, **reading)
    kept = shared_answers(table, fewest=4)
    fit, patterns = fitted(kept, prior)
    return independence_of(
        kept, fit, patterns, integer("n_boot", n_boot, minimum=FEWEST_BOOT), as_rng(rng), table.notes
    )


def independence_of(
    kept: Ratings,
    fit: LatentClasses,
    patterns: VotePatterns,
    n_boot: int,
    rng: np.random.Generator,
    notes: tuple[str, ...] = (),
) -> ConditionalIndependence:
    """Test a fitted panel."""
    equal, both = _together(patterns)
    agreed, n = patterns.weights() @ equal, patterns.weights() @ both
    seen = n > 0
    expected = n * _expected(fit)
    found = agreed - expected
    drawn = np.stack([_drawn(fit, kept.codes, rng) for _ in range(n_boot)])
    # The sum over all pairs is one statistic more: it sees a small excess that all pairs share.
    found, drawn = np.append(found, found.sum()), np.column_stack([drawn, drawn.sum(axis=1)])
    error, centre = np.maximum(drawn.std(axis=0), _ROUNDING), drawn.mean(axis=0)
    counts = np.append(seen, True)
    z, zs = (np.where(counts, (x - centre) / error, -np.inf) for x in (found, drawn))
    largest = zs.max(axis=1)
    p_values = (1 + (largest[:, None] >= z - _ROUNDING).sum(axis=0)) / (n_boot + 1)
    p_value = float(p_values.min())
    found, z, p_values = found[:-1], z[:-1], p_values[:-1]
    one, two = np.triu_indices(kept.n_raters, 1)
    share = np.divide(1.0, n, out=np.full(len(n), np.nan), where=seen)
    pairs = pd.DataFrame(
        {
            "first": [kept.raters[i] for i in one],
            "second": [kept.raters[i] for i in two],
            "n": n.astype(np.int64),
            "agreement": agreed * share,
            "expected": expected * share,
            "excess": found * share,
            "p_value": np.where(seen, p_values, np.nan),
        }
    )
    order = np.argsort(-z, kind="stable")
    worst = int(order[0])
    excess = float((found * share)[worst])
    names = (kept.raters[one[worst]], kept.raters[two[worst]])
    said = list(notes)
    if p_value <= ALPHA:
        said.append(
            warning(
                f"the judges depend on each other given the right answer ({said_p(p_value)}; {names[0]} and {names[1]} "
                f"agree {points(excess)} more often than independent judges), so verdicts and accuracies without "
                "labels can be wrong, and more so than their intervals say",
                DEPEND,
            )
        )
    if not seen.all():
        said.append(f"{counted(int((~seen).sum()), 'pair')} without a common item left out")
    return ConditionalIndependence(
        p_value=p_value, excess=excess, worst=names, mean_excess=float(np.nanmean(found * share)),
        pairs=pairs.iloc[order].reset_index(drop=True), notes=tuple(said), n_items=kept.n_items, n_boot=n_boot,
    )  # fmt: skip


def _together(patterns: VotePatterns) -> tuple[Floats, Floats]:
    """Return for each pattern and pair whether both votes are equal, and whether both were cast."""
    one, two = np.triu_indices(patterns.votes.shape[1], 1)
    cast = patterns.votes.sum(axis=2)
    return (patterns.votes[:, one] * patterns.votes[:, two]).sum(axis=2), cast[:, one] * cast[:, two]


def _expected(fit: LatentClasses) -> Floats:
    """Return the chance that two independent judges give the same vote, for each pair."""
    one, two = np.triu_indices(len(fit.confusion), 1)
    return np.asarray(np.einsum("k,pkl,pkl->p", fit.prevalence, fit.confusion[one], fit.confusion[two]))


def _drawn(fit: LatentClasses, codes: Ints, rng: np.random.Generator) -> Floats:
    """Return the excess of each pair in a panel drawn from the model, fitted again."""
    answers = len(fit.prevalence)
    truth = np.searchsorted(np.cumsum(fit.prevalence)[:-1], rng.random(len(codes)), side="right")
    limits = np.cumsum(fit.confusion, axis=2)[:, :, :-1]
    votes = (rng.random(codes.shape)[:, :, None] >= limits[np.arange(codes.shape[1]), truth[:, None]]).sum(
        axis=2
    )
    patterns = VotePatterns.of(np.where(codes == MISSING, MISSING, votes).astype(np.int64), answers)
    weights = patterns.weights()
    start, _ = posterior_of(patterns.flat, fit.prevalence, fit.confusion)
    again = climb(patterns, weights, start, fit.prior, _GAIN)
    equal, both = _together(patterns)
    return np.asarray(weights @ equal - (weights @ both) * _expected(again))
