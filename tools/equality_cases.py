"""The commands that tools/equality.py records, in groups that share a folder.

A command may write files that a later command of its group reads. `@` stands for the folder with
the data of tools/equality_data.py, `$` for COTERIE_DATA. A tuple gives several forms of one
command: the next one is run if the version does not know an option or command of the last.
`python NAME` runs the function of this name in tools/equality_python.py.
"""

from __future__ import annotations

Form = str | tuple[str, ...]

_FIT = "recommend fit @/ratings.csv --out m.coterie --json"
_ASK = (
    "recommend predict m.coterie @/pairs.csv --out predictions.csv --json",
    "recommend predict m.coterie @/pairs.csv",
    "recommend top m.coterie --user u1 -n 5 --json",
    "recommend top m.coterie --users all --out lists.csv --json",
    "recommend explain m.coterie --user u1 --item 103 --json",
    "recommend similar m.coterie --item 103 -n 5 --json",
)
_RELEASE = "anonymize @/people.csv --out r --json --blocks 6"


def _both(option: str) -> tuple[str, str]:
    """Return a command before and after `--score` was renamed."""
    command = f"cluster @/graph.csv --blocks 4 --search paper --json --score {option}"
    return command, command.replace("--score", "--move-score")


CLUSTER: dict[str, list[Form]] = {
    "cluster": [
        "cluster @/graph.csv --blocks 4 --json --out a.csv --report a.html --truth @/truth.csv",
        "cluster @/graph.csv --blocks 4 --threads 1 --json --out b.csv",
        "cluster @/graph.csv --blocks 4 --threads 2 --json --out c.csv",
        "cluster @/graph.csv --blocks 4 --search paper --runs 3 --seed 5 --json --out d.csv",
        "cluster @/graph.csv --blocks 4 --search paper --alpha 1 --tol 0 --iterations 20 --json",
        _both("fixed"),
        _both("exact"),
        "cluster @/graph.csv --blocks 5 --min-block-size 15 --json --out e.csv",
        "cluster @/graph.csv --blocks 5 --connected --json --out f.csv",
        "cluster @/graph.csv --blocks 4 --predict-links 8 --json",
        "cluster @/graph.csv --blocks 4 --samples 5 --json --out g.csv --report g.html",
        "cluster @/graph.csv --blocks 4 --out h.csv",
    ],
    "cluster-objectives": [
        "cluster @/graph.csv --blocks 4 --objective degree-corrected --json --out a.csv",
        "cluster @/directed.csv --blocks 4 --objective directed --json --out b.csv --report b.html",
        "cluster @/weighted.csv --blocks 4 --objective weighted --json --out c.csv --report c.html",
        "cluster @/ratings.csv --blocks 4,3 --objective ratings --json --out d.csv --report d.html",
        "cluster @/ratings.csv --blocks 3 --objective binomial --json --out e.csv",
        "cluster @/likes.csv --blocks 3 --objective likes --json --out f.csv",
        "cluster @/ratings.csv --blocks 3 --objective ratings --search paper --json --out g.csv",
        "cluster @/directed.csv --blocks 4 --objective directed --search paper --json",
        "cluster @/weighted.csv --blocks 4 --objective weighted --search paper --json",
        *(
            f"cluster @/measured.csv --blocks 4 --objective weighted --weights {weights} --json"
            for weights in ("normal", "lognormal", "exponential")
        ),
        "cluster @/measured.csv --blocks 4 --objective directed --weights normal --json",
        "cluster @/measured.csv --blocks 4 --objective degree-corrected --weights normal --json",
    ],
    "describe": [
        *(
            f"cluster @/graph.csv --blocks auto --objective {objective} --json"
            f" --out {objective}.csv --report {objective}.html"
            for objective in ("simple", "degree-corrected", "communities", "auto")
        ),
        *(
            f"cluster @/graph.csv --blocks nested --objective {objective} --json"
            f" --out nested-{objective}.csv --report nested-{objective}.html"
            for objective in ("simple", "degree-corrected", "auto")
        ),
        "cluster @/directed.csv --blocks auto --objective directed --json --out a.csv",
        "cluster @/directed.csv --blocks auto --objective directed-degree-corrected --json",
        "cluster @/weighted.csv --blocks auto --objective weighted --json --out b.csv",
        "cluster @/measured.csv --blocks auto --objective weighted --weights normal --json",
        "cluster @/ratings.csv --blocks auto --objective ratings --json --out c.csv",
        "cluster @/ratings.csv --blocks auto --objective binomial --json --out d.csv",
        "cluster @/graph.csv --blocks auto --compare-models --json --report e.html",
        "cluster @/directed.csv --blocks auto --objective directed --compare-models --json",
        "cluster @/graph.csv --blocks auto --samples 5 --json --out f.csv --report f.html",
        "cluster @/graph.csv --blocks auto --connected --json --out g.csv",
        "cluster @/graph.csv --blocks auto --threads 1 --json --out h.csv",
        "cluster @/graph.csv --blocks auto --threads 2 --json --out i.csv",
        "cluster @/people.csv --blocks nested --objective degree-corrected --json --out j.csv",
        "cluster @/people.csv --blocks auto --objective communities --predict-links 5 --json",
    ],
    "soft": [
        "soft @/graph.csv --groups 3 --json --out a.csv --report a.html",
        "soft @/graph.csv --groups 3 --threads 1 --json --out b.csv",
        "soft @/graph.csv --groups 3 --threads 2 --init random --runs 2 --json --out c.csv",
        "soft @/graph.csv --groups 3 --method monte-carlo --samples 10 --iterations 30 --json",
        "soft @/graph.csv --groups 3 --absent-pairs sampled --prior 0.1 --json",
        "soft @/directed.csv --groups 3 --objective directed --json --out d.csv",
        "soft @/weighted.csv --groups 3 --objective weighted --json --out e.csv",
        "soft @/weighted.csv --groups 3 --objective weighted --absent-pairs ignored --json",
        "soft @/ratings.csv --groups 3,2 --objective ratings --json --out f.csv --report f.html",
        "soft @/ratings.csv --groups 3 --objective ratings --method monte-carlo --iterations 30",
    ],
    "read": [
        *(
            f"cluster @/{name} --blocks 3 --json --out {name}.csv"
            for name in (
                *("spaces.txt.gz", "graph.json", "graph.mtx", "graph.net", "graph.gml"),
                *("graph.graphml", "matrix.csv"),
            )
        ),
        "cluster @/columns.csv --source 'Person A' --target 'Person B' --blocks 3 --json",
        "cluster @/graph.csv --blocks 3 --dry-run",
        "recommend fit @/ratings.csv --out x --dry-run",
        "cluster @/broken.csv --blocks 3",
        "cluster @/nothing.csv --blocks 3",
        "cluster @/graph.csv --blocks 0",
        "compare @/graph.csv @/people.csv --json",
        "compare @/graph.csv @/graph.csv --full --json",
        "compare @/directed.csv @/directed.csv --objective directed",
    ],
    "resume": [
        "cluster @/graph.csv --blocks 4 --search paper --iterations 4 --checkpoint a.ckpt --json",
        "cluster @/graph.csv --blocks 4 --search paper --checkpoint a.ckpt --resume --json",
        "cluster @/graph.csv --blocks auto --checkpoint b.ckpt --json",
        "cluster @/graph.csv --blocks auto --checkpoint b.ckpt --resume --json --out b.csv",
        "soft @/graph.csv --groups 3 --iterations 5 --checkpoint c.ckpt --json",
        "soft @/graph.csv --groups 3 --checkpoint c.ckpt --resume --json --out c.csv",
        f"{_FIT} --model mmsbm --groups 3 --iterations 10 --checkpoint d.ckpt",
        f"{_FIT} --model mmsbm --groups 3 --iterations 40 --checkpoint d.ckpt --resume",
        f"{_FIT} --iterations 30 --runs 2 --checkpoint e.ckpt",
        f"{_FIT} --iterations 30 --runs 2 --checkpoint e.ckpt --resume",
    ],
    "shards": [
        "shard @/graph.csv --out g --shards 3 --json",
        "shard @/ratings.csv --out r --objective ratings --shards 3 --json",
        "cluster g --blocks 4 --search paper --iterations 20 --json --out a.csv",
        "cluster g --blocks 4 --json --out b.csv",
        "soft g --groups 3 --iterations 20 --json --out c.csv",
        "recommend fit r --model mmsbm --groups 3 --iterations 20 --out m.coterie --json",
    ],
    "dask": [
        "shard @/graph.csv --out g --shards 2 --json",
        "cluster g --blocks 4 --search paper --iterations 20 --engine dask --threads 2 --json",
        "cluster @/graph.csv --blocks 4 --engine dask --threads 2 --json --out a.csv",
        "soft @/graph.csv --groups 3 --iterations 20 --engine dask --threads 2 --json --out b.csv",
        f"{_FIT} --model mmsbm --groups 3 --iterations 20 --engine dask --threads 2",
        f"{_FIT} --iterations 20 --runs 2 --engine dask --threads 2",
    ],
}

RECOMMEND: dict[str, list[Form]] = {
    "recommend-best": [
        f"{_FIT} --iterations 60 --runs 2",
        *_ASK,
        "recommend top m.coterie --user u1 --order rating --rated --titles @/titles.csv --json",
        "recommend top m.coterie --user u1 --order interaction",
        "recommend top m.coterie --user u2 --candidates @/some-items.csv --json",
        "recommend top m.coterie --user u2 --exclude @/some-items.csv --json",
        "recommend top m.coterie --user u2 --items @/items.csv --where year>=1980 --json",
        "recommend top m.coterie --users @/some-users.csv --out few.csv --json",
        "recommend top m.coterie --ratings @/own.csv --json",
        "recommend explain m.coterie --user u1 --item 103 --titles @/titles.csv",
        "recommend similar m.coterie --user u3 --json",
    ],
    "recommend-mmsbm": [f"{_FIT} --model mmsbm --groups 3,2 --runs 2 --negatives 0.5", *_ASK],
    "recommend-mcmmsbm": [f"{_FIT} --model mcmmsbm --groups 3 --iterations 30 --samples 9", *_ASK],
    "recommend-hard": [f"{_FIT} --model hard --groups 3,4", *_ASK],
    "recommend-likes": [
        "recommend fit @/likes.csv --likes --out m.coterie --iterations 60 --runs 2 --json",
        *_ASK,
    ],
    "recommend-features": [
        f"{_FIT} --iterations 60 --runs 2 --user-features @/users.csv --item-features @/items.csv",
        *_ASK,
        "recommend top m.coterie --user u61 --json",
    ],
    "evaluate": [
        "recommend evaluate @/ratings.csv --folds 2 --iterations 20 --json --report a.html",
        "recommend evaluate @/ratings.csv --folds 2 --model mmsbm --iterations 20 --json",
        "recommend evaluate @/ratings.csv --folds 2 --model mcmmsbm --iterations 9 --json",
        "recommend evaluate @/ratings.csv --folds 2 --model hard --groups 3 --json",
        "recommend evaluate --train @/train.csv --test @/test.csv --iterations 9 --top 5,10 --json",
        *(
            f"recommend evaluate @/ratings.csv --split {split} --iterations 20 --json"
            for split in ("random", "time", "last-n", "cold-users", "cold-items")
        ),
        "recommend evaluate @/likes.csv --likes --split random --iterations 20",
    ],
}

RELEASES: dict[str, list[Form]] = {
    "release-default": [
        "anonymize @/people.csv --out r --json --research-truth who.csv",
        "compare @/people.csv r/graph.csv --json",
        "attack @/people.csv r/graph.csv --truth who.csv --json",
        "ledger show --json",
        "ledger verify --json",
    ],
    "release-sbm": [f"{_RELEASE} --model sbm --force"],
    "release-exact-counts": [f"{_RELEASE} --model exact-counts --force"],
    "release-plain": [f"{_RELEASE} --no-rewire --draws 2 --force"],
    "release-terminal": ["anonymize @/people.csv --out r --blocks 6 --threads 2 --force"],
    "release-parquet": [f"{_RELEASE} --output-format parquet --min-class-size 20 --force"],
    "release-graphml": [f"{_RELEASE} --output-format graphml --max-edge-probability 0.5 --force"],
    "release-directed": [
        "anonymize @/follows.csv --objective directed --out r --blocks 6 --json --force",
    ],
    "release-weighted": [
        "anonymize @/calls.csv --objective weighted --out r --blocks 6 --json --force",
    ],
    "release-bipartite": [
        "anonymize @/visits.csv --objective bipartite --out r --blocks 6 --json --force",
    ],
    "release-attributes": [
        f"{_RELEASE} --attributes @/staff.csv --sensitive sick --force --research-truth who.csv",
        "attack @/people.csv r/graph.csv --truth who.csv --json --attributes @/staff.csv"
        " --published-attributes r/nodes.csv",
    ],
    "release-refused": [f"{_RELEASE} --policy @/strict.toml", "ledger show"],
    "release-forced": [f"{_RELEASE} --policy @/strict.toml --force --dataset staff-1"],
    "release-demo": ["demo --out d --json"],
    "sketch": [
        "sketch @/numbers.csv --dataset people --epsilon 1 --nodes 240 --out s.sketch --json",
        "sketch --show s.sketch --json",
        "draw s.sketch --out d --draws 2 --seed 3 --json",
        "sketch @/numbers.csv --dataset people --epsilon 2.5 --nodes 240 --out t.sketch",
        "draw t.sketch --out e",
        "sketch @/numbers.csv --dataset people --epsilon 1 --nodes 240 --out u.sketch",
        "ledger show --dataset people --json",
    ],
}

PYTHON: dict[str, list[Form]] = {
    "python": [
        "python points",
        "python paper_search",
        "python described",
        "python results_of_graphs",
        "python soft_models",
        "python additive_model",
        "python recommenders",
        "python recommenders_change",
        "python interrupted_hard",
        "python interrupted_soft",
        "python interrupted_recommenders",
        "python release_objects",
        "python sketches",
        "python ledgers",
        "python dask_engine",
    ],
}

BIG: dict[str, list[Form]] = {
    "big-clusters": [
        "cluster $/as-caida20071105.txt.gz --blocks 20 --search paper --iterations 20 --json",
        "cluster $/as-caida20071105.txt.gz --blocks auto --objective degree-corrected --json",
        "cluster $/ca-AstroPh.txt.gz --blocks 30 --iterations 20 --json --out a.csv",
        "cluster $/ml-100k/u.data.gz --blocks 10 --objective ratings --search paper --json",
    ],
    "big-recommend": [
        "recommend evaluate --train $/ml-100k/u1.base.gz --test $/ml-100k/u1.test --json"
        " --iterations 20 --runs 2",
        "recommend fit $/ml-100k/u.data.gz --model mmsbm --iterations 20 --out m.coterie --json",
        "recommend top m.coterie --users all --out lists.csv --json",
    ],
    "big-release": ["anonymize $/as-caida20071105.txt.gz --out r --json --force"],
}

CASES = CLUSTER | RECOMMEND | RELEASES | PYTHON
