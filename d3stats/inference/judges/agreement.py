"""Do the judges agree? Every pair's kappa and the panel's coefficients, with intervals, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from numpy.typing import ArrayLike

from d3stats._check import RngLike, as_rng, choice
from d3stats._words import counted
from d3stats.estimate import Estimate, estimates_frame, estimates_latex, named_notes
from d3stats.inference.judges.coefficients import (
    Coefficient,
    How,
    Kind,
    Metric,
    agreement_weights,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    percent_agreement,
)
from d3stats.inference.judges.ratings import Ratings, Repeats, as_ratings
from d3stats.log.column_names import Columns
from d3stats.trajectories import MISSING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MEASURES", "AgreementTable", "agreement"]

Measure = Literal["cohen", "fleiss", "alpha", "ac1", "share"]
MEASURES: tuple[Measure, ...] = ("cohen", "fleiss", "alpha", "ac1", "share")
"""Cohen's kappa of every pair, and of the panel Fleiss' kappa, Krippendorff's alpha, Gwet's AC1, the plain share."""

_MOST_CATEGORIES = 20
"""Above so many numbers as categories, votes look like scores."""

_PANEL_NAMES = {
    "fleiss": "Fleiss' kappa",
    "alpha": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
    "share": "share of agreement",
}


@dataclass(frozen=True, kw_only=True)
class AgreementTable:
    """How far raters agree: the panel, and every pair.

    Attributes
    ----------
    panel : tuple of Coefficient
        Of all raters together.
    pairs : tuple of Coefficient
        Cohen's kappa of every two raters.
    refused : dict of str to str
        What has no value, and why.
    raters, categories : tuple of str
    n_items, n_clusters, n_missing : int
        Items, clusters, and pairs of item and rater without a rating.
    notes : tuple of str
    """

    panel: tuple[Coefficient, ...]
    pairs: tuple[Coefficient, ...]
    refused: dict[str, str] = field(default_factory=dict)
    raters: tuple[str, ...]
    categories: tuple[str, ...]
    n_items: int
    n_clusters: int
    n_missing: int
    notes: tuple[str, ...] = ()

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The panel's coefficients, then those of the pairs."""
        return self.panel + self.pairs

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Estimates of all coefficients, in that order."""
        return tuple(c.estimate for c in self.coefficients)

    def __str__(self) -> str:
        head = (
            f"{counted(self.n_items, 'item')} in {counted(self.n_clusters, 'cluster')}, {len(self.raters)} raters, "
            f"categories {', '.join(self.categories[:12])}{' ...' if len(self.categories) > 12 else ''}, "
            f"{counted(self.n_missing, 'rating')} missing"
        )
        refused = [f"{name}: {why}" for name, why in self.refused.items()]
        return "\n".join([head, *map(str, self.estimates), *refused, *(f"- {note}" for note in self.notes)])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per coefficient: its measure, its raters, its estimate and the share of agreement.

        Columns as :func:`~d3stats.estimate.estimates_frame`, with ``measure, a, b`` before (raters of a pair, missing
        for the panel) and ``share, chance`` behind.
        """
        frame = estimates_frame(self.estimates)
        pairs: list[tuple[str | None, str | None]] = [
            *((None, None) for _ in self.panel),
            *((c.raters[0], c.raters[1]) for c in self.pairs),
        ]
        frame.insert(0, "measure", [c.measure for c in self.coefficients])
        frame.insert(1, "a", pd.Series([a for a, _ in pairs], dtype=object))
        frame.insert(2, "b", pd.Series([b for _, b in pairs], dtype=object))
        chance = pd.Series([c.chance for c in self.coefficients], dtype="float64")
        return frame.assign(share=[c.share.value for c in self.coefficients], chance=chance)

    def to_latex(self) -> str:
        """Return a booktabs tabular of the coefficients."""
        return estimates_latex(self.estimates)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary that JSON can hold."""
        return {
            "n_items": self.n_items,
            "n_clusters": self.n_clusters,
            "n_missing": self.n_missing,
            "raters": list(self.raters),
            "categories": list(self.categories),
            "panel": [c.to_dict() for c in self.panel],
            "pairs": [c.to_dict() for c in self.pairs],
            "refused": dict(self.refused),
            "notes": list(self.notes),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every coefficient with its interval."""
        from d3stats.plotting.kappa_forest import plot_agreement

        frame = self.to_frame()
        several = len(set(frame["measure"])) > 1
        return plot_agreement(
            frame[["name", "value", "low", "high", "level", "kind"]],
            ax=ax,
            label="agreement" if several else "",
        )


def agreement(
    source: Any,
    *,
    measures: Sequence[str] = MEASURES,
    raters: Sequence[str] | None = None,
    weights: str | ArrayLike | None = None,
    metric: Metric | None = None,
    round_number: int | None = None,
    categories: Sequence[Any] | None = None,
    repeats: Repeats = "refuse",
    by: Literal["debate", "question"] = "debate",
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    kind: Kind = "cluster t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
) -> AgreementTable:
    """Measure how far raters agree, two by two and all together.

    Parameters
    ----------
    source : Ratings, or anything that :func:`as_ratings` reads
    measures : sequence of {"cohen", "fleiss", "alpha", "ac1", "share"}
        See :data:`MEASURES`.
    raters : sequence of str, optional
        These alone; "label" stands for the right answers.
    weights : {"identity", "linear", "quadratic"} or array_like of shape (categories, categories)
        Of all measures but alpha; see :func:`cohen_kappa`. AC1 becomes AC2.
    metric : {"nominal", "ordinal", "interval", "ratio"}, optional
        Of alpha; by default "nominal", or "interval" with weights.
    round_number, categories, repeats, by, missing_values, columns, encoding
        As for :func:`as_ratings`.
    kind, level, n_boot, rng
        As for :func:`cohen_kappa`.

    Returns
    -------
    AgreementTable
        A coefficient that is undefined on the data stands in `refused` with the reason.

    Raises
    ------
    ValueError
        When there are fewer than two raters, or a setting is unknown.

    Examples
    --------
    >>> votes = pd.DataFrame({"x": list("AABBCCAB"), "y": list("AABCCCAB"), "z": list("ABBBCCAA")})
    >>> found = agreement(votes, measures=["cohen", "alpha"])
    >>> found.to_frame()[["measure", "a", "b", "value"]].round(3).values.tolist()[1]
    ["Cohen's kappa", 'x', 'y', 0.814]
    """
    for measure in measures:
        choice("measures", measure, MEASURES)
    if metric is None:
        metric = (
            "nominal"
            if weights is None or (isinstance(weights, str) and weights == "identity")
            else "interval"
        )
    How(kind, level, n_boot, None)
    read = as_ratings(
        source,
        round_number=round_number,
        categories=categories,
        raters=raters,
        repeats=repeats,
        by=by,
        missing_values=missing_values,
        columns=columns,
        encoding=encoding,
    )
    if read.n_raters < 2:
        raise ValueError(f"raters must be at least two; got {list(read.raters)}")
    if not (read.counts.sum(axis=1) > 1).any():
        raise ValueError(
            f"agreement needs an item that two raters judged; got none among {read.n_items} items and "
            f"{read.n_raters} raters"
        )
    if weights is not None:
        agreement_weights(weights, read.categories)  # once, and not as the refusal of every measure
    settings: dict[str, Any] = {"kind": kind, "level": level, "n_boot": n_boot}
    names = list(combinations(read.raters, 2)) if "cohen" in measures else []
    streams = iter(as_rng(rng).spawn(len(_PANEL_NAMES) + len(names)))
    refused: dict[str, str] = {}

    def made(name: str, of: Callable[..., Coefficient], ratings: Ratings, **more: Any) -> list[Coefficient]:
        try:
            return [of(ratings, rng=next(streams), **more, **settings)]
        except ValueError as error:
            refused[name] = str(error)
            return []

    ways: dict[str, tuple[Callable[..., Coefficient], dict[str, Any]]] = {
        "fleiss": (fleiss_kappa, {"weights": weights}),
        "alpha": (krippendorff_alpha, {"metric": metric}),
        "ac1": (gwet_ac, {"weights": weights}),
        "share": (percent_agreement, {"weights": weights}),
    }
    panel = [
        one
        for measure, (of, more) in ways.items()
        if measure in measures
        for one in made(_PANEL_NAMES[measure], of, read, **more)
    ]
    pairs = [
        one
        for a, b in names
        for one in made(f"Cohen's kappa, {a} and {b}", cohen_kappa, read.of([a, b]), weights=weights)
    ]
    if not panel and not pairs:
        raise ValueError("; ".join(dict.fromkeys(refused.values())))
    notes = dict.fromkeys(note for one in (panel or pairs) for note in one.notes)
    if (hint := _scores(read)) is not None:
        notes[hint] = None
    # Each note once, with the coefficients that it is about: why there is no interval, or how rough it is.
    few = named_notes(
        [(e.name, [e.note] if e.note else []) for e in (one.estimate for one in (*panel, *pairs))],
        "coefficients",
    )
    return AgreementTable(
        panel=tuple(panel),
        pairs=tuple(pairs),
        refused=refused,
        raters=read.raters,
        categories=read.categories,
        n_items=read.n_items,
        n_clusters=read.n_clusters,
        n_missing=int((read.codes == MISSING).sum()),
        notes=(*notes, *few),
    )


def _scores(ratings: Ratings) -> str | None:
    """Hint at correlations where the categories look like scores."""
    many = len(ratings.categories)
    if many <= _MOST_CATEGORIES:
        return None
    try:
        ratings.values()
    except ValueError:
        return None
    return (
        f"the votes are {many} different numbers: for scores see spearman and kendall (d3stats.inference), or give "
        "alpha a metric"
    )
