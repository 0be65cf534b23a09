"""Protocol choice by the gap: against the exact optimum, its promise over pilots, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from d3stats.cli.app import app
from d3stats.cli.escalate import escalation_table
from d3stats.cli.output import print_table
from d3stats.planning import Escalation, join_protocols, plan_escalation, replay
from d3stats.planning.escalation import THRESHOLDS
from d3stats.protocols import play_sync, protocol_from_text
from d3stats.trajectories import Trajectories
from d3stats.worlds import Courtroom, simulate, synthetic_agent, synthetic_items

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


def pilot(n: int, rng: np.random.Generator) -> tuple[Trajectories, Trajectories]:
    """Debates of both protocols whose optimum is known."""
    gap = rng.integers(1, WIDEST + 1, n).astype(float)
    right = [rng.random(n) < right_of_first(gap), rng.random(n) < SECOND_RIGHT]
    label = rng.integers(0, 2, n)
    logs = []
    for correct, tokens in zip(right, (CHEAP, DEAR), strict=True):
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


def test_the_planned_threshold_of_a_large_pilot_is_the_exact_optimum() -> None:
    for max_loss in (0.01, 0.03):
        optimum = min(t for t in THRESHOLDS if exact_loss(t) <= max_loss)
        plan = plan_escalation(*pilot(30_000, np.random.default_rng(3)), max_loss=max_loss, n_boot=50, rng=1)
        assert plan.threshold == optimum
    assert exact_loss(optimum) > 0.01  # the two promises have different optima


def test_every_measure_is_the_exact_one_within_its_interval() -> None:
    plan = plan_escalation(*pilot(20_000, np.random.default_rng(4)), level=0.999, n_boot=300, rng=1)
    for row in plan.to_frame().to_dict("records"):
        t = row["threshold"]
        gone_on = float((np.arange(1, WIDEST + 1) < t).mean())
        if 0 < gone_on < 1:
            assert row["escalated_low"] <= gone_on <= row["escalated_high"]
            assert row["loss_low"] <= exact_loss(t) <= row["loss_high"]
            assert row["tokens_low"] <= exact_tokens(t) <= row["tokens_high"]
            assert row["tokens_vs_second_low"] <= exact_tokens(t) / DEAR <= row["tokens_vs_second_high"]


@pytest.mark.parametrize("n", [60, pytest.param(400, marks=pytest.mark.slow)])
def test_the_limit_on_the_loss_holds_over_pilots(n: int) -> None:
    rng = np.random.default_rng(5)
    broken = 0
    for _ in range(n):
        plan = plan_escalation(*pilot(250, rng), max_loss=0.04, confidence=0.9, n_boot=2, rng=1)
        broken += plan.threshold is not None and exact_loss(plan.threshold) > 0.04
    assert broken / n <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / n)


def test_the_join_is_the_two_logs_side_by_side_whatever_their_order() -> None:
    more = simulate(Courtroom(protocol="more", advocates=3), n_debates=40, n_rounds=1, rng=2)
    samre = simulate(Courtroom(run=1), n_debates=40, n_rounds=4, rng=2)
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
    assert part.notes[-1] == "10 debates of the first protocol left out: no partner in the other log."


def test_the_rule_of_the_join_is_the_choice() -> None:
    both = join_protocols(*pilot(500, np.random.default_rng(6)))
    plan = plan_escalation(both, thresholds=[20], n_boot=10, rng=1)
    frame = replay(both, ["wide_gap:20"], n_boot=10, rng=1).to_frame().set_index("rule")
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


def test_played_and_simulated_choices_have_one_law() -> None:
    """Full debates of both protocols by synthetic agents, against the two simulators joined."""
    n, world = 500, Courtroom(advocates=3)
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
    more = simulate(Courtroom(protocol="more", advocates=3), n_debates=20_000, n_rounds=1, rng=9)
    samre = simulate(Courtroom(run=1), n_debates=20_000, n_rounds=2, rng=9)
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
    few = plan_escalation(*pilot(20, np.random.default_rng(1)), n_boot=10, rng=1)
    assert few.threshold is None  # 20 debates cannot show a loss of at most .01
    assert any(note.startswith("No threshold is certified") for note in few.notes)
    small = plan_escalation(*pilot(50, np.random.default_rng(1)), thresholds=[0, 90], n_boot=10, rng=1)
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
            plan_escalation(*arguments, n_boot=10, rng=1)
    strangers = _without(renamed, cluster_names=tuple(f"y{i}" for i in range(30)))
    with pytest.raises(ValueError, match="without a common name"):
        join_protocols(first, strangers)
    for bad in ({"max_loss": 1}, {"confidence": 90}, {"thresholds": [-1.0]}, {"thresholds": [np.nan]}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            plan_escalation(first, second, **bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_rounds must be at least 2 for d3"):
        protocol_from_text("d3:max_rounds=1")


def test_the_result_shows_itself_in_every_form() -> None:
    plan = plan_escalation(*pilot(400, np.random.default_rng(7)), max_loss=0.05, n_boot=20, rng=1)
    assert isinstance(plan, Escalation)
    assert plan.to_dict()["threshold"] == plan.threshold
    assert json.dumps(plan.to_dict())
    assert "escalated" in plan.to_latex()
    assert "<table" in plan._repr_html_()
    assert plan.plot().get_xlabel()
    dry = _without(plan.pilot, tokens=None)
    without = plan_escalation(dry, n_boot=10, rng=1)
    assert "tokens" not in without.table
    with pytest.raises(ValueError, match="tokens must be recorded"):
        without.plot()


def test_a_row_of_policies_is_a_choice_that_no_other_row_makes() -> None:
    both = join_protocols(*pilot(60, np.random.default_rng(8)))
    tried = np.unique(np.r_[0.0, np.random.default_rng(8).uniform(0, 60, 80)])
    plan = plan_escalation(both, thresholds=tried, n_boot=10, rng=1)
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
    alone = plan_escalation(first, second, n_boot=10, rng=1).alone.set_index("protocol")
    for name, log, tokens in (("first", first, CHEAP), ("second", second, DEAR)):
        own = replay(log, "fixed:1", n_boot=10, rng=1).to_frame().set_index("rule").loc["fixed:1"]
        for end in ("", "_low", "_high"):
            assert alone.loc[name, f"accuracy{end}"] == own[f"accuracy{end}"]
        assert alone.loc[name, "tokens"] == tokens


@pytest.mark.parametrize("scale", [1.0, 37.0])
def test_the_table_is_read_at_80_columns(scale: float, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """One row per policy, whatever the size of the numbers; a table that does not fit becomes a list of records."""
    monkeypatch.setenv("COLUMNS", "80")
    first, second = (_without(log, tokens=log.tokens * scale) for log in pilot(150, np.random.default_rng(7)))
    plan = plan_escalation(first, second, max_loss=0.2, n_boot=50, rng=1)
    print_table(*escalation_table(plan))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line.split("  ")[0].strip() for line in lines if line.endswith((" yes", " no"))]
    ends = zip(plan.policies()["lowest"], plan.policies()["highest"], strict=True)
    assert rows == [f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in ends]
    assert rows[0] == "50 to 60"
    assert f"{plan.table['tokens'].max():,.0f}" in "\n".join(lines)


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
            "40",
            "--protocol",
            name,
            "-o",
            f"{name}.jsonl",
        ]
        assert runner.invoke(app, made).exit_code == 0
    asked = ["escalate", "more.jsonl", "samre.jsonl", "--max-loss", "0.2", "--n-boot", "20"]
    shown = runner.invoke(app, asked)
    assert shown.exit_code == 0, shown.output
    found = json.loads(runner.invoke(app, [*asked, "--json"]).stdout)
    plan = plan_escalation("more.jsonl", "samre.jsonl", max_loss=0.2, n_boot=20, rng=0)
    assert found["threshold"] == plan.threshold
    assert f"below {plan.threshold:g} points" in shown.stdout or plan.threshold in (0, None)
