"""The mixture panel: a law of the count that drifts from round to round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from d3stats._check import number, probability
from d3stats.worlds.base import PanelWorld

__all__ = ["MixturePanel"]

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, kw_only=True)
class MixturePanel(PanelWorld):
    """A panel whose number of right votes follows a Beta-Binomial mixture in every round.

    In round t a debate has ability p_t from the mixture ``sum_k w_tk Beta(m_tk r_tk, (1 - m_tk) r_tk)``, and
    each agent is right with probability p_t, given p_t independently. The rounds of a debate hang together by
    a Gaussian copula: its component and its quantile within the component are each ``Phi(z_t)`` with
    ``z_t = sqrt(h) z + sqrt(1 - h) e_t``, z and e_t standard Normal, for h the `persistence`. So the law of
    each round is exactly the mixture, whatever h. With h = 1 a debate keeps its component and quantile; with
    h = 0 rounds are independent.

    The mixture of round t is given by rows, or by a first row and a drift per round, or both: drifts add
    ``(t - 1)`` times to the log weights (then normalised), to the log-odds of the means, and to the log
    precisions.

    Parameters
    ----------
    weights, means, precisions : sequence of K numbers, or one such sequence per round
        Means strictly between 0 and 1, precisions (alpha + beta) above 0. The last row stands for all later
        rounds; one row stands for all.
    weight_drift, mean_drift, precision_drift : sequence of K numbers, optional
        Per round.
    persistence : float
        In [0, 1].

    Notes
    -----
    A mixture for each round is the description of debates in Hu et al. (2025), who leave open how the rounds
    of one debate depend on one another; the copula here is this library's choice.

    Examples
    --------
    >>> world = MixturePanel(weights=[0.6, 0.4], means=[0.8, 0.3], precisions=[7, 4], mean_drift=[0.1, 0])
    >>> world.means, world.mean_drift
    (((0.8, 0.3),), (0.1, 0.0))
    """

    weights: Rows | tuple[float, ...] = (0.62, 0.38)
    means: Rows | tuple[float, ...] = (5 / 6, 1 / 3)
    precisions: Rows | tuple[float, ...] = (7.2, 4.5)
    weight_drift: tuple[float, ...] = ()
    mean_drift: tuple[float, ...] = ()
    precision_drift: tuple[float, ...] = ()
    persistence: float = 0.8

    name: ClassVar[str] = "mixture_panel"
    citation: ClassVar[str] = "Hu et al. (2025), arXiv 2510.12697, time-varying Beta-Binomial mixture"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("weights", "means", "precisions"):
            object.__setattr__(self, name, _rows(name, getattr(self, name)))
        sizes = {len(row) for name in ("weights", "means", "precisions") for row in getattr(self, name)}
        if len(sizes) != 1:
            raise ValueError(
                f"weights, means and precisions must have one length; got lengths {sorted(sizes)}"
            )
        k = sizes.pop()
        for row in self.weights:
            if min(row) < 0 or abs(sum(row) - 1) > 1e-9:  # type: ignore[arg-type]  # rows since _rows
                raise ValueError(f"weights must be >= 0 and sum to 1; got weights={row}")
        for row in self.means:
            for value in row:  # type: ignore[union-attr]  # rows since _rows
                probability("means", value, open_interval=True)
        for row in self.precisions:
            if min(row) <= 0:  # type: ignore[arg-type]  # rows since _rows
                raise ValueError(f"precisions must be > 0; got precisions={row}")
        for name in ("weight_drift", "mean_drift", "precision_drift"):
            given = getattr(self, name)
            if isinstance(given, (int, float, str)):
                raise ValueError(
                    f"{name} must be a list with one number per component ({k}); got {name}={given!r}"
                )
            drift = tuple(number(name, x) for x in given)
            if len(drift) not in (0, k):
                raise ValueError(f"{name} must be empty or have one number per component ({k}); got {drift}")
            object.__setattr__(self, name, drift)
        object.__setattr__(self, "persistence", probability("persistence", self.persistence))

    @property
    def drifts(self) -> bool:
        """Whether any round's mixture differs from another's."""
        rows = (self.weights, self.means, self.precisions)
        moved = (*self.weight_drift, *self.mean_drift, *self.precision_drift)
        return any(len(set(given)) > 1 for given in rows) or any(moved)


def _rows(name: str, given: Any) -> Rows:
    try:
        table = np.atleast_2d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be K numbers, or rows of K numbers; got {given!r}") from None
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise ValueError(f"{name} must be K finite numbers, or rows of them; got {given!r}")
    return tuple(tuple(row) for row in table.tolist())
