"""How the documentation is built: `make docs`, warnings are errors."""

from __future__ import annotations

import d3stats

project = "d3stats"
author = "the d3stats authors"
copyright = author
version = release = d3stats.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "myst_parser",
    "numpydoc",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# The members are listed by autodoc; a second list by numpydoc would document each of them twice.
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "d3stats"
html_show_sourcelink = False
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_sidebars = {"install": [], "log_format": [], "changelog": []}


def _write_defects(app: object) -> None:
    """List the kinds of defects from the code, so that the page cannot fall behind it."""
    from pathlib import Path

    from d3stats.log.problems import KINDS

    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 20 35 25 20", ""]
    rows = [("defect", "what it means", "a lenient reader", "what to do")]
    rows += [(name, kind.meaning, kind.leniently, kind.advice) for name, kind in KINDS.items()]
    for row in rows:
        lines += [f"   {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(row)]
    target = Path(__file__).parent / "_build" / "defects.rst"
    target.parent.mkdir(exist_ok=True)
    text = "\n".join(lines) + "\n"
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def setup(app: object) -> None:
    """Hook the generated page into the build."""
    app.connect("builder-inited", _write_defects)  # type: ignore[attr-defined]
