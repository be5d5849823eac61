"""The SDK's errors under our names, so that the log and docs/reference/errors.md have one name.

Whoever runs the target inside a program may expect the SDK's classes, as the SDK's own suite of
tests does: an error is of both kinds.
"""

from __future__ import annotations

from singer_sdk import exceptions as sdk

from singerlake import errors

BAD_INPUT = (
    errors.InputError,
    sdk.InvalidJSONSchema,
    sdk.InvalidRecord,
    sdk.MapExpressionError,
    sdk.MissingKeyPropertiesError,
    sdk.RecordsWithoutSchemaException,
    sdk.StreamMapConfigError,
)
"""Our errors and the SDK's that are about the tap's output, or about what to make of it."""

_Names = dict[type[Exception], type[errors.SingerlakeError]]
_SAME: _Names = {
    sdk.RecordsWithoutSchemaException: errors.RecordBeforeSchema,
    sdk.MissingKeyPropertiesError: errors.MissingKey,
}
_OURS: _Names = {
    **_SAME,
    sdk.InvalidRecord: errors.InvalidRecord,
    sdk.InvalidJSONSchema: errors.BadMessage,
    sdk.MapExpressionError: errors.ConfigError,
    sdk.StreamMapConfigError: errors.ConfigError,
}


def under_our_name(error: Exception) -> Exception:
    """The same error, as an error of ours that is the SDK's too where the SDK has its like."""
    for theirs, ours in _OURS.items():
        if isinstance(error, theirs) or (theirs in _SAME and isinstance(error, ours)):
            both = type(ours.__name__, (ours, theirs), {})
            # Without `__init__`, which the SDK gives other arguments than the error's own.
            named: Exception = both.__new__(both, *error.args)
            named.__dict__.update(error.__dict__)
            return named
    return error
