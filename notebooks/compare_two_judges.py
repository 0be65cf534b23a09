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
# # Compare two judges
#
# Four judges saw the same pairs of answers. Is the new one better than the old one? Are they biased, do they agree,
# and how many questions would the next comparison take?
#
# So that every answer can be checked, the verdicts are simulated, and the truth is known. The judges *old* and *small*
# are right with probability .70, *new* and *careful* with .78; *new* leans to the answer that it is shown first,
# *careful* a little. There are 100 questions with five pairs of answers each. A question is hard or easy for all judges,
# and suits a judge or does not: so its five pairs go together. With verdicts of your own, a table with the same columns
# takes the place of `play`.

# %%
from importlib.util import find_spec

import numpy as np
import pandas as pd
from IPython.display import HTML
from scipy.optimize import brentq
from scipy.special import ndtr

import d3stats
from d3stats.inference import as_ratings, as_run
from d3stats.inference import pair as pair_runs
from d3stats.inference.bias import position_frame
from d3stats.plotting import plot_position_bias, use_style


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


JUDGES = {"old": (0.70, 0.0), "new": (0.78, 0.4), "careful": (0.78, 0.1), "small": (0.70, 0.0)}


def play(judges, questions=100, pairs=5, rng=None):
    """Draw verdicts, both orders of every pair; judges are accuracy and pull to the first place (probits)."""
    rng = np.random.default_rng(rng)
    question = np.repeat(np.arange(questions), pairs)
    n = len(question)
    better, once = rng.integers(
        0, 2, (2, n)
    )  # the better answer; the order in which the pair is shown at first
    ease = 0.5 * rng.normal(size=questions)[question] + 0.5 * rng.normal(size=n)
    tables = []
    for judge, (accuracy, pull) in judges.items():
        skill = brentq(lambda s: (ndtr(s + pull) + ndtr(s - pull)) / 2 - accuracy, -3, 3)
        suits = 0.5 * rng.normal(size=questions)[question]
        for order in (0, 1):
            lean = np.where(better == order, pull, -pull)
            right = skill + lean + ease + suits + 0.5 * rng.normal(size=n) > 0
            table = {"item": np.arange(n), "cluster": question, "judge": judge, "order": ["AB", "BA"][order]}
            table |= {"vote": np.where(right, better, 1 - better), "label": better, "first": once == order}
            tables.append(pd.DataFrame(table))
    verdicts = pd.concat(tables, ignore_index=True)
    return verdicts.replace({"vote": {0: "A", 1: "B"}, "label": {0: "A", 1: "B"}})


verdicts = play(JUDGES, rng=18)
show(verdicts.head())

# %% [markdown]
# ## Pairs first
#
# All judges saw the same items, so they are compared item by item, and what makes an item hard for all judges drops out.
# A run is a table with `item`, `vote` and `label`, and `cluster` for the question. Items that only one
# run has are left out, and a warning counts and names them. Take first one verdict per pair, in the order in which it
# happened to be shown.

# %%
once = {name: rows for name, rows in verdicts[verdicts["first"]].groupby("judge", sort=False)}
found = d3stats.compare(once["old"], once["new"], names=("old", "new"), rng=1)
print(found)

# %% [markdown]
# The effect comes first, then its interval, then what changed, and p-values last. The truth is .08: the estimate is too
# high by chance, and the interval holds it. The notes say that further columns of the tables were not needed, and that
# McNemar's test should not be used here; the next section shows why.
#
# ## Clusters, or what a hundred questions are worth
#
# There are 500 items and 100 questions. A test that counts items takes five looks at one question for five pieces of
# evidence. The small judge is no better than the old one: both are right with probability .70.

# %%
small = d3stats.compare(once["old"], once["small"], names=("old", "small"), rng=1).only
alone = [table.drop(columns="cluster") for table in (once["old"], once["small"])]
items = d3stats.compare(*alone, names=("old", "small"), rng=1).only
print("questions:", small.difference)
print("items:    ", items.difference)
print("sign flip of questions, exact:", round(small.p("sign flip"), 3))
print("McNemar on items:             ", round(small.p("McNemar exact"), 3))

# %% [markdown]
# Counted by items the small judge is better beyond chance, and that is false. This draw was picked to show it. How
# often does it happen? Two equal judges, 400 times, all tests at 5 %:

# %%
equal = {"old": (0.70, 0.0), "small": (0.70, 0.0)}
tests = ["cluster t", "sign flip", "McNemar exact", "McNemar mid-p"]
rejected = []
for seed in range(400):
    drawn = play(equal, rng=1000 + seed)
    both = [rows for _, rows in drawn[drawn["first"]].groupby("judge", sort=False)]
    made = d3stats.compare(*both, rng=1).only
    rejected.append([made.p(test) < 0.05 for test in tests])
show(pd.DataFrame({"test": tests, "share of false alarms": np.mean(rejected, axis=0)}))

# %% [markdown]
# A test at 5 % should raise a false alarm in 5 % of the comparisons, and 400 comparisons show that to within .02. The
# tests that know the questions do. McNemar's raise one in every sixth comparison, because they take five pairs of one
# question for independent. With one item to a question McNemar's exact test *is* the sign flip.
#
# ## Several judges
#
# Three comparisons with the old judge are three chances to be wrong. `family="holm"` (the default) holds the chance of
# any false claim; `"bh"` holds the share of false ones. Intervals are one at a time. With `margin` the figure has a band
# of differences that are too small to matter.

# %%
several = d3stats.compare(*once.values(), names=list(once), baseline="old", margin=0.05, rng=1)
show(several.to_frame()[["name", "value", "low", "high", "p_value", "p_adjusted"]], digits=4)

# %%
with use_style():
    several.plot()

# %% [markdown]
# ## Not worse
#
# The small judge is cheap. The question is not whether it is better, but whether it is *worse* by more than is
# acceptable. The limit here is .05, chosen before looking. "Not significant" does not answer this.

# %%
print(small.noninferior(0.05).conclusion)
print(small.equivalent(0.05).conclusion)

# %% [markdown]
# The small judge is not worse by as much as that, and nothing shows that it is the same. With so few questions both can
# hold at once. (In truth the two judges are equally good: this draw flatters the small one, see above.)
#
# ## Position bias
#
# Every pair was shown both ways. *Consistency*, the same winner both ways, falls with bias and with plain noise alike;
# the direction of the inconsistent pairs separates the two.

# %%
audits = {name: d3stats.position_bias(verdicts, judge=name, rng=1) for name in JUDGES}
rows = []
for name, audit in audits.items():
    effect, consistency = audit.effect, audit["swap consistency"].value
    rows.append(
        {
            "judge": name,
            effect.name: effect.value,
            "low": effect.low,
            "high": effect.high,
            "consistency": consistency,
        }
    )
show(pd.DataFrame(rows))

# %%
with use_style():
    plot_position_bias(position_frame(audits))

# %% [markdown]
# The first-slot excess is the share of verdicts for the first place, minus one half; 0 is no bias. The new judge leans to
# the first place; the bar is the consistency of a judge that never reads the answers and names the first place as often.
# The accuracy of the new judge depends on the place of the right answer:

# %%
for part in ("right answer shown first", "right answer shown second", "first minus second"):
    print(audits["new"][f"accuracy, {part}"])

# %% [markdown]
# Both orders of every pair are there, so a bias can be averaged out, and the noise with it. An item that a run
# answered twice counts with its mean; McNemar is then refused, as items are no longer right or wrong.

# %%
every = {name: rows for name, rows in verdicts.groupby("judge", sort=False)}
both = d3stats.compare(every["old"], every["new"], names=("old", "new"), rng=1)
print("one order:  ", found.difference)
print("both orders:", both.difference)

# %% [markdown]
# ## Agreement
#
# Kappa takes off what chance alone agrees on. The label may be one of the raters. The classical error takes items as
# independent and is too small, as above.

# %%
votes = verdicts[verdicts["first"]].rename(columns={"judge": "rater"})
table = d3stats.agreement(votes, raters=["label", *JUDGES])
with use_style():
    table.plot()
for kind in ("classical", "cluster t"):
    print(d3stats.cohen_kappa(as_ratings(votes, raters=["label", "old"]), kind=kind).estimate)

# %% [markdown]
# ## Number of questions for the next comparison
#
# The noise of this comparison is a pilot. It is an estimate too, so plan for more questions than it says. The effect to
# plan for is the smallest one that matters, say .04; not the one just found.

# %%
pilot = pair_runs([as_run(once[name], name=name) for name in ("old", "new")])
planned = d3stats.plan_comparison(pilot, 0.04)
print(planned)

# %% [markdown]
# The five pairs of a question go together, so that more pairs to a question help less than more questions. With the
# discordance of the pilot, and the correlation of its differences within a question:

# %%
rows = []
for pairs in (1, 5, 20):
    icc = planned.icc if pairs > 1 else None
    made = d3stats.sample_size(0.04, discordance=planned.discordance, cluster_size=pairs, icc=icc)
    rows.append(
        {"pairs to a question": pairs, "questions": made.n_questions, "pairs": made.n_questions * pairs}
    )
show(pd.DataFrame(rows))

# %% [markdown]
# Twenty pairs to a question in place of five take a third fewer questions and nearly three times as many pairs. The row
# with five says 480 questions and the plan above 457: the plan takes the variance that the pilot shows, the table a formula for right
# and wrong answers with the same discordance and correlation.

# %% [markdown]
# ## Probability of a gain
#
# A p-value does not give this probability. A posterior does, given a prior. With one pair to a question, here the first
# of each, it is exact; with several `found.only.bayes(rng=1)` samples it, which takes longer. The extra `bayes` is
# needed.

# %%
if find_spec("pymc") and find_spec("arviz"):
    one_each = [once[name].groupby("cluster").head(1) for name in ("old", "new")]
    fit = d3stats.compare(*one_each, names=("old", "new"), rng=1).only.bayes(rng=1)
    print(fit.difference)
    print(f"P(better) = {fit.probability_above():.3f}, P(within .05) = {fit.probability_within(0.05):.3f}")
else:
    print('not installed: pip install "d3stats[bayes]"')

# %% [markdown]
# ## Reporting
#
# Report the difference with its interval and its kind, the number of items *and* of questions, and how many items were
# gained and lost. Report also the family of comparisons and how it was corrected, what was left out, and the margin if
# there was one. `several.to_latex()` is the table, `found.to_dict()` all of it.

# %%
print(several.to_latex())
