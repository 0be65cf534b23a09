"""Borda count beside majority and mean score, against hand examples and a plain count of pairs."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d3stats.inference import borda_count


def table(*rows: tuple[float | None, ...], names: str = "xyz", value: str = "score") -> pd.DataFrame:
    """One item, a row of values per judge."""
    return pd.DataFrame(
        [
            ("q", f"judge {j}", name, points)
            for j, row in enumerate(rows)
            for name, points in zip(names, row, strict=True)
        ],
        columns=["item", "agent", "candidate", value],
    )


def test_the_broadly_liked_candidate_wins_by_borda_and_loses_by_majority() -> None:
    """Three judges put x first, two put it last; y is never below the middle: 3 + 4 = 7 points against 6."""
    found = borda_count(table((3, 2, 1), (3, 2, 1), (3, 2, 1), (1, 3, 2), (1, 3, 2)))
    assert found.points.set_index("candidate")["borda"].to_dict() == {"x": 6.0, "y": 7.0, "z": 2.0}
    assert found.points.set_index("candidate")["firsts"].to_dict() == {"x": 3.0, "y": 2.0, "z": 0.0}
    assert found.winners[["borda", "majority", "judges"]].values.tolist() == [["y", "x", 5]]
    assert found.notes == ()


def test_one_judge_with_a_wide_scale_moves_the_mean_and_not_the_ranking() -> None:
    found = borda_count(table((6, 5), (6, 5), (1, 10), names="xy"))
    assert found.winners[["borda", "majority", "mean"]].values.tolist() == [["x", "x", "y"]]
    assert found.agreement().values.tolist() == [
        ["borda", "majority", 1, 1],
        ["borda", "mean", 1, 0],
        ["majority", "mean", 1, 0],
    ]


def test_equal_candidates_share_the_average_of_their_ranks_and_this_is_said() -> None:
    found = borda_count(table((5, 5, 1), (5, 2, 5)))
    # 1.5 + 1.5, 1.5 + 0, 0 + 1.5; first places are halved.
    assert found.points["borda"].tolist() == [3.0, 1.5, 1.5]
    assert found.points["firsts"].tolist() == [1.0, 0.5, 0.5]
    assert found.n_tied == 2
    assert found.notes == ("2 of 2 rankings have equal candidates, which share the average of their ranks",)


def test_a_ranking_without_a_candidate_is_left_out_and_not_last() -> None:
    found = borda_count(table((3, 2, 1), (None, 2, 1)))
    assert found.winners["judges"].tolist() == [1]
    assert found.points["borda"].tolist() == [2.0, 1.0, 0.0]
    assert (found.n_incomplete, found.notes) == (
        1,
        ("1 of 2 rankings left out: a candidate is missing in it",),
    )


def test_several_that_lead_are_no_winner() -> None:
    found = borda_count(table((2, 1), (1, 2), names="xy"))
    assert found.winners[["borda", "majority", "mean"]].isna().all().all()
    assert found.agreement()["items"].tolist() == [0, 0, 0]


def test_ranks_are_read_with_one_as_the_best_and_have_no_mean() -> None:
    found = borda_count(table((1, 2, 3), (2, 1, 3), (1, 3, 2), value="rank"), value="rank")
    assert found.points["borda"].tolist() == [5.0, 3.0, 1.0]
    assert found.winners.columns.tolist() == ["item", "judges", "borda", "majority"]


Marks = st.lists(st.lists(st.integers(1, 4), min_size=3, max_size=3), min_size=1, max_size=5)


@given(Marks)
def test_points_are_the_pairs_that_a_candidate_wins(marks: list[list[int]]) -> None:
    found = borda_count(table(*(tuple(row) for row in marks)))
    wins = [
        sum((row[i] > row[k]) + 0.5 * (row[i] == row[k]) for row in marks for k in range(3) if k != i)
        for i in range(3)
    ]
    assert found.points["borda"].tolist() == wins
    assert found.points["borda"].sum() == 3 * len(marks)


@given(Marks)
def test_a_rank_of_the_scores_gives_the_same_points(marks: list[list[int]]) -> None:
    ranks = [tuple(1 + sum(other > own for other in row) for own in row) for row in marks]
    by_score = borda_count(table(*(tuple(row) for row in marks)))
    by_rank = borda_count(table(*ranks, value="rank"), value="rank")
    assert by_rank.points["borda"].tolist() == by_score.points["borda"].tolist()
    assert by_rank.points["firsts"].tolist() == by_score.points["firsts"].tolist()


@pytest.mark.parametrize(
    ("frame", "given_", "message"),
    [
        (
            table((1, 2, 3)).drop(columns="agent"),
            {},
            "must have the columns item, agent, .* got none named agent",
        ),
        (
            pd.concat([table((1, 2, 3))] * 2),
            {},
            "one score per candidate; got 'judge 0' again for 'x' of item 'q'",
        ),
        (
            table((0, 1, 2), value="rank"),
            {"value": "rank"},
            "rank must be 1 or more, 1 for the best; got rank=0",
        ),
        (
            table((1, None, 3)),
            {},
            "who has every candidate of an item; got 1 incomplete ranking and no other",
        ),
        (table((1, 2, 3)), {"value": "marks"}, "value must be 'score' or 'rank'; got value='marks'"),
    ],
)
def test_judgments_that_cannot_be_ranked_are_refused(
    frame: pd.DataFrame, given_: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        borda_count(frame, **given_)  # type: ignore[arg-type]
