"""``d3stats report``: an HTML page about one or several logs."""

from __future__ import annotations

import shlex
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Json, Prices, RoleModels, models_by_role
from d3stats.cli.output import (
    LINES_OF_NOTES,
    leave,
    print_answer,
    print_json,
    print_some_notes,
    print_text,
    print_warnings,
    without_warnings,
    working,
)
from d3stats.note import note_values

if TYPE_CHECKING:
    import pandas as pd


def checked_page(path: Path) -> Path:
    """Refuse a path that no page can be written to, before the computation starts."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--output must end in .html; got {str(path)!r}")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise ValueError(f"the folder of --output must exist; got {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"--output must be a file; got the folder {str(path)!r}")
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(
            f"the folder of --output must be writable; got {str(path)!r} ({error.strerror})"
        ) from None
    return path


Logs = Annotated[
    list[str],
    typer.Argument(
        autocompletion=completion.logs,
        help="Logs and tables (JSONL, CSV, TSV, XLSX, Parquet), or a bundled log. Several logs are compared; "
        "a glob in quotes is one log.",
    ),
]


@derived(
    "d3stats.report.analysis:report",
    {"logs": Logs},
    without=("command", "lenient"),
    completes={"rules": completion.rules},
)
def report(
    given: Given,
    context: typer.Context,
    out: Annotated[
        Path, typer.Option("--output", "-o", callback=checked_page, help="The HTML file to write.")
    ] = Path("report.html"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the page if it exists.")] = False,
    prices: Prices = None,
    role_models: RoleModels = None,
    gated: Annotated[
        bool,
        typer.Option(
            "--gate",
            help="For programs: exit code 0 if every record was read and the page has no warning, else 4.",
        ),
    ] = False,
    everything: Everything = False,
    as_json: Json = False,
) -> None:
    """Write one HTML page about a log: rounds, stopping rules, agreement, bias, costs and disputed debates."""
    from d3stats._words import counted

    if out.exists() and not overwrite:
        raise ValueError(f"--output must not exist, or be given with --overwrite; got {str(out)!r}")
    logs, settings = given.source, given.settings
    by_role = models_by_role(prices, settings.get("model"), role_models, settings.get("output_share"))
    with working("analysing"):
        found = given(*logs, prices=prices, role_models=by_role, command=command_of(context))
        found.to_html(out)
    size = out.stat().st_size / 1e6
    filled = [each for each in found.sections if not all(part.absent for part in each.parts)]
    sections = counted(len(filled), "section")
    replayed = [
        part.frames["rules"]
        for section in found.sections
        if section.key == "rules"
        for part in section.parts
        if part.frames
    ]
    gate = found.gate()
    if as_json:
        print_json(
            {
                "headline": found.headline,
                "page": str(out),
                "bytes": out.stat().st_size,
                "logs": list(found.logs),
                "sections": [section.title for section in found.sections],
                "notes": note_values(found.notes),
                **({"gate": gate.to_dict()} if gated else {}),
            }
        )
        if gated:
            leave(gate)
        return
    if gated:
        print_text(f"{gate}.")
    print_answer(found._answer())
    print_text(f"{out}: {size:z.1f} MB, {sections} on {' and '.join(found.logs)}; open it in a browser.")
    took = print_warnings(found.notes, everything=everything)
    print_some_notes(without_warnings(found.notes), everything=everything, lines=LINES_OF_NOTES - took)
    if replayed and not any(map(_plannable, replayed)):
        print_text(
            "Next: run debates with poll=every_round, which have the votes after every round that d3stats plan needs; "
            "rules that read scores are priced here."
        )
    if gated:
        leave(gate)


def _plannable(rules: pd.DataFrame) -> bool:
    """Return whether unanimity, which a plan starts from, could be replayed, or would go on after debates ended."""
    usual = rules[rules["rule"].str.startswith("unanimity")]
    return bool(((usual["undecided"] > 0) | usual["saved_rounds_vs_unanimity"].notna()).any())


def command_of(context: typer.Context) -> str:
    """Return the command as it was typed, without the folder of the page and what changes nothing in the page."""
    words = ["d3stats", str(context.info_name)]
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        value: Any = context.params.get(str(option.name))
        if source is None or source.name != "COMMANDLINE" or option.name in ("overwrite", "as_json"):
            continue
        given = value if isinstance(value, (list, tuple)) else [value]
        for one in given:
            text = one.name if option.name == "out" else str(one)
            words += [text] if option.param_type_name == "argument" else [max(option.opts, key=len), text]
    return shlex.join(words)
