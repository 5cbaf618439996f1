import { runCommandLine } from './command-line.ts'

/** Time for what has not ended by itself, in ms. */
const EXIT_MS = 1000

process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
// Requests without a response, which nobody awaits any more, would keep the process for up to minutes.
setTimeout(() => process.exit(), EXIT_MS).unref()
