"""A simulation's sums belong to the code that made them, and its dollars to the kinds of tokens."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import d3stats
from d3stats.planning import Study, read_study, simulate
from d3stats.planning import study as study_module
from d3stats.stopping import from_text
from d3stats.worlds import Courtroom, Referees, Voter, simulate_debates
from d3stats.worlds.tokens import Lengths

PACKAGE = Path(d3stats.__file__).parent
SAMPLERS_AND_RULES = [
    *("worlds/voter.py", "worlds/draw.py", "worlds/tokens.py", "stopping/ks.py", "models/chains/process.py"),
    *("trajectories.py", "log/arrays.py", "planning/study.py", "planning/costs.py"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("package") / "d3stats"
    shutil.copytree(PACKAGE, made, ignore=shutil.ignore_patterns("__pycache__", "*.csv"))
    return made


def code_of(package: Path) -> str:
    study_module._code.cache_clear()
    return study_module._code(package)


@pytest.mark.parametrize("name", SAMPLERS_AND_RULES)
def test_a_changed_sampler_or_rule_is_another_study(copy: Path, name: str) -> None:
    before, file = code_of(copy), copy / name
    source = file.read_text()
    file.write_text(source + "\nCHANGED = True\n")
    assert code_of(copy) != before
    file.write_text(source)
    assert code_of(copy) == before == code_of(PACKAGE)


def test_a_changed_page_or_command_is_the_same_study(copy: Path) -> None:
    before = code_of(copy)
    (copy / "cli" / "plan.py").write_text("CHANGED = True\n")
    assert code_of(copy) == before


def test_sums_of_other_code_are_never_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "simulated.jsonl"
    asked = {"worlds": {"w": Voter(panel=3)}, "rules": ["fixed:1"], "n_rounds": 2}
    simulate(Study(**asked, debates=50), out=journal)
    before = journal.read_bytes()
    monkeypatch.setattr(study_module, "_code", lambda: "of a mended sampler")
    with pytest.raises(ValueError, match="of other code of samplers and rules"):
        simulate(Study(**asked, debates=100), out=journal)
    assert journal.read_bytes() == before


@pytest.mark.parametrize(
    "world",
    [Voter(panel=3, lengths=Lengths(spread=0.5)), Courtroom(panel=3, poll="every_round"), Referees()],
    ids=lambda w: w.name,
)
def test_dollars_are_each_kind_of_token_at_its_own_price(world) -> None:
    rules = ["fixed:2", "supermajority:0.6", "unanimity"]
    asked = Study(
        worlds=[world], rules=rules, n_rounds=3, debates=300, dollars_per_million_tokens=(1.0, 10.0)
    )
    table = simulate(asked).to_frame().set_index("rule")
    log = simulate_debates(world, 300, 3, rng=0)
    for rule in rules:
        stops = from_text(rule).stop_rounds(log).rounds
        at = np.arange(300), stops - 1
        spent = [log.tokens_in.cumsum(1)[at], log.tokens_out.cumsum(1)[at]]
        if rule == "fixed:2" and log.polled is not None:  # asks no juror before the end
            spent = [
                sum_of - polls[:, 0]
                for sum_of, polls in zip(spent, (log.poll_tokens_in, log.poll_tokens_out), strict=True)
            ]
        paid = np.rint(spent[0]) * 1e-6 + np.rint(spent[1]) * 1e-5
        assert table.loc[rule, "dollars"] == pytest.approx(paid.mean(), rel=1e-12)
        assert table.loc[rule, "dollars_se"] == pytest.approx(paid.std(ddof=1) / np.sqrt(300), rel=1e-9)


def test_one_price_for_both_kinds_is_one_price() -> None:
    one, two = (
        simulate(
            Study(worlds=[Voter(panel=3)], rules=[], n_rounds=3, debates=200, dollars_per_million_tokens=p)
        ).to_frame()
        for p in (2.0, (2.0, 2.0))
    )
    np.testing.assert_allclose(one["dollars"], two["dollars"], rtol=1e-3)
    np.testing.assert_allclose(one["dollars_se"], two["dollars_se"], rtol=1e-2)


def test_a_team_of_referees_has_a_price() -> None:
    asked = {"worlds": {"team": Referees()}, "rules": [], "debates": 20, "dollars_per_million_tokens": 1.0}
    three, one = (
        simulate(Study(**asked, n_rounds=n)).to_frame().set_index("rule")["dollars"] for n in (3, 1)
    )
    assert (one > 0).all()
    assert three["full"] > one["full"]


STUDY = """rules = ["fixed:1"]
n_rounds = 2
debates = 50
[[worlds]]
name = "voter"
panel = 3
[prices]
dollars_per_million_tokens = {price}
"""


def test_a_study_file_takes_one_price_or_two(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    for text, price in (("2.5", 2.5), ("[1, 4.0]", (1.0, 4.0))):
        path.write_text(STUDY.format(price=text))
        assert read_study(path).dollars_per_million_tokens == price
    for text, message in (("[1.0]", "must be one price, or those of"), ("[1.0, -4]", "must be >= 0; got")):
        path.write_text(STUDY.format(price=text))
        with pytest.raises(ValueError, match=message):
            read_study(path)
    path.write_text(STUDY.format(price="[1.0, 4.0]") + "input = 3\n")
    with pytest.raises(ValueError, match=r"prices\.input must be dollars_per_million_tokens"):
        read_study(path)
