"""How good are the judges, how far do they agree, and how sure is that: five public sets, from their files.

Run: D3STATS_DATA=FOLDER python analysis/judges/run.py [-o FOLDER]

Writes ``published.csv`` (every number that the sets are known by, beside ours with its interval), ``kappas.csv`` (each
judge against the label, each two humans), ``panels.csv`` (coefficients of panels), ``pairs.csv`` (two judges on the
same items) and ``alike.csv`` (kappas of PRD's jury and humans on the same pairs, like with like).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from d3stats.estimate import Estimate
from d3stats.inference.comparison.mcnemar import mcnemar
from d3stats.inference.comparison.paired import paired_difference
from d3stats.inference.judges.agreement import AgreementTable, agreement
from d3stats.inference.judges.coefficients import cohen_kappa
from d3stats.resampling import cluster_t, cluster_totals
from d3stats.resampling.proportions import share
from d3stats.sources.ratings import as_ratings

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "simulations")]

from findings_tables import run_on_data  # noqa: E402  # studies are no package
from shown import shown  # noqa: E402
from tables_of_votes import d3_judge, faireval, jury, llmbar, pandalm, prd, prd_humans, two_votes  # noqa: E402

LEVEL = 0.95
JUDGES_OF_LLMBAR = ("GPT-4", "PaLM2")
HUMANS_OF_PANDALM = ("annotator1", "annotator2", "annotator3")


def rate(table: pd.DataFrame, hit: pd.Series, name: str) -> Estimate:
    """Return the share of rows that hit, questions being what varies."""
    codes = pd.factorize(table["cluster"])[0]
    return share(
        hit.to_numpy(dtype=np.int64),
        np.ones(len(table), dtype=np.int64),
        cluster=codes,
        level=LEVEL,
        name=name,
    )


def against_label(table: pd.DataFrame) -> tuple[Estimate, Estimate]:
    """Return one rater's accuracy and kappa against the label, over the votes cast on labelled items."""
    known = table.dropna(subset=["vote", "label"])
    made = cohen_kappa(as_ratings(known).of([*dict.fromkeys(known["rater"]), "label"]), level=LEVEL)
    return rate(known, known["vote"] == known["label"], "accuracy"), made.estimate


def consistency(table: pd.DataFrame) -> Estimate:
    """Return the share of items with both votes on which the two orders agree."""
    keys = ["item", "cluster"]
    wide = (
        table.pivot_table(index=keys, columns="rater", values="vote", aggfunc="first").dropna().reset_index()
    )
    return rate(wide, wide["order 1-2"] == wide["order 2-1"], "order consistency")


def repeat_agreement(table: pd.DataFrame) -> Estimate:
    """Return the share of pairs of judgments of one item that agree, all such pairs alike."""
    wide = pd.crosstab([table["item"], table["cluster"]], table["vote"])
    counts = wide.to_numpy(dtype=float)
    cluster = pd.factorize(wide.index.get_level_values("cluster"))[0]
    n = counts.sum(axis=1)
    alike, pairs = (counts * (counts - 1)).sum(axis=1) / 2, n * (n - 1) / 2
    totals = cluster_totals(np.column_stack([alike, pairs]), cluster)
    found = cluster_t(totals, lambda sums: sums[:, 0] / sums[:, 1], level=LEVEL)
    low, high = found.interval()
    return Estimate(
        name="repeat agreement", value=float(found.estimate[0]), low=low, high=high, se=float(found.se[0]),
        kind="cluster t", n=int(pairs.sum()), n_clusters=len(totals), level=LEVEL,
    )  # fmt: skip


def published(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield every number that the sets are known by, beside what the files give."""
    yield from of_llmbar(folder)
    yield from of_pandalm(folder)
    yield from of_prd(folder)
    sheet = d3_judge(folder)
    bench = sheet[sheet["log"].str.startswith("mt-bench: ")]
    yield line("D3 sheet", "MT-Bench judgments", "3355", len(bench))
    yield line("D3 sheet", "unique pairs", "1198", bench["item"].nunique())
    yield line("D3 sheet", "arena battles", "199", len(sheet) - len(bench))
    yield line("D3 sheet", "agreement of repeats", ".744", repeat_agreement(bench))
    said = faireval(folder)
    yield line("FairEval", "human labels", "80", len(said))
    for name, text in (("chatgpt", "41"), ("vicuna-13b", "25"), ("tie", "14")):
        hit = said["vote"] == name
        yield line("FairEval", f"labels: {name}", text, int(hit.sum()), rate(said, hit, f"share of {name}"))


def of_llmbar(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield LLMBar's numbers: accuracy over both orders, kappa of the first order, both over the votes cast."""
    table, every = llmbar(folder), llmbar(folder, raw=False)
    yield line("LLMBar", "items", "419", table["item"].nunique())
    yield line("LLMBar", "judges", "6", every["log"].str.partition("/")[0].nunique())
    for judge, texts in zip(
        JUDGES_OF_LLMBAR, ((".8449", ".928", ".657"), (".705", ".723", ".374")), strict=True
    ):
        mine = table[table["log"] == f"{judge}/Vanilla"]
        cast = mine.dropna(subset=["vote"])
        _, kappa = against_label(mine[mine["rater"] == "order 1-2"])
        found = (rate(cast, cast["vote"] == cast["label"], "accuracy"), consistency(mine), kappa)
        for what, text, estimate in zip(
            ("accuracy", "order consistency", "kappa"), texts, found, strict=True
        ):
            yield line("LLMBar", f"{judge} Vanilla, {what}", text, estimate)
    b, c = discordant(every, *pairs_of_llmbar())
    yield line("LLMBar", "right by GPT-4 Vanilla alone", "20", b)
    yield line("LLMBar", "right by GPT-4 CoT alone", "13", c)
    yield line("LLMBar", "exact McNemar p", ".296", mcnemar(b, c).p_value)


def of_pandalm(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield PandaLM's numbers."""
    table = pandalm(folder)
    humans = table[table["role"] == "human"]
    yield line("PandaLM", "items", "999", table["item"].nunique())
    yield line("PandaLM", "humans", "3", humans["rater"].nunique())
    yield line("PandaLM", "judges", "2", table.loc[table["role"] == "judge", "rater"].nunique())
    ratings = as_ratings(humans)
    for (a, b), text in zip(combinations(HUMANS_OF_PANDALM, 2), (".852", ".879", ".862"), strict=True):
        yield line(
            "PandaLM", f"kappa, {a} and {b}", text, cohen_kappa(ratings.of([a, b]), level=LEVEL).estimate
        )
    (fleiss,) = agreement(humans, measures=["fleiss"], level=LEVEL).panel
    yield line("PandaLM", "Fleiss' kappa of the humans", ".864", fleiss.estimate)
    items = humans.drop_duplicates("item")
    for answer, text in (("0", "105"), ("1", "422"), ("2", "472")):
        hit = items["label"] == answer
        yield line("PandaLM", f"majority label {answer}", text, int(hit.sum()), rate(items, hit, "share"))
    b, c = discordant(garbage_is_a_tie(table), "gpt-3.5-turbo", "pandalm-7b")
    yield line("PandaLM", "right by GPT-3.5 alone", "154", b)
    yield line("PandaLM", "right by PandaLM-7B alone", "111", c)
    yield line("PandaLM", "exact McNemar p", ".00975", mcnemar(b, c).p_value)


def of_prd(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield PRD's numbers: GPT-4 in the sorted order of a pair, the jury of all reviews, the humans."""
    table = prd(folder)
    items = table.drop_duplicates("item")
    yield line("PRD", "questions", "80", items["cluster"].nunique())
    yield line("PRD", "pairs of models", "10", items["log"].nunique())
    reviewers = table.loc[table["role"] == "judge", "rater"].str.partition(" ")[0]
    yield line("PRD", "LLM reviewers", "5", reviewers.nunique())
    sizes = sorted(set(table[table["role"] == "human"].groupby("item").size()))
    yield line("PRD", "fewest humans on a pair", "1", sizes[0])
    yield line("PRD", "most humans on a pair", "3", sizes[-1])
    for name, rows, texts in (
        ("GPT-4", table[table["rater"] == "gpt4 (1-2)"], (".652", ".424", "744")),
        ("jury", jury(table), (".754", ".545", "704")),
    ):
        right, kappa = against_label(rows)
        yield line("PRD", f"{name} against the human plurality, accuracy", texts[0], right)
        yield line("PRD", f"{name} against the human plurality, kappa", texts[1], kappa)
        yield line("PRD", f"{name}, items", texts[2], right.n)
    yield line(
        "PRD", "Fleiss' kappa of the humans", ".185", human_panel(prd_humans(folder)).panel[0].estimate
    )


def human_panel(table: pd.DataFrame) -> AgreementTable:
    """Return the coefficients of a panel of PRD's humans, who are nobody in particular from pair to pair."""
    return agreement(table, measures=["fleiss", "alpha", "ac1", "share"], level=LEVEL)


def line(
    data: str, what: str, text: str, ours: Estimate | float, interval: Estimate | None = None
) -> dict[str, Any]:
    """Return one row: the number as it is known, ours, and whether it is the same to its printed digits."""
    estimate = ours if isinstance(ours, Estimate) else interval
    value = ours.value if isinstance(ours, Estimate) else float(ours)
    digits = len(text.partition(".")[2])
    of_share = interval is not None
    return {
        "data": data,
        "what": what,
        "known": text,
        "digits": digits,
        "ours": value,
        "low": None if estimate is None else estimate.low,
        "high": None if estimate is None else estimate.high,
        "n": None if estimate is None else estimate.n,
        "clusters": None if estimate is None else estimate.n_clusters,
        "interval_of": "" if estimate is None else ("the share" if of_share else "the number"),
        "same": abs(value - float(text)) <= 0.5 * 10.0**-digits * (1 + 1e-9),
    }


def pairs_of_llmbar() -> tuple[str, str]:
    """Return the two runs that are compared."""
    return "GPT-4/Vanilla", "GPT-4/CoT"


def right_by(table: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """Return who was right by item, a missing vote not right; of runs, the first order counts."""
    runs = {a, b} <= set(table["log"])
    rows = table[table["log"].isin([a, b]) & (table["rater"] == "order 1-2")] if runs else table
    rows = rows[rows["rater"].isin([a, b])] if not runs else rows
    name = "log" if runs else "rater"
    rows = rows.assign(right=(rows["vote"] == rows["label"]).astype(float))
    return (
        rows.pivot_table(index=["item", "cluster"], columns=name, values="right")
        .dropna()[[a, b]]
        .reset_index()
    )


def discordant(table: pd.DataFrame, a: str, b: str) -> tuple[int, int]:
    """Return how many items `a` alone, and `b` alone, got right."""
    both = right_by(table, a, b)
    return int((both[a] > both[b]).sum()), int((both[b] > both[a]).sum())


def garbage_is_a_tie(table: pd.DataFrame) -> pd.DataFrame:
    """Return PandaLM's votes by its repository's convention: an unreadable judgment is a tie."""
    gone = table["vote"].isna() & (table["role"] == "judge")
    return table.assign(vote=table["vote"].where(~gone, "0"))


def paired(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield two judges on the same items: the difference in accuracy with a clustered interval, and McNemar."""
    every, panda = llmbar(folder, raw=False), pandalm(folder)
    cast = panda.dropna(subset=["vote"])
    for data, table, a, b in (
        ("LLMBar", every, *pairs_of_llmbar()),
        ("PandaLM, garbage a tie", garbage_is_a_tie(panda), "pandalm-7b", "gpt-3.5-turbo"),
        ("PandaLM, garbage missing", cast, "pandalm-7b", "gpt-3.5-turbo"),
    ):
        both = right_by(table, a, b)
        found = paired_difference(both[a], both[b], both["cluster"], level=LEVEL, rng=1)
        less = found.difference
        only_a, only_b = discordant(table, a, b)
        yield {
            "data": data, "a": a, "b": b, "items": len(both), "clusters": less.n_clusters, "only_a": only_a,
            "only_b": only_b, "difference": less.value, "low": less.low, "high": less.high,
            "p_cluster": found.p("cluster t"), "p_mcnemar": mcnemar(only_a, only_b).p_value,
        }  # fmt: skip


def kappas(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the kappa of every judge against the label and of every two humans, by three kinds of interval."""
    table = llmbar(folder, raw=False)
    first = table[(table["rater"] == "order 1-2") & table["log"].str.endswith("/Vanilla")]
    for run, rows in first.groupby("log"):
        yield kappa_line("LLMBar, against the label", str(run).partition("/")[0], rows, "order 1-2", "label")
    panda = pandalm(folder)
    for a, b in combinations(HUMANS_OF_PANDALM, 2):
        yield kappa_line("PandaLM, two humans", f"{a[-1]} and {b[-1]}", panda, a, b)
    for judge in ("pandalm-7b", "gpt-3.5-turbo"):
        yield kappa_line("PandaLM, against the majority", judge, panda, judge, "label")
    table = prd(folder)
    for judge in sorted({x.partition(" ")[0] for x in table.loc[table["role"] == "judge", "rater"]}):
        yield kappa_line("PRD, against the humans", judge, table, f"{judge} (1-2)", "label")
    yield kappa_line("PRD, against the humans", "jury of all", jury(table), "jury", "label")


def kappa_line(group: str, name: str, table: pd.DataFrame, a: str, b: str) -> dict[str, Any]:
    """Return one kappa with the clustered interval, and the error that takes items as independent."""
    rows = table[table["rater"].isin([a, b])]
    ratings = as_ratings(rows).of([a, b])
    made = cohen_kappa(ratings, level=LEVEL)
    alone = cohen_kappa(ratings, kind="classical", level=LEVEL).estimate
    boot = cohen_kappa(ratings, kind="bca", level=LEVEL, rng=1).estimate
    e = made.estimate
    return {
        "group": group, "name": name, "value": e.value, "low": e.low, "high": e.high, "n": e.n,
        "clusters": e.n_clusters, "share": made.share.value, "chance": made.chance, "se": e.se,
        "se_independent": alone.se, "bca_low": boot.low, "bca_high": boot.high,
    }  # fmt: skip


def panels(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the coefficients of whole panels."""
    wanted = ["fleiss", "alpha", "ac1", "share"]
    bar = llmbar(folder, raw=False)
    bar = bar[(bar["rater"] == "order 1-2") & bar["log"].str.endswith("/Vanilla")]
    bar = bar.assign(rater=bar["log"].str.partition("/")[0])
    table = prd(folder)
    reviews = table[table["rater"].str.fullmatch(r"\S+ \(1-2\)") & (table["role"] == "judge")]
    panda = pandalm(folder)
    for name, found in (
        ("LLMBar, judges without strategy", agreement(bar, measures=wanted, level=LEVEL)),
        ("PandaLM, 3 humans", agreement(panda[panda["role"] == "human"], measures=wanted, level=LEVEL)),
        ("PRD, 3 humans, as shown", human_panel(prd_humans(folder))),
        ("PRD, 3 humans, by name", human_panel(prd_humans(folder, shown=False))),
        ("PRD, 5 LLM reviewers", agreement(reviews, measures=wanted, level=LEVEL)),
    ):
        for one in found.panel:
            e = one.estimate
            yield {
                "panel": name, "raters": len(found.raters), "items": e.n, "clusters": e.n_clusters,
                "measure": one.measure, "value": e.value, "low": e.low, "high": e.high,
            }  # fmt: skip


def alike(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield kappas of PRD's jury and humans on the 800 pairs that both judged: one voice with one human, each time."""
    table = prd(folder)
    for who in ("jury and human", "human and human", "human and the others"):
        votes = two_votes(table, who)
        made = cohen_kappa(votes["vote_1"], votes["vote_2"], cluster=votes["cluster"].tolist(), level=LEVEL)
        e = made.estimate
        yield {"who": who, "value": e.value, "low": e.low, "high": e.high, "share": made.share.value,
               "n": e.n, "items": votes["item"].nunique(), "clusters": e.n_clusters}  # fmt: skip


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables."""
    made = {"published": published, "kappas": kappas, "panels": panels, "pairs": paired, "alike": alike}
    return {name: pd.DataFrame(list(of(folder))) for name, of in made.items()}


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
