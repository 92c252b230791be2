"""The settings of a `defs.yaml`, read by Dagster's own loader of components, for the command line."""

import sys
from pathlib import Path

import dagster as dg
from dagster.components.core.defs_module import CompositeYamlComponent
from dagster_shared.utils.config import discover_config_file

from lightrag_dagster.errors import SettingsError, one_line
from lightrag_dagster.orchestration.component import KnowledgeBaseComponent
from lightrag_dagster.settings import Chosen


def chosen_by(file: Path) -> Chosen:
    """Return the settings of the knowledge base in a `defs.yaml`; of several, `defs.yaml#NAMESPACE` names one.

    Raises:
        SettingsError: it is not there, is in no project of `dg`, cannot be loaded, or has no such knowledge base.
    """
    path, _, wanted = str(file).partition("#")
    folder = Path(path).absolute().parent if Path(path).suffix else Path(path).absolute()
    if not (folder / "defs.yaml").is_file():
        raise SettingsError(f"--defs: there is no {folder / 'defs.yaml'}; `dg scaffold defs` writes one")
    found = {one.namespace: one for one in _components(folder) if isinstance(one, KnowledgeBaseComponent)}
    if wanted not in found and (wanted or len(found) != 1):
        names = ", ".join(f"{folder / 'defs.yaml'}#{name}" for name in found) or "none"
        raise SettingsError(f"--defs: name one of the knowledge bases of {folder}: {names}")
    return (found[wanted] if wanted else next(iter(found.values()))).chosen(folder)


def _components(folder: Path) -> list[dg.Component]:
    """Return the components of a folder, with its project importable, as `dg` has it."""
    config = discover_config_file(folder)
    if config is None:
        raise SettingsError(f"--defs: {folder} is in no project of `dg`; `uvx create-dagster project` makes one")
    sys.path[:0] = [str(config.parent / "src"), str(config.parent)]
    try:
        found = dg.ComponentTree.for_project(folder).load_structural_component_at_loc(folder)
    except SettingsError:
        raise
    except Exception as error:  # Dagster's own, those of templates, and those of the project's modules
        raise SettingsError(f"--defs: {folder} cannot be loaded: {one_line(error)}") from error
    return list(found.components) if isinstance(found, CompositeYamlComponent) else [found]
