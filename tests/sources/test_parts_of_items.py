"""Turns, pairs of models, filters and composite keys: what an item of a table is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import d3stats
from d3stats import inference


def conversations(seed: int, n: int = 12) -> pd.DataFrame:
    """Two raters judge two models on two turns of each question; the truth of every item is its own."""
    rng = np.random.default_rng(seed)
    rows = []
    for question in range(n):
        for pair in (("m1", "m2"), ("m1", "m3")) if seed % 2 else (("m1", "m2"),):
            for turn in (1, 2):
                truth = rng.choice(["model_a", "model_b"])
                for judge in ("e0", "e1"):
                    vote = truth if rng.random() < 0.8 else rng.choice(["model_a", "model_b", "tie"])
                    rows.append((question, *pair, vote, judge, turn))
    return pd.DataFrame(rows, columns=["question_id", "model_a", "model_b", "winner", "judge", "turn"])


@pytest.mark.parametrize("seed", range(4))
def test_turns_and_pairs_of_models_are_items_and_questions_their_clusters(seed: int, tmp_path: Path) -> None:
    table = conversations(seed)
    key = ["question_id", "model_a", "model_b", "turn"]
    wide = table.pivot_table(index=key, columns="judge", values="winner", aggfunc="first")
    question = wide.index.get_level_values("question_id")
    expected = inference.percent_agreement(wide.reset_index(drop=True).assign(cluster=question)).estimate
    table.to_csv(tmp_path / "verdicts.csv", index=False)
    for source in (table, tmp_path / "verdicts.csv"):
        found = inference.percent_agreement(source)
        assert (found.estimate.value, found.estimate.low) == pytest.approx((expected.value, expected.low))
        assert found.estimate.n_clusters == table["question_id"].nunique()
        assert any("items are separated by turn" in note for note in found.notes)
    bare = table.rename(columns={"turn": "round"})
    if seed % 2 == 0:
        last = wide.loc[wide.index.get_level_values("turn") == 2].reset_index(drop=True)
        expected = inference.percent_agreement(last).estimate
        assert inference.percent_agreement(bare).estimate.value == pytest.approx(expected.value)


def test_a_debate_keeps_its_turns_as_rounds() -> None:
    table = pd.DataFrame(
        {
            "debate": ["d"] * 4,
            "turn": [1, 1, 2, 2],
            "agent": ["x", "y"] * 2,
            "vote": list("ABAA"),
            "label": "A",
        }
    )
    assert d3stats.as_trajectories(table).n_rounds == 2
    assert d3stats.as_trajectories(table.rename(columns={"debate": "question_id"})).n_rounds == 2


def test_two_filters_of_an_answer_are_no_repeats(tmp_path: Path) -> None:
    rows = [
        f'{{"doc_id": {k}, "filter": "{name}", "exact_match": {float(k % 3 == 0 or name == "loose")}}}\n'
        for k in range(12)
        for name in ("strict", "loose")
    ]
    (tmp_path / "both.jsonl").write_text("".join(rows))
    (tmp_path / "one.jsonl").write_text("".join(row for row in rows if "strict" in row))
    with pytest.raises(ValueError, match="a run must have one filter; got 'loose', 'strict'"):
        d3stats.compare(tmp_path / "both.jsonl", tmp_path / "one.jsonl", value="exact_match")
    run = inference.as_run(tmp_path / "one.jsonl", value="exact_match")
    assert np.nanmean(run.value) == pytest.approx(1 / 3)


@pytest.mark.parametrize("seed", range(5))
def test_a_composite_key_is_proposed_and_the_proposal_gives_the_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        (f"J{j}", f"S{s}", f"C{c}", ("ABSENT", "PRESENT", "NUCLEAR")[(s + c + (rng.random() < 0.3)) % 3])
        for s in range(4)
        for c in range(3)
        for j in range(2)
    ]
    table = pd.DataFrame(rows, columns=["coder", "system", "primitive", "tier"])
    with pytest.raises(ValueError, match="no two share a rating") as refused:
        d3stats.agreement(table)
    columns = {"item": ["system", "primitive"], "rater": "coder", "vote": "tier"}
    assert f"columns={columns!r}" in str(refused.value)
    one, other = (table.loc[table["coder"] == coder, "tier"].to_numpy() for coder in ("J0", "J1"))
    found = inference.percent_agreement(table, columns=columns)
    assert found.estimate.value == pytest.approx(np.mean(one == other))


def test_an_index_that_was_written_beside_the_items_is_named_and_changes_nothing() -> None:
    table = pd.DataFrame({"item": [f"q{k}" for k in range(6)], "j1": list("AABBAB"), "j2": list("AABABB")})
    plain = inference.percent_agreement(table)
    for name in ("Unnamed: 0", ""):
        with_index = pd.concat([pd.Series(range(6), name=name), table], axis=1)
        found = inference.percent_agreement(with_index)
        assert found.estimate.value == plain.estimate.value
        assert any("not read" in note for note in found.notes)
