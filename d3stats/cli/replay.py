"""``d3stats replay``: what stopping rules would have cost and lost on a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli.options import (
    Boot,
    Columns,
    Encoding,
    Figure,
    Json,
    Latex,
    Lenient,
    Level,
    Logs,
    Missing,
    MissingValues,
    Roles,
    Seed,
    left_out,
    one_format,
    paths_of,
    reading,
)
from d3stats.cli.output import (
    print_json,
    print_latex,
    print_notes,
    print_table,
    records,
    save_figure,
    without_warnings,
    working,
)
from d3stats.report.tables import Table, estimate, replay_table

if TYPE_CHECKING:
    from d3stats.planning.replay import Replay

DEFAULT_RULES = ("fixed:1", "fixed:2")


def replay(
    logs: Logs,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rule", "-r", help="A rule, e.g. 'fixed:2', 'unanimity', 'ks:0.05,patience=1'; repeatable."
        ),
    ] = None,
    missing: Missing = "exclude",
    level: Level = 0.95,
    interval: Annotated[
        str,
        typer.Option(
            "--interval", metavar="d3stats.planning.costs:Interval", help="Kind of bootstrap interval."
        ),
    ] = "percentile",
    n_boot: Boot = 2000,
    paired: Annotated[bool, typer.Option("--paired", help="Also show differences between rules.")] = False,
    figure: Figure = None,
    lenient: Lenient = False,
    roles: Roles = None,
    missing_values: MissingValues = None,
    columns: Columns = None,
    encoding: Encoding = None,
    seed: Seed = 0,
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Replay stopping rules over a log; unanimity and full depth are always shown beside them."""
    from d3stats.inference.comparison.run_tables import read_recorded
    from d3stats.planning.replay import replay as replay_rules

    one_format(as_json, as_latex)
    with working("replaying"):
        log = read_recorded(
            *paths_of(logs), strict=not lenient, roles=roles, **reading(missing_values, columns, encoding)
        )
        passed_over = left_out(log.problems)
        result = replay_rules(
            log.trajectories,
            list(rules or DEFAULT_RULES),
            missing=missing,  # type: ignore[arg-type]  # checked by the library, in its words
            level=level,
            interval=interval,  # type: ignore[arg-type]  # likewise
            n_boot=n_boot,
            rng=seed,
        )
    if figure is not None:
        save_figure(result.plot, figure)
    decided = log.note()
    notes = [*([decided] if decided else []), *result.notes]
    if as_json:
        document = {
            "rules": records(result.to_frame()),
            "stops": records(result.stops()),
            "notes": notes,
            "left_out": passed_over,
        }
        if paired:
            document["paired"] = records(result.paired())
        print_json(document)
        return
    tables = [replay_table(result), *([_paired_table(result)] if paired else [])]
    if as_latex:
        print_latex(tables)
        return
    print_notes(log.trajectories.remarks())
    for table in tables:
        print_table(*table)
    notes = without_warnings(notes, log.trajectories.notes)
    print_notes([*notes, *[f"left out: {line}" for line in passed_over]])


def _paired_table(result: Replay) -> Table:
    rows = [
        [r["rule"], r["against"], r["measure"], estimate(r["difference"], r["low"], r["high"])]
        for r in result.paired().to_dict("records")
    ]
    return "Differences between rules on the same debates", ["rule", "against", "measure", "difference"], rows
