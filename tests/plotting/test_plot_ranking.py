"""The figure of a ranking draws what its frame says, and refuses what is unclear."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from d3stats.plotting.intervals import plot_ranking


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "contestant": ["x", "y", "z"],
            "rating": [0.8, -0.2, -0.6],
            "low": [0.5, -0.6, np.nan],
            "high": [1.1, 0.2, np.nan],
            "rank_low": [1, 2, 1],
            "rank_high": [1, 3, 3],
        }
    )


def test_ratings_intervals_and_ranks_are_drawn() -> None:
    ax = plot_ranking(frame())
    assert [text.get_text() for text in ax.get_yticklabels()] == ["x", "y", "z"]
    drawn = sorted(x for line in ax.lines for x in np.ravel(line.get_xdata()))
    assert drawn == [-0.6, -0.2, 0.8]
    (lines,) = ax.collections
    assert [path.vertices[:, 0].tolist() for path in lines.get_paths()] == [[0.5, 1.1], [-0.6, 0.2]]
    assert [text.get_text() for text in ax.texts][:4] == ["rank", "1", "2 to 3", "1 to 3"]
    assert ax.get_xlabel() == "rating (log-odds)"
    assert plot_ranking(frame().assign(scale="elo")).get_xlabel() == "rating (Elo points)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"low": [0.5, -0.6, -1.0]}, "low and high must come together"),
        ({"low": [0.9, -0.6, np.nan]}, "rating must lie in its interval"),
        ({"rating": [np.nan, 0, 0]}, "rating"),
    ],
)
def test_what_is_unclear_is_refused(change: dict[str, list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_ranking(frame().assign(**change))
