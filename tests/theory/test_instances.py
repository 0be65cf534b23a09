"""Instances have the properties that they are made for, by the checks of the models room, and none is thrown away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from scipy import stats

from d3stats.models.separation import laws as scores
from d3stats.models.separation import orders
from d3stats.models.separation.best_of_k import ranking_probability, separation
from d3stats.models.separation.laws import DiscreteLaw, MaxLaw, MixtureLaw, ScoreLaw
from d3stats.theory.check import seeded_draws
from d3stats.theory.instances import advocates, beliefs, draws, gaps, votes
from d3stats.theory.instances import scores as given_scores
from d3stats.theory.instances.advocates import Advocates, BestOf, Moved, Shape
from d3stats.theory.instances.draws import drawn

PAIRS = (
    advocates.pairs,
    advocates.dominating_pairs,
    advocates.dispersive_pairs,
    advocates.dilation_pairs,
    advocates.dfr_pairs,
    advocates.lehmann_pairs,
    advocates.ceiling_pairs,
    advocates.bounded_pairs,
)


def every(strategy: st.SearchStrategy[Any], check: Callable[[Any], None], n: int = 40) -> None:
    quiet = settings(
        max_examples=n,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    quiet(given(strategy)(check))()


def some(strategy: st.SearchStrategy[Any], wanted: Callable[[Any], bool]) -> Any:
    return find(strategy, wanted, settings=settings(max_examples=2000, database=None, derandomize=True))


def parts(law: ScoreLaw) -> list[ScoreLaw]:
    """Return a law and all that it is made of."""
    inside: list[ScoreLaw] = []
    if isinstance(law, MixtureLaw):
        inside = list(law.laws)
    elif isinstance(law, (MaxLaw, Moved)):
        inside = [law.law]
    return [law, *(deeper for part in inside for deeper in parts(part))]


def test_dominating_pairs_dominate() -> None:
    def check(a: Advocates) -> None:
        assert orders.dominates(a.first, a.second).holds
        assert a.first.mean > a.second.mean

    every(advocates.dominating_pairs(), check)


def test_dispersive_pairs_are_more_dispersed() -> None:
    def check(a: Advocates) -> None:
        assert orders.dispersive_order(a.first, a.second).holds

    every(advocates.dispersive_pairs(), check)


def test_dilation_pairs_are_more_dilated() -> None:
    def check(a: Advocates) -> None:
        assert orders.dilation_order(a.first, a.second).holds

    every(advocates.dilation_pairs(), check)


def test_dfr_pairs_have_falling_rates_or_are_sure_and_the_first_is_ahead() -> None:
    def check(a: Advocates) -> None:
        assert orders.is_dfr(a.first).holds
        assert orders.is_dfr(a.second).holds or a.second.support[0] == a.second.support[1]
        found = separation(a.first, a.second, (1, a.k))
        assert found.mean_gap[1] >= found.mean_gap[0] - 1e-9
        assert found.prob_first[0] + found.prob_tie[0] >= 0.5 - 1e-9

    every(advocates.dfr_pairs(), check)


def test_ceiling_pairs_end_at_one_point() -> None:
    def check(a: Advocates) -> None:
        top = a.first.support[1]
        assert a.second.support[1] == top
        for law in (a.first, a.second):
            assert law.cdf(top) == pytest.approx(1.0)
            assert law.cdf(top - 1e-3) < 1.0
        assert a.first.support[0] < a.first.support[1] or a.second.support[0] < a.second.support[1]

    every(advocates.ceiling_pairs(), check)


def test_lehmann_pairs_are_powers_of_each_other() -> None:
    def check(a: Advocates) -> None:
        x = np.asarray(a.second.quantile([0.2, 0.5, 0.7]))
        theta = np.log(a.first.cdf(x)) / np.log(a.second.cdf(x))
        assert theta == pytest.approx(np.full(3, theta[0]), rel=1e-9)

    every(advocates.lehmann_pairs(), check)


@pytest.mark.parametrize("pairs", PAIRS, ids=lambda pairs: pairs.__name__)
def test_a_pair_can_be_computed_with_and_read(pairs: Callable[[], st.SearchStrategy[Advocates]]) -> None:
    def check(a: Advocates) -> None:
        assert a.k >= 2
        assert np.isfinite(ranking_probability(a.first, a.second, a.k)).all()
        assert str(a).endswith(f", k = {a.k}")
        assert "0x" not in str(a) + repr(a)
        assert len(str(a)) < 260

    every(pairs(), check, n=15)


def test_laws_come_from_every_family() -> None:
    seen: set[str] = set()

    def check(law: ScoreLaw) -> None:
        pieces = parts(law)
        made_up = (DiscreteLaw, MaxLaw, MixtureLaw, Moved)
        names = {repr(p).split("(")[0] for p in pieces if not isinstance(p, made_up)}
        seen.update(names)
        if any(isinstance(p, DiscreteLaw) and p.points.max() > 3 for p in pieces):
            seen.add("rubric")
        if isinstance(law, DiscreteLaw):
            seen.add("table")
        if isinstance(law, MixtureLaw):
            seen.add("mixture")
            if law.atoms[0].size and not law.is_discrete:
                seen.add("atom and density")

    every(advocates.laws(), check, n=250)
    assert seen == {
        *("uniform", "beta", "normal", "exponential", "weibull"),
        *("rubric", "table", "mixture", "atom and density"),
    }


def shares(strategy: st.SearchStrategy[Advocates], *properties: Callable[[Advocates], bool]) -> list[float]:
    """Return which share of a hundred and fifty pairs has each property."""
    seen = [[bool(has(a)) for has in properties] for a in seeded_draws(strategy, n=150, seed=1)]
    return [float(x) for x in np.mean(seen, axis=0)]


def has_part(law: ScoreLaw, kind: str) -> bool:
    return any(repr(part).startswith(kind) for part in parts(law))


@pytest.mark.parametrize(
    ("shape", "peak"),
    [
        (Shape("uniform"), 1.0),
        (Shape("exponential"), 1.0),
        (Shape("normal"), 1 / np.sqrt(2 * np.pi)),
        (Shape("beta", 2, 5), 2.4576),
        (Shape("beta", 1, 4), 4.0),
        (Shape("beta", 1, 1), 1.0),
        (Shape("beta", 1.59, 1), 1.59),
        (Shape("weibull", 2), np.sqrt(2 / np.e)),
        (Shape("weibull", 0.5), np.inf),
        (Shape("beta", 2, 0.5), np.inf),
    ],
    ids=str,
)
def test_the_peak_of_a_shape_is_the_top_of_its_density(shape: Shape, peak: float) -> None:
    assert shape.peak == pytest.approx(peak, rel=1e-12)
    assert shape.at(0, 1).density(np.linspace(0.001, 0.999, 999)).max() <= shape.peak * (1 + 1e-12)


@pytest.mark.slow  # 2 s; that each family is what it is named for is in the fast layer
def test_the_families_are_wider_than_their_simplest_members() -> None:
    wealth = drawn(lambda dice: Advocates(*advocates.wealthier_tables(dice), 2))
    raised = drawn(lambda dice: Advocates(*advocates.raised_tables(dice), 2))
    found = [
        *shares(
            wealth,
            lambda a: not orders.dispersive_order(a.first, a.second).holds,
            lambda a: not orders.dominates(a.first, a.second).holds,
        ),
        *shares(raised, lambda a: not orders.excess_wealth_order(a.first, a.second).holds),
        # Theorem A is tried where excess wealth, which it does not need, fails.
        *shares(
            advocates.dilation_pairs(), lambda a: not orders.excess_wealth_order(a.first, a.second).holds
        ),
        *shares(advocates.ceiling_pairs(), lambda a: a.first.is_discrete != a.second.is_discrete),
        *shares(advocates.bounded_pairs(), lambda a: a.first.support[1] != a.second.support[1]),
        # Answers with falling failure rates may tie, and need not dominate.
        *shares(
            advocates.dfr_pairs(),
            lambda a: np.intersect1d(a.first.atoms[0], a.second.atoms[0]).size > 0,
            lambda a: a.first.support[0] < a.second.support[0],
            lambda a: a.second.is_discrete and a.second.support[0] > 0,
        ),
    ]
    assert min(found) >= 0.02


def test_pairs_that_spread_have_beta_normal_and_mixed_laws_on_either_side() -> None:
    pairs = list(seeded_draws(advocates.dispersive_pairs(), n=400, seed=1))
    mixed = [(isinstance(a.first, MixtureLaw), isinstance(a.second, MixtureLaw)) for a in pairs]
    found = [
        *(np.mean([has_part(a.first, kind) for a in pairs]) for kind in ("beta", "normal")),
        *(np.mean([sides == wanted for sides in mixed]) for wanted in ((True, False), (False, True))),
    ]
    assert min(found) >= 0.04


def test_nothing_is_filtered() -> None:
    for module in (advocates, beliefs, draws, gaps, given_scores, votes):
        with open(module.__file__, encoding="utf-8") as file:
            text = file.read()
        assert ".filter(" not in text
        assert "assume(" not in text


def test_dominating_tables_shrink_to_a_sure_score_against_a_coin() -> None:
    tables = drawn(lambda dice: Advocates(*advocates.raised_tables(dice), 2))
    found = some(tables, lambda a: a.second.support[0] != a.second.support[1])
    assert str(found) == "1 against {0: 1/2, 1: 1/2}, k = 2"


def test_improving_scores_improve_and_curves_do_not_cross() -> None:
    def improved(s: given_scores.Scores) -> None:
        one, two = s.improvements
        assert min(one, two) >= 0
        assert s.single_gap == 0 or (one - two) * s.single_gap > 0
        assert max(s.first + s.second) <= 1

    def higher(c: given_scores.Curves) -> None:
        assert all(b > a for a, b in zip(c.single, c.several, strict=True))
        assert c.rounds(c.single) <= len(c.single)

    def agreed(t: given_scores.Team) -> None:
        tops = [g for g, own in zip(t.judge, t.inner, strict=True) if own == max(t.inner)]
        assert set(tops) == {max(t.judge)}
        assert t.largest_difference <= 0.1

    every(given_scores.improving_scores(), improved)
    every(given_scores.reached_curves(), higher)
    every(given_scores.agreeing_teams(), agreed)
    assert str(some(given_scores.scores(), lambda s: s.single_gap > 0)) == "scores (1, 0) against (0, 0)"


@pytest.mark.parametrize(
    ("law", "frozen"),
    [
        (Shape("beta", 2, 3).at(1, 2), stats.beta(2, 3, 1, 2)),
        (Shape("weibull", 1.5).at(2, 0.5), stats.weibull_min(1.5, 2, 0.5)),
        (Shape("exponential").at(1, 3), stats.expon(1, 3)),
        (Shape("uniform").at(1, 3), stats.uniform(1, 3)),
        (Shape("normal").at(1, 3), stats.norm(1, 3)),
    ],
    ids=lambda x: str(x) if isinstance(x, ScoreLaw) else "",
)
def test_a_moved_law_is_the_one_of_scipy(law: ScoreLaw, frozen: Any) -> None:
    u = np.array([1e-9, 0.1, 0.5, 0.99])
    x = frozen.ppf(u)
    assert law.cdf(x) == pytest.approx(u, rel=1e-7)
    assert law.below(x) == pytest.approx(u, rel=1e-7)
    assert law.sf(x) == pytest.approx(1 - u)
    assert law.density(x) == pytest.approx(frozen.pdf(x), rel=1e-6)
    assert law.quantile(u) == pytest.approx(x)
    assert law.upper_quantile(u) == pytest.approx(frozen.isf(u))
    assert law.mean == pytest.approx(frozen.mean())
    assert law.support == pytest.approx(frozen.support())
    drawn_scores = law.sample(4000, 0)
    assert drawn_scores.mean() == pytest.approx(frozen.mean(), abs=4 * frozen.std() / 4000**0.5)


def test_a_moved_table_keeps_its_atoms() -> None:
    law = Moved(DiscreteLaw([0, 1, 3], [0.5, 0.25, 0.25]), 1.0, 1.5)
    assert law.is_discrete
    assert law.atoms[0].tolist() == [1.0, 2.5, 5.5]
    assert law.cdf(law.atoms[0]).tolist() == [0.5, 0.75, 1.0]
    assert law.below(law.atoms[0]).tolist() == [0.0, 0.5, 0.75]
    assert law.mean == 1 + 1.5 * 1.0
    assert "1 + 1.5" in repr(law)


def test_a_best_of_k_says_what_it_is() -> None:
    assert str(BestOf(DiscreteLaw([0, 1], [0.5, 0.5]), 3)) == "best of 3 of {0: 1/2, 1: 1/2}"
    assert advocates.describe(MaxLaw(scores.uniform(), 2)) == "best of 2 of uniform(0, 1)"
