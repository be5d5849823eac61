"""Projections: what was published of a stream, as typed files. No Spark is needed to find them.

from singerlake.projection import published_files

files = published_files("s3://bucket/tables", "tap-x--meltano", "orders")
"""

from singerlake.projection.document import Published, PublishedFile, Settings
from singerlake.projection.version import published, published_files

__all__ = ["Published", "PublishedFile", "Settings", "published", "published_files"]
