"""What is a panel of judges worth, who adds something, who repeats whom, and which judges are the best for a price?

With labels all of this is measured. Without labels the verdicts of Dawid and Skene's model are taken as the truth, and
every number says so. Dependence of the judges is then a part of the verdicts, and the panel looks better than it is.

Assumptions: clusters (questions) are independent; without labels, those of :mod:`d3stats.inference.judges.dawid_skene`.

References
----------
Nitzan and Paroush (1982), International Economic Review 23, 289 (weights). Kish (1965), Survey Sampling, section 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd

from d3stats._arrays import Bools, Floats, Ints
from d3stats._check import RngLike, as_rng, integer, meant, number, probability
from d3stats._words import Advised, counted, percent, points, said_p
from d3stats.estimate import Estimate
from d3stats.inference.judges.conditional_independence import (
    ALPHA,
    FEWEST_BOOT,
    ConditionalIndependence,
    independence_of,
)
from d3stats.inference.judges.dawid_skene import UNSEEN, Sandwich, fitted, plurality_shares, shared_answers
from d3stats.inference.judges.effective import EffectiveJurors, effective_of
from d3stats.inference.judges.jury import jurors_frame
from d3stats.inputs.ratings import Ratings
from d3stats.note import warning
from d3stats.resampling import cluster_t, cluster_totals, clustered_share
from d3stats.result import EstimatesResult
from d3stats.sources import Reading
from d3stats.sources.ratings import Repeats, as_ratings
from d3stats.trajectories import MISSING

__all__ = ["Panel", "panel"]


PRIOR, N_BOOT = 0.2, 99
"""Without labels: votes of the prior, and panels drawn for the test of independence."""
MOST_ENUMERATED = 12
"""Up to so many judges every panel is tried."""
FOLDS = 5
BY_LABELS, BY_MODEL = "labels", "the model's verdicts"
_ROUNDING = 1e-9
_FRONTIER = ["price", "judges", "size", "accuracy", "held_out", "low", "high"]
FEWEST_ALIKE = 10
"""Two judges with equal votes on so many items or more are named."""
_DEPENDENT = (
    "Without labels, judges who depend on each other show neither who adds something nor which panel is best: a group "
    "that errs in common looks right. Label some items."
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Panel(EstimatesResult):
    """Worth of a panel and of its judges: the result of :func:`panel`.

    Attributes
    ----------
    truth : str
        What verdicts are compared with: "labels" or "the model's verdicts".
    accuracy : Estimate
        Share of the items on which the plurality equals the truth, a tie shared evenly.
    worth : Estimate or None
        Independent judges that the panel is worth (Kish), at most so many without labels; None where `notes` says why.
    best : Estimate or None
        Accuracy of the panel chosen under `judges` and `max_price`, on clusters that did not choose it; None where
        neither was given, and where judges without labels are shown to depend on each other.
    chosen : tuple of str
        The judges of that panel, chosen on all items.
    effective : EffectiveJurors or None
        Correlations of the judges' errors and the worst pair.
    independence : ConditionalIndependence or None
        Without labels and with four or more judges: the test of independence given the right answer.
    judges : DataFrame
        One row per judge: ``judge, n, accuracy, low, high, weight`` (log odds of being right), ``adds, adds_low,
        adds_high`` (accuracy of the plurality of all minus that of the others), ``price``.
    frontier : DataFrame
        One row per price at which a better panel can be had: ``price, judges, size, accuracy`` (on the items that chose
        it), ``held_out, low, high`` (on other clusters). Empty where judges without labels are shown to depend on each
        other.
    bound : float or None
        Above 12 judges the search is greedy; no panel under `judges` and `max_price` is right more often than this.
    n_items, n_clusters : int
        Items that count, and the clusters that they come from.
    level : float
        Level of all intervals.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> right = rng.random((200, 5)) < np.array([0.95, 0.9, 0.7, 0.6, 0.6])
    >>> votes = pd.DataFrame(np.where(right, "A", "B"), columns=list("vwxyz")).assign(label="A")
    >>> found = panel(votes, judges=3, rng=1)
    >>> found.chosen, found.truth
    (('v',), 'labels')
    """

    truth: str
    accuracy: Estimate
    worth: Estimate | None
    best: Estimate | None
    chosen: tuple[str, ...]
    effective: EffectiveJurors | None
    independence: ConditionalIndependence | None
    judges: pd.DataFrame
    frontier: pd.DataFrame
    bound: float | None
    notes: tuple[str, ...]
    n_items: int
    n_clusters: int
    level: float
    _json = (
        *("estimates", "truth", "chosen", "judges", "frontier", "bound", "notes", "n_items", "n_clusters"),
        "level",
    )

    @property
    def headline(self) -> str:
        """The number of independent judges that the panel is worth; without one, the accuracy of its plurality."""
        if self.worth is None:
            return self._right(f"The plurality of {counted(len(self.judges), 'judge')}")
        w = self.worth
        limits = "" if w.low is None else f" [{w.low:z.1f}, {w.high:z.1f}]"
        most = "" if self.truth == BY_LABELS else "at most "
        return (
            f"{counted(len(self.judges), 'judge')} are worth {most}{w.value:z.1f}{limits} independent ones."
        )

    def _right(self, who: str) -> str:
        a = self.accuracy
        does = "is right" if self.truth == BY_LABELS else "equals the model's verdict"
        bare = "" if a.low is not None else f" (no interval: {counted(self.n_clusters, 'cluster')})"
        return f"{who} {does} {percent(a.value, a.low, a.high)}{bare}."

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every estimate that the data carry."""
        return tuple(e for e in (self.worth, self.accuracy, self.best) if e is not None)

    def _answer(self) -> Sequence[str]:
        lines = [self.headline, *([] if self.worth is None else [self._right("Their plurality")])]
        shown = self.judges[self.judges["adds_low"] > 0]
        names = ", ".join(f"{row['judge']} ({points(row['adds'])})" for row in shown.to_dict("records"))
        if self.frontier.empty:
            return [*lines, *self._copies(), _DEPENDENT]
        worse = ", ".join(self.judges.loc[self.judges["adds_high"] < 0, "judge"])
        lines.append(
            (
                f"Shown to add something: {names}."
                if names
                else "No judge is shown to add something to the others."
            )
            + (f" Shown to take away: {worse}." if worse else "")
        )
        return [*lines, *self._copies(), *self._best()]

    def _best(self) -> list[str]:
        """Say which panel is chosen, and how often panels chosen in this way are right."""
        if self.best is None:
            return []
        held = percent(self.best.value, self.best.low, self.best.high)
        price = self.judges.set_index("judge")["price"].loc[list(self.chosen)].sum()
        return [
            f"Best panel: {', '.join(self.chosen)}, price {price:g}. Panels chosen in this way are right {held} on "
            "held-out clusters."
        ]

    def _copies(self) -> list[str]:
        """Say which pair errs together most."""
        if self.truth == BY_LABELS and self.effective is not None:
            worst = self.effective.worst
            alike = self.effective.pairs.sort_values("correlation", ascending=False).iloc[0]
            pair = f"{alike['first']} and {alike['second']}"
            p = "" if worst.p_value is None else f" ({said_p(worst.p_value)}, corrected)"
            return [f"Most alike in their errors: {pair}, correlation {worst.value:z.2f}{p}."]
        return [] if self.independence is None else [self.independence.headline]

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"judges": self.judges, "frontier": self.frontier, **super()._tables()}


def panel(
    ratings: Any,
    *,
    judges: int | None = None,
    max_price: float | None = None,
    prices: Mapping[str, float] | None = None,
    raters: Sequence[str] | None = None,
    round_number: int | None = None,
    repeats: Repeats = "refuse",
    by: Literal["debate", "question"] = "debate",
    prior: float | None = None,
    level: float = 0.95,
    n_boot: int | None = None,
    rng: RngLike = None,
    **reading: Unpack[Reading],
) -> Panel:
    """Measure a panel's worth in independent judges, what each judge adds, and the best panel for a price.

    Parameters
    ----------
    ratings : Ratings, or any source that :func:`~d3stats.inference.as_ratings` reads
        Votes of two or more judges on labelled items, or of three or more on items without labels that have the same
        set of answers.
    judges : int, optional
        Most judges of the best panel.
    max_price : float, optional
        Highest price of the best panel, in the units of `prices`.
    prices : mapping of str to float, optional
        Price of a vote of each judge; by default 1.
    raters : sequence of str, optional
        The judges that make the panel; by default all.
    round_number : int, optional
        The round to take votes from; by default each debate's last round.
    repeats : {"refuse", "separate"}
        If a judge votes twice on an item: refuse the table, or count the second vote as another judge's.
    by : {"debate", "question"}
        Unit of judgment in a log; with "question", repeated debates of a question count as further judges.
    prior : float, optional
        Without labels, how strong the prior of the confusion matrices is, in votes; by default 0.2.
    level : float
        Level of intervals over clusters.
    n_boot : int, optional
        Without labels, panels drawn for the test of independence; at least 19, by default 99.
    rng : Generator, int or None
        Source of the folds, permutations and drawn panels; one seed gives one result.
    **reading
        How the source is read, as for ``d3stats.open``.

    Returns
    -------
    Panel

    Raises
    ------
    ValueError
        When there are too few judges, a price has no judge or a judge no price, or no panel is within `max_price`.

    Notes
    -----
    Up to 12 judges every panel is tried; with more, judges are added one by one. The choice is made again without each
    fifth of the clusters and measured on that fifth, so that no item both chooses and measures. A panel decides by
    plurality; a tie is shared evenly, and no vote at all is wrong.

    Examples
    --------
    >>> votes = pd.DataFrame({"x": list("AABAB"), "y": list("ABBAA"), "z": list("AABBB"), "label": list("AABAA")})
    >>> found = panel(votes, max_price=2, prices={"x": 1, "y": 1, "z": 3}, rng=1)
    >>> found.frontier[["price", "judges", "accuracy"]]
       price judges  accuracy
    0    1.0      x       0.8
    """
    level = probability("level", level, open_interval=True)
    if prior is not None:
        prior = number("prior", prior, minimum=0.0)
    if n_boot is not None:
        n_boot = integer("n_boot", n_boot, minimum=FEWEST_BOOT)
    generator = as_rng(rng)
    how: dict[str, Any] = {"round_number": round_number, "repeats": repeats, "by": by, "raters": raters}
    table = as_ratings(ratings, **how, **reading)
    kept, truth, against, base, independence, notes = _truth(table, prior, level, n_boot, generator)
    copies = _identical(kept)
    notes += copies
    price = _prices(prices, kept.raters)
    k = kept.n_raters if judges is None else integer("judges", judges, minimum=1)
    if k > kept.n_raters:
        raise ValueError(f"judges must be at most {kept.n_raters}, the judges of the panel; got {k}")
    cap = np.inf if max_price is None else number("max_price", max_price, minimum=0.0)
    if cap < price.min():
        raise ValueError(
            f"max_price must buy a judge, the cheapest of whom costs {price.min():g}; got {cap:g}"
        )
    cluster = np.unique(kept.cluster, return_inverse=True)[1]
    cast = (kept.codes != MISSING).astype(np.float64)
    right = cast * (kept.codes == truth[:, None])
    everyone = np.ones((1, kept.n_raters), dtype=np.bool_)
    whole = panels_right(kept.codes, truth, everyone)[0]
    rows = base if base is not None else jurors_frame(kept.raters, cast, right, cluster, level)
    rows = rows.rename(columns={"juror": "judge"})
    rows["weight"] = _log_odds(rows["accuracy"].to_numpy(), rows["n"].to_numpy(), len(kept.categories))
    rows = rows.join(_adds(kept, truth, whole, cluster, level)).assign(price=price)
    worth = effective_of(cast, right, cluster, kept.raters, level, None, generator)
    effective = None if isinstance(worth, str) else worth
    notes += (
        [f"no number of independent judges, because {worth}"] if isinstance(worth, str) else list(worth.notes)
    )
    search = _Search(kept, truth, price, cluster, generator)
    asked = judges is not None or max_price is not None
    known = against == BY_LABELS or not (copies or _dependent(independence))
    frontier = search.frontier(k, cap, level) if known else pd.DataFrame(columns=_FRONTIER)
    best, chosen = search.best(k, cap, level) if asked and known else (None, ())
    if not known:
        text = "no best panels, because without labels a panel of judges who err in common would be called the best"
        notes.append(warning(text, "dependent judges"))
    bound = None
    if not search.every and known:
        bound = _bound(right, cast, len(kept.categories))
        notes.append(
            f"{kept.n_raters} judges: panels are found by adding one judge at a time; none of at most "
            f"{counted(k, 'judge')} is right more often than {percent(bound)}"
        )
    what = f"plurality of {kept.n_raters} judges equals {against}"
    return Panel(
        truth=against, accuracy=clustered_share(whole, np.ones_like(whole), cluster, level=level, name=what),
        worth=None if effective is None else _worth(effective.kish, against), best=best,
        chosen=chosen, effective=effective, independence=independence, judges=rows,
        frontier=frontier, bound=bound, notes=tuple(notes), n_items=kept.n_items, n_clusters=int(cluster.max()) + 1,
        level=level,
    )  # fmt: skip


def _truth(
    table: Ratings, prior: float | None, level: float, n_boot: int | None, rng: np.random.Generator
) -> tuple[Ratings, Ints, str, pd.DataFrame | None, ConditionalIndependence | None, list[str]]:
    """Return the items that count, what is right on each, and by what; without labels also the judges' accuracies."""
    notes = list(table.notes)
    voted = np.asarray(table.counts.any(axis=1), dtype=np.bool_)
    if table.label is not None and (table.label != MISSING).any():
        for name, value in (("prior", prior), ("n_boot", n_boot)):
            if value is not None:
                raise ValueError(
                    f"{name} must be left out where items have labels, because no model is fitted; got {value}"
                )
        if table.n_raters < 2:
            raise ValueError(f"ratings must have at least two judges; got {table.n_raters}")
        usable = voted & (table.label != MISSING)
        if not usable.any():
            raise ValueError("ratings must have an item with a label and a vote; got none")
        if not usable.all():
            notes.append(f"{int((~usable).sum())} of {usable.size} items left out: no label or no vote")
        kept = table.where(usable)
        assert kept.label is not None
        return kept, kept.label, BY_LABELS, None, None, notes
    kept = shared_answers(table)
    fit, patterns = fitted(kept, PRIOR if prior is None else prior)
    independence = None
    if kept.n_raters > 3:
        independence = independence_of(kept, fit, patterns, N_BOOT if n_boot is None else n_boot, rng)
        notes += independence.notes
    if not voted.all():
        notes.append(f"{int((~voted).sum())} of {voted.size} items left out: no vote")
    accuracies = Sandwich(fit, patterns, kept, level).judges().drop(columns="weight")
    notes.append(
        f"no labels: accuracies are estimates of a model, and what is added is agreement with {BY_MODEL}"
    )
    notes.append(UNSEEN)
    return kept, fit.posterior.argmax(axis=1)[patterns.row], BY_MODEL, accuracies, independence, notes


def _dependent(independence: ConditionalIndependence | None) -> bool:
    """Whether the test without labels shows that judges depend on each other."""
    return independence is not None and independence.p_value <= ALPHA


def _identical(kept: Ratings) -> list[str]:
    """Name the pairs of judges whose votes are equal on every item where both voted."""
    found = []
    for i, j in combinations(range(kept.n_raters), 2):
        both = (kept.codes[:, [i, j]] != MISSING).all(axis=1)
        if both.sum() >= FEWEST_ALIKE and (kept.codes[both, i] == kept.codes[both, j]).all():
            found.append(f"{kept.raters[i]} and {kept.raters[j]} ({counted(int(both.sum()), 'item')})")
    if not found:
        return []
    said = ", ".join(found[:3]) + (f" and {len(found) - 3} more pairs" if len(found) > 3 else "")
    return [
        warning(f"equal votes on every item where both voted: {said}; one of a pair adds nothing", "copies")
    ]


def _worth(kish: Estimate, by: str) -> Estimate:
    """Return Kish's number; by the model's verdicts it is an upper bound, without limits."""
    if by == BY_LABELS:
        return kish
    note = "at most: errors that the judges share are taken for right verdicts"
    return replace(kish, low=None, high=None, se=None, note=note)


def _prices(prices: Mapping[str, float] | None, judges: Sequence[str]) -> Floats:
    if prices is None:
        return np.ones(len(judges))
    for name in prices:
        if name not in judges:
            step = f"name one of {', '.join(map(repr, judges[:12]))}" + (" ..." if len(judges) > 12 else "")
            got = f"{name!r}{meant(name, list(judges))}"
            raise ValueError(Advised("prices must be of judges of the panel", step, got=got))
    absent = [name for name in judges if name not in prices]
    if absent:
        step = "give theirs too (--price JUDGE=PRICE), or leave all out, so that each vote costs 1"
        got = f"none for {', '.join(map(repr, absent[:12]))}"
        raise ValueError(Advised("prices must have every judge", step, got=got))
    return np.array([number(f"price of {name}", prices[name], minimum=0.0) for name in judges])


def _log_odds(accuracy: Floats, n: Ints, answers: int) -> Floats:
    """Return weights of independent judges, from shares with half a vote added to each side."""
    share = (accuracy * n + 0.5) / (n + 1)
    return np.asarray(np.log(max(answers - 1, 1) * share / (1 - share)))


def panels_right(codes: Ints, truth: Ints, panels: Bools) -> Floats:
    """Return how far the plurality of each panel is right on each item, shape (panels, items), ties shared evenly."""
    answers = int(max(codes.max(), truth.max())) + 1
    votes = (codes[:, :, None] == np.arange(answers)).astype(np.float64)
    found = np.empty((len(panels), len(codes)))
    for at, members in enumerate(panels):
        counts = votes[:, members].sum(axis=1)
        share = plurality_shares(counts)[np.arange(len(truth)), truth]
        found[at] = np.where(counts.any(axis=1), share, 0.0)
    return found


def _adds(kept: Ratings, truth: Ints, whole: Floats, cluster: Ints, level: float) -> pd.DataFrame:
    """Return for each judge the accuracy of all minus that of the others, with limits over clusters."""
    others = ~np.eye(kept.n_raters, dtype=np.bool_)
    change = (whole - panels_right(kept.codes, truth, others)).T
    values = change.mean(axis=0)
    low = high = np.full(kept.n_raters, np.nan)
    totals = cluster_totals(np.column_stack([np.ones(len(change)), change]), cluster)
    if len(totals) > 1:
        found = cluster_t(totals, lambda sums: sums[:, 1:] / sums[:, :1], level=level, weights=totals[:, 0])
        bare = np.array([bool(reason) for reason in found.reasons])
        low, high = (np.where(bare, np.nan, np.clip(x, -1, 1)) for x in (found.low, found.high))
    return pd.DataFrame({"adds": values, "adds_low": low, "adds_high": high})


def _bound(right: Floats, cast: Floats, answers: int) -> float:
    """Return what no panel of at most so many judges exceeds.

    A plurality is right only where some judge is. With two answers a right verdict needs half of the votes, so that it
    is right at most twice as often as its votes are (Markov).
    """
    some = float((right.sum(axis=1) > 0).mean())
    if answers > 2 or (cast == 0).any():
        return some
    return min(some, 2 * float((right.sum(axis=0) / len(right)).max()))


class _Search:
    """The best panels on given items: all of them up to 12 judges, else those that grow by one judge at a time."""

    def __init__(
        self, kept: Ratings, truth: Ints, price: Floats, cluster: Ints, rng: np.random.Generator
    ) -> None:
        rows = np.column_stack([kept.codes, truth])
        distinct, self.row = np.unique(rows, axis=0, return_inverse=True)
        self.row = np.ravel(self.row)
        self.codes, self.truth = distinct[:, :-1], distinct[:, -1]
        self.names, self.price, self.cluster, self.n = kept.raters, price, cluster, kept.n_items
        self.every = kept.n_raters <= MOST_ENUMERATED
        clusters = int(cluster.max()) + 1
        folds = np.arange(clusters) % min(FOLDS, clusters)
        self.fold = rng.permutation(folds)[cluster]
        self.panels: Bools = np.zeros((0, kept.n_raters), dtype=np.bool_)
        self.right: Floats = np.zeros((0, len(self.truth)))
        if self.every:
            self.panels, self.right = self._all()

    def _all(self) -> tuple[Bools, Floats]:
        judges = len(self.price)
        sets = [c for size in range(1, judges + 1) for c in combinations(range(judges), size)]
        panels = np.zeros((len(sets), judges), dtype=np.bool_)
        for at, members in enumerate(sets):
            panels[at, list(members)] = True
        cost = panels @ self.price
        order = np.lexsort(
            [panels.sum(axis=1), cost]
        )  # of equally good panels, the cheapest and smallest first
        panels = panels[order]
        return panels, panels_right(self.codes, self.truth, panels)

    def _candidates(self, weights: Floats, most: int, cap: float) -> tuple[Bools, Floats]:
        """Return panels within the limits, cheapest first, and the share of the weighted items that each gets right."""
        if self.every:
            panels, right = self.panels, self.right
        else:
            panels = self._grown(weights, most, cap)
            right = panels_right(self.codes, self.truth, panels)
        fits = (panels.sum(axis=1) <= most) & (panels @ self.price <= cap + _ROUNDING)
        return panels[fits], right[fits] @ weights / weights.sum()

    def _grown(self, weights: Floats, most: int, cap: float) -> Bools:
        judges, members, found = len(self.price), np.zeros(len(self.price), dtype=np.bool_), []
        for _ in range(most):
            can = [
                j
                for j in range(judges)
                if not members[j] and self.price[members].sum() + self.price[j] <= cap
            ]
            if not can:
                break
            tried = np.tile(members, (len(can), 1))
            tried[np.arange(len(can)), can] = True
            members = tried[int((panels_right(self.codes, self.truth, tried) @ weights).argmax())].copy()
            found.append(members.copy())
        found.sort(key=lambda members: float(self.price[members].sum()))
        return np.array(found)

    def _weights(self, items: Bools) -> Floats:
        return np.bincount(self.row, items.astype(np.float64), minlength=len(self.truth)).astype(np.float64)

    def _held_out(self, most: int, cap: float) -> Floats:
        """Return how far each item is right under the panel chosen on the other folds."""
        right = np.zeros(self.n)
        for fold in np.unique(self.fold):
            inside = self.fold == fold
            train = ~inside if (~inside).any() else inside
            panels, shares = self._candidates(self._weights(train), most, cap)
            chosen = panels[[int((shares >= shares.max() - _ROUNDING).argmax())]]
            right[inside] = panels_right(self.codes, self.truth, chosen)[0][self.row[inside]]
        return right

    def best(self, most: int, cap: float, level: float) -> tuple[Estimate, tuple[str, ...]]:
        """Return the cross-fitted accuracy of the best panel, and its judges."""
        panels, shares = self._candidates(self._weights(np.ones(self.n, dtype=np.bool_)), most, cap)
        chosen = panels[int((shares >= shares.max() - _ROUNDING).argmax())]
        name = "best panel, on held-out clusters"
        right = self._held_out(most, cap)
        found = clustered_share(right, np.ones_like(right), self.cluster, level=level, name=name)
        return found, tuple(name for name, member in zip(self.names, chosen, strict=True) if member)

    def frontier(self, most: int, cap: float, level: float) -> pd.DataFrame:
        """Return every price at which a panel is better than all cheaper ones."""
        panels, shares = self._candidates(self._weights(np.ones(self.n, dtype=np.bool_)), most, cap)
        cost, top, rows = panels @ self.price, -1.0, []
        for at in np.lexsort([panels.sum(axis=1), -shares, np.round(cost, 12)]):
            if shares[at] <= top + _ROUNDING:
                continue
            top = float(shares[at])
            held = self._held_out(most, float(cost[at]))
            found = clustered_share(held, np.ones_like(held), self.cluster, level=level)
            members = [name for name, member in zip(self.names, panels[at], strict=True) if member]
            rows.append(
                (float(cost[at]), ", ".join(members), len(members), top, found.value, found.low, found.high)
            )
        return pd.DataFrame(rows, columns=_FRONTIER).astype({"low": float, "high": float})
