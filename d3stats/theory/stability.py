"""Does debate raise the belief in the truth? The two amplification statements of the stability paper."""

from __future__ import annotations

from fractions import Fraction

from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.instances.concepts import (
    STRONG,
    Discussion,
    Evidence,
    discussions,
    evidence,
    strong_discussions,
)
from d3stats.theory.instances.small import sign
from d3stats.theory.sources import HERE, STABILITY

__all__ = ["CLAIMS", "Discussion", "Evidence"]

_HALF, _NINE, _ONE = Fraction(1, 2), Fraction(9, 10), Fraction(1, 10)
_MIRRORED = ((Fraction(4, 5), Fraction(1, 5)), (Fraction(1, 5), Fraction(4, 5)))


def _is_law(instance: Evidence | Discussion) -> bool:
    rows = (instance.prior, *instance.table)
    return all(sum(row) == 1 and min(row) > 0 for row in rows)


def expected_rise(case: Evidence) -> dict[str, float]:
    """Return the belief in the truth before, after on average, and as promised."""
    return {
        "belief before": float(case.prior[0]),
        "expected belief after": case.expected,
        "promised at least": float(case.promised),
        "total variation": float(case.distance),
    }


def belief_path(case: Discussion) -> dict[str, float]:
    """Return the belief in the truth before and after, and both sides of the condition."""
    return {
        "belief before": float(case.prior[0]),
        "belief after": case.after,
        "responses that match strongly": case.strong,
        "P(responses | truth)": float(case.under_truth),
        "P(responses | belief)": float(case.under_belief),
    }


def _rise(case: Discussion) -> float:
    return case.after - float(case.prior[0])


def _condition_agrees(case: Discussion) -> float:
    """Return the change of belief, negative where the condition foretells the other sign."""
    foretold = sign(case.under_truth - case.under_belief)
    return foretold * _rise(case) if foretold else -abs(_rise(case))


_CONCEPTS = Assumption(
    "Beliefs and responses have probabilities above 0, and responses are independent given the concept",
    _is_law,
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="stability-theorem-a",
        title="Updating on the debate raises the expected belief in the truth",
        source=Source(STABILITY, "theorem 4.1 and what is said of it (as summarised)"),
        statement=(
            "Agents who update their belief pi over latent concepts by Bayes' rule on the responses that they "
            "hear believe more in the true concept after a round, on average. How much is made precise here: "
            "E[pi'] >= pi + 4 pi (1 - pi)^2 TV^2, with TV the total variation distance between the responses "
            "under the truth and those under the rivals (weighted by belief). This is above pi whenever the truth's "
            "law differs from the rivals' belief-weighted mean."
        ),
        latex=r"\mathbb{E}[\pi'] \ge \pi + 4\,\pi\,(1-\pi)^2\,\mathrm{TV}(P_\ast, P_{\neg\ast})^2",
        assumptions=(_CONCEPTS,),
        missing=(Assumption("Responses are fresh evidence: drawn under the truth", lambda case: case.fresh),),
        status="holds under",
        quantities=expected_rise,
        margin=lambda case: case.expected - float(case.promised),
        instances=evidence,
        rescued=lambda: evidence(fresh=True),
        counterexample=Evidence((_HALF, _HALF), _MIRRORED, fresh=False, n=1),
        corrected=(
            "It holds when responses are drawn under the truth, conditionally independent. Responses that agents "
            "draw from their own belief carry nothing new: E[pi'] = pi exactly for one response, or for several of "
            "which each is drawn after the last was taken in. Several drawn at once, from the belief at the start of a "
            "round, and taken for independent move it away from 1/2 where two concepts mirror each other "
            "(likelihoods .8/.2, seven responses: .7 becomes .785 on average, .3 becomes .215): overconfidence, and no "
            "learning."
        ),
        correction=("belief-amplification",),
        proof=(
            "One response: pi' = pi p(z)/m(z), m = pi p + (1 - pi) q, p the truth's law and q the rivals'. "
            "Fresh: E[pi'] - pi = pi sum (p - m)^2 / m, as sum p^2/m - 1 = sum (p - m)^2/m. By Cauchy-Schwarz "
            "that is >= pi (sum |p - m|)^2, and p - m = (1 - pi)(p - q), so it is >= 4 pi (1 - pi)^2 TV^2. "
            "More responses: under the truth the belief in it is a submartingale, so the mean only grows. "
            "Self-made, one response: z has the law m, and E[pi'] = sum m(z) pi p(z)/m(z) = pi; so too for the next "
            "one, if it is drawn from the belief that this one left. Two drawn at once have the law m(z1) m(z2), and "
            "Bayes' rule divides by their joint law under the belief, which is another one. "
            "(pi = 1/2, likelihoods .8/.2: .68 fresh, .5 self-made.)"
        ),
    ),
    Claim(
        name="stability-theorem-b",
        title="One strongly matching response suffices",
        source=Source(STABILITY, "theorem 4.1 and mechanism 1 (as summarised)"),
        statement=(
            "Correctness rises when at least one response matches the true concept strongly: pi' >= pi if some "
            f"response heard is at least {STRONG} times as likely under the truth as under every rival."
        ),
        latex=rf"\exists j:\ P(z_j \mid \theta_\ast) \ge {STRONG} \max_{{\theta \ne \theta_\ast}} P(z_j \mid \theta)"
        r"\;\Rightarrow\; \pi' \ge \pi",
        assumptions=(
            _CONCEPTS,
            Assumption("At least one response matches the truth strongly", lambda case: case.strong >= 1),
        ),
        status="refuted",
        quantities=belief_path,
        margin=_rise,
        instances=strong_discussions,
        counterexample=Discussion((_HALF, _HALF), ((_NINE, _ONE), (_ONE, _NINE)), (0, 1, 1)),
        corrected=(
            "What counts is the product over all responses: the belief rises iff the responses together are more "
            "likely under the truth than under the belief. One response for the truth is outweighed by two as "
            "strong against it."
        ),
        correction=("belief-amplification",),
        proof=(
            "The likelihoods of all responses multiply. One at .9/.1 for the truth and two at .1/.9 against it "
            "take 1/2 to 1/10; one for and six against take it to 1.69348e-5. A bound on one factor bounds "
            "nothing while the others are free."
        ),
    ),
    Claim(
        name="belief-amplification",
        title="When responses raise the belief in the truth",
        source=Source(HERE, "correction of the stability paper's theorem 4.1"),
        statement=(
            "pi' > pi iff prod_j P(z_j | truth) > sum_theta pi(theta) prod_j P(z_j | theta); pi' = pi iff both "
            "sides are equal."
        ),
        latex=(
            r"\pi' > \pi \iff \prod_j P(z_j \mid \theta_\ast) > "
            r"\sum_\theta \pi(\theta) \prod_j P(z_j \mid \theta)"
        ),
        assumptions=(_CONCEPTS,),
        status="holds",
        quantities=belief_path,
        margin=_condition_agrees,
        instances=discussions,
        proof=(
            "By Bayes' rule pi' = pi L / m, with L the left side and m > 0 the right side, so pi' - pi = "
            "pi (L - m) / m, and pi > 0."
        ),
    ),
)
