"""Position audits: what a judge that prefers a place looks like, and one that does not."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from d3stats.inference.bias import as_judgments, audits_frame, each_judge, position_bias, position_frame
from d3stats.inference.bias.position import (
    AGAINST_LABEL,
    COIN,
    CONSISTENCY,
    EXCESS,
    FAVOURS,
    LOG_ODDS,
    RIGHT_GAP,
)
from d3stats.inference.comparison.mcnemar import mcnemar
from d3stats.resampling.proportions import proportion_interval
from d3stats.trajectories import Trajectories


def both_orders(kinds: str, **columns: object) -> pd.DataFrame:
    """One pair per letter: (c)onsistent, (f)irst twice, (s)econd twice, (t)ie one way and first the other."""
    votes = {"c": ("A", "A"), "f": ("A", "B"), "s": ("B", "A"), "t": ("A", "tie"), "T": ("tie", "tie")}
    table = pd.DataFrame(
        [(i, o, v) for i, k in enumerate(kinds) for o, v in zip(("AB", "BA"), votes[k], strict=True)],
        columns=["item", "order", "vote"],
    )
    return table.assign(**columns)


def test_the_counts_and_effects_are_those_of_the_pairs() -> None:
    audit = position_bias(both_orders("c" * 10 + "f" * 6 + "s" * 2 + "tt" + "T"))
    assert (audit.consistent, audit.first, audit.second, audit.through_tie) == (11, 6, 2, 2)
    assert audit[CONSISTENCY].value == pytest.approx(11 / 21)
    assert audit[EXCESS].value == pytest.approx((6 - 2 + 2 * 0.5) / 21 / 2)
    assert audit[FAVOURS].value == pytest.approx(6 / 8)
    assert audit[LOG_ODDS].value == pytest.approx(np.log(6 / 2))


def test_without_ties_and_clusters_the_test_is_mcnemars_exact_one() -> None:
    audit = position_bias(both_orders("c" * 20 + "f" * 11 + "s" * 3))
    assert audit.p_value == pytest.approx(mcnemar(11, 3).p_value)
    assert audit.method == "exact sign flip over clusters"


def test_a_judge_that_always_answers_a_has_a_certain_effect_with_an_exact_interval_and_words() -> None:
    table = both_orders("c" * 40).assign(vote="A")
    audit = position_bias(table, votes="slot")
    assert audit[CONSISTENCY].value == 0
    assert audit[EXCESS].value == 0.5
    low, high = proportion_interval(40, 40, kind="Clopper-Pearson")
    assert (audit[FAVOURS].low, audit[FAVOURS].high) == (pytest.approx(low), pytest.approx(high))
    assert audit[EXCESS].low == pytest.approx(low - 0.5)
    assert audit.find(LOG_ODDS) is None
    assert any("their lower limit is" in note for note in audit.notes)
    assert "nan" not in json.dumps(audit.to_dict(), allow_nan=False)


def test_a_judge_that_never_changes_its_mind_has_no_direction_and_a_bound() -> None:
    audit = position_bias(both_orders("c" * 60))
    assert audit[CONSISTENCY].value == 1
    assert audit.find(FAVOURS) is None
    assert audit[EXCESS].value == 0
    assert audit[EXCESS].high == -audit[EXCESS].low == pytest.approx((1 - 0.025 ** (1 / 60)) / 2)
    assert audit.p_value == 1


def test_the_note_on_pairs_with_a_tie_accounts_for_every_inconsistent_pair() -> None:
    audit = position_bias(both_orders("c" * 11 + "f" * 6 + "s" * 2 + "tt"))
    assert audit[FAVOURS].n + audit.through_tie == audit[CONSISTENCY].n - audit.consistent
    assert (
        "2 pairs are inconsistent through a tie and count as half a preference each in the first-slot excess "
        'alone; the row "inconsistent pairs that favour the first slot" leaves ties out'
    ) in audit.notes
    assert audit["first-slot excess"].value == pytest.approx((6 - 2 + 2 / 2) / (2 * 21))
    alone = position_bias(both_orders("c" * 11 + "t"))
    assert alone.find(FAVOURS) is None
    assert any(note.endswith("in the first-slot excess alone") for note in alone.notes)


def test_all_ties_are_consistent_and_favour_nobody() -> None:
    audit = position_bias(both_orders("T" * 12))
    assert audit[CONSISTENCY].value == 1
    assert audit[COIN].value == 1
    assert audit[EXCESS].value == 0


def test_the_mark_of_ignoring_the_answers_is_high_with_ties_and_no_bound_where_leanings_differ() -> None:
    mostly_ties = position_bias(both_orders("T" * 18 + "fs"))
    assert mostly_ties[COIN].value == pytest.approx(2 * 0.05**2 + 0.9**2)
    assert "the same for all items" in mostly_ties[COIN].note
    # First slot on half of the items, second on the others, whatever the answers: never the same winner.
    torn = position_bias(both_orders("f" * 20 + "s" * 20))
    assert torn[CONSISTENCY].value == 0
    assert torn[COIN].value == 0.5


def test_slots_and_answers_say_the_same_thing() -> None:
    table = both_orders("ccfsttcfT")
    flipped = {"A": "B", "B": "A", "tie": "tie"}
    slots = table.assign(vote=np.where(table["order"] == "BA", table["vote"].map(flipped), table["vote"]))
    one, other = position_bias(table, votes="answer"), position_bias(slots, votes="slot")
    assert one.to_dict() == other.to_dict()


def test_turning_both_orders_round_turns_the_effect_round() -> None:
    table = both_orders("cccffffstt" * 3)
    turned = table.assign(order=table["order"].map({"AB": "BA", "BA": "AB"}))
    one, other = position_bias(table), position_bias(turned)
    assert other[EXCESS].value == pytest.approx(-one[EXCESS].value)
    assert other[LOG_ODDS].value == pytest.approx(-one[LOG_ODDS].value)
    assert other.p_value == pytest.approx(one.p_value)


def test_a_copy_of_every_item_in_its_cluster_adds_no_certainty() -> None:
    table = both_orders(("c" * 4 + "fffs") * 6)
    clustered = table.assign(cluster=np.repeat(np.arange(12), 8))
    alone, together = position_bias(table), position_bias(clustered)
    assert together[EXCESS].n_clusters == 12
    doubled = pd.concat([table, table.assign(item=table["item"] + 1000)])
    doubled["cluster"] = doubled["item"] % 1000
    copied = position_bias(doubled)
    assert copied[EXCESS].se == pytest.approx(alone[EXCESS].se)
    assert copied.p_value == pytest.approx(alone.p_value)


def test_repeats_are_paired_in_their_order_and_what_is_left_over_is_counted() -> None:
    table = pd.concat([both_orders("cf"), both_orders("sc"), both_orders("c").iloc[:1]])
    audit = position_bias(table)
    assert audit.n_pairs == 4
    assert (audit.consistent, audit.first, audit.second) == (2, 1, 1)
    assert any("1 verdict without a partner" in note for note in audit.notes)


def test_missing_votes_are_left_out_and_said() -> None:
    table = both_orders("ccff")
    table.loc[0, "vote"] = None
    audit = position_bias(table)
    assert audit.n_pairs == 3
    assert any(note.startswith("1 of 8 verdicts have no vote") for note in audit.notes)


def test_one_order_only_gives_an_effect_against_the_label_and_no_consistency() -> None:
    table = pd.DataFrame(
        {"item": range(8), "order": "AB", "label": list("AAAABBBB"), "vote": list("AAABAABB")}
    )
    audit = position_bias(table)
    # The first place wins 3 of 4 when it should and 2 of 4 when it should not.
    assert audit[AGAINST_LABEL].value == pytest.approx((3 / 4 + 2 / 4 - 1) / 2)
    assert audit.find(CONSISTENCY) is None
    assert any("consistency is unknown" in note for note in audit.notes)


def test_one_order_without_labels_is_refused_in_words() -> None:
    table = pd.DataFrame({"item": range(8), "order": "AB", "vote": list("AAABAABB")})
    with pytest.raises(ValueError, match="cannot be separated"):
        position_bias(table)
    with pytest.raises(ValueError, match="needs verdicts with their order"):
        position_bias(table.drop(columns="order"))


def test_a_single_cluster_gives_estimates_without_intervals() -> None:
    audit = position_bias(both_orders("ccffs", cluster="q"))
    assert audit[EXCESS].low is None
    assert "single cluster" in audit[EXCESS].note
    assert audit.p_value is None


def test_accuracy_by_place_is_paired_by_cluster() -> None:
    table = both_orders("ffffcc", label="A")
    audit = position_bias(table)
    assert audit[RIGHT_GAP].value == pytest.approx(4 / 6)


def test_several_judges_are_audited_one_by_one() -> None:
    table = pd.concat([both_orders("cf", judge="J"), both_orders("cs", judge="K")])
    audits = position_bias(table)
    assert audits.to_frame().equals(audits_frame(each_judge(position_bias, table)))
    assert {judge: a[EXCESS].value for judge, a in audits.items()} == {"J": 0.25, "K": -0.25}
    assert str(position_bias(table, judge="J")) in str(audits)
    assert position_frame(audits)["first"].tolist() == [0.75, 0.25]


def test_a_log_with_orders_in_its_seat_names_is_audited() -> None:
    log = Trajectories.from_frame(
        pd.DataFrame(
            [
                (f"d{i}", 1, f"J ({o})", v)
                for i in range(4)
                for o, v in (("1-2", "1"), ("2-1", "2" if i else "1"))
            ],
            columns=["debate", "round", "agent", "vote"],
        )
    )
    audit = position_bias(log)
    assert audit.judge == "J"
    assert (audit.consistent, audit.first) == (1, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vote": "C"}, "vote must be one of A, B, tie"),
        ({"order": "up"}, "order must be one of AB, BA"),
        ({"label": ["A", "B"] * 2}, "label must describe the answers A and B in both orders"),
        ({"item": None}, "item must be named"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_name(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_judgments(both_orders("cf").assign(**changes))


def test_a_judge_of_one_letter_is_told_to_look_at_what_votes_name_before_anything_else() -> None:
    table = both_orders("c" * 30)
    assert 'give votes="slot"' in position_bias(table).notes[0]
    assert 'give votes="slot"' in position_bias(table.assign(vote=["A", "tie"] * 30)).notes[0]
    assert not any("give votes=" in note for note in position_bias(both_orders("cf")).notes)
    # Said to name places, the same votes are a judge that prefers the first: nothing is left to doubt.
    assert not any("votes=" in note for note in position_bias(table, votes="slot").notes)


def test_intervals_of_few_clusters_say_how_many() -> None:
    table = both_orders("ccffsscf" * 5)
    audit = position_bias(table.assign(cluster=table["item"] % 2))
    assert audit[EXCESS].low is not None
    assert "only 2 clusters, so the limits rest on 1 degree of freedom and are rough" in audit.notes
    assert not any("only" in note and "clusters" in note for note in position_bias(table).notes)


def test_an_estimate_that_alone_rests_on_few_clusters_is_named() -> None:
    audit = position_bias(both_orders("c" * 40 + "ffffs"))
    (note,) = (note for note in audit.notes if note.startswith("only 5 clusters"))
    assert FAVOURS in note
    assert CONSISTENCY not in note


def test_rows_that_were_given_twice_are_counted() -> None:
    table = both_orders("cfscfs")
    audit = position_bias(pd.concat([table, table.iloc[:4]]))
    assert audit.notes[0].startswith("WARNING: 4 of 16 verdicts repeat an item in the same order")
    assert "4 of them are equal in every column" in audit.notes[0]
    numbered = pd.concat([table, table.iloc[:4]]).assign(run=range(16))
    assert "alike" not in position_bias(numbered).notes[0]
    assert not any("repeat an item" in note for note in position_bias(table).notes)


def test_ties_that_count_as_not_right_are_said() -> None:
    every = position_bias(both_orders("T" * 12, label="A"))
    assert "accuracy: ties count as not right: 24 verdicts (100 %)" in every.notes
    assert "every verdict is a tie, so the judge is consistent but not informative" in every.notes
    some = position_bias(both_orders("cccfft", label="A"))
    assert "accuracy: ties count as not right: 1 verdict (8 %)" in some.notes
    one_order = pd.DataFrame({"item": range(6), "order": "AB", "label": list("AAABBB")})
    one_order["vote"] = ["A", "B", "tie", "A", "B", "tie"]
    assert any(
        "ties count as not right: 2 verdicts (33 %)" in note for note in position_bias(one_order).notes
    )
