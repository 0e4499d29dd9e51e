"""Estimators that simulate: from measured states, or under the controller that the robot had."""
