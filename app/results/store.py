"""Traces on disk: compressed JSON by key, bounded in bytes, the longest unused forgotten first.

One table behind SQLAlchemy, SQLite unless told otherwise. What is read is input like any other: bytes
that are not a trace are forgotten, never believed. No pickle. A store that fails (a full disk, a file
that another program broke) is a store that remembers nothing; it never costs a reader an answer.
"""

import time
import zlib
from pathlib import Path

import structlog
from sqlalchemy import (
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    create_engine,
    delete,
    event,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from ..errors import ReplyInvalid
from ..schema import Trace
from ..schema.slices import json_of, record_of

log = structlog.get_logger()

_LEVEL = 3
_BUSY_MS = 2_000

_tables = MetaData()
_results = Table(
    "results",
    _tables,
    Column("key", String(64), primary_key=True),
    Column("trace", LargeBinary, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("used", Float, nullable=False, index=True),
)


class Store:
    """Traces by key. Its methods block: call them from a thread."""

    def __init__(self, url: str, *, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._engine = create_engine(url)
        if self._engine.dialect.name == "sqlite":
            event.listen(self._engine, "connect", _wait_and_share)
        _tables.create_all(self._engine)

    @classmethod
    def open(cls, folder: Path, *, most_bytes: int) -> "Store | None":
        """Open the store of a folder, which is made if need be.

        Returns:
            None, and a line in the log, where nothing can be written there.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return cls(f"sqlite:///{folder / 'results.sqlite'}", most_bytes=most_bytes)
        except (OSError, SQLAlchemyError) as e:
            log.warning("results are not kept on disk", folder=str(folder), fault=type(e).__name__)
            return None

    def read(self, key: str) -> Trace | None:
        """The trace of this key, or None."""
        try:
            with self._engine.begin() as connection:
                packed = connection.execute(
                    select(_results.c.trace).where(_results.c.key == key)
                ).scalar_one_or_none()
                if packed is None:
                    return None
                connection.execute(update(_results).where(_results.c.key == key).values(used=time.time()))
            return record_of(Trace, zlib.decompress(packed), strict=False)
        except (ReplyInvalid, zlib.error):
            self._forget(key)
        except SQLAlchemyError as e:
            log.warning("the store of results cannot be read", fault=type(e).__name__)
        return None

    def write(self, key: str, trace: Trace) -> None:
        """Keep a trace, and forget the longest unused beyond the bound."""
        packed = zlib.compress(json_of(trace), _LEVEL)
        if len(packed) > self._most_bytes:
            return
        row = {"key": key, "trace": packed, "size_bytes": len(packed), "used": time.time()}
        try:
            with self._engine.begin() as connection:
                connection.execute(delete(_results).where(_results.c.key == key))
                connection.execute(insert(_results).values(row))
                surplus = self._bytes_in(connection) - self._most_bytes
                if surplus > 0:
                    self._forget_oldest(connection, surplus)
        except SQLAlchemyError as e:
            log.warning("a result could not be kept", fault=type(e).__name__)

    def size_bytes(self) -> int:
        """Bytes of all traces kept."""
        with self._engine.connect() as connection:
            return self._bytes_in(connection)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def _forget(self, key: str) -> None:
        try:
            with self._engine.begin() as connection:
                connection.execute(delete(_results).where(_results.c.key == key))
        except SQLAlchemyError as e:
            log.warning("a broken result could not be forgotten", fault=type(e).__name__)

    @staticmethod
    def _forget_oldest(connection: Connection, surplus: int) -> None:
        """Forget the longest unused until that many bytes are free."""
        by_age = select(_results.c.key, _results.c.size_bytes).order_by(_results.c.used)
        for key, size in connection.execute(by_age).all():
            if surplus <= 0:
                break
            connection.execute(delete(_results).where(_results.c.key == key))
            surplus -= size

    @staticmethod
    def _bytes_in(connection: Connection) -> int:
        return int(connection.execute(select(func.coalesce(func.sum(_results.c.size_bytes), 0))).scalar_one())


def _wait_and_share(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    """Several servers may use one file: readers do not wait for writers, writers wait their turn."""
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", f"busy_timeout={_BUSY_MS}"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
