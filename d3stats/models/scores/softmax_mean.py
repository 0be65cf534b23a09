"""The expected softmax-weighted score of k independent arguments, for any law of one score."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.models.scores.law import ScoreLaw
from d3stats.models.scores.maxima import integrate, mean_of_max, require_mean
from d3stats.models.scores.read import as_count, as_law

__all__ = ["softmax_mean", "temperature_of"]

Floats = NDArray[np.float64]


def softmax_mean(law: Any, k: int, temperature: float) -> float:
    """Return the expected softmax-weighted score of k independent arguments.

    It is also the expected score of an argument drawn with softmax weights.

    Parameters
    ----------
    law : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
        The law of one argument's score.
    k : int
        Arguments of the side, at least 1.
    temperature : float
        In points, 0 and infinity allowed: the expected best, and the mean.

    Returns
    -------
    float
        In points, with an absolute error near 1e-10 times the scale of the scores.

    Raises
    ------
    ValueError
        When the law has no finite mean, or the temperature of a law with a density is below 1/200 of the range
        of its scores, where the limit 0 is closer than the integral.

    Notes
    -----
    An argument drawn with softmax weights is the one with the greatest g + tau * Gumbel noise (Yellott, 1977,
    Journal of Mathematical Psychology 15). With Y that sum and F its distribution function,
    E A = k * integral of E[g; Y = y] F(y)^(k-1) dy.

    Examples
    --------
    >>> from scipy import stats
    >>> [round(softmax_mean(stats.uniform(), 3, tau), 4) for tau in (0.0, 0.1, 1.0)]
    [0.75, 0.7293, 0.5544]
    """
    one = as_law(law)
    k = as_count(k)
    tau = temperature_of(temperature)
    require_mean("law", one)
    if tau == np.inf or k == 1:
        return one.mean
    if tau == 0:
        return float(mean_of_max(one, np.array([k]))[0])
    points, masses = _nodes(one, tau)
    middle = float(points @ masses)

    def integrand(y: Floats) -> Floats:
        behind = (y[:, None] - points) / tau
        # exp(-exp(-x)) underflows to 0 well before exp(-x) overflows.
        decay = np.exp(-np.maximum(behind, -700.0))
        below = np.exp(-decay)
        rate = decay * below / tau
        chosen: Floats = (
            k * (rate @ (masses * (points - middle))) * np.minimum(below @ masses, 1.0) ** (k - 1)
        )
        return chosen[:, None]

    cuts = np.union1d(one.breakpoints(), one.support)
    cuts = cuts[np.isfinite(cuts)]
    edges = np.array([-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 45.0]) * tau
    low, high = float(cuts[0]) - 4.0 * tau, float(cuts[-1]) + (45.0 + np.log(k)) * tau
    inside = np.unique(np.concatenate([(cuts[:, None] + edges).ravel(), [low, high]]))
    inside = inside[(inside >= low) & (inside <= high)]
    # Pieces far shorter than the noise add nodes and no accuracy.
    keep = np.append(np.diff(inside) > 0.25 * tau, True)
    return middle + float(integrate(integrand, inside[keep] if keep.sum() > 1 else inside)[0][0])


def _nodes(law: ScoreLaw, tau: float) -> tuple[Floats, Floats]:
    """Return points and masses whose sums are the law's integrals of functions smooth on the scale of tau."""
    points, masses = law.atoms
    if not law.is_discrete:
        from scipy import special

        x, w = special.roots_legendre(20)
        cuts = law.breakpoints()
        low, high = law.quantile(np.array([1e-9, 1 - 1e-9]))
        if tau < (high - low) / 200:
            raise ValueError(
                "temperature must be 0 or at least 1/200 of the range of a score with a density "
                f"({(high - low) / 200:.3g}); got temperature={tau!r}"
            )
        steps = np.arange(low, high, 2 * tau)
        cuts = np.union1d(cuts, steps)
        half, centre = 0.5 * np.diff(cuts), 0.5 * (cuts[1:] + cuts[:-1])
        inner = (centre[:, None] + half[:, None] * x).ravel()
        density = law.density(inner)
        # On a piece of rounding width a node can fall on an end where the density is infinite.
        inner_mass = (half[:, None] * w).ravel() * np.where(np.isfinite(density), density, 0.0)
        points, masses = np.concatenate([points, inner]), np.concatenate([masses, inner_mass])
    kept = masses > 1e-30
    return points[kept], masses[kept] / masses[kept].sum()


def temperature_of(temperature: float) -> float:
    """Return a temperature as a float; 0 and infinity are limits that are allowed."""
    try:
        tau = float(temperature)
    except (TypeError, ValueError):
        raise TypeError(f"temperature must be a number; got temperature={temperature!r}") from None
    if not tau >= 0:
        raise ValueError(f"temperature must be >= 0; got temperature={temperature!r}")
    return tau
