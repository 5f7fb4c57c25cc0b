"""`python -m deploy.cli`: the same as the installed `tidemark`."""

from deploy.cli import main

if __name__ == "__main__":
    main()
