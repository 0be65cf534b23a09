"""Does a rationale refer to the debate: by a speaker, a round, a word for arguing, or a quotation.

D3, section 5.8, counts rationales that refer to the debate explicitly, and gives two examples: one names an advocate
who argued something, the other a round and a rebuttal. Here the following count:

- ``speaker``: the name or the role of another agent that had spoken in this debate before. A role, or a name that is a
  word such as "critic", counts as a noun for an agent only ("the judge", "advocate A", "judges agreed"), not in
  "I judge answer A to be better";
- ``round``: a round that the debate had reached ("in round 2", "the opening round"), but not "the last round of golf";
- ``argument``: a word of :data:`ARGUMENT`, such as "argued", "rebuttal", "the transcript", unless its subject is a
  candidate ("the essay argues") or it is about another debate ("the debate about taxes");
- ``quote``: words in quotation marks, at least three, that occur in an earlier turn of this debate by another agent and
  not in the question or a candidate.

The first three see words beside each other and not their meaning; a user's own patterns replace them. Words of the
prompt that come back in an answer are no reference either. Phrases to ignore are left out, and a note names a phrase to
which most hits of a kind are due.

Words that a rationale *repeats* without quotation marks are no reference by themselves: two agents who deal with one
question write the same words without having read each other. So the share of rationales that repeat an earlier turn
comes with a control, the share that have words in common with turns of the same time, which they cannot have read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, islice, pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Bools, Floats
from d3stats._words import counted, cut, setting, verb, visible
from d3stats.inputs.texts import Texts
from d3stats.note import Note, warning

__all__ = ["ARGUMENT", "QUOTE", "REPEATED_WORDS", "compiled", "phrases_to_ignore", "references", "repeats"]

QUOTE = "quote"
QUOTED_WORDS = 3
"""So many words in quotation marks are a quotation; fewer are a term."""
REPEATED_WORDS = 6
"""So many words in a row are repeated if they occur in another turn."""
FEWEST_HITS = 10
"""With fewer rationales of a kind no note names a phrase."""

ARGUMENT = (
    r"\b(?:argu(?:ed|es|ing)|rebut(?:s|ted|tals?)?|refut(?:ed|es)|conced(?:ed|es)|countered|contend(?:ed|s)"
    r"|counter-?(?:arguments?|points?)|debaters?|debate[sd]?|transcripts?|opponents?|cross-examin\w+"
    r"|(?:opposing|other)\s+(?:sides?|advocates?|agents?)|(?:opening|closing)\s+(?:statement|argument)s?"
    r"|(?:both|neither|each)\s+sides?\s+(?:has\s+|have\s+)?(?:agree|argu|claim|conced|made|make|offer|present|provid|rais)\w*"
    r")\b"
)
"""Words for what happens in a debate, in any case. Words about a candidate or another debate do not count."""

_WORK = (
    r"(?:answer|article|author|book|candidate|essay|film|letter|model|narrator|novel|option|paper|paragraph|passage"
    r"|piece|poem|poet|protagonist|report|response|review|solution|speech|story|study|summary|text|translation|writer)"
    r"s?(?:\s+(?:(?-i:[A-Z])|\d+|one|two|three))?"
)
_OF_A_WORK = re.compile(
    rf"\b(?:{_WORK}|he|she|it|I|we|you|assistant\s+(?:(?-i:[A-Z])|\d+))"
    r"(?:\s+(?:\w+ly|also|then|even|has|have|had|just))*\s+$",
    re.IGNORECASE,
)
"""What stands before a word for arguing where a candidate, its author or the writer argues."""
_IN_A_WORK = re.compile(
    rf"\b{_WORK}(?:\s+(?:\w+ly|also|even))*\s+(?:acknowledg|address|anticipat|answer|consider|contain|ha[sd]\b|have\b"
    r"|includ|lack|list|mak|offer|present|provid|rais|us)\w*(?:\s+\w+){0,3}\s+$",
    re.IGNORECASE,
)
_ARGUING = re.compile(
    r"argu|rebut(?:s|ted)|refut|conced|counter(?!-?(?:argu|point))|contend|debated", re.IGNORECASE
)
_OWN_TO_WORKS = re.compile(r"counter|rebuttal|opening|closing", re.IGNORECASE)
"""Nouns for what a candidate may hold itself."""
_THIS_DEBATE = re.compile(r"\b(?:the|this|our|these|those|entire|whole|full)\s+$", re.IGNORECASE)
_ANOTHER_DEBATE = re.compile(
    r"[\s-]+(?:about|on(?!\s+the\s+whole)|over|around|surrounding|whether|club|class|teams?)\b", re.IGNORECASE
)
_OTHER_DEBATED = re.compile(r"\s+(?:topics?|issues?|questions?|subjects?|matters?|points?)\b", re.IGNORECASE)
_NOT_OPPONENTS = re.compile(r"\s+of\b", re.IGNORECASE)
_NOT_THE_DEBATES = re.compile(
    r"\s+of\s+(?!(?:(?:the|this|our|its|their)\s+)?(?:debat|discuss|argu|question|deliberat|vot|scor|rebut|defen[cs]|exchang"
    r"|talk|comment|feedback|remark|statement|speak|judg|cross|evidence|review)\w*)",
    re.IGNORECASE,
)
"""What follows upon a round of something else."""

_CALLED = ("agent", "debater", "expert", "panelist", "participant", "referee", "reviewer", "speaker")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ROUND = re.compile(
    rf"\brounds?\s*(?:no\.?\s*|#\s*)?(?P<digits>\d{{1,3}})\b(?![.,]\d|\s*%)|\brounds?\s+(?P<word>{'|'.join(_NUMBERS)})\b"
    rf"|\b(?P<ordinal>{'|'.join(_ORDINALS)})\s+rounds?\b|\b(?P<short>\d{{1,3}})(?:st|nd|rd|th)\s+rounds?\b"
    r"|\b(?P<relative>last|final|previous|earlier|opening|initial|prior|preceding|each|every|both|all)\s+rounds?\b",
    re.IGNORECASE,
)
_PEOPLE = frozenset(
    (
        *(
            "advocate",
            "affirmative",
            "agent",
            "aggregator",
            "assigner",
            "assistant",
            "author",
            "chair",
            "critic",
            "debater",
            "engineer",
        ),
        *(
            "evaluator",
            "expert",
            "host",
            "judge",
            "juror",
            "lawyer",
            "moderator",
            "negative",
            "panelist",
            "participant",
            "physician",
        ),
        *(
            "player",
            "psychologist",
            "public",
            "referee",
            "reviewer",
            "scientist",
            "scholar",
            "solver",
            "speaker",
        ),
        *("student", "summarizer", "synthesizer", "teacher", "user", "witness"),
    )
)
"""Names of one word that need more than the word to be those of a speaker."""
_ORDINAL = "|".join(_ORDINALS)
_KIND = (
    rf"(?:(?:same|other|{_ORDINAL}|last|final|presiding|opposing|previous|earlier|preceding|affirmative|negative|fellow"
    r"|remaining|dissenting|only|entire|two|three|four|five|six|seven)\s+){0,2}"
)
_BEFORE_ONE = re.compile(
    rf"\b(?:(?:the|this|our|another|each|every|either|neither|one)\s+{_KIND}"
    r"|(?:other|opposing|presiding|fellow|previous|earlier|preceding|dissenting)\s+)$",
    re.IGNORECASE,
)
_BEFORE_SOME = re.compile(
    r"\b(?:(?:the|these|those|our|both|all|most|some|several|many|few|other|fellow|opposing|of|two|three|four|five|six|seven)"
    rf"\s+{_KIND})$",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"\b(?:according to|contrary to|by|from|with|between|among|than|per|unlike)\s+$", re.IGNORECASE
)
_AS_A_VERB = re.compile(
    r"\b(?:I|we|you|they|who|which|let's|please|would|will|shall|can|could|may|might|must|should|cannot|do|does|did|\w+n['’]t"
    rf"|\w+['’](?:d|ll)|(?<!according )(?<!compared )(?<!contrary )(?<!response )(?<!respect )(?<!similar )"
    r"(?<!listened )(?<!opposed )(?<!attention )(?<!thanks )(?<!replied )(?<!reply )(?<!replies )(?<!due )(?<!close )"
    rf"(?<!responded )(?<!attributed )to|{_WORK})\s+(?:(?:not|also|then|all|both|\w+ly)\s+)*$",
    re.IGNORECASE,
)
"""What stands before a verb such as "judge" or "advocate": "I judge", "hard to judge", "answer A advocates"."""
_SAYS = re.compile(
    r"\s+(?:(?:\w+ly|also|then|all|both|never|once)\s+)*(?:argu(?:e|es|ed|ing)|sa(?:y|ys|id)|agree[sd]?|add(?:s|ed)|admit(?:s|ted)"
    r"|claimed|conceded|concluded|contend(?:s|ed)|countered|criticis?z?ed|emphasi[sz]e[sd]?|explain(?:s|ed)|found|gave|gives"
    r"|highlight(?:s|ed)|made|makes|mention(?:s|ed)|noted|notes|observed|pointed|points|presented|presents|provided|raised"
    r"|rebutted|replied|responded|ruled|scored|showed|shown|shows|state[sd]|stressed|suggest(?:s|ed)|think|thinks|thought"
    r"|voted|votes|was|were|is|are|has|have|had|did|does|do|wrote|writes|seems?)\b",
    re.IGNORECASE,
)
_SIDE = re.compile(r"(?:\s+and\s+(?:the\s+)?\w+)?\s+(?:sides?|teams?|debaters?|advocates?)\b", re.IGNORECASE)
_OF_ELSE = re.compile(
    r"\s+of\s+(?!(?:(?:the|each|both|this)\s+)?(?:\w+\s+)?(?:answers?|options?|sides?|candidates?|solutions?|debate|rounds?|(?-i:[AB])"
    r"|first|second)\b)",
    re.IGNORECASE,
)
"""Advocates of something else."""
_OWNED = re.compile(r"['’]s\b|(?<=s)['’](?=\s+\w)", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:[\s_#-]+|\s+no\.?\s*)(?:\d{1,3}|[A-HJ-Z])(?![\w'’])|[\s_#-]+[A-Z](?=['’]s)")
_OPENING = re.compile(r"(?:^|[.!?:;\n(\"“—])\s*$")
_AROUND = 80
"""So many signs before a word, and behind it, are read."""
_NEEDS = {"speaker": "name who spoke before", QUOTE: "quote"}
"""Kinds of evidence that need somebody who said something before."""
_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»]{5,1000})[\"“”«»]")
_CUT = re.compile(r"\[?(?:\.\.\.|…)\]?")
_NOT_WORD = re.compile(r"\W+")
_BLOCK = 8_192
"""Turns whose passages are in memory together."""


def compiled(patterns: Mapping[str, str | Sequence[str]], name: str) -> dict[str, re.Pattern[str]]:
    r"""Compile patterns by their names: a regular expression, or a list of whole words and phrases; in any case.

    Raises
    ------
    ValueError
        When there is none, or one is no regular expression, or fits an empty text.
    TypeError
        When it is no mapping of names to texts or lists of texts.

    Examples
    --------
    >>> found = compiled({"cost": ["price", "too expensive"], "safety": r"\b(?:un)?safe"}, "reasons")
    >>> [name for name, pattern in found.items() if pattern.search("The price is unsafe.")]
    ['cost', 'safety']
    """
    wanted = f"{name} must be a mapping of names to regular expressions or lists of words"
    if not isinstance(patterns, Mapping):
        raise TypeError(f"{wanted}; got {type(patterns).__name__}")
    if not patterns:
        raise ValueError(f"{name} must name at least one pattern; got none")
    found = {}
    for key, given in patterns.items():
        words = None if isinstance(given, str) else list(given) if isinstance(given, Iterable) else ()
        if words is not None and (not words or not all(isinstance(w, str) and w.strip() for w in words)):
            raise TypeError(f"{wanted}; got {name}[{key!r}]={given!r}")
        text = given if words is None else "|".join(map(_edged, words))
        try:
            pattern = re.compile(str(text), re.IGNORECASE)
        except re.error as error:
            raise ValueError(
                f"{name}[{key!r}] must be a regular expression; got {given!r} ({error})"
            ) from None
        if pattern.search("") is not None:
            raise ValueError(f"{name}[{key!r}] must not fit a text without a word; got {given!r}")
        found[str(key)] = pattern
    return found


def _spaced(phrase: str) -> str:
    """Return a pattern of a phrase whose words may be joined by spaces, dashes and underscores."""
    return r"[\W_]+".join(map(re.escape, re.split(r"[\s_-]+", phrase.strip())))


_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
"""Letters of scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Japanese and Chinese."""
_NO_SPACES = re.compile(f"[{_UNSPACED}]")
_BEGINS, _ENDS = rf"(?<![^\W{_UNSPACED}])", rf"(?![^\W{_UNSPACED}])"


def _edged(phrase: str) -> str:
    """Return a pattern of a phrase as whole words; where words have no spaces between them, anywhere in a text."""
    begins, ends = (
        "" if _NO_SPACES.match(sign) else edge
        for sign, edge in ((phrase.strip()[0], _BEGINS), (phrase.strip()[-1], _ENDS))
    )
    return f"{begins}{_spaced(phrase)}{ends}"


_COMMON = re.compile(
    r"\b(?:the|of|and|is|that|this|are|it|with|for|because|was|be|not|more|which)\b", re.IGNORECASE
)
_LETTERS = re.compile(r"[^\W\d_]")
_ENOUGH_WORDS = 8
"""Words of a text among which one of the commonest is, if it is English."""


def in_other_letters(texts: Sequence[str]) -> tuple[Bools, Bools]:
    """Say which texts are mostly in other letters than Latin ones, and which of them put no spaces between words.

    Examples
    --------
    >>> other, unspaced = in_other_letters(["The judge is right.", "Я согласен.", "正方是对的"])
    >>> other.tolist(), unspaced.tolist()
    ([False, True, True], [False, False, True])
    """
    other, unspaced = np.zeros(len(texts), dtype=np.bool_), np.zeros(len(texts), dtype=np.bool_)
    for k, text in enumerate(texts):
        if text.isascii():
            continue
        letters = _LETTERS.findall(text)
        latin = sum(letter < "\u0250" or "\u1e00" <= letter < "\u1f00" for letter in letters)
        other[k] = 2 * latin < len(letters)
        unspaced[k] = 2 * len(_NO_SPACES.findall(text)) > len(letters)
    return other, unspaced


def language_notes(texts: Sequence[str], other: Bools, *, cites: bool, reasons: bool) -> list[Note]:
    """Warn of texts in which English words cannot be found; `cites` and `reasons` are those that were not given."""
    asked = [
        f"{what} ({name}=, --{name} FILE.toml)"
        for wanted, what, name in ((cites, "references", "cites"), (reasons, "reasons", "reasons"))
        if wanted
    ]
    if not asked:
        return []
    advice = f"give words of their language for {' and '.join(asked)}"
    if n := int(other.sum()):
        shown = cut(visible(texts[int(other.argmax())], one_line=True), 40)
        text = (
            f"{n:,} of {counted(len(texts), 'rationale')} {verb(n, 'is', 'are')} not in Latin letters, such as "
            f"{shown!r}; the words that are looked for are English, so {verb(n, 'it is', 'they are')} left out; "
            f"{advice}"
        )
        return [warning(text, LANGUAGE, n=n)]
    long = [text for text in texts if len(text.split()) >= _ENOUGH_WORDS]
    n = sum(_COMMON.search(text) is None for text in long)
    if 2 * n <= len(long):
        return []
    text = (
        f"{n:,} of {counted(len(texts), 'rationale')} {verb(n, 'has', 'have')} none of the commonest English "
        f"words, and the words that are looked for are English; if the texts are in another language, {advice}"
    )
    return [warning(text, LANGUAGE, n=n)]


LANGUAGE = "language of rationales"
"""The kind of a note on texts in which English words cannot be found."""


def phrases_to_ignore(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Check words and phrases that are not to count as a reference.

    Raises
    ------
    TypeError
        When they are no text or list of texts with a letter or digit.

    Examples
    --------
    >>> phrases_to_ignore("other agents"), phrases_to_ignore(None)
    (('other agents',), ())
    """
    words = () if given is None else (given,) if isinstance(given, str) else given
    listed = tuple(words) if isinstance(words, Iterable) and not isinstance(words, Mapping) else None
    if listed is None or not all(isinstance(one, str) and re.search(r"[^\W_]", one) for one in listed):
        raise TypeError(f"ignore must be words or phrases, or a list of them; got ignore={given!r}")
    return tuple(dict.fromkeys(listed))


class _Hits:
    """What patterns find in texts outside of what is ignored, and with which phrases."""

    def __init__(self, texts: Sequence[str], ignore: Sequence[str]) -> None:
        self._spans: list[list[tuple[int, int]]] = [[] for _ in texts]
        self.ignored = dict.fromkeys(ignore, 0)
        for phrase in ignore:
            pattern = re.compile(_edged(phrase), re.IGNORECASE)
            for spans, text in zip(self._spans, texts, strict=True):
                found = [match.span() for match in pattern.finditer(text)]
                spans += found
                self.ignored[phrase] += bool(found)
        self._in: dict[tuple[str, str], list[int]] = {}

    def keep(
        self, kind: str, row: int, matches: Iterable[re.Match[str]], also: Iterable[re.Match[str]] = ()
    ) -> bool:
        """Note the phrases of a rationale that share no word with what is ignored; whether there is one."""
        spans = [*self._spans[row], *(match.span() for match in also)]
        phrases = {
            " ".join(match[0].casefold().split())
            for match in matches
            if not any(low < match.end() and match.start() < high for low, high in spans)
        }
        for phrase in phrases:
            counts = self._in.setdefault((kind, phrase), [0, 0])
            counts[0] += 1
            counts[1] += len(phrases) == 1
        return bool(phrases)

    def phrases(self) -> pd.DataFrame:
        """Return the phrases of each kind, the most frequent first: how many rationales have it, and it alone."""
        kinds = list(dict.fromkeys(kind for kind, _ in self._in))
        rows = [(kind, phrase, most, alone) for (kind, phrase), (most, alone) in self._in.items()]
        rows.sort(key=lambda row: (kinds.index(row[0]), -row[2], row[1]))
        table = pd.DataFrame(rows, columns=["kind", "phrase", "rationales", "alone"])
        return table.astype({"rationales": "int64", "alone": "int64"})


def references(
    said: Texts,
    patterns: Mapping[str, str | Sequence[str]] | None = None,
    ignore: Sequence[str] = (),
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Say which rationales refer to the debate, by each kind of evidence.

    Parameters
    ----------
    said : Texts
    patterns : mapping, optional
        In place of speaker, round and argument: what :func:`compiled` takes.
    ignore : sequence of str
        Words and phrases that are no reference: what shares a word with one of them does not count. Quotations are
        not concerned.

    Returns
    -------
    DataFrame of float
        One row per rationale, a column per kind: 1, 0, or NaN where no other agent, which could be named or quoted, had
        a turn before.
    DataFrame
        One row per kind, but not for quotations, and phrase that was found: ``kind, phrase, rationales`` that have it,
        and how many of these have it ``alone``, with no other phrase of the kind.
    list of str
        Notes.
    """
    columns: dict[str, Floats] = {}
    notes: list[str] = []
    texts = said.texts
    hits = _Hits(texts, ignore)

    def found(name: str, pattern: re.Pattern[str]) -> Floats:
        rows = enumerate(texts)
        return np.array(
            [hits.keep(name, row, pattern.finditer(text)) for row, text in rows], dtype=np.float64
        )

    if patterns is not None:
        for name, pattern in compiled(patterns, "cites").items():
            columns[name] = found(name, pattern)
        if QUOTE in columns:
            raise ValueError(f"cites must not be called {QUOTE!r}, which is looked for in any case; got it")
    else:
        columns["speaker"], columns["round"], notes = _by_words(said, hits)
        argument = re.compile(ARGUMENT, re.IGNORECASE)
        columns["argument"] = np.array(
            [
                hits.keep("argument", row, (m for m in argument.finditer(text) if _is_of_the_debate(m)))
                for row, text in enumerate(texts)
            ],
            dtype=np.float64,
        )
    columns[QUOTE] = _quotes(said)
    other, unspaced = in_other_letters(texts)
    for name in columns if patterns is None else ():
        columns[name][other] = np.nan
    columns[QUOTE][unspaced] = np.nan
    for phrase, n in hits.ignored.items():
        where = f"in {counted(n, 'rationale')}" if n else "which is in no rationale"
        notes.append(f"not taken as a reference: {phrase!r}, {where}")
    phrases = hits.phrases()
    notes += _echoes(phrases, columns)
    left = other if patterns is None else unspaced
    alone = {
        what: int(np.isnan(columns[name][~left]).sum()) for name, what in _NEEDS.items() if name in columns
    }
    for n in sorted({n for n in alone.values() if n}):
        what = " and ".join(what for what, lost in alone.items() if lost == n)
        notes.append(
            f"no other agent has a text in the log before {n:,} of {counted(len(said.rationales), 'rationale')}; "
            f"such rationales do not count in the share of those that {what}"
        )
    return pd.DataFrame(columns), phrases, notes


def _echoes(phrases: pd.DataFrame, columns: Mapping[str, Floats]) -> list[str]:
    """Name the phrases to which more than half of the hits of a kind are due: they may be those of the prompt."""
    notes = []
    for row in phrases.to_dict("records"):
        of = int(np.nansum(columns[row["kind"]]))
        if of >= FEWEST_HITS and row["alone"] > of / 2:
            phrase = cut(visible(row["phrase"], one_line=True), 60)
            what = (
                f"{row['alone']:,} of {counted(of, 'rationale')} with a reference of the kind {row['kind']!r}"
            )
            notes.append(
                f"{what} have only the phrase {phrase!r}: if the prompt has it, they echo the prompt; leave it out "
                f"with {setting('ignore', phrase)}"
            )
    return notes


# ------------------------------------------------------------------------------------------------ names and rounds


def _by_words(said: Texts, hits: _Hits) -> tuple[Floats, Floats, list[str]]:
    """Return which rationales name somebody who spoke before, NaN where nobody did, and which name a round; notes."""
    speaker: list[float] = []
    rounds: list[float] = []
    late = 0
    for turns, at in _debates(said):
        for row in at:
            one = turns[row]
            before = {(turn.agent, turn.role) for turn in turns if _is_before(turn, one)}
            names = tuple(sorted({agent for agent, _ in before}))
            roles = tuple(sorted({role for _, role in before if role}))
            others, own = _speakers(names, roles, one.agent, one.role)
            at_row = len(rounds)
            mine = one.role.casefold() if one.role else ""
            matches = others.finditer(one.text) if before else ()
            named = (match for match in matches if _is_somebody(match, mine, names))
            by_name = hits.keep("speaker", at_row, named, own.finditer(one.text))
            speaker.append(float(by_name) if before else np.nan)
            told = list(_ROUND.finditer(one.text)) if "round" in one.text.lower() else []
            told = [match for match in told if not _NOT_THE_DEBATES.match(one.text, match.end())]
            reached = [match for match in told if _round_of(match) <= one.round]
            rounds.append(float(hits.keep("round", at_row, reached)))
            late += bool(told) and not reached
    notes = []
    if late:
        notes.append(
            f"{counted(late, 'rationale')} {verb(late, 'names', 'name')} only rounds that the debate had not reached: "
            "this does not count as naming a round"
        )
    return np.array(speaker), np.array(rounds), notes


def _is_before(turn: Any, one: Any) -> bool:
    """Whether a turn of somebody else came before: in an earlier round, or in an earlier stage of this one."""
    return bool(turn.agent != one.agent and (turn.round, turn.stage) < (one.round, one.stage))


def _debates(said: Texts) -> Iterator[tuple[list[Any], list[int]]]:
    """Yield the turns of each debate, and which of them are rationales."""
    wanted = np.zeros(len(said.turns), dtype=np.bool_)
    wanted[said.rationales] = True
    rows = zip(said.turns.itertuples(index=False), wanted.tolist(), strict=True)
    for _, group in groupby(rows, key=lambda row: row[0].debate):
        turns = list(group)
        yield [turn for turn, _ in turns], [k for k, (_, is_one) in enumerate(turns) if is_one]


@lru_cache(maxsize=65_536)
def _speakers(
    names: tuple[str, ...], roles: tuple[str, ...], own: str, mine: str | None
) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the pattern of those who spoke before, by name or role, and of the author's own name (`own`).

    A name of one or two signs, or a number, counts only after a word for who it is: "agent 2", not "2". The group
    ``word`` holds a role, or a name that is a word for people, in which :func:`_is_somebody` finds the nouns.
    """
    called = "|".join(map(_spaced, (*_CALLED, *roles)))
    words = {word for word in (*roles, *names) if _is_word(word, roles)}

    def one(name: str) -> str:
        if len(name) < 3 or name.isdigit():
            return rf"\b(?:{called})s?[\s_#-]+{re.escape(name)}(?!\w)"
        return _edged(name)

    parts = [one(name) for name in sorted(names, key=len, reverse=True) if name not in words]
    parts += [rf"\b{_spaced(role)}s?\b" for role in roles if role not in words and role != mine]
    if words:
        listed = "|".join(map(_spaced, sorted(words, key=lambda word: (-len(word), word))))
        parts.append(rf"\b(?P<word>{listed})(?P<plural>s?)\b")
    else:
        parts.append(r"(?P<word>(?!))(?P<plural>(?!))")
    return re.compile("|".join(parts), re.IGNORECASE), re.compile(one(own), re.IGNORECASE)


def _is_word(name: str, roles: Iterable[str]) -> bool:
    """Whether a role or a name is one word for people, such as "judge"."""
    return name.casefold() in _PEOPLE or (name in roles and name.isalpha())


def _is_somebody(match: re.Match[str], mine: str, names: Sequence[str]) -> bool:
    """Whether a word that was found is a noun for somebody who spoke, and not a verb: "the judge", not "I judge"."""
    text, start, end = match.string, match.start(), match.end()
    before, behind = text[max(start - _AROUND, 0) : start], text[end : end + _AROUND]
    word = match["word"]
    if word is None:
        verb_like = re.match(r"(?:advocate|judge|referee)\b", match[0], re.IGNORECASE)
        return not (verb_like and _AS_A_VERB.search(before))
    if word.casefold() == mine:
        # Of the own role only others: "another juror", "the other jurors".
        others = re.search(
            r"\b(?:another|other|fellow|previous|earlier)\s+(?:\w+\s+)?$", before, re.IGNORECASE
        )
        return others is not None
    if _AS_A_VERB.search(before) or _OF_ELSE.match(text, end):
        return False
    many = bool(match["plural"])
    if (_BEFORE_SOME if many else _BEFORE_ONE).search(before) or _BEHIND.search(before):
        return True
    if (
        _OWNED.match(text, end)
        or _NUMBERED.match(text, end)
        or _SAYS.match(text, end)
        or _SIDE.match(text, end)
    ):
        return True
    # A name that is written as such: "as Critic put it".
    named = match[0] in names and word[0].isupper()
    return named and (not _OPENING.search(before) or behind[:1] in {",", ":"})


def _is_of_the_debate(match: re.Match[str]) -> bool:
    """Whether a word for arguing is not said of a candidate, its author or another debate."""
    text, start, end = match.string, match.start(), match.end()
    before, word = text[max(start - _AROUND, 0) : start], match[0].casefold()
    if word in {"debate", "debates"}:
        return bool(_THIS_DEBATE.search(before)) and not _ANOTHER_DEBATE.match(text, end)
    if word == "debated" and (
        _OTHER_DEBATED.match(text, end) or re.search(r"(?:\w+ly|much|often)[\s-]+$", before)
    ):
        return False
    if word in {"opponent", "opponents"}:
        return not _NOT_OPPONENTS.match(text, end)
    if _ARGUING.match(word):
        return not _OF_A_WORK.search(before)
    return not (_OWN_TO_WORKS.match(word) and _IN_A_WORK.search(before))


def _round_of(match: re.Match[str]) -> int:
    """Return the number of the round that is named; 0 for one that is not named by a number."""
    if match["relative"]:
        return 0
    for word, known in ((match["word"], _NUMBERS), (match["ordinal"], _ORDINALS)):
        if word:
            return known.index(word.lower()) + 1
    # Round 0 is no round of a log.
    return int(match["digits"] or match["short"]) or 1_000


# ------------------------------------------------------------------------------------------------ quotations


def _quotes(said: Texts) -> Floats:
    """Return which rationales hold a quotation of an earlier turn; NaN where nothing was said before."""
    found = []
    for turns, at in _debates(said):
        for row in at:
            one = turns[row]
            before = [turn.text for turn in turns if turn.text is not None and _is_before(turn, one)]
            quoted = [_spelt(part) for span in _QUOTED.findall(one.text) for part in _CUT.split(span)]
            quoted = [part for part in quoted if part.count(" ") > QUOTED_WORDS]
            sources = [_spelt(text) for text in before] if quoted else []
            asked = [_spelt(text) for text in said.asked.get(one.debate, ())] if quoted else []
            hit = any(_within(part, sources) and not _within(part, asked) for part in quoted)
            found.append(float(hit) if before else np.nan)
    return np.array(found)


def _spelt(text: str) -> str:
    """Return the words of a text in lower case, a space before and behind each."""
    return f" {' '.join(_NOT_WORD.split(text.lower()))} ".replace("  ", " ")


def _within(part: str, texts: Iterable[str]) -> bool:
    return any(part in text for text in texts)


# ------------------------------------------------------------------------------------------------ repeated words


class _Passages:
    """Turn texts into their passages of so many words; a passage is a number of 64 bits.

    Words are compared without case and signs. Two different passages have one number with a chance of about 1e-6 among
    ten million.
    """

    def __init__(self, words: int) -> None:
        self.words = words
        self._up = self._down = np.ones(0, dtype=np.uint64)

    def __call__(self, texts: Iterable[str | None]) -> list[NDArray[np.uint64]]:
        plain = [_plain(text or "") for text in texts]
        signs = np.frombuffer(b"\n".join(plain), dtype=np.uint8)
        word, start = self._words(signs)
        ends = np.searchsorted(start, np.cumsum([len(each) + 1 for each in plain]))
        whole = np.zeros(max(len(word) - self.words + 1, 0), dtype=np.uint64)
        for k in range(self.words):
            whole = whole * _FACTOR + word[k : k + len(whole)]
        bounds = pairwise([0, *ends.tolist()])
        return [whole[low : max(high - self.words + 1, low)] for low, high in bounds]

    def one_by_one(self, texts: NDArray[np.object_]) -> Iterator[NDArray[np.uint64]]:
        """Yield the passages of each text; a block of texts is in memory at a time."""
        for low in range(0, len(texts), _BLOCK):
            yield from self(texts[low : low + _BLOCK])

    def _words(self, signs: NDArray[np.uint8]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return a number for each word of a text of bytes, and where it starts.

        With x a byte and f a factor, a word's number is the sum of x f^i over its places, i counted from its start: two
        sums over all bytes before, their difference shifted back by f^-start.
        """
        inside = np.concatenate([[False], _IN_WORD[signs], [False]])
        edge = np.flatnonzero(inside[1:] != inside[:-1])
        start, end = edge[::2], edge[1::2]
        if len(self._up) < len(signs) + 1:
            size = len(signs) + 1
            inverse = np.uint64(pow(int(_FACTOR), -1, 1 << 64))
            for name, factor in (("_up", _FACTOR), ("_down", inverse)):
                powers = np.full(size, factor, dtype=np.uint64)
                powers[0] = 1
                setattr(self, name, np.cumprod(powers, dtype=np.uint64))
        before = np.zeros(len(signs) + 1, dtype=np.uint64)
        np.cumsum((signs.astype(np.uint64) + np.uint64(1)) * self._up[: len(signs)], out=before[1:])
        return _scrambled((before[end] - before[start]) * self._down[start]), start


_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_IN_WORD = np.array([chr(k).isalnum() or k == ord("_") or k >= 128 for k in range(256)], dtype=np.bool_)
"""Which bytes are part of a word, in a text from which other signs than ASCII's are gone."""


def _plain(text: str) -> bytes:
    """Return a text in lower case without signs that are not ASCII's."""
    lower = text.lower()
    return (lower if lower.isascii() else _NOT_WORD.sub(" ", lower)).encode("utf-8", "replace")


def _scrambled(codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread numbers over 64 bits (Steele, Lea and Flood's SplitMix64)."""
    x = (codes + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def repeats(said: Texts, words: int = REPEATED_WORDS) -> tuple[Floats, Floats, list[str]]:
    """Return which rationales repeat words of an earlier turn, and which share words with a turn of the same time.

    The second is the control, because no agent reads a turn of the same time. A passage is `words` words in a row. It
    does not count if it also occurs in the question or a candidate, or in an earlier text of the same author. In a
    debate of another cluster it is a turn of phrase and does not count either. For the control, passages of earlier
    turns do not count, since both authors may have read them there.

    Returns
    -------
    ndarray of float, ndarray of float, shape (rationales,)
        1, 0, or NaN where there is no other turn to compare with.
    list of str
        Notes.
    """
    passages = _Passages(words)
    of_turns = passages.one_by_one(said.turns["text"].to_numpy(dtype=object))
    found: tuple[list[tuple[int, set[int]]], list[tuple[int, set[int]]]] = ([], [])
    possible: tuple[list[bool], list[bool]] = ([], [])
    for turns, at in _debates(said):
        of = [set(each.tolist()) for each in islice(of_turns, len(turns))]
        for row in at:
            one = turns[row]
            before = [own for own, turn in zip(of, turns, strict=True) if own and _is_before(turn, one)]
            beside = [own for own, turn in zip(of, turns, strict=True) if own and _is_beside(turn, one)]
            known: set[int] | None = None
            for k, others in enumerate((before, beside)):
                possible[k].append(bool(others))
                shared = set().union(*(of[row] & each for each in others))
                if shared and known is None:
                    earlier = (own for own, turn in zip(of, turns, strict=True) if _is_own_before(turn, one))
                    asked = (each.tolist() for each in passages(said.asked.get(one.debate, ())))
                    known = set().union(*earlier, *asked)
                shared.difference_update(known or (), *(before if k else ()))
                if shared:
                    found[k].append((len(possible[k]) - 1, shared))
    several = len(pd.unique(said.turns["cluster"])) > 1
    columns = []
    for there, each in zip(possible, found, strict=True):
        column = np.where(there, 0.0, np.nan)
        if each:
            owner = np.repeat([row for row, _ in each], [len(one) for _, one in each])
            passage = np.array([number for _, one in each for number in one], dtype=np.uint64)
            phrase = _phrases(said, passages, passage) if several else np.zeros(len(passage), dtype=np.bool_)
            column[owner[~phrase]] = 1.0
        columns.append(column)
    notes = []
    if any(found) and not several:
        notes.append("repeated words: with one question, turns of phrase count as repeated too")
    if any(possible[0]) and len(said.asked) < len(pd.unique(said.turns["debate"])):
        notes.append(
            "repeated words: the log does not hold the question and the candidates of every debate, so that words that "
            "two agents took from there count as repeated"
        )
    return columns[0], columns[1], notes


def _is_beside(turn: Any, one: Any) -> bool:
    """Whether a turn of somebody else was made at the same time, so that neither could read the other."""
    return bool(turn.agent != one.agent and (turn.round, turn.stage) == (one.round, one.stage))


def _is_own_before(turn: Any, one: Any) -> bool:
    return bool(turn.agent == one.agent and turn.round < one.round)


def _phrases(said: Texts, passages: _Passages, wanted: NDArray[np.uint64]) -> Bools:
    """Return which passages stand in debates of two clusters or more."""
    known, back = np.unique(wanted, return_inverse=True)
    cluster, _ = pd.factorize(said.turns["cluster"])
    least, most = np.full(len(known), np.iinfo(np.int64).max), np.full(len(known), -1)
    texts = said.turns["text"].to_numpy(dtype=object)
    for low in range(0, len(texts), _BLOCK):
        of = passages(texts[low : low + _BLOCK])
        every = np.concatenate(of)
        of_cluster = np.repeat(cluster[low : low + _BLOCK], [len(each) for each in of])
        place = np.minimum(np.searchsorted(known, every), len(known) - 1)
        hit = known[place] == every
        np.minimum.at(least, place[hit], of_cluster[hit])
        np.maximum.at(most, place[hit], of_cluster[hit])
    several: Bools = (least != most)[back]
    return several
