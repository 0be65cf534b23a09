"""Protocol choice by the gap: against the exact optimum, its promise over pilots, and what it refuses."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples, sampled
from numpy.typing import NDArray
from typer.testing import CliRunner

from d3stats.cli.app import app
from d3stats.cli.escalate import escalation_table
from d3stats.cli.output import print_table
from d3stats.inference import ItemMismatch
from d3stats.planning import Escalation, escalate, join_protocols, replay, risk_controlled
from d3stats.planning.escalation import THRESHOLDS
from d3stats.protocols import play_sync, protocol_from_text
from d3stats.trajectories import Trajectories
from d3stats.worlds import Courtroom, simulate_debates, synthetic_agent, synthetic_items

CHEAP, DEAR = 1000.0, 2000.0
WIDEST = 40


def right_of_first(gap: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance that the first protocol is right at a gap of so many points."""
    return np.minimum(0.5 + 0.02 * gap, 0.99)


SECOND_RIGHT = 0.9


def exact_loss(threshold: float) -> float:
    """Accuracy lost against the second protocol alone, gaps being 1, ..., 40 with equal chance."""
    gaps = np.arange(1.0, WIDEST + 1)
    return float(((SECOND_RIGHT - right_of_first(gaps)) * (gaps >= threshold)).mean())


def exact_tokens(threshold: float) -> float:
    return CHEAP + DEAR * float((np.arange(1.0, WIDEST + 1) < threshold).mean())


def pilot(
    n: int, rng: np.random.Generator, *, cheap: float = CHEAP, second_right: float = SECOND_RIGHT
) -> tuple[Trajectories, Trajectories]:
    """Debates of both protocols whose optimum is known."""
    gap = rng.integers(1, WIDEST + 1, n).astype(float)
    right = [rng.random(n) < right_of_first(gap), rng.random(n) < second_right]
    label = rng.integers(0, 2, n)
    logs = []
    for correct, tokens in zip(right, (cheap, DEAR), strict=True):
        vote = np.where(correct, label, 1 - label)
        scores = np.where(vote[:, None] == np.arange(2), 60 + gap[:, None], 60.0)
        logs.append(
            Trajectories.from_arrays(
                np.repeat(vote[:, None, None], 3, axis=2),
                label,
                answers=("A", "B"),
                scores=scores[:, None, :],
                sides=("A", "B"),
                tokens=np.full((n, 1), tokens),
            )
        )
    return logs[0], logs[1]


@examples(12_000, 30_000, "n")
def test_the_planned_threshold_of_a_large_pilot_is_the_exact_optimum(n: int) -> None:
    logs = pilot(n, np.random.default_rng(3))
    for max_loss_vs_second in (0.01, 0.03):
        optimum = min(t for t in THRESHOLDS if exact_loss(t) <= max_loss_vs_second)
        plan = escalate(*logs, max_loss_vs_second=max_loss_vs_second)
        assert plan.threshold == optimum
    assert exact_loss(optimum) > 0.01  # the two promises have different optima
    # The policies that the next test has with other costs: here going on below the threshold is the cheapest.
    assert plan.recommended == "threshold"
    assert plan.guaranteed
    assert len(plan.better_than("threshold")) == 0


@examples(3_000, 30_000, "n")
@sampled(
    "cheap, second_right, max_loss_vs_second, best",
    [
        (1700.0, 0.9, 0.01, "second"),  # the gap sends so many on that both protocols cost more than one
        (1000.0, 0.9, 0.03, "threshold"),
        (1000.0, 0.9, 0.3, "first"),
        (100.0, 0.9, 0.01, "threshold"),
        (1000.0, 0.6, 0.01, "first"),  # the expensive protocol is worse: nothing is lost without it
        (3000.0, 0.6, 0.3, "second"),  # the "cheap" one is dearer
    ],
    (2, 5),  # the third kind of answer is that of the test above, of the same pilot
)
def test_the_recommended_policy_of_a_large_pilot_is_the_exact_optimum(
    cheap: float, second_right: float, max_loss_vs_second: float, best: str, n: int
) -> None:
    """Of all policies whose exact loss is within the limit, the one with the lowest exact cost."""
    gaps = np.arange(1.0, WIDEST + 1)

    def loss(t: float) -> float:
        return float(((second_right - right_of_first(gaps)) * (gaps >= t)).mean())

    costs = {t: cheap + DEAR * float((gaps < t).mean()) for t in THRESHOLDS if loss(t) <= max_loss_vs_second}
    exact: dict[str, float] = {"second": DEAR}
    if loss(0) <= max_loss_vs_second:
        exact["first"] = cheap
    if costs and min(costs) > 0:
        exact["threshold"] = min(costs.values())
    assert min(exact, key=exact.__getitem__) == best  # of the table above
    first, second = pilot(n, np.random.default_rng(3), cheap=cheap, second_right=second_right)
    plan = escalate(first, second, max_loss_vs_second=max_loss_vs_second)
    assert plan.recommended == best
    assert plan.guaranteed
    if best == "threshold":
        assert plan.threshold == min(costs)
    assert len(plan.better_than(plan.recommended)) == 0


@st.composite
def small_pilots(draw: st.DrawFn) -> tuple[Trajectories, Trajectories, bool]:
    """Few debates with a handful of gaps, so that every order of costs and accuracies occurs, tokens or none."""
    n = draw(st.integers(4, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    chance = [draw(st.sampled_from((0.0, 0.3, 0.7, 0.9, 1.0))) for _ in range(2)]
    tokens = [draw(st.sampled_from((0.0, 100.0, 900.0, 1000.0))) for _ in range(2)]
    known = draw(st.sampled_from(("all", "some", "none")))
    gap = rng.integers(0, 4, n) * 10.0
    label = rng.integers(0, 2, n)
    logs = []
    for right, cost in zip(chance, tokens, strict=True):
        vote = np.where(rng.random(n) < right, label, 1 - label)
        spent = np.maximum(cost + rng.integers(-50, 51, n), 1.0)[:, None]
        if known == "some":
            spent[rng.random(n) < 0.3] = np.nan
        scores = np.where(vote[:, None] == np.arange(2), 50 + gap[:, None], 50.0)
        logs.append(
            Trajectories.from_arrays(
                vote[:, None, None],
                label,
                answers=("A", "B"),
                scores=scores[:, None, :],
                sides=("A", "B"),
                tokens=None if known == "none" else spent,
            )
        )
    return logs[0], logs[1], known != "none"


@examples(5, 60)
def test_no_listed_policy_is_better_than_the_recommended_one(n_examples: int) -> None:
    limits = st.sampled_from((0.02, 0.2, 0.6))
    drawn = given(drawn=small_pilots(), max_loss_vs_second=limits, seed=st.integers(0, 9))
    settings(max_examples=n_examples)(drawn(none_is_better_than_the_recommended))()


def none_is_better_than_the_recommended(drawn, max_loss_vs_second: float, seed: int) -> None:
    """Costs and accuracies are counted here anew, debate by debate, from the two logs."""
    first, second, priced = drawn
    asked: dict = {
        "max_loss_vs_second": max_loss_vs_second,
        "confidence": 0.8,
        "thresholds": (40, 30, 20, 10, 0),
    }
    plan = escalate(first, second, **asked)
    assert first.scores is not None
    gap = np.abs(first.scores[:, 0, 0] - first.scores[:, 0, 1])
    right = np.stack([log.votes[:, 0, 0] == log.label for log in (first, second)])
    goes_on = {f"{t:g}": gap < t for t in plan.table["threshold"]}
    accuracy = {name: float(np.where(on, right[1], right[0]).mean()) for name, on in goes_on.items()}
    accuracy |= {"first": float(right[0].mean()), "second": float(right[1].mean())}
    cost = {name: float(on.sum()) for name, on in goes_on.items()} | {"first": 0.0}
    if priced:
        assert first.tokens is not None
        assert second.tokens is not None
        spent = np.stack([first.tokens[:, 0], second.tokens[:, 0]])
        priced = bool((~np.isnan(spent).any(axis=0)).any())
    if priced:
        spent = spent[:, ~np.isnan(spent).any(axis=0)]
        both = ~np.isnan(first.tokens[:, 0] + second.tokens[:, 0])
        cost = {name: float((spent[0] + on[both] * spent[1]).mean()) for name, on in goes_on.items()}
        cost |= {"first": float(spent[0].mean()), "second": float(spent[1].mean())}
    kept = {f"{row['threshold']:g}": bool(row["certified"]) for row in plan.table.to_dict("records")}
    chosen = f"{plan.threshold:g}" if plan.recommended == "threshold" else plan.recommended

    def better(other: str) -> bool:
        if chosen not in cost or other not in cost:
            return False  # without tokens the second protocol's cost is comparable with no other
        gained, spared = accuracy[other] - accuracy[chosen], cost[chosen] - cost[other]
        tiny = 1e-6
        return gained > -tiny and spared > -tiny * cost[chosen] and (gained > tiny or spared > tiny)

    best = {name for name in accuracy if better(name)}
    # A protocol alone, or a threshold with the guarantee, is never better; another threshold is, if it is said.
    assert not best & {"first", "second"}
    assert not any(kept[name] for name in best)
    said = plan.advice
    assert ("was at least as accurate in this pilot and no more expensive" in said) == bool(best)
    assert any(f"threshold of {name} points" in said for name in best) == bool(best)
    assert ("alone, without the guarantee" in said) == (not plan.guaranteed)
    assert plan.guaranteed or plan.recommended == "first"


def test_a_dominated_choice_is_never_the_headline(tmp_path) -> None:
    """Both protocols together cost more than the second alone, and are right less often."""
    gap = np.tile([2.0, 30.0], 60)
    label = np.zeros(120, dtype=int)
    first = (np.arange(120) % 20 == 1).astype(int)  # wrong at a wide gap, now and then
    for name, vote, tokens in (("first", first, 1000), ("second", 0 * label, 1900)):
        table = pd.DataFrame({"debate": np.arange(120), "round": 1, "agent": "juror"})
        table = table.assign(vote=np.array(["A", "B"])[vote], label="A", tokens=tokens)
        table["score_A"], table["score_B"] = 50 + gap * (1 - 2 * vote), 50.0
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    files = [str(tmp_path / f"{name}.csv") for name in ("first", "second")]
    done = CliRunner().invoke(app, ["escalate", *files, "--max-loss-vs-second", "0.15"])
    assert done.exit_code == 0, done.output
    plan = escalate(*files, max_loss_vs_second=0.15)
    assert plan.threshold is not None
    shown = done.stdout.splitlines()
    expected = {"first": "Play the first protocol alone.", "second": "Play the second protocol always"}
    assert shown[0].startswith(expected[plan.recommended])
    dear = escalate(*files, max_loss_vs_second=0.15, thresholds=[40, 10])
    assert dear.recommended == "second"
    assert dear.threshold is not None
    assert any("costs 1.03 times the second protocol alone" in note for note in dear.notes)
    ringed = [c for c in dear.plot().collections if c.get_label() == "chosen"]
    assert [tuple(point) for c in ringed for point in c.get_offsets()] == [(1900.0, 1.0)]


def test_every_measure_is_the_exact_one_within_its_interval() -> None:
    plan = escalate(*pilot(2_000, np.random.default_rng(4)), level=0.999)
    for row in plan.to_frame().to_dict("records"):
        t = row["threshold"]
        gone_on = float((np.arange(1, WIDEST + 1) < t).mean())
        if 0 < gone_on < 1:
            assert row["escalated_low"] <= gone_on <= row["escalated_high"]
            assert row["loss_low"] <= exact_loss(t) <= row["loss_high"]
            assert row["tokens_low"] <= exact_tokens(t) <= row["tokens_high"]
            assert row["tokens_vs_second_low"] <= exact_tokens(t) / DEAR <= row["tokens_vs_second_high"]


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 400])
def test_the_limit_on_the_loss_holds_over_pilots(n: int) -> None:
    rng = np.random.default_rng(5)
    broken = 0
    for _ in range(n):
        plan = escalate(*pilot(250, rng), max_loss_vs_second=0.04, confidence=0.9)
        broken += plan.threshold is not None and exact_loss(plan.threshold) > 0.04
    assert broken / n <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / n)


@pytest.mark.parametrize("silent", [False, True])
def test_the_loss_of_the_table_is_the_loss_that_is_limited(silent: bool) -> None:
    """Two questions of 100 debates lose, 200 of one debate do not; some debates have no vote in the first protocol."""
    votes = np.zeros((400, 2, 1), dtype=int)
    votes[200:, 0] = 1
    if silent:
        votes[:20, 0] = -1
    cluster = np.concatenate([np.arange(200), np.repeat([200, 201], 100)])
    t = Trajectories.from_arrays(votes, [0] * 400, answers=["A", "B"], cluster=cluster.tolist())
    t = replace(t, scores=np.tile([[[60.0, 20.0]] * 2], (400, 1, 1)), sides=("A", "B"))
    plan = escalate(t, max_loss_vs_second=0.05, thresholds=[50, 10])
    risk = risk_controlled(
        t, ["wide_gap:50", "wide_gap:10"], max_loss_vs_full=0.05, target="accuracy"
    ).to_frame()
    assert plan.table["loss"].tolist() == risk["risk"].tolist() == [0.0, 0.55 if silent else 0.5]
    assert not plan.table["certified"].any()
    assert plan.threshold is None


def test_the_join_is_the_two_logs_side_by_side_whatever_their_order() -> None:
    more = simulate_debates(Courtroom(protocol="more", advocates=3), n_debates=40, n_rounds=1, rng=2)
    samre = simulate_debates(Courtroom(run=1), n_debates=40, n_rounds=4, rng=2)
    both = join_protocols(more, samre)
    assert np.array_equal(both.votes[:, 0], more.votes[:, 0])
    assert np.array_equal(both.votes[:, 1], samre.votes[:, 3])
    assert more.tokens is not None
    assert samre.tokens is not None
    assert both.tokens is not None
    assert both.tokens == pytest.approx(np.stack([more.tokens[:, 0], samre.tokens.sum(axis=1)], axis=1))
    shuffled = samre.select(np.random.default_rng(1).permutation(40))
    again = join_protocols(more, shuffled)
    assert np.array_equal(again.votes, both.votes)
    part = join_protocols(more, samre.select(np.arange(30)))
    assert len(part) == 30
    said = "paired by question: 30 are in both logs; left out are 10 of first ('"
    assert any(said in note for note in part.notes)


def test_the_rule_of_the_join_is_the_choice() -> None:
    both = join_protocols(*pilot(500, np.random.default_rng(6)))
    plan = escalate(both, thresholds=[20])
    frame = replay(both, ["wide_gap:20"]).to_frame().set_index("rule")
    assert plan.table["accuracy"][0] == frame.loc["wide_gap:20.0", "accuracy"]
    assert plan.table["escalated"][0] == frame.loc["wide_gap:20.0", "rounds"] - 1


def test_a_played_choice_is_more_where_the_gap_is_wide_and_samre_alone_elsewhere() -> None:
    world = Courtroom(run=1)
    agent, chosen = synthetic_agent(world, 3), set()
    for item in synthetic_items(world, n=12, seed=3):
        case = item.case("d")
        more, samre = (play_sync(protocol_from_text(name), case, agent) for name in ("more", "samre"))
        gap = abs(more.detail["judge A"] - more.detail["judge B"])
        for threshold in (8.0, 100.0):
            played = play_sync(protocol_from_text(f"d3:threshold={threshold}"), case, agent)
            if gap >= threshold:
                assert (played.decision, played.round, played.reason) == (more.decision, 1, "wide_gap")
            else:
                assert played.round > 2
                assert played.reason in ("gap_stable", "round_cap")
            chosen.add(played.round == 1)
        assert samre.round >= 2
    assert chosen == {True, False}


def test_the_second_part_reads_nothing_of_the_first() -> None:
    world = Courtroom()
    (item,) = synthetic_items(world, n=1, seed=3)
    heard: list = []
    play_sync(protocol_from_text("d3:threshold=1000"), item.case("d"), synthetic_agent(world, 3), heard=heard)
    assert {request.round for request, _ in heard} >= {1, 2, 3}
    assert all(message.round > 1 for request, _ in heard if request.round > 1 for message in request.seen)


@examples(80, 500, "n")
def test_played_and_simulated_choices_have_one_law(n: int) -> None:
    """Full debates of both protocols by synthetic agents, against the two simulators joined."""
    world = Courtroom(advocates=3)
    protocol = protocol_from_text("d3:threshold=1000,epsilon=0.001,max_rounds=3")
    agent = synthetic_agent(world, 5)
    gaps, right = np.empty((n, 2)), np.empty((n, 2))
    for i, item in enumerate(synthetic_items(world, n=n, seed=5)):
        case = item.case("d")
        heard: list = []
        outcome = play_sync(protocol, case, agent, heard=heard)
        votes = [reply.vote for request, reply in heard if request.role == "juror" and request.round == 1]
        judged = {request.round: reply.scores for request, reply in heard if request.role == "judge"}
        sign = 1 if item.label == "A" else -1
        for k, r in enumerate((1, 3)):
            points = judged[r]
            assert points is not None
            gaps[i, k] = sign * (sum(points["A"].values()) - sum(points["B"].values()))
        right[i] = votes.count(item.label) > 2, outcome.decision == item.label
    more = simulate_debates(Courtroom(protocol="more", advocates=3), n_debates=20_000, n_rounds=1, rng=9)
    samre = simulate_debates(Courtroom(run=1), n_debates=20_000, n_rounds=2, rng=9)
    both = join_protocols(more, samre)
    assert both.scores is not None
    sign = np.where(both.label == both.answers.index("A"), 1, -1)
    drawn = (both.scores[:, :, 0] - both.scores[:, :, 1]) * sign[:, None]
    for k in range(2):
        error = np.sqrt(gaps[:, k].var() / n + drawn[:, k].var() / len(drawn))
        assert abs(gaps[:, k].mean() - drawn[:, k].mean()) < 4 * error
        share = (both.verdicts()[:, k] == both.label).mean()
        assert abs(right[:, k].mean() - share) < 4 * np.sqrt(share * (1 - share) / n)


def test_too_few_debates_and_other_scales_are_said() -> None:
    few = escalate(*pilot(20, np.random.default_rng(1)))
    assert few.threshold is None  # 20 debates cannot show a loss of at most .01
    assert any(note.startswith("No threshold is certified") for note in few.notes)
    small = escalate(*pilot(50, np.random.default_rng(1)), thresholds=[0, 90])
    assert any(note.startswith("No gap is as wide") for note in small.notes)


def _without(log: Trajectories, **changes: object) -> Trajectories:
    from dataclasses import replace as changed

    return changed(log, **changes)  # type: ignore[arg-type]


def test_what_cannot_be_planned_is_refused_in_one_line() -> None:
    first, second = pilot(30, np.random.default_rng(2))
    unscored = _without(first, scores=None, sides=())
    unlabelled = [_without(log, label=np.full(30, -1, dtype=np.int32)) for log in (first, second)]
    swapped = _without(second, label=(1 - second.label).astype(np.int32))
    renamed = _without(second, debates=tuple(f"x{i}" for i in range(30)))
    twice = Trajectories.concat(first, _without(first, debates=tuple(f"z{i}" for i in range(30))))
    twice = _without(
        twice,
        debates=tuple(f"w{i}" for i in range(60)),
        cluster=np.tile(np.arange(30), 2),
        cluster_names=first.cluster_names,
    )
    for arguments, message in (
        ((unscored, second), "scores of two sides"),
        (tuple(unlabelled), "first must have labels"),
        ((first, swapped), "label must be the same in both logs"),
        ((first,), "first must have two rounds"),
        ((twice, renamed), "first must hold one debate per question"),
    ):
        with pytest.raises(ValueError, match=message):
            escalate(*arguments)
    strangers = _without(renamed, cluster_names=tuple(f"y{i}" for i in range(30)))
    with pytest.raises(ValueError, match="got none of 30"):
        join_protocols(first, strangers)
    for bad in (
        {"max_loss_vs_second": 1},
        {"confidence": 90},
        {"thresholds": [-1.0]},
        {"thresholds": [np.nan]},
    ):
        with pytest.raises(ValueError, match=next(iter(bad))):
            escalate(first, second, **bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_rounds must be at least 2 for d3"):
        protocol_from_text("d3:max_rounds=1")


def test_the_result_shows_itself_in_every_form() -> None:
    plan = escalate(*pilot(400, np.random.default_rng(7)), max_loss_vs_second=0.05)
    assert isinstance(plan, Escalation)
    assert plan.to_dict()["threshold"] == plan.threshold
    assert json.dumps(plan.to_dict())
    assert "escalated" in plan.to_latex()
    assert "<table" in plan._repr_html_()
    assert plan.plot().get_xlabel()
    dry = _without(plan.pilot, tokens=None)
    without = escalate(dry)
    assert "tokens" not in without.table
    with pytest.raises(ValueError, match="tokens must be recorded"):
        without.plot()


def test_a_row_of_policies_is_a_choice_that_no_other_row_makes() -> None:
    both = join_protocols(*pilot(60, np.random.default_rng(8)))
    tried = np.unique(np.r_[0.0, np.random.default_rng(8).uniform(0, 60, 24)])
    plan = escalate(both, thresholds=tried)
    assert both.scores is not None
    gap = np.abs(both.scores[:, 0, 0] - both.scores[:, 0, 1])
    choices: dict[tuple[bool, ...], list[float]] = {}
    for threshold in sorted(tried, reverse=True):
        choices.setdefault(tuple(gap < threshold), []).append(threshold)
    found = plan.policies()
    assert found["lowest"].tolist() == [min(same) for same in choices.values()]
    assert found["highest"].tolist() == [max(same) for same in choices.values()]
    assert found["escalated"].to_numpy() == pytest.approx([np.mean(choice) for choice in choices])
    assert len(found) < len(plan.table) == len(tried)
    # What the table says of any threshold is what the row says of all that choose alike.
    for row in found.to_dict("records"):
        same = plan.table[plan.table["threshold"].between(row["lowest"], row["highest"])]
        for name in plan.table.columns.drop("threshold"):
            assert same[name].isna().all() if row[name] != row[name] else (same[name] == row[name]).all()


def test_each_protocol_alone_is_what_its_own_log_says() -> None:
    first, second = pilot(300, np.random.default_rng(9))
    alone = escalate(first, second).alone.set_index("protocol")
    for name, log, tokens in (("first", first, CHEAP), ("second", second, DEAR)):
        own = replay(log, "fixed:1").to_frame().set_index("rule").loc["fixed:1"]
        for end in ("", "_low", "_high"):
            assert alone.loc[name, f"accuracy{end}"] == own[f"accuracy{end}"]
        assert alone.loc[name, "tokens"] == tokens


@pytest.mark.parametrize("scale", [1.0, 37.0])
def test_the_table_is_read_at_80_columns(scale: float, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """One row per policy, whatever the size of the numbers; a table that does not fit becomes a list of records."""
    monkeypatch.setenv("COLUMNS", "80")
    first, second = (_without(log, tokens=log.tokens * scale) for log in pilot(150, np.random.default_rng(7)))
    plan = escalate(first, second, max_loss_vs_second=0.2)
    print_table(*escalation_table(plan))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line.split("  ")[0].strip() for line in lines if line.endswith((" yes", " no"))]
    ends = zip(plan.policies()["lowest"], plan.policies()["highest"], strict=True)
    assert rows == [f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in ends]
    assert rows[0] == "50 to 60"
    assert f"{plan.table['tokens'].max():,.0f}" in "\n".join(lines)


@pytest.mark.usefixtures("computed_once")
def test_the_command_prints_what_the_library_computes(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    world = tmp_path / "world.toml"
    world.write_text('name = "courtroom"\n', encoding="utf-8")
    for name in ("more", "samre"):
        made = [
            "debate",
            "--synthetic",
            "world.toml",
            "--limit",
            "30",
            "--protocol",
            name,
            "-o",
            f"{name}.jsonl",
        ]
        assert runner.invoke(app, made).exit_code == 0
    asked = ["escalate", "more.jsonl", "samre.jsonl", "--max-loss-vs-second", "0.2"]
    shown = runner.invoke(app, asked)
    assert shown.exit_code == 0, shown.output
    found = json.loads(runner.invoke(app, [*asked, "--json"]).stdout)
    plan = escalate("more.jsonl", "samre.jsonl", max_loss_vs_second=0.2)
    assert found["threshold"] == plan.threshold
    if plan.threshold:
        assert f"below {plan.threshold:g} points" in shown.stdout


def _tables(
    n: int, *, shared_names: int, shared_questions: int, second: int | None = None
) -> list[pd.DataFrame]:
    """Two logs of one juror; the first `shared_names` debates and `shared_questions` questions are called alike."""
    tables = []
    for which, size in (("a", n), ("b", second or n)):
        k = np.arange(size)
        vote = np.where(k % (5 if which == "a" else 9) == 0, "B", "A")
        called = np.where(k < shared_names, "", f"{which}-").astype(object)
        asked = np.where(k < shared_questions, "", f"{which}-").astype(object)
        debate, question = (
            prefix + np.char.add(word, k.astype(str)) for prefix, word in ((called, "d"), (asked, "q"))
        )
        table = pd.DataFrame(
            {"debate": debate, "question": question, "round": 1, "agent": "juror", "vote": vote}
        )
        tables.append(table.assign(label="A", tokens=100, score_A=50 + k % 7, score_B=50))
    return tables


@pytest.mark.parametrize("shared_names", [0, 1, 20, 40])
def test_one_debate_per_question_is_paired_by_question_whatever_debates_are_called(shared_names: int) -> None:
    both = join_protocols(*_tables(40, shared_names=shared_names, shared_questions=40))
    assert len(both) == 40
    said = [note for note in both.notes if "paired by" in note]
    assert said == ["paired by question: 40 are in both logs"]
    first, second = _tables(40, shared_names=shared_names, shared_questions=40)
    right = [dict(zip(t["question"], t["vote"] == "A", strict=True)) for t in (first, second)]
    for r in range(2):
        joined = dict(zip(both.questions, both.verdicts()[:, r] == both.label, strict=True))
        assert joined == right[r]


def test_debates_of_one_name_about_other_questions_are_paired_by_question() -> None:
    """Running numbers as names of debates say nothing; the questions do, and a warning says that they differ."""
    first, second = _tables(40, shared_names=40, shared_questions=40)
    second["question"] = [f"q{(k + 7) % 40}" for k in range(40)]
    both = join_protocols(first, second)
    right = dict(zip(second["question"], second["vote"] == "A", strict=True))
    assert dict(zip(both.questions, both.verdicts()[:, 1] == both.label, strict=True)) == right
    assert any(note.startswith("WARNING: question must be the same in both logs") for note in both.notes)


@sampled(
    "names, questions",
    itertools.product([0, 1, 19, 20, 39], repeat=2),
    (0, 2, 3, 6, 10, 13, 15, 17, 18, 24),  # on both sides of each of the three outcomes
)
def test_half_of_the_shorter_log_must_be_paired(names: int, questions: int) -> None:
    tables = _tables(40, shared_names=names, shared_questions=questions)
    for table in tables:
        if not questions:
            del table["question"]
    most = max(names, questions)
    if most < 20:
        with pytest.raises(ItemMismatch, match="must share at least half of the") as error:
            join_protocols(*tables)
        assert "name the question of each debate in both logs" in str(error.value)
    elif names > questions and questions:
        with pytest.raises(ValueError, match="question must be the same in both logs"):
            join_protocols(*tables)  # one name, two questions
    else:
        both = join_protocols(*tables)
        assert len(both) == most
        assert f"left out are {40 - most} of first" in " ".join(both.notes)


def test_a_second_protocol_on_a_part_of_the_items_is_joined_with_a_warning() -> None:
    both = join_protocols(*_tables(100, shared_names=0, shared_questions=100, second=30))
    assert len(both) == 30
    assert any("WARNING: more than half of the questions are left out (70 of 100)" in n for n in both.notes)


def _decided(table: pd.DataFrame, decision: list[str | None]) -> pd.DataFrame:
    return table.assign(closed=1, decision=decision, stop_reason="cap")


@pytest.mark.parametrize("given", ["path", "log", "frame", "command"])
def test_verdicts_are_the_decisions_that_a_log_records(given: str, tmp_path) -> None:
    """Whatever the votes say, and however the log is given, the accuracies are those of the logged decisions."""
    from d3stats import read_log

    first, second = _tables(40, shared_names=0, shared_questions=40)
    rng = np.random.default_rng(3)
    decisions = [list(rng.choice(["A", "B"], 40, p=[p, 1 - p])) for p in (0.8, 0.9)]
    tables = [_decided(t, d) for t, d in zip((first, second), decisions, strict=True)]
    paths = [tmp_path / f"{name}.csv" for name in ("first", "second")]
    for table, path in zip(tables, paths, strict=True):
        table.to_csv(path, index=False)
    right = [np.mean([d == "A" for d in decision]) for decision in decisions]
    apart = [int((np.array(d) != t["vote"]).sum()) for d, t in zip(decisions, tables, strict=True)]
    assert min(apart) > 0
    asked = {"max_loss_vs_second": 0.3}
    if given == "command":
        words = ["escalate", *map(str, paths), "--max-loss-vs-second", "0.3", "--json"]
        found = json.loads(CliRunner().invoke(app, words).stdout)
        alone = [row["accuracy"] for row in found["tables"]["alone"]]
        notes = [note["text"] for note in found["notes"]]
    else:
        sources = {"path": paths, "frame": tables, "log": [read_log(path) for path in paths]}[given]
        plan = escalate(*sources, **asked, thresholds=[20.0])
        alone, notes = plan.alone["accuracy"].tolist(), plan.notes
    assert alone == pytest.approx(right)
    for which, n in zip(("first", "second"), apart, strict=True):
        said = f"Verdicts of the {which} protocol are the decisions in its log; {n} of 40 decisions differ"
        assert sum(said in note for note in notes) == 1
    assert not any("has every turn" in note for note in notes)


def test_ties_are_decided_as_the_log_has_it_and_else_said() -> None:
    """Two jurors tie; the judge's decision stands in the log. Without one, the lowest seat decides, with a note."""
    first, second = _tables(40, shared_names=0, shared_questions=40)
    other = first.assign(agent="second juror", vote="A", score_A=np.nan, score_B=np.nan, tokens=0)
    tied = pd.concat([first, other], ignore_index=True)
    votes = join_protocols(tied, second)
    said = "8 of 40 debates end in a tie, which goes to the tied answer in the lowest seat"
    assert any(said in note for note in votes.notes)
    decided = tied.assign(closed=1, decision="A", stop_reason="cap")
    both = join_protocols(decided, second)
    assert (both.verdicts()[:, 0] == both.label).all()
    assert both.seats == ("verdict",)
    assert (both.verdicts()[:, 1] == both.label).mean() == (second["vote"] == "A").mean()
    half = decided.assign(decision=[None if k % 4 == 0 else "A" for k in (*range(40), *range(40))])
    both = join_protocols(half, second)
    assert (both.votes[:, 0] == -1).sum() == 10
    assert any("10 debates without one are left out of accuracies" in note for note in both.notes)


def test_a_replay_of_a_file_or_a_table_says_where_decisions_are_not_the_plurality(tmp_path) -> None:
    table = _decided(_tables(40, shared_names=0, shared_questions=40)[0], ["A"] * 40)
    table.to_csv(tmp_path / "log.csv", index=False)
    for source in (table, tmp_path / "log.csv"):
        notes = replay(source, "fixed:1").notes
        assert any("not the plurality of the last votes in 8 of 40 debates" in note for note in notes)
    same = table.assign(decision=table["vote"])
    assert not any("recorded decision" in note for note in replay(same, "fixed:1").notes)
