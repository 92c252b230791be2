"""An SFTP server for tests, on loopback and in threads: one user, who may read a folder."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import paramiko
from paramiko.common import AUTH_FAILED, AUTH_SUCCESSFUL, OPEN_SUCCEEDED

USER, PASSWORD = "reader", "secret-word"


class _Login(paramiko.ServerInterface):
    def check_auth_password(self, username: str, password: str) -> int:
        return AUTH_SUCCESSFUL if (username, password) == (USER, PASSWORD) else AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return OPEN_SUCCEEDED


class _Opened(paramiko.SFTPHandle):
    def __init__(self, path: Path, flags: int) -> None:
        super().__init__(flags)
        self.readfile = path.open("rb")  # which the base class reads from, and closes


class _Files(paramiko.SFTPServerInterface):
    def __init__(self, server: paramiko.ServerInterface, root: Path) -> None:
        super().__init__(server)
        self._root = root

    def list_folder(self, path: str) -> list[paramiko.SFTPAttributes] | int:
        return [paramiko.SFTPAttributes.from_stat(one.lstat(), one.name) for one in sorted(self._local(path).iterdir())]

    def stat(self, path: str, *, follow: bool = True) -> paramiko.SFTPAttributes | int:
        try:
            return paramiko.SFTPAttributes.from_stat(self._local(path).stat(follow_symlinks=follow))
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)

    def lstat(self, path: str) -> paramiko.SFTPAttributes | int:
        return self.stat(path, follow=False)

    def open(self, path: str, flags: int, attr: paramiko.SFTPAttributes) -> paramiko.SFTPHandle:
        return _Opened(self._local(path), flags)

    def _local(self, path: str) -> Path:
        return self._root / self.canonicalize(path).lstrip("/")


@contextmanager
def serving_sftp(root: Path) -> Iterator[int]:
    """Serve a folder for the block; give the port."""
    key = paramiko.ECDSAKey.generate()
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

        def serve() -> None:
            with suppress(OSError):  # closed
                while True:
                    transport = paramiko.Transport(listener.accept()[0])
                    stack.callback(transport.close)
                    transport.add_server_key(key)
                    transport.set_subsystem_handler("sftp", paramiko.SFTPServer, _Files, root)
                    transport.start_server(server=_Login())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
