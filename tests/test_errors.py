import pytest

from lightrag_dagster.errors import cause_of, for_people, lacks_files, one_line, origins

S3 = (
    "404 Not Found: "
    '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchBucket</Code><Message>No such bucket</Message>'
    "<BucketName>b</BucketName><RequestId>1</RequestId></Error>"
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("two\n  lines", "two lines"),
        (S3, "404 Not Found: NoSuchBucket: No such bucket"),
        (S3[: S3.index("</Message>")], "404 Not Found: NoSuchBucket: No such bucket"),
        ("LanceError(IO): <Error><Code>AccessDenied</Code></Error>, io.rs:1", "LanceError(IO): AccessDenied, io.rs:1"),
        ("502: <html><head><title>Bad Gateway</title></head><body><h1>nginx</h1></body></html>", "502: Bad Gateway"),
        ("502: <html><body><h1>nginx</h1></body></html>", "502: nginx"),
        ("expected <error> here, found text", "expected here, found text"),
        ("a < b and <name> is kept", "a < b and <name> is kept"),
    ],
)  # fmt: skip
def test_the_message_of_a_library_is_one_line(message: str, expected: str) -> None:
    assert one_line(Exception(message)) == expected


_DOWN = "llm.example:443 cannot be reached (model gpt-6-luna); check OPENAI_BASE_URL"


@pytest.mark.parametrize(
    ("recorded", "said", "cause"),
    [
        (_DOWN, _DOWN, "llm.example:443 cannot be reached"),
        (
            f"extractions: lightrag_dagster.errors.ProviderAccessError: {_DOWN}",
            _DOWN,
            "llm.example:443 cannot be reached",
        ),
        ("the budget of $5 a day is used up: $4 was spent", ..., "the budget of $5 a day is used up"),
        ("check accepted of a/mentions: 6 of 16 failed (37.5%)", ..., "6 of 16 failed"),
        ("KeyError: 'x'", "'x'", "'x'"),
        ("notes: no reason", ..., "notes"),
    ],
)
def test_an_error_is_told_without_its_class_and_grouped_by_its_cause(recorded: str, said: object, cause: str) -> None:
    assert for_people(recorded) == (recorded if said is ... else said)
    assert cause_of(for_people(recorded)) == cause


def test_an_error_that_is_raised_again_from_what_wraps_it_has_each_origin_once() -> None:
    first, wrapped = OSError(24, "Too many open files"), RuntimeError("step failed")
    wrapped.__cause__, first.__context__ = first, wrapped
    assert origins(first) == [first, wrapped]
    assert lacks_files(wrapped)
    first.errno, first.strerror = 2, "gone"
    assert not lacks_files(wrapped)
