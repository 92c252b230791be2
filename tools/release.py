"""Build a release into dist/, and try it in a bare environment: `python -m tools.release [ADDRESS]`, or `make release`.

ADDRESS is the repository's, such as https://example.org/owner/name: links and pictures of the README then lead there,
as does the metadata. Without one they become plain text, since a page of an index has no files beside it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"

_CLONE = re.compile(r"<!-- clone -->\n.*?<!-- /clone -->\n", re.DOTALL)
_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./((?:[A-Z]|deploy/|lightrag_dagster/|tests/)[^)\s]*)\)")
_IMAGE = re.compile(r"!\[([^\]]*)\]\((?!\w+:)([^)\s]+)\)\n*")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!\w+:)([^)\s]+)\)")


def readme_for_index(text: str, address: str, version: str) -> str:
    """Return the README with links and pictures that hold on another page; without an address it has none."""
    if not address:
        return _LINK.sub(r"\1", _IMAGE.sub("", text))
    text = _IMAGE.sub(lambda found: f"![{found[1]}]({address}/raw/v{version}/{found[2]})\n\n", text)
    return _LINK.sub(lambda found: f"[{found[1]}]({_place(found[2], address, version)})", text)


def page_for_package(text: str, address: str, version: str) -> str:
    """Return a page without the clone: it installs by name, and links out of the package lead to the address."""
    text = _CLONE.sub("", text).replace("/path/to/clone", "lightrag-dagster")
    if not address:
        return _OUTSIDE.sub(r"\1", text)
    return _OUTSIDE.sub(lambda found: f"[{found[1]}]({_place(found[2], address, version)})", text)


def _place(link: str, address: str, version: str) -> str:
    return link if link.startswith("#") else f"{address}/blob/v{version}/{link}"


def prepare(folder: Path, address: str) -> str:
    """Put what is committed into a folder, with the README and the metadata of an index; return the version."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    project = folder / "pyproject.toml"
    metadata = project.read_text(encoding="utf-8")
    version = str(tomllib.loads(metadata)["project"]["version"])
    if f"## {version}, unreleased" in (folder / "CHANGELOG.md").read_text(encoding="utf-8"):
        sys.exit(f"CHANGELOG.md says that {version} is unreleased: write the date there, commit, and run this again")
    readme = folder / "README.md"
    for page in (readme, *(folder / "docs").rglob("*.md")):
        page.write_text(page_for_package(page.read_text(encoding="utf-8"), address, version), encoding="utf-8")
    readme.write_text(readme_for_index(readme.read_text(encoding="utf-8"), address, version), encoding="utf-8")
    if address:
        places = {"Repository": "", "Documentation": f"/blob/v{version}/docs/README.md"}
        places |= {"Changelog": f"/blob/v{version}/CHANGELOG.md", "Issues": "/issues"}
        lines = "".join(f'{name} = "{address}{path}"\n' for name, path in places.items())
        project.write_text(f"{metadata}\n[project.urls]\n{lines}", encoding="utf-8")
    return version


def try_out(folder: Path, version: str) -> None:
    """Install the wheel into an environment of its own, list what is in it, and build and ask the demo there."""
    subprocess.run([sys.executable, "-m", "venv", folder / "bare"], check=True)
    programs = folder / "bare" / "bin"
    (wheel,) = DIST.glob("*.whl")
    subprocess.run([programs / "pip", "install", "--quiet", "--no-compile", wheel], check=True)
    bill = DIST / f"lightrag_dagster-{version}.cdx.json"
    listing: list[str | Path] = [Path(sys.executable).with_name("cyclonedx-py"), "environment", programs / "python"]
    subprocess.run([*listing, "--output-file", bill], check=True)
    ours = ("LIGHTRAG_", "DAGSTER_", "PYTHON")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    for words in ("--version", "prompts export prompts", "--home demo demo", "--home demo gc"):
        subprocess.run([programs / "lightrag-dagster", *words.split()], cwd=folder, env=clean, check=True)


def main() -> None:
    """Build, check and try."""
    address = sys.argv[1].rstrip("/") if sys.argv[1:] else ""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="lightrag-release-") as made:
        folder, checkout = Path(made), Path(made) / "checkout"
        checkout.mkdir()
        version = prepare(checkout, address)
        subprocess.run([sys.executable, "-m", "build", "--outdir", DIST, checkout], check=True)
        built = sorted(DIST.iterdir())
        subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *built], check=True)
        try_out(folder, version)
    print(*("", "Built, checked and tried:", *sorted(DIST.iterdir())), sep="\n  ")


if __name__ == "__main__":
    main()
