"""What a courtroom leaves behind: tokens, seeds, items, the aggregates of its paper, clear refusals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from d3stats.worlds import Category, Courtroom, courtroom_items, courtroom_tokens, simulate_debates

# ---------------------------------------------------------------- tokens


SMALL: dict[str, Any] = {
    "panel": 1,
    "slack": 0,
    "length_sd": 0,
    "question_words": 0,
    "instruction_words": 0,
    "answer_words": 10,
    "defence_words": 3,
    "aggregate_words": 7,
    "feedback_words": 2,
    "reasons_words": 5,
    "rationale_words": 1,
}
"""Two answers of ten words; a round adds two defences of three and two feedbacks of two."""


@pytest.mark.parametrize(
    ("settings", "sent", "written"),
    [
        # Advocates 20 + 20, judge 20 + 6; then 10 more words in front of everyone. The juror reads 20 + 30, at the end.
        ({}, [66, 60 + 36, 80 + 46 + 50], [15, 15, 16]),
        ({"poll": "every_round"}, [96, 60 + 36 + 40, 80 + 46 + 50], [16, 16, 16]),
        # The judge reads 26 in every round; an advocate: own 3 (then 6), the other's 3, feedback 4.
        ({"memory": "latest"}, [66, 60 + 26, 66 + 26 + 50], [15, 15, 16]),
        # Six advocates, two who merge three defences, a judge and a juror who read the two merged.
        (
            {"advocates": 3, "protocol": "more"},
            [6 * 20 + 2 * 29 + 20 + 14 + 20 + 14],
            [6 * 3 + 2 * 7 + 5 + 1],
        ),
    ],
)
def test_tokens_are_those_counted_by_hand(
    settings: dict[str, Any], sent: list[float], written: list[float]
) -> None:
    both = courtroom_tokens(Courtroom(**(SMALL | settings)), 2, len(sent), 1)
    for counted, words in zip(both, (sent, written), strict=True):
        np.testing.assert_allclose(counted, np.tile(words, (2, 1)) * 4 / 3)


def test_tokens_of_a_log_are_prompts_plus_messages() -> None:
    court = Courtroom()
    t = simulate_debates(court, 1500, 4, 1)
    np.testing.assert_array_equal(t.tokens, np.add(*courtroom_tokens(court, 1500, 4, 1)))


@pytest.mark.parametrize("memory", ["transcript", "latest"])
@pytest.mark.parametrize("poll", ["end", "every_round"])
def test_from_the_second_round_on_every_round_costs_more_than_the_one_before(memory: Any, poll: Any) -> None:
    tokens = simulate_debates(Courtroom(memory=memory, poll=poll, slack=0), 500, 6, 1).tokens
    assert tokens is not None
    assert (np.diff(tokens[:, 1:], axis=1) > 0).all()


def test_what_is_paid_for_does_not_move_what_is_said() -> None:
    plain, dear = (
        simulate_debates(Courtroom(**s), 500, 3, 1) for s in ({}, {"slack": 0, "poll": "every_round"})
    )
    np.testing.assert_array_equal(plain.votes, dear.votes)
    np.testing.assert_array_equal(plain.scores, dear.scores)


# ---------------------------------------------------------------- seeds


def chunks(sizes: list[int]) -> Iterator[tuple[int, int]]:
    first = 0
    for size in sizes:
        yield first, size
        first += size


@pytest.mark.parametrize("sizes", [[2500], [1, 1023, 1024, 452], [700, 900, 900]])
def test_the_same_seed_gives_the_same_debates_however_they_are_cut(sizes: list[int]) -> None:
    court = Courtroom(panel=4, advocates=2, temperature=1.0)
    whole = simulate_debates(court, 2500, 3, 7)
    parts = [simulate_debates(court, size, 3, 7, first=first) for first, size in chunks(sizes)]
    for name in ("votes", "label", "scores", "tokens"):
        np.testing.assert_array_equal(getattr(whole, name), np.concatenate([getattr(p, name) for p in parts]))
    items = pd.concat([courtroom_items(court, n, 7, first=first) for first, n in chunks(sizes)])
    pd.testing.assert_frame_equal(courtroom_items(court, 2500, 7), items.reset_index(drop=True))
    assert tuple(items["debate"]) == whole.debates
    assert items["label"].tolist() == [whole.answers[code] for code in whole.label]


def test_a_generator_gives_another_draw_each_time() -> None:
    rng = np.random.default_rng(5)
    a, b = (simulate_debates(Courtroom(), 100, 2, rng) for _ in range(2))
    assert (a.scores != b.scores).any()


def test_items_have_the_gaps_and_shares_of_their_categories() -> None:
    court = Courtroom(categories=[("wide", 3, 20, 2), ("close", 1, 2, 0)], label_noise=0)
    items = courtroom_items(court, 20000, 1)
    wide = items["category"] == "wide"
    assert wide.mean() == pytest.approx(0.75, abs=0.013)
    size = items["quality_gap"].abs()
    assert size[wide].mean() == pytest.approx(20, abs=0.1)
    assert size[wide].std() == pytest.approx(2, abs=0.1)
    assert (size[~wide] == 2).all()
    np.testing.assert_array_equal(items["label"] == "A", items["quality_gap"] > 0)


# ---------------------------------------------------------------- the paper's aggregates


def test_the_default_court_is_near_the_aggregates_of_its_paper() -> None:
    court, n = Courtroom(), 20000
    t = simulate_debates(court, n, 5, 1)
    assert t.scores is not None
    gap = t.scores[:, :, 0] - t.scores[:, :, 1]
    still = np.abs(np.diff(gap, axis=1)) < 3
    still[:, -1] = True
    stop = still.argmax(axis=1) + 2
    at = (np.arange(n), stop - 1)
    verdicts = t.verdicts()
    assert (stop == 2).mean() == pytest.approx(0.58, abs=0.03)
    assert stop.mean() == pytest.approx(2.71, abs=0.06)
    assert (verdicts[at] == t.label).mean() == pytest.approx(0.863, abs=0.01)
    assert (verdicts[at] != verdicts[:, 4]).mean() == pytest.approx(0.06, abs=0.03)
    pairs = itertools.combinations(range(5), 2)
    agree = np.mean([(t.votes[:, -1, i] == t.votes[:, -1, j]).mean() for i, j in pairs])
    assert agree == pytest.approx(0.895, abs=0.01)
    swapped = simulate_debates(replace(court, first="B", run=1), n, 5, 1).verdicts()
    assert (verdicts == swapped)[:, 2].mean() == pytest.approx(0.948, abs=0.03)
    more = simulate_debates(replace(court, protocol="more", advocates=3), n, 1, 1)
    assert (more.verdicts()[:, 0] == more.label).mean() == pytest.approx(0.851, abs=0.01)
    category = courtroom_items(court, n, 1)["category"].to_numpy()
    size = {
        name: np.abs(gap[category == name, 1]).mean() for name in ("coding", "reasoning", "ethics", "math")
    }
    assert 16 < size["coding"] < 20
    assert 8 < size["ethics"] < size["reasoning"] < 11
    assert 0 < size["math"] < 6


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"panel": 0}, "panel must be >= 1; got panel=0"),
        ({"protocol": "mor"}, "protocol must be one of 'samre', 'more', 'd3'; got protocol='mor'"),
        ({"first": "C"}, "first must be one of 'A', 'B'; got first='C'"),
        ({"run": -1}, "run must be >= 0; got run=-1"),
        ({"advocates": 0}, "advocates must be >= 1; got advocates=0"),
        ({"ceiling": 21}, "ceiling must be <= 20; got ceiling=21"),
        ({"base": 0.5}, "base must lie between 1 and 20; got base=0.5"),
        ({"decay": 1}, "decay must be < 1; got decay=1"),
        ({"noise": -1}, "noise must be >= 0; got noise=-1"),
        ({"halo": 1.5}, "halo must lie between 0 and 1; got halo=1.5"),
        ({"position_bias": np.nan}, "position_bias must be finite; got position_bias=nan"),
        ({"categories": []}, "categories must have at least one row; got none"),
        (
            {"categories": [("a", 1, 2)]},
            r"categories must be rows of \(name, share, gap, spread\); got .* row 0",
        ),
        ({"categories": [("a", -1, 2, 1)]}, "share must be >= 0; got share=-1"),
        ({"categories": [("a", 0, 2, 1)]}, "share must be above 0 in some category; got 0 in all"),
        ({"categories": [("a", 1, 2, 1)] * 2}, "categories must have distinct names; got"),
    ],
)
def test_a_court_that_cannot_be_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Courtroom(**settings)


def test_categories_may_come_from_a_file_as_lists_or_tables() -> None:
    row = {"name": "math", "share": 1, "gap": 3, "spread": 2}
    courts = [Courtroom(categories=[kind]) for kind in (row, list(row.values()), Category("math", 1, 3, 2))]
    assert len(set(courts)) == 1
    with pytest.raises(ValueError, match="categories must be rows of"):
        Courtroom(categories=[{"name": "math", "gap": 3}])


def test_one_round_debates_have_one_round() -> None:
    with pytest.raises(ValueError, match=r"n_rounds must be 1 for protocol='more'.*got n_rounds=2"):
        simulate_debates(Courtroom(protocol="more"), 10, 2, 1)
