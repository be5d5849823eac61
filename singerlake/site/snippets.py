"""How to load a stream, ready to copy."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Snippet:
    """One way to load a stream: what to copy, and a line that says what it does."""

    name: str
    text: str
    about: str


def snippets(root: str, tap_id: str, stream: str) -> tuple[Snippet, ...]:
    """For each tool that reads the lake. Names are quoted as each language wants them."""
    made = [
        Snippet("Python", _python(root, tap_id, stream), "Every record, in the order of commits."),
        Snippet(
            "Spark", _spark(root, tap_id, stream), "A DataFrame with the columns of all versions."
        ),
        Snippet(
            "Meltano",
            _meltano(root, tap_id, stream),
            "For meltano.yml; then: meltano run tap-singerlake target-jsonl",
        ),
    ]
    # What a terminal could take for a command of its own is not offered for pasting into one.
    if all(text.isprintable() for text in (root, tap_id, stream)):
        about = "Singer messages, byte for byte, for any target."
        made.append(Snippet("Shell", _shell(root, tap_id, stream), about))
    return tuple(made)


def _python(root: str, tap_id: str, stream: str) -> str:
    return f"""\
from singerlake import open_lake

lake = open_lake({_literal(root)})
stream = lake.stream({_literal(tap_id)}, {_literal(stream)})
for record in stream.snapshot().records():
    print(record)
"""


def _spark(root: str, tap_id: str, stream: str) -> str:
    return f"""\
from singerlake.spark import read_stream, session

spark = session()
df = read_stream(
    spark,
    {_literal(root)},
    {_literal(tap_id)},
    {_literal(stream)},
)
df.show()
"""


def _meltano(root: str, tap_id: str, stream: str) -> str:
    return f"""\
plugins:
  extractors:
  - name: tap-singerlake
    namespace: tap_singerlake
    pip_url: singerlake
    executable: tap-singerlake
    capabilities: [about, catalog, discover, state]
    use_cached_catalog: false
    settings:
    - name: lake_root
    - name: tap_id
    - name: streams
      kind: array
    - name: storage_options
      kind: object
      sensitive: true
    config:
      lake_root: {_quoted(root)}
      tap_id: {_quoted(tap_id)}
      streams: [{_quoted(stream)}]
"""


def _shell(root: str, tap_id: str, stream: str) -> str:
    return f"""\
export TAP_SINGERLAKE_LAKE_ROOT={shlex.quote(root)}
export TAP_SINGERLAKE_TAP_ID={shlex.quote(tap_id)}
export TAP_SINGERLAKE_STREAMS={shlex.quote(json.dumps([stream]))}
tap-singerlake --config ENV
"""


def _literal(text: str) -> str:
    """In Python: double quotes as formatters want them, and escapes for what cannot be seen."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)


def _quoted(text: str) -> str:
    """In YAML: as in JSON, but with its own escapes, which know no pairs of surrogates."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in quoted)
