"""Claims of Debate or Vote: beliefs are martingales while agents talk, and a vote of independent agents helps."""

from __future__ import annotations

from d3stats.theory.claim import DEBATE_OR_VOTE, Assumption, Claim, Source
from d3stats.theory.instances.beliefs import COUNTING_AGENTS, Listeners, level_listeners, listeners
from d3stats.theory.instances.votes import Ballot, ballots

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="debate-or-vote-theorem-1",
        title="Debate is a martingale: talk does not change an agent's expected belief",
        source=Source(
            DEBATE_OR_VOTE,
            "martingale of beliefs, stated in the abstract, without conditions; the number is ours",
        ),
        statement=(
            "In the Dirichlet-compound model agent i answers by its belief mu_i = alpha_i / A_i and adds the "
            "answers of those whom it hears to its counts. Its belief in the right answer is a martingale: "
            "E[mu_i' | all counts] = mu_i. (The margin is minus the largest |E mu_i' - mu_i|.)"
        ),
        latex=r"\mathbb{E}[\mu_{i,t+1} \mid \mathcal{F}_t] = \mu_{i,t}",
        assumptions=(COUNTING_AGENTS,),
        missing=(
            Assumption(
                "Those whom an agent hears believe on average what it believes itself",
                lambda panel: panel.heard_beliefs == panel.beliefs,
            ),
        ),
        status="holds under",
        quantities=Listeners.numbers,
        margin=lambda panel: float(-max(map(abs, panel.drifts))),
        slack=0.0,
        instances=listeners,
        rescued=level_listeners,
        counterexample=Listeners(((1, 1), (2, 1)), ((1,), (0,))),
        corrected=(
            "An agent's belief is a martingale in a round iff the mean belief of those whom it hears equals its "
            "own. Agents who start alike satisfy this in the first round, and on average over all outcomes in every "
            "round. Otherwise each drifts towards those it hears. The panel's mean then stays only if strengths are "
            "equal and all agents hear and are heard equally often."
        ),
        correction=("panel-mean-martingale",),
        proof=(
            "Agent i hears d answers, and the answer of j is right with probability mu_j. For all answers A_i "
            "grows by d, so E mu_i' = (A_i mu_i + sum_j mu_j) / (A_i + d) and E mu_i' - mu_i = "
            "d / (A_i + d) (mean of mu_j - mu_i). This is 0 iff the mean equals mu_i or d = 0. When two "
            "agents with counts (1, 1) and (2, 1) hear each other, the first goes from 1/2 to 5/9."
        ),
    ),
    Claim(
        name="debate-or-vote-theorem-2",
        title="A vote of independent agents amplifies",
        source=Source(
            DEBATE_OR_VOTE,
            "gain from majority voting, stated in the abstract, made precise here; the number is ours",
        ),
        statement=(
            "Let n agents answer independently with the same probabilities of m answers, as they do before any "
            "debate when their counts are equal. Let the right answer be likelier than any other by at least a "
            "lead D > 0. The answer with most votes (ties drawn evenly) is right with at least the probability of "
            "one agent, and with at least 1 - (m - 1) exp(-n D^2 / 2)."
        ),
        latex=r"P(\hat y_{\mathrm{vote}} = y) \ge \max\left\{p_1,\ 1 - (m-1)\, e^{-n\Delta^2/2}\right\}",
        assumptions=(
            Assumption("The right answer is the likeliest", lambda ballot: ballot.lead > 0),
            Assumption("At least one agent, independent and alike", lambda ballot: ballot.n >= 1),
        ),
        status="holds",
        quantities=Ballot.numbers,
        margin=lambda ballot: min(
            float(ballot.plurality - ballot.accuracy), float(ballot.plurality) - ballot.hoeffding_bound
        ),
        instances=ballots,
        proof=(
            "Bound: votes for the right answer minus votes for rival k are a sum of n terms in [-1, 1] with mean "
            ">= D. By Hoeffding the sum is <= 0 with probability <= exp(-n D^2 / 2). Add over the m - 1 rivals. "
            "One agent: P(vote right) - p_1 is the mean of f(c_1) - c_1/n, where c_1 counts the right votes. Here "
            "f = 1/(number of leaders) if c_1 leads, else 0. Take all relabellings of one result. Over the labels "
            "f(c) - c/n sums to 0. It is >= 0 where c is the largest count and <= 0 elsewhere. Let c_1 < c_k. "
            "Exchanging the labels 1 and k does not lower the probability, because p_1 >= p_k gives "
            "p_1^(c_k) p_k^(c_1) >= p_1^(c_1) p_k^(c_k). So results with a large c_1 weigh more and the mean is >= 0."
        ),
    ),
)
