"""The home of a Postgres database: no other writes there, since its tables and locks do not name the home."""

from functools import cache

import sqlalchemy as sa
from pydantic import SecretStr

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.database.engine import Database

# `only` allows for a single row.
_COLUMNS = (sa.Column("only", sa.Integer, primary_key=True), sa.Column("id", sa.Text), sa.Column("place", sa.Text))
_OWNER = sa.Table("home_of_database", sa.MetaData(), *_COLUMNS)


@cache
def sign(address: SecretStr, home_id: str, place: str) -> None:
    """Sign a database with the id of a home and its place, of which one stays if it is moved or begun again.

    Raises:
        StoreError: another home has signed it, or the database refuses.
    """
    ours, database = {"id": home_id, "place": place}, Database(address, [_OWNER])
    with database.begin() as connection:
        connection.execute(database.insert(_OWNER).values(only=1, **ours).on_conflict_do_nothing())
        theirs = connection.execute(sa.select(_OWNER.c.id, _OWNER.c.place)).one()
        if theirs.id != home_id and theirs.place != place:
            raise StoreError(
                f"{database.name} is the database of the home {theirs.place}; give {place} a database, or a schema, of "
                f"its own, or, if that home is gone for good, run `DROP TABLE {_OWNER.name}` there"
            )
        connection.execute(sa.update(_OWNER).values(**ours))
