"""The settings of a `defs.yaml`, read by Dagster's own loader of components, for the command line."""

import sys
from contextlib import suppress
from pathlib import Path

import dagster as dg
import yaml
from dagster.components.core.decl import build_filesystem_component_decl_from_context
from dagster.components.core.defs_module import ComponentPath, CompositeYamlComponent
from pydantic import ValidationError

from lightrag_dagster.errors import SettingsError, one_line, origins
from lightrag_dagster.orchestration.component import KnowledgeBaseComponent
from lightrag_dagster.settings import Chosen, yaml_mistake

_LONGEST = 300
"""Maximum length of a reason. Characters."""


def chosen_by(file: Path) -> Chosen:
    """Return the settings of the knowledge base in a `defs.yaml`; of several, `defs.yaml#NAMESPACE` names one.

    Raises:
        SettingsError: it is not there, is in no project of `dg`, cannot be loaded, or has no such knowledge base.
    """
    path, _, wanted = str(file).partition("#")
    named = Path(path).absolute()
    folder = named.parent if named.name == "defs.yaml" else named
    if not (folder / "defs.yaml").is_file():
        raise SettingsError(f"--defs: there is no {folder / 'defs.yaml'}; `dg scaffold defs` writes one")
    found = [one for one in _components(folder) if isinstance(one, KnowledgeBaseComponent)]
    chosen = [one for one in found if one.namespace == wanted] if "#" in str(file) else found
    if len(chosen) != 1:
        names = ", ".join(f"{folder / 'defs.yaml'}#{one.namespace}" for one in found) or "none"
        raise SettingsError(f"--defs: name one of the knowledge bases of {folder}, each with a namespace: {names}")
    return chosen[0].chosen(folder)


def _reason(error: BaseException) -> str:
    """Return the reason of an error in any file of the project, without the values in YAML, which may be secret."""
    error = origins(error)[-1]
    if isinstance(error, yaml.MarkedYAMLError):
        return yaml_mistake(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"{type(error).__name__}: {one_line(Exception(error))}"[:_LONGEST]


def _components(folder: Path) -> list[dg.Component]:
    """Return the components of a folder, with its project importable, as `dg` has it."""
    above = [
        one for one in (folder, *folder.parents) if (one / "dg.toml").exists() or (one / "pyproject.toml").exists()
    ]
    if not above:
        raise SettingsError(f"--defs: {folder} is in no project of `dg`; move it into one, or use --home and --sources")
    sys.path[:0] = [str(place) for one in above for place in (one / "src", one)]
    try:
        found = _load(folder)
    except SettingsError:
        raise
    except (Exception, SystemExit) as error:  # of Dagster, templates, and the project's modules
        raise SettingsError(f"--defs: {folder} cannot be loaded: {_reason(error)}") from None
    return list(found.components) if isinstance(found, CompositeYamlComponent) else [found]


def _load(folder: Path) -> dg.Component:
    """Load what a folder declares: alone, since others may be broken; then with the variables of those above it."""
    tree = dg.ComponentTree.for_project(folder)
    context = tree.decl_load_context.for_component_loc(ComponentPath.from_path(folder))
    try:
        declared = build_filesystem_component_decl_from_context(context)
        for place, one in declared.iterate_loc_component_decl_pairs() if declared else ():
            tree.state_tracker.set_cache_data(place, component_decl=one)
        return tree.load_structural_component_at_loc(folder)
    except Exception:
        with suppress(Exception):  # then the reason is that of the folder
            return dg.ComponentTree.for_project(folder).load_structural_component_at_loc(folder)
        raise
