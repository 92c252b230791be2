"""The image of deploy/Dockerfile, built on a bare Debian without Docker, and processes in it as in a container."""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.files import DEPLOY, ROOT

NEEDED = ("buildah", "mmdebstrap", "unshare")
"""Commands, of the Debian packages of the same names and util-linux; each needs root here."""

SUITE = "trixie"
"""The Debian of the base; that before it has a Python that is too old for some packages."""

USER = 10001
PATH = "/opt/lightrag/bin:/usr/local/bin:/usr/bin:/bin"

_ENTER = f"""
set -e
root=$1 folder=$2
shift 2
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mkdir -p "$root$folder"
mount --bind "$folder" "$root$folder"
mount -o remount,ro,bind "$root"
exec chroot --userspec={USER}:{USER} "$root" env HOME=/home/lightrag PATH={PATH} "$@"
"""


def can_build() -> bool:
    """Say whether this machine can build and start the image."""
    return os.geteuid() == 0 and all(map(shutil.which, NEEDED))


@dataclass(frozen=True)
class Image:
    """An image whose files are in a folder."""

    root: Path

    def inside(self, folder: Path, command: Sequence[str]) -> list[str]:
        """Return what runs a command as the image's user; its root is read-only, except /tmp and the folder.

        The folder is seen at its own path, and is the user's.
        """
        enter = ("unshare", "--mount", "--propagation", "private", "sh", "-c", _ENTER, "sh")
        return [*enter, str(self.root), str(folder), *command]


@contextmanager
def built_image() -> Iterator[Image]:
    """Build the image for the block; packages come from where apt and pip of this machine take them."""
    with tempfile.TemporaryDirectory(prefix="lightrag-image-", dir="/var/tmp", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        base = folder / "base.tar"
        packages = "python3,python3-venv,ca-certificates"
        _run("mmdebstrap", "--mode=root", "--variant=minbase", f"--include={packages}", "--quiet", SUITE, str(base))
        (folder / "Base").write_text(f"FROM scratch\nADD {base.name} /\n")
        buildah = ("buildah", "--root", f"{made}/store", "--runroot", f"{made}/run")
        build = (*buildah, "build", "--isolation", "chroot", "--quiet")
        _run(*build, "--tag", "localhost/base", "--file", f"{made}/Base", made)
        base.unlink()
        dockerfile = ("--file", str(DEPLOY / "Dockerfile"), "--ignorefile", str(DEPLOY / "Dockerfile.dockerignore"))
        arguments = ("--build-arg", "BASE=localhost/base", *_as_pip_here(folder), *dockerfile)
        _run(*build, *arguments, "--tag", "localhost/lightrag", str(ROOT))
        container = _run(*buildah, "from", "localhost/lightrag")
        try:
            yield Image(Path(_run(*buildah, "mount", container)))
        finally:
            _run(*buildah, "rm", container)
            _run(*buildah, "rmi", "--all", "--force")


def _as_pip_here(folder: Path) -> list[str]:
    """Return options of a build by which its pip asks where the one of this machine does."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    lines = _run(*pip, "config", "list").splitlines()
    settings = {
        key.rpartition(".")[2]: ast.literal_eval(value) for key, _, value in (one.partition("=") for one in lines)
    }
    file = folder / "pip.conf"
    file.write_text("[global]\n" + "".join(f"{key} = {value}\n" for key, value in settings.items()))
    words = [word.removeprefix("file://") for value in settings.values() for word in value.split()]
    named = {path for word in words if (path := Path(word)).is_absolute() and path.exists()}
    # An index in a folder named `simple` names files beside it.
    paths = {path.parent if path.name == "simple" else path for path in named}
    mounts = [f"{path}:{path}:ro" for path in sorted(paths)]
    return [word for mount in (f"{file}:/etc/pip.conf:ro", *mounts) for word in ("--volume", mount)]


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout.strip()
