"""``d3stats theorems``: which claims about debates hold, with counterexamples to the others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.options import (
    Json,
    Latex,
    one_format,
)
from d3stats.cli.output import print_answer, print_json, print_table, print_text, prose_columns, say

if TYPE_CHECKING:
    from d3stats.theory import Audit, Page

EXAMPLES = 300


def theorems(
    name: Annotated[
        str | None,
        typer.Argument(
            autocompletion=completion.claims,
            help="Name of a claim to show in full; without it, the table of all claims.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Check all claims now by a search for counterexamples; exit code 1 if a "
            "result differs from the table.",
        ),
    ] = False,
    examples: Annotated[
        int | None,
        typer.Option("--examples", help=f"With --verify: examples that a claim must pass ({EXAMPLES})."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="With --verify: number of processes; default: all cores.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="With --verify: seed of the search (0).")] = None,
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Show which claims of the literature hold, which fail and where, and what to use instead."""
    one_format(as_json, as_latex)
    if not check:
        for option, value in (("--examples", examples), ("--workers", workers), ("--seed", seed)):
            if value is not None:
                raise ValueError(f"{option} must come with --verify; got {option} {value} alone")
    if check:
        _verify(name, EXAMPLES if examples is None else examples, seed or 0, workers, as_json, as_latex)
    elif name is None:
        _show_contents(as_json, as_latex)
    else:
        from d3stats.theory import page

        _show_page(page(name), as_json, as_latex)


def _show_contents(as_json: bool, as_latex: bool) -> None:
    from d3stats.theory import claims, contents, page

    if as_json:
        print_json({"claims": [page(entry).to_dict() for entry in claims().values()]})
    elif as_latex:
        say(contents().to_latex())
    else:
        table = contents()
        columns = ("claim", "source", "verdict", "evidence")
        print_answer(table._answer())
        say()
        print_table("", columns, table.rows)
        print_text("One claim in full: d3stats theorems NAME. Check all claims: d3stats theorems --verify.")


def _show_page(shown: Page, as_json: bool, as_latex: bool) -> None:
    if as_json:
        print_json(shown.to_dict())
    elif as_latex:
        say(shown.to_latex())
    else:
        say(shown.to_text(prose_columns(100)))


def _verify(
    name: str | None, examples: int, seed: int, workers: int | None, as_json: bool, as_latex: bool
) -> None:
    from d3stats.theory import claim, claims, verify

    wanted = list(claims()) if name is None else [claim(name).name]
    processes = min(len(wanted), os.cpu_count() or 1) if workers is None else workers
    started = time.monotonic()
    with _bar(len(wanted)) as advance:
        audit = verify(wanted, n_examples=examples, rng=seed, workers=processes, progress=advance)
    if as_json:
        print_json(audit.to_dict())
    elif as_latex:
        say(audit.to_latex())
    else:
        _show_audit(audit)
        say(f"done in {time.monotonic() - started:z.0f} s")
    if not audit.agrees:
        raise typer.Exit(1)


def _show_audit(audit: Audit) -> None:
    rows = [
        (
            v.claim,
            v.status,
            v.verdict,
            v.found or ("" if v.least_margin is None else f"least margin {v.least_margin + 0.0:.3g}"),
        )
        for v in audit.verdicts
    ]
    print_text(audit.summary())
    say()
    print_table(
        "Claims checked live", ("claim", "stated", "found now", "counterexample, or smallest margin"), rows
    )


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int, int, str], None] | None]:
    """Show a bar on the terminal; nothing when standard error is not one."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("searching", total=total)

        def advance(done: int, _: int, latest: str) -> None:
            progress.update(task, completed=done, description=latest)

        yield advance
