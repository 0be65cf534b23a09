"""`make coverage` prints the share of branches that the tests take, and fails below 95 %."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow  # 2 s; `make coverage` runs the program
def test_the_share_of_branches_decides_and_compiled_functions_are_left_out(tmp_path: Path) -> None:
    coverage = pytest.importorskip("coverage")
    data, code = tmp_path / "data", "import d3stats.stopping as s; s.from_text('fixed:2')"
    (tmp_path / "one.py").write_text(code)
    run = ["-m", "coverage", "run", f"--data-file={data}", f"--rcfile={ROOT / 'pyproject.toml'}"]
    subprocess.run([sys.executable, *run, tmp_path / "one.py"], check=True, cwd=ROOT)
    script = [sys.executable, ROOT / "tests" / "branches_taken.py", "--data", data]
    asked = [
        subprocess.run(
            [*script, "--of", "*/stopping/*", "--least", least], capture_output=True, text=True, check=False
        )
        for least in ("95", "0.01")
    ]
    assert [said.returncode for said in asked] == [1, 0], asked
    assert "Fewer than 95 % of the branches were taken." in asked[0].stderr
    taken, branches, share = re.search(  # type: ignore[union-attr]
        r"Branches: ([\d,]+) of ([\d,]+) taken \((\d+\.\d) %\)", asked[0].stdout
    ).groups()
    taken, branches = (int(number.replace(",", "")) for number in (taken, branches))
    assert 0 < taken < branches
    assert float(share) == pytest.approx(100 * taken / branches, abs=0.051)
    measured = coverage.Coverage(data_file=data, config_file=str(ROOT / "pyproject.toml"))
    measured.load()
    kernel = ROOT / "d3stats" / "models" / "mixtures" / "compiled.py"
    *_, excluded, _, _ = measured.analysis2(str(kernel))
    source = kernel.read_text(encoding="utf-8").splitlines()
    compiled = [number + 2 for number, line in enumerate(source) if line.startswith("@compiled")]
    assert compiled
    assert set(compiled) <= set(excluded)
