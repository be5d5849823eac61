"""The settings of a projection, under the name by which programs import them."""

from singerlake.projection.document import Settings

__all__ = ["Settings"]
