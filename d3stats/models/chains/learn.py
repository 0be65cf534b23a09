"""A count process learned from a pilot, shrunk towards a smooth chain, and what its optimum does out of sample.

A pilot of 50 debates fills few of the cells of an 8 x 8 transition matrix. Each row is therefore the posterior
mean of a Dirichlet law centred on a chain with four parameters: a seat that voted right stays right, and a
seat that voted wrong turns right, each with a probability that is logistic in the share of right votes. How
many debates the centre is worth is chosen by its own likelihood (empirical Bayes) unless it is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, integer, number
from d3stats.models.chains.optimum import OptimalPolicy, solve
from d3stats.models.chains.process import CountProcess, Verdict

__all__ = ["CrossValidation", "cross_validated", "fit_process", "smooth_start", "smooth_steps", "worth"]

Floats = NDArray[np.float64]

_WORTHS = np.geomspace(0.1, 1000.0, 33)
# A weak pull of the coefficients to zero keeps a pilot in which nobody ever changes within bounds.
_RIDGE = 0.02
_LEAST = 1e-6


def smooth_start(counts: Floats) -> Floats:
    """Fit a Beta-Binomial to how often each count was seen, shape (panel + 1,)."""
    from scipy.optimize import minimize
    from scipy.special import betaln, binom, expit

    n = len(counts) - 1
    k = np.arange(n + 1)

    def law(x: Floats) -> Floats:
        mean, precision = expit(x[0]), np.exp(np.clip(x[1], -4, 8))
        a, b = mean * precision, (1 - mean) * precision
        return np.asarray(binom(n, k) * np.exp(betaln(a + k, b + n - k) - betaln(a, b)))

    def loss(x: Floats) -> float:
        return float(-(counts * np.log(_floored(law(x)))).sum() + _RIDGE * (x**2).sum())

    found = minimize(loss, np.array([0.0, 1.0]), method="L-BFGS-B", bounds=[(-8, 8), (-4, 8)])
    return _floored(law(found.x))


def smooth_steps(counts: Floats) -> Floats:
    """Fit the four-parameter chain to a table of moves, shape (panel + 1, panel + 1).

    From i right votes, the next count is Binomial(i, s) + Binomial(n - i, r), with logit s and logit r linear
    in the share i / n.
    """
    from scipy.optimize import minimize

    n = len(counts) - 1
    share = np.arange(n + 1) / n

    def loss(x: Floats) -> float:
        return float(-(counts * np.log(_floored(_chain(x, share)))).sum() + _RIDGE * (x**2).sum())

    found = minimize(loss, np.array([0.0, 1.0, -1.0, 1.0]), method="L-BFGS-B", bounds=[(-8, 8)] * 4)
    return _floored(_chain(found.x, share))


def worth(counts: Floats, centres: Floats) -> float:
    """Return the likeliest number of debates per row that the centres count for (Dirichlet-multinomial).

    Parameters
    ----------
    counts, centres : ndarray, shape (rows, outcomes)
    """
    from scipy.special import gammaln

    m = _WORTHS[:, None, None]
    rows = counts.sum(axis=1)
    alpha = m * centres
    terms = (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=(1, 2))
    llf = terms + (gammaln(m[:, :, 0]) - gammaln(m[:, :, 0] + rows)).sum(axis=1)
    return float(_WORTHS[int(llf.argmax())])


def _chain(x: Floats, share: Floats) -> Floats:
    from scipy.special import binom, expit

    n = len(share) - 1
    stay, turn = expit(x[0] + x[1] * share), expit(x[2] + x[3] * share)
    rows = np.empty((n + 1, n + 1))
    for i in range(n + 1):
        kept, won = np.arange(i + 1), np.arange(n - i + 1)
        from_right = binom(i, kept) * stay[i] ** kept * (1 - stay[i]) ** (i - kept)
        from_wrong = binom(n - i, won) * turn[i] ** won * (1 - turn[i]) ** (n - i - won)
        rows[i] = np.convolve(from_right, from_wrong)
    return rows


def _floored(law: Floats) -> Floats:
    raised = law + _LEAST
    result: Floats = raised / raised.sum(axis=-1, keepdims=True)
    return result


_EM_STEPS = 40


def fit_process(
    successes: ArrayLike,
    panel: int,
    *,
    n_classes: int = 1,
    shrinkage: float | None = None,
    labelled: bool = True,
    n_rounds: int | None = None,
) -> CountProcess:
    """Learn a count process from the counts of a pilot.

    Parameters
    ----------
    successes : array of int, shape (debates, rounds)
        Right votes in each round; with ``labelled=False`` votes for A. A negative number marks a round whose
        count is unknown; it and the moves into and out of it are left out.
    panel : int
        Seats on the panel.
    n_classes : {1, 2}
        Difficulty classes; 2 are told apart by expectation-maximisation, the easier one first.
    shrinkage : float, optional
        What the smooth chain counts for, in debates per row, >= 0; by default the likeliest value, and 4
        with two classes.
    labelled : bool
        Without labels the law is folded, A and B being treated alike, and says nothing of which answer is
        right: solve it with :func:`~d3stats.models.chains.process.agreement_loss`.
    n_rounds : int, optional
        Depth of the process; by default that of the pilot. Moves between rounds have one law, so it may be
        deeper.

    Returns
    -------
    CountProcess
        Symmetric in A and B.

    Raises
    ------
    ValueError
        When a count exceeds the panel, or the pilot has fewer than two debates or two rounds.

    Examples
    --------
    >>> p = fit_process([[2, 3, 3], [1, 0, 0], [3, 3, 3], [2, 2, 3]], panel=3)
    >>> p
    CountProcess(2 classes, panel of 3, 3 rounds)
    >>> bool(p.steps.min() > 0)
    True
    """
    counts = _checked(successes, panel)
    if integer("n_classes", n_classes, minimum=1) > 2:
        raise ValueError(f"n_classes must be 1 or 2; got n_classes={n_classes}")
    if shrinkage is not None:
        number("shrinkage", shrinkage, minimum=0)
    depth = counts.shape[1] if n_rounds is None else integer("n_rounds", n_rounds, minimum=2)
    folded = counts if labelled else np.concatenate([counts, np.where(counts < 0, -1, panel - counts)])
    start, moves = _tallies(folded, panel)
    if n_classes == 1:
        weights, laws = np.ones(1), [_law(start.sum(axis=0), moves.sum(axis=0), shrinkage)]
    else:
        weights, laws = _two_classes(folded, start, moves, panel, shrinkage)
    initial = np.stack([law[0] for law in laws])
    steps = np.stack([law[1] for law in laws])
    names = ("pilot",) if n_classes == 1 else ("easier", "harder")
    if labelled:
        return CountProcess.symmetric(initial, steps, n_rounds=depth, weights=weights, names=names)
    # Folding twice the debates leaves each class's mirror image in the sample: average the two.
    mirrored = np.concatenate([initial, initial[:, ::-1]])
    return CountProcess(
        weights=np.concatenate([weights, weights]) / 2,
        a_is_right=np.repeat([True, False], len(weights)),
        initial=mirrored,
        steps=np.concatenate([steps, steps[:, ::-1, ::-1]])[:, None],
        n_rounds=depth,
        names=tuple(f"{side}, {x}" for side in ("as seen", "mirrored") for x in names),
    )


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation:
    """What a learned optimum does on debates that it was not learned from.

    Attributes
    ----------
    rounds : ndarray of int64, shape (debates,)
        Rounds played by each debate, under the policy learned without its fold.
    loss : ndarray, shape (debates,)
        1 where the plurality at the stop is wrong, 1/2 at a tie.
    full_loss : ndarray, shape (debates,)
        The same at full depth.
    cluster : ndarray, shape (debates,)
    promised : ndarray, shape (folds,)
        The value that each fold's policy has in the process that it was solved for.
    cost : float
    left_out : int
        Debates left out because a round's count is unknown.
    """

    rounds: NDArray[np.int64]
    loss: Floats
    full_loss: Floats
    cluster: NDArray[Any]
    promised: Floats
    cost: float
    left_out: int

    @property
    def value(self) -> float:
        """Mean loss plus cost per round, out of sample."""
        return float(self.loss.mean() + self.cost * self.rounds.mean())

    def __repr__(self) -> str:
        return (
            f"CrossValidation({self.rounds.mean():.3g} rounds, accuracy {1 - self.loss.mean():.3g} out of "
            f"sample; full depth {1 - self.full_loss.mean():.3g})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row: ``rounds, accuracy, full_accuracy, value, promised, optimism, n_debates, left_out``.

        ``optimism`` is ``value`` minus ``promised``: how much the policy's own arithmetic promised too much.
        """
        promised = float(self.promised.mean())
        row = {
            "rounds": float(self.rounds.mean()),
            "accuracy": float(1 - self.loss.mean()),
            "full_accuracy": float(1 - self.full_loss.mean()),
            "value": self.value,
            "promised": promised,
            "optimism": self.value - promised,
            "n_debates": len(self.rounds),
            "left_out": self.left_out,
        }
        return pd.DataFrame([row])


def cross_validated(
    successes: ArrayLike,
    panel: int,
    cost: float,
    *,
    cluster: ArrayLike | None = None,
    folds: int = 5,
    n_classes: int = 1,
    shrinkage: float | None = None,
    verdict: Verdict = "majority",
    max_beliefs: int = 1_000,
    rng: RngLike = None,
) -> CrossValidation:
    """Learn on all folds but one, stop the debates of that one, for each fold in turn.

    Parameters
    ----------
    successes, panel, n_classes, shrinkage
        As in :func:`fit_process`, with labels.
    cost : float
        Price of a round in units of error.
    cluster : array, shape (debates,), optional
        The question of each debate: a question lies wholly in one fold. By default each debate is its own.
    folds : int
        At least 2, at most the number of questions.
    verdict : {"majority", "posterior"}
        What the policy is solved for; the loss reported is always that of the plurality at the stop.
    max_beliefs : int
        As in :func:`~d3stats.models.chains.optimum.solve`.
    rng : Generator, int or None
        Deals the questions into folds.

    Returns
    -------
    CrossValidation

    Raises
    ------
    ValueError
        When there are fewer questions than folds.

    Examples
    --------
    >>> counts = [[2, 3, 3], [1, 0, 0], [3, 3, 3], [2, 2, 3], [3, 3, 3], [0, 1, 1]]
    >>> result = cross_validated(counts, panel=3, cost=0.01, folds=3, rng=1)
    >>> len(result.rounds), int(result.rounds.min()) >= 1
    (6, True)
    """
    counts = _checked(successes, panel)
    number("cost", cost, minimum=0)
    complete = (counts >= 0).all(axis=1)
    groups = np.arange(len(counts)) if cluster is None else np.asarray(cluster)
    if groups.shape != (len(counts),):
        raise ValueError(f"cluster must have one value per debate ({len(counts)}); got shape {groups.shape}")
    seen, code = np.unique(groups, return_inverse=True)
    if not 2 <= integer("folds", folds) <= len(seen):
        raise ValueError(f"folds must lie between 2 and the number of questions ({len(seen)}); got {folds}")
    fold_of = np.empty(len(seen), dtype=np.int64)
    fold_of[as_rng(rng).permutation(len(seen))] = np.arange(len(seen)) % folds
    fold = fold_of[code]
    rounds = np.zeros(len(counts), dtype=np.int64)
    promised = np.zeros(folds)
    for f in range(folds):
        learned = fit_process(counts[fold != f], panel, n_classes=n_classes, shrinkage=shrinkage)
        policy: OptimalPolicy = solve(learned, cost, verdict=verdict, max_beliefs=max_beliefs)
        promised[f] = float(policy.value)
        held_out = (fold == f) & complete
        # The learned law is symmetric, so calling the right answer A tells the policy nothing.
        rounds[held_out] = policy.controller.stop_rounds(counts[held_out])
    kept, played = counts[complete], rounds[complete]
    at_stop = np.take_along_axis(kept, played[:, None] - 1, axis=1)[:, 0]
    return CrossValidation(
        rounds=played,
        loss=_wrong(at_stop, panel),
        full_loss=_wrong(kept[:, -1], panel),
        cluster=groups[complete],
        promised=promised,
        cost=float(cost),
        left_out=int((~complete).sum()),
    )


def _wrong(counts: NDArray[np.int64], panel: int) -> Floats:
    result: Floats = np.where(2 * counts > panel, 0.0, np.where(2 * counts < panel, 1.0, 0.5))
    return result


def _checked(successes: ArrayLike, panel: int) -> NDArray[np.int64]:
    integer("panel", panel, minimum=1)
    counts = np.asarray(successes)
    if counts.ndim != 2 or counts.dtype.kind not in "iu":
        raise ValueError(
            f"successes must be whole numbers of shape (debates, rounds); "
            f"got {counts.dtype} of shape {counts.shape}"
        )
    if counts.shape[0] < 2 or counts.shape[1] < 2:
        raise ValueError(f"successes must hold at least 2 debates and 2 rounds; got shape {counts.shape}")
    if counts.max() > panel:
        raise ValueError(f"successes must be at most panel={panel}; got {counts.max()}")
    return counts.astype(np.int64)


def _tallies(counts: NDArray[np.int64], panel: int) -> tuple[Floats, Floats]:
    """Count each debate's first round and moves, shapes (debates, n + 1) and (debates, n + 1, n + 1)."""
    size, n = panel + 1, len(counts)
    start = (counts[:, :1] == np.arange(size)).astype(float)
    before, after = counts[:, :-1], counts[:, 1:]
    known = (before >= 0) & (after >= 0)
    debate = np.broadcast_to(np.arange(n)[:, None], before.shape)[known]
    index = (debate * size + before[known]) * size + after[known]
    return start, np.bincount(index, minlength=n * size * size).reshape(n, size, size).astype(float)


def _law(start: Floats, moves: Floats, shrinkage: float | None) -> tuple[Floats, Floats]:
    """Return the first round's law and the moves, each a posterior mean."""
    centre, centres = smooth_start(start), smooth_steps(moves)
    weight = worth(start[None], centre[None]) if shrinkage is None else shrinkage
    weights = worth(moves, centres) if shrinkage is None else shrinkage
    return _shrunk(start[None], centre[None], weight)[0], _shrunk(moves, centres, weights)


def _shrunk(counts: Floats, centres: Floats, weight: float) -> Floats:
    # The floor keeps a row without debates at its centre when nothing is to be shrunk.
    mixed = counts + max(weight, 1e-9) * centres
    result: Floats = mixed / mixed.sum(axis=1, keepdims=True)
    return result


def _two_classes(
    counts: NDArray[np.int64], start: Floats, moves: Floats, panel: int, shrinkage: float | None
) -> tuple[Floats, list[tuple[Floats, Floats]]]:
    known = np.maximum((counts >= 0).sum(axis=1), 1)
    share = np.where(counts >= 0, counts, 0).sum(axis=1) / (known * panel)
    easier = 1 / (1 + np.exp(-8 * (share - np.median(share))))
    weights, laws = np.zeros(2), []
    # The centres are those of the first guess: refitting them at each step costs hundreds of fits.
    parts = [easier, 1 - easier]
    centres = [(smooth_start(x @ start), smooth_steps(np.tensordot(x, moves, axes=1))) for x in parts]
    pull = 4.0 if shrinkage is None else shrinkage
    for _ in range(_EM_STEPS):
        parts = [easier, 1 - easier]
        weights = np.array([part.mean() for part in parts])
        laws = [
            (
                _shrunk((part @ start)[None], first[None], pull)[0],
                _shrunk(np.tensordot(part, moves, axes=1), steps, pull),
            )
            for part, (first, steps) in zip(parts, centres, strict=True)
        ]
        logs = [
            np.log(max(w, 1e-300)) + start @ np.log(first) + (moves * np.log(step)).sum(axis=(1, 2))
            for w, (first, step) in zip(weights, laws, strict=True)
        ]
        updated = 1 / (1 + np.exp(np.clip(logs[1] - logs[0], -700, 700)))
        moved = float(np.abs(updated - easier).max())
        easier = updated
        if moved < 1e-6:
            break
    means = [law[0] @ np.arange(panel + 1) for law in laws]
    order = [0, 1] if means[0] >= means[1] else [1, 0]
    return weights[order], [laws[i] for i in order]
