"""Pages of the documentation that are made from the code, so that they cannot fall behind it.

`write(folder)` makes one Markdown page each for the claims of a work, the items of a paper, the command line, the
stopping rules and the protocols, one table of the defects that a log can have, and the BibTeX entry of d3stats.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Sequence
from enum import EnumType
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

__all__ = ["names", "protocols", "write"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; a bar within a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def defects() -> str:
    """Return the kinds of defects of a log, with what to do about each."""
    from d3stats.log.problems import KINDS

    rows = [(name, kind.meaning, kind.leniently, kind.advice) for name, kind in KINDS.items()]
    return table(["defect", "what it means", "a lenient reader", "what to do"], rows) + "\n"


def rules() -> str:
    """Return the stopping rules: what each looks at, what it guarantees, where it is from."""
    import inspect

    from d3stats.stopping import StoppingRule
    from d3stats.stopping.text import rule_names

    rows = [
        (f"`{name}`", rule.statistic, rule.guarantee, rule.citation)
        for name, rule in rule_names().items()
        if inspect.isclass(rule) and issubclass(rule, StoppingRule)
    ]
    return table(["rule", "looks at", "guarantees", "source"], rows) + "\n"


def protocols() -> str:
    """Return the debate protocols, with what each judges and where it is from."""
    from d3stats.protocols import protocols as known

    judged = {True: "two answers", False: "its own answer to a question", None: "either"}
    rows = [
        (f"`{name}`", (kind.__doc__ or "").split("\n")[0].rstrip("."), judged[kind.candidates], kind.citation)
        for name, kind in known().items()
    ]
    return table(["protocol", "who speaks", "decides on", "source"], rows) + "\n"


def claims() -> dict[str, str]:
    """Return one page for each work, by file name: its claims with formulas, verdicts and counterexamples."""
    from d3stats.theory import claims as known
    from d3stats.theory import page
    from d3stats.theory.claim import HERE, WORKS, position_of_work, short_name

    pages: dict[str, str] = {}
    index = [
        "# Claims",
        "",
        "Each statement of a paper that d3stats checks, by source. `d3stats theorems NAME` prints one; ",
    ]
    index[-1] += "{doc}`/methods/theorems` says how a claim is checked."
    index += [
        "",
        "*Holds under*: false as stated, and true with a condition that the page of the claim adds.",
    ]
    entries = sorted(known().values(), key=lambda claim: position_of_work(claim.source.work))
    toctree = []
    for work in (*WORKS, None):
        own = (
            [c for c in entries if c.source.work == work]
            if work
            else [c for c in entries if c.source.work not in WORKS]
        )
        if not own:
            continue
        title = short_name(work) if work else "other works"
        name = "claims_" + re.sub(r"\W+", "_", title.lower())
        head = title if work == HERE else title[0].upper() + title[1:]
        toctree.append(f"{head} <{name}>")
        rows = [(f"[{c.title}]({name}.md#{c.name})", c.status, f"`{c.name}`") for c in own]
        index += ["", f"## {head}", "", table(["claim", "verdict", "name"], rows)]
        pages[name] = f"# Claims: {head}\n\n" + "\n".join(
            _claim(page(c.name).to_markdown(), c.name) for c in own
        )
    index += ["", "```{toctree}", ":hidden:", "", *toctree, "```", ""]
    return {"claims": "\n".join(index), **pages}


def _claim(text: str, name: str) -> str:
    """Return a claim's own page as a section: smaller headings, its formula typeset."""
    text = re.sub(
        rf"^# {re.escape(name)}: (.*)$", lambda m: f"({name})=\n## {m[1]}", text, flags=re.MULTILINE
    )
    lines, first = [], True
    for line in text.split("\n"):
        if line.startswith("## ") and not first:
            line = f"**{line[3:]}**"
        elif line.startswith("## "):
            first = False
            line += f"\n\nName: `{name}`"
        lines.append(line)
    linked = re.sub(r"^- ([a-z0-9-]+): ", r"- {ref}`\1 <\1>`: ", "\n".join(lines), flags=re.MULTILINE)
    return re.sub(r"```latex\n(.*?)\n```", r"$$\n\1\n$$", linked, flags=re.DOTALL)


def command_line() -> str:
    """Return the reference of the program's commands and options, from the program itself."""
    import typer

    from d3stats.cli.app import app

    group: Any = typer.main.get_command(app)
    lines = ["# Command line", "", "Every command and option. `d3stats COMMAND --help` prints the same."]
    for name, command in group.commands.items():
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option"]
        usage = " ".join(
            ["d3stats", name, *(_metavar(p) for p in arguments), *(["[OPTIONS]"] if options else [])]
        )
        lines += ["", f"## {name}", "", (command.help or "").strip(), "", "```text", usage, "```"]
        rows = [(f"`{_metavar(p)}`", _said(p)) for p in arguments]
        rows += [(", ".join(f"`{o}`" for o in [*p.opts, *p.secondary_opts]), _said(p)) for p in options]
        if rows:
            lines += ["", table(["argument or option", "meaning"], rows)]
    return "\n".join([*lines, ""])


def _metavar(parameter: Any) -> str:
    name = parameter.metavar or (parameter.name or "").upper()
    return f"{name}{'...' if parameter.nargs == -1 else ''}"


def _said(parameter: Any) -> str:
    said = (parameter.help or "").strip()
    kind = getattr(parameter, "bare_type", None)
    choices = [member.value for member in kind] if isinstance(kind, EnumType) else list(typing.get_args(kind))
    if choices and all(isinstance(choice, str) for choice in choices):
        said += f" One of {', '.join(f'`{choice}`' for choice in choices)}."
    default = parameter.default
    if not parameter.required and default not in (None, False, (), []) and not callable(default):
        said += f" Default: `{getattr(default, 'value', default)}`."
    return said.replace("\n", " ")


def studies(root: Path) -> dict[str, str]:
    """Return the findings of every study as a page, with its pictures; links to files name the file instead."""
    pages = {}
    for findings in sorted([*root.glob("simulations/*/findings.md"), *root.glob("analysis/*/findings.md")]):
        text = findings.read_text(encoding="utf-8")
        # The page is in docs/made, two folders below the root, as the findings are.
        text = re.sub(r"(?<!!)\[([^\]]*)\]\((?![a-z]+://)([^)#]+)\)", r"\1 (`\2`)", text)
        folder = findings.parent.relative_to(root)
        note = f"\n\nThe script and the settings are in `{folder}`.\n"
        pages["_".join(folder.parts)] = text.rstrip() + note
    return pages


def _figures() -> Any:
    """Return the module that knows the figures of the repository."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("gallery", ROOT / "figures" / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def gallery() -> str:
    """Return the page of all figures with their captions and data."""
    text: str = _figures().gallery("../../figures")
    return text


def figure_widths() -> dict[str, int]:
    """Return the width on a page of every figure, in pixels, by its name."""
    figures = _figures()
    found = sorted([*(ROOT / "figures").glob("*.png"), *ROOT.glob("analysis/*/figures/*.png")])
    return {path.stem: figures.width(path.stem, path.parent) for path in found}


def bibtex(cff: str) -> str:
    """Return the BibTeX entry that a CITATION.cff file describes."""
    import yaml

    said = yaml.load(cff, Loader=yaml.BaseLoader)  # every value as text: a version is no number
    authors = [
        f"{who['family-names']}, {who['given-names']}" if "family-names" in who else f"{{{who['name']}}}"
        for who in said["authors"]
    ]
    fields = {
        "author": " and ".join(authors),
        "title": said["title"],
        "version": said.get("version"),
        "year": said.get("date-released", "")[:4],
        "doi": said.get("doi"),
        "url": said.get("url") or said.get("repository-code"),
    }
    key = re.sub(r"\W+", "_", said["title"].split(":")[0].lower())
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@software{{{key},", *lines, "}"])


def citation() -> str:
    """Return the BibTeX entry of d3stats as a block of code, from CITATION.cff."""
    return f"```bibtex\n{bibtex((ROOT / 'CITATION.cff').read_text(encoding='utf-8'))}\n```\n"


def papers() -> dict[str, str]:
    """Return the pages of the papers' items."""
    from _papers import pages as made

    return made()


def pages() -> dict[str, str]:
    """Return every page by its name, without an ending."""
    made = {"defects": defects(), "rules": rules(), "protocols": protocols(), "command_line": command_line()}
    made |= {"citation": citation(), "gallery": gallery()}
    return {**made, **claims(), **papers(), **studies(ROOT)}


def names() -> set[str]:
    """Return the names of all pages."""
    return {*pages(), *(path.stem for path in ROOT.glob("notebooks/*.py"))}


def write(folder: Path) -> None:
    """Write all pages to a folder; a page that has not changed keeps its time, so that it is not built again.

    Notebooks are written without their output: the build executes them.
    """
    import jupytext

    texts = {f"{name}.md": text for name, text in pages().items()}
    for path in sorted(ROOT.glob("notebooks/*.py")):
        texts[f"{path.stem}.ipynb"] = jupytext.writes(jupytext.read(path), "ipynb")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
