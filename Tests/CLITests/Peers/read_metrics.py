"""Parses metrics on standard input with Prometheus' own library, and prints a JSON object of all samples.

Keys have the form `name{label="value",...}`, with sorted labels and values as JSON. Every metric must occur once,
with help and type, and match its name.
"""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

samples = {}
names = set()
for family in text_string_to_metric_families(sys.stdin.buffer.read().decode("utf-8", errors="strict")):
    assert family.documentation, f"{family.name} has no help"
    assert family.type in ("counter", "gauge"), f"{family.name} is of type {family.type}"
    assert family.name not in names, f"{family.name} stands twice"
    names.add(family.name)
    for sample in family.samples:
        name, labels, value = sample.name, sample.labels, sample.value
        assert name.endswith("_total") == (family.type == "counter"), name
        inside = ",".join(f"{key}={json.dumps(labels[key], ensure_ascii=False)}" for key in sorted(labels))
        place = f"{name}{{{inside}}}" if labels else name
        assert place not in samples, f"{place} stands twice"
        samples[place] = value
print(json.dumps(samples))
