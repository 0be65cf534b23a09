"""The page that shows every figure with its caption, from the manifest that `make_figures.py` writes."""

from __future__ import annotations

import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def gallery(figures: str = "../figures") -> str:
    """Return the page in Markdown; `figures` is the way from the page to this folder.

    Examples
    --------
    >>> gallery().splitlines()[0]
    '# Gallery'
    """
    rows = tomllib.loads((HERE / "manifest.toml").read_text(encoding="utf-8"))["figure"]
    parts = [
        "# Gallery",
        "Every figure of this project. `make figures` makes them anew from the data named below each.",
    ]
    for row in rows:
        data = ", ".join(f"`{name}`" for name in row["data"]) or "computed, no data"
        first, *rest = row["name"].split("_")
        title = " ".join([first.upper() if first[-1].isdigit() else first.capitalize(), *rest])
        image = f"![{title}]({figures}/{row['name']}.png)"
        parts += [
            f"## {title}",
            image,
            row["caption"],
            f"Data: {data}. Vectors: `figures/{row['name']}.pdf`.",
        ]
    return "\n\n".join(parts) + "\n"
