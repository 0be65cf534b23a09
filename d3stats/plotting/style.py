"""The look of every figure, and how a figure reaches a file.

Matplotlib is imported inside the functions: importing this module costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ONE_COLUMN", "TWO_COLUMNS", "figure_stem", "save", "use_style"]

ONE_COLUMN = 3.3
"""Width of one journal column, in inches."""

TWO_COLUMNS = 6.9
"""Width of two journal columns, in inches."""


@contextmanager
def use_style() -> Iterator[None]:
    """Draw in the style of this package; the settings of before come back at the end.

    Colours are those of Okabe and Ito (2008), text is 8 pt, and PDF files embed TrueType fonts.

    Examples
    --------
    >>> import matplotlib
    >>> with use_style():
    ...     matplotlib.rcParams["font.size"]
    8.0
    """
    import matplotlib.style

    with as_file(files("d3stats.plotting") / "d3stats.mplstyle") as sheet:
        with matplotlib.style.context(sheet):
            yield
            # A notebook's backend, loaded by the first figure, turns this on; to undo it would hide the others.
            interactive = matplotlib.is_interactive()
        matplotlib.interactive(interactive)


def figure_stem(path: str | Path) -> Path:
    """Return where a figure goes, without its suffix; a path that cannot be written is refused.

    Examples
    --------
    >>> figure_stem("out/rounds.pdf").as_posix()
    'out/rounds'
    """
    given = Path(path)
    if given.suffix.lower() in {".svg", ".eps", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".webp", ".ps"}:
        raise ValueError(f"path of a figure must end in .pdf, .png or nothing; got {str(path)!r}")
    stem = given.with_suffix("") if given.suffix.lower() in {".pdf", ".png"} else given
    folder = next(parent for parent in stem.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(
            f"path of a figure must lie in a folder that can be written; got {str(path)!r}, and {folder} is none"
        )
    return stem


def save(fig: Figure, path: str | Path) -> tuple[Path, Path]:
    """Write a figure as PDF (vectors) and as PNG (300 dpi); the same figure gives the same bytes.

    Parameters
    ----------
    fig : Figure
        What to write. Draw it and save it within :func:`use_style`.
    path : str or Path
        Where to, with or without ``.pdf`` or ``.png``: both are written. Missing folders are made.

    Returns
    -------
    tuple of Path
        The PDF and the PNG.

    Raises
    ------
    ValueError
        When `path` has the suffix of another kind of figure, or its folder cannot be one.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder, use_style():
    ...     [made.name for made in save(Figure(), f"{folder}/nothing")]
    ['nothing.pdf', 'nothing.png']
    """
    stem = figure_stem(path)
    stem.parent.mkdir(parents=True, exist_ok=True)
    pdf, png = (stem.with_name(f"{stem.name}{suffix}") for suffix in (".pdf", ".png"))
    # A date or a version in the file would make two runs of one script differ.
    fig.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": "d3stats"})
    fig.savefig(png, format="png", dpi=300, metadata={"Software": "d3stats"})
    return pdf, png
