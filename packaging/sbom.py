#!/usr/bin/env python3
"""Writes the software bill of materials of a program: CycloneDX 1.6, as JSON.

  packaging/sbom.py PROGRAM FILE

Lists the libraries inside the program with the versions of this system, and the shared libraries
that it needs. The library cyclonedx-python-lib makes and checks the document. The same program and
SOURCE_DATE_EPOCH give the same bytes.
"""

import datetime
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import uuid

from cyclonedx.model import HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model import ExternalReference, ExternalReferenceType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

# Shared libraries by the name in the program: component, SPDX licence, page.
SHARED = {
    "libssl.so.3": ("openssl", "Apache-2.0", "https://openssl-library.org"),
    "libz.so.1": ("zlib", "Zlib", "https://zlib.net"),
    "libhiredis.so": ("hiredis", "BSD-3-Clause", "https://github.com/redis/hiredis"),
    "libsodium.so": ("libsodium", "ISC", "https://libsodium.org"),
    "libstdc++.so": (
        "libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org",
    ),
    "libc.so.6": ("glibc", "LGPL-2.1-or-later", "https://www.gnu.org/software/libc/"),
}
SWIFT = ("swift-runtime", "Apache-2.0 WITH Swift-exception", "https://www.swift.org")


def output(*command):
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def facts(program):
    """Returns what `version --verbose` says, by name; the version is under ''."""
    first, *lines = output(program, "version", "--verbose").splitlines()
    return {"": first.split()[1], **dict(line.split(": ", 1) for line in lines)}


def is_needed(library, needed):
    return any(name == library or name.startswith(library) for name in needed)


def static_version(name):
    """Returns the version of a library that the build linked from this system's archives."""
    if name == "libstdc++":
        return output("gcc", "-dumpfullversion").strip()
    return output("pkg-config", "--modversion", name).strip()


def component(name, licence, page, linkage, version=None):
    return Component(
        type=ComponentType.LIBRARY, name=name, version=version, bom_ref=name,
        licenses=[LicenseExpression(licence)],
        external_references=[
            ExternalReference(type=ExternalReferenceType.WEBSITE, url=XsUri(page))
        ],
        properties=[Property(name="pusher-cli:linkage", value=linkage)],
    )


def components(program, told):
    headers = output("objdump", "-p", program)
    needed = re.findall(r"^ *NEEDED *(\S+)$", headers, re.MULTILINE)
    yield component(*SWIFT, "static", told["swift"])
    for library, about in SHARED.items():
        if is_needed(library, needed):
            yield component(*about, "shared")
        elif about[0] not in ("openssl", "zlib", "glibc"):
            yield component(*about, "static", static_version(about[0]))


def bom(program, told):
    digest = hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()
    main = Component(
        type=ComponentType.APPLICATION, name="pusher-cli", version=told[""], bom_ref="pusher-cli",
        licenses=[LicenseExpression("MIT")],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
        properties=[Property(name="pusher-cli:commit", value=told["commit"])],
    )
    libraries = list(components(program, told))
    seconds = int(os.environ["SOURCE_DATE_EPOCH"])
    document = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, digest), components=libraries,
        metadata=BomMetaData(
            component=main,
            timestamp=datetime.datetime.fromtimestamp(seconds, tz=datetime.timezone.utc),
        ),
    )
    document.register_dependency(main, libraries)
    return document


def main():
    if len(sys.argv) != 3:
        sys.exit("sbom: name the program and the file")
    program, file = sys.argv[1:]
    if "SOURCE_DATE_EPOCH" not in os.environ:
        os.environ["SOURCE_DATE_EPOCH"] = output("git", "log", "-1", "--format=%ct").strip()
    text = JsonV1Dot6(bom(program, facts(program))).output_as_string(indent=2)
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if fault is not None:
        sys.exit(f"sbom: the document is not valid CycloneDX: {fault}")
    pathlib.Path(file).write_text(text + "\n")
    print(file)


main()
