export { Brain, type BrainOptions } from "./brain.js";
export { BrainError, BrainTimeout, BrainUnavailable, type Problem, TurnFailed } from "./errors.js";
export { type EventOptions, type RunOptions, type SendOptions, Session } from "./session.js";
export * from "./types.js";
