"""``d3stats rules``, ``worlds``, ``protocols``, ``formats``: what there is; ``example``: a table to imitate."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli.options import Json
from d3stats.cli.output import print_json

if TYPE_CHECKING:
    import pandas as pd

Name = Annotated[str | None, typer.Argument(help="Only this one, with all its parameters.")]
WIDTH = 100
"""Columns where there is no terminal."""

_READ = {
    "jsonl": "the log that d3stats writes: a header, then items, turns and verdicts, one JSON object a line; or flat "
    "lines, one object per turn; also .ndjson, .jsonl.gz",
    "csv": "one row per turn: debate, round, agent, vote, label, and more if known; or a wide table, one column per "
    "agent or per round; with commas, semicolons, tabs or |; also .csv.gz",
    "tsv": "the same tables with tabs; also .tsv.gz",
    "xlsx": "the same tables, on the first sheet of a workbook",
    "parquet": "the same tables as Parquet",
}
"""Forms of logs that every command reads without an import."""


def rules(name: Name = None, as_json: Json = False) -> None:
    """List the stopping rules, as --rule and --stop take them."""
    from d3stats.stopping.text import rule_names

    _show("rule", rule_names(), name, as_json)


def worlds(name: Name = None, as_json: Json = False) -> None:
    """List the synthetic worlds, as a study file and debate --synthetic take them."""
    from d3stats.worlds.read import world_types

    _show("world", world_types(), name, as_json)


def protocols(name: Name = None, as_json: Json = False) -> None:
    """List the debate protocols, as debate --protocol takes them."""
    from d3stats.protocols.catalogue import protocols as known

    _show("protocol", known(), name, as_json)


def formats(as_json: Json = False) -> None:
    """List the forms of logs that are read as they are, and those that d3stats import turns into logs."""
    from d3stats.log.importers import available

    imported = {name: module.title for name, module in available().items()}
    if as_json:
        print_json({"read": _READ, "import": imported})
        return
    typer.echo("Read as they are by every command:")
    _print([(f".{name}", text, "") for name, text in _READ.items()])
    typer.echo("\nImported first, with d3stats import FORMAT SRC -o LOG.jsonl:")
    _print([(name, text, "") for name, text in imported.items()])


def example(
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="Where to: .csv, .tsv, .xlsx, .parquet or .jsonl.")
    ],
    wide: Annotated[bool, typer.Option("--wide", help="One column per agent, one row per round.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a small table of debates to imitate, and say what to try with it."""
    if out.exists() and not overwrite:
        raise ValueError(f"OUT must not exist, or be given with --overwrite; got {str(out)!r}")
    if not out.absolute().parent.is_dir():
        raise ValueError(f"OUT must lie in a folder that exists; got {str(out)!r}")
    table = example_table()
    _write(_wide(table) if wide else table, out, wide)
    row = "a round, with a column per agent" if wide else "a turn"
    row = "an item or a turn" if out.suffix.lower() == ".jsonl" else row
    typer.echo(
        f"{out}: {table['debate'].nunique()} debates of {table['agent'].nunique()} agents over "
        f"{table['round'].max()} rounds; a row is {row}\n\nTry:"
    )
    for command in (
        f"d3stats doctor {out}",
        f"d3stats fit {out}",
        f"d3stats replay {out} -r fixed:1 -r supermajority:0.7",
        f"d3stats plan {out} --max-loss 0.05",
    ):
        typer.echo(f"  {command}")


def example_table() -> pd.DataFrame:
    """Return 20 debates of 5 agents over 3 rounds on 10 questions, one row per turn; always the same."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(7)
    rows = []
    for d in range(20):
        question = d // 2
        label = "ABCD"[question % 4]
        wrong = "ABCD"[(question + 1) % 4]
        skill = rng.beta(4, 2)
        votes = [label if rng.random() < skill else wrong for _ in range(5)]
        for r in (1, 2, 3):
            for a, vote in enumerate(votes):
                tokens = int(rng.integers(80, 160))
                rows.append(
                    (
                        f"debate {d + 1:02d}",
                        f"question {question + 1:02d}",
                        r,
                        f"agent {a + 1}",
                        vote,
                        label,
                        tokens,
                    )
                )
            votes = [str(rng.choice(votes)) if rng.random() < 0.6 else vote for vote in votes]
    columns = ["debate", "question", "round", "agent", "vote", "label", "tokens"]
    return pd.DataFrame(rows, columns=columns)


def _wide(table: pd.DataFrame) -> pd.DataFrame:
    keys = ["debate", "question", "round", "label"]
    wide = table.pivot_table(index=keys, columns="agent", values="vote", aggfunc="first").reset_index()
    wide.columns.name = None
    return wide


def _write(table: pd.DataFrame, out: Path, wide: bool) -> None:
    from d3stats._check import meant

    writers: dict[str, Callable[[], Any]] = {
        ".csv": lambda: table.to_csv(out, index=False),
        ".tsv": lambda: table.to_csv(out, index=False, sep="\t"),
        ".xlsx": lambda: table.to_excel(out, index=False),
        ".parquet": lambda: _by_log(table, out),
        ".jsonl": lambda: _by_log(table, out),
    }
    suffix = out.suffix.lower()
    if suffix not in writers:
        raise ValueError(f"OUT must end in {', '.join(writers)}; got {out.name!r}{meant(suffix, writers)}")
    if wide and suffix in (".parquet", ".jsonl"):
        raise ValueError(f"--wide must come with .csv, .tsv or .xlsx; got {out.name!r}")
    writers[suffix]()


def _by_log(table: pd.DataFrame, out: Path) -> None:
    import tempfile

    from d3stats.log import write_jsonl, write_parquet

    # A JSON Lines log keeps prompt and completion tokens apart.
    split = table.assign(tokens_in=table["tokens"] - 60, tokens_out=60).drop(columns="tokens")
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "example.csv"
        split.to_csv(plain, index=False)
        out.unlink(missing_ok=True)
        (write_jsonl if out.suffix.lower() == ".jsonl" else write_parquet)(plain, out)


# ------------------------------------------------------------------------------------------ lists


def _show(what: str, known: Mapping[str, Callable[..., Any]], name: str | None, as_json: bool) -> None:
    from d3stats._check import choice

    chosen = known if name is None else {name: known[choice(what, name, tuple(known))]}
    if as_json:
        print_json([{"name": n, "parameters": _parameters(f), "about": _about(f)} for n, f in chosen.items()])
        return
    if name is not None:
        _print([(name, _about(known[name]), "")])
        for parameter, default in _parameters(known[name]).items():
            typer.echo(f"  {parameter}" + ("" if default is None else f" = {default}"))
        return
    _print([(n, _about(f), _listed(_parameters(f))) for n, f in sorted(chosen.items())])
    typer.echo(f"\nAll parameters of one: d3stats {what}s NAME")


def _about(make: Callable[..., Any]) -> str:
    """Return the first sentence of a docstring."""
    first = (inspect.getdoc(make) or "").split("\n\n")[0]
    said = " ".join(first.split()).replace("`", "").removeprefix("Return ").strip()
    return said[:1].upper() + said[1:]


def _parameters(make: Callable[..., Any]) -> dict[str, str | None]:
    """Return what can be given, with the default as text; None where there is none and it must be given."""
    if is_dataclass(make):
        return {f.name: _default(f) for f in fields(make) if f.init}
    return {
        p.name: None if p.default is inspect.Parameter.empty else _text(p.default)
        for p in inspect.signature(make).parameters.values()
    }


def _default(parameter: Field[Any]) -> str | None:
    if parameter.default is not MISSING:
        return _text(parameter.default)
    return None if parameter.default_factory is MISSING else _text(parameter.default_factory())


def _text(value: Any) -> str:
    if is_dataclass(value):
        return f"[{type(value).__name__}]"
    if isinstance(value, (tuple, list)):
        return f"[{len(value)} values]" if any(map(is_dataclass, value)) else repr(value)
    return str(value) or "''"


def _listed(parameters: Mapping[str, str | None]) -> str:
    return ", ".join(name if default is None else f"{name}={default}" for name, default in parameters.items())


def _print(rows: Iterable[tuple[str, str, str]]) -> None:
    """Print names with a sentence each, and below it the parameters that fit a line."""
    from textwrap import fill, shorten

    from rich.console import Console

    lines = list(rows)
    console = Console()
    width = console.width if console.is_terminal else WIDTH
    indent = max((len(name) for name, *_ in lines), default=0) + 2
    for name, about, more in lines:
        typer.echo(
            fill(
                about,
                width,
                initial_indent=f"{name:<{indent}}",
                subsequent_indent=" " * indent,
                break_long_words=False,
            )
        )
        if more:
            cut = shorten(more, width - indent, placeholder=" ...")
            typer.echo(" " * indent + cut)
