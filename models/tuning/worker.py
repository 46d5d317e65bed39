"""The process that tests ways to run a model, so that a fault ends only this process.

It may read the file that its first argument names, write in the folder that its second names, and no more.
"""

import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from models.confinement import begin_child
from models.errors import ModelFileError
from models.tuning import bench
from models.worker.main import private_pipes, settle_in

if TYPE_CHECKING:
    from models.llamacpp.tuning import Bench


class TuningWorker:
    """Answers requests in order."""

    def __init__(self) -> None:
        self._bench: Bench | None = None
        self._requests: queue.Queue[bench.Request] = queue.Queue()
        self._unfinished: list[Path] = []

    def listen(self, source: BinaryIO) -> None:
        """Queues requests. At the end of the input, deletes unfinished files and exits at once."""
        try:
            for line in source:
                self._requests.put(bench.decode_request(line))
        finally:
            for path in self._unfinished:
                path.unlink(missing_ok=True)
            os._exit(0)

    def next_answer(self) -> bench.Answer:
        """Waits for a request and answers it; errors also become answers."""
        request = self._requests.get()
        part = bench.part_of(request)
        self._unfinished = [part] if part is not None else []
        try:
            return self._answer(request)
        except ModelFileError as error:
            return bench.Refused(error.detail)
        except Exception as error:  # noqa: BLE001 - the type is sent to the application, which reports it
            return bench.Refused(type(error).__name__)
        finally:
            self._unfinished = []

    def _answer(self, request: bench.Request) -> bench.Answer:
        from models.llamacpp.tuning import Bench, quantise

        match request:
            case bench.Open():
                self._bench = Bench(Path(request.path), request.kernels)
                return bench.Opened(self._bench.row, self._bench.buffers)
            case bench.Quantise():
                quantise(Path(request.source), Path(request.target), request.ftype, request.threads)
                return bench.Done()
        if self._bench is None:
            return bench.Refused("nothing is loaded")
        if isinstance(request, bench.Measure):
            return bench.Measured(self._bench.measure(request.settings, request.plan))
        return bench.Predicted(self._bench.perplexity(request.text, request.settings, request.limit))


def main() -> int:
    begin_child()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = private_pipes()
    import models.llamacpp.tuning  # noqa: F401 - later imports could no longer be read

    readable, *writable = map(Path, sys.argv[1:])
    settle_in([readable], writable=writable)
    worker = TuningWorker()
    threading.Thread(target=worker.listen, args=(source,), name="listen", daemon=True).start()
    while True:
        sink.write(bench.encode(worker.next_answer()))


if __name__ == "__main__":
    sys.exit(main())
