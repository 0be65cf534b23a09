"""Public values cannot be changed, are compared without error, and public functions keep their numerical defaults.

`tests/public_defaults.txt` has the numbers that a call takes when it names none: levels, margins, sizes of resamples. A
star marks what has to be named. It also has what values of a class are compared by. One of them changes together with a
line in CHANGELOG.md, since it changes what users get. To write the file again:
``python tests/test_public_values.py``.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LISTED = HERE / "public_defaults.txt"
CHANGED_IN_PLACE = {
    "d3stats.Opened": "reads its file when it is asked for the first time",
    "d3stats.run.RunReport": "filled while the debates run",
}
ARRAYS = re.compile(r"^(Floats|Ints|Bools|FloatArray|IntArray|BoolArray)\b|^NDArray\b")


@cache
def public() -> dict[str, Any]:
    names = (HERE / "public_names.txt").read_text(encoding="utf-8").split()
    parts = {name: name.rsplit(".", 1) for name in names}
    return {name: getattr(importlib.import_module(home), last) for name, (home, last) in parts.items()}


def classes() -> Iterator[tuple[str, Any]]:
    """Public dataclasses."""
    for name, made in public().items():
        if inspect.isclass(made) and dataclasses.is_dataclass(made):
            yield name, made


def parts() -> Iterator[tuple[str, Any]]:
    """Dataclasses of the package that are values of public ones or of their parts, and not public themselves."""
    known = {made for _, made in classes()}
    todo = list(known)
    while todo:
        made = todo.pop()
        for each in dataclasses.fields(made):
            home = next(c for c in made.__mro__ if each.name in vars(c).get("__annotations__", {}))
            for word in re.findall(r"[A-Za-z_]\w*", str(each.type)):
                part = getattr(importlib.import_module(home.__module__), word, None)
                ours = inspect.isclass(part) and part.__module__.startswith("d3stats.")
                if ours and dataclasses.is_dataclass(part) and part not in known:
                    known.add(part)
                    todo.append(part)
                    yield f"{part.__module__}.{part.__name__}", part


def test_public_values_cannot_be_changed() -> None:
    changed = {name for name, made in classes() if not made.__dataclass_params__.frozen}
    assert changed == set(CHANGED_IN_PLACE)


def test_parts_of_public_values_cannot_be_changed() -> None:
    """A certificate that was given out must not count on with its campaign."""
    found = dict(parts())
    assert {"d3stats.planning.ledger._Tally", "d3stats.models.mixtures.rounds.Pair"} <= set(found)
    assert [name for name, made in found.items() if not made.__dataclass_params__.frozen] == []


def test_public_values_that_hold_arrays_do_not_compare_them_as_one_truth() -> None:
    """The ``==`` that dataclass makes raises a ValueError where a field is an array of two values or more."""
    fails = [
        name
        for name, made in classes()
        if made.__dataclass_params__.eq
        and "__eq__" in vars(made)
        and "__dataclass_params__" in vars(made)
        and any(ARRAYS.match(str(field.type)) for field in dataclasses.fields(made))
    ]
    assert fails == []


def defaults() -> Iterator[str]:
    """Give ``name.parameter = number`` for public functions, for classes and for their public methods."""
    for name, made in classes():
        yield f"{name} is compared by = {'its content' if made.__dataclass_params__.eq else 'identity'}"
    for name, made in sorted(public().items()):
        callables = {name: made} if callable(made) else {}
        if inspect.isclass(made):
            callables |= {
                f"{name}.{method}": getattr(made, method)
                for method in sorted(vars(made))
                if not method.startswith("_") and callable(getattr(made, method, None))
            }
        for called, function in callables.items():
            try:
                parameters = inspect.signature(function).parameters.values()
            except (ValueError, TypeError):
                continue
            for one in parameters:
                if isinstance(one.default, int | float) and not isinstance(one.default, bool):
                    named = "*" * (one.kind is one.KEYWORD_ONLY)
                    yield f"{called}.{one.name} = {named}{one.default!r}"


def test_public_functions_keep_their_numerical_defaults() -> None:
    wanted = dict(line.split(" = ") for line in LISTED.read_text(encoding="utf-8").splitlines())
    found = dict(line.split(" = ") for line in defaults())
    assert len(wanted) > 300
    # A name that is gone is no matter of its default: tests/test_package.py holds the names.
    changed = {
        name: (wanted[name], found[name]) for name in wanted if found.get(name, wanted[name]) != wanted[name]
    }
    assert changed == {}, "parameter: (listed, now); see the head of this file"


if __name__ == "__main__":
    LISTED.write_text("\n".join(defaults()) + "\n", encoding="utf-8")
