"""A pytest plugin for trying mutants: it notes which lines each test executes, or runs chosen tests in their order.

Lines of a fixture that several tests share are noted as the fixture's, which only the first of them sets up.
"""

import faulthandler
import json
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import coverage
import pytest

LEAST_SECONDS, TIMES_AS_LONG = 30.0, 5.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of both."""
    parser.addoption("--measure", metavar="FILES", help="write FILES-….coverage and FILES-….json")
    parser.addoption("--chosen", metavar="FILE", help="a JSON file: seconds by node id, in the order to run them")
    parser.addoption("--running", metavar="FILE", help="where to write the node id of the test that runs")


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    if chosen := config.getoption("chosen"):
        config.pluginmanager.register(Chosen(json.loads(Path(chosen).read_bytes()), Path(config.getoption("running"))))
    elif (files := config.getoption("measure")) and (hasattr(config, "workerinput") or not config.option.numprocesses):
        worker = getattr(config, "workerinput", {"workerid": "gw"})["workerid"]
        config.pluginmanager.register(Measured(Path(f"{files}-{worker}"), config.rootpath))


class Measured:
    """What each test and each shared fixture executes, and its seconds."""

    def __init__(self, files: Path, root: Path) -> None:
        self._files = files
        self._coverage = coverage.Coverage(
            f"{files}.coverage", config_file=False, include=[f"{root}/lightrag_dagster/*"]
        )
        self._coverage.set_option("run:relative_files", True)
        self._coverage.set_option("run:core", "ctrace")  # others know no contexts
        self._coverage.start()
        self._now, self._since = "", time.perf_counter()
        self._seconds: dict[str, float] = defaultdict(float)
        self._used: dict[str, set[str]] = {}
        self._failed: set[str] = set()

    def _switch(self, context: str) -> str:
        before, now = self._now, time.perf_counter()
        self._seconds[before] += now - self._since
        self._coverage.switch_context(context)
        self._now, self._since = context, time.perf_counter()
        return before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Note what a test executes."""
        self._used[item.nodeid] = set(getattr(item, "fixturenames", ()))
        self._switch(item.nodeid)
        try:
            return (yield)
        finally:
            self._switch("")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """Note what a shared fixture executes."""
        if fixturedef.scope == "function":
            return (yield)
        if self._now in self._used:
            self._used[self._now].add(fixturedef.argname)
        before = self._switch(fixturedef.argname)
        try:
            return (yield)
        finally:
            self._switch(before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what fails."""
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write all."""
        self._coverage.stop()
        self._coverage.save()
        used = {test: sorted(names & self._seconds.keys()) for test, names in self._used.items()}
        found = {"seconds": self._seconds, "used": used, "failed": sorted(self._failed)}
        self._files.with_suffix(".json").write_text(json.dumps(found))


class Chosen:
    """The tests that are run; one that takes far longer than it did ends the process."""

    def __init__(self, seconds: dict[str, float], running: Path) -> None:
        self._seconds, self._running = seconds, running
        self._place = {test: place for place, test in enumerate(seconds)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what is chosen, in its order."""
        items[:] = sorted((one for one in items if one.nodeid in self._place), key=lambda one: self._place[one.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Say which test runs, and watch it."""
        self._running.write_text(item.nodeid)
        faulthandler.dump_traceback_later(LEAST_SECONDS + TIMES_AS_LONG * self._seconds[item.nodeid], exit=True)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()
