"""What a model is asked and what becomes of its answers, and the answers that rules give in its place."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from lightrag_dagster.core import identity
from lightrag_dagster.core.protocols import ChatModel, ChatRequest, ChatResponse, Message
from lightrag_dagster.errors import PermanentProviderError, TransientProviderError
from lightrag_dagster.fact_schemas import FACTS, READ_FACTS, READINGS
from lightrag_dagster.models.rules import NameFinder, OfflineChatModel
from lightrag_dagster.offline.embedder import LexicalEmbedder
from lightrag_dagster.offline.extractor import find_names
from lightrag_dagster.offline.recognised import NameSpan
from lightrag_dagster.schemas import CHUNKS, ENTITY_MENTIONS, EXTRACTIONS, PARSED, RELATION_MENTIONS
from lightrag_dagster.settings import ExtractionSettings
from lightrag_dagster.settings.sources import FactColumns
from lightrag_dagster.stages.extraction.echoes import Echoes
from lightrag_dagster.stages.extraction.extractions import Extractor, extract
from lightrag_dagster.stages.extraction.mentions import parse_extractions
from lightrag_dagster.stages.facts.answers import read_answer
from lightrag_dagster.stages.facts.beside import whole_amount
from lightrag_dagster.stages.facts.columns import answer_of, fact_lines, pass_of_columns
from lightrag_dagster.stages.facts.dates import read_when
from lightrag_dagster.stages.facts.facts import parse_readings
from lightrag_dagster.stages.facts.standing import PassageText
from lightrag_dagster.stages.facts.values import read_number
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.stages.prompts.fencing import fence
from tests.models.models import ScriptedChatModel
from tests.pipeline.revisions.of_documents import DOCUMENTS
from tests.stages.facts.schema import OFFICES, PASSAGE, answer, row
from tests.storage.corpus import rows

DONE = "<|COMPLETE|>"
ROWS = f"""\
entity<|#|>Halden Weir<|#|>Location<|#|>A weir with a gauge.
entity<|#|>Marta Lindqvist<|#|>Person<|#|>She maintains the gauge.
relation<|#|>Marta Lindqvist<|#|>Halden Weir<|#|>maintenance, gauge<|#|>She maintains its gauge.
{DONE}"""
_GLEANED = f"entity<|#|>Orrin Instruments<|#|>Organization<|#|>It built the gauge.\n{DONE}"
_BROKEN_OFF = '{"entities": [{"name": "Oslo", "type": "city", "description": "A city."}, {"name": "Ber'
_RESPONSES: Mapping[str, tuple[str, list[str]]] = {
    "rows": ("ok", [ROWS, _GLEANED]),
    "an address": ("ok", ["entity<|#|>Gauge API<|#|>Method<|#|>It answers /a?lang=en&region=eu.\n"]),
    "far too many": ("ok", ["".join(f"entity<|#|>Weir {at}<|#|>Location<|#|>A weir.\n" for at in range(410))]),
    "a round says more": ("ok", [ROWS, ROWS.replace("A weir", "An old weir below Bergen, and"), DONE]),
    "broken rows": (
        "ok",
        [
            "Here are the records:\n```\n"
            "entity<|#|>Halden Weir<|#|>Location\n"
            "**Entity**<|#|>“Halden weir”<|#|>Location/Structure<|#|>Description: A weir.\n"
            "entity<|#|><|#|>Location<|#|>A weir.\n"
            "entity|Station 14|Location|A station.\n"
            "relationship<|#|>Jonas Feld<|#|>Station 14<|#|>closing<|#|>He closed it.<|#|>9\n"
            "relation<|#|>Halden Weir<|#|>halden  weir<|#|>same<|#|>It is itself.\n"
            "relation<|#|>Jonas Feld<|#|>Bergen<|#|>office<|#|>He leads the office.<|#|>very high\n"
            "entity < | # | > Priya Nair < | # | > Person < | # | > She repairs\nsensors.\n"
            "entity<|#|>entity_name<|#|>entity_type<|#|>entity_description\n"
            "entity<|#|>Target Entity<|#|>Person<|#|>She leads it.\n"
            "something<|#|>else<|#|>altogether\n```"
        ],
    ),
    "cut off": ("truncated", [ROWS[: ROWS.index(" its gauge")]]),
    "failed": ("failed", []),
    "only a marker": ("ok", [DONE]),
    "nothing usable": ("ok", ["I cannot help with that."]),
    "a name with two dashes": ("ok", ["relation<|#|>COVID\u201119<|#|>COVID-19<|#|>same<|#|>It is itself.\n"]),
    "reasoning": ("ok", [f"<think>entity<|#|>No<|#|>Person<|#|>Not meant.\n</think>\n{ROWS}"]),
    "other marks": ("ok", [ROWS.replace("<|#|>", "&lt;|#|&gt;"), ROWS.replace("<|#|>", "＜｜＃｜＞")]),
    "wide characters": (
        "ok",
        [
            "entity<|#|>「豊 川」<|#|>場所<|#|>河川、　水位計がある。\n"
            "entity<|#|>ＡＢＣ１２ 株式会社<|#|>組織<|#|>部品。\n"
            f"relation<|#|>ＡＢＣ１２株式会社<|#|>豊川<|#|>水位，部品<|#|>部品を作った。\n{DONE}"
        ],
    ),
    "invisible characters": (
        "ok",
        [f"entity<|#|>O\u200bsl\u00ado\u202e<|#|>Location<|#|>A\u00a0city&nbsp;&amp; port.\n{DONE}"],
    ),
    "JSON": (
        "ok",
        [
            json.dumps(
                {
                    "entities": [
                        {"name": "Halden Weir", "type": ["Location"], "description": "A weir of $\\frac{1}{2}$ m."},
                        {"name": 14, "type": "data", "description": "A number."},
                        "Bergen",
                    ],
                    "relationships": [
                        {
                            "source": "Bergen",
                            "target": "Halden Weir",
                            "keywords": ["river", "road"],
                            "description": "Near.",
                        }
                    ],
                }
            )
        ],
    ),
    "JSON with ends in a list": (
        "ok",
        [json.dumps({"relationships": [{"source": "Oslo", "target": ["Bergen", "Voss"], "description": "A road."}]})],
    ),
    "JSON that breaks off": ("ok", [_BROKEN_OFF]),
    "damaged JSON": (
        "ok",
        ['```json\n{"entities": [{"name": "Oslo", "type": "city", "description": "A "city"."}, {"name": }], "re'],
    ),
}
_PROMPTS = Prompts(
    {
        "extraction_system": "Find entities ($entity_types) and relations; write $language.",
        "entity_types": "people, places",
        "extraction_json": "Answer in JSON.",
        "extraction_user": "Write $language.",
        "gleaning_user": "What was missed? Write $language.",
    },
    "English",
)
"""Prompts that never change: the recipe names those in force besides the number."""

_ANSWERED = ["chunk_id", "extraction_key", "responses", "status", "error_kind"]
"""What of an extraction was bought; the other columns may change without being bought again."""

_QUESTION = "Who repaired the sensor at Station 14 after the flood of March 2021?"
_TABLE = """\
| Company | Contact |
| --- | --- |
| Brandt & Söhne GmbH | Amélie Roussel |
| Tidewater Logistics Ltd | Owen Macready |

The brandt & söhne gmbh pays in March, and Lars Holm in Malmö keeps the list.
"""
_PART_OF_CODE = "run()\n```\n\nIda Wren built the Corley Bridge.\n\n```\nstop()\n```\n\nPer Holm left."
_TALK = """\
Hey John, wow! I've met Maria in Bergen. Yeah, they're at Halden Weir.

他为香港而战，成为香港市民。争取社区支持，人都知道成都市。
"""
_PASSAGES = ("handbook.md", "flood.txt", "hochwasser.txt", "kanji.md", "marks.md")


def extractions() -> dict[str, Any]:
    """Return what is asked of a model and what is kept of its answers: rounds, second attempts, failures, languages."""
    truncated = ChatResponse(ROWS[:200], "length", 10, 50)
    return {
        "two rounds": _asked([ROWS, _GLEANED, DONE], gleaning=2),
        "a round without anything new": _asked([ROWS, DONE, ROWS], gleaning=3),
        "answers in JSON": _asked(['{"entities": [], "relationships": []}'], answer_format="json_schema", gleaning=0),
        "JSON of any shape": _asked(['{"entities": []}'], answer_format="json_object", gleaning=1),
        "nothing usable, then rows": _asked(["No.", ROWS], gleaning=0),
        "nothing usable, twice": _asked(["No.", "entity<|#|>\n"], gleaning=1),
        "cut off, then longer": _asked([truncated, ChatResponse(ROWS, "stop", 10, 90)], gleaning=0, longer=(9000,)),
        "cut off for good": _asked([truncated, truncated], gleaning=0, longer=(9000,)),
        "JSON that breaks off": _asked([_BROKEN_OFF], answer_format="json_schema", gleaning=0, longer=(9000,)),
        "refused": _asked([PermanentProviderError("refused")]),
        "not now": _asked([ROWS, TransientProviderError("busy")]),
        "languages": _asked([ROWS], language="de", gleaning=1, document_language=True),
        "rules": _asked([ROWS], language="de", gleaning=0, by_rules=True),
    }


def mentions() -> dict[str, Any]:
    """Return the mentions in answers of many shapes, and the rows of them that cannot be used."""
    found: dict[str, Any] = {"schemas": [ENTITY_MENTIONS.names, RELATION_MENTIONS.names, PARSED.names]}
    for name, (status, responses) in _RESPONSES.items():
        answer = {"source": "notes", "chunk_id": "chunk-1", "responses": responses, "status": status}
        parsed = parse_extractions(rows(EXTRACTIONS, [answer]))
        found[name] = {table: one.to_pylist() for table, one in parsed._asdict().items()}
    example = "relation<|#|>Zorbel<|#|>Levels<|#|>reading<|#|>Zorbel reads levels.\n"
    definition = "entity<|#|>Oslo<|#|>place<|#|>Oslo is a place where people live together.\n"
    answer = {"source": "notes", "chunk_id": "chunk-1", "responses": [example + definition + ROWS], "status": "ok"}
    texts = dict(_PROMPTS.texts) | {"entity_types": "- place: a place where people live together"}
    passages = pa.table({"chunk_id": ["chunk-1"], "content": ["Levels of Oslo."]})
    echoes = Echoes.of(replace(_PROMPTS, texts=texts, echoes=("Zorbel",)))
    parsed = parse_extractions(rows(EXTRACTIONS, [answer | {"model": "m"}]), passages, echoes)
    found["echoes of the prompt"] = {table: one.to_pylist() for table, one in parsed._asdict().items()}
    return found


def facts() -> dict[str, Any]:
    """Return the facts in answers of many shapes, and the rows of them that are none."""
    others = [
        row(
            relation="revenue", object="", value="€ 3.2 million", when="in 2023", words="Its revenue in 2023 was € 3.2"
        ),
        row(relation="founded", object="", value="3 April 1999", words="was founded on 3 April 1999"),
        row(relation="slogan", object="", value="We pay.", words="“We pay.” is its slogan."),
        row(relation="listed", object="", value="yes", words="It is listed."),
        row(relation="located_in", object="Bonn", object_type="place", words="Acme, of Bonn"),
    ]
    answers = {
        "each kind of end": (answer(row(), *others), "ok"),
        "rejected": (
            answer(
                row(words="Nobody"),
                row(relation="knows"),
                row(object=""),
                row(subject_type="place"),
                {"entity1": "Ada"},
            ),
            "ok",
        ),
        "with itself": (answer(row(subject="Ada", object="A´da")), "ok"),
        "cut off": (answer(row(), row())[:-40], "truncated"),
        "breaks off": (answer(row(), row())[:-40], "ok"),
        "before a remark": (f"{answer(row())}\n[End of answer]", "ok"),
        "in a fence, with thoughts": (f"<think>Well</think>\n```json\n{answer(row())}\n```", "ok"),
    }
    amounts = ["US-$ 3.2 million", "($5 million)", "<$5", "-€5", "40+ units", "3,5 Mio. €", "50.000"]
    amounts += ["1.250", "1,250 km", "1.250 EUR pro Monat", "5,00- €", "1.250 Mitarbeiter", "12.5- %"]
    amounts += [
        "12,5 T€",
        "3億5000万円",
        "$5MM",
        "5 hundred EUR",
        "3,2 miliona zł",
        "MEUR 5",
        "5 €m",
        "SEK m 5",
        "1.2e3m",
        "$5 mil",
        "5 mill. kr",
        "RM5",
        "Fr. 5",
        "5 US dollars",
        "5 złotych",
    ]
    read_amounts = [read_number(one) for one in amounts]
    passages = pa.table({"chunk_id": ["chunk-1"], "content": [PASSAGE]})
    found: dict[str, Any] = {"schemas": [FACTS.names, READ_FACTS.names], "amounts": read_amounts}
    beside = [
        "a load from 5 to 7 kg",
        "it rose from 5 to 7 kg",
        "TEUR 5",
        "| △5 |",
        "5〜7名",
        "up to 5 kg",
        "a loss of ($5) million",
        "it cost C$5",
        "he is 5 ft 3 in tall",
        "es wiegt 5 – 7 kg",
        "Tel. +49 5 123456",
        "he is 5' 3\" tall",
        "it fell 5 to 40 EUR",
        "it cost $5 until 2024",
    ]
    found["beside 5"] = [PassageText(one).find("5", whole_amount) for one in beside]
    found["times"] = [
        read_when(one)
        for one in ("20200501", "1 mei t/m 30 juni 2020", "2021年までに", "a principios de 2019", "from 2021 to spring")
    ]
    for name, (said, status) in answers.items():
        reading = {"source": "notes", "chunk_id": "chunk-1", "pass": "offices", "responses": [said], "status": status}
        read = parse_readings(rows(READINGS, [reading]), passages, OFFICES)
        found[name] = {table: one.to_pylist() for table, one in read._asdict().items()}
    column = FactColumns(subject="name", relation="rent", value="amount")
    line = fact_lines([column], lambda template, _: {"name": "Quay 4", "amount": "53.000"}[template or ""])
    found["a column in doubt"] = read_answer(answer_of(line), pass_of_columns([column]), line).rejected
    return found


def offline_answers() -> dict[str, Any]:
    """Return the answers of the offline rules to a request of each kind."""
    asked: dict[str, tuple[ChatModel, ChatRequest]] = {}
    for name in _PASSAGES:
        asked[f"extract {name}"] = OfflineChatModel(), _about(name)
    asked["a short German text"] = OfflineChatModel(), _about("hochwasser.txt", language="de", first=60)
    for name, text in {
        "a table": _TABLE,
        "a part of a table": _TABLE.split("--- |\n")[1],
        "a talk": _TALK,
        "a part of code": _PART_OF_CODE,
    }.items():
        asked[name] = OfflineChatModel(), _request("extract", fence(text))
    for question in (_QUESTION, "How does it work?", "豊川の水位計は誰が管理していますか？"):
        asked[f"keywords {question}"] = OfflineChatModel(), _request("keywords", fence(question))
    texts = (DOCUMENTS / "flood.txt").read_text("utf-8").split("\n\n")
    descriptions = "\n".join(json.dumps({"Description": text}) for text in [*texts, texts[0].upper()])
    asked["summarise"] = OfflineChatModel(), _request("summarise", fence(descriptions, "json"), "In 60 tokens.")
    chunks = "\n".join(json.dumps({"reference_id": str(at), "content": text}) for at, text in enumerate(texts))
    context = f"Chunks:\n{chunks}\n\nReferences:\n[0] flood.txt\n[1] flood.txt, page 2\n[2] rules.txt"
    asked["answer"] = OfflineChatModel(), _request("answer", _QUESTION, context)
    asked["answer from nothing"] = OfflineChatModel(), _request("answer", _QUESTION, "Chunks:")
    return {name: asyncio.run(model.complete(request)).text for name, (model, request) in asked.items()}


def offline_names() -> dict[str, Any]:
    """Return the names that rules find, alone and beside those of a model of names."""
    found: dict[str, Any] = {}
    for name in _PASSAGES:
        text = (DOCUMENTS / name).read_text("utf-8")
        for related in (False, True):
            answer = asyncio.run(NameFinder(co_mentions=related).complete(_about(name)))
            found[f"{name}, related: {related}"] = answer.text
        found[f"{name}, with a model of names"] = find_names(text, co_mentions=True, recognise=_recognise)
    found["a table"] = find_names(_TABLE, co_mentions=True)
    found["a talk"] = find_names(_TALK, co_mentions=True)
    found["a part of code"] = find_names(_PART_OF_CODE, co_mentions=True)
    found["full stops"] = find_names("Nora Vogt zahlte 3,2 Mio. Euro, Kepler 5 Mrd. Dollar, und 5 %. Sales rose.")
    return found


def offline_vectors() -> dict[str, Any]:
    """Return vectors of the offline embedder, and what it counts in a corpus."""
    texts = {name: (DOCUMENTS / name).read_text("utf-8") for name in _PASSAGES} | {"no words": "…"}
    texts["widths and no spaces"] = "２０２２年のＡＩ ﾃﾞｰﾀ, น้ำท่วม, Café, S3Bucket"
    embedder = LexicalEmbedder(64)
    vectors = asyncio.run(embedder.embed_documents(list(texts.values())))
    counts = embedder.corpus_state(texts.values())
    return dict(zip(texts, vectors.tolist(), strict=True)) | {
        "corpus": [(at, counts[at].item()) for at in np.flatnonzero(counts).tolist()],
    }


def _asked(
    answers: Sequence[str | ChatResponse | Exception],
    *,
    language: str | None = None,
    longer: Sequence[int] = (),
    by_rules: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Ask about a chunk; a model gives the answers one after the other, then the last one again."""
    model: ScriptedChatModel = ScriptedChatModel(lambda _: _next(answers, len(model.requests)))
    chunk = {"source": "notes", "chunk_id": identity.chunk_id("Levels.", "A > B"), "path": "a.md", "content": "Levels."}
    chunk |= {"heading": "A > B"} | ({"context": "| level |"} if language else {})
    chunks = rows(CHUNKS, [chunk]).append_column("language", pa.array([language], pa.string()))
    extractor = Extractor(
        model, _PROMPTS, ExtractionSettings(**settings), "recipe", len, longer_outputs=longer, by_rules=by_rules
    )
    made = asyncio.run(extract("notes", chunks, extractor))
    return {"requests": [_facts(request) for request in model.requests], "answers": made.select(_ANSWERED).to_pylist()}


def _facts(request: ChatRequest) -> list[object]:
    messages = [[message.role, message.content] for message in request.messages]
    limits = [request.max_output_tokens, request.attempt]
    return [messages, *limits, request.json_answer, request.answer_schema, request.language]


def _next(answers: Sequence[str | ChatResponse | Exception], number: int) -> str | ChatResponse:
    answer = answers[min(number, len(answers)) - 1]
    if isinstance(answer, Exception):
        raise answer
    return answer


def _about(name: str, language: str | None = None, first: int | None = None) -> ChatRequest:
    text = (DOCUMENTS / name).read_text("utf-8")[:first]
    return _request("extract", f"Section: A > B\n\n{fence(text)}", language=language)


def _request(role: Any, user: str, system: str = "Rules.", language: str | None = None) -> ChatRequest:
    return ChatRequest(role, (Message("system", system), Message("user", user)), language=language)


def _recognise(texts: Sequence[str]) -> list[list[NameSpan]]:
    """Find what a model of names would: some that the rules find too, some that they do not."""
    names = {
        "Halden Weir": "location",
        "council of Bergen": "organization",
        "山田花子": "person",
        "the seal": "artifact",
    }
    return [
        [
            NameSpan(at, at + len(name), kind, name.islower())
            for name, kind in names.items()
            if (at := text.find(name)) >= 0
        ]
        for text in texts
    ]
