"""The HTTP edge. Holds no state; reaches the engine by gRPC only."""
