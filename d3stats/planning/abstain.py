"""Which verdicts should be withheld, so that few of the others are wrong?

A verdict is kept where a large enough share of the panel voted for it. A higher threshold keeps fewer verdicts, of
which fewer are wrong (El-Yaniv and Wiener 2010, JMLR 11: risk and coverage of selective classification). The
guarantee about the kept verdicts is that of learn then test (see ``risk``). It holds for finite samples of independent
questions, and assumes nothing of the debates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from d3stats._arrays import Bools, Floats
from d3stats._check import choice, loss, probability
from d3stats._words import counted, percent
from d3stats.note import Note
from d3stats.planning.cells import Write, amount, cells, share_cell, state_cell
from d3stats.planning.costs import (
    Measured,
    absent_note,
    as_rules,
    bill,
    can_run,
    outcomes,
    ratio,
    share,
    tokens_by_round,
    undecided,
    with_turns,
)
from d3stats.planning.risk import certified_rules, run_notes, smallest_certifying
from d3stats.resampling import cluster_totals
from d3stats.resampling.bounded_means import betting_p
from d3stats.result import Result
from d3stats.sources import LogSource, Reading, open
from d3stats.stopping import Rule, StoppingRule
from d3stats.trajectories import MISSING, Trajectories

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Abstention", "abstain"]

Order = Literal["given", "none"]

_MOST_ROWS = 15
_POWER = 0.8
"""Probability with which the advised number of labelled debates certifies."""
_MOST_NEEDED = 100_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Abstention(Result):
    """The threshold below which verdicts are withheld, with its guarantee, and all thresholds with error and coverage.

    Attributes
    ----------
    threshold : float or None
        The lowest certified threshold: verdicts with a smaller share of the votes are withheld. None where no threshold
        is certified.
    max_error, confidence : float
        The guarantee: P(share of wrong verdicts among those kept > max_error) <= 1 - confidence.
    rule : str or None
        The stopping rule whose verdicts these are; None for the last votes of each debate.
    n_debates, n_labelled, n_questions : int
        Debates with turns, those of them with a label and a verdict, and the questions of the latter.
    method : {"binomial", "betting"}
        The test: exact for one debate per question, else by bets on questions.
    order : {"given", "none"}
        As asked for.
    needed : int or None
        Where nothing is certified: with about how many labelled debates, of as many questions, the strictest
        threshold would be certified with probability .8 if its error is as estimated. None where no number would do.
    level : float
        Level of the intervals.
    notes : tuple of str
        Limits of the answer.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> log = simulate_debates(Voter(accuracy=0.9), n_debates=400, n_rounds=3, rng=1)
    >>> found = abstain(log, max_error=0.05)
    >>> round(found.threshold, 3), found.method
    (0.857, 'binomial')
    >>> found.to_frame()[["votes", "kept", "error", "certified"]].head(2).round(3).values.tolist()
    [['7 of 7', 0.778, 0.016, True], ['6 of 7', 0.855, 0.026, True]]
    >>> found.plot().get_xlabel()
    'verdicts kept'
    """

    threshold: float | None
    max_error: float
    confidence: float
    rule: str | None
    n_debates: int
    n_labelled: int
    n_questions: int
    method: Literal["binomial", "betting"]
    order: Order
    needed: int | None
    level: float
    notes: tuple[str, ...]
    _table: pd.DataFrame = field(repr=False)

    @property
    def headline(self) -> str:
        """The answer, which verdicts to withhold, what is kept, and the guaranteed and estimated error."""
        limit, sure = f"{100 * self.max_error:g} %", f"{100 * self.confidence:g} %"
        chosen = self._table[self._table["chosen"]]
        if chosen.empty:
            return f"An error of at most {limit} cannot be guaranteed with {sure} confidence: {self._why()}."
        row = chosen.to_dict("records")[0]
        what = f"Withhold verdicts with fewer than {row['votes']} votes"
        if chosen.index[0] == len(self._table) - 1:
            what = "Withhold no verdict" + ("" if row["kept"] == 1 else " that has votes")
        return (
            f"{what}: {percent(row['kept'])} of verdicts kept, error at most {limit} with {sure} confidence "
            f"(estimate {percent(row['error'])})."
        )

    def _why(self) -> str:
        first = self._table.to_dict("records")[0]
        at = f"at {first['votes']} votes"
        if first["n_kept"] == 0:
            return f"{at} no verdict has a label"
        found = f"{at} it is {share_cell('error', None)(first)}"
        if self.needed is None:
            return f"{found}, and more such debates would not help"
        unit = 10 ** max(len(str(self.needed)) - 2, 0)
        about = f"about {-(-self.needed // unit) * unit:,} labelled debates of as many questions"
        return f"{found}, and {about} would do"

    def _title(self) -> str:
        of = "of the last votes" if self.rule is None else f"under {self.rule}"
        return (
            f"Verdicts {of}; {100 * self.level:.6g} % intervals over questions. Error: wrong verdicts among the kept "
            f"ones, of {counted(self.n_labelled, 'labelled debate')}."
        )

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"thresholds": self._table.copy()}

    def _document(self) -> dict[str, Any]:
        names = ("threshold", "max_error", "confidence", "rule", "n_debates", "n_labelled", "n_questions")
        more = ("method", "order", "needed", "level")
        return {name: getattr(self, name) for name in (*names, *more)} | {
            "tables": self._listed(),
            "notes": self.notes,
        }

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        cost = "tokens" if "tokens" in self._table.columns else "rounds"

        columns: dict[str, Write] = {
            "votes": lambda row: str(row["votes"]),
            "kept": share_cell("kept", None),
            "error": share_cell("error", None),
            f"{cost} a verdict": amount(cost, 0 if cost == "tokens" else 2, limits=False),
            "state": state_cell,
        }
        table = self._table
        if len(table) > _MOST_ROWS:
            rows = np.unique(np.linspace(0, len(table) - 1, _MOST_ROWS).round().astype(int))
            table = table.loc[sorted({*rows.tolist(), *np.flatnonzero(table["chosen"]).tolist()})]
        return {"Thresholds: verdicts are kept with at least so many votes": cells(table, columns)}

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return one row per threshold, the strictest first.

        Parameters
        ----------
        table : str, optional
            Title of the table, "thresholds".

        Returns
        -------
        DataFrame
            ``votes``, the threshold in words; ``share``, the least share of the votes asked for that a kept verdict
            has; ``kept``, the share of all debates whose verdict is kept, with ``kept_low, kept_high``; ``error``, the
            share of wrong verdicts among kept ones with a label, with ``error_low, error_high``; ``n_kept`` of these
            and ``n_wrong``; ``rounds`` and, where known, ``tokens`` of all debates for one kept verdict, with limits;
            ``p_value`` of "the error is above the limit"; ``tested``, ``certified``, ``chosen``; then ``level,
            max_error, confidence, method``.
        """
        return super().to_frame(table)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the error of the kept verdicts against the share that is kept, and beside it what a verdict costs.

        In given axes draw the error alone.
        """
        from d3stats.plotting import plot_risk_coverage

        cost = "tokens" if "tokens" in self._table.columns else "rounds"
        return plot_risk_coverage(self._table, max_error=self.max_error, cost=cost, ax=ax)


def abstain(
    trajectories: LogSource,
    *,
    max_error: float = 0.05,
    confidence: float = 0.9,
    rule: StoppingRule | str | None = None,
    order: Order = "given",
    level: float = 0.95,
    **reading: Unpack[Reading],
) -> Abstention:
    """Choose the share of votes below which verdicts are withheld, by learn-then-test on the error of the others.

    Every share of the votes that a verdict can have is a threshold. The hypothesis of a threshold is "more than
    `max_error` of the kept verdicts are wrong", and the lowest threshold whose hypothesis is rejected is chosen.

    Parameters
    ----------
    trajectories : Trajectories, or what :func:`d3stats.as_trajectories` takes
        Debates with labels, drawn like those to come; those without turns are left out, and debates without a label
        count in the share that is kept alone.
    max_error : float
        The limit of the share of wrong verdicts among the kept ones, in (0, 1).
    confidence : float
        Least probability with which the guarantee holds, in (0, 1): P(the true error of the chosen threshold is above
        `max_error`) <= 1 - `confidence`, over logs of independent questions.
    rule : StoppingRule or text, optional
        The stopping rule whose verdicts these are, such as "unanimity"; by default each debate's last votes decide.
    order : {"given", "none"}
        How thresholds are tested: "given" from the strictest on, up to the first that fails, "none" all of them with
        Holm's correction (1979). Each test of "given" has level 1 - `confidence`. "none" does not need a strictest
        threshold with many verdicts. Choose it before the log is looked at.
    level : float
        Level of the intervals over questions, in (0, 1).
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Abstention

    Raises
    ------
    ValueError
        When a number is outside (0, 1), no debate has a label and votes, the rule cannot be run in these debates,
        decides for a batch, or would have continued after the end of some debate.

    Notes
    -----
    The share of a verdict is the number of votes for it over the number of seats that were asked in that round, so a
    missing vote is no vote for the verdict. A debate without a verdict is withheld.

    With one labelled debate per question the p-value is the exact P(Bin(n, `max_error`) <= k), with k wrong of n kept
    verdicts. With several, questions bet (nonnegative supermartingales, Waudby-Smith and Ramdas 2024), and the error is
    that over all kept verdicts, so that a question counts with its debates. Source: Angelopoulos, Bates, Candès,
    Jordan and Lei (2021), arXiv 2110.01052, sections 2 and 5 (selective classification).

    The questions must be independent, and those to come drawn like these. The guarantee is about the mean over many
    verdicts, not about a single one.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> log = simulate_debates(Voter(accuracy=0.9), n_debates=400, n_rounds=3, rng=1)
    >>> abstain(log, max_error=0.05).threshold
    0.857142857143
    """
    max_error = loss("max_error", max_error, positive=True)
    confidence = probability("confidence", confidence, open_interval=True)
    level = probability("level", level, open_interval=True)
    choice("order", order, ("given", "none"))
    recorded = open(trajectories, **reading).recorded()
    decided = recorded.note()
    t, absent = with_turns(recorded.trajectories)
    stop, rounds, spent = _stops(t, rule)
    found = outcomes(t, rounds, "exclude", tokens=spent)
    last = np.maximum(rounds - 1, 0)
    row = np.arange(len(t))
    asked = t.had_turns()[row, last].sum(axis=1)
    of_it = ((t.votes[row, last] == found.verdict[:, None]) & (found.verdict != MISSING)[:, None]).sum(axis=1)
    voted = (found.verdict != MISSING) & (asked > 0)
    known = voted & (t.label != MISSING)
    _refuse_nothing_known(t, voted, known)
    shares = np.where(voted, np.round(of_it / np.maximum(asked, 1), 12), -1.0)
    thresholds = np.unique(shares[voted])[::-1]
    kept: Bools = shares[:, None] >= thresholds
    wrong: Bools = kept & (known & ~found.correct)[:, None]
    judged: Bools = kept & known[:, None]
    n_thresholds = len(thresholds)
    method, sizes, p = p_values(wrong[known], judged[known], t.cluster[known], max_error)
    # The complement of .9 is not quite .1.
    delta = 1.0 - confidence + 1e-12
    tested, certified = certified_rules(p, delta, order)
    chosen = int(np.flatnonzero(certified)[-1]) if certified.any() else None
    same = int(asked[voted].max()) if len(set(asked[voted].tolist())) == 1 else None
    table = pd.DataFrame({"votes": [_named(x, same) for x in thresholds], "share": thresholds})
    every = np.ones(len(t))
    for name, above, below in (
        ("kept", kept, np.broadcast_to(every[:, None], kept.shape)),
        ("error", wrong, judged),
    ):
        table = _with_limits(
            table, name, [share(above[:, j], below[:, j], t.cluster, level) for j in range(n_thresholds)]
        )
    table["n_kept"], table["n_wrong"] = judged.sum(axis=0), wrong.sum(axis=0)
    for cost in ("rounds", *found.spent):
        paid, has = found.column(cost), every if cost == "rounds" else found.column(f"known_{cost}")
        each = [_turned(ratio(has * kept[:, j], paid, t.cluster, level)) for j in range(n_thresholds)]
        table = _with_limits(table, cost, each)
    table = table.assign(
        p_value=p,
        tested=tested,
        certified=certified,
        chosen=np.arange(n_thresholds) == (-1 if chosen is None else chosen),
        level=level,
        max_error=max_error,
        confidence=confidence,
        method=method,
    )
    needed = None if chosen is not None else _needed(table.to_dict("records")[0], max_error, delta)
    return Abstention(
        threshold=None if chosen is None else float(thresholds[chosen]),
        max_error=max_error,
        confidence=confidence,
        rule=stop,
        n_debates=len(t),
        n_labelled=int(known.sum()),
        n_questions=len(sizes),
        method=method,
        order=order,
        needed=needed,
        level=level,
        notes=tuple(
            dict.fromkeys(
                (
                    *t.remarks(),
                    *([decided] if decided else []),
                    *_notes(t, voted, known, table, delta, order, method, sizes),
                    *([] if chosen is None else _runs(t, wrong[:, chosen], judged[:, chosen])),
                    *absent_note(absent, t),
                )
            )
        ),
        _table=table,
    )


def _stops(
    t: Trajectories, rule: StoppingRule | str | None
) -> tuple[str | None, NDArray[np.int64], Floats | None]:
    """Return the rule's name, where it stops every debate, and the tokens of a run under it."""
    if rule is None:
        return None, t.depth, tokens_by_round(t)
    (one,), _ = as_rules(rule, panel=int(t.panel.max()))
    name = str(one)
    if not isinstance(one, Rule):
        raise ValueError(
            "rule must decide each debate by itself, because the verdicts of one batch are not independent; "
            f"got {name!r}; d3stats rules lists the others"
        )
    if not can_run(t, one):
        raise ValueError(
            f"rule must read votes that are cast in time; got {name!r}, and votes at the end of the debates alone; "
            "leave the rule out to judge the last votes"
        )
    stops = one.stop_rounds(t)
    ended = undecided(t, stops)
    if ended.any():
        raise ValueError(
            f"rule must stop every debate within its logged rounds; got {name!r}, which would continue in "
            f"{int(ended.sum())} of {len(t)} debates; leave the rule out to judge the last votes"
        )
    return name, stops.rounds.astype(np.int64), bill(t, one)


def _refuse_nothing_known(t: Trajectories, voted: Bools, known: Bools) -> None:
    if not voted.any():
        raise ValueError(
            "trajectories must hold a debate with a verdict by votes; got none; d3stats doctor shows what was read"
        )
    if not known.any():
        labelled = int((t.label != MISSING).sum())
        raise ValueError(
            "trajectories must hold a right answer (label) for some debate with a verdict, because errors are "
            f"counted there; got {labelled} labels in {len(t)} debates; label some debates and try again"
        )


def p_values(
    wrong: Bools, kept: Bools, cluster: NDArray[np.int64], max_error: float
) -> tuple[Literal["binomial", "betting"], Floats, Floats]:
    """Return the test, the size of each question, and the p-value of "the error is above the limit" by threshold.

    `wrong` and `kept` have a row for each labelled debate and a column for each threshold.
    """
    n = wrong.shape[1]
    totals = cluster_totals(np.column_stack([wrong, kept, np.ones(len(wrong))]).astype(np.float64), cluster)
    lost, counts, sizes = totals[:, :n], totals[:, n:-1], totals[:, -1]
    if (sizes == 1).all():
        whole = counts.sum(axis=0).astype(np.int64)
        exact = scipy.special.bdtr(lost.sum(axis=0), whole, max_error)
        return "binomial", sizes, np.asarray(exact, dtype=np.float64)
    # How many verdicts of a question are kept is left to chance; how many debates it has is not.
    largest = float(sizes.max())
    bets = [float(betting_p(lost[:, j], max_error, counts[:, j], largest=largest)) for j in range(n)]
    return "betting", sizes, np.array(bets)


def _named(share_of: float, asked: int | None) -> str:
    """Write a threshold: the votes where every panel has the same size, else the share."""
    return percent(share_of) if asked is None else f"{round(share_of * asked)} of {asked}"


def _with_limits(table: pd.DataFrame, name: str, each: list[Measured]) -> pd.DataFrame:
    columns = {"": "value", "_low": "low", "_high": "high"}
    return table.assign(
        **{f"{name}{end}": [getattr(one, what) for one in each] for end, what in columns.items()}
    )


def _turned(found: Measured) -> Measured:
    """Return one over a ratio; debates whose verdict is withheld cost, so the ratio is of verdicts to costs."""
    value, low, high = found.value, found.low, found.high
    if not value > 0:
        return Measured()
    return Measured(1 / value, 1 / high, 1 / low) if low > 0 else Measured(1 / value)


def _needed(row: Mapping[Any, Any], max_error: float, delta: float) -> int | None:
    """Return the labelled debates, one per question, that certify a threshold of this error with power .8."""
    error, kept = float(row["error"]), float(row["kept"])
    if not error < max_error or not kept > 0:
        return None
    least = smallest_certifying(max_error, delta, "binomial", 0.0)
    sizes = np.unique(np.geomspace(least, _MOST_NEEDED, 300).round()).astype(np.int64)
    # The largest number of errors with which a log of each size certifies.
    allowed = np.floor(scipy.special.bdtrik(delta, sizes.astype(np.float64), max_error) + 1e-9)
    enough = (allowed >= 0) & (scipy.special.bdtr(np.maximum(allowed, 0), sizes, error) >= _POWER)
    return int(np.ceil(sizes[enough.argmax()] / kept)) if enough.any() else None


def _runs(t: Trajectories, wrong: Bools, judged: Bools) -> list[Note]:
    """Say what the log shows of an effect that its runs share."""
    return run_notes(wrong.astype(np.float64), judged, t, "error")


def _notes(
    t: Trajectories,
    voted: Bools,
    known: Bools,
    table: pd.DataFrame,
    delta: float,
    order: Order,
    method: str,
    sizes: Floats,
) -> list[str]:
    notes = []
    if silent := int((~voted).sum()):
        notes.append(
            f"{silent} of {counted(len(t), 'debate')} have no verdict by votes; they count as withheld."
        )
    if unlabelled := int((voted & ~known).sum()):
        notes.append(
            f"{unlabelled} of {counted(len(t), 'debate')} have no label; they count in what is kept, not in the error."
        )
    if method == "betting":
        notes.append(
            f"{counted(int(sizes.sum()), 'labelled debate')} are of {counted(len(sizes), 'question')}, at most "
            f"{sizes.max():g} of each. The guarantee takes questions as independent, and none to come as larger; its "
            "error is that over debates."
        )
    if t.coding == "correctness":
        notes.append(
            'Votes are coded right or wrong (coding="correctness"), so wrong votes are taken as votes for one answer.'
        )
    first = table.to_dict("records")[0]
    least = smallest_certifying(float(first["max_error"]), delta, method, 0.0)
    if order == "given" and not first["certified"] and first["n_kept"] < least:
        notes.append(
            f"The tests begin with {first['votes']} votes, which keeps {first['n_kept']} labelled verdicts, and even "
            f"without an error {least} are needed. For the next log, fix {_ORDER_NONE} beforehand."
        )
    return notes


_ORDER_NONE = 'order="none" (--order none)'
