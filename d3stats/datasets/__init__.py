"""Which real debates come with the package?

Small tables of votes without texts. :data:`NAMES` lists them; the files ``slm7.md``, ``gemma.md`` and
``round_counts.md`` beside them say where the debates come from and how the tables were made.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from d3stats._check import choice
from d3stats.log.files import BUNDLED

if TYPE_CHECKING:
    from d3stats.counts import RoundCounts
    from d3stats.trajectories import Trajectories

__all__ = ["NAMES", "load_gemma", "load_round_counts", "load_slm7", "path"]

NAMES = (*BUNDLED, "slm7_strict", "slm7_questions", "round_counts")
"""The tables that :func:`path` knows."""


def path(name: str) -> Path:
    """Return the file of a shipped table.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        When there is no such table.

    Examples
    --------
    >>> path("slm7").name
    'slm7.csv'
    """
    choice("name", name, NAMES)
    return Path(__file__).with_name(BUNDLED.get(name, f"{name}.csv"))


def load_gemma(heard: str = "reasons") -> Trajectories:
    """Load debates of Gemma 3 270M about the mood of short texts: 2,179 debates x 6 rounds x 7 agents, with tokens.

    Each debate is about one film snippet, tweet or sentence of a product review, which is positive or negative by the
    mean of at least 15 human ratings. Clusters are texts; sentences of one review are one cluster. All three logs are
    about the same texts.

    Parameters
    ----------
    heard : {"reasons", "votes", "alone"}
        What an agent reads from round 2 on: the others' last votes with a reason each, their last votes, or nothing.

    Returns
    -------
    Trajectories

    Raises
    ------
    ValueError
        When `heard` is none of these.

    References
    ----------
    Made for this package; see ``gemma.md`` beside the tables. The texts and ratings are those of Hutto and Gilbert
    (2014), VADER: a parsimonious rule-based model for sentiment analysis of social media text, ICWSM.

    Examples
    --------
    >>> t = load_gemma("alone")
    >>> t.votes.shape, len(t.cluster_names), int(t.tokens.sum())
    ((2179, 6, 7), 1907, 12474396)
    """
    from d3stats.sources import as_trajectories

    choice("heard", heard, ("reasons", "votes", "alone"))
    return as_trajectories(path(f"gemma-{heard}"))


def load_slm7(reading: str = "asked") -> Trajectories:
    """Load the 7-agent debates of small language models: 160 debates x 3 rounds x 7 agents, 40 questions.

    Votes are answers, coded per question: equal codes are equal answers within a question and mean nothing
    across questions. Clusters are questions; groups are the benchmark and model of each debate.

    Parameters
    ----------
    reading : {"asked", "strict"}
        How an answer was read out of a text: ``"asked"`` gives the published counts, ``"strict"`` takes only
        explicit statements, the last one first. They differ in 124 of 3,360 votes.

    Returns
    -------
    Trajectories

    Raises
    ------
    ValueError
        When `reading` is neither.

    References
    ----------
    lferreiraMD/slm_multiagent_debate @f535f16a, MIT; see ``slm7.md`` beside the table.

    Examples
    --------
    >>> t = load_slm7()
    >>> t.votes.shape, len(t.cluster_names)
    ((160, 3, 7), 40)
    """
    import pandas as pd

    from d3stats.trajectories import Trajectories

    choice("reading", reading, ("asked", "strict"))
    frame = pd.read_csv(path("slm7"), dtype={"vote": "Int64"})
    if reading == "strict":
        keys = ["debate", "round", "agent"]
        changed = pd.read_csv(path("slm7_strict"), dtype={"vote": "Int64"}).set_index(keys)["vote"]
        frame = frame.set_index(keys)
        frame.loc[changed.index, "vote"] = changed
        frame = frame.reset_index()
    vote = [None if pd.isna(code) else str(code) for code in frame["vote"]]
    frame = frame.assign(
        vote=pd.Series(vote, dtype=object),
        label=frame["label"].astype(str),
        question=frame["question"].astype(str),
        agent="agent " + frame["agent"].astype(str),
    )
    return Trajectories.from_frame(frame)


def load_round_counts() -> dict[str, RoundCounts]:
    """Load the number of right answers per round of 39 logs, by log; missing votes are excluded.

    Returns
    -------
    dict of str to RoundCounts
        Six GSM8K logs, 25 logs of small language models ("slm/BENCHMARK/MODEL/agentsN") and eight of one
        round ("eot/BENCHMARK").

    References
    ----------
    See ``round_counts.md`` beside the table for repositories, commits and licences.

    Examples
    --------
    >>> load_round_counts()["gsm_3_3_top100__918fa1ec"].rounds
    (1, 2, 3)
    """
    import pandas as pd

    from d3stats.counts import RoundCounts

    frame = pd.read_csv(path("round_counts"))
    return {str(log): RoundCounts.from_frame(rows) for log, rows in frame.groupby("log", sort=True)}
