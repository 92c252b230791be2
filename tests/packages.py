"""Packages of others: folders as installers leave them, with entry points, on the path of modules."""

from collections.abc import Mapping
from pathlib import Path


def install(site: Path, name: str, version: str, points: Mapping[str, Mapping[str, str]]) -> None:
    """Make the folder of a distribution with entry points, group → name → `module:function`."""
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [line for group, one in points.items() for line in (f"[{group}]", *(f"{k} = {v}" for k, v in one.items()))]
    (folder / "entry_points.txt").write_text("\n".join(lines))
