"""A family of worlds is known from its own file: nothing else in the package asks which family a world is of."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import d3stats
from d3stats.trajectories import MISSING
from d3stats.worlds import World, simulate_debates
from d3stats.worlds.base import world_types

PACKAGE = Path(d3stats.__file__).parent
FAMILIES = {kind.__name__ for kind in world_types().values()}
DRAWN = [kind for kind in world_types().values() if kind.free]


def named_in(path: Path) -> set[str]:
    """Return the families that a module's code names."""
    text = path.read_text(encoding="utf-8")
    if not any(name in text for name in FAMILIES):
        return set()
    tree = ast.parse(text)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names |= {a.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for a in node.names}
    return names & FAMILIES


def test_no_other_room_names_a_family() -> None:
    others = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "worlds"]
    assert {str(path): named_in(path) for path in others if named_in(path)} == {}


@pytest.mark.parametrize("kind", DRAWN, ids=lambda kind: kind.name)
def test_what_a_family_says_of_its_debates_is_what_is_drawn(kind: Any) -> None:
    for panel in (3, 4):
        world: World = kind(panel=panel)
        log = simulate_debates(world, 60, 3, 1)
        assert log.answers == world.answers
        assert len(log.seats) == panel
        assert (log.scores is None) == (world.points is None)
        if log.scores is not None and world.points is not None:
            assert world.points[0] <= log.scores.min() <= log.scores.max() <= world.points[1]
        assert set(log.votes.ravel()) <= {MISSING, *range(len(world.answers))}


@pytest.mark.parametrize("kind", DRAWN, ids=lambda kind: kind.name)
def test_every_group_reads_and_writes_values_in_its_range(kind: Any) -> None:
    world: World = kind(panel=3)
    groups = world.groups()
    assert set(world.free) <= set(groups)
    for name, group in groups.items():
        values = group.read(world)
        assert group.read(group.write(world, values)) == pytest.approx(values), name
        assert all(group.low <= value <= group.high for value in values), name
        for value in (group.low, group.high):
            if abs(value) != float("inf") and not group.closed and not group.simplex:
                inside = value + (1e-6 if value == group.low else -1e-6)
                group.write(world, (inside,) * len(values))
