"""What the application of contract_test.py serves, as OpenAPI describes it."""
from strict_application import FRAMINGS, SIZE_MOST

_LONG = "a line of a body that is not kept whole\n" * 2500  # 100 KB
_TEXT = {"type": "string", "maxLength": 40}


def _parameter(place, name, schema, required=False):
    return {"in": place, "name": name, "required": required, "schema": schema}


def _body(kind, schema, **more):
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema, **more}}}}


def _operation(more=None):
    answer = {"application/json": {"schema": {
        "type": "object", "required": ["serial", "method", "target", "filler"],
        "properties": {"serial": {"type": "integer"}, "method": _TEXT,
                       "target": {"type": "string"}, "filler": {"type": "string"}}}}}
    return {**(more or {}), "responses": {
        "200": {"description": "served", "content": answer},
        "204": {"description": "served, without a body"},
        "304": {"description": "the same as before"},
        "400": {"description": "from the proxy: no key, or malformed"}}}


def _path(key, *fields, **operations):
    """`fields`: those that a proxy must treat as it must, or must leave alone."""
    asked = [_parameter("query", "framing", {"type": "string", "enum": list(FRAMINGS)}),
             _parameter("query", "size", {"type": "integer", "minimum": 0, "maximum": SIZE_MOST})]
    return {"parameters": [key, *asked, *(_parameter("header", name, schema)
                                          for name, schema in fields)], **operations}


_KEY = {"type": "string", "minLength": 1, "maxLength": 60}
_OBJECT = {"type": "object", "required": ["a"], "maxProperties": 3, "additionalProperties": True,
           "properties": {"a": _TEXT, "b": {"type": "array", "items": {"type": "number"},
                                            "maxItems": 3}}}
_FORM = {"type": "object", "required": ["a"], "additionalProperties": False,
         "properties": {"a": _TEXT, "b": {"type": "integer"}}}
_FILE = {"type": "object", "required": ["file"], "additionalProperties": False,
         "properties": {"file": {"type": "string", "format": "binary"}, "note": _TEXT}}
_OPTIONS = {"type": "string",
            "enum": ["keep-alive", "close", "X-Mine", "close, x-mine", "X-Key", ",,"]}

PATHS = {
    "/header": _path(
        _parameter("header", "X-Key", _KEY, True), ("X-Mine", _TEXT), ("X_Mine", _TEXT),
        ("Connection", _OPTIONS), get=_operation(),
        post=_operation(_body("application/json", _OBJECT)),
        put=_operation(_body("text/plain", {"type": "string"}, examples={"long": {"value": _LONG}}))
    ),
    "/path/{key}": _path(
        _parameter("path", "key", _KEY, True), ("Via", _TEXT), ("X-Forwarded-For", _TEXT),
        ("x_forwarded_for", _TEXT), ("Forwarded", _TEXT), get=_operation(),
        delete=_operation(), head=_operation(),
        put=_operation(_body("application/octet-stream", {"type": "string", "format": "binary"}))),
    "/query": _path(
        _parameter("query", "key", _KEY, True), ("Neliroute-Owner", _TEXT),
        ("neliroute_owner", _TEXT),
        ("Neliroute-Hops", {"type": "integer", "minimum": 0, "maximum": 3}), get=_operation(),
        post=_operation(_body("application/x-www-form-urlencoded", _FORM))),
    "/cookie": _path(
        _parameter("cookie", "sid", _KEY, True), ("TE", _TEXT), ("Keep-Alive", _TEXT),
        ("Proxy-Authorization", _TEXT), get=_operation(),
        patch=_operation(_body("multipart/form-data", _FILE))),
}
# How the key of each is found.
SOURCES = {"header": "header:X-Key", "path": "path:2", "query": "query:key",
           "cookie": "cookie:sid"}
METHODS = {path.split("/")[1]: {name.upper() for name in operations if name != "parameters"}
           for path, operations in PATHS.items()}
DOCUMENT = {"openapi": "3.0.3", "info": {"title": "an application", "version": "1"},
            "paths": PATHS}
