"""``d3stats show``: the transcript of a debate, or the list of a log's debates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Json, paths_of, refuse_unused
from d3stats.cli.output import print_table, print_text, prose_columns, say
from d3stats.log.column_names import command_on

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from d3stats.log.schema import Item, Turn
    from d3stats.log.transcript import Transcript

LISTED = 50
"""Debates that a list shows."""


Log = Annotated[
    str, typer.Argument(autocompletion=completion.logs, help="A log; only JSON Lines logs hold texts.")
]


@derived("d3stats.log.transcript:read_transcript", {"log": Log})
def show(
    given: Given,
    context: typer.Context,
    debate: Annotated[
        str | None, typer.Argument(help="Name of the debate to show; without it, all debates are listed.")
    ] = None,
    only: Annotated[int | None, typer.Option("--round", help="Only this round.")] = None,
    text: Annotated[
        bool, typer.Option("--text/--no-text", help="With or without the texts of turns.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Show a debate: the question, the candidates, every turn and the verdict."""
    from d3stats.log.transcript import read_transcript

    (path,) = paths_of([given.source])
    how = {name: value for name, value in given.reading.items() if name != "missing_values"}
    if debate is None:
        refuse_unused(context, "must come with the name of a debate", "--round", "--text", "--no-text")
        _list(path, how, as_json=as_json)
        return
    found = read_transcript(path, debate, **how)
    if only is not None:
        found = found.only(only)
    if as_json:
        _print_json(_as_json(found, text=text))
        return
    _print(found, text=text, doctor=command_on("doctor", path, **how))


def _list(path: str, how: dict[str, Any], *, as_json: bool) -> None:
    from d3stats._words import visible
    from d3stats.log.files import journal_path
    from d3stats.log.transcript import list_debates

    lines = list_debates(path, **how)
    if not lines:
        raise ValueError(f"a log must hold at least one debate to show; got none in {path}")
    if as_json:
        _print_json([{name: getattr(line, name) for name in line.__slots__} for line in lines])
        return
    ends = any(line.closed for line in lines) or journal_path(path).exists()
    rows = [
        (
            visible(line.debate, one_line=True),
            str(line.rounds),
            str(line.turns),
            visible(line.decision or "-", one_line=True),
            visible(line.reason or "-", one_line=True) if line.closed or not ends else "open",
        )
        for line in lines[:LISTED]
    ]
    print_table(
        f"{len(lines)} {'debate' if len(lines) == 1 else 'debates'}",
        ("debate", "rounds", "turns", "verdict", "reason"),
        rows,
    )
    if not ends:
        print_text("The log records no verdicts.")
    if len(lines) > LISTED:
        print_text(f"The first {LISTED} of {len(lines)} debates; --json lists all.")


def _as_json(found: Transcript, *, text: bool) -> dict[str, Any]:
    left_out = set() if text else {"text", "candidates"}
    return {
        "item": _shown(found.item, left_out),
        "turns": [
            _shown(turn, left_out)
            | ({"tokens": total} if (total := found.totals.get((turn.round, turn.agent))) is not None else {})
            for turn in found.turns
        ],
        "verdict": None if found.verdict is None else found.verdict.to_dict(),
        "lines_passed_over": [str(problem) for problem in found.passed_over],
    }


def _shown(record: Item | Turn, left_out: set[str]) -> dict[str, Any]:
    return {name: value for name, value in record.to_dict().items() if name not in left_out}


def _print_json(value: Any) -> None:
    # In ASCII, so that nothing that a candidate wrote acts on the terminal; 7F is the one control left.
    say(json.dumps(value, indent=1, allow_nan=False, ensure_ascii=True).replace("\x7f", "\\u007f"))


# ------------------------------------------------------------------------------------------ for people


def _print(found: Transcript, *, text: bool, doctor: str) -> None:
    from rich.console import Console

    # Whatever is printed is a Text, which knows no markup, of characters that `visible` let pass.
    console = Console(highlight=False, markup=False, emoji=False, width=prose_columns(100))
    _print_item(console, found, text=text)
    for number, turns in found.rounds.items():
        console.print()
        console.rule(_styled(f"Round {number}", "bold"), align="left", characters="-", style="dim")
        for turn in turns:
            _print_turn(console, turn, text=text, total=found.totals.get((number, turn.agent)))
    console.print()
    console.print(_verdict(found))
    if found.passed_over:
        n = len(found.passed_over)
        console.print(
            _styled(
                f"{n} {'line' if n == 1 else 'lines'} of the log could not be read; {doctor} lists the "
                "problems.",
                "red",
            )
        )


def _print_item(console: Console, found: Transcript, *, text: bool) -> None:
    item = found.item
    about = [
        f"debate {item.debate}",
        *(f"{n} {v}" for n, v in (("run", item.log), ("protocol", item.protocol)) if v),
    ]
    console.print(_styled(", ".join(about), "bold"))
    names = f"question {item.question}" + (f", cluster {item.cluster}" if item.cluster else "")
    console.print(_styled(names, "cyan"))
    if text:
        _said(console, item.text)
        if item.candidates is not None and len(item.candidates) == 1:
            console.print(_styled("response", "cyan"))
            _said(console, item.candidates[0])
        for name, candidate in zip(item.answers or (), item.candidates or (), strict=False):
            shown = ", shown first" if name == item.first else ""
            console.print(_styled(f"answer {name}{shown}", "cyan"))
            _said(console, candidate)
    elif item.first is not None:
        console.print(_styled(f"answer {item.first} was shown first"))
    if item.answers is not None:
        console.print(_styled(f"may be voted for: {', '.join(item.answers)}"))
    if item.candidates is None or len(item.candidates) != 1:
        console.print(_styled(f"right answer: {'not known' if item.label is None else item.label}"))


def _print_turn(console: Console, turn: Turn, *, text: bool, total: int | None) -> None:
    role = "" if turn.role is None or turn.agent == turn.role else f" ({turn.role})"
    line = _styled(f"{turn.agent}{role}", "bold")
    parts = [f"votes {turn.vote}"] if turn.vote is not None else []
    parts += [f"scores {_scores(turn.scores)}"] if turn.scores and any(turn.scores.values()) else []
    parts += [_tokens(turn)] if turn.tokens_in is not None or turn.tokens_out is not None else []
    parts += [f"{total:,} tokens"] if total is not None else []
    parts += [f"model {turn.model}"] if turn.model else []
    said = [_styled(part) for part in parts]
    said += [_styled(f"error {turn.error}", "red")] if turn.error is not None else []
    whole = line.copy()
    for part in said:
        whole.append("  ").append_text(part)
    if whole.cell_len <= console.width:
        console.print(whole)
    else:  # one line for each part, so that no number stands alone at a line's start
        console.print(line)
        for part in said:
            _indented(console, part, 2)
    if text:
        _said(console, turn.text)


def _tokens(turn: Turn) -> str:
    known = ["?" if n is None else f"{n:,}" for n in (turn.tokens_in, turn.tokens_out)]
    source = f" ({turn.tokens_source})" if turn.tokens_source else ""
    return f"{known[0]} + {known[1]} tokens{source}"


def _scores(scores: dict[str, dict[str, float]]) -> str:
    sides = []
    for side, criteria in scores.items():
        if not criteria:
            sides.append(f"{side} missing")
            continue
        total = f"{side} {sum(criteria.values()):g}"
        several = len(criteria) > 1
        sides.append(
            f"{total} ({', '.join(f'{c} {x:g}' for c, x in criteria.items())})" if several else total
        )
    return "; ".join(sides)


def _verdict(found: Transcript) -> Text:
    closed = found.verdict
    if closed is None:
        if not found.has_verdicts:
            return _styled("No verdict, because the log records none.", "yellow")
        return _styled("No verdict yet, because the debate has not ended.", "yellow")
    decided = "none" if closed.decision is None else closed.decision
    after = "" if closed.round is None else f" after round {closed.round}"
    return _styled(f"Verdict: {decided}{after} ({closed.stop_reason or 'no reason recorded'})", "bold green")


def _said(console: Console, text: str | None) -> None:
    from rich.text import Text

    from d3stats._words import visible

    if text is not None:
        _indented(console, Text(visible(text) if text else "(empty)", overflow="fold"), 4)


def _indented(console: Console, text: Text, by: int) -> None:
    """Print a text in lines that begin with blanks and end without."""
    for line in text.wrap(console, max(1, console.width - by), overflow="fold"):
        line.rstrip()
        console.print(" " * by, line, sep="", end="\n") if line.plain else console.print()


def _styled(text: str, style: str = "") -> Text:
    from rich.text import Text

    from d3stats._words import visible

    return Text(visible(text, one_line=True), style=style, overflow="fold")
