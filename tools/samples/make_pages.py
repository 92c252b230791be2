"""Write the sample pages and mails, by programs that read none here.

    apt-get install pandoc libreoffice-writer-nogui asciidoctor faketime git mutt openssl procmail swaks \
        libmime-lite-perl nodejs npm
    pip install docutils mkdocs sphinx jinja2
    npm install nodemailer xlsx                      # in a folder that NODE_PATH names
    NODE_PATH=…/node_modules python tools/samples/make_pages.py

Every page says what `make.STORY` says, as far as its encoding has the letters; every mail is about the Kingfisher
gauge.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from make import HERE, STORY, office, pandoc, run

AT = ("faketime", "-f", "2025-03-04 05:06:07")
RST = """.. meta::
   :keywords: gauges, rivers

============
Gauge survey
============

:Author: Ida Wren
:Date: 2025-03-04

Station visits
==============

The *Kingfisher* gauge at **Lerchbruck** was cleaned in spring. Its housing was cracked.

- Replace the seal
- Check the logger

======== =========
Station  Level (m)
======== =========
Steinhag 1.42
Corley   0.97
======== =========

Überlauf%s
--------------------

Der Pegel fiel um 12 cm über Nacht.%s

1. First, read the staff gauge.
2. Then call the office.
"""
OTHER_SCRIPTS = (" und 水位", " 水位は夜の間に下がった。 Уровень упал.")
LAYOUT = """<!DOCTYPE html>
<html lang="ja"><head><meta charset="{{ charset }}"><title>{{ title }} | River office</title>
<meta name="author" content="Ida Wren"><meta property="article:published_time" content="2025-03-04T05:06:07+00:00">
<script>window.dataLayer = [];</script></head>
<body class="post"><header><a href="/">River office</a><form><input name="s" placeholder="Search"></form></header>
<nav><ul>{% for page in pages %}<li><a href="/{{ page }}">{{ page }}</a></li>{% endfor %}</ul></nav>
<main><article><h1>{{ title }}</h1>
{% for text in texts %}<p>{{ text }}</p>
{% endfor %}<table><tr><th>地点</th><th>Level (m)</th></tr>
{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>{% endfor %}</table></article></main>
<aside><h2>Most read</h2><a href="/a">Cookie settings</a></aside>
<footer>All rights reserved, 2025</footer></body></html>
"""
JAPANESE = (
    "Kingfisher観測所は春に清掃されました。ハウジングにひびが入っていたため、雨がロガーに届きました。",
    "水位は夜の間に十二センチ下がった。",
)


def write_pages(folder: Path, work: Path) -> None:
    pandoc(STORY, folder / "pandoc.html", "-c", "house.css")
    office(folder / "pandoc.odt", folder / "libreoffice.html")
    rst, latin = work / "index.rst", work / "latin.rst"
    rst.write_text(RST % OTHER_SCRIPTS, encoding="utf-8")
    latin.write_text(RST % ("", ""), encoding="utf-8")
    (work / "empty.rst").write_text("")
    style = ("--stylesheet-path=", "--link-stylesheet", "--no-generator")
    run("rst2html4", *style, "--output-encoding=windows-1252", str(latin), str(folder / "docutils-1252.html"))
    run("rst2html5", *style, "--output-encoding=utf-16", str(rst), str(folder / "docutils-utf-16.html"))
    run("pandoc", "-s", str(rst), "-t", "asciidoc", "-o", str(work / "story.adoc"))
    run("asciidoctor", "-a", "stylesheet!", "-a", "reproducible", str(work / "story.adoc"),
        "-o", str(folder / "asciidoctor.html"))  # fmt: skip
    write_sites(folder, work)
    subprocess.run(["node", "-e", SHEET, str(folder / "sheetjs.html")], check=True)
    run("rst2html5", *style, str(work / "empty.rst"), str(folder / "empty.html"))


SHEET = """const XLSX = require("xlsx"), book = XLSX.utils.book_new();
const rows = [["Station", "Level (m)"], ["Steinhag", 1.42], ["Kingfisher | weir", 0.97], ["Überlauf", "水位"]];
XLSX.utils.book_append_sheet(book, XLSX.utils.aoa_to_sheet(rows), "Levels");
XLSX.writeFile(book, process.argv[1]);"""


def write_sites(folder: Path, work: Path) -> None:
    """Write pages with menus and footers: of a documentation tool, of another, and of a shop's template."""
    from jinja2 import Environment

    docs = work / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Home\n", encoding="utf-8")
    (docs / "story.md").write_text(STORY.replace("keywords:", "tags:"), encoding="utf-8")
    (work / "mkdocs.yml").write_text("site_name: River office\nsite_author: Ida Wren\ncopyright: All rights reserved\n")
    run("mkdocs", "-q", "build", "-f", str(work / "mkdocs.yml"), "-d", str(work / "site"))
    shutil.copy(work / "site/story/index.html", folder / "mkdocs.html")
    run("sphinx-build", "-q", "-C", "-b", "html", "-D", "project=River office", "-D", "copyright=2025, River office",
        "-D", "language=en", str(work), str(work / "sphinx"))  # fmt: skip
    shutil.copy(work / "sphinx/index.html", folder / "sphinx.html")
    page = Environment(autoescape=True).from_string(LAYOUT)
    said = {"title": "水位調査", "texts": JAPANESE, "rows": [("Steinhag", 1.42), ("Corley", 0.97)]}
    said["pages"] = ["About us", "Contact", "Newsletter"]
    (folder / "cms-shift-jis.html").write_bytes(page.render(charset="Shift_JIS", **said).encode("shift_jis"))


PERL = r"""use MIME::Lite; use utf8; use Encode;
my ($file) = @ARGV;
my $mail = MIME::Lite->new(From => 'Ida Wren <ida@example.org>', To => 'office@example.org', Cc => 'per@example.org',
  Subject => encode('MIME-Header', 'Überlauf'), Date => 'Tue, 4 Mar 2025 05:06:07 +0100', Datestamp => 0,
  Type => 'multipart/mixed');
$mail->attr('content-type.boundary' => 'perl');
my $text = $mail->attach(Type => 'TEXT', Encoding => 'quoted-printable',
  Data => encode('windows-1252', "Der Kingfisher-Pegel fiel über Nacht – um 12 cm.\n"));
$text->attr('content-type.charset' => 'windows-1252');
$mail->attach(Type => 'text/csv', Filename => 'levels.csv', Data => "Steinhag;1.42\n");
open(my $out, '>', $file); $mail->print($out);"""
NODE = """const mailer = require("nodemailer"), fs = require("fs");
const all = {from: "Ida Wren <ida@example.org>", to: ["Büro <office@example.org>", "per@example.org"],
  date: new Date("2025-03-04T05:06:07Z"), messageId: "<2@example.org>", baseBoundary: "node"};
const dot = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");
const html = "<h1>Levels</h1><p>The <b>Kingfisher</b> gauge fell.</p><img src=cid:dot alt=Chart>" +
  "<table><tr><th>Station</th><th>Level</th></tr><tr><td>Steinhag</td><td>1.42</td></tr></table>";
const attachments = [{filename: "dot.gif", content: dot, cid: "dot"}, {filename: "水位 2025.csv", content: "a;b"}];
const text = "The Kingfisher gauge fell by 12 cm.\\n水位。";
const write = (name, mail) => mailer.createTransport({streamTransport: true, buffer: true}).sendMail({...all, ...mail})
  .then(sent => fs.writeFileSync(process.argv[1] + "/" + name, sent.message));
write("nodemailer.eml", {subject: "Pegel 水位 am Morgen", text, html, attachments});
write("nodemailer-html.eml", {subject: "Levels", html, attachments: attachments.slice(0, 1)});"""


def write_mails(folder: Path, work: Path) -> None:
    subprocess.run(["perl", "-e", PERL, str(folder / "mime-lite.eml")], check=True)
    subprocess.run(["node", "-e", NODE, str(folder)], check=True)
    keep = work / "keep"
    keep.write_text(f"#!/bin/sh\ncat > {folder}/mutt.eml\n")
    keep.chmod(0o755)
    (work / "levels.txt").write_text("Steinhag 1.42\n")
    settings = (f"set sendmail={keep}", "set from=ida@example.org", "set realname='Ida Wren'", "set copy=no",
                "set charset=utf-8", "set send_charset=koi8-r", "set hostname=example.org")  # fmt: skip
    given = [part for one in settings for part in ("-e", one)]
    mutt = [*AT, "mutt", "-n", "-F", "/dev/null", *given, "-s", "Уровень", "-a", str(work / "levels.txt")]
    body = "Уровень на станции Kingfisher упал за ночь.\n\n-- \nIda\n"
    environment = os.environ | {"LC_ALL": "C.UTF-8", "TZ": "UTC"}
    subprocess.run([*mutt, "--", "office@example.org"], input=body.encode(), check=True, env=environment)
    swaks = ("swaks", "--dump-mail", "--from", "ida@example.org", "--to", "office@example.org",
             "--h-Subject", "Test of the gauge", "--body", "The Kingfisher gauge fell.")  # fmt: skip
    done = subprocess.run([*AT, *swaks], check=True, capture_output=True, env=environment)
    (folder / "swaks.eml").write_bytes(done.stdout)
    write_locked_mails(folder, work)
    write_patch(folder, work)
    write_mailboxes(folder, work)


def write_locked_mails(folder: Path, work: Path) -> None:
    """Write a mail that is signed, and one that nobody can read without a key."""
    key, certificate, text = work / "key.pem", work / "certificate.pem", work / "text"
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Ida Wren", "-keyout", str(key),
        "-out", str(certificate))  # fmt: skip
    text.write_text(
        "Content-Type: text/plain; charset=utf-8\n\nThe Kingfisher gauge fell über Nacht.\n", encoding="utf-8"
    )
    said = ("-subject", "Gauge survey", "-from", "ida@example.org", "-to", "office@example.org", "-in", str(text))
    signed, locked = folder / "signed.eml", folder / "damaged/encrypted.eml"
    run(
        "openssl",
        "smime",
        "-sign",
        "-nocerts",
        *said,
        "-signer",
        str(certificate),
        "-inkey",
        str(key),
        "-out",
        str(signed),
    )
    run("openssl", "smime", "-encrypt", *said, "-out", str(locked), str(certificate))


def git_author() -> dict[str, str]:
    """Return the variables of the environment that make a commit of Git the same each time."""
    said = {"NAME": "Ida Wren", "EMAIL": "ida@example.org", "DATE": "2025-03-04T05:06:07Z"}
    return {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in said.items()}


def write_patch(folder: Path, work: Path) -> None:
    tree = work / "tree"
    tree.mkdir()
    (tree / "levels.txt").write_text("Kingfisher 1.42\n")
    for command in (
        ("init", "-q"),
        ("add", "."),
        ("commit", "-q", "-m", "Überlauf: add the levels\n\nRead in spring."),
    ):
        subprocess.run(["git", *command], cwd=tree, check=True, env=os.environ | git_author())
    patch = ["git", "format-patch", "--root", "--stdout", "--zero-commit", "--no-signature"]
    with (folder / "git.eml").open("wb") as file:
        subprocess.run(patch, cwd=tree, check=True, stdout=file)


def write_mailboxes(folder: Path, work: Path) -> None:
    """Write several mails to a file, in the tree of `write_patch` those of Git."""
    tree, said = work / "tree", os.environ | git_author()
    for line, text in (
        ("Corley 0.97", "Corley: add the weir\n\nFrom here on it is read daily."),
        ("Steinhag 2.1", "Steinhag"),
    ):
        with (tree / "levels.txt").open("a") as file:
            file.write(f"{line}\n")
        subprocess.run(["git", "commit", "-q", "-a", "-m", text], cwd=tree, check=True, env=said)
    patches = ["git", "format-patch", "--root", "--stdout", "--zero-commit", "--no-signature"]
    options = {"git": (), "git-attached": ("--attach=limit",), "git-thread": ("--thread=shallow", "--inline=limit")}
    for name, more in options.items():
        done = subprocess.run([*patches, *more], cwd=tree, check=True, capture_output=True)
        (folder / f"{name}.mbox").write_bytes(done.stdout)
    mails = ((folder / f"{name}.eml").read_bytes() for name in ("mutt", "nodemailer-reply", "swaks", "git"))
    boxed = (subprocess.run([*AT, "formail"], input=one, check=True, capture_output=True).stdout for one in mails)
    (folder / "formail.mbox").write_bytes(b"".join(boxed))
    settings = (f"set record={folder}/mutt.mbox", "set mbox_type=mbox", "set sendmail=/bin/true", "set charset=utf-8",
                "set from=ida@example.org", "set realname='Ida Wren'", "set hostname=example.org")  # fmt: skip
    given = [part for one in settings for part in ("-e", one)]
    weir = "From here on the weir is shut.\n\nFrom then the level rose.\n"
    for subject, text in (("Levels", "The Kingfisher gauge fell.\n"), ("Weir", weir), ("水位", "水位。\n")):
        mutt = [*AT, "mutt", "-n", "-F", "/dev/null", *given, "-s", subject, "office@example.org"]
        subprocess.run(mutt, input=text.encode(), check=True, env=os.environ | {"LC_ALL": "C.UTF-8", "TZ": "UTC"})


def write_damaged(folder: Path) -> None:
    for source in ("sphinx.html", "nodemailer.eml"):
        data = (folder / source).read_bytes()
        suffix = source.rpartition(".")[2]
        (folder / f"damaged/truncated.{suffix}").write_bytes(data[: len(data) // 2])
        (folder / f"damaged/zero-bytes.{suffix}").write_bytes(b"")
    bomb = "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True))
    (folder / "hostile/entities.html").write_text(
        f'<!DOCTYPE html [<!ENTITY a "{"a" * 1000}">{bomb}<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>Gauge</h1><p>Kingfisher &i; &x;</p></body></html>'
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        write_pages(HERE, Path(name))
    with tempfile.TemporaryDirectory() as name:
        write_mails(HERE, Path(name))
    write_damaged(HERE)


if __name__ == "__main__":
    main()
