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
# # From pilot to plan
#
# Fifty debates were played to the end. Which stopping rule should the next thousand run under, what will they cost,
# and how often will they be right?
#
# So that the answer can be checked, the pilot is simulated here: seven agents of one LLM who are right or wrong
# together, keep half of their votes by habit and lean towards the majority, on questions of three kinds. With a
# log of your own, `Trajectories.from_log("my_log.jsonl")` takes the place of `simulate`.

# %%
import pandas as pd

import d3stats
from d3stats.planning.plan import plan
from d3stats.planning.risk import needed_debates, risk_controlled
from d3stats.plotting import use_style
from d3stats.worlds import simulate
from d3stats.worlds import Conformity

world = Conformity(panel=7, difficulties=[(0.5, 1.6), (0.3, 0.3), (0.2, -1.0)], conformity=1.5)
pilot = simulate(world, n_debates=50, n_rounds=8, rng=7)
pilot

# %% [markdown]
# ## Look at the pilot
#
# How often is the majority right after each round, and how often do the agents agree? Later rounds cost more,
# because every prompt holds the transcript.

# %%
print(d3stats.describe_rounds(pilot, n_boot=200, rng=1).to_frame()[
    ["round", "debates", "mean", "spread", "accuracy", "accuracy_low", "accuracy_high"]
].round(3).to_string(index=False))
print("tokens of each round:", pilot.tokens.mean(axis=0).round().tolist())

# %% [markdown]
# What would some rules have done on these fifty debates? Unanimity is the incumbent: savings against full depth
# alone flatter a rule.

# %%
played = d3stats.replay(pilot, ["fixed:1", "supermajority:0.85", "supermajority:0.7"], n_boot=500, rng=1)
print(played.summary())

# %% [markdown]
# The savings are plain and the differences in accuracy are not: on fifty debates one debate is two points, and a
# difference of several points can be chance. A plan reads the difference off a fitted chain instead, which uses every
# vote of every round, and says so.
#
# ## Plan
#
# At most .01 of the verdicts may be lost against unanimity, with probability .9. A blended price of one dollar per
# million tokens turns tokens into dollars; put your own.

# %%
made = plan(pilot, max_loss=0.01, confidence=0.9, debates=1000, price=1.0, rng=1)
print(made.summary())

# %% [markdown]
# How to read the table:
#
# - `saved` is against unanimity, in tokens, and `loss` is unanimity's share of right verdicts less the rule's;
#   `P(within)` is the chance under the chain that the loss is at most .01.
# - The last line is the exact optimum of the fitted chain: what any rule that looks at counts could save.
# - The notes say what the pilot cannot tell. They belong to the plan.
#
# The same as a frame, with the cost of all thousand debates:

# %%
frame = made.to_frame()
print(frame[["rule", "role", "saved", "total", "total_low", "total_high", "total_unit"]].round(3).to_string(index=False))

# %% [markdown]
# Does the chain fit at all? Each line compares the pilot with pilots drawn from the fit; a small p-value says that
# the chain does not know something that the pilot shows.

# %%
print(made.checks.round(3).to_string(index=False))

# %% [markdown]
# What the debates will cost, as they are run:

# %%
with use_style():
    made.plot()

# %% [markdown]
# ## Was the promise kept?
#
# Five thousand fresh debates from the same world, stopped by the planned rule and by unanimity. Every interval of
# the plan is set beside what happened. One pilot proves nothing: the study in `simulations/plan_promises` repeats
# this over many worlds.


# %%
def checked(plan_made, fresh):
    """Set a plan's intervals beside fresh debates: accuracy, whatever the plan was made for."""
    rule = plan_made.rule
    table = d3stats.replay(fresh, rule, n_boot=200, rng=2).to_frame().set_index("rule")
    mine, theirs = table.loc[str(rule)], table.loc["unanimity"]
    promised = plan_made.to_frame().iloc[0]
    kept = "agreement" if plan_made.target == "agreement" else "accuracy"
    happened = {
        "rounds": mine["rounds"],
        "tokens": mine["tokens"],
        "kept": mine[kept],
        "saved": mine["saved_tokens_vs_unanimity"],
        "loss": theirs[kept] - mine[kept],
    }
    rows = [
        (name, promised[name], promised[f"{name}_low"], promised[f"{name}_high"], value)
        for name, value in happened.items()
    ]
    return pd.DataFrame(rows, columns=["measure", "planned", "low", "high", "happened"]).assign(
        covered=lambda t: (t["low"] <= t["happened"]) & (t["happened"] <= t["high"])
    )


fresh = simulate(world, n_debates=5000, n_rounds=8, rng=8)
print(made.rule)
print(checked(made, fresh).round(3).to_string(index=False))

# %% [markdown]
# ## Without labels
#
# Most users have no right answers. The plan then keeps agreement with the verdict of full depth, and cannot see
# whether that verdict is right. Agreement asks for more than accuracy: a wrong verdict that later rounds would have
# turned into another one counts as lost too.

# %%
blind = plan(pilot, target="agreement", max_loss=0.01, limit=False, rng=1)
print(blind.rule, "\n", *(f"- {note}\n" for note in blind.notes))
print(checked(blind, fresh).round(3).to_string(index=False))

# %% [markdown]
# ## A promise that needs no model
#
# The plan's promise holds as far as the chain does. Learn-then-test assumes nothing about debates: it certifies the
# boldest supermajority whose verdict differs from that of full depth in at most so many debates. The price is data.
# Even a rule without a single loss needs 45 debates for a limit of .05, and 230 for .01.

# %%
family = [f"supermajority:{share}" for share in (1.0, 0.85, 0.7, 0.55)]
print("debates needed without a loss, at .05 and .01:", needed_debates(0.05, 0.1), needed_debates(0.01, 0.1))
for limit in (0.15, 0.1, 0.05, 0.01):
    for size in (50, 500, 5000):
        found = risk_controlled(fresh.select(range(size)), family, max_loss=limit, delta=0.1)
        rule = found.rule if found.certified else "nothing certified"
        print(f"at most {limit:.2f} differ from full depth, {size:4d} debates: {rule}")

# %% [markdown]
# How often each of them really differs from full depth, on all five thousand:

# %%
print(found.to_frame()[["rule", "rounds", "risk"]].round(3).to_string(index=False))

# %% [markdown]
# Two things to see. A rule whose true share lies near the limit passes or fails by the luck of the pilot: a small
# one may certify what a large one does not. And no number of debates certifies a limit below what unanimity itself
# loses against full depth, because that loss is real: the plan's promise is against unanimity, this one against full
# depth.
#
# So fifty debates are enough for a plan that says which model it stands on, and not for a promise of one in a
# hundred without one. Run the plan, keep playing a few of the thousand debates to the end, and certify the rule when
# there are enough.
