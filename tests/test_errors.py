import pytest

from lightrag_dagster.errors import one_line

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
