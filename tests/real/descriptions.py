#!/usr/bin/env python3
"""Writes the descriptions of kube-apiserver's built-in kinds for kubernetes/object/src/schema/descriptions.rs.

usage: tests/real/descriptions.py KUBECONFIG >kubernetes/object/data/descriptions.gz     (of a server started by tests/real/up)

Each definition of kubernetes/object/data/schemas.json is a line `NAME TEXT`, and each of its fields a line ` FIELD TEXT` below.
TEXT is a JSON string, or, for a text that is already in the file, its number in the order of first use.
"""
import gzip
import json
import pathlib
import subprocess
import sys


def get(path):
    command = ["kubectl", "--kubeconfig", sys.argv[1], "get", "--raw", path]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


published = {}
for document in get("/openapi/v3")["paths"].values():
    # The definitions of meta/v1 are in every document, with the same descriptions.
    published.update(get(document["serverRelativeURL"]).get("components", {}).get("schemas", {}))

numbers = {}


def text(schema):
    description = schema["description"]
    if description in numbers:
        return str(numbers[description])
    numbers[description] = len(numbers)
    return json.dumps(description, ensure_ascii=False)


# The source of a running server, not of api/openapi-spec: the latter lacks the values of enums.
lines = []
schemas = pathlib.Path(__file__).resolve().parents[2] / "kubernetes/object/data/schemas.json"
for name in sorted(json.loads(schemas.read_text())):
    definition = published[name]
    lines.append(f"{name} {text(definition)}\n")
    fields = sorted(definition.get("properties", {}).items())
    lines += [f" {field} {text(schema)}\n" for field, schema in fields if "description" in schema]

sys.stdout.buffer.write(gzip.compress("".join(lines).encode(), 9, mtime=0))
