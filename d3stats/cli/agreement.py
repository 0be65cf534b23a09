"""``d3stats agreement``: do the judges agree more than chance would make them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from d3stats.cli.options import Boot, Figure, Json, Level, Seed, paths_of
from d3stats.cli.output import print_json, print_notes, print_table, working

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from d3stats.inference.agreement import AgreementTable


def agreement(
    file: Annotated[
        str,
        typer.Argument(
            help="Votes: a long table (columns item, rater, vote), a wide one (a column per rater), both as CSV or "
            "Parquet, a debate log, or 'slm7'."
        ),
    ],
    a: Annotated[str | None, typer.Option("--a", help="One rater; 'label' is the right answer.")] = None,
    b: Annotated[str | None, typer.Option("--b", help="The other rater.")] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            help="'cohen' (every pair), 'fleiss', 'alpha', 'ac1', 'share'; repeatable, all by default.",
        ),
    ] = None,
    weights: Annotated[
        str,
        typer.Option("--weights", help="'identity', 'linear' or 'quadratic' by position of the categories."),
    ] = "identity",
    metric: Annotated[
        str | None,
        typer.Option("--metric", help="Of alpha: 'nominal', 'ordinal', 'interval' or 'ratio'."),
    ] = None,
    categories: Annotated[
        str | None,
        typer.Option(
            "--categories", help="All categories in order, with commas; by default those that occur."
        ),
    ] = None,
    round_number: Annotated[
        int | None,
        typer.Option("--round", help="The round whose votes are taken; each debate's last by default."),
    ] = None,
    by: Annotated[
        str,
        typer.Option("--by", help="What an item is in a log: 'debate' or 'question' (runs become raters)."),
    ] = "debate",
    repeats: Annotated[
        str,
        typer.Option("--repeats", help="A rater's second vote on an item: 'refuse', or 'separate' raters."),
    ] = "refuse",
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            help="'cluster t', 'jackknife t', 'percentile', 'basic', 'bca', 'studentised' or 'classical'.",
        ),
    ] = "cluster t",
    level: Level = 0.95,
    n_boot: Boot = 10_000,
    seed: Seed = 0,
    as_json: Json = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX (booktabs).")] = False,
    figure: Figure = None,
) -> None:
    """Show how far raters agree: the panel's coefficients and every pair's kappa, with intervals."""
    if as_json and as_latex:
        raise ValueError("format must be one of --json and --latex; got both")
    if (a is None) != (b is None):
        raise ValueError(f"--a and --b must come together; got --a {a} and --b {b}")
    from d3stats.inference.agreement import MEASURES
    from d3stats.inference.agreement import agreement as measured

    settings: dict[str, Any] = {"weights": weights, "metric": metric, "round_number": round_number, "by": by}
    settings |= {"repeats": repeats, "kind": kind, "level": level, "n_boot": n_boot, "rng": seed}
    settings["measures"] = measures or MEASURES
    settings["raters"] = None if a is None else [a, b]
    settings["categories"] = None if categories is None else [x.strip() for x in categories.split(",")]
    with working("counting agreement"):
        found = measured(paths_of([file])[0], **settings)
    if figure is not None:
        _draw(found, figure)
    if as_json:
        print_json(found.to_dict())
    elif as_latex:
        typer.echo(found.to_latex())
    else:
        _show(found)


def _draw(found: AgreementTable, path: Path) -> None:
    from d3stats.plotting import save, use_style

    with use_style():
        save(cast("Drawing", found.plot().get_figure()), path)


def _show(found: AgreementTable) -> None:
    rows = []
    for one in found.coefficients:
        e = one.estimate
        rows.append(
            (
                e.name,
                f"{e.value:.3f}",
                "-" if e.low is None else f"[{e.low:.3f}, {e.high:.3f}]",
                f"{one.share.value:.3f}",
                "-" if one.chance is None else f"{one.chance:.3f}",
                str(e.n),
            )
        )
    first = found.estimates[0]
    title = (
        f"{found.n_items} items in {found.n_clusters} clusters, {len(found.raters)} raters, "
        f"{found.n_missing} ratings missing"
    )
    limits = f"{100 * first.level:.6g} % {first.kind}"
    print_table(title, ("", "estimate", limits, "share of agreement", "by chance", "items"), rows)
    refused = [f"{name}: {why}" for name, why in found.refused.items()]
    print_notes([*refused, *found.notes])
