"""Who is better than whom, from judges' verdicts on two contestants at a time?

Ratings of the Bradley-Terry model with ties (Davidson, 1970) and the advantage of the contestant shown first (Davidson
and Beaver, 1977), by maximum likelihood; see ``d3stats.models.pairs.davidson``. Rao and Kupper (1967) model ties by
a threshold; only Davidson's form is built.

Errors come from clusters (questions). Each cluster's influence is that of leaving it out, in one Newton step from the
estimate (CR3; Bell and McCaffrey, 2002). A difference has the degrees of freedom that its clusters are worth, each
weighed by its share of the information on that difference (:mod:`d3stats.resampling.degrees`). So the intervals hold
where judges are dependent within a question, and where the model is only near the truth.

All differences have simultaneous intervals (Tukey and Kramer), so that any of them may be read. Against a `reference`
that was named beforehand there are fewer, and limits are Sidak's (1967). A rank has the limits that these leave open.

Assumptions: questions are independent, and who is better does not depend on who is compared (no intransitive triples).

References
----------
Bradley and Terry (1952), Biometrika 39, 324. Davidson (1970), JASA 65, 317. Rao and Kupper (1967), JASA 62, 194.
Davidson and Beaver (1977), Biometrics 33, 693. Sidak (1967), JASA 62, 626. Kramer (1956), Biometrics 12, 307. Bell and
McCaffrey (2002), Survey Methodology 28, 169. Kendall and Babington Smith (1940), Biometrika 31, 324 (circular triples).
Elo (1978), The Rating of Chessplayers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, Unpack, get_args

import numpy as np
import pandas as pd

from d3stats._arrays import Floats, Ints
from d3stats._check import choice, flag, meant, number, probability
from d3stats._words import Advised, counted, p_text, percent, verb
from d3stats.estimate import Estimate
from d3stats.inference.comparison.multiplicity import adjust
from d3stats.inputs.pairwise import TIED, Pairwise
from d3stats.models.pairs.davidson import (
    Comparisons,
    Davidson,
    Separated,
    cluster_parts,
    fit_davidson,
    is_identified,
    outcome_chances,
    separated,
)
from d3stats.note import Note, warning
from d3stats.resampling import FEW_CLUSTERS, LEAST_EFFECTIVE, ONE_CLUSTER, cluster_totals, effective_clusters
from d3stats.result import EstimatesResult
from d3stats.sources import Reading
from d3stats.sources.pairwise import as_pairwise

__all__ = ["Ranking", "rank"]


Scale = Literal["logit", "elo"]
Effects = Literal["common", "judge"]

ELO, MEAN_ELO = 400 / np.log(10), 1000.0
"""Elo points of one log-odds, and the mean rating on that scale, which is a convention."""
_UNITS = {"logit": "log-odds", "elo": "Elo points"}
PAIRED, AGAINST = "simultaneous cluster t", "simultaneous cluster t, against one"
CARRIED = "one cluster carries most of what is known of the difference"
ENDLESS = "one of the two won or lost everything, so that the data set no limit to the difference"
_MOST_NAMED = 3
_FEWEST_OF_PAIR = 5
"""Fewer clusters of a pair do not test whether the model fits it."""
_CHUNK = 1 << 24
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Ranking(EstimatesResult):
    """Ratings of contestants and how sure their order is: the result of :func:`rank`.

    Attributes
    ----------
    ratings : DataFrame
        One row per contestant, the best first: ``contestant, rating, se, low, high`` (against the mean of all, this
        one interval alone), ``rank, rank_low, rank_high`` (simultaneous), ``judgments, share`` (won, ties as half),
        ``borda`` (mean share over the opponents met).
    pairs : DataFrame
        One row per pair, the better first: ``first, second, difference, se, low, high`` (simultaneous), ``settled``;
        ``win, tie, loss``, the predicted shares over both orders; ``judgments, observed, expected`` (share of the
        first, ties as half), ``p_value`` of their difference, corrected for the number of pairs (Holm).
    effects : DataFrame
        One row per effect and group of judges: ``effect, judge, share, low, high``. The effects are the share of
        decided judgments that the one shown first wins, and the share of ties, both between equals.
    circular : DataFrame
        Triples in which each beats the next and the last beats the first: ``first, second, third, least`` (the smallest
        of the three leads, wins minus losses per judgment), ``shown`` (whether each lead is shown by itself).
    differences : tuple of Estimate
        Every contestant's difference from the reference.
    reference : str
        Whom `differences` are from: the one named, else the first.
    scale : str
        "logit" or "elo".
    penalty : float
        Wins and losses that were added to each contestant; 0 is maximum likelihood.
    llf : float
        Log-likelihood.
    notes : tuple of str
    n_judgments, n_items, n_clusters : int
        What counted.
    level : float
        Level of all intervals.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> first = rng.integers(0, 3, 300)
    >>> second = (first + rng.integers(1, 3, 300)) % 3
    >>> lead = 1.5 * (second - first) + 0.3 + rng.logistic(size=300)
    >>> winner = np.where(abs(lead) < 0.4, "tie", np.where(lead > 0, "first", "second"))
    >>> name = np.array(["x", "y", "z"])
    >>> table = pd.DataFrame({"item": range(300), "first": name[first], "second": name[second], "winner": winner})
    >>> found = rank(table)
    >>> found.ratings["contestant"].tolist(), found.settled, len(found.circular)
    (['x', 'y', 'z'], 3, 0)
    >>> found.plot().get_xlabel()
    'rating (log-odds)'
    """

    ratings: pd.DataFrame
    pairs: pd.DataFrame
    effects: pd.DataFrame
    circular: pd.DataFrame
    differences: tuple[Estimate, ...]
    reference: str
    scale: str
    penalty: float
    llf: float
    notes: tuple[str, ...]
    n_judgments: int
    n_items: int
    n_clusters: int
    level: float
    _json = (
        *("ratings", "pairs", "effects", "circular", "differences", "reference", "scale", "penalty", "llf"),
        *("notes", "n_judgments", "n_items", "n_clusters", "level"),
    )

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The differences from the reference."""
        return self.differences

    @property
    def settled(self) -> int:
        """Pairs whose order is settled at the level, all pairs at once."""
        return int(self.pairs["settled"].sum())

    @property
    def headline(self) -> str:
        """By how much the first is ahead of the next one that it is shown to be ahead of, and which order is open."""
        names = self.ratings["contestant"].tolist()
        own = self.pairs[self.pairs["first"] == names[0]]
        behind, open_ = own[own["settled"]], own[~own["settled"]]["second"].tolist()
        nearest = (behind if len(behind) else own).iloc[0]
        unit = _UNITS[self.scale]
        size = f"{self._number(nearest['difference'], nearest['low'], nearest['high'])} {unit}"
        if not len(behind):
            size += "" if nearest["low"] == nearest["low"] else " (no interval)"
            if abs(nearest["difference"]) < 1e-6:
                return f"No contestant leads: {names[0]} and {nearest['second']} have equal ratings, difference {size}."
            return f"{names[0]} leads, but no order of two with it is settled: {nearest['second']} is behind by {size}."
        said = f"{names[0]} is ahead of {nearest['second']} by {size}"
        if not open_:
            return f"{said}, and of all others." if len(names) > 2 else f"{said}."
        return f"{said}; the order of {names[0]} and {_listed(open_)} is not settled."

    def _number(self, value: float, low: float, high: float) -> str:
        form = "z.0f" if self.scale == "elo" else "z.2f"
        return f"{value:{form}}" + ("" if low != low else f" [{low:{form}}, {high:{form}}]")

    def _answer(self) -> Sequence[str]:
        lines = [self.headline]
        n = len(self.pairs)
        if n > 1:
            lines.append(f"{self.settled} of {counted(n, 'order')} of two are settled at once.")
        order = self.effects[self.effects["effect"] == FIRST_WINS]
        for row in order.head(_MOST_NAMED).to_dict("records"):
            who = "" if row["judge"] == ALL else f" by {row['judge']}"
            lines.append(
                f"Between equals the one shown first wins {percent(row['share'], row['low'], row['high'])} of decided "
                f"judgments{who}."
            )
        return lines

    def _title(self) -> str:
        how = "maximum likelihood" if self.penalty == 0 else f"penalty of {self.penalty:g} wins and losses"
        return (
            f"Bradley-Terry ratings with ties ({_UNITS[self.scale]}), {how}: {counted(self.n_judgments, 'judgment')} "
            f"on {counted(self.n_items, 'item')} in {counted(self.n_clusters, 'cluster')}"
        )

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        tables = {"ranking": self.ratings, "pairs": self.pairs, "effects": self.effects}
        tables |= {"circular triples": self.circular} if len(self.circular) else {}
        return {**tables, **super()._tables()}

    def summary(self) -> str:
        """Return the answer, the ranking and the notes as text."""
        return super(EstimatesResult, self).summary()

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        return {
            "ranking": ranking_table(self),
            "predicted shares": shares_table(self),
            "effects": effects_table(self),
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw each rating with its interval against the mean, and the limits of its rank."""
        from d3stats.plotting.intervals import plot_ranking

        return plot_ranking(self.ratings.assign(scale=self.scale, level=self.level), ax=ax)


FIRST_WINS, TIES = "first wins, decided judgments between equals", "ties between equals"
"""Names of the effects in a table."""
ALL = "all judges"


def rank(
    source: Any,
    *,
    reference: str | None = None,
    without: Sequence[str] | None = None,
    order: bool = True,
    effects: Effects = "common",
    penalty: float | None = None,
    scale: Scale = "logit",
    level: float = 0.95,
    **reading: Unpack[Reading],
) -> Ranking:
    """Rank contestants from judgments of pairs, by the Bradley-Terry model with ties, with clustered intervals.

    Parameters
    ----------
    source : Pairwise, or any source that :func:`~d3stats.inference.as_pairwise` reads
        Who was shown first and second, who won, by whose judgment, on which item.
    reference : str, optional
        The contestant that the others are compared with, named beforehand; by default the first in the ranking, with
        wider intervals that allow for this choice.
    without : sequence of str, optional
        Contestants whose judgments are left out.
    order : bool
        Whether the one shown first may have an advantage.
    effects : {"common", "judge"}
        Whether judges share this advantage and the readiness to call ties, or each has its own.
    penalty : float, optional
        Wins and losses that are added to each contestant against one with the mean rating; by default none, and then
        a contestant who wins or loses everything is refused, because its rating has no finite estimate.
    scale : {"logit", "elo"}
        Ratings as log-odds, or as Elo points (400 for odds of 10, mean 1000).
    level : float
        Level of all intervals.
    **reading
        How the source is read, as for ``d3stats.open``.

    Returns
    -------
    Ranking

    Raises
    ------
    ValueError
        When ratings have no finite estimate, contestants fall into groups that never met, the order effect and the
        ratings cannot be separated, or every judgment is a tie.

    Notes
    -----
    Between equals the shares are those at a difference of 0. Predicted shares are means over both orders and, with
    ``effects="judge"``, over the judgments of all judges.

    Examples
    --------
    >>> rows = [("x", "y", "first")] * 6 + [("y", "x", "first")] * 3 + [("x", "y", "tie")] * 3
    >>> table = pd.DataFrame(rows, columns=["first", "second", "winner"]).assign(item=range(12))
    >>> found = rank(table, order=False)
    >>> round(float(found.pairs["difference"].iloc[0]), 3), found.settled
    (0.693, 0)
    """
    level = probability("level", level, open_interval=True)
    choice("scale", scale, get_args(Scale))
    choice("effects", effects, get_args(Effects))
    order = flag("order", order)
    prior = 0.0 if penalty is None else number("penalty", penalty, minimum=0.0)
    data = as_pairwise(source, **reading)
    notes = list(data.notes)
    data, said = _kept(data, without, effects)
    notes += said
    if reference is not None and reference not in data.contestants:
        listed = ", ".join(map(repr, data.contestants))
        raise ValueError(
            f"reference must be one of {listed}; got {reference!r}{meant(reference, data.contestants)}"
        )
    groups = len(data.judges) if effects == "judge" else 1
    group = data.judge if effects == "judge" else np.zeros(len(data), dtype=np.int64)
    model = Comparisons(
        data.first, data.second, data.outcome, group, data.ordered, len(data.contestants), groups, order
    )
    _refuse_unknown(model, data, prior)
    try:
        fit = fit_davidson(model, prior)
    except Separated as found:
        raise ValueError(_no_finite(data, found)) from None
    notes += _order_notes(data, order)
    if prior:
        notes.append(
            f"{prior:g} wins and losses against the mean are added to each contestant, which draws ratings together; "
            "intervals do not count this"
        )
    endless = separated(model) if prior else None
    errors = _Errors(fit, data, endless)
    if endless is not None:
        notes.append(warning(_without_limit(data, endless), "no finite estimate"))
    clusters = len(np.unique(data.cluster))
    if clusters < FEW_CLUSTERS:
        notes.append(f"only {counted(clusters, 'cluster')}: intervals rest on how alike these happen to be")
    unit, mean = (ELO, MEAN_ELO) if scale == "elo" else (1.0, 0.0)
    by_rank = np.lexsort([np.arange(model.n), -fit.ratings])
    pairs = _pairs(fit, data, errors, by_rank, unit, level)
    ratings = _ratings(fit, data, errors, by_rank, pairs, unit, mean, level)
    circular = _circular(data, errors, level)
    notes = [*_misfit_notes(pairs, level), *_circular_notes(circular), *notes]
    base = data.contestants[by_rank[0]] if reference is None else reference
    differences = _against(fit, data, errors, by_rank, base, reference is not None, unit, level)
    notes += _lost_notes(differences, clusters)
    return Ranking(
        ratings=ratings, pairs=pairs, effects=_effects(fit, data, errors, effects, level), circular=circular,
        differences=differences, reference=base, scale=scale, penalty=prior, llf=fit.llf, notes=tuple(notes),
        n_judgments=len(data), n_items=data.n_items, n_clusters=clusters, level=level,
    )  # fmt: skip


def _listed(names: Sequence[str]) -> str:
    """Name the first names, and how many more there are."""
    shown = list(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        return f"{', '.join(shown)} and {len(names) - _MOST_NAMED} more"
    return " and ".join([*([", ".join(shown[:-1])] if shown[:-1] else []), shown[-1]])


# ------------------------------------------------------------------------------------------ what can be estimated


def _kept(data: Pairwise, without: Sequence[str] | None, effects: Effects) -> tuple[Pairwise, list[str]]:
    """Return the judgments that count, with names of contestants and judges that occur, and what was left out."""
    notes: list[str] = []
    names = data.contestants
    if without is not None:
        out = [without] if isinstance(without, str) else list(without)
        for name in out:
            if name not in names:
                raise ValueError(f"without must name contestants; got {name!r}{meant(name, names)}")
        before = len(data)
        data = data.of([name for name in names if name not in out])
        notes.append(f"left out by request: {_listed(out)} ({counted(before - len(data), 'judgment')})")
    if effects == "judge":
        decided = np.bincount(data.judge[data.outcome != TIED], minlength=len(data.judges)) > 0
        all_ties = sorted(data.judges[k] for k in np.unique(data.judge) if not decided[k])
        if all_ties:
            keep = decided[data.judge]
            n = int((~keep).sum())
            notes.append(
                f"{_listed(all_ties)} {verb(len(all_ties), 'calls', 'call')} ties alone, which tells no order "
                f"if each judge has effects of its own: {counted(n, 'judgment')} left out"
            )
            data = data.rows(keep)
    if not len(data) or (data.outcome == TIED).all():
        raise ValueError(
            f"judgments must have a winner, to rank by; got {counted(len(data), 'judgment')}, all of them ties"
        )
    seen = np.unique(np.concatenate([data.first, data.second]))
    data = data.of([data.contestants[k] for k in seen])
    judges, judge = np.unique(data.judge, return_inverse=True)
    return replace(data, judge=judge, judges=tuple(data.judges[k] for k in judges)), notes


def _refuse_unknown(model: Comparisons, data: Pairwise, penalty: float) -> None:
    """Refuse contestants who never met, and an order effect that is not told from ratings."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    met = coo_matrix((np.ones(len(data)), (data.first, data.second)), shape=(model.n, model.n))
    n_parts, part = connected_components(met, directed=False)
    if n_parts > 1:
        parts = [[data.contestants[k] for k in np.flatnonzero(part == p)] for p in range(n_parts)]
        raise ValueError(
            Advised(
                "all contestants must be linked by judgments, directly or through others",
                "rank each group by itself, with without=... (--without NAME)",
                got=f"{n_parts} groups that never met, such as {_listed(parts[0])} and {_listed(parts[1])}",
            )
        )
    if penalty == 0 and not is_identified(model):
        raise ValueError(
            Advised(
                "the order effect must be told from the ratings, by some pair in both orders or a cycle of pairs",
                "leave it out with order=False (--no-order)",
                got="judgments in which who was shown first follows from who was compared",
            )
        )


def _without_limit(data: Pairwise, found: Separated) -> str:
    """Say for whom the penalty alone makes the rating finite."""
    who = _ends(data, found) or "some effects have no finite estimate"
    return f"{who}: the size of these differences is that of the penalty, so they have no interval and no settled order"


def _ends(data: Pairwise, found: Separated) -> str:
    """Say which contestants won or lost everything; "" where the direction is not one of ratings."""
    grows = found.direction
    levels = np.unique(np.round(grows, 6))
    said = []
    for of_level, sign, wins in ((levels[-1], 1, "won"), (levels[0], -1, "lost")) if len(levels) > 1 else ():
        who = np.flatnonzero(np.round(grows, 6) == of_level)
        if len(who) > len(grows) / 2 and len(levels) == 2:
            continue
        inside = np.isin(data.first, who) != np.isin(data.second, who)
        own = np.where(np.isin(data.first, who), data.outcome, -data.outcome)[inside]
        names = _listed([data.contestants[k] for k in who])
        if len(own) and (own == sign).all():
            more = "" if len(who) == 1 else " against the others"
            said.append(f"{names} {wins} all of {counted(len(own), 'judgment')}{more}")
        else:
            never = "lost" if sign > 0 else "won"
            said.append(f"{names} never {never} beyond what the other effects explain")
    return "; ".join(said)


def _no_finite(data: Pairwise, found: Separated) -> str:
    """Say whose rating has no finite estimate, and why."""
    step = "add a weak penalty with penalty=0.5 (--penalty 0.5), or leave them out with without=... (--without NAME)"
    if said := _ends(data, found):
        return str(Advised("every rating must have a finite estimate", step, got=said))
    got = "judges whose choice always follows the order or who call ties, which leaves their effect without a limit"
    effects = f'leave the order out with order=False (--no-order), or give effects="common", or {step}'
    return str(Advised("every effect must have a finite estimate", effects, got=got))


def _order_notes(data: Pairwise, order: bool) -> list[str]:
    """Say where the order effect rests on the model alone, or is not known."""
    if not order:
        return []
    known = data.ordered
    if not known.any():
        return []
    n = len(data.contestants)
    code = data.first[known] * n + data.second[known]
    swapped = data.second[known] * n + data.first[known]
    notes: list[str] = []
    if not np.isin(code, swapped).any():
        text = (
            "no pair was judged in both orders, so only the model separates the advantage of the first from ratings; "
            "leave it out with order=False (--no-order) if columns do not say who was first"
        )
        notes.append(warning(text, "order effect"))
    if not known.all():
        notes.append(
            f"{counted(int((~known).sum()), 'judgment')} without a known order, which no order effect enters"
        )
    return notes


# ------------------------------------------------------------------------------------------ errors


class _Errors:
    """Cluster-robust errors of contrasts of the parameters, by the influence and the information of each cluster."""

    def __init__(self, fit: Davidson, data: Pairwise, endless: Separated | None) -> None:
        # The data set no limit to what grows along this direction, so that no error holds.
        self.endless = None if endless is None else np.concatenate([endless.direction, endless.effects])
        names, self.cluster = np.unique(data.cluster, return_inverse=True)
        self.n_clusters, size = len(names), fit.data.size
        self.inverse = np.linalg.inv(fit.information)
        self.influence = np.zeros((self.n_clusters, size))
        self._parts: list[Floats] = []
        order = np.argsort(self.cluster, kind="stable")
        starts = np.searchsorted(self.cluster[order], np.arange(self.n_clusters + 1))
        step = max(1, _CHUNK // (size * size))
        for low in range(0, self.n_clusters, step):
            high = min(low + step, self.n_clusters)
            rows = order[starts[low] : starts[high]]
            gradient, information = cluster_parts(fit, self.cluster[rows] - low, high - low, rows)
            left = fit.information - information
            # Where a cluster alone holds a contestant nothing is left of it; its contrasts are refused by `worth`.
            least = np.linalg.eigvalsh(left)[:, 0] if self.n_clusters > 1 else np.zeros(high - low)
            sound = least > 1e-9 * np.abs(fit.information).max()
            inverse = np.broadcast_to(self.inverse, left.shape).copy()
            inverse[sound] = np.linalg.inv(left[sound])
            self.influence[low:high] = np.einsum("gab,gb->ga", inverse, gradient)
            self._parts.append(self.inverse @ information @ self.inverse)

    def grows(self, one: int, two: int) -> bool:
        """Whether the data set no limit to the difference of two ratings."""
        return self.endless is not None and abs(self.endless[one] - self.endless[two]) >= _ROUNDING

    def worth(self, contrasts: Floats) -> Floats:
        """Return how many equal clusters carry each contrast, shape (contrasts,); weights are shares of information."""
        total, square = np.zeros(len(contrasts)), np.zeros(len(contrasts))
        for part in self._parts:
            for low in range(0, len(contrasts), 256):
                some = contrasts[low : low + 256]
                weight = np.maximum(np.einsum("ka,gab,kb->gk", some, part, some, optimize=True), 0.0)
                total[low : low + 256] += weight.sum(axis=0)
                square[low : low + 256] += (weight**2).sum(axis=0)
        return np.divide(total**2, square, out=np.zeros_like(total), where=square > 0)

    def of(self, contrasts: Floats) -> tuple[Floats, Floats]:
        """Return the error and the degrees of freedom of each contrast, NaN where clusters do not carry it."""
        moved = self.influence @ contrasts.T
        g = self.n_clusters
        worth = self.worth(contrasts)
        known = (worth >= LEAST_EFFECTIVE * (1 - 1e-9)) & (g > 1)
        if self.endless is not None:
            known &= np.abs(contrasts @ self.endless) < _ROUNDING
        se = np.where(known, np.sqrt((g - 1) / g * (moved**2).sum(axis=0)), np.nan)
        return se, np.where(known, np.maximum(worth - 1, 1.0), np.nan)


def _half(se: Floats, df: Floats, alpha: float) -> Floats:
    """Return half the width of two-sided limits."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(np.where(np.isnan(df), 1.0, df), 1 - alpha / 2) * se)


def _at_once(n: int, level: float) -> float:
    """Return the two-sided alpha of each of all differences between n that are made at once (Tukey and Kramer)."""
    from scipy.special import ndtr
    from scipy.stats import studentized_range

    if n == 2:
        return 1 - level
    return float(2 * ndtr(-studentized_range.isf(1 - level, n, np.inf) / np.sqrt(2)))


# ------------------------------------------------------------------------------------------ tables


def _shares(data: Pairwise) -> tuple[Floats, Floats]:
    """Return won points (ties as half) and judgments of each contestant against each other one."""
    n = len(data.contestants)
    points, times = np.zeros((n, n)), np.zeros((n, n))
    won = (data.outcome + 1) / 2
    np.add.at(points, (data.first, data.second), won)
    np.add.at(points, (data.second, data.first), 1 - won)
    np.add.at(times, (data.first, data.second), 1.0)
    np.add.at(times, (data.second, data.first), 1.0)
    return points, times


def _pairs(
    fit: Davidson, data: Pairwise, errors: _Errors, by_rank: Ints, unit: float, level: float
) -> pd.DataFrame:
    """Return the table of pairs, the better one first."""
    n = fit.data.n
    left, right = np.triu_indices(n, 1)
    a, b = by_rank[left], by_rank[right]
    contrasts = np.zeros((len(a), fit.data.size))
    contrasts[np.arange(len(a)), a], contrasts[np.arange(len(a)), b] = 1.0, -1.0
    difference = fit.ratings[a] - fit.ratings[b]
    se, df = errors.of(contrasts)
    half = _half(se, df, _at_once(n, level))
    win, tie, loss = _predicted(fit, difference)
    points, times = _shares(data)
    expected, p_value = _misfit(fit, data, errors, a, b)
    observed = np.divide(points[a, b], times[a, b], out=np.full(len(a), np.nan), where=times[a, b] > 0)
    names = np.array(data.contestants, dtype=object)
    return pd.DataFrame(
        {
            "first": names[a],
            "second": names[b],
            "difference": unit * difference,
            "se": unit * se,
            "low": unit * (difference - half),
            "high": unit * (difference + half),
            "settled": np.nan_to_num(difference - half, nan=-1.0) > 0,
            "win": win,
            "tie": tie,
            "loss": loss,
            "judgments": times[a, b].astype(np.int64),
            "observed": observed,
            "expected": expected,
            "p_value": p_value,
        }
    )


def _predicted(fit: Davidson, difference: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the shares of wins, ties and losses at each difference, over both orders and all judgments."""
    weight = np.bincount(fit.data.group, minlength=fit.data.groups) / len(fit.data.group)
    found = [np.zeros(len(difference)) for _ in range(3)]
    for share, b, t in zip(weight, fit.order, fit.tie, strict=True):
        for sign in (1.0, -1.0):
            for total, part in zip(found, outcome_chances(difference + sign * b, t), strict=True):
                total += share / 2 * part
    return found[0], found[1], found[2]


def _misfit(fit: Davidson, data: Pairwise, errors: _Errors, a: Ints, b: Ints) -> tuple[Floats, Floats]:
    """Return the expected share of the first of each pair, and the p-value of what differs from it (Holm).

    The error is that of the pair's sum of residuals by cluster, less what the estimates take of it.
    """
    from scipy.special import stdtr

    model = fit.data
    n = model.n
    order = np.where(model.ordered, fit.order[model.group], 0.0)
    d = fit.ratings[data.first] - fit.ratings[data.second] + order
    t = fit.tie[model.group]
    first, tie, second = outcome_chances(d, t)
    mean, variance = first - second, first + second - (first - second) ** 2
    place = np.full((n, n), -1, dtype=np.int64)
    place[a, b] = place[b, a] = np.arange(len(a))
    pair = place[data.first, data.second]
    better = np.zeros((n, n))
    better[a, b], better[b, a] = 1.0, -1.0
    sign = better[data.first, data.second]
    times = np.bincount(pair, minlength=len(a))
    total = np.bincount(pair, weights=(1 + sign * mean) / 2, minlength=len(a))
    expected = np.divide(total, times, out=np.full(len(a), np.nan), where=times > 0)
    at_order, at_tie = model.columns
    p_value = np.full(len(a), np.nan)
    rows_of = np.argsort(pair, kind="stable")
    starts = np.searchsorted(pair[rows_of], np.arange(len(a) + 1))
    g = errors.n_clusters
    for k in range(len(a)):
        rows = rows_of[starts[k] : starts[k + 1]]
        if not len(rows):
            continue
        away = sign[rows] * (data.outcome[rows] - mean[rows])
        own = np.bincount(errors.cluster[rows], weights=away, minlength=g)
        sizes = np.bincount(errors.cluster[rows], minlength=g).astype(np.float64)
        worth = effective_clusters(sizes)
        if worth < _FEWEST_OF_PAIR or errors.grows(a[k], b[k]):
            continue
        slope = np.zeros(model.size)
        bend = sign[rows] * variance[rows] / 2
        np.add.at(slope, data.first[rows], bend)
        np.add.at(slope, data.second[rows], -bend)
        of_order = np.where(model.ordered[rows], at_order[model.group[rows]], -1)
        np.add.at(slope, of_order[of_order >= 0], bend[of_order >= 0])
        of_tie = at_tie[model.group[rows]]
        np.add.at(slope, of_tie[of_tie >= 0], -(sign * mean * tie)[rows][of_tie >= 0])
        moved = own - errors.influence @ slope
        se = float(np.sqrt(g / (g - 1) * (moved**2).sum()))
        if se <= 1e-6 * np.sqrt(len(rows)):
            continue  # the model has a parameter for this pair
        p_value[k] = 2 * float(stdtr(worth - 1, -abs(away.sum()) / se))
    tested = ~np.isnan(p_value)
    if tested.any():
        p_value[tested] = adjust(p_value[tested])
    return expected, p_value


def _ratings(
    fit: Davidson,
    data: Pairwise,
    errors: _Errors,
    by_rank: Ints,
    pairs: pd.DataFrame,
    unit: float,
    mean: float,
    level: float,
) -> pd.DataFrame:
    """Return the table of contestants, the best first."""
    n = fit.data.n
    contrasts = np.zeros((n, fit.data.size))
    contrasts[:, :n] = np.eye(n) - 1 / n
    se, df = errors.of(contrasts)
    half = _half(se, df, 1 - level)
    points, times = _shares(data)
    share = np.divide(points, times, out=np.full((n, n), np.nan), where=times > 0)
    names = np.array(data.contestants, dtype=object)
    ahead, behind = (pairs.loc[pairs["settled"], side].value_counts() for side in ("first", "second"))
    table = pd.DataFrame(
        {
            "contestant": names,
            "rating": mean + unit * fit.ratings,
            "se": unit * se,
            "low": mean + unit * (fit.ratings - half),
            "high": mean + unit * (fit.ratings + half),
            "rank": 0,
            "rank_low": [1 + int(behind.get(name, 0)) for name in names],
            "rank_high": [n - int(ahead.get(name, 0)) for name in names],
            "judgments": times.sum(axis=1).astype(np.int64),
            "share": points.sum(axis=1) / times.sum(axis=1),
            "borda": np.nanmean(share, axis=1),
        }
    )
    table = table.iloc[by_rank].reset_index(drop=True)
    return table.assign(rank=np.arange(1, n + 1))


def _against(
    fit: Davidson,
    data: Pairwise,
    errors: _Errors,
    by_rank: Ints,
    base: str,
    named: bool,
    unit: float,
    level: float,
) -> tuple[Estimate, ...]:
    """Return every difference from the reference, simultaneous."""
    n = fit.data.n
    at = data.contestants.index(base)
    others = [int(k) for k in by_rank if k != at]
    contrasts = np.zeros((n - 1, fit.data.size))
    contrasts[np.arange(n - 1), others] = 1.0
    contrasts[:, at] = -1.0
    se, df = errors.of(contrasts)
    # Sidak's inequality holds for any correlation of normal estimates.
    alpha = 1 - level ** (1 / (n - 1)) if named else _at_once(n, level)
    half = _half(se, df, alpha)
    found = []
    for k, code in enumerate(others):
        value, known = unit * (fit.ratings[code] - fit.ratings[at]), not np.isnan(se[k])
        own = (data.first == code) | (data.second == code)
        found.append(
            Estimate(
                name=f"{data.contestants[code]} - {base}",
                value=float(value),
                se=float(unit * se[k]) if known else None,
                low=float(value - unit * half[k]) if known else None,
                high=float(value + unit * half[k]) if known else None,
                level=level,
                kind=AGAINST if named else PAIRED,
                n=int(own.sum()),
                n_clusters=len(np.unique(data.cluster[own])),
                note="" if known else _why(errors, code, at),
            )
        )
    return tuple(found)


def _why(errors: _Errors, one: int, two: int) -> str:
    """Say why a difference has no interval."""
    if errors.n_clusters == 1:
        return ONE_CLUSTER
    return ENDLESS if errors.grows(one, two) else CARRIED


def _lost_notes(differences: Sequence[Estimate], clusters: int) -> list[str]:
    """Say which differences have no interval."""
    if clusters == 1:
        return [f"no intervals: {ONE_CLUSTER}"]
    lost = [e.name for e in differences if e.note == CARRIED]
    return [f"no interval for {_listed(lost)}: {CARRIED}"] if lost else []


def _effects(fit: Davidson, data: Pairwise, errors: _Errors, effects: Effects, level: float) -> pd.DataFrame:
    """Return the advantage of the first and the share of ties, between equals, by group of judges."""
    order, tie = fit.data.columns
    rows: list[tuple[Any, ...]] = []
    for effect, column, value in ((FIRST_WINS, order, fit.order), (TIES, tie, fit.tie)):
        for k in range(fit.data.groups):
            judge = data.judges[k] if effects == "judge" else ALL
            if column[k] < 0:
                if effect == TIES:
                    rows.append((effect, judge, 0.0, np.nan, np.nan))
                continue
            contrast = np.zeros((1, fit.data.size))
            contrast[0, column[k]] = 1.0
            se, df = errors.of(contrast)
            half = _half(se, df, 1 - level)[0]
            limits = [_share_of(effect, x) for x in (value[k], value[k] - half, value[k] + half)]
            rows.append((effect, judge, *limits))
    return pd.DataFrame(rows, columns=["effect", "judge", "share", "low", "high"])


def _share_of(effect: str, value: float) -> float:
    """Return an effect as a share between equals."""
    if effect == FIRST_WINS:
        return float(outcome_chances(np.array(value), -np.inf)[0])
    return float(outcome_chances(np.array(0.0), value)[1])


# ------------------------------------------------------------------------------------------ fit


def _circular(data: Pairwise, errors: _Errors, level: float) -> pd.DataFrame:
    """Return the triples in which each beats the next and the last the first, by wins minus losses."""
    n = len(data.contestants)
    points, times = _shares(data)
    lead = np.divide(2 * points - times, times, out=np.zeros((n, n)), where=times > 0)
    rows = []
    for i, j, k in combinations(range(n), 3):
        for one, two, three in ((i, j, k), (i, k, j)):
            leads = (lead[one, two], lead[two, three], lead[three, one])
            if min(leads) > 0:
                shown = all(
                    _is_shown(data, errors, *p, level) for p in ((one, two), (two, three), (three, one))
                )
                rows.append((*(data.contestants[x] for x in (one, two, three)), min(leads), shown))
    table = pd.DataFrame(rows, columns=["first", "second", "third", "least", "shown"])
    return table.sort_values("least", ascending=False, kind="stable").reset_index(drop=True)


def _is_shown(data: Pairwise, errors: _Errors, one: int, two: int, level: float) -> bool:
    """Whether a pair's own judgments show its lead, at a third of the level's error."""
    from d3stats.resampling import cluster_t, ratios

    own = ((data.first == one) & (data.second == two)) | ((data.first == two) & (data.second == one))
    won = np.where(data.first[own] == one, data.outcome[own], -data.outcome[own]).astype(np.float64)
    totals = cluster_totals(np.column_stack([won, np.ones(len(won))]), errors.cluster[own])
    if len(totals) < 2:
        return False
    found = cluster_t(totals, ratios((0, 1)), symmetric=True)
    return not found.reasons[0] and bool(found.p_value[0] < (1 - level) / 3)


def _misfit_notes(pairs: pd.DataFrame, level: float) -> list[str]:
    """Name the pairs whose judgments the ratings do not fit."""
    bad = pairs[pairs["p_value"] < 1 - level].sort_values("p_value", kind="stable")
    tested = int(pairs["p_value"].notna().sum())
    if bad.empty:
        return []
    shown = [
        f"{row['first']} and {row['second']} ({percent(row['observed'])} observed, {percent(row['expected'])} expected)"
        for row in bad.head(_MOST_NAMED).to_dict("records")
    ]
    more = f" and {len(bad) - _MOST_NAMED} more" if len(bad) > _MOST_NAMED else ""
    text = (
        f"one rating per contestant does not fit {len(bad)} of {counted(tested, 'pair')} that were tested: "
        f"{'; '.join(shown)}{more}"
    )
    return [warning(text, "pairs off the model", n=len(bad))]


def _circular_notes(circular: pd.DataFrame) -> list[str]:
    """Name the circular triples."""
    if circular.empty:
        return []
    rows = circular.sort_values("shown", ascending=False, kind="stable").head(_MOST_NAMED).to_dict("records")
    named = [f"{r['first']} beats {r['second']} beats {r['third']} beats {r['first']}" for r in rows]
    more = f" and {len(circular) - _MOST_NAMED} more" if len(circular) > _MOST_NAMED else ""
    shown = int(circular["shown"].sum())
    text = f"{counted(len(circular), 'circular triple')} in the judgments: {'; '.join(named)}{more}"
    if shown:
        text = f"{text}; {shown} with each of its three leads shown, which no ranking can describe"
        return [warning(text, "circular triples", n=len(circular))]
    return [Note(f"{text}; none with all of its three leads shown", kind="circular triples", n=len(circular))]


def ranking_table(found: Ranking) -> pd.DataFrame:
    """Return the table of contestants as people read it: five columns."""
    limits = {e.name: e for e in found.differences}
    rows = []
    for row in found.ratings.to_dict("records"):
        own = limits.get(f"{row['contestant']} - {found.reference}")
        differs = "-" if own is None else found._number(own.value, *_or_nan(own))
        ranks = (
            str(row["rank_low"])
            if row["rank_low"] == row["rank_high"]
            else f"{row['rank_low']}-{row['rank_high']}"
        )
        won = f"{percent(row['share'])} of {row['judgments']:,}"
        rows.append((row["contestant"], found._number(row["rating"], np.nan, np.nan), differs, ranks, won))
    names = ["contestant", "rating", f"from {found.reference}", "rank", "won"]
    return pd.DataFrame(rows, columns=names)


def _or_nan(e: Estimate) -> tuple[float, float]:
    return (np.nan, np.nan) if e.low is None or e.high is None else (e.low, e.high)


def shares_table(found: Ranking) -> pd.DataFrame:
    """Return the predicted shares of pairs as people read them: five columns."""
    rows = [
        (row["first"], row["second"], *(percent(row[name]) for name in ("win", "tie", "loss")))
        for row in found.pairs.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=["first", "second", "win", "tie", "loss"])


def effects_table(found: Ranking) -> pd.DataFrame:
    """Return the effects as people read them."""
    rows = [
        (row["effect"], row["judge"], percent(row["share"], *_limits_of(row)))
        for row in found.effects.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=["effect", "judge", "share"])


def _limits_of(row: Mapping[Any, Any]) -> tuple[float | None, float | None]:
    return (None, None) if row["low"] != row["low"] else (float(row["low"]), float(row["high"]))


def misfit_table(found: Ranking) -> pd.DataFrame:
    """Return observed and expected shares of pairs as people read them, those that differ most first."""
    met = found.pairs[found.pairs["judgments"] > 0]
    met = met.assign(away=(met["observed"] - met["expected"]).abs()).sort_values(
        ["p_value", "away"], ascending=[True, False], kind="stable"
    )
    rows = [
        (
            f"{row['first']} - {row['second']}",
            f"{row['judgments']:,}",
            percent(row["observed"]),
            percent(row["expected"]),
            "-" if row["p_value"] != row["p_value"] else p_text(row["p_value"]),
        )
        for row in met.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=["pair", "judgments", "observed", "expected", "p (Holm)"])
