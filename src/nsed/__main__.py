"""`nsed`, and `python -m nsed`: all commands, those of the command line and that of the web."""

from nsed.cli import main
from nsed.cli.commands import add_commands, app

SERVE = "Serve models: a page to try them, a JSON API below /api, its description at /openapi.json."
add_commands(app, {"serve": ("nsed.web.command:serve", SERVE)})

__all__ = ["app", "main"]

if __name__ == "__main__":
    main()
