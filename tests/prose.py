"""Text that users read, cut into blocks and sentences: Markdown, docstrings, and the strings of the code."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from markdown_it import MarkdownIt
from parsed import on_lines, tree_of

__all__ = ["Block", "of_code", "of_markdown", "of_notebook", "sentences", "words"]


Kind = Literal["heading", "summary", "text", "entry", "cell"]


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, the first paragraph of a docstring, another paragraph, the entry of a parameter, or a cell of a table.

    `line` is the line of the file that the text starts in.
    """

    path: Path
    line: int
    kind: Kind
    text: str


# Markdown: the parser that rich brings along.

PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def of_markdown(path: Path, text: str, first_line: int = 1) -> Iterator[Block]:
    """Yield the headings, paragraphs, list items and cells of a page, but no code."""
    above: str = ""
    line = first_line
    for token in PARSER.parse(COMMENT.sub(lambda m: "\n" * m[0].count("\n"), text)):
        if token.map:
            line = first_line + token.map[0]
        if token.type == "inline":
            kind: Kind = (
                "heading"
                if above == "heading_open"
                else "cell"
                if above in {"td_open", "th_open"}
                else "text"
            )
            for part in re.split(r"\$\$.*?\$\$", token.content, flags=re.DOTALL):
                if part.strip() and not re.match(r"\(?[\w-]+\)=$", part.strip()):
                    yield Block(path, line, kind, part.strip())
        above = token.type


def of_notebook(path: Path, text: str) -> Iterator[Block]:
    """Yield the blocks of the Markdown cells of a notebook in jupytext's percent format."""
    for cell in re.finditer(r"^# %% \[markdown\]\n((?:#.*\n?)*)", text, flags=re.MULTILINE):
        lines = [line.removeprefix("#").removeprefix(" ") for line in cell[1].splitlines()]
        yield from of_markdown(path, "\n".join(lines), text[: cell.start(1)].count("\n") + 1)


# Python: docstrings of public names, and every string that reads like a sentence.

LISTS = {
    "Parameters",
    "Returns",
    "Yields",
    "Raises",
    "Attributes",
    "Other Parameters",
    "Warns",
    "Methods",
    "See Also",
}
SKIPPED = {"References", "Examples"}
ITEM = re.compile(r"(?:[-*•]|\d+[.)])\s+")
BORDER = re.compile(r"=+(?: +=+)+")  # of a simple table


def of_docstring(path: Path, text: str, first_line: int) -> Iterator[Block]:
    """Yield the paragraphs and list items of a numpydoc docstring, without examples, formulas and signatures."""
    lines = inspect.cleandoc(text).split("\n")
    section = ""
    held: list[str] = []
    kind: Kind = "text"
    start = first_line
    indent_of_code: int | None = None
    in_example = False
    in_table = False
    for number, line in enumerate([*lines, ""], start=0):
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if indent_of_code is not None and (not bare or indent > indent_of_code):
            continue
        indent_of_code = None
        in_example = bool(bare) and (in_example or bare.startswith(">>>"))
        in_table = bool(bare) and (in_table or bool(BORDER.fullmatch(bare)))
        if in_table:
            for cell in re.split(r" {2,}", bare):
                if set(cell) - {"="}:
                    yield Block(path, first_line + number, "cell", cell)
            continue
        heads = bool(bare) and set(following) == {"-"} and len(following) >= 3
        signature = section in LISTS and indent == 0 and bool(bare)
        if (
            not bare
            or in_example
            or heads
            or signature
            or set(bare) <= set("-=")
            or ITEM.match(bare)
            or bare[:2] == ".."
        ):
            if held:
                yield Block(path, start, "summary" if start == first_line else kind, " ".join(held))
            held = []
        kind = "entry" if section in LISTS else "text"
        if heads:
            section = bare
        elif (bare.startswith("..") and "::" in bare) or bare.startswith(".. ["):
            indent_of_code = indent
        elif (
            bare
            and not in_example
            and not signature
            and not set(bare) <= set("-=")
            and section != "References"
        ):
            if not held:
                start = first_line + number
            held.append(ITEM.sub("", bare, count=1) if ITEM.match(bare) else bare)
            if bare.endswith("::"):
                indent_of_code = indent


def joined(node: ast.expr) -> str | None:
    """Return the text of a string, an f-string (with … for its values) or a sum of strings, else None."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = joined(node.left), joined(node.right)
        return None if left is None and right is None else f"{left or '…'}{right or '…'}"
    return None


def is_public(node: ast.stmt) -> bool:
    """Return whether a statement gives a value to a public name."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return all(isinstance(name, ast.Name) and not name.id.startswith("_") for name in targets)


FOREIGN = re.compile(
    r"\b(SELECT|CREATE|COPY|FROM|WHERE|CAST)\b|\\\w|\(\?|^[\w./:{}-]+$|<\w+[ >]|[{;]\s*$|\w=\w+,\w+="
)


QUOTE = re.compile("['\"]")
LEAVES = (ast.Name, ast.expr_context, ast.operator, ast.cmpop, ast.unaryop, ast.boolop, ast.alias, ast.Pass)


def of_code(path: Path, text: str, *, strings: bool = True) -> Iterator[Block]:
    """Yield the docstrings of a module and its public names and attributes, and other strings of four words or more."""
    quoted = on_lines(text, QUOTE)
    stack: list[tuple[ast.AST, bool]] = [(tree_of(text), True)]
    while stack:
        node, public = stack.pop()
        if not quoted(node):
            continue
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if not isinstance(node, ast.Module):
                public = public and (not node.name.startswith("_"))
            body = node.body
            if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
                if public and isinstance(body[0].value.value, str):
                    yield from of_docstring(path, body[0].value.value, body[0].lineno)
                body = body[1:]
            if public and isinstance(node, ast.Module | ast.ClassDef):
                for above, below in pairwise(body):
                    if is_public(above) and isinstance(below, ast.Expr) and (said := joined(below.value)):
                        yield from of_docstring(path, said, below.lineno)
            rest = [
                *body,
                *getattr(node, "decorator_list", []),
                *([node.args] if hasattr(node, "args") else []),
            ]
            stack += [(child, public) for child in rest]
            continue
        if isinstance(node, ast.expr) and (found := joined(node)) is not None:
            if strings and len(words(found)) >= 4 and not FOREIGN.search(found):
                for part in found.split("\n\n"):
                    yield Block(path, node.lineno, "text", " ".join(part.split()))
            if isinstance(node, ast.Constant):
                continue
            inner = [n for n in ast.walk(node) if isinstance(n, ast.FormattedValue)]
            stack += [(value.value, public) for value in inner]
            stack += [(n, public) for n in ast.walk(node) if isinstance(n, ast.Call | ast.IfExp)]
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring of an attribute, read above
        stack += [(child, public) for child in ast.iter_child_nodes(node) if not isinstance(child, LEAVES)]


# Sentences and words.

CODE = re.compile(r"`{1,2}[^`]+`{1,2}(?:__?)?")
ROLE = re.compile(r"(?:\{\w+\}|:[\w:]+:)(?=`)")
MATH = re.compile(r"\$[^$\n]+\$")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
FOOTNOTE = re.compile(r"\s?\[\d+\]_|\[\^\w+\]")
PARENTHESIS_OF_NUMBERS = re.compile(r"\[[-−+\d., …%$]*\]")
ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|cf|al|Fig|fig|Eq|eq|Eqs|eqs|Sec|sec|pp|p|no|No|Dr|St|ch|app|App|Tab|tab|approx|resp|ed|vol|sd|[A-Z])\.(?=\s)"
)
END = re.compile(r"(?<=[.!?…])[\"”')\]*_]*\s+(?=[\"“'(\[*_]*[A-Z0-9§…])")


def plain(text: str) -> str:
    """Return a text with one word for each code span and formula, and without marks of emphasis and links."""
    text = ROLE.sub("", text)
    text = CODE.sub("§", text)
    text = MATH.sub("§", text)
    text = LINK.sub(r"\1", text)
    text = FOOTNOTE.sub("", text)
    text = PARENTHESIS_OF_NUMBERS.sub("§", text)
    text = re.sub(r"</?[A-Za-z!][^<>]*>", " ", text)
    return " ".join(re.sub(r"\*\*?|(?<!\w)_|_(?!\w)", "", text).split())


def sentences(text: str) -> list[str]:
    """Cut a paragraph into its sentences."""
    text = ABBREVIATION.sub(lambda m: m[0][:-1] + "․", plain(text))
    return [part.replace("․", ".").strip() for part in END.split(text) if part.strip()]


def words(sentence: str) -> list[str]:
    """Return the words of a sentence: what holds a letter, a code span or a formula, but no number."""
    return re.findall(r"[^\W\d_][\w'’.-]*|§|\d[\w.,%]*[^\W\d_]\w*", sentence)
