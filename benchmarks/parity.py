"""What LightRAG itself finds in a graph of its own: the expectations of `tests/query/test_parity.py`.

    python -m benchmarks.parity --lightrag-python PATH

PATH is the Python of an environment that has `lightrag-hku` 1.5.7. The sample sources, cut into paragraphs, go through
LightRAG's own pipeline with the offline extractor's answers and deterministic vectors. A second process asks every
question in five modes, with given keywords, and writes `tests/query/fixtures/lightrag.json.gz`: the graph as LightRAG
stores it, and the entities, relations and chunks that each question found, in order.
"""

import argparse
import asyncio
import gzip
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from lightrag_dagster.core.identity import name_key
from lightrag_dagster.listing_schemas import STAMPS
from lightrag_dagster.models.rules import OfflineChatModel
from lightrag_dagster.query.keywords import parse_keywords
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.schemas import RAW_DOCUMENTS
from lightrag_dagster.settings import load_settings
from lightrag_dagster.stages.documents.listing import list_files, rows_of
from lightrag_dagster.stages.documents.reading import read_listed
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.stages.prompts.requests import extraction_request, keyword_request

REPOSITORY = Path(__file__).parent.parent
FIXTURE = REPOSITORY / "tests" / "query" / "fixtures" / "lightrag.json.gz"
WORDS_A_PIECE = 120
DELIMITER = "<|#|>"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lightrag-python", type=Path, required=True)
    python = parser.parse_args().lightrag_python
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        pieces = cut(REPOSITORY / "examples" / "sources")
        _write(folder / "pieces.json", pieces)
        _write(folder / "answers.json", asyncio.run(extracted(list(pieces.values()))))
        _write(folder / "questions.json", asyncio.run(asked()))
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
        for step in ("index", "query"):
            subprocess.run([python, "-m", "benchmarks.parity_lightrag", step, folder], env=environment, check=True)
        FIXTURE.parent.mkdir(exist_ok=True)
        FIXTURE.write_bytes(gzip.compress((folder / "parity.json").read_bytes(), mtime=0))
    print(f"{FIXTURE}: {FIXTURE.stat().st_size} bytes")


def cut(sources: Path) -> dict[str, str]:
    """Return the sample documents in pieces of some 120 words, each under a file name of its own."""
    settings = load_settings(sources=sources)
    pieces: dict[str, str] = {}
    for name, source in find_sources(settings).items():
        listed = pa.table(rows_of(source, list_files(source)))
        nothing = (RAW_DOCUMENTS.empty_table(), STAMPS.empty_table())
        documents = read_listed(source, listed, nothing, settings.documents)[0].sort_by("path").to_pylist()
        for document in (one for one in documents if one["status"] == "processed"):
            paragraphs = [one for one in document["content"].split("\n\n") if one.strip()]
            grouped: list[str] = []
            for paragraph in paragraphs:
                if grouped and len(f"{grouped[-1]} {paragraph}".split()) <= WORDS_A_PIECE:
                    grouped[-1] += f"\n\n{paragraph}"
                else:
                    grouped.append(paragraph)
            path = f"{name}/{document['path']}".replace("/", "--")
            pieces |= {f"{path}-{number}": piece.strip() for number, piece in enumerate(grouped)}
    return pieces


async def extracted(texts: list[str]) -> dict[str, str]:
    """Return what the offline model says of each text; of names that differ only in case, the first is used."""
    model, prompts = OfflineChatModel(), load_prompts(None)
    spelling: dict[str, str] = {}
    answers = {}
    for text in texts:
        rows = (await model.complete(extraction_request(prompts, text, None))).text.splitlines()
        fields = [row.split(DELIMITER) for row in rows]
        for row in fields:
            for place in range(1, {"entity": 2, "relation": 3}.get(row[0], 1)):
                row[place] = spelling.setdefault(name_key(row[place]), row[place])
        answers[text] = "\n".join(DELIMITER.join(row) for row in fields)
    return answers


async def asked() -> list[dict[str, Any]]:
    """Return the sample questions with their keywords, and some that have keywords of one kind alone."""
    model, prompts = OfflineChatModel(), load_prompts(None)
    examples = yaml.safe_load((REPOSITORY / "examples" / "questions.yaml").read_text())
    questions = []
    for text in dict.fromkeys(" ".join(one["question"].split()) for one in examples):
        answer = await model.complete(keyword_request(prompts, text))
        keywords = parse_keywords(answer.text) or Keywords()
        questions.append({"question": text, "high": [*keywords.high_level], "low": [*keywords.low_level]})
    first = questions[0]
    return [*questions, first | {"high": []}, first | {"low": []}]


def _write(file: Path, content: object) -> None:
    file.write_text(json.dumps(content, ensure_ascii=False))


if __name__ == "__main__":
    main()
