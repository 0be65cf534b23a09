"""Tables of ratings, verdicts and runs are read under the field's other names for their columns, and say so."""

from __future__ import annotations

import pandas as pd
import pytest

from d3stats.inference.bias import as_judgments
from d3stats.inference.ratings import as_ratings
from d3stats.inference.runs import as_run

RATINGS = pd.DataFrame(
    {"item": [1, 1, 2, 2], "rater": list("abab"), "vote": list("ABAA"), "label": list("AAAA")}
)


@pytest.mark.parametrize("item", ["qid", "Question ID", "task_id"])
@pytest.mark.parametrize("rater", ["judge", "annotator", "model"])
@pytest.mark.parametrize("vote", ["answer", "rating", "verdict"])
def test_ratings_runs_and_verdicts_are_read_under_other_names(item: str, rater: str, vote: str) -> None:
    names = {"item": item, "rater": rater, "vote": vote, "label": "gold"}
    ratings = as_ratings(RATINGS.rename(columns=names))
    assert ratings.codes.tolist() == as_ratings(RATINGS).codes.tolist()
    assert any(note.startswith(f"columns: item is {item!r}, rater is {rater!r}") for note in ratings.notes)
    one = RATINGS[RATINGS["rater"] == "a"].drop(columns="rater")
    renamed = one.rename(columns=names)
    assert as_run(renamed).value.tolist() == as_run(one).value.tolist()
    read = as_judgments(renamed)
    assert read.vote.tolist() == as_judgments(one).vote.tolist()
    assert read.notes[0].startswith(f"columns: item is {item!r}")
