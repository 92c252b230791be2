"""The set of partitions that a knowledge base has in a Dagster instance, signed with the id of its home.

Another home with the same namespace in the same instance would remove the partitions of the first in the middle of a
run. So the set has a signature beside it, in a set of its own: the id of the home and the place where it is.
"""

from pathlib import Path

import dagster as dg

from lightrag_dagster.assets import alerts
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.errors import BuilderLockedError, StoreError
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import home_id
from lightrag_dagster.storage.locking import building


def sign(instance: dg.DagsterInstance, namespace: Namespace, home: Home) -> None:
    """Sign the partitions of a namespace, unless another home has signed them.

    Unsigned ones are adopted, and so are those of a home that is gone from its folder, or was moved from there, and all
    in the home's own instance, which a copy of the home takes along. A home that someone builds in for the first time
    signs when that is done.

    Raises:
        StoreError: another home has signed them.
    """
    home.files.refresh([home.format])
    ours = home_id(home) or _begun(home)
    if ours is None:
        return
    signatures, signature = namespace.named("home"), f"{ours} {home.name}"
    for signed in instance.get_dynamic_partitions(signatures):
        if place := _place_of_another(instance, signed, home):
            raise StoreError(
                f"the home {place} has the partitions {namespace.partitions!r} of this Dagster instance, which "
                f"{home.name} cannot have as well; give it another namespace, or another DAGSTER_HOME"
            )
        if signed != signature:
            instance.delete_dynamic_partition(signatures, signed)
    instance.add_dynamic_partitions(signatures, [signature])
    instance.add_dynamic_partitions(f"namespaces of {ours}", [namespace.prefix])


def namespaces_of(instance: dg.DagsterInstance, home: Home) -> list[Namespace]:
    """Return the namespaces that a home has signed in an instance, except those that other homes have by now."""
    had = sorted(instance.get_dynamic_partitions(f"namespaces of {home_id(home)}"))
    signed = {one: instance.get_dynamic_partitions(Namespace(one).named("home")) for one in had}
    return [Namespace(one) for one in had if not any(_place_of_another(instance, by, home) for by in signed[one])]


def keep_in_step(instance: dg.DagsterInstance, situation: Situation) -> None:
    """Make Dagster's partitions the sources; of those that were removed, nothing fails any more."""
    name = Namespace(situation.settings.namespace).partitions
    sources = {*situation.sources, *situation.absent}
    known = set(instance.get_dynamic_partitions(name))
    for gone in known - sources:
        instance.delete_dynamic_partition(name, gone)
    alerts.removed(instance, alerts.place_of(LightRAG(situation.settings)), known - sources)
    instance.add_dynamic_partitions(name, sorted(sources - known))


def is_own(instance: dg.DagsterInstance, home: Home) -> bool:
    """Say whether an instance is in the folder `dagster` of a home, and not elsewhere, as in a `$DAGSTER_HOME`."""
    own = home.own_dagster
    return own.exists() and Path(instance.root_directory).resolve() == own.resolve()


def _place_of_another(instance: dg.DagsterInstance, signed: str, home: Home) -> str | None:
    """Return the place in a signature if it is of another home, which is there."""
    theirs, place = signed.split(" ", 1)
    return place if place != home.name and not is_own(instance, home) and _is_there(place, theirs, home) else None


def _is_there(place: str, theirs: str, home: Home) -> bool:
    """Say whether the home with an id is still at a place, and is another than this one, or its original.

    A bucket is not looked into: a home there is taken for one that was moved if the id is the same.
    """
    if "://" in place or home.bucket:
        return theirs != home_id(home)
    if Path(place).resolve() == home.root.resolve() or not Path(place).exists():
        return False
    try:
        return home_id(Home(Path(place))) == theirs
    except StoreError:  # it is damaged, or of a newer version
        return True


def _begun(home: Home) -> str | None:
    """Give a home an id, unless someone builds in it now, and return it."""
    try:
        with building(home, 0):
            return home_id(home)
    except BuilderLockedError:
        return None
