"""`/docs`: the OpenAPI document as one plain page, with no script and nothing from elsewhere.

Above: people with a browser. Below: the document that `openapi` makes.
"""

from html import escape
from typing import Any

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1c1c28;background:#fff}
code,pre{font:14px/1.45 ui-monospace,monospace}pre{background:#f4f4f8;padding:.75rem;overflow:auto}
h2{border-top:1px solid #ddd;padding-top:1rem}table{border-collapse:collapse;width:100%}
td{padding:.25rem .75rem .25rem 0;vertical-align:top}a{color:#3440c0}
@media(prefers-color-scheme:dark){body{color:#e6e6f0;background:#16161d}pre{background:#22222c}
h2{border-color:#444}a{color:#9aa4ff}}
"""


def docs_page(document: dict[str, Any]) -> str:
    """The page, as HTML."""
    title = escape(document["info"]["title"])
    operations = "".join(
        _operation(method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    schemas = "".join(
        _schema(name, schema) for name, schema in document["components"]["schemas"].items()
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><h1>{title}</h1><p>{escape(document['info'].get('description', ''))}</p>"
        '<p>The same as data: <a href="openapi.json">openapi.json</a>. Send a key of your tenant '
        f"as <code>Authorization: Bearer KEY</code>.</p>{operations}"
        f"<h2>Shapes</h2>{schemas}</body></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = [*map(_parameter, operation.get("parameters", ())), *_body(operation)]
    rows += [
        _row(status, answer["description"] + " " + _shapes(answer))
        for status, answer in operation["responses"].items()
    ]
    return (
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
        f"<p>{escape(operation.get('description', ''))}</p><table>{''.join(rows)}</table>"
    )


def _parameter(parameter: dict[str, Any]) -> str:
    return _row(f"{parameter['in']} {parameter['name']}", parameter.get("description", ""))


def _body(operation: dict[str, Any]) -> list[str]:
    body = operation.get("requestBody")
    if body is None:
        return []
    return [_row("body", _shapes(body) + ("" if body["required"] else " May be left out."))]


def _shapes(described: dict[str, Any]) -> str:
    contents = described.get("content", {}).items()
    names = [content["schema"].get("$ref", kind).rpartition("/")[2] for kind, content in contents]
    return " or ".join(names)


def _schema(name: str, schema: dict[str, Any]) -> str:
    rows = "".join(
        _row(field, _type(shape)) for field, shape in schema.get("properties", {}).items()
    )
    text = escape(schema.get("description", ""))
    return f"<h3><code>{escape(name)}</code></h3><p>{text}</p><table>{rows}</table>"


def _type(shape: dict[str, Any]) -> str:
    if "$ref" in shape:
        return shape["$ref"].rpartition("/")[2]
    options = shape.get("anyOf") or shape.get("oneOf")
    if options:
        return " or ".join(map(_type, options))
    if "const" in shape or "enum" in shape:
        return " | ".join(map(str, shape.get("enum") or [shape["const"]]))
    items = f" of {_type(shape['items'])}" if shape.get("items") else ""
    about = f": {shape['description']}" if "description" in shape else ""
    return f"{shape.get('type', 'any JSON')}{items}{about}"


def _row(left: str, right: str) -> str:
    return f"<tr><td><code>{escape(left)}</code></td><td>{escape(right)}</td></tr>"
