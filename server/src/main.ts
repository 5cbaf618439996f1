import { runCli } from './cli/cli.ts'

/** Time for what has not ended by itself, in ms. */
const EXIT_MS = 1000

process.exitCode = await runCli(process.argv)
// Requests without a response, which nobody awaits any more, would keep the process for up to minutes.
setTimeout(() => process.exit(), EXIT_MS).unref()
