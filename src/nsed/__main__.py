"""`nsed`, and `python -m nsed`: all commands, those of the command line and that of the web."""

from nsed.cli import main
from nsed.cli.main import app
from nsed.web.command import serve

app.command()(serve)

__all__ = ["app", "main"]

if __name__ == "__main__":
    main()
