"""Real debates and ratings through the public functions give the numbers that a right analysis of them gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import d3stats
from d3stats.inference import as_ratings, krippendorff_alpha

pytestmark = pytest.mark.real_data

RIGHT = [
    [11, 51, 129, 275, 444, 552, 480, 237],
    [53, 178, 246, 301, 383, 396, 396, 226],
    [83, 222, 301, 268, 284, 379, 405, 237],
    [76, 239, 290, 283, 270, 401, 407, 213],
]
"""Debates with 0 to 7 right votes in rounds 1, 2, 3 and 6, where agents read the others' reasons."""


@pytest.mark.parametrize(
    ("name", "plurality", "tokens"),
    [
        ("reasons", [0.786, 0.643, 0.599, 0.609, 0.601, 0.593], [1020, 2325, 2292, 2275, 2267, 2260]),
        ("votes", [0.792, 0.710, 0.676, 0.688, 0.666, 0.688], [954, *[1472] * 5]),
        ("alone", [0.791, 0.792, 0.788, 0.778, 0.790, 0.780], [954] * 6),
    ],
)
def test_debates_of_a_small_model_have_their_accuracy_and_tokens_in_every_round(
    data_dir: Path, name: str, plurality: list[float], tokens: list[int]
) -> None:
    t = d3stats.as_trajectories(data_dir / "gemma3_270m" / f"{name}.parquet")
    assert (t.n_debates, t.n_rounds, len(t.seats)) == (2179, 6, 7)
    right = (t.verdicts() == t.label[:, None]).mean(axis=0)
    assert right == pytest.approx(plurality, abs=6e-4)
    assert t.tokens is not None
    assert t.tokens.mean(axis=0) == pytest.approx(tokens, abs=0.51)
    if name == "reasons":
        successes = t.successes_trials()[0]
        assert [np.bincount(successes[:, r], minlength=8).tolist() for r in (0, 1, 2, 5)] == RIGHT


def test_ratings_of_reviews_have_their_alpha_at_every_level(data_dir: Path) -> None:
    ratings = as_ratings(data_dir / "derived" / "hutto_product_ratings.csv.gz")
    assert (ratings.n_items, len(ratings.raters)) == (3708, 20)
    assert "1_1" in ratings.items, "the mark at the start of a name is no part of it"
    for metric, alpha in (("nominal", 0.35855), ("ordinal", 0.82919), ("interval", 0.82035)):
        found = krippendorff_alpha(ratings, metric=metric).estimate.value  # type: ignore[arg-type]
        assert found == pytest.approx(alpha, abs=5e-6)
