"""Figures of the package as SVG; the same figure gives the same text."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["svg", "with_short_names"]


def svg(draw: Callable[[], Any], title: str) -> tuple[str, str]:
    """Draw in the package's style; return the picture, and what its intervals are.

    The title is in the picture, and names in it are text, never formulas.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from d3stats.plotting.style import intervals_drawn, use_style

    plain: Any = {"text.parse_math": False, "svg.hashsalt": "d3stats"}
    with mpl.rc_context({"backend": "agg"}), use_style(), mpl.rc_context(plain):
        import matplotlib.pyplot as plt

        before = set(plt.get_fignums())
        drawn = draw()
        first = drawn if isinstance(drawn, Figure) or hasattr(drawn, "get_figure") else drawn.ravel()[0]
        whole = first if isinstance(first, Figure) else first.get_figure(root=True)
        buffer = io.StringIO()
        # Tight, because a long line below an axis may be wider than the figure.
        whole.savefig(
            buffer,
            format="svg",
            metadata={"Date": None, "Creator": "d3stats", "Title": title},
            bbox_inches="tight",
            pad_inches=0.05,
        )
        for number in set(plt.get_fignums()) - before:
            plt.close(number)
    return buffer.getvalue(), intervals_drawn(whole)


LONGEST = 40
"""Characters of a name in a figure of one column; a longer one would leave no space for the data."""


def with_short_names(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Cut the names in a column to the length that fits a figure; names that become alike are numbered.

    Examples
    --------
    >>> import pandas as pd
    >>> with_short_names(pd.DataFrame({"name": ["kappa", "x" * 40, "x" * 41]}), "name")["name"].str.len().tolist()
    [5, 40, 45]
    """
    names = [str(name) for name in frame[column]]
    kinds = list(dict.fromkeys(name for name in names if len(name) > LONGEST))
    short = {name: f"{name[:LONGEST]}… ({k})" for k, name in enumerate(kinds, start=1)}
    return frame.assign(**{column: [short.get(name, name) for name in names]})
