"""``python -m d3stats`` is the ``d3stats`` program."""

from d3stats.cli import app

if __name__ == "__main__":
    app(prog_name="d3stats")
