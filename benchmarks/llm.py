"""Extraction against a server with a fixed latency: requests in flight, wall time, and CPU of the client.

    python -m benchmarks.llm --chunks 1000

The server runs in a process of its own on this machine and answers each request after `--latency` seconds. Wall time
is measured inside the client, from before the first request until the table is there.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from benchmarks.passages import generate
from lightrag_dagster.core.identity import chunk_id
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.models.providers import open_chat_model
from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.settings import ExtractionSettings, LLMSettings
from lightrag_dagster.stages.extraction.extractions import Extractor, extract
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.storage.home import Home

SERVER = """
import json, sys
from tests.loopback import serving

ANSWER = "\\n".join(f"entity<|#|>Thing {n}<|#|>Concept<|#|>It is one of the things." for n in range(12))
with serving() as server:
    server.delay = float(sys.argv[1])
    server.chat = lambda body: ANSWER + "\\n<|COMPLETE|>"
    print(server.url, flush=True)
    sys.stdin.readline()
    print(json.dumps({"requests": len(server.requests), "busy": server.busy}), flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds")
    parser.add_argument("--concurrency", type=int, default=32)
    arguments = parser.parse_args()
    table = _chunks(arguments.chunks)
    command = [sys.executable, "-c", SERVER, str(arguments.latency)]
    with (
        tempfile.TemporaryDirectory() as scratch,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        os.environ |= {"OPENAI_BASE_URL": server.stdout.readline().strip(), "OPENAI_API_KEY": "none"}
        asyncio.run(_extract(Home(Path(scratch) / "warm"), table.slice(0, 1), arguments.concurrency))
        wall, cpu = time.perf_counter(), time.process_time()
        asyncio.run(_extract(Home(Path(scratch) / "home"), table, arguments.concurrency))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        report = json.loads(server.communicate("stop\n")[0])
    calls = report["requests"] - 2  # those of the first chunk, which imported the SDK and opened what opens once
    ideal = calls * arguments.latency / arguments.concurrency
    print(f"{calls} calls, {arguments.latency * 1000:.0f} ms each, {arguments.concurrency} at once")
    print(f"wall {wall:.2f} s, {wall / ideal:.3f} x calls x latency / {arguments.concurrency}")
    print(f"in flight on average {(report['busy'] - 2 * arguments.latency) / wall:.1f}, as the server saw it")
    print(f"CPU of the client {cpu / calls * 1000:.2f} ms a call")


def _chunks(count: int) -> pa.Table:
    rows = [
        {
            "source": "s",
            "chunk_id": chunk_id(content, None),
            "doc_id": f"doc-{number}",
            "path": f"{number:07}.txt",
            "chunk_index": 0,
            "content": content,
            "tokens": 1,
            "char_start": 0,
            "char_end": len(content),
            "heading": None,
            "page": None,
        }
        for number, content in enumerate(generate(count, 1))
    ]
    return pa.Table.from_pylist(rows, schema=CHUNKS)


async def _extract(home: Home, table: pa.Table, concurrency: int) -> pa.Table:
    settings = LLMSettings(provider="openai", model="gpt-4o-mini", max_concurrency=concurrency)
    async with open_chat_model(settings, home) as model:
        return await extract(
            "s",
            table,
            Extractor(
                model,
                load_prompts(None),
                ExtractionSettings(),
                "f1",
                load_tokenizer("o200k_base").count,
                settings.conversations,
                settings.longer_outputs,
            ),
        )


if __name__ == "__main__":
    main()
