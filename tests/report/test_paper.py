"""Tables and figures of papers from own logs: each number is that of the function that computes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import d3stats
from d3stats import agreement, compare, fit, jury_curve, replay
from d3stats.cli import app
from d3stats.inference import aspect_correlations, persona_effect, position_bias, rationales
from d3stats.inference.bias import subset_accuracy
from d3stats.inference.bias.persona import AGREEMENT
from d3stats.inference.bias.position import CONSISTENCY
from d3stats.inference.bias.self_preference import GAP, OF_ALL, self_preference
from d3stats.planning import score_gaps
from d3stats.planning.log_cost import log_cost
from d3stats.plotting.style import TWO_COLUMNS, use_style
from d3stats.report.paper import ITEMS, PaperItem
from d3stats.worlds import Voter, simulate_debates

REAL = Path(__file__).resolve().parents[2] / "analysis" / "live_llm" / "votes"
VERDICTS = pd.DataFrame(
    [
        {"item": i, "judge": judge, "order": order, "vote": "AB"[(i * k + (order == "BA")) % 3 % 2]}
        | {"label": "AB"[i % 2], "family_a": "xy"[i % 3 == 0], "family_b": "yx"[i % 3 == 0], "judge_family": "x"}
        for i in range(40)
        for k, judge in enumerate(("small", "large"), 1)
        for order in ("AB", "BA")
    ]
)  # fmt: skip


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Logs of synthetic agents, as ``d3stats debate`` writes them."""
    folder = tmp_path_factory.mktemp("papers")
    (folder / "court.toml").write_text('name = "courtroom"\n')
    (folder / "responses.toml").write_text('name = "responses"\n')
    runs = {
        "more": ("court", "more", ()),
        "plain": ("court", "more:personas=none", ()),
        "both": ("court", "more", ("--orders", "both")),
        "samre": ("court", "samre", ()),
        "full": ("court", "samre:poll=every_round", ("--stop", "full")),
        "direct": ("responses", "chateval:aspects=coherence+naturalness", ()),
    }
    for name, (world, protocol, more) in runs.items():
        words = [
            "debate",
            "--synthetic",
            str(folder / f"{world}.toml"),
            "--limit",
            "20",
            "--protocol",
            protocol,
        ]
        done = CliRunner().invoke(app, [*words, *more, "-o", str(folder / f"{name}.jsonl")])
        assert done.exit_code == 0, done.stderr
    return {name: str(folder / f"{name}.jsonl") for name in runs}


@cache
def opened(log: str) -> d3stats.Opened:
    """Return a log that all tests read once: a bundled one or a path."""
    return d3stats.open(log)


def paper(item: str, *given: Any, **more: Any) -> Any:
    """Make an item of logs that are read once for all tests; tests of the terminal read them anew.

    With the same logs and settings it is made once; tests only look at it.
    """
    more = {"rng": 1} | more
    if all(isinstance(g, str | Path) for g in given) and all(
        isinstance(value, str | int | float) for value in more.values()
    ):
        return paper_of_files(item, tuple(map(str, given)), tuple(sorted(more.items())))
    return d3stats.paper(item, *(opened(str(g)) if isinstance(g, str | Path) else g for g in given), **more)


@cache
def paper_of_files(item: str, given: tuple[str, ...], more: tuple[tuple[str, Any], ...]) -> Any:
    return d3stats.paper(item, *map(opened, given), **dict(more))


def sources(logs: dict[str, str]) -> dict[str, tuple[list[list[Any]], dict[str, Any]]]:
    """Return the sources on which each item is tried: of simulated logs, and of the bundled ones where they have it."""
    gemma = ["gemma-votes", "gemma-reasons"]
    people = pd.DataFrame({"question": d3stats.inference.direct_scores(logs["direct"])["question"]})
    people = people.assign(coherence=np.arange(len(people)) % 5, naturalness=np.arange(len(people)) % 3)
    real = [str(REAL / f"{name}.jsonl.gz") for name in ("majority", "more", "samre")]
    two = [[logs["plain"], logs["more"]], gemma]
    voted = [[logs["more"], logs["samre"]], gemma, real]
    return {
        "d3:figure-2": (two, {}),
        "d3:table-1": (voted, {}),
        "d3:table-2": (voted, {}),
        "d3:figure-3": (voted, {}),
        "d3:table-3": ([[logs["more"], logs["both"]], gemma], {}),
        "d3:figure-4": ([[logs["full"]]], {}),
        "d3:table-4": ([["slm7", logs["more"]]], {}),
        "d3:table-5": (two, {}),
        "d3:figure-5": ([[logs["full"]]], {}),
        "d3:section-4.3": ([[VERDICTS]], {}),
        "d3:section-5.5": ([[logs["more"], logs["samre"]]], {}),
        "d3:section-5.8": ([[logs["more"], logs["plain"]]], {}),
        "d3:appendix-g.3": ([[logs["more"]]], {}),
        "chateval:table-1": (voted, {}),
        "chateval:table-2": ([[logs["direct"]]], {"human": people}),
        "chateval:table-3": (voted, {}),
        "chateval:table-4": (voted, {}),
        "chateval:figure-3a": ([["slm7", logs["more"]]], {}),
        "chateval:figure-3b": ([["gemma-votes"], ["slm7", "gemma-votes"]], {}),
        "advocates:table-1": (voted, {}),
        "advocates:table-2": (voted, {}),
        "advocates:table-3": (voted, {}),
        "stability:table-1": ([["slm7"], gemma], {}),
        "stability:table-2": ([["slm7", "gemma-votes"]], {}),
        "stability:rounds": (
            [["slm7"], ["slm7", simulate_debates(Voter(panel=5), 60, 3, rng=1)]],
            {"n_boot": 40},
        ),
        "stability:ks-threshold": ([["slm7", "gemma-votes"]], {}),
        "stability:ensemble-size": ([["slm7"]], {}),
    }


def looked_at(logs: dict[str, str]) -> dict[str, list[str]]:
    """Return the logs of the tests of numbers below, of which the fast layer looks at the forms too."""
    judged = [logs["more"], "gemma-reasons", str(REAL / "samre.jsonl.gz")]
    agreed = ("d3:table-1", "chateval:table-1", "chateval:table-3", "chateval:table-4")
    return dict.fromkeys(agreed, judged) | {
        "d3:figure-2": ["gemma-votes", "gemma-reasons"],
        "d3:table-2": [str(REAL / f"{name}.jsonl.gz") for name in ("majority", "peer", "samre")],
        "d3:table-3": [logs["more"], logs["both"]],
        "d3:table-4": ["slm7"],
        "d3:section-5.8": [logs["more"]],
        "chateval:figure-3b": ["slm7"],
        "stability:table-1": ["gemma-votes"],
        "stability:table-2": ["slm7"],
        "stability:ks-threshold": ["slm7"],
    }


MADE = [name for name, item in ITEMS.items() if item.make is not None]


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MADE)
def test_each_item_is_made_and_written_in_every_form(name: str, every: bool, logs: dict[str, str]) -> None:
    """In the fast layer on the logs of another test, or on one of its sources, dealt in turn."""
    each, more = sources(logs)[name]
    for given in each if every else [looked_at(logs).get(name, each[MADE.index(name) % len(each)])]:
        found = paper(name, *given, rng=1, **more)
        assert isinstance(found, PaperItem)
        shown = found._shown()[name]
        assert shown.shape == (len(found.rows), len(found.columns))
        assert found.headline.endswith((".", "]"))
        assert (
            name.partition(":")[2].split("-")[0] in found._title().lower() or ITEMS[name].at in found._title()
        )
        assert found.to_latex().count("\\\\") == len(found.rows) + 1
        assert len(found.to_dict()["tables"][name]) == len(found.rows) == len(found.to_frame())
        if found._draw is not None:
            with use_style():
                drawn = found.plot()
            figure = drawn if isinstance(drawn, Figure) else drawn.get_figure(root=True)
            assert figure is not None
            assert figure.get_size_inches()[0] <= TWO_COLUMNS


def values(found: Any, key: str) -> list[float]:
    ends = [key, f"{key}_low", f"{key}_high"]
    kept: list[float] = found.to_frame()[ends].to_numpy(dtype=float).round(12).tolist()
    return kept


def of(*estimates: Any) -> list[list[float]]:
    nan = float("nan")
    return np.array(
        [[e.value, nan if e.low is None else e.low, nan if e.high is None else e.high] for e in estimates]
    ).round(12).tolist()  # fmt: skip


same: Callable[..., None] = np.testing.assert_equal


def test_accuracy_and_kappa_are_those_of_agreement(logs: dict[str, str]) -> None:
    given = [logs["more"], "gemma-reasons", str(REAL / "samre.jsonl.gz")]
    theirs = [agreement(opened(log), a="label", b="decision") for log in given]
    for name in ("d3:table-1", "chateval:table-1", "chateval:table-3", "chateval:table-4", "d3:table-3"):
        found = paper(name, *given)
        same(
            values(found, "accuracy"),
            of(*(one.panel[0].estimate for one in theirs)),
        )
        same(values(found, "kappa"), of(*(one.pairs[0].estimate for one in theirs)))


def test_benchmarks_are_columns() -> None:
    found = paper("d3:table-1", "gemma-votes", "gemma-reasons", strata="category")
    parts = agreement(
        opened("gemma-votes"), a="label", b="decision", strata="category", measures=("cohen", "share")
    ).strata
    heads = [column.head for column in found.columns]
    assert heads[:3] == ["Framework", "movie Acc. (%)", "movie Kappa"]
    assert len(heads) == 7
    same(values(found, "accuracy tweet")[:1], of(parts[0]["tweet"]))
    same(values(found, "kappa tweet")[:1], of(parts[1]["tweet"]))


def test_consistency_is_that_of_the_position_audit(logs: dict[str, str]) -> None:
    found = paper("d3:table-3", logs["more"], logs["both"])
    audit = position_bias(logs["both"])["decision"]
    same(values(found, "consistency")[1:], of(audit[CONSISTENCY]))
    alone = paper("d3:table-3", logs["more"])
    assert "consistency" not in alone.to_frame()
    assert any("'Pos. Swap Consist. (%)' left out" in note for note in alone.notes)


def test_costs_of_a_log_as_it_was_run_are_those_of_its_replay_at_full_depth() -> None:
    """Where a decision is the plurality of the last votes, both are the same; Table 1 and 2 agree in any case."""
    for log in ("gemma-votes", "gemma-reasons"):
        row = replay(opened(log), "full").to_frame().set_index("rule").loc["full"]
        found = log_cost(opened(log))
        for e, key in (
            (found.accuracy, "accuracy"),
            (found.tokens, "tokens"),
            (found.per_point, "tokens_per_point"),
        ):
            assert e is not None
            np.testing.assert_allclose(
                [e.value, e.low, e.high], [row[key], row[f"{key}_low"], row[f"{key}_high"]]
            )
    paths = [str(REAL / f"{name}.jsonl.gz") for name in ("majority", "peer", "samre")]
    costs = paper("d3:table-2", *paths)
    same(values(costs, "accuracy"), values(paper("d3:table-1", *paths), "accuracy"))
    frame = costs.to_frame()
    every = frame["log"] == "majority"  # no debate is without a decision or tokens
    ratio = frame["tokens"] / (100 * frame["accuracy"])
    np.testing.assert_allclose(frame["per_point"][every], ratio[every])


def test_tokens_per_point_take_scored_debates_and_have_no_value_where_nothing_is_right() -> None:
    rows = pd.DataFrame(
        [(d, d, 1, "x", "A" if d < 3 else "B", "A", 100 * (d + 1)) for d in range(4)],
        columns=["debate", "question", "round", "agent", "vote", "label", "tokens"],
    )
    found = log_cost(rows)
    assert found.per_point is not None
    assert found.per_point.value == pytest.approx(1000 / 300)
    wrong = log_cost(rows.assign(vote="B"))
    assert wrong.per_point is None
    assert "no verdict is right" in wrong.notes[-1]
    some = rows.assign(tokens=[100, None, 300, 400])
    assert log_cost(some).per_point.value == pytest.approx(800 / 200)  # type: ignore[union-attr]


def test_gains_are_those_of_compare_and_relative_gains_of_the_pair(logs: dict[str, str]) -> None:
    paths = {"base": str(REAL / "majority.jsonl.gz"), "more": str(REAL / "more.jsonl.gz")}
    found = paper("advocates:table-2", *paths.values(), names=["m/base", "m/more"])
    pair = compare(*map(opened, paths.values()), names=["m/base", "m/more"], by="debate").only
    same(values(found, "more"), of(pair.difference))
    same(values(found, "more relative"), of(pair.relative()))
    assert pair.relative().value == pytest.approx(pair.difference.value / pair.first.value)
    tests = paper("advocates:table-3", *paths.values(), names=["m/base", "m/more"]).to_frame()
    assert tests["p"].tolist() == [pair.p("paired t")]
    assert tests["p_cluster"].tolist() == [pair.p_value]
    assert re.fullmatch(r"t\(\d+\) = -?\d+\.\d+", tests["t"][0])
    five = paper("d3:table-5", *paths.values(), baseline="more")
    flipped = compare(*map(opened, reversed(paths.values())), by="debate").difference
    assert five.rows[1]["gain"] == "baseline"
    same(of(five.rows[0]["gain"]), of(flipped))


def test_models_are_rows_and_architectures_columns() -> None:
    names = ["a/one", "a/two", "b/one"]
    found = paper("advocates:table-1", "gemma-votes", "gemma-reasons", "slm7", names=names)
    assert [column.head for column in found.columns] == ["Model", "one", "two"]
    assert found.to_frame()["model"].tolist() == ["a", "b"]
    assert found._shown()["advocates:table-1"]["two"].tolist()[1] == "-"
    with pytest.raises(
        ValueError, match="every model must have a log of the baseline 'two'; got none of 'b'"
    ):
        paper("advocates:table-2", "gemma-votes", "gemma-reasons", "slm7", names=names, baseline="two")


def test_kinds_of_questions_are_those_of_a_comparison() -> None:
    found = paper("d3:figure-2", "gemma-votes", "gemma-reasons")
    theirs = compare(opened("gemma-votes"), opened("gemma-reasons"), strata="category", by="debate").strata
    for key, part in zip(("gain", "first", "second"), theirs, strict=True):
        same(values(found, key), of(*part.raw))


def test_subsets_are_those_of_the_votes() -> None:
    t = opened("slm7").trajectories()
    votes = t.votes[:, 2]
    usable = (votes >= 0).all(axis=1) & (t.label >= 0)
    right = (votes == t.label[:, None])[usable]
    theirs = subset_accuracy(right, 5, cluster=t.cluster[usable])
    found = paper("d3:table-4", "slm7")
    same(values(found, "accuracy"), of(theirs.accuracy))
    assert found.rows[0]["sd"] == theirs.sd_between
    assert any(f"{int((~usable).sum())} of 160 debates left out" in note for note in found.notes)


def test_stops_savings_and_changes_are_those_of_a_replay(logs: dict[str, str]) -> None:
    found = paper("d3:figure-4", logs["full"])
    theirs = replay(opened(logs["full"]), "d3_paper")
    table = theirs.to_frame().set_index("rule")
    row = table.loc[theirs.names[0]]
    for key, column in (("saved", "saved_tokens_vs_full"), ("accuracy", "accuracy"), ("flips", "flips")):
        same(values(found, key)[0][:1], [round(row[column], 12)])
    same(values(found, "full")[0][:1], [round(table.loc["full", "accuracy"], 12)])
    mine = theirs.stops()
    mine = mine[mine["rule"] == theirs.names[0]]
    assert found.rows[0]["by_two"] == pytest.approx(mine.loc[mine["round"] <= 2, "share"].sum())


def test_a_log_that_was_stopped_says_that_full_depth_is_unknown(logs: dict[str, str]) -> None:
    found = paper("d3:figure-4", logs["samre"])
    assert "saved" not in found.to_frame()
    assert any("it takes votes after every round up to full depth" in note for note in found.notes)


def test_gaps_and_bands_are_those_of_the_scores(logs: dict[str, str]) -> None:
    found = paper("d3:figure-5", logs["full"])
    theirs = score_gaps(logs["full"])
    for at in theirs.to_dict("records"):
        row = next(row for row in found.rows if row["category"] == at["category"])
        assert row[f"round {at['round']}"].value == at["gap"]  # type: ignore[union-attr]
    bands = paper("d3:section-5.5", logs["more"], logs["samre"])
    gap = d3stats.open(logs["more"]).trajectories()
    assert gap.scores is not None
    size = np.abs(gap.scores[:, 0, 0] - gap.scores[:, 0, 1])
    right = d3stats.open(logs["samre"]).recorded().right()
    total = 0
    for row in bands.rows:
        low, high = (float(x) for x in str(row["band"]).split(" to "))
        last = row is bands.rows[-1]
        inside = (size >= low) & ((size <= high) if last else (size < high))
        assert row["n"] == inside.sum()
        assert row["second"].value == pytest.approx(right[inside].mean())  # type: ignore[union-attr]
        total += int(inside.sum())
    assert total == len(size)


def test_bands_follow_the_question_where_debates_have_other_names(
    logs: dict[str, str], tmp_path: Path
) -> None:
    text = Path(logs["samre"]).read_text(encoding="utf-8")
    again = re.sub(r'("debate":\s*")', r"\1again ", text)
    (tmp_path / "again.jsonl").write_text(again, encoding="utf-8")
    usual = paper("d3:section-5.5", logs["more"], logs["samre"]).to_frame()
    other = paper("d3:section-5.5", logs["more"], tmp_path / "again.jsonl").to_frame()
    pd.testing.assert_frame_equal(usual, other)


def test_rates_reasons_and_personas_are_those_of_their_audits(logs: dict[str, str]) -> None:
    found = paper("d3:section-4.3", VERDICTS)
    audits = self_preference(VERDICTS)
    same(values(found, "rate"), of(*(audit[OF_ALL] for audit in audits.values())))  # type: ignore[union-attr]
    same(values(found, "gap"), of(*(audit[GAP] for audit in audits.values())))  # type: ignore[union-attr]
    said = paper("d3:section-5.8", logs["more"], rng=1)
    same(of(*(row["more"] for row in said.rows)), of(*rationales(logs["more"], rng=1).estimates))
    personas = paper("d3:appendix-g.3", logs["more"])
    theirs = persona_effect(logs["more"])
    assert personas.to_frame()["mean"].tolist() == [theirs[AGREEMENT].value]


def test_correlations_with_people_are_those_of_the_aspects(logs: dict[str, str]) -> None:
    people = sources(logs)["chateval:table-2"][1]["human"]
    found = paper("chateval:table-2", logs["direct"], human=people, rng=1)
    theirs = aspect_correlations(logs["direct"], people, rng=1)
    for (aspect, method), e in theirs.correlations.items():
        same(values(found, f"{aspect} {method}"), of(e))
    assert found.rows[0]["average kendall"] == theirs.average["kendall"]
    with pytest.raises(ValueError, match="human must be people's scores for chateval:table-2; got none"):
        paper("chateval:table-2", logs["direct"])


def test_turns_are_the_rounds_of_a_log_and_roles_the_agents_of_several() -> None:
    found = paper("chateval:figure-3b", "slm7")
    theirs = [agreement(opened("slm7"), a="label", b="decision", round_number=r) for r in (1, 2, 3)]
    same(values(found, "accuracy"), of(*(one.panel[0].estimate for one in theirs)))
    same(values(found, "kappa"), of(*(one.pairs[0].estimate for one in theirs)))
    with pytest.raises(ValueError, match="different numbers of agents; got gemma-votes, gemma-reasons"):
        paper("chateval:figure-3a", "gemma-votes", "gemma-reasons")
    with pytest.raises(ValueError, match="different numbers of rounds"):
        paper("chateval:figure-3b", "gemma-votes", "gemma-reasons")


def test_a_debate_is_compared_with_its_first_vote_on_the_same_debates() -> None:
    found = paper("stability:table-1", "gemma-votes")
    table = replay(opened("gemma-votes"), "fixed:1").to_frame().set_index("rule")
    same(
        values(found, "vote")[0],
        [round(x, 12) for x in table.loc["fixed:1", ["accuracy", "accuracy_low", "accuracy_high"]]],
    )
    same(
        values(found, "debate")[0],
        [round(x, 12) for x in table.loc["full", ["accuracy", "accuracy_low", "accuracy_high"]]],
    )
    kinds = paper("stability:table-1", "gemma-votes", strata="category")
    assert kinds.to_frame()["benchmark"].tolist() == ["movie", "product", "tweet"]


def test_rounds_and_accuracy_of_the_stop_are_those_of_a_replay() -> None:
    found = paper("stability:table-2", "slm7")
    theirs = replay(opened("slm7"), "hu2025").to_frame()
    same(
        values(found, "rounds"),
        theirs[["rounds", "rounds_low", "rounds_high"]].to_numpy(float).round(12).tolist(),
    )
    swept = paper("stability:ks-threshold", "slm7")
    assert [row["threshold"] for row in swept.rows] == [0.01, 0.05, 0.1, 0.2]
    assert values(swept, "accuracy")[1] == values(found, "accuracy")[0]


def test_accuracy_and_distances_by_round_are_those_of_fit() -> None:
    found = paper("stability:rounds", "slm7", n_boot=40, rng=3)
    theirs = fit(opened("slm7"), n_boot=40, rng=3).to_frame()
    same(
        values(found, "accuracy"),
        theirs[["accuracy", "accuracy_low", "accuracy_high"]].to_numpy(float).round(12).tolist(),
    )
    same(
        values(found, "ks"),
        theirs[["ks_pmf", "ks_pmf_low", "ks_pmf_high"]].to_numpy(float).round(12).tolist(),
    )
    same(found.to_frame()["noise"].to_numpy(float), theirs["ks_pmf_noise"].to_numpy(float))


def test_accuracies_by_agents_are_those_of_the_jury_curve() -> None:
    found = paper("stability:ensemble-size", "slm7", rng=1)
    curve = jury_curve(opened("slm7"), rng=1).curve
    same(values(found, "slm7"), curve[["accuracy", "low", "high"]].to_numpy(float).round(12).tolist())


BARE = pd.DataFrame(
    {
        "debate": [1, 1, 2, 2],
        "question": [1, 1, 2, 2],
        "round": 1,
        "agent": ["x", "y"] * 2,
        "vote": list("ABAA"),
    }
)
LABELLED = BARE.assign(label="A")


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        (
            "d3:table-1",
            [BARE],
            "must have right answers in every log; got none in log 1; give the field label .*--columns label=OWN",
        ),
        (
            "d3:table-2",
            ["slm7"],
            "must have tokens in every log; got none in slm7; give the fields tokens_in",
        ),
        ("d3:figure-4", [BARE], "must have two rounds or more in every log"),
        ("d3:figure-5", ["slm7"], "must have scores of two sides in every log; got none in slm7"),
        (
            "d3:figure-2",
            [LABELLED, LABELLED],
            "must have kinds of questions in every log; .* or --strata COLUMN",
        ),
        ("d3:section-5.5", ["slm7", "slm7"], "names of logs must differ; got 'slm7' twice"),
        ("d3:section-5.5", ["slm7", "gemma-votes"], "must have scores of two sides"),
        ("d3:section-5.8", ["slm7"], "must have what was said in every log; .*--columns text=OWN"),
        ("d3:section-4.3", [VERDICTS.drop(columns="family_a")], "family_a"),
        ("d3:figure-2", ["slm7"], r"must have 2 logs; got 1: d3stats paper d3:figure-2 LOG LOG"),
        ("d3:figure-1", [], "item must be one that logs give; got d3:figure-1: a diagram"),
        ("chateval:table-5", ["slm7"], "d3stats show"),
        ("d3:table-9", ["slm7"], "item must be a paper .* got 'd3:table-9'"),
        ("d3", ["slm7"], "item must name a table or figure, as d3:table-1"),
    ],
)
def test_what_is_missing_is_said_in_one_line(name: str, given: list[Any], says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        paper(name, *given)
    assert "\n" not in str(caught.value)


def test_an_error_names_the_log(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="none in log 2"):
        paper("d3:table-1", LABELLED, BARE)
    odd = LABELLED.assign(vote=None)
    with pytest.raises(ValueError, match=r"^log 2: "):
        paper("stability:ensemble-size", "slm7", odd)


def test_settings_are_refused_where_an_item_has_none() -> None:
    for setting in ({"strata": "category"}, {"baseline": "slm7"}, {"rules": ["fixed:1"]}, {"n_boot": 20}):
        (name,) = setting
        with pytest.raises(
            ValueError, match=rf"^{name} must be left out of d3:table-2; got it \(it is a setting of "
        ):
            paper("d3:table-2", "gemma-votes", **setting)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="names must be one per log"):
        paper("d3:table-2", "gemma-votes", names=["a", "b"])
    with pytest.raises(ValueError, match=r"baseline must be one of slm7; got 'x'"):
        paper("d3:table-5", "slm7", baseline="x")
    with pytest.raises(ValueError, match=r"must have a figure to be drawn"):
        paper("advocates:table-1", "slm7").plot()


@pytest.mark.usefixtures("computed_once")
def test_the_terminal_writes_the_table_in_80_columns_and_in_other_forms(
    logs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run = CliRunner().invoke
    words = ["paper", "d3:table-2", logs["more"], logs["samre"], "--name", "D3-MORE", "--name", "D3-SAMRE"]
    text = run(app, words).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "Tokens/Acc." in text
    assert "D3-SAMRE" in text
    frame = pd.read_csv(StringIO(run(app, [*words, "--csv"]).stdout))
    assert frame["log"].tolist() == ["D3-MORE", "D3-SAMRE"]
    assert "\\toprule" in run(app, [*words, "--latex"]).stdout
    assert '"d3:table-2"' in run(app, [*words, "--json"]).stdout
    assert run(app, [*words, "--csv", "--json"]).exit_code == 1
    done = run(app, [*words, "--figure", str(tmp_path / "frontier.pdf")])
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "frontier.pdf").exists()
    for paper in ("d3", "chateval", "advocates", "stability", "frameworks"):
        text = run(app, ["paper", paper]).stdout
        assert max(map(len, text.splitlines())) <= 80
        for item in ITEMS.values():
            first = item.name in text
            assert first == item.name.startswith(f"{paper}:")


def test_the_table_of_people_is_read_from_a_file(logs: dict[str, str], tmp_path: Path) -> None:
    people = sources(logs)["chateval:table-2"][1]["human"]
    people.to_csv(tmp_path / "people.csv", index=False)
    done = CliRunner().invoke(
        app, ["paper", "chateval:table-2", logs["direct"], "--human", str(tmp_path / "people.csv")]
    )
    assert done.exit_code == 0, done.stderr
    assert "coherence rho" in done.stdout


GEMMA = {"label", "tokens", "category", "rounds"}
"""What the bundled logs have; no scores and no texts."""


@pytest.mark.parametrize(
    "name", [n for n in MADE if ITEMS[n].needs and set(ITEMS[n].needs) <= GEMMA and n != "chateval:figure-3a"]
)
def test_an_item_needs_no_more_than_its_list_says(name: str) -> None:
    logs = ["gemma-votes", "gemma-reasons"]
    more: dict[str, Any] = {"n_boot": 20} if "n_boot" in ITEMS[name].takes else {}
    found = paper(name, *logs[: ITEMS[name].logs[0]], rng=1, **more)
    assert isinstance(found, PaperItem)
    assert found.rows


def test_the_stop_of_the_paper_needs_scores_and_other_rules_do_not() -> None:
    with pytest.raises(ValueError, match=r"d3:figure-4 must have scores of two sides .* --rule"):
        paper("d3:figure-4", "gemma-votes")
    index = paper("d3").to_frame().set_index("item")
    assert "scores" in index.loc["d3:figure-4", "needs"]
    assert paper("d3:figure-4", "gemma-votes", rules=["unanimity"]).rows  # type: ignore[union-attr]


def test_no_loss_is_called_a_gain() -> None:
    """The sentence follows the sign, whichever log is the baseline."""
    words = {"gemma-reasons": "The largest gain is that of", "gemma-votes": "None is above its baseline"}
    for base, says in words.items():
        names = ["gemma-votes", "gemma-reasons"]
        found = paper("advocates:table-2", *names, baseline=base, rng=1)
        assert found.headline.startswith(says), found.headline
        assert ("+" in found.headline.partition(":")[2]) == (base == "gemma-reasons")


def test_a_judge_against_its_own_family_is_not_said_to_prefer_it() -> None:
    rows = [
        {"item": i, "judge": "j", "judge_family": "x", "family_a": "x", "family_b": "y"}
        | {
            "label": label,
            "vote": {"A": "B", "B": "A"}[label] if i % 10 < (6 if label == "A" else 1) else label,
        }
        for i in range(100)
        for label in ["AB"[i // 10 % 2]]
    ]
    against = pd.DataFrame(rows)
    turned = against.assign(family_a="y", family_b="x")
    one, two = (paper("d3:section-4.3", t, rng=1).headline for t in (against, turned))
    assert "prefers the other family more often than its own: +50.0 points" in one
    assert "prefers its own family more often than the other: +50.0 points" in two


def test_the_cost_is_that_of_the_tokens_at_the_prices(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(
        'date = "2026-01-01"\n[models.small]\ninput = 0.2\noutput = 0.8\n[models.large]\ninput = 5\noutput = 20\n'
    )
    found = paper("d3:table-2", "gemma-votes", "gemma-reasons", prices=prices, model="small")
    assert isinstance(found, PaperItem)
    for name, row in zip(("gemma-votes", "gemma-reasons"), found.rows, strict=True):
        t = opened(name).trajectories()
        assert t.tokens_in is not None
        assert t.tokens_out is not None
        each = np.nansum(0.2 * t.tokens_in + 0.8 * t.tokens_out, axis=1) / 1e6
        e = row["dollars"]
        assert e.value == pytest.approx(each.mean())  # type: ignore[union-attr]
        assert e.low < e.value < e.high  # type: ignore[operator, union-attr]
    assert any("small (0.2 and 0.8) per million" in note for note in found.notes)
    dear = paper("d3:table-2", "gemma-votes", prices=prices, model="large").rows[0]["dollars"]  # type: ignore[union-attr]
    assert dear.value == pytest.approx(25 * found.rows[0]["dollars"].value)  # type: ignore[union-attr]
    bare = paper("d3:table-2", "gemma-votes")
    assert "dollars" not in bare.to_frame()
    assert any("--prices" in note for note in bare.notes)
    words = ["paper", "d3:table-2", "gemma-votes", "--prices", str(prices), "--model", "small", "--csv"]
    frame = pd.read_csv(StringIO(CliRunner().invoke(app, words).stdout))
    assert frame["dollars"].iloc[0] == pytest.approx(found.rows[0]["dollars"].value)  # type: ignore[union-attr]
    half = CliRunner().invoke(app, [*words, "--output-share", "0.5"])
    assert pd.read_csv(StringIO(half.stdout))["dollars"].iloc[0] > frame["dollars"].iloc[0]
    with pytest.raises(ValueError, match="model must come with prices"):
        paper("d3:table-2", "gemma-votes", model="small")
    with pytest.raises(ValueError, match="prices must be left out of d3:table-1"):
        paper("d3:table-1", "gemma-votes", prices=prices)


def test_a_role_has_the_prices_of_its_model_in_the_logs_where_it_speaks(
    logs: dict[str, str], tmp_path: Path
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(
        'date = "2026-01-01"\n[models.one]\ninput = 1\noutput = 1\n[models.two]\ninput = 2\noutput = 2\n'
    )
    how: dict[str, Any] = {"prices": prices, "model": "one"}
    plain = paper("d3:table-2", logs["more"], "gemma-votes", **how)
    dear = paper("d3:table-2", logs["more"], "gemma-votes", **how, role_models={"judge": "two"})
    before, after = ([row["dollars"].value for row in found.rows] for found in (plain, dear))  # type: ignore[union-attr]
    assert after[0] > before[0]
    assert after[1] == before[1]
    with pytest.raises(ValueError, match="nobody"):
        paper("d3:table-2", logs["more"], **how, role_models={"nobody": "two"})
