"""The distribution: one package, whole, beside packages of other projects that are named like its folders."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "lightrag_dagster"
LINKED = ("assets", "docs", "examples", "resources")
BESIDE = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "NOTICE", "README.md", "constraints.txt"}
BESIDE |= {"pyproject.toml", "setup.py"}
BUILT_FROM = (*BESIDE, "lightrag_dagster", *LINKED, "tools")
"""What a distribution is made of; `tools` lies beside it, and must not get in."""

THEIRS = {
    "assets/__init__.py": "ASSETS = ['theirs']\n",
    "assets/graph.py": "",
    "resources/__init__.py": "def build_resources() -> str:\n    return 'theirs'\n",
    "resources/lightrag.py": "NAME = 'theirs'\n",
}
"""A project with packages of the names of our folders, and modules of the names of ours in them."""

PROGRAM = """
import assets, assets.graph, resources, resources.lightrag
from lightrag_dagster import KnowledgeBase, assets as ours, resources as our_resources
from lightrag_dagster.definitions import defs

assert assets.ASSETS == ["theirs"] and resources.build_resources() == resources.lightrag.NAME == "theirs"
keys = {key.to_user_string() for key in defs().resolve_all_asset_keys()}
print(*[KnowledgeBase.__module__, ours.__file__, our_resources.__file__, *sorted(keys)], sep="\\n")
"""


def files_of_package() -> set[str]:
    """Return the files that the package is to have, with `assets` and `resources` in it."""
    found = (path for path in _walk(PACKAGE) if path.suffix != ".pyc")
    return {path.relative_to(ROOT).as_posix() for path in found}


def _walk(folder: Path) -> list[Path]:
    return [Path(inner, name) for inner, _, names in os.walk(folder, followlinks=True) for name in names]


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    """Run a program by this Python in a folder, and return what it printed."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=inherited | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def build_distributions(folder: Path) -> None:
    """Put an sdist of this checkout into a folder, and a wheel that is built from that sdist alone."""
    checkout = folder / "checkout"
    checkout.mkdir()
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, checkout / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, checkout)
    build = "from setuptools import build_meta; import sys; getattr(build_meta, sys.argv[1])(sys.argv[2])"
    run("-c", build, "build_sdist", folder, folder=checkout)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    earlier = unpacked / "build/lib/lightrag_dagster"
    earlier.mkdir(parents=True)
    (earlier / "gone.py").touch()  # as a build before the last `git pull` leaves it
    run("-c", build, "build_wheel", folder, folder=unpacked)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an sdist and a wheel."""
    folder = tmp_path_factory.mktemp("built")
    build_distributions(folder)
    return folder


def test_the_sdist_has_every_file_once(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = [member.name.partition("/")[2] for member in archive.getmembers() if not member.isdir()]
    own = [name for name in names if name.startswith("lightrag_dagster/")]
    assert sorted(own) == sorted(files_of_package())
    others = {name for name in names if name not in own and not name.startswith("lightrag_dagster.egg-info/")}
    assert others == BESIDE | {"PKG-INFO", "setup.cfg"}


def test_the_wheel_has_every_file_and_one_name(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
    assert sorted(names) == sorted(files_of_package())
    assert wheel.name.endswith("-py3-none-any.whl")


@pytest.mark.long
def test_it_lives_beside_other_assets_and_resources(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    installed, project = tmp_path / "installed", tmp_path / "project"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)  # which is all that pip does with a package of Python alone
    for name, text in THEIRS.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (project / "program.py").write_text(PROGRAM)
    said = run("program.py", folder=project, PYTHONPATH=str(installed), DAGSTER_HOME="").splitlines()
    module, ours, our_resources, *keys = said
    assert module == "lightrag_dagster.query.knowledge_base"
    assert (ours, our_resources) == tuple(
        str(installed / "lightrag_dagster" / name / "__init__.py") for name in ("assets", "resources")
    )
    assert {"raw_documents", "chunks", "entities", "knowledge_base", "status_report"} <= set(keys)
