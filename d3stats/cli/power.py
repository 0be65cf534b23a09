"""``d3stats power``: how many questions a comparison needs, and which effect a given number can detect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli.derive import Given, derived
from d3stats.cli.options import READING_OPTIONS, Json, Latex, one_format, paths_of, refuse_unused, typed
from d3stats.cli.output import print_json, print_notes, print_table, print_text, say, working

if TYPE_CHECKING:
    from d3stats.inference.comparison.power import PilotPlan, PowerPlan

POWER = "d3stats.inference.comparison.power:"
OF_RUNS = ("--level", "--by", "--value", "--missing")
NOISE = ("--sd", "--discordance", "--accuracy", "--correlation", "--icc", "--repeat-icc", "--cluster-size",
         "--repeats", "--size-cv")  # fmt: skip


@derived(
    (POWER + "sample_size", POWER + "Design", POWER + "plan_comparison", "d3stats.sources.runs:as_run"),
    {},
    without=("cluster", "name", "round_number"),
)
def power(
    given: Given,
    context: typer.Context,
    n_questions: Annotated[
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
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Plan a paired comparison: questions for an effect, or the power or detectable effect of a number of questions."""
    one_format(as_json, as_latex)
    if pilot is None:
        refuse_unused(context, "must come with --pilot", *OF_RUNS, *READING_OPTIONS)
    if given.settings["goal"] != "difference":
        why = "must come with --goal difference, because a margin is tested one-sided"
        refuse_unused(context, why, "--alternative")
    if given.settings["repeats"] == 1:
        refuse_unused(context, "must come with --repeats of 2 or more", "--repeat-icc")
    if given.settings["cluster_size"] == 1 and pilot is None:
        refuse_unused(context, "must come with --cluster-size of 2 or more", "--size-cv")
    if pilot is None:
        _show(_from_noise(given, context, n_questions), as_json, as_latex)
        return
    if noise := typed(context, *NOISE):
        listed = ", ".join(noise)
        raise ValueError(f"the noise must come from --pilot or from options; got --pilot and {listed}")
    _show(_from_pilot(given, pilot, n_questions), as_json, as_latex)


def _from_noise(given: Given, context: typer.Context, n: int | None) -> PowerPlan:
    from d3stats._check import as_share
    from d3stats.inference.comparison.power import Design

    settings = given.of(POWER + "Design")
    effect, margin, chance = given.settings.get("effect"), settings.get("margin"), given.settings["power"]
    shows_margin = settings["goal"] != "difference"
    if n is None and effect is None and not shows_margin:
        raise ValueError(
            "one of --effect and --n must be given; got neither; try d3stats power --effect 0.02 --discordance 0.06"
        )
    if "sd" not in settings and effect is not None and abs(effect) > 1:
        raise ValueError(
            "--effect must lie between -1 and 1, because it is a difference of two accuracies; got "
            f"{effect:g}{as_share(abs(effect))}; differences of scores are planned with --sd"
        )
    if not {"sd", "discordance", "accuracy"} & set(settings):
        raise ValueError(
            "the noise must be given as --discordance, --accuracy or --sd, or as --pilot A B; got none; try "
            "--discordance 0.1 if exactly one run is right on 10 % of the questions"
        )
    if margin is not None and not shows_margin and n is not None and effect is None:
        raise ValueError(f"--margin must come with --goal non-inferiority or equivalence; got {margin}")
    design = Design(**settings)
    if n is None:
        return design.sample_size(effect or 0.0, power=chance)
    if (effect is None and not shows_margin) or (margin is None and shows_margin):
        return design.detectable(n, effect=effect or 0.0, power=chance)
    refuse_unused(
        context, "must be left out where the power is computed, with --effect or --margin and --n", "--power"
    )
    return design.power(effect or 0.0, n)


def _from_pilot(given: Given, pilot: tuple[str, str], n: int | None) -> PilotPlan:
    from d3stats.inference.comparison.power import plan_comparison
    from d3stats.inputs.runs import pair
    from d3stats.sources.runs import as_run, as_runs

    settings = given.of(POWER + "plan_comparison")
    if "margin" in settings:
        settings = {"effect": 0.0} | settings
    with working("reading the pilot"):
        runs = as_runs(paths_of(list(pilot)), **given.of("d3stats.sources.runs:as_run"), **given.reading)
        if runs[0].name == runs[1].name:
            runs = [as_run(run, name=f"{run.name} ({i})") for i, run in enumerate(runs, start=1)]
        return plan_comparison(pair(runs), n_questions=n, **settings)


def _show(plan: PowerPlan | PilotPlan, as_json: bool, as_latex: bool) -> None:
    if as_json:
        print_json(plan.to_dict())
        return
    if as_latex:
        say(plan.to_latex())
        return
    answer, *_ = str(plan).splitlines()
    print_text(answer)
    say()
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
