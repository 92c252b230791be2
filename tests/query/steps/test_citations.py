import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.query.steps.citations import resolve_citations
from lightrag_dagster.query.types import Reference

ONE, TWO = Reference("1", "s", "sub/a.md"), Reference("2", "s", "b.md")
LIST = "\n\n### References\n\n"


@pytest.mark.parametrize(
    ("text", "expected", "references", "invalid"),
    [
        ("Plain.", "Plain.", (), 0),
        ("So [1].", "So [1].", (ONE,), 0),
        ("So [9].", "So.", (), 1),
        ("“In [1995] they [9] left” [1].", "“In [1995] they left” [1].", (ONE,), 1),
        ("So [2][9] and [9, 1].", "So [2] and [1].", (ONE, TWO), 1),
        ("See [1](http://x) and array[7]\n\n  [7]: x", "See [1](http://x) and array[7]\n\n  [7]: x", (), 0),
        ("It failed [1]: see below. According to [7]: no.", "It failed [1]: see below. According to: no.", (ONE,), 1),
        ("See arr[1]: int, or x[2]: str.", "See arr[1]: int, or x[2]: str.", (), 0),
        ("水门坏了[2]: é[1]: x", "水门坏了[2]: é[1]: x", (ONE, TWO), 0),
        ("The digits [0-9] and pages [1–2].", "The digits [0-9] and pages [1–2].", (), 0),
        ("It failed[1].", "It failed[1].", (ONE,), 0),
        ("It failed[9, 2] [1]", "It failed[2] [1]", (ONE, TWO), 1),
        ("水门坏了[1]。闸口[9]也坏了【2】。", "水门坏了[1]。闸口也坏了[2]。", (ONE, TWO), 1),
        ("堤防が決壊した［１、２］。", "堤防が決壊した[1, 2]。", (ONE, TWO), 0),
        ("It failed【1†source】 twice【9†L3-L5】.", "It failed[1] twice.", (ONE,), 1),
        ("[9] It failed é[9].", "It failed é.", (), 1),
        (f"So.{LIST}- [1] s/sub/a.md\n- [2] b.md", f"So.{LIST}- [1] s/sub/a.md\n- [2] b.md", (ONE, TWO), 0),
        (f"So.{LIST}- [1] s/sub/a.md\n- [3] c.md", f"So.{LIST}- [1] s/sub/a.md", (ONE,), 1),
        (f"So.{LIST}* [2] other.pdf\n* [1] **s/sub/a.md**", f"So.{LIST}* [1] **s/sub/a.md**", (ONE,), 1),
        (f"So [4].{LIST}- [4] x.md\n- [1]", f"So.{LIST}- [1]", (ONE,), 1),
        (f"So [2].{LIST}- [1] x.md", "So [2].", (TWO,), 1),
        ("So.\n\n## 参考文献\n\n- [1] sub/a.md\n- [3] c.md", "So.\n\n## 参考文献\n\n- [1] sub/a.md\n- c.md", (ONE,), 1),
        ("## Dateien\n- [1] setup.py\n[2] run.sh", "## Dateien\n- [1] setup.py\n[2] run.sh", (ONE, TWO), 0),
        (
            "**Summary**\n\n[1] By A.Berg\n[2] In the U.S.A",
            "**Summary**\n\n[1] By A.Berg\n[2] In the U.S.A",
            (ONE, TWO),
            0,
        ),
        # Code and numbers stay as the model wrote them.
        ("```yaml\nretries: [1, 5]\n```\nSo [1, 9].", "```yaml\nretries: [1, 5]\n```\nSo [1].", (ONE,), 1),
        ("So `--ports [80]`, `[1]` [9] `x`.", "So `--ports [80]`, `[1]` `x`.", (ONE,), 1),
        ("mean([0, 1]) of a: [0, 2], x = [1, 5]", "mean([0, 1]) of a: [0, 2], x = [1, 5]", (), 0),
        ("So [0] and [0, 1].", "So and [1].", (ONE,), 1),
        ("Don`t use [9], it`s [1].", "Don`t use, it`s [1].", (ONE,), 1),
        # A fence that is never closed, or spans the whole answer, is no code; one at the begin of an answer is.
        ("Cut:\n```\nSo [9]\nand [1]", "Cut:\n```\nSo\nand [1]", (ONE,), 1),
        ("\n```text\nSo [2, 9].\n```\n", "```text\nSo [2].\n```", (TWO,), 1),
        ("```So [9] [1]```", "```So [1]```", (ONE,), 1),
        ("```\nx [9]\n```\nSo [1].\n```\nx [9]\n```", "```\nx [9]\n```\nSo [1].\n```\nx [9]\n```", (ONE,), 0),
        ("Matrix: [[1, 12], [3, 1]]; so [[1]][[2]].", "Matrix: [[1, 12], [3, 1]]; so [[1]][[2]].", (ONE, TWO), 0),
        (
            '{"a": [12], "b": [[7],\n[1]], "c": "So [9, 2]."}',
            '{"a": [12], "b": [[7],\n[1]], "c": "So [2]."}',
            (TWO,),
            1,
        ),
        ("```markdown\nSo [2, 9].\n```", "```markdown\nSo [2].\n```", (TWO,), 1),
        (f"So.{LIST}1. [1] s/sub/a.md\n2. [9] c.pdf", f"So.{LIST}1. [1] s/sub/a.md", (ONE,), 1),
        ("So.\n\n**References:**\n[2] b.md", "So.\n\n**References:**\n[2] b.md", (TWO,), 0),
    ],
)
def test_citations_are_resolved(text: str, expected: str, references: tuple[Reference, ...], invalid: int) -> None:
    assert resolve_citations(text, (ONE, TWO)) == (expected, references, invalid)


@given(
    st.lists(st.sampled_from(["So", " [1]", "[2]", "[1, 2]", ".", "\n"])), st.sampled_from(["", LIST + "- [2] b.md\n"])
)
def test_what_is_known_stays_as_it_is(parts: list[str], listed: str) -> None:
    text = "".join(parts) + listed
    assert resolve_citations(text, (ONE, TWO))[::2] == (text.strip(), 0)
