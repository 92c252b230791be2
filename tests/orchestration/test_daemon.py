"""Whether the daemon lives, by the ticks in an instance."""

import pytest

from lightrag_dagster.orchestration.daemon import silent_daemon
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from tests.assets.runs import tick

NOW = 1_800_000_000.0


def test_no_daemon_is_expected_where_none_has_been(settings: Settings) -> None:
    assert silent_daemon(settings, None, NOW) is None


def test_where_another_instance_had_the_daemon_the_home_tells(settings: Settings) -> None:
    with open_instance(Home(settings.home)) as instance:  # of a command, while $DAGSTER_HOME is the daemon's alone
        tick(instance, "theirs", NOW - 60)
    assert silent_daemon(settings, NOW - 899, NOW) is None
    assert "for 24 hours" in (silent_daemon(settings, NOW - 86_400, NOW) or "")


@pytest.mark.parametrize(("seconds", "said"), [(899, False), (900, True)])
def test_where_the_instance_is_elsewhere_the_home_tells(settings: Settings, seconds: float, said: bool) -> None:
    assert bool(silent_daemon(settings, NOW - seconds, NOW)) is said
    assert not Home(settings.home).dagster.exists()


@pytest.mark.parametrize(("seconds", "said"), [(60, None), (899, None), (900, "for 15 minutes"), (3e5, "for 3 days")])
def test_a_daemon_that_has_fallen_silent_is_told(settings: Settings, seconds: float, said: str | None) -> None:
    settings = settings.changed(namespace="contracts")
    with open_instance(Home(settings.home)) as instance:
        tick(instance, "contracts_publish_accepted", NOW - seconds)
        tick(instance, "contracts_batches", NOW - seconds - 240)
        tick(instance, "publish_accepted", NOW)  # of another knowledge base
    found = silent_daemon(settings, NOW - 86_400, NOW)
    assert (found is not None and said in found) if said else found is None


def test_a_sensor_that_was_stopped_is_not_expected_to_be_asked(settings: Settings) -> None:
    with open_instance(Home(settings.home)) as instance:
        tick(instance, "publish_accepted", NOW - 86_400)
        (state,) = instance.all_instigator_state()
        instance.update_instigator_state(state.with_status(type(state.status)["STOPPED"]))
    assert silent_daemon(settings, NOW - 86_400, NOW) is None


def test_ticks_that_fail_are_no_life(settings: Settings) -> None:
    """As of a code location that Dagster cannot load any more."""
    with open_instance(Home(settings.home)) as instance:
        tick(instance, "publish_accepted", NOW - 7200)
        for minute in range(60):
            tick(instance, "publish_accepted", NOW - 60 * minute, failed=True)
        assert "for 2 hours" in (silent_daemon(settings, NOW - 7200, NOW) or "")
        tick(instance, "source_partitions", NOW - 60)
        assert silent_daemon(settings, NOW - 7200, NOW) is None
