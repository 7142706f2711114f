"""The location of a history: a local path, or an address in an object store or HDFS.

The first line shows local paths, and the second line shows addresses, which become a `Remote`:

    runs/a/history, file:///data/h.parquet    a pathlib.Path
    s3://bucket/h (also s3a://), gs://…, abfss://container@account.dfs.core.windows.net/…, hdfs://…

Every process, including a Spark worker, opens a `Remote` by its address with pyarrow.fs. The
store's client library finds the credentials in the usual places: the environment, a profile, or the
machine's role. An address must not contain credentials, because addresses are printed, and stored
in run folders.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from model.faults import InputFault, nearest

# scheme, as typed -> the scheme of pyarrow.fs
SCHEMES: Final = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "abfs": "abfs",
    "abfss": "abfss",
    "hdfs": "hdfs",
    "file": "file",
}
# query parameters that an address may have; others could be secrets
PARAMETERS: Final = {"s3": ("region", "endpoint_override", "scheme")}
CREDENTIALS: Final = {
    "s3": "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a role",
    "gs": "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "run `az login`, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
    "hdfs": "run `kinit`, or set HADOOP_USER_NAME",
}
ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
MAGIC: Final = re.compile(r"[*?\[]")
TIMEOUT_S: Final = 20  # of a request; each is tried three times
_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_DENIED: Final = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|credential|HTTP status 40[13]|permission"
    r"|expired.?token|authenticat",
    re.IGNORECASE,
)
_NO_BUCKET: Final = re.compile(
    r"NO_SUCH_BUCKET|NoSuchBucket|bucket does not exist|ContainerNotFound", re.IGNORECASE
)
_UNREACHABLE: Final = re.compile(r"NETWORK_CONNECTION|curlCode|timed? ?out|connect", re.IGNORECASE)


class UnreadableLocation(InputFault):
    """Raised for a location that cannot be read. The message has the path or the address, and
    the next step for the user.
    """


@dataclass(frozen=True, slots=True)
class Version:
    """The size and the modification time of a file. A difference between two versions reveals
    that the file changed during a read.
    """

    size: int
    changed_ns: int


@dataclass(frozen=True, slots=True, order=True)
class Remote:
    """An object or a folder in a store, with the methods of `pathlib.Path` that the readers
    call.
    """

    scheme: str
    authority: str
    path: str  # without a leading or trailing slash
    query: str = ""

    def __str__(self) -> str:
        query = f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{self.authority}/{self.path}{query}"

    def __truediv__(self, name: str) -> Remote:
        return replace(self, path=f"{self.path}/{name}".strip("/"))

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    @property
    def stem(self) -> str:
        return PurePosixPath(self.path).stem

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.path).suffix

    def absolute(self) -> Remote:
        return self

    def exists(self) -> bool:
        return bool(self._info().type != pafs.FileType.NotFound)

    def is_dir(self) -> bool:
        return bool(self._info().type == pafs.FileType.Directory)

    def is_file(self) -> bool:
        return bool(self._info().type == pafs.FileType.File)

    def is_fifo(self) -> bool:
        return False

    def glob(self, pattern: str) -> Iterator[Remote]:
        """Yields the entries of this folder whose names match the pattern. If this folder does
        not exist, it yields nothing.
        """
        for entry, _ in self.entries():
            if fnmatchcase(entry.name, pattern):
                yield entry

    def entries(self, *, deep: bool = False) -> list[tuple[Remote, bool]]:
        """Returns the entries of this folder in order. Each entry is paired with True if the entry
        is itself a folder.

        With `deep`, the result includes the entries of nested folders. The result is empty if this
        folder does not exist.
        """
        with _explained(self):
            selector = pafs.FileSelector(self._inside(), recursive=deep, allow_not_found=True)
            infos = self._filesystem().get_file_info(selector)
        start = len(self._inside().rstrip("/")) + 1
        found = [(self / info.path[start:], info.type == pafs.FileType.Directory) for info in infos]
        return sorted(found)

    def open(self, mode: str = "r", encoding: str | None = None) -> IO[Any]:
        """Opens the object for reading. Only the byte ranges that the caller reads are
        transferred.
        """
        binary: Any = io.BufferedReader(self.native())
        return binary if "b" in mode else io.TextIOWrapper(binary, encoding)

    def native(self) -> pa.NativeFile:
        with _explained(self):
            return self._filesystem().open_input_file(self._inside())

    def read_bytes(self) -> bytes:
        with self.open("rb") as file:
            return bytes(file.read())

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def version(self) -> Version | None:
        info = self._info()
        if info.type != pafs.FileType.File:
            return None
        return Version(int(info.size), int(info.mtime_ns or 0))

    def _info(self) -> pafs.FileInfo:
        with _explained(self):
            return self._filesystem().get_file_info(self._inside())

    def _inside(self) -> str:
        if self.scheme == "hdfs":
            return f"/{self.path}"
        root = (
            self.authority.partition("@")[0] if self.scheme.startswith("abfs") else self.authority
        )
        return f"{root}/{self.path}".rstrip("/")

    def _filesystem(self) -> pafs.FileSystem:
        return _filesystem(self.scheme, self.authority, self.query)


@dataclass(frozen=True, slots=True)
class FileSet:
    """Several files that together are one history. `name` is the text for messages, such as the
    glob that matches the files.

    `reader` is the function that reads each file. If `reader` is None, the function is chosen by
    the format of the files.
    """

    name: str
    files: tuple[Path | Remote, ...] = field(repr=False)
    reader: Callable[[Path | Remote], Iterator[pa.Table]] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.name


Place = Path | Remote  # a file or a folder
Location = Path | Remote | FileSet


# ---------------------------------------------------------------- from a text


def location(text: str) -> Location:
    """Returns the location that the text names: a path, an address, or the files that match a glob.

    Raises UnreadableLocation for an invalid address, and for a glob that matches no file.
    """
    return expanded(file_or_folder(text))


def expanded(place: Place) -> Location:
    """Returns the files that match a glob, as one history. If only one file matches, returns the
    location of this file.

    A location that is not a glob is returned unchanged. A local path that exists is not a glob,
    even if its name contains characters such as `*`. Raises UnreadableLocation if no file matches
    the glob.
    """
    text = place.path if isinstance(place, Remote) else str(place)
    if not MAGIC.search(text) or (isinstance(place, Path) and place.exists()):
        return place
    found = tuple(sorted(_matches(place), key=str))
    if not found:
        raise UnreadableLocation(f"{place}: no file or folder matches; check the pattern")
    return found[0] if len(found) == 1 else FileSet(str(place), found)


def file_or_folder(text: str) -> Place:
    """Returns the path or the address that the text names. The function does not expand globs, and
    reads no file.

    Raises UnreadableLocation for an unknown scheme, and for an address that is malformed or
    contains credentials.
    """
    address = _ADDRESS.match(text)
    if not address:
        return Path(text)
    typed = address[1].lower()
    if typed not in SCHEMES:
        raise UnreadableLocation(
            f"{_without_user(text)}: unknown scheme {typed}://; the nearest: "
            f"{nearest(typed, SCHEMES)}; an address begins with s3://, gs://, abfss://, hdfs:// or "
            "file://"
        )
    rest = text[address.end() :]
    scheme = SCHEMES[typed]
    if scheme == "file":
        return Path("/" + unquote(rest).partition("/")[2])
    at, _, query = rest.partition("?") if scheme in PARAMETERS and "=" in rest else (rest, "", "")
    authority, _, path = at.partition("/")
    user, is_user, _ = authority.rpartition("@")
    if is_user and (not scheme.startswith("abfs") or ":" in user):
        raise UnreadableLocation(
            f"{_without_user(text)}: credentials must not be part of an address, which is printed "
            f"and kept; {CREDENTIALS[scheme[:4]]}"
        )
    if odd := [name for name, _ in parse_qsl(query) if name not in PARAMETERS[scheme]]:
        raise UnreadableLocation(
            f"{typed}://{authority}/{path}: the address has a parameter {odd[0]}; allowed are "
            f"{', '.join(PARAMETERS[scheme])}"
        )
    if not authority and scheme != "hdfs":
        raise UnreadableLocation(f"{text}: the address has no bucket; write {typed}://BUCKET/PATH")
    return Remote(scheme, authority, path.strip("/"), query)


def _without_user(text: str) -> str:
    return re.sub(r"://[^/]*@", "://…@", text.partition("?")[0])


def _matches(pattern: Place) -> Iterator[Place]:
    if isinstance(pattern, Path):
        parts = pattern.parts
        first = next(n for n, part in enumerate(parts) if MAGIC.search(part))
        yield from Path(*parts[:first]).glob("/".join(parts[first:]))
        return
    segments = pattern.path.split("/")
    first = next(n for n, segment in enumerate(segments) if MAGIC.search(segment))
    yield from _below(replace(pattern, path="/".join(segments[:first])), segments[first:])


def _below(folder: Remote, segments: list[str]) -> Iterator[Remote]:
    segment, *rest = segments
    if segment == "**":
        if rest:
            yield from _below(folder, rest)
        for entry, is_folder in folder.entries():
            if is_folder:
                yield from _below(entry, segments)
            elif not rest:
                yield entry
        return
    for entry, is_folder in folder.entries():
        if fnmatchcase(entry.name, segment):
            if not rest:
                yield entry
            elif is_folder:
                yield from _below(entry, rest)


# ---------------------------------------------------------------- files


def file_in_history(history: Location, name: str) -> Place | None:
    """Returns the path of the file `name` in the history's folder, or None if the file does not
    exist.

    If the history is not a folder, the result is None.
    """
    if isinstance(history, FileSet) or not history.is_dir():
        return None
    place = history / name
    return place if place.exists() else None


def version(place: Place) -> Version | None:
    """Returns the size and the modification time of a file, or None if the file does not exist."""
    if isinstance(place, Remote):
        return place.version()
    try:
        stat = place.stat()
    except FileNotFoundError:
        return None
    return Version(stat.st_size, stat.st_mtime_ns)


def refuse_changed(place: Place, before: Version | None) -> None:
    """Raises UnreadableLocation if the file no longer has the size and the modification time in
    `before`.
    """
    if version(place) != before:
        raise UnreadableLocation(
            f"{place}: the file changed while it was read; "
            "wait until its writer has finished, or read a copy"
        )


@contextmanager
def _explained(place: Remote) -> Generator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise refused(place, error) from error


def refused(place: Remote, error: Exception) -> UnreadableLocation:
    """Returns the exception for an error of an object store.

    Its message is one line: the address, the next step for the user, and the error of the store.
    """
    text = " ".join(str(error).split())
    key = place.scheme[:4]
    if _NO_BUCKET.search(text):
        move = "there is no such bucket: check its name"
    elif _DENIED.search(text):
        move = f"the store refuses these credentials, or has none: {CREDENTIALS[key]}"
    elif isinstance(error, FileNotFoundError) or "HTTP status 404" in text:
        move = "no such object or folder: check the address"
    elif place.scheme == "hdfs" and ("libhdfs" in text or "libjvm" in text):
        move = "hdfs:// needs Hadoop's native client: set JAVA_HOME, HADOOP_HOME and CLASSPATH"
    elif _UNREACHABLE.search(text):
        move = "the store does not answer: check endpoint, region and network"
    else:
        move = "check the address, or copy the history to a local folder"
    return UnreadableLocation(f"{place}: {move} ({text[:300]})")


@cache
def _filesystem(scheme: str, authority: str, query: str) -> pafs.FileSystem:
    if scheme == "s3":
        return _s3(authority, dict(parse_qsl(query)))
    if scheme == "gs":
        return pafs.GcsFileSystem(retry_time_limit=timedelta(seconds=TIMEOUT_S))
    filesystem, _ = pafs.FileSystem.from_uri(f"{scheme}://{authority}/")
    return filesystem


def _s3(bucket: str, options: dict[str, str]) -> pafs.FileSystem:
    endpoint = options.get("endpoint_override") or _environment(*ENDPOINTS)
    region = options.get("region") or _environment(*REGIONS)
    if region is None and endpoint is None:
        region = pafs.resolve_s3_region(bucket)
    return pafs.S3FileSystem(
        region=region,
        endpoint_override=endpoint,
        scheme=options.get("scheme") or urlsplit(endpoint or "").scheme or None,
        connect_timeout=TIMEOUT_S,
        request_timeout=TIMEOUT_S,
        retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=3),
    )


def _environment(*names: str) -> str | None:
    return next(filter(None, map(os.environ.get, names)), None)
