"""Every reader on damaged samples: each is text or a reason, and the parser process is there for the next file."""

import io
import random
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

import pytest

from lightrag_dagster.readers.content import Limits, ReadingOptions, UnreadableError
from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.formats import FORMATS, format_of
from lightrag_dagster.readers.images import ocr
from lightrag_dagster.readers.isolation import extract_isolated

FOLDER = Path(__file__).parent / "samples"
SAMPLES = sorted(path for path in FOLDER.glob("*.*") if path.suffix != ".py")
SUFFIXES = sorted({path.suffix for path in SAMPLES})
LIMITS = Limits(20, 1024)
TEXTS = [
    b"---\ntitle: T\n---\n# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    'a;b\n"ö";\'2\n'.encode("cp1252"),
    '<?xml version="1.0" encoding="utf-16"?><a>水位</a>'.encode("utf-16"),
    '<html lang="de"><head><meta charset="shift_jis"><title>T</title></head><body><p>水位</p></body>'.encode(
        "shift_jis"
    ),
]


def damage(data: bytes, dice: random.Random) -> bytes:
    """Change some bytes, cut, repeat or swap parts; in an archive, within one of its parts."""
    if data.startswith(b"PK") and dice.random() < 0.8:
        return _damage_part(data, dice)
    changed = bytearray(data)
    for _ in range(dice.choice((1, 3, 20))):
        start, length = dice.randrange(len(changed) + 1), dice.choice((1, 2, 8, 100, 2000))
        kind = dice.randrange(6)
        if kind == 0:
            changed[start : start + length] = b""
        elif kind == 1:
            changed[start:start] = changed[start : start + length] * dice.choice((1, 5))
        elif kind == 2:
            changed[start:start] = dice.randbytes(dice.choice((1, 4, 50)))
        elif kind == 3:
            del changed[start:]
        elif changed[start : start + 1]:
            changed[start] ^= 1 << dice.randrange(8)
    return bytes(changed)


def _damage_part(data: bytes, dice: random.Random) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(target, "w") as new:
        chosen = dice.choice(old.namelist())
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, damage(part, dice) if name == chosen else part)
    return target.getvalue()


def read(data: bytes, path: str) -> None:
    """Read a file as a source does; only a reason may be raised."""
    found = format_of(path)
    assert found is not None
    with suppress(UnreadableError):
        extracted = (
            extract_isolated(data, path, ReadingOptions(figures=True), LIMITS)
            if found.isolated
            else extract_text(data, path)
        )
        extracted.text.encode("utf-8")
        assert extracted.title


def fuzz(suffix: str, seed: int, times: int) -> None:
    dice = random.Random(f"{suffix} {seed}")
    samples = [one for one in SAMPLES if one.suffix == suffix and one.stat().st_size < 36_000]  # larger ones are slow
    for _ in range(times):
        path = dice.choice(samples)
        read(damage(path.read_bytes(), dice), path.name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files_are_text_or_have_a_reason(suffix: str) -> None:
    fuzz(suffix, 1, 12)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_many_damaged_files_are_text_or_have_a_reason(suffix: str, seed: int) -> None:
    fuzz(suffix, 10 + seed, 250)


@pytest.mark.parametrize("suffix", [suffix for suffix, one in FORMATS.items() if not one.isolated])
def test_damaged_text_is_text_or_has_a_reason(suffix: str) -> None:
    dice = random.Random(suffix)
    texts = TEXTS + [path.read_bytes() for path in sorted(FOLDER.glob(f"texts/*{suffix}"))]
    for _ in range(30):
        read(damage(dice.choice(texts), dice), f"a{suffix}")


def test_damaged_pages_are_text_or_have_a_reason() -> None:
    dice = random.Random(1)
    for _ in range(60):
        read(damage(TEXTS[3], dice), "a.html")


@pytest.mark.parametrize("suffix", [".jpg", ".pdf", ".png", ".tiff", ".webp"])
def test_damaged_images_are_drawn_or_have_a_reason(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda _: True)
    monkeypatch.setattr(ocr, "_text_in", lambda pixels: str(pixels.shape))
    dice = random.Random(suffix)
    samples = [one for one in SAMPLES if one.suffix == suffix and one.stem in ("scan", "two-pages")]
    for _ in range(20):
        with suppress(UnreadableError):
            extract_text(damage(dice.choice(samples).read_bytes(), dice), f"a{suffix}", ReadingOptions(True))


def test_random_bytes_are_text_or_have_a_reason() -> None:
    dice = random.Random(2)
    begin = {".pdf": b"%PDF-1.7\n", ".rtf": b"{\\rtf1 ", ".eml": b"Subject: a\r\n"}
    for suffix in (*SUFFIXES, ".html"):
        for _ in range(10):
            read(begin.get(suffix, b"PK\x03\x04") + dice.randbytes(300), f"a{suffix}")
            read(begin.get(suffix, b"PK\x03\x04") + zlib.compress(dice.randbytes(30)), f"a{suffix}")
