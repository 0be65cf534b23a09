"""A command and the function of the library that it calls have the same options: names, defaults, choices."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest
from typer.main import get_command

from d3stats.cli import app
from d3stats.cli.app import GROUPS
from d3stats.cli.derive import NAMED, Derived, form_of, library_function, resolved, singular
from d3stats.cli.options import READING
from d3stats.sources import Reading

COMMANDS: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]


def command_of(name: str) -> Any:
    module = name.replace("-", "_") + ("_" if name == "import" else "")
    return getattr(import_module(f"d3stats.cli.{module}"), module)


DERIVED = {
    name: command
    for names in GROUPS.values()
    for name in names
    if isinstance(command := command_of(name), Derived)
}

NO_WORD: dict[str, dict[str, str]] = {
    "plan": {"price": "one price is a row of --prices", "dollars": "an array"},
}
"""Parameters of functions that have no option, with the reason."""

OWN_FORM = {
    "scores": {"human": "a table is given by its path"},
    "compare": {
        "value": "a column of a table may be named beside the words that it takes",
        "round_number": "a round or 'last', one or one per run",
    },
    "agreement": {"categories": "all in one list, separated by commas, because their order matters"},
    "rationales": {
        "role": "it takes the place of the role of a reading",
        "cites": "a mapping is a file of TOML",
        "reasons": "a mapping is a file of TOML",
        "embed": "an array is given by its path",
        "repeated_words": "0 for None",
    },
}
"""Parameters that have another form in a terminal, with the reason."""

OF_A_TERMINAL = {
    *("json", "latex", "figure", "help", "output", "overwrite", "table"),  # where and how results are written
    *("prices", "model", "role_model", "output_share"),  # a table of prices, which dollars are made of
    *("all", "pairs", "at_least", "at_most"),  # what is printed, and exit codes for programs
    *("paired", "jury", "round", "level", "bayes"),  # methods and other functions of a result
    *("world", "name"),  # the first argument of `calibrate`; names of two logs, of `compare_rationales`
}


def options(name: str) -> dict[str, Any]:
    """Return the options of a command by the names of parameters in Python."""
    return {
        max(each.opts, key=len).lstrip("-").replace("-", "_"): each
        for each in COMMANDS[name].params
        if each.param_type_name == "option"
    }


def test_most_commands_are_derived() -> None:
    assert {
        "scores",
        "plan",
        "fit",
        "replay",
        "compare",
        "agreement",
        "rationales",
        "escalate",
        "calibrate",
    } <= set(DERIVED)


@pytest.mark.parametrize("name", DERIVED)
def test_each_parameter_is_an_option_of_the_same_name_default_and_choices(name: str) -> None:
    function = library_function(DERIVED[name].place)
    typed = options(name)
    for parameter in inspect.signature(function).parameters.values():
        required = parameter.default is parameter.empty
        if required or parameter.name in NO_WORD.get(name, ()):
            continue
        if parameter.name in DERIVED[name].sources:
            continue
        if parameter.name == "rng":
            assert typed.pop("seed").default == 0
        elif parameter.name == "strata":
            assert typed.pop("strata").default is None
        elif parameter.name in OWN_FORM.get(name, ()):
            assert typed.pop(NAMED.get(parameter.name, parameter.name)) is not None
        else:
            form = form_of(resolved(function, parameter.annotation))
            assert form is not None, parameter
            _, words, several = form
            option = typed.pop(
                NAMED.get(parameter.name, singular(parameter.name) if several else parameter.name)
            )
            assert option.multiple == several
            assert several or option.default == parameter.default
            assert not words or option.metavar == f"[{'|'.join(words)}]"
            assert (option.help or "").strip()
    for field in READING:
        typed.pop(singular(field) if field == "roles" else field, None)
    assert set(typed) <= OF_A_TERMINAL


@pytest.mark.parametrize("name", DERIVED)
def test_what_is_said_to_be_special_is_a_parameter(name: str) -> None:
    names = set(inspect.signature(library_function(DERIVED[name].place)).parameters)
    assert set(NO_WORD.get(name, ())) == DERIVED[name].without <= names
    assert set(OWN_FORM.get(name, ())) <= names


def test_a_terminal_has_every_field_of_a_reading() -> None:
    assert set(READING) == set(Reading.__annotations__)


@pytest.mark.parametrize("name", DERIVED)
def test_a_command_that_reads_sources_has_every_option_of_reading(name: str) -> None:
    assert {"lenient", "role", "missing_values", "columns", "encoding", "sheet", "read"} <= set(options(name))


BESIDE: dict[str, tuple[str, dict[str, str]]] = {
    "report": (
        "d3stats.report.analysis:report",
        {"command": "the terminal knows its command", "rng": "seed"},
    ),
    "doctor": ("d3stats.log.doctor:doctor", {"log": "what was read before, so that no file is read twice"}),
    "import": ("d3stats.log.importers:import_log", {}),
    "simulate": (
        "d3stats.planning.simulate:simulate",
        {"progress": "the terminal shows its own", "out": "a short name is --output in a terminal"},
    ),
}
"""Commands whose options are written out: the function that each calls, and parameters of another form."""


POWER = "d3stats.inference.comparison.power:"

PIECES: dict[str, tuple[tuple[str, ...], dict[str, str | None]]] = {
    "power": (
        (POWER + "Design", POWER + "sample_size", POWER + "power", POWER + "minimum_detectable_effect"),
        {"n_questions": "n", "alternative": None, "effect": "effect", "design": None},
    ),
    "debate": (
        ("d3stats.run.run:run_debates", "d3stats.run.live:LiveAgent"),
        {
            "rule": "stop",
            "log": "output",
            "agents": "model",
            "requests_per_minute": "rpm",
            "concurrency": "concurrency",
            "backoff": None,
            "longest_wait": None,
            "observer": None,
            "halt": None,
            "protocol": "protocol",
        },
    ),
    "show": (("d3stats.log.transcript:read_transcript",), {}),
}
"""Commands that call several functions, or one of them by case: the functions, and the options of another name.

None: a form of Python only. `alternative` is --one-sided in a terminal, `observer` and `halt` are functions, `backoff`
and `longest_wait` serve tests of servers. `concurrency` is that of the run; an agent alone has one of its own.
"""


@pytest.mark.parametrize("name", BESIDE)
def test_a_command_that_is_written_out_has_the_parameters_and_defaults_of_its_function(name: str) -> None:
    place, special = BESIDE[name]
    typed = options(name)
    parameters = inspect.signature(library_function(place)).parameters
    assert set(special) <= set(parameters)
    for parameter in parameters.values():
        if parameter.name in special or parameter.default is parameter.empty:
            continue
        option = typed.get(parameter.name) or typed[singular(parameter.name)]
        assert option.default == parameter.default, parameter


@pytest.mark.parametrize("name", PIECES)
def test_a_command_of_several_functions_has_the_parameters_and_defaults_of_each(name: str) -> None:
    places, renamed = PIECES[name]
    typed = options(name)
    for place in places:
        for parameter in inspect.signature(library_function(place)).parameters.values():
            words = renamed.get(parameter.name, parameter.name)
            if words is None or (parameter.default is parameter.empty and parameter.name not in renamed):
                continue
            option = typed.get(words) or typed[singular(words)]
            unset = parameter.default is parameter.empty or parameter.name in renamed
            assert unset or option.default in (parameter.default, None), parameter


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"demo"}))
def test_an_option_of_one_name_has_one_default(name: str) -> None:
    """`--model` is the model of an LLM in every command, `--seed` begins at 0, and so on."""
    for option in COMMANDS[name].params:
        usual = {"model": None, "role_model": None, "prices": None, "level": 0.95, "missing": "exclude"}
        if option.name in usual and option.param_type_name == "option":
            assert option.default == usual[option.name], option.name
            assert option.name != "model" or "model" in option.help
