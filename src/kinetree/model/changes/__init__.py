"""Other mechanisms made of one that is there: joints locked, compound joints as chains, other numbers."""
