"""Marks inside the lines of a page, lists with tables, joined cells, details: kinds D5, D6 and D9, and others."""

import pytest

from lightrag_dagster.readers.extraction import extract_text

BEFORE = "The weir of Halden was built in the year 1911 by the Authority."
CELLS = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "<p>10<sup>6</sup> m<sup>3</sup> of H<sub>2</sub>O per day<sup>[2]</sup> was <u>measured</u>.</p>",
            "10^6 m³ of H2O per day[2] was measured.",
            id="D5",
        ),
        pytest.param(
            "<p>5·10<sup>-3</sup> of x<sup>2</sup>, the 1<sup>st</sup>, a<sub>i</sub> and <ins>new</ins> ones.</p>",
            "5·10^-3 of x², the 1st, ai and new ones.",
            id="D5 other powers",
        ),
        pytest.param(
            "<p>The weir<sup><a href='#n1'>1</a></sup> is old.<a href='#n2'><sup>[2]</sup></a></p>",
            "The weir[1] is old.[2]",
            id="D5 marks of notes",
        ),
        pytest.param(
            "<blockquote><p>It was dry.</p><footer>Anna Uhl</footer></blockquote>",
            "It was dry.\n\nAnna Uhl\n",
            id="who said it",
        ),
        pytest.param(
            "<h2>Area in m<sup>2</sup></h2><table><tr><th>km<sup>2</sup></th><th>b</th></tr><tr><td>10<sup>3</sup>"
            "</td>"
            "<td><u>x</u></td></tr></table>",
            "## Area in m²\n\n| km² | b |\n|---|---|\n| 10^3 | x |",
            id="D5 in headings and cells",
        ),
        pytest.param(f"<ul><li>One{CELLS}</li><li>Two</li></ul>", f"- One\n\n{TABLE}\n\n- Two", id="D6"),
        pytest.param(
            f"<ol><li>One</li><li>Two {CELLS} after</li><li>Three</li></ol>",
            f"1. One\n2. Two\n\n{TABLE}\n\nafter\n\n3. Three",
            id="D6 numbered",
        ),
        pytest.param(
            f"<ul><li>Out<ul><li>In{CELLS}</li></ul></li></ul>",
            f"- Out\n  - In\n\n{TABLE}",
            id="D6 in a list in a list",
        ),
        pytest.param("<p>Press <button>Save</button> to store it.</p>", "Press Save to store it.", id="D9"),
        pytest.param(
            "<ul><li>Click <button type=button><b>OK</b></button></li></ul>", "- Click **OK**", id="D9 in an item"
        ),
        pytest.param(
            "<style>.c1 { color: red; text-decoration: line-through }</style>"
            "<p>Pay <span style='text-decoration: underline line-through'>500</span> 400 <span class=c1>300</span></p>"
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td><span class='x c1'>2</span></td></tr></table>"
            "<p><span style='text-decoration-line:line-through'>5</span> <s>6</s> <del>7</del> <strike>8</strike></p>",
            "Pay ~~500~~ 400 ~~300~~\n\n| a | b |\n|---|---|\n| 1 | ~~2~~ |\n\n~~5~~ ~~6~~ ~~7~~ ~~8~~",
            id="struck text",
        ),
        pytest.param(
            "<style><!-- @import 'a.css'; .a, span.b /* old; */ { text-decoration: line-through }\n"
            ".is-sale .c, .c.old, p.c, .c:hover, .c > i { text-decoration: line-through } .c .d { color: red }\n"
            "@media screen { .up { vertical-align: super } h1 .c { vertical-align: super } } --></style>"
            "<p>Pay <span class=a>5</span> <span class=b>6</span> <span class=c>7</span> <span class=d>8</span> "
            "m<span class=up>2</span></p>",
            "Pay ~~5~~ ~~6~~ 7 8 m²",
            id="styles of a class alone",
        ),
        pytest.param(
            "<p>Due: <time>05 Mar 2024</time></p><p><b>From</b> <span><time>4 May</time></span></p>",
            "Due: 05 Mar 2024\n\n**From** 4 May",
            id="dates behind words",
        ),
        pytest.param(
            "<p>Set <label>Mode</label> to <output>5</output> by <time>noon</time> of the same long day.</p>",
            "Set Mode to 5 by noon of the same long day.",
            id="D9 other fields",
        ),
        pytest.param(
            "<table><tr><th>Site</th><th>Y</th></tr><tr><td rowspan=2>Halden</td><td>2023</td></tr><tr><td>2024</td>"
            "</tr>"
            "</table>",
            "| Site | Y |\n|---|---|\n| Halden | 2023 |\n| Halden | 2024 |",
            id="joined rows",
        ),
        pytest.param(
            "<table><tr><th colspan=2>Level</th><th>V</th></tr><tr><td>a</td><td>b</td><td>c</td></tr></table>",
            "| Level | Level | V |\n|---|---|---|\n| a | b | c |",
            id="joined columns",
        ),
        pytest.param(
            "<table><tr><th>A</th><th>B</th><th>C</th></tr><tr><td rowspan=2 colspan=2>x</td><td>1</td></tr><tr>"
            "<td>2</td></tr><tr><td colspan=3>all</td></tr></table>",
            "| A | B | C |\n|---|---|---|\n| x | x | 1 |\n| x | x | 2 |\n| all |  |  |",
            id="joined both",
        ),
        pytest.param(
            f"<table><tr><th>A</th><th>B</th></tr><tr><td>x</td><td>{CELLS}</td></tr></table>",
            f"| A | B |\n|---|---|\n| x |  |\n\n{TABLE}",
            id="a table in a cell",
        ),
        pytest.param(
            "<ul><li><input type=checkbox checked> Done</li><li><input type=checkbox>Open</li></ul>",
            "- [x] Done\n- [ ] Open",
            id="check boxes",
        ),
        pytest.param(
            "<ul><li><label><input type=checkbox checked>Done</label></li><li><label><input type=checkbox>Open</label>"
            "</li></ul>",
            "- [x] Done\n- [ ] Open",
            id="check boxes in labels",
        ),
        pytest.param(
            "<form><label><input type=checkbox checked> Agreed</label><br><label><input type=checkbox> Not</label>"
            "</form>",
            "[x] Agreed\n\n[ ] Not",
            id="a form of check boxes",
        ),
        pytest.param(
            "<p>Press the <img src=a.png alt='green key'> now, not <img src=b.png alt='b.png'>this.</p>",
            "Press the green key now, not this.",
            id="alternative texts",
        ),
        pytest.param("<p><img src=a.png alt='A map of weirs'></p>", "A map of weirs", id="alternative text alone"),
        pytest.param(
            "<figure><p><img src=a.png alt='A map of weirs'></p><figcaption>A map of weirs</figcaption></figure><p>"
            "<img src=b.png alt='The weirs'><span>The weirs of Halden are old.</span></p>",
            "A map of weirs\n\nThe weirs of Halden are old.",
            id="alternative text that is said beside it",
        ),
        pytest.param(
            "<p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</rt></ruby>を読む。</p>", "漢字を読む。", id="ruby"
        ),
        pytest.param(
            "<p>Caf&eacute; &amp; b&#233;t&#xE9; &hellip; x &lt; y, A&amp;B&shy;C</p>",
            "Café & bété … x < y, A&BC",
            id="entities",
        ),
        pytest.param(
            "<p>Write &amp;lt;br&gt; as &amp;amp;amp; or <code>&amp;#60;</code></p>",
            "Write &lt;br> as &amp;amp; or `&#60;`",
            id="references that are shown",
        ),
        pytest.param(
            "<p>All 1<b>20</b> of <b>10</b>0 for $<b>4</b>.50 on the 2<strong>nd</strong>, 2**10 = 1024, 3**2 = 9.</p>",
            "All 120 of 100 for $4.50 on the 2nd, 2**10 = 1024, 3**2 = 9.",
            id="bold in numbers, and powers",
        ),
        pytest.param(
            "<ul><li><input type=checkbox aria-hidden=true checked> One</li><li><p><input type=checkbox aria-hidden>"
            " Two</p></li></ul>",
            "- [x] One\n- [ ] Two",
            id="check boxes of GitHub",
        ),
        pytest.param(
            "<p hidden>Not one <b>word</b>.</p><p style='Display : none'>Nor two.</p><p>Three<span hidden>4</span>.</p>"
            "<div role=tabpanel hidden><p>A tab is read.</p></div>",
            "Three.\n\nA tab is read.",
            id="hidden lines",
        ),
        pytest.param(
            "<p hidden=until-found>One.</p><p style='backface-visibility: hidden'>Two <span style="
            "'-webkit-backface-visibility:hidden'>3</span>.</p><ul><li>a</li><li style='display:none'>b</li></ul>"
            "<table><tr><th>a</th><th>b</th></tr>"
            "<tr style='display:none'><td>1</td><td>2</td></tr></table><dl><dt>Q</dt><dd style='display: none'>A"
            "</dd></dl>",
            f"One.\n\nTwo 3.\n\n- a\n- b\n\n{TABLE}\n\n- Q\n- A",
            id="what may be shown",
        ),
        pytest.param(
            "<p>One<span class=mw-editsection style='display:none'>[<b hidden>e</b>]</span>.</p><pre>"
            "<span class=linenos style='display:none'>1</span>a\n<span class=linenos>2</span>b</pre>"
            "<table><tr><td hidden><pre>1<br>2<br></pre></td><td><pre>c<br>d<br></pre></td></tr></table><p>x</p>",
            "One.\n\n```\na\nb\n```\n```\nc\nd\n```\nx",
            id="hidden for two reasons",
        ),
        pytest.param(
            "<pre>x = <span class=ln>42</span>\ny = <span class=ln>44</span></pre>"
            "<table><tr><th>a</th><th>b</th></tr><tr><td><pre>404</pre></td><td><pre>not found</pre></td></tr></table>"
            "<table><tr><td><pre>1\n2</pre></td><td><pre>one\ntwo\nthree</pre></td></tr></table>"
            "<table><tr><td><pre>1\n2</pre>Two</td><td><pre>a\nb</pre></td></tr></table><p>x</p>",
            "```\nx = 42\ny = 44\n```\n| a | b |\n|---|---|\n| 404 | not found |\n\n"
            "```\n1\n2\n```\n```\none\ntwo\nthree\n```\n```\n1\n2\n```\nTwo\n\n```\na\nb\n```\nx",
            id="numbers that count no lines",
        ),
        pytest.param(
            "<div><h3>Gate</h3><a class=anchor href='#gate'><svg></svg></a></div>",
            "### Gate",
            id="a heading beside its link, of GitHub",
        ),
        pytest.param(
            "<figure><a href=f><img src=x.jpg></a><figcaption>In spring</figcaption></figure><div><h2>Age"
            "</h2><span class=mw-editsection>[<a href=e>edit</a>]</span></div>",
            "In spring\n\n## Age",
            id="captions and headings of Wikipedia",
        ),
        pytest.param(
            "<div class=expand-container><div class=expand-control><span class=expand-control-text>More</span></div>"
            "<div class=expand-content><p>Its gate is red.</p></div>"
            "</div><ul class=inline-task-list><li class=checked>One"
            "</li><li>Two <time>4 May</time></li></ul>",
            "More\n\nIts gate is red.\n\n- [x] One\n- [ ] Two 4 May",
            id="parts and tasks of Confluence",
        ),
        pytest.param(
            "<ul><li><div class='checkbox checkbox-on'></div> One</li><li><i class='fa fa-square-o'></i> Two</li></ul>",
            "- [x] One\n- [ ] Two",
            id="check boxes of Notion and Asciidoctor",
        ),
        pytest.param(
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td><time>4 May</time></td></tr></table>",
            "| a | b |\n|---|---|\n| 1 | 4 May |",
            id="times in cells",
        ),
        pytest.param(
            "<div class=tabbed-set data-tabs='1:2'><input type=radio checked><input type=radio>"
            "<div class=tabbed-labels><label>Linux</label><label>Windows</label></div>"
            "<div class=tabbed-content><div class=tabbed-block><p>By apt.</p>"
            "</div><div class=tabbed-block><p>By hand.</p></div></div></div>",
            "Linux\n\nBy apt.\n\nWindows\n\nBy hand.",
            id="tabs of MkDocs",
        ),
        pytest.param(
            "<div class=code-block-caption><span class=caption-text>Listing 1</span></div>"
            "<pre><span class=linenos>1</span>a\n<span class=linenos>2</span>b</pre>"
            "<table><tr><th colspan=2>run.sh</th></tr><tr><td><div><pre>7\n8</pre>"
            "</div></td><td><pre>c\nd</pre></td></tr></table><p>x</p>",
            "Listing 1\n\n```\na\nb\n```\nrun.sh\n\n```\nc\nd\n```\nx",
            id="captions and lines of code",
        ),
        pytest.param(
            "<table><caption><span class=caption-text>Levels</span></caption><tr><th>a</th><th>b</th></tr>"
            "<tr><td>1</td><td>2</td></tr></table>"
            "<figure><img src=a.png><figcaption><p><span class=caption-text>A weir</span></p>"
            "</figcaption></figure>",
            f"Levels\n\n{TABLE}\n\nA weir",
            id="captions of Sphinx",
        ),
        pytest.param(
            "<details><summary>More</summary>Loose.<p>And a paragraph.</p></details>",
            "More\n\nLoose.\n\nAnd a paragraph.",
            id="details",
        ),
        pytest.param("<p>He said <q>it is <b>open</b></q>.</p>", "He said “it is **open**”.", id="quotation marks"),
        pytest.param("<ol start=3 type=a><li>c</li><li>d</li></ol>", "c. c\nd. d", id="letters of items"),
    ],
)
def test_marks_are_text(body: str, expected: str) -> None:
    read = extract_text(f"<p>{BEFORE}</p>{body}<p>{BEFORE}</p>".encode(), "a.html")
    lines = [line.rstrip() for line in read.text.split("\n")]
    assert "\n".join(lines) == f"{BEFORE}\n\n{expected}\n\n{BEFORE}"
    assert read.losses is not None
    assert read.losses.example == ""


def test_numbers_that_a_style_raises_are_raised() -> None:
    styles = "<style>.c1{color:red}.c9{color:red;vertical-align:super}</style>"  # as Google Docs has them
    span = "10<span class=c9>6</span> or 10<span style='vertical-align: super'>7</span>"
    box = "<input type=checkbox aria-hidden=true>"  # that no one sees
    text = extract_text(f"{styles}<p>On <span class=c1>May</span> 4: {span}{box} l.</p>".encode(), "a.html").text
    assert text == "On May 4: 10^6 or 10^7 l."


def test_short_notes_at_the_end_of_a_page_are_read() -> None:
    page = (
        f"<main><h1>Weirs</h1><p>{BEFORE} <a href='#n1'>[1]</a></p><aside id=n1><span>[<a href='#r1'>1</a>]</span>"
        "<p>Halden, page 4 of the report.</p></aside><div id=n2><a href='#r2'>2</a>. Corley and others.</div>"
        "<div id=n3><a href='#r3'>3</a>Uhl, page 7.</div></main>"
    )
    notes = "[1]\n\nHalden, page 4 of the report.\n\n2\\. Corley and others.\n\n3 Uhl, page 7."
    assert extract_text(page.encode(), "a.html").text == f"# Weirs\n\n{BEFORE} [1]\n\n{notes}"


def test_notes_behind_the_content_are_read() -> None:
    page = (
        f"<body><div id=content><h1>Weirs</h1><p>{BEFORE}<sup>[<a href='#n1'>1</a>]</sup></p></div><div id=footnotes>"
        "<hr><div class=footnote id=n1><a href='#r1'>1</a>. Halden, page 4.</div></div><div id=footer>End</div></body>"
    )
    assert extract_text(page.encode(), "a.html").text == f"# Weirs\n\n{BEFORE}[1]\n\n1\\. Halden, page 4."
