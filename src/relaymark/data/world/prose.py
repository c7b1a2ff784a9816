"""Everything on a page that is no fact: what kind of thing it is, and paragraphs that give a retriever work.

``{it}`` stands for the subject without its name ("the firm"), ``{n}`` for a number, ``{year}`` for a year, ``{town}``
and ``{house}`` for links to a town and to a school or firm. No sentence here names the subject, so none can be taken
for a statement of a fact.
"""

from __future__ import annotations

from typing import NamedTuple

WHAT: dict[str, tuple[str, ...]] = {
    "person": (
        "a clockmaker", "an astronomer", "a botanist", "a painter of ships", "a composer of songs", "a surveyor",
        "a bookbinder", "a physician", "a maker of violins", "a geologist", "a lawyer", "a playwright", "a printer",
        "a teacher of mathematics", "a traveller and letter writer", "a mine engineer", "a weaver of carpets",
        "a collector of folk tales", "an organist", "a glass painter", "a chess master", "a judge", "a beekeeper",
        "a translator", "a maker of maps", "a singer", "a goldsmith", "a historian", "a gardener", "a sculptor",
    ),
    "town": ("a market town", "a mill town", "a harbour town", "a spa town", "an old mining town", "a cathedral town",
             "a walled town", "a town of weavers", "a town of vineyards", "a railway town"),
    "region": ("a region of lakes and low hills", "a mountainous region", "a coastal region", "a region of wide plains",
               "a wooded region", "a region of orchards and small farms"),
    "river": ("a slow river with many bends", "a fast mountain river", "a navigable river", "a river of clear water",
              "a river known for its floods", "a river with many weirs"),
    "mountain": ("a mountain of pale limestone", "a granite mountain", "an extinct volcano", "a mountain with two tops",
                 "a mountain with a small glacier", "a mountain with steep northern walls"),
    "school": ("a school of music", "a school of navigation", "a grammar school", "a school of mining",
               "a school of the applied arts", "a school of agriculture", "a school of medicine"),
    "company": ("a maker of scales and weights", "a maker of pumps", "a family firm", "a maker of church bells",
                "a trading house", "a maker of printing machines", "a maker of fine paper", "a supplier of tools",
                "a firm known for its apprentices", "a maker of lamps"),
    "bridge": ("a stone bridge with seven arches", "an iron bridge", "a suspension bridge", "a wooden covered bridge",
               "a lattice bridge", "a bascule bridge", "a bridge with a tower at either end"),
    "ship": ("a cargo steamer", "a passenger steamer", "a mail steamer", "an icebreaker", "a cable layer",
             "a training ship", "a whaling steamer"),
    "novel": ("a novel in letters", "a historical novel", "a novel of the sea", "a comic novel", "a detective novel",
              "a novel of manners", "a novel for young readers"),
}  # fmt: skip

IT: dict[str, str] = {
    "school": "the school", "company": "the firm", "bridge": "the bridge", "ship": "the ship", "novel": "the book",
}  # fmt: skip

FACTS_TITLE: dict[str, tuple[str, ...]] = {
    "person": ("Life", "Early life", "Biography"), "town": ("Geography and history", "Overview"),
    "region": ("Geography", "Land and government"), "river": ("Course", "Hydrology"),
    "mountain": ("Ascents", "Topography"), "school": ("History", "Foundation"),
    "company": ("History", "The firm today"), "bridge": ("Construction", "Design"),
    "ship": ("Service", "Construction and service"), "novel": ("Publication", "Background"),
}  # fmt: skip

VERB: dict[str, str] = {"person": "was", "ship": "was"}
"""How the definition goes on; "is" where a kind isn't named."""


class Section(NamedTuple):
    """A heading and the sentences it may have."""

    title: str
    sentences: tuple[str, ...]


_PLACE = (
    Section("Climate", (
        "Winters are long and the first snow usually comes in the second week of November.",
        "A dry wind from the east, which people call the brush, blows for about {n} days a year.",
        "The wettest month on record was May {year}, when the meadows stood under water until midsummer.",
        "Spring comes late, and cherry trees rarely flower before the end of April.",
        "Fog is common in autumn and once closed the road to {town} for nine days.",
        "Hail destroyed most of the glass roofs in {year}.",
        "Temperatures are read every morning at a wooden hut beside the post office.",
    )),
    Section("Economy", (
        "Sheep were kept here long before anybody thought of selling cheese.",
        "The trade in timber ended when the forest law of {year} came into force.",
        "A fair for horses and harness is held each September and draws about {n} visitors.",
        "Tourism is modest; most guests arrive on foot and are on their way to {town}.",
        "Two quarries are still worked, both by hand.",
        "Beeswax, honey and dried pears are sold as far away as {town}.",
        "The last tannery closed in {year} and is now a museum of leather.",
        "Electricity arrived in {year}, three winters later than in the neighbourhood.",
    )),
    Section("Wildlife", (
        "Dippers and grey wagtails nest along the water.",
        "A survey in {year} counted {n} kinds of moss and nine kinds of bat.",
        "Beavers were thought to be lost until a fisherman photographed one in {year}.",
        "Orchids grow on the old spoil heaps and are protected by law.",
        "The stock of trout recovered once the dye works had gone.",
        "Wolves pass through in hard winters, but none has stayed.",
    )),
    Section("In folklore", (
        "A tale says that a bell lies buried here and rings when the weather is about to turn.",
        "Children were told that a grey horse would carry off anyone who counted the stars.",
        "The song of the two millers, written down in {year}, mentions the place in its last verse.",
        "Nobody whistles here after dark, for reasons that the sexton of {town} tells at length.",
        "An old rhyme lists {n} things that must not be said to a ferryman.",
    )),
)  # fmt: skip
_LIFE = (
    Section("Work", (
        "The early notebooks are full of sketches of hinges, locks and weather vanes.",
        "A journey on foot in {year} led by way of {town} to the coast and back.",
        "Letters from those years show a dry humour and a horror of debts.",
        "A prize of {n} crowns was declined with a short and much quoted note.",
        "The workshop burned down in {year}, and with it most of the drawings.",
        "Several pieces that were long ascribed to others have been recognised since {year}.",
        "Sales were poor at first, and a post as a clerk at {house} paid for bread.",
        "A catalogue printed in {year} lists {n} works, of which about half are lost.",
    )),
    Section("Later years", (
        "Failing eyesight put an end to close work.",
        "The house with the blue shutters became a meeting place for younger colleagues.",
        "Winters were spent abroad, first near {town} and then by the sea.",
        "A quarrel over a library was settled in court in {year}.",
        "The estate came to {n} books, four clocks and a parrot.",
        "The memoirs, begun in {year}, break off in the middle of a sentence.",
    )),
    Section("Reception", (
        "Critics of the time found the manner cold; a later generation called it clear.",
        "A room at {house} is given over to the papers.",
        "A stamp was issued in {year}.",
        "The first full study appeared in {year} and corrected {n} dates.",
        "Interest faded for some decades until a radio play of {year} brought the name back.",
    )),
)  # fmt: skip
_THING = (
    Section("Reputation", (
        "Visitors praised the order and complained about the soup.",
        "A newspaper of {year} called {it} the pride of the county, and a rival paper asked which county was meant.",
        "A poll of {year} put {it} in place {n} of those that people would miss.",
        "The archive of {town} keeps a box of letters in which {it} is defended with some heat.",
        "A model in pear wood can be seen at {house}.",
    )),
    Section("Later history", (
        "A fire in {year} spared little but the cellar and the accounts.",
        "Repairs took longer than planned and cost {n} crowns more than anybody had voted for.",
        "A plaque was put up in {year} and stolen twice.",
        "Ownership passed through several hands, among them those of a dentist.",
        "For some years a part was let to {house}.",
        "A flood in {year} left a mark that is shown to guests.",
        "The hundredth anniversary was kept with a procession and {n} lanterns.",
    )),
    Section("Curiosities", (
        "A white cat appears on every photograph taken before {year}.",
        "There are {n} steps, though each guide gives another number.",
        "A clock that runs backwards was a present from {house}.",
        "The motto, which nobody can translate, was probably a printer's mistake.",
        "A tree planted in {year} has outgrown three fences.",
        "Rumours of a hidden room were put to rest by surveyors in {year}.",
    )),
    Section("Numbers", (
        "The books show a surplus in every year but {year}.",
        "An inventory of {year} lists {n} chairs, no two alike.",
        "The yearly budget is printed on a single sheet and hung beside the door.",
        "Statistics before {year} are thought to be unreliable.",
    )),
)  # fmt: skip

SECTIONS: dict[str, tuple[Section, ...]] = {
    "person": _LIFE, "town": _PLACE, "region": _PLACE, "river": _PLACE, "mountain": _PLACE,
    "school": _THING, "company": _THING, "bridge": _THING, "ship": _THING, "novel": _THING,
}  # fmt: skip
