"""Spark sessions that somebody else has made: what they must be, and what is set for them where it matters.

Continua hands Spark few expressions, none of which ANSI mode or adaptive execution change the meaning of. The time zone
of a session says what texts without a zone mean as timestamps: where Spark reads such texts for a source, UTC is set
for that source alone, as everywhere else in Continua, and the session stays as it is.
"""

from __future__ import annotations

from continua.errors import Diagnostic, NotSupportedError

ZONE = "UTC"
_ZONE_OPTION = "timeZone"
_WITHOUT_ZONES = ("csv", "json", "xml", "text", "parquet", "orc", "avro")
"""The formats of files of Spark's. Those with types may have folders whose names are texts: ``day=2024-05-01``."""


def check_session(spark: object) -> None:
    """Refuses a session of Spark Connect: it has no context, by which tasks are made."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise NotSupportedError(
            Diagnostic(
                "NOT_SUPPORTED",
                "a session of Spark Connect has no SparkContext, by which Continua has tasks run",
                hint="make one with SparkSession.builder.master(...), where the driver is to be, or name a master",
                parameters={"feature": "Spark Connect"},
            )
        )


def with_zone(form: str, options: dict[str, str]) -> dict[str, str]:
    """The options by which Spark reads files, in which texts without a time zone mean UTC unless they say otherwise."""
    given = {name.casefold() for name in options}
    if form.casefold() not in _WITHOUT_ZONES or _ZONE_OPTION.casefold() in given:
        return options
    return {**options, _ZONE_OPTION: ZONE}
