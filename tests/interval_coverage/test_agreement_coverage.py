"""Intervals of agreement and of rank correlation over clusters cover 95 times of 100; the classical ones do not.

Eighty questions of one to seven items. Whether the raters of an item agree is drawn with a Beta-distributed chance per
question, so that agreement on two items of one question correlates by exactly the ICC. The true values follow from
the chances. The public functions are called, on data sets of their own seed. "Up to Monte Carlo error" means two
standard errors of a coverage of .95 at the number of data sets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from d3stats.estimate import Estimate
from d3stats.inference import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    kendall,
    krippendorff_alpha,
    percent_agreement,
    spearman,
)
from d3stats.inputs.ratings import Ratings

FULL, QUICK = 2000, 60
CLUSTERS = 80
ICC = [0.0, 0.1, 0.3]
CATEGORIES = ("A", "B", "tie")
SHARES = np.array([0.5, 0.35, 0.15])
"""How often an item's first rater says each category."""
AGREE = 0.6
"""How often all raters of an item agree."""
BOOTSTRAPS = ("percentile", "bca", "studentised")
N_BOOT = 1000

PANEL: dict[str, Callable[..., Any]] = {
    "Fleiss' kappa": fleiss_kappa,
    "Krippendorff's alpha": krippendorff_alpha,
    "Gwet's AC1": gwet_ac,
    "share": percent_agreement,
}
Rates = dict[str, float]


def questions(rng: np.random.Generator) -> np.ndarray:
    """Return the question of each item."""
    return np.repeat(np.arange(CLUSTERS), rng.integers(1, 8, CLUSTERS))


def agreeing(cluster: np.ndarray, icc: float, rng: np.random.Generator) -> np.ndarray:
    """Return whether each item's raters agree."""
    chance = np.full(CLUSTERS, AGREE)
    if icc:
        chance = rng.beta(AGREE * (1 / icc - 1), (1 - AGREE) * (1 / icc - 1), CLUSTERS)
    return rng.random(len(cluster)) < chance[cluster]


def ratings(n_raters: int, icc: float, rng: np.random.Generator) -> Ratings:
    """Draw items; where raters do not agree the last says one of the other categories, raters in random order.

    Two raters keep their order: the second has other habits than the first, as Cohen's kappa allows.
    """
    cluster = questions(rng)
    n = len(cluster)
    first = rng.choice(len(SHARES), n, p=SHARES)
    other = (first + rng.integers(1, len(SHARES), n)) % len(SHARES)
    codes = np.repeat(first[:, None], n_raters, axis=1)
    codes[:, -1] = np.where(agreeing(cluster, icc, rng), first, other)
    if n_raters > 2:
        codes = rng.permuted(codes, axis=1)
    return Ratings(
        items=tuple(map(str, range(n))),
        raters=tuple(f"rater {j}" for j in range(n_raters)),
        categories=CATEGORIES,
        codes=codes,
        label=None,
        cluster=cluster,
        cluster_names=tuple(map(str, range(CLUSTERS))),
    )


def truths(n_raters: int) -> dict[str, float]:
    """Return the true coefficients, from how often each category is said and raters agree."""
    dissent = AGREE * SHARES + (1 - AGREE) * (1 - SHARES) / 2
    if n_raters == 2:
        return {"Cohen's kappa": corrected(AGREE, float(SHARES @ dissent))}
    said = ((n_raters - 1) * SHARES + dissent) / n_raters
    share = AGREE + (1 - AGREE) * (n_raters - 2) / n_raters
    kappa = corrected(share, float(said @ said))
    chance = float((said * (1 - said)).sum()) / (len(SHARES) - 1)
    # Alpha is Fleiss' kappa but for one part in the number of ratings.
    return {
        "Fleiss' kappa": kappa,
        "Krippendorff's alpha": kappa,
        "Gwet's AC1": corrected(share, chance),
        "share": share,
    }


def corrected(observed: float, chance: float) -> float:
    return (observed - chance) / (1 - chance)


def covered(made: Iterable[tuple[str, Estimate]], truth: dict[str, float], hits: Counter[str]) -> None:
    for key, estimate in made:
        assert estimate.low is not None, estimate
        hits[key] += not estimate.excludes(truth[key.split(", ")[0]])


def panel_coverage(icc: float, replicates: int, seed: int) -> Rates:
    """Coverage of the coefficients of three raters, over clusters and with items taken for independent."""
    rng, hits, truth = np.random.default_rng([seed, round(10 * icc)]), Counter[str](), truths(3)
    for _ in range(replicates):
        drawn = ratings(3, icc, rng)
        made = [
            (f"{name}, {kind}", of(drawn, kind=kind, categories=CATEGORIES).estimate)
            for name, of in PANEL.items()
            for kind in ("cluster t", "classical")
        ]
        covered(made, truth, hits)
    return {key: count / replicates for key, count in hits.items()}


def kappa_coverage(icc: float, replicates: int, seed: int, kinds: tuple[str, ...]) -> Rates:
    """Coverage of Cohen's kappa, by kind of interval."""
    rng, hits, truth = np.random.default_rng([seed, 2, round(10 * icc)]), Counter[str](), truths(2)
    for _ in range(replicates):
        drawn = ratings(2, icc, rng)
        made = [
            (f"Cohen's kappa, {kind}", cohen_kappa(drawn, kind=kind, n_boot=N_BOOT, rng=rng).estimate)  # type: ignore[arg-type]
            for kind in kinds
        ]
        covered(made, truth, hits)
    return {key: count / replicates for key, count in hits.items()}


CUTS = np.array([-1.2, -0.4, 0.4, 1.2])
RHO = 0.5


def true_ranks() -> dict[str, float]:
    """Return tau-b and rho of two five-point scores that are cut from normals of correlation RHO."""
    edges = np.array([-9.0, *CUTS, 9.0])
    normal = stats.multivariate_normal(cov=[[1, RHO], [RHO, 1]])
    below = normal.cdf(np.stack(np.meshgrid(edges, edges, indexing="ij"), axis=-1))
    cell = np.diff(np.diff(below, axis=0), axis=1)
    code = np.arange(len(edges) - 1)
    sign = np.sign(np.subtract.outer(code, code))
    concord = np.einsum("ij,kl,ik,jl->", cell, cell, sign, sign)
    x, y = cell.sum(axis=1), cell.sum(axis=0)
    tau = concord / np.sqrt((1 - x @ x) * (1 - y @ y))
    middle = [np.cumsum(p) - p / 2 - 0.5 for p in (x, y)]
    moments = [float(p @ m**2) for p, m in zip((x, y), middle, strict=True)]
    rho = middle[0] @ cell @ middle[1] / np.sqrt(moments[0] * moments[1])
    return {"Kendall's tau-b": float(tau), "Spearman's rho": float(rho)}


def rank_coverage(icc: float, replicates: int, seed: int, kinds: tuple[str, ...]) -> Rates:
    """Coverage of rank correlations of scores whose latent normals correlate by `icc` within a question."""
    rng, hits, truth = np.random.default_rng([seed, 3, round(10 * icc)]), Counter[str](), true_ranks()
    mix = np.linalg.cholesky([[1, RHO], [RHO, 1]])
    for i in range(replicates):
        cluster = questions(rng)
        latent = np.sqrt(icc) * rng.standard_normal((CLUSTERS, 2))[cluster]
        latent += np.sqrt(1 - icc) * rng.standard_normal((len(cluster), 2))
        x, y = np.digitize(latent @ mix.T, CUTS).T
        made = []
        for name, of in (("Kendall's tau-b", kendall), ("Spearman's rho", spearman)):
            for kind in kinds:
                found = of(x, y, cluster=cluster, kind=kind, n_boot=N_BOOT, rng=i)
                made.append((f"{name}, {kind}", found.estimate))
            made.append((f"{name}, fisher", of(x, y).estimate))
        covered(made, truth, hits)
    return {key: count / replicates for key, count in hits.items()}


def holds(found: Rates, replicates: int, kinds: tuple[str, ...], errors: float = 2.0) -> None:
    """Coverage within [94, 96] %, up to so many Monte Carlo errors."""
    slack = errors * float(np.sqrt(0.95 * 0.05 / replicates))
    some = {key: share for key, share in found.items() if key.split(", ")[1] in kinds}
    assert some
    bad = {key: share for key, share in some.items() if not 0.94 - slack <= share <= 0.96 + slack}
    assert not bad, (bad, found)


def test_the_true_values_are_those_of_one_large_draw() -> None:
    rng = np.random.default_rng(5)
    for n_raters, functions in ((3, PANEL), (2, {"Cohen's kappa": cohen_kappa})):
        drawn = [ratings(n_raters, 0.1, rng) for _ in range(40)]
        for name, of in functions.items():
            values = np.array([of(one).estimate.value for one in drawn])
            error = values.std(ddof=1) / np.sqrt(len(values))
            assert values.mean() == pytest.approx(truths(n_raters)[name], abs=4 * error + 0.002)


def test_agreement_on_two_items_of_a_question_has_the_correlation_that_it_says() -> None:
    rng = np.random.default_rng(6)
    for icc in ICC:
        pairs = []
        for _ in range(150):
            cluster = np.repeat(np.arange(CLUSTERS), 2)
            pairs.append(agreeing(cluster, icc, rng).reshape(-1, 2))
        assert np.corrcoef(np.concatenate(pairs).T)[0, 1] == pytest.approx(icc, abs=0.03)


def test_over_clusters_agreement_covers_and_with_items_taken_for_independent_it_does_not() -> None:
    found = panel_coverage(0.3, QUICK, seed=11)
    holds(found, QUICK, ("cluster t",), errors=3)
    assert np.mean([found[f"{name}, classical"] for name in PANEL]) < 0.93
    holds(kappa_coverage(0.3, QUICK, 11, ("cluster t",)), QUICK, ("cluster t",), errors=3)


def test_over_clusters_rank_correlations_cover() -> None:
    holds(rank_coverage(0.3, QUICK, 12, ("cluster t",)), QUICK, ("cluster t",), errors=3)


@pytest.mark.slow
@pytest.mark.parametrize("icc", ICC)
def test_the_coefficients_of_a_panel_cover(icc: float) -> None:
    found = panel_coverage(icc, FULL, seed=21)
    print(f"\nicc {icc}: {found}")
    holds(found, FULL, ("cluster t",))
    if icc == 0:
        holds(found, FULL, ("classical",))
    if icc == 0.3:
        assert max(found[f"{name}, classical"] for name in PANEL) < 0.92, found


@pytest.mark.slow
@pytest.mark.parametrize("icc", ICC)
def test_every_kind_of_interval_of_kappa_covers(icc: float) -> None:
    kinds = ("cluster t", *BOOTSTRAPS)
    found = kappa_coverage(icc, FULL, 22, (*kinds, "classical"))
    print(f"\nicc {icc}: {found}")
    holds(found, FULL, kinds)


@pytest.mark.slow
@pytest.mark.parametrize("icc", ICC)
@pytest.mark.parametrize("kinds", [("cluster t",), ("percentile", "bca")], ids=["t", "bootstrap"])
def test_every_kind_of_interval_of_a_rank_correlation_covers(kinds: tuple[str, ...], icc: float) -> None:
    found = rank_coverage(icc, FULL, 23, kinds)
    print(f"\nicc {icc}: {found}")
    holds(found, FULL, kinds)
    if icc == 0:
        holds(found, FULL, ("fisher",))
