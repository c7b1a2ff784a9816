"""Names: each kind of entity has its own pattern, and a number below the pattern's capacity gives one name.

Names are unique within a world. They are made of common English pieces, so that a tokeniser meets words it knows.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_GIVEN = _words("""
    Ada Agnes Albin Alma Amalia Anselm Arvid Astrid Aurel Beatrix Benno Björn Blanche Bruno Camille Casper Cecil
    Clara Conrad Cosima Cyril Dagmar Dora Edgar Edith Elin Eliza Emil Enid Erik Ernst Esme Étienne Eugene Fanny
    Felix Flora Florian Frieda Gideon Gilda Greta Gustav Hanna Harald Hedwig Helga Henrik Hester Hilda Horace Hugo
    Ida Ignaz Imogen Ines Ingrid Irma Isolde Ivo Jakob Jasper Joachim Jonas Josefa Judith Julius Karin Kaspar Klara
    Konrad Lars Laura Leander Leonie Levin Lina Lorenz Louisa Lucian Ludwig Lydia Mabel Magnus Malvina Marius Martha
    Mathilda Maurice Mina Moritz Nadia Nils Nora Norbert Octavia Olga Oscar Otto Paula Percy Petra Philippa Quentin
    Ralph Regina René Robin Roland Rosa Rupert Ruth Sabine Selma Sigrid Silvan Simon Sören Stella Sven Tamara Thea
    Theodor Tilda Tobias Ulrich Ursula Valentin Vera Victor Viola Volker Walter Wanda Wilhelm Winifred Xaver Yvonne
    Zeno Zita
    """)
_FAMILY = _words("""
    Amber Ash Barn Beck Birch Black Bram Bright Brook Cald Carrow Chald Cole Crake Dal Darrow Dew Elder Ellis Fair
    Fal Farrow Fen Flint Gar Gild Gold Grey Hale Hart Hazel Heath Hollin Horn Jarrow Kel Kings Lang Lind Lock Lor
    Mar Mead Merri Mill Nether Nor Oaken Orr Pem Quint Raven Rook Rush Sel Shep Silver Stan Swan Tarn Thorn Under
    Wain Wether Winter Yar
    """)
_FAMILY_END = _words("""
    beam bourne brand by combe coat dale den feather field gate garth grave guard head holm hope house hurst kirk
    lake lark man mont more nell pole ridge shaw son stead sted stock ward water well wood worth wright
    """)
_PLACE = _words("""
    Aller Angel Apple Arrow Badger Bar Bell Bitter Bracken Candle Castle Chalk Clay Clover Cope Crow Cuckoo Daven
    Drake Dun East Elm Ember Fern Fiddle Fox Frost Gander Gorse Grafton Hather Haver Hawk Hay Hen Hob Honey Ivy Jack
    Juniper Kettle Kirk Lamb Lantern Lark Leaf Lime Loam Maple Marl Moss Nettle Nut Oat Oxen Padder Peat Pepper Pike
    Plover Plum Rye Saddle Saffron Salt Sand Sedge Shearwater Skip Sloe Snow Sorrel Spar Sparrow Stone Stork Straw
    Sugar Tansy Teal Thistle Tinder Tun Vesper Wax Weaver Wheat Whit Wick Willow Wolver Wool Wren Yarrow Yew
    """)
_PLACE_END = _words("""
    borough bridge burgh bury caster church cliffe cote cross den don ferry fold ford gate ham haven hithe howe keld
    kirk ley low market minster mouth ness port stoke stow thorpe ton town wall wath well wick worthy
    """)
_EPITHET = ("", " Regis", " Magna", " Parva", " Abbas", " Episcopi", " Fields", " Heights", " Quay", " Vale")
_RIVER = (
    _words("Ab Al Ar Bre Cal Cor Da Dre El Fa Gal Ha Il Ka Le Lu Ma Mo Ne Or Pe Ri Sa Ta Te Ul Va We Yo Za"),
    _words("b d g k l m n r s t v w br dr lm nd rn st"),
    _words("ane ard ave eda ela eme enna era esk eth ian idd ilo ine isk olt omme one ora orn ova une ura uth"),
)
_MOUNTAIN = _words("""
    Anvil Bald Banner Bear Beacon Blue Broken Bull Cairn Cloud Cold Cradle Crystal Dark Dawn Eagle Echo Falcon Fire
    Gale Ghost Giant Glass Goat Grim Hammer Harp Hermit Hollow Ice Iron King Ladder Lone Long Marble Mist Moon Needle
    Night Noon North Old Organ Pale Pillar Pilgrim Quartz Rain Red Rime Saint Shadow Shepherd Sister Slate Smoke
    Spear Star Steep Storm Summer Thunder Tower Trumpet Twin Vulture Watch West White Wind Wolf
    """)
_MOUNTAIN_END = _words("""
    back brow crag crest crown edge face fang fell finger gap hill hood horn nab nose pass rake scar shoulder spur stone
    tooth top
    """)
_REGION = _words("""
    Ald Aven Bal Bor Cam Cor Dorn Ebr Est Fal Fens Gal Harr Hest Ilm Jor Kest Land Lis Lor Marr Mor Nev Norr Ost Pal
    Quer Rav Rho Sal Sarn Sev Tal Thur Tor Um Var Vel Wend West Yest Zel
    """)
_REGION_END = (
    *_words("alia ania ardy aria avia ecia elia enia eria essia idia island itania land lund mark ony oria ovia reach"),
    *("ia Minor", "ia Major", "shire", "wold"),
)
_FIRST = _words("""
    Agate Amber Ancient Autumn Azure Brass Brave Bright Bronze Burning Calm Cedar Cherry Clever Cobalt Copper Coral
    Crimson Crooked Crystal Dancing Distant Dusty Eastern Ebony Emerald Faithful Fallen Fearless Flying Forgotten
    Frozen Garnet Gentle Gilded Golden Graceful Green Hasty Hidden Hollow Humble Indigo Iron Ivory Jade Jolly Keen
    Laughing Leaping Linen Little Lonely Lucky Marble Merry Midnight Misty Modest Nimble Northern Oaken Olive Onyx
    Opal Orange Painted Patient Pearl Pewter Polished Proud Purple Quartz Quiet Rapid Restless Roaming Royal Ruby
    Rusty Sapphire Scarlet Secret Shining Silent Silver Sleeping Solemn Southern Spotted Steady Sturdy Sunken Swift
    Tawny Thirsty Topaz Travelling Trusty Velvet Violet Wandering Western Wild Winter Wise Wooden Yellow Zealous
    """)
_SECOND = _words("""
    Acorn Alder Anchor Antler Apricot Aspen Badger Barley Basket Beaver Beech Bison Bramble Buckle Camel Candle
    Cardinal Cello Chestnut Compass Condor Cormorant Cricket Curlew Daisy Dolphin Dove Eagle Falcon Feather Ferret
    Finch Flute Fountain Gannet Garland Gazelle Ginger Goose Grouse Hammer Harbour Harvest Hedgehog Heron Hornbeam
    Ibis Jackdaw Kestrel Kite Lantern Laurel Lilac Lily Linnet Lizard Lobster Magpie Mallard Marigold Marten Meadow
    Monkey Mulberry Nightingale Nutmeg Orchard Osprey Otter Panther Parrot Partridge Peacock Pebble Pelican Petrel
    Pigeon Pine Poppy Puffin Quail Rabbit Raven Robin Rooster Rose Salmon Sandpiper Seal Sparrow Spruce Squirrel
    Stag Starling Swallow Tiger Trout Tulip Turtle Walnut Weasel Whale Willow Wolf Woodpecker
    """)
_FIRM = ("Works", "Foundry", "Mills", "Shipyard", "Brewery", "Glassworks", "Instruments", "Railway Company")
_ABSTRACT = _words("""
    Absence Ballad Bargain Border Census Chapter Clock Confession Daughter Diary Exile Feast Garden Ghost Guest
    Harvest Honour House Inheritance Island Journey Keeper Language Ledger Letter Library Map Memory Mirror Museum
    Night Oath Orchard Physician Portrait Promise Return Riddle River School Season Shadow Silence Song Stairs
    Stranger Summer Tailor Theatre Tower Trial Voyage Wedding Window Witness Year
    """)


class Pattern(NamedTuple):
    """How names of a kind are made: a form, and the words for each of its places."""

    form: str
    words: tuple[tuple[str, ...], ...]

    @property
    def capacity(self) -> int:
        """How many different names there are."""
        return prod(map(len, self.words))

    def name_at(self, number: int) -> str:
        """The name with this number, from 0 to capacity − 1."""
        chosen: list[str] = []
        for choices in self.words:
            number, place = divmod(number, len(choices))
            chosen.append(choices[place])
        return self.form.format(*chosen)


PATTERNS: dict[str, Pattern] = {
    "person": Pattern("{1} {0}{2}", (_FAMILY, _GIVEN, _FAMILY_END)),
    "town": Pattern("{0}{1}{2}", (_PLACE, _PLACE_END, _EPITHET)),
    "region": Pattern("{0}{1}", (_REGION, _REGION_END)),
    "river": Pattern("River {0}{1}{2}", _RIVER),
    "mountain": Pattern("{0}{1}{2}", (_MOUNTAIN, _MOUNTAIN_END, ("", " Pike", " Rigg", " Tor", " Dome"))),
    "company": Pattern("{0} {3}{1} {2}", (_FIRST, _SECOND, _FIRM, ("", "& "))),
    "school": Pattern("{0} {1} {2}", (_FIRST, _SECOND, ("Academy", "College", "Institute"))),
    "bridge": Pattern("{0} {1} Bridge", (_FIRST, _SECOND)),
    "ship": Pattern("SS {0} {1}", (_FIRST, _SECOND)),
    "novel": Pattern("{0} of the {1} {2}", (_ABSTRACT, _FIRST, _SECOND)),
}
