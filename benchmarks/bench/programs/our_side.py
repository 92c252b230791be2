"""This package's `KnowledgeBase`, asked by lines of JSON: `python -m benchmarks.bench.programs.our_side HOME`."""

import sys
from collections.abc import Mapping
from typing import Any

from benchmarks.bench.programs.channel import Channel, milliseconds
from lightrag_dagster import Filters, Keywords, KnowledgeBase


def ask(knowledge: KnowledgeBase, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the milliseconds of each question, and the files of the chunks it found."""
    times, files = list[float](), []
    filters = Filters(paths=request.get("paths"))
    for one in request["questions"]:
        keywords = Keywords(tuple(one["high_level"]), tuple(one["low_level"]))
        with milliseconds(times):
            found = knowledge.retrieve(one["text"], mode=request["mode"], keywords=keywords, filters=filters)
        files.append([chunk.path for chunk in found.chunks])
    return {"milliseconds": times, "files": files}


def graph(knowledge: KnowledgeBase) -> dict[str, int]:
    """Return how many entities and relations there are."""
    rows = knowledge.manifest.rows
    return {"entities": rows["entities"], "relations": rows["relations"]}


def main() -> None:
    """Answer until no request comes any more."""
    channel = Channel()
    with KnowledgeBase.open(sys.argv[1]) as knowledge:
        while request := channel.read():
            channel.write(ask(knowledge, request) if "questions" in request else graph(knowledge))


main()
