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
# # Mixtures: maximum likelihood and Bayesian fits
#
# A mixture of two Beta-Binomials says how the correct votes of a panel spread over debates. There are two ways to fit it:
# by maximum likelihood, in a fraction of a second, and as a Bayesian model, in some seconds. What does each show of the
# same debates, where do they agree, where do they not, and which number may be reported?
#
# The second half does the same for a difference between two rounds. The Bayesian fits need the extra `bayes`:
# `pip install "d3stats[bayes]"`.

# %%
import numpy as np
import pandas as pd
from IPython.display import HTML

import d3stats
from d3stats.plotting import use_style

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


debates = d3stats.datasets.load_slm7()
first = debates.counts()[1]
share = (first.successes * first.weights).sum() / (first.trials * first.weights).sum()
print(f"{first.n_obs:.0f} debates with votes in round 1, {share:.3f} of their votes are right")

# %% [markdown]
# The data are the log that d3stats ships: in each debate, seven agents of a small model answer one of 40 questions.
# `counts` reduces it to how many debates had so many right votes out of so many. Neither fit needs more.
#
# ## Maximum likelihood
#
# A component has a weight, a mean share of right votes, and a correlation `rho` of the votes of one debate: 0 is a fair
# coin for each vote, 1 is all or none.

# %%
em = d3stats.fit_beta_binomial_mixture(first, n_components=2, rng=1)
components = em.components.reset_index()[["component", "weight", "mean", "rho"]]
show(components)

# %% [markdown]
# Two things surprise. The second component has `rho` 1: in each of its debates all seven votes are right, or none is.
# That is the boundary of what a Beta-Binomial can be, and standard errors do not exist there. And about half of the
# debates seem to be of either kind. Is that a finding? No:

# %%
for note in em.notes:
    print("-", note)

# %% [markdown]
# The law of the counts is what data can determine; the components are one way of many to write it. So these numbers are
# reported instead, with intervals from the parametric bootstrap:

# %%
em_law = em.functionals(rng=1).reset_index()
show(em_law[["functional", "estimate", "low", "high", "level"]])

# %% [markdown]
# `mean` is the share of right votes, `spread` the standard deviation of that share between debates, and `P(S > n/2)` the
# chance of a right majority. The mean is .731 because all debates count alike in it. The share above is .737 because all
# votes count alike there, and debates with missing votes have fewer of them.
#
# ## The Bayesian fit
#
# The same likelihood, with priors: uniform weights, uniform means in ascending order, and `rho` from Beta(1, 3). Four
# chains of a thousand draws each.

# %%
from d3stats.models.bayes import fit_mixture

bayes = fit_mixture(first, rng=1)
parameters = bayes.to_frame()
show(parameters[["parameter", "mean", "sd", "low", "high", "rhat", "ess_bulk"]])

# %% [markdown]
# Can the draws be trusted? `rhat` compares the chains, and should lie below 1.01; `ess` is how many independent draws
# they are worth, and should exceed 400. The fit says it in words:

# %%
print("converged:", bayes.converged, "| problems:", "; ".join(bayes.problems) or "none")

# %% [markdown]
# ## Agreement of the two fits

# %%
names = {"mean": "accuracy", "spread": "spread", "P(S > n/2)": "majority"}
ml = em_law.set_index("functional")
twin = parameters.set_index("parameter")
rows = []
for theirs, mine in names.items():
    a, b = ml.loc[theirs], twin.loc[mine]
    rows.append({"quantity": mine, "ML": a["estimate"], "ML low": a["low"], "ML high": a["high"]})
    rows[-1] |= {"posterior mean": b["mean"], "low": b["low"], "high": b["high"]}
for k in (1, 2):
    a = em.components.loc[k]
    for mine, value in (
        (f"weight[{k - 1}]", a["weight"]),
        (f"mean[{k - 1}]", a["mean"]),
        (f"rho[{k - 1}]", a["rho"]),
    ):
        b = twin.loc[mine]
        rows.append({"quantity": mine, "ML": value, "ML low": np.nan, "ML high": np.nan})
        rows[-1] |= {"posterior mean": b["mean"], "low": b["low"], "high": b["high"]}
both = pd.DataFrame(rows)
show(both)

# %% [markdown]
# - **The law agrees.** Share of right votes, spread and chance of a right majority are the same to within .006, and so
#   are the intervals. Their meanings differ: 95 % of repeated experiments for the first, 95 % probability given data and
#   priors for the second.
# - **The components do not.** Maximum likelihood puts `rho` of the second component at 1, the posterior mean is near .5,
#   and the first weight may be anywhere between .08 and .70. Neither is wrong: seven votes per debate do not determine
#   the components. The blank cells are limits that maximum likelihood cannot give at the boundary.
# - **So report the law.** A sentence such as "half of the questions are hard" has no support in these data.
#
# The grey bars are the debates, the black points the posterior with its 95 % bands. On top are the means of the two
# components: wide bands, where those of the law below are narrow.

# %%
with use_style():
    bayes.plot()

# %% [markdown]
# ## Posterior predictive checks
#
# Logs drawn from the posterior are compared with the log itself in five numbers. Each observed number should lie within
# the limits.

# %%
checks = bayes.posterior_check()
show(checks[["statistic", "observed", "low", "high", "inside"]])

# %% [markdown]
# ## Agreement with many debates
#
# A prior matters where data say little. Here are 20,000 debates of 15 votes, drawn from two kinds that differ clearly:
# right with .25 and with .85 on average. Now the data determine the components.

# %%
truth = d3stats.BetaBinomialMixture(np.array([0.4, 0.6]), np.array([0.25, 0.85]), np.array([0.05, 0.1]))
right, times = np.unique(truth.sample(np.full(20_000, 15), rng=1), return_counts=True)
many_em = d3stats.fit_beta_binomial_mixture(right, np.full(len(right), 15), times, rng=1)
many_bayes = fit_mixture(right, np.full(len(right), 15), times, rng=1)
found = many_bayes.to_frame().set_index("parameter")
rows = []
for ours, theirs, true in (
    ("weight_1", "weight[0]", 0.4),
    ("mean_1", "mean[0]", 0.25),
    ("mean_2", "mean[1]", 0.85),
    ("rho_1", "rho[0]", 0.05),
    ("rho_2", "rho[1]", 0.1),
):
    row = {
        "parameter": theirs,
        "truth": true,
        "ML": many_em.params[ours],
        "standard error": many_em.bse[ours],
    }
    rows.append(row | {"posterior mean": found.loc[theirs, "mean"], "posterior sd": found.loc[theirs, "sd"]})
many = pd.DataFrame(rows)
show(many, digits=4)

# %%
apart = ((many["ML"] - many["posterior mean"]) / many["posterior sd"]).abs().max()
print(f"largest distance of the two fits: {apart:.2f} posterior standard deviations")
print("both converged:", many_em.converged and many_bayes.converged)

# %% [markdown]
# Estimates agree to a small fraction of their uncertainty, and so do standard error and posterior standard deviation. The
# truth lies within two standard errors of every estimate. Nothing was wrong with either fit above: 159 debates of seven
# votes say less.
#
# ## A Bayesian comparison
#
# Does the debate make decisions better? Take one model of the log, so that there is one debate per question, and
# compare the decision of round 3 with that of round 1 on the same question.

# %%
shipped = pd.read_csv(f"{d3stats.datasets.__path__[0]}/slm7.csv")
mistral = d3stats.as_trajectories(shipped[shipped["log"].str.endswith("Mistral-7B")])
pair = d3stats.compare(mistral, mistral, names=("round 1", "round 3"), round_number=[1, 3], rng=1)
twin = pair.only.bayes(rng=1)
estimates = [("cluster t", pair.only.difference), ("posterior, exact", twin.difference)]
show(
    pd.DataFrame(
        [
            {"method": name, "difference": e.value, "low": e.low, "high": e.high, "items": e.n}
            for name, e in estimates
        ]
    )
)

# %%
for note in pair.notes:
    print("-", note)

# %% [markdown]
# The differences are nearly the same, and the first interval is much wider. The note says why: of 37 questions only two
# changed, both for the worse. Student's t rests on these two alone and takes the wide quantile of two degrees of freedom.
# The posterior also uses the 35 questions that did not change, which show that changes are rare. Its prior has a part in
# that, so with so few changes neither interval should carry much weight.
#
# What only a posterior answers: how probable is it that round 3 is better, and that the difference is too small to
# matter?

# %%
print(f"P(round 3 is better)        = {twin.probability_above():.2f}")
print(f"P(difference within +-.05)  = {twin.probability_within(0.05):.2f}")

# %% [markdown]
# ## Choice between the two
#
# - Maximum likelihood is fast and needs no prior. It is the default of `fit`, `replay` and `report`. Look at its notes:
#   at the boundary its components mean nothing.
# - The Bayesian fit gives limits for everything, at the boundary too, answers questions in probabilities, and shows by
#   the width of a component's band that it is not determined. It costs seconds in place of milliseconds, and priors.
# - Where both agree, report either. Where they do not, the data do not tell, and that is the finding.
