"""Inline SVG drawn on the server side: fluid in width, fixed in height, styled by the page's own style sheet.

Positions along x are percentages and curves live in a nested viewport that is stretched to the plot's width, so one
drawing serves 1,280 and 400 pixels with text of the same size. No style attributes are used: the page's
content security policy forbids them.
"""

from relaymark.report.charts.outcomes import outcome_bar
from relaymark.report.charts.overtime import over_time
from relaymark.report.charts.quantiles import Curve, quantile_plot
from relaymark.report.charts.ruler import RulerRow, ruler
from relaymark.report.charts.scatter import scatter

__all__ = ["Curve", "RulerRow", "outcome_bar", "over_time", "quantile_plot", "ruler", "scatter"]
