"""A plan in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._words import counted
from d3stats.planning._coding import Target
from d3stats.stopping import Rule, Unanimity

if TYPE_CHECKING:
    from d3stats.planning.plan import Plan

__all__ = ["plan_reason", "plan_text"]

_KEPT = {"accuracy": "right verdicts", "agreement": "verdicts that agree with full depth"}


def plan_reason(
    rule: Rule,
    probability: float,
    confidence: float,
    max_loss: float,
    count: int,
    target: Target,
    at_most: int | None,
) -> str:
    """Say why this rule; `at_most` is how many rounds the chain is followed where the pilot was cut off there."""
    within = "" if at_most is None else f" in debates of at most {counted(at_most, 'round')}"
    if isinstance(rule, Unanimity):
        return (
            f"none of {count} ladders is cheaper than unanimity and loses at most {max_loss:g} of the "
            f"{_KEPT[target]} with probability {confidence:g}{within}"
        )
    return (
        f"the cheapest of those among {count} ladders that lose at most {max_loss:g} of the {_KEPT[target]} against "
        f"unanimity{within} with probability {confidence:g} or more; here {probability:.2f}"
    )


def plan_text(plan: Plan) -> str:
    """Return the whole plan as text."""
    table = plan.to_frame()
    unit = str(table["total_unit"].iloc[0])
    lines = [
        f"Run {plan.rule}: {plan.reason}.",
        f"{plan.level:.0%} Student intervals over questions; loss from the fitted chain where it can tell; "
        f"totals for {plan.debates} debates.",
        "",
        f"{'rule':32} {'rounds':>20} {unit + ' saved':>22} {'kept':>20} {'loss':>23} {'P(within)':>9}",
    ]
    for row in table.to_dict("records"):
        cells = [
            f"{row[m]:.{d}f} [{row[m + '_low']:.{d}f}, {row[m + '_high']:.{d}f}]"
            if row[m] == row[m] and row[m + "_low"] == row[m + "_low"]
            else f"{row[m]:.{d}f}"
            if row[m] == row[m]
            else "-"
            for m, d in (("rounds", 2), ("saved", 3), ("kept", 3), ("loss", 3))
        ]
        within = f"{row['p_within']:.2f}" if row["p_within"] == row["p_within"] else "-"
        name = str(row["rule"]) if row["role"] != "limit" else "(exact optimum of the chain)"
        lines.append(f"{name:32} {cells[0]:>20} {cells[1]:>22} {cells[2]:>20} {cells[3]:>23} {within:>9}")
    lines += ["", *(f"- {note}" for note in plan.notes)]
    return "\n".join(lines)
