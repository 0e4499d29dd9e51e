"""Studies: what is computed on a robot, what is expected of the answer, and the report; set-up from words.

:mod:`.study`, :mod:`.report`, :mod:`.plots`, :mod:`.drawings`
    facts, outcomes and results, and how they are shown;
:mod:`.user_study`
    studies of the user's own, from YAML files;
:mod:`.simulation_setup`
    states, controllers and ground from plain words and numbers;
:mod:`.named_systems`
    systems by their names: how they are found, what is known of them beside their models;
:mod:`.redysim`
    folders of ReDySim that run.
"""
