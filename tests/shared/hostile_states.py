"""State files as an attacker would make them: each must be refused, and nothing else happen."""

import json
import sqlite3
import struct
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle import Learner
from robocle.backbones import Backbone
from state_files import LAST, PAGE, define, edit, rows, set_embedding, set_parts, write_at
from stub_backbone import embedding

WIDTH = 24
LABELS = ("mug", "cup", "pan")
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
LEAF, INTERIOR, INDEX_INTERIOR = 13, 5, 2
Attack = Callable[[Path], object]


def taught(path: Path, backbone: Backbone, classifier: str = "slda:keep=6") -> None:
    """Make a state with samples of two origins, sums, and steps to undo and to redo."""
    with Learner.open(path, backbone, pooling="avg", classifier=classifier) as learner:
        other = Learner(backbone, pooling="avg", classifier=classifier)
        for number in range(12):
            learner.teach_embedding(embedding(number, WIDTH), LABELS[number % 3])
            other.teach_embedding(embedding(100 + number, WIDTH), ("mug", "jar")[number % 2])
        for each in (learner, other):
            each.purge()  # which folds the samples that are not kept
        learner.merge(other)
        learner.remove(*(each.id for each in learner.samples[:1]))
        learner.teach_embedding(embedding(50, WIDTH), "cup")
        learner.rename("pan", "Pan")
        learner.undo()


# ---- pages


def varint(number: int) -> bytes:
    """Return a number as SQLite writes it."""
    found = [number & 127]
    while number := number >> 7:
        found.insert(0, number & 127 | 128)
    return bytes(found)


def tree_page(kind: int, cells: Sequence[bytes], right: int = 0, at: int = 0) -> bytes:
    """Return a page of a tree, from a position on.

    Args:
        kind: The kind of the page.
        cells: Its cells.
        right: The last page below it.
        at: Where it begins: 100 on the first page of a file.
    """
    content, end, places = bytearray(PAGE), PAGE, b""
    for cell in cells:
        content[end - len(cell) : end] = cell
        end -= len(cell)
        places += struct.pack(">H", end)
    head = struct.pack(">BHHHB", kind, 0, len(cells), end, 0)
    head += struct.pack(">I", right) if kind in (INTERIOR, INDEX_INTERIOR) else b""
    assert at + len(head + places) <= end
    content[at : at + len(head + places)] = head + places
    return bytes(content[at:])


class Pages:
    """The pages of a state file, which are written back at the end of the context."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content = bytearray(path.read_bytes())
        self.roots: dict[str, int] = dict(rows(path, "SELECT name, rootpage FROM sqlite_master"))

    def __enter__(self) -> "Pages":
        return self

    def __exit__(self, *_: object) -> None:
        self.content[28:32] = struct.pack(">I", len(self.content) // PAGE)
        self.path.write_bytes(self.content)

    def __getitem__(self, number: int) -> bytes:
        return bytes(self.content[(number - 1) * PAGE : number * PAGE])

    def __setitem__(self, number: int, content: bytes) -> None:
        end = number * PAGE
        self.content[end - len(content) : end] = content

    def add(self, content: bytes) -> int:
        """Add a page, and return its number."""
        self.content += content
        return len(self.content) // PAGE

    def cells(self, number: int) -> list[bytes]:
        """Return the cells of a page, each with what follows up to the next one."""
        page, at = self[number], 100 if number == 1 else 0
        count, start = struct.unpack(">HH", page[at + 3 : at + 7])
        first = at + (12 if page[at] in (INTERIOR, INDEX_INTERIOR) else 8)
        places = struct.unpack(f">{count}H", page[first : first + 2 * count])
        ends = dict(zip(sorted(places), [*sorted(places)[1:], PAGE], strict=True))
        assert start <= min(places)
        return [page[place : ends[place]] for place in places]


def many_times(name: str) -> Attack:
    """Let each page of a tree point many times to the one below: 10**14 rows in a few pages."""

    def attack(path: Path) -> None:
        with Pages(path) as pages:
            root = pages.roots[name]
            below = pages.add(pages[root])
            is_table = pages[root][0] == LEAF
            key = b"\x01" if is_table else pages.cells(root)[0]
            fan = min(400, (PAGE - 100) // (len(key) + 6))
            for level in range(8):
                cells = [struct.pack(">I", below) + key] * fan
                page = tree_page(INTERIOR if is_table else INDEX_INTERIOR, cells, below)
                below = pages.add(page) if level < 7 else below
            pages[root] = page

    return attack


def many_definitions(path: Path) -> None:
    """The same with the table of tables, which SQLite reads before anything else."""
    with Pages(path) as pages:
        cells = pages.cells(1)
        index = [each for each in cells if b"autoindex_samples" in each and b"CREATE" not in each]
        below = pages.add(tree_page(LEAF, index * 30))
        for _ in range(8):
            pointer = struct.pack(">I", below) + b"\x7f"
            below = pages.add(tree_page(INTERIOR, [pointer] * 400, below))
        first = struct.pack(">I", pages.add(tree_page(LEAF, cells))) + b"\x40"
        pages[1] = tree_page(INTERIOR, [first], below, at=100)


def cyclic_tree(path: Path) -> None:
    with Pages(path) as pages:
        root = pages.roots["samples"]
        pages[root] = tree_page(INTERIOR, [struct.pack(">I", root) + b"\x01"], root)


def shared_tree(path: Path) -> None:
    edit(path, "UPDATE steps SET number = number + 1000")
    with Pages(path) as pages:
        below, root = pages.add(pages[pages.roots["steps"]]), pages.roots["steps"]
        cells = [struct.pack(">I", below) + b"\x01"]
        pages[root] = tree_page(INTERIOR, cells, pages.roots["samples"])


def long_row(size: int, is_cycle: bool) -> Attack:
    """Let a row claim a size, on a chain of pages that ends too early, or never."""

    def attack(path: Path) -> None:
        with Pages(path) as pages:
            page = pages.add(bytes(PAGE))
            pages[page] = struct.pack(">I", page if is_cycle else 0) + bytes(PAGE - 4)
            # A row of the parts: its name, and a value of that size.
            head = varint(13 + 2 * 7) + varint(13 + 2 * size)
            record = bytes([len(head) + 1]) + head + b"pooling"
            total = len(record) + size
            least = (PAGE - 12) * 32 // 255 - 23
            here = least + (total - least) % (PAGE - 4)
            here = here if here <= PAGE - 35 else least
            cell = varint(total) + b"\x7f" + record.ljust(here, b"x") + struct.pack(">I", page)
            root = pages.roots["parts"]
            names = [each for each in pages.cells(root) if b"pooling" not in each]
            pages[root] = tree_page(LEAF, [*names, cell])

    return attack


def cyclic_free_list(path: Path) -> None:
    with Pages(path) as pages:
        page = pages.add(bytes(PAGE))
        pages[page] = struct.pack(">II", page, 0).ljust(PAGE, b"\0")
        pages.content[32:40] = struct.pack(">II", page, 1000)


# ---- journals


def journal(
    *records: tuple[int, bytes], pages: int, page: int = PAGE, head: bytes = JOURNAL_MAGIC
) -> bytes:
    """Return a journal, from which SQLite writes pages back into a file."""
    found = head + struct.pack(">IIIII", len(records), 7, pages, 512, page)
    found = found.ljust(512, b"\0")
    for number, content in records:
        checksum = 7 + sum(content[at] for at in range(PAGE - 200, 0, -200))
        found += struct.pack(">I", number) + content + struct.pack(">I", checksum)
    return found


def naming(victim: Path, start: bytes) -> bytes:
    """Return a journal that names a file as that of a transaction over several databases.

    SQLite removes that file.
    """
    name = bytes(victim)
    checksum = sum(byte - 256 * (byte > 127) for byte in name) & 0xFFFFFFFF
    end = struct.pack(">I", (1 << 30) // PAGE + 1) + name
    return start + end + struct.pack(">II", len(name), checksum) + JOURNAL_MAGIC


# ---- other files and other tables


def content(value: bytes) -> Attack:
    return lambda path: path.write_bytes(value)


def sql(*statements: str) -> Attack:
    """Change a file with plain SQL."""

    def attack(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for each in statements:
                connection.execute(each)

    return attack


def foreign_database(path: Path) -> None:
    path.unlink()
    sql("CREATE TABLE samples (id, label)", "INSERT INTO samples VALUES (1, 'mug')")(path)


def foreign_with_our_number(path: Path) -> None:
    foreign_database(path)
    sql("PRAGMA application_id = 0x52424C45", "PRAGMA user_version = 6")(path)


def header(at: int, value: bytes) -> Attack:
    return lambda path: write_at(path, at, value)


def defined(name: str, old: str, new: str) -> Attack:
    """Change the definition of a table."""

    def attack(path: Path) -> None:
        ((definition,),) = rows(path, f"SELECT sql FROM sqlite_master WHERE name = '{name}'")
        assert old in definition
        define(path, {name: definition.replace(old, new)})

    return attack


def endless_view(path: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    sql("DROP TABLE samples", f"CREATE VIEW samples AS {endless}")(path)


OLD = json.dumps({"__metadata__": {"robocle": json.dumps({"format": 4})}}).encode()
BOMB = "length(hex(zeroblob(400000000)))"

FILES: dict[str, tuple[Attack, str]] = {
    "text": (content(b"milk, bread, eggs\n" * 20), "is not a state, or was written"),
    "one byte": (content(b"\0"), "is not a state, or was written"),
    "a picture": (content(b"\xff\xd8\xff\xe0" + bytes(100)), "is a JPEG picture, not a state"),
    "a document": (content(b"%PDF-1.7" + bytes(100)), "is a PDF document, not a state"),
    "an older version": (
        content(struct.pack("<Q", len(OLD)) + OLD),
        "not a state, or was written by a version",
    ),
    "another database": (foreign_database, "is not a state, or was written"),
    "another database, disguised": (foreign_with_our_number, "tables are not those of a state"),
    "another format": (sql("PRAGMA user_version = 8"), "has state format 8"),
    "the format with looks, without them": (sql("PRAGMA user_version = 7"), "tables are not those"),
    "the WAL mode": (header(18, b"\2\2"), "its header cannot be"),
    "the WAL mode for readers": (header(19, b"\2"), "its header cannot be"),
    "larger pages": (sql("PRAGMA page_size = 8192", "VACUUM"), "its header cannot be"),
    "reserved bytes": (header(20, b"\x20"), "its header cannot be"),
    "a schema of tomorrow": (header(44, b"\0\0\0\x09"), "is damaged"),
    "more pages than the file has": (header(28, b"\x7f\xff\xff\xff"), "is damaged"),
}
TABLES: dict[str, tuple[Attack, str]] = {
    "another table": (sql("CREATE TABLE more (it)"), "tables"),
    "a table of SQLite's": (sql("ANALYZE"), "tables"),
    "a table of another module": (sql("CREATE VIRTUAL TABLE more USING fts5(it)"), "tables"),
    "a trigger": (
        sql("CREATE TRIGGER more AFTER INSERT ON samples BEGIN DELETE FROM samples; END"),
        "tables",
    ),
    "a view": (sql("CREATE VIEW more AS SELECT * FROM samples"), "tables"),
    "an endless view": (endless_view, "tables"),
    "another index": (sql("CREATE INDEX more ON samples (label)"), "tables"),
    "an index of an expression": (sql("CREATE INDEX more ON sums (hex(numbers))"), "tables"),
    "an index less": (sql("DROP INDEX samples_changed"), "tables"),
    "another type": (defined("samples", "label TEXT", "label ANY"), "tables"),
    "any type": (defined("samples", ") STRICT", ")"), "tables"),
    "an expensive check": (
        defined("samples", "label TEXT", f"label TEXT CHECK ({BOMB})"),
        "tables",
    ),
    "an expensive column": (
        defined("samples", "label TEXT", f"label TEXT AS ({BOMB})"),
        "tables",
    ),
    "a definition that is no text": (
        lambda path: define(path, {"sums": b"CREATE"}),  # type: ignore[dict-item]
        "is damaged",
    ),
    "a million rows per page": (many_times("samples_changed"), "2nd reference"),
    "a million sums": (many_times("sqlite_autoindex_sums_1"), "2nd reference"),
    "a million parts": (many_times("parts"), "is damaged"),
    "a million definitions": (many_definitions, "interrupted"),
    "a tree that contains itself": (cyclic_tree, "is damaged"),
    "a tree that two tables share": (shared_tree, "is damaged"),
    "a row that never ends": (long_row(900_000_000, is_cycle=True), "is damaged"),
    "a row longer than the file": (long_row(900_000_000, is_cycle=False), "is damaged"),
    "a short row on a cycle": (long_row(20_000, is_cycle=True), "is damaged"),
    "free pages that never end": (cyclic_free_list, "is damaged"),
}


# ---- rows


def last(column: str, value: object) -> Attack:
    """Change a column of the last sample."""
    return lambda path: edit(path, (f"UPDATE samples SET {column} = ? WHERE {LAST}", (value,)))


def folded(column: str, value: object) -> Attack:
    """Change a column of a folded class."""
    where = "number = (SELECT max(number) FROM samples WHERE fold > 0 AND pictures > 0)"
    return lambda path: edit(path, (f"UPDATE samples SET {column} = ? WHERE {where}", (value,)))


def numbers(values: Sequence[float], kind: type = np.float32) -> Attack:
    """Change the embedding of the last sample, with a correct checksum."""
    return lambda path: set_embedding(path, np.asarray(values, kind))


def sums(change: Callable[[NDArray[Any]], NDArray[Any]], name: str = "scatter0") -> Attack:
    """Change sums, with a correct checksum."""

    def attack(path: Path) -> None:
        for row, found in rows(path, f"SELECT rowid, numbers FROM sums WHERE name = '{name}'"):
            new = np.asarray(change(np.frombuffer(found)), np.float64).tobytes()
            query = "UPDATE sums SET numbers = ?, crc = ? WHERE rowid = ?"
            edit(path, (query, (new, zlib.crc32(new), row)))

    return attack


def parts(**values: str) -> Attack:
    return lambda path: set_parts(path, **values)


ROWS: dict[str, tuple[Attack, str]] = {
    "an id of 15 bytes": (last("id", bytes(15)), "length(id) = 16"),
    "an origin of 17 bytes": (last("origin", bytes(17)), "length(origin) = 16"),
    "an empty label": (last("label", ""), "is empty"),
    "a label with a line feed": (last("label", "mu\ng"), "is damaged"),
    "a label that goes on after a zero": (last("label", "mug\0" + "x" * 10**6), "is damaged"),
    "a label of 10,000 letters": (last("label", "x" * 10_000), "10000 characters"),
    "no decision": (last("decided", 0), "bits IS NOT NULL AND decided > 0"),
    "a decision that is too late": (last("decided", 2**60), "decided BETWEEN"),
    "a time that no calendar has": (last("time", 2**55), "time BETWEEN"),
    "a clock that cannot go on": (last("changed", 2**63 - 1), "changed BETWEEN"),
    "no picture": (last("pictures", 0), "fold IS NOT NULL OR pictures = 1"),
    "a negative count": (folded("pictures", -3), "pictures BETWEEN"),
    "a negative number": (last("number", -3), "number BETWEEN"),
    "faults with an escape": (last("quality", "\x1b[2J"), "faults"),
    "a short sketch": (last("sketch", b"x"), "length(sketch) = 64"),
    "a wrong checksum": (last("crc", 1), "checksum"),
    "no checksum": (last("crc", None), "checksum"),
    "16 bits": (last("bits", 16), "bits IN (32, 64)"),
    "a removed sample without its embedding": (
        lambda path: edit(path, "UPDATE samples SET embedding = NULL WHERE label IS NULL"),
        "(embedding IS NULL) = (bits IS NULL)",
    ),
    "an embedding of no width": (numbers([]), "length(embedding) > 0"),
    "an embedding with NaN": (numbers([np.nan] * WIDTH), "NaN or infinity"),
    "an embedding with infinity": (numbers([np.inf] * WIDTH), "NaN or infinity"),
    "an embedding of another width": (numbers([1.0] * (WIDTH + 1)), "different widths"),
    "an embedding with huge values": (numbers([1e37] * WIDTH, np.float64), "1e+37"),
    "half a number": (
        lambda path: edit(
            path, (f"UPDATE samples SET embedding = ?, crc = ? WHERE {LAST}", (b"\0", 0xD202EF8D))
        ),
        "is damaged",
    ),
    "sums of another shape": (sums(lambda found: found[:-1]), "has shape"),
    "sums with NaN": (sums(lambda found: found * np.nan), "NaN or infinity"),
    "sums with huge values": (sums(lambda found: found + 1e80), "not finite"),
    "sums without totals": (
        lambda path: edit(path, "DELETE FROM sums WHERE name = 'totals'"),
        "lacks the array 'totals'",
    ),
    "sums with a wrong checksum": (
        lambda path: edit(path, "UPDATE sums SET crc = 1"),
        "checksum",
    ),
    "a mean of another width": (
        lambda path: set_embedding(path, np.ones(WIDTH + 1), "fold > 0 AND pictures > 0"),
        "different widths",
    ),
    "parts that are missing": (
        lambda path: edit(path, "DELETE FROM parts WHERE name = 'pooling'"),
        "pooling",
    ),
    "no parts": (lambda path: edit(path, "DELETE FROM parts"), "is damaged"),
    "an unknown part": (parts(engine="v8"), "engine"),
    "a part with an escape": (parts(pooling="\x1b[2J"), "no text"),
    "an unknown classifier": (parts(classifier="oracle"), "oracle"),
    "a huge classifier": (parts(classifier="klda:features=1000000000"), "1000000000"),
    "a classifier without sums": (parts(classifier="ncm"), "only slda has"),
    "an origin that is no number": (parts(origin="z" * 32), "is damaged"),
    "an origin of spaces": (parts(origin=" " * 32), "is damaged"),
    "no origin": (lambda path: edit(path, "DELETE FROM parts WHERE name = 'origin'"), "is damaged"),
}
HOSTILE = FILES | TABLES | ROWS
