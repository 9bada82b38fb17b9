"""Work done elsewhere: pools of processes and threads, a Dask cluster, workers that die, executors that refuse."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import vcdim_core as vc
from vcdim_core import Features, _levels_search, exact

SEARCHES: dict[str, dict[str, Any]] = {
    "real": dict(structure="((..).)", real=3),
    "mixed": dict(structure="((..)(..))", features=Features(binary=1, ordinal=[3], nominal=[3])),
    "cube": dict(structure="(((..).)(..))", d=5),
}


def answer(result: vc.VCResult) -> tuple[Any, ...]:
    """What must not depend on who does the work."""
    return result.lower, result.upper, result.witness, result.stats.tested, result.stats.orbits, result.levels


@pytest.fixture(autouse=True)
def all_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small units, and nothing done here."""
    monkeypatch.setattr(_levels_search, "UNIT_SECONDS", 0.02)
    monkeypatch.setattr(_levels_search, "LOCAL_SECONDS", 0.0)
    monkeypatch.setattr(exact, "DIVE_TESTS", 0)


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


class Counting(Executor):
    """Hands everything on and counts it; calls ``before`` with the number of each unit."""

    def __init__(self, inner: Executor, before: Callable[[int], None] = lambda n: None) -> None:
        self.inner, self.before, self.n = inner, before, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.n += 1
        self.before(self.n)
        return self.inner.submit(fn, *args, **kwargs)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_process_pool_gives_the_same_answer(name: str, processes: ProcessPoolExecutor) -> None:
    executor = Counting(processes)
    assert answer(vc.search_vc(**SEARCHES[name], executor=executor)) == answer(vc.search_vc(**SEARCHES[name]))
    assert executor.n > 3
    assert vc.exact_vc(**SEARCHES[name], executor=processes) == vc.exact_vc(**SEARCHES[name])


@pytest.mark.parametrize("name", SEARCHES)
def test_a_thread_pool_gives_the_same_answer(name: str) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert answer(vc.search_vc(**SEARCHES[name], executor=pool)) == answer(vc.search_vc(**SEARCHES[name]))


def test_an_executor_with_a_journal(tmp_path: Path) -> None:
    expected = answer(vc.search_vc(**SEARCHES["real"]))
    with ThreadPoolExecutor(2) as pool:
        executor = Counting(pool)
        for _ in range(2):
            result = vc.search_vc(**SEARCHES["real"], executor=executor, checkpoint=tmp_path / "journal")
            assert answer(result) == expected
            n, executor.n = executor.n, 0
        assert n == 0, "a finished unit was done again"
    assert answer(vc.search_vc(**SEARCHES["real"], checkpoint=tmp_path / "journal")) == expected


def test_a_small_search_never_leaves_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_levels_search, "LOCAL_SECONDS", 60.0)

    def refuse(n: int) -> None:
        raise AssertionError("expected no unit")

    with ThreadPoolExecutor(1) as pool:
        executor = Counting(pool, refuse)
        assert vc.search_vc(**SEARCHES["real"], executor=executor).value == 7


def test_limits_hold_elsewhere() -> None:
    value = vc.exact_vc(**SEARCHES["real"])
    with ThreadPoolExecutor(2) as pool:
        for node_limit in (0, 30, 500):
            result = vc.search_vc(**SEARCHES["real"], executor=pool, node_limit=node_limit)
            assert result.lower <= value <= result.upper
            assert not result.exact and result.stats.limit == "nodes"
            assert result.stats.tested <= 5 * max(node_limit, 1)  # the units that are out may spend it once each
        result = vc.search_vc(**SEARCHES["real"], executor=pool, time_limit=0)
        assert not result.exact and result.stats.limit == "time"
        result = vc.search_vc("((..)(..))", real=3, executor=pool, time_limit=0.5)
        assert result.lower >= 6 and not result.exact and result.stats.limit == "time"


# Death


@pytest.mark.skipif(os.name == "nt", reason="processes are killed the POSIX way")
def test_a_pool_whose_worker_is_killed_is_an_error_and_the_journal_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:

        def kill(n: int) -> None:
            if n == 12:
                os.kill(next(iter(pool._processes)), signal.SIGKILL)

        message = "^expected the executor to run a unit of the search, got BrokenProcessPool: "
        with pytest.raises(vc.exact.ExecutorError, match=message):
            vc.search_vc(**SEARCHES["real"], executor=Counting(pool, kill), checkpoint=path)
    before = path.read_bytes()
    assert before.count(b"\n") > 3
    assert answer(vc.search_vc(**SEARCHES["real"], checkpoint=path)) == answer(vc.search_vc(**SEARCHES["real"]))
    assert path.read_bytes().startswith(before)


def test_an_executor_that_refuses_work_is_an_error() -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    message = "^expected the executor to run a unit of the search, got RuntimeError: cannot schedule new futures"
    with pytest.raises(vc.exact.ExecutorError, match=message):
        vc.search_vc(**SEARCHES["real"], executor=pool)


def test_a_unit_that_is_cancelled_is_an_error() -> None:
    class Cancelling(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pytest.raises(vc.exact.ExecutorError, match="got CancelledError"):
        vc.search_vc(**SEARCHES["real"], executor=Cancelling())


# Dask


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        yield client


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["real", "cube"])
def test_a_dask_client_and_its_executor_give_the_same_answer(name: str, client: Any) -> None:
    expected = answer(vc.search_vc(**SEARCHES[name]))
    assert answer(vc.search_vc(**SEARCHES[name], executor=client)) == expected
    assert answer(vc.search_vc(**SEARCHES[name], executor=client.get_executor())) == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(os.name == "nt", reason="processes are killed the POSIX way")
def test_a_dask_worker_that_is_killed_changes_nothing(client: Any) -> None:
    expected = answer(vc.search_vc(**SEARCHES["real"]))
    pids = list(client.run(os.getpid).values())
    done = threading.Event()

    def kill(n: int) -> None:
        if n == 10 and not done.is_set():
            done.set()
            os.kill(pids[0], signal.SIGKILL)

    executor = Counting(client.get_executor(), kill)
    assert answer(vc.search_vc(**SEARCHES["real"], executor=executor)) == expected
    assert done.is_set()
