"""Nothing of Airflow is loaded before it is used: every process of Airflow loads its plugins."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import singerlake.airflow

WITHOUT = ["airflow", "fastapi", "sqlalchemy", "alembic", "confluent_kafka"]


def test_the_package_loads_nothing_by_itself() -> None:
    program = "import sys, singerlake.airflow; print(*{n.partition('.')[0] for n in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) & set(WITHOUT) == set()


def test_every_public_name_has_a_home() -> None:
    assert set(singerlake.airflow.__all__) == set(singerlake.airflow._HOMES)


def test_airflow_finds_the_provider_and_the_plugin() -> None:
    """Without Airflow, the provider's information can be read all the same."""
    (provider,) = (
        one
        for one in entry_points(group="apache_airflow_provider")
        if one.value.startswith("singerlake.")
    )
    assert provider.load()()["package-name"] == "singerlake"
    plugins = {one.value for one in entry_points(group="airflow.plugins")}
    assert "singerlake.airflow.tab.plugin:SingerlakePlugin" in plugins
