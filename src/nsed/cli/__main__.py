"""`python -m nsed.cli` is `nsed`."""

from nsed.cli import main

if __name__ == "__main__":
    main()
