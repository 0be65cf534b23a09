"""The assembly world checks itself, and says what its rounds of argument show."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from d3stats.worlds import Courtroom, from_table
from d3stats.worlds.assembly import Assembly


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"court": {"hidden": 0.2}}, "court must be a Courtroom"),
        ({"reveals": "votes"}, "reveals must be one of 'argument', 'talk'; got reveals='votes'"),
        ({"diversity": 1.2}, "diversity must lie between 0 and 1; got diversity=1.2"),
        ({"conformity": -0.1}, "conformity must lie between 0 and 1"),
        ({"decide_at": -1}, "decide_at must be >= 0; got decide_at=-1"),
        ({"accept_scale": 0}, "accept_scale must be > 0; got accept_scale=0"),
        ({"points_per_mark": float("nan")}, "points_per_mark must be finite"),
        ({"contrariness": "some"}, "contrariness must be a number"),
    ],
)
def test_a_value_that_makes_no_assembly_is_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        Assembly(**given)


def test_bare_answers_show_what_is_not_hidden_and_arguments_show_the_rest_in_the_end() -> None:
    world = Assembly(court=Courtroom(hidden=0.5, decay=0.3))
    shown = [world.shown(r) for r in range(30)]
    assert shown[0] == 0.5
    assert all(later > earlier for earlier, later in pairwise(shown[:11]))
    assert shown[-1] == pytest.approx(1)


def test_a_courtrooms_round_shows_what_the_same_arguments_show_here() -> None:
    """Round r of a courtroom shows 1 - hidden decay^(r - 1); here bare answers are round 0."""
    here, there = Assembly(court=Courtroom(hidden=0.5, decay=0.3)), Courtroom(hidden=0.15, decay=0.3)
    for r in range(1, 6):
        assert here.shown(r) == pytest.approx(1 - there.hidden * there.decay ** (r - 1))


def test_a_study_file_can_write_an_assembly() -> None:
    world = from_table({"name": "assembly", "court": {"hidden": 0.5}, "diversity": 0.0})
    assert isinstance(world, Assembly)
    assert (world.court.hidden, world.court.decay, world.diversity) == (0.5, 0.3, 0.0)
    with pytest.raises(ValueError, match="world 'assembly', court must have keys among"):
        from_table({"name": "assembly", "court": {"hiden": 0.5}})
