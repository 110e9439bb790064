"""Programs that are traced, as files: S1 to S5 are those of the tests, the others are for one target each."""

from pathlib import Path

HERE = Path(__file__).parent

S1, S2, S3, S4, S5 = "mlp", "views", "matmul", "inplace", "train"


def source_of(name: str) -> str:
    """The text of a program."""
    return (HERE / f"{name}.py").read_text()
