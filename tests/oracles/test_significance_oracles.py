"""Published and independently computed values of tests, adjustments, sizes and coverage, to their digits."""

from __future__ import annotations

import pytest

from d3stats.inference.comparison.mcnemar import mcnemar
from d3stats.inference.comparison.multiplicity import adjust
from d3stats.inference.comparison.power import sample_size
from d3stats.resampling.proportions import exact_coverage

COVERAGE: list[tuple[int, float, dict[str, float]]] = [
    (20, 0.9, {"Wald": 0.876, "Wilson": 0.9568, "Clopper-Pearson": 0.9887, "Jeffreys": 0.9568}),
    (20, 0.9, {"Agresti-Coull": 0.9568, "Bayes uniform": 0.9568}),
    (80, 0.863, {"Wald": 0.9235, "Wilson": 0.9475, "Clopper-Pearson": 0.9674, "Jeffreys": 0.949}),
    (80, 0.863, {"Agresti-Coull": 0.9674, "Bayes uniform": 0.9475}),
    (80, 0.95, {"Wald": 0.9074, "Wilson": 0.9369, "Clopper-Pearson": 0.9651, "Jeffreys": 0.9651}),
    (80, 0.95, {"Agresti-Coull": 0.9816, "Bayes uniform": 0.9369}),
    (120, 0.859, {"Wald": 0.9447, "Wilson": 0.9524, "Clopper-Pearson": 0.9645, "Jeffreys": 0.9524}),
    (120, 0.859, {"Agresti-Coull": 0.9524, "Bayes uniform": 0.9524}),
    (300, 0.95, {"Wald": 0.9257, "Wilson": 0.9548, "Clopper-Pearson": 0.9672, "Jeffreys": 0.9368}),
    (300, 0.95, {"Agresti-Coull": 0.9548, "Bayes uniform": 0.9548}),
    (500, 0.99, {"Wald": 0.8714, "Wilson": 0.9623, "Clopper-Pearson": 0.9802, "Jeffreys": 0.9291}),
    (500, 0.99, {"Agresti-Coull": 0.9623, "Bayes uniform": 0.9623}),
]
SIZES = [
    (0.012, 0.06, 3268.007691453716, 3269),
    (0.012, 0.15, 8173.558120258243, 8174),
    (0.038, 0.15, 812.96497946878, 813),
    (0.126, 0.25, 121.21169175910426, 122),
]
# p-values of six systems in table 3 of the advocates paper, in its order.
ADVOCATES_TABLE_3 = [0.063, 0.021, 0.013, 0.002, 0.001, 0.003]


def test_approval_ratings_have_their_published_mcnemar_values() -> None:
    """Agresti (1990), table 10.1: approval of 1,600 people asked twice, 150 and 86 changed their minds."""
    assert mcnemar(86, 150).p_value == pytest.approx(3.7159361395713866e-05, rel=1e-12)
    plain = mcnemar(86, 150, method="asymptotic")
    assert plain.statistic == pytest.approx(17.35593220338983, rel=1e-14)
    corrected = mcnemar(86, 150, method="corrected")
    assert corrected.statistic == pytest.approx(16.81779661016949, rel=1e-14)
    assert corrected.p_value == pytest.approx(4.114562281345944e-05, rel=1e-12)


@pytest.mark.parametrize(("n", "p", "expected"), COVERAGE)
def test_exact_coverage_has_its_digits(n: int, p: float, expected: dict[str, float]) -> None:
    for kind, value in expected.items():
        assert exact_coverage(n, p, kind).item() == pytest.approx(value, abs=5.1e-5), kind  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n", "p", "wald", "wilson", "clopper_pearson"),
    [(20, 0.9, 0.876, 0.957, 0.989), (80, 0.863, 0.924, 0.948, 0.967), (500, 0.99, 0.871, 0.962, 0.980)],
)
def test_the_short_table_of_coverage(
    n: int, p: float, wald: float, wilson: float, clopper_pearson: float
) -> None:
    kinds = ("Wald", "Wilson", "Clopper-Pearson")
    found = [exact_coverage(n, p, kind).item() for kind in kinds]  # type: ignore[arg-type]
    assert found == pytest.approx([wald, wilson, clopper_pearson], abs=6e-4)


@pytest.mark.parametrize(("effect", "discordance", "unrounded", "n"), SIZES)
def test_mcnemar_sizes_have_their_digits(effect: float, discordance: float, unrounded: float, n: int) -> None:
    plan = sample_size(effect, discordance=discordance)
    assert plan.unrounded == pytest.approx(unrounded, rel=1e-13)
    assert plan.n_items == n


def test_the_advocates_table_adjusts_to_its_oracles() -> None:
    holm = [0.063, 0.042, 0.039, 0.01, 0.006, 0.012]
    assert adjust(ADVOCATES_TABLE_3) == pytest.approx(holm, rel=1e-12)
    assert adjust(ADVOCATES_TABLE_3, "bh") == pytest.approx(
        [0.063, 0.0252, 0.0195, 0.006, 0.006, 0.006], rel=1e-12
    )
    bonferroni = [0.378, 0.126, 0.078, 0.012, 0.006, 0.018]
    assert adjust(ADVOCATES_TABLE_3, "bonferroni") == pytest.approx(bonferroni, rel=1e-12)
