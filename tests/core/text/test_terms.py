import re
from pathlib import Path

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer.arabic_stemmer import ArabicStemmer
from snowballstemmer.english_stemmer import EnglishStemmer
from snowballstemmer.greek_stemmer import GreekStemmer
from snowballstemmer.hindi_stemmer import HindiStemmer
from snowballstemmer.russian_stemmer import RussianStemmer

from lightrag_dagster.core.text.terms import terms, text_terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The boats were running", ["boat", "run"]),
        ("Wer und was ist die Abteilung", ["abteilung"]),
        ("a b c 7", ["7"]),
        ("東京都", ["東", "京", "都", "東京", "京都"]),
        ("STRASSE Straße", ["strass", "strass"]),
        ("हिन्दी में सेतु।", ["हिन्द", "म", "सेत"]),
        ("Петро\u0301в, שָׁלוֹם", ["петр", "שלום"]),
        ("２０２２年のＡＩ ﾃﾞｰﾀ", [term.text for term in terms("2022年のAI データ")]),
        ("Acme™ m²", ["acm", "m²"]),
        ("น้ำท่วม 2568", ["น", "้", "ำ", "ท", "่", "ว", "ม", "น้", "้ำ", "ำท", "ท่", "่ว", "วม", "2568"]),
        ("ກົດ ភ្នំ မြ", ["ກ", "ົ", "ດ", "ກົ", "ົດ", "ភ", "្", "ន", "ំ", "ភ្", "្ន", "នំ", "မ", "ြ", "မြ"]),
        ("", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert [term.text for term in terms(text)] == expected


@given(
    st.text()
    | st.lists(st.sampled_from(["B2b", "DN300", "東京", "bridges", "getUserName", " ", "_", "7"])).map("".join)
)
def test_terms_kept_by_word_are_those_of_the_text(text: str) -> None:
    assert text_terms(text) == [term.text for term in terms(text, figures=True)]


@pytest.mark.parametrize(
    "forms",
    [
        "город города городами",
        "المدينة مدينة بالمدينة",
        "πόλη πόλης",
        "लड़की लड़कियाँ",
        "boat boats",
        "Orléans orleans ORLÉANS orle\u0301ans",
        "İstanbul istanbul ISTANBUL",
        "Isparta ISPARTA ısparta",
        "Đà đà da DA",
        "Łódź lodz",
        "Œuvre œuvre oeuvre",
        "ἄνθρωπος άνθρωπος ανθρωπος",
        "Петро\u0301в Петров",
        "גֶּשֶׁר גשר",
        "کتاب كتاب",
        "۱۳۹۳ १३९३ ١٣٩٣ 1393",
    ],
)
def test_forms_of_a_word_are_one_term_in_each_script(forms: str) -> None:
    assert len({term.text for term in terms(forms)}) == 1


@pytest.mark.parametrize("words", ["йод иод", "їв ів", "हिन्दी हन्दी"])
def test_marks_that_make_another_letter_stay(words: str) -> None:
    assert len({term.text for term in terms(words)}) == 2


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("DiffExecutor", ["diff", "executor"]),
        ("slowEquals", ["slow", "equal"]),
        ("HTTPServer", ["http", "server"]),
        ("ДиффЭкзекьютор", ["дифф", "экзекьютор"]),
        ("iPhone", ["phone"]),
        (
            "openTableRowChunkGraphPathPlanStepBudgetClock",
            ["open", "tabl", "row", "chunk", "graph", "path", "plan", "step", "budget", "clock"],
        ),
        ("NASA", []),
        ("Berlin", []),
        ("FY2022", []),
        ("aBcDeFgHiJkLmNoPqRsT", []),
    ],
)
def test_parts_of_a_word_in_mixed_case_follow_it(word: str, parts: list[str]) -> None:
    whole, *found = [term.text for term in terms(word)]
    assert found == parts
    assert [whole] == [term.text for term in terms(word.casefold())]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("FY2022", ["fy2022", "fy", "2022"]),
        ("utf8", ["utf8", "utf", "8"]),
        ("HTTPServer2", ["httpserver2", "http", "server2", "server", "2"]),
        ("S3BucketReader", ["s3bucketread", "s3", "bucket", "reader"]),
        ("EC2InstanceList", ["ec2instancelist", "ec2", "instanc", "list"]),
        ("Q3FY22", ["q3fy22", "q3", "fy22", "fy", "22"]),
        ("Array2DView", ["array2dview", "array2d", "array", "2", "view"]),
        ("3DModel", ["3dmodel", "3d", "model"]),
        ("2022", ["2022"]),
        ("3rd", ["3rd"]),
        ("DiffExecutor", ["diffexecutor", "diff", "executor"]),
        ("e3b0c44298fc1c149afbf4c8", ["e3b0c44298fc1c149afbf4c8"]),
        ("東京2", ["東", "京", "東京", "2"]),
    ],
)
def test_letters_and_digits_are_parts_where_they_are_asked_for(word: str, expected: list[str]) -> None:
    assert [term.text for term in terms(word, figures=True)] == expected


def test_capitals_are_told() -> None:
    found = [(term.text, term.capital) for term in terms("Survey boats, PostgreSQL, iron")]
    assert [term for term, capital in found if capital] == ["survey", "postgresql", "postgr", "sql"]
    assert [term for term, capital in found if not capital] == ["boat", "iron"]


def test_stems_are_the_same_without_the_compiled_stemmer() -> None:
    texts = (path.read_text("utf-8") for path in (Path(__file__).parents[3] / "docs").glob("*.md"))
    words = sorted({word.casefold() for text in texts for word in re.findall(r"[^\W_]+", text)})
    assert len(words) > 1000
    stems = snowballstemmer.stemmer("english")
    assert stems.stemWords(words) == [EnglishStemmer().stemWord(word) for word in words]


@pytest.mark.parametrize(
    ("rules", "plain", "words"),
    [
        ("russian", RussianStemmer, "города городами красивая переехавшими"),
        ("arabic", ArabicStemmer, "المدينة والمدارس كتابهم"),
        ("greek", GreekStemmer, "πολησ ανθρωπων πανεπιστημια"),
        ("hindi", HindiStemmer, "लड़कियाँ किताबें हिन्दी"),
    ],
)
def test_stems_of_other_scripts_are_the_same_without_it(rules: str, plain: type[RussianStemmer], words: str) -> None:
    of_plain = [plain().stemWord(word) for word in words.split()]
    assert snowballstemmer.stemmer(rules).stemWords(words.split()) == of_plain
    assert of_plain != words.split()
