"""``d3stats plan``: choose the stopping rule to run from a pilot, with its cost and accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import (
    Figure,
    Json,
    Latex,
    OutputShare,
    PricedAs,
    Prices,
    RoleModels,
    left_out,
    models_by_role,
    one_format,
)
from d3stats.cli.output import (
    print_json,
    print_latex,
    print_notes,
    print_table,
    print_text,
    records,
    save_figure,
    without_warnings,
    working,
)
from d3stats.report.tables import Table, estimate

if TYPE_CHECKING:
    from pathlib import Path

    from d3stats.planning.plan import Plan
    from d3stats.planning.prices import RoundDollars
    from d3stats.sources import Opened
    from d3stats.trajectories import Trajectories

_SEEDS_ON_SCORES = ("d3_paper", "d3_code", "sign_agreement")
_SEEDS = ("hu2025",)
_SEEDS_UNLABELLED = ("ks:0.05,camp=largest", "ks:0.05,camp=first")


Pilot = Annotated[
    list[str],
    typer.Argument(autocompletion=completion.logs, help="Pilot logs, played to full depth, or 'slm7'."),
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
    if figure is not None:
        save_figure(made.plot, figure)
    if as_json:
        print_json(_document(made, omitted) | {"prices": None if paid is None else paid.note})
        return
    if as_latex:
        print_latex([plan_table(made)])
        return
    print_notes(log.remarks())
    _show_recommendation(made)
    print_table(*plan_table(made))
    notes = without_warnings(made.notes, log.notes)
    print_notes([*([] if paid is None else [paid.note]), *notes, *[f"left out: {line}" for line in omitted]])


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


_INTERVALS = "Student's t over questions; accuracy: cluster Wilson; loss: equal-tailed over parameter draws"


def _document(made: Plan, left_out: list[str]) -> dict[str, Any]:
    return {
        "rule": str(made.rule),
        "target": made.target,
        "max_loss": made.max_loss,
        "confidence": made.confidence,
        "probability": made.probability,
        "level": made.level,
        "interval": _INTERVALS,
        "debates": made.debates,
        "reason": made.reason,
        "rules": records(made.to_frame()),
        "checks": records(made.checks),
        "notes": list(made.notes),
        "left_out": left_out,
    }


def _show_recommendation(made: Plan) -> None:
    """Print the recommendation and its price."""
    table = made.to_frame()
    first = table.iloc[0]
    unit = str(first["total_unit"])
    sign, digits = ("$", 2) if unit == "dollars" else ("", 0)
    print_text(f"Run {made.rule}")
    print_text(made.reason, "  why: ", "       ")
    if first["undecided"]:
        print_text(
            f"{made.debates:,} debates: cost unknown, because {first['undecided']} debates of the pilot "
            "ended before this rule would stop",
            "  ",
            "    ",
        )
    else:
        limits = (
            f" [{sign}{first['total_low']:z,.{digits}f}, {sign}{first['total_high']:z,.{digits}f}]"
            if first["total_low"] < first["total_high"]
            else ""
        )
        typer.echo(
            f"  {made.debates:,} debates: {sign}{first['total']:z,.{digits}f}{limits}{'' if sign else ' ' + unit}"
        )
    typer.echo("")


def plan_table(made: Plan) -> Table:
    """Return the recommended rule and the rules that it was compared with."""
    table = made.to_frame()
    unit = str(table.iloc[0]["total_unit"])
    kept = "accuracy" if made.target == "accuracy" else "agreement"
    # One column for cost: dollars where there are prices, else tokens; the JSON has both.
    measures = [
        ("rounds", 2),
        ("dollars", 4) if unit == "dollars" else ("tokens", 0),
        ("saved", 2),
        ("kept", 3),
    ]
    if made.target != "accuracy":
        measures.append(("accuracy", 3))
    measures = [(m, d) for m, d in measures if table[m].notna().any()]
    rows = []
    for row in table.to_dict("records"):
        cells = [str(row["rule"])]
        cells += [_cell(row, m, places) for m, places in (*measures, ("loss", 3))]
        cells += [_bare(row["p_within"], 2), str(row["loss_from"])]
        rows.append(cells)
    heads = {"saved": "saved", "kept": kept}
    return (
        f"{made.level:z.0%} intervals: {_INTERVALS}. {unit.capitalize()} saved and verdicts lost are against unanimity",
        ["rule", *(heads.get(m, m) for m, _ in measures), "loss", f"P(loss<={made.max_loss:g})", "from"],
        rows,
    )


def _cell(row: dict[Any, Any], measure: str, digits: int) -> str:
    value, low, high = (row[measure + end] for end in ("", "_low", "_high"))
    return estimate(value, low, high, digits) if low < high else _bare(value, digits)


def _bare(value: float, digits: int) -> str:
    return estimate(value, float("nan"), float("nan"), digits)
