"""``d3stats simulate``: the cost and accuracy of stopping rules in synthetic worlds."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli import completion
from d3stats.cli.calibrate import WorldName, fitted
from d3stats.cli.options import (
    Columns,
    Encoding,
    Json,
    Latex,
    MissingValues,
    ReadAs,
    Roles,
    Seed,
    SheetName,
    one_format,
    open_logs,
    read_as,
    reading,
    refuse_unused,
)
from d3stats.cli.output import print_json, print_latex, print_notes, print_table, print_text, records, working
from d3stats.report.tables import Table

if TYPE_CHECKING:
    from d3stats.planning.sweep import Sweep


def simulate(
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
    workers: Annotated[int, typer.Option("--workers", "-w", help="Number of processes on this machine.")] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler", help="Address of a dask scheduler, tcp://host:8786 (needs the extra 'scale')."
        ),
    ] = None,
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
            metavar="d3stats.planning.sweep:By",
            help="Average over seeds, or show each seed separately.",
        ),
    ] = "world",
    roles: Roles = None,
    missing_values: MissingValues = None,
    columns: Columns = None,
    encoding: Encoding = None,
    sheet: SheetName = None,
    read: ReadAs = None,
    seed: Seed = 0,
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Simulate stopping rules in the worlds of a study, or in a world fitted to your pilot, and recommend a rule."""
    from d3stats._check import choice
    from d3stats.planning.costs import refuse_votes_at_the_end
    from d3stats.planning.sweep import run_sweep

    one_format(as_json, as_latex)
    choice("by", by, ("world", "seed"))
    if csv is not None and not csv.absolute().parent.is_dir():
        raise ValueError(f"the folder of --csv must exist; got {str(csv)!r}")
    if (study is None) == (like is None):
        raise ValueError(
            f"exactly one of STUDY.toml and --like must be given; got {'both' if study else 'neither'}"
        )
    notes: list[str] = []
    what: Any = study
    log = None
    if like is not None:
        opened, _ = open_logs(like, False, roles, reading(missing_values, columns, encoding, read, sheet))
        log = opened.trajectories()
        refuse_votes_at_the_end(log)
        fit = fitted(log, world, seed)
        more = [word for role in roles or () for word in ("--role", role)]
        planned = shlex.join(["d3stats", "plan", *like, *read_as(context), *more])
        what = fit.study(rules, debates=debates, seed=seed)
        notes = [
            *fit.untold,
            f"the probability holds for the fitted world only; {planned} also includes the pilot's "
            "sampling error",
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
            *(
                "--world",
                "--debates",
                "--role",
                "--missing-values",
                "--columns",
                "--encoding",
                "--sheet",
                "--seed",
            ),
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
        done = run_sweep(what, workers=workers, scheduler=scheduler, out=out, progress=False)
    notes += done.notes()
    picked = done.recommend(max_loss=max_loss, confidence=confidence, pilot=log)
    table = done.to_frame(by)  # type: ignore[arg-type]  # checked above
    if csv is not None:
        table.to_csv(csv, index=False)
    if as_json:
        stops = done.stops(by)  # type: ignore[arg-type]  # checked above
        print_json(
            {"study": done.study.key(), "rules": records(table), "stops": records(stops)}
            | {"recommended": records(picked), "accuracy_assumed": assumed, "notes": notes}
        )
        return
    tables = sweep_tables(done, by, assumed=assumed)
    if as_latex:
        print_latex(tables)
        return
    for row in picked.to_dict("records"):
        show_recommendation(row, assumed=assumed)
    for one in tables:
        print_table(*one)
    batched = table.loc[table["decides"] == "batch", "rule"].drop_duplicates()
    if len(batched):
        names = ", ".join(batched)
        notes.append(f"{names}: one decision per batch of {done.study.batch} debates; errors between batches")
    print_notes(notes)


def show_recommendation(row: dict[Any, Any], *, assumed: bool = False) -> None:
    """Print the rule to run in a world, the reason, its cost and its guarantee; no accuracy where it is assumed."""
    print_text(f"Run {row['rule']} in {row['world']}", bold=True)
    print_text(f"why: {row['reason']}", "  ", "  ")
    costs = [("rounds", "{:z.2f} rounds"), ("tokens", "{:z,.0f} tokens"), ("dollars", "${:z.4f}")]
    cost = ", ".join(form.format(row[m]) for m, form in costs if row.get(m, math.nan) == row.get(m))
    less = "fewer" if row["loss"] >= 0 else "more"
    than = (
        "with unanimity"
        if row["accuracy_minus_unanimity"] == row["accuracy_minus_unanimity"]
        else "at full depth"
    )
    right = (
        "the pilot has no right answers (labels), so accuracy is unknown"
        if assumed
        else f"{row['accuracy']:z.4f} right, {abs(row['loss']):z.4f} ({row['loss_se']:z.4f}) {less} than {than}"
    )
    print_text(f"a debate: {cost}; {right}", "  ", "  ")
    typer.echo("")


_NEED_LABELS = ("accuracy", "gained", "lost", "premature")


def sweep_tables(done: Sweep, by: str, *, assumed: bool = False) -> list[Table]:
    """Return one table per world, with the measures that it has; nothing on right verdicts where it is assumed."""
    tables: list[Table] = []
    table = done.to_frame(by)  # type: ignore[arg-type]  # checked by the caller
    groups = ["world", "seed"] if by == "seed" else ["world"]
    for _, part in table.groupby(groups, sort=False):
        rows = part.to_dict("records")
        title = " ".join(f"{'seed ' if name == 'seed' else ''}{rows[0][name]}" for name in groups)
        measures = [
            ("rounds", "rounds", _plain(2)),
            ("accuracy", "accuracy", _plain(4)),
            ("flips", "flips", _plain(4)),
            ("gained", "gained", _plain(4)),
            ("lost", "lost", _plain(4)),
            ("premature", "premature stops", _plain(4)),
            ("tokens", "tokens", _plain(0)),
            ("dollars", "dollars", _plain(6)),
            ("saved_rounds_vs_unanimity", "rounds saved vs unanimity", _percent),
            ("saved_tokens_vs_unanimity", "tokens saved vs unanimity", _percent),
            ("saved_tokens_vs_full", "tokens saved vs full", _percent),
        ]
        shown = [
            m
            for m in measures
            if m[0] in part.columns and part[m[0]].notna().any() and not (assumed and m[0] in _NEED_LABELS)
        ]
        head = (
            f"{title}: {rows[0]['n_debates']:,} debates of up to {done.study.n_rounds} rounds, "
            f"Monte Carlo standard error in brackets",
            ["rule", *[label for _, label, _ in shown]],
            [[str(row["rule"]), *[_cell(row, name, write) for name, _, write in shown]] for row in rows],
        )
        tables.append(head)
    return tables


def _cell(row: dict[Any, Any], name: str, write: Any) -> str:
    value, error = row[name], row[f"{name}_se"]
    if value != value:  # NaN: the world records nothing of the kind
        return "-"
    return f"{write(value)} ({'-' if error != error else write(error)})"


def _plain(digits: int) -> Any:
    return lambda value: f"{value:z,.{digits}f}"


def _percent(value: float) -> str:
    return f"{value:z.1%}"
