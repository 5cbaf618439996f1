/** The reason why a process cannot start, with advice where that is not enough; printed without a stack. */
export class StartError extends Error {
  readonly reason: string
  readonly advice: string | undefined

  constructor(reason: string, options: ErrorOptions & { advice?: string } = {}) {
    super(options.advice === undefined ? reason : `${reason}; ${options.advice}`, options)
    this.reason = reason
    this.advice = options.advice
  }
}
