"""What do debates cost in tokens by round, and what does an early stop save, estimated from stored conversations?

Run: D3STATS_DATA=FOLDER python analysis/transcript_tokens/run.py [-o FOLDER]

Writes ``characters.csv`` (lengths of prompts and replies by debate and round, of the small models), ``rounds.csv``
(tokens by round) and ``savings.csv`` (what rules save in rounds and in tokens).
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats import Trajectories, import_log, replay
from d3stats.datasets import path as datasets_path
from d3stats.planning.costs import ratio, share

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "simulations")]

from findings_tables import run_on_data  # noqa: E402  # studies are no package

CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
VOTES = HERE.parent / "ensemble_size" / "votes.csv"
GSM = "nilgeoutim__CS546_MajorityErrorDebate"
SLM = "lferreiraMD__slm_multiagent_debate"
LOGS = {
    "GSM8K, 3 seats, two runs": "gsm_3_3_top100*.json",
    "GSM8K, 3 seats, majority wrong": "gsm_v4_stateful_3_4*.json",
    "GSM8K, 4 seats, majority wrong": "gsm_v4_stateful_4_4*.json",
}
DEBATE = ["benchmark", "model", "seats", "question"]

Floats = NDArray[np.float64]


def lengths(contexts: list[list[dict[str, str]]]) -> Iterator[tuple[int, int, int]]:
    """Yield round, characters of all prompts and of all replies of a debate.

    A seat's prompt is its whole conversation so far, as a model without memory has to be sent it.
    """
    rounds = max(sum(message["role"] == "assistant" for message in seat) for seat in contexts)
    for played in range(rounds):
        asked = answered = 0
        for seat in contexts:
            at = [i for i, message in enumerate(seat) if message["role"] == "assistant"]
            if played < len(at):
                asked += sum(len(message["content"]) for message in seat[: at[played]])
                answered += len(seat[at[played]]["content"])
        yield played + 1, asked, answered


def files(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the content of every file with stored conversations."""
    for path in sorted((folder / GSM).glob("gsm_[3v]*.json")):
        yield path.stem, json.loads(path.read_text(encoding="utf-8"))
    (archive,) = sorted((folder / SLM).glob("*.tar.gz"))
    with tarfile.open(archive) as opened:
        for member in sorted(opened.getmembers(), key=lambda each: each.name):
            content = opened.extractfile(member) if member.name.endswith(".json") else None
            if content is not None:
                yield Path(member.name).stem, json.load(content)


def characters(folder: Path) -> dict[tuple[str, int], tuple[int, int]]:
    """Return characters of prompts and replies by debate, as an importer names it, and round."""
    found = {}
    for name, content in files(folder):
        for index, (contexts, *_) in enumerate(content.values(), start=1):
            for played, asked, answered in lengths(contexts):
                found[f"{name}/{index}", played] = (asked, answered)
    return found


def with_tokens(t: Trajectories, asked: Floats, answered: Floats, config: Mapping[str, Any]) -> Trajectories:
    """Return the debates with estimated tokens; lengths are in characters, by debate and round."""
    inside, out = (each / config["characters_per_token"] for each in (asked, answered))
    return replace(t, tokens_in=inside, tokens_out=out, tokens=inside + out)


def of_gsm(folder: Path, pattern: str, config: Mapping[str, Any]) -> Trajectories:
    """Return the debates of GSM8K with tokens."""
    found = characters(folder)
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "log.jsonl"
        import_log("gsm-nested", folder / GSM, path, pattern=pattern)
        t = Trajectories.from_log(path)
    both = np.array([[found[debate, r] for r in t.rounds] for debate in t.debates], dtype=float)
    return with_tokens(t, both[..., 0], both[..., 1], config)


def of_small(
    votes: pd.DataFrame, lengths_of: pd.DataFrame, seats: int, config: Mapping[str, Any]
) -> Trajectories:
    """Return the debates of the small models with so many seats, from the committed tables."""
    part = votes[votes["seats"] == seats]
    codes = (
        part[["round_1", "round_2", "round_3"]].to_numpy(dtype=float).reshape(-1, seats, 3).transpose(0, 2, 1)
    )
    question = part["question"].to_numpy().reshape(-1, seats)[:, 0]
    texts = np.array(
        [[[None if np.isnan(v) else f"{v:g}" for v in row] for row in debate] for debate in codes],
        dtype=object,
    )
    t = Trajectories.from_arrays(texts, ["0"] * len(codes), cluster=[f"{q:03d}" for q in question])
    keys = part[DEBATE].drop_duplicates()
    wide = keys.merge(lengths_of, on=DEBATE, how="left", validate="one_to_many")
    asked, answered = (wide[name].to_numpy(dtype=float).reshape(-1, 3) for name in ("asked", "answered"))
    if np.isnan(asked).any():
        raise ValueError("every debate must have lengths; got a debate without")
    return with_tokens(t, asked, answered, config)


def by_round(label: str, t: Trajectories, config: Mapping[str, Any]) -> pd.DataFrame:
    """Return tokens of a debate by round, and which part of all they are."""
    assert t.tokens is not None
    assert t.tokens_in is not None
    rows, one = [], np.ones(len(t))
    seats = int(t.panel.max())
    alone = t.tokens[:, 0] / seats
    for r in range(t.n_rounds):
        mean = ratio(t.tokens[:, r], one, t.cluster, config["level"])
        part = share(t.tokens[:, r], t.tokens.sum(axis=1), t.cluster, config["level"])
        prompt = share(t.tokens_in[:, r], t.tokens[:, r], t.cluster, config["level"])
        times = ratio(t.tokens[:, : r + 1].sum(axis=1), alone, t.cluster, config["level"])
        row: dict[str, Any] = {
            "log": label,
            "debates": len(t),
            "questions": len(np.unique(t.cluster)),
            "round": r + 1,
        }
        for name, found in (
            ("tokens", mean),
            ("part", part),
            ("prompt", prompt),
            ("times_one_answer", times),
        ):
            row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
        rows.append(row)
    return pd.DataFrame(rows)


def saved(label: str, t: Trajectories, config: Mapping[str, Any]) -> pd.DataFrame:
    """Return what each rule saves against full depth and unanimity, in rounds and in tokens."""
    made = replay(t, config["rules"], level=config["level"]).to_frame()
    names = [f"saved_{cost}_vs_{word}" for word in ("full", "unanimity") for cost in ("rounds", "tokens")]
    kept = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    table = made[["rule", *kept]].assign(log=label)
    return table[table["rule"] != "full"][["log", "rule", *kept]]


def analysed(logs: Mapping[str, Trajectories], config: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the tables of several logs."""
    return {
        "rounds": pd.concat([by_round(name, t, config) for name, t in logs.items()], ignore_index=True),
        "savings": pd.concat([saved(name, t, config) for name, t in logs.items()], ignore_index=True),
    }


def small_models(
    votes: pd.DataFrame, table: pd.DataFrame, config: Mapping[str, Any]
) -> dict[str, Trajectories]:
    """Return the logs of the small models by their names."""
    return {f"small models, {n} seats": of_small(votes, table, n, config) for n in (3, 5, 7)}


def lengths_of_small(folder: Path, votes: pd.DataFrame) -> pd.DataFrame:
    """Return the lengths of the small models' conversations by debate and round."""
    found = characters(folder)
    numbers = sorted(votes["question"].unique())
    rows = []
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "log.jsonl"
        (archive,) = sorted((folder / SLM).glob("*.tar.gz"))
        import_log("slm-multiagent", archive, path)
        t = Trajectories.from_log(path)
    named = pd.read_csv(datasets_path("slm7_questions")).set_index("name")["question"]
    for debate, cluster, group in zip(t.debates, t.cluster, t.groups, strict=True):
        benchmark, _, rest = group.partition("_")
        model, _, rest = rest.partition("_persona_")
        seats = int(rest.partition("_agents")[2].partition("_")[0])
        question = int(named[t.cluster_names[cluster]])
        assert question in numbers
        for r in t.rounds:
            rows.append((benchmark, model, seats, question, r, *found[debate, r]))
    table = pd.DataFrame(rows, columns=[*DEBATE, "round", "asked", "answered"])
    return table.sort_values([*DEBATE, "round"], ignore_index=True)


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    votes = pd.read_csv(VOTES)
    table = lengths_of_small(folder, votes)
    logs = {label: of_gsm(folder, pattern, CONFIG) for label, pattern in LOGS.items()}
    return {"characters": table, **analysed(logs | small_models(votes, table, CONFIG), CONFIG)}


def said(row: Mapping[Any, Any], name: str, form: str) -> str:
    """Return an estimate with its interval, a dash where there is none."""
    value, low, high = (row[name + end] for end in ("", "_low", "_high"))
    if pd.isna(value):
        return "-"
    return f"{value:{form}}" + ("" if pd.isna(low) else f" [{low:{form}}, {high:{form}}]")


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    table, savings = tables["rounds"], tables["savings"]
    rows, gains = table.to_dict("records"), savings.to_dict("records")
    return {
        "rounds": pd.DataFrame(
            {
                "log": table["log"],
                "debates (questions)": [f"{r['debates']} ({r['questions']})" for r in rows],
                "round": table["round"],
                "tokens of a debate": [said(r, "tokens", ",.0f") for r in rows],
                "part of all": [said(r, "part", ".3f") for r in rows],
                "prompts": [said(r, "prompt", ".3f") for r in rows],
                "times one answer, so far": [said(r, "times_one_answer", ".1f") for r in rows],
            }
        ),
        "savings": pd.DataFrame(
            {
                "log": savings["log"],
                "rule": savings["rule"],
                "rounds saved": [said(r, "saved_rounds_vs_full", "+.2f") for r in gains],
                "tokens saved": [said(r, "saved_tokens_vs_full", "+.2f") for r in gains],
                "rounds saved against unanimity": [
                    said(r, "saved_rounds_vs_unanimity", "+.2f") for r in gains
                ],
                "tokens saved against unanimity": [
                    said(r, "saved_tokens_vs_unanimity", "+.2f") for r in gains
                ],
            }
        ),
    }


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
