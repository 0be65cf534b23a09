"""Power and sizes: against other packages, by enumeration and by simulation, there and back, and on bad input."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layers import examples
from numpy.typing import NDArray
from scipy import stats
from scipy.special import stdtrit
from statsmodels.stats.power import TTestPower

from d3stats.inference import paired_difference
from d3stats.inference.comparison.mcnemar import METHODS, mcnemar
from d3stats.inference.comparison.power import (
    Design,
    mcnemar_power,
    minimum_detectable_effect,
    plan_comparison,
    power,
    sample_size,
)
from d3stats.inference.comparison.power_laws import tost_power
from d3stats.inputs.runs import pair
from d3stats.sources.runs import as_run

Floats = NDArray[np.float64]


def close(share: float, expected: float, n: int) -> bool:
    """Whether a simulated share lies within 4 standard errors."""
    return abs(share - expected) <= 4 * math.sqrt(max(expected * (1 - expected), 1 / n) / n)


def triples(rng: np.random.Generator, effect: float, psi: float, shape: tuple[int, ...]) -> Floats:
    """Draw paired differences of right-or-wrong items: 1, -1 and 0."""
    u = rng.random(shape)
    return (u < (psi + effect) / 2).astype(float) - (u > 1 - (psi - effect) / 2)


def nested(rng: np.random.Generator, shape: tuple[int, int, int, int], icc: float, again: float) -> Floats:
    """Draw normal differences of variance 1: studies x questions x items x repeats."""
    s, g, m, _ = shape
    question = rng.normal(size=(s, g, 1, 1)) * math.sqrt(icc)
    item = rng.normal(size=(s, g, m, 1)) * math.sqrt(again - icc)
    return question + item + rng.normal(size=shape) * math.sqrt(1 - again)


# --- the t law


@given(st.floats(0.02, 3.0), st.integers(3, 400), st.sampled_from([0.001, 0.05, 0.2]))
def test_power_of_the_paired_t_agrees_with_statsmodels(effect: float, n: int, alpha: float) -> None:
    expected = TTestPower().power(effect, n, alpha)
    one = TTestPower().power(effect, n, alpha, alternative="larger")
    if math.isfinite(expected):
        assert power(effect, n, sd=1.0, alpha=alpha).power == pytest.approx(expected, abs=1e-9)
    if math.isfinite(one):
        found = power(effect, n, sd=1.0, alpha=alpha, alternative="one-sided").power
        assert found == pytest.approx(one, abs=1e-9)


@pytest.mark.parametrize("effect", [0.05, 0.2, 0.5, 1.0])
def test_sizes_of_the_paired_t_agree_with_statsmodels(effect: float) -> None:
    expected = TTestPower().solve_power(effect_size=effect, power=0.8, alpha=0.05)
    assert sample_size(3 * effect, sd=3.0).unrounded == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("cv", "n", "expected"), [(0.3, 40, 0.815845), (0.2, 20, 0.834680)])
def test_two_one_sided_tests_have_the_powers_of_powertost(cv: float, n: int, expected: float) -> None:
    """R package PowerTOST 1.5, sampleN.TOST(CV): log scale, margins log(1.25), true ratio .95, a 2 x 2 crossover."""
    se = math.sqrt(2 / n * math.log(1 + cv**2))
    above, below = (math.log(1.25) + math.log(0.95)) / se, (math.log(1.25) - math.log(0.95)) / se
    assert tost_power(above, below, n - 2, 0.05) == pytest.approx(expected, abs=1e-6)


# --- McNemar


@pytest.mark.parametrize("method", METHODS)
def test_enumerated_power_is_the_sum_over_every_table(method: Any) -> None:
    n, psi, effect = 30, 0.3, 0.1
    total = 0.0
    for m in range(1, n + 1):
        for c in range(m + 1):
            if mcnemar(m - c, c, method=method).p_value <= 0.05:
                total += stats.binom.pmf(m, n, psi) * stats.binom.pmf(c, m, (psi + effect) / (2 * psi))
    assert mcnemar_power(effect, n, discordance=psi, method=method) == pytest.approx(total, rel=1e-10)


def test_enumerated_power_given_the_discordant_pairs_is_a_binomial_tail() -> None:
    found = mcnemar_power(0.1, 500, discordance=0.2, given_discordant=20, alternative="one-sided")
    # 15 of 20 is the first count whose upper tail is at most 5 %.
    assert found == pytest.approx(stats.binom.sf(14, 20, 0.75), rel=1e-12)


@pytest.mark.parametrize(
    ("effect", "discordance"), [(0.012, 0.06), (0.012, 0.15), (0.038, 0.15), (0.126, 0.25)]
)
def test_planned_items_give_mcnemars_tests_about_the_power_planned_for(
    effect: float, discordance: float
) -> None:
    plan = sample_size(effect, discordance=discordance)
    assert plan.enumerated["mid-p"] == pytest.approx(0.8, abs=0.012)
    assert 0.75 < plan.enumerated["exact"] < 0.8


@pytest.mark.parametrize("n", [20, 80, 300])
@pytest.mark.parametrize("psi", [0.06, 0.15, 0.25])
def test_the_exact_test_never_exceeds_its_size_and_mid_p_hardly(n: int, psi: float) -> None:
    assert mcnemar_power(0, n, discordance=psi) <= 0.05
    assert mcnemar_power(0, n, discordance=psi, method="mid-p") <= 0.052


def test_simulated_mcnemar_has_its_enumerated_power_and_size() -> None:
    rng = np.random.default_rng(1)
    for effect in (0.0, 0.1):
        d = triples(rng, effect, 0.25, (20_000, 100))
        b, c = (d < 0).sum(axis=1), (d > 0).sum(axis=1)
        tables, times = np.unique(np.column_stack([b, c]), axis=0, return_counts=True)
        p = np.array([mcnemar(int(x), int(y), method="mid-p").p_value if x + y else 1.0 for x, y in tables])
        share = float(times @ (p <= 0.05)) / 20_000
        assert close(share, mcnemar_power(effect, 100, discordance=0.25, method="mid-p"), 20_000)


# --- clusters, repeats, margins: by simulation


def test_the_design_effect_is_the_variance_of_nested_means() -> None:
    drawn = nested(np.random.default_rng(2), (1, 40_000, 4, 3), 0.2, 0.5).mean(axis=(2, 3)).ravel()
    plan = power(0.1, 50, sd=1.0, cluster_size=4, icc=0.2, repeats=3, repeat_icc=0.5)
    assert plan.design_effect == pytest.approx(1 + 2 * 0.5 + 3 * 3 * 0.2)
    assert drawn.var() == pytest.approx(plan.design.question_variance(0.1), rel=4 * math.sqrt(2 / 40_000))


@pytest.mark.parametrize("icc", [0.0, 0.1, 0.3])
def test_clustered_power_and_size_are_those_of_simulated_studies(icc: float) -> None:
    rng, studies, g, m = np.random.default_rng(3), 6000, 40, 5
    means = nested(rng, (studies, g, m, 1), icc, icc).mean(axis=(2, 3))
    for effect in (0.0, 0.25):
        t = (means.mean(axis=1) + effect) / (means.std(axis=1, ddof=1) / math.sqrt(g))
        share = float((np.abs(t) > stdtrit(g - 1, 0.975)).mean())
        assert close(share, power(effect, g, sd=1.0, cluster_size=m, icc=icc).power, studies)


def test_ignoring_clusters_rejects_far_too_often() -> None:
    """The naive t takes 40 x 5 items as 200 independent ones: 14 % rejections at icc .3, not 5 %."""
    items = nested(np.random.default_rng(4), (3000, 40, 5, 1), 0.3, 0.3).reshape(3000, 200)
    t = items.mean(axis=1) / (items.std(axis=1, ddof=1) / math.sqrt(200))
    assert (np.abs(t) > stdtrit(199, 0.975)).mean() > 0.10


def test_margins_are_shown_as_often_as_planned() -> None:
    rng, n, effect, room = np.random.default_rng(6), 60, 0.05, 0.4
    drawn = rng.normal(effect, 1.0, size=(20_000, n))
    se = drawn.std(axis=1, ddof=1) / math.sqrt(n)
    high = (drawn.mean(axis=1) + room) / se > stdtrit(n - 1, 0.95)
    low = (drawn.mean(axis=1) - room) / se < -stdtrit(n - 1, 0.95)
    for goal, shown in (("non-inferiority", high), ("equivalence", high & low)):
        planned = power(effect, n, sd=1.0, goal=goal, margin=room).power  # type: ignore[arg-type]
        assert close(float(shown.mean()), planned, 20_000)


def test_a_difference_at_the_margin_is_shown_no_more_often_than_alpha() -> None:
    for goal in ("non-inferiority", "equivalence"):
        found = power(-0.3, 200, sd=1.0, goal=goal, margin=0.3).power  # type: ignore[arg-type]
        assert found <= 0.05 + 1e-9
        assert found > 0.04


# --- there and back

DESIGNS: list[dict[str, Any]] = [
    {"discordance": 0.2},
    {"accuracy": 0.7, "correlation": 0.4},
    {"sd": 0.5},
    {"sd": 0.5, "cluster_size": 4, "icc": 0.3},
    {"discordance": 0.2, "repeats": 3, "repeat_icc": 0.6},
    {"discordance": 0.2, "cluster_size": 4, "icc": 0.1, "repeats": 2, "repeat_icc": 0.4},
]


@pytest.mark.parametrize("noise", DESIGNS)
@pytest.mark.parametrize("alternative", ["two-sided", "one-sided"])
def test_size_power_and_smallest_effect_are_inverse_to_each_other(
    noise: dict[str, Any], alternative: Any
) -> None:
    plan = sample_size(0.06, power=0.9, alternative=alternative, **noise)
    there = power(0.06, plan.n_questions, alternative=alternative, **noise)
    short = power(0.06, plan.n_questions - 1, alternative=alternative, **noise)
    assert there.power >= 0.9 > short.power
    back = minimum_detectable_effect(plan.n_questions, power=0.9, alternative=alternative, **noise)
    assert back.effect == pytest.approx(0.06, rel=0.01)
    assert back.effect <= 0.06


@pytest.mark.parametrize("goal", ["non-inferiority", "equivalence"])
@pytest.mark.parametrize("noise", [DESIGNS[0], DESIGNS[3]])
def test_size_and_smallest_margin_are_inverse_to_each_other(goal: Any, noise: dict[str, Any]) -> None:
    plan = sample_size(0.01, goal=goal, margin=0.08, **noise)
    assert power(0.01, plan.n_questions, goal=goal, margin=0.08, **noise).power >= 0.8
    back = minimum_detectable_effect(plan.n_questions, goal=goal, effect=0.01, **noise)
    assert back.margin == pytest.approx(0.08, rel=0.01)


def test_equivalence_takes_more_than_non_inferiority() -> None:
    sizes = [
        sample_size(0, sd=1.0, goal=g, margin=0.2).n_questions for g in ("non-inferiority", "equivalence")
    ]  # type: ignore[arg-type]
    assert sizes[0] < sizes[1]


def test_more_noise_clusters_alike_and_less_repeats_take_more_questions() -> None:
    by_icc = [sample_size(0.05, sd=0.5, cluster_size=5, icc=i).n_questions for i in (0.0, 0.1, 0.3, 1.0)]
    by_repeats = [sample_size(0.05, sd=0.5, repeats=r, repeat_icc=0.4).n_questions for r in (8, 4, 2, 1)]
    by_discordance = [sample_size(0.05, discordance=psi).n_questions for psi in (0.06, 0.1, 0.3)]
    for sizes in (by_icc, by_repeats, by_discordance):
        assert all(a < b for a, b in pairwise(sizes))
    # Copies of one answer are one answer.
    assert by_icc[-1] == sample_size(0.05, sd=0.5).n_questions


def test_discordance_follows_from_accuracy_and_correlation() -> None:
    independent = sample_size(0.05, accuracy=0.8)
    assert independent.design.discordance_at(0.05) == pytest.approx(0.8 * 0.15 + 0.85 * 0.2)
    assert "taken as independent" in str(independent)
    alike = sample_size(0.05, accuracy=0.8, correlation=math.sqrt(0.8 * 0.15 / (0.85 * 0.2)))
    assert alike.design.discordance_at(0.05) == pytest.approx(0.05)
    assert alike.n_items < independent.n_items


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (
            r"correlation must lie in \[-0.04762, 0.4286\] at accuracies 0.9 and 0.98; got correlation=0.95",
            lambda: sample_size(0.08, accuracy=0.9, correlation=0.95),
        ),
        (
            r"correlation must lie in .*0.6667\] at accuracies 0.8 and 0.9",
            lambda: sample_size(0.1, accuracy=0.8, correlation=0.7),
        ),
        (
            r"correlation must lie in .*0.4082\] at accuracies 0.9 and 0.6",
            lambda: power(-0.3, 200, accuracy=0.9, correlation=0.9),
        ),
        (r"correlation must lie in .*0.8402\]", lambda: sample_size(0.05, accuracy=0.8, correlation=0.9)),
        (
            r"correlation must lie in \[-0.1111, 1\]",
            lambda: minimum_detectable_effect(30, accuracy=0.9, correlation=-0.5),
        ),
        (
            "correlation must be left out at accuracies 0.9 and 1",
            lambda: power(0.1, 50, accuracy=0.9, correlation=0.5),
        ),
        (
            "the largest possible difference, 0.01743",
            lambda: minimum_detectable_effect(300, accuracy=0.9, correlation=0.9),
        ),
    ],
)
def test_a_correlation_that_no_two_runs_can_have_is_refused_as_such(words: str, call: Any) -> None:
    with pytest.raises(ValueError, match=words):
        call()


@given(st.floats(0.05, 0.95), st.floats(-0.9, 0.9))
def test_at_the_largest_correlation_the_better_run_loses_nothing(accuracy: float, part: float) -> None:
    effect = part * (1 - accuracy if part > 0 else accuracy)
    plan = power(effect, 50, accuracy=accuracy).design
    least, most = plan.correlations_at(effect)
    assert -1 - 1e-9 <= least <= 0 <= most <= 1 + 1e-9
    if 0 < most < 1 - 1e-6:
        found = power(effect, 50, accuracy=accuracy, correlation=most)
        assert found.design.discordance_at(effect) == pytest.approx(abs(effect), abs=1e-9)


def test_rounding_does_not_make_a_discordance_too_small() -> None:
    assert sample_size(0.1 * 3, discordance=0.3).n_items == sample_size(0.3, discordance=0.3).n_items
    assert power(1 - 0.9, 50, discordance=0.1 - 1e-12).power > 0


# --- from a pilot


def test_a_pilots_size_is_the_planned_one_when_its_variance_is_the_planned_one() -> None:
    differences = np.repeat([1.0, -1.0, 0.0], [14, 6, 60])
    found = plan_comparison(differences, 0.1)
    sd = float(differences.std(ddof=1))
    assert found.questions is not None
    assert found.questions.value == sample_size(0.1, sd=sd).n_questions
    assert found.detectable.value == pytest.approx(minimum_detectable_effect(80, sd=sd).effect, rel=1e-9)
    assert found.discordance == 0.25
    assert found.found.value == pytest.approx(0.1)


def test_a_pilots_clusters_are_in_its_variance() -> None:
    means = nested(np.random.default_rng(8), (1, 400, 5, 1), 0.3, 0.3).reshape(400, 5)
    cluster = np.repeat(np.arange(400), 5)
    whole = plan_comparison(means.ravel(), 0.1, cluster=cluster)
    naive = plan_comparison(means.ravel(), 0.1, n_questions=2000)
    assert whole.icc == pytest.approx(0.3, abs=0.08)
    truth = sample_size(0.1, sd=1.0, cluster_size=5, icc=0.3).n_questions
    assert whole.questions is not None
    assert naive.questions is not None
    assert whole.questions.value == pytest.approx(truth, rel=0.2)
    assert naive.questions.value / 5 < 0.6 * truth


@pytest.mark.parametrize("pilot", [[1.0] * 3 + [0.0] * 77, np.exp(np.linspace(-2, 2, 60)), [1.0, -1.0] * 40])
def test_no_pilot_prints_limits_that_do_not_hold(pilot: Any) -> None:
    """Chi-square limits of the standard deviation cover .73 of log-normal and .86 of rare differences."""
    found = plan_comparison(pilot, 0.1)
    assert found.questions is not None
    for estimate in (found.questions, found.detectable, found.sd):
        assert (estimate.low, estimate.high) == (None, None)
        assert "spread is itself uncertain" in estimate.note
    assert found.found.low is not None
    assert any("spread is itself uncertain" in note for note in found.notes)
    assert found.sd.value == pytest.approx(np.std(pilot, ddof=1))


def test_two_runs_are_a_pilot() -> None:
    rng = np.random.default_rng(10)
    items = [f"q{i}.{j}" for i in range(40) for j in range(3)]
    frame = pd.DataFrame({"item": items, "cluster": [i.split(".")[0] for i in items]})
    runs = [as_run(frame.assign(correct=rng.integers(0, 2, 120)), name=name) for name in ("A", "B")]
    found = plan_comparison(pair(runs), 0.1, n_questions=100)
    assert found.found.n_clusters == 40
    assert found.items_per_question == 3
    assert found.n_questions == 100
    assert found.notes[0] == "planned for B minus A"
    assert found.discordance is not None
    assert json.loads(json.dumps(found.to_dict()))["questions"]["value"] == found.to_frame()["value"][0]
    assert found.to_latex().startswith("\\begin{tabular}")
    swapped = plan_comparison(pair(runs[::-1]), 0.1, n_questions=100)
    assert swapped.questions == found.questions


def test_a_pilot_for_a_margin() -> None:
    differences = np.random.default_rng(11).normal(0, 1, 60)
    found = plan_comparison(differences, 0.0, goal="non-inferiority", margin=0.3)
    assert found.questions is not None
    sd = float(differences.std(ddof=1))
    planned = sample_size(0.0, sd=sd, goal="non-inferiority", margin=0.3)
    assert found.questions.value == planned.n_questions
    assert plan_comparison(differences, goal="equivalence").detectable.name == "smallest margin"


# --- bad input


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("the noise must be given", lambda: sample_size(0.1)),
        ("the noise must be given", lambda: sample_size(0.1, sd=1.0, discordance=0.2)),
        ("discordance must be >= .effect.", lambda: sample_size(0.3, discordance=0.2)),
        (
            "discordance must be <= 0.15 at accuracies",
            lambda: sample_size(0.05, discordance=0.2, accuracy=0.9),
        ),
        ("accuracy . effect must lie between", lambda: sample_size(0.2, accuracy=0.9)),
        ("effect must not be 0", lambda: sample_size(0.0, sd=1.0)),
        ("effect must be > 0 for a one-sided", lambda: sample_size(-0.1, sd=1.0, alternative="one-sided")),
        ("icc must be given with cluster_size=4", lambda: sample_size(0.1, sd=1.0, cluster_size=4)),
        ("repeat_icc must be given with repeats=3", lambda: sample_size(0.1, sd=1.0, repeats=3)),
        ("icc must come with cluster_size > 1", lambda: sample_size(0.1, sd=1.0, icc=0.2)),
        (
            "repeat_icc must be >= icc",
            lambda: power(0.1, 9, sd=1, cluster_size=2, icc=0.5, repeats=2, repeat_icc=0.1),
        ),
        ("correlation must come with accuracy", lambda: sample_size(0.1, sd=1.0, correlation=0.5)),
        ("margin must be > 0", lambda: sample_size(0, sd=1.0, goal="equivalence")),
        ("margin must come with goal", lambda: sample_size(0.1, sd=1.0, margin=0.1)),
        ("inside the margin", lambda: sample_size(-0.2, sd=1.0, goal="non-inferiority", margin=0.1)),
        ("power must be > alpha", lambda: sample_size(0.1, sd=1.0, power=0.04)),
        ("n_questions must be larger", lambda: minimum_detectable_effect(20, discordance=0.06)),
        ("n_questions must be >= 2", lambda: power(0.1, 1, sd=1.0)),
        ("sd must be > 0", lambda: power(0.1, 10, sd=0.0)),
        ("effect must be finite", lambda: sample_size(float("nan"), sd=1.0)),
        ("at least three questions", lambda: plan_comparison([1.0, 0.0])),
        ("the same difference, 0, in all 50", lambda: plan_comparison(np.zeros(50))),
        ("pilot must be finite; got .*nan.* at row 1", lambda: plan_comparison([0.0, float("nan"), 1.0])),
        ("one name per difference", lambda: plan_comparison([0.0, 1.0, 2.0], cluster=[1, 2])),
        ("missing name at row 1", lambda: plan_comparison([0.0, 1.0, 2.0], cluster=["a", None, "b"])),
    ],
)
def test_what_cannot_be_planned_is_refused_in_words(words: str, call: Any) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_results_read_in_words_and_go_to_json_frame_and_latex() -> None:
    plan = sample_size(0.03, discordance=0.15, cluster_size=5, icc=0.2)
    assert str(plan).startswith(
        "471 questions of 5 items (2355 runs of each protocol) find a difference of 0.03"
    )
    assert json.loads(json.dumps(plan.to_dict()))["n_items"] == 2355
    assert plan.to_frame()["icc"].item() == 0.2
    assert "471" in plan.to_latex()


def test_a_power_leads_with_the_test_and_says_where_the_formula_is_off() -> None:
    plan = power(0.012, 80, discordance=0.06)
    assert "with mid-p power 0.036" in str(plan).splitlines()[0]
    assert plan.rows()[0] == ("power, mid-p test", "0.0362")
    assert any("the normal formula differs by more than 0.02 from" in note for note in plan.notes)
    near = power(0.012, 3269, discordance=0.06)
    assert not any("normal formula" in note for note in near.notes)
    # A size is planned by the formula; where few items differ, it says so too.
    assert any("normal formula" in note for note in sample_size(0.3, discordance=0.3).notes)


# --- a design


@pytest.mark.parametrize(
    "settings",
    [
        {"sd": 1.3},
        {"discordance": 0.2},
        {"accuracy": 0.8, "correlation": 0.3, "alternative": "one-sided", "alpha": 0.01},
        {"sd": 2.0, "cluster_size": 4, "icc": 0.2, "repeats": 3, "repeat_icc": 0.4},
        {"discordance": 0.2, "cluster_size": 5, "icc": 0.1, "goal": "non-inferiority"},
        {"sd": 1.0, "goal": "equivalence"},
    ],
)
def test_a_design_answers_as_the_functions_do_and_survives_a_copy(settings: dict[str, Any]) -> None:
    margin = {} if "goal" not in settings else {"margin": 0.15}
    design = Design(**settings, **margin)
    assert replace(design) == design
    assert design.sample_size(0.05, power=0.9) == sample_size(0.05, power=0.9, **settings, **margin)
    assert design.power(0.05, 70) == power(0.05, 70, **settings, **margin)
    found = Design(**settings).detectable(400)
    assert found == minimum_detectable_effect(400, **settings)
    assert found.design.power(found.effect, 400).power == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize("goal", ["difference", "non-inferiority", "equivalence"])
def test_what_can_be_detected_scales_with_the_unit_of_the_values(goal: Any) -> None:
    def smallest(sd: float) -> float:
        found = Design(sd=sd, goal=goal).detectable(80)
        return (found.effect if goal == "difference" else found.margin or 0.0) / sd

    assert [smallest(10.0**k) for k in (-12, -6, 9)] == pytest.approx([smallest(1.0)] * 3, rel=1e-9)


def test_settings_that_do_not_exist_are_refused() -> None:
    with pytest.raises(TypeError, match="discordence"):
        sample_size(0.1, discordence=0.2)  # type: ignore[call-arg]


@examples(600, 1500, "n")
def test_questions_of_unequal_size_have_the_power_of_their_design_effect_and_effective_number(n: int) -> None:
    """30 questions of which five have 20 items and the others 2; planned for equal questions .85 would be promised."""
    from d3stats.resampling import cluster_t, effective_clusters, ratios

    sizes = np.repeat([20.0, 2.0], [5, 25])
    cv = float(sizes.std() / sizes.mean())
    assert 30 / (1 + cv**2) == pytest.approx(effective_clusters(sizes))
    noise: dict[str, float] = {"sd": 1.0, "icc": 0.3}
    equal = power(0.45, 30, cluster_size=5, **noise).power  # type: ignore[arg-type]
    planned = power(0.45, 30, cluster_size=5, size_cv=cv, **noise).power  # type: ignore[arg-type]
    rng, found = np.random.default_rng(6), []
    for _ in range(n):
        means = 0.45 + np.sqrt(0.3) * rng.normal(size=30) + np.sqrt(0.7 / sizes) * rng.normal(size=30)
        tested = cluster_t(np.column_stack([means * sizes, sizes]), ratios((0, 1)), symmetric=True)
        found.append(tested.p_value[0] <= 0.05)
    assert np.mean(found) == pytest.approx(planned, abs=0.06)  # three standard errors of a share of 600
    assert planned < equal - 0.2


def test_questions_that_count_as_fewer_than_two_have_no_power() -> None:
    """A comparison of them prints no test, so no number of such questions shows anything."""
    unequal = Design(discordance=0.2, cluster_size=5, icc=0.1, size_cv=2.0)
    powers = [unequal.power_at(0.05, n) for n in (2, 4, 8, 10, 20, 100, 1000, 5000)]
    assert powers == sorted(powers)
    assert powers[:3] == [0.0, 0.0, 0.0]
    some, more = (
        sample_size(0.01, discordance=0.2, cluster_size=5, icc=0.1, size_cv=cv) for cv in (0.7, 2.0)
    )
    assert more.n_questions > some.n_questions > 1000
    with pytest.raises(ValueError, match="n_questions must be larger"):
        minimum_detectable_effect(4, discordance=0.2, cluster_size=5, icc=0.1, size_cv=2.0)


@pytest.mark.parametrize("sizes", [[50] * 2 + [2] * 18, [1, 2, 4, 8, 200] * 5, [5] * 20])
def test_a_plan_from_a_pilot_of_unequal_questions_agrees_with_itself_and_with_the_comparison(
    sizes: list[int],
) -> None:
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    first, second = rng.random((2, len(cluster))) < 0.7
    pilot = second.astype(float) - first
    plan = plan_comparison(pilot, 0.1, cluster=cluster)
    at = plan_comparison(pilot, plan.detectable.value, cluster=cluster)
    assert at.questions is not None
    assert at.questions.value == pytest.approx(len(sizes), abs=1)
    own = paired_difference(first.astype(float), second.astype(float), cluster=cluster).difference
    assert (plan.found.low, plan.found.high) == pytest.approx((own.low, own.high))


def test_a_pilot_with_most_items_in_one_question_is_refused() -> None:
    diff = np.random.default_rng(1).choice([-1.0, 0.0, 1.0], 109)
    with pytest.raises(ValueError, match="one cluster has 100 of 109 items"):
        plan_comparison(diff, 0.1, cluster=np.repeat(np.arange(10), [100] + [1] * 9))
