"""The recorded traces are what the whole path gives today."""

import pytest
from tensor_anatomy.execution import Pool
from tensor_anatomy.lessons.catalog import load
from tensor_anatomy.lessons.programs import comparable
from tensor_anatomy.record import main, run_all, write
from tensor_anatomy.settings import Settings


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_recorded_traces_are_what_the_sandbox_gives_today():
    catalog = load()
    async with Pool(Settings().limits) as pool:
        for program, trace in await run_all(catalog, pool):
            recorded = catalog.recordings.read(program)
            same = comparable(recorded) == comparable(trace)
            assert same, f"{program.key} differs from its recording: run `make record` and look at the diff"
            assert write(catalog, program, trace) == "unchanged"


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_recording_a_folder_writes_one_file_per_program(tmp_path, capsys):
    folder = tmp_path / "pages" / "01-a"
    folder.mkdir(parents=True)
    for language in ("en", "zh"):
        (folder / f"{language}.md").write_text("---\ntitle: A\ngoal: B\n---\n```trace p\n```\n")
    (folder / "p.py").write_text("import torch\nx = torch.ones(2)\n")
    assert await main(tmp_path) == 0
    assert [path.name.split(".")[:2] for path in (tmp_path / "recorded").iterdir()] == [["a", "p"]]
    assert "written" in capsys.readouterr().out
    assert await main(tmp_path) == 0
    assert "unchanged" in capsys.readouterr().out
