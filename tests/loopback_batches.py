"""Files and batches of the OpenAI API, for the loopback server: answered by its `chat`, with faults by script.

A batch advances by one step with each poll: validating, then in progress `looks` times, then ended. `spoil` returns the
fate of a batch. Result files have their lines in random order, and some twice.
"""

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Answering = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass
class Fate:
    """How one batch ends.

    `status` is its last one, `answered` the share of its requests that are answered, `failed` the status and error code
    of those lines that go to the error file instead (by number), `refusal` the error code of a failed batch, `looks`
    the number of polls that find it in progress. `lost`: it is created, but the reply is an error. `garbage`: its
    output begins with unusable lines.
    """

    status: str = "completed"
    answered: float = 1.0
    failed: dict[int, tuple[int, str]] = field(default_factory=dict)
    refusal: str | None = None
    looks: int = 0
    lost: bool = False
    garbage: bool = False


@dataclass
class SubmittedBatch:
    """A batch as the server has it."""

    batch_id: str
    name: str
    file_id: str
    lines: list[dict[str, Any]]
    fate: Fate
    status: str = "validating"
    looks: int = 0
    finished: int = 0
    failed: int = 0
    output: str | None = None
    errors: str | None = None
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def ended(self) -> bool:
        return self.status not in ("validating", "in_progress", "cancelling")

    @property
    def keys(self) -> list[str]:
        return [line["custom_id"] for line in self.lines]


class BatchServer:
    """The files and batches of the server."""

    def __init__(self, answer: Answering) -> None:
        self._answer = answer
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, SubmittedBatch] = {}
        self.spoil: Callable[[SubmittedBatch], Fate] = lambda batch: Fate()

    def routes(self, served: Callable[[Callable[[Request, bytes], Response]], Any]) -> list[Route]:
        """Return the endpoints; `served` records requests and lets faults reply first."""
        return [
            Route("/v1/files", served(self._upload), methods=["POST"]),
            Route("/v1/files/{file}/content", served(self._content), methods=["GET"]),
            Route("/v1/batches", served(self._create), methods=["POST"]),
            Route("/v1/batches", served(self._list), methods=["GET"]),
            Route("/v1/batches/{batch}", served(self._retrieve), methods=["GET"]),
            Route("/v1/batches/{batch}/cancel", served(self._cancel), methods=["POST"]),
        ]

    def asked(self) -> list[str]:
        """Return the keys of all requests in all batches, as often as they were submitted."""
        return [key for batch in self.batches.values() for key in batch.keys]

    def _upload(self, request: Request, data: bytes) -> Response:
        boundary = request.headers["content-type"].partition("boundary=")[2].encode()
        parts = data.split(b"--" + boundary)
        (content,) = (part.partition(b"\r\n\r\n")[2] for part in parts if b'name="file"' in part)
        file_id = f"file-{len(self.files)}"
        self.files[file_id] = content.removesuffix(b"\r\n")
        return JSONResponse({"id": file_id, "object": "file", "purpose": "batch", "bytes": len(content)})

    def _content(self, request: Request, data: bytes) -> Response:
        content = self.files.get(request.path_params["file"])
        return Response(content) if content is not None else _unknown()

    def _create(self, request: Request, data: bytes) -> Response:
        body = json.loads(data)
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        batch = SubmittedBatch(
            f"batch_{len(self.batches)}", body["metadata"]["lightrag_batch"], body["input_file_id"], lines, Fate()
        )
        batch.fate = self.spoil(batch)
        self.batches[batch.batch_id] = batch
        if batch.fate.lost:
            return Response(b"<html>Bad gateway</html>", 502)
        return self._shown(batch)

    def _list(self, request: Request, data: bytes) -> Response:
        """Return a page, the newest first."""
        newest = list(self.batches.values())[::-1]
        after = request.query_params.get("after")
        start = next((index + 1 for index, batch in enumerate(newest) if batch.batch_id == after), 0)
        page = newest[start : start + 2]
        return JSONResponse(
            {
                "object": "list",
                "data": [self._body(batch) for batch in page],
                "last_id": page[-1].batch_id if page else None,
                "has_more": start + 2 < len(newest),
            }
        )

    def _retrieve(self, request: Request, data: bytes) -> Response:
        batch = self.batches.get(request.path_params["batch"])
        if batch is None:
            return _unknown()
        self.retrieved(batch)
        return self._shown(batch)

    def _cancel(self, request: Request, data: bytes) -> Response:
        batch = self.batches.get(request.path_params["batch"])
        if batch is None:
            return _unknown()
        if batch.ended:
            return JSONResponse({"error": {"message": "it has ended", "code": None, "type": None}}, 409)
        batch.status, batch.fate = "cancelling", Fate("cancelled", batch.fate.answered)
        return self._shown(batch)

    def retrieved(self, batch: SubmittedBatch) -> None:
        """Advance by one step."""
        if batch.status == "cancelling" or batch.looks >= batch.fate.looks:
            if not batch.ended:
                self._end(batch)
            return
        batch.looks += 1
        batch.status = "in_progress"
        batch.finished = len(batch.lines) * batch.looks // (batch.fate.looks + 1)

    def _end(self, batch: SubmittedBatch) -> None:
        """Write the result files: in random order, with some lines twice, and with some unusable ones."""
        fate, chance = batch.fate, random.Random(batch.batch_id)
        batch.status = fate.status
        if fate.status == "failed":
            return
        answered, failed = [], []
        count = round(fate.answered * len(batch.lines))
        for number, line in enumerate(batch.lines):
            head = {"id": f"batch_req_{number}", "custom_id": line["custom_id"]}
            if number in fate.failed:
                status, code = fate.failed[number]
                error = {"error": {"message": "no", "code": code, "type": code, "param": None}}
                failed.append(head | {"response": {"status_code": status, "body": error}, "error": None})
            elif number < count:
                reply = {"status_code": 200, "request_id": "req_1", "body": self._answer(line["body"])}
                answered.append(head | {"response": reply, "error": None})
            elif fate.status == "expired":
                failed.append(head | {"response": None, "error": {"code": "batch_expired", "message": "expired"}})
        batch.failed = len(batch.lines) - len(answered)
        answered += chance.sample(answered, len(answered) // 3)
        chance.shuffle(answered)
        batch.finished = len(batch.lines)
        batch.output = self._write(answered, b"garbage\n{}\n[1]\n" if fate.garbage else b"") if answered else None
        batch.errors = self._write(failed) if failed else None

    def _write(self, lines: list[dict[str, Any]], head: bytes = b"") -> str:
        file_id = f"file-{len(self.files)}"
        self.files[file_id] = head + b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        return file_id

    def _shown(self, batch: SubmittedBatch) -> Response:
        return JSONResponse(self._body(batch))

    def _body(self, batch: SubmittedBatch) -> dict[str, Any]:
        done = batch.finished - batch.failed
        refusal = batch.fate.refusal if batch.status == "failed" else None
        return {
            "id": batch.batch_id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "created_at": batch.created,
            "input_file_id": batch.file_id,
            "status": batch.status,
            "metadata": {"lightrag_batch": batch.name},
            "output_file_id": batch.output,
            "error_file_id": batch.errors,
            "errors": {"object": "list", "data": [{"code": refusal, "message": "no"}]} if refusal else None,
            "request_counts": {"total": len(batch.lines), "completed": done, "failed": batch.failed},
        }


def _unknown() -> Response:
    return JSONResponse({"error": {"message": "unknown", "code": None, "type": "invalid_request_error"}}, 404)
