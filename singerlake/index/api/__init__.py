"""The index over HTTP: the v0 API, read-only.

service = Service(index_app(Archive(storage, lake)), limits, metrics=metrics)
"""
