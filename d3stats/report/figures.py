"""Figures of the package as PNG bytes; the same figure gives the same bytes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

__all__ = ["png"]

DPI = 220
"""A figure of one column, 3.3 inches, is then about 730 pixels wide: sharp on a telephone and in print."""


def png(draw: Callable[[], Any]) -> bytes:
    """Draw in the package's style and return the picture; names in it are text, never formulas."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from d3stats.plotting.style import use_style

    with mpl.rc_context({"backend": "agg"}), use_style(), mpl.rc_context({"text.parse_math": False}):
        import matplotlib.pyplot as plt

        before = set(plt.get_fignums())
        drawn = draw()
        first = drawn if isinstance(drawn, Figure) or hasattr(drawn, "get_figure") else drawn.ravel()[0]
        whole = first if isinstance(first, Figure) else first.get_figure(root=True)
        buffer = io.BytesIO()
        whole.savefig(buffer, format="png", dpi=DPI, metadata={"Software": "d3stats"})
        for number in set(plt.get_fignums()) - before:
            plt.close(number)
    return buffer.getvalue()
