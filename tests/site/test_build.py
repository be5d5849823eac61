"""What the builder writes, and what it refuses."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime, timezone
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest
import yaml

from singerlake import open_lake
from singerlake.errors import ConfigError, Unavailable
from singerlake.format import keys
from singerlake.format.keys import StreamKeys
from singerlake.format.schema import Schema
from singerlake.lake import Lake, Level, check, clock, log
from singerlake.lake.arrivals import arrivals
from singerlake.lake.finding import Finding
from singerlake.site import build as building
from singerlake.site import folder, page, problems, words
from singerlake.site.build import build
from singerlake.site.chart import chart
from singerlake.site.notes import href, notes
from singerlake.site.properties import properties
from singerlake.site.snippets import snippets
from singerlake.site.survey import survey
from tests.lake.landing import QUICK, STREAM, TAP, land, land_each, new_store, overwrite
from tests.site import lakes


@pytest.fixture
def lake() -> Lake:
    store = new_store()
    land(store, range(3))
    return Lake(store)


def paths(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_all_files_are_where_they_belong(lake: Lake, tmp_path: Path) -> None:
    built = build(lake, tmp_path / "site")
    assert paths(tmp_path / "site") == {
        "index.html",
        "problems.html",
        "search-index.js",
        "singerlake-site.json",
        "static/icon.svg",
        "static/page.js",
        "static/search.js",
        "static/site.css",
        "static/theme.js",
        f"stream/{TAP}/{STREAM}.html",
        f"tap/{TAP}.html",
    }
    assert (built.taps, built.streams, built.records, built.pages) == (1, 1, 3, 4)


def test_every_page_says_that_the_lake_is_read_only(lake: Lake, tmp_path: Path) -> None:
    build(lake, tmp_path / "before")
    lake.set_read_only("legal <b>hold</b>")
    build(lake, tmp_path / "after")
    pages = list((tmp_path / "after").rglob("*.html"))
    assert len(pages) == 4
    for one in pages:
        text = one.read_text()
        assert "read-only" in text
        assert "Nothing in this lake may be changed." in text
        assert "legal &lt;b&gt;hold" in text
    assert not any("read-only" in one.read_text() for one in (tmp_path / "before").rglob("*.html"))


def test_no_name_leads_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hostile = lakes.shop(monkeypatch)
    build(hostile, tmp_path / "a" / "site")
    assert {path.name for path in tmp_path.iterdir()} == {"a"}
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"site"}
    names = [path.name for path in (tmp_path / "a" / "site" / "stream" / lakes.TAP).iterdir()]
    assert len(names) == len({name.lower() for name in names}) == len(lakes.HOSTILE_STREAMS) + 6
    assert all(re.fullmatch(r"[A-Za-z0-9._!~-]+\.html", name) for name in names)


def test_file_names_are_safe_and_distinct() -> None:
    names = ["..", ".", "", "a/b", "nul\0", "x" * 300, "Ab", "aB", "ab", "index.html", "half\ud800"]
    made = page.file_names(names)
    assert len({name.lower() for name in made.values()}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9!~-][A-Za-z0-9._!~-]*", name) for name in made.values())
    assert all(len(name) < 200 for name in made.values())
    assert made["a/b"] == keys.escape("a/b")


def test_every_link_leads_to_a_file_of_the_site(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build(lakes.shop(monkeypatch), tmp_path)
    for file in tmp_path.rglob("*.html"):
        links = re.findall(r'(?:href|src)="([^"]*)"', file.read_text())
        for link in links:
            if not link.startswith(("https://example.org/", "mailto:", "#")):
                assert (file.parent / link.partition("#")[0]).resolve().is_file(), link


def test_nothing_on_a_page_is_a_script_a_style_or_a_handler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build(lakes.shop(monkeypatch), tmp_path)
    for file in tmp_path.rglob("*.html"):
        text = file.read_text()
        assert not re.search(r"<script(?! src=\"[./]*static/)", text)
        assert not re.search(r"<style|<[^>]* (?:style|on[a-z]+)=|<img", text)
        assert "Content-Security-Policy" in text
        assert "unsafe-inline" not in text


def test_a_folder_of_something_else_is_refused(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="not empty"):
        build(lake, tmp_path)
    assert paths(tmp_path) == {"thesis.txt"}
    with pytest.raises(ConfigError, match="cannot write"):
        build(lake, tmp_path / "thesis.txt")


def test_a_new_site_takes_the_place_of_the_former(lake: Lake, tmp_path: Path) -> None:
    build(lake, tmp_path)
    (tmp_path / "robots.txt").write_text("kept")
    (tmp_path / "stream" / TAP / "gone.html").write_text("no longer there")
    (tmp_path / "stream" / "tap-gone").mkdir()
    (tmp_path / "stream" / "tap-gone" / "gone.html").write_text("no longer there")
    former = (tmp_path / "index.html").read_text()
    land(lake.store, range(3, 10))
    build(lake, tmp_path)
    assert (tmp_path / "index.html").read_text() != former
    assert "robots.txt" in paths(tmp_path)
    assert not any("gone" in path.name for path in tmp_path.rglob("*"))


def test_a_build_that_fails_leaves_the_former_site(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(lake, tmp_path)
    former = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    land(lake.store, range(3, 5))

    def unavailable(*_: object) -> None:
        raise Unavailable("no answer")

    monkeypatch.setattr(log, "read_head", unavailable)
    with pytest.raises(Unavailable):
        build(lake, tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == former
    assert not list(tmp_path.glob(".making-*"))


def test_what_a_killed_build_left_is_cleared(lake: Lake, tmp_path: Path) -> None:
    dead, new = (tmp_path / f"{folder._MAKING}{name}" for name in ("dead", "new"))
    for draft in (dead, new):
        (draft / "tap").mkdir(parents=True)
    os.utime(dead, (0, 0))
    build(lake, tmp_path)
    assert list(tmp_path.glob(".making-*")) == [new]  # another build may be at it


def test_a_build_may_begin_and_fail_while_another_ends(lake: Lake, tmp_path: Path) -> None:
    with folder.writing(tmp_path) as first:
        first.write("stream/a/b.html", b"")
        with pytest.raises(Unavailable), folder.writing(tmp_path):
            raise Unavailable("no answer")
        first.write("index.html", b"")
    assert paths(tmp_path) == {"stream/a/b.html", "index.html"}


@pytest.mark.parametrize("pages", [[], ["index.html"], ["stream/a/c.html"]], ids=str)
def test_a_draft_that_was_removed_takes_no_page_away(tmp_path: Path, pages: list[str]) -> None:
    with folder.writing(tmp_path) as former:
        former.write("stream/a/b.html", b"")
        former.write(folder.MARK, folder.mark())

    def interrupted() -> None:
        with folder.writing(tmp_path) as draft:
            draft._folder.rename(tmp_path.with_name("elsewhere"))
            for name in pages:
                draft.write(name, b"")

    with pytest.raises(ConfigError, match="one at a time"):
        interrupted()
    assert paths(tmp_path) == {"stream/a/b.html", folder.MARK}


def test_the_mark_tells_scripts_what_was_built(lake: Lake, tmp_path: Path) -> None:
    build(lake, tmp_path, title="Ours")
    body = json.loads((tmp_path / folder.MARK).read_bytes())
    assert body["format"] == folder.KIND
    assert (body["title"], body["records"], body["checked"]) == ("Ours", 3, None)


def test_a_title_and_an_address_may_hold_any_byte(lake: Lake, tmp_path: Path) -> None:
    build(lake, tmp_path, address="/lakes/caf\udce9")
    assert json.loads((tmp_path / folder.MARK).read_bytes())["title"] == "caf\udce9"
    assert "caf\\udce9" in (tmp_path / "index.html").read_text()


def test_pages_say_whether_a_check_was_made(lake: Lake, tmp_path: Path) -> None:
    build(lake, tmp_path)
    assert "No check was made" in (tmp_path / "problems.html").read_text()
    checked = problems.of_report(check(lake.store, times=QUICK), clock.now())
    build(lake, tmp_path, checked=checked)
    assert "Nothing is wrong" in (tmp_path / "problems.html").read_text()
    assert "No check was made" not in (tmp_path / "stream" / TAP / f"{STREAM}.html").read_text()


def test_damage_is_told_and_the_rest_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    built = build(lakes.shop(monkeypatch), tmp_path)
    assert built.problems == 3
    text = (tmp_path / "stream" / lakes.TAP / "damaged.html").read_text()
    assert "unreadable" in text
    assert "memory://" not in text.partition("<footer>")[0].partition('id="load"')[0]


@pytest.mark.parametrize("document", [keys.LAKE_DOCUMENT, keys.catalogue(TAP)])
def test_a_site_is_built_without_a_document(lake: Lake, tmp_path: Path, document: str) -> None:
    overwrite(lake.store, document, b"{")
    built = build(lake, tmp_path)
    assert (built.streams, built.records, built.problems) == (1, 3, 1)


def test_memory_holds_streams_and_not_files(tmp_path: Path) -> None:
    store = new_store()
    land_each(store, range(300))
    lake = Lake(store)
    entry = lake.tap(TAP).catalogue()[STREAM]
    facts = survey(lake.stream(TAP, STREAM), entry)
    assert (facts.files, facts.records, len(facts.newest)) == (300, 300, 20)
    assert sum(facts.sizes) == sum(facts.arrivals.files) == 300
    assert store.list(StreamKeys(TAP, STREAM).under("_segments"))


def test_findings_belong_to_a_stream_a_tap_or_the_lake() -> None:
    assert problems.place_of("raw/singerlake.json") == (None, None)
    assert problems.place_of(f"raw/{TAP}/catalogue.json") == (TAP, None)
    assert problems.place_of(f"raw/{TAP}/a!2Fb/manifest.json") == (TAP, "a/b")
    assert problems.place_of("elsewhere/x") == (None, None)
    found = Finding(Level.ERROR, "file-corrupt", "raw/t/s/f.gz", "s3://b/l/raw/t/s/f.gz: is short")
    [problem] = problems.of_check(problems.Checked(clock.now(), (found,), 1, 1, 1))
    assert (problem.place, problem.message) == (("t", "s"), "is short")


def test_only_the_output_of_check_is_read() -> None:
    moment = datetime(2026, 11, 1, tzinfo=timezone.utc)
    finding = {"level": "note", "code": "lock", "key": "raw/t/s/x", "message": "m", "fixable": True}
    data = json.dumps({"findings": [finding], "files": 4, "clean": True}).encode()
    checked = problems.read_report(data, "report.json", moment)
    assert (checked.files, checked.findings[0].level) == (4, Level.NOTE)
    bad = (b'{"findings": [1]}', b'{"findings": [{"level": "awful"}]}', b'{"findings": ["\xff"]}')
    for other in (b"", b"[]", b"{}", *bad, b'{"x": "\xff"}', b'{"x": ' + b"[" * 20_000):
        with pytest.raises(ConfigError, match="expected what"):
            problems.read_report(other, "report.json", moment)


def test_only_what_leads_somewhere_is_a_link() -> None:
    for good in ("https://x.org/a?b=c#d", "http://localhost:8080", "mailto:a@b.c", "HTTPS://X.ORG"):
        assert href(good) == good
    for bad in (
        "javascript:alert(1)",
        "java\nscript:x",
        "data:text/html,x",
        "//x.org",
        "https:",
        "",
    ):
        assert href(bad) is None
    assert href("https://x.org/ javascript:alert(1)") is None
    told = notes({"owner": "", "tags": {}, "links": ["https://x.org", {"a": 1}]})
    assert told.owner is None
    assert [value.text for value in told.others[0].values] == ["https://x.org", '{"a": 1}']


HOSTILE_NAMES = ("a\"b; $(rm -rf ~)'", "x\n\x1b[2J\0", "# {no}: *yes", "Größe\u202e\U0001f4a9")


@pytest.mark.parametrize("stream", ["orders", *HOSTILE_NAMES])
def test_snippets_do_what_they_say(
    stream: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "it's: a #lake"
    lakes.land(open_lake(root, create=True), stream, {"id": {"type": "integer"}}, 2)
    made = {one.name: one.text for one in snippets(str(root), lakes.TAP, stream)}
    exec(made["Python"], {})
    assert capsys.readouterr().out == "{'id': 0}\n{'id': 1}\n"
    (plugin,) = yaml.safe_load(made["Meltano"])["plugins"]["extractors"]
    settings = {"lake_root": str(root), "tap_id": lakes.TAP, "streams": [stream]}
    assert plugin["config"] == settings
    assert {setting["name"] for setting in plugin["settings"]} == {*settings, "storage_options"}
    called: list[tuple[object, ...]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("singerlake.spark.session", lambda: "spark")
        patch.setattr("singerlake.spark.read_stream", lambda *given: called.append(given) or Mock())
        exec(made["Spark"], {})
    assert called == [("spark", str(root), lakes.TAP, stream)]


def test_snippets_quote_what_they_are_given() -> None:
    made = {one.name: one.text for one in snippets("s3://b/l", "tap", HOSTILE_NAMES[0])}
    assert "export TAP_SINGERLAKE_STREAMS='[\"a\\\"b; $(rm -rf ~)'\"'\"'\"]'" in made["Shell"]
    hostile = {one.name: one.text for one in snippets("s3://b/l", "tap", HOSTILE_NAMES[1])}
    assert "Shell" not in hostile
    assert all("\x1b" not in text for text in hostile.values())


def test_a_schema_without_end_makes_a_page_with_one() -> None:
    deep: dict[str, object] = {"type": "string"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"in": deep}}
    assert len(properties(Schema(deep))) == 20
    wide = {"properties": {f"p{number}": {"type": "string"} for number in range(5000)}}
    assert len(properties(Schema(wide))) == 2000


def test_words() -> None:
    assert [words.short(n) for n in (0, 999, 1000, 1234, 15_914, 2.5e6)] == [
        "0", "999", "1k", "1.23k", "15.9k", "2.5M",
    ]  # fmt: skip
    assert [words.size(n) for n in (0, 999, 1500, 397_000, 5.2e12)] == [
        "0 B", "999 B", "1.5 kB", "397 kB", "5.2 TB",
    ]  # fmt: skip
    assert words.visible("a\0b\u202e\ud800\tc\n") == "a\\x00b\\u202e\\ud800\tc\n"


@pytest.mark.parametrize("moment", [datetime.min, datetime.max])
def test_a_chart_ends_where_the_calendar_does(moment: datetime) -> None:
    edge = moment.replace(tzinfo=timezone.utc)
    [file] = land(new_store(), [1])
    drawn = chart(arrivals([msgspec.structs.replace(file, committed=edge)], 60))
    assert drawn
    assert drawn.start <= edge <= drawn.end
    assert sum(reading.files for reading in drawn.readings) == 1


def test_a_chart_without_arrivals_is_none(lake: Lake) -> None:
    entry = lake.tap(TAP).catalogue()[STREAM]
    facts = survey(lake.stream(TAP, STREAM), entry)
    drawn = chart(facts.arrivals)
    assert drawn is not None
    assert [row.records for row in drawn.readings] == [3]
    assert len(drawn.drawings[0].bars) == 24
    assert chart(survey(lake.stream(TAP, "none"), entry).arrivals) is None


def test_a_tap_of_many_streams_has_several_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "STREAMS_A_PAGE", 2)
    build(lakes.large(5, 2), tmp_path)
    assert sorted(path.name for path in (tmp_path / "tap").iterdir()) == [
        f"{lakes.TAP}.html", f"{lakes.TAP}~p2.html", f"{lakes.TAP}~p3.html",
    ]  # fmt: skip
