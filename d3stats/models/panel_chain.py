"""How does a panel move from round to round? A small chain that fifty debates can carry.

In debate i a seat's first vote is 1 with logit ``first - gap_first h_i + spread_first z_i + shock v_i1``, and after
round t a seat that cast x (coded +1 and -1) casts 1 with logit

    t^hardening (drift - gap h_i + spread z_i + own_vote x + pull (2s - 1) + log_pull l(s)) + shock v_it

where s is the panel's share of ones in round t, ``l(s)`` half its logit with half a vote added, h_i is 1 for a
share ``hard`` of debates and 0 for the others, z_i ~ N(0, 1) the debate's easiness within its kind and v_it ~ N(0, 1)
a shock that all seats of one round share. Votes are right/wrong where there is a gold label, else votes for one
named answer. Two kinds are what bimodal logs ask for: panels that are nearly always right, and items that they
find hard. ``own_vote`` is stubbornness, ``pull`` and ``log_pull`` are conformity (the voter model is log_pull near
2), ``hardening`` lets convictions grow, ``shock`` is error that agents of one LLM share. Given kind and z, seats
that voted alike are alike, so the number of ones is a Markov chain and everything that depends on it is exact.

The fit maximises likelihood times a weak prior; its uncertainty is the curvature there (Laplace).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from d3stats._check import RngLike, as_rng, integer
from d3stats.models import _chain_likelihood as chain
from d3stats.models.process import CountProcess

__all__ = ["ChainLaws", "PanelChainFit", "chain_laws", "fit_panel_chain"]

Floats = NDArray[np.float64]

_STARTS = (chain.PRIOR_MEAN, np.array([1.2, -1.0, 1.0, -1.0, 0.5, 0.2, 0.1, 0.1, -1.5, 2.0, 2.0, -0.5]))


@dataclass(frozen=True, eq=False)
class ChainLaws:
    """Count laws of one or many parameter vectors.

    Attributes
    ----------
    weight : ndarray, shape (draws, nodes)
        Of the classes, the easy kind first.
    initial : ndarray, shape (draws, nodes, panel + 1)
        Law of round 1's number of ones.
    steps : ndarray, shape (draws, rounds - 1, nodes, panel + 1, panel + 1)
    """

    weight: Floats
    initial: Floats
    steps: Floats


@dataclass(frozen=True, eq=False)
class PanelChainFit:
    """A fitted panel chain.

    Attributes
    ----------
    params : Series
        Estimates by name; spreads and the shock on the log scale.
    cov : DataFrame
        Their covariance (Laplace): the inverse of the prior's information plus the likelihood's, the latter divided
        by `design_effect`. No direction has a larger variance than under the prior.
    llf : float
        Log-likelihood, without the prior.
    n_obs : int
        Debates with a vote.
    n_clusters : int
        Questions.
    design_effect : float
        By how much the likelihood's information was divided, because debates of one question move together or the
        chain does not quite fit: the variance of the questions' scores over what the chain expects, at least 1.
    converged : bool
    boundary : tuple of str
        Parameters that ended on a bound.
    n_iter : int
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

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return normal intervals from the curvature, columns ``lower, upper``."""
        half = special.ndtri(1 - alpha / 2) * self.bse
        return pd.DataFrame({"lower": self.params - half, "upper": self.params + half})

    def summary(self) -> str:
        """Return the estimates as plain text."""
        table = pd.concat([self.params.rename("estimate"), self.bse, self.conf_int()], axis=1)
        return (
            f"Panel chain: {self.n_obs} debates of {self.n_clusters} questions, log-likelihood {self.llf:.2f}\n"
            f"95 % Laplace intervals\n{table.to_string(float_format=lambda x: f'{x:.3f}')}"
        )

    def draws(self, n: int, rng: RngLike = None) -> Floats:
        """Draw parameter vectors from the Laplace approximation, kept within the bounds; shape (n, 12)."""
        integer("n", n, minimum=1)
        root = np.linalg.cholesky(self.cov.to_numpy())
        noise = as_rng(rng).standard_normal((n, len(self.params)))
        return np.clip(self.params.to_numpy() + noise @ root.T, chain.LOWER, chain.UPPER)

    def process(
        self, panel: int, n_rounds: int, *, labelled: bool = True, nodes: int = chain.NODES
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
        z, hard, _ = chain.kinds(nodes)
        names = tuple(f"{'hard' if h else 'easy'}, z {at:+.2f}" for at, h in zip(z, hard, strict=True))
        weight = laws.weight[0]
        if labelled:
            return CountProcess.symmetric(initial, steps, n_rounds=n_rounds, weights=weight, names=names)
        guess = CountProcess(weight, np.ones(2 * nodes, dtype=bool), initial, steps, n_rounds, names)
        final = (guess.by_class()[-1] * guess.majority()).sum(axis=1)
        return CountProcess(weight, final >= 0.5, initial, steps, n_rounds, names)


def fit_panel_chain(votes: ArrayLike, cluster: ArrayLike | None = None) -> PanelChainFit:
    """Fit the panel chain to votes.

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
    array = np.asarray(votes)
    if array.ndim != 3:
        raise ValueError(f"votes must have shape (debates, rounds, seats); got shape {array.shape}")
    if not np.isin(array, (-1, 0, 1)).all():
        raise ValueError("votes must be 1, 0 or -1 (none); got another value among them")
    question = np.arange(len(array)) if cluster is None else np.asarray(cluster)
    if question.shape != (len(array),):
        raise ValueError(f"cluster must have one value per debate ({len(array)}); got shape {question.shape}")
    heard = (array != -1).any(axis=(1, 2))
    data = chain.ChainData.from_votes(array[heard].astype(np.int8))
    if len(data) < 2:
        raise ValueError(f"votes must hold at least 2 debates with a vote; got {len(data)}")
    if not (data.cast_after_one.any() or data.cast_after_zero.any()):
        raise ValueError("votes must hold a seat that votes in two rounds running; got none")
    bounds = list(zip(chain.LOWER, chain.UPPER, strict=True))
    best = None
    for start in _STARTS:
        found = optimize.minimize(
            chain.minus_log_posterior,
            start,
            args=(data,),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 500},
        )
        if best is None or found.fun < best.fun:
            best = found
    assert best is not None
    theta: Floats = best.x
    codes = np.unique(question[heard], return_inverse=True)[1]
    cov, effect = _covariance(theta, data, codes)
    names = list(chain.NAMES)
    return PanelChainFit(
        params=pd.Series(theta, index=names, name="estimate"),
        cov=pd.DataFrame(cov, index=names, columns=names),
        llf=float(chain.scores(theta, data)[0].sum()),
        n_obs=len(data),
        n_clusters=int(codes.max()) + 1,
        design_effect=effect,
        converged=_settled(theta, data),
        boundary=tuple(
            name
            for name, x, low, high in zip(names, theta, chain.LOWER, chain.UPPER, strict=True)
            if x <= low + 1e-6 or x >= high - 1e-6
        ),
        n_iter=int(best.nit),
    )


def _settled(theta: Floats, data: chain.ChainData) -> bool:
    """Say whether the posterior is flat at the end of the climb, bounds apart: why a climb ended is no evidence."""
    gradient = chain.minus_log_posterior(theta, data)[1]
    held = ((theta <= chain.LOWER) & (gradient > 0)) | ((theta >= chain.UPPER) & (gradient < 0))
    return bool(np.abs(np.where(held, 0.0, gradient)).max() < 1e-3 * max(1.0, len(data)))


def _covariance(theta: Floats, data: chain.ChainData, cluster: NDArray[np.int64]) -> tuple[Floats, float]:
    """Invert prior plus likelihood information, the latter divided by how much more the questions' scores vary.

    The prior's information is not the data's, so no lack of independence takes any of it away: the errors are never
    wider than the prior's.
    """
    size, h = len(theta), 1e-4
    curvature = np.empty((size, size))
    for i in range(size):
        step = np.zeros(size)
        step[i] = h
        up, down = (chain.minus_log_posterior(theta + s * step, data)[1] for s in (1, -1))
        curvature[i] = (up - down) / (2 * h)
    sd = chain.PRIOR_SD
    # In units of the prior's errors, where the prior's information is one in every direction.
    whole = (curvature + curvature.T) / 2 * np.outer(sd, sd)
    values, vectors = np.linalg.eigh(whole - np.eye(size))
    told = np.maximum(values, 0.0)

    def cov(effect: float) -> Floats:
        """Return the covariance when the data's information is worth so many times less."""
        return np.asarray((vectors / (1.0 + told / effect)) @ vectors.T)

    score = chain.scores(theta, data)[1] * sd
    total = np.zeros((int(cluster.max()) + 1, size))
    np.add.at(total, cluster, score)
    naive = cov(1.0)
    # What the scores would vary by if the chain were right and debates independent.
    expected = float((told / (1.0 + told)).sum())
    alone = float(np.trace(naive @ (score.T @ score)))
    seen = float(np.trace(naive @ (total.T @ total)))
    effect = max(1.0, *(seen / base for base in (expected, alone) if base > 0))
    return cov(effect) * np.outer(sd, sd), effect


def chain_laws(theta: ArrayLike, panel: int, n_rounds: int, *, nodes: int = chain.NODES) -> ChainLaws:
    """Return the count laws of one or many parameter vectors.

    Parameters
    ----------
    theta : array, shape (draws, 12)
        In the order of ``PanelChainFit.params``.
    panel, n_rounds : int
    nodes : int
        Classes of easiness within each kind.
    """
    n = integer("panel", panel, minimum=1)
    integer("n_rounds", n_rounds, minimum=1)
    columns = np.clip(np.atleast_2d(np.asarray(theta, dtype=np.float64)), chain.LOWER, chain.UPPER).T
    first, log_spread_first, drift, log_spread, own, pull, log_pull, hardening, log_shock = columns[:9]
    gap_first, gap, logit_hard = columns[9:]
    z, hard, within = chain.kinds(nodes)
    share = special.expit(logit_hard)[:, None]
    weight = within * np.where(hard == 1.0, share, 1.0 - share)
    v, wv = chain.hermite(chain.SHOCKS)
    shock = np.exp(log_shock)[:, None] * v
    k = np.arange(n + 1)
    level = first[:, None] + np.exp(log_spread_first)[:, None] * z - gap_first[:, None] * hard
    eta = level[:, :, None] + shock[:, None, :]
    initial = (_binomial(n, special.expit(eta)) * wv[:, None]).sum(axis=2)
    linear, logit = chain.features(k, np.full(n + 1, n))
    middle = (drift[:, None] + pull[:, None] * linear + log_pull[:, None] * logit)[:, None, :]
    middle = middle + (np.exp(log_spread)[:, None] * z - gap[:, None] * hard)[:, :, None]
    scale = np.arange(1, n_rounds)[None, :] ** hardening[:, None]

    def chance(sign: int, at: int) -> Floats:
        mean = middle[:, :, at] + sign * own[:, None]
        both = scale[:, :, None, None] * mean[:, None, :, None] + shock[:, None, None, :]
        return np.asarray(special.expit(both))

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
    result: Floats = special.binom(n, k) * p[..., None] ** k * (1.0 - p[..., None]) ** (n - k)
    return result
