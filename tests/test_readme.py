"""What the README and the documentation tell a reader to type works."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import itertools
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))

import _pages

import d3stats
from d3stats.agent import Reply, Request
from d3stats.protocols import DebateProtocol, RoundOver, drive, protocols
from d3stats.run import DebateItem
from d3stats.stopping import Decision, StoppingRule, from_text
from d3stats.stopping.text import rule_names

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)

# These set up an environment or run the tests, which is what is going on here already.
ELSEWHERE = ("make", "pip", "python -m venv", "python3 -m venv", "git", "cd", "source", ".")

SHOWN_OR_NOT = (0, 4, 5)
"""Exit codes of a command that ran: a claim, where it has one, is shown, refuted or not decided."""


def blocks(path: Path, language: str) -> list[str]:
    return [body for name, body in FENCE.findall(path.read_text(encoding="utf-8")) if name == language]


def shown(path: Path) -> list[tuple[str, list[str]]]:
    """Return the commands after ``$ `` of the console blocks of a page, and what each is shown to print.

    A line of a command that ends with a backslash goes on in the next.
    """
    found: list[tuple[str, list[str]]] = []
    for body in blocks(path, "console"):
        for line in re.sub(r" *\\\n +", " ", body).splitlines():
            if line.startswith("$ "):
                found.append((re.sub(r"\s+#.*", "", line[2:]).strip(), []))
            elif line.strip():
                found[-1][1].append(line)
    return found


def commands(path: Path) -> list[str]:
    """Return the commands of the console blocks of a page."""
    return [command for command, _ in shown(path)]


def files_shown(path: Path) -> dict[str, str]:
    """Return the TOML blocks that begin with their own name, as ``# study.toml``."""
    named = {re.match(r"# (\w+\.toml)\n", body): body for body in blocks(path, "toml")}
    return {match.group(1): body for match, body in named.items() if match}


def _last_digit(number: str) -> float:
    """Return how far a number may be from the one written: one in the last digit, nothing for a small whole number."""
    decimals = len(number.partition(".")[2])
    whole = abs(float(number.replace(",", "")))
    if decimals or whole >= 1000:
        return max(1.01 * 10.0**-decimals, 0.001 * whole * (whole >= 1000))
    return 1.0 if whole >= 20 else 0.0


@pytest.mark.parametrize(
    ("said", "printed", "same"),
    [
        ("alpha 0.82 [0.763, 0.884]", "alpha 0.82 [0.764, 0.884]", True),
        ("alpha 0.82 [0.763, 0.884]", "alpha 0.82 [0.754, 0.884]", False),
        ("77 % [70, 85] of 3", "77 % [69, 85] of 3", True),
        ("77 % [70, 85] of 3", "77 % [68, 85] of 3", False),
        ("77 % [70, 85] of 3", "77 % [70, 85] of 4", False),
        ("1,107,100 tokens", "1,107,300 tokens", True),
        ("1,107,100 tokens", "1,117,100 tokens", False),
    ],
)
def test_a_shown_number_is_the_printed_one_to_its_last_digit(said: str, printed: str, same: bool) -> None:
    assert (disagreement(said, printed) is None) == same


def disagreement(said: str, printed: str) -> str | None:
    """Return the first line that says something else, numbers to one in their last digit, None if there is none.

    The last digit of a fit may differ between machines; the words and the layout may not.
    """
    number = re.compile(r"-?\d[\d,]*\.?\d*")
    lines = [x.split() for x in printed.splitlines() if x.strip()]
    for line, got in itertools.zip_longest([x.split() for x in said.splitlines() if x.strip()], lines):
        text, other = " ".join(line or ()), " ".join(got or ())
        ours, theirs = ([float(x.replace(",", "")) for x in number.findall(t)] for t in (text, other))
        separated = [["," in x for x in number.findall(t)] for t in (text, other)]
        close = len(ours) == len(theirs) and all(
            abs(a - b) <= _last_digit(x) for x, a, b in zip(number.findall(text), ours, theirs, strict=True)
        )
        if not close or separated[0] != separated[1] or number.sub("#", text) != number.sub("#", other):
            return f"shown:   {text}\nprinted: {other}"
    return None


LONG = {"report", "plan_before_spending", "advocates", "optimum", "check_a_theorem", "quick_start"}
"""Pages of a second; examples of their functions in docstrings or on other pages are in the fast layer."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, id=str(page.relative_to(ROOT)), marks=pytest.mark.slow if page.stem in LONG else ()
        )
        for page in PAGES
        if ">>> " in page.read_text(encoding="utf-8")
    ],
)
def test_the_python_of_a_page_gives_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All fences of a page run in order as one session; an output may end right before its closing fence."""
    monkeypatch.chdir(tmp_path)  # a page may write files
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    found = [body for body in blocks(page, "python") if ">>>" in body]
    test = doctest.DocTestParser().get_doctest("\n".join(found), {}, page.name, str(page), 0)
    written = re.findall(r"^ *>>> ", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(test.examples) == len(written), "an example is outside the python fences, so it is not run"
    report: list[str] = []
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_the_make_targets_that_a_page_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {
        (page.relative_to(ROOT).as_posix(), target)
        for page in PAGES
        for target in re.findall(
            r"(?:`|^\$ )make ([a-z][a-z-]*)", page.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert {(page, target) for page, target in named if target not in targets} == set()


@pytest.mark.parametrize(
    ("page", "most", "command", "answer"),
    [
        ("README.md", 150, "$ d3stats replay gemma-reasons", "fixed:1 saves most: "),
        ("docs/quick_start.md", 400, "$ d3stats plan slm7", "Run "),
    ],
)
def test_a_reader_meets_a_question_a_command_and_an_answer_early(
    page: str, most: int, command: str, answer: str
) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    before, found, after = text.partition(command)
    assert found
    assert "?" in before
    assert after.split("\n", 1)[1].startswith(answer)
    if page == "README.md":  # the picture too
        before = text.split("](figures/gemma_paths.png)")[0]
        assert text.count("| job |") == 1
    assert len(before.split()) <= most


def test_every_rule_says_what_it_looks_at_what_it_promises_and_where_it_is_from() -> None:
    for name, rule in rule_names().items():
        if inspect.isclass(rule) and issubclass(rule, StoppingRule):
            for text in (rule.statistic, rule.guarantee, rule.citation):
                assert text, name
                assert not text.endswith("parts"), name


def rows_under(page: str, heading: str) -> list[str]:
    """Return the rows, each of something with a name, of the tables of a section of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = text.split(f"\n{heading}\n")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| `")]


def roles_of(kind: type[DebateProtocol]) -> set[str]:
    """Return the roles that speak, to the last round, when everybody gives the same vote and the lowest points."""
    protocol = kind()
    answers = ("Two.", "Three.") if protocol.candidates is not False else ()
    heard: set[str] = set()

    async def answer(request: Request) -> Reply:
        heard.add(request.role.rstrip(" 0123456789"))
        slot, scores = request.slot, None
        if slot.rubric is not None:
            scores = {
                side: dict.fromkeys(slot.rubric.criteria, slot.rubric.low) for side in slot.rubric.sides
            }
        voted = (slot.answers or ("3",))[0] if slot.wants_vote else None
        return Reply("one\ntwo\nthree", voted, scores)

    async def settle(step: RoundOver, since: object) -> Decision:
        return Decision(step.number >= protocol.max_rounds)

    case = DebateItem("q", "Which is larger?", answers).case("d")
    asyncio.run(drive(protocol.play(case), answer, settle))
    return heard


def test_the_tables_of_protocols_name_all_with_their_source_and_who_speaks() -> None:
    def table(lines: list[str]) -> dict[str, list[str]]:
        return {row.split("`")[1]: [cell.strip() for cell in row.split("|")] for row in lines}

    rows = table(rows_under("docs/reference/protocols.md", "## Protocols by name"))
    made = table(_pages.protocols().splitlines()[2:])
    assert "{include} /made/protocols.md" in (ROOT / "docs/guides/run_debates.md").read_text(encoding="utf-8")
    assert set(rows) == set(made) == set(protocols())
    speaks = {name: roles_of(kind) for name, kind in protocols().items()}
    words = {role: "leaves" if role == "leaf" else role for role in set().union(*speaks.values())}
    for name, kind in protocols().items():
        assert made[name][-2] == kind.citation
        assert {role for role, word in words.items() if word in rows[name][2]} == speaks[name], name


def test_the_stopping_page_has_a_row_for_every_rule() -> None:
    page = (ROOT / "docs" / "methods" / "stopping.md").read_text(encoding="utf-8")
    firsts = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    texts = [text for text in firsts if not text.startswith("Optimal")]
    assert {text.split(":")[0] for text in texts} | {"hu2025"} == set(rule_names())
    for text in texts:
        assert isinstance(from_text(text), StoppingRule)


def test_the_plans_page_names_every_parameter_of_the_chain_with_its_prior() -> None:
    from d3stats.models.chains.panel_chain import FLICKER_NAMES, PRIOR_MEAN, PRIOR_SD

    page = (ROOT / "docs" / "methods" / "planning.md").read_text(encoding="utf-8").replace("−", "-")
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (-?[\d.]+) \| ([\d.]+) \|", page, re.MULTILINE)
    said = {name: (float(m), float(sd)) for names, m, sd in rows for name in re.findall(r"\w+", names)}
    prior = zip(PRIOR_MEAN.tolist(), PRIOR_SD.tolist(), strict=True)
    assert said == dict(zip(FLICKER_NAMES, prior, strict=True))


def test_the_readme_names_the_test_command_that_the_check_runs() -> None:
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("there is no README yet")
    assert "make test" in commands(readme)
    assert re.search(r"^make test$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_bibtex_entry_says_what_the_citation_file_says() -> None:
    said = "title: 'A tool: for tests'\nversion: 1.10\nauthors: [{family-names: Doe, given-names: Jo}, {name: a team}]"
    assert _pages.bibtex(said).splitlines() == [
        "@software{a_tool,",
        "  author = {Doe, Jo and {a team}},",
        "  title = {A tool: for tests},",
        "  version = {1.10},",
        "}",
    ]
    assert f"version = {{{d3stats.__version__}}}" in _pages.citation()
