"""A Markov chain of a panel's votes with twelve parameters, fitted by posterior mode; fifty debates are enough.

In debate i a seat's first vote is 1 with logit ``first - gap_first h_i + spread_first z_i + shock v_i1``, and after
round t a seat that cast x (coded +1 and -1) casts 1 with logit

    t^hardening (drift - gap h_i + spread z_i + own_vote x + pull (2s - 1) + log_pull l(s)) + shock v_it

where s is the panel's share of ones in round t and ``l(s)`` half its logit with half a vote added. The kind h_i is 1
for a share ``hard`` of debates and 0 for the others. The easiness of a debate within its kind is z_i ~ N(0, 1), and
v_it ~ N(0, 1) is a shock that all seats of one round share. Votes are right/wrong where there is a gold label, else
votes for one named answer. The two kinds, hard and not, fit logs with two modes: panels that are nearly always right,
and items that they find hard. ``own_vote`` is stubbornness, ``pull`` and ``log_pull`` are conformity (the voter model
is log_pull near 2), ``hardening`` lets convictions grow, ``shock`` is error that agents of one LLM share. Given kind
and z, seats that voted alike are exchangeable. The number of ones is therefore a Markov chain, and everything that
depends on it is exact.

The fit maximises likelihood times a weak prior; its uncertainty is the curvature there (Laplace).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, integer, probability
from d3stats.models.chains.process import CountProcess
from d3stats.resampling.clusters import cluster_codes
from d3stats.result import Result

__all__ = [
    "LOWER",
    "NAMES",
    "NODES",
    "PRIOR_MEAN",
    "PRIOR_SD",
    "SHOCKS",
    "UPPER",
    "ChainData",
    "ChainLaws",
    "PanelChainFit",
    "chain_laws",
    "features",
    "fit_panel_chain",
    "hermite",
    "minus_log_posterior",
    "scores",
]

Floats = NDArray[np.float64]

NAMES = (
    "first",
    "log_spread_first",
    "drift",
    "log_spread",
    "own_vote",
    "pull",
    "log_pull",
    "hardening",
    "log_shock",
    "gap_first",
    "gap",
    "logit_hard",
)
# Weak: on the logit scale of a single vote, one unit covers what any published debate has shown.
PRIOR_MEAN = np.array([0.5, -0.3, 0.0, -0.5, 1.0, 0.5, 1.0, 0.0, -1.0, 0.7, 0.7, -0.7])
PRIOR_SD = np.array([1.0, 0.7, 0.7, 0.8, 1.0, 1.0, 1.0, 0.5, 0.8, 1.0, 1.0, 1.0])
LOWER = np.array([-5.0, -4.0, -5.0, -4.0, -5.0, -8.0, -5.0, -1.5, -5.0, 0.0, 0.0, -4.0])
UPPER = np.array([5.0, 1.5, 5.0, 1.5, 5.0, 8.0, 5.0, 1.5, 1.0, 6.0, 6.0, 3.0])

NODES, SHOCKS = 5, 5
"""Points for easiness within a kind, and for shocks."""
_CHUNK = 1024
_STARTS = (PRIOR_MEAN, np.array([1.2, -1.0, 1.0, -1.0, 0.5, 0.2, 0.1, 0.1, -1.5, 2.0, 2.0, -0.5]))


@dataclass(frozen=True, eq=False)
class ChainLaws:
    """Markov chains of the number of ones, for one or many parameter vectors of the panel chain.

    Examples
    --------
    >>> laws = chain_laws(np.zeros(12), panel=3, n_rounds=2)
    >>> laws.weight.shape, laws.initial.shape, laws.steps.shape
    ((1, 10), (1, 10, 4), (1, 1, 10, 4, 4))
    """

    weight: Floats
    """Weights of the classes, the easy kind first, shape (draws, nodes)."""
    initial: Floats
    """Law of round 1's number of ones, shape (draws, nodes, panel + 1)."""
    steps: Floats
    """Matrices from round to round, shape (draws, rounds - 1, nodes, panel + 1, panel + 1)."""


@dataclass(frozen=True, eq=False)
class PanelChainFit(Result):
    """The posterior mode of the panel chain's parameters, with its Laplace covariance.

    Attributes
    ----------
    params : Series
        Estimates by name; spreads and the shock on the log scale.
    cov : DataFrame
        Their covariance (Laplace): the inverse of the prior's information plus the likelihood's, the latter divided
        by `design_effect`. No direction has a larger variance than under the prior.
    llf : float
        Log-likelihood, without the prior.
    n_obs, n_clusters : int
        Debates with a vote, and questions.
    design_effect : float
        By how much the likelihood's information was divided, because debates of one question move together or the
        chain does not quite fit: the variance of the questions' scores over what the chain expects, at least 1.
    converged : bool
    boundary : tuple of str
        Parameters that ended on a bound.
    n_iter : int

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> first = rng.random((60, 1, 5)) < 0.7
    >>> votes = np.concatenate([first, np.where(rng.random((60, 3, 5)) < 0.9, first, ~first)], axis=1).astype(int)
    >>> fit = fit_panel_chain(votes)
    >>> fit.params.index.tolist()[:3], fit.n_obs, fit.converged
    (['first', 'log_spread_first', 'drift'], 60, True)
    >>> fit.conf_int().shape, fit.draws(4, rng=1).shape
    ((12, 2), (4, 12))
    >>> fit.process(5, 4).marginal().shape
    (4, 6)
    """

    params: pd.Series
    cov: pd.DataFrame
    llf: float
    n_obs: int
    n_clusters: int
    design_effect: float
    converged: bool
    boundary: tuple[str, ...]
    n_iter: int

    @property
    def bse(self) -> pd.Series:
        """Standard errors."""
        return pd.Series(np.sqrt(np.diag(self.cov)), index=self.params.index, name="bse")

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Return normal intervals from the curvature, columns ``low, high``."""
        half = scipy.special.ndtri(0.5 + probability("level", level, open_interval=True) / 2) * self.bse
        return pd.DataFrame({"low": self.params - half, "high": self.params + half})

    @property
    def headline(self) -> str:
        """The drift of the chain with its interval, and whether the search ended."""
        low, high = self.conf_int().loc["drift"]
        done = "" if self.converged else "The search did not converge. "
        drift = f"{self.params['drift']:+z.2f} [{low:+z.2f}, {high:+z.2f}]"
        return f"{done}A round moves the votes by {drift} logits (drift)."

    def _title(self) -> str:
        return (
            f"Panel chain: {self.n_obs} debates of {self.n_clusters} questions, log-likelihood {self.llf:.2f}; "
            "95 % Laplace intervals"
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"estimates": pd.concat([self.params.rename("estimate"), self.bse, self.conf_int()], axis=1)}

    def draws(self, n: int, rng: RngLike = None) -> Floats:
        """Draw parameter vectors from the Laplace approximation, kept within the bounds; shape (n, 12)."""
        integer("n", n, minimum=1)
        root = np.linalg.cholesky(self.cov.to_numpy())
        noise = as_rng(rng).standard_normal((n, len(self.params)))
        return np.clip(self.params.to_numpy() + noise @ root.T, LOWER, UPPER)

    def process(
        self, panel: int, n_rounds: int, *, labelled: bool = True, nodes: int = NODES
    ) -> CountProcess:
        """Return the fitted law of the count of votes for A.

        Parameters
        ----------
        panel, n_rounds : int
        labelled : bool
            Whether ones are right votes: A is then right in half of the debates. Otherwise ones are votes for
            A, and the "right" answer of a class is the one that its full-depth verdict most often names.
        nodes : int
            Classes of easiness within each kind.
        """
        laws = chain_laws(self.params.to_numpy()[None], panel, n_rounds, nodes=nodes)
        initial, steps = laws.initial[0], laws.steps[0].swapaxes(0, 1)
        z, hard, _ = kinds(nodes)
        names = tuple(f"{'hard' if h else 'easy'}, z {at:+.2f}" for at, h in zip(z, hard, strict=True))
        weight = laws.weight[0]
        if labelled:
            return CountProcess.symmetric(initial, steps, n_rounds=n_rounds, weights=weight, names=names)
        guess = CountProcess(weight, np.ones(2 * nodes, dtype=bool), initial, steps, n_rounds, names)
        final = (guess.by_class()[-1] * guess.majority()).sum(axis=1)
        return CountProcess(weight, final >= 0.5, initial, steps, n_rounds, names)


def fit_panel_chain(votes: ArrayLike, cluster: ArrayLike | None = None) -> PanelChainFit:
    """Fit the panel chain to votes by posterior mode, with Laplace errors that allow for dependent debates.

    Parameters
    ----------
    votes : array of int, shape (debates, rounds, seats)
        1, 0, or -1 where there is no vote (a missing vote, an empty seat, a round not played).
    cluster : array of int, shape (debates,), optional
        Question of each debate; by default each is its own.

    Returns
    -------
    PanelChainFit

    Raises
    ------
    ValueError
        When there are fewer than two debates with votes, or no round is followed by another.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> first = rng.random((60, 1, 5)) < 0.7
    >>> stay = rng.random((60, 3, 5)) < 0.9
    >>> votes = np.concatenate([first, np.where(stay, first, ~first)], axis=1).astype(int)
    >>> fit = fit_panel_chain(votes)
    >>> fit.converged, bool(fit.params["own_vote"] > 0.5)
    (True, True)
    """
    from scipy.optimize import minimize

    array = np.asarray(votes)
    if array.ndim != 3:
        raise ValueError(f"votes must have shape (debates, rounds, seats); got shape {array.shape}")
    if not np.isin(array, (-1, 0, 1)).all():
        raise ValueError("votes must be 1, 0 or -1 (none); got another value among them")
    question = cluster_codes(cluster, len(array), unit="debate")
    heard = (array != -1).any(axis=(1, 2))
    data = ChainData.from_votes(array[heard].astype(np.int8))
    if len(data) < 2:
        raise ValueError(f"votes must hold at least 2 debates with a vote; got {len(data)}")
    if not (data.cast_after_one.any() or data.cast_after_zero.any()):
        raise ValueError("votes must hold a seat that votes in two successive rounds; got none")
    climb: dict[str, Any] = {
        "method": "L-BFGS-B",
        "jac": True,
        "bounds": list(zip(LOWER, UPPER, strict=True)),
    }
    climb["options"] = {"maxiter": 500}
    climbs = [minimize(minus_log_posterior, start, args=(data,), **climb) for start in _STARTS]
    best = min(climbs, key=lambda found: found.fun)
    theta: Floats = best.x
    codes = np.unique(question[heard], return_inverse=True)[1]
    cov, effect = _covariance(theta, data, codes)
    names = list(NAMES)
    at_bound = (theta <= LOWER + 1e-6) | (theta >= UPPER - 1e-6)
    return PanelChainFit(
        params=pd.Series(theta, index=names, name="estimate"),
        cov=pd.DataFrame(cov, index=names, columns=names),
        llf=float(scores(theta, data)[0].sum()),
        n_obs=len(data),
        n_clusters=int(codes.max()) + 1,
        design_effect=effect,
        converged=_settled(theta, data),
        boundary=tuple(name for name, there in zip(names, at_bound, strict=True) if there),
        n_iter=int(best.nit),
    )


def _settled(theta: Floats, data: ChainData) -> bool:
    """Say whether the posterior is flat at the end of the climb, bounds apart: why a climb ended is no evidence."""
    gradient = minus_log_posterior(theta, data)[1]
    held = ((theta <= LOWER) & (gradient > 0)) | ((theta >= UPPER) & (gradient < 0))
    return bool(np.abs(np.where(held, 0.0, gradient)).max() < 1e-3 * max(1.0, len(data)))


def _covariance(theta: Floats, data: ChainData, cluster: NDArray[np.int64]) -> tuple[Floats, float]:
    """Invert prior plus likelihood information, the latter divided by how much more the questions' scores vary.

    The prior's information is not the data's, so no lack of independence takes any of it away: the errors are never
    wider than the prior's.
    """
    size, h = len(theta), 1e-4
    curvature = np.empty((size, size))
    for i in range(size):
        step = np.zeros(size)
        step[i] = h
        up, down = (minus_log_posterior(theta + s * step, data)[1] for s in (1, -1))
        curvature[i] = (up - down) / (2 * h)
    sd = PRIOR_SD
    # In units of the prior's errors, where the prior's information is one in every direction.
    whole = (curvature + curvature.T) / 2 * np.outer(sd, sd)
    values, vectors = np.linalg.eigh(whole - np.eye(size))
    told = np.maximum(values, 0.0)

    def cov(effect: float) -> Floats:
        """Return the covariance when the data's information is worth so many times less."""
        return np.asarray((vectors / (1.0 + told / effect)) @ vectors.T)

    score = scores(theta, data)[1] * sd
    total = np.zeros((int(cluster.max()) + 1, size))
    np.add.at(total, cluster, score)
    naive = cov(1.0)
    # What the scores would vary by if the chain were right and debates independent.
    expected = float((told / (1.0 + told)).sum())
    alone = float(np.trace(naive @ (score.T @ score)))
    seen = float(np.trace(naive @ (total.T @ total)))
    effect = max(1.0, *(seen / base for base in (expected, alone) if base > 0))
    return cov(effect) * np.outer(sd, sd), effect


def chain_laws(theta: ArrayLike, panel: int, n_rounds: int, *, nodes: int = NODES) -> ChainLaws:
    """Compute the Markov chain of the number of ones, for one or many parameter vectors.

    `theta` has the shape (draws, 12), in the order of ``PanelChainFit.params``; `nodes` are the classes of easiness
    within each kind.

    Parameters
    ----------
    theta : array of float, shape (draws, 12) or (12,)
        Parameters in the order of ``PanelChainFit.params``.
    panel : int
        Seats on the panel.
    n_rounds : int
        Rounds of a debate.
    nodes : int
        Classes of easiness within each kind.

    Returns
    -------
    ChainLaws

    Examples
    --------
    >>> laws = chain_laws(np.zeros(12), panel=3, n_rounds=2)
    >>> bool(np.allclose(laws.weight.sum(axis=-1), 1)), bool(np.allclose(laws.initial.sum(axis=-1), 1))
    (True, True)
    """
    n = integer("panel", panel, minimum=1)
    integer("n_rounds", n_rounds, minimum=1)
    columns = np.clip(np.atleast_2d(np.asarray(theta, dtype=np.float64)), LOWER, UPPER).T
    first, log_spread_first, drift, log_spread, own, pull, log_pull, hardening, log_shock = columns[:9]
    gap_first, gap, logit_hard = columns[9:]
    z, hard, within = kinds(nodes)
    share = scipy.special.expit(logit_hard)[:, None]
    weight = within * np.where(hard == 1.0, share, 1.0 - share)
    v, wv = hermite(SHOCKS)
    shock = np.exp(log_shock)[:, None] * v
    k = np.arange(n + 1)
    level = first[:, None] + np.exp(log_spread_first)[:, None] * z - gap_first[:, None] * hard
    eta = level[:, :, None] + shock[:, None, :]
    initial = (_binomial(n, scipy.special.expit(eta)) * wv[:, None]).sum(axis=2)
    linear, logit = features(k, np.full(n + 1, n))
    middle = (drift[:, None] + pull[:, None] * linear + log_pull[:, None] * logit)[:, None, :]
    middle = middle + (np.exp(log_spread)[:, None] * z - gap[:, None] * hard)[:, :, None]
    scale = np.arange(1, n_rounds)[None, :] ** hardening[:, None]

    def chance(sign: int, at: int) -> Floats:
        mean = middle[:, :, at] + sign * own[:, None]
        both = scale[:, :, None, None] * mean[:, None, :, None] + shock[:, None, None, :]
        return np.asarray(scipy.special.expit(both))

    steps = np.zeros((len(first), n_rounds - 1, len(z), n + 1, n + 1))
    for i in range(n + 1):
        keep = _binomial(i, chance(1, i)) * wv[:, None]
        gain = _binomial(n - i, chance(-1, i))
        joint = np.swapaxes(keep, -1, -2) @ gain
        for j in range(i + 1):
            steps[:, :, :, i, j : j + n - i + 1] += joint[..., j, :]
    return ChainLaws(weight, initial / initial.sum(-1, keepdims=True), steps / steps.sum(-1, keepdims=True))


def _binomial(n: int, p: Floats) -> Floats:
    k = np.arange(n + 1)
    return np.asarray(scipy.special.binom(n, k) * p[..., None] ** k * (1.0 - p[..., None]) ** (n - k))


class Rule(NamedTuple):
    """Nodes and weights of a Gauss-Hermite rule for a standard normal."""

    at: Floats
    weight: Floats


def hermite(n: int) -> Rule:
    """Return the rule with n nodes; weights sum to 1."""
    at, weight = np.polynomial.hermite_e.hermegauss(n)
    return Rule(at, weight / weight.sum())


def kinds(nodes: int) -> tuple[Floats, Floats, Floats]:
    """Return the classes of easiness: z, whether the kind is hard (0 or 1), and the weight within the kind.

    Each of shape (2 * nodes,), the easy kind first.
    """
    rule = hermite(nodes)
    return np.tile(rule.at, 2), np.repeat([0.0, 1.0], nodes), np.tile(rule.weight, 2)


def features(ones: NDArray[np.int64], cast: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return how a round's share of ones pulls: linearly, and on the logit scale with half a vote added."""
    linear = 2.0 * ones / np.maximum(cast, 1) - 1.0
    return np.where(cast > 0, linear, 0.0), 0.5 * np.log((ones + 0.5) / (cast - ones + 0.5))


@dataclass(frozen=True, eq=False)
class ChainData:
    """The votes as the likelihood needs them: by debate for round 1, by debate and round for later rounds.

    ``ones_after_one`` of the ``cast_after_one`` seats that cast a 1 and vote again cast a 1 in the next round too;
    ``_after_zero`` the same for seats that cast a 0. ``linear`` and ``logit`` are the features of the earlier round.
    """

    first_ones: NDArray[np.int64]
    first_cast: NDArray[np.int64]
    ones_after_one: NDArray[np.int64]
    cast_after_one: NDArray[np.int64]
    ones_after_zero: NDArray[np.int64]
    cast_after_zero: NDArray[np.int64]
    linear: Floats
    logit: Floats

    @classmethod
    def from_votes(cls, votes: NDArray[np.int8]) -> ChainData:
        """Count from votes of shape (debates, rounds, seats): 1, 0, or -1 for none."""
        one, zero = votes == 1, votes == 0
        cast = one | zero
        again = [was[:, :-1] & cast[:, 1:] for was in (one, zero)]
        x1, n1, x0, n0 = (seats.sum(2) for who in again for seats in (who & one[:, 1:], who))
        linear, logit = features(one[:, :-1].sum(2), cast[:, :-1].sum(2))
        return cls(one[:, 0].sum(1), cast[:, 0].sum(1), x1, n1, x0, n0, linear, logit)

    def __len__(self) -> int:
        return len(self.first_ones)

    def chunks(self) -> list[ChainData]:
        """Cut into pieces that keep the arrays over nodes small."""
        fields = [getattr(self, name) for name in self.__dataclass_fields__]
        return [ChainData(*(array[i : i + _CHUNK] for array in fields)) for i in range(0, len(self), _CHUNK)]


def _terms(theta: Floats, d: ChainData) -> tuple[Floats, Floats]:
    """Return each debate's log-likelihood and its gradient, shapes (debates,) and (debates, parameters)."""
    first, log_spread_first, drift, log_spread, own, pull, log_pull, hardening, log_shock = theta[:9]
    gap_first, gap, logit_hard = theta[9:]
    z, hard, within = kinds(NODES)
    share = scipy.special.expit(logit_hard)
    wz = within * np.where(hard == 1.0, share, 1.0 - share)
    v, wv = hermite(SHOCKS)
    spread_first, spread, shock = np.exp(log_spread_first), np.exp(log_spread), np.exp(log_shock)

    eta = first + (spread_first * z - gap_first * hard)[:, None] + shock * v
    ones, cast = d.first_ones[:, None, None], d.first_cast[:, None, None]
    log_first = ones * eta - cast * np.logaddexp(0.0, eta) + np.log(wv)
    by_node = scipy.special.logsumexp(log_first, axis=2)
    in_first = np.exp(log_first - by_node[:, :, None]) * (ones - cast * scipy.special.expit(eta))

    log_time = np.log(np.arange(1, d.linear.shape[1] + 1))
    scale = np.exp(hardening * log_time)[None, :, None, None]
    middle = (drift + pull * d.linear + log_pull * d.logit)[:, :, None, None]
    middle = middle + (spread * z - gap * hard)[None, None, :, None]
    mean_one, mean_zero = middle + own, middle - own
    eta_one, eta_zero = scale * mean_one + shock * v, scale * mean_zero + shock * v
    n1, n0 = d.cast_after_one[:, :, None, None], d.cast_after_zero[:, :, None, None]
    x1, x0 = d.ones_after_one[:, :, None, None], d.ones_after_zero[:, :, None, None]
    log_round = (
        x1 * eta_one - n1 * np.logaddexp(0.0, eta_one) + x0 * eta_zero - n0 * np.logaddexp(0.0, eta_zero)
    ) + np.log(wv)
    top = log_round.max(axis=3, keepdims=True)
    weight = np.exp(log_round - top)
    total = weight.sum(axis=3, keepdims=True)
    joint = by_node + (top + np.log(total))[..., 0].sum(axis=1) + np.log(wz)
    llf = scipy.special.logsumexp(joint, axis=1)

    posterior = np.exp(joint - llf[:, None])
    weight *= posterior[:, None, :, None] / total
    in_one = weight * (x1 - n1 * scipy.special.expit(eta_one))
    in_zero = weight * (x0 - n0 * scipy.special.expit(eta_zero))
    both = in_one + in_zero
    scaled = both * scale
    in_first *= posterior[:, :, None]
    per_round = scaled.sum(axis=(2, 3))
    moved = (in_one * mean_one + in_zero * mean_zero) * scale
    gradient = [
        in_first.sum(axis=(1, 2)),
        (in_first.sum(axis=2) @ z) * spread_first,
        per_round.sum(axis=1),
        (scaled.sum(axis=(1, 3)) @ z) * spread,
        ((in_one - in_zero) * scale).sum(axis=(1, 2, 3)),
        (per_round * d.linear).sum(axis=1),
        (per_round * d.logit).sum(axis=1),
        moved.sum(axis=(2, 3)) @ log_time,
        (both.sum(axis=(1, 2)) @ v + in_first.sum(axis=1) @ v) * shock,
        -(in_first.sum(axis=2) @ hard),
        -(scaled.sum(axis=(1, 3)) @ hard),
        posterior @ hard - share,
    ]
    return llf, np.column_stack(gradient)


def scores(theta: Floats, data: ChainData) -> tuple[Floats, Floats]:
    """Return each debate's log-likelihood and score, without the prior."""
    parts = [_terms(theta, piece) for piece in data.chunks()]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def minus_log_posterior(theta: Floats, data: ChainData) -> tuple[float, Floats]:
    """Return minus the log-likelihood plus the prior's penalty, and the gradient; what the fit minimises."""
    value, gradient = 0.0, np.zeros(len(theta))
    for piece in data.chunks():
        llf, slope = _terms(theta, piece)
        value -= float(llf.sum())
        gradient -= slope.sum(axis=0)
    away = (theta - PRIOR_MEAN) / PRIOR_SD
    return value + 0.5 * float(away @ away), gradient + away / PRIOR_SD
