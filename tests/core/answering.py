"""The inside of a process for the tests of `core.child`: it does what it is told, and answers."""

import json
import os
import signal
import sys
import time

from lightrag_dagster.core.serving import Channel


def serve(channel: Channel, arguments: list[str]) -> None:
    """Do one thing after the other."""
    if arguments[:1] == ["broken"]:
        raise ValueError("cannot\nbegin")
    idle = 0.01 if arguments[:1] == ["impatient"] else 60
    channel.say_ready()
    while True:
        what, value = json.loads(channel.receive(idle))
        if what == "sleep":
            time.sleep(value)
        elif what == "end":
            os.kill(os.getpid(), getattr(signal, value))
        elif what == "fail":
            raise RuntimeError(value)
        elif what == "begin":  # a message whose rest never comes
            channel._socket.sendall((100).to_bytes(8) + b"half")
            time.sleep(60)
        facts = {"environment": dict(os.environ), "path": sys.path, "pid": os.getpid(), "echo": value}
        channel.send(json.dumps(facts.get(what, value)).encode())
