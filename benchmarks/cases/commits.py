"""Many small commits into one stream, in the folder that is given."""

import json
import sys

from singerlake.lake import open_lake

COMMITS = 300
RECORDS = 10


def main(root: str) -> None:
    schema = {
        "type": "SCHEMA",
        "stream": "orders",
        "schema": {"type": "object", "properties": {"id": {"type": "integer"}}},
        "key_properties": ["id"],
    }
    with open_lake(root, create=True).writer("tap-bench--pairs") as writer:
        writer.write(json.dumps(schema).encode())
        for number in range(COMMITS):
            record = {"type": "RECORD", "stream": "orders", "record": {"id": number}}
            for _ in range(RECORDS):
                writer.write(json.dumps(record).encode())
            writer.commit()


if __name__ == "__main__":
    main(sys.argv[1])
