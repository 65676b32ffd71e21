"""``mst completion``: a script for a shell, printed from the commands' own arguments."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping

HELP = "print a script that completes commands and options in bash, zsh or fish"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=("bash", "zsh", "fish"), help='for instance: eval "$(mst completion bash)"'
    )


def run(arguments: argparse.Namespace) -> int:
    from mst.commands._parsers import EVERYWHERE, commands, parser

    known = commands()
    options = {}
    for name, (module, _) in known.items():
        found = parser(name, importlib.import_module(f"mst.commands.{module}"))
        options[name] = sorted({*found._option_string_actions, *EVERYWHERE} - {"-h"})
    helps = {name: text for name, (_, text) in known.items()}
    print(_fish(options, helps) if arguments.shell == "fish" else _bash(options, zsh=arguments.shell == "zsh"))
    return 0


def _bash(options: Mapping[str, list[str]], *, zsh: bool) -> str:
    """Return a script for bash, or for zsh, which reads it through its own emulation."""
    cases = [f"    {name}) words='{' '.join(words)}' ;;" for name, words in options.items()]
    lines = [
        *(["autoload -U +X compinit bashcompinit && compinit -u && bashcompinit"] if zsh else []),
        "_mst() {",
        "  local words='' current=${COMP_WORDS[COMP_CWORD]}",
        "  case ${COMP_WORDS[1]} in",
        *cases,
        "  esac",
        f"  if [ $COMP_CWORD = 1 ]; then words='{' '.join(options)}'",
        "  elif [[ $current != -* ]]; then words=''; fi",
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "}",
        "complete -o default -F _mst mst",
    ]
    return "\n".join(lines)


def _fish(options: Mapping[str, list[str]], helps: Mapping[str, str]) -> str:
    lines = [
        f"complete -c mst -n __fish_use_subcommand -f -a {name} -d '{helps[name].replace(chr(39), '')}'"
        for name in options
    ]
    for name, words in options.items():
        seen = f"complete -c mst -n '__fish_seen_subcommand_from {name}'"
        lines += [f"{seen} -l {word.removeprefix('--')}" for word in words if word.startswith("--")]
    return "\n".join(lines)
