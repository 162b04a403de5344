"""What iowhy can see on this machine, what it cannot, why, and what to do about it."""

from iowhy.doctor.examination import Examination, examine
from iowhy.doctor.machine import Machine

__all__ = ["Examination", "Machine", "examine"]
