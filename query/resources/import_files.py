"""Files of imports: a body of any size becomes a file, which the importer of the machine reads."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from msgspec import structs
from starlette.requests import Request

from query.resources.resource import Call
from schemas.errors import Conflict, Malformed, PayloadTooLarge, RequestTimeout, Unavailable
from schemas.http.asgi import ClientDisconnected
from schemas.registry import Import, ImportState
from schemas.runtime.disk import MIB
from schemas.runtime.files import fsync
from schemas.runtime.uploads import PART, UploadLimits, new_upload_name, uploads_folder

PAUSE_SECONDS = 30.0
CHUNK_BYTES = 2**20
MAX_WAITING = 10
"""Files of an organization that are not imported yet."""
WAITING = (ImportState.CHECKING, ImportState.CHECKED, ImportState.IMPORTING)
NO_IMPORTER = (
    "This service runs without `tidemark up`, so nothing would import the file; use `tidemark "
    "import FILE --website ID`, or run `python -m deploy.importer.uploads` beside it"
)
DISK_FULL = "The disk has too little free space for the file; nothing was stored. Retry later"


async def receive_file(call: Call, import_: Import) -> Import:
    """Store the body as the file of an import, which then is being checked."""
    folder, limits = uploads_folder(call.dependencies.data_folder), call.dependencies.upload_limits
    _require_open(import_)
    _require_room(call)
    if not await asyncio.to_thread(folder.is_dir):
        raise Conflict(NO_IMPORTER)
    path = folder / new_upload_name(import_.id)
    part = path.with_name(path.name + PART)
    try:
        await _store(call.request, part, limits)
        await asyncio.to_thread(_publish, part, path)

        def name_file(current: Import) -> Import:
            _require_open(current)
            upload = {"file": path.name}
            return structs.replace(current, state=ImportState.CHECKING, upload=upload)

        now = call.now_ms
        return await call.write(Import, lambda store: store.revise(import_, now, name_file))
    except BaseException:
        for left in (part, path):
            with suppress(OSError):
                left.unlink(missing_ok=True)
        raise


def require_checked(import_: Import) -> None:
    """Conflict unless the file waits for the order to import it."""
    if import_.state is not ImportState.CHECKED:
        raise Conflict(
            f"The import is {import_.state.value}; only one that is checked can be started. "
            "Upload its file first, with PUT /v1/imports/{id}/file"
        )


def _require_open(import_: Import) -> None:
    if import_.state is not ImportState.OPEN or import_.accepted or import_.lines:
        raise Conflict("The import has a file or events already; create another one for this file")


def _require_room(call: Call) -> None:
    imports = call.dependencies.registry.imports.values()
    waiting = [
        import_
        for import_ in imports
        if import_.organization_id == call.key.organization_id and import_.state in WAITING
    ]
    if len(waiting) >= MAX_WAITING:
        raise Conflict(
            f"The organization has {MAX_WAITING} files that are not imported yet, its maximum; "
            "start or undo one of these imports first"
        )


async def _store(request: Request, part: Path, limits: UploadLimits) -> None:
    """Write the body to the disk; PayloadTooLarge, RequestTimeout, Unavailable or Malformed."""
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Malformed("'Content-Encoding' is set; send the file as it is, compressed or not")
    declared = request.headers.get("content-length", "")
    size = int(declared) if declared.isdigit() else 0
    _check_size(size, limits)
    if await asyncio.to_thread(limits.lacks_space, part.parent, size):
        raise Unavailable(DISK_FULL)
    written = 0
    with await asyncio.to_thread(part.open, "wb") as file:
        async for chunk in _chunks(request):
            written += len(chunk)
            _check_size(written, limits)
            if await asyncio.to_thread(_write, file, chunk, limits, part.parent):
                raise Unavailable(DISK_FULL)
    if not written:
        raise Malformed("The body is empty; send the file as the body")


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    """The body in pieces of at least a megabyte."""
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        try:
            async with asyncio.timeout(PAUSE_SECONDS):
                message = await request.receive()
        except TimeoutError:
            raise RequestTimeout(
                f"Nothing of the file arrived for {PAUSE_SECONDS:g} seconds; send it again"
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        parts.append(message.get("body", b""))
        size, more = size + len(parts[-1]), message.get("more_body", False)
        if size >= CHUNK_BYTES or not more:
            yield b"".join(parts)
            parts, size = [], 0


def _write(file: IO[bytes], chunk: bytes, limits: UploadLimits, folder: Path) -> bool:
    """Whether the disk has too little space for it."""
    if limits.lacks_space(folder, len(chunk)):
        return True
    file.write(chunk)
    return False


def _publish(part: Path, path: Path) -> None:
    """The file under its name, on the disk also after a power cut."""
    fsync(part)
    part.rename(path)
    fsync(path.parent)


def _check_size(size: int, limits: UploadLimits) -> None:
    if size > limits.max_bytes:
        raise PayloadTooLarge(
            f"The file may have at most {limits.max_bytes // MIB:,} MB (TIDEMARK_UPLOAD_MB); "
            "import it with `tidemark import` on the machine that runs Tidemark"
        )
