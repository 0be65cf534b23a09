"""All that is known about one claim on one page: as text, Markdown, LaTeX or data."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from d3stats._latex import booktabs, escaped
from d3stats.theory.catalogue import as_claim, claims
from d3stats.theory.claim import Claim
from d3stats.theory.record import recorded

__all__ = ["Page", "page", "standing"]

VERDICTS = {
    "holds": "holds",
    "holds under": "false as claimed; holds with what is missing",
    "refuted": "refuted",
}


@dataclass(frozen=True)
class Page:
    """A claim with its counterexample computed.

    Attributes
    ----------
    claim : Claim
    counterexample : str
        Empty for a claim that holds.
    quantities : mapping of str to float
        All numbers of the counterexample, computed now.
    margin : float or None
        Of the counterexample: negative, in the claim's units.
    replaces : tuple of str
        Names of the claims of which this is a correction.
    """

    claim: Claim
    counterexample: str
    quantities: Mapping[str, float]
    margin: float | None
    replaces: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
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
            "quantities": {name: _json(value) for name, value in self.quantities.items()},
            "margin": self.margin,
            "slack": claim.slack,
            "corrected": claim.corrected,
            "correction": list(claim.correction),
            "replaces": list(self.replaces),
            "proof": claim.proof,
            "record": None
            if record is None
            else {
                "examples": record.examples,
                "distinct": record.distinct,
                "least_margin": _json(record.least_margin),
                "seed": record.seed,
            },
        }

    def to_markdown(self) -> str:
        """Return the page as Markdown."""
        lines = [f"# {self.claim.name}: {_marked(self.claim.title)}", ""]
        for head, kind, content in self._sections():
            lines += [f"## {head}", ""]
            if kind == "text":
                lines += [_marked(str(content)), ""]
            elif kind == "formula":
                lines += ["```latex", str(content), "```", ""]
            elif kind == "list":
                lines += [*(f"- {_marked(entry)}" for entry in content), ""]
            else:
                lines += ["| quantity | value |", "|---|---:|"]
                lines += [f"| {_marked(name)} | {_number(value)} |" for name, value in content.items()]
                lines += [""]
        return "\n".join(lines)

    def to_text(self, width: int = 100) -> str:
        """Return the page as plain text of at most `width` columns, formulas excepted."""
        lines = textwrap.wrap(f"{self.claim.name}: {self.claim.title}", width)
        for head, kind, content in self._sections():
            lines += ["", head]
            if kind == "text":
                lines += _wrapped(str(content), width, "  ", "  ")
            elif kind == "formula":
                lines.append(f"  {content}")
            elif kind == "list":
                for entry in content:
                    lines += _wrapped(entry, width, "  - ", "    ")
            else:
                wide = max(map(len, content))
                lines += [f"  {name:<{wide}}  {_number(value)}" for name, value in content.items()]
        return "\n".join(lines)

    def to_latex(self) -> str:
        """Return the page as LaTeX: needs amsmath and booktabs."""
        name, title = escaped(self.claim.name), escaped(self.claim.title)
        lines = [f"\\subsection*{{{title} (\\texttt{{{name}}})}}"]
        for head, kind, content in self._sections():
            lines += ["", f"\\paragraph{{{head}}}"]
            if kind == "text":
                lines.append(escaped(str(content)))
            elif kind == "formula":
                lines += ["\\[", f"  {content}", "\\]"]
            elif kind == "list":
                lines += ["\\begin{itemize}", *(f"  \\item {escaped(e)}" for e in content), "\\end{itemize}"]
            else:
                rows = [(name, _number(value)) for name, value in content.items()]
                lines += ["", booktabs("lr", ("quantity", "value"), rows)]
        return "\n".join(lines)

    def _sections(self) -> Iterator[tuple[str, str, Any]]:
        claim = self.claim
        survived = "" if claim.status == "refuted" else f"; {_survived(claim)}"
        yield "Verdict", "text", VERDICTS[claim.status] + survived
        yield "Source", "text", str(claim.source)
        yield "Claim", "text", claim.statement
        yield "Formula", "formula", claim.latex
        if claim.assumptions:
            yield "Assumptions", "list", [a.words for a in claim.assumptions]
        if claim.missing:
            yield "Missing", "list", [a.words for a in claim.missing]
        if self.counterexample:
            yield "Counterexample", "text", self.counterexample
            yield "Its numbers", "numbers", {**self.quantities, "margin (claimed >= 0)": self.margin}
        if claim.corrected:
            yield "Instead", "text", claim.corrected
        if claim.correction:
            yield "See", "list", [_link(name) for name in claim.correction]
        if self.replaces:
            yield "Replaces", "list", [_link(name) for name in self.replaces]
        if claim.proof:
            yield ("Where the proof breaks" if claim.status == "refuted" else "Proof"), "text", claim.proof


def page(claim: str | Claim) -> Page:
    """Return the page of a claim; the numbers of its counterexample are computed now.

    Raises
    ------
    KeyError
        For a name that no claim has.

    Examples
    --------
    >>> page("sign-agreement").to_text(80).splitlines()[0]
    'sign-agreement: Accuracy and length of the sign-agreement stop'
    """
    claim = as_claim(claim)
    replaces = tuple(other.name for other in claims().values() if claim.name in other.correction)
    example = claim.counterexample
    if example is None:
        return Page(claim, "", {}, None, replaces)
    return Page(claim, str(example), dict(claim.quantities(example)), float(claim.margin(example)), replaces)


def standing(claim: Claim) -> str:
    """Say in a few words what a claim's status rests on: its counterexample, or the examples on record.

    Examples
    --------
    >>> from d3stats.theory import claims
    >>> standing(next(c for c in claims().values() if c.status == "refuted")).startswith("fails on ")
    True
    """
    if claim.status == "holds":
        return _survived(claim)
    fails = f"fails on {claim.counterexample}"
    return f"{fails}; else {_survived(claim)}" if claim.status == "holds under" else fails


def _survived(claim: Claim) -> str:
    record = recorded(claim.name)
    return "not yet recorded" if record is None else f"{record.examples:,} examples survived"


def _link(name: str) -> str:
    other = claims().get(name)
    return name if other is None else f"{name}: {other.title} ({other.status})"


def _wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    lines: list[str] = []
    for i, paragraph in enumerate(text.splitlines()):
        start = rest if i else first
        lines += textwrap.wrap(
            paragraph, width, initial_indent=start, subsequent_indent=rest, break_on_hyphens=False
        )
    return lines


def _marked(text: str) -> str:
    # A star or a bracket of a formula is no mark-up.
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", text)


def _number(value: float) -> str:
    return f"{value:.7g}"


def _json(value: float) -> float | str:
    # JSON has no infinities, and a quantity that does not exist is said to be nan.
    number = float(value)
    return number if abs(number) < float("inf") else repr(number)
