"""The command line, through `main`: what is printed where, and the exit status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOLUTION = ROOT / "solutions/step04/feed_forward.py"
FIELDS = {"schema", "step", "title", "passed", "points", "max_points", "checks", "printed"}
CHECK_FIELDS = {"name", "title", "state", "points", "max_points", "message", "misconceptions"}


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    text = SOLUTION.read_text(encoding="utf-8")
    path = tmp_path / "feed_forward.py"
    path.write_text(text.replace("hidden = hidden.relu()", "hidden = hidden"), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["4", "04", "step04", "feed_forward"])
def test_the_solution_passes_by_any_name_of_its_step(run, name: str):
    result = run("check", name, "--file", str(SOLUTION))
    assert (result.status, result.err) == (0, "")
    assert "10 of 10" in result.out


def test_json_is_one_object_and_nothing_else(run, wrong: Path):
    result = run("check", "4", "--file", str(wrong), "--json", "--seed", "7")
    assert (result.status, result.err) == (1, "")
    verdict = json.loads(result.out)
    assert verdict.keys() >= FIELDS
    assert (verdict["schema"], verdict["step"], verdict["seed"]) == (1, "step04", 7)
    assert verdict["passed"] is False
    assert verdict["max_points"] == 10 == sum(c["max_points"] for c in verdict["checks"])
    assert verdict["points"] == sum(c["points"] for c in verdict["checks"])
    checks = {c["name"]: c for c in verdict["checks"]}
    assert all(c.keys() >= CHECK_FIELDS for c in checks.values())
    assert checks["parameters"]["state"] == "passed"
    assert checks["parameters"]["message"] == ""
    assert checks["output"]["state"] == "failed"
    assert checks["output"]["misconceptions"] == ["no-activation"]
    assert "yours is" in checks["output"]["message"]


def test_json_of_the_solution(run):
    verdict = json.loads(run("check", "4", "--file", str(SOLUTION), "--json").out)
    assert verdict["passed"] is True
    assert verdict["points"] == verdict["max_points"] == 10
    assert {c["state"] for c in verdict["checks"]} == {"passed"}


def test_the_documented_fields_are_the_ones_there_are(run):
    verdict = json.loads(run("check", "4", "--file", str(SOLUTION), "--json").out)
    for page in ("docs/json.md", "docs/json.ko.md"):
        rows = [r for r in (ROOT / page).read_text(encoding="utf-8").split("\n") if "| `" in r]
        named = {row.split("`")[1] for row in rows}
        assert verdict.keys() | verdict["checks"][0].keys() <= named


def test_the_same_seed_gives_the_same_numbers(run, wrong: Path):
    one, two, other = (
        json.loads(run("check", "4", "--file", str(wrong), "--json", "--seed", seed).out)
        for seed in ("7", "7", "8")
    )
    messages = [[c["message"] for c in v["checks"]] for v in (one, two, other)]
    assert messages[0] == messages[1] != messages[2]


def test_korean(run, wrong: Path):
    result = run("check", "4", "--file", str(wrong), "--lang", "ko", "--seed", "7")
    assert "알려진 실수" in result.out
    assert "10점 중" in result.out
    assert "Known mistake" not in result.out


def test_without_a_file_the_one_below_the_current_folder_is_graded(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    own = tmp_path / "exercises/step04/feed_forward.py"
    own.parent.mkdir(parents=True)
    own.write_text(SOLUTION.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run("check", "4").status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "99"], "no step 99"),
        (["check", "4\x1b[2J"], r"\x1b[2J"),
        (["check", "4", "--file", "nowhere.py"], "no file nowhere.py"),
        (["check", "4", "--file", str(ROOT)], "is a folder"),
        (["check", "4", "--file", "/dev/null"], "no file"),
        (["check", "4", "--lang", "fr"], "no language fr"),
        (["check", "4", "--seed", "x"], "--seed"),
        (["check"], "name a step"),
        (["check", "4", "--nonsense"], "--nonsense"),
        (["nonsense"], "nonsense"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_what_cannot_be_graded_gets_one_line(run, arguments: list[str], words: str, as_json: bool):
    result = run(*arguments, *(["--json"] if as_json and arguments != ["nonsense"] else []))
    assert (result.status, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert words in result.err


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"", "is not defined", id="empty"),
        pytest.param(b"x = 1\ny = '\xe9'\n", "line 2: this is not UTF-8", id="latin-1"),
        pytest.param(b"# coding: klingon\n", "not UTF-8", id="unknown encoding"),
        pytest.param(b"x = 1\n\0\n", "line 2: there is a null byte", id="null"),
        pytest.param("x = 1".encode("utf-16"), "null byte", id="utf-16"),
        pytest.param(b"def f(:\n", "line 1: Python cannot read this", id="syntax"),
        pytest.param(b"import no_such_module_here\n", "line 1: No module named", id="module"),
        pytest.param(b"1 / 0\n", "ZeroDivisionError: division by zero", id="raises"),
        pytest.param(b"import sys\nsys.exit()\n", "line 2: the file ends the program", id="exit"),
    ],
)
def test_a_file_that_cannot_be_loaded_gets_a_verdict(run, tmp_path: Path, data: bytes, words: str):
    path = tmp_path / "feed_forward.py"
    path.write_bytes(data)
    result = run("check", "4", "--file", str(path))
    assert (result.status, result.err) == (1, "")
    assert words in result.out
    assert "0 of 10" in result.out
    assert "Traceback" not in result.out


def test_another_declared_encoding_is_read(run, tmp_path: Path):
    path = tmp_path / "feed_forward.py"
    text = "# coding: cp949\n# 위치마다 따로\n" + SOLUTION.read_text(encoding="utf-8")
    path.write_bytes(text.encode("cp949", "replace"))
    assert run("check", "4", "--file", str(path)).status == 0


def test_prints_are_shown_escaped_and_no_markup_is_interpreted(run, tmp_path: Path):
    text = SOLUTION.read_text(encoding="utf-8")
    path = tmp_path / "feed_forward.py"
    path.write_text(text + "\nprint('[red]a[/red] :smile: \\x1b[31m')\n", encoding="utf-8")
    result = run("check", "4", "--file", str(path))
    assert result.status == 0
    assert r"| [red]a[/red] :smile: \x1b[31m" in result.out
    printed = json.loads(run("check", "4", "--file", str(path), "--json").out)["printed"]
    assert printed == r"[red]a[/red] :smile: \x1b[31m"


def test_regenerate_has_nothing_to_write_where_all_is_fresh(run):
    result = run("regenerate")
    assert (result.status, result.err) == (0, "")
    assert "Nothing to write" in result.out


def test_bare_and_help_say_what_there_is(run):
    for arguments in ([], ["--help"], ["check", "--help"]):
        result = run(*arguments)
        assert (result.status, result.err) == (0, "")
        assert "check" in result.out


def test_help_and_complaints_import_neither_torch_nor_rich():
    code = (
        "import sys\n"
        "from autograder.front.command import main\n"
        "for words in (['--help'], ['check', '99'], ['check', '4', '--file', 'nowhere.py']):\n"
        "    sys.argv[1:] = words\n"
        "    main()\n"
        "sys.exit(' '.join({'torch', 'numpy', 'rich'} & set(sys.modules)) or 0)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
