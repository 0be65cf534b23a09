"""How the documentation is built: `make docs`, warnings are errors."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from numpydoc.xref import DEFAULT_LINKS

import d3stats

sys.path.insert(0, str(Path(__file__).parent))

import _api

project = "d3stats"
author = "the d3stats authors"
copyright = author
version = release = d3stats.__version__

extensions = [
    "sphinx.ext.autodoc",
    "myst_nb",
    "numpydoc",
]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
# This one asks a small language model (`make test-live` installs it); without one it is shown as it is.
served = Path(__file__).parents[1] / ".venv-live" / "bin" / "python"
if not (os.environ.get("D3STATS_SMALL_MODEL") or served.exists()):
    nb_execution_excludepatterns = ["made/debate_a_local_server.ipynb"]
html_math_renderer = "mathml"
# Parts that other pages include.
exclude_patterns = ["_build", *(f"made/{name}.md" for name in ("citation", "defects", "protocols", "rules"))]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3

# A reference that leads nowhere is a warning, hence an error.
nitpicky = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
# The pages list the members; a second list by numpydoc would document each of them twice.
numpydoc_show_class_members = False
# In the types of parameters the package's own classes are links, and nothing else is.
DEFAULT_LINKS.clear()
numpydoc_xref_param_type = True
numpydoc_xref_aliases = _api.short_names()
numpydoc_xref_ignore = "all"

html_theme = "pydata_sphinx_theme"
html_title = "d3stats"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["d3stats.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "collapse_navigation": True,
    # The page of a function has no sections to list, and its code needs the width.
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        **{f"api/generated/{each.page}": [] for each in _api.names() if each.kind == "function"},
    },
}
html_sidebars = {
    page: []
    for page in (
        "install",
        "log_format",
        "changelog",
        "quick_start",
        "concepts",
        "glossary",
        "notebooks",
        "neighbours",
        "citation",
        "made/command_line",
        "made/gallery",
        *(f"made/{path.stem}" for path in Path(__file__).parents[1].glob("notebooks/*.py")),
    )
}


def _write_pages(app: Any) -> None:
    """Make the pages that come from the code: the reference, claims, commands, rules, protocols, defects."""
    import _pages

    _pages.write(Path(__file__).parent / "made")
    _api.write(Path(__file__).parent / "api" / "generated")


def _documented(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Resolve a reference to a name by another path than the one under which it is documented."""
    if node.get("refdomain") != "py":
        return None

    target = _api.documented(node["reftarget"], node.get("py:module"), Path(node["refdoc"]).name)
    if target is None:
        return None
    return env.domains["py"].resolve_xref(env, node["refdoc"], app.builder, "obj", target, node, content)


def _public_bases(app: Any, name: str, obj: Any, options: Any, bases: list[Any]) -> None:
    """Name only those bases of a class that a reader can look up."""
    bases[:] = filter(_api.is_shown, bases)


def _imports_of_examples(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let every example begin with the imports that it needs, so that it runs when it is pasted."""
    lines[:] = _api.with_imports(lines, _api.home_of(obj))


def _mathml(formula: str, display: str) -> str:
    """Return a formula as MathML.

    The converter leaves the backslash of an escaped sign within a text, and browsers do not stretch a bracket of fixed
    size that has an exponent: brackets grow with what they hold instead.
    """
    import re

    from latex2mathml.converter import convert

    plain = re.sub(r"\\text\{[^}]*\}", lambda text: re.sub(r"\\([_%&#])", r"\1", text[0]), formula)
    plain = re.sub(r"\\[bB]igg?l(?![a-z])", r"\\left", plain)
    plain = re.sub(r"\\[bB]igg?r(?![a-z])", r"\\right", plain)
    return str(convert(plain, display=display))


def _inline_math(writer: Any, node: Any) -> None:
    from docutils.nodes import SkipNode

    formula = _mathml(node.astext(), "inline")
    long = len(node.astext()) > 40  # wider than a telephone: it scrolls by itself
    writer.body.append(f'<span class="long-formula">{formula}</span>' if long else formula)
    raise SkipNode


def _block_math(writer: Any, node: Any) -> None:
    from docutils.nodes import SkipNode

    writer.body.append(f'<div class="math">{_mathml(node.astext(), "block")}</div>')
    raise SkipNode


def _mark_long_code(app: Any, doctree: Any, name: str) -> None:
    """Mark code in a sentence with a word that is longer than a line on a telephone, for the style sheet."""
    from docutils.nodes import literal

    for node in doctree.findall(literal):
        if max(map(len, node.astext().split()), default=0) > 32:
            node["classes"].append("long-code")


def _size_figures(app: Any, doctree: Any, name: str) -> None:
    """Show every figure in the gallery's scale; a picture with a width links to its file, where it can be enlarged."""
    from _pages import figure_widths
    from docutils.nodes import image

    widths = figure_widths()
    for node in doctree.findall(image):
        path = Path(node["uri"])
        if path.parent.name == "figures" and "width" not in node:
            node["width"] = f"{widths[path.stem]}px"


def _console() -> Any:
    """Return a lexer for terminal sessions in which only ``$ `` is a prompt: a line of output may begin with a %."""
    import re

    from pygments.lexers.shell import BashSessionLexer

    class Session(BashSessionLexer):
        _ps1rgx = re.compile(r"^(\$ )(.*\n?)")

    return Session


def _formulas_of_outputs(app: Any, doctree: Any, page: str) -> None:
    """Write formulas in the HTML that a notebook's cell shows as MathML, too."""
    import html
    import re

    from docutils import nodes

    def mathml(found: Any) -> str:
        return f'<div class="math">{_mathml(html.unescape(found[1]), "block")}</div>'

    for node in doctree.findall(nodes.raw):
        text = node.astext()
        if "html" in node.get("format", "") and "\\[" in text:
            node.children = [nodes.Text(re.sub(r"\\\[(.*?)\\\]", mathml, text, flags=re.DOTALL))]


def label_cells(body: str) -> str:
    """Return a page whose tables of three columns or more name the column in each cell.

    On a narrow screen the style sheet shows a row of such a table as a list of values with these names.
    """
    import html
    import re

    def labelled(table: re.Match[str]) -> str:
        head, _, rest = table[0].partition("</thead>")
        names = [
            re.sub(r"<[^>]+>", "", cell).strip()
            for cell in re.findall(r"<th\b[^>]*>(.*?)</th>", head, re.DOTALL)
        ]
        if not rest or len(names) < 3 or re.search(r"(?:row|col)span|<table", table[0][6:]):
            return table[0]

        def row(found: re.Match[str]) -> str:
            cells = iter(names)
            return re.sub(
                r"<(t[dh])\b",
                lambda cell: f'<{cell[1]} data-label="{html.escape(html.unescape(next(cells, "")))}"',
                found[0],
            )

        rest = re.sub(r"<tr\b.*?</tr>", row, rest, flags=re.DOTALL)
        head = re.sub(r'^<table class="', '<table class="stacked ', head)
        return f"{head}</thead>{rest}"

    return re.sub(r'<table class="(?!names)[^"]*".*?</table>', labelled, body, flags=re.DOTALL)


def _label_cells(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if "<thead" in context.get("body", ""):
        context["body"] = label_cells(context["body"])


def _to_made_pages(app: Any, docname: str, source: list[str]) -> None:
    """Lead the links to a study's findings and to a notebook to their pages; in a checkout they lead to the files."""
    if docname.startswith("made/"):
        return
    up = "../" * docname.count("/")
    study, notebook = r"(?:\.\./)+(simulations|analysis)/(\w+)/findings\.md", r"(?:\.\./)+notebooks/(\w+)\.py"
    source[0] = re.sub(rf"\]\({study}", rf"]({up}made/\1_\2.md", source[0])
    source[0] = re.sub(rf"\]\({notebook}", rf"]({up}made/\1.ipynb", source[0])


def setup(app: Any) -> None:
    """Hook the made pages into the build, and write formulas as MathML, which browsers show without any script."""
    app.add_lexer("console", _console())
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _to_made_pages)
    app.connect("doctree-resolved", _formulas_of_outputs)
    app.connect("doctree-resolved", _mark_long_code)
    app.connect("doctree-resolved", _size_figures)
    app.connect("html-page-context", _label_cells)
    app.connect("missing-reference", _documented)
    app.connect("autodoc-process-bases", _public_bases)
    # Before numpydoc, which comes at 500, takes the docstring apart.
    app.connect("autodoc-process-docstring", _imports_of_examples, priority=400)
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
