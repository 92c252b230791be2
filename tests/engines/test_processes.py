"""Workers that are processes of this machine, and that die."""

import time

from lightrag_dagster.engines.processes import ProcessEngine


def test_a_worker_that_dies_while_nothing_is_asked_costs_nothing() -> None:
    with ProcessEngine(2) as engine:
        assert engine.map(abs, [-1, -2]) == [1, 2]
        assert engine._pool is not None
        for worker in list(engine._pool._processes.values()):
            worker.kill()
            worker.join()
        while not engine._pool._broken:
            time.sleep(0.01)
        assert engine.map(abs, [-3, -4]) == [3, 4]
