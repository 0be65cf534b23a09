"""What is each reviewer worth, when the reviewers are the models that they review? (PRD's peer rank)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice, integer, number

__all__ = ["PeerWeights", "peer_weights"]

Floats = NDArray[np.float64]

COLUMNS = ("reviewer", "model", "opponent", "score")


@dataclass(frozen=True, eq=False)
class PeerWeights:
    """Win rates of models, and the weights of those of them that review.

    Attributes
    ----------
    table : DataFrame
        ``model, win_rate, weight``, best first; the weight is missing (NaN) for a model that reviews nobody.
    n_iter : int
        Times that the win rates were computed.
    converged : bool
        Whether the last iteration moved no weight by more than the tolerance.
    scale : str
        How win rates became weights.
    """

    table: pd.DataFrame
    n_iter: int
    converged: bool
    scale: str

    def weights(self, reviewers: list[str]) -> tuple[float, ...]:
        """Return the weights in the order of the reviewers, as ``PeerRank(weights=)`` takes them.

        Raises
        ------
        ValueError
            When one of them has reviewed nobody.
        """
        known = self.table.set_index("model")["weight"].dropna()
        for reviewer in reviewers:
            if reviewer not in known.index:
                raise ValueError(f"reviewers must be among {sorted(known.index)}; got {reviewer!r}")
        return tuple(float(known[reviewer]) for reviewer in reviewers)


def peer_weights(
    reviews: pd.DataFrame,
    *,
    scale: Literal["minmax", "share"] = "minmax",
    max_iter: int = 1000,
    tolerance: float = 1e-12,
) -> PeerWeights:
    """Find weights of reviewers and win rates of models that agree with each other.

    A model's win rate is the mean of its scores, each weighted by the reviewer's weight; a reviewer's
    weight is its own win rate, normalised. Both are computed in turn, from equal weights, until the weights
    stay.

    Parameters
    ----------
    reviews : DataFrame
        One row per review of a pair: ``reviewer``, ``model``, ``opponent`` and ``score``, what the model
        got: 1 for a win, 0.5 for a tie, 0 for a loss. The opponent gets the rest. Every reviewer must be
        among the models.
    scale : {"minmax", "share"}
        "minmax": the best reviewer's win rate becomes 1, the worst's 0, then all are divided by their sum
        (the paper's); so the worst reviewer is not heard. "share": win rates divided by their sum.
    max_iter : int
        The paper's released code takes 5.
    tolerance : float
        The largest change of a weight that counts as none.

    Returns
    -------
    PeerWeights
        The win rates, and the weights that follow from them.

    Raises
    ------
    ValueError
        When a column is missing, a score is none of 1, 0.5 and 0, a model meets itself, a reviewer is no
        model, or only reviewers without weight have reviewed a model.

    Notes
    -----
    With "minmax" the map from weights to weights is not continuous where the order of the reviewers
    changes, so it need not settle; ``converged`` says whether it did. When all win rates are equal, so are
    the weights. The released code weighs a review by the reviewer's weight and counts every review as one,
    which is the same when all reviewers review equally often; here the weights are also in the denominator,
    so a win rate is never above 1.

    References
    ----------
    Li, R., Patel, T. and Du, X. (2023), arXiv 2307.02762, after Walsh, T. (2014), The PeerRank Method for
    Peer Assessment.

    Examples
    --------
    >>> rows = [("x", "x", "y", 1.0), ("y", "x", "y", 0.0), ("y", "x", "y", 1.0), ("x", "x", "y", 1.0)]
    >>> found = peer_weights(pd.DataFrame(rows, columns=["reviewer", "model", "opponent", "score"]))
    >>> found.table.round(3).to_dict("list")
    {'model': ['x', 'y'], 'win_rate': [1.0, 0.0], 'weight': [1.0, 0.0]}
    """
    choice("scale", scale, ("minmax", "share"))
    max_iter = integer("max_iter", max_iter, minimum=1)
    tolerance = number("tolerance", tolerance, minimum=0.0)
    models, reviewers, won, met = _tables(reviews)
    seat = pd.Index(models).get_indexer(pd.Index(reviewers))
    weights = np.full(len(reviewers), 1.0 / len(reviewers))
    converged, n_iter = False, 0
    rates = np.zeros(len(models))
    while not converged and n_iter < max_iter:
        n_iter += 1
        heard = weights @ met
        if (heard <= 0).any():
            silent = models[int(np.argmax(heard <= 0))]
            raise ValueError(
                f"every model must be reviewed by a reviewer with weight; got none for {silent!r}"
            )
        rates = weights @ won / heard
        latest = _normalised(rates[seat], scale)
        converged = bool(np.abs(latest - weights).max() <= tolerance)
        weights = latest
    table = pd.DataFrame({"model": models, "win_rate": rates, "weight": np.nan})
    table.loc[seat, "weight"] = weights
    table = table.sort_values("win_rate", ascending=False, kind="stable", ignore_index=True)
    return PeerWeights(table, n_iter, converged, scale)


def _normalised(rates: Floats, scale: str) -> Floats:
    above = rates - rates.min() if scale == "minmax" else rates
    # Equal reviewers are worth the same; so are reviewers who never win.
    return above / above.sum() if above.sum() > 0 else np.full(len(rates), 1.0 / len(rates))


def _tables(reviews: pd.DataFrame) -> tuple[list[str], list[str], Floats, Floats]:
    """Return models, reviewers, and by reviewer and model the points won and the pairs met."""
    absent = [column for column in COLUMNS if column not in reviews.columns]
    if absent:
        raise ValueError(f"reviews must have the columns {list(COLUMNS)}; got none named {absent}")
    if len(reviews) == 0:
        raise ValueError("reviews must have at least one row; got none")
    names = reviews[["reviewer", "model", "opponent"]]
    if names.isna().to_numpy().any():
        raise ValueError("reviews must name who reviewed whom in every row; got missing values")
    score = pd.to_numeric(reviews["score"]).to_numpy(dtype=np.float64, na_value=np.nan)
    bad = ~np.isin(score, (0.0, 0.5, 1.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"score must be 1, 0.5 or 0; got score={score[row]} at row {row}")
    reviewer, model, opponent = (names[column].astype(str).to_numpy() for column in names)
    if (model == opponent).any():
        raise ValueError(f"opponent must be another model; got {model[model == opponent][0]!r} twice")
    models, reviewers = sorted({*model, *opponent}), sorted(set(reviewer))
    strangers = [name for name in reviewers if name not in models]
    if strangers:
        raise ValueError(f"reviewer must be one of the models {models}; got reviewer={strangers[0]!r}")
    won, met = np.zeros((2, len(reviewers), len(models)))
    rows = pd.Index(reviewers).get_indexer(pd.Index(reviewer))
    for side, points in ((model, score), (opponent, 1.0 - score)):
        columns = pd.Index(models).get_indexer(pd.Index(side))
        np.add.at(won, (rows, columns), points)
        np.add.at(met, (rows, columns), 1.0)
    return models, reviewers, won, met
