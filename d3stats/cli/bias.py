"""``d3stats bias``: is a judge biased by position, length, its own model family or a persona?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli.options import (
    Columns,
    Encoding,
    Json,
    Latex,
    Level,
    MissingValues,
    ReadAs,
    Seed,
    SheetName,
    Strata,
    checked_figure,
    one_format,
    reading,
    refuse_unused,
)
from d3stats.cli.output import (
    is_warning,
    print_json,
    print_latex,
    print_notes,
    print_table,
    save_figure,
    without_warnings,
)
from d3stats.note import with_words
from d3stats.report.tables import audit_tables, strata_notes, strata_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from d3stats.inference.bias import Audit, Audits, Judgments

AUDITS = ("position", "verbosity", "self", "persona")


def bias(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            help="A table of verdicts on pairs (CSV, Parquet): item, vote (A, B, tie), and as the audit needs them "
            "judge, order (AB, BA), label, cluster, length_a, length_b, family_a, family_b, judge_family, persona. "
            "Or a debate log, for position (debates played in both orders, or seats named 'JUDGE (1-2)' and "
            "'JUDGE (2-1)'; the judge 'decision' is the protocol itself) and persona (a seat each)."
        ),
    ],
    audit: Annotated[
        str, typer.Option("--audit", metavar="d3stats.cli.bias:AUDITS", help="The bias to test for.")
    ] = "position",
    judges: Annotated[
        list[str] | None, typer.Option("--judge", help="Audit only this judge; repeatable; default: all.")
    ] = None,
    votes: Annotated[
        str | None,
        typer.Option(
            "--votes",
            metavar="d3stats.inputs.verdicts:Votes",
            help="Meaning of a vote: the name of an answer, or of a slot (A is the answer shown first); default: an "
            "answer.",
        ),
    ] = None,
    baseline: Annotated[
        str, typer.Option("--baseline", help="For --audit persona: the name of the judge without a persona.")
    ] = "none",
    against: Annotated[
        str,
        typer.Option(
            "--against",
            metavar="d3stats.inference.bias.self_preference:Against",
            help="For --audit self: the other judges to compare with.",
        ),
    ] = "disinterested",
    use_label: Annotated[
        bool,
        typer.Option(
            "--label/--no-label",
            help="For --audit verbosity: compare only answers of equal quality, by the label.",
        ),
    ] = True,
    strata: Strata = None,
    missing_values: MissingValues = None,
    columns: Columns = None,
    encoding: Encoding = None,
    sheet: SheetName = None,
    read: ReadAs = None,
    level: Level = 0.95,
    seed: Seed = 0,
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
    from d3stats.inference.bias import as_judgments
    from d3stats.sources import open
    from d3stats.sources.strata import item_strata
    from d3stats.sources.verdicts import FIELDS

    one_format(as_json, as_latex)
    choice("audit", audit, AUDITS)
    if figure is not None and strata is None and audit not in ("position", "persona"):
        raise ValueError(
            f"--figure must come with --audit position, --audit persona or --strata; got --audit {audit}"
        )
    for option, its in (("--label", "verbosity"), ("--against", "self"), ("--baseline", "persona")):
        if audit != its:
            refuse_unused(context, f"must come with --audit {its}, not {audit}", option)
    how = reading(missing_values, columns, encoding, read, sheet)
    opened = open(file, **how)
    kinds = None if strata is None else item_strata(opened, strata, FIELDS)
    data = as_judgments(
        opened.aside(strata),
        votes=votes,  # type: ignore[arg-type]  # checked by the library, in its words
        decisions=audit == "position",
        personas=audit == "persona",
    )
    options: dict[str, dict[str, Any]] = {
        "position": {"rng": seed},
        "verbosity": {"use_label": use_label},
        "self": {"against": against},
        "persona": {"baseline": baseline},
    }
    found = _audited(audit, data, judges, options[audit] | {"level": level, "strata": kinds})
    if figure is not None:
        save_figure(lambda: _drawn(found), figure)
    if as_json:
        print_json({"audit": audit, **found.to_dict()})
    elif as_latex:
        typer.echo(_latex(found))
        for result in found.values():
            print_latex(
                [(f"{result.judge}: {title}", heads, rows) for title, heads, rows in strata_of(result.strata)]
            )
    else:
        doubts = {doubt for part in (data, *map(data.of, data.judges)) for doubt in part.doubts()}
        for number, result in enumerate(found.values()):
            if number:
                typer.echo("")
            _show(result, doubts)
        print_notes([f"{name} was not audited: {why}" for name, why in found.not_audited.items()])


def _drawn(found: Audits[Any]) -> Axes:
    """Draw the audits of all judges: what there is by stratum, or position bias; personas are those of one judge."""
    from d3stats.inference.bias import PositionBias, position_frame
    from d3stats.plotting.intervals import plot_position_bias

    audits = list(found.values())
    drawn: Axes
    if audits[0].strata:
        drawn = found.plot()
    elif isinstance(audits[0], PositionBias):
        drawn = plot_position_bias(position_frame(found))
    elif len(audits) == 1:
        drawn = audits[0].plot()
    else:
        raise ValueError(
            f"--figure of personas without --strata must be of one judge; got {len(audits)}: choose one with --judge"
        )
    return drawn


def _audited(
    audit: str, data: Judgments, judges: Sequence[str] | None, options: dict[str, Any]
) -> Audits[Any]:
    """Run the audit for each judge; one that cannot be audited is named, unless there is no other."""
    from d3stats.inference.bias import (
        Audits,
        each_judge,
        length_bias,
        persona_effect,
        position_bias,
        self_preference,
    )

    if audit == "persona" and "persona" not in data.table:
        found = persona_effect(data, personas=list(judges) if judges else None, **options)
        return Audits({found.judge: found})
    by_name: dict[str, Callable[..., Any]] = {
        "position": position_bias,
        "verbosity": length_bias,
        "self": self_preference,
        "persona": persona_effect,
    }
    return each_judge(by_name[audit], data, judges, personas=audit == "persona", **options)


def _show(result: Audit, doubts: Collection[str]) -> None:
    """Print an audit; what makes one doubt that the table was read rightly stands above the numbers."""
    print_notes(
        [with_words(note, f"{result.judge}: ") for note in result.notes if note in doubts or is_warning(note)]
    )
    for table in (*audit_tables(result), *strata_of(result.strata)):
        print_table(*table)
    notes = [*without_warnings(result.notes, doubts), *strata_notes(result.strata)]
    test = getattr(result, "heterogeneity", None)
    if test is not None:
        notes.insert(0, str(test))
    alone = [*result.estimates, *getattr(result, "main_effects", ())]
    notes += [f"{e.name}: {e.note}" for e in alone if e.note and e.low is None]
    print_notes(notes)


def _latex(found: Audits[Any]) -> str:
    if len(found) == 1:
        return str(next(iter(found.values())).to_latex())
    return found.to_latex()
