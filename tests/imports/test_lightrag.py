"""LightRAG's stores in every shape, and folders that mean harm."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.errors import SourceError
from lightrag_dagster.imports import StoredBase, read_lightrag
from lightrag_dagster.imports.stored import EditedName, key_of
from tests.imports.stores import ANSWERS, TEXTS, rows_of, write_graph, write_json, write_lines, write_vectors
from tests.loopback import END_MARK
from tests.support import FLOOD, OFFICE

MOST = 100_000
WHOLE = {key_of(text): tuple(answers) for text, answers in ANSWERS.items()}


def read(folder: Path) -> StoredBase:
    return read_lightrag(folder, MOST)


def test_documents_and_answers_are_read(tmp_path: Path) -> None:
    base = read(write_json(tmp_path, rows_of(TEXTS)))
    assert {one.path: one.text for one in base.documents()} == TEXTS
    assert base.answers == WHOLE
    assert (base.recipe, base.model) == ("lightrag-1.5.7", "lightrag")


def test_lines_of_json_are_read_alike(tmp_path: Path) -> None:
    base = read(write_lines(tmp_path, rows_of(TEXTS)))
    assert {one.path: one.text for one in base.documents()} == TEXTS
    assert base.answers == WHOLE


def test_the_cache_of_version_1_3_is_read(tmp_path: Path) -> None:
    """Answers are under their mode, and name no chunk."""
    stores, cache = rows_of(TEXTS), {}
    of_chunk = {key: row["content"] for key, row in stores["text_chunks"].items()}
    for key, row in stores["llm_response_cache"].items():
        text = of_chunk[row["chunk_id"]]
        frame = f"{'#' * 22}\n---Real Data---\n{'#' * 22}\nEntity_types: [Person]\nText:\n{text}\n{'#' * 22}\nOutput:"
        prompt = f"---Goal---\nText:\nan example\n{'#' * 22}\nOutput:\n{frame}"
        if row["return"] != ANSWERS[text][0]:
            said = [{"role": "user", "content": prompt}, {"role": "assistant", "content": ANSWERS[text][0]}]
            prompt = json.dumps(said) + "\nMANY entities were missed"
        name = key.rpartition(":")[2]
        cache[name] = {"return": row["return"], "cache_type": "extract", "original_prompt": prompt}
    for row in stores["text_chunks"].values():
        del row["llm_cache_list"]
    stores["llm_response_cache"] = {"default": dict(reversed(cache.items())), "local": {}}
    assert read(write_json(tmp_path, stores)).answers == WHOLE


def test_a_prompt_of_version_1_3_that_cannot_be_read_costs_only_its_answer(tmp_path: Path) -> None:
    rows = {
        "a": {"return": "entity", "cache_type": "extract", "original_prompt": f"-Real Data-\\nText:\\n\\x\\n{'#' * 22}"}
    }
    chunks: dict[str, Any] = {"chunk": {"content": FLOOD}}
    stores = {"full_docs": {}, "text_chunks": chunks, "llm_response_cache": {"default": rows}}
    assert read(write_json(tmp_path, stores)).answers == {}


@pytest.mark.parametrize(
    ("prompts", "owner", "answers"),
    [
        ((f"Text:\n```\n{FLOOD}\n```",), "chunk", ("0",)),
        # of another text, as before an edit, or of a chunk that is gone
        (("\n```\nA text that was edited.\n```",), "chunk", ()),
        ((f"```\n{FLOOD}\n```",), "gone", ()),
        # those that asked for more come after the first, and are nothing without it
        ((f"More.\n{json.dumps([{'role': 'user', 'content': f'```{FLOOD}```'}])}",), "chunk", ()),
        (
            (f"More.\n{json.dumps([{'role': 'user', 'content': f'```{FLOOD}```'}])}", f"```\n{FLOOD}\n```"),
            "chunk",
            ("1", "0"),
        ),
    ],
)
def test_answers_that_no_chunk_lists_are_taken_if_they_fit(
    tmp_path: Path, prompts: tuple[str, ...], owner: str, answers: tuple[str, ...]
) -> None:
    rows = {
        f"{at}": {"return": f"{at}", "cache_type": "extract", "chunk_id": owner, "original_prompt": f"\n{prompt}"}
        for at, prompt in enumerate(prompts)
    }
    chunks = {"chunk": {"content": FLOOD}, "other": {"content": OFFICE}}
    write_json(tmp_path, {"full_docs": {}, "text_chunks": chunks, "llm_response_cache": rows})
    assert read(tmp_path).answers == ({key_of(FLOOD): answers} if answers else {})


def test_a_prompt_that_repeats_itself_is_read_in_no_time(tmp_path: Path) -> None:
    prompt = "-Real Data-" * 20_000 + "Text:\n" * 20_000
    rows: dict[str, Any] = {"a": {"return": "entity", "cache_type": "extract", "original_prompt": prompt}}
    chunks: dict[str, Any] = {"chunk": {"content": FLOOD}}
    stores = {"full_docs": {}, "text_chunks": chunks, "llm_response_cache": rows}
    assert read(write_json(tmp_path, stores)).answers == {}


def test_old_documents_have_the_paths_of_their_states(tmp_path: Path) -> None:
    stores = rows_of({"a.txt": "One.", "b.txt": "Two.", "c.txt": "Three.", "unknown_source": "Four."}, {})
    third = [row.pop("file_path") and row for row in stores["full_docs"].values()][2]
    state = dict(zip(stores["full_docs"], ("a.txt", "moved.txt", "other.txt", "unknown_source"), strict=True))
    stores["doc_status"] = {key: {"file_path": path} for key, path in state.items()}
    third["file_path"] = "own.txt"
    assert [one.path for one in read(write_json(tmp_path, stores)).documents()] == ["a.txt", "moved.txt", "own.txt", ""]
    (tmp_path / "kv_store_doc_status.json").unlink()
    assert [one.path for one in read(tmp_path).documents()] == ["", "", "own.txt", ""]


def test_the_mark_of_parsed_documents_is_no_text(tmp_path: Path) -> None:
    stores = rows_of({"a.docx": f"{{{{LRdoc}}}}{FLOOD}", "b.txt": f"{{{{LRdoc}}}}{OFFICE}"}, {})
    for row, form in zip(stores["full_docs"].values(), ("lightrag", "raw"), strict=True):
        row["parse_format"] = form
    texts = [one.text for one in read(write_json(tmp_path, stores)).documents()]
    assert texts == [FLOOD, f"{{{{LRdoc}}}}{OFFICE}"]


def test_a_chunk_is_known_by_its_text_but_for_its_ends(tmp_path: Path) -> None:
    assert key_of(f"  {FLOOD}\n") == key_of(FLOOD)
    assert key_of(FLOOD) != key_of(FLOOD + "x")


def test_a_chunk_with_half_a_pair_is_known_by_what_its_file_has() -> None:
    assert key_of("Anna\ud800 met Bo.") == key_of("Anna? met Bo.")


def test_answers_of_other_kinds_are_left_out(tmp_path: Path) -> None:
    stores = rows_of(TEXTS)
    *_, last = stores["text_chunks"].values()
    last["llm_cache_list"] += ["default:summary:1", "default:analysis:2", "default:extract:gone", 7]
    stores["llm_response_cache"]["default:summary:1"] = {"return": "A summary.", "cache_type": "summary"}
    stores["llm_response_cache"]["default:analysis:2"] = {"return": "An image.", "cache_type": "analysis"}
    assert read(write_json(tmp_path, stores)).answers == WHOLE


@pytest.mark.parametrize(
    ("lost", "note"),
    [
        (0, "chunks with answers to a request for more alone, which are not taken: 1"),
        (1, "answers to requests for more that are missing, of chunks with a first answer: 1"),
    ],
)
def test_answers_are_taken_if_the_first_is_there(tmp_path: Path, lost: int, note: str) -> None:
    stores = rows_of({"a.txt": FLOOD})
    (row,) = stores["text_chunks"].values()
    del stores["llm_response_cache"][row["llm_cache_list"][lost]]
    base = read(write_json(tmp_path, stores))
    assert base.answers == ({key_of(FLOOD): tuple(ANSWERS[FLOOD][:1])} if lost else {})
    assert note in base.notes


def test_an_answer_stays_that_of_the_chunk_that_lists_it(tmp_path: Path) -> None:
    """Equal texts share an answer, whose row names the first chunk; its document was edited under its id."""
    stores = rows_of({"a.txt": FLOOD, "b.txt": FLOOD})
    (name, first), _ = stores["text_chunks"].items()
    first |= {"content": OFFICE, "llm_cache_list": []}
    for row in stores["llm_response_cache"].values():
        row["chunk_id"] = name
    assert read(write_json(tmp_path, stores)).answers == {key_of(FLOOD): tuple(ANSWERS[FLOOD])}


def test_equal_texts_share_the_answers_of_the_first(tmp_path: Path) -> None:
    stores = rows_of({"a.txt": FLOOD, "b.txt": FLOOD})
    *_, last = stores["text_chunks"].values()
    last["llm_cache_list"] = []
    assert read(write_json(tmp_path, stores)).answers == {key_of(FLOOD): tuple(ANSWERS[FLOOD])}


def test_names_that_people_edited_are_told(tmp_path: Path) -> None:
    write_json(tmp_path, rows_of(TEXTS))
    kept = {
        "Priya Nair": "Priya Nair repairs sensors.", "Sensor": "The sensor was repaired.", "STATION 14": "By hand.",
        "Bergen": "Bergen has an office.", "J. Feld": "Jonas Feld leads the office.",
    }  # fmt: skip
    write_graph(tmp_path, kept, [("J. Feld", "Bergen")])
    base = read(tmp_path)
    assert base.edited == [
        EditedName("J. Feld", "graph", "Jonas Feld leads the office."),
        EditedName("Jonas Feld", "answers"),
        EditedName("STATION 14", "description", "By hand."),
    ]


def test_an_end_of_a_relation_that_no_row_names_is_not_called_edited(tmp_path: Path) -> None:
    """LightRAG makes it a node with the description of the relation."""
    said = "relation<|#|>Priya Nair<|#|>Depot<|#|>keeps<|#|>Priya Nair keeps the depot.\n"
    write_json(tmp_path, rows_of({"notes.txt": FLOOD}, {FLOOD: [said + ANSWERS[FLOOD][0]]}))
    nodes = {"Priya Nair": "Priya Nair repairs sensors.", "Station 14": "Station 14 has a sensor."}
    write_graph(tmp_path, nodes | {"Depot": "Priya Nair keeps the depot."}, [("Priya Nair", "Depot")])
    assert read(tmp_path).edited == []


def test_the_answers_of_a_last_window_inside_the_one_before_are_of_that_one(tmp_path: Path) -> None:
    """LightRAG cuts 1,200 tokens into windows of 1,200 and of 100; here they are one."""
    end, last = FLOOD[-20:], f"entity<|#|>End<|#|>place<|#|>The end.\n{END_MARK}"
    texts = {"a.txt": FLOOD, "again.txt": FLOOD}
    stores = rows_of(texts)
    for doc, text in zip(list(stores["full_docs"]), texts.values(), strict=True):
        more = rows_of({text: end}, {end: [last]})
        stores["llm_response_cache"] |= more["llm_response_cache"]
        [row] = more["text_chunks"].values()
        chunks = list(stores["text_chunks"].items())
        at = next(number for number, (_, one) in enumerate(chunks, 1) if one["full_doc_id"] == doc)
        stores["text_chunks"] = dict([*chunks[:at], (f"{doc}-chunk-001", row | {"full_doc_id": doc}), *chunks[at:]])
    assert read(write_json(tmp_path, stores)).answers == {key_of(FLOOD): (*ANSWERS[FLOOD], last)}
    stores["text_chunks"] |= rows_of({"end.txt": end}, {end: [last]})["text_chunks"]
    assert read(write_json(tmp_path, stores)).answers == {
        key_of(FLOOD): (*ANSWERS[FLOOD], last),
        key_of(end): (last,),
    }


def test_names_whose_answers_are_lost_are_listed_as_those_of_the_graph_alone(tmp_path: Path) -> None:
    stores = rows_of(TEXTS)
    del stores["llm_response_cache"]
    write_graph(tmp_path, {"Bergen": "Bergen has an office."})
    assert read(write_json(tmp_path, stores)).edited == [EditedName("Bergen", "graph", "Bergen has an office.")]


def test_vectors_are_read_with_their_texts(tmp_path: Path) -> None:
    write_json(tmp_path, rows_of(TEXTS))
    write_vectors(tmp_path, {FLOOD: [1, 0, 2], OFFICE: [0, 3, 4]})
    assert [(text, vector.tolist()) for text, vector in read(tmp_path).vectors()] == [
        (FLOOD, [1, 0, 2]),
        (OFFICE, [0, 3, 4]),
    ]


def test_what_belongs_to_no_document_is_told(tmp_path: Path) -> None:
    stores = rows_of(TEXTS)
    stores["text_chunks"]["chunk-custom"] = {"content": "Mine.", "full_doc_id": "doc-custom"}
    assert any("insert_custom_kg" in note for note in read(write_json(tmp_path, stores)).notes)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("[" * 100_000, "damaged"),
        ('{"a": {"b": ' + '{"x": ' * 100_000, "damaged"),
        ("{", "ends in the middle"),
        ("", "ends in the middle"),
        ("{}", ""),
        ('{"a": 1, "b": 2', "ends in the middle"),
        ('{"default": {}, "local": {"a": {}}}', ""),
        ('{"default": {}, "local": {"a": {}}', "ends in the middle"),
        ('{"a": {"return": "x", "cache_type": "extr', "ends in the middle"),
        ('{"a": 1, "b": [], "c": null, "d": "x"}', ""),
        ('{"a": {"return": 7, "cache_type": ["extract"], "chunk_id": {}}}', ""),
        ('{"a": {"return": "' + "x" * 3_000_000 + '"', "longer than"),
        ("\x00\xff\xfe", "damaged"),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_a_damaged_cache_costs_only_itself(tmp_path: Path, harm: str, said: str) -> None:
    write_json(tmp_path, rows_of(TEXTS))
    (tmp_path / "kv_store_llm_response_cache.json").write_text(harm, "utf-8")
    base = read(tmp_path)
    assert len(list(base.documents())) == 2
    assert base.answers == {}
    assert all(said not in note or "\n" not in note for note in base.notes)
    assert (said != "") == any("kv_store_llm_response_cache" in note and said in note for note in base.notes)
    assert base.is_whole


@pytest.mark.parametrize("lines", [False, True])
def test_documents_before_a_cut_between_two_rows_are_not_taken_for_all(tmp_path: Path, *, lines: bool) -> None:
    stores = rows_of(TEXTS)
    (write_lines if lines else write_json)(tmp_path, stores)
    assert read(tmp_path).is_whole
    path = next(tmp_path.glob("kv_store_full_docs.*"))
    text, (_, second) = path.read_text(), stores["full_docs"]
    path.write_text(text[: -5 if lines else text.index(f'"{second}"')])
    base = read(tmp_path)
    assert not base.is_whole
    assert len([*base.documents()]) == 1
    assert any(note.startswith("kv_store_full_docs.json") and "damaged" in note for note in base.notes)
    assert not any("insert_custom_kg" in note for note in base.notes)


@pytest.mark.parametrize("harm", ["", "[1]"])
def test_a_store_without_a_document_is_told_as_such(tmp_path: Path, harm: str) -> None:
    write_json(tmp_path, rows_of(TEXTS))
    (tmp_path / "kv_store_full_docs.json").write_text(harm, "utf-8")
    with pytest.raises(SourceError, match=r"/kv_store_full_docs\.json is empty or damaged at its first row"):
        read(tmp_path)


def test_rows_before_a_cut_are_read(tmp_path: Path) -> None:
    write_json(tmp_path, rows_of(TEXTS))
    path = tmp_path / "kv_store_llm_response_cache.json"
    path.write_text(path.read_text()[:-200])
    assert read(tmp_path).answers == {key_of(FLOOD): tuple(ANSWERS[FLOOD])}


def test_a_row_that_goes_over_several_blocks_is_read(tmp_path: Path) -> None:
    text = "A long text of a book. " * 60_000
    write_json(tmp_path, rows_of({"a.txt": text, "b.txt": "é" * 2_000_000}, {text: ["answer"]}))
    base = read_lightrag(tmp_path, 10_000_000)
    assert [len(one.text) for one in base.documents()] == [len(text), 2_000_000]
    assert base.answers == {key_of(text): ("answer",)}


GROWING = "".join(f"<!ENTITY a{at} '{f'&a{at - 1};' * 20}'>" for at in range(1, 10))


@pytest.mark.parametrize(
    "harm",
    [
        f"<!DOCTYPE graphml [<!ENTITY a0 '{'x' * 5000}'>{GROWING}]><graphml><node id='a'>&a9;</node></graphml>",
        "<!DOCTYPE graphml [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><graphml><node id='a'>&a;</node></graphml>",
        "<graphml><node id='a'>",
        "<?xml version='1.0' encoding='foo'?><graphml/>",
        "",
    ],
)
def test_a_graph_that_means_harm_is_not_read(tmp_path: Path, harm: str) -> None:
    write_json(tmp_path, rows_of(TEXTS))
    (tmp_path / "graph_chunk_entity_relation.graphml").write_text(harm)
    base = read(tmp_path)
    assert (base.answers, base.edited) == (WHOLE, ())
    assert any(note.startswith("graph_chunk_entity_relation.graphml cannot be read") for note in base.notes)


@pytest.mark.parametrize("harm", ["{", '{"data": [{}], "matrix": "AAAA"}', '{"data": [], "matrix": "?"}', "[]", "7"])
def test_damaged_vectors_cost_only_themselves(tmp_path: Path, harm: str) -> None:
    write_json(tmp_path, rows_of(TEXTS))
    (tmp_path / "vdb_chunks.json").write_text(harm)
    base = read(tmp_path)
    assert list(base.vectors()) == []
    assert base.answers == WHOLE


def test_links_out_of_the_folder_and_pipes_are_not_read(tmp_path: Path) -> None:
    folder = write_json(tmp_path / "rag", rows_of(TEXTS))
    elsewhere = write_json(tmp_path / "elsewhere", rows_of({"secret.txt": "A secret."}))
    cache, chunks = (folder / f"kv_store_{name}.json" for name in ("llm_response_cache", "text_chunks"))
    cache.unlink()
    cache.symlink_to(elsewhere / cache.name)
    chunks.unlink()
    os.mkfifo(chunks)
    base = read(folder)
    assert base.answers == {}
    assert [note for note in base.notes if "is not in the folder" in note and "kv_store" in note] == [
        "kv_store_text_chunks.json is not in the folder, or is a link out of it",
        "kv_store_llm_response_cache.json is not in the folder, or is a link out of it",
    ]


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"has no kv_store_full_docs\.json"):
        read(tmp_path)
    with pytest.raises(SourceError, match="is not a folder"):
        read(tmp_path / "nowhere")
