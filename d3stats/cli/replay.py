"""``d3stats replay``: the cost and the lost verdicts of stopping rules on a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Figure, Json, Latex, Logs, left_out, omitted_notes, one_format
from d3stats.cli.output import (
    print_document,
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


@derived("d3stats.planning.replay:replay", {"logs": Logs}, completes={"rules": completion.rules})
def replay(
    given: Given,
    paired: Annotated[
        bool, typer.Option("--paired", help="Also show the differences between all pairs of rules.")
    ] = False,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Replay stopping rules over a log; unanimity and full depth are always included."""
    from d3stats.sources.strata import item_strata

    one_format(as_json, as_latex)
    with working("replaying"):
        opened, strata = given.open(), given.settings.get("strata")
        kinds = None if strata is None else item_strata(opened, strata)
        opened = opened.aside(strata)
        log, passed_over = opened.recorded(), left_out(opened.checked().problems)
        rules = given.settings.get("rules") or _usual_rules(log.trajectories, opened.checked())
        result = given(log.trajectories, rules=rules, strata=kinds)
    if figure is not None:
        save_figure(result.plot, figure)
    if decided := log.note():
        # What the verdicts are comes before what limits them.
        result = replace(result, notes=tuple(dict.fromkeys((decided, *result.notes))))
    notes = [*strata_notes(result.strata), *omitted_notes(passed_over)]
    if as_json:
        more = {"paired": records(result.paired())} if paired else {}
        print_document(result.to_dict(), notes, left_out=passed_over, **more)
        return
    further = [*([_paired_table(result)] if paired else []), *strata_of(result.strata)]
    if as_latex:
        print_latex([*tables_of(result), *further])
        return
    print_result(result, everything=everything, notes=notes, tables=further)


def _usual_rules(t: Trajectories, log: Checked) -> Sequence[str]:
    """Return the rules with which the log's protocols stop where jurors vote at the end alone, else the default."""
    from d3stats.planning.replay import DEFAULT_RULES
    from d3stats.report.source import rules_of_protocols

    return rules_of_protocols(t, log) or DEFAULT_RULES


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
