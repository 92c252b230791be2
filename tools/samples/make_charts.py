"""Write the sample decks with charts by python-pptx and LibreOffice, and one with a diagram by hand; see make.py."""

import tempfile
import zipfile
from pathlib import Path

from make import HERE, office
from pptx import Presentation
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Cm

DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
FRAME = f"""<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="9" name="Diagram 8"/><p:cNvGraphicFramePr/><p:nvPr/>
</p:nvGraphicFramePr><p:xfrm><a:off x="0" y="0"/><a:ext cx="9" cy="9"/></p:xfrm><a:graphic>
<a:graphicData uri="{DIAGRAM}">
<dgm:relIds xmlns:dgm="{DIAGRAM}" xmlns:r="{RELATION}" r:dm="rId9" r:lo="rId9" r:qs="rId9" r:cs="rId9"/></a:graphicData>
</a:graphic></p:graphicFrame></p:spTree>"""
DATA = f"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<dgm:dataModel xmlns:dgm="{DIAGRAM}" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><dgm:ptLst>
<dgm:pt modelId="1" type="doc"/><dgm:pt modelId="2"><dgm:t><a:p><a:r><a:t>Read the </a:t></a:r><a:r><a:t>gauge</a:t>
</a:r></a:p></dgm:t></dgm:pt><dgm:pt modelId="3"><dgm:t><a:p><a:r><a:t>Call the office</a:t></a:r></a:p>
</dgm:t></dgm:pt></dgm:ptLst><dgm:cxnLst/></dgm:dataModel>"""


def write_charts(folder: Path) -> None:
    """Write a deck with a chart of columns, one of lines and one of points."""
    deck = Presentation()
    levels = CategoryChartData()
    levels.categories = ["Steinhag", "Corley"]
    levels.add_series("spring", (1.42, 0.97))
    levels.add_series("autumn", (0.8, None))
    points = XyChartData()
    for name, offset in (("weir", 0), ("dam", 2)):
        series = points.add_series(name)
        series.add_data_point(0.5 + offset, 12)
        series.add_data_point(1.0 + offset, 30)
    kinds = (XL_CHART_TYPE.COLUMN_CLUSTERED, levels), (XL_CHART_TYPE.LINE, levels), (XL_CHART_TYPE.XY_SCATTER, points)
    for kind, data in kinds:
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = "Levels"
        chart = slide.shapes.add_chart(kind, Cm(1), Cm(4), Cm(20), Cm(12), data).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = "Levels in m"
    deck.save(folder / "python-pptx.pptx")
    office(folder / "python-pptx.pptx", folder / "libreoffice.pptx")


def write_diagram(folder: Path) -> None:
    """Add a diagram to a slide of python-pptx; no free program writes them."""
    with tempfile.TemporaryDirectory() as name:
        deck, plain = Presentation(), Path(name) / "plain.pptx"
        deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Rounds"
        deck.save(plain)
        with (
            zipfile.ZipFile(plain) as archive,
            zipfile.ZipFile(folder / "diagram.pptx", "w", zipfile.ZIP_DEFLATED) as made,
        ):
            for part in archive.namelist():
                text = archive.read(part)
                if part == "ppt/slides/slide1.xml":
                    text = text.replace(b"</p:spTree>", FRAME.encode())
                if part == "ppt/slides/_rels/slide1.xml.rels":
                    relation = f'<Relationship Id="rId9" Type="{RELATION}/diagramData" Target="../diagrams/data1.xml"/>'
                    text = text.replace(b"</Relationships>", f"{relation}</Relationships>".encode())
                if part == "[Content_Types].xml":
                    kind = "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml"
                    override = f'<Override PartName="/ppt/diagrams/data1.xml" ContentType="{kind}"/>'
                    text = text.replace(b"</Types>", f"{override}</Types>".encode())
                made.writestr(part, text)
            made.writestr("ppt/diagrams/data1.xml", DATA)


if __name__ == "__main__":
    write_charts(HERE / "charts")
    write_diagram(HERE / "charts")
