"""A small S3 server on loopback: objects in memory, lists, ranges, and one pair of credentials.

The server answers HEAD and GET as S3 does. It refuses requests with another access key, but does
not verify signatures.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

KEY_ID, SECRET = "AKIDTEST", "hunter2-the-secret"
MOST_KEYS = 1_000  # in a page of a list, as in S3


@dataclass
class Store:
    """The objects of each bucket by key, the address of the server, and the requests for objects.

    A request is kept as its method and key, such as `GET h/part-0.parquet`.
    """

    endpoint: str = ""
    buckets: dict[str, dict[str, bytes]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def put(self, bucket: str, key: str, source: Path) -> None:
        """Stores a file under the key, or each file of a folder under `key/`."""
        for file in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if file.is_file():
                name = f"{key}/{file.relative_to(source)}" if source.is_dir() else key
                self.buckets.setdefault(bucket, {})[name] = file.read_bytes()

    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "eu-test-1",
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: Store

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).strip("/").partition("/")
        self.store.requests.append(f"{self.command} {key}")
        query = {name: some[0] for name, some in parse_qs(parts.query).items()}
        if f"Credential={KEY_ID}/" not in self.headers.get("Authorization", ""):
            self.fail(403, "InvalidAccessKeyId")
        elif bucket not in self.store.buckets:
            self.fail(404, "NoSuchBucket")
        elif not key:
            self.answer(200, listed(self.store.buckets[bucket], query))
        elif key not in self.store.buckets[bucket]:
            self.fail(404, "NoSuchKey")
        else:
            self.send_object(self.store.buckets[bucket][key])

    def send_object(self, content: bytes) -> None:
        asked = self.headers.get("Range")
        if asked is None:
            self.answer(200, content, content=content)
            return
        first, last = asked.removeprefix("bytes=").split("-")
        some = content[int(first) : int(last) + 1 if last else None]
        end = int(first) + len(some) - 1
        self.answer(206, some, content=content, span=f"bytes {first}-{end}/{len(content)}")

    def fail(self, status: int, code: str) -> None:
        self.answer(status, f"<Error><Code>{code}</Code></Error>".encode())

    def answer(
        self, status: int, body: bytes, *, content: bytes = b"", span: str | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.md5(content).hexdigest()}"')
        self.send_header("Last-Modified", "Mon, 23 Nov 2026 20:00:00 GMT")
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def served() -> Generator[Store]:
    """Yields an empty store, served until the end of the `with` block."""
    store = Store()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"store": store}))
    store.endpoint = f"http://127.0.0.1:{server.server_port}"
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


def listed(objects: dict[str, bytes], query: dict[str, str]) -> bytes:
    """Returns a page of the answer to ListObjectsV2: at most `max-keys` objects and folders.

    A continuation token is the number of objects and folders in the pages before.
    """
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    entries: dict[str, str] = {}
    for key, content in sorted(objects.items()):
        if not key.startswith(prefix):
            continue
        inner, is_below, _ = key[len(prefix) :].partition(delimiter or "\0")
        if delimiter and is_below:
            folder = f"{prefix}{inner}{delimiter}"
            entries[folder] = f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
        else:
            entries[key] = (
                f"<Contents><Key>{escape(key)}</Key><Size>{len(content)}</Size>"
                "<LastModified>2026-11-23T20:00:00.000Z</LastModified></Contents>"
            )
    before = int(query.get("continuation-token", 0))
    end = before + int(query.get("max-keys", MOST_KEYS))
    page = [*entries.values()][before:end]
    more = f"<NextContinuationToken>{end}</NextContinuationToken>" if end < len(entries) else ""
    return (
        f"<ListBucketResult><IsTruncated>{'true' if more else 'false'}</IsTruncated>{more}"
        f"<KeyCount>{len(page)}</KeyCount>{''.join(page)}</ListBucketResult>"
    ).encode()
