"""The array view says of each debate what a person reading its votes would say."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d3stats.counts import ConfusionCounts, Counts, RoundCounts, TransitionCounts
from d3stats.trajectories import MISSING, Trajectories

Vote = str | None
Debate = dict[str, Any]
"""A debate as plain Python: ``label``, ``question`` and ``rounds``, each a list of one vote per agent."""

answers = st.sampled_from(["A", "B", "C"])
votes = st.one_of(st.none(), answers)


@st.composite
def debates(draw: st.DrawFn, max_debates: int = 5) -> list[Debate]:
    """Panels and depths vary, agents are named differently in each debate, votes and labels go missing."""
    result = []
    for number in range(draw(st.integers(1, max_debates))):
        panel = draw(st.integers(1, 4))
        depth = draw(st.integers(1, 3))
        stem = draw(st.sampled_from(["agent ", "juror-", f"model{number}_"]))
        result.append(
            {
                "debate": f"d{number}",
                "question": f"q{draw(st.integers(0, 2))}",
                "label": draw(votes),
                "agents": [f"{stem}{i + 8}" for i in range(panel)],
                "rounds": [draw(st.lists(votes, min_size=panel, max_size=panel)) for _ in range(depth)],
            }
        )
    return result


def tables(data: list[Debate]) -> tuple[pd.DataFrame, pd.DataFrame]:
    turns = [
        {"debate": d["debate"], "round": r, "agent": agent, "vote": vote}
        for d in data
        for r, row in enumerate(d["rounds"], start=1)
        for agent, vote in zip(d["agents"], row, strict=True)
    ]
    items = [{k: d[k] for k in ("debate", "question", "label")} for d in data]
    return pd.DataFrame(turns).astype({"vote": object}), pd.DataFrame(items).astype({"label": object})


def from_tables(data: list[Debate]) -> Trajectories:
    return Trajectories.from_frame(*tables(data))


def built(data: list[Debate]) -> Trajectories:
    array, depth, panel = cube(data)
    return Trajectories.from_arrays(
        array,
        [d["label"] for d in data],
        cluster=[d["question"] for d in data],
        depth=depth,
        panel=panel,
        debates=[d["debate"] for d in data],
    )


def cube(data: list[Debate]) -> tuple[np.ndarray[Any, Any], list[int], list[int]]:
    depth = [len(d["rounds"]) for d in data]
    panel = [len(d["agents"]) for d in data]
    array = np.full((len(data), max(depth), max(panel)), None, dtype=object)
    for i, d in enumerate(data):
        for r, row in enumerate(d["rounds"]):
            array[i, r, : len(row)] = row
    return array, depth, panel


def plain(data: list[Debate], of: Any, absent: Any) -> list[list[Any]]:
    """Apply `of` to the votes of each round, `absent` where a round was not reached."""
    longest = max(len(d["rounds"]) for d in data)
    return [[of(d["rounds"][r], d) if r < len(d["rounds"]) else absent for r in range(longest)] for d in data]


# ---------------------------------------------------------------- against a plain reading, debate by debate


@given(debates())
def test_missing_votes_excluded_shrink_the_trials(data: list[Debate]) -> None:
    def count(row: list[Vote], d: Debate) -> tuple[int, int]:
        cast = [v for v in row if v is not None]
        return (cast.count(d["label"]), len(cast)) if d["label"] is not None else (0, 0)

    successes, trials = built(data).successes_trials("exclude")
    assert np.stack([successes, trials], axis=2).tolist() == [
        [list(x) for x in row] for row in plain(data, count, (0, 0))
    ]


@given(debates())
def test_missing_votes_counted_wrong_leave_the_trials_at_the_panel(data: list[Debate]) -> None:
    def count(row: list[Vote], d: Debate) -> tuple[int, int]:
        if d["label"] is None:
            return 0, 0
        return sum(v == d["label"] for v in row), len(row)

    successes, trials = built(data).successes_trials("wrong")
    assert np.stack([successes, trials], axis=2).tolist() == [
        [list(x) for x in row] for row in plain(data, count, (0, 0))
    ]


@given(debates())
def test_a_round_is_unanimous_when_the_votes_cast_are_one_answer(data: list[Debate]) -> None:
    expected = plain(data, lambda row, _: len({v for v in row if v is not None}) == 1, False)
    assert built(data).unanimous().tolist() == expected


@given(debates())
def test_the_verdict_is_the_plurality_and_a_tie_goes_to_the_lowest_seat(data: list[Debate]) -> None:
    def winner(row: list[Vote], _: Debate) -> Vote:
        support = Counter(v for v in row if v is not None)
        leaders = [a for a, n in support.items() if n == max(support.values())]
        return next((v for v in row if v in leaders), None)

    t = built(data)
    said = [[None if c == MISSING else t.answers[c] for c in row] for row in t.verdicts()]
    assert said == plain(data, winner, None)


@given(debates())
def test_a_round_is_tied_when_two_answers_lead(data: list[Debate]) -> None:
    def tied(row: list[Vote], _: Debate) -> bool:
        support = sorted(Counter(v for v in row if v is not None).values(), reverse=True)
        return len(support) > 1 and support[0] == support[1]

    assert built(data).tied().tolist() == plain(data, tied, False)


@given(debates())
def test_the_shape_says_who_sat_and_how_long(data: list[Debate]) -> None:
    t = built(data)
    assert t.panel.tolist() == [len(d["agents"]) for d in data]
    assert t.depth.tolist() == [len(d["rounds"]) for d in data]
    assert t.reached().sum(axis=1).tolist() == t.depth.tolist()
    assert [t.cluster_names[c] for c in t.cluster] == [d["question"] for d in data]
    assert len(t) == t.n_debates == len(data)


@given(debates())
def test_counts_are_a_plain_count_of_rounds_with_a_vote_and_a_label(data: list[Debate]) -> None:
    rows = [
        (r, [v for v in row if v is not None].count(d["label"]), sum(v is not None for v in row))
        for d in data
        for r, row in enumerate(d["rounds"], start=1)
        if d["label"] is not None and any(v is not None for v in row)
    ]
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    assert built(data).counts() == RoundCounts.from_columns(*(list(c) for c in columns))


@given(debates())
def test_transitions_join_two_rounds_that_both_have_a_vote(data: list[Debate]) -> None:
    def cell(row: list[Vote], label: Vote) -> tuple[int, int]:
        cast = [v for v in row if v is not None]
        return cast.count(label), len(cast)

    rows = []
    for d in data:
        if d["label"] is None:
            continue
        seen = [cell(row, d["label"]) for row in d["rounds"]]
        for r, (a, b) in enumerate(itertools.pairwise(seen), start=1):
            if a[1] and b[1]:
                rows.append((r, *a, *b))
    columns = zip(*rows, strict=True) if rows else ([],) * 5
    assert built(data).transitions() == TransitionCounts.from_columns(*(list(c) for c in columns))


@given(debates())
def test_the_confusion_table_counts_the_verdicts_of_a_round(data: list[Debate]) -> None:
    t = built(data)
    for r in t.rounds:
        said = [None if c == MISSING else t.answers[c] for c in t.verdicts()[:, r - 1]]
        assert t.confusion(r) == ConfusionCounts.from_pairs([d["label"] for d in data], said)


# ---------------------------------------------------------------- parts and wholes


@given(debates(max_debates=4), debates(max_debates=4))
def test_counts_of_two_logs_add_to_the_counts_of_both(a: list[Debate], b: list[Debate]) -> None:
    renamed = [{**d, "debate": f"second {d['debate']}"} for d in b]
    both = built(a + renamed)
    for missing in ("exclude", "wrong"):
        assert built(a).counts(missing) + built(b).counts(missing) == both.counts(missing)
        assert built(a).transitions(missing) + built(b).transitions(missing) == both.transitions(missing)
    shared = range(1, min(built(a).n_rounds, built(b).n_rounds) + 1)
    for r in shared:
        assert built(a).confusion(r) + built(b).confusion(r) == both.confusion(r)


@given(debates(), st.data())
def test_selected_debates_keep_everything_of_their_own(data: list[Debate], choose: Any) -> None:
    at = choose.draw(st.lists(st.integers(0, len(data) - 1), min_size=1, max_size=6))
    t = built(data)
    part = t.select(at)
    assert part.debates == tuple(data[i]["debate"] for i in at)
    assert [part.cluster_names[c] for c in part.cluster] == [data[i]["question"] for i in at]
    assert set(part.cluster_names) == {data[i]["question"] for i in at}
    assert part.unanimous().tolist() == t.unanimous()[at].tolist()
    assert part.verdicts().tolist() == t.verdicts()[at].tolist()
    whole = [x.tolist() for x in t.successes_trials()]
    assert [x.tolist() for x in part.successes_trials()] == [[x[i] for i in at] for x in whole]


@given(debates(), st.data())
def test_a_mask_and_its_complement_split_the_counts(data: list[Debate], choose: Any) -> None:
    mask = np.array(choose.draw(st.lists(st.booleans(), min_size=len(data), max_size=len(data))))
    t = built(data)
    assert t.select(mask).counts() + t.select(~mask).counts() == t.counts()


@given(debates())
def test_a_table_and_an_array_of_the_same_votes_are_the_same(data: list[Debate]) -> None:
    a, b = from_tables(data), built(data)
    for name in ("votes", "label", "depth", "panel", "cluster"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name in ("answers", "debates", "cluster_names", "coding"):
        assert getattr(a, name) == getattr(b, name)
    assert a.counts() == b.counts()


@given(debates(), st.randoms(use_true_random=False))
def test_the_order_of_the_turns_does_not_matter(data: list[Debate], random: Any) -> None:
    turns, items = tables(data)
    order = list(range(len(turns)))
    random.shuffle(order)
    shuffled = Trajectories.from_frame(turns.iloc[order], items)
    np.testing.assert_array_equal(shuffled.votes, from_tables(data).votes)
    assert shuffled.seats == from_tables(data).seats


# ---------------------------------------------------------------- reading tables


def one_debate(**columns: Any) -> pd.DataFrame:
    base = {"debate": "d", "round": [1, 1, 2, 2], "agent": ["x", "y", "x", "y"], "vote": ["A", "B", "A", "A"]}
    return pd.DataFrame(base | columns)


def test_agents_take_seats_in_the_natural_order_of_their_names() -> None:
    names = [f"agent {i}" for i in (10, 9, 2, 1)]
    frame = pd.DataFrame({"debate": "d", "round": 1, "agent": names, "vote": ["D", "C", "B", "A"]})
    t = Trajectories.from_frame(frame)
    assert t.seats == ("agent 1", "agent 2", "agent 9", "agent 10")
    assert [t.answers[c] for c in t.votes[0, 0]] == ["A", "B", "C", "D"]


def test_seats_are_numbered_when_agents_change_between_debates() -> None:
    frame = pd.DataFrame(
        {"debate": ["a", "a", "b"], "round": 1, "agent": ["gpt", "llama", "qwen"], "vote": ["A", "B", "A"]}
    )
    t = Trajectories.from_frame(frame)
    assert t.seats == ("agent 1", "agent 2")
    assert t.panel.tolist() == [2, 1]
    assert t.votes[1, 0].tolist() == [0, MISSING]


def test_an_agent_that_is_silent_in_a_round_has_a_missing_vote_there() -> None:
    frame = one_debate().drop(index=3)
    t = Trajectories.from_frame(frame.assign(label="A"))
    successes, trials = t.successes_trials("exclude")
    assert (successes.tolist(), trials.tolist()) == ([[1, 1]], [[2, 1]])
    assert t.successes_trials("wrong")[1].tolist() == [[2, 2]]


def test_a_correctness_table_says_right_and_wrong_and_no_more() -> None:
    frame = one_debate(correct=[1, 0, None, 0]).drop(columns="vote")
    t = Trajectories.from_frame(frame)
    assert t.coding == "correctness"
    assert t.successes_trials()[0].tolist() == [[1, 0]]
    assert t.successes_trials()[1].tolist() == [[2, 1]]
    assert t.unanimous().tolist() == [[False, True]]


def test_tokens_of_a_round_add_up_and_one_gap_makes_the_total_unknown() -> None:
    frame = one_debate(tokens_in=[1, 2, 3, None], tokens_out=[10, 20, 30, 40])
    tokens = Trajectories.from_frame(frame).tokens
    assert tokens is not None
    assert tokens[0, 0] == 33
    assert np.isnan(tokens[0, 1])


def test_scores_add_criteria_and_average_the_agents_that_scored_every_side() -> None:
    scores = [
        {"pro": {"logic": 3.0, "style": 2.0}, "con": {"logic": 1.0, "style": 2.0}},
        {"pro": {"logic": 1.0, "style": 0.0}},
        None,
        {"con": {"logic": 4.0}},
    ]
    t = Trajectories.from_frame(one_debate(scores=scores))
    assert t.sides == ("con", "pro")
    assert t.scores is not None
    np.testing.assert_array_equal(t.scores, [[[3.0, 5.0], [4.0, np.nan]]])
    assert any("1 of 3 turns with scores has only a part of them" in note for note in t.notes)


def test_a_debate_of_items_without_turns_is_kept_with_no_rounds() -> None:
    items = pd.DataFrame({"debate": ["d", "silent"], "label": ["A", "B"]})
    t = Trajectories.from_frame(one_debate(), items)
    assert t.depth.tolist() == [2, 0]
    assert t.counts().n_obs == 2


def test_the_cluster_is_the_question_unless_one_is_named() -> None:
    items = pd.DataFrame({"debate": ["d"], "question": ["q"], "cluster": [None]})
    assert Trajectories.from_frame(one_debate(), items).cluster_names == ("q",)
    assert Trajectories.from_frame(one_debate(), items.assign(cluster="c")).cluster_names == ("c",)
    assert Trajectories.from_frame(one_debate()).cluster_names == ("d",)


def test_whole_number_votes_meet_their_label_though_a_vote_is_missing() -> None:
    """A column of whole numbers with a gap becomes one of floats; 52.0 is still the answer 52."""
    frame = one_debate(vote=[52, 52, None, 7], label=52)
    t = Trajectories.from_frame(frame)
    assert t.successes_trials()[0].tolist() == [[2, 0]]
    u = Trajectories.from_arrays(np.array([[[52.0, np.nan]]]), label=np.array([52]))
    assert u.successes_trials()[0].tolist() == [[1]]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (one_debate().drop(columns="agent"), "a table must have a column for agent; got debate, round, vote"),
        (one_debate().drop(columns="vote"), r"a table must have a column for vote \(or correct\)"),
        (
            one_debate(agent=["x", "x", "x", "y"]),
            "an agent must speak once per round; got debate='d', round=1",
        ),
        (
            one_debate(round=[1, 1, 3, 3]),
            "rounds must follow one another from 1; got round=3 but no round 2 in debate 'd'",
        ),
        (
            one_debate(round=[-1, -1, 1, 1]),
            "line 1: wrong field: round must be a whole number >= 0; got round='-1'",
        ),
        (
            one_debate(agent=["x", None, "x", "y"]),
            "line 2: wrong field: agent must be given with the other of round and agent",
        ),
        (
            one_debate(label=["A", "A", "A", "B"]),
            "label must be one per debate; got label='B' for debate 'd', but 'A' at the table:1",
        ),
        (
            one_debate(correct=[1, 0, 2, 0]).drop(columns="vote"),
            "line 3: wrong field: correct must be 0, 1 or empty; got correct='2'",
        ),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Trajectories.from_frame(frame)


def test_rounds_that_count_from_0_are_shifted_and_that_is_said() -> None:
    t = Trajectories.from_frame(one_debate(round=[0, 0, 1, 1]))
    assert t.votes.tolist() == Trajectories.from_frame(one_debate()).votes.tolist()
    assert "the table: rounds count from 0 and were shifted to count from 1" in t.remarks()


def test_a_turn_of_an_unlisted_debate_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match="line 1: unknown debate: debate must have an item; got debate='d'"):
        Trajectories.from_frame(one_debate(), pd.DataFrame({"debate": ["other"]}))


def test_a_debate_listed_twice_is_one_where_both_say_the_same_and_refused_by_its_name_where_not() -> None:
    items = pd.DataFrame({"debate": ["d", "d"], "label": ["A", "A"]})
    once, twice = (Trajectories.from_frame(one_debate(), items[:n]) for n in (1, 2))
    assert once.counts() == twice.counts()
    assert len(twice) == 1
    with pytest.raises(
        ValueError, match=r"the items, line 2: .*label must be one per debate; got label='B' for debate 'd'"
    ):
        Trajectories.from_frame(one_debate(), items.assign(label=["A", "B"]))


def test_a_round_that_is_no_whole_number_is_refused() -> None:
    with pytest.raises(ValueError, match="round"):
        Trajectories.from_frame(one_debate(round=[1, 1, 2.5, 2.5]))


# ---------------------------------------------------------------- arrays


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"votes": [["A"]]}, r"votes must have shape \(debates, rounds, seats\); got shape \(1, 1\)"),
        ({"label": ["A", "B"]}, r"label must have one value per debate \(1\); got shape \(2,\)"),
        ({"cluster": ["q", "r"]}, r"cluster must have one value per debate \(1\); got 2"),
        ({"depth": [3]}, "depth must lie between 0 and 1; got 3 to 3"),
        ({"panel": [3]}, "panel must lie between 0 and 2; got 3 to 3"),
        ({"depth": [-1]}, "depth must be >= 0"),
        ({"tokens": [[1.0, 2.0]]}, r"tokens must have shape \(1, 1\); got \(1, 2\)"),
        (
            {"scores": [[[1.0]]], "sides": ["pro", "con"]},
            r"scores must have shape \(1, 1, 2\); got \(1, 1, 1\)",
        ),
        ({"debates": ["a", "b"]}, "debates must have 1 names; got 2"),
        ({"seats": ["a"]}, "seats must have 2 names; got 1"),
        ({"groups": ["a", "b"]}, "groups must have 1 names; got 2"),
        (
            {"votes": [[[0, 2]]], "answers": ["A", "B"]},
            "votes must be codes from -1 to 1; got codes from 0 to 2",
        ),
        ({"votes": [[[0, -2]]], "answers": ["A", "B"]}, "votes must be codes from -1 to 1"),
        ({"votes": [[[0, 1]]], "answers": ["A", "B"], "label": [5]}, "label must be codes from -1 to 1"),
    ],
)
def test_arrays_that_disagree_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Trajectories.from_arrays(**({"votes": [[["A", "B"]]]} | arguments))


@pytest.mark.parametrize("votes", [[[[0.5, 1.0]]], [[[np.nan, 1.0]]]])
def test_codes_that_are_no_whole_numbers_are_refused(votes: Any) -> None:
    with pytest.raises(ValueError, match="votes must be whole numbers"):
        Trajectories.from_arrays(votes, answers=["A", "B"])


def test_votes_after_the_last_round_played_are_refused() -> None:
    with pytest.raises(ValueError, match="votes must be missing after a debate's depth"):
        Trajectories.from_arrays([[["A", "A"], ["A", "A"]]], label=["A"], depth=[1])


def test_votes_on_a_seat_that_is_not_taken_are_refused() -> None:
    with pytest.raises(ValueError, match="votes must be missing on seats beyond a debate's panel"):
        Trajectories.from_arrays([[["A", "A"]]], label=["A"], panel=[1])


def test_a_mask_of_another_length_is_refused() -> None:
    t = Trajectories.from_arrays([[["A"]], [["B"]]])
    with pytest.raises((ValueError, IndexError), match="debates"):
        t.select([True])


def test_one_way_of_counting_the_missing_or_the_other() -> None:
    t = Trajectories.from_arrays([[["A", None]]], label=["A"])
    with pytest.raises(ValueError, match="missing must be one of 'exclude', 'wrong'; got missing='right'"):
        t.counts("right")  # type: ignore[arg-type]


def test_a_round_out_of_range_has_no_confusion_table() -> None:
    t = Trajectories.from_arrays([[["A"]]], label=["A"])
    for r in (0, 2):
        with pytest.raises(ValueError, match=f"round_number must lie between 1 and 1; got {r}"):
            t.confusion(r)


def test_the_arrays_cannot_be_changed_and_the_input_stays_free() -> None:
    codes = np.array([[[0, 1]]], dtype=np.int32)
    t = Trajectories.from_arrays(codes, answers=["A", "B"], label=[0])
    with pytest.raises(ValueError, match="read-only"):
        t.votes[0, 0, 0] = 1
    codes[0, 0, 0] = 1
    assert t.votes[0, 0, 0] == 0


def test_what_a_caller_does_to_a_result_does_not_change_the_next_one() -> None:
    t = Trajectories.from_arrays([[["A", "B", "A"]]], label=["A"])
    for ask in (lambda: t.successes_trials()[0], t.verdicts, t.tied):
        before = ask().copy()
        with contextlib.suppress(ValueError, TypeError):
            ask()[...] = 1 - ask()
        np.testing.assert_array_equal(ask(), before)


def test_no_debates_are_a_log_too() -> None:
    t = Trajectories.from_arrays(np.empty((0, 2, 3), dtype=object))
    assert len(t) == 0
    assert t.counts() == RoundCounts.empty()
    assert t.transitions() == TransitionCounts.empty()
    assert t.unanimous().shape == (0, 2)
    assert t.confusion(1) == ConfusionCounts.empty()


def test_a_debate_without_a_label_is_counted_nowhere() -> None:
    t = Trajectories.from_arrays([[["A", "A"]], [["A", "B"]]], label=[None, "A"])
    assert t.counts()[1] == Counts.from_columns([1], [2])
    assert t.unanimous().tolist() == [[True], [False]]


def test_codes_without_their_answers_are_refused() -> None:
    coded = Trajectories.from_arrays([[["A", None, "B"]], [["B", "B", "B"]]], ["A", None])
    with pytest.raises(ValueError, match="votes must be answers if answers= is not given; got -1"):
        Trajectories.from_arrays(coded.votes, ["A", "B"])
    with pytest.raises(ValueError, match="label must be answers"):
        Trajectories.from_arrays([[["A"]], [["B"]]], coded.label)
    again = Trajectories.from_arrays(coded.votes, coded.label, answers=coded.answers)
    assert np.array_equal(again.votes, coded.votes)
    assert Trajectories.from_arrays([[["-1", "2"]]], ["-1"]).answers == ("-1", "2")
