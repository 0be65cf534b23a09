"""Laws by name: the same numbers as scipy.stats, in both tails, at a fraction of the price."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pace import idle_seconds
from scipy import stats

from d3stats.models.separation.laws import ScoreLaw, as_law, beta, exponential, normal, uniform, weibull

PAIRS: list[tuple[ScoreLaw, Any]] = [
    (uniform(0.5, 2), stats.uniform(0.5, 1.5)),
    (uniform(-3, -1), stats.uniform(-3, 2)),
    (beta(0.3, 0.6), stats.beta(0.3, 0.6)),
    (beta(2, 8), stats.beta(2, 8)),
    (beta(40, 1.5), stats.beta(40, 1.5)),
    (normal(1, 2), stats.norm(1, 2)),
    (exponential(2.5), stats.expon(scale=2.5)),
    (weibull(0.6, 2), stats.weibull_min(0.6, scale=2)),
    (weibull(3, 0.1), stats.weibull_min(3, scale=0.1)),
]
LEVELS = np.array([1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999])


@pytest.mark.parametrize(("law", "frozen"), PAIRS, ids=[repr(law) for law, _ in PAIRS])
def test_a_named_law_is_the_frozen_one_of_scipy(law: ScoreLaw, frozen: Any) -> None:
    x = np.concatenate([frozen.ppf(LEVELS), frozen.isf(LEVELS)])
    inside = (x > law.support[0]) & (x < law.support[1])
    np.testing.assert_allclose(law.cdf(x), frozen.cdf(x), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(law.sf(x), frozen.sf(x), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(law.density(x[inside]), frozen.pdf(x[inside]), rtol=1e-9)
    np.testing.assert_allclose(law.quantile(LEVELS), frozen.ppf(LEVELS), rtol=1e-11)
    np.testing.assert_allclose(law.upper_quantile(LEVELS), frozen.isf(LEVELS), rtol=1e-11)
    assert law.mean == pytest.approx(frozen.mean(), rel=1e-13)
    assert law.support == tuple(float(end) for end in frozen.support())


@pytest.mark.parametrize(("law", "frozen"), PAIRS, ids=[repr(law) for law, _ in PAIRS])
def test_outside_its_support_a_law_has_nothing(law: ScoreLaw, frozen: Any) -> None:
    del frozen
    low, high = law.support
    if np.isfinite(low):
        assert law.cdf(low - 1) == 0
        assert law.sf(low - 1) == 1
        assert law.density(low - 1) == 0
    if np.isfinite(high):
        assert law.cdf(high + 1) == 1
        assert law.sf(high + 1) == 0
        assert law.density(high + 1) == 0


@pytest.mark.parametrize(("law", "frozen"), PAIRS, ids=[repr(law) for law, _ in PAIRS])
def test_draws_follow_the_law(law: ScoreLaw, frozen: Any) -> None:
    drawn = law.sample((2000, 2), rng=3)
    assert drawn.shape == (2000, 2)
    assert stats.kstest(drawn.ravel(), frozen.cdf).pvalue > 1e-4
    np.testing.assert_array_equal(drawn, law.sample((2000, 2), rng=3))


@pytest.mark.parametrize(("law", "frozen"), PAIRS, ids=[repr(law) for law, _ in PAIRS])
def test_far_tails_keep_their_digits(law: ScoreLaw, frozen: Any) -> None:
    del frozen
    # Next to an end other than zero, floats of the score are too coarse.
    if law.support[0] in (0.0, -np.inf):
        np.testing.assert_allclose(law.cdf(law.quantile(1e-15)), 1e-15, rtol=1e-8)
    if np.isinf(law.support[1]):
        np.testing.assert_allclose(law.sf(law.upper_quantile(1e-30)), 1e-30, rtol=1e-8)


@pytest.mark.parametrize("law", [beta(0.3, 0.6), uniform(0, 2)], ids=repr)
def test_from_the_top_a_law_is_its_mirror_image(law: ScoreLaw) -> None:
    mirrored = law.from_top()
    assert mirrored is not None
    down = np.array([1e-3, 0.2, 0.7])
    np.testing.assert_allclose(mirrored.cdf(down), law.sf(law.support[1] - down), rtol=1e-10)


def test_a_law_says_what_it_is() -> None:
    assert [repr(law) for law in (uniform(), beta(2, 8), normal(1, 2), exponential(2), weibull(0.7, 2))] == [
        "uniform(0, 1)",
        "beta(2, 8)",
        "normal(1, 2)",
        "exponential(2)",
        "weibull(0.7, 2)",
    ]
    assert beta(2, 8) == beta(2, 8)
    assert beta(2, 8) != beta(2, 7)
    assert len({normal(0, 1), normal(0, 1), normal(0, 2)}) == 2


def test_a_beta_of_scipy_becomes_the_named_one() -> None:
    assert as_law(stats.beta(2, 8)) == beta(2, 8)
    assert as_law(stats.beta(2, 8, loc=1)).support == (1.0, 2.0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: uniform(1, 1), "high must be > low"),
        (lambda: uniform(0, np.inf), "high must be finite"),
        (lambda: beta(0, 1), "a must be > 0"),
        (lambda: beta(1, np.nan), "b must be finite"),
        (lambda: normal(0, 0), "sd must be > 0"),
        (lambda: exponential(-1), "scale must be > 0"),
        (lambda: weibull(0.001, 1), "finite mean"),
    ],
)
def test_parameters_that_make_no_law_are_refused(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.slow
def test_a_law_by_name_is_made_in_microseconds() -> None:
    assert idle_seconds(lambda: [beta(2 + i, 3) for i in range(1000)]) < 0.2
