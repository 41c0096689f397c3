"""The group of commands, and how every one of them ends."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from sparsebayes import __version__
from sparsebayes.cli.ends import PIPE_CLOSED, USAGE, Ending, PipeClosedError, ending_of, said_if_interrupted
from sparsebayes.cli.screen import LONGEST_MESSAGE
from sparsebayes.report import visible

COMMANDS = {
    "train": "Fit a model to labelled rows and write it to a file.",
    "predict": "Labels or probabilities of rows, one line each.",
    "evaluate": "How well a model does on labelled rows.",
    "inspect": "What is in a model file.",
    "path": "Accuracy against size, from all features down to none.",
    "export": "A model as C or ONNX.",
    "report": "A model as a page to look at.",
    "convert": "Rows as a store of blocks, for data larger than memory.",
    "datasets": "Data sets by name.",
    "completion": "Tab completion for a shell.",
}


class Commands(click.Group):
    """Modules of the commands are imported when they are called: --help is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"sparsebayes.cli.{cmd_name}").command
        return command

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        try:
            return super().make_context(*given, **more)  # which prints --help and --version
        except BrokenPipeError:
            raise PipeClosedError from None

    def invoke(self, ctx: click.Context) -> Any:
        # Before click sees these: it would say more of the one, and call the other a failure.
        try:
            with said_if_interrupted("interrupted."):
                found = super().invoke(ctx)
                sys.stdout.flush()
                return found
        except BrokenPipeError:
            raise PipeClosedError from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: sparsebayes train rows.csv --model model.sbm",
)
@click.version_option(__version__, "-V", "--version", package_name="sparsebayes")
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
def group(debug: bool) -> None:
    """Sparse Bayesian classification: small, probabilistic models without hyperparameters."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and leave the process with its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        code = group.main(given, prog_name="sparsebayes", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "sparsebayes"
        _end(Ending(USAGE, f"{error.format_message().rstrip('.')} (see {command} --help)."))
    except (PipeClosedError, BrokenPipeError):  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_CLOSED)
    except Exception as error:
        if "--debug" in given:
            raise
        _end(ending_of(error))


def _end(ending: Ending) -> NoReturn:
    message = " ".join(ending.message.split())
    print(f"sparsebayes: {visible(message, LONGEST_MESSAGE)}", file=sys.stderr)
    sys.exit(ending.code)
