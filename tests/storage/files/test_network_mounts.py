"""Homes with SQLite on network file systems, by tables of mounts as Linux shows them."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.files import network_mounts
from lightrag_dagster.storage.files.network_mounts import Mount, network_mount
from lightrag_dagster.storage.home import Home

TABLE = """\
overlay / overlay rw,relatime 0 0
proc /proc proc rw 0 0
/dev/sda1 /srv ext4 rw 0 0
systemd-1 /srv/team autofs rw,direct 0 0
files:/export /srv/team nfs4 rw,vers=4.2 0 0
/dev/sdb1 /srv/team/fast xfs rw 0 0
//nas/a\\040b /mnt/team\\040files cifs rw 0 0
drvfs /mnt/c 9p rw 0 0
someone@host:/ /home/someone/host fuse.sshfs rw 0 0
/dev/fuse /home/someone/pictures fuse.gvfsd-fuse rw 0 0
malformed
"""


@pytest.mark.parametrize(
    ("path", "mount"),
    [
        ("/srv/data", None),
        ("/srv/team", Mount(Path("/srv/team"), "nfs4")),
        ("/srv/team/data/home", Mount(Path("/srv/team"), "nfs4")),
        ("/srv/teams", None),
        ("/srv/team/fast/data", None),
        ("/mnt/team files/data", Mount(Path("/mnt/team files"), "cifs")),
        ("/mnt/c/data", Mount(Path("/mnt/c"), "9p")),
        ("/home/someone/host/data", Mount(Path("/home/someone/host"), "fuse.sshfs")),
        ("/home/someone/pictures", None),
        ("/nowhere", None),
    ],
)
def test_a_network_file_system_is_recognised(path: str, mount: Mount | None) -> None:
    assert network_mount(Path(path), TABLE) == mount


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "smb3", "ceph", "lustre", "fuse.ceph-fuse", "fuse.glusterfs", "fuse.s3fs"]
)
def test_a_machine_without_a_disk_is_seen(kind: str) -> None:
    assert network_mount(Path("/data"), f"server:/ / {kind} rw 0 0\n") == Mount(Path("/"), kind)


@pytest.mark.parametrize("table", ["", "none / 9p rw 0 0\n", "tmpfs / tmpfs rw 0 0\n"])
def test_sandboxes_and_other_systems_are_let_be(table: str) -> None:
    assert network_mount(Path("/data"), table) is None


def test_sqlite_on_one_is_refused_and_postgres_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_mounts, "_mounts", lambda: f"files:/export {tmp_path} nfs4 rw 0 0\n")
    settings = load_settings(home=tmp_path / "home")
    said = rf"{tmp_path}/home is on a network file system \(nfs4 at {tmp_path}\).*LIGHTRAG_DATABASE=postgresql://…"
    with pytest.raises(SettingsError, match=said):
        Home.of(settings)
    assert Home.of(settings.changed(database=SecretStr("postgresql://db/name"))).root == tmp_path / "home"
