"""Tests of one paired difference: each a p-value with what it rests on, or the reason why there is none."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from d3stats.inference.mcnemar import mcnemar

__all__ = ["TESTS", "PairTest", "Test", "paired_tests"]

Floats = NDArray[np.float64]
Test = Literal["cluster t", "sign flip", "McNemar exact", "McNemar mid-p"]
TESTS: tuple[str, ...] = get_args(Test)
N_DRAWS = 100_000
"""Random sign flips where all of them are too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTest:
    """A test that two runs do equally well.

    Attributes
    ----------
    name : str
    p_value : float or None
        Two-sided; None where the test cannot be made, and then `note` says why.
    detail : str
        The statistic, or how the p-value was computed.
    note : str
        What the test takes for granted here and should not, or why it was not made.
    """

    name: str
    p_value: float | None
    detail: str = ""
    note: str = ""

    def __str__(self) -> str:
        if self.p_value is None:
            return f"{self.name}: not made ({self.note})"
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.name}: {said_p(self.p_value)}{detail}" + (f" - {self.note}" if self.note else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dictionary that JSON can hold."""
        return asdict(self)


def said_p(p: float | None) -> str:
    """Write a p-value, or a dash."""
    if p is None:
        return "-"
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}" if p < 0.01 else f"p = {p:.3f}"


def paired_tests(
    change: Floats,
    cluster: NDArray[np.int64],
    *,
    binary: bool,
    repeated: bool,
    t: tuple[float, float, float] | None,
    why_no_t: str,
    rng: np.random.Generator,
) -> tuple[PairTest, ...]:
    """Make every test that the data carry.

    Parameters
    ----------
    change : ndarray of float, shape (items,)
        Second run less first.
    cluster : ndarray of int, shape (items,)
    binary, repeated : bool
        Whether both runs are right or wrong, and whether values are means over tries.
    t : tuple of float, float, float, or None
        Statistic, p-value and degrees of freedom of the cluster-robust t; None where it has no error, and
        `why_no_t` says why.
    """
    sizes = np.bincount(cluster)
    alone = bool((sizes <= 1).all())
    tests = [_t("cluster t", t, why_no_t)]
    if alone and t is not None and t[2] == len(sizes) - 1:
        tests.append(
            PairTest(
                name="paired t",
                p_value=t[1],
                detail=_student(t),
                note="the cluster t of single items",
            )
        )
    tests.append(_sign_flip(change, cluster, rng))
    return (*tests, *_mcnemar(change, binary, repeated, sizes))


def _t(name: str, t: tuple[float, float, float] | None, why: str) -> PairTest:
    if t is None:
        return PairTest(name=name, p_value=None, note=why)
    return PairTest(name=name, p_value=t[1], detail=_student(t))


def _student(t: tuple[float, float, float]) -> str:
    df = f"{t[2]:.1f}".removesuffix(".0")
    return f"t({df}) = {t[0]:.3f}"


def _sign_flip(change: Floats, cluster: NDArray[np.int64], rng: np.random.Generator) -> PairTest:
    from d3stats.resampling import sign_flip_p

    sums = np.bincount(cluster, weights=change)
    if len(sums) < 2:
        return PairTest(name="sign flip", p_value=None, note="one cluster can be swapped in two ways only")
    if not change.any():
        return PairTest(name="sign flip", p_value=None, note="the runs gave the same result on every item")
    found = sign_flip_p(sums, n_draws=N_DRAWS, rng=rng)
    return PairTest(name="sign flip", p_value=float(found.p_value), detail=f"{found.how}, clusters swapped")


def _mcnemar(change: Floats, binary: bool, repeated: bool, sizes: NDArray[np.int64]) -> list[PairTest]:
    why = ""
    if repeated:
        why = "items were run several times: their means are no right or wrong"
    elif not binary:
        why = "values are not right or wrong"
    elif len(sizes) == 1 and len(change) > 1:
        why = "all items belong to one cluster, and the test takes items as independent"
    lost, gained = int((change < 0).sum()), int((change > 0).sum())
    if not why and lost + gained == 0:
        why = "no discordance: there is no item on which the runs differ"
    if why:
        return [PairTest(name=name, p_value=None, note=why) for name in ("McNemar exact", "McNemar mid-p")]
    note, largest = "", int(sizes.max())
    if largest > 1:
        note = (
            f"McNemar takes items as independent, and a cluster holds up to {largest}: for reference only, "
            "it rejects too often where items of a cluster go together"
        )
    detail = f"{gained} gained, {lost} lost"
    return [
        PairTest(
            name=f"McNemar {method}",
            p_value=mcnemar(lost, gained, method=method).p_value,
            detail=detail,
            note=note,
        )
        for method in ("exact", "mid-p")
    ]
