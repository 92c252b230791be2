"""The inside of a process that writes graphs and fails: by a limit of files as on a full disk, or by a crash."""

import os
import resource

from lightrag_dagster.core.serving import Channel
from lightrag_dagster.indexes.cypher import graph_process


def serve(channel: Channel, arguments: list[str]) -> None:
    """Fail as the argument says."""
    if arguments == ["start"]:
        raise RuntimeError("no Kùzu")
    if arguments == ["full"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
    if arguments == ["crash"]:
        graph_process._run = lambda *_: os.abort()
    graph_process.serve(channel, [])
