"""The studies' scripts run, and their findings quote what they print."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import d3stats
from d3stats.stopping import from_text

ROOT = Path(__file__).resolve().parents[1]


def _study(name: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, pd.DataFrame]]:
    folder = ROOT / "simulations" / name
    made = {path.stem: pd.read_csv(path) for path in folder.glob("*.csv")}
    return runpy.run_path(str(folder / "run.py")), tomllib.loads((folder / "config.toml").read_text()), made


@pytest.mark.parametrize(
    "name",
    [
        "d3_headline",
        "stability_stop",
        "stability_sensitivity",
        "protocol_comparison",
        "persona_study",
        "advocates_hypotheses",
        "chateval_sweeps",
        "ledger",
        "pilot_bills",
        "judge_sprt",
        "mutants",
        "size",
    ],
)
def test_the_findings_hold_the_tables_that_the_study_wrote(name: str) -> None:
    module, _, made = _study(name)
    text = (ROOT / "simulations" / name / "findings.md").read_text()
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    assert fill(text, module["shown"](made)) == text
    assert text.count("<!-- end -->") == len(module["shown"](made))


def test_the_page_on_pilots_holds_the_tables_of_the_study() -> None:
    module, config, made = _study("pilot_bills")
    text = module["PAGE"].read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    assert fill(text, module["for_page"](made, config["max_loss"])) == text
    # By hand, for one size: the mean width, and the count of plans that lose more than a point.
    row = module["by_size"](made["pilots"], config["max_loss"]).set_index("questions").loc[100]
    of = made["pilots"][made["pilots"]["size"] == 100]
    assert row["width: tokens saved"] == f"{100 * of['width saved'].sum() / len(of):z.1f}"
    lost = sum(loss > 0.01 for loss in of["loss plan of stopped"])
    assert row["plans that lose over 1 point"] == f"{lost} of {len(of)}"


def test_the_bills_of_pilots_follow_from_the_journal_and_a_pilot_stopped_at_unanimity_costs_what_unanimity_costs() -> (
    None
):
    module, config, made = _study("pilot_bills")
    pilots = made["pilots"]
    pd.testing.assert_frame_equal(module["net"](pilots, config), made["net"], rtol=1e-4, atol=1e-6)
    assert len(pilots) == len(config["families"]) * config["worlds"] * len(config["sizes"]) * config["pilots"]
    # By hand, for one policy: 50 debates of the pilot at its own cost, 950 at that of the rule.
    of = pilots[pilots["size"] == 50]
    spent = 50 * of["bill full"] + 950 * (1 - of["saved plan of full"]) * of["unanimity"]
    by_hand = (1 - spent / (1000 * of["unanimity"])).mean()
    row = made["net"].query("policy == 'plan, pilot to the end' and size == 50 and campaign == 1000").iloc[0]
    assert row["net"] == pytest.approx(by_hand, abs=1e-5)
    # A pilot of 200 debates costs what unanimity costs elsewhere in the same world, within chance.
    ratio = (pilots["bill stopped"] / pilots["unanimity"])[pilots["size"] == 200]
    assert abs(ratio.mean() - 1) <= 4 * ratio.std() / np.sqrt(len(ratio))


def test_the_page_on_sweeps_holds_the_tables_of_sizes_and_what_follows_from_them() -> None:
    module, _, made = _study("size")
    text = module["PAGE"].read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    assert fill(text, module["for_page"](made)) == text
    # By hand: 10^10 turns are 10 files of a million for each of a thousand workers.
    size = made["size"].fillna({"source": "none"})
    told = made["constants"].set_index("constant")["value"]
    alone = size.query("job == 'counts' and source == 'parquet' and where == 'one process'").iloc[0]
    far = module["extrapolated"](made).set_index(["workers", "turns_in_file"])
    assert far.loc[(1000, 1_000_000), "work"] == pytest.approx(10 * alone["cpu_s"] / alone["turns"] * 1e6)
    per_task = told["CPU ms of a task in the scheduler and the client"] / 1000
    assert far.loc[(1000, 1_000_000), "scheduler"] == pytest.approx(10_000 * per_task)
    assert far.loc[(100, 10_000_000), "scheduler"] == pytest.approx(1000 * per_task)
    # What the page and the findings conclude, with their numbers.
    assert far.loc[(1000, 1_000_000), "scheduler"] > 2 * far.loc[(1000, 1_000_000), "work"]
    assert far.loc[(100, 10_000_000), "work"] > 2 * far.loc[(100, 10_000_000), ["scheduler", "client"]].max()
    assert all(len(set(rows["bits"])) == 1 for _, rows in size.groupby(["job", "source"]))
    one_file = size.query("job == 'counts of one file'").iloc[0]
    assert alone["turns"] == 100 * one_file["turns"]
    assert alone["peak_mb"] < 1.5 * one_file["peak_mb"]
    flat = f"a hundred files take {alone['peak_mb']:.0f} MB where one takes {one_file['peak_mb']:.0f} MB"
    work, scheduler = far.loc[(1000, 1_000_000), ["work", "scheduler"]]
    first = f"has {work:.1f} s of work, and the scheduler needs {scheduler:.1f} s for the 10,000 tasks"
    enough = f"take {far.loc[(100, 10_000_000), 'work']:.1f} s"
    client = (
        f"adds results in {far['client'].max():.1f} s at most, and receives {far['results_mb'].max():.0f} MB"
    )
    start = f"{told['CPU s of a start']:.2f} CPU s of each worker"
    stored = f"{told['MB stored per million turns']:.2f} MB".removeprefix("0")
    disk = f"workers read {far['storage_mb'].max():,.0f} MB"
    whole = " ".join(text.split())
    for said in (flat, first, enough, client, start, f"a million turns are {stored}", disk):
        assert said in whole, said
    findings = " ".join((ROOT / "simulations" / "size" / "findings.md").read_text(encoding="utf-8").split())
    two = size.query("job == 'counts' and source == 'parquet' and where == 'two processes'").iloc[0]
    of = {(row.job, row.source): row for row in size[size["where"] == "one process"].itertuples()}
    shared = {
        row.job: row.cpu_s
        for row in size[size["where"] == "two processes"].itertuples()
        if row.source == "parquet"
    }
    gain = {job: of[job, "parquet"].cpu_s / shared[job] for job in ("replay", "agreement")}
    lines, fits = of["counts", "jsonl"], [of["d3stats fit", form] for form in ("parquet", "jsonl")]
    for said in (
        f"take {of['replay', 'parquet'].cpu_s / 100:.2f} and {of['agreement', 'parquet'].cpu_s / 100:.2f} CPU s per",
        f"efficiencies of {gain['replay']:.2f} and {gain['agreement']:.2f} by CPU",
        f"take {of['simulate(Voter)', 'none'].cpu_s / of['uniforms of numpy', 'none'].cpu_s:.1f} times the CPU seconds",
        f"takes {of['d3stats replay', 'parquet'].cpu_s:.1f} CPU s and {of['d3stats replay', 'parquet'].peak_mb:.0f} MB",
        f"take {alone['peak_mb']:.0f} MB in one process, those of 10^6 turns {one_file['peak_mb']:.0f} MB",
        f"two processes take {two['peak_mb']:.0f} MB",
        f"take {alone['cpu_s'] / 100:.2f} CPU s per million turns in one process and {two['cpu_s'] / 100:.2f}",
        f"an efficiency of {alone['cpu_s'] / two['cpu_s']:.2f} by CPU",
        f"JSON lines take {lines.cpu_s / 10:.2f}, with {lines.peak_mb:.0f} MB",
        f"takes {fits[0].cpu_s:.1f} CPU s and {fits[0].peak_mb:.0f} MB from Parquet, {fits[1].cpu_s:.1f} and",
    ):
        assert said.replace(" 0.", " .") in findings, said


@pytest.fixture(scope="module")
def some_turns(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Return the study of sizes, its settings and three files of 30 debates each as it makes them."""
    module, config, _ = _study("size")
    module["make"].__globals__["PER_FILE"] = 2100
    config |= {"turns": 6300, "turns_jsonl": 2100}
    data = tmp_path_factory.mktemp("size")
    module["make"](config, data)
    return module, config, sorted(map(str, data.glob("*.parquet")))


def test_the_lines_and_the_tables_of_the_study_of_sizes_hold_the_same_debates(some_turns: Any) -> None:
    module, config, files = some_turns
    lines = files[0].replace(".parquet", ".jsonl")
    assert d3stats.count(lines) == d3stats.count(files[0])
    assert module["turns_of"](config, "parquet", 3) == d3stats.count(*files).n_turns == 6300


def test_sums_by_file_are_those_of_all_files(some_turns: Any) -> None:
    module, config, files = some_turns
    one = {"workers": 1}
    t = d3stats.open(files).trajectories()
    counts = module["work"]("counts", files, config, one)
    assert counts.rounds == t.counts()
    assert module["bits"](counts) == module["bits"](d3stats.count_log(*files))

    stops = module["work"]("replay", files, config, one)
    decided = t.verdicts()
    for text, table in zip(config["rules"], stops, strict=True):
        expected = np.zeros_like(table)
        for i, stop in enumerate(from_text(text).stop_rounds(t).rounds):
            verdict = decided[i, stop - 1]
            expected[stop - 1, 2 if verdict < 0 else int(verdict != t.label[i])] += 1
        assert table.tolist() == expected.tolist()
        assert table.sum() == len(t)

    sums = module["work"]("agreement", files, config, one)
    alpha = d3stats.agreement(t, measures=["alpha"], round_number=config["rounds"], by="debate")
    assert module["alpha_of"](sums) == pytest.approx(alpha.to_frame()["value"].iloc[0], abs=1e-12)
    assert sums.sum(axis=0)[0] == len(t)


@pytest.mark.slow
def test_sums_have_the_same_bits_in_two_processes(some_turns: Any) -> None:
    module, config, files = some_turns
    for job in ("counts", "replay", "agreement"):
        found = {module["bits"](module["work"](job, files, config, {"workers": n})) for n in (1, 2)}
        assert len(found) == 1


def test_a_smaller_run_of_the_headline_study_agrees_with_its_tables() -> None:
    module, config, made = _study("d3_headline")
    found = made["calibrated"].query("what == 'parameter'").set_index("name")["calibrated"]
    world = module["Courtroom"](**config["world"], **found.to_dict())
    config["report"] |= {"replicates": 400, "levels": [0.95]}
    texts = ["d3_paper", "d3_code", "fixed:2", "supermajority:0.8", "full", "unanimity"]
    rules = {text: module["from_text"](text) for text in texts}
    log = module["log_of"](world, 1500, 1, config["rounds"], 7)
    small = module["intervals"](module["columns"](log, rules), log.cluster, config, 7)
    both = small.merge(made["rules"].query("level == 0.95"), on=["rule", "measure"], suffixes=("", "_full"))
    assert len(both) == len(texts) * 8
    widths = [(both[f"high{end}"] - both[f"low{end}"]) / (2 * 1.96) for end in ("", "_full")]
    away = (both["estimate"] - both["estimate_full"]).abs()
    assert (away <= 4 * np.hypot(*widths) + 1e-12).all(), both[away > 4 * np.hypot(*widths)]
    code = small.query("rule == 'd3_code' and measure == 'stopped_by_round_2'")
    assert code["estimate"].item() == 0


@pytest.mark.slow
def test_a_smaller_run_of_the_chateval_study_agrees_with_its_tables() -> None:
    module, config, made = _study("chateval_sweeps")
    config["seed"] = 7
    config["sweep"] |= {"items": 600, "referees": [2, 3], "turns": [1, 2], "turns_at": [3]}
    keys = ["world", "sweep", "roles", "referees", "turns", "extraction"]
    both = module["sweeps"](config).merge(made["sweeps"], on=keys, suffixes=("", "_full"))
    assert len(both) == 2 * (1 + 4 + 2) * 3
    width = np.hypot(both["high"] - both["low"], both["high_full"] - both["low_full"]) / (2 * 1.96)
    assert ((both["accuracy"] - both["accuracy_full"]).abs() <= 4 * width).all()
    np.testing.assert_allclose(both["tokens"], both["tokens_full"], rtol=0.01)
    lost = both.query("extraction == 'majority' and referees == 2")["no_decision"]
    assert (lost > 0.05).all()
    config["rankings"] |= {"items": 40, "spreads": [1.0]}
    ranked = module["rankings"](config).merge(
        made["rankings"], on=["spread", "method"], suffixes=("", "_full")
    )
    width = np.hypot(ranked["high"] - ranked["low"], ranked["high_full"] - ranked["low_full"]) / (2 * 1.96)
    assert ((ranked["right"] - ranked["right_full"]).abs() <= 4 * width).all()


@pytest.mark.slow  # 1 s; so does that of its settings, in the fast layer
def test_a_smaller_run_of_the_stability_study_agrees_with_its_tables() -> None:
    module, config, made = _study("stability_stop")
    config["drift"] |= {"drift": [0.0, 0.04], "debates": [200, 620], "replicates": 2000}
    config["sweep"] |= {"sizes": [100, 400], "batches_per_size": 12}
    config["seed"] = 7
    stops = module["false_stops"](config).merge(made["false_stops"], on=["drift", "debates"])
    for name in ("first_exact", "first_rounded", "by_last_exact"):
        error = np.hypot(stops[f"{name}_se_x"], stops[f"{name}_se_y"])
        assert ((stops[f"{name}_x"] - stops[f"{name}_y"]).abs() <= 4 * error).all()
    sizes = module["size_sweep"](config).merge(made["size_sweep"], on=["world", "rule", "batch"])
    error = np.hypot(sizes["rounds_se_x"], sizes["rounds_se_y"])
    assert len(sizes) == 18
    assert ((sizes["rounds_x"] - sizes["rounds_y"]).abs() <= 4 * error + 1e-12).all()


def test_a_smaller_run_of_the_settings_of_stability_agrees_with_its_tables() -> None:
    module, config, made = _study("stability_sensitivity")
    config |= {"batches": 5, "seed": 9, "worlds": [w for w in config["worlds"] if w["label"] == "turns late"]}
    small = module["swept"](config, config["panel"], [(0.1, 1), (0.1, 3), (0.2, 2)])
    both = small.merge(made["thresholds"], on=["world", "threshold", "patience"], suffixes=("", "_full"))
    both = both[both["threshold"].notna()]
    assert len(both) == 3
    for name in ("accuracy", "premature", "lost"):
        error = np.hypot(both[f"{name}_se"], both[f"{name}_se_full"])
        assert ((both[name] - both[f"{name}_full"]).abs() <= 6 * error).all(), name
    assert (both["rounds"] - both["rounds_full"]).abs().max() < 0.5
    table = made["thresholds"].query("world == 'turns late' and threshold == 0.05 and patience == 2")
    assert table["premature"].item() > 0.25


def test_the_findings_of_the_regret_study_hold_its_table() -> None:
    module, _, made = _study("regret")
    table = made["regret"]
    assert (
        module["markdown"](module["summary"](table))
        in (ROOT / "simulations" / "regret" / "findings.md").read_text()
    )
    assert (table[module["rules_in"](table)] >= 0).all().all()
    at_one_point = table[table["price"] == "round .01"]
    assert at_one_point["unanimity"].min() > 0.005


@pytest.mark.slow
def test_regret_is_recomputed_to_the_last_written_digit_and_one_vote_is_optimal_in_the_voter_world() -> None:
    module, config, made = _study("regret")
    worlds = ["voter .65"]
    config["prices"] = [price for price in config["prices"] if price["name"] in ("round .01", "tokens")]
    again = module["study"](config, only=worlds, with_plan=False)
    written = made["regret"][made["regret"]["world"].isin(worlds)]
    both = again.merge(written, on=["price", "world"], suffixes=("", "_written"), validate="one_to_one")
    assert len(both) == len(worlds) * len(config["prices"])
    rules = module["rules_in"](again)
    for name in ("optimum", *rules):
        assert (both[name] - both[f"{name}_written"]).abs().max() < 1e-5
    assert again[rules].min().min() > -1e-9
    assert again.loc[again["world"] == "voter .65", "fixed:1"].abs().max() < 1e-9
    # Two answers and all votes: there is a majority in every round.
    assert (made["regret"]["commit_walls:2"] == made["regret"]["fixed:2"]).all()


def test_the_findings_of_the_replay_of_real_logs_hold_its_tables() -> None:
    module, _, made = _study("replay_real_logs")
    text = (ROOT / "simulations" / "replay_real_logs" / "findings.md").read_text()
    for measure in ("saved_rounds_vs_unanimity", "accuracy_vs_unanimity"):
        assert module["shown"](made["replay"], measure) in text
    assert module["shown_plans"](made["plan"]) in text


def test_without_real_logs_their_replay_says_so_and_stops(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("D3STATS_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("sys.argv", ["run.py", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"REAL LOGS NOT REPLAYED: no folder .*nowhere"):
        runpy.run_path(str(ROOT / "simulations" / "replay_real_logs" / "run.py"), run_name="__main__")


@pytest.mark.real_data
def test_a_real_log_replays_to_the_numbers_that_were_written(data_dir: Path) -> None:
    module, config, made = _study("replay_real_logs")
    log = next(log for log in config["logs"] if log["label"] == "GSM8K, 4 seats, majority wrong")
    rules = [module["from_text"](text) for text in config["rules"] if text != "hu2025"]
    table, refused = module["replayed"](module["read"](log, data_dir), rules, config)
    written = made["replay"][made["replay"]["log"] == log["label"]].set_index("rule")
    for column in ("rounds", "accuracy", "flips", "saved_rounds_vs_unanimity", "accuracy_vs_unanimity"):
        both = table.set_index("rule")[column].dropna()
        assert (both - written.loc[both.index, column]).abs().max() < 6e-5
    assert {name.partition(":")[0] for name in refused} >= {"sign_agreement", "budgeted", "token_budget"}


def test_the_findings_of_the_promises_hold_their_tables_and_its_headline() -> None:
    module, config, made = _study("plan_promises")
    summary, worlds = made["summary"], made["worlds"]
    text = (ROOT / "simulations" / "plan_promises" / "findings.md").read_text()
    assert module["filled"](text, module["shown"](summary, worlds)) == text
    again = module["summarise"](worlds)
    numbers = again.select_dtypes("number").columns
    assert np.allclose(again[numbers], summary[numbers], rtol=1e-4, equal_nan=True)
    assert len(worlds) == 2 * len(config["families"]) * config["worlds_per_family"]
    labelled = summary[summary["target"] == "accuracy"]
    good = (
        (labelled["saved"] >= 0.5) & (labelled["loss_upper_95"] <= 0.01) & (labelled["share_of_best"] >= 0.8)
    )
    assert good.sum() == 4
    held = worlds[worlds["target"] == "accuracy"]
    for measure in ("rounds", "tokens", "kept", "saved"):
        assert held[f"{measure}_covered"].mean() >= 0.88


@pytest.mark.slow  # 1 s; the fast layer has the plans from real debates
def test_plans_in_other_worlds_have_the_findings_and_one_world_is_replayed() -> None:
    module, config, made = _study("plans_elsewhere")
    summary, worlds = made["summary"], made["worlds"]
    text = (ROOT / "simulations" / "plans_elsewhere" / "findings.md").read_text()
    assert module["filled"](text, module["shown"](summary)) == text
    again = module["summarise"](worlds)
    numbers = again.select_dtypes("number").columns
    assert np.allclose(again[numbers], summary[numbers], rtol=1e-4, equal_nan=True)
    counts = worlds.groupby(["family", "pilot"]).size()
    assert len(counts) >= 2 * 24
    assert counts.min() == config["worlds_per_family"] == 24
    row = next(module["one_world"](config, "insight", 3, [50]))
    written = worlds.query("family == 'insight' and world == 3 and pilot == 50").iloc[0]
    assert row["rule"] == written["rule"]
    for measure in ("rounds", "tokens", "accuracy", "saved", "loss", "tokens_said"):
        assert float(row[measure]) == pytest.approx(written[measure], rel=1e-5, abs=1e-8)
    for name in ("probability", "loss_said"):  # of a fit
        assert float(row[name]) == pytest.approx(written[name], abs=0.005)


def test_the_choice_of_the_allowance_has_its_tables_and_one_world_is_chosen_again() -> None:
    _, config, made = _study("plans_elsewhere")
    folder = ROOT / "simulations" / "plans_elsewhere"
    module, choice = runpy.run_path(str(folder / "choice.py")), made["choice"]
    text = (folder / "findings.md").read_text()
    assert module["filled"](text, module["shown"](choice)) == text
    kept = choice[choice["promised"] == 1].assign(kept=lambda t: t["loss"] <= t["limit"])
    shares = kept.groupby(["limit", "c", "f", "pilot"])["kept"].mean()
    assert shares[0.01, 0.3, 0.01].min() >= 0.95
    assert shares.xs(0.0, level="f").loc[0.01].max() < 0.905
    world = next(module["tried_in"](config, "insight", 3))
    again = pd.DataFrame(module["under_each"](world, config)).astype({"loss": float, "saved": float})
    written = choice.query("family == 'insight' and world == 3 and pilot == 50").reset_index(drop=True)
    for name in ("promised", "loss", "saved"):
        same = np.isclose(again[name].astype(float), written[name], rtol=1e-4, atol=1e-6)
        assert same.mean() >= 0.9, name  # a probability near .9 may fall on the other side


def test_plans_from_real_debates_have_the_findings_and_one_pilot_is_planned_again() -> None:
    module, config, made = _study("plans_real_logs")
    summary, pilots = made["summary"], made["pilots"]
    text = (ROOT / "simulations" / "plans_real_logs" / "findings.md").read_text()
    assert module["filled"](text, module["shown"](summary)) == text
    again = module["summarise"](pilots)
    numbers = again.select_dtypes("number").columns
    assert np.allclose(again[numbers], summary[numbers], rtol=1e-4, equal_nan=True)
    assert pilots.groupby(["log", "size"]).size().min() == config["pilots"] == 200
    label = "small models, 7 seats"
    row = module["one_pilot"](config, label, 50, 0)
    written = pilots.query("log == @label and size == 50 and pilot == 0").iloc[0]
    assert row["rule"] == written["rule"]
    for measure in ("rounds", "accuracy", "saved", "loss"):
        assert float(row[measure]) == pytest.approx(written[measure], rel=1e-5, abs=1e-8)
    assert float(row["probability"]) == pytest.approx(written["probability"], abs=0.005)


def test_no_family_of_the_other_worlds_votes_out_of_range() -> None:
    module = _study("plans_elsewhere")[0]
    for kind in module["FAMILIES"].values():
        rng = np.random.default_rng(2)
        for panel in (3, 6):
            log = module["debates"](kind, kind.draw(rng), panel, 5, 40, rng)
            assert log.votes.shape == (40, 5, panel)
            assert set(np.unique(log.votes)) <= set(range(kind.answers))
            assert 0.2 < (log.verdicts() == log.label[:, None]).mean() < 1


@pytest.mark.slow  # plays all items of the study; the fast layer plays 60 others of them
def test_the_comparison_of_protocols_plays_one_judge_to_the_written_numbers() -> None:
    module, config, made = _study("protocol_comparison")
    config["protocols"] = [p for p in config["protocols"] if p["label"].startswith("single judge")]
    world = module["world_of"](config["worlds"][0])
    played = dict(module["play_all"](world, config["protocols"], config["items"], config["seed"]))
    again = module["measured"](played, config, config["baseline"]).set_index(["protocol", "measure"])
    written = (
        made["measures"].query("world == @config['worlds'][0]['label']").set_index(["protocol", "measure"])
    )
    assert len(again) == 2 * 10 + 3
    # A p-value is adjusted over the protocols that are compared, so it is not the same.
    for column in ("estimate", "low", "high"):
        assert np.allclose(
            again[column], written.loc[again.index, column], rtol=1e-4, atol=1e-6, equal_nan=True
        )


@pytest.mark.slow  # 2 s; its decisions are compared with a run below
def test_other_items_give_the_comparison_of_protocols_within_its_error() -> None:
    module, config, made = _study("protocol_comparison")
    labels = [
        "single judge",
        "majority of 3",
        "SAMRE, jury of 5",
        "ChatEval, simultaneous",
        "peer discussion",
    ]
    config["protocols"] = [p for p in config["protocols"] if p["label"] in labels]
    world = module["world_of"](config["worlds"][0])
    played = dict(module["play_all"](world, config["protocols"], 60, config["seed"] + 1))
    small = module["measured"](played, config, config["baseline"])
    written = made["measures"].query("world == @config['worlds'][0]['label']")
    both = small.merge(written, on=["protocol", "measure"], suffixes=("", "_full")).dropna(
        subset=["low", "low_full"]
    )
    assert set(both["protocol"]) == set(labels)
    widths = [(both[f"high{end}"] - both[f"low{end}"]) / (2 * 1.96) for end in ("", "_full")]
    away = (both["estimate"] - both["estimate_full"]).abs()
    assert (away <= 4 * np.hypot(*widths) + 1e-12).all(), both[away > 4 * np.hypot(*widths)]


@pytest.mark.parametrize(
    ("protocol", "rule"),
    [
        ("samre:poll=every_round", "unanimity"),
        ("chateval", None),
        ("peer_rank", None),
        ("stability:max_rounds=5", "unanimity | ks:0.3"),
        ("stability:max_rounds=4,camp=largest", None),
    ],
)
def test_the_comparison_of_protocols_decides_as_a_run_to_a_log(
    protocol: str, rule: str | None, tmp_path: Path
) -> None:
    from d3stats.log.reader import iter_records
    from d3stats.log.schema import Turn, Verdict
    from d3stats.protocols import protocol_from_text
    from d3stats.run.items import DebateItem
    from d3stats.run.run import debate
    from d3stats.stopping import from_text
    from d3stats.worlds import Assembly
    from d3stats.worlds.streams import synthetic_agent, synthetic_items

    module, _, _ = _study("protocol_comparison")
    cell = {"label": "it", "protocol": protocol} | ({} if rule is None else {"rule": rule})
    ((_, played),) = module["play_all"]({"name": "assembly"}, [cell], 6, 5)
    fields = ("question", "text", "candidates", "answers", "label")
    items = [
        DebateItem(**{name: getattr(item, name) for name in fields})
        for item in synthetic_items(Assembly(), 6, 5)
    ]
    log = tmp_path / "log.jsonl"
    debate(
        protocol_from_text(protocol),
        items,
        synthetic_agent(Assembly(), 5),
        log,
        rule=None if rule is None else from_text(rule),
        orders="both",
    )
    records = list(iter_records(log))
    turns = pd.DataFrame(
        [(r.debate, r.tokens_in, r.tokens_out) for r in records if isinstance(r, Turn)],
        columns=["debate", "input", "output"],
    )
    logged = turns.groupby("debate").agg(
        calls=("input", "size"), input=("input", "sum"), output=("output", "sum")
    )
    verdicts = {r.debate: (r.decision, r.round, r.stop_reason) for r in records if isinstance(r, Verdict)}
    assert len(played) == len(verdicts) == 12
    for row in played.itertuples(index=False):
        verdict = None if pd.isna(row.verdict) else row.verdict
        assert (verdict, row.rounds, row.reason) == verdicts[row.debate]
        assert (row.calls, row.input, row.output) == tuple(logged.loc[row.debate])


@pytest.mark.slow  # plays all items of the study
def test_the_ablation_of_table_3_plays_more_to_the_written_numbers() -> None:
    module, config, made = _study("protocol_comparison")
    cells = config["ablation"]["cells"]
    assert {cell["protocol"] for cell in cells} == {"more:jurors=1", "more:jurors=5"}
    world = module["world_of"](config["worlds"][0]) | cells[0]["world"]
    ((_, played),) = module["play_all"](world, cells[:1], config["ablation"]["items"], config["seed"])
    written = made["ablation"].query("protocol == @cells[0]['label'] and measure == 'right_of_all'")
    assert (played["verdict"] == played["label"]).mean() == pytest.approx(
        written["estimate"].item(), abs=1e-5
    )


def test_every_step_of_a_frontier_is_dearer_and_right_more_often() -> None:
    _, _, made = _study("protocol_comparison")
    frontier, steps = made["frontier"], made["steps"]
    assert set(frontier["counted"]) == {"wrong", "half", "left out"}
    at = frontier.set_index(["world", "counted", "protocol"]).sort_index()
    for (world, counted), rows in steps.groupby(["world", "counted"]):
        names = [rows["cheaper"].iloc[0], *rows["dearer"]]
        assert list(rows["cheaper"]) == names[:-1]
        on = at.loc[(world, counted)].loc[names]
        assert on["efficient"].all()
        assert (np.diff(on["cost"]) > 0).all()
        assert (np.diff(on["accuracy"]) > 0).all()
        if counted != "left out":
            # Where debates are left out, a pair is compared on those that both decide.
            assert np.allclose(np.diff(on["accuracy"]), rows["gain"], atol=1e-5)
        off = at.loc[(world, counted)].query("not efficient")
        for point in off.itertuples():
            assert ((on["cost"] <= point.cost) & (on["accuracy"] >= point.accuracy)).any()


@pytest.mark.slow
def test_the_published_batch_rule_stops_all_4000_debates_as_written() -> None:
    module, config, made = _study("protocol_comparison")
    label = "panel of 7, unanimity or KS, labels"
    chosen = [p for p in config["protocols"] if p["label"] in (config["baseline"], label)]
    world = module["world_of"](config["worlds"][0])
    played = dict(module["play_all"](world, chosen, config["items"], config["seed"]))
    stopped = played[label].groupby("reason")["rounds"].agg(["min", "max"])
    assert stopped.loc["ks_stable"].tolist() == [8, 8]
    assert "exhausted" not in stopped.index
    again = module["measured"](played, config, config["baseline"]).set_index(["protocol", "measure"])
    written = (
        made["measures"].query("world == @config['worlds'][0]['label']").set_index(["protocol", "measure"])
    )
    for column in ("estimate", "low", "high"):
        assert np.allclose(
            again[column], written.loc[again.index, column], rtol=1e-4, atol=1e-6, equal_nan=True
        )


@pytest.mark.slow
def test_a_smaller_run_of_the_persona_study_agrees_with_its_tables() -> None:
    module, config, made = _study("persona_study")
    config |= {"questions": 60, "questions_of_paper": 40, "seed": 5}
    for name, keys in (
        ("sizes", ["protocol", "arm", "k"]),
        ("ablation", ["protocol", "arm", "k", "measure"]),
    ):
        both = module[name](config).merge(made[name], on=keys, suffixes=("", "_full"))
        assert len(both) == len(made[name])
        value = "accuracy" if name == "sizes" else "estimate"
        widths = [(both[f"high{end}"] - both[f"low{end}"]) / (2 * 1.96) for end in ("", "_full")]
        away = (both[value] - both[f"{value}_full"]).abs()
        assert (away <= 4 * np.hypot(*widths)).all(), both[away > 4 * np.hypot(*widths)]
    fives = module["fives"](config | {"questions": 100})
    assert set(fives["questions"]) == {40, 100}
    assert fives.query("jury == 'all fives of the pool'")["sd_between"].between(0.003, 0.05).all()


@pytest.mark.slow  # 1 s; its findings hold its tables in the fast layer
def test_what_the_persona_study_computes_exactly_is_recomputed_to_the_written_digits() -> None:
    module, config, made = _study("persona_study")
    config["worlds"] = [w for w in config["worlds"] if w["label"] in ("as above", "noisy calls (8 points)")]
    config["drawn_fives"] = 20
    again = module["statements"](config).set_index("world")
    written = made["statements"].set_index("world").loc[again.index]
    for column in again.columns.drop("sd_between_fives"):
        assert np.allclose(again[column].astype(float), written[column].astype(float), rtol=1e-5), column
    law = module["jury_law"](module["court"](config, "MORE", "personas"))
    at = made["sizes"].query("protocol == 'MORE' and arm == 'personas'").set_index("k")["exact"]
    assert law.random_majority(5, module["POOL"]) == pytest.approx(at[5], rel=1e-5)
    assert made["sizes"].query("protocol == 'MORE'")["exact"].notna().all()


def test_in_the_persona_study_diversity_alone_moves_no_juror_and_helps_every_larger_jury() -> None:
    _, _, made = _study("persona_study")
    exact = made["sizes"].query("protocol == 'MORE'").pivot_table(index="k", columns="arm", values="exact")
    assert exact.loc[1, "diversity"] == pytest.approx(exact.loc[1, "plain"], abs=1e-5)
    assert (exact.loc[3:, "diversity"] > exact.loc[3:, "plain"] + 0.005).all()
    boost = exact["effects"] - exact["plain"]
    assert boost.max() - boost.min() < 0.001


@pytest.mark.slow
def test_a_smaller_run_of_the_advocates_study_agrees_with_its_tables() -> None:
    module, config, made = _study("advocates_hypotheses")
    chosen = ("default", "independent, three times as much to find", "prompts matter, a wording each")
    config["worlds"] = [world for world in config["worlds"] if world["label"] in chosen]
    config |= {"questions": 80, "seed": 9}
    both = module["hypotheses"](config).merge(
        made["hypotheses"], on=["world", "measure"], suffixes=("", "_full")
    )
    assert len(both) == 3 * len(module["HYPOTHESES"])
    widths = [(both[f"high{end}"] - both[f"low{end}"]) / (2 * 1.96) for end in ("", "_full")]
    away = (both["difference"] - both["difference_full"]).abs()
    assert (away <= 4 * np.hypot(*widths)).all(), both[away > 4 * np.hypot(*widths)]
    rounds = module["by_round"](config)
    assert rounds["round"].tolist() == [1, 2, 3, 4] * 3
    assert (rounds["samre_low"] < rounds["samre"]).all()


def test_the_advocates_study_recovers_the_prompt_sensitivity_that_was_put_in() -> None:
    """A wording moves each score by 4 points: a variance of 16, and of 32 for a difference; none in 14 worlds."""
    _, config, made = _study("advocates_hypotheses")
    found = made["hypotheses"].set_index(["measure", "world"])
    assert {w["court"]["prompt_sd"] for w in config["worlds"] if "prompt_sd" in w.get("court", {})} == {4.0}
    one = found.loc[("sensitivity of the difference", "prompts matter, one wording for all")]
    assert (one["more"], one["samre"]) == (pytest.approx(32, rel=0.1), pytest.approx(32, rel=0.1))
    score = found.loc[("sensitivity of a score", "prompts matter, one wording for all")]
    assert (score["more"], score["samre"]) == (pytest.approx(16, rel=0.1), pytest.approx(16, rel=0.1))
    rest = made["hypotheses"].query(
        "measure.str.startswith('sensitivity') and not world.str.startswith('prompts')"
    )
    assert len(rest) == 2 * 14
    assert (rest["outcome"] == "undecided").all()


def test_in_the_advocates_study_the_first_two_hypotheses_hold_with_an_upside_and_differing_advocates_only() -> (
    None
):
    _, _, made = _study("advocates_hypotheses")
    table = made["hypotheses"].query("measure == 'separation of the right answer'").set_index("world")
    holds = set(table.index[table["outcome"] == "holds"])
    assert holds == {
        world for world in table.index if "times as much" in world or "twice as much" in world
    } - {"better answer gives twice as much to find"}
    paper = made["played"].query("world.str.startswith('most hidden')").set_index("protocol")["accuracy"]
    order = ["single judge", "MORE", "SAMRE", "SAMRE without juries"]
    assert paper[order].is_monotonic_increasing


@pytest.mark.slow  # plays all items; the fast layer recomputes the hypotheses of a smaller run
def test_samre_without_a_jury_is_played_to_the_written_numbers() -> None:
    module, config, made = _study("advocates_hypotheses")
    asked = config["played"]
    asked["worlds"] = asked["worlds"][:1]
    again = module["played"](config).set_index("protocol")
    written = made["played"].query("world == 'default'").set_index("protocol")
    for column in ("accuracy", "low", "high", "gain", "p_holm", "rounds", "tokens"):
        assert np.allclose(
            again[column], written.loc[again.index, column], rtol=1e-4, atol=1e-6, equal_nan=True
        )


def test_the_ledger_holds_its_limit_against_every_adversary_and_a_cell_gives_its_row() -> None:
    module, config, made = _study("ledger")
    table = made["adversaries"]
    assert len(table) == 2 * 3 * 4 * 8
    assert set(table["campaigns"]) == {8000}
    assert table["over"].max() <= config["delta"] + 3 * (0.09 / 8000) ** 0.5
    there = table.set_index(["losses", "design", "allowed", "adversary"])["over"]
    for cell in (
        ("differs", "one", 0, "always"),
        ("differs", "rising", 5, "until over"),
        ("net", "three", 20, "near the end"),
    ):
        assert module["cell"](config, *cell)["over"] == pytest.approx(there[cell], abs=1e-9), cell


def test_the_fast_campaigns_of_the_ledger_study_are_those_of_the_ledger() -> None:
    module, config, _ = _study("ledger")
    ledger = module["ledger_of"](config, "differs", "rising", 5)
    rng = np.random.default_rng(3)
    secrets = [rng.bytes(32) for _ in range(20)]
    for name in ("always", "after honoured", "waits", "until over"):
        opened = [ledger.start(key) for key in secrets]
        coins = np.array([[campaign.coin(d + 1) for campaign in opened] for d in range(ledger.n)])
        fast = module["campaigns"](name, ledger, coins, rng)
        for campaign, lost in zip(opened, fast.tolist(), strict=True):
            past = {"lost": 0, "honoured": False, "found": -100}
            for d in range(ledger.n):
                state = {each: np.array([value]) for each, value in past.items()} | {
                    "stage": np.array([campaign.stage - 1])
                }
                loses = bool(module["losses"](name, d, ledger.n, ledger.allowed, state, rng)[0])
                audited = campaign.decide(early=True) == "audit"
                if audited:
                    campaign.audited(int(loses))
                past["lost"] += loses and not audited
                past["honoured"] = not audited
                past["found"] = d if audited and loses else past["found"]
            assert past["lost"] == lost, name


def test_the_fast_campaigns_of_net_losses_are_those_of_the_ledger() -> None:
    module, config, _ = _study("ledger")
    ledger = module["ledger_of"](config, "net", "three", 5)
    rng = np.random.default_rng(4)
    secrets = [rng.bytes(32) for _ in range(20)]
    for name in ("always", "gains first", "blocks", "after honoured", "until over"):
        opened = [ledger.start(key) for key in secrets]
        coins = np.array([[campaign.coin(d + 1) for campaign in opened] for d in range(ledger.n)])
        fast = module["net_campaigns"](name, ledger, coins, rng)
        for campaign, most in zip(opened, fast.tolist(), strict=True):
            lost, honoured, worst = 0, False, 0
            for d in range(ledger.n):
                state = {"lost": np.array([lost]), "honoured": np.array([honoured])}
                loss = int(module["net_losses"](name, d, ledger.n, ledger.allowed, state, rng)[0])
                honoured = campaign.decide(early=True) == "honour"
                if not honoured:
                    campaign.audited(loss)
                lost += loss * honoured
                worst = max(worst, lost)
            assert worst == most, name


def test_panels_without_right_answers_have_the_findings_and_one_panel_is_drawn_again() -> None:
    module, config, made = _study("panel_without_gold")
    panels, summary = made["panels"], made["summary"]
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    text = (ROOT / "simulations" / "panel_without_gold" / "findings.md").read_text()
    assert fill(text, module["shown"](made)) == text
    again = module["summarise"](panels)
    numbers = again.select_dtypes("number").columns
    assert np.allclose(again[numbers], summary[numbers], rtol=1e-4, atol=1e-6, equal_nan=True)
    means = summary.set_index(["cell", "method"])
    good = means.loc["two good judges of seven", "Dawid and Skene"]
    assert good["plurality"] < 0.92
    assert good["right"] > 0.98
    assert (means.xs("three copies of one")["gain"] < 0).all()
    assert (means.xs("three copies of one")["warned"] == 1).all()
    cell = next(one for one in config["cells"] if one["name"] == "three judges")
    for row in module["measured"](cell, 4, config):
        written = panels.query("cell == 'three judges' and panel == 4 and method == @row['method']").iloc[0]
        for measure in ("right", "plurality", "said", "error"):
            assert row[measure] == pytest.approx(written[measure], abs=2e-4)


def test_walds_test_on_scores_keeps_its_bounds_and_is_computed_again() -> None:
    module, config, made = _study("judge_sprt")
    curves, checked = made["curves"], made["checked"]
    bound = config["alpha"] / (1 - config["beta"])
    assert curves["left"].max() < 1e-3
    assert curves[["false_converged", "false_rejected"]].min().min() > 0
    assert curves[["false_converged", "false_rejected"]].max().max() < bound
    assert (curves["rounds_useful"] > curves["wald_useful"]).all()
    assert (curves["rounds_other"] > curves["wald_other"]).all()
    assert made["ends"][["false_rejected_chances", "false_converged_chances"]].max().max() < bound
    assert made["ends"]["false_rejected_densities"].max() > 2 * bound
    # The exact numbers are those of the library's rule on drawn debates, and do not depend on the grid.
    assert (checked["exact"] - checked["half_as_fine"]).abs().max() < 2e-4
    assert ((checked["exact"] - checked["simulated"]).abs() <= 4 * checked["se"] + 3e-4).all()
    for number, (family, other, rule) in enumerate(module["pairs"](config)):
        row = curves.iloc[number]
        assert (family, other) == (row["family"], row["other"])
        if row["divergence"] < 0.5:
            continue
        for law, kind, wrong in zip(
            module["laws"](rule), ("useful", "other"), ("rejected", "converged"), strict=True
        ):
            again = module["played"](rule, law, 200, config["cells"])
            assert again.rounds == pytest.approx(row[f"rounds_{kind}"], rel=1e-5)
            assert getattr(again, wrong).sum() == pytest.approx(row[f"false_{wrong}"], rel=1e-4)
    fits = made["fitted"].set_index(["other_mean", "calibration"])
    for true, number, fit in module["calibrations"](
        {**config, "fitted": {**config["fitted"], "calibrations": 1}}
    ):
        mean = true.other_a / (true.other_a + true.other_b)
        written = next(row for (at, n), row in fits.iterrows() if n == number and abs(at - mean) < 1e-6)
        for name, value in module["one_fit"](true, fit, config).items():
            assert value == pytest.approx(written[name], rel=1e-4, abs=1e-9), name


def test_the_cap_ends_nearly_all_debates_where_the_laws_are_nearly_alike() -> None:
    _, _, made = _study("judge_sprt")
    published = made["published"].set_index(["figure", "error"])
    assert published.loc[("capped", 0.05), "divergence"].between(0.05, 0.06).all()
    assert published.loc[("rounds", 0.05), "divergence"].dropna().min() > 15


def test_the_shares_of_mutants_that_die_follow_from_the_rows() -> None:
    """Wilson's limits are the roots of his quadratic; every survivor has a reason, and its change is in the code."""
    module, config, made = _study("mutants")
    rows, table = made["rows"], module["shown"](made)["modules"].set_index("module")
    assert set(rows.outcome) <= {"killed", "killed since", "timeout", "survived"}
    assert rows.key.is_unique
    for name, of in [*rows.groupby("module"), ("all", rows)]:
        n, p = len(of), float((of.outcome != "survived").mean())
        square = 1.959963984540054**2
        low, high = sorted(np.roots([1 + square / n, -(2 * p + square / n), p * p]).real)
        assert table.loc[name, "share that dies"] == f"{p:.2f} [{low:.2f}, {min(high, 1.0):.2f}]"
    survivors = rows[rows.outcome == "survived"]
    reasons = dict(zip(made["reasons"].key, made["reasons"].reason, strict=True))
    assert set(survivors.key) <= set(reasons)
    modules = {one["name"]: one for one in config["modules"]}
    assert set(rows.module) <= set(modules)
    for one in config["modules"]:
        assert all((ROOT / test).exists() for test in one["tests"]), one["name"]
