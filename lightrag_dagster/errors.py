"""Every error this package raises on purpose.

LightRAGError                    catch this one; the command line turns it into one line and exit code 2
├── SettingsError                a setting, `lightrag.yaml` or a question file that cannot be used
├── DecisionError                a decision of a person that cannot be read, or contradicts another
├── SourceError                  a source that is not configured, cannot be listed, or lost too much at once
├── TokenizerError               an encoding that cannot be loaded
├── ProviderError                the LLM or embedding endpoint
│   ├── TransientProviderError   may succeed when asked again (timeout, 429, 5xx, reset)
│   ├── PermanentProviderError   will fail again (content filter, context length, unusable answer)
│   │   └── OutputLimitError     the output tokens ran out before the answer began
│   └── ProviderAccessError      nothing will succeed until a person acts (key, quota, model name)
│       ├── ProviderAwayError    the endpoint cannot be reached now, or asks to wait for long
│       └── BudgetExceededError  the run may not spend more
├── EmbeddingError               vectors of the wrong number, size or value
├── StoreError                   a file or store in the home that is missing, locked or unreadable
│   └── BuilderLockedError       another process is building in this home
├── WorseRecipeError             a backfill whose recipe finds less in the gold passages
├── EngineError                  workers that were killed repeatedly
├── IntegrityError               a generation whose stores disagree, so that it must not be published
└── QueryError                   a question that cannot be asked
    ├── ClosedError              a knowledge base that is closed, or belongs to another process
    ├── QueryTimeoutError        a question that takes longer than its caller allows
    └── NoSnapshotError          nothing has been published in this home yet
"""

import errno
import os
import re

# The body of a server's answer: XML of S3 and Azure, or the page of a proxy.
_BODY = re.compile(r"<(\?xml|!doctype|error|html)\b.*?(</(error|html)>|\Z)", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"\A\[Errno -?\d+\] ")
_TAG = re.compile(r"<[^<>]*>")
_RAISED_IN = re.compile(r"\A(?:\w+: )?[\w.]+Error: ")
_CHECK = re.compile(r"\Acheck \w+ of [\w/]+: ")
_DETAILS = re.compile(r"; |: | \(")
_SAID = re.compile(r"<(?:code|message|title)>\s*([^<]+)", re.IGNORECASE)


def one_line(error: BaseException) -> str:
    """Return the message of a library's error, on one line and without the system's number, for use in one of ours.

    XML and HTML that a server sent are cut to their code, message and title, or else to their text.
    """
    return " ".join(_NUMBER.sub("", _BODY.sub(_said, str(error))).split())


def cause_of(text: str) -> str:
    """Return the part of an error's text that is the same for all that has the same cause: `HOST cannot be reached`.

    A check that failed may be in front.
    """
    return _DETAILS.split(_CHECK.sub("", text), maxsplit=1)[0]


def for_people(text: str) -> str:
    """Return an error's text without the step and the class that are in front of it in Dagster's records."""
    return _RAISED_IN.sub("", text)


def origins(error: BaseException) -> list[BaseException]:
    """Return an error, the one that it came from, and so on; each once, since it may come from one that it caused."""
    found = [error]
    while (cause := found[-1].__cause__ or found[-1].__context__) is not None and cause not in found:
        found.append(cause)
    return found


def lacks_files(error: BaseException) -> bool:
    """Say whether an error, or one that it came from, is that a process may open no more files at once."""
    codes, words = (errno.EMFILE, errno.ENFILE), "too many open files"
    return any(getattr(one, "errno", None) in codes or words in str(one).lower() for one in origins(error))


def may_pass(error: BaseException) -> bool:
    """Say whether what ended a run may pass without a person: of an error, or one that it came from."""
    passing = (TransientProviderError, ProviderAwayError, BuilderLockedError)
    return any(isinstance(one, passing) for one in origins(error))


def unread(path: object, error: Exception, mended_by: str) -> "StoreError":
    """Return the error of a file with what mends it if it is damaged; one that the system does not read may be whole.

    Errors of a library have no number of the system.
    """
    if isinstance(error, OSError) and error.errno:
        return StoreError(
            f"{path} cannot be read: {os.strerror(error.errno)}; let this user read it, or mend its disk, and run again"
        )
    return StoreError(f"{path} is damaged; {mended_by}")


def _said(body: re.Match[str]) -> str:
    return ": ".join(found.strip() for found in _SAID.findall(body[0])) or _TAG.sub(" ", body[0])


class LightRAGError(Exception):
    """Base class; the message names the object, the bound and the next step."""


class SettingsError(LightRAGError):
    """A setting, `lightrag.yaml` or a question file cannot be used."""


class DecisionError(LightRAGError):
    """A decision about names cannot be read, or cannot hold together with another."""


class SourceError(LightRAGError):
    """A source is not configured, cannot be listed, or lost too many documents at once."""


class TokenizerError(LightRAGError):
    """A token encoding cannot be loaded."""


class ProviderError(LightRAGError):
    """The LLM or embedding endpoint did not give a usable answer."""


class TransientProviderError(ProviderError):
    """The same request may succeed later: timeout, rate limit, server error, reset."""


class PermanentProviderError(ProviderError):
    """The same request will fail again: content filter, context length, unusable answer."""


class OutputLimitError(PermanentProviderError):
    """The output tokens ran out before the answer began; more of them may help."""


class ProviderAccessError(ProviderError):
    """No request will succeed until a person acts: key, quota, unknown model."""


class ProviderAwayError(ProviderAccessError):
    """The endpoint cannot be reached now, or asks to wait for long: a person should look, or it passes by itself."""


class BudgetExceededError(ProviderAccessError):
    """The budget of a `run`, a `day` or a `month` is used up; `of` says which."""

    of = "run"


class EmbeddingError(LightRAGError):
    """An embedder returned vectors of the wrong number, size or value."""


class StoreError(LightRAGError):
    """A file or store in the home is missing, unreadable or not what its manifest says."""


class BuilderLockedError(StoreError):
    """Another process is building in this home."""


class WorseRecipeError(LightRAGError):
    """A recipe that finds less in the gold passages than the stored rows have, so that no backfill is started."""


class EngineError(LightRAGError):
    """The workers of an engine were killed repeatedly."""


class IntegrityError(LightRAGError):
    """The tables, vectors and graph of a generation disagree, so that it must not be published."""


class QueryError(LightRAGError):
    """A question cannot be asked as given."""


class ClosedError(QueryError):
    """A knowledge base is closed, or belongs to the process that this one was forked from."""


class QueryTimeoutError(QueryError):
    """A question takes longer than its caller allows."""


class NoSnapshotError(QueryError):
    """The home has no published snapshot yet."""
