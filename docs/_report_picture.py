"""Take the picture of the report on the bundled log, which the README shows; `make screenshot` runs this.

Needs Chromium. The picture holds the words that it shows, so that a test can tell when the page says something else.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

import d3stats

PICTURE = Path(__file__).resolve().parent / "report.png"
WIDTH, HEIGHT = 1100, 690
COLOURS = 48
"""Few colours make a small file; the page has fewer, all but the edges of letters."""


def words(page: str) -> str:
    """Return the words of the first section of a page, which the picture shows."""
    section = page.split('<section aria-labelledby="short">')[1].split("</section>")[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", section)).split())


def page() -> str:
    """Return the page that `d3stats report slm7` writes."""
    return d3stats.report("slm7", command="d3stats report slm7").to_html()


def main() -> None:
    """Write the picture."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        sys.exit("a Chromium must be installed; got none")
    shown = page()
    with tempfile.TemporaryDirectory() as folder:
        html, taken = Path(folder, "page.html"), Path(folder, "page.png")
        html.write_text(shown, encoding="utf-8")
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}",
        ]
        size = f"--window-size={WIDTH},{HEIGHT}"
        subprocess.run(
            [browser, *flags, size, f"--screenshot={taken}", html.as_uri()], check=True, capture_output=True
        )
        picture = Image.open(io.BytesIO(taken.read_bytes())).convert("RGB").quantize(COLOURS)
    said = PngInfo()
    said.add_text("words", words(shown))
    picture.save(PICTURE, pnginfo=said, optimize=True)
    sys.stdout.write(f"{PICTURE}: {PICTURE.stat().st_size / 1e3:.0f} kB\n")


if __name__ == "__main__":
    main()
