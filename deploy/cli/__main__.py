"""`python -m deploy.cli`: the same as `tidemark`."""

from deploy.cli import main

if __name__ == "__main__":
    main()
