"""``d3stats plan``: choose the stopping rule to run from a pilot, with its cost and accuracy."""

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
    OutputShare,
    PricedAs,
    Prices,
    RoleModels,
    left_out,
    models_by_role,
    omitted_notes,
    one_format,
)
from d3stats.cli.output import (
    print_document,
    print_latex,
    print_result,
    save_figure,
    tables_of,
    working,
)

if TYPE_CHECKING:
    from pathlib import Path

    from d3stats.planning.label_value import LabelValue
    from d3stats.planning.pilot_sizes import PilotSizes
    from d3stats.planning.plan import Plan
    from d3stats.planning.prices import RoundDollars
    from d3stats.sources import Opened
    from d3stats.trajectories import Trajectories

_SEEDS_ON_SCORES = ("d3_paper", "d3_code", "sign_agreement")
_SEEDS = ("hu2025",)
_SEEDS_UNLABELLED = ("ks:0.05,camp=largest", "ks:0.05,camp=first")


Pilot = Annotated[
    list[str],
    typer.Argument(
        autocompletion=completion.logs, help="Pilot logs, played to full depth, or a bundled log."
    ),
]


@derived(
    "d3stats.planning.plan:plan",
    {"pilot": Pilot},
    without=("price", "dollars"),
    completes={"rules": completion.rules},
)
def plan(
    given: Given,
    prices: Prices = None,
    model: PricedAs = None,
    role_model: RoleModels = None,
    output_share: OutputShare = None,
    campaign: Annotated[
        int | None,
        typer.Option(
            "--campaign",
            help="Debates of a whole campaign, with those of its pilot: also show what is left of the saving after the "
            "pilot's bill, for pilots of several sizes.",
        ),
    ] = None,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Plan the next debates from a pilot: the stopping rule, its rounds, tokens and dollars, and its possible loss."""
    one_format(as_json, as_latex)
    with working("planning"):
        opened = given.open()
        omitted = left_out(opened.checked().problems)
        log = opened.trajectories()
        paid = _dollars(prices, model, role_model or [], output_share, opened, given.reading.get("roles"))
        rules = [*_of_the_literature(log), *given.settings.get("rules", [])]
        made = given(opened, rules=rules, dollars=paid)
        bill = None if campaign is None else _sizes(given, opened, campaign)
        labels = _labels(log, made)
    if figure is not None:
        save_figure(made.plot, figure)
    notes = omitted_notes(omitted)
    if paid is not None:
        table = made.to_frame()
        costs = bool((table["total"].notna() & (table["total_unit"] == "dollars")).any())
        notes = [paid.note, *(paid.warnings if costs else ()), *notes]
    for found in filter(None, (labels, bill)):
        notes = [*notes, *(note for note in found.notes if note not in made.notes)]
    if as_json:
        more = {
            name: found.to_dict()
            for name, found in (("campaign", bill), ("labels", labels))
            if found is not None
        }
        print_document(
            made.to_dict(), notes, left_out=omitted, prices=None if paid is None else paid.note, **more
        )
        return
    # The sentence stands above its table.
    further = [(found.headline, *tables_of(found)[0][1:]) for found in (labels, bill) if found is not None]
    if as_latex:
        print_latex([*tables_of(made), *further])
    else:
        print_result(made, everything=everything, notes=notes, tables=further)


def _sizes(given: Given, opened: Opened, campaign: int) -> PilotSizes:
    """Return what pilots of several sizes leave of the saving of a campaign, under the settings of the plan."""
    from d3stats.planning.pilot_sizes import pilot_sizes

    named = ("max_loss", "confidence", "target", "n_draws")
    asked = {name: given.settings[name] for name in named if name in given.settings}
    return pilot_sizes(opened, campaign=campaign, **asked)


def _labels(log: Trajectories, made: Plan) -> LabelValue | None:
    """Return what labels would tell of the recommended rule, or of the one that saves most, where debates have none."""
    from d3stats.planning.label_value import label_value
    from d3stats.stopping import Rule, from_text
    from d3stats.trajectories import MISSING

    known = (log.label != MISSING) | ~log.had_turns().any(axis=(1, 2))
    table = made.to_frame()
    rules = table[
        (table["saved"] > 0) & (table["role"].isin(["recommended", "compared"]) & (table["undecided"] == 0))
    ]
    rules = rules.sort_values(["role", "saved"], ascending=[False, False], kind="stable")
    named = [str(rule) for rule in rules["rule"] if isinstance(from_text(str(rule)), Rule)]
    if known.all() or not named or log.ended_early().any() or len(set(log.cluster.tolist())) < 2:
        return None
    return label_value(log, named[0], level=made.level)


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
