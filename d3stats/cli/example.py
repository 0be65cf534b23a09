"""``d3stats example``: write a small table of debates as a template."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli.options import Json
from d3stats.cli.output import print_json, print_text, say

if TYPE_CHECKING:
    import pandas as pd


def example(
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="The file to write: .csv, .tsv, .xlsx, .parquet or .jsonl.")
    ],
    wide: Annotated[
        bool, typer.Option("--wide", help="Write one column per agent and one row per round.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write a small table of debates as a template for your own, and print commands to try."""
    if out.exists() and not overwrite:
        raise ValueError(f"OUT must not exist, or be given with --overwrite; got {str(out)!r}")
    if not out.absolute().parent.is_dir():
        raise ValueError(f"the folder of OUT must exist; got {str(out)!r}")
    table = example_table()
    _write(_wide(table) if wide else table, out, wide)
    row = "a round, with a column per agent" if wide else "a turn"
    row = "an item or a turn" if out.suffix.lower() == ".jsonl" else row
    typed = shlex.quote(str(out))
    commands = [
        f"d3stats doctor {typed}",
        f"d3stats fit {typed}",
        f"d3stats replay {typed} -r fixed:1 -r supermajority:0.7",
        f"d3stats plan {typed} --max-loss 0.05",
    ]
    sizes = {
        "debates": int(table["debate"].nunique()),
        "agents": int(table["agent"].nunique()),
        "rounds": int(table["round"].max()),
    }
    if as_json:
        print_json({"file": str(out), **sizes, "row": row, "commands": commands})
        return
    print_text(
        f"{out}: {sizes['debates']} debates of {sizes['agents']} agents over {sizes['rounds']} rounds; a row is {row}"
    )
    say("\nTry:")
    for command in commands:
        say(f"  {command}")


def example_table() -> pd.DataFrame:
    """Return 20 debates of 5 agents over 3 rounds on 10 questions, one row per turn; always the same."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(7)
    rows = []
    for d in range(20):
        question = d // 2
        label = "ABCD"[question % 4]
        wrong = "ABCD"[(question + 1) % 4]
        skill = rng.beta(4, 2)
        votes = [label if rng.random() < skill else wrong for _ in range(5)]
        for r in (1, 2, 3):
            for a, vote in enumerate(votes):
                tokens = int(rng.integers(80, 160))
                rows.append(
                    (
                        f"debate {d + 1:02d}",
                        f"question {question + 1:02d}",
                        r,
                        f"agent {a + 1}",
                        vote,
                        label,
                        tokens,
                    )
                )
            votes = [str(rng.choice(votes)) if rng.random() < 0.6 else vote for vote in votes]
    columns = ["debate", "question", "round", "agent", "vote", "label", "tokens"]
    return pd.DataFrame(rows, columns=columns)


def _wide(table: pd.DataFrame) -> pd.DataFrame:
    keys = ["debate", "question", "round", "label"]
    wide = table.pivot_table(index=keys, columns="agent", values="vote", aggfunc="first").reset_index()
    wide.columns.name = None
    return wide


def _write(table: pd.DataFrame, out: Path, wide: bool) -> None:
    from d3stats._check import meant

    writers: dict[str, Callable[[], Any]] = {
        ".csv": lambda: table.to_csv(out, index=False),
        ".tsv": lambda: table.to_csv(out, index=False, sep="\t"),
        ".xlsx": lambda: table.to_excel(out, index=False),
        ".parquet": lambda: _by_log(table, out),
        ".jsonl": lambda: _by_log(table, out),
    }
    suffix = out.suffix.lower()
    if suffix not in writers:
        raise ValueError(f"OUT must end in {', '.join(writers)}; got {out.name!r}{meant(suffix, writers)}")
    if wide and suffix in (".parquet", ".jsonl"):
        raise ValueError(f"--wide must come with .csv, .tsv or .xlsx; got {out.name!r}")
    writers[suffix]()


def _by_log(table: pd.DataFrame, out: Path) -> None:
    import tempfile

    from d3stats.log import write_jsonl, write_parquet

    # A JSON Lines log keeps prompt and completion tokens apart.
    split = table.assign(tokens_in=table["tokens"] - 60, tokens_out=60).drop(columns="tokens")
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "example.csv"
        split.to_csv(plain, index=False)
        out.unlink(missing_ok=True)
        (write_jsonl if out.suffix.lower() == ".jsonl" else write_parquet)(plain, out)
