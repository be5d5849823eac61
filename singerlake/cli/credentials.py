"""Which credentials a store would find here: by name only, never their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_AZURE = (
    ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_CONNECTION_STRING"),
    ("AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID"),
)
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "s3": (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3",
    ),
    "gs": ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"),
    "abfs": _AZURE[0] + _AZURE[1],
}
FILES: Mapping[str, tuple[str, ...]] = {
    "s3": (".aws/credentials", ".aws/config"),
    "gs": (".config/gcloud/application_default_credentials.json",),
    "abfs": (".azure/msal_token_cache.json",),
}
_SAME = {"s3a": "s3", "gcs": "gs", "abfss": "abfs", "az": "abfs"}


def credentials(
    url: str, options: Mapping[str, Any], environment: Mapping[str, str], home: Path | None
) -> Iterator[str]:
    """Where this store's credentials and settings would come from, the strongest first."""
    scheme = url.partition("://")[0].lower() if "://" in url else ""
    scheme = _SAME.get(scheme, scheme)
    for name in options:
        yield f"storage option {name}"
    for name in VARIABLES.get(scheme, ()):
        if environment.get(name):
            yield f"${name}"
    for name in FILES.get(scheme, ()):
        if home is not None and _is_file(home / name):
            yield f"~/{name}"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a home that may not be entered has no credentials to offer
        return False
