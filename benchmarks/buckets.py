"""Requests, bytes and seconds of commands on a home in a bucket that is some way off.

    python -m benchmarks.buckets --documents 100 --latency 0.03

The server of buckets that the tests have answers each request after `--latency` seconds; Postgres is as near as it is.
Made-up passages in four sources are ingested offline. Each command is a process of its own, as on the command line:
the first run, a run without work, a run after a document was edited, and a question on a machine with an empty cache;
then the question again, and a run without work on another such machine.

`in turn` is the seconds in which a request was under way, divided by the latency: how many waited for each other.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench.measuring import cost_of
from benchmarks.passages import generate
from tests.buckets import S3Server
from tests.object_server import S3Handler, serving
from tests.postgres import new_schema, serving_postgres

SOURCES = 4
KINDS = ("GET", "HEAD", "LIST", "PUT", "DELETE", "POST")
QUESTION = "Who founded the observatory?"


class Request(NamedTuple):
    """A request and its answer: bytes of both bodies, and seconds."""

    kind: str
    key: str
    received: int
    sent: int
    began: float
    ended: float


class Distant(S3Handler):
    """A server that is some way off, and notes what it is asked."""

    latency = 0.0
    noted: list[Request]

    def parse_request(self) -> bool:
        """Do as the server does, later."""
        self.began = time.monotonic()
        if not super().parse_request():
            return False
        time.sleep(self.latency)
        return True

    def answer(self, status: int, body: bytes | str = b"", headers: dict[str, str] | None = None) -> None:
        """Send an answer, and note it first, since the next request may come at once."""
        kind = "LIST" if self.command == "GET" and "/" not in self.asked else self.command
        asked = self.parameters.get("prefix", "") if kind == "LIST" else self.asked
        sent = 0 if kind == "HEAD" else len(body)
        self.noted.append(Request(kind, asked, len(self.body), sent, self.began, time.monotonic()))
        super().answer(status, body, headers)


def under_way(requests: Sequence[Request]) -> float:
    """Return the seconds in which at least one request was under way."""
    total, until = 0.0, 0.0
    for one in sorted(requests, key=lambda request: request.began):
        total += max(0.0, one.ended - max(one.began, until))
        until = max(until, one.ended)
    return total


@contextmanager
def environment(latency: float) -> Iterator[tuple[dict[str, str], list[Request]]]:
    """Run both servers; give the variables of a home in them, and the list of requests."""
    noted: list[Request] = []
    handler = type("Noting", (Distant,), {"latency": latency, "noted": noted})
    with serving(handler) as (url, objects), serving_postgres() as postgres:
        server = S3Server(url, objects)
        home = {"LIGHTRAG_HOME": server.new_bucket(), "LIGHTRAG_DATABASE": postgres.url(new_schema())}
        yield server.environment | home, noted


def measure(documents: int, latency: float, shown: Sequence[str]) -> None:
    """Run the commands, and print a line for each; and the requests of those that are to be shown."""
    with tempfile.TemporaryDirectory() as scratch, environment(latency) as (variables, noted):
        folder = Path(scratch)
        for number, text in enumerate(generate(documents, 1)):
            path = folder / "sources" / f"source {number % SOURCES}" / f"{number:05}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        print(f"{'':30}{''.join(f'{kind:>7}' for kind in (*KINDS, 'all'))} in turn  KB to  KB from  seconds    CPU")

        def command(name: str, machine: str, *arguments: str) -> None:
            given = variables | {
                "LIGHTRAG_SOURCES": str(folder / "sources"),
                "LIGHTRAG_CACHE__FOLDER": str(folder / machine),
            }
            noted.clear()
            cost = cost_of([str(Path(sys.executable).with_name("lightrag-dagster")), *arguments], folder, given)
            kinds = Counter(one.kind for one in noted)
            counts = "".join(f"{number:7}" for number in (*(kinds[kind] for kind in KINDS), len(noted)))
            to, back = (sum(one.received for one in noted) / 1e3, sum(one.sent for one in noted) / 1e3)
            turns = under_way(noted) / latency if latency else 0
            print(f"{name:30}{counts} {turns:7.0f} {to:6.0f} {back:8.0f} {cost.wall:8.1f} {cost.cpu:6.1f}", flush=True)
            if name in shown:
                start = min((one.began for one in noted), default=0)
                for one in sorted(noted, key=lambda request: request.began):
                    times = f"{one.began - start:7.3f} {one.ended - start:7.3f}"
                    print(f"    {times} {one.kind:6} {one.received:8} {one.sent:8} {one.key}")

        command("first run", "a", "run")
        command("no work", "a", "run")
        with path.open("a", encoding="utf-8") as file:
            file.write("\n\nIn 1931 Otto Weissmann of Bremen visited the Duchess of Aldenburg in Kiel.")
        command("one edit", "a", "run")
        command("question, empty cache", "b", "query", QUESTION)
        command("question again", "b", "query", QUESTION)
        command("no work, empty cache", "c", "run")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--latency", type=float, default=0.03, help="seconds")
    parser.add_argument("--show", nargs="*", default=[], help="names of lines of which to print each request")
    given = parser.parse_args()
    measure(given.documents, given.latency, given.show)


if __name__ == "__main__":
    main()
