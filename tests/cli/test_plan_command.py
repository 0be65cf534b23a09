"""``d3stats plan``: what it prints, and how it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.log import write_csv
from d3stats.log.reader import read_log
from d3stats.trajectories import Trajectories
from d3stats.worlds import Conformity, simulate_debates

pytestmark = pytest.mark.usefixtures("computed_once")

PRICES = 'date = "2026-01-01"\n[models.mine]\ninput = 1.0\noutput = 4.0\n'


def write_log(t: Trajectories, path: Path, labelled: bool = True) -> Path:
    """Write debates as a tidy CSV."""
    lines = ["debate,round,agent,vote,tokens,label"]
    for d in range(t.n_debates):
        label = t.answers[t.label[d]] if labelled else ""
        for r in range(t.n_rounds):
            tokens = int(t.tokens[d, r] / len(t.seats))  # type: ignore[index]
            for s in range(len(t.seats)):
                lines.append(f"{d},{r + 1},a{s},{t.answers[t.votes[d, r, s]]},{tokens},{label}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("plan")
    t = simulate_debates(Conformity(panel=5), n_debates=40, n_rounds=4, rng=2)
    write_log(t, made / "pilot.csv")
    write_log(t, made / "blind.csv", labelled=False)
    write_log(t.select([0]), made / "one.csv")
    first = simulate_debates(Conformity(panel=5), n_debates=40, n_rounds=1, rng=2)
    write_log(first, made / "short.csv")
    (made / "prices.toml").write_text(PRICES)
    (made / "negative.toml").write_text(PRICES.replace("1.0", "-1.0"))
    return made


def run(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plan", *map(str, arguments)])
    return result.exit_code, result.output


def test_a_plan_names_the_rule_its_price_and_the_reason(folder: Path) -> None:
    code, text = run(
        folder / "pilot.csv", "--prices", folder / "prices.toml", "--debates", "200", "--no-limit"
    )
    assert code == 0, text
    assert text.startswith("Run ")
    assert "200 debates: $" in text
    assert "P(loss<=1)" in text
    for rule in ("unanimity", "fixed:1", "full", "hu2025"):
        assert rule in text


def test_json_holds_the_same_numbers(folder: Path) -> None:
    code, text = run(folder / "pilot.csv", "--json")
    assert code == 0, text
    document = json.loads(text)
    assert document["target"] == "accuracy"
    assert document["rules"][0]["rule"] == document["rule"]
    assert {row["role"] for row in document["rules"]} == {"recommended", "incumbent", "compared", "limit"}
    assert document["probability"] >= document["confidence"]


def test_without_labels_the_plan_says_what_it_cannot_see(folder: Path) -> None:
    code, text = run(folder / "blind.csv", "--no-limit", "--all")
    assert code == 0, text
    assert "agreement" in text
    assert "ks:0.05,camp=largest" in text
    assert "cannot see verdicts change" in " ".join(text.split())
    assert "whether that verdict is right" in " ".join(text.split())


def test_the_figure_is_written(folder: Path) -> None:
    code, text = run(folder / "pilot.csv", "--no-limit", "--n-draws", "20", "--figure", folder / "fan")
    assert code == 0, text
    assert (folder / "fan.pdf").exists()
    assert (folder / "fan.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["one.csv"], "pilot must hold at least 2 debates; got 1"),
        (["short.csv"], "pilot must be played for at least 2 rounds, or there is nothing to stop; got 1"),
        (["pilot.csv", "--prices", "negative.toml"], "must be >= 0"),
        (["pilot.csv", "--rule", "sign_agreement"], "score"),
        (["pilot.csv", "--max-loss", "-1"], "max_loss must be >= 0"),
        (["pilot.csv", "--confidence", "1.5"], "confidence must lie strictly between 0 and 1"),
        (["pilot.csv", "--model", "mine"], "--model must come with --prices"),
        (["pilot.csv", "--prices", "prices.toml", "--model", "other"], "model must be one of 'mine'"),
        (["blind.csv", "--target", "accuracy"], "target 'accuracy' must have labels in the pilot; got none"),
    ],
)
def test_what_cannot_be_planned_is_one_clear_line(folder: Path, arguments: list[str], message: str) -> None:
    given = [folder / a if a.endswith((".csv", ".toml")) else a for a in arguments]
    code, text = run(*given)
    assert code == 1
    assert message in text
    assert len(text.strip().splitlines()) == 1


def test_the_test_logs_are_read_whole(folder: Path) -> None:
    log = read_log(folder / "pilot.csv", strict=False)
    assert not log.problems
    write_csv(log, folder / "again.csv")
    assert Trajectories.from_log(folder / "again.csv").n_debates == 40
