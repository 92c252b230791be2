"""reStructuredText as people read it: markup for programs is left out, everything else stays as it is."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.plain.rst import readable


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("A.\n\n.. code-block:: cmake\n\n   set(x 1)\n\nB.", "A.\n\n   set(x 1)\n\nB."),
        (".. code-block:: sql\n   :caption: ``a.sql``\n   :linenos:\n\n   SELECT 1", "``a.sql``\n\n   SELECT 1"),
        (".. note:: Read the gauge\n   twice.\n\n   Then go.", "Read the gauge\n   twice.\n\n   Then go."),
        (".. warning::\n\n   Do not step in.\n\nB.", "   Do not step in.\n\nB."),
        (".. admonition:: At high water\n   :class: tip\n\n   Stay.", "At high water\n\n   Stay."),
        ("A.\n\n.. toctree::\n   :maxdepth: 2\n\n   intro\n   weirs/all\n\nB.", "A.\n\nB."),
        (".. image:: weir.png\n   :alt: A weir\n\nB.", "B."),
        (".. figure:: weir.png\n   :width: 40\n\n   The weir in May.", "   The weir in May."),
        (".. module:: gauges\n   :synopsis: Levels.\n\nTitle\n=====", "Title\n====="),
        (".. py:function:: read(at)\n   read_all()\n   :async:\n\n   Reads.", "read(at)\n   read_all()\n\n   Reads."),
        (".. versionadded:: 3.5", "Added in version 3.5"),
        (".. deprecated:: 3.1 Use *level*.", "Deprecated since version 3.1: Use *level*."),
        ("   .. versionchanged:: 2\n      More.", "   Changed in version 2\n      More."),
        (".. csv-table:: Levels\n   :header: At, Level\n\n   Steinhag, 1", "Levels\nAt, Level\n\n   Steinhag, 1"),
        (".. note:: See :ref:`a long\n   title <x>`.", "See a long\n   title."),
        ("A.\n\n.. a comment\n   of two lines\n\n   and more\n\nB.", "A.\n\nB."),
        ("H\\ :sub:`2`\\ O, 10\\ :sup:`6` and m\\ :sup:`3`, a\\ *b*", "H2O, 10^6 and m³, a*b*"),
        ("A.\n\n..\n\n   A quotation.", "A.\n\n   A quotation."),
        ("A.\n\n..\n   A comment.\n\nB.", "A.\n\nB."),
        (".. _weirs:\n.. _SQLite: https://sqlite.org/\n   about.html\n\nB.", "B."),
        ("A.\n\n__ https://sqlite.org\n.. __: https://sqlite.org", "A.\n"),
        (".. [1] A footnote.\n.. [Wren2025] Of :ref:`weirs`.", "[1] A footnote.\n[Wren2025] Of weirs."),
        (
            ".. [1]\n   Liability ends.\n\n   In 2028.\n\n.. [#]\n\n   Below.",
            "[1]\n   Liability ends.\n\n   In 2028.\n\n[#]\n\n   Below.",
        ),
        (".. |a| replace::\n   the long\n   weir\n\nAt |a|.", "At the long weir."),
        ("|W| is old.\n\n.. |W| replace:: Halden Weir\n.. |logo| image:: logo.png", "Halden Weir is old.\n"),
        (".. unknown:thing:: its name\n   :option: x\n\n   Its text.", "its name\n\n   Its text."),
    ],
)
def test_markup_for_programs_is_left_out(source: str, text: str) -> None:
    assert readable(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("See :ref:`weirs`.", "See weirs."),
        ("See :policy:`CMP0103 </policy/CMP0103>`.", "See CMP0103."),
        ("The :variable:`CMAKE_DEFAULT\n<CMAKE_<NNNN\\>>` variable.", "The CMAKE_DEFAULT variable."),
        (":py:meth:`~gauges.Gauge.read` and :func:`!open`", "read and open"),
        ("`an LRU cache\n<https://cache.example/a_(b)>`_ works", "an LRU cache works"),
        ("`Halden Weir`_ and `that one`__.", "Halden Weir and that one."),
        ("``:ref:`weirs` `` and ``.. note::``", "``:ref:`weirs` `` and ``.. note::``"),
        ("at 12:30:`x`", "at 12:30:`x`"),
        ("`emphasis` and a|b|c", "`emphasis` and a|b|c"),
    ],
)
def test_roles_and_references_are_their_text(source: str, text: str) -> None:
    assert readable(source) == text


@pytest.mark.parametrize(
    "text",
    [
        "Title\n=====\n\n:Author: Ida Wren\n\n* one\n* two\n\n1. three\n\n\n\nEnd.\r\n",
        "Example::\n\n   .. code-block:: rst\n\n      :ref:`x`\n\nB.",
        "+---+---+\n| a | b |\n+---+---+\n",
        "And so on...\n\n... or not.",
        ">>> read()\n1.42",
    ],
)
def test_other_text_is_as_it_is(text: str) -> None:
    assert readable(text) == text


def test_code_in_a_directive_is_as_it_is() -> None:
    code = "   def f():\n\n       return ':ref:`x`'\n   # .. note:: y\n"
    assert readable(f".. code-block:: python\n\n{code}\nB.") == f"{code}\nB."


PIECES = st.sampled_from(
    [
        "..",
        ".. ",
        "::",
        ":",
        "`",
        "``",
        "_",
        "__",
        "|",
        "\n",
        "\n\n",
        "   ",
        "\t",
        "x",
        "note",
        "[1]",
        "<",
        ">",
        "\\",
        "~",
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_text_can_be_read(text: str) -> None:
    readable(text)


@given(st.text(alphabet="ab :*=-\n", max_size=60))
def test_text_without_markup_is_never_changed(text: str) -> None:
    assert readable(text) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "sphinx.rst",
            "Kingfisher documentation\n========================\n\n"
            "Add your content using ``reStructuredText`` syntax. See the\nreStructuredText\ndocumentation for details.",
        ),
        (
            "sphinx-apidoc.rst",
            "kingfisher package\n==================\n\nSubmodules\n----------\n\n"
            "kingfisher.level module\n-----------------------\n\nkingfisher.level\n\n"
            "Module contents\n---------------\n\nkingfisher",
        ),
    ],
)
def test_what_sphinx_wrote(name: str, text: str) -> None:
    data = (Path(__file__).parents[1] / "samples" / "texts" / name).read_bytes()
    assert extract_text(data, name).text == text


def test_a_file_is_read_as_people_read_it() -> None:
    found = extract_text(b".. _top:\n\nWeirs\n=====\n\n.. code-block:: cmake\n\n   set(x)", "weirs.rst")
    assert (found.text, found.media_type) == ("Weirs\n=====\n\n   set(x)", "text/x-rst")
