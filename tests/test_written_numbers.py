"""Numbers for people: no "-0.000", which says that a value is below 0 when it only rounds to 0."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pandas as pd
from parsed import nodes_on_lines

from d3stats.estimate import Estimate
from d3stats.inference import fleiss_kappa

PACKAGE = Path(__file__).resolve().parents[1] / "d3stats"
SHOWN = [
    *(PACKAGE / name for name in ("estimate.py", "result.py", "log/doctor.py")),
    *(
        path
        for folder in ("cli", "report", "inference", "planning")
        for path in (PACKAGE / folder).rglob("*.py")
    ),
]


FORM = re.compile(r"\.(?:\d|\{[^{}]*\})[f%]")
"""What a line has that writes a fixed number of digits."""


def test_every_fixed_number_of_digits_drops_the_sign_of_zero() -> None:
    """The option z of a format, as in {value:z.3f}, writes a value that rounds to zero without a sign."""
    signed = []
    for path in SHOWN:
        for node in nodes_on_lines(path.read_text(encoding="utf-8"), FORM):
            if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
                form = ast.unparse(node.format_spec)[2:-1]
                if re.search(r"\.(\d|\{.+\})[f%]$", form) and "z" not in re.sub(r"\{.*?\}", "", form):
                    signed.append((path.relative_to(PACKAGE).as_posix(), node.lineno, form))
    assert signed == []


def test_a_kappa_that_rounds_to_zero_has_no_sign() -> None:
    tiny = Estimate(name="kappa", value=-0.0001, low=-0.0004, high=0.0002, kind="cluster t", n=9)
    assert str(tiny).startswith("kappa: 0.000 [0.000, 0.000]")
    # Two raters who agree exactly as often as chance: kappa is 0 up to the last bit.
    votes = pd.DataFrame({"a": [1, 1, 0, 0], "b": [1, 0, 1, 0], "c": [0.0, 1, 1, 0]})
    assert "-0.000" not in fleiss_kappa(votes).summary()
