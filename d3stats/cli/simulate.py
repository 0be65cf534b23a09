"""``d3stats simulate``: the cost and accuracy of stopping rules in synthetic worlds."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from d3stats.cli import completion
from d3stats.cli.calibrate import WorldName, fitted
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import (
    READING_OPTIONS,
    Everything,
    Figure,
    Json,
    Latex,
    Seed,
    one_format,
    read_as,
    refuse_unused,
)
from d3stats.cli.output import (
    csv_text,
    print_document,
    print_latex,
    print_result,
    records,
    save_figure,
    working,
)
from d3stats.report.tables import table_of


@derived(("d3stats.planning.simulate:simulate", "d3stats.sources.opened:open"), {}, without=("progress",))
def simulate(
    given: Given,
    context: typer.Context,
    study: Annotated[
        Path | None,
        typer.Argument(metavar="STUDY.toml", help="Study file with worlds, rules and seeds; or use --like."),
    ] = None,
    like: Annotated[
        list[str] | None,
        typer.Option(
            "--like",
            metavar="PILOT",
            autocompletion=completion.logs,
            help="Simulate a world fitted to this log; repeatable.",
        ),
    ] = None,
    world: WorldName = "conformity",
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            "-r",
            autocompletion=completion.rules,
            help="With --like: a rule to simulate; repeatable.",
        ),
    ] = None,
    debates: Annotated[
        int, typer.Option("--debates", help="With --like: number of debates to simulate.")
    ] = 10_000,
    max_loss: Annotated[
        float,
        typer.Option("--max-loss", help="Largest acceptable share of right verdicts lost against unanimity."),
    ] = 0.01,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence", help="Probability that the rule loses no more than that in the simulation."
        ),
    ] = 0.9,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="File for finished parts of the study; the same command resumes from it."
        ),
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Also write the table to this path.")] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="d3stats.planning.simulate:By",
            help="Average over seeds, or show each seed separately.",
        ),
    ] = "world",
    seed: Seed = 0,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Simulate stopping rules in the worlds of a study, or in a world fitted to your pilot, and recommend a rule."""
    from d3stats._check import choice, loss, probability
    from d3stats.planning.costs import refuse_votes_at_the_end
    from d3stats.planning.study import policies_of
    from d3stats.sources import open

    one_format(as_json, as_latex)
    choice("by", by, ("world", "seed"))
    if csv is not None and not csv.absolute().parent.is_dir():
        raise ValueError(f"the folder of --csv must exist; got {str(csv)!r}")
    if (study is None) == (like is None):
        raise ValueError(
            f"exactly one of STUDY.toml and --like must be given; got {'both' if study else 'neither'}"
        )
    # Before the work, which takes longer than any of these.
    loss("max_loss", max_loss)
    probability("confidence", confidence, open_interval=True)
    policies_of(rules or [], None)
    notes: list[str] = []
    what: Any = study
    log = None
    if like is not None:
        log = open(like, **given.reading).trajectories()
        refuse_votes_at_the_end(log)
        fit = fitted(log, world, seed)
        more = [word for role in given.reading.get("roles", ()) for word in ("--role", role)]
        planned = shlex.join(["d3stats", "plan", *like, *read_as(context), *more])
        what = fit.study(rules, debates=debates, seed=seed)
        notes = [
            f"the probability holds for the fitted world only; {planned} also includes the pilot's "
            "sampling error",
            *fit.untold,
        ]
        if log.tokens is not None:
            notes.append(
                "the tokens of the recommended rule are computed from the tokens per round of the pilot"
            )
    else:
        if rules:
            raise ValueError(
                "--rule must come with --like, because a study file names its own rules; got --rule alone"
            )
        refuse_unused(
            context,
            "must come with --like, because a study file names its own worlds, debates and seeds",
            *("--world", "--debates", "--seed", *READING_OPTIONS),
        )
    if as_latex:
        refuse_unused(
            context,
            "must come without --latex, whose tables have no recommendation",
            "--max-loss",
            "--confidence",
        )
    assumed = log is not None and bool((log.label < 0).all())
    if assumed:
        notes.append(
            "the pilot has no right answers (labels): which answers are right is assumed, and so is every accuracy and "
            "loss here"
        )
    with working("simulating"):
        done = given(what, out=out, progress=False)
    done = replace(done, max_loss=max_loss, confidence=confidence, pilot=log)
    if figure is not None:
        save_figure(done.plot, figure)
    table = done.to_frame(by)
    if csv is not None:
        csv.write_text(csv_text(table), encoding="utf-8")
    if as_json:
        stops = done.stops(by)
        found = done.to_dict() | {"rules": records(table), "stops": records(stops)}
        print_document(found, notes, accuracy_assumed=assumed)
        return
    shown = done._shown(by)
    if as_latex:
        print_latex([table_of(title, frame) for title, frame in shown.items()])
        return
    batched = table.loc[table["decides"] == "batch", "rule"].drop_duplicates()
    if len(batched):
        names = ", ".join(batched)
        notes.append(f"{names}: one decision per batch of {done.study.batch} debates; errors between batches")
    print_result(done, everything=everything or by == "seed", notes=notes, shown=shown)
