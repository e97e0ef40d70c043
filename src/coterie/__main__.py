"""The start of the command line: `coterie`, and `python -m coterie`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is being loaded ends it quietly too."""
    try:
        from coterie.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
