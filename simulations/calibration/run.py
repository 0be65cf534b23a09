"""How often does each public interval hold the truth, and how often does each public test reject a true null?

Run: python simulations/calibration/run.py [-j WORKERS] [--only NAME] [--limit-seconds S] [--fresh] [--random N]

Every estimator is called on data sets of every cell of its family. A finished pair of estimator and cell is written to
calibration.csv at once, and the same command measures only the pairs that are not there; ``--fresh`` starts again.
The seed of a data set follows from the cell and its number, so that workers change nothing. ``--random N`` draws N
cells that nobody chose, writes nothing, and prints the rows that miss.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import page  # noqa: E402  # studies are no package
from cells import CELLS, FAMILIES, Cell, draw, random_cell  # noqa: E402
from estimators import ESTIMATORS, Estimator, Outcome  # noqa: E402

TABLE = HERE / "calibration.csv"
CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
COLUMNS = (
    *("estimator", "quantity", "family", "cell", "level", "replicates", "printed", "coverage", "coverage_se"),
    *("below", "above", "width", "size", "size_se", "tested", "seconds", "kind", "note"),
)

WORDS = ("estimator", "quantity", "family", "cell", "kind", "note")


def measure(estimator: Estimator, cell: Cell, replicates: int | None = None) -> pd.DataFrame:
    """Return one row per quantity of an estimator in a cell."""
    n = replicates or estimator.replicates
    found: dict[str, list[Outcome]] = {}
    refused: Counter[str] = Counter()
    begun = time.process_time()
    keys = [CONFIG["seed"], crc32(f"{cell.family} {cell.name}".encode())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(n):
            data = draw(cell, np.random.default_rng([*keys, i]))
            rng = np.random.default_rng([*keys, i, crc32(estimator.name.encode())])
            try:
                outcomes = estimator.measure(data, rng)
            except ValueError as error:
                # The package refuses a data set by ValueError: no interval, and the reason is the note.
                refused[str(error)] += 1
                continue
            for quantity, outcome in outcomes.items():
                found.setdefault(quantity, []).append(outcome)
    seconds = time.process_time() - begun
    rows = [_row(outcomes, n) | {"quantity": quantity} for quantity, outcomes in found.items()]
    shape = {
        "estimator": estimator.name,
        "family": cell.family,
        "cell": cell.name,
        "seconds": round(seconds, 1),
    }
    if not rows:
        rows = [_row([], n) | {"quantity": ""}]
    if refused:
        why = refused.most_common(1)[0][0]
        rows = [row | {"note": row["note"] or why} for row in rows]
    return pd.DataFrame([row | shape for row in rows])[list(COLUMNS)]


def _row(outcomes: Sequence[Outcome], n: int) -> dict[str, Any]:
    truth, low, high, p, null, level = (
        np.array([getattr(o, name) for o in outcomes], dtype=float)
        for name in ("truth", "low", "high", "p", "null", "level")
    )
    given = ~np.isnan(low) & ~np.isnan(high)
    # A limit that equals the truth holds it, rounding aside.
    slack = 1e-9
    below, above = (
        float(np.mean(side[given])) if given.any() else np.nan
        for side in (truth < low - slack, truth > high + slack)
    )
    covers = 1 - below - above
    tested = ~np.isnan(p) & (np.abs(truth - null) < 1e-9)
    size = float(np.mean(p[tested] <= CONFIG["alpha"])) if tested.any() else np.nan
    silent = [o for o, shown in zip(outcomes, given, strict=True) if not shown and o.note]
    kinds = Counter(o.kind for o, shown in zip(outcomes, given, strict=True) if shown)
    notes = Counter(o.note for o in silent or outcomes)
    return {
        "level": float(np.median(level)) if len(level) else np.nan,
        "replicates": n,
        "printed": int(given.sum()) / n,
        "coverage": covers,
        "coverage_se": _se(covers, int(given.sum())),
        "below": below,
        "above": above,
        "width": float(np.mean((high - low)[given])) if given.any() else np.nan,
        "size": size,
        "size_se": _se(size, int(tested.sum())),
        "tested": int(tested.sum()) / n,
        "kind": kinds.most_common(1)[0][0] if kinds else "",
        "note": notes.most_common(1)[0][0] if notes else "",
    }


def _se(share: float, n: int) -> float:
    # With one data set more on either side, a share of 0 or 1 has an error too.
    near = (share * n + 1) / (n + 2) if n else np.nan
    return float(np.sqrt(near * (1 - near) / n)) if n else np.nan


def pairs(only: Sequence[str] = ()) -> list[tuple[Estimator, Cell]]:
    """Return the pairs of the table in order; `only` chooses estimators by a part of their name."""
    chosen = [e for e in ESTIMATORS if not only or any(word in e.name for word in only)]
    if not chosen:
        raise SystemExit(f"--only must be a part of an estimator's name; got {list(only)}")
    return [(e, c) for e in chosen for c in CELLS if c.family == e.family and e.fits(c)]


def results(jobs: Iterable[tuple[Estimator, Cell, int]], workers: int) -> Iterator[pd.DataFrame | str]:
    """Yield the rows of each job when they are done, or what went wrong in it."""
    if workers == 1:
        yield from (_tried(e.name, c, n) for e, c, n in jobs)
        return
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch=workers)
    yield from run(delayed(_tried)(e.name, c, n) for e, c, n in jobs)


def _tried(name: str, cell: Cell, replicates: int) -> pd.DataFrame | str:
    # One call that fails must not end a run of half an hour; its pair stays to be measured.
    try:
        return measure(next(e for e in ESTIMATORS if e.name == name), cell, replicates)
    except Exception as error:
        return f"{name} | {cell.name}: {type(error).__name__}: {error}"


def _until(jobs: Iterable[Any], deadline: float) -> Iterator[Any]:
    for job in jobs:
        if time.monotonic() > deadline:
            return
        yield job


def save(table: pd.DataFrame) -> None:
    """Write the table in the order of the estimators and cells; a run that is killed leaves the last whole one."""
    order = {e.name: k for k, e in enumerate(ESTIMATORS)}
    place = {(c.family, c.name): k for k, c in enumerate(CELLS)}
    keys = pd.DataFrame(
        {
            "e": table["estimator"].map(order),
            "c": [place.get(key, -1) for key in zip(table["family"], table["cell"], strict=True)],
        }
    )
    known = table[keys["e"].notna().to_numpy() & (keys["c"] >= 0).to_numpy()]
    sorted_rows = known.loc[keys.loc[known.index].sort_values(["e", "c"], kind="stable").index]
    part = TABLE.with_suffix(".part")
    sorted_rows.to_csv(part, index=False, float_format="%.6g", lineterminator="\n")
    os.replace(part, TABLE)


def read() -> pd.DataFrame:
    """Return the table as it is on disk; empty if there is none."""
    if not TABLE.exists():
        return pd.DataFrame(columns=list(COLUMNS))
    table = pd.read_csv(TABLE, dtype=dict.fromkeys(WORDS, "str"))
    return table.fillna(dict.fromkeys(WORDS, ""))


def fill(
    only: Sequence[str], workers: int, limit: float, fresh: bool, again: bool, most: int = 10**9
) -> pd.DataFrame:
    """Measure the pairs that the table has not, or with fewer data sets, or with `again` those named; write after each.

    `most` limits the data sets of a pair, for a first look.
    """
    table = read().iloc[:0] if fresh else read()
    wanted = pairs(only)
    if again:
        names = {e.name for e, _ in wanted}
        table = table[~table["estimator"].isin(names)]
    keys = zip(table["estimator"], table["family"], table["cell"], strict=True)
    done = dict(zip(keys, table["replicates"], strict=True))
    want = {e.name: min(e.replicates, most) for e, _ in wanted}
    todo = [(e, c, want[e.name]) for e, c in wanted if done.get((e.name, c.family, c.name), 0) < want[e.name]]
    begun = time.monotonic()
    for k, rows in enumerate(results(_until(todo, begun + limit), workers), 1):
        if isinstance(rows, str):
            print(f"{k}/{len(todo)} failed: {rows}", file=sys.stderr)
            continue
        first = rows.iloc[0]
        before = (table["estimator"] == first["estimator"]) & (table["cell"] == first["cell"])
        kept = table[~before]
        table = pd.concat([kept, rows], ignore_index=True) if len(kept) else rows
        save(table)
        print(f"{k}/{len(todo)} {first['estimator']} | {first['cell']} {first['seconds']} s", file=sys.stderr)
    return read()


def tried(
    n: int, seed: int, only: Sequence[str] = (), workers: int = 1, limit: float = np.inf, most: int = 10**9
) -> pd.DataFrame:
    """Measure random cells, dealt to the families in turn, by every estimator that fits."""
    families = list(FAMILIES)
    cells = [random_cell(families[k % len(families)], k, seed) for k in range(n)]
    jobs = [
        (e, c, min(e.replicates, most))
        for c in cells
        for e in ESTIMATORS
        if e.family == c.family and e.fits(c) and (not only or any(word in e.name for word in only))
    ]
    parts = list(results(_until(jobs, time.monotonic() + limit), workers))
    for part in parts:
        if isinstance(part, str):
            print(f"failed: {part}", file=sys.stderr)
    settings = {c.name: str(c.setting) for c in cells}
    table = pd.concat([part for part in parts if not isinstance(part, str)], ignore_index=True)
    return table.assign(setting=table["cell"].map(settings))


def main() -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("-j", "--workers", type=int, default=1, help="processes")
    parser.add_argument(
        "--only", action="append", default=[], help="a part of an estimator's name; may be repeated"
    )
    parser.add_argument("--again", action="store_true", help="measure the pairs of --only again")
    parser.add_argument("--fresh", action="store_true", help="start with an empty table")
    parser.add_argument("--limit-seconds", type=float, default=np.inf, help="start no pair after this time")
    parser.add_argument("--replicates", type=int, default=10**9, help="at most so many data sets a pair")
    parser.add_argument(
        "--random", type=int, default=0, help="measure so many random cells and write nothing"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the random cells")
    arguments = parser.parse_args()
    only, workers, limit = arguments.only, arguments.workers, arguments.limit_seconds
    with pd.option_context("display.width", 220, "display.max_columns", 30, "display.max_colwidth", 70):
        if arguments.random:
            table = tried(arguments.random, arguments.seed, only, workers, limit, arguments.replicates)
            wrong = page.missed(table)
            shown = ["estimator", "quantity", "cell", "coverage", "coverage_se", "printed", "size", "size_se"]
            print(f"{len(table)} rows in {table['cell'].nunique()} random cells; {len(wrong)} miss")
            print(wrong[shown].to_string(index=False))
            for name, setting in wrong[["cell", "setting"]].drop_duplicates().itertuples(index=False):
                print(name, setting)
            return
        table = fill(only, workers, limit, arguments.fresh, arguments.again, arguments.replicates)
        left = len(pairs()) - len(table[["estimator", "cell"]].drop_duplicates())
        wrong = page.missed(table)
        print(f"{len(table)} rows, {left} pairs to measure, {len(wrong)} rows miss")
        print(wrong[["estimator", "quantity", "cell", "coverage", "printed", "size"]].to_string(index=False))
    page.write(table)
    sys.exit(1 if left and np.isinf(limit) else 0)


if __name__ == "__main__":
    main()
