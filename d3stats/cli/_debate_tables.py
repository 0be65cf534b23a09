"""What ``d3stats debate`` prints: the forecast before a run, the report after it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from d3stats.cli.output import print_notes, print_table

if TYPE_CHECKING:
    from d3stats.debates.forecast import Forecast
    from d3stats.debates.report import RunReport

__all__ = ["forecast_json", "show_forecast", "show_report"]


def show_forecast(
    outlook: Forecast, protocol: str, rule: str, budget_tokens: int | None, max_usd: float | None
) -> None:
    """Print what a run will cost, and the limits that it has."""
    looks = [
        ("typical, stopped after round 1", outlook.shortest),
        ("typical, never stopped", outlook.full),
        ("longest, never stopped", outlook.bound),
    ]
    print_table(
        f"forecast: {outlook.debates} debate{'' if outlook.debates == 1 else 's'}, {protocol}, stopped by {rule}",
        ["case", "rounds", "calls", "tokens in", "tokens out", "tokens", "per debate", "dollars"],
        [
            [
                case,
                str(look.rounds),
                f"{look.calls:,}",
                f"{look.tokens_in:,}",
                f"{look.tokens_out:,}",
                f"{look.tokens:,}",
                f"{look.tokens / outlook.debates:,.0f}",
                _dollars(look.dollars),
            ]
            for case, look in looks
        ],
    )
    notes = ["'longest' bounds one attempt a call; attempts after failures come on top, within the budget."]
    if outlook.measured < outlook.debates:
        notes.append(f"Scaled up from {outlook.measured} debates, spread evenly over the items.")
    limits = [
        text
        for text in (
            budget_tokens is not None and f"{budget_tokens:,} tokens",
            max_usd is not None and f"{max_usd:g} dollars",
        )
        if text
    ]
    notes.append(f"Budget: {' and '.join(limits)}." if limits else "No budget: nothing limits what is spent.")
    print_notes(notes)


def forecast_json(outlook: Forecast) -> dict[str, Any]:
    """Return the forecast as JSON-ready values."""
    from dataclasses import asdict

    return asdict(outlook)


def show_report(report: RunReport) -> None:
    """Print what a run has done, and the next commands."""

    def counted(counts: Any) -> str:
        return ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "none"

    for sentence in report.warnings:
        print_notes([sentence])
    rows = [
        ["debates closed", f"{report.closed} of {report.planned}"],
        ["of these, in this run", str(report.new)],
        ["stops", counted(report.stops)],
        ["calls, attempts", f"{report.calls:,}, {report.attempts:,}"],
        ["tokens in, out", f"{report.tokens_in:,}, {report.tokens_out:,}"],
        ["tokens charged to the budget", f"{report.charged:,}"],
        ["dollars", _dollars(report.dollars)],
        ["tokens estimated, in turns of this run", str(report.estimated)],
        ["votes missing", f"{report.votes_missing.total():,} of {report.votes:,}"],
        ["turns with something missing", counted(report.missing)],
        ["calls repeated after a kill", str(report.repeated)],
        ["seconds", f"{report.seconds:.1f}"],
    ]
    print_table(str(report.log), ["", ""], rows)
    notes = []
    if (report.not_begun or report.unfinished) and report.stopped == "budget":
        notes.append(
            f"{len(report.not_begun)} debates were not begun and {report.unfinished} not ended for want of budget"
            f"{_left(report)}: the same command with a larger one goes on."
        )
    if report.dropped:
        notes.append(
            f"Parameters that the server did not take: {', '.join(report.dropped)}; calls were made without."
        )
    if not report.warnings:
        notes += [f"The server's last words on {kind}: {words}" for kind, words in report.words.items()]
    if report.overdrawn:
        notes.append(
            f"{report.overdrawn} calls cost more than their bound: the server counts tokens otherwise than by bytes."
        )
    log = shlex.quote(str(report.log))
    notes.append(f"Next: d3stats doctor {log}; d3stats show {log}; d3stats replay {log}")
    print_notes(notes)


def _left(report: RunReport) -> str:
    """Say what is left of a budget, and what it takes to begin another debate."""
    parts = []
    if report.tokens_to_begin is not None:
        parts.append((f"{report.tokens_left:,}", f"{report.tokens_to_begin:,} tokens"))
    if report.dollars_to_begin is not None:
        parts.append((_dollars(report.dollars_left), f"{_dollars(report.dollars_to_begin)} dollars"))
    if not parts:
        return ""
    left, needed = (" and ".join(words) for words in zip(*parts, strict=True))
    return f" ({left} left; {needed} must be set aside to begin another debate)"


def _dollars(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4f}"
