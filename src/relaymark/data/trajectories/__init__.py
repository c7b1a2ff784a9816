"""Recorded conversations of agents: reading, writing, importing, and look-alikes made from a profile."""

from relaymark.data.trajectories.model import Call, Reply, Result, Trajectory, Turn, answered, incoming
from relaymark.data.trajectories.reading import load_trajectories
from relaymark.data.trajectories.writing import write_trajectories

__all__ = [
    "Call",
    "Reply",
    "Result",
    "Trajectory",
    "Turn",
    "answered",
    "incoming",
    "load_trajectories",
    "write_trajectories",
]
