"""The command `install-helper` and its subcommands."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import install_helper
from install_helper import explain, findings, formats, render, smoke
from install_helper.cases import LEVELS, all_cases
from install_helper.host import Description
from install_helper.plan import Plan, Request, solve
from install_helper.reading import Reading

HEALTHY, PROBLEMS, CANNOT = 0, 1, 2
DESCRIPTION = "install-helper.json"
CUDA = ("auto", "12", "13", "local", "none")


class Refusal(Exception):
    """What was asked for cannot be done; the message says what is possible instead."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Print the sentence and leave with status 2."""
        self.exit(CANNOT, f"{self.prog}: {message}; see '{self.prog} --help'\n")


def parser() -> Parser:
    """The options of every subcommand."""
    top = Parser(
        prog="install-helper",
        allow_abbrev=False,
        description="Find what is wrong with an accelerator set-up, and what to install. "
        "Without a subcommand: list the pieces that this Python has.",
    )
    version = f"%(prog)s {install_helper.__version__}"
    top.add_argument("--version", action="version", version=version)
    commands = top.add_subparsers(dest="subcommand", metavar="COMMAND", parser_class=Parser)
    _add_doctor(commands.add_parser("doctor", help="look for problems", allow_abbrev=False))
    plan = commands.add_parser("plan", help="print what to install", allow_abbrev=False)
    _add_plan(plan)
    plan.add_argument("--format", choices=formats.FORMATS, default="command")
    plan.add_argument("--json", action="store_true", help="print JSON")
    run = commands.add_parser("install", help="install what plan prints", allow_abbrev=False)
    _add_plan(run)
    run.add_argument("--yes", action="store_true", help="do not ask")
    run.add_argument("--dry-run", action="store_true", help="print, and run nothing")
    about = commands.add_parser("explain", help="explain a case, or a message", allow_abbrev=False)
    about.add_argument("text", nargs="*", help="an id such as C13, or words; - reads a log")
    _add_color(about)
    bundle = commands.add_parser("report", help="a text for bug reports", allow_abbrev=False)
    _add_machine(bundle)
    return top


def _add_machine(target: argparse.ArgumentParser) -> None:
    target.add_argument("--root", metavar="DIR", help="inspect the system mounted there")
    target.add_argument(
        "--run-programs",
        action="store_true",
        help="with --root: run its programs too (for simulated systems)",
    )
    target.add_argument("--interpreter", metavar="EXE", help="examine this Python")
    target.add_argument(
        "--for",
        dest="framework",
        choices=("covector", "jax"),
        help="whose extras the commands name",
    )
    _add_color(target)


def _add_color(target: argparse.ArgumentParser) -> None:
    target.add_argument("--color", choices=("auto", "always", "never"), default="auto")


def _add_doctor(target: argparse.ArgumentParser) -> None:
    _add_machine(target)
    target.add_argument("--json", action="store_true", help="print JSON")
    target.add_argument("--verbose", action="store_true", help="print every fact too")
    either = target.add_mutually_exclusive_group()
    either.add_argument(
        "--smoke",
        action="store_true",
        default=None,
        help="load jaxlib and run small programs in a process of its own",
    )
    either.add_argument("--no-smoke", action="store_false", dest="smoke", help="do not")
    target.add_argument(
        "--smoke-seconds",
        type=_seconds,
        default=smoke.SECONDS,
        metavar="S",
        help="time limit of the smoke run",
    )


def _add_plan(target: argparse.ArgumentParser) -> None:
    _add_machine(target)
    target.add_argument("--cuda", choices=CUDA, default="auto")
    target.add_argument("--tpu", action="store_true")
    target.add_argument("--rocm", action="store_true")
    target.add_argument("--python", metavar="X.Y", help="plan for another Python")
    target.add_argument("--offline-wheels", metavar="DIR", help="install from wheels in DIR only")


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 1 to 3600")
    return value


def load_root(root: str) -> tuple[Description, dict[str, str]]:
    """The description of a simulated system in its root, empty where there is none."""
    try:
        with open(os.path.join(root, DESCRIPTION), encoding="utf-8") as file:
            row = json.load(file)
        env = {str(k): str(v) for k, v in (row.pop("env", None) or {}).items()}
        known = {k: v for k, v in row.items() if k in Description.__dataclass_fields__}
        for name in ("libc", "denied"):
            if known.get(name) is not None:
                known[name] = tuple(known[name])
        return Description(**known), env
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return Description(), {}


def read(options: argparse.Namespace) -> Reading:
    """Read the machine that the options name. Raises Refusal where it cannot be read."""
    described, env = load_root(options.root) if options.root else (None, None)
    try:
        facts = install_helper.inspect(
            options.root,
            env=env,
            interpreter=options.interpreter,
            description=described,
            run_programs=True if options.run_programs else None,
        )
    except ValueError as error:
        raise Refusal(str(error).replace("inspect: ", "")) from None
    return Reading(facts, options.framework)


def uses_color(choice: str) -> bool:
    """Whether to print colors."""
    if choice == "auto":
        return sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return choice == "always"


def say(text: str) -> None:
    """Print a text, whatever the stream can hold."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    sys.stdout.flush()


def doctor(options: argparse.Namespace) -> int:
    """Report what is wrong; 0 healthy, 1 problems."""
    reading = read(options)
    if options.smoke and options.root:
        raise Refusal("--smoke runs this machine's packages; with --root there is nothing to run.")
    run_it = options.smoke or (options.smoke is None and wants_smoke(reading, options))
    found, run = examine(reading, options.smoke_seconds if run_it else None)
    plan = solve(reading, Request(framework=options.framework))
    if options.json:
        ending = {"state": run.state, "stage": run.stage, "stages": run.stages} if run else None
        say(json.dumps(render.doctor_dict(reading, found, plan, ending), indent=1))
    else:
        say(
            render.doctor_text(
                reading,
                found,
                plan,
                smoke=run.summary if run else "",
                verbose=options.verbose,
                color=uses_color(options.color),
            )
        )
    return PROBLEMS if any(item.level in ("error", "warn") for item in found) else HEALTHY


def examine(
    reading: Reading, smoke_seconds: float | None
) -> tuple[list[findings.Finding], smoke.Smoke | None]:
    """What the rules and, within a time limit, the smoke run find."""
    found = findings.diagnose(reading.facts, reading.framework)
    if smoke_seconds is None:
        return found, None
    run = smoke.smoke(reading, smoke_seconds)
    known = {item.id for item in found}
    found += [item for item in smoke.findings(run) if item.id not in known]
    return sorted(found, key=lambda item: LEVELS.index(item.level)), run


def wants_smoke(reading: Reading, options: argparse.Namespace) -> bool:
    """Whether a smoke run is made without being asked for: here, and with an accelerator."""
    return len(smoke.platforms(reading)) > 1 and not options.root


def make_plan(options: argparse.Namespace, reading: Reading) -> Plan:
    """The plan that the options ask for. Raises Refusal where nothing fits."""
    if sum((options.tpu, options.rocm, options.cuda not in ("auto", "none"))) > 1:
        raise Refusal("--cuda, --tpu and --rocm exclude each other; give one of them.")
    python = options.python
    if python is not None and not _is_python(python):
        raise Refusal(f"--python {python} is no version such as 3.13.")
    plan = solve(
        reading, Request(options.cuda, options.tpu, options.rocm, python, options.framework)
    )
    if not plan.fits:
        raise Refusal(" ".join(plan.blocked))
    folder = options.offline_wheels
    if not folder:
        return plan
    from install_helper.offline import offline

    try:
        return offline(reading, plan, folder)
    except OSError as error:
        raise Refusal(f"--offline-wheels {folder} cannot be read ({error.strerror}).") from None
    except LookupError as error:
        raise Refusal(str(error)) from None


def _is_python(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 2 and all(part.isdigit() and len(part) < 4 for part in parts)


def plan(options: argparse.Namespace) -> int:
    """Print a plan."""
    made = make_plan(options, read(options))
    if options.json:
        say(json.dumps({"schema_version": 1, **render.plan_dict(made)}, indent=1))
    elif options.format == "command":
        say("\n".join(render.plan_lines(made, uses_color(options.color))))
        say("Resolved:")
        for line in made.resolved:
            say(f"  {line}")
    else:
        try:
            say(formats.WRITERS[options.format](made))
        except ValueError as error:
            raise Refusal(str(error)) from None
    return HEALTHY


def install(options: argparse.Namespace) -> int:
    """Show a plan, ask, carry it out, and look at the result."""
    from install_helper import installing

    if options.root:
        raise Refusal("install works on this machine; with --root use plan.")
    if options.python:
        raise Refusal("install works on the Python that --interpreter names; use plan --python.")
    reading = read(options)
    made = make_plan(options, reading)
    say("\n".join(render.plan_lines(made, uses_color(options.color))))
    if options.dry_run:
        return HEALTHY
    if reading.facts.python.externally_managed and reading.facts.python.environment == "system":
        raise Refusal(
            "This Python belongs to the system; make an environment with "
            "'python3 -m venv .venv' and give --interpreter .venv/bin/python."
        )
    if not options.yes and not agreed():
        say("Nothing was changed.")
        return HEALTHY
    if installing.carry_out(reading, made, say):
        return PROBLEMS
    after = read(options)
    found, run = examine(after, smoke.SECONDS if wants_smoke(after, options) else None)
    if run:
        say(f"Smoke run {run.summary}")
    say(render.count_text(found, False))
    for item in found:
        say(render.finding_text(item, uses_color(options.color)))
    return PROBLEMS if any(item.level == "error" for item in found) else HEALTHY


def agreed() -> bool:
    """Ask; anything but yes is no."""
    if not sys.stdin or not sys.stdin.isatty():
        raise Refusal("There is no terminal to ask on; give --yes, or --dry-run to look only.")
    return input("Run this? [y/N] ").strip().lower() in ("y", "yes")


def explain_text(options: argparse.Namespace) -> int:
    """Explain an id or a message."""
    text = " ".join(options.text)
    if text in ("", "-"):
        if not text and (not sys.stdin or sys.stdin.isatty()):
            for case in findings_by_id():
                say(f"{case.id}  {case.level:<6}{case.title}")
            return HEALTHY
        text = tail(sys.stdin.buffer)
    elif len(options.text) == 1 and os.path.isfile(text):
        try:
            with open(text, "rb") as file:
                text = tail(file)
        except OSError as error:
            raise Refusal(f"{text} cannot be read ({error.strerror}).") from None
    shown, known = explain.explain(text, uses_color(options.color))
    say(shown)
    return HEALTHY if known else PROBLEMS


def tail(file: Any, size: int = 4_000_000) -> str:
    """The end of a log, where its error is, whatever its length."""
    kept = b""
    while True:
        chunk = file.read(1 << 16)
        if not chunk:
            return kept.decode("utf-8", "replace")
        kept = (kept + chunk)[-size:] if len(kept) > 2 * size else kept + chunk


def findings_by_id() -> Sequence[Any]:
    """Every case, in order."""
    return list(all_cases().values())


def bundle(options: argparse.Namespace) -> int:
    """Print a redacted report."""
    from install_helper import report

    reading = read(options)
    found = findings.diagnose(reading.facts, reading.framework)
    made = solve(reading, Request(framework=options.framework))
    # Before the text is made: wrapped lines would hide what belongs together.
    facts, found, made = report.redacted(reading.facts, found, made)
    text = render.doctor_text(Reading(facts, reading.framework), found, made, verbose=True)
    say(f"install-helper {install_helper.__version__}\n{report.redact(text)}")
    return HEALTHY


def pieces() -> int:
    """List the pieces of this Python."""
    say(f"Python {platform.python_version()} on {platform.platform()}")
    for name, version in install_helper.installed_versions().items():
        say(f"{name:26}{version or '-'}")
    say("To look for problems: install-helper doctor")
    return HEALTHY


ACTIONS = {
    "doctor": doctor,
    "plan": plan,
    "install": install,
    "explain": explain_text,
    "report": bundle,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = parser().parse_args(arguments)
    if options.subcommand is None:
        return pieces()
    try:
        return ACTIONS[options.subcommand](options)
    except Refusal as refusal:
        print(f"install-helper {options.subcommand}: {refusal}", file=sys.stderr)
        return CANNOT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return HEALTHY
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # a fault of ours must not look like a fault of the machine
        print(
            f"install-helper {options.subcommand}: could not inspect: {_fault(error)}; "
            "please report this line.",
            file=sys.stderr,
        )
        return CANNOT


def _fault(error: Exception) -> str:
    """An unexpected error and the line of ours that raised it."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = (
        f"{os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}" if frame else "?"
    )
    return f"{type(error).__name__} in {where}"
