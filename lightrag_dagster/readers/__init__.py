"""Closed room: the bytes of a file become text, elements and properties; others use the names here alone."""

from lightrag_dagster.readers.content import Figure, Limits, ReadingOptions
from lightrag_dagster.readers.elements import find_elements
from lightrag_dagster.readers.extraction import ExtractedText
from lightrag_dagster.readers.formats import (
    UNSUPPORTED,
    format_of,
    has_headings,
    media_type,
    media_types,
    suffixes,
    versions,
    why_skipped,
)
from lightrag_dagster.readers.isolation import extract
from lightrag_dagster.readers.language import detect_language, language_codes, language_name
from lightrag_dagster.readers.recognition import is_told_by_content, kind_of_packed, recognise
