"""Prints the variables of .env files as python-dotenv reads them: one JSON object per file, in order."""

import json
import logging
import os
import sys

from dotenv import dotenv_values

logging.disable(logging.CRITICAL)
os.environ.clear()
os.environ["OUTER"] = "from outside"
for path in sys.argv[1:]:
    values = dotenv_values(path, encoding="utf-8")
    print(json.dumps({name: value for name, value in values.items() if value is not None}))
