"""How well is the loss of a rule known without labels, and with some?

A rule can lose a verdict only where its verdict differs from that of unanimity, and where they differ is known without
labels. So the share of these debates bounds the loss, and only their labels tell more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
import pandas as pd
from scipy.special import ndtri

from d3stats._check import integer, probability
from d3stats._words import counted, percent
from d3stats.note import Note, warning
from d3stats.planning.cells import cells
from d3stats.planning.costs import as_rules, can_run, share, undecided, verdicts_at, with_turns
from d3stats.result import Result
from d3stats.sources import LogSource, Reading, as_trajectories
from d3stats.stopping import Rule, StoppingRule, Unanimity
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["LabelValue", "label_value"]


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelValue(Result):
    """The half-width of the interval of a rule's loss against unanimity, by the number of labels and their choice.

    Attributes
    ----------
    rule : str
        The rule.
    n_debates, n_differ : int
        Debates of the pilot, and those in which the rule's verdict is not unanimity's.
    differ, differ_low, differ_high : float
        The share of the latter, with its interval over questions (NaN where there is none); the loss of the rule is at
        most that share, with or without labels.
    level : float
        Level of the intervals.
    notes : tuple of str
        What the numbers rest on.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> pilot = simulate_debates(Voter(panel=5), n_debates=200, n_rounds=4, rng=1)
    >>> found = label_value(pilot, "supermajority:0.8")
    >>> found.to_frame()[["labels", "chosen"]].values.tolist()[:3]
    [[0, 'none'], [50, 'at random'], [200, 'at random']]
    """

    rule: str
    n_debates: int
    n_differ: int
    differ: float
    differ_low: float
    differ_high: float
    level: float
    notes: tuple[str, ...]
    _table: pd.DataFrame = field(repr=False)

    @property
    def headline(self) -> str:
        """The answer, which debates to label, and how well the loss is known with and without their labels."""
        known = percent(self.differ, self.differ_low, self.differ_high)
        if self.n_differ == 0:
            return (
                f"No label is needed: {self.rule} and unanimity differ in no debate of this pilot ({known})."
            )
        last = self._table.to_dict("records")[-1]
        return (
            f"Label the {counted(self.n_differ, 'debate')} in which {self.rule} and unanimity differ ({known} of all, "
            f"the most that it can lose): its loss is then known to {_points(last['half_width'])}."
        )

    def _title(self) -> str:
        return f"Half-width of the {100 * self.level:.6g} % interval of the accuracy lost against unanimity."

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"labels": self._table.copy()}

    def _document(self) -> dict[str, Any]:
        names = ("rule", "n_debates", "n_differ", "differ", "differ_low", "differ_high", "level")
        return {name: getattr(self, name) for name in names} | {"tables": self._listed(), "notes": self.notes}

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        columns = {
            "labels": lambda row: f"{row['labels']:,}",
            "of debates": lambda row: str(row["chosen"]),
            "loss known to": lambda row: _points(row["half_width"]),
        }
        return {"Labels and the interval of the loss": cells(self._table, columns)}

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return one row per number of labels and choice of debates.

        Parameters
        ----------
        table : str, optional
            Title of the table, "labels".

        Returns
        -------
        DataFrame
            ``labels``; ``chosen``: "none", "at random" or "where verdicts differ"; ``half_width`` of the interval of
            the loss, a share. Without labels it is the upper limit of the share of debates that differ.
        """
        return super().to_frame(table)


def label_value(
    pilot: LogSource,
    rule: StoppingRule | str,
    *,
    labels: Sequence[int] = (50, 200),
    level: float = 0.95,
    **reading: Unpack[Reading],
) -> LabelValue:
    """Compute the half-width of the interval of a rule's loss with some labels, by the variance of its estimate.

    Parameters
    ----------
    pilot : Trajectories, or what :func:`d3stats.as_trajectories` takes
        Debates in which the rule and unanimity both come to an end, with or without labels.
    rule : StoppingRule or text
        A rule that decides each debate by itself.
    labels : sequence of int
        Numbers of labels.
    level : float
        Level of the intervals, in (0, 1).
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    LabelValue

    Raises
    ------
    ValueError
        When there is one question, the rule decides for a batch, or a debate ended before the rule or unanimity would
        have stopped it.

    Notes
    -----
    Let d be the share of debates whose verdicts differ. In these let x be 1 where unanimity alone is right, -1 where
    the rule alone is, and 0 where neither is, with mean g and mean square s. The loss is d g. The variance of its
    estimate from L labels at random is (d s - d^2 g^2) / L for one debate per question. From L labels of debates that
    differ it is d^2 (s - g^2) / L + g^2 d (1 - d) / n, because n debates tell d without a label. Where fewer than ten
    labels tell, s = 1 and g = 0 are taken, which is the largest variance.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> pilot = simulate_debates(Voter(panel=5), n_debates=200, n_rounds=4, rng=1)
    >>> found = label_value(pilot, "supermajority:0.8", labels=(50,))
    >>> found.n_differ, found.to_frame()["half_width"].round(3).tolist()
    (19, [0.144, 0.085, 0.042])
    """
    at = probability("level", level, open_interval=True)
    numbers = [integer("labels", number, minimum=1) for number in labels]
    t, _ = with_turns(as_trajectories(pilot, **reading))
    (one,), _ = as_rules(rule, panel=int(t.panel.max()))
    questions = len(np.unique(t.cluster))
    if questions < 2:
        raise ValueError(
            f"pilot must hold at least 2 questions, because labels of one say nothing of others; got {questions}"
        )
    verdict, usual = (_verdicts(t, each) for each in (one, Unanimity()))
    differs = verdict != usual
    found = share(differs.astype(float), np.ones(len(t)), t.cluster, at)
    d, n, count = float(differs.mean()), len(t), int(differs.sum())
    known = differs & (t.label != MISSING)
    x = np.where(usual == t.label, 1.0, 0.0)[known] - np.where(verdict == t.label, 1.0, 0.0)[known]
    # A few labels say little of the variance; the largest one is then taken.
    told = len(x) >= _ENOUGH
    g, s = (float(x.mean()), float((x**2).mean())) if told else (0.0, 1.0)
    z = float(ndtri((1 + at) / 2))
    most = found.high if found.high == found.high else 1.0
    rows: list[tuple[int, str, float]] = [(0, "none", most)]
    for number in numbers:
        rows.append((number, "at random", z * np.sqrt((d * s - (d * g) ** 2) / number)))
    for number in [*(each for each in numbers if each < count), *([count] if count else [])]:
        variance = d**2 * (s - g**2) / number + g**2 * d * (1 - d) / n
        rows.append((number, "where verdicts differ", z * np.sqrt(variance)))
    return LabelValue(
        rule=str(one),
        n_debates=n,
        n_differ=count,
        differ=d,
        differ_low=found.low,
        differ_high=found.high,
        level=at,
        notes=(
            *t.remarks(),
            f"The variance is that of {len(x)} labels of debates that differ."
            if told
            else "The variance is the largest that labels could show.",
            *_clustered(n, questions),
        ),
        _table=pd.DataFrame(
            [(number, chosen, min(float(half), most)) for number, chosen, half in rows],
            columns=["labels", "chosen", "half_width"],
        ),
    )


_ENOUGH = 10
"""So many labels of debates that differ say what their variance is."""


def _clustered(n: int, questions: int) -> list[Note]:
    """Warn where the variance, which is that of independent debates, is too small."""
    if questions == n:
        return []
    return [
        warning(
            f"the half-widths take one debate per question, and {counted(n, 'debate')} here are of "
            f"{counted(questions, 'question')}; labels of debates that share a question tell less",
            kind="debates share questions",
        )
    ]


def _points(half: float) -> str:
    return f"{100 * half:z.1f} points"


def _verdicts(t: Trajectories, rule: StoppingRule) -> Any:
    """Return the verdicts of a rule, or refuse a rule whose verdicts are not known."""
    if not isinstance(rule, Rule):
        raise ValueError(
            f"rule must decide each debate by itself; got {rule}, which decides for a batch; name another"
        )
    if not can_run(t, rule):
        raise ValueError(
            f"rule must read votes that are cast in time; got {rule}, and votes at the end alone; name another"
        )
    stops = rule.stop_rounds(t)
    ended = int(undecided(t, stops).sum())
    if ended:
        raise ValueError(
            f"pilot must be played as long as {rule} would; got {ended} of {len(t)} debates that ended before; play it "
            "without a stopping rule"
        )
    return verdicts_at(t, stops.rounds)[0]
