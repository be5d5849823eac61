"""Tests of files of any kind: put, got and forgotten."""
