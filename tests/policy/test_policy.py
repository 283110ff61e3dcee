"""What a policy permits and refuses: its lists, the paths and links, and where scripts are asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from continua import Session
from continua.errors import BindError, ContinuaError, SourceError
from continua.policy import DATA, NOTHING, VARIABLE, Policy, read_policy
from continua.runs.live_options import LiveOptions
from tests.cli.helpers import continua, write_script
from tests.test_docs import blocks

S = "CREATE STREAM S (a INT, t BIGINT) SOURCE {} ORDERED BY t;"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a script's own, beside one of somebody else, and links from the one to the other."""
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    other.mkdir()
    for place in (mine, other):
        (place / "s.csv").write_text("a,t\n1,1\n")
    (mine / "link.csv").symlink_to(other / "s.csv")
    (mine / "out").symlink_to(other)
    (mine / "part=1").symlink_to(other)
    (mine / "own").mkdir()
    return mine


def limited(folder: Path, **lists: tuple[str, ...]) -> Session:
    """A session for a script of somebody else: nothing but its folder, and what is named."""
    given: dict[str, Any] = {"read": (DATA,), "write": (DATA,), **lists}
    return Session(data=folder, master="none", policy=replace(NOTHING, **given))


def refused(session: Session, text: str) -> str:
    """The condition by which a script is refused when it is bound; nothing of it is registered."""
    with pytest.raises(BindError) as caught:
        session.execute(text)
    assert [entry.name for entry in session.catalog.entries()] == []
    assert caught.value.diagnostics[0].span is not None
    return caught.value.condition


def test_a_script_reads_and_writes_in_its_folder(folder: Path) -> None:
    session = limited(folder)
    for path in ("s.csv", "./own/../s.csv", "s*.csv", str(folder / "s.csv")):
        session.execute(S.format(f"csv('{path}')") + "REGISTER QUERY q AS SELECT a FROM S INTO csv('own/out')")
        assert [a.row for a in session.answers()] == [(1,)]
        session.execute("DROP QUERY q; DROP STREAM S")


@pytest.mark.parametrize(
    "path", ["../other/s.csv", "/etc/passwd", "out/s.csv", "link.csv", "*/../../other/s.csv", "o*/../../x", "..", "-"]
)
def test_a_script_does_not_leave_its_folder_to_read(folder: Path, path: str) -> None:
    assert refused(limited(folder), S.format(f"csv('{path}')")) == "PATH_NOT_PERMITTED"


@pytest.mark.parametrize("path", ["l*.csv", "o*/*.csv", "*/s.csv", "**/s.csv", ".", "part=*/s.csv"])
def test_links_that_globs_and_folders_find_are_not_followed_out(folder: Path, path: str) -> None:
    """What they find is known when files are listed, which is where it is refused."""
    session = limited(folder)
    session.execute(S.format(f"csv('{path}')") + "SELECT a FROM S;")
    with pytest.raises(SourceError) as caught:
        session.answers()
    assert caught.value.condition == "PATH_NOT_PERMITTED"


@pytest.mark.parametrize("path", ["../x", "out/x", "/tmp/x", "s3://bucket/x", "hdfs://name/x"])
def test_a_script_does_not_leave_its_folder_to_write(folder: Path, path: str) -> None:
    text = f"CREATE STREAM S (a INT, t BIGINT) ORDERED BY t; REGISTER QUERY q AS SELECT a FROM S INTO csv('{path}');"
    assert refused(limited(folder), text) == "PATH_NOT_PERMITTED"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'os:system';",
        "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'mathx:sqrt';",
        "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'math.os:system';",
        "CREATE AGGREGATE f(x INT) RETURNS INT LANGUAGE PYTHON AS 'os:system';",
        "CREATE WINDOW w LANGUAGE PYTHON AS 'os:system';",
        S.format("python('os:listdir', rows => 1)"),
        # shlex has it from os by importing it
        "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'shlex:StringIO';",
    ],
)
def test_functions_of_other_modules_are_not_called(folder: Path, text: str) -> None:
    assert refused(limited(folder, functions=("math", "shlex")), text) == "FUNCTION_NOT_PERMITTED"


def test_a_module_is_not_imported_before_it_is_permitted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "evil_module.py").write_text("open('imported', 'w').close()\ndef f(x): return x\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(folder)
    text = "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'evil_module:f';"
    for asked in (text, S.format("python('evil_module:f', rows => 1)")):
        assert refused(limited(folder), asked) == "FUNCTION_NOT_PERMITTED"
    assert not (folder / "imported").exists()


@pytest.mark.parametrize("entry", ["math", "math:floor", "ma.*", "math.*"])
def test_functions_are_permitted_by_module_or_by_name(folder: Path, entry: str) -> None:
    text = "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'math:floor';"
    session = limited(folder, functions=(entry,))
    if entry == "ma.*":
        assert refused(session, text) == "FUNCTION_NOT_PERMITTED"
    else:
        session.execute(text)
        assert session.catalog.function("f") is not None


@pytest.mark.parametrize(
    ("call", "condition"),
    [
        ("table('csv.`/etc/passwd`')", "FORMAT_NOT_PERMITTED"),
        ("spark('text', path => '/etc')", "FORMAT_NOT_PERMITTED"),
        ("socket('localhost', 80)", "HOST_NOT_PERMITTED"),
        ("kafka('t', servers => 'broker:9092,evil:1')", "HOST_NOT_PERMITTED"),
        ("kafka('t', servers => 'broker:9092', sasl_kerberos_kinit_cmd => 'rm')", "OPTION_NOT_PERMITTED"),
        ("kafka('t', servers => 'broker:9092', ssl_engine_location => 'x.so')", "OPTION_NOT_PERMITTED"),
        ("kafka('t', servers => 'broker:9092', ssl_ca_location => '/etc/passwd')", "PATH_NOT_PERMITTED"),
        ("kafka('t', servers => 'broker:9092', sasl_password => secret('PATH'))", "SECRET_NOT_PERMITTED"),
        ("kafka('t', servers => secret('HOME'))", "SECRET_NOT_PERMITTED"),
        ("kafka('t', servers => 'broker:9092', registry => 'http://broker@evil:8081')", "HOST_NOT_PERMITTED"),
        ("postgres('t', url => 'postgresql://evil/db')", "FORMAT_NOT_PERMITTED"),
        ("kafka('t', servers => 'broker:9092', schema => '/etc/passwd')", "PATH_NOT_PERMITTED"),
        ("kafka('t', servers => 'broker:9092', registry => 'http://evil:8081')", "HOST_NOT_PERMITTED"),
        ("kafka('t', servers => 'broker:9092', registry => 'http://evil:x')", "OPTION_NOT_PERMITTED"),
    ],
)
def test_what_is_elsewhere_is_named(folder: Path, call: str, condition: str) -> None:
    session = limited(folder, hosts=("broker:*",), secrets=("SHOP_*",))
    assert refused(session, S.format(call)) == condition


@pytest.mark.parametrize(
    ("call", "condition"),
    [
        ("table('csv.`/etc/passwd`')", "TABLE_NOT_PERMITTED"),
        ("table('other.t')", "TABLE_NOT_PERMITTED"),
        ("spark('json', path => '{folder}')", "FORMAT_NOT_PERMITTED"),
        ("spark('csv', path => '{folder}/../other')", "PATH_NOT_PERMITTED"),
        ("spark('csv', path => '{folder}')", "PATH_NOT_PERMITTED"),
        ("spark('csv', path => '{folder}/own', paths => '[\"/etc\"]')", "OPTION_NOT_PERMITTED"),
        ("spark('csv', path => '{folder}/o*')", "OPTION_NOT_PERMITTED"),
        ("spark('csv', path => 'file:/etc/passwd')", "OPTION_NOT_PERMITTED"),
        ("spark('csv', path => 'own')", "OPTION_NOT_PERMITTED"),
        ("spark('csv', path => '{folder}/own')", None),
        ("table('shop.t')", None),
    ],
)
def test_what_spark_reads_is_plain(folder: Path, call: str, condition: str | None) -> None:
    session = limited(folder, sources=("spark:csv", "table"), tables=("shop.*",))
    text = S.format(call.replace("{folder}", str(folder)))
    if condition is None:
        session.execute(text)
        assert session.catalog.table("S") is not None
    else:
        assert refused(session, text) == condition


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        ("s3://bucket/in", True),
        ("s3a://bucket/in/a/b?retry=3", True),
        ("s3://bucket/inn", False),
        ("s3://bucket/in/../out", False),
        ("s3://bucket/in/%2e%2e/out", False),
        ("s3://other/in", False),
        ("gs://bucket/in", False),
        ("s3://bucket/in?endpoint=http://evil", False),
        ("s3://stored/x?endpoint=http://store", True),
        ("s3://stored/x", False),
    ],
)
def test_buckets_are_named_with_their_stores(url: str, fits: bool) -> None:
    policy = Policy(read=("s3://bucket/in", "s3://stored?endpoint=http://store"))
    assert (policy.reads(url) is None) is fits


def test_a_checkpoint_is_where_it_may_be(folder: Path) -> None:
    session = limited(folder, checkpoints=(str(folder / "own"),))
    session.execute("CREATE STREAM S (a INT, t BIGINT) ORDERED BY t; SELECT a FROM S;")
    with pytest.raises(BindError) as caught:
        session.start(options=LiveOptions(checkpoint=folder / "elsewhere"))
    assert caught.value.condition == "PATH_NOT_PERMITTED"
    session.start(options=LiveOptions(checkpoint=folder / "own" / "ck"))
    session.stop()
    assert (folder / "own" / "ck").is_dir() and not (folder / "elsewhere").exists()


def test_what_was_registered_from_python_is_the_processs_own(folder: Path) -> None:
    session = limited(folder)
    session.register_source("mine", lambda: [(1, 1)])
    session.execute(S.format("mine()") + "SELECT a FROM S;")
    assert [a.row for a in session.answers()] == [(1,)]


# The file and the command line.


def test_the_example_in_the_documents_is_a_policy(tmp_path: Path) -> None:
    (block,) = blocks("docs/command-line.md", "toml")
    (tmp_path / "p.toml").write_text(block)
    found = read_policy(tmp_path / "p.toml")
    assert found.function("shop.prices:net") is None and found.function("os:system") is not None
    assert found.reads("s3://shop/events/2024/a.csv") is None and found.reads("/etc/passwd") is not None
    assert found.source("spark:jdbc") is not None and found.host("broker-2.shop", 9092) is None


def test_a_file_permits_what_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.toml").write_text('functions = ["math"]\nread = ["<data>", "in", "s3://b/x"]\n')
    found = read_policy(tmp_path / "p.toml")
    assert found.read == (DATA, str(tmp_path / "in"), "s3://b/x")
    assert (found.functions, found.write, found.sources) == (("math",), (), None)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "p.toml"))
    assert refused(Session(master="none"), S.format("csv('/etc/passwd')")) == "PATH_NOT_PERMITTED"


@pytest.mark.parametrize("text", ["reads = []", "read = 'x'", "read = [1]", "=", 'read = ["ftp://x"]', "[read]"])
def test_a_file_that_cannot_be_used_permits_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "p.toml").write_text(text)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "p.toml"))
    with pytest.raises(BindError) as caught:
        Session(master="none")
    assert caught.value.condition == "BAD_POLICY"
    result = continua("run", write_script(tmp_path, "SHOW STREAMS;"), "--master", "none")
    assert result.exit_code == 2 and "cannot be used" in result.stderr


@pytest.mark.parametrize("command", [["run", "--master", "none"], ["verify", "--master", "none"], ["explain"]])
def test_commands_go_by_a_policy(folder: Path, command: list[str]) -> None:
    policy = folder.parent / "p.toml"
    policy.write_text('read = ["<data>"]\n')
    script = write_script(folder, S.format("csv('../other/s.csv')") + "SELECT a FROM S;")
    result = continua(*command, script, "--policy", str(policy))
    assert result.exit_code == 1
    assert "error[PATH_NOT_PERMITTED]" in result.stderr and "^^^" in result.stderr
    assert continua(*command, script).exit_code == 0


def test_a_checkpoint_on_the_command_line_is_asked_for_too(folder: Path) -> None:
    policy = folder.parent / "p.toml"
    policy.write_text('read = ["<data>"]\n')
    script = write_script(folder, S.format("csv('s.csv')") + "SELECT a FROM S;")
    result = continua("run", script, "--master", "none", "--policy", str(policy), "--checkpoint", str(folder / "ck"))
    assert result.exit_code == 1 and "error[PATH_NOT_PERMITTED]" in result.stderr
    assert not (folder / "ck").exists()


def test_the_shell_goes_by_a_policy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    policy = folder.parent / "p.toml"
    policy.write_text('read = ["<data>"]\n')
    text = S.format("csv('../other/s.csv')") + "\n\\i ../other/s.csv\n"
    result = continua("shell", "--policy", str(policy), stdin=text)
    assert result.exit_code == 1
    assert result.stderr.count("may not be read") == 2


def test_nothing_is_nothing() -> None:
    for asked in (NOTHING.reads("x"), NOTHING.writes("x"), NOTHING.function("a:b"), NOTHING.host("h", 1)):
        assert asked is not None
    for asked in (NOTHING.secret("x"), NOTHING.table("t"), NOTHING.source("spark:csv"), NOTHING.keeps(Path("x"))):
        assert asked is not None
    assert Policy().reads("/etc/passwd") is None and not Policy().is_limited
    assert issubclass(BindError, ContinuaError)
