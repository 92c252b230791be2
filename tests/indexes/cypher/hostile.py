"""The inside of a process that answers what its arguments say."""

from lightrag_dagster.core.serving import IDLE_SECONDS, Channel


def serve(channel: Channel, arguments: list[str]) -> None:
    """Answer one query."""
    channel.say_ready()
    channel.receive(IDLE_SECONDS)
    for message in arguments:
        channel.send(bytes.fromhex(message))
    channel.receive(IDLE_SECONDS)
