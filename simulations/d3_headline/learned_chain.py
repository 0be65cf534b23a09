"""A count process learned from counts of votes, shrunk towards a smooth chain.

A pilot of 50 debates fills few of the cells of an 8 x 8 transition matrix. Each row is therefore the posterior
mean of a Dirichlet law centred on a chain with four parameters: a seat that voted right stays right, and a
seat that voted wrong turns right, each with a probability that is logistic in the share of right votes. How
many debates the centre is worth is chosen by its own likelihood (empirical Bayes) unless it is given.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats.models.chains.process import CountProcess

Floats = NDArray[np.float64]

_PRIOR_SIZES = np.geomspace(0.1, 1000.0, 33)
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


def likeliest_prior_size(counts: Floats, centres: Floats) -> float:
    """Return the likeliest number of debates per row that the centres count for (Dirichlet-multinomial).

    Parameters
    ----------
    counts, centres : ndarray, shape (rows, outcomes)
    """
    from scipy.special import gammaln

    m = _PRIOR_SIZES[:, None, None]
    rows = counts.sum(axis=1)
    alpha = m * centres
    terms = (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=(1, 2))
    llf = terms + (gammaln(m[:, :, 0]) - gammaln(m[:, :, 0] + rows)).sum(axis=1)
    return float(_PRIOR_SIZES[int(llf.argmax())])


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
    if n_classes not in (1, 2):
        raise ValueError(f"n_classes must be 1 or 2; got n_classes={n_classes}")
    depth = counts.shape[1] if n_rounds is None else n_rounds
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


def _checked(successes: ArrayLike, panel: int) -> NDArray[np.int64]:
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
    weight = likeliest_prior_size(start[None], centre[None]) if shrinkage is None else shrinkage
    weights = likeliest_prior_size(moves, centres) if shrinkage is None else shrinkage
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
