"""The memory of a trial with very many pictures: `python benchmarks/bench_memory.py`.

All pictures are the same tiny JPEG with a different tail, and their embeddings are in the cache
beforehand. So this measures the loop of the benchmark itself: listing, drawing, teaching, testing
after each step. The figure is the peak memory of a new process.
"""

import argparse
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measuring import finish, report
from PIL import Image

from robocle.evaluation.embedding import EmbeddingSetup
from robocle.evaluation.embedding_cache import EmbeddingCache

POOLING, WIDTH = "moments:r=3,form=root", 3840
CLASSES = 10
MEASURED = """
import json, sys, time
from pathlib import Path
from robocle.evaluation.run_trial import run_trial
from robocle.evaluation.trial import Trial
from robocle.evaluation.embedding_cache import EmbeddingCache
trial = Trial("folder:layout=classes", sys.argv[1], "class_iid:shots=5", 0, "efficientnet_lite0",
              sys.argv[3], "slda")
start = time.perf_counter()
result = run_trial(trial, EmbeddingCache(Path(sys.argv[2])), frozenset())
print(json.dumps({"megabytes": result["process_peak_megabytes"],
                  "tested": result["pictures_tested"],
                  "accuracy": result["accuracy"]["test/clean"],
                  "seconds": time.perf_counter() - start}))
"""


def make_pictures(root: Path, cache: EmbeddingCache, count: int) -> None:
    """Write pictures by class, and an embedding for each that lies near the centre of its class."""
    buffer = io.BytesIO()
    Image.new("RGB", (32, 32), "grey").save(buffer, "JPEG")
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 1, (CLASSES, WIDTH)).astype(np.float32)
    setup = EmbeddingSetup("efficientnet_lite0")
    for row in range(CLASSES):
        folder = root / f"class{row}"
        folder.mkdir(parents=True)
        paths = [folder / f"{number}.jpg" for number in range(count // CLASSES)]
        for path in paths:
            path.write_bytes(buffer.getvalue() + f"{row}/{path.name}".encode())
        for start in range(0, len(paths), 500):
            chunk = paths[start : start + 500]
            noise = rng.normal(0, 1, (len(chunk), WIDTH)).astype(np.float32)
            keys = setup.keys(chunk, POOLING)
            cache.write(dict(zip(keys, centres[row] + noise, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a thousand pictures: agreement only")
    quick = parser.parse_args().quick
    count = 1_000 if quick else 100_000
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "embeddings.sqlite"
        make_pictures(Path(folder) / "pictures", EmbeddingCache(cache), count)
        run = subprocess.run(
            [sys.executable, "-c", MEASURED, f"{folder}/pictures", str(cache), POOLING],
            capture_output=True,
            text=True,
            check=True,
        )
    found = json.loads(run.stdout)
    assert found["tested"] == count - 5 * CLASSES
    assert found["accuracy"] > 99, "classes that lie far apart are not recognised"
    everything = count * WIDTH * 4 / 1e6
    print(f"{count} pictures, {everything:,.0f} MB of embeddings, {found['seconds']:.0f} s")
    report("peak memory", found["megabytes"], 2000, at_least=False, unit=" MB")
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
