from iowhy.api import compare as compare
from iowhy.api import experiment as experiment
from iowhy.api import load_ipython_extension as load_ipython_extension
from iowhy.api import open as open
from iowhy.api import record as record
from iowhy.api import recording as recording
from iowhy.errors import Problem as Problem

__version__: str
