"""Run the command line with `python -m coterie`."""

from coterie.cli.main import main

if __name__ == "__main__":
    main()
