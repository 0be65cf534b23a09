"""One audit by name is the audit of that name, of each judge; a setting of another audit is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import d3stats
from d3stats.inference import length_bias, persona_effect, position_bias, self_preference
from d3stats.inference.bias import each_judge


@pytest.fixture(scope="module")
def verdicts() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = [
        (i, judge, order, "AB"[int(rng.random() < 0.4)], "AB"[i % 2], family, *rng.integers(50, 300, 2),
         "xy"[i % 3 == 0])
        for i in range(24)
        for judge, family in (("J", "a"), ("K", "c"), ("L", "d"))
        for order in ("AB", "BA")
    ]  # fmt: skip
    columns = ["item", "judge", "order", "vote", "label", "judge_family", "length_a", "length_b", "kind"]
    return pd.DataFrame(rows, columns=columns).assign(family_a="a", family_b="b")


@pytest.mark.parametrize(
    ("audit", "function", "settings"),
    [
        ("position", position_bias, {"rng": 3}),
        ("verbosity", length_bias, {"use_label": False}),
        ("self", self_preference, {"against": "all"}),
    ],
)
def test_an_audit_is_the_function_of_that_name_for_each_judge(
    audit: Any, function: Any, settings: dict[str, Any], verdicts: pd.DataFrame
) -> None:
    found = d3stats.bias(verdicts, audit=audit, level=0.8, **settings)
    each = each_judge(function, verdicts, level=0.8, **settings)
    assert set(found) == set(each)
    assert found.not_audited == each.not_audited
    pd.testing.assert_frame_equal(found.to_frame(), each.to_frame())
    one = next(iter(found))
    alone = d3stats.bias(verdicts, audit=audit, judges=[one], level=0.8, **settings)[one]
    pd.testing.assert_frame_equal(
        alone.to_frame(), function(verdicts, judge=one, level=0.8, **settings).to_frame()
    )


def test_personas_of_a_log_are_audited_together() -> None:
    found = d3stats.bias("slm7", audit="persona")
    (name,) = found
    pd.testing.assert_frame_equal(found[name].to_frame(), persona_effect("slm7").to_frame())


def test_strata_are_those_of_the_function(verdicts: pd.DataFrame) -> None:
    found = d3stats.bias(verdicts, strata="kind", judges=["J"], rng=1)["J"]
    wanted = position_bias(verdicts[verdicts["judge"] == "J"], strata="kind", rng=1)
    assert [str(each) for each in found.strata] == [str(each) for each in wanted.strata]  # type: ignore[union-attr]
    assert found.strata


@pytest.mark.parametrize(
    ("audit", "setting", "its"),
    [
        ("position", {"baseline": "x"}, "persona"),
        ("persona", {"against": "all"}, "self"),
        ("self", {"use_label": False}, "verbosity"),
    ],
)
def test_a_setting_of_another_audit_is_refused(
    audit: Any, setting: dict[str, Any], its: str, verdicts: pd.DataFrame
) -> None:
    with pytest.raises(ValueError, match=f"must come with audit='{its}', not '{audit}'; got "):
        d3stats.bias(verdicts, audit=audit, **setting)


def test_an_unknown_audit_is_refused(verdicts: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="audit must be one of 'position', 'verbosity', 'self', 'persona'"):
        d3stats.bias(verdicts, audit="length")  # type: ignore[arg-type]
