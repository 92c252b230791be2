import pytest

from tests.readers.office.word.documents import SPACES, cell, paragraph, read, table

BOX = "http://schemas.microsoft.com/office/word/2010/wordprocessingShape"


def box(*texts: str) -> str:
    return f"<w:txbxContent>{''.join(map(paragraph, texts))}</w:txbxContent>"


def drawn(content: str) -> str:
    graphic = f'<a:graphic><a:graphicData uri="{BOX}">{content}</a:graphicData></a:graphic>'
    return f"<w:drawing><wp:inline>{graphic}</wp:inline></w:drawing>"


def shape(*texts: str) -> str:
    return f"<wps:wsp><wps:txbx>{box(*texts)}</wps:txbx></wps:wsp>"


def old(*texts: str, kind: str = "shape") -> str:
    return f"<w:pict><v:{kind}><v:textbox>{box(*texts)}</v:textbox></v:{kind}></w:pict>"


def versions(choice: str, fallback: str = "") -> str:
    return f'<mc:AlternateContent><mc:Choice Requires="wps">{choice}</mc:Choice>{fallback}</mc:AlternateContent>'


# Reported case A7.
@pytest.mark.parametrize(
    ("content", "boxes"),
    [
        (versions(drawn(shape("Boxed words."))), "Boxed words."),
        (versions(drawn(shape("Boxed words.")), f"<mc:Fallback>{old('Boxed words.')}</mc:Fallback>"), "Boxed words."),
        (versions("<w:drawing/>", f"<mc:Fallback>{old('Boxed words.')}</mc:Fallback>"), "Boxed words."),
        (drawn(shape("Boxed", "words.")), "Boxed\n\nwords."),
        (drawn(f"<wpg:wgp>{shape('One.')}{shape('Two.')}</wpg:wgp>"), "One.\n\nTwo."),
        (
            versions(
                drawn(
                    f"<wps:wsp><wps:txbx><w:txbxContent><w:p><w:r><w:t>Out.</w:t></w:r><w:r>{versions(drawn(shape('In.')))}"
                    "</w:r></w:p></w:txbxContent></wps:txbx></wps:wsp>"
                )
            ),
            "Out.\n\nIn.",
        ),
        (old("Boxed words."), "Boxed words."),
        (old("Boxed words.", kind="oval"), "Boxed words."),
        ('<w:pict><v:shape><v:textpath string="DRAFT"/></v:shape></w:pict>', "DRAFT"),
    ],
)
def test_text_boxes_follow_their_paragraph_once(content: str, boxes: str) -> None:
    body = f"<w:p><w:r><w:t>Before.</w:t></w:r><w:r>{content}</w:r></w:p>{paragraph('After.')}"
    assert read(body).text == f"Before.\n\n{boxes}\n\nAfter."


def image(caption: str) -> str:
    fill = '<pic:blipFill><a:blip r:embed="rId1"/></pic:blipFill>'
    return f'<pic:pic><pic:nvPicPr><pic:cNvPr id="1" descr="{caption}"/></pic:nvPicPr>{fill}</pic:pic>'


def picture(caption: str, content: str = "") -> str:
    return (
        f'<w:r><w:drawing><wp:inline><wp:docPr id="1" name="Picture 1" descr="{caption}"/><a:graphic><a:graphicData>'
        f"{content or image(caption)}</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
    )


# Reported case A13.
@pytest.mark.parametrize(
    ("before", "caption", "after", "text"),
    [
        ("Gauge: ", "C:\\Users\\x\\gauge.jpg", "in the river.", "Gauge: in the river."),
        ("Gauge", "image1.png", "in the river.", "Gauge in the river."),
        ("Gauge ", "A weir in spring", "in the river.", "Gauge in the river.\n\nA weir in spring"),
        ("Gauge", "A weir&#10;in spring", "s", "Gauge s\n\nA weir in spring"),
        ("", "A weir in spring", "", "A weir in spring"),
        ("Gauge ", "", "in the river.", "Gauge in the river."),
    ],
)
def test_what_is_said_of_a_picture_is_apart_from_words(before: str, caption: str, after: str, text: str) -> None:
    first, last = (f'<w:r><w:t xml:space="preserve">{one}</w:t></w:r>' if one else "" for one in (before, after))
    body = f"<w:p>{first}{picture(caption)}{last}</w:p>"
    assert read(body, parts={"media/image.png": b"none"}).text == text


def test_a_picture_that_text_flows_around_divides_no_word() -> None:
    floating = picture("A weir").replace("wp:inline", "wp:anchor")
    body = f"<w:p><w:r><w:t>Hydro</w:t></w:r>{floating}<w:r><w:t>tec</w:t></w:r></w:p>"
    assert read(body, parts={"media/image.png": b"none"}).text == "Hydrotec\n\nA weir"


def test_pictures_of_a_group_are_each_said() -> None:
    group = f"<wpg:wgp>{image('A weir')}{image('A gauge')}</wpg:wgp>"
    text = read(f"<w:p>{picture('', group)}</w:p>", parts={"media/image.png": b"none"}).text
    assert text == "A weir\n\nA gauge"


CHART = (
    f"<?xml version='1.0'?><c:chartSpace {SPACES}><c:chart><c:plotArea><c:barChart><c:ser>"
    "<c:tx><c:strRef><c:strCache><c:pt idx='0'><c:v>Level</c:v></c:pt></c:strCache></c:strRef></c:tx>"
    "<c:cat><c:strRef><c:strCache><c:pt idx='0'><c:v>Steinhag</c:v></c:pt></c:strCache></c:strRef></c:cat>"
    "<c:val><c:numRef><c:numCache><c:pt idx='0'><c:v>1.42</c:v></c:pt></c:numCache></c:numRef></c:val>"
    "</c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>"
)
DIAGRAM = (
    f"<?xml version='1.0'?><dgm:dataModel {SPACES}><dgm:ptLst>"
    "<dgm:pt><dgm:t><a:p><a:r><a:t>Measure</a:t></a:r></a:p></dgm:t></dgm:pt>"
    "<dgm:pt><dgm:t><a:p><a:r><a:t>Report</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>"
)
TABLE = "|  | Level |\n| --- | --- |\n| Steinhag | 1.42 |"


@pytest.mark.parametrize(
    ("part", "content", "text"),
    [
        (CHART, '<c:chart r:id="rId1"/>', TABLE),
        (DIAGRAM, '<dgm:relIds r:dm="rId1"/>', "- Measure\n- Report"),
        (CHART, '<c:chart r:id="rId7"/>', ""),
        ("<?xml broken", '<c:chart r:id="rId1"/>', ""),
    ],
)
def test_charts_and_diagrams_are_text_below_their_paragraph(part: str, content: str, text: str) -> None:
    body = f"<w:p><w:r><w:t>See.</w:t></w:r><w:r>{drawn(content)}</w:r></w:p>{paragraph('After.')}"
    shown = "\n\n".join(filter(None, ("See.", text, "After.")))
    assert read(body, parts={"charts/chart1.xml": part}).text == shown


def test_a_chart_in_a_cell_is_on_its_line() -> None:
    chart = '<c:chart r:id="rId1"/>'
    body = table(cell("a") + cell("b"), cell(f"<w:p><w:r>{drawn(chart)}</w:r></w:p>") + cell("d"))
    text = read(body, parts={"charts/chart1.xml": CHART}).text
    assert text == "| a | b |\n| --- | --- |\n| Level / Steinhag; 1.42 | d |"
