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
# # From no pilot to a finished campaign
#
# Three hundred questions are to be debated, and nothing is known yet: no pilot, no right answers. Unanimity is the rule in
# force. A ledger stops debates early from the start, and guarantees how many verdicts that changes.
#
# The debates here are real: seven agents of Gemma 3 270M, recorded over six rounds. So what early stops change can be
# counted afterwards. In a campaign with a model of your own, the last section has the command.

# %%
import numpy as np
import pandas as pd
from IPython.display import HTML

import d3stats
from d3stats.datasets import load_gemma
from d3stats.plotting import plot_series, use_style

# %matplotlib inline


def show(frame, digits=3):
    """Show a data frame without its row numbers."""

    def written(value):
        if isinstance(value, (bool, np.bool_)):
            return "yes" if value else "no"
        if isinstance(value, (float, np.floating)):
            return f"{value:.{digits}f}"
        return str(value)

    return HTML(frame.map(written).to_html(index=False, border=0))


debates = load_gemma()
print(debates)

# %% [markdown]
# ## The guarantee
#
# Decide two numbers before the first call: how many debates, and which share of the verdicts may change. With 300 debates
# and a share of .05, at most 15 verdicts may differ from unanimity's. That holds with a chance of at least .9 (`delta`).

# %%
ledger = d3stats.Ledger(n=300, eps=0.05, delta=0.1)
print("verdicts that may change:", ledger.allowed)
print("debates at the start that unanimity decides:", ledger.warm_up)

# %% [markdown]
# ## The campaign
#
# Whenever the early rule stops a debate before unanimity does, a coin decides. Either the early verdict is delivered
# (honoured), or the debate is played on and unanimity's verdict is delivered (audited). An audit whose verdict differs
# raises the share of audits. One campaign over the recorded debates, in a random order:

# %%
played = ledger.replay(debates, campaigns=1, rng=3)
certificate = played.last.certificate
print(certificate.headline)
show(certificate.to_frame()[["stage", "audit_share", "honoured", "audited", "lost"]])

# %% [markdown]
# The certificate is all that a campaign with a model would know. It needs no right answers, no model of the debates and no
# independent questions, because only the coins are random. Its notes give its conditions and limits:

# %%
for note in certificate.notes:
    print("-", note)

# %% [markdown]
# ## Verdicts that changed
#
# All rounds of these debates are recorded, so the verdicts that changed can be counted. `lost_estimate` is what the
# campaign itself estimates from its audits.

# %%
show(played.to_frame()[["saved", "lost", "over", "honoured", "audited", "lost_estimate"]])

# %% [markdown]
# One campaign says little. Forty campaigns over the same debates, each in a new order and with new coins:

# %%
many = ledger.replay(debates, campaigns=40, rng=4)
print(many.headline)
show(many.to_frame()[["saved", "lost", "honoured", "audited"]].describe().loc[["mean", "min", "max"]].reset_index())

# %% [markdown]
# In the long run at most one campaign in ten loses more than allowed, for any debates. Forty campaigns can have a few
# more than four by chance. The saving depends on the debates. Here early verdicts often differ from unanimity's, so a
# stricter share leaves little to save:

# %%
rows = []
for eps in (0.01, 0.02, 0.05, 0.1):
    found = d3stats.Ledger(n=300, eps=eps).replay(debates, campaigns=10, rng=5)
    low, high = found.to_frame()["lost"].quantile([0.1, 0.9])
    row = {"eps": eps, "allowed": found.allowed, "saved": found.saved, "lost": found.lost}
    rows.append(row | {"lost_low": low, "lost_high": high})
limits = pd.DataFrame(rows)
show(limits)

# %% [markdown]
# The figure shows the lost verdicts against the number allowed, as a mean with the middle 80 % of ten campaigns. One campaign
# in ten may lie above the broken line.

# %%
names = {"allowed": "x", "lost": "value", "lost_low": "low", "lost_high": "high"}
with use_style():
    ax = plot_series(limits.rename(columns=names), xlabel="verdicts allowed", ylabel="verdicts lost")
    ax.plot([0, 30], [0, 30], "--", color="0.4", linewidth=0.8)

# %% [markdown]
# ## With a model of your own
#
# The same with a model is one command. It prints the certificate at the end, and an interrupted campaign is resumed
# by the same command with the same coins:
#
# ```text
# d3stats debate questions.jsonl --protocol stability:camp=none --model NAME \
#     --ledger eps=.05,delta=.1 --incumbent unanimity -o debates.jsonl
# ```
#
# The guarantee is about this campaign alone. For a rule that holds for later debates too, see the notebook on pilots and
# plans.
