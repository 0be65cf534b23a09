"""How sure is an accuracy that was averaged over random subsets of personas?

Two things vary: which personas are drawn, and which items there are. The spread between subsets that were tried on the
same items shows only the first. How sure the mean is depends on the second just as much, and trying more subsets
does not make it smaller.

:func:`subset_accuracy` takes the votes of all personas: the mean over all subsets is exact (hypergeometric), the
spread between subsets is counted over all of them where they can be counted, and the error of the mean of R drawn
subsets has both parts. :func:`spread_check` takes a published mean, its +- and the sizes, and says what the Binomial
alone would give: for +- as a standard deviation between runs, and as a standard error of their mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, integer, number, probability
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.bias._rates import effect, ratio
from d3stats.resampling import cluster_totals

__all__ = ["SpreadCheck", "SubsetAccuracy", "spread_check", "subset_accuracy"]

Floats = NDArray[np.float64]
MOST_SUBSETS = 20_000
"""Up to so many subsets the spread between them is counted over all; beyond it, over so many drawn ones."""
_BLOCK = 500


@dataclass(frozen=True, eq=False)
class SubsetAccuracy:
    """What :func:`subset_accuracy` found.

    Attributes
    ----------
    accuracy : Estimate
        Mean accuracy of the majority over all subsets; its error is that of the items.
    size, n_personas : int
        Personas in a subset, and in all.
    n_subsets : int
        How many subsets there are.
    sd_between : float
        Standard deviation of the accuracy over all subsets, on these items.
    exact : bool
        Whether `sd_between` was counted over all subsets.
    sd_binomial : float
        Standard deviation of one accuracy over as many independent items.
    """

    accuracy: Estimate
    size: int
    n_personas: int
    n_subsets: int
    sd_between: float
    exact: bool
    sd_binomial: float

    def se_of_mean(self, drawn: int) -> float:
        """Return the error of the mean over `drawn` different random subsets: items, and subsets not drawn."""
        drawn = integer("drawn", drawn, minimum=1)
        if drawn > self.n_subsets:
            raise ValueError(f"drawn must be <= the number of subsets ({self.n_subsets}); got {drawn}")
        if self.accuracy.se is None:
            raise ValueError(f"the error of the items is unknown ({self.accuracy.note})")
        rest = (self.n_subsets - drawn) / (self.n_subsets - 1) if self.n_subsets > 1 else 0.0
        return math.sqrt(self.accuracy.se**2 + self.sd_between**2 / drawn * rest)

    def to_dict(self) -> dict[str, Any]:
        """Return the accuracy and the spreads as JSON can hold them."""
        more = ("size", "n_personas", "n_subsets", "sd_between", "exact", "sd_binomial")
        return {"accuracy": self.accuracy.to_dict(), **{name: getattr(self, name) for name in more}}

    def to_frame(self) -> Any:
        """Return one row: the accuracy as an estimate."""
        return estimates_frame([self.accuracy])

    def to_latex(self) -> str:
        """Return a booktabs tabular of the accuracy."""
        return estimates_latex([self.accuracy])

    def __str__(self) -> str:
        how = "counted over all" if self.exact else f"over {MOST_SUBSETS} drawn"
        return (
            f"{self.accuracy}\n{self.n_subsets} subsets of {self.size} among {self.n_personas}: spread between them "
            f"{self.sd_between:.4f} ({how}); of one accuracy by the Binomial {self.sd_binomial:.4f}"
        )


def subset_accuracy(
    correct: ArrayLike,
    size: int,
    *,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    rng: RngLike = None,
) -> SubsetAccuracy:
    """Return the accuracy of the majority of a random subset of personas.

    Parameters
    ----------
    correct : array of 0 and 1, shape (items, personas)
        Whether each persona was right; no vote missing. With two answers the majority is right when more than half
        are, and half right where it ties.
    size : int
        Personas in a subset.
    cluster : array, shape (items,), optional
        The question of each item; by default each is its own.
    level : float
    rng : Generator, int or None
        For the spread, where there are more than 20,000 subsets.

    Returns
    -------
    SubsetAccuracy

    Raises
    ------
    ValueError
        When a value is neither 0 nor 1 (missing ones included), or `size` exceeds the personas.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random((120, 8)) < rng.beta(6, 2, size=(120, 1))
    >>> found = subset_accuracy(right, 5)
    >>> print(found.accuracy)
    accuracy of the majority of 5: 0.828 [0.774, 0.882] (95 % cluster t, n = 120 in 120 clusters)
    >>> round(found.sd_between, 4), round(found.sd_binomial, 4), found.n_subsets
    (0.0245, 0.0344, 56)
    """
    from scipy.stats import hypergeom

    level = probability("level", level, open_interval=True)
    table = np.asarray(correct, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"correct must have shape (items, personas); got shape {table.shape}")
    if not np.isin(table, (0.0, 1.0)).all():
        item, persona = np.argwhere(~np.isin(table, (0.0, 1.0)))[0]
        raise ValueError(f"correct must be 0 or 1 throughout; got {table[item, persona]} at item {item}")
    size = integer("size", size, minimum=1)
    n, personas = table.shape
    if size > personas:
        raise ValueError(f"size must be <= the number of personas ({personas}); got {size}")
    codes = np.arange(n) if cluster is None else np.unique(np.asarray(cluster), return_inverse=True)[1]
    if codes.shape != (n,):
        raise ValueError(f"cluster must have one name per item ({n}); got shape {codes.shape}")
    law = hypergeom(personas, table.sum(axis=1), size)
    chance = law.sf(size // 2)
    if size % 2 == 0:
        chance = chance + law.pmf(size // 2) / 2
    totals = cluster_totals(np.stack([chance, np.ones(n)], axis=1), codes.astype(np.int64))
    name = f"accuracy of the majority of {size}"
    found = effect(name, totals, ratio, n, level, bounds=(0.0, 1.0))
    found = Estimate(**(found.to_dict() | {"p_value": None}))
    n_subsets = math.comb(personas, size)
    exact = n_subsets <= MOST_SUBSETS
    spread = _spread(table, size, n_subsets if exact else None, as_rng(rng))
    sd = math.sqrt(found.value * (1 - found.value) / n)
    return SubsetAccuracy(found, size, personas, n_subsets, spread, exact, sd)


def _spread(table: Floats, size: int, n_subsets: int | None, rng: np.random.Generator) -> float:
    """Return the standard deviation of the accuracy over subsets, all of them or many drawn ones."""
    personas = table.shape[1]
    if n_subsets is None:
        noise = rng.random((MOST_SUBSETS, personas))
        chosen = np.argpartition(noise, size - 1, axis=1)[:, :size]
        blocks = [chosen[at : at + _BLOCK] for at in range(0, MOST_SUBSETS, _BLOCK)]
    else:
        stream = combinations(range(personas), size)
        blocks = []
        while part := list(islice(stream, _BLOCK)):
            blocks.append(np.asarray(part))
    accuracies = []
    for block in blocks:
        member = np.zeros((len(block), personas))
        np.put_along_axis(member, block, 1.0, axis=1)
        votes = member @ table.T
        accuracies.append(((np.sign(2 * votes - size) + 1) / 2).mean(axis=1))
    return float(np.concatenate(accuracies).std())


@dataclass(frozen=True, slots=True)
class SpreadCheck:
    """What :func:`spread_check` found.

    Attributes
    ----------
    sd : float
        The +- as printed.
    sd_binomial : float
        The spread of accuracies that were each measured on their own items.
    ratio : float
        The printed over the binomial one.
    p_smaller : float
        How likely a spread at most this large is, if each subset had its own items.
    sd_if_error : float
        The spread that is meant if the printed one is the standard error of the mean over the runs.
    p_smaller_if_error : float
        How likely a spread at most that large is, if each subset had its own items.
    se_of_mean : float
        Error of the mean if each subset had its own items.
    se_same_items : float
        Error of the mean if all subsets had the same items, at most: with personas independent given the item it
        lies between `se_of_mean` and this.
    conclusion : str
    """

    sd: float
    sd_binomial: float
    ratio: float
    p_smaller: float
    sd_if_error: float
    p_smaller_if_error: float
    se_of_mean: float
    se_same_items: float
    conclusion: str

    def __str__(self) -> str:
        return self.conclusion


def spread_check(mean: float, sd: float, n_subsets: int, n_items: int) -> SpreadCheck:
    """Compare a printed spread between runs with what the Binomial alone gives.

    A source that prints "mean +- spread" may mean the standard deviation between runs, or the standard error of
    their mean: both are read.

    Parameters
    ----------
    mean, sd : float
        Mean accuracy over the runs and the printed spread, as shares.
    n_subsets : int
        Runs, at least 2.
    n_items : int
        Items of a run.

    Returns
    -------
    SpreadCheck

    Notes
    -----
    Item i is judged rightly by a random subset with chance p_i. One accuracy has the variance mean (1 - mean) / n
    = (Var p_i + E p_i (1 - p_i)) / n. The mean over R subsets on the same items keeps the first part and 1/R of the
    second, if subsets are independent given the item: at most the variance of one accuracy. What a subset does to
    all items alike comes on top, and shows between runs.

    Examples
    --------
    D3's table 4: 85.9 +- .7 over ten subsets of personas, on 120 questions.

    >>> found = spread_check(0.859, 0.007, 10, 120)
    >>> print(found)
    the Binomial alone gives 0.0318 between runs that each have their own 120 items. 0.0070 as a standard deviation between runs is smaller than that (p = 1.7e-05), as of runs that share items; as the standard error of 10 runs it means 0.0221 (p = 0.11), and nothing speaks against items of their own. If all runs had the same items, and personas are independent given the item, the error of the mean is at most about 0.0318
    """  # noqa: E501  # what is printed
    from scipy.special import chdtr

    mean = probability("mean", mean, open_interval=True)
    sd = number("sd", sd, minimum=0.0)
    n_subsets, n_items = integer("n_subsets", n_subsets, minimum=2), integer("n_items", n_items, minimum=1)
    alone = math.sqrt(mean * (1 - mean) / n_items)
    if_error = sd * math.sqrt(n_subsets)
    p, p_if_error = (float(chdtr(n_subsets - 1, (n_subsets - 1) * (x / alone) ** 2)) for x in (sd, if_error))
    said = (
        f"the Binomial alone gives {alone:.4f} between runs that each have their own {n_items} items. {sd:.4f} as a "
        f"standard deviation between runs {_against(p)}; as the standard error of {n_subsets} runs it means "
        f"{if_error:.4f} (p = {p_if_error:.2g}), {_against(p_if_error, told=True)}. If all runs had the same items, "
        f"and personas are independent given the item, the error of the mean is at most about {alone:.4f}"
    )
    own = alone / math.sqrt(n_subsets)
    return SpreadCheck(sd, alone, sd / alone, p, if_error, p_if_error, own, alone, said)


def _against(p: float, *, told: bool = False) -> str:
    if p < 0.05:
        return "smaller too" if told else f"is smaller than that (p = {p:.2g}), as of runs that share items"
    return f"{'and' if told else f'(p = {p:.2g}):'} nothing speaks against items of their own"
