"""Short explanations of the technical words on the pages; the documentation has the long ones."""

GLOSSARY = {
    "block": "A set of nodes that are connected to the rest of the network in a similar way. Every "
    "node is in exactly one block.",
    "class": "People of a release who cannot be told apart: whoever looks for one of them finds "
    "all of them equally likely.",
    "entropy": "How badly the blocks describe the network. Lower is better; the search lowers it.",
    "epsilon": "The privacy loss. With epsilon 1, what anybody believes about one connection "
    "changes by a factor of at most 2.7. Smaller is more private and less accurate.",
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

# What the measures of a network mean, under their names in tables
MEASURE_WORDS = {
    "average path length": "steps from one person to another, on average",
    "diameter": "steps between the two people who are furthest apart",
    "global clustering": "how often two friends of a person are friends",
    "mean local clustering": "the same, computed for each person and averaged",
    "mean degree": "connections per person",
    "largest degree": "connections of the best-connected person",
    "assortativity": "whether well-connected people know each other (-1 to 1)",
    "nodes without an edge": "people without a connection",
    "nodes in the largest component": "people who can all reach each other",
    "largest core number": "how dense the densest part is",
    "modularity of the blocks": "how clearly the blocks are separated (0 to 1)",
    "modularity of communities": "how clearly the communities are separated (0 to 1)",
    "communities": "groups of people with many connections inside",
    "communities with half of the nodes": "how many of the largest groups hold half of all people",
    "nodes in the largest community": "share of all people in the largest group",
    "degree distribution": "how many people have how many connections",
    "largest eigenvalues": "the coarse structure of the network in three numbers",
    "size of the largest component": "people who can all reach each other",
}

# What the limits of the policy mean, by the beginning of their names
LIMIT_MEANINGS = {
    "people in the smallest class": "nobody can be told apart from fewer people than these",
    "edges disclosed with": "connections that the release makes almost certain",
    "edges in cells of true density": "connections between two groups of people of whom nearly "
    "everybody knows everybody",
    "edges named": "connections that somebody could name who knows how many connections each "
    "person has, beyond what could be said of anybody",
    "edge inference": "how much better than by chance somebody tells real connections from others",
    "people guessed right": "as many as luck allows; see the attacks below",
    "graphs published": "several releases from the same data could be compared with each other",
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
