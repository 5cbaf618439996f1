import { runCommandLine } from './command-line.ts'
import { endAfterTraces } from './tracing/tracing.ts'

process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
endAfterTraces()
