"""``d3stats replay``: the cost and the lost verdicts of stopping rules on a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.options import (
    Boot,
    Columns,
    Encoding,
    Everything,
    Figure,
    Json,
    Latex,
    Lenient,
    Level,
    Logs,
    Missing,
    MissingValues,
    ReadAs,
    Roles,
    Seed,
    SheetName,
    Strata,
    left_out,
    one_format,
    reading,
)
from d3stats.cli.output import (
    print_json,
    print_latex,
    print_result,
    records,
    save_figure,
    tables_of,
    working,
)
from d3stats.report.tables import Table, estimate, strata_notes, strata_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from d3stats.log.consistency import Checked
    from d3stats.planning.replay import Replay
    from d3stats.trajectories import Trajectories

DEFAULT_RULES = ("fixed:1", "fixed:2")


def replay(
    logs: Logs,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            "-r",
            autocompletion=completion.rules,
            help="A rule, e.g. 'fixed:2', 'unanimity', 'ks:0.05,patience=1'; repeatable.",
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
    paired: Annotated[
        bool, typer.Option("--paired", help="Also show the differences between all pairs of rules.")
    ] = False,
    strata: Strata = None,
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
    """Replay stopping rules over a log; unanimity and full depth are always included."""
    from d3stats.planning.replay import replay as replay_rules
    from d3stats.sources import open
    from d3stats.sources.strata import item_strata

    one_format(as_json, as_latex)
    with working("replaying"):
        how = reading(missing_values, columns, encoding, read, sheet)
        opened = open(logs, lenient=lenient, roles=roles, **how)
        kinds = None if strata is None else item_strata(opened, strata)
        opened = opened.aside(strata)
        log, passed_over = opened.recorded(), left_out(opened.checked().problems)
        result = replay_rules(
            log.trajectories,
            list(rules or default_rules(log.trajectories, opened.checked())),
            missing=missing,  # type: ignore[arg-type]  # checked by the library, in its words
            level=level,
            interval=interval,  # type: ignore[arg-type]  # likewise
            n_boot=n_boot,
            rng=seed,
            strata=kinds,
        )
    if figure is not None:
        save_figure(result.plot, figure)
    if decided := log.note():
        # What the verdicts are comes before what limits them.
        result = replace(result, notes=tuple(dict.fromkeys((decided, *result.notes))))
    if as_json:
        document = result.to_dict() | {"left_out": passed_over}
        if paired:
            document["paired"] = records(result.paired())
        print_json(document)
        return
    further = [*([_paired_table(result)] if paired else []), *strata_of(result.strata)]
    if as_latex:
        print_latex([*tables_of(result), *further])
        return
    notes = [*strata_notes(result.strata), *[f"left out: {line}" for line in passed_over]]
    print_result(result, everything=everything, notes=notes, tables=further)


def default_rules(t: Trajectories, log: Checked) -> Sequence[str]:
    """Return the rules with which the log's protocols stop where jurors vote at the end alone, else the default."""
    if not t.pollings or not all(polling.at_end for polling in t.pollings):
        return DEFAULT_RULES
    from d3stats.protocols import protocols

    known = protocols()
    names = [name for name in log.items.coded("protocol").occurring() if name in known]
    return list(dict.fromkeys(str(known[name]().rule()) for name in names)) or DEFAULT_RULES


def _paired_table(result: Replay) -> Table:
    digits = {"tokens": 0, "rounds": 2}
    rows = [
        [
            r["rule"],
            r["against"],
            r["measure"],
            estimate(r["difference"], r["low"], r["high"], digits.get(r["measure"], 3)),
        ]
        for r in result.paired().to_dict("records")
    ]
    return "Differences between rules on the same debates", ["rule", "against", "measure", "difference"], rows
