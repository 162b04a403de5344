"""The lab: the five cases and their controls, live, on scratch devices that are taken away again.

A scenario (one module each in :mod:`iowhy.lab.scenarios`) prepares a stage (:mod:`iowhy.lab.stage`) and names a
command; :mod:`iowhy.lab.trial` records and judges it; :mod:`iowhy.lab.verify` holds what was found against what is
true.
"""
