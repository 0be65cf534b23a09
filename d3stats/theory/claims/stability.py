"""Claims of the stability paper: debate amplifies the belief in the truth, and a KS distance of 0 means rest."""

from __future__ import annotations

from fractions import Fraction

from d3stats.theory.claim import STABILITY, Assumption, Claim, Source
from d3stats.theory.instances.beliefs import (
    CONCEPTS,
    STRONG,
    Discussion,
    Evidence,
    evidence,
    strong_discussions,
)
from d3stats.theory.instances.votes import (
    SAME_DEBATES,
    CountChain,
    TwoRounds,
    condorcet_chains,
    still_rounds,
)

__all__ = ["CLAIMS"]

_SURE, _NO, _THIRD = Fraction(1), Fraction(0), Fraction(1, 3)
_HALF, _NINE, _ONE = Fraction(1, 2), Fraction(9, 10), Fraction(1, 10)
_MIRRORED = ((Fraction(4, 5), Fraction(1, 5)), (Fraction(1, 5), Fraction(4, 5)))

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="stability-theorem-a",
        title="Updating on the debate raises the expected belief in the truth",
        source=Source(STABILITY, "theorem 4.1 and its discussion (as summarised)"),
        statement=(
            "Agents who update their belief pi over latent concepts by Bayes' rule on the responses that they "
            "hear believe more in the true concept after a round, on average. We make the amount precise: "
            "E[pi'] >= pi + 4 pi (1 - pi)^2 TV^2, with TV the total variation distance between the responses "
            "under the truth and those under the rivals (weighted by belief). This is above pi whenever the truth's "
            "law differs from the rivals' belief-weighted mean."
        ),
        latex=r"\mathbb{E}[\pi'] \ge \pi + 4\,\pi\,(1-\pi)^2\,\mathrm{TV}(P_\ast, P_{\neg\ast})^2",
        assumptions=(CONCEPTS,),
        missing=(Assumption("Responses are fresh evidence: drawn under the truth", lambda case: case.fresh),),
        status="holds under",
        quantities=Evidence.numbers,
        margin=lambda case: case.expected - float(case.guaranteed),
        instances=evidence,
        rescued=lambda: evidence(fresh=True),
        counterexample=Evidence((_HALF, _HALF), _MIRRORED, fresh=False, n=1),
        corrected=(
            "The claim holds when responses are drawn under the truth, conditionally independent. Responses that "
            "agents draw from their own belief are no evidence: E[pi'] = pi exactly for one response, or for several "
            "if each is drawn after an update on the one before. Several drawn at once, from the belief at the start "
            "of a round, and taken for independent move the belief away from 1/2 where two concepts mirror each "
            "other. With likelihoods .8/.2 and seven responses, .7 becomes .785 on average and .3 becomes .215. This "
            "is overconfidence, and no learning."
        ),
        correction=("belief-amplification",),
        proof=(
            "One response: pi' = pi p(z)/m(z), m = pi p + (1 - pi) q, p the truth's law and q the rivals'. "
            "Fresh: E[pi'] - pi = pi sum (p - m)^2 / m, as sum p^2/m - 1 = sum (p - m)^2/m. By Cauchy-Schwarz "
            "that is >= pi (sum |p - m|)^2, and p - m = (1 - pi)(p - q), so it is >= 4 pi (1 - pi)^2 TV^2. "
            "More responses: under the truth the belief in it is a submartingale, so the mean only grows. "
            "Self-made, one response: z has the law m, and E[pi'] = sum m(z) pi p(z)/m(z) = pi. The same holds for the "
            "next response, if it is drawn from the updated belief. Two responses drawn at once have the law "
            "m(z1) m(z2), and Bayes' rule divides by their joint law under the belief, which is another law. "
            "(With pi = 1/2 and likelihoods .8/.2, the mean is .68 fresh and .5 self-made.)"
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
            CONCEPTS,
            Assumption("At least one response matches the truth strongly", lambda case: case.n_strong >= 1),
        ),
        status="refuted",
        quantities=Discussion.numbers,
        margin=lambda case: case.rise,
        instances=strong_discussions,
        counterexample=Discussion((_HALF, _HALF), ((_NINE, _ONE), (_ONE, _NINE)), (0, 1, 1)),
        corrected=(
            "The product over all responses decides: the belief rises iff the responses together are more "
            "likely under the truth than under the belief. One response for the truth is outweighed by two equally "
            "strong ones against it."
        ),
        correction=("belief-amplification",),
        proof=(
            "The likelihoods of all responses multiply. One at .9/.1 for the truth and two at .1/.9 against it "
            "take 1/2 to 1/10; one for and six against take it to 1.69348e-5. A bound on one factor bounds "
            "nothing while the others are free."
        ),
    ),
    Claim(
        name="stability-theorem-4-2",
        title="Debate is right at least as often as a static majority vote",
        source=Source(
            STABILITY,
            "theorem 4.2, which the summary names and does not state; read as 'debate amplifies correctness compared "
            "to static ensembles'",
        ),
        statement=(
            "Let an odd number n of agents be right independently with probability p >= 1/2 each in round 0, and "
            "let the panel debate until all agree. The consensus is right at least as often as the majority of "
            "round 0. (The instances are debates in which agents hear only each other.)"
        ),
        latex=r"P(S_T = n) \ge P(S_0 > n/2)",
        assumptions=(
            Assumption("Every debate ends in unanimity", lambda case: case.reaches_unanimity),
            Assumption(
                "S_0 is Binomial(n, p), p >= 1/2, n odd (Condorcet)", lambda case: case.begins_as_condorcet
            ),
        ),
        status="refuted",
        quantities=CountChain.numbers,
        margin=lambda case: float(case.prob_right) - case.prob_majority_right,
        instances=condorcet_chains,
        counterexample=CountChain(
            (Fraction(1, 27), Fraction(2, 9), Fraction(4, 9), Fraction(8, 27)),
            (
                (_SURE, _NO, _NO, _NO),
                (2 * _THIRD, _NO, _NO, _THIRD),
                (_THIRD, _NO, _NO, 2 * _THIRD),
                (_NO, _NO, _NO, _SURE),
            ),
        ),
        corrected=(
            "Agents who hear only each other have no new evidence. Where the expected count stays, the consensus is "
            "right with the mean accuracy of one agent. The majority of round 0 is right at least as often. Debate "
            "can win where later rounds bring fresh evidence."
        ),
        correction=("theorem-d", "vote-beats-consensus"),
        proof=(
            "Three agents of accuracy 2/3 all take the vote of one seat drawn at random. The expected count of right "
            "votes stays, so that the consensus is right with probability 2/3. The majority of round 0 is right with "
            "probability 4/9 + 8/27 = 20/27."
        ),
    ),
    Claim(
        name="ks-stability-means-stable",
        title="A KS distance of 0 means that the debates are stable",
        source=Source(STABILITY, "adaptive stability detection: stop when D_t < .05 in two rounds running"),
        statement=(
            "When the distribution of correct counts does not move from one round to the next (D = 0), the "
            "debates have settled: no debate's majority changes."
        ),
        latex=r"D = 0 \;\Rightarrow\; \frac{1}{N}\,\#\{i : \mathrm{maj}(S_{i,t+1}) \ne \mathrm{maj}(S_{i,t})\} = 0",
        assumptions=(SAME_DEBATES, Assumption("D = 0", lambda rounds: rounds.distance == 0)),
        status="refuted",
        quantities=TwoRounds.numbers,
        margin=lambda rounds: 0 - rounds.share_flipped,
        instances=still_rounds,
        counterexample=TwoRounds(3, (0, 3), (3, 0)),
        corrected=(
            "D bounds what changed from below, not from above: at least a share D of the debates changed. To know "
            "that debates are stable, look at the debates: the share whose count or majority changed, with a "
            "bootstrap upper bound."
        ),
        correction=("ks-lemma",),
        proof=(
            "D compares two distributions over debates and forgets which debate is which. Swap half the debates "
            "at 0 with half at n: both distributions stay as they were, D = 0, and every majority flips."
        ),
    ),
)
