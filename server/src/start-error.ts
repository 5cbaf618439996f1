/**
 * The reason why a process can't start, for the person who started it; it is printed without a stack. `message` is the
 * reason, and advice where the reason is not enough.
 */
export class StartError extends Error {
  readonly reason: string
  readonly advice: string | undefined

  constructor(reason: string, options: ErrorOptions & { advice?: string } = {}) {
    super(options.advice === undefined ? reason : `${reason}; ${options.advice}`, options)
    this.reason = reason
    this.advice = options.advice
  }
}
