"""``python -m continua``, and the program that ``spark-submit`` is given: the command line."""

from continua.cli.main import main

if __name__ == "__main__":
    main(prog_name="continua")
