// What can go wrong between a client and Brain.

/** A problem document (RFC 9457), as Brain sends it. Empty where something else answered. */
export interface Problem {
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  errors?: { pointer: string; detail: string }[];
}

/** Brain answered that it won't. `problem` says why, `status` is the HTTP status. */
export class BrainError extends Error {
  override readonly name: string = "BrainError";

  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(saidBy(status, problem));
  }
}

/** Brain can't be reached. Whether a request that was under way took effect isn't known. */
export class BrainUnavailable extends Error {
  override readonly name: string = "BrainUnavailable";
}

/** Brain didn't answer in time. */
export class BrainTimeout extends BrainUnavailable {
  override readonly name: string = "BrainTimeout";
}

/** A turn ended without an answer. `code` is that of `turn.failed`, or `interrupted`. */
export class TurnFailed extends Error {
  override readonly name: string = "TurnFailed";

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

function saidBy(status: number, problem: Problem): string {
  const said = problem.detail ?? problem.title ?? `HTTP status ${status}`;
  const errors = Array.isArray(problem.errors) ? problem.errors : [];
  return [said, ...errors.map((each) => `${each.pointer}: ${each.detail}`)].join(" ");
}
