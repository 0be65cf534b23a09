"""Commands derived from functions of the library: names, defaults, choices and texts of options are the function's.

A command that calls several functions has the options of all; the first that names one says it. A command's file says
what is special to a terminal: its source argument, the parameters that have no word there (arrays, frames, callables),
those with another form, and how the result is printed. The rest comes from the signature, the parameter texts and
:class:`d3stats.sources.Reading`. The library is imported when options are asked for.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from d3stats._lazy import homes
from d3stats._words import parameter_texts
from d3stats.cli.options import READING, Seed, Strata, reading_of

if TYPE_CHECKING:
    from d3stats.sources import Opened

__all__ = ["Derived", "Given", "derived", "library_function", "options_of"]

EVERYWHERE: dict[str, tuple[Any, Any]] = {"rng": (Seed, 0), "seed": (Seed, 0), "strata": (Strata, None)}
"""Parameters that have one form in every command: a generator is a seed, strata are a column."""

NAMED = {
    "round_number": "round",
    "n_questions": "n",
    "requests_per_minute": "rpm",
    "rule": "stop",
    "out": "output",
}
"""Options with another name than the parameter: `round` is a function of Python, the others are short in a terminal."""

SHORT = {"rules": "-r", "n_components": "-k", "workers": "-w"}
"""Options that have one letter too."""

_PLAIN = {bool: bool, int: int, float: float, str: str, Path: str}
_MANY = (Sequence, Iterable, Collection, list, tuple)


class Given:
    """The words of a terminal, as arguments of the function of the library.

    Attributes
    ----------
    source : object
        The source argument: a path, or a list of paths.
    settings : dict
        The derived options, by the names of the function's parameters.
    reading : dict
        How the source is read.
    """

    def __init__(
        self, places: Sequence[str], source: Any, settings: dict[str, Any], reading: dict[str, Any]
    ) -> None:
        self.places, self.source, self.settings, self.reading = places, source, settings, reading

    def open(self) -> Opened:
        """Open the source as it was said to be read."""
        from d3stats.sources import open

        return open(self.source, **self.reading)

    def __call__(self, *sources: Any, **own: Any) -> Any:
        """Call the function with opened sources, or with paths, which are then read as was said.

        Only paths take the settings of reading.
        """
        places = [place for one in sources for place in (one if isinstance(one, list) else [one])]
        how = self.reading if all(isinstance(place, str) for place in places) else {}
        return library_function(self.places[0])(*sources, **self.of(self.places[0]) | how | own)

    def of(self, place: str) -> dict[str, Any]:
        """Return the settings that one of the functions takes."""
        takes = inspect.signature(library_function(place)).parameters
        return {name: value for name, value in self.settings.items() if name in takes}


class Derived:
    """A command that has the options of a function of the library, in place of its parameter ``given``.

    Parameters
    ----------
    command : callable
        Takes a :class:`Given` and the parameters that are special to the terminal; one with the name of a parameter
        of the function takes its place.
    places : sequence of str
        The functions, each as ``module:name``.
    source : mapping of str to type
        The source arguments as typer has them, by their names.
    without : collection of str
        Parameters that have no word in a terminal.
    completes : mapping of str to callable
        What completes an option in the shell.
    """

    def __init__(
        self,
        command: Callable[..., None],
        places: Sequence[str],
        source: Mapping[str, Any],
        without: Collection[str],
        completes: Mapping[str, Callable[..., list[str]]],
    ) -> None:
        self.command, self.places, self.without, self.completes = (
            command,
            places,
            frozenset(without),
            completes,
        )
        self.sources = dict(source)
        self.__doc__, self.__name__ = command.__doc__, command.__name__

    def stub(self) -> Callable[[], None]:
        """Return a function without options, which the program lists by its name and text."""

        def command() -> None:
            raise NotImplementedError

        command.__doc__, command.__name__ = self.__doc__, self.__name__
        command.declared = self  # type: ignore[attr-defined]  # read by the completion and the tests
        return command

    def function(self) -> Callable[..., None]:
        """Return the command as typer reads it: a function with all options in its signature."""
        hints = get_type_hints(self.command, include_extras=True)
        mine = dict(inspect.signature(self.command).parameters)
        del mine["given"]
        special = self.without | set(mine) | set(self.sources) | set(READING)
        theirs = dict(options_of(self.places, special, self.completes))
        reads = reading_taken(self.places)
        keyword = inspect.Parameter.KEYWORD_ONLY
        own = {name: p.replace(kind=keyword, annotation=hints[name]) for name, p in mine.items()}
        first = {
            name: inspect.Parameter(name, keyword, annotation=kind) for name, kind in self.sources.items()
        }
        how = {
            name: inspect.Parameter(name, keyword, default=default, annotation=kind)
            for name, (kind, default) in reads.items()
            if not {name, singular(name)} & (set(own) | self.without)
        }
        # Those of the terminal that are the function's stand where the function has them, the others at the end.
        names = [
            name for place in self.places for name in inspect.signature(library_function(place)).parameters
        ]
        whole: dict[str, inspect.Parameter] = theirs | own
        placed = {name: whole[name] for name in names if name in whole}
        last = {name: p for name, p in own.items() if name not in placed}
        seed = {name: placed.pop(name) for name in ("rng", "seed") if name in placed and name in theirs}
        parameters: dict[str, inspect.Parameter] = first | placed | how | seed | last

        def run(**typed: Any) -> None:
            for_terminal = {name: typed.pop(name) for name in mine}
            sources = [typed.pop(name) for name in self.sources]
            source = sources[0] if len(sources) == 1 else sources
            reading = reading_of({name: typed.pop(name) for name in how})
            settings = {name: value for name, value in typed.items() if value is not None and value != []}
            if "level" in settings:  # before anything is read
                from d3stats._check import probability

                settings["level"] = probability("level", settings["level"], open_interval=True)
            self.command(given=Given(self.places, source, settings, reading), **for_terminal)

        run.__doc__, run.__name__ = self.__doc__, self.__name__
        run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]  # what typer reads
        run.__annotations__ = {name: p.annotation for name, p in parameters.items()}
        return run


def derived(
    places: str | Sequence[str],
    source: Mapping[str, Any],
    *,
    without: Collection[str] = (),
    completes: Mapping[str, Callable[..., list[str]]] | None = None,
) -> Callable[[Callable[..., None]], Derived]:
    """Derive the options of a command from a function of the library, or from several; see :class:`Derived`."""
    each = [places] if isinstance(places, str) else places
    return lambda command: Derived(command, each, source, without, completes or {})


def library_function(place: str) -> Callable[..., Any]:
    """Return the function at ``module:name``."""
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def reading_taken(places: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """Return the settings of reading that functions take: all, or those that they name themselves."""
    takes = {name for place in places for name in inspect.signature(library_function(place)).parameters}
    return {name: form for name, form in READING.items() if "reading" in takes or name in takes}


def options_of(
    places: Sequence[str], without: Collection[str], completes: Mapping[str, Callable[..., list[str]]]
) -> Iterator[tuple[str, inspect.Parameter]]:
    """Yield the options of the parameters of functions that have a default, by their names, each once."""
    said: dict[str, tuple[str, Callable[..., Any], inspect.Parameter]] = {}
    texts: dict[str, str] = {}
    for place in places:
        function = library_function(place)
        texts = {**parameter_texts(function), **texts}
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is not parameter.VAR_KEYWORD and parameter.default is not parameter.empty:
                said.setdefault(name, (place, function, parameter))
    for name, (place, function, parameter) in said.items():
        if name in without:
            continue
        if name in EVERYWHERE:
            kind, default = EVERYWHERE[name]
            yield name, inspect.Parameter(name, parameter.KEYWORD_ONLY, default=default, annotation=kind)
            continue
        form = form_of(resolved(function, parameter.annotation))
        if form is None:
            raise TypeError(
                f"{name} of {place} must have a form in a terminal, or be in `without`; got {parameter.annotation}"
            )
        kind, words, several = form
        text = texts[name]
        word = "--" + NAMED.get(name, singular(name) if several else name).replace("_", "-")
        if several:
            text = f"{text.rstrip('.')}; repeatable."
        names = [f"{word}/--no-{word[2:]}"] if kind is bool and parameter.default else [word]
        names += [SHORT[name]] if name in SHORT else []
        option = typer.Option(
            *names,
            help=text,
            metavar=f"[{'|'.join(words)}]" if words else None,
            autocompletion=completes.get(name),
        )
        default = None if several else parameter.default
        yield name, _keyword(name, list[kind] if several else kind, default, option)  # type: ignore[valid-type]  # a type at run time


def _keyword(name: str, kind: Any, default: Any, option: Any) -> inspect.Parameter:
    whole = Annotated[kind | None if default is None else kind, option]  # type: ignore[valid-type]  # a type at run time
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=whole)


def form_of(annotation: Any) -> tuple[type, tuple[str, ...], bool] | None:
    """Return the type of a parameter in a terminal, the words that it takes, and whether it may be repeated.

    Examples
    --------
    >>> form_of(Sequence[str] | str | None)
    (<class 'str'>, (), True)
    >>> form_of(Literal["exclude", "wrong"] | None)
    (<class 'str'>, ('exclude', 'wrong'), False)
    >>> form_of(Callable[[str], str] | None)
    """
    if annotation is Any:
        return str, (), False
    parts = [part for part in _parts(annotation) if part is not type(None)]
    for part in parts:
        if get_origin(part) in _MANY and (inner := form_of(get_args(part)[0])) is not None:
            return inner[0], inner[1], True
    if words := tuple(
        w for part in parts if get_origin(part) is Literal for w in get_args(part) if w is not None
    ):
        return str, words, False
    return next(((_PLAIN[part], (), False) for part in parts if part in _PLAIN), None)


def _parts(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Union, types.UnionType):
        return [each for part in get_args(annotation) for each in _parts(part)]
    return [annotation]


def resolved(function: Callable[..., Any], annotation: Any) -> Any:
    """Return the type of an annotation, also one that is imported for type checkers only."""
    if not isinstance(annotation, str):
        return annotation
    module = inspect.getmodule(function)
    return eval(annotation, vars(module), _ForTypes(str(getattr(module, "__file__", ""))))


class _ForTypes(dict[str, Any]):
    """The names that a module imports for type checkers only."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._homes = homes(file)

    def __missing__(self, name: str) -> Any:
        return getattr(import_module(self._homes[name]), name)


def singular(name: str) -> str:
    """Name an option that is given once per value: ``rules`` becomes ``rule``."""
    return name.removesuffix("s")
