"""What import-linter cannot say: which parts of an outside package a layer may use."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "continua"
PARSING = ("sqlglot.parser", "sqlglot.parsers", "sqlglot.tokens", "sqlglot.tokenizer_core", "sqlglot.dialects")


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_only_the_language_touches_sqlglots_parser() -> None:
    users = {
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        if any(name == p or name.startswith(p + ".") for name in imports_of(path) for p in PARSING)
    }
    assert users == {"lang"}


def test_sqlglot_parses_besides_the_language_only_to_translate_into_duckdbs_sql() -> None:
    calls = ("sqlglot.parse_one(", "sqlglot.parse(", "sqlglot.transpile(")
    texts = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    users = {path.relative_to(PACKAGE).as_posix() for path, text in texts.items() if any(c in text for c in calls)}
    assert users == {"sqltext/expression_sql.py"}


def test_subclasses_of_sqlglots_classes_are_in_the_dialect_and_its_trees_alone() -> None:
    owners = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            bases = [ast.unparse(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
            if any(base.startswith(("exp.", "Spark", "Sqlglot")) for base in bases):
                owners.add(path.relative_to(PACKAGE).as_posix())
    assert owners == {"lang/dialect.py", "lang/stream_nodes.py"}
