"""Non-inferiority and equivalence: other people's code, words that say no more than was shown, and their size."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from layers import covering, examples
from scipy import stats

from d3stats.inference import MarginTests, compare, equivalence, noninferiority, paired_difference


def scores(gain: float, n: int = 60, spread: float = 1.0, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.normal(5, 2, n)
    noise = rng.normal(size=n)
    # The mean difference is exactly the gain, its standard deviation exactly the spread.
    return a, a + gain + spread * (noise - noise.mean()) / noise.std(ddof=1)


def test_equivalence_is_the_tost_of_statsmodels() -> None:
    from statsmodels.stats.weightstats import ttost_paired

    a, b = scores(0.1)
    found = equivalence(paired_difference(a, b), 0.4)
    p, lower, upper = ttost_paired(b, a, -0.4, 0.4)
    assert found.p_value == pytest.approx(p, rel=1e-8)
    assert max(lower[1], upper[1]) == pytest.approx(p)
    half = stats.t.ppf(0.95, 59) / math.sqrt(60)
    assert (found.difference.low, found.difference.high) == pytest.approx((0.1 - half, 0.1 + half))
    assert found.difference.level == 0.9


def test_non_inferiority_is_a_one_sided_t_test_against_the_margin() -> None:
    a, b = scores(-0.1)
    found = noninferiority(paired_difference(a, b), 0.4)
    assert found.p_value == pytest.approx(
        stats.ttest_1samp(b - a, -0.4, alternative="greater").pvalue, rel=1e-8
    )
    worse = noninferiority(paired_difference(a, b), 0.4, better="lower")
    assert worse.p_value == pytest.approx(stats.ttest_1samp(b - a, 0.4, alternative="less").pvalue, rel=1e-6)


@covering(
    gain=[-0.9, -0.4, -0.2, -0.1, 0.0, 0.15, 0.3, 0.8],
    alpha=[0.01, 0.05, 0.2],
)
def test_the_interval_and_the_p_value_never_disagree(gain: float, alpha: float) -> None:
    pair = paired_difference(*scores(gain))
    for found in (
        noninferiority(pair, 0.4, alpha=alpha),
        noninferiority(pair, 0.4, alpha=alpha, better="lower"),
        equivalence(pair, 0.4, alpha=alpha),
    ):
        assert found.p_value is not None
        assert found.holds is (found.p_value < alpha)
        assert found.difference.low is not None
        assert found.difference.high is not None
        inside = found.difference.low > -0.4 and found.difference.high < 0.4
        assert found.question == "non-inferior" or found.holds is inside


def test_the_conclusion_says_shown_not_shown_or_the_contrary() -> None:
    same, unsure, worse = (paired_difference(*scores(gain)) for gain in (0.0, -0.3, -1.0))
    assert noninferiority(same, 0.4).conclusion.startswith(
        "non-inferior: B is not worse than A by 0.4 or more"
    )
    said = noninferiority(unsure, 0.4)
    assert said.holds is False
    assert said.conclusion.startswith("not shown: B may be worse than A by 0.4 or more")
    assert said.conclusion.endswith("this does not show that it is")
    assert noninferiority(worse, 0.4).conclusion.startswith("inferior: B is worse than A by more than 0.4")
    assert equivalence(same, 0.4).conclusion.startswith("equivalent: B and A differ by less than 0.4")
    assert equivalence(unsure, 0.4).conclusion.startswith("not shown: B and A may differ by 0.4 or more")
    assert equivalence(worse, 0.4).conclusion.startswith("different: B and A differ by more than 0.4")


def test_lower_is_better_for_costs() -> None:
    cheaper = paired_difference(*scores(-1.0))
    assert noninferiority(cheaper, 0.4).holds is False
    assert noninferiority(cheaper, 0.4, better="lower").holds is True
    assert "at least 0.784 better" in noninferiority(cheaper, 0.4, better="lower").conclusion


def test_a_bootstrap_interval_decides_without_a_p_value() -> None:
    a, b = scores(0.1)
    found = equivalence(paired_difference(a, b, kind="bca", n_boot=2000, rng=1), 0.4)
    assert (found.difference.kind, found.p_value, found.holds) == ("bca", None, True)


def test_runs_that_never_differ_carry_no_conclusion() -> None:
    pair = paired_difference([1, 0, 1], [1, 0, 1])
    for found in (noninferiority(pair, 0.1), equivalence(pair, 0.1)):
        assert found.holds is None
        assert (
            found.conclusion
            == f"{found.question}: cannot be told, the runs gave the same result on every item"
        )
        assert found.to_frame()["holds"].isna().all()


@pytest.mark.parametrize(
    ("margin", "alpha", "line"),
    [
        (0.0, 0.05, "margin must be > 0"),
        (-0.1, 0.05, "margin must be > 0"),
        (math.nan, 0.05, "margin must be finite"),
        (0.1, 0.5, "alpha must be < 0.5"),
        (0.1, 0.0, "alpha must lie strictly between 0 and 1"),
    ],
)
def test_a_margin_or_a_level_that_asks_nothing_is_refused(margin: float, alpha: float, line: str) -> None:
    pair = paired_difference([1, 0, 1, 0], [0, 0, 1, 1])
    with pytest.raises(ValueError, match=line):
        equivalence(pair, margin, alpha=alpha)
    with pytest.raises(ValueError, match="better must be one of"):
        noninferiority(pair, 0.1, better="bigger")  # type: ignore[arg-type]  # that is the test


def test_results_are_shown_as_tables_json_and_latex() -> None:
    pair = paired_difference(*scores(0.0), names=("old", "new"))
    both = MarginTests((pair.noninferior(0.4), pair.equivalent(0.1)))
    assert [r.holds for r in both] == [True, False]
    assert not both.holds
    assert both.to_frame()["margin"].tolist() == [0.4, 0.1]
    assert MarginTests((both[0],))["new - old"].question == "non-inferior"
    assert json.loads(json.dumps(both.to_dict(), allow_nan=False))["holds"] is False
    assert "non-inferior: shown" in both.to_latex()
    assert "equivalent: not shown" in both[1].to_latex()
    assert str(both[0]).splitlines()[0].startswith("new - old: ")


@examples(100, 300, "n")
def test_at_the_margin_itself_equivalence_is_claimed_at_most_as_often_as_alpha_says(n: int) -> None:
    rng = np.random.default_rng(3)
    clusters, size = 12, 3
    cluster = np.repeat(np.arange(clusters), size)
    claimed = []
    for _ in range(n):
        d = 0.5 + rng.normal(size=clusters)[cluster] + rng.normal(size=clusters * size)
        claimed.append(equivalence(paired_difference(np.zeros(len(d)), d, cluster, n_boot=2), 0.5).holds)
    assert np.mean(claimed) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / n)


@pytest.mark.slow
@pytest.mark.parametrize("question", ["non-inferior", "equivalent"])
def test_the_size_at_the_margin_is_alpha(question: str) -> None:
    rng = np.random.default_rng(4)
    n, clusters, size = 4000, 80, 3
    cluster = np.repeat(np.arange(clusters), size)
    claimed = []
    for _ in range(n):
        d = -0.5 + rng.normal(size=clusters)[cluster] + rng.normal(size=clusters * size)
        pair = paired_difference(np.zeros(len(d)), d, cluster, rng=1)
        found = noninferiority(pair, 0.5) if question == "non-inferior" else equivalence(pair, 0.5)
        claimed.append(found.holds)
    assert np.mean(claimed) == pytest.approx(0.05, abs=0.005 + 3 * math.sqrt(0.05 * 0.95 / n))


@pytest.mark.parametrize("margin", [1.0, 5.0, 100.0])
def test_a_margin_that_no_runs_of_right_and_wrong_can_exceed_is_refused(margin: float) -> None:
    rng = np.random.default_rng(3)
    first, second = (rng.random((2, 60)) < 0.7).astype(float)
    for asked in (
        lambda: noninferiority(paired_difference(first, second), margin),
        lambda: equivalence(paired_difference(first, second), margin),
        lambda: compare(pd.Series(first, name="a"), pd.Series(second, name="b"), margin=margin),
    ):
        with pytest.raises(
            ValueError, match=f"margin must be < 1 if values are 0 or 1.*written {margin / 100:g}"
        ):
            asked()
    points = compare(pd.Series(100 * first, name="a"), pd.Series(100 * second, name="b"), margin=margin)
    assert points.margin == margin


@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize(
    ("gain", "shown", "said"),
    [(-1.2, False, "at least"), (-0.4, None, "may be"), (0.0, True, "may be"), (0.9, True, "at least")],
)
def test_a_gate_is_true_false_or_open_as_the_whole_interval_is_on_one_side_of_the_margin(
    gain: float, shown: bool | None, said: str, better: str
) -> None:
    a, b = scores(gain if better == "higher" else -gain)
    pair = paired_difference(a, b)
    test = noninferiority(pair, 0.4, better=better)  # type: ignore[arg-type]
    gate = test._outcome("A", "B")
    low, high = pair.interval("cluster t", level=0.9).low, pair.interval("cluster t", level=0.9).high
    worse = (-high, -low) if better == "higher" else (low, high)
    assert gate.shown is shown
    assert shown is (True if worse[1] < 0.4 else False if worse[0] >= 0.4 else None)
    limit = worse[0] if shown is False else worse[1]
    way = "better" if limit <= 0 else "worse"
    assert gate.found == f"{said} {abs(limit):z.3g} {way}, one-sided 95 %"
    if better == "higher":
        assert compare(a, b, margin=0.4).gate().shown is shown


def test_the_gate_of_runs_that_agree_everywhere_says_what_the_exact_chance_says() -> None:
    many, few = [1.0, 0.0] * 100, [1.0, 0.0] * 5
    assert compare(many, many).gate(margin=0.05).shown is True
    assert compare(few, few).gate(margin=0.05).shown is None
