import pytest

from tests.readers.office.word.documents import paragraph, read


def said(name: int, text: str, author: str = "Ida Wren") -> str:
    return (
        f'<w:comment w:id="{name}" w:author="{author}">{text if text.startswith("<") else paragraph(text)}</w:comment>'
    )


def about(name: int, content: str) -> str:
    return (
        f'<w:commentRangeStart w:id="{name}"/>{content}<w:commentRangeEnd w:id="{name}"/>'
        f'<w:r><w:commentReference w:id="{name}"/></w:r>'
    )


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


@pytest.mark.parametrize(
    ("body", "comments", "text"),
    [
        (
            f"<w:p>{run('The ')}{about(1, run('gauge'))}{run(' fell.')}</w:p>",
            said(1, "Which one?"),
            "The gauge fell.\n\n- Comment by Ida Wren on “gauge”: Which one?",
        ),
        (
            f"<w:p>{about(2, run('First'))}{about(1, run(' second'))}</w:p>",
            said(1, "B") + said(2, "A", ""),
            "First second\n\n- Comment on “First”: A\n- Comment by Ida Wren on “second”: B",
        ),
        (
            f"<w:p>{run('Text')}<w:r><w:commentReference w:id='1'/></w:r></w:p>",
            said(1, paragraph("Two") + paragraph("paragraphs")) + said(2, ""),
            "Text\n\n- Comment by Ida Wren: Two paragraphs",
        ),
        (
            f"<w:p>{about(1, run('weir ' * 40))}</w:p>",
            said(1, "Long"),
            f"{('weir ' * 40).strip()}\n\n- Comment by Ida Wren on “{('weir ' * 16).strip()} …”: Long",
        ),
    ],
)
def test_comments_come_after_the_document(body: str, comments: str, text: str) -> None:
    assert read(body, parts={"comments.xml": comments}).text == text
