"""`iowhy agent`: always on; records fully when something happens.

The counting is done in the kernel, by `iowhy-record aggregate`, which writes a recording an hour and says of each interval
on its stdout what it came to (`counted.py`). Here is what follows from that: conditions that start a full recording
(`conditions.py`, `triggers.py`, `capture.py`, `black_box.py`), what is kept and for how long (`retention.py`),
what goes to an object store (`uploads.py`), and metrics (`instruments.py`, `metrics.py`, `otlp.py`).
"""
