"""What a paired comparison is made of: how noisy one difference is, and how differences hang together."""

from __future__ import annotations

import math
from dataclasses import dataclass

from d3stats._check import as_share, integer, number, probability

__all__ = ["Design", "design"]

_ROUNDING = 1e-9
"""By how much shares and correlations may pass their bounds before they are taken as impossible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A planned comparison: `cluster_size` items to a question, each run `repeats` times by both protocols.

    Attributes
    ----------
    sd : float or None
        Standard deviation of one paired difference (one item, one repeat), in the units of the effect.
    discordance : float or None
        Share of items that exactly one of the two protocols gets right.
    accuracy, correlation : float or None
        Accuracy of the first protocol, and correlation of right and wrong between the two, from which the
        discordance follows.
    icc, repeat_icc : float
        Correlation of the differences of two items of one question, and of two repeats of one item.
    cluster_size, repeats : int
    """

    sd: float | None
    discordance: float | None
    accuracy: float | None
    correlation: float | None
    icc: float
    cluster_size: int
    repeats: int
    repeat_icc: float

    @property
    def binary(self) -> bool:
        """Whether the items are right or wrong."""
        return self.sd is None

    @property
    def simple(self) -> bool:
        """Whether every question is one item, run once: McNemar's setting when items are right or wrong."""
        return self.cluster_size == 1 and self.repeats == 1

    @property
    def design_effect(self) -> float:
        """By how much the variance of the mean exceeds that of as many independent differences."""
        m, r = self.cluster_size, self.repeats
        return 1 + (r - 1) * self.repeat_icc + r * (m - 1) * self.icc

    def discordance_at(self, effect: float) -> float:
        """Return the discordance when the second protocol is better by `effect`."""
        if self.discordance is not None:
            return max(self.discordance, abs(effect))
        assert self.accuracy is not None
        a, b = self.accuracy, min(max(self.accuracy + effect, 0.0), 1.0)
        covariance = (self.correlation or 0.0) * math.sqrt(a * (1 - a) * b * (1 - b))
        # At the largest correlation that can be, the discordance is |effect|, which rounding must not undercut.
        return max(a * (1 - b) + b * (1 - a) - 2 * covariance, abs(effect))

    def correlations_at(self, effect: float) -> tuple[float, float]:
        """Return the least and largest correlation of two runs so far apart; both 0 where one is constant."""
        assert self.accuracy is not None
        a, b = self.accuracy, min(max(self.accuracy + effect, 0.0), 1.0)
        scale = math.sqrt(a * (1 - a) * b * (1 - b))
        if scale == 0:
            return 0.0, 0.0
        # No share of items (both right, both wrong, one right) can be below 0.
        return -min(a * b, (1 - a) * (1 - b)) / scale, min(a * (1 - b), b * (1 - a)) / scale

    def variance(self, effect: float) -> float:
        """Return the variance of one paired difference."""
        if self.sd is not None:
            return self.sd**2
        return max(self.discordance_at(effect) - effect**2, 0.0)

    def question_variance(self, effect: float) -> float:
        """Return the variance of one question's mean difference."""
        return self.variance(effect) * self.design_effect / (self.cluster_size * self.repeats)

    def largest_effect(self) -> float | None:
        """Return the largest effect that there can be; None when there is no bound."""
        if self.sd is not None:
            return None
        room = 1.0 if self.accuracy is None else 1.0 - self.accuracy
        a, rho = self.accuracy, self.correlation
        if a is not None and rho:
            # Where correlations_at reaches rho: further up no two runs are so much, or so little, alike.
            most = a / (a + rho**2 * (1 - a)) if rho > 0 else (1 - a) / (1 - a + rho**2 * a)
            room = min(room, most - a)
        return room if self.discordance is None else min(self.discordance, room)

    def check(self, effect: float) -> None:
        """Refuse an effect that the discordance or the accuracy cannot have."""
        if self.sd is not None:
            return
        a = self.accuracy
        if a is not None and not 0 <= a + effect <= 1:
            raise ValueError(
                f"accuracy + effect must lie between 0 and 1; got accuracy={a}, effect={effect}{as_share(effect)}"
            )
        psi = self.discordance
        if psi is None:
            self._check_correlation(effect)
            return
        if not self._reaches(effect):
            raise ValueError(
                f"discordance must be >= |effect|, for a difference is made of items on which the runs differ; "
                f"got discordance={psi}, effect={effect}"
            )
        if a is not None:
            b = a + effect
            most = min(a + b, 2 - a - b)
            if psi > most + 1e-12:
                raise ValueError(
                    f"discordance must be <= {most:.6g} at accuracies {a:.6g} and {b:.6g}; got {psi}"
                )

    def _reaches(self, effect: float) -> bool:
        assert self.discordance is not None
        return abs(effect) <= self.discordance + _ROUNDING

    def _check_correlation(self, effect: float) -> None:
        rho = self.correlation
        if not rho:
            return
        assert self.accuracy is not None
        a, b = self.accuracy, self.accuracy + effect
        least, most = self.correlations_at(effect)
        if least - _ROUNDING <= rho <= most + _ROUNDING:
            return
        if least == most:
            raise ValueError(
                f"correlation must be left out at accuracies {a:.6g} and {b:.6g}, for a run that is always right or "
                f"always wrong has none; got correlation={rho:g}"
            )
        raise ValueError(
            f"correlation must lie in [{least:.4g}, {most:.4g}] at accuracies {a:.6g} and {b:.6g}; got "
            f"correlation={rho:g}"
        )

    def notes(self, effect: float) -> tuple[str, ...]:
        """Return what was taken for granted."""
        if self.discordance is not None or self.accuracy is None:
            return ()
        psi = self.discordance_at(effect)
        how = "taken as independent" if self.correlation is None else f"correlated by {self.correlation:g}"
        return (f"runs {how}, which makes their discordance {psi:.4g}; a pilot would tell",)


def design(
    *,
    sd: float | None,
    discordance: float | None,
    accuracy: float | None,
    correlation: float | None,
    icc: float | None,
    cluster_size: int,
    repeats: int,
    repeat_icc: float | None,
) -> Design:
    """Check the parts of a planned comparison against each other."""
    if (sd is None) == (discordance is None and accuracy is None):
        raise ValueError(
            "the noise must be given as sd= (of one paired difference), as discordance= or as accuracy=, "
            f"and scores by sd= alone; got sd={sd}, discordance={discordance}, accuracy={accuracy}"
        )
    if sd is not None and number("sd", sd) <= 0:
        raise ValueError(f"sd must be > 0; got sd={sd}")
    if discordance is not None and not 0 < number("discordance", discordance) <= 1:
        raise ValueError(f"discordance must lie in (0, 1]; got discordance={discordance}")
    if accuracy is not None:
        probability("accuracy", accuracy)
    if correlation is not None:
        if accuracy is None or discordance is not None:
            raise ValueError("correlation must come with accuracy= and without discordance=, which it gives")
        if not -1 <= number("correlation", correlation) < 1:
            raise ValueError(f"correlation must lie in [-1, 1); got correlation={correlation}")
    m, r = integer("cluster_size", cluster_size, minimum=1), integer("repeats", repeats, minimum=1)
    if m > 1 and icc is None:
        raise ValueError(
            f"icc must be given with cluster_size={m}: how alike the differences of one question are decides "
            "what more items to a question buy (0 all they cost, 1 nothing)"
        )
    if r > 1 and repeat_icc is None and (m > 1 or icc is None):
        raise ValueError(
            f"repeat_icc must be given with repeats={r}: how alike the differences of one item are when it is run "
            "again decides what repeats buy (0 all they cost, 1 nothing)"
        )
    between = 0.0 if icc is None else probability("icc", icc)
    if m == 1 and r == 1 and between > 0:
        raise ValueError(
            "icc must come with cluster_size > 1 or repeats > 1; got one item to a question, run once"
        )
    again = between if repeat_icc is None else probability("repeat_icc", repeat_icc)
    if r > 1 and m > 1 and again < between:
        raise ValueError(
            f"repeat_icc must be >= icc, for repeats of one item share its question; got {again} < {between}"
        )
    return Design(
        sd=sd,
        discordance=discordance,
        accuracy=accuracy,
        correlation=correlation,
        icc=between if m > 1 else 0.0,
        cluster_size=m,
        repeats=r,
        repeat_icc=again if r > 1 else 0.0,
    )
