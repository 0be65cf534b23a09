"""``d3stats calibrate``: fit a synthetic world to a pilot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.options import (
    Columns,
    Encoding,
    Everything,
    Figure,
    Json,
    Latex,
    Lenient,
    Level,
    MissingValues,
    ReadAs,
    Roles,
    Seed,
    SheetName,
    one_format,
    open_logs,
    reading,
)
from d3stats.cli.output import (
    print_json,
    print_latex,
    print_tables,
    records,
    save_figure,
    working,
)
from d3stats.log.column_names import command_on
from d3stats.report.tables import Table

if TYPE_CHECKING:
    from d3stats.planning.calibration.calibrate import Calibration
    from d3stats.trajectories import Trajectories

World = Annotated[
    str,
    typer.Option(
        "--world",
        autocompletion=completion.worlds,
        help="The world to fit; 'd3stats worlds' lists the names.",
    ),
]


def calibrate(
    pilot: Annotated[
        list[str],
        typer.Argument(autocompletion=completion.logs, help="Pilot logs, at least two rounds, or 'slm7'."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the world as a study file (TOML) for d3stats simulate."),
    ] = None,
    world: World = "conformity",
    free: Annotated[
        list[str] | None,
        typer.Option("--free", help="A parameter to fit instead of the default ones; repeatable."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    level: Level = 0.95,
    figure: Figure = None,
    lenient: Lenient = False,
    roles: Roles = None,
    missing_values: MissingValues = None,
    columns: Columns = None,
    encoding: Encoding = None,
    sheet: SheetName = None,
    read: ReadAs = None,
    seed: Seed = 0,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Fit a synthetic world to a pilot, and test whether the pilot could have come from that world."""
    one_format(as_json, as_latex)
    if out is not None and out.exists() and not overwrite:
        raise ValueError(f"--output must not exist, or be given with --overwrite; got {str(out)!r}")
    if out is not None and not out.absolute().parent.is_dir():
        raise ValueError(f"the folder of --output must exist; got {str(out)!r}")
    opened, left_out = open_logs(
        pilot, lenient, roles, reading(missing_values, columns, encoding, read, sheet)
    )
    log = opened.trajectories()
    fit = fitted(log, world, free, seed)
    if out is not None:
        out.write_text(fit.to_toml(), encoding="utf-8")
    if figure is not None:
        save_figure(fit.plot, figure)
    if as_json:
        print_json(
            {
                "world": fit.world.name,
                "method": fit.method,
                "converged": fit.converged,
                "llf": fit.llf,
                "parameters": records(fit.to_frame(level=level)),
                "checks": records(fit.checks),
                "notes": list(fit.untold),
                "left_out": left_out,
            }
        )
        return
    tables = calibration_tables(fit, level)
    if as_latex:
        print_latex(tables)
        return
    notes = [*log.remarks(), *fit.untold, *[f"left out: {line}" for line in left_out]]
    print_tables(fit._answer(), tables, notes, everything=everything)
    if out is not None:
        typer.echo(f"{out}: a study of rules in this world; next: {command_on('simulate', out)}")


def fitted(log: Trajectories, world: str, free: list[str] | None, seed: int) -> Calibration:
    """Calibrate the world of this name; for an unknown name the error suggests the nearest one."""
    from d3stats._check import choice
    from d3stats.planning.calibration.calibrate import calibrate as fit
    from d3stats.worlds.base import world_types

    kinds = world_types()
    kind = kinds[choice("--world", world, tuple(kinds))]
    with working("calibrating"):
        return fit(kind, log, free=free, rng=seed)


def calibration_tables(fit: Calibration, level: float) -> list[Table]:
    """Return the parameters, and how the pilot compares with pilots drawn from the world."""
    table = fit.to_frame(level=level)
    rows = [
        [
            str(row["parameter"]),
            f"{row['estimate']:.4g}",
            f"[{row['low']:.4g}, {row['high']:.4g}]",
            f"{row['template']:.4g}",
            str(row["decided_by"]),
        ]
        for row in table.to_dict("records")
    ]
    heads = ["parameter", "estimate", f"{level:z.0%} interval", "before", "decided by"]
    checks = [
        [
            f"{row['statistic']}, round {row['round']}",
            f"{row['pilot']:z.3f}",
            f"{row['predicted']:z.3f}",
            f"[{row['low']:z.3f}, {row['high']:z.3f}]",
            f"{row['p_value']:z.3f}",
        ]
        for row in fit.checks.to_dict("records")
    ]
    compared = "The pilot, compared with simulated pilots of the same size from this world"
    return [
        (fit._title(), heads, rows),
        (compared, ["statistic", "pilot", "world", "90% band", "p"], checks),
    ]
