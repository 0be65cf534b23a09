"""``d3stats agreement``: do the agents agree more often than by chance?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import (
    Everything,
    Figure,
    Json,
    Latex,
    one_format,
    paths_of,
    refuse_replicates,
    refuse_unused,
)
from d3stats.cli.output import (
    LINES_OF_NOTES,
    folded,
    is_warning,
    leave,
    print_document,
    print_latex,
    print_tables,
    save_figure,
    say,
    working,
)
from d3stats.report.tables import agreement_table, sized, strata_notes, strata_of

if TYPE_CHECKING:
    from d3stats.inference import JuryCurve
    from d3stats.inference.judges.agreement import AgreementByLog, AgreementTable
    from d3stats.result import Gate, Result


MOST = 4
"""Lines that the answer, the warnings and the notes of a panel take together, without --all."""

Votes = Annotated[
    list[str],
    typer.Argument(
        autocompletion=completion.logs,
        help="Votes: a long table (columns item, agent or rater, vote), a wide one (a column per agent), both as "
        "CSV or Parquet, a debate log, or a bundled log. Several need --a and --b, and give one row each.",
    ),
]


@derived("d3stats.inference.judges.agreement:agreement", {"files": Votes})
def agreement(
    context: typer.Context,
    given: Given,
    categories: Annotated[
        str | None,
        typer.Option(
            "--categories",
            help="All categories in order, separated by commas; default: the categories in the data.",
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(
            "--at-least",
            help="For programs: exit code 0 if alpha, or the first coefficient, is shown to be at least this, 4 if "
            "it is lower, 5 if the data do not decide.",
        ),
    ] = None,
    every_pair: Annotated[bool, typer.Option("--pairs", help="Also show the kappa of every pair.")] = False,
    jury: Annotated[
        bool,
        typer.Option(
            "--jury",
            help="Show the jury curve instead: how often the plurality of 1, 2, ... agents equals the "
            "column 'label'.",
        ),
    ] = False,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Measure agreement: coefficients of the panel and kappa of every pair, with intervals.

    --a label --b decision shows the accuracy and the kappa of the verdicts.
    """
    one_format(as_json, as_latex)
    settings, files = dict(given.settings), paths_of(given.source)
    a, b = settings.get("a"), settings.get("b")
    if (a is None) != (b is None):
        raise ValueError(f"--a and --b must come together; got --a {a} and --b {b}")
    from d3stats.inference import JuryCurve, jury_curve
    from d3stats.inference.judges.agreement import AgreementByLog, AgreementTable, agreement_by_log

    whole = {"measures", "raters", "strata"} & set(settings)
    order = None if categories is None else [x.strip() for x in categories.split(",")]
    found: AgreementTable | AgreementByLog | JuryCurve
    if len(files) > 1 and (a is None or jury or whole):
        raise ValueError(
            "several logs need --a and --b, and no --jury, --measure, --rater or --strata; got "
            f"{len(files)} logs; for agents of several logs as raters of the same questions, give one table"
        )
    with working("counting agreement"):
        if jury:
            of_pairs = whole - {"raters"} | {"metric", "weights"} & set(settings)
            if of_pairs or settings["kind"] != "cluster t":
                raise ValueError(
                    "--jury must come without --measure, --metric, --weights, --kind and --strata; got one"
                )
            refuse_unused(context, "must come without --jury, whose intervals are no bootstraps", "--n-boot")
            shared = ("round_number", "by", "repeats", "level", "rng")
            jurors = {name: settings[name] for name in shared if name in settings}
            raters = settings.get("raters") if a is None else [a, b]
            found = jury_curve(files[0], raters=raters, categories=order, **jurors, **given.reading)
        else:
            refuse_replicates(context, settings["kind"])
            if len(files) > 1:
                found = agreement_by_log(files, categories=order, **settings, **given.reading)
            else:
                found = given(files[0], categories=order)
    if figure is not None:
        save_figure(found.plot, figure)
    gate = None if at_least is None else found.gate(at_least=at_least)
    if as_json:
        more = {} if gate is None else {"gate": gate.to_dict()}
        print_document(found.to_dict(), _notes(found), **more)
    elif as_latex:
        say(found.to_latex())
        print_latex(strata_of(found.strata) if isinstance(found, AgreementTable) else [])
    elif isinstance(found, JuryCurve):
        _show_jury(found, gate, everything)
    elif isinstance(found, AgreementByLog):
        _show_logs(found, gate, everything)
    else:
        _show(found, gate, every_pair, everything)
    if gate is not None:
        leave(gate)


def _limits(value: float, low: float | None, high: float | None, sign: str = "") -> str:
    """Write a value with its limits where there are some; NaN is what was not made."""
    if value != value:
        return "-"
    bare = low is None or high is None or low != low
    return f"{value:{sign}z.3f}" + ("" if bare else f" [{low:{sign}z.3f}, {high:{sign}z.3f}]")


def _show_jury(found: JuryCurve, gate: Gate | None, everything: bool) -> None:
    from d3stats.estimate import interval_kind

    rows = [
        (
            str(row["k"]),
            _limits(row["accuracy"], row["low"], row["high"]),
            f"{row['independent']:z.3f}",
            _limits(row["gain"], row["gain_low"], row["gain_high"], "+"),
        )
        for row in found.curve.to_dict("records")
    ]
    title = f"Correct verdicts of k agents ({sized(found)}; {100 * found.level:.6g} %: plurality "
    title += f"cluster Wilson, gain cluster t; ties: {found.ties})"
    curve = (title, ("k", "plurality", "Condorcet", "gain per agent"), rows)
    worth = (
        "Worth of the panel",
        ("", "estimate", "interval"),
        [
            (e.name, _limits(e.value, e.low, e.high), "-" if e.low is None else interval_kind(e))
            for e in found.estimates
        ],
    )
    print_tables(_answer(found, gate), [curve, worth], _notes(found), everything=everything)


def _notes(found: Result) -> list[str]:
    """Return the notes of an agreement of raters, of a panel, or log by log."""
    from d3stats.estimate import named_notes
    from d3stats.inference import AgreementTable, JuryCurve

    notes = list(found.notes)
    if isinstance(found, AgreementTable):
        notes += [f"{name}: {why}" for name, why in found.refused.items()]
        notes += strata_notes(found.strata)
    elif isinstance(found, JuryCurve):
        notes += named_notes([(e.name, [e.note] if e.note else []) for e in found.estimates], "estimates")
    return notes


def _answer(found: Result, gate: Gate | None) -> list[str]:
    return [*found._answer(), *([] if gate is None else [f"{gate}."])]


def _show_logs(found: AgreementByLog, gate: Gate | None, everything: bool) -> None:
    a, b = found.raters
    rows = [
        (
            str(row["log"]),
            _limits(row["share"], row["share_low"], row["share_high"]),
            "-"
            if row["kappa"] != row["kappa"]
            else _limits(row["kappa"], row["kappa_low"], row["kappa_high"]),
            f"{row['n']} in {row['n_clusters']}",
        )
        for row in found.to_frame().to_dict("records")
    ]
    share = found.logs[0].panel[0].estimate.name
    level = 100 * found.estimates[0].level
    title = f"{a} and {b}, log by log ({level:.6g} % intervals over clusters)"
    table = (title, ("log", share, "Cohen's kappa", "items in clusters"), rows)
    print_tables(_answer(found, gate), [table], found.notes, everything=everything)


def _show(found: AgreementTable, gate: Gate | None, every_pair: bool, everything: bool) -> None:
    title, head, rows = agreement_table(found)
    few = len(found.pairs) <= 1 or not found.panel
    panel, pairs = (rows, []) if few else (rows[: len(found.panel)], rows[len(found.panel) :])
    tables = [(title, head, panel), *([("Pairs of agents", head, pairs)] if pairs else [])]
    asked = [*(tables[1:] if every_pair and not everything else []), *strata_of(found.strata)]
    answer, notes = _answer(found, gate), _notes(found)
    warned = not everything and any(map(is_warning, notes))
    if pairs and not (every_pair or everything):
        # Where something warns, there is room for the panel alone.
        answer = [
            line.removesuffix(".") + "; all with --pairs." if line.startswith("Pairs") else line
            for line in answer
            if not (warned and line.startswith("Pairs"))
        ]
    tables = tables[:1] if pairs and not everything else tables
    height = sum(len(folded(line, 80, rest="  ")) for line in answer)
    lines = max(MOST - height, 1) if pairs else LINES_OF_NOTES
    print_tables(answer, tables, notes, everything=everything, asked=asked, lines=lines)
