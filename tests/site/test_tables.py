"""The page of a stream shows its published tables, and what did not fit in them."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from click.testing import CliRunner

from singerlake.cli import main
from singerlake.lake import Lake, open_on
from singerlake.projection import document as documents
from singerlake.projection.document import Published, PublishedFile, PublishedKeys, Settings
from singerlake.site.build import build
from singerlake.store import Store, open_store
from tests.lake.landing import STREAM, TAP, land, new_store

EVIL = "<script>window.hacked=1</script>"


def a_lake(store: Store | None = None) -> Lake:
    store = store or new_store()
    land(store, [1])
    return open_on(store)


def publish(store: Store, **more: dict[str, dict[str, int]]) -> None:
    file = PublishedFile(
        path="data/run-1/a.parquet", records=91020, bytes=5, checksum="sha256:0", since=0, until=1
    )
    made = Published(
        tap_id=TAP,
        stream=STREAM,
        version=3,
        run_id="run-1",
        published=datetime(2026, 11, 18, tzinfo=timezone.utc),
        settings=Settings(format="parquet", mode="current"),
        log_id="log",
        sequence=1,
        schema={},
        schemas=({},),
        files=(file,),
        **more,  # type: ignore[arg-type]
    )
    store.create(PublishedKeys(TAP, STREAM).document, documents.encode(made))


def shown(lake: Lake, folder: Path, *outputs: Store) -> str:
    build(lake, folder, outputs=outputs)
    [text] = [t for file in folder.rglob("*.html") if 'id="versions"' in (t := file.read_text())]
    return text


def test_misfits_of_published_tables_are_on_the_page(tmp_path: Path) -> None:
    output = new_store()
    publish(output, misfits={"run-0": {"total": 100, EVIL: 1}, "run-1": {"total": 44}})
    text = shown(a_lake(), tmp_path / "site", new_store(), output)
    assert text.count('id="tables"') == 1
    assert "91,020" in text
    assert '<code class="path"><bdi>total</bdi></code></th><td class="number">144</td>' in text
    assert '<td class="number">145</td>' in text
    assert EVIL not in text


def test_a_table_whose_values_all_fit(tmp_path: Path) -> None:
    output = new_store()
    publish(output)
    assert "Every value fits its column" in shown(a_lake(), tmp_path / "site", output)


def test_without_tables_there_is_no_section(tmp_path: Path) -> None:
    assert 'id="tables"' not in shown(a_lake(), tmp_path / "site", new_store())


def test_a_document_that_cannot_be_read_is_shown_as_such(tmp_path: Path) -> None:
    output = new_store()
    output.create(PublishedKeys(TAP, STREAM).document, b"{}")
    assert "It cannot be read" in shown(a_lake(), tmp_path / "site", output)


def test_the_command_shows_them_too(tmp_path: Path) -> None:
    root, tables, out = tmp_path / "lake", tmp_path / "tables", tmp_path / "site"
    a_lake(open_store(root))
    publish(open_store(tables), misfits={"run-1": {"total": 7}})
    command = ["site", "build", str(root), "--out", str(out), "--tables", str(tables)]
    ran = CliRunner().invoke(main, command)
    assert ran.exit_code == 0, ran.output
    [text] = [file.read_text() for file in out.rglob("*.html") if 'id="tables"' in file.read_text()]
    assert "current" in text
