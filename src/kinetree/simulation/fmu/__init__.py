"""Functional Mock-up Units: a robot with everything around it, for Simulink, OpenModelica, Dymola and others."""
