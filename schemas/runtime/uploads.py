"""Uploaded files of imports: `<data>/uploads/IMPORT_ID.TOKEN`, `.part` while they arrive."""

import secrets
import shutil
from pathlib import Path

from msgspec import Struct

from schemas.runtime.disk import MIB, default_floor
from schemas.runtime.settings import Settings

PART = ".part"


class UploadLimits(Struct, frozen=True):
    """Bounds of uploaded files."""

    max_bytes: int = 2048 * MIB
    floor_bytes: int = 0
    """Bytes to keep free on the disk; 0: a part of the disk."""

    @classmethod
    def of_settings(cls, settings: Settings) -> "UploadLimits":
        return cls(settings.upload_mb * MIB, settings.disk_floor_mb * MIB)

    def lacks_space(self, folder: Path, size: int) -> bool:
        """Whether so many further bytes would leave too little on the disk."""
        usage = shutil.disk_usage(folder)
        return usage.free - size < (self.floor_bytes or default_floor(usage.total))


def uploads_folder(data: Path) -> Path:
    """The folder; it exists where something imports its files."""
    return data / "uploads"


def new_upload_name(import_id: str) -> str:
    """The name of a file on the disk, another one for each upload."""
    return f"{import_id}.{secrets.token_hex(8)}"


def import_of_upload(name: str) -> str:
    """The id of the import that a file belongs to."""
    return name.partition(".")[0]
