"""``d3stats power``: how many questions a comparison needs, and which effect a given number can detect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli.options import (
    Columns,
    Encoding,
    Json,
    Latex,
    Level,
    Missing,
    MissingValues,
    ReadAs,
    SheetName,
    one_format,
    paths_of,
    reading,
    refuse_unused,
)
from d3stats.cli.output import print_json, print_notes, print_table, print_text, working

if TYPE_CHECKING:
    from d3stats.inference.comparison.power import PilotPlan, PowerPlan

_NOISE = ("sd", "discordance", "accuracy", "correlation", "icc", "repeat_icc")


def power(
    context: typer.Context,
    effect: Annotated[
        float | None,
        typer.Option(
            "--effect", help="Difference to detect, in units of the values (accuracy: 0.012 is 1.2 points)."
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option(
            "--n",
            help="Number of questions; with --effect shows the power, without it the smallest detectable "
            "effect.",
        ),
    ] = None,
    pilot: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--pilot", help="Two runs over the same items to estimate the noise from (tables or logs)."
        ),
    ] = None,
    discordance: Annotated[
        float | None,
        typer.Option(
            "--discordance", help="Share of items that exactly one of the two protocols answers correctly."
        ),
    ] = None,
    sd: Annotated[
        float | None,
        typer.Option("--sd", help="Standard deviation of a paired difference, for items with scores."),
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option("--accuracy", help="Accuracy of the first protocol, instead of --discordance."),
    ] = None,
    correlation: Annotated[
        float | None,
        typer.Option(
            "--correlation", help="With --accuracy: correlation between the correctness of the two protocols."
        ),
    ] = None,
    icc: Annotated[
        float | None, typer.Option("--icc", help="Correlation of the differences within a question.")
    ] = None,
    cluster_size: Annotated[int, typer.Option("--cluster-size", help="Items per question.")] = 1,
    size_cv: Annotated[
        float,
        typer.Option("--size-cv", help="Standard deviation of the items per question, over their mean."),
    ] = 0.0,
    repeats: Annotated[int, typer.Option("--repeats", help="Runs of each item by each protocol.")] = 1,
    repeat_icc: Annotated[
        float | None,
        typer.Option("--repeat-icc", help="Correlation of the differences between repeats of an item."),
    ] = None,
    goal: Annotated[
        str,
        typer.Option(
            "--goal",
            metavar="d3stats.inference.comparison.power:Goal",
            help="The statement that the test should support.",
        ),
    ] = "difference",
    margin: Annotated[
        float | None, typer.Option("--margin", help="Margin of non-inferiority or equivalence, above 0.")
    ] = None,
    chance: Annotated[float, typer.Option("--power", help="Probability that the test supports it.")] = 0.8,
    alpha: Annotated[float, typer.Option("--alpha", help="Significance level of each test.")] = 0.05,
    one_sided: Annotated[
        bool, typer.Option("--one-sided", help="Use a one-sided test of a difference.")
    ] = False,
    level: Level = 0.95,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="d3stats.inputs.items:ItemIs",
            help="With --pilot: the unit of comparison in a log.",
        ),
    ] = "question",
    value: Annotated[str | None, typer.Option("--value", help="With --pilot: the column of values.")] = None,
    missing: Missing = "exclude",
    missing_values: MissingValues = None,
    columns: Columns = None,
    encoding: Encoding = None,
    sheet: SheetName = None,
    read: ReadAs = None,
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Plan a paired comparison: questions for an effect, or the power or detectable effect of a number of questions."""
    one_format(as_json, as_latex)
    if pilot is None:
        of_runs = (
            "--level",
            "--by",
            "--value",
            "--missing",
            "--missing-values",
            "--columns",
            "--encoding",
            "--sheet",
        )
        refuse_unused(context, "must come with --pilot", *of_runs)
    if goal != "difference":
        refuse_unused(
            context, "must come with --goal difference, because a margin is tested one-sided", "--one-sided"
        )
    if repeats == 1:
        refuse_unused(context, "must come with --repeats of 2 or more", "--repeat-icc")
    if cluster_size == 1 and pilot is None:
        refuse_unused(context, "must come with --cluster-size of 2 or more", "--size-cv")
    common: dict[str, Any] = {"goal": goal, "alpha": alpha}
    common["alternative"] = "one-sided" if one_sided else "two-sided"
    noise: dict[str, Any] = dict(
        zip(_NOISE, (sd, discordance, accuracy, correlation, icc, repeat_icc), strict=True)
    )
    if pilot is not None:
        given = [name for name, part in noise.items() if part is not None]
        given += [name for name, part in (("cluster_size", cluster_size), ("repeats", repeats)) if part != 1]
        given += ["size_cv"] if size_cv else []
        if given:
            listed = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise ValueError(f"the noise must come from --pilot or from options; got --pilot and {listed}")
        how: dict[str, Any] = {"by": by, "value": value, "missing": missing}
        how |= reading(missing_values, columns, encoding, read, sheet)
        plan = _from_pilot(pilot, how, effect, n, margin, chance, level, common)
        _show(plan, as_json, as_latex)
        return
    noise |= {"cluster_size": cluster_size, "size_cv": size_cv, "repeats": repeats}
    _show(_from_noise(context, effect, n, margin, chance, noise, common), as_json, as_latex)


def _from_noise(
    context: typer.Context,
    effect: float | None,
    n: int | None,
    margin: float | None,
    chance: float,
    noise: dict[str, Any],
    common: dict[str, Any],
) -> PowerPlan:
    from d3stats._check import as_share
    from d3stats.inference.comparison.power import minimum_detectable_effect, sample_size
    from d3stats.inference.comparison.power import power as power_of

    shows_margin = common["goal"] != "difference"
    if n is None and effect is None and not shows_margin:
        raise ValueError(
            "one of --effect and --n must be given; got neither; try d3stats power --effect 0.02 --discordance 0.06"
        )
    if noise["sd"] is None and effect is not None and abs(effect) > 1:
        raise ValueError(
            "--effect must lie between -1 and 1, because it is a difference of two accuracies; got "
            f"{effect:g}{as_share(abs(effect))}; differences of scores are planned with --sd"
        )
    if noise["sd"] is None and noise["discordance"] is None and noise["accuracy"] is None:
        raise ValueError(
            "the noise must be given as --discordance, --accuracy or --sd, or as --pilot A B; got none; try "
            "--discordance 0.1 if exactly one run is right on 10 % of the questions"
        )
    if n is None:
        return sample_size(effect or 0.0, margin=margin, power=chance, **noise, **common)
    if (effect is None and not shows_margin) or (margin is None and shows_margin):
        if margin is not None:
            raise ValueError(f"--margin must come with --goal non-inferiority or equivalence; got {margin}")
        return minimum_detectable_effect(n, effect=effect or 0.0, power=chance, **noise, **common)
    refuse_unused(
        context, "must be left out where the power is computed, with --effect or --margin and --n", "--power"
    )
    return power_of(effect or 0.0, n, margin=margin, **noise, **common)


def _from_pilot(
    pilot: tuple[str, str],
    how: dict[str, Any],
    effect: float | None,
    n: int | None,
    margin: float | None,
    chance: float,
    level: float,
    common: dict[str, Any],
) -> PilotPlan:
    from d3stats.inference.comparison.power import plan_comparison
    from d3stats.inputs.runs import pair
    from d3stats.sources.runs import as_run, as_runs

    if margin is not None and effect is None:
        effect = 0.0
    with working("reading the pilot"):
        runs = as_runs(paths_of(list(pilot)), **how)
        if runs[0].name == runs[1].name:
            runs = [as_run(run, name=f"{run.name} ({i})") for i, run in enumerate(runs, start=1)]
        return plan_comparison(
            pair(runs), effect, n_questions=n, margin=margin, power=chance, level=level, **common
        )


def _show(plan: PowerPlan | PilotPlan, as_json: bool, as_latex: bool) -> None:
    if as_json:
        print_json(plan.to_dict())
        return
    if as_latex:
        typer.echo(plan.to_latex())
        return
    answer, *_ = str(plan).splitlines()
    print_text(answer)
    typer.echo("")
    print_table(*_table(plan))
    print_notes(plan.notes)


def _table(plan: PowerPlan | PilotPlan) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    from d3stats._words import counted
    from d3stats.inference.comparison.power import PowerPlan

    if isinstance(plan, PowerPlan):
        return "The plan and its assumptions", ("", plan.asked), [tuple(row) for row in plan.rows()]
    rows: list[tuple[str, ...]] = []
    for e in plan.estimates:
        digits = ".0f" if e.name == "questions" else ".4g"
        limits = "-" if e.low is None else f"[{e.low:{digits}}, {e.high:{digits}}]"
        rows.append((e.name, f"{e.value:{digits}}", limits, e.kind))
    rows.append(("items per question", f"{plan.items_per_question:.3g}", "", ""))
    if plan.icc is not None:
        rows.append(("ICC of the differences", f"{plan.icc:.3g}", "", ""))
    if plan.discordance is not None:
        rows.append(("discordance", f"{plan.discordance:.3g}", "", ""))
    size = f"{counted(plan.found.n, 'item')} in {counted(plan.found.n_clusters or plan.found.n, 'question')}"
    return f"From a pilot of {size}", ("", "estimate", f"{100 * plan.level:.6g} % limits", "kind"), rows
