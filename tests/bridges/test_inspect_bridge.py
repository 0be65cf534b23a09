"""Real Inspect runs become debate logs, and stop early where their votes agree."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from d3stats.bridges.inspect import InspectStopping, read_inspect_log, write_debate_log
from d3stats.log import examine, read_log
from d3stats.log.importers.answers import canonical_number
from d3stats.log.schema import Item, Turn, Verdict
from d3stats.stopping import SPRT, AdaptiveConsistency, FixedRounds, Supermajority, Unanimity, rounds_of
from d3stats.stopping.ks import KSStability
from d3stats.trajectories import Trajectories

inspect_ai = pytest.importorskip("inspect_ai", reason="INSPECT BRIDGE NOT CHECKED: no inspect_ai")

QUESTIONS = {
    "q1": ("What is 9 + 9?", "18", ["18", "20", "$18.00", "18", "18", "18"]),
    "q2": ("What is 2 + 2?", "4", ["4", "4", "4", "4", "4", "4"]),
    "q3": ("What is 3 * 3?", "9", ["6", "9", "6", "9", "no idea", "6"]),
}
IN, OUT = 11, 7


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse every address but this machine's, and fail the test that tried another."""
    tried: list[Any] = []
    connect, resolve = socket.socket.connect, socket.getaddrinfo

    def only_here(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1"):
            tried.append(address)
            raise OSError(f"no network in this test; got {address}")
        connect(self, address)

    def only_local(host: Any, *rest: Any, **more: Any) -> Any:
        if host not in (None, "localhost", "127.0.0.1", "::1"):
            tried.append(host)
            raise OSError(f"no network in this test; got {host}")
        return resolve(host, *rest, **more)

    monkeypatch.setattr(socket.socket, "connect", only_here)
    monkeypatch.setattr(socket, "getaddrinfo", only_local)
    yield
    assert not tried


class Inspect:
    """Runs small evaluations with a scripted model, one reply per sample and epoch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(
        self,
        replies: dict[str, tuple[str, str | list[str], Sequence[str | None]]] = QUESTIONS,
        *,
        epochs: int = 6,
        stopping: Any = None,
        log_format: str = "eval",
        at_once: int = 8,
        choices: list[str] | None = None,
        scorers: Sequence[Any] | None = None,
        delay: Callable[[str, int], float] = lambda sample, epoch: 0.0,
        **options: Any,
    ) -> Any:
        from inspect_ai import Task
        from inspect_ai import eval as run_eval
        from inspect_ai.dataset import Sample
        from inspect_ai.model import ModelOutput, ModelUsage, get_model
        from inspect_ai.solver import TaskState, solver

        @solver
        def scripted() -> Any:
            async def solve(state: TaskState, generate: Any) -> TaskState:
                await asyncio.sleep(delay(str(state.sample_id), state.epoch))
                said = replies[str(state.sample_id)][2][state.epoch - 1]
                if said is None:
                    raise RuntimeError("the model is gone")
                state.messages[-1].text = said
                return await generate(state)

            return solve

        def reply(messages: Any, *_: Any) -> Any:
            # Without usage of its own the scripted model fetches a tokenizer from the net.
            output = ModelOutput.from_content("mockllm/model", messages[-1].text)
            output.usage = ModelUsage(input_tokens=IN, output_tokens=OUT, total_tokens=IN + OUT)
            return output

        task = Task(
            [
                Sample(id=name, input=asked, target=target, choices=choices, metadata={"topic": "sums"})
                for name, (asked, target, _) in replies.items()
            ],
            name="sums",
            solver=scripted(),
            scorer=list(scorers) if scorers else [number()],
            early_stopping=stopping,
        )
        logs = run_eval(
            task,
            model=get_model("mockllm/model", custom_outputs=reply),
            epochs=epochs,
            log_dir=str(self.folder),
            log_format=log_format,
            display="none",
            max_samples=at_once,
            log_level="critical",
            **options,
        )
        return logs[0]


def number(name: str = "number", answered: bool = True) -> Any:
    """A scorer that reads the reply as a number and compares values, not texts."""
    from inspect_ai.scorer import Score, Target, accuracy, scorer
    from inspect_ai.solver import TaskState

    @scorer(metrics=[accuracy()], name=name)
    def make() -> Any:
        async def score(state: TaskState, target: Target) -> Score:
            said = state.output.completion
            value = canonical_number(said)
            right = value is not None and value == canonical_number(target.text)
            shown = said if answered and value is not None else None
            return Score(value="C" if right else "I", answer=shown)

        return score

    return make()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Any]:
    return Inspect(tmp_path / "inspect").run


@pytest.mark.parametrize("log_format", ["eval", "json"])
def test_epochs_become_the_votes_of_one_debate(run: Any, tmp_path: Path, log_format: str) -> None:
    log = run(log_format=log_format)
    assert log.status == "success"
    summary = write_debate_log(log.location, tmp_path / "log.jsonl")
    assert (summary.n_debates, summary.n_turns, summary.n_missing_votes) == (3, 18, 1)
    assert examine(tmp_path / "log.jsonl").exit_code == 0
    t = Trajectories.from_log(tmp_path / "log.jsonl")
    assert t.votes.shape == (3, 6, 1)
    said = [[t.answers[v] if v >= 0 else None for v in row[:, 0]] for row in t.votes]
    # "$18.00" was accepted by the scorer, so it is the same vote as 18; "no idea" is none.
    assert said == [["18", "20", "18", "18", "18", "18"], ["4"] * 6, ["6", "9", "6", "9", None, "6"]]
    assert [t.answers[v] for v in t.label] == ["18", "4", "9"]
    np.testing.assert_array_equal(t.tokens, np.full((3, 6), IN + OUT))


def test_both_formats_of_inspect_say_the_same(run: Any) -> None:
    one, other = (list(read_inspect_log(run(log_format=kind).location, text=True)) for kind in ("eval", "json"))
    assert one == other


def test_a_vote_equals_the_label_exactly_where_the_scorer_said_correct(run: Any) -> None:
    log = run()
    accepted = {(s.id, s.epoch): s.scores["number"].value == "C" for s in log.samples}
    items: dict[str, Item] = {}
    for record in read_inspect_log(log.location):
        if isinstance(record, Item):
            items[record.debate] = record
        elif isinstance(record, Turn):
            item = items[record.debate]
            assert (record.vote == item.label) == accepted[(item.question, record.round)]


def test_a_panel_of_epochs_is_a_round(run: Any) -> None:
    where = run().location
    turns = [r for r in read_inspect_log(where, panel=3) if isinstance(r, Turn)]
    assert [(t.round, t.agent) for t in turns[:6]] == [(r, f"seat {s}") for r in (1, 2) for s in (1, 2, 3)]
    turns = [r for r in read_inspect_log(where, panel=None) if isinstance(r, Turn)]
    assert {t.round for t in turns} == {1}
    assert len({t.agent for t in turns}) == 6


def test_epochs_can_be_debates_that_share_their_question(run: Any, tmp_path: Path) -> None:
    write_debate_log(run().location, tmp_path / "log.jsonl", epochs="debates", cluster="topic")
    t = Trajectories.from_log(tmp_path / "log.jsonl")
    assert t.votes.shape == (18, 1, 1)
    items = [r for r in read_inspect_log(run().location, epochs="debates") if isinstance(r, Item)]
    assert len({i.debate for i in items}) == 18
    assert {i.question for i in items} == {"q1", "q2", "q3"}
    assert examine(tmp_path / "log.jsonl").exit_code == 0


def test_grades_are_votes_where_the_scorer_leaves_no_answer(run: Any) -> None:
    log = run(scorers=[number(answered=False)])
    plain = [r for r in read_inspect_log(log.location, votes="answer") if isinstance(r, Turn)]
    assert {t.error for t in plain} == {"no_answer"}
    graded = list(read_inspect_log(log.location, votes="grade"))
    assert {r.label for r in graded if isinstance(r, Item)} == {"correct"}
    votes = [r.vote for r in graded if isinstance(r, Turn) and "q3" in r.debate]
    assert votes == ["incorrect", "correct", "incorrect", "correct", "incorrect", "incorrect"]


def test_the_scorer_has_to_be_clear(run: Any) -> None:
    where = run(scorers=[number("first"), number("second")]).location
    with pytest.raises(ValueError, match=r"scorer must be named .*'first', 'second'"):
        list(read_inspect_log(where))
    with pytest.raises(ValueError, match=r"scorer must be one of .*got scorer='third'"):
        list(read_inspect_log(where, scorer="third"))
    assert len([r for r in read_inspect_log(where, scorer="second") if isinstance(r, Turn)]) == 18


def test_a_sample_that_failed_is_a_missing_vote_with_its_reason(run: Any, tmp_path: Path) -> None:
    replies = {"q1": ("What is 9 + 9?", "18", ["18", None, "18"])}
    log = run(replies, epochs=3, fail_on_error=False)
    turns = [r for r in read_inspect_log(log.location) if isinstance(r, Turn)]
    assert [(t.vote, t.error) for t in turns] == [("18", None), (None, "sample_error"), ("18", None)]
    assert turns[1].tokens_in is None


def test_letters_are_a_closed_set_and_anything_else_is_no_choice(run: Any) -> None:
    from inspect_ai.scorer import Score, Target, accuracy, scorer
    from inspect_ai.solver import TaskState

    @scorer(metrics=[accuracy()], name="letter")
    def letter() -> Any:
        async def score(state: TaskState, target: Target) -> Score:
            said = state.output.completion
            return Score(value="C" if said == target.text else "I", answer=said)

        return score

    replies = {"q": ("Which is red?", "B", ["A", "B", "A, B"])}
    log = run(replies, epochs=3, choices=["sky", "rose"], scorers=[letter()])
    item, *turns = (r for r in read_inspect_log(log.location, text=True) if not isinstance(r, Verdict))
    assert isinstance(item, Item)
    assert item.answers == ("A", "B")
    assert item.text == "Which is red?\nA) sky\nB) rose"
    assert [(t.vote, t.error) for t in turns] == [("A", None), ("B", None), (None, "not_a_choice")]


def test_several_logs_become_one_with_names_of_their_own(run: Any, tmp_path: Path) -> None:
    first, second = run().location, run(epochs=2).location
    out = tmp_path / "both.jsonl"
    write_debate_log({"first run": first, "second run": second}, out)
    assert set(read_log(out).items["log"]) == {"first run", "second run"}
    assert examine(out).exit_code == 0
    with pytest.raises(FileExistsError, match="out must not exist"):
        write_debate_log(first, out)


def test_what_is_no_log_is_one_clear_line_and_leaves_no_file(tmp_path: Path) -> None:
    for name, content in (("broken.eval", b"PK not a zip"), ("other.json", b'{"a": 1}'), ("empty.eval", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match="path must be an Inspect log") as caught:
            write_debate_log(tmp_path / name, tmp_path / "log.jsonl")
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError, match="path must exist"):
        write_debate_log(tmp_path / "nowhere.eval", tmp_path / "log.jsonl")
    assert not list(tmp_path.glob("*.jsonl"))


def test_without_inspect_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(ImportError, match=r"pip install 'd3stats\[inspect\]'"):
        list(read_inspect_log(tmp_path / "log.eval"))


def test_importing_the_bridge_loads_nothing_of_inspect() -> None:
    code = (
        "import sys, d3stats.bridges, d3stats.bridges.inspect\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('inspect_ai', 'anyio', 'openai')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
