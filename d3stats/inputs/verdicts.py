"""Verdicts of judges on pairs of answers, for every audit of bias."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import LARGEST, meant
from d3stats._words import setting
from d3stats.inputs.lines import place_of
from d3stats.note import warning
from d3stats.trajectories import MISSING

__all__ = ["ONE_JUDGE", "PAIR", "TIE", "Judgments", "Votes", "one_judge"]


Votes = Literal["answer", "slot"]


PAIR = ("A", "B", "tie")
"""The values of the codes of votes on a pair."""


TIE = 2
"""Code of a tie, in votes and in labels on a pair."""


ONE_JUDGE = "judge"
"""Name of the judge of a table without judges."""


@dataclass(frozen=True, eq=False, repr=False)
class Judgments:
    """Verdicts, one per row.

    Attributes
    ----------
    item, judge, cluster : ndarray of int64, shape (rows,)
        Codes into `items`, `judges` and `clusters`.
    vote : ndarray of int64, shape (rows,)
        A code into `answers`, -1 missing; on a pair 0 for A, 1 for B, 2 for a tie.
    order : ndarray of int64, shape (rows,)
        Which answer was shown first: 0 for A, 1 for B, -1 unknown.
    label : ndarray of int64, shape (rows,)
        The better answer, coded as `vote`; -1 unknown.
    items, judges, clusters : tuple of str
        The values of the codes.
    table : DataFrame
        The rows as read, for what only one audit needs: lengths, families, personas.
    votes : {"answer", "slot"}
        What the votes were read as.
    notes : tuple of str
        What the reader did: words taken as missing, columns that were not read.
    answers : tuple of str
        What votes and labels are for: A, B and tie, or, where personas are compared, all answers that were voted.

    Examples
    --------
    >>> from d3stats.inference.bias import as_judgments
    >>> columns = {"item": [1, 1, 2], "judge": ["J", "K", "J"], "vote": ["A", "B", "tie"], "tokens": [90, 80, None]}
    >>> read = as_judgments(pd.DataFrame(columns))
    >>> read.vote.tolist(), read.judges, read.of("J").item.tolist()
    ([0, 1, 2], ('J', 'K'), [0, 1])
    >>> read.rows(read.vote == 0).item.tolist(), read.toward(np.zeros(3, np.int64)).tolist()
    ([0], [1.0, 0.0, 0.5])
    >>> read.numbers("tokens").tolist(), read.texts("judge").tolist()
    ([90.0, 80.0, nan], ['J', 'K', 'J'])
    >>> read.doubts()
    []
    """

    item: Ints
    judge: Ints
    cluster: Ints
    vote: Ints
    order: Ints
    label: Ints
    items: tuple[str, ...]
    judges: tuple[str, ...]
    clusters: tuple[str, ...]
    table: pd.DataFrame
    votes: Votes = "answer"
    notes: tuple[str, ...] = ()
    answers: tuple[str, ...] = PAIR

    def __len__(self) -> int:
        return len(self.item)

    def __repr__(self) -> str:
        size = f"{len(self)} verdicts of {len(self.judges)} judges on {len(self.items)} items"
        return f"Judgments({size} in {len(self.clusters)} clusters)"

    def rows(self, keep: NDArray[np.bool_]) -> Judgments:
        """Return some rows; names and codes stay."""
        parts = {
            name: getattr(self, name)[keep] for name in ("item", "judge", "cluster", "vote", "order", "label")
        }
        return replace(self, **parts, table=self.table[keep])

    def of(self, judge: str) -> Judgments:
        """Return the rows of one judge."""
        if judge not in self.judges:
            raise ValueError(
                f"judge must be one of {list(self.judges)}; got {judge!r}{meant(judge, self.judges)}"
            )
        return self.rows(self.judge == self.judges.index(judge))

    def toward(self, answer: Ints) -> Floats:
        """Return 1 where the vote is for the given answer, 1/2 at a tie, 0 for the other; NaN where missing.

        A missing `answer` (-1) gives NaN too.
        """
        share = np.where(self.vote == TIE, 0.5, (self.vote == answer).astype(float))
        return np.where((self.vote == MISSING) | (answer == MISSING), np.nan, share)

    def numbers(self, name: str) -> Floats:
        """Return a column of finite positive or missing numbers."""
        values = pd.to_numeric(self.table[name], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        bad = self.table[name].notna().to_numpy() & ~((values <= LARGEST) & (values > 0))
        if bad.any():
            got = self.table[name][bad].astype(object).iloc[0]
            where = place_of(self.table, self.table.index[int(np.argmax(bad))])
            limit = f" and at most {LARGEST:g}" if (values > LARGEST).any() else ""
            raise ValueError(f"{name} must be above 0{limit} or missing; got {got!r} {where}")
        return values

    def texts(self, name: str) -> NDArray[np.object_]:
        """Return a column of names, "" where missing."""
        found = self.table[name]
        return np.where(found.isna(), "", found.astype(str)).astype(object)

    def doubts(self) -> list[str]:
        """Return what makes one doubt that a judge's rows were read as they were meant, in words."""
        cast = self.vote != MISSING
        letters = self.vote[cast & (self.vote != TIE)]
        seen = set(self.order[cast].tolist()) >= {0, 1}
        doubts: list[str] = []
        if (
            self.answers == PAIR
            and self.votes == "answer"
            and seen
            and len(letters) > 1
            and (letters == letters[0]).all()
        ):
            which = "vote" if len(letters) == int(cast.sum()) else "vote other than a tie"
            doubts.append(
                f"every {which} says {'AB'[letters[0]]} in both orders; votes are read as names of answers. "
                f"If votes name the place, give {setting('votes', 'slot')}; the judge then follows the "
                "place alone"
            )
        keys: dict[str, Any] = {"item": self.item, "judge": self.judge, "order": self.order}
        if "persona" in self.table:
            keys["persona"] = self.texts("persona")
        again = int(pd.DataFrame(keys).duplicated().sum())
        if again:
            alike = int(self.table.astype(str).duplicated().sum())
            copies = f"; {alike} of them are equal in every column, so remove the copies" if alike else ""
            more = f"{again} of {len(self)} verdicts repeat an item in the same order, which gives it more weight"
            doubts.append(warning(more + copies, "repeated verdicts", n=again))
        return doubts


def one_judge(data: Judgments, judge: str | None) -> tuple[str, Judgments]:
    """Return the judge's name and rows; with several judges one has to be named."""
    if judge is None:
        if len(data.judges) != 1:
            raise ValueError(f"judge must be named when a table has several; got {list(data.judges)}")
        judge = data.judges[0]
    return judge, data.of(judge)
