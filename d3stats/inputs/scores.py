"""Scores of single responses by aspect, and scores of three or more candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

__all__ = ["CandidateScores", "SingleScores"]


@dataclass(frozen=True, eq=False)
class SingleScores:
    """The scores that each agent gave a response in one round of each debate.

    Attributes
    ----------
    side : str
        What was scored.
    scores : DataFrame
        A row per agent and debate, a column per aspect; NaN where an agent did not score the aspect.
    debate, role : Series
        The debate and the role of each row; the role is None where it is unknown.
    debates : DataFrame
        All debates of the log, scored or not: ``debate, question, cluster``.
    scales : mapping of str to (float, float)
        The least and the greatest score that each role could give, where it is known.
    notes : tuple of str
        Which roles' scores were left out.
    """

    side: str
    scores: pd.DataFrame
    debate: pd.Series[Any]
    role: pd.Series[Any]
    debates: pd.DataFrame
    scales: Mapping[str, tuple[float, float]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """The totals that each agent gave the candidates of a debate in its last scored round.

    Attributes
    ----------
    table : DataFrame
        Columns ``item, agent, candidate, score``; NaN where a candidate was left out.
    notes : tuple of str
        How many turns were left out.
    """

    table: pd.DataFrame
    notes: tuple[str, ...] = ()
