"""What would these rules cost in those worlds, before a token is spent?

A cell is a world and a seed. Its debates are drawn in chunks, and a chunk is reduced at once to whole-number
sums that add (see ``_work``). So the result is the same, bit for bit, for any chunk size, number of workers
or cluster, memory does not grow with the number of debates, and a killed run can be resumed.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from d3stats._check import choice, probability
from d3stats._check import loss as allowed_loss
from d3stats._parallel import run_tasks
from d3stats._progress import tell, working
from d3stats._words import counted_points, likely, percent, points
from d3stats.planning.cells import Write, cells, plain, rule_cell, with_error
from d3stats.planning.ledger_policy import LedgerPolicy
from d3stats.planning.prices import Price
from d3stats.planning.study import (
    COLUMNS,
    PAIRS,
    RATIOS,
    Cell,
    Chunk,
    Policy,
    Study,
    Sums,
    added,
    cuts,
    play_chunk,
    read_study,
)
from d3stats.result import Result
from d3stats.stopping import FullDepth, Rule, StoppingRule, Unanimity, from_text
from d3stats.stopping.text import short_name
from d3stats.trajectories import MISSING, Trajectories

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Journal", "Simulation", "simulate"]

FORMAT = "d3stats simulation 1"

SYNC_SECONDS = 1.0
"""Every line goes to the system at once and survives a killed process; to the disk at least this often."""


class Journal:
    """An append-only file of one study's chunks; use it as a context.

    The first line names the study by its key; then one line per chunk. A last line that breaks off is
    dropped. While a run writes, no other may.
    """

    def __init__(self, path: str | Path, study: Study) -> None:
        self.path = Path(path)
        self.study = study
        for rule in study.rules:
            if not _is_its_text(rule):
                raise ValueError(
                    "out must be None when a rule has no text form, because a journal could not identify "
                    f"it; got {rule}"
                )
        self.done: list[Chunk] = []
        self._file: Any = None
        self._synced = 0.0

    def __enter__(self) -> Journal:
        self._file = self.path.open("a+b")
        try:
            self._lock()
            self._load()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def add(self, chunk: Chunk) -> None:
        """Append a finished chunk."""
        self._write(
            {
                "world": chunk.world,
                "seed": chunk.seed,
                "first": chunk.first,
                "n": chunk.n_debates,
                "rules": [[s.units, s.totals, s.products, s.stops] for s in chunk.sums],
            }
        )

    def _write(self, record: dict[str, Any]) -> None:
        self._file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        now = time.monotonic()
        if now - self._synced > SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = now

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # a system without it trusts its user to run one at a time
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{self.path} must be written by one simulation at a time; another process has it open"
            ) from None

    def _load(self) -> None:
        key = self.study.key()
        whole, seen = 0, False
        self._file.seek(0)
        for number, line in enumerate(self._file, start=1):
            if not line.endswith(b"\n"):
                break
            record = self._read(number, line)
            if number == 1:
                if record.get("journal") != FORMAT:
                    raise ValueError(
                        f"{self.path} must be the journal of a simulation; got another kind of file"
                    )
                if record.get("study") != key:
                    raise ValueError(
                        f"{self.path} must be a journal of this study; got the journal of another study, "
                        f"or of other code of samplers and rules (key {record.get('study')}, this study "
                        f"has {key}); name another file, or delete this one"
                    )
                seen = True
            else:
                self.done.append(self._chunk(number, record))
            whole += len(line)
        if not seen and self._file.seek(0, os.SEEK_END) > 0 and not self._torn_header():
            raise ValueError(f"{self.path} must be the journal of a simulation; got another kind of file")
        self._file.truncate(whole)
        self._file.seek(0, os.SEEK_END)
        if not seen:
            self._write({"journal": FORMAT, "study": key, "columns": COLUMNS, "products": PAIRS})

    def _torn_header(self) -> bool:
        self._file.seek(0)
        start = json.dumps({"journal": FORMAT}, separators=(",", ":")).encode()[:-1]
        text = self._file.read()
        return bool(text.startswith(start) or start.startswith(text))

    def _read(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise ValueError(f"{self.path}:{number}: line must be a JSON object; got {line[:40]!r}")
        return record

    def _chunk(self, number: int, record: dict[str, Any]) -> Chunk:
        study = self.study
        try:
            sums = tuple(
                Sums(units, tuple(totals), tuple(products), tuple(stops))
                for units, totals, products, stops in record["rules"]
            )
            chunk = Chunk(record["world"], record["seed"], record["first"], record["n"], sums)
            sound = len(sums) == len(study.rules) and all(
                (len(s.totals), len(s.products), len(s.stops))
                == (len(COLUMNS), len(PAIRS), 6 * (study.n_rounds + 1))
                and s.totals[0] == sum(s.stops) == chunk.n_debates > 0
                for s in sums
            )
        except (KeyError, TypeError, ValueError):
            sound = False
        if not sound:
            raise ValueError(f"{self.path}:{number}: line must be a chunk of this study; got another record")
        if chunk.seed not in study.seeds or chunk.first + chunk.n_debates > study.debates:
            raise ValueError(
                f"{self.path}:{number}: journal must hold no more than the study needs; got seed "
                f"{chunk.seed}, debates {chunk.first + 1} to {chunk.first + chunk.n_debates}"
            )
        return chunk


def _is_its_text(rule: Policy) -> bool:
    if isinstance(rule, LedgerPolicy):
        return True
    try:
        return from_text(str(rule)) == rule
    except ValueError:
        return False


def gaps(done: list[Chunk], debates: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges (first, end) of a cell that its finished chunks leave open."""
    at = 0
    for chunk in sorted(done, key=lambda chunk: chunk.first):
        if chunk.first < at:
            raise ValueError(
                f"journal must hold each debate once; got debate {chunk.first + 1} of world {chunk.world + 1}, "
                f"seed {chunk.seed} twice"
            )
        if chunk.first > at:
            yield at, chunk.first
        at = chunk.first + chunk.n_debates
    if at < debates:
        yield at, debates


By = Literal["world", "seed"]

_AT = {name: i for i, name in enumerate(COLUMNS)}
_PAIR_AT = {pair: i for i, pair in enumerate(PAIRS)}

_SAVED = {
    "saved_rounds_vs_unanimity": "rounds_of_unanimity",
    "saved_rounds_vs_full": "rounds_of_full",
    "saved_tokens_vs_unanimity": "tokens_of_unanimity",
    "saved_tokens_vs_full": "tokens_of_full",
}


@dataclass(frozen=True, eq=False)
class Simulation(Result):
    """Results of every rule in every cell, as sums.

    Attributes
    ----------
    study : Study
    cells : dict
        By (position of the world, seed): a tuple of sums, one per rule, in the order of ``study.names``.
    max_loss, confidence : float
        What :meth:`recommend` and the headline ask of a rule.
    pilot : Trajectories, optional
        The log to which the world was fitted, if it was.
    notes : tuple of str
        For each world whose protocol cannot be run with some rules, which they are and what would do; where debates
        have one round and so no rule to choose; which share of the debates of a world has no decision under each rule.

    Examples
    --------
    >>> from d3stats.worlds import Voter
    >>> found = simulate(Study(worlds={"null": Voter(panel=5)}, rules=["fixed:1"], n_rounds=6, debates=500))
    >>> found.to_frame()[["world", "rule"]].values.tolist()
    [['null', 'fixed:1'], ['null', 'unanimity'], ['null', 'full']]
    >>> found.stops()[["rule", "round"]].head(2).values.tolist()
    [['fixed:1', 1], ['fixed:1', 2]]
    >>> found.recommend(max_loss=0.05)[["world", "rule"]].values.tolist()
    [['null', 'fixed:1']]
    """

    study: Study
    cells: dict[tuple[int, int], tuple[Sums, ...]] = field(repr=False)

    max_loss: float = 0.01
    confidence: float = 0.9
    pilot: Trajectories | None = None

    @property
    def headline(self) -> str:
        """The answer, which rule to run in each world, and what it saves and loses there."""
        rows = self.recommend().to_dict("records")
        if len(rows) == 1:
            row = rows[0]
            return f"Run {short_name(row['rule'])} in {row['world']}: {self._gains(row)}."
        named: dict[str, list[str]] = defaultdict(list)
        for row in rows:
            named[short_name(row["rule"])].append(str(row["world"]))
        said = [f"{rule} in {', '.join(map(str, worlds))}" for rule, worlds in named.items()]
        if len(named) == 1:
            said = [f"{next(iter(named))} in all {len(rows)} worlds"]
        return f"Run {'; '.join(said)}."

    def _answer(self) -> Sequence[str]:
        rows = self.recommend()
        if len(rows) > 1:
            return (self.headline,)
        reason = str(rows["reason"].iloc[0])
        return (self.headline, f"{reason[0].upper()}{reason[1:]}.")

    def _gains(self, row: Mapping[Any, Any]) -> str:
        unit, against = self._unit, str(row["loss_vs"])
        saved = row.get(f"saved_{unit}_vs_{against}", np.nan)
        than = "unanimity" if against == "unanimity" else "all rounds"
        gained = (
            f"it saves {percent(saved)} of the {unit} of {than}"
            if saved == saved
            else f"{row['rounds']:z.2f} rounds"
        )
        if self._assumed:
            return f"{gained}; the pilot has no right answers (labels), so accuracy is unknown"
        error = f" (error {100 * row['loss_se']:z.2f})" if row["loss_se"] == row["loss_se"] else ""
        return f"{gained}; accuracy {points(-row['loss'])}{error} against {than}"

    def plot(self, ax: Axes | None = None) -> Axes | Figure:
        """Draw what each rule saves and how it changes the accuracy, a panel for each world.

        A ring marks the rule to run. Bars are 95 % Monte Carlo intervals.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw a study of one world.

        Returns
        -------
        Axes or Figure
            A figure where there are several worlds.

        Raises
        ------
        ValueError
            When no world has right answers, or `ax` is given for several worlds.

        Examples
        --------
        >>> from d3stats.worlds import Voter
        >>> study = Study(worlds={"null": Voter(panel=5)}, rules=["fixed:1"], n_rounds=6, debates=500)
        >>> simulate(study).plot().get_ylabel()
        'change in accuracy, points'
        """
        from scipy.special import ndtri

        from d3stats.plotting import plot_savings
        from d3stats.plotting.style import TWO_COLUMNS

        saved, change = f"saved_{self._unit}_vs_unanimity", "accuracy_minus_unanimity"
        table = self.to_frame()
        known = table[[saved, change]].notna().all(axis=1) & (not self._assumed)
        worlds = list(dict.fromkeys(table.loc[known, "world"]))
        if not worlds:
            raise ValueError("worlds must have right answers to draw a change of accuracy; got none")
        if ax is not None and len(worlds) > 1:
            raise ValueError(f"ax must be left out for several worlds; got {len(worlds)} worlds")
        advised = {(row["world"], row["rule"]) for row in self.recommend().to_dict("records")}
        panels = [ax]
        if len(worlds) > 1:
            import matplotlib.pyplot as plt

            size = (TWO_COLUMNS, 3.0 * len(worlds))
            whole, grid = plt.subplots(len(worlds), 1, figsize=size, squeeze=False, layout="constrained")
            panels = list(grid.ravel())
        for panel, world in zip(panels, worlds, strict=True):
            part = table[known & (table["world"] == world)]
            frame = pd.DataFrame({"rule": part["rule"].map(short_name)})
            for name, column in (("saved", saved), ("change", change)):
                reach = ndtri(0.975) * part[f"{column}_se"].fillna(0.0)
                frame[name], frame[f"{name}_low"] = part[column], part[column] - reach
                frame[f"{name}_high"] = part[column] + reach
            frame["role"] = ["recommended" if (world, rule) in advised else "" for rule in part["rule"]]
            drawn = plot_savings(frame, max_loss=self.max_loss, unit=self._unit, kept="accuracy", ax=panel)
            if len(worlds) > 1:
                drawn.set_title(str(world))
        return drawn if len(worlds) == 1 else whole

    @property
    def _unit(self) -> str:
        """What is saved in every table and sentence: tokens where all worlds count them, else rounds."""
        return "tokens" if self.to_frame()["tokens"].notna().all() else "rounds"

    @property
    def _assumed(self) -> bool:
        return self.pilot is not None and bool((self.pilot.label == MISSING).all())

    @property
    def _n_main(self) -> int:
        return 2 if len(self.study.worlds) > 1 else 1

    def _title(self) -> str:
        debates = self.study.debates * len(self.study.seeds)
        return (
            f"{debates:,} debates of up to {self.study.n_rounds} rounds in each world; "
            "Monte Carlo standard error in brackets; saved and change: against unanimity, change of accuracy in points."
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"rules": self.to_frame(), "recommended": self.recommend(), "stops": self.stops()}

    def _document(self) -> dict[str, Any]:
        return {"study": self.study.key(), **self._listed(), "notes": self.notes}

    def _shown(self, by: By = "world") -> dict[str, pd.DataFrame]:
        table = self.to_frame(by)
        shown: dict[str, pd.DataFrame] = {}
        if self._n_main == 2:
            columns: dict[str, Write] = {
                "world": lambda row: str(row["world"]),
                "run": rule_cell,
                f"{self._unit} saved": with_error(f"saved_{self._unit}_vs_unanimity"),
                "change": lambda row: (
                    "-" if self._assumed else f"{-100 * row['loss']:+z.2f} ({100 * row['loss_se']:z.2f})"
                ),
                f"P(loss<={100 * self.max_loss:g})": lambda row: (
                    "-" if self._assumed else likely(row["p_within"])
                ),
            }
            limit = f"{counted_points(self.max_loss)} with probability {self.confidence:g} or more"
            shown[f"Rules that lose at most {limit}"] = cells(self.recommend(), columns)
            shown |= self._by_world(self.to_frame())
        for _, part in table.groupby(["world", "seed"] if by == "seed" else ["world"], sort=False):
            first = part.iloc[0]
            title = f"{first['world']} seed {first['seed']}" if by == "seed" else str(first["world"])
            shown[title] = self._one_world(part, few=True)
            if "over" in part and part["over"].notna().any():
                ledgers: dict[str, Write] = {
                    "rule": rule_cell,
                    f"{self._unit} saved": with_error(f"saved_{self._unit}_vs_unanimity"),
                    "verdicts lost": with_error("lost_verdicts", 1, 1, unit=""),
                    "allowed": lambda row: f"{row['allowed']:z.0f}",
                    "campaigns over": with_error("over"),
                }
                shown[f"{title}: campaigns of {self.study.batch:,} debates under a ledger"] = cells(
                    part[part["over"].notna()], ledgers
                )
            shown[f"{title}: all measures"] = self._one_world(part, few=False)
        return shown

    def _by_world(self, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return tables of rules x worlds, four worlds each: what is saved, and the change of accuracy in points."""
        worlds = list(dict.fromkeys(table["world"]))
        at = {(row["world"], row["rule"]): row for row in table.to_dict("records")}
        rules = list(dict.fromkeys(table["rule"]))
        unit = self._unit
        saved = f"saved_{unit}_vs_unanimity"

        def cell(world: str, rule: str) -> str:
            row = at.get((world, rule))
            if row is None or row[saved] != row[saved]:
                return "-"
            change = row.get("accuracy_minus_unanimity", np.nan)
            ending = "" if self._assumed or change != change else f", {100 * change:+z.1f}"
            return f"{100 * row[saved]:z.0f} %{ending}"

        shown = {}
        for first in range(0, len(worlds), 4):
            part = worlds[first : first + 4]
            names = {"rule": [short_name(rule) for rule in rules]}
            names |= {str(world): [cell(world, rule) for rule in rules] for world in part}
            more = "" if first == 0 else f" ({first + 1} to {first + len(part)})"
            shown[f"{unit.capitalize()} saved, and change of accuracy in points, by world{more}"] = (
                pd.DataFrame(names, dtype=object)
            )
        return shown

    def _one_world(self, part: pd.DataFrame, *, few: bool) -> pd.DataFrame:
        unit = self._unit
        if few:
            columns: dict[str, Write] = {
                "rule": rule_cell,
                "rounds": plain("rounds", 2),
                f"{unit} saved": with_error(f"saved_{unit}_vs_unanimity"),
                "change": with_error("accuracy_minus_unanimity", 100, 2, sign="+"),
                "flips": with_error("flips"),
            }
            if self._assumed or part["accuracy_minus_unanimity"].isna().all():
                del columns["change"]
        else:
            kept = ("accuracy", "gained", "lost", "premature")
            names = ["rounds", "tokens", "dollars", *kept, "saved_tokens_vs_full"]
            known = [
                n for n in names if n in part and part[n].notna().any() and not (self._assumed and n in kept)
            ]
            digits = {"rounds": 2, "tokens": 0, "dollars": 6}
            columns = {"rule": rule_cell}
            columns |= {
                n.replace("_", " "): with_error(n, 1, digits[n], unit="") if n in digits else with_error(n)
                for n in known
            }
        return cells(part, columns)

    def to_frame(self, by: By | str = "world") -> pd.DataFrame:  # type: ignore[override]  # how rows are made
        """Return one row per world and rule, or with ``by="seed"`` per world, seed and rule.

        In place of these, the title of a table gives that table: "recommended" or "stops".

        Returns
        -------
        DataFrame
            ``world``; ``seed`` with ``by="seed"``; ``rule``; ``decides`` ("debate" or "batch"); ``n_debates``;
            and with their standard errors in ``<measure>_se``: ``rounds``; ``accuracy``; ``agreement`` with
            full depth and ``flips``, one minus that; ``gained``, ``lost``: right at the stop and not at full
            depth, and the reverse; ``premature``: of the debates stopped before full depth, the share stopped on a
            wrong majority that full depth turns right, as in :meth:`d3stats.planning.Replay.to_frame`; ``tied``;
            ``tokens`` and, with a price, ``dollars`` per debate of a run with the rule (who only votes is
            paid after every round where the rule reads votes, and else at the stop alone);
            ``accuracy_minus_unanimity``, on all debates, where one without a decision is not right
            (``accuracy_minus_full`` in worlds whose protocol cannot be run with unanimity, see :meth:`notes`);
            ``saved_rounds_vs_unanimity``,
            ``saved_rounds_vs_full`` and the same of tokens: one minus the ratio of the means. A study with a ledger has
            further ``lost_verdicts``, the mean number of a campaign, the number ``allowed``, and ``over``, the share of
            campaigns that lost more.

            A standard error is the Monte Carlo error of a ratio of sums (linearised; Cochran 1977, eq. 2.46)
            over independent debates, or over batches for a rule that decides for a batch. It is missing
            where a single debate or batch counts; a measure without any debate to it (tokens in a world that records
            none) is missing.
        """
        if by in ("recommended", "stops"):
            return super().to_frame(by)
        if by == "rules":
            by = "world"
        rows = []
        for world, seed, sums in self._groups(by):  # type: ignore[arg-type]  # checked there
            of = self.study.worlds[world]
            unanimity = next(rule for rule in self.study.rules if isinstance(rule, Unanimity))
            baseline = "unanimity" if self.study.runs(of, unanimity) else "full"
            for rule, total in zip(self.study.rules, sums, strict=True):
                if not self.study.runs(of, rule):
                    continue
                row: dict[str, Any] = {"world": world}
                if by == "seed":
                    row["seed"] = seed
                row["rule"] = str(rule)
                row["decides"] = "debate" if isinstance(rule, Rule) else "batch"
                row["n_debates"] = total.totals[_AT["debates"]]
                row |= _measures(total, self.study.dollars_per_million_tokens, baseline)
                if isinstance(rule, LedgerPolicy):
                    row["allowed"] = rule.ledger.allowed
                    for name in ("lost_verdicts", "over"):
                        row[name], row[f"{name}_se"] = _ratio(total, *RATIOS[name])
                rows.append(row)
        return pd.DataFrame(rows)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # of the worlds, not stored
        """Limits of the worlds: rules that a protocol cannot run, debates of one round or without a decision.

        Examples
        --------
        >>> from d3stats.worlds import Courtroom
        >>> found = simulate(Study(worlds={"court": Courtroom()}, rules=["d3_paper"], n_rounds=3, debates=500))
        >>> found.to_frame()["rule"].tolist()
        ['budgeted:3.0,max_rounds=5', 'full']
        >>> found.notes[0].partition(":")[0]
        'court cannot be run with unanimity, because the jurors are asked once, when a debate is over'
        """
        notes = []
        if self.study.n_rounds == 1:
            notes.append(
                "debates have one round, so there is no stopping rule to choose and all cost the same"
            )
        for world, _, sums in self._groups("world"):
            of = self.study.worlds[world]
            shares = {
                str(rule): 1 - total.totals[_AT["scored"]] / total.totals[_AT["labelled"]]
                for rule, total in zip(self.study.rules, sums, strict=True)
                if self.study.runs(of, rule) and total.totals[_AT["labelled"]]
            }
            if any(shares.values()):
                listed = ", ".join(f"{name} {percent(gone, digits=1)}" for name, gone in shares.items())
                notes.append(
                    f"{world} has debates without a decision, which accuracy leaves out and the loss counts as not "
                    f"right: {listed}"
                )
            refused = [
                (str(rule), total)
                for rule, total in zip(self.study.rules, sums, strict=True)
                if not self.study.runs(of, rule)
            ]
            if not refused or of.polling is None:
                continue
            prices = [_ratio(total, *RATIOS["tokens"])[0] for _, total in refused]
            cost = ", ".join(f"{price:z,.0f}" for price in prices)
            notes.append(
                f"{world} cannot be run with {'; '.join(name for name, _ in refused)}, because the "
                f"{of.polling.voters}s are asked once, when a debate is over: {of.polling.remedy} makes it possible"
                + (f", at {cost} tokens a debate" if prices[0] == prices[0] else "")
            )
        return tuple(notes)

    def stops(self, by: By = "world") -> pd.DataFrame:
        """Return where debates stopped and with what, exactly.

        Returns
        -------
        DataFrame
            ``world``, ``seed`` with ``by="seed"``, ``rule, round, n_debates, wrong, right, unscored, tied``:
            numbers of debates. Every debate is wrong, right or unscored; ties may be any of them.
        """
        rows = []
        for world, seed, sums in self._groups(by):
            for rule, total in zip(self.study.rules, sums, strict=True):
                name = str(rule)
                if not self.study.runs(self.study.worlds[world], rule):
                    continue
                for played in range(1, self.study.n_rounds + 1):
                    kinds = total.stops[6 * played : 6 * played + 6]
                    row: dict[str, Any] = {"world": world}
                    if by == "seed":
                        row["seed"] = seed
                    row |= {"rule": name, "round": played, "n_debates": sum(kinds)}
                    for i, kind in enumerate(("wrong", "right", "unscored")):
                        row[kind] = kinds[i] + kinds[i + 3]
                    rows.append({**row, "tied": sum(kinds[3:])})
        return pd.DataFrame(rows)

    def recommend(
        self,
        *,
        max_loss: float | None = None,
        confidence: float | None = None,
        pilot: Trajectories | None = None,
    ) -> pd.DataFrame:
        """Return the rule to run in each world: the cheapest that loses few of unanimity's right verdicts.

        Parameters
        ----------
        max_loss : float, optional
            How much lower than unanimity's a rule's accuracy may be; than that of full depth in a world whose protocol
            cannot be run with unanimity. By default, here and below, what the simulation itself has.
        confidence : float, optional
            Probability that the simulation must leave to a loss of at most that; of the world it says nothing.
        pilot : Trajectories, optional
            Where a world records no tokens, a round takes those that it took here on average.

        Returns
        -------
        DataFrame
            The row of :meth:`to_frame` that is recommended in each world; ``loss`` of accuracy against unanimity with
            ``loss_se``; ``loss_vs``, which is "unanimity", or "full" in a world whose protocol cannot be run with it;
            ``p_within``, the probability that the loss is at most `max_loss`; ``reason``. Cost is tokens where the
            world records them, else rounds. In a world that was fitted to a `pilot` without labels it is an assumption
            which answers are right, and so is every accuracy: the reason says so.
        """
        most = allowed_loss("max_loss", self.max_loss if max_loss is None else max_loss)
        sure = self.confidence if confidence is None else confidence
        sure = probability("confidence", sure, open_interval=True)
        pilot = self.pilot if pilot is None else pilot
        table = self.to_frame()
        if pilot is not None and pilot.tokens is not None:
            table["tokens"] = table["tokens"].fillna(self._tokens_of_rounds(pilot.tokens, pilot.reached()))
        for name, end in (("loss", ""), ("loss_se", "_se")):
            columns = [f"accuracy_minus_{usual}{end}" for usual in ("unanimity", "full")]
            found = table.reindex(columns=columns).bfill(axis=1).iloc[:, 0]
            table[name] = found if end else -found
        z = (most - table["loss"]) / table["loss_se"].where(table["loss_se"] != 0, 1e-12)
        table["p_within"] = scipy.special.ndtr(z)
        cost = table["tokens"].where(table["tokens"].notna(), table["rounds"])
        table["loss_vs"] = np.where(table["accuracy_minus_unanimity"].notna(), "unanimity", "full")
        assumed = pilot is not None and bool((pilot.label == MISSING).all())
        accuracy = "accuracy, with right answers that are assumed," if assumed else "accuracy"
        picked: list[Any] = []
        reasons: list[str] = []
        for _, rows in table.groupby("world", sort=False):
            usual = next(
                kind for kind in (Unanimity, FullDepth) if self._text_of_rule(kind) in set(rows["rule"])
            )
            baseline = rows.index[rows["rule"] == self._text_of_rule(usual)][0]
            good = rows.index[(rows["p_within"] >= sure) & (cost[rows.index] <= cost[baseline])]
            picked.append(cost[good].idxmin() if len(good) else baseline)
            than = "unanimity" if usual is Unanimity else "full depth"
            promise = f"at most {most:g} below {than}'s with probability {sure:g} or more"
            reasons.append(
                f"none of the {len(rows)} rules is cheaper than {than} and has an {accuracy} {promise}"
                if picked[-1] == baseline
                else f"the cheapest of {len(rows)} rules whose {accuracy} is {promise}; here "
                f"{likely(table['p_within'][picked[-1]])}"
            )
        return table.loc[picked].reset_index(drop=True).assign(reason=reasons)

    def _text_of_rule(self, kind: type[StoppingRule]) -> str:
        return str(next(rule for rule in self.study.rules if isinstance(rule, kind)))

    def _tokens_of_rounds(self, tokens: NDArray[np.float64], played: NDArray[np.bool_]) -> pd.Series[float]:
        """Return the mean tokens of a debate, rounds at their mean in these debates; NaN where none is known."""
        known = played & ~np.isnan(tokens)
        each = np.where(known, tokens, 0.0).sum(axis=0) / np.where(
            known.any(axis=0), known.sum(axis=0), np.nan
        )
        stops = self.stops()["n_debates"].to_numpy().reshape(-1, self.study.n_rounds)
        going = stops[:, ::-1].cumsum(axis=1)[:, ::-1] / stops.sum(axis=1, keepdims=True)
        return pd.Series(np.where(going > 0, going * each[: self.study.n_rounds], 0.0).sum(axis=1))

    def _groups(self, by: By) -> Iterator[tuple[str, int, tuple[Sums, ...]]]:
        choice("by", by, ("world", "seed"))
        for at, name in enumerate(self.study.worlds):
            cells = [self.cells[at, seed] for seed in self.study.seeds]
            if by == "seed":
                for seed, cell in zip(self.study.seeds, cells, strict=True):
                    yield name, seed, cell
            else:
                yield name, -1, reduce(added, cells)


def simulate(
    study: Study | str | Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> Simulation:
    """Simulate every rule of a study in every world, on one machine or on a cluster.

    Parameters
    ----------
    study : Study or path
        A path is read by :func:`read_study`.
    workers : int
        Processes on this machine; with `scheduler` the cluster decides.
    scheduler : str, optional
        Address of a dask scheduler; needs the extra ``scale``.
    out : path, optional
        Journal of finished chunks. When the file is there already, its chunks are taken as done.
    progress : bool, optional
        Show a bar on standard error; by default when that is a terminal.

    Returns
    -------
    Simulation
        The same, bit for bit, for any `workers`, `scheduler` and chunk size.

    Raises
    ------
    ValueError
        When the study is wrong, a rule cannot be run in a world, or `out` belongs to another study.
    OSError
        When the scheduler does not answer.

    Examples
    --------
    >>> from d3stats.worlds import Voter
    >>> study = Study(worlds={"null": Voter(panel=5)}, rules=["fixed:1"], n_rounds=6, debates=500)
    >>> simulate(study)
    <Simulation: Run fixed:1 in null: it saves 93 % of the tokens of unanimity; accuracy +7.4 points (error 1.96) ...
    """
    if not isinstance(study, Study):
        study = read_study(study)
    if study.dollars_per_million_tokens is not None:
        _check_prices(study)
    cells: dict[tuple[int, int], tuple[Sums, ...]] = {}

    def fold(chunk: Chunk) -> None:
        at = (chunk.world, chunk.seed)
        cells[at] = added(cells[at], chunk.sums) if at in cells else chunk.sums

    with ExitStack() as stack:
        journal = None if out is None else stack.enter_context(Journal(out, study))
        open_ranges = _open_ranges(study, [] if journal is None else journal.done)
        for chunk in [] if journal is None else journal.done:
            fold(chunk)
        if journal is not None:
            journal.done.clear()
        total = len(study.worlds) * len(study.seeds) * study.debates
        if sys.stderr.isatty() if progress is None else progress:
            stack.enter_context(working("simulating"))
        done = total - sum(end - first for _, _, first, end in open_ranges)
        results = run_tasks(play_chunk, _tasks(study, open_ranges), workers=workers, scheduler=scheduler)
        for chunk in results:
            if journal is not None:
                journal.add(chunk)
            fold(chunk)
            done += chunk.n_debates
            tell("debates", done, total)
    return Simulation(study, cells)


def _open_ranges(study: Study, done: list[Chunk]) -> list[tuple[int, int, int, int]]:
    of_cell = defaultdict(list)
    for chunk in done:
        of_cell[chunk.world, chunk.seed].append(chunk)
    return [
        (world, seed, first, end)
        for world in range(len(study.worlds))
        for seed in study.seeds
        for first, end in gaps(of_cell[world, seed], study.debates)
    ]


def _tasks(study: Study, open_ranges: list[tuple[int, int, int, int]]) -> Iterator[tuple[Any, ...]]:
    worlds = list(study.worlds.items())
    for at, seed, first, end in open_ranges:
        cell = Cell(
            *worlds[at],
            at=(at, seed),
            stream=study.stream(at, seed),
            rules=study.rules,
            n_rounds=study.n_rounds,
            missing=study.missing,
            batch=study.batch,
        )
        for start, stop in cuts(first, end, study.step):
            yield cell, start, stop - start


def _check_prices(study: Study) -> None:
    from d3stats.worlds import simulate_debates

    for name, world in study.worlds.items():
        try:
            drawn = simulate_debates(world, 1, study.n_rounds, rng=0)
        except (TypeError, ValueError) as error:
            raise ValueError(f"world {name!r}: {error}") from error
        if drawn.tokens is None:
            raise ValueError(
                f"dollars_per_million_tokens must not be given when a world records no tokens; got "
                f"{study.dollars_per_million_tokens} and the world {name!r}"
            )


def _measures(sums: Sums, price: Price | None, baseline: str) -> dict[str, float]:
    """Return the measures of a rule; `baseline` is what accuracies are compared with, "unanimity" or "full"."""
    found = {name: _ratio(sums, above, below) for name, (above, below) in RATIOS.items()}
    row: dict[str, float] = {}

    def put(name: str, value: float, error: float) -> None:
        row[name], row[f"{name}_se"] = value, error

    for name in ("rounds", "accuracy", "agreement"):
        put(name, *found[name])
    put("flips", 1.0 - found["agreement"][0], found["agreement"][1])
    for name in ("gained", "lost", "premature", "tied", "tokens"):
        put(name, *found[name])
    if isinstance(price, tuple):
        put("dollars", *_dollars(sums, *price))
    elif price is not None:
        put("dollars", *(value * price / 1e6 for value in found["tokens"]))
    put("accuracy_minus_unanimity", math.nan, math.nan)
    put(f"accuracy_minus_{baseline}", *found["accuracy_minus_baseline"])
    for saved, ratio in _SAVED.items():
        known = baseline == "unanimity" or ratio.endswith("full")
        put(saved, *((1.0 - found[ratio][0], found[ratio][1]) if known else (math.nan, math.nan)))
    return row


def _dollars(sums: Sums, asked: float, answered: float) -> tuple[float, float]:
    """Return the mean cost of a debate at the prices of prompt and completion tokens, and its standard error."""
    prices = {"tokens_in": Fraction(asked) / 10**6, "tokens_out": Fraction(answered) / 10**6}
    a = sum(price * sums.totals[_AT[kind]] for kind, price in prices.items())
    b, n = sums.totals[_AT["known_tokens"]], sums.units
    if b == 0:
        return math.nan, math.nan
    if n < 2:
        return float(a / b), math.nan
    aa = sum(
        prices[one] * prices[two] * times * sums.products[_PAIR_AT[one, two]]
        for one, two, times in (
            ("tokens_in", "tokens_in", 1),
            ("tokens_in", "tokens_out", 2),
            ("tokens_out", "tokens_out", 1),
        )
    )
    ab = sum(price * sums.products[_PAIR_AT[kind, "known_tokens"]] for kind, price in prices.items())
    bb = sums.products[_PAIR_AT["known_tokens", "known_tokens"]]
    squares = (aa * b * b - 2 * a * b * ab + a * a * bb) * n
    return float(a / b), math.sqrt(squares / (b**4 * (n - 1)))


def _ratio(sums: Sums, above: str, below: str) -> tuple[float, float]:
    """Return A / B and its standard error; the sums are exact, and rounded once, at the end.

    Units are debates that a world draws independently, thousands of one size, so that units - 1 is what they are worth.
    """
    a, b = sums.totals[_AT[above]], sums.totals[_AT[below]]
    if b == 0:
        return math.nan, math.nan
    aa, ab, bb = (sums.products[_PAIR_AT[p]] for p in ((above, above), (above, below), (below, below)))
    # Where all of B is in one unit, the spread between units is unknown.
    if sums.units < 2 or bb == b * b:
        return a / b, math.nan
    squares = (aa * b * b - 2 * a * b * ab + a * a * bb) * sums.units
    return a / b, math.sqrt(squares / (b**4 * (sums.units - 1)))
