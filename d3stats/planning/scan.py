"""What would each of a thousand stopping rules have cost, at a glance?

A scan is a replay without the bootstrap: the same means, with standard errors from linearised ratios, robust
to questions that hold several debates. Use it to look over a family of rules, then replay the few that matter.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import choice, integer
from d3stats.planning.costs import (
    LABELLED,
    MEASURES,
    as_rules,
    bill,
    can_run,
    early_notes,
    outcomes,
    refused_note,
    tokens_by_round,
    undecided,
    with_turns,
)
from d3stats.polling import reads_votes
from d3stats.resampling import too_unequal
from d3stats.sources import LogSource, Reading, as_trajectories
from d3stats.stopping import (
    After,
    Both,
    Either,
    FullDepth,
    Rule,
    StoppingRule,
    Unanimity,
)
from d3stats.stopping.rule import first_firing
from d3stats.stopping.votes import CampRule
from d3stats.trajectories import MISSING, Missing, Trajectories

__all__ = ["StopFinder", "scan"]

Masks = NDArray[np.unsignedinteger[Any]]

_TABLE_BITS = 16
_KEPT_BYTES = 128 * 2**20
"""Masks of shared parts that are kept; beyond it they are worked out again."""


class StopFinder:
    """Find where many rules stop the debates of one log.

    Parameters
    ----------
    trajectories : Trajectories
    rules : sequence of StoppingRule
        The rules that will be asked for: parts that occur in several are remembered.

    Notes
    -----
    Gives what ``rule.stop_rounds(trajectories)`` gives, without the reasons. Safe to share between
    threads: at worst two of them work the same part out.
    """

    def __init__(self, trajectories: Trajectories, rules: Sequence[StoppingRule]) -> None:
        self._log = trajectories
        n_rounds = trajectories.n_rounds
        self._cut = trajectories.ended_early()
        self._any_cut = bool(self._cut.any())
        self._fits = n_rounds <= 64
        width = next((bits for bits in (8, 16, 32, 64) if n_rounds <= bits), 64)
        self._type = np.dtype(f"uint{width}")
        one = np.ones(1, dtype=self._type)
        self._one = one[0]
        self._bits: Masks = np.left_shift(one, np.arange(min(n_rounds, width), dtype=self._type))
        # Bit r - 1 stands for round r, so all bits below bit `depth` are the rounds that were played.
        upto = np.concatenate([np.zeros(1, self._type), np.cumsum(self._bits, dtype=self._type)])
        last = np.concatenate([np.zeros(1, self._type), self._bits])
        depth = np.minimum(trajectories.depth, len(self._bits))
        self._reached: Masks = upto[depth]
        self._last: Masks = last[depth]
        self._first_bit = _first_bits(n_rounds) if n_rounds <= _TABLE_BITS else None
        sizes = np.unique(trajectories.panel)
        self._panels = [(int(n), trajectories.panel == n if len(sizes) > 1 else None) for n in sizes]
        self._lead: NDArray[np.signedinteger[Any]] | None = None
        self._camps: dict[int, Masks] = {}
        uses = Counter(leaf for rule in rules for leaf in _leaves(rule))
        self._shared = {leaf for leaf, count in uses.items() if count > 1}
        self._kept: dict[Rule, Masks] = {}
        self._room = _KEPT_BYTES

    def rounds(self, rule: StoppingRule) -> NDArray[np.integer[Any]]:
        """Return how many rounds each debate plays under the rule, shape (debates,)."""
        return self.stops(rule)[0]

    def stops(self, rule: StoppingRule) -> tuple[NDArray[np.integer[Any]], int]:
        """Return the rounds that each debate plays, and in how many debates the rule is undecided.

        A rule is undecided in a debate that ended early, before the rule fired.
        """
        sees_less = "tokens" in rule.reads and rule.shown(self._log) is not self._log
        if sees_less or not isinstance(rule, Rule) or type(rule).stop_rounds is not Rule.stop_rounds:
            stops = rule.stop_rounds(self._log)
            return stops.rounds, int(undecided(self._log, stops).sum())
        if not self._fits:
            code, at = first_firing(rule.firings(self._log).codes)
            went_on = int(np.count_nonzero((code == 0) & self._cut)) if self._any_cut else 0
            return np.where(code > 0, at + 1, self._log.depth), went_on
        fired = self._masks(rule)
        went_on = int(np.count_nonzero((fired == 0) & self._cut)) if self._any_cut else 0
        # With the last round's bit set, a rule that never fires stops at the debate's depth.
        masks = fired | self._last
        found: NDArray[np.integer[Any]]
        if self._first_bit is not None:
            found = self._first_bit[masks]
        else:
            found = np.frexp((masks & (~masks + self._one)).astype(np.float64))[1]
        return found, went_on

    def _masks(self, rule: Rule) -> Masks:
        if isinstance(rule, Either):
            either: Masks = self._masks(rule.left) | self._masks(rule.right)
            return either
        if isinstance(rule, Both):
            both: Masks = self._since(self._masks(rule.left)) & self._since(self._masks(rule.right))
            return both & self._reached
        if isinstance(rule, After):
            hidden = self._bits[: rule.rounds - 1].sum(dtype=self._type)
            late: Masks = self._masks(rule.inner) & ~hidden
            return late
        return self._leaf(rule)

    def _since(self, masks: Masks) -> Masks:
        """Set every bit from the lowest one on; nothing where none is set."""
        since: Masks = ~((masks & (~masks + self._one)) - self._one)
        return since

    def _leaf(self, rule: Rule) -> Masks:
        if rule in self._kept:
            return self._kept[rule]
        masks = self._worked_out(rule) & self._reached
        if rule in self._shared and self._room >= masks.nbytes:
            self._room -= masks.nbytes
            self._kept[rule] = masks
        return masks

    def _worked_out(self, rule: Rule) -> Masks:
        # A rule made from one of these may look at more than the largest camp.
        if isinstance(rule, CampRule) and type(rule).fires is CampRule.fires:
            held = large = self._large(rule.needed)
            for _ in range(1, min(rule.patience, len(self._bits) + 1)):
                held = large & (held << self._one)
            return held
        from d3stats.planning._scan_kernel import packed

        plain = type(rule).firings is Rule.firings
        fires = rule.fires(self._log) if plain else rule.firings(self._log).codes > 0
        # A copy of what is broadcast: the compiled loop is then compiled once for all rules.
        masks: Masks = packed(np.ascontiguousarray(fires), self._bits)
        return masks

    def _large(self, needed: Callable[[int, int], int]) -> Masks:
        """Set the rounds in which the largest camp has the votes needed on a panel of a size in a round."""
        masks = np.zeros(len(self._log), dtype=self._type)
        for panel, rows in self._panels:
            asked: dict[int, Any] = {}
            for r, bit in enumerate(self._bits):
                votes = needed(panel, r + 1)
                asked[votes] = asked.get(votes, self._type.type(0)) | bit
            for votes, rounds in asked.items():
                large = self._camp(votes) & rounds
                masks |= large if rows is None else np.where(rows, large, self._type.type(0))
        return masks

    def _camp(self, votes: int) -> Masks:
        """Set the rounds in which the largest camp has at least so many votes; remembered."""
        if votes in self._camps:
            return self._camps[votes]
        if self._lead is None:
            lead = self._log.camps()[0]
            narrow = np.int8 if self._log.votes.shape[2] < 128 else np.int32
            self._lead = np.ascontiguousarray(lead.T, dtype=narrow)
        masks = np.zeros(len(self._log), dtype=self._type)
        if votes <= self._log.votes.shape[2]:
            for lead, bit in zip(self._lead, self._bits, strict=True):
                masks |= (lead >= votes) * bit
        if self._room >= masks.nbytes:
            self._room -= masks.nbytes
            self._camps[votes] = masks
        return masks


def _leaves(rule: StoppingRule) -> list[Rule]:
    if isinstance(rule, (Either, Both)):
        return _leaves(rule.left) + _leaves(rule.right)
    if isinstance(rule, After):
        return _leaves(rule.inner)
    return [rule] if isinstance(rule, Rule) else []


def _first_bits(n_bits: int) -> NDArray[np.uint8]:
    """Return the place of the lowest bit, from 1, of every number of so many bits; 0 for 0."""
    table = np.zeros(2**n_bits, dtype=np.uint8)
    for bit in reversed(range(n_bits)):
        table[2**bit :: 2 ** (bit + 1)] = bit + 1
    return table


_FLAGS = ("correct", "scored", "agrees", "compared", "gained", "lost", "judged", "premature", "early")
"""What is known of a debate at a stop; flag i is bit i of its code."""

_RATIOS = {
    measure: (_FLAGS.index(MEASURES[measure][0]), _FLAGS.index(MEASURES[measure][1]))
    for measure in ("accuracy", "agreement", "gained", "lost", "premature")
}
"""Measures that are ratios of two flags."""

_COLUMNS = (
    "rounds",
    "tokens",
    *_RATIOS,
    "saved_rounds_vs_unanimity",
    "saved_tokens_vs_unanimity",
)


def scan(
    trajectories: LogSource,
    rules: StoppingRule | str | Sequence[StoppingRule | str],
    *,
    missing: Missing = "exclude",
    threads: int | None = None,
    **reading: Unpack[Reading],
) -> pd.DataFrame:
    """Replay very many stopping rules and say what each would have cost and lost.

    Parameters
    ----------
    trajectories : Trajectories, or what :func:`d3stats.as_trajectories` takes
        The logged debates, played deeper than the rules would have; debates without turns are left out.
    rules : rule, text, or sequence of them
        Text as in :func:`d3stats.stopping.from_text`. Savings are measured against the first ``Unanimity``
        among them, or against ``Unanimity()``; nothing is added to the table, and a rule that is named twice is
        taken once.
    missing : {"exclude", "wrong"}
        As in :func:`d3stats.planning.replay`: a debate without any vote at its stop is left out of accuracy
        and agreement, or counts as not correct and as differing from any verdict.
    threads : int, optional
        Threads to share the rules out to; by default one per core, at most 8. The table does not depend on it.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    DataFrame
        One row per rule: ``rule``; ``decides`` ("debate" or "batch"); ``n_debates``, ``n_questions``;
        ``undecided``, the debates that ended before the rule would have stopped them; and the measures of
        :meth:`d3stats.planning.Replay.to_frame` with their standard errors in ``<measure>_se``: ``rounds``,
        ``tokens`` (when known), ``accuracy``, ``gained``, ``lost``, ``premature`` (with labels), ``agreement``,
        ``saved_rounds_vs_unanimity``, ``saved_tokens_vs_unanimity``. Then ``missing``. A ratio with denominator 0
        is NaN, as in a replay. A rule with undecided debates has no measures, nor has one that the protocol of the log
        cannot be run with, and no rule has savings against such a baseline. Agreement, gained, lost and premature are
        missing if some debate of the log ended before the last round, or in it by a stopping rule. ``attrs["notes"]``
        says so in words.

    Raises
    ------
    ValueError
        When there is no debate with turns, fewer than two questions, no rule, or two different rules with one
        name.

    Notes
    -----
    A measure is a ratio r = sum x / sum y over debates. Its squared standard error leaves out one question at a time
    (:func:`~d3stats.resampling.left_out_error`): (G - 1) / G * sum_g ((X_g - r Y_g) / (1 - h_g))^2 / Y^2. Question g of
    G has the sums X_g and Y_g and the share h_g of the debates. The error is missing where one question has most of
    the debates (:func:`~d3stats.resampling.too_unequal`). The stop of a batch rule is taken as fixed.

    Examples
    --------
    >>> t = Trajectories.from_arrays(
    ...     [[["A", "A"], ["A", "A"]], [["A", "B"], ["B", "B"]], [["B", "A"], ["A", "A"]]], ["A", "B", "A"]
    ... )
    >>> scan(t, ["fixed:1", "unanimity"])[["rule", "rounds", "accuracy", "accuracy_se"]].round(2)
            rule  rounds  accuracy  accuracy_se
    0    fixed:1    1.00      0.33         0.33
    1  unanimity    1.67      1.00         0.00
    """
    choice("missing", missing, ("exclude", "wrong"))
    at_once = min(os.cpu_count() or 1, 8) if threads is None else integer("threads", threads, minimum=1)
    played, absent = with_turns(as_trajectories(trajectories, **reading))
    every, repeated = as_rules(rules, panel=int(played.panel.max()))
    baseline = next((rule for rule in every if isinstance(rule, Unanimity)), Unanimity())
    finder = StopFinder(played, [*every, baseline])
    usual, usual_open = finder.stops(baseline)
    known = usual_open == 0 and can_run(played, baseline)
    ledger = _Ledger.of(played, missing, usual if known else None)

    def row(rule: StoppingRule) -> dict[str, Any]:
        stops, went_on = finder.stops(rule)
        measures = ledger.row(stops, reads_votes(rule))
        nothing = went_on or not can_run(played, rule)
        return {"undecided": went_on} | (dict.fromkeys(measures, np.nan) if nothing else measures)

    if at_once == 1 or len(every) == 1:
        rows = [row(rule) for rule in every]
    else:
        with ThreadPoolExecutor(at_once) as pool:
            rows = list(pool.map(row, every))
    about = pd.DataFrame(
        {
            "rule": [str(rule) for rule in every],
            "decides": ["debate" if isinstance(rule, Rule) else "batch" for rule in every],
            "n_debates": played.n_debates,
            "n_questions": len(ledger.ends),
        }
    )
    table = pd.concat([about, pd.DataFrame(rows)], axis=1).assign(missing=missing)
    went_on = {name: int(n) for name, n in zip(table["rule"], table["undecided"], strict=True) if n}
    if usual_open:
        went_on[str(baseline)] = usual_open
    table.attrs["notes"] = (
        *played.remarks(),
        *early_notes(played, absent, every, went_on, str(baseline)),
        *refused_note(played, [rule for rule in every if not can_run(played, rule)]),
        *repeated,
    )
    return table


@dataclass(frozen=True, eq=False)
class _Ledger:
    """What every stop of every debate would mean, looked up by (debate, round).

    `order` are the rows of the log sorted by question, `ends` where each question ends in that order; all
    other arrays are in that order. `factors` leave a question out: 1 / (1 - h)^2 with h its share of the debates, NaN
    where one question has most of them. `spent` are the bills of rules that read votes (True) and of the others
    (False), and `unknown` the stops at which a bill is not known.
    """

    order: Ints
    ends: Ints
    factors: Floats
    codes: NDArray[np.uint16]
    spent: dict[bool, Floats]
    unknown: dict[bool, NDArray[np.bool_] | None]
    known: Floats
    usual_rounds: Floats
    usual_tokens: Floats
    labelled: bool

    @classmethod
    def of(cls, t: Trajectories, missing: Missing, baseline: NDArray[np.integer[Any]] | None) -> _Ledger:
        """Look up every stop once, with the same code as a replay; no baseline when its cost is unknown."""
        order = np.argsort(t.cluster, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(t.cluster[order])) + 1, len(t))
        if len(ends) < 2:
            raise ValueError(
                f"trajectories must hold at least 2 questions, because errors are between questions; "
                f"got {len(ends)}"
            )
        sizes = np.diff(ends, prepend=0).astype(np.float64)
        codes = np.zeros((len(t), t.n_rounds + 1), dtype=np.uint16)
        for r in range(t.n_rounds + 1):
            result = outcomes(t, np.full(len(t), r), missing)
            for bit, flag in enumerate(_FLAGS):
                codes[:, r] |= getattr(result, flag) * np.uint16(1 << bit)
        spent: dict[bool, Floats] = {}
        unknown: dict[bool, NDArray[np.bool_] | None] = {}
        usual = tokens_by_round(t)
        known = np.empty(0) if usual is None else 1.0 - np.isnan(usual[order, 0])
        for asks, rule in ((True, Unanimity()), (False, FullDepth())):
            bills = None if usual is None else bill(t, rule)
            table = (
                np.empty((0, 0))
                if usual is None
                else np.full_like(usual, np.nan)
                if bills is None
                else bills[order]
            )
            gone = np.isnan(table) & (known > 0)[:, None]
            unknown[asks] = gone if gone.any() else None
            spent[asks] = np.nan_to_num(table, nan=0.0)
        # A baseline that costs nothing makes every saving a ratio with nothing below the line.
        stops = np.zeros(len(t), dtype=np.int64) if baseline is None else baseline[order]
        return cls(
            order=order,
            ends=ends,
            factors=np.full(len(ends), np.nan) if too_unequal(sizes) else (1 - sizes / sizes.sum()) ** -2.0,
            codes=codes[order],
            spent=spent,
            unknown=unknown,
            known=known,
            usual_rounds=stops.astype(np.float64),
            usual_tokens=spent[True][np.arange(len(t)), stops] if len(spent[True]) else np.empty(0),
            labelled=bool((t.label != MISSING).any()),
        )

    def row(self, stops: NDArray[np.integer[Any]], asks: bool) -> dict[str, float]:
        """Return every measure, with its standard error, of debates stopped after so many rounds.

        `asks` says whether the rule reads votes.
        """
        from d3stats.planning._scan_kernel import residual_squares, totals

        counts, rounds, tokens, played, code, paid = totals(stops, self.order, self.codes, self.spent[asks])
        flags = _FLAG_VALUES @ counts
        usual, price = self.usual_rounds.sum(), self.usual_tokens.sum()
        sums = {
            "rounds": (rounds, len(self.order)),
            "tokens": (tokens, self.known.sum()),
            "saved_rounds_vs_unanimity": (usual - rounds, usual),
            "saved_tokens_vs_unanimity": (price - tokens, price),
            **{name: (flags[above], flags[below]) for name, (above, below) in _RATIOS.items()},
        }
        ratios = {name: above / below if below else np.nan for name, (above, below) in sums.items()}
        by_code = [
            _FLAG_VALUES[above] - ratios[name] * _FLAG_VALUES[below]
            for name, (above, below) in _RATIOS.items()
        ]
        squares = residual_squares(
            played,
            code,
            paid,
            self.ends,
            self.factors,
            self.known,
            self.usual_rounds,
            self.usual_tokens,
            np.array(by_code).T.copy(),
            np.array(list(ratios.values())[:4]),
        )
        row = {}
        for name, square in zip(sums, squares, strict=True):
            row[name] = float(ratios[name])
            below = float(sums[name][1])
            groups = len(self.ends)
            row[f"{name}_se"] = float(np.sqrt((groups - 1) / groups * square)) / below if below else np.nan
        gone = self.unknown[asks]
        if gone is not None and gone[np.arange(len(self.order)), stops[self.order]].any():
            row |= {name: np.nan for name in row if "tokens" in name}
        if row["premature_se"] == 0 and self._questions_stopped_early(code) < 2:
            row["premature_se"] = np.nan
        known = [name for name in _COLUMNS if self._tells(name)]
        return {column: row[column] for name in known for column in (name, f"{name}_se")}

    def _questions_stopped_early(self, code: NDArray[np.uint16]) -> int:
        """Return in how many questions some debate was stopped before full depth."""
        early = _FLAG_VALUES[_FLAGS.index("early")][code]
        return int((np.add.reduceat(early, np.append(0, self.ends[:-1])) > 0).sum())

    def _tells(self, measure: str) -> bool:
        if "tokens" in measure:
            return len(self.spent[True]) > 0
        return self.labelled or measure not in LABELLED


_FLAG_VALUES = np.array(
    [[float(code >> bit & 1) for code in range(1 << len(_FLAGS))] for bit in range(len(_FLAGS))]
)
