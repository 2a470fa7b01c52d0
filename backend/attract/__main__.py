"""`python -m attract`: the same as the `attract` command."""

from attract.cli import main

if __name__ == "__main__":
    main()
