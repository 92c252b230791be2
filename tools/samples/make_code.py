"""Write the samples of program code and settings, in `texts`, by generators, formatters and scaffolds.

    apt-get install protobuf-compiler thrift-compiler flatbuffers-compiler gperf xxd shfmt crudini git openssh-client \
        nodejs npm ruby
    npm install prettier sass less quicktype cmd-shim properties     # in a folder that NODE_PATH names
    NODE_PATH=…/node_modules python tools/samples/make_code.py

A name says who wrote a file, and its encoding if that is not UTF-8.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from make_pages import git_author
from make_texts import TEXTS, output

SCHEMA = {
    "proto": 'syntax = "proto3";\n// Levels of the gauge.\nenum Kingfisher { LOW = 0; HIGH = 1; }\n',
    "thrift": "/** Levels of the gauge. */\nenum Kingfisher { LOW = 0, HIGH = 1 }\n",
    "fbs": "/// Levels of the gauge.\nenum Kingfisher : byte { Low, High }\n",
}
GENERATED = {
    "protoc": ("level.pb.cc", "level.pb.h", "level_pb2.py", "Kingfisher.php", "level_pb.rb"),
    "thrift": (
        *(
            "level_types.cpp",
            "level_types.h",
            "level/ttypes.py",
            "Kingfisher.java",
            "level_types.d.ts",
            "level/level.go",
        ),
        *("level.rs", "level_types.rb", "level.swift", "Kingfisher.php"),
    ),
    "flatc": (
        *("level_generated.h", "Kingfisher.py", "Kingfisher.java", "Kingfisher.go", "level_generated.rs"),
        *("level_generated.swift", "kingfisher.ts", "Kingfisher.php"),
    ),
}
"""Which of the files that each generator writes become samples."""

FORMATTED = {
    "css": "a{color:red}/* the Kingfisher gauge, über Nacht, in der Größe */\n@media print{a{color:black}}",
    "scss": "$kingfisher:#024;a{b{color:$kingfisher}}",
    "less": "@kingfisher:#024;a{b{color:@kingfisher}}",
    "js": "export const kingfisher={level:1.42,note:'über Nacht'}",
    "ts": "export const kingfisher:{level:number}={level:1.42}",
    "tsx": "export const Kingfisher=({level}:{level:number})=><p>Kingfisher <b>{level}</b></p>",
    "mdx": "---\ntitle: Kingfisher\n---\n\nimport Chart from './c'\n\n# Station visits\n* a\n* b\n\n<Chart/>",
    "md": "---\ntitle:   Kingfisher\n---\n# Visits\n* Replace the seal\n\n|Station|Level|\n|-|-|\n|Steinhag|1.42|",
    "yaml": "station:   Kingfisher\nlevels: [1.42,0.97]\nnote: 水位\n",
    "yml": "station:   Kingfisher\nlevels: [1.42,0.97]\n",
    "json": '{"station":"Kingfisher","levels":[1.42,0.97],"note":"水位"}',
}
SCRIPT = "if test $# = 0;then\necho Kingfisher über Nacht, in der Größe;fi\n"


def write_generated(work: Path) -> None:
    calls = {
        "protoc": [["protoc", *(f"--{kind}_out=." for kind in ("cpp", "python", "php", "ruby"))]],
        "thrift": [
            ["thrift", "-gen", kind, "-out", "."]
            for kind in ("cpp", "java", "js:ts", "rb", "go", "rs", "swift", "py", "php")
        ],
        "flatc": [["flatc", f"--{kind}"] for kind in ("cpp", "go", "ts", "rust", "swift", "java", "python", "php")],
    }
    for (suffix, text), (program, commands) in zip(SCHEMA.items(), calls.items(), strict=True):
        place = work / program
        place.mkdir()
        (place / f"level.{suffix}").write_text(text)
        for command in commands:
            subprocess.run([*command, f"level.{suffix}"], cwd=place, check=True)
        for path in GENERATED[program]:
            shutil.copy(place / path, TEXTS / f"{program}{Path(path).suffix.replace('.cc', '.cpp')}")
    words = "struct station;\n%%\nKingfisher, 142\nCorley, 97\n%%\n"
    for name, language in (("gperf.c", "ANSI-C"), ("gperf.cpp", "C++"), ("gperf.h", "KR-C")):
        output(name, "gperf", "-L", language, "-t", "-I", "--omit-struct-type", given=words)
    (work / "kingfisher").write_text("1.42\n")
    for name in ("xxd.c", "xxd.h"):
        subprocess.run(["xxd", "-i", "kingfisher", str(TEXTS / name)], cwd=work, check=True)
    sample = '{"station": "Kingfisher", "level": 1.42}'
    (work / "Kingfisher.json").write_text(sample)
    for suffix in ("cpp", "py", "java", "js", "ts", "go", "rs", "swift"):
        to = work / "quicktype" / f"Kingfisher.{suffix}"
        to.parent.mkdir(exist_ok=True)
        types = ["--just-types"] if suffix in ("cpp", "py", "java", "ts", "go") else []
        node_tool("quicktype", *types, str(work / "Kingfisher.json"), "-o", str(to))
        shutil.copy(to, TEXTS / f"quicktype.{suffix}")


def node_tool(name: str, *arguments: str) -> None:
    subprocess.run([Path(os.environ["NODE_PATH"]) / ".bin" / name, *arguments], check=True, stdout=subprocess.DEVNULL)


def write_formatted(work: Path) -> None:
    tools = Path(os.environ["NODE_PATH"]) / ".bin"
    for suffix, text in FORMATTED.items():
        output(f"prettier.{suffix}", str(tools / "prettier"), "--stdin-filepath", f"a.{suffix}", given=text)
    for suffix, encoding in (
        ("css", "windows-1252"),
        ("js", "utf-16"),
        ("tsx", "utf-16"),
        ("yaml", "utf-16"),
        ("ts", "utf-32"),
    ):
        given = FORMATTED[suffix]
        command = (str(tools / "prettier"), "--stdin-filepath", f"a.{suffix}")
        output(f"prettier-{encoding.removeprefix('windows-')}.{suffix}", *command, given=given, encoding=encoding)
    output("sass.css", str(tools / "sass"), "--stdin", "--no-source-map", given=f"/*! Kingfisher */{FORMATTED['scss']}")
    output("less.css", str(tools / "lessc"), "-", given=f"/* Kingfisher */{FORMATTED['less']}")
    output("shfmt.sh", "shfmt", given=SCRIPT)
    output("shfmt-1252.sh", "shfmt", given=SCRIPT, encoding="windows-1252")
    (work / "kingfisher.js").write_text("#!/usr/bin/env node\n")
    shim = f"require('cmd-shim')('{work}/kingfisher.js', '{work}/kingfisher')"
    subprocess.run(["node", "-e", shim], check=True)
    shutil.copy(work / "kingfisher", TEXTS / "cmd-shim.sh")
    shutil.copy(work / "kingfisher.cmd", TEXTS / "cmd-shim.bat")


def write_settings(work: Path) -> None:
    for name in ("crudini.ini", "crudini.conf"):
        subprocess.run(["crudini", "--set", str(TEXTS / name), "kingfisher", "level", "1.42"], check=True)
    for name in ("git.ini", "git.conf"):
        subprocess.run(
            ["git", "config", "-f", str(TEXTS / name), "station.Kingfisher.note", 'über "Nacht"'], check=True
        )
    output("git-1252.ini", "cat", str(TEXTS / "git.ini"), given="", encoding="windows-1252")
    output("ssh.conf", "sh", "-c", "ssh -F /dev/null -G kingfisher | head -5")
    text = "console.log(require('properties').stringify({kingfisher: '1.42', note: 'über Nacht'}, {unicode: %s}))"
    output("node.properties", "node", "-e", text % "false")
    output("node-ascii.properties", "node", "-e", text % "true")
    java = (
        "require 'yaml'; {'kingfisher' => 'über Nacht', 'size' => 'Größe, Straße'}.each { |k, v| puts \"#{k}=#{v}\" }"
    )
    output("ruby-1252.properties", "ruby", "-e", java, encoding="windows-1252")
    ruby = "require 'logger'; l = Logger.new($stdout); l.formatter = proc { |s, _, p, m| \"#{s} [#{p}] #{m}\\n\" }; "
    output("ruby.log", "ruby", "-e", ruby + "l.info('Kingfisher read'); l.warn('水位 1.42')")
    tree = work / "tree"
    tree.mkdir()
    who = git_author()
    for command in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "Kingfisher: über Nacht, in der Größe")):
        subprocess.run(["git", *command], cwd=tree, check=True, env=os.environ | who)
    output("git.log", "git", "-C", str(tree), "log")
    output("git-1252.log", "git", "-C", str(tree), "log", "--stat", encoding="windows-1252")


def main() -> None:
    for write in (write_generated, write_formatted, write_settings):
        with tempfile.TemporaryDirectory() as name:
            write(Path(name))


if __name__ == "__main__":
    main()
