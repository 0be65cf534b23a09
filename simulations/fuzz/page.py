"""Write docs/reference/reliability.md from the tables of this study and of ../run_faults: no number is copied by hand.

python simulations/fuzz/page.py
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "reference" / "reliability.md"
FAULTS = HERE.parent / "run_faults" / "faults.csv"

HEAD = """\
# Reliability

**What is lost when a run is killed, a disk is full, or a file is damaged or hostile?** No verdict and no record was
lost or counted twice in {runs:,} faults of runs and {inputs:,} spoilt inputs. Every refusal was an error of this
package, in one line.

## Faults of a run

Each try plays eight debates, or a sweep of 40 chunks, until the fault; then the same command runs again until it ends.
*Lost* counts verdicts (chunks) that were written and are absent or different, or never come. *Doubled* counts calls
(chunks) that were answered before, were not in flight, and are made again.

{faults}

When the process ended or the disk was full, {flying} answered calls were in flight and in no file. They are made again
and charged at their bound. The clocks jump by a day in both directions and forward by up to an hour. The second of two
runs of one log is refused. [Faults of a run](../../simulations/run_faults/findings.md) has each kind of damage.

`python simulations/run_faults/run.py` makes the table again (about six minutes).

## Spoilt input

A small true input of each kind is spoilt: cells, rows, keys and values are replaced, repeated, put in another order or
taken out. In about half of the cases its bytes are changed too: cut, flipped, recoded, mixed with control characters
and halves of characters. The public function of its kind reads it.

- *refused*: an error that a statement of this package raised, in one line of at most 2,000 characters.
- *other errors*: any other exception, more than {seconds:g} CPU seconds, or a value that is not the one in the input
  although neither a problem nor a note tells of a change.
- *lost*: records of the input that are neither in the result nor told as left out. *Doubled*: records that are in it
  more often than in the input. Both are counted where the change leaves the number of records known.

{inputs_table}

All inputs were read one after the other, thousands by one process. Its memory never exceeded {memory:,} MB, and the
slowest input took {slowest:g} CPU seconds. `python simulations/fuzz/run.py` makes the table again ({cpu:,.0f} CPU
seconds); a stopped run continues. `--kind NAME --only NUMBER` repeats one input. A test tries 300 other inputs on every
change.

## Files that hold much

Files of at most 2 MB, each read in a process of its own. All are refused in one line.

{bombs}

Memory includes about 110 MB of the program itself. `python simulations/fuzz/read_bombs.py` makes the table again.

## Limitations

- The changes are drawn at random, without looking at which code they reach.
- A changed byte inside of a vote may give another valid vote. No reader can notice that.
- Counts, studies, prices, worlds, rules and replies have no records to count. Their values are compared with those in
  the input where these can be read in a second way.
- A block of inputs with a defect is not in the table before the defect is corrected.
- Two lines that open or close a debate with the same words are one record.

## How this is tested

`tests/test_reliability.py` recomputes this page from its tables, and one block of each cheap kind. It also tries new
inputs.
"""

GROUPS = {
    "process killed": "killed (SIGKILL)",
    "worker of a sweep killed": "a worker of a sweep killed",
    "disk full": "full disk",
    "folder that may not be written": "folder that may not be written",
    "clocks that jump": "clocks that jump",
    "two runs of one log at once": "two runs of one log at once",
    "log or journal deleted, replaced or cut under the run": "under the run",
    "log or journal damaged between two runs": "between runs",
}
"""Rows of the page, and what the kinds of ``faults.csv`` contain that they add up."""


def markdown(frame: pd.DataFrame) -> str:
    """Return a table of Markdown; whole numbers have separators."""
    cells = [list(frame.columns), ["---"] * frame.shape[1]]
    cells += [
        [f"{value:,}" if isinstance(value, int) else str(value) for value in row] for row in rows_of(frame)
    ]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in cells)


def rows_of(frame: pd.DataFrame) -> list[list[object]]:
    return [list(row) for row in frame.astype(object).itertuples(index=False)]


def faults(table: pd.DataFrame) -> pd.DataFrame:
    """Add up the kinds of faults of a run: kind, tries, lost and doubled."""
    rows = []
    for name, part in GROUPS.items():
        of = table[table["kind"].str.contains(part, regex=False)]
        rows.append((name, *(int(of[c].sum()) for c in ("tries", "verdicts lost", "calls paid twice"))))
    rows.append(("all", *(sum(row[k] for row in rows) for k in (1, 2, 3))))
    return pd.DataFrame(rows, columns=["kind", "tries", "lost", "doubled"])


def text(
    faults_made: pd.DataFrame, rows: pd.DataFrame, bombs: pd.DataFrame, shown: pd.DataFrame, seconds: float
) -> str:
    """Return the page; `shown` is the table of kinds that ``run.py`` makes of `rows`."""
    of_runs = faults(faults_made)
    columns = ["kind", "tries", "refused", "other errors", "lost", "doubled"]
    return HEAD.format(
        runs=of_runs["tries"].iloc[-1],
        inputs=rows["tries"].sum(),
        faults=markdown(of_runs),
        flying=faults_made["in flight and made again"].sum(),
        seconds=seconds,
        inputs_table=markdown(shown[columns]),
        memory=rows["megabytes"].max(),
        slowest=rows["slowest"].max(),
        cpu=rows["cpu"].sum(),
        bombs=markdown(bombs.drop(columns="outcome")),
    )


def main() -> None:
    import tomllib

    from run import shown

    rows = pd.read_csv(HERE / "rows.csv")
    seconds = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))["cpu_seconds"]
    tables = pd.read_csv(FAULTS), rows, pd.read_csv(HERE / "bombs.csv"), shown({"rows": rows})["rows"]
    PAGE.write_text(text(*tables, seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
