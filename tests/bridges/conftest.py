"""Real runs of Inspect with a scripted model, for every test of the bridge; nothing reaches the network."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from d3stats.log.importers.answers import canonical_number

QUESTIONS = {
    "q1": ("What is 9 + 9?", "18", ["18", "20", "$18.00", "18", "18", "18"]),
    "q2": ("What is 2 + 2?", "4", ["4", "4", "4", "4", "4", "4"]),
    "q3": ("What is 3 * 3?", "9", ["6", "9", "6", "9", "no idea", "6"]),
}
IN, OUT = 11, 7


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
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
def run(tmp_path: Path, no_network: None) -> Callable[..., Any]:
    return Inspect(tmp_path / "inspect").run
