"""Choice between a cheap and an expensive protocol by the score gap.

A debate starts with a cheap protocol. Where its score gap is narrow, an expensive protocol is played, too, and decides.
The log of such debates has two rounds, one per protocol, and the choice is the stopping rule
:class:`~d3stats.stopping.WideGap` after round 1. The threshold is therefore planned like a stopping rule: a replay
shows the cost of each threshold, and risk control finds one that loses little with high probability.

References
----------
D3, 5.5 (SAMRE where the first gap is below 25 points, MORE elsewhere). Angelopoulos, Bates, Candès, Jordan and Lei
(2021), arXiv 2110.01052 (learn then test).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice, loss, number, probability
from d3stats._words import counted, verb
from d3stats.inputs.items import mostly_left_out, shared
from d3stats.inputs.questions import contradictions, refuse, warned
from d3stats.inputs.recorded import RecordedLog
from d3stats.planning.costs import bill, change_limits, tokens_by_round
from d3stats.planning.replay import replay
from d3stats.planning.risk import losses_of_debates, risk_controlled
from d3stats.resampling import clustered_share, item_ratio
from d3stats.result import Result
from d3stats.sources import LogSource, Reading, open, open_all
from d3stats.sources.recorded import questions_of
from d3stats.stopping import FullDepth, WideGap
from d3stats.trajectories import MISSING, Trajectories

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["THRESHOLDS", "Escalation", "escalate", "join_protocols"]

ENDS = ("", "_low", "_high")

Recommended = Literal["first", "second", "threshold"]

_ALIKE = 1e-9
"""Accuracies and relative costs that differ by less are the same: they are sums in another order."""

THRESHOLDS = (60.0, 50.0, 40.0, 35.0, 30.0, 25.0, 20.0, 17.5, 15.0, 12.5, 10.0, 7.5, 5.0, 2.5, 0.0)
"""Thresholds that are tried by default, in points of a total of 6 to 120, from late to early stopping."""


def join_protocols(first: LogSource, second: LogSource, **reading: Unpack[Reading]) -> Trajectories:
    """Join the logs of two protocols on the same items into one log of two rounds, question by question.

    Round 1 holds the votes, scores and tokens of the first protocol's last round and all its tokens; round 2 those of
    the second protocol. Where a log records decisions, both rounds have one seat, ``verdict``: the recorded decision,
    or the plurality of the votes in a log without any.

    Debates are paired by question where each log has one debate per question, and else by the names of the debates.

    Parameters
    ----------
    first, second : Trajectories, or what :func:`d3stats.as_trajectories` takes
        One debate per item in each. Debates that only one log has are left out, and a warning counts and names them.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Trajectories
        With two rounds. Its notes say how debates were paired, what was left out, and where decisions are not the
        pluralities of the votes.

    Raises
    ------
    ValueError
        When less than half of the debates of the shorter log can be paired, or a question has several debates. Also
        when labels contradict each other, or one log holds answers and the other only whether votes were right.

    Examples
    --------
    >>> from d3stats.worlds import Courtroom, simulate_debates
    >>> more = simulate_debates(Courtroom(protocol="more", advocates=3), n_debates=50, n_rounds=1, rng=1)
    >>> samre = simulate_debates(Courtroom(run=1), n_debates=50, n_rounds=4, rng=1)
    >>> join_protocols(more, samre)
    Trajectories(50 debates x 2 rounds x 5 seats, 50 questions, coding='answers')
    """
    recorded = [each.recorded() for each in open_all((first, second), **reading)]
    logs = [each.trajectories for each in recorded]
    if logs[0].coding != logs[1].coding:
        raise ValueError(
            "first and second must hold the same kind of votes; got "
            f"coding={logs[0].coding!r} and coding={logs[1].coding!r}"
        )
    apart = contradictions(
        [questions_of(log, name) for log, name in zip(logs, ("first", "second"), strict=True)]
    )
    pairs = _matched(*logs)
    # Debates of one question may have any names; debates of one name must have one question.
    refuse(apart, ["labels"] if pairs.by == "question" else ["labels", "questions"])
    decided = [
        note for each, which in zip(recorded, ("first", "second"), strict=True) for note in _said(each, which)
    ]
    if any(each.usable for each in recorded):
        logs = [_by_verdict(each) for each in recorded]
    logs = [log.select(at) for log, at in zip(logs, pairs.rows, strict=True)]
    a, b = logs
    answers = tuple(sorted({*a.answers, *b.answers})) if a.answers != b.answers else a.answers
    labels = [_recoded(log.label, log.answers, answers) for log in logs]
    # A jury of four in one log has no fifth seat: seats of the smaller panel come first, the rest stay empty.
    seats = a.seats if len(a.seats) >= len(b.seats) else b.seats
    votes = np.full((len(a), 2, len(seats)), MISSING, dtype=np.int32)
    for r, log in enumerate(logs):
        votes[:, r, : len(log.seats)] = _recoded(_last(log, log.votes), log.answers, answers)
    return Trajectories(
        votes=votes,
        label=np.where(labels[0] == MISSING, labels[1], labels[0]).astype(np.int32),
        depth=np.full(len(a), 2),
        panel=np.maximum(a.panel, b.panel),
        cluster=a.cluster,
        answers=answers,
        debates=a.debates,
        seats=seats,
        cluster_names=a.cluster_names,
        scores=_scores(*logs),
        sides=a.sides,
        tokens=None if any(log.tokens is None for log in logs) else np.stack([*map(_spent, logs)], axis=1),
        questions=a.questions,
        coding=a.coding,
        notes=(*warned(apart), *a.notes, *b.notes, *decided, *pairs.notes),
    )


def _said(recorded: RecordedLog, which: str) -> list[str]:
    """Say which verdicts of a log are decided on, and how often decisions and pluralities are not the same."""
    t = recorded.trajectories
    if not recorded.usable:
        tied = int(t.tied()[np.arange(len(t)), t.depth - 1][t.depth > 0].sum()) if t.n_rounds else 0
        return [
            f"Verdicts of the {which} protocol are the pluralities of its votes; {tied} of "
            f"{counted(len(t), 'debate')} end in a tie, which {t.tie_rule()}."
        ] * bool(tied)
    none, other = int((~recorded.known).sum()), int(recorded.differs.sum())
    if not none and not other:
        return []
    gone = (
        f"; {counted(none, 'debate')} without one {verb(none, 'is', 'are')} left out of accuracies"
        if none
        else ""
    )
    return [
        f"Verdicts of the {which} protocol are the decisions in its log; {other} of "
        f"{counted(len(t) - none, 'decision')} {verb(other, 'differs', 'differ')} from the plurality of the "
        f"last votes{gone}."
    ]


def _by_verdict(recorded: RecordedLog) -> Trajectories:
    """Return debates with one seat, whose last vote is the decision, or the plurality where a log has no decisions."""
    t = recorded.trajectories
    at = (np.arange(len(t)), np.maximum(t.depth, 1) - 1)
    if recorded.usable:
        answers = tuple(sorted({*t.answers, *(word for word in recorded.decision if word is not None)}))
        code = {word: k for k, word in enumerate(answers)}
        verdict = np.array([code.get(word, MISSING) for word in recorded.decision], dtype=np.int32)
    else:
        answers, verdict = t.answers, t.verdicts()[at]
    votes = np.full((len(t), t.n_rounds, 1), MISSING, dtype=np.int32)
    votes[(*at, 0)] = np.where(t.depth > 0, verdict, MISSING)
    return replace(
        t,
        votes=votes,
        label=_recoded(t.label, t.answers, answers),
        answers=answers,
        seats=("verdict",),
        panel=np.ones_like(t.panel),
        spoke=None,
        speakers=None,
        confidence=None,
    )


@dataclass(frozen=True)
class _Pairs:
    """The rows of two logs that belong together, what they were paired by, and what is said of it."""

    rows: list[NDArray[np.int64]]
    by: Literal["question", "debate"]
    notes: list[str]


def _matched(a: Trajectories, b: Trajectories) -> _Pairs:
    """Pair debates by question where each log has one debate per question and names pair no more; else by name."""
    played = [np.flatnonzero(log.depth > 0) for log in (a, b)]
    asked = [_questions(log)[at] for log, at in zip((a, b), played, strict=True)]
    called = [np.array(log.debates, dtype=object)[at] for log, at in zip((a, b), played, strict=True)]
    once = all(len(set(key)) == len(key) for key in asked)
    by: Literal["question", "debate"] = "debate"
    if once and len(set(asked[0]) & set(asked[1])) >= len(set(called[0]) & set(called[1])):
        by = "question"
    elif not set(called[0]) & set(called[1]) and set(asked[0]) & set(asked[1]):
        which, key = next(
            (which, key)
            for which, key in zip(("first", "second"), asked, strict=True)
            if len(set(key)) < len(key)
        )
        names, times = np.unique(key.astype(str), return_counts=True)
        raise ValueError(
            f"{which} must hold one debate per question where debates have other names in the two logs; got "
            f"{times.max()} of question {names[times.argmax()]!r}; give debates of one item the same name in both"
        )
    keys = asked if by == "question" else called
    places = [
        dict(zip(map(str, key), at.tolist(), strict=True)) for key, at in zip(keys, played, strict=True)
    ]
    found = shared(dict(zip(("first", "second"), places, strict=True)))
    found.refuse_few(
        by, "log", "name the question of each debate in both logs (--columns question=NAME), once in each log"
    )
    # Where debates are called by their questions there is nothing to choose.
    apart = any(not np.array_equal(q, d) for q, d in zip(asked, called, strict=True))
    notes = found.notes(by, "log") if apart or found.left_out else []
    notes += mostly_left_out(len(found.common), found.total, by)
    notes += [
        f"{counted(n, 'debate')} of the {which} protocol left out: no round was played"
        for which, log in (("first", a), ("second", b))
        if (n := int((log.depth == 0).sum()))
    ]
    return _Pairs([np.array([index[name] for name in found.common]) for index in places], by, notes)


def _questions(log: Trajectories) -> NDArray[np.object_]:
    """Return the question of each debate: as stated for all, else the cluster."""
    if log.questions and all(log.questions):
        return np.array(log.questions, dtype=object)
    return np.array(log.cluster_names, dtype=object)[log.cluster]


def _recoded(codes: NDArray[np.int32], old: tuple[str, ...], new: tuple[str, ...]) -> NDArray[np.int32]:
    # The last entry is what the code MISSING = -1 reads.
    place = np.array([*(new.index(answer) for answer in old), MISSING], dtype=np.int32)
    return place[codes]


def _last(log: Trajectories, values: NDArray[np.int32]) -> NDArray[np.int32]:
    return values[np.arange(len(log)), log.depth - 1]


def _scores(a: Trajectories, b: Trajectories) -> NDArray[np.float64] | None:
    """Return the last scores of both, those of the second as missing where its sides are others."""
    if a.scores is None:
        return None
    rows = np.arange(len(a))
    last = a.scores[rows, a.depth - 1]
    other = np.full_like(last, np.nan)
    if b.scores is not None and a.sides == b.sides:
        other = b.scores[rows, b.depth - 1]
    return np.stack([last, other], axis=1)


def _spent(log: Trajectories) -> NDArray[np.float64]:
    # A protocol that no rule stopped needs no votes before its end.
    spent = tokens_by_round(log) if log.ended_early().any() else bill(log, FullDepth())
    return np.full(len(log), np.nan) if spent is None else spent[np.arange(len(log)), log.depth]


@dataclass(frozen=True, eq=False, repr=False)
class Escalation(Result):
    """The cost and the loss of each threshold between two protocols, and the policy to run.

    Attributes
    ----------
    recommended : {"first", "second", "threshold"}
        What to run: one protocol alone in every debate, or the choice by `threshold`.
    threshold : float or None
        The smallest certified threshold in points: debates with a narrower gap continue with the second protocol. None
        when none is certified. It is the policy to run where `recommended` is "threshold".
    max_loss_vs_second, confidence : float
        The guarantee: against the second protocol alone, the accuracy over debates is at most `max_loss_vs_second`
        lower, with probability `confidence` over pilots of independent questions.
    pilot : Trajectories
        The two protocols as two rounds.
    level : float
        Level of the intervals of the table.
    table : DataFrame
        One row per threshold: its cost and its loss.
    alone : DataFrame
        Two rows, the first and the second protocol played in every debate without the other: ``protocol``, ``accuracy``
        and, where they are recorded, ``tokens`` per debate, each with ``_low`` and ``_high``.
    notes : tuple of str

    Examples
    --------
    >>> from d3stats.worlds import Courtroom, simulate_debates
    >>> more = simulate_debates(Courtroom(protocol="more", advocates=3), n_debates=400, n_rounds=1, rng=1)
    >>> samre = simulate_debates(Courtroom(run=1), n_debates=400, n_rounds=4, rng=1)
    >>> plan = escalate(more, samre, max_loss_vs_second=0.05)
    >>> plan.threshold is not None, plan.max_loss_vs_second, plan.pilot.n_debates
    (True, 0.05, 400)
    >>> plan.policies().loc[0, ["lowest", "highest", "escalated"]].tolist()
    [30.0, 60.0, 1.0]
    >>> plan.candidates()["policy"].tolist()[:2]
    ['first', 'second']
    >>> plan.recommended, plan.better_than(plan.recommended)["policy"].tolist()
    ('first', [])
    >>> plan.candidates()["policy"].tolist()[:2]
    ['first', 'second']
    >>> len(plan.plot().lines) > 0
    True
    """

    recommended: Recommended
    threshold: float | None
    max_loss_vs_second: float
    confidence: float
    pilot: Trajectories
    level: float
    table: pd.DataFrame
    alone: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The answer, what to run, and what it lacks."""
        return f"{self.advice[0].upper()}{self.advice[1:]}."

    def _title(self) -> str:
        return (
            f"Choice between two protocols, {counted(len(self.pilot), 'debate')}: {self.advice} "
            f"({100 * self.level:g} % cluster intervals; rows: a debate with a narrower gap plays the second protocol)"
        )

    @property
    def guaranteed(self) -> bool:
        """Whether the recommended policy keeps `max_loss_vs_second` with the probability `confidence`."""
        listed = self.candidates().set_index("policy")["guaranteed"]
        return bool(listed[self.recommended])

    @property
    def advice(self) -> str:
        """The recommended policy in a sentence, with what it lacks: the guarantee, or a cheaper policy without one."""
        said = {
            "first": "play the first protocol alone",
            "second": "play the second protocol always, without the first",
            "threshold": f"play the second protocol where the gap is below {self.threshold or 0:g} points",
        }[self.recommended]
        if not self.guaranteed:
            said += ", without the guarantee"
        better = self.better_than(self.recommended)
        if len(better):
            # The most accurate one; of equals, the lowest threshold.
            best = better.sort_values(["accuracy", "threshold"], ascending=[False, True]).iloc[0]
            said += (
                f"; without the guarantee, {_policy(str(best['policy']), best['threshold'])} was at least as accurate "
                "in this pilot and no more expensive"
            )
        return said

    def candidates(self) -> pd.DataFrame:
        """Return every policy: each protocol alone, then the thresholds, each choice once.

        Returns
        -------
        DataFrame
            ``policy`` ("first", "second", "threshold" for the smallest certified threshold, or "threshold T" for
            another one), ``threshold`` (NaN of one protocol alone), ``escalated`` (NaN of the second protocol alone),
            ``accuracy``, ``tokens`` per debate (NaN where they are not recorded) and ``guaranteed``, whether the loss
            is kept. The second protocol alone loses nothing against itself.
        """
        rows = self.policies().rename(columns={"lowest": "threshold"})
        t = np.nan if self.threshold is None else self.threshold
        smallest = (rows["threshold"] <= t) & (t <= rows["highest"])
        names = np.where(smallest, "threshold", "threshold " + rows["threshold"].map("{:g}".format))
        # A choice that continues in no debate is the first protocol alone.
        never = rows["escalated"] == 0
        alone = self.alone.assign(
            policy=self.alone["protocol"],
            threshold=np.nan,
            escalated=[0.0, np.nan],
            guaranteed=[bool((never & rows["certified"]).any()), True],
        )
        listed = rows.assign(policy=names, guaranteed=rows["certified"].astype(bool))
        columns = ["policy", "threshold", "escalated", "accuracy", "tokens", "guaranteed"]
        parts = [part.reindex(columns=columns) for part in (alone, listed)]
        return pd.DataFrame({name: [x for part in parts for x in part[name]] for name in columns})

    def better_than(self, policy: str) -> pd.DataFrame:
        """Return the policies that were at least as accurate and no more expensive, and better in one of both.

        Parameters
        ----------
        policy : str
            One of the column ``policy`` of :meth:`candidates`.

        Returns
        -------
        DataFrame
            Rows of :meth:`candidates`. Without tokens, costs are compared only where they follow from the policies: a
            choice that continues more often costs more. A choice that always continues costs more than the second
            protocol alone.

        Raises
        ------
        ValueError
            If there is no such policy.
        """
        listed = self.candidates()
        choice("policy", policy, tuple(listed["policy"]))
        rows = listed.to_dict("records")
        one = next(row for row in rows if row["policy"] == policy)
        better = [_at_least_as_good(row, one) and not _at_least_as_good(one, row) for row in rows]
        return listed[better].reset_index(drop=True)

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"thresholds": self.table, "alone": self.alone}

    def policies(self) -> pd.DataFrame:
        """Return the table with one row per policy: thresholds that choose alike in every debate share a row.

        Returns
        -------
        DataFrame
            ``lowest`` and ``highest`` threshold of the policy, then the columns of the table.
        """
        # A lower threshold lets fewer debates go on, and never another one: equal shares are equal choices.
        policy = (self.table["escalated"].diff() != 0).cumsum()
        rows = self.table.groupby(policy, sort=False)
        ends = {"lowest": rows["threshold"].min(), "highest": rows["threshold"].max()}
        return pd.DataFrame(ends).join(rows.first().drop(columns="threshold")).reset_index(drop=True)

    def _document(self) -> dict[str, Any]:
        """Return the choice, its guarantee, the table and the notes, as JSON can hold them."""
        names = ("recommended", "guaranteed", "threshold", "max_loss_vs_second", "confidence", "level")
        return {name: getattr(self, name) for name in names} | super()._document()

    def plot(self, ax: Axes | None = None, *, truth: pd.DataFrame | None = None) -> Axes:
        """Draw accuracy against tokens along the threshold, with each protocol alone and the recommended policy.

        Parameters
        ----------
        ax : Axes, optional
        truth : DataFrame, optional
            The table of a world where it is known, with the columns of :func:`~d3stats.plotting.plot_threshold_path`.

        Raises
        ------
        ValueError
            If the pilot holds no tokens.
        """
        from d3stats.plotting import plot_threshold_path

        if "tokens" not in self.table:
            raise ValueError("tokens must be recorded in both logs for a figure of costs; got none")
        limits = {"accuracy_low": "low", "accuracy_high": "high"}
        frame = self.policies().rename(columns=limits | {"lowest": "threshold"})
        runs = self.recommended == "threshold"
        frame = frame.assign(
            chosen=runs & (frame["threshold"] == self.threshold), level=self.level, kind="over questions"
        )
        alone = self.alone.rename(columns=limits)
        alone = alone.assign(label=alone["protocol"] + " alone", chosen=alone["protocol"] == self.recommended)
        return plot_threshold_path(
            frame, cost="tokens", cost_label="tokens per debate", ends=alone, truth=truth, ax=ax
        )


def escalate(
    first: LogSource,
    second: LogSource | None = None,
    *,
    max_loss_vs_second: float = 0.01,
    confidence: float = 0.9,
    thresholds: Sequence[float] | NDArray[np.float64] = THRESHOLDS,
    level: float = 0.95,
    **reading: Unpack[Reading],
) -> Escalation:
    """Choose the gap below which a second protocol is played, by learn-then-test on a pilot that played both.

    Parameters
    ----------
    first : Trajectories, or what :func:`d3stats.as_trajectories` takes
        The cheap protocol's debates, with scores of two sides. Without `second`, a log of two rounds, one per
        protocol, as :func:`join_protocols` makes it.
    second : optional
        The expensive protocol's debates on the same items. Verdicts are the decisions that the logs record; see
        :func:`join_protocols`.
    max_loss_vs_second : float
        Accuracy over debates that may be lost against the second protocol alone, in (0, 1); .01 is one point.
    confidence : float
        Probability over pilots that the loss is kept, in (0, 1).
    thresholds : array of float
        Gaps in points to try, fixed before the pilot is looked at; by default 15 from 60 to 0. They are tested from the
        widest on, up to the first that fails.
    level : float
        Level of the intervals, in (0, 1).
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Escalation
        Its table has one row per threshold: ``threshold``, ``escalated`` (the share of debates that play the second
        protocol), ``accuracy``, ``loss`` (the share of debates that the second protocol alone has right and the choice
        wrong, minus the reverse; `max_loss_vs_second` limits this), ``tokens`` per debate and ``tokens_vs_second``
        (their ratio to the second protocol alone), each with ``_low`` and ``_high``, and ``certified``. Limits of
        shares are cluster Wilson limits, of the loss those of the paired t, of tokens the cluster t's, all over
        questions. Thresholds between the same two gaps of the pilot choose alike; ``policies()`` has one row for all of
        them.

    Raises
    ------
    ValueError
        Without labels, without scores of two sides, or when both protocols cannot be matched.

    Notes
    -----
    A debate whose gap is not known plays the second protocol. The second protocol alone costs less than both together,
    so that a threshold can cost more than it saves: ``tokens_vs_second`` above 1 says so.

    The recommended policy is the cheapest that keeps the loss: the smallest certified threshold, or the second protocol
    alone where that is cheaper. Where one protocol alone was at least as accurate in the pilot and no more expensive,
    that protocol is recommended, and ``guaranteed`` says whether the loss is kept. A threshold that is not certified is
    never recommended; if one did better in the pilot, ``advice`` and the notes name it. Costs are compared over the
    debates whose tokens are known in both protocols.

    Examples
    --------
    >>> from d3stats.worlds import Courtroom, simulate_debates
    >>> more = simulate_debates(Courtroom(protocol="more", advocates=3), n_debates=800, n_rounds=1, rng=1)
    >>> samre = simulate_debates(Courtroom(run=1), n_debates=800, n_rounds=4, rng=1)
    >>> plan = escalate(more, samre, max_loss_vs_second=0.03)
    >>> plan.recommended, plan.threshold
    ('threshold', 2.5)
    >>> plan.to_frame().set_index("threshold").loc[2.5, ["escalated", "accuracy"]].round(2).tolist()
    [0.2, 0.88]
    >>> plan.alone.round({"accuracy": 2, "tokens": 0})[["protocol", "accuracy", "tokens"]].values.tolist()
    [['first', 0.86, 10764.0], ['second', 0.88, 22256.0]]
    """
    loss("max_loss_vs_second", max_loss_vs_second, positive=True)
    probability("confidence", confidence, open_interval=True)
    tried = np.unique([number("thresholds", t, minimum=0) for t in np.atleast_1d(thresholds).tolist()])[::-1]
    said: tuple[str, ...] = ()
    if second is None:
        alone = open(first, **reading).recorded()
        pilot, note = alone.trajectories, alone.note()
        said = () if note is None else (note,)
    else:
        pilot = join_protocols(first, second, **reading)
    _refuse(pilot)
    pilot = _tokens_of_both(pilot)
    probability("level", level, open_interval=True)
    rules = [WideGap(float(t)) for t in tried]
    # Of the replay, only numbers without draws are used.
    played = replay(pilot, [*rules, "fixed:1"], level=level)
    risk = risk_controlled(
        pilot, rules, max_loss_vs_full=max_loss_vs_second, delta=1 - confidence, target="accuracy"
    )
    # What the two logs show is said of them, and not of their join.
    remarked = {*pilot.remarks(), *pilot.notes} if second is not None else {*pilot.notes}
    passed = risk.to_frame().set_index("rule")["certified"]
    replayed = played.to_frame().set_index("rule")
    lost = losses_of_debates(pilot, rules, "accuracy")
    counted_in = lost.counted > 0
    rows = []
    for t, rule, change in zip(tried, map(str, rules), lost.losses.T, strict=True):
        stops = played.stops_of[rule].rounds
        loss_of = (
            float(np.mean(change[counted_in])) if counted_in.any() else np.nan,
            *change_limits(change[counted_in], pilot.cluster[counted_in], level),
        )
        row: dict[str, Any] = {
            "threshold": float(t),
            **_share("escalated", stops == 2, pilot, level),
            **{f"accuracy{end}": replayed.loc[rule, f"accuracy{end}"] for end in ENDS},
            # 0 is added so that no loss is shown as minus zero.
            **dict(zip((f"loss{end}" for end in ENDS), (x + 0.0 for x in loss_of), strict=True)),
        }
        if pilot.tokens is not None:
            row |= _tokens(pilot, stops, level)
        rows.append(row | {"certified": bool(passed[rule])})
    table = pd.DataFrame(rows)
    certified = table.loc[table["certified"], "threshold"]
    plan = Escalation(
        "second",
        None if certified.empty else float(certified.min()),
        max_loss_vs_second,
        confidence,
        pilot,
        level,
        table,
        _alone(pilot, replayed, level),
        (*said, *pilot.notes, *(note for note in risk.notes if note not in remarked), *_notes(pilot, table)),
    )
    plan = replace(plan, recommended=_recommended(plan))
    return replace(plan, notes=(*plan.notes, *_why_not(plan)))


def _share(name: str, which: NDArray[np.bool_], pilot: Trajectories, level: float) -> dict[str, float]:
    """Return a share of debates with its cluster Wilson limits over questions."""
    found = clustered_share(
        which.astype(np.float64), np.ones(len(which)), pilot.cluster, level=level, name=name
    )
    limits = (np.nan if limit is None else limit for limit in (found.value, found.low, found.high))
    return dict(zip((f"{name}{end}" for end in ENDS), limits, strict=True))


def _tokens_of_both(pilot: Trajectories) -> Trajectories:
    """Leave out the tokens of debates where only one protocol's are known: costs are compared in the same debates."""
    if pilot.tokens is None:
        return pilot
    unknown = np.asarray(np.isnan(pilot.tokens).any(axis=1))
    return replace(pilot, tokens=None if unknown.all() else np.where(unknown[:, None], np.nan, pilot.tokens))


def _at_least_as_good(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    """Whether a policy is at least as accurate as another one, and known to be no more expensive."""
    return bool(one["accuracy"] >= other["accuracy"] - _ALIKE) and _no_dearer(one, other)


def _no_dearer(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    if not np.isnan(one["tokens"]) and not np.isnan(other["tokens"]):
        return bool(one["tokens"] <= other["tokens"] * (1 + _ALIKE))
    second = [row["policy"] == "second" for row in (one, other)]
    if any(second):
        # The second protocol alone is part of a choice that always continues; no other cost is comparable.
        return bool(second[0] and (second[1] or other["escalated"] == 1))
    return bool(one["escalated"] <= other["escalated"])


def _recommended(plan: Escalation) -> Recommended:
    """Return the cheapest policy that keeps the loss, or one protocol alone where that is as good in both respects."""
    listed = {row["policy"]: row for row in plan.candidates().to_dict("records")}
    found: Recommended = "second"
    if plan.threshold is not None and not _no_dearer(listed["second"], listed["threshold"]):
        found = "threshold"
    protocols: tuple[Recommended, ...] = ("second", "first")
    for alone in protocols:
        if _at_least_as_good(listed[alone], listed[found]):
            found = alone
    return found


def _policy(policy: str, threshold: float) -> str:
    return f"the {policy} protocol alone" if np.isnan(threshold) else f"a threshold of {threshold:g} points"


def _refuse(pilot: Trajectories) -> None:
    if pilot.n_rounds != 2:
        raise ValueError(
            "first must have two rounds, one per protocol, where second is not given; "
            f"got {counted(pilot.n_rounds, 'round')}"
        )
    if pilot.scores is None or pilot.scores.shape[2] != 2:
        raise ValueError(
            "first must have scores of two sides, because their gap makes the choice; got "
            f"{'no scores' if pilot.scores is None else counted(pilot.scores.shape[2], 'side')}"
        )
    if (pilot.label == MISSING).all():
        raise ValueError(
            "first must have labels, because the choice is judged by its accuracy; got none "
            "(replay and risk_controlled(target='agreement') on join_protocols(...) do without)"
        )


def _alone(pilot: Trajectories, replayed: pd.DataFrame, level: float) -> pd.DataFrame:
    """Return the accuracy and the tokens of each protocol, played without the other."""
    rows: list[dict[str, Any]] = []
    # At full depth the second protocol decides alone, whatever the first one has cost.
    for r, (protocol, rule) in enumerate((("first", "fixed:1"), ("second", "full"))):
        row = {f"accuracy{end}": replayed.loc[rule, f"accuracy{end}"] for end in ENDS}
        if pilot.tokens is not None:
            row |= _ratio_of_tokens("tokens", pilot, pilot.tokens[:, r], np.ones(len(pilot)), level)
        rows.append({"protocol": protocol} | row)
    return pd.DataFrame(rows)


def _tokens(pilot: Trajectories, stops: NDArray[np.int64], level: float) -> dict[str, float]:
    """Return the tokens of a choice per debate, and over those of the second protocol alone."""
    assert pilot.tokens is not None
    spent = np.where(stops == 1, pilot.tokens[:, 0], pilot.tokens.sum(axis=1))
    return {
        **_ratio_of_tokens("tokens", pilot, spent, np.ones(len(pilot)), level),
        **_ratio_of_tokens("tokens_vs_second", pilot, spent, pilot.tokens[:, 1], level),
    }


def _ratio_of_tokens(
    name: str, pilot: Trajectories, above: NDArray[np.float64], below: NDArray[np.float64], level: float
) -> dict[str, float]:
    """Return a ratio of sums over the debates whose tokens are known, with its cluster t interval; NaN for no limit."""
    assert pilot.tokens is not None
    known = ~np.isnan(pilot.tokens).any(axis=1)
    found = item_ratio(name, above[known], below[known], pilot.cluster[known], level=level)
    limits = (np.nan if limit is None else limit for limit in (found.value, found.low, found.high))
    return dict(zip((f"{name}{end}" for end in ENDS), limits, strict=True))


def _notes(pilot: Trajectories, table: pd.DataFrame) -> list[str]:
    notes = []
    assert pilot.scores is not None
    gap = np.abs(pilot.scores[:, 0, 0] - pilot.scores[:, 0, 1])
    unknown = int(np.isnan(gap).sum())
    if unknown:
        notes.append(f"{counted(unknown, 'debate')} without a gap in the first protocol play the second one.")
    if unknown == len(gap) or np.nanmax(gap) < table["threshold"][table["threshold"] > 0].min():
        notes.append(
            "No gap is as wide as any threshold above 0; give thresholds on the scale of these scores."
        )
    if not table["certified"].any():
        notes.append(
            "No threshold is certified: the pilot is too small, or the second protocol is much better."
        )
    return notes


def _why_not(plan: Escalation) -> list[str]:
    """Say what the recommended policy lacks, and why the smallest certified threshold is not the recommended one."""
    notes = []
    if not plan.guaranteed:
        notes.append(
            f"The {plan.recommended} protocol alone was at least as accurate in this pilot and no more expensive, but "
            f"the pilot does not show that the loss is at most {plan.max_loss_vs_second:g}."
        )
    listed = plan.candidates()
    if plan.recommended == "second" and plan.threshold is not None:
        more = ""
        if "tokens_vs_second" in plan.table:
            at = plan.table.loc[plan.table["threshold"] == plan.threshold, "tokens_vs_second"].iloc[0]
            more = f" costs {at:z.2f} times the second protocol alone and"
        accuracy = dict(zip(listed["policy"], listed["accuracy"], strict=True))
        gained = accuracy["threshold"] - accuracy["second"]
        notes.append(
            f"The smallest certified threshold, {plan.threshold:g} points,{more} changes the accuracy by "
            f"{gained:+z.3f}."
        )
    better = plan.better_than(plan.recommended)
    notes += [
        f"{_policy(str(row['policy']), row['threshold']).capitalize()} was at least as accurate in this pilot as the "
        "recommended policy and no more expensive, but does not have the guarantee."
        for row in better.to_dict("records")
    ]
    return notes
