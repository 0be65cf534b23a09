"""How many components do the data ask for? The likelihood-ratio test by parametric bootstrap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import RngLike, integer
from d3stats.counts import Counts
from d3stats.models._fit import optimise
from d3stats.models._objective import Space
from d3stats.models.bootstrap import simulate_counts
from d3stats.models.mixture import fit_beta_binomial_mixture
from d3stats.models.result import MixtureFit

__all__ = ["LikelihoodRatioTest", "likelihood_ratio_test"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LikelihoodRatioTest:
    """The test of `k_null` against `k_alternative` components by parametric bootstrap.

    Attributes
    ----------
    statistic : float
        ``2 (llf_alternative - llf_null)``.
    p_value : float
        ``(1 + #{bootstrap statistics >= statistic}) / (1 + n_boot)``.
    draws : ndarray, shape (n_boot,)
        The statistic under the fitted null model.
    """

    k_null: int
    k_alternative: int
    statistic: float
    p_value: float
    draws: Floats
    null: MixtureFit
    alternative: MixtureFit

    def to_frame(self) -> pd.DataFrame:
        """Return one row."""
        return pd.DataFrame(
            {
                "k_null": [self.k_null],
                "k_alternative": [self.k_alternative],
                "statistic": [self.statistic],
                "p_value": [self.p_value],
                "n_boot": [len(self.draws)],
            }
        )


def likelihood_ratio_test(
    counts: Counts,
    *,
    k_null: int = 1,
    k_alternative: int | None = None,
    n_boot: int = 999,
    n_starts: int = 12,
    rng: RngLike = None,
) -> LikelihoodRatioTest:
    """Test how many components the data ask for.

    The statistic has no chi-square limit (the smaller model lies on the boundary of the larger), so its law
    is simulated under the fitted smaller model (McLachlan, 1987, Appl. Stat. 36, 318).

    Parameters
    ----------
    k_alternative : int, optional
        ``k_null + 1`` by default.
    n_starts : int
        Starts per bootstrap refit, beside the fit itself.

    Examples
    --------
    >>> c = Counts.from_columns(range(8), [7] * 8, weights=[96, 58, 41, 38, 45, 62, 98, 182])
    >>> bool(likelihood_ratio_test(c, n_boot=99, rng=1).p_value <= 0.05)
    True
    """
    if not isinstance(counts, Counts):
        raise TypeError(f"counts must be a Counts; got {type(counts).__name__}")
    k_null = integer("k_null", k_null, minimum=1)
    k_more = k_null + 1 if k_alternative is None else integer("k_alternative", k_alternative, minimum=1)
    if k_more <= k_null:
        raise ValueError(f"k_alternative must be > k_null; got {k_more} and {k_null}")
    integer("n_boot", n_boot, minimum=1)
    null = fit_beta_binomial_mixture(counts, n_components=k_null)
    alternative = fit_beta_binomial_mixture(counts, n_components=k_more)
    statistic = max(2.0 * (alternative.llf - null.llf), 0.0)
    cells, weights = simulate_counts(null.distribution, null.counts, n_boot, rng)
    values = [
        optimise(cells, weights, Space(k), n_starts=n_starts, first=fit.point).value
        for k, fit in ((k_null, null), (k_more, alternative))
    ]
    draws = np.maximum(2.0 * (values[1] - values[0]), 0.0)
    p_value = (1.0 + float((draws >= statistic - 1e-9).sum())) / (1.0 + n_boot)
    return LikelihoodRatioTest(k_null, k_more, statistic, p_value, draws, null, alternative)
