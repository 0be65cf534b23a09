"""What a corrected rate is reported as: beside the naive one, truncated in words, or refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.estimate import Estimate
from d3stats.inference._reported import Reported
from d3stats.inference.corrections.limits import Rates, clearly_tells_apart
from d3stats.inference.proportion import share

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CorrectedRate(Reported):
    """What :func:`correct_rate` found.

    Attributes
    ----------
    rate : Estimate
        The corrected share, within [0, 1].
    naive : Estimate
        What the judge alone says.
    labels_only : Estimate
        Share of positives in the calibration set: comparable only when that is a random part of the study.
    sensitivity, specificity : Estimate
    youden : float
        Se + Sp - 1: 1 for a judge without error, 0 for one that knows nothing.
    untruncated : float
        The corrected share before it was put into [0, 1].
    notes : tuple of str
    """

    rate: Estimate
    naive: Estimate
    labels_only: Estimate
    sensitivity: Estimate
    specificity: Estimate
    youden: float
    untruncated: float
    notes: tuple[str, ...] = ()

    __str__ = Reported.__str__

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Corrected, naive, labels only, sensitivity, specificity."""
        return self.rate, self.naive, self.labels_only, self.sensitivity, self.specificity

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary that JSON can hold."""
        return super().to_dict() | {"youden": self.youden, "untruncated": self.untruncated}


def reported(
    rates: Rates,
    ends: tuple[float, float] | None,
    se: float,
    kind: str,
    level: float,
    totals: Floats | None,
    notes: tuple[str, ...],
) -> CorrectedRate:
    """Return a corrected rate within [0, 1] beside the rates that it is made of."""
    theta = rates.corrected
    value = min(max(theta, 0.0), 1.0)
    said = []
    if value != theta:
        said.append(f"the corrected share is {theta:.3f}, truncated to {value:g}")
    low = high = None
    if ends is None:
        said.append("no interval: no cluster differs from the others")
    elif max(ends) < 0 or min(ends) > 1:
        said.append(
            f"no interval: [{ends[0]:.3f}, {ends[1]:.3f}] lies outside [0, 1], so that the judge cannot err in the "
            "study as it does on the calibration set"
        )
    else:
        low, high = (min(max(end, 0.0), 1.0) for end in ends)
        cut = [f"{end:.3f}" for end in ends if not 0 <= end <= 1]
        if cut:
            said.append(f"limits outside [0, 1] were truncated: {', '.join(cut)}")
        # A shifted interval may leave a truncated estimate outside by a hair.
        low, high = min(low, value), max(high, value)
    n_clusters = None if totals is None else len(totals)
    rate = Estimate(
        name="corrected rate",
        value=value,
        low=low,
        high=high,
        kind=kind,
        n=int(rates.n),
        se=se,
        level=level,
        n_clusters=n_clusters,
        note="; ".join(said),
    )
    parts = []
    names = ("judge alone", "sensitivity", "specificity", "labels alone")
    pairs = [*pairs_of(rates), (rates.n1, rates.n1 + rates.n0)]
    columns = ((1, 0), (3, 2), (5, 4), (2, None))
    for name, (k, m), (top, bottom) in zip(names, pairs, columns, strict=True):
        if totals is None:
            parts.append(share(int(k), int(m), level=level, name=name))
            continue
        size = totals[:, 2] + totals[:, 4] if bottom is None else totals[:, bottom]
        on = size > 0
        parts.append(
            share(
                totals[on, top].astype(int),
                size[on].astype(int),
                cluster=np.flatnonzero(on),
                level=level,
                name=name,
            )
        )
    naive, sensitivity, specificity, labels = parts
    return CorrectedRate(
        rate, naive, labels, sensitivity, specificity, rates.youden, theta, notes + tuple(said)
    )


def pairs_of(rates: Rates) -> tuple[tuple[float, float], ...]:
    """Return successes and trials of the apparent rate, the sensitivity and the specificity."""
    return (rates.x, rates.n), (rates.tp, rates.n1), (rates.tn, rates.n0)


def refuse_empty(rates: Rates) -> None:
    """Refuse a study without items and a calibration set without positives or negatives."""
    if rates.n < 1:
        raise ValueError("the study must have a judged item; got none")
    for what, size, rate in (("positives", rates.n1, "sensitivity"), ("negatives", rates.n0, "specificity")):
        if size < 1:
            raise ValueError(
                f"the calibration set must hold {what}, for the {rate} is unknown without; got none"
            )


def refuse_blind(rates: Rates, z: float, *, clear: bool) -> None:
    """Refuse a judge that is not known to tell positives from negatives."""
    if clear and clearly_tells_apart(rates, z):
        return
    raise ValueError(
        "the judge must be known to tell positives from negatives (Se + Sp - 1 above 0 by more than its error): "
        f"got Se = {rates.tp / rates.n1:.3f} of {rates.n1:g} and Sp = {rates.tn / rates.n0:.3f} of {rates.n0:g}; "
        "more calibration labels, or a better judge"
    )
