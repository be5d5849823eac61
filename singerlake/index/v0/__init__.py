"""The words of the v0 API: what is the stream, where the tap, work_id the run."""
