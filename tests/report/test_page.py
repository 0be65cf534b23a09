"""The page of a report: its structure, what it escapes, what it says where data are missing, and its size."""

from __future__ import annotations

import re
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import d3stats
from d3stats.cli import app
from d3stats.worlds import Voter, simulate

sys.path.insert(0, str(Path(__file__).parent))
import itertools

from pages import HOSTILE, Page, write_jsonl

KEYS = [
    "read",
    "rounds",
    "rules",
    "agreement",
    "bias",
    "comparison",
    "tokens",
    "transcripts",
    "methods",
    "made",
]


def page_of(*logs: object, **how: object) -> Page:
    return Page(d3stats.analyse(*logs, **({"n_boot": 40} | how)).to_html())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def slm7() -> Page:
    return page_of("slm7")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = tmp_path_factory.mktemp("logs")
    both = [
        write_jsonl(folder / f"{name}.jsonl", texts=True, tokens=True, scores=True, first=True, seed=k)
        for k, name in enumerate(("one", "two"))
    ]
    prices = folder / "prices.toml"
    prices.write_text('date = "2025-01-01"\n[models.mine]\ninput = 1.0\noutput = 4.0\n')
    return page_of(*map(str, both), prices=prices)


@pytest.mark.parametrize("name", ["slm7", "full"])
def test_the_sections_stand_in_order_and_every_element_is_closed(
    name: str, request: pytest.FixtureRequest
) -> None:
    page: Page = request.getfixturevalue(name)
    assert page.open_ == []
    assert [attrs["aria-labelledby"] for attrs in page.of("section")] == KEYS
    assert [attrs["href"] for attrs in page.of("a")] == ["#main", *(f"#{key}" for key in KEYS)]
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert set(KEYS) | {"main"} == set(ids)


@pytest.mark.parametrize("name", ["slm7", "full"])
def test_headings_skip_no_level(name: str, request: pytest.FixtureRequest) -> None:
    page: Page = request.getfixturevalue(name)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


@pytest.mark.parametrize("name", ["slm7", "full"])
def test_tables_have_captions_and_scopes_and_pictures_have_words(
    name: str, request: pytest.FixtureRequest
) -> None:
    page: Page = request.getfixturevalue(name)
    assert len(page.of("caption")) == len(page.of("table")) > 4
    assert all(attrs.get("scope") in ("row", "col") for attrs in page.of("th"))
    assert all(len(attrs["alt"] or "") > 30 for attrs in page.of("img"))
    assert len(page.of("img")) >= 4
    assert page.of("html") == [{"lang": "en"}]


@pytest.mark.parametrize("name", ["slm7", "full"])
def test_the_page_asks_for_nothing_from_outside(name: str, request: pytest.FixtureRequest) -> None:
    page: Page = request.getfixturevalue(name)
    loaded = [
        value
        for tag, attrs in page.tags
        for key, value in attrs.items()
        if key in ("src", "href", "srcset", "data", "action", "background", "poster")
    ]
    assert all(str(value).startswith(("data:image/png;base64,", "#")) for value in loaded)
    assert {tag for tag, _ in page.tags} & {
        "script",
        "link",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
    } == set()
    style = "".join(text for tag, text in page.texts if tag == "style")
    assert "url(" not in style
    assert "@import" not in style
    assert "//" not in style
    policy = next(a["content"] for a in page.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert str(policy).startswith("default-src 'none'")


def test_a_log_with_everything_has_every_section(full: Page) -> None:
    assert [key for key in KEYS if "absent" in str(full.sections.get(key))] == []
    assert not any("absent" in str(attrs.get("class")) for attrs in full.of("p"))
    assert "dollars" in full.sections["tokens"]
    assert "saved vs unanimity" in full.sections["rules"]
    assert "swap consistency" in full.sections["bias"]
    assert "two - one" in full.sections["comparison"]
    assert "I say so in round 3." in full.sections["transcripts"]


def test_what_the_page_shows_is_what_the_functions_say(slm7: Page) -> None:
    found = d3stats.replay("slm7", ["fixed:1"], n_boot=40, rng=0).to_frame().set_index("rule")
    assert f"{found.loc['fixed:1', 'saved_rounds_vs_unanimity']:.1%}" in slm7.sections["rules"]
    assert f"{found.loc['fixed:1', 'accuracy']:.3f}" in slm7.sections["rules"]
    rounds = d3stats.describe_rounds("slm7", n_boot=40, rng=0).to_frame()
    for value in rounds["mean"]:
        assert f"{value:.3f}" in slm7.sections["rounds"]
    kappa = d3stats.agreement("slm7", measures=["fleiss"], rng=0).to_frame()["value"][0]
    assert f"{kappa:.3f}" in slm7.sections["agreement"]


@pytest.mark.parametrize("first", [False, True])
def test_names_and_texts_of_a_log_are_shown_and_do_nothing(first: bool, tmp_path: Path) -> None:
    logs = [
        write_jsonl(
            tmp_path / name,
            n=12,
            texts=True,
            tokens=True,
            scores=True,
            hostile=True,
            answers=("A", "B"),
            seed=k,
            first=first,
        )
        for k, name in enumerate(("a&b <i>x.jsonl", "'$\\frac$'.jsonl"))
    ]
    found = d3stats.analyse(*logs, n_boot=30)
    text = found.to_html()
    page = Page(text)
    assert page.open_ == []
    assert {tag for tag, _ in page.tags} & {"script", "b", "i"} == set()
    assert not any(key.startswith("on") for _, attrs in page.tags for key in attrs)
    assert all(str(attrs["src"]).startswith("data:image/png") for attrs in page.of("img"))
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&#x27;&amp;&lt;b&gt;" in text
    assert HOSTILE in page.sections["transcripts"]
    assert "\u202e" not in text
    assert "more characters]" in text


KINDS: dict[str, tuple[dict[str, object], dict[str, str]]] = {
    "no labels": (
        {"label": False},
        {
            "rounds": "no right answers (labels)",
            "rules": "saved vs unanimity",
            "comparison": "One log was given",
        },
    ),
    "one round": (
        {"rounds": 1},
        {"rounds": "no distance to a round before", "rules": "one round, so there is nothing to stop"},
    ),
    "scores without votes": (
        {"votes": False, "scores": True, "label": False},
        dict.fromkeys(("rounds", "rules", "agreement", "bias", "transcripts"), "no votes"),
    ),
    "no tokens": ({}, {"tokens": "does not record tokens"}),
    "tokens without prices": ({"tokens": True}, {"tokens": "--prices FILE"}),
    "no texts": ({}, {"transcripts": "holds no texts"}),
    "one seat": ({"seats": 1}, {"agreement": "nobody to agree with"}),
    "orders unknown": ({}, {"bias": "does not say which answer was shown first"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_section_that_the_data_do_not_carry_says_why(kind: str, tmp_path: Path) -> None:
    content, said = KINDS[kind]
    page = page_of(write_jsonl(tmp_path / "log.jsonl", **content))  # type: ignore[arg-type]
    assert [attrs["aria-labelledby"] for attrs in page.of("section")] == KEYS
    for key, words in said.items():
        assert words in page.sections[key], page.sections[key]


def test_logs_in_memory_and_of_correctness_have_a_page() -> None:
    table = pd.DataFrame(
        {"debate": [f"d{k // 4}" for k in range(48)], "round": [1, 1, 2, 2] * 12, "agent": ["x", "y"] * 24}
    ).assign(correct=np.random.default_rng(1).integers(0, 2, 48))
    page = page_of(table)
    assert "right or wrong only" in page.sections["read"]
    assert "only which votes are right" in page.sections["agreement"]
    world = simulate(Voter(panel=3), n_debates=40, n_rounds=3, rng=1)
    assert "saved vs unanimity" in page_of(world).sections["rules"]


def test_what_the_doctor_leaves_out_stands_first(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "log.jsonl")
    path.write_text(path.read_text() + '{"type":"turn","debate":"debate 0","round":1,"agent":7}\nnot json\n')
    page = page_of(path)
    assert "2 records could not be used" in page.sections["read"]
    assert "malformed line" in page.sections["read"]
    assert any(attrs.get("class") == "warning" for attrs in page.of("div"))


def test_logs_over_other_questions_are_compared_on_the_common_ones(tmp_path: Path) -> None:
    a, b = (write_jsonl(tmp_path / f"{n}.jsonl", n=n, seed=n) for n in (20, 30))
    assert "10 questions that all logs have" in page_of(a, b).sections["comparison"]


def test_the_same_files_settings_and_seed_give_the_same_bytes(tmp_path: Path) -> None:
    log = write_jsonl(tmp_path / "log.jsonl", texts=True, tokens=True, first=True)
    one, two = (d3stats.analyse(log, rng=3, n_boot=40).to_html() for _ in range(2))
    assert one == two
    assert one != d3stats.analyse(log, rng=4, n_boot=40).to_html()


def test_the_tables_can_be_had_as_data_too() -> None:
    found = d3stats.analyse("slm7", n_boot=40)
    assert list(found.to_frame("rules")["rule"])[-2:] == ["unanimity", "full"]
    assert set(found.to_dict()["tables"]) >= {"read", "rounds", "counts", "rules", "agreement", "disputed"}
    assert "unanimity" in found.summary()
    assert any(note.startswith("Tokens and dollars: ") for note in found.notes)


def test_debates_are_disputed_in_the_order_of_votes_against_the_plurality() -> None:
    from d3stats.inference.judges.disputed import disputed_debates

    votes = [[["A", "A", "A", "A"]], [["A", "B", "C", "D"]], [["A", "A", "B", "C"]], [["A", "A", "A", "B"]]]
    found = disputed_debates(votes, 3)
    assert found["debate"].tolist() == ["2", "3", "4"]
    assert found["against"].tolist() == [0.75, 0.5, 0.25]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("slm7", "-o", "page.pdf"), "--output must end in .html"),
        (("slm7", "-o", "nowhere/page.html"), "--output must lie in a folder that exists"),
        (("nothing.csv",), "nothing.csv"),
        (("slm7", "-r", "bogus"), "bogus"),
        (("slm7", "--transcripts", "-1"), "transcripts must be >= 0"),
        (("slm7", "--name", "a", "--name", "b"), "names must be one per log"),
    ],
)
def test_what_a_user_can_mend_is_one_line(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["report", *words])
    assert done.exit_code == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_the_page_and_the_page_tells_the_command(tmp_path: Path) -> None:
    log = write_jsonl(tmp_path / "my log.jsonl", n=12)
    out = tmp_path / "page.html"
    words = ["report", str(log), "-o", str(out), "--n-boot", "30", "--rule", "fixed:1", "--seed", "2"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    text = out.read_text(encoding="utf-8")
    said = Page(text).sections["made"]
    assert f"d3stats report '{log}' --output page.html --rule fixed:1 --n-boot 30 --seed 2" in said
    assert d3stats.__version__ in said
    again = tmp_path / "again"
    again.mkdir()
    CliRunner().invoke(app, [*words[:3], str(again / "page.html"), *words[4:]])
    assert (again / "page.html").read_text(encoding="utf-8") == text


def _large(path: Path, n: int) -> Path:
    """Write n debates of two rounds and three voters, with texts, tokens and labels."""
    rng = np.random.default_rng(5)
    votes = np.where(rng.random((n, 6)) < 0.7, "A", "B")
    words = "x" * 40
    with path.open("w", encoding="utf-8") as file:
        file.write('{"type":"log","schema_version":2,"writer":"tests"}\n')
        for d in range(n):
            file.write(f'{{"type":"item","debate":"d{d}","question":"q{d // 2}","label":"A"}}\n')
            for k, vote in enumerate(votes[d]):
                file.write(
                    f'{{"type":"turn","debate":"d{d}","round":{k // 3 + 1},"agent":"a{k % 3}","vote":"{vote}",'
                    f'"tokens_in":{100 + k},"tokens_out":50,"text":"{words}"}}\n'
                )
    return path


@pytest.mark.slow
def test_a_hundred_thousand_debates_take_20_seconds_of_one_processor_and_5_mb(tmp_path: Path) -> None:
    log = _large(tmp_path / "large.jsonl", 100_000)
    d3stats.analyse("slm7", n_boot=20).to_html()  # compiled code is loaded once
    began = time.process_time()
    page = d3stats.analyse(log).to_html()
    took = time.process_time() - began
    assert len(page.encode()) < 5e6
    assert took < 20, f"{took:.1f} s"


def test_the_size_of_a_page_does_not_grow_with_the_log(tmp_path: Path) -> None:
    sizes = [
        len(d3stats.analyse(_large(tmp_path / f"{n}.jsonl", n), n_boot=30).to_html()) for n in (200, 2000)
    ]
    assert sizes[1] < 1.2 * sizes[0]
    assert sizes[1] < 1e6
    shutil.rmtree(tmp_path)
