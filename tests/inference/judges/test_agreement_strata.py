"""Agreement by stratum is agreement of the stratum's items."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from d3stats import agreement
from d3stats.inference import as_ratings


def votes(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    truth = rng.choice(["A", "B"], n)
    kinds = np.resize(["law", "art", "math"], n)
    same = np.where(kinds == "math", 0.95, 0.7)
    frame = {name: np.where(rng.random(n) < same, truth, rng.choice(["A", "B"], n)) for name in "xyz"}
    return pd.DataFrame({"item": [f"q{k}" for k in range(n)], **frame, "kind": kinds})


def test_each_stratum_is_the_agreement_of_its_items() -> None:
    table = votes()
    found = agreement(table, measures=["fleiss", "share", "cohen"], strata="kind")
    assert found.raters == ("x", "y", "z")
    assert [part.quantity for part in found.strata] == ["Fleiss' kappa", "share of agreement"]
    part = table[table["kind"] == "law"].drop(columns="kind")
    alone = agreement(part, measures=["fleiss", "share"])
    for whole, one in zip(found.strata, alone.estimates, strict=True):
        assert (whole["law"].value, whole["law"].low) == (one.value, one.low)
    assert len(found.to_frame("strata")) == 6
    assert len(found.to_dict()["strata"]) == 2
    assert "by kind: 3 strata" in str(found)
    assert "strata" not in agreement(part).to_dict()


def test_one_stratum_is_the_whole_also_with_a_bootstrap() -> None:
    table = votes().assign(kind="x")
    found = agreement(table, measures=["fleiss"], kind="percentile", n_boot=200, rng=3, strata="kind")
    assert found.strata[0].raw[0].low == found.panel[0].estimate.low


def test_kappa_of_a_single_pair_has_strata() -> None:
    found = agreement(votes(), raters=["x", "y"], measures=["cohen"], strata="kind")
    assert [part.quantity for part in found.strata] == ["Cohen's kappa, x and y"]


def test_a_column_of_strata_is_no_rater_of_a_file_and_a_log_keeps_it(tmp_path: Path) -> None:
    table = votes()
    wide = tmp_path / "wide.csv"
    table.to_csv(wide, index=False)
    found = agreement(wide, measures=["fleiss"], strata="kind")
    assert found.raters == ("x", "y", "z")
    turns = table.melt(["item", "kind"], var_name="agent", value_name="vote").rename(
        columns={"item": "debate"}
    )
    turns = turns.assign(round=1)
    log = tmp_path / "log.csv"
    turns.to_csv(log, index=False)
    for source in (log, turns):
        again = agreement(source, measures=["fleiss"], strata="kind")
        assert again.strata[0]["math"].value == pytest.approx(found.strata[0]["math"].value)
        by_question = agreement(source, measures=["fleiss"], by="question", strata="kind")
        assert by_question.strata[0]["math"].value == pytest.approx(found.strata[0]["math"].value)


def test_a_stratum_without_the_coefficient_is_named() -> None:
    table = votes()
    table.loc[table["kind"] == "art", ["x", "y", "z"]] = "A"
    found = agreement(table, measures=["fleiss"], strata="kind")
    assert [e.name for e in found.strata[0].raw] == ["law", "math"]
    assert any("no estimate for kind 'art'" in note for note in found.strata[0].notes)
    assert found.refused == {}


def test_unknown_columns_and_ratings_without_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'kind'"):
        agreement(votes(), strata="kinds")
    ratings = as_ratings(votes().drop(columns="kind"))
    with pytest.raises(ValueError, match="strata must be a mapping of item to stratum"):
        agreement(ratings, strata="kind")
    kinds = dict(zip(ratings.items, votes()["kind"], strict=True))
    assert len(agreement(ratings, measures=["share"], strata=kinds).strata[0]) == 3
