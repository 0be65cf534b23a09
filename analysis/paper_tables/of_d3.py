"""D3: accuracies, kappas, costs, ablations, and what its sections say of them."""

from __future__ import annotations

from collections.abc import Iterator

from papers import Paper, if_only
from printed_tables import (
    Finding,
    Printed,
    check_common_size,
    check_difference,
    check_distinguishable,
    check_gains_and_losses,
    check_grouped_mean,
    check_kappas,
    check_majority_gain,
    check_one_price,
    check_part,
    check_ratio,
    check_relative_gain,
    check_same,
    check_share,
    check_significance,
    check_within_parts,
    printed,
)

__all__ = ["findings"]

SETS = {"mt_bench": "MT-Bench", "align_bench": "AlignBench", "auto_j": "AUTO-J"}
MORE, SAMRE, SINGLE = "D3-MORE", "D3-SAMRE", "Single Judge"


def findings(paper: Paper) -> Iterator[Finding]:
    """Yield every finding of the paper, table by table."""
    yield from _agreement(paper)
    yield from _costs(paper)
    yield from _ablation(paper)
    yield from _personas(paper)
    yield from _tasks(paper)
    yield from _protocols(paper)
    yield from _rationales(paper)
    yield from _open_source(paper)


def _agreement(paper: Paper) -> Iterator[Finding]:
    rows = paper.tables["1"]
    for column, name in SETS.items():
        place = f"Table 1, {name}"
        yield check_common_size([row[column] for row in rows], place=place, n=paper.size(column))
        for row in rows:
            pair = row[column], row[f"{column}_kappa"]
            yield check_kappas([pair], place=f"{place}, {row['framework']}")
        yield check_kappas([(row[column], row[f"{column}_kappa"]) for row in rows], place=place)
    row = paper.row("1", framework=MORE)
    exact = printed(row["mt_bench"]).taken_exactly(), printed(row["mt_bench_kappa"]).taken_exactly()
    yield check_kappas([exact], place=f"Table 1, MT-Bench, {MORE}, entries exact")
    for name, said in (
        (SINGLE, "more_over_single"),
        ("ChatEval", "more_over_chateval"),
        ("PRD", "more_over_prd"),
    ):
        yield check_difference(
            row["mt_bench"],
            paper.row("1", framework=name)["mt_bench"],
            paper.text[said]["printed"],
            place=f"{paper.text[said]['place']}, {MORE} over {name}",
        )
    yield check_distinguishable(
        row["mt_bench"],
        paper.row("1", framework=SAMRE)["mt_bench"],
        paper.size("mt_bench"),
        place=f"Table 1, MT-Bench, {MORE} and {SAMRE}",
    )


def _costs(paper: Paper) -> Iterator[Finding]:
    rows = paper.tables["2"]
    for row in rows:
        place = f"Table 2, {row['framework']}"
        yield check_ratio(
            row["tokens"], row["accuracy"], row["tokens_per_point"], place=place, check="tokens for a point"
        )
        first = paper.row("1", framework=row["framework"])["mt_bench"]
        yield check_same(
            [("Table 1", first), ("Table 2", row["accuracy"])], place=f"{row['framework']}, accuracy"
        )
    yield check_one_price([(r["framework"], r["tokens"], r["cost"]) for r in rows], place="Table 2")
    more, samre, single = (paper.row("2", framework=name) for name in (MORE, SAMRE, SINGLE))
    said = paper.text["samre_cost_ratio"]
    place = f"{said['place']}, {SAMRE} over {SINGLE}"
    yield if_only(
        check_ratio(samre["tokens"], single["tokens"], said["printed"], place=f"{place}, tokens"),
        "thousands of tokens, not a ratio",
    )
    yield if_only(
        check_ratio(samre["cost"], single["cost"], said["printed"], place=f"{place}, dollars"),
        "thousands of tokens, not a ratio",
    )
    said = paper.text["samre_over_more_tokens"]
    yield check_relative_gain(
        samre["tokens"],
        more["tokens"],
        said["printed"],
        place=f"{said['place']}, tokens of {SAMRE} over {MORE}",
    )
    said = paper.text["more_cost_ratio"]
    yield check_ratio(
        more["tokens"], single["tokens"], said["printed"], place=f"{said['place']}, {MORE} over {SINGLE}"
    )


def _ablation(paper: Paper) -> Iterator[Finding]:
    n = paper.size("mt_bench")
    rows = paper.tables["3"]
    yield check_common_size([row["accuracy"] for row in rows], place="Table 3, accuracy", n=n)
    yield check_common_size([row["swap_consistency"] for row in rows], place="Table 3, swap consistency", n=n)
    yield check_kappas([(row["accuracy"], row["kappa"]) for row in rows], place="Table 3")
    one, one_persona, five, five_persona = (row["accuracy"] for row in rows)
    agreement = paper.text["agreement"]
    yield if_only(
        check_majority_gain(
            one_persona,
            five_persona,
            agreement["printed"],
            5,
            place=f"Table 3 and {agreement['place']}, personas",
        ),
        "jurors of the panel who are right more often than the one juror of Table 3, 78.1 % or more on average, "
        "or a verdict that is no majority of them",
    )
    said = paper.text["jury_gain"]
    yield check_difference(five, one, said["printed"], place=f"{said['place']}, five jurors over one")
    said = paper.text["persona_gain"]
    place = f"{said['place']}, personas with five jurors"
    yield check_difference(five_persona, five, said["printed"], place=place)
    yield check_significance(five, five_persona, paper.text["persona_p"]["printed"], n, place=place)
    said = paper.text["persona_gain_any_k"]
    low, high = float(said["low"]), float(said["high"])
    stable = Printed(f"{said['low']} to {said['high']}", (low + high) / 2, (high - low) / 2)
    for k, new, old in (("one juror", one_persona, one), ("five jurors", five_persona, five)):
        yield if_only(
            check_difference(new, old, stable, place=f"{said['place']}, persona gain at any size, {k}"),
            f"a gain that depends on the size of the jury: {float(new) - float(old):.1f} with {k}",
        )
    said = paper.text["seven_jurors_no_personas"]
    yield check_share(said["printed"], n, place=f"{said['place']}, seven jurors, no personas")
    for name, table_3, kappa in ((SINGLE, rows[0], "0.45"), (MORE, rows[3], "0.58")):
        first = paper.row("1", framework=name)
        assert first["mt_bench_kappa"] == kappa
        yield check_same(
            [("Table 1", first["mt_bench"]), ("Table 3", table_3["accuracy"])], place=f"{name}, accuracy"
        )
        yield check_same([("Table 1", kappa), ("Table 3", table_3["kappa"])], place=f"{name}, kappa")


def _personas(paper: Paper) -> Iterator[Finding]:
    n, runs = paper.size("persona_questions"), paper.size("persona_runs")
    random, curated, generic = (row["accuracy"] for row in paper.tables["4"])
    twice = "each turn counted by itself, or several pairs of answers to a question"
    yield if_only(
        check_part(paper.sizes["persona_questions"], paper.sizes["mt_bench"], place="5.1 and G.1, MT-Bench"),
        twice,
    )
    yield check_share(random, n * runs, place=f"Table 4, random subsets, {runs} runs together")
    yield check_share(curated, n, place="Table 4, curated personas")
    yield if_only(
        check_share(generic, n, place="Table 4, generic jurors"),
        "a mean of several runs, as its ± says, or another n",
    )
    said = paper.text["robust_gain"]
    place = f"{said['place']}, personas over generic jurors"
    yield check_difference(random, generic, said["printed"], place=place)
    found = check_significance(generic, random, paper.text["robust_p"]["printed"], n, place=place)
    yield if_only(
        found, found.needed.replace("another unit than an answer", "a test over runs instead of answers")
    )
    said = paper.text["curated_gain"]
    yield check_difference(curated, random, said["printed"], place=f"{said['place']}, curated over random")
    five, five_persona = paper.tables["3"][2]["accuracy"], paper.tables["3"][3]["accuracy"]
    for name, third, fourth in (("curated personas", five_persona, curated), ("no personas", five, generic)):
        yield check_same([("Table 3", third), ("Table 4", fourth)], place=f"five jurors, {name}")
    said = paper.text["agreement"]
    yield check_within_parts(
        [said["low"], said["high"]], said["printed"], place=f"{said['place']}, agreement"
    )


def _tasks(paper: Paper) -> Iterator[Finding]:
    kinds = paper.text["objective"], paper.text["subjective"]
    for name, said in zip(("objective", "subjective"), kinds, strict=True):
        yield check_difference(
            said["with"], said["without"], said["gain"], place=f"{said['place']}, {name} tasks"
        )
    for key, row in (("with", 3), ("without", 2)):
        whole = paper.tables["3"][row]["accuracy"]
        yield check_within_parts(
            [said[key] for said in kinds],
            whole,
            place=f"{kinds[0]['place']}, {MORE} {key} personas, all tasks",
        )


def _protocols(paper: Paper) -> Iterator[Finding]:
    text = paper.text
    more, samre = (paper.row("1", framework=name)["mt_bench"] for name in (MORE, SAMRE))
    net = Printed(f"{float(samre) - float(more):.1f}", float(samre) - float(more), 0.1)
    yield check_gains_and_losses(
        text["improves"]["printed"],
        text["loses"]["printed"],
        net,
        place=f"{text['improves']['place']}, {SAMRE} over {MORE}",
    )
    early, mean = text["stopped_by_round_2"], text["mean_rounds"]
    later = Printed("rest", 100 - float(early["printed"]), 0.5)
    groups = [(early["printed"], 1, 2), (later, 3, 5)]
    yield check_grouped_mean(
        groups,
        mean["printed"],
        place=f"{mean['place']}, rounds, {early['printed']} % of debates in two at most",
    )
    yield if_only(
        check_grouped_mean(
            [("100", 3, 5)], mean["printed"], place=f"{mean['place']}, rounds by the published code's rule"
        ),
        "a rule that can stop before three rounds: the code waits for three scores",
    )
    said = text["tokens_saved"]
    yield if_only(
        check_relative_gain(
            mean["printed"],
            printed("5").taken_exactly(),
            said["printed"],
            place=f"{said['place']}, tokens saved over five rounds",
            check="tokens in proportion to rounds, in percent",
        ),
        "tokens that do not go with rounds: a fixed part of each debate, or longer debates that cost more a round",
    )
    n = paper.size("samre_evaluations")
    for key in ("stopped_by_round_2", "samre_accuracy", "verdicts_changed"):
        yield check_share(text[key]["printed"], n, place=f"5.7, {key.replace('_', ' ')}")
    said = text["samre_accuracy"]
    yield check_same(
        [("Table 1", samre), (said["place"], said["printed"])],
        place=f"{SAMRE}, accuracy with budgeted stopping",
    )


def _rationales(paper: Paper) -> Iterator[Finding]:
    text = paper.text
    yield check_share(text["cited"]["printed"], paper.size("rationales"), place="5.8, rationales that cite")
    yield check_share(
        text["traceable"]["printed"], paper.size("disagreements"), place="5.8, traceable disagreements"
    )
    said = text["similarity"]
    low, high = printed(said["persona"]), printed(said["generic"])
    place = f"{said['place']}, diversity"
    yield check_ratio(high, low, said["ratio"], place=f"{place} as a ratio of similarities")
    persona, generic = (Printed(f"1 - {p}", 1 - p.value, p.half_unit) for p in (low, high))
    yield if_only(
        check_ratio(
            persona, generic, said["ratio"], place=f"{place} as a ratio of diversities, 1 - similarity"
        ),
        "a ratio of similarities, which is not one of diversities",
    )


def _open_source(paper: Paper) -> Iterator[Finding]:
    n = paper.size("open_source_questions")
    yield if_only(
        check_part(paper.sizes["open_source_questions"], paper.sizes["mt_bench"], place="Table 5, MT-Bench"),
        "each turn counted by itself, or several pairs of answers to a question",
    )
    rows = paper.tables["5"]
    llama = [row for row in rows if row["evaluator"].startswith("Llama")]
    for row in llama:
        yield check_share(row["accuracy"], n, place=f"Table 5, {row['framework']}, {row['evaluator']}")
    yield check_common_size([row["accuracy"] for row in llama], place="Table 5, Llama-3-70B", n=n)
    base = llama[0]["accuracy"]
    for row in rows[1:]:
        place = f"Table 5, {row['framework']}, {row['evaluator']}"
        own = base if row in llama else paper.row("1", framework=SINGLE)["mt_bench"]
        yield check_difference(row["accuracy"], own, row["gain"], place=f"{place}, in points")
        yield if_only(
            check_relative_gain(row["accuracy"], own, row["gain"], place=f"{place}, as its column is named"),
            "points of accuracy, not a relative gain",
        )
    last = rows[-1]
    yield if_only(
        check_difference(
            last["accuracy"], base, last["gain"], place="Table 5, D3-MORE, GPT-4-Turbo, over the first row"
        ),
        "another baseline: the single judge of Table 1, with another evaluator",
    )
    more = paper.row("1", framework=MORE)["mt_bench"]
    yield check_same([("Table 1", more), ("Table 5", last["accuracy"])], place=f"{MORE}, accuracy")
