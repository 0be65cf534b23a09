"""Logs whose debates stopped early: a number is that of the debates that played on, or it is absent."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.log import read_log
from d3stats.log.copies import write_csv, write_parquet
from d3stats.models.mixtures.rounds import fit_rounds
from d3stats.planning import fit, replay, scan
from d3stats.planning.plan import plan
from d3stats.planning.risk import risk_controlled
from d3stats.stopping import Unanimity, from_text
from d3stats.stopping.rule import Rule, rounds_of
from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import Voter, simulate_debates

TEXTS = (
    "fixed:1", "fixed:2", "fixed:4", "unanimity", "unanimity:missing=block", "supermajority:0.6",
    "supermajority:0.6,patience=2", "ladder:3-2-1", "unanimity & fixed:2", "unanimity | fixed:3",
    "supermajority:0.9.after(2)", "sprt:0.8,alpha=0.2,beta=0.2", "full",
)  # fmt: skip


def cut(full: Trajectories, depth: np.ndarray, by_rule: np.ndarray | None = None) -> Trajectories:
    """Return the log of the same debates, each ended after so many rounds; its rounds are those that were played."""
    last = int(depth.max())
    votes = full.votes[:, :last].copy()
    votes[np.arange(last) >= depth[:, None]] = MISSING
    assert full.tokens is not None
    tokens = np.where(np.arange(last) < depth[:, None], full.tokens[:, :last], np.nan)
    return Trajectories.from_arrays(
        votes,
        full.label,
        answers=full.answers,
        tokens=tokens,
        depth=depth,
        cluster=full.cluster.tolist(),
        stopped_by_rule=by_rule,
    )


@st.composite
def pairs(draw: st.DrawFn, least: int = 2) -> tuple[Trajectories, Trajectories]:
    """A log played to the end, and the same log with debates cut at random, some before their first round."""
    n, n_rounds, seats = draw(st.integers(least, 9)), draw(st.integers(1, 4)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    votes = rng.integers(0, 3, size=(n, n_rounds, seats))
    agreed = rng.random((n, n_rounds)) < draw(st.sampled_from([0.2, 0.7]))
    votes = np.where(agreed[:, :, None], votes[:, :, :1], votes)
    votes[rng.random(votes.shape) < draw(st.sampled_from([0.0, 0.15]))] = MISSING
    full = Trajectories.from_arrays(
        votes,
        rng.integers(0, 3, n),
        answers=["a", "b", "c"],
        tokens=rng.integers(1, 99, (n, n_rounds)),
        cluster=rng.integers(0, n, n).tolist(),
    )
    how = draw(st.sampled_from(["same round", "rule", "random"]))
    if how == "random":
        depth = rng.integers(0, n_rounds + 1, n)
        depth[rng.random(n) < draw(st.sampled_from([0.0, 0.2]))] = 0
        depth[rng.integers(n)] = n_rounds  # the log's last round is one that somebody played
        return full, cut(full, depth)
    chosen = (
        f"fixed:{draw(st.integers(1, n_rounds))}" if how == "same round" else draw(st.sampled_from(TEXTS))
    )
    stops = from_text(chosen).stop_rounds(full)
    depth, by_rule = stops.rounds.copy(), stops.reasons != "exhausted"
    depth[rng.random(n) < draw(st.sampled_from([0.0, 0.2]))] = 0
    if not depth.any():
        depth[0] = stops.rounds[0]
    # A rule that fires in the last round that is allowed cuts nothing off.
    return full, cut(full, depth, by_rule & (depth < n_rounds))


def plain_stops(full: Trajectories, rule: Rule) -> list[tuple[int, str]]:
    """Play every debate of the whole log online."""
    return [rule.run(rounds_of(full, i)) for i in range(len(full))]


def leader(votes: np.ndarray) -> int | None:
    """Return the plurality, ties to the lowest seat."""
    cast = [int(v) for v in votes if v != MISSING]
    return max(cast, key=lambda v: (cast.count(v), -cast.index(v))) if cast else None


@examples(4, 60)
def test_every_number_of_a_replay_and_a_scan_is_that_of_the_whole_log_or_absent(n_examples: int) -> None:
    settings(max_examples=n_examples, deadline=None)(
        given(both=pairs())(numbers_are_those_of_the_whole_log)
    )()


def numbers_are_those_of_the_whole_log(both: tuple[Trajectories, Trajectories]) -> None:
    full, log = both
    played = [i for i in range(len(full)) if log.depth[i] > 0]
    if len({int(full.cluster[i]) for i in played}) < 2:
        return
    assert full.tokens is not None
    # A ladder beyond the panel is refused.
    texts = [text for text in TEXTS if not text.startswith("ladder:3") or log.panel.max() >= 3]
    result = replay(log, texts)
    tables = {
        "replay": result.to_frame().set_index("rule"),
        "scan": scan(log, texts, threads=1).set_index("rule"),
    }
    stops = {text: plain_stops(full, from_text(text)) for text in texts}  # type: ignore[arg-type]
    whole = all(log.depth[i] == full.n_rounds for i in played)

    def cost(text: str) -> tuple[float, float] | None:
        """Return mean rounds and tokens where every stop lies within the log, else None."""
        at = [stops[text][i] for i in played]
        if any(
            r > log.depth[i] or (why == "exhausted" and log.depth[i] < full.n_rounds)
            for i, (r, why) in zip(played, at, strict=True)
        ):
            return None
        spent = [float(full.tokens[i, :r].sum()) for i, (r, _) in zip(played, at, strict=True)]  # type: ignore[index]
        return float(np.mean([r for r, _ in at])), float(np.mean(spent))

    # Without a vote before any last round, only debates that ended by themselves have a verdict at an early stop.
    early = any((log.votes[i, : log.depth[i] - 1] != MISSING).any() for i in played)
    for text in texts:
        mine, incumbent, deep = cost(text), cost("unanimity"), cost("full")
        known = early or not any(stops[text][i][0] < log.depth[i] for i in played)
        verdicts = [leader(full.votes[i, stops[text][i][0] - 1]) for i in played]
        last = [leader(full.votes[i, -1]) for i in played]
        scored = [v == full.label[i] for v, i in zip(verdicts, played, strict=True) if v is not None]
        same = [v == w for v, w in zip(verdicts, last, strict=True) if v is not None and w is not None]
        expected = {
            "rounds": mine[0] if mine else np.nan,
            "tokens": mine[1] if mine else np.nan,
            "accuracy": np.mean(scored) if mine and scored and known else np.nan,
            "agreement": np.mean(same) if mine and whole and same else np.nan,
            "saved_rounds_vs_unanimity": 1 - mine[0] / incumbent[0] if mine and incumbent else np.nan,
            "saved_tokens_vs_unanimity": 1 - mine[1] / incumbent[1] if mine and incumbent else np.nan,
            "saved_rounds_vs_full": 1 - mine[0] / deep[0] if mine and deep else np.nan,
        }
        for name, table in tables.items():
            row = table.loc[text]
            assert row["n_debates"] == len(played)
            assert (row["undecided"] > 0) == (mine is None)
            for measure, value in expected.items():
                if measure in table:
                    assert row[measure] == pytest.approx(value, nan_ok=True), (name, text, measure)
    open_rules = {text for text in texts if cost(text) is None}
    notes = " ".join(result.notes)
    assert all(f"{text} (" in notes for text in open_rules)
    assert ("have no turns" in notes) == (len(played) < len(full))
    shares = result.stops()
    assert shares.groupby("rule")["share"].sum().to_numpy() == pytest.approx(1)
    assert set(shares.loc[shares["round"].isna(), "rule"]) == open_rules
    debates = result.per_debate()
    for text in texts:
        of_rule = debates[debates["rule"] == text]
        for i, (_, row) in zip(played, of_rule.iterrows(), strict=True):
            r, why = stops[text][i]
            if row["reason"] == "log_ended":
                assert r > log.depth[i] or why == "exhausted"
                assert row[["round", "verdict", "correct", "flipped", "tokens"]].isna().all()
            else:
                assert (row["round"], row["reason"]) == (r, why)


@examples(4, 20)
def test_rounds_and_distances_are_those_of_the_debates_that_played_them(n_examples: int) -> None:
    check = given(both=pairs(least=5))(rounds_are_those_of_the_debates_that_played_them)
    settings(max_examples=n_examples, deadline=None)(check)()


def rounds_are_those_of_the_debates_that_played_them(both: tuple[Trajectories, Trajectories]) -> None:
    full, log = both
    voted = (log.votes != MISSING).any(axis=2)
    usable = voted.any(axis=0)
    if not usable.all() or not (voted[:, 1:] & voted[:, :-1]).any(axis=0).all():
        return
    if len(np.unique(log.cluster[log.depth > 0])) < 2:
        return
    report = fit(log, n_components=1, n_boot=25, rng=1)
    frame = report.to_frame().set_index("round")
    for r in log.rounds:
        here = [i for i in range(len(log)) if log.depth[i] >= r]
        verdicts = [leader(full.votes[i, r - 1]) for i in here]
        right = [v == full.label[i] for v, i in zip(verdicts, here, strict=True) if v is not None]
        row = frame.loc[r]
        assert (row["debates"], row["scored"]) == (len(right), len(right))
        assert row["accuracy"] == pytest.approx(np.mean(right) if right else np.nan, nan_ok=True)
        assert row["mean"] == pytest.approx(
            fit_rounds(full.select(here).counts(), n_components=1)[r].mean, abs=1e-5
        )
        if r > 1:
            shared = [i for i in here if voted[i, r - 2] and voted[i, r - 1]]
            distances = fit_rounds(full.select(shared).counts(), n_components=1)
            same = distances.fits[distances.rounds.index(r - 1)], distances.fits[distances.rounds.index(r)]
            gap = np.cumsum(same[0].pmf(report.fit.panel) - same[1].pmf(report.fit.panel))
            assert row["ks_debates"] == len(shared)
            assert row["ks_pmf"] == pytest.approx(np.abs(gap).max(), abs=1e-4)
    assert any("ended before round" in note for note in report.notes) == bool(
        (log.depth[log.depth > 0] < log.n_rounds).any()
    )


def test_debates_in_which_no_vote_changes_have_not_drifted_whoever_stopped_before() -> None:
    stopped = [[["A"] * 3, [None] * 3]] * 20
    right, wrong = [[["A", "A", "B"]] * 2] * 10, [[["A", "B", "B"]] * 2] * 10
    log = Trajectories.from_arrays([*stopped, *right, *wrong], ["A"] * 40, depth=[1] * 20 + [2] * 20)
    report = fit(log, n_components=1, n_boot=25, rng=1)
    last = report.to_frame().iloc[1]
    assert (last["debates"], last["ks_debates"], last["accuracy"]) == (20, 20, 0.5)
    assert last["ks_pmf"] == pytest.approx(0, abs=1e-8)
    alone = fit_rounds(log.counts(), n_components=1)
    assert np.isnan(alone.ks()).all()
    assert "rounds_drift uses the debates with votes in both" in alone.summary()


def test_debates_without_turns_count_nowhere() -> None:
    six = [[["A", "B", "A"], ["A"] * 3]] * 6
    log = Trajectories.from_arrays(
        [*six, *[[[None] * 3] * 2] * 4], ["A"] * 10, depth=[2] * 6 + [0] * 4, tokens=[[5, 5]] * 10
    )
    alone = Trajectories.from_arrays(six, ["A"] * 6, tokens=[[5, 5]] * 6)
    rules = ["fixed:1", "fixed:2"]
    for missing in ("exclude", "wrong"):
        result, only = (replay(t, rules, missing=missing) for t in (log, alone))  # type: ignore[arg-type]
        assert result.to_frame().equals(only.to_frame())
        assert "4 of 10 debates have no turns and are left out." in result.notes
    assert scan(log, rules).equals(scan(alone, rules))
    nobody = log.select(log.depth == 0)
    for ask in (lambda: replay(nobody, rules), lambda: scan(nobody, rules), lambda: fit(nobody)):
        with pytest.raises(ValueError, match="at least one debate with turns; got 4 without any turn"):
            ask()


@pytest.fixture(scope="module")
def stopped() -> Trajectories:
    """Return a pilot that a stopping rule ended."""
    full = simulate_debates(Voter(panel=5, accuracy=0.7), n_debates=60, n_rounds=5, rng=3)
    return cut(full, Unanimity().stop_rounds(full).rounds)


def test_a_plan_shows_nothing_of_rules_that_would_have_gone_on(stopped: Trajectories) -> None:
    made = plan(stopped, limit=False, n_draws=50, rng=1)
    table = made.to_frame().set_index("rule")
    counted = ["rounds", "tokens", "accuracy", "kept", "saved", "total"]
    for name, row in table.iterrows():
        ended = scan(stopped, str(name))["undecided"].item()
        assert row["undecided"] == ended
        assert row[counted].isna().all() if ended else row[counted].notna().all()
    assert {"fixed:2", "full"} <= set(table.index[table["undecided"] > 0])
    assert table.loc["unanimity", "undecided"] == 0
    assert any("Rules without numbers" in note for note in made.notes)
    assert set(made.checks["round"]) <= {1}  # only rounds that every debate played look like the chain's


def test_risk_against_an_unknown_full_depth_is_refused(stopped: Trajectories) -> None:
    with pytest.raises(
        ValueError, match=r"played to full depth.*got \d+ of 60 debates that ended before round 5"
    ):
        risk_controlled(stopped, ["unanimity", "fixed:1"], max_loss_vs_full=0.1)


def test_a_rule_without_numbers_is_nothing_to_compare_with(stopped: Trajectories) -> None:
    result = replay(stopped, ["fixed:1", "fixed:2"])
    assert {tuple(pair) for pair in result.paired()[["rule", "against"]].to_numpy()} == {
        ("fixed:1", "unanimity")
    }
    with pytest.raises(ValueError, match=r"against must stop every debate.*got 'full'"):
        result.paired("full")
    assert "full" in result.plot().get_yticklabels()[-1].get_text()


def records(
    log: Trajectories, reason: str | None, name: str = "run", protocol: str = "stability"
) -> list[dict]:  # type: ignore[type-arg]
    """Return the records of a log; every debate ended for one reason, None for a log without verdicts."""
    found: list[dict] = []  # type: ignore[type-arg]
    for i, debate in enumerate(log.debates):
        label = log.answers[log.label[i]]
        item = {
            "type": "item",
            "debate": debate,
            "question": f"q{log.cluster[i]}",
            "label": label,
            "log": name,
        }
        found.append(item | {"protocol": protocol})
        for r in range(int(log.depth[i])):
            for s, vote in enumerate(log.votes[i, r]):
                turn = {"type": "turn", "debate": debate, "round": r + 1, "agent": f"agent {s + 1}"}
                found.append(turn | {"vote": log.answers[vote]})
        if reason is not None:
            verdict = {"type": "verdict", "debate": debate, "decision": label, "round": int(log.depth[i])}
            found.append(verdict | {"stop_reason": reason})
    return found


def written(path: Path, found: list[dict]) -> Path:  # type: ignore[type-arg]
    header = {"type": "log", "schema_version": 1}
    path.write_text("".join(json.dumps(record) + "\n" for record in (header, *found)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def together() -> tuple[Trajectories, Trajectories]:
    """Return a log of five rounds and the same debates cut by a rule in round 2, all of them."""
    full = simulate_debates(Voter(panel=3, accuracy=0.65), n_debates=30, n_rounds=5, rng=3)
    return full, cut(full, np.full(30, 2), np.full(30, True))


def test_every_door_keeps_which_debates_a_rule_ended(
    together: tuple[Trajectories, Trajectories], tmp_path: Path
) -> None:
    log = together[1]
    path = written(tmp_path / "run.jsonl", records(log, "fixed_rounds"))
    write_csv(path, tmp_path / "run.csv")
    write_parquet(path, tmp_path / "run.parquet")
    read = read_log(path)
    reasons = read.items.merge(read.verdicts[["debate", "stop_reason"]], on="debate")
    wide = read.turns.merge(reasons, on="debate")
    doors = {
        "jsonl": Trajectories.from_log(path),
        "csv": Trajectories.from_log(tmp_path / "run.csv"),
        "parquet": Trajectories.from_log(tmp_path / "run.parquet"),
        "tables": Trajectories.from_frame(read.turns, reasons),
        "one table": Trajectories.from_frame(wide),
        "arrays": log,
    }
    for name, t in doors.items():
        assert t.stopped_by_rule is not None, name
        assert t.ended_early().tolist() == [True] * 30, name
        assert t.select([3, 1, 1]).ended_early().tolist() == [True] * 3, name
        halves = Trajectories.concat(t.select(np.arange(30) < 9), t.select(np.arange(30) >= 9))
        assert halves.ended_early().all(), name
    for reason in (None, "exhausted", "moderator-preference"):
        whole = Trajectories.from_log(written(tmp_path / f"{reason}.jsonl", records(log, reason)))
        assert (whole.stopped_by_rule is None) == (reason is None)
        assert not whole.ended_early().any()
    with pytest.raises(ValueError, match="stopped_by_rule must have shape"):
        Trajectories.from_arrays(log.votes, answers=log.answers, stopped_by_rule=[True])
    with pytest.raises(ValueError, match="stopped_by_rule must be True or False"):
        Trajectories.from_arrays(log.votes, answers=log.answers, stopped_by_rule=[2] * 30)
    twice = wide.assign(stop_reason=np.where(wide["round"] == 1, "exhausted", wide["stop_reason"]))
    with pytest.raises(ValueError, match="stop_reason must be one per debate"):
        Trajectories.from_frame(twice)


def test_a_rule_that_fires_in_the_last_round_of_its_run_cuts_nothing_off(
    together: tuple[Trajectories, Trajectories], tmp_path: Path
) -> None:
    log = together[1]

    def ended(name: str, first: str, others: str, run: str = "run") -> list[bool]:
        found = records(log, others)
        mine = {log.debates[0]}
        for record in found:
            if record["type"] == "verdict" and record["debate"] in mine:
                record["stop_reason"] = first
            if record["type"] == "item" and record["debate"] in mine:
                record["log"] = run
        return Trajectories.from_log(written(tmp_path / f"{name}.jsonl", found)).ended_early().tolist()  # type: ignore[no-any-return]

    assert not any(ended("one run", "unanimity", "exhausted"))
    assert sum(ended("two runs", "unanimity", "exhausted", run="other")) == 1
    assert sum(ended("nobody exhausted", "moderator-preference", "unanimity")) == 29


@pytest.mark.parametrize(
    ("reason", "protocol", "ends"),
    [
        ("declaration", "multi_persona", False),
        ("declaration", "stability", True),
        ("chateval_turns", "chateval", False),
        ("chateval_turns", "stability", True),
        ("consensus", "eot", True),
        ("budget", "stability", True),
    ],
)
def test_the_end_of_a_protocol_is_no_stopping_rule(
    together: tuple[Trajectories, Trajectories], tmp_path: Path, reason: str, protocol: str, ends: bool
) -> None:
    path = written(tmp_path / "log.jsonl", records(together[1], reason, protocol=protocol))
    assert (Trajectories.from_log(path).ended_early() == ends).all()


def test_a_log_cut_in_one_round_has_the_numbers_of_the_whole_log_or_none(
    together: tuple[Trajectories, Trajectories],
) -> None:
    full, log = together
    other = simulate_debates(Voter(panel=3, accuracy=0.65), n_debates=10, n_rounds=2, rng=5)
    other = Trajectories.from_arrays(
        other.votes,
        other.label,
        answers=other.answers,
        tokens=other.tokens,
        debates=[f"o{i}" for i in range(10)],
    )
    both = Trajectories.concat(log, other)
    assert both.ended_early().tolist() == [True] * 30 + [False] * 10
    rules = ["fixed:1", "fixed:2", "fixed:5", "unanimity", "ks:0.05", "unanimity | fixed:2"]
    truth = replay(full, rules).to_frame().set_index("rule")
    for t in (log, both):
        made = replay(t, rules)
        found = made.to_frame().set_index("rule")
        assert (found["undecided"] > 0).to_dict() == {
            "fixed:1": False,
            "fixed:2": False,
            "fixed:5": True,
            "unanimity": True,
            "ks:0.05": True,
            "unanimity | fixed:2": False,
            "full": True,
        }
        assert found[[c for c in found if c.startswith("saved_")]].isna().all(axis=None)
        assert found[["agreement", "flips", "gained", "lost", "premature"]].isna().all(axis=None)
        assert any("A stopping rule ended 30 of" in note for note in made.notes)
    alone = replay(log, rules).to_frame().set_index("rule")
    for rule in ("fixed:1", "fixed:2", "unanimity | fixed:2"):
        for measure in ("rounds", "tokens", "accuracy"):
            assert alone.loc[rule, measure] == pytest.approx(truth.loc[rule, measure])
    with pytest.raises(
        ValueError, match="30 of 30 that a stopping rule ended in round 2, the last of the log"
    ):
        risk_controlled(log, ["fixed:1"], max_loss_vs_full=0.3)


def test_a_plan_from_a_log_cut_in_one_round_says_what_its_losses_are_against(
    together: tuple[Trajectories, Trajectories],
) -> None:
    made = plan(together[1], n_draws=50, rng=1)
    table = made.to_frame().set_index("rule")
    assert "in debates of at most 2 rounds" in made.reason
    assert any(
        note.startswith("losses from the chain are against unanimity in debates") for note in made.notes
    )
    assert table["saved"].isna().all()
    assert table.loc[["unanimity", "full"], ["loss", "p_within", "rounds", "total"]].isna().all(axis=None)
    assert "debates of at most" not in plan(together[0], limit=False, n_draws=50, rng=1).reason


# ------------------------------------------------------------------ the commands


@pytest.fixture(scope="module")
def run_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the log of ``d3stats debate --synthetic --stop unanimity``."""
    folder = tmp_path_factory.mktemp("early")
    (folder / "world.toml").write_text('name = "voter"\npanel = 5\naccuracy = 0.65\n')
    log = folder / "log.jsonl"
    words = [
        "debate",
        "--synthetic",
        str(folder / "world.toml"),
        "--protocol",
        "stability",
        "--stop",
        "unanimity",
    ]
    done = CliRunner().invoke(app, [*words, "--limit", "24", "--seed", "3", "-o", str(log)])
    assert done.exit_code == 0, done.output
    return log


def asked(*words: str) -> dict:  # type: ignore[type-arg]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    document: dict = json.loads(done.stdout)  # type: ignore[type-arg]
    return document


def recount(log: Path) -> tuple[dict[str, str], dict[int, dict[str, list[str]]]]:
    """Read the file line by line: labels, and votes by round and debate."""
    labels: dict[str, str] = {}
    votes: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for line in log.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record.get("type") == "item":
            labels[record["debate"]] = record["label"]
        if record.get("type") == "turn" and record.get("vote") is not None:
            votes[record["round"]][record["debate"]].append(record["vote"])
    return labels, votes


def test_fit_shows_every_round_by_the_debates_that_played_it(run_log: Path) -> None:
    labels, votes = recount(run_log)
    found = asked("fit", str(run_log), "-k", "1", "--n-boot", "25")
    assert len({len(debates) for debates in votes.values()}) > 1
    for row in found["rounds"]:
        played = votes[row["round"]]
        right = [max(v, key=v.count) == labels[d] for d, v in played.items()]
        assert row["debates"] == row["scored"] == len(played)
        assert row["accuracy"] == pytest.approx(np.mean(right))
        if row["round"] > 1:
            assert row["ks_debates"] == len(set(played) & set(votes[row["round"] - 1]))
    assert any("debates ended before round" in note["text"] for note in found["notes"])


def test_replay_leaves_out_what_longer_rules_would_have_cost(run_log: Path) -> None:
    _, votes = recount(run_log)
    depth = {d: max(r for r in votes if d in votes[r]) for d in votes[1]}
    found = asked("replay", str(run_log), "-r", "fixed:1", "-r", "fixed:2", "-r", "fixed:99")
    rows = {row["rule"]: row for row in found["rules"]}
    assert rows["unanimity"]["rounds"] == pytest.approx(np.mean(list(depth.values())))
    assert rows["fixed:1"]["rounds"] == 1
    for rule, wanted in (("fixed:2", 2), ("fixed:99", 99), ("full", max(depth.values()))):
        assert (
            rows[rule]["undecided"] == sum(d < min(wanted, max(depth.values())) for d in depth.values()) > 0
        )
        assert (
            rows[rule]["rounds"] is rows[rule]["saved_rounds_vs_unanimity"] is rows[rule]["accuracy"] is None
        )
    text = CliRunner().invoke(app, ["replay", str(run_log), "-r", "fixed:2"]).output
    assert "unknown" in text
    assert not re.search(r"\bnan\b", text.lower())


@pytest.mark.usefixtures("computed_once")
def test_plan_marks_rules_that_the_log_cannot_price(run_log: Path) -> None:
    found = asked("plan", str(run_log), "--no-limit", "--n-draws", "50")
    rows = {row["rule"]: row for row in found["rules"]}
    assert rows["unanimity"]["undecided"] == 0
    assert rows["full"]["undecided"] > 0
    assert rows["full"]["rounds"] is rows["full"]["total"] is None
    text = CliRunner().invoke(app, ["plan", str(run_log), "--no-limit", "--n-draws", "50"]).output
    assert not re.search(r"\bnan\b", text.lower())


def test_doctor_says_how_long_the_debates_of_such_a_log_were(run_log: Path) -> None:
    _, votes = recount(run_log)
    depth = [max(r for r in votes if d in votes[r]) for d in votes[1]]
    found = asked("doctor", str(run_log))
    assert found["rounds"] == {str(d): depth.count(d) for d in sorted(set(depth))}
