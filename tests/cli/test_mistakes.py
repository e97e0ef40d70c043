"""Mistakes that people make: each is answered by one or two lines that say what to do.

The first part is from a study with new users, who made 78 mistakes on purpose; the second one adds
others. A row has the words of the command, and what the message must contain.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.support.command_line import coterie

import coterie as ct

FILES = {
    "edges.csv": "source,target,weight\na,b,1\nb,c,2\nc,a,1\nc,d,3\n",
    "other.csv": "source,target\na,b\nb,c\n",
    "ratings.csv": "user,item,rating\nu1,i1,5\nu1,i2,3\nu2,i1,4\nu2,i2,1\nu3,i1,2\n",
    "nan.csv": "user,item,rating\nu1,i1,5\nu1,i2,nan\n",
    "huge.csv": "user,item,rating\nu1,i1,5\nu1,i2,1e400\n",
    "word.csv": "user,item,rating\nu1,i1,5\nu1,i2,good\n",
    "short.csv": "source,target\na,b\nc\n",
    "empty.csv": "",
    "header.csv": "source,target\n",
    "people.csv": "name,age,city\nann,31,Rome\nbob,40,Bonn\n",
    "dates.csv": "2026-01-02,ann,bob,3\n2026-01-03,bob,cat,4\n",
    "twice.csv": "source,source,target\na,b,c\n",
    "quote.csv": 'source,target\n"a,b\nc,d\n',
    "negative.csv": "source,target,weight\na,b,-1\nb,c,2\n",
    "weights.csv": "source,target,weight\na,b,1\nb,a,2\n",
    "matrix.csv": "0,1,1\n1,0,1\n1,1,0\n",
    "likes.csv": "user,item\nu1,i1\nu2,i2\n",
    "labels.csv": "node,block\nx,1\ny,2\n",
    "thousand.csv": "user;item;rating\nu1;i1;4,5\nu2;i1;1,000\n",
    "page.csv": "<!DOCTYPE html>\n<html><body>404</body></html>",
    "graph.dot": "graph {\n a -- b;\n}\n",
    "graph.json": '{"name": "x"}',
    "broken.json": "[1, 2",
    "two.net": "*Vertices 2 1\n1 a\n2 b\n*Edges\n1 2\n",
    "broken.gml": "graph [ node [ id ",
    "noid.graphml": "<graphml><graph><node/></graph></graphml>",
    "strict.toml": "[limits]\nmin_clas_size = 5\n",
    "list.txt": "",
    "films.csv": "item,year\ni1,1990\ni2,2000\n",
}

STUDY = [
    ("cluster edges.csv --blocks 2 --source Person", "no column 'Person'.*'source', 'target'"),
    ("cluster edges.csv --blocks 2 --source sorce", "did you mean 'source'"),
    ("recommend fit nan.csv --out m", r"nan\.csv, line 3: the rating 'nan'"),
    ("recommend fit huge.csv --out m", r"huge\.csv, line 3: the rating '1e400'"),
    ("recommend fit word.csv --out m", r"word\.csv, line 3: the rating 'good' is not a number"),
    ("cluster edges.csv --blocks 9", "9"),
    ("cluster edges.csv --blocks 2 --out edges.csv", "--out would replace the input"),
    ("cluster missing.csv --blocks 2", r"missing\.csv: no such file; check the name"),
    ("cluster latin.csv --blocks 2 --json", "zero bytes|UTF"),
    ("recommend top m.model --user nobody", "has no user 'nobody'.*such as"),
    ("recommend explain m.model --user u1 --item nothing", "has no item 'nothing'"),
    ("anonymize edges.csv --out r --policy strict.toml", "min_clas_size"),
    ("datasets get karat", "use one of .*did you mean 'karate'"),
    ("ledger show --dataset nothing", "nothing"),
    ("recommend top edges.csv --user u1", "is not a model|is not a coterie|model"),
    (
        "cluster edges.csv --blocks 2 --objective degree_corrected",
        "did you mean 'degree-corrected'",
    ),
    ("cluster edges.csv --blocks 2 --objective dc", "use one of simple, degree-corrected"),
    ("cluster ratings.csv --blocks 2", "two kinds of nodes.*--two-mode or --objective ratings"),
    ("anonymize ratings.csv --out r", "two kinds of nodes.*anonymize: --objective bipartite"),
    ("cluster people.csv --blocks 2", "not a list of edges.*--source and --target"),
    ("cluster dates.csv --blocks 2", "is the source.*--source .*--no-header"),
    ("cluster edges.csv", "--blocks is required: number of blocks"),
    ("soft edges.csv", "--groups is required: number of groups"),
    ("anonymize edges.csv", "--out is required: folder to publish"),
    ("shard edges.csv", "--out is required: new folder"),
    ("recommend fit ratings.csv", "--out is required: model file"),
    ("attack edges.csv other.csv", "--truth is required: .*anonymize --research-truth"),
    ("cluster m.model --blocks 2", "zero bytes"),
    ("cluster edges.csv --blocks 2 --out /nowhere/labels.csv", "no folder /nowhere; create"),
    ("cluster edges.csv --blocks 2 --report /nowhere/r.html", "no folder /nowhere"),
    ("cluster edges.csv --blocks 2,3", "two kinds of nodes.*add --two-mode"),
    (
        "cluster edges.csv --blocks 2 --report r.pdff",
        r"--report cannot be a .pdff.*\.html, \.htm, \.pdf",
    ),
    ("cluster edges.csv --blocks 2 --plot p.bmp", r"\.svg"),
    ("cluster edges.csv --blocks 2 --out x.bmp", r"\.csv.*\.graphml"),
    ("cluster edges.csv --blocks 2 --out x.net", r"\.csv.*\.graphml"),
    ("cluster . --blocks 2", "folder"),
    ("cluster graph.dot --blocks 2", "Graphviz.*GraphML"),
    ("recommend predict m.model empty.csv --out p.csv", "empty|no pairs|no rows"),
    ("cluster header.csv --blocks 2", "there are no edges; give one line per edge"),
    ("cluster empty.csv --blocks 2", "there are no edges"),
]

OWN = [
    ("cluster short.csv --blocks 2", r"short\.csv, line 3: 1 field, but 2 are needed"),
    ("cluster twice.csv --blocks 2", "two columns of the header have the name 'source'"),
    ("cluster quote.csv --blocks 2", r"quote\.csv, line 2: a quote is not closed"),
    ("cluster negative.csv --blocks 2 --objective weighted", "line 2: the weight -1 is negative"),
    ("cluster weights.csv --blocks 2 --objective weighted", "weight 2 differs from 1 in line 2"),
    ("cluster matrix.csv --blocks 2", "adjacency matrix or a list of edges.*--format"),
    ("cluster page.csv --blocks 2", "HTML page.*download the file itself"),
    ("cluster graph.json --blocks 2", "not a graph that coterie knows; use node-link"),
    ("cluster broken.json --blocks 2", "not valid JSON"),
    ("cluster two.net --blocks 2", "two-mode network"),
    ("cluster broken.gml --blocks 2", "not a key with a value|bracket"),
    ("cluster noid.graphml --blocks 2", "a <node> has no id"),
    ("cluster edges.csv --blocks 0", "is not a positive number; give K"),
    ("cluster edges.csv --blocks two", "--blocks two is not a positive number"),
    ("cluster edges.csv --blocks 1,2,3", "is not a positive number"),
    ("cluster edges.csv --blocks 2 --format exel", "unknown format 'exel'.*did you mean 'excel'"),
    ("cluster edges.csv --blocks 2 --sheet Calls", "has no sheets; leave out --sheet"),
    ("cluster edges.csv --blocks 2 --weight weight", "set --objective weighted, or leave out"),
    ("cluster edges.csv --blocks 2 --user source", "--user applies to ratings"),
    ("cluster edges.csv --blocks 2 --source source --target source", "one column is chosen twice"),
    ("cluster edges.csv --blocks 2 --resume", "--resume requires the file.*--checkpoint FILE"),
    ("cluster edges.csv --blocks 2 --scheduler tcp://x:1", "--scheduler requires Dask.*--engine"),
    ("cluster edges.csv --blocks 2 --truth labels.csv", "no node of this file is in the graph"),
    ("cluster edges.csv --blocks 2 --truth missing.csv", "missing.csv: no such file"),
    ("cluster edges.csv --blocks 2 --out o.csv --checkpoint o.csv", "name the same file"),
    (
        "cluster ratings.csv --blocks 2 --samples 2 --objective ratings",
        "--samples does not support",
    ),
    ("cluster ratings.csv --blocks 2 --objective ratings --predict-links 3", "needs a graph"),
    ("cluster edges.csv --blocks 2 --search bests", "did you mean 'best'"),
    ("cluster edges.csv --blocks 2 --engine local-threads", "use one of local, dask"),
    ("cluster edges.csv --blocks 2 --separator #", "separator '#' cannot be used"),
    ("soft edges.csv --groups 2 --samples 5", "--samples has no effect.*--method monte-carlo"),
    ("soft edges.csv --groups -1", "is not a positive number"),
    ("soft edges.csv --groups 2 --method exakt", "did you mean 'exact'"),
    ("recommend fit likes.csv --out m2", "2 fields, but 3 are needed|no rating.*--likes|likes"),
    ("recommend fit thousand.csv --out m2", "line 3: the rating '1,000' can be read in two ways"),
    ("recommend fit ratings.csv --out m2 --model bst", "did you mean 'best'"),
    (
        "recommend fit ratings.csv --out m2 --model hard --user-features films.csv",
        "use --model best",
    ),
    ("recommend fit ratings.csv --out m2 --groups 2,x", "is not a positive number"),
    ("recommend top m.model", "no user given; add --user ID"),
    ("recommend top m.model --users all", "--users requires a file for the lists"),
    ("recommend top m.model --user u1 --users all --out t.csv", "cannot be combined"),
    ("recommend top m.model --user u1 --candidates list.txt", "lists no ids; write one id per"),
    ("recommend top m.model --user u1 --where year>=1990", "--where requires a table of features"),
    ("recommend top m.model --user u1 --items films.csv", "--items requires a condition"),
    ("recommend top m.model --user u1 --items films.csv --where yer=1990", "no column 'yer'"),
    (
        "recommend top m.model --user u1 --items films.csv --where year~9",
        "is not understood; write",
    ),
    ("recommend similar m.model", "give either --item ID or --user ID"),
    ("recommend similar m.model --item nothing", "has no item 'nothing'"),
    ("recommend evaluate", "give RATINGS to divide into folds"),
    ("recommend evaluate ratings.csv --train ratings.csv --test ratings.csv", "give RATINGS"),
    ("recommend evaluate ratings.csv --top ten", "--top 'ten' is not a list of lengths"),
    ("recommend evaluate ratings.csv --test-last 2", "--test-last requires --split last-n"),
    ("recommend evaluate ratings.csv --split tme", "did you mean 'time'"),
    ("recommend predict m.model missing.csv", "missing.csv: no such file"),
    ("compare edges.csv missing.csv", "missing.csv: no such file"),
    ("compare edges.csv other.csv --attributes people.csv", "give both --attributes and"),
    ("shard edges.csv --out edges.csv", "also an input"),
    ("anonymize edges.csv --out r --epsilon 1", "use `coterie sketch` and `coterie draw`"),
    ("anonymize edges.csv --out r --objective undirected", "did you mean 'directed'"),
    ("anonymize edges.csv --out r --model dscbm", "did you mean 'dcsbm'"),
    ("draw missing.sketch --out d", "cannot be read: No such file"),
    ("draw edges.csv --out d", "is not a sketch|sketch"),
    ("sketch", "no GRAPH given; give an edge list, or --show FILE"),
    ("datasets path nothing", "unknown data set 'nothing'"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mistakes")
    for name, content in FILES.items():
        (made / name).write_text(content)
    (made / "latin.csv").write_bytes(b"source,target\n\x00,b\n")
    ratings = ct.read_ratings(made / "ratings.csv")
    ct.Recommender(ct.MMSBM(n_groups=2, max_iter=2)).fit(ratings).save(made / "m.model")
    return made


@pytest.mark.parametrize(("words", "pattern"), STUDY + OWN, ids=[row[0] for row in STUDY + OWN])
def test_a_mistake_is_answered(folder: Path, words: str, pattern: str) -> None:
    before = sorted(file.name for file in folder.iterdir())
    environment = {"COTERIE_STATE": str(folder / "state")}
    done = coterie(*words.split(), folder=folder, environment=environment)
    assert done.returncode == 2, done.stderr + done.stdout
    message = [line for line in done.stderr.splitlines() if line.startswith("coterie: ")]
    assert len(message) == 1 and "Traceback" not in done.stderr, done.stderr
    assert re.search(pattern, message[0]), message[0]
    assert "n_blocks" not in message[0] and "rng" not in message[0]
    left = sorted(file.name for file in folder.iterdir())
    assert [name for name in left if name not in before and name != "state"] == []
    again = coterie(*words.split(), *["--json"] * ("--json" not in words), folder=folder,
                    environment=environment)  # fmt: skip
    answer = json.loads(again.stdout)
    assert answer["exit_code"] == again.returncode == 2
    assert f"coterie: {answer['error']['message']}" == message[0]


def test_a_misspelt_option_is_json_too() -> None:
    done = coterie("doctor", "--jsn", "--json")
    assert done.returncode == 2
    assert "No such option: --jsn" in json.loads(done.stdout)["error"]["message"]
