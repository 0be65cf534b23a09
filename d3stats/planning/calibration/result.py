"""What a calibration returns: a world, how sure its parameters are, and whether it looks like the pilot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from d3stats._check import probability
from d3stats.planning.calibration.space import Space
from d3stats.planning.calibration.words import calibration_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Calibration", "JTest", "Method", "intervals"]

Floats = NDArray[np.float64]
Method = Literal["likelihood", "simulated_moments"]


class JTest(NamedTuple):
    """The test of overidentification (Hansen, 1982, Econometrica 50).

    Attributes
    ----------
    statistic : float
        Distance of the pilot's moments from the world's that no parameters close.
    df : int
        Moments less parameters.
    p_value : float
        Under a chi-squared law: right for many questions.
    """

    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """A world fitted to a pilot.

    Attributes
    ----------
    world : World
        The template with the free parameters at their estimates.
    params, bse : Series
        Estimates and standard errors by parameter, on the world's own scale. An error is infinite for a
        parameter on its bound and for one that the pilot says nothing about.
    cov : DataFrame
        Covariance of the estimates; infinite on the diagonal where `bse` is.
    method : {"likelihood", "simulated_moments"}
    converged : bool
        Whether the search ended where no small step helps.
    boundary : tuple of str
        Parameters that ended on a bound.
    llf : float or None
        Log-likelihood of the pilot's paths of counts; None with moments.
    j_test : JTest or None
        None with a likelihood.
    checks : DataFrame
        Predictive checks: ``statistic, round, pilot, predicted, low, high, p_value``. Limits hold 90 % of the
        pilots of the same size drawn from the calibrated world. The parameters were fitted to the same pilot,
        so these p-values tend to be too large: a small one means more than a large one.
    untold : tuple of str
        What the pilot cannot tell.
    n_debates, n_questions : int
    """

    world: Any
    params: pd.Series[float]
    bse: pd.Series[float]
    cov: pd.DataFrame
    method: Method
    converged: bool
    boundary: tuple[str, ...]
    llf: float | None
    j_test: JTest | None
    checks: pd.DataFrame
    untold: tuple[str, ...]
    n_debates: int
    n_questions: int
    _space: Space = field(repr=False)
    _x: Floats = field(repr=False)
    _sd: Floats = field(repr=False)

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={value:.3g}" for name, value in self.params.items())
        return f"Calibration({type(self.world).__name__}, {numbers}; {self.method})"

    @property
    def aic(self) -> float:
        """Akaike's criterion; asked of a fit by moments it is an error."""
        return 2 * len(self.params) - 2 * self._likelihood()

    @property
    def bic(self) -> float:
        """Schwarz's criterion, with the number of questions as the sample size."""
        return float(np.log(self.n_questions)) * len(self.params) - 2 * self._likelihood()

    def _likelihood(self) -> float:
        if self.llf is None:
            raise ValueError(
                "method must be 'likelihood' for aic and bic; got 'simulated_moments': see j_test"
            )
        return self.llf

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return Wald intervals, made on the real line (log-odds, log) and mapped back.

        Returns
        -------
        DataFrame
            ``low, high`` by parameter; the whole range for a parameter without a standard error.
        """
        probability("alpha", alpha, open_interval=True)
        bse: Floats = np.asarray(self.bse, dtype=np.float64)
        limits = intervals(self._space, self._x, self._sd, bse, alpha)
        return pd.DataFrame(limits, index=self.params.index, columns=["low", "high"])

    def to_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return one row per parameter: ``parameter, estimate, bse, low, high, level, template``."""
        limits = self.conf_int(alpha)
        return pd.DataFrame(
            {
                "parameter": list(self.params.index),
                "estimate": self.params.to_numpy(),
                "bse": self.bse.to_numpy(),
                "low": limits["low"].to_numpy(),
                "high": limits["high"].to_numpy(),
                "level": 1 - alpha,
                "template": self._space.given(),
            }
        )

    def summary(self) -> str:
        """Return the calibration as plain text."""
        return calibration_text(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the pilot against what the calibrated world predicts."""
        from d3stats.plotting import plot_predictive_check

        return plot_predictive_check(self.checks, ax=ax)


def intervals(space: Space, x: Floats, sd: Floats, bse: Floats, alpha: float) -> Floats:
    """Return limits on the parameters' own scale, shape (parameters, 2)."""
    z = float(special.ndtri(1 - alpha / 2))
    limits = space.limits(x, sd, np.where(np.isfinite(bse), bse, 0.0), z)
    whole = np.column_stack([space.low, space.high])
    result: Floats = np.where(np.isfinite(bse)[:, None], limits, whole)
    return result
