"""Prompt and completion tokens apart: kept wherever debates go, adding up, and never counted twice."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from d3stats import Trajectories
from d3stats.worlds import Courtroom, Referees, Voter, courtroom_tokens, round_tokens, simulate_debates
from d3stats.worlds.tokens import Lengths

KINDS = ("tokens", "tokens_in", "tokens_out")


def turns(seed: int, debates: int = 4, rounds: int = 3, agents: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [(str(d), r, f"a{a}") for d in range(debates) for r in range(1, rounds + 1) for a in range(agents)]
    table = pd.DataFrame(rows, columns=["debate", "round", "agent"])
    return table.assign(
        vote=rng.choice(["A", "B"], len(table)),
        role=rng.choice(["juror", "judge"], len(table)),
        tokens_in=rng.integers(0, 1000, len(table)),
        tokens_out=rng.integers(0, 1000, len(table)),
    )


def same(a: Trajectories, b: Trajectories) -> None:
    for kind in KINDS:
        np.testing.assert_array_equal(getattr(a, kind), getattr(b, kind))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_tokens_by_kind_are_the_sums_of_a_rounds_turns(seed: int) -> None:
    table = turns(seed)
    log = Trajectories.from_frame(table)
    for kind in ("tokens_in", "tokens_out"):
        expected = table.groupby(["debate", "round"])[kind].sum().to_numpy().reshape(4, 3)
        np.testing.assert_array_equal(getattr(log, kind), expected)
    np.testing.assert_array_equal(log.tokens, log.tokens_in + log.tokens_out)


def test_totals_beside_kinds_are_refused_because_they_would_count_twice() -> None:
    table = turns(1).assign(tokens=30, tokens_in=20, tokens_out=10)
    with pytest.raises(ValueError, match=r"counted twice; got tokens, tokens_in, tokens_out"):
        Trajectories.from_frame(table)


def test_an_empty_column_beside_totals_is_no_second_count() -> None:
    table = turns(1).assign(tokens=30, tokens_in=np.nan, tokens_out=None)
    log = Trajectories.from_frame(table)
    assert log.tokens is not None
    assert (log.tokens == 60).all()
    assert log.tokens_in is None


@pytest.mark.parametrize("kind", ["tokens_in", "tokens_out"])
def test_one_kind_alone_is_no_total(kind: str) -> None:
    assert Trajectories.from_frame(turns(1).drop(columns=kind)).tokens is None


def test_a_turn_without_one_kind_makes_its_round_unknown() -> None:
    table = turns(1).astype({"tokens_out": "Int64"})
    table.loc[0, "tokens_out"] = pd.NA
    log = Trajectories.from_frame(table)
    assert np.isnan(log.tokens[0, 0])
    assert np.isnan(log.tokens_out[0, 0])
    assert log.tokens_in[0, 0] >= 0
    assert np.isfinite(log.tokens[0, 1:]).all()
    assert np.isfinite(log.tokens[1:]).all()


def test_kinds_survive_selection_and_joining() -> None:
    log = Trajectories.from_frame(turns(2))
    same(Trajectories.concat(log.select([0, 1]), log.select([2, 3])), log)
    assert log.select([3, 3]).tokens_out.shape == (2, 3)


def test_joined_with_a_log_of_totals_the_kinds_there_are_unknown_and_the_totals_known() -> None:
    log = Trajectories.from_frame(turns(2))
    plain = Trajectories.from_arrays([[["A", "B"]] * 3], tokens=[[7, 8, 9]], debates=["x"])
    both = Trajectories.concat(log, plain)
    assert np.isnan(both.tokens_in[4]).all()
    assert both.tokens[4].tolist() == [7, 8, 9]


def test_kinds_survive_a_file(tmp_path) -> None:
    table = turns(3).drop(columns="role")
    path = tmp_path / "log.csv"
    table.to_csv(path, index=False)
    same(Trajectories.from_log(path), Trajectories.from_frame(table))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tokens_in": [[1, 2]]}, "got no tokens_out"),
        (
            {"tokens": [[4, 4]], "tokens_in": [[1, 2]], "tokens_out": [[3, 4]]},
            "got 4 and 6 in debate '1', round 2",
        ),
        ({"tokens_in": [[1, -2]], "tokens_out": [[3, 4]]}, "tokens_in must be >= 0"),
        ({"tokens_in": [[1]], "tokens_out": [[3]]}, "must have shape"),
    ],
)
def test_kinds_that_do_not_go_together_are_refused(given: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Trajectories.from_arrays([[["A"], ["A"]]], **given)


@pytest.mark.parametrize(
    "world",
    [
        Courtroom(),
        Referees(),
        Referees(communication="simultaneous"),
        Referees(communication="simultaneous_with_summarizer"),
        Voter(panel=3, lengths=Lengths(spread=0.4)),
        Voter(panel=3, lengths=Lengths()),
    ],
    ids=lambda world: f"{world.name} {getattr(world, 'communication', '')}",
)
def test_every_world_with_tokens_has_their_kinds(world) -> None:
    drawn = simulate_debates(world, 30, 3, rng=1)
    np.testing.assert_allclose(drawn.tokens, drawn.tokens_in + drawn.tokens_out, rtol=1e-12)
    assert (drawn.tokens_out > 0).all()
    assert (drawn.tokens_in > drawn.tokens_out).all()


def test_kinds_of_a_courtroom_and_of_a_panel_are_those_of_their_own_functions() -> None:
    drawn = simulate_debates(Courtroom(), 20, 3, rng=5)
    sent, written = courtroom_tokens(Courtroom(), 20, 3, rng=5)
    np.testing.assert_array_equal(drawn.tokens_in, sent)
    np.testing.assert_array_equal(drawn.tokens_out, written)
    panel = simulate_debates(Voter(panel=3, lengths=Lengths()), 2, 3, rng=1)
    np.testing.assert_array_equal(panel.tokens_in[0], round_tokens(Lengths(), 3, 3)[0])
