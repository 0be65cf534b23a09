"""Plain English in everything that users read: help, notes, errors, docstrings, pages, notebooks, findings.

``python tests/test_prose.py [PATH ...]`` lists what the rules find, in all files or in those that are named.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from prose import Block, of_code, of_markdown, of_notebook, sentences, words

ROOT = Path(__file__).resolve().parents[1]
MOST_WORDS = 35

AREAS = {
    "package": ["d3stats/**/*.py"],
    "pages": ["*.md", "docs/*.md", "docs/guides/*.md", "docs/methods/*.md", "docs/reference/*.md"],
    "findings": ["analysis/*/*.md", "simulations/*/*.md"],
    "notebooks": ["notebooks/*.py"],
    "figures": ["figures/*.py"],
}

# Prompts are addressed to language models, and a changed word changes what a recorded run means.
PROMPTS = ("d3stats/protocols/", "d3stats/run/live/prompt.py")

# What is banned, and what to write instead. A pattern that starts with ^ looks at the beginning of a sentence.
BANNED = {
    r"\b(?:is|are|be|been) (?:\w+ )?said\b": "say who reports it: a note lists, the error names",
    r"\bspeaks? of\b|\b(?:prior|data|equations?|intervals?|pilot|results?|numbers?|tests?) speaks?\b": (
        "things do not speak: show, describe"
    ),
    r"\b(?:nobody|everybody|somebody|anybody|whoever)\b": "no agent, all agents, an agent, any user",
    r"\bwhatever\b": "any, every, for all",
    r"\bbegun\b": "started",
    r"\bt(?:old|ells?|elling)(?: \w+){0,3} apart\b": "separate, distinguish",
    r"\bcannot (?:be told|tell)\b|\bcould not be told\b": "is unknown, does not show, cannot decide",
    r"\b(?:rooms?|doors?|faces?|waist|lives|houses?|strangers?)\b": "a metaphor: folder, function, interface",
    r"\b(?:honest\w*|mend\w*|torn|purse|dear(?:er)?|yardsticks?|incumbent|twins?|bold\w*)\b": "say it literally",
    r"\bin the mind\b|\bimagin\w+": "assumed, simulated, without a call",
    r"\bpromis\w+": "guarantee, limit, condition",
    r"\bstands?\b|\bstood\b": "is, is in, has",
    r"\bhangs? (?:on|together)\b": "depend on, be correlated",
    r"\bgo(?:es|ing)? on\b|\bwent on\b": "continue, resume",
    r"\bgone\b|\banew\b|\bsits?\b|\bsat\b|\bblind to\b": "removed, again, is, does not detect",
    r"\bless (?:the|that|its|those|their|one half|how)\b": "minus",
    r"^(?:Of|Nor|Never)\b": "begin with the subject",
    r"(?<![\d\"'§]): (?:it|they|there|then|nothing) ": "no colon where because or so is meant",
}
ANY = re.compile("|".join(pattern for pattern in BANNED if not pattern.startswith("^")), re.IGNORECASE)
NO_CLAUSE = re.compile(r"(?:What|How|Who|Why|Whoever|Whatever|Whose|Whom)\b[^?]*$")
QUESTION = re.compile(
    r"(?:What|How|Who|Why|When|Where|Which|Whose|Is|Are|Do|Does|Did|Can|Would|Was|Were)\b|.*\?$"
)
PRONOUN = re.compile(r"(?:It|They|Its|Their|He|She|Them)\b")

HEADINGS = {"How this is tested"}  # the name of the section on tests

# Words with a meaning of their own here; each needs an entry of the glossary.
TERMS = """accuracy; advocate; agent; batch rule; Beta-Binomial; budget; calibration; camp; candidate; chain; claim;
cluster; counts; decision; dry run; flip; full debate; gap; judge; juror; KS distance; label; ladder; latent
distribution; level; log; loss; missing vote; mixture; noise level of KS; panel; pilot; plan; protocol; replay; round;
savings; scan; seat; separation; stopping rule; study; turn; unanimity; verdict; world"""

# Findings that were there when the rules were made. A number may only fall, and 0 is the aim.
LEFT: dict[str, int] = {}

# Findings that are right as they are: (file, part of the sentence), each with its reason.
ALLOWED: dict[tuple[str, str], str] = {
    ("d3stats/run/live/reply.py", "a field stands in it twice"): "part of the prompt that asks for a repair",
    ("d3stats/log/writer.py", "moves it to ….torn"): "the name of a file",
    ("d3stats/plotting/costs.py", '"incumbent"'): "a value of the column role",
    ("d3stats/planning/ledger.py", "incumbent must"): "the name of an argument",
    ("d3stats/run/ledgers.py", "incumbent must"): "the name of an argument",
    ("d3stats/run/run.py", "as incumbent"): "the name of an argument",
    ("d3stats/cli/debate.py", "--incumbent"): "the name of an option",
}


def blocks_of(path: Path) -> Iterator[Block]:
    """Yield what is read of one file."""
    text = path.read_text(encoding="utf-8")
    if path.name == "CHANGELOG.md":
        text = re.split(r"^## (?!.*unreleased)", text, flags=re.MULTILINE)[0]
    if path.suffix == ".md":
        yield from of_markdown(path, text)
    elif path.parent.name == "notebooks":
        yield from of_notebook(path, text)
    else:
        yield from of_code(path, text, strings=not path.relative_to(ROOT).as_posix().startswith(PROMPTS))


def findings_in(block: Block) -> Iterator[str]:
    """Yield what is wrong with a block, each finding with the sentence."""
    if block.kind == "cell" and block.text.count(" ") < 2:
        return
    said = sentences(block.text)
    for number, sentence in enumerate(said):
        hit = ANY.search(sentence)
        for pattern, advice in BANNED.items():
            if not hit and not pattern.startswith("^"):
                continue
            flags = 0 if pattern.startswith("^") else re.IGNORECASE
            if found := re.search(pattern, sentence, flags):
                yield f"{found[0]!r} ({advice}): {sentence}"
        if block.kind == "cell":
            continue
        if (length := words_at_most(block, sentence)) > MOST_WORDS:
            yield f"{length} words, at most {MOST_WORDS}: {sentence}"
        if block.kind == "heading" and sentence not in HEADINGS and QUESTION.match(sentence):
            yield f"a heading is a noun phrase: {sentence}"
        if block.kind in {"summary", "text"} and NO_CLAUSE.match(sentence):
            yield f"begin with the subject, not with a question word: {sentence}"
        if number == 0 and block.kind in {"summary", "text"} and PRONOUN.match(sentence):
            yield f"a pronoun without a noun before it: {sentence}"


def words_at_most(block: Block, sentence: str) -> int:
    """Return the length of a sentence; a list of columns counts column by column, without what stands in brackets."""
    if block.kind == "entry":
        return max(len(words(part)) for part in re.sub(r"§ \([^()]*\)", "§", sentence).split("; "))
    return len(words(sentence))


@cache
def found_in(area: str) -> list[str]:
    lines = []
    for pattern in AREAS[area]:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            for block in blocks_of(path):
                for finding in findings_in(block):
                    if not any(name == file and part in finding for file, part in ALLOWED):
                        lines.append(f"{name}:{block.line}: {finding}")
    return lines


@pytest.mark.parametrize("area", AREAS)
def test_what_users_read_is_plain_english(area: str) -> None:
    found = found_in(area)
    assert len(found) <= LEFT.get(area, 0), "\n".join(found)


def test_every_special_term_is_in_the_glossary() -> None:
    page = ROOT / "docs" / "glossary.md"
    entries = {
        b.text.lower() for b in of_markdown(page, page.read_text(encoding="utf-8")) if b.kind == "heading"
    }
    assert {" ".join(term.split()).lower() for term in TERMS.split(";")} - entries == set()


@pytest.mark.parametrize(
    "text",
    [
        "There the prior speaks.",
        "Nothing is begun whose upper bound is not set aside.",
        "The schedule that is kept is said.",
        "It has an online and a vectorised face.",
        "Of a log an item is a question.",
        " ".join(["word"] * (MOST_WORDS + 1)) + ".",
    ],
)
def test_the_rules_find_what_the_style_forbids(text: str) -> None:
    assert list(findings_in(Block(ROOT / "page.md", 1, "text", text)))


def test_plain_sentences_pass() -> None:
    text = "The pilot says little about `spread`; its value comes mostly from the prior, e.g. for $k = 2$."
    assert list(findings_in(Block(ROOT / "page.md", 1, "text", text))) == []


def test_docstrings_of_public_attributes_are_read() -> None:
    code = 'SEATS = 7\n"""What nobody reads."""\n_HIDDEN = 2\n"""What nobody reads."""\n'
    assert [(block.line, block.text) for block in of_code(ROOT / "a.py", code)] == [(2, "What nobody reads.")]


def test_a_simple_table_is_read_cell_by_cell() -> None:
    code = '"""Rounds.\n\n=====  ====\nround  said\n=====  ====\nfirst  a word or two\n=====  ====\n"""\n'
    cells = [block.text for block in of_code(ROOT / "a.py", code) if block.kind == "cell"]
    assert cells == ["round", "said", "first", "a word or two"]


def test_signs_of_order_are_no_tags() -> None:
    text = f"The share is <= 1, {' '.join(['word'] * MOST_WORDS)}, and the rest is >= 0."
    assert list(findings_in(Block(ROOT / "page.md", 1, "text", text)))


if __name__ == "__main__":
    wanted = tuple(sys.argv[1:])
    listed = [line for area in AREAS for line in found_in(area) if not wanted or line.startswith(wanted)]
    print("\n".join(listed))
    print(len(listed), "findings", file=sys.stderr)
