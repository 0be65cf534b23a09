"""Whatever holds a run, as one table: a row per try with its item, value, cluster and whether it has a label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.trajectories import MISSING, Missing, Trajectories

__all__ = ["from_frame", "from_path", "from_trajectories"]

_TABLES = (".csv", ".csv.gz", ".parquet", ".pq")
_OF_A_LOG = "'verdict', 'votes', 'tokens' or 'score:SIDE'"


def from_path(path: str | Path) -> pd.DataFrame | Trajectories:
    """Read a tidy table where the file has a column ``item``, a debate log where it has none."""
    text = str(path)
    if not text.lower().endswith(_TABLES) or any(sign in text for sign in "*?["):
        return Trajectories.from_log(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"a run must be a file that exists; got {text!r}")
    if text.lower().endswith((".csv", ".csv.gz")):
        head = pd.read_csv(path, nrows=0).columns
        # As text: an item called 007 is not item 7, and a vote of "None" is a word.
        wanted = {name: str for name in ("item", "cluster", "vote", "label") if name in head}
        if "item" in head:
            return pd.read_csv(path, dtype=wanted, keep_default_na=False, na_values=[""])
        return Trajectories.from_log(path)
    import duckdb

    with duckdb.connect() as connection:
        table = connection.read_parquet(text).df()
    return table if "item" in table.columns else Trajectories.from_log(path)


def from_trajectories(
    t: Trajectories, value: str | None, by: str, round_number: int | None, missing: Missing
) -> pd.DataFrame:
    """Return a row per debate; `value` says what of a debate is compared."""
    if t.n_debates == 0:
        raise ValueError(f"a run must have debates; got none in {t!r}")
    if round_number is not None and not 1 <= round_number <= t.n_rounds:
        raise ValueError(f"round_number must lie between 1 and {t.n_rounds}; got {round_number}")
    deepest = np.maximum(t.depth, 1)
    at = (deepest if round_number is None else np.minimum(round_number, deepest)) - 1
    what = "verdict" if value is None else value
    if what == "verdict":
        values = _verdicts(t, at)
    elif what == "votes":
        values = _votes(t, at, missing)
    elif what == "tokens":
        values = _tokens(t, at)
    elif what.startswith("score:"):
        values = _points(t, at, what.removeprefix("score:"))
    else:
        raise ValueError(f"value of a log must be {_OF_A_LOG}; got {value!r}")
    judged = what in ("verdict", "votes")
    labelled = (t.label != MISSING) if judged else np.ones(len(t), dtype=bool)
    if judged and missing == "wrong":
        values = np.where(labelled & np.isnan(values), 0.0, values)
    if not labelled.any():
        raise ValueError(f"a run needs labels to say which verdicts are right; got none in {t!r}")
    cluster = np.asarray(t.cluster_names, dtype=object)[t.cluster]
    item = cluster if by == "question" else np.asarray(t.debates, dtype=object)
    return pd.DataFrame({"item": item, "value": values, "cluster": cluster, "labelled": labelled})


def from_frame(source: pd.DataFrame, value: str | None) -> tuple[pd.DataFrame, str | None]:
    """Return a row per row, and what the column of values is called where that says something."""
    if "item" not in source.columns:
        raise ValueError(f"a table of a run must have a column 'item'; got {list(source.columns)}")
    usual = (c for c in ("correct", "score") if c in source.columns)
    named = next(usual, None) if value is None else value
    table = source[["item"]].reset_index(drop=True)
    labelled = np.ones(len(table), dtype=bool)
    if named is None and {"vote", "label"} <= set(source.columns):
        known, cast = (source[c].notna().to_numpy() for c in ("label", "vote"))
        right = source["vote"].astype(object).to_numpy() == source["label"].astype(object).to_numpy()
        table["value"] = np.where(known & cast, right.astype(float), np.nan)
        labelled = known
        if not known.any():
            raise ValueError(
                f"a run needs labels to say which votes are right; got none in {len(known)} rows"
            )
    elif named is None or named not in source.columns:
        wanted = "'correct', 'score', or 'vote' and 'label'" if named is None else repr(named)
        raise ValueError(f"a table of a run must have the column {wanted}; got {list(source.columns)}")
    else:
        table["value"] = source[named].to_numpy()
        if named == "correct":
            _only_right_or_wrong(table["value"])
    table["labelled"] = labelled
    if "cluster" in source.columns:
        table["cluster"] = source["cluster"].to_numpy()
    return table, None if named in ("correct", "score", None) else named


def _only_right_or_wrong(values: pd.Series) -> None:
    wrong = (values.notna() & ~values.isin([0, 1])).to_numpy()
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"correct must be 0, 1 or missing; got {values.iloc[row]!r} at row {row}")


def _verdicts(t: Trajectories, at: NDArray[np.int64]) -> NDArray[np.float64]:
    verdict = t.verdicts()[np.arange(len(t)), at]
    unknown = (verdict == MISSING) | (t.label == MISSING)
    return np.where(unknown, np.nan, (verdict == t.label).astype(float))


def _votes(t: Trajectories, at: NDArray[np.int64], missing: Missing) -> NDArray[np.float64]:
    right, cast = (counts[np.arange(len(t)), at].astype(float) for counts in t.successes_trials(missing))
    share = np.full(len(t), np.nan)
    np.divide(right, cast, out=share, where=cast > 0)
    return share


def _tokens(t: Trajectories, at: NDArray[np.int64]) -> NDArray[np.float64]:
    if t.tokens is None:
        raise ValueError(f"tokens must be logged to be compared; got none in {t!r}")
    # A round without a count makes the sum unknown, and NaN says so.
    spent: NDArray[np.float64] = np.cumsum(t.tokens, axis=1)[np.arange(len(t)), at]
    return spent


def _points(t: Trajectories, at: NDArray[np.int64], side: str) -> NDArray[np.float64]:
    if t.scores is None:
        raise ValueError(f"scores must be logged to be compared; got none in {t!r}")
    if side not in t.sides:
        raise ValueError(f"the side of a score must be one of {list(t.sides)}; got {side!r}")
    points: NDArray[np.float64] = t.scores[np.arange(len(t)), at, t.sides.index(side)]
    return points


def is_missing(value: Any) -> bool:
    """Say whether a cell of a table is empty, in any of pandas' ways."""
    return value is None or bool(pd.isna(value))
