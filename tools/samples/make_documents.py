"""Write further pages, decks, documents and mails by programs that read none here.

    apt-get install asciidoctor groff libreoffice-writer-nogui librtf-writer-perl pandoc perl-doc tidy txt2html
    pip install docutils odfpy pillow
    npm install nodemailer pptxgenjs     # in a folder that NODE_PATH names
    NODE_PATH=…/node_modules python tools/samples/make_documents.py

It comes after `make_texts.py`. Every one names the Kingfisher gauge.
"""

import os
import subprocess
import tempfile
from pathlib import Path

from make import HERE, STORY, WRITTEN, office, run
from make_pages import OTHER_SCRIPTS, RST

POD = """=encoding utf8

=head1 Station visits

The I<Kingfisher> gauge at B<Lerchbruck> was cleaned in spring.

=over

=item * Replace the seal

=back

=head2 Überlauf

Der Pegel fiel um 12 cm über Nacht.
"""
MS = """.TL
Gauge survey
.NH
Station visits
.PP
The Kingfisher gauge at Lerchbruck was cleaned in spring.
"""
DECK = """const Deck = require("pptxgenjs"), [file, chart] = process.argv.slice(1), deck = new Deck();
deck.title = "Gauge deck"; deck.author = "Ida Wren";
const first = deck.addSlide(); first.addText("Opening", { x: 1, y: 1, w: 6, h: 1, placeholder: "title" });
first.addText([{ text: "Kingfisher gauge", options: { bullet: true } }, { text: "水位", options: { bullet: true } }],
  { x: 1, y: 2, w: 6, h: 2 });
if (chart) first.addImage({ path: chart, x: 1, y: 4, w: 3, h: 2, altText: "Levels of three stations" });
const second = deck.addSlide(); second.addTable([["Station", "Level"], ["Steinhag", "1.42"]], { x: 1, y: 1, w: 6 });
second.addNotes("Mention the seal."); deck.writeFile({ fileName: file });"""
RTF = r"""use utf8; use RTF::Writer; my ($file) = @ARGV; my $rtf = RTF::Writer->new_to_file($file);
$rtf->prolog(title => 'Gauge survey', author => 'Ida Wren', creatim => [2025, 3, 4, 5, 6, 7], revtim => [2025, 3, 4],
  operator => 'Ida Wren', doccomm => ''); $rtf->number_pages;
$rtf->paragraph("The Kingfisher gauge at ", \'{\b', "Lerchbruck", \'}', " was cleaned: Überlauf, 水位.");
my $table = RTF::Writer::TableRowDecl->new(widths => [1500, 1900]);
$rtf->row($table, 'Station', 'Level'); $rtf->row($table, 'Steinhag', '1.42'); $rtf->close;"""


MAIL = """const mailer = require("nodemailer"), fs = require("fs"), [folder, chart] = process.argv.slice(1);
const all = {from: "Ida Wren <ida@example.org>", to: "Per <per@example.org>", subject: "Re: Gauge survey",
  date: new Date("2025-03-04T05:06:07Z"), messageId: "<3@example.org>", inReplyTo: "<2@example.org>",
  baseBoundary: "node"};
const attachments = [{filename: "chart.png", path: chart, cid: "chart@example.org"},
  {filename: "survey.rtf", path: folder + "/pandoc.rtf"}, {filename: "levels.json", content: '{"Corley": 0.97}'},
  {filename: "broken.pdf", content: "%PDF-"}, {filename: "all.zip", content: "PK"}];
const quoted = "On 3 Mar 2025, Per Holm wrote:";
const text = `The Kingfisher gauge fell.\\n\\n${quoted}\\n> What of Lerchbruck?\\n\\n-- \\nIda Wren, River office\\n`;
const html = `<div>The <b>Kingfisher</b> gauge fell.<br><br></div><img src="cid:chart@example.org" alt="Levels">
<div class="gmail_signature">Ida Wren, River office</div>
<div class="gmail_quote"><div class="gmail_attr">${quoted}<br></div>
<blockquote class="gmail_quote">What of Lerchbruck?</blockquote></div>`;
const write = (name, mail) => mailer.createTransport({streamTransport: true, buffer: true}).sendMail({...all, ...mail})
  .then(sent => fs.writeFileSync(folder + "/" + name, sent.message));
write("nodemailer-reply.eml", {text, attachments}); write("nodemailer-page.eml", {html, attachments});"""


def write_pages(folder: Path, work: Path) -> None:
    story, rst, latin = work / "story.md", work / "story.rst", work / "latin.html"
    story.write_text(STORY, encoding="utf-8")
    rst.write_text(RST % OTHER_SCRIPTS, encoding="utf-8")
    run("pandoc", "-s", str(story), "-t", "html4", "-o", str(folder / "pandoc.htm"))
    run("pandoc", "-s", str(rst), "-t", "plain", "-o", str(work / "story.txt"))
    run("txt2html", "--infile", str(work / "story.txt"), "--outfile", str(folder / "txt2html.htm"))
    run(
        "rst2html5", "--stylesheet-path=", "--link-stylesheet", "--no-generator", str(rst), str(folder / "docutils.htm")
    )
    latin.write_text(STORY.split("---\n")[2].replace("水位", "").replace("は夜の間に下がった。 Уровень упал.", ""))
    run("pandoc", "-f", "markdown", str(latin), "-s", "-M", "title=Gauge survey", "-o", str(work / "latin.htm"))
    tidy = ["tidy", "-q", "--tidy-mark", "no", "--input-encoding", "utf8", "--output-encoding", "win1252"]
    subprocess.run([*tidy, "-o", str(folder / "tidy-1252.htm"), str(work / "latin.htm")], check=False)  # 1: it warns
    (work / "level.pod").write_text(POD, encoding="utf-8")
    run("pod2html", "--title=Gauge survey", f"--cachedir={work}", f"--infile={work}/level.pod",
        f"--outfile={folder}/pod2html.htm")  # fmt: skip
    (work / "level.ms").write_text(MS)
    with (folder / "groff.htm").open("wb") as file:
        groff = ["groff", "-ms", "-Thtml", str(work / "level.ms")]
        epoch = os.environ | {"SOURCE_DATE_EPOCH": str(int(WRITTEN.timestamp()))}
        subprocess.run(groff, check=True, stdout=file, env=epoch)


def write_documents(folder: Path, work: Path) -> None:
    from odf import dc, meta
    from odf.opendocument import OpenDocumentText
    from odf.table import Table, TableCell, TableColumn, TableRow
    from odf.text import H, P
    from PIL import Image, ImageDraw

    chart = Image.new("RGB", (320, 200), "white")
    for place, level in enumerate((120, 60, 90)):
        ImageDraw.Draw(chart).rectangle((40 + 90 * place, 180 - level, 90 + 90 * place, 180), fill="navy")
    chart.save(work / "chart.png")
    for name, images in (("pptxgenjs", []), ("pptxgenjs-figures", [str(work / "chart.png")])):
        subprocess.run(["node", "-e", DECK, str(folder / f"{name}.pptx"), *images], check=True)
    subprocess.run(["node", "-e", MAIL, str(folder), str(work / "chart.png")], check=True)
    subprocess.run(["perl", "-e", RTF, str(folder / "rtf-writer.rtf")], check=True)
    document = OpenDocumentText()
    document.meta.addElement(dc.Title(text="Gauge survey"))
    document.meta.addElement(meta.InitialCreator(text="Ida Wren"))
    document.meta.addElement(meta.CreationDate(text=WRITTEN.replace(tzinfo=None).isoformat()))
    document.text.addElement(H(outlinelevel=1, text="Station visits"))
    document.text.addElement(P(text="The Kingfisher gauge at Lerchbruck was cleaned in spring."))
    table = Table(name="Levels")
    table.addElement(TableColumn(numbercolumnsrepeated=2))
    for texts in (("Station", "Level (m)"), ("Steinhag", "1.42"), ("Corley | weir", "0.97")):
        row = TableRow()
        for text in texts:
            cell = TableCell()
            cell.addElement(P(text=text))
            row.addElement(cell)
        table.addElement(row)
    document.text.addElement(table)
    document.text.addElement(H(outlinelevel=2, text="Überlauf und 水位"))
    document.save(str(folder / "odfpy.odt"))
    write_rich_text_with_images(folder, work)


def write_rich_text_with_images(folder: Path, work: Path) -> None:
    """Write documents with the chart as PNG and JPEG, by pandoc; a small one by LibreOffice, which adds it as a WMF."""
    from PIL import Image

    with Image.open(work / "chart.png") as chart:
        chart.save(work / "chart.jpg", quality=80)
        chart.resize((64, 64)).save(work / "small.png")
    for name, first, second in (("figures", "chart.png", "![](chart.jpg)"), ("small", "small.png", "")):
        text = f"# Levels\n\nThe Kingfisher gauge was read.\n\n![Levels]({first})\n\nAgain {second}\n\nThe end.\n"
        (work / f"{name}.md").write_text(text, encoding="utf-8")
    run("pandoc", "-s", f"--resource-path={work}", str(work / "figures.md"), "-o", str(folder / "figures.rtf"))
    run("pandoc", "-s", f"--resource-path={work}", str(work / "small.md"), "-o", str(work / "small.odt"))
    office(work / "small.odt", folder / "libreoffice-figures.rtf")


def main() -> None:
    for write in (write_pages, write_documents):
        with tempfile.TemporaryDirectory() as name:
            write(HERE, Path(name))


if __name__ == "__main__":
    main()
