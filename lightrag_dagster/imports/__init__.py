"""Room with a door: what another system has stored becomes a plain source. Others use the names here alone."""

from lightrag_dagster.imports.graphrag import read_graphrag
from lightrag_dagster.imports.importing import Imported, import_base, require_importable
from lightrag_dagster.imports.lightrag import read_lightrag
from lightrag_dagster.imports.stored import StoredBase
from lightrag_dagster.imports.table import new_decisions, read_table, take_new
