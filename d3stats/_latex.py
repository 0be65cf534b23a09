"""Text and tables for LaTeX: everything escaped, rules by booktabs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from d3stats._words import visible

__all__ = ["booktabs", "escaped"]

_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\n": r"\\ ",
}


def escaped(text: str) -> str:
    r"""Return text in which no character means anything to LaTeX, nor acts or hides.

    Examples
    --------
    >>> print(escaped("P(T > t) is 95 % of q^2"))
    P(T \textgreater{} t) is 95 \% of q\textasciicircum{}2
    """
    return "".join(_SPECIAL.get(sign, sign) for sign in visible(text))


def booktabs(columns: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a tabular; cells are escaped, `columns` is LaTeX."""
    lines = [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", _row(head), "\\midrule"]
    return "\n".join([*lines, *map(_row, rows), "\\bottomrule", "\\end{tabular}"])


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"
