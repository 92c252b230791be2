"""Write `recorded/docling.json`: a document as Docling exports it, made with its own types.

Docling itself needs models of several gigabytes, docling-core does not. To write the file again:

    pip install docling-core==2.104.0
    python tools/samples/docling_document.py
"""

import json
from pathlib import Path

from docling_core.types.doc.base import BoundingBox, Size
from docling_core.types.doc.document import DoclingDocument, ProvenanceItem, TableCell, TableData
from docling_core.types.doc.labels import DocItemLabel

HERE = Path(__file__).parents[2] / "tests/readers/samples"


def on(page: int) -> ProvenanceItem:
    return ProvenanceItem(page_no=page, bbox=BoundingBox(l=0, t=10, r=100, b=0), charspan=(0, 1))


def cell(text: str, row: int, column: int, rows: int = 1, columns: int = 1, *, header: bool = False) -> TableCell:
    return TableCell(
        text=text,
        row_span=rows,
        col_span=columns,
        start_row_offset_idx=row,
        end_row_offset_idx=row + rows,
        start_col_offset_idx=column,
        end_col_offset_idx=column + columns,
        column_header=header,
    )


def main() -> None:
    document = DoclingDocument(name="survey")
    for page in (1, 2, 3, 4):
        document.add_page(page, Size(width=595, height=842))
    document.add_title("Gauge survey", prov=on(1))
    document.add_text(DocItemLabel.PAGE_HEADER, "Confidential", prov=on(1))
    document.add_heading("Station visits", level=1, prov=on(1))
    document.add_text(DocItemLabel.TEXT, "The Kingfisher gauge at Lerchbruck was cleaned in spring.", prov=on(1))
    points = document.add_list_group()
    seal = document.add_list_item("Replace the seal", parent=points, prov=on(1))
    below = document.add_list_group(parent=seal)
    document.add_list_item("the inner one", parent=below, prov=on(1))
    document.add_list_item("Check the logger", parent=points, prov=on(1))
    steps = document.add_list_group()
    document.add_list_item("Read the staff gauge.", enumerated=True, marker="1.", parent=steps, prov=on(1))
    document.add_list_item("Call the office.", enumerated=True, marker="2.", parent=steps, prov=on(1))
    caption = document.add_text(DocItemLabel.CAPTION, "Table 1: levels in March", prov=on(2))
    cells = [cell("Station", 0, 0, header=True), cell("Level", 0, 1, columns=2, header=True)]
    cells += [cell("Steinhag", 1, 0), cell("1.42", 1, 1), cell("m | NN", 1, 2)]
    document.add_table(TableData(table_cells=cells, num_rows=2, num_cols=3), caption=caption, prov=on(2))
    document.add_heading("Überlauf und 水位", level=2, prov=on(4))
    shown = document.add_text(DocItemLabel.CAPTION, "Figure 1: the weir", prov=on(4))
    document.add_picture(caption=shown, prov=on(4))
    document.add_code("level = 1.42", prov=on(4))
    document.add_text(DocItemLabel.FORMULA, "h = 2 r", prov=on(4))
    document.add_text(DocItemLabel.FOOTNOTE, "Read at noon.", prov=on(4))
    document.add_text(DocItemLabel.PAGE_FOOTER, "4", prov=on(4))
    written = json.dumps(document.export_to_dict(), ensure_ascii=False, indent=1)
    (HERE / "recorded" / "docling.json").write_text(written + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
