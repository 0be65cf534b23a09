"""How the documentation is built: `make docs`, warnings are errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import d3stats

sys.path.insert(0, str(Path(__file__).parent))

project = "d3stats"
author = "the d3stats authors"
copyright = author
version = release = d3stats.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_nb",
    "numpydoc",
]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
html_math_renderer = "mathml"
exclude_patterns = ["_build", "made/defects.md", "made/rules.md", "made/protocols.md"]
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
html_static_path = ["_static"]
html_css_files = ["d3stats.css"]
html_show_sourcelink = False
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
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
        "moved",
        "made/command_line",
    )
}


def _write_pages(app: Any) -> None:
    """Make the pages that come from the code: claims, commands, rules, protocols, defects."""
    from _pages import write

    write(Path(__file__).parent / "made")


def _inline_math(writer: Any, node: Any) -> None:
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert

    writer.body.append(convert(node.astext()))
    raise SkipNode


def _block_math(writer: Any, node: Any) -> None:
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert

    writer.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def setup(app: Any) -> None:
    """Hook the made pages into the build, and write formulas as MathML, which browsers show without any script."""
    app.connect("builder-inited", _write_pages)
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
