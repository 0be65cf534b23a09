"""``d3stats escalate``: the gap below which a second protocol is worth its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Figure, Json, Latex, left_out, omitted_notes, one_format
from d3stats.cli.output import (
    print_document,
    print_latex,
    print_notes,
    print_table,
    print_text,
    save_figure,
    say,
    working,
)
from d3stats.report.tables import Table, estimate

if TYPE_CHECKING:
    from d3stats.planning.escalation import Escalation


First = Annotated[
    str,
    typer.Argument(
        autocompletion=completion.logs,
        help="Log of the cheap protocol, with scores of two sides, such as MORE.",
    ),
]
Second = Annotated[
    str,
    typer.Argument(
        autocompletion=completion.logs,
        help="Log of the expensive protocol on the same items, such as SAMRE.",
    ),
]


@derived("d3stats.planning.escalation:escalate", {"first": First, "second": Second})
def escalate(given: Given, as_json: Json = False, as_latex: Latex = False, figure: Figure = None) -> None:
    """Choose between two protocols debate by debate: play the second one where the first leaves a narrow gap."""
    from d3stats.sources import open_all

    one_format(as_json, as_latex)
    opened = open_all(given.source, **given.reading)
    roles = given.reading.get("roles")
    logs = [each.recorded() for each in opened]
    cheap, dear = (log.trajectories for log in logs)
    passed_over = [line for each in opened for line in left_out(each.checked().problems)]
    # Where roles are chosen, their votes decide.
    decided = [note for log in logs if roles and (note := log.note()) is not None]
    with working("planning"):
        found = given(*((cheap, dear) if roles else opened))
    if figure is not None:
        save_figure(found.plot, figure)
    notes = [*cheap.remarks(), *dear.remarks(), *decided, *omitted_notes(passed_over)]
    if as_json:
        print_document(found.to_dict(), notes, left_out=passed_over)
        return
    table = escalation_table(found)
    if as_latex:
        print_latex([table])
        return
    print_text(f"{found.advice[0].upper()}{found.advice[1:]}.")
    print_text(f"why: {_why(found)}", "  ", "       ")
    for line in _alone(found):
        print_text(line, "  ", "    ")
    say()
    print_table(*table)
    print_notes(list(dict.fromkeys([*notes, *found.notes])))


def _why(found: Escalation) -> str:
    sure = f"with probability {found.confidence:g} or more"
    promise = f"at most {found.max_loss_vs_second:g} of the debates' accuracy is lost {sure}"
    if not found.guaranteed:
        return f"at least as accurate in this pilot and no more expensive, but the pilot does not show that {promise}"
    if found.recommended != "second":
        return promise
    if found.threshold is None:
        return f"for no threshold can this pilot show that {promise}"
    return f"each threshold for which {promise} costs as much or more"


def _alone(found: Escalation) -> list[str]:
    lines = []
    for row in found.alone.to_dict("records"):
        said = f"{row['protocol']} alone: accuracy {_limits(row, 'accuracy', 3)}"
        lines.append(said + (f", {_limits(row, 'tokens', 0)} tokens" if "tokens" in row else ""))
    return lines


def _limits(row: Any, name: str, digits: int) -> str:
    return estimate(row[name], row[f"{name}_low"], row[f"{name}_high"], digits)


def escalation_table(found: Escalation) -> Table:
    """Return one row per policy: the thresholds that choose alike in every debate of the pilot."""
    tokens = "tokens" in found.table
    heads = ["gap", "second played", "accuracy lost"]
    heads += ["tokens", "tokens vs second alone"] if tokens else []
    rows = []
    for row in found.policies().to_dict("records"):
        low, high = f"{row['lowest']:g}", f"{row['highest']:g}"
        # The other limits are in the frame: a row must fit a terminal of 80 columns.
        cells = [low if low == high else f"{low} to {high}", f"{row['escalated']:z.2f}"]
        cells.append(_limits(row, "loss", 3))
        if tokens:
            cells += [f"{row['tokens']:z,.0f}", _limits(row, "tokens_vs_second", 2)]
        rows.append([*cells, "yes" if row["certified"] else "no"])
    title = f"Gap below which the second protocol is played ({100 * found.level:g} % cluster intervals)"
    return title, [*heads, "loss kept"], rows
