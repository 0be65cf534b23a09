"""Shares or means by a judge, corrected by labels of a part of the items, and how many labels a width takes.

Each category is a share of 0 and 1, so that the methods are those of single shares. Labels at random give
prediction-powered means, and labels that were chosen by what they are Rogan and Gladen's correction.

The budget takes the variance of n labels at random of N items as

    e (1 / n - 1 / N) + s D / N

with s the variance of labels and e the part of it that the judge leaves unexplained, both from the present labels. D is
the design effect of the judge's values over clusters. With labels shared out by the judge's verdicts, e / n becomes the
square of the mean standard deviation of labels within a verdict, over n.

References
----------
Neyman (1934), Journal of the Royal Statistical Society 97, 558 (shares of labels by stratum). Cochran (1977), Sampling
Techniques, chapters 5 and 12 (both, and the variance of regression estimates in double sampling).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from d3stats._arrays import Bools, Floats
from d3stats._check import choice, meant, positive, probability
from d3stats._words import Advised, counted, percent, setting
from d3stats.estimate import Estimate
from d3stats.inference.judges.correction import correct_rate, correct_shares
from d3stats.inference.judges.prediction_powered import prediction_powered_mean
from d3stats.inputs.items import ItemIs
from d3stats.inputs.labels import ItemStrata, NoSuchStrata, StrataOf
from d3stats.inputs.ratings import LABEL, Ratings, UnknownRater
from d3stats.note import kind_of, with_words
from d3stats.resampling import cluster_totals, clustered_share, share
from d3stats.result import EstimatesResult
from d3stats.sources import Opened, Reading, open
from d3stats.sources.ratings import DECISION, FIELDS, Repeats, as_ratings, ratings_with_strata
from d3stats.trajectories import MISSING
from d3stats.values import numbers_of

__all__ = ["CorrectedJudge", "correct"]

Labelled = Literal["random", "chosen"]
_FEWEST_LABELS = 20
"""With fewer labels their spread does not tell how many more are needed."""
_MOST_CATEGORIES = 20
_SUM = 0.002
"""Shares that add up to 1 but for so much are not remarked on."""
_NARROWEST, _WIDEST = 0.9, 1.5
"""Limits of an interval's width over that of a normal one, when widths are planned."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CorrectedJudge(EstimatesResult):
    """Shares of categories, or a mean score, that a judge gives to items, corrected by the labels of some of them.

    Attributes
    ----------
    corrected : tuple of Estimate
        The corrected share of each category, or the one corrected mean.
    alone : tuple of Estimate
        What the judge alone says, of the same items.
    labels_only : tuple of Estimate
        What the labels alone say; comparable only where they were drawn at random.
    judge : str
        Who judged.
    labelled : {"random", "chosen", "with known chances"}
        How items were chosen for a label.
    n_items, n_labelled : int
        Judged items, and those of them with a label.
    worth_labels : float or None
        How many labels alone would give an interval as narrow as that of the first answer; None where one has none.
    width : float or None
        The width that was asked for.
    budget : DataFrame
        Where a width was asked for: one row per way to choose labels, ``way, labels, more``. `labels` is missing where
        no number would do, and ``why`` says so.
    strata : DataFrame
        Where a width was asked for: one row per verdict of the judge, ``verdict, items, labelled, agree, chance``: the
        share of labels that agree with it, and the chance of a label that is advised there.

    Examples
    --------
    >>> from d3stats import correct
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.random(1000) < 0.7
    >>> judge = np.where(rng.random(1000) < 0.9, truth, ~truth).astype(int)
    >>> items = pd.DataFrame({"judge": judge, "label": np.where(np.arange(1000) < 100, truth, np.nan)})
    >>> found = correct(items, width=0.08)
    >>> print(found.headline.partition(". ")[2])
    An interval 8 points wide takes 145 more labels, by verdict.
    >>> found.budget[["way", "labels"]].values.tolist()
    [['by verdict', 245.0], ['at random, with the judge', 277.0], ['at random, without the judge', 505.0]]
    """

    corrected: tuple[Estimate, ...]
    alone: tuple[Estimate, ...]
    labels_only: tuple[Estimate, ...]
    judge: str
    labelled: Literal["random", "chosen", "with known chances"]
    n_items: int
    n_labelled: int
    worth_labels: float | None
    width: float | None
    budget: pd.DataFrame
    strata: pd.DataFrame
    notes: tuple[str, ...] = ()
    _first: int = field(default=0)
    _mean: bool = field(default=False)
    _json = (
        "judge",
        "labelled",
        "n_items",
        "n_labelled",
        "worth_labels",
        "width",
        "estimates",
        "budget",
        "strata",
        "notes",
    )

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Corrected values, those of the judge alone, those of the labels alone."""
        return self.corrected + self.alone + self.labels_only

    @property
    def headline(self) -> str:
        """The corrected share or mean with its interval, beside the judge's, and what it takes for a width."""
        e, judged = self.corrected[self._first], self.alone[self._first]
        if self._mean:
            said = f"The mean is {_number(e)}; {self.judge} alone says {judged.value:z.3f}"
        else:
            said = f"{_share(e)} of the items are {e.of}; {self.judge} alone says {percent(judged.value)}"
        return f"{said}. {self._labels()}."

    def _labels(self) -> str:
        what = counted(self.n_labelled, "label")
        if self.width is None:
            if self.worth_labels is None:
                return f"It rests on {what}"
            return f"With the judge {what} are worth {self.worth_labels:z,.0f}"
        enough = [row for row in self.budget.to_dict("records") if row["labels"] == row["labels"]]
        wide = self._width_text()
        if not enough:
            return f"An interval {wide} wide takes more items: {self.budget['why'].iloc[0]}"
        row = min(enough, key=lambda row: row["labels"])
        if row["more"] == 0:
            return (
                f"An interval {wide} wide takes {counted(int(row['labels']), 'label')}, and {what} are there"
            )
        return f"An interval {wide} wide takes {int(row['more']):,} more labels, {row['way']}"

    def _width_text(self) -> str:
        assert self.width is not None
        return f"{self.width:g}" if self._mean else f"{100 * self.width:g} points"

    def _gated(self) -> Sequence[Estimate]:
        return self.corrected[self._first : self._first + 1]

    def _title(self) -> str:
        e = self.corrected[self._first]
        how = {"random": "at random", "chosen": "by choice"}.get(self.labelled, self.labelled)
        sizes = f"{counted(self.n_items, 'item')}, {self.n_labelled:,} of them labelled {how}"
        over = "" if e.n_clusters is None else f" over {counted(e.n_clusters, 'cluster')}"
        return f"{sizes}; {100 * e.level:.6g} % intervals ({e.kind}{over})."

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        tables = {"estimates": super()._tables()["estimates"]}
        if self.width is not None:
            tables |= {"labels for the width": self.budget.copy(), "labels by verdict": self.strata.copy()}
        return tables

    @property
    def _n_main(self) -> int:
        return 1 if self.width is None else 2

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        cell = _number if self._mean else _share
        rows = [
            {
                "" if self._mean else "category": "mean" if self._mean else e.of,
                self.judge: cell(judged, limits=False),
                "labels alone": cell(labels),
                "corrected": cell(e),
            }
            for e, judged, labels in zip(self.corrected, self.alone, self.labels_only, strict=True)
        ]
        tables = {"Verdicts of the judge, and corrected": pd.DataFrame(rows, dtype=object)}
        if self.width is None:
            return tables
        ways = [
            {
                "labels chosen": row["way"],
                "labels": "-" if row["labels"] != row["labels"] else f"{int(row['labels']):,}",
                "more than now": str(row["why"])
                if row["labels"] != row["labels"]
                else f"{int(row['more']):,}",
            }
            for row in self.budget.to_dict("records")
        ]
        tables[f"Labels for an interval {self._width_text()} wide"] = pd.DataFrame(ways, dtype=object)
        if len(self.strata):
            verdicts = [
                {
                    "verdict": str(row["verdict"]),
                    "items": f"{row['items']:,}",
                    "labelled": f"{row['labelled']:,}",
                    "labels that agree": percent(row["agree"]) if row["agree"] == row["agree"] else "-",
                    "advised chance": percent(row["chance"]) if row["chance"] == row["chance"] else "-",
                }
                for row in self.strata.to_dict("records")
            ]
            tables["Chances of a label by verdict"] = pd.DataFrame(verdicts, dtype=object)
        return tables


def _share(e: Estimate, *, limits: bool = True) -> str:
    bare = not limits or e.low is None
    return percent(e.value) if bare else percent(e.value, e.low, e.high)


def _number(e: Estimate, *, limits: bool = True) -> str:
    bare = not limits or e.low is None
    return f"{e.value:z.3f}" if bare else f"{e.value:z.3f} [{e.low:z.3f}, {e.high:z.3f}]"


def correct(
    source: Any,
    *,
    judge: str | None = None,
    labelled: Labelled = "random",
    chance: StrataOf = None,
    width: float | None = None,
    round_number: int | None = None,
    categories: Sequence[Any] | None = None,
    repeats: Repeats = "refuse",
    by: ItemIs = "debate",
    level: float = 0.95,
    **reading: Unpack[Reading],
) -> CorrectedJudge:
    """Correct the shares or the mean that a judge gives to all items by the labels of some, by PPI or Rogan and Gladen.

    Parameters
    ----------
    source : what :func:`d3stats.open` takes
        A log, or a table with a row per item, a column of the judge and a column ``label`` that is empty where unknown.
    judge : str, optional
        Who judged: an agent or a column. "decision" means the decision of each debate. By default the decision in a
        log, and the only judge of a table.
    labelled : {"random", "chosen"}
        How items were chosen for a label: as a random part of the items, or any, for example as many of each label. The
        second assumes that the judge errs on the other items as on the labelled ones, and its answer is about these.
    chance : str, mapping or Series, optional
        With what probability each item was chosen for a label: the name of a column, or the chance of each item by its
        name. Labels then count as 1 / chance items.
    width : float, optional
        How wide the interval may be, from limit to limit: how many labels does that take? A share or, of scores,
        points of the scale.
    round_number : int, optional
        The round whose votes are taken; by default each debate's last.
    categories : sequence, optional
        Every category, in order; by default those that occur. Numbers other than 0 and 1 are scores, whose mean is
        corrected, unless categories are named.
    repeats : {"refuse", "separate"}
        What a second vote of a judge on an item is: an error, or the vote of another judge.
    by : {"debate", "question"}
        What an item is in a log.
    level : float
        Level of the intervals, in (0, 1).
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    CorrectedJudge

    Raises
    ------
    ValueError
        When no item has a label, all have one, the judge is not named where there are several, or the judge does not
        separate the labels (of chosen items).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.random(1000) < 0.7
    >>> judge = np.where(rng.random(1000) < 0.9, truth, ~truth).astype(int)
    >>> items = pd.DataFrame({"judge": judge, "label": np.where(np.arange(1000) < 100, truth, np.nan)})
    >>> print(correct(items).corrected[1])
    share, corrected, 1: 0.700 [0.638, 0.758] (95 % MOVER, n = 1000)
    """
    choice("labelled", labelled, ("random", "chosen"))
    level = probability("level", level, open_interval=True)
    at_random = labelled == "random"
    for given, value in (("chance", chance), ("width", width)):
        if value is not None and not at_random:
            raise ValueError(f'{given} must come with labelled="random"; got labelled="chosen"')
    if width is not None:
        width = positive("width", width)
    fresh = open(source, **reading)  # refuses settings of reading for ratings, which were read already
    opened = source if isinstance(source, Ratings) else fresh
    name = _judge_of(opened, judge, chance)
    how: dict[str, Any] = {
        "round_number": round_number,
        "categories": categories,
        "repeats": repeats,
        "by": by,
    }
    try:
        ratings, kinds = ratings_with_strata(opened, chance, raters=[LABEL, name], **how)
    except UnknownRater as error:
        raise _unknown_judge(error, name) from None
    except NoSuchStrata as error:
        raise ValueError(f"chance{str(error).removeprefix('strata')}") from None
    label, code = ratings.codes.T
    judged = code != MISSING
    known = judged & (label != MISSING)
    if not known.any():
        raise ValueError(
            Advised(
                f"an item that {name} judged must have a label",
                "fill the column 'label' for some",
                got="none",
            )
        )
    if known.sum() == judged.sum():
        step = "see `agreement` for the judge's accuracy (--a label --b JUDGE)"
        raise ValueError(
            Advised(
                "some items must have no label, so that the judge adds to the labels",
                step,
                got="labels of all",
            )
        )
    values = None
    if categories is None and ratings.is_numeric and not set(ratings.categories) <= {"0", "1"}:
        values = ratings.values()
    elif len(ratings.categories) > _MOST_CATEGORIES:
        raise ValueError(f"categories must be at most {_MOST_CATEGORIES}; got {len(ratings.categories)}")
    if values is not None and not at_random:
        step = "name the categories, or label a random part of the items"
        raise ValueError(Advised("with chosen labels the judge must give categories", step, got="scores"))
    alone = sorted({ratings.categories[k] for k in np.unique(code[judged])})
    by_hand = sorted({ratings.categories[k] for k in np.unique(label[known])})
    if values is None and alone and by_hand and not set(alone) & set(by_hand):
        needed = "the judge and the labels must share a category"
        got = f"verdicts {', '.join(map(repr, alone[:4]))} and labels {', '.join(map(repr, by_hand[:4]))}"
        raise ValueError(Advised(needed, "spell them alike", got=got))
    items = _Items(
        ratings.categories if values is None else ("",),
        code[judged] if values is None else values[code[judged]],
        np.where(known, label if values is None else values[label], np.nan)[judged],
        ratings.cluster[judged] if len(np.unique(ratings.cluster[judged])) < judged.sum() else None,
        None if kinds is None else _chances(kinds, ratings)[judged],
    )
    found = items.powered(level) if at_random else items.by_label(level)
    # Scores of a judge need never be the label's own.
    notes = [n for n in ratings.notes if values is None or kind_of(n) != "no vote is a label"]
    if not judged.all():
        notes.append(f"{counted(int((~judged).sum()), 'item')} without a verdict of {name} left out")
    first = (
        int(np.argmax([each.value for each in found.corrected])) if ratings.categories != ("0", "1") else 1
    )
    first = 0 if values is not None else first
    e, only = found.corrected[first], found.labels_only[first]
    worth = None
    if (
        at_random
        and e.low is not None
        and e.high is not None
        and only.low is not None
        and only.high is not None
    ):
        worth = only.n * ((only.high - only.low) / (e.high - e.low)) ** 2 if e.high > e.low else None
    budget, strata = (pd.DataFrame(), pd.DataFrame()) if width is None else items.budget(width, first, e)
    return CorrectedJudge(
        corrected=found.corrected, alone=found.alone, labels_only=found.labels_only, judge=name,
        labelled="with known chances" if chance is not None else labelled, n_items=int(judged.sum()),
        n_labelled=int(known.sum()), worth_labels=worth, width=width, budget=budget, strata=strata,
        notes=tuple(dict.fromkeys([*notes, *found.notes])), _first=first, _mean=values is not None,
    )  # fmt: skip


def _unknown_judge(error: UnknownRater, name: str) -> ValueError:
    """Say who may be the judge, in place of a name that nobody has."""
    known = [other for other in error.known if other != LABEL]
    if error.name == LABEL:
        return ValueError(
            Advised("items must have right answers for some", "add a column 'label'", got="none")
        )
    listed = ", ".join(map(repr, known[:12])) + (f" and {len(known) - 12} more" if len(known) > 12 else "")
    step = f"name one of them with {setting('judge', known[0])}" if known else "add a column of the judge"
    got = f"{name!r}{meant(name, known)}"
    return ValueError(Advised(f"judge must be one of {listed or 'the raters'}", step, got=got))


def _judge_of(opened: Opened | Ratings, judge: str | None, chance: StrataOf) -> str:
    """Return who judged: whom the caller names, the decision of a log, or the only judge of a table."""
    if judge is not None:
        return judge
    if isinstance(opened, Opened) and opened.is_log(FIELDS):
        return DECISION
    read = opened if isinstance(opened, Ratings) else as_ratings(opened.aside(chance))
    others = [rater for rater in read.raters if rater != LABEL]
    if len(others) != 1:
        names = ", ".join(map(repr, others[:12]))
        raise ValueError(
            Advised("judge must be named where there are several", f"choose one of {names}", got="none")
        )
    return others[0]


def _chances(kinds: ItemStrata, ratings: Ratings) -> Floats:
    """Return the chance of a label of every item, as a number."""
    return numbers_of(kinds.column, pd.Series(kinds.texts(ratings.items), dtype=object))


class _Found(NamedTuple):
    """Estimates by category, and notes."""

    corrected: tuple[Estimate, ...]
    alone: tuple[Estimate, ...]
    labels_only: tuple[Estimate, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Items:
    """Judged items: codes of categories or scores, labels (NaN where unknown), clusters and chances of a label.

    Of scores there is one category, without a name.
    """

    categories: tuple[str, ...]
    said: Any
    label: Floats
    cluster: NDArray[np.int64] | None
    chance: Floats | None

    @property
    def known(self) -> Bools:
        """Which items have a label."""
        found: Bools = ~np.isnan(self.label)
        return found

    def column(self, k: int) -> tuple[Floats, Floats]:
        """Return what the judge says and the label: scores, or whether each is category `k`."""
        if self.categories == ("",):
            return np.asarray(self.said, dtype=np.float64), self.label
        return (self.said == k).astype(np.float64), np.where(self.known, self.label == k, np.nan)

    def powered(self, level: float) -> _Found:
        """Correct by labels at random, category by category."""
        each = [
            prediction_powered_mean(*self.column(k), cluster=self.cluster, chance=self.chance, level=level)
            for k in range(len(self.categories))
        ]
        # Of two categories each says what the other says.
        told = each[-1:] if len(each) == 2 else each
        notes = [with_words(n, f"{c}: ") if len(each) > 2 else n
                 for c, found in zip(self.categories[-len(told):], told, strict=True) for n in found.notes]  # fmt: skip
        total = sum(found.mean.value for found in each)
        if len(each) > 2 and abs(total - 1) > _SUM:
            notes.append(f"the shares add up to {total:z.3f}, because each is estimated by itself")
        return _Found(
            tuple(_named("corrected", c, found.mean) for c, found in zip(self.categories, each, strict=True)),
            tuple(
                _named("judge alone", c, found.naive) for c, found in zip(self.categories, each, strict=True)
            ),
            tuple(
                _named("labels alone", c, found.labels_only)
                for c, found in zip(self.categories, each, strict=True)
            ),
            tuple(notes),
        )

    def by_label(self, level: float) -> _Found:
        """Correct what the judge says of items without a label by its errors on those with one."""
        known = self.known
        size = len(self.categories)
        columns = [self.column(k) for k in range(size)]
        own = None if self.cluster is None else self.cluster[known]

        def part(f: Floats, units: NDArray[np.int64] | None) -> Estimate:
            if units is None:
                return share(int(f.sum()), f.size, level=level, name="")
            return clustered_share(
                f, np.ones(f.size), np.unique(units, return_inverse=True)[1], level=level, name=""
            )

        rest = None if self.cluster is None else self.cluster[~known]
        alone = [part(f[~known], rest) for f, _ in columns]
        labels = [part(y[known], own) for _, y in columns]
        notes: list[str] = []
        if size == 2:
            made = [
                correct_rate(
                    f[~known], f[known], y[known], cluster=rest, calibration_cluster=own, level=level
                )
                for f, y in columns
            ]
            corrected = [each.rate for each in made]
            notes += made[-1].notes
        else:
            confusion = np.zeros((size, size), dtype=np.int64)
            np.add.at(confusion, (self.label[known].astype(np.int64), self.said[known]), 1)
            judged = np.bincount(self.said[~known], minlength=size)
            solved = correct_shares(judged, confusion, categories=self.categories, level=level)
            corrected = list(solved.shares)
            if own is not None:
                why = "no interval, because this method takes items as independent, and those of a question are not"
                corrected = [replace(each, low=None, high=None, note=why) for each in corrected]
            notes += solved.notes
        names = self.categories
        return _Found(
            tuple(itertools.starmap(partial(_named, "corrected"), zip(names, corrected, strict=True))),
            tuple(itertools.starmap(partial(_named, "judge alone"), zip(names, alone, strict=True))),
            tuple(itertools.starmap(partial(_named, "labels alone"), zip(names, labels, strict=True))),
            tuple(notes),
        )

    def budget(self, width: float, first: int, e: Estimate) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return how many labels an interval of this width takes, by how they are chosen, and chances by verdict."""
        known, n_all = self.known, len(self.label)
        n = int(known.sum())
        if n < _FEWEST_LABELS:
            raise ValueError(
                Advised(
                    f"width must have {_FEWEST_LABELS} labels to plan from",
                    "label more at random",
                    got=str(n),
                )
            )
        f, label = self.column(first)
        y = label[known]
        weight = np.ones(n) if self.chance is None else 1 / self.chance[known]
        weight = weight / weight.sum()
        away, judged = y - weight @ y, f[known] - weight @ f[known]
        below = float(weight @ judged**2)
        slope = float(weight @ (away * judged)) / below if below > 0 else 0.0
        spread, left = float(weight @ away**2), float(weight @ (away - slope * judged) ** 2)
        # An error of the judge that no label shows yet is not taken to be none.
        left = min(max(left, spread / (n + 2)), spread)
        alike = _design_effect(f, self.cluster)
        blocks = _whole_clusters(known, self.cluster)
        times = alone_times = 1.0
        if blocks and self.cluster is not None:
            own = self.cluster[known]
            times, alone_times = _design_effect(away - slope * judged, own), _design_effect(away, own)
        z = float(scipy.special.ndtri((1 + e.level) / 2))
        shape = 1.0
        if e.low is not None and e.high is not None and e.se:
            shape = min(max((e.high - e.low) / (2 * z * e.se), _NARROWEST), _WIDEST)
        target = (width / (2 * z * shape)) ** 2
        room = target - spread * alike / n_all
        rows = [
            _row("at random, with the judge", left * times, left * times, room, n_all, n),
            _row("at random, without the judge", spread * alone_times, spread * alone_times, room, n_all, n),
        ]
        strata = pd.DataFrame()
        if self.categories != ("",) and not blocks:
            strata, mean_sd, mean_square = self._strata(first)
            row = _row("by verdict", mean_sd**2, mean_square, room, n_all, n)
            sd, counts = strata.pop("sd").to_numpy(), strata["items"].to_numpy()
            chance = _allotted(sd, counts, row["labels"])
            rows.insert(0, row)
            strata["chance"] = chance
        return pd.DataFrame(rows), strata

    def _strata(self, first: int) -> tuple[pd.DataFrame, float, float]:
        """Return a row per verdict of the judge, and the means of the labels' standard deviations and variances."""
        known, rows = self.known, []
        _, label = self.column(first)
        for k, category in enumerate(self.categories):
            here = self.said == k
            if not here.any():
                continue
            seen = here & known
            hits, n = float(np.nansum(label[seen])), int(seen.sum())
            p = (hits + 0.5) / (n + 1)
            agree = float((self.label[seen] == k).mean()) if n else float("nan")
            rows.append({"verdict": category, "items": int(here.sum()), "labelled": n, "agree": agree,
                         "sd": float(np.sqrt(p * (1 - p)))})  # fmt: skip
        table = pd.DataFrame(rows)
        share_of = table["items"].to_numpy() / len(label)
        return table, float(share_of @ table["sd"]), float(share_of @ table["sd"] ** 2)


def _row(way: str, square: float, own: float, room: float, n_all: int, now: int) -> dict[str, Any]:
    """Return how many labels make square / n - own / N no more than the room."""
    under = room + own / n_all
    if room <= 0 or under <= 0:
        return {
            "way": way,
            "labels": np.nan,
            "more": np.nan,
            "why": f"even labels of all {n_all:,} items would not do",
        }
    needed = min(max(math.ceil(square / under), _FEWEST_LABELS), n_all)
    return {"way": way, "labels": float(needed), "more": float(max(needed - now, 0)), "why": ""}


def _allotted(sd: Floats, items: Floats, total: float) -> Floats:
    """Return chances of a label in proportion to the standard deviations, at most 1, for so many labels."""
    if total != total:
        return np.full(len(sd), np.nan)
    chance = np.zeros(len(sd))
    free = np.ones(len(sd), dtype=bool)
    while free.any():
        rest = total - items[~free].sum()
        chance[free] = rest * sd[free] / (sd[free] @ items[free])
        over = free & (chance > 1)
        if not over.any():
            break
        chance[over], free = 1.0, free & ~over
    return np.clip(chance, 0.0, 1.0)


def _design_effect(values: Floats, cluster: NDArray[np.int64] | None) -> float:
    """Return by how much clusters raise the variance of a mean over that of as many independent items, at least 1."""
    away = values - values.mean()
    if cluster is None or not away.any():
        return 1.0
    sums = cluster_totals(away[:, None], np.unique(cluster, return_inverse=True)[1])[:, 0]
    if len(sums) < 2:
        return 1.0
    return max(float(sums @ sums) * len(sums) / (len(sums) - 1) / float(away @ away), 1.0)


def _whole_clusters(known: Bools, cluster: NDArray[np.int64] | None) -> bool:
    """Say whether each cluster of several items is labelled as a whole or not at all."""
    if cluster is None:
        return False
    _, codes, sizes = np.unique(cluster, return_inverse=True, return_counts=True)
    labelled = np.bincount(codes, weights=known)
    several = sizes > 1
    return bool(
        np.isin(labelled[several], (0.0,)).any() and ((labelled == 0) | (labelled == sizes))[several].all()
    )


def _named(what: str, category: str, e: Estimate) -> Estimate:
    """Return an estimate with the name of what it says of a category, or of the mean of scores."""
    if not category:
        return replace(e, name=f"mean, {what}")
    return replace(e, name=f"share, {what}").about(category)
