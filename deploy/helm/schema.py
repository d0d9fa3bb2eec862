#!/usr/bin/env python3
"""Writes the chart's values.schema.json: values.schema.base.json, with the schema of the configuration file under `config`.

    schema.py [CONFIG_SCHEMA [VALUES_SCHEMA]]

CONFIG_SCHEMA is deploy/config.schema.json unless given. In a chart, its rules are looser: variables may set any key, so none is
required, and null or an empty text sets none, as in the file. What the chart sets itself, templates/validate.yaml refuses.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Keywords for readers and editors, which stay outside of a condition.
NOTES = ("title", "description", "default", "examples", "deprecated")
# By keyword: a schema, a list of schemas, or schemas by name.
INNER = {"items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames"}
LISTS = {"allOf", "anyOf", "oneOf", "prefixItems"}


def hoisted(schema):
    """The same schema, with references to definitions at the root of another one, and without what it requires."""
    if not isinstance(schema, dict):
        return schema
    found = {}
    for keyword, value in schema.items():
        if keyword == "$ref":
            found[keyword] = value.replace("#/$defs/", "#/$defs/config.").replace("#/definitions/", "#/$defs/config.")
        elif keyword in INNER:
            found[keyword] = hoisted(value)
        elif keyword in LISTS:
            found[keyword] = [hoisted(one) for one in value]
        elif keyword == "properties":
            found[keyword] = {name: unless_empty(hoisted(one)) for name, one in value.items()}
        elif keyword == "patternProperties":
            found[keyword] = {name: hoisted(one) for name, one in value.items()}
        elif keyword not in ("required", "$schema", "$id", "$defs", "definitions"):
            found[keyword] = value
    return found


def unless_empty(schema):
    """This schema, except for null and an empty text. A condition keeps the messages about all else as they are."""
    if not isinstance(schema, dict):
        return schema
    notes = {keyword: value for keyword, value in schema.items() if keyword in NOTES}
    rules = {keyword: value for keyword, value in schema.items() if keyword not in NOTES}
    return notes | ({"if": {"not": {"enum": [None, ""]}}, "then": rules} if rules else {})


def merged(values, config):
    """The schema of values with that of the configuration under `config`."""
    definitions = config.get("$defs", config.get("definitions", {}))
    values["$defs"] |= {f"config.{name}": hoisted(one) for name, one in definitions.items()}
    values["properties"]["config"] = hoisted(config)
    return values


if __name__ == "__main__":
    source, target, *_ = sys.argv[1:] + [HERE.parent / "config.schema.json", HERE / "translation-exporter/values.schema.json"][len(sys.argv) - 1 :]
    base = json.loads((HERE / "values.schema.base.json").read_text())
    result = merged(base, json.loads(pathlib.Path(source).read_text()))
    pathlib.Path(target).write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
