"""Where events go: settings, variables and files, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from singerlake.errors import ConfigError
from singerlake.lineage.emitter.destination import Destination, find

KEY = "k3y-of-the-receiver"


def written(folder: Path, text: str) -> str:
    path = folder / "openlineage.yml"
    path.write_text(text)
    return str(path)


def test_nothing_is_sent_where_nobody_says_where_to() -> None:
    assert find("", {}) is None
    assert find("off", {"OPENLINEAGE_URL": "http://x"}) is None
    assert find("http://x", {"OPENLINEAGE_DISABLED": " True "}) is None


def test_variables() -> None:
    environment = {"OPENLINEAGE_URL": "https://host:1/base/", "OPENLINEAGE_API_KEY": KEY}
    found = find("", environment)
    assert found is not None
    assert found.url == "https://host:1/base/api/v1/lineage"
    assert found.api_key == KEY
    assert KEY not in repr(found) + str(found)
    found = find("http://other", environment | {"OPENLINEAGE_ENDPOINT": "/x/y"})
    assert found is not None
    assert found.url == "http://other/x/y"


def test_a_key_from_a_file_may_end_with_a_line_end(tmp_path: Path) -> None:
    """A header cannot: no event would ever go out."""
    found = find("http://x", {"OPENLINEAGE_API_KEY": f"{KEY}\n"})
    assert found is not None
    assert found.api_key == KEY
    text = f'transport: {{type: http, url: "http://x", auth: {{apiKey: "{KEY}\\n"}}}}'
    found = find(written(tmp_path, text))
    assert found is not None
    assert found.api_key == KEY


def test_the_lake_alone() -> None:
    assert find("lake", {}) == Destination()


def test_a_file(tmp_path: Path) -> None:
    text = (
        "transport:\n  type: http\n  url: http://host\n  endpoint: e\n  timeout: 1.5\n"
        f"  auth: {{type: api_key, apiKey: {KEY}}}\n  custom_headers: {{X-Tenant: t}}\n"
    )
    found = find("", {"OPENLINEAGE_CONFIG": written(tmp_path, text), "OPENLINEAGE_URL": "http://z"})
    assert found is not None
    assert (found.url, found.api_key, found.seconds) == ("http://host/e", KEY, 1.5)
    assert found.headers == {"X-Tenant": "t"}
    found = find(written(tmp_path, "transport: {type: file, log_file_path: /tmp/x}"), {})
    assert found == Destination(file="/tmp/x")
    assert find(written(tmp_path, "transport: {type: noop}"), {}) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "transport: 5",
        "{",
        "transport: {type: kafka}",
        "transport: {type: http}",
        f"transport: {{type: http, url: '{KEY}'}}",
        f"transport: {{type: http, url: 'http://h', timeout: no, auth: {{apiKey: {KEY}}}}}",
        "transport: {type: http, url: 'http://h', verify: false}",
    ],
)
def test_a_file_that_says_nothing_of_use(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        find(written(tmp_path, text), {})
    assert KEY not in str(raised.value)
