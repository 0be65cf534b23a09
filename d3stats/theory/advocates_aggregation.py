"""Is the argument that a softmax puts forward the strongest one, as the advocates paper says?"""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from d3stats.models.separation.softmax import softmax_selected, softmax_weighted
from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.instances.dice import drawn
from d3stats.theory.instances.given_scores import Team, some_team
from d3stats.theory.sources import ADVOCATES, HERE

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS"]

_SIMILAR = Fraction(1, 10)
"""How far apart two scores of an argument may be and still "behave similarly": a tenth of the scale."""


def _chosen(instance: Team) -> Fraction:
    """Return the judge's score of the argument that is put forward; the least of them where inner scores tie."""
    judge, inner = ([float(x) for x in row] for row in (instance.judge, instance.inner))
    lowest = float(softmax_selected(judge, float(instance.temperature), inner).lowest)
    return instance.judge[judge.index(lowest)]


def _team_numbers(instance: Team) -> Mapping[str, float]:
    return {
        "g(f_agg)": float(_chosen(instance)),
        "max g(f_j)": float(max(instance.judge)),
        "largest |g' - g|": float(instance.apart),
    }


def _team_margin(instance: Team) -> float:
    return float(_chosen(instance) - max(instance.judge))


def _loss_margin(instance: Team) -> float:
    return float(_chosen(instance) - max(instance.judge) + 2 * instance.apart)


def _agrees(instance: Team) -> bool:
    best = max(instance.judge)
    top = max(instance.inner)
    return all(g == best for g, own in zip(instance.judge, instance.inner, strict=True) if own == top)


def _slope(scores: list[float], temperature: float) -> float:
    """Return dA / d(1/tau) by a complex step, which loses no digits."""
    best = max(scores)
    beta = complex(1 / temperature, 1e-30)
    weights = [cmath.exp((g - best) * beta) for g in scores]
    average = sum(w * g for w, g in zip(weights, scores, strict=True)) / sum(weights)
    return average.imag / 1e-30


def _weighted_numbers(instance: Team) -> Mapping[str, float]:
    """Compute all from the definitions: the library keeps its values within the bounds, which would hide a fault."""
    scores, tau = [float(g) for g in instance.judge], float(instance.temperature)
    best = max(scores)
    weights = [math.exp((g - best) / tau) for g in scores]
    total = math.fsum(weights)
    p = [w / total for w in weights]
    weighted = math.fsum(x * g for x, g in zip(p, scores, strict=True))
    return {
        "mean": math.fsum(scores) / len(scores),
        "A": weighted,
        "max": best,
        "max - tau H(p)": best + tau * math.fsum(x * math.log(x) for x in p if x > 0),
        "max - tau log k": best - tau * math.log(len(scores)),
        "Var_p(g)": math.fsum(x * (g - weighted) ** 2 for x, g in zip(p, scores, strict=True)),
        "dA / d(1/tau)": _slope(scores, tau),
    }


def _weighted_margin(instance: Team) -> float:
    x = _weighted_numbers(instance)
    found = softmax_weighted([float(g) for g in instance.judge], float(instance.temperature))
    apart = max(
        abs(x["A"] - float(found.value)),
        abs(x["Var_p(g)"] - float(found.slope)),
        abs(x["max - tau H(p)"] - float(found.entropy_bound)),
        abs(x["Var_p(g)"] - x["dA / d(1/tau)"]),
    )
    return min(
        x["A"] - x["mean"],
        x["max"] - x["A"],
        x["A"] - x["max - tau H(p)"],
        x["max - tau H(p)"] - x["max - tau log k"],
        -apart,
    )


def _teams() -> SearchStrategy[Team]:
    return drawn(some_team)


def _agreeing_teams() -> SearchStrategy[Team]:
    return drawn(lambda dice: some_team(dice, agreeing=True))


def _any_teams() -> SearchStrategy[Team]:
    return drawn(lambda dice: some_team(dice, within=20))


_CLOSE = Assumption(
    "inner scores behave like the judge's: within a tenth of the scale", lambda t: t.apart <= _SIMILAR
)
_WARM = Assumption("the temperature is above 0", lambda t: t.temperature > 0)
_AGREEING = Assumption("every argument with the top inner score has the judge's top score", _agrees)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="advocates-aggregation",
        title="The aggregate is the strongest argument",
        source=Source(ADVOCATES, "aggregation property in section 3.3"),
        statement=(
            "An aggregator that puts forward the argmax of a softmax of its inner scores g', which behave like the "
            "judge's g, scores at least the best of its side: g(f_agg) >= max_j g(f_j)."
        ),
        latex=r"g(f_{\mathrm{agg}}) \ge \max_j g(f_j), \quad f_{\mathrm{agg}} = f_{\arg\max \mathrm{softmax}(g'/\tau)}",
        assumptions=(_CLOSE, _WARM),
        status="holds under",
        quantities=_team_numbers,
        margin=_team_margin,
        slack=0.0,
        instances=_teams,
        missing=(_AGREEING,),
        rescued=_agreeing_teams,
        counterexample=Team((Fraction(0), Fraction(1, 20)), (Fraction(1, 20), Fraction(0)), Fraction(1, 10)),
        corrected=(
            "It is an equality exactly when the inner argmax is an argmax of the judge, and never more than one; the "
            "temperature does not matter, since a softmax keeps the order. Inner scores within eta of the judge's "
            "lose at most 2 eta (aggregation-loss)."
        ),
        correction=("aggregation-loss",),
        proof=(
            "The argmax of a softmax is the argmax of g' at every temperature. If it tops g as well, g(f_agg) = max "
            "g. The paper concludes this from similar scores, but similar scores may order two close arguments the "
            "other way, or tie them."
        ),
    ),
    Claim(
        name="aggregation-loss",
        title="What an aggregator with other scores loses",
        source=Source(HERE, f"in place of {ADVOCATES}, aggregation property"),
        statement=(
            "If inner scores differ from the judge's by at most eta, then g(f_agg) >= max_j g(f_j) - 2 eta for the "
            "argmax of the inner scores."
        ),
        latex=r"|g' - g| \le \eta \implies g(f_{\mathrm{agg}}) \ge \max_j g(f_j) - 2 \eta",
        assumptions=(_WARM,),
        status="holds",
        quantities=_team_numbers,
        margin=_loss_margin,
        slack=0.0,
        instances=_any_teams,
        proof="g(f_agg) >= g'(f_agg) - eta >= g'(f_best) - eta >= g(f_best) - 2 eta, with f_best the judge's best.",
    ),
    Claim(
        name="softmax-weighted-bounds",
        title="Where a softmax-weighted score lies",
        source=Source(HERE, f"of the softmax in {ADVOCATES}, section 3.3"),
        statement=(
            "A = sum of p_j g_j with p = softmax(g / tau) satisfies mean <= A <= max, "
            "A >= max - tau H(p) >= max - tau log k, and dA / d(1/tau) = Var_p(g). (All from the definitions; the "
            "margin also counts how far models.softmax is from them.)"
        ),
        latex=(
            r"\bar g \le A_\tau \le \max_j g_j, \quad A_\tau \ge \max_j g_j - \tau H(p) \ge \max_j g_j - \tau \log k, "
            r"\quad \frac{dA_\tau}{d(1/\tau)} = \mathrm{Var}_p(g)"
        ),
        assumptions=(_WARM,),
        status="holds",
        quantities=_weighted_numbers,
        margin=_weighted_margin,
        slack=1e-12,
        instances=_teams,
        proof=(
            "With b = 1/tau and L(b) = log sum exp(b g), A = L'(b) and dA/db = L''(b) = Var_p(g) >= 0, so A rises from "
            "the mean at b = 0 towards the maximum. log p_j = b g_j - L gives H(p) = L - b A, and L >= b max, hence "
            "A = tau L - tau H >= max - tau H. H <= log k."
        ),
    ),
)
