"""What one run found, and what follows from it. Above: `measure`, `report`. Below: `meter`."""

from collections.abc import Mapping
from statistics import median

from bench.floors import Floors
from bench.meter import Meter

MARK = 4.0


class Result:
    """Filled in by `measure`, read by `report`. Times in seconds, memory in bytes."""

    def __init__(self, processes: Mapping[str, int], floors: Floors) -> None:
        self.floors = floors
        self.starts: list[float] = []
        self.create = Meter(processes)
        self.text = Meter(processes)
        self.tool = Meter(processes)
        self.long = Meter(processes)
        self.first_delta = Meter({})
        self.text_deltas = 0
        self.long_deltas = 0
        self.busy_text = Meter(processes)
        self.busy_tool = Meter(processes)
        self.text_rate = 0.0
        self.tool_rate = 0.0
        self.idle_bytes: dict[str, float] = {}

    @property
    def floor_seconds(self) -> float:
        """The sum of the floors: one POST, one gRPC call, one commit."""
        floors = (self.floors.post, self.floors.grpc, self.floors.commit)
        return sum(floor.percentile(50) for floor in floors)

    @property
    def ratio(self) -> float:
        """A text turn to the sum of its floors."""
        return self.text.percentile(50) / self.floor_seconds

    @property
    def start_seconds(self) -> float:
        """From starting the process to ready."""
        return median(self.starts)

    def cpu_per_delta(self) -> dict[str, float]:
        """What one more delta costs: a long answer's CPU less a short one's, by its deltas."""
        more = self.long_deltas / len(self.long.seconds) - self.text_deltas / len(self.text.seconds)
        short = self.text.cpu_each()
        return {name: (cpu - short[name]) / more for name, cpu in self.long.cpu_each().items()}
