"""The peer's side of every row: runs inside the environment of one peer, and knows nothing of d3stats.

Run by run.py: PYTHON there.py JOB.json FOLDER OUT.json. A job is a list of rows with `key`, `data` and `code`; the last
line of the code is an expression, and its value is the number.
"""

from __future__ import annotations

import ast
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

LONG, MOST, ONCE = 0.2, 5, 4.0
"""Seconds of processor time that repeats of a row may take, how many there are at most, and when there are none."""


def compiled(code: str, space: dict[str, Any]) -> Callable[[], Any]:
    """Return a function that runs the lines and gives the value of the last one."""
    body = ast.parse(code).body
    last = body.pop()
    if not isinstance(last, ast.Expr):
        raise ValueError(f"the last line must be an expression; got {ast.unparse(last)}")
    start = compile(ast.Module(body, []), "<lines>", "exec")
    end = compile(ast.Expression(last.value), "<last line>", "eval")

    def run() -> Any:
        exec(start, space)
        return eval(end, space)

    return run


def numbers(value: Any) -> list[float]:
    """Return the value of a row as a list of floats."""
    return [float(x) for x in np.ravel(np.asarray(value, dtype=float))]


def value(code: str, table: pd.DataFrame) -> list[float]:
    """Return the numbers of a row."""
    return numbers(compiled(code, {"d": table, "np": np, "pd": pd})())


def measured(code: str, table: pd.DataFrame) -> tuple[list[float], float]:
    """Return the numbers of a row and the median processor time of its lines, imports and compilation left out."""
    run = compiled(code, {"d": table, "np": np, "pd": pd})
    began = time.process_time()
    found = numbers(run())
    times = [time.process_time() - began]
    if times[0] > ONCE:
        return found, times[0]
    for _ in range(MOST):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
        if sum(times[1:]) > LONG:
            break
    return found, float(np.median(times[1:]))


def main() -> None:
    """Run the rows of a job; a row that fails has its reason."""
    job, folder, out = map(Path, sys.argv[1:])
    found = {}
    for row in json.loads(job.read_text(encoding="utf-8")):
        try:
            given, seconds = measured(row["code"], pd.read_csv(folder / f"{row['data']}.csv"))
            found[row["key"]] = {"value": given, "seconds": seconds}
        except Exception as error:
            found[row["key"]] = {"failed": f"{type(error).__name__}: {error}"[:200]}
    out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
