"""Stubs: a model answer with its marked regions replaced by NotImplementedError.

A region stands between `### BEGIN SOLUTION` and `### END SOLUTION` and holds whole statements of
one function's body, so that everything else (imports, signatures, types, docstrings) reaches the
learner as it is.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.docstrings import LINE_LENGTH, answer_in
from autograder.core.speech import LANGUAGES

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
# What a stub says, by the name of what is to be written.
UNWRITTEN = re.compile(r"step \d+: (\S+) is not implemented yet")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Region:
    """The line numbers (from 1) of a pair of marks."""

    begin: int
    end: int

    def holds(self, node: ast.stmt) -> bool:
        """Whether the statement starts inside."""
        return self.begin < node.lineno < self.end


def stub_of(source: str, number: int) -> str:
    """Return the stub that a learner gets for a model answer.

    Args:
        source: the text of the model answer.
        number: the step's number, named in the messages of the stub.

    Raises:
        ValueError: marks are unbalanced, or hold something else than whole statements of one
            function's body; the line number is in the message.
        SyntaxError: the source is not Python.
    """
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    for region in reversed(_regions(lines)):
        name = _owner(tree, region)
        mark = lines[region.begin - 1]
        indent = mark[: len(mark) - len(mark.lstrip())]
        message = f"step {number:02d}: {name} is not implemented yet"
        lines[region.begin - 1 : region.end] = [_refusal(indent, message)]
        _parse_again(lines, region)
    return "".join(lines)


def _refusal(indent: str, message: str) -> str:
    """Return the statement that stands in for a region, as a formatter would leave it."""
    line = f'{indent}raise NotImplementedError("{message}")\n'
    if len(line) <= LINE_LENGTH + 1:
        return line
    return f'{indent}raise NotImplementedError(\n{indent}    "{message}"\n{indent})\n'


def stale(root: Path) -> list[Path]:
    """Return the stubs under root that are missing or differ from their model answers.

    A stub that somebody has filled in is not stale, nor is one with docstrings in Korean.
    """
    return [path for path, texts in _stubs(root) if not path.is_file() or _is_stale(path, texts)]


def _is_stale(path: Path, stubs: list[str]) -> bool:
    text = _read(path)
    return text not in stubs and not is_filled(text, stubs[0])


def is_filled(text: str, stub: str) -> bool:
    """Whether somebody's work is in a text that began as the stub.

    One body that no longer refuses is enough, whatever else was changed; so is a text without any
    refusal left, and one that Python cannot read, since somebody is writing it.
    """
    try:
        written, asked = ast.parse(text), ast.parse(stub)
    except SyntaxError:
        return True
    refusing = {name for name, function in _functions(asked) if _refuses(function)}
    left = {name: _refuses(function) for name, function in _functions(written)}
    return not any(left.values()) or any(not left.get(name, True) for name in refusing)


def _refuses(function: Function) -> bool:
    """Whether the statement is there that a stub has where a region was."""
    raised = (ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Raise))
    return any(text.startswith("raise NotImplementedError") for text in raised)


def regenerate(root: Path) -> list[Path]:
    """Write every stale stub and return the files written.

    Nobody's work is lost: to have a filled stub made anew, delete it first.
    """
    old = set(stale(root))
    written = []
    for path, texts in _stubs(root):
        if path in old:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[0], encoding="utf-8", newline="")
            written.append(path)
    return written


def _stubs(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Where each stub belongs, and its text in every language."""
    for answer in sorted((root / "solutions").glob("step[0-9][0-9]/*.py")):
        folder = answer.parent.name
        number = int(folder.removeprefix("step"))
        try:
            texts = [stub_of(answer_in(answer, lang), number) for lang in LANGUAGES]
        except ValueError as error:
            raise ValueError(f"{answer}: {error}") from None
        yield root / "exercises" / folder / answer.name, texts


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _regions(lines: list[str]) -> list[Region]:
    regions = []
    begin = None
    for number, line in enumerate(lines, start=1):
        mark = line.strip()
        if mark == BEGIN:
            if begin is not None:
                raise ValueError(f"line {number}: a region begins inside another (line {begin})")
            begin = number
        elif mark == END:
            if begin is None:
                raise ValueError(f"line {number}: a region ends that never began")
            regions.append(Region(begin, number))
            begin = None
    if begin is not None:
        raise ValueError(f"line {begin}: a region begins and never ends")
    return regions


def _owner(tree: ast.Module, region: Region) -> str:
    """Return the qualified name of the function whose body the region holds a part of."""
    inside = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and region.holds(node)]
    for name, function in _functions(tree):
        if function.lineno < region.begin and any(map(region.holds, function.body)):
            # A region that runs on into a neighbour holds statements of another function too.
            if set(inside) <= set(ast.walk(function)):
                return name
            raise ValueError(f"line {region.end}: a region must end in the function it began in")
    raise ValueError(
        f"line {region.begin}: a region must hold whole statements of a function's body, "
        "and stand neither at module nor at class level"
    )


def _functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
        if isinstance(child, Function | ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _parse_again(lines: list[str], region: Region) -> None:
    """Refuse a region that cut a statement in two or emptied a block of it."""
    try:
        ast.parse("".join(lines))
    except SyntaxError:
        raise ValueError(
            f"line {region.begin}: a region must hold whole statements of a function's body"
        ) from None
