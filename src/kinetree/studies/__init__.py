"""Studies: analyses of a robot, the facts they are compared with, and reports; setup from words and numbers.

:mod:`.study`, :mod:`.report`, :mod:`.plots`, :mod:`.drawings`
    facts, outcomes and results, and their display;
:mod:`.user_study`
    users' studies, from YAML files;
:mod:`.simulation_setup`
    states, controllers and ground from plain words and numbers;
:mod:`.named_systems`
    systems by name: how they are found, and what is known about them besides their models.
"""
