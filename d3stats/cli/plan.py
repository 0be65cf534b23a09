"""``d3stats plan``: choose the stopping rule to run from a pilot, with its cost and accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.options import (
    Columns,
    Encoding,
    Everything,
    Figure,
    Json,
    Latex,
    Lenient,
    Level,
    MissingValues,
    OutputShare,
    PricedAs,
    Prices,
    ReadAs,
    RoleModels,
    Roles,
    Seed,
    SheetName,
    models_by_role,
    one_format,
    open_logs,
    reading,
)
from d3stats.cli.output import (
    print_json,
    print_latex,
    print_result,
    save_figure,
    tables_of,
    working,
)

if TYPE_CHECKING:
    from pathlib import Path

    from d3stats.planning.prices import RoundDollars
    from d3stats.sources import Opened
    from d3stats.trajectories import Trajectories

_SEEDS_ON_SCORES = ("d3_paper", "d3_code", "sign_agreement")
_SEEDS = ("hu2025",)
_SEEDS_UNLABELLED = ("ks:0.05,camp=largest", "ks:0.05,camp=first")


def plan(
    pilot: Annotated[
        list[str],
        typer.Argument(autocompletion=completion.logs, help="Pilot logs, played to full depth, or 'slm7'."),
    ],
    max_loss: Annotated[
        float, typer.Option("--max-loss", help="Largest acceptable share of verdicts lost against unanimity.")
    ] = 0.01,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Probability that the rule loses no more than that.")
    ] = 0.9,
    debates: Annotated[int, typer.Option("--debates", help="Number of debates that you plan to run.")] = 1000,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            metavar="auto|d3stats.planning.ladders:Target",
            help="Meaning of a loss: fewer right verdicts, or less agreement with full depth; default: "
            "what the log allows.",
        ),
    ] = "auto",
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rule", "-r", autocompletion=completion.rules, help="A further rule for the table; repeatable."
        ),
    ] = None,
    prices: Prices = None,
    model: PricedAs = None,
    role_model: RoleModels = None,
    output_share: OutputShare = None,
    level: Level = 0.95,
    limit: Annotated[
        bool, typer.Option("--limit/--no-limit", help="Compute the exact optimum of the fitted chain.")
    ] = True,
    figure: Figure = None,
    lenient: Lenient = False,
    roles: Roles = None,
    missing_values: MissingValues = None,
    columns: Columns = None,
    encoding: Encoding = None,
    sheet: SheetName = None,
    read: ReadAs = None,
    seed: Seed = 0,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Plan the next debates from a pilot: the stopping rule, its rounds, tokens and dollars, and its possible loss."""
    from d3stats.planning.plan import plan as make_plan

    one_format(as_json, as_latex)
    with working("planning"):
        how = reading(missing_values, columns, encoding, read, sheet)
        opened, left_out = open_logs(pilot, lenient, roles, how)
        log = opened.trajectories()
        paid = _dollars(prices, model, role_model or [], output_share, opened, roles)
        made = make_plan(
            log,
            max_loss=max_loss,
            confidence=confidence,
            level=level,
            debates=debates,
            target=target,  # type: ignore[arg-type]  # checked by the library, in its words
            dollars=paid,
            compare=[*_of_the_literature(log), *(rules or [])],
            limit=limit,
            rng=seed,
        )
    if figure is not None:
        save_figure(made.plot, figure)
    notes = [*([] if paid is None else [paid.note]), *[f"left out: {line}" for line in left_out]]
    if as_json:
        more = {"left_out": left_out, "prices": None if paid is None else paid.note}
        print_json(made.to_dict() | more)
    elif as_latex:
        print_latex(tables_of(made))
    else:
        print_result(made, everything=everything, notes=notes)


def _dollars(
    prices: Path | None,
    model: str | None,
    role_models: list[str],
    output_share: float | None,
    opened: Opened,
    roles: list[str] | None,
) -> RoundDollars | None:
    """Price every round of the log, each turn by its role, model and kind of tokens; None without prices."""
    from d3stats.planning.prices import price_turns
    from d3stats.worlds.tokens import PriceTable

    by_role = models_by_role(prices, model, role_models, output_share)
    if prices is None:
        return None
    return price_turns(
        opened.log(every_role=True).turns,
        opened.trajectories(),
        PriceTable.read(prices),
        model=model,
        role_models=by_role,
        roles=roles,
        output_share=output_share,
    )


def _of_the_literature(log: Trajectories) -> list[str]:
    """Return the published rules that this log can be replayed with."""
    from d3stats.trajectories import MISSING

    labelled = bool((log.label != MISSING).all())
    scored = log.scores is not None and len(log.sides) == 2
    if labelled:
        on_votes: tuple[str, ...] = _SEEDS
    else:
        # The count of votes for A says something only when A means the same in every debate.
        on_votes = _SEEDS_UNLABELLED[: 2 if len(log.answers) <= 2 else 1]
    return [*on_votes, *(_SEEDS_ON_SCORES if scored else ())]
