"""``compare``: runs in, differences with intervals out, and a family that counts every pair."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import d3stats
from d3stats.inference import Comparison, ItemMismatch, compare, paired_difference
from d3stats.inference.comparison.multiplicity import adjust
from d3stats.worlds import Conformity, simulate_debates


def table(share: float, seed: int, n: int = 120, per_cluster: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    hard = np.random.default_rng(0).random(n)
    return pd.DataFrame(
        {
            "item": [f"q{k}" for k in range(n)],
            "cluster": [f"c{k // per_cluster}" for k in range(n)],
            "correct": (0.7 * hard + 0.3 * rng.random(n) < share).astype(int),
        }
    )


@pytest.fixture(scope="module")
def three() -> Comparison:
    names = ("single", "debate", "jury")
    return compare(table(0.5, 1), table(0.58, 2), table(0.62, 3), names=names, n_boot=500, rng=1)


def test_it_is_a_public_name() -> None:
    assert d3stats.compare is compare


def test_the_difference_is_second_less_first_whatever_holds_the_runs(tmp_path: Path) -> None:
    a, b = table(0.5, 1), table(0.6, 2)
    a.to_csv(tmp_path / "a.csv", index=False)
    b.to_csv(tmp_path / "b.csv", index=False)
    wanted = paired_difference(a["correct"], b["correct"], a["cluster"]).difference
    for found in (
        compare(a, b),
        compare(tmp_path / "a.csv", tmp_path / "b.csv"),
        compare(a, b.sample(frac=1, random_state=1)),
        compare(a, b.set_index("item")["correct"]),
    ):
        effect = found.difference
        assert effect.value == pytest.approx(b["correct"].mean() - a["correct"].mean())
        assert (effect.value, effect.low, effect.high) == pytest.approx(
            (wanted.value, wanted.low, wanted.high)
        )
    assert compare(a, b).difference.name == "B - A"
    assert compare(tmp_path / "a.csv", tmp_path / "b.csv").difference.name == "b - a"


def test_rounds_of_a_log_are_compared_debate_by_debate_within_questions() -> None:
    t = simulate_debates(Conformity(), 200, 4, rng=1)
    found = compare(t, t, names=("first", "last"), by="debate", round_number=(1, None))
    first, last = (t.verdicts()[:, r] == t.label for r in (0, t.n_rounds - 1))
    assert found.difference.value == pytest.approx(last.mean() - first.mean())
    assert (found.only.gained, found.only.lost) == ((last & ~first).sum(), (first & ~last).sum())
    same_round = compare(t, t, names=("first", "again"), by="debate", round_number=1)
    assert same_round.difference.note == "the runs gave the same result on every item"


def test_several_runs_are_compared_in_all_pairs_and_adjusted_together(three: Comparison) -> None:
    assert [d.name for d in three] == ["debate - single", "jury - single", "jury - debate"]
    p = [d.p_value for d in three]
    np.testing.assert_allclose(three.adjusted, adjust(p, "holm"))
    again = compare(table(0.5, 1), table(0.58, 2), table(0.62, 3), family="bh", rng=1)
    np.testing.assert_allclose(again.adjusted, adjust(p, "bh"))
    assert [run.name for run in three.runs] == ["single", "debate", "jury"]
    assert three["jury - single"] is three[1]
    for d in three:
        assert d.difference.value == pytest.approx(d.second.value - d.first.value)


def test_with_a_baseline_every_run_is_compared_with_it_alone() -> None:
    tables = (table(0.5, 1), table(0.58, 2), table(0.62, 3))
    found = compare(*tables, names=("a", "b", "c"), baseline="b")
    assert [d.name for d in found] == ["a - b", "c - b"]
    with pytest.raises(ValueError, match="baseline must be one of 'a', 'b', 'c'; got baseline='d'"):
        compare(*tables, names=("a", "b", "c"), baseline="d")


def test_the_test_that_speaks_for_the_family_can_be_chosen() -> None:
    a, b, c = table(0.5, 1, per_cluster=1), table(0.6, 2, per_cluster=1), table(0.62, 3, per_cluster=1)
    found = compare(a, b, c, test="McNemar mid-p")
    np.testing.assert_allclose(found.adjusted, adjust([d.p("McNemar mid-p") for d in found]))
    with pytest.raises(ValueError, match="test must be one of"):
        compare(a, b, test="chi-square")  # type: ignore[arg-type]  # that is the test


def test_a_pair_without_a_p_value_still_counts_in_the_family() -> None:
    a, b = table(0.5, 1), table(0.6, 2)
    alone, beside = compare(a, b), compare(a, b, a, names=("a", "b", "twin"))
    assert beside["twin - a"].p_value is None
    assert beside.adjusted[1] is None
    p = alone.p_value
    assert p is not None
    assert beside.adjusted[0] == pytest.approx(min(1.0, 3 * p))
    assert any("1 of 3 pairs have no p-value" in note for note in beside.notes)


def test_the_same_seed_gives_the_same_bits_and_another_pair_changes_none() -> None:
    a, b, c = table(0.5, 1), table(0.58, 2), table(0.62, 3)
    one, two = (compare(a, b, kind="studentised", n_boot=300, rng=5) for _ in range(2))
    assert one.difference == two.difference
    assert compare(a, b, c, kind="studentised", n_boot=300, rng=5)[0].difference == one.difference
    assert compare(a, b, kind="studentised", n_boot=300, rng=6).difference != one.difference


def test_runs_over_different_items_are_compared_on_the_common_ones() -> None:
    a, b = table(0.5, 1), table(0.6, 2).iloc[:100]
    found = compare(a, b)
    assert (found.n_items, len(found.left_out["A"])) == (100, 20)
    assert any(note.startswith("WARNING") and "left out are 20 of A ('q100'" in note for note in found.notes)
    assert found.difference.value == pytest.approx(compare(a.iloc[:100], b).difference.value)
    with pytest.raises(ItemMismatch, match=r"got 40 of 100: left out would be 80 of A \('q0'.* 60 of B"):
        compare(a, b.assign(item=[f"q{k}" for k in range(80, 180)]))


def test_repeats_count_with_their_mean_and_mcnemar_is_refused_in_words() -> None:
    a = pd.concat([table(0.5, 1), table(0.5, 4)])
    found = compare(a, table(0.6, 2))
    assert found.only.p("McNemar exact") is None
    assert any(
        "McNemar's test was left out, because items were run several times" in note for note in found.notes
    )
    assert any("A: items run several times (2 at most) count with their mean" in note for note in found.notes)


def test_scores_and_tokens_are_compared_in_their_own_units() -> None:
    a = table(0.5, 1).assign(score=lambda f: 10.0 * f["correct"]).drop(columns="correct")
    b = a.assign(score=a["score"] + np.arange(len(a)) % 3)
    found = compare(a, b)
    assert found.difference.value == pytest.approx(1.0)
    assert not found.only.binary


def test_unlabelled_items_are_counted_and_more_than_half_is_said_loudly() -> None:
    def judged(seed: int) -> pd.DataFrame:
        votes = np.random.default_rng(seed).choice(["A", "B"], 40)
        return pd.DataFrame({"item": range(40), "vote": votes, "label": ["A"] * 15 + [None] * 25})

    found = compare(judged(1), judged(2))
    assert found.n_items == 15
    assert any(
        note.startswith("WARNING: more than half of the items are left out (25 of 40)")
        for note in found.notes
    )
    assert "WARNING" in str(found)


def test_a_judge_that_always_answers_a_is_a_run_like_any_other() -> None:
    label = ["A", "B", "A", "A", "B"] * 8
    always = pd.DataFrame({"item": range(40), "vote": "A", "label": label})
    other = pd.DataFrame({"item": range(40), "vote": ["A", "B", "B", "A", "A"] * 8, "label": label})
    found = compare(always, other)
    assert found.difference.value == 0.0
    assert found.difference.low is not None
    assert found.runs[0].value == 0.6


def test_a_margin_adds_both_questions(three: Comparison) -> None:
    found = compare(table(0.5, 1), table(0.51, 2), margin=0.1)
    document = found.to_dict()
    assert document["noninferior"]["results"][0]["margin"] == 0.1
    assert document["equivalent"]["holds"] == found.equivalent(0.1).holds
    assert "or more" in str(found) or "less than" in str(found)
    assert len(three.noninferior(0.05)) == len(three.equivalent(0.05)) == 3
    with pytest.raises(ValueError, match="margin must be > 0"):
        compare(table(0.5, 1), table(0.51, 2), margin=0.0)


def test_the_text_leads_with_the_effect_and_says_who_is_the_reference(three: Comparison) -> None:
    one = str(compare(table(0.5, 1), table(0.58, 2))).splitlines()
    assert one[0].startswith(("A difference is shown: B - A ", "No difference shown: B - A "))
    assert one[1] == "120 items in 40 clusters; the later run minus the earlier, above 0 if it has more"
    assert one[2].startswith("B - A: ")
    assert "95 % cluster t" in one[2]
    assert one[2].find("p") > one[2].find("[") or "p =" not in one[2]
    several = str(three)
    assert "p adjusted over 3 pairs (holm)" in several
    assert several.count("  holm: p") == 3
    assert several.count("McNemar's test and the paired t over items assume independent items") == 1


def test_tables_json_and_latex_hold_every_pair(three: Comparison) -> None:
    frame = three.to_frame()
    assert frame["name"].tolist() == [d.name for d in three]
    assert {"value", "low", "high", "p_adjusted", "gained", "lost", "p_sign_flip", "p_mcnemar_exact"} <= set(
        frame
    )
    assert list(frame).index("value") < list(frame).index("p_value")
    document = json.loads(json.dumps(three.to_dict(), allow_nan=False))
    assert [d["difference"]["name"] for d in document["differences"]] == frame["name"].tolist()
    assert three.to_latex().count(r"\\") == 4
    assert len(three.intervals()) == 15
    with pytest.raises(ValueError, match="one pair"):
        _ = three.difference


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"names": ("a",)}, r"names must be one per run \(2\); got 1"),
        ({"names": ("a", "a")}, "different names"),
        ({"round_number": (1,)}, r"round_number must be one round, or one per run \(2\); got 1"),
        ({"family": "none"}, "family must be one of"),
        ({"kind": "exact"}, "kind must be one of"),
        ({"missing": "skip"}, "missing must be one of"),
        ({"by": "vote"}, "by must be one of"),
        ({"value": "speed"}, "must have the column 'speed'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, object], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        compare(table(0.5, 1), table(0.6, 2), **settings)


def test_the_bundled_debates_gain_no_accuracy_by_debating() -> None:
    t = d3stats.datasets.load_slm7()
    found = compare(t, t, names=("first vote", "last vote"), by="debate", round_number=(1, None))
    assert (found.n_items, found.n_clusters) == (156, 40)
    assert (found.only.gained, found.only.lost) == (2, 3)
    assert found.difference.value == pytest.approx(-1 / 156)
    assert found.difference.excludes(0.03)


@pytest.mark.real_data
def test_two_prompts_of_a_judge_give_the_published_discordance(data_dir: Path) -> None:
    """LLMBar, GPT-4, answers in one order: 20 against 13 discordant items, exact McNemar p .296."""
    votes = pd.read_csv(data_dir / "derived" / "llmbar_votes.csv.gz").query("judge == 'GPT-4'")

    def run(strategy: str) -> pd.DataFrame:
        mine = votes[votes["strategy"] == strategy]
        items = mine["subset"] + "/" + mine["item"].astype(str)
        return pd.DataFrame({"item": items, "vote": mine["winner_order_F"], "label": mine["label"]})

    found = compare(run("Vanilla"), run("CoT"), names=("Vanilla", "CoT"))
    assert (found.n_items, found.only.lost, found.only.gained) == (419, 20, 13)
    assert found.only.p("McNemar exact") == pytest.approx(0.2962, abs=5e-5)
    assert found.difference.value == pytest.approx(-7 / 419)


@pytest.mark.parametrize("values", [[0.0, 0.5, 0.0, 1.0], [1.0, 0.5, 1.0, 1.0], [0.5, 1.0, 0.5, 0.0]])
def test_limits_of_means_of_half_right_answers_are_shares(values: list[float]) -> None:
    table = pd.DataFrame({"item": range(4), "score": values})
    found = compare(table, table.assign(score=[0.5, 0.0, 1.0, 0.5]), names=("one", "two"))
    for run in found.runs:
        assert run.low is None or (run.low >= 0 and run.high <= 1)
    for pair in found.differences:
        assert pair.difference.low is None or (pair.difference.low >= -1 and pair.difference.high <= 1)
    assert any("no share is outside" in str(run.note) for run in found.runs)
