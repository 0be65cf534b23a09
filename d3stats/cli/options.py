"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from d3stats.trajectories import Trajectories

Logs = Annotated[
    list[str], typer.Argument(help="Log files (JSONL, Parquet or tidy CSV; globs in quotes), or 'slm7'.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random.")]
Level = Annotated[float, typer.Option("--level", help="Level of the intervals.")]
Missing = Annotated[
    str, typer.Option("--missing", help="What a missing vote counts as: 'exclude' (trials vary) or 'wrong'.")
]
Lenient = Annotated[
    bool, typer.Option("--lenient", help="Leave out defective records and list them, instead of stopping.")
]
Roles = Annotated[list[str] | None, typer.Option("--role", help="Keep only turns of this role; repeatable.")]
MissingValues = Annotated[
    str | None,
    typer.Option(
        "--missing-values",
        help="Words that mean missing, with commas, in place of NA, N/A, None, NaN, null and the like; '' for none.",
    ),
]
Boot = Annotated[int, typer.Option("--n-boot", help="Bootstrap replicates.")]
Figure = Annotated[
    Path | None, typer.Option("--figure", help="Also write the figure here, as PDF and PNG (no suffix).")
]

BUNDLED = "slm7"


def paths_of(logs: list[str]) -> list[str]:
    """Put the bundled log's file where its name stands."""
    from d3stats import datasets

    return [str(datasets.path(BUNDLED)) if log == BUNDLED else log for log in logs]


def words_of(given: str | None) -> list[str] | None:
    """Return the words of ``--missing-values``."""
    return None if given is None else [word for word in given.split(",") if word.strip()]


def read_trajectories(
    logs: list[str], lenient: bool, roles: list[str] | None, missing_values: str | None = None
) -> tuple[Trajectories, list[str]]:
    """Read logs; return them with a line per record that was left out."""
    from d3stats.log.read import read_log
    from d3stats.trajectories import Trajectories

    paths = paths_of(logs)
    words = words_of(missing_values)
    read = read_log(*paths, strict=False, missing_values=words) if lenient else None
    left_out = [] if read is None else [str(problem) for problem in read.problems]
    return Trajectories.from_log(*paths, strict=not lenient, roles=roles, missing_values=words), left_out
