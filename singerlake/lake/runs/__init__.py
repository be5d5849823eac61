"""A tap's runs: their documents, the log that numbers them, and what both say."""

from singerlake.lake.runs.ending import document_of, end
from singerlake.lake.runs.history import newest_complete
from singerlake.lake.runs.run import LOST_AFTER, Run

__all__ = ["LOST_AFTER", "Run", "document_of", "end", "newest_complete"]
