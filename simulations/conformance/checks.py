"""Why a number differs: each function reproduces both sides by a calculation of its own and says who is right.

A function takes the rows of its difference and returns whether the calculation holds, and the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from data import table
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from scipy.stats import norm

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


def _powered_widths(y: Any, f: Any, rest: Any) -> float:
    """Return the standard error there: divided by n, with a normal quantile."""
    return float(
        np.sqrt(np.var(np.asarray(y) - np.asarray(f)) / len(f) + np.var(np.asarray(rest)) / len(rest))
    )


def small_sample_error(rows: pd.DataFrame) -> Answer:
    """Reproduce the interval there, and count how often both hold the mean with 12 labels."""
    from d3stats import prediction_powered_mean

    holds = True
    for name, _, other in _both(rows):
        d = table(name)
        known = d["label"].notna().to_numpy()
        y, f, rest = (d[c][k].to_numpy() for c, k in (("label", known), ("judge", known), ("judge", ~known)))
        middle = y.mean() + rest.mean() - f.mean()
        half = norm.ppf(0.975) * _powered_widths(y, f, rest)
        holds &= _near([middle - half, middle + half], other, 1e-9)
    rng, n, held = np.random.default_rng(12), 1000, np.zeros(2)
    for _ in range(n):
        truth = rng.normal(0, 1, 112)
        judge = truth + rng.normal(0, 1, 112)
        label = np.where(np.arange(112) < 12, truth, np.nan)
        found = prediction_powered_mean(judge, label, tuning=1.0).mean
        half = norm.ppf(0.975) * _powered_widths(truth[:12], judge[:12], judge[12:])
        low, high = (x if x is not None else np.nan for x in (found.low, found.high))
        held += [low <= 0 <= high, abs(found.value) <= half]
    here, there = held / n
    return holds and here > there, (
        "The interval there divides by n and takes a normal quantile. With 12 labels it holds the mean "
        f"in {there:.3f} of {n} "
        f"simulated samples, the interval here in {here:.3f}, at a level of .95."
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
