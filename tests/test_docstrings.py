"""Every public name is documented: what it computes, its parameters, and an example that gives what it says."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import re
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import d3stats

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from numpydoc.docscrape import ClassDoc, FunctionDoc, NumpyDocString

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

import _api  # noqa: E402

MODULES = sorted(m.name for m in pkgutil.walk_packages(d3stats.__path__, "d3stats."))
FUNCTIONS = [each for each in _api.names() if each.kind == "function"]
CLASSES = [each for each in _api.names() if each.kind == "class"]

WITHOUT_EXAMPLE = {
    "d3stats.bridges.inspect.read_inspect_log": "a log of Inspect is made by a run of Inspect; the code is shown",
    "d3stats.bridges.inspect.write_debate_log": "likewise",
    "d3stats.run.live.LiveAgent.act": "asks a server",
    "d3stats.run.live.LiveAgent.check": "asks a server",
    "d3stats.run.live.LiveAgent.measure": "asks a server",
}
"""Public names whose documentation has no example that runs, and why."""

FORMS = ("to_frame", "summary", "to_dict", "to_latex")
"""What every result has; `d3stats.result.Result` shows them."""


@cache
def shown() -> dict[str, Any]:
    """Return what the reference shows examples of: functions, classes and members, by the place of the definition."""
    found: dict[str, Any] = {}
    for each in [*FUNCTIONS, *CLASSES]:
        value = inspect.unwrap(each.value)
        found[f"{value.__module__}.{value.__qualname__}"] = each.value
        for member in _api.members(value)[0] if each.kind == "class" else []:
            owner = member.owner
            place = f"{owner.__module__}.{owner.__qualname__}.{member.name}"
            found[place] = inspect.getattr_static(owner, member.name)
    return {place: value for place, value in found.items() if ">>>" in (inspect.getdoc(value) or "")}


SAMPLED = {f"d3stats.models.bayes.{name}" for name in ("accuracy", "mixture", "result", "rounds")}
"""Modules whose examples sample for seconds; tests/models/bayes samples the same models in the fast layer."""


LONG = {
    f"d3stats.{name}"
    for name in (
        "inference.reasons.rationales", "planning.describe", "planning.escalation", "planning.plan",
        "theory.check", "theory.instances.draws", "report.analysis", "report.paper", "plotting.rounds",
        "plotting.costs", "inference.bias.audit", "planning.log_cost", "planning.campaigns", "planning.ledger",
        "planning.calibration.calibrate", "plotting.style", "plotting.fits",
        "inference.judges.confidence", "inference.judges.jury",
        "inference.comparison.strata", "models.chains.panel_chain", "worlds.court_jury",
    )
}  # fmt: skip
"""Modules of 0.4 to 3 s; examples of their functions on pages of the documentation run in the fast layer.

The examples of their classes of results run there too (test_headlines.py).
"""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SAMPLED | LONG else ()) for name in MODULES]
)
def test_the_examples_of_a_module_run(name: str) -> None:
    """Those of the reference with nothing but the imports that their page shows, as when they are pasted."""
    module = importlib.import_module(name)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        if test.name in shown():
            imports = _api.imports(test.docstring or "", _api.home_of(shown()[test.name]))
            test.globs = {"__name__": "__main__"}
            exec("\n".join(imports), test.globs)
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_every_example_of_the_reference_is_run_with_the_imports_of_its_page() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    run = {
        test.name for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples
    }
    assert set(shown()) - run == set()
    assert len(shown()) > 500


def test_no_example_needs_a_private_module() -> None:
    needed = {
        line
        for value in shown().values()
        for line in _api.imports(inspect.getdoc(value) or "", _api.home_of(value))
    }
    assert "from d3stats import Trajectories, replay" in needed
    assert [line for line in needed if "._" in line or "import _" in line or ", _" in line] == []


def test_an_example_on_a_page_begins_with_its_imports() -> None:
    doc = (
        "Text.\n\n    >>> x = np.ones(2)\n    >>> x = [join(y, k) for y in x for k in range(2)]\n    >>> y\n"
    )
    home = {"__name__": "here", "np": importlib.import_module("numpy"), "join": d3stats.replay, "x": 1}
    assert _api.with_imports(doc.splitlines(), home)[2:5] == [
        "    >>> import numpy as np",
        "    >>> from d3stats import replay as join",
        "    >>> x = np.ones(2)",
    ]
    assert _api.with_imports(["no example"], home) == ["no example"]


def own_bases(kind: type) -> list[type]:
    """Return a class and its bases within the package."""
    return [base for base in kind.__mro__ if base.__module__.startswith("d3stats")]


def function_of(kind: type, name: str) -> Any:
    raw = inspect.getattr_static(kind, name)
    return raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw


def is_shown(kind: type, method: str) -> bool:
    """Say whether a method is used in an example: its own, its class's, or that of a base that has it."""
    own = ">>>" in (function_of(kind, method).__doc__ or "")
    used = re.compile(rf">>>.*\.{method}\(|\.\.\..*\.{method}\(")
    bases = [base for base in own_bases(kind) if base is kind or method in vars(base)]
    by_class = any(used.search(base.__doc__ or "") for base in [*bases, *own_bases(kind)])
    by_base = any(">>>" in (getattr(vars(base).get(method), "__doc__", "") or "") for base in bases)
    form = method in FORMS and any(base.__name__ == "Result" for base in own_bases(kind))
    return own or by_class or by_base or form


def test_every_public_function_and_class_has_an_example_that_runs() -> None:
    without = {each.full for each in [*FUNCTIONS, *CLASSES] if ">>>" not in (each.value.__doc__ or "")}
    assert without == {name for name in WITHOUT_EXAMPLE if "LiveAgent" not in name}


def test_every_public_method_is_used_in_an_example() -> None:
    without = {
        f"{each.full}.{member.name}"
        for each in CLASSES
        for member in _api.members(each.value)[0]
        if member.directive == "automethod" and not is_shown(each.value, member.name)
    }
    assert without == {name for name in WITHOUT_EXAMPLE if "LiveAgent" in name}


def test_few_names_have_no_example_and_each_has_a_reason() -> None:
    assert len(WITHOUT_EXAMPLE) <= 5
    assert all(WITHOUT_EXAMPLE.values())


def listed(doc: NumpyDocString, *sections: str) -> set[str]:
    """Return the names that sections of a docstring describe."""
    entries = [entry.name for section in sections for entry in doc[section]]
    return {name.strip().lstrip("*") for entry in entries for name in entry.split(",")}


def referred(each: _api.Name) -> set[str]:
    """Return the parameters of the functions whose documentation a docstring refers to for the others."""
    told = " ".join((each.value.__doc__ or "").split())
    names = re.findall(r"(?:[Pp]arameters|[Ss]ettings|[Aa]rguments)[^.]*?:(?:func|class):`~?([\w.]+)`", told)
    found: set[str] = set()
    for name in names:
        full = _api.documented(name, each.value.__module__, each.page)
        there = next((other for other in _api.names() if other.full == full), None)
        found |= set(inspect.signature(there.value).parameters) if there else set()
    return found


REFERENCE = re.compile(r":(?:func|class|meth|data|attr|exc|obj):`(?:[^`<>]*<)?~?\.?([\w.]+)>?`")


def docs_of(each: _api.Name) -> list[str]:
    """Return the docstrings of a public name and of its public members."""
    if each.kind == "constant":
        return [_api.constant_doc(each.name, each.value)]
    found = [inspect.getdoc(each.value) or ""]
    if each.kind == "class":
        members = _api.members(each.value)[0]
        found += [inspect.getdoc(getattr(member.owner, member.name)) or "" for member in members]
        found += _api.attribute_docs(each.value).values()
    return found


def test_every_reference_of_a_docstring_names_something() -> None:
    """On the page of the name, and in the tables that repeat its first line."""
    lost = {
        (each.full, target)
        for each in _api.names()
        for target in REFERENCE.findall("\n".join(docs_of(each)))
        for module in (each.chapter, getattr(each.value, "__module__", each.chapter))
        if module.startswith("d3stats")
        if _api.documented(target, module, each.page) is None
    }
    assert lost == set()


def test_every_parameter_of_a_public_function_is_described_and_no_other() -> None:
    missing, stale = {}, {}
    for each in FUNCTIONS:
        doc = FunctionDoc(each.value)
        said = listed(doc, "Parameters", "Other Parameters")
        taken = {name for name in inspect.signature(each.value).parameters if not name.startswith("_")}
        if rest := taken - said - referred(each):
            missing[each.full] = rest
        if rest := said - taken:
            stale[each.full] = rest
    assert missing == {}
    assert stale == {}


def test_every_described_parameter_of_a_public_function_has_a_sentence() -> None:
    """A name and a type alone leave open what the parameter does."""
    bare = {
        (each.full, entry.name)
        for each in FUNCTIONS
        for entry in FunctionDoc(each.value)["Parameters"]
        if not "".join(entry.desc).strip()
    }
    assert bare == set()


def test_a_public_function_says_what_it_returns() -> None:
    silent = [
        each.full
        for each in FUNCTIONS
        if not any(FunctionDoc(each.value)[section] for section in ("Returns", "Yields"))
        and inspect.signature(each.value).return_annotation not in ("None", None, "Iterator[None]")
    ]
    assert silent == []


def fields_of(kind: Any) -> list[str]:
    """Return the public fields of a dataclass, record or named tuple."""
    if dataclasses.is_dataclass(kind):
        found = [field.name for field in dataclasses.fields(kind)]
    else:
        found = [*getattr(kind, "__struct_fields__", ()), *getattr(kind, "_fields", ())]
    return [name for name in found if not name.startswith("_")]


def test_every_field_of_a_public_class_is_described() -> None:
    missing = {}
    for each in CLASSES:
        said: set[str] = set()
        for base in own_bases(each.value):
            doc = ClassDoc(
                base, doc=inspect.cleandoc(base.__doc__ or ""), config={"show_class_members": False}
            )
            said |= listed(doc, "Parameters", "Attributes") | set(_api.attribute_docs(base))
        if rest := set(fields_of(each.value)) - said:
            missing[each.full] = rest
    assert missing == {}


def test_the_first_line_of_a_public_docstring_says_what_it_is_in_one_sentence() -> None:
    bad = []
    for each in [*FUNCTIONS, *CLASSES]:
        first, *rest = (inspect.getdoc(each.value) or "").splitlines() or [""]
        if not first.endswith((".", "?")) or len(first) > 120 or (rest and rest[0]):
            bad.append((each.full, first))
    assert bad == []


def test_no_docstring_speaks_to_the_developers_of_the_package() -> None:
    inside = re.compile(r"[Ww]ho may live here|\bFloor \d|[Ii]ts public face|\b(?:this|the|a) room\b")
    texts = {name: importlib.import_module(name).__doc__ or "" for name in MODULES}
    texts |= {each.full: each.value.__doc__ or "" for each in [*FUNCTIONS, *CLASSES]}
    # Private modules are read by developers alone.
    spoken = [name for name, text in texts.items() if inside.search(text)]
    assert [name for name in spoken if not any(part.startswith("_") for part in name.split("."))] == []


def test_the_documentation_of_a_package_opens_with_the_users_question() -> None:
    packages = [name for name in _api.CHAPTERS if hasattr(importlib.import_module(name), "__path__")]
    opening = {name: _api.first_line(importlib.import_module(name).__doc__ or "") for name in packages}
    assert {name: line for name, line in opening.items() if "?" not in line} == {}
