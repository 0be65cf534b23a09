"""Real runs of Inspect with a scripted model, for every test of the bridge; nothing reaches the network."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from d3stats.log.importers.answers import canonical_number

QUESTIONS = {
    "q1": ("What is 9 + 9?", "18", ("18", "20", "$18.00", "18", "18", "18")),
    "q2": ("What is 2 + 2?", "4", ("4", "4", "4", "4", "4", "4")),
    "q3": ("What is 3 * 3?", "9", ("6", "9", "6", "9", "no idea", "6")),
}


@dataclass(frozen=True)
class Inspect:
    """Runs small evaluations, one scripted reply per sample and epoch; None is a model that fails."""

    folder: Path
    questions = QUESTIONS
    tokens = (11, 7)

    def __call__(
        self,
        replies: Mapping[str, tuple[str, str, Sequence[str | None]]] = QUESTIONS,
        *,
        epochs: int = 6,
        stopping: Any = None,
        at_once: int = 8,
        choices: list[str] | None = None,
        scorers: Sequence[Any] | None = None,
        delay: Callable[[str, int], float] = lambda sample, epoch: 0.0,
        **options: Any,
    ) -> Any:
        """Run one evaluation and return its log."""
        import inspect_ai
        from inspect_ai.model import ModelOutput, ModelUsage, get_model

        def reply(messages: Any, *_: Any) -> Any:
            # Without usage of its own the scripted model fetches a tokenizer from the net.
            output = ModelOutput.from_content("mockllm/model", messages[-1].text)
            prompt, completion = self.tokens
            output.usage = ModelUsage(
                input_tokens=prompt, output_tokens=completion, total_tokens=prompt + completion
            )
            return output

        return inspect_ai.eval(
            self.task(replies, stopping=stopping, choices=choices, scorers=scorers, delay=delay),
            model=get_model("mockllm/model", custom_outputs=reply, memoize=False),
            epochs=epochs,
            log_dir=str(self.folder),
            display="none",
            max_samples=at_once,
            log_level="critical",
            log_realtime=False,
            **options,
        )[0]

    def task(
        self,
        replies: Mapping[str, tuple[str, str, Sequence[str | None]]],
        *,
        stopping: Any,
        choices: list[str] | None,
        scorers: Sequence[Any] | None,
        delay: Callable[[str, int], float],
    ) -> Any:
        """Return the task."""
        from inspect_ai import Task
        from inspect_ai.dataset import Sample
        from inspect_ai.solver import TaskState, solver

        @solver
        def scripted() -> Any:
            async def solve(state: TaskState, generate: Any) -> TaskState:
                await asyncio.sleep(delay(str(state.sample_id), state.epoch))
                said = replies[str(state.sample_id)][2][state.epoch - 1]
                if said is None:
                    raise RuntimeError("the model is gone")
                state.messages[-1].content = said
                return await generate(state)

            return solve

        samples = [
            Sample(id=name, input=asked, target=target, choices=choices, metadata={"topic": "sums"})
            for name, (asked, target, _) in replies.items()
        ]
        scorer = list(scorers) if scorers else [self.number()]
        return Task(samples, name="sums", solver=scripted(), scorer=scorer, early_stopping=stopping)

    @staticmethod
    def number(name: str = "number", *, answered: bool = True) -> Any:
        """Return a scorer that compares values, not texts."""
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

    @staticmethod
    def letter() -> Any:
        """Return a scorer that takes the whole reply for the answer."""
        from inspect_ai.scorer import Score, Target, accuracy, scorer
        from inspect_ai.solver import TaskState

        @scorer(metrics=[accuracy()], name="letter")
        def make() -> Any:
            async def score(state: TaskState, target: Target) -> Score:
                said = state.output.completion
                return Score(value="C" if said == target.text else "I", answer=said)

            return score

        return make()


@contextmanager
def off_the_network() -> Iterator[None]:
    """Refuse every address but this machine's, and fail when another was tried."""
    here = (None, "", "localhost", "127.0.0.1", "::1")
    tried: list[Any] = []
    connect, resolve = socket.socket.connect, socket.getaddrinfo

    def only_here(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in here:
            tried.append(address)
            raise OSError(f"no network in this test; got {address}")
        connect(self, address)

    def only_local(host: Any, *rest: Any, **more: Any) -> Any:
        if host not in here:
            tried.append(host)
            raise OSError(f"no network in this test; got {host}")
        return resolve(host, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", only_here)
        patch.setattr(socket, "getaddrinfo", only_local)
        yield
    assert not tried


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Inspect]:
    """Run an evaluation in a folder of its own, off the network."""
    pytest.importorskip("inspect_ai", reason="INSPECT BRIDGE NOT CHECKED: inspect_ai is not installed")
    with off_the_network():
        yield Inspect(tmp_path / "inspect")


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The log of all epochs of all questions; only to be read."""
    pytest.importorskip("inspect_ai", reason="INSPECT BRIDGE NOT CHECKED: inspect_ai is not installed")
    with off_the_network():
        return Inspect(tmp_path_factory.mktemp("full"))()
