"""Records of many lines lie compressed in the repository; what writes them works on their text.

`cargo xtask accuracy` reads a record as text where it is there, else compressed. **Equal records are equal files**: no name and no date is kept.
"""
import gzip
import os


def unpack(path):
    """Lays the text of a record where its tool goes on with it."""
    if os.path.exists(path + ".gz") and not os.path.exists(path):
        with gzip.open(path + ".gz") as packed, open(path, "wb") as text:
            text.write(packed.read())


def pack(path):
    """Puts a finished record in the place of its text."""
    with open(path, "rb") as text, open(path + ".gz", "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(text.read())
    os.remove(path)


def lines(path):
    """A record's lines, however it lies there."""
    with open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz") as record:
        return record.read().decode().splitlines(keepends=True)
