# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorems on debate: proofs and counterexamples
#
# Papers on debate cite theorems: more advocates separate two answers, a growing gap makes the verdict sure, debate
# is a martingale. This notebook is for a reader who is about to cite one. It shows which hold, which fail and on
# what, and what to use instead. Every number is computed in the cell beside the sentence that needs it.
#
# Four sources: D3 (Harrasse, Bandi and Bandi, arXiv 2410.04663), its older version ("advocates"), stability
# detection (Hu et al., arXiv 2510.12697) and Debate or Vote (arXiv 2508.17536). Claims that this package states
# and proves in their place are listed under its own name.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML

import d3stats
from d3stats.plotting import TWO_COLUMNS, use_style
from d3stats.theory import claim, contents, find_counterexample, page, survive

# %matplotlib inline


def show(frame, digits=3):
    """Show a data frame without its row numbers; a blank cell is a value that does not exist."""

    def written(value):
        if pd.isna(value):
            return ""
        if isinstance(value, (bool, np.bool_)):
            return "yes" if value else "no"
        if isinstance(value, (float, np.floating)) and abs(value) < 1000:
            return f"{value:.{digits}f}"
        return f"{value:,.0f}" if isinstance(value, (int, float, np.integer, np.floating)) else str(value)

    return HTML(frame.map(written).to_html(index=False, border=0))


studies = Path(d3stats.__file__).parents[1] / "analysis"  # tables of the studies on real logs, in a checkout

table = contents().to_frame().rename(columns={"evidence": "smallest counterexample, or examples survived"})
with pd.option_context("display.max_colwidth", None):
    shown = show(table)
shown

# %% [markdown]
# *Refuted*: an instance satisfies everything that the source assumes and contradicts what it concludes. *Holds
# under*: the same, and true once a missing condition is added. *Holds*: proved in a sketch on its page, and not
# contradicted by any instance that was generated; surviving is no proof.

# %%
show(pd.crosstab(table["source"], table["verdict"]).rename_axis(columns=None).reset_index())

# %% [markdown]
# The counterexample was not only written down. A search that is not told of it draws instances to the assumptions,
# takes the first on which the claim fails, and makes it smaller:

# %%
for name in ("d3-concentration-bound", "d3-theorem-3-absolute", "more-advocates-rank-better"):
    print(find_counterexample(claim(name), rng=1))

# %% [markdown]
# The margin is what is claimed to be at least 0; the claim fails by so much.
#
# `d3stats theorems NAME` prints all that is known of one claim; `d3stats theorems --verify` checks all of them
# again.
#
# ## The gap posterior
#
# D3 counts a round as a success when the gap between the two scores grew, and puts a Beta posterior on the chance
# of a success. What is it a posterior of? Three debates of fifty rounds: gaps that jump about near .02, gaps that
# jump about near .95, and a gap that creeps up to .1.

# %%
from d3stats.models.gaps.beta import BetaGap, contraction_table, gap_posterior
from d3stats.models.gaps.signed import signed_gap_posterior

rng = np.random.default_rng(1)
debates = {
    "near .02": 0.02 + 0.01 * rng.random((1000, 51)),
    "near .95": 0.95 + 0.01 * rng.random((1000, 51)),
    "creeps to .1": np.linspace(0, 0.1, 51)[None, :],
}
rows = [(name, gaps[:, -1].mean(), gap_posterior(gaps).mean[:, -1].mean()) for name, gaps in debates.items()]
show(pd.DataFrame(rows, columns=["gaps", "last gap", "posterior mean"]))

# %% [markdown]
# The posterior is one of the probability *that the gap grows*. It shows neither how large the gap is nor who leads.
#
# The bound on P(delta >= 1 - eps) that comes with it says one minus four variances over eps squared. Where the
# mean is not near one, it is no bound. On the left the gap grew in every round; on the right in half of the
# rounds.

# %%
every = contraction_table(np.arange(1, 61), np.arange(1, 61), eps=0.3)
half = contraction_table(np.arange(1, 61) // 2, np.arange(1, 61), eps=0.3)
with use_style():
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 3.0), layout="constrained")
    for ax, debate in zip(axes, (every, half), strict=True):
        d3stats.plotting.plot_gap_contraction(debate, ax=ax)

# %%
show(half.iloc[[9, 29, 59]][["round", "exact", "claimed", "premise", "cantelli", "sub_gaussian"]], digits=4)

# %% [markdown]
# The numbers are those of the right panel. `claimed` should be a lower bound of `exact`, and lies far above it; its
# premise, a mean near one, does not hold. Cantelli's and the sub-Gaussian bound are 0. They guarantee nothing, and that
# is true.
#
# The variance, which D3 says falls with every round, may rise. Here the gap grew nine times, then once did not:

# %%
before, after = BetaGap.from_successes(9, 9), BetaGap.from_successes(9, 10)
print("variance after 9 growths:", before.var.round(5), " and one round without:", after.var.round(5))
print("would a failure lower it?", bool(before.failure_lowers_variance()))

# %% [markdown]
# To ask who leads, keep the sign. Two debates with the same absolute gaps, so with the same gap posterior; in the
# first answer 1 leads throughout, in the second the lead changes hands every round:

# %%
size = np.array([2.0, 3, 4, 5, 6, 7])
pair = np.array([size, size * [1, -1, 1, -1, 1, -1]])
signed = signed_gap_posterior(pair, scale=20)
found = {"P(the gap grows), mean": gap_posterior(pair).mean[:, -1]}
found |= {"P(answer 1 is better)": signed.prob_better[:, -1]}
found |= {"P(it leads in the next round)": signed.predictive().prob_positive[:, -1]}
show(
    pd.DataFrame(
        [(name, *each) for name, each in found.items()], columns=["", "answer 1 leads", "the lead changes"]
    )
)

# %% [markdown]
# A lead that lasts and one that changes hands look the same to the posterior of the growing gap, and not to the
# signed one. That one takes rounds as independent. Rounds that read each other are not, and there it is too sure.
#
# On real critics' scores (`analysis/gap_reading`), does the leader of a debate whose gap grew turn out right more
# often? The area is the chance that a right leader has a higher number than a wrong one; a half is no information.

# %%
reading = pd.read_csv(studies / "gap_reading" / "reading.csv")
areas = reading[(reading["sides"] == "agents") & reading["name"].str.startswith("area")]
show(areas[["name", "estimate", "low", "high"]], digits=2)

# %% [markdown]
# Every interval holds a half: on 100 hard questions none of the three is seen to say who is right.
#
# ## The best of k
#
# D3's Theorems 2 and 3 take the best of k advocates a side. They say that the gap between the two best scores grows with
# k if one answer's scores dominate (it is more likely to pass any mark). The page of the claim, with its counterexample
# computed again:

# %%
page("d3-theorem-3-absolute")

# %% [markdown]
# Three theorems hold instead. **A** is about *excess wealth*: how far an answer's scores reach above their own quantiles.
# If the better answer's is nowhere below the other's, the gap of the means is, for every k, at least that of one
# advocate. **B**: the expected absolute gap grows if the best of k spreads more than one score, the gap of the means
# grows, and the better answer is ahead at least half of the time. **C**: with a ceiling on the scores the gap tends to
# the distance of the ceilings. Each survives a hundred instances drawn to its conditions, which is no proof; the proofs
# are on the pages:

# %%
for name in ("theorem-a", "theorem-b", "theorem-c"):
    print(survive(claim(name), 100, rng=1))

# %% [markdown]
# A least margin of -8.9e-16 is 0 with the rounding of floating-point numbers: an instance in which both sides are equal.
#
# ### Conditions for your own scores
#
# A rubric from 1 to 20, and two answers of which the better one dominates. In place of these two tables put the
# shares of your own scores.

# %%
from d3stats.models.separation.excess import excess_wealth_table, gain_table
from d3stats.models.separation.orders import ceiling_limit, gap_growth_conditions
from d3stats.models.separation.laws import beta, exponential, normal, uniform, weibull
from d3stats.models.separation.orders import dominates, excess_wealth_order
from d3stats.models.separation.best_of_k import separation


def rubric(law):
    """Twenty equal bins of a law on [0, 1]: score to probability."""
    return dict(zip(range(1, 21), np.diff(law.cdf(np.linspace(0, 1, 21))), strict=True))


def conditions(better, other, k):
    """Return the assumption of the claim, those of theorems A and B, and where theorem C ends."""
    b = gap_growth_conditions(better, other, k)
    rows = [
        ("claim", "dominance", dominates(better, other)),
        ("A", "excess wealth", excess_wealth_order(better, other)),
    ]
    rows += [("B", "(i) best of k spreads more", b.spread), ("B", "(ii) gap of the means grows", b.mean_gap)]
    rows += [
        ("B", "(iii) ahead half of the time", b.ahead),
        ("", f"so: the gap grows at k = {k}", b.conclusion),
    ]
    return pd.DataFrame(
        [(who, what, check.holds, round(check.margin, 4) + 0.0) for who, what, check in rows],
        columns=["of", "condition", "holds", "margin"],
    )


better, other = rubric(beta(5, 2)), rubric(beta(3, 2))
print("as k grows, theorem C: the gap tends to", ceiling_limit(better, other))
show(conditions(better, other, k=5), digits=4)

# %% [markdown]
# A condition holds where its margin is at least 0; a margin of 0 is equality somewhere. The claim's assumption is met and
# its conclusion is not. The conditions of A and B fail and say so. A law without
# a ceiling, for contrast:

# %%
show(conditions(exponential(2), exponential(1), k=5), digits=4)

# %% [markdown]
# Excess wealth shows at a glance which case one is in. On the left is the rubric. Except for the lowest scores the weaker
# answer can rise further, so the best of k gains more for it. On the right are the long tails.

# %%
with use_style():
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 2.7), layout="constrained")
    for ax, (one, two) in zip(axes, ((better, other), (exponential(2), exponential(1))), strict=True):
        d3stats.plotting.plot_excess_wealth(
            excess_wealth_table(one, two),
            gain_table(one, two),
            first_label="better answer",
            second_label="other answer",
            ax=ax,
        )

# %% [markdown]
# ### The gap is the wrong target
#
# A verdict is not a gap. A verdict depends on how often the better answer has the higher best score:

# %%
pairs = {
    "rubric": (better, other),
    "U(.5, 1) against U(0, 1)": (uniform(0.5, 1), uniform()),
    "N(1, 1) against N(0, 1)": (normal(1), normal()),
    "exponential, mean 2 against 1": (exponential(2), exponential(1)),
}
ks = [1, 2, 5, 10, 50]
rows = []
for name, (one, two) in pairs.items():
    found = separation(one, two, ks)
    for quantity, values in (("gap", found.expected_gap), ("ranked right", found.ranking)):
        rows.append(
            {"scores": name, "quantity": quantity} | {f"k = {k}": v for k, v in zip(ks, values, strict=True)}
        )
show(pd.DataFrame(rows))

# %% [markdown]
# On the rubric the gap shrinks from the start while the ranking improves up to some ten advocates. At fifty both answers
# are at the ceiling, ties decide, and the ranking is worse than with one. For normal scores the gap shrinks and the
# ranking improves all the way. Where each happens, for five advocates against one; the right ranking is the one that
# single advocates give more often:

# %%
from d3stats.models.separation.best_of_k import phase_table

ceilings = phase_table(
    lambda floor, room: (uniform(floor, 1), uniform(0, 1 + room)),
    {"floor of the first": np.linspace(0.02, 0.98, 25), "extra room of the second": np.linspace(0, 1, 25)},
    k=5,
)
tails = phase_table(
    lambda shape, ratio: (weibull(shape, ratio), weibull(shape, 1)),
    {"Weibull shape": np.linspace(0.4, 4, 25), "ratio of the scales": np.linspace(1.1, 4, 25)},
    k=5,
)
with use_style():
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 3.4), layout="constrained")
    d3stats.plotting.plot_phase_map(ceilings, title="U(c, 1) against U(0, 1 + s), k = 5", ax=axes[0])
    d3stats.plotting.plot_phase_map(tails, title="Weibull scores, k = 5", ax=axes[1])

# %% [markdown]
# With ceilings (left) all four combinations of better and worse occur. On the lowest row the ceiling is common:
# both get worse. Scores without a ceiling (right) are ranked better throughout, though for the steeper shapes the
# gap shrinks where the two answers are close.
#
# ### From logged scores
#
# Laws are one thing; a log has items, and advocates that see the same item. Here 400 items are drawn, each with a
# difficulty of its own, scored by six advocates a side from 1 to 20. Put your own table of items by advocates in
# its place; a missing score is NaN.

# %%
from d3stats.models.separation import advocate_payoff, effective_advocates, score_correlation
from d3stats.models.separation.logged import separation_from_scores


def scored(level, rng):
    """400 items by six advocates: what the advocates of one item share, and what is their own."""
    return np.clip(np.round(level + rng.normal(0, 2, (400, 1)) + rng.normal(0, 1.5, (400, 6))), 1, 20)


rng = np.random.default_rng(4)
for_better, for_other = scored(16, rng), scored(14, rng)
show(conditions(for_better.ravel(), for_other.ravel(), k=6), digits=4)

# %%
logged = separation_from_scores(for_better, for_other, [1, 2, 6], rng=1).to_frame()
wanted = ["expected_gap", "ranking", "gap_change", "ranking_change"]
show(logged.loc[logged["quantity"].isin(wanted), ["k", "quantity", "estimate", "low", "high"]])

# %% [markdown]
# The changes are against k = 1, where they are 0 by definition and have no interval. Dominance holds, the gap shrinks
# with k, and the ranking improves: here more advocates help, and the gap does not
# show it.
#
# ### Worth in independent advocates
#
# Advocates of one model think alike. The correlation of their scores says how many independent ones they are
# worth; by the variance of their mean and by the mean of their best, which are two questions.

# %%
alike = score_correlation(for_better, rng=1)
print(f"correlation {alike.estimate:.3f} [{alike.low:.3f}, {alike.high:.3f}]")
for kind in ("variance", "maximum"):
    worth = effective_advocates(6, max(alike.estimate, 0.0), kind, for_better.ravel())
    print(f"six advocates are worth {worth:.2f} by the {kind}")

# %% [markdown]
# When does another one stop paying? Ten dollars per million tokens, 500 tokens an advocate, two dollars for a
# right verdict (the pooled scores as the law, and their correlation taken for that of normal ranks):

# %%
cost = dict(prices=10.0, tokens_per_advocate=500.0, value_of_right=2.0)
for rho in (0.0, alike.estimate):
    pays = advocate_payoff(for_better.ravel(), for_other.ravel(), range(1, 21), rho=rho, **cost)
    print(f"correlation {rho:.2f}: {pays.pays_until} advocates a side; {pays.reason}")
pays = advocate_payoff(uniform(0.5, 1), uniform(), range(1, 6), **cost)
print(f"under a common ceiling: {pays.pays_until}; {pays.reason}")

# %% [markdown]
# ### Real scores
#
# `analysis/max_of_k` did this for published scores of several prompts (LLMBar) and several reviewers (PRD), with
# questions resampled. Its table, at the greatest k of each panel, as changes from one advocate to all, in shares
# of the rubric:

# %%
real = pd.read_csv(studies / "max_of_k" / "separation.csv")
last = real[real["k"] == real.groupby("panel")["k"].transform("max")]
last = last[last["quantity"].isin(["gap_change", "ranking_change"])]
show(last[["panel", "k", "quantity", "estimate", "low", "high"]])

# %% [markdown]
# The gap shrinks in every panel. The ranking gets worse for GPT-4's prompts, which share a ceiling, and better for
# PRD's five reviewers.
#
# ## Martingales
#
# Debate or Vote says that debate is a martingale: talking changes who is right, not how many on average. Its
# theorem is about beliefs, and one agent's belief is a martingale only if those whom it hears believe on average
# what it believes (`debate-or-vote-theorem-1`). A log shows votes. For the share of right votes the claim can be
# tested; in the voter world, where an agent copies a seat at random, it is true by construction. Then comes the
# bundled log, debates of seven agents of a small model on 40 questions.

# %%
from d3stats.models.beliefs.martingale import martingale_test
from d3stats.worlds import simulate_debates
from d3stats.worlds import Voter

world = Voter(panel=7, accuracy=0.65)
voters = martingale_test(simulate_debates(world, 160, 3, rng=1))
models = martingale_test(d3stats.datasets.load_slm7())
for name, test in (("voter world", voters), ("bundled log", models)):
    print(f"{name}\n{test.summary()}\n")

# %% [markdown]
# The drift of the voter world is 0 within its noise, as it is by construction. That of the small models is above 0. The
# figure shows both by how many of a panel are right.

# %%
with use_style():
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 2.7), layout="constrained", sharey=True)
    for ax, (name, test) in zip(axes, (("voter world", voters), ("bundled log", models)), strict=True):
        test.plot(ax=ax).set_title(name)
    axes[1].set_ylabel("")

# %% [markdown]
# A martingale's points lie on the zero line, and its panels never leave the ends. Those of the small models do
# neither: the share of right votes rises a little, split panels follow their larger side, and some panels leave
# the ends:

# %%
show(models.boundary)

# %% [markdown]
# One misread vote counts as a departure here, and 40 questions cannot see a drift of a hundredth.
# `analysis/martingale` has seven logs, with corrections for looking at seven. The mean drift of the first
# exchange, in those whose questions were not picked for a failed majority:

# %%
drift = pd.read_csv(studies / "martingale" / "drift.csv")
first = drift[(drift["transition"] == "1-2") & (drift["picked"] == "no")]
show(first[["log", "n_clusters", "drift", "low", "high", "p_value_holm"]])

# %% [markdown]
# ### Theorem D: what a martingale would cost
#
# If the count is a martingale and the debate runs until all agree, the chance that they agree on the right answer
# is the mean accuracy of *one agent* in the first round (optional stopping). So debating to unanimity throws away
# what the majority of the first round had over one agent. Played out, ten thousand debates of the voter world to
# the end:

# %%
from d3stats.models.beliefs.latent import vote_or_consensus

right, votes = simulate_debates(world, 10_000, 100, rng=3).successes_trials()
agreed = np.isin(right[:, -1], (0, 7))
end = right[:, -1] == 7
counted = np.bincount(right[:, 0], minlength=8) / len(right)
theorem = vote_or_consensus(pmf=counted)
shares = {
    "all agree at the end": agreed.mean(),
    "unanimously right at the end": end.mean(),
    "its Monte Carlo error": end.std() / 100,
    "one agent, first round": right[:, 0].mean() / 7,
    "first majority right": (right[:, 0] > 3).mean(),
    "consensus right, by the theorem from the first round": theorem.consensus,
    "majority right, by the same counts": theorem.majority,
}
show(pd.DataFrame(shares.items(), columns=["share of debates", "value"]), digits=4)

# %% [markdown]
# Real debates are no such martingale, so the theorem does not condemn them; the question is put to the verdict itself.
# The next table shows the gain over the majority of the first vote (`analysis/amplification`, 95 % intervals over
# questions):

# %%
gain = pd.read_csv(studies / "amplification" / "amplification.csv")
show(gain[["log", "picked", "first", "final", "gain", "gain_low", "gain_high", "p_gain_holm"]])

# %% [markdown]
# After correction no log shows a gain of the verdict, and none excludes one of a hundredth. "Picked" logs hold
# questions chosen because a majority had failed on them, and say nothing about others.
#
# ## Replacements

# %%
instead = [
    ("posterior of the gap, to say who leads", "P(answer 1 is better)", "models.signed_gap, models.wins"),
    ("1 - 4 Var / eps^2", "the exact probability; Cantelli if a bound is needed", "models.gap"),
    ("the variance falls every round", "its cap does; ask when the variance does", "models.gap"),
    ("dominance: more advocates separate", "check theorems A and B; with a ceiling, C", "models.separation"),
    ("the expected gap", "how often the better answer is ranked first", "models.separation"),
    ("k advocates", "what k correlated ones are worth, and cost", "models.separation"),
    ("debate is, or is not, a martingale", "test it, questions as clusters", "models.beliefs"),
    ("debate until all agree", "the first majority is the one to beat", "d3stats.replay, d3stats.plan"),
]
show(pd.DataFrame(instead, columns=["in place of", "use", "where"]))

# %% [markdown]
# The results have limits. A claim is true or false as it was made precise here, and each page says how that was done. The
# real logs are a few hundred questions and, but for GPT-4's ratings, small or older models. The studies' findings list
# the limitations of each.
