"""A calibration in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from d3stats.planning.calibrate import Calibration

__all__ = ["calibration_text"]

_METHOD = {"likelihood": "by maximum likelihood", "simulated_moments": "by simulated moments"}


def calibration_text(fit: Calibration) -> str:
    """Return the whole calibration as text."""
    lines = [
        f"{type(fit.world).__name__} calibrated {_METHOD[fit.method]} to {fit.n_debates} debates on "
        f"{fit.n_questions} questions" + ("." if fit.converged else "; NOT CONVERGED."),
    ]
    if fit.llf is not None:
        lines.append(f"log-likelihood {fit.llf:.2f}, AIC {fit.aic:.2f}, BIC {fit.bic:.2f}")
    if fit.j_test is not None:
        j = fit.j_test
        lines.append(
            f"overidentification J = {j.statistic:.2f} on {j.df} degrees of freedom, p = {j.p_value:.3f}"
        )
    lines += ["", f"{'parameter':22} {'estimate':>10} {'std. error':>10} {'95 % interval':>24}"]
    for row in fit.to_frame().to_dict("records"):
        interval = f"[{row['low']:.4g}, {row['high']:.4g}]"
        lines.append(f"{row['parameter']:22} {row['estimate']:10.4g} {row['bse']:10.3g} {interval:>24}")
    lines += ["", f"{'check':34} {'round':>5} {'pilot':>8} {'predicted':>9} {'90 % band':>20} {'p':>6}"]
    for row in fit.checks.to_dict("records"):
        band = f"[{row['low']:.3f}, {row['high']:.3f}]"
        lines.append(
            f"{row['statistic']:34} {row['round']:5d} {row['pilot']:8.3f} {row['predicted']:9.3f} {band:>20} "
            f"{row['p_value']:6.3f}"
        )
    lines += ["", "What this pilot cannot tell:", *(f"- {note}" for note in fit.untold)]
    return "\n".join(lines)
