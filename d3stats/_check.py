"""Checks of arguments; every error has the form "name, requirement, got".

Knows nothing but numpy; raises ``ValueError`` or ``TypeError`` with one sentence that names
the argument, says what it must be, and shows what it was.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

RngLike = np.random.Generator | int | None
"""The values of every ``rng`` argument: a Generator, a seed, or None for fresh entropy."""


def as_rng(rng: RngLike) -> np.random.Generator:
    """Turn a seed, a Generator or None into a Generator; never touches numpy's global state."""
    if isinstance(rng, bool) or not isinstance(rng, (np.random.Generator, int, np.integer, type(None))):
        raise TypeError(f"rng must be a numpy Generator, an int or None; got {rng!r}")
    if isinstance(rng, (int, np.integer)) and rng < 0:
        raise ValueError(f"rng must be >= 0 when it is a seed; got rng={rng}")
    return np.random.default_rng(rng)


def shown(value: Any) -> str:
    """Return a value as an error shows it: as Python writes it, and cut where that is long.

    Examples
    --------
    >>> shown("seven"), len(shown("x" * 1000)), shown("x" * 1000)[-8:]
    ("'seven'", 206, 'xx [cut]')
    """
    text = re.sub(r"\n\s*", " ", repr(value))
    return text if len(text) <= 200 else f"{text[:200]} [cut]"


def probability(name: str, value: float, *, open_interval: bool = False) -> float:
    """Return `value` as a float in [0, 1], or in (0, 1) with `open_interval`; a percentage is refused with advice."""
    value = number(name, value)
    inside = 0.0 < value < 1.0 if open_interval else 0.0 <= value <= 1.0
    if not inside:
        bounds = "strictly between 0 and 1" if open_interval else "between 0 and 1"
        raise ValueError(f"{name} must lie {bounds}; got {name}={shown(value)}{as_share(value)}")
    return value


def loss(name: str, value: float, *, positive: bool = False) -> float:
    """Return a share of verdicts that may be lost as a float in [0, 1), or in (0, 1) with `positive`.

    A loss of 1 allows every verdict to be lost; it is nearly always meant as 1 %.
    """
    value = number(name, value)
    if value < 0.0 or (positive and value == 0.0):
        raise ValueError(f"{name} must be {'> 0' if positive else '>= 0'}; got {name}={shown(value)}")
    if value >= 1.0:
        raise ValueError(
            f"{name} must lie below 1, because it is a share of the verdicts; got {name}={shown(value)}"
            f"{as_share(value, least=1.0)}"
        )
    return value


def as_share(value: float, *, least: float = 2.0) -> str:
    """Return how a percentage is written as a share, as the end of a refusal; nothing where it can be none."""
    return f" ({value:g} % is written {value / 100:g})" if least <= value <= 100 else ""


def number(name: str, value: float, *, minimum: float | None = None) -> float:
    """Return `value` as a finite float, at least `minimum` when given."""
    try:
        result = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be below 1e308; got {name}={shown(value)}") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number; got {name}={shown(value)}") from None
    if not np.isfinite(result):
        raise ValueError(f"{name} must be finite; got {name}={shown(value)}")
    if minimum is not None and result < minimum:
        raise ValueError(f"{name} must be >= {minimum:g}; got {name}={shown(value)}")
    return result


def integer(name: str, value: int, *, minimum: int | None = None, maximum: int | None = None) -> int:
    """Return `value` as an int in this range; 3.0 is taken, 3.5 and True are not."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be an integer; got {name}={shown(value)}")
    if isinstance(value, (float, np.floating)) and (not math.isfinite(value) or value != int(value)):
        raise ValueError(f"{name} must be an integer; got {name}={shown(value)}")
    if minimum is not None and value < minimum:
        raise ValueError(f"{name} must be >= {minimum}; got {name}={shown(value)}")
    if maximum is not None and value > maximum:
        raise ValueError(f"{name} must be <= {maximum}; got {name}={shown(value)}")
    return int(value)


def choice(name: str, value: Any, options: Collection[str]) -> str:
    """Return `value` when it is one of `options`."""
    if value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name} must be one of {listed}; got {name}={shown(value)}{meant(value, options)}")
    return str(value)


def flag(name: str, value: Any) -> bool:
    """Return `value` when it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {name}={shown(value)}")
    return bool(value)


def within(name: str, value: float, *, low: float, high: float) -> float:
    """Return `value` as a finite float from `low` to `high`."""
    result = number(name, value)
    if not low <= result <= high:
        raise ValueError(f"{name} must lie between {low:g} and {high:g}; got {name}={shown(value)}")
    return result


def positive(name: str, value: float) -> float:
    """Return `value` as a finite float above 0."""
    result = number(name, value)
    if result <= 0:
        raise ValueError(f"{name} must be > 0; got {name}={shown(value)}")
    return result


PositiveInt = Annotated[int, partial(integer, minimum=1)]
NonNegativeInt = Annotated[int, partial(integer, minimum=0)]
Finite = Annotated[float, number]
PositiveFloat = Annotated[float, positive]
NonNegativeFloat = Annotated[float, partial(number, minimum=0.0)]
Probability = Annotated[float, probability]
OpenProbability = Annotated[float, partial(probability, open_interval=True)]


def nearest(name: Any, known: Iterable[str]) -> str | None:
    """Return the known name that is spelt most like `name`, in any case; None where none is close.

    Examples
    --------
    >>> nearest("unanimty", ["fixed", "unanimity"]), nearest("court", ["fixed", "unanimity"])
    ('unanimity', None)
    """
    from difflib import get_close_matches

    spelt = {word.casefold(): word for word in known}
    found = get_close_matches(str(name).casefold(), list(spelt), n=1)
    return spelt[found[0]] if found else None


def meant(name: Any, known: Iterable[str]) -> str:
    """Return the nearest known name as the end of a refusal; nothing where none is close.

    Examples
    --------
    >>> meant("unanimty", ["fixed", "unanimity"])
    "; did you mean 'unanimity'?"
    """
    found = nearest(name, known)
    return "" if found is None else f"; did you mean {found!r}?"


_TOO_LARGE = "9223372036854775808, which is 2^63"


def whole_numbers(
    name: str, values: ArrayLike, *, minimum: int = 0, any_shape: bool = False
) -> NDArray[np.int64]:
    """Return a one-dimensional int64 array; NaN, infinities, fractions and too small values are refused.

    With `any_shape` the array may have any number of dimensions.
    """
    try:
        array = np.asarray(values)
        floats = array if array.dtype.kind in "biu" else array.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a rectangular array of whole numbers; got {shown(values)}") from None
    except OverflowError:
        raise ValueError(f"{name} must be below {_TOO_LARGE}; got {shown(values)}") from None
    if array.ndim != 1 and not any_shape:
        raise ValueError(f"{name} must be one-dimensional; got an array of shape {array.shape}")
    if floats.dtype.kind == "f":
        refuse_first(
            name, "must be whole numbers", floats, ~np.isfinite(floats) | (floats != np.floor(floats))
        )
    if floats.dtype.kind in "fu":
        refuse_first(name, f"must be below {_TOO_LARGE}", floats, floats >= 2**63)
    result = floats.astype(np.int64)
    refuse_first(name, f"must be >= {minimum}", result, result < minimum)
    return result


def flags(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    """Return a one-dimensional array of booleans; 0 and 1 are taken as such, anything else is refused."""
    numbers = whole_numbers(name, values)
    refuse_first(name, "must be True or False", numbers, numbers > 1)
    return numbers.astype(np.bool_)


def nonnegative(name: str, values: ArrayLike, *, size: int | None = None) -> NDArray[np.float64]:
    """Return a one-dimensional float64 array of finite, non-negative values."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers; got {shown(values)}") from None
    except OverflowError:
        raise ValueError(f"{name} must be below 1e308; got {shown(values)}") from None
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got an array of shape {array.shape}")
    if size is not None and array.size != size:
        raise ValueError(f"{name} must have one value per row ({size}); got {array.size}")
    refuse_first(name, "must be finite and >= 0", array, ~(np.isfinite(array) & (array >= 0)))
    return array


LARGEST = 1e50
"""Largest size of a value that is averaged: the fourth powers of such values still have a number."""


def refuse_infinite(name: str, values: NDArray[np.float64]) -> None:
    """Refuse infinite and missing values, and those so large that their squares would be infinite."""
    refuse_first(name, "must be finite", values, ~np.isfinite(values))
    refuse_first(name, f"must be at most {LARGEST:g} in size", values, np.abs(values) > LARGEST)


def refuse_first(name: str, requirement: str, values: NDArray[Any], bad: NDArray[np.bool_]) -> None:
    """Refuse the first of the `bad` values, saying where it is."""
    if bad.any():
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
        where = f" at row {at[0]}" if len(at) == 1 else f" at {at}" if at else ""
        raise ValueError(f"{name} {requirement}; got {name}={values[at].item()!r}{where}")
