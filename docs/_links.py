"""Check every link of the built documentation: files exist, and so do the places within them.

`python docs/_links.py docs/_build/html` follows no link to another host; it lists those hosts. It ends with status 1
where something is missing.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["Broken", "check", "main"]


@dataclass
class Page(HTMLParser):
    """What a page links to, and the places in it that a link can name."""

    text: str
    links: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.places |= {found[name] or "" for name in ("id", "name") if found.get(name)}
        self.links += [found[name] or "" for name in ("href", "src") if name in found]

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, order=True)
class Broken:
    """A link that leads nowhere: the page it stands on, the link, and what is missing."""

    page: str
    link: str
    missing: str

    def __str__(self) -> str:
        return f"{self.page}: {self.link} ({self.missing})"


def check(root: Path) -> tuple[list[Broken], Counter[str]]:
    """Return the links that lead nowhere, and how many links go to each other host.

    Raises
    ------
    ValueError
        When there is no page.
    """
    # What lies in _static are the theme's own files, templates among them.
    found = (path for path in sorted(root.rglob("*.html")) if root / "_static" not in path.parents)
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in found}
    if not pages:
        raise ValueError(f"root must hold HTML pages; got {root} without any: run `make docs` first")
    broken: list[Broken] = []
    hosts: Counter[str] = Counter()
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                hosts[parts.netloc or f"{parts.scheme}:"] += 1
                continue
            missing = _missing(root, path, unquote(parts.path), unquote(parts.fragment), pages)
            if missing:
                broken.append(Broken(str(path.relative_to(root)), link, missing))
    return broken, hosts


def _missing(root: Path, page: Path, target: str, place: str, pages: dict[Path, Page]) -> str:
    there = page
    if target:
        there = (root / target.lstrip("/") if target.startswith("/") else page.parent / target).resolve()
        if there.is_dir():
            there /= "index.html"
        if not there.exists():
            return "no such file"
        if root.resolve() not in there.parents:
            return "outside the documentation"
        there = root / there.relative_to(root.resolve())
    if place and there in pages and place not in pages[there].places:
        return "no such place on the page"
    return ""


def _lines(broken: list[Broken], hosts: Counter[str]) -> Iterator[str]:
    yield from map(str, sorted(set(broken)))
    shown = ", ".join(f"{host} {n}" for host, n in hosts.most_common())
    yield f"links to other hosts, not followed: {shown or 'none'}"
    yield f"links that lead nowhere: {len(set(broken))}"


def main(arguments: list[str]) -> int:
    """Check the documentation in a folder and print what is missing."""
    if len(arguments) != 1 or re.match("-", arguments[0]):
        sys.stderr.write("usage: python docs/_links.py FOLDER_OF_HTML\n")
        return 2
    try:
        broken, hosts = check(Path(arguments[0]))
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.writelines(f"{line}\n" for line in _lines(broken, hosts))
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
