"""Agreement of several raters in one table: coefficients of the whole panel, and Cohen's kappa of every pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, choice
from d3stats._words import Advised, counted, setting
from d3stats.estimate import Estimate, estimates_frame, named_notes
from d3stats.inference.comparison.strata import Strata, by_stratum, families, plot_panels, strata_tables
from d3stats.inference.judges.coefficients import (
    PANEL,
    Coefficient,
    How,
    Kind,
    Metric,
    agreement_weights,
    cohen_kappa,
    is_table,
    need_pairs,
)
from d3stats.inputs.labels import ItemStrata, StrataOf
from d3stats.inputs.ratings import LABEL, Ratings
from d3stats.note import Note, around
from d3stats.result import EstimatesResult
from d3stats.sources import Reading
from d3stats.sources.ratings import Repeats, ratings_with_strata
from d3stats.trajectories import MISSING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MEASURES", "AgreementByLog", "AgreementTable", "agreement", "agreement_by_log"]

Measure = Literal["cohen", "fleiss", "alpha", "ac1", "share"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
"""Cohen's kappa of every pair, and of the panel Fleiss' kappa, Krippendorff's alpha, Gwet's AC1, the plain share."""

OF_LABELS: tuple[Measure, ...] = ("cohen", "share")
"""Measures of a rater beside the right answers: kappa, and the share of agreement, which is the accuracy."""

_FEWEST_OF_A_SCALE, _STEPS = 4, 5
"""So many different whole numbers may be the steps of a scale: where raters who differ are close, and in any case."""

_MOST_CATEGORIES = 20
"""Above so many numbers as categories, votes look like scores."""


_ALPHA = "Krippendorff's alpha"
"""The coefficient that answers first, where it was asked for: it takes missing votes, any weights, any panel."""


def _limited(e: Estimate) -> str:
    return f"{e.value:z.2f}" + ("" if e.low is None else f" [{e.low:z.2f}, {e.high:z.2f}]")


@dataclass(frozen=True, kw_only=True)
class AgreementTable(EstimatesResult):
    r"""Coefficients of agreement of a panel of raters, and of every pair.

    Attributes
    ----------
    panel : tuple of Coefficient
        Coefficients of all raters together.
    pairs : tuple of Coefficient
        Cohen's kappa of every two raters.
    refused : dict of str to str
        What has no value, and why.
    raters : tuple of str
        Who rated.
    categories : tuple of str
        What was said, in the order of the codes.
    n_items, n_clusters, n_missing : int
        Items, clusters, and pairs of item and rater without a rating.
    strata : tuple of Strata
        The panel's coefficients by stratum, and kappa where there are two raters; empty where none were asked for.

    Examples
    --------
    >>> from d3stats import agreement
    >>> votes = pd.DataFrame({"x": list("AABBCCAB"), "y": list("AABCCCAB"), "z": list("ABBBCCAA")})
    >>> found = agreement(votes, measures=["cohen", "alpha"])
    >>> found.n_items, found.raters, found.categories
    (8, ('x', 'y', 'z'), ('A', 'B', 'C'))
    >>> [each.name for each in found.estimates]
    ["Krippendorff's alpha", "Cohen's kappa, x and y", "Cohen's kappa, x and z", "Cohen's kappa, y and z"]
    >>> found.plot().get_xlabel()
    'agreement'
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
    strata: tuple[Strata, ...] = ()
    _json = (
        "n_items",
        "n_clusters",
        "n_missing",
        "raters",
        "categories",
        "refused",
        "notes",
        "panel",
        "pairs",
    )

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The panel's coefficients, then those of the pairs."""
        return self.panel + self.pairs

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Estimates of all coefficients, in that order."""
        return tuple(c.estimate for c in self.coefficients)

    @property
    def headline(self) -> str:
        """The answer, whether the raters agree beyond chance, by Krippendorff's alpha where it was asked for."""
        return self._answer()[0]

    def _answer(self) -> Sequence[str]:
        first = next((c for c in self.coefficients if c.measure == _ALPHA), self.coefficients[0])
        e = first.estimate
        who = f"The {len(self.raters)} agents" if len(self.raters) > 2 else " and ".join(self.raters)
        number = f"{e.name} {_limited(e)}"
        if first.chance is None:
            lines = [f"{who}: {number}."]
        elif e.low is None or e.low <= 0 <= (e.high or 0):
            lines = [f"{who}: no agreement beyond chance is shown, {number}."]
        else:
            lines = [f"{who} agree {'beyond' if e.value > 0 else 'less than by'} chance: {number}."]
        if len(self.pairs) > 1:
            low, high = (pick(self.pairs, key=lambda pair: pair.estimate.value) for pick in (min, max))
            ends = " to ".join(f"{c.estimate.value:z.2f} ({', '.join(c.raters)})" for c in (low, high))
            alike = f"{low.estimate.value:z.2f} in each pair"
            lines.append(
                f"Pairs, Cohen's kappa: {alike if low.estimate.value == high.estimate.value else ends}."
            )
        return lines

    def _gated(self) -> Sequence[Estimate]:
        first = next((c for c in self.coefficients if c.measure == _ALPHA), self.coefficients[0])
        return [first.estimate]

    def _title(self) -> str:
        return (
            f"{counted(self.n_items, 'item')} in {counted(self.n_clusters, 'cluster')}, {len(self.raters)} raters, "
            f"categories {', '.join(self.categories[:12])}{' ...' if len(self.categories) > 12 else ''}, "
            f"{counted(self.n_missing, 'rating')} missing"
        )

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return one row per coefficient: ``measure, a, b`` (raters of a pair), its estimate, ``share, chance``."""
        frame = estimates_frame(self.estimates)
        frame.insert(0, "measure", [c.measure for c in self.coefficients])
        for at, name in enumerate(("a", "b")):
            who = [None] * len(self.panel) + [c.raters[at] for c in self.pairs]
            frame.insert(at + 1, name, pd.Series(who, dtype=object))
        chance = pd.Series([c.chance for c in self.coefficients], dtype="float64")
        frame = frame.assign(share=[c.share.value for c in self.coefficients], chance=chance)
        return {"agreement": frame, **strata_tables(self.strata)}

    def _document(self) -> dict[str, Any]:
        """Return sizes, coefficients and notes as JSON can hold them, and what there is by stratum."""
        return super()._document() | ({"strata": self.strata} if self.strata else {})

    def _remarks(self) -> list[str]:
        return [f"{name}: {why}" for name, why in self.refused.items()]

    def summary(self) -> str:
        """Return sizes, estimates, what was refused, the notes and the coefficients by stratum as text."""
        answer = list(self._answer())
        lines = [*answer, self._title(), *map(str, self.estimates), *self._remarks()]
        whole = around(lines, self.notes, len(answer))
        return "\n".join([*whole, *(part.summary() for part in self.strata)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every coefficient with its interval, or with strata every coefficient by stratum.

        In given axes, draw by stratum the first coefficient alone.
        """
        from d3stats.plotting.intervals import plot_agreement

        if self.strata:
            return plot_panels(families(self.strata), ax)
        frame = self.to_frame()
        label = "agreement" if len(set(frame["measure"])) > 1 else ""
        return plot_agreement(frame[["name", "value", "low", "high", "level", "kind"]], ax=ax, label=label)


@dataclass(frozen=True, kw_only=True)
class AgreementByLog(EstimatesResult):
    r"""Cohen's kappa and the share of agreement of the same two raters in each of several logs.

    Attributes
    ----------
    names : tuple of str
        The logs.
    raters : tuple of str
        The two raters; with "label" the share of agreement is the accuracy of the other.
    logs : tuple of AgreementTable
        What :func:`agreement` finds in each log, in the order of `names`.

    Examples
    --------
    >>> votes = pd.DataFrame({"x": list("AABBABAB"), "y": list("AABBBBAA"), "label": list("AABBABAA")})
    >>> found = agreement_by_log({"all": votes, "half": votes[4:]}, a="label", b="y")
    >>> found.to_frame()[["log", "kappa", "share", "n"]].round(3).values.tolist()
    [['all', 0.75, 0.875, 8], ['half', 0.5, 0.75, 4]]
    >>> found.plot().get_xlabel().partition("\n")[0]
    "Cohen's kappa of label and y"
    """

    names: tuple[str, ...]
    raters: tuple[str, ...]
    logs: tuple[AgreementTable, ...]
    notes: tuple[str, ...] = ()
    _json = ("raters", "names", "logs", "notes")

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The share of agreement and kappa of each log, named by the log; kappa is absent where it is undefined."""
        return tuple(
            replace(each, name=f"{name}: {each.name}")
            for name, log in zip(self.names, self.logs, strict=True)
            for each in log.estimates
        )

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return one row per log: ``log, share, kappa``, each with its limits and kind, ``chance, n, n_clusters``."""
        rows = []
        for name, log in zip(self.names, self.logs, strict=True):
            (share,) = (one.estimate for one in log.panel)
            row = {"log": name, **_with_limits("share", share)}
            pair = log.pairs[0] if log.pairs else None
            row |= _with_limits("kappa", None if pair is None else pair.estimate)
            chance = None if pair is None else pair.chance
            rows.append(
                row | {"chance": chance, "n": share.n, "n_clusters": share.n_clusters, "level": share.level}
            )
        return {"agreement": pd.DataFrame(rows)}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the kappa of each log with its interval."""
        from d3stats.plotting.intervals import plot_agreement

        frame = self.to_frame()
        drawn = frame.rename(
            columns={
                "log": "name",
                "kappa": "value",
                "kappa_low": "low",
                "kappa_high": "high",
                "kappa_kind": "kind",
            }
        )
        label = f"Cohen's kappa of {self.raters[0]} and {self.raters[1]}"
        return plot_agreement(drawn[["name", "value", "low", "high", "level", "kind"]], ax=ax, label=label)


def _with_limits(name: str, estimate: Estimate | None) -> dict[str, Any]:
    parts = {"": "value", "_low": "low", "_high": "high", "_kind": "kind"}
    return {
        f"{name}{end}": None if estimate is None else getattr(estimate, what) for end, what in parts.items()
    }


def agreement_by_log(
    sources: Mapping[str, Any] | Sequence[Any], *, a: str, b: str, rng: RngLike = None, **settings: Any
) -> AgreementByLog:
    """Compute Cohen's kappa and the share of agreement of two raters in each of several logs, one row a log.

    With ``a="label", b="decision"`` these are the kappa with people's labels and the accuracy of each protocol's
    verdicts, as D3's Table 1 and ChatEval's Tables 1, 3 and 4 print them. The logs are not compared with each other:
    :func:`d3stats.compare` estimates differences of runs over the same items.

    Parameters
    ----------
    sources : mapping of str to source, or sequence of sources
        The logs by name, or paths, which are named by their files.
    a, b : str
        The raters, as for :func:`agreement`.
    rng : int, Generator or None
        Each log has the draws that it would have alone with the same seed.
    **settings
        Further settings of :func:`agreement`, but `raters`, `measures` and `strata`.

    Returns
    -------
    AgreementByLog

    Raises
    ------
    ValueError
        When there are fewer than two logs, or one of them has not both raters; the message names the log.

    Examples
    --------
    >>> votes = pd.DataFrame({"x": list("AABBABAB"), "decision": list("AABBBBAA"), "label": list("AABBABAA")})
    >>> found = agreement_by_log({"first": votes, "last four": votes[4:]}, a="label", b="decision")
    >>> found.to_frame()[["log", "share", "kappa"]].round(3).values.tolist()
    [['first', 0.875, 0.75], ['last four', 0.75, 0.5]]
    """
    taken = {"raters", "measures", "strata"} & {*settings}
    if taken:
        raise ValueError(
            f"{sorted(taken)[0]} must be left out for several logs; got {settings[sorted(taken)[0]]!r}"
        )
    named = dict(sources) if isinstance(sources, Mapping) else _named_by_file(sources)
    if len(named) < 2:
        raise ValueError(f"sources must be at least two logs; got {len(named)}; for one log use agreement")
    seed = as_rng(rng)
    logs = []
    for name, source in named.items():
        try:
            logs.append(agreement(source, a=a, b=b, measures=OF_LABELS, rng=deepcopy(seed), **settings))
        except ValueError as error:
            said = error.args[0] if error.args else ""
            whole = said._after(f"{name}: ") if isinstance(said, Advised) else f"{name}: {error}"
            raise ValueError(whole) from None
    notes = [(name, [*log.refused.values(), *log.notes]) for name, log in zip(named, logs, strict=True)]
    return AgreementByLog(
        names=tuple(named), raters=(a, b), logs=tuple(logs), notes=tuple(named_notes(notes, "logs"))
    )


def _named_by_file(sources: Sequence[Any]) -> dict[str, Any]:
    from pathlib import Path

    plain = [
        Path(str(source)).name if isinstance(source, (str, Path)) else f"log {k}"
        for k, source in enumerate(sources, 1)
    ]
    names = [
        str(s) if plain.count(name) > 1 and isinstance(s, (str, Path)) else name
        for s, name in zip(sources, plain, strict=True)
    ]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"sources must be different logs; got {twice} twice")
    return dict(zip(names, sources, strict=True))


def agreement(
    source: Any,
    *,
    a: str | None = None,
    b: str | None = None,
    measures: Sequence[Measure] | None = None,
    raters: Sequence[str] | None = None,
    weights: Literal["identity", "linear", "quadratic"] | ArrayLike | None = None,
    metric: Metric | None = None,
    round_number: int | None = None,
    categories: Sequence[Any] | None = None,
    repeats: Repeats = "refuse",
    by: Literal["debate", "question"] = "debate",
    kind: Kind = "cluster t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    strata: StrataOf = None,
    **reading: Unpack[Reading],
) -> AgreementTable:
    """Compute coefficients of agreement of all raters and Cohen's kappa of every pair, with intervals over clusters.

    Parameters
    ----------
    source : Ratings, or anything that :func:`as_ratings` reads
        The ratings: one label of each rater for each item.
    a, b : str, optional
        One rater of a pair, both or none: an agent, "label" (the right answers) or "decision" (what each debate
        decided; see :func:`as_ratings`). With ``a="label", b="decision"`` the share of agreement is the accuracy of
        the verdicts, and kappa is their agreement with the labels beyond chance.
    measures : sequence of {"cohen", "fleiss", "alpha", "ac1", "share"}, optional
        Cohen's kappa of every pair, or a coefficient of the whole panel; by default all, and of a
        pair with "label" kappa and the accuracy.
    raters : sequence of str, optional
        One of several raters, named as those of a pair are.
    weights : {"identity", "linear", "quadratic"} or array_like of shape (categories, categories)
        Weights of disagreements, by the positions of the categories, in all measures but alpha. See
        :func:`cohen_kappa`. AC1 becomes AC2. A table is of the categories that the raters used, or of `categories`.
    metric : {"nominal", "ordinal", "interval", "ratio"}, optional
        Distance between categories in Krippendorff's alpha; by default "nominal", or "interval" with weights.
    round_number : int, optional
        The round to take votes from; by default each debate's last round.
    categories : sequence, optional
        All categories in order; by default those in the data.
    repeats : {"refuse", "separate"}
        If an agent votes twice on an item: refuse the table, or count the second vote as another agent's.
    by : {"debate", "question"}
        Unit of agreement in a log; with "question", repeated debates of a question count as further agents.
    kind : {"cluster t", "jackknife t", "percentile", "basic", "bca", "studentised", "classical"}
        Kind of interval. See :func:`cohen_kappa`.
    level : float
        Level of the intervals.
    n_boot : int
        Bootstrap replicates; only for the kinds of interval that are bootstraps.
    rng : Generator, int or None
        Random numbers of bootstraps.
    strata : str, mapping or Series, optional
        The column that says an item's kind (category, task), or the kind of each item by its name. The panel's
        coefficients, and kappa where there are two raters, are then also estimated by stratum, raw and shrunken; see
        :mod:`d3stats.inference.comparison.strata`.

    Returns
    -------
    AgreementTable
        `refused` holds each coefficient that is undefined on the data, with the reason.

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
    known = ["cohen", *PANEL]
    if (a is None) != (b is None) or (a is not None and raters is not None):
        raise ValueError(
            f"a and b must come together and without raters; got a={a!r}, b={b!r}, raters={raters!r}"
        )
    if a is not None and b is not None:
        if a == b:
            raise ValueError(f"a and b must be different raters; got {a!r} twice")
        raters = [a, b]
    of_labels = raters is not None and len(raters) == 2 and LABEL in raters
    if measures is None and of_labels:
        measures = OF_LABELS
    wanted = known if measures is None else [choice("measures", m, known) for m in measures]
    if metric is None:
        plain = weights is None or (isinstance(weights, str) and weights == "identity")
        metric = "nominal" if plain else "interval"
    How(kind, level, n_boot, None)
    return _agreed(
        *ratings_with_strata(
            source,
            strata,
            round_number=round_number,
            categories=categories,
            raters=raters,
            repeats=repeats,
            by=by,
            **reading,
        ),
        wanted,
        of_labels,
        by,
        {"weights": weights, "metric": metric},
        {"kind": kind, "level": level, "n_boot": n_boot},
        rng,
    )


def _agreed(
    read: Ratings,
    kinds: ItemStrata | None,
    wanted: Sequence[str],
    of_labels: bool,
    by: Literal["debate", "question"],
    of_setting: Mapping[str, Any],
    settings: Mapping[str, Any],
    rng: RngLike,
) -> AgreementTable:
    """Compute the wanted coefficients of ratings, each with its part of `of_setting`, and by stratum."""
    weights = of_setting["weights"]
    if read.n_raters < 2:
        raise ValueError(f"raters must be at least two; got {list(read.raters)}")
    need_pairs(read, "agreement")
    read = read.occurring()
    if weights is not None:
        agreement_weights(weights, read)  # once, and not as the refusal of every measure
    # A table of weights names the categories of the panel, and a stratum has those of the whole.
    whole_panel = replace(read, declared=True)
    read = whole_panel if is_table(weights) else read
    every = list(combinations(read.raters, 2))
    # A stream for each coefficient, wanted or not: what one draws does not depend on what else is asked for.
    titles = [*(one.title for one in PANEL.values()), *map(_pair_title, every)]
    streams = dict(zip(titles, as_rng(rng).spawn(len(titles)), strict=True))
    refused: dict[str, str] = {}

    def made(name: str, of: Any, ratings: Ratings, setting: str) -> list[Coefficient]:
        try:
            # A copy, so that a stratum draws what the whole draws.
            return [of(ratings, rng=deepcopy(streams[name]), **{setting: of_setting[setting]}, **settings)]
        except ValueError as error:
            refused[name] = error.args[0] if error.args else str(error)
            return []

    if of_labels:
        (other,) = (name for name in read.raters if name != LABEL)
    accuracy = f"accuracy of {other}" if of_labels else ""

    def of_panel(part: Ratings) -> list[Coefficient]:
        found = [one for c in chosen for one in made(c.title, c.of, part, c.setting)]
        if not of_labels:
            return found
        share = PANEL["share"].title
        return [
            replace(one, estimate=replace(one.estimate, name=accuracy)) if one.estimate.name == share else one
            for one in found
        ]

    chosen = [one for name, one in PANEL.items() if name in wanted]
    panel = of_panel(read)
    names = every if "cohen" in wanted else []
    pairs = [one for pair in names for one in made(_pair_title(pair), cohen_kappa, read.of(pair), "weights")]
    if not panel and not pairs:
        first, *others = dict.fromkeys(refused.values())
        raise ValueError("; ".join((first, *others)) if others else first)
    notes = dict.fromkeys(note for one in (panel or pairs) for note in one.notes)
    if of_setting["metric"] == "nominal" and (scale := _of_a_scale(read)):
        notes = {scale: None, **notes}
    # Each note once, with the coefficients that it is about: why there is no interval, or how rough it is.
    estimates = [one.estimate for one in (*panel, *pairs)]
    few = named_notes([(e.name, [e.note] if e.note else []) for e in estimates], "coefficients")
    missing = int(np.sum(read.codes == MISSING))
    parts: tuple[Strata, ...] = ()
    if kinds is not None:
        labels = kinds.labels(list(read.items), by, unit="item")
        one_pair = pairs if len(every) == 1 else []

        def measure(rows: NDArray[np.bool_]) -> list[Estimate]:
            part = whole_panel.where(rows)
            again = of_panel(part)
            if one_pair:
                again += made(_pair_title(every[0]), cohen_kappa, part.of(every[0]), "weights")
            return [one.estimate for one in again]

        whole = dict(refused)
        parts = by_stratum(labels, read.cluster, measure, bounds=(-1.0, 1.0), names=read.cluster_names)
        refused = whole
    return AgreementTable(panel=tuple(panel), pairs=tuple(pairs), refused=refused, raters=read.raters,
                          categories=read.categories, n_items=read.n_items, n_clusters=read.n_clusters,
                          n_missing=missing, notes=(*notes, *few), strata=parts)  # fmt: skip


def _of_a_scale(read: Ratings) -> Note | None:
    """Say how to measure distances of votes that look like numbers of a scale: many, or close to each other."""
    n = len(read.categories)
    if n < _FEWEST_OF_A_SCALE or not read.is_numeric or read.label is not None:  # right answers are no steps
        return None
    numbers = read.values()
    whole = bool((numbers % 1 == 0).all()) and float(np.ptp(numbers)) <= 2 * n
    near = whole and _close_by(read)
    if (n <= _MOST_CATEGORIES and not whole) or (n < _STEPS and not near):
        return None
    text = (
        f"the votes are {n} different numbers, and any two of them count as no agreement"
        f"{', although raters who differ are close to each other' if near else ''}; for numbers of a scale use "
        f"metric='ordinal' or 'interval' (--metric) for alpha and {setting('weights', 'quadratic')} for the others"
    )
    return Note(text, kind="numbers of a scale", severity="warning" if near else "note", n=n)


_STRONG = 4.0
"""So many standard errors below chance are raters who differ closer to each other on a scale."""


def _close_by(read: Ratings) -> bool:
    """Whether raters who differ are nearer to each other than votes drawn from the same shares that differ."""
    numbers, codes = read.values(), read.codes
    shares = np.bincount(codes[codes >= 0], minlength=len(numbers)) / max(int((codes >= 0).sum()), 1)
    apart = np.abs(numbers[:, None] - numbers[None, :])
    chance = float(shares @ apart @ shares) / max(float(1 - (shares**2).sum()), 1e-12)
    counts = np.stack([(codes == k).sum(axis=1) for k in range(len(numbers))], axis=1).astype(np.float64)
    differ = counts.sum(axis=1) ** 2 - (counts**2).sum(axis=1)
    excess = ((counts @ apart) * counts).sum(axis=1) - chance * differ
    error = float(np.sqrt((excess**2).sum()))
    return error > 0 and float(excess.sum()) / error < -_STRONG


def _pair_title(pair: tuple[str, str]) -> str:
    return f"Cohen's kappa, {pair[0]} and {pair[1]}"
