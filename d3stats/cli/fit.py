"""``d3stats fit``: the fitted mixture in every round, accuracy, and the change between rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import pandas as pd
import typer

from d3stats._words import percent
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import (
    Everything,
    Figure,
    Json,
    Latex,
    Logs,
    left_out,
    omitted_notes,
    one_format,
    refuse_unused,
)
from d3stats.cli.output import (
    is_warning,
    print_answer,
    print_document,
    print_json,
    print_latex,
    print_notes,
    print_result,
    print_table,
    print_tables,
    print_text,
    records,
    save_figure,
    say,
    tables_of,
    without_warnings,
    working,
)
from d3stats.note import note_values

if TYPE_CHECKING:
    from pathlib import Path

    from d3stats.planning.describe import RoundsReport
    from d3stats.sources import Opened

_NO_INTERVALS = (
    "No intervals: counts do not tell which debates share a question; d3stats fit of the log gives them."
)


@derived("d3stats.planning.describe:fit", {"logs": Logs})
def fit(
    given: Given,
    context: typer.Context,
    round_number: Annotated[
        int | None,
        typer.Option(
            "--round", help="Show the full fit of this round only, with the intervals of the table."
        ),
    ] = None,
    bayes: Annotated[
        bool,
        typer.Option(
            "--bayes",
            help="Show the posterior of the same mixtures, sampled by PyMC (needs the extra 'bayes').",
        ),
    ] = False,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Fit a Beta-Binomial mixture to each round of a log."""
    one_format(as_json, as_latex)
    if round_number is not None:
        refuse_unused(context, "must come without --round, which always shows all of its round", "--all")
    if bayes:
        refuse_unused(
            context,
            "must come without --bayes, which samples all rounds at 95 %",
            "--round",
            "--level",
            "--n-boot",
        )
    with working("fitting"):
        opened = given.open()
        if opened.kind == "counts":
            _show_counts(given, context, opened, figure, everything, as_json, as_latex)
            return
        t, passed_over = opened.trajectories(), left_out(opened.checked().problems)
        del opened  # the fit needs no texts
        report: RoundsReport = given(t, **({"n_boot": 0} if bayes else {}))
        result = report.bayes(rng=given.settings["rng"]) if bayes else report
    omitted = omitted_notes(passed_over)
    if round_number is not None:
        _show_round(report, round_number, omitted, figure, as_json, as_latex)
        return
    if figure is not None:
        save_figure(lambda: result.plot() if bayes else report.plot(rng=given.settings["rng"]), figure)
    if as_json:
        print_document(result.to_dict(), omitted, left_out=passed_over)
    elif as_latex:
        print_latex(tables_of(result))
    else:
        print_result(result, everything=everything, notes=omitted)


def _show_counts(
    given: Given,
    context: typer.Context,
    opened: Opened,
    figure: Path | None,
    everything: bool,
    as_json: bool,
    as_latex: bool,
) -> None:
    """Print the fits of counts, which have no interval: counts do not tell which debates share a question."""
    from d3stats.models.mixtures.rounds import fit_rounds
    from d3stats.report.tables import table_of

    why = "must come with the log itself, because counts do not tell which debates share a question"
    refuse_unused(context, why, "--round", "--bayes", "--level", "--n-boot", "--missing")
    found = fit_rounds(opened, n_components=given.settings["n_components"], rng=given.settings["rng"])
    notes = omitted_notes(left_out(opened.value.problems))
    if figure is not None:
        save_figure(found.plot, figure)
    whole = found.to_frame()
    shown = {
        "round": [str(r) for r in whole["round"]],
        "debates": [f"{n:,g}" for n in whole["debates"]],
        "votes right": [percent(x) for x in whole["mean"]],
        "spread": [f"{x:z.3f}" for x in whole["spread"]],
        "KS": ["-" if pd.isna(x) else f"{x:z.3f}" for x in whole["ks_pmf"]],
    }
    table = {"Rounds": pd.DataFrame(shown)}
    if as_json:
        print_document(found.to_dict(), [_NO_INTERVALS, *notes])
    elif as_latex:
        print_latex([table_of(title, frame) for title, frame in table.items()])
    else:
        drawn = [table_of(title, frame) for title, frame in table.items()]
        print_tables([found.headline, _NO_INTERVALS], drawn, [*found.notes, *notes], everything=everything)


def _show_round(
    report: RoundsReport,
    round_number: int,
    omitted: list[str],
    figure: Path | None,
    as_json: bool,
    as_latex: bool,
) -> None:
    """Print one round's fit: what the data determine, the components, and what to be careful of."""
    fit, t = report.fit[round_number], report.trajectories
    table = report.drift.functionals()
    table = table[table["round"] == round_number].drop(columns="round").set_index("functional")
    notes = [*report.notes_of(round_number), *omitted]
    if figure is not None:
        save_figure(lambda: fit.plot(level=report.drift.level), figure)
    if as_json:
        print_json(
            {
                "round": round_number,
                "llf": fit.llf,
                "boundary": list(fit.boundary),
                "components": records(fit.components.reset_index().replace(float("inf"), None)),
                "functionals": records(table.reset_index()),
                "notes": note_values(notes),
            }
        )
        return
    tables = []
    how = f"panel of {report.fit.panel}; {100 * report.drift.level:g} % intervals over questions"
    for title, frame, digits in (
        (f"Quantities that the data determine ({how})", table[["estimate", "se", "low", "high"]], ".4f"),
        ("Components, ordered by mean", fit.components, ".4g"),
    ):
        cells = zip(frame.index, frame.to_numpy(), strict=True)
        rows = [
            [str(name), *["-" if value != value else f"{value:{digits}}" for value in row]]
            for name, row in cells
        ]
        tables.append((title, [str(frame.index.name), *frame.columns], rows))
    if as_latex:
        print_latex(tables[:1])
        return
    print_answer([fit.headline])
    print_notes([*t.remarks(), *filter(is_warning, omitted)])
    print_text(f"Mixture of {fit.settings.n_components} Beta-Binomials, fitted to {fit.n_obs:g} debates")
    print_text(f"log-likelihood {fit.llf:z.4f}, AIC {fit.aic:z.2f}, BIC {fit.bic:z.2f}")
    print_text(
        f"{fit.n_reached_best} of {fit.settings.n_starts} starts reached the best optimum; {fit.n_iter} iterations; "
        f"converged: {'yes' if fit.converged else 'no'}"
    )
    say()
    for each in tables:
        print_table(*each)
    print_notes(without_warnings(notes, t.notes))
