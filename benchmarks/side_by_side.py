"""Indexing beside LightRAG itself: the same passages, the same extractions, the same machine, in one run.

    python -m benchmarks.side_by_side --lightrag-python PATH --count 1000

PATH is the Python of an environment that has `lightrag-hku`. Both index passages of `benchmarks.passages`, then take in
an edit of one of them: LightRAG by deleting the document and inserting it again, since it refuses a changed file of the
same name. Each runs in a process of its own. LightRAG gets the extractions ready-made and vectors of random numbers, so
that what it is timed for is chunking, merging and storing; ours also pays for its own extractor and embedder, for
Dagster's records, Kùzu, the checks and the publication.
"""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.passages import write_sources
from lightrag_dagster.models.rules import OfflineChatModel
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.stages.prompts.requests import extraction_request

OURS = """
import json, resource, sys, time
from pathlib import Path
from rich.console import Console
from lightrag_dagster.orchestration.runner import bring_up_to_date
from lightrag_dagster.cli.progress import display
from lightrag_dagster.settings import load_settings

folder = Path(sys.argv[1])
settings = load_settings(home=folder / "ours", sources=folder / "sources", extraction={"gleaning": 0})

def timed():
    started = time.perf_counter()
    with display(Console(quiet=True)) as shown:
        outcome = bring_up_to_date(settings, [], shown)
    return time.perf_counter() - started, outcome.manifest

index, manifest = timed()
edited = Path(json.loads((folder / "edit.json").read_text())["file"])
edited.write_text(json.loads((folder / "edit.json").read_text())["after"])
edit, _ = timed()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"index": index, "edit": edit, "peak": peak, "entities": manifest.rows["entities"]}))
"""

LIGHTRAG = """
import asyncio, json, logging, resource, sys, time
from pathlib import Path
import numpy as np
from lightrag import LightRAG
from lightrag.utils import EmbeddingFunc, Tokenizer

folder = Path(sys.argv[1])
answers = json.loads((folder / "answers.json").read_text())
edit = json.loads((folder / "edit.json").read_text())
START, END = "---Input Text---\\n```\\n", "\\n```"

async def answer(prompt, system_prompt=None, history_messages=(), **options):
    if START not in prompt:
        return prompt[-400:]
    return answers[prompt.split(START, 1)[1].split(END, 1)[0].strip()]

async def embed(texts):
    return np.random.default_rng(len(texts)).normal(size=(len(texts), 1024)).astype(np.float32)

class FourCharacters:
    def encode(self, content):
        return [int.from_bytes(content[at:at + 4].encode()) for at in range(0, len(content), 4)]
    def decode(self, tokens):
        return "".join(token.to_bytes(16).lstrip(b"\\0").decode() for token in tokens)

async def main():
    logging.disable(logging.CRITICAL)
    rag = LightRAG(
        working_dir=str(folder / "lightrag"), llm_model_func=answer, embedding_func=EmbeddingFunc(1024, embed),
        tokenizer=Tokenizer("four characters", FourCharacters()), chunk_token_size=100000,
        entity_extract_max_gleaning=0, llm_model_max_async=16, embedding_func_max_async=16,
        max_parallel_insert=8,
        enable_llm_cache_for_entity_extract=False,
    )
    await rag.initialize_storages()
    files = sorted((folder / "sources").rglob("*.txt")) + sorted((folder / "sources").rglob("*.md"))
    started = time.perf_counter()
    texts = [edit["before"] if str(file) == edit["file"] else file.read_text() for file in files]
    await rag.ainsert(texts, ids=[f"doc-{file.name}" for file in files], file_paths=[file.name for file in files])
    index = time.perf_counter() - started
    entities = len(json.loads((folder / "lightrag/vdb_entities.json").read_text())["data"])
    started = time.perf_counter()
    name = Path(edit["file"]).name
    await rag.adelete_by_doc_id(f"doc-{name}")
    await rag.ainsert([edit["after"]], ids=[f"doc-{name}-2"], file_paths=[name])
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"index": index, "edit": seconds, "peak": peak, "entities": entities}))
    await rag.finalize_storages()

asyncio.run(main())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lightrag-python", type=Path, required=True)
    parser.add_argument("--count", type=int, default=1000, help="passages")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_sources(folder / "sources", arguments.count, 1, 1)
        files = sorted(path for path in (folder / "sources").rglob("*") if path.is_file())
        texts = {str(file): file.read_text().strip() for file in files}
        edited, before = next(iter(texts.items()))
        after = f"{before} Nothing of this was known to Ulla Berg of Halden Weir."
        (folder / "edit.json").write_text(json.dumps({"file": edited, "before": before, "after": after}))
        answers = asyncio.run(_answers([*texts.values(), after]))
        (folder / "answers.json").write_text(json.dumps(answers))
        theirs = _measured([str(arguments.lightrag_python), "-c", LIGHTRAG, str(folder)])
        ours = _measured([sys.executable, "-c", OURS, str(folder)])
        shutil.rmtree(folder / "lightrag")
    print(f"{arguments.count} passages; entities: LightRAG {theirs['entities']}, ours {ours['entities']}")
    for what, unit in (("index", "s"), ("edit", "s"), ("peak", "MB")):
        ratio = theirs[what] / ours[what]
        print(f"{what}: LightRAG {theirs[what]:.1f} {unit}, ours {ours[what]:.1f} {unit}, ratio {ratio:.1f}")


async def _answers(texts: list[str]) -> dict[str, str]:
    """Return what the offline model says of each passage."""
    model, prompts = OfflineChatModel(), load_prompts(None)
    requests = {text: extraction_request(prompts, text, None) for text in texts}
    return {text: (await model.complete(request)).text for text, request in requests.items()}


def _measured(command: list[str]) -> dict[str, float]:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"{command[0]} failed:\n{ended.stderr[-2000:]}")
    measured: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return measured


if __name__ == "__main__":
    main()
