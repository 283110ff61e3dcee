"""Paths and URLs on the command line."""

from __future__ import annotations

import click

from continua.objects.urls import BucketUrl, Place, place_of


class PlaceType(click.ParamType[Place]):
    """A folder, or a prefix in an object store by its URL."""

    name = "folder or URL"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Place:
        """The place; whether anything is there is seen later."""
        place = place_of(str(value))
        if isinstance(place, BucketUrl):
            return place
        return click.Path(file_okay=False, path_type=type(place)).convert(str(place), param, ctx)


PLACE = PlaceType()
