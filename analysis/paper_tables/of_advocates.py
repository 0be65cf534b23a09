"""The advocates paper: accuracies, gains, and the t tests of its Table 3."""

from __future__ import annotations

from collections.abc import Iterator

from papers import Paper, if_only
from printed_tables import (
    Finding,
    check_average,
    check_common_df,
    check_common_size,
    check_difference,
    check_discordance,
    check_extremes,
    check_p_values,
    check_paired_t,
    check_relative_gain,
    check_t_and_p,
)

__all__ = ["findings"]

SETTINGS = {"more": "MORE", "samre": "SAMRE", "samre_no_jury": "SAMRE without juries"}


def findings(paper: Paper) -> Iterator[Finding]:
    """Yield every finding of the paper, table by table."""
    yield from _accuracies(paper)
    yield from _gains(paper)
    yield from _tests(paper)


def _accuracies(paper: Paper) -> Iterator[Finding]:
    for column in ("baseline", *SETTINGS):
        yield check_common_size(
            [row[column] for row in paper.tables["1"]],
            place=f"Table 1, {SETTINGS.get(column, column)}",
            n=paper.size("questions"),
            percent=False,
        )


def _gains(paper: Paper) -> Iterator[Finding]:
    percents = []
    for row, gain in zip(paper.tables["1"], paper.tables["2"], strict=True):
        for column in ("more", "samre_no_jury"):
            place = f"Table 2, {row['model']}, {SETTINGS[column]}"
            yield check_difference(row[column], row["baseline"], gain[column], place=place)
            yield check_relative_gain(row[column], row["baseline"], gain[f"{column}_percent"], place=place)
    percents = [gain[f"{c}_percent"] for gain in paper.tables["2"] for c in ("more", "samre_no_jury")]
    said = paper.text["gain_range"]
    yield if_only(
        check_extremes(percents, said["low"], said["high"], place=f"{said['place']}, relative gains"),
        "a range of other rows than those of Table 2",
    )
    said = paper.text["mean_gain"]
    yield if_only(
        check_average(
            [gain["samre_no_jury_percent"] for gain in paper.tables["2"]],
            said["printed"],
            place=f"{said['place']}, mean relative gain of SAMRE without juries",
        ),
        "a mean over other rows or settings than it names",
    )


def _tests(paper: Paper) -> Iterator[Finding]:
    tests = paper.tables["3"]
    for test in tests:
        yield check_t_and_p(test["t"], test["p"], place=f"Table 3, {test['model']}")
    yield check_common_df([(t["model"], t["t"], t["p"]) for t in tests], place="Table 3")
    questions, preferences = paper.size("questions"), paper.size("preferences")
    for test in tests:
        place = f"Table 3, {test['model']}"
        # One degree of freedom less than pairs.
        yield check_t_and_p(test["t"], test["p"], place=f"{place}, {questions} questions", df=questions - 1)
    for n in (questions, preferences):
        for row, test in zip(paper.tables["1"], tests, strict=True):
            entries = row["baseline"], row["samre_no_jury"], test["t"], n
            yield check_discordance(*entries, place=f"Table 3, {test['model']}")
            yield check_paired_t(*entries, place=f"Table 3, {test['model']}")
    said = paper.text["significant"]
    yield check_p_values(
        [(t["model"], t["p"]) for t in tests],
        place="Table 3",
        level=said["level"],
        significant=said["models"],
    )
