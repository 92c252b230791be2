"""Records that know if they are as they were written."""

from pathlib import Path

import pytest

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.manifests import FileSum, PublishedFiles
from lightrag_dagster.storage.records import read_record, write_record

FILES = PublishedFiles(files={"tables/a.parquet": FileSum(size=5, sha256="hash")})


def test_a_record_with_another_letter_is_damaged_and_one_without_a_checksum_is_read(tmp_path: Path) -> None:
    file = tmp_path / "files.json"
    write_record(file, FILES)
    text = file.read_text()
    assert read_record(file, PublishedFiles) == FILES
    for other in ("b.parquet", "a.parquez"):
        file.write_text(text.replace("a.parquet", other))
        with pytest.raises(StoreError, match=r"files\.json is damaged; `lightrag-dagster run` makes"):
            read_record(file, PublishedFiles)
    file.write_text(FILES.model_dump_json(exclude={"crc32"}))
    assert read_record(file, PublishedFiles) == FILES
