"""A fit in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from d3stats.models._functionals import NAMES, functional_values

if TYPE_CHECKING:
    from d3stats.models.result import MixtureFit


def summary(fit: MixtureFit) -> str:
    """Functionals first, then components, then what the data cannot tell."""
    s = fit.settings
    model = f"mixture of {s.n_components} Beta-Binomials" if s.n_components > 1 else "Beta-Binomial"
    if s.n_binomial:
        model += f", {s.n_binomial} held at the Binomial"
    estimate = f"posterior mode, penalty {s.penalty:g}" if s.penalty else "maximum likelihood"
    how, table = _functionals(fit)
    lines = [
        f"{model} by {estimate} ({s.method})",
        f"debates {fit.n_obs:g}   log-likelihood {fit.llf:.4f}   AIC {fit.aic:.2f}   BIC {fit.bic:.2f}",
        f"starts that reached the best optimum: {fit.n_reached_best} of {s.n_starts}   "
        f"iterations {fit.n_iter}   converged: {'yes' if fit.converged else 'NO'}",
        "",
        f"What the data determine (panel of {fit.panel}; {how}):",
        table.to_string(float_format=lambda v: f"{v:.4f}"),
        "",
        "Components (ordered by mean):",
        fit.components.to_string(float_format=lambda v: f"{v:.4g}"),
    ]
    notes = cautions(fit)
    if notes:
        lines += ["", "Read with care:"] + [f"- {note}" for note in notes]
    if not fit.converged:
        lines += ["", convergence_advice(fit)]
    return "\n".join(lines)


def _functionals(fit: MixtureFit) -> tuple[str, pd.DataFrame]:
    """Return how the intervals were made, and the table."""
    try:
        # seeded: the page of one fit reads the same twice
        table = fit.functionals(rng=0)
    except ValueError as problem:  # debates in parts cannot be resampled
        values = functional_values(fit.distribution, fit.panel)
        return f"no intervals: {problem}", pd.DataFrame({"estimate": values}, index=pd.Index(NAMES))
    how = f"{table['level'].iloc[0]:.0%} intervals, {table['kind'].iloc[0]}"
    return how, table[["estimate", "se", "lower", "upper"]]


def cautions(fit: MixtureFit) -> list[str]:
    """Say what is not identifiable or not regular about this fit."""
    notes = []
    if fit.boundary:
        notes.append(
            f"On the boundary: {'; '.join(fit.boundary)}. Normal-theory errors do not hold; "
            "intervals come from the parametric bootstrap."
        )
    seen = fit.counts
    if (seen.successes == 0).all() or (seen.successes == seen.trials).all():
        notes.append(
            "Every vote in the data agrees, so a bootstrap sees no variation and its intervals collapse. "
            f"What {fit.n_obs:g} debates without an exception can rule out at 95 % is a share of exceptional "
            f"debates above {1 - 0.05 ** (1 / fit.n_obs):.3g} (exact binomial bound)."
        )
    if fit.counts.trials.max() < 2:
        notes.append(
            "No debate has two votes: only the mean is determined. The spread is set to 0, it is not estimated."
        )
    if fit.settings.n_components > 1:
        notes.append(
            "Components are a description, not a finding: other weights and Beta parameters give the same law "
            "(for example Beta(a, b) = a/(a+b) Beta(a+1, b) + b/(a+b) Beta(a, b+1)), so a weight is not a share "
            "of any kind of debate. Rely on the functionals."
        )
        needed = 3 * fit.settings.n_components - 1
        largest = int(fit.counts.trials.max())
        if largest < needed:
            notes.append(
                f"Panels of at most {largest} votes determine {largest} numbers; "
                f"this model has {fit.n_params} parameters."
            )
    gap = fit.saturated_llf - fit.llf
    if gap < 2.0:
        notes.append(
            f"The observed shares themselves are only {max(gap, 0.0):.2f} log-likelihood units better: "
            "the data cannot tell this model from any other that fits as well."
        )
    if fit.n_reached_best == 1 and fit.settings.n_starts > 1:
        notes.append("Only one start reached this optimum; a better one may exist. Try more starts.")
    return notes


def convergence_advice(fit: MixtureFit) -> str:
    """Return a numbered list of things to try."""
    s = fit.settings
    steps = [
        f"raise max_iter (now {s.max_iter}) or loosen tol (now {s.tol:g})",
        "use method='newton', which converges quadratically"
        if s.method != "newton"
        else "try method='lbfgs'",
        f"raise n_starts (now {s.n_starts})",
        "fit fewer components, or hold one at the Binomial (n_binomial=1): the likelihood may be flat",
        "add a small penalty (penalty=0.1), which keeps the maximum away from the boundary",
    ]
    return "The fit did not converge. Things to try:\n" + "\n".join(
        f"{i}. {step}" for i, step in enumerate(steps, start=1)
    )
