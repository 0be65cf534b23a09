"""The reference of public names: which there are, the one page of each, and the pages themselves.

`CHAPTERS` lists the public packages and modules in reading order; `JOBS` sorts the names of `d3stats` itself by what
they are for. A name is documented in the first chapter that has it, so that `d3stats.<name>` comes before any longer
path. `write(folder)` writes one page for each function and class and one for each chapter.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import enum
import importlib
import inspect
import re
import symtable
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

__all__ = ["CHAPTERS", "JOBS", "PARTS", "Name", "names", "pages", "place", "write"]

JOBS: dict[str, tuple[str, ...]] = {
    "Read and count logs": (
        "open",
        "Opened",
        "as_trajectories",
        "Trajectories",
        "read_log",
        "import_log",
        "LogWriter",
        "count",
        "count_log",
        "Counts",
        "RoundCounts",
        "TransitionCounts",
        "ConfusionCounts",
    ),
    "Report on a log": ("report", "fit", "scores", "doctor", "paper"),
    "Plan a stopping rule": (
        "plan",
        "Plan",
        "abstain",
        "escalate",
        "replay",
        "scan",
        "risk_controlled",
        "Ledger",
        "evaluate",
        "simulate",
        "Study",
        "read_study",
        "calibrate",
    ),
    "Stopping rules": ("Unanimity", "Supermajority", "Ladder", "FixedRounds", "KSStability", "NoiseAwareKS"),
    "Compare runs": ("compare", "power", "plan_comparison", "sample_size"),
    "Check judges": (
        "agreement",
        "cohen_kappa",
        "jury_curve",
        "panel",
        "confidence",
        "rank",
        "bias",
        "position_bias",
        "correct",
        "prediction_powered_mean",
        "rationales",
    ),
    "Fit models": (
        "fit_beta_binomial_mixture",
        "fit_beta_binomial",
        "fit_beta_binomial_mixture_batch",
        "BetaBinomialMixture",
        "likelihood_ratio_test",
        "fit_rounds",
        "rounds_drift",
        "gap_posterior",
        "signed_gap_posterior",
        "separation",
        "martingale_test",
    ),
    "Run debates": ("debate",),
}
"""The names of `d3stats` itself, by what they are for; packages have chapters of their own."""

PARTS: dict[str, tuple[str, ...]] = {
    "Data": (
        "d3stats.trajectories",
        "d3stats.counts",
        "d3stats.datasets",
        "d3stats.values",
        "d3stats.plausibility",
        "d3stats.log",
        "d3stats.log.schema",
        "d3stats.log.problems",
        "d3stats.log.transcript",
        "d3stats.log.importers",
        "d3stats.log.importers.answers",
    ),
    "Stopping rules, plans and worlds": ("d3stats.stopping", "d3stats.planning", "d3stats.worlds"),
    "Comparisons and judges": (
        "d3stats.inference",
        "d3stats.inference.comparison",
        "d3stats.inference.judges",
        "d3stats.inference.bias",
        "d3stats.inference.reasons",
    ),
    "Models": (
        "d3stats.models.mixtures",
        "d3stats.models.gaps",
        "d3stats.models.separation",
        "d3stats.models.beliefs",
        "d3stats.models.beliefs.latent",
        "d3stats.models.chains",
        "d3stats.models.bayes",
    ),
    "Theorems": ("d3stats.theory", "d3stats.theory.instances"),
    "Debates": (
        "d3stats.protocols",
        "d3stats.protocols.baselines",
        "d3stats.protocols.d3",
        "d3stats.protocols.chateval",
        "d3stats.protocols.prd",
        "d3stats.protocols.stability",
        "d3stats.protocols.agentverse",
        "d3stats.protocols.multi_persona",
        "d3stats.protocols.eot",
        "d3stats.protocols.jury",
        "d3stats.protocols.recorded",
        "d3stats.protocols.play",
        "d3stats.agent",
        "d3stats.run",
        "d3stats.run.live",
        "d3stats.bridges.inspect",
    ),
    "Results, figures and resampling": (
        "d3stats.estimate",
        "d3stats.result",
        "d3stats.report.analysis",
        "d3stats.plotting",
        "d3stats.resampling",
    ),
}
"""The public packages and modules in reading order."""

CHAPTERS: tuple[str, ...] = tuple(module for part in PARTS.values() for module in part)


@dataclass(frozen=True)
class Name:
    """A public name and the chapter in which it is documented."""

    chapter: str
    name: str

    @cached_property
    def value(self) -> Any:
        return getattr(importlib.import_module(self.chapter), self.name)

    @property
    def full(self) -> str:
        return f"{self.chapter}.{self.name}"

    @cached_property
    def kind(self) -> str:
        """One of "package", "class", "function", "constant"."""
        if inspect.ismodule(self.value):
            return "package"
        if inspect.isclass(self.value) and self.value.__module__.startswith("d3stats"):
            return "class"
        return "function" if inspect.isroutine(self.value) else "constant"

    @cached_property
    def key(self) -> tuple[str, int]:
        """What makes two names the same thing; equal numbers are one object, so a constant's name counts."""
        return (self.name if self.kind == "constant" else "", id(self.value))

    @property
    def page(self) -> str:
        """Name of the page, without an ending: names that differ in case only must not share a file."""
        if self.kind == "package":
            return self.full
        if self.kind == "constant":
            return self.chapter
        return (
            f"{self.full}_class" if self.kind == "class" and self.full.lower() in _lower_case() else self.full
        )

    @property
    def says(self) -> str:
        """The first line of its documentation."""
        if self.kind == "constant":
            return first_line(constant_doc(self.name, self.value))
        return _spelled_out(first_line(inspect.getdoc(self.value) or ""), self.value.__module__, self.page)


def first_line(doc: str) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join(doc.strip().split("\n\n")[0].split())


def _spelled_out(text: str, module: str, page: str = "") -> str:
    """Return a text whose references are written with their full names, so that they hold on every page."""

    def full(match: re.Match[str]) -> str:
        target = documented(match[2].lstrip("~"), module, page)
        return f":{match[1]}:`{match[2].split('.')[-1].lstrip('~')} <{target}>`" if target else match[0]

    return re.sub(r":(?:py:)?(func|class|meth|data|attr|exc|obj):`([^`<>]+)`", full, text)


@cache
def names() -> tuple[Name, ...]:
    """Return every public name once, in the first chapter that has it: `d3stats` itself, then `CHAPTERS`."""
    found: dict[tuple[str, int], Name] = {}
    for chapter in ("d3stats", *CHAPTERS):
        for name in importlib.import_module(chapter).__all__:
            each = Name(chapter, name)
            if each.kind != "package" and name != "__version__":
                found.setdefault(each.key, each)
    return tuple(found.values())


@cache
def short_names() -> dict[str, str]:
    """Return the full name of every class by its short one, where no other class has the same."""
    classes = [each for each in names() if each.kind == "class"]
    shorts = [each.name for each in classes]
    return {each.name: each.full for each in classes if shorts.count(each.name) == 1}


@cache
def _by_key() -> dict[tuple[str, int], Name]:
    return {each.key: each for each in names()}


def place(module: str, name: str) -> Name | None:
    """Return the entry under which a name of any module is documented, None where it is in no chapter."""
    return _by_key().get(Name(module, name).key)


def place_of(value: object) -> Name | None:
    """Return the entry under which a class or function is documented."""
    return _by_key().get(("", id(value)))


@cache
def _by_page() -> dict[str, Name]:
    return {each.page: each for each in names() if each.kind != "constant"}


@cache
def _by_name() -> dict[str, Name]:
    return {each.full: each for each in names()}


@cache
def aliases() -> dict[str, str]:
    """Return the documented name of every dotted path of the package that leads to a public function or class."""
    import pkgutil

    import d3stats

    found = {}
    for module in pkgutil.walk_packages(d3stats.__path__, "d3stats."):
        if module.name.startswith("d3stats.cli"):
            continue
        home = importlib.import_module(module.name)
        for name, value in vars(home).items():
            there = place_of(value) or _by_key().get((name, id(value)))
            if there is not None and not name.startswith("__"):
                found[f"{module.name}.{name}"] = there.full
    for each in names():
        found[each.full] = each.full
    return found


@cache
def documented(target: str, module: str | None, page: str) -> str | None:
    """Return the documented name that a reference means.

    Parameters
    ----------
    target : str
        As written: a full path, or a name of the class, module or package in whose docstring it is, also with a member.
    module : str or None
        The module that the reference is in.
    page : str
        Name of the page that the reference stands on.
    """
    here = _by_page().get(page)
    if here is not None and here.kind == "class" and (home := _home_of_member(here.value, target)):
        return home
    homes = [module or "", here.value.__module__ if here else ""]
    for start in (target, *(f"{path}.{target}" for home in homes for path in _and_packages(home))):
        if start in aliases():
            return aliases()[start]
        path, _, member = start.rpartition(".")
        if path in aliases():
            # A function may have the name of the module that it is in.
            kind = _by_name()[aliases()[path]].value
            if inspect.isclass(kind):
                return _home_of_member(kind, member)
    return None


def _and_packages(module: str) -> list[str]:
    """Return a module and the packages that it is in, from the inside out."""
    parts = module.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


def _home_of_member(kind: type, member: str) -> str | None:
    """Return the full name under which a member of a class is documented, at the class or at a public base."""
    own, inherited = members(kind)
    if any(m.name == member for m in own):
        there = place_of(kind)
        return f"{there.full}.{member}" if there else None
    return next((f"{base.full}.{member}" for base, listed in inherited.items() if member in listed), None)


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(importlib.import_module(module)))


@cache
def _class_bodies(module: str) -> dict[str, list[list[ast.stmt]]]:
    """Return the bodies of the classes of a module by name."""
    found: dict[str, list[list[ast.stmt]]] = {}
    nodes: list[ast.AST] = [_tree(module)]
    for node in nodes:  # grows: no class is inside of an expression
        if isinstance(node, ast.ClassDef):
            found.setdefault(node.name, []).append(node.body)
        nodes += [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt | ast.excepthandler)]
    return found


@cache
def _constants(module: str) -> dict[str, str]:
    """Return the docstrings below the assignments of a module."""
    return _documented_names(_tree(module).body)


def _documented_names(body: list[ast.stmt]) -> dict[str, str]:
    """Return what stands below each assignment of a module or class, "" where nothing does."""
    found = {}
    for node, after in zip(body, [*body[1:], None], strict=True):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                is_doc = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                found[target.id] = inspect.cleandoc(str(after.value.value)) if is_doc else ""  # type: ignore[union-attr]
    return found


@cache
def _package_modules() -> tuple[str, ...]:
    import pkgutil

    import d3stats

    return tuple(
        module.name
        for module in pkgutil.walk_packages(d3stats.__path__, "d3stats.")
        if not module.name.startswith("d3stats.cli")
    )


@cache
def attribute_docs(kind: type) -> dict[str, str]:
    """Return the docstrings below the public attributes of a class, its own and those of bases without a page."""
    found: dict[str, str] = {}
    for base in kind.__mro__:
        if not base.__module__.startswith("d3stats") or (base is not kind and place_of(base) is not None):
            continue
        for body in _class_bodies(base.__module__).get(base.__name__, []):
            found = {**_documented_names(body), **found}
    told = inspect.getdoc(kind) or ""
    listed = {
        n.strip() for names in re.findall(r"^([\w, ]+) : ", told, re.MULTILINE) for n in names.split(",")
    }
    return {name: doc for name, doc in found.items() if doc and name not in listed and name[0] != "_"}


def constant_doc(name: str, value: Any) -> str:
    """Return what stands below the assignment that made a constant."""
    for module in _package_modules():
        home = importlib.import_module(module)
        if vars(home).get(name) is value and (doc := _constants(module).get(name)):
            return doc
    return ""


@cache
def _lower_case() -> frozenset[str]:
    """Return the chapters and functions in lower case, whose files a class of the same letters must not share."""
    functions = (each.full for each in names() if each.kind == "function")
    return frozenset(each.lower() for each in (*CHAPTERS, *functions))


# Examples.


def imports(doc: str, home: dict[str, Any]) -> list[str]:
    """Return the lines of import that the examples of a docstring need before their first line.

    Parameters
    ----------
    doc : str
        The docstring.
    home : dict
        The names of the module that it is in, where its examples are tested.
    """
    needed: dict[str, set[str]] = {}
    plain: set[str] = set()
    for name in sorted(_free_names(doctest.DocTestParser().get_examples(doc))):
        value = home.get(name, home)
        if value is home:
            continue  # a name of Python itself
        if inspect.ismodule(value):
            full, _, last = value.__name__.rpartition(".")
            if name == value.__name__:
                plain.add(f"import {name}")
            elif name == last:
                needed.setdefault(full, set()).add(name)
            else:
                plain.add(f"import {value.__name__} as {name}")
            continue
        there = place_of(value) or place(home["__name__"], name)
        if there is not None:
            needed.setdefault(there.chapter, set()).add(
                name if there.name == name else f"{there.name} as {name}"
            )
        else:
            source = getattr(value, "__module__", None) or home["__name__"]
            needed.setdefault(source, set()).add(name)
    # Those of other packages come first.
    lines = [f"from {module} import {', '.join(sorted(listed))}" for module, listed in needed.items()]
    return sorted(plain) + sorted(lines, key=lambda line: (line.split()[1].startswith("d3stats"), line))


def _free_names(examples: list[doctest.Example]) -> set[str]:
    """Return the names that examples use before they give them a value."""
    free: set[str] = set()
    known: set[str] = set(dir(builtins))
    for example in examples:
        top = symtable.symtable(example.source, "example", "exec")
        waiting, used = [top], set[str]()
        while waiting:
            scope = waiting.pop()
            waiting += scope.get_children()
            used |= {
                one.get_name()
                for one in scope.get_symbols()
                if one.is_referenced() and (scope is top or one.is_global())
            }
        made = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
        body = ast.parse(example.source).body
        # `x = f(x)` uses the x from before; a loop or a function uses what it makes itself.
        assigns = len(body) == 1 and isinstance(body[0], ast.Assign)
        free |= used - known - (set() if assigns else made)
        known |= made
    return free


def with_imports(lines: list[str], home: dict[str, Any]) -> list[str]:
    """Return the lines of a docstring whose first example begins with the imports that it needs."""
    first = next((at for at, line in enumerate(lines) if line.lstrip().startswith(">>>")), None)
    if first is None:
        return lines
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    return [
        *lines[:first],
        *(f"{indent}>>> {line}" for line in imports("\n".join(lines), home)),
        *lines[first:],
    ]


def home_of(value: Any) -> dict[str, Any]:
    """Return the names of the module in which a class, function, method or property is defined."""
    value = getattr(value, "fget", None) or getattr(value, "func", None) or value
    value = inspect.unwrap(getattr(value, "__func__", value))
    name = getattr(value, "__module__", None)
    return vars(importlib.import_module(name)) if name else {}


# Pages.


def _title(text: str) -> list[str]:
    return [".. rst-class:: api-name", "", text, "=" * len(text), ""]


def _table(rows: list[tuple[str, str]], marked: str = "") -> list[str]:
    """Return a table of names and first lines."""
    lines = [".. list-table::", "   :widths: auto", "   :class: names" + (f" {marked}" if marked else ""), ""]
    for name, said in rows:
        lines += [f"   * - {name}", f"     - {said}"]
    return [*lines, ""]


def _link(each: Name, text: str | None = None) -> str:
    shown = text or each.name
    call = "()" if each.kind == "function" else ""
    return f":py:obj:`{shown}{call} <{each.full}>`"


def _contents(entries: list[Name]) -> list[str]:
    listed = [each for each in entries if each.kind != "constant"]
    if not listed:
        return []
    return [
        ".. toctree::",
        "   :hidden:",
        "",
        *(f"   {each.name} <{each.page}>" for each in listed),
        "",
    ]


def function_page(each: Name) -> str:
    """Return the page of a function."""
    return "\n".join([*_title(each.full), f".. autofunction:: {each.full}", "", *_also(each)])


@cache
def _chapters_with() -> dict[tuple[str, int], list[str]]:
    found: dict[tuple[str, int], list[str]] = {each.key: [] for each in names()}
    for chapter in CHAPTERS:
        for name in importlib.import_module(chapter).__all__:
            found[Name(chapter, name).key].append(chapter)
    return found


def _also(each: Name) -> list[str]:
    """Say from which other chapters a name can be imported."""
    others = [chapter for chapter in _chapters_with()[each.key] if chapter != each.chapter]
    if not others:
        return []
    return [f"Also in {', '.join(f':py:mod:`{other}`' for other in others)}.", ""]


@dataclass(frozen=True)
class Member:
    """A public member of a class, where it is documented, and its first line."""

    name: str
    owner: type
    directive: str
    says: str


@cache
def members(kind: type) -> tuple[list[Member], dict[Name, list[str]]]:
    """Return the members to document on the page of a class, and those documented on the page of a public base.

    An override without a docstring of its own counts as its base's.
    """
    own: dict[str, Member] = {}
    inherited: dict[Name, list[str]] = {}
    seen: set[str] = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("d3stats"):
            continue
        public = place_of(base)
        for name, raw in vars(base).items():
            member = _member(name, raw, base)
            if member is None or name in seen:
                continue
            if not member.says and base is not kind.__mro__[-1] and _documented_above(kind, base, name):
                continue
            seen.add(name)
            if base is kind or public is None:
                own[name] = member
            else:
                inherited.setdefault(public, []).append(name)
    return list(own.values()), inherited


def _documented_above(kind: type, base: type, name: str) -> bool:
    above = kind.__mro__[kind.__mro__.index(base) + 1 :]
    return any(name in vars(other) and (vars(other)[name].__doc__ or "") for other in above)


def _member(name: str, raw: Any, base: type) -> Member | None:
    if name.startswith("_") or inspect.isclass(raw):
        return None
    value: Any = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
    if isinstance(value, property | cached_property):
        return Member(name, base, "autoproperty", first_line(inspect.cleandoc(value.__doc__ or "")))
    if inspect.isroutine(value) and inspect.isfunction(inspect.unwrap(value)):
        return Member(name, base, "automethod", first_line(inspect.cleandoc(value.__doc__ or "")))
    return None


def is_shown(base: type) -> bool:
    """Say whether a class is named as a base: one that has a page, and the built-in exception that one is."""
    return place_of(base) is not None or (base.__module__ == "builtins" and base is not object)


def class_page(each: Name) -> str:
    """Return the page of a class: its description, a table of its methods and properties, then each of them."""
    kind = each.value
    directive = "autoexception" if issubclass(kind, BaseException) else "autoclass"
    based = ["   :show-inheritance:"] if any(is_shown(base) for base in kind.__bases__) else []
    lines = [*_title(each.full), f".. {directive}:: {each.full}", "   :no-members:", *based, ""]
    if issubclass(kind, enum.Enum):
        lines += _table([(f"``{member.name}``", f"``{str(member.value)!r}``") for member in kind])
    own, inherited = members(kind)
    lines += _also(each)
    attributes = attribute_docs(kind)
    if attributes:
        lines += _heading("Attributes")
        for name in attributes:
            lines += [f".. autoattribute:: {each.full}.{name}", "   :no-value:", ""]
    groups = {
        "Properties": [m for m in own if m.directive == "autoproperty"],
        "Methods": [m for m in own if m.directive == "automethod"],
    }
    for title, group in groups.items():
        if not group:
            continue
        lines += _heading(title)
        if title == "Methods" and len(group) > 4:
            links = [f":py:obj:`{m.name} <{each.full}.{m.name}>`" for m in group]
            said = [_spelled_out(m.says, m.owner.__module__, each.page) for m in group]
            lines += _table(list(zip(links, said, strict=True)))
        for m in group:
            lines += [f".. {m.directive}:: {each.full}.{m.name}", ""]
    if inherited:
        lines += _heading("Inherited members")
        for base, listed in inherited.items():
            links = ", ".join(f":py:obj:`{name} <{base.full}.{name}>`" for name in listed)
            lines += [f"From {_link(base)}: {links}.", ""]
    return "\n".join(lines)


def chapter_page(chapter: str) -> str:
    """Return the page of a package or module: what it is for, a table of all its names, and its constants.

    A package has a section for each of its modules; the first paragraphs of a module say which method its names use.
    """
    listed = [Name(chapter, name) for name in importlib.import_module(chapter).__all__]
    lines = [*_title(chapter), *_module(chapter)]
    for home, own in _by_home(chapter, listed).items():
        if home != chapter:
            lines += _heading(home.removeprefix(f"{chapter}."))
        if home != chapter and home not in CHAPTERS:
            lines += _module(home, indexed=home.startswith(f"{chapter}."))
        lines += _table([(_link(_by_key()[n.key], n.name), n.says) for n in own])
    constants = [n for n in listed if n.kind == "constant"]
    if constants:
        lines += _heading("Constants")
        for n in constants:
            there = _by_key()[n.key]
            lines += _constant(there) if there.full == n.full else [f"{_link(there)}: {n.says}", ""]
    own = [n for n in listed if _by_key().get(n.key) == n]
    return "\n".join([*lines, *_contents(own)])


def _by_home(chapter: str, listed: list[Name]) -> dict[str, list[Name]]:
    """Return functions and classes by what the chapter's page puts them under, functions first.

    Names of a module of the package stand under the module, names from elsewhere under the chapter that has them.
    """
    found: dict[str, list[Name]] = {}
    for each in sorted(listed, key=lambda n: (n.kind == "class", n.name.lower())):
        home = each.value.__module__ if each.kind in ("class", "function") else ""
        if any(part.startswith("_") for part in home.split(".")):
            home = chapter
        elif home.rpartition(".")[0] != chapter and home != chapter:
            others = (c for c in CHAPTERS if c != chapter and home.startswith(f"{c}."))
            home = max(others, key=len, default=home)
        if each.kind in ("class", "function"):
            found.setdefault(home, []).append(each)
    return dict(
        sorted(found.items(), key=lambda item: (item[0] != chapter, not item[0].startswith(chapter), item[0]))
    )


def _module(name: str, *, indexed: bool = True) -> list[str]:
    """Return what a module says of itself; one of another package is not indexed, since several may list it."""
    hidden = [] if indexed and name not in aliases().values() else ["   :no-index:"]
    return [f".. automodule:: {name}", "   :no-members:", *hidden, ""]


def _constant(each: Name) -> list[str]:
    value = repr(each.value)
    lines = [f".. py:data:: {each.name}", f"   :module: {each.chapter}"]
    if len(value) <= 200 and " at 0x" not in value:
        lines.append(f"   :value: {value}")
    doc = constant_doc(each.name, each.value)
    return [*lines, "", *(f"   {line}".rstrip() for line in doc.splitlines()), ""]


def _heading(text: str) -> list[str]:
    return [text, "-" * len(text), ""]


def top() -> str:
    """Return the tables of the front page: the names of `d3stats` by job, then the packages."""
    lines: list[str] = []
    for job, listed in JOBS.items():
        entries = [Name("d3stats", name) for name in listed]
        lines += [*_heading(job), *_table([(_link(n, f"d3stats.{n.name}"), n.says) for n in entries])]
        lines += [".. toctree::", "   :hidden:", f"   :caption: {job}", ""]
        lines += [*(f"   {n.name} <generated/{n.page}>" for n in entries), ""]
    lines += _heading("Packages and modules")
    for part, chapters in PARTS.items():
        rows = [(f":py:mod:`{c}`", _says_of_module(c)) for c in chapters]
        lines += [f".. rubric:: {part}", "", *_table(rows)]
        lines += [".. toctree::", "   :hidden:", f"   :caption: {part}", ""]
        lines += [*(f"   {c.removeprefix('d3stats.')} <generated/{c}>" for c in chapters), ""]
    return "\n".join(lines)


def _says_of_module(module: str) -> str:
    return _spelled_out(first_line(importlib.import_module(module).__doc__ or ""), module)


def pages() -> Iterator[tuple[str, str]]:
    """Yield every page's file name and text."""
    writers: dict[str, Callable[[Name], str]] = {"function": function_page, "class": class_page}
    for each in names():
        if each.kind in writers:
            yield f"{each.page}.rst", writers[each.kind](each)
    for chapter in CHAPTERS:
        yield f"{chapter}.rst", chapter_page(chapter)
    yield "top.txt", top()


def write(folder: Path) -> None:
    """Write all pages; one that has not changed keeps its time, and one of a name that is gone is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    made = dict(pages())
    for path in folder.iterdir():
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
