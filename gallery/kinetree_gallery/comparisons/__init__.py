"""Studies that compare several systems or published counts, one file each: its name is the study's."""
