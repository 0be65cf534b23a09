"""The texts of a log's debates, and which of them are rationales."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.inputs.questions import Questions

__all__ = ["SAID", "Texts"]


SAID = ("debate", "question", "round", "agent", "role", "vote", "text")
"""Columns of a table of rationales."""


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of the debates of a log, and which of them are rationales.

    Attributes
    ----------
    turns : DataFrame
        All turns of the debates that have a rationale, sorted by debate, round and agent: ``debate, question, cluster,
        round, agent, role, vote, text, seated, stage``. Missing are None. A turn is before another one if its round
        and stage are; turns of one round and stage are at the same time.
    panel : ndarray of int
        Rows of the turns in which a vote with a rationale was asked for.
    rationales : ndarray of int
        Those of them that have a text.
    asked : dict of str to tuple of str
        By debate: the question and the candidates, where the log holds them.
    notes : tuple of str
    questions : Questions
        What the log says of its questions, to be held against another log.
    """

    turns: pd.DataFrame
    panel: NDArray[np.int64]
    rationales: NDArray[np.int64]
    asked: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]
    questions: Questions

    @property
    def table(self) -> pd.DataFrame:
        """One row per rationale: ``debate, question, round, agent, role, vote, text``."""
        return self.turns.iloc[self.rationales][list(SAID)].reset_index(drop=True)

    @property
    def texts(self) -> list[str]:
        """The rationales, in the order of the table."""
        return list(self.turns["text"].iloc[self.rationales])

    @property
    def clusters(self) -> NDArray[np.object_]:
        """The name of each rationale's cluster."""
        return self.turns["cluster"].iloc[self.rationales].to_numpy(dtype=object)
