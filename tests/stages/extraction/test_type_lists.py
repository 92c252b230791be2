"""Types, one or several, in all the ways that models write lists."""

import re
from importlib.resources import files

from lightrag_dagster.core.text.names import USUAL_TYPES
from tests.stages.extraction.reading import differences, read, read_json

# A type as it is written, and as it is read: the first of a list; "" where the entity is dropped.
TYPES = {
    "Person": "person",
    "PERSON": "person",
    "Natural Object": "naturalobject",
    "natural  object": "naturalobject",
    "Naturalobject": "naturalobject",
    "人物": "人物",
    # commas
    "Person, Author": "person",
    "Person,Author": "person",
    "person , author": "person",
    "Person,": "person",
    ", Person": "person",
    ",, Person,,Author": "person",
    "Person，Author": "person",
    "人物，组织": "人物",
    "人物， 组织": "人物",
    "Natural Object, Artifact": "naturalobject",
    "Person, Author, Speaker, Leader": "person",
    '"Person, Author"': "person",
    # other separators
    "Person; Author": "person",
    "Person;Author": "person",
    "; Person": "person",
    "人物；组织": "人物",
    "人物、组织": "人物",
    "Person、Author": "person",
    "Person/Author": "person",
    "Person / Author": "person",
    "[Person/Author]": "person",
    "Person|Author": "person",
    "Person | Author": "person",
    "人物／组织": "人物",
    # words between types, the first of which the prompts suggest
    "Person & Author": "person",
    "Person and Organization": "person",
    "Natural Object or Artifact": "naturalobject",
    "Person und Ort": "person",
    "Lorem & Ipsum": "lorem&ipsum",
    "Place or Town": "place",  # an `or` joins no two words of one type
    "Ort oder Stadt": "ort",
    "Orator": "orator",
    # marks of Markdown
    "**Person**": "person",
    "`Person`": "person",
    "*Person*, *Author*": "person",
    # brackets
    "Person (Author)": "person",
    "(Person)": "person",
    "(Person, Author)": "person",
    "(Author), Person": "author",
    "人物（组织）": "人物",
    "[Person]": "person",
    "[ Person ]": "person",
    "[Person, Author]": "person",
    "[Person; Author]": "person",
    "{Person}": "person",
    "{Person, Author}": "person",
    "[[Person]]": "person",
    "[Person], [Author]": "person",
    "[人物、组织]": "人物",
    "【人物】": "人物",
    "［人物，组织］": "人物",
    "[Person": "person",
    "Person]": "person",
    # quotes
    '"Person"': "person",
    "'Person'": "person",
    "“Person”": "person",
    '"Person", "Author"': "person",
    "'Person', 'Author'": "person",
    "“人物”，“组织”": "人物",
    '["Person", "Author"]': "person",
    "['Person', 'Author']": "person",
    '["Person","Author"]': "person",
    "[“Person”]": "person",
    '"[Person]"': "person",
    '["[Person]"]': "person",
    "[&quot;Person&quot;, &quot;Author&quot;]": "person",
    # labels, references and characters that show nothing
    "Type: [Person, Author]": "person",
    'type=["Person"]': "person",
    "Types: Person, Author": "person",
    "Person,&nbsp;Author": "person",
    "Per\u200bson,\x00 Author": "person",
    "Person&#44; Author": "person",
    "Person\tAuthor": "personauthor",
    # one type with a mark in it
    "Person-Author": "person-author",
    "Research and Development": "researchanddevelopment",
    "Person: Author": "person:author",
    "C++": "c++",
    "x" * 300: "x" * 256,
    # forbidden characters, of the first part only
    "Person, (Author)": "person",
    "Person, Author/Writer": "person",
    "[Person, Author|Writer]": "person",
    "Person\\Author": "",
    "<Person>": "",
    "Person's": "",
    "Person<br>Author": "personauthor",
    "constructor": "",
    "[constructor]": "",
    "__proto__, Person": "",
    "Prototype": "",
    # nothing
    "": "",
    " ": "",
    ",": "",
    "，": "",
    "[]": "",
    "[ , ]": "",
    '""': "",
    '[""]': "",
    "[[], []]": "",
    "7": "",
    "[42]": "",
    "1.5": "",
    "1984": "1984",
}


def test_types() -> None:
    expected = {kind: [f"Alice ¦ {read_as} ¦ d"] if read_as else [] for kind, read_as in TYPES.items()}
    assert differences(expected, lambda kind: read(f"entity¦Alice¦{kind}¦d")) == {}
    assert differences(expected, lambda kind: read_json("Alice", kind, "d")) == {}


def test_a_list_in_json() -> None:
    lists = {
        '["Person", "Author"]': "person",
        '["人物"]': "人物",
        '["", "Person"]': "person",
        '["Person/Author"]': "person",
    }
    expected = {kinds: [f"Alice ¦ {kind} ¦ d"] if kind else [] for kinds, kind in lists.items()}
    answer = '{{"entities": [{{"name": "Alice", "type": {}, "description": "d"}}]}}'
    assert differences(expected, lambda kinds: read(answer.format(kinds))) == {}


ROWS = {
    # a surplus field after a list of types
    "entity¦Alice¦[Person, Author]¦She leads.¦high": "Alice ¦ person ¦ She leads.",
    "entity¦Alice¦Person; Author¦She leads.¦She also works here.": "Alice ¦ person ¦ She leads. She also works here.",
    # delimiters damaged beside a list
    "entity<|#|Alice<|#|[Person, Author]<|#|She leads.": "Alice ¦ person ¦ She leads.",
    'entity<|>Alice<|>["Person"]<|>She leads.': "Alice ¦ person ¦ She leads.",
    'entity<|#|>>Alice<|#|>>["Person"]<|#|>>She leads.': "Alice ¦ person ¦ She leads.",
    "entity<|#|}Alice<|#|}{Person}<|#|}She leads.": "Alice ¦ person ¦ She leads.",
    "(entity¦Alice¦[Person]¦She leads.)\r\n": "Alice ¦ person ¦ She leads.",
}


def test_rows() -> None:
    assert differences({row: [line] for row, line in ROWS.items()}, read) == {}


def test_the_usual_types_are_those_of_the_prompts() -> None:
    prompt = files("lightrag_dagster.stages.prompts") / "entity_types.md"
    suggested = re.findall(r"^- (\w+):", prompt.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name.lower() for name in suggested} | {"other"} == USUAL_TYPES
