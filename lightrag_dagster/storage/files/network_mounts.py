"""Network file systems, where neither SQLite nor the locks of files can be relied on; seen on Linux alone."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.errors import SettingsError

_TABLE = Path("/proc/mounts")

_NETWORK = re.compile(
    r"9p|afs|beegfs\w*|ceph|cifs|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs\d?|ocfs2|orangefs|smb\w*"
    r"|fuse\.(ceph(-fuse)?|curlftpfs|davfs\w*|gcsfuse|glusterfs|goofys|juicefs|mfs|mount-s3|rclone|s3fs|sshfs|blobfuse\w*)"
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """A mount: the folder, and the type of its file system."""

    folder: Path
    type: str


@cache
def require_local(home: Path) -> None:
    """Check that a home with SQLite is not on a network file system, where mounts are listed.

    Raises:
        SettingsError: it is on one.
    """
    if mount := network_mount(home.resolve(), _mounts()):
        raise SettingsError(
            f"setting home: {home} is on a network file system ({mount.type} at {mount.folder}), where SQLite and its "
            "locks cannot be relied on; set LIGHTRAG_DATABASE=postgresql://…, or choose a home on a local disk"
        )


def network_mount(path: Path, mounts: str) -> Mount | None:
    """Return the mount that holds a path, if that is of a network file system.

    Args:
        path: An absolute path without links; it need not exist.
        mounts: The table of mounts, as Linux shows it.
    """
    lines = [line.split() for line in mounts.splitlines()]
    found = [Mount(Path(_ESCAPED.sub(_character, fields[1])), fields[2]) for fields in lines if len(fields) > 2]
    holding = [mount for mount in found if path.is_relative_to(mount.folder)]
    if not holding:
        return None
    last = sorted(holding, key=lambda mount: len(mount.folder.parts))[-1]  # it hides others in its folder
    # A sandbox such as gVisor shows the disk of its host as 9p.
    on_network = _NETWORK.fullmatch(last.type) and (last.type, last.folder) != ("9p", Path("/"))
    return last if on_network else None


@cache
def _mounts() -> str:
    try:
        return _TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:  # another system, or one that hides it
        return ""


def _character(escaped: re.Match[str]) -> str:
    return chr(int(escaped[1], 8))
