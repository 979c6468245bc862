"""Put a trained model among those that come with the package: `python tools/ship_model.py FOLDER NAME`.

Weights become fp16. The card (`card.md` in the model's folder of `src/nsed/models/shipped_models`) is written by hand.
"""

import sys

import nsed
from nsed.models.persistence import FOLDER

if __name__ == "__main__":
    trained, name = sys.argv[1:]
    nsed.load(trained).save(FOLDER / name, half=True)
