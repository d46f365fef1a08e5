#!/usr/bin/env python3
"""Writes pictures of pages with the same pixels in fewer bytes: smaller-png.py FROM TO

Such pictures are flat: a palette where the colours allow it, no filter, and the best of zlib make half of what a browser writes.
"""

import struct
import sys
import zlib


def chunks(data):
    place = 8
    while place < len(data):
        (length,) = struct.unpack(">I", data[place:place + 4])
        yield data[place + 4:place + 8], data[place + 8:place + 8 + length]
        place += 12 + length


def nearest(left, up, corner):
    guess = left + up - corner
    return min((left, up, corner), key=lambda value: abs(guess - value))


def rows(data, width, height, size):
    """Returns the rows without their filters (PNG, section 9)."""
    stride = width * size
    before = bytearray(stride)
    for number in range(height):
        start = number * (stride + 1)
        kind, row = data[start], bytearray(data[start + 1:start + 1 + stride])
        for place in range(stride if kind else 0):
            left = row[place - size] if place >= size else 0
            corner = before[place - size] if place >= size else 0
            up = before[place]
            added = {1: left, 2: up, 3: (left + up) // 2}.get(kind)
            row[place] = (row[place] + (nearest(left, up, corner) if added is None else added)) & 0xFF
        yield row
        before = row


def pack(pixels):
    """Returns the rows as palette indices, or as RGB if the palette has no room for all colours."""
    colours = sorted({pixel for row in pixels for pixel in row})
    if len(colours) > 256:
        return 2, None, b"".join(b"\0" + b"".join(row) for row in pixels)
    numbers = {colour: number for number, colour in enumerate(colours)}
    return 3, b"".join(colours), b"".join(b"\0" + bytes(numbers[pixel] for pixel in row) for row in pixels)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def main():
    source, target = sys.argv[1:3]
    with open(source, "rb") as file:
        parts = list(chunks(file.read()))
    width, height, depth, kind = struct.unpack(">IIBB", dict(parts)[b"IHDR"][:10])
    if depth != 8 or kind not in (2, 6):
        sys.exit(f"smaller-png: {source} is no picture of a browser")
    size = 3 if kind == 2 else 4
    data = zlib.decompress(b"".join(data for name, data in parts if name == b"IDAT"))
    pixels = [
        [bytes(row[place:place + 3]) for place in range(0, len(row), size)]
        for row in rows(data, width, height, size)
    ]
    kind, palette, packed = pack(pixels)
    with open(target, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)))
        if palette:
            file.write(chunk(b"PLTE", palette))
        file.write(chunk(b"IDAT", zlib.compress(packed, 9)))
        file.write(chunk(b"IEND", b""))


main()
