"""``d3stats bias``: is a judge biased by position, length, its own model family or a persona?"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Json, Latex, checked_figure, one_format
from d3stats.cli.output import (
    is_warning,
    leave,
    print_answer,
    print_json,
    print_latex,
    print_notes,
    print_some_notes,
    print_table,
    print_text,
    save_figure,
    say,
    without_warnings,
)
from d3stats.note import with_words
from d3stats.report.tables import audit_tables, strata_notes, strata_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from d3stats.inference.bias import Audit, Audits

Verdicts = Annotated[
    Path,
    typer.Argument(
        help="A table of verdicts on pairs (CSV, Parquet): item, vote (A, B, tie), and as the audit needs them "
        "judge, order (AB, BA), label, cluster, length_a, length_b, family_a, family_b, judge_family, persona. "
        "Or a debate log, for position (debates played in both orders, or seats named 'JUDGE (1-2)' and "
        "'JUDGE (2-1)'; the judge 'decision' is the protocol itself) and persona (a seat each)."
    ),
]


MANY = 3
"""From so many judges on there is one table of their main effects; the audit of each is printed on request."""


@derived("d3stats.inference.bias.bias:bias", {"file": Verdicts})
def bias(
    given: Given,
    at_most: Annotated[
        float | None,
        typer.Option(
            "--at-most",
            help="For programs: exit code 0 if the main effect of every judge is shown to be no larger than this, 4 if "
            "one is larger, 5 if the data do not decide.",
        ),
    ] = None,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            callback=checked_figure,
            help="For --audit position, --audit persona and --strata: also write the figure to this path, as PDF "
            "and PNG.",
        ),
    ] = None,
) -> None:
    """Audit judges for bias: the effect with its interval, then the test."""
    from d3stats._check import choice
    from d3stats.inference.bias.bias import Kind
    from d3stats.sources.verdicts import judgments_with_strata

    one_format(as_json, as_latex)
    audit, strata = (
        choice("audit", given.settings["audit"], get_args(Kind)),
        given.settings.pop("strata", None),
    )
    if figure is not None and strata is None and audit not in ("position", "persona"):
        raise ValueError(
            f"--figure must come with --audit position, --audit persona or --strata; got --audit {audit}"
        )
    data, kinds = judgments_with_strata(
        given.source,
        strata,
        votes=given.settings.pop("votes", None),
        decisions=audit == "position",
        personas=audit == "persona",
        **given.reading,
    )
    found = given(data, strata=kinds)
    if figure is not None:
        save_figure(lambda: _drawn(found), figure)
    gate = None if at_most is None else found.gate(at_most=at_most)
    if as_json:
        print_json({"audit": audit, **found.to_dict()} | ({} if gate is None else {"gate": gate.to_dict()}))
    elif as_latex:
        say(_latex(found))
        for result in found.values():
            print_latex(
                [(f"{result.judge}: {title}", heads, rows) for title, heads, rows in strata_of(result.strata)]
            )
    else:
        if gate is not None:
            print_text(f"{gate}.")
            say()
        doubts = {doubt for part in (data, *map(data.of, data.judges)) for doubt in part.doubts()}
        if len(found) > 1:
            print_answer(found._answer())
            say()
        if len(found) >= MANY and not everything:
            _show_main(found, doubts)
        else:
            for number, result in enumerate(found.values()):
                if number:
                    say()
                _show(result, doubts, everything)
        print_notes([f"{name} was not audited: {why}" for name, why in found.not_audited.items()])
    if gate is not None:
        leave(gate)


def _drawn(found: Audits[Any]) -> Axes:
    """Draw the audits of all judges: what there is by stratum, or position bias; personas are those of one judge."""
    from d3stats.inference.bias import PositionBias, position_frame
    from d3stats.plotting.intervals import plot_position_bias

    audits = list(found.values())
    drawn: Axes
    if audits[0].strata:
        drawn = found.plot()
    elif isinstance(audits[0], PositionBias):
        drawn = plot_position_bias(position_frame(found))[0]
    elif len(audits) == 1:
        drawn = audits[0].plot()
    else:
        raise ValueError(
            f"--figure of personas without --strata must be of one judge; got {len(audits)}: choose one with --judge"
        )
    return drawn


def _show_main(found: Audits[Any], doubts: Collection[str]) -> None:
    """Print the main effect of every judge in one table, and each note once; the audit of each is a further table."""
    from d3stats._words import p_text
    from d3stats.estimate import interval_kind, named_notes

    notes = named_notes([(judge, result.notes) for judge, result in found.items()], "judges")
    doubtful = named_notes(
        [(judge, [n for n in one.notes if n in doubts or is_warning(n)]) for judge, one in found.items()],
        "judges",
    )
    print_notes(doubtful)
    effects = [(judge, e) for judge, result in found.items() for e in result._gated()]
    notes += named_notes(
        [(judge, [e.note] if e.note and e.low is None else []) for judge, e in effects], "judges"
    )
    alike = len({e.name for _, e in effects}) == 1
    kinds = ", ".join(dict.fromkeys(interval_kind(e) for _, e in effects if e.low is not None))
    rows = [
        [
            judge if alike else f"{judge}: {e.name}",
            f"{e.value:z.3f} [{e.low:z.3f}, {e.high:z.3f}]"
            if e.low is not None
            else f"{e.value:z.3f} no interval",
            f"{e.n:,}",
            "-" if e.p_value is None else p_text(e.p_value),
        ]
        for judge, e in effects
    ]
    title = f"{effects[0][1].name if alike else 'Main effects'}{f' ({kinds})' if kinds else ''}"
    print_table(title, ["judge", "estimate", "n", "p"], rows)
    for result in found.values():
        for table in strata_of(result.strata):
            print_table(*table)
    print_some_notes([note for note in notes if note not in doubtful], everything=False, further=len(found))


def _show(result: Audit, doubts: Collection[str], everything: bool) -> None:
    """Print an audit; what makes one doubt that the table was read rightly stands above the numbers."""
    print_answer(result._answer())
    print_notes(
        [with_words(note, f"{result.judge}: ") for note in result.notes if note in doubts or is_warning(note)]
    )
    say()
    tables = audit_tables(result)
    for table in (*(tables if everything else tables[:1]), *strata_of(result.strata)):
        print_table(*table)
    notes = [*without_warnings(result.notes, doubts), *strata_notes(result.strata)]
    test = getattr(result, "heterogeneity", None)
    if test is not None and str(test) not in result.headline:
        notes.insert(0, str(test))
    alone = [*result.estimates, *getattr(result, "main_effects", ())]
    notes += [f"{e.name}: {e.note}" for e in alone if e.note and e.low is None]
    print_some_notes(notes, everything=everything, further=0 if everything else len(tables) - 1)


def _latex(found: Audits[Any]) -> str:
    if len(found) == 1:
        return str(next(iter(found.values())).to_latex())
    return found.to_latex()
