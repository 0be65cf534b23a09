"""Claims of the advocates paper: aggregation widens the gap, saves rounds and finds the strongest argument."""

from __future__ import annotations

from fractions import Fraction

from d3stats.theory.claim import ADVOCATES, Assumption, Claim, Source
from d3stats.theory.instances.gaps import POSTERIOR, GapDebate, debates
from d3stats.theory.instances.scores import (
    POSITIVE_LEVEL,
    WARM,
    Curves,
    Scores,
    Team,
    agreeing_teams,
    improving_scores,
    reached_curves,
    scores,
    teams,
)

__all__ = ["CLAIMS"]

_ONE, _HALF = Fraction(1), Fraction(1, 2)
_SIMILAR = Fraction(1, 10)
"""How far apart two scores of an argument may be and still "behave similarly": a tenth of the scale."""


def _scored_in_unit_interval(instance: Scores) -> bool:
    every = instance.first + instance.second
    return all(0 <= x <= 1 for x in every) and len(instance.first) == len(instance.second) >= 1


def _improves_in_order(instance: Scores) -> bool:
    one, two = instance.improvements
    return instance.single_gap == 0 or (one - two) * instance.single_gap > 0


_JUDGE = Assumption(
    "the judge scores every argument in [0, 1]; the aggregate of a side is its best argument",
    _scored_in_unit_interval,
)
_ORDERED = Assumption(
    "if g(f_1) > g(f_2) then alpha_1 > alpha_2, and conversely: what is ahead improves by more (the paper's proof); "
    "and g(f_1) != g(f_2) for the strict form",
    _improves_in_order,
)
_REACHED = Assumption("one advocate a side reaches the level", lambda c: c.rounds(c.single) <= len(c.single))
_HIGHER = Assumption(
    "theorem 1 is granted in every round: D_ma(r) > D_id(r)",
    lambda c: all(b > a for a, b in zip(c.single, c.several, strict=True)),
)
_CLOSE = Assumption(
    "inner scores behave like the judge's: within a tenth of the scale",
    lambda team: team.largest_difference <= _SIMILAR,
)
_AGREEING = Assumption(
    "every argument with the top inner score has the judge's top score", lambda team: team.agrees
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="advocates-theorem-1",
        title="Aggregation widens the gap of one debate",
        source=Source(ADVOCATES, "Theorem 1 in section 3.3, proof in Appendix B"),
        statement=(
            "With aggregates that score at least as well as every argument of their side, the gap of the aggregates "
            "exceeds that of single advocates: |g(f_1agg) - g(f_2agg)| > |g(f_1) - g(f_2)|, for all scores."
        ),
        latex=r"|g(f_{1,\mathrm{agg}}) - g(f_{2,\mathrm{agg}})| > |g(f_1) - g(f_2)|",
        assumptions=(_JUDGE,),
        status="holds under",
        quantities=Scores.numbers,
        margin=lambda s: float(abs(s.best_gap) - abs(s.single_gap)),
        slack=0.0,
        instances=scores,
        missing=(_ORDERED,),
        rescued=improving_scores,
        counterexample=Scores((_ONE, Fraction(0)), (Fraction(0), _ONE)),
        corrected=(
            "The missing assumption is nearly the conclusion. For an answer that is ahead by d the new gap is "
            "|d + alpha_1 - alpha_2|. It is larger than d exactly when alpha_1 > alpha_2, or when the order reverses "
            "by more than d. For six exchangeable U(0, 1) scores, three a side, the missing assumption holds with "
            "probability 1/6. The gap grows with probability exactly 41/144, which is .28472 (a published .2846 is "
            "wrong in its last digit), so most gaps shrink. The valid statements are about expectations: "
            "theorem-a, theorem-b."
        ),
        correction=("theorem-a", "theorem-b"),
        proof=(
            "The gap of the aggregates is (g(f_1) - g(f_2)) + (alpha_1 - alpha_2), and alpha_i >= 0 is all that the "
            "model gives. The proof then assumes that alpha_1 - alpha_2 has the sign of g(f_1) - g(f_2). An answer "
            "at the ceiling has alpha = 0 and cannot improve by more than another; at a tie, and when all advocates "
            "of a side score alike, the strict inequality fails too."
        ),
    ),
    Claim(
        name="advocates-theorem-2",
        title="Several advocates need fewer rounds",
        source=Source(ADVOCATES, "Theorem 2 in section 3.4, which appendix A.5 calls a conjecture"),
        statement=(
            "For every level, the rounds until scores are that far apart are fewer with several advocates: "
            "I_ma < I_id, even where theorem 1 is granted in every round. The margin is I_id - I_ma - 1."
        ),
        latex=r"I_{ma}(\varepsilon) < I_{id}(\varepsilon)",
        assumptions=(POSITIVE_LEVEL, _REACHED, _HIGHER),
        status="refuted",
        quantities=Curves.numbers,
        margin=lambda c: float(c.rounds_saved - 1),
        slack=0.0,
        instances=reached_curves,
        counterexample=Curves((_HALF,), (_ONE,), _HALF, 2),
        corrected=(
            "No more rounds, where the curve is nowhere lower (iteration-complexity). Rounds are not the price: with "
            "k advocates each costs k arguments a side, so compare k I_ma with I_id."
        ),
        correction=("iteration-complexity",),
        proof=(
            "The appendix to which the paper refers has no proof; section 3.4 argues that a maximum amplifies. "
            "A level that one advocate reaches in the first round leaves no round to save: I_ma = I_id = 1."
        ),
    ),
    Claim(
        name="advocates-theorem-3",
        title="The gap of an iterated debate exceeds 1 - eps",
        source=Source(ADVOCATES, "theorem 3 (gap convergence), appendix A.3 and B"),
        statement=(
            "After i iterations, in w of which the gap grew, the gap has the law Beta(alpha + w, beta + i - w). "
            "For every tolerance eps > 0, P(gap >= 1 - eps) >= 1 - 4 Var / eps^2; as the variance vanishes, the "
            "probability that the gap is nearly 1 grows to 1 with the number of iterations."
        ),
        latex=(
            r"P(\delta_i \ge 1-\varepsilon) \ge 1 - a_{i,\varepsilon},\qquad "
            r"a_{i,\varepsilon} = \frac{4\,\mathrm{Var}(\delta_i)}{\varepsilon^2}"
        ),
        assumptions=POSTERIOR,
        status="refuted",
        quantities=GapDebate.numbers,
        margin=lambda debate: debate.prob_near_one - debate.claimed_bound,
        instances=debates,
        counterexample=GapDebate(Fraction(1), Fraction(1), 5, 10, Fraction(2, 5)),
        corrected=(
            "The bound holds where the mean lies within eps/2 of 1. For every eps it does so in the end only if "
            "the gap grows in nearly every round, w/i -> 1. A gap that grows in a share s < 1 of the rounds "
            "leaves delta near s, and P(delta >= 1 - eps) goes to 0 for eps < 1 - s."
        ),
        correction=("gap-bound-near-one", "cantelli-bound"),
        proof=(
            "Chebyshev gives P(|delta - E| >= eps/2) <= 4 Var / eps^2. To pass from there to delta >= 1 - eps "
            "the proof needs |E - 1| < eps/2 and obtains it by saying that w approaches i. This does not follow "
            "from the assumptions; it is a second premise, which the statement omits. With w = i/2, alpha = beta or "
            "in the limit, the mean is 1/2; then, for eps < 1/2, the claimed bound goes to 1 and the probability to 0."
        ),
    ),
    Claim(
        name="advocates-aggregation",
        title="The aggregate is the strongest argument",
        source=Source(ADVOCATES, "aggregation property in section 3.3"),
        statement=(
            "An aggregator that puts forward the argmax of a softmax of its inner scores g', which behave like the "
            "judge's g, scores at least the best of its side: g(f_agg) >= max_j g(f_j)."
        ),
        latex=r"g(f_{\mathrm{agg}}) \ge \max_j g(f_j), \quad f_{\mathrm{agg}} = f_{\arg\max \mathrm{softmax}(g'/\tau)}",
        assumptions=(_CLOSE, WARM),
        status="holds under",
        quantities=Team.numbers,
        margin=lambda team: -float(team.shortfall),
        slack=0.0,
        instances=teams,
        missing=(_AGREEING,),
        rescued=agreeing_teams,
        counterexample=Team((Fraction(0), Fraction(1, 20)), (Fraction(1, 20), Fraction(0)), Fraction(1, 10)),
        corrected=(
            "The aggregate never scores above the strongest argument, and equals it exactly when the inner argmax is "
            "an argmax of the judge. The temperature does not matter, since a softmax keeps the order. Inner scores "
            "within eta of the judge's lose at most 2 eta (aggregation-loss)."
        ),
        correction=("aggregation-loss",),
        proof=(
            "The argmax of a softmax is the argmax of g' at every temperature. If it tops g as well, g(f_agg) = max "
            "g. The paper concludes this from similar scores, but similar scores may order two close arguments the "
            "other way, or tie them."
        ),
    ),
)
