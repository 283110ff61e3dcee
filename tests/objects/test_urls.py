"""Which texts are places, and which are refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from continua.errors import MachineError
from continua.objects.urls import BucketUrl, address_of, place_of


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("ck", Path("ck")),
        ("/tmp/a b", Path("/tmp/a b")),
        ("file:///tmp/a%20b", Path("/tmp/a b")),
        ("C://odd", Path("C://odd")),
        ("s3://b", BucketUrl("s3", "b")),
        ("s3a://b/p/q/", BucketUrl("s3", "b", "p/q")),
        ("GS://b/p", BucketUrl("gs", "b", "p")),
        (
            "s3://b/p?endpoint=http://h:1&retry=3",
            BucketUrl("s3", "b", "p", (("endpoint", "http://h:1"), ("retry", "3"))),
        ),
    ],
)
def test_a_text_stands_for_a_place(text: str, place: Path | BucketUrl) -> None:
    assert place_of(text) == place
    assert place_of(address_of(place)) == place


def test_a_bucket_has_places_below_it_and_shows_no_options() -> None:
    place = place_of("s3://b/p?region=x") / "groups" / "g"
    assert (str(place), place.name) == ("s3://b/p/groups/g", "g")
    assert address_of(place) == "s3://b/p/groups/g?region=x"
    assert str(BucketUrl("s3", "b") / "x") == "s3://b/x"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hdfs://h/p", "hdfs"),
        ("s3:///p", "bucket"),
        ("s3://key:word@b/p", "bucket"),
        ("file://host/p", "machine"),
        ("s3://b/p?secret_access_key=word", "secret_access_key"),
        ("az://c/p?sas_token=word", "sas_token"),
    ],
)
def test_what_is_no_place_is_told_without_its_secrets(text: str, words: str) -> None:
    with pytest.raises(MachineError) as caught:
        place_of(text)
    assert caught.value.condition == "BAD_STORE_URL"
    assert words in str(caught.value)
    assert "word" not in str(caught.value).replace(words, "")
