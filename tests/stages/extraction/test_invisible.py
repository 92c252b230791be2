"""HTML's character references, control characters and characters that show nothing, in fields, tags and delimiters."""

from tests.stages.extraction.reading import differences, read, read_json

# A name as it is written, and as it is read; "" where it cannot be used. The same in rows and in JSON.
NAMES = {
    # references
    "R&amp;D": "R&D",
    "R&amp;amp;D": "R&D",
    "R&amp;amp;amp;D": "R&D",
    "R&AMP;D": "R&D",
    "R&#38;D": "R&D",
    "R&#x26;D": "R&D",
    "R&#038;D": "R&D",
    "R&ampD": "R&D",
    "R&D": "R&D",
    **{one: one for one in ("a?lang=en&region=eu", "a?b=1&timestamp=2", "q&amplitude=5")},
    "AT & T": "AT & T",
    "Q&unknown;A": "Q&unknown;A",
    "O&#39;Brien": "O'Brien",
    "O&apos;Brien": "O'Brien",
    "O&rsquo;Brien": "O’Brien",
    "&quot;Alice&quot;": "Alice",
    "&ldquo;Alice&rdquo;": "Alice",
    "&lsquo;Alice&rsquo;": "Alice",
    "&#8220;Alice&#8221;": "Alice",
    "Caf&eacute;": "Café",
    "Caf&#233;": "Café",
    "M&uuml;ller &amp; S&ouml;hne": "Müller & Söhne",
    "A &lt; B": "A < B",
    "A &amp;lt; B": "A < B",
    "List&lt;T&gt;": "List<T>",
    "&lt;Alice&lt;": "<Alice<",
    "&lt;br&gt;Alice&lt;/p&gt;": "Alice",
    "Alice&nbsp;Smith": "Alice Smith",
    "Alice&#160;Smith": "Alice Smith",
    "&nbsp;Alice&nbsp;": "Alice",
    "Alice&emsp;Smith": "Alice Smith",
    "Alice&Tab;Smith": "Alice Smith",
    "Alice&#10;Smith": "Alice Smith",
    "Alice&#13;&#10;Smith": "Alice Smith",
    "北&nbsp;京": "北京",
    "北&#12288;京": "北京",
    "&#21271;&#20140;": "北京",
    "&#x1F600;": "😀",
    "Paris &mdash; Rome": "Paris - Rome",
    "&#65313;cme": "Acme",
    "&nbsp;": "",
    "&#52;&#50;": "",
    # references to no character, or to one that is removed
    "Al&#0;ice": "Alice",
    "Al&#x0;ice": "Alice",
    "Al&#xD800;ice": "Alice",
    "Al&#x110000;ice": "Alice",
    "Al&#7;ice": "Alice",
    "Al&#127;ice": "Alice",
    "Al&#xFFFE;ice": "Alice",
    "Al&shy;ice": "Alice",
    "Al&ZeroWidthSpace;ice": "Alice",
    "Al&#8203;ice": "Alice",
    "Al&zwj;ice": "Alice",
    "&lrm;Alice&rlm;": "Alice",
    "Al&amp;shy;ice": "Alice",
    "&#0;": "",
    "&shy;": "",
    # control characters
    "Al\x00ice": "Alice",
    "\x00Alice\x00": "Alice",
    "Al\x01i\x02c\x03e\x04\x05\x06\x07\x08": "Alice",
    "Al\x0bice": "Alice",
    "Al\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1bice": "Alice",
    "Al\x7fice": "Alice",
    "Al\x80i\x9fce": "Alice",
    "Al\ud800ice": "Alice",
    "Al\ufffei\uffffce": "Alice",
    "Alice\ufffd": "Alice\ufffd",
    "北\x00京": "北京",
    "\x00": "",
    # characters that show nothing
    "Al\u00adice": "Alice",
    "Al\u200bice": "Alice",
    "Al\u200cice": "Alice",
    "Al\u200dice": "Alice",
    "\ufeffAlice": "Alice",
    "Al\u2060ice": "Alice",
    "Al\u2063ice": "Alice",
    "\u200eAlice\u200f": "Alice",
    "\u202aAlice\u202c": "Alice",
    "\u202eecilA\u202c": "ecilA",
    "\u2066Alice\u2069": "Alice",
    "\u061cAlice": "Alice",
    "Al\u180eice": "Alice",
    "\u200fדוד\u200f": "דוד",
    "北\u200b京": "北京",
    "北 \u200b 京": "北京",
    "北\u200d京": "北京",
    "서\u200b울": "서울",
    '\u200b"Alice"\u200b': "Alice",
    "4\u200b2": "",
    "\u200b": "",
    "\u200d\u200d": "",
    # joiners and combining characters that mean something
    "👩\u200d💻": "👩\u200d💻",
    "👩\u200d❤\ufe0f\u200d👨": "👩\u200d❤\ufe0f\u200d👨",
    "\u200d👩\u200d": "👩",
    "می\u200cخواهم": "می\u200cخواهم",
    "क्\u200dष": "क्\u200dष",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f": (
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    ),
    "Cafe\u0301": "Cafe\u0301",
    "か\u3099き": "か\u3099き",
}


def test_names() -> None:
    expected = {written: [f"{name} ¦ person ¦ d"] if name else [] for written, name in NAMES.items()}
    # Between rows a line feed ends the name; JSON escapes it.
    assert differences(expected, lambda name: read(f"entity¦{name}¦Person¦d")) == {}
    assert differences(expected, lambda name: read_json(name, "Person", "d")) == {}


def test_ends_of_relations() -> None:
    expected = {written: [f"{name} ¦ Z ¦ k ¦ d"] if name else [] for written, name in NAMES.items()}
    assert differences(expected, lambda name: read(f"relation¦{name}¦Z¦k¦d")) == {}
    assert differences(expected, lambda name: read_json(name, "Z", "k", "d")) == {}


ROWS = {
    # the whole row is escaped, or only its tag
    "(&quot;entity&quot;¦&quot;Alice&quot;¦&quot;Person&quot;¦&quot;She leads.&quot;)": "Alice ¦ person ¦ She leads.",
    "&quot;entity&quot;¦Alice¦Person¦She leads.": "Alice ¦ person ¦ She leads.",
    "&#34;entity&#34;¦Alice¦Person¦She leads.": "Alice ¦ person ¦ She leads.",
    "&nbsp;entity&nbsp;¦Alice¦Person¦She leads.": "Alice ¦ person ¦ She leads.",
    "&bull; entity¦Alice¦Person¦She leads.": "Alice ¦ person ¦ She leads.",
    "&lt;entity&gt;¦Alice¦Person¦She leads.": "Alice ¦ person ¦ She leads.",
    "&#x27;relation&#x27;¦A¦B¦k¦d": "A ¦ B ¦ k ¦ d",
    "&lt;li&gt;entity¦Alice¦Person¦She leads.": "Alice ¦ person ¦ She leads.",
    # delimiters and markers
    "entity&lt;|#|&gt;Alice&lt;|#|&gt;Person&lt;|#|&gt;d&lt;|COMPLETE|&gt;": "Alice ¦ person ¦ d",
    "entity&#60;|#|&#62;Alice&#60;|#|&#62;Person&#60;|#|&#62;d": "Alice ¦ person ¦ d",
    "entity&#x3C;|#|&#x3e;Alice&#x3C;|#|&#x3e;Person&#x3C;|#|&#x3e;d": "Alice ¦ person ¦ d",
    "entity&lt;&#124;#&#124;&gt;Alice&lt;&#124;#&#124;&gt;Person&lt;&#124;#&#124;&gt;d": "Alice ¦ person ¦ d",
    "entity<|&num;|>Alice<|&num;|>Person<|&num;|>d": "Alice ¦ person ¦ d",
    "entity&amp;lt;|#|&amp;gt;Alice&amp;lt;|#|&amp;gt;Person&amp;lt;|#|&amp;gt;d": "Alice ¦ person ¦ d",
    "entity&lt;|#|>Alice<|#|&gt;Person&lt;|##|&gt;d": "Alice ¦ person ¦ d",
    "entity＜｜＃｜＞Alice＜｜＃｜＞Person＜|#|＞d＜｜COMPLETE｜＞": "Alice ¦ person ¦ d",
    "entity＜#＞Alice＜｜＞Person<|＃|>d": "Alice ¦ person ¦ d",
    # a reference beside a delimiter, or in text that resembles one
    "entity¦A &lt;¦Person¦x &lt; y &gt; z": "A < ¦ person ¦ x < y > z",
    "entity¦A¦Person¦if a &lt; b &amp;&amp; c": "A ¦ person ¦ if a < b && c",
    "entity¦Or¦Concept¦It is written as || or &#124;&#124;.": "Or ¦ concept ¦ It is written as || or ||.",
    "entity¦Hashes¦Concept¦＃＃ marks a heading, ＜ is less.": "Hashes ¦ concept ¦ ＃＃ marks a heading, ＜ is less.",
    # what shows nothing, in tags and delimiters
    "\ufeffentity¦Alice¦Person¦d": "Alice ¦ person ¦ d",
    "\u200bentity\u200b¦\u200bAlice¦Person¦d\u200b": "Alice ¦ person ¦ d",
    "en\u00adtity¦Alice¦Person¦d": "Alice ¦ person ¦ d",
    "\x00entity\x00¦Alice\x00¦Person¦d": "Alice ¦ person ¦ d",
    "ent\x00ity¦Alice¦Person¦d": "Alice ¦ person ¦ d",
    "\u200erelation\u200f¦A¦B¦k¦d": "A ¦ B ¦ k ¦ d",
    "entity<\u200b|#|>Alice<|\u200b#|>Person<|#\u200b|>d": "Alice ¦ person ¦ d",
    "entity<|#\x00|>Alice<|\x00#|>Person<|#|\x00>d<|COM\x00PLETE|>": "Alice ¦ person ¦ d",
    "entity¦Alice¦Person¦d<|\u200bCOMPLETE|>\nentity¦Bob¦Person¦d": "Alice ¦ person ¦ d",
    # types, keywords and descriptions are cleaned as names are
    "entity¦Al\x0cice¦Person¦She\x0c leads.": "Alice ¦ person ¦ She leads.",
    "entity¦Alice¦Per\u200bson¦She\x00 \u200bleads &amp; works\u00ad.": "Alice ¦ person ¦ She leads & works.",
    "entity¦Alice¦&quot;Natural&nbsp;Object&quot;¦d": "Alice ¦ naturalobject ¦ d",
    "relation¦A¦B¦buys &amp;\x07 sells,\u200b owns¦&lt;p&gt;They&#39;re &lt; 5&lt;br/&gt;": (
        "A ¦ B ¦ buys & sells, owns ¦ They're < 5"
    ),
    "relation¦A&nbsp;¦&nbsp;A¦k¦d": None,
    "relation¦A\u200b¦A¦k¦d": None,
    "entity¦A¦\u200b¦d": None,
    "entity¦A¦Person¦\u200b&shy;\x00": None,
    # emoji in a description
    "entity¦Team¦Organization¦It is 👩\u200d👩\u200d👧\u200d👦.": (
        "Team ¦ organization ¦ It is 👩\u200d👩\u200d👧\u200d👦."
    ),
}


def test_rows() -> None:
    assert differences({row: [line] if line else [] for row, line in ROWS.items()}, read) == {}


def test_json_that_is_escaped_as_a_whole() -> None:
    item = '{"name": "Alice", "type": "Person", "description": "d"}'
    answer = f'{{"entities": [{item}]}}'
    assert read(answer.replace('"', "&quot;")) == ["Alice ¦ person ¦ d"]
    assert read(answer.replace("Alice", "Al&quot;ice")) == ['Al"ice ¦ person ¦ d']
