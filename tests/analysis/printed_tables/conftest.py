"""The checks of printed tables stand beside the tables of the papers, which are no package."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analysis" / "paper_tables"))
