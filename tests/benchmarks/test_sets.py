"""The benchmark of sets, with two passages in two languages."""

import json
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from benchmarks.sets import main, questions_of

PASSAGES = [
    {"id": "p0", "title": "Corley Bridge", "text": "The barometer of Corley Bridge hangs in the lock keeper's house."},
    {"id": "p1", "title": "Wehr", "text": "Der Pegel am Wehr wird jeden Morgen vom Müller abgelesen."},
]
QUESTIONS = [
    {"question": "Where does the barometer hang?", "supporting": ["p0"], "language": "en"},
    {"question": "Wer liest den Pegel am Wehr ab?", "supporting": ["p1"], "language": "de"},
    # The first passage has none of its words, so half of the gold is found: nDCG 1 / (1 + 1 / log2(3)).
    {"question": "Wer liest den Pegel am Wehr ab?", "supporting": ["p0", "p1"], "language": "de"},
]


@pytest.fixture
def rivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set in a folder; the benchmark names its server in the environment."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "")
    folder = tmp_path / "rivers"
    folder.mkdir()
    for name, rows in (("documents", PASSAGES), ("questions", QUESTIONS)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


@pytest.mark.long
def test_before_and_after(rivers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    homes, results, before = tmp_path / "homes", tmp_path / "results.parquet", tmp_path / "before.parquet"
    main([str(rivers), "--homes", str(homes), "--results", str(results)])
    shown = capsys.readouterr().out
    assert "| rivers, offline | 83.3 / 83.3 / 87.1 / 100.0 | 83.3 / 83.3 / 87.1 / 100.0 |" in shown
    assert "| rivers, offline, de | 75.0 / 75.0 / 80.7 / 100.0 |" in shown
    assert "| rivers, offline | +0.0 [0.0, 0.0] |" in shown
    rows = pq.read_table(results)
    assert rows.num_rows == 9
    assert min(rows["built"].to_pylist()) > 0, "it was built from nothing"
    asked = pc.equal(rows["question"], QUESTIONS[0]["question"])
    worse = pc.if_else(asked, 0.0, rows["recall@1"])
    pq.write_table(rows.set_column(rows.schema.get_field_index("recall@1"), "recall@1", worse), before)
    main([str(rivers), "--homes", str(homes), "--before", str(before)])
    compared = capsys.readouterr().out.partition("after − before")[2]
    assert "| rivers, offline | fusion | +33.3 [0.0, 100.0] | +0.0 [0.0, 0.0] |" in compared
    assert "| rivers, offline, en | bm25 | +100.0 [100.0, 100.0] |" in compared
    assert "| rivers, offline, de | bm25 | +0.0 [0.0, 0.0] |" in compared
    assert "| rivers, offline | 1.00 |" in compared, "the home is used again, with the time that was noted"


@pytest.mark.long
def test_gold_that_is_not_in_the_home_stops_it(rivers: Path, tmp_path: Path) -> None:
    (rivers / "questions.jsonl").write_text(json.dumps({"question": "Where?", "supporting": ["p0", "p7"]}))
    with pytest.raises(SystemExit, match="rivers, offline: 1 of its gold is not in the home, such as rivers/p7"):
        main([str(rivers), "--homes", str(tmp_path / "homes")])


def test_a_question_that_is_asked_twice_keeps_each_gold(rivers: Path) -> None:
    asked = [(one.question.strip(), one.documents, language) for one, language in questions_of(rivers)]
    assert asked[1] == ("Wer liest den Pegel am Wehr ab?", ["rivers/p1.txt"], "de")
    assert asked[2] == ("Wer liest den Pegel am Wehr ab?", ["rivers/p0.txt", "rivers/p1.txt"], "de")
    assert len({one.question for one, _ in questions_of(rivers)}) == 3
