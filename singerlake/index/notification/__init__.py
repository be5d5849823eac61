"""Notifications: queue → translator → ingestion → storage, and a reporter.

A store says that something happened. About a lake that is a hint: the feed is asked at once, and a
sweep stays the truth. About the upload of a datalake client it is all there is: the object's
metadata become an entry.
"""
