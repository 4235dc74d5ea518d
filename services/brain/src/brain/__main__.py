"""`python -m brain` is `brain`."""

from brain.main import main

if __name__ == "__main__":
    main()
