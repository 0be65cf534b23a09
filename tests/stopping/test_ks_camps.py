"""What KS rules see, and cannot see, when nobody knows the right answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d3stats.stopping import KSStability, NoiseAwareKS, batch_rounds, from_text
from d3stats.trajectories import MISSING, Trajectories


def swinging(n: int = 200) -> Trajectories:
    """Half of the debates go from 6 of 7 for A to 6 of 7 for B, the other half the other way."""
    votes = np.zeros((n, 3, 7), dtype=int)
    votes[: n // 2, 0, 1:] = 1
    votes[n // 2 :, 1:, 1:] = 1
    votes[: n // 2, 1:, 0] = 1
    votes[n // 2 :, 0, 0] = 1
    label = [0] * n
    return Trajectories.from_arrays(votes, label, answers=["A", "B"])


def unlabelled(t: Trajectories) -> Trajectories:
    return replace(t, label=np.full(t.n_debates, MISSING, dtype=np.int32))


@pytest.mark.parametrize("camp", ["first", "largest"])
def test_a_batch_in_which_every_verdict_flips_looks_still_without_labels(camp: str) -> None:
    log = unlabelled(swinging())
    assert (log.verdicts()[:, 0] != log.verdicts()[:, 1]).all()
    rule = KSStability(0.05, patience=1, camp=camp)  # type: ignore[arg-type]
    assert rule.distances(log)[1] == 0.0
    assert set(rule.stop_rounds(log).rounds.tolist()) == {2}


def test_the_first_answers_count_sees_what_the_largest_camp_does_not() -> None:
    one_way = unlabelled(swinging()).select(np.arange(100))
    assert KSStability(camp="largest").distances(one_way)[1] == 0.0
    assert KSStability(camp="first").distances(one_way)[1] == 1.0


def test_the_camp_of_the_first_answer_is_the_right_one_where_the_first_answer_is_right() -> None:
    rng = np.random.default_rng(1)
    t = Trajectories.from_arrays(rng.integers(0, 2, (40, 4, 5)), [0] * 40, answers=["A", "B"])
    assert KSStability(camp="first").distances(t) == KSStability().distances(t)


def test_the_largest_camp_is_counted_over_many_answers_and_missing_votes() -> None:
    votes = [[["x", "y", "y", None]], [["x", "y", "z", None]]]
    t = Trajectories.from_arrays(votes)
    latest = next(iter(batch_rounds(t)))
    ones, trials = latest.camp_trials("largest", "exclude")
    assert (ones.tolist(), trials.tolist()) == ([2, 1], [3, 3])
    assert latest.camp_trials("largest", "wrong")[1].tolist() == [4, 4]


ANSWERS = ("d", "b", "10", "9", "a", "C")


@st.composite
def few_debates(draw: st.DrawFn) -> Trajectories:
    """One to four debates with more answers than debates or seats."""
    shape = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    size = int(np.prod(shape))
    votes = draw(st.lists(st.sampled_from((*ANSWERS, None)), min_size=size, max_size=size))
    label = draw(st.lists(st.sampled_from((*ANSWERS, None)), min_size=shape[0], max_size=shape[0]))
    return Trajectories.from_arrays(np.array(votes, dtype=object).reshape(shape), label)


@given(few_debates())
def test_camps_of_small_batches_with_many_answers_are_those_that_one_counts_by_hand(t: Trajectories) -> None:
    for latest in batch_rounds(t):
        said = [[t.answers[v] for v in row if v != MISSING] for row in latest.votes.tolist()]
        first = min((answer for row in said for answer in row), default=None)
        largest = [max(Counter(row).values(), default=0) for row in said]
        assert latest.camp_trials("largest", "exclude")[0].tolist() == largest
        assert latest.camp_trials("first", "exclude")[0].tolist() == [row.count(first) for row in said]
        right = [0 if v == MISSING else row.count(t.answers[v]) for row, v in zip(said, t.label, strict=True)]
        assert latest.camp_trials("right", "exclude")[0].tolist() == right


def relisted(t: Trajectories, answers: list[str]) -> Trajectories:
    """The same votes and labels, coded by another list of answers."""
    table = np.array([*(answers.index(answer) for answer in t.answers), MISSING], dtype=np.int32)
    return replace(t, votes=table[t.votes], label=table[t.label], answers=tuple(answers))


@given(few_debates(), st.permutations([*ANSWERS, "A listed answer that nobody votes"]))
def test_no_camp_depends_on_which_answers_are_listed_or_in_which_order(
    t: Trajectories, answers: list[str]
) -> None:
    for camp in ("right", "first", "largest"):
        if camp == "right" and (t.label == MISSING).all():
            continue
        rule = KSStability(camp=camp)  # type: ignore[arg-type]
        assert rule.distances(relisted(t, answers)) == rule.distances(t)


def test_the_first_answer_is_that_of_the_first_round_with_a_vote_whatever_is_said_later() -> None:
    votes = [[[None, None], ["c", "b"], ["a", "b"], ["a", "a"]]] * 2
    t = Trajectories.from_arrays(np.array(votes, dtype=object))
    # b has 1, 1 and 0 of two votes; a, which sorts before it, comes too late to be the first.
    assert KSStability(camp="first").distances(t) == (None, None, 0.0, 1.0)


def test_only_the_right_camp_needs_labels() -> None:
    log = unlabelled(swinging())
    for make in (KSStability, NoiseAwareKS):
        assert make().needs_labels
        assert not make(camp="largest").needs_labels
        make(camp="largest").stop_rounds(log)
        with pytest.raises(
            ValueError,
            match=r"label must be known.*camp=first and camp=largest need no "
            r"label",
        ):
            make().stop_rounds(log)


def test_the_camp_is_part_of_the_rules_text() -> None:
    assert from_text("ks:0.05,camp=largest") == KSStability(0.05, camp="largest")
    assert str(KSStability(0.05, camp="largest")) == "ks:0.05,camp=largest"
    with pytest.raises(ValueError, match=r"camp must be one of 'right', 'first', 'largest'"):
        from_text("ks:0.05,camp=wrong")


def test_a_round_without_a_vote_has_no_first_answer() -> None:
    silent = Trajectories.from_arrays([[[None, None]], [[None, None]]])
    assert [r.first_answer() for r in batch_rounds(silent)] == [MISSING]
    (one,) = batch_rounds(Trajectories.from_arrays([[["b", None]], [["a", "c"]]]))
    assert one.answers[one.first_answer()] == "a"
