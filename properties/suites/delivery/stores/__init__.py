"""The databases in which the applications of the suite `delivery` store their results."""
