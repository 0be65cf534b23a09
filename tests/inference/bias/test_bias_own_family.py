"""Self-preference: error both ways is no preference, and what everybody prefers is not the judge's own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from d3stats.inference.bias import self_preference
from d3stats.inference.bias.self_preference import DID, GAP, OF_ALL, OTHER, OWN, RAW_ALONE


def verdicts(rates: dict[str, tuple[float, float]], n: int = 400, seed: int = 1) -> pd.DataFrame:
    """Judges with their rates of preferring x wrongly and y wrongly; J is of family x, the others of z."""
    rng = np.random.default_rng(seed)
    x_first = rng.random(n) < 0.5
    better_x = rng.random(n) < 0.5
    parts = []
    for judge, (own, other) in rates.items():
        wrong = rng.random(n) < np.where(better_x, other, own)
        x_wins = better_x ^ wrong
        names = {"item": range(n), "judge": judge, "judge_family": "x" if judge == "J" else "z"}
        families = {"family_a": np.where(x_first, "x", "y"), "family_b": np.where(x_first, "y", "x")}
        vote = {
            "vote": np.where(x_wins == x_first, "A", "B"),
            "label": np.where(better_x == x_first, "A", "B"),
        }
        parts.append(pd.DataFrame(names | families | vote | {"cluster": np.arange(n) // 4}))
    return pd.concat(parts)


def test_a_noisy_judge_has_a_high_raw_rate_and_no_gap() -> None:
    audit = self_preference(verdicts({"J": (0.3, 0.3)}, n=2000), judge="J")
    assert audit[OWN].low > 0.2
    assert not audit[GAP].excludes(0)
    assert RAW_ALONE in audit.notes
    assert audit.effect.name == GAP


def test_what_all_judges_overrate_is_taken_off_by_the_difference() -> None:
    everybody = verdicts({"J": (0.4, 0.1), "K": (0.4, 0.1), "L": (0.4, 0.1)}, n=2000)
    audit = self_preference(everybody, judge="J")
    assert audit[GAP].excludes(0)
    assert not audit[DID].excludes(0)
    alone = self_preference(verdicts({"J": (0.5, 0.1), "K": (0.3, 0.3)}, n=2000), judge="J")
    assert alone[DID].low > 0
    assert alone.against == ("K",)


def test_the_numbers_are_counts_of_wrong_preferences() -> None:
    base = {"item": range(10), "judge": "J", "judge_family": "x", "family_a": "x", "family_b": "y"}
    table = pd.DataFrame(base | {"label": list("BBBBAAAAAA"), "vote": [*"AAABBAAAA", "tie"]})
    audit = self_preference(table, judge="J")
    assert audit[OWN].value == pytest.approx(3 / 4)
    assert audit[OTHER].value == pytest.approx(1 / 6)
    assert audit[GAP].value == pytest.approx(3 / 4 - 1 / 6)
    assert audit[OF_ALL].value == pytest.approx(3 / 10)
    assert any("1 of 10 verdicts are ties" in note for note in audit.notes)
    assert any("no other judge" in note for note in audit.notes)


def test_only_pairs_with_exactly_one_own_answer_count_and_tied_labels_are_said() -> None:
    table = verdicts({"J": (0.3, 0.2)}, n=40)
    both = table.assign(item=table["item"] + 100, cluster=table["cluster"] + 100, family_a="x", family_b="x")
    tied = table.assign(item=table["item"] + 200, cluster=table["cluster"] + 200, label="tie")
    audit = self_preference(pd.concat([table, both, tied]), judge="J")
    assert audit.n_pairs == 40
    assert any("40 verdicts whose label is a tie" in note for note in audit.notes)


def test_interested_judges_are_asked_only_when_wanted() -> None:
    table = verdicts({"J": (0.3, 0.2), "K": (0.2, 0.3)})
    table.loc[table["judge"] == "K", "judge_family"] = "y"
    assert self_preference(table, judge="J").find(DID) is None
    assert self_preference(table, judge="J", against="all").against == ("K",)


def test_labels_that_always_prefer_own_leave_no_gap_and_say_so() -> None:
    table = verdicts({"J": (0.3, 0.2)})
    own = table["label"] == np.where(table["family_a"] == "x", "A", "B")
    audit = self_preference(table[own], judge="J")
    assert audit.find(GAP) is None
    assert any("always prefer the own answer" in note for note in audit.notes)


def test_a_judge_without_a_family_or_without_own_pairs_is_refused() -> None:
    table = verdicts({"J": (0.3, 0.2)})
    with pytest.raises(ValueError, match="judge_family must be one name"):
        self_preference(table.assign(judge_family=None), judge="J")
    with pytest.raises(ValueError, match="exactly one answer of the judge's family"):
        self_preference(table.assign(family_a="y", family_b="w"), judge="J")
    with pytest.raises(ValueError, match="must have the columns"):
        self_preference(table.drop(columns="family_a"), judge="J")


def test_a_table_of_debates_with_families_is_audited_as_verdicts_as_the_refusal_says() -> None:
    table = verdicts({"J": (0.3, 0.1), "K": (0.2, 0.2)}, n=200)
    debates = table.rename(columns={"item": "debate", "judge": "agent"}).assign(round=1)
    with pytest.raises(ValueError, match="'item': 'debate', 'judge': 'agent'"):
        self_preference(debates, judge="J")
    read = self_preference(debates, judge="J", columns={"item": "debate", "judge": "agent"})
    alone = self_preference(table, judge="J")
    assert [(e.name, e.value, e.low, e.high) for e in read.estimates] == [
        (e.name, e.value, e.low, e.high) for e in alone.estimates
    ]
