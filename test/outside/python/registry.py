"""The schema registry, by its REST interface, and Avro in the Confluent wire format, by fastavro."""

import io
import json
import urllib.request
from urllib.parse import quote

import fastavro


class Registry:
    def __init__(self, url):
        self._url = url
        self._schemas = {}

    def decode(self, value):
        """A value -> (schema id, full name of its type, record). Raises ValueError for what is not in the format."""
        if len(value) < 5 or value[0] != 0:
            raise ValueError(f"not the Confluent wire format: {value[:5]!r}")
        schema_id = int.from_bytes(value[1:5], "big")
        schema = self.schema(schema_id)
        body = io.BytesIO(value[5:])
        record = fastavro.schemaless_reader(body, schema)
        if body.read(1):
            raise ValueError(f"bytes are left behind the record of schema {schema_id}")
        return schema_id, schema["name"], record

    def schema(self, schema_id):
        if schema_id not in self._schemas:
            text = self._get(f"/schemas/ids/{schema_id}")["schema"]
            self._schemas[schema_id] = fastavro.parse_schema(json.loads(text))
        return self._schemas[schema_id]

    def subjects(self, schema_id):
        """Under which subjects a schema is registered."""
        return {version["subject"] for version in self._get(f"/schemas/ids/{schema_id}/versions")}

    def compatibility(self, subject):
        return self._get(f"/config/{quote(subject, safe='')}")["compatibilityLevel"]

    def _get(self, path):
        with urllib.request.urlopen(self._url + path, timeout=10) as answer:
            return json.load(answer)
