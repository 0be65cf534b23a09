"""Rebuild the bundled logs ``gemma-reasons``, ``gemma-votes`` and ``gemma-alone``, and the study's ``ratings.csv``.

``python analysis/gemma_debates/build.py SRC [-o FOLDER]``, where SRC holds the folder ``gemma3_270m`` of the runs and
``derived/hutto_product_ratings.csv.gz``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pandas as pd

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "d3stats" / "datasets"
"""Where the package has its tables."""

LOGS = ("reasons", "votes", "alone")

_LOG = """
select debate,
       case when kind = 'product' then regexp_replace(debate, '_[0-9]+$', '') else debate end as cluster,
       kind as category,
       round::utinyint as round, agent::utinyint as agent, vote, label,
       tokens_in::usmallint as tokens_in, tokens_out::utinyint as tokens_out
from read_parquet('{file}')
order by debate, round, agent
"""
"""A log with the library's names of columns; sentences of one product review are one cluster."""

_RATINGS = """
select 'product-' || replace(item, chr(65279), '') as debate, count(*) as ratings, avg(vote) as mean
from read_csv('{ratings}')
where debate in (select debate from read_parquet('{file}'))
group by debate
order by debate
"""
"""The human ratings of the product sentences that were debated; the published table has none of the others."""


def log_of(source: Path, name: str, out: Path) -> Path:
    """Write one log as Parquet and return its path."""
    file = out / f"gemma-{name}.parquet"
    query = _LOG.format(file=source / "gemma3_270m" / f"{name}.parquet")
    form = "format parquet, compression zstd, compression_level 22, row_group_size 100000"
    duckdb.sql(f"copy ({query}) to '{file}' ({form})")
    return file


def ratings(source: Path) -> pd.DataFrame:
    """Return the number and mean of the human ratings of each product sentence."""
    return duckdb.sql(
        _RATINGS.format(
            ratings=source / "derived" / "hutto_product_ratings.csv.gz",
            file=source / "gemma3_270m" / "alone.parquet",
        )
    ).df()


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="python analysis/gemma_debates/build.py", description=__doc__)
    parser.add_argument("source", type=Path, help="the folder of the runs and of the ratings")
    parser.add_argument("-o", "--output", type=Path, help="where to write; by default where they belong")
    options = parser.parse_args(arguments)
    for name in LOGS:
        print(log_of(options.source, name, options.output or FOLDER))
    file = (options.output or HERE) / "ratings.csv"
    ratings(options.source).to_csv(file, index=False, float_format="%.6g", lineterminator="\n")
    print(file)


if __name__ == "__main__":
    main()
