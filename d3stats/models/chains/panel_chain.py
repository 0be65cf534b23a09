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

With *flicker* the kind that shows is drawn again in every round, for all seats together. An easy debate behaves like a
hard one with probability ``flicker_easy``, a hard one like an easy one with probability ``flicker_hard``. Both at 0 is
the chain above. Panels whose ability jumps from round to round are like that; a chain that holds the kind fixed takes
those jumps for chance and makes the loss of stopping early too small.

The fit maximises likelihood times a weak prior; its uncertainty is the curvature there (Laplace). `fit_panel_chains`
fits both chains and weighs them by their marginal likelihoods.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, integer, probability
from d3stats.models.chains.process import CountProcess
from d3stats.resampling.clusters import cluster_codes
from d3stats.result import Result

__all__ = [
    "FLICKER_NAMES",
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
    "PanelChains",
    "chain_laws",
    "features",
    "fit_panel_chain",
    "fit_panel_chains",
    "hermite",
    "minus_log_posterior",
    "scores",
]


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
FLICKER_NAMES = (*NAMES, "logit_flicker_easy", "logit_flicker_hard")
# Weak: on the logit scale of a single vote, one unit covers what any published debate has shown. The last two are
# those of flicker.
PRIOR_MEAN = np.array([0.5, -0.3, 0.0, -0.5, 1.0, 0.5, 1.0, 0.0, -1.0, 0.7, 0.7, -0.7, -2.5, -2.5])
PRIOR_SD = np.array([1.0, 0.7, 0.7, 0.8, 1.0, 1.0, 1.0, 0.5, 0.8, 1.0, 1.0, 1.0, 1.5, 1.5])
LOWER = np.array([-5.0, -4.0, -5.0, -4.0, -5.0, -8.0, -5.0, -1.5, -5.0, 0.0, 0.0, -4.0, -6.0, -6.0])
UPPER = np.array([5.0, 1.5, 5.0, 1.5, 5.0, 8.0, 5.0, 1.5, 1.0, 6.0, 6.0, 3.0, 0.5, 0.5])

NODES, SHOCKS = 5, 5
"""Points for easiness within a kind, and for shocks."""
_HELD = len(NAMES)
_STARTS = (
    PRIOR_MEAN,
    np.array([1.2, -1.0, 1.0, -1.0, 0.5, 0.2, 0.1, 0.1, -1.5, 2.0, 2.0, -0.5, -2.5, -2.5]),
    np.array([1.5, -1.0, 1.0, -1.0, 0.1, 0.1, 0.1, 0.0, -1.0, 1.5, 1.5, -0.3, -1.0, -1.0]),
)
"""Where climbs begin; the third is for flicker alone: two levels that follow no earlier vote."""


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
    """The posterior mode of the panel chain's parameters, with its Laplace covariance; 12 of them, or 14 with flicker.

    Attributes
    ----------
    params : Series
        Estimates by name; spreads and the shock on the log scale.
    cov : DataFrame
        Their covariance (Laplace): the inverse of the prior's information plus the likelihood's, the latter divided
        by `design_effect`. No direction has a larger variance than under the prior.
    llf : float
        Log-likelihood, without the prior.
    log_evidence : float
        Logarithm of the marginal likelihood, the parameters integrated over the prior (Laplace).
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
    log_evidence: float
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
        """Draw parameter vectors from the Laplace approximation, kept within the bounds; shape (n, parameters)."""
        integer("n", n, minimum=1)
        root = np.linalg.cholesky(self.cov.to_numpy())
        noise = as_rng(rng).standard_normal((n, len(self.params)))
        size = len(self.params)
        return np.clip(self.params.to_numpy() + noise @ root.T, LOWER[:size], UPPER[:size])

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


def fit_panel_chain(
    votes: ArrayLike, cluster: ArrayLike | None = None, *, flicker: bool = False
) -> PanelChainFit:
    """Fit the panel chain to votes by posterior mode, with Laplace errors that allow for dependent debates.

    Parameters
    ----------
    votes : array of int, shape (debates, rounds, seats)
        1, 0, or -1 where there is no vote (a missing vote, an empty seat, a round not played).
    cluster : array of int, shape (debates,), optional
        Question of each debate; by default each is its own.
    flicker : bool
        Whether the kind that shows is drawn again in every round: fourteen parameters in place of twelve.

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
    return _fit(*_data(votes, cluster), flicker=flicker)


class PanelChains(NamedTuple):
    """The panel chain without and with flicker, and how probable the second is."""

    held: PanelChainFit
    flicker: PanelChainFit
    flicker_probability: float
    """Posterior probability of flicker, both chains equally probable before: by the Laplace approximation of their
    marginal likelihoods, the difference of the logarithms divided by the design effect."""

    @property
    def likelier(self) -> PanelChainFit:
        """The more probable of the two."""
        return self.flicker if self.flicker_probability > 0.5 else self.held

    def draws(self, n: int, rng: RngLike = None) -> Floats:
        """Draw parameter vectors of both chains, each as often as it is probable; shape (n, 14)."""
        integer("n", n, minimum=1)
        generator = as_rng(rng)
        again = round(n * self.flicker_probability)
        parts = [
            _with_flicker(fit.draws(count, generator))
            for fit, count in ((self.held, n - again), (self.flicker, again))
            if count > 0
        ]
        return np.concatenate(parts)


def fit_panel_chains(votes: ArrayLike, cluster: ArrayLike | None = None) -> PanelChains:
    """Fit the panel chain without and with flicker, and weigh them by Laplace marginal likelihoods.

    Parameters
    ----------
    votes, cluster
        As in :func:`fit_panel_chain`.

    Returns
    -------
    PanelChains

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> shown = (rng.random((80, 1, 1)) < 0.6) ^ (rng.random((80, 7, 1)) < 0.2)
    >>> votes = (rng.random((80, 7, 7)) < np.where(shown, 0.95, 0.2)).astype(int)
    >>> chains = fit_panel_chains(votes)
    >>> chains.flicker_probability > 0.99, chains.draws(10, rng=1).shape
    (True, (10, 14))
    """
    data, codes = _data(votes, cluster)
    held = _fit(data, codes)
    flicker = _fit(data, codes, flicker=True, near=held.params.to_numpy())
    ahead = (flicker.log_evidence - held.log_evidence) / flicker.design_effect
    return PanelChains(held, flicker, float(scipy.special.expit(ahead)))


def _data(votes: ArrayLike, cluster: ArrayLike | None) -> tuple[ChainData, NDArray[np.int64]]:
    """Check the votes; return the debates that have some, and the numbers of their questions."""
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
    if not data.moves[:, [2, 4]].any():
        raise ValueError("votes must hold a seat that votes in two successive rounds; got none")
    return data, np.unique(question[heard], return_inverse=True)[1]


def _fit(
    data: ChainData, codes: NDArray[np.int64], *, flicker: bool = False, near: Floats | None = None
) -> PanelChainFit:
    """Climb to the posterior mode from every start; `near` is the mode without flicker, where it is known."""
    from scipy.optimize import minimize

    names = list(FLICKER_NAMES if flicker else NAMES)
    size = len(names)
    lower, upper = LOWER[:size], UPPER[:size]
    climb: dict[str, Any] = {
        "method": "L-BFGS-B",
        "jac": True,
        "bounds": list(zip(lower, upper, strict=True)),
    }
    climb["options"] = {"maxiter": 500}
    starts = [start[:size] for start in (_STARTS if flicker else _STARTS[:2])]
    if flicker and near is not None:
        starts = [np.concatenate([near, PRIOR_MEAN[_HELD:]]), _STARTS[2]]
    climbs = [minimize(minus_log_posterior, start, args=(data,), **climb) for start in starts]
    best = min(climbs, key=lambda found: found.fun)
    theta: Floats = best.x
    found = _curved(theta, data, codes)
    at_bound = (theta <= lower + 1e-6) | (theta >= upper - 1e-6)
    return PanelChainFit(
        params=pd.Series(theta, index=names, name="estimate"),
        cov=pd.DataFrame(found.cov, index=names, columns=names),
        llf=float(scores(theta, data)[0].sum()),
        log_evidence=found.half_log_det - float(best.fun),
        n_obs=len(data),
        n_clusters=int(codes.max()) + 1,
        design_effect=found.design_effect,
        converged=_settled(theta, data),
        boundary=tuple(name for name, there in zip(names, at_bound, strict=True) if there),
        n_iter=int(best.nit),
    )


def _settled(theta: Floats, data: ChainData) -> bool:
    """Say whether the posterior is flat at the end of the climb, bounds apart: why a climb ended is no evidence."""
    gradient = minus_log_posterior(theta, data)[1]
    lower, upper = LOWER[: len(theta)], UPPER[: len(theta)]
    held = ((theta <= lower) & (gradient > 0)) | ((theta >= upper) & (gradient < 0))
    return bool(np.abs(np.where(held, 0.0, gradient)).max() < 1e-3 * max(1.0, len(data)))


class _Curved(NamedTuple):
    """What the curvature at the mode says."""

    cov: Floats
    design_effect: float
    half_log_det: float
    """Half the log of the determinant of the covariance over the prior's, debates independent."""


def _curved(theta: Floats, data: ChainData, cluster: NDArray[np.int64]) -> _Curved:
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
    sd = PRIOR_SD[:size]
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
    return _Curved(cov(effect) * np.outer(sd, sd), effect, -0.5 * float(np.log1p(told).sum()))


def chain_laws(theta: ArrayLike, panel: int, n_rounds: int, *, nodes: int = NODES) -> ChainLaws:
    """Compute the Markov chain of the number of ones, for one or many parameter vectors.

    `theta` has the shape (draws, 12), or (draws, 14) with flicker, in the order of ``PanelChainFit.params``; `nodes`
    are the classes of easiness within each kind.

    Parameters
    ----------
    theta : array of float, shape (draws, 12), (draws, 14), (12,) or (14,)
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
    given = np.atleast_2d(np.asarray(theta, dtype=np.float64))
    if given.shape[1] not in (_HELD, len(FLICKER_NAMES)):
        raise ValueError(
            f"theta must have {_HELD} parameters a row, or {len(FLICKER_NAMES)} with flicker; got {given.shape[1]}"
        )
    from d3stats.models.chains import compiled as kernel

    # A logit of minus infinity says that there is no flicker, so it stays.
    size = given.shape[1]
    inside = np.where(np.isneginf(given), given, np.clip(given, LOWER[:size], UPPER[:size]))
    row = _with_flicker(inside.astype(np.float64))
    easiness, shocks = hermite(nodes), hermite(SHOCKS)
    _, hard, within = kinds(nodes)
    share = scipy.special.expit(row[:, 11])[:, None]
    k = np.arange(n + 1)
    choose = np.asarray(scipy.special.binom(k[:, None], k[None, :]), dtype=np.float64)
    initial, steps = kernel.laws(row, choose, n_rounds, easiness.at, *shocks)
    return ChainLaws(within * np.where(hard == 1.0, share, 1.0 - share), initial, steps)


class Rule(NamedTuple):
    """Nodes and weights of a Gauss-Hermite rule for a standard normal."""

    at: Floats
    weight: Floats


@cache
def hermite(n: int) -> Rule:
    """Return the rule with n nodes; weights sum to 1."""
    at, weight = np.polynomial.hermite_e.hermegauss(n)
    found = Rule(at, weight / weight.sum())
    for array in found:
        array.setflags(write=False)
    return found


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
    """The votes as the likelihood needs them: the distinct rounds, and which of them each debate went through.

    Attributes
    ----------
    first : ndarray of int, shape (distinct first rounds, 2)
        Ones and votes cast in round 1.
    moves : ndarray of int, shape (distinct later rounds, 5)
        The earlier round's number; of the seats that cast a 1 in it and vote again, those that cast a 1 now, and
        all; the same for seats that cast a 0.
    pulls : ndarray of float, shape (distinct later rounds, 2)
        What :func:`features` says of the earlier round.
    paths : ndarray of int, shape (distinct debates, rounds)
        The first round and the later ones of each.
    times : ndarray of int, shape (distinct debates,)
        How many debates are alike.
    of : ndarray of int, shape (debates,)
        Which of them each debate is.
    """

    first: NDArray[np.int64]
    moves: NDArray[np.int64]
    pulls: Floats
    paths: NDArray[np.int64]
    times: NDArray[np.int64]
    of: NDArray[np.int64]

    @classmethod
    def from_votes(cls, votes: NDArray[np.int8]) -> ChainData:
        """Count from votes of shape (debates, rounds, seats): 1, 0, or -1 for none."""
        one, zero = votes == 1, votes == 0
        cast = one | zero
        debates, depth = votes.shape[0], votes.shape[1] - 1
        again = [was[:, :-1] & cast[:, 1:] for was in (one, zero)]
        moved = [seats.sum(2) for who in again for seats in (who & one[:, 1:], who)]
        before = [one[:, :-1].sum(2), cast[:, :-1].sum(2)]
        number = np.broadcast_to(np.arange(1, depth + 1), (debates, depth))
        rows = np.stack([number, *moved, *before], axis=2).reshape(-1, 7).astype(np.int64)
        moves, of_move = np.unique(rows, axis=0, return_inverse=True)
        opened = np.column_stack([one[:, 0].sum(1), cast[:, 0].sum(1)]).astype(np.int64)
        first, of_first = np.unique(opened, axis=0, return_inverse=True)
        paths = np.column_stack([of_first.reshape(-1), of_move.reshape(debates, depth)])
        distinct, of, times = np.unique(paths, axis=0, return_inverse=True, return_counts=True)
        pulls = np.column_stack(features(moves[:, 5], moves[:, 6]))
        return cls(first, moves[:, :5].copy(), pulls, distinct, times, of.reshape(-1))

    def __len__(self) -> int:
        return len(self.of)


def scores(theta: Floats, data: ChainData) -> tuple[Floats, Floats]:
    """Return each debate's log-likelihood and score, without the prior, shapes (debates,) and (debates, parameters)."""
    from d3stats.models.chains import compiled as kernel

    rules = (*hermite(NODES), *hermite(SHOCKS))
    llf, gradient = kernel.each(
        _with_flicker(theta[None])[0], data.first, data.moves, data.pulls, data.paths, *rules
    )
    return llf[data.of], gradient[data.of, : len(theta)]


def _with_flicker(theta: Floats) -> Floats:
    """Return rows of 14 parameters; rows of 12 are of a chain that never flickers."""
    if theta.shape[1] == len(FLICKER_NAMES):
        return np.ascontiguousarray(theta)
    return np.column_stack([theta, np.full((len(theta), 2), -np.inf)])


def minus_log_posterior(theta: Floats, data: ChainData) -> tuple[float, Floats]:
    """Return minus the log-likelihood plus the prior's penalty, and the gradient; what the fit minimises."""
    from d3stats.models.chains import compiled as kernel

    size = len(theta)
    full = _with_flicker(theta[None])[0]
    rules = (*hermite(NODES), *hermite(SHOCKS))
    llf, slope = kernel.total(full, data.first, data.moves, data.pulls, data.paths, data.times, *rules)
    away = (theta - PRIOR_MEAN[:size]) / PRIOR_SD[:size]
    return 0.5 * float(away @ away) - llf, away / PRIOR_SD[:size] - slope[:size]
