"""Which debates did the voters disagree on most at the end?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from d3stats._check import integer
from d3stats.sources import LogSource, as_trajectories

__all__ = ["disputed_debates"]


def disputed_debates(log: LogSource, n: int = 5) -> pd.DataFrame:
    """List the debates with the largest share of last votes against the plurality.

    Parameters
    ----------
    log : Trajectories, or what :func:`d3stats.as_trajectories` takes
    n : int
        How many debates at most.

    Returns
    -------
    DataFrame
        ``debate, question, log, round`` (the last with a vote), ``votes`` cast in it, ``largest`` and ``second``
        camp, ``against``, the share of votes that are not for the plurality, ``verdict`` and ``label`` (None where
        unknown). The largest share comes first; of equal shares the debate with more votes, then the log's order.
        Debates whose last votes agree are left out.

    Examples
    --------
    >>> disputed_debates([[["A", "A", "B"]], [["A", "A", "A"]], [["A", "B", "C"]]])["debate"].tolist()
    ['3', '1']
    """
    n = integer("n", n, minimum=1)
    t = as_trajectories(log)
    lead, second, cast = t.camps()
    voted = cast > 0
    rows = np.flatnonzero(voted.any(axis=1))
    at = t.n_rounds - 1 - np.argmax(voted[:, ::-1], axis=1)[rows] if len(rows) else rows
    largest, votes = lead[rows, at], cast[rows, at]
    against = 1.0 - largest / votes
    order = np.lexsort((rows, -votes, -against))
    order = order[against[order] > 0][:n]
    rows, at = rows[order], at[order]
    answers = np.array([*t.answers, None], dtype=object)  # MISSING, -1, is the last name: None
    return pd.DataFrame(
        {
            "debate": [t.debates[row] for row in rows],
            "question": [t.cluster_names[t.cluster[row]] for row in rows],
            "log": [t.groups[row] if t.groups else "" for row in rows],
            "round": at + 1,
            "votes": votes[order],
            "largest": largest[order],
            "second": second[rows, at],
            "against": against[order],
            # As objects: pandas would write None as NaN in a column of texts.
            "verdict": pd.Series(answers[t.verdicts()[rows, at]], dtype=object),
            "label": pd.Series(answers[t.label[rows]], dtype=object),
        }
    )
