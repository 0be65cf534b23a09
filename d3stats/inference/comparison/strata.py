"""Does an effect differ between kinds of questions? Estimates by stratum, raw and shrunken, and a test of equality.

A stratum is a kind of question (a category, a task, a level of difficulty). It is no cluster: clusters are a sample,
strata are the kinds that one wants to know about. Each stratum is estimated from its own questions by the method of
the whole log. A shrunken estimate is given beside each raw one, because the best and the worst of several small strata
are extreme partly by chance.

- *Shrunken*: the model takes strata to vary normally about a common mean, with standard deviation tau. The estimate is
  the posterior mean under flat priors of the mean and of tau (Gelman, 2006); the interval is equal-tailed. Given tau,
  the estimate is the stratum's own value and the common mean, weighted by ``tau^2 / (tau^2 + v)`` and
  ``v / (tau^2 + v)``. The sampling variance v is the variance of one question divided by the stratum's number of
  questions. A variance from five questions is too rough for a weight, so each is drawn towards that pooled over strata,
  wholly where they vary no more than chance has it (Smyth, 2004). Student's t with the degrees of freedom of this
  variance replaces the normal law of the sampling errors. The table also has the estimate of tau by
  Paule and Mandel (1982), and the mean of the strata with the t interval of Hartung and Knapp (2001).
- *Equality*: the ANOVA-type statistic of Brunner, Dette and Munk (1997). Unlike Cochran's Q and Welch's test it does
  not divide by the variance of a single stratum, so it holds its size with five questions per stratum, and where
  nothing changed in one of them.

Assumptions: questions are a sample of their stratum and independent of each other. Shrunken intervals hold the truth as
often as they say on average over strata, not in each: a stratum far from the others is drawn towards them. With fewer
than three strata nothing is shrunken. Where a cluster has items in several strata, their estimates are taken as
independent, and a note says so.

References
----------
Brunner, Dette and Munk (1997), Journal of the American Statistical Association 92, 1494. Gelman (2006), Bayesian
Analysis 1, 515. Hartung and Knapp (2001), Statistics in Medicine 20, 3875. Paule and Mandel (1982), Journal of Research
of the National Bureau of Standards 87, 377. Rubin (1981), Journal of Educational Statistics 6, 377 (the same model).
Smyth (2004), Statistical Applications in Genetics and Molecular Biology 3, 3 (variances drawn together).
Viechtbauer (2007), Statistics in Medicine 26, 37. D3, section 5.2 (accuracy by kind of task).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import probability, refuse_infinite
from d3stats._words import counted
from d3stats.estimate import Estimate, estimates_frame
from d3stats.inference.comparison.multiplicity import adjust
from d3stats.inputs.labels import Labels
from d3stats.note import warning
from d3stats.plausibility import names_alike
from d3stats.resampling.cluster_t import (
    CommonSkewness,
    cluster_estimate,
    common_skewness,
    item_ratio_error,
    student_limits,
)
from d3stats.resampling.clusters import cluster_codes, cluster_totals, ratios
from d3stats.resampling.degrees import effective_clusters
from d3stats.resampling.proportions import EXACT, WILSON
from d3stats.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EqualityTest", "Strata", "by_stratum", "strata_tables", "stratify"]


FEW_QUESTIONS = 5
"""With fewer questions a stratum's own interval is rough, and carries a note; a skewed mean's is not printed."""
MANY_STRATA = 30
"""With more strata than this a note says so: a column of them is perhaps no kind of question."""
_GRID, _HALVINGS = 200, 36
"""Points of tau over which a posterior is added up, and halvings to its limits."""
LEAST_STRATA = 3
"""Strata from which on estimates are shrunken: two do not show how strata vary."""


@dataclass(frozen=True, slots=True)
class EqualityTest:
    """Test that all strata have the same value (ANOVA-type statistic).

    Attributes
    ----------
    f, p_value : float or None
        The statistic and its p-value; None where there is no test, and then `why` says why.
    df1, df2 : float
        Degrees of freedom of F, by Box' approximation.
    n_strata : int
        Strata that take part: those of two questions or more.
    why : str
        Why there is no test, "" where there is one.

    Examples
    --------
    >>> found = stratify([0.1, 0.2, 0.3, 0.6, 0.7, 0.8], list("aaabbb")).equality
    >>> [round(number, 4) for number in (found.f, found.df1, found.df2, found.p_value)]
    [37.5, 1.0, 4.0, 0.0036]
    """

    f: float | None
    df1: float
    df2: float
    p_value: float | None
    n_strata: int
    why: str = ""

    def __str__(self) -> str:
        if self.f is None or self.p_value is None:
            return f"do strata differ: no test, because {self.why}"
        small = "p < .001" if self.p_value < 0.001 else f"p = {self.p_value:.3g}"
        return f"do strata differ: F({self.df1:.3g}, {self.df2:.3g}) = {self.f:z.2f}, {small}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Strata(Result):
    r"""One quantity by stratum: raw and shrunken estimates, tests adjusted for their number, and a test of equality.

    Attributes
    ----------
    quantity : str
        What is estimated in every stratum.
    column : str
        What strata are, such as "category".
    raw : tuple of Estimate
        One per stratum, named by it, from its own questions alone.
    overall : Estimate
        The same of all questions that have a stratum.
    shrunken : tuple of Estimate or None
        Posterior means of the strata's values, in the same order; None where there are too few strata.
    weights : tuple of float or None
        Share of a stratum's own estimate in the shrunken one, on average over tau; the rest is the common mean's.
    mean : Estimate or None
        Mean over strata, each counted by its precision, with the t interval of Hartung and Knapp (strata - 1 degrees).
        Its p-value tests the same null as `p_values`; None where these compare with the other strata.
    between : float or None
        Standard deviation of the true values between strata, tau (Paule and Mandel).
    between_low, between_high : float or None
        Its limits (Q profile, Viechtbauer, 2007; the lower one by an F, because sampling variances are estimated).
    equality : EqualityTest
        The test that all strata have the same value.
    null : str
        What `p_values` test: "0", or "the other strata" where the quantity has no value of no effect.
    p_values, p_holm, p_bh : tuple of float or None
        By stratum: as such, and adjusted over the strata of this quantity (Holm; Benjamini-Hochberg).
    notes : tuple of str
        What the data cannot carry.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> strata = np.repeat(["coding", "ethics", "math", "writing"], 12)
    >>> gain = rng.normal(np.repeat([0.0, 0.3, 0.0, 0.1], 12), 0.2)
    >>> found = stratify(gain, strata, name="gain", column="category")
    >>> found.to_frame()[["stratum", "value", "shrunken", "p_holm"]].round(3).values.tolist()[1]
    ['ethics', 0.299, 0.289, 0.0]
    >>> print(found.equality)
    do strata differ: F(1.96, 24.5) = 7.91, p = 0.00236
    >>> round(found.between, 3), round(found.mean.value, 3)
    (0.137, 0.09)
    >>> print(found.plot().get_xlabel())
    gain
    """

    quantity: str
    column: str
    raw: tuple[Estimate, ...]
    overall: Estimate
    shrunken: tuple[Estimate | None, ...]
    weights: tuple[float | None, ...]
    mean: Estimate | None
    between: float | None
    between_low: float | None
    between_high: float | None
    equality: EqualityTest
    null: str
    p_values: tuple[float | None, ...]
    p_holm: tuple[float | None, ...]
    p_bh: tuple[float | None, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.raw)

    def __getitem__(self, stratum: str) -> Estimate:
        found = {e.name: e for e in self.raw}
        if stratum not in found:
            raise KeyError(f"no stratum {stratum!r}; there are {list(found)}")
        return found[stratum]

    @property
    def headline(self) -> str:
        """The answer, whether the strata differ, and the whole."""
        return f"{self.quantity}, by {self.column}: {self.equality}; all {self.overall._text()}."

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return one row per stratum, and one of what holds for all of them.

        Columns of the first: ``quantity, stratum, n, n_clusters, value, se, low, high, level, kind, null, p_value,
        p_holm, p_bh, shrunken, shrunken_low, shrunken_high, shrunken_kind, weight, note``; of the second ``quantity,
        strata, f, df1, df2, p_value, between, between_low, between_high, mean, mean_low, mean_high, overall,
        overall_low, overall_high, why``.
        """
        frame = estimates_frame(self.raw)
        shrunk = [None if e is None else (e.value, e.low, e.high) for e in self.shrunken]
        none = (None, None, None)
        frame = frame.assign(
            quantity=self.quantity,
            stratum=frame["name"],
            null=self.null,
            shrunken_kind=pd.Series(
                [None if e is None or e.low is None else e.kind for e in self.shrunken], dtype=object
            ),
            **{
                name: pd.Series([np.nan if p is None else p for p in values], dtype="float64")
                for name, values in (
                    ("p_value", self.p_values),
                    ("p_holm", self.p_holm),
                    ("p_bh", self.p_bh),
                    ("weight", self.weights),
                    *(
                        (f"shrunken{end}", [(x or none)[k] for x in shrunk])
                        for k, end in enumerate(("", "_low", "_high"))
                    ),
                )
            },
        )
        test = self.equality
        one: dict[str, Any] = {"quantity": self.quantity, "strata": len(self), "f": test.f, "df1": test.df1}
        one |= {"df2": test.df2, "p_value": test.p_value, "between": self.between}
        one |= {"between_low": self.between_low, "between_high": self.between_high}
        for name, e in (("mean", self.mean), ("overall", self.overall)):
            one |= dict(zip((name, f"{name}_low", f"{name}_high"), _limits(e), strict=True))
        numbers = dict.fromkeys([c for c in one if c not in ("quantity", "strata")], "float64")
        return {
            "strata": frame[list(_COLUMNS)],
            "equality": pd.DataFrame([one]).astype(numbers).assign(why=test.why),
        }

    def _title(self) -> str:
        size = f"{counted(self.overall.n, 'item')}"
        if self.overall.n_clusters is not None:
            size += f" in {counted(self.overall.n_clusters, 'cluster')}"
        return f"{self.quantity}, by {self.column}: {counted(len(self), 'stratum', 'strata')}, {size}"

    def summary(self) -> str:
        """Return every stratum with its raw and shrunken estimate, the test of equality, the mean and the notes."""
        lines = [self._title()]
        for e, shrunk, p in zip(self.raw, self.shrunken, self.p_holm, strict=True):
            beside = "" if shrunk is None else f"; shrunken {shrunk._text()}"
            tested = "" if p is None else f"; p = {p:.3g} (Holm)"
            lines.append(f"  {e}{beside}{tested}")
        lines += [f"  all: {self.overall._text()}", f"  {self.equality}"]
        if self.mean is not None and self.between is not None:
            spread = f"standard deviation between strata {self.between:z.3f}"
            if self.between_low is not None and self.between_high is not None:
                spread += f" [{self.between_low:z.3f}, {self.between_high:z.3f}]"
            lines.append(f"  {spread}; mean of the strata {self.mean._text()}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the raw and the shrunken estimate of every stratum with their intervals."""
        from d3stats.plotting.intervals import plot_strata

        return plot_strata(self.to_frame(), xlabel=self.quantity, zero=self.null == "0", ax=ax)


_COLUMNS = (
    *("quantity", "stratum", "n", "n_clusters", "value", "se", "low", "high", "level", "kind"),
    *("null", "p_value", "p_holm", "p_bh", "shrunken", "shrunken_low", "shrunken_high", "shrunken_kind"),
    *("weight", "note"),
)


def _limits(e: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if e is None else (e.value, e.low, e.high)


def strata_tables(parts: Iterable[Strata]) -> dict[str, pd.DataFrame]:
    """Return the tables "strata" and "equality" of several quantities, one under the other; none of nothing.

    Parameters
    ----------
    parts : iterable of Strata
        In the order of the rows.

    Returns
    -------
    dict of str to DataFrame
        Columns as of :class:`Strata`.

    Examples
    --------
    >>> one = stratify([0.1, 0.2, 0.6, 0.7], list("aabb"))
    >>> strata_tables([one])["strata"][["stratum", "value"]].round(2).values.tolist()
    [['a', 0.15], ['b', 0.65]]
    >>> strata_tables([])
    {}
    """
    tables = [part._tables() for part in parts]
    if not tables:
        return {}
    return {name: pd.concat([each[name] for each in tables], ignore_index=True) for name in tables[0]}


def plot_panels(
    panels: Mapping[str, Sequence[Strata]],
    ax: Axes | None = None,
    *,
    before: Callable[[Axes], Any] | None = None,
) -> Axes:
    """Draw quantities by stratum: a panel for each, raw beside shrunken, or several quantities in one panel.

    Parameters
    ----------
    panels : mapping of str to sequence of Strata
        What is estimated, to its quantities by the name that the legend gives them: one, or at most 7.
    ax : Axes, optional
        Where to draw the first panel alone; by default a new figure of all of them, two in a row.
    before : callable, optional
        Draws another panel, the first of a new figure, into the axes that it gets.

    Returns
    -------
    Axes
        The first panel.

    Raises
    ------
    ValueError
        If a panel has more than 7 quantities.

    Examples
    --------
    >>> rng, strata = np.random.default_rng(1), list("aaaabbbbcccc")
    >>> found = [stratify(rng.normal(size=12), strata, name=name) for name in ("one", "two")]
    >>> len(plot_panels({"first": found[:1], "both": found}).figure.axes)
    2
    """
    import matplotlib.pyplot as plt

    from d3stats.plotting import TWO_COLUMNS
    from d3stats.plotting.intervals import plot_strata, strata_height

    for what, parts in panels.items():
        if len(parts) > _COLOURS:
            raise ValueError(
                f"a figure by stratum must have at most {_COLOURS} quantities of one kind; got {len(parts)} "
                f"({what}). Ask for fewer of them."
            )

    def draw(what: str, axes: Axes) -> Axes:
        parts = panels[what]
        frame = strata_tables(parts)["strata"]
        zero = True if all(part.null == "0" for part in parts) else None
        return plot_strata(frame, xlabel=what, zero=zero, ax=axes)

    if ax is not None:
        return draw(next(iter(panels)), ax)
    # Of one quantity there are two points per stratum, raw and shrunken.
    needed = [0.4 + strata_height(max(map(len, parts)), max(len(parts), 2)) for parts in panels.values()]
    needed = [*([max(needed)] if before is not None else []), *needed]
    n, across = len(needed), min(len(needed), 2)
    heights = [max(needed[at : at + across]) for at in range(0, n, across)]
    _, axes = plt.subplots(
        len(heights),
        across,
        figsize=(TWO_COLUMNS, sum(heights)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    places = list(axes.flat)
    for unused in places[n:]:
        unused.remove()
    if before is not None:
        before(places[0])
    for what, place in zip(panels, places[before is not None :], strict=False):
        draw(what, place)
    first: Axes = places[0]
    return first


_COLOURS = 7
"""Quantities that one panel can distinguish."""


def families(parts: Sequence[Strata]) -> dict[str, list[Strata]]:
    """Put quantities of one kind together: those that differ in what or whom they are about.

    Parameters
    ----------
    parts : sequence of Strata

    Returns
    -------
    dict of str to list of Strata
        What they have in common, to the quantities, named by what or whom they are about where there are several.

    Examples
    --------
    >>> kappa, rate = (stratify([0, 1, 1, 0], list("aabb"), name=name) for name in ("kappa", "rate"))
    >>> parts = [replace(rate, quantity=f"rate, {of}", overall=rate.overall.about(of)) for of in "JK"] + [kappa]
    >>> {what: [part.quantity for part in of] for what, of in families(parts).items()}
    {'rate': ['J', 'K'], 'kappa': ['kappa']}
    """
    found: dict[tuple[str, bool], list[Strata]] = {}
    for part in parts:
        found.setdefault((part.overall.quantity, bool(part.overall.of)), []).append(part)
    named: dict[str, list[Strata]] = {}
    for (kind, _), of in found.items():
        if len(of) == 1:
            named[of[0].quantity] = of
        else:
            several = f"{kind}, each" if (kind, False) in found else kind
            named[several] = [replace(part, quantity=part.overall.of or part.quantity) for part in of]
    return named


def stratify(
    values: ArrayLike,
    strata: Sequence[Any] | pd.Series | NDArray[Any],
    *,
    cluster: ArrayLike | None = None,
    name: str = "mean",
    column: str = "stratum",
    null: float | None = 0.0,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    level: float = 0.95,
    symmetric: bool = False,
) -> Strata:
    """Estimate a mean by stratum with cluster-robust t intervals, shrunken beside raw, and test that strata are alike.

    Parameters
    ----------
    values : array of float, shape (items,)
        One finite value per item: a difference of two runs, an agreement, a cost.
    strata : sequence, shape (items,)
        The stratum of each item; None, NaN and words such as NA are missing, and such items are left out.
    cluster : array, shape (items,), optional
        The question of each item; by default each item is its own.
    name : str
        What is averaged.
    column : str
        What strata are called.
    null : float or None
        The value that p-values of strata test; None compares each stratum with the others instead.
    bounds : tuple of float
        Where limits are cut; by default at 0 and 1 if every value is 0 or 1.
    level : float
        Level of the intervals, one at a time.
    symmetric : bool
        Whether values are differences of two runs, as for :func:`~d3stats.resampling.cluster_t`.

    Returns
    -------
    Strata
        Unless values are 0 or 1 or `symmetric`, a stratum worth fewer than five equal questions has no limits of its
        own: Student's t of a skewed mean then covers .88 to .91 at 95 %. No stratum has where all questions, as far as
        strata have several, are worth fewer than ten.

    Raises
    ------
    ValueError
        When lengths differ, a value is missing, no item has a stratum, or every stratum is one question.

    Examples
    --------
    >>> found = stratify([1, 0, 1, 1, 0, 0, 1, 0], list("aaaabbbb"), name="accuracy", null=None)
    >>> [(e.name, e.value) for e in found.raw], found.null
    ([('a', 0.75), ('b', 0.25)], 'the other strata')
    """
    level = probability("level", level, open_interval=True)
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0:
        raise ValueError(f"values must be one per item, at least one; got shape {x.shape}")
    refuse_infinite("values", x)
    labels = Labels.of(strata, column)
    if len(labels.codes) != len(x):
        raise ValueError(f"strata must have one value per item ({len(x)}); got {len(labels.codes)}")
    codes = cluster_codes(cluster, len(x), unit="item")
    if bounds == (-np.inf, np.inf) and np.isin(x, (0, 1)).all():
        bounds = (0.0, 1.0)
    shift = 0.0 if null is None else float(null)

    def sums(rows: NDArray[np.bool_]) -> Floats:
        return cluster_totals(np.column_stack([x[rows] - shift, np.ones(int(rows.sum()))]), codes[rows])

    kept = labels.codes >= 0
    in_strata = [labels.rows(code) for code in range(len(labels.names))]
    common = None if symmetric else common_skewness([sums(rows) for rows in in_strata])

    def measure(rows: NDArray[np.bool_]) -> list[Estimate]:
        totals = sums(rows)
        how: dict[str, Any] = {"bounds": (bounds[0] - shift, bounds[1] - shift), "symmetric": symmetric}
        # What strata have in common says how skewed one is; of all items together their own values do.
        how["common"] = None if rows is kept or np.array_equal(rows, kept) else common
        if not symmetric:
            how["least"] = item_ratio_error(x[rows] - shift, np.ones(int(rows.sum())), codes[rows])
        found = cluster_estimate(
            name, totals, ratios((0, 1)), int(rows.sum()), level=level, tested=null is not None, **how
        )
        moved: dict[str, Any] = {
            side: None if at is None else at + shift
            for side, at in (("low", found.low), ("high", found.high))
        }
        return [replace(found, value=found.value + shift, **moved)]

    how: dict[str, Any] = {"common": common, "binary": bool(np.isin(x, (0, 1)).all())}
    (found,) = by_stratum(labels, codes, measure, bounds={name: bounds}, null=null, **how)
    return found


Measure = Callable[[NDArray[np.bool_]], Sequence[Estimate]]
"""Rows of the data, a mask, to the estimates made of them."""


def by_stratum(
    labels: Labels,
    cluster: Ints,
    measure: Measure,
    *,
    bounds: Mapping[str, tuple[float, float]] | tuple[float, float] = (-np.inf, np.inf),
    null: float | None = 0.0,
    unit: str = "question",
    names: Sequence[str] = (),
    common: CommonSkewness | None = None,
    binary: bool = False,
) -> tuple[Strata, ...]:
    """Estimate quantities in every stratum by the method of the whole, shrink them and test that strata are alike.

    Parameters
    ----------
    labels : Labels
        The stratum of each row.
    cluster : ndarray of int, shape (rows,)
        Codes of clusters.
    measure : callable
        A mask of rows to their estimates, each with a name, an error and its number of clusters. A ValueError says
        that the rows carry no estimate.
    bounds : tuple of float, or mapping of a quantity's name to one
        Where shrunken limits are cut.
    null : float or None
        What the p-values of estimates test. Quantities without p-values compare each stratum with the others.
    unit : str
        What a cluster is called in notes.
    names : sequence of str
        What each cluster is called, for a note on those with rows in several strata.
    common : CommonSkewness, optional
        Skewness of the clusters' values in all strata: limits reach further on the side of the long tail.
    binary : bool
        Whether values are 0 or 1. With `common` and other values, a stratum worth fewer than five equal clusters has no
        limits of its own.

    Returns
    -------
    tuple of Strata
        One per quantity that the data as a whole have.

    Raises
    ------
    ValueError
        When no row has a stratum, or every stratum is one cluster.

    Examples
    --------
    >>> values, codes = np.array([1.0, 0.0, 1.0, 1.0]), np.arange(4)
    >>> def mean(rows):
    ...     totals = np.column_stack([values, np.ones(4)])[rows]
    ...     return [cluster_estimate("mean", totals, ratios((0, 1)), len(totals))]
    >>> (found,) = by_stratum(Labels.of(["a", "a", "b", "b"]), codes, mean)
    >>> [e.value for e in found.raw]
    [0.5, 1.0]
    """
    alike = names_alike(**{labels.column: labels.names})
    notes = [
        *([warning(alike, "names in several spellings")] if alike else []),
        *_checked(labels, cluster, unit, names, rough=common is None or binary),
    ]
    kept = labels.codes >= 0
    whole = {e.name: e for e in measure(kept)}
    every = [(name, labels.rows(code)) for code, name in enumerate(labels.names)]
    unequal = {name: _worth(cluster[rows]) for name, rows in every}
    made: dict[str, dict[str, Estimate]] = {}
    for name, rows in every:
        try:
            made[name] = {e.name: e for e in measure(rows)}
        except ValueError as error:
            notes.append(f"no estimate for {labels.column} {name!r}: {error}")
    found = []
    for quantity, overall in whole.items():
        raw = [replace(of[quantity], name=name, of=name) for name, of in made.items() if quantity in of]
        lacking = [name for name in made if quantity not in made[name]]
        said = [*notes]
        if lacking:
            said.append(f"{quantity}: no estimate for {labels.column} {_some(lacking)}")
        if raw:
            cut = bounds if isinstance(bounds, tuple) else bounds.get(quantity, (-np.inf, np.inf))
            if any(e.kind in {WILSON, EXACT} for e in (overall, *raw)):
                cut = (max(cut[0], 0.0), min(cut[1], 1.0))  # a share, whatever the caller knew of it
            parts = (quantity, labels.column, raw, overall, cut, null, said, unit, unequal)
            found.append(_combined(*parts, common=common, binary=binary))
    return tuple(found)


def _worth(cluster: Ints) -> float:
    """Return the number of equal clusters that these are worth over their number; 1 where sizes are equal."""
    sizes = np.unique(cluster, return_counts=True)[1]
    return effective_clusters(sizes) / len(sizes)


def _checked(labels: Labels, cluster: Ints, unit: str, names: Sequence[str], *, rough: bool) -> list[str]:
    """Refuse labels that make no strata, and say what is rough about those that do; `rough`: small ones have limits."""
    kept = labels.codes >= 0
    if not kept.any():
        raise ValueError(f"{labels.column} must say the stratum of some {unit}; got none in {len(kept)} rows")
    pairs = np.unique(np.stack([labels.codes[kept], cluster[kept]]), axis=1)
    sizes = np.bincount(pairs[0], minlength=len(labels.names))
    if len(sizes) > 1 and sizes.max() == 1:
        raise ValueError(
            f"{labels.column} must put several {unit}s into a stratum; got {len(sizes)} strata of one {unit} each; "
            f"a number must be cut into a few classes first, and the column must not be read as the {unit} (columns=, "
            "--columns)"
        )
    notes = []
    if lost := int((~kept).sum()):
        notes.append(f"{lost} of {len(kept)} rows have no {labels.column} and were left out")
    if len(sizes) == 1:
        notes.append(f"all are of one {labels.column}, {labels.names[0]!r}, so there is nothing to compare")
    if len(sizes) > MANY_STRATA:
        notes.append(
            f"{len(sizes)} strata, the median of {int(np.median(sizes))} {unit}s, are many; fewer say more"
        )
    alone = [labels.names[k] for k in np.flatnonzero(sizes == 1)]
    if alone and len(sizes) > 1:
        notes.append(f"one {unit} only, so without an interval of its own: {_some(alone)}")
    few = [labels.names[k] for k in np.flatnonzero((sizes > 1) & (sizes < FEW_QUESTIONS))]
    if few and rough:
        notes.append(f"fewer than {FEW_QUESTIONS} {unit}s, so with a rough interval: {_some(few)}")
    codes, times = np.unique(pairs[1], return_counts=True)
    shared = codes[times > 1]
    if len(shared):
        which = f" ({_some([names[k] for k in shared])})" if len(names) else ""
        notes.append(
            f"{counted(len(shared), 'cluster')}{which} with rows in several strata: the test of equality and the "
            "shrunken estimates take strata as independent, which they then are not"
        )
    return notes


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(map(repr, names[:8])) + more


@dataclass(frozen=True, eq=False)
class _Spread:
    """Values of strata, their sampling variances (NaN where unknown), and the equal clusters that they are worth."""

    value: Floats
    variance: Floats
    size: Floats

    @classmethod
    def of(cls, raw: Sequence[Estimate], unequal: Sequence[float]) -> _Spread:
        """Read estimates; `unequal` is the share of each stratum's clusters that they are worth (Kish, 1965)."""
        size = [
            (e.n if e.n_clusters is None else e.n_clusters) * share
            for e, share in zip(raw, unequal, strict=True)
        ]
        return cls(np.array([e.value for e in raw]), np.array([_variance(e) for e in raw]), np.array(size))

    @property
    def free(self) -> Floats:
        """Degrees of freedom of each variance, 0 where it is unknown."""
        return np.where(np.isnan(self.variance), 0.0, np.maximum(self.size - 1, 1.0))

    @property
    def pooled(self) -> Floats:
        """Sampling variances if a question varies alike in every stratum; NaN where no variance is known."""
        free = self.free
        if free.sum() == 0:
            return np.full(len(self.value), np.nan)
        one = float((free * self.size * np.nan_to_num(self.variance)).sum() / free.sum())
        return one / self.size

    def moderated(self) -> tuple[Floats, Floats]:
        """Return sampling variances between the strata's own and the pooled one, and their degrees of freedom.

        The variances of one question vary about a common one as d0 degrees of freedom have it, by the moments of their
        logarithms (Smyth, 2004, section 6.2). Where they vary no more than sampling would have it, all are pooled.
        """
        from scipy.special import digamma, polygamma

        free, one = self.free, np.nan_to_num(self.variance) * self.size
        own = (free > 0) & (one > 0)
        d = free[own]
        total = np.full(len(free), float(free.sum()))
        if own.sum() < LEAST_STRATA:
            return self.pooled, total
        away = np.log(one[own]) - digamma(d / 2) + np.log(d / 2)
        excess = float(away.var(ddof=1) - polygamma(1, d / 2).mean())
        if excess <= 0:
            return self.pooled, total
        d0 = 2 * _trigamma_inverse(excess)
        common = float(np.exp(away.mean() + digamma(d0 / 2) - np.log(d0 / 2)))
        return (d0 * common + free * one) / (d0 + free) / self.size, np.minimum(d0 + free, total)

    def known(self) -> _Spread:
        """Return the strata whose variance is known."""
        here = ~np.isnan(self.variance)
        return _Spread(self.value[here], self.variance[here], self.size[here])


def _trigamma_inverse(value: float) -> float:
    """Return where the trigamma function has a value above 0."""
    from scipy.optimize import brentq
    from scipy.special import polygamma

    # trigamma(x) lies between 1 / x and 1 / x + 1 / x^2.
    return float(brentq(lambda x: polygamma(1, x) - value, 0.5 / value, 1 + 2 / value + 1 / np.sqrt(value)))


def _variance(e: Estimate) -> float:
    """Return the sampling variance: 0 where all clusters are alike, NaN where clusters show none."""
    if e.se is not None:
        return e.se**2
    # A share of which none or all succeed has limits without an error.
    return 0.0 if e.kind == EXACT and e.low is not None else np.nan


def _combined(
    quantity: str,
    column: str,
    raw: Sequence[Estimate],
    overall: Estimate,
    bounds: tuple[float, float],
    null: float | None,
    notes: list[str],
    unit: str,
    unequal: Mapping[str, float],
    common: CommonSkewness | None = None,
    binary: bool = False,
) -> Strata:
    spread, level = _Spread.of(raw, [unequal[e.name] for e in raw]), overall.level
    tested = null is not None and any(e.p_value is not None for e in raw)
    little = f"fewer than {FEW_QUESTIONS} {unit}s a stratum show too little of a long tail"
    if common is not None and not binary:
        # Of log-normal values, 95 % limits of a stratum of two or three questions cover .88 to .91.
        # Where two large questions outweigh the others, the tail that all show is theirs: .88 at strata of five.
        shown = common.n >= 2 * FEW_QUESTIONS - 1e-9
        few = [
            e.low is not None and not (shown and n >= FEW_QUESTIONS - 1e-9)
            for e, n in zip(raw, spread.size, strict=True)
        ]
        raw = [_without_limits(e, little) if bare else e for e, bare in zip(raw, few, strict=True)]
        if bare_names := [e.name for e, bare in zip(raw, few, strict=True) if bare]:
            notes.append(f"{quantity}: no limits of {column} {_some(bare_names)}, because {little}")
    p_values = [e.p_value for e in raw] if tested else _against_others(spread)
    known = [1.0 if p is None else p for p in p_values]
    adjusted = {family: adjust(known, family) for family in ("holm", "bh")}
    fitted = _shrunken(spread, raw, level, bounds, null if tested else None, common)
    if fitted is None and len(raw) > 1:
        why = (
            f"fewer than {LEAST_STRATA} strata do not show how strata vary"
            if len(raw) < LEAST_STRATA
            else f"{unit}s do not vary within any stratum"
        )
        notes.append(f"{quantity}: no shrunken estimates, because {why}")
    if fitted is not None and common is not None and spread.size.sum() < FEW_QUESTIONS * len(raw):
        # Of log-normal values, 95 % limits with ten questions in four strata cover .88.
        notes.append(
            f"{quantity}: no limits of the shrunken estimates and the mean of the strata, because {little}"
        )
        fitted = fitted.without_limits(little)
    if fitted is not None and fitted.tau2 == 0:
        notes.append(
            f"{quantity}: strata differ no more than questions within them would have it (estimated standard deviation "
            "between strata 0), so the shrunken estimates lie close to the mean of the strata"
        )

    def by_row(values: Sequence[float | None] | Floats) -> tuple[float | None, ...]:
        pairs = zip(p_values, values, strict=True)
        return tuple(None if p is None or x is None else float(x) for p, x in pairs)

    none = (None,) * len(raw)
    return Strata(
        quantity=quantity,
        column=column,
        raw=tuple(raw),
        overall=overall,
        shrunken=none if fitted is None else fitted.estimates,
        weights=none if fitted is None else tuple(fitted.weight.tolist()),
        mean=None if fitted is None else fitted.mean,
        between=None if fitted is None else float(np.sqrt(fitted.tau2)),
        between_low=None if fitted is None else fitted.low,
        between_high=None if fitted is None else fitted.high,
        equality=_equality(spread),
        null=f"{null:g}" if tested else "the other strata",
        p_values=by_row(p_values),
        p_holm=by_row(adjusted["holm"]),
        p_bh=by_row(adjusted["bh"]),
        notes=tuple(dict.fromkeys(notes)),
    )


def _equality(spread: _Spread) -> EqualityTest:
    """Test equal values: weighted squares between strata over what sampling alone would give.

    With weights w (shares of clusters) and A = diag(w) - w w', F = value' A value / tr(A V) has tr(AV)^2 / tr(AVAV)
    and tr(D V)^2 / tr(D^2 V^2 / free) degrees of freedom, D the diagonal of A.
    """
    from scipy.special import fdtrc

    known = spread.known()
    k = len(known.value)
    if k < 2:
        return EqualityTest(None, 0.0, 0.0, None, k, "fewer than two strata have two questions")
    weight = known.size / known.size.sum()
    about = np.diag(weight) - np.outer(weight, weight)
    expected = np.diag(about) * known.variance
    between = float(known.value @ about @ known.value)
    if expected.sum() <= 1e-20 * float((known.value**2).max()):
        return EqualityTest(None, 0.0, 0.0, None, k, "questions do not vary within any stratum")
    spread_matrix = about * known.variance
    df1 = float(expected.sum() ** 2 / np.trace(spread_matrix @ spread_matrix))
    df2 = float(expected.sum() ** 2 / (expected**2 / known.free).sum())
    f = between / float(expected.sum())
    return EqualityTest(f, df1, df2, float(fdtrc(df1, df2, f)), k)


def _against_others(spread: _Spread) -> list[float | None]:
    """Return p-values of each stratum against the mean of the others, counted by their questions (Welch's t).

    A stratum whose questions are all alike has the pooled variance: its own, 0, would make any difference certain.
    """
    found: list[float | None] = []
    share = np.where(np.isnan(spread.variance), 0.0, spread.size)
    alike = spread.variance == 0
    free = np.maximum(np.where(alike, spread.free.sum(), spread.free), 1.0)
    variance = np.nan_to_num(np.where(alike, spread.pooled, spread.variance))
    for k in range(len(spread.value)):
        rest = np.where(np.arange(len(share)) == k, 0.0, share)
        if np.isnan(spread.variance[k]) or rest.sum() == 0:
            found.append(None)
            continue
        contrast = -rest / rest.sum()
        contrast[k] = 1.0
        parts = contrast**2 * variance
        if parts.sum() <= 1e-20 * float((spread.value**2).max()):
            found.append(None)
            continue
        df = float(parts.sum() ** 2 / (parts**2 / free).sum())
        found.append(student_limits(float(contrast @ spread.value), float(np.sqrt(parts.sum())), df, 0.95)[2])
    return found


@dataclass(frozen=True, eq=False)
class _Fit:
    """Random effects of strata."""

    tau2: float
    low: float | None
    high: float | None
    mean: Estimate
    estimates: tuple[Estimate, ...]
    weight: Floats

    def without_limits(self, why: str) -> _Fit:
        """Return the same values, without limits and p-value."""
        return replace(
            self,
            mean=_without_limits(self.mean, why),
            estimates=tuple(_without_limits(e, why) for e in self.estimates),
        )


def _without_limits(e: Estimate, why: str) -> Estimate:
    """Return the same value, without limits and p-value."""
    return replace(e, low=None, high=None, p_value=None, note=why)


def _shrunken(
    spread: _Spread,
    raw: Sequence[Estimate],
    level: float,
    bounds: tuple[float, float],
    null: float | None,
    common: CommonSkewness | None,
) -> _Fit | None:
    k = len(raw)
    if k < LEAST_STRATA or not (spread.pooled > 0).all():
        return None
    variance, free = spread.moderated()
    tau2 = paule_mandel(spread.value, variance)
    precision = 1 / (tau2 + variance)
    mean = float((precision * spread.value).sum() / precision.sum())
    value, error, limits, own = _posterior(spread.value, variance, free, level)
    made = []
    for k_th, e in enumerate(raw):
        ends = _lengthened(value[k_th], limits[0][k_th], limits[1][k_th], common, spread.size[k_th])
        low, at, high = (float(np.clip(x, *bounds)) for x in (ends[0], value[k_th], ends[1]))
        shown: dict[str, Any] = {
            "value": at,
            "se": float(error[k_th]),
            "low": low,
            "high": high,
            "level": level,
        }
        made.append(replace(e, kind="equal-tailed posterior", p_value=None, note="", **shown))
    se = float(1 / np.sqrt(precision.sum()))
    shift = 0.0 if null is None else null
    far = 0.0 if common is None else common.longer(float(spread.size.sum()))
    # The error counts more on the side of a long tail, for the limit there and for a null on that side.
    p = student_limits(mean - shift, se * (1 + max(far * np.sign(shift - mean), 0.0)), k - 1, level)[2]
    low, high, _ = student_limits(mean - shift, se, k - 1, level)
    low, high = _lengthened(mean - shift, low, high, common, float(spread.size.sum()))
    n, clusters = sum(e.n for e in raw), sum(e.n if e.n_clusters is None else e.n_clusters for e in raw)
    centre = Estimate(
        name="mean of the strata",
        value=mean,
        se=se,
        low=max(low + shift, bounds[0]),
        high=min(high + shift, bounds[1]),
        level=level,
        kind="Hartung-Knapp t",
        n=n,
        n_clusters=clusters,
        p_value=None if null is None else p,
    )
    return _Fit(tau2, *_limits_of_tau(spread.value, variance, free, level), centre, tuple(made), own)


def _lengthened(
    at: float, low: float, high: float, common: CommonSkewness | None, n: float
) -> tuple[float, float]:
    """Move the limit on the side of the long tail away from the value, as for a mean of `n` clusters."""
    far = 0.0 if common is None else common.longer(n)
    return at - (at - low) * (1 + max(-far, 0.0)), at + (high - at) * (1 + max(far, 0.0))


def _posterior(
    value: Floats, variance: Floats, free: float | Floats, level: float
) -> tuple[Floats, Floats, tuple[Floats, Floats], Floats]:
    """Return posterior means, standard deviations, limits and mean weights of the strata's own estimates.

    The density of tau, the mean integrated out, is that of Gelman et al. (2013), Bayesian Data Analysis, equation 5.21;
    given tau, a stratum's value is normal (equations 5.17 and 5.20).
    """
    from scipy.special import stdtr

    u = (np.arange(_GRID) + 0.5) / _GRID
    tau = (float(np.std(value)) + float(np.sqrt(variance.min()))) * u / (1 - u)
    precision = 1 / (tau[:, None] ** 2 + variance)
    of_mean = 1 / precision.sum(axis=1)
    mean = of_mean * (precision @ value)
    away = (precision * (value - mean[:, None]) ** 2).sum(axis=1)
    log_density = (np.log(of_mean) + np.log(precision).sum(axis=1) - away) / 2 - 2 * np.log1p(-u)
    mass = np.exp(log_density - log_density.max())
    mass /= mass.sum()
    drawn = variance * precision  # towards the mean
    centre = (1 - drawn) * value + drawn * mean[:, None]
    scale = np.sqrt((1 - drawn) * variance + drawn**2 * of_mean[:, None])
    found = mass @ centre
    error = np.sqrt(np.maximum(mass @ (scale**2 + centre**2) - found**2, 0.0))
    limits = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        low, high = found - 40 * error, found + 40 * error
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = mass @ stdtr(free, (middle - centre) / scale) < tail
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        limits.append((low + high) / 2)
    return found, error, (limits[0], limits[1]), mass @ (1 - drawn)


def _excess(tau2: float, value: Floats, variance: Floats) -> float:
    """Return the weighted squares of values about their mean: chi^2 of strata - 1 at the true tau^2."""
    precision = 1 / (tau2 + variance)
    mean = (precision * value).sum() / precision.sum()
    return float((precision * (value - mean) ** 2).sum())


def _root(target: float, value: Floats, variance: Floats) -> float:
    """Return the tau^2 at which the weighted squares are as large as `target`; 0 where they are smaller at 0."""
    from scipy.optimize import brentq

    if _excess(0.0, value, variance) <= target:
        return 0.0
    high = float(np.ptp(value) ** 2) + float(variance.max())
    while _excess(high, value, variance) > target:
        high *= 4
    # The error is a part of the values' own scale: a variance of dollars may be as small as 1e-14.
    return float(brentq(lambda t: _excess(t, value, variance) - target, 0.0, high, xtol=1e-14 * high))


def paule_mandel(value: Floats, variance: Floats) -> float:
    """Estimate the variance between strata, tau^2, by Paule and Mandel (1982).

    The estimate solves ``sum (value - mean)^2 / (tau^2 + variance) = strata - 1``; the mean has the same weights.

    Parameters
    ----------
    value, variance : ndarray of float, shape (strata,)
        Estimates and their sampling variances, above 0.

    Returns
    -------
    float
        0 where estimates differ no more than sampling would have it.

    Examples
    --------
    >>> round(paule_mandel(np.array([0.0, 1.0, 2.0]), np.array([0.25, 0.25, 0.25])), 6)
    0.75
    """
    return _root(len(value) - 1.0, value, variance)


def _limits_of_tau(value: Floats, variance: Floats, free: Floats, level: float) -> tuple[float, float]:
    """Return the limits of tau (Q profile), the lower one by an F, because variances of few questions are estimates.

    With the chi-square that known variances have, 95 % limits hold a tau of 0 in .73 to .79 of samples with two
    questions in each stratum, and in .94 with five.
    """
    from scipy.special import chdtri, fdtri

    k = len(value) - 1
    high = k * float(fdtri(k, float(free.min()), (1 + level) / 2))
    low = float(chdtri(k, (1 + level) / 2))
    return float(np.sqrt(_root(high, value, variance))), float(np.sqrt(_root(low, value, variance)))
