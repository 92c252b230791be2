"""`notify`: a message to the webhook, to see that it arrives."""

from rich.console import Console

from lightrag_dagster.assets.alerts import WEBHOOK_VARIABLE, Subject, post
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home


def send(console: Console, what: str) -> None:
    """Send a message; raises SettingsError when it cannot be delivered."""
    settings = load_settings()
    problem = post([Subject(settings.namespace or Home.of(settings).name, what, None)], None, "message, nothing failed")
    if problem:
        raise SettingsError(f"the message was not delivered: {problem}; correct {WEBHOOK_VARIABLE} and try again")
    console.print("The message was delivered.")
