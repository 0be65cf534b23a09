"""What do models and rules read? The array view of a debate log.

A simulated, an imported and a live debate look the same here. The value is immutable: operations return a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Ints
from d3stats._check import LARGEST, choice, flags, refuse_first, whole_numbers
from d3stats.counts import ConfusionCounts, RoundCounts, TransitionCounts
from d3stats.log.arrays import (
    MISSING,
    arrays_of,
    fields_from_arrays,
    refuse_repeats,
    seat_names,
    tally_rounds,
)
from d3stats.log.deciding import decided, tie_rule
from d3stats.log.problems import DEBATES_OF_A_NOTE, TOLERATED
from d3stats.note import Note, kind_of
from d3stats.plausibility import OF_NUMBERS, Finding, VoteTable, findings, warnings_of
from d3stats.polling import Polling
from d3stats.values import missing_words, shared_spelling

if TYPE_CHECKING:
    from d3stats.log.column_names import Columns
    from d3stats.log.consistency import Checked

__all__ = ["MISSING", "Missing", "Trajectories", "tally_rounds"]

Missing = Literal["exclude", "wrong"]
"""The ways to count a missing vote: leave it out (trials vary) or count it as not correct."""


_POLLS = ("poll_tokens", "poll_tokens_in", "poll_tokens_out")

_PER_DEBATE = (
    *("votes", "label", "depth", "panel", "cluster", "scores", "tokens", "tokens_in", "tokens_out"),
    *("confidence", "speakers", "stopped_by_rule", "polled", *_POLLS, "polling", "ended_itself", "seconds"),
)
"""Arrays with a row for each debate; so has ``spoke``."""


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories:
    """Votes, scores and tokens of many debates over their rounds.

    Build one with :meth:`from_arrays`, :meth:`from_frame` or :meth:`from_log`.

    Attributes
    ----------
    votes : ndarray of int32, shape (debates, rounds, seats)
        Answer codes, indices into ``answers``; ``MISSING`` where no vote could be read, where the seat is
        empty, and in rounds that the debate did not reach.
    label : ndarray of int32, shape (debates,)
        Code of the right answer, ``MISSING`` when unknown.
    depth : ndarray of int64, shape (debates,)
        How many rounds each debate was played.
    panel : ndarray of int64, shape (debates,)
        How many seats are taken; a debate's agents have the seats ``0 .. panel - 1``.
    cluster : ndarray of int64, shape (debates,)
        Which question each debate belongs to, an index into ``cluster_names``: the unit of resampling.
    answers : tuple of str
        The values of the codes.
    debates, seats, cluster_names : tuple of str
        Names along the axes. The seats of a log or table are its agents in the order of their names.
    scores : ndarray of float or None, shape (debates, rounds, sides)
        Raw points, NaN where missing.
    sides : tuple of str
        Names of the last axis of ``scores``.
    tokens : ndarray of float or None, shape (debates, rounds)
        Prompt plus completion tokens of a round, NaN where not recorded.
    spoke : ndarray of bool or None, shape (debates, rounds, seats)
        Which seats had a turn: a jury that is asked at the end has none before, so its votes are not missing there.
        None where every seat had a turn in every round of its debate, or nothing is known.
    groups : tuple of str
        The run or condition of each debate, "" when there is none.
    questions : tuple of str
        The question of each debate, "" where the log does not say; empty where it says of none. Debates of one question
        have one right answer. The cluster may be larger, as a topic is.
    tokens_in, tokens_out : ndarray of float or None, shape (debates, rounds)
        Prompt and completion tokens of a round where they are recorded apart; their sum is ``tokens``.
    coding : {"answers", "correctness"}
        Whether votes are answers or only right/wrong. With "correctness" two wrong votes look equal, so
        unanimity among wrong votes is an assumption, not an observation.
    speakers : ndarray of int8 or None, shape (debates, speakers)
        The agents that spoke in a debate, in the order of names: 1 with a seat, 0 without one because the role casts no
        vote in the whole log, -1 no further agent. None where all have a seat.
    stopped_by_rule : ndarray of bool or None, shape (debates,)
        Which debates a stopping rule ended, by the reasons in the log, although their run allowed more rounds. Their
        later rounds are unknown. None where the reasons of all ends are unknown; see :meth:`ended_early`.
    polled : ndarray of bool or None, shape (debates, rounds)
        In which rounds those who only vote (``d3stats.polling``) were asked, so that their tokens are part of
        ``tokens``. None where every vote is part of what an agent says to the others.
    poll_tokens, poll_tokens_in, poll_tokens_out : ndarray of float or None, shape (debates, rounds)
        The cost of asking them after a round, NaN where it is not known; with ``polled`` alone.
    polling : ndarray of int16 or None, shape (debates,)
        Which of ``pollings`` says how the protocol of the debate decides; -1 where that is not known, so that the
        plurality decides, and the lowest seat where votes are tied. None is -1 everywhere.
    pollings : tuple of Polling
        How the protocols of the log decide, with their settings; see ``d3stats.polling``.
    ended_itself : ndarray of bool or None, shape (debates,)
        Which debates their protocol ended, as it does under any stopping rule: their last round is their full depth.
        None where no protocol does so.
    seconds : ndarray of float or None, shape (debates, rounds)
        How long each round took, from the journal of a run: calls made at once take as long as the slowest of them.
    confidence : ndarray of float or None, shape (debates, rounds, seats)
        Probability, from 0 to 1, that each seat gave its vote of being right, NaN where it gave none.
    notes : tuple of str
        What the reader did: words taken as missing, spellings taken as one, columns not read. It does not take part
        in comparisons.

    Examples
    --------
    >>> t = Trajectories.from_arrays([[["A", "B", "A"], ["A", "A", "A"]]], label=["A"])
    >>> t.successes_trials()[0].tolist()
    [[2, 3]]
    >>> t.unanimous().tolist()
    [[False, True]]
    >>> import pandas as pd
    >>> turns = pd.DataFrame({"debate": ["d1", "d1", "d2", "d2"], "agent": ["x", "y"] * 2, "vote": list("AAAB")})
    >>> debates = Trajectories.from_frame(turns.assign(round=1, label="A"))
    >>> debates.verdicts().tolist(), debates.tied().tolist(), debates.unanimous().tolist()
    ([[0], [0]], [[False], [True]], [[True], [False]])
    >>> debates.reached().tolist(), debates.ended_early().tolist(), bool(debates.had_turns().all())
    ([[True], [True]], [False, False], True)
    >>> debates.counts().to_frame().values.tolist(), debates.transitions().n_obs
    ([[1.0, 1.0, 2.0, 1.0], [1.0, 2.0, 2.0, 1.0]], 0.0)
    >>> debates.confusion(1).to_frame().values.tolist()
    [[2.0]]
    >>> debates.tie_rule()
    'goes to the tied answer in the lowest seat (agents in the order of their names)'
    >>> debates.select([0]).debates, debates.remarks()
    (('d1',), ())
    """

    votes: NDArray[np.int32]
    label: NDArray[np.int32]
    depth: Ints
    panel: Ints
    cluster: Ints
    answers: tuple[str, ...]
    debates: tuple[str, ...]
    seats: tuple[str, ...]
    cluster_names: tuple[str, ...]
    scores: NDArray[np.float64] | None = None
    sides: tuple[str, ...] = ()
    tokens: NDArray[np.float64] | None = None
    groups: tuple[str, ...] = ()
    coding: Literal["answers", "correctness"] = "answers"
    tokens_in: NDArray[np.float64] | None = None
    tokens_out: NDArray[np.float64] | None = None
    speakers: NDArray[np.int8] | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)
    spoke: NDArray[np.bool_] | None = field(default=None, compare=False)
    stopped_by_rule: NDArray[np.bool_] | None = None
    questions: tuple[str, ...] = ()
    polled: NDArray[np.bool_] | None = None
    poll_tokens: NDArray[np.float64] | None = None
    poll_tokens_in: NDArray[np.float64] | None = None
    poll_tokens_out: NDArray[np.float64] | None = None
    polling: NDArray[np.int16] | None = None
    pollings: tuple[Polling, ...] = ()
    ended_itself: NDArray[np.bool_] | None = None
    seconds: NDArray[np.float64] | None = None
    confidence: NDArray[np.float64] | None = None
    _cache: dict[str, Any] = field(default_factory=dict, init=False, compare=False)

    def __post_init__(self) -> None:
        _refuse_contradictions(self)
        for name in (*_PER_DEBATE, "spoke"):
            if getattr(self, name) is not None:
                getattr(self, name).setflags(write=False)

    def __repr__(self) -> str:
        return (
            f"Trajectories({self.n_debates} debates x {self.n_rounds} rounds x {len(self.seats)} seats, "
            f"{len(self.cluster_names)} questions, coding={self.coding!r})"
        )

    def __len__(self) -> int:
        return self.n_debates

    # ---------------------------------------------------------------- building

    @classmethod
    def from_arrays(
        cls,
        votes: ArrayLike,
        label: ArrayLike | None = None,
        *,
        cluster: Sequence[Any] | None = None,
        answers: Sequence[str] | None = None,
        scores: ArrayLike | None = None,
        sides: Sequence[str] = (),
        tokens: ArrayLike | None = None,
        tokens_in: ArrayLike | None = None,
        tokens_out: ArrayLike | None = None,
        debates: Sequence[str] | None = None,
        seats: Sequence[str] | None = None,
        groups: Sequence[str] = (),
        depth: ArrayLike | None = None,
        panel: ArrayLike | None = None,
        stopped_by_rule: ArrayLike | None = None,
        confidence: ArrayLike | None = None,
        coding: Literal["answers", "correctness"] = "answers",
        missing_values: Iterable[str] | None = None,
    ) -> Trajectories:
        """Build from arrays.

        Parameters
        ----------
        votes : array, shape (debates, rounds, seats)
            Either answers of any kind (strings, numbers, booleans; what is missing says :mod:`d3stats.values`), or,
            with `answers`, codes.
        label : array, shape (debates,), optional
            The right answers, in the same form as `votes`.
        cluster : sequence, optional
            What each debate is resampled with; missing, or not given, a debate is its own cluster.
        tokens : array, shape (debates, rounds), optional
            Prompt and completion tokens together; by default the sum of `tokens_in` and `tokens_out`.
        tokens_in, tokens_out : array, shape (debates, rounds), optional
            Prompt and completion tokens, which have different prices; both or none.
        depth, panel : array, shape (debates,), optional
            Rounds played and seats taken; by default all of them.
        stopped_by_rule : array of bool, shape (debates,), optional
            Which debates a stopping rule ended, so that nothing is known of what would have followed.
        confidence : array, shape (debates, rounds, seats), optional
            Probability, from 0 to 1, of each vote's being right as its seat gave it; NaN where it gave none.
        missing_values : iterable of str, optional
            The words that mean missing, in place of :data:`d3stats.values.MISSING_WORDS`.

        Raises
        ------
        ValueError
            When shapes disagree or a code is outside the answers.
        """
        fields = fields_from_arrays(
            votes,
            label,
            cluster,
            answers,
            (tokens, tokens_in, tokens_out),
            debates,
            groups,
            missing_values,
        )
        n_debates, n_rounds, n_seats = fields["votes"].shape
        return cls(
            **fields,
            depth=np.full(n_debates, n_rounds) if depth is None else whole_numbers("depth", depth),
            panel=np.full(n_debates, n_seats) if panel is None else whole_numbers("panel", panel),
            seats=tuple(seats) if seats is not None else seat_names(n_seats),
            scores=None if scores is None else np.array(scores, dtype=np.float64),
            sides=tuple(sides),
            coding=coding,
            stopped_by_rule=None if stopped_by_rule is None else flags("stopped_by_rule", stopped_by_rule),
            confidence=None if confidence is None else np.array(confidence, dtype=np.float64),
        )

    @classmethod
    def from_frame(
        cls,
        turns: pd.DataFrame,
        items: pd.DataFrame | None = None,
        *,
        roles: Iterable[str] | None = None,
        missing_values: Iterable[str] | None = None,
        columns: Columns = None,
        strict: bool = True,
    ) -> Trajectories:
        """Build from a table: one row per turn, or a wide one, of pandas, polars or Arrow.

        Seats are for agents who vote. A role that never votes in the whole table (an advocate, an aggregator, a
        judge who scores beside a jury) gets none, so that it has no missing votes. Rounds in which only such
        roles speak are rounds without votes, and their tokens and scores count like all others. Turns without a
        role have seats; where no agent votes, all turns have. A round's tokens are the sum over its turns. Its
        scores, by side, are the mean of the agents' totals over the criteria, over the agents that scored all sides.
        Where several roles score the debates of a run, only the scores of the first of ``judge``, ``evaluator`` and
        ``referee`` count. The notes count the turns that were left out.

        Parameters
        ----------
        turns : DataFrame
            Columns ``debate, round, agent`` and either ``vote`` or ``correct`` (0/1, NaN missing); optional
            ``role``, ``tokens`` (or ``tokens_in, tokens_out``), ``scores`` (dicts: side, criterion, points) and,
            when `items` is not given, ``label, question, cluster, log, protocol, stop_reason`` (one value per debate).
        items : DataFrame, optional
            One row per debate: ``debate`` and any of ``label, question, cluster, log, protocol, stop_reason``. The
            reason of a verdict says whether a stopping rule ended the debate (``stopped_by_rule``).
        roles : iterable of str, optional
            Only the turns of these roles are read. They have the seats, and the tokens and scores of others are left
            out.
            A debate ends with the last round in which one of them speaks.
        missing_values, columns, strict
            As in :func:`d3stats.read_log`. A missing word among the ``answers`` of `items` is an answer.

        Raises
        ------
        ValueError
            When a column is absent, an agent speaks twice in a round, a label changes within a debate, or a
            round is skipped.
        """
        from d3stats.log.consistency import check
        from d3stats.log.table_reader import records_of_table

        checked = check(records_of_table(turns, items, columns=columns), missing_words(missing_values))
        return cls._from_checked(checked.strictly() if strict else checked.leniently(), roles)

    @classmethod
    def from_log(
        cls,
        *paths: str | Path,
        strict: bool = True,
        roles: Iterable[str] | None = None,
        missing_values: Iterable[str] | None = None,
        columns: Columns = None,
        encoding: str | None = None,
    ) -> Trajectories:
        r"""Read log files (JSONL, Parquet, CSV, TSV or XLSX, globs allowed) and build the array view.

        `roles` is that of :meth:`from_frame`; the other arguments are those of :func:`d3stats.read_log`.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.csv"
        >>> _ = path.write_text("debate,round,agent,vote,label\nd,1,x,A,A\nd,1,y,B,A\n")
        >>> Trajectories.from_log(path)
        Trajectories(1 debates x 1 rounds x 2 seats, 1 questions, coding='answers')
        """
        from d3stats.log.reader import read_checked

        checked = read_checked(
            paths, strict=strict, missing_values=missing_values, columns=columns, encoding=encoding
        )
        return cls._from_checked(checked, roles)

    @classmethod
    def _from_checked(
        cls, checked: Checked, roles: Iterable[str] | None = None, *, by_name: bool = True
    ) -> Trajectories:
        return cls(**arrays_of(checked, roles, by_name=by_name))

    # ---------------------------------------------------------------- shape

    @property
    def n_debates(self) -> int:
        """Number of debates."""
        return int(self.votes.shape[0])

    @property
    def n_rounds(self) -> int:
        """Number of rounds of the longest debate."""
        return int(self.votes.shape[1])

    @property
    def rounds(self) -> tuple[int, ...]:
        """Round numbers along the second axis, from 1."""
        return tuple(range(1, self.n_rounds + 1))

    def select(self, debates: ArrayLike) -> Trajectories:
        """Keep some debates (a boolean mask or indices, repeats allowed), without notes on the others alone."""
        at = np.asarray(debates)
        if at.dtype == bool:
            if at.shape != (self.n_debates,):
                raise ValueError(f"debates must be one flag per debate ({self.n_debates}); got {at.size}")
            at = np.flatnonzero(at)
        at = at.astype(np.int64) if at.size == 0 else at
        names = np.asarray(self.debates, dtype=object)[at]
        used, cluster = np.unique(self.cluster[at], return_inverse=True)
        kept: dict[str, Any] = {}
        for name in (*_PER_DEBATE, "spoke"):
            array = getattr(self, name)
            kept[name] = None if array is None else array[at]
        return replace(
            self,
            **kept | {"cluster": cluster.astype(np.int64)},
            debates=tuple(names),
            cluster_names=tuple(self.cluster_names[i] for i in used),
            groups=tuple(np.asarray(self.groups, dtype=object)[at]) if self.groups else (),
            questions=tuple(np.asarray(self.questions, dtype=object)[at]) if self.questions else (),
            notes=tuple(note for note in self.notes if not _elsewhere(note, set(names))),
        )

    @classmethod
    def concat(cls, *parts: Trajectories) -> Trajectories:
        """Put debates of several logs together; questions of the same name stay one cluster.

        Raises
        ------
        ValueError
            When a debate's name occurs twice or the parts are coded differently.

        Examples
        --------
        >>> a = Trajectories.from_arrays([[["A", "B"]]], ["A"], debates=["d1"])
        >>> b = Trajectories.from_arrays([[["C", "A", "C"]]], ["C"], debates=["d2"])
        >>> Trajectories.concat(a, b).verdicts().ravel().tolist()
        [0, 2]
        """
        return cls(**_concatenated(parts))

    # ---------------------------------------------------------------- what the votes say

    def reached(self) -> NDArray[np.bool_]:
        """Which debates played which rounds, shape (debates, rounds)."""
        return np.arange(self.n_rounds)[None, :] < self.depth[:, None]

    def ended_early(self) -> NDArray[np.bool_]:
        """Which debates ended before the log's last round, or in it by a stopping rule, shape (debates,).

        The decisions and costs of their later rounds are unknown. A debate that its protocol ended has none.
        """
        short: NDArray[np.bool_] = self.depth < self.n_rounds
        short = short if self.stopped_by_rule is None else short | self.stopped_by_rule
        return short if self.ended_itself is None else short & ~self.ended_itself

    def without_polls(self) -> Trajectories:
        """Return the debates with the tokens of runs without polls.

        Those are what a rule sees that reads no votes: under it the voters are asked once, when the debate is over.

        Examples
        --------
        >>> from d3stats.worlds import Courtroom, simulate_debates
        >>> polled = simulate_debates(Courtroom(poll="every_round"), 2, 3, rng=1)
        >>> bool((polled.without_polls().tokens < polled.tokens).all())
        True
        """
        if self.polled is None:
            return self
        if "without_polls" not in self._cache:
            kept: dict[str, Any] = {"polled": None}
            for kind in ("tokens", "tokens_in", "tokens_out"):
                cost, polls = getattr(self, kind), getattr(self, f"poll_{kind}")
                if cost is not None:
                    kept[kind] = cost - np.where(self.polled, np.nan if polls is None else polls, 0.0)
                kept[f"poll_{kind}"] = None
            self._cache["without_polls"] = replace(self, **kept)
        result: Trajectories = self._cache["without_polls"]
        return result

    def successes_trials(self, missing: Missing = "exclude") -> tuple[Ints, Ints]:
        """Count correct votes and votes, both of shape (debates, rounds); zero where a round was not reached.

        Debates without a label have zero trials: whether their votes are right is unknown.
        """
        choice("missing", missing, ("exclude", "wrong"))
        key = f"successes_trials/{missing}"
        if key not in self._cache:
            known = (self.label != MISSING)[:, None]
            successes = self._over_seats(lambda seat: (seat == self.label[:, None]) & (seat != MISSING))
            if missing == "exclude":
                trials = self._over_seats(lambda seat: seat != MISSING)
            else:
                # Where nobody was asked no vote is missing.
                trials = self.panel[:, None] * self.had_turns().any(axis=2)
            self._cache[key] = _frozen(successes * known, trials * known)
        result: tuple[Ints, Ints] = self._cache[key]
        return result

    def _over_seats(self, indicator: Callable[[NDArray[np.int32]], NDArray[np.bool_]]) -> Ints:
        # Seat by seat: a sum over a short last axis is several times slower.
        total = np.zeros(self.votes.shape[:2], dtype=np.int64)
        for seat in range(self.votes.shape[2]):
            total += indicator(self.votes[:, :, seat])
        return total

    def unanimous(self) -> NDArray[np.bool_]:
        """Which rounds saw every vote cast equal, at least one vote cast; shape (debates, rounds).

        With ``coding="correctness"`` wrong votes are taken as equal to each other.
        """
        high = self.votes.max(axis=2, initial=MISSING)
        low = np.where(self.votes == MISSING, np.iinfo(np.int32).max, self.votes).min(
            axis=2, initial=np.iinfo(np.int32).max
        )
        result: NDArray[np.bool_] = (high == low) & (high != MISSING)
        return result

    def verdicts(self) -> NDArray[np.int32]:
        """Decision of a debate that stops after each round, shape (debates, rounds); ``MISSING`` for none.

        The plurality of the round's votes decides, or what the protocol of the log decides by (``pollings``). A tie is
        decided as there: by the judge's scores, or not at all, which is ``MISSING`` too. Where no protocol is known, a
        tie goes to the tied answer in the lowest seat; :meth:`tied` returns where votes were tied. Seats are the agents
        of a debate in the order of their names (``agent 10`` after ``agent 9``), also those of a wide table; an array
        keeps its order.
        """
        return self._decided()[0]

    def tied(self) -> NDArray[np.bool_]:
        """Which rounds had two or more answers in the lead, shape (debates, rounds)."""
        return self._decided()[1]

    def _decided(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the decisions and the ties, as the protocols decide."""
        if "decided" not in self._cache:
            winner, tied = self._tally()[:2]
            if self.polling is not None:
                winner, tied = winner.copy(), tied.copy()
                for code, polling in enumerate(self.pollings):
                    of_it = self.polling == code
                    # What a seat says by its place needs panels without empty seats.
                    for panel in np.unique(self.panel[of_it]).tolist():
                        rows = np.flatnonzero(of_it & (self.panel == panel))
                        scores = None if self.scores is None else self.scores[rows]
                        votes = self.votes[rows, :, :panel]
                        winner[rows], tied[rows] = decided(polling, votes, self.answers, self.sides, scores)
            reached = self.reached()
            self._cache["decided"] = _frozen(np.where(reached, winner, MISSING), tied & reached)
        result: tuple[NDArray[np.int32], NDArray[np.bool_]] = self._cache["decided"]
        return result

    def tie_rule(self) -> str:
        """Return what a tie means in these debates, in words that follow "a tie"."""
        return tie_rule(self.polling, self.pollings)

    def camps(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Count the largest camp, the second largest and all votes cast, each of shape (debates, rounds).

        A camp is the votes for one answer. On a tie the first two counts are equal; a round without votes
        has (0, 0, 0).

        Examples
        --------
        >>> t = Trajectories.from_arrays([[["A", "A", "B", None]]])
        >>> [int(x[0, 0]) for x in t.camps()]
        [2, 1, 3]
        """
        _, _, lead, second, cast = self._tally()
        return lead, second, cast

    def _tally(self) -> tuple[NDArray[Any], ...]:
        """Return the winner, whether it is tied, and the camps of :meth:`camps`."""
        if "tally" not in self._cache:
            self._cache["tally"] = _frozen(*tally_rounds(self.votes, len(self.answers)))
        result: tuple[NDArray[Any], ...] = self._cache["tally"]
        return result

    def findings(self) -> tuple[Finding, ...]:
        """Return the signs that this log was not read as it was meant; see :mod:`d3stats.plausibility`.

        Examples
        --------
        >>> t = Trajectories.from_arrays([[["a", "a"]], [["b", "a"]]], label=["1", "2"])
        >>> print(t.findings()[0].kind)
        no vote is a label
        """
        if "findings" not in self._cache:
            self._cache["findings"] = findings(self._vote_table())
        result: tuple[Finding, ...] = self._cache["findings"]
        return result

    def had_turns(self) -> NDArray[np.bool_]:
        """Which seats had a turn in which rounds, shape (debates, rounds, seats)."""
        if self.spoke is not None:
            return self.spoke
        seated = np.arange(len(self.seats)) < self.panel[:, None]
        return self.reached()[:, :, None] & seated[:, None, :]

    def remarks(self) -> tuple[str, ...]:
        """Return what an analysis says first: findings as warnings, then what the reader did."""
        return (*warnings_of(self.findings()), *self.notes)

    def _vote_table(self) -> VoteTable:
        debate, played, seat = np.nonzero(self.had_turns())
        runs = sorted(set(self.groups)) or [""]
        return VoteTable(
            debate=debate,
            round=played + 1,
            agent=seat,
            vote=self.votes[debate, played, seat].astype(np.int64),
            label=self.label.astype(np.int64),
            group=np.searchsorted(runs, self.groups or [""] * self.n_debates).astype(np.int64),
            cluster=self.cluster,
            debates=self.debates,
            agents=self.seats,
            answers=self.answers,
            groups=runs,
            depth=self.depth,
            question=self.questions or None,
            tokens=self.tokens,
            scored=self.scores is not None,
            only_right_or_wrong=self.coding == "correctness",
            # Those of a log were looked at when it was read, one by one.
            scores={}
            if self.scores is None or OF_NUMBERS & set(map(kind_of, self.notes))
            else {"": self.scores},
        )

    # ---------------------------------------------------------------- sufficient statistics

    def counts(self, missing: Missing = "exclude") -> RoundCounts:
        """Reduce to (round, successes, trials) cells; rounds without a vote or a label are left out."""
        successes, trials = self.successes_trials(missing)
        debate, played = np.nonzero(trials)
        return RoundCounts.from_columns(played + 1, successes[debate, played], trials[debate, played])

    def transitions(self, missing: Missing = "exclude") -> TransitionCounts:
        """Reduce to round-to-round transitions of (successes, trials), debates seen in both rounds."""
        successes, trials = self.successes_trials(missing)
        debate, played = np.nonzero((trials[:, :-1] > 0) & (trials[:, 1:] > 0))
        now, then = (debate, played), (debate, played + 1)
        return TransitionCounts.from_columns(
            played + 1, successes[now], trials[now], successes[then], trials[then]
        )

    def confusion(self, round_number: int) -> ConfusionCounts:
        """Cross the label with the round's verdict; debates without either are left out."""
        if not 1 <= round_number <= self.n_rounds:
            raise ValueError(f"round_number must lie between 1 and {self.n_rounds}; got {round_number}")
        verdict = self.verdicts()[:, round_number - 1]
        known = (verdict != MISSING) & (self.label != MISSING)
        names = np.asarray(self.answers, dtype=object)
        return ConfusionCounts.from_texts(names[self.label[known]], names[verdict[known]])


def _frozen(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Make cached results read-only: a caller's change would come back in the next answer."""
    for array in arrays:
        array.setflags(write=False)
    return arrays


# -------------------------------------------------------------------- arrays


def _refuse_contradictions(t: Trajectories) -> None:
    """Raise where shapes, codes, depths or tokens of a view contradict each other."""
    n, rounds, seats = t.votes.shape
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(
        ("label", "depth", "panel", "cluster", "stopped_by_rule", "polling", "ended_itself"), (n,)
    )
    shapes |= {"scores": (n, rounds, len(t.sides)), "confidence": t.votes.shape} | dict.fromkeys(
        ("tokens", "tokens_in", "tokens_out", "seconds", "polled", *_POLLS), (n, rounds)
    )
    for name, shape in shapes.items():
        array = getattr(t, name)
        if array is not None and array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}; got {array.shape}")
    if t.speakers is not None and t.speakers.shape[:1] != (n,):
        raise ValueError(f"speakers must have one row per debate ({n}); got shape {t.speakers.shape}")
    per_debate = (("debates", t.debates), ("groups", t.groups), ("questions", t.questions))
    for name, names, size in (*((name, names, n) for name, names in per_debate), ("seats", t.seats, seats)):
        if len(names) != size and not (name in ("groups", "questions") and not names):
            raise ValueError(f"{name} must have {size} names; got {len(names)}")
    for name, codes in (("votes", t.votes), ("label", t.label)):
        if codes.size and (codes.max() >= len(t.answers) or codes.min() < MISSING):
            raise ValueError(
                f"{name} must be codes from {MISSING} to {len(t.answers) - 1}; "
                f"got codes from {codes.min()} to {codes.max()}"
            )
    if t.scores is not None:
        refuse_first("scores", f"must be at most {LARGEST:g} in size", t.scores, np.abs(t.scores) > LARGEST)
    if t.confidence is not None:
        outside = (t.confidence < 0) | (t.confidence > 1)
        refuse_first("confidence", "must be a number from 0 to 1", t.confidence, outside)
    for name, played, most in (("depth", t.depth, rounds), ("panel", t.panel, seats)):
        if n and (played.min() < 0 or played.max() > most):
            raise ValueError(f"{name} must lie between 0 and {most}; got {played.min()} to {played.max()}")
    # Whole debates on full panels, the usual case, can break neither rule.
    if n and t.depth.min() < rounds:
        late = ((t.votes != MISSING) & ~t.reached()[:, :, None]).any(axis=(1, 2))
        if late.any():
            debate = t.debates[int(late.argmax())]
            raise ValueError(f"votes must be missing after a debate's depth; got one in {debate!r}")
    if n and t.panel.min() < seats:
        empty = (np.arange(seats) >= t.panel[:, None])[:, None, :]
        beyond = ((t.votes != MISSING) & empty).any(axis=(1, 2))
        if beyond.any():
            debate = t.debates[int(beyond.argmax())]
            raise ValueError(f"votes must be missing on seats beyond a debate's panel; got one in {debate!r}")
    refuse_repeats("answers", t.answers)
    if n and (t.cluster.min() < 0 or t.cluster.max() >= len(t.cluster_names)):
        raise ValueError(
            f"cluster must be codes from 0 to {len(t.cluster_names) - 1}; "
            f"got codes from {t.cluster.min()} to {t.cluster.max()}"
        )
    for name in ("tokens", "tokens_in", "tokens_out"):
        tokens = getattr(t, name)
        if tokens is not None and (tokens < 0).any():
            raise ValueError(f"{name} must be >= 0; got {np.nanmin(tokens):g}")
    _refuse_tokens_that_do_not_add_up(t)


def _refuse_tokens_that_do_not_add_up(t: Trajectories) -> None:
    if t.tokens_in is None and t.tokens_out is None:
        return
    if t.tokens_in is None or t.tokens_out is None or t.tokens is None:
        absent = next(n for n in ("tokens_in", "tokens_out", "tokens") if getattr(t, n) is None)
        raise ValueError(f"tokens, tokens_in and tokens_out must be given together; got no {absent}")
    both = t.tokens_in + t.tokens_out
    off = np.abs(both - t.tokens) > 1e-6 + 1e-9 * both
    if off.any():
        debate, played = np.argwhere(off)[0]
        raise ValueError(
            f"tokens must be the sum of tokens_in and tokens_out; got {t.tokens[debate, played]:g} and "
            f"{both[debate, played]:g} in debate {t.debates[debate]!r}, round {played + 1}"
        )


# -------------------------------------------------------------------- several views as one


def _concatenated(parts: Sequence[Trajectories]) -> dict[str, Any]:
    """Return the fields of the stacked view: names are matched, shorter axes are padded as missing."""
    if len(parts) == 1 and isinstance(parts[0], (list, tuple)):
        raise TypeError("concat takes the parts one by one; got a list; write concat(*parts)")
    if not parts:
        raise ValueError("concat needs at least one Trajectories; got none")
    codings = {p.coding for p in parts}
    if len(codings) > 1:
        raise ValueError(f"coding must be the same in all parts; got {sorted(codings)}")
    names = [name for p in parts for name in p.debates]
    refuse_repeats("debates", names)
    spelling = shared_spelling(answer for p in parts for answer in p.answers)
    spelt = [tuple(spelling[answer] for answer in p.answers) for p in parts]
    answers = _union(spelt)
    clusters = _union(p.cluster_names for p in parts)
    sides = _union(p.sides for p in parts)
    pollings = _union(p.pollings for p in parts)
    n_rounds = max(p.n_rounds for p in parts)
    n_seats = max(len(p.seats) for p in parts)
    seats = {p.seats for p in parts if len(p.seats) == n_seats}
    alike = len(seats) == 1 and all(p.seats == next(iter(seats))[: len(p.seats)] for p in parts)
    width = max((p.speakers.shape[1] for p in parts if p.speakers is not None), default=0)
    width = max([width, *(len(p.seats) for p in parts if p.speakers is None)])

    def stacked(
        name: str, shape: tuple[int, ...], fill: float, instead: Callable[[Trajectories], Any]
    ) -> Any:
        """Stack what some parts may not say, None where none does."""
        if all(getattr(p, name) is None for p in parts):
            return None
        each = (instead(p) if getattr(p, name) is None else given(p, name) for p in parts)
        return np.concatenate([_padded(one, shape, fill) for one in each])

    def given(part: Trajectories, name: str) -> Any:
        found = getattr(part, name)
        return _recoded(found, part.pollings, pollings) if name == "polling" else found

    def unknown(part: Trajectories) -> NDArray[np.float64]:
        return np.full(part.votes.shape[:2], np.nan)

    def no_polls(part: Trajectories) -> NDArray[np.float64]:
        return np.full(part.votes.shape[:2], 0.0 if part.polled is None else np.nan)

    def on_panel(part: Trajectories) -> NDArray[np.int8]:
        return np.where(np.arange(len(part.seats)) < part.panel[:, None], 1, -1).astype(np.int8)

    coded = list(zip(parts, spelt, strict=True))
    votes = (_recoded(p.votes, own, answers) for p, own in coded)
    return {
        "votes": np.concatenate([_padded(each, (n_rounds, n_seats), MISSING) for each in votes]),
        "label": np.concatenate([_recoded(p.label, own, answers) for p, own in coded]),
        "depth": np.concatenate([p.depth for p in parts]),
        "panel": np.concatenate([p.panel for p in parts]),
        "cluster": np.concatenate([_recoded(p.cluster, p.cluster_names, clusters) for p in parts]),
        "answers": answers,
        "debates": tuple(names),
        "seats": next(iter(seats)) if alike else seat_names(n_seats),
        "cluster_names": clusters,
        "scores": np.concatenate([_by_side(p, sides, n_rounds) for p in parts]) if sides else None,
        "sides": sides,
        **{
            kind: stacked(kind, (n_rounds,), np.nan, no_polls if kind in _POLLS else unknown)
            for kind in ("tokens", "tokens_in", "tokens_out", "seconds", *_POLLS)
        },
        "confidence": stacked(
            "confidence", (n_rounds, n_seats), np.nan, lambda p: np.full(p.votes.shape, np.nan)
        ),
        "polled": stacked("polled", (n_rounds,), False, Trajectories.reached),
        "polling": stacked("polling", (), -1, lambda p: np.full(len(p), -1, np.int16)),
        "pollings": pollings,
        "ended_itself": stacked("ended_itself", (), False, lambda p: np.zeros(len(p), np.bool_)),
        "spoke": stacked("spoke", (n_rounds, n_seats), False, Trajectories.had_turns),
        "groups": tuple(g for p in parts for g in (p.groups or ("",) * len(p)))
        if any(p.groups for p in parts)
        else (),
        "questions": tuple(q for p in parts for q in (p.questions or ("",) * len(p)))
        if any(p.questions for p in parts)
        else (),
        "coding": parts[0].coding,
        "speakers": stacked("speakers", (width,), -1, on_panel),
        "notes": _union(p.notes for p in parts),
        # Of a part that does not say so, a rule ended no debate.
        "stopped_by_rule": stacked("stopped_by_rule", (), False, lambda p: np.zeros(len(p), np.bool_)),
    }


def _elsewhere(note: str, debates: Set[str]) -> bool:
    """Whether a note tells of debates, all of which it names, and none of these is there."""
    if kind_of(note) not in TOLERATED or not isinstance(note, Note):
        return False
    return 0 < len(note.examples) < DEBATES_OF_A_NOTE and debates.isdisjoint(note.examples)


def _union(tuples: Any) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(name for names in tuples for name in names))


def _recoded(codes: NDArray[Any], old: tuple[Any, ...], new: tuple[Any, ...]) -> NDArray[Any]:
    place = {name: i for i, name in enumerate(new)}
    table = np.array([*[place[name] for name in old], MISSING], dtype=codes.dtype)
    recoded: NDArray[Any] = table[codes]
    return recoded


def _padded(array: NDArray[Any], shape: tuple[int, ...], fill: float) -> NDArray[Any]:
    wider = np.full((len(array), *shape), fill, dtype=array.dtype)
    wider[(slice(None), *[slice(size) for size in array.shape[1:]])] = array
    return wider


def _by_side(part: Trajectories, sides: tuple[str, ...], n_rounds: int) -> NDArray[np.float64]:
    wide = np.full((len(part), n_rounds, len(sides)), np.nan)
    if part.scores is not None:
        wide[:, : part.n_rounds, [sides.index(side) for side in part.sides]] = part.scores
    return wide
