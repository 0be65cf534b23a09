"""The likelihood of a pilot's counts in a world whose count is a finite mixture of Markov chains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from d3stats._arrays import Floats, Ints
from d3stats.models.chains.process import CountProcess
from d3stats.planning.calibration.parameters import Fit, Observed, Space
from d3stats.worlds import count_process

__all__ = ["Paths", "fit_likelihood", "inverted", "is_exact"]


class Paths:
    """Distinct paths of counts, and which debate took which.

    A debate with a label is a path of right votes, read against the classes in which A is right (the others
    are their mirror). A debate without a label is a path of votes for A, read against all classes.

    Parameters
    ----------
    seen : Observed
    panel : int
    """

    def __init__(self, seen: Observed, panel: int) -> None:
        played = np.arange(seen.ones.shape[1]) < seen.depth[:, None]
        key = np.column_stack(
            [seen.labelled, np.where(played, seen.ones, 0), np.where(played, seen.cast, -1)]
        )
        rows, self.index = np.unique(key, axis=0, return_inverse=True)
        self.index = self.index.ravel()
        self.weight: Floats = np.bincount(self.index).astype(np.float64)
        rounds = seen.ones.shape[1]
        self.labelled = rows[:, 0] == 1
        self._ones, self._cast = rows[:, 1 : 1 + rounds], rows[:, 1 + rounds :]
        self._whole = ((self._cast == panel) | (self._cast == -1)).all(axis=1)
        self._panel = panel

    def log_likelihood(self, process: CountProcess) -> Floats:
        """Return log P(path), shape (distinct paths,); minus infinity for a path that cannot be."""
        with np.errstate(divide="ignore"):
            share = np.log(process.weights)
            right = np.where(
                process.a_is_right, share - np.log(process.weights[process.a_is_right].sum()), -np.inf
            )
            by_class = np.empty((len(self._ones), process.n_classes))
            by_class[self._whole] = self._gathered(process, self._whole)
            if not self._whole.all():
                by_class[~self._whole] = self._forward(process, ~self._whole)
            joint = by_class + np.where(self.labelled[:, None], right, share)
            result: Floats = scipy.special.logsumexp(joint, axis=1)
        return result

    def _gathered(self, process: CountProcess, rows: NDArray[np.bool_]) -> Floats:
        ones, cast = self._ones[rows], self._cast[rows]
        total = np.zeros((len(ones), process.n_classes))
        first = np.log(process.initial).T
        total += np.where((cast[:, 0] >= 0)[:, None], first[ones[:, 0]], 0.0)
        for t in range(1, ones.shape[1]):
            step = np.moveaxis(np.log(process.step(t)), 0, -1)
            total += np.where((cast[:, t] >= 0)[:, None], step[ones[:, t - 1], ones[:, t]], 0.0)
        return total

    def _forward(self, process: CountProcess, rows: NDArray[np.bool_]) -> Floats:
        """Sum over what the missing votes may have been, each seat as likely to be missing as the next."""
        ones, cast = self._ones[rows], self._cast[rows]
        total = np.zeros((len(ones), process.n_classes))
        ahead = np.broadcast_to(process.initial, (len(ones), *process.initial.shape))
        for t in range(ones.shape[1]):
            ahead = ahead * self._emission(ones[:, t], cast[:, t])[:, None, :]
            mass = ahead.sum(axis=2)
            total += np.log(mass)
            ahead = ahead / np.where(mass > 0, mass, 1.0)[:, :, None]
            if t + 1 < ones.shape[1]:
                ahead = np.einsum("ucs,csk->uck", ahead, process.step(t + 1))
        return total

    def _emission(self, ones: Ints, cast: Ints) -> Floats:
        n, count = self._panel, np.arange(self._panel + 1)
        k, c = ones[:, None], np.maximum(cast, 0)[:, None]
        law: Floats = (
            scipy.special.binom(count, k) * scipy.special.binom(n - count, c - k) / scipy.special.binom(n, c)
        )
        return law


def is_exact(space: Space, n_rounds: int) -> bool:
    """Say whether the count is Markov within a class all over the free parameters, not at the template alone."""
    for shift in (0.0, 0.1, -0.1):
        try:
            count_process(space.world(space.start() + shift), n_rounds)
        except TypeError:
            return False
    return True


def fit_likelihood(space: Space, seen: Observed, rng: np.random.Generator, n_starts: int) -> Fit | str:
    """Climb the likelihood; or say which debate cannot happen in the world for any parameters."""
    template: Any = space.template
    paths = Paths(seen, int(template.panel))
    n_rounds = seen.ones.shape[1]

    def each(x: Floats) -> Floats:
        return paths.log_likelihood(count_process(space.world(x), n_rounds))

    begin = each(space.start())
    if not np.isfinite(begin).all():
        return (
            f"{int(paths.weight[~np.isfinite(begin)].sum())} of {len(paths.index)} debates make a move that"
        )

    def loss(x: Floats) -> float:
        value = float(paths.weight @ each(x)) / len(paths.index)
        return -value if np.isfinite(value) else 1e10

    bounds = scipy.optimize.Bounds(space.box_low, space.box_high)
    starts = [space.start()]
    starts += [
        np.clip(starts[0] + rng.normal(0, 0.7, len(space)), space.box_low, space.box_high)
        for _ in range(n_starts - 1)
    ]
    climbs = [
        scipy.optimize.minimize(
            loss,
            z,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 300, "ftol": 1e-11, "gtol": 1e-6},
        )
        for z in starts
    ]
    best = min(climbs, key=lambda climb: float(climb.fun))
    x = np.asarray(best.x, dtype=np.float64)
    held = space.on_bound(x)
    covariance, blind = _covariance(each, x, paths, seen.cluster, held)
    # A climb ends for many reasons; only a flat likelihood per debate, bounds apart, is a maximum.
    gradient = np.where(held, 0.0, scipy.optimize.approx_fprime(x, loss, 1e-6))
    settled = float(np.abs(gradient).max(initial=0.0)) < 1e-4
    return Fit(x, covariance, blind, settled, llf=-float(best.fun) * len(paths.index))


def _covariance(
    each: Callable[[Floats], Floats], x: Floats, paths: Paths, cluster: Ints, held: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the inverse information, as a sandwich over questions where these repeat."""
    p, h = len(x), 1e-4
    steps = np.eye(p) * h
    up = [each(x + s) for s in steps]
    down = [each(x - s) for s in steps]
    score = np.stack([(u - d) / (2 * h) for u, d in zip(up, down, strict=True)], axis=1)
    hessian = np.empty((p, p))
    middle, w = each(x), paths.weight
    for i in range(p):
        hessian[i, i] = w @ (up[i] - 2 * middle + down[i]) / h**2
        for j in range(i):
            both = each(x + steps[i] + steps[j]) + each(x - steps[i] - steps[j])
            cross = both - up[i] - down[i] - up[j] - down[j] + 2 * middle
            hessian[i, j] = hessian[j, i] = w @ cross / (2 * h**2)
    covariance, blind = inverted(-hessian, held)
    questions = np.unique(cluster, return_inverse=True)[1]
    groups = int(questions.max()) + 1
    if groups < len(cluster):
        total = np.zeros((groups, p))
        np.add.at(total, questions, score[paths.index])
        meat = total.T @ total * groups / max(groups - 1, 1)
        covariance = covariance @ meat @ covariance
    return covariance, blind


def inverted(information: Floats, held: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
    """Invert an information matrix where it can be; name the parameters it says nothing about.

    Rows on a bound are left out, because the curvature has no meaning there.
    """
    p = len(information)
    covariance, blind = np.zeros((p, p)), held.copy()
    kept = np.flatnonzero(~held)
    if len(kept) == 0:
        return covariance, blind
    part = information[np.ix_(kept, kept)]
    scale = np.sqrt(np.maximum(np.diag(part), 1e-12))
    values, vectors = np.linalg.eigh(part / np.outer(scale, scale))
    # Second differences are good to some six digits; a direction flatter than that is flat.
    flat = (values < 1e-5) | (np.abs(vectors).T @ (scale < 1e-5) > 0.5)
    inverse = (vectors[:, ~flat] / values[~flat]) @ vectors[:, ~flat].T / np.outer(scale, scale)
    covariance[np.ix_(kept, kept)] = inverse
    if flat.any():
        blind[kept] |= (np.abs(vectors[:, flat]) > 0.05).any(axis=1)
    return covariance, blind
