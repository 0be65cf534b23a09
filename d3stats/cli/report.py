"""``d3stats report``: an HTML page about one or several logs."""

from __future__ import annotations

import shlex
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli import completion
from d3stats.cli.options import (
    Columns,
    Encoding,
    Everything,
    Json,
    Level,
    Missing,
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
    read_as,
    reading,
)
from d3stats.cli.output import (
    leave,
    print_answer,
    print_json,
    print_notes,
    print_some_notes,
    print_text,
    working,
)

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


def report(
    context: typer.Context,
    logs: Annotated[
        list[str],
        typer.Argument(
            autocompletion=completion.logs,
            help="Logs and tables (JSONL, CSV, TSV, XLSX, Parquet), or 'slm7'. Several logs are compared; "
            "a glob in quotes is one log.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--output", "-o", callback=checked_page, help="The HTML file to write.")
    ] = Path("report.html"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the page if it exists.")] = False,
    names: Annotated[
        list[str] | None, typer.Option("--name", help="Name of a log; give it once per log.")
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            "-r",
            autocompletion=completion.rules,
            help="A rule, e.g. 'fixed:2' or 'supermajority:0.8'; repeatable.",
        ),
    ] = None,
    prices: Prices = None,
    model: PricedAs = None,
    role_model: RoleModels = None,
    output_share: OutputShare = None,
    transcripts: Annotated[
        int, typer.Option("--transcripts", help="Number of disputed debates to show.")
    ] = 5,
    missing: Missing = "exclude",
    level: Level = 0.95,
    n_boot: Annotated[
        int | None,
        typer.Option("--n-boot", help="Bootstrap draws; default: 500; they are for rounds."),
    ] = None,
    roles: Roles = None,
    missing_values: MissingValues = None,
    columns: Columns = None,
    encoding: Encoding = None,
    sheet: SheetName = None,
    read: ReadAs = None,
    seed: Seed = 0,
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
    from d3stats.report.analysis import report
    from d3stats.report.sections import PROBLEMS

    if out.exists() and not overwrite:
        raise ValueError(f"--output must not exist, or be given with --overwrite; got {str(out)!r}")
    by_role = models_by_role(prices, model, role_model, output_share)
    with working("analysing"):
        found = report(
            *logs,
            names=names,
            rules=rules,
            prices=prices,
            model=model,
            role_models=by_role,
            output_share=output_share,
            roles=roles,
            missing=missing,  # type: ignore[arg-type]  # checked by the library, in its words
            level=level,
            n_boot=n_boot,
            transcripts=transcripts,
            rng=seed,
            command=command_of(context),
            **reading(missing_values, columns, encoding, read, sheet),
        )
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
    if any(map(_plannable, replayed)):
        more = [*read_as(context), *(word for role in roles or () for word in ("--role", role))]
        titles = {
            title for section in found.sections for part in section.parts for (title, *_), _ in part.tables
        }
        more += ["--lenient"] if PROBLEMS in titles else []
        planned = shlex.join(["d3stats", "plan", *([logs[0]] if len(logs) == 1 else ["LOG"]), *more])
    else:
        planned = None
    gate = found.gate()
    if as_json:
        print_json(
            {
                "headline": found.headline,
                "page": str(out),
                "bytes": out.stat().st_size,
                "logs": list(found.logs),
                "sections": [section.title for section in found.sections],
                "warnings": list(found.warnings),
                "notes": list(found.notes),
                "next": planned if len(logs) == 1 else None,
                **({"gate": gate.to_dict()} if gated else {}),
            }
        )
        if gated:
            leave(gate)
        return
    print_answer(found._answer())
    print_text(f"{out}: {size:z.1f} MB, {sections} on {' and '.join(found.logs)}; open it in a browser.")
    print_notes(found.warnings)
    print_some_notes(found.notes, everything=everything)
    if planned is not None:
        print_text(f"Next: {planned} names a rule for the next debates.")
    elif replayed:
        print_text(
            "Next: run debates with poll=every_round, which have the votes after every round that d3stats plan needs; "
            "rules that read scores are priced here."
        )
    if gated:
        print_text(f"{gate}.")
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
