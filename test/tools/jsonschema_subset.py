# SPDX-License-Identifier: Apache-2.0
"""Checks a JSON value against the part of JSON Schema that docs/reference/report.schema.json uses.

Known keywords: type, properties, required, additionalProperties, items, enum, const, minimum, minItems, pattern, $ref
to #/$defs. An unknown keyword is an error, so that the schema cannot say more than is checked.
"""
import re

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
}
ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description"}


def check_object(value, schema, root, path):
    properties = schema.get("properties", {})
    found = [f"{path}: lacks '{key}'" for key in schema.get("required", []) if key not in value]
    for key, item in value.items():
        inner = properties.get(key, schema.get("additionalProperties", True))
        if inner is False:
            found.append(f"{path}: unexpected '{key}'")
        elif inner is not True:
            found += violations(item, inner, root, f"{path}.{key}")
    return found


def violations(value, schema, root=None, path="$"):
    """Returns a list of texts, empty if `value` follows `schema`."""
    root = root or schema
    if "$ref" in schema:
        return violations(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, path)
    known = ANNOTATIONS | {"type", "properties", "required", "additionalProperties", "items", "enum", "const",
                           "minimum", "minItems", "pattern"}
    found = [f"{path}: schema keyword '{key}' is not supported" for key in schema if key not in known]
    types = schema.get("type", list(TYPES))
    if not any(TYPES[t](value) for t in ([types] if isinstance(types, str) else types)):
        return found + [f"{path}: expected {types}, got {value!r}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: expected one of {schema['enum']}, got {value!r}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{path}: expected {schema['const']!r}, got {value!r}")
    if "minimum" in schema and isinstance(value, (int, float)) and value < schema["minimum"]:
        found.append(f"{path}: expected at least {schema['minimum']}, got {value}")
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        found.append(f"{path}: expected a match of {schema['pattern']}, got {value!r}")
    if isinstance(value, dict):
        found += check_object(value, schema, root, path)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            found.append(f"{path}: expected at least {schema['minItems']} items, got {len(value)}")
        if "items" in schema:
            for index, item in enumerate(value):
                found += violations(item, schema["items"], root, f"{path}[{index}]")
    return found
