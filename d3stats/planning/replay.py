"""What would each stopping rule have cost, and what would it have lost?

A replay plays a log again, round by round, and stops each debate where the rule says. The verdict is the
plurality of the votes in the last played round, also if the log's protocol decided in another way (a
moderator, summed points). A replay uses votes only, and ``Trajectories.from_log(roles=...)`` chooses whose.
Every saving is reported against unanimity, the baseline, and against full depth; published savings against
full depth alone can vanish against unanimity. Intervals resample questions, never debates: debates of one
question are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice, probability
from d3stats._words import counted, percent, points
from d3stats.estimate import Estimate
from d3stats.inference.comparison.strata import Strata, by_stratum, families, plot_panels, strata_tables
from d3stats.inputs.labels import StrataOf
from d3stats.planning.cells import Write, amount, cells, change_cell, limits_of, rule_cell, share_cell
from d3stats.planning.costs import (
    PER_POINT,
    Measured,
    Outcomes,
    as_rules,
    bill,
    can_run,
    early_notes,
    measure_columns,
    measure_table,
    notes_on,
    outcomes,
    paired_change,
    paired_table,
    point_notes,
    refused_note,
    spent_by_round,
    uncounted,
    undecided,
    verdicts_at,
    votes_at_the_end,
    with_turns,
)
from d3stats.resampling import clustered_share, item_ratio
from d3stats.result import Result
from d3stats.sources import LogSource, Reading, open
from d3stats.sources.strata import item_strata
from d3stats.stopping import FullDepth, Rule, StoppingRule, Stops, Unanimity, from_text
from d3stats.stopping.text import short_name
from d3stats.trajectories import MISSING, Missing, Trajectories

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Replay", "replay"]


DEFAULT_RULES = ("fixed:1", "fixed:2")
"""The rules that are replayed where none is named."""

_SAVED = "saved_rounds_vs_unanimity"


def _per_point(row: Mapping[Any, Any]) -> str:
    text = amount(PER_POINT, 2)(row)
    return "not defined" if text == "-" and not row["undecided"] else text


_CHEAPEST = (
    *("saved", "saved_low", "saved_high", "measure", "loss", "loss_low", "loss_high"),
    *("max_loss", "level"),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Replay(Result):
    """The stops of several rules on one log, and what they cost.

    Attributes
    ----------
    trajectories : Trajectories
        The debates with turns.
    rules : tuple of StoppingRule
        The rules asked for, then unanimity and full depth where they were not among them, without those that the
        protocol of the log cannot be run with, which the notes name.
    names : tuple of str
        ``str(rule)``, the key of every table here.
    stops_of : dict
        :class:`~d3stats.stopping.Stops` by name. A debate that ended before its rule fired has its last round
        and the reason "exhausted", also if other debates were longer.
    undecided : dict
        Rules that would continue after the end of a debate, with the number of such debates. What they would
        have cost and decided is unknown, so they have no measures.
    baseline : str or None
        Name of the unanimity rule that savings are measured against; None where it cannot be run, because votes are
        cast only at the end of a debate.
    missing : {"exclude", "wrong"}
        What a debate without a verdict counts as.
    level : float
        Level of the intervals.
    notes : tuple of str
        What limits the table: debates that ended early or have no turns, coding, ties, missing votes, few
        questions, batch rules.
    strata : tuple of Strata
        By stratum and rule, where strata were asked for: accuracy, and the rounds saved against unanimity (the rounds
        themselves where unanimity is undecided). A batch rule stops as it does in the whole log.

    Examples
    --------
    >>> t = Trajectories.from_arrays(
    ...     [[["A", "A"], ["A", "A"]], [["A", "B"], ["B", "B"]], [["B", "A"], ["A", "A"]]], ["A", "B", "A"]
    ... )
    >>> found = replay(t, "fixed:1")
    >>> found.names, found.to_frame()["rounds"].round(2).tolist()
    (('fixed:1', 'unanimity', 'full'), [1.0, 1.67, 2.0])
    >>> found.stops()[["rule", "round", "share"]].round(2).values.tolist()[:3]
    [['fixed:1', 1, 1.0], ['unanimity', 1, 0.33], ['unanimity', 2, 0.67]]
    >>> found.per_debate()[["debate", "rule", "round"]].values.tolist()[:2]
    [['1', 'fixed:1', 1], ['2', 'fixed:1', 1]]
    >>> found.paired(against="full")["rule"].unique().tolist()
    ['fixed:1', 'unanimity']
    >>> found.plot().get_xlabel()
    'share of debates'
    >>> "unanimity" in found.summary()
    True
    """

    trajectories: Trajectories
    rules: tuple[StoppingRule, ...]
    names: tuple[str, ...]
    stops_of: dict[str, Stops]
    undecided: dict[str, int]
    baseline: str | None
    missing: Missing
    level: float
    notes: tuple[str, ...]
    _outcomes: dict[str, Outcomes] = field(repr=False)
    _table: pd.DataFrame = field(repr=False)
    strata: tuple[Strata, ...] = ()

    @property
    def headline(self) -> str:
        """The answer, which rule saves most among those that lost little here, and what it may lose."""
        best = self.cheapest()
        kept = "accuracy" if self._labelled else "agreement with full depth"
        if best.empty:
            if self._alone:
                return self._each_alone()
            return f"No replayed rule saves rounds of unanimity and loses at most 1 point of {kept} here."
        row = best.to_dict("records")[0]
        saved = percent(row["saved"], row["saved_low"], row["saved_high"])
        change = points(-row["loss"], -row["loss_high"], -row["loss_low"])
        excluded = row["loss_high"] <= row["max_loss"]
        so = f"so a loss over {100 * row['max_loss']:g} point is {'excluded' if excluded else 'not excluded'}"
        if row["loss_high"] < 0:
            so = "a gain"
        return f"{short_name(row['rule'])} saves most: {saved} of unanimity's rounds; {kept} {change}, {so}."

    @property
    def _alone(self) -> bool:
        """Whether the cost of unanimity is unknown, so that no rule can be held against it."""
        return bool(self._table[_SAVED].isna().all())

    def _each_alone(self) -> str:
        known = self._table[self._table["rounds"].notna()].sort_values("rounds", kind="stable")
        if known.empty:
            return "No rule has a known cost in these debates; a note has the reason."
        row = known.to_dict("records")[0]
        parts = [f"{limits_of(row, 'rounds')[0]:z.2f} rounds"]
        if self._labelled and row["accuracy"] == row["accuracy"]:
            parts.append(f"{percent(*limits_of(row, 'accuracy'))} right")
        if "tokens" in row and row["tokens"] == row["tokens"]:
            parts.append(f"{row['tokens']:z,.0f} tokens")
        rule = short_name(str(row["rule"]))
        return f"{rule} takes {', '.join(parts)} a debate; the cost of unanimity is unknown here."

    @property
    def _labelled(self) -> bool:
        return "accuracy" in self._table.columns

    def _title(self) -> str:
        kept = "accuracy" if self._labelled else "agreement with full depth"
        if self._alone:
            return f"{100 * self.level:.6g} % intervals over questions, means of a debate."
        return (
            f"{100 * self.level:.6g} % intervals over questions. Saved and change are against unanimity; "
            f"change: {kept} on the same debates, points. Flips differ from full depth."
        )

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"rules": self._table.copy(), "stops": self.stops(), **strata_tables(self.strata)}

    def _document(self) -> dict[str, Any]:
        return {**self._listed(), "notes": self.notes}

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        table, rounds = self._table, range(1, self.trajectories.n_rounds + 1)
        stops = self.stops()

        def where(row: Mapping[Any, Any]) -> str:
            of = stops[stops["rule"] == row["rule"]]
            here, unknown = of.groupby("round")["share"].sum(), of.loc[of["round"].isna(), "share"].sum()
            text = "/".join(f"{100 * here.get(r, 0.0):z.0f}" for r in rounds)
            return f"{text}, {100 * unknown:z.0f} unknown" if unknown else text

        shown = {
            "Rules": cells(
                table,
                {
                    "rule": rule_cell,
                    "rounds": self._rounds_cell(),
                    **({"accuracy": share_cell("accuracy")} if self._labelled else {}),
                    **({"tokens": amount("tokens", 0)} if "tokens" in table.columns else {}),
                }
                if self._alone
                else {
                    "rule": rule_cell,
                    "rounds": self._rounds_cell(limits=False),
                    "saved": share_cell(_SAVED, None),
                    "change": change_cell("change"),
                    "flips": lambda row: (
                        "-" if row["flips"] != row["flips"] else f"{100 * row['flips']:z.1f} %"
                    ),
                },
            ),
            "Where debates stop, and what is decided there": cells(
                table,
                {
                    "rule": rule_cell,
                    f"% stopped in round {'/'.join(map(str, rounds))}": where,
                    "rounds": self._rounds_cell(),
                    **({"accuracy": share_cell("accuracy")} if self._labelled else {}),
                    **({"premature": share_cell("premature")} if self._labelled else {}),
                },
            ),
        }
        if "tokens" in table.columns:
            # A rule that is undecided has no cost; where there is no right verdict, a cost per point has no value.
            pointed = {"tokens per accuracy point": _per_point} if PER_POINT in table.columns else {}
            shown["Tokens of each rule, for a debate"] = cells(
                table,
                {
                    "rule": rule_cell,
                    "tokens": amount("tokens", 0),
                    **pointed,
                    "saved vs unanimity": share_cell("saved_tokens_vs_unanimity"),
                    "saved vs full": share_cell("saved_tokens_vs_full"),
                },
            )
        if "seconds" in table.columns:
            shown["Seconds of each rule, for a debate by itself"] = cells(
                table,
                {
                    "rule": rule_cell,
                    "seconds": amount("seconds", 1),
                    "saved vs unanimity": share_cell("saved_seconds_vs_unanimity"),
                    "saved vs full": share_cell("saved_seconds_vs_full"),
                },
            )
        return shown

    def _rounds_cell(self, *, limits: bool = True) -> Write:
        """Write the rounds of a rule; where debates ended before it would have stopped them, their least mean."""
        known = amount("rounds", 2, limits=limits)

        def write(row: Mapping[Any, Any]) -> str:
            stops, text = self.stops_of[row["rule"]], known(row)
            if text != "-" or not undecided(self.trajectories, stops).any():
                return text
            return f"{stops.rounds.mean():z.2f} or more"

        return write

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return one row per rule, or the table with this title ("rules", "stops", "strata", "equality").

        Parameters
        ----------
        table : str, optional
            Title of a table.

        Returns
        -------
        DataFrame
            ``rule``; ``decides`` ("debate" or "batch"); ``n_debates``, ``n_questions``; ``undecided``, the
            debates that ended before the rule would have stopped them; and each measure with its limits in
            ``<measure>_low`` and ``<measure>_high``, missing for a rule that is undecided anywhere:

            - ``rounds``: mean rounds played; ``tokens``: mean tokens of a run with the rule, if known: who only votes
              is paid after every round where the rule reads votes, and else at the stop alone; ``seconds``, where the
              journal of a run has the time of its calls: the sum over rounds of how long a round took;
            - ``accuracy``: share of scored debates whose verdict is right, if there are labels;
            - ``agreement``: share whose verdict is that of full depth, and ``flips``, one minus that;
            - ``gained``, ``lost``: share right at the stop and not at full depth, and the reverse (a flip
              between two wrong answers is neither);
            - ``premature``: share of the labelled debates stopped before full depth in which more than half of the
              votes cast at the stop are for one wrong answer while full depth is right. It is missing for a rule
              that stops none early. A tied or split vote that full depth turns right is ``lost`` and not premature;
            - ``tokens_per_point``, if there are tokens and labels: mean tokens of a debate up to the stop, over the
              accuracy in percentage points (D3, table 2), both over the debates that have tokens and are scored. It is
              missing where no verdict is right or no token was spent;
            - ``saved_rounds_vs_unanimity``, ``saved_rounds_vs_full``, and the same for tokens and seconds: one minus
              the ratio of the means, negative when the rule costs more.

            When a debate ended before the log's last round, or in it by a stopping rule, full depth's verdict
            is unknown. Then ``agreement``, ``flips``, ``gained``, ``lost``, ``premature`` and what is saved against
            full depth are missing.

            - ``change``: how many more verdicts are kept than under unanimity, over the debates that count under both,
              with paired t limits: right ones, or without labels those of full depth. Rules are compared by this, since
              two accuracies can be of different debates.

            Then ``level, missing``.
        """
        return self._table.copy() if table is None else super().to_frame(table)

    def paired(self, against: str | StoppingRule | None = None) -> pd.DataFrame:
        """Return differences between rules on the same debates, with intervals.

        Parameters
        ----------
        against : str or StoppingRule, optional
            Compare every rule with this one; by default every pair of rules. Rules that are undecided in a
            debate are left out.

        Returns
        -------
        DataFrame
            ``rule, against, measure, difference, low, high, n_debates, level``. Measures
            are ``accuracy`` (over the debates that are scored under both rules, with the limits of the paired t of
            :func:`~d3stats.inference.paired_difference`), ``rounds`` and ``tokens``.
        """
        return paired_table(self._pairs(against), self._outcomes, self.trajectories.cluster, self.level)

    def cheapest(self, max_loss: float = 0.01) -> pd.DataFrame:
        """Choose the rule that saves most rounds against unanimity among those that lose few verdicts.

        The loss of a rule is the accuracy of unanimity minus that of the rule, over the debates that are scored under
        both. Without labels it is how many more of its verdicts differ from full depth's. Rules that look at right
        answers are left out, because no running debate has them. The estimates choose; the limits show how
        much more the rule may lose.

        Parameters
        ----------
        max_loss : float
            The largest estimated loss, in [0, 1].

        Returns
        -------
        DataFrame
            One row, or none where no rule keeps to the loss and saves rounds: ``rule``; ``saved`` (a share of
            unanimity's rounds), ``saved_low, saved_high``; ``measure`` ("accuracy" or "flips") of ``loss``,
            ``loss_low, loss_high``; ``max_loss, level``.

        Examples
        --------
        >>> t = Trajectories.from_arrays(
        ...     [[["A", "A"], ["A", "A"]], [["A", "B"], ["A", "A"]], [["B", "A"], ["B", "B"]]], ["A", "A", "B"]
        ... )
        >>> replay(t, "fixed:1").cheapest()[["rule", "saved", "loss"]].round(2).values.tolist()
        [['fixed:1', 0.4, 0.0]]
        """
        max_loss = probability("max_loss", max_loss)
        named = zip(self.rules, self.names, strict=True)
        peeks = [name for rule, name in named if any(part.needs_labels for part in rule.parts())]
        table = self._table[~self._table["rule"].isin(peeks)]
        kept = table[table[_SAVED] > 0]  # False where it is unknown
        kept = kept.assign(
            loss=0.0 - kept["change"], loss_low=-kept["change_high"], loss_high=-kept["change_low"]
        )
        kept = kept[kept["loss"] <= max_loss].sort_values(_SAVED, ascending=False, kind="stable").head(1)
        kept = kept.rename(columns={f"{_SAVED}{end}": f"saved{end}" for end in ("", "_low", "_high")})
        kept = kept.assign(measure="accuracy" if self._labelled else "flips", max_loss=max_loss)
        return kept.reset_index(drop=True)[["rule", *_CHEAPEST]]

    def stops(self) -> pd.DataFrame:
        """Return ``rule, round, share, reason``: which share of the debates stopped where and why.

        The reason "log_ended" with no round is for debates that ended before the rule would have stopped them.
        """
        frames = [self._stops_frame(name) for name in self.names]
        return pd.concat(frames, ignore_index=True)[["rule", "round", "share", "reason"]]

    def _stops_frame(self, name: str) -> pd.DataFrame:
        stops = self.stops_of[name]
        ended = undecided(self.trajectories, stops)
        frame = Stops(stops.rounds[~ended], stops.reasons[~ended]).to_frame()
        frame["share"] *= (~ended).mean()
        if ended.any():
            last = pd.DataFrame({"round": [pd.NA], "reason": [LOG_ENDED], "share": [ended.mean()]})
            parts = [frame.astype({"round": "Int64"}), last.astype({"round": "Int64"})]
            frame = pd.concat([part for part in parts if len(part)], ignore_index=True)
        return frame.assign(rule=name)

    def per_debate(self) -> pd.DataFrame:
        """Return one row per debate and rule: where it stopped, why, and with which verdict.

        Returns
        -------
        DataFrame
            ``debate, question, log, rule, round, reason, verdict, label, full_verdict`` (None where there
            is none), ``correct`` (missing without a label or, with ``missing="exclude"``, a verdict),
            ``tied``, ``flipped`` (missing where the debate is not compared) and, if known, ``tokens``. Where
            the debate ended before the rule would have stopped it, the reason is "log_ended" and round, verdict
            and what follows from them are missing.
        """
        t = self.trajectories
        answers = np.array([*t.answers, None], dtype=object)
        final = np.where(t.ended_early(), MISSING, verdicts_at(t, t.depth)[0])
        questions = np.array(t.cluster_names, dtype=object)[t.cluster]
        parts = []
        for name in self.names:
            stops, result = self.stops_of[name], self._outcomes[name]
            ended = undecided(t, stops)
            known = (t.label != MISSING) & ((result.verdict != MISSING) | (self.missing == "wrong")) & ~ended
            rounds = pd.Series(stops.rounds)
            part = pd.DataFrame(
                {
                    "debate": t.debates,
                    "question": questions,
                    "log": t.groups if t.groups else "",
                    "rule": name,
                    "round": rounds.astype("Int64").mask(ended) if self.undecided else rounds,
                    "reason": np.where(ended, LOG_ENDED, stops.reasons.astype(object)),
                    "verdict": answers[np.where(ended, MISSING, result.verdict)],
                    "label": answers[t.label],
                    "full_verdict": answers[final],
                    "correct": _where_known(result.verdict == t.label, known),
                    "tied": result.tied & ~ended,
                    "flipped": _where_known(result.flips, result.compared & ~ended),
                }
            )
            spent = {kind: np.where(ended, np.nan, amount) for kind, amount in result.spent.items()}
            parts.append(part.assign(**spent))
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> str:
        """Return the answer, the tables, the notes, and what there is by stratum, as plain text."""
        return "\n".join([super().summary(), *map(str, self.strata)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw where each rule stopped the debates and why.

        With strata, draw beside it the accuracy of every rule by stratum and the rounds that it saved; in given axes
        draw the first of these alone.
        """
        from d3stats.plotting import plot_stop_rounds

        if self.strata:
            return plot_panels(
                families(self.strata), ax, before=lambda axes: plot_stop_rounds(self.stops(), ax=axes)
            )
        return plot_stop_rounds(self.stops(), ax=ax)

    def _pairs(self, against: str | StoppingRule | None) -> list[tuple[str, str]]:
        decided = [name for name in self.names if name not in self.undecided]
        if against is None:
            return [(a, b) for i, a in enumerate(decided) for b in decided[i + 1 :]]
        name = str(from_text(against) if isinstance(against, str) and against not in self.names else against)
        choice("against", name, self.names)
        if name in self.undecided:
            raise ValueError(
                f"against must stop every debate within its logged rounds; got {name!r}, which would "
                f"continue in {self.undecided[name]} of {self.trajectories.n_debates} debates"
            )
        return [(other, name) for other in decided if other != name]


LOG_ENDED = "log_ended"
"""The reason of a debate that ended before the rule would have stopped it: no :class:`StopReason` of the rule."""


def _where_known(values: NDArray[np.bool_], known: NDArray[np.bool_]) -> pd.Series:
    return pd.Series(values).astype("boolean").where(pd.Series(known))


def replay(
    trajectories: LogSource,
    rules: StoppingRule | str | Sequence[StoppingRule | str] = DEFAULT_RULES,
    *,
    missing: Missing = "exclude",
    level: float = 0.95,
    strata: StrataOf = None,
    **reading: Unpack[Reading],
) -> Replay:
    """Replay stopping rules over a log and say what each would have cost and lost.

    Parameters
    ----------
    trajectories : Trajectories, or what :func:`d3stats.as_trajectories` takes
        The logged debates, played deeper than the rules would have; debates without turns are left out. A
        rule that would continue in a debate that ended has no measures (see :meth:`Replay.to_frame`).
    rules : rule, text, or sequence of them
        Rules to replay, as "fixed:2", "unanimity" or "ks:0.05,patience=1"; default: fixed:1 and fixed:2. Text is read
        by :func:`d3stats.stopping.from_text`. Unanimity and full depth are added when absent; the first ``Unanimity``
        among the rules is the one that savings are measured against. A rule that is named twice is taken once.
    missing : {"exclude", "wrong"}
        A debate without any vote at its stop has no verdict: leave it out of accuracy and agreement, or
        count it as not correct and as differing from any verdict.
    level : float
        Level of the intervals over questions, in (0, 1): cluster Wilson of shares, the paired t of changes, else
        skewness-adjusted cluster t, of savings on the log scale.
    strata : str, mapping or Series, optional
        The column that says a debate's kind (category, task, difficulty), or the kind of each debate by its name. The
        accuracy of every rule and the rounds that it saves against unanimity are then also estimated by stratum, with
        cluster Wilson and cluster t intervals; see :mod:`d3stats.inference.comparison.strata`.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Replay

    Raises
    ------
    ValueError
        When there is no debate with turns, no vote (unless a rule reads scores), fewer than two questions, two
        different rules with one name, or a rule that needs labels where there are none.

    Examples
    --------
    >>> t = Trajectories.from_arrays(
    ...     [[["A", "A"], ["A", "A"]], [["A", "B"], ["B", "B"]], [["B", "A"], ["A", "A"]]], ["A", "B", "A"]
    ... )
    >>> frame = replay(t, "fixed:1").to_frame()
    >>> frame[["rule", "rounds", "accuracy", "saved_rounds_vs_unanimity"]].round(2)
            rule  rounds  accuracy  saved_rounds_vs_unanimity
    0    fixed:1    1.00      0.33                        0.4
    1  unanimity    1.67      1.00                        0.0
    2       full    2.00      1.00                       -0.2
    """
    choice("missing", missing, ("exclude", "wrong"))
    level = probability("level", level, open_interval=True)
    opened = open(trajectories, **reading)
    kinds = None if strata is None else item_strata(opened, strata)
    recorded = opened.aside(strata).recorded()
    decided = recorded.note()
    trajectories, absent = with_turns(recorded.trajectories)
    n_clusters = len(np.unique(trajectories.cluster))
    if n_clusters < 2:
        raise ValueError(
            f"trajectories must hold at least 2 questions, because intervals are over questions; "
            f"got {n_clusters}"
        )
    given, repeated = as_rules(rules, baselines=True, panel=int(trajectories.panel.max()))
    if not (trajectories.votes != MISSING).any() and not any("scores" in rule.reads for rule in given):
        raise ValueError(
            "trajectories must hold at least one vote, or a rule must read scores; got neither, so no debate has "
            "a verdict; d3stats doctor shows what was read"
        )
    every = tuple(rule for rule in given if can_run(trajectories, rule))
    refused = [rule for rule in given if rule not in every]
    names = tuple(map(str, every))
    stops = {name: rule.stop_rounds(trajectories) for name, rule in zip(names, every, strict=True)}
    took = None if trajectories.seconds is None else spent_by_round(trajectories, trajectories.seconds)
    results = {
        name: outcomes(
            trajectories, stops[name].rounds, missing, tokens=bill(trajectories, rule), seconds=took
        )
        for name, rule in zip(names, every, strict=True)
    }
    baseline = next((str(rule) for rule in every if isinstance(rule, Unanimity)), None)
    usual = str(next(rule for rule in given if isinstance(rule, Unanimity)))
    full = next(name for rule, name in zip(every, names, strict=True) if isinstance(rule, FullDepth))
    ended = {name: int(undecided(trajectories, stops[name]).sum()) for name in names}
    ended = {name: count for name, count in ended.items() if count}
    shortened = {name for name in names if (stops[name].rounds < trajectories.depth).any()}
    at_the_end = votes_at_the_end(trajectories)
    if at_the_end and missing == "exclude":
        # Only debates that ended at such a stop by themselves have a verdict there: a selection.
        results |= {name: uncounted(results[name]) for name in shortened}
    unpolled = baseline is not None and at_the_end
    unusable = (baseline,) if baseline is not None and unpolled else ()
    columns = measure_columns(
        results,
        {"unanimity": baseline, "full": full},
        labelled=bool((trajectories.label != MISSING).any()),
        undecided=ended,
        unusable=unusable,
    )
    limits = columns.limits(trajectories.cluster, level)
    about = pd.DataFrame(
        {
            "rule": names,
            "decides": ["debate" if isinstance(rule, Rule) else "batch" for rule in every],
            "n_debates": trajectories.n_debates,
            "n_questions": n_clusters,
            "undecided": [ended.get(name, 0) for name in names],
        }
    )
    table = measure_table(about, columns, limits, level).assign(missing=missing)
    usable = baseline is not None and baseline not in ended and not unpolled
    labelled = "accuracy" in table.columns
    changes = [
        paired_change(
            results[name],
            results[str(baseline)],
            trajectories.cluster,
            level,
            "accuracy" if labelled else "agreement",
        )
        if usable and name not in ended
        else Measured()
        for name in names
    ]
    table = table.assign(
        change=[each.value for each in changes],
        change_low=[each.low for each in changes],
        change_high=[each.high for each in changes],
    )
    uncosted = {
        name for name, result in results.items() if np.isnan(result.spent.get("tokens", np.zeros(1))).all()
    }
    parts: tuple[Strata, ...] = ()
    if kinds is not None:
        labels = kinds.labels(list(trajectories.debates), "debate", unit="debate")
        played = {name: result for name, result in results.items() if name not in ended}
        against = None if baseline is None or unpolled else played.get(baseline)
        names_of = trajectories.cluster_names
        measure = _measured(played, against, trajectories.cluster, level)
        parts = by_stratum(labels, trajectories.cluster, measure, bounds=_bounds(played), names=names_of)
    return Replay(
        strata=parts,
        trajectories=trajectories,
        rules=every,
        names=names,
        stops_of=stops,
        undecided=ended,
        baseline=baseline,
        missing=missing,
        level=level,
        # What was said when the log was read comes first, and once.
        notes=tuple(
            dict.fromkeys(
                (
                    *trajectories.remarks(),
                    *([decided] if decided else []),
                    *early_notes(trajectories, absent, every, ended, usual),
                    *refused_note(trajectories, refused),
                    *(
                        [
                            f"Savings against {baseline} are left out, because no debate has a vote before its last "
                            "round."
                        ]
                        * unpolled
                    ),
                    *repeated,
                    *notes_on(trajectories, every, names, results, missing, shortened, level, ended),
                    *point_notes(table, results, {*ended, *uncosted}),
                    *_untimed(took),
                )
            )
        ),
        _outcomes=results,
        _table=table,
    )


def _untimed(took: NDArray[np.float64] | None) -> list[str]:
    gone = 0 if took is None else int(np.isnan(took[:, 0]).sum())
    if took is None or not gone:
        return []
    return [f"Seconds leave out {gone} of {counted(len(took), 'debate')}, in which some call has no time."]


ACCURACY, ROUNDS, SAVED = "accuracy", "rounds", "rounds saved against unanimity"
"""Quantities by stratum, each followed by a rule's name."""


def _bounds(results: Mapping[str, Outcomes]) -> dict[str, tuple[float, float]]:
    shares = {f"{ACCURACY}, {name}": (0.0, 1.0) for name in results}
    return shares | {f"{SAVED}, {name}": (-np.inf, 1.0) for name in results}


def _measured(
    results: Mapping[str, Outcomes], baseline: Outcomes | None, cluster: NDArray[np.int64], level: float
) -> Callable[[NDArray[np.bool_]], list[Estimate]]:
    """Return what estimates the measures of every rule on some debates."""

    def measure(rows: NDArray[np.bool_]) -> list[Estimate]:
        found = []
        here = cluster[rows]
        for name, result in results.items():
            scored = result.column("scored")[rows]
            if scored.any():
                right = result.column("correct")[rows]
                share = clustered_share(right, scored, here, level=level, name=ACCURACY)
                found.append(share.about(name))
            rounds = result.column("rounds")[rows]
            if baseline is None:
                mean = item_ratio(ROUNDS, rounds, np.ones(len(rounds)), here, level=level, tested=False)
                found.append(mean.about(name))
            elif result is not baseline:
                of = baseline.column("rounds")[rows]
                found.append(item_ratio(SAVED, of - rounds, of, here, level=level).about(name))
        return found

    return measure
