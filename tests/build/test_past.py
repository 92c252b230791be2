from pathlib import Path

import pyarrow as pa

from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.spending.ledger import Entry, Ledger
from lightrag_dagster.build.past import past_of, unknown_past
from lightrag_dagster.spending.prices import FREE
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.schemas import EXTRACTIONS
from lightrag_dagster.settings import ExtractionSettings
from tests.stages.extraction.test_extractions import chunks


def test_answers_whose_chunk_is_gone_say_nothing(tmp_path: Path) -> None:
    """As after a run that cut an edited source anew and ended before the first answer."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.add(Entry("run", "extract", "s", "m", 2, 0, 200, 0, 20, 0.5))
    table, settings = chunks("new"), ExtractionSettings()
    count = load_tokenizer("o200k_base").counts

    def extracted(chunk_id: str) -> pa.Table:
        row = {"chunk_id": chunk_id, "status": "ok", "rounds": 2, "input_tokens": 200, "output_tokens": 20}
        return pa.Table.from_pylist([row], EXTRACTIONS)

    gone = past_of(table, extracted("chunk-gone"), ledger, load_prompts(None), settings, count, FREE)
    assert gone == unknown_past(settings.gleaning)
    here = past_of(table, extracted(table["chunk_id"][0].as_py()), ledger, load_prompts(None), settings, count, FREE)
    assert here.known
    assert here.calls_a_chunk.low < 2 < here.calls_a_chunk.high
