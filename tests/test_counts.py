"""Counts add like the data they count, and refuse what cannot have been counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from d3stats.counts import ConfusionCounts, Counts, RoundCounts, TransitionCounts
from d3stats.models.mixtures.fit import (
    counts_of,
    fit_beta_binomial_mixture,
    fit_beta_binomial_mixture_batch,
)

Rows = list[tuple[int, ...]]


@st.composite
def cells(draw: st.DrawFn) -> tuple[int, int]:
    trials = draw(st.integers(0, 5))
    return draw(st.integers(0, trials)), trials


plain_rows = st.lists(cells(), max_size=12)
round_rows = st.lists(st.tuples(st.integers(1, 3), cells()).map(lambda x: (x[0], *x[1])), max_size=12)
move_rows = st.lists(
    st.tuples(st.integers(1, 3), cells(), cells()).map(lambda x: (x[0], *x[1], *x[2])), max_size=12
)
pair_rows = st.lists(
    st.tuples(st.sampled_from([None, "A", "B", "C"]), st.sampled_from([None, "A", "B", "D"])), max_size=12
)


def confusion(rows: list[tuple[Any, Any]]) -> ConfusionCounts:
    return ConfusionCounts.from_pairs([truth for truth, _ in rows], [vote for _, vote in rows])


def of(kind: type[Any], rows: Rows, weights: list[float] | None = None) -> Any:
    if kind is ConfusionCounts:
        return confusion(rows)  # type: ignore[arg-type]
    columns = list(zip(*rows, strict=True)) if rows else [[] for _ in kind.columns]
    return kind.from_columns(*columns, weights=weights)


KINDS = [
    (Counts, plain_rows),
    (RoundCounts, round_rows),
    (TransitionCounts, move_rows),
    (ConfusionCounts, pair_rows),
]
every_kind = pytest.mark.parametrize(("kind", "rows"), KINDS, ids=lambda k: getattr(k, "__name__", ""))
CELLS = [(Counts, plain_rows), (RoundCounts, round_rows), (TransitionCounts, move_rows)]
every_cell_kind = pytest.mark.parametrize(("kind", "rows"), CELLS, ids=lambda k: getattr(k, "__name__", ""))


# ---------------------------------------------------------------- the monoid


@every_kind
@given(data=st.data())
def test_counts_of_two_parts_add_to_the_counts_of_the_whole(kind: Any, rows: Any, data: Any) -> None:
    a, b = data.draw(rows), data.draw(rows)
    assert of(kind, a) + of(kind, b) == of(kind, a + b)


@every_kind
@given(data=st.data())
def test_adding_counts_is_commutative_and_associative(kind: Any, rows: Any, data: Any) -> None:
    a, b, c = (of(kind, data.draw(rows)) for _ in range(3))
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)


@every_kind
@given(data=st.data())
def test_the_empty_counts_are_zero(kind: Any, rows: Any, data: Any) -> None:
    a = of(kind, data.draw(rows))
    assert a + kind.empty() == a
    assert kind.empty() + a == a
    assert sum([a], start=kind.empty()) == a
    assert kind.empty().n_obs == 0


@every_kind
@given(data=st.data())
def test_sum_adds_counts_from_nothing_but_zero(kind: Any, rows: Any, data: Any) -> None:
    parts = [of(kind, data.draw(rows)) for _ in range(3)]
    assert sum(parts) == parts[0] + parts[1] + parts[2]
    with pytest.raises(TypeError):
        _ = 1 + parts[0]


@every_kind
@given(data=st.data())
def test_the_order_of_the_data_does_not_matter(kind: Any, rows: Any, data: Any) -> None:
    drawn = data.draw(rows)
    assert of(kind, drawn) == of(kind, data.draw(st.permutations(drawn)))


def test_counts_of_different_kinds_do_not_add() -> None:
    kinds: list[Any] = [kind for kind, _ in KINDS]
    for a in kinds:
        for b in kinds:
            if a is not b:
                with pytest.raises(TypeError):
                    _ = a.empty() + b.empty()
                assert a.empty() != b.empty()


# ---------------------------------------------------------------- what the cells say


@every_cell_kind
@given(data=st.data())
def test_cells_are_unique_sorted_and_weigh_what_a_plain_count_finds(kind: Any, rows: Any, data: Any) -> None:
    drawn = data.draw(rows)
    counted = of(kind, drawn)
    expected = Counter(drawn)
    assert [tuple(key) for key in counted.keys.tolist()] == sorted(expected)
    assert counted.weights.tolist() == [expected[key] for key in sorted(expected)]
    assert len(counted) == len(expected)
    assert counted.n_obs == len(drawn)


@every_cell_kind
@given(data=st.data())
def test_a_weight_counts_a_row_that_many_times(kind: Any, rows: Any, data: Any) -> None:
    drawn = data.draw(rows)
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(drawn), max_size=len(drawn)))
    repeated = [row for row, n in zip(drawn, times, strict=True) for _ in range(n)]
    assert of(kind, drawn, [float(n) for n in times]) == of(kind, repeated)


@every_cell_kind
@given(data=st.data())
def test_a_frame_of_counts_reads_back_as_the_same_counts(kind: Any, rows: Any, data: Any) -> None:
    counted = of(kind, data.draw(rows))
    frame = counted.to_frame()
    assert list(frame.columns) == [*kind.columns, "weight"]
    assert kind.from_frame(frame) == counted
    assert kind.from_frame(frame.sample(frac=1, random_state=0)) == counted


def test_a_frame_without_weights_counts_its_rows() -> None:
    frame = pd.DataFrame({"successes": [1, 1, 2], "trials": [3, 3, 2]})
    assert Counts.from_frame(frame) == Counts.from_columns([1, 2], [3, 2], weights=[2, 1])


@given(round_rows)
def test_rounds_come_apart_and_go_together_again(rows: Rows) -> None:
    counted: RoundCounts = of(RoundCounts, rows)
    assert RoundCounts.from_rounds({r: counted[r] for r in counted.rounds}) == counted
    assert sum((counted[r] for r in counted.rounds), start=Counts.empty()) == counted.pooled()
    assert counted.pooled() == of(Counts, [row[1:] for row in rows])


@given(move_rows)
def test_transitions_know_where_the_debates_came_from_and_went(rows: Rows) -> None:
    counted: TransitionCounts = of(TransitionCounts, rows)
    assert counted.before() == of(Counts, [row[1:3] for row in rows])
    assert counted.after() == of(Counts, [row[3:5] for row in rows])
    for r in counted.rounds:
        assert counted[r] == of(TransitionCounts, [row for row in rows if row[0] == r])


@given(pair_rows)
def test_a_confusion_table_is_a_plain_count_of_the_pairs_without_a_gap(rows: list[tuple[Any, Any]]) -> None:
    counted = confusion(rows)
    expected = Counter((t, v) for t, v in rows if t is not None and v is not None)
    got = {
        (t, v): counted.matrix[i, j]
        for i, t in enumerate(counted.labels)
        for j, v in enumerate(counted.labels)
        if counted.matrix[i, j]
    }
    assert got == dict(expected)
    assert counted.n_obs == sum(expected.values())


@given(pair_rows, st.data())
def test_a_confusion_weight_counts_a_pair_that_many_times(rows: list[tuple[Any, Any]], data: Any) -> None:
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    weighted = ConfusionCounts.from_pairs([t for t, _ in rows], [v for _, v in rows], weights=times)
    assert weighted == confusion([row for row, n in zip(rows, times, strict=True) for _ in range(n)])


def test_a_confusion_frame_has_truth_in_rows() -> None:
    frame = ConfusionCounts.from_pairs(["A", "A", "B"], ["A", "B", "B"]).to_frame()
    assert frame.index.name == "truth"
    assert frame.columns.name == "vote"
    assert frame.loc["A", "B"] == 1
    assert frame.loc["B", "A"] == 0


def test_whole_number_answers_keep_their_name_when_another_answer_is_missing() -> None:
    counted = ConfusionCounts.from_pairs([1, 1, None], [1, 2, 2])
    assert counted.labels == ("1", "2")
    assert counted.matrix.tolist() == [[1, 1], [0, 0]]


@given(
    st.integers(0, 4).flatmap(
        lambda n: st.lists(st.lists(st.integers(-2, 1), min_size=n, max_size=n), max_size=9)
    )
)
def test_votes_are_counted_as_a_plain_reading_counts_them(rows: list[list[int]]) -> None:
    votes = np.array(rows, dtype=np.int8).reshape(len(rows), len(rows[0]) if rows else 3)
    expected = Counts.from_columns([r.count(1) for r in rows], [sum(v >= 0 for v in r) for r in rows])
    assert Counts.from_votes(votes) == expected
    assert Counts.from_votes(votes.astype(np.int64)[::-1]) == expected
    cast = votes[(votes >= 0).all(axis=1)]
    assert Counts.from_votes(cast == 1) == Counts.from_votes(cast)


def test_votes_of_many_debates_and_many_seats_are_counted_across_blocks() -> None:
    votes = np.random.default_rng(1).integers(-1, 2, size=(40_000, 3), dtype=np.int8)
    expected = Counts.from_columns((votes == 1).sum(axis=1), (votes >= 0).sum(axis=1))
    assert Counts.from_votes(votes) == expected
    wide = np.ones((2, 300), dtype=bool)
    assert Counts.from_votes(wide) == Counts.from_columns([300, 300], [300, 300])


def test_votes_that_are_no_votes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"votes must have shape \(debates, seats\); got shape \(2,\)"):
        Counts.from_votes([1, 0])
    with pytest.raises(ValueError, match=r"votes must be 1, 0 or negative \(missing\); got 2"):
        Counts.from_votes([[1, 2]])
    with pytest.raises(TypeError, match="votes must be booleans or integers"):
        Counts.from_votes([[0.5, 1.0]])


# ---------------------------------------------------------------- immutability and equality


@every_cell_kind
def test_counts_cannot_be_changed(kind: Any, rows: Any) -> None:
    counted = of(kind, [tuple([1] * len(kind.columns))])
    with pytest.raises(ValueError, match="read-only"):
        counted.keys[0, 0] = 5
    with pytest.raises(ValueError, match="read-only"):
        counted.weights[0] = 5
    with pytest.raises(AttributeError):
        counted.weights = np.ones(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(counted)


def test_counting_leaves_the_input_writable_and_apart() -> None:
    successes, weights = np.array([1, 2]), np.array([1.0, 1.0])
    counted = Counts.from_columns(successes, [2, 2], weights=weights)
    successes[0], weights[0] = 0, 9
    assert counted.to_frame()["successes"].tolist() == [1, 2]
    assert counted.n_obs == 2


def test_counts_that_differ_in_one_weight_differ() -> None:
    a = Counts.from_columns([1, 2], [2, 2])
    assert a != Counts.from_columns([1, 2], [2, 2], weights=[1, 1.5])
    assert a != Counts.from_columns([1], [2])
    assert a != "counts"


@every_kind
def test_counts_are_equal_up_to_rounding_and_no_further(kind: Any, rows: Any) -> None:
    """Weights that were added up in another order agree to 1e-12; a count that moved by 1e-9 is another one."""

    def made(weight: float) -> Any:
        if kind is ConfusionCounts:
            return ConfusionCounts.from_pairs(["A", "B"], ["A", "A"], weights=[weight, 2.0])
        return kind.from_columns(
            *np.array([[1] * len(kind.columns), [2] * len(kind.columns)]).T, weights=[weight, 2]
        )

    assert made(1.0) == made(1.0 + 1e-14)
    assert made(1.0) != made(1.0 + 1e-9)
    assert made(1e-9) != made(2e-9)


def test_a_weight_of_zero_leaves_no_cell() -> None:
    assert Counts.from_columns([1, 2], [2, 2], weights=[0, 1]) == Counts.from_columns([2], [2])


def test_the_repr_says_how_much_was_counted() -> None:
    assert repr(Counts.from_columns([1, 1], [2, 2])) == "Counts(n_obs=2, cells=1)"


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("columns", "weights", "message"),
    [
        (([5], [3]), None, r"trials must be >= successes; got trials=3, successes=5 at row 0"),
        (([1, 4], [3, 3]), None, r"trials must be >= successes; got trials=3, successes=4 at row 1"),
        (([-1], [3]), None, r"successes must be >= 0; got successes=-1 at row 0"),
        (([1.5], [3]), None, r"successes must be whole numbers; got successes=1.5 at row 0"),
        (([1, np.nan], [3, 3]), None, r"successes must be whole numbers; got successes=nan at row 1"),
        (([1], [np.inf]), None, r"trials must be whole numbers; got trials=inf at row 0"),
        (([1, 2], [3]), None, r"trials must be as long as successes \(2\); got 1"),
        (([[1]], [[3]]), None, r"successes must be one-dimensional; got an array of shape \(1, 1\)"),
        (([1], [3]), [-1.0], r"weights must be finite and >= 0; got weights=-1.0 at row 0"),
        (([1], [3]), [np.nan], r"weights must be finite and >= 0; got weights=nan at row 0"),
        (([1], [3]), [1.0, 1.0], r"weights must have one value per row \(1\); got 2"),
    ],
)
def test_counts_that_cannot_be_are_refused(columns: Any, weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Counts.from_columns(*columns, weights=weights)


def test_both_ends_of_a_transition_are_checked() -> None:
    with pytest.raises(ValueError, match="next_trials must be >= next_successes; got next_trials=2, next_su"):
        TransitionCounts.from_columns([1], [1], [2], [3], [2])


def test_words_are_no_counts() -> None:
    with pytest.raises(TypeError, match="successes must be a rectangular array of whole numbers"):
        Counts.from_columns(["many"], [3])


def test_another_number_of_columns_is_refused() -> None:
    with pytest.raises(TypeError, match="RoundCounts needs 3 columns"):
        RoundCounts.from_columns([1], [2])


def test_a_frame_without_a_column_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match=r"frame must have the columns .* got none named \['trials'\]"):
        Counts.from_frame(pd.DataFrame({"successes": [1]}))


def test_a_round_that_was_not_played_is_refused_by_its_number() -> None:
    counted = RoundCounts.from_columns([1, 2], [1, 1], [2, 2])
    with pytest.raises(KeyError, match=r"round must be one of \[1, 2\]; got round=3"):
        counted[3]


def test_a_confusion_table_refuses_negative_weights_and_ragged_pairs() -> None:
    with pytest.raises(ValueError, match="weights must be finite and >= 0"):
        ConfusionCounts.from_pairs(["A"], ["A"], weights=[-1])
    with pytest.raises(ValueError, match="length"):
        ConfusionCounts.from_pairs(["A", "B"], ["A"])


# ------------------------------------------------------------------ from counts to a fit


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(0, 4)).map(lambda x: (min(x), x[0])), min_size=4, max_size=30
    )
)
@settings(max_examples=15, deadline=None)
def test_every_way_from_counts_to_a_fit_gives_the_same_cells_or_is_refused(
    rows: list[tuple[int, int]],
) -> None:
    right, cast = map(np.array, zip(*rows, strict=True))
    counts = Counts.from_columns(right, cast)
    ways = [
        Counts.from_columns(counts.successes, counts.trials, weights=counts.weights),
        counts_of(counts, None, None),
        counts_of(counts.successes, counts.trials, counts.weights),
        counts_of(right, cast, None),
        counts_of(*np.repeat(counts.keys, counts.weights.astype(int), axis=0).T, np.ones(len(rows))),
        Counts.from_frame(counts.to_frame()),
    ]  # fmt: skip
    assert all(way == counts for way in ways)
    mask = np.ones(len(counts), dtype=bool)
    for successes, trials in (
        (counts.successes, counts.trials),
        (counts.successes[mask], counts.keys[:, 1]),
        (counts.successes[::-1], counts.trials[::-1]),
    ):
        if (counts.weights == 1).all():
            assert counts_of(successes, trials, None) == counts
        else:
            with pytest.raises(TypeError, match="successes must come with weights"):
                counts_of(successes, trials, None)


def test_arithmetic_on_a_column_of_cells_gives_plain_numbers() -> None:
    counts = Counts.from_columns([1, 1, 2], [3, 3, 3])
    for made in (counts.successes + 0, counts.trials - counts.successes, counts.successes / counts.trials):
        assert type(made) is np.ndarray
    assert isinstance(counts.trials.max(), np.integer)


ARRAYS: dict[str, Callable[[Any], object]] = {
    "asarray": np.asarray,
    "array": np.array,
    "asanyarray": np.asanyarray,
    "mean": np.mean,
    "sum": np.sum,
    "add.reduce": np.add.reduce,
    "concatenate": lambda column: np.concatenate([column, column]),
    "column_stack": lambda column: np.column_stack([column, column]),
    "Series": pd.Series,
    "frame": lambda column: pd.DataFrame({"successes": column}),
    "a slice": lambda column: np.asarray(column[1:]),
    "floats": lambda column: np.asarray(column, dtype=float),
}


@pytest.mark.parametrize("way", list(ARRAYS))
def test_no_array_is_made_of_weighted_cells_without_their_weights(way: str) -> None:
    """Every public object that holds cells with weights refuses to become an array that has none."""
    weighted = Counts.from_columns([1, 2, 3], [3, 3, 3], weights=[50, 5, 45])
    single = Counts.from_columns([1, 2, 3], [3, 3, 3])
    batch = fit_beta_binomial_mixture_batch(range(4), 3, [[3, 5, 9, 4]], n_components=1)
    for column in (weighted.successes, weighted.trials, batch.successes, batch.trials):
        with pytest.raises(TypeError, match="must come with weights"):
            ARRAYS[way](column)
    ARRAYS[way](single.successes)
    rounds = RoundCounts.from_rounds({1: weighted})
    moves = TransitionCounts.from_columns([1, 1], [1, 2], [3, 3], [2, 3], [3, 3])
    for cells in (weighted, single, rounds, moves):
        for make in (np.asarray, np.array, np.asanyarray):
            with pytest.raises(TypeError, match=r"use to_frame\(\)"):
                make(cells)


def test_cells_with_weights_fit_like_the_debates_that_they_stand_for() -> None:
    counts = Counts.from_columns([0, 1, 2, 3], [3, 3, 3, 3], weights=[50, 5, 5, 60])
    expected = fit_beta_binomial_mixture(counts).llf
    assert fit_beta_binomial_mixture(counts.successes, counts.trials, counts.weights).llf == expected
    batch = fit_beta_binomial_mixture_batch(counts.successes, counts.trials, counts.weights[None])
    np.testing.assert_allclose(batch[0].llf, expected, rtol=1e-9)
    with pytest.raises(TypeError, match="must come with weights"):
        fit_beta_binomial_mixture(np.asarray(counts.successes), np.asarray(counts.trials))
