"""What would these rules cost in those worlds, before a token is spent?

A cell is a world and a seed. Its debates are drawn in chunks, and a chunk is reduced at once to whole-number
sums that add (see ``_work``). So the result is the same, bit for bit, for any chunk size, number of workers
or cluster, memory does not grow with the number of debates, and a sweep that was killed goes on.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from d3stats._check import choice
from d3stats._parallel import run_tasks
from d3stats.planning._bar import Bar
from d3stats.planning._journal import Journal, gaps
from d3stats.planning._work import COLUMNS, PAIRS, RATIOS, Cell, Chunk, Sums, added, cuts, play_chunk
from d3stats.planning.prices import Price
from d3stats.planning.study import Study, read_study
from d3stats.stopping import Rule

__all__ = ["Sweep", "run_sweep", "sweep"]

By = Literal["world", "seed"]

_AT = {name: i for i, name in enumerate(COLUMNS)}
_PAIR_AT = {pair: i for i, pair in enumerate(PAIRS)}

_SAVED = {
    "saved_rounds_vs_unanimity": "rounds_of_unanimity",
    "saved_rounds_vs_full": "rounds_of_full",
    "saved_tokens_vs_unanimity": "tokens_of_unanimity",
    "saved_tokens_vs_full": "tokens_of_full",
}


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """What every rule did in every cell, as sums.

    Attributes
    ----------
    study : Study
    cells : dict
        By (position of the world, seed): a tuple of sums, one per rule, in the order of ``study.names``.
    """

    study: Study
    cells: dict[tuple[int, int], tuple[Sums, ...]] = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"Sweep({len(self.cells)} cells of {self.study.debates} debates, {len(self.study.names)} rules)"
        )

    def to_frame(self, by: By = "world") -> pd.DataFrame:
        """Return one row per world and rule, or with ``by="seed"`` per world, seed and rule.

        Returns
        -------
        DataFrame
            ``world``; ``seed`` with ``by="seed"``; ``rule``; ``decides`` ("debate" or "batch"); ``n_debates``;
            and with their standard errors in ``<measure>_se``: ``rounds``; ``accuracy``; ``agreement`` with
            full depth and ``flips``, one minus that; ``gained``, ``lost``: right at the stop and not at full
            depth, and the reverse; ``tied``; ``tokens`` and, with a price, ``dollars`` per debate;
            ``accuracy_minus_unanimity``, on the same debates; ``saved_rounds_vs_unanimity``,
            ``saved_rounds_vs_full`` and the same of tokens: one minus the ratio of the means.

            A standard error is the Monte Carlo error of a ratio of sums (linearised; Cochran 1977, eq. 2.46)
            over independent debates, or over batches for a rule that decides for a batch. It is missing
            for a single debate or batch; a measure without any debate to it (tokens in a world that records
            none) is missing.
        """
        rows = []
        for world, seed, sums in self._groups(by):
            for rule, total in zip(self.study.rules, sums, strict=True):
                row: dict[str, Any] = {"world": world}
                if by == "seed":
                    row["seed"] = seed
                row["rule"] = str(rule)
                row["decides"] = "debate" if isinstance(rule, Rule) else "batch"
                row["n_debates"] = total.totals[_AT["debates"]]
                rows.append({**row, **_measures(total, self.study.dollars_per_million_tokens)})
        return pd.DataFrame(rows)

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
            for name, total in zip(self.study.names, sums, strict=True):
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

    def _groups(self, by: By) -> Iterator[tuple[str, int, tuple[Sums, ...]]]:
        choice("by", by, ("world", "seed"))
        for at, name in enumerate(self.study.worlds):
            cells = [self.cells[at, seed] for seed in self.study.seeds]
            if by == "seed":
                for seed, cell in zip(self.study.seeds, cells, strict=True):
                    yield name, seed, cell
            else:
                yield name, -1, reduce(added, cells)


def sweep(
    study: Study | str | Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    out: str | Path | None = None,
    by: By = "world",
    progress: bool | None = None,
) -> pd.DataFrame:
    """Simulate every rule of a study in every world: :func:`run_sweep`, as a table.

    Parameters
    ----------
    study, workers, scheduler, out, progress
        As in :func:`run_sweep`.
    by : {"world", "seed"}
        Put the seeds of a world together, or show each.

    Returns
    -------
    DataFrame
        See :meth:`Sweep.to_frame`.

    Examples
    --------
    >>> from d3stats.worlds import Voter
    >>> study = Study(worlds={"null": Voter(panel=5)}, rules=["fixed:1"], n_rounds=6, debates=500)
    >>> sweep(study)[["world", "rule", "n_debates"]]
      world       rule  n_debates
    0  null    fixed:1        500
    1  null  unanimity        500
    2  null       full        500
    """
    return run_sweep(study, workers=workers, scheduler=scheduler, out=out, progress=progress).to_frame(by)


def run_sweep(
    study: Study | str | Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> Sweep:
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
    Sweep
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
    >>> run_sweep(study)
    Sweep(1 cells of 500 debates, 3 rules)
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
        advance = stack.enter_context(Bar(total, progress))
        advance(total - sum(end - first for _, _, first, end in open_ranges))
        results = run_tasks(play_chunk, _tasks(study, open_ranges), workers=workers, scheduler=scheduler)
        for chunk in results:
            if journal is not None:
                journal.add(chunk)
            fold(chunk)
            advance(chunk.n_debates)
    return Sweep(study, cells)


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
    from d3stats.simulate import simulate

    for name, world in study.worlds.items():
        try:
            drawn = simulate(world, 1, study.n_rounds, rng=0)
        except (TypeError, ValueError) as error:
            raise ValueError(f"world {name!r}: {error}") from error
        if drawn.tokens is None:
            raise ValueError(
                f"dollars_per_million_tokens must not be given when a world records no tokens; got "
                f"{study.dollars_per_million_tokens} and the world {name!r}"
            )


def _measures(sums: Sums, price: Price | None) -> dict[str, float]:
    found = {name: _ratio(sums, above, below) for name, (above, below) in RATIOS.items()}
    row: dict[str, float] = {}

    def put(name: str, value: float, error: float) -> None:
        row[name], row[f"{name}_se"] = value, error

    for name in ("rounds", "accuracy", "agreement"):
        put(name, *found[name])
    put("flips", 1.0 - found["agreement"][0], found["agreement"][1])
    for name in ("gained", "lost", "tied", "tokens"):
        put(name, *found[name])
    if isinstance(price, tuple):
        put("dollars", *_dollars(sums, *price))
    elif price is not None:
        put("dollars", *(value * price / 1e6 for value in found["tokens"]))
    put("accuracy_minus_unanimity", *found["accuracy_minus_unanimity"])
    for saved, ratio in _SAVED.items():
        put(saved, 1.0 - found[ratio][0], found[ratio][1])
    return row


def _dollars(sums: Sums, asked: float, answered: float) -> tuple[float, float]:
    """Return the mean cost of a debate at the prices of prompt and completion tokens, and its standard error."""
    prices = {"tokens_in": Fraction(asked) / 10**6, "tokens_out": Fraction(answered) / 10**6}
    a = sum(price * sums.totals[_AT[kind]] for kind, price in prices.items())
    b, n = sums.totals[_AT["charged"]], sums.units
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
    ab = sum(price * sums.products[_PAIR_AT[kind, "charged"]] for kind, price in prices.items())
    bb = sums.products[_PAIR_AT["charged", "charged"]]
    squares = (aa * b * b - 2 * a * b * ab + a * a * bb) * n
    return float(a / b), math.sqrt(squares / (b**4 * (n - 1)))


def _ratio(sums: Sums, above: str, below: str) -> tuple[float, float]:
    """Return A / B and its standard error; the sums are exact, and rounded once, at the end."""
    a, b = sums.totals[_AT[above]], sums.totals[_AT[below]]
    if b == 0:
        return math.nan, math.nan
    if sums.units < 2:
        return a / b, math.nan
    aa, ab, bb = (sums.products[_PAIR_AT[p]] for p in ((above, above), (above, below), (below, below)))
    squares = (aa * b * b - 2 * a * b * ab + a * a * bb) * sums.units
    return a / b, math.sqrt(squares / (b**4 * (sums.units - 1)))
