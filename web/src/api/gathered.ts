/** Calls are gathered for this long, so that a run that goes through five states is read once. */
const GATHER_MS = 250
/** A read that takes longer does not hold up the next one. */
const RETRY_TIMEOUT_MS = 5000

/**
 * Returns a function that runs `work` soon, once for all calls until then. Running work is not interrupted by more
 * calls: under changes without a pause it would never come to its end. It is done again after it.
 */
export function gathered(work: () => Promise<unknown>) {
  let isDue = false
  let isBusy = false

  async function run() {
    isBusy = true
    while (isDue) {
      await pause(GATHER_MS)
      isDue = false
      await Promise.race([work().catch(() => {}), pause(RETRY_TIMEOUT_MS)])
    }
    isBusy = false
  }

  return () => {
    isDue = true
    if (!isBusy) void run()
  }
}

async function pause(ms: number) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
