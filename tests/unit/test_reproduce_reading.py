"""Table files: what they mean, and which are refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from seal_ir.errors import InputError
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce.needs import DATA, GPU, Need, package
from seal_ir.reproduce.reading import read_spec
from seal_ir.reproduce.spec import Page
from tests.helpers.tables import row, step, two, write_table

SEVERAL = '''
title = "Several sets"
source = "a paper, table 1"
index = "{cache}/indexes/x"
[need.passages]
what = "21 million passages"
file = "{data}/passages.tsv"
get = "wget -P {data} https://example.org/passages.tsv"
disk_gb = 0.001
[[topics]]
name = "two"
label = "Two questions"
sample = "two.ids.txt"
measures = ["AnswerAccuracy@20", "SecondsPerQuery"]
[[topics]]
name = "first"
within = "two"
sample = "{data}/first.ids.txt"
measures = ["AnswerAccuracy@20"]
needs = ["passages"]
[[topics]]
name = "pages"
topics = "six"
qrels = "{data}/qrels/six.trec"
pages = true
measures = ["Rprec"]
[[topics]]
name = "average"
mean_of = ["two", "first"]
measures = ["AnswerAccuracy@20"]
[[step]]
command = "-m seal_ir.index --index {cache}/indexes/x"
makes = ["{cache}/indexes/x/index.json"]
needs = ["passages", "gpu", "numpy"]
[[step]]
command = """-m seal_ir.search --index {cache}/indexes/x --config {here}/a.toml
 --topics {topics} --output {out}/a.trec"""
makes = ["{out}/a.trec"]
for = ["two"]
[[row]]
system = "A"
run = "a.trec"
size_of = "{cache}/indexes/x"
published.two = { "AnswerAccuracy@20" = 76.2, "SecondsPerQuery" = 2 }
published.average = { "AnswerAccuracy@20" = 50 }
[[row]]
system = "B"
missing = "no command trains it"
source = "another paper"
published.two = { "AnswerAccuracy@20" = 8.8 }
'''


def test_sets_of_topics(places: Places, tmp_path: Path) -> None:
    spec = read_spec(write_table(tmp_path, SEVERAL), tmp_path / "results", places)
    two_, first, pages, average = spec.topics
    folder = tmp_path / "results" / "two"
    assert (two_.label, two_.source, two_.sample) == ("Two questions", "two", tmp_path / "two.ids.txt")
    assert (two_.file, two_.runs) == (folder / "two" / "topics.tsv", folder / "two")
    assert (first.label, first.source, first.runs) == ("first", "two", folder / "two")
    assert first.file == folder / "first" / "topics.tsv"
    assert first.sample == places.data / "first.ids.txt" if places.data else False
    assert (pages.source, pages.pages, pages.qrels) == ("six", True, f"{places.data}/qrels/six.trec")
    assert (average.source, average.mean_of) == ("", ("two", "first"))
    assert not folder.exists()  # reading writes nothing


def test_steps_are_done_once_or_for_each_set(places: Places, tmp_path: Path) -> None:
    spec = read_spec(write_table(tmp_path, SEVERAL), tmp_path / "results", places)
    index, search = spec.steps
    passages = Need(
        "21 million passages",
        f"wget -P {places.data} https://example.org/passages.tsv",
        file=Path(f"{places.data}/passages.tsv"),
        disk_gb=0.001,
    )
    assert (index.topics, index.needs) == ("", (passages, GPU, package("numpy")))
    assert index.makes == (places.cache / "indexes" / "x" / "index.json",)
    assert index.command[0] == sys.executable
    assert search.topics == "two"
    out = tmp_path / "results" / "two" / "two"
    assert str(search) == (
        f"python -m seal_ir.search --index {places.cache}/indexes/x --config {tmp_path}/a.toml"
        f" --topics {out}/topics.tsv --output {out}/a.trec"
    )
    everywhere = SEVERAL.replace('for = ["two"]\n', "")
    spec = read_spec(write_table(tmp_path, everywhere), tmp_path / "results", places)
    assert [made.topics for made in spec.steps] == ["", "two", "pages"]
    assert spec.rows[0].runs["pages"] == tmp_path / "results" / "two" / "pages" / "a.trec"


def test_rows(places: Places, tmp_path: Path) -> None:
    a, b = read_spec(write_table(tmp_path, SEVERAL), tmp_path / "results", places).rows
    run = tmp_path / "results" / "two" / "two" / "a.trec"
    assert a.runs == {"two": run, "first": run}  # on pages no step makes one
    assert a.published == {
        "two": {"AnswerAccuracy@20": pytest.approx(0.762), "SecondsPerQuery": 2.0},
        "average": {"AnswerAccuracy@20": 0.5},
    }
    assert a.size_of == (places.cache / "indexes" / "x",)
    assert (b.runs, b.missing, b.source) == ({}, "no command trains it", "another paper")


def test_published_figures_of_the_only_set_need_not_name_it(places: Places, tmp_path: Path) -> None:
    text = two() + row("Other", 'missing = "x"\npublished = { "Success@1" = 50, "Rprec" = 25 }')
    spec = read_spec(write_table(tmp_path, text), tmp_path, places)
    assert spec.rows[2].published == {"two": {"Success@1": 0.5, "Rprec": 0.25}}


def test_a_table_of_sizes_has_no_topics(places: Places, tmp_path: Path) -> None:
    text = 'title = "Sizes"\nmeasures = ["IndexGB"]\n' + row(
        "A", 'size_of = ["x"]\npublished = { IndexGB = 8.8 }'
    )
    (topics,) = (spec := read_spec(write_table(tmp_path, text, "sizes"), tmp_path, places)).topics
    assert (topics.name, topics.source, topics.measures) == ("sizes", "", ("IndexGB",))
    assert spec.rows[0].published == {"sizes": {"IndexGB": 8.8}}


def test_without_the_folder_of_real_data_its_steps_need_it(places: Places, tmp_path: Path) -> None:
    without = Places(None, places.collections, places.cache)
    spec = read_spec(write_table(tmp_path, two()), tmp_path, without)
    assert all(made.needs == (DATA,) for made in spec.steps)
    assert "$SEAL_IR_DATA/good.trec" in str(spec.steps[0])


FAULTS = [
    ("title", "name", "unknown key 'name'; it may hold title, note"),
    ('title = "Two systems"', "", "'title' is missing"),
    ('title = "Two', "title = Two", "not a table: "),
    ("{data}", "{nowhere}", "unknown placeholder '{nowhere}' in"),
    ("{data}", "{data", "bad placeholder"),
    ('run = "good.trec"', 'run = "other.trec"', "no step makes 'other.trec', the run of 'The good'"),
    ('run = "good.trec"', 'runs = "good.trec"', "[[row]] 1: unknown key 'runs'"),
    ('run = "good.trec"', "", "'run' is missing; without one, say in 'missing'"),
    ('run = "good.trec"', 'run = "good.trec"\nmissing = "x"', "has both run and missing"),
    ('run = "good.trec"', "run = 3", "run is 3; it must be a string"),
    ('"The half"', '"The good"', "two rows are called 'The good'"),
    ("measures", "measure", "unknown key 'measure'"),
    ('measures = ["Success@1", "Rprec"]', "", "'measures' is missing; name each once"),
    ('"Success@1", "Rprec"', '"Rprec", "Rprec"', "'measures' holds one twice"),
    ('measures = ["Success@1", "Rprec"]', "measures = 20", "measures is 20; it must be a list of strings"),
    ('name = "two"', 'name = "two sets"', "name is 'two sets'; use at most 100 letters"),
    ('name = "two"', 'name = "two"\nwithin = "one"', "'one' is no set of topics above this one"),
    ('name = "two"', 'name = "two"\npages = "yes"', "pages is 'yes'; it must be true or false"),
    ('makes = ["{out}/good.trec"]', "", "'makes' is missing; name the files"),
    (
        'makes = ["{out}/good.trec"]',
        'makes = ["{out}/good.trec"]\nfor = ["six"]',
        "'six' is no set of topics with",
    ),
    ("-c '", "-c ", "command: No closing quotation"),
    ('run = "good.trec"', 'get = "wget"\nmissing = "x"', "get says where the file of import is from"),
    ('run = "good.trec"', 'import = "{nowhere}/x"', "unknown placeholder '{nowhere}' in '{nowhere}/x'"),
    ('run = "good.trec"', "import = 3", "import is 3; it must be a string"),
    ('title = "Two', 'baseline = "BM25"\ntitle = "Two', "'BM25' is compared, but no row is called so"),
    ('title = "Two', 'compare = ["The half"]\ntitle = "Two', "'baseline' is missing"),
    ('title = "Two', 'measures = ["P@1"]\ntitle = "Two', "measures belong to [[topics]]"),
    (
        '"good.trec"\n',
        '"good.trec"\npublished = { "P@1" = 3 }\n',
        "unknown key 'P@1'; it may hold Success@1, Rprec",
    ),
    ('"good.trec"\n', '"good.trec"\npublished = { "Rprec" = "3" }\n', "Rprec is '3'; it must be a number"),
    (
        '"good.trec"\n',
        '"good.trec"\nmeasured.two = { "P@1" = 3 }\n',
        "[[row]] 1: measured: two: unknown key 'P@1'; it may hold Success@1, Rprec",
    ),
    (
        '"good.trec"\n',
        '"good.trec"\nmeasured.six = { "Rprec" = 3 }\n',
        "[[row]] 1: measured: 'six' is no set of topics of this table",
    ),
    ('"good.trec"\n', '"good.trec"\nmeasured = { "Rprec" = nan }\n', "measured: Rprec is nan; it must be"),
    ('"good.trec"\n', '"good.trec"\nmeasured = { "Rprec" = inf }\n', "measured: Rprec is inf; it must be"),
    ('"good.trec"\n', '"good.trec"\npreset = "lm"\n', "[[row]] 1: preset is for tables of keys; name it in"),
    ('title = "Two', 'keys = 0\ntitle = "Two', "keys is 0; how many of a document are shown, at least 1?"),
    ('title = "Two', 'keys = 1.5\ntitle = "Two', "keys is 1.5; how many of a document"),
    (
        'title = "Two',
        'keys = 8\nindex = "x"\ntitle = "Two',
        "has an index, and neither measures nor baseline",
    ),
    ('"good.trec"\n', '"good.trec"\ntolerance = -1\n', "[[row]] 1: tolerance is -1; it must be a number"),
    ('title = "Two', 'tolerance = "1"\ntitle = "Two', "tolerance is '1'; it must be a number"),
    (
        '"good.trec"\n',
        '"good.trec"\npublished.six = { "Rprec" = 3 }\n',
        "'six' is no set of topics of this table",
    ),
]


@pytest.mark.parametrize(("old", "new", "told"), FAULTS, ids=[fault[2] for fault in FAULTS])
def test_a_file_that_is_no_table_is_told(
    places: Places, tmp_path: Path, old: str, new: str, told: str
) -> None:
    path = write_table(tmp_path, two().replace(old, new, 1))
    with pytest.raises(InputError) as error:
        read_spec(path, tmp_path / "results", places)
    assert told in str(error.value)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('title = "x"\n', "'topics' is missing; write [[topics]]"),
        ('title = "x"\nmeasures = ["IndexGB"]\n', "'row' is missing; write [[row]]"),
        ('title = "x"\nrow = 3\nmeasures = ["IndexGB"]\n', "row is 3; it must be [[row]] sections"),
        (two() + '[[topics]]\nname = "two"\nmeasures = ["P@1"]\n', "'two' comes twice"),
        (two() + "[need.x]\nfile = 'a'\n", "'what' is missing"),
        (two() + "[need.x]\nwhat = 'a'\ndisk_gb = -1\n", "disk_gb is -1; it must be a number of at least 0"),
        (two() + step("third.trec", "good.trec", "needs = 5"), "needs is 5; it must be a list of strings"),
        (
            two() + '[[topics]]\nname = "six"\nmeasures = ["P@1"]\n' + row("X", 'import = "x.trec"'),
            "[[row]] 3: import is 'x.trec'; with several sets it names {set}",
        ),
        (two() + "[[page]]\nsystems = 'The half'\n", "[[page]] 1: 'file' is missing"),
        (two() + "[[page]]\nfile = 'x'\nsystems = ['No']\n", "1: 'No' is none of the table's systems"),
        (two() + "[[page]]\nfile = 'x'\ntopics = ['six']\n", "1: 'six' is none of the table's topics"),
        (two() + "[[page]]\nfile = 'x'\nmeasures = ['P@1']\n", "'P@1' is none of the table's measures"),
        (two() + "[[page]]\nfile = 'x'\nnote = 'y'\n", "[[page]] 1: note is for a short form"),
    ],
)
def test_tables_with_faulty_sections(places: Places, tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        read_spec(write_table(tmp_path, text), tmp_path / "results", places)
    assert told in str(error.value)


def test_a_page_lies_beside_the_table_file_and_may_have_a_part(places: Places, tmp_path: Path) -> None:
    text = two() + "[[page]]\nfile = '../a.md'\n[[page]]\nfile = 'b.md'\nmeasures = ['Rprec']\n"
    whole, short = read_spec(write_table(tmp_path, text), tmp_path / "results", places).pages
    assert (whole, whole.is_short) == (Page(tmp_path.parent / "a.md"), False)
    assert short == Page(tmp_path / "b.md", "", ("The good", "The half"), ("two",), ("Rprec",))
    assert short.is_short


def test_a_file_that_is_not_there(places: Places, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no.toml: not a table: .*No such file"):
        read_spec(tmp_path / "no.toml", tmp_path, places)
