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
# # A first debate log
#
# Seven copies of a small language model debate a question for three rounds. Forty questions were debated by four
# models each: 160 debates, 3,360 votes. The votes are shipped with d3stats, their source is in `slm7.md`.
#
# Three questions: how do the correct votes spread over debates, does that still change after the first round, and
# would stopping earlier have cost anything?

# %%
import d3stats
from d3stats.datasets import load_slm7
from d3stats.plotting import use_style

debates = load_slm7()
debates

# %% [markdown]
# ## What the votes say
#
# Trials vary: a vote that could not be read is missing, not wrong. The other reading is one argument away, and it
# matters here, because these models often answer in no readable form.

# %%
for missing in ("exclude", "wrong"):
    counts = debates.counts(missing)
    for r in counts.rounds:
        cells = counts[r]
        share = (cells.successes * cells.weights).sum() / (cells.trials * cells.weights).sum()
        print(f"missing={missing!r}  round {r}: {share:.3f} of the votes are correct, {cells.n_obs:.0f} debates")

# %% [markdown]
# ## How the correct votes spread, round by round
#
# Debates are far from Binomial: most questions are easy or hard for all seven at once. A mixture of two
# Beta-Binomials is fitted to each round. Its components are not identified by seven votes, so look at the
# distribution of counts, not at weights.

# %%
counts = debates.counts("wrong")
fit = d3stats.fit_rounds(counts, n_components=2, rng=1)
print(fit.summary())

# %% [markdown]
# ## When would one have stopped?
#
# Three rules and what they would have cost, against stopping at unanimity and against playing all three rounds.
# Intervals resample the forty questions, not the 160 debates.

# %%
result = d3stats.replay(
    debates, [d3stats.FixedRounds(1), d3stats.Unanimity(), d3stats.KSStability()], n_boot=500, rng=1
)
print(result.summary())

# %% [markdown]
# Two thirds of the rounds could have been saved against full depth by taking the first votes, at no loss of
# accuracy that 160 debates could show, though 6 % of the verdicts differ. Unanimity saves two fifths and differs in
# fewer than 1 %. The KS rule saves nothing: it asks for two small steps running, which three rounds cannot show
# before the last.

# %%
with use_style():
    result.plot()
