import re
from pathlib import Path
from xml.etree import ElementTree

from lightrag_dagster.assets.column_lineage import LINEAGE
from tools.lineage_picture import LAYERS, picture

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "column-lineage.svg"
EDGES = {
    (f"{table}.{column}", origin)
    for table, row in LINEAGE.items()
    for column, origins in row.items()
    for origin in origins
}


def test_the_picture_is_made_from_the_lineage() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), "run `make docs`"


def test_each_table_is_right_of_those_that_it_is_made_from() -> None:
    layer_of = {table: number for number, layer in enumerate(LAYERS) for table in layer}
    assert layer_of.keys() == LINEAGE.keys() | {"raw_documents"}
    for made, origin in EDGES:
        assert layer_of[origin.split(".")[0]] < layer_of[made.split(".")[0]]


def test_it_has_every_column_and_edge() -> None:
    drawn = ElementTree.fromstring(picture())
    titles = [str(title.text) for title in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert {tuple(title.split(" from ")) for title in titles} == EDGES
    assert len(titles) == len(EDGES)
    columns = {made for made, _ in EDGES} | {origin for _, origin in EDGES}
    words = [str(text.text) for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    tables = {table for layer in LAYERS for table in layer}
    assert sorted(words) == sorted([*tables, *(column.split(".")[1] for column in columns)])


def test_no_name_is_wider_than_its_table() -> None:
    width = float(re.findall(r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)"', picture())[0])
    words = re.findall(r"<text [^>]*>(\w+)</text>", picture())
    assert max(map(len, words)) * 7.83 + 16 < width  # 0.602 em of 13 pixels
