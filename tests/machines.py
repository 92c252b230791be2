"""A Ray cluster of several machines, each a process of this one with a cache and a temporary folder of its own."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
_STORE_BYTES = 80 << 20


@contextmanager
def serving_machines(folder: Path, number: int, environment: Mapping[str, str]) -> Iterator[str]:
    """Run machines of one processor each for the block, and give the address of the cluster.

    Machine 0 has its folders in `folder`/0, and so on. None of them gets the settings of this process.
    """
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in list(os.environ):
            if name.startswith("LIGHTRAG_"):
                monkeypatch.delenv(name)
        monkeypatch.delenv("SSL_CERT_DIR", raising=False)  # obstore refuses to work without any certificate
        monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        from ray.cluster_utils import Cluster

        cluster: Any = Cluster()
        try:
            for machine in range(number):
                temporary = folder / str(machine) / "tmp"
                temporary.mkdir(parents=True)
                own = {"TMPDIR": str(temporary), "LIGHTRAG_CACHE__FOLDER": str(temporary.with_name("cache"))}
                cluster.add_node(
                    num_cpus=1,
                    wait=False,
                    include_dashboard=False,
                    object_store_memory=_STORE_BYTES,
                    env_vars={"PYTHONPATH": str(ROOT), **environment, **own},
                )
            cluster.wait_for_nodes()
            yield cluster.address
        finally:
            cluster.shutdown()
