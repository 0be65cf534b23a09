"""Accuracy of protocols on shared questions of differing difficulty: a hierarchical logistic model.

    right[q, p] ~ Binomial(trials[q, p], p),  logit p = effect[p] + sd_question * z[q] (+ sd_interaction * w[q, p])
    effect[p] = mean + contrasts that sum to zero,  z and w standard normal

Cells may be missing: a protocol that got the hard questions is not punished for it. Answers to the same question are
dependent, and the intervals allow for that.

Given the protocols' effects, questions are independent, and each one's likelihood is an integral over z: a sum over
equally spaced nodes, whose error falls exponentially in their number. Questions with the same successes and trials
are one row with a weight. The sampler sees one number per protocol and one or two spreads.

References
----------
Gelman and Hill (2007), Data Analysis Using Regression and Multilevel/Hierarchical Models, chapter 14. Gelman (2005),
Annals of Statistics 33, 1 (finite-population variance shares). Nakagawa and Schielzeth (2010), Biological
Reviews 85, 935 (the residual variance pi^2/3 of a logit, and the ICC).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, choice, whole_numbers
from d3stats.estimate import Estimate
from d3stats.models.bayes import stack
from d3stats.models.bayes.result import (
    BayesFit,
    Sampling,
    SamplingOptions,
    columns_of,
    kept_stats,
    pointwise,
    positive,
    posterior,
    posterior_estimate,
    read_priors,
    some_of,
    variable,
)

__all__ = ["AccuracyFit", "AccuracyPriors", "accuracy_model", "fit_accuracy"]

Over = Literal["population", "at hand"]
Parameters = tuple[Floats, float, float | None]
"""Effects of the protocols, spread of questions, spread of the interaction or None."""
RESIDUAL = math.pi**2 / 3
"""Variance of a logit's standard logistic error."""
_REPLICATES = 200
_VARIABLES = ("mean", "contrast", "sd_question", "sd_interaction")
_REACH = 6.0
_FARTHEST = 60.0
_CELL_REACH = 8.0
_TAIL = -16.0
"""A sum reaches far enough when its ends are below this, in logs from its largest term."""
_SPACING = 0.4
_WIDE = 3.0
"""Nodes are `_SPACING` apart, 1.5 `_SPACING` over the root of the trials where these are many: 0.9 standard errors of
a logit at this sd, and closer in proportion to the sd above it. The relative error of the sum is then below 1e-7."""
_MOST_TRIALS = 10_000
_MOST_NODES = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyPriors:
    """Priors of a hierarchical logistic model, all on the scale of logits.

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
    >>> {name: round(float(np.mean(value)), 2) for name, value in AccuracyPriors().draw(2, rng=1).items()}
    {'alpha': 1.23, 'sd_question': 0.5}
    """

    mean_sd: float = 1.5
    protocol_sd: float = 1.0
    question_sd: float = 1.5
    interaction_sd: float = 0.75

    def __post_init__(self) -> None:
        positive(**asdict(self))

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
    """Posterior of protocols' accuracies; all that :class:`~d3stats.models.bayes.result.BayesFit` has, and comparisons.

    Each accuracy is reported *over the population*, on a new question of the same kind, or *at hand*, on just these
    questions in the long run. The second has the smaller error, because the questions and their difficulty are fixed.

    Attributes
    ----------
    protocols : tuple of str
        In order of appearance.
    interaction : bool
        Whether questions may favour protocols.

    Examples
    --------
    >>> fit = fit_accuracy(
    ...     [3, 1, 4, 2, 0, 3, 2, 4], [4] * 8, [1, 1, 2, 2, 3, 3, 4, 4], ["A", "B"] * 4,
    ...     draws=100, tune=100, chains=1, rng=1,
    ... )
    >>> [estimate.name for estimate in fit.accuracy("at hand")]
    ['accuracy of A, at hand', 'accuracy of B, at hand']
    >>> [estimate.name for estimate in fit.differences()]
    ['B - A, population']
    >>> 0 < fit.probability_better("B", "A") < 1
    True
    >>> fit.rank_probabilities().sum(axis=1).round(6).tolist()
    [1.0, 1.0]
    >>> fit.variance_shares()[0].name
    'variance share of protocols'
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
            out.append(self._estimate(name, gain, level, f"P(> 0) = {(gain > 0).mean():z.3f}"))
        return tuple(out)

    def probability_better(self, protocol: str, than: str, over: Over = "population") -> float:
        """Return the posterior probability that one protocol is more accurate than another."""
        draws = self._accuracies(over)
        at = [self.protocols.index(choice("protocol", name, self.protocols)) for name in (protocol, than)]
        return float((draws[:, at[0]] > draws[:, at[1]]).mean())

    def rank_probabilities(self, over: Over = "population") -> pd.DataFrame:
        """Return how likely each protocol is the best, second and so on: one row per protocol, columns 1, 2, ..."""
        order = np.argsort(-self._accuracies(over), axis=1, kind="stable")
        n = len(self.protocols)
        table = np.stack([np.bincount(order[:, k], minlength=n) for k in range(n)], axis=1) / len(order)
        index = pd.Index(self.protocols, name="protocol")
        return pd.DataFrame(table, index=index, columns=pd.RangeIndex(1, n + 1, name="rank"))

    def variance_shares(self, level: float = 0.95) -> tuple[Estimate, ...]:
        """Return the shares of the logits' variance that protocols, questions, interaction and single answers have.

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
        n = self.n_clusters
        return posterior_estimate(name, draws, n=self.n_obs, level=level, n_clusters=n, note=said)

    def _accuracies(self, over: Over) -> Floats:
        choice("over", over, ("population", "at hand"))
        stem = "accuracy" if over == "population" else "accuracy_at_hand"
        return self._flat([f"{stem}[{name}]" for name in self.protocols])

    def _flat(self, names: list[str]) -> Floats:
        columns = [stack.draws_of(self.idata, name).ravel() for name in names]
        return np.stack(columns, axis=1).astype(np.float64)


def accuracy_model(
    correct: ArrayLike,
    trials: ArrayLike,
    question: ArrayLike,
    protocol: ArrayLike,
    *,
    interaction: bool = False,
    priors: AccuracyPriors | Mapping[str, Any] | None = None,
) -> Any:
    """Build the PyMC model of protocols crossed with questions: a hierarchical logistic regression, non-centred.

    Free variables: ``mean`` and ``contrast`` (normal; orthonormal contrasts of protocols), ``sd_question``
    (half-normal), ``z`` (standard normal, by question), and with an interaction ``sd_interaction`` and ``w`` (by
    question and protocol). ``effect`` follows. ``right`` observes each cell of question and protocol.

    Parameters
    ----------
    correct, trials, question, protocol, interaction
        As in :func:`fit_accuracy`.
    priors : AccuracyPriors or dict, optional
        Numbers, or a dict whose keys are fields of :class:`AccuracyPriors` or the variables ``mean``, ``contrast``,
        ``sd_question`` and ``sd_interaction`` (a PyMC distribution, or a function of the shape that returns one).

    Returns
    -------
    pymc.Model

    Examples
    --------
    >>> model = accuracy_model([3, 1, 4, 2], [4] * 4, [1, 1, 2, 2], ["A", "B"] * 2)
    >>> [variable.name for variable in model.free_RVs]
    ['mean', 'contrast', 'sd_question', 'z']
    """
    believed, laws = read_priors(priors, AccuracyPriors(), _VARIABLES)
    return _model(cells_of(correct, trials, question, protocol), interaction, believed, laws)


def _model(cells: Cells, interaction: bool, priors: AccuracyPriors, laws: Mapping[str, Any]) -> Any:
    pm = stack.load("pymc")
    n = len(cells.protocols)
    coords = {"question": cells.questions, "protocol": cells.protocols, "contrast_of": range(n - 1)}
    with stack.quiet(), pm.Model(coords=coords) as model:
        normal, half = pm.Normal.dist, pm.HalfNormal.dist
        mean = variable("mean", laws, lambda: normal(0, priors.mean_sd), ())
        contrast = variable("contrast", laws, lambda: normal(0, priors.protocol_sd, shape=n - 1), (n - 1,))
        effect = pm.Deterministic("effect", mean + contrasts(n) @ contrast, dims="protocol")
        sd_question = variable("sd_question", laws, lambda: half(priors.question_sd), ())
        logit = effect + sd_question * pm.Normal("z", dims="question")[:, None]
        if interaction:
            sd = variable("sd_interaction", laws, lambda: half(priors.interaction_sd), ())
            logit = logit + sd * pm.Normal("w", dims=("question", "protocol"))
        successes, trials = cells.successes[cells.pattern], cells.trials[cells.pattern]
        seen = trials > 0
        pm.Binomial("right", trials[seen], logit_p=logit[np.nonzero(seen)], observed=successes[seen])
    return model


def fit_accuracy(
    correct: ArrayLike,
    trials: ArrayLike,
    question: ArrayLike,
    protocol: ArrayLike,
    *,
    interaction: bool = False,
    priors: AccuracyPriors | Mapping[str, Any] | None = None,
    sampling: Sampling | None = None,
    rng: RngLike = None,
    **options: Unpack[SamplingOptions],
) -> AccuracyFit:
    """Estimate accuracies of protocols on shared questions: the posterior of :func:`accuracy_model` by NUTS.

    With priors given as numbers the questions are integrated out by quadrature and nothing is compiled; with PyMC
    distributions as priors the No-U-Turn sampler draws from the model itself.

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
    priors : AccuracyPriors or dict, optional
        For a dict see :func:`accuracy_model`.
    sampling, rng, **options
        As in :func:`~d3stats.models.bayes.fit_mixture`, but by default 4 chains of 500 draws after 500 to adapt:
        draws of this model are nearly independent, so these are some 1,500 effective ones.

    Returns
    -------
    AccuracyFit

    Raises
    ------
    ValueError
        When an answer count exceeds its trials, a name is missing, fewer than 2 questions have answers, or an
        interaction is asked for without repeats.

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
    from scipy.special import gammaln

    cells = cells_of(correct, trials, question, protocol)
    if interaction and cells.trials.max() < 2:
        need = "repeats: a cell of question and protocol with 2 answers"
        raise ValueError(f"interaction needs {need}; got 1 at most")
    believed, laws = read_priors(priors, AccuracyPriors(), _VARIABLES)
    asked, generator = Sampling._of(sampling, options, draws=500, tune=500), as_rng(rng)
    build = partial(_model, cells, interaction, believed, laws)
    names = ["effect", "sd_question"] + ["sd_interaction"] * interaction
    if laws:
        idata, used, notes = posterior(asked, generator, model=build)
        values = [stack.draws_of(idata, name) for name in names]
        before = list(stack.prior_draws(build(), names, _REPLICATES, generator).values())
    else:
        density = Posterior(cells, believed, interaction)
        idata, used, notes = posterior(asked, generator, density=density, starts=density.starts)
        x = stack.draws_of(idata, "x")
        values = [x[..., : density.n] @ density.basis.T, *np.abs(np.moveaxis(x[..., density.n :], -1, 0))]
        drawn = [believed.draw(density.n, generator, interaction=interaction) for _ in range(_REPLICATES)]
        before = [np.array([one[name] for one in drawn]) for name in ("alpha", *names[1:])]
    chains = values[1].shape
    flat = [v.reshape(-1, *v.shape[2:]) for v in values]
    parameters = _parameters(flat)
    extra = flat[2] if interaction else None
    population = population_accuracy(flat[0], np.sqrt(sum(v**2 for v in flat[1:])))
    at_hand = accuracy_at_hand(cells, flat[0], flat[1], extra, generator)
    named: dict[str, Floats] = {}
    for stem, column in (("effect", flat[0]), ("accuracy", population), ("accuracy_at_hand", at_hand)):
        named |= {f"{stem}[{name}]": column[:, p] for p, name in enumerate(cells.protocols)}
    named |= dict(zip(names[1:], flat[1:], strict=True))
    rows = np.stack([pattern_log_likelihood(cells, *one) for one in parameters])
    s, n = cells.successes, cells.trials
    choices = (gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1)).sum(axis=1)
    like = (rows + choices).reshape(*chains, -1)

    def statistics(at: Iterable[Parameters]) -> dict[str, Floats]:
        return columns_of(_statistics(cells.replicated(*one, generator), cells) for one in at)

    if cells.n_questions < 10:
        notes += (f"{cells.n_questions} questions say little about their spread, so its prior matters",)
    return AccuracyFit(
        title="hierarchical accuracy" + (" with interaction" if interaction else ""),
        names=tuple(named),
        n_obs=float(cells.trials[cells.pattern].sum()),
        n_clusters=cells.n_questions,
        settings=used._with_priors(asdict(believed), laws),
        notes=notes,
        idata=stack.from_draws(
            {name: v.reshape(chains) for name, v in named.items()},
            sample_stats=kept_stats(idata),
            log_likelihood=pointwise("question", like, cells.weight),
        ),
        build=build,
        cells=like,
        weights=cells.weight.astype(np.float64),
        observed=_statistics(cells.successes[cells.pattern], cells),
        replicated=statistics(parameters[i] for i in some_of(np.arange(len(rows)), _REPLICATES).tolist()),
        prior_replicated=statistics(_parameters(before)),
        protocols=cells.protocols,
        interaction=interaction,
    )


def _parameters(values: Sequence[Floats]) -> list[Parameters]:
    """Turn draws of effects and spreads, shapes (draws, ...), into the arguments of one draw each."""
    spreads = [v.tolist() for v in values[1:]] + [[None] * len(values[0])]
    return list(zip(values[0], spreads[0], spreads[1], strict=True))


class Posterior:
    """Log posterior density over (mean, contrasts, signed spreads), with its gradient.

    A spread and its negative are the same model. Its half-normal law is therefore sampled as a normal one and its sign
    dropped. This density is smooth at 0, where the logarithm of a spread would tend to minus infinity.
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


def _statistics(successes: Ints, cells: Cells) -> dict[str, float]:
    trials = cells.trials[cells.pattern]
    share = successes.sum(axis=0) / trials.sum(axis=0)
    found = {f"share right, {name}": float(v) for name, v in zip(cells.protocols, share, strict=True)}
    by_question = successes.sum(axis=1) / trials.sum(axis=1)
    found["sd of questions' shares"] = float(by_question.std())
    found["questions all right"] = float((by_question == 1).mean())
    found["questions all wrong"] = float((by_question == 0).mean())
    return found


@dataclass(frozen=True, eq=False)
class Cells:
    """Successes of trials by question and protocol, questions alike put together as one pattern.

    `successes` and `trials`, 0 where a cell is missing, have shape (patterns, protocols); `weight` says how many
    questions have each pattern, `pattern` which one each question has, `questions` their names, where they have any.
    """

    protocols: tuple[str, ...]
    n_questions: int
    successes: Ints
    trials: Ints
    weight: Ints
    pattern: Ints
    questions: tuple[str, ...] = ()

    @cached_property
    def tables(self) -> tuple[Floats, Floats, Floats]:
        """Successes, trials and weights as floats: whole numbers would be converted at every product."""
        s, n, w = (table.astype(np.float64) for table in (self.successes, self.trials, self.weight))
        return s, n, w

    @cached_property
    def most_trials(self) -> tuple[int, int]:
        """Most trials of one question, and of one cell."""
        return int(self.trials.sum(axis=1).max()), int(self.trials.max())

    @cached_property
    def kinds(self) -> tuple[tuple[Ints, Ints, Ints], ...]:
        """Successes and trials that occur, and which of them each pattern has, for each protocol."""
        out = []
        for s, n in zip(self.successes.T, self.trials.T, strict=True):
            pairs, at = np.unique(np.stack([s, n], axis=1), axis=0, return_inverse=True)
            out.append((pairs[:, 0], pairs[:, 1], at.ravel().astype(np.int64)))
        return tuple(out)

    def replicated(
        self, alpha: Floats, sd_question: float, sd_interaction: float | None, rng: np.random.Generator
    ) -> Ints:
        """Draw successes for the same trials from new questions; shape (questions, protocols)."""
        from scipy.special import expit

        trials = self.trials[self.pattern]
        logits = alpha + sd_question * rng.standard_normal((self.n_questions, 1))
        if sd_interaction is not None:
            logits = logits + sd_interaction * rng.standard_normal(trials.shape)
        return np.asarray(rng.binomial(trials, expit(logits)), dtype=np.int64)


def cells_of(correct: ArrayLike, trials: ArrayLike, question: ArrayLike, protocol: ArrayLike) -> Cells:
    """Check the rows and add them up; rows of one cell are summed and rows without trials are missing cells."""
    right, tried = whole_numbers("correct", correct), whole_numbers("trials", trials)
    names = [pd.Series(np.asarray(v, dtype=object)) for v in (question, protocol)]
    columns = ("correct", "trials", "question", "protocol")
    sizes = dict(zip(columns, (right.size, tried.size, names[0].size, names[1].size), strict=True))
    if len(set(sizes.values())) > 1:
        raise ValueError(f"correct, trials, question and protocol must have one length; got {sizes}")
    if (right > tried).any():
        row = int(np.argmax(right > tried))
        got = f"trials={tried[row]}, correct={right[row]} at row {row}"
        raise ValueError(f"trials must be >= correct; got {got}")
    for label, column in zip(("question", "protocol"), names, strict=True):
        if column.isna().any():
            row = int(column.isna().argmax())
            raise ValueError(f"{label} must be named; got a missing name at row {row}")
    seen = tried > 0
    q, questions = pd.factorize(names[0][seen].astype(str))
    p, protocols = pd.factorize(names[1][seen].astype(str))
    if len(questions) < 2 or len(protocols) < 1:
        raise ValueError(f"a hierarchy over questions needs at least 2 with trials; got {len(questions)}")
    tables = np.zeros((2, len(questions), len(protocols)), dtype=np.int64)
    np.add.at(tables[0], (q, p), right[seen])
    np.add.at(tables[1], (q, p), tried[seen])
    cells = collapsed(tables[0], tables[1], tuple(map(str, protocols)))
    return replace(cells, questions=tuple(map(str, questions)))


def collapsed(successes: Ints, trials: Ints, protocols: tuple[str, ...]) -> Cells:
    """Put questions with the same successes and trials together; tables of shape (questions, protocols)."""
    rows, pattern, weight = np.unique(
        np.hstack([successes, trials]), axis=0, return_inverse=True, return_counts=True
    )
    n = len(protocols)
    weight, pattern = weight.astype(np.int64), pattern.ravel().astype(np.int64)
    return Cells(protocols, len(successes), rows[:, :n], rows[:, n:], weight, pattern)


def contrasts(n_protocols: int) -> Floats:
    """Orthonormal columns that sum to zero, shape (protocols, protocols - 1) (Helmert)."""
    out = np.zeros((n_protocols, n_protocols - 1))
    for k in range(1, n_protocols):
        out[:k, k - 1] = 1.0
        out[k, k - 1] = -float(k)
        out[:, k - 1] /= np.sqrt(k * (k + 1.0))
    return out


def nodes(most_trials: int, sd: float, reach: float) -> tuple[Floats, Floats]:
    """Points and log weights that integrate a question of that many trials against the standard normal.

    `sd` is what a point is multiplied by in the logit, of either sign; `reach` is half the width of the sum.
    """
    # In steps of half an octave, so that points stay where they are while a sampler moves.
    steps = math.ceil(2 * math.log2(max(abs(sd) / _WIDE, 1.0)))
    return _nodes(most_trials, steps, reach)


@lru_cache(maxsize=64)
def _nodes(most_trials: int, steps: int, reach: float) -> tuple[Floats, Floats]:
    if most_trials > _MOST_TRIALS:
        raise ValueError(f"trials of one question must add up to at most {_MOST_TRIALS}; got {most_trials}")
    spacing = _SPACING * min(1.0, 1.5 / math.sqrt(max(most_trials, 1))) * 2 ** (-steps / 2)
    count = math.ceil(2 * reach / spacing) | 1
    if count > _MOST_NODES:
        raise ValueError(
            f"a spread of {_WIDE * 2 ** (steps / 2):.3g} logits is too wide for questions of {most_trials} "
            "trials: the "
            f"likelihood needs {count} nodes, at most {_MOST_NODES} are possible. Choose a prior with a "
            "smaller spread"
        )
    z = np.linspace(-reach, reach, count)
    log_weight = -0.5 * z**2
    return z, log_weight - np.log(np.exp(log_weight).sum())


def value_and_gradient(
    cells: Cells, alpha: Floats, sd_question: float, sd_interaction: float | None = None
) -> tuple[float, Floats]:
    """Return the log-likelihood without binomial coefficients, and its gradient in alpha and the standard deviations.

    The gradient has shape (protocols + 1,), or (protocols + 2,) with an interaction.
    """
    found = _at_nodes(cells, alpha, sd_question, sd_interaction)
    successes, trials, weight = cells.tables
    top = found.log.max(axis=1, keepdims=True)
    share = np.exp(found.log - top)
    total = share.sum(axis=1, keepdims=True)
    value = float(weight @ (top + np.log(total))[:, 0])
    share *= weight[:, None] / total
    z = found.z
    if sd_interaction is None:
        in_eta = successes.T @ share - found.chance * (trials.T @ share)
        return value, np.append(in_eta.sum(axis=1), float((in_eta @ z).sum()))
    gradient = np.zeros(len(alpha) + 2)
    for p, cell in enumerate(found.cells):
        by_kind = np.zeros_like(cell.slope)
        np.add.at(by_kind, cells.kinds[p][2], share)
        gradient[p] = (by_kind * cell.slope).sum()
        gradient[-2] += (by_kind * cell.slope).sum(axis=0) @ z
        gradient[-1] += (by_kind * cell.slope_w).sum()
    return value, gradient


def pattern_log_likelihood(
    cells: Cells, alpha: Floats, sd_question: float, sd_interaction: float | None = None
) -> Floats:
    """Log-likelihood of one question of each pattern, without binomial coefficients; shape (patterns,)."""
    log = _at_nodes(cells, alpha, sd_question, sd_interaction).log
    top = log.max(axis=1)
    return np.asarray(top + np.log(np.exp(log - top[:, None]).sum(axis=1)), dtype=np.float64)


class _Cell(NamedTuple):
    """One protocol's kinds of cell at the nodes of a question and of a cell, shape (kinds, nodes, cell nodes).

    `share` is the posterior of the cell's own effect, `right` the chance of a right answer; the slopes, shape (kinds,
    nodes), are those of the log-likelihood in the logit and in sd_interaction.
    """

    share: Floats
    right: Floats
    slope: Floats
    slope_w: Floats


class _AtNodes(NamedTuple):
    """Nodes; log of weight times likelihood by pattern and node; chance of a right answer by protocol and node."""

    z: Floats
    log: Floats
    chance: Floats
    cells: list[_Cell]


def _at_nodes(cells: Cells, alpha: Floats, sd_question: float, sd_interaction: float | None) -> _AtNodes:
    """Evaluate at nodes that reach as far as the likelihood does: to far effects, where answers and spread disagree."""
    reach = _REACH
    while True:
        found = _within(cells, alpha, sd_question, sd_interaction, reach)
        ends = np.maximum(found.log[:, 0], found.log[:, -1]) - found.log.max(axis=1)
        if ends.max() < _TAIL or reach >= _FARTHEST:
            return found
        reach *= 1.5


def _within(
    cells: Cells, alpha: Floats, sd_question: float, sd_interaction: float | None, reach: float
) -> _AtNodes:
    from scipy.special import expit

    z, log_weight = nodes(cells.most_trials[0], sd_question, reach)
    eta = alpha[:, None] + sd_question * z
    chance = expit(eta)
    if sd_interaction is None:
        successes, trials, _ = cells.tables
        return _AtNodes(z, successes @ eta - trials @ np.logaddexp(0, eta) + log_weight, chance, [])
    w, log_w = nodes(cells.most_trials[1], sd_interaction, _CELL_REACH)
    log = np.tile(log_weight, (len(cells.weight), 1))
    by_protocol = []
    for p, (s, n, at) in enumerate(cells.kinds):
        logits = eta[p][:, None] + sd_interaction * w
        each = s[:, None, None] * logits - n[:, None, None] * np.logaddexp(0, logits)
        each += log_w
        top = each.max(axis=2, keepdims=True)
        share = np.exp(each - top)
        total = share.sum(axis=2, keepdims=True)
        log += (top + np.log(total))[at, :, 0]
        share /= total
        right = expit(logits)
        mean = (share * right).sum(axis=2)
        slope_w = s[:, None] * (share @ w) - n[:, None] * (share * (right * w)).sum(axis=2)
        by_protocol.append(_Cell(share, right, s[:, None] - n[:, None] * mean, slope_w))
    return _AtNodes(z, log, chance, by_protocol)


def population_accuracy(alpha: Floats, sd: Floats) -> Floats:
    """Return the mean of a right answer over all questions, ``E[1 / (1 + exp(-(alpha + sd * z)))]``; shape of alpha.

    `alpha` has shape (draws, protocols), `sd`, of question and interaction together, shape (draws,).
    """
    from scipy.special import expit, ndtr

    out = np.empty(alpha.shape)
    # A wide normal is smooth beside the logistic law's density, a narrow one is not; in either case sums are exact.
    wide = sd >= 1
    z = np.arange(-9, 9.01, 0.3)
    weight = np.exp(-0.5 * z**2)
    u = np.arange(-40, 40.01, 0.5)
    density = expit(u) * expit(-u)
    for p in range(alpha.shape[1]):
        a = alpha[:, p, None]
        out[~wide, p] = expit(a[~wide] + sd[~wide, None] * z) @ (weight / weight.sum())
        out[wide, p] = ndtr((a[wide] - u) / sd[wide, None]) @ (density / density.sum())
    return out


def accuracy_at_hand(
    cells: Cells, alpha: Floats, sd_question: Floats, sd_interaction: Floats | None, rng: np.random.Generator
) -> Floats:
    """Draw the mean accuracy over the questions at hand, given draws of the parameters; shape of alpha.

    Each question's effect is drawn from its posterior given the parameters, on the nodes, and so is each cell's
    where there is an interaction. Questions of one pattern are drawn together, by one multinomial.
    """
    out = np.empty(alpha.shape)
    for i in range(len(alpha)):
        extra = None if sd_interaction is None else float(sd_interaction[i])
        found = _at_nodes(cells, alpha[i], float(sd_question[i]), extra)
        drawn = rng.multinomial(cells.weight, _normalised(found.log))
        if extra is None:
            out[i] = found.chance @ drawn.sum(axis=0) / cells.n_questions
        for p, cell in enumerate(found.cells):
            counts = np.zeros(cell.slope.shape, dtype=np.int64)
            np.add.at(counts, cells.kinds[p][2], drawn)
            kind, node = np.nonzero(counts)
            by_w = rng.multinomial(counts[kind, node], cell.share[kind, node])
            out[i, p] = float((by_w * cell.right[node]).sum()) / cells.n_questions
    return out


def _normalised(log_weights: Floats) -> Floats:
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)
