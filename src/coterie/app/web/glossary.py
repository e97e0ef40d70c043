"""Words that pages and code share: measures, limits, stages and choices (see words.html.j2)."""

from coterie.anonymize.figures import DEGREES, EIGENVALUES, MEASURES, RISK_FIGURES

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
