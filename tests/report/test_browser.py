"""The page in a browser: three widths, dark, print, no request, no scrolling sideways, and nothing that axe finds."""

from __future__ import annotations

import base64
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import d3stats
from d3stats.protocols import protocol_from_text
from d3stats.report.analysis import Analysis
from d3stats.run import debate
from d3stats.run.items import DebateItem
from d3stats.worlds import Courtroom, synthetic_agent, synthetic_items

sys.path.insert(0, str(Path(__file__).parent))
from browser import CHROMIUM, Browser, browser
from pages import write_jsonl

LOOKS = {
    "telephone": {"width": 390},
    "tablet": {"width": 820},
    "screen": {"width": 1280},
    "telephone, dark": {"width": 390, "dark": True},
    "screen, dark": {"width": 1280, "dark": True},
    "print": {"width": 794, "media": "print"},
}

QUICK = {
    ("two logs", "telephone"), ("two logs", "screen, dark"), ("two logs", "print"), ("wide", "telephone"),
}  # fmt: skip
"""Pages and looks of the fast layer: the full page on each medium, and the widest names on the narrowest."""

AXE = os.environ.get("D3STATS_AXE", "")
"""The file axe.min.js of the npm package axe-core."""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        warnings.warn("NOT TESTED IN A BROWSER: chromium is not installed", stacklevel=1)
        pytest.skip("NOT TESTED IN A BROWSER: chromium is not installed")
    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


Pages = Callable[[str], Path]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """Return what gives a page by its name; each is written once."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def page(name: str) -> Path:
        made = {"slm7": lambda _: d3stats.report("slm7", n_boot=20), "two logs": of_two_logs, "wide": wide(5, 4),
                "widest": wide(20, 25), "samre": of_samre}[name](folder)  # fmt: skip
        made.to_html(folder / f"{name}.html")
        return folder / f"{name}.html"

    return page


def of_two_logs(folder: Path) -> Analysis:
    logs = [
        write_jsonl(
            folder / f"{name}.jsonl",
            n=12,
            texts=True,
            tokens=True,
            scores=True,
            first=True,
            hostile=k == 1,
            seed=k,
        )
        for k, name in enumerate(("one", "two"))
    ]
    return d3stats.report(*logs, n_boot=5)


def of_samre(folder: Path) -> Analysis:
    """Return what reports on 60 scripted debates of SAMRE, whose jurors vote at the end."""
    world, log = Courtroom(), folder / "samre.jsonl"
    items = [
        DebateItem(i.question, i.text, i.candidates, label=i.label) for i in synthetic_items(world, 60, 0)
    ]
    debate(protocol_from_text("samre"), items, synthetic_agent(world, 0), log)
    return d3stats.report(log, n_boot=20)


def wide(seats: int, rounds: int) -> Callable[[Path], Analysis]:
    """Return what reports on a log of long names, many agents and many rounds."""

    def made(folder: Path) -> Analysis:
        word = "Donaudampfschifffahrtsgesellschaft" * 9
        answers = (f"{word} one", f"{word} two")
        log = folder / f"{word[:60]}{seats}.jsonl"
        write_jsonl(log, n=8, seats=seats, rounds=rounds, answers=answers, texts=True)
        return d3stats.report(log, n_boot=5, transcripts=1)

    return made


NAMES = (
    "slm7",
    pytest.param("samre", marks=pytest.mark.slow),
    "two logs",
    "wide",
    pytest.param("widest", marks=pytest.mark.slow),
)


@pytest.mark.parametrize(
    ("name", "look"),
    [
        pytest.param(name, look, marks=() if (name, look) in QUICK else pytest.mark.slow)
        for name in ("slm7", "two logs", "wide", "widest")
        for look in LOOKS
    ],
)
def test_a_page_fits_its_screen_and_asks_for_nothing(
    name: str, look: str, pages: Pages, chromium: Browser
) -> None:
    chromium.open(pages(name), **LOOKS[look])  # type: ignore[arg-type]
    asked = [url for url in chromium.requests if not url.startswith("data:image/svg+xml;base64,")]
    assert asked == [pages(name).absolute().as_uri()]
    assert chromium.complaints == []
    width, shown = chromium.run("[document.documentElement.scrollWidth, window.innerWidth]")
    assert width <= shown
    broken = "[...document.images].filter(i => !i.complete || i.naturalWidth === 0).length"
    assert chromium.run(broken) == 0
    background = chromium.run("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(13, 17, 23)" if "dark" in look else "rgb(255, 255, 255)")


@pytest.mark.parametrize("name", NAMES)
def test_on_a_telephone_no_page_is_wider_no_table_of_records_scrolls_and_that_of_the_bundled_log_is_short(
    name: str, pages: Pages, chromium: Browser
) -> None:
    chromium.open(pages(name), width=390)
    height, width, shown = chromium.run(
        "[document.documentElement.scrollHeight, document.documentElement.scrollWidth, window.innerWidth]"
    )
    assert width <= shown
    assert height <= 8000 or name not in ("slm7", "samre")
    scrolled = (
        "[...document.querySelectorAll('table.records')].filter(t => t.scrollWidth > t.parentElement.clientWidth)"
        ".map(t => t.caption ? t.caption.textContent : t.textContent.slice(0, 80))"
    )
    assert chromium.run(scrolled) == []


def test_the_link_of_a_disputed_debate_opens_its_turns(pages: Pages, chromium: Browser) -> None:
    chromium.open(pages("two logs"), width=1280)
    # The page reveals a place in a closed part when its address is asked for.
    chromium.run("document.querySelector('th a[href^=\"#debate\"]').click()")
    chromium.run("new Promise(done => setTimeout(done, 200))")
    open_ = "document.querySelector(location.hash).closest('details').open"
    assert chromium.run("location.hash").startswith("#debate")
    assert chromium.run(open_)


def test_the_keyboard_reaches_the_content_first(pages: Pages, chromium: Browser) -> None:
    chromium.open(pages("slm7"), width=1280)
    for kind in ("rawKeyDown", "keyUp"):
        chromium.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert chromium.run("document.activeElement.className") == "skip"
    assert chromium.run("document.activeElement.getBoundingClientRect().left") >= 0
    for kind in ("keyDown", "keyUp"):
        chromium.call(
            "Input.dispatchKeyEvent",
            type=kind,
            key="Enter",
            code="Enter",
            windowsVirtualKeyCode=13,
            text="\r",
        )
    assert chromium.run("document.activeElement.id") == "main"


@pytest.mark.parametrize("name", NAMES)
def test_on_paper_no_table_is_cut(name: str, pages: Pages, chromium: Browser) -> None:
    """A4 with margins of a centimetre is 718 pixels wide."""
    chromium.open(pages(name), width=718, media="print")
    cut = (
        "[...document.querySelectorAll('caption, th, td')].filter(e => { const r = e.getBoundingClientRect();"
        "return r.left > -500 && r.right > 719; }).map(e => e.textContent.slice(0, 80))"
    )
    assert chromium.run(cut) == []
    # Heads are repeated on every page, and a row is on one page.
    assert chromium.run("getComputedStyle(document.querySelector('table.grid thead')).display") == (
        "table-header-group"
    )
    assert chromium.run("getComputedStyle(document.querySelector('tr')).breakInside") == "avoid"


def test_a_page_can_be_printed(pages: Pages, chromium: Browser) -> None:
    chromium.open(pages("two logs"), width=1280)
    printed = base64.b64decode(chromium.call("Page.printToPDF", printBackground=False)["data"])
    assert printed.startswith(b"%PDF")
    assert len(printed) > 50_000


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing(name: str, look: str, pages: Pages, chromium: Browser) -> None:
    if not AXE:
        warnings.warn("NOT TESTED FOR ACCESSIBILITY: D3STATS_AXE does not name axe.min.js", stacklevel=1)
        pytest.skip("NOT TESTED FOR ACCESSIBILITY: D3STATS_AXE does not name axe.min.js")
    chromium.open(pages(name), **LOOKS[look])  # type: ignore[arg-type]
    chromium.run(f"{Path(AXE).read_text(encoding='utf-8')}; 0")
    found = chromium.run(
        "axe.run(document).then(r => r.violations.map(v => "
        "v.impact + ' ' + v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' | ')))"
    )
    assert found == []
