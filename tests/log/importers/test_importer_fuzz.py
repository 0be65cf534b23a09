"""One value of a well-shaped file is replaced: the import works or says what is wrong, nothing else."""

from __future__ import annotations

import copy
import json
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from layers import covering

from d3stats.log.importers import load

ROOT = Path(__file__).parents[3]
FILES: dict[str, tuple[str, Any]] = runpy.run_path(str(ROOT / "simulations" / "fuzz" / "foreign.py"))["FILES"]
WRONG: tuple[Any, ...] = (None, True, -1, 2.5, float("nan"), "", "text", [], [None], {}, {"a": 1})


def paths(value: Any) -> Iterator[tuple[Any, ...]]:
    yield ()
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield from ((key, *rest) for rest in paths(child))


def replaced(value: Any, where: tuple[Any, ...], new: Any) -> Any:
    if not where:
        return new
    changed = copy.deepcopy(value)
    at = changed
    for key in where[:-1]:
        at = at[key]
    at[where[-1]] = new
    return changed


def outcome(action: Callable[[], object]) -> str | None:
    """Return None when the action works or refuses its input in our words, else what escaped."""
    try:
        action()
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return None if type(error) is ValueError and "must" in said else said
    return None


@covering(name=FILES, text=[False, True])
def test_a_well_shaped_file_imports_and_any_wrong_value_in_it_is_a_value_error(
    tmp_path: Path, name: str, text: bool
) -> None:
    file, content = FILES[name]
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    records = load(name).records
    path.write_text(json.dumps(content), encoding="utf-8")
    source = tmp_path if name == "prd" else path.parent if name == "pandalm" else path
    assert len(list(records(source, text=text))) > 1
    for where in paths(content):
        for wrong in WRONG:
            path.write_text(json.dumps(replaced(content, where, wrong)), encoding="utf-8")
            escaped = outcome(lambda: list(records(source, text=text)))
            assert escaped is None, f"{name}, {where} = {wrong!r}: {escaped}"
