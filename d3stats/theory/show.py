"""One claim as a page, and all claims as a table: text, Markdown, LaTeX, HTML and data."""

from __future__ import annotations

import html
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from d3stats._latex import booktabs, escaped
from d3stats.result import Result
from d3stats.theory.check import json_ready, recorded
from d3stats.theory.claim import Claim, as_claim, claims, short_name

__all__ = ["Contents", "Page", "contents", "evidence", "page"]

_VERDICTS = {
    "holds": "holds",
    "holds under": "false as claimed; holds with what is missing",
    "refuted": "refuted",
}
_RECORD = ("examples", "distinct", "least_margin", "seed")


@dataclass(frozen=True)
class Page(Result):
    """A claim with its verdict, assumptions, correction, and the numbers of its counterexample.

    Attributes
    ----------
    claim : Claim
    counterexample : str
        Empty for a claim that holds.
    quantities : mapping of str to float
        All numbers of the counterexample.
    margin : float or None
        Margin of the counterexample: negative, in the claim's units.
    replaces : tuple of str
        Names of the claims of which this is a correction.

    Examples
    --------
    >>> shown = page("sign-agreement")
    >>> shown.claim.status, shown.to_markdown().splitlines()[0]
    ('holds', '# sign-agreement: Accuracy and length of the sign-agreement stop')
    >>> shown.to_text(80).splitlines()[0]
    'sign-agreement: Accuracy and length of the sign-agreement stop: holds.'
    >>> shown.to_dict()["name"]
    'sign-agreement'
    """

    claim: Claim
    counterexample: str
    quantities: Mapping[str, float]
    margin: float | None
    replaces: tuple[str, ...]

    def _document(self) -> dict[str, Any]:
        """Return the page as JSON-ready values."""
        claim, record = self.claim, recorded(self.claim.name)
        return {
            "name": claim.name,
            "title": claim.title,
            "source": {"work": claim.source.work, "place": claim.source.place},
            "statement": claim.statement,
            "latex": claim.latex,
            "assumptions": [a.words for a in claim.assumptions],
            "status": claim.status,
            "missing": [a.words for a in claim.missing],
            "counterexample": self.counterexample or None,
            "quantities": {name: json_ready(float(value)) for name, value in self.quantities.items()},
            "margin": self.margin,
            "slack": claim.slack,
            "corrected": claim.corrected,
            "correction": list(claim.correction),
            "replaces": list(self.replaces),
            "proof": claim.proof,
            "record": record and {name: json_ready(getattr(record, name)) for name in _RECORD},
        }

    def to_markdown(self) -> str:
        """Return the page as Markdown."""
        lines = self._written(
            head=lambda title: [f"## {title}", ""],
            text=lambda text: [_markdown(text), ""],
            formula=lambda latex: ["```latex", latex, "```", ""],
            entries=lambda entries: [*(f"- {_markdown(entry)}" for entry in entries), ""],
            numbers=lambda rows: [
                "| quantity | value |",
                "|---|---:|",
                *(f"| {_markdown(name)} | {value} |" for name, value in rows),
                "",
            ],
        )
        return "\n".join([f"# {self.claim.name}: {_markdown(self.claim.title)}", "", *lines])

    def to_text(self, width: int = 100) -> str:
        """Return the page as plain text of at most `width` columns."""
        lines = self._written(
            head=lambda title: ["", title],
            text=lambda text: _wrap(text, width, "  ", "  "),
            formula=lambda latex: _wrap(latex, width, "  ", "    "),
            entries=lambda entries: [line for e in entries for line in _wrap(e, width, "  - ", "    ")],
            numbers=_aligned,
        )
        return "\n".join([*textwrap.wrap(self.headline, width), *lines])

    @property
    def headline(self) -> str:
        """The answer, what is claimed, and whether it holds."""
        return f"{self.claim.name}: {self.claim.title}: {_VERDICTS[self.claim.status]}."

    def summary(self) -> str:
        """Return the page as plain text, 100 columns wide."""
        return self.to_text()

    def _title(self) -> str:
        return f"{self.claim.name}: {self.claim.title}"

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"numbers": pd.DataFrame(list(self._numbers().items()), columns=["quantity", "value"])}

    def _numbers(self) -> dict[str, float]:
        return {} if self.margin is None else {**self.quantities, "margin (claimed >= 0)": self.margin}

    def to_latex(self, table: str | None = None, *, digits: int = 3) -> str:
        """Return the page as LaTeX, which needs amsmath and booktabs; with `table`, that table alone."""
        if table is not None:
            return super().to_latex(table, digits=digits)
        name, title = escaped(self.claim.name), escaped(self.claim.title)
        lines = self._written(
            head=lambda title: ["", f"\\paragraph{{{title}}}"],
            text=lambda text: [escaped(text)],
            formula=lambda latex: ["\\[", f"  {latex}", "\\]"],
            entries=lambda entries: [
                "\\begin{itemize}",
                *(f"  \\item {escaped(entry)}" for entry in entries),
                "\\end{itemize}",
            ],
            numbers=lambda rows: ["", booktabs("lr", ("quantity", "value"), rows)],
        )
        return "\n".join([f"\\subsection*{{{title} (\\texttt{{{name}}})}}", *lines])

    def _repr_html_(self) -> str:
        """Return the page as HTML, as a notebook shows it."""
        tell = html.escape
        lines = self._written(
            head=lambda title: [f"<h4>{title}</h4>"],
            text=lambda text: [f"<p>{tell(text)}</p>"],
            formula=lambda latex: [f"<p>\\[{tell(latex)}\\]</p>"],
            entries=lambda entries: ["<ul>", *(f"<li>{tell(entry)}</li>" for entry in entries), "</ul>"],
            numbers=lambda rows: [
                "<table>",
                *(f"<tr><td>{tell(name)}</td><td>{value}</td></tr>" for name, value in rows),
                "</table>",
            ],
        )
        return "\n".join([f"<h3>{tell(self._title())}</h3>", *lines])

    def _written(
        self,
        *,
        head: Callable[[str], list[str]],
        text: Callable[[str], list[str]],
        formula: Callable[[str], list[str]],
        entries: Callable[[list[str]], list[str]],
        numbers: Callable[[list[tuple[str, str]]], list[str]],
    ) -> Iterator[str]:
        """Yield the lines of every section, as one format writes them."""
        write: dict[str, Callable[[Any], list[str]]]
        write = {"text": text, "formula": formula, "list": entries, "numbers": numbers}
        for title, kind, content in self._sections():
            yield from head(title)
            yield from write[kind](content)

    def _sections(self) -> Iterator[tuple[str, str, Any]]:
        claim = self.claim
        survived = "" if claim.status == "refuted" else f"; {_examples_survived(claim)}"
        yield "Verdict", "text", _VERDICTS[claim.status] + survived
        yield "Source", "text", str(claim.source)
        yield "Claim", "text", claim.statement
        yield "Formula", "formula", claim.latex
        if claim.assumptions:
            yield "Assumptions", "list", [a.words for a in claim.assumptions]
        if claim.missing:
            yield "Missing", "list", [a.words for a in claim.missing]
        if self.counterexample:
            yield "Counterexample", "text", self.counterexample
            yield (
                "Its numbers",
                "numbers",
                [(name, f"{value:.7g}") for name, value in self._numbers().items()],
            )
        if claim.corrected:
            yield "Instead", "text", claim.corrected
        if claim.correction:
            yield "See", "list", [_title_of(name) for name in claim.correction]
        if self.replaces:
            yield "Replaces", "list", [_title_of(name) for name in self.replaces]
        if claim.proof:
            yield ("Where the proof breaks" if claim.status == "refuted" else "Proof"), "text", claim.proof


def page(claim: str | Claim) -> Page:
    """Return a claim's page, with the numbers of its counterexample computed again.

    The page prints as text, and has Markdown, LaTeX, HTML and a dictionary.

    Parameters
    ----------
    claim : Claim or str
        A claim, or the name of one.

    Returns
    -------
    Page

    Raises
    ------
    KeyError
        For a name that no claim has.

    Examples
    --------
    >>> page("sign-agreement").to_text(80).splitlines()[0]
    'sign-agreement: Accuracy and length of the sign-agreement stop: holds.'
    """
    claim = as_claim(claim)
    replaces = tuple(other.name for other in claims().values() if claim.name in other.correction)
    example = claim.counterexample
    if example is None:
        return Page(claim, "", {}, None, replaces)
    return Page(claim, str(example), dict(claim.quantities(example)), float(claim.margin(example)), replaces)


def evidence(claim: Claim) -> str:
    """Return a claim's counterexample, or how many examples on record it survived, in a few words.

    Examples
    --------
    >>> from d3stats.theory import claims
    >>> evidence(next(c for c in claims().values() if c.status == "refuted")).startswith("fails on ")
    True
    """
    if claim.status == "holds":
        return _examples_survived(claim)
    fails = f"fails on {claim.counterexample}"
    return f"{fails}; else {_examples_survived(claim)}" if claim.status == "holds under" else fails


@dataclass(frozen=True)
class Contents(Result):
    """All claims as a table: what is claimed, by whom, whether it is true, and how one can tell.

    Attributes
    ----------
    rows : tuple of tuple of str
        Claim, source, verdict and evidence of each claim, in the order of the catalogue; the evidence is the
        smallest counterexample known, or the examples on record.

    Examples
    --------
    >>> found = contents()
    >>> len(found.rows) > 20, found.to_frame().columns.tolist()[:3]
    (True, ['claim', 'source', 'verdict'])
    """

    rows: tuple[tuple[str, str, str, str], ...]

    @property
    def headline(self) -> str:
        """The answer, how many claims hold."""
        n = Counter(row[2] for row in self.rows)
        return (
            f"{len(self.rows)} claims: {n['holds']} hold, {n['holds under']} hold under a further condition, "
            f"{n['refuted']} are refuted."
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"claims": pd.DataFrame(list(self.rows), columns=["claim", "source", "verdict", "evidence"])}

    def _latex(self, digits: int) -> str:
        return booktabs("lllp{0.45\\linewidth}", list(self.to_frame().columns), self.rows)


def contents() -> Contents:
    """Return the table of all claims: one row each, with source, verdict and evidence.

    Returns
    -------
    Contents

    Examples
    --------
    >>> table = contents().to_frame().set_index("claim")
    >>> table.loc["sign-agreement", ["source", "verdict"]].tolist()
    ['d3stats', 'holds']
    """
    rows = (
        (name, short_name(entry.source.work), entry.status, evidence(entry))
        for name, entry in claims().items()
    )
    return Contents(tuple(rows))


def _examples_survived(claim: Claim) -> str:
    record = recorded(claim.name)
    return "not yet recorded" if record is None else f"{record.examples:,} examples survived"


def _title_of(name: str) -> str:
    other = claims().get(name)
    return name if other is None else f"{name}: {other.title} ({other.status})"


def _wrap(text: str, width: int, first: str, rest: str) -> list[str]:
    lines: list[str] = []
    for i, paragraph in enumerate(text.splitlines()):
        start = rest if i else first
        lines += textwrap.wrap(
            paragraph, width, initial_indent=start, subsequent_indent=rest, break_on_hyphens=False
        )
    return lines


def _markdown(text: str) -> str:
    # A star or a bracket of a formula is no mark-up.
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", text)


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    wide = max(len(name) for name, _ in rows)
    return [f"  {name:<{wide}}  {value}" for name, value in rows]
