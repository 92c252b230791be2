import codecs
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.readers.content import UnreadableError
from lightrag_dagster.readers.decoding import decode

GERMAN = "Der Pegel fiel über Nacht um 12 cm; die Böschung rutschte. Größe und Straße, Überlauf, Äpfel."
RUSSIAN = "Уровень воды упал за ночь на двенадцать сантиметров. Станция была очищена весной."
JAPANESE = "水位は夜の間に十二センチ下がった。観測所は春に清掃されました。ハウジングにひびが入っていた。"
CHINESE = "夜间水位下降了十二厘米。观测站在春天进行了清洁，外壳已经破裂，需要更换密封圈。"
TAIWANESE = "夜間水位下降了十二公分。觀測站在春天進行了清潔，外殼已經破裂，需要更換密封圈。"
KOREAN = "밤사이 수위가 십이 센티미터 내려갔다. 관측소는 봄에 청소되었고 하우징에 금이 갔다."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "cp1252"),
        ("Le débit a été relevé à l’aube ; l’échelle était cassée. Ça coûte 5 €.", "cp1252"),
        ("The station was read at 5 °C in spring, and the level fell.", "cp1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy. Vodočet byl na jaře vyčištěn.", "cp1250"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        ("Η στάθμη του νερού έπεσε κατά δώδεκα εκατοστά μέσα στη νύχτα.", "cp1253"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        (CHINESE, "gb18030"),
        (TAIWANESE, "big5"),
        (KOREAN, "euc_kr"),
        (GERMAN, "utf-16-le"),
        (RUSSIAN, "utf-16-be"),
        (GERMAN, "utf-32-le"),
        (JAPANESE, "utf-16"),
        (JAPANESE, "utf-32"),
        (JAPANESE, "utf-8-sig"),
    ],
)
@pytest.mark.parametrize("times", [1, 3000])
def test_the_encoding_is_detected(text: str, encoding: str, times: int) -> None:
    text = "\n".join([text] * times)
    assert decode(text.encode(encoding)) == (text, None)


CUSTOMERS = "Kunde;Name;Ort;Betrag\n17;Käthe Müller;Köln;90,50\n18;Hans Weiß;Fürth;12,00\n19;Jörg Koch;Kassel;7,10\n"


@pytest.mark.parametrize("times", [1, 500])
def test_letters_among_much_ascii_tell_a_windows_code_page(times: int) -> None:
    text = CUSTOMERS * times
    assert decode(text.encode("cp1252")) == (text, None)


def test_letters_far_below_count_too() -> None:
    above = "A line of ASCII.\n" * 30_000
    for text, encoding in ((f"{RUSSIAN}\n" * 9, "cp1251"), (f"{GERMAN}\n", "cp1252"), (CUSTOMERS, "cp1252")):
        assert decode((above + text).encode(encoding)) == (above + text, None)
    assert decode(f"{above}Köln".encode("cp1252")) == (f"{above}Köln", GUESSED)
    assert decode(f"{above}{GERMAN}".encode() + b"\xff").text == f"{above}{GERMAN}\ufffd"


ITALIAN = "Perché la città è più cara: l'università offrirà più corsi lunedì."
CATALAN = "El contracte va ser signat per la companyia; això és així perquè és bo. Què passarà després?"
POLISH = "Umowa została zawarta między spółką a kupującym w środę."
CROATIAN = "Čovjek je došao u školu i čekao žene, jer je kiša padala cijeli dan."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (ITALIAN, "cp1252"),
        (ITALIAN, "mac_roman"),
        ("Le prix du cœur était de 5 € à Noël, déjà payé.", "iso8859-15"),
        ("Der Käufer erhält die Ware über 20 € für Köln.", "iso8859-15"),
        (POLISH, "cp1250"),
        (POLISH, "iso8859-2"),
        (CROATIAN, "cp1250"),
        (RUSSIAN, "iso8859-5"),
        ("تم توقيع العقد بين الطرفين ويدخل حيز التنفيذ يوم الأربعاء.", "iso8859-6"),
        ("Η σύμβαση υπογράφηκε μεταξύ των μερών και ισχύει από την Τετάρτη.", "iso8859-7"),
    ],
)
@pytest.mark.parametrize("times", [1, 6])
def test_words_that_are_none_tell_other_encodings_from_the_right_one(text: str, encoding: str, times: int) -> None:
    text = "\n".join([text] * times)
    assert decode(text.encode(encoding)) == (text, None)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("El niño comió piña mañana en España.\n" * 2_000 + "Cuesta 5 € – “bien”\n", "cp1252"),
        ("Καλημέρα κόσμε, αυτό είναι ένα κείμενο.\n" * 2_000 + "Τιμή 5 € – “καλό” Άρα\n", "cp1253"),
        ("Le prix était élevé à cette époque très agitée.\n" * 2_000 + "le cœur du problème – ici\n", "cp1252"),
    ],
)
def test_what_stands_far_below_counts(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == (text, None)


@pytest.mark.parametrize(
    "text",
    [
        "Процедура ПриОткрытии(Отказ)\n    КодТовара = Товары.НайтиПоКоду(Код);\nКонецПроцедуры\n",
        "Приложения: ВКонтакте, ГосУслуги, МегаФон, КиноПоиск. Установите их и войдите в систему.\n",
        "Мощность;кВт;55\nДавление;МПа;1,6\nЧастота;кГц;50\nЭнергия;кВт·ч;120\n",
    ],
)
def test_capitals_in_names_of_russian_are_no_fault(text: str) -> None:
    assert decode(text.encode("cp1251")).text == text
    assert decode(text.replace("·", "").encode("koi8-r")).text == text.replace("·", "")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (CATALAN, "cp1252"),  # which chardet does not know
        ("La configuració de l'aplicació no és vàlida, però això és així.", "cp1252"),
        ("Le prix du cœur était de 5 €", "cp1252"),
        (CROATIAN, "iso8859-2"),
        ("Rialtas na hÉireann agus Uachtarán na hÉireann, i nÉirinn.\n", "cp1252"),
        ("gouverne¬\nment français très élevé à cet égard, après l'été\nsocié¬\nté civile\n", "cp1252"),
    ],
)
def test_what_is_right_may_be_in_doubt(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (RUSSIAN, "cp866"),
        ("Grüße aus München: die Straße über die Brücke ist gesperrt.", "cp850"),
        ("L'été a été chaud à Genève, où l'eau était à 25 degrés.", "cp850"),
        ("Żaba skacze przez łąkę, później śpi pod krzakiem róży.", "cp852"),
        ("Το φράγμα χτίστηκε για να προστατεύσει τα χωριά.", "cp737"),
        ("Yazın akış çok düşüktür ve balıklar göletlere taşınır.", "cp857"),
    ],
)
def test_code_pages_of_dos_are_told(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == (text, None)


# Reported case G1.
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("İstanbul Türkiye'nin en büyük şehridir ve ğüşiöç harfleri var.", "cp1254"),
        ("Doğu Karadeniz'de yağış çok, çığ tehlikesi var.", "cp1254"),
        ("Ağrı Dağı yüksektir.", "cp1254"),
        ("Þetta er hús við fjörðinn og það er stórt.", "cp1252"),
        ("Borgarfjörður og Hafnarfjörður eru þar.", "cp1252"),
    ],
)
def test_turkish_is_told_from_icelandic(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == (text, None)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("18;Ayşe;Muğla;7,10", "Windows-1254"),
        ("Kişi: Ayşe", "Windows-1254"),
    ],
)
def test_a_few_letters_of_turkish_or_icelandic_are_in_doubt(text: str, encoding: str) -> None:
    note = f"its encoding is not certain and read as {encoding}; save the file as UTF-8"
    assert decode(text.encode(encoding)) == (text, note)


def test_a_name_from_iceland_among_other_words_is_in_doubt() -> None:
    assert decode("Müller visited Þingvellir in May and the gauge fell.".encode("cp1252")).note


GUESSED = "its encoding is not certain and read as Windows-1252; save the file as UTF-8"


@pytest.mark.parametrize(
    ("text", "encoding", "expected", "note"),
    [
        ("Kunde;Ort\n17;Köln, 5 m²\n", "cp1252", "Kunde;Ort\n17;Köln, 5 m²\n", GUESSED),
        ("# Größe\nlevel = 1\n", "cp1252", "# Größe\nlevel = 1\n", GUESSED),
        ("ab\xff of the gauge", "latin-1", "abÿ of the gauge", GUESSED),
        # One of many words has a capital inside.
        ("Müller;Köln\nWeiß;Fürth\nKöcH;Kassel", "cp1252",
         "M\ufffdller;K\ufffdln\nWei\ufffd;F\ufffdrth\nK\ufffdcH;Kassel", 5),
        # What Windows-1252 makes of them is no word: a sign or a capital in it, three letters with accents in a row.
        ("18;Jörg;Kassel;Köln;7,10", "cp850", "18;J\ufffdrg;Kassel;K\ufffdln;7,10", 2),
        ("18;Jörg;Kassel;Käthe;7,10", "mac_roman", "18;J\ufffdrg;Kassel;K\ufffdthe;7,10", 2),
        ("level = 1.42  # Река\nflow = level * width_of_the_river", "cp1251",
         "level = 1.42  # \ufffd\ufffd\ufffd\ufffd\nflow = level * width_of_the_river", 4),
    ],
)  # fmt: skip
def test_few_characters_in_doubt_fail_no_file(text: str, encoding: str, expected: str, note: str | int) -> None:
    if isinstance(note, int):
        note = f"its encoding cannot be told, bytes stand as \ufffd: {note}; save the file as UTF-8"
    assert decode(text.encode(encoding)) == (expected, note)


@pytest.mark.parametrize(
    ("data", "expected"),
    [(GERMAN.encode() + b"\xff", f"{GERMAN}\ufffd"), (JAPANESE.encode()[:-1], f"{JAPANESE[:-1]}\ufffd")],
)
def test_utf_8_with_an_error_is_not_taken_for_another_encoding(data: bytes, expected: str) -> None:
    assert decode(data) == (expected, "places that are not UTF-8 stand as \ufffd: 1; copy the file again or correct it")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_without_its_last_byte_is_read(encoding: str) -> None:
    text = f"{GERMAN}\n{GERMAN}\n{GERMAN}"
    assert decode(text.encode(encoding)[:-1]) == (text[:-1], "its last character is cut; copy the file again")
    assert decode(text.encode() + b"!") == (f"{text}!", None)  # of an odd length, and no UTF-16


@pytest.mark.parametrize(
    ("data", "declared", "reason"),
    [
        (b"a\xff\xfe", None, "not valid UTF-8: invalid start byte at byte 1"),
        (b"\xff\xfe" + bytes([0x40, 0xDC]) * 9, None, "not valid UTF-16: illegal encoding at byte 2"),
        (b"\xff\xfe" + bytes(range(0x60)) * 9, None, "not text: control characters all over it"),
        (b"\xff\xfe" + bytes([1, 0x4E, 7, 0xE0]) * 9, None, "not text: control characters all over it"),
        (b"a\xff", "x-mac", "not valid UTF-8: invalid start byte at byte 1, and declares the unknown encoding 'x-mac'"),
        ("\u6c34\u4f4d".encode("shift_jis"), None, "not valid UTF-8: invalid start byte at byte 0"),
        (GERMAN.encode("cp1252") + b"\x00", None, "not valid UTF-8: invalid start byte at byte 15"),
    ],
)
def test_undecodable_bytes_say_why(data: bytes, declared: str | None, reason: str) -> None:
    with pytest.raises(ValueError, match=r"not (?:valid|text)") as caught:
        decode(data, declared)
    assert str(caught.value).startswith(f"{reason}; ")


@pytest.mark.parametrize(
    "data",
    [
        random.Random(1).randbytes(5000),
        bytes(range(256)) * 20,
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + random.Random(2).randbytes(500),
        b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + random.Random(3).randbytes(500),
        b"\x7fELF\x02\x01\x01" + bytes(300) + b"\x90\xff",
        bytes(1000),
    ],
)
def test_binary_data_is_no_text(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^not "):
        decode(data)


def test_a_declared_encoding_is_used_when_utf_8_fails() -> None:
    assert decode("café".encode("latin-1"), "ISO-8859-1") == ("café", None)
    assert decode("café".encode(), "ISO-8859-1") == ("café", None)
    assert decode(b"caf\xe9 \x81", "ISO-8859-1") == ("café \x81", None)


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [("ISO-8859-1", "cp1252"), ("latin1", "cp1252"), ("iso-8859-9", "cp1254"), ("ISO-8859-11", "cp874")],
)
def test_a_declared_encoding_is_the_larger_one_of_windows(declared: str, encoding: str) -> None:
    text = "“5 €” – dear" + ("" if encoding == "cp874" else "é")
    assert decode(text.encode(encoding), declared) == (text, None)


@given(st.text())
def test_utf_8_is_never_guessed_otherwise(text: str) -> None:
    if not text.startswith("\ufeff") and "\x00" not in text:
        assert decode(text.encode()) == (text, None)
        assert decode(codecs.BOM_UTF8 + text.encode()) == (text, None)


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_have_a_reason(data: bytes) -> None:
    with suppress(UnreadableError):
        assert isinstance(decode(data).text, str)


# Reported case G8.
@pytest.mark.parametrize(
    "parts",
    [
        ["Größe in UTF-8. ", "Größe in Latin-1."],
        ["Die Größe der Öfen.\n", "Später prüfte Jörg die Maße.\n"],
        ["Un café noir.\n", "Le garçon préféra le thé à la crème.\n"],
        ["Das Maß – ", "„Straßen“ heißt es in älteren Texten"],
    ],
)
def test_utf_8_beside_windows_1252_is_read_as_both(parts: list[str]) -> None:
    found = decode(parts[0].encode() + parts[1].encode("windows-1252"))
    assert found == ("".join(parts), "bytes that are not UTF-8 are read as Windows-1252; save the file as UTF-8")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("windows-1251", "Уровень воды в реке упал за ночь, станция работает.\n"),
        ("windows-1250", "Źródło wody leży poniżej, żółty wąż śpi spokojnie dziś.\n"),
        ("windows-1253", "Το νερό του ποταμού έπεσε τη νύχτα, ο σταθμός λειτουργεί.\n"),
    ],
)
def test_lines_of_utf_8_beside_lines_of_another_encoding_are_read(encoding: str, text: str) -> None:
    found = decode(("Größe über Fluß.\n" * 20).encode() + (text * 20).encode(encoding))
    assert found.text == "Größe über Fluß.\n" * 20 + text * 20
    assert found.note == f"bytes that are not UTF-8 are read as {encoding.title()}; save the file as UTF-8"


@pytest.mark.parametrize("encoding", ["gb18030", "big5", "shift-jis"])
def test_a_short_line_that_would_be_utf_8_too_is_read_as_the_others(encoding: str) -> None:
    line = next(sign for sign in "一二水河日" if _is_utf_8(sign.encode(encoding))) if encoding == "gb18030" else "一"
    text = f"{line}\n水位在夜間下降，測站仍在運行，請通知辦公室。\n" * 20
    if encoding == "shift-jis":
        text = f"{line}\n水位は夜の間に下がりました。観測所は動いています。\n" * 20
    assert decode(text.encode(encoding)) == (text, None)


def _is_utf_8(data: bytes) -> bool:
    with suppress(UnicodeDecodeError):
        data.decode()
        return True
    return False
