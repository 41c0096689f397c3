"""``sparsebayes completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

EXAMPLES = """\b
Examples:
  echo 'eval "$(sparsebayes completion bash)"' >> ~/.bashrc
  sparsebayes completion fish > ~/.config/fish/completions/sparsebayes.fish"""


@click.command(help="Print what makes a shell complete commands, options and files by Tab.", epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    kind = get_completion_class(shell)
    assert kind is not None
    completion = kind(context.find_root().command, {}, "sparsebayes", "_SPARSEBAYES_COMPLETE")
    click.echo(completion.source())
