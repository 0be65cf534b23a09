"""ChatEval: accuracies and kappas on FairEval, correlations on Topical-Chat."""

from __future__ import annotations

from collections.abc import Iterator

from papers import Paper, if_only
from printed_tables import (
    Finding,
    check_average,
    check_common_size,
    check_difference,
    check_kappa_of_labels,
    check_relative_gain,
    check_same,
    check_share,
)

__all__ = ["findings"]

ASPECTS = ("naturalness", "coherence", "engagingness", "groundedness")


def findings(paper: Paper) -> Iterator[Finding]:
    """Yield every finding of the paper, table by table."""
    yield from _accuracies(paper)
    yield from _gains(paper)
    yield from _correlations(paper)


def _accuracies(paper: Paper) -> Iterator[Finding]:
    n = paper.size("questions")
    for table, name in (("1", "method"), ("3", "method"), ("4", "strategy")):
        rows = paper.tables[table]
        for row in rows:
            place = f"Table {table}, {row[name]}"
            yield check_share(row["accuracy"], n, place=place)
            yield check_kappa_of_labels(row["accuracy"], row["kappa"], paper.labels, place=place)
        yield check_common_size([row["accuracy"] for row in rows], place=f"Table {table}", n=n)
    yield check_share(
        paper.text["apex"]["printed"], n, place=f"{paper.text['apex']['place']}, three and four roles"
    )
    single, several = "ChatGPT, single agent", "ChatGPT, several agents"
    for column in ("accuracy", "kappa"):
        yield check_same(
            [(f"Table {t}", paper.row(t, method=single)[column]) for t in ("1", "3")],
            place=f"{single}, {column}",
        )
        yield check_same(
            [
                ("Table 1", paper.row("1", method=several)[column]),
                ("Table 3", paper.row("3", method=f"{several}, diverse roles")[column]),
            ],
            place=f"{several}, two agents, {column}",
        )
    # Section 4.2 has three agents and two turns; section 4.3 says what Figure 3a shows for three roles.
    apex = paper.text["apex"]
    yield if_only(
        check_same(
            [
                ("Table 4", paper.row("4", strategy="one by one")["accuracy"]),
                (apex["place"], apex["printed"]),
            ],
            place="ChatGPT, one by one, three agents, accuracy",
        ),
        "another run, other roles, or two agents in Table 4, which prints what Tables 1 and 3 print for two",
    )


def _gains(paper: Paper) -> Iterator[Finding]:
    said = paper.text["mean_of_annotators"]
    annotators = [row["accuracy"] for row in paper.tables["1"] if row["method"].startswith("Annotator")]
    yield check_average(annotators, said["printed"], place=f"{said['place']}, mean of the annotators")
    for model in ("ChatGPT", "GPT-4"):
        said = paper.text["chatgpt_gain" if model == "ChatGPT" else "gpt4_gain"]
        new, old = (
            paper.row("1", method=f"{model}, {agents}")["accuracy"]
            for agents in ("several agents", "single agent")
        )
        yield check_difference(new, old, said["printed"], place=f"{said['place']}, {model}")


def _correlations(paper: Paper) -> Iterator[Finding]:
    for row in paper.tables["2"]:
        yield check_average(
            [row[a] for a in ASPECTS], row["average"], place=f"Table 2, {row['metric']}, {row['statistic']}"
        )
    for statistic in ("rho", "tau"):
        said = paper.text[f"{statistic}_gain"]
        new, old = (
            paper.row("2", metric=metric, statistic=statistic)["average"]
            for metric in ("GPT-4, several agents", "G-EVAL-4")
        )
        place = f"{said['place']}, {statistic} over G-EVAL-4"
        yield check_difference(new, old, said["printed"], place=place)
        yield check_relative_gain(new, old, said["percent"], place=place)
