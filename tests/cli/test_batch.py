"""Extraction by batch from the command line: submit, list, cancel, wait."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from lightrag_dagster.models.batch import waiting
from lightrag_dagster.models.openai_client import warn_of_estimate
from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import using_batches
from tests.cli.test_cli import command
from tests.loopback import Answer, Loopback, Reply
from tests.loopback_batches import Fate
from tests.models.models import offline_answer
from tests.support import FLOOD

SETTINGS: dict[str, dict[str, object]] = {
    "llm": {"provider": "openai", "model": "gpt-4o-mini", "mode": "batch"},
    "extraction": {"gleaning": 0},
}


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize("names", [("",), ("nosuch", "")])
def test_an_empty_name_as_of_an_unset_variable_cancels_no_batch(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    code, _, errors = command(capfd, monkeypatch, "batch", "cancel", *names)

    assert (code, "name the batches to cancel, or give --all" in errors) == (2, True)


@pytest.mark.long
@pytest.mark.usefixtures("notes")
def test_batches_from_the_command_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loopback: Loopback
) -> None:
    fates = [Fate(looks=1000, answered=0)]
    loopback.chat, loopback.batches.spoil = offline_answer, lambda batch: fates.pop(0) if fates else Fate(looks=2)
    monkeypatch.setattr(waiting, "FIRST_PAUSE", 0.01)
    (tmp_path / "lightrag.yaml").write_text(yaml.safe_dump(SETTINGS))

    code, output, errors = command(capfd, monkeypatch, "run")
    assert (code, errors) == (0, "")
    assert "Waiting for batches: notes." in output
    assert "Published" not in output

    assert "Batches: 1 open, 0 of 1 requests done" in command(capfd, monkeypatch, "status")[1]
    said = json.loads(command(capfd, monkeypatch, "status", "--json")[1])["batches"]
    assert said.startswith("1 open, 0 of 1 requests done")
    assert "in_progress" in command(capfd, monkeypatch, "batch")[1]

    code, _, errors = command(capfd, monkeypatch, "batch", "cancel", "nosuch")
    assert (code, "no open batch is named nosuch" in errors) == (2, True)
    code, _, errors = command(capfd, monkeypatch, "batch", "cancel")
    assert (code, "give --all" in errors) == (2, True)
    assert "is being cancelled" in command(capfd, monkeypatch, "batch", "cancel", "--all")[1]

    code, output, errors = command(capfd, monkeypatch, "run", "--wait")
    assert (code, errors) == (0, "")
    assert "Published" in output
    assert "It cost $0.0000." in output
    assert [batch.status for batch in loopback.batches.batches.values()] == ["cancelled", "completed"]
    assert command(capfd, monkeypatch, "batch")[1] == "No batches are open.\n"
    everything = command(capfd, monkeypatch, "batch", "--all")[1]
    assert "cancelled" in everything
    assert "completed" in everything


@pytest.mark.long
@pytest.mark.usefixtures("notes")
def test_a_batch_that_the_key_does_not_show_is_listed_and_given_up_by_the_name_in_the_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loopback: Loopback
) -> None:
    loopback.chat, loopback.batches.spoil = offline_answer, lambda batch: Fate(looks=1000)
    (tmp_path / "lightrag.yaml").write_text(yaml.safe_dump(SETTINGS))
    assert command(capfd, monkeypatch, "run")[0] == 0
    (name,) = (batch.name for batch in loopback.batches.batches.values())
    loopback.batches.reset()

    code, output, errors = command(capfd, monkeypatch, "batch")
    assert (code, name[:8] in output) == (2, True)
    assert f"or give it up with `lightrag-dagster batch cancel {name}`" in errors
    assert "counts with its worst cost" in command(capfd, monkeypatch, "batch", "cancel", name)[1]
    assert command(capfd, monkeypatch, "batch")[:2] == (0, "No batches are open.\n")


@pytest.mark.long
@pytest.mark.usefixtures("notes")
def test_waiting_for_one_source_does_not_hide_that_another_is_withheld(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loopback: Loopback
) -> None:
    scans = tmp_path / "sources" / "scans"
    scans.mkdir()
    (scans / "broken.txt").write_bytes(b"\xc3\x28")
    loopback.chat = offline_answer
    monkeypatch.setattr(waiting, "FIRST_PAUSE", 0.01)
    (tmp_path / "lightrag.yaml").write_text(yaml.safe_dump(SETTINGS))

    code, output, errors = command(capfd, monkeypatch, "run", "--wait")

    assert (code, errors) == (1, "")
    assert "scans is withheld" in output
    assert "Published" in output


@pytest.mark.long
@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize("patience", [3_600.0, 0.0])
def test_waiting_outlasts_a_provider_that_is_away(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    loopback: Loopback,
    patience: float,
) -> None:
    loopback.chat, loopback.batches.spoil = offline_answer, lambda batch: Fate(looks=4)
    monkeypatch.setattr(waiting, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(waiting, "LONGEST_SILENCE", patience)
    own = SETTINGS["llm"] | {"max_retries": 0}
    (tmp_path / "lightrag.yaml").write_text(yaml.safe_dump(SETTINGS | {"llm": own}))
    assert command(capfd, monkeypatch, "run")[0] == 0
    looks = iter([None, None, Reply.error(503), Reply.error(503)])  # the first of the run itself
    loopback.fault = lambda received: next(looks, None) if "batches" in received.path else None

    code, output, errors = command(capfd, monkeypatch, "run", "--wait")

    assert (code, "Published" in output) == ((0, True) if patience else (2, False)), errors


@pytest.mark.usefixtures("notes")
def test_answers_that_no_source_waits_for_are_stored_and_booked_by_the_list(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loopback: Loopback
) -> None:
    """Else no run would collect them while nothing is to be asked, and `purge` would be refused for ever."""
    loopback.chat, loopback.batches.spoil = offline_answer, lambda batch: Fate(looks=1000, answered=1)
    (tmp_path / "lightrag.yaml").write_text(yaml.safe_dump(SETTINGS))
    assert command(capfd, monkeypatch, "run")[0] == 0
    assert "is being cancelled" in command(capfd, monkeypatch, "batch", "cancel", "--all")[1]
    home = Home.of(load_settings())
    with ThreadPoolExecutor(1) as other, ExitStack() as held:
        other.submit(held.enter_context, using_batches(home)).result()
        shown = [command(capfd, monkeypatch, "batch")[1] for _ in range(2)]
        other.submit(held.close).result()
    assert all("cancel" in one for one in shown), "a run may work at them, and is not waited for"
    assert command(capfd, monkeypatch, "batch")[:2] == (0, "No batches are open.\n")
    assert Ledger(home.ledger).by_purpose()["extract"].calls == 1


@pytest.mark.long
@pytest.mark.usefixtures("notes")
def test_a_batch_that_is_gone_withholds_its_source_alone(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loopback: Loopback
) -> None:
    (tmp_path / "sources" / "wiki").mkdir()
    (tmp_path / "sources" / "wiki" / "flood.md").write_text(FLOOD)
    loopback.chat, loopback.batches.spoil = offline_answer, lambda batch: Fate(looks=6)
    monkeypatch.setattr(waiting, "FIRST_PAUSE", 0.01)
    (tmp_path / "lightrag.yaml").write_text(yaml.safe_dump(SETTINGS))
    assert command(capfd, monkeypatch, "run")[0] == 0
    del loopback.batches.batches["batch_0"]

    code, output, errors = command(capfd, monkeypatch, "run", "--wait")

    assert (code, errors) == (1, "")
    assert "notes is withheld: " in output
    assert re.search(r"waiting for batches: \S+ has no batch batch_0", output)
    assert "Published" in output


@pytest.mark.long
@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize("as_json", [False, True])
def test_warnings_about_money_are_among_the_last_lines_of_a_run(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    loopback: Loopback,
    as_json: bool,
) -> None:
    """Also of batches that are collected while the run waits for others."""
    loopback.chat = offline_answer
    monkeypatch.setattr(waiting, "FIRST_PAUSE", 0.01)
    (tmp_path / "lightrag.yaml").write_text(yaml.safe_dump(SETTINGS))
    assert command(capfd, monkeypatch, "run")[0] == 0
    (batch,) = loopback.batches.batches.values()
    loopback.batches.retrieved(batch)
    assert batch.output
    line = json.loads(loopback.batches.files[batch.output].splitlines()[0])
    loopback.batches.files[batch.output] += json.dumps(line | {"custom_id": "f" * 32}).encode()

    code, output, errors = command(capfd, monkeypatch, "run", "--wait", *(["--json"] if as_json else []))

    told = "batch batch_0 has 1 answers under ids of no request of it; they are neither stored nor booked"
    assert (code, errors) == (0, "")
    assert told in json.loads(output)["warnings"] if as_json else f"warning: {told}\n" in output


@pytest.mark.long
@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize("as_json", [False, True])
def test_warnings_of_a_run_that_an_error_ends_are_told(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    loopback: Loopback,
    as_json: bool,
) -> None:
    warn_of_estimate.cache_clear()
    loopback.chat = lambda body: Answer(offline_answer(body), usage={})
    loopback.fault = lambda received: Reply.error(401) if "input" in received.body else None
    llm = SETTINGS["llm"] | {"mode": "realtime"}
    embedding = {"provider": "openai", "dimensions": 8}
    (tmp_path / "lightrag.yaml").write_text(yaml.safe_dump(SETTINGS | {"llm": llm, "embedding": embedding}))

    code, output, errors = command(capfd, monkeypatch, "run", *(["--json"] if as_json else []))

    told = f"model gpt-4o-mini at {loopback.host} does not report the tokens of its answers; they are estimated"
    said = "\n".join(json.loads(output)["warnings"]) if as_json else errors
    assert (code, said.count(told)) == (2, 1)
    assert json.loads(output)["cost_usd"] > 0 if as_json else "It cost $0." in errors
