"""What would a very large panel of such jurors be worth? Limits that hold for every law of difficulty.

An item's chance p of a right vote follows some law G; with n votes the number of right ones is Binomial(n, p). A large
panel is right where p is above one half. The votes of K jurors tell no more of G than its first K moments, so that
many laws with different limits fit equally well. No law is assumed here: the limits are the least and the largest
value of the quantity over all laws G whose likelihood is not far below the largest (profile likelihood). They are
found by linear programs over G on a grid, with cuts that approach the likelihood from outside.

The distance depends on the law. Inside the set of laws, twice the distance is a chi-square with one degree of freedom.
A law of one chance for all items lies on its boundary. The laws near it differ in that chance and in a spread that
cannot be negative, and one chance often makes the quantity the largest that there is. The distance of such a law from
the best fit is a mixture of chi-squares, and its .95 quantile lay between 2.0 and 3.7 in 48 cells (3 to 9 jurors, 30 to
400 items, chances .55 to .97). So a law of one chance belongs to the limits up to the quantile with two degrees, 3.0 in
place of 1.9. With one degree, 5 jurors and 100 items of chance .7, the gain of two jurors was held in .91 of 400 sets,
with this rule in .97.

References
----------
Self and Liang (1987), JASA 82, 605 (likelihood ratios at a boundary). Böhning, Dietz, Schaub, Schlattmann and Lindsay
(1994), Annals of the Institute of Statistical Mathematics 46, 373 (the same, of mixtures against one kind).
Lindsay (1995), Mixture Models: Theory, Geometry and Applications (nonparametric mixing laws). Ignatiadis and Wager
(2022), JASA 117, 1149 (limits over all laws within a neighbourhood). Veinott (1967), Operations Research 15, 147
(supporting cuts). Rao and Scott (1981), JASA 76, 221 (correction for clusters).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from d3stats._arrays import Floats, Ints
from d3stats.estimate import Estimate
from d3stats.models.beliefs.condorcet import majority_is_right
from d3stats.resampling import ONE_CLUSTER, cluster_totals

__all__ = ["large_panel"]


GRID: Floats = np.sin(np.linspace(0.0, np.pi / 2, 101)) ** 2
"""Chances of a right vote, denser near 0 and 1; one half is among them."""
KIND = "profile likelihood over all laws"
FITS_AS_WELL = 0.1
"""Laws so near the largest log likelihood are taken to fit equally well."""
_TOLERANCE = 0.05
_SOLVED = 1e-7
_MOST_CUTS = 80
_MOST_STEPS = 5000
_LEAST = 1e-300


def large_panel(
    right: Ints, votes: Ints, cluster: Ints, level: float, remark: str, notes: list[str]
) -> tuple[Estimate | None, Estimate | None]:
    """Return the limit of a large panel and the gain per juror of two more; why there is none goes to `notes`."""
    size = int(votes.max())
    if size < 3:
        notes.append(f"the limit of a large panel needs items with at least 3 votes; got at most {size}")
        return None, None
    cells, at = np.unique(np.column_stack([right, votes]), axis=0, return_inverse=True)
    rows = np.zeros((len(right), len(cells)))
    rows[np.arange(len(right)), at.ravel()] = 1.0
    totals = cluster_totals(rows, cluster)
    fit = MixingLaws.of(cells[:, 0], cells[:, 1], totals.sum(axis=0))
    away = _drops(totals, level)
    below, above = (GRID > 0.5 + 1e-9).astype(float), (GRID > 0.5 - 1e-9).astype(float)
    larger, now = (_accuracy(n) for n in (size + 2, size))
    gain = (larger - now) / 2
    least, most = fit.ends(below, above, FITS_AS_WELL)
    fits = f"laws with limits from {least:z.2f} to {most:z.2f} fit these votes equally well" + (
        f"; {remark}" if remark else ""
    )
    n, n_clusters = len(right), len(totals)

    def estimate(name: str, value: float, ends: tuple[float, float] | None, note: str) -> Estimate:
        low, high = (None, None) if ends is None else (min(ends[0], value), max(ends[1], value))
        return Estimate(
            name=name,
            value=value,
            low=low,
            high=high,
            kind=KIND,
            n=n,
            level=level,
            n_clusters=n_clusters,
            note=note,
        )

    limit, more = (least + most) / 2, float(gain @ fit.law)
    names = "limit of a large panel", "gain per juror of two more"
    if away is None:
        return estimate(names[0], limit, None, ONE_CLUSTER), estimate(names[1], more, None, ONE_CLUSTER)
    return (
        estimate(names[0], limit, fit.limits(below, above, *away), fits),
        estimate(names[1], more, fit.limits(gain, gain, *away), remark),
    )


def _accuracy(n: int) -> Floats:
    """Return the accuracy of n jurors at each chance of the grid, ties by a coin."""
    s = np.arange(n + 1)
    return np.asarray(_binomial(s, np.full(n + 1, n)).T @ majority_is_right(n))


def _binomial(s: Ints, n: Ints) -> Floats:
    """Return the chance of s right votes of n at each chance of the grid, shape (cells, grid)."""
    from scipy.stats import binom

    return np.asarray(binom.pmf(s[:, None], n[:, None], GRID[None]))


def _drops(totals: Floats, level: float) -> tuple[float, float] | None:
    """Return how far the log likelihood may lie below its maximum, for any law and for one chance; None of one cluster.

    Half the quantile of F times its degrees of freedom, 1 and 2, times how much larger the variance of the cells is
    than that of independent items (Rao and Scott's first-order correction), at least 1.
    """
    from scipy.special import fdtri

    clusters = len(totals)
    if clusters < 2:
        return None
    n = totals.sum()
    share = totals.sum(axis=0) / n
    away = totals - totals.sum(axis=1, keepdims=True) * share
    seen = clusters / (clusters - 1) * (away**2).sum(axis=0) / n / share
    effect = max(seen.sum() / max((1 - share).sum(), 1e-12), 1.0) if len(share) > 1 else 1.0
    any_law, one_chance = (float(k * fdtri(k, clusters - 1, level) / 2 * effect) for k in (1, 2))
    return any_law, one_chance


@dataclass(frozen=True, eq=False)
class MixingLaws:
    """Laws of the chance of a right vote on the grid, with the likelihood of counted votes."""

    weights: Floats
    chances: Floats
    law: Floats
    fitted: Floats

    @classmethod
    def of(cls, right: Ints, votes: Ints, weights: Floats) -> MixingLaws:
        """Return the laws with that of the largest likelihood, found by EM."""
        chances = _binomial(right, votes)
        n = weights.sum()
        law = np.full(len(GRID), 1 / len(GRID))
        for _ in range(_MOST_STEPS):
            slope = chances.T @ (weights / (chances @ law))
            law = law * slope / n
            if slope.max() - n < _TOLERANCE:  # bounds how far the likelihood is from its maximum
                break
        return cls(weights, chances, law, chances @ law)

    def ends(self, low: Floats, high: Floats, drop: float) -> tuple[float, float]:
        """Return the least mean of `low` and the largest of `high` over laws at most `drop` below the best one."""
        least, most = -self._most(-low, drop), self._most(high, drop)
        # A linear program stops a rounding error short of the ends.
        return (
            float(low.min()) if least <= low.min() + _SOLVED else least,
            float(high.max()) if most >= high.max() - _SOLVED else most,
        )

    def limits(self, low: Floats, high: Floats, drop: float, alone: float) -> tuple[float, float]:
        """Return the :meth:`ends`, with the laws of one chance that are at most `alone` below the best law."""
        least, most = self.ends(low, high, drop)
        with np.errstate(divide="ignore", invalid="ignore"):
            of_one = np.where(
                self.weights[:, None] > 0, self.weights[:, None] * np.log(self.chances), 0.0
            ).sum(0)
        held = of_one >= float(self.weights @ np.log(self.fitted)) - alone
        return min([least, *low[held].tolist()]), max([most, *high[held].tolist()])

    def _most(self, value: Floats, drop: float) -> float:
        """Return the largest mean of `value`, by linear programs and cuts where the likelihood falls too low."""
        from scipy.optimize import linprog

        w, best = self.weights, self.fitted
        least = float(w @ np.log(best)) - drop
        cuts, bounds = [w / best], [w.sum() - drop]
        found = float(value @ self.law)
        for _ in range(_MOST_CUTS):
            made = linprog(
                -value, A_ub=-np.array(cuts) @ self.chances, b_ub=-np.array(bounds), A_eq=np.ones((1, len(value))),
                b_eq=[1.0], bounds=(0, None), method="highs",
            )  # fmt: skip
            if made.fun is None or made.x is None:
                break
            found = float(-made.fun)
            at = self.chances @ made.x
            if float(w @ np.log(np.maximum(at, _LEAST))) >= least - min(_TOLERANCE, drop / 3):
                break
            edge = _edge(lambda q: float(w @ np.log(np.maximum(q, _LEAST))) - least, best, at)
            cuts.append(w / edge)
            bounds.append(w.sum() + least - float(w @ np.log(edge)))
        return found


def _edge(above: Callable[[Floats], float], inside: Floats, outside: Floats) -> Floats:
    """Return the last point from `inside` towards `outside` where a concave function is not negative."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if above(inside + middle * (outside - inside)) >= 0:
            low = middle
        else:
            high = middle
    return np.asarray(inside + low * (outside - inside))
