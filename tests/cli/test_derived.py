"""A command and the function of the library that it calls have the same options: names, defaults, choices."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest
from typer.main import get_command

import d3stats
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
    "report": {"command": "the terminal knows its command", "lenient": "a page is always read so"},
    "doctor": {"log": "what was read before, so that no file is read twice"},
    "simulate": {"progress": "the terminal shows its own"},
    "debate": {
        "observer": "a function",
        "halt": "an event of Python",
        "backoff": "for tests of servers",
        "longest_wait": "for tests of servers",
        "ties": "the items say",
    },
    "power": {
        "cluster": "an array",
        "name": "a run is called as its file",
        "round_number": "a pilot is read at its end",
    },
}
"""Parameters of functions that have no option, with the reason."""

OWN_FORM = {
    "report": {"prices": "a path", "role_models": "ROLE=NAME for each"},
    "simulate": {"out": "a short name is --output in a terminal"},
    "debate": {"rule": "a text", "shadow": "a text", "prices": "a path", "temperature": "a number alone"},
    "power": {"n_questions": "it also says what is asked for"},
    "abstain": {"rule": "the rule that is looked at, not one that stops a run (--stop)"},
    "scores": {"human": "a table is given by its path"},
    "correct": {
        "chance": "a mapping is a column",
        "categories": "all in one list, separated by commas, because their order matters",
    },
    "compare": {
        "value": "a column of a table may be named beside the words that it takes",
        "round_number": "a round or 'last', one or one per run",
    },
    "panel": {"prices": "JUDGE=PRICE for each"},
    "paper": {
        "human": "a table is given by its path",
        "prices": "a path",
        "role_models": "ROLE=NAME for each",
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


OF_ONE_COMMAND = {
    "debate": {"protocol", "synthetic", "dry_run"},
    "power": {"pilot", "n"},
    "doctor": {"fix"},
    "plan": {"campaign"},
    "report": {"gate"},
    "paper": {"csv"},
    "show": {"text"},
    "simulate": {"like", "world", "rule", "debates", "max_loss", "confidence", "csv", "by", "seed"},
}
"""Options of one command that are no parameter of its function: another function, or a choice of what is shown."""


def options(name: str) -> dict[str, Any]:
    """Return the options of a command by the names of parameters in Python."""
    return {
        max(each.opts, key=len).lstrip("-").replace("-", "_"): each
        for each in COMMANDS[name].params
        if each.param_type_name == "option"
    }


def parameters(name: str) -> list[tuple[Any, inspect.Parameter]]:
    """Return the parameters that have a default of the functions of a command, each once."""
    found: dict[str, tuple[Any, inspect.Parameter]] = {}
    for place in DERIVED[name].places:
        function = library_function(place)
        for parameter in inspect.signature(function).parameters.values():
            if parameter.default is not parameter.empty:
                found.setdefault(parameter.name, (function, parameter))
    return list(found.values())


def test_most_commands_are_derived() -> None:
    assert {
        "abstain",
        "correct",
        "debate",
        "power",
        "doctor",
        "report",
        "simulate",
        "show",
        "scores",
        "plan",
        "fit",
        "count",
        "replay",
        "compare",
        "agreement",
        "panel",
        "confidence",
        "rank",
        "paper",
        "rationales",
        "escalate",
        "calibrate",
    } <= set(DERIVED)


@pytest.mark.parametrize("name", DERIVED)
def test_each_parameter_is_an_option_of_the_same_name_default_and_choices(name: str) -> None:
    typed = options(name)
    for function, parameter in parameters(name):
        if parameter.name in NO_WORD.get(name, ()) or parameter.name in READING:
            continue
        if parameter.name in DERIVED[name].sources:
            continue
        if parameter.name == "rng":
            assert typed.pop("seed").default == 0
        elif parameter.name == "strata":
            assert typed.pop("strata").default is None
        elif parameter.name in OWN_FORM.get(name, ()):
            word = NAMED.get(parameter.name, parameter.name)
            named = next(each for each in (word, singular(word), parameter.name) if each in typed)
            assert typed.pop(named) is not None
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
    assert set(typed) <= OF_A_TERMINAL | OF_ONE_COMMAND.get(name, set())


@pytest.mark.parametrize("name", DERIVED)
def test_what_is_said_to_be_special_is_a_parameter(name: str) -> None:
    names = {parameter.name for _, parameter in parameters(name)} | set(READING)
    assert set(NO_WORD.get(name, ())) == DERIVED[name].without <= names
    assert set(OWN_FORM.get(name, ())) <= names


NO_FUNCTION = {"import", "show", "theorems", "formats", "protocols", "rules", "worlds", "demo", "example"}
"""Commands without a function of their name; ARCHITECTURE.md says why."""


def test_a_command_has_the_name_of_its_function_in_python() -> None:
    assert {name for name in COMMANDS if not callable(getattr(d3stats, name, None))} == (NO_FUNCTION)


def test_a_terminal_has_every_field_of_a_reading() -> None:
    assert set(READING) == set(Reading.__annotations__)


@pytest.mark.parametrize("name", DERIVED)
def test_a_command_that_reads_sources_has_every_option_of_reading(name: str) -> None:
    takes = {
        each
        for place in DERIVED[name].places
        for each in inspect.signature(library_function(place)).parameters
    }
    wanted = {
        singular(field) if field == "roles" else field for field in READING if {"reading", field} & takes
    }
    assert wanted - set(NO_WORD.get(name, ())) <= set(options(name))
    assert wanted, name


BESIDE: dict[str, tuple[str, dict[str, str]]] = {
    "import": ("d3stats.log.importers:import_log", {}),
}
"""Commands whose options are written out: the function that each calls, and parameters of another form."""


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


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"demo"}))
def test_an_option_of_one_name_has_one_default(name: str) -> None:
    """`--model` is the model of an LLM in every command, `--seed` begins at 0, and so on."""
    for option in COMMANDS[name].params:
        usual = {"model": None, "role_model": None, "prices": None, "level": 0.95, "missing": "exclude"}
        if option.name in usual and option.param_type_name == "option":
            assert option.default == usual[option.name], option.name
            assert option.name != "model" or "model" in option.help
