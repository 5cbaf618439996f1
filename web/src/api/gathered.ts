/** Calls within this time (ms) are combined: a run that passes through five states is read once. */
const GATHER_MS = 250
/** Work that takes longer (ms) does not block the next call. */
const WORK_TIMEOUT_MS = 5000

/**
 * Returns a throttled trigger for `work`: one execution serves all calls before it. A call during an execution schedules
 * another one and never cancels the current one, so that frequent calls cannot starve it.
 */
export function gathered(work: () => Promise<unknown>) {
  let isDue = false
  let isBusy = false

  async function run() {
    isBusy = true
    while (isDue) {
      await pause(GATHER_MS)
      isDue = false
      await Promise.race([work().catch(() => {}), pause(WORK_TIMEOUT_MS)])
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
