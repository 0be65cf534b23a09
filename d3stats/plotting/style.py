"""The look of every figure, and how a figure reaches a file.

Matplotlib is imported inside the functions: importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ONE_COLUMN", "TWO_COLUMNS", "save", "use_style"]

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


def save(fig: Figure, path: str | Path) -> tuple[Path, Path]:
    """Write a figure as PDF (vectors) and as PNG (300 dpi); the same figure gives the same bytes.

    Parameters
    ----------
    fig : Figure
        What to write. Draw it and save it within :func:`use_style`.
    path : str or Path
        Where to, without a suffix; missing folders are made.

    Returns
    -------
    tuple of Path
        The PDF and the PNG.

    Raises
    ------
    ValueError
        When `path` ends in ``.pdf`` or ``.png``.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder, use_style():
    ...     [made.name for made in save(Figure(), f"{folder}/nothing")]
    ['nothing.pdf', 'nothing.png']
    """
    stem = Path(path)
    if stem.suffix.lower() in {".pdf", ".png"}:
        raise ValueError(f"path must be given without a suffix; got path={str(path)!r}")
    stem.parent.mkdir(parents=True, exist_ok=True)
    pdf, png = (stem.with_name(f"{stem.name}{suffix}") for suffix in (".pdf", ".png"))
    # A date or a version in the file would make two runs of one script differ.
    fig.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": "d3stats"})
    fig.savefig(png, format="png", dpi=300, metadata={"Software": "d3stats"})
    return pdf, png
