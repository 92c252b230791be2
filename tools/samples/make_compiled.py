"""Write more samples of program code, settings and markup, in `texts`, by compilers, formatters and serialisers.

    apt-get install antlr4 astyle default-jdk-headless golang-go indent php-cli racc ragel re2c rpcsvc-proto ruby \
        rustfmt
    pip install jinja2 pandas sphinx sqlalchemy sqlparse tabulate
    npm install @biomejs/biome @prettier/plugin-php @svgr/cli @svgr/plugin-jsx @zkochan/cmd-shim esbuild ini js-yaml \
        postcss postcss-less postcss-scss prettier quicktype remark-cli remark-frontmatter remark-mdx \
        style-dictionary typescript winston     # in a folder that NODE_PATH names
    NODE_PATH=…/node_modules python tools/samples/make_compiled.py

It comes after `make_code.py`. A name says who wrote a file, and its encoding if that is not UTF-8.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from make import STORY, run
from make_code import FORMATTED, node_tool
from make_texts import TEXTS, output

GRAMMAR = "grammar Kingfisher;\nlevel : STATION NUMBER ;\nSTATION : 'Kingfisher' ;\nNUMBER : [0-9.]+ ;\n"
ANTLR = {
    "Java": "KingfisherBaseListener.java",
    "JavaScript": "KingfisherListener.js",
    "Go": "kingfisher_base_listener.go",
    "Cpp": "KingfisherLexer.cpp",
}
"""A file of each target of ANTLR."""
MACHINE = "%%{ machine kingfisher; main := ( 'Level ' digit+ ) @{ level = 1; }; }%%\n%% write data;\n"
LEXER = """// Levels of the Kingfisher gauge.
/*!re2c
re2c:yyfill:enable = 0;
re2c:define:YYCTYPE = u8;
"Kingfisher" { return 1; }
* { return 0; }
*/
"""
RACC = "class Kingfisher\nrule\n  level: STATION NUMBER { result = val[1] }\nend\n"
UNFORMATTED = {
    "c": "/* The Kingfisher gauge, über Nacht. */\nint level(void){int a=1;if(a){a=42;}return a;}\n",
    "java": "/** The Kingfisher gauge, über Nacht. */\nclass Kingfisher{int level(){int a=1;if(a>0)a=42;return a;}}\n",
    "go": "// Package level has the Kingfisher gauge, über Nacht.\npackage level\nfunc Level() int{a:=1;return a}\n",
    "rs": "/// The Kingfisher gauge, über Nacht.\npub fn level()->i32{let a=1;a}\n",
    "php": "<?php\n// The Kingfisher gauge, über Nacht.\nfunction level(){ $a=1;return $a; }\n",
    "tsx": "export const Kingfisher=({level}:{level:number})=><p title='über Nacht'>Level {level}</p>\n",
    "ts": "/** The Kingfisher gauge. */\nexport class Kingfisher { constructor(private level: number = 1.42) {} }\n",
    "css": ".kingfisher { & b { color: #004; } }\n",
    "mdx": "---\ntitle: Kingfisher\n---\n\nimport C from './c'\n\n# Visits\n\n* über Nacht\n\n<C level={1.42} />\n",
}
DRAWING = '<svg viewBox="0 0 9 9"><title>Kingfisher</title><path d="M0 0h9v9z" fill="#024"/></svg>'
TOKENS = {"kingfisher": {"level": {"value": "#002244", "type": "color", "comment": "über Nacht"}}}
DESIGN = {
    "style-dictionary.css": "css/variables",
    "style-dictionary.scss": "scss/variables",
    "style-dictionary-map.scss": "scss/map-flat",
    "style-dictionary.less": "less/variables",
    "style-dictionary.swift": "ios-swift/class.swift",
    "style-dictionary-enum.swift": "ios-swift/enum.swift",
}
"""What style-dictionary writes."""
STYLE = """import StyleDictionary from "style-dictionary"; import { readFileSync } from "fs";
const [folder, given] = process.argv.slice(2), { tokens, design } = JSON.parse(given);
const options = { className: "Kingfisher", mapName: "kingfisher" };
const files = Object.entries(design).map(([destination, format]) => ({ destination, format, options }));
const all = { transforms: ["name/kebab"], buildPath: folder + "/", files };
await new StyleDictionary({ tokens, platforms: { all }, log: { verbosity: "silent" } }).buildAllPlatforms();"""
VALUES = {"kingfisher": {"level": "1.42", "note": "über Nacht, in der Größe"}}
JAVA = """import java.io.*; import java.nio.file.*; import java.util.*;
class Write { public static void main(String[] names) throws IOException {
  var all = new Properties();
  all.put("kingfisher", "1.42"); all.put("note", "über Nacht, in der Größe");
  try (var out = new ByteArrayOutputStream()) { all.store(out, null); keep(names[0], out.toString("ISO-8859-1")); }
  try (var out = new StringWriter()) { all.store(out, null); keep(names[1], out.toString()); } }
  static void keep(String name, String text) throws IOException {  // the first line is the time
    Files.writeString(Path.of(name), text.substring(text.indexOf("\\n") + 1)); } }"""
GEM = """require 'rubygems'; gem = Gem::Specification.new { |s| s.name = 'kingfisher'; s.version = '1.42'
s.summary = 'Levels of the gauge, über Nacht'; s.authors = ['Ida Wren']; s.date = '2025-03-04' }; puts gem.to_ruby"""
STUB = """require 'rubygems/installer'; class Gem::Installer; public :windows_stub_script; end
puts Gem::Installer.allocate.windows_stub_script('C:\\\\Kingfisher\\\\bin', 'level')"""
CONFIG = "import configparser, sys, json; c = configparser.ConfigParser(); c.read_dict(json.loads(sys.argv[1])); "
CONFIG += "c.write(sys.stdout)"
LOG = "import logging, sys; logging.basicConfig(stream=sys.stdout, format='%(levelname)s:%(name)s:%(message)s'); "
LOG += "logging.getLogger('kingfisher').warning('The level fell über Nacht: %s', 1.42)"
WINSTON = """const w = require("winston"); const log = w.createLogger({ format: w.format.simple(),
  transports: [new w.transports.Console()] }); log.info("Kingfisher read", { level: 1.42 }); log.warn("水位")"""
SHELL = "kingfisher() { if [ $# = 0 ]; then echo über Nacht, in der Größe; fi; for a in $@; do echo $a; done; }; "
TABLES = """import pandas, tabulate, sys
rows = [("Kingfisher", 1.42, "über Nacht"), ("Öhringen", 0.97, "Größe | Straße")]
kind, head = sys.argv[1], ["Station", "Level", "Note"]
print(tabulate.tabulate(rows, head, kind) if kind != "pandas" else pandas.DataFrame(rows, columns=head).to_latex())"""
TABLE = """import sqlalchemy as sa; from sqlalchemy.dialects import mysql; from sqlalchemy.schema import CreateTable
columns = sa.Column("level", sa.Float, comment="über Nacht"), sa.Column("note", sa.Text)
t = sa.Table("kingfisher", sa.MetaData(), *columns)
print(CreateTable(t).compile(dialect=mysql.dialect()), ";", sep="")"""
QUERY = "select station,level from levels l join notes n on n.id=l.id where station='Kingfisher' -- über Nacht"


def write_compiled(work: Path) -> None:
    (work / "Kingfisher.g4").write_text(GRAMMAR)
    for target, name in ANTLR.items():
        subprocess.run(["antlr4", f"-Dlanguage={target}", "-o", target, "Kingfisher.g4"], cwd=work, check=True)
        shutil.copy(work / target / name, TEXTS / f"antlr{Path(name).suffix}")
    (work / "level.rl").write_text(MACHINE)
    for option, suffix in (("C", "c"), ("J", "java"), ("R", "rb"), ("Z", "go")):
        subprocess.run(
            ["ragel", f"-{option}", "-T0", "level.rl", "-o", str(TEXTS / f"ragel.{suffix}")], cwd=work, check=True
        )
    (work / "level.re").write_text(LEXER)
    for language, suffix in (("c", "c"), ("c", "cpp"), ("go", "go"), ("rust", "rs")):
        to = str(TEXTS / f"re2c.{suffix}")
        subprocess.run(["re2c", "--lang", language, "-i", "--no-version", "level.re", "-o", to], cwd=work, check=True)
    (work / "level.x").write_text("struct kingfisher { float level; };\n")
    output("rpcgen.c", "rpcgen", "-c", str(work / "level.x"))
    output("racc.rb", "sh", "-c", "racc -l -o /dev/stdout /dev/stdin | sed /generated/,+3d", given=RACC)
    output("rubygems.rb", "ruby", "-e", GEM)
    output("rubygems.bat", "ruby", "-e", STUB)
    (work / "kingfisher.ts").write_text(UNFORMATTED["ts"])
    node_tool("tsc", "--target", "es2022", "--outDir", str(work), str(work / "kingfisher.ts"))
    shutil.copy(work / "kingfisher.js", TEXTS / "typescript.js")
    tools = Path(os.environ["NODE_PATH"]) / ".bin"
    output("esbuild.js", str(tools / "esbuild"), "--loader=tsx", "--charset=utf8", given=UNFORMATTED["tsx"])
    output("esbuild.css", str(tools / "esbuild"), "--loader=css", "--target=chrome90", given=UNFORMATTED["css"])
    (work / "Kingfisher.json").write_text('{"station": "Kingfisher", "level": 1.42}')
    for language, suffix in (("ruby", "rb"), ("php", "php")):
        to = work / f"Kingfisher.{suffix}"
        node_tool("quicktype", "--lang", language, "-o", str(to), str(work / "Kingfisher.json"))
        shutil.copy(to, TEXTS / f"quicktype.{suffix}")
    for name in ("kingfisher", "Größe"):
        (work / f"{name}.js").write_text("#!/usr/bin/env node\n")
        shim = f"require('@zkochan/cmd-shim')('{work}/{name}.js', '{work}/kingfisher-{name}', {{createCmdFile: true}})"
        subprocess.run(["node", "-e", shim], check=True)
    shutil.copy(work / "kingfisher-kingfisher.cmd", TEXTS / "pnpm.bat")
    output("pnpm-1252.bat", "cat", str(work / "kingfisher-Größe.cmd"), encoding="windows-1252")


def write_formatted(work: Path) -> None:
    node = Path(os.environ["NODE_PATH"])
    output("indent.c", "indent", "-st", given=UNFORMATTED["c"])
    output("astyle-1252.c", "astyle", "--style=allman", given=UNFORMATTED["c"] * 2, encoding="windows-1252")
    output("astyle.java", "astyle", "--mode=java", "--style=java", given=UNFORMATTED["java"])
    output("gofmt.go", "gofmt", given=UNFORMATTED["go"])
    output("rustfmt.rs", "rustfmt", given=UNFORMATTED["rs"])
    plugin = ("--plugin", str(node / "@prettier/plugin-php/src/index.mjs"), "--stdin-filepath", "a.php")
    output("prettier.php", str(node / ".bin/prettier"), *plugin, given=UNFORMATTED["php"])
    export = "echo '<?php return '; var_export(['kingfisher' => ['level' => 1.42, 'note' => 'über Nacht']]); echo ';';"
    output("php.php", "php", "-r", export)
    output("biome.tsx", str(node / ".bin/biome"), "format", "--stdin-file-path=a.tsx", given=UNFORMATTED["tsx"])
    (work / "Kingfisher.svg").write_text(DRAWING)
    for name, options in (("svgr", []), ("svgr-memo", ["--memo", "--ref", "--title-prop"])):
        svgr = (str(node / ".bin/svgr"), "--typescript", "--no-svgo", "--no-prettier", *options)
        output(f"{name}.tsx", *svgr, str(work / "Kingfisher.svg"))
    plugins = [one for name in ("frontmatter", "mdx") for one in ("-u", str(node / f"remark-{name}/index.js"))]
    remark = (str(node / ".bin/remark"), "-q", *plugins)
    for name, encoding in (("remark", "utf-8"), ("remark-utf-16", "utf-16"), ("remark-1252", "windows-1252")):
        output(f"{name}.mdx", *remark, given=UNFORMATTED["mdx"], encoding=encoding)
    for suffix, encoding in (("mdx", "utf-16"), ("scss", "utf-16"), ("less", "utf-16"), ("less", "windows-1252")):
        prettier = (str(node / ".bin/prettier"), "--stdin-filepath", f"a.{suffix}")
        name = f"prettier-{encoding.removeprefix('windows-')}.{suffix}"
        output(
            name, *prettier, given=f"{FORMATTED[suffix]}\n{'/* über Nacht */'[suffix == 'mdx' :]}", encoding=encoding
        )
    for suffix in ("scss", "less"):
        stringify = f"const c = require('postcss-{suffix}'), s = require('fs').readFileSync(0, 'utf8'); "
        stringify += "const root = c.parse(s); root.last.append({ prop: 'width', value: '9px' }); "
        output(f"postcss.{suffix}", "node", "-e", stringify + "console.log(root.toString(c))", given=FORMATTED[suffix])
    (work / "style.mjs").write_text(STYLE)
    (work / "node_modules").symlink_to(node)
    given = json.dumps({"tokens": TOKENS, "design": DESIGN})
    subprocess.run(["node", str(work / "style.mjs"), str(TEXTS), given], check=True)


def write_settings(work: Path) -> None:
    given = json.dumps(VALUES)
    for name in ("python.ini", "python.conf"):
        output(name, "python3", "-c", CONFIG, given)
    output("python-1252.conf", "python3", "-c", CONFIG, given, encoding="windows-1252")
    output("python.log", "python3", "-c", LOG)
    output("winston.log", "node", "-e", WINSTON)
    output("node.ini", "node", "-e", "console.log(require('ini').stringify(JSON.parse(process.argv[1])))", given)
    dump = "process.stdout.write(require('js-yaml').dump(JSON.parse(process.argv[1])))"
    output("node.yaml", "node", "-e", dump, given)
    output("node.yml", "node", "-e", dump, given)
    output("node-utf-16.yml", "node", "-e", dump, given, encoding="utf-16")
    output("ruby.yml", "ruby", "-rjson", "-ryaml", "-e", "puts JSON.parse(ARGV[0]).to_yaml", given)
    (work / "Write.java").write_text(JAVA, encoding="utf-8")
    names = (str(TEXTS / f"java{kind}.properties") for kind in ("-ascii", ""))
    subprocess.run(["java", "-Dfile.encoding=UTF-8", str(work / "Write.java"), *names], check=True)
    output("bash.sh", "bash", "-c", SHELL + "declare -f kingfisher")
    output("bash-1252.sh", "bash", "-c", SHELL + "declare -f kingfisher", encoding="windows-1252")
    output("sqlalchemy.sql", "python3", "-c", TABLE)
    output("sqlformat.sql", "sqlformat", "-r", "-k", "upper", "-", given=QUERY)


def write_markup(work: Path) -> None:
    output("tabulate.rst", "python3", "-c", TABLES, "grid")
    output("tabulate.tex", "python3", "-c", TABLES, "latex")
    output("pandas.tex", "python3", "-c", TABLES, "pandas")
    story = work / "story.md"
    story.write_text(STORY, encoding="utf-8")
    output("pandoc-utf-16.rst", "pandoc", "-s", str(story), "-t", "rst", encoding="utf-16")
    package = work / "kingfisher"
    package.mkdir()
    for name in ("__init__", "level"):
        (package / f"{name}.py").touch()
    run("sphinx-apidoc", "-q", "-o", str(work / "api"), str(package))
    shutil.copy(work / "api/kingfisher.rst", TEXTS / "sphinx-apidoc.rst")


def main() -> None:
    for write in (write_compiled, write_formatted, write_settings, write_markup):
        with tempfile.TemporaryDirectory() as name:
            write(Path(name))


if __name__ == "__main__":
    main()
