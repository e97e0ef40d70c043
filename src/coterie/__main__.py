"""The start of the command line: `coterie`, and `python -m coterie`."""

import sys

from coterie.base.early_interrupt import INTERRUPTED, back_to_usual


def main() -> None:
    """Run the command line; Ctrl-C while it is being loaded ends it quietly too."""
    try:
        from coterie.cli.main import main as run

        back_to_usual()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
