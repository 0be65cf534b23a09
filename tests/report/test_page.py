"""The page of a report: its structure, what it escapes, what it says where data are missing, and its size."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import d3stats
from d3stats._words import percent
from d3stats.cli import app
from d3stats.planning import scores
from d3stats.report.analysis import Analysis
from d3stats.worlds import Voter, simulate_debates

sys.path.insert(0, str(Path(__file__).parent))
import itertools
from collections.abc import Callable

from layers import sampled
from pace import idle_seconds
from pages import HOSTILE, Page, write_jsonl

KEYS = [
    "short",
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


SCORED = [*KEYS[: KEYS.index("tokens")], "scores", *KEYS[KEYS.index("tokens") :]]
"""The sections of a log with scores."""


def page_of(*logs: object, **how: object) -> Page:
    return Page(d3stats.report(*logs, **({"n_boot": 40} | how)).to_html())  # type: ignore[arg-type]


words_only = pytest.mark.usefixtures("without_pictures")


@cache
def report_of_slm7() -> Analysis:
    return d3stats.report("slm7", n_boot=40)


@pytest.fixture(scope="module")
def slm7() -> Page:
    return Page(report_of_slm7().to_html())


@cache
def plan_of_slm7() -> d3stats.planning.Plan:
    return d3stats.plan("slm7", limit=False)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of two logs with everything; of two pictures of one kind, the first is drawn and shown twice."""
    folder = tmp_path_factory.mktemp("logs")
    both = [
        write_jsonl(folder / f"{name}.jsonl", texts=True, tokens=True, scores=True, first=True, seed=k)
        for k, name in enumerate(("one", "two"))
    ]
    prices = folder / "prices.toml"
    prices.write_text('date = "2025-01-01"\n[models.mine]\ninput = 1.0\noutput = 4.0\n')
    sections = importlib.import_module("d3stats.report.sections")
    drawn: dict[str, tuple[str, str]] = {}
    draw_it = sections.svg

    def once(draw: Callable[[], object], title: str) -> tuple[str, str]:
        if title not in drawn:
            drawn[title] = draw_it(draw, title)
        return drawn[title]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sections, "svg", once)
        return page_of(*map(str, both), prices=prices, n_boot=5)


@pytest.mark.parametrize("name", ["slm7", "full"])
def test_the_sections_stand_in_order_and_every_element_is_closed(
    name: str, request: pytest.FixtureRequest
) -> None:
    page: Page = request.getfixturevalue(name)
    keys = SCORED if name == "full" else [key for key in KEYS if key not in ("bias", "comparison", "tokens")]
    assert page.open_ == []
    assert [attrs["aria-labelledby"] for attrs in page.of("section")] == keys
    links = [attrs["href"] for attrs in page.of("a")]
    turns = [f"#{attrs['id']}" for attrs in page.of("article")]
    assert sorted(map(str, links)) == sorted(["#main", *(f"#{key}" for key in keys), *turns])
    assert len(turns) == (10 if name == "full" else 0)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {f"#{one}" for one in ids} == set(links)


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
    assert all(str(value).startswith(("data:image/svg+xml;base64,", "#")) for value in loaded)
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
    assert [key for key in SCORED if "absent" in str(full.sections.get(key))] == []
    assert not any("absent" in str(attrs.get("class")) for attrs in full.of("p"))
    assert "dollars" in full.sections["tokens"]
    assert "saved vs unanimity" in full.sections["rules"]
    assert "swap consistency" in full.sections["bias"]
    assert "two - one" in full.sections["comparison"]
    assert "I say so in round 3." in full.sections["transcripts"]


@words_only
def test_the_scores_of_the_page_are_those_of_the_command(tmp_path: Path) -> None:
    log = write_jsonl(tmp_path / "log.jsonl", n=12, seats=1, scores=True)
    other = write_jsonl(tmp_path / "other.jsonl", n=4, seats=1, rounds=1)
    shown = page_of(str(log), other, n_boot=5).sections["scores"]
    means = scores(log).means
    assert "Mean scores by round" in shown
    assert all(f"{value:.2f}" in shown for value in means["mean"])
    assert "The log has no scores." in shown


def test_what_the_page_shows_is_what_the_functions_say(slm7: Page) -> None:
    found = d3stats.replay("slm7", ["fixed:1"]).to_frame().set_index("rule")
    assert f"{100 * found.loc['fixed:1', 'saved_rounds_vs_unanimity']:.0f} %" in slm7.sections["rules"]
    assert f"{100 * found.loc['fixed:1', 'accuracy']:.1f} %" in slm7.sections["rules"]
    assert f"Run {plan_of_slm7().rule}" in slm7.sections["rules"]
    rounds = d3stats.fit("slm7", n_boot=40, rng=0).to_frame()
    for value in rounds["mean"]:
        assert f"{100 * value:.1f} %" in slm7.sections["rounds"]
    kappa = d3stats.agreement("slm7", measures=["fleiss"], rng=0).to_frame()["value"][0]
    assert f"{kappa:.3f}" in slm7.sections["agreement"]


@sampled("first,several", [(True, False), (True, True), (False, True)], [0])
def test_names_and_texts_of_a_log_are_shown_and_do_nothing(
    first: bool, several: bool, tmp_path: Path
) -> None:
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
        for k, name in enumerate(("'<i>$\\frac$'.jsonl", "a&b <i>x.jsonl")[: 1 + several])
    ]
    found = d3stats.report(*logs, n_boot=30)
    text = found.to_html()
    page = Page(text)
    assert page.open_ == []
    assert {tag for tag, _ in page.tags} & {"script", "b", "i"} == set()
    assert not any(key.startswith("on") for _, attrs in page.tags for key in attrs)
    assert all(str(attrs["src"]).startswith("data:image/svg+xml") for attrs in page.of("img"))
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&#x27;&amp;&lt;b&gt;" in text
    assert HOSTILE in page.sections["transcripts"]
    assert "\u202e" not in text
    assert "more characters]" in text


KINDS: dict[str, tuple[dict[str, object], dict[str, str]]] = {
    "no labels": (
        {"label": False},
        {
            "rounds": "no right answers (labels)",
            "rules": "Saved and change are against unanimity",
            "comparison": "One log was given",
            "tokens": "does not record tokens",
            "transcripts": "holds no texts",
            "bias": "does not say which answer was shown first",
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
    "one seat, and tokens without prices": (
        {"seats": 1, "tokens": True},
        {"agreement": "agreement cannot be measured", "tokens": "--prices FILE"},
    ),
}


PICTURED = ("no labels", "one round")
"""Kinds of logs whose figures have parts that the data do not carry."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_section_that_the_data_do_not_carry_says_why(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind not in PICTURED:
        request.getfixturevalue("without_pictures")
    content, said = KINDS[kind]
    page = page_of(write_jsonl(tmp_path / "log.jsonl", **content))  # type: ignore[arg-type]
    shown = [str(attrs["aria-labelledby"]) for attrs in page.of("section")]
    assert shown == [key for key in SCORED if key in shown]
    for key, words in said.items():  # a section that has nothing to show is named at the end, with the reason
        where = page.sections[key if key in shown else "made"]
        assert words in where, where
    assert "absent" not in {attrs.get("class") for attrs in page.of("p")}


def test_one_table_writes_all_p_values_in_one_form() -> None:
    """No cell has an exponent beside others with digits after the point."""
    from d3stats.inference import persona_effect
    from d3stats.report.tables import audit_tables

    rng = np.random.default_rng(2)
    rows = [
        (f"q{k}", who, "A" if rng.random() < right else "B", "A")
        for k in range(300)
        for who, right in (("none", 0.5), ("ethics", 0.9), ("law", 0.7), ("trade", 0.68))
    ]
    found = persona_effect(pd.DataFrame(rows, columns=["item", "persona", "vote", "label"]))
    assert found.personas["p_value"].min() < 1e-5  # the frame has every digit
    cells = [
        cell
        for _, heads, lines in audit_tables(found)
        for line in lines
        for head, cell in zip(heads, line, strict=True)
        if head in ("p", "p (Holm)") and cell
    ]
    assert {"<0.001"} < set(cells)
    assert all(cell == "<0.001" or re.fullmatch(r"[01]\.\d{3}", cell) for cell in cells)
    assert not re.search(r"p = \S*e-", found.summary())


@words_only
@pytest.mark.parametrize("answers", [pytest.param(("A", "B"), marks=pytest.mark.slow), ("Paris", "Rome")])
def test_personas_of_a_run_are_shown_whatever_is_voted_for(answers: tuple[str, str], tmp_path: Path) -> None:
    log = write_jsonl(tmp_path / "run.jsonl", rounds=1, answers=answers, first=True)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    roles = {f"agent {s}": name for s, name in enumerate(("nurse", "judge", "actuary"))}
    told = [x | {"persona": roles[x["agent"]], "role": "juror"} if x["type"] == "turn" else x for x in lines]
    log.write_text("".join(json.dumps(x) + "\n" for x in told))
    html = d3stats.report(log, n_boot=30).to_html()
    assert "Persona: Main effects: accuracy minus that of the other personas" in html
    assert "Position:" in html


@words_only
def test_logs_in_memory_and_of_correctness_have_a_page() -> None:
    table = pd.DataFrame(
        {"debate": [f"d{k // 4}" for k in range(48)], "round": [1, 1, 2, 2] * 12, "agent": ["x", "y"] * 24}
    ).assign(correct=np.random.default_rng(1).integers(0, 2, 48))
    page = page_of(table)
    assert "right or wrong only" in page.sections["read"]
    assert "only which votes are right" in page.sections["made"]
    assert "agreement" not in page.sections
    world = simulate_debates(Voter(panel=3), n_debates=12, n_rounds=2, rng=1)
    assert "saved vs unanimity" in page_of(world).sections["rules"]


def test_the_key_figures_are_those_of_the_single_functions(slm7: Page) -> None:
    said = slm7.sections["short"]
    rules = ["fixed:1", "fixed:2", "supermajority:0.8", "ks:0.05,patience=1"]
    found = d3stats.replay("slm7", rules)
    table = found.to_frame().set_index("rule")
    full = table.loc["full"]
    assert f"{100 * full['accuracy']:.1f} %" in said
    limits = f"{100 * full['accuracy_low']:.1f} % to {100 * full['accuracy_high']:.1f} %"
    assert f"{limits} (cluster Wilson)" in said
    stops = found.stops()
    at_once = stops[(stops["rule"] == "unanimity") & (stops["round"] == 1)]["share"].sum()
    assert f"{100 * at_once:.1f} %" in said
    made = plan_of_slm7()
    assert made.headline in said
    assert f"The plan's rule saves {percent(made.to_frame()['saved'].iloc[0])}" in said
    assert f"with probability {made.probability:.2f}" in said
    t = d3stats.as_trajectories("slm7")
    missing = int((t.votes == -1).sum())
    assert f"{missing:,} of {t.votes.size:,} votes" in said
    assert "sound" in said
    assert "160" in said
    assert "of 40 questions" in said


def test_several_logs_have_their_difference_among_the_key_figures(full: Page) -> None:
    assert "Right verdicts, two - one" in full.sections["short"]
    assert "dollars" in full.sections["short"]


@pytest.mark.parametrize("name", ["slm7", "full"])
def test_every_table_says_how_it_is_read(name: str, request: pytest.FixtureRequest) -> None:
    page: Page = request.getfixturevalue(name)
    how = [text for tag, text in page.texts if tag == "span" and text.endswith(".") and len(text) > 30]
    assert len(page.of("caption")) == len([a for a in page.of("span") if a.get("class") == "how"])
    assert len(how) >= len(page.of("caption"))


def test_the_columns_of_a_log_are_listed_with_what_they_hold(slm7: Page) -> None:
    found = report_of_slm7().to_frame("columns").set_index(["column", "of each"])
    assert found.loc[("vote", "turn"), ["filled", "of"]].tolist() == [3213, 3360]
    assert "3,213 of 3,360" in slm7.sections["read"]


def _courtroom(path: Path) -> Path:
    """Write a log in which an advocate without a vote and two jurors speak, with tokens of all."""
    rng = np.random.default_rng(3)
    lines: list[dict[str, object]] = [{"type": "log", "schema_version": 2, "writer": "tests"}]
    for d in range(12):
        lines.append({"type": "item", "debate": f"d{d}", "question": f"q{d}", "label": "A"})
        for r in (1, 2):
            turn = {"type": "turn", "debate": f"d{d}", "round": r, "tokens_in": 1000, "tokens_out": 100}
            lines.append(turn | {"agent": "pro", "role": "advocate"})
            for juror in ("x", "y"):
                vote = "A" if rng.random() < 0.7 else "B"
                lines.append(turn | {"agent": juror, "role": "juror", "vote": vote})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


PRICES = """date = "2025-01-01"
[models.cheap]
input = 1.0
output = 4.0
[models.dear]
input = 10.0
output = 40.0
"""


@sampled(
    "how,dollars",
    [
        # 24 rounds of an advocate and two jurors: 1,400 millionths of a turn when cheap, ten times that when dear.
        ({"model": "cheap"}, 24 * 3 * 0.0014),
        ({"model": "cheap", "role_models": {"juror": "dear"}}, 24 * (0.0014 + 2 * 0.014)),
        ({"model": "cheap", "roles": ["juror"]}, 24 * 2 * 0.0014),
        # Half of 1,100 tokens at 1 and half at 4.
        ({"model": "cheap", "output_share": 0.5}, 24 * 3 * 0.00275),
        (
            {"model": "cheap", "role_models": {"juror": "dear"}, "output_share": 0.5},
            24 * (0.00275 + 2 * 0.0275),
        ),
    ],
    [4],
)
@words_only
def test_dollars_are_of_the_turns_by_role_and_kind_of_token(
    how: dict[str, object], dollars: float, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    log = _courtroom(tmp_path / "log.jsonl")
    found = d3stats.report(log, prices=prices, n_boot=5, transcripts=0, **how)  # type: ignore[arg-type]
    assert found.to_frame("tokens")["dollars"].iloc[-1] == pytest.approx(dollars)
    page = Page(found.to_html())
    assert "Dollars are at the prices of cheap" in page.sections["tokens"]
    assert ("50 % of all tokens counted as completion tokens (as given)" in page.sections["tokens"]) == (
        "output_share" in how
    )


@words_only
def test_a_role_keeps_its_turns_alone_in_every_section(tmp_path: Path) -> None:
    log = _courtroom(tmp_path / "log.jsonl")
    found = d3stats.report(log, roles=["juror"], n_boot=5, transcripts=0)
    assert "roles whose turns count juror" in Page(found.to_html()).sections["read"]
    columns = found.to_frame("columns").set_index(["column", "of each"])
    assert columns.loc[("round", "turn"), "of"] == 48


@words_only
def test_agreement_is_that_of_agents_also_where_panels_differ(tmp_path: Path) -> None:
    rows = [
        {"debate": f"d{d}", "round": 1, "agent": agent, "vote": vote, "label": "A"}
        for d in range(12)
        for agent, vote in zip(("ann", "bob", "cat"), ("AAB", "ABB", "BBA")[d % 3], strict=True)
        if (d % 4, agent) != (0, "ann")
    ]
    path = tmp_path / "log.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    page = d3stats.report(path, n_boot=20).to_frame("agreement")
    single = d3stats.agreement(path, rng=0).to_frame()
    pd.testing.assert_frame_equal(page, single)


@words_only
def test_a_log_of_scores_has_no_missing_votes(tmp_path: Path) -> None:
    log = write_jsonl(tmp_path / "log.jsonl", n=40, votes=False, scores=True, label=False)
    found = d3stats.report(log, n_boot=20)
    assert not any("missing" in warning or "identical" in warning for warning in found.warnings)
    assert "No agent was asked for a vote" in Page(found.to_html()).sections["short"]


@words_only
def test_one_vote_per_debate_says_nothing_of_the_spread(tmp_path: Path) -> None:
    log = write_jsonl(tmp_path / "log.jsonl", seats=1)
    report = d3stats.report(log, n_boot=30)
    found = report.to_frame("rounds")
    assert found["spread"].isna().all()
    assert found["ks_latent"].isna().all()
    assert found["mean"].notna().all()
    assert "nan" not in Page(report.to_html()).sections["rounds"]


@words_only
def test_what_the_doctor_leaves_out_stands_first(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "log.jsonl", seats=1)
    path.write_text(path.read_text() + '{"type":"turn","debate":"debate 0","round":1,"agent":7}\nnot json\n')
    page = page_of(path)
    assert "2 records could not be used" in page.sections["read"]
    assert "malformed line" in page.sections["read"]
    assert any(attrs.get("class") == "warning" for attrs in page.of("div"))
    assert "2 records could not be used" in page.sections["short"]


@words_only
def test_logs_over_other_questions_are_compared_on_the_common_ones(tmp_path: Path) -> None:
    a, b = (write_jsonl(tmp_path / f"{n}.jsonl", n=n, seats=1, rounds=1, seed=n) for n in (8, 12))
    assert "4 questions that all logs have" in page_of(a, b, n_boot=5).sections["comparison"]


@pytest.mark.slow
def test_the_same_files_settings_and_seed_give_the_same_bytes(tmp_path: Path) -> None:
    log = write_jsonl(tmp_path / "log.jsonl", n=12, texts=True, tokens=True, first=True)
    one, two = (d3stats.report(log, rng=3, n_boot=20) for _ in range(2))
    assert one.to_html() == two.to_html()


def test_the_tables_can_be_had_as_data_too() -> None:
    found = report_of_slm7()
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


@words_only
def test_a_tie_that_is_no_decision_is_disputed_without_a_verdict() -> None:
    """The page has a text in each cell: None would become NaN in a column of texts."""
    from d3stats.inference.judges.disputed import disputed_debates
    from d3stats.worlds import Assembly

    drawn = simulate_debates(Assembly(protocol="peer_rank"), 60, 1, rng=1)
    assert {type(one) for one in disputed_debates(drawn, 50)["verdict"]} == {str, type(None)}
    page = d3stats.report(drawn, n_boot=5, transcripts=50).to_html()
    assert "with the most votes against the plurality" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("slm7", "-o", "page.pdf"), "--output must end in .html"),
        (("slm7", "-o", "nowhere/page.html"), "the folder of --output must exist"),
        (("nothing.csv",), "nothing.csv"),
        (("slm7", "-r", "bogus"), "bogus"),
        (("slm7", "--transcripts", "-1"), "transcripts must be >= 0"),
        (("slm7", "--name", "a", "--name", "b"), "names must be one per log"),
        (("slm7", "--model", "mine"), "--model must come with --prices"),
        (("slm7", "--role-model", "judge=mine"), "--role-model must come with --prices"),
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


@words_only
def test_the_command_writes_the_page_and_the_page_tells_the_command(tmp_path: Path) -> None:
    log = write_jsonl(tmp_path / "my log.jsonl", n=12, rounds=2)
    out = tmp_path / "page.html"
    words = ["report", str(log), "-o", str(out), "--n-boot", "30", "--rule", "fixed:1", "--seed", "2"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    text = out.read_text(encoding="utf-8")
    said = Page(text).sections["made"]
    assert f"d3stats report '{log}' --rule fixed:1 --n-boot 30 --seed 2 --output page.html" in said
    assert d3stats.__version__ in said
    again = tmp_path / "again"
    again.mkdir()
    CliRunner().invoke(app, [*words[:3], str(again / "page.html"), *words[4:]])
    assert (again / "page.html").read_text(encoding="utf-8") == text
    CliRunner().invoke(app, [*words[:-1], "3", "--overwrite"])  # another seed gives other limits
    assert Page(out.read_text(encoding="utf-8")).sections["rounds"] != Page(text).sections["rounds"]


@words_only
def test_a_page_that_exists_is_kept(tmp_path: Path) -> None:
    log, out = write_jsonl(tmp_path / "log.jsonl", n=12, seats=1, rounds=1), tmp_path / "page.html"
    out.write_text("mine")
    words = ["report", str(log), "-o", str(out), "--n-boot", "20"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert "--output must not exist, or be given with --overwrite" in done.stderr
    assert out.read_text() == "mine"
    done = CliRunner().invoke(app, [*words, "--overwrite"])
    assert done.exit_code == 0, done.output
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "--overwrite" not in Page(out.read_text(encoding="utf-8")).sections["made"]
    (tmp_path / "folder.html").mkdir()
    done = CliRunner().invoke(app, [*words[:3], str(tmp_path / "folder.html")])
    assert "--output must be a file" in done.stderr


def test_a_model_without_prices_is_refused_also_where_a_log_has_no_tokens(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    with pytest.raises(ValueError, match="model must be one of 'cheap', 'dear'; got model='chaep'"):
        d3stats.report("slm7", prices=prices, model="chaep")
    log = write_jsonl(tmp_path / "log.jsonl", tokens=True)
    with pytest.raises(ValueError, match="role_models must name roles of the turns, here no name"):
        d3stats.report(log, prices=prices, model="cheap", role_models={"judge": "dear"})
    with pytest.raises(ValueError, match="output_share must come with prices"):
        d3stats.report(log, output_share=0.0)


@words_only
@pytest.mark.slow
def test_the_picture_in_the_readme_is_of_the_page_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    docs = Path(__file__).resolve().parents[2] / "docs"
    monkeypatch.syspath_prepend(str(docs))
    import _report_picture

    with Image.open(docs / "report.png") as picture:
        shown = picture.info["words"]
    number = re.compile(r"-?\d+\.\d+")
    today = _report_picture.words(_report_picture.page())
    assert number.sub("#", shown) == number.sub("#", today), "run `make screenshot`"
    for one, other in zip(number.findall(shown), number.findall(today), strict=True):
        assert abs(float(one) - float(other)) <= 1.0, "run `make screenshot`"


def test_the_picture_in_the_readme_is_small_and_shown() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    assert (docs / "report.png").stat().st_size < 200_000
    assert "](docs/report.png)" in (docs.parent / "README.md").read_text(encoding="utf-8").replace("\n", " ")


def _large(path: Path, n: int, agents: int = 3, rounds: int = 2, scores: bool = False) -> Path:
    """Write n debates with texts, tokens and labels, and perhaps each voter's scores of both sides."""
    rng = np.random.default_rng(5)
    votes = np.where(rng.random((n, agents * rounds)) < 0.7, "A", "B")
    points = [f'"scores":{{"A":{{"logic":{k % 11}}},"B":{{"logic":{k // 11}}}}},' for k in range(121)]
    scored = rng.integers(len(points), size=votes.shape)
    words = "x" * 40
    with path.open("w", encoding="utf-8") as file:
        file.write('{"type":"log","schema_version":2,"writer":"tests"}\n')
        for d in range(n):
            file.write(f'{{"type":"item","debate":"d{d}","question":"q{d // 2}","label":"A"}}\n')
            for k, vote in enumerate(votes[d]):
                said = points[scored[d, k]] if scores else ""
                file.write(
                    f'{{"type":"turn","debate":"d{d}","round":{k // agents + 1},"agent":"a{k % agents}",'
                    f'"vote":"{vote}",{said}"tokens_in":{100 + k},"tokens_out":50,"text":"{words}"}}\n'
                )
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("agents", "rounds", "scores"), [(3, 2, False), (5, 3, False), (5, 3, True)])
def test_a_hundred_thousand_debates_take_20_seconds_of_one_processor_and_5_mb(
    agents: int, rounds: int, scores: bool, tmp_path: Path
) -> None:
    log = _large(tmp_path / "large.jsonl", 100_000, agents, rounds, scores)
    d3stats.report("slm7", n_boot=20).to_html()  # compiled code is loaded once
    pages: list[str] = []
    took = idle_seconds(lambda: pages.append(d3stats.report(log).to_html()), tries=1)
    assert len(pages[0].encode()) < 5e6
    print(f"{took:.1f} s")
    assert took < 20, f"{took:.1f} s"


@pytest.mark.parametrize("roles", [None, ("a0", "a1")])
def test_the_page_reads_a_log_as_single_commands_do(roles: tuple[str, ...] | None, tmp_path: Path) -> None:
    from d3stats.log import doctor, read_log
    from d3stats.report.source import read_sources
    from d3stats.sources import open as open_source

    lines = _large(tmp_path / "log.jsonl", 60, scores=True).read_text().splitlines()
    said = [
        line.replace('"agent":"a', f'"role":"a{k % 3}","agent":"a') if '"turn"' in line else line
        for k, line in enumerate(lines)
    ]
    said += [f'{{"type":"verdict","debate":"d{d}","decision":"{"BA"[d % 2]}"}}' for d in range(0, 60, 7)]
    path = tmp_path / "roles.jsonl"
    path.write_text("\n".join([*said[:1], *said[:0:-1]]) + "\n")
    (source,) = read_sources([path], roles=roles)
    alone = open_source(read_log(path, strict=False), roles=roles).recorded()
    assert source.recorded is not None
    assert len(source.trajectories) == 60
    assert source.recorded.decision.tolist() == alone.decision.tolist()
    assert source.recorded.roles == alone.roles
    assert source.recorded.note() == alone.note()
    for name, one in vars(alone.trajectories).items():
        if not name.startswith("_"):
            np.testing.assert_array_equal(getattr(source.trajectories, name), one, err_msg=name)
    assert source.doctor == doctor(path) == doctor(path, log=read_log(path, strict=False))


@pytest.mark.parametrize("coding", ["answers", "correctness"])
def test_the_doctor_of_a_page_is_that_of_the_command_in_any_order_of_lines(
    coding: str, tmp_path: Path
) -> None:
    """Advocates and a judge never vote: whose votes are missing does not depend on where their turns stand."""
    from d3stats.log.doctor import doctor
    from d3stats.report.source import read_sources

    rows = [
        (f"d{d}", r, agent, role, {"answers": "A", "correctness": 1}[coding] if role == "juror" else None)
        for d in range(30)
        for r in (1, 2)
        for agent, role in (("pro", "advocate"), ("zed", "judge"), ("k1", "juror"), ("k2", "juror"))
    ]
    table = pd.DataFrame(rows, columns=["debate", "round", "agent", "role", "vote"])
    if coding == "answers":
        table["label"] = np.where(table["debate"].str[1:].astype(int) % 2, "A", "B")
    else:
        table = table.rename(columns={"vote": "correct"}).astype({"correct": "Int64"})
    path = tmp_path / "court.csv"
    for order in (table, table[::-1]):
        order.to_csv(path, index=False)
        (source,) = read_sources([path])
        alone = doctor(path)
        assert alone.missing_votes == 0.0
        assert not [f for f in alone.findings if "missing" in f.message]
        assert source.doctor == alone


@pytest.mark.parametrize("rounds", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_size_of_a_page_does_not_grow_with_the_log(
    rounds: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """In the fast layer without pictures and without advice on stopping."""
    if rounds == 1:
        request.getfixturevalue("without_pictures")
    logs = [_large(tmp_path / f"{n}.jsonl", n, rounds=rounds) for n in (60, 600)]
    sizes = [len(d3stats.report(log, n_boot=10).to_html()) for log in logs]
    assert sizes[1] < 1.2 * sizes[0]
    assert sizes[1] < 1e6
    shutil.rmtree(tmp_path)
