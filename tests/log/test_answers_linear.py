"""Every reader of answers takes time in proportion to its text, whatever the text is."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from layers import sampled
from pace import idle_seconds

from d3stats.log.importers.answers import boxed, choice, number, yes_no

N = 1_000_000
READERS: dict[str, Callable[[str], object]] = {
    "boxed": boxed,
    "number": number,
    "number, strict": lambda text: number(text, reading="strict"),
    "choice": choice,
    "choice, strict": lambda text: choice(text, reading="strict"),
    "yes or no": yes_no,
}
CRAFTED = {
    "boxes": "\\boxed{" * (N // 7),
    "boxes with blanks": "\\boxed{ " * (N // 8),
    "blanks after answer": "answer" + " " * N,
    "blanks after a statement": "answer is" + " " * N,
    "statements": "answer is " * (N // 10),
    "letters": "answer: A " * (N // 10),
    "offers": "(A) or " * (N // 7),
    "stars": "answer *" * (N // 8),
    "digits in a box": "\\boxed{" + "1" * N + "}",
    "points in a box": "\\boxed{" + "1." * (N // 2) + "}",
    "signs": "\\boxed{" + "-1" * (N // 2) + "}",
    "commas": "1," * (N // 2),
    "questions": "answer to the " * (N // 14),
}


@sampled("name, reader", itertools.product(CRAFTED, READERS), slice(0, None, 5))  # 5 is prime to both numbers
def test_a_crafted_megabyte_is_read_in_seconds(name: str, reader: str) -> None:
    assert idle_seconds(lambda: READERS[reader](CRAFTED[name]), tries=1) < 5


def test_a_box_ends_where_its_own_brace_ends() -> None:
    assert boxed(r"} \boxed{a{b}c} \boxed{\boxed{1}2} \boxed{open {x}") == ["a{b}c", r"\boxed{1}2", "1"]


def test_the_last_statement_counts() -> None:
    assert number("The answer is 4. No, the answer is 5, not 6.", stated=True) == "5"
