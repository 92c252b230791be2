"""Line breaks of every kind: between rows, where models use them for that, and inside fields."""

from itertools import product

from lightrag_dagster.stages.extraction.parsing import parse_response
from tests.stages.extraction.reading import differences, read, read_json

ALICE, BOB = "Alice ¦ person ¦ She leads.", "Bob ¦ person ¦ He works."
KNOWS = "Alice ¦ Bob ¦ work ¦ She leads Bob."
ROWS = ("entity¦Alice¦Person¦She leads.", "entity¦Bob¦Person¦He works.", "relation¦Alice¦Bob¦work¦She leads Bob.")

BREAKS = ["\n", "\r\n", "\r", "\n\r", "\r\r\n", "\v", "\f", "\x1c", "\x1d", "\x85", "\u2028", "\u2029", r"\n", r"\r\n"]
ANSWERS = [
    ROWS,
    (*ROWS, "<|COMPLETE|>", ""),
    ("Here are the records:", *ROWS, "<|COMPLETE|>"),
    ("Here are the records:", "", *ROWS, "", "<|COMPLETE|>"),
    ("", *ROWS, ""),
    ("```", *ROWS, "```"),
    tuple(f"- {row}" for row in ROWS),
    tuple(f"Record {number}: {row}" for number, row in enumerate(ROWS)),
    tuple(f'("{row.replace("¦", chr(34) + "¦", 1)})' for row in ROWS),
    tuple(f"**{row}**" for row in ROWS),
    ("<think>Which", "rows?</think>", *ROWS),
]


def test_rows_may_end_in_any_line_break() -> None:
    expected = {line_break.join(lines): [ALICE, BOB, KNOWS] for line_break, lines in product(BREAKS, ANSWERS)}
    assert differences(expected, read) == {}


def test_prose_after_the_last_row_is_no_part_of_it() -> None:
    breaks = ["\r\n", "\r", "\n\r", "\r\r\n", "\x85", "\u2028", "\u2029", r"\n"]
    expected = {line_break.join([*ROWS, "I hope this helps!"]): [ALICE, BOB, KNOWS] for line_break in breaks}
    assert differences(expected, read) == {}


# In an answer that begins no row after them, these are inside a field.
INSIDE = {
    # a name, a type and keywords are on one line
    "entity¦Alice\rSmith¦Person¦d": "Alice Smith ¦ person ¦ d",
    "entity¦Alice \r Smith¦Person¦d": "Alice Smith ¦ person ¦ d",
    "entity¦Alice\x85Smith¦Person¦d": "Alice Smith ¦ person ¦ d",
    "entity¦Alice\u2028Smith¦Person¦d": "Alice Smith ¦ person ¦ d",
    "entity¦Alice\u2029Smith¦Person¦d": "Alice Smith ¦ person ¦ d",
    "entity¦Alice\tSmith¦Person¦d": "Alice Smith ¦ person ¦ d",
    "entity¦Alice¦Natural\rObject¦d": "Alice ¦ naturalobject ¦ d",
    "relation¦A\rB¦C¦a,\rb¦d": "A B ¦ C ¦ a, b ¦ d",
    "relation¦A¦B\u2028C¦a\x85b¦d": "A ¦ B C ¦ a b ¦ d",
    "entity¦北\r京¦地点¦城": "北京 ¦ 地点 ¦ 城",
    # control characters vanish, also those that break lines
    "entity¦Ali\vce¦Person¦d": "Alice ¦ person ¦ d",
    "entity¦Ali\fce¦Person¦d": "Alice ¦ person ¦ d",
    "entity¦Ali\x1cce¦Person¦d": "Alice ¦ person ¦ d",
    "entity¦Ali\x1ece¦Person¦d": "Alice ¦ person ¦ d",
    "entity¦Ali\x1fce¦Person¦d": "Alice ¦ person ¦ d",
    # a description keeps its lines
    "entity¦Alice¦Person¦She leads.\rShe works.": "Alice ¦ person ¦ She leads.\rShe works.",
    "entity¦Alice¦Person¦She leads.\u2028She works.": "Alice ¦ person ¦ She leads.\u2028She works.",
    "entity¦Alice¦Person¦She leads.\x85She works.": "Alice ¦ person ¦ She leads.\x85She works.",
    "relation¦A¦B¦k¦One.\rTwo.": "A ¦ B ¦ k ¦ One.\rTwo.",
    r"entity¦Alice¦Person¦One.\nTwo.": r"Alice ¦ person ¦ One.\nTwo.",
    r"entity¦Del¦Concept¦The gradient \nabla f.": r"Del ¦ concept ¦ The gradient \nabla f.",
    # around a delimiter they are nothing
    "entity\r¦\rAlice\r¦\rPerson\r¦\rd": "Alice ¦ person ¦ d",
    "entity¦\rAlice¦\rPerson¦\rd": "Alice ¦ person ¦ d",
    "entity\u2028¦Alice\u2028¦Person\u2028¦d": "Alice ¦ person ¦ d",
    "- entity\r¦ Alice\r¦ Person\r¦ d": "Alice ¦ person ¦ d",
    "relation\x85¦A\x85¦B\x85¦k\x85¦d": "A ¦ B ¦ k ¦ d",
    "relation\r¦A\r¦B\r¦d.\r¦k\r¦8": "A ¦ B ¦ k ¦ d. ¦ 8",
    # a line feed ends a row unless a sentence goes on after it, whatever is beside it
    "entity¦Alice¦Person¦She leads.\r\nShe works.": "Alice ¦ person ¦ She leads. She works.",
    "entity¦Alice¦Person¦She leads.\n\rShe works.": "Alice ¦ person ¦ She leads. She works.",
    "entity¦Alice¦Person¦She leads.  \r\n": "Alice ¦ person ¦ She leads.",
    # a marker or a closing mark after one
    "entity¦Alice¦Person¦d\r<|COMPLETE|>": "Alice ¦ person ¦ d",
    "entity¦Alice¦Person¦d\r<|COMPLETE|>\r": "Alice ¦ person ¦ d",
    "entity¦Alice¦Person¦d)\r": "Alice ¦ person ¦ d",
    "entity¦Alice¦Person¦d\u2028```": "Alice ¦ person ¦ d",
}


def test_line_breaks_inside_fields() -> None:
    assert differences({answer: [expected] for answer, expected in INSIDE.items()}, read) == {}


SEVERAL = {
    "{0}\r\n{1}\r{2}": [ALICE, BOB, KNOWS],
    "{0}\n{1}\u2028{2}": [ALICE, BOB, KNOWS],
    "{0}\r\r{1}\n\n{2}\r\n": [ALICE, BOB, KNOWS],
    "{0}\\n{1}\r\n{2}": [ALICE, BOB, KNOWS],
    # a row that is broken off costs only itself
    "entity¦Ali\r\nce¦Person¦d\r\n{1}": [BOB],
    "entity¦\r\nAlice¦Person¦d\r\n{1}": [BOB],
    "{0}\r\nentity¦Bob\r\n{2}": [ALICE, KNOWS],
    # lines of one kind, and breaks of another inside a field
    "entity¦Alice\rSmith¦Person¦d\n{1}": ["Alice Smith ¦ person ¦ d", BOB],
    "{1}\nentity¦Alice\u2028Smith¦Person¦d\n": [BOB, "Alice Smith ¦ person ¦ d"],
}


def test_several_kinds_of_line_breaks() -> None:
    assert differences(SEVERAL, lambda answer: read(answer.format(*ROWS))) == {}


def test_a_truncated_answer_keeps_the_lines_that_end() -> None:
    rows = [row.replace("¦", "<|#|>") for row in ROWS[:2]]
    breaks = ("\r\n", "\r", "\x85", "\u2028")
    expected = {line_break.join(rows): ["Alice"] for line_break in breaks}
    expected |= {line_break.join([*rows, ""]): ["Alice", "Bob"] for line_break in breaks}
    names = differences(expected, lambda text: [one.name for one in parse_response(text, truncated=True).entities])
    assert names == {}


def test_strings_in_json_are_cleaned_alike() -> None:
    for line_break in ("\n", "\r\n", "\r", "\t", "\x85", "\u2028"):
        name, kind = f"Alice{line_break}Smith", f"Natural{line_break}Object"
        assert read_json(name, kind, "d") == ["Alice Smith ¦ naturalobject ¦ d"]
        lines = f"One.{line_break}Two."
        assert read_json("A", "B", f"a,{line_break}b", lines) == [f"A ¦ B ¦ a, b ¦ {lines}"]
