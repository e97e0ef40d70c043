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
    "node list": "All people of the network, known without looking at the connections: all "
    "employees, all registered accounts.",
}
