/**
 * Why a process can't start, in words for the person who started it: printed without a stack. `message` is the reason and,
 * where the reason does not say so itself, what to do about it.
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
