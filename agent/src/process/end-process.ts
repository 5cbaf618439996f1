/** Time for what has not ended by itself, in ms. */
const EXIT_MS = 1000

/**
 * Ends the process with the code once it is idle, or after a second: requests without a response, which nobody awaits any more, would keep it for
 * up to minutes. Output for a slow reader is written first.
 */
export function endProcess(code: number) {
  process.exitCode = code
  const exit = async () => {
    await Promise.all([process.stdout, process.stderr].map(written))
    process.exit()
  }
  setTimeout(() => void exit(), EXIT_MS).unref()
}

async function written(stream: NodeJS.WriteStream) {
  await new Promise<void>((resolve) => void stream.write('', () => resolve()))
}
