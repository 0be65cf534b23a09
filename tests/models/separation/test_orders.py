"""Excess wealth, stochastic orders with margins, and what they promise about the best of k."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pace import idle_seconds
from scipy import stats

from d3stats.models.separation.best_of_k import separation
from d3stats.models.separation.excess import (
    excess_wealth,
    excess_wealth_table,
    gain_of_max,
    gain_table,
    gini_mean_difference,
)
from d3stats.models.separation.laws import (
    DiscreteLaw,
    MaxLaw,
    MixtureLaw,
    ScoreLaw,
    as_law,
    beta,
    exponential,
    mean_of_max,
    normal,
    uniform,
    weibull,
)
from d3stats.models.separation.orders import (
    ceiling_limit,
    dilation_order,
    dispersive_order,
    dominates,
    excess_wealth_order,
    gain_condition,
    gap_growth_conditions,
    gini_condition,
    is_dfr,
)

KS = [1, 2, 3, 5, 10, 50]
WEIBULL = weibull(0.7, 2)
ORDERS = [dominates, excess_wealth_order, dispersive_order, dilation_order]


def silent(share: float, law: ScoreLaw) -> MixtureLaw:
    """A share of the advocates say nothing and score 0."""
    return MixtureLaw([DiscreteLaw([0], [1]), law], [share, 1 - share])


LAWS: dict[str, Any] = {
    "uniform": uniform(0.5, 2),
    "beta": beta(2, 8),
    "beta with poles": beta(0.5, 0.5),
    "normal": normal(1, 2),
    "exponential": exponential(2),
    "heavy Weibull": weibull(0.45, 1),
    "scipy Beta": stats.beta(4, 3),
    "scipy gamma": stats.gamma(0.5),
    "heavy on both sides": stats.t(1.5),
    "Pareto": stats.pareto(1.5),
    "silent": silent(0.4, exponential(3)),
    "a gap": MixtureLaw([uniform(0, 1), uniform(3, 4)], [0.3, 0.7]),
    "best of 3": MaxLaw(beta(2, 2), 3),
    "rubric": DiscreteLaw(range(1, 21), np.arange(1, 21) / 210),
    "point": {7: 1.0},
    "best of 3 of a rubric": MaxLaw(as_law({1: 0.5, 4: 0.25, 20: 0.25}), 3),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


@st.composite
def discrete(draw: st.DrawFn, most: int = 5) -> DiscreteLaw:
    """Small integer scores with small-denominator probabilities."""
    points = draw(st.lists(st.integers(0, 20), min_size=1, max_size=most, unique=True).map(sorted))
    parts = draw(st.lists(st.integers(1, 6), min_size=len(points), max_size=len(points)))
    return DiscreteLaw(points, np.array(parts) / sum(parts))


@st.composite
def dispersed(draw: st.DrawFn) -> tuple[DiscreteLaw, DiscreteLaw]:
    """The first quantile function is the second plus one that never falls: the dispersive order by construction."""
    parts = np.cumsum(draw(st.lists(st.integers(1, 5), min_size=1, max_size=6)))
    second = np.cumsum(draw(st.lists(st.integers(0, 4), min_size=parts.size, max_size=parts.size)))
    more = np.cumsum(draw(st.lists(st.integers(0, 4), min_size=parts.size, max_size=parts.size)))
    masses = np.diff(parts, prepend=0) / parts[-1]
    laws = []
    for scores in (second + more + draw(st.integers(-9, 9)), second):
        points, at = np.unique(scores, return_inverse=True)
        laws.append(DiscreteLaw(points, np.bincount(at, weights=masses)))
    return laws[0], laws[1]


@st.composite
def named(draw: st.DrawFn) -> ScoreLaw:
    size = draw(st.floats(0.2, 5))
    shape = draw(st.floats(0.5, 6))
    kind = draw(st.sampled_from(["uniform", "beta", "normal", "exponential", "weibull"]))
    if kind == "uniform":
        return uniform(shape, shape + size)
    if kind == "beta":
        return beta(shape, size)
    if kind == "normal":
        return normal(shape, size)
    return exponential(size) if kind == "exponential" else weibull(shape, size)


# ---------------------------------------------------------------- excess wealth


@pytest.mark.parametrize(
    ("law", "closed"),
    [
        (uniform(2, 5), lambda u, q: 3 * (1 - u) ** 2 / 2),
        (exponential(2), lambda u, q: 2 * (1 - u)),
        (stats.pareto(1.5), lambda u, q: 2 * (1 - u) ** (1 / 3)),
        (normal(1, 2), lambda u, q: 2 * stats.norm.pdf((q - 1) / 2) - (q - 1) * (1 - u)),
        (beta(0.5, 0.5), lambda u, q: 0.5 * stats.beta(1.5, 0.5).sf(q) - q * (1 - u)),
        (stats.beta(2, 8), lambda u, q: 0.2 * stats.beta(3, 8).sf(q) - q * (1 - u)),
        (WEIBULL, lambda u, q: WEIBULL.mean * stats.gamma(1 + 1 / 0.7).sf((q / 2) ** 0.7) - q * (1 - u)),
        (silent(0.4, exponential(3)), lambda u, q: 3 * np.minimum(1 - u, 0.6)),
    ],
)  # fmt: skip
def test_excess_wealth_agrees_with_closed_forms(law: Any, closed: Any) -> None:
    u = np.array([1e-9, 0.01, 0.3, 0.5, 0.7, 0.99, 1 - 1e-6])
    np.testing.assert_allclose(
        excess_wealth(law, u), closed(u, as_law(law).quantile(u)), rtol=1e-7, atol=2e-11
    )


@given(discrete(), st.integers(0, 24))
def test_excess_wealth_of_a_rubric_is_the_sum_of_its_definition(law: DiscreteLaw, part: int) -> None:
    u = Fraction(part, 24)
    masses = [Fraction(p).limit_denominator(1000) for p in law.masses]
    heap = [sum(masses[: i + 1], Fraction(0)) for i in range(len(masses))]
    quantile = law.points[next(i for i, level in enumerate(heap) if level >= u)]
    by_hand = sum(
        (level - max(level - mass, u)) * Fraction(x - quantile)
        for x, mass, level in zip(law.points, masses, heap, strict=True)
        if level > u
    )
    # Just below u, so that a rounded sum of probabilities lies on the same side
    assert excess_wealth(law, max(float(u) - 1e-15, 0.0)) == pytest.approx(float(by_hand), abs=1e-9)


@every_law
def test_excess_wealth_falls_from_the_mean_excess_over_the_floor_to_zero(law: Any) -> None:
    w = excess_wealth(law, np.linspace(0, 1, 201))
    one = as_law(law)
    assert w[0] == pytest.approx(one.mean - one.support[0])
    assert w[-1] == 0
    assert (np.diff(w) <= 1e-13).all()


@every_law
def test_what_the_best_of_k_gains_is_an_integral_of_the_excess_wealth(law: Any) -> None:
    direct = mean_of_max(as_law(law), np.array(KS)) - as_law(law).mean
    spread = max(1.0, float(direct.max()))
    np.testing.assert_allclose(gain_of_max(law, KS), direct, atol=1e-10 * spread)
    np.testing.assert_allclose(gain_of_max(law, KS, route="wealth"), direct, atol=1e-10 * spread)


@given(discrete(), st.integers(1, 200))
def test_both_routes_to_the_gain_of_a_rubric_agree(law: DiscreteLaw, k: int) -> None:
    gains = [float(gain_of_max(law, k, route=route)[0]) for route in ("maximum", "wealth")]
    assert gains[0] == pytest.approx(gains[1], abs=1e-12)


@every_law
def test_the_gini_mean_difference_is_twice_what_a_second_advocate_gains(law: Any) -> None:
    assert gini_mean_difference(law) == pytest.approx(2 * float(gain_of_max(law, 2)[0]), abs=1e-11)
    assert gini_mean_difference(law) == pytest.approx(
        float(separation(law, law, 1).expected_gap[0]), abs=1e-11
    )


def test_tables_hold_what_the_functions_return() -> None:
    table = excess_wealth_table(beta(2, 8), uniform(), n=7)
    np.testing.assert_array_equal(table["first"], excess_wealth(beta(2, 8), table["u"]))
    np.testing.assert_array_equal(table["difference"], table["first"] - table["second"])
    gains = gain_table(beta(2, 8), uniform(), [2, 9])
    np.testing.assert_array_equal(gains["second"], gain_of_max(uniform(), [2, 9]))
    margins = [gain_condition(beta(2, 8), uniform(), k).margin for k in (2, 9)]
    np.testing.assert_allclose(gains["difference"], margins, atol=1e-14)


# ---------------------------------------------------------------- the checks against their definitions


@given(discrete(), discrete())
def test_dominance_is_decided_at_the_scores(first: DiscreteLaw, second: DiscreteLaw) -> None:
    x = np.arange(-1, 22)
    slack = first.sf(x) - second.sf(x)
    found = dominates(first, second)
    assert found.exact
    assert found.margin == pytest.approx(slack.min(), abs=1e-15)
    assert found.holds == (slack.min() > -1e-9)


@given(discrete(), discrete())
def test_the_orders_of_rubrics_agree_with_their_definitions_on_a_fine_grid(
    first: DiscreteLaw, second: DiscreteLaw
) -> None:
    # No level of two such laws is an odd multiple of 1/5000011, and no piece is shorter than 1/900.
    u = (np.arange(1000) + 0.5) / 1000 + 1 / 5000011
    w = excess_wealth(first, u) - excess_wealth(second, u)
    found = excess_wealth_order(first, second)
    assert (found.margin, found.exact) == (pytest.approx(w.min(), abs=1e-12), True)
    d = first.quantile(u) - second.quantile(u)
    assert dispersive_order(first, second).margin == (d - np.maximum.accumulate(d)).min()
    t = np.linspace(-20, 20, 801)
    losses = [
        np.maximum(law.points - law.mean - t[:, None], 0) @ law.masses for law in (first, second)
    ]  # fmt: skip
    assert dilation_order(first, second).margin <= (losses[0] - losses[1]).min() + 1e-12


@given(discrete(3), discrete(3))
def test_the_grid_for_continuous_laws_finds_what_the_corners_of_discrete_ones_show(
    first: DiscreteLaw, second: DiscreteLaw
) -> None:
    class Undeclared(DiscreteLaw):
        is_discrete = property(lambda self: False)  # type: ignore[assignment]

    blind = [Undeclared(law.points, law.masses) for law in (first, second)]
    for order in ORDERS:
        exact, grid = order(first, second), order(blind[0], blind[1])
        assert exact.exact
        assert not grid.exact
        assert exact.holds == grid.holds
        assert exact.margin == pytest.approx(grid.margin, abs=1e-8)


@given(named(), named())
def test_no_finer_grid_finds_much_less_slack(first: ScoreLaw, second: ScoreLaw) -> None:
    u = np.linspace(0.0005, 0.9995, 1999)
    found = excess_wealth_order(first, second)
    w = excess_wealth(first, u) - excess_wealth(second, u)
    size = max(gini_mean_difference(first), gini_mean_difference(second))
    assert found.margin <= w.min() + 1e-4 * size
    if found.at is not None and 0.001 < found.at < 0.999:
        at = excess_wealth(first, found.at) - excess_wealth(second, found.at)
        assert at == pytest.approx(found.margin, abs=1e-9 * size)


@given(named(), st.floats(1.0, 4.0), st.floats(-5, 5))
def test_every_law_is_below_its_multiples_in_every_order_of_spread(
    law: ScoreLaw, by: float, shift: float
) -> None:
    class Moved(ScoreLaw):
        """A law after x -> shift + by x; as_law takes any ScoreLaw."""

        atoms = property(lambda self: law.atoms)  # type: ignore[assignment]
        support = property(lambda self: tuple(shift + by * x for x in law.support))  # type: ignore[assignment]
        mean = property(lambda self: shift + by * law.mean)  # type: ignore[assignment]

        def cdf(self, x: Any) -> Any:
            return law.cdf((np.asarray(x) - shift) / by)

        below = cdf

        def sf(self, x: Any) -> Any:
            return law.sf((np.asarray(x) - shift) / by)

        def density(self, x: Any) -> Any:
            return law.density((np.asarray(x) - shift) / by) / by

        def quantile(self, u: Any) -> Any:
            return shift + by * law.quantile(u)

        def upper_quantile(self, u: Any) -> Any:
            return shift + by * law.upper_quantile(u)

        def breakpoints(self) -> Any:
            return shift + by * law.breakpoints()

        def sample(self, size: Any, rng: Any = None) -> Any:
            raise NotImplementedError

    moved = Moved()
    for order in (dispersive_order, excess_wealth_order, dilation_order, gini_condition):
        assert order(moved, law).holds, order.__name__
        if by > 1.001:
            assert not order(law, moved).holds, order.__name__
    assert excess_wealth(moved, 0.3) == pytest.approx(by * excess_wealth(law, 0.3))


@given(discrete())
def test_every_law_equals_itself_in_every_order(law: DiscreteLaw) -> None:
    for order in (*ORDERS, gini_condition):
        found = order(law, law)
        assert found.holds
        assert found.margin == 0


def test_sums_of_probabilities_that_differ_by_rounding_are_one_level() -> None:
    # .1 + .2 lies one ulp above .3, which must not make a piece of its own
    first, second = DiscreteLaw([-1, 0, 10], [0.1, 0.2, 0.7]), DiscreteLaw([0, 10], [0.3, 0.7])
    assert first.cdf(0) != second.cdf(0)
    assert dispersive_order(first, second).margin == 0
    assert excess_wealth_order(first, second).holds
    assert not excess_wealth_order(second, first).holds


# ---------------------------------------------------------------- which order implies which


def test_rubrics_tell_the_orders_apart() -> None:
    """Over two to four points: every implication that is claimed, and no other, holds."""
    laws = [
        DiscreteLaw(range(len(c)), np.array(c) / sum(c))
        for n in (2, 3, 4)
        for c in product(range(4), repeat=n)
        if sum(c) == n and c[0] > 0
    ]
    seen = set()
    for first, second in product(laws, laws):
        gains = gain_of_max(first, range(2, 40)) - gain_of_max(second, range(2, 40))
        checks = (dispersive_order, excess_wealth_order, dilation_order)
        seen.add((*(bool(check(first, second)) for check in checks), bool((gains >= -1e-12).all())))
    assert seen == {
        (True, True, True, True),
        (False, True, True, True),
        (False, False, True, True),
        (False, False, False, True),
        (False, False, False, False),
    }


@given(dispersed())
def test_the_dispersive_order_gains_more_at_every_step(pair: tuple[DiscreteLaw, DiscreteLaw]) -> None:
    assert dispersive_order(*pair).holds
    assert excess_wealth_order(*pair).holds
    assert dilation_order(*pair).holds
    gap = separation(*pair, range(1, 30)).mean_gap
    assert (np.diff(gap) >= -1e-11).all()


@given(st.one_of(discrete(), named()), st.one_of(discrete(), named()))
def test_the_excess_wealth_order_gains_more_for_every_k_with_or_without_dominance(
    first: ScoreLaw, second: ScoreLaw
) -> None:
    if excess_wealth_order(first, second).holds:
        assert dilation_order(first, second).holds
        assert gini_condition(first, second).holds
        for k in (2, 3, 7, 40):
            assert gain_condition(first, second, k).holds
    if dispersive_order(first, second).holds:
        assert excess_wealth_order(first, second).holds


@given(discrete(), discrete(), st.integers(1, 40))
def test_the_condition_for_one_k_is_the_growth_of_the_mean_gap(
    first: DiscreteLaw, second: DiscreteLaw, k: int
) -> None:
    gap = separation(first, second, [1, k]).mean_gap
    assert gain_condition(first, second, k).margin == pytest.approx(gap[1] - gap[0], abs=1e-11)


@given(st.floats(1.2, 8), st.floats(0.3, 8), st.floats(0.3, 8))
def test_with_a_common_ceiling_a_greater_mean_is_never_above_in_excess_wealth(
    a: float, b: float, c: float
) -> None:
    # for all large k the best of k gains what is left to the ceiling, and the better answer has less left
    first, second = beta(a * c, b), beta(c, b)
    assert first.mean > second.mean
    assert not excess_wealth_order(first, second).holds


# ---------------------------------------------------------------- decreasing failure rate


@pytest.mark.parametrize(
    "law",
    [
        exponential(3),
        weibull(0.7, 2),
        stats.gamma(0.5),
        stats.pareto(1.5),
        MixtureLaw([exponential(1), exponential(5)], [0.5, 0.5]),
        silent(0.4, weibull(0.9, 1)),
    ],
)
def test_laws_with_decreasing_failure_rate_are_spread_by_taking_the_best(law: Any) -> None:
    assert is_dfr(law).holds
    assert dispersive_order(MaxLaw(as_law(law), 3), law).holds
    assert dilation_order(MaxLaw(as_law(law), 3), law).holds


@pytest.mark.parametrize(
    "law", [weibull(1.001, 1), stats.gamma(2), stats.lognorm(1), MaxLaw(exponential(1), 2)]
)
def test_a_failure_rate_that_rises_somewhere_is_found(law: Any) -> None:
    found = is_dfr(law)
    assert not found.holds
    assert found.margin < 0


@pytest.mark.parametrize(
    "law",
    [
        uniform(),
        {1: 0.5, 20: 0.5},
        {7: 1},
        normal(),
        MixtureLaw([DiscreteLaw([1], [1]), exponential()], [0.1, 0.9]),
    ],
)
def test_an_upper_end_a_late_atom_or_no_lower_end_is_no_decreasing_failure_rate(law: Any) -> None:
    found = is_dfr(law)
    assert (found.holds, found.margin, found.exact) == (False, -np.inf, True)


# ---------------------------------------------------------------- when the absolute gap grows


@st.composite
def without_ceiling(draw: st.DrawFn) -> ScoreLaw:
    """Laws that the best of k spreads: decreasing failure rates, an atom at the floor among them, and points."""
    scale = draw(st.floats(0.2, 5))
    kind = draw(st.sampled_from(["exponential", "weibull", "silent", "point"]))
    if kind == "point":
        return DiscreteLaw([scale], [1])
    if kind == "weibull":
        return weibull(draw(st.floats(0.5, 1)), scale)
    return (
        exponential(scale)
        if kind == "exponential"
        else silent(draw(st.floats(0.05, 0.9)), exponential(scale))
    )


@given(without_ceiling(), without_ceiling(), st.integers(1, 6))
def test_the_three_conditions_widen_the_absolute_gap(first: ScoreLaw, second: ScoreLaw, k: int) -> None:
    found = gap_growth_conditions(first, second, k)
    assert found.spread.holds
    if found.promised:
        assert found.conclusion.margin >= -1e-9


def test_ties_count_in_full_for_the_answer_that_is_ahead() -> None:
    first, second = silent(0.7, exponential(10)), silent(0.5, exponential(1))
    found = gap_growth_conditions(first, second, 3)
    assert found.prob_first + found.prob_tie / 2 < 0.47
    assert found.promised
    assert found.conclusion.margin > 1


def test_an_answer_that_is_behind_too_often_can_lose_absolute_gap() -> None:
    found = gap_growth_conditions(exponential(1), {2: 1}, 2)
    assert (found.spread.holds, found.mean_gap.holds, found.ahead.holds) == (True, True, False)
    # E abs(X - 2) = 1 + 2 e^-2 and, for the best of two, 1/2 + 4 e^-2 - e^-4
    assert found.conclusion.margin == pytest.approx(-0.5 + 2 * np.exp(-2) - np.exp(-4), abs=1e-12)
    assert found.conclusion.margin < -0.2


@given(discrete(), st.integers(2, 9))
def test_the_best_of_k_never_spreads_a_rubric_in_the_dilation_order(law: DiscreteLaw, k: int) -> None:
    found = dilation_order(MaxLaw(law, k), law)
    assert found.holds == (law.points.size == 1)


def test_a_gap_between_bounded_scores_tends_to_the_distance_of_the_ceilings() -> None:
    first, second = {1: 0.5, 19: 0.5}, {3: 0.9, 14: 0.1}
    assert ceiling_limit(first, second) == 5
    assert separation(first, second, 2000).expected_gap[0] == pytest.approx(5, abs=1e-9)
    assert ceiling_limit(uniform(0.5, 1), uniform()) == 0
    assert ceiling_limit(MaxLaw(uniform(0, 1.1), 7), uniform()) == pytest.approx(0.1)


# ---------------------------------------------------------------- bad input, and speed


def test_bad_input_is_refused_in_one_line() -> None:
    for check in (excess_wealth_order, dilation_order, gini_condition, ceiling_limit):
        with pytest.raises(ValueError, match="second must have a finite mean"):
            check(uniform(), stats.cauchy())
    with pytest.raises(ValueError, match=r"u must lie between 0 and 1; got u=1\.5"):
        excess_wealth(uniform(), [0.2, 1.5])
    with pytest.raises(ValueError, match="u must lie between 0 and 1; got u=nan"):
        excess_wealth(uniform(), np.nan)
    with pytest.raises(ValueError, match="k must be >= 1"):
        gain_of_max(uniform(), 0)
    with pytest.raises(ValueError, match="k must be >= 1"):
        gap_growth_conditions(uniform(), uniform(), 0)
    with pytest.raises(ValueError, match="at least one number of advocates"):
        gain_of_max(uniform(), [])
    with pytest.raises(ValueError, match="route must be one of"):
        gain_of_max(uniform(), 2, route="wrong")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="second must have an upper bound; got exponential"):
        ceiling_limit(uniform(), exponential())
    with pytest.raises(ValueError, match="n must be >= 2"):
        excess_wealth_table(uniform(), uniform(), n=1)
    assert excess_wealth(normal(), 0) == np.inf


@pytest.mark.slow
@pytest.mark.parametrize("order", [*ORDERS, gini_condition])
def test_a_check_of_named_laws_takes_at_most_ten_milliseconds(order: Any) -> None:
    for first, second in [
        (beta(2, 8), beta(1, 8)),
        (weibull(0.7, 2), weibull(0.7, 1)),
        (normal(1), normal()),
    ]:
        assert idle_seconds(partial(order, first, second), tries=5) < 0.010


PARETO_LEVELS = np.array([0.0, 0.3, 0.9, 0.999, 1 - 1e-9])


@pytest.mark.parametrize("b", [1.05, 1.12, 1.3, 1.5, 2.0, 3.0])
def test_the_excess_wealth_of_a_heavy_tail_is_its_closed_form(b: float) -> None:
    law = stats.pareto(b)
    np.testing.assert_allclose(
        excess_wealth(law, PARETO_LEVELS),
        (1 - PARETO_LEVELS) ** (1 - 1 / b) / (b - 1),
        rtol=1e-12,
        atol=1e-13,
    )
    # E abs(X - X') of Pareto scores.
    assert gini_mean_difference(law) == pytest.approx(b / (b - 1) / (b - 0.5), rel=1e-13)
    np.testing.assert_allclose(gain_of_max(law, [2, 7], route="wealth"), gain_of_max(law, [2, 7]), rtol=1e-11)


@pytest.mark.parametrize("ask", [lambda law: excess_wealth(law, 0.5), gini_mean_difference])
def test_excesses_that_cannot_be_had_are_refused_and_not_rounded(ask: Any) -> None:
    with pytest.raises(ValueError, match=r"six digits; got an error of .*pareto\(1.01\)"):
        ask(stats.pareto(1.01))


def test_a_heavy_tail_is_above_a_light_one_of_less_mean_excess() -> None:
    heavy, light = stats.pareto(1.1), stats.expon(scale=9.995)
    found = excess_wealth_order(heavy, light)
    assert found.holds
    assert found.margin == pytest.approx(0.005, abs=1e-7)
    assert dilation_order(heavy, light).holds
    assert not excess_wealth_order(heavy, stats.expon(scale=10.005)).holds


def test_a_gap_above_the_lowest_score_is_no_falling_failure_rate() -> None:
    # Half of the advocates score 0, the others 1 + Exp(1): on (0, 1) the rate is 0, and it rises at 1.
    law = MixtureLaw([DiscreteLaw([0], [1]), as_law(stats.expon(1))], [0.5, 0.5])
    found = is_dfr(law)
    assert not found.holds
    assert found.margin == -np.inf
    assert found.at is not None
    assert 0 < found.at < 1
    assert is_dfr(MixtureLaw([DiscreteLaw([0], [1]), exponential()], [0.5, 0.5])).holds


def test_a_grid_never_claims_more_than_equality() -> None:
    # Their survival functions cross near -10, where both are 1 but for 1e-23.
    found = dominates(stats.norm(0.1, 1.01), stats.norm())
    assert not found.exact
    assert found.margin <= 0
    assert dominates({2: 1}, {1: 1}).margin == 0
