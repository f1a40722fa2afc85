"""The commands around an exercise, through `main`: what is printed where, and the exit status."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.core.step import all_steps, find_step
from autograder.desk.workspace import stub

PLANTED = ("hidden = hidden.relu()", "hidden = hidden")


@pytest.fixture
def folder(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder made by `init`, which is the current one."""
    assert run("init", str(tmp_path / "course")).status == 0
    monkeypatch.chdir(tmp_path / "course")
    return tmp_path / "course"


@pytest.fixture
def write(folder: Path):
    """Puts the model answer of a step into the folder, with one part of it replaced."""

    def put(number: int, old: str = "", new: str = "") -> Path:
        step = find_step(number)
        text = step.solution.read_text(encoding="utf-8")
        path = folder / "exercises" / step.name / f"{step.slug}.py"
        path.write_text(text.replace(old, new) if old else text, encoding="utf-8")
        return path

    return put


# ---------------------------------------------------------------- hint


def test_a_hint_is_a_question_first_and_then_the_place(run, write):
    write(4, *PLANTED)
    mistake = find_step(4).misconception("no-activation")
    first = run("hint", "4")
    assert (first.status, first.err) == (0, "")
    assert mistake.question["en"] in first.out
    assert mistake.place["en"] not in first.out
    assert "autograder hint 4 --more" in first.out
    more = run("hint", "4", "--more")
    assert mistake.question["en"] in more.out
    assert mistake.place["en"] in more.out
    assert "autograder diff 4 --spoil" in more.out
    korean = run("hint", "4", "--more", "--lang", "ko")
    assert mistake.place["ko"] in korean.out
    assert mistake.question["en"] not in korean.out


def test_a_hint_about_one_check(run, write):
    write(4, *PLANTED)
    question = find_step(4).misconception("no-activation").question["en"]
    assert question in run("hint", "4", "output").out
    right = run("hint", "4", "shape").out
    assert "This one is right" in right
    assert question not in right


def test_a_hint_about_another_file_names_it_in_the_next_command(run, write, folder):
    write(4, *PLANTED).rename(folder / "other.py")
    write(4)
    assert "autograder hint 4 --file other.py --more" in run("hint", "4", "--file", "other.py").out
    assert "hint 4 --file other.py" in run("diff", "4", "--file", "other.py").out
    assert "autograder diff 4\n" in run("hint", "4").out


def test_what_has_no_name_is_told_as_it_was_seen_and_where_to_watch(run, write):
    write(4, "return self.w_2(hidden)", "return 0.9 * self.w_2(hidden) + 0.01 * x.sin()")
    told = run("hint", "4")
    assert "yours is" in told.out
    assert "python exercises/step04/demo.py" in told.out.replace(os.sep, "/")


def test_a_stub_is_sent_to_its_lesson_and_a_passed_step_to_the_comparison(run, folder, write):
    assert "exercises/step04/README.md" in run("hint", "4").out.replace(os.sep, "/")
    assert "README.ko.md" in run("hint", "4", "--lang", "ko").out
    write(4)
    assert "autograder diff 4" in run("hint", "4").out


# ---------------------------------------------------------------- diff


def test_a_difference_is_shown_after_a_pass_or_on_demand(run, write):
    write(4, *PLANTED)
    early = run("diff", "4")
    assert (early.status, early.err) == (1, "")
    assert "relu" not in early.out
    assert "7 of 10" in early.out
    assert "autograder hint 4" in early.out and "autograder diff 4 --spoil" in early.out
    spoilt = run("diff", "4", "--spoil")
    assert spoilt.status == 0
    assert "-        hidden = hidden\n+        hidden = hidden.relu()\n" in spoilt.out
    write(4, "w_1", "inner")
    passed = run("diff", "4")
    assert passed.status == 0
    assert "-        self.inner = nn.Linear(d_model, d_ff)\n" in passed.out
    write(4)
    assert "the same, word for word" in run("diff", "4").out


def test_nothing_in_a_difference_acts_on_the_terminal(run, write):
    write(4, "# nn.Linear works", "# \x1b[2J[red]works[/red]")
    out = run("diff", "4").out
    assert r"\x1b[2J[red]works[/red]" in out
    assert "\x1b" not in out


# ---------------------------------------------------------------- reset


def test_a_reset_says_where_the_file_is_kept(run, write):
    path = write(4, *PLANTED)
    before = path.read_text(encoding="utf-8")
    result = run("reset", "4")
    assert (result.status, result.err) == (0, "")
    kept = re.search(r"kept as (\S+)", result.out)
    assert kept and Path(kept[1]).read_text(encoding="utf-8") == before
    assert re.search(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d", kept[1])
    assert path.read_text(encoding="utf-8") == stub(find_step(4))
    again = run("reset", "4")
    assert (again.status, again.out, again.err.count("\n")) == (2, "", 1)


# ---------------------------------------------------------------- list


def test_the_list_shows_points_and_what_comes_next(run, write):
    write(1)
    write(2, "looked_at <= looking", "looked_at < looking")
    result = run("list")
    assert (result.status, result.err) == (0, "")
    rows = {s.name: next(r for r in result.out.split("\n") if s.name in r) for s in all_steps()}
    assert "10/10" in rows["step01"] and find_step(1).title["en"] in rows["step01"]
    assert re.search(r" [1-9]/10", rows["step02"])
    assert "not started" in rows["step03"]
    assert "Next: pytest exercises/step02" in result.out.replace(os.sep, "/")
    assert "시작하지 않음" in run("list", "--lang", "ko").out


# ---------------------------------------------------------------- init


def test_pytest_runs_in_a_fresh_folder(run, write, folder):
    write(4)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    for where, words in (("exercises/step04", "10 of 10"), ("exercises/step02", "0 of 10")):
        done = subprocess.run(
            [*command, where], cwd=folder, capture_output=True, encoding="utf-8", timeout=120
        )
        assert words in done.stdout, done.stdout + done.stderr


def test_a_folder_that_is_not_empty_is_refused(run, folder):
    result = run("init", ".")
    assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
    assert "autograder init DIR" in result.err


# ---------------------------------------------------------------- assemble


def test_the_model_answers_make_one_file_that_stands_alone(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "transformer.py"
    result = run("assemble", "--upto", "9", "--from", "solutions", "--out", str(out))
    assert (result.status, result.err) == (0, "")
    lines = out.read_text(encoding="utf-8").count("\n")
    said = re.search(r"step09 added (\d+) lines; there are (\d+) in all", result.out)
    assert said and int(said[2]) == lines > int(said[1]) > 100
    program = (
        "import transformer as t; m = t.make_model(11, 13, N=1, d_model=8, d_ff=16, h=2)\n"
        "print(sum(p.numel() for p in m.parameters()))\n"
        "from transformer_ref import make_model\n"
        "m = make_model(11, 13, N=1, d_model=8, d_ff=16, h=2)\n"
        "print(sum(p.numel() for p in m.parameters()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    one, other = done.stdout.split()
    assert one == other
    whole = run("check", "--file", str(out), "--json")
    verdict = json.loads(whole.out)
    assert whole.status == 0 and verdict["passed"]
    assert [s["step"] for s in verdict["steps"]] == [s.name for s in all_steps()[:9]]
    assert verdict["points"] == verdict["max_points"] == 90
    # What it has made it writes over; what somebody has written it does not.
    assert run("assemble", "--upto", "2", "--from", "solutions", "--out", str(out)).status == 0
    out.write_text("# mine\n", encoding="utf-8")
    refused = run("assemble", "--upto", "2", "--from", "solutions", "--out", str(out))
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert out.read_text(encoding="utf-8") == "# mine\n"


@pytest.mark.slow
def test_the_whole_model_has_the_size_of_the_paper_with_these_vocabularies(run, tmp_path):
    out = tmp_path / "transformer.py"
    run("assemble", "--upto", "9", "--from", "solutions", "--out", str(out))
    program = (
        "import transformer\n"
        "model = transformer.make_model(8316, 6384)\n"
        "print(sum(p.numel() for p in model.parameters()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.strip() == "54941936"


def test_a_learners_own_files_are_put_together(run, write):
    write(1, "def attention(", "def helper():\n    return 1\n\n\ndef attention(")
    early = run("assemble", "--upto", "3")
    assert (early.status, early.out, early.err.count("\n")) == (2, "", 1)
    assert "autograder check 2" in early.err
    write(2, "def subsequent_mask(", "def helper():\n    return 2\n\n\ndef subsequent_mask(")
    write(3)
    result = run("assemble", "--upto", "3")
    assert result.status == 0
    assert "step03 added" in result.err
    names = re.findall(r"^(?:def|class) (\w+)", result.out, re.MULTILINE)
    pieces = ["attention", "helper_step02", "subsequent_mask", "clones", "MultiHeadedAttention"]
    assert names == ["helper", *pieces]


def test_what_cannot_be_imported_alone_is_told(run, write):
    write(1, "import math\n", "import math\nimport helpers_of_mine\n")
    result = run("assemble", "--upto", "1")
    assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
    assert "No module named 'helpers_of_mine'" in result.err


# ---------------------------------------------------------------- check


def test_a_step_is_graded_with_the_learners_own_pieces(run, write):
    write(1, "    output = p_attn @ value", "    print('my own')\n    output = p_attn @ value")
    write(2)
    write(3)
    result = run("check", "3", "--mine")
    assert result.status == 0
    assert "Pieces of your own: step01, step02" in result.out
    assert "my own" in result.out
    assert "my own" not in run("check", "3").out
    write(1, "scores / math.sqrt(d_k)", "scores / d_k")
    others = run("check", "3", "--mine")
    assert others.status == 0
    assert "transformer_ref, since yours do not pass yet: step01" in others.out
    assert json.loads(run("check", "3", "--mine", "--json").out)["passed"] is True


def test_a_file_with_pieces_of_two_steps(run, tmp_path):
    file = tmp_path / "transformer.py"
    two = (find_step(n).solution.read_text(encoding="utf-8") for n in (2, 4))
    file.write_text("\n".join(two).replace(*PLANTED), encoding="utf-8")
    result = run("check", "--file", str(file))
    assert result.status == 1
    assert "step02" in result.out and "step04" in result.out and "step01" not in result.out
    assert "17 of 20" in result.out
    assert "--file" in result.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hint", "4", "nonsense"], "parameters"),
        (["hint", "99"], "no step 99"),
        (["diff", "99"], "no step 99"),
        (["reset", "99"], "no step 99"),
        (["list", "--lang", "fr"], "no language fr"),
        (["init"], "DIR"),
        (["assemble"], "--upto"),
        (["assemble", "--upto", "99"], "no step 99"),
        (["assemble", "--upto", "2", "--from", "nobody"], "nobody"),
        (["check"], "autograder check 4"),
        (["check", "--file", "pytest.ini"], "autograder check 4 --file pytest.ini"),
        (["check", "--file", "nowhere.py"], "no file nowhere.py"),
    ],
)
def test_what_cannot_be_done_gets_one_line(run, folder, arguments: list[str], words: str):
    result = run(*arguments)
    assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
    assert words in result.err


def test_a_missing_file_is_told_with_the_command_that_writes_it(run, folder):
    (folder / "exercises/step04/feed_forward.py").unlink()
    for command in ("check", "hint", "diff"):
        result = run(command, "4")
        assert (result.status, result.out) == (2, "")
        assert "autograder reset 4" in result.err


def test_the_shell_completes_commands_steps_and_checks():
    def completed(words: str) -> list[str]:
        env = os.environ | {
            "_AUTOGRADER_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        program = "import sys; from autograder.front.command import main; sys.exit(main())"
        done = subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60
        )
        return done.stdout.split()

    assert completed("autograder check step0") == [s.name for s in all_steps() if s.number < 10]
    assert completed("autograder hint feed") == ["feed_forward"]
    assert completed("autograder hint 4 sha") == ["shape"]
    assert "assemble" in completed("autograder as")
