"""What do spoilt and hostile inputs do: are they read, refused in our words, or does something else happen?

    python simulations/fuzz/run.py [-o FOLDER] [--kind NAME] [--only NUMBER] [--bombs]

Every input is drawn by its number, spoilt and given to the public function that reads it, one after the other in one
process. A stopped run continues. Writes ``rows.csv``, a row for each block of inputs; what is neither read
nor refused is printed with the number that repeats it. ``--bombs`` reads the packed files of ``bombs.py``, each in a
process of its own, and writes ``bombs.csv``.
"""

from __future__ import annotations

import argparse
import dis
import random
import resource
import signal
import sys
import tempfile
import time
import tomllib
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from findings_tables import write  # noqa: E402  # studies are no package
from kinds import KINDS  # noqa: E402

import d3stats  # noqa: E402

PACKAGE = Path(d3stats.__file__).parent
LONGEST = 2000
"""The most characters of an error."""
SUMS = ["tries", "read", "told", "refused", "other", "lost", "doubled"]
COLUMNS = ["kind", "block", *SUMS, "cpu", "slowest", "megabytes"]


class TooSlowError(BaseException):
    """An input took more CPU seconds than it may; no reader may catch it."""


@dataclass(frozen=True)
class Outcome:
    """What came of one input: ``"read"``, ``"told"`` (read, with a note or a problem), ``"refused"`` or ``"other"``."""

    what: str
    lost: int = 0
    doubled: int = 0
    why: str = ""


def is_ours(error: BaseException) -> bool:
    """Whether an error is a refusal of this package: raised by a statement of ours, in one line of our words."""
    if not isinstance(error, ValueError | TypeError | FileNotFoundError):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    code = trace.tb_frame.f_code
    raised = dis.opname[code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"
    said = str(error)
    return (
        raised
        and Path(code.co_filename).is_relative_to(PACKAGE)
        and 0 < len(said) <= LONGEST
        and "\n" not in said
    )


@contextmanager
def watched(seconds: float) -> Iterator[None]:
    """Interrupt what takes more CPU seconds."""

    def late(*_: Any) -> None:
        raise TooSlowError(f"more than {seconds:g} CPU s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def tried(kind: str, number: int, folder: Path, *, seed: int = 1, seconds: float = 10.0) -> Outcome:
    """Draw one input, spoil it, have it read in an empty folder, and say what came of it."""
    rng = random.Random(f"{seed} {kind} {number}")
    try:
        with watched(seconds), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            read = KINDS[kind](rng, folder)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        if is_ours(error):
            return Outcome("refused")
        return Outcome("other", why="".join(traceback.format_exception(error)[-7:]))
    return Outcome("told" if read.told else "read", read.lost, read.doubled)


def block(kind: str, numbers: range, config: Mapping[str, Any]) -> dict[str, Any]:
    """Try a block of inputs of one kind."""
    row: dict[str, Any] = dict.fromkeys(COLUMNS, 0)
    row |= {"kind": kind, "block": numbers.start // config["block"], "tries": len(numbers)}
    slowest = 0.0
    began = time.process_time()
    for number in numbers:
        with tempfile.TemporaryDirectory() as name:
            start = time.process_time()
            found = tried(kind, number, Path(name), seed=config["seed"], seconds=config["cpu_seconds"])
            slowest = max(slowest, time.process_time() - start)
        row[found.what] += 1
        row["lost"] += found.lost
        row["doubled"] += found.doubled
        if found.why or found.lost or found.doubled:
            print(
                f"== {kind}, number {number}: {found.lost} lost, {found.doubled} doubled\n{found.why}",
                flush=True,
            )
    row["cpu"] = round(time.process_time() - began, 2)
    row["slowest"] = round(slowest, 2)
    row["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return row


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Add up the blocks: one row for each kind, and the sum of all."""
    rows = tables["rows"]
    kinds = [kind for kind in KINDS if kind in set(rows["kind"])]
    table = rows.groupby("kind")[SUMS].sum().loc[kinds]
    table.loc["all"] = table.sum()
    names = {"told": "read, with notes", "other": "other errors"}
    return {"rows": table.reset_index().rename(columns=names)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", type=Path, default=HERE)
    parser.add_argument("--kind", help="only this kind; prints its rows and writes nothing")
    parser.add_argument("--only", type=int, help="only the input of this number; prints what came of it")
    parser.add_argument(
        "--tries", type=int, help="of each kind, in place of those of config.toml; writes nothing"
    )
    options = parser.parse_args()
    config = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    if options.only is not None:
        with tempfile.TemporaryDirectory() as name:
            found = tried(options.kind, options.only, Path(name), seed=config["seed"])
            print(found.what, found.lost, found.doubled, found.why, sep="\n")
        return
    size = config["block"]
    kept = options.o / "rows.csv"
    trial = options.kind is not None or options.tries is not None
    tries = {
        kind: options.tries or number
        for kind, number in config["tries"].items()
        if options.kind in (None, kind)
    }
    rows = pd.read_csv(kept).to_dict("records") if kept.exists() and not trial else []
    # A block with a defect is tried again, for the defect may be corrected, and so is one that has grown.
    rows = [
        row
        for row in rows
        if not row["other"] + row["lost"] + row["doubled"]
        and row["tries"] == min(size, tries[row["kind"]] - size * row["block"])
    ]
    done = {(row["kind"], row["block"]) for row in rows}
    # First a block of every kind, so that a run that is stopped has tried all kinds.
    starts = [(kind, start) for kind, number in tries.items() for start in range(0, number, size)]
    for kind, start in sorted(starts, key=lambda one: one[1] > 0):
        if (kind, start // size) in done:
            continue
        rows.append(block(kind, range(start, min(start + size, tries[kind])), config))
        print(rows[-1], flush=True)
        if not trial:
            pd.DataFrame(rows, columns=COLUMNS).to_csv(kept, index=False, lineterminator="\n")
    if not trial and options.o == HERE:
        write(HERE, HERE, {"rows": pd.DataFrame(rows, columns=COLUMNS)}, shown)


if __name__ == "__main__":
    main()
