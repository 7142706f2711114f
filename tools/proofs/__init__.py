"""A campaign that proves every proved version on ten seeds, and on one seed with cvc5 too."""
