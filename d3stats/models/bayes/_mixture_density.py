"""The posterior density of a Beta-Binomial mixture, and of one that walks over rounds, with its gradient.

A round has a point ``(z, y, t)`` of R^(3K - 1), free of bounds:

- weights are the softmax of ``(z_1 .. z_{K-1}, 0)``, with a Dirichlet prior;
- the K + 1 gaps that the ordered means cut [0, 1] into are the softmax of ``(y_1 .. y_K, 0)``, with a Dirichlet
  prior; means are their running sums, so that they are in order whatever ``y`` is;
- correlations are ``rho = 1 / (1 + exp(-t))`` with a Beta prior; ``-t`` is the log precision.

Densities are of (z, y, t): the Jacobian of a softmax turns Dirichlet(a) into ``sum_k a_k log w_k``, and that of
the logistic function Beta(a, b) into ``a log rho + b log(1 - rho)``. Constants are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from d3stats._check import number
from d3stats.models.mixtures.law import Cells, log_pmf_derivatives

Floats = NDArray[np.float64]

EDGE = 1e-9
"""How near to 0 or 1 a mean or a correlation may come in the likelihood."""
MODE_DROP = 20.0
"""How far below the best mode's log density a chain may start: what lies deeper holds next to no mass."""


@dataclass(frozen=True, slots=True)
class MixturePriors:
    """What is believed of a mixture before the data.

    Attributes
    ----------
    weight : float
        Dirichlet parameter of the weights; 1 is uniform.
    gap : float
        Dirichlet parameter of the gaps between 0, the ordered means and 1; 1 makes the means K uniform draws,
        sorted.
    rho_a, rho_b : float
        Beta parameters of each component's intraclass correlation ``rho = 1 / (precision + 1)``. With (1, 3) half
        of all components have ``rho < .21``: precisions have median 3.8, and 90 % lie in [.58, 58].
    step : float
        Scale of the half-normal priors of the three step sizes (of weights, means, log precisions) between
        rounds, in log-ratios; rounds only.

    Examples
    --------
    >>> draws = MixturePriors().draw(2, 4000, rng=np.random.default_rng(1))
    >>> np.quantile(1 / draws["rho"] - 1, [0.05, 0.5, 0.95]).round(1).tolist()
    [0.6, 3.7, 56.3]
    """

    weight: float = 1.0
    gap: float = 1.0
    rho_a: float = 1.0
    rho_b: float = 3.0
    step: float = 0.5

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if number(name, value) <= 0:
                raise ValueError(f"{name} must be > 0; got {name}={value!r}")

    def draw(self, n_components: int, size: int, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw ``weight, mean, rho`` of shape (size, K) from the prior; means ascend."""
        k = n_components
        gaps = rng.dirichlet(np.full(k + 1, self.gap), size)
        return {
            "weight": rng.dirichlet(np.full(k, self.weight), size),
            "mean": np.cumsum(gaps, axis=1)[:, :-1],
            "rho": rng.beta(self.rho_a, self.rho_b, (size, k)),
        }

    def to_dict(self) -> dict[str, float]:
        """Return the attributes."""
        return asdict(self)


@dataclass(frozen=True)
class MixtureDensity:
    """Log posterior of mixtures in R rounds that share a prior for the first round and take steps after it.

    A point holds the first round's (z, y, t); with R > 1 also R - 1 rows of standard normal innovations and the
    logs of three step sizes (non-centred: the walk's steps are size times innovation, so that small step sizes
    make no funnel).

    Attributes
    ----------
    cells : Cells
        Distinct (successes, trials) of all rounds.
    weights : ndarray, shape (rounds, cells)
        Debates in each cell of each round; 0 where there are none.
    n_components : int
    priors : MixturePriors
    spacing : ndarray, shape (rounds - 1,)
        Square roots of how many rounds lie between one and the next.
    """

    cells: Cells
    weights: Floats
    n_components: int
    priors: MixturePriors
    spacing: Floats

    @property
    def width(self) -> int:
        """Numbers per round."""
        return 3 * self.n_components - 1

    @property
    def n_rounds(self) -> int:
        """Rounds with votes."""
        return len(self.weights)

    @property
    def size(self) -> int:
        """Length of a point."""
        return self.n_rounds * self.width + (3 if self.n_rounds > 1 else 0)

    def rows(self, x: Floats) -> Floats:
        """Return each round's (z, y, t) for points of shape (..., size): shape (..., rounds, width)."""
        return self._unpacked(x)[0]

    def natural(self, x: Floats) -> dict[str, Floats]:
        """Return ``weight, mean, rho`` of shape (..., rounds, K) and, with rounds, ``step`` of shape (..., 3)."""
        rows, steps, _ = self._unpacked(x)
        k = self.n_components
        found = {
            "weight": np.exp(_log_softmax(rows[..., : k - 1])),
            "mean": np.cumsum(np.exp(_log_softmax(rows[..., k - 1 : 2 * k - 1])), axis=-1)[..., :-1],
            "rho": 1.0 / (1.0 + np.exp(-rows[..., 2 * k - 1 :])),
        }
        found["mean"] = np.clip(found["mean"], EDGE, 1 - EDGE)
        found["rho"] = np.clip(found["rho"], EDGE, 1 - EDGE)
        if self.n_rounds > 1:
            found["step"] = steps
        return found

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Return log density and gradient at one point."""
        rows, steps, innovations = self._unpacked(x)
        prior, by_first = self._prior(rows[0])
        value, by_row = self._likelihood(rows)
        if self.n_rounds == 1:
            return value + prior, by_row[0] + by_first
        # A step moves its own round and all later ones.
        later = np.cumsum(by_row[:0:-1], axis=0)[::-1]
        first = by_row.sum(axis=0) + by_first
        sizes = steps[self._owner] * self.spacing[:, None]
        by_innovation = later * sizes - innovations
        by_owner = (later * innovations * sizes).sum(axis=0)
        ratio = (steps / self.priors.step) ** 2
        by_log_step = np.bincount(self._owner, by_owner, minlength=3) + 1.0 - ratio
        value += prior - 0.5 * float((innovations**2).sum()) + float(np.log(steps).sum() - 0.5 * ratio.sum())
        return value, np.concatenate([first, by_innovation.ravel(), by_log_step])

    def compiled(self) -> Callable[[Floats], tuple[float, Floats]]:
        """Return the same function in machine code, some hundred times faster."""
        from d3stats.models.bayes._mixture_kernel import log_density

        p, cells = self.priors, self.cells
        priors = np.array([p.weight, p.gap, p.rho_a, p.rho_b, p.step])
        fixed = (cells.successes, cells.trials, cells.log_choose, np.ascontiguousarray(self.weights), EDGE)
        k, spacing = self.n_components, np.asarray(self.spacing, dtype=np.float64)
        return lambda x: log_density(x, k, spacing, priors, *fixed)

    @property
    def _owner(self) -> NDArray[np.int64]:
        """Which of the three step sizes each number of a row belongs to."""
        k = self.n_components
        return np.repeat([0, 1, 2], [k - 1, k, k])

    def _unpacked(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        first, r = x[..., : self.width], self.n_rounds
        if r == 1:
            return first[..., None, :], np.empty(0), np.empty(0)
        steps = np.exp(np.clip(x[..., -3:], -30.0, 30.0))
        innovations = x[..., self.width : -3].reshape(*x.shape[:-1], r - 1, self.width)
        moves = innovations * steps[..., None, self._owner] * self.spacing[:, None]
        walk = np.concatenate([first[..., None, :], moves], axis=-2)
        return np.cumsum(walk, axis=-2), steps, innovations

    def _prior(self, row: Floats) -> tuple[float, Floats]:
        k, p = self.n_components, self.priors
        value, gradient = 0.0, np.empty(self.width)
        for part, size, a in (
            (slice(0, k - 1), k, p.weight),
            (slice(k - 1, 2 * k - 1), k + 1, p.gap),
        ):
            log_share = _log_softmax(row[part])
            value += a * float(log_share.sum())
            gradient[part] = a - a * size * np.exp(log_share[:-1])
        t = row[2 * k - 1 :]
        log_rho, log_rest = -np.logaddexp(0.0, -t), -np.logaddexp(0.0, t)
        value += float(p.rho_a * log_rho.sum() + p.rho_b * log_rest.sum())
        gradient[2 * k - 1 :] = p.rho_a * np.exp(log_rest) - p.rho_b * np.exp(log_rho)
        return value, gradient

    def _likelihood(self, rows: Floats) -> tuple[float, Floats]:
        k, r = self.n_components, len(rows)
        log_weight = _log_softmax(rows[:, : k - 1])
        gaps = np.exp(_log_softmax(rows[:, k - 1 : 2 * k - 1]))
        mu = np.clip(np.cumsum(gaps, axis=1)[:, :-1], EDGE, 1 - EDGE)
        rho = np.clip(1.0 / (1.0 + np.exp(-np.clip(rows[:, 2 * k - 1 :], -40, 40))), EDGE, 1 - EDGE)
        log_f, slope, _ = log_pmf_derivatives(mu.ravel(), rho.ravel(), self.cells)
        joint = log_f.reshape(r, k, -1) + log_weight[..., None]
        top = joint.max(axis=1, keepdims=True)
        shares = np.exp(joint - top)
        total = shares.sum(axis=1, keepdims=True)
        value = float((self.weights * (np.log(total) + top)[:, 0]).sum())
        shares *= self.weights[:, None, :] / total
        held = shares.sum(axis=2)
        by_mu = (shares * slope[0].reshape(r, k, -1)).sum(axis=2)
        by_rho = (shares * slope[1].reshape(r, k, -1)).sum(axis=2)
        # A gap lifts every mean to its right.
        by_gap = np.cumsum(by_mu[:, ::-1], axis=1)[:, ::-1]
        centred = by_gap - (gaps[:, :-1] * by_gap).sum(axis=1, keepdims=True)
        weight = np.exp(log_weight)
        return value, np.concatenate(
            [
                (held - held.sum(axis=1, keepdims=True) * weight)[:, :-1],
                gaps[:, :-1] * centred,
                by_rho * rho * (1 - rho),
            ],
            axis=1,
        )


def starting_points(
    density: Callable[[Floats], tuple[float, Floats]], size: int, chains: int, rng: np.random.Generator
) -> Floats:
    """Return one start per chain, near modes that climbs from random points reach; shape (chains, size).

    Every chain has its own climb, so that chains in different modes disagree and R-hat sees it; ends far below the
    best one are replaced by better ones.
    """
    from scipy.optimize import minimize

    def downhill(x: Floats) -> tuple[float, Floats]:
        value, gradient = density(x)
        return -value, -gradient

    n = max(2 * chains, 8)
    points, values = np.empty((n, size)), np.empty(n)
    for i, start in enumerate(rng.uniform(-2.0, 2.0, (n, size))):
        box = [(-8.0, 8.0)] * size
        end = minimize(downhill, start, jac=True, method="L-BFGS-B", bounds=box, options={"maxiter": 200})
        points[i], values[i] = end.x, -end.fun
    kept = points[values >= values.max() - MODE_DROP]
    result: Floats = kept[np.arange(chains) % len(kept)] + rng.normal(0.0, 0.1, (chains, size))
    return result


def _log_softmax(free: Floats) -> Floats:
    """Return log shares of ``(free, 0)`` along the last axis."""
    z = np.concatenate([free, np.zeros((*free.shape[:-1], 1))], axis=-1)
    z = z - z.max(axis=-1, keepdims=True)
    result: Floats = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
    return result
