"""The page as HTML: template, style, scripts and data in one file that may fetch nothing and run nothing else."""

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files as package_files
from typing import Any

from lightrag_dagster.report.fitting import as_json

_SCRIPTS = ("data.js", "graph.js", "panel.js", "table.js", "main.js")
_LICENCES = ("sigma", "graphology", "events", "graphology-utils")


def page_of(title: str, data: dict[str, Any]) -> str:
    """Return a page; `data` is what its scripts show, with the text of documents and models as it is."""
    script = "\n".join(_read(f"page/{name}") for name in _SCRIPTS)
    licences = "\n\n".join(f"{name}\n{_read(f'page/vendored/{name}.LICENSE.txt').strip()}" for name in _LICENCES)
    graphology = f"/*\n{licences}\n*/\n{_read('page/vendored/graphology.umd.min.js')}".partition("//# sourceMapping")[0]
    scripts = {"graphology": graphology, "sigma": _read("page/vendored/sigma.min.js"), "script": script}
    style = _read("page/report.css")
    parts = {
        "policy": _policy(style, scripts.values()),
        "title": escape(title),
        "heading": escape(title),
        "style": style,
        "shown": as_json(data),
        **scripts,
    }
    return _filled(_read("page/report.html"), parts)


def _policy(style: str, scripts: Any) -> str:
    hashes = " ".join(_hash(one) for one in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src {_hash(style)}; connect-src 'none'; img-src 'none'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _filled(template: str, parts: dict[str, str]) -> str:
    """Return the template with each `{name}` replaced once; what is put in is not looked through again."""
    found, rest = [], template
    for name in sorted(parts, key=lambda one: template.index(f"{{{one}}}")):
        before, _, rest = rest.partition(f"{{{name}}}")
        found += [before, parts[name]]
    return "".join([*found, rest])


@cache
def _read(name: str) -> str:
    return (package_files(__package__) / name).read_text("utf-8")
