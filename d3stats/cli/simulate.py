"""``d3stats simulate``: what stopping rules would cost in synthetic worlds, before a token is spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli.options import Json, Latex, one_format
from d3stats.cli.output import Table, print_json, print_latex, print_notes, print_table, records

if TYPE_CHECKING:
    from d3stats.planning.sweep import Sweep


def simulate(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Worlds, rules and seeds.")],
    workers: Annotated[int, typer.Option("--workers", "-w", help="Processes on this machine.")] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", help="A dask scheduler, tcp://host:8786 (extra 'scale')."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Journal of finished chunks; the same command goes on from it."),
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Also write the table here.")] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="d3stats.planning.sweep:By", help="Put seeds together, or show each seed apart."
        ),
    ] = "world",
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Simulate stopping rules in synthetic worlds: worlds x rules x seeds."""
    from d3stats._check import choice
    from d3stats.planning.sweep import run_sweep

    one_format(as_json, as_latex)
    choice("by", by, ("world", "seed"))
    if csv is not None and not csv.absolute().parent.is_dir():
        raise ValueError(f"--csv must lie in a folder that exists; got {str(csv)!r}")
    done = run_sweep(study, workers=workers, scheduler=scheduler, out=out)
    table = done.to_frame(by)  # type: ignore[arg-type]  # checked above
    if csv is not None:
        table.to_csv(csv, index=False)
    if as_json:
        stops = done.stops(by)  # type: ignore[arg-type]  # checked above
        print_json({"study": done.study.key(), "rules": records(table), "stops": records(stops)})
        return
    tables = sweep_tables(done, by)
    if as_latex:
        print_latex(tables)
        return
    for one in tables:
        print_table(*one)
    batched = table.loc[table["decides"] == "batch", "rule"].drop_duplicates()
    if len(batched):
        names = ", ".join(batched)
        print_notes(
            [f"{names}: one decision per batch of {done.study.batch} debates; errors between batches"]
        )


def sweep_tables(done: Sweep, by: str) -> list[Table]:
    """Return one table per world, with the measures that it has."""
    tables: list[Table] = []
    table = done.to_frame(by)  # type: ignore[arg-type]  # checked by the caller
    groups = ["world", "seed"] if by == "seed" else ["world"]
    for _, part in table.groupby(groups, sort=False):
        rows = part.to_dict("records")
        title = " ".join(f"{'seed ' if name == 'seed' else ''}{rows[0][name]}" for name in groups)
        measures = [
            ("rounds", "rounds", _plain(2)),
            ("accuracy", "accuracy", _plain(4)),
            ("flips", "flips", _plain(4)),
            ("gained", "gained", _plain(4)),
            ("lost", "lost", _plain(4)),
            ("tokens", "tokens", _plain(0)),
            ("dollars", "dollars", _plain(6)),
            ("saved_rounds_vs_unanimity", "rounds saved vs unanimity", _percent),
            ("saved_tokens_vs_unanimity", "tokens saved", _percent),
        ]
        shown = [m for m in measures if m[0] in part.columns and part[m[0]].notna().any()]
        head = (
            f"{title}: {rows[0]['n_debates']} debates of up to {done.study.n_rounds} rounds, "
            f"Monte Carlo standard error in brackets",
            ["rule", *[label for _, label, _ in shown]],
            [[str(row["rule"]), *[_cell(row, name, write) for name, _, write in shown]] for row in rows],
        )
        tables.append(head)
    return tables


def _cell(row: dict[Any, Any], name: str, write: Any) -> str:
    value, error = row[name], row[f"{name}_se"]
    if value != value:  # NaN: the world records nothing of the kind
        return "-"
    return f"{write(value)} ({'-' if error != error else write(error)})"


def _plain(digits: int) -> Any:
    return lambda value: f"{value:.{digits}f}"


def _percent(value: float) -> str:
    return f"{value:.1%}"
