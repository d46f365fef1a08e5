"""Reads an SVG image as XML from standard input: its texts, and the path of each line, as JSON."""

import json
import sys
import xml.etree.ElementTree as ElementTree

NAMESPACE = "{http://www.w3.org/2000/svg}"
root = ElementTree.parse(sys.stdin.buffer).getroot()
assert root.tag == NAMESPACE + "svg", root.tag
elements = list(root.iter())
print(json.dumps({
    "texts": [element.text for element in elements if element.text],
    "lines": {
        element.get("id"): element.get("d") for element in elements if element.get("id")
    },
    "names": sorted({element.tag.removeprefix(NAMESPACE) for element in elements}),
    "attributes": sorted({name for element in elements for name in element.keys()}),
}))
