"""``d3stats calibrate``: fit a synthetic world to a pilot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Figure, Json, Latex, Level, left_out, omitted_notes, one_format
from d3stats.cli.output import print_document, print_latex, print_tables, records, save_figure, say, working
from d3stats.log.column_names import command_on
from d3stats.report.tables import Table

if TYPE_CHECKING:
    from d3stats.planning.calibration.calibrate import Calibration
    from d3stats.trajectories import Trajectories
    from d3stats.worlds import World

WorldName = Annotated[
    str,
    typer.Option(
        "--world",
        autocompletion=completion.worlds,
        help="The world to fit; 'd3stats worlds' lists the names.",
    ),
]


Pilot = Annotated[
    list[str],
    typer.Argument(autocompletion=completion.logs, help="Pilot logs, at least two rounds, or a bundled log."),
]


@derived("d3stats.planning.calibration.calibrate:calibrate", {"pilot": Pilot})
def calibrate(
    given: Given,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the world as a study file (TOML) for d3stats simulate."),
    ] = None,
    world: WorldName = "conformity",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    level: Level = 0.95,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Fit a synthetic world to a pilot, and test whether the pilot could have come from that world."""
    one_format(as_json, as_latex)
    if out is not None and out.exists() and not overwrite:
        raise ValueError(f"--output must not exist, or be given with --overwrite; got {str(out)!r}")
    if out is not None and not out.absolute().parent.is_dir():
        raise ValueError(f"the folder of --output must exist; got {str(out)!r}")
    opened = given.open()
    log, passed_over = opened.trajectories(), left_out(opened.checked().problems)
    with working("calibrating"):
        fit = given(_kind(world), log)
    if out is not None:
        out.write_text(fit.to_toml(), encoding="utf-8")
    if figure is not None:
        save_figure(fit.plot, figure)
    notes = [*fit.untold, *omitted_notes(passed_over)]
    if as_json:
        found = {
            "world": fit.world.name,
            "method": fit.method,
            "converged": fit.converged,
            "llf": fit.llf,
            "parameters": records(fit.to_frame(level=level)),
            "checks": records(fit.checks),
        }
        print_document(found, notes, left_out=passed_over)
        return
    tables = calibration_tables(fit, level)
    if as_latex:
        print_latex(tables)
        return
    print_tables(fit._answer(), tables, notes, everything=everything)
    if out is not None:
        say(f"{out}: a study of rules in this world; next: {command_on('simulate', out)}")


def fitted(log: Trajectories, world: str, seed: int) -> Calibration:
    """Calibrate the world of this name."""
    from d3stats.planning.calibration.calibrate import calibrate as fit

    with working("calibrating"):
        return fit(_kind(world), log, rng=seed)


def _kind(world: str) -> type[World]:
    """Return the world of this name; for an unknown name the error suggests the nearest one."""
    from d3stats._check import choice
    from d3stats.worlds.base import world_types

    kinds = world_types()
    return kinds[choice("--world", world, tuple(kinds))]


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
    heads = ["parameter", "estimate", f"{100 * level:g} % interval", "before", "decided by"]
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
        (compared, ["statistic", "pilot", "world", "90 % band", "p"], checks),
    ]
