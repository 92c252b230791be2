"""SQL that lies in files beside the code that runs it."""

from functools import cache
from importlib.resources import files


@cache
def read_sql(package: str, name: str) -> str:
    """Return the text of a file of SQL, named without its suffix, in the folder of a package or below it."""
    return files(package).joinpath(f"{name}.sql").read_text(encoding="utf-8")
