"""A replay by hand, against a plain loop, and on real debates."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from layers import examples

from d3stats.planning import replay
from d3stats.resampling import cluster_t, ratios
from d3stats.stopping import FixedRounds, FullDepth, KSStability, Ladder, Unanimity
from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import Courtroom, simulate_debates

sys.path.insert(0, str(Path(__file__).parents[1] / "stopping"))
from stopping_strategies import RULES, logs


def by_hand() -> Trajectories:
    """Four debates of three questions whose every number can be counted on fingers."""
    votes = [
        [["A", "A", "A"], ["A", "A", "A"], ["A", "A", "A"]],  # agreed at once, right
        [["A", "B", "B"], ["A", "A", "B"], ["A", "A", "A"]],  # wrong, then right
        [["A", "A", "B"], ["B", "B", "B"], ["B", "B", "A"]],  # right, then wrong for good
        [[None, None, None], ["A", "B", "C"], ["C", "C", "B"]],  # silent, a tie, then C
    ]
    return Trajectories.from_arrays(
        votes,
        ["A", "A", "A", "C"],
        cluster=["q1", "q1", "q2", "q3"],
        tokens=[[10, 20, 30], [10, 20, 30], [10, 20, 30], [10, 20, 30]],
    )


def table(result: object, column: str) -> dict[str, float]:
    frame = result.to_frame().set_index("rule")  # type: ignore[attr-defined]
    return frame[column].to_dict()


def test_the_table_by_hand() -> None:
    result = replay(by_hand(), ["fixed:1", "fixed:2"])
    assert result.names == ("fixed:1", "fixed:2", "unanimity", "full")
    assert table(result, "rounds") == {"fixed:1": 1, "fixed:2": 2, "unanimity": 2.25, "full": 3}
    assert table(result, "tokens") == {"fixed:1": 10, "fixed:2": 30, "unanimity": 40, "full": 60}
    # The silent first round of the last debate is left out; the tie in its second goes to seat 1, wrong.
    assert table(result, "accuracy") == pytest.approx(
        {"fixed:1": 2 / 3, "fixed:2": 2 / 4, "unanimity": 3 / 4, "full": 3 / 4}
    )
    assert table(result, "flips") == pytest.approx(
        {"fixed:1": 2 / 3, "fixed:2": 1 / 4, "unanimity": 0, "full": 0}
    )
    assert table(result, "gained") == pytest.approx(
        {"fixed:1": 1 / 3, "fixed:2": 0, "unanimity": 0, "full": 0}
    )
    assert table(result, "lost") == pytest.approx(
        {"fixed:1": 1 / 3, "fixed:2": 1 / 4, "unanimity": 0, "full": 0}
    )
    # B leads 2 to 1 in the second debate before A wins; the tie that goes to C in the end is no wrong majority.
    assert table(result, "premature") == pytest.approx(
        {"fixed:1": 1 / 3, "fixed:2": 0, "unanimity": 0, "full": np.nan}, nan_ok=True
    )
    assert table(result, "saved_rounds_vs_unanimity") == pytest.approx(
        {"fixed:1": 1.25 / 2.25, "fixed:2": 0.25 / 2.25, "unanimity": 0, "full": -0.75 / 2.25}
    )
    assert table(result, "saved_tokens_vs_full") == pytest.approx(
        {"fixed:1": 5 / 6, "fixed:2": 1 / 2, "unanimity": 1 / 3, "full": 0}
    )


def test_a_silent_round_counted_as_wrong_is_a_flip_and_a_loss() -> None:
    result = replay(by_hand(), "fixed:1", missing="wrong")
    assert table(result, "accuracy")["fixed:1"] == pytest.approx(2 / 4)
    assert table(result, "flips")["fixed:1"] == pytest.approx(3 / 4)
    assert table(result, "lost")["fixed:1"] == pytest.approx(2 / 4)
    # Silence is a loss and no majority.
    assert table(result, "premature")["fixed:1"] == pytest.approx(1 / 4)


def test_a_premature_stop_is_one_on_a_wrong_majority_that_full_depth_turns_right() -> None:
    rng = np.random.default_rng(3)
    votes = rng.integers(0, 3, size=(300, 4, 4))
    votes[rng.random(votes.shape) < 0.1] = -1
    label, questions = rng.integers(0, 3, size=300), rng.integers(0, 40, size=300)
    texts = np.array(["A", "B", "C", None], dtype=object)
    t = Trajectories.from_arrays(texts[votes], texts[label], cluster=list(map(str, questions)))
    rules = ["fixed:1", "fixed:3", "supermajority:0.7", "unanimity"]
    result = replay(t, rules)
    frame, final = result.to_frame().set_index("rule"), t.verdicts()[:, -1]
    for name in rules:
        early = premature = 0
        for i, stop in enumerate(result.stops_of[name].rounds):
            cast = [v for v in t.votes[i, stop - 1] if v != MISSING]
            if stop == 4 or not cast or final[i] == MISSING:
                continue
            early += 1
            wrong = {a for a in cast if 2 * cast.count(a) > len(cast) and a != t.label[i]}
            premature += bool(wrong) and final[i] == t.label[i]
        assert premature > 0
        row = frame.loc[name]
        assert row["premature"] == pytest.approx(premature / early)
        assert row["premature_low"] < row["premature"] < row["premature_high"]
        assert premature <= row["lost"] * 300


def test_every_row_carries_its_settings() -> None:
    frame = replay(by_hand(), "ks", level=0.9).to_frame()
    assert set(frame["level"]) == {0.9}
    assert set(frame["missing"]) == {"exclude"}
    assert (set(frame["n_debates"]), set(frame["n_questions"])) == ({4}, {3})
    assert frame["decides"].tolist() == ["batch", "debate", "debate"]


def test_the_stops_add_up_and_draw() -> None:
    result = replay(by_hand(), ["fixed:2", "ks"])
    stops = result.stops()
    assert list(stops.columns) == ["rule", "round", "share", "reason"]
    assert stops.groupby("rule")["share"].sum().to_numpy() == pytest.approx(1)
    unanimity = stops[stops["rule"] == "unanimity"][["round", "share", "reason"]].to_numpy().tolist()
    assert unanimity == [
        [1, 0.25, "unanimity"],
        [2, 0.25, "unanimity"],
        [3, 0.25, "exhausted"],
        [3, 0.25, "unanimity"],
    ]


def test_the_plot_shows_every_rule() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    result = replay(by_hand(), "fixed:2")
    _, ax = plt.subplots()
    assert result.plot(ax=ax) is ax
    assert {"fixed:2", "unanimity", "full"} <= {label.get_text() for label in ax.get_yticklabels()}


def test_the_debates_one_by_one() -> None:
    frame = replay(by_hand(), "fixed:2").per_debate()
    assert len(frame) == 4 * 3
    row = frame[(frame["rule"] == "fixed:2") & (frame["debate"] == "4")].iloc[0]
    assert (row["question"], row["round"], row["reason"], row["verdict"]) == ("q3", 2, "fixed_rounds", "A")
    assert (row["full_verdict"], row["label"], bool(row["tied"])) == ("C", "C", True)
    assert (bool(row["correct"]), bool(row["flipped"]), row["tokens"]) == (False, True, 30)


def test_unknown_is_missing_in_the_debates_not_false() -> None:
    t = Trajectories.from_arrays([[["A"], ["A"]], [[None], ["A"]]], ["A", None], cluster=[1, 2])
    frame = replay(t, "fixed:1").per_debate()
    first = frame[frame["rule"] == "fixed:1"]
    assert first["correct"].isna().tolist() == [False, True]
    assert first["flipped"].isna().tolist() == [False, True]
    assert first["label"].isna().tolist() == [False, True]


@examples(4, 60)
def test_the_means_are_those_of_a_plain_loop(n_examples: int) -> None:
    settings(max_examples=n_examples)(given(logs(min_debates=2, min_rounds=1))(means_are_those_of_a_loop))()


def means_are_those_of_a_loop(t: Trajectories) -> None:
    t = t.select(t.depth > 0)
    if len(set(t.cluster.tolist())) < 2:
        return
    # A ladder beyond the panel is refused.
    rules = [rule for rule in RULES if not isinstance(rule, Ladder) or rule.votes[0] <= t.panel.max()]
    result = replay(t, rules)
    frame = result.to_frame().set_index("rule")
    verdicts = t.verdicts()
    for rule in rules:
        stops, reasons = rule.stop_rounds(t).rounds, rule.stop_rounds(t).reasons
        went_on = sum(reasons[i] == "exhausted" and t.depth[i] < t.n_rounds for i in range(t.n_debates))
        assert frame.loc[str(rule), "undecided"] == went_on
        if went_on:
            assert frame.loc[str(rule), ["rounds", "accuracy", "agreement", "flips"]].isna().all()
            continue
        scored, right, compared, same = 0, 0, 0, 0
        for i in range(t.n_debates):
            verdict = verdicts[i, stops[i] - 1] if stops[i] else MISSING
            final = verdicts[i, t.depth[i] - 1] if t.depth[i] else MISSING
            if verdict != MISSING and t.label[i] != MISSING:
                scored, right = scored + 1, right + (verdict == t.label[i])
            if verdict != MISSING and final != MISSING and (t.depth == t.n_rounds).all():
                compared, same = compared + 1, same + (verdict == final)
        row = frame.loc[str(rule)]
        assert row["rounds"] == pytest.approx(stops.mean())
        assert row["accuracy"] == pytest.approx(right / scored if scored else np.nan, nan_ok=True)
        assert row["agreement"] == pytest.approx(same / compared if compared else np.nan, nan_ok=True)
        assert row["flips"] == pytest.approx(1 - same / compared if compared else np.nan, nan_ok=True)


# ------------------------------------------------------------------ baselines and differences


def test_unanimity_and_full_depth_are_always_there_and_only_once() -> None:
    given_by_user = replay(by_hand(), [Unanimity(missing="block"), FixedRounds(1), FullDepth()])
    assert given_by_user.names == ("unanimity:missing=block", "fixed:1", "full")
    assert given_by_user.baseline == "unanimity:missing=block"


def test_what_was_said_when_the_log_was_read_is_said_once(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    rows = [f"q{d};{r};m{a};{'AB'[(d + a) % 2]};A" for d in range(6) for r in (0, 1) for a in range(3)]
    path.write_text("\n".join(["qid;turn;model;answer;gold", *rows]))
    notes = replay(path, ["fixed:1"]).notes
    assert len(notes) == len(set(notes))
    assert sum(note.startswith("columns: debate is 'qid'") for note in notes) == 1


def test_a_rule_that_is_named_twice_is_taken_once_and_the_notes_say_so() -> None:
    once = replay(by_hand(), ["fixed:1", "unanimity"])
    twice = replay(by_hand(), ["fixed:1", FixedRounds(1), "unanimity:missing=exclude"])
    pd.testing.assert_frame_equal(once.to_frame(), twice.to_frame())
    assert "Named more than once and used once: fixed:1." in twice.notes


def test_a_rule_that_saves_nothing_against_unanimity_says_so() -> None:
    result = replay(by_hand(), "unanimity | fixed:3")
    row = result.to_frame().set_index("rule").loc["unanimity | fixed:3"]
    assert row["saved_rounds_vs_full"] > 0.2
    assert row["saved_rounds_vs_unanimity"] == 0
    assert np.isnan(row["saved_rounds_vs_unanimity_high"]), "an interval without width is none"


def test_paired_differences_by_hand() -> None:
    result = replay(by_hand(), ["fixed:1", "fixed:2"])
    paired = result.paired().set_index(["rule", "against", "measure"])
    assert paired.loc[("fixed:1", "fixed:2", "rounds"), "difference"] == -1
    assert paired.loc[("fixed:1", "fixed:2", "tokens"), "difference"] == -20
    accuracy = paired.loc[("fixed:1", "full", "accuracy")]
    # Over the three debates that have a verdict under both: one won, one lost.
    assert (accuracy["difference"], accuracy["n_debates"]) == (0, 3)
    against = result.paired("unanimity")
    assert set(against["against"]) == {"unanimity"}
    assert set(against["rule"]) == {"fixed:1", "fixed:2", "full"}
    pd.testing.assert_frame_equal(against, result.paired(Unanimity()))
    with pytest.raises(ValueError, match=r"against must be one of 'fixed:1'.*got against='fixed:3'"):
        result.paired("fixed:3")


def test_the_cheapest_rule_by_hand() -> None:
    found = replay(by_hand(), ["fixed:1", "fixed:2"])
    # Unanimity plays 1 + 3 + 2 + 3 rounds. Over the three debates with a vote in round 1 both are right twice.
    row = found.cheapest(0.0).iloc[0]
    assert (row["rule"], row["measure"], row["loss"]) == ("fixed:1", "accuracy", 0.0)
    assert row["saved"] == pytest.approx(1 - 4 / 9)
    assert np.isnan(row["loss_low"]), "one of two questions has two of the three debates"
    # After two rounds the fourth debate is lost, which unanimity has right at the end.
    second = replay(by_hand(), "fixed:2")
    assert second.cheapest(0.24).empty
    assert second.cheapest(0.25).iloc[0][["rule", "loss"]].tolist() == ["fixed:2", 0.25]


def test_without_labels_the_cheapest_rule_is_chosen_by_flips() -> None:
    t = by_hand()
    bare = Trajectories.from_arrays(
        [[[None if v == MISSING else t.answers[v] for v in seat] for seat in debate] for debate in t.votes],
        cluster=["q1", "q1", "q2", "q3"],
    )
    row = replay(bare, ["fixed:1", "fixed:2"]).cheapest(0.25).iloc[0]
    assert (row["rule"], row["measure"], row["loss"]) == ("fixed:2", "flips", 0.25)
    paired = replay(bare, ["fixed:1", "fixed:2"]).to_frame().set_index("rule").loc["fixed:2"]
    assert (row["loss_low"], row["loss_high"]) == pytest.approx(
        (-paired["change_high"], -paired["change_low"]), nan_ok=True
    )


def test_a_rule_that_looks_at_right_answers_is_not_the_cheapest() -> None:
    found = replay(by_hand(), "ks:0.99,patience=1")
    assert table(found, "saved_rounds_vs_unanimity")["ks:0.99,patience=1"] > 0
    assert found.cheapest(1.0).empty


def test_nothing_is_cheapest_where_unanimity_is_undecided() -> None:
    votes = [[["A", "B"], ["A", "A"]], [["A", "B"], [None, None]], [["A", "A"], ["A", "A"]]]
    early = Trajectories.from_arrays(votes, ["A", "A", "A"], depth=[2, 1, 2])
    assert replay(early, "fixed:1").cheapest().empty


def test_a_paired_interval_is_shorter_than_the_difference_of_two() -> None:
    rng = np.random.default_rng(3)
    hard = rng.random(300) < 0.5
    votes = np.where(hard[:, None, None], 0, 1) * np.ones((300, 2, 3), dtype=int)
    votes[:20, 1] = 1
    t = Trajectories.from_arrays(votes, [1] * 300, answers=["wrong", "right"])
    result = replay(t, "fixed:1")
    paired = result.paired("full").set_index(["rule", "measure"]).loc[("fixed:1", "accuracy")]
    alone = result.to_frame().set_index("rule").loc["fixed:1"]
    assert paired["high"] - paired["low"] < 0.5 * (alone["accuracy_high"] - alone["accuracy_low"])
    assert paired["high"] < 0


def test_the_same_seed_gives_the_same_table_and_the_same_differences() -> None:
    first, second = (replay(by_hand(), "fixed:1") for _ in range(2))
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())
    pd.testing.assert_frame_equal(first.paired(), second.paired())
    pd.testing.assert_frame_equal(first.paired(), first.paired())


def test_the_table_cannot_be_changed_from_outside() -> None:
    result = replay(by_hand(), "fixed:1")
    frame = result.to_frame()
    frame["rounds"] = 0.0
    assert table(result, "rounds")["fixed:1"] == 1


# ------------------------------------------------------------------ what limits the table


@pytest.mark.parametrize("wide", [False, True])
def test_a_tie_goes_to_the_agent_whose_name_comes_first_and_the_note_says_so(wide: bool) -> None:
    """Whatever the order of rows or columns; agent 10 comes after agent 9."""
    votes = {"agent 10": "A", "agent 9": "B"}
    if wide:
        table = pd.DataFrame(
            {"question": [f"q{i}" for i in range(4)], **{name: [v] * 4 for name, v in votes.items()}}
        )
        table["label"] = "B"
    else:
        rows = [(f"q{i}", 1, agent, vote, "B") for i in range(4) for agent, vote in votes.items()]
        table = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])
    result = replay(table, "fixed:1")
    assert set(result.to_frame()["accuracy"]) == {1.0}
    [note] = [note for note in result.notes if "tied plurality" in note]
    assert "lowest seat (agents in the order of their names)" in note
    assert note.endswith(": 4 of 4 debates.")


def test_the_summary_says_what_limits_it() -> None:
    result = replay(by_hand(), ["fixed:1", "fixed:2", "ks"])
    text = result.summary()
    assert "95 % intervals over questions" in text
    assert "without any vote" in text
    assert "tied plurality" in text
    assert "whole batch: ks:0.05" in text
    assert "Uses the right answers" in text
    for name in result.names:
        assert any(line.split()[:1] == [name] for line in text.splitlines())


def test_no_flip_among_few_questions_is_not_no_flip() -> None:
    t = Trajectories.from_arrays([[["A", "A"], ["A", "A"]]] * 50, ["A"] * 50)
    notes = replay(t, ["fixed:1", "fixed:2"]).notes
    assert not any("flipped under fixed:2" in note or "; fixed:2" in note for note in notes)
    said = "No verdict flipped under fixed:1; unanimity, in 50 compared debates of 50 questions: "
    assert f"{said}the 95 % interval reaches 7.1 % flips." in notes


@pytest.mark.parametrize("compared", [2, 7, 30])
@pytest.mark.parametrize("per_question", [1, 3])
def test_the_limit_of_no_flip_is_that_of_the_table_over_the_debates_compared(
    compared: int, per_question: int
) -> None:
    """Of 90 debates only some have a vote in both rounds."""
    votes = np.zeros((90, 2, 2), dtype=int)
    votes[compared * per_question :, 0] = -1
    t = Trajectories.from_arrays(
        votes, [0] * 90, answers=["A", "B"], cluster=(np.arange(90) // per_question).tolist()
    )
    played = replay(t, ["fixed:1"])
    row = played.to_frame().set_index("rule").loc["fixed:1"]
    assert row["flips_high"] == pytest.approx(1 - 0.025 ** (1 / compared))
    (said,) = (note for note in played.notes if note.startswith("No verdict flipped under fixed:1"))
    assert f"in {compared * per_question} compared debates of {compared} questions" in said
    assert f"reaches {100 * row['flips_high']:.1f} % flips" in said


def test_no_savings_against_unanimity_where_nobody_votes_before_the_last_round() -> None:
    votes = np.full((40, 3, 3), -1)
    votes[:, 2] = np.arange(3) > 0
    t = Trajectories.from_arrays(votes, [0] * 40, answers=["A", "B"], tokens=[[100, 100, 100]] * 40)
    played = replay(t, ["fixed:2"])
    table = played.to_frame().set_index("rule")
    assert table[[c for c in table if "_vs_unanimity" in c]].isna().all(axis=None)
    assert table.loc["fixed:2", "saved_rounds_vs_full"] == pytest.approx(1 / 3)
    assert any(note.startswith("Savings against unanimity are left out") for note in played.notes)
    votes[0, 1, 0] = 1
    polled = Trajectories.from_arrays(votes, [0] * 40, answers=["A", "B"], tokens=[[100, 100, 100]] * 40)
    assert replay(polled, ["fixed:2"]).to_frame()["saved_rounds_vs_unanimity"].notna().all()


def test_votes_coded_by_correctness_are_flagged() -> None:
    t = Trajectories.from_arrays(
        [[[0, 1]], [[1, 1]]], [1, 1], answers=["wrong", "right"], coding="correctness"
    )
    assert any("correctness" in note for note in replay(t, "fixed:1").notes)


def test_without_labels_nothing_is_said_of_accuracy() -> None:
    t = Trajectories.from_arrays([[["A"], ["B"]], [["B"], ["B"]]])
    result = replay(t, "fixed:1")
    assert not {"accuracy", "gained", "lost", "tokens"} & set(result.to_frame().columns)
    assert table(result, "flips")["fixed:1"] == 0.5
    assert set(result.paired()["measure"]) == {"rounds"}
    assert "2 of 2 debates have no label" in result.summary()


def test_debates_with_unrecorded_tokens_are_left_out_under_every_rule() -> None:
    tokens = [[10.0, 10.0], [50.0, np.nan], [10.0, 30.0]]
    t = Trajectories.from_arrays([[["A"], ["A"]]] * 3, ["A"] * 3, tokens=tokens)
    result = replay(t, "fixed:1")
    assert table(result, "tokens") == {"fixed:1": 10, "unanimity": 10, "full": 30}
    assert any("leave out 1 of 3 debates" in note for note in result.notes)


# ------------------------------------------------------------------ tokens per accuracy point


def priced(tokens: float = 1.0, missing_in: int | None = None) -> Trajectories:
    """Six debates of three questions; two seats, two rounds; round 1 is right in 3 of 6, round 2 in 4 of 6."""
    right, wrong = ["A", "A"], ["B", "B"]
    votes = [[right, right], [right, wrong], [wrong, right], [right, right], [wrong, right], [wrong, wrong]]
    spent = tokens * np.array([[10.0, 40], [20, 40], [30, 40], [40, 40], [50, 40], [60, 40]])
    if missing_in is not None:
        spent[missing_in, 0] = np.nan
    return Trajectories.from_arrays(votes, ["A"] * 6, cluster=["p", "p", "q", "q", "r", "r"], tokens=spent)


def test_tokens_per_point_are_mean_tokens_over_accuracy_in_percentage_points() -> None:
    result = replay(priced(), "fixed:1")
    # Round 1: 35 tokens on average, 50 points; both rounds: 75 tokens, 66.67 points.
    assert table(result, "tokens_per_point")["fixed:1"] == pytest.approx(35 / 50)
    assert table(result, "tokens_per_point")["full"] == pytest.approx(75 / (200 / 3))
    frame = result.to_frame()
    quotient = (frame["tokens"] / (100 * frame["accuracy"])).to_numpy()
    assert frame["tokens_per_point"].to_numpy() == pytest.approx(quotient)
    assert "tokens per accuracy point" in result.summary()
    assert not any("Tokens per accuracy point take" in note for note in result.notes)


def test_the_limits_of_tokens_per_point_are_those_of_points_per_token_turned() -> None:
    rng = np.random.default_rng(5)
    right = rng.random((60, 1, 1)) < 0.7
    spent = rng.uniform(50, 150, (60, 1))
    t = Trajectories.from_arrays(
        np.where(right, "A", "B").tolist(),
        ["A"] * 60,
        cluster=np.repeat(np.arange(30), 2).tolist(),
        tokens=spent,
    )
    row = replay(t, "full").to_frame().set_index("rule").loc["full"]
    above, below = spent.reshape(30, 2).sum(axis=1), 100.0 * right.reshape(30, 2).sum(axis=1)
    limits = cluster_t(np.column_stack([below, above]), ratios((0, 1))).interval()
    found = (row["tokens_per_point_low"], row["tokens_per_point_high"])
    assert found == pytest.approx(tuple(1 / limit for limit in reversed(limits)))
    drawn = rng.integers(30, size=(20_000, 30))
    resampled = np.quantile(above[drawn].sum(axis=1) / below[drawn].sum(axis=1), [0.025, 0.975])
    assert found == pytest.approx(tuple(resampled), rel=0.05)


@pytest.mark.parametrize("factor", [2.0, 0.25])
def test_tokens_in_another_unit_scale_tokens_per_point_and_its_limits(factor: float) -> None:
    once, more = (replay(priced(f), "fixed:1").to_frame() for f in (1.0, factor))
    for end in ("", "_low", "_high"):
        name = f"tokens_per_point{end}"
        assert more[name].to_numpy() == pytest.approx(factor * once[name].to_numpy(), nan_ok=True)


def test_every_debate_twice_leaves_tokens_per_point_as_they_are() -> None:
    t = priced()
    twice = replay(t.select(np.repeat(np.arange(6), 2)), "fixed:1").to_frame()
    once = replay(t, "fixed:1").to_frame()
    names = [f"tokens_per_point{end}" for end in ("", "_low", "_high")]
    assert twice[names].to_numpy() == pytest.approx(once[names].to_numpy(), nan_ok=True)


def test_without_a_right_verdict_or_tokens_they_are_said_to_be_not_defined() -> None:
    never = Trajectories.from_arrays([[["B"]], [["B"]], [["B"]]], ["A"] * 3, tokens=[[5.0], [6], [7]])
    free = Trajectories.from_arrays([[["A"]], [["B"]], [["A"]]], ["A"] * 3, tokens=[[0.0], [0], [0]])
    for t in (never, free):
        result = replay(t, "fixed:1")
        values = result.to_frame()[[f"tokens_per_point{end}" for end in ("", "_low", "_high")]]
        assert values.isna().all(axis=None)
        assert any("Tokens per accuracy point are not defined" in note for note in result.notes)
        assert "not defined" in result.summary()
    unlabelled = Trajectories.from_arrays([[["A"]], [["B"]]], [None, None], tokens=[[5.0], [6]])
    assert "tokens_per_point" not in replay(unlabelled, "fixed:1").to_frame()


def test_resamples_without_a_right_verdict_leave_no_upper_limit_and_never_an_infinite_one() -> None:
    t = Trajectories.from_arrays(
        [[["A"]], [["B"]], [["B"]], [["B"]]], ["A"] * 4, tokens=[[5.0], [6], [7], [8]]
    )
    result = replay(t, "full")
    row = result.to_frame().set_index("rule").loc["full"]
    assert row["tokens_per_point"] == pytest.approx(6.5 / 25)
    assert row[["tokens_per_point_low", "tokens_per_point_high"]].isna().all()
    assert any("no interval" in note and "no upper limit" in note for note in result.notes)


def test_tokens_per_point_take_the_debates_that_have_both() -> None:
    result = replay(priced(missing_in=5), "fixed:1")
    assert table(result, "tokens_per_point")["fixed:1"] == pytest.approx(30 / 60)
    assert any("fewest under fixed:1: 5 of 6 debates" in note for note in result.notes)


def test_a_rule_without_a_single_verdict_has_no_accuracy_rather_than_a_silent_one() -> None:
    t = Trajectories.from_arrays([[[None], ["A"]], [[None], ["B"]]], ["A", "A"])
    result = replay(t, "fixed:1")
    assert np.isnan(result.to_frame().set_index("rule").loc["fixed:1", "accuracy"])
    assert any("most under fixed:1: 2 of 2" in note for note in result.notes)
    assert "accuracy" not in set(result.paired("full").query("rule == 'fixed:1'")["measure"])


@pytest.mark.parametrize("tokens", [None, np.ones((6, 3))])
def test_a_rule_has_no_accuracy_over_the_debates_that_ended_at_its_stop_by_themselves(
    tokens: np.ndarray | None,
) -> None:
    """Debates that end after two rounds and vote there are a selection of those that rounds 1 to 2 would give."""
    short, long = [[None], ["A"], [None]], [[None], [None], ["B"]]
    votes = [short, short, long, long, long, long]
    t = replace(Trajectories.from_arrays(votes, ["A"] * 6, tokens=tokens), depth=np.array([2, 2, 3, 3, 3, 3]))
    result = replay(t, ["fixed:1", "fixed:2"])
    frame = result.to_frame().set_index("rule")
    assert frame.loc[["fixed:1", "fixed:2"], "accuracy"].isna().all()
    paired = result.paired().query("measure == 'accuracy'")
    assert not paired["rule"].str.startswith("fixed").any()
    (silent,) = (note for note in result.notes if "Debates without any vote" in note)
    assert "fixed:1: 6 of 6; fixed:2: 4 of 6" in silent
    (why,) = (note for note in result.notes if note.startswith("No debate has a vote before its last round"))
    assert "no accuracy" in why
    assert "(fixed:1; fixed:2" in why
    per = result.per_debate().query("rule == 'fixed:2'")
    assert per["correct"].notna().sum() == 2
    counted = replay(t, "fixed:2", missing="wrong").to_frame().set_index("rule")
    assert counted.loc["fixed:2", "accuracy"] == pytest.approx(2 / 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"missing": "drop"}, r"missing must be one of 'exclude', 'wrong'"),
        ({"level": 1.0}, r"level must lie strictly between 0 and 1"),
        ({"rules": "sprout"}, r"rule must be one of"),
    ],
)
def test_what_cannot_be_replayed_is_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replay(by_hand(), **{"rules": "fixed:1", **arguments})


def test_one_question_is_no_sample_of_questions() -> None:
    with pytest.raises(
        ValueError, match=r"at least 2 questions, because intervals are over questions; got 1"
    ):
        replay(by_hand().select([0, 1]), "fixed:1")
    with pytest.raises(ValueError, match=r"at least one debate; got none"):
        replay(by_hand().select(np.array([], dtype=int)), "fixed:1")
    with pytest.raises(TypeError, match=r"rules must be stopping rules or their text; got 3"):
        replay(by_hand(), [3])  # type: ignore[list-item]


# ------------------------------------------------------------------ real debates


@pytest.mark.real_data
def test_on_seven_small_models_ks_alone_costs_more_than_unanimity(data_dir: Path) -> None:
    logged = pd.read_csv(data_dir / "derived" / "per_round_correct.csv")
    logged = logged[logged["log"].isin(["gsm_agents7", "mmlu_agents7"])]
    task, item = logged["log"].str.split("_").str[0], logged["item"].astype(str)
    turns = logged.assign(debate=logged["model"] + "/" + task + "/" + item, question=task + "/" + item)
    t = Trajectories.from_frame(turns[["debate", "round", "agent", "correct", "question", "log"]])
    assert (t.n_debates, t.n_rounds, len(t.cluster_names)) == (160, 3, 40)
    result = replay(t, ["fixed:1", "ks:0.05,patience=2", "unanimity | ks:0.05"])
    frame = result.to_frame().set_index("rule")
    assert frame["rounds"].round(4).to_dict() == {
        "fixed:1": 1.0,
        "ks:0.05": 3.0,
        "unanimity | ks:0.05": 1.6125,
        "unanimity": 1.6125,
        "full": 3.0,
    }
    assert frame.loc["unanimity", "accuracy"] == pytest.approx(121 / 158)
    assert frame.loc["full", "accuracy"] == pytest.approx(120 / 157)
    assert frame.loc["ks:0.05", "saved_rounds_vs_unanimity_high"] < -0.5
    assert frame.loc["unanimity | ks:0.05", "saved_rounds_vs_unanimity"] == 0
    ks = KSStability().distances(t)
    assert ks == pytest.approx((None, 17 / 157, 5 / 157), abs=1e-12)


def test_a_log_without_any_vote_is_refused_unless_a_rule_reads_scores() -> None:
    log = simulate_debates(Courtroom(poll="every_round"), 30, 3, rng=1)
    silent = replace(log, votes=np.full_like(log.votes, MISSING))
    with pytest.raises(ValueError, match="must hold at least one vote"):
        replay(silent, ["fixed:1", "unanimity"])
    rounds = [replay(one, "d3_paper").to_frame().set_index("rule")["rounds"].iloc[0] for one in (silent, log)]
    assert rounds[0] == rounds[1]


def test_where_debates_ended_before_a_rule_the_rounds_shown_are_the_least_that_it_takes() -> None:
    rows = [
        (d, r, j, "A", "A") for d, depth in (("d1", 3), ("d2", 1)) for r in range(1, depth + 1) for j in "xy"
    ]
    played = replay(pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"]), ["fixed:1"])
    shown = played._shown()["Rules"].set_index("rule")["rounds"]
    assert shown["full"] == "2.00 or more"  # (3 + 1) / 2 were played
    assert shown["fixed:1"].startswith("1.00")
    assert played.to_frame().set_index("rule")["rounds"].isna()["full"]
