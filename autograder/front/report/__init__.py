"""The report on a class: one HTML file from the results of one step or several."""
