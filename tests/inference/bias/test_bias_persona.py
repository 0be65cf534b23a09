"""Persona audits: paired effects, whether personas differ, agreement, and the spread over subsets."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layers import examples
from scipy import stats

from d3stats.inference import paired_difference
from d3stats.inference.bias import persona_effect, subset_accuracy
from d3stats.inference.bias.persona import (
    AGREEMENT,
    BEYOND,
    CHANGED,
    HIGHEST,
    LEFT_OUT,
    LOWEST,
    MAIN,
    SET,
)
from d3stats.log import read_log
from d3stats.protocols import protocol_from_text
from d3stats.protocols.jury import curated
from d3stats.run import debate
from d3stats.run.items import DebateItem
from d3stats.trajectories import Trajectories
from d3stats.worlds import (
    Courtroom,
    courtroom_items,
    jury_law,
    simulate_debates,
    synthetic_agent,
    synthetic_items,
)


def verdicts(right: dict[str, np.ndarray], cluster: np.ndarray | None = None) -> pd.DataFrame:
    n = len(next(iter(right.values())))
    label = np.where(np.arange(n) % 2 == 0, "A", "B")
    other = np.where(label == "A", "B", "A")
    parts = [
        pd.DataFrame({"item": range(n), "persona": p, "label": label, "vote": np.where(r, label, other)})
        for p, r in right.items()
    ]
    owner = np.arange(n) if cluster is None else cluster
    return pd.concat([part.assign(cluster=owner) for part in parts])


def drawn(n: int = 200, seed: int = 2, **accuracy: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=n)
    return {p: hard + rng.normal(size=n) < stats.norm.ppf(a) * np.sqrt(2) for p, a in accuracy.items()}


def test_the_effect_is_the_paired_difference_with_its_t_interval() -> None:
    right = drawn(none=0.7, ethics=0.8)
    audit = persona_effect(verdicts(right))
    gain = right["ethics"].astype(float) - right["none"]
    theirs = paired_difference(right["none"].astype(float), right["ethics"].astype(float)).difference
    assert audit[SET].value == pytest.approx(gain.mean())
    assert (audit[SET].low, audit[SET].high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))
    assert audit[f"{SET}, ethics"].value == audit[SET].value


def test_the_set_is_the_mean_of_its_personas() -> None:
    audit = persona_effect(verdicts(drawn(none=0.7, a=0.8, b=0.75, c=0.6)))
    assert audit[SET].value == pytest.approx(np.mean([audit[f"{SET}, {p}"].value for p in "abc"]))


def test_personas_that_differ_are_found_and_equal_ones_are_not() -> None:
    differ = persona_effect(verdicts(drawn(n=600, none=0.7, a=0.85, b=0.6, c=0.7))).heterogeneity
    assert differ.p_value < 0.001
    assert (differ.df1, differ.df2) == (2, 598)
    alike = persona_effect(verdicts(drawn(n=600, none=0.7, a=0.75, b=0.75, c=0.75))).heterogeneity
    assert alike.p_value > 0.05


def test_two_personas_differ_as_a_paired_t_test_says() -> None:
    right = drawn(none=0.7, a=0.8, b=0.7)
    found = persona_effect(verdicts(right)).heterogeneity
    t = stats.ttest_rel(right["a"].astype(float), right["b"].astype(float))
    assert found.f == pytest.approx(t.statistic**2)
    assert found.p_value == pytest.approx(t.pvalue)


def test_agreement_is_the_mean_over_pairs_and_its_ends_are_pairs() -> None:
    right = drawn(a=0.8, b=0.7, c=0.9)
    audit = persona_effect(verdicts(right))
    pairs = [float((right[x] == right[y]).mean()) for x, y in combinations("abc", 2)]
    assert audit[AGREEMENT].value == pytest.approx(np.mean(pairs))
    assert (audit[LOWEST].value, audit[HIGHEST].value) == (
        pytest.approx(min(pairs)),
        pytest.approx(max(pairs)),
    )
    assert audit[LOWEST].low < audit[LOWEST].value
    assert any("no verdict of the juror without persona" in note for note in audit.notes)


def test_agreement_beyond_chance_is_fleiss_kappa() -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa

    table = verdicts(drawn(a=0.8, b=0.7, c=0.9, d=0.6))
    wide = table.pivot_table(index="item", columns="persona", values="vote", aggfunc="first")
    counts = np.stack([(wide == answer).sum(axis=1) for answer in "AB"], axis=1)
    assert persona_effect(table)[BEYOND].value == pytest.approx(fleiss_kappa(counts))


def test_copies_of_one_juror_agree_always_and_do_not_differ() -> None:
    right = drawn(none=0.7, a=0.8)
    audit = persona_effect(verdicts(right | {"b": right["a"]}))
    assert audit[AGREEMENT].value == 1
    assert audit.heterogeneity.p_value is None
    assert "never differ from each other" in audit.heterogeneity.why
    json.dumps(audit.to_dict(), allow_nan=False)


def test_missing_votes_are_left_out_or_wrong_as_asked() -> None:
    table = verdicts(drawn(n=40, none=0.7, a=0.8)).reset_index(drop=True)
    rows = table.index[(table["persona"] == "a")][:10]
    table.loc[rows, "vote"] = None
    left_out = persona_effect(table)
    assert left_out[SET].n == 30
    assert any("10 missing votes were left out" in note for note in left_out.notes)
    assert persona_effect(table, missing="wrong")[SET].n == 40


def test_a_log_has_a_persona_per_seat() -> None:
    votes = [[["A", "A", "B"]], [["B", "A", "B"]], [["A", "A", "A"]]]
    log = Trajectories.from_arrays(votes, label=["A", "B", "A"])
    audit = persona_effect(log, baseline=log.seats[0])
    assert audit.judge == "2 personas"


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        (
            {"label": None},
            {},
            "must have two personas, or one and labelled votes of the juror without persona 'none'",
        ),
        ({"persona": "none"}, {}, "persona must occur"),
        ({}, {"personas": ["nobody"]}, "persona must occur"),
    ],
)
def test_what_gives_no_effect_is_refused(changes: dict, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        persona_effect(verdicts(drawn(none=0.7, a=0.8)).assign(**changes), **options)


def test_the_mean_and_the_spread_over_all_subsets_are_those_of_enumeration() -> None:
    rng = np.random.default_rng(5)
    right = rng.random((60, 7)) < rng.beta(4, 2, size=(60, 1))
    for size in (3, 4):
        subsets = list(combinations(range(7), size))
        share = np.array([right[:, s].mean(axis=1) for s in subsets])
        accuracy = ((np.sign(share - 0.5) + 1) / 2).mean(axis=1)
        found = subset_accuracy(right, size)
        assert found.accuracy.value == pytest.approx(accuracy.mean())
        assert found.sd_between == pytest.approx(accuracy.std())
        assert found.n_subsets == len(subsets)
        assert found.exact


def test_drawing_every_subset_leaves_the_error_of_the_items() -> None:
    right = np.random.default_rng(6).random((60, 6)) < 0.7
    found = subset_accuracy(right, 3)
    assert found.se_of_mean(20) == pytest.approx(found.accuracy.se)
    assert found.se_of_mean(2) > found.se_of_mean(10) > found.accuracy.se
    with pytest.raises(ValueError, match="drawn must be <="):
        found.se_of_mean(21)


def test_the_spread_of_too_many_subsets_is_drawn_and_near_the_truth() -> None:
    rng = np.random.default_rng(7)
    right = rng.random((40, 22)) < rng.beta(4, 2, size=(40, 1))
    found = subset_accuracy(right, 5, rng=1)
    assert not found.exact
    again = subset_accuracy(right, 5, rng=2)
    assert found.sd_between == pytest.approx(again.sd_between, rel=0.05)
    assert subset_accuracy(right, 5, rng=1).sd_between == found.sd_between


def test_missing_votes_are_refused_in_subsets() -> None:
    with pytest.raises(ValueError, match="correct must be 0 or 1 throughout"):
        subset_accuracy([[1.0, np.nan], [0.0, 1.0]], 1)


# ---------------------------------------------------------------- what each persona does


FOUR = {"x": "AABA", "y": "ABBB", "z": "BABA"}
"""Votes on four items whose labels are A, A, B, B; the numbers of the tests below were counted by hand."""


def four(spelling: dict[str, object] | None = None, label: bool = True) -> pd.DataFrame:
    said = spelling or {"A": "A", "B": "B"}
    rows = [(i, p, said[v], said["AABB"[i]]) for p, word in FOUR.items() for i, v in enumerate(word)]
    table = pd.DataFrame(rows, columns=["item", "persona", "vote", "label"])
    return table if label else table.drop(columns="label")


@pytest.mark.parametrize(
    "spelling",
    [None, {"A": "Paris", "B": "Rome"}, {"A": 6.0, "B": 7.5}, {"A": True, "B": False}, {"A": "1", "B": "2"}],
)
def test_main_effects_and_leave_one_out_are_those_counted_by_hand(spelling: dict[str, object] | None) -> None:
    """x and y are right in 3 of 4, z in 2; the majority in 3, without x, y, z in 2.5, 2.5 and 3: a tie is half."""
    audit = persona_effect(four(spelling))
    expected = {"x": (0.125, 0.125, 0.75), "y": (0.125, 0.125, 0.25), "z": (-0.25, 0.0, 0.5)}
    for name, values in expected.items():
        found = [audit[f"{measure}, {name}"].value for measure in (MAIN, LEFT_OUT, CHANGED)]
        assert found == pytest.approx(values)


def test_without_labels_agreement_and_changes_of_the_majority_are_left() -> None:
    with_labels, without = persona_effect(four()), persona_effect(four(label=False))
    assert without.main_effects == without.left_out == ()
    assert without.changes == with_labels.changes
    assert without[AGREEMENT] == with_labels[AGREEMENT]
    assert without.heterogeneity.why == "there are no labels"
    assert any(note.startswith("no labels, so there is no accuracy") for note in without.notes)
    assert set(without.to_frame("personas")["measure"]) == {"majority changes"}


def test_p_values_of_main_effects_are_adjusted_by_holm() -> None:
    audit = persona_effect(verdicts(drawn(n=300, a=0.8, b=0.7, c=0.75, d=0.76)))
    table = audit.personas.query("measure == 'main effect'")
    p = np.sort(table["p_value"])
    holm = np.minimum(np.maximum.accumulate(p * np.arange(4, 0, -1)), 1)
    np.testing.assert_allclose(np.sort(table["p_holm"]), holm)
    assert audit.personas.query("measure == 'majority changes'")["p_holm"].isna().all()
    json.dumps(audit.to_dict(), allow_nan=False)


def test_of_two_personas_a_main_effect_is_their_difference_and_nobody_is_left_out() -> None:
    right = drawn(a=0.8, b=0.7)
    audit = persona_effect(verdicts(right))
    assert audit[f"{MAIN}, a"].value == pytest.approx(right["a"].mean() - right["b"].mean())
    assert audit[f"{MAIN}, b"].value == pytest.approx(-audit[f"{MAIN}, a"].value)
    assert audit.left_out == audit.changes == ()
    assert any("leave one out needs three personas" in note for note in audit.notes)


def test_a_persona_of_one_debate_has_estimates_without_interval_and_leaves_the_others_theirs() -> None:
    table = verdicts(drawn(n=60, a=0.8, b=0.7, c=0.75))
    rare = pd.concat([table, table[(table["persona"] == "a") & (table["item"] == 0)].assign(persona="rare")])
    audit = persona_effect(rare)
    assert audit[f"{MAIN}, rare"].low is None
    assert "single cluster" in audit[f"{MAIN}, rare"].note
    assert audit[f"{MAIN}, a"].low is not None
    assert "rare" not in audit[LOWEST].note + audit[HIGHEST].note
    row = audit.personas.query("persona == 'rare' and measure == 'main effect'")
    assert row["p_holm"].isna().all()
    assert audit.heterogeneity.p_value is None


def test_a_persona_without_an_item_in_common_has_no_effect_and_a_note_says_so() -> None:
    table = verdicts(drawn(n=30, a=0.8, b=0.7, c=0.75))
    far = pd.DataFrame({"item": ["far"], "persona": "lone", "label": "A", "vote": "A", "cluster": 99})
    audit = persona_effect(pd.concat([table, far]))
    assert audit.find(f"{MAIN}, lone") is None
    assert any("no main effect of lone" in note for note in audit.notes)
    with pytest.raises(ValueError, match="personas that never voted on the same item"):
        persona_effect(pd.DataFrame({"item": [1, 2], "persona": ["a", "b"], "vote": ["A", "A"]}))


def test_missing_votes_leave_the_majority_and_are_wrong_for_the_main_effect_when_asked() -> None:
    table = four()
    table.loc[(table["persona"] == "x") & (table["item"] == 0), "vote"] = None
    left_out, wrong = persona_effect(table), persona_effect(table, missing="wrong")
    # x is right on items 1 and 2 of its three; the others' mean is .5, 1 and .5 there. As wrong: 0 - .5 on item 0.
    assert left_out[f"{MAIN}, x"].value == pytest.approx((0.5 + 0.0 - 0.5) / 3)
    assert wrong[f"{MAIN}, x"].value == pytest.approx((-0.5 + 0.5 + 0.0 - 0.5) / 4)
    # Without item 0: the majority with x less without is .5, 0 and -.5 there.
    assert left_out[f"{LEFT_OUT}, x"].value == wrong[f"{LEFT_OUT}, x"].value == pytest.approx(0.0)


def test_votes_that_say_only_right_or_wrong_are_taken_with_a_note() -> None:
    right = drawn(n=80, a=0.8, b=0.7, c=0.6)
    votes = np.stack(list(right.values()), axis=1)[:, None, :].astype(int)
    table = pd.DataFrame(
        [(d, 1, s, int(votes[d, 0, s])) for d in range(80) for s in range(3)],
        columns=["debate", "round", "agent", "correct"],
    )
    audit = persona_effect(Trajectories.from_frame(table))
    assert audit[f"{MAIN}, 0"].value == pytest.approx(
        right["a"].mean() - (right["b"].mean() + right["c"].mean()) / 2
    )
    assert any("two wrong votes count as the same answer" in note for note in audit.notes)


def test_audits_of_pairs_refuse_votes_for_other_answers_that_the_persona_audit_takes() -> None:
    from d3stats.inference.bias import as_judgments, position_bias

    data = as_judgments(four({"A": "Paris", "B": "Rome"}), personas=True)
    assert data.answers == ("Paris", "Rome")
    with pytest.raises(
        ValueError, match=r"votes must be for A, B or tie in an audit of pairs; got votes for \['Paris'"
    ):
        position_bias(data)
    with pytest.raises(ValueError, match="must come with votes for A, B or tie"):
        persona_effect(four({"A": "Paris", "B": "Rome"}).assign(order="AB"), votes="slot")


def test_a_log_of_runs_goes_by_the_personas_that_were_recorded(tmp_path: Path) -> None:
    roles = [p.role for p in curated()]
    world = Courtroom(panel=5, personas=[(role, 4.0 * (j == 1)) for j, role in enumerate(roles)])
    items = [
        DebateItem(i.question, i.text, i.candidates, i.answers, i.label)
        for i in synthetic_items(world, 60, 3)
    ]
    # In both orders, so that the plain run's debates have names of their own.
    for name, protocol, orders in (("with", "more", "first"), ("plain", "more:personas=none", "both")):
        path = tmp_path / f"{name}.jsonl"
        debate(protocol_from_text(protocol), items, synthetic_agent(world, 3), path, orders=orders)
    log = read_log(tmp_path / "with.jsonl", tmp_path / "plain.jsonl")
    jurors = log.turns[log.turns["role"] == "juror"].merge(log.items, on="debate")
    jurors["right"] = (jurors["vote"] == jurors["label"]).astype(float)
    mean = jurors.groupby(jurors["persona"].fillna("none"))["right"].mean()
    audit = persona_effect(log)
    assert audit.judge == "5 personas"
    assert audit[SET].value == pytest.approx(mean.drop("none").mean() - mean["none"])
    others = mean.drop([roles[1], "none"]).mean()
    assert audit[f"{MAIN}, {roles[1]}"].value == pytest.approx(mean[roles[1]] - others)
    assert audit[f"{MAIN}, {roles[1]}"].low > 0


# ---------------------------------------------------------------- a world whose effects are known


EFFECTS = [
    ("a", 2.0, (0.0, 0.0)),
    ("b", 0.0, (3.0, 0.0)),
    ("c", -1.5, (0.0, 0.0)),
    ("d", 0.0, (-2.0, 2.0)),
    ("e", 0.0, (0.0, 0.0)),
]
KINDS = [("ethics", 1, 5.0, 3.0), ("math", 1, 4.0, 2.0)]
PANEL = Courtroom(
    protocol="more", advocates=3, categories=KINDS, panel=5, personas=EFFECTS, persona_diversity=0.7
)


def truth(law: object) -> dict[str, list[float]]:
    accuracy = law.accuracy()
    main = [a - np.delete(accuracy, j).mean() for j, a in enumerate(accuracy)]
    without = [law.majority([n for n in law.jurors if n != name]) for name in law.jurors]
    pairs = law.agreement()[np.triu_indices(5, 1)]
    return {MAIN: main, LEFT_OUT: [law.majority() - w for w in without], AGREEMENT: [pairs.mean()]}


def measured(n: int, seed: int) -> dict[str, object]:
    """Audits of n drawn debates: of all, and of those of each category."""
    t = simulate_debates(PANEL, n, 1, seed)
    kinds = courtroom_items(PANEL, n, seed)["category"].to_numpy()
    parts = {"all": t} | {kind: t.select(kinds == kind) for kind in ("ethics", "math")}
    return {name: persona_effect(part) for name, part in parts.items()}


def named(audit: object, measure: str) -> list[object]:
    if measure == AGREEMENT:
        return [audit[AGREEMENT]]
    return list(audit.main_effects if measure == MAIN else audit.left_out)


def laws() -> dict[str, dict[str, list[float]]]:
    law = jury_law(PANEL)
    return {"all": truth(law), "ethics": truth(law.of("ethics")), "math": truth(law.of("math"))}


@examples(2_500, 20_000)
def test_the_effects_of_a_world_are_recovered_overall_and_by_category(n_examples: int) -> None:
    audits, expected = measured(n_examples, 5), laws()
    for part, measures in expected.items():
        for measure, values in measures.items():
            for e, value in zip(named(audits[part], measure), values, strict=True):
                assert abs(e.value - value) < 4 * e.se, (part, e.name)
    # b helps in ethics alone, d there misleads: what the mean over all questions hides.
    ethics, math = (audits[kind].main_effects for kind in ("ethics", "math"))
    assert ethics[1].low > 0.02
    assert math[1].high < ethics[1].low
    assert ethics[3].high < 0 < math[3].low


@pytest.mark.slow
def test_intervals_of_personas_cover_the_effects_of_the_world() -> None:
    """400 sets of 150 questions: coverage within four Monte Carlo errors of .95 for each of 33 effects."""
    replicates, expected = 400, laws()
    covered: dict[tuple[str, str], list[bool]] = {}
    without = 0
    for seed in range(replicates):
        for part, audit in measured(150, 1000 + seed).items():
            for measure, values in expected[part].items():
                for e, value in zip(named(audit, measure), values, strict=True):
                    if e.low is None:  # no item changed: said in words, and counted as no cover
                        without += 1
                        continue
                    covered.setdefault((part, e.name), []).append(e.low <= value <= e.high)
    assert len(covered) == 33
    assert without <= 3
    shares = {name: np.mean(hits) for name, hits in covered.items()}
    error = np.sqrt(0.95 * 0.05 / replicates)
    off = {name: share for name, share in shares.items() if abs(share - 0.95) > 4 * error}
    assert not off, shares
    assert abs(np.mean(list(shares.values())) - 0.95) < 0.01


@examples(150, 300, "runs")
def test_the_majority_of_few_items_is_covered_by_limits_of_its_log_odds(runs: int) -> None:
    # Limits of the share itself hold .91 at 30 items of chance .7, and lie beyond 1 where nearly all are right.
    rng, held = np.random.default_rng(6), 0
    for _ in range(runs):
        found = subset_accuracy(rng.random((30, 5)) < 0.7, 3).accuracy
        assert found.low is not None
        assert found.high is not None
        assert 0 < found.low < found.value < found.high < 1
        held += found.low <= 0.784 <= found.high
    assert held / runs >= 0.94 - 2 * np.sqrt(0.06 * 0.94 / runs)
    everywhere = subset_accuracy(np.ones((30, 5)), 3).accuracy
    assert everywhere.high == 1
    assert everywhere.low is not None
    assert everywhere.low < 0.95
