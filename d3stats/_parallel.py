"""One seam to other processes and other machines: joblib, its dask backend for a cluster.

Knows nothing of what it runs. Tasks are taken from an iterator a few at a time and results are handed
on as they come, so that memory does not grow with the number of tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, TypeVar

from d3stats._check import integer
from d3stats._progress import tell
from d3stats._words import missing_extra

__all__ = ["SCHEMES", "run_tasks"]

Result = TypeVar("Result")

SCHEMES = ("tcp://", "tls://", "ws://", "wss://", "ucx://")
"""The possible beginnings of the address of a scheduler."""

CONNECT_SECONDS = 10

_WORKER_GONE = (
    "worker processes must live until their work is done; got one of {} that was ended from outside, often for want of "
    "memory; use fewer workers"
)


def run_tasks(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    *,
    workers: int = 1,
    scheduler: str | None = None,
    ordered: bool = False,
    what: str = "",
    total: int = 0,
) -> Iterator[Result]:
    """Call ``function(*task)`` for every task, here, in other processes or on a cluster.

    Parameters
    ----------
    function : callable
        A function of a module, so that another process can import it.
    tasks : iterable of tuple
        Taken lazily, about two per worker ahead.
    workers : int
        Processes on this machine; 1 runs everything in this one. With `scheduler` the cluster decides.
    scheduler : str, optional
        Address of a dask scheduler, ``tcp://host:8786``; needs the extra ``scale``.
    ordered : bool
        Yield results in the order of the tasks; otherwise as they are ready.
    what : str
        What the tasks do, for the display of progress.
    total : int
        How many tasks there are.

    Yields
    ------
    object
        What `function` returned.

    Raises
    ------
    ValueError
        When an argument is wrong or the extra is absent.
    OSError
        When the scheduler does not answer or has no worker, or a worker process dies.
    """
    integer("workers", workers, minimum=1)
    if scheduler is None and workers == 1:
        return (function(*task) for task in tasks)
    if scheduler is not None:
        _check_address(scheduler)
    results = _parallel(
        function, tasks, workers, scheduler, "generator" if ordered else "generator_unordered"
    )
    return _told(results, what, total) if total else results


def _told(results: Iterator[Result], what: str, total: int) -> Iterator[Result]:
    tell(what, 0, total)
    for done, result in enumerate(results, start=1):
        tell(what, done, total)
        yield result


def _parallel(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    workers: int,
    scheduler: str | None,
    return_as: str,
) -> Iterator[Result]:
    from concurrent.futures.process import BrokenProcessPool

    import joblib

    with ExitStack() as stack:
        if scheduler is None:
            backend: dict[str, Any] = {"backend": "loky"}
        else:
            client = stack.enter_context(_client(scheduler))
            _wait_for_a_worker(client, scheduler)
            backend = {"backend": "dask", "client": client}
        stack.enter_context(joblib.parallel_config(**backend))
        pool = joblib.Parallel(n_jobs=workers if scheduler is None else -1, return_as=return_as)
        try:
            yield from pool(joblib.delayed(function)(*task) for task in tasks)
        except BrokenProcessPool as error:
            raise OSError(_WORKER_GONE.format(workers)) from error


def _check_address(scheduler: str) -> None:
    if not scheduler.startswith(SCHEMES):
        raise ValueError(f"scheduler must be an address such as tcp://host:8786; got scheduler={scheduler!r}")
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        needs = f"scheduler={scheduler!r} needs dask and distributed"
        raise ValueError(missing_extra(needs, "scale", error)) from None


def _client(scheduler: str) -> Any:
    from distributed import Client

    try:
        return Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]  # dask has no types
    except OSError:
        raise OSError(
            f"scheduler must answer within {CONNECT_SECONDS} s; got no answer from {scheduler}"
        ) from None


def _wait_for_a_worker(client: Any, scheduler: str) -> None:
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except TimeoutError:
        raise OSError(
            f"scheduler must have a worker within {CONNECT_SECONDS} s; got none at {scheduler}"
        ) from None
