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
# # From your own CSV to a report
#
# You have a table of votes. What does it say, is it read as you meant it, and how do you get a page to send around?
#
# The table of this notebook is written in the first cell, so that the notebook runs anywhere. Seven copies of a small
# language model debated a question for three rounds; forty questions were debated by four models each. That makes 160
# debates and 3,360 votes, which d3stats ships (their source is in `slm7.md`). The columns get other names than d3stats
# uses, semicolons separate them, and rounds count from 0, as in many tables of users. With a file of your own, leave the
# cell out and put its path into the next one.

# %%
import tempfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import HTML

import d3stats
from d3stats.plotting import use_style

# %matplotlib inline
folder = Path(tempfile.mkdtemp())
path = folder / "my_debates.csv"
shipped = pd.read_csv(files("d3stats.datasets") / "slm7.csv", dtype=str)
own = pd.DataFrame(
    {
        "debate_id": shipped["debate"],
        "qid": shipped["question"],
        "turn": shipped["round"].astype(int) - 1,
        "model": "agent " + shipped["agent"],
        "answer": shipped["vote"],
        "gold": shipped["label"],
    }
)
own.to_csv(path, sep=";", index=False)


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


show(own.head(8).fillna(""))

# %% [markdown]
# A row is one vote. `answer` is empty where no vote could be read from what the model wrote: such a vote is missing,
# not wrong.
#
# ## Reading
#
# `as_trajectories` takes a path, a data frame or an array. It does not guess in silence: the notes say which column was
# taken for what, and what was changed.

# %%
debates = d3stats.as_trajectories(path)
print(debates)
for note in debates.notes:
    print("-", note.replace(f"{folder}/", ""))

# %% [markdown]
# All is as it was meant: `qid` is the question, and four debates share each. That matters, because debates on one
# question are alike. Intervals below resample the 40 questions, not the 160 debates; without the column `qid` they
# would be too narrow. Where a name is not understood, say it: `as_trajectories(path, columns={"question": "qid"})`.
#
# ## Check of the table

# %%
from d3stats.log import doctor

print(doctor(path).to_text().replace(f"{folder}/", ""))

# %% [markdown]
# A row that is there twice, an agent with two names, or a column that was passed over would be listed here, with its
# line and with what to do. `d3stats doctor my_debates.csv` prints the same.
#
# ## Missing votes
#
# One vote in twenty-three is missing. Whether a missing vote is left out or counts as wrong has to be decided, and it
# changes the numbers:

# %%
rows = []
for missing, meaning in (("exclude", "left out"), ("wrong", "counted as wrong")):
    counts = debates.counts(missing)
    for r in counts.rounds:
        cells = counts[r]
        share = (cells.successes * cells.weights).sum() / (cells.trials * cells.weights).sum()
        rows.append(
            {"missing votes are": meaning, "round": r, "debates": int(cells.n_obs), "share correct": share}
        )
votes = pd.DataFrame(rows)
show(votes)

# %% [markdown]
# With missing votes left out, a debate without any vote in a round drops out: 159, 158 and 157 of the 160 remain.
# Counted as wrong, all 160 stay, and the shares are lower. These models often answer in no readable form. Everything
# below leaves missing votes out, which is the default.
#
# ## The spread of the correct votes
#
# Debates are far from Binomial: most questions are easy or hard for all seven agents at once. `fit` fits a
# mixture of two Beta-Binomials to each round, and measures how far each round moved from the one before.

# %%
described = d3stats.fit(debates, n_boot=200, rng=1)
rounds = described.to_frame().astype({"debates": int})
show(rounds[["round", "debates", "mean", "spread", "accuracy", "accuracy_low", "accuracy_high"]])

# %% [markdown]
# `mean` is the share of correct votes as fitted, `spread` the standard deviation of that share between debates, and
# `accuracy` the share of debates whose largest group is right, with its 95 % interval. The votes get better from round
# 1 to round 2 and hardly after it; the accuracy of the decisions does not move by more than chance would.
#
# Above, the grey bars are the debates, the dots the fit, and the lines hold 95 % of samples of the fitted model: the fit
# misses only where a bar ends outside of its line. Below, a distance is evidence of a change only where it lies above
# its grey bar.

# %%
with use_style():
    figure = described.plot(rng=0)
figure

# %% [markdown]
# The counts moved from round 1 to round 2 and no further. The notes of a result say what to keep in mind. Those of the
# fit surprise at first:

# %%
for note in described.fit.notes:
    print("-", note)

# %% [markdown]
# - *On the boundary*: in some debates all seven agents are right, or all are wrong, and the second component describes
#   these. Its own parameters then have no meaning as a kind of debate. The mean and the spread do, and they do not
#   suffer. The notebook *Mixtures: maximum likelihood and Bayesian fits* says more.
# - *No distance between rounds*: the rounds have 159, 158 and 157 debates. So the distances above are taken from the
#   debates that have votes in both rounds.
#
# ## Comparison of stopping rules
#
# Three rules, against stopping at unanimity and against playing all three rounds.

# %%
result = d3stats.replay(debates, ["fixed:1", "unanimity", "ks:0.05"])
found = result.to_frame()
columns = ["rule", "rounds", "accuracy", "accuracy_low", "accuracy_high", "flips"]
show(found[[*columns, "saved_rounds_vs_unanimity", "saved_rounds_vs_full"]])

# %% [markdown]
# `accuracy_low` and `accuracy_high` are the ends of 95 % intervals. A *flip* is a debate whose decision at the stop
# differs from that after three rounds. The last two columns are the share of rounds that a rule saves, against stopping
# at unanimity and against playing all three rounds; a saving below 0 is a cost.
#
# - `fixed:1` takes the first votes. It saves 42 % of the rounds that unanimity plays, and its accuracy differs from that
#   of the full debate by less than 160 debates can show. Still 6 % of the decisions differ: about as many get better
#   as worse.
# - `unanimity` saves 42 % of three rounds, and fewer than 1 % of the decisions differ.
# - `ks:0.05` saves nothing, and costs 73 % more rounds than unanimity. It asks that the counts move by less than .05
#   twice running, and of three rounds the third is the first that can show that.

# %%
with use_style():
    result.plot()

# %% [markdown]
# ## The report
#
# One call puts all this, agreement, bias, costs and the most disputed debates on one page, which needs no network and
# no script. `d3stats report my_debates.csv -o report.html` does the same.

# %%
report = d3stats.report(path, n_boot=200, rng=0)
size = len(report.to_html(folder / "report.html"))
print(f"report.html, {size / 1000:,.0f} kB, with {len(report.sections)} sections:")
for section in report.sections:
    print("-", section.title)

# %% [markdown]
# The notes list what the data do not support, with the reason:

# %%
for note in report.notes:
    print("-", note)

# %% [markdown]
# Every table of the page is also a data frame. Here are the five debates on which the votes differ most; these are the
# ones to read first.

# %%
show(report.to_frame("disputed")[["debate", "round", "votes", "largest", "second", "verdict", "label"]])

# %% [markdown]
# `largest` and `second` count the votes of the two largest groups, `verdict` is what the largest group says (of equal
# groups the one with the lowest seat), and `label` is the right answer. In debates this close one vote decides.
