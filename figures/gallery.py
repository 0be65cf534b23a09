"""The page that shows every figure with caption, source, data and code, from the manifest and `make_figures.py`."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
SPELLED = {"slm7": "SLM7", "ks": "KS", "d3": "D3", "chateval": "ChatEval", "eot": "EoT"}
WIDTH, TWO_COLUMNS = 910, 2070
"""Width of a figure of two columns on the page, and in the file."""


def width(name: str, folder: Path = HERE) -> int:
    """Return the width of a figure on a page, in pixels.

    A figure of one column is half as wide as one of two, so that the letters of all have one size.

    Examples
    --------
    >>> width("slm7_overview")
    910
    """
    # The header of a PNG file has its width.
    pixels = int.from_bytes((folder / f"{name}.png").read_bytes()[16:20], "big")
    return round(WIDTH * pixels / TWO_COLUMNS)


def gallery(figures: str = "../figures") -> str:
    """Return the page in Markdown; `figures` is the way from the page to this folder.

    Examples
    --------
    >>> gallery().splitlines()[0]
    '# Gallery'
    """
    rows = tomllib.loads((HERE / "manifest.toml").read_text(encoding="utf-8"))["figure"]
    text = (HERE / "make_figures.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    code = {
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }
    parts = [
        "# Gallery",
        "Every figure of this project. `make figures` remakes those whose data or code have changed. The functions "
        "below are in `figures/make_figures.py`, with what they import.",
    ]
    for row in rows:
        data = ", ".join(f"`{name}`" for name in row["data"]) or "none, it is computed"
        title = " ".join(SPELLED.get(word, word) for word in row["name"].split("_"))
        title = title[0].upper() + title[1:]
        image = f"![{title}]({figures}/{row['name']}.png){{width={width(row['name'])}px}}"
        parts += [
            f"## {title}",
            image,
            row["caption"],
            f"Source: {row['source']}. Data: {data}. Vectors: `figures/{row['name']}.pdf`.",
            f"<details><summary>Code</summary>\n\n```python\n{code[row['name']]}\n```\n\n</details>",
        ]
    return "\n\n".join(parts) + "\n"
