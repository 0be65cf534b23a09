"""What compares played with drawn debates leaves nothing out without a word."""

from __future__ import annotations

from dataclasses import replace

import pytest
from twins import distances, twin

from d3stats.worlds import Conformity


def test_a_statistic_that_one_side_lacks_is_no_agreement() -> None:
    one, two = (twin(Conformity(panel=5), 500, 3, seed) for seed in (1, 2))
    assert len(distances(one, two)) > 40
    for lacking in (replace(two, spent=None), replace(two, spent=None, tokens=None)):
        for pair in ((one, lacking), (lacking, one)):
            with pytest.raises(AssertionError, match=r"only one side has .*tokens"):
                distances(*pair)
    assert len(distances(one, replace(two, spent=None, tokens=None), skip=("token",))) > 30


def test_rounds_that_one_side_lacks_are_no_agreement() -> None:
    three, two = (twin(Conformity(panel=5), 500, rounds, 1) for rounds in (3, 2))
    with pytest.raises(AssertionError, match="round 3"):
        distances(three, two)
