"""Why a number differs: each function reproduces both sides by a calculation of its own and says who is right.

A function takes the rows of its difference and returns whether the calculation holds, and the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from data import table
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from scipy.stats import beta, binom, chi2, nct, norm, t

Answer = tuple[bool, str]


def _both(rows: pd.DataFrame) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield table, own numbers and theirs of each row."""
    for row in rows.itertuples():
        own, other = ([float(x) for x in str(cell).split()] for cell in (row.here, row.there))
        yield str(row.data), np.array(own), np.array(other)


def _near(a: Any, b: Any, within: float) -> bool:
    return bool(np.abs(np.asarray(a) - np.asarray(b)).max() <= within)


def ties_of_the_majority(rows: pd.DataFrame) -> Answer:
    """Count items without a tie, and what tied ones can add at most."""
    holds, tied = True, 0
    for name, (own,), (other,) in _both(rows):
        counts = pd.crosstab(table(name)["item"], table(name)["vote"])

        label = table(name).groupby("item")["label"].first()
        top = counts.to_numpy() == counts.to_numpy().max(axis=1, keepdims=True)
        won = top[np.arange(len(top)), counts.columns.get_indexer(label)]
        shared, alone = won / top.sum(axis=1), top.sum(axis=1) == 1
        tied += int((~alone).sum())
        least, most = (won & alone).mean(), won.mean()
        holds &= _near(shared.mean(), own, 1e-9) and least - 1e-9 <= other <= most + 1e-9
    return holds, (
        f"Only the {tied} tied items differ: here a tie counts as shared, there one of the leading "
        "answers is taken. "
        "The count here is the mean over all ways to break the ties."
    )


def plain_em(name: str, steps: int = 100) -> float:
    """Return the share right of Dawid and Skene's EM without a prior, from the shares of the votes."""
    d = table(name)
    item, items = pd.factorize(d["item"])
    worker, workers = pd.factorize(d["worker"])
    vote, votes = pd.factorize(d["vote"], sort=True)
    label = d.groupby("item")["label"].first().loc[items].to_numpy()
    posterior = np.zeros((len(items), len(votes)))
    np.add.at(posterior, (item, vote), 1.0)
    posterior /= posterior.sum(axis=1, keepdims=True)
    before = -np.inf
    for _ in range(steps):
        cast = np.zeros((len(workers), len(votes), len(votes)))
        np.add.at(cast, (worker, slice(None), vote), posterior[item])
        with np.errstate(divide="ignore", invalid="ignore"):
            confusion = np.log(np.maximum(cast / cast.sum(axis=2, keepdims=True), 1e-10))
        joint = np.tile(np.log(np.maximum(posterior.mean(axis=0), 1e-10)), (len(items), 1))
        np.add.at(joint, item, np.nan_to_num(confusion[worker, :, vote]))
        top = joint.max(axis=1, keepdims=True)
        posterior = np.exp(joint - top)
        total = posterior.sum(axis=1, keepdims=True)
        posterior /= total
        now = float((np.log(total) + top).sum())
        if now - before < 1e-6:
            break
        before = now
    return float((votes.to_numpy()[posterior.argmax(axis=1)] == label).mean())


def prior_of_dawid_skene(rows: pd.DataFrame) -> Answer:
    """Fit the same model without the prior."""
    near, parts = True, []
    for name, (own,), (other,) in _both(rows):
        n = table(name)["item"].nunique()
        plain = plain_em(name)
        near &= abs(plain - other) <= 1.5 / n
        parts.append(f"`{name}` {own:.4f} and {other:.4f} ({round(abs(own - other) * n)} of {n} items)")
    return near, (
        f"{'; '.join(parts)}. A plain EM without a prior, from the shares of the votes, gives the "
        "numbers there within one item. "
        "Here the prior counts as a fifth of a vote in each row and single judges' votes are further "
        "starts, so the two "
        "are different optima of one model."
    )


def plain_glad(name: str) -> float:
    """Return the share right of GLAD with a parameter for each item and normal(1, 1) priors, as it was published."""
    d = table(name)
    item, items = pd.factorize(d["item"])
    worker, workers = pd.factorize(d["worker"])
    vote, votes = pd.factorize(d["vote"], sort=True)
    label = d.groupby("item")["label"].first().loc[items].to_numpy()
    k, n, m = len(votes), len(items), len(workers)

    def joint(x: np.ndarray) -> np.ndarray:
        z = x[:m][worker] * np.exp(x[m:][item])
        hit, miss = -np.logaddexp(0, -z), -np.logaddexp(0, z) - np.log(k - 1)
        out = np.zeros((n, k))
        np.add.at(out, item, miss[:, None] * np.ones(k))
        np.add.at(out, (item, vote), hit - miss)
        return out

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        found = joint(x)
        total = logsumexp(found, axis=1)
        easy = np.exp(x[m:][item])
        z = x[:m][worker] * easy
        pull = np.exp(found - total[:, None])[item, vote] - expit(z)
        slope = 1 - x
        slope[:m] += np.bincount(worker, pull * easy, m)
        slope[m:] += np.bincount(item, pull * z, n)
        return 0.5 * float(((x - 1) ** 2).sum()) - float(total.sum()), -slope

    at = minimize(loss, np.ones(m + n), jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    return float((votes.to_numpy()[joint(at).argmax(axis=1)] == label).mean())


def difficulties_of_items(rows: pd.DataFrame) -> Answer:
    """Fit GLAD with a parameter for each item."""
    near, parts = True, []
    for name, (own,), (other,) in _both(rows):
        n = table(name)["item"].nunique()
        near &= abs(plain_glad(name) - other) <= 2.5 / n
        parts.append(f"`{name}` {own:.4f} and {other:.4f} ({round(abs(own - other) * n)} of {n} items)")
    return near, (
        f"{'; '.join(parts)}. With one difficulty for each item as a parameter, and normal priors, a general optimiser "
        "gives the numbers there within two items. Here difficulties are integrated out, and with several answers a "
        "judge of ability 0 is right by chance; there it is right half of the time."
    )


def _davidson(d: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return ratings by Davidson's likelihood, and by Bradley-Terry with a tie as half a win for each."""
    names = np.unique(d[["first", "second"]])
    a, b = np.searchsorted(names, d["first"]), np.searchsorted(names, d["second"])
    tie = (d["winner"] == "tie").to_numpy()
    share = np.where(tie, 0.5, (d["winner"] == "first").to_numpy())

    def of_ties(x: np.ndarray) -> float:
        lead = x[a] - x[b]
        terms = np.column_stack([lead / 2, -lead / 2, np.full(len(lead), x[-1])])
        kept = np.where(tie, x[-1], np.where(share == 1, lead / 2, -lead / 2))
        return float((np.log(np.exp(terms).sum(axis=1)) - kept).sum()) + 0.5 * x[:-1].sum() ** 2

    def of_halves(x: np.ndarray) -> float:
        lead = x[a] - x[b]
        return float((np.logaddexp(0, lead) - share * lead).sum()) + 0.5 * x.sum() ** 2

    how = {"method": "BFGS", "options": {"gtol": 1e-4}}
    return (
        minimize(of_ties, np.zeros(len(names) + 1), **how).x[:-1],
        minimize(of_halves, np.zeros(len(names)), **how).x,
    )


def ties_as_half_wins(rows: pd.DataFrame) -> Answer:
    """Maximise both likelihoods by a general optimiser."""
    holds = True
    for name, own, other in _both(rows):
        davidson, halves = _davidson(table(name))
        holds &= _near(davidson, own, 1e-4) and _near(halves, other, 1e-4)
    return holds, (
        "The estimands differ: here a tie is a third outcome of Davidson's model, there it is half a "
        "win for each. "
        "A general optimiser finds both sets of ratings from the two likelihoods, to four digits."
    )


def penalty_of_beta_calibration(rows: pd.DataFrame) -> Answer:
    """Maximise the likelihood of Beta calibration with a confidence of 1 moved inward as far as each side moves it."""
    holds = True
    for name, own, other in _both(rows):
        d = table(name)
        y, grid = d["right"].to_numpy(), np.unique(d["confidence"])
        at = np.searchsorted(grid, d["confidence"])
        for edge, found in ((1e-6, own), (np.finfo(float).eps, other)):
            c = np.clip(grid, edge, 1 - edge)
            terms = np.column_stack([np.log(c), -np.log1p(-c), np.ones(len(c))])

            def loss(
                x: np.ndarray, terms: np.ndarray = terms, at: np.ndarray = at, y: np.ndarray = y
            ) -> float:
                z = (terms @ x)[at]
                return float((np.logaddexp(0, z) - y * z).sum())

            how = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 9999, "maxfev": 9999}
            x = minimize(loss, np.array([2.0, 0.1, 0.5]), method="Nelder-Mead", options=how).x
            holds &= bool(min(x[:2]) >= 0) and _near(expit(terms @ x), found, 1e-5)
    return holds, (
        "A stated confidence of 1 has no finite term in the model and is moved inward by .000001 here and by 2e-16 "
        "there. A general optimiser with either edge gives either curve within .00001; the model does not say which "
        "edge is right."
    )


def variance_in_the_tuning(rows: pd.DataFrame) -> Answer:
    """Compute the tuned weight with the judge's variance pooled, and in its parts."""
    holds = True
    for name, (own,), (other,) in _both(rows):
        d = table(name)
        known = d["label"].notna().to_numpy()
        y, f, rest = d["label"][known], d["judge"][known], d["judge"][~known]
        ratio = len(f) / len(rest)
        pooled = np.cov(y, f, ddof=0)[0, 1] / ((1 + ratio) * d["judge"].var())
        apart = np.cov(y, f, ddof=0)[0, 1] / (f.var(ddof=0) + ratio * rest.var(ddof=0))

        def mean(weight: float, y: Any = y, f: Any = f, rest: Any = rest) -> float:
            return float(y.mean() + weight * (rest.mean() - f.mean()))

        holds &= _near(mean(pooled), other, 1e-9) and _near(mean(apart), own, 1e-9)
    return holds, (
        "Both estimate one weight, that of the smallest variance: the judge's variance is pooled over "
        "all items there, and "
        "taken from the labelled and from the other items here. The two formulas give the two numbers "
        "to six digits."
    )


def _powered_error(y: Any, f: Any, rest: Any, lost: int) -> float:
    """Return the standard error there: each variance divided by its n less `lost`."""
    labelled = np.var(np.asarray(y) - np.asarray(f), ddof=lost) / len(f)
    return float(np.sqrt(labelled + np.var(np.asarray(rest), ddof=lost) / len(rest)))


def _of_powered(rows: pd.DataFrame, lost: int) -> tuple[bool, float, float]:
    """Reproduce the interval there, and count how often both hold the mean with 12 labels."""
    from d3stats import prediction_powered_mean

    holds = True
    for name, _, other in _both(rows):
        d = table(name)
        known = d["label"].notna().to_numpy()
        y, f, rest = (d[c][k].to_numpy() for c, k in (("label", known), ("judge", known), ("judge", ~known)))
        middle = y.mean() + rest.mean() - f.mean()
        half = norm.ppf(0.975) * _powered_error(y, f, rest, lost)
        holds &= _near([middle - half, middle + half], other, 1e-9)
    rng, n, held = np.random.default_rng(12), 1000, np.zeros(2)
    for _ in range(n):
        truth = rng.normal(0, 1, 112)
        judge = truth + rng.normal(0, 1, 112)
        label = np.where(np.arange(112) < 12, truth, np.nan)
        found = prediction_powered_mean(judge, label, tuning=1.0).mean
        half = norm.ppf(0.975) * _powered_error(truth[:12], judge[:12], judge[12:], lost)
        low, high = (x if x is not None else np.nan for x in (found.low, found.high))
        held += [low <= 0 <= high, abs(found.value) <= half]
    here, there = held / n
    return holds and bool(here > there), float(here), float(there)


def small_sample_error(rows: pd.DataFrame) -> Answer:
    """Count how often both intervals hold the mean with 12 labels."""
    holds, here, there = _of_powered(rows, 0)
    return holds, (
        "The interval there divides by n and takes a normal quantile. With 12 labels it holds the mean "
        f"in {there:.3f} of 1000 simulated samples, the interval here in {here:.3f}, at a level of .95."
    )


def normal_quantile(rows: pd.DataFrame) -> Answer:
    """Count how often both intervals hold the mean with 12 labels."""
    holds, here, there = _of_powered(rows, 1)
    return holds, (
        "The errors are equal; there the quantile is the normal one, here Student's. With 12 labels the interval there "
        f"holds the mean in {there:.3f} of 1000 simulated samples, the interval here in {here:.3f}, at a level of .95."
    )


def _cluster_sums(d: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the differences and the number of items of each cluster."""
    apart = (d["last"] - d["first"]).to_numpy()
    code = pd.factorize(d["cluster"])[0]
    return np.bincount(code, apart), np.bincount(code)


def _errors(total: np.ndarray, size: np.ndarray) -> dict[str, float]:
    """Return three errors of a mean over clusters."""
    n, clusters = size.sum(), len(size)
    residual = (total - size * total.sum() / n) / n
    spread = residual / (1 - size / n)
    centred = spread - spread.mean()
    return {
        "CR0": float(np.sqrt((residual**2).sum())),
        "CR1": float(np.sqrt(clusters / (clusters - 1) * (residual**2).sum())),
        "CR3": float(np.sqrt((spread**2).sum())),
        "here": float(np.sqrt((clusters - 1) / clusters * (centred**2).sum())),
        "jackknife": float(np.sqrt((clusters - 1) / clusters * (spread**2).sum())),
    }


def _coverage(size: np.ndarray, n: int = 4000) -> dict[str, float]:
    """Return the mean variance estimated by each error over the true variance, with correlated values in clusters."""
    rng = np.random.default_rng(4)
    shared, own = rng.normal(0, 1, (n, len(size))), rng.normal(0, 1, (n, len(size)))
    totals = shared * size * np.sqrt(0.3) + own * np.sqrt(0.7 * size)
    true = (size**2 * 0.3 + size * 0.7).sum() / size.sum() ** 2
    found = pd.DataFrame([_errors(total, size) for total in totals])
    return {str(name): float(value) for name, value in ((found**2).mean() / true).items()}


def _of_errors(rows: pd.DataFrame, there: str) -> tuple[bool, dict[str, float]]:
    holds, ratio = True, {}
    for name, (own,), (other,) in _both(rows):
        total, size = _cluster_sums(table(name))
        found = _errors(total, size)
        holds &= (
            _near(found[there], other, 1e-9)
            and min(abs(found[k] - own) for k in ("here", "jackknife")) < 1e-9
        )
        ratio = _coverage(size)
        ratio["own"] = ratio["here"] if abs(found["here"] - own) < 1e-9 else ratio["jackknife"]
    return holds, ratio


def leverage_of_clusters(rows: pd.DataFrame) -> Answer:
    """Compute the error of both sides, and their bias with these sizes of clusters."""
    holds, ratio = _of_errors(rows, "CR1")
    return holds, (
        "The error here divides each cluster's residual by one minus its share of the items, the error "
        "there does not. "
        f"With these sizes and a correlation of .3 the squared error there is {ratio['CR1']:.3f} of the "
        "true variance on average, "
        f"here {ratio['own']:.3f} (4,000 simulated tables)."
    )


def factor_of_clusters(rows: pd.DataFrame) -> Answer:
    """Compute the error of both sides, and their bias with these sizes of clusters."""
    holds, ratio = _of_errors(rows, "CR0")
    return holds, (
        "The error there has no correction for the number of clusters. "
        f"Its square is {ratio['CR0']:.3f} of the true variance on average, here {ratio['own']:.3f} "
        "(4,000 simulated tables)."
    )


def centre_of_cr3(rows: pd.DataFrame) -> Answer:
    """Compute the error of both sides, and their bias with these sizes of clusters."""
    holds, ratio = _of_errors(rows, "CR3")
    return holds, (
        "Both divide each cluster's residual by one minus its share of the items; here the sum has the "
        "jackknife's factor "
        f"(G - 1) / G as well. The squared error there is {ratio['CR3']:.3f} of the true variance on "
        "average, here "
        f"{ratio['own']:.3f} (4,000 simulated tables)."
    )


@cache
def _percentiles_of_draws(name: str) -> np.ndarray:
    """Return between which values 10,000 resamples of clusters leave both percentiles, at four standard errors."""
    total, size = _cluster_sums(table(name))
    far = 4 * np.sqrt(0.025 * 0.975 / 10_000)
    drawn = np.random.default_rng(20).multinomial(len(size), np.full(len(size), 1 / len(size)), 100_000)
    at = [0.025 - far, 0.025 + far, 0.975 - far, 0.975 + far]
    return np.quantile((drawn @ total) / (drawn @ size), at, method="closest_observation")


def _within_draws(name: str, low: float, high: float) -> bool:
    """Whether two percentiles are what 10,000 resamples give."""
    found = _percentiles_of_draws(name)
    return bool(found[0] <= low <= found[1] and found[2] <= high <= found[3])


def draws_of_a_bootstrap(rows: pd.DataFrame) -> Answer:
    """Compare both percentiles with those of 100,000 resamples."""
    holds = all(_within_draws(name, *limits[1:]) for name, *both in _both(rows) for limits in both)
    return holds, (
        "The same percentiles of different draws. Few values of the mean are possible, and 10,000 resamples leave the "
        "limit on one of two of them; both are within four standard errors of 100,000 resamples."
    )


def _degrees_of_changes(change: np.ndarray, total: np.ndarray, size: np.ndarray) -> float:
    """Return the degrees of freedom here: what clusters are worth that changed, and not as most items did."""

    def worth(x: np.ndarray) -> float:
        return float(x.sum() ** 2 / (x**2).sum()) if x.any() else 0.0

    values, times = np.unique(change, return_counts=True)
    usual = np.abs(total - values[times.argmax()] * size)
    parts = [float(size[x > 0].sum() / size.sum()) * worth(size) for x in (np.abs(total), usual)]
    parts += [float((np.abs(total) > 0).sum()), float((usual > 0).sum()), worth(usual)]
    return min(worth(size) - 1, max(min(parts), 2.0))


def _few_changes(rng: np.random.Generator) -> np.ndarray:
    """Return changes in 40 questions of four: three questions change on average, two of their items alike."""
    made = np.zeros((40, 4))
    changed = rng.random(40) < 0.075
    made[changed, :2] = np.where(rng.random(changed.sum()) < 0.8, 1, -1)[:, None]
    return made


def _most_alike(rng: np.random.Generator) -> np.ndarray:
    """Return changes in 20 questions of five: nine of ten items are gains, most questions alike."""
    alike = rng.random((20, 1)) < 0.95
    shared, own = (rng.random(shape) < 0.9 for shape in ((20, 1), (20, 5)))
    return np.where(alike, shared, own).astype(float)


def _limits_of_change(change: np.ndarray, code: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return the 95 % limits of a mean change by the definition of each package."""
    n, mean = len(change), float(change.mean())
    total, size = np.bincount(code, change), np.bincount(code)
    found = _errors(total, size)
    gained, lost = ((change == x).sum() + 1 for x in (1, -1))
    centre = (gained - lost) / (n + 2)
    wald = np.sqrt((np.abs(change).mean() - mean**2) / n)
    laplace = np.sqrt(((gained + lost) / (n + 2) - centre**2) / (n + 2))
    z, reach = norm.ppf(0.975), t.ppf(0.975, _degrees_of_changes(change, total, size))
    halves = {
        "evalconfidence": (mean, z * wald),
        "errorbars": (mean, t.ppf(0.975, len(size) - 1) * found["CR1"]),
        "evalstats": (centre, z * laplace),
        "blocks": _normal_inverse_gamma(total / size),
        "here": (mean, reach * found["here"]),
    }
    return {name: (max(m - half, -1.0), min(m + half, 1.0)) for name, (m, half) in halves.items()}


def _normal_inverse_gamma(means: np.ndarray) -> tuple[float, float]:
    """Return middle and reach of the posterior of the mean of question means, on [-1, 1] moved to [0, 1]."""
    x = (means + 1) / 2
    n, weight = len(x), len(x) + 1
    spread = 0.0625 / 4 + 0.5 * ((x - x.mean()) ** 2).sum() + n / (2 * weight) * (x.mean() - 0.5) ** 2
    half = t.ppf(0.975, 4 + n) * np.sqrt(spread / ((2 + n / 2) * weight))
    return 2 * (0.5 + n * x.mean()) / weight - 1, 2 * half


def _limits_here(change: np.ndarray, code: np.ndarray) -> list[float]:
    """Return the limits of d3stats for a change of right or wrong items."""
    from d3stats.inference import paired_difference

    found = paired_difference((change < 0) * 1, (change > 0) * 1, code).difference
    return [float(x) for x in (found.low, found.high) if x is not None]


def three_changed_questions(rows: pd.DataFrame) -> Answer:
    """Compute each interval by its definition, and how often each holds the truth where few questions change."""
    holds = True
    for row in rows.itertuples():
        d = table(str(row.data))
        own, other = ([float(x) for x in str(cell).split()] for cell in (row.here, row.there))
        apart, code = (d["last"] - d["first"]).to_numpy(dtype=float), pd.factorize(d["cluster"])[0]
        found = _limits_of_change(apart, code)
        holds &= _near(found["here"], own[1:], 1e-9) and _near(own[0], apart.mean(), 1e-9)
        blocks = "blocks" in str(row.number)
        if row.stem == "truescore":
            holds &= _within_draws(str(row.data), *other[1:])
        else:
            holds &= _near(found["blocks" if blocks else str(row.stem)], other[1:], 1e-6)
        mean = (np.bincount(code, apart) / np.bincount(code)).mean() if blocks else apart.mean()
        holds &= _near(other[0], mean, 1e-9)
    share = {}
    for world, law, truth in (("few", _few_changes, 0.0225), ("alike", _most_alike, 0.9)):
        rng, made = np.random.default_rng(21), 0
        held = dict.fromkeys(("truescore", *found), 0)
        for turn in range(500):
            change = law(rng)
            if np.ptp(change) == 0:
                continue
            made += 1
            code, n = np.repeat(np.arange(len(change)), change.shape[1]), len(change)
            limits = _limits_of_change(change.ravel(), code)
            if turn < 3:
                holds &= _near(_limits_here(change.ravel(), code), limits["here"], 1e-9)
            drawn = rng.multinomial(n, np.full(n, 1 / n), 400) @ change.mean(axis=1) / n
            limits["truescore"] = tuple(np.quantile(drawn, [0.025, 0.975]))
            for name, (low, high) in limits.items():
                held[name] += bool(low <= truth + 1e-12 and truth - 1e-12 <= high)
        share[world] = {name: f"{count / made:.3f}" for name, count in held.items()}
    named = ("truescore", "errorbars", "evalconfidence", "evalstats", "blocks")
    few, alike = (", ".join([f"{name} {share[x][name]}" for name in named]) for x in ("few", "alike"))
    return holds, (
        "Only three questions changed. Percentiles of a bootstrap of questions are those of truescore, Student's t "
        "with 39 degrees of freedom is that of errorbars. Wald's interval of independent items is that of "
        "evalconfidence, Bonett and Price's that of evalstats. With blocks evalstats has a normal-inverse-gamma "
        "posterior of question means, each question counting "
        "once. Here the t has as many degrees of freedom as questions changed, three. In how many of 500 simulated "
        "tables does a 95 % interval hold the true difference? Three of 40 questions change on average, two items "
        f"alike: here {share['few']['here']}, {few}. Nine of ten items are gains, nearly alike within 20 questions: "
        "here "
        f"{share['alike']['here']}, {alike}. Intervals of independent items are too short for clustered ones. With few "
        "changes the interval here is the widest; it is cautious. Tables without spread, which have no interval here, "
        "are left out."
    )


def clusters_that_changed(rows: pd.DataFrame) -> Answer:
    """Compute both intervals from one error, with the degrees of freedom of each side."""
    holds, df = True, 0.0
    for name, own, other in _both(rows):
        total, size = _cluster_sums(table(name))
        mean, error = total.sum() / size.sum(), _errors(total, size)["here"]
        df = _degrees_of_changes((table(name)["last"] - table(name)["first"]).to_numpy(), total, size)
        for found, degrees in ((own, df), (other, len(size) - 1.0)):
            half = t.ppf(0.975, degrees) * error
            p = 2 * t.sf(abs(mean) / error, degrees)
            holds &= _near([mean - half, mean + half, p], found, 1e-9)
    return holds, (
        "The errors are equal. There the t has 39 degrees of freedom, one less than there are questions; here it has "
        f"{df:.1f}, because a question without a change says nothing of how large changes are. The next difference "
        "shows what this does where few questions change."
    )


def delta_method_of_rogan_gladen(rows: pd.DataFrame) -> Answer:
    """Compute both intervals from the counts, and how often each holds the share with 40 labels."""

    def both(
        x: Any, n: Any, right: Any, positives: Any, negative: Any, negatives: Any
    ) -> list[tuple[Any, Any]]:
        z = norm.ppf(0.975)
        found = []
        for more, labels in ((0.0, 0.0), (z**2 / 2, 1.0)):
            p, se = (x + more) / (n + 2 * more), (right + labels) / (positives + 2 * labels)
            sp = (negative + labels) / (negatives + 2 * labels)
            rate = (p + sp - 1) / (se + sp - 1)
            of_se = se * (1 - se) / (positives + 2 * labels)
            of_sp = sp * (1 - sp) / (negatives + 2 * labels)
            spread = p * (1 - p) / (n + 2 * more) + rate**2 * of_se + (1 - rate) ** 2 * of_sp
            shift = 2 * z**2 * (rate * of_se - (1 - rate) * of_sp) * bool(more)
            half = z * np.sqrt(spread) / np.abs(se + sp - 1)
            found.append((np.clip(rate + shift - half, 0, 1), np.clip(rate + shift + half, 0, 1)))
        return found

    def counted(judge: np.ndarray, label: np.ndarray) -> list[tuple[Any, Any]]:
        seen = judge[..., : label.shape[-1]]
        right, negative = ((seen == x) & (label == x) for x in (1, 0))
        sizes = (label == 1).sum(-1), (label == 0).sum(-1)
        parts = right.sum(-1), sizes[0], negative.sum(-1), sizes[1]
        return both(judge.sum(-1), judge.shape[-1], *parts)

    holds = True
    for name, own, other in _both(rows):
        d = table(name)
        known = d["label"].notna()
        there, here = counted(d["judge"].to_numpy(), d["label"][known].to_numpy())
        holds &= _near(here, own, 1e-9) and _near(there, other, 1e-9)
    rng, n, held = np.random.default_rng(22), 4000, {}
    for share in (0.7, 0.95):
        right, negative = rng.binomial(20, 0.95, n), rng.binomial(20, 0.95, n)
        limits = both(rng.binomial(300, share * 0.95 + (1 - share) * 0.05, n), 300, right, 20, negative, 20)
        held[share] = [f"{((low <= share) & (high >= share)).mean():.3f}" for low, high in limits]
    return holds, (
        "The rates are equal. There the interval is that of the delta method, cut at 0 and 1; here the counts are "
        "adjusted and the middle is shifted (Lang and Reiczigel). With a judge of sensitivity and specificity .95, 300 "
        f"verdicts and 20 labels of each kind, 95 % intervals were made of {n} samples. At a share of .7 they hold it "
        f"in {held[0.7][0]} there and {held[0.7][1]} here, so the one here is wider than needed. At a share of .95 "
        f"they hold it in {held[0.95][0]} there and {held[0.95][1]} here."
    )


def two_verdicts_of_a_pair(rows: pd.DataFrame) -> Answer:
    """Compute both intervals by their definitions, and how often each holds the share and how wide it is."""

    def both(first: np.ndarray) -> list[tuple[float, float]]:
        n, won = first.size, int(first.sum())
        lean = first.mean(axis=0)
        half = t.ppf(0.975, (lean != 0.5).sum()) * lean.std(ddof=1) / np.sqrt(len(lean))
        exact = beta.ppf([0.025, 0.975], [won, won + 1], [n - won + 1, n - won])
        return [(float(exact[0]), float(exact[1])), (lean.mean() - half, lean.mean() + half)]

    holds = True
    for name, own, other in _both(rows):
        d = table(name)
        orders = [
            d[d["order"] == order]["vote"].to_numpy() == answer
            for order, answer in (("AB", "A"), ("BA", "B"))
        ]
        there, here = both(np.array(orders))
        holds &= _near(here, own, 1e-9) and _near(there, other, 1e-9)
    rng, n = np.random.default_rng(23), 2000
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    truth = float(expit(1.5 * nodes + 0.5) @ weights / weights.sum())
    lead = rng.normal(0, 1.5, (n, 80))
    first = np.stack([rng.random(lead.shape) < expit(0.5 + sign * lead) for sign in (1, -1)], axis=1)
    limits = np.array([both(each) for each in first])
    held = ((limits[..., 0] <= truth) & (truth <= limits[..., 1])).mean(axis=0)
    wide = (limits[..., 1] - limits[..., 0]).mean(axis=0)
    return holds and bool(abs(held[1] - 0.95) < abs(held[0] - 0.95)), (
        "The shares are equal. There all 160 verdicts are independent trials of an exact binomial interval; here the "
        "two verdicts of a pair are one cluster, and a better answer makes them cancel. Over 2000 simulated tables the "
        f"interval there holds the share in {held[0]:.3f} with a mean width of {wide[0]:.3f}, here in {held[1]:.3f} "
        f"with {wide[1]:.3f}, at a level of .95."
    )


def chi_square_of_mcnemar(rows: pd.DataFrame) -> Answer:
    """Compute the exact p and the approximation, and the largest distance over all tables with so many changes."""
    holds, far, n = True, 0.0, 0
    for name, (own,), (other,) in _both(rows):
        apart = table(name)["last"] - table(name)["first"]
        n, lost = int((apart != 0).sum()), np.arange((apart != 0).sum() // 2 + 1)
        exact = np.minimum(1, 2 * binom.cdf(lost, n, 0.5))
        near = chi2.sf((np.maximum(n - 2 * lost - 1, 0)) ** 2 / n, 1)
        at = int(min((apart > 0).sum(), (apart < 0).sum()))
        holds &= _near(exact[at], own, 1e-9) and _near(near[at], other, 1e-9) and n > 25
        far = float(np.abs(exact - near).max())
    return holds, (
        "Up to 25 changed items both give the exact p-value. With more, the one there is that of a chi-square with "
        f"continuity correction: over all tables with {n} changed items it is at most {far:.4f} away from the "
        "exact one."
    )


def items_by_noncentral_t(rows: pd.DataFrame) -> Answer:
    """Compute the power of the paired t at both numbers of items."""

    def power(n: float) -> float:
        reach, shift = t.ppf(0.975, n - 1), 0.5 * np.sqrt(n)
        return float(nct.sf(reach, n - 1, shift) + nct.cdf(-reach, n - 1, shift))

    holds, normal = True, np.ceil((norm.ppf(0.975) + norm.ppf(0.8)) ** 2 / 0.25)
    for _, (own,), (other,) in _both(rows):
        holds &= other == normal and power(own) >= 0.8 > power(own - 1)
    return holds, (
        "There the power is that of a normal test, here that of the paired t, which is also the test that each package "
        f"makes of such data. By the noncentral t law {normal:.0f} items have power {power(normal):.4f}, and "
        f"{own:.0f} are the fewest with .8 ({power(own):.4f})."
    )


def _capital(x: np.ndarray, mean: float) -> float:
    """Return the log capital there after all votes: bets that follow a running variance, cut at half of ruin."""
    i = np.arange(1, len(x) + 1)
    centre = (0.5 + np.cumsum(x)) / (i + 1)
    spread = (0.25 + np.cumsum((x - centre) ** 2)) / (i + 1)
    before = np.concatenate([[0.25], spread[:-1]])
    bet = np.sqrt(2 * np.log(40) / (before * i * np.log1p(i)))
    up = np.log1p(np.minimum(bet, 0.5 / mean) * (x - mean))
    down = np.log1p(-np.minimum(bet, 0.5 / (1 - mean)) * (x - mean))
    return float(np.log(0.5) + max(up.sum(), down.sum()))


def _constant_capital(won: np.ndarray, lost: np.ndarray, mean: float) -> np.ndarray:
    """Return the log capital here: the mean over twenty constant bets, on each side with half of the money."""
    f = np.arange(1, 21) / 21
    up = np.multiply.outer(won, np.log1p(f * (1 - mean) / mean)) + np.multiply.outer(lost, np.log1p(-f))
    down = np.multiply.outer(lost, np.log1p(f * mean / (1 - mean))) + np.multiply.outer(won, np.log1p(-f))
    return np.maximum(logsumexp(up, axis=-1), logsumexp(down, axis=-1)) - np.log(40)


def bets_of_a_hedged_bettor(rows: pd.DataFrame) -> Answer:
    """Compute the capital of both sides at their limits, and how often each ever leaves out the true share."""
    holds, bound = True, np.log(20)
    for name, own, other in _both(rows):
        x = table(name)["last"].to_numpy(dtype=float)
        counts = np.array(x.sum()), np.array(len(x) - x.sum())
        for inside, limits, step in ((_constant_capital, own, 1e-6), (None, other, 2.5e-4)):
            for at, way in zip(limits, (-1, 1), strict=True):
                outer, inner = (
                    float(_capital(x, m) if inside is None else inside(*counts, m))
                    for m in (at + way * step, at - way * step)
                )
                holds &= inner < bound <= outer
    rng, n = np.random.default_rng(24), 1000
    votes = (rng.random((n, 200)) < 0.6).astype(float)
    won = votes.cumsum(axis=1)
    ever = (_constant_capital(won, np.arange(1, 201) - won, 0.6) >= bound).any(axis=1).mean()
    i = np.arange(1, 201)
    spread = (0.25 + ((votes - (0.5 + won) / (i + 1)) ** 2).cumsum(axis=1)) / (i + 1)
    before = np.column_stack([np.full(n, 0.25), spread[:, :-1]])
    bet = np.sqrt(2 * np.log(40) / (before * i * np.log1p(i)))
    up = np.log1p(np.minimum(bet, 0.5 / 0.6) * (votes - 0.6)).cumsum(axis=1)
    down = np.log1p(-np.minimum(bet, 0.5 / 0.4) * (votes - 0.6)).cumsum(axis=1)
    there = (np.log(0.5) + np.maximum(up, down) >= bound).any(axis=1).mean()
    return holds and bool(max(ever, there) <= 0.05), (
        "Both are confidence sequences of hedged capital. There the bets follow a running variance, so that the order "
        "of "
        "the votes counts; here twenty constant bets share the money, and only the counts matter. Both hold at all "
        f"times: over 200 votes at a share of .6 the sequence there leaves it out at any time in {there:.4f} of {n} "
        f"simulations, here in {ever:.4f}, at most .05."
    )


def variance_of_means(rows: pd.DataFrame) -> Answer:
    """Compute both correlations, and their means over tables of known correlation."""

    def both(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        k = x.shape[-1]
        between, within = x.mean(axis=-1).var(axis=-1, ddof=1), x.var(axis=-1, ddof=1).mean(axis=-1)
        return (between - within / k) / (between - within / k + within), between / (between + within)

    holds = True
    for name, (own,), (other,) in _both(rows):
        here, there = both(table(name).to_numpy())
        holds &= _near(here, own, 1e-9) and _near(there, other, 1e-9)
    rng = np.random.default_rng(25)
    drawn = [both(rng.normal(0, sd, (4000, 60, 1)) + rng.normal(0, 1, (4000, 60, 4))) for sd in (0.0, 1.0)]
    (zero, of_zero), (half, of_half) = [[float(x.mean()) for x in each] for each in drawn]
    return holds, (
        "There the variance of the items' means still holds a quarter of the variance within items; here it is taken "
        f"out, as in the one-way ICC(1). Over 4000 tables of correlation 0 the mean there is {of_zero:.3f}, here "
        f"{zero:.3f}; of correlation .5 it is {of_half:.3f} there and {half:.3f} here."
    )


def weight_from_a_bootstrap(rows: pd.DataFrame) -> Answer:
    """Compute the tuned weight by its formula, and 400 times from 1,000 draws of the means."""
    holds, found = True, np.zeros(2)
    for name, (own,), (other,) in _both(rows):
        d = table(name)
        known = d["label"].notna().to_numpy()
        y, f, rest = (d[c][k].to_numpy() for c, k in (("label", known), ("judge", known), ("judge", ~known)))
        spread = np.cov(y, f, ddof=0) / len(f)
        weight = spread[0, 1] / (spread[1, 1] + rest.var() / len(rest))
        rng = np.random.default_rng(26)
        labelled = rng.multivariate_normal(np.zeros(2), spread, (400, 1000))
        others = rng.normal(0, np.sqrt(rest.var() / len(rest)), (400, 1000))
        y_mean, f_mean = (labelled[..., k] - labelled[..., k].mean(axis=1, keepdims=True) for k in (0, 1))
        drawn = (y_mean * f_mean).mean(axis=1) / (f_mean.var(axis=1) + others.var(axis=1))
        drawn *= len(f) / (len(f) + 20)
        estimates = y.mean() + np.append(drawn, weight) * (rest.mean() - f.mean())
        found = np.quantile(estimates[:-1], [0.0005, 0.9995])
        holds &= _near(estimates[-1], own, 1e-9) and bool(found[0] <= other <= found[1])
    return holds, (
        "One weight, that of the smallest variance: here from its formula. There it comes from 1,000 bootstrap draws "
        "of "
        "the means and is then shrunk by 20 / (n + 20), n labels. Repeated 400 times, such draws give means from "
        f"{found[0]:.4f} to {found[1]:.4f}. Both means are consistent for any weight."
    )


def variance_cut_at_zero(rows: pd.DataFrame) -> Answer:
    """Compute the correlation by the analysis of variance, and the mean of both over tables without correlation."""

    def correlation(x: np.ndarray) -> np.ndarray:
        k = x.shape[-1]
        between, within = k * x.mean(axis=-1).var(axis=-1, ddof=1), x.var(axis=-1, ddof=1).mean(axis=-1)
        return (between - within) / (between + (k - 1) * within)

    holds = True
    for name, (own,), (other,) in _both(rows):
        d = table(name)
        apart = (d["last"] - d["first"]).to_numpy(dtype=float).reshape(d["cluster"].nunique(), -1)
        holds &= bool(d["cluster"].is_monotonic_increasing) and _near(correlation(apart), own, 1e-9)
        holds &= own < 0 and _near(other, 0, 1e-9)
    found = correlation(np.random.default_rng(27).normal(size=(4000, 40, 5)))
    return holds, (
        "A variance of clusters cannot be negative in the model there, so the correlation is cut at 0; here it is that "
        f"of the analysis of variance. Over 4000 tables without correlation the mean here is {found.mean():.4f}, cut "
        "at "
        f"0 it is {found.clip(0).mean():.4f}."
    )


def items_less_one(rows: pd.DataFrame) -> Answer:
    """Compare the two errors, which differ by a factor alone."""
    holds, n = True, 0
    for name, own, other in _both(rows):
        n = table(name).shape[1]
        holds &= _near(own[1] * np.sqrt(n / (n - 1)), other[1], 1e-5) and _near(
            own[[0, 2, 3]], other[[0, 2, 3]], 1e-4
        )
    return holds, (
        f"The error of a sum over {n} observations: here, as in ArviZ 0.23, their variance is divided by n, there by "
        "n - 1, as it should be for so few. With ArviZ 1 the number here is the one there."
    )


def _patterns(d: pd.DataFrame) -> np.ndarray:
    """Return how many questions have each pair of right answers of the two protocols, shape (6, 6)."""
    wide = d.pivot_table(index="question", columns="protocol", values="right")
    made = np.zeros((6, 6))
    np.add.at(made, (wide["one"].to_numpy(dtype=int), wide["two"].to_numpy(dtype=int)), 1)
    return made


def maximum_and_posterior(rows: pd.DataFrame) -> Answer:
    """Maximise the likelihood, and average over the posterior on a grid, both by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    right = np.arange(6)

    def chances(logit: np.ndarray, sd: float) -> np.ndarray:
        return binom.pmf(right, 5, expit(logit[:, None, None] + sd * nodes[:, None]))

    def likelihood(one: np.ndarray, two: np.ndarray, sd: float, seen: np.ndarray) -> np.ndarray:
        law = np.einsum("azr,z,bzs->abrs", chances(one, sd), weights, chances(two, sd), optimize=True)
        return np.einsum("abrs,rs->ab", np.log(law), seen)

    def share(logit: np.ndarray, sd: float) -> np.ndarray:
        return expit(logit[:, None] + sd * nodes) @ weights

    holds = True
    for name, own, other in _both(rows):
        seen = _patterns(table(name))
        best = minimize(
            lambda x, seen=seen: -float(likelihood(x[:1], x[1:2], float(np.exp(x[2])), seen)[0, 0]),
            np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": 2000},
        ).x  # fmt: skip
        sd = float(np.exp(best[2]))
        gap = float(share(best[1:2], sd)[0] - share(best[:1], sd)[0])
        holds &= _near([gap, sd**2 / (sd**2 + np.pi**2 / 3)], other, 1e-4)
        one, two = (np.linspace(x - 1.2, x + 1.2, 33) for x in best[:2])
        total, sums = 0.0, np.zeros(2)
        peak = float(likelihood(best[:1], best[1:2], sd, seen)[0, 0])
        for at in np.linspace(0.05, sd + 1.2, 40):
            prior = -(((one[:, None] + two) / 3) ** 2) / 2 - (two - one[:, None]) ** 2 / 4 - at**2 / 4.5
            mass = np.exp(likelihood(one, two, float(at), seen) - peak + prior)
            gaps = share(two, float(at)) - share(one, float(at))[:, None]
            total += mass.sum()
            sums += (mass * gaps).sum(), mass.sum() * at**2 / (at**2 + np.pi**2 / 3)
        holds &= _near(sums / total, own, 5e-3)
    return holds, (
        "The number there maximises the likelihood of a model; the one here is the posterior mean of the same model. A "
        "general optimiser gives the numbers there within .0001, and a sum over a grid the numbers here within the "
        "error of their draws (.005). The maximum needs no prior; the posterior has an interval that allows for an "
        "uncertain spread."
    )
