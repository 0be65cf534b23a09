"""How accurate are the protocols, when questions differ in difficulty? A hierarchy over questions and protocols.

The logit of a right answer is a protocol's effect plus a question's, and the questions' effects come from one normal
law whose spread is learned: an easy question tells little about any protocol, and a protocol that got the hard ones
is not punished for it. Cells may be missing. Answers to the same question are dependent, and the intervals know.

    right[q, p] ~ Binomial(trials[q, p], p),  logit p = alpha[p] + sd_question * z[q] (+ sd_interaction * w[q, p])
    alpha[p] = mean + contrasts that sum to zero,  z and w standard normal

The questions' effects are integrated out (see ``_crossed``), so the sampler sees one number per protocol and one or
two spreads: there is no funnel to get lost in, and repeats and questions alike cost nothing.

Two averages are reported, and they answer different questions. *Over the population*: accuracy on a new question
of the same kind. *At hand*: the long-run accuracy on just these questions, which is known better, for their
difficulty is no longer left to chance.

References
----------
Gelman and Hill (2007), Data Analysis Using Regression and Multilevel/Hierarchical Models, chapter 14. Gelman (2005),
Annals of Statistics 33, 1 (finite-population variance shares). Nakagawa and Schielzeth (2010), Biological
Reviews 85, 935 (the residual variance pi^2/3 of a logit, and the ICC).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, choice, number
from d3stats.estimate import Estimate
from d3stats.models.bayes import _stack
from d3stats.models.bayes._crossed import (
    Cells,
    accuracy_at_hand,
    cells_of,
    contrasts,
    pattern_log_likelihood,
    population_accuracy,
    value_and_gradient,
)
from d3stats.models.bayes.result import BayesFit, BayesSettings, drawn, posterior_estimate

__all__ = ["AccuracyFit", "AccuracyPriors", "fit_accuracy"]

Floats = NDArray[np.float64]
Over = Literal["population", "at hand"]
RESIDUAL = math.pi**2 / 3
"""Variance of a logit's standard logistic error."""
_REPLICATES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyPriors:
    """Priors, all on the scale of logits.

    Attributes
    ----------
    mean_sd : float
        Standard deviation of the protocols' mean effect, normal around 0; 1.5 is nearly uniform in accuracy.
    protocol_sd : float
        Standard deviation of each orthonormal contrast of protocols, normal around 0: two protocols differ by a
        normal amount with standard deviation ``sqrt(2) * protocol_sd``.
    question_sd, interaction_sd : float
        Scales of half-normal laws of the spreads.

    Examples
    --------
    >>> AccuracyPriors(protocol_sd=0.5).question_sd
    1.5
    """

    mean_sd: float = 1.5
    protocol_sd: float = 1.0
    question_sd: float = 1.5
    interaction_sd: float = 0.75

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if number(name, value) <= 0:
                raise ValueError(f"{name} must be > 0; got {name}={value!r}")

    def draw(self, n_protocols: int, rng: RngLike = None, *, interaction: bool = False) -> dict[str, Any]:
        """Draw ``alpha`` (array of protocols), ``sd_question`` and, where asked for, ``sd_interaction``."""
        generator = as_rng(rng)
        step = contrasts(n_protocols) @ (self.protocol_sd * generator.standard_normal(n_protocols - 1))
        found: dict[str, Any] = {
            "alpha": self.mean_sd * generator.standard_normal() + step,
            "sd_question": abs(self.question_sd * generator.standard_normal()),
        }
        if interaction:
            found["sd_interaction"] = abs(self.interaction_sd * generator.standard_normal())
        return found


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AccuracyFit(BayesFit):
    """What :func:`fit_accuracy` found: a :class:`BayesFit` that compares protocols.

    Attributes
    ----------
    protocols : tuple of str
        In order of appearance.
    interaction : bool
        Whether questions may favour protocols.
    """

    protocols: tuple[str, ...]
    interaction: bool

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Accuracies over the population and all pairwise differences."""
        return (*self.accuracy(), *self.differences())

    def accuracy(self, over: Over = "population", level: float = 0.95) -> tuple[Estimate, ...]:
        """Return each protocol's accuracy over the population of questions or over those at hand."""
        draws = self._accuracies(over)
        return tuple(
            self._estimate(f"accuracy of {name}, {over}", column, level)
            for name, column in zip(self.protocols, draws.T, strict=True)
        )

    def differences(self, over: Over = "population", level: float = 0.95) -> tuple[Estimate, ...]:
        """Return all differences of accuracies, later minus earlier protocol; the note has P(difference > 0)."""
        draws = self._accuracies(over)
        out = []
        for i, j in itertools.combinations(range(len(self.protocols)), 2):
            gain = draws[:, j] - draws[:, i]
            name = f"{self.protocols[j]} - {self.protocols[i]}, {over}"
            out.append(self._estimate(name, gain, level, f"P(> 0) = {(gain > 0).mean():.3f}"))
        return tuple(out)

    def probability_better(self, protocol: str, than: str, over: Over = "population") -> float:
        """Return the posterior probability that one protocol is more accurate than another."""
        draws = self._accuracies(over)
        return float((draws[:, self._place(protocol)] > draws[:, self._place(than)]).mean())

    def rank_probabilities(self, over: Over = "population") -> pd.DataFrame:
        """Return how likely each protocol is the best, second and so on.

        Returns
        -------
        DataFrame
            One row per protocol, columns 1, 2, ...; rows and columns sum to 1.
        """
        order = np.argsort(-self._accuracies(over), axis=1, kind="stable")
        n = len(self.protocols)
        table = np.stack([np.bincount(order[:, k], minlength=n) for k in range(n)], axis=1) / len(order)
        index = pd.Index(self.protocols, name="protocol")
        return pd.DataFrame(table, index=index, columns=pd.RangeIndex(1, n + 1, name="rank"))

    def variance_shares(self, level: float = 0.95) -> tuple[Estimate, ...]:
        """Return what share of the variance of logits protocols, questions, interaction and single answers have.

        The protocols' share is the variance among just these; single answers have pi^2/3. The last estimate, the
        intraclass correlation, leaves the protocols out: how alike two answers to one question are.
        """
        draws = self._flat([f"effect[{name}]" for name in self.protocols])
        parts = {"protocols": draws.var(axis=1), "questions": self._flat(["sd_question"])[:, 0] ** 2}
        if self.interaction:
            parts["interaction"] = self._flat(["sd_interaction"])[:, 0] ** 2
        parts["single answers"] = np.full(len(draws), RESIDUAL)
        total = np.sum(list(parts.values()), axis=0)
        shares = [self._estimate(f"variance share of {k}", v / total, level) for k, v in parts.items()]
        icc = parts["questions"] / (total - parts["protocols"])
        return (*shares, self._estimate("intraclass correlation of questions", icc, level))

    def _estimate(self, name: str, draws: Floats, level: float, note: str = "") -> Estimate:
        said = note if self.converged else "; ".join(filter(None, (note, "the sampler did not converge")))
        return posterior_estimate(
            name, draws, n=self.n_obs, level=level, n_clusters=self.n_clusters, note=said
        )

    def _accuracies(self, over: Over) -> Floats:
        choice("over", over, ("population", "at hand"))
        stem = "accuracy" if over == "population" else "accuracy_at_hand"
        return self._flat([f"{stem}[{name}]" for name in self.protocols])

    def _flat(self, names: list[str]) -> Floats:
        columns = [_stack.draws_of(self.idata, name).ravel() for name in names]
        return np.stack(columns, axis=1).astype(np.float64)

    def _place(self, protocol: str) -> int:
        choice("protocol", protocol, self.protocols)
        return self.protocols.index(protocol)


def fit_accuracy(
    correct: ArrayLike,
    trials: ArrayLike,
    question: ArrayLike,
    protocol: ArrayLike,
    *,
    interaction: bool = False,
    priors: AccuracyPriors | None = None,
    draws: int = 500,
    tune: int = 500,
    chains: int = 4,
    target_accept: float = 0.9,
    rng: RngLike = None,
) -> AccuracyFit:
    """Fit accuracies of protocols on shared questions.

    Parameters
    ----------
    correct, trials : array of int, shape (rows,)
        Right answers and answers; rows of the same question and protocol are added up, rows without answers are
        missing cells.
    question, protocol : array, shape (rows,)
        Names.
    interaction : bool
        Let questions favour protocols. Needs repeats, a cell with at least 2 answers. A few minutes instead of
        seconds where questions are many.
    priors : AccuracyPriors, optional
    draws, tune, chains : int
        Draws kept and draws to adapt, of each chain. A draw of this model is nearly independent of the one
        before, so 500 of each chain are some 1,500 effective ones.
    target_accept : float
        Of NUTS; diverging draws are drawn once more at 0.99, and the notes say so.
    rng : Generator, int or None

    Returns
    -------
    AccuracyFit

    Raises
    ------
    ValueError
        When an answer count exceeds its trials, a name is missing, fewer than 2 questions have answers, or an
        interaction is asked for without repeats.
    ImportError
        Without the extra ``bayes``.

    Examples
    --------
    >>> fit = fit_accuracy(
    ...     [3, 1, 4, 2, 0, 3, 2, 4], [4] * 8, [1, 1, 2, 2, 3, 3, 4, 4], ["A", "B"] * 4,
    ...     draws=100, tune=100, chains=1, rng=1,
    ... )
    >>> [estimate.name for estimate in fit.estimates]
    ['accuracy of A, population', 'accuracy of B, population', 'B - A, population']
    >>> fit.rank_probabilities().shape
    (2, 2)
    """
    cells = cells_of(correct, trials, question, protocol)
    if interaction and cells.trials.max() < 2:
        raise ValueError(
            "interaction needs repeats: a cell of question and protocol with 2 answers; got 1 at most"
        )
    priors = AccuracyPriors() if priors is None else priors
    generator = as_rng(rng)
    density = Posterior(cells, priors, interaction)
    idata, accept, notes = drawn(
        lambda accept, child: _stack.sample_density(
            density, density.starts(chains, child), draws=draws, tune=tune, target_accept=accept, rng=child
        ),
        target_accept=target_accept,
        rng=generator,
    )
    packed, like, replicated = _packed(idata, density, generator)
    observed = _statistics(cells.successes[cells.pattern], cells.trials[cells.pattern], cells.protocols)
    if cells.n_questions < 10:
        notes = (
            *notes,
            f"{cells.n_questions} questions say little about their spread: the prior of it matters",
        )
    return AccuracyFit(
        model="hierarchical accuracy" + (" with interaction" if interaction else ""),
        names=tuple(str(name) for name in packed["posterior"].data_vars),
        n_obs=float(cells.trials[cells.pattern].sum()),
        n_clusters=cells.n_questions,
        settings=BayesSettings(draws, tune, chains, accept, asdict(priors)),
        notes=notes,
        idata=packed,
        cells=like,
        weights=cells.weight.astype(np.float64),
        observed=observed,
        replicated=replicated,
        prior_replicated=_prior_replicated(density, generator),
        protocols=cells.protocols,
        interaction=interaction,
    )


class Posterior:
    """Log posterior density over (mean, contrasts, signed spreads), with its gradient.

    A spread and its negative are the same model, so its half-normal law is sampled as a normal one and its sign
    dropped: the density is smooth at 0, where the logarithm of a spread would have no end.
    """

    def __init__(self, cells: Cells, priors: AccuracyPriors, interaction: bool) -> None:
        self.cells, self.priors, self.interaction = cells, priors, interaction
        self.n = len(cells.protocols)
        self.basis = np.hstack([np.ones((self.n, 1)), contrasts(self.n)])
        spreads = [priors.question_sd] + [priors.interaction_sd] * interaction
        self.scale = np.array([priors.mean_sd] + [priors.protocol_sd] * (self.n - 1) + spreads)

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        value, gradient = value_and_gradient(
            self.cells, self.basis @ x[: self.n], float(x[self.n]), float(x[-1]) if self.interaction else None
        )
        gradient[: self.n] = self.basis.T @ gradient[: self.n]
        return value - 0.5 * float(((x / self.scale) ** 2).sum()), gradient - x / self.scale**2

    def starts(self, chains: int, rng: np.random.Generator) -> Floats:
        """Return points scattered around the pooled accuracies, shape (chains, size)."""
        s, n = (
            (t * self.cells.weight[:, None]).sum(axis=0) for t in (self.cells.successes, self.cells.trials)
        )
        share = (s + 1) / (n + 2)
        centre = np.linalg.solve(self.basis, np.log(share / (1 - share)))
        point = np.concatenate([centre, self.scale[self.n :] / 2])
        return np.asarray(point + 0.2 * rng.standard_normal((chains, len(point))), dtype=np.float64)


def _packed(
    idata: Any, density: Posterior, rng: np.random.Generator
) -> tuple[Any, Floats, dict[str, Floats]]:
    """Name the draws, add what follows from them, the log likelihood of each pattern, and replicate the data."""
    x = _stack.draws_of(idata, "x").astype(np.float64)
    shape = x.shape[:2]
    flat = x.reshape(-1, x.shape[2])
    cells, n = density.cells, density.n
    alpha, sd = flat[:, :n] @ density.basis.T, np.abs(flat[:, n:])
    extra = sd[:, 1] if density.interaction else None
    population = population_accuracy(alpha, np.sqrt((sd**2).sum(axis=1)))
    at_hand = accuracy_at_hand(cells, alpha, sd[:, 0], extra, rng)
    named: dict[str, Floats] = {}
    for stem, values in (("effect", alpha), ("accuracy", population), ("accuracy_at_hand", at_hand)):
        named |= {f"{stem}[{name}]": values[:, p] for p, name in enumerate(cells.protocols)}
    named["sd_question"] = sd[:, 0]
    if extra is not None:
        named["sd_interaction"] = extra
    rows = [
        pattern_log_likelihood(cells, alpha[i], float(sd[i, 0]), None if extra is None else float(extra[i]))
        for i in range(len(flat))
    ]
    like = (np.stack(rows) + _log_choices(cells)).reshape(*shape, -1)
    packed = _stack.from_draws(
        {name: values.reshape(shape) for name, values in named.items()},
        sample_stats={"diverging": _stack.draws_of(idata, "diverging", "sample_stats")},
        log_likelihood=_stack.pointwise("question", like, cells.weight),
    )
    some = np.linspace(0, len(flat) - 1, min(_REPLICATES, len(flat))).astype(np.int64)
    again = [(alpha[i], float(sd[i, 0]), None if extra is None else float(extra[i])) for i in some]
    return packed, like, _replicated(cells, again, rng)


def _log_choices(cells: Cells) -> Floats:
    from scipy.special import gammaln

    s, n = cells.successes, cells.trials
    return np.asarray((gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1)).sum(axis=1), dtype=np.float64)


def _prior_replicated(density: Posterior, rng: np.random.Generator) -> dict[str, Floats]:
    drawn_from = [
        density.priors.draw(density.n, rng, interaction=density.interaction) for _ in range(_REPLICATES)
    ]
    some = [(d["alpha"], d["sd_question"], d.get("sd_interaction")) for d in drawn_from]
    return _replicated(density.cells, some, rng)


def _replicated(
    cells: Cells, parameters: list[tuple[Floats, float, float | None]], rng: np.random.Generator
) -> dict[str, Floats]:
    trials = cells.trials[cells.pattern]
    rows = [_statistics(cells.replicated(*one, rng), trials, cells.protocols) for one in parameters]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _statistics(
    successes: NDArray[np.int64], trials: NDArray[np.int64], protocols: tuple[str, ...]
) -> dict[str, float]:
    share = successes.sum(axis=0) / trials.sum(axis=0)
    found = {f"share right, {name}": float(v) for name, v in zip(protocols, share, strict=True)}
    by_question = successes.sum(axis=1) / trials.sum(axis=1)
    found["sd of questions' shares"] = float(by_question.std())
    found["questions all right"] = float((by_question == 1).mean())
    found["questions all wrong"] = float((by_question == 0).mean())
    return found
