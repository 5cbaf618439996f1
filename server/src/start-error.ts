/**
 * Why a process can't start, in words for the person who started it: printed without a stack, with what to do about it
 * where the reason does not say so itself.
 */
export class StartError extends Error {
  readonly advice: string | undefined

  constructor(reason: string, options: ErrorOptions & { advice?: string } = {}) {
    super(reason, options)
    this.advice = options.advice
  }
}
