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
# A debate with a live model, from the first item to the replay of its log. So that this page runs anywhere and costs
# nothing, the "model" is a script: a small server on this machine that speaks the protocol of OpenAI's chat API and
# makes its replies up. **Everything it says is synthetic, and so is every number below.**
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
import json
import random
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

folder = Path(tempfile.mkdtemp())
right = {
    f"What is {a} + {b}?": f"It is {a + b}." for a, b in zip(range(17, 57), range(25, 145, 3), strict=True)
}


def find_answers(prompt):
    """Return which answer is right, 1 or 2, and how hard the question is: what a script knows and no model is told."""
    question, said = next(pair for pair in right.items() if pair[0] in prompt)
    first = prompt.index("answer 1]")
    place = 1 if prompt.index(said, first) < prompt.index("answer 2]", first) else 2
    return place, random.Random(question).random()


def fill(schema, place, hard, rng):
    """Make up an object that fits the schema: the right answer is favoured, less so where the question is hard."""
    made = {}
    for name, part in schema["properties"].items():
        if name == "text":
            made[name] = f"[synthetic] Answer {rng.choice((1, 2))} has its points; I looked at the sum again."
        elif name == "vote":
            made[name] = str(place if rng.random() < 0.95 - 0.5 * hard else 3 - place)
        elif name == "scores":
            made[name] = {
                side: {
                    criterion: max(
                        1, min(20, round(rng.gauss(13 - 2 * hard if side.endswith(str(place)) else 11, 1.5)))
                    )
                    for criterion in inner["properties"]
                }
                for side, inner in part["properties"].items()
            }
    return made


class Scripted(BaseHTTPRequestHandler):
    """Answers what a chat server is asked, with synthetic replies."""

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][-1]["content"]
        schema = body["response_format"]["json_schema"]["schema"]
        content = json.dumps(fill(schema, *find_answers(prompt), random.Random(body["seed"])))
        message = {"role": "assistant", "content": content}
        asked, answered = len(prompt) // 4, len(content) // 4
        self.reply({
            "id": "1", "object": "chat.completion", "created": 0, "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered},
        })  # fmt: skip

    def reply(self, value):
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *said):
        pass


# Port 0: the system chooses a free one. Loopback only: no other machine can reach it.
server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
threading.Thread(target=server.serve_forever, daemon=True).start()
base_url = f"http://127.0.0.1:{server.server_port}/v1"

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


rows = []
for i, (question, said) in enumerate(right.items()):
    wrong = f"It is {int(said[6:-1]) + (10 if i % 3 else 1)}."
    a, b = (said, wrong) if i % 2 else (wrong, said)
    rows.append({"question": question, "answer_a": a, "answer_b": b, "label": "A" if i % 2 else "B"})
items = read_items(pd.DataFrame(rows))
show(pd.DataFrame(rows[:4]))

# %% [markdown]
# ## The cost forecast
#
# SAMRE: two advocates, a judge, five jurors. Here the jurors are polled in every round and nothing stops a debate before
# its third round, so that rules can be compared afterwards. The forecast simulates the debates with made-up replies and
# calls no model. `at most` is the bound that a budget sets aside; a reply is rarely that long. There are no prices here,
# so there are no dollars.

# %%
from d3stats.run.live import LiveAgent
from d3stats.run.forecast import forecast
from d3stats.protocols.d3 import Samre
from d3stats.stopping import FullDepth

protocol = Samre(poll="every_round", max_rounds=3)
agent = LiveAgent("scripted", base_url, seed=7)
ahead = forecast(protocol, items, agent).to_frame()
show(ahead[["case", "rounds", "calls", "tokens_in", "tokens_out", "tokens", "tokens_per_debate"]], digits=0)

# %% [markdown]
# ## Run it
#
# `check` costs nothing and fails with one clear line when no server answers, the key is refused or the model is unknown.
# The budget counts every token, and no call begins whose bound is not set aside. If this cell is interrupted, or its
# process is killed, the same call resumes from the log, and no recorded reply is bought again.
#
# On the command line the same run is
# `d3stats debate items.csv --protocol samre:poll=every_round,max_rounds=3 --model NAME --base-url URL --budget-tokens 3000000 -o samre.jsonl`.

# %%
from d3stats.run.run import run_debates

log = folder / "samre.jsonl"
async with agent:
    await agent.check()
    report = await run_debates(
        protocol, items, agent, log, rule=FullDepth(), seed=1, concurrency=8, budget_tokens=3_000_000
    )
print(f"{report.closed} of {report.planned} debates, {report.calls} calls, {report.charged:,} tokens")
print("stopped because:", dict(report.stops))

# %% [markdown]
# *Exhausted* means that the debates went to their last round, as was asked for. The tokens are a quarter of the forecast
# of all rounds, because a script answers in one line where a model would use the words that it may.
#
# The same call again finds everything done, and asks nothing.

# %%
async with agent:
    again = await run_debates(
        protocol, items, agent, log, rule=FullDepth(), seed=1, concurrency=8, budget_tokens=3_000_000
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
# `d3stats show samre.jsonl DEBATE` prints one debate for people. The log is also a table with one row per turn. Here is
# how the first debate began:

# %%
from d3stats.log import read_log

records = read_log(log, texts=True)
item = records.items.iloc[0]
turns = records.turns[(records.turns["debate"] == item["debate"]) & (records.turns["round"] == 1)]
print(item["text"])
show(turns[["agent", "role", "vote", "text"]].fillna(""))

# %% [markdown]
# Only jurors vote; the judge gives scores, which have a column of their own.
#
# ## Comparison of stopping rules
#
# The debates were played to the end, so any rule can be replayed on them: SAMRE's own, which stops when the gap of the
# judge's scores has settled, and rules on the jurors' votes. The seats are the jurors', because no other agent votes; the
# tokens are those of all agents.

# %%
import d3stats
from d3stats.plotting import use_style

debates = d3stats.Trajectories.from_log(log)
played = d3stats.replay(debates, [protocol.rule(), "supermajority:0.8", "fixed:1"])
columns = ["rule", "rounds", "tokens", "accuracy", "accuracy_low", "accuracy_high", "flips"]
show(played.to_frame()[[*columns, "saved_tokens_vs_unanimity"]])

# %%
with use_style():
    played.plot()

# %% [markdown]
# The last column is the share of unanimity's tokens that a rule saves. SAMRE's own rule costs more than unanimity here:
# the scripted judge draws new scores in every round, so the gap between them does not settle. Stopping after round 1 is
# worse in accuracy, and a larger majority in any round better than all three rounds; with 40 debates the intervals
# overlap, so neither is shown.
#
# The synthetic jurors draw new votes in every round and do not listen, so what a further round changes here is chance.
# Real ones may listen; that is what a pilot with your own model is for: see *From pilot to plan*.
#
# ## Stop the server

# %%
server.shutdown()
server.server_close()
