"""Audits of bias by stratum are audits of the stratum's verdicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from d3stats.inference import length_bias, persona_effect, position_bias, self_preference
from d3stats.inference.bias import Audits, as_judgments
from d3stats.inference.bias.persona import SET

N = 48


def verdicts(judges: tuple[str, ...] = ("J",)) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    kinds = np.resize(["law", "art", "math"], N)
    rows = []
    label = rng.choice(["A", "B"], N)
    for judge in judges:
        for order in ("AB", "BA"):
            lean = rng.random(N) < np.where(kinds == "art", 0.5, 0.1)
            vote = np.where(lean, order[0], np.where(rng.random(N) < 0.8, label, "A"))
            rows.append(
                pd.DataFrame(
                    {
                        "item": np.arange(N),
                        "judge": judge,
                        "order": order,
                        "vote": vote,
                        "label": label,
                        "kind": kinds,
                    }
                )
            )
    return pd.concat(rows, ignore_index=True)


def test_position_bias_of_a_stratum_is_that_of_its_verdicts() -> None:
    table = verdicts()
    found = position_bias(table, strata="kind", rng=1)
    alone = position_bias(table[table["kind"] == "art"], rng=1)
    parts = {part.quantity: part for part in found.strata}
    excess = parts[alone.effect.name]["art"]
    assert (excess.value, excess.low, excess.p_value) == (alone.effect.value, alone.effect.low, alone.p_value)
    assert "consistency of a judge that ignores the answers" not in parts
    assert found.effect.value == position_bias(table, rng=1).effect.value
    assert not any("not read" in note for note in found.notes)
    assert len(set(found.notes)) == len(found.notes)
    assert set(found.to_frame("strata")["stratum"]) == {"art", "law", "math"}
    assert found.to_dict()["strata"]


def test_several_judges_have_their_own_strata() -> None:
    found = position_bias(verdicts(("J", "K")), strata="kind", rng=1)
    assert isinstance(found, Audits)
    assert set(found.to_frame("strata")["judge"]) == {"J", "K"}
    alone = position_bias(verdicts(("J", "K")), judge="K", strata="kind", rng=1)
    assert found["K"].strata[0]["law"].value == alone.strata[0]["law"].value


def test_strata_of_verdicts_that_were_read() -> None:
    table = verdicts()
    data = as_judgments(table)
    found = position_bias(data, strata="kind", rng=1)
    kinds = dict(zip(map(str, table["item"]), table["kind"], strict=True))
    given = position_bias(data, strata=kinds, rng=1)
    assert found.strata[0]["law"].value == given.strata[0]["law"].value
    with pytest.raises(ValueError, match="strata must be a column of the verdicts"):
        position_bias(data, strata="task")


def test_length_and_own_family_by_stratum() -> None:
    rng = np.random.default_rng(3)
    table = verdicts(("J", "K")).assign(
        length_a=rng.integers(50, 400, 4 * N),
        length_b=rng.integers(50, 400, 4 * N),
        family_a=rng.choice(["x", "y"], 4 * N),
    )
    table["family_b"] = np.where(table["family_a"] == "x", "y", "x")
    table["judge_family"] = np.where(table["judge"] == "J", "x", "y")
    law = table[table["kind"] == "law"]
    length, alone = length_bias(table, judge="J", strata="kind"), length_bias(law, judge="J")
    assert length.strata[0]["law"].value == alone.effect.value
    own, alone_own = self_preference(table, judge="J", strata="kind"), self_preference(law, judge="J")
    assert own.strata[0]["law"].value == alone_own.effect.value


def personas(effect_in_art: float = 0.9) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    kinds = np.resize(["law", "art", "math"], N)
    rows = []
    for persona in ("none", "ethics", "business"):
        p = np.full(N, 0.6)
        if persona != "none":
            p = np.where(kinds == "art", effect_in_art, 0.6)
        vote = np.where(rng.random(N) < p, "A", "B")
        rows.append(
            pd.DataFrame(
                {"item": np.arange(N), "persona": persona, "vote": vote, "label": "A", "task": kinds}
            )
        )
    return pd.concat(rows, ignore_index=True)


def test_the_effect_of_personas_by_kind_of_task() -> None:
    table = personas()
    found = persona_effect(table, strata="task")
    part = next(part for part in found.strata if part.quantity == SET)
    alone = persona_effect(table[table["task"] == "art"])
    assert (part["art"].value, part["art"].low) == (alone.effect.value, alone.effect.low)
    assert part["art"].value > part["law"].value
    assert part.null == "0"
    assert found.effect.value == persona_effect(table).effect.value
    assert "by task: 3 strata" in str(found)


def test_a_stratum_without_one_of_the_personas_is_named_and_left_out() -> None:
    table = personas()
    table = table[~((table["task"] == "law") & (table["persona"] == "ethics"))]
    found = persona_effect(table, strata="task")
    assert [e.name for e in found.strata[0].raw] == ["art", "math"]
    assert any("no estimate for task 'law'" in note for note in found.strata[0].notes)


def test_a_log_of_debates_by_category(tmp_path: Path) -> None:
    table = personas()
    log = table.rename(columns={"item": "debate", "task": "category"}).assign(round=1)
    log["agent"] = "juror " + log["persona"]
    log["persona"] = log["persona"].where(log["persona"] != "none")
    path = tmp_path / "log.csv"
    log.to_csv(path, index=False)
    found = persona_effect(path, strata="category")
    frame = persona_effect(table, strata="task")
    assert found.strata[0]["art"].value == pytest.approx(frame.strata[0]["art"].value)
