"""`nsed`, and `python -m nsed`: all commands, those of the command line and those of the web."""

from nsed.cli import main
from nsed.cli.commands import add_commands, app

SERVE = "Serve models: a page to try them, a JSON API below /api, its description at /openapi.json."
LABEL = "Ask for the most informative pairs, keep every answer at once, and write the Matcher that they teach."
add_commands(app, {"label": ("nsed.web.command:label", LABEL), "serve": ("nsed.web.command:serve", SERVE)})

__all__ = ["app", "main"]

if __name__ == "__main__":
    main()
