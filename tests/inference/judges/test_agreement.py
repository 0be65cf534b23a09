"""The table of agreement: every pair, the panel, what is refused, and its figure."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from d3stats.inference.judges.agreement import MEASURES, agreement
from d3stats.inference.judges.coefficients import (
    PANEL,
    Coefficient,
    How,
    Panel,
    cohen_kappa,
    fleiss_kappa,
    panel_coefficient,
)
from d3stats.inputs.ratings import Ratings
from d3stats.sources.ratings import as_ratings


@pytest.fixture
def votes() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 60)
    table = {
        name: np.where(rng.random(60) < p, label, 1 - label)
        for name, p in (("x", 0.9), ("y", 0.8), ("z", 0.6))
    }
    return pd.DataFrame(table).assign(label=label, cluster=np.repeat(np.arange(20), 3))


def test_the_table_holds_every_pair_and_the_panel(votes: pd.DataFrame) -> None:
    found = agreement(votes)
    frame = found.to_frame()
    assert len(found.panel) == len(MEASURES) - 1
    assert frame[["a", "b"]].dropna().to_numpy().tolist() == [["x", "y"], ["x", "z"], ["y", "z"]]
    assert (frame["n_clusters"] == 20).all()
    ratings = as_ratings(votes)
    assert found.panel[0].estimate == fleiss_kappa(ratings).estimate
    assert found.pairs[0].estimate == cohen_kappa(ratings.of(["x", "y"])).estimate
    assert not found.refused


def test_the_label_can_be_one_of_the_raters(votes: pd.DataFrame) -> None:
    found = agreement(votes, raters=["z", "label"], measures=["cohen"])
    assert found.estimates[0].name == "Cohen's kappa, z and label"
    assert found.pairs[0].share.value == pytest.approx((votes["z"] == votes["label"]).mean())


def test_a_pair_without_a_kappa_is_named_and_the_others_stay(votes: pd.DataFrame) -> None:
    constant = votes.assign(y=1, z=1)
    found = agreement(constant)
    assert list(found.refused) == ["Cohen's kappa, y and z"]
    assert "one category" in found.refused["Cohen's kappa, y and z"]
    assert found.pairs[0].estimate.value == 0
    assert any("'y' gives one answer only" in note for note in found.notes)
    assert "one category" in str(found)


def test_what_has_no_value_at_all_is_an_error(votes: pd.DataFrame) -> None:
    same = votes[["x"]].assign(x=1, y=1)
    with pytest.raises(ValueError, match="undefined where all ratings are one category"):
        agreement(same, measures=["cohen", "fleiss"])
    with pytest.raises(ValueError, match="raters must be at least two"):
        agreement(votes[["x"]])
    with pytest.raises(ValueError, match="measures must be one of"):
        agreement(votes, measures=["kappa"])
    apart = pd.DataFrame({"x": ["A", None], "y": [None, "B"]})
    with pytest.raises(ValueError, match="agreement needs an item that two raters judged"):
        agreement(apart)


def test_bootstraps_are_the_same_for_the_same_seed_and_their_order_does_not_matter(
    votes: pd.DataFrame,
) -> None:
    first = agreement(votes, kind="bca", n_boot=500, rng=3)
    assert first.estimates == agreement(votes, kind="bca", n_boot=500, rng=3).estimates
    assert first.estimates != agreement(votes, kind="bca", n_boot=500, rng=4).estimates


def test_weights_reach_every_measure_that_takes_them(votes: pd.DataFrame) -> None:
    scores = votes.assign(x=votes["x"] + votes["y"])[["x", "y", "z"]]
    found = agreement(scores, weights="quadratic")
    assert [e.name for e in found.estimates[:3]] == [
        "Fleiss' kappa (quadratic weights)",
        "Krippendorff's alpha (interval)",
        "Gwet's AC2 (quadratic weights)",
    ]


def test_the_result_is_text_json_and_latex(votes: pd.DataFrame) -> None:
    found = agreement(votes)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["n_clusters"] == 20
    assert found.to_latex().count("\\\\") == 1 + len(found.estimates)
    assert str(found).startswith(found.headline)
    assert "\n60 items in 20 clusters, 3 raters, categories 0, 1, 0 ratings missing\n" in str(found)
    ax = found.plot()
    assert len(ax.get_yticklabels()) == len(found.estimates)


def test_half_of_the_labels_missing_leaves_the_other_half(votes: pd.DataFrame) -> None:
    half = votes.assign(label=votes["label"].where(np.arange(60) % 2 == 0))
    found = agreement(half, raters=["z", "label"], measures=["cohen"])
    assert found.estimates[0].n == 30
    assert found.n_missing == 30
    assert found.notes == ("30 of 60 items left out: not judged by both",)


def test_gwets_note_names_only_categories_that_no_rater_used(votes: pd.DataFrame) -> None:
    assert agreement(votes, measures=["ac1"]).notes == ()
    (more,) = agreement(votes, measures=["ac1"], categories=[0, 1, 2]).notes
    assert more == "chance agreement is over the 3 categories named as possible; 2 of them occur"
    label = votes["label"].astype(object).where(votes.index > 0, "tie")
    found = agreement(votes.assign(label=label), measures=["ac1"])
    (doubt,) = found.notes
    assert doubt.startswith("WARNING: 1 item of 60 has a label that no agent votes for ('tie'")
    assert found.panel[0].estimate.value == agreement(votes, measures=["ac1"]).panel[0].estimate.value


def test_weights_that_do_not_exist_are_refused_once_and_not_per_measure(votes: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"^weights must be one of .* or a table; got weights='foo'$"):
        agreement(votes, weights="foo")


def test_one_cluster_leaves_every_coefficient_without_an_interval_and_says_so_once(
    votes: pd.DataFrame,
) -> None:
    found = agreement(votes.assign(cluster=1), measures=["fleiss", "alpha", "share"])
    assert all(e.low is None for e in found.estimates)
    assert "all 3 coefficients: a single cluster, so the variation between clusters is unknown" in found.notes


def brennan_prediger(ratings: Ratings, *, weights: Any = None, **how: Any) -> Coefficient:
    """A coefficient that the package lacks: chance agreement is that of categories chosen alike often."""

    def chance(shares: np.ndarray, table: np.ndarray) -> np.ndarray:
        return np.full(len(shares), table.mean())

    return panel_coefficient(ratings, "Brennan and Prediger's kappa", weights, chance, How(**how))


def test_a_new_coefficient_needs_its_function_and_one_line(
    votes: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PANEL, "uniform", Panel("Brennan and Prediger's kappa", brennan_prediger))
    found = agreement(votes, measures=["share", "uniform"], kind="bca", n_boot=300, rng=1)
    share, uniform = found.panel
    assert uniform.estimate.value == pytest.approx(2 * share.estimate.value - 1)
    assert uniform.estimate.low < uniform.estimate.value < uniform.estimate.high
    assert found.to_frame()["measure"].tolist() == ["share of agreement", "Brennan and Prediger's kappa"]


def test_what_a_bootstrap_draws_for_a_coefficient_does_not_depend_on_what_else_is_asked_for() -> None:
    votes = pd.DataFrame(np.random.default_rng(5).integers(0, 2, (40, 3)), columns=["x", "y", "z"])
    settings = {"kind": "percentile", "n_boot": 200, "rng": 1}
    every = {e.name: e for e in agreement(votes, **settings).estimates}
    for measure in MEASURES:
        for found in agreement(votes, measures=[measure], **settings).estimates:
            assert found == every[found.name]
