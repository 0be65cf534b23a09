"""How many small changes of the code make a test fail, in the modules where a silent one would give a wrong number?

Run: python simulations/mutants/run.py [--only NAME ...] [--again], or make mutants. Each module of config.toml has a
sample of its places, and each mutant is run against the tests that call its function, the quickest first, until one
fails. A finished mutant is a row of rows.csv at once, and the same command tests only those that are not there.
``--again`` tests the survivors again, and ``--table`` only writes the tables of findings.md again.

The package and the tests are imported once, and a process is forked for each mutant, in which the code of its function
is replaced. A mutant outside a function is imported anew. The checkout is never changed. A test that starts another
Python does not see the mutant there, so that the share of the mutants that die is rather too small.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import hashlib
import importlib.machinery
import io
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVIRONMENT = ROOT / ".venv-mutants"
ROWS, SIZES = HERE / "rows.csv", HERE / "sizes.csv"
CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
COLUMNS = (
    *(
        "module",
        "file",
        "line",
        "function",
        "operator",
        "before",
        "after",
        "outcome",
        "tests",
        "seconds",
        "key",
    ),
)
IMPORTED = (
    *(
        "numpy",
        "scipy.stats",
        "scipy.optimize",
        "scipy.integrate",
        "pandas",
        "numba",
        "duckdb",
        "msgspec",
        "openpyxl",
    ),
    *("typer.testing", "rich.console", "hypothesis", "pytest", "matplotlib.pyplot"),
)
"""What the package and its tests import, loaded once for all mutants."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
OPTIONS = (
    "-x",
    "-q",
    "--no-header",
    "--tb=short",
    "-p",
    "no:cacheprovider",
    "-m",
    "not slow",
    "--benchmark-disable",
)


class Choice:
    """A plugin of pytest: run the chosen tests, the quickest first, and record their time and the one that failed."""

    def __init__(
        self, chosen: dict[str, float] | None = None, begins: Callable[[str], None] | None = None
    ) -> None:
        self.chosen, self.begins = chosen, begins
        self.seconds: dict[str, float] = {}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep the chosen tests in order of their time."""
        if self.chosen is not None:
            items[:] = sorted(
                (i for i in items if i.nodeid in self.chosen), key=lambda i: self.chosen[i.nodeid]
            )

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note when a test begins."""
        self._begun = time.process_time()
        if self.begins is not None:
            self.begins(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note how long a test took."""
        self.seconds[nodeid] = round(time.process_time() - self._begun, 4)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note which test failed."""
        if report.failed:
            self.failed = report.nodeid


# ----------------------------------------------------------------------------------------- processes


def forked(work: Callable[[], int], limit: float | None, log: Path) -> tuple[int, float]:
    """Run `work` in a forked process, with `limit` processor seconds; return its exit status and its seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 70
        try:
            if limit is not None:
                os.setsid()
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(target, 1)
                os.dup2(target, 2)
                resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
                resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
            status = work()
        except BaseException as error:
            print(repr(error), flush=True)
        finally:
            sys.stdout.flush()
            os._exit(status)
    # Processor time is the limit; the clock only ends a mutant that waits for something that never comes.
    deadline = time.monotonic() + 10 * limit + 120 if limit is not None else float("inf")
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)
            break
        time.sleep(0.1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return os.waitstatus_to_exitcode(ended[1]), seconds


def pytest_run(tests: Sequence[str], choice: Choice, folder: Path, *options: str) -> int:
    """Run pytest in this process."""
    import pytest

    os.chdir(ROOT)
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    os.environ["PYTHONPATH"] = str(ROOT)
    return int(pytest.main([*OPTIONS, f"--basetemp={folder / 'tmp'}", *options, *tests], plugins=[choice]))


# ------------------------------------------------------------------------------------- replaced code


def code_objects(code: types.CodeType) -> dict[str, types.CodeType]:
    """Return the code of every function in a module's code by its qualified name."""
    found: dict[str, types.CodeType] = {}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= {inner.co_qualname: inner, **code_objects(inner)}
    return found


def functions_of(file: str) -> dict[str, list[types.FunctionType]]:
    """Return the functions of a file that are loaded, by qualified name."""
    found: dict[str, list[types.FunctionType]] = {}
    path = str(ROOT / file)
    for one in gc.get_objects():
        if type(one) is types.FunctionType and one.__code__.co_filename == path:
            found.setdefault(one.__code__.co_qualname, []).append(one)
    return found


def outermost(line: int, source: str) -> str | None:
    """Return the name of the outermost function whose body has the line; None where the line is run at import."""

    def walk(node: ast.AST, name: str) -> str | None:
        for child in ast.iter_child_nodes(node):
            inside = getattr(child, "lineno", 0) <= line <= (getattr(child, "end_lineno", 0) or 0)
            if isinstance(child, FUNCTIONS):
                # A compiled function is no longer Python when it is called.
                compiled = any(isinstance(d, ast.Name) and d.id == "compiled" for d in child.decorator_list)
                if inside:
                    return f"{name}{child.name}" if line >= child.body[0].lineno and not compiled else None
            elif inside or not hasattr(child, "lineno"):
                found = walk(child, f"{name}{child.name}." if isinstance(child, ast.ClassDef) else name)
                if found is not None:
                    return found
        return None

    return walk(ast.parse(source), "")


def compiled_lines(source: str) -> list[tuple[int, int]]:
    """Return the first and last line of each function that numba compiles."""
    return [
        (node.lineno, node.end_lineno or 0)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(d, ast.Name) and d.id == "compiled" for d in node.decorator_list)
    ]


def replace_code(file: str, tree: ast.AST | str, names: set[str]) -> set[str]:
    """Put the code of a changed source into the loaded functions of these names; return the names that were found."""
    new = code_objects(compile(tree, str(ROOT / file), "exec"))
    loaded = functions_of(file)
    for name in names & set(loaded):
        for function in loaded[name]:
            function.__globals__["__called__"] = CALLED.add
            function.__code__ = new[name]
    return names & set(loaded)


CALLED: set[str] = set()
"""Functions called since the current test began, as file and name."""


def noted(file: str, source: str, names: set[str]) -> ast.AST:
    """Return a source whose functions of these names note that they are called."""
    tree = ast.parse(source)

    def walk(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FUNCTIONS):
                inner = f"{name}{child.name}"
                if inner in names:
                    call = ast.parse(f"__called__({f'{file}|{inner}'!r})").body[0]
                    for part in ast.walk(call):
                        ast.copy_location(part, child.body[0])
                    at = int(ast.get_docstring(child, clean=False) is not None)
                    child.body.insert(at, call)
            else:
                walk(child, f"{name}{child.name}." if isinstance(child, ast.ClassDef) else name)

    walk(tree, "")
    return tree


# --------------------------------------------------------------------------------------- the mutants


def environment() -> None:
    """Install cosmic-ray beside the packages of the project, for its operators alone."""
    if not (ENVIRONMENT / "cosmic_ray").is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(ENVIRONMENT)]
        subprocess.run([*pip, CONFIG["package"]], check=True)
    sys.path.append(str(ENVIRONMENT))


def sources(module: dict[str, Any]) -> dict[str, str]:
    """Return the files of a module and their text, without initial modules of folders."""
    found = {path for pattern in module["files"] for path in ROOT.glob(pattern) if path.name != "__init__.py"}
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(found)}


def sample(module: dict[str, Any]) -> tuple[int, list[Any]]:
    """Return the number of places of a module and its drawn mutants, in the order of the draw."""
    from places import mutant, places

    texts = sources(module)
    wanted, size = module.get("compiled", False), module.get("sample", CONFIG["per_module"])
    state = repr([CONFIG["seed"], wanted, size, texts, (HERE / "places.py").read_text(encoding="utf-8")])
    kept = ENVIRONMENT / f"{module['name']}-{hashlib.sha256(state.encode()).hexdigest()[:12]}.pickle"
    if not kept.exists():
        found = [
            place
            for file, text in texts.items()
            for parts in [compiled_lines(text)]
            for place in places(file, text)
            if any(a <= place.line <= b for a, b in parts) == wanted
        ]
        drawn: list[Any] = []
        for place in sorted(found, key=lambda p: p.order(CONFIG["seed"])):
            if len(drawn) == size:
                break
            made = mutant(place, texts[place.file], CONFIG["seed"])
            drawn += [made] if made is not None else []
        kept.write_bytes(pickle.dumps((len(found), drawn)))
    chosen: tuple[int, list[Any]] = pickle.loads(kept.read_bytes())
    return chosen


def baseline(module: dict[str, Any], drawn: list[Any], folder: Path) -> dict[str, Any]:
    """Return the seconds of every test without a mutant, and the tests that call each function of the mutants."""
    texts = sources(module)
    functions = {(m.place.file, outermost(m.place.line, texts[m.place.file])) for m in drawn}
    tests = [
        p
        for t in module["tests"]
        for p in sorted((ROOT / t).rglob("*.py") if (ROOT / t).is_dir() else [ROOT / t])
    ]
    state = [
        module["tests"],
        sorted(map(str, functions)),
        *texts.values(),
        *(p.read_text("utf-8") for p in tests),
    ]
    kept = ENVIRONMENT / f"{module['name']}-{hashlib.sha256(repr(state).encode()).hexdigest()[:12]}.json"
    if not kept.exists():
        calls: dict[str, list[str]] = {}
        running = [""]

        def begins(test: str) -> None:
            for key in CALLED:
                calls.setdefault(key, []).append(running[0])
            CALLED.clear()
            running[0] = test

        def work() -> int:
            choice = Choice(begins=begins)
            for file, text in texts.items():
                names = {name for f, name in functions if f == file and name}
                replace_code(file, noted(file, text, names), names)
            CALLED.clear()
            code = pytest_run(module["tests"], choice, folder)
            begins("")
            kept.write_text(json.dumps({"seconds": choice.seconds, "calls": calls}), encoding="utf-8")
            return code

        log = folder / "baseline.log"
        code, seconds = forked(work, 3600, log)
        if code:
            kept.unlink(missing_ok=True)
            raise SystemExit(
                f"the tests of {module['name']} fail without a mutant:\n{log.read_text()[-3000:]}"
            )
        print(f"{module['name']}: {seconds:.0f} CPU s for all its tests", flush=True)
    found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return found


def tested(made: Any, name: str | None, known: dict[str, Any], folder: Path) -> dict[str, str]:
    """Run the tests of a mutant in a forked process and return its outcome."""
    chosen = dict(known["seconds"])
    if name is not None:
        callers = set(known["calls"].get(f"{made.place.file}|{name}", ()))
        chosen = {test: s for test, s in chosen.items() if test in callers}
    if not chosen:
        return {"outcome": "survived", "tests": "no test calls it", "seconds": "0.0"}
    told = folder / "failed"
    told.write_text("", encoding="utf-8")
    files = list(dict.fromkeys(test.split("::")[0] for test in sorted(chosen, key=chosen.__getitem__)))

    def work() -> int:
        if name is None:
            imported_instead(made, folder)
        elif not replace_code(made.place.file, made.source, {name}):
            return 71
        choice = Choice(chosen)
        code = pytest_run(files, choice, folder)
        told.write_text(choice.failed, encoding="utf-8")
        return code

    limit = CONFIG["extra_seconds"] + 4 * sum(chosen.values())
    code, seconds = forked(work, limit, folder / "mutant.log")
    spent = {"seconds": f"{seconds:.1f}"}
    if code in (70, 71):
        raise SystemExit(
            f"{made.place.file}:{made.place.line}: {(folder / 'mutant.log').read_text()[-2000:]}"
        )
    if code == 0:
        return {"outcome": "survived", "tests": f"{len(chosen)} passed", **spent}
    if code < 0:
        return {"outcome": "timeout", "tests": f"{limit:.0f} s", **spent}
    return {
        "outcome": "killed",
        "tests": told.read_text(encoding="utf-8") or "no module can be imported",
        **spent,
    }


def imported_instead(made: Any, folder: Path) -> None:
    """Let this process import the mutant's source in place of the file's."""
    path, plain = str(ROOT / made.place.file), importlib.machinery.SourceFileLoader.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> types.CodeType | None:
        if self.path == path:
            return compile(made.source, path, "exec", dont_inherit=True)
        return plain(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
    if any(a <= made.place.line <= b for a, b in compiled_lines(made.source)):
        # What numba has kept is the compiled code of the file.
        os.environ["NUMBA_CACHE_DIR"] = str(folder / "numba")
        import numba.core.config

        numba.core.config.CACHE_DIR = str(folder / "numba")


# ------------------------------------------------------------------------------------------ the rows


def rows() -> pd.DataFrame:
    """Return the rows that are there."""
    if not ROWS.exists():
        return pd.DataFrame(columns=list(COLUMNS), dtype=str)
    return pd.read_csv(ROWS, dtype=str, keep_default_na=False)


def written(table: pd.DataFrame) -> None:
    """Write the rows, ordered by module and place."""
    names = [m["name"] for m in CONFIG["modules"]]
    place = [(names.index(r.module), r.file, int(r.line), r.key) for r in table.itertuples()]
    order = sorted(range(len(table)), key=place.__getitem__)
    table.iloc[order].to_csv(ROWS, index=False)


def recorded(module: str, made: Any, outcome: dict[str, str]) -> None:
    """Write the row of a mutant; one that had survived an earlier run and dies now is killed since."""
    place = made.place
    cells = (module, place.file, str(place.line), place.function, made.operator, made.before, made.after)
    row = dict(zip(COLUMNS, cells, strict=False)) | outcome | {"key": f"{place.key}|{made.operator}"}
    table = rows()
    if (table.key == row["key"]).any() and row["outcome"] != "survived":
        row["outcome"] = "killed since"
    written(
        pd.concat([table[table.key != row["key"]], pd.DataFrame([row])], ignore_index=True)[list(COLUMNS)]
    )
    where = f"{made.place.file}:{made.place.line}"
    print(f"{row['outcome']:8} {row['seconds']:>5} s {where}: {made.before} -> {made.after}", flush=True)


def sized(module: str, places: int, drawn: int) -> None:
    """Write how many places a module has, and how many were drawn."""
    names = [m["name"] for m in CONFIG["modules"]]
    known = (
        pd.read_csv(SIZES).set_index("module")
        if SIZES.exists()
        else pd.DataFrame(columns=["places", "drawn"])
    )
    known.loc[module] = [places, drawn]
    known.loc[[name for name in names if name in known.index]].to_csv(SIZES, index_label="module")


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings from the rows, the sizes and the reasons of survivors."""
    from d3stats.resampling import share

    found, sizes = tables["rows"], tables["sizes"].set_index("module")
    why = dict(zip(tables["reasons"].key, tables["reasons"].reason, strict=True))
    alive = found.outcome == "survived"
    by_module = []
    for name, of in [*found.groupby("module", sort=False), ("all", found)]:
        dead = int((of.outcome != "survived").sum())
        places, drawn = sizes.sum() if name == "all" else sizes.loc[name]
        limits = share(dead, len(of), kind="Wilson")
        cells = (name, f"{places:,}", str(drawn), str(len(of)), str(dead))
        alike = sum(why.get(key, "").startswith("equivalent") for key in of.key[of.outcome == "survived"])
        matter = f"{dead} of {len(of) - alike}"
        since = str(int((of.outcome == "killed since").sum()))
        by_module.append((*cells, since, f"{limits.value:.2f} [{limits.low:.2f}, {limits.high:.2f}]", matter))
    survivors = [
        {
            "place": f"{Path(row.file).parent.name}/{Path(row.file).name}, {row.function}",
            "change": f"`{_cut(row.before, row.after)}`",
            "reason": why.get(row.key, "not yet read"),
        }
        for row in found[alive].itertuples()
    ]
    columns = ["place", "change", "reason"]
    heads = [
        "module",
        "places",
        "drawn",
        "tested",
        "die",
        "of these since",
        "share that dies",
        "of those that differ",
    ]
    return {
        "modules": pd.DataFrame(by_module, columns=heads),
        "survivors": pd.DataFrame(survivors, columns=columns),
    }


def _cut(before: str, after: str) -> str:
    """Return what changed in a line, with some words on either side."""
    if not after or before == after:
        return f"{before} without it".replace("|", "¦")
    at = next((k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    end = 0
    while end < min(len(before), len(after)) - at and before[-1 - end] == after[-1 - end]:
        end += 1
    low, ends = max(at - 25, 0), max(end - 15, 0)
    parts = (text[low : len(text) - ends] for text in (before, after))
    return " → ".join(parts).replace("|", "¦").replace("`", "'")


def tables() -> None:
    """Fill the tables of the findings."""
    sys.path[:0] = [str(HERE.parent), str(ROOT)]
    from findings_tables import filled

    made = {path.stem: pd.read_csv(path) for path in HERE.glob("*.csv")}
    page = HERE / "findings.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), shown(made)), encoding="utf-8")


def run(only: Sequence[str], again: bool) -> None:
    """Test the mutants that have no row yet, or the survivors again."""
    environment()
    os.environ.setdefault("D3STATS_DATA", str(ROOT.parent / "shared" / "data"))
    for name in IMPORTED:
        __import__(name)
    from hypothesis import Phase, settings

    # The counterexample of a mutant is not read and need not be the smallest. The profile of the tests inherits this.
    settings.register_profile("not shrunk", phases=[Phase.explicit, Phase.generate])
    settings.load_profile("not shrunk")
    for module in CONFIG["modules"]:
        if only and module["name"] not in only:
            continue
        possible, drawn = sample(module)
        sized(module["name"], possible, len(drawn))
        table = rows()
        keys = {f"{m.place.key}|{m.operator}" for m in drawn}
        # A mutant whose line has changed since is no longer in the sample.
        kept = table[(table.module != module["name"]) | table.key.isin(keys)]
        written(kept)
        done = dict(zip(kept.key, kept.outcome, strict=True))
        wanted = "survived" if again else ""
        todo = [m for m in drawn if done.get(f"{m.place.key}|{m.operator}", "") == wanted]
        print(f"{module['name']}: {possible} places, {len(drawn)} drawn, {len(todo)} to test", flush=True)
        if todo:
            with tempfile.TemporaryDirectory(prefix="mutants_") as folder:
                run_module(module, drawn, todo, Path(folder))


def run_module(module: dict[str, Any], drawn: list[Any], todo: list[Any], folder: Path) -> None:
    """Test the mutants of a module: those inside functions from a process that has all imported, then the others."""
    texts = sources(module)
    names = [outermost(m.place.line, texts[m.place.file]) for m in todo]

    def warm() -> int:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            if pytest_run(module["tests"], Choice(), folder, "--collect-only"):
                raise SystemExit(said.getvalue())
        known = baseline(module, drawn, folder)
        for made, name in zip(todo, names, strict=True):
            if name is not None:
                recorded(module["name"], made, tested(made, name, known, folder))
        (folder / "known.json").write_text(json.dumps(known), encoding="utf-8")
        return 0

    if forked(warm, None, folder)[0]:
        raise SystemExit(f"the run of {module['name']} ended early")
    known = json.loads((folder / "known.json").read_text(encoding="utf-8"))
    for made, name in zip(todo, names, strict=True):
        if name is None:
            recorded(module["name"], made, tested(made, None, known, folder))


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a module of config.toml")
    parser.add_argument("--again", action="store_true", help="test the survivors again")
    parser.add_argument("--table", action="store_true", help="only write the tables of findings.md")
    options = parser.parse_args()
    if not options.table:
        run(options.only, options.again)
    tables()


if __name__ == "__main__":
    sys.path[:0] = [str(HERE)]
    main()
