"""One `transformer.py` made of the files of several steps: their definitions, in order."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autograder.authoring.docstrings import LINE_LENGTH
from autograder.core.given import REFERENCE
from autograder.core.step import Step
from autograder.core.trouble import Trouble
from autograder.desk.editing import CannotRename, bound_names, cut, mentioned, rename
from autograder.desk.imports import merged

HEAD = '"""The Transformer'  # how a file begins that was put together


@dataclass(frozen=True)
class Part:
    """A step's file: its text, and the name by which complaints speak of it."""

    step: Step
    text: str
    name: str


@dataclass
class Whole:
    """What was put together so far.

    `meanings` says what each name at module level stands for: a definition's syntax tree or an
    import. The exports of all steps and the builtin names are kept free for what they mean.
    """

    meanings: dict[str, str]
    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    bodies: list[tuple[Step, str]] = field(default_factory=list)


def assemble(parts: Sequence[Part], lang: str = "en") -> str:
    """Put files together into one that needs none of them, nor the kit.

    Imports are merged; those from `transformer_ref` fall away, since what they bring is defined
    here. What a file defines besides its exports is kept; where two files give one name different
    meanings, the later one's is renamed. Calls and tests at module level are left out.

    Args:
        parts: the files of the steps 1 to N, in order; a step may have several.
        lang: "en" or "ko", for the titles between the parts.

    Raises:
        Trouble: a file is not Python, imports the given pieces in a way that cannot be followed, or
            uses a name that would have to be changed as something else, too.
    """
    reserved = {*dir(builtins), *(e for part in parts for e in part.step.exports)}
    whole = Whole(dict.fromkeys(reserved, "reserved"))
    for part in parts:
        _add(part, whole)
    first, last = parts[0].step.number, parts[-1].step.number
    head = f'{HEAD}, steps {first:02d} to {last:02d}, in one file."""'
    titled: set[str] = set()
    bodies = [_titled(step, body, lang, titled) for step, body in whole.bodies]
    return "\n\n".join([head, *merged(whole.imports), "\n\n\n".join(bodies)]) + "\n"


def _titled(step: Step, body: str, lang: str, titled: set[str]) -> str:
    """The body, under the step's title where it is the step's first."""
    if step.name in titled:
        return body
    titled.add(step.name)
    rule = f"# ---- step {step.number:02d}: {step.title[lang]} "
    return f"{rule.ljust(LINE_LENGTH, '-')}\n\n\n{body}"


def _add(part: Part, whole: Whole) -> None:
    """Add one step's file."""
    text = _without_given(part, whole)
    tree = ast.parse(text)
    meanings = _meanings(tree)
    known, clashing = _compared(part, tree, meanings, whole)
    new = {name: _free(f"{name}_{part.step.name}", text, whole) for name in clashing}
    imports = [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    dropped = [s for s in tree.body if s in imports or _left_out(s)]
    dropped += [s for s in tree.body if bound_names(s) and bound_names(s) <= known]
    try:
        body = rename(cut(text, dict.fromkeys(dropped, "")), new).strip("\n")
    except CannotRename as e:
        raise Trouble("assemble_clash", file=part.name, name=str(e)) from None
    for statement in imports:
        _rename_import(statement, new, part)
    whole.imports += imports
    whole.bodies.append((part.step, body))
    whole.meanings |= _meanings(ast.parse(body)) | _meanings(ast.Module(list(imports), []))


def _without_given(part: Part, whole: Whole) -> str:
    """The text without its imports of given pieces; another name for one is given by assignment."""
    try:
        tree = ast.parse(part.text)
    except (SyntaxError, ValueError) as e:
        line = getattr(e, "lineno", None) or 1
        raise Trouble("assemble_syntax", file=part.name, line=line, step=part.step.number) from None
    for statement in tree.body:
        # Under an if or a try, what a name means would only be known when the file runs.
        if isinstance(statement, ast.If | ast.Try) and _given_imports(statement):
            raise Trouble("assemble_import", file=part.name, line=statement.lineno)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(_package(a) == REFERENCE for a in node.names):
            raise Trouble("assemble_import", file=part.name, line=node.lineno)
    replaced: dict[ast.stmt, str] = {}
    for node in _given_imports(tree):
        if any(a.name != "*" and a.name not in whole.meanings for a in node.names):
            raise Trouble("assemble_import", file=part.name, line=node.lineno)
        others = [a for a in node.names if a.asname not in (None, a.name)]
        replaced[node] = "; ".join(f"{a.asname} = {a.name}" for a in others)
    return cut(part.text, replaced)


def _given_imports(tree: ast.AST) -> list[ast.ImportFrom]:
    """The imports of given pieces in it; the reference's own modules write them relatively."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return [n for n in found if n.level == 1 or (n.module or "").split(".")[0] == REFERENCE]


def _package(alias: ast.alias) -> str:
    return alias.name.split(".")[0]


def _left_out(statement: ast.stmt) -> bool:
    """Docstrings, calls and prints, what runs only as a program, `__all__` and the like."""
    if isinstance(statement, ast.If):
        return "__name__" in mentioned(statement.test)
    if isinstance(statement, ast.Assign):
        return all(name.startswith("__") for name in bound_names(statement) or ["no"])
    return isinstance(statement, ast.Expr)


def _meanings(tree: ast.Module) -> dict[str, str]:
    """What each name at module level stands for."""
    meanings: defaultdict[str, str] = defaultdict(str)
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            source = f"from {statement.module} " if isinstance(statement, ast.ImportFrom) else ""
            for alias in statement.names:
                full = alias.name if alias.asname or source else _package(alias)
                meanings[alias.asname or full] = f"{source}import {full}"
        elif not _left_out(statement):
            for name in bound_names(statement):
                meanings[name] += ast.dump(statement)
    return dict(meanings)


def _compared(
    part: Part, tree: ast.Module, meanings: dict[str, str], whole: Whole
) -> tuple[set[str], set[str]]:
    """The names that mean the same already, and those that mean something else already."""
    taken = (meanings.keys() & whole.meanings.keys()) - set(part.step.exports)
    known = {name for name in taken if whole.meanings[name] == meanings[name]}
    imports = (ast.Import, ast.ImportFrom)
    kept = [s for s in tree.body if bound_names(s) & known and not isinstance(s, imports)]
    while True:
        # A definition is the same only if all that it speaks of is the same, too.
        clashing = taken - known
        differing = [s for s in kept if mentioned(s) & clashing or not bound_names(s) <= known]
        lost = known & {name for s in differing for name in bound_names(s)}
        if not lost:
            return known, clashing
        known -= lost


def _free(name: str, text: str, whole: Whole) -> str:
    while name in whole.meanings or name in text:
        name += "_"
    return name


def _rename_import(
    statement: ast.Import | ast.ImportFrom, new: Mapping[str, str], part: Part
) -> None:
    for alias in statement.names:
        bound = alias.asname or _package(alias)
        if bound in new:
            if not alias.asname and "." in alias.name:  # `import a.b` binds a, and has no other way
                raise Trouble("assemble_clash", file=part.name, name=bound)
            alias.asname = new[bound]
