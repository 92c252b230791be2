"""Values of form fields in an OpenDocument text."""

from collections.abc import Mapping
from html import escape

from lxml import etree

from lightrag_dagster.readers.office.open_document.names import FORM, ID, kind_of

_TICKED = ("checkbox", "radio")


def form_values(body: etree._Element) -> Mapping[str, str]:
    """Return what each field of a form says, as HTML, by the identifier that a text names."""
    found = {}
    for field in body.iterfind(".//{*}forms//*"):
        name = field.get(ID) or field.get(f"{FORM}id")
        if name:
            found[name] = _value(field)
    return found


def _value(field: etree._Element) -> str:
    label = escape(field.get(f"{FORM}label") or "")
    if kind_of(field) in _TICKED:
        states = [field.get(f"{FORM}{name}") for name in ("current-state", "state", "current-selected", "selected")]
        said = next(filter(None, states), "")
        return f'<input type="checkbox"{" checked" if said in ("checked", "true") else ""}> {label}'
    if kind_of(field) == "listbox":
        chosen = [
            option.get(f"{FORM}label") or ""
            for option in field.iterfind("{*}option")
            if "true" in (option.get(f"{FORM}current-selected"), option.get(f"{FORM}selected"))
        ]
        return escape(", ".join(chosen))
    return escape(field.get(f"{FORM}current-value") or field.get(f"{FORM}value") or "") or label
