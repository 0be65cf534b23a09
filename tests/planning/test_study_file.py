"""What is wrong with a study file is said in one line: file, key, requirement, got."""

from __future__ import annotations

from pathlib import Path

import pytest

from d3stats.planning import Study, read_study
from d3stats.worlds import Voter

GOOD = """
rules = ["unanimity", "fixed:2"]
n_rounds = 4
debates = 100
{more}
[[worlds]]
name = "voter"
{world}
"""


def write(folder: Path, *, more: str = "", world: str = "", text: str | None = None) -> Path:
    path = folder / "study.toml"
    path.write_text(GOOD.format(more=more, world=world) if text is None else text)
    return path


def test_a_study_file_becomes_a_study(tmp_path: Path) -> None:
    more = (
        "seeds = [4, 2]\nbatch = 50\nchunk = 64\nmissing = 'wrong'\ncommon_random_numbers = false\n[prices]\n"
    )
    path = write(tmp_path, more=f"{more}dollars_per_million_tokens = 2", world="panel = 5\nlabel = 'null'")
    study = read_study(path)
    assert dict(study.worlds) == {"null": Voter(panel=5)}
    assert study.names == ("unanimity", "fixed:2", "full")
    assert (study.n_rounds, study.debates, study.seeds) == (4, 100, (4, 2))
    assert (study.batch, study.chunk, study.step, study.missing) == (50, 64, 100, "wrong")
    assert (study.dollars_per_million_tokens, study.common_random_numbers) == (2.0, False)


def test_a_world_without_a_label_is_named_by_its_parameters(tmp_path: Path) -> None:
    path = write(tmp_path, world="panel = 5\nlengths = { spread = 0.5 }")
    assert list(read_study(path).worlds) == ["voter:panel=5,lengths.spread=0.5"]


@pytest.mark.parametrize(
    ("more", "world", "line"),
    [
        ("rounds = 3", "", r"key must be one of worlds, rules, .*; got 'rounds'"),
        ("seeds = 0", "", "seeds must be >= 1; got seeds=0"),
        ("seeds = [1, 1]", "", r"seeds must be different and at least one; got \[1, 1\]"),
        ("seeds = [-1]", "", "seeds must be >= 0; got seeds=-1"),
        ("chunk = 0", "", "chunk must be >= 1; got chunk=0"),
        ("batch = 30", "", "debates must be a multiple of batch; got debates=100, batch=30"),
        ("missing = 'zero'", "", "missing must be one of 'exclude', 'wrong'; got missing='zero'"),
        ("common_random_numbers = 1", "", "common_random_numbers must be true or false; got 1"),
        ("[prices]\ndollars_per_million_tokens = -1", "", "million_tokens must be >= 0; got .*-1"),
        ("[prices]\ndollars_per_million_tokens = nan", "", "million_tokens must be .*; got .*nan"),
        ("[prices]\ninput = 1", "", "prices.dollars_per_million_tokens must be given; got none"),
        ("", "panel = 0", r"worlds, table 1: panel must be >= 1; got panel=0"),
        ("", "pannel = 3", r"worlds, table 1: .*'pannel'"),
        ("", "panel = 3\n[[worlds]]\nname = 'utopia'", r"worlds, table 2: .*voter.*; got .*'utopia'"),
        ("", "[[worlds]]\nname = 'voter'", "table 2: label must be different .*; got 'voter' twice"),
        ("", "[[worlds]]\npanel = 3", "worlds.2.name must be given; got none"),
    ],
)
def test_a_wrong_value_is_one_line(tmp_path: Path, more: str, world: str, line: str) -> None:
    with pytest.raises(ValueError, match=line) as caught:
        read_study(write(tmp_path, more=more, world=world))
    assert str(caught.value).startswith(f"{tmp_path / 'study.toml'}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"fixed:2"', '"fixedd:2"', "rule must be one of .*; got 'fixedd'"),
        ('"fixed:2"', '"unanimity"', "rules must be different; got 'unanimity' twice"),
        ('"fixed:2"', '"ks:0.05"', "batch must be given when a rule decides .*, here ks:0.05; got none"),
        ('"fixed:2"', "2", "rules.2 must be text; got 2"),
        ("n_rounds = 4", "", "n_rounds must be given; got none"),
        ("n_rounds = 4", "n_rounds = 0", "n_rounds must be >= 1; got n_rounds=0"),
        ("n_rounds = 4", "n_rounds = 2.5", "n_rounds must be an integer; got 2.5"),
        ("n_rounds = 4", "n_rounds = ", "must be TOML; got .*line 3"),
        ("debates = 100", "debates = true", "debates must be an integer; got True"),
    ],
)
def test_a_wrong_line_is_one_line(tmp_path: Path, old: str, new: str, line: str) -> None:
    text = GOOD.format(more="", world="").replace(old, new)
    with pytest.raises(ValueError, match=line) as caught:
        read_study(write(tmp_path, text=text))
    assert str(caught.value).startswith(f"{tmp_path / 'study.toml'}: ")
    assert "\n" not in str(caught.value)


def test_in_python_the_same_mistakes_raise_too() -> None:
    asked = {"worlds": [Voter()], "rules": ["fixed:1"], "n_rounds": 2, "debates": 10}
    assert list(Study(**asked).worlds) == ["voter"]
    assert list(Study(**{**asked, "worlds": [Voter(), Voter(panel=3)]}).worlds) == ["voter 1", "voter 2"]
    for change, line in (
        ({"worlds": []}, "worlds must hold at least one world"),
        ({"worlds": ["voter"]}, "worlds must be values of d3stats.worlds; got 'voter'"),
        ({"rules": [1]}, "rules must be stopping rules or their text; got 1"),
        ({"debates": 0}, "debates must be >= 1"),
        ({"dollars_per_million_tokens": -0.1}, "dollars_per_million_tokens must be >= 0"),
    ):
        with pytest.raises((ValueError, TypeError), match=line):
            Study(**{**asked, **change})


def test_seeds_debates_chunks_and_prices_do_not_make_another_study() -> None:
    asked = {"worlds": {"w": Voter()}, "rules": ["fixed:1"], "n_rounds": 2, "debates": 10}
    key = Study(**asked).key()
    for same in ({"seeds": 5}, {"debates": 20}, {"chunk": 3}, {"dollars_per_million_tokens": 1.0}):
        assert Study(**{**asked, **same}).key() == key
    for other in ({"n_rounds": 3}, {"batch": 5}, {"worlds": {"v": Voter()}}, {"rules": ["fixed:2"]}):
        assert Study(**{**asked, **other}).key() != key
