"""Short explanations of the technical words on the pages; the documentation has the long ones."""

from coterie.anonymize.figures import DEGREES, EIGENVALUES, MEASURES, RISK_FIGURES

GLOSSARY = {
    "block": "A set of nodes that are connected to the rest of the network in a similar way. Every "
    "node is in exactly one block.",
    "class": "People of a release who cannot be told apart: whoever looks for one of them finds "
    "all of them equally likely.",
    "entropy": "How badly the blocks describe the network. Lower is better; the search lowers it.",
    "epsilon": "The privacy loss. With epsilon 1, one connection more or less makes no published "
    "result more than 2.7 times as likely. Smaller is more private and less accurate.",
    "differential privacy": "A mathematical guarantee: the published file would look almost the "
    "same if any single connection were missing.",
    "communities kept": "The communities of the release, measured in the original: 100 % if they "
    "fit the original as well as its own communities.",
    "luck": "Guesses that are right by chance. Whoever guesses for everybody is right about once "
    "per class, whatever is published.",
    "copy without names": "The original network with the names replaced by numbers: what many "
    "people publish, for comparison.",
    "policy": "The limits that a release must respect. If one is exceeded, nothing is published.",
    "ledger": "A private record on this computer of everything that was published from a data set, "
    "by its name.",
    "held-out ratings": "Ratings that the model did not see while it was fitted. They show how "
    "well it predicts.",
    "RMSE": "The typical error of a prediction, in units of the rating. Lower is better.",
    "group": "Users or items that are similar according to the model.",
    "sketch": "A small file of counts with noise: how many connections there are, between which "
    "groups, how many triangles. Any number of networks can be drawn from it.",
    "node list": "All people of the network, known without looking at the connections: all "
    "employees, all registered accounts.",
}

# What the measures of a network mean, under their names in tables and in sentences
MEASURE_WORDS = {
    name: figure.meaning
    for figure in (*MEASURES, DEGREES, EIGENVALUES)
    for name in (figure.label, figure.name_in_sentences)
    if figure.meaning and name
}

# What the limits of the policy mean, by the beginning of their names
LIMIT_MEANINGS = {
    figure.label.partition("{")[0].rstrip(): figure.meaning
    for figure in RISK_FIGURES
    if figure.meaning
}

# What the attackers know, by the names of the attacks
ATTACK_WORDS = {
    "10 people known": "the attacker knows 10 people of the release and looks for others",
    "50 people known": "the attacker knows 50 people of the release and looks for others",
    "50 people known, a guess for everyone": "the same, and guesses even where nothing fits",
    "nobody known, a guess for everyone": "the attacker has the original without knowing "
    "anybody of the release, and compares the two",
}

# What the stages of the library are called on the pages
STAGE_WORDS = {
    "starting": "Starting",
    "reading": "Reading the file",
    "describing": "Describing the data",
    "compiling": "Preparing the program (up to a minute the first time, seconds later)",
    "kernels": "Preparing the program (up to a minute the first time, seconds later)",
    "merging": "Searching",
    "fit": "Searching",
    "sweeps": "Searching",
    "pilot": "Trying which parts the model needs",
    "choosing": "Choosing settings",
    "classes": "Forming classes of people",
    "drawing": "Drawing",
    "measuring": "Comparing with the original",
    "attacking": "Attacking the new network",
    "communities": "Comparing the communities",
    "graphlets": "Comparing small patterns",
    "ranking: fitting": "Learning what people choose",
    "ranking: choosing weights": "Learning what people choose",
    "measuring on ratings that were held out": "Measuring on ratings that were held out",
    "recommending to everybody": "Recommending to everybody",
    "writing": "Writing the files",
}

# The choices of the forms by field, the default first
CHOICES = {
    "objective": {
        "degree-corrected": "whom they are connected with, whatever the number of connections "
        "(finds communities)",
        "simple": "whom they are connected with, and how often (separates hubs from the others)",
    },
    "model": {
        "best": "most accurate: many groupings whose effects are added (slower)",
        "mmsbm": "overlapping groups: every user and item has a share of several groups",
        "hard": "simple groups: every user and item is in exactly one",
    },
}
