"""Length audits: the model against statsmodels, the jackknife against refits, separation in words."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

from d3stats.inference.bias import length_bias
from d3stats.inference.bias.length import (
    CONTROLLED,
    LENGTH,
    LONGER,
    MARGINAL,
    PULL,
    WON,
    fit_logit,
    separated,
)


def verdicts(
    effect: float, n: int = 240, per_cluster: int = 4, seed: int = 3, ties: float = 0.1
) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(40, 900, (2, n))
    label, order = rng.choice(["A", "B"], n), rng.choice(["AB", "BA"], n)
    eta = 0.3 + np.where(label == "A", 0.8, -0.8) + np.where(order == "AB", 0.2, -0.2)
    vote = np.where(rng.random(n) < expit(eta + effect * np.log2(lengths[0] / lengths[1])), "A", "B")
    vote = np.where(rng.random(n) < ties, "tie", vote)
    columns = {"item": np.arange(n), "cluster": np.arange(n) // per_cluster, "label": label, "order": order}
    return pd.DataFrame(columns | {"vote": vote, "length_a": lengths[0], "length_b": lengths[1]})


def design_of(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    label = np.where(table["label"] == "A", 0.5, -0.5)
    order = np.where(table["order"] == "AB", 0.5, -0.5)
    doubling = np.log2(table["length_a"] / table["length_b"])
    outcome = table["vote"].map({"A": 1.0, "B": 0.0, "tie": 0.5}).to_numpy()
    return np.column_stack([np.ones(len(table)), label, order, doubling]), outcome


def test_coefficients_are_those_of_statsmodels_and_the_error_is_close_to_its_sandwich() -> None:
    import statsmodels.api as sm

    table = verdicts(0.4, ties=0.0)
    design, outcome = design_of(table)
    groups = table["cluster"].to_numpy()
    theirs = sm.GLM(outcome, design, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": groups}, tol=1e-12
    )
    ours = length_bias(table)
    np.testing.assert_allclose(ours.coefficients, theirs.params, rtol=1e-8)
    assert ours.terms == ("intercept", "label", "order", "length")
    # The jackknife is the larger one, by about terms / clusters.
    assert 1.0 < ours[LENGTH].se / theirs.bse[-1] < 1.12


def test_the_one_step_jackknife_is_close_to_leaving_clusters_out_for_good() -> None:
    table = verdicts(0.4)
    design, outcome = design_of(table)
    cluster = table["cluster"].to_numpy()
    fit = fit_logit(design, outcome, cluster)
    assert fit is not None
    for g in (0, 7, 31):
        rest = cluster != g
        again = fit_logit(design[rest], outcome[rest], cluster[rest])
        assert again is not None
        np.testing.assert_allclose(again.coefficients - fit.coefficients, fit.left_out[g], atol=2e-3)


def one_step(design: np.ndarray, outcome: np.ndarray, cluster: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return the coefficients without each cluster by one Newton step from all data, cluster by cluster."""
    p = expit(design @ beta)
    found = []
    for g in np.unique(cluster):
        rest = cluster != g
        information = design[rest].T @ (design[rest] * (p * (1 - p))[rest, None])
        found.append(beta + np.linalg.solve(information, design[rest].T @ (outcome - p)[rest]))
    return np.array(found)


def test_the_slope_has_the_jackknife_error_and_students_t_with_fewer_degrees_where_few_clusters_make_it() -> (
    None
):
    table = verdicts(0.4, n=48)
    design, outcome = design_of(table)
    cluster = table["cluster"].to_numpy()
    audit = length_bias(table)
    slope = audit[LENGTH]
    g = len(np.unique(cluster))
    without = one_step(design, outcome, cluster, np.array(audit.coefficients))[:, -1]
    assert slope.se == pytest.approx(np.sqrt((g - 1) / g * ((without - slope.value) ** 2).sum()), rel=1e-7)
    square = (without - slope.value) ** 2
    df = 2 / (np.square(square).sum() / square.sum() ** 2 - 1 / g)
    assert 2 < df < g - 1
    assert slope.p_value == pytest.approx(2 * stats.t.sf(abs(slope.value) / slope.se, df), rel=1e-6)
    half = stats.t.ppf(0.975, df) * slope.se
    assert (slope.low, slope.high) == pytest.approx((slope.value - half, slope.value + half), rel=1e-6)


def test_clusters_that_all_move_the_slope_alike_have_the_degrees_of_their_number_less_one() -> None:
    """Two kinds of questions, ten of each: leaving one out moves the slope as far up or down as any other does."""
    kinds = [(100, 400, "B"), (400, 100, "A"), (100, 400, "A"), (400, 100, "B")]
    rows = [
        {"item": f"{g}.{i}", "cluster": g, "vote": v, "label": "AB"[i % 2], "length_a": a, "length_b": b}
        for g in range(20)
        for i, (a, b, v) in enumerate(kinds if g % 2 else [*kinds[:2], *kinds[:2]])
    ]
    audit = length_bias(pd.DataFrame(rows), use_label=False)
    design = np.column_stack([np.ones(80), [2.0 if r["length_a"] > 200 else -2.0 for r in rows]])
    outcome = np.array([float(r["vote"] == "A") for r in rows])
    without = one_step(design, outcome, np.repeat(np.arange(20), 4), np.array(audit.coefficients))[:, -1]
    # Squared changes vary by little, so that Satterthwaite's number is above 19.
    square = (without - audit[LENGTH].value) ** 2
    assert 2 / (np.square(square).sum() / square.sum() ** 2 - 1 / 20) > 19
    slope = audit[LENGTH]
    assert slope.high - slope.value == pytest.approx(stats.t.ppf(0.975, 19) * slope.se, rel=1e-9)


def test_one_cluster_with_most_items_gives_no_slope_limits_and_unequal_ones_give_wider() -> None:
    table = verdicts(0.4, n=240)
    alone, equal, few = (
        length_bias(table.assign(cluster=at))
        for at in (
            np.maximum(np.arange(240) - 200, 0),
            np.arange(240) // 6,
            np.r_[np.repeat([0, 1], 100), 2 + np.arange(40)],
        )
    )
    for name in (LENGTH, WON, CONTROLLED):
        assert alone[name].low is None
        assert "count as 1.4 equal clusters" in alone[name].note
    for name in (LENGTH, CONTROLLED):
        quantile = [(e.high - e.low) / e.se for e in (equal[name], few[name])]
        assert quantile[1] > 1.5 * quantile[0]


@pytest.mark.parametrize("name", [MARGINAL, CONTROLLED, WON])
def test_the_error_of_each_mean_of_predictions_is_that_of_the_means_without_each_cluster(name: str) -> None:
    table = verdicts(1.2, n=400)
    design, outcome = design_of(table)
    cluster = table["cluster"].to_numpy()
    audit = length_bias(table)
    beta = np.array(audit.coefficients)

    def means(at: np.ndarray, rows: np.ndarray) -> dict[str, float]:
        p, equal = expit(design[rows] @ at), expit(design[rows][:, :-1] @ at[:-1])
        return {
            MARGINAL: at[-1] * (p * (1 - p)).mean(),
            CONTROLLED: equal.mean(),
            WON: outcome[rows].mean(),
        }

    names = np.unique(cluster)
    left = one_step(design, outcome, cluster, beta)
    away = [means(at, cluster != g)[name] - audit[name].value for at, g in zip(left, names, strict=True)]
    direct = np.sqrt((len(names) - 1) / len(names) * np.square(away).sum())
    # The audit takes the derivative, so that both agree up to the curvature.
    assert audit[name].se == pytest.approx(direct, rel=0.01)


def test_the_marginal_effect_and_the_win_rate_at_equal_length_are_means_of_predictions() -> None:
    table = verdicts(0.5)
    audit = length_bias(table)
    design, outcome = design_of(table)
    beta = np.array(audit.coefficients)
    p = expit(design @ beta)
    assert audit[MARGINAL].value == pytest.approx(beta[-1] * (p * (1 - p)).mean())
    equal = design.copy()
    equal[:, -1] = 0
    assert audit[CONTROLLED].value == pytest.approx(expit(equal @ beta).mean())
    assert audit[WON].value == pytest.approx(outcome.mean())


def test_the_error_of_the_win_rate_at_equal_length_is_that_of_refits() -> None:
    table = verdicts(0.5, n=30)
    audit = length_bias(table)
    groups = table["cluster"].unique()
    refits = [length_bias(table[table["cluster"] != g])[CONTROLLED].value for g in groups]
    g = len(groups)
    direct = np.sqrt((g - 1) / g * ((np.array(refits) - audit[CONTROLLED].value) ** 2).sum())
    assert audit[CONTROLLED].se == pytest.approx(direct, rel=0.05)


def test_swapping_the_names_of_the_answers_changes_nothing_but_the_win_rate() -> None:
    table = verdicts(0.4)
    names = {"A": "B", "B": "A", "tie": "tie"}
    swapped = table.assign(
        vote=table["vote"].map(names),
        label=table["label"].map(names),
        order=table["order"].map({"AB": "BA", "BA": "AB"}),
        length_a=table["length_b"],
        length_b=table["length_a"],
    )
    one, other = length_bias(table), length_bias(swapped)
    for name in (LENGTH, MARGINAL, LONGER, PULL):
        assert other[name].value == pytest.approx(one[name].value, abs=1e-9)
    assert other[WON].value == pytest.approx(1 - one[WON].value)


def test_a_judge_that_always_takes_the_longer_answer_is_said_to_be_separated() -> None:
    table = verdicts(0.0)
    table["vote"] = np.where(table["length_a"] > table["length_b"], "A", "B")
    audit = length_bias(table[table["length_a"] != table["length_b"]])
    assert "separated" in audit.separation
    assert audit.find(LENGTH) is None
    assert audit.effect.name == LONGER
    assert audit.effect.value == 1.0
    assert audit.effect.low > 0.9
    json.dumps(audit.to_dict(), allow_nan=False)


def test_separation_is_found_by_linear_programming_and_only_where_it_is() -> None:
    design = np.column_stack([np.ones(6), [-3, -2, -1, 1, 2, 3]])
    assert separated(design, np.array([0, 0, 0, 1, 1, 1.0]))
    assert not separated(design, np.array([0, 1, 0, 1, 0, 1.0]))
    # A tie in the middle stops nothing; one at the end does.
    assert not separated(design, np.array([0.5, 0, 0, 1, 1, 1.0]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length_a": 0}, "length_a must be above 0"),
        ({"length_a": 100, "length_b": 100}, "lengths must differ"),
        ({"label": None}, "labels are needed"),
        ({"cluster": "q"}, "clusters must be more than the terms"),
        ({"vote": None}, "needs verdicts with both lengths"),
    ],
)
def test_data_that_cannot_carry_the_model_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        length_bias(verdicts(0.0).assign(**changes))


def test_labels_missing_for_half_the_items_are_left_out_and_said() -> None:
    table = verdicts(0.3)
    table.loc[::2, "label"] = None
    audit = length_bias(table)
    assert audit[LENGTH].n == 120
    assert any(note.startswith("120 of 240 verdicts lack") for note in audit.notes)
    without = length_bias(table, use_label=False)
    assert without[LENGTH].n == 240
    assert "quality" in without.notes[-1]


def few_errors(wrong: int, n: int = 200, seed: int = 1) -> pd.DataFrame:
    """Return verdicts of which so many are against the label, whatever the lengths."""
    rng = np.random.default_rng(seed)
    label = np.array(["A", "B"] * (n // 2))
    vote = label.copy()
    # Errors on both sides, so that votes are not separated by the label.
    sides = [rng.permutation(np.arange(side, n, 2)) for side in (0, 1)]
    at = np.stack(sides, axis=1).ravel()[:wrong]
    vote[at] = np.where(label[at] == "A", "B", "A")
    lengths = rng.integers(40, 900, (2, n))
    columns = {"item": np.arange(n), "label": label, "vote": vote}
    return pd.DataFrame(columns | {"length_a": lengths[0], "length_b": lengths[1]})


@pytest.mark.parametrize(("wrong", "printed"), [(3, False), (4, False), (5, True), (195, True), (197, False)])
def test_log_odds_need_five_clusters_with_the_rarer_verdict(wrong: int, printed: bool) -> None:
    """With three, 95 % limits cover .85."""
    found = length_bias(few_errors(wrong))
    estimates = {e.name: e for e in found.estimates}
    slope, marginal = estimates[LENGTH], estimates[MARGINAL]
    rarer = "against the label" if wrong < 100 else "with the label"
    assert (slope.low is not None, slope.p_value is not None) == (printed, printed)
    assert (f"with a verdict {rarer}, fewer than 5" in slope.note) != printed
    assert any("no interval of the log-odds" in note for note in found.notes) != printed
    assert marginal.low is not None
    assert np.isfinite(slope.value)


@pytest.mark.slow
def test_log_odds_of_a_judge_who_errs_in_one_of_fifty_hold_their_level() -> None:
    """Without the rule they cover .82 to .90."""
    rng, held = np.random.default_rng(9), []
    for _ in range(1500):
        x, label = rng.standard_normal(200), np.array(["A", "B"] * 100)
        chance = expit(np.where(label == "A", 1, -1) * np.log(49))
        vote = np.where(rng.random(200) < chance, "A", "B")
        lengths = {"length_a": np.round(20_000 * 2 ** (x / 2)), "length_b": np.round(20_000 * 2 ** (-x / 2))}
        table = pd.DataFrame({"item": np.arange(200), "label": label, "vote": vote} | lengths)
        slope = {e.name: e for e in length_bias(table).estimates}.get(LENGTH)
        if slope is not None and slope.low is not None:
            held.append(slope.low <= 0 <= slope.high)
    assert len(held) > 300
    assert np.mean(held) >= 0.93 - 2 * np.sqrt(0.95 * 0.05 / len(held))
